//! Extensions: those that are built in, and those of them that the database has asked for.

use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{CatalogSnapshot, ExtensionDef, OWNER_ROLE, Oid};
use verso_types::Value;

use super::oid;

/// An extension that is a part of the program.
pub(crate) struct BuiltIn {
    /// Its name.
    pub(crate) name: &'static str,
    /// The version of PostgreSQL's extension that it stands for.
    pub(crate) version: &'static str,
    /// What `pg_available_extensions` says of it.
    pub(crate) comment: &'static str,
    /// Whether it can be in any schema.
    pub(crate) relocatable: bool,
}

/// The procedural language, which every database has.
pub(crate) const PLPGSQL: &str = "plpgsql";
/// Its number in a new cluster of PostgreSQL 18.
const PLPGSQL_OID: Oid = Oid(13_494);

/// All that are built in, by name.
pub(crate) const BUILT_IN: [BuiltIn; 5] = [
    BuiltIn {
        name: "btree_gist",
        version: "1.8",
        comment: "support for indexing common datatypes in GiST",
        relocatable: true,
    },
    BuiltIn {
        name: "pg_trgm",
        version: "1.6",
        comment: "text similarity measurement and index searching based on trigrams",
        relocatable: true,
    },
    BuiltIn { name: "pgcrypto", version: "1.4", comment: "cryptographic functions", relocatable: true },
    BuiltIn { name: PLPGSQL, version: "1.0", comment: "PL/pgSQL procedural language", relocatable: false },
    BuiltIn {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
        relocatable: true,
    },
];

/// The built-in extension of that name.
pub(crate) fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|one| one.name == name)
}

/// The rows of `pg_extension`.
pub(super) fn installed(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let plpgsql = ExtensionDef {
        oid: PLPGSQL_OID,
        name: PLPGSQL.into(),
        owner: OWNER_ROLE,
        schema: PG_CATALOG.into(),
        version: "1.0".into(),
    };
    let row = |one: &ExtensionDef| {
        let schema = catalog.schema(&one.schema).map_or(Value::Null, |schema| oid(schema.oid));
        vec![
            oid(one.oid),
            Value::text(&one.name),
            oid(one.owner),
            schema,
            Value::Bool(built_in(&one.name).is_some_and(|one| one.relocatable)),
            Value::text(&one.version),
            Value::Null,
            Value::Null,
        ]
    };
    std::iter::once(&plpgsql).chain(catalog.extensions()).map(row).collect()
}

fn is_installed(catalog: &CatalogSnapshot, name: &str) -> bool {
    name == PLPGSQL || catalog.extension(name).is_some()
}

/// The rows of `pg_available_extensions`.
pub(super) fn available(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let row = |one: &BuiltIn| {
        let installed = is_installed(catalog, one.name);
        vec![
            Value::text(one.name),
            Value::text(one.version),
            if installed { Value::text(one.version) } else { Value::Null },
            Value::text(one.comment),
        ]
    };
    BUILT_IN.iter().map(row).collect()
}

/// The rows of `pg_available_extension_versions`.
pub(super) fn versions(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let row = |one: &BuiltIn| {
        vec![
            Value::text(one.name),
            Value::text(one.version),
            Value::Bool(is_installed(catalog, one.name)),
            Value::Bool(true),
            Value::Bool(true),
            Value::Bool(one.relocatable),
            if one.relocatable { Value::Null } else { Value::text(PG_CATALOG) },
            Value::Null,
            Value::text(one.comment),
        ]
    };
    BUILT_IN.iter().map(row).collect()
}
