//! Constraints within a session: which are checked at commit, and what their errors say.
//!
//! 1. A deferred foreign key keeps the keys concerned, each once; at commit each is looked at as things then stand, so a
//!    key noted by what was rolled back since does no harm.
//! 2. SET CONSTRAINTS lasts until the transaction ends or goes back to a savepoint before it. As that may bring back what
//!    it has found in order, the commit looks at everything again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, ConstraintDef, IndexDef, Oid, TableDef};
use verso_exec::error::ExecError;
use verso_exec::exec::{check_deferred_key, check_foreign_key};
use verso_storage::{StorageError, Txn};
use verso_types::{TimeZone, Value, encode_row, format_text};

use crate::Session;
use crate::client::CommandTag;
use crate::client::Nowhere;
use crate::client::Results;
use crate::failure::Failure;
use crate::frame::Frame;
use crate::tables::newest_key;
use crate::transaction::{Active, tag};
use verso_parser::syntax::SetConstraints;
use verso_planner::errors::{SqlError, sqlstate};

/// What SET CONSTRAINTS has said.
#[derive(Clone, Debug, Default)]
pub struct Modes {
    /// Of ALL.
    all: Option<bool>,
    /// Of single ones, since then.
    named: HashMap<Oid, bool>,
}

/// What a transaction puts off to its commit.
#[derive(Debug, Default)]
pub struct Deferred {
    /// Whether constraints are put off.
    pub(crate) modes: Modes,
    seen: HashSet<(Oid, Vec<u8>)>,
    keys: Vec<(Arc<ConstraintDef>, Vec<Value>, bool)>,
    /// Storage has been told to put off a unique index.
    pub(crate) unique: bool,
}

impl Deferred {
    fn asked(&self, constraint: Oid, deferrable: bool, initially: bool) -> bool {
        let Modes { all, named } = &self.modes;
        deferrable && named.get(&constraint).copied().or(*all).unwrap_or(initially)
    }

    /// Whether a constraint is checked at commit.
    pub fn is_deferred(&self, constraint: &ConstraintDef) -> bool {
        self.asked(constraint.oid, constraint.deferrable, constraint.initially_deferred)
    }

    /// The same of the constraint that an index belongs to.
    pub fn is_index_deferred(&self, index: &IndexDef) -> bool {
        self.asked(index.constraint.unwrap_or_default(), index.deferrable, index.initially_deferred)
    }

    /// Keeps a key of a foreign key.
    pub fn note(&mut self, constraint: &Arc<ConstraintDef>, key: &[Value], referenced: bool) {
        let mut bytes = vec![u8::from(referenced)];
        encode_row(key, &mut bytes);
        if self.seen.insert((constraint.oid, bytes)) {
            self.keys.push((Arc::clone(constraint), key.to_vec(), referenced));
        }
    }

    /// Whether there is nothing to check at commit.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && !self.unique
    }

    /// At commit all keys, before only those of constraints that are not deferred any more, which stay.
    fn due(&mut self, commit: bool) -> Vec<(Arc<ConstraintDef>, Vec<Value>, bool)> {
        if commit {
            self.seen.clear();
            return std::mem::take(&mut self.keys);
        }
        self.keys.iter().filter(|(constraint, ..)| !self.is_deferred(constraint)).cloned().collect()
    }
}

/// The error of a key that is there twice.
pub(crate) fn duplicate(
    table: &TableDef,
    index: &IndexDef,
    key: Option<&[Value]>,
    time_zone: &TimeZone,
) -> ExecError {
    let message = format!("duplicate key value violates unique constraint \"{}\"", index.name);
    let detail = key.map(|key| {
        let columns: Vec<_> = index
            .parts
            .iter()
            .filter_map(|part| Some(&table.columns[table.column_with_id(part.column)?]))
            .collect();
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        let mut values = String::new();
        for (value, column) in key.iter().zip(&columns) {
            if !values.is_empty() {
                values.push_str(", ");
            }
            match value {
                Value::Null => values.push_str("null"),
                value => format_text(value, &column.ty, time_zone, &mut values),
            }
        }
        format!("Key ({})=({values}) already exists.", names.join(", "))
    });
    ExecError::violation("23505", message, detail, table, &index.name)
}

impl Frame<'_> {
    /// Checks a foreign key for the rows that are there.
    pub(crate) fn check_foreign_key(
        &self,
        table: &Arc<TableDef>,
        constraint: &Arc<ConstraintDef>,
    ) -> Result<(), Failure> {
        Ok(self.with_context(&[], |cx| check_foreign_key(cx, table, constraint))?)
    }

    /// SET CONSTRAINTS.
    pub(crate) fn set_constraints(&self, set: &SetConstraints) -> Result<CommandTag, Failure> {
        if set.names.is_empty() {
            let mut deferred = self.services.deferred.borrow_mut();
            deferred.modes = Modes { all: Some(set.deferred), named: HashMap::new() };
        }
        for name in &set.names {
            let found: Vec<Arc<ConstraintDef>> = self
                .catalog
                .tables()
                .filter(|table| name.schema_text().is_none_or(|schema| *table.schema == *schema))
                .filter_map(|table| table.constraint(&name.name.text).cloned())
                .collect();
            if found.is_empty() {
                let text = format!("constraint \"{}\" does not exist", name.name.text);
                return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).into());
            }
            for constraint in found {
                if !constraint.deferrable {
                    let text = format!("constraint \"{}\" is not deferrable", constraint.name);
                    return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
                }
                self.services.deferred.borrow_mut().modes.named.insert(constraint.oid, set.deferred);
            }
        }
        // Those that are deferred no more are checked at once.
        for table in self.catalog.tables() {
            for index in table.indexes.iter().filter(|index| index.deferrable) {
                let deferred = self.services.deferred.borrow().is_index_deferred(index);
                self.txn.borrow_mut().defer_unique(index.object, deferred);
                self.services.deferred.borrow_mut().unique |= deferred;
            }
        }
        if !set.deferred {
            let checked = self.txn.borrow_mut().check_unique_so_far();
            checked.map_err(|error| self.explain_unique(error))?;
            self.check_due(false)?;
        }
        Ok(tag("SET CONSTRAINTS"))
    }

    /// Checks keys that were put off.
    fn check_due(&self, commit: bool) -> Result<(), Failure> {
        let due = self.services.deferred.borrow_mut().due(commit);
        let check = |(constraint, key, referenced): &(Arc<ConstraintDef>, Vec<Value>, bool)| {
            self.with_context(&[], |cx| check_deferred_key(cx, constraint, key, *referenced))
        };
        Ok(due.iter().try_for_each(check)?)
    }

    /// Names the constraint and the key behind a duplicate that storage found by itself.
    fn explain_unique(&self, error: StorageError) -> Failure {
        let (engine, zone) = (&self.services.instance.engine, &self.services.settings.time_zone);
        explain_unique(self.catalog, engine, &self.txn.borrow(), zone, error).into()
    }
}

/// Names the constraint and the key behind a duplicate that storage found at the end of a statement or at commit.
pub(crate) fn explain_unique(
    catalog: &CatalogSnapshot,
    engine: &verso_storage::Engine,
    txn: &Txn,
    time_zone: &TimeZone,
    error: StorageError,
) -> ExecError {
    let StorageError::Unique { index, record } = error else { return error.into() };
    let found = catalog.tables().find_map(|table| {
        let definition = table.indexes.iter().find(|definition| definition.object == index)?;
        Some((table, definition))
    });
    let Some((table, definition)) = found else { return error.into() };
    let key = newest_key(engine, txn, table, definition, record);
    duplicate(table, definition, key.as_deref(), time_zone)
}

impl Session {
    /// Checks, at commit, what was put off to it.
    pub(crate) fn check_deferred(&self, active: &Active) -> Result<(), SqlError> {
        let txn = &active.txn;
        if self.services.deferred.borrow().is_empty() {
            return Ok(());
        }
        txn.borrow_mut().begin_statement()?;
        let result = self.check_all(active);
        if result.is_ok() {
            txn.borrow_mut().end_statement()?
        } else {
            txn.borrow_mut().abort_statement()?
        }
        result
    }

    fn check_all(&self, active: &Active) -> Result<(), SqlError> {
        let mut nowhere = Nowhere;
        let mut results = Results::new(&mut nowhere);
        let mut check = |frame: &Frame<'_>, _: &mut Results<'_>| {
            let unique = active.txn.borrow_mut().check_unique_now();
            unique.map_err(|error| frame.explain_unique(error))?;
            frame.check_due(true)
        };
        self.in_frame(active, &mut results, &mut check).map_err(|failure| failure.error)
    }
}
