//! CREATE TRIGGER, ALTER TRIGGER, DROP TRIGGER.

use std::sync::Arc;

use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{
    BuiltInTrigger, FunctionReturn, Object, Oid, Relation, Rights, TableDef, TriggerDef, TriggerEnabled,
    TriggerKind, TriggerStatements, TriggersOf,
};

use super::{Schema, text};
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{
    CreateTrigger, DropTrigger, Name, QualifiedName, RenameTrigger, TriggerAction, TriggerState,
    TriggerTiming, WhichTriggers,
};
use verso_planner::bind::{Binder, check_trigger_statements};
use verso_planner::errors::{SqlError, sqlstate};

/// A definition that cannot be.
fn invalid(text: &str) -> SqlError {
    SqlError::new("42P17", text)
}

/// What PostgreSQL has not either, in its words.
fn unsupported(text: &str) -> SqlError {
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
}

impl Schema<'_> {
    /// CREATE TRIGGER.
    pub(super) fn create_trigger(
        &self,
        binder: &Binder<'_>,
        create: &CreateTrigger,
    ) -> Result<CommandTag, Failure> {
        let table = self.triggered(binder, &create.table)?;
        let kind = kind_of(create);
        check_kind(create, &table)?;
        check_instead(create)?;
        check_transitions(create, &table)?;
        let word = if table.is_view() { "view" } else { "table" };
        self.needs(Object::Relation(table.oid), Rights::TRIGGER, word, &table.name)?;
        let columns = columns_of(create, &table)?;
        let other_table = match &create.from {
            Some(name) => binder.table(name)?.oid,
            None => Oid(0),
        };
        let action = match &create.action {
            TriggerAction::Function { .. } => None,
            TriggerAction::Statements { old, new, body } => Some(TriggerStatements {
                body: body.text.as_str().into(),
                old: old.as_ref().map(text),
                new: new.as_ref().map(text),
            }),
        };
        let mut kept = None;
        if let Some((condition, text)) = &create.when {
            let name = |given: Option<&Arc<str>>, usual: &str| given.map_or(usual.into(), Arc::clone);
            let old: Arc<str> = name(action.as_ref().and_then(|action| action.old.as_ref()), "old");
            let new: Arc<str> = name(action.as_ref().and_then(|action| action.new.as_ref()), "new");
            let bind = |binder: &Binder<'_>| binder.trigger_condition(condition, &table, kind, (&old, &new));
            kept = Some(binder.kept_text(condition, text, bind)?.0.into());
        }
        let (function, args) = match &create.action {
            TriggerAction::Function { function, args } => (self.trigger_function(function)?, args.as_slice()),
            TriggerAction::Statements { .. } => (Oid(0), [].as_slice()),
        };
        if args.len() > i16::MAX as usize {
            return Err(SqlError::new("54023", "a trigger cannot have so many arguments").into());
        }
        let new = TriggerDef {
            oid: Oid(0),
            table: table.oid,
            part_of: Oid(0),
            enabled: TriggerEnabled::Origin,
            name: text(&create.name),
            function,
            kind,
            columns,
            condition: kept,
            args: args.iter().map(|arg| arg.as_str().into()).collect(),
            constraint: create.constraint,
            constraint_name: None,
            other_table,
            deferrable: create.deferrable,
            initially_deferred: create.initially_deferred,
            old_table: create.old_table.as_ref().map(text),
            new_table: create.new_table.as_ref().map(text),
            action,
        };
        let services = self.frame.services;
        if let (Some(action), true) = (&new.action, services.settings.checks_bodies()) {
            let block = services.body(&new.name, &action.body)?;
            let zone = &services.settings.time_zone;
            check_trigger_statements(&new, &table, &block, self.frame.catalog, zone)?;
        }
        self.add_trigger(&table, new, create.or_replace)?;
        Ok(tag("CREATE TRIGGER"))
    }

    /// Makes a trigger; of rows of a partitioned table its partitions get it, too.
    fn add_trigger(&self, table: &Arc<TableDef>, new: TriggerDef, replace: bool) -> Result<(), Failure> {
        let catalog = &self.frame.services.instance.catalog;
        // Each table with its trigger's number, its partitions behind it.
        let mut open = vec![(Arc::clone(table), new)];
        while let Some((table, new)) = open.pop() {
            let schema = Some(&*table.schema);
            let txn = &mut self.frame.txn.borrow_mut();
            let oid = catalog.create_trigger(txn, schema, &table.name, new.clone(), replace)?;
            let partitions = table.partitioned.iter().flat_map(|partitioned| &partitioned.partitions);
            if new.kind.is_row() {
                let new = TriggerDef { oid, ..new };
                open.extend(partitions.map(|part| (Arc::clone(part), part_of_trigger(&new, &table, part))));
            }
        }
        Ok(())
    }

    /// Gives a table that has become a partition its parts of the triggers of rows of the whole table.
    pub(super) fn triggers_of_partition(
        &self,
        whole: &TableDef,
        part: &Arc<TableDef>,
    ) -> Result<(), Failure> {
        for trigger in whole.triggers.iter().filter(|trigger| trigger.kind.is_row()) {
            if part.trigger(&trigger.name).is_some() {
                let text =
                    format!("trigger \"{}\" for relation \"{}\" already exists", trigger.name, part.name);
                return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, text).into());
            }
            self.add_trigger(part, part_of_trigger(trigger, whole, part), false)?;
        }
        Ok(())
    }

    /// The table, or the view as one, that a trigger is to be of.
    fn triggered(&self, binder: &Binder<'_>, name: &QualifiedName) -> Result<Arc<TableDef>, SqlError> {
        let what = match self.frame.catalog.relation(name.schema_text(), &name.name.text) {
            Some(Relation::View(view)) => return Ok(Arc::new(view.as_table())),
            Some(Relation::Table(table)) if table.materialized.is_some() => "materialized views",
            Some(Relation::Sequence(_)) => "sequences",
            Some(Relation::Index(_)) => "indexes",
            // PostgreSQL does not say where.
            _ => return binder.target(name).map_err(|error| SqlError { position: None, ..error }),
        };
        let text = format!("relation \"{}\" cannot have triggers", name.name.text);
        let detail = format!("This operation is not supported for {what}.");
        Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_detail(detail))
    }

    /// The function that a trigger is to call.
    fn trigger_function(&self, name: &QualifiedName) -> Result<Oid, SqlError> {
        let functions = self.frame.catalog.functions(name.schema_text(), &name.name.text);
        let found = functions.iter().find(|function| function.args.is_empty());
        let own_schema = name.schema_text().is_none_or(|schema| schema == PG_CATALOG);
        let built_in = BuiltInTrigger::named(&name.name.text).filter(|_| own_schema);
        if let (None, Some(built_in)) = (found, built_in) {
            return Ok(built_in.oid());
        }
        let Some(function) = found else {
            let text = format!("function {name}() does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_FUNCTION, text));
        };
        if function.returns != FunctionReturn::Trigger {
            return Err(invalid(&format!("function {name} must return type trigger")));
        }
        self.needs(Object::Function(function.oid), Rights::EXECUTE, "function", &function.name)?;
        Ok(function.oid)
    }

    /// DROP TRIGGER.
    pub(super) fn drop_trigger(
        &self,
        binder: &Binder<'_>,
        drop: &DropTrigger,
    ) -> Result<CommandTag, Failure> {
        let name = &drop.name.text;
        let table = match &drop.table {
            Some(table) => {
                let found = self.frame.catalog.relation(table.schema_text(), &table.name.text);
                if found.is_none() && drop.if_exists {
                    let text = match self.schema_absent(table) {
                        Some(error) => error.message,
                        None => format!("relation \"{table}\" does not exist"),
                    };
                    self.skip(format!("{text}, skipping"));
                    return Ok(tag("DROP TRIGGER"));
                }
                self.triggered(binder, table)?
            }
            None => match self.only_table_with(name)? {
                Some(table) => table,
                None if drop.if_exists => {
                    self.skip(format!("trigger \"{name}\" does not exist, skipping"));
                    return Ok(tag("DROP TRIGGER"));
                }
                None => {
                    let text = format!("trigger \"{name}\" does not exist");
                    return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).into());
                }
            },
        };
        if table.trigger(name).is_none() && drop.if_exists {
            let text = format!("trigger \"{name}\" for relation \"{}\" does not exist, skipping", table.name);
            self.skip(text);
            return Ok(tag("DROP TRIGGER"));
        }
        self.own(Object::Relation(table.oid), "relation", &table.name)?;
        if let Some((whole, of)) = table.trigger(name).and_then(|own| self.frame.catalog.whole_trigger(own)) {
            let text = format!(
                "cannot drop trigger {name} on table {} because trigger {} on table {} requires it",
                table.name, of.name, whole.name
            );
            let hint = format!("You can drop trigger {} on table {} instead.", of.name, whole.name);
            return Err(SqlError::new("2BP01", text).with_hint(hint).into());
        }
        let catalog = &self.frame.services.instance.catalog;
        let txn = &mut self.frame.txn.borrow_mut();
        catalog.drop_trigger(txn, Some(&table.schema), &table.name, name)?;
        Ok(tag("DROP TRIGGER"))
    }

    /// The table of a trigger that is named without it.
    fn only_table_with(&self, trigger: &str) -> Result<Option<Arc<TableDef>>, SqlError> {
        let has = |relation: &&Relation| relation.triggers().iter().any(|known| *known.name == *trigger);
        let mut relations = self.frame.catalog.relations().filter(has);
        let first = relations.next().and_then(Relation::of_triggers);
        if relations.next().is_some() {
            let text = format!("trigger name \"{trigger}\" is not unique");
            return Err(SqlError::new("42725", text).with_hint("Say the table with ON."));
        }
        Ok(first)
    }

    /// ALTER TRIGGER … RENAME TO.
    pub(super) fn rename_trigger(
        &self,
        binder: &Binder<'_>,
        rename: &RenameTrigger,
    ) -> Result<CommandTag, Failure> {
        let table = self.triggered(binder, &rename.table)?;
        let word = if table.is_view() { "view" } else { "table" };
        self.own(Object::Relation(table.oid), word, &table.name)?;
        let known = table.trigger(&rename.name.text);
        if let Some((whole, _)) = known.and_then(|own| self.frame.catalog.whole_trigger(own)) {
            let text = format!("cannot rename trigger \"{}\" on table \"{}\"", rename.name.text, table.name);
            let hint = format!("Rename the trigger on the partitioned table \"{}\" instead.", whole.name);
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_hint(hint).into());
        }
        let catalog = &self.frame.services.instance.catalog;
        let txn = &mut self.frame.txn.borrow_mut();
        let (schema, to) = (Some(&*table.schema), text(&rename.to));
        catalog.rename_trigger(txn, schema, &table.name, &rename.name.text, &to)?;
        Ok(tag("ALTER TRIGGER"))
    }
}

/// What ENABLE and DISABLE TRIGGER ask of the catalog.
pub(super) fn enabled(which: &WhichTriggers, state: TriggerState) -> (TriggersOf, TriggerEnabled) {
    let which = match which {
        WhichTriggers::Named(name) => TriggersOf::Named(text(name)),
        WhichTriggers::User => TriggersOf::User,
        WhichTriggers::All => TriggersOf::All,
    };
    let enabled = match state {
        TriggerState::Origin => TriggerEnabled::Origin,
        TriggerState::Disabled => TriggerEnabled::Disabled,
        TriggerState::Replica => TriggerEnabled::Replica,
        TriggerState::Always => TriggerEnabled::Always,
    };
    (which, enabled)
}

/// The part that a partition has of a trigger of rows.
fn part_of_trigger(of: &TriggerDef, whole: &TableDef, part: &TableDef) -> TriggerDef {
    let own = |id: &u16| {
        let name = &whole.columns[whole.column_with_id(*id)?].name;
        part.column(name).map(|at| part.columns[at].id)
    };
    TriggerDef {
        oid: Oid(0),
        table: part.oid,
        part_of: of.oid,
        columns: of.columns.iter().filter_map(own).collect(),
        ..of.clone()
    }
}

fn kind_of(create: &CreateTrigger) -> TriggerKind {
    let marks = [
        (create.each_row, TriggerKind::ROW),
        (create.timing == TriggerTiming::Before, TriggerKind::BEFORE),
        (create.timing == TriggerTiming::InsteadOf, TriggerKind::INSTEAD),
        (create.on_insert, TriggerKind::INSERT),
        (create.on_update, TriggerKind::UPDATE),
        (create.on_delete, TriggerKind::DELETE),
        (create.on_truncate, TriggerKind::TRUNCATE),
    ];
    TriggerKind(marks.iter().filter(|(set, _)| *set).map(|(_, mark)| mark).sum())
}

fn check_kind(create: &CreateTrigger, table: &TableDef) -> Result<(), SqlError> {
    if table.is_view() {
        if create.each_row && create.timing != TriggerTiming::InsteadOf {
            return Err(of_view(table, "Views cannot have row-level BEFORE or AFTER triggers."));
        }
        if create.on_truncate {
            return Err(of_view(table, "Views cannot have TRUNCATE triggers."));
        }
    } else if create.timing == TriggerTiming::InsteadOf {
        let text = format!("\"{}\" is a table", table.name);
        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
            .with_detail("Tables cannot have INSTEAD OF triggers."));
    }
    if create.on_truncate && create.each_row {
        return Err(unsupported("TRUNCATE FOR EACH ROW triggers are not supported"));
    }
    Ok(())
}

/// What a trigger of a view cannot be.
fn of_view(view: &TableDef, detail: &str) -> SqlError {
    let text = format!("\"{}\" is a view", view.name);
    SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_detail(detail)
}

/// What a trigger in place of a change cannot have.
fn check_instead(create: &CreateTrigger) -> Result<(), SqlError> {
    if create.timing != TriggerTiming::InsteadOf {
        return Ok(());
    }
    if !create.each_row {
        return Err(unsupported("INSTEAD OF triggers must be FOR EACH ROW"));
    }
    if create.when.is_some() {
        return Err(unsupported("INSTEAD OF triggers cannot have WHEN conditions"));
    }
    if !create.columns.is_empty() {
        return Err(unsupported("INSTEAD OF triggers cannot have column lists"));
    }
    Ok(())
}

/// The numbers of the columns of UPDATE OF.
fn columns_of(create: &CreateTrigger, table: &TableDef) -> Result<Vec<u16>, SqlError> {
    let mut columns = Vec::new();
    for name in &create.columns {
        let at = table.column(&name.text).ok_or_else(|| {
            let text = format!("column \"{}\" of relation \"{}\" does not exist", name.text, table.name);
            SqlError::new(sqlstate::UNDEFINED_COLUMN, text)
        })?;
        let id = table.columns[at].id;
        if columns.contains(&id) {
            let text = format!("column \"{}\" specified more than once", name.text);
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text));
        }
        columns.push(id);
    }
    Ok(columns)
}

fn check_transitions(create: &CreateTrigger, table: &TableDef) -> Result<(), SqlError> {
    let (old, new) = (create.old_table.as_ref(), create.new_table.as_ref());
    if old.is_none() && new.is_none() {
        return Ok(());
    }
    if table.is_view() {
        return Err(of_view(table, "Triggers on views cannot have transition tables."));
    }
    if create.each_row && table.partitioned.is_some() {
        let text = format!("\"{}\" is a partitioned table", table.name);
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
            .with_detail("ROW triggers with transition tables are not supported on partitioned tables."));
    }
    if create.each_row && table.partition_of.is_some() {
        return Err(unsupported("ROW triggers with transition tables are not supported on partitions"));
    }
    if create.timing != TriggerTiming::After {
        return Err(invalid("transition table name can only be specified for an AFTER trigger"));
    }
    if create.on_truncate {
        return Err(unsupported("TRUNCATE triggers with transition tables are not supported"));
    }
    let events = [create.on_insert, create.on_update, create.on_delete];
    if events.iter().filter(|event| **event).count() != 1 {
        return Err(unsupported(
            "transition tables cannot be specified for triggers with more than one event",
        ));
    }
    if !create.columns.is_empty() {
        return Err(unsupported("transition tables cannot be specified for triggers with column lists"));
    }
    if new.is_some() && create.on_delete {
        return Err(invalid("NEW TABLE can only be specified for an INSERT or UPDATE trigger"));
    }
    if old.is_some() && create.on_insert {
        return Err(invalid("OLD TABLE can only be specified for a DELETE or UPDATE trigger"));
    }
    let same = |old: &Name, new: &Name| old.text == new.text;
    if let (Some(old), Some(new)) = (old, new)
        && same(old, new)
    {
        return Err(invalid("OLD TABLE name and NEW TABLE name cannot be the same"));
    }
    Ok(())
}
