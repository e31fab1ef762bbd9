//! CREATE TYPE … AS (…), and ALTER TYPE of the fields of what it makes.

use std::sync::Arc;

use verso_catalog::{
    Catalog, CatalogError, ChangedField, NewComposite, Object, ObjectKind, TableDef, TypeDef, is_made_of,
};
use verso_types::{RowType, SqlType};

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

    /// Refuses to alter a composite type as a relation of this kind: their names are of one space.
    ///
    /// # Errors
    /// 42809 where the name means a composite type.
    pub(super) fn refuse_composite(&self, kind: ObjectKind, name: &QualifiedName) -> Result<(), SqlError> {
        if !self.is_composite(name) {
            return Ok(());
        }
        let name = &name.name.text;
        match kind {
            ObjectKind::Table | ObjectKind::Index => {
                let text = format!("\"{name}\" is a composite type");
                Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_hint("Use ALTER TYPE instead."))
            }
            kind => Err(CatalogError::WrongKind { kind, name: name.clone() }.into()),
        }
    }

    /// Whether a name that might be a relation's is that of a composite type.
    pub(super) fn is_composite(&self, name: &QualifiedName) -> bool {
        let (catalog, schema, text) = (self.frame.catalog, name.schema_text(), &*name.name.text);
        catalog.relation(schema, text).is_none()
            && catalog.type_named(schema, text).is_some_and(|ty| ty.ty.is_row())
    }

    pub(super) fn alter_fields(
        &self,
        name: &QualifiedName,
        changes: &[FieldChange],
        cascade: bool,
    ) -> Result<(), Failure> {
        let not_composite = || {
            let text = format!("\"{}\" is not a composite type", name.name.text);
            SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
        };
        let ty = match self.own_type(name) {
            Err(_) if self.is_row_type(name) => return Err(not_composite().into()),
            found => found?,
        };
        let SqlType::Row(row) = &ty.ty else { return Err(not_composite().into()) };
        let is_drop = |change: &FieldChange| matches!(change, FieldChange::Drop { .. });
        let comes_back = |name: &Name| {
            let is_it =
                |change: &FieldChange| matches!(change, FieldChange::Add(new, _) if new.text == name.text);
            changes.iter().any(is_it)
        };
        // Values find their fields by name, so what goes is gone before another one of its name comes.
        if changes.iter().any(|change| matches!(change, FieldChange::Drop { name, .. } if comes_back(name))) {
            let (drops, others): (Vec<_>, Vec<_>) = changes.iter().cloned().partition(is_drop);
            for part in [drops, others] {
                self.frame.inside(|frame| Schema { frame }.alter_fields(name, &part, cascade))?;
            }
            return Ok(());
        }
        let typed = self.typed_tables(&ty, cascade)?;
        let known = fields_of(&ty, row);
        let mut fields = known.clone();
        // As in PostgreSQL, what goes is a field that was there before.
        let goes = |change: &&FieldChange| matches!(change, FieldChange::Drop { .. });
        for change in changes.iter().filter(goes).chain(changes.iter().filter(|change| !goes(change))) {
            self.change_field(&ty.name, &mut fields, change)?;
        }
        if fields == known {
            return Ok(());
        }
        let renames = changes.iter().any(|change| matches!(change, FieldChange::Rename(..)));
        let holders = self.holders_of(&ty)?;
        self.refuse_of_earlier_releases(&ty)?;
        for change in changes {
            if let FieldChange::Drop { name: field, .. } | FieldChange::Rename(field, _) = change {
                let what = format!("attribute {} of type {}", field.text, ty.name);
                self.refuse_field_in_use(&holders, ty.oid, &field.text, &what)?;
            }
        }
        self.write_fields(&ty, &fields, cascade)?;
        // The values of a field that has another name only stand where they stood.
        if !renames {
            self.reshape_all(&holders)?;
        }
        typed.iter().try_for_each(|table| self.alter_typed(table, changes))
    }

    /// Gives a composite type these fields, and tells what goes along.
    fn write_fields(&self, ty: &TypeDef, fields: &[ChangedField], cascade: bool) -> Result<(), Failure> {
        let stays = |id: &u16| fields.iter().any(|field| field.id == Some(*id));
        let gone: Vec<u16> = ty.fields.iter().copied().filter(|id| !stays(id)).collect();
        if cascade {
            self.tell_along(&Catalog::along_with_fields(self.frame.catalog, ty.oid, &gone));
            for (table, column) in Catalog::generated_of_fields(self.frame.catalog, ty.oid, &gone) {
                self.drop_column(&table.schema, &table.name, &column)?;
            }
        }
        let catalog = &self.frame.services.instance.catalog;
        Ok(catalog.alter_composite(&mut self.frame.txn.borrow_mut(), ty, fields, cascade)?)
    }

    /// Takes all but these fields away from a composite type, and from the values of columns.
    pub(super) fn keep_fields(&self, ty: &TypeDef, kept: &[(Arc<str>, SqlType)]) -> Result<(), Failure> {
        let SqlType::Row(row) = &ty.ty else { return Ok(()) };
        let holders = self.holders_of(ty)?;
        let is_kept = |name: &Arc<str>| kept.iter().any(|(kept, _)| kept == name);
        let mut fields = fields_of(ty, row);
        for field in fields.iter().filter(|field| !is_kept(&field.name)) {
            let what = format!("attribute {} of type {}", field.name, ty.name);
            self.refuse_field_in_use(&holders, ty.oid, &field.name, &what)?;
        }
        fields.retain(|field| is_kept(&field.name));
        self.write_fields(ty, &fields, true)?;
        self.reshape_all(&holders)
    }

    /// Refuses to change a composite type whose rows are in the query of a view that does not know which fields there were: earlier
    /// releases did not note them.
    fn refuse_of_earlier_releases(&self, ty: &TypeDef) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let binder = Binder::new(catalog, &self.frame.services.settings.time_zone, &[]);
        for view in catalog.all_views().filter(|view| !view.query.names(ty.oid)) {
            let Ok(uses) = binder.fields_used_by(&view) else { continue };
            if uses.iter().any(|(of, _)| *of == ty.oid) {
                let text = format!("cannot alter type \"{}\" because view {} uses it", ty.name, view.name);
                let error = SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
                    .with_detail(
                        "The view was made by an earlier release, which did not note the attributes.",
                    )
                    .with_hint("Give the view its query again with CREATE OR REPLACE VIEW.");
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// The tables with rows of their own that have columns of a composite type, or of what is made of it.
    fn holders_of(&self, ty: &TypeDef) -> Result<Vec<Arc<TableDef>>, SqlError> {
        let catalog = self.frame.catalog;
        let ranges = |one: &&Arc<TypeDef>| matches!(one.ty, SqlType::Range(_)) && is_made_of(&one.ty, ty.oid);
        let naming = catalog.naming(ty.oid);
        if let Some(range) = naming.types().find(ranges) {
            let text =
                format!("cannot alter type \"{}\" because type {} is a range of it", ty.name, range.name);
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        let holds = |table: &&Arc<TableDef>| {
            table.partitioned.is_none()
                && table.columns.iter().any(|column| is_made_of(column.declared(), ty.oid))
        };
        Ok(naming.tables().filter(holds).cloned().collect())
    }

    fn change_field(
        &self,
        of: &str,
        fields: &mut Vec<ChangedField>,
        change: &FieldChange,
    ) -> Result<(), SqlError> {
        let place =
            |fields: &[ChangedField], name: &Name| fields.iter().position(|field| *field.name == *name.text);
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
            FieldChange::Add(name, ty) => {
                fields.push(ChangedField { id: None, name: text(name), ty: self.field_type(name, ty)? });
            }
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
                fields[at].ty = self.field_type(name, ty)?;
            }
            FieldChange::Rename(from, to) => {
                let at = place(fields, from).ok_or_else(|| missing(from))?;
                if place(fields, to).is_some() {
                    return Err(taken(to));
                }
                fields[at].name = text(to);
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

/// The fields that a composite type has.
fn fields_of(ty: &TypeDef, row: &RowType) -> Vec<ChangedField> {
    let field = |((name, ty), id): ((&Arc<str>, &SqlType), &u16)| ChangedField {
        id: Some(*id),
        name: Arc::clone(name),
        ty: ty.clone(),
    };
    row.as_written().zip(&ty.fields).map(field).collect()
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
