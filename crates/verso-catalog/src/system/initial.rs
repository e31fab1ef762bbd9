//! The rows that every new database has: the system tables themselves, schemas, types, languages.

use std::sync::Arc;

use verso_storage::page::ObjectId;
use verso_types::SqlType;

use super::assemble::{CatalogRows, LANGUAGE_PLPGSQL, LANGUAGE_SQL, attribute_row, class_row, sequence_row};
use super::field::{Letter, Name};
use super::row::{
    AclRow, AttributeRow, AuthIdRow, AuthMemberRow, CastRow, ClassRow, CollatedRow, CollationRow,
    ConstraintRow, DbRoleSettingRow, DefaultAclRow, DefaultRow, DependRow, DescriptionRow, DomainRow,
    EnumRow, ExtensionRow, IndexRow, InheritsRow, LanguageRow, NamespaceRow, OperatorRow, PartitionedRow,
    PolicyRow, ProcRow, RangeRow, RewriteRow, SequenceRow, StatisticExtRow, StatisticRow, SystemRow,
    TriggerRow, TypeRow,
};
use super::{
    KIND_SEQUENCE, KIND_TABLE, OID_SEQUENCE, OID_SEQUENCE_OID, OWNER_OID, PG_CATALOG_OID, PUBLIC_OID,
    SystemTable,
};
use crate::definition::{ColumnDef, FunctionLanguage, Oid};
use crate::sequence::SequenceBounds;
use crate::snapshot::{PG_CATALOG, PUBLIC};

/// A system table with its columns.
pub(crate) struct TableShape {
    /// Its numbers and name.
    pub table: SystemTable,
    /// Its columns.
    pub columns: Vec<ColumnDef>,
}

/// Every system table.
pub(crate) fn tables() -> Vec<TableShape> {
    fn shape<R: SystemRow>() -> TableShape {
        let column = |(id, (name, ty, nullable)): (u16, (&str, SqlType, bool))| ColumnDef {
            name: name.into(),
            id,
            ty,
            domain: None,
            not_null: !nullable,
            default: None,
            identity: None,
            generated: false,
            is_virtual: false,
            reservable: false,
            statistics: None,
        };
        TableShape { table: R::TABLE, columns: (1..).zip(R::columns()).map(column).collect() }
    }
    vec![
        shape::<NamespaceRow>(),
        shape::<ClassRow>(),
        shape::<AttributeRow>(),
        shape::<DefaultRow>(),
        shape::<TypeRow>(),
        shape::<ProcRow>(),
        shape::<SequenceRow>(),
        shape::<DependRow>(),
        shape::<LanguageRow>(),
        shape::<IndexRow>(),
        shape::<ConstraintRow>(),
        shape::<TriggerRow>(),
        shape::<AuthIdRow>(),
        shape::<DbRoleSettingRow>(),
        shape::<RewriteRow>(),
        shape::<DescriptionRow>(),
        shape::<StatisticRow>(),
        shape::<EnumRow>(),
        shape::<DomainRow>(),
        shape::<RangeRow>(),
        shape::<AuthMemberRow>(),
        shape::<AclRow>(),
        shape::<DefaultAclRow>(),
        shape::<PolicyRow>(),
        shape::<CollationRow>(),
        shape::<CollatedRow>(),
        shape::<ExtensionRow>(),
        shape::<CastRow>(),
        shape::<OperatorRow>(),
        shape::<PartitionedRow>(),
        shape::<InheritsRow>(),
        shape::<StatisticExtRow>(),
    ]
}

/// Bounds of the sequence that numbers catalog entries.
pub(crate) fn oid_bounds() -> SequenceBounds {
    let first = i64::from(Oid::FIRST_USER.0);
    SequenceBounds { start: first, min: first, max: i64::from(u32::MAX), ..SequenceBounds::default() }
}

/// The rows that definitions are made of; `oid_sequence` is where [`OID_SEQUENCE`] is stored.
pub(crate) fn rows(tables: &[TableShape], oid_sequence: ObjectId) -> CatalogRows {
    let mut rows = CatalogRows::default();
    for (oid, name) in [(PG_CATALOG_OID, PG_CATALOG), (PUBLIC_OID, PUBLIC)] {
        rows.namespaces.push(NamespaceRow { oid, nspname: Name(name.into()), nspowner: OWNER_OID });
    }
    for shape in tables {
        let (class, attributes) = rows_of(shape);
        rows.classes.push(class);
        rows.attributes.extend(attributes);
    }
    let name: Arc<str> = OID_SEQUENCE.into();
    let class = class_row(OID_SEQUENCE_OID, &name, PG_CATALOG_OID, oid_sequence, KIND_SEQUENCE, 0);
    rows.classes.push(class);
    rows.sequences.push(sequence_row(OID_SEQUENCE_OID, &oid_bounds()));
    rows
}

/// The rows of `pg_class` and `pg_attribute` for a system table.
pub(crate) fn rows_of(shape: &TableShape) -> (ClassRow, Vec<AttributeRow>) {
    let TableShape { table, columns } = shape;
    let name: Arc<str> = table.name.into();
    let class = class_row(table.oid, &name, PG_CATALOG_OID, table.heap, KIND_TABLE, columns.len());
    (class, columns.iter().map(|column| attribute_row(table.oid, column)).collect())
}

/// The rows of `pg_language`.
pub(crate) fn languages() -> Vec<LanguageRow> {
    let row = |(oid, language): (Oid, FunctionLanguage)| LanguageRow {
        oid,
        lanname: Name(language.name().into()),
        lanowner: OWNER_OID,
    };
    let languages = [(LANGUAGE_SQL, FunctionLanguage::Sql), (LANGUAGE_PLPGSQL, FunctionLanguage::PlPgSql)];
    languages.into_iter().map(row).collect()
}

/// The rows of `pg_type`: every type, and the array of each that has one.
pub(crate) fn types() -> Vec<TypeRow> {
    // PostgreSQL's typcategory beside each type.
    let plain = [
        (SqlType::Bool, 'B'),
        (SqlType::Bytea, 'U'),
        (SqlType::Name, 'S'),
        (SqlType::Int8, 'N'),
        (SqlType::Int2, 'N'),
        (SqlType::Int4, 'N'),
        (SqlType::Text, 'S'),
        (SqlType::Oid, 'N'),
        (SqlType::Float4, 'N'),
        (SqlType::Float8, 'N'),
        (SqlType::Unknown, 'X'),
        (SqlType::Char(None), 'S'),
        (SqlType::Varchar(None), 'S'),
        (SqlType::Date, 'D'),
        (SqlType::Time(None), 'D'),
        (SqlType::Timestamp(None), 'D'),
        (SqlType::Timestamptz(None), 'D'),
        (SqlType::Interval(None), 'T'),
        (SqlType::Numeric(None), 'N'),
        (SqlType::Record, 'P'),
        (SqlType::Void, 'P'),
        (SqlType::Uuid, 'U'),
        (SqlType::Json, 'U'),
        (SqlType::Jsonb, 'U'),
    ];
    let mut rows = Vec::new();
    for (ty, category) in plain {
        let pseudo = matches!(ty, SqlType::Unknown | SqlType::Record | SqlType::Void);
        let row = |ty: &SqlType, category: char, element: u32, array: u32| TypeRow {
            oid: Oid(ty.pg_oid()),
            typname: Name(ty.internal_name().into()),
            typnamespace: PG_CATALOG_OID,
            typowner: OWNER_OID,
            typlen: ty.typlen(),
            typtype: Letter(if pseudo { 'p' } else { 'b' }),
            typcategory: Letter(category),
            typelem: Oid(element),
            typarray: Oid(array),
        };
        rows.push(row(&ty, category, 0, ty.array_oid()));
        if ty.array_oid() != 0 {
            rows.push(row(&SqlType::Array(Box::new(ty.clone())), 'A', ty.pg_oid(), 0));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn fixed_numbers_are_unique_and_below_the_users() {
        let tables = tables();
        let oids: HashSet<Oid> = tables.iter().map(|shape| shape.table.oid).collect();
        let heaps: HashSet<ObjectId> = tables.iter().map(|shape| shape.table.heap).collect();
        assert_eq!((oids.len(), heaps.len()), (tables.len(), tables.len()));
        assert!(oids.iter().all(|oid| oid.is_system() && *oid != OID_SEQUENCE_OID));
        assert!(heaps.iter().all(|heap| heap.0 > 0 && heap.0 < 1000));
    }

    #[test]
    fn types_have_unique_numbers_that_lead_back() {
        let types = types();
        let oids: HashSet<Oid> = types.iter().map(|row| row.oid).collect();
        assert_eq!(oids.len(), types.len());
        for row in &types {
            let ty = SqlType::from_pg_oid(row.oid.0, -1).expect("a type of our own");
            assert_eq!(*ty.internal_name(), *row.typname.0);
        }
    }

    #[test]
    fn the_system_tables_describe_themselves() {
        let snapshot = rows(&tables(), ObjectId(999)).assemble(1, None).unwrap();
        let class = snapshot.table(None, "pg_class").expect("pg_class describes itself");
        assert_eq!((class.oid, class.heap, &*class.schema), (Oid(1259), ObjectId(12), PG_CATALOG));
        assert_eq!(class.column("relname"), Some(1));
        assert!(class.is_system());
        let oids = snapshot.sequence(Some(PG_CATALOG), OID_SEQUENCE).expect("it numbers entries");
        assert_eq!((oids.object, &oids.bounds), (ObjectId(999), &oid_bounds()));
    }
}
