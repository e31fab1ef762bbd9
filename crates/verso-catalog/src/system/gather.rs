//! The rows of which a version of the catalog is made: all of them, or those in which it may differ from another version.
//!
//! ```text
//! touched ─► what goes with it ─► rows of these objects ─► definitions, put over those of the other version
//! ```
//!
//! G1. What a definition is made of beside its own rows is followed from the one that has changed to those that it is in: from an
//!     index to its table, from a partition to all tables that it is divided with, from a sequence to the tables whose defaults are its next numbers, from a relation to the functions
//!     over its rows. Of types, collations and schemas that is not followed: where they change, all is read, unless it
//!     is a type that no definition names.
//! G2. What is read is what the view sees, whatever was touched: too much costs time only.

use std::collections::{BTreeSet, HashMap, HashSet};

use verso_storage::page::ObjectId;
use verso_storage::{StorageError, Txn};

use super::assemble::{CatalogRows, is_default_of_sequence};
use super::row::{
    AclRow, AttributeRow, AuthIdRow, AuthMemberRow, CastRow, ClassRow, CollatedRow, CollationRow,
    ConstraintRow, DbRoleSettingRow, DefaultAclRow, DefaultRow, DependRow, DescriptionRow, DomainRow,
    EnumRow, ExtensionRow, IndexRow, InheritsRow, NamespaceRow, OperatorRow, PartitionedRow, PolicyRow,
    ProcRow, RangeRow, RewriteRow, SequenceRow, StatisticExtRow, StatisticRow, SystemRow, TriggerRow,
    TypeRow,
};
use crate::catalog::Catalog;
use crate::definition::{FunctionDef, FunctionReturn, Oid};
use crate::error::CatalogError;
use crate::places::Place;
use crate::rights::Object;
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::versions::Touched;
use verso_types::{KeyType, SqlType, SystemType};

/// Every row, and where it is.
pub(crate) fn all(catalog: &Catalog, txn: &Txn) -> Result<CatalogRows, CatalogError> {
    let classes = catalog.read_all::<ClassRow>(txn)?;
    let attributes = catalog.read_all::<AttributeRow>(txn)?;
    let indexes = catalog.read_all::<IndexRow>(txn)?;
    Ok(CatalogRows {
        namespaces: catalog.read_all(txn)?,
        earlier: earlier(catalog, &classes, &attributes, &indexes)?,
        classes,
        attributes,
        defaults: catalog.read_all(txn)?,
        functions: catalog.read_all(txn)?,
        sequences: catalog.read_all(txn)?,
        depends: catalog.read_all(txn)?,
        indexes,
        constraints: catalog.read_all(txn)?,
        triggers: catalog.read_all(txn)?,
        rules: catalog.read_all(txn)?,
        descriptions: catalog.read_all(txn)?,
        statistics: catalog.read_all(txn)?,
        types: catalog.read_all(txn)?,
        labels: catalog.read_all(txn)?,
        domains: catalog.read_all(txn)?,
        ranges: catalog.read_all(txn)?,
        roles: Some((catalog.read_all(txn)?, catalog.read_all(txn)?)),
        acls: catalog.read_all(txn)?,
        default_acls: Some(catalog.read_all(txn)?),
        policies: catalog.read_all(txn)?,
        settings: Some(catalog.read_all(txn)?),
        collations: Some(catalog.read_all(txn)?),
        collated: catalog.read_all(txn)?,
        partitioned: catalog.read_all(txn)?,
        inherits: catalog.read_all(txn)?,
        extended: catalog.read_all(txn)?,
        extensions: Some(catalog.read_all(txn)?),
        operators: Some(catalog.read_all(txn)?),
        casts: Some(catalog.read_all(txn)?),
        collation_data: catalog.engine.options().collation_data,
    })
}

/// The rows of what may be otherwise than in `base` if this was touched, and what that is.
pub(crate) fn changed(
    catalog: &Catalog,
    txn: &Txn,
    base: &CatalogSnapshot,
    touched: &BTreeSet<Touched>,
) -> Result<(CatalogRows, BTreeSet<Oid>), CatalogError> {
    let object = |one: &Touched| if let Touched::Object(oid) = one { Some(*oid) } else { None };
    let objects: Vec<Oid> = touched.iter().filter_map(object).collect();
    let of = along(catalog, txn, base, objects)?;
    let is_touched = |table| touched.contains(&Touched::Table(table));
    let defaults: Vec<DefaultRow> = catalog.read_of(txn, &of)?;
    let mut needing = of.clone();
    needing.extend(defaults.iter().map(|default| default.oid));
    // The owner of the database is a member of a role.
    let roles = is_touched(AuthIdRow::TABLE.heap)
        || is_touched(AuthMemberRow::TABLE.heap)
        || of.contains(&Object::Database.key().1);
    let classes = catalog.read_of::<ClassRow>(txn, &of)?;
    let attributes = catalog.read_of::<AttributeRow>(txn, &of)?;
    let indexes = own(catalog.read_of::<IndexRow>(txn, &of)?, &of, |row| row.indrelid);
    let rows = CatalogRows {
        namespaces: catalog.read_of::<NamespaceRow>(txn, &of)?,
        earlier: earlier(catalog, &classes, &attributes, &indexes)?,
        classes,
        attributes,
        functions: catalog.read_of::<ProcRow>(txn, &of)?,
        sequences: catalog.read_of::<SequenceRow>(txn, &of)?,
        depends: catalog.read_of::<DependRow>(txn, &needing)?,
        indexes,
        constraints: catalog.read_of::<ConstraintRow>(txn, &of)?,
        triggers: own(catalog.read_of::<TriggerRow>(txn, &of)?, &of, |row| row.tgrelid),
        rules: catalog.read_of::<RewriteRow>(txn, &of)?,
        descriptions: catalog.read_of::<DescriptionRow>(txn, &of)?,
        statistics: catalog.read_of::<StatisticRow>(txn, &of)?,
        types: own(catalog.read_of::<TypeRow>(txn, &of)?, &of, |row| row.oid),
        labels: catalog.read_of::<EnumRow>(txn, &of)?,
        domains: catalog.read_of::<DomainRow>(txn, &of)?,
        ranges: catalog.read_of::<RangeRow>(txn, &of)?,
        roles: match roles {
            true => Some((catalog.read_all::<AuthIdRow>(txn)?, catalog.read_all::<AuthMemberRow>(txn)?)),
            false => None,
        },
        acls: catalog.read_of::<AclRow>(txn, &of)?,
        default_acls: whole::<DefaultAclRow>(catalog, txn, touched)?,
        policies: catalog.read_of::<PolicyRow>(txn, &of)?,
        settings: whole::<DbRoleSettingRow>(catalog, txn, touched)?,
        collations: whole::<CollationRow>(catalog, txn, touched)?,
        collated: catalog.read_of::<CollatedRow>(txn, &of)?,
        partitioned: catalog.read_of::<PartitionedRow>(txn, &of)?,
        inherits: catalog.read_of::<InheritsRow>(txn, &of)?,
        extended: catalog.read_of::<StatisticExtRow>(txn, &of)?,
        extensions: whole::<ExtensionRow>(catalog, txn, touched)?,
        operators: whole::<OperatorRow>(catalog, txn, touched)?,
        casts: whole::<CastRow>(catalog, txn, touched)?,
        defaults,
        collation_data: catalog.engine.options().collation_data,
    };
    Ok((rows, of))
}

/// The columns of which indexes have keys in an order that the types of today may not have: numbers without a sign had those of
/// integers with one, `"char"` that of texts, arrays and rows of such numbers those of others. Only indexes of columns that may
/// be of such types are looked at.
fn earlier(
    catalog: &Catalog,
    classes: &[ClassRow],
    attributes: &[AttributeRow],
    indexes: &[IndexRow],
) -> Result<HashMap<Oid, Vec<(u16, KeyType)>>, CatalogError> {
    let unsigned = SqlType::System(SystemType::Xid8);
    let unsigned = [unsigned.pg_oid(), unsigned.array_oid(), SqlType::System(SystemType::Char).pg_oid()];
    // A domain may be over them, a row may have them.
    let may_be = |ty: Oid| unsigned.contains(&ty.0) || !ty.is_system();
    let columns: HashSet<(Oid, i16)> =
        attributes.iter().filter(|row| may_be(row.atttypid)).map(|row| (row.attrelid, row.attnum)).collect();
    let mut earlier = HashMap::new();
    for index in indexes {
        if !index.indkey.iter().any(|column| columns.contains(&(index.indrelid, *column))) {
            continue;
        }
        let class = classes.iter().find(|class| class.oid == index.indexrelid);
        let object = class.map(|class| ObjectId(class.relfilenode.0)).filter(|object| object.0 != 0);
        let spec = match object.map(|object| catalog.engine.index_spec(object)).transpose() {
            Ok(spec) => spec.flatten(),
            // Whoever uses it is told.
            Err(StorageError::Corrupt { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let parts = spec.map(|spec| spec.parts).unwrap_or_default();
        let is_earlier = |key: KeyType| matches!(key, KeyType::I64 | KeyType::Nested | KeyType::Bytes);
        let parts: Vec<(u16, KeyType)> =
            parts.iter().filter(|part| is_earlier(part.ty)).map(|part| (part.column, part.ty)).collect();
        if !parts.is_empty() {
            earlier.insert(index.indexrelid, parts);
        }
    }
    Ok(earlier)
}

/// Only those rows that are a part of one of these objects, not those that only name one.
fn own<R>(rows: Vec<R>, of: &BTreeSet<Oid>, object: impl Fn(&R) -> Oid) -> Vec<R> {
    rows.into_iter().filter(|row| of.contains(&object(row))).collect()
}

fn whole<R: SystemRow>(
    catalog: &Catalog,
    txn: &Txn,
    touched: &BTreeSet<Touched>,
) -> Result<Option<Vec<R>>, CatalogError> {
    match touched.contains(&Touched::Table(R::TABLE.heap)) {
        true => catalog.read_all(txn).map(Some),
        false => Ok(None),
    }
}

/// These objects, and those whose definitions have a part of theirs (G1).
fn along(
    catalog: &Catalog,
    txn: &Txn,
    base: &CatalogSnapshot,
    objects: Vec<Oid>,
) -> Result<BTreeSet<Oid>, CatalogError> {
    let mut all: BTreeSet<Oid> = BTreeSet::new();
    let mut next: BTreeSet<Oid> = objects.into_iter().collect();
    while !next.is_empty() {
        let mut found: BTreeSet<Oid> = BTreeSet::new();
        for oid in &next {
            match base.relation_by_oid(*oid) {
                Some(Relation::Index(index)) => drop(found.insert(index.table)),
                Some(Relation::Table(table)) => {
                    found.extend(table.all_indexes().map(|index| index.oid));
                    found.extend(table.with_partitions().iter().map(|part| part.oid));
                    found.extend(table.partition_of.as_ref().map(|part| part.parent));
                }
                _ => {}
            }
            if let Some(ty) = base.user_type(*oid) {
                found.extend([ty.oid, ty.array]);
                // A range type and its multirange type are made together.
                if let SqlType::Range(of) | SqlType::Multirange(of) = &ty.ty {
                    let names = [false, true].into_iter().filter_map(|multi| of.own_name(multi));
                    found.extend(names.flat_map(|name| [Oid(name.oid), Oid(name.array)]));
                }
            }
        }
        for index in catalog.read_of::<IndexRow>(txn, &next)? {
            found.extend([index.indrelid, index.indexrelid]);
        }
        for part in catalog.read_of::<InheritsRow>(txn, &next)? {
            found.extend([part.inhparent, part.inhrelid]);
        }
        let links = catalog.read_of::<DependRow>(txn, &next)?;
        let defaults: BTreeSet<Oid> = links
            .iter()
            .filter(|link| is_default_of_sequence(link) && next.contains(&link.refobjid))
            .map(|link| link.objid)
            .collect();
        found.extend(catalog.read_of::<DefaultRow>(txn, &defaults)?.iter().map(|default| default.adrelid));
        all.append(&mut next);
        next = found.into_iter().filter(|oid| !all.contains(oid)).collect();
    }
    let over_rows = |function: &&std::sync::Arc<FunctionDef>| is_over_rows(function, &all);
    let functions: Vec<Oid> = base.all_functions().filter(over_rows).map(|function| function.oid).collect();
    all.extend(functions);
    Ok(all)
}

/// Whether a function takes or gives rows of one of these relations, or of one that it could not find.
fn is_over_rows(function: &FunctionDef, relations: &BTreeSet<Oid>) -> bool {
    let is_one = |relation: Option<Oid>, ty: &SqlType| match relation {
        Some(relation) => relations.contains(&relation),
        None => *ty == SqlType::Record,
    };
    let gives = match &function.returns {
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => is_one(function.rows_of, ty),
        FunctionReturn::Table(columns) => columns.iter().any(|(_, ty)| is_one(None, ty)),
        FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => false,
    };
    gives
        || function.rows_of.is_some_and(|relation| relations.contains(&relation))
        || function.args.iter().any(|arg| is_one(arg.rows_of, &arg.ty))
}

/// Whether there are rows of an object on a page of a system table.
pub(crate) fn has_rows(catalog: &Catalog, txn: &Txn, place: Place) -> Result<bool, CatalogError> {
    macro_rules! of_tables {
        ($($row:ident),*) => {
            match place.heap {
                $(heap if heap == $row::TABLE.heap => catalog.has_rows_at::<$row>(txn, place),)*
                // No other table has places.
                _ => Ok(true),
            }
        };
    }
    of_tables!(
        NamespaceRow,
        ClassRow,
        AttributeRow,
        DefaultRow,
        ProcRow,
        SequenceRow,
        DependRow,
        IndexRow,
        ConstraintRow,
        TriggerRow,
        RewriteRow,
        DescriptionRow,
        StatisticRow,
        TypeRow,
        EnumRow,
        DomainRow,
        RangeRow,
        AclRow,
        PolicyRow,
        CollatedRow,
        PartitionedRow,
        InheritsRow,
        StatisticExtRow
    )
}

#[cfg(test)]
mod tests;
