//! Changes in WITH.
//!
//! ```text
//! WITH d AS (DELETE … RETURNING …), u AS (UPDATE …) INSERT … SELECT … FROM d
//!    ─►  d, kept as rows number n  ─►  the INSERT, whose source reads them  ─►  u, which nothing reads
//! ```
//!
//! 1. They stand in the WITH of the statement itself only, not in one further inside.
//! 2. What the statement reads, directly or not, happens before it, the rest behind it, the last first: the order of
//!    PostgreSQL where it can be told from the result.
//! 3. All of them read the state at the start ([`start`](super::start)). Where several change one table, the rows of an
//!    UPDATE or DELETE are found first, as those that another of them has changed are left alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_catalog::Oid;
use verso_exec::plan::{OutputColumn, Statement, With, WithPart, numbers_read};

use super::Binder;
use super::recursive::Arranged;
use super::shown::Change;
use super::with::{Cte, CteRows};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, FromItem, FromSource, QualifiedName, QueryBody};

impl Binder<'_> {
    /// A statement with changes in its WITH; none for others.
    pub(super) fn with_changes(&self, statement: &syntax::Statement) -> Result<Option<Statement>, SqlError> {
        let with: &[syntax::Cte] = match statement {
            syntax::Statement::Query(query) => &query.with,
            syntax::Statement::Insert(insert) => &insert.with,
            syntax::Statement::Update(update) => &update.with,
            syntax::Statement::Delete(delete) => &delete.with,
            syntax::Statement::Merge(merge) => &merge.with,
            _ => &[],
        };
        if !with.iter().any(|query| matches!(query.query.body, QueryBody::Change(_))) {
            return Ok(None);
        }
        let mut inside = self.clone();
        inside.changed_twice = self.changed_twice(with, statement);
        let watched = !inside.changed_twice.is_empty();
        let mut changes: Vec<WithPart> = Vec::new();
        for (query, recursive) in Arranged::of(with)?.queries {
            let QueryBody::Change(change) = &query.query.body else {
                inside.add_query(query, recursive)?;
                continue;
            };
            let name: Arc<str> = query.name.text.as_str().into();
            let bound = inside.clone().plain(change)?;
            let number = With::FIRST_NUMBER + changes.len();
            let columns = renamed(bound.output(), query)?;
            inside.ctes.push(Cte { name: Arc::clone(&name), rows: CteRows::Changed { number, columns } });
            let part =
                WithPart { name: Some(name), statement: bound, number: Some(number), reads: BTreeSet::new() };
            changes.push(part);
        }
        let main = match statement {
            syntax::Statement::Query(query) => Statement::Query(inside.query_behind_with(query)?),
            syntax::Statement::Insert(insert) => Statement::Insert(inside.insert(insert)?),
            syntax::Statement::Update(update) => Statement::Update(inside.update(update)?),
            syntax::Statement::Delete(delete) => Statement::Delete(inside.delete(delete)?),
            syntax::Statement::Merge(merge) => Statement::Merge(inside.merge(merge)?),
            _ => return Err(SqlError::internal("only queries and changes of rows have a WITH")),
        };
        let parts = ordered(changes, main);
        Ok(Some(Statement::With(Box::new(With { before: Vec::new(), parts, watched }))))
    }

    /// The tables that several of the changes are about.
    fn changed_twice(&self, with: &[syntax::Cte], main: &syntax::Statement) -> Vec<Oid> {
        let changes = with.iter().filter_map(|query| match &query.query.body {
            QueryBody::Change(change) => Some(&**change),
            _ => None,
        });
        let mut seen = BTreeSet::new();
        let names = changes.chain([main]).filter_map(target);
        let tables = names.filter_map(|name| self.changed(name, Change::Delete).ok());
        tables.map(|changed| changed.table.oid).filter(|oid| !seen.insert(*oid)).collect()
    }
}

/// The table that a statement changes.
fn target(statement: &syntax::Statement) -> Option<&QualifiedName> {
    let of_item = |item: &'_ FromItem| matches!(item.source, FromSource::Table(_));
    let item = match statement {
        syntax::Statement::Insert(insert) => return Some(&insert.table),
        syntax::Statement::Update(update) => &update.table,
        syntax::Statement::Delete(delete) => &delete.table,
        syntax::Statement::Merge(merge) => &merge.table,
        _ => return None,
    };
    match &item.source {
        FromSource::Table(name) if of_item(item) => Some(name),
        _ => None,
    }
}

/// The changes that `main` reads, `main`, and the others.
fn ordered(changes: Vec<WithPart>, mut main: Statement) -> Vec<WithPart> {
    let mut changes = changes;
    let index = |numbers: BTreeSet<usize>| -> BTreeSet<usize> {
        numbers.into_iter().filter_map(|number| number.checked_sub(With::FIRST_NUMBER)).collect()
    };
    for change in &mut changes {
        change.reads = numbers_read(&mut change.statement);
    }
    let read_by_main = numbers_read(&mut main);
    let reads: Vec<BTreeSet<usize>> = changes.iter().map(|change| index(change.reads.clone())).collect();
    let of_main = index(read_by_main.clone());
    for (n, change) in changes.iter_mut().enumerate() {
        if !of_main.contains(&n) && !reads.iter().any(|read| read.contains(&n)) {
            change.number = None;
        }
    }
    // One reads only those before it.
    let closure = |mut needed: BTreeSet<usize>| {
        for n in (0..reads.len()).rev() {
            if needed.contains(&n) {
                needed.extend(&reads[n]);
            }
        }
        needed
    };
    let mut order: Vec<usize> = closure(of_main).into_iter().collect();
    let first = order.len();
    for n in (0..reads.len()).rev() {
        let wanted = closure(BTreeSet::from([n]));
        order.extend(wanted.into_iter().filter(|n| !order.contains(n)).collect::<Vec<_>>());
    }
    let mut changes: Vec<Option<WithPart>> = changes.into_iter().map(Some).collect();
    let mut parts: Vec<WithPart> = order.into_iter().filter_map(|n| changes[n].take()).collect();
    parts.insert(first, WithPart { name: None, statement: main, number: None, reads: read_by_main });
    parts
}

/// The columns of RETURNING with the names that WITH gives.
fn renamed(mut columns: Vec<OutputColumn>, query: &syntax::Cte) -> Result<Vec<OutputColumn>, SqlError> {
    if query.columns.len() > columns.len() {
        let text = format!(
            "WITH query \"{}\" has {} columns available but {} columns specified",
            query.name.text,
            columns.len(),
            query.columns.len()
        );
        return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(query.name.at.start));
    }
    for (column, name) in columns.iter_mut().zip(&query.columns) {
        column.name = name.text.as_str().into();
    }
    columns.iter_mut().for_each(|column| column.origin = None);
    Ok(columns)
}
