//! What shares the tables' name space: tables, sequences, indexes, views.

use std::sync::Arc;

use crate::definition::{IndexDef, Oid, SequenceDef, TableDef, ViewDef};
use crate::error::ObjectKind;
use crate::trigger::TriggerDef;

/// What shares the tables' name space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// A table.
    Table(Arc<TableDef>),
    /// A sequence.
    Sequence(Arc<SequenceDef>),
    /// An index.
    Index(Arc<IndexDef>),
    /// A view.
    View(Arc<ViewDef>),
}

impl Relation {
    /// Its row in `pg_class`.
    pub fn oid(&self) -> Oid {
        match self {
            Relation::Table(table) => table.oid,
            Relation::Sequence(sequence) => sequence.oid,
            Relation::Index(index) => index.oid,
            Relation::View(view) => view.oid,
        }
    }

    /// Its schema and its name.
    pub fn path(&self) -> (&str, &str) {
        let (schema, name) = self.key();
        (schema, name)
    }

    /// What it is called.
    pub fn kind(&self) -> ObjectKind {
        match self {
            Relation::Table(table) if table.materialized.is_some() => ObjectKind::MaterializedView,
            Relation::Table(_) => ObjectKind::Table,
            Relation::Sequence(_) => ObjectKind::Sequence,
            Relation::Index(_) => ObjectKind::Index,
            Relation::View(_) => ObjectKind::View,
        }
    }

    /// The table that it is.
    pub fn as_table(&self) -> Option<&Arc<TableDef>> {
        if let Relation::Table(table) = self { Some(table) } else { None }
    }

    /// The view that it is.
    pub fn as_view(&self) -> Option<&Arc<ViewDef>> {
        if let Relation::View(view) = self { Some(view) } else { None }
    }

    /// The sequence that it is.
    pub fn as_sequence(&self) -> Option<&Arc<SequenceDef>> {
        if let Relation::Sequence(sequence) = self { Some(sequence) } else { None }
    }

    /// Its triggers, by name.
    pub fn triggers(&self) -> &[Arc<TriggerDef>] {
        match self {
            Relation::Table(table) => &table.triggers,
            Relation::View(view) => &view.triggers,
            Relation::Sequence(_) | Relation::Index(_) => &[],
        }
    }

    /// What its triggers see of it: the table, or the view as one.
    pub fn of_triggers(&self) -> Option<Arc<TableDef>> {
        match self {
            Relation::Table(table) => Some(Arc::clone(table)),
            Relation::View(view) => Some(Arc::new(view.as_table())),
            Relation::Sequence(_) | Relation::Index(_) => None,
        }
    }

    /// The schema that it is in.
    pub fn schema(&self) -> &Arc<str> {
        self.key().0
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        self.key().1
    }

    pub(crate) fn key(&self) -> (&Arc<str>, &Arc<str>) {
        match self {
            Relation::Table(table) => (&table.schema, &table.name),
            Relation::Sequence(sequence) => (&sequence.schema, &sequence.name),
            Relation::Index(index) => (&index.schema, &index.name),
            Relation::View(view) => (&view.schema, &view.name),
        }
    }
}
