//! Texts of tables and domains that name something by its number ([`crate::kept`]), and what becomes of them when that goes.
//!
//! H1. A default, a CHECK constraint, a generated column, an index, the WHEN of a trigger and a condition of a domain need what
//!     their texts name: DROP is refused (2BP01), or they go along under CASCADE.
//! H2. Texts of earlier releases name things by name; what they need is not known.

use std::sync::Arc;

use verso_storage::{TableLockMode, Txn, WaitPolicy};
use verso_types::SqlType;

use super::needing::{Lost, placed, shown, shown_type};
use super::trigger::parts_of;
use crate::catalog::Catalog;
use crate::definition::{ConstraintDef, ConstraintKind, IndexDef, Oid, TableDef, TypeDef};
use crate::error::CatalogError;
use crate::extended::StatisticsDef;
use crate::kept::{fields_of, objects_of};
use crate::row_type::relation_of;
use crate::snapshot::{CatalogSnapshot, Naming, Relation};
use crate::system::row::{AttributeRow, DomainRow};
use crate::trigger::TriggerDef;

/// What has a text.
#[derive(Clone, Debug)]
pub(super) enum Holder {
    Default(Arc<TableDef>, u16),
    Generated(Arc<TableDef>, u16),
    /// The key by which a table is divided.
    Key(Arc<TableDef>),
    Check(Arc<TableDef>, Arc<ConstraintDef>),
    Index(Arc<TableDef>, Arc<IndexDef>),
    Trigger(Arc<TableDef>, Arc<TriggerDef>),
    /// The default of a domain.
    Domain(Arc<TypeDef>),
    /// A condition of a domain, by its name.
    DomainCheck(Arc<TypeDef>, Arc<str>),
    Statistics(Arc<TableDef>, Arc<StatisticsDef>),
}

impl Holder {
    /// A number by which it was made before those with a higher one: that of the table for what has none of its own, and of a generated
    /// column that number, too.
    pub(super) fn place(&self) -> (Oid, u16) {
        match self {
            Holder::Generated(table, column) => (table.oid, *column),
            Holder::Default(table, _) | Holder::Key(table) | Holder::Check(table, _) => (table.oid, 0),
            Holder::Index(_, index) => (index.oid, 0),
            Holder::Trigger(_, trigger) => (trigger.oid, 0),
            Holder::Domain(ty) | Holder::DomainCheck(ty, _) => (ty.oid, 0),
            Holder::Statistics(_, one) => (one.oid, 0),
        }
    }
}

/// The name of statistics, with their schema where they are not found without it.
pub(super) fn shown_statistics(snapshot: &CatalogSnapshot, one: &StatisticsDef) -> String {
    let found = snapshot.statistics_object(None, &one.name);
    placed(&one.schema, &one.name, found.is_some_and(|found| found.oid == one.oid))
}

/// Does a text name what is to go?
pub(super) fn names_lost(snapshot: &CatalogSnapshot, text: &str, lost: Lost) -> bool {
    if let Lost::Column(of, field) = lost {
        return fields_of(text).contains(&(of, field));
    }
    let is_it = |number: &Oid| match lost {
        Lost::Relation(oid) => relation_of(*number) == oid,
        Lost::Type(oid) => *number == oid || snapshot.user_type(*number).is_some_and(|ty| ty.oid == oid),
        Lost::Function(oid) | Lost::Other(oid) => *number == oid,
        Lost::Column(..) | Lost::Schema(_) => false,
    };
    objects_of(text).iter().any(is_it)
}

/// What has texts that name what is to go.
pub(super) fn holders(snapshot: &CatalogSnapshot, lost: Lost) -> Vec<Holder> {
    holders_among(snapshot, &snapshot.naming(lost.place().0), lost)
}

/// The same of these definitions.
pub(super) fn holders_among(snapshot: &CatalogSnapshot, naming: &Naming<'_>, lost: Lost) -> Vec<Holder> {
    let names =
        |text: &Option<Arc<str>>| text.as_deref().is_some_and(|text| names_lost(snapshot, text, lost));
    let mut found = Vec::new();
    for table in naming.tables().filter(|table| !table.is_system()) {
        for column in table.columns.iter().filter(|column| names(&column.default)) {
            if column.is_hidden() {
                if table.is_divided_by(column.id) {
                    found.push(Holder::Key(Arc::clone(table)));
                }
                let of_it = |index: &&Arc<IndexDef>| {
                    index.guard == Some(column.id) || index.columns().any(|id| id == column.id)
                };
                for index in table.all_indexes().filter(of_it) {
                    let known =
                        |holder: &Holder| matches!(holder, Holder::Index(_, known) if known.oid == index.oid);
                    if !found.iter().any(known) {
                        found.push(Holder::Index(Arc::clone(table), Arc::clone(index)));
                    }
                }
            } else if column.generated {
                found.push(Holder::Generated(Arc::clone(table), column.id));
            } else {
                found.push(Holder::Default(Arc::clone(table), column.id));
            }
        }
        for constraint in &table.constraints {
            if let ConstraintKind::Check { expression } = &constraint.kind
                && names_lost(snapshot, expression, lost)
            {
                found.push(Holder::Check(Arc::clone(table), Arc::clone(constraint)));
            }
        }
        for trigger in table.triggers.iter().filter(|trigger| names(&trigger.condition)) {
            found.push(Holder::Trigger(Arc::clone(table), Arc::clone(trigger)));
        }
        let named =
            |one: &&Arc<StatisticsDef>| one.expressions.iter().any(|text| names_lost(snapshot, text, lost));
        for one in table.extended.iter().filter(named) {
            found.push(Holder::Statistics(Arc::clone(table), Arc::clone(one)));
        }
    }
    for relation in naming.relations() {
        let Relation::View(view) = relation else { continue };
        for column in view.columns.iter().filter(|column| names(&column.default)) {
            found.push(Holder::Default(Arc::new(view.as_table()), column.id));
        }
    }
    for ty in naming.types() {
        let SqlType::Domain(domain) = &ty.ty else { continue };
        for check in domain.checks.iter().filter(|check| names_lost(snapshot, &check.expression, lost)) {
            found.push(Holder::DomainCheck(Arc::clone(ty), Arc::clone(&check.name)));
        }
        if names(&domain.default) {
            found.push(Holder::Domain(Arc::clone(ty)));
        }
    }
    found
}

impl Holder {
    /// Its table.
    pub(super) fn table(&self) -> Option<&Arc<TableDef>> {
        match self {
            Holder::Default(table, _)
            | Holder::Generated(table, _)
            | Holder::Key(table)
            | Holder::Check(table, _)
            | Holder::Index(table, _)
            | Holder::Trigger(table, _)
            | Holder::Statistics(table, _) => Some(table),
            Holder::Domain(_) | Holder::DomainCheck(..) => None,
        }
    }

    /// The domain that it belongs to.
    pub(super) fn domain(&self) -> Option<Oid> {
        match self {
            Holder::Domain(ty) | Holder::DomainCheck(ty, _) => Some(ty.oid),
            _ => None,
        }
    }

    /// Is it the same as another one?
    pub(super) fn is(&self, other: &Holder) -> bool {
        match (self, other) {
            (Holder::Default(one, id), Holder::Default(two, other))
            | (Holder::Generated(one, id), Holder::Generated(two, other)) => {
                one.oid == two.oid && id == other
            }
            (Holder::Key(one), Holder::Key(two)) => one.oid == two.oid,
            (Holder::Check(_, one), Holder::Check(_, two)) => one.oid == two.oid,
            (Holder::Index(_, one), Holder::Index(_, two)) => one.oid == two.oid,
            (Holder::Trigger(_, one), Holder::Trigger(_, two)) => one.oid == two.oid,
            (Holder::Domain(one), Holder::Domain(two)) => one.oid == two.oid,
            (Holder::DomainCheck(one, check), Holder::DomainCheck(two, other)) => {
                one.oid == two.oid && check == other
            }
            (Holder::Statistics(_, one), Holder::Statistics(_, two)) => one.oid == two.oid,
            _ => false,
        }
    }

    /// In PostgreSQL's words.
    pub(super) fn name(&self, snapshot: &CatalogSnapshot) -> String {
        let place = |table: &Arc<TableDef>| shown(snapshot, &Relation::Table(Arc::clone(table)));
        let column = |table: &Arc<TableDef>, id: u16| {
            let at = table.column_with_id(id);
            at.map_or_else(String::new, |at| table.columns[at].name.to_string())
        };
        match self {
            Holder::Default(table, id) => {
                let kind = if table.is_view() { "view" } else { "table" };
                format!("default value for column {} of {kind} {}", column(table, *id), place(table))
            }
            Holder::Generated(table, id) => {
                format!("column {} of table {}", column(table, *id), place(table))
            }
            Holder::Key(table) => format!("table {}", place(table)),
            Holder::Check(table, one) => format!("constraint {} on table {}", one.name, place(table)),
            Holder::Index(table, one) => {
                match table.constraints.iter().find(|known| Some(known.oid) == one.constraint) {
                    Some(constraint) => format!("constraint {} on table {}", constraint.name, place(table)),
                    None => format!("index {}", shown(snapshot, &Relation::Index(Arc::clone(one)))),
                }
            }
            Holder::Trigger(table, one) => format!("trigger {} on table {}", one.name, place(table)),
            Holder::Domain(ty) => format!("type {}", shown_type(snapshot, ty)),
            Holder::DomainCheck(_, check) => format!("constraint {check}"),
            Holder::Statistics(_, one) => format!("statistics object {}", shown_statistics(snapshot, one)),
        }
    }
}

impl Catalog {
    /// Removes what has a text that names what goes; the change has begun.
    pub(super) fn remove_holder(&self, txn: &mut Txn, holder: &Holder) -> Result<(), CatalogError> {
        if let Some(table) = holder.table().filter(|table| !table.is_view()) {
            self.engine.lock_table(txn, table.heap, TableLockMode::AccessExclusive, WaitPolicy::Block)?;
        }
        match holder {
            Holder::Default(table, id) => {
                let Some(at) = table.column_with_id(*id) else { return Ok(()) };
                self.remove_default(txn, table, &table.columns[at])?;
                let is_it =
                    |row: &AttributeRow| row.attrelid == table.oid && i32::from(row.attnum) == i32::from(*id);
                self.update_rows(txn, table.oid, is_it, |row| row.atthasdef = false).map(drop)
            }
            Holder::Generated(table, id) => {
                // A column goes by a copy of its table, which is a statement of its own.
                let name = table.column_with_id(*id).map_or("", |at| &*table.columns[at].name);
                let text = format!(
                    "CASCADE that would take generated column \"{name}\" of table \"{}\" along",
                    table.name
                );
                Err(CatalogError::invalid("0A000", format!("{text} is not supported")))
            }
            // Its table goes as a whole.
            Holder::Key(_) => Ok(()),
            Holder::Check(table, constraint) => self.remove_constraint(txn, table, constraint),
            Holder::Index(table, index) => {
                match table.constraints.iter().find(|known| Some(known.oid) == index.constraint) {
                    Some(constraint) => self.remove_constraint(txn, table, constraint),
                    None => {
                        self.remove_index(txn, index)?;
                        self.forget_hidden(txn, table, index)
                    }
                }
            }
            Holder::Trigger(table, trigger) => self.delete_triggers(txn, &parts_of(table, trigger)),
            Holder::Statistics(_, one) => self.remove_statistics(txn, &[&**one]),
            Holder::Domain(ty) => {
                let is_it = |row: &DomainRow| row.oid == ty.oid;
                self.update_rows(txn, ty.oid, is_it, |row| row.typdefault = None).map(drop)
            }
            Holder::DomainCheck(ty, check) => {
                let is_it = |row: &DomainRow| row.oid == ty.oid;
                self.update_rows(txn, ty.oid, is_it, |row| row.remove_check(check)).map(drop)
            }
        }
    }
}
