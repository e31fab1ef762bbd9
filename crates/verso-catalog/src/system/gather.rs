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

use verso_storage::Txn;
use verso_storage::page::ObjectId;

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
use crate::store::UnreadRow;
use crate::versions::Touched;
use verso_types::{KeyType, SqlType, SystemType};

/// Every row, and where it is.
pub(crate) fn all(catalog: &Catalog, txn: &Txn) -> Result<CatalogRows, CatalogError> {
    let unread = &mut Vec::new();
    let classes = catalog.read_all_noting::<ClassRow>(txn, unread)?;
    let attributes = catalog.read_all_noting::<AttributeRow>(txn, unread)?;
    let indexes = catalog.read_all_noting::<IndexRow>(txn, unread)?;
    let mut rows = CatalogRows {
        namespaces: catalog.read_all_noting(txn, unread)?,
        earlier: earlier(catalog, &classes, &attributes, &indexes)?,
        classes,
        attributes,
        defaults: catalog.read_all_noting(txn, unread)?,
        functions: catalog.read_all_noting(txn, unread)?,
        sequences: catalog.read_all_noting(txn, unread)?,
        depends: catalog.read_all_noting(txn, unread)?,
        indexes,
        constraints: catalog.read_all_noting(txn, unread)?,
        triggers: catalog.read_all_noting(txn, unread)?,
        rules: catalog.read_all_noting(txn, unread)?,
        descriptions: catalog.read_all_noting(txn, unread)?,
        statistics: catalog.read_all_noting(txn, unread)?,
        types: catalog.read_all_noting(txn, unread)?,
        labels: catalog.read_all_noting(txn, unread)?,
        domains: catalog.read_all_noting(txn, unread)?,
        ranges: catalog.read_all_noting(txn, unread)?,
        roles: Some((catalog.read_all_noting(txn, unread)?, catalog.read_all_noting(txn, unread)?)),
        acls: catalog.read_all_noting(txn, unread)?,
        default_acls: Some(catalog.read_all_noting(txn, unread)?),
        policies: catalog.read_all_noting(txn, unread)?,
        settings: Some(catalog.read_all_noting(txn, unread)?),
        collations: Some(catalog.read_all_noting(txn, unread)?),
        collated: catalog.read_all_noting(txn, unread)?,
        partitioned: catalog.read_all_noting(txn, unread)?,
        inherits: catalog.read_all_noting(txn, unread)?,
        extended: catalog.read_all_noting(txn, unread)?,
        extensions: Some(catalog.read_all_noting(txn, unread)?),
        operators: Some(catalog.read_all_noting(txn, unread)?),
        casts: Some(catalog.read_all_noting(txn, unread)?),
        collation_data: catalog.engine.options().collation_data,
        unread: Vec::new(),
    };
    rows.unread = std::mem::take(unread);
    if catalog.is_incomplete() {
        crate::lost::mend(&mut rows);
    }
    Ok(rows)
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
    let unread = &mut Vec::new();
    let is_touched = |table| touched.contains(&Touched::Table(table));
    let defaults: Vec<DefaultRow> = catalog.read_of_noting(txn, &of, unread)?;
    let mut needing = of.clone();
    needing.extend(defaults.iter().map(|default| default.oid));
    // The owner of the database is a member of a role.
    let roles = is_touched(AuthIdRow::TABLE.heap)
        || is_touched(AuthMemberRow::TABLE.heap)
        || of.contains(&Object::Database.key().1);
    let classes = catalog.read_of_noting::<ClassRow>(txn, &of, unread)?;
    let attributes = catalog.read_of_noting::<AttributeRow>(txn, &of, unread)?;
    let indexes = own(catalog.read_of_noting::<IndexRow>(txn, &of, unread)?, &of, |row| row.indrelid);
    let mut rows = CatalogRows {
        namespaces: catalog.read_of_noting::<NamespaceRow>(txn, &of, unread)?,
        earlier: earlier(catalog, &classes, &attributes, &indexes)?,
        classes,
        attributes,
        functions: catalog.read_of_noting::<ProcRow>(txn, &of, unread)?,
        sequences: catalog.read_of_noting::<SequenceRow>(txn, &of, unread)?,
        depends: catalog.read_of_noting::<DependRow>(txn, &needing, unread)?,
        indexes,
        constraints: catalog.read_of_noting::<ConstraintRow>(txn, &of, unread)?,
        triggers: own(catalog.read_of_noting::<TriggerRow>(txn, &of, unread)?, &of, |row| row.tgrelid),
        rules: catalog.read_of_noting::<RewriteRow>(txn, &of, unread)?,
        descriptions: catalog.read_of_noting::<DescriptionRow>(txn, &of, unread)?,
        statistics: catalog.read_of_noting::<StatisticRow>(txn, &of, unread)?,
        types: own(catalog.read_of_noting::<TypeRow>(txn, &of, unread)?, &of, |row| row.oid),
        labels: catalog.read_of_noting::<EnumRow>(txn, &of, unread)?,
        domains: catalog.read_of_noting::<DomainRow>(txn, &of, unread)?,
        ranges: catalog.read_of_noting::<RangeRow>(txn, &of, unread)?,
        roles: match roles {
            true => Some((
                catalog.read_all_noting::<AuthIdRow>(txn, unread)?,
                catalog.read_all_noting::<AuthMemberRow>(txn, unread)?,
            )),
            false => None,
        },
        acls: catalog.read_of_noting::<AclRow>(txn, &of, unread)?,
        default_acls: whole::<DefaultAclRow>(catalog, (txn, &mut *unread), touched)?,
        policies: catalog.read_of_noting::<PolicyRow>(txn, &of, unread)?,
        settings: whole::<DbRoleSettingRow>(catalog, (txn, &mut *unread), touched)?,
        collations: whole::<CollationRow>(catalog, (txn, &mut *unread), touched)?,
        collated: catalog.read_of_noting::<CollatedRow>(txn, &of, unread)?,
        partitioned: catalog.read_of_noting::<PartitionedRow>(txn, &of, unread)?,
        inherits: catalog.read_of_noting::<InheritsRow>(txn, &of, unread)?,
        extended: catalog.read_of_noting::<StatisticExtRow>(txn, &of, unread)?,
        extensions: whole::<ExtensionRow>(catalog, (txn, &mut *unread), touched)?,
        operators: whole::<OperatorRow>(catalog, (txn, &mut *unread), touched)?,
        casts: whole::<CastRow>(catalog, (txn, &mut *unread), touched)?,
        defaults,
        collation_data: catalog.engine.options().collation_data,
        unread: Vec::new(),
    };
    rows.unread = std::mem::take(unread);
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
            Err(error) if error.is_of_a_page() => None,
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
    (txn, unread): (&Txn, &mut Vec<UnreadRow>),
    touched: &BTreeSet<Touched>,
) -> Result<Option<Vec<R>>, CatalogError> {
    match touched.contains(&Touched::Table(R::TABLE.heap)) {
        true => catalog.read_all_noting(txn, unread).map(Some),
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
