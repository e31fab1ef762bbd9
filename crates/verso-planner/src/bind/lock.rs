//! SELECT … FOR UPDATE and its relatives.
//!
//! 1. A clause is about the tables that it names, or all of FROM. Of several clauses about one table the strongest lock
//!    counts, and NOWAIT before SKIP LOCKED before waiting.
//! 2. The place of each record to be locked goes through the plan as a column without a name, up to the lock operator.
//! 3. A clause about a subquery of FROM is about its tables. Where the subquery is nothing but a join with a condition,
//!    only rows that come out of the query around it are locked; elsewhere all that it yields.
//! 4. What has no records (functions, VALUES, queries of WITH) is left out where a clause is about all, and refused where
//!    one names it. What a join may pad with NULLs is refused.

use std::borrow::Cow;
use std::sync::Arc;

use verso_catalog::TableDef;
use verso_env::stack;
use verso_exec::plan::{JoinKind, Plan, RECORD_COLUMN, RowLock, TypedExpr};
use verso_storage::{RecordLockMode, WaitPolicy};
use verso_types::SqlType;

use super::scope::Scope;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{LockClause, LockStrength, LockWait, Query, QueryBody, Select};

/// What a query is asked to lock.
#[derive(Clone, Debug, Default)]
pub(super) struct Locking<'q> {
    pub(super) locks: Cow<'q, [LockClause]>,
    /// The query around it locks: the places come out as further columns.
    pub(super) export: bool,
    /// It is that of a cursor: the places come out, whether locked or not.
    pub(super) places: bool,
}

impl<'q> Locking<'q> {
    /// With the clauses of the query itself.
    pub(super) fn with(self, query: &'q Query) -> Locking<'q> {
        let plain = match &query.body {
            QueryBody::Select(select) => {
                !select.distinct
                    && select.distinct_on.is_empty()
                    && select.group_by.is_empty()
                    && select.having.is_none()
            }
            QueryBody::Nested(_) => true,
            QueryBody::Values(_) | QueryBody::Set { .. } | QueryBody::Change(_) => false,
        };
        let bare = query.with.is_empty() && query.order_by.is_empty() && query.locks.is_empty();
        let export = self.export && plain && bare && query.limit.is_none() && query.offset.is_none();
        let locks = match (query.locks.as_slice(), &*self.locks) {
            ([], _) => self.locks,
            (own, []) => Cow::Borrowed(own),
            (own, around) => Cow::Owned(own.iter().chain(around).cloned().collect()),
        };
        let places = self.places && !matches!(query.body, QueryBody::Values(_) | QueryBody::Set { .. });
        Locking { locks, export, places }
    }
}

/// An item of FROM that is locked.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    strength: LockStrength,
    /// The records of a table; their place is this column. None where a query inside has locked them already.
    pub(super) row: Option<(usize, RowLock)>,
}

/// What the clauses want of one item of FROM.
pub(super) struct Wanted<'l> {
    strength: LockStrength,
    wait: LockWait,
    at: u32,
    /// The clause that names it, and where.
    named: Option<(&'l LockClause, u32)>,
}

impl<'l> Wanted<'l> {
    /// Of the item with this name; none where no clause is about it.
    pub(super) fn of(locks: &'l [LockClause], name: Option<&str>) -> Option<Wanted<'l>> {
        let names = |lock: &'l LockClause| {
            lock.of.iter().find(|of| Some(of.text.as_str()) == name).map(|of| of.at.start)
        };
        let about = || locks.iter().filter(|lock| lock.of.is_empty() || names(lock).is_some());
        let strongest = about().max_by_key(|lock| lock.strength)?;
        let asks = |wait: LockWait| about().any(|lock| lock.wait == wait);
        let wait = match (asks(LockWait::NoWait), asks(LockWait::SkipLocked)) {
            (true, _) => LockWait::NoWait,
            (false, true) => LockWait::SkipLocked,
            (false, false) => LockWait::Block,
        };
        let named = locks.iter().find_map(|lock| Some((lock, names(lock)?)));
        Some(Wanted { strength: strongest.strength, wait, at: strongest.at, named })
    }

    /// As a clause about all.
    pub(super) fn clause(&self) -> LockClause {
        LockClause { strength: self.strength, of: Vec::new(), wait: self.wait, at: self.at }
    }

    /// Something that is locked inside.
    pub(super) fn whole(&self) -> Mark {
        Mark { strength: self.strength, row: None }
    }

    /// Marks a table, whose scan then yields the places, too. Others are left out, or refused.
    pub(super) fn relation(&self, plan: &mut Plan) -> Result<Option<Mark>, SqlError> {
        match plan {
            Plan::TableScan { table, columns, .. } if !table.is_system() => {
                let mode = match self.strength {
                    LockStrength::KeyShare => RecordLockMode::KeyShare,
                    LockStrength::Share => RecordLockMode::Share,
                    LockStrength::NoKeyUpdate => RecordLockMode::NoKeyUpdate,
                    LockStrength::Update => RecordLockMode::Update,
                };
                let wait = match self.wait {
                    LockWait::Block => WaitPolicy::Block,
                    LockWait::NoWait => WaitPolicy::NoWait,
                    LockWait::SkipLocked => WaitPolicy::SkipLocked,
                };
                let row = Some((columns.len(), RowLock { table: Arc::clone(table), mode, wait }));
                columns.push(RECORD_COLUMN);
                Ok(Some(Mark { strength: self.strength, row }))
            }
            Plan::TableScan { .. } | Plan::SystemScan { .. } => {
                let text = format!("{} of a system catalog", self.strength.as_str());
                Err(SqlError::unsupported(text).at(self.named.map_or(self.at, |(_, at)| at)))
            }
            _ => self.refuse_named("a WITH query").map(|()| None),
        }
    }

    /// Refuses what has no records where a clause names it.
    pub(super) fn refuse_named(&self, what: &str) -> Result<(), SqlError> {
        match self.named {
            Some((clause, at)) => Err(not_applied(clause.strength, what).at(at)),
            None => Ok(()),
        }
    }
}

/// `0A000`: the clause and a part of the query exclude each other.
pub(super) fn not_allowed(strength: LockStrength, what: &str) -> SqlError {
    let text = format!("{} is not allowed with {what}", strength.as_str());
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
}

/// `0A000`: this has no records to be locked.
pub(super) fn not_applied(strength: LockStrength, what: &str) -> SqlError {
    let text = format!("{} cannot be applied to {what}", strength.as_str());
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
}

/// Refuses clauses where rows that come out stand for no single record, and names that FROM does not have.
pub(super) fn check(locks: &[LockClause], select: &Select, scope: &Scope) -> Result<(), SqlError> {
    for lock in locks {
        let excluded = [
            (select.distinct || !select.distinct_on.is_empty(), "DISTINCT clause"),
            (!select.group_by.is_empty(), "GROUP BY clause"),
            (select.having.is_some(), "HAVING clause"),
        ];
        if let Some((_, what)) = excluded.iter().find(|(present, _)| *present) {
            return Err(not_allowed(lock.strength, what));
        }
        if let Some(name) = lock.of.iter().find(|name| scope.table(&name.text).is_none()) {
            let clause = lock.strength.as_str();
            let text = format!("relation \"{}\" in {clause} clause not found in FROM clause", name.text);
            return Err(SqlError::new(sqlstate::UNDEFINED_TABLE, text).at(name.at.start));
        }
    }
    Ok(())
}

/// What is locked of a join whose left side has so many columns.
pub(super) fn joined(
    mut left: Vec<Mark>,
    mut right: Vec<Mark>,
    width: usize,
    kind: JoinKind,
) -> Result<Vec<Mark>, SqlError> {
    let padded = [(kind.pads_left(), &left), (kind.pads_right(), &right)];
    let nullable = padded.into_iter().filter(|(pads, _)| *pads).find_map(|(_, marks)| marks.first());
    if let Some(mark) = nullable {
        return Err(not_applied(mark.strength, "the nullable side of an outer join"));
    }
    right.iter_mut().filter_map(|mark| mark.row.as_mut()).for_each(|(column, _)| *column += width);
    left.append(&mut right);
    Ok(left)
}

/// Marks the table of a cursor's query, if there is just one: also one below the conditions of policies, virtual columns, or a
/// view or a subquery that is nothing but a selection of its rows.
pub(super) fn positioned(plan: &mut Plan, scope: &mut Scope, marks: &mut Vec<Mark>) {
    let Some((at, table)) = place_of_rows(plan) else { return };
    let (mode, wait) = (RecordLockMode::KeyShare, WaitPolicy::Block);
    let row = Some((at, RowLock { table, mode, wait }));
    marks.push(Mark { strength: LockStrength::KeyShare, row });
    scope.columns.push((Arc::from(""), SqlType::Int8));
}

/// Lets a plan whose rows are each made of one row of a table yield its place as the last column: which column that is, and the
/// table.
fn place_of_rows(plan: &mut Plan) -> Option<(usize, Arc<TableDef>)> {
    stack::check().ok()?;
    match plan {
        Plan::TableScan { table, columns, .. } if !table.is_system() && table.partitioned.is_none() => {
            if columns.contains(&RECORD_COLUMN) {
                return None;
            }
            // The condition goes by the columns that are there.
            columns.push(RECORD_COLUMN);
            Some((columns.len() - 1, Arc::clone(table)))
        }
        Plan::LockRows { input, locks, .. } if let [lock] = locks.as_slice() => {
            // Its input has the place last.
            Some((input.output().len().checked_sub(1)?, Arc::clone(&lock.table)))
        }
        Plan::Filter { input, .. } | Plan::Barrier { input } => place_of_rows(input),
        Plan::Project { input, exprs, names } => {
            let (at, table) = place_of_rows(input)?;
            exprs.push(TypedExpr::column(at, SqlType::Int8));
            names.push("".into());
            Some((exprs.len() - 1, table))
        }
        _ => None,
    }
}

/// Adds the places of the records to what a query computes; the marks then have them where they come out.
pub(super) fn places(marks: &mut [Mark], exprs: &mut Vec<TypedExpr>) -> Vec<RowLock> {
    let mut locks = Vec::new();
    for (column, lock) in marks.iter_mut().filter_map(|mark| mark.row.as_mut()) {
        exprs.push(TypedExpr::column(*column, SqlType::Int8));
        *column = exprs.len() - 1;
        locks.push(lock.clone());
    }
    locks
}
