//! CREATE TYPE, ALTER TYPE, DROP TYPE.
//!
//! T1. A label keeps its place when others are added ([`EnumType`]), so nothing that is stored changes with its type.
//! T2. Who makes, changes or drops a type has its name locked to the end of the transaction, and sees the newest catalog;
//!     what is made meanwhile with the type in it fails if the type goes (`Conflict`: the statement begins anew).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;
use verso_types::enum_type::NewPlace;
use verso_types::{EnumLabel, EnumType, OwnRange, RangeName, RangeType, SqlType};

use super::claim::{NameOf, Taking};
use super::needing::{Lost, Needing, named, shown_type};
use super::{refuse_if_needed, target_schema};
use crate::catalog::Catalog;
use crate::definition::{FunctionDef, FunctionReturn, Oid, SchemaDef, TableDef, TypeDef};
use crate::error::{CatalogError, ObjectKind};
use crate::extensions::extension_of_type;
use crate::request::{NewEnum, NewRange};
use crate::snapshot::{CatalogSnapshot, Naming};
use crate::system::field::Name;
use crate::system::row::{AttributeRow, DomainRow, EnumRow, ProcRow, RangeRow, TypeRow};
use crate::system::types::{enum_rows, label_row, range_rows};

/// Greatest length of a name, in bytes.
const NAME_MAX: usize = 63;

impl Catalog {
    /// Makes an enum type.
    ///
    /// # Errors
    /// `Exists`, `Missing` (the schema), `SystemObject`, `InvalidDefinition` (42602: a label that is too long, 23505: one that
    /// comes twice); storage's.
    pub fn create_enum(&self, txn: &mut Txn, new: &NewEnum) -> Result<Oid, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&new.schema))?;
        new.labels.iter().try_for_each(|label| check_label(label))?;
        self.hold_schema(txn, &schema)?;
        self.take_type_name(txn, &snapshot, &schema, (&new.name, Taking::Type))?;
        // As in PostgreSQL the array has the smaller number.
        let (array, oid) = (self.new_oid()?, self.new_oid()?);
        let mut labels: Vec<EnumLabel> = Vec::new();
        for (index, name) in new.labels.iter().enumerate() {
            if new.labels[..index].contains(name) {
                return Err(duplicate_label(oid, name));
            }
            let place = EnumType::initial_place(index);
            labels.push(EnumLabel { oid: self.new_oid()?.0, place, name: Arc::clone(name) });
        }
        let ty = EnumType {
            oid: oid.0,
            array: array.0,
            schema: Arc::clone(&schema.name),
            name: Arc::clone(&new.name),
            labels,
        };
        let (types, labels) = enum_rows(&ty, &array_name(&new.name), schema.oid);
        self.makes(txn, oid)?;
        self.change(txn, |txn| {
            self.insert_rows(txn, &types)?;
            self.insert_rows(txn, &labels)
        })?;
        Ok(oid)
    }

    /// Makes a range type with its multirange type; the functions that make values of them are the caller's to make.
    ///
    /// # Errors
    /// `Exists`, `Missing` (a schema), `SystemObject`; storage's.
    pub fn create_range(&self, txn: &mut Txn, new: &NewRange) -> Result<Arc<OwnRange>, CatalogError> {
        super::composite::check_depth(&new.subtype)?;
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&new.schema))?;
        let multi_schema = target_schema(&snapshot, Some(&new.multirange.0))?;
        self.hold_schema(txn, &schema)?;
        self.hold_schema(txn, &multi_schema)?;
        self.hold_types(txn, &snapshot, &schema.name, [&new.subtype])?;
        self.take_type_name(txn, &snapshot, &schema, (&new.name, Taking::Type))?;
        if (&schema.name, &new.name) == (&multi_schema.name, &new.multirange.1) {
            return Err(CatalogError::exists(ObjectKind::Type, &*new.name));
        }
        self.take_type_name(txn, &snapshot, &multi_schema, (&new.multirange.1, Taking::Type))?;
        let named = |schema: &SchemaDef, name: &Arc<str>| {
            let (array, oid) = (self.new_oid()?, self.new_oid()?);
            let (schema, name) = (Arc::clone(&schema.name), Arc::clone(name));
            Ok::<_, CatalogError>(RangeName { oid: oid.0, array: array.0, schema, name })
        };
        let range = named(&schema, &new.name)?;
        let multirange = named(&multi_schema, &new.multirange.1)?;
        let own = OwnRange { range, multirange, subtype: new.subtype.clone() };
        let arrays = [array_name(&new.name), array_name(&new.multirange.1)];
        let (types, of) = range_rows(&own, [&arrays[0], &arrays[1]], [schema.oid, multi_schema.oid]);
        self.makes(txn, Oid(own.range.oid))?;
        self.makes(txn, Oid(own.multirange.oid))?;
        self.change(txn, |txn| {
            self.insert_rows(txn, &types)?;
            self.insert_rows(txn, std::slice::from_ref(&of))
        })?;
        Ok(Arc::new(own))
    }

    /// Adds a label to an enum type, and returns its number; none if it is there and `if_not_exists` allows it.
    ///
    /// # Errors
    /// `InvalidDefinition` (42710: it is there, 22023: there is no such neighbour, 54000: no place is left); storage's.
    pub fn add_label(
        &self,
        txn: &mut Txn,
        ty: &EnumType,
        label: &Arc<str>,
        at: NewPlace<'_>,
        if_not_exists: bool,
    ) -> Result<Option<Oid>, CatalogError> {
        check_label(label)?;
        self.lock_type(txn, ty)?;
        if ty.label(label).is_some() {
            let text = format!("enum label \"{label}\" already exists");
            return if if_not_exists { Ok(None) } else { Err(CatalogError::invalid("42710", text)) };
        }
        if let NewPlace::Before(neighbour) | NewPlace::After(neighbour) = at
            && ty.label(neighbour).is_none()
        {
            return Err(no_label(neighbour));
        }
        let Some(place) = ty.new_place(at) else {
            let text = format!("no room for another enum label beside \"{label}\"");
            return Err(CatalogError::invalid("54000", text));
        };
        let label = EnumLabel { oid: self.new_oid()?.0, place, name: Arc::clone(label) };
        let row = label_row(Oid(ty.oid), &label);
        self.change(txn, |txn| self.insert_rows(txn, std::slice::from_ref(&row)))?;
        Ok(Some(Oid(label.oid)))
    }

    /// Gives a label another name, in the bounds of partitions, too. Other texts that name it are the caller's to look for
    /// ([`label_holders`](crate::label_holders)).
    ///
    /// # Errors
    /// `InvalidDefinition` (22023: there is no such label, 42710: the new name is one); storage's.
    pub fn rename_label(
        &self,
        txn: &mut Txn,
        ty: &EnumType,
        from: &str,
        to: &Arc<str>,
    ) -> Result<(), CatalogError> {
        check_label(to)?;
        self.lock_type(txn, ty)?;
        let snapshot = self.snapshot(txn)?;
        // Nobody makes a text that names it meanwhile.
        self.lock_made(txn, &snapshot, Oid(ty.oid))?;
        let Some(known) = ty.label(from) else { return Err(no_label(from)) };
        if ty.label(to).is_some() {
            return Err(CatalogError::invalid("42710", format!("enum label \"{to}\" already exists")));
        }
        self.change(txn, |txn| {
            let is_it = |row: &EnumRow| row.oid.0 == known.oid;
            self.update_rows(txn, Oid(ty.oid), is_it, |row| row.enumlabel = Name(Arc::clone(to)))?;
            self.rename_in_bounds(txn, &snapshot, ty, (from, to))
        })
    }

    /// Gives a type another name, or moves it to another schema; its array goes along.
    ///
    /// # Errors
    /// `Exists`, `Missing`, `SystemObject`; storage's.
    pub fn move_type(
        &self,
        txn: &mut Txn,
        ty: &TypeDef,
        schema: Option<&str>,
        name: &Arc<str>,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        refuse_of_extension(&snapshot, ty, false)?;
        let schema: Arc<str> = schema.map_or_else(|| Arc::clone(&ty.schema), Arc::from);
        let schema = target_schema(&snapshot, Some(&schema))?;
        if schema.name == ty.schema && *name == ty.name {
            let same = CatalogError::exists(ObjectKind::Type, &**name);
            return if snapshot.type_named(Some(&schema.name), name).is_some() { Err(same) } else { Ok(()) };
        }
        self.hold_schema(txn, &schema)?;
        self.lock_name(txn, NameOf::Type, [&ty.schema, &ty.name])?;
        self.take_type_name(txn, &snapshot, &schema, (name, Taking::of_type(&ty.ty)))?;
        self.check_same(txn, &snapshot, [ty.oid])?;
        self.change(txn, |txn| {
            let own = |row: &TypeRow| row.oid == ty.oid;
            self.update_rows(txn, ty.oid, own, |row| {
                row.typname = Name(Arc::clone(name));
                row.typnamespace = schema.oid;
            })?;
            let its_array = |row: &TypeRow| row.oid == ty.array;
            self.update_rows(txn, ty.array, its_array, |row| {
                row.typname = Name(array_name(name));
                row.typnamespace = schema.oid;
            })?;
            self.removes(txn, ty.oid)
        })
    }

    /// Drops types; with `cascade` also the functions and views that need them. Columns of these types are the caller's to
    /// drop first ([`TypeUses`]), as that copies rows.
    ///
    /// # Errors
    /// `Needed`; storage's.
    pub fn drop_types(
        &self,
        txn: &mut Txn,
        types: &[Arc<TypeDef>],
        cascade: bool,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        for ty in types {
            refuse_of_extension(&snapshot, ty, true)?;
            let mut uses = TypeUses::of(&snapshot, ty);
            // What goes itself does not keep what it is made of.
            let goes = |oid: &Oid| types.iter().any(|ty| ty.oid == *oid);
            uses.domains.retain(|domain| !goes(domain));
            uses.fields.retain(|(ty, _)| !goes(ty));
            let along = uses.domains.is_empty() && uses.fields.is_empty();
            let held = !(uses.columns.is_empty() && uses.tables.is_empty() && uses.whole.is_empty());
            if held || !along || !cascade {
                refuse_if_needed(format!("type {}", shown_type(&snapshot, ty)), uses.lines(&snapshot, ty))?;
            }
            self.lock_name(txn, NameOf::Type, [&ty.schema, &ty.name])?;
            let needing = uses.needing(&snapshot, ty);
            if !(needing.is_empty() && uses.functions.is_empty() && uses.constructors.is_empty()) {
                // What goes along is needed by others in turn.
                self.check_newest(txn, &snapshot)?;
            }
            self.change(txn, |txn| {
                self.remove_users(txn, &snapshot, &uses, ty)?;
                self.remove_type(txn, &snapshot, ty)
            })?;
        }
        Ok(())
    }

    /// Removes the functions, views and the like that need a type; the change has begun.
    pub(super) fn remove_users(
        &self,
        txn: &mut Txn,
        seen: &CatalogSnapshot,
        uses: &TypeUses,
        ty: &TypeDef,
    ) -> Result<(), CatalogError> {
        self.remove_needing(txn, seen, &uses.needing(seen, ty))?;
        let gone: BTreeSet<Oid> = uses.functions.iter().chain(&uses.constructors).copied().collect();
        self.remove_objects(txn, &gone, |row: &ProcRow| gone.contains(&row.oid)).map(drop)
    }

    /// Removes the rows of a type of which nothing that stays is made in `seen` (L4); the change has begun.
    pub(super) fn remove_type(
        &self,
        txn: &mut Txn,
        seen: &CatalogSnapshot,
        ty: &TypeDef,
    ) -> Result<(), CatalogError> {
        self.lock_made(txn, seen, ty.oid)?;
        let gone =
            self.remove_objects(txn, ty.oid, |row: &TypeRow| row.oid == ty.oid || row.oid == ty.array)?;
        if gone.is_empty() {
            return Err(CatalogError::missing(ObjectKind::Type, &*ty.name));
        }
        self.removes(txn, ty.oid)?;
        self.delete_rows(txn, ty.oid, |row: &EnumRow| row.enumtypid == ty.oid)?;
        self.delete_rows(txn, ty.oid, |row: &DomainRow| row.oid == ty.oid)?;
        if let SqlType::Domain(domain) = &ty.ty {
            self.remove_hanging(txn, &super::domains::constraint_numbers(domain))?;
        }
        if let SqlType::Range(of) = &ty.ty
            && let Some(multi) = of.own_name(true)
        {
            self.lock_made(txn, seen, Oid(multi.oid))?;
            self.delete_rows(txn, ty.oid, |row: &RangeRow| row.rngtypid == ty.oid)?;
            let (multi, array) = (Oid(multi.oid), Oid(multi.array));
            self.remove_objects(txn, multi, |row: &TypeRow| row.oid == multi || row.oid == array)?;
            self.removes(txn, multi)?;
        }
        self.remove_collated(txn, ty.oid)?;
        let is_damaged = seen.is_damaged(ty.oid);
        if ty.ty.is_row() || is_damaged {
            self.delete_rows(txn, ty.oid, |row: &AttributeRow| row.attrelid == ty.oid)?;
        }
        // It may have been a range type.
        if is_damaged {
            for range in self.delete_rows(txn, ty.oid, |row: &RangeRow| row.rngtypid == ty.oid)? {
                let multi = range.rngmultitypid;
                self.remove_objects(txn, multi, |row: &TypeRow| row.oid == multi || row.typelem == multi)?;
            }
        }
        Ok(())
    }

    /// Locks an enum type that changes, if it still is as it was seen (T2).
    fn lock_type(&self, txn: &mut Txn, ty: &EnumType) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        self.lock_name(txn, NameOf::Type, [&ty.schema, &ty.name])?;
        self.check_same(txn, &snapshot, [Oid(ty.oid)])
    }

    /// Takes the name of a type for a new one, or for one that comes there.
    pub(super) fn take_type_name(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        schema: &SchemaDef,
        (name, of): (&str, Taking),
    ) -> Result<(), CatalogError> {
        let exists = |kind: ObjectKind| Err(CatalogError::exists(kind, name));
        let relation = snapshot.relation(Some(&schema.name), name);
        // A table or view has a type of its name.
        let has_rows = relation.is_some_and(|one| Taking::of(Some(one)) == Taking::Both);
        if has_rows || snapshot.type_named(Some(&schema.name), name).is_some() {
            return exists(ObjectKind::Type);
        }
        let taken = if of == Taking::Type { ObjectKind::Type } else { ObjectKind::Relation };
        if of == Taking::Both && relation.is_some() || !self.take_name(txn, &schema.name, name, of)? {
            return exists(taken);
        }
        Ok(())
    }
}

/// What needs a type.
#[derive(Debug, PartialEq)]
pub struct TypeUses {
    /// Tables and the numbers of their columns.
    pub columns: Vec<(Oid, u16)>,
    /// Typed tables of it.
    pub tables: Vec<Oid>,
    /// Materialized views with columns of it, and tables that are divided by one: they go as a whole.
    pub whole: Vec<Oid>,
    /// Partitions of these that have columns of it.
    partitions: Vec<Oid>,
    pub(super) functions: Vec<Oid>,
    /// Functions that make values of it, a range type; they go with it.
    pub(super) constructors: Vec<Oid>,
    /// Domains and range types over it.
    pub domains: Vec<Oid>,
    /// Composite types that have fields of it, and the names of these.
    pub fields: Vec<(Oid, Arc<str>)>,
}

impl TypeUses {
    /// Columns, tables and functions of a type or its array.
    pub fn of(snapshot: &CatalogSnapshot, ty: &TypeDef) -> TypeUses {
        let uses = TypeUses::among(snapshot, &snapshot.naming(ty.oid), ty);
        #[cfg(debug_assertions)]
        assert_eq!(uses, TypeUses::among(snapshot, &snapshot.everything(), ty));
        uses
    }

    /// The same; these are the definitions that name the type.
    fn among(snapshot: &CatalogSnapshot, naming: &Naming<'_>, ty: &TypeDef) -> TypeUses {
        let is_it = |used: &SqlType| uses(used, ty.oid);
        let (mut columns, mut whole) = (Vec::new(), Vec::new());
        for table in naming.tables() {
            let using = || table.columns.iter().filter(|column| is_it(column.declared()));
            let divided = table.divided_by();
            if using().any(|column| table.materialized.is_some() || divided.contains(&column.id)) {
                whole.push(table.oid);
            }
            columns.extend(using().map(|column| (table.oid, column.id)));
        }
        // Partitions go with their tables.
        let goes =
            |table: &Oid| snapshot.table_by_oid(*table).is_some_and(|it| is_below(snapshot, &it, &whole));
        let tables = columns.iter().map(|(table, _)| *table);
        let partitions: Vec<Oid> = tables.filter(goes).collect();
        whole.retain(|table| !partitions.contains(table));
        let typed = naming.tables().filter(|table| table.of_type() == Some(ty.oid));
        let tables = typed.map(|table| table.oid).collect();
        let (constructors, functions): (Vec<_>, Vec<_>) = naming
            .functions()
            .filter(|function| {
                let result = match &function.returns {
                    FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => is_it(ty),
                    FunctionReturn::Table(columns) => columns.iter().any(|(_, ty)| is_it(ty)),
                    FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => false,
                };
                result || function.args.iter().any(|arg| is_it(&arg.ty))
            })
            .partition(|function| function.is_range_constructor() && function.makes(&ty.ty));
        let over = |one: &&Arc<TypeDef>| match &one.ty {
            SqlType::Domain(domain) => is_it(&domain.base),
            SqlType::Range(RangeType::Own(own)) => !is_it(&one.ty) && is_it(&own.subtype),
            _ => false,
        };
        let domains = naming.types().filter(over).map(|one| one.oid).collect();
        let mut fields = Vec::new();
        for one in naming.types() {
            let SqlType::Row(row) = &one.ty else { continue };
            let its = row.as_declared().filter(|(_, ty)| is_it(ty));
            fields.extend(its.map(|(name, _)| (one.oid, Arc::clone(name))));
        }
        let oids =
            |functions: Vec<&Arc<FunctionDef>>| functions.iter().map(|function| function.oid).collect();
        let (functions, constructors) = (oids(functions), oids(constructors));
        TypeUses { columns, tables, whole, partitions, functions, constructors, domains, fields }
    }

    /// Whether rows, or values of other types, are made of it.
    pub(super) fn is_made_of(&self) -> bool {
        !(self.columns.is_empty()
            && self.tables.is_empty()
            && self.whole.is_empty()
            && self.domains.is_empty()
            && self.fields.is_empty())
    }

    /// The columns of tables that do not go as a whole.
    pub fn single_columns(&self) -> impl Iterator<Item = &(Oid, u16)> {
        self.columns
            .iter()
            .filter(|(table, _)| !self.whole.contains(table) && !self.partitions.contains(table))
    }

    /// The tables that go as a whole.
    pub(super) fn all_of_tables(self) -> impl Iterator<Item = Oid> {
        self.tables.into_iter().chain(self.whole)
    }

    /// The views that need the type, its columns or its functions.
    fn needing(&self, snapshot: &CatalogSnapshot, ty: &TypeDef) -> Needing {
        let mut lost = vec![Lost::Type(ty.oid)];
        lost.extend(self.columns.iter().map(|(table, column)| Lost::Column(*table, *column)));
        lost.extend(self.whole.iter().map(|table| Lost::Relation(*table)));
        let functions = self.functions.iter().chain(&self.constructors);
        lost.extend(functions.map(|function| Lost::Function(*function)));
        Needing::of(snapshot, &lost)
    }

    /// What goes along under CASCADE, in PostgreSQL's words.
    pub fn names(&self, snapshot: &CatalogSnapshot, ty: &TypeDef) -> Vec<String> {
        let mut names: Vec<String> = self.own(snapshot).into_iter().map(|(name, _)| name).collect();
        names.extend(self.needing(snapshot, ty).names(snapshot));
        names
    }

    /// What needs the type by itself, in PostgreSQL's words and order, and whether it needs the array.
    fn own(&self, snapshot: &CatalogSnapshot) -> Vec<(String, bool)> {
        let is_array = |table: Oid, column: u16| {
            let table = snapshot.table_by_oid(table);
            let at = table.as_ref().and_then(|table| table.column_with_id(column));
            table.zip(at).is_some_and(|(table, at)| matches!(table.columns[at].declared(), SqlType::Array(_)))
        };
        // Of a table's columns the last one is told first.
        let column = |(table, column): &(Oid, u16)| {
            let name = named(snapshot, Lost::Column(*table, *column));
            ((*table, Reverse(*column)), (name, is_array(*table, *column)))
        };
        let whole = |lost: Lost, oid: Oid| ((oid, Reverse(0)), (named(snapshot, lost), false));
        let tables = self.tables.iter().chain(&self.whole);
        let tables = tables.map(|oid| whole(Lost::Relation(*oid), *oid));
        let functions = self.functions.iter().map(|oid| whole(Lost::Function(*oid), *oid));
        let domains = self.domains.iter().map(|oid| whole(Lost::Type(*oid), *oid));
        let field = |(oid, name): &(Oid, Arc<str>)| {
            let ty = snapshot.user_type(*oid).map(|ty| shown_type(snapshot, ty)).unwrap_or_default();
            ((*oid, Reverse(0)), (format!("column {name} of composite type {ty}"), false))
        };
        let all = self.single_columns().map(column).chain(tables).chain(functions).chain(domains);
        let mut all: Vec<_> = all.chain(self.fields.iter().map(field)).collect();
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, one)| one).collect()
    }

    /// Who needs what, as DETAIL lines.
    pub(super) fn lines(&self, snapshot: &CatalogSnapshot, ty: &TypeDef) -> Vec<String> {
        let own = self.with_types(snapshot, ty);
        let mut lines: Vec<String> =
            own.into_iter().map(|(one, ty)| format!("{one} depends on type {ty}")).collect();
        lines.extend(self.needing(snapshot, ty).lines(snapshot));
        lines
    }

    /// What needs the type, and whether that or its array.
    pub(super) fn with_types(&self, snapshot: &CatalogSnapshot, ty: &TypeDef) -> Vec<(String, String)> {
        let name = shown_type(snapshot, ty);
        let typed = |(one, array): (String, bool)| (one, format!("{name}{}", if array { "[]" } else { "" }));
        self.own(snapshot).into_iter().map(typed).collect()
    }
}

/// Is it a partition of one of these tables, at whatever depth?
fn is_below(snapshot: &CatalogSnapshot, table: &TableDef, tables: &[Oid]) -> bool {
    let mut parent = table.partition_of.as_ref().map(|of| of.parent);
    while let Some(oid) = parent {
        if tables.contains(&oid) {
            return true;
        }
        let table = snapshot.table_by_oid(oid);
        parent = table.and_then(|table| table.partition_of.as_ref().map(|of| of.parent));
    }
    false
}

/// Is a type this one, or made of it?
pub(super) fn uses(used: &SqlType, oid: Oid) -> bool {
    match used {
        SqlType::Array(element) => uses(element, oid),
        SqlType::Enum(ty) => ty.oid == oid.0,
        SqlType::Domain(domain) => domain.oid == oid.0,
        SqlType::Range(RangeType::Own(own)) | SqlType::Multirange(RangeType::Own(own)) => {
            [own.range.oid, own.multirange.oid].contains(&oid.0)
        }
        SqlType::Collated(collated) => uses(&collated.base, oid),
        SqlType::Row(row) => row.of.as_ref().is_some_and(|of| of.oid == oid.0),
        SqlType::System(system) => system.is_of_extension() && system.pg_oid() == oid.0,
        _ => false,
    }
}

/// Refuses what types of extensions are not there for: they come, move and go with these.
fn refuse_of_extension(snapshot: &CatalogSnapshot, ty: &TypeDef, drops: bool) -> Result<(), CatalogError> {
    if !ty.is_of_extension() {
        return Ok(());
    }
    let (shown, extension) = (shown_type(snapshot, ty), extension_of_type(&ty.ty).unwrap_or_default());
    Err(match drops {
        true => {
            let text = format!("cannot drop type {shown} because extension {extension} requires it");
            CatalogError::invalid("2BP01", text)
        }
        false => CatalogError::invalid("0A000", format!("ALTER TYPE of {shown}, a type of an extension")),
    })
}

/// The name of a type's array.
pub(super) fn array_name(name: &str) -> Arc<str> {
    let end = name.floor_char_boundary(NAME_MAX - 1);
    format!("_{}", &name[..end]).into()
}

fn check_label(label: &str) -> Result<(), CatalogError> {
    if label.len() > NAME_MAX {
        let text = format!("invalid enum label \"{label}\"");
        let detail = Some(format!("Labels must be {NAME_MAX} bytes or less."));
        return Err(CatalogError::InvalidDefinition { sqlstate: "42602", message: text, detail, hint: None });
    }
    Ok(())
}

fn no_label(label: &str) -> CatalogError {
    CatalogError::invalid("22023", format!("\"{label}\" is not an existing enum label"))
}

fn duplicate_label(ty: Oid, label: &str) -> CatalogError {
    let message = "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"".to_string();
    let detail = Some(format!("Key (enumtypid, enumlabel)=({ty}, {label}) already exists."));
    CatalogError::InvalidDefinition { sqlstate: "23505", message, detail, hint: None }
}
