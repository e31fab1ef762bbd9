//! CREATE TYPE … AS (…), and ALTER TYPE of the fields of what it makes.

use std::sync::Arc;

use verso_catalog::{CatalogError, NewComposite, Object, Oid, TableDef, TypeDef, TypeUses};
use verso_types::SqlType;

use super::{Schema, text};
use crate::failure::Failure;
use verso_parser::syntax::{FieldChange, Name, QualifiedName};
use verso_planner::bind::{Binder, is_polymorphic};
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    pub(super) fn create_composite(
        &self,
        name: &QualifiedName,
        fields: &[(Name, SqlType)],
    ) -> Result<(), Failure> {
        let field = |(name, ty): &(Name, SqlType)| Ok((text(name), self.field_type(name, ty)?));
        let new = NewComposite {
            schema: self.place(name)?,
            name: text(&name.name),
            fields: fields.iter().map(field).collect::<Result<_, SqlError>>()?,
        };
        let catalog = &self.frame.services.instance.catalog;
        let oid = catalog.create_composite(&mut self.frame.txn.borrow_mut(), &new)?;
        self.made(Object::Type(oid), Some(&new.schema))
    }

    pub(super) fn alter_fields(
        &self,
        name: &QualifiedName,
        changes: &[FieldChange],
        cascade: bool,
    ) -> Result<(), Failure> {
        let ty = self.own_type(name)?;
        let SqlType::Row(row) = &ty.ty else {
            let text = format!("\"{}\" is not a composite type", name.name.text);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
        };
        let typed = self.typed_tables(&ty, cascade)?;
        let known: Vec<(Arc<str>, SqlType)> =
            row.as_declared().map(|(name, ty)| (Arc::clone(name), ty.clone())).collect();
        let mut fields = known.clone();
        // As in PostgreSQL, what goes is a field that was there before.
        let goes = |change: &&FieldChange| matches!(change, FieldChange::Drop { .. });
        for change in changes.iter().filter(goes).chain(changes.iter().filter(|change| !goes(change))) {
            self.change_field(&ty.name, &mut fields, change)?;
        }
        if fields == known {
            return Ok(());
        }
        let holders = self.holders_of(&ty);
        let renames = changes.iter().any(|change| matches!(change, FieldChange::Rename(..)));
        let retyped =
            |(name, ty): &(Arc<str>, SqlType)| known.iter().any(|(known, old)| known == name && old != ty);
        // As in PostgreSQL the values of a field stay of its type.
        let in_columns = renames || !fields.iter().any(retyped);
        for change in changes {
            if let FieldChange::Drop { name: field, .. } = change {
                self.refuse_field_of_views(&ty, &field.text)?;
            }
        }
        for change in changes.iter().filter(|_| in_columns) {
            if let FieldChange::Drop { name: field, .. } | FieldChange::Rename(field, _) = change {
                let what = format!("attribute {} of type {}", field.text, ty.name);
                self.refuse_field_in_use(&holders, ty.oid, &field.text, &what)?;
            }
        }
        let catalog = &self.frame.services.instance.catalog;
        catalog.alter_composite(&mut self.frame.txn.borrow_mut(), &ty, &fields, in_columns)?;
        // Fields have the numbers of their places, and comments those of their fields.
        let is_dropped = |name: &str| {
            changes
                .iter()
                .any(|change| matches!(change, FieldChange::Drop { name: field, .. } if field.text == name))
        };
        let place = |(at, (name, _)): (usize, &(Arc<str>, SqlType))| match renames {
            true => Some(at),
            false => fields.iter().position(|(field, _)| field == name && !is_dropped(name)),
        };
        let places: Vec<Option<usize>> = row.fields.iter().enumerate().map(place).collect();
        catalog.renumber_comments(&mut self.frame.txn.borrow_mut(), ty.oid, &places)?;
        // The values of a field that has another name only stand where they stood.
        if !renames {
            self.reshape_all(&holders)?;
        }
        typed.iter().try_for_each(|table| self.alter_typed(table, changes))
    }

    /// Takes all but these fields away from a composite type, and from the values of columns.
    pub(super) fn keep_fields(&self, ty: &TypeDef, fields: &[(Arc<str>, SqlType)]) -> Result<(), Failure> {
        let SqlType::Row(row) = &ty.ty else { return Ok(()) };
        let holders = self.holders_of(ty);
        for (name, _) in row.as_declared().filter(|(name, _)| fields.iter().all(|(kept, _)| kept != *name)) {
            let what = format!("attribute {name} of type {}", ty.name);
            self.refuse_field_in_use(&holders, ty.oid, name, &what)?;
        }
        let catalog = &self.frame.services.instance.catalog;
        catalog.alter_composite(&mut self.frame.txn.borrow_mut(), ty, fields, true)?;
        self.reshape_all(&holders)
    }

    /// Refuses to take away a field that a view uses.
    fn refuse_field_of_views(&self, ty: &TypeDef, field: &str) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let binder = Binder::new(catalog, &self.frame.services.settings.time_zone, &[]);
        let what = format!("column {field} of composite type {}", ty.name);
        let mut lines = Vec::new();
        for view in catalog.all_views() {
            let uses = binder.fields_used_by(&view)?;
            if uses.iter().any(|(of, name)| *of == ty.oid && **name == *field) {
                let is_table = catalog.table_by_oid(view.oid).is_some();
                let kind = if is_table { "materialized view" } else { "view" };
                lines.push(format!("{kind} {} depends on {what}", view.name));
            }
        }
        match lines.is_empty() {
            true => Ok(()),
            false => Err(CatalogError::Needed { what, detail: lines.join("\n") }.into()),
        }
    }

    /// The tables with rows of their own that have columns of a composite type.
    fn holders_of(&self, ty: &TypeDef) -> Vec<Arc<TableDef>> {
        let catalog = self.frame.catalog;
        let mut tables: Vec<Oid> =
            TypeUses::of(catalog, ty).columns.into_iter().map(|(table, _)| table).collect();
        tables.dedup();
        let found = tables.into_iter().filter_map(|oid| catalog.table_by_oid(oid));
        found.filter(|table| table.partitioned.is_none()).collect()
    }

    fn change_field(
        &self,
        of: &str,
        fields: &mut Vec<(Arc<str>, SqlType)>,
        change: &FieldChange,
    ) -> Result<(), SqlError> {
        let place = |fields: &[(Arc<str>, SqlType)], name: &Name| {
            fields.iter().position(|(field, _)| **field == *name.text)
        };
        let missing = |name: &Name| {
            let text = format!("column \"{}\" of relation \"{of}\" does not exist", name.text);
            SqlError::new(sqlstate::UNDEFINED_COLUMN, text)
        };
        let taken = |name: &Name| {
            let text = format!("column \"{}\" of relation \"{of}\" already exists", name.text);
            SqlError::new(sqlstate::DUPLICATE_COLUMN, text)
        };
        match change {
            FieldChange::Add(name, _) if place(fields, name).is_some() => return Err(taken(name)),
            FieldChange::Add(name, ty) => fields.push((text(name), self.field_type(name, ty)?)),
            FieldChange::Drop { name, if_exists } => match place(fields, name) {
                Some(at) => drop(fields.remove(at)),
                None if *if_exists => {
                    let text =
                        format!("column \"{}\" of relation \"{of}\" does not exist, skipping", name.text);
                    self.skip(text);
                }
                None => return Err(missing(name)),
            },
            FieldChange::Retype(name, ty) => {
                let at = place(fields, name).ok_or_else(|| missing(name))?;
                fields[at].1 = self.field_type(name, ty)?;
            }
            FieldChange::Rename(from, to) => {
                let at = place(fields, from).ok_or_else(|| missing(from))?;
                if place(fields, to).is_some() {
                    return Err(taken(to));
                }
                fields[at].0 = text(to);
            }
        }
        Ok(())
    }

    /// The type of a field, if there are columns of it.
    fn field_type(&self, name: &Name, ty: &SqlType) -> Result<SqlType, SqlError> {
        let ty = self.data_type(ty).map_err(|error| pseudo_named(&name.text, ty).unwrap_or(error))?;
        self.may_use(&ty)?;
        refuse_pseudo(&name.text, &ty)?;
        Ok(ty)
    }
}

/// Types of PostgreSQL that no value is of and that nothing here is declared with.
const PSEUDO_TYPES: [&str; 11] = [
    "any",
    "cstring",
    "event_trigger",
    "fdw_handler",
    "index_am_handler",
    "internal",
    "language_handler",
    "table_am_handler",
    "tsm_handler",
    "unknown",
    "void",
];

/// What is said of a column whose type is one of those, where no type of users has the name.
pub(super) fn pseudo_named(column: &str, ty: &SqlType) -> Option<SqlError> {
    let SqlType::Named(named) = ty else { return None };
    let is_known = named.schema.as_deref().is_none_or(|schema| schema == "pg_catalog")
        && PSEUDO_TYPES.contains(&&*named.name);
    let text = format!("column \"{column}\" has pseudo-type {}", verso_parser::quoted(&named.name));
    is_known.then(|| SqlError::new("42P16", text))
}

/// Whether each row of a table has something of that name beside its columns.
pub(super) fn is_system_name(column: &str) -> bool {
    ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"].contains(&column)
}

/// Refuses a column of a table that is called as what each row has beside its columns.
pub(super) fn refuse_system_name(column: &str) -> Result<(), SqlError> {
    if is_system_name(column) {
        let text = format!("column name \"{column}\" conflicts with a system column name");
        return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text));
    }
    Ok(())
}

/// Whether no stored value is of a type.
pub(super) fn is_pseudo(ty: &SqlType) -> bool {
    match ty {
        SqlType::Array(element) => is_pseudo(element),
        SqlType::Row(row) => row.of.is_none(),
        SqlType::Void | SqlType::Record | SqlType::Unknown => true,
        ty => is_polymorphic(ty),
    }
}

/// Refuses columns and fields of a type that no stored value has (42P16).
pub(super) fn refuse_pseudo(column: &str, ty: &SqlType) -> Result<(), SqlError> {
    if is_pseudo(ty) {
        let text = format!("column \"{column}\" has pseudo-type {}", ty.pg_name());
        return Err(SqlError::new("42P16", text));
    }
    Ok(())
}
