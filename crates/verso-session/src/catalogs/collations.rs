//! The rows of `pg_collation`, and which collation a column has.

use std::sync::Arc;

use verso_catalog::collation::{system_collation, system_collation_names};
use verso_catalog::{CatalogSnapshot, CollationDef, SystemRowIter};
use verso_types::{Collation, SqlType, Value};

use super::keys::Keys;
use super::{letter, number, oid};

/// The rows of `pg_collation`.
pub(super) fn collations(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> SystemRowIter {
    if let Some(wanted) = keys.oid("oid") {
        let found = catalog.collation_by_oid(wanted.0);
        return super::all(found.iter().map(|one| row(catalog, one)).collect());
    }
    let wanted: Option<Arc<str>> = keys.text("collname").map(Arc::from);
    let is_wanted = move |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let mut users = catalog.collations();
    users.retain(|one| is_wanted(&one.collation.name));
    let data = catalog.collation_data();
    let system = system_collation_names().filter(move |name| is_wanted(name));
    let system = system.filter_map(move |name| system_collation(name, data));
    let all = system.chain(users.into_iter().map(|one| CollationDef::clone(&one)));
    let catalog = Arc::clone(catalog);
    Box::new(all.map(move |one| row(&catalog, &one)))
}

fn row(catalog: &CatalogSnapshot, one: &CollationDef) -> Vec<Value> {
    let optional = |text: Option<&str>| text.map_or(Value::Null, Value::text);
    let collation = &one.collation;
    let schema = catalog.schema(&collation.schema).map_or(verso_catalog::Oid(11), |schema| schema.oid);
    let of_libc = (one.provider == 'c').then(|| match &*collation.name {
        "POSIX" => "POSIX",
        _ => "C",
    });
    vec![
        oid(one.oid()),
        Value::text(&collation.name),
        oid(schema),
        oid(one.owner),
        letter(one.provider),
        Value::Bool(one.deterministic),
        Value::Int4(if one.provider == 'b' { 6 } else { -1 }),
        optional(of_libc),
        optional(of_libc),
        optional(one.locale.as_deref()),
        Value::Null,
        optional(one.version.as_deref()),
    ]
}

/// The version of the data that a collation would be made from now.
pub(super) fn actual_version(catalog: &CatalogSnapshot, one: &CollationDef) -> Value {
    match one.provider {
        'i' => Value::text(catalog.collation_data().version()),
        // As `default`, which orders by bytes, has it in PostgreSQL.
        'b' | 'd' => Value::text("1"),
        _ => Value::Null,
    }
}

/// `attcollation` of a column that was declared as this type, which has `usual` without COLLATE.
pub(super) fn of_type(ty: &SqlType, usual: Value) -> Value {
    match ty.collation() {
        Some(collation) => number(collation.shown_oid()),
        None => usual,
    }
}

/// The collation with that row, by its name.
pub(super) fn by_name(catalog: &CatalogSnapshot, schema: Option<&str>, name: &str) -> Option<u32> {
    catalog.collation(schema, name).map(|found| found.oid().0)
}

/// The name of a collation, with its schema where it is not found without it.
pub(super) fn name_of(catalog: &CatalogSnapshot, oid: u32) -> Option<String> {
    let found = catalog.collation_by_oid(oid)?;
    let quote = verso_exec::functions::quote_ident;
    Some(match is_visible(catalog, &found.collation) {
        true => quote(&found.collation.name),
        false => format!("{}.{}", quote(&found.collation.schema), quote(&found.collation.name)),
    })
}

/// Whether a collation is what its name means without a schema.
pub(super) fn is_visible(catalog: &CatalogSnapshot, collation: &Collation) -> bool {
    catalog.collation(None, &collation.name).is_some_and(|found| found.oid().0 == collation.oid)
}
