//! What a name alone means along the search path, and whether it means a certain object.
//!
//! V1. Every schema of the path is asked in its turn, `pg_catalog` among them: before all that the path names, unless the
//!     path names it itself.
//! V2. Functions and operators are hidden by those of their name and arguments only, and never those of the temporary
//!     schema, which has no part in looking for them.

use std::sync::Arc;

use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{CatalogSnapshot, INFORMATION_SCHEMA, Oid, RelationId, SystemRelation};
use verso_types::Value;

use super::fixed;

/// Names of types that the grammar knows as words: they mean the system's types whatever the path is.
const WORDS: [&str; 7] = ["bit", "char", "interval", "json", "numeric", "time", "timestamp"];

/// What a relation or a composite type of that name is, by its number.
pub(super) fn relation_named(catalog: &CatalogSnapshot, name: &str) -> Option<u32> {
    catalog.search_path().searched().iter().find_map(|schema| relation_in(catalog, schema, name))
}

fn relation_in(catalog: &CatalogSnapshot, schema: &str, name: &str) -> Option<u32> {
    let system = || match schema {
        PG_CATALOG | INFORMATION_SCHEMA => RelationId::find(schema, name).map(|id| id.get().oid.0),
        _ => None,
    };
    let relation = || catalog.relation(Some(schema), name).map(|relation| relation.oid().0);
    let composite = || {
        let ty = catalog.type_named(Some(schema), name)?;
        ty.ty.is_row().then_some(ty.oid.0)
    };
    system().or_else(relation).or_else(composite)
}

/// Whether the name of a relation alone finds it; nothing where there is no such relation.
pub(super) fn is_relation(catalog: &CatalogSnapshot, oid: Oid) -> Option<bool> {
    let found = |name: &str| relation_named(catalog, name) == Some(oid.0);
    if let Some(system) = SystemRelation::by_oid(oid) {
        return Some(found(system.name));
    }
    match catalog.relation_by_oid(oid) {
        Some(relation) => Some(found(relation.path().1)),
        None => catalog.user_type(oid).filter(|ty| ty.ty.is_row()).map(|ty| found(&ty.name)),
    }
}

/// The schemas before `pg_catalog` on the path: what is in them hides what the system has.
fn before_system(catalog: &CatalogSnapshot) -> impl Iterator<Item = &Arc<str>> {
    catalog.search_path().searched().iter().take_while(|schema| ***schema != *PG_CATALOG)
}

/// The number of the type of that name, which may be the array of another one.
fn type_named(catalog: &CatalogSnapshot, name: &str) -> Option<u32> {
    catalog.search_path().searched().iter().find_map(|schema| type_in(catalog, schema, name))
}

fn type_in(catalog: &CatalogSnapshot, schema: &str, name: &str) -> Option<u32> {
    let fixed = || {
        let of_standard = schema == INFORMATION_SCHEMA;
        let known = fixed::named("pg_type", name, |row| {
            let is_here = fixed::is_of_standard(row) == of_standard;
            u32::try_from(row[0].as_i64()?).ok().filter(|_| is_here)
        });
        known.first().copied()
    };
    let is_system = [PG_CATALOG, INFORMATION_SCHEMA].contains(&schema);
    let known = if is_system { fixed() } else { None };
    let own = || catalog.type_or_row(Some(schema), name).map(|ty| ty.oid.0);
    let array = || {
        let element = catalog.type_or_row(Some(schema), name.strip_prefix('_')?)?;
        Some(element.array.0)
    };
    // Of some of the system's relations rows have no type.
    known.or_else(own).or_else(array).filter(|oid| *oid != 0)
}

/// The type of users that a name without a schema means though the system has one of the name.
pub(super) fn type_before_system(catalog: &CatalogSnapshot, name: &str) -> Option<u32> {
    // Mostly nothing comes before the system.
    before_system(catalog).next()?;
    if WORDS.contains(&name) || type_in(catalog, PG_CATALOG, name).is_none() {
        return None;
    }
    before_system(catalog).find_map(|schema| type_in(catalog, schema, name))
}

/// Whether the name of a type alone finds it; nothing where there is no such type.
pub(super) fn is_type(catalog: &CatalogSnapshot, oid: Oid) -> Option<bool> {
    if let Some(ty) = catalog.type_or_row_by_oid(oid) {
        return Some(match ty.oid == oid {
            true => type_named(catalog, &ty.name) == Some(oid.0),
            false => type_named(catalog, &format!("_{}", ty.name)) == Some(oid.0),
        });
    }
    let row = fixed::by_oid("pg_type", oid.0.into())?;
    Some(type_named(catalog, row[1].as_str()?) == Some(oid.0))
}

/// Whether a type of the system has to be shown with its schema, as another one of its name comes first on the path; `shown` is its
/// name in SQL, without brackets.
pub(super) fn is_hidden(catalog: &CatalogSnapshot, shown: &str) -> bool {
    type_before_system(catalog, shown.trim_matches('"')).is_some()
}

/// The functions that a name without a schema may mean, by number: of those with the same arguments the first along the path.
pub(super) fn functions_named(catalog: &CatalogSnapshot, name: &str) -> Vec<u32> {
    let mut found: Vec<(u32, Vec<i64>)> = Vec::new();
    each_schema(catalog, |schema| {
        let fixed = match schema {
            PG_CATALOG => fixed::named("pg_proc", name, |row| {
                let Value::Array(args) = &row[19] else { return None };
                let args = args.iter().map(|arg| arg.as_i64().unwrap_or(0)).collect();
                Some((u32::try_from(row[0].as_i64()?).ok()?, args))
            }),
            _ => Vec::new(),
        };
        let own = catalog.functions(Some(schema), name);
        let own = own.iter().map(|function| {
            let arg = |arg: &verso_catalog::FunctionArg| {
                i64::from(arg.rows_of.map_or(arg.ty.pg_oid(), |relation| relation.0))
            };
            (function.oid.0, function.inputs().map(arg).collect())
        });
        for (oid, args) in fixed.into_iter().chain(own) {
            if !found.iter().any(|(_, known)| *known == args) {
                found.push((oid, args));
            }
        }
    });
    found.into_iter().map(|(oid, _)| oid).collect()
}

/// Whether the name of a function finds it among those with its arguments; nothing where there is no such function.
pub(super) fn is_function(catalog: &CatalogSnapshot, oid: Oid) -> Option<bool> {
    let found = |name: &str| functions_named(catalog, name).contains(&oid.0);
    match catalog.function_by_oid(oid) {
        Some(function) => Some(found(&function.name)),
        None => Some(found(fixed::by_oid("pg_proc", oid.0.into())?[1].as_str()?)),
    }
}

/// The operators that a symbol without a schema may mean, by number: of those over the same types the first along the path.
pub(super) fn operators_named(catalog: &CatalogSnapshot, symbol: &str) -> Vec<u32> {
    let mut found: Vec<(u32, [i64; 2])> = Vec::new();
    each_schema(catalog, |schema| {
        let fixed = match schema {
            PG_CATALOG => fixed::named("pg_operator", symbol, |row| {
                Some((u32::try_from(row[0].as_i64()?).ok()?, [row[7].as_i64()?, row[8].as_i64()?]))
            }),
            _ => Vec::new(),
        };
        let of_it = |one: &&Arc<verso_catalog::OperatorDef>| *one.name == *symbol && *one.schema == *schema;
        let own = catalog.operators().iter().filter(of_it).map(|one| {
            let left = one.left.map_or(0, |left| left.0);
            (one.oid.0, [left.into(), one.right.0.into()])
        });
        for (oid, sides) in fixed.into_iter().chain(own) {
            if !found.iter().any(|(_, known)| *known == sides) {
                found.push((oid, sides));
            }
        }
    });
    found.into_iter().map(|(oid, _)| oid).collect()
}

/// Whether the symbol of an operator finds it among those over its types; nothing where there is no such operator.
pub(super) fn is_operator(catalog: &CatalogSnapshot, oid: Oid) -> Option<bool> {
    let found = |symbol: &str| operators_named(catalog, symbol).contains(&oid.0);
    match catalog.operators().iter().find(|operator| operator.oid == oid) {
        Some(own) => Some(found(&own.name)),
        None => Some(found(fixed::by_oid("pg_operator", oid.0.into())?[1].as_str()?)),
    }
}

/// The schemas in which functions and operators are looked for (V2).
fn each_schema(catalog: &CatalogSnapshot, mut ask: impl FnMut(&str)) {
    let path = catalog.search_path();
    let temporary = path.temporary();
    path.searched().iter().filter(|schema| Some(*schema) != temporary).for_each(|schema| ask(schema));
}
