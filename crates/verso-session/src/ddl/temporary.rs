//! Temporary tables, views and sequences: where they are made, and what a commit does about them.

use std::sync::Arc;

use verso_catalog::{Object, Oid, Rights, is_temporary};

use super::Schema;
use crate::failure::Failure;
use crate::frame::Frame;
use verso_parser::syntax::{CreateTable, CreateTableAs, OnCommit, QualifiedName, Statement, ViewStatement};
use verso_planner::bind::Binder;
use verso_planner::errors::SqlError;

impl Schema<'_> {
    /// The session's schema for temporary tables, made where a statement needs it. Whether it was made now: the statement
    /// then goes on in a frame that sees it.
    pub(super) fn prepare_temporary(&self, statement: &Statement) -> Result<bool, Failure> {
        if !is_for_temporary(statement) {
            return Ok(false);
        }
        self.make_temporary_schema()
    }

    pub(super) fn make_temporary_schema(&self) -> Result<bool, Failure> {
        let services = self.frame.services;
        services.temporary.note_used();
        let name = services.temporary_schema();
        if self.frame.catalog.schema(&name).is_some() {
            return Ok(false);
        }
        services.instance.catalog.create_temporary_schema(&mut self.frame.txn.borrow_mut(), &name)?;
        Ok(true)
    }

    /// The schema in which a temporary relation of this name is made.
    pub(super) fn temporary_place(&self, name: &QualifiedName) -> Result<Arc<str>, SqlError> {
        let own = self.frame.services.temporary_schema();
        let database = self.frame.services.database();
        if let Err(error) = self.needs(Object::Database, Rights::TEMPORARY, "database", database) {
            let message = format!("permission denied to create temporary tables in database \"{database}\"");
            return Err(SqlError { message, ..error });
        }
        match &name.schema {
            Some(schema) if schema.text != "pg_temp" && *schema.text != *own => {
                let text = "cannot create temporary relation in non-temporary schema";
                Err(SqlError::new("42P16", text).at(name.at().start))
            }
            _ => Ok(own),
        }
    }

    /// Notes what a commit does about a new table.
    pub(super) fn note_temporary(&self, table: Option<Oid>, action: Option<OnCommit>) {
        if let (Some(table), Some(action)) = (table, action) {
            self.frame.services.temporary.add(table, action);
        }
    }

    /// Whether a table is unlogged that is asked to be; one of the temporary schema cannot.
    pub(super) fn unlogged(&self, wanted: bool, place: &str) -> Result<bool, SqlError> {
        if wanted && is_temporary(place) {
            let text = "only temporary relations may be created in temporary schemas";
            return Err(SqlError::new("42P16", text));
        }
        Ok(wanted)
    }

    /// Refuses a foreign key between a temporary table and one that is not.
    pub(super) fn check_persistence(&self, own: &str, referenced: &str) -> Result<(), SqlError> {
        let text = match (is_temporary(own), is_temporary(referenced)) {
            (true, false) => "constraints on temporary tables may reference only temporary tables",
            (false, true) => "constraints on permanent tables may reference only permanent tables",
            _ => return Ok(()),
        };
        Err(SqlError::new("42P16", text))
    }
}

/// Whether a statement makes something temporary.
fn is_for_temporary(statement: &Statement) -> bool {
    let in_temporary = |name: &QualifiedName| name.schema_text() == Some("pg_temp");
    match statement {
        Statement::CreateTable(CreateTable { temporary, name, .. })
        | Statement::CreateTableAs(CreateTableAs { temporary, name, .. }) => {
            temporary.is_some() || in_temporary(name)
        }
        Statement::CreateSequence(create) => create.temporary || in_temporary(&create.name),
        Statement::View(ViewStatement::Create(create)) => create.temporary || in_temporary(&create.name),
        _ => false,
    }
}

/// Notes that the transaction has changed or dropped something temporary, as its locks tell.
pub(super) fn note_touched(frame: &Frame<'_>) {
    let known = &frame.services.temporary;
    if !known.is_used() || known.is_touched() {
        return;
    }
    let own = frame.services.temporary_schema();
    let txn = frame.txn.borrow();
    let tables = frame.catalog.tables().filter(|table| *table.schema == *own).map(|table| table.heap);
    let sequences = frame.catalog.sequences().filter(|sequence| *sequence.schema == *own);
    if tables.chain(sequences.map(|sequence| sequence.object)).any(|object| txn.has_locked(object)) {
        known.note_touched();
    }
}

/// Does what ON COMMIT asks for.
pub(crate) fn at_commit(frame: &Frame<'_>) -> Result<(), Failure> {
    let services = frame.services;
    let mut dropped = Vec::new();
    let mut gone = Vec::new();
    for (oid, action) in services.temporary.tables() {
        match (frame.catalog.table_by_oid(oid), action) {
            (None, _) => gone.push(oid),
            (Some(table), OnCommit::Drop) => {
                gone.push(oid);
                dropped.push(table);
            }
            (Some(table), _) => {
                let text = format!(
                    "DELETE FROM {}.{}",
                    verso_parser::quoted(&table.schema),
                    verso_parser::quoted(&table.name)
                );
                let parsed = verso_parser::parse_script(&text).map_err(SqlError::from)?;
                let binder = Binder::new(frame.catalog, &services.settings.time_zone, &[]);
                for one in &parsed {
                    let bound = binder.statement(&one.statement)?;
                    frame.inside(|frame| frame.count(&bound, &[]))?;
                }
            }
        }
    }
    if !dropped.is_empty() {
        let catalog = &services.instance.catalog;
        catalog.drop_tables(&mut frame.txn.borrow_mut(), &dropped, true)?;
    }
    services.temporary.forget(&gone);
    Ok(())
}
