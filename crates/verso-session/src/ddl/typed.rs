//! Typed tables: CREATE TABLE … OF a composite type, ALTER TABLE … OF and NOT OF, and what ALTER TYPE … CASCADE does to them.
//!
//! Y1. The columns of a typed table are the fields of its type, in their order: they change with the type only.

use std::sync::Arc;

use verso_catalog::{ColumnDef, NewColumn, NewTable, TableChange, TableDef, TypeDef, TypeUses};
use verso_parser::syntax::{
    AlterAction, AlterTable, ColumnDefinition, CreateTable, FieldChange, Name, QualifiedName, Span,
    TableElement,
};
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::SqlType;

use super::Schema;
use crate::failure::Failure;

/// The fields of a composite type.
type Fields = [(Arc<str>, SqlType)];

impl Schema<'_> {
    /// The composite type of that name.
    fn stand_alone_type(&self, name: &QualifiedName) -> Result<Arc<TypeDef>, SqlError> {
        let wrong = |text: String| SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text);
        let catalog = self.frame.catalog;
        let relation = catalog.relation(name.schema_text(), &name.name.text);
        if catalog.type_named(name.schema_text(), &name.name.text).is_none()
            && relation.is_some_and(|relation| relation.row_type().is_some())
        {
            let detail =
                "A typed table must use a stand-alone composite type created with CREATE TYPE.".to_string();
            let text = format!("type {} is the row type of another table", name.name.text);
            return Err(wrong(text).with_detail(detail));
        }
        let is_built_in = catalog.type_named(name.schema_text(), &name.name.text).is_none()
            && verso_types::SystemType::from_name(&name.name.text).is_some();
        if is_built_in {
            return Err(wrong(format!("type {} is not a composite type", name.name.text)));
        }
        let ty = catalog.type_named(name.schema_text(), &name.name.text).cloned();
        let ty = ty.ok_or_else(|| {
            let text = format!("type \"{name}\" does not exist");
            SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(name.at().start)
        })?;
        match ty.ty {
            SqlType::Row(_) => {
                self.may_use(&ty.ty)?;
                Ok(ty)
            }
            _ => Err(wrong(format!("type {} is not a composite type", ty.name))),
        }
    }

    /// CREATE TABLE … OF: the columns that the new table has.
    pub(super) fn columns_of_type(
        &self,
        create: &CreateTable,
        of: &QualifiedName,
        new: &mut NewTable,
    ) -> Result<(), Failure> {
        let ty = self.stand_alone_type(of)?;
        let SqlType::Row(row) = &ty.ty else { return Ok(()) };
        new.columns.extend(row.as_written().map(|(name, ty)| NewColumn::new(Arc::clone(name), ty.clone())));
        new.options.set_of_type(Some(ty.oid));
        let mut named: Vec<&str> = Vec::new();
        for element in &create.elements {
            let TableElement::Options(column) = element else { continue };
            let refused = match column {
                ColumnDefinition { identity: Some(_), .. } => Some("identity"),
                ColumnDefinition { generated: Some(_), .. } => Some("generated"),
                _ => None,
            };
            if let Some(what) = refused {
                let text = format!("{what} columns are not supported on typed tables");
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
            }
            let name = column.name.text.as_str();
            if named.contains(&name) {
                let text = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text).into());
            }
            named.push(name);
        }
        Ok(())
    }

    /// ALTER TABLE … OF, NOT OF.
    pub(super) fn of_type(
        &self,
        table: &TableDef,
        name: Option<&QualifiedName>,
    ) -> Result<TableChange, Failure> {
        let wrong = |text: String| Failure::from(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
        let Some(name) = name else {
            return match table.of_type() {
                Some(_) => Ok(TableChange::OfType(None)),
                None => Err(wrong(format!("\"{}\" is not a typed table", table.name))),
            };
        };
        let ty = self.stand_alone_type(name)?;
        if table.partition_of.is_some() {
            return Err(wrong("typed tables cannot inherit".to_string()));
        }
        let SqlType::Row(row) = &ty.ty else { return Ok(TableChange::OfType(None)) };
        check_columns(table, &row.fields)?;
        Ok(TableChange::OfType(Some(ty.oid)))
    }

    /// The typed tables of a type that is to change: there are none unless `cascade` takes them along.
    pub(super) fn typed_tables(&self, ty: &TypeDef, cascade: bool) -> Result<Vec<Arc<TableDef>>, SqlError> {
        let catalog = self.frame.catalog;
        let tables = TypeUses::of(catalog, ty).tables;
        if !tables.is_empty() && !cascade {
            let text = format!("cannot alter type \"{}\" because it is the type of a typed table", ty.name);
            return Err(SqlError::new("2BP01", text)
                .with_hint("Use ALTER ... CASCADE to alter the typed tables too."));
        }
        Ok(tables.into_iter().filter_map(|oid| catalog.table_by_oid(oid)).collect())
    }

    /// Does to a typed table what was done to its type.
    pub(super) fn alter_typed(&self, table: &TableDef, changes: &[FieldChange]) -> Result<(), Failure> {
        let named = |text: &str| Name { text: text.to_string(), at: Span::default() };
        let name = QualifiedName { schema: Some(named(&table.schema)), name: named(&table.name) };
        let alter = AlterTable {
            name: name.clone(),
            if_exists: false,
            actions: Vec::new(),
            materialized: false,
            only: false,
        };
        for change in changes {
            let action = match change {
                FieldChange::Add(name, ty) => AlterAction::AddColumn {
                    column: ColumnDefinition::plain(name.clone(), self.data_type(ty)?),
                    if_not_exists: false,
                },
                FieldChange::Drop { name, .. } => {
                    AlterAction::DropColumn { column: name.clone(), if_exists: true, cascade: true }
                }
                FieldChange::Retype(name, ty) => {
                    AlterAction::ColumnType { column: name.clone(), ty: self.data_type(ty)?, using: None }
                }
                FieldChange::Rename(from, to) => {
                    AlterAction::RenameColumn { column: from.clone(), to: to.clone() }
                }
            };
            self.frame.inside(|frame| Schema { frame }.alter_whole(&name, &action, &alter))?;
        }
        Ok(())
    }
}

/// Refuses a table whose columns are not the fields of a type.
fn check_columns(table: &TableDef, fields: &Fields) -> Result<(), SqlError> {
    let differs = |text: String| Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
    let mut columns = table.shown().iter();
    for (field, ty) in fields {
        let Some(column) = columns.next() else {
            return differs(format!("table is missing column \"{field}\""));
        };
        if column.name != *field {
            return differs(format!("table has column \"{}\" where type requires \"{field}\"", column.name));
        }
        if !is_of(column, ty) {
            let text = format!("table \"{}\" has different type for column \"{field}\"", table.name);
            return differs(text);
        }
    }
    match columns.next() {
        None => Ok(()),
        Some(column) => differs(format!("table has extra column \"{}\"", column.name)),
    }
}

fn is_of(column: &ColumnDef, ty: &SqlType) -> bool {
    let declared = column.declared();
    declared.pg_oid() == ty.pg_oid()
        && declared.typmod() == ty.typmod()
        && declared.collation().map(|one| one.oid) == ty.collation().map(|one| one.oid)
}

/// Refuses what would give a typed table other columns than its type has.
pub(super) fn refuse_of_typed(table: &TableDef, actions: &[AlterAction]) -> Result<(), SqlError> {
    if table.of_type().is_none() {
        return Ok(());
    }
    let what = |action: &AlterAction| match action {
        AlterAction::AddColumn { .. } => Some("add column to"),
        AlterAction::DropColumn { .. } => Some("drop column from"),
        AlterAction::ColumnType { .. } => Some("alter column type of"),
        AlterAction::RenameColumn { .. } => Some("rename column of"),
        _ => None,
    };
    match actions.iter().find_map(what) {
        Some(what) => Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("cannot {what} typed table"))),
        None => Ok(()),
    }
}
