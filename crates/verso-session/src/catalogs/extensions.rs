//! Extensions: those that are built in, and those of them that the database has asked for.

use std::sync::Arc;

use verso_catalog::snapshot::{PG_CATALOG, PUBLIC};
use verso_catalog::{
    CITEXT, CatalogSnapshot, ExtensionDef, FUZZYSTRMATCH, HSTORE, KeyClass, OWNER_ROLE, Oid,
    PG_STAT_STATEMENTS, PG_TRGM, PGCRYPTO, UNACCENT,
};
use verso_exec::functions::quote_ident;
use verso_types::Value;

use super::keys::Keys;
use super::{fixed, oid};

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
pub(crate) const PLPGSQL_OID: Oid = Oid(13_494);

/// All that are built in, by name.
pub(crate) const BUILT_IN: [BuiltIn; 10] = [
    BuiltIn {
        name: "btree_gist",
        version: "1.8",
        comment: "support for indexing common datatypes in GiST",
        relocatable: true,
    },
    BuiltIn {
        name: CITEXT,
        version: "1.8",
        comment: "data type for case-insensitive character strings",
        relocatable: true,
    },
    BuiltIn {
        name: FUZZYSTRMATCH,
        version: "1.2",
        comment: "determine similarities and distance between strings",
        relocatable: true,
    },
    BuiltIn {
        name: HSTORE,
        version: "1.8",
        comment: "data type for storing sets of (key, value) pairs",
        relocatable: true,
    },
    BuiltIn {
        name: PG_STAT_STATEMENTS,
        version: "1.12",
        comment: "track planning and execution statistics of all SQL statements executed",
        relocatable: true,
    },
    BuiltIn {
        name: "pg_trgm",
        version: "1.6",
        comment: "text similarity measurement and index searching based on trigrams",
        relocatable: true,
    },
    BuiltIn { name: PGCRYPTO, version: "1.4", comment: "cryptographic functions", relocatable: true },
    BuiltIn { name: PLPGSQL, version: "1.0", comment: "PL/pgSQL procedural language", relocatable: false },
    BuiltIn {
        name: UNACCENT,
        version: "1.1",
        comment: "text search dictionary that removes accents",
        relocatable: true,
    },
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

/// The number of the first of those that are used without having been asked for: no object has a number so large.
const FIRST_USED: u32 = 0x3fff_ff00;

/// An operator class that an extension brings, as `pg_opclass` has it.
pub(super) struct ClassOfExtension {
    /// The class.
    pub(super) class: Oid,
    /// Its family.
    pub(super) family: Oid,
    /// The extension.
    pub(super) extension: &'static str,
}

/// All of them.
pub(super) const CLASSES: [ClassOfExtension; 2] = [
    ClassOfExtension { class: Oid(9990), family: Oid(9991), extension: PG_TRGM },
    ClassOfExtension { class: Oid(9988), family: Oid(9989), extension: HSTORE },
];

/// The extension that brings an operator class or a family with this number.
pub(super) fn extension_of_class(number: Oid) -> Option<&'static str> {
    CLASSES.iter().find(|one| one.class == number || one.family == number).map(|one| one.extension)
}

/// Those that the database has asked for, and those that its indexes need as if it had: a dump of them is loaded elsewhere.
pub(super) fn known(catalog: &CatalogSnapshot) -> Vec<ExtensionDef> {
    let mut known: Vec<ExtensionDef> = catalog.extensions().to_vec();
    for (name, number) in catalog.extensions_used().iter().copied().zip(0..) {
        if catalog.extension(name).is_none() {
            known.push(ExtensionDef {
                oid: Oid(FIRST_USED + number),
                name: name.into(),
                owner: OWNER_ROLE,
                schema: PUBLIC.into(),
                version: built_in(name).map_or("", |one| one.version).into(),
            });
        }
    }
    known
}

/// The schema that an extension is in; none where nobody has asked for it.
pub(super) fn schema_of(catalog: &CatalogSnapshot, extension: &str) -> Option<Arc<str>> {
    known(catalog).into_iter().find(|one| *one.name == *extension).map(|one| one.schema)
}

/// An operator class behind a blank, as a definition shows it: one of an extension with its schema where it is not found without it.
pub(super) fn class_shown(catalog: &CatalogSnapshot, suffix: String) -> String {
    if suffix.trim_start() != KeyClass::Trigrams.name() {
        return suffix;
    }
    let schema = catalog.extension(PG_TRGM).map_or_else(|| PUBLIC.into(), |one| Arc::clone(&one.schema));
    match catalog.search_path().searched().contains(&schema) {
        true => suffix,
        false => format!(" {}.{}", quote_ident(&schema), suffix.trim_start()),
    }
}

/// The rows of `pg_opclass` or `pg_opfamily`: those of an extension are where it is.
pub(super) fn classes(catalog: &CatalogSnapshot, relation: &str, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let schema = |name: &str| Some(oid(catalog.schema(&schema_of(catalog, name)?)?.oid));
    let own: Vec<(Value, Option<Value>)> = CLASSES
        .iter()
        .flat_map(|one| [one.class, one.family].map(|number| (oid(number), schema(one.extension))))
        .collect();
    let placed = |row: &Vec<Value>| {
        let Some((_, schema)) = own.iter().find(|(number, _)| *number == row[0]) else {
            return Some(row.clone());
        };
        let mut row = row.clone();
        row[3] = schema.clone()?;
        Some(row)
    };
    let rows = fixed::table(relation);
    let placed = rows.iter().flat_map(|rows| rows.iter()).filter_map(placed);
    placed.filter(|row| keys.fit(row)).collect()
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
    std::iter::once(&plpgsql).chain(&known(catalog)).map(row).collect()
}

/// The number of `pg_extension`.
pub(super) const PG_EXTENSION: Oid = Oid(3079);

/// What the extensions say of themselves that a database has: those on which nobody has said anything else.
pub(super) fn comments(catalog: &CatalogSnapshot) -> Vec<(Oid, &'static str)> {
    let plpgsql = (PLPGSQL_OID, PLPGSQL.to_owned());
    let known = known(catalog).into_iter().map(|one| (one.oid, one.name.to_string()));
    let said = |(number, name): (Oid, String)| {
        let own = catalog.comment(PG_EXTENSION, number, 0).is_some();
        built_in(&name).filter(|_| !own).map(|one| (number, one.comment))
    };
    std::iter::once(plpgsql).chain(known).filter_map(said).collect()
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
