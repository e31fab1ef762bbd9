//! What access methods, indexes and their columns can: `pg_indexam_has_property`, `pg_index_has_property`,
//! `pg_index_column_has_property`, with PostgreSQL's answers for its access methods.
//!
//! Source: PostgreSQL's `amutils.c`, and what its access methods say of themselves.

use verso_catalog::{CatalogSnapshot, IndexDef, Oid, Relation};
use verso_types::Value;

/// What an access method says of itself.
#[derive(Clone, Copy, Debug)]
struct Method {
    number: u32,
    name: &'static str,
    can_order: bool,
    can_unique: bool,
    can_multi_col: bool,
    can_include: bool,
    clusterable: bool,
    /// Rows come one by one.
    index_scan: bool,
    backward_scan: bool,
    returnable: bool,
    search_array: bool,
    search_nulls: bool,
}

/// One that can nothing but find all rows at once.
const PLAIN: Method = Method {
    number: 0,
    name: "",
    can_order: false,
    can_unique: false,
    can_multi_col: false,
    can_include: false,
    clusterable: false,
    index_scan: false,
    backward_scan: false,
    returnable: false,
    search_array: false,
    search_nulls: false,
};

const METHODS: [Method; 6] = [
    Method {
        number: 403,
        name: "btree",
        can_order: true,
        can_unique: true,
        can_multi_col: true,
        can_include: true,
        clusterable: true,
        index_scan: true,
        backward_scan: true,
        returnable: true,
        search_array: true,
        search_nulls: true,
    },
    Method { number: 405, name: "hash", index_scan: true, backward_scan: true, ..PLAIN },
    Method {
        number: 783,
        name: "gist",
        can_multi_col: true,
        can_include: true,
        clusterable: true,
        index_scan: true,
        search_nulls: true,
        ..PLAIN
    },
    Method { number: 2742, name: "gin", can_multi_col: true, ..PLAIN },
    Method { number: 3580, name: "brin", can_multi_col: true, search_nulls: true, ..PLAIN },
    Method { number: 4000, name: "spgist", can_include: true, index_scan: true, search_nulls: true, ..PLAIN },
];

fn index(catalog: &CatalogSnapshot, number: Oid) -> Option<(&IndexDef, Method)> {
    let Some(Relation::Index(index)) = catalog.relation_by_oid(number) else { return None };
    let method = METHODS.into_iter().find(|method| *method.name == *index.method())?;
    Some((&**index, method))
}

fn answer(answer: Option<bool>) -> Value {
    answer.map_or(Value::Null, Value::Bool)
}

/// `pg_indexam_has_property`; NULL for what is no access method of indexes, or no property of one.
pub(super) fn of_method(number: Oid, property: &str) -> Value {
    let method = METHODS.into_iter().find(|method| method.number == number.0);
    answer(method.and_then(|method| match property.to_ascii_lowercase().as_str() {
        "can_order" => Some(method.can_order),
        "can_unique" => Some(method.can_unique),
        "can_multi_col" => Some(method.can_multi_col),
        "can_exclude" => Some(method.index_scan),
        "can_include" => Some(method.can_include),
        _ => None,
    }))
}

/// `pg_index_has_property`.
pub(super) fn of_index(catalog: &CatalogSnapshot, number: Oid, property: &str) -> Value {
    let found = index(catalog, number);
    answer(found.and_then(|(_, method)| match property.to_ascii_lowercase().as_str() {
        "clusterable" => Some(method.clusterable),
        "index_scan" => Some(method.index_scan),
        "bitmap_scan" => Some(true),
        "backward_scan" => Some(method.backward_scan),
        _ => None,
    }))
}

/// `pg_index_column_has_property`: columns of INCLUDE, behind those of the key, have no order.
pub(super) fn of_column(catalog: &CatalogSnapshot, number: Oid, column: i64, property: &str) -> Value {
    let Some((index, method)) = index(catalog, number) else { return Value::Null };
    let Some(place) = column.checked_sub(1).and_then(|place| usize::try_from(place).ok()) else {
        return Value::Null;
    };
    let keys = index.parts.len();
    if place >= keys + index.include.len() {
        return Value::Null;
    }
    let key = index.parts.get(place);
    let order = |of: &dyn Fn(bool, bool) -> bool| {
        let part = key?;
        Some(method.can_order && of(part.descending, part.nulls_first))
    };
    answer(match property.to_ascii_lowercase().as_str() {
        "asc" => order(&|descending, _| !descending),
        "desc" => order(&|descending, _| descending),
        "nulls_first" => order(&|_, nulls_first| nulls_first),
        "nulls_last" => order(&|_, nulls_first| !nulls_first),
        "orderable" => Some(key.is_some() && method.can_order),
        "distance_orderable" => Some(false),
        "returnable" => Some(method.returnable),
        "search_array" => key.map(|_| method.search_array),
        "search_nulls" => key.map(|_| method.search_nulls),
        _ => None,
    })
}
