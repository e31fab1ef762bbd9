//! Queries: joins, groups, windows, set operations, WITH, order and limits.

use crate::aggregates::{AGGREGATES, FRAMES, LEAST, WINDOWS, WINDOWS_OF_ANY};
use crate::expressions::Column;
use crate::tree::{Kind, Part, text};
use crate::{Random, Schema, Statement, Type};

/// Writes queries over a schema.
pub struct Writer<'s> {
    pub(crate) random: Random,
    schema: &'s Schema,
    /// Names given so far.
    names: usize,
    /// Queries of WITH in sight, and the types of their columns.
    ctes: Vec<(String, Vec<Type>)>,
}

impl<'s> Writer<'s> {
    /// The writer of a seed.
    pub fn new(schema: &'s Schema, seed: u64) -> Writer<'s> {
        Writer { random: Random::new(seed), schema, names: 0, ctes: Vec::new() }
    }

    /// A query whose rows come in no certain order.
    pub fn statement(&mut self) -> Statement {
        let types: Vec<Type> = (0..1 + self.random.below(4)).map(|_| Type::any(&mut self.random)).collect();
        let depth = self.random.below(4);
        Statement(vec![self.query(&types, depth, &[])])
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    /// A query of columns `c1`, `c2` … of these types.
    pub(crate) fn query(&mut self, types: &[Type], depth: usize, outer: &[Column]) -> Part {
        let parts = match self.random.below(if depth == 0 { 4 } else { 12 }) {
            0 if depth == 0 && self.random.once_in(3) => self.values(types, outer),
            0..=4 => self.select(types, depth, outer),
            5 | 6 => self.grouped(types, depth, outer),
            7 => self.windows(types, depth, outer),
            8 => self.operation(types, depth, outer),
            9 => self.with(types, depth, outer),
            10 => self.limited(types, depth, outer),
            _ => self.select(types, depth, outer),
        };
        Part::Piece(Kind::Query(types.to_vec()), parts)
    }

    fn values(&mut self, types: &[Type], outer: &[Column]) -> Vec<Part> {
        let names = listed(types.len());
        let rows = (0..1 + self.random.below(3))
            .map(|_| {
                let values = types.iter().map(|ty| vec![self.value(*ty, 0, outer)]).collect();
                vec![text("("), joined(values), text(")")]
            })
            .collect();
        let name = self.name();
        vec![
            text(format!("SELECT {names} FROM (VALUES ")),
            Part::List(rows, ", "),
            text(format!(") AS {name}({names})")),
        ]
    }

    fn select(&mut self, types: &[Type], depth: usize, outer: &[Column]) -> Vec<Part> {
        let (from, mut scope) = self.from(depth, outer);
        scope.extend_from_slice(outer);
        let distinct = if self.random.once_in(6) { "DISTINCT " } else { "" };
        let mut parts = vec![Part::Text("SELECT ".into()), Part::Optional(vec![text(distinct)])];
        parts.push(self.columns(types, |writer, ty| writer.value(ty, depth.min(2), &scope)));
        parts.extend([text(" FROM "), from]);
        if !self.random.once_in(4) {
            let condition = self.value(Type::Bool, depth.min(2), &scope);
            parts.push(Part::Optional(vec![text(" WHERE "), condition]));
        }
        parts
    }

    /// The select list: each expression with its name.
    fn columns(&mut self, types: &[Type], mut value: impl FnMut(&mut Self, Type) -> Part) -> Part {
        let mut columns = Vec::new();
        for (n, ty) in types.iter().enumerate() {
            let comma = if n > 0 { ", " } else { "" };
            columns.push(text(comma));
            columns.push(value(self, *ty));
            columns.push(text(format!(" AS c{}", n + 1)));
        }
        // As a piece of no other one's kind: columns stay as many as they are.
        Part::Piece(Kind::Item, columns)
    }

    fn grouped(&mut self, types: &[Type], depth: usize, outer: &[Column]) -> Vec<Part> {
        let (from, scope) = self.from(depth, outer);
        let mut seen = scope.clone();
        seen.extend_from_slice(outer);
        // Columns of the result that are keys are plain columns of their type, as far as there are some.
        let mut keys: Vec<Column> = Vec::new();
        for ty in types {
            let fitting: Vec<&Column> = scope.iter().filter(|(_, of)| of == ty).collect();
            if !fitting.is_empty() && self.random.once_in(2) {
                let key = (*self.random.one(&fitting)).clone();
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        let sets = keys.len() > 1 && self.random.once_in(3);
        let mut parts = vec![text("SELECT ")];
        parts.push(self.columns(types, |writer, ty| {
            let of: Vec<&Column> = keys.iter().filter(|(_, key)| *key == ty).collect();
            if !of.is_empty() && writer.random.once_in(2) {
                return Part::Piece(Kind::Value(ty), vec![text(writer.random.one(&of).0.clone())]);
            }
            writer.aggregate(ty, 1, &scope)
        }));
        parts.extend([text(" FROM "), from]);
        if self.random.once_in(2) {
            let condition = self.value(Type::Bool, 1, &seen);
            parts.push(Part::Optional(vec![text(" WHERE "), condition]));
        }
        let names: Vec<String> = keys.iter().map(|(name, _)| name.clone()).collect();
        if !names.is_empty() {
            let list = names.join(", ");
            let group = match self.random.below(4) {
                _ if !sets => list,
                0 => format!("ROLLUP ({list})"),
                1 => format!("CUBE ({list})"),
                2 => format!("GROUPING SETS (({list}), ({}), ())", names[0]),
                _ => format!("{}, ROLLUP ({})", names[0], names[1..].join(", ")),
            };
            parts.push(text(format!(" GROUP BY {group}")));
        }
        if self.random.once_in(4) {
            let left = self.aggregate(Type::Big, 1, &scope);
            parts.push(Part::Optional(vec![
                text(" HAVING "),
                left,
                text(format!(" > {}", self.random.below(3))),
            ]));
        }
        parts
    }

    fn windows(&mut self, types: &[Type], depth: usize, outer: &[Column]) -> Vec<Part> {
        let (from, scope) = self.from(depth - 1, outer);
        // Rows that are alike in all columns are alike for every function.
        let mut order: Vec<String> = scope.iter().map(|(name, _)| name.clone()).collect();
        for n in (1..order.len()).rev() {
            order.swap(n, self.random.below(n + 1));
        }
        let direction = *self.random.one(&["", " DESC", " NULLS FIRST"]);
        let order = order.join(", ").replacen(',', &format!("{direction},"), 1);
        // One window for all calls: which of equal rows is first is open, and each window may decide it anew.
        let partition = match self.random.once_in(2) {
            true => format!("PARTITION BY {} ", self.random.one(&scope).0),
            false => String::new(),
        };
        let mut parts = vec![text("SELECT ")];
        parts.push(self.columns(types, |writer, ty| {
            if writer.random.once_in(3) {
                return writer.value(ty, 1, &scope);
            }
            let own: Vec<&str> =
                WINDOWS.iter().filter(|(of, _)| *of == ty).map(|(_, template)| *template).collect();
            // An aggregate over a window has neither DISTINCT nor an order of its own.
            let plain: Vec<&str> = AGGREGATES
                .iter()
                .filter(|(of, template)| {
                    *of == ty && !["DISTINCT", "ORDER"].iter().any(|word| template.contains(word))
                })
                .map(|(_, template)| *template)
                .collect();
            let template = match writer.random.below(4) {
                0 if !own.is_empty() => *writer.random.one(&own),
                1 if !plain.is_empty() => *writer.random.one(&plain),
                2 if ty.has_least() => *writer.random.one(LEAST),
                _ => *writer.random.one(WINDOWS_OF_ANY),
            };
            let mut call = writer.filled(template, ty, 1, &scope);
            let frame = *writer.random.one(FRAMES);
            call.push(text(" OVER ("));
            call.push(text(partition.clone()));
            call.push(text(format!("ORDER BY {order} ")));
            call.push(Part::Optional(vec![text(frame)]));
            call.push(text(")"));
            Part::Piece(Kind::Value(ty), call)
        }));
        parts.extend([text(" FROM "), from]);
        if self.random.once_in(3) {
            let condition = self.value(Type::Bool, 1, &scope);
            parts.push(Part::Optional(vec![text(" WHERE "), condition]));
        }
        parts
    }

    fn operation(&mut self, types: &[Type], depth: usize, outer: &[Column]) -> Vec<Part> {
        const OPERATORS: [&str; 6] =
            ["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"];
        let operator = *self.random.one(&OPERATORS);
        let (left, right) = (self.query(types, depth - 1, outer), self.query(types, depth - 1, outer));
        vec![text("("), left, text(format!(") {operator} (")), right, text(")")]
    }

    fn with(&mut self, types: &[Type], depth: usize, outer: &[Column]) -> Vec<Part> {
        let name = self.name();
        let own: Vec<Type> = (0..1 + self.random.below(3)).map(|_| Type::any(&mut self.random)).collect();
        let head = *self.random.one(&["AS", "AS MATERIALIZED", "AS NOT MATERIALIZED"]);
        let (own, inner, word) = if self.random.once_in(3) {
            let end = 1 + self.random.below(5);
            let start = self.value(own[0], 0, &[]);
            let step = self.value(own[0], 1, &[(format!("{name}.c2"), own[0])]);
            let union = *self.random.one(&["UNION ALL", "UNION"]);
            let ty = own[0].name();
            let parts = vec![
                text("SELECT 1 AS c1, ("),
                start,
                text(format!(")::{ty} AS c2 {union} SELECT {name}.c1 + 1, (")),
                step,
                text(format!(")::{ty} FROM {name} WHERE {name}.c1 < {end}")),
            ];
            (vec![Type::Int, own[0]], Part::Piece(Kind::Item, parts), "WITH RECURSIVE")
        } else {
            let inner = self.query(&own, depth - 1, &[]);
            (own, inner, "WITH")
        };
        let columns = listed(own.len());
        self.ctes.push((name.clone(), own));
        let body = self.query(types, depth - 1, outer);
        self.ctes.pop();
        // PostgreSQL takes no WITH of a query in parentheses that has its own.
        let (all, outside) = (listed(types.len()), self.name());
        vec![
            text(format!("{word} {name}({columns}) {head} (")),
            inner,
            text(format!(") SELECT {all} FROM (")),
            body,
            text(format!(") AS {outside}")),
        ]
    }

    /// An order over all columns, and a part of its rows.
    fn limited(&mut self, types: &[Type], depth: usize, outer: &[Column]) -> Vec<Part> {
        let inner = self.query(types, depth - 1, outer);
        let orders = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"];
        let mut order: Vec<String> =
            (1..=types.len()).map(|n| format!("c{n}{}", self.random.one(&orders))).collect();
        let first = self.random.below(order.len());
        order.swap(0, first);
        let names = listed(types.len());
        let name = self.name();
        let limit = match self.random.below(4) {
            0 => format!(" LIMIT {}", self.random.below(8)),
            1 => format!(" OFFSET {} LIMIT {}", self.random.below(4), self.random.below(30)),
            2 => format!(" FETCH FIRST {} ROWS WITH TIES", 1 + self.random.below(4)),
            _ => format!(" OFFSET {}", self.random.below(5)),
        };
        vec![
            text(format!("SELECT {names} FROM (")),
            inner,
            text(format!(") AS {name} ORDER BY {}", order.join(", "))),
            Part::Optional(vec![text(limit)]),
        ]
    }

    /// FROM with its joins, and the columns that it brings into sight.
    pub(crate) fn from(&mut self, depth: usize, outer: &[Column]) -> (Part, Vec<Column>) {
        let (item, mut scope) = self.item(depth, &[], outer);
        let mut parts = vec![item];
        let most = if depth == 0 { 2 } else { 3 };
        for _ in 0..self.random.below(most) {
            let (item, columns) = self.item(depth.saturating_sub(1), &scope, outer);
            let words = Statement(vec![item.clone()]).text();
            let lateral = words.starts_with("LATERAL")
                || words.starts_with("generate_series")
                || words.starts_with("unnest");
            let kinds: &[&str] = if lateral {
                &[" CROSS JOIN ", " JOIN ", " LEFT JOIN "]
            } else {
                &[
                    " CROSS JOIN ",
                    " JOIN ",
                    " JOIN ",
                    " JOIN ",
                    " LEFT JOIN ",
                    " LEFT JOIN ",
                    " RIGHT JOIN ",
                    " FULL JOIN ",
                ]
            };
            let kind = *self.random.one(kinds);
            parts.extend([text(kind), item]);
            let mut all = columns.clone();
            all.extend_from_slice(&scope);
            if kind != " CROSS JOIN " {
                parts.push(text(" ON "));
                parts.push(self.condition(kind == " FULL JOIN ", &scope, &columns, &all));
            }
            scope = all;
        }
        (Part::Piece(Kind::Item, parts), scope)
    }

    /// The condition of a join; that of FULL is an equality, others mostly have one.
    fn condition(&mut self, full: bool, left: &[Column], right: &[Column], all: &[Column]) -> Part {
        let pairs: Vec<(&Column, &Column)> = left
            .iter()
            .flat_map(|one| right.iter().filter(|other| other.1 == one.1).map(move |other| (one, other)))
            .collect();
        if pairs.is_empty() && full {
            return text("1 = 1");
        }
        if pairs.is_empty() || (!full && self.random.once_in(4)) {
            return self.value(Type::Bool, 1, all);
        }
        let (one, other) = *self.random.one(&pairs);
        let mut parts = vec![text(format!("{} = {}", one.0, other.0))];
        if !full && self.random.once_in(3) {
            let more = self.value(Type::Bool, 1, all);
            parts.push(Part::Optional(vec![text(" AND "), more]));
        }
        Part::Piece(Kind::Item, parts)
    }

    /// An item of FROM and its columns.
    fn item(&mut self, depth: usize, beside: &[Column], outer: &[Column]) -> (Part, Vec<Column>) {
        let name = self.name();
        let columns = |types: &[Type]| -> Vec<Column> {
            types.iter().enumerate().map(|(n, ty)| (format!("{name}.c{}", n + 1), *ty)).collect()
        };
        match self.random.below(12) {
            0 | 1 if depth > 0 => {
                let types: Vec<Type> =
                    (0..1 + self.random.below(3)).map(|_| Type::any(&mut self.random)).collect();
                let lateral = !beside.is_empty() && self.random.once_in(2);
                let mut seen = outer.to_vec();
                if lateral {
                    seen.extend_from_slice(beside);
                }
                let query = self.query(&types, depth - 1, &seen);
                let word = if lateral { "LATERAL (" } else { "(" };
                let parts = vec![text(word), query, text(format!(") AS {name}({})", listed(types.len())))];
                (Part::Piece(Kind::Item, parts), columns(&types))
            }
            2 | 3 if !self.ctes.is_empty() => {
                let (cte, types) = self.random.one(&self.ctes).clone();
                (text(format!("{cte} AS {name}")), columns(&types))
            }
            4 => {
                let end = self.random.below(6);
                (text(format!("generate_series(1, {end}) AS {name}(c1)")), columns(&[Type::Int]))
            }
            5 => {
                let array = self.value(Type::Ints, 0, beside);
                let parts =
                    vec![text("unnest("), array, text(format!(") WITH ORDINALITY AS {name}(c1, c2)"))];
                (Part::Piece(Kind::Item, parts), columns(&[Type::Int, Type::Big]))
            }
            _ => {
                // Large tables meet each other seldom.
                let tables = &self.schema.tables;
                let end = if beside.is_empty() { tables.len() } else { tables.len() - 1 };
                let table = &tables[self.random.below(end)];
                (text(format!("{} AS {name}", table.name)), columns(&table.columns))
            }
        }
    }
}

/// `c1, c2`: as many columns.
fn listed(columns: usize) -> String {
    (1..=columns).map(|n| format!("c{n}")).collect::<Vec<_>>().join(", ")
}

fn joined(values: Vec<Vec<Part>>) -> Part {
    let mut parts = Vec::new();
    for (n, value) in values.into_iter().enumerate() {
        if n > 0 {
            parts.push(text(", "));
        }
        parts.extend(value);
    }
    Part::Piece(Kind::Item, parts)
}
