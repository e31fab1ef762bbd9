//! Rows that reference others come or change: their keys have to be there.

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::{ConstraintDef, TableDef};
use verso_types::{Value, encode_row};

use super::super::ExecContext;
use super::child::Child;
use super::parent::{Parent, missing};
use super::{foreign, key_bytes};
use crate::error::Result;

/// A foreign key of the table.
pub(super) struct Outgoing {
    pub(super) constraint: Arc<ConstraintDef>,
    pub(super) columns: Vec<usize>,
    seen: HashSet<Vec<u8>>,
    /// Each once, with the number of the first row that has it, in the order of the rows.
    pub(super) keys: Vec<(i64, Vec<Value>)>,
    /// The first that is not dealt with.
    next: usize,
    /// About how much memory they hold.
    pub(super) bytes: u64,
}

impl Outgoing {
    pub(super) fn of(constraint: Arc<ConstraintDef>, columns: Vec<usize>) -> Outgoing {
        Outgoing { constraint, columns, seen: HashSet::new(), keys: Vec::new(), next: 0, bytes: 0 }
    }

    pub(super) fn take(&mut self) -> Outgoing {
        let empty = Outgoing::of(Arc::clone(&self.constraint), self.columns.clone());
        std::mem::replace(self, empty)
    }

    /// Looks at the keys noted so far: a row that is found does not go any more, so it need not be looked for again. The others
    /// may come yet.
    pub(super) fn look_ahead(&mut self, cx: &ExecContext<'_>, table: &Arc<TableDef>) -> Result<()> {
        if cx.tables()?.is_deferred(&self.constraint) {
            return self.take().check(cx, table, i64::MAX, false);
        }
        let Some(parent) = Parent::find(cx, table, &self.constraint) else { return Ok(()) };
        let keys = std::mem::take(&mut self.keys);
        (self.seen, self.bytes) = (HashSet::new(), 0);
        for (row, key) in keys {
            cx.check_cancelled()?;
            if !parent.shows(cx, &key)? {
                self.keep(row, key);
            }
        }
        Ok(())
    }

    /// The number of the next row; none when all are dealt with.
    pub(super) fn next_row(&self) -> Option<i64> {
        self.keys.get(self.next).map(|(row, _)| *row)
    }

    /// Whether it references its own table, of which the statement may change rows yet.
    pub(super) fn is_own(&self, table: &TableDef) -> bool {
        foreign(&self.constraint).is_none_or(|key| key.referenced == table.oid)
    }

    /// Notes the key of the row of this number.
    pub(super) fn note(&mut self, table: &TableDef, row: i64, key: Vec<Value>) -> Result<()> {
        let nulls = key.iter().filter(|value| value.is_null()).count();
        if nulls > 0 {
            let full = foreign(&self.constraint).is_some_and(|key| key.match_full);
            if full && nulls < key.len() {
                let detail = "MATCH FULL does not allow mixing of null and nonnull key values.".to_string();
                return Err(missing(table, &self.constraint, detail));
            }
            return Ok(());
        }
        self.keep(row, key);
        Ok(())
    }

    fn keep(&mut self, row: i64, key: Vec<Value>) {
        let mut bytes = Vec::new();
        encode_row(&key, &mut bytes);
        if self.seen.insert(bytes) {
            self.bytes += key_bytes(&key);
            self.keys.push((row, key));
        }
    }

    /// Refuses keys that are not there, or puts them off to the commit. Where rows of the statement may be `gone`, with what
    /// it has deleted, only keys count that a row has. The keys of the rows up to this one are done with then.
    pub(super) fn check(
        &mut self,
        cx: &ExecContext<'_>,
        table: &Arc<TableDef>,
        row: i64,
        gone: bool,
    ) -> Result<()> {
        let first = self.next;
        let count = self.keys[first..].partition_point(|(number, _)| *number <= row);
        if count == 0 {
            return Ok(());
        }
        self.next += count;
        let keys = &self.keys[first..self.next];
        if cx.tables()?.is_deferred(&self.constraint) {
            let memory = cx.services.memory;
            return keys
                .iter()
                .try_for_each(|(_, key)| cx.tables()?.defer(&self.constraint, key, false, memory));
        }
        let Some(parent) = Parent::find(cx, table, &self.constraint) else { return Ok(()) };
        let referenced = foreign(&self.constraint).and_then(|key| cx.catalog.table_by_oid(key.referenced));
        let child = referenced.filter(|_| gone);
        let child = child.and_then(|referenced| Child::find(cx, &referenced, &self.constraint));
        for (_, key) in keys {
            cx.check_cancelled()?;
            let is_had = |child: &Child| child.exists(cx, key);
            if !parent.shows(cx, key)? && child.as_ref().map_or(Ok(true), is_had)? {
                return Err(parent.absent(cx, table, &self.constraint, key));
            }
        }
        Ok(())
    }

    /// Refuses the first key that is not there.
    pub(super) fn all_are_there(
        &self,
        cx: &ExecContext<'_>,
        table: &Arc<TableDef>,
        parent: &Parent,
    ) -> Result<()> {
        for (_, key) in &self.keys {
            cx.check_cancelled()?;
            if !parent.shows(cx, key)? {
                return Err(parent.absent(cx, table, &self.constraint, key));
            }
        }
        Ok(())
    }
}
