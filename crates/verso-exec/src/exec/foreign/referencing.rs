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
    pub(super) keys: Vec<Vec<Value>>,
    /// About how much memory they hold.
    pub(super) bytes: u64,
}

impl Outgoing {
    pub(super) fn of(constraint: Arc<ConstraintDef>, columns: Vec<usize>) -> Outgoing {
        Outgoing { constraint, columns, seen: HashSet::new(), keys: Vec::new(), bytes: 0 }
    }

    pub(super) fn take(&mut self) -> Outgoing {
        let empty = Outgoing::of(Arc::clone(&self.constraint), self.columns.clone());
        std::mem::replace(self, empty)
    }

    /// Looks at the keys noted so far, of another table: who finds his row keeps it from going, so he need not be asked again.
    /// The others may come yet.
    pub(super) fn look_ahead(&mut self, cx: &ExecContext<'_>, table: &Arc<TableDef>) -> Result<()> {
        let own = foreign(&self.constraint).is_none_or(|key| key.referenced == table.oid);
        if cx.tables()?.is_deferred(&self.constraint) {
            return self.take().check(cx, table, false);
        }
        if own {
            return Ok(());
        }
        let Some(parent) = Parent::find(cx, table, &self.constraint) else { return Ok(()) };
        let keys = std::mem::take(&mut self.keys);
        (self.seen, self.bytes) = (HashSet::new(), 0);
        for key in keys {
            cx.check_cancelled()?;
            if !parent.shows(cx, &key)? {
                self.keep(key);
            }
        }
        Ok(())
    }

    pub(super) fn note(&mut self, table: &TableDef, key: Vec<Value>) -> Result<()> {
        let nulls = key.iter().filter(|value| value.is_null()).count();
        if nulls > 0 {
            let full = foreign(&self.constraint).is_some_and(|key| key.match_full);
            if full && nulls < key.len() {
                let detail = "MATCH FULL does not allow mixing of null and nonnull key values.".to_string();
                return Err(missing(table, &self.constraint, detail));
            }
            return Ok(());
        }
        self.keep(key);
        Ok(())
    }

    fn keep(&mut self, key: Vec<Value>) {
        let mut bytes = Vec::new();
        encode_row(&key, &mut bytes);
        if self.seen.insert(bytes) {
            self.bytes += key_bytes(&key);
            self.keys.push(key);
        }
    }

    /// Refuses keys that are not there, or puts them off to the commit. Where rows of the statement may be `gone`, with what
    /// it has deleted, only keys count that a row has.
    pub(super) fn check(&self, cx: &ExecContext<'_>, table: &Arc<TableDef>, gone: bool) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        if cx.tables()?.is_deferred(&self.constraint) {
            let memory = cx.services.memory;
            return self
                .keys
                .iter()
                .try_for_each(|key| cx.tables()?.defer(&self.constraint, key, false, memory));
        }
        let Some(parent) = Parent::find(cx, table, &self.constraint) else { return Ok(()) };
        if !gone {
            return self.all_are_there(cx, table, &parent);
        }
        let referenced = foreign(&self.constraint).and_then(|key| cx.catalog.table_by_oid(key.referenced));
        let child = referenced.and_then(|referenced| Child::find(cx, &referenced, &self.constraint));
        for key in &self.keys {
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
        for key in &self.keys {
            cx.check_cancelled()?;
            if !parent.shows(cx, key)? {
                return Err(parent.absent(cx, table, &self.constraint, key));
            }
        }
        Ok(())
    }
}
