//! CREATE TRIGGER, ALTER TRIGGER, DROP TRIGGER; what ALTER TABLE says of triggers.

use std::sync::Arc;

use verso_storage::{TableLockMode, Txn};

use super::claim::NameOf;
use super::needing::{function_name, shown};
use super::table::find_table;
use crate::catalog::Catalog;
use crate::definition::{ColumnDef, FunctionDef, Oid, TableDef};
use crate::error::CatalogError;
use crate::kept::names_plainly;
use crate::request::TriggersOf;
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::system::assemble::trigger_row;
use crate::system::field::{Letter, Name};
use crate::system::row::{ConstraintRow, TriggerRow};
use crate::trigger::{TriggerDef, TriggerEnabled};

impl Catalog {
    /// Makes a trigger, or with `replace` changes the one of that name. Its number and its table are given here, whatever
    /// `new` says.
    ///
    /// # Errors
    /// `Missing` (the table), `InvalidDefinition` (42710, the name is taken), `SystemObject`; storage's.
    pub fn create_trigger(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        table: &str,
        new: TriggerDef,
        replace: bool,
    ) -> Result<Oid, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let table = find_triggered(&snapshot, schema, table)?;
        let known = table.trigger(&new.name);
        if let Some(known) = known {
            let text = format!("trigger \"{}\" for relation \"{}\"", new.name, table.name);
            if !replace {
                return Err(CatalogError::invalid("42710", format!("{text} already exists")));
            }
            if known.constraint {
                return Err(CatalogError::invalid("42710", format!("{text} is a constraint trigger")));
            }
            // That of a partitioned table takes the place of a partition's own.
            if known.part_of.0 != 0 && new.part_of.0 == 0 {
                let text = format!("{text} is an internal or a child trigger");
                return Err(CatalogError::invalid("42710", text));
            }
        }
        if let Some(name) = new.own_constraint()
            && (table.constraint(name).is_some() || table.constraint_trigger(name).is_some())
        {
            let key = "pg_constraint_conrelid_contypid_conname_index";
            let text = format!("duplicate key value violates unique constraint \"{key}\"");
            return Err(CatalogError::invalid("23505", text));
        }
        let oid = match known {
            Some(known) => known.oid,
            None => self.new_oid()?,
        };
        let definition = TriggerDef { oid, table: table.oid, ..new };
        self.lock_triggers(txn, &table, &snapshot, TableLockMode::ShareRowExclusive)?;
        self.change(txn, |txn| {
            self.delete_rows(txn, table.oid, |row: &TriggerRow| row.oid == oid)?;
            self.insert_rows(txn, &[trigger_row(&definition)])
        })?;
        Ok(oid)
    }

    /// Drops a trigger of a table, and its parts in the table's partitions.
    ///
    /// # Errors
    /// `Missing` (the table), `InvalidDefinition` (42704, the trigger); storage's.
    pub fn drop_trigger(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        table: &str,
        name: &str,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let table = find_triggered(&snapshot, schema, table)?;
        let trigger = trigger_of(&table, name)?;
        let parts = parts_of(&table, trigger);
        for (table, _) in &parts {
            self.lock_triggers(txn, table, &snapshot, TableLockMode::AccessExclusive)?;
        }
        self.change(txn, |txn| self.delete_triggers(txn, &parts))
    }

    /// Drops the parts that a table and its partitions have of triggers of a table that it is no partition of any more.
    pub(super) fn leave_triggers(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        table: &Arc<TableDef>,
    ) -> Result<(), CatalogError> {
        for trigger in table.triggers.iter().filter(|trigger| snapshot.whole_trigger(trigger).is_some()) {
            self.delete_triggers(txn, &parts_of(table, trigger))?;
        }
        Ok(())
    }

    pub(super) fn delete_triggers(
        &self,
        txn: &mut Txn,
        parts: &[(Arc<TableDef>, Oid)],
    ) -> Result<(), CatalogError> {
        for (table, oid) in parts {
            self.remove_objects(txn, table.oid, |row: &TriggerRow| row.oid == *oid)?;
        }
        Ok(())
    }

    /// Gives a trigger another name, and its parts in the table's partitions.
    ///
    /// # Errors
    /// As [`Catalog::drop_trigger`]; 42710 where the new name is taken.
    pub fn rename_trigger(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        table: &str,
        name: &str,
        to: &Arc<str>,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let table = find_triggered(&snapshot, schema, table)?;
        let trigger = trigger_of(&table, name)?;
        let parts = parts_of(&table, trigger);
        for (table, _) in &parts {
            if table.trigger(to).is_some() {
                let text = format!("trigger \"{to}\" for relation \"{}\" already exists", table.name);
                return Err(CatalogError::invalid("42710", text));
            }
            self.lock_triggers(txn, table, &snapshot, TableLockMode::AccessExclusive)?;
        }
        self.change(txn, |txn| {
            for (table, oid) in &parts {
                let is_it = |row: &TriggerRow| row.oid == *oid;
                self.update_rows(txn, table.oid, is_it, |row| {
                    let before = std::mem::replace(&mut row.tgname, Name(Arc::clone(to)));
                    if row.tgconstraint != Oid(0) && row.tgnewname.is_none() {
                        // Its constraint keeps its name.
                        row.tgnewname = Some(before);
                    }
                })?;
            }
            Ok(())
        })
    }

    /// Holds the table, or the view, whose triggers are to change.
    fn lock_triggers(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        snapshot: &CatalogSnapshot,
        mode: TableLockMode,
    ) -> Result<(), CatalogError> {
        if table.is_view() {
            // Whoever comments on a trigger of it ends before that goes.
            if mode == TableLockMode::AccessExclusive {
                self.lock_name(txn, NameOf::Made, [&table.oid.0.to_string(), ""])?;
            }
            self.check_same(txn, snapshot, [table.oid])
        } else {
            self.lock_definition(txn, table, snapshot, mode)
        }
    }

    /// Says which triggers of a table fire.
    pub(super) fn enable_triggers(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        which: &TriggersOf,
        enabled: TriggerEnabled,
    ) -> Result<(), CatalogError> {
        let only = match which {
            TriggersOf::Named(name) => Some(trigger_of(table, name)?.oid),
            TriggersOf::User | TriggersOf::All => None,
        };
        let is_it = |row: &TriggerRow| row.tgrelid == table.oid && only.is_none_or(|oid| row.oid == oid);
        self.update_rows(txn, table.oid, is_it, |row| row.tgenabled = Letter(enabled.letter()))?;
        if *which == TriggersOf::All {
            let off = enabled == TriggerEnabled::Disabled;
            let letter = |known: Letter| Letter(known.0.to_ascii_lowercase()).capital(off);
            let is_key = |row: &ConstraintRow| row.contype.0.eq_ignore_ascii_case(&'f');
            let is_own = |row: &ConstraintRow| is_key(row) && row.conrelid == table.oid;
            self.update_rows(txn, table.oid, is_own, |row| row.confupdtype = letter(row.confupdtype))?;
            let is_others = |row: &ConstraintRow| is_key(row) && row.confrelid == table.oid;
            self.update_rows(txn, table.oid, is_others, |row| row.confdeltype = letter(row.confdeltype))?;
        }
        Ok(())
    }

    /// The triggers that call a function are dropped along, or in the way of its end. Yields what was dropped.
    pub(super) fn release_triggers(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        function: &FunctionDef,
        cascade: bool,
    ) -> Result<Vec<String>, CatalogError> {
        let mut named = Vec::new();
        for relation in snapshot.naming(function.oid).relations() {
            let calls = |trigger: &&Arc<TriggerDef>| trigger.function == function.oid;
            // Parts go with those of the whole table.
            let calls = |trigger: &&Arc<TriggerDef>| calls(trigger) && trigger.part_of == Oid(0);
            for trigger in relation.triggers().iter().filter(calls) {
                let word = if relation.as_view().is_some() { "view" } else { "table" };
                let text = format!("trigger {} on {word} {}", trigger.name, shown(snapshot, relation));
                named.push((relation, text));
            }
        }
        if !cascade {
            let what = function_name(snapshot, function);
            let lines = named.iter().map(|(_, text)| format!("{text} depends on {what}")).collect();
            super::refuse_if_needed(what, lines)?;
            return Ok(Vec::new());
        }
        for table in named.iter().filter_map(|(relation, _)| relation.of_triggers()) {
            for table in table.with_partitions() {
                self.lock_triggers(txn, &table, snapshot, TableLockMode::AccessExclusive)?;
            }
        }
        if !named.is_empty() {
            self.change(txn, |txn| {
                self.remove_objects(txn, function.oid, |row: &TriggerRow| row.tgfoid == function.oid)
            })?;
        }
        Ok(named.into_iter().map(|(_, text)| text).collect())
    }

    /// The triggers that name a column are dropped along, or in the way of its end.
    pub(super) fn release_column(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        column: &ColumnDef,
        what: String,
        cascade: bool,
    ) -> Result<(), CatalogError> {
        let needing: Vec<&Arc<TriggerDef>> =
            table.triggers.iter().filter(|trigger| trigger.names(column)).collect();
        if !cascade {
            let line = |trigger: &&Arc<TriggerDef>| {
                format!("trigger {} on table {} depends on {what}", trigger.name, table.name)
            };
            let lines = needing.iter().map(line).collect();
            return super::refuse_if_needed(what, lines);
        }
        self.remove_objects(txn, table.oid, |row: &TriggerRow| {
            needing.iter().any(|trigger| trigger.oid == row.oid)
        })?;
        Ok(())
    }

    /// Drops the triggers of a table or view that goes.
    pub(super) fn remove_triggers(&self, txn: &mut Txn, table: Oid) -> Result<(), CatalogError> {
        self.remove_objects(txn, table, |row: &TriggerRow| row.tgrelid == table).map(drop)
    }
}

impl TriggerDef {
    /// Does it name a column of its table?
    pub(super) fn names(&self, column: &ColumnDef) -> bool {
        self.columns.contains(&column.id)
            || self.condition.as_deref().is_some_and(|text| names_plainly(text, &column.name))
    }
}

/// The table that is named, or the view as one.
fn find_triggered(
    snapshot: &CatalogSnapshot,
    schema: Option<&str>,
    name: &str,
) -> Result<Arc<TableDef>, CatalogError> {
    match snapshot.relation(schema, name) {
        Some(Relation::View(view)) => Ok(Arc::new(view.as_table())),
        _ => find_table(snapshot, schema, name),
    }
}

/// A trigger of a table and its parts in the partitions of the table: each table with the trigger's number.
pub(super) fn parts_of(table: &Arc<TableDef>, trigger: &TriggerDef) -> Vec<(Arc<TableDef>, Oid)> {
    let mut parts = vec![(Arc::clone(table), trigger.oid)];
    for table in &table.with_partitions()[1..] {
        let is_part = |own: &&Arc<TriggerDef>| parts.iter().any(|(_, oid)| own.part_of == *oid);
        if let Some(own) = table.triggers.iter().find(is_part) {
            parts.push((Arc::clone(table), own.oid));
        }
    }
    parts
}

fn trigger_of<'t>(table: &'t TableDef, name: &str) -> Result<&'t Arc<TriggerDef>, CatalogError> {
    table.trigger(name).ok_or_else(|| {
        let text = format!("trigger \"{name}\" for table \"{}\" does not exist", table.name);
        CatalogError::invalid("42704", text)
    })
}
