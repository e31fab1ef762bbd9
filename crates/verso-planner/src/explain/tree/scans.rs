//! Tables, the ways to their rows, and their conditions.

use std::sync::Arc;

use verso_catalog::{SystemView, TableDef, kept};
use verso_exec::exec::Measured;
use verso_exec::plan::{
    IndexAccess, KeyMatch, OutputColumn, Places, RECORD_COLUMN, Scanned, Span, Together, TypedExpr,
};

use crate::explain::expression::{key_text, text};
use crate::explain::node::{Field, Node};

use super::Tree;

/// Several accesses, of which table, and what that is called.
type Shown<'t> = (&'t Together, &'t TableDef, &'t str);

impl Tree<'_> {
    /// A table's name, with its schema where that is shown.
    pub(super) fn table_name(&self, table: &TableDef) -> String {
        if self.verbose { format!("{}.{}", table.schema, table.name) } else { table.name.to_string() }
    }

    /// Names a source of rows that is no table: what FROM calls it, and its columns as they are shown.
    pub(super) fn leaf(
        &mut self,
        node: &mut Node,
        own: String,
        columns: &[OutputColumn],
    ) -> Vec<(String, f64)> {
        let alias = columns.first().and_then(|column| column.of.as_ref()).map(|of| Arc::clone(&of.alias));
        let alias = alias.map(|alias| self.alias(&alias));
        if let Some(alias) = &alias {
            node.head.push(("Alias", Field::Text(alias.clone())));
        }
        node.title.push_str(&match &alias {
            Some(alias) => named(own, alias),
            None => own,
        });
        let shown = |column: &OutputColumn| match &alias {
            Some(alias) if self.qualified => format!("{alias}.{}", column.name),
            _ => column.name.to_string(),
        };
        columns.iter().map(|column| (shown(column), self.estimate.width(&column.ty))).collect()
    }

    /// Names the reader of a query of WITH; one that the planner has made has no name.
    pub(super) fn query_of_with(&mut self, node: &mut Node, columns: &[OutputColumn]) -> Vec<(String, f64)> {
        let own = columns.first().and_then(|column| column.of.as_ref()?.own.clone());
        let Some(own) = own else {
            return self.output(columns.iter().map(|column| (column.name.to_string(), &column.ty)));
        };
        node.title.push_str(" on ");
        node.head.push(("CTE Name", Field::Text(own.to_string())));
        self.leaf(node, own.to_string(), columns)
    }

    pub(super) fn name_table(&self, node: &mut Node, table: &TableDef, alias: &str) {
        node.head.push(("Relation Name", Field::Text(table.name.to_string())));
        if self.verbose {
            node.head.push(("Schema", Field::Text(table.schema.to_string())));
        }
        node.head.push(("Alias", alias.into()));
    }

    pub(super) fn table_columns(
        &self,
        table: &TableDef,
        columns: &[usize],
        alias: &str,
    ) -> Vec<(String, f64)> {
        let shown = |name: &str| match self.qualified {
            true => format!("{alias}.{name}"),
            false => name.to_string(),
        };
        let column = |at: &usize| match table.columns.get(*at) {
            Some(column) => (shown(&column.name), self.estimate.column_width(table, *at)),
            None if *at == RECORD_COLUMN => (shown("ctid"), 8.0),
            None => (format!("#{at}"), 8.0),
        };
        columns.iter().map(column).collect()
    }

    pub(super) fn scan(
        &mut self,
        node: &mut Node,
        table: &Scanned,
        columns: &[usize],
        access: Option<&IndexAccess>,
        filter: Option<&TypedExpr>,
    ) -> Vec<(String, f64)> {
        let alias = self.alias(table.called());
        let on = named(self.table_name(table), &alias);
        let places = filter.filter(|_| access.is_none()).and_then(|filter| Places::of(columns, filter));
        match access {
            None => {
                let kind = match &places {
                    None => "Seq Scan",
                    Some((places, _)) if places.is_listed() => "Tid Scan",
                    Some(_) => "Tid Range Scan",
                };
                node.title = format!("{kind} on {on}");
                node.head.push(("Node Type", kind.into()));
            }
            Some(access) if access.finds_candidates() => {
                node.title = format!("Bitmap Heap Scan on {on}");
                node.head.push(("Node Type", "Bitmap Heap Scan".into()));
            }
            Some(access) => {
                let kind = if access.answers(table, columns) { "Index Only Scan" } else { "Index Scan" };
                let backward = if access.descending { " Backward" } else { "" };
                node.title = format!("{kind}{backward} using {} on {on}", access.index.name);
                node.head.push(("Node Type", kind.into()));
                let direction = if access.descending { "Backward" } else { "Forward" };
                node.head.push(("Scan Direction", direction.into()));
                node.head.push(("Index Name", Field::Text(access.index.name.to_string())));
            }
        }
        self.name_table(node, table, &alias);
        let columns = self.table_columns(table, columns, &alias);
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let mut filter = filter.cloned();
        if let Some((_, said)) = &places {
            let conjuncts = filter.take().map_or_else(Vec::new, TypedExpr::conjuncts);
            let (placed, rest): (Vec<_>, Vec<_>) =
                conjuncts.into_iter().enumerate().partition(|(n, _)| said.contains(n));
            let joined = |parts: Vec<(usize, TypedExpr)>| {
                TypedExpr::conjunction(parts.into_iter().map(|(_, conjunct)| conjunct).collect())
            };
            if let Some(condition) = joined(placed) {
                let condition = text(&condition, self.scope(&names));
                node.details.push(("TID Cond", Field::Text(condition)));
            }
            filter = joined(rest);
        } else if let Some(together) = access.and_then(|access| access.together.as_deref()) {
            filter = self.together(node, (together, table, &alias), filter, &names);
        } else if let Some(access) = access.filter(|access| access.index.is_inverted()) {
            filter = self.candidates(node, access, filter, &names);
        } else if let Some(access) = access {
            let condition = self.index_condition(table, access, &alias);
            if !condition.is_empty() {
                node.details.push(("Index Cond", Field::Text(condition)));
            }
        }
        let parts = filter.map_or_else(Vec::new, |filter| self.filters(&filter, &names));
        let is_asked = parts.iter().any(|(key, _)| *key == "Filter");
        node.details.extend(parts);
        if is_asked {
            let removed = |actual: Measured| actual.work.removed / actual.loops.max(1);
            if let Some(removed) = node.actual.map(removed).filter(|removed| *removed > 0) {
                node.details.push(("Rows Removed by Filter", Field::Count(removed)));
            }
            let passed_over = |actual: Measured| actual.work.passed_over / actual.loops.max(1);
            if let Some(pages) = node.actual.map(passed_over).filter(|pages| *pages > 0) {
                node.details.push(("Pages Passed Over", Field::Count(pages)));
            }
        }
        columns
    }

    /// Shows how an inverted index finds candidates: the conditions that it is asked for, and that are tested again. Returns the
    /// rest of the filter.
    pub(super) fn candidates(
        &self,
        node: &mut Node,
        access: &IndexAccess,
        filter: Option<TypedExpr>,
        names: &[String],
    ) -> Option<TypedExpr> {
        let asked = |n: usize| access.searched.iter().any(|searched| searched.conjunct == n);
        let conjuncts = filter?.conjuncts().into_iter().enumerate();
        let (tested, rest): (Vec<_>, Vec<_>) = conjuncts.partition(|(n, _)| asked(*n));
        let joined = |parts: Vec<(usize, TypedExpr)>| {
            TypedExpr::conjunction(parts.into_iter().map(|(_, conjunct)| conjunct).collect())
        };
        let condition = joined(tested).map_or_else(String::new, |tested| text(&tested, self.scope(names)));
        node.details.push(("Recheck Cond", Field::Text(condition.clone())));
        node.children.push(bitmap_index_scan(access, condition));
        joined(rest)
    }

    /// Shows how several indexes find candidates together; returns the rest of the filter.
    fn together(
        &self,
        node: &mut Node,
        (together, table, alias): Shown<'_>,
        filter: Option<TypedExpr>,
        names: &[String],
    ) -> Option<TypedExpr> {
        node.details.push(("Recheck Cond", Field::Text(self.rechecked((together, table, alias), names))));
        node.children.push(self.bitmap((together, table, alias), names));
        let conjuncts = filter?.conjuncts().into_iter().enumerate();
        let rest = conjuncts.filter(|(n, _)| !together.conjuncts.contains(n)).map(|(_, conjunct)| conjunct);
        TypedExpr::conjunction(rest.collect())
    }

    /// What several accesses say, as a condition.
    fn rechecked(&self, (together, table, alias): Shown<'_>, names: &[String]) -> String {
        let says = |part: &IndexAccess| self.says((part, table, alias), names);
        let parts: Vec<String> = together.parts.iter().map(says).collect();
        format!("({})", parts.join(if together.all { " AND " } else { " OR " }))
    }

    fn says(&self, (access, table, alias): (&IndexAccess, &TableDef, &str), names: &[String]) -> String {
        match (&access.together, &access.instead) {
            (Some(together), _) => self.rechecked((together, table, alias), names),
            (None, Some(says)) => text(says, self.scope(names)),
            // Keys say less than the condition, which is a pattern, say.
            (None, None) => self.index_condition(table, access, alias),
        }
    }

    fn bitmap(&self, (together, table, alias): Shown<'_>, names: &[String]) -> Node {
        let kind = if together.all { "BitmapAnd" } else { "BitmapOr" };
        let mut node = Node { title: kind.to_owned(), relationship: Some("Outer"), ..Node::default() };
        node.head.push(("Node Type", kind.into()));
        for part in &together.parts {
            let mut child = match &part.together {
                Some(together) => self.bitmap((together, table, alias), names),
                None => bitmap_index_scan(part, self.says((part, table, alias), names)),
            };
            child.relationship = Some("Member");
            node.children.push(child);
        }
        node
    }

    /// The range of an index as a condition.
    pub(super) fn index_condition(&self, table: &TableDef, access: &IndexAccess, alias: &str) -> String {
        let name = |n: usize| {
            let part = access.index.parts.get(n);
            let at = part.and_then(|part| table.column_with_id(part.column));
            let column = at.map_or_else(String::new, |at| table.columns[at].name.to_string());
            if let Some(text) = part.and_then(|part| access.index.expression(table, part.column)) {
                return kept::bare(text);
            }
            if self.qualified { format!("{alias}.{column}") } else { column }
        };
        let collated = access.index.parts.iter().any(|part| part.collation.is_some());
        let one = |expr: &TypedExpr| match collated {
            true => key_text(expr, self.scope(&[])),
            false => text(expr, self.scope(&[])),
        };
        let mut conditions: Vec<String> =
            access.equals.iter().enumerate().map(|(n, part)| matched(&name(n), part, &one)).collect();
        let n = access.equals.len();
        if let Some((expr, inclusive)) = &access.lower {
            conditions.push(format!("({} {} {})", name(n), if *inclusive { ">=" } else { ">" }, one(expr)));
        }
        if let Some((expr, inclusive)) = &access.upper {
            conditions.push(format!("({} {} {})", name(n), if *inclusive { "<=" } else { "<" }, one(expr)));
        }
        let spans: Vec<String> = (access.spans.iter())
            .map(|span| {
                if let Span::Equal(value) = span {
                    return format!("({} = {})", name(n), one(value));
                }
                let side = |bound: Option<(&TypedExpr, bool)>, signs: [&str; 2]| {
                    let sign = |inclusive: bool| signs[usize::from(inclusive)];
                    bound.map(|(expr, inclusive)| format!("({} {} {})", name(n), sign(inclusive), one(expr)))
                };
                let (lower, upper) = span.bounds();
                let sides = side(lower, [">", ">="]).into_iter().chain(side(upper, ["<", "<="]));
                joined_by_and(&sides.collect::<Vec<_>>())
            })
            .collect();
        match spans.as_slice() {
            [] => {}
            [one] => conditions.push(one.clone()),
            _ => conditions.push(format!("({})", spans.join(" OR "))),
        }
        joined_by_and(&conditions)
    }

    /// What the session is asked for of a relation's rows, as a condition.
    pub(super) fn system_condition(&self, view: SystemView, keys: &[(usize, KeyMatch)]) -> String {
        let one = |expr: &TypedExpr| text(expr, self.scope(&[]));
        let columns = view.columns();
        let conditions: Vec<String> = (keys.iter())
            .filter_map(|(column, key)| Some(matched(columns.get(*column)?.name, key, &one)))
            .collect();
        joined_by_and(&conditions)
    }
}

/// A name with the one that the statement uses in its place.
pub(super) fn named(own: String, alias: &str) -> String {
    if own == alias || own.ends_with(&format!(".{alias}")) { own } else { format!("{own} {alias}") }
}

/// What one index finds for a scan in the order of the table.
fn bitmap_index_scan(access: &IndexAccess, condition: String) -> Node {
    let mut index = Node {
        title: format!("Bitmap Index Scan on {}", access.index.name),
        relationship: Some("Outer"),
        ..Node::default()
    };
    index.head.push(("Node Type", "Bitmap Index Scan".into()));
    index.head.push(("Index Name", Field::Text(access.index.name.to_string())));
    index.details.push(("Index Cond", Field::Text(condition)));
    index
}

/// What a part of a key is, as a condition.
fn matched(name: &str, part: &KeyMatch, one: &dyn Fn(&TypedExpr) -> String) -> String {
    match part {
        KeyMatch::Equal(expr) => format!("({name} = {})", one(expr)),
        KeyMatch::In(values) => {
            let values: Vec<String> = values.iter().map(one).collect();
            format!("({name} IN ({}))", values.join(", "))
        }
        KeyMatch::Any(array) => format!("({name} = ANY {})", one(array)),
        KeyMatch::Null => format!("({name} IS NULL)"),
    }
}

fn joined_by_and(conditions: &[String]) -> String {
    match conditions {
        [] | [_] => conditions.concat(),
        _ => format!("({})", conditions.join(" AND ")),
    }
}
