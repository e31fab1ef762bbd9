//! Rows that reference others come or change: their keys have to be there.

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::{ConstraintDef, TableDef};
use verso_types::{Value, encode_row};

use super::super::ExecContext;
use super::foreign;
use super::parent::{Parent, missing};
use crate::error::Result;

/// A foreign key of the table.
pub(super) struct Outgoing {
    pub(super) constraint: Arc<ConstraintDef>,
    pub(super) columns: Vec<usize>,
    pub(super) seen: HashSet<Vec<u8>>,
    pub(super) keys: Vec<Vec<Value>>,
}

impl Outgoing {
    pub(super) fn take(&mut self) -> Outgoing {
        self.seen.clear();
        Outgoing {
            constraint: Arc::clone(&self.constraint),
            columns: self.columns.clone(),
            seen: HashSet::new(),
            keys: std::mem::take(&mut self.keys),
        }
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
        let mut bytes = Vec::new();
        encode_row(&key, &mut bytes);
        if self.seen.insert(bytes) {
            self.keys.push(key);
        }
        Ok(())
    }

    pub(super) fn check(&self, cx: &ExecContext<'_>, table: &Arc<TableDef>) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        if cx.tables()?.is_deferred(&self.constraint) {
            let tables = cx.tables()?;
            self.keys.iter().for_each(|key| tables.defer(&self.constraint, key, false));
            return Ok(());
        }
        let Some(parent) = Parent::find(cx, table, &self.constraint) else { return Ok(()) };
        for key in &self.keys {
            cx.check_cancelled()?;
            if !parent.has(cx, key)? {
                return Err(parent.absent(cx, table, &self.constraint, key));
            }
        }
        Ok(())
    }
}
