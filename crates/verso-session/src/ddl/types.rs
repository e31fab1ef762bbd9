//! CREATE TYPE, ALTER TYPE, DROP TYPE.

use std::sync::Arc;

use verso_catalog::{
    CatalogError, CatalogSnapshot, Lost, NewEnum, Object, ObjectKind, Oid, Rights, TableChange, TableDef,
    TypeDef, TypeUses, in_words, label_holders,
};
use verso_types::enum_type::{EnumType, NewPlace};
use verso_types::{RangeName, SqlType, TypeError};

use super::domains::not_a_domain;
use super::{Schema, text};
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use crate::frame::Frame;
use verso_parser::syntax::{AlterAction, AlterTable, LabelPlace, Name, QualifiedName, Span, TypeStatement};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

/// The name and type of a field.
type Field = (Arc<str>, SqlType);

impl Schema<'_> {
    /// Runs a statement about types.
    pub(super) fn type_statement(&self, statement: &TypeStatement) -> Result<CommandTag, Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let txn = &self.frame.txn;
        match statement {
            TypeStatement::CreateEnum { name, labels } => {
                let new = NewEnum {
                    schema: self.place(name)?,
                    name: text(&name.name),
                    labels: labels.iter().map(|label| label.as_str().into()).collect(),
                };
                let oid = catalog.create_enum(&mut txn.borrow_mut(), &new)?;
                self.made(Object::Type(oid), Some(&new.schema))?;
                self.frame.services.new_labels.note_type(oid.0);
                return Ok(tag("CREATE TYPE"));
            }
            TypeStatement::CreateComposite { name, fields } => {
                self.create_composite(name, fields)?;
                return Ok(tag("CREATE TYPE"));
            }
            TypeStatement::CreateRange { name, options } => {
                self.create_range(name, options)?;
                return Ok(tag("CREATE TYPE"));
            }
            TypeStatement::AlterFields { name, changes, cascade } => {
                self.alter_fields(name, changes, *cascade)?;
            }
            TypeStatement::AddValue { name, label, if_not_exists, place } => {
                let ty = self.enum_type(name)?;
                let place = match place {
                    LabelPlace::Last => NewPlace::Last,
                    LabelPlace::Before(label) => NewPlace::Before(label),
                    LabelPlace::After(label) => NewPlace::After(label),
                };
                let new = Arc::from(label.as_str());
                let added = catalog.add_label(&mut txn.borrow_mut(), &ty, &new, place, *if_not_exists)?;
                match added {
                    Some(label) => self.frame.services.new_labels.note(ty.oid, label.0),
                    None => {
                        let text = format!("enum label \"{label}\" already exists, skipping");
                        self.skip_known(sqlstate::DUPLICATE_OBJECT, text);
                    }
                }
            }
            TypeStatement::RenameValue { name, from, to } => {
                let ty = self.enum_type(name)?;
                let defaults = self.defaults_naming(name, from, to)?;
                catalog.rename_label(&mut txn.borrow_mut(), &ty, from, &Arc::from(to.as_str()))?;
                for (table, change) in defaults {
                    let txn = &mut txn.borrow_mut();
                    catalog.alter_table(txn, Some(&table.schema), &table.name, &change)?;
                }
            }
            TypeStatement::Collation(statement) => return self.collation_statement(statement),
            TypeStatement::Statistics(statement) => return self.statistics_statement(statement),
            TypeStatement::Operator(statement) => return self.operator_statement(statement),
            TypeStatement::Cast(statement) => return self.cast_statement(statement),
            TypeStatement::Extension(statement) => return self.extension_statement(statement),
            TypeStatement::DropAbsent(drop) => return self.drop_absent(drop),
            TypeStatement::CreateDomain(create) => {
                self.create_domain(create)?;
                return Ok(tag("CREATE DOMAIN"));
            }
            TypeStatement::AlterDomain { name, action } => {
                self.alter_domain(name, action)?;
                return Ok(tag("ALTER DOMAIN"));
            }
            TypeStatement::Rename { name, domain, to } => {
                let ty = self.own_type_of(name, *domain)?;
                catalog.move_type(&mut txn.borrow_mut(), &ty, None, &text(to))?;
            }
            TypeStatement::Move { name, domain, to } => {
                let ty = self.own_type_of(name, *domain)?;
                self.may_create_in(&to.text)?;
                if *ty.schema != *to.text {
                    catalog.move_type(&mut txn.borrow_mut(), &ty, Some(&to.text), &ty.name)?;
                }
            }
            TypeStatement::Drop { names, domain, if_exists, cascade } => {
                self.drop_types(names, *domain, *if_exists, *cascade)?;
                return Ok(tag(if *domain { "DROP DOMAIN" } else { "DROP TYPE" }));
            }
        }
        let of_domain = matches!(
            statement,
            TypeStatement::Rename { domain: true, .. } | TypeStatement::Move { domain: true, .. }
        );
        Ok(tag(if of_domain { "ALTER DOMAIN" } else { "ALTER TYPE" }))
    }

    /// The defaults of columns of an enum type that are a label which gets another name, with that name: the catalog keeps
    /// them as text. What else it keeps as a text that may name the label has to go first.
    fn defaults_naming(
        &self,
        name: &QualifiedName,
        from: &str,
        to: &str,
    ) -> Result<Vec<(Arc<TableDef>, TableChange)>, SqlError> {
        let (catalog, ty) = (self.frame.catalog, self.user_type(name)?);
        let SqlType::Enum(known) = &ty.ty else { return Ok(Vec::new()) };
        let quoted = |label: &str| format!("'{}'", label.replace('\'', "''"));
        let label = quoted(from);
        let is_label = |default: &str| default == label || default.strip_prefix(&*label).is_some_and(is_cast);
        let mut changes = Vec::new();
        let mut followed = Vec::new();
        for (table, column) in TypeUses::of(catalog, &ty).columns {
            let Some(table) = catalog.table_by_oid(table) else { continue };
            let Some(at) = table.column_with_id(column) else { continue };
            let column = &table.columns[at];
            if !column.generated && !column.is_hidden() && column.default.as_deref().is_some_and(is_label) {
                let default = Some(quoted(to).into());
                let change = TableChange::Default { column: Arc::clone(&column.name), default };
                changes.push((Arc::clone(&table), change));
                followed.push((table.oid, column.id));
            }
        }
        let holders =
            label_holders(catalog, known, from, &|table, column| followed.contains(&(table, column)));
        if holders.is_empty() {
            return Ok(changes);
        }
        let lines: Vec<String> =
            holders.iter().map(|one| format!("{one} may name the label \"{from}\".")).collect();
        let error = SqlError::unsupported("renaming an enum label that other definitions name");
        let hint = "Drop what names it, rename the label, and make it again.";
        Err(error.with_detail(lines.join("\n")).with_hint(hint))
    }

    pub(super) fn drop_types(
        &self,
        names: &[QualifiedName],
        domain: bool,
        if_exists: bool,
        cascade: bool,
    ) -> Result<(), Failure> {
        let mut types: Vec<Arc<TypeDef>> = Vec::new();
        for name in names {
            match self.user_type(name) {
                Ok(found) if types.iter().any(|known| known.oid == found.oid) => {}
                Ok(found) if domain && !matches!(found.ty, SqlType::Domain(_)) => {
                    return Err(not_a_domain(&found.name).into());
                }
                Ok(found) if matches!(found.ty, SqlType::Multirange(_)) => {
                    let SqlType::Multirange(of) = &found.ty else { continue };
                    let range = of.own_name(false).map(RangeName::shown).unwrap_or_default();
                    let text = format!("cannot drop type {} because type {range} requires it", found.ty);
                    let error = SqlError::new("2BP01", text);
                    return Err(error.with_hint(format!("You can drop type {range} instead.")).into());
                }
                Ok(found) => {
                    self.own_to_drop(Object::Type(found.oid), &found.schema, "type", &found.name)?;
                    types.push(found);
                }
                // The standard's schema has types of its own only.
                Err(error)
                    if if_exists
                        && (error.sqlstate == sqlstate::INVALID_SCHEMA_NAME
                            || name.schema_text() == Some("information_schema")) =>
                {
                    self.skip(format!("{}, skipping", error.message));
                }
                Err(error)
                    if error.sqlstate == sqlstate::UNDEFINED_OBJECT
                        && let Some(required) = self.dropped_alone(name, domain) =>
                {
                    return Err(required.into());
                }
                Err(error) if if_exists && error.sqlstate == sqlstate::UNDEFINED_OBJECT => {
                    self.skip(format!("type \"{name}\" does not exist, skipping"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.drop_found_types(types, cascade, true)
    }

    /// Drops types; with `tells` CASCADE tells what goes along.
    pub(super) fn drop_found_types(
        &self,
        mut types: Vec<Arc<TypeDef>>,
        cascade: bool,
        tells: bool,
    ) -> Result<(), Failure> {
        if cascade {
            self.drop_uses_of_types(&mut types, tells)?;
        }
        // Domains before the types beneath them. The columns are gone by now: what is left is seen anew.
        if cascade {
            types.reverse();
        }
        self.frame.inside(|frame| {
            let catalog = &frame.services.instance.catalog;
            Ok(catalog.drop_types(&mut frame.txn.borrow_mut(), &types, cascade)?)
        })
    }

    /// Drops the tables, columns and fields that are of these types, and of domains over them, which come to the types; with `tells` CASCADE
    /// tells what goes along.
    pub(super) fn drop_uses_of_types(
        &self,
        types: &mut Vec<Arc<TypeDef>>,
        tells: bool,
    ) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let named = types.len();
        let mut next = 0;
        while let Some(ty) = types.get(next).cloned() {
            next += 1;
            for domain in TypeUses::of(catalog, &ty).domains {
                if let Some(domain) = catalog.user_type(domain)
                    && types.iter().all(|known| known.oid != domain.oid)
                {
                    types.push(Arc::clone(domain));
                }
            }
        }
        let uses: Vec<TypeUses> = types.iter().map(|ty| TypeUses::of(catalog, ty)).collect();
        let mut along: Vec<String> = Vec::new();
        for name in types.iter().zip(&uses).flat_map(|(ty, uses)| uses.names(catalog, ty)) {
            let own = types[..named].iter().any(|ty| name == in_words(catalog, Lost::Type(ty.oid)));
            if !own && !along.contains(&name) {
                along.push(name);
            }
        }
        for table in uses.iter().flat_map(|uses| uses.tables.iter().chain(&uses.whole)) {
            let held = self.drop_whole(*table)?;
            along.extend(held);
        }
        if tells {
            self.tell_along(&along);
        }
        for (table, column) in uses.iter().flat_map(|uses| &uses.columns) {
            let Some(table) = catalog.table_by_oid(*table) else { continue };
            // That of a partition goes with its table's.
            let own = table.partition_of.is_none();
            let Some(column) = table.column_with_id(*column).filter(|_| own) else { continue };
            self.drop_column(&table.schema, &table.name, &table.columns[column].name)?;
        }
        for (holder, fields) in fields_left(catalog, types) {
            self.frame.inside(|frame| Schema { frame }.keep_fields(&holder, &fields))?;
        }
        let lost: Vec<Lost> = types.iter().map(|ty| Lost::Type(ty.oid)).collect();
        self.frame.inside(|frame| Schema { frame }.drop_generated(&lost).map(drop))
    }

    pub(super) fn drop_column(&self, schema: &str, table: &str, column: &str) -> Result<(), Failure> {
        let name = |text: &str| Name { text: text.to_string(), at: Span::default() };
        let name_of_table = QualifiedName { schema: Some(name(schema)), name: name(table) };
        // It may have gone along with another one.
        let gone = |frame: &Frame<'_>| {
            let table = frame.catalog.table(Some(schema), table);
            Ok(table.is_none_or(|table| table.column(column).is_none()))
        };
        if self.frame.inside(gone)? {
            return Ok(());
        }
        let action = AlterAction::DropColumn { column: name(column), if_exists: false, cascade: true };
        let alter = AlterTable {
            name: name_of_table,
            if_exists: false,
            actions: vec![action],
            materialized: false,
            only: false,
        };
        self.frame.inside(|frame| Schema { frame }.alter_table_quietly(&alter).map(drop))
    }

    /// The type that a statement means.
    pub(super) fn data_type(&self, ty: &SqlType) -> Result<SqlType, SqlError> {
        Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]).data_type(ty)
    }

    /// Refuses a type that the role may not make things of.
    pub(super) fn may_use(&self, ty: &SqlType) -> Result<(), SqlError> {
        match ty {
            SqlType::Array(element) => self.may_use(element),
            SqlType::Collated(collated) => self.may_use(&collated.base),
            ty => match self.frame.catalog.user_type(Oid(ty.pg_oid())) {
                Some(known) => self.needs(Object::Type(known.oid), Rights::USAGE, "type", &known.name),
                // Of the system.
                None => {
                    let object = Object::Type(Oid(ty.pg_oid()));
                    self.needs(object, Rights::USAGE, "type", &ty.without_modifiers().pg_name())
                }
            },
        }
    }

    /// The user's type of that name.
    pub(super) fn user_type(&self, name: &QualifiedName) -> Result<Arc<TypeDef>, SqlError> {
        let catalog = self.frame.catalog;
        if let Some(found) = catalog.type_named(name.schema_text(), &name.name.text) {
            return Ok(Arc::clone(found));
        }
        if let Some(schema) = &name.schema
            && catalog.schema(&schema.text).is_none()
        {
            return Err(CatalogError::missing(ObjectKind::Schema, schema.text.as_str()).into());
        }
        match verso_parser::parse_type(&name.to_string()) {
            Ok(SqlType::Named(named)) => Err(TypeError::unknown_type(&named).into()),
            Ok(known) => {
                let text = format!(
                    "cannot drop type {} because it is required by the database system",
                    known.pg_name()
                );
                Err(SqlError::new("2BP01", text))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn own_type_of(&self, name: &QualifiedName, domain: bool) -> Result<Arc<TypeDef>, SqlError> {
        let ty = match self.own_type(name) {
            Err(error) if error.sqlstate == sqlstate::UNDEFINED_OBJECT => {
                return Err(self.altered_alone(name).unwrap_or(error));
            }
            found => found?,
        };
        match (domain, &ty.ty) {
            (false, _) | (_, SqlType::Domain(_)) => Ok(ty),
            _ => Err(not_a_domain(&ty.name)),
        }
    }

    pub(super) fn own_type(&self, name: &QualifiedName) -> Result<Arc<TypeDef>, SqlError> {
        let ty = self.user_type(name)?;
        self.own(Object::Type(ty.oid), "type", &ty.name)?;
        Ok(ty)
    }

    fn enum_type(&self, name: &QualifiedName) -> Result<Arc<EnumType>, SqlError> {
        let known = match self.own_type(name) {
            Err(_) if self.is_row_type(name) => {
                let text = format!("{name} is not an enum");
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
            }
            known => known?,
        };
        match &known.ty {
            SqlType::Enum(ty) => Ok(Arc::clone(ty)),
            other => {
                let text = format!("{other} is not an enum");
                Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text))
            }
        }
    }
}

/// Is it `::` and the name of a type?
fn is_cast(text: &str) -> bool {
    text.strip_prefix("::").is_some_and(|name| verso_parser::parse_type(name).is_ok())
}

/// The composite types that have fields of types that are to go, and the fields that they keep.
pub(super) fn fields_left(
    catalog: &CatalogSnapshot,
    going: &[Arc<TypeDef>],
) -> Vec<(Arc<TypeDef>, Vec<Field>)> {
    let mut left: Vec<(Arc<TypeDef>, Vec<Field>)> = Vec::new();
    for (holder, field) in going.iter().flat_map(|ty| TypeUses::of(catalog, ty).fields) {
        if going.iter().any(|ty| ty.oid == holder) {
            continue;
        }
        let at = left.iter().position(|(known, _)| known.oid == holder).or_else(|| {
            let holder = catalog.user_type(holder)?;
            let SqlType::Row(row) = &holder.ty else { return None };
            let fields = row.as_declared().map(|(name, ty)| (Arc::clone(name), ty.clone()));
            left.push((Arc::clone(holder), fields.collect()));
            Some(left.len() - 1)
        });
        if let Some(at) = at {
            left[at].1.retain(|(name, _)| *name != field);
        }
    }
    left
}
