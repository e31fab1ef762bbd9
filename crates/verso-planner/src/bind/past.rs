//! `AS OF`: a table as it was; FLASHBACK TABLE, which makes it so again.
//!
//! FLASHBACK is one statement of ordinary changes: rows that have come are deleted, those that have changed updated, and those that
//! have gone inserted. A row is known by its primary key; without one, all rows go and those of the past come.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_exec::plan::{Plan, Statement, TypedExpr};
use verso_types::keyword::quoted;
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::context::{Clause, Context};
use super::scope::Scope;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Flashback, FromItem, Past};

impl Binder<'_> {
    /// Makes a plan that reads one table, perhaps under a policy, read an earlier state of it.
    pub(super) fn as_it_was(&self, plan: &mut Plan, past: &Past) -> Result<(), SqlError> {
        let moment = self.past_moment(past)?;
        match scan_of(plan) {
            Some(scan) => {
                let Plan::TableScan { table, .. } = &*scan else {
                    return Err(SqlError::internal("a scan that is none"));
                };
                let table = Arc::clone(table);
                let nothing = Plan::Values { rows: Vec::new(), columns: Vec::new() };
                let input = Box::new(std::mem::replace(scan, nothing));
                *scan = Plan::Past { input, table, moment };
                Ok(())
            }
            None => Err(refused("a query, a sequence or a system view", past.at)),
        }
    }

    /// FLASHBACK TABLE, as the changes that it is.
    ///
    /// # Errors
    /// What is wrong with the table or the moment.
    pub fn flashback(&self, flashback: &Flashback) -> Result<Statement, SqlError> {
        let at = flashback.past.at;
        let table = self.table(&flashback.table)?;
        if table.materialized.is_some() || table.is_system() {
            let text = format!("\"{}\" is no table that FLASHBACK changes", table.name);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(flashback.table.at().start));
        }
        if self.past_moment(&flashback.past)?.is_volatile() {
            let text = "the moment of FLASHBACK TABLE is evaluated several times, so it must not be volatile";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
        }
        let mut parsed = verso_parser::parse_script(&changes(&table, &flashback.past))?;
        let Some(parsed) = parsed.pop().map(|parsed| parsed.statement) else {
            return Err(SqlError::internal("a change that is none"));
        };
        // Positions are those of a text that nobody has written.
        let binder = Binder { flashes_back: true, ..self.clone() };
        binder.statement(&parsed).map_err(|error| SqlError { position: None, ..error })
    }

    /// What says which state is meant: a time or a number.
    pub(crate) fn past_moment(&self, past: &Past) -> Result<TypedExpr, SqlError> {
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::From);
        let bound = self.expr(&past.moment, &mut cx)?;
        let ty = if past.numbered { SqlType::Int8 } else { SqlType::Timestamptz(None) };
        self.coerce(bound, past.moment.at.start, &ty, CastKind::Assignment)
    }
}

/// A condition that holds when a change of the WITH clause has been made: what reads it comes behind it.
fn behind(change: &str) -> String {
    format!("(SELECT count(*) FROM {change}) >= 0")
}

/// The changes that make a table as it was.
fn changes(table: &TableDef, past: &Past) -> String {
    let what = if past.numbered { "SNAPSHOT" } else { "TIMESTAMP" };
    let name = format!("{}.{}", quoted(&table.schema), quoted(&table.name));
    let past = format!("{name} AS OF {what} ({}) p", past.text);
    let stored: Vec<_> = table.shown().iter().filter(|column| !column.generated).collect();
    let list = |prefix: &str, separator: &str| -> String {
        let names = stored.iter().map(|column| format!("{prefix}{}", quoted(&column.name)));
        names.collect::<Vec<_>>().join(separator)
    };
    let all = list("", ", ");
    let insert = |what: &str| {
        let from = format!("SELECT {} FROM {past}", list("p.", ", "));
        format!("INSERT INTO {name} ({all}) OVERRIDING SYSTEM VALUE {from}{what}")
    };
    let key: Vec<String> = table.primary_key().map_or_else(Vec::new, |index| {
        let columns = index.parts.iter().filter_map(|part| table.column_with_id(part.column));
        columns.map(|at| quoted(&table.columns[at].name)).collect()
    });
    if key.is_empty() {
        let behind = insert(&format!(" WHERE {}", behind("d")));
        return format!("WITH d AS (DELETE FROM {name} RETURNING 1) {behind}");
    }
    let same = key.iter().map(|column| format!("p.{column} = t.{column}")).collect::<Vec<_>>().join(" AND ");
    let delete =
        format!("DELETE FROM {name} t WHERE NOT EXISTS (SELECT FROM {past} WHERE {same}) RETURNING 1");
    let missing = format!(" WHERE NOT EXISTS (SELECT FROM {name} t WHERE {same}) AND {}", behind("d"));
    let settable: Vec<_> =
        stored.iter().map(|column| quoted(&column.name)).filter(|name| !key.contains(name)).collect();
    let row = |of: &str| {
        let columns = settable.iter().map(|column| format!("{of}.{column}")).collect::<Vec<_>>().join(", ");
        format!("ROW({columns})::text")
    };
    let (update, missing) = match settable.is_empty() {
        true => (String::new(), missing),
        false => {
            let set = settable.iter().map(|column| format!("{column} = p.{column}")).collect::<Vec<_>>();
            let (set, now, then) = (set.join(", "), row("t"), row("p"));
            let changed = format!("{same} AND {now} <> {then} RETURNING 1");
            let update = format!(", u AS (UPDATE {name} t SET {set} FROM {past} WHERE {changed})");
            (update, format!("{missing} AND {}", behind("u")))
        }
    };
    format!("WITH d AS ({delete}){update} {}", insert(&missing))
}

/// The scan of a table below what a policy has put above it.
fn scan_of(plan: &mut Plan) -> Option<&mut Plan> {
    match plan {
        Plan::TableScan { .. } => Some(plan),
        Plan::Filter { input, .. } | Plan::Project { input, .. } => scan_of(input),
        _ => None,
    }
}

/// Refuses `AS OF` behind something that is no table.
pub(super) fn refuse_past(item: &FromItem, what: &str) -> Result<(), SqlError> {
    item.past.as_ref().map_or(Ok(()), |past| Err(refused(what, past.at)))
}

fn refused(what: &str, at: u32) -> SqlError {
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("AS OF is not supported for {what}"))
        .with_hint("Only tables and materialized views have a past.")
        .at(at)
}
