//! Temporary tables, views and sequences: where they are made, and what a commit does about them.

use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, FunctionDef, OWNER_ROLE, Object, Oid, PG_TEMP, Relation, Rights, TableDef, TypeDef,
    is_temporary,
};
use verso_exec::plan::{Delete, Statement as Bound};

use super::Schema;
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use crate::frame::Frame;
use verso_parser::syntax::{
    CollationStatement, CreateTable, CreateTableAs, OnCommit, OperatorStatement, QualifiedName, Statement,
    TypeStatement, ViewStatement,
};
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// The session's schema for temporary tables, made where a statement needs it. Whether it was made now: the statement
    /// then goes on in a frame that sees it.
    pub(super) fn prepare_temporary(&self, statement: &Statement) -> Result<bool, Failure> {
        let in_temporary = target_of(statement).is_some_and(|name| self.is_in_temporary(name));
        if !in_temporary && !is_temporary_statement(statement) {
            return Ok(false);
        }
        self.make_temporary_schema()
    }

    /// Whether what is made of this name belongs into the session's temporary schema, which may not be there yet.
    pub(super) fn is_in_temporary(&self, name: &QualifiedName) -> bool {
        match name.schema_text() {
            Some(schema) => schema == PG_TEMP,
            None => {
                let first = |path: &[Arc<str>]| path.first().is_some_and(|schema| **schema == *PG_TEMP);
                first(&self.frame.services.settings.search_path)
            }
        }
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

    /// DISCARD TEMP within a transaction, which may take it back: drops everything temporary that the session has, whosever it is,
    /// and tells nothing of it.
    pub(super) fn discard_temporary(&self) -> Result<CommandTag, Failure> {
        let services = self.frame.services;
        if let Some(schema) = self.frame.catalog.schema(&services.temporary_schema()) {
            services.temporary.note_touched();
            self.frame.as_role(OWNER_ROLE, |frame| {
                Schema { frame }.drop_held_by_others(schema)?;
                frame.inside(|frame| {
                    let catalog = &frame.services.instance.catalog;
                    Ok(catalog.drop_schema(&mut frame.txn.borrow_mut(), &schema.name, true)?)
                })
            })?;
        }
        Ok(tag("DISCARD TEMP"))
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
            Some(schema) if schema.text != PG_TEMP && *schema.text != *own => {
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

/// Whether a statement says that what it makes is temporary.
fn is_temporary_statement(statement: &Statement) -> bool {
    match statement {
        Statement::CreateTable(CreateTable { temporary, .. })
        | Statement::CreateTableAs(CreateTableAs { temporary, .. }) => temporary.is_some(),
        Statement::CreateSequence(create) => create.temporary,
        Statement::View(ViewStatement::Create(create)) => create.temporary,
        _ => false,
    }
}

/// The name of what a statement makes, where that is in a schema of the statement's choice.
fn target_of(statement: &Statement) -> Option<&QualifiedName> {
    Some(match statement {
        Statement::CreateTable(create) => &create.name,
        Statement::CreateTableAs(create) => &create.name,
        Statement::CreateSequence(create) => &create.name,
        Statement::CreateFunction(create) => &create.name,
        Statement::CreateAggregate(create) => &create.name,
        Statement::View(ViewStatement::Create(create)) => &create.name,
        Statement::View(ViewStatement::CreateMaterialized(create)) => &create.name,
        Statement::Type(
            TypeStatement::CreateEnum { name, .. }
            | TypeStatement::CreateComposite { name, .. }
            | TypeStatement::CreateRange { name, .. }
            | TypeStatement::Collation(CollationStatement::Create { name, .. })
            | TypeStatement::Operator(OperatorStatement::Create { name, .. }),
        ) => name,
        Statement::Type(TypeStatement::CreateDomain(create)) => &create.name,
        _ => return None,
    })
}

/// Notes that the transaction has changed or dropped something temporary, as its locks tell; of functions and types the catalog does.
pub(super) fn note_touched(frame: &Frame<'_>) {
    let known = &frame.services.temporary;
    if !known.is_used() || known.is_touched() {
        return;
    }
    let own = frame.services.temporary_schema();
    let txn = frame.txn.borrow();
    let before = without_rows(frame.catalog, &own);
    if before != (Vec::new(), Vec::new()) {
        let now = frame.services.instance.catalog.snapshot(&txn);
        if now.is_ok_and(|now| without_rows(&now, &own) != before) {
            known.note_touched();
        }
    }
    let mut objects = frame.catalog.relations_in(&own).filter_map(|relation| match relation {
        Relation::Table(table) => Some(table.heap),
        Relation::Sequence(sequence) => Some(sequence.object),
        Relation::Index(_) | Relation::View(_) => None,
    });
    if objects.any(|object| txn.has_locked(object)) {
        known.note_touched();
    }
}

/// The functions and types of a schema.
fn without_rows(catalog: &CatalogSnapshot, schema: &str) -> (Vec<Arc<FunctionDef>>, Vec<Arc<TypeDef>>) {
    let (functions, types) = (catalog.functions_in(schema), catalog.types_in(schema));
    let (mut functions, mut types): (Vec<_>, Vec<_>) =
        (functions.cloned().collect(), types.cloned().collect());
    functions.sort_by_key(|function| function.oid);
    types.sort_by_key(|ty| ty.oid);
    (functions, types)
}

/// Does what ON COMMIT asks for, whoever commits. Rows go without triggers and rights. A table with partitions has no rows
/// of its own, and what its partitions do with theirs is said for each of them.
pub(crate) fn at_commit(frame: &Frame<'_>) -> Result<(), Failure> {
    let services = frame.services;
    let mut dropped = Vec::new();
    let mut emptied = Vec::new();
    let mut gone = Vec::new();
    for (oid, action) in services.temporary.tables() {
        match (frame.catalog.table_by_oid(oid), action) {
            (None, _) => gone.push(oid),
            (Some(table), OnCommit::Drop) => {
                gone.push(oid);
                dropped.push(table);
            }
            (Some(table), _) if table.partitioned.is_none() => emptied.push(table),
            (Some(_), _) => {}
        }
    }
    if !emptied.is_empty() {
        frame.as_role(OWNER_ROLE, |frame| empty(frame, &emptied))?;
    }
    if !dropped.is_empty() {
        let catalog = &services.instance.catalog;
        catalog.drop_tables(&mut frame.txn.borrow_mut(), &dropped, true)?;
    }
    services.temporary.forget(&gone);
    Ok(())
}

/// Deletes all rows of tables, which reference each other at most.
fn empty(frame: &Frame<'_>, tables: &[Arc<TableDef>]) -> Result<(), Failure> {
    for table in tables {
        let others = table.referenced_by.iter().map(|constraint| constraint.table);
        let beside = others.into_iter().find(|other| tables.iter().all(|table| table.oid != *other));
        if let Some(other) = beside.and_then(|other| frame.catalog.table_by_oid(other)) {
            let text = "unsupported ON COMMIT and foreign key combination";
            let detail = format!(
                "Table \"{}\" references \"{}\", but they do not have the same ON COMMIT setting.",
                other.name, table.name
            );
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_detail(detail).into());
        }
    }
    for table in tables {
        let mut plain = (**table).clone();
        plain.triggers.clear();
        plain.constraints.clear();
        plain.referenced_by.clear();
        let delete = Delete {
            table: Arc::new(plain).into(),
            columns: Vec::new(),
            joined: None,
            access: None,
            filter: None,
            returning: None,
            parts: Vec::new(),
        };
        frame.inside(|frame| frame.count(&Bound::Delete(delete), &[]))?;
    }
    Ok(())
}
