//! SEARCH and CYCLE of recursive queries.
//!
//! ```text
//! r AS (base UNION ALL step) SEARCH DEPTH FIRST BY a SET o CYCLE b SET c USING p
//!    ─►  r AS (SELECT x.*, ARRAY[ROW(a)] AS o, false AS c, ARRAY[ROW(b)] AS p FROM (base) AS x
//!              UNION ALL
//!              SELECT x.*, o || ROW(a), ROW(b) = ANY (p), p || ROW(b) FROM (step with r.o, r.c, r.p, where not r.c) AS x)
//! ```
//!
//! The query is written anew with the columns that they add, as the standard defines them. Within the step these have names that
//! nothing else has and that `*` leaves out; their own names mean them.

use std::sync::Arc;

use verso_exec::plan::{Plan, TypedExpr};
use verso_types::SqlType;

use super::Binder;
use super::comparable::check_equality;
use super::context::{Clause, Context};
use super::scope::{Scope, added as added_name};
use super::with::named;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{
    Call, Cte, Expr, ExprKind, FromItem, FromSource, Literal, Name, QualifiedName, Query, QueryBody, Select,
    SelectItem, SetOperator, Span,
};

/// The name that the level of SEARCH BREADTH FIRST has within the recursion; the other columns that are added can be named there.
const LEVEL: &str = "\0level";
/// The rows of either side.
const ROWS: &str = "\0rows";

impl Binder<'_> {
    /// A query with SEARCH or CYCLE; `recursive`: does it read itself?
    pub(super) fn searched(&self, cte: &Cte, recursive: bool) -> Result<Plan, SqlError> {
        let at = cte.search.as_ref().map(|search| search.at).or(cte.cycle.as_ref().map(|cycle| cycle.at));
        let no_recursion = || SqlError::syntax("WITH query is not recursive").at(at.unwrap_or_default());
        if !recursive {
            return Err(no_recursion());
        }
        let plain = self.recursive(cte);
        let QueryBody::Set { operator: SetOperator::Union, all, left, right } = &cte.query.body else {
            return Err(plain.err().unwrap_or_else(no_recursion));
        };
        let plain = match plain {
            // Perhaps a column that is added here.
            Err(error) if error.sqlstate == sqlstate::UNDEFINED_COLUMN => named(self.query(left)?, cte)?,
            plain => plain?,
        };
        let columns: Vec<String> = plain.output().iter().map(|column| column.name.to_string()).collect();
        check_names(cte, &columns)?;
        self.check_mark(cte)?;
        let base = match &unwrapped(left).body {
            QueryBody::Select(_) | QueryBody::Values(_) => (**left).clone(),
            _ => {
                let text = "with a SEARCH or CYCLE clause, the left side of the UNION must be a SELECT";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
            }
        };
        let added = Added::new(cte);
        let step = self.carrying(right, cte, &added)?;
        let source = Source { at: cte.name.at, columns: &columns };
        let further: Vec<&str> = added.names.iter().map(|(name, _)| name.as_str()).collect();
        let left = source.select(base, &[], &further, added.first(&source));
        let right = source.select(step, &further, &further, added.next(&source));
        let body = QueryBody::Set {
            operator: SetOperator::Union,
            all: *all,
            left: Box::new(left),
            right: Box::new(right),
        };
        let whole = Cte {
            columns: Vec::new(),
            query: Query::of(body, cte.query.at),
            search: None,
            cycle: None,
            ..cte.clone()
        };
        let plan = self.recursive(&whole)?;
        // The query's own columns, then those that have a name.
        let output = plan.output();
        let (mut exprs, mut names) = (Vec::new(), Vec::<Arc<str>>::new());
        let shown = columns.iter().map(Some).chain(added.names.iter().map(|(_, shown)| shown.as_ref()));
        for (n, (column, shown)) in output.iter().zip(shown).enumerate() {
            if let Some(shown) = shown {
                exprs.push(TypedExpr::column(n, column.seen()));
                names.push(shown.as_str().into());
            }
        }
        Ok(Plan::Project { input: Box::new(plan), exprs, names })
    }

    /// `42804` where TO and DEFAULT have no common type.
    fn check_mark(&self, cte: &Cte) -> Result<(), SqlError> {
        let Some((to, default)) = cte.cycle.as_ref().and_then(|cycle| cycle.values.as_deref()) else {
            return Ok(());
        };
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::Select);
        let values =
            vec![(self.expr(to, &mut cx)?, to.at.start), (self.expr(default, &mut cx)?, default.at.start)];
        let (_, ty) = self.unify(values, "CYCLE")?;
        check_equality(&ty, 0)
    }

    /// The step with the added columns of the round before behind its own.
    fn carrying(&self, right: &Query, cte: &Cte, added: &Added<'_>) -> Result<Query, SqlError> {
        let mut step = unwrapped(right).clone();
        let QueryBody::Select(select) = &mut step.body else {
            let text = "with a SEARCH or CYCLE clause, the right side of the UNION must be a SELECT";
            return Err(SqlError::syntax(text));
        };
        let Some(reference) = select.from.as_ref().and_then(|from| reference(from, &cte.name.text)) else {
            let text = format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{}\" must be at the top level of its \
                 right-hand SELECT",
                cte.name.text
            );
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        };
        let at = cte.name.at;
        for (name, _) in &added.names {
            select.items.push(item(column(&reference, name, at), name, at));
        }
        if let Some(cycle) = &cte.cycle {
            // Rows that have come round are not gone on from.
            let (to, _) = mark_values(cycle.values.as_deref(), at);
            let goes_on = of(
                ExprKind::Binary {
                    op: "<>".to_string(),
                    left: Box::new(column(&reference, &added_name(&cycle.set.text), at)),
                    right: Box::new(to),
                },
                at,
            );
            select.filter = Some(match select.filter.take() {
                Some(filter) => of(ExprKind::And(vec![filter, goes_on]), at),
                None => goes_on,
            });
        }
        Ok(step)
    }
}

/// The columns that SEARCH and CYCLE add.
struct Added<'c> {
    cte: &'c Cte,
    /// Each with its name within the recursion, and outside, where it is seen there.
    names: Vec<(String, Option<String>)>,
}

impl<'c> Added<'c> {
    fn new(cte: &'c Cte) -> Added<'c> {
        let mut names = Vec::new();
        if let Some(search) = &cte.search {
            names.push((added_name(&search.set.text), Some(search.set.text.clone())));
            if !search.depth {
                names.push((LEVEL.to_string(), None));
            }
        }
        if let Some(cycle) = &cte.cycle {
            names.push((added_name(&cycle.set.text), Some(cycle.set.text.clone())));
            names.push((added_name(&cycle.using.text), Some(cycle.using.text.clone())));
        }
        Added { cte, names }
    }

    /// What they are in rows of the base.
    fn first(&self, source: &Source<'_>) -> Vec<Expr> {
        let at = source.at;
        let zero = || bigint("0", at);
        let mut values = Vec::new();
        match &self.cte.search {
            Some(search) if search.depth => values.push(list(vec![source.row(None, &search.by)], at)),
            Some(search) => values.extend([source.row(Some(zero()), &search.by), zero()]),
            None => {}
        }
        if let Some(cycle) = &self.cte.cycle {
            let (_, default) = mark_values(cycle.values.as_deref(), at);
            values.extend([default, list(vec![source.row(None, &cycle.columns)], at)]);
        }
        values
    }

    /// What they are in rows of the step.
    fn next(&self, source: &Source<'_>) -> Vec<Expr> {
        let at = source.at;
        let mut values = Vec::new();
        match &self.cte.search {
            Some(search) if search.depth => {
                let row = source.row(None, &search.by);
                values.push(call(
                    "array_append",
                    vec![column(ROWS, &added_name(&search.set.text), at), row],
                    at,
                ));
            }
            Some(search) => {
                let level = || {
                    let (left, right) = (column(ROWS, LEVEL, at), bigint("1", at));
                    let (left, right) = (Box::new(left), Box::new(right));
                    of(ExprKind::Binary { op: "+".to_string(), left, right }, at)
                };
                values.extend([source.row(Some(level()), &search.by), level()]);
            }
            None => {}
        }
        if let Some(cycle) = &self.cte.cycle {
            let path = || column(ROWS, &added_name(&cycle.using.text), at);
            let row = || source.row(None, &cycle.columns);
            let (to, default) = mark_values(cycle.values.as_deref(), at);
            let position = Box::new(call("array_position", vec![path(), row()], at));
            let known = of(ExprKind::IsNull { arg: position, negated: true }, at);
            let case = ExprKind::Case {
                operand: None,
                branches: vec![(known, to)],
                otherwise: Some(Box::new(default)),
            };
            values.extend([of(case, at), call("array_append", vec![path(), row()], at)]);
        }
        values
    }
}

/// The rows of one side, in FROM.
struct Source<'c> {
    at: Span,
    columns: &'c [String],
}

impl Source<'_> {
    /// `ROW(first, a, b)`.
    fn row(&self, first: Option<Expr>, names: &[Name]) -> Expr {
        let columns = names.iter().map(|name| column(ROWS, &name.text, self.at));
        of(ExprKind::Row(first.into_iter().chain(columns).collect()), self.at)
    }

    /// `SELECT columns, added AS names FROM (query)`, which has `further` columns behind its own.
    fn select(&self, query: Query, further: &[&str], names: &[&str], added: Vec<Expr>) -> Query {
        let at = self.at;
        let name = |text: &str| Name { text: text.to_string(), at };
        let span = query.at;
        let from = FromItem {
            alias: Some(name(ROWS)),
            columns: self
                .columns
                .iter()
                .map(String::as_str)
                .chain(further.iter().copied())
                .map(name)
                .collect(),
            ..FromItem::of(FromSource::Query(Box::new(query), span))
        };
        let own = self.columns.iter().map(|text| item(column(ROWS, text, at), text, at));
        let added = added.into_iter().zip(names).map(|(value, name)| item(value, name, at));
        let select = Select::of(own.chain(added).collect(), Some(from));
        Query::of(QueryBody::Select(Box::new(select)), span)
    }
}

/// A query without the parentheses around it.
fn unwrapped(query: &Query) -> &Query {
    let mut query = query;
    while let QueryBody::Nested(inner) = &query.body
        && query.is_bare()
    {
        query = inner;
    }
    query
}

/// The name that a recursive query has among the items of FROM.
fn reference(from: &FromItem, name: &str) -> Option<String> {
    let mut open = vec![from];
    while let Some(item) = open.pop() {
        match &item.source {
            FromSource::Join(join) => open.extend([&join.left, &join.right]),
            FromSource::Table(table) if table.schema.is_none() && table.name.text == name => {
                return Some(item.alias.as_ref().unwrap_or(&table.name).text.clone());
            }
            _ => {}
        }
    }
    None
}

/// Refuses columns that are not there, or names that are taken.
fn check_names(cte: &Cte, columns: &[String]) -> Result<(), SqlError> {
    let refused = |text: String, at: u32| Err(SqlError::syntax(text).at(at));
    let listed = |word: &str, names: &[Name]| {
        for (n, name) in names.iter().enumerate() {
            if !columns.contains(&name.text) {
                let text = format!("{word} column \"{}\" not in WITH query column list", name.text);
                return refused(text, name.at.start);
            }
            if names[..n].iter().any(|other| other.text == name.text) {
                let text = format!("{word} column \"{}\" specified more than once", name.text);
                return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text).at(name.at.start));
            }
        }
        Ok(())
    };
    let free = |what: &str, name: &Name| match columns.contains(&name.text) {
        true => refused(
            format!("{what} column name \"{}\" already used in WITH query column list", name.text),
            name.at.start,
        ),
        false => Ok(()),
    };
    if let Some(search) = &cte.search {
        listed("search", &search.by)?;
        free("search sequence", &search.set)?;
    }
    if let Some(cycle) = &cte.cycle {
        listed("cycle", &cycle.columns)?;
        free("cycle mark", &cycle.set)?;
        free("cycle path", &cycle.using)?;
        let mut pairs = vec![("cycle mark column name and cycle path column name", &cycle.set, &cycle.using)];
        if let Some(search) = &cte.search {
            pairs.push(("search sequence column name and cycle mark column name", &search.set, &cycle.set));
            pairs.push(("search sequence column name and cycle path column name", &search.set, &cycle.using));
        }
        for (what, one, other) in pairs {
            if one.text == other.text {
                return refused(format!("{what} are the same"), other.at.start);
            }
        }
    }
    Ok(())
}

/// The values of the mark: of rows that have come round, and of others.
fn mark_values(given: Option<&(Expr, Expr)>, at: Span) -> (Expr, Expr) {
    let constant = |value| of(ExprKind::Literal(Literal::Bool(value)), at);
    given.cloned().unwrap_or_else(|| (constant(true), constant(false)))
}

// ── syntax ───────────────────────────────────────────────────────────────────────────────────────────────────────

fn of(kind: ExprKind, at: Span) -> Expr {
    Expr { kind, at, point: at.start }
}

fn column(table: &str, name: &str, at: Span) -> Expr {
    let part = |text: &str| Name { text: text.to_string(), at };
    of(ExprKind::Column(vec![part(table), part(name)]), at)
}

fn list(items: Vec<Expr>, at: Span) -> Expr {
    of(ExprKind::Array(items), at)
}

fn bigint(digits: &str, at: Span) -> Expr {
    let arg = Box::new(of(ExprKind::Literal(Literal::Number(digits.to_string())), at));
    of(ExprKind::Cast { arg, ty: SqlType::Int8, at_type: at.start }, at)
}

fn call(name: &str, args: Vec<Expr>, at: Span) -> Expr {
    let part = |text: &str| Name { text: text.to_string(), at };
    let name = QualifiedName { schema: Some(part("pg_catalog")), name: part(name) };
    of(ExprKind::Call(Box::new(Call::plain(name, args))), at)
}

fn item(expr: Expr, alias: &str, at: Span) -> SelectItem {
    SelectItem::Expr { expr, alias: Some(Name { text: alias.to_string(), at }) }
}
