//! ALTER TABLE of a partitioned table: what is changed of it is changed of all its partitions.
//!
//! 1. The whole table comes first, then its partitions, each before its own. All are locked before.
//! 2. Constraints have one name in all of them; which of them a partition lacks is read off the whole table as it is then.

use std::sync::Arc;

use verso_catalog::{
    ConstraintDef, ConstraintKind, NewConstraint, NewConstraintKind, Oid, TableChange, TableDef, TableOptions,
};

use super::Schema;
use super::index::named;
use super::lock_modes::mode_of;
use crate::failure::Failure;
use verso_parser::syntax::{
    AlterAction, ColumnDefinition, ConstraintClause, Name, QualifiedName, WhichTriggers,
};
use verso_planner::bind::Binder;
use verso_planner::errors::SqlError;

/// Whether an action changes the partitions of a table as well.
pub(super) fn reaches_partitions(action: &AlterAction) -> bool {
    match action {
        AlterAction::AddColumn { .. }
        | AlterAction::DropColumn { .. }
        | AlterAction::ColumnType { .. }
        | AlterAction::NotNull { .. }
        | AlterAction::Default { .. }
        | AlterAction::Statistics { .. }
        | AlterAction::Storage { .. }
        | AlterAction::AddIdentity { .. }
        | AlterAction::SetIdentity { .. }
        | AlterAction::DropIdentity { .. }
        | AlterAction::DropConstraint { .. }
        | AlterAction::RenameColumn { .. }
        | AlterAction::RenameConstraint { .. }
        | AlterAction::Triggers { .. }
        | AlterAction::AlterConstraint { .. }
        | AlterAction::ValidateConstraint(_)
        | AlterAction::Pack
        | AlterAction::Repack
        | AlterAction::CreateDictionary
        | AlterAction::Shrink
        | AlterAction::Options(_)
        | AlterAction::ResetOptions(_) => true,
        AlterAction::AddConstraint(constraint) => {
            !matches!(constraint.clause, ConstraintClause::Unique { .. } | ConstraintClause::Exclude(_))
        }
        _ => false,
    }
}

/// Refuses changes of columns by which a table is divided, and new columns with numbers of their own.
fn refuse(table: &TableDef, action: &AlterAction) -> Result<(), SqlError> {
    let (column, word) = match action {
        AlterAction::DropColumn { column, .. } => (column, "drop"),
        AlterAction::ColumnType { column, .. } => (column, "alter"),
        AlterAction::AddColumn { column, .. } if column.serial || column.identity.is_some() => {
            return Err(SqlError::unsupported("ADD COLUMN with numbers of its own for a partitioned table"));
        }
        _ => return Ok(()),
    };
    let is_key = |id: u16| table.column_with_id(id) == table.column(&column.text);
    if table.column(&column.text).is_none() || !table.divided_by().into_iter().any(is_key) {
        return Ok(());
    }
    let text = format!(
        "cannot {word} column \"{}\" because it is part of the partition key of relation \"{}\"",
        column.text, table.name
    );
    Err(SqlError::new("42P16", text))
}

impl Schema<'_> {
    /// An action that reaches the partitions of a table.
    pub(super) fn alter_with_partitions(
        &self,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        action: &AlterAction,
    ) -> Result<(), Failure> {
        let skipped = match action {
            AlterAction::AddColumn { column, if_not_exists } => {
                *if_not_exists && table.column(&column.name.text).is_some()
            }
            AlterAction::DropColumn { column, if_exists, .. } => {
                *if_exists && table.column(&column.text).is_none()
            }
            AlterAction::DropIdentity { column, if_exists } => {
                let at = table.column(&column.text);
                *if_exists && at.is_none_or(|at| table.columns[at].identity.is_none())
            }
            _ => false,
        };
        if skipped {
            return self.alter_action(name, action, false);
        }
        let all = table.with_partitions();
        for table in &all {
            refuse(table, action)?;
            self.frame.tables().lock(table, mode_of(action))?;
        }
        self.frame.inside_now(|frame| Schema { frame }.alter_action(name, action, false))?;
        for part in &all[1..] {
            let own = named(part, name);
            self.frame.inside_now(|frame| Schema { frame }.alter_part(&own, (name, table), action))?;
        }
        Ok(())
    }

    /// The same of one partition; `before` is the whole table as it was.
    fn alter_part(
        &self,
        name: &QualifiedName,
        (whole, before): (&QualifiedName, &Arc<TableDef>),
        action: &AlterAction,
    ) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let part = binder.table(name)?;
        match action {
            AlterAction::AddColumn { column, if_not_exists } => {
                // Its constraints are taken over from the whole table, with their names.
                let plain = ColumnDefinition { constraints: Vec::new(), not_null: false, ..column.clone() };
                let plain = AlterAction::AddColumn { column: plain, if_not_exists: *if_not_exists };
                self.frame.inside_now(|frame| Schema { frame }.alter_action(name, &plain, false))?;
                self.frame.inside_now(|frame| Schema { frame }.take_constraints(name, whole))
            }
            AlterAction::NotNull { not_null: true, .. } | AlterAction::AddConstraint(_) => {
                self.take_constraints(name, whole)
            }
            AlterAction::AddIdentity { column, .. } => {
                if let Some(own) = part.column(&column.text).map(|at| &part.columns[at]) {
                    let of = format!("column \"{}\" of relation \"{}\"", own.name, part.name);
                    let text = match (own.identity, &own.default) {
                        (Some(_), _) => format!("{of} is already an identity column"),
                        (None, Some(_)) => format!("{of} already has a default value"),
                        (None, None) => return self.take_identity(name, &*binder.table(whole)?, column),
                    };
                    return Err(SqlError::new("55000", text).into());
                }
                Ok(())
            }
            AlterAction::SetIdentity { column, .. } => {
                self.take_identity(name, &*binder.table(whole)?, column)
            }
            AlterAction::DropIdentity { column, .. }
                if part.column(&column.text).is_some_and(|at| part.columns[at].identity.is_none()) =>
            {
                Ok(())
            }
            AlterAction::DropConstraint { name: constraint, .. }
            | AlterAction::RenameConstraint { name: constraint, .. }
            | AlterAction::AlterConstraint { name: constraint, .. }
            | AlterAction::ValidateConstraint(constraint) => {
                let known = before.constraint(&constraint.text);
                match known.map(|known| &known.kind) {
                    Some(ConstraintKind::Check { .. }) if part.constraint(&constraint.text).is_some() => {
                        self.alter_action(name, action, false)
                    }
                    Some(ConstraintKind::NotNull { column }) => {
                        let column = before.column_with_id(*column).map(|at| &before.columns[at].name);
                        let id = column.and_then(|name| part.column(name)).map(|at| part.columns[at].id);
                        let own = id.and_then(|id| part.not_null_of(id));
                        let Some(own) = own else { return Ok(()) };
                        let mut action = action.clone();
                        call_constraint(&mut action, &own.name);
                        self.alter_action(name, &action, false)
                    }
                    Some(ConstraintKind::Foreign(_)) => {
                        let whole = known.map(|known| known.oid).unwrap_or_default();
                        let parts = before.parts_of_constraint(whole);
                        let own = parts.into_iter().find(|(table, _)| table.oid == part.oid);
                        let Some((_, own)) = own else { return Ok(()) };
                        let mut action = action.clone();
                        call_constraint(&mut action, &own.name);
                        match action {
                            // They have gone with that of the whole table; names are their own.
                            AlterAction::DropConstraint { .. } | AlterAction::RenameConstraint { .. } => {
                                Ok(())
                            }
                            action => self.alter_action(name, &action, false),
                        }
                    }
                    // Keys are parts of the whole table's, and have gone with it.
                    _ => Ok(()),
                }
            }
            // Triggers of the statement are those of the whole table only.
            AlterAction::Triggers { which: WhichTriggers::Named(trigger), .. }
                if part.trigger(&trigger.text).is_none_or(|own| own.part_of == Oid(0)) =>
            {
                Ok(())
            }
            action => self.alter_action(name, action, false),
        }
    }

    /// Lets a partition take its numbers from the sequence of the whole table's identity column.
    fn take_identity(&self, name: &QualifiedName, whole: &TableDef, column: &Name) -> Result<(), Failure> {
        let of = whole.column(&column.text).map(|at| &whole.columns[at]);
        let taken = of.and_then(|of| Some((of.identity?, Arc::clone(of.default.as_ref()?))));
        let Some((identity, default)) = taken else { return Ok(()) };
        let column = column.text.as_str().into();
        self.alter(name, &TableChange::TakeIdentity { column, identity, default })
    }

    /// Gives a partition the CHECK and NOT NULL constraints that the whole table has and it lacks; its rows are checked.
    fn take_constraints(&self, name: &QualifiedName, whole: &QualifiedName) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let (part, whole) = (binder.table(name)?, binder.table(whole)?);
        self.refuse_whole_rows(&whole, true, true)?;
        for constraint in &whole.constraints {
            match &constraint.kind {
                ConstraintKind::Check { expression } => {
                    let same = |own: &Arc<ConstraintDef>| match &own.kind {
                        ConstraintKind::Check { expression: own } => own == expression,
                        _ => false,
                    };
                    if part.constraint(&constraint.name).is_some_and(same) {
                        continue;
                    }
                    let new = NewConstraint {
                        name: Some(Arc::clone(&constraint.name)),
                        kind: NewConstraintKind::Check {
                            expression: Arc::clone(expression),
                            columns: Vec::new(),
                        },
                        deferrable: constraint.deferrable,
                        initially_deferred: constraint.initially_deferred,
                        validated: constraint.validated,
                        enforced: constraint.enforced,
                        part_of: None,
                        no_inherit: false,
                        options: TableOptions::default(),
                    };
                    let change = TableChange::AddConstraint(new);
                    self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))?;
                    if !constraint.validated || !constraint.enforced {
                        continue;
                    }
                    self.frame.inside_now(|frame| {
                        let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
                        let part = binder.table(name)?;
                        let added = part.constraint(&constraint.name);
                        added.map_or(Ok(()), |added| Schema { frame }.check_rows(&binder, &part, added))
                    })?;
                }
                ConstraintKind::NotNull { column } => {
                    let Some(at) = whole.column_with_id(*column) else { continue };
                    let column = &whole.columns[at].name;
                    let own = part.column(column);
                    if let Some(own) = own.filter(|own| part.columns[*own].not_null) {
                        let known = part.not_null_of(part.columns[own].id).filter(|own| !own.validated);
                        if let Some(known) = known.filter(|_| constraint.validated) {
                            self.refuse_nulls_there(&part, std::slice::from_ref(column))?;
                            let change = TableChange::Validated(Arc::clone(&known.name));
                            self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))?;
                        }
                        continue;
                    }
                    if constraint.validated {
                        self.refuse_nulls_there(&part, std::slice::from_ref(column))?;
                    }
                    self.same_not_null(name, &part, &whole, column)?;
                }
                ConstraintKind::Unique { .. }
                | ConstraintKind::Exclude { .. }
                | ConstraintKind::Foreign(_) => {}
            }
        }
        self.take_foreign_keys(name)
    }
}

/// Lets an action be about a constraint of that name.
fn call_constraint(action: &mut AlterAction, own: &str) {
    match action {
        AlterAction::DropConstraint { name, .. }
        | AlterAction::RenameConstraint { name, .. }
        | AlterAction::AlterConstraint { name, .. }
        | AlterAction::ValidateConstraint(name) => name.text = own.to_string(),
        _ => {}
    }
}
