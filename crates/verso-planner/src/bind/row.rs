//! Rows in expressions: comparisons of rows, and of rows or values with what a query yields.
//!
//! ```text
//! (a, b) < (c, d)      CASE WHEN a = c THEN b < d ELSE a < c END
//! a < ANY (query)      (SELECT CASE WHEN bool_or(a < x) THEN true WHEN some are NULL THEN NULL ELSE false END FROM query)
//! ```
//!
//! What stands on the left of a query is handed in once per row, as `Outer(n)`.

use std::sync::Arc;

use verso_catalog::{Oid, Relation, SystemRelation, kept};
use verso_exec::functions::records::{FIELD, UNEQUAL_COUNTS, UNLIKE_ROWS};
use verso_exec::functions::{AggregateFunction, aggregate_candidates, is_named};
use verso_exec::plan::{AggregateCall, ExprKind as K, Plan, SubqueryTest, TypedExpr};
use verso_types::{Derivation, KeyType, RowType, SqlType, Value};

use super::Binder;
use super::columns_of;
use super::comparable::{compares_roughly, fields_without};
use super::context::{Clause, Context};
use super::resolve::shown;
use super::scope::{Scope, came_later, is_hidden, part_of_row};
use super::subquery::subquery;
use super::trace::Source;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Call, Expr, ExprKind, Name, QualifiedName, Query, Span};

/// An expression and where it stands.
type Located = (TypedExpr, u32);

/// So many `(row).*` may be in each other: each is bound once for each of its fields, with those that are in it.
const STARS_MAX: u32 = 6;

/// How many `(row).*` are in each other in an expression.
fn stars_within(expr: &Expr) -> u32 {
    // What is nested deeper is refused by the parser.
    let of_all = |parts: &[Expr]| parts.iter().map(stars_within).max().unwrap_or(0);
    match &expr.kind {
        ExprKind::Field { arg, name } => stars_within(arg) + u32::from(name.text == "*"),
        ExprKind::Cast { arg, .. } => stars_within(arg),
        ExprKind::Row(parts) | ExprKind::Array(parts) => of_all(parts),
        ExprKind::Call(call) => of_all(&call.args),
        _ => 0,
    }
}

/// Whether it is a row that is written as such, behind casts.
fn is_row_cast(mut expr: &Expr) -> bool {
    let mut casts = 0;
    while let ExprKind::Cast { arg, .. } = &expr.kind {
        (expr, casts) = (arg, casts + 1);
    }
    casts > 0 && matches!(expr.kind, ExprKind::Row(_))
}

fn boolean(value: bool) -> TypedExpr {
    TypedExpr::literal(Value::Bool(value), SqlType::Bool)
}

impl Binder<'_> {
    /// The parts of a row: of one written as such, of `t.*`, and of NEW and OLD; none where an expression is no row.
    pub(super) fn spread(&self, expr: &Expr, scope: &Scope) -> Option<Vec<Expr>> {
        let parts = match &expr.kind {
            ExprKind::Row(parts) => return Some(self.spread_all(parts, scope)),
            ExprKind::Column(parts) => parts,
            _ => return None,
        };
        let plain = self.without_schema(parts, scope);
        let parts = plain.as_ref().unwrap_or(parts);
        let name = match parts.as_slice() {
            [name, star] if star.text == "*" => name,
            [name] if self.records.iter().any(|record| *record.name == *name.text) => name,
            [name] if scope.visible.iter().all(|(column, _)| **column != *name.text) => name,
            _ => return None,
        };
        if let (Some(trace), Some(table)) = (self.traced, scope.table(&name.text)) {
            trace.column(name.at.start, Source::Row(table.place));
        }
        let names: Vec<&str> = match (scope.table(&name.text), parts.len()) {
            // The alias of a join has columns of several items.
            (Some(table), 2) if !table.merged.is_empty() => {
                table.merged.iter().map(|(name, _)| &**name).filter(|name| !is_hidden(name)).collect()
            }
            (Some(table), 2) => {
                let names = scope.columns[table.columns.clone()].iter().map(|(name, _)| &**name);
                names.filter(|name| !is_hidden(name)).collect()
            }
            _ => match self.records.iter().rev().find(|record| *record.name == *name.text) {
                Some(record) => {
                    record.columns.iter().map(|(name, _)| &**name).filter(|name| !is_hidden(name)).collect()
                }
                None if parts.len() == 2
                    && let Some(outer) = self.outer
                    && let Some((columns, place)) = outer.names_of(&name.text) =>
                {
                    if let Some(trace) = self.traced {
                        trace.column(name.at.start, Source::Row(place));
                    }
                    let field = |text: Arc<str>| {
                        let part = Name { text: text.to_string(), at: name.at };
                        Expr { kind: ExprKind::Column(vec![name.clone(), part]), ..expr.clone() }
                    };
                    return Some(columns.into_iter().map(field).collect());
                }
                None => {
                    let names = std::slice::from_ref(name);
                    let fields = self.fields_of_variable(names)?;
                    self.trace_variable(names, &fields, name.at.start);
                    let field = |(text, _): (Arc<str>, TypedExpr)| {
                        let part = Name { text: text.to_string(), at: name.at };
                        Expr { kind: ExprKind::Column(vec![name.clone(), part]), ..expr.clone() }
                    };
                    return Some(fields.into_iter().map(field).collect());
                }
            },
        };
        let is_alone = parts.len() == 1;
        let field = |text: &str| {
            let parts = match is_alone {
                true => part_of_row(name, text),
                false => [name.clone(), Name { text: text.to_string(), at: name.at }],
            };
            Expr { kind: ExprKind::Column(parts.into()), ..expr.clone() }
        };
        Some(names.into_iter().map(field).collect())
    }

    /// `t.*` of an item of FROM, here or around: where it is compared, a row like others, in which NULLs are equal.
    pub(super) fn is_item_row(&self, expr: &Expr, scope: &Scope) -> bool {
        let ExprKind::Column(parts) = &expr.kind else { return false };
        let plain = self.without_schema(parts, scope);
        let is_item = |name: &str| {
            scope.table(name).is_some() || self.outer.is_some_and(|outer| outer.names_of(name).is_some())
        };
        match plain.as_ref().unwrap_or(parts).as_slice() {
            [name, star] => star.text == "*" && is_item(&name.text),
            _ => false,
        }
    }

    /// `t.*` for `s.t.*`, where an item of FROM is that table.
    pub(super) fn without_schema(&self, parts: &[Name], scope: &Scope) -> Option<Vec<Name>> {
        let [schema, table, star] = parts else { return None };
        if star.text != "*" {
            return None;
        }
        let is_item = |scope: &Scope| scope.item(Some(&schema.text), &table.text).is_some();
        let around = std::iter::successors(self.outer, |outer| outer.parent);
        let mut around = around.filter(|outer| outer.hidden.is_none());
        if !is_item(scope) && !around.any(|outer| is_item(outer.scope)) {
            return None;
        }
        Some(vec![Name { text: table.text.clone(), at: schema.at }, star.clone()])
    }

    /// A list with `t.*` and `(row).*` as so many expressions.
    pub(super) fn spread_all(&self, list: &[Expr], scope: &Scope) -> Vec<Expr> {
        let one = |expr: &Expr| {
            let parts = match &expr.kind {
                ExprKind::Field { arg, name } if name.text == "*" => {
                    self.fields_of((&**arg, name), expr, scope)
                }
                _ if expr.is_starred() => {
                    let parts = self.spread(expr, scope);
                    parts.iter().for_each(|parts| self.note_star(expr, parts, scope));
                    parts
                }
                _ => None,
            };
            parts.unwrap_or_else(|| vec![expr.clone()])
        };
        list.iter().flat_map(one).collect()
    }

    /// Notes the columns that `t.*` stands for in a list: a text that is kept with names does not mean columns that come later. In a
    /// query that is kept with notes only the table over whose rows it is has none that say so.
    fn note_star(&self, star: &Expr, parts: &[Expr], scope: &Scope) {
        let ExprKind::Column(whole) = &star.kind else { return };
        let (Some(first), Some(last), Some(table)) = (whole.first(), whole.last(), whole.iter().rev().nth(1))
        else {
            return;
        };
        let here = scope.table(&table.text).map(|item| item.place);
        let place = || here.or_else(|| Some(self.outer?.names_of(&table.text)?.1));
        if self.noted.is_none() && (self.noting.is_none() || place() != Some(0)) {
            return;
        }
        let is_plain = self.noted.is_some() && scope.tables.len() == 1 && self.records.is_empty();
        let name = |part: &Expr| {
            let ExprKind::Column(names) = &part.kind else { return None };
            let column = verso_parser::quoted(&names.last()?.text);
            Some(if is_plain { column } else { format!("{}.{column}", verso_parser::quoted(&table.text)) })
        };
        if let Some(names) = parts.iter().map(name).collect::<Option<Vec<String>>>() {
            self.notes().for_each(|notes| notes.star(first.at.start, last.at.end, &names));
        }
    }

    /// How a text that is kept with names has a field of a row.
    fn field_kept(&self, row: &SqlType, name: &str) -> String {
        let of = if let SqlType::Row(row) = row { row.of.as_ref() } else { None };
        let of = of.map(|of| Oid(of.oid)).filter(|of| !of.is_system());
        let id = of.and_then(|of| {
            let fields = self.catalog.fields_of(of);
            Some((of, fields.iter().find(|(_, known)| **known == *name)?.0))
        });
        id.map_or_else(|| verso_parser::quoted(name), |(of, id)| kept::numbered_field(of, id, name))
    }

    /// `(row).*`: an expression for each field; none where it is no row, which is told where it is bound.
    fn fields_of(&self, (row, star): (&Expr, &Name), whole: &Expr, scope: &Scope) -> Option<Vec<Expr>> {
        if stars_within(row) > STARS_MAX {
            return None;
        }
        let bound = self.expr(row, &mut Context::new(scope, Clause::Select)).ok()?;
        let fields = self.fields(&bound).ok()?;
        self.trace_fields(&bound, &fields, whole.at.start);
        let mut at = row.at;
        if let Some(notes) = self.noted {
            let names = fields.iter().map(|(name, _)| self.field_kept(&bound.ty, name)).collect();
            notes.field_star(star.at.start, whole.at.start, names);
            // No name in the text means one of them.
            at = Span { start: u32::MAX, end: u32::MAX };
        }
        let field = |(name, _): (Arc<str>, TypedExpr)| {
            let name = Name { text: name.to_string(), at };
            Expr { kind: ExprKind::Field { arg: Box::new(row.clone()), name }, ..whole.clone() }
        };
        Some(fields.into_iter().map(field).collect())
    }

    /// `ROW(a, b)` as a value.
    pub(super) fn row(&self, parts: &[Expr], cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let parts = &self.spread_all(parts, cx.scope);
        // What has no type yet gets that of a field where the row becomes one of a composite type.
        let parts: Vec<TypedExpr> = self.located(parts, cx)?.into_iter().map(|(part, _)| part).collect();
        let row = TypedExpr::new(K::Row(parts), SqlType::Record);
        let K::Row(parts) = &row.kind else { return Ok(row) };
        // Only its type says what the labels of an enum are, and how many blanks a char(n) ends with.
        Ok(if parts.iter().any(|part| is_named(&part.ty)) { with_fields(row) } else { row })
    }

    /// A FROM item named like a column: its row.
    pub(super) fn whole_row(&self, parts: &[Name], cx: &mut Context<'_>) -> TypedExpr {
        let at = parts.first().map_or(0, |part| part.at.start);
        let range =
            parts.first().and_then(|name| cx.scope.table(&name.text)).map(|table| table.columns.clone());
        let scalar = parts.first().and_then(|name| cx.scope.table(&name.text)).is_some_and(|one| one.scalar);
        if let (true, Some(index)) = (scalar, range.as_ref().and_then(|range| range.clone().next())) {
            let column = TypedExpr::column(index, cx.scope.columns[index].1.clone());
            cx.uses(&column, at);
            return column;
        }
        let (mut values, mut fields) = (Vec::new(), Vec::new());
        for index in range.unwrap_or_default() {
            let (name, ty) = cx.scope.columns[index].clone();
            let name = match came_later(&name) {
                Some(own) => own.into(),
                None if is_hidden(&name) => continue,
                None => name,
            };
            let column = TypedExpr::column(index, ty.clone());
            cx.uses_in_row(&column, at);
            values.push(column);
            fields.push((name, ty));
        }
        // The alias of a join has columns of several items, a view whose rows change has those that it shows.
        let merged = match parts.first().and_then(|name| cx.scope.table(&name.text)) {
            Some(item) if values.is_empty() => item.merged.clone(),
            _ => Vec::new(),
        };
        for (name, value) in merged {
            cx.uses_in_row(&value, at);
            fields.push((name, value.ty.clone()));
            values.push(value);
        }
        let item = parts.first().and_then(|name| cx.scope.table(&name.text));
        let of_relation = || {
            let oid = Oid(item?.relation?);
            let of_user = self.catalog.relation_by_oid(oid).and_then(Relation::row_type);
            let of_system =
                || SystemRelation::by_oid(oid).filter(|one| one.row_type.0 != 0).map(SystemRelation::rows);
            of_user.or_else(of_system).map(|known| known.ty)
        };
        let known = item.and_then(|item| item.row.clone()).map(SqlType::Row).or_else(of_relation);
        let ty = known
            .filter(|known| matches!(known, SqlType::Row(row) if row.fields.len() == fields.len()))
            .unwrap_or_else(|| SqlType::Row(Arc::new(RowType::unnamed(fields))));
        let row = TypedExpr::new(K::Row(values), ty.clone());
        let there = parts.first().and_then(|name| cx.scope.table(&name.text)).and_then(|table| table.there);
        let Some(there) = there else { return row };
        // An outer join may have found none.
        let there = TypedExpr::column(there, cx.scope.columns[there].1.clone());
        cx.uses(&there, at);
        let missing = TypedExpr::new(K::IsNull { arg: Box::new(there), negated: false }, SqlType::Bool);
        let branches = vec![(missing, TypedExpr::null(ty.clone()))];
        TypedExpr::new(K::Case { branches, otherwise: Some(Box::new(row)) }, ty)
    }

    /// The columns that `t.*` means of an item of a query around this one.
    pub(super) fn starred_around(&self, name: &str, at: u32) -> Option<Vec<(Arc<str>, TypedExpr)>> {
        self.outer?.of_table(name, &mut |scope| {
            let columns = scope.table(name).map(|item| scope.starred(item)).unwrap_or_default();
            if let Some(trace) = self.traced {
                trace.star(at, scope, &columns);
            }
            columns.iter().for_each(|(_, expr)| scope.used(expr));
            columns
        })
    }

    /// The row of an item of a query around this one.
    pub(super) fn row_around(&self, parts: &[Name]) -> Option<TypedExpr> {
        let [name] = parts else { return None };
        let made = self.outer?.of_table(&name.text, &mut |scope| {
            let mut cx = Context::new(scope, Clause::Select);
            vec![("".into(), self.whole_row(parts, &mut cx))]
        });
        made?.pop().map(|(_, row)| row)
    }

    /// `(row).*`: names and values of the fields.
    pub(super) fn fields(&self, row: &TypedExpr) -> Result<Vec<(Arc<str>, TypedExpr)>, SqlError> {
        if let (SqlType::Record, K::Row(parts)) = (&row.ty, &row.kind) {
            let field =
                |(part, n): (&TypedExpr, u32)| Ok((format!("f{n}").into(), self.settle(part.clone(), 0)?));
            return parts.iter().zip(1..).map(field).collect();
        }
        let SqlType::Row(columns) = &row.ty else {
            return Err(match &row.ty {
                SqlType::Record => {
                    SqlError::new(sqlstate::WRONG_OBJECT_TYPE, "record type has not been registered")
                }
                other => {
                    let text = format!("type {} is not composite", super::resolve::shown(other));
                    SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
                }
            });
        };
        (0..columns.fields.len()).for_each(|at| self.note_field(columns, at));
        let field = |((name, ty), n): (&(Arc<str>, SqlType), i32)| match &row.kind {
            K::Row(parts) if parts.len() == columns.fields.len() => {
                (Arc::clone(name), parts[n as usize].clone())
            }
            _ => {
                let args = vec![row.clone(), TypedExpr::literal(Value::Int4(n), SqlType::Int4)];
                let field = TypedExpr::new(K::Call { function: &FIELD, args }, ty.clone());
                (
                    Arc::clone(name),
                    TypedExpr { collation: self.collation_of_field(columns, n as usize), ..field },
                )
            }
        };
        let mut fields: Vec<_> = columns.fields.iter().zip(0..).map(field).collect();
        if let Some(then) = self.fields_then(columns) {
            // What has come to the type since, a text that is kept does not mean.
            fields = then.into_iter().map(|(at, name)| (name, fields[at].1.clone())).collect();
        }
        Ok(fields)
    }

    /// Whether an item of FROM has columns of one name: the names of its parts would not tell them apart.
    pub(super) fn has_doubled_names(&self, row: &Expr, scope: &Scope) -> bool {
        let doubled = |names: &[Arc<str>]| (1..names.len()).any(|n| names[..n].contains(&names[n]));
        self.names_of_item(row, scope).is_some_and(|(_, names)| doubled(&names))
    }

    /// The item of FROM whose row an expression is, and the names of its columns: an alias gives them others than those of its type.
    fn names_of_item<'e>(&self, row: &'e Expr, scope: &Scope) -> Option<(&'e Name, Vec<Arc<str>>)> {
        let ExprKind::Column(parts) = &row.kind else { return None };
        let (name, whole) = match parts.as_slice() {
            [name] => (name, false),
            [name, star] if star.text == "*" => (name, true),
            _ => return None,
        };
        let is_variable = || {
            self.variables.iter().any(|variable| *variable.name == *name.text)
                || self.records.iter().any(|record| *record.name == *name.text)
        };
        let is_column = || scope.visible.iter().any(|(column, _)| **column == *name.text);
        if !whole && (is_column() || is_variable()) {
            return None;
        }
        match scope.table(&name.text) {
            Some(item) if item.scalar => None,
            Some(item) => Some((name, scope.starred(item).into_iter().map(|(name, _)| name).collect())),
            None => {
                let outer = self.outer?;
                let is_row =
                    whole || matches!(outer.source(std::slice::from_ref(name)), Some(Source::Row(_)));
                let names = outer.names_of(&name.text).filter(|_| is_row)?;
                Some((name, names.0))
            }
        }
    }

    /// `(row).field`.
    pub(super) fn field(&self, arg: &Expr, name: &Name, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let bound = self.expr(arg, cx)?;
        let today = Name { text: self.field_named(&name.text).into_owned(), at: name.at };
        let name = &today;
        if name.text == "*" {
            self.fields(&bound).map_err(|error| error.at(arg.at.start))?;
            let text = "row expansion via \"*\" is not supported here";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(arg.at.start));
        }
        let of = bound.ty.composite().map(|of| of.shown());
        let of_item = self.names_of_item(arg, cx.scope);
        let missing = || {
            let (text, at) = match (&of_item, &of) {
                (Some((item, _)), _) => {
                    (format!("column {}.{} does not exist", item.text, name.text), item.at.start)
                }
                (None, Some(of)) => {
                    (format!("column \"{}\" not found in data type {of}", name.text), arg.point)
                }
                (None, None) => {
                    let text = format!("could not identify column \"{}\" in record data type", name.text);
                    (text, arg.point)
                }
            };
            SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(at)
        };
        let place = match (&bound.ty, &bound.kind) {
            (SqlType::Row(_), _) if let Some((item, names)) = &of_item => {
                let mut fits = (0..names.len()).filter(|n| *names[*n] == *name.text);
                let first = fits.next();
                if fits.next().is_some() {
                    let text = format!("column reference \"{}\" is ambiguous", name.text);
                    return Err(SqlError::new(sqlstate::AMBIGUOUS_COLUMN, text).at(item.at.start));
                }
                first
            }
            // A RECORD of PL/pgSQL that EXECUTE is given: its fields are nobody's who reads the text.
            (SqlType::Row(row), K::Parameter(_))
                if row.of.is_none()
                    && matches!(arg.kind, ExprKind::Parameter(_))
                    && self.variables.is_empty() =>
            {
                return Err(SqlError::new(
                    sqlstate::UNDEFINED_COLUMN,
                    format!("could not identify column \"{}\" in record data type", name.text),
                )
                .at(arg.at.start));
            }
            (SqlType::Row(row), _) => self.field_place(row, &name.text),
            (SqlType::Record, K::Row(parts)) => (0..parts.len()).find(|n| format!("f{}", n + 1) == name.text),
            (SqlType::Record, _) => None,
            (other, _) => {
                let text = format!(
                    "column notation .{} applied to type {}, which is not a composite type",
                    name.text,
                    super::resolve::shown(other)
                );
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(name.at.start));
            }
        };
        let Some(place) = place else { return self.of_row(arg, name, missing(), cx) };
        let of_groups =
            matches!(cx.clause, Clause::Select | Clause::GroupBy | Clause::Having | Clause::OrderBy);
        let is_typed = of_groups && bound.ty.composite().is_some();
        let is_kept = |part: &TypedExpr| is_typed && matches!(part.kind, K::Literal(_));
        if let SqlType::Row(row) = &bound.ty {
            self.note_field(row, place);
            if let (Some(notes), Some(of)) = (self.noted, &row.of)
                && let Some((id, _)) = self.catalog.fields_of(Oid(of.oid)).get(place)
            {
                notes.field(name.at.start, Oid(of.oid), *id);
            }
        }
        let collation = match &bound.ty {
            SqlType::Row(row) => self.collation_of_field(row, place),
            _ => Derivation::Default,
        };
        let (ty, row) = match (bound.ty.clone(), bound.kind) {
            // A constant of a row stays a field of it where GROUP BY tells expressions apart.
            (_, K::Row(mut parts)) if place < parts.len() && !is_kept(&parts[place]) => {
                return self.settle(parts.swap_remove(place), name.at.start);
            }
            (SqlType::Row(row), kind) => (row.fields[place].1.clone(), TypedExpr::new(kind, bound.ty)),
            _ => return Err(missing()),
        };
        let index = i32::try_from(place).map_err(|_| missing())?;
        let args = vec![row, TypedExpr::literal(Value::Int4(index), SqlType::Int4)];
        let field = TypedExpr::new(K::Call { function: &FIELD, args }, ty);
        Ok(TypedExpr { collation, ..field })
    }

    /// The collation of a field: what the row's type says, or the column of a relation's row.
    pub(super) fn collation_of_field(&self, row: &RowType, place: usize) -> Derivation {
        if let Some(own) = row.fields.get(place).and_then(|(_, ty)| ty.own_collation()) {
            return Derivation::Implicit(Arc::clone(own));
        }
        if row.declared.is_some() {
            return row.written(place).seen().split_collation().1;
        }
        let relation = row.of.as_ref().and_then(|of| self.catalog.relation_of_rows(Oid(of.oid)));
        let columns = match relation {
            Some(Relation::Table(table)) => table.shown(),
            Some(Relation::View(view)) => &view.columns[..],
            _ => return Derivation::Default,
        };
        let column = columns.get(place).filter(|column| column.ty.is_collatable());
        column.map_or(Derivation::Default, |column| column.seen().split_collation().1)
    }

    /// `row.f`, where the row has no such field: `f(row)`, if there is such a function, or else the error.
    pub(super) fn of_row(
        &self,
        row: &Expr,
        function: &Name,
        missing: SqlError,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let name = QualifiedName { schema: None, name: function.clone() };
        match self.built_in_call(&Call::plain(name, vec![row.clone()]), cx) {
            Err(error) if error.sqlstate == sqlstate::UNDEFINED_FUNCTION => Err(missing),
            found => {
                let bound = found?;
                // The row of `t.f` has no star in the text.
                let is_starred = matches!(&row.kind, ExprKind::Column(_)) && row.is_starred();
                let (at, start) = (function.at.start, row.at.start);
                self.noted.into_iter().for_each(|notes| notes.row_call(at, start, is_starred));
                self.traced.into_iter().for_each(|trace| trace.row_call(at));
                Ok(bound)
            }
        }
    }

    /// `f(row)`, where there is no such function: the field of that name.
    pub(super) fn field_called(
        &self,
        call: &Call,
        missing: SqlError,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let name = &call.name.name;
        if let [arg] = call.args.as_slice()
            && let Some((_, names)) = self.names_of_item(arg, cx.scope)
            && !names.contains(&Arc::from(&*name.text))
        {
            return Err(missing);
        }
        if let ([arg], None) = (call.args.as_slice(), &call.name.schema)
            && let SqlType::Row(row) = self.expr(arg, cx)?.ty
            && (self.names_of_item(arg, cx.scope).is_some()
                || row.fields.iter().any(|(field, _)| **field == *name.text))
        {
            return self.field(arg, name, cx);
        }
        Err(missing)
    }

    /// `(a, b) op …`, where the left side is written as a row; none where the right side is neither a row nor a query.
    pub(super) fn row_operator(
        &self,
        op: &str,
        left: &[Expr],
        right: &Expr,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<Option<TypedExpr>, SqlError> {
        match &right.kind {
            _ if let Some(right) = self.spread(right, cx.scope) => {
                let (left, right) = (self.located(left, cx)?, self.located(&right, cx)?);
                self.compare_rows(op, left, right, point).map(Some)
            }
            ExprKind::Subquery(query) => {
                let left = self.located(&self.spread_all(left, cx.scope), cx)?;
                let (plan, outer, test) = self.against_query(op, left, query, point, cx)?;
                let plan = Plan::Project { input: Box::new(plan), exprs: vec![test], names: vec!["".into()] };
                Ok(Some(subquery(plan, outer, SubqueryTest::Scalar, Vec::new(), SqlType::Bool)))
            }
            _ => Ok(None),
        }
    }

    /// `NEW = OLD`: of rows that are not written as such NULLs are equal.
    pub(super) fn composite_operator(
        &self,
        op: &str,
        left: &Expr,
        right: &Expr,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let written = |expr: &Expr| matches!(expr.kind, ExprKind::Row(_));
        let equal = match op {
            "=" => true,
            "<>" | "!=" => false,
            _ => return Ok(None),
        };
        if written(left) || written(right) {
            return Ok(None);
        }
        let (Some(left), Some(right)) = (self.spread(left, cx.scope), self.spread(right, cx.scope)) else {
            return Ok(None);
        };
        self.distinct_rows(&left, &right, equal, point, cx).map(Some)
    }

    /// Comparison of two values of row types, where their columns differ in type or number, are not known, or have no such operator;
    /// none where they are of the same types.
    pub(super) fn compare_records(
        &self,
        op: &str,
        operands: &[Located],
        point: u32,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let [(left, left_at), (right, right_at)] = operands else { return Ok(None) };
        let is_row = |ty: &SqlType| ty.is_row() || *ty == SqlType::Record;
        if !is_row(&left.ty) || !is_row(&right.ty) || !matches!(op, "=" | "<>" | "<" | "<=" | ">" | ">=") {
            return Ok(None);
        }
        let columns = |row: &TypedExpr| -> Option<Vec<SqlType>> {
            match (&row.ty, &row.kind) {
                (SqlType::Row(row), _) => Some(row.fields.iter().map(|(_, ty)| ty.clone()).collect()),
                (_, K::Row(parts)) => Some(parts.iter().map(|part| part.ty.clone()).collect()),
                _ => None,
            }
        };
        let (unlike, text) = match (columns(left), columns(right)) {
            (Some(left), Some(right)) => {
                let unlike =
                    left.iter().zip(&right).position(|(left, right)| left.pg_oid() != right.pg_oid());
                let without = fields_without(op, &left);
                match unlike {
                    _ if let Some((at, text)) = without
                        && at < unlike.unwrap_or(right.len()) =>
                    {
                        (at, text)
                    }
                    Some(n) => {
                        let (left, right) = (shown(&left[n]), shown(&right[n]));
                        let text = "cannot compare dissimilar column types";
                        (n, format!("{text} {left} and {right} at record column {}", n + 1))
                    }
                    None if left.len() == right.len() => return Ok(None),
                    None => (left.len().min(right.len()), UNEQUAL_COUNTS.to_owned()),
                }
            }
            _ => (usize::MAX, String::new()),
        };
        let unlike = i32::try_from(unlike).unwrap_or(-1);
        let args = vec![
            self.settle(left.clone(), *left_at)?,
            self.settle(right.clone(), *right_at)?,
            TypedExpr::literal(Value::Int4(unlike), SqlType::Int4),
            TypedExpr::literal(Value::text(&text), SqlType::Text),
        ];
        let order = TypedExpr::new(K::Call { function: &UNLIKE_ROWS, args }, SqlType::Int4);
        let zero = TypedExpr::literal(Value::Int4(0), SqlType::Int4);
        self.operator(op, vec![(order, point), (zero, point)], point).map(Some)
    }

    /// Two rows, pair by pair.
    pub(super) fn compare_rows(
        &self,
        op: &str,
        left: Vec<Located>,
        right: Vec<Located>,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        if left.len() != right.len() {
            return Err(SqlError::syntax("unequal number of entries in row expressions").at(point));
        }
        let op = if op == "!=" { "<>" } else { op };
        let pairs: Vec<Vec<Located>> = left.into_iter().zip(right).map(|(a, b)| vec![a, b]).collect();
        if pairs.is_empty() {
            let text = "cannot compare rows of zero length";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(point));
        }
        // Values of which operators compare the sizes do not make rows that are compared.
        let is_rough = |pair: &Vec<Located>| pair.iter().any(|(side, _)| compares_roughly(&side.ty));
        if pairs.len() > 1 && pairs.iter().any(is_rough) {
            for pair in &pairs {
                self.operator(op, pair.clone(), point)?;
            }
            let text = format!("could not determine interpretation of row comparison operator {op}");
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
                .with_hint("Row comparison operators must be associated with btree operator families.")
                .at(point));
        }
        let strict = match op {
            "=" | "<>" => {
                let tests = pairs.into_iter().map(|pair| self.operator(op, pair, point));
                let tests = tests.collect::<Result<Vec<_>, _>>()?;
                let kind = if op == "=" { K::And(tests) } else { K::Or(tests) };
                return Ok(TypedExpr::new(kind, SqlType::Bool));
            }
            "<" | "<=" => "<",
            ">" | ">=" => ">",
            _ if pairs.len() == 1 => "",
            _ => {
                let text = format!("could not determine interpretation of row comparison operator {op}");
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(point));
            }
        };
        let mut pairs = pairs.into_iter().rev();
        let Some(last) = pairs.next() else { return Err(SqlError::internal("rows without columns")) };
        let mut result = self.operator(op, last, point)?;
        for pair in pairs {
            let equal = self.operator("=", pair.clone(), point)?;
            let decided = self.operator(strict, pair, point)?;
            let kind = K::Case { branches: vec![(equal, result)], otherwise: Some(Box::new(decided)) };
            result = TypedExpr::new(kind, SqlType::Bool);
        }
        Ok(result)
    }

    /// `(a, b) IS [NOT] DISTINCT FROM (c, d)`.
    pub(super) fn distinct_rows(
        &self,
        left: &[Expr],
        right: &[Expr],
        negated: bool,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        if left.len() != right.len() {
            return Err(SqlError::syntax("unequal number of entries in row expressions").at(point));
        }
        let mut tests = Vec::new();
        for (left, right) in left.iter().zip(right) {
            let sides = vec![(self.expr(left, cx)?, left.at.start), (self.expr(right, cx)?, right.at.start)];
            tests.push(self.distinct(sides, negated, point)?);
        }
        Ok(TypedExpr::new(if negated { K::And(tests) } else { K::Or(tests) }, SqlType::Bool))
    }

    /// `(a, b) [NOT] IN ((c, d), …)`.
    pub(super) fn row_in_list(
        &self,
        left: &[Expr],
        list: &[Expr],
        negated: bool,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let (written, op) = (left, if negated { "<>" } else { "=" });
        let left = self.located(&self.spread_all(left, cx.scope), cx)?;
        let mut tests = Vec::new();
        for item in list {
            let right = self.spread(item, cx.scope).filter(|_| !self.is_item_row(item, cx.scope));
            let Some(right) = right else {
                let sides = vec![(self.row(written, cx)?, point), (self.expr(item, cx)?, item.at.start)];
                tests.push(self.operator(op, sides, point)?);
                continue;
            };
            let right = self.located(&right, cx)?;
            tests.push(self.compare_rows(op, left.clone(), right, point)?);
        }
        Ok(TypedExpr::new(if negated { K::And(tests) } else { K::Or(tests) }, SqlType::Bool))
    }

    /// What stands before IN, ANY and ALL with a query: the fields of a row that is written as such, also behind casts. Any other value
    /// is one by itself, `t.*` too.
    pub(super) fn before_query(&self, args: &[Expr], cx: &mut Context<'_>) -> Result<Vec<Located>, SqlError> {
        let [one] = args else { return self.located(&self.spread_all(args, cx.scope), cx) };
        if let ExprKind::Row(parts) = &one.kind {
            return self.located(&self.spread_all(parts, cx.scope), cx);
        }
        let mut located = self.located(args, cx)?;
        match located.as_mut_slice() {
            [(TypedExpr { kind: K::Row(parts), .. }, at)] if is_row_cast(one) => {
                let at = *at;
                Ok(std::mem::take(parts).into_iter().map(|part| (part, at)).collect())
            }
            _ => Ok(located),
        }
    }

    /// `a op ANY (query)`, `a op ALL (query)`.
    pub(super) fn quantified_subquery(
        &self,
        op: &str,
        args: &[Expr],
        query: &Query,
        all: bool,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let left = self.before_query(args, cx)?;
        let (plan, outer, test) = self.against_query(op, left, query, point, cx)?;
        match self.by_extreme(&plan, &outer, &test, op, all, point)? {
            Some(compared) => Ok(compared),
            None => self.decided(plan, outer, test, all, point),
        }
    }

    /// The same for `<`, `<=`, `>` and `>=` where the query does not depend on the row: the least or the greatest of its values
    /// decides, and is found once.
    fn by_extreme(
        &self,
        plan: &Plan,
        outer: &[TypedExpr],
        test: &TypedExpr,
        op: &str,
        all: bool,
        point: u32,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let least = match op {
            ">" | ">=" => !all,
            "<" | "<=" => all,
            _ => return Ok(None),
        };
        let (K::Call { function, args }, [left]) = (&test.kind, outer) else { return Ok(None) };
        let [ours, theirs] = args.as_slice() else { return Ok(None) };
        let uses_row = |expr: &TypedExpr| expr.any(&mut |part| matches!(part.kind, K::Outer(_)));
        let fits = function.strict && uses_row(ours) && !uses_row(theirs) && columns_of(ours).is_empty();
        if !fits || KeyType::of(&theirs.ty).is_none() || plan.is_volatile() || plan.uses_outer() {
            return Ok(None);
        }
        let count =
            || Ok::<_, SqlError>(AggregateCall::plain(aggregate("count", 0)?, SqlType::Int8, "".into()));
        let extreme = aggregate(if least { "min" } else { "max" }, 1)?;
        let there = TypedExpr::is_there(theirs.clone());
        let absent = K::Not(Box::new(there));
        let aggregates = vec![
            AggregateCall {
                args: vec![theirs.clone()],
                ..AggregateCall::plain(extreme, theirs.ty.clone(), "".into())
            },
            AggregateCall { filter: Some(TypedExpr::new(absent, SqlType::Bool)), ..count()? },
            count()?,
        ];
        let input = Box::new(plan.clone());
        let found = Arc::new(Plan::Aggregate { input, group_by: Vec::new(), aggregates, sets: None });
        let part = |expr: TypedExpr| {
            let (ty, input) = (expr.ty.clone(), Box::new(Plan::shared(Arc::clone(&found))));
            let plan = Plan::Project { input, exprs: vec![expr], names: vec!["".into()] };
            subquery(plan, Vec::new(), SubqueryTest::Scalar, Vec::new(), ty)
        };
        let is = |op: &str, column: usize| {
            let zero = TypedExpr::literal(Value::Int8(0), SqlType::Int8);
            self.operator(op, vec![(TypedExpr::column(column, SqlType::Int8), point), (zero, point)], point)
        };
        let mut ours = ours.clone();
        replace_outer(&mut ours, left);
        let args = vec![ours, part(TypedExpr::column(0, theirs.ty.clone()))];
        let compared = TypedExpr::new(K::Call { function, args }, SqlType::Bool);
        // A NULL among the values counts where the others have not decided.
        let branches = vec![(is(">", 1)?, TypedExpr::null(SqlType::Bool))];
        let unless_null = K::Case { branches, otherwise: Some(Box::new(boolean(all))) };
        let both = vec![compared, part(TypedExpr::new(unless_null, SqlType::Bool))];
        let decided = TypedExpr::new(if all { K::And(both) } else { K::Or(both) }, SqlType::Bool);
        let branches = vec![(part(is("=", 2)?), boolean(all))];
        let kind = K::Case { branches, otherwise: Some(Box::new(decided)) };
        Ok(Some(TypedExpr::new(kind, SqlType::Bool)))
    }

    /// Whether a test is true of one row of a plan, or of all; NULL where that depends on a NULL.
    pub(super) fn decided(
        &self,
        plan: Plan,
        outer: Vec<TypedExpr>,
        test: TypedExpr,
        all: bool,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        let unknown = K::IsNull { arg: Box::new(test.clone()), negated: false };
        let decide = aggregate(if all { "bool_and" } else { "bool_or" }, 1)?;
        let aggregates = vec![
            AggregateCall { args: vec![test], ..AggregateCall::plain(decide, SqlType::Bool, "".into()) },
            AggregateCall {
                filter: Some(TypedExpr::new(unknown, SqlType::Bool)),
                ..AggregateCall::plain(aggregate("count", 0)?, SqlType::Int8, "".into())
            },
        ];
        let plan = Plan::Aggregate { input: Box::new(plan), group_by: Vec::new(), aggregates, sets: None };
        // NULL counts only where no row has decided.
        let decided = K::IsBool {
            arg: Box::new(TypedExpr::column(0, SqlType::Bool)),
            value: Some(!all),
            negated: false,
        };
        let nulls = TypedExpr::column(1, SqlType::Int8);
        let zero = TypedExpr::literal(Value::Int8(0), SqlType::Int8);
        let some = self.operator(">", vec![(nulls, point), (zero, point)], point)?;
        let result = K::Case {
            branches: vec![
                (TypedExpr::new(decided, SqlType::Bool), boolean(!all)),
                (some, TypedExpr::null(SqlType::Bool)),
            ],
            otherwise: Some(Box::new(boolean(all))),
        };
        let exprs = vec![TypedExpr::new(result, SqlType::Bool)];
        let plan = Plan::Project { input: Box::new(plan), exprs, names: vec!["".into()] };
        Ok(subquery(plan, outer, SubqueryTest::Scalar, Vec::new(), SqlType::Bool))
    }

    /// A query, what is handed in to it, and the comparison of the left side, handed in, with its columns.
    fn against_query(
        &self,
        op: &str,
        left: Vec<Located>,
        query: &Query,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<(Plan, Vec<TypedExpr>, TypedExpr), SqlError> {
        let (mut plan, mut outer) = self.correlated_for(query, &[], cx)?;
        let output = plan.output();
        // What does something, and would do it for each row that is compared, does it once, as in PostgreSQL.
        if outer.is_empty() && plan.is_volatile() && !plan.uses_outer() && !keeps_its_rows(&plan) {
            plan = Plan::Shared { columns: plan.output(), plan: Arc::new(plan), fence: true };
        }
        if output.len() != left.len() {
            let word = if output.len() > left.len() { "many" } else { "few" };
            return Err(SqlError::syntax(format!("subquery has too {word} columns")).at(point));
        }
        let mut ours = Vec::with_capacity(left.len());
        for ((expr, at), column) in left.into_iter().zip(&output) {
            // A literal without a type takes that of the column.
            let expr = match expr.ty {
                SqlType::Unknown => self.coerce(expr, at, &column.ty, verso_types::CastKind::Implicit)?,
                _ => expr,
            };
            let handed = TypedExpr::new(K::Outer(outer.len()), expr.ty.clone());
            outer.push(expr);
            ours.push((handed, at));
        }
        let theirs = output.iter().enumerate();
        let theirs = theirs.map(|(n, column)| (TypedExpr::column(n, column.seen()), point)).collect();
        let test = self.compare_rows(op, ours, theirs, point)?;
        Ok((plan, outer, test))
    }
}

/// Whether PostgreSQL keeps no second copy of the rows of a query's source, because that has them already: what is computed of them
/// is computed each time that they are read.
fn keeps_its_rows(plan: &Plan) -> bool {
    let mut plan = plan;
    loop {
        match plan {
            Plan::Project { input, .. } | Plan::Filter { input, .. } => plan = input,
            Plan::FunctionScan { .. } | Plan::Shared { .. } | Plan::WorkTable { .. } => return true,
            _ => return false,
        }
    }
}

/// A row that is written as such, with a type that says what its fields are; what it is named by and read from later, as a column
/// of a subquery, has no more than that type.
pub(super) fn with_fields(row: TypedExpr) -> TypedExpr {
    let K::Row(parts) = &row.kind else { return row };
    if row.ty != SqlType::Record {
        return row;
    }
    let known = |ty: &SqlType| match ty {
        SqlType::Unknown => SqlType::Text,
        known => known.clone(),
    };
    let collated = |part: &TypedExpr| match part.ty.own_collation() {
        None => known(&part.ty).collated(&part.collation),
        Some(_) => part.ty.clone(),
    };
    let field = |(part, n): (&TypedExpr, u32)| (format!("f{n}").into(), collated(part));
    let fields = parts.iter().zip(1u32..).map(field).collect();
    TypedExpr { ty: SqlType::Row(Arc::new(RowType::collated(fields))), ..row }
}

/// The plan of a statement, whose rows are sent as they were written: a literal without a type is of none to the client, too.
pub(super) fn as_sent(mut plan: Plan) -> Plan {
    if let Plan::Project { exprs, .. } = &mut plan {
        for row in exprs {
            let is_open = matches!(&row.ty, SqlType::Row(ty) if ty.of.is_none());
            let K::Row(parts) = &row.kind else { continue };
            if is_open
                && parts.iter().any(|part| part.ty == SqlType::Unknown)
                && !parts.iter().any(|part| is_named(&part.ty))
            {
                row.ty = SqlType::Record;
            }
        }
    }
    plan
}

/// An aggregate of the registry with so many arguments.
fn aggregate(name: &str, args: usize) -> Result<&'static AggregateFunction, SqlError> {
    let mut found = aggregate_candidates(name).iter().copied().filter(|entry| entry.args.len() == args);
    found.next().ok_or_else(|| SqlError::internal("an aggregate that is not there"))
}

/// What is handed in, in its place.
fn replace_outer(expr: &mut TypedExpr, with: &TypedExpr) {
    if matches!(expr.kind, K::Outer(_)) {
        *expr = with.clone();
        return;
    }
    expr.for_each_child_mut(&mut |child| replace_outer(child, with));
}
