//! The system catalogs: rows of the relations of `pg_catalog`, and the functions over them.
//!
//! Everything is made from the immutable snapshot of the catalog that the statement sees, when a query asks. A module
//! knows the rows of a few relations; relations of what Verso does not have are empty.
//!
//! | module | what it is |
//! |---|---|
//! | [`fixed`] | rows that are always the same: types, functions, operators, casts |
//! | [`keys`] | what a query wants columns to be equal to |
//! | [`lasting`] | rows that are kept for a version of the catalog |
//! | [`relations`] | `pg_class`, `pg_attribute`, `pg_attrdef`, `pg_index`, `pg_sequence` |
//! | [`constraints`] | `pg_constraint` |
//! | [`depends`] | `pg_depend` |
//! | [`shared_depends`] | `pg_shdepend` |
//! | [`triggers`] | `pg_trigger` |
//! | [`rights`] | rights, members of roles, policies; `has_…_privilege` |
//! | [`types`] | users' rows of `pg_type`, `pg_enum` |
//! | [`objects`] | schemas, databases, roles, functions of users, settings, time zones |
//! | [`activity`] | sessions, locks, cursors, statistics |
//! | [`progress`] | jobs of maintenance under way |
//! | [`visible`] | what a name alone means along the search path |
//! | [`names`] | names of objects from and to numbers: `regclass` and its relatives |
//! | [`identity`], [`address`] | objects in words: `pg_describe_object`; which object a name of a kind means |
//! | [`properties`] | what access methods and indexes can: `pg_index_has_property` and its relatives |
//! | [`domains`] | constraints of domains in `pg_constraint` |
//! | [`extended`] | statistics of several columns and of expressions: `pg_statistic_ext` and its views |
//! | [`extensions`] | extensions: those that are built in, and those that a database has asked for |
//! | [`partitions`] | partitions |
//! | [`hash_partition`] | `satisfies_hash_partition` |
//! | [`signatures`] | arguments of built-in functions as text |
//! | [`definitions`] | definitions as text: `pg_get_constraintdef`, `pg_get_indexdef`, `pg_get_functiondef` |
//! | [`server`] | functions about the server, its log and its sessions |
//! | [`aggregates`] | users' rows of `pg_aggregate`, `pg_operator`, `pg_cast` |
//! | [`calls`] | the functions over the catalogs, by name |
//!
//! 1. A row has a value for every column of its relation in `verso-catalog`'s list, in that order.
//! 2. Keys only leave rows out that do not fit; the query's own condition still decides.

mod activity;
mod address;
mod aggregates;
mod blocks;
mod called;
mod calls;
mod collations;
mod constraints;
mod control;
mod definitions;
mod depends;
mod domains;
mod extended;
pub(crate) mod extensions;
mod fixed;
mod hash_partition;
mod identity;
mod keys;
mod lasting;
mod names;
mod objects;
mod partition_constraint;
mod partitions;
mod progress;
mod properties;
mod relations;
mod rights;
mod server;
mod settings;
mod shared_depends;
mod signatures;
mod statistics;
mod triggers;
mod types;
mod visible;

use std::sync::Arc;

use verso_catalog::{Asked, CatalogSnapshot, Object, Oid, RelationId, SystemRowIter, is_shared};
use verso_types::Value;
use verso_types::array::Array;

use crate::resets;
use crate::views::Views;
use keys::Keys;

pub(crate) use activity::{activity, statements};
pub(crate) use called::system_functions;
pub(crate) use calls::call;
pub(crate) use fixed::{class_takes, family_of, operator_over, storage_of};

pub(crate) use lasting::{LastingRows, kept};
pub use names::system_object;
pub(crate) use names::{SessionNames, is_system_routine};
pub(crate) use objects::{tablespace, tablespace_named};

/// Rows that were made at once.
fn all(rows: Vec<Vec<Value>>) -> SystemRowIter {
    Box::new(rows.into_iter())
}

/// Whether a relation of objects that are the same in every database has one whose column has this value.
pub(crate) fn is_built_in(relation: &str, column: usize, name: &str) -> bool {
    let rows = fixed::table(relation);
    let is_it = |row: &Vec<Value>| matches!(row.get(column), Some(Value::Text(text)) if **text == *name);
    rows.iter().flat_map(|rows| rows.iter()).any(is_it)
}

/// The rows of a relation, as far as they can have these values in these columns.
pub(crate) fn rows(views: &Views<'_>, relation: RelationId, asked: Asked<'_>) -> SystemRowIter {
    match views.services.known_catalog() {
        Some(catalog) => rows_of(views, &catalog, relation, asked),
        None => all(Vec::new()),
    }
}

/// The same of these definitions, as the role sees them for whom they are.
fn rows_of(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    relation: RelationId,
    asked: Asked<'_>,
) -> SystemRowIter {
    let keys = Keys { relation: relation.get(), keys: asked.keys, columns: asked.columns };
    if relation.get().schema != verso_catalog::snapshot::PG_CATALOG {
        return all(rights::standard(views, catalog, relation.get().name).unwrap_or_default());
    }
    match relation.get().name {
        "pg_class" => relations::classes(views, catalog, &keys),
        "pg_attribute" => relations::attributes(catalog, &keys),
        "pg_init_privs" => all(rights::initial(catalog, &keys)),
        "pg_attrdef" => all(relations::defaults(views, catalog, &keys)),
        "pg_index" => relations::indexes(views, catalog, &keys),
        "pg_sequence" => all(relations::sequences(catalog, &keys)),
        "pg_constraint" => all(constraints::constraints(views, catalog, &keys)),
        "pg_rewrite" => all(triggers::rules(catalog, &keys)),
        "pg_trigger" => all(triggers::triggers(catalog, &keys)),
        "pg_depend" => all(depends::depends(views, catalog, &keys)),
        "pg_shdepend" => all(shared_depends::shared_depends(views, catalog)),
        "pg_type" => {
            let of_system = rights::with_lists(catalog, fixed::rows("pg_type", &keys), Object::Type);
            Box::new(of_system.chain(types::types(views, catalog, &keys)))
        }
        "pg_language" => {
            let number = |oid| Object::Language(verso_catalog::rights::language_in_lists(oid));
            Box::new(rights::with_lists(catalog, fixed::rows("pg_language", &keys), number))
        }
        "pg_collation" => collations::collations(catalog, &keys),
        "pg_enum" => all(types::labels(catalog, &keys)),
        "pg_inherits" => all(partitions::inherits(catalog, &keys)),
        "pg_partitioned_table" => all(partitions::partitioned(views, catalog, &keys)),
        "pg_namespace" => all(objects::namespaces(catalog)),
        "pg_stats" => all(statistics::statistics(catalog)),
        "pg_statistic_ext" => all(extended::definitions(views, catalog, &keys)),
        "pg_statistic_ext_data" => all(extended::data(views, catalog, &keys)),
        "pg_stats_ext" => all(extended::shown(views, catalog)),
        "pg_stats_ext_exprs" => all(extended::shown_expressions(views, catalog)),
        "pg_database" => all(objects::databases(views, catalog)),
        "pg_auth_members" => all(rights::members(catalog)),
        "pg_default_acl" => all(rights::defaults(catalog)),
        "pg_policy" => all(rights::policies(views, catalog, &keys)),
        name @ ("pg_opclass" | "pg_opfamily") => all(extensions::classes(catalog, name, &keys)),
        "pg_extension" => all(extensions::installed(catalog)),
        "pg_available_extensions" => all(extensions::available(catalog)),
        "pg_available_extension_versions" => all(extensions::versions(catalog)),
        "pg_policies" => all(rights::policy_view(views, catalog)),
        "pg_db_role_setting" => all(rights::settings(views, catalog)),
        "pg_tablespace" => all(objects::tablespaces(catalog)),
        "pg_parameter_acl" => all(rights::parameters(catalog)),
        "pg_authid" => all(objects::authids(catalog)),
        "pg_roles" => all(objects::roles(catalog)),
        "pg_proc" => {
            let of_system = rights::with_lists(catalog, fixed::rows("pg_proc", &keys), Object::Function);
            Box::new(of_system.chain(objects::functions(catalog, &keys)))
        }
        "pg_settings" => all(settings::settings(views, catalog)),
        "pg_timezone_abbrevs" => all(objects::zone_abbreviations()),
        "pg_timezone_names" => all(objects::time_zones(views)),
        "pg_stat_activity" => all(activity::sessions(views)),
        "pg_stat_ssl" => all(activity::encryption(views)),
        "pg_locks" => all(activity::locks(views)),
        "pg_prepared_xacts" => all(activity::prepared(views)),
        "pg_cursors" => {
            let (portals, transaction) = views.portals;
            let own = |(name, text, scrolls, at)| {
                let flags = [false, false, scrolls].map(Value::Bool);
                let head = [Value::Text(name), Value::Text(text)];
                head.into_iter().chain(flags).chain([Value::Timestamptz(at)]).collect()
            };
            let services = views.services;
            let declared = services.cursors.rows().into_iter().chain(portals.rows(transaction));
            all(declared.chain(services.portals.rows().into_iter().map(own)).collect())
        }
        "pg_prepared_statements" => all(views.services.named.rows()),
        "pg_stat_wal" => all(vec![since(views, "pg_stat_wal", views.pg_stat_wal_row())]),
        "pg_stat_checkpointer" => {
            all(vec![since(views, "pg_stat_checkpointer", views.pg_stat_checkpointer_row())])
        }
        "pg_stat_bgwriter" => all(vec![since(views, "pg_stat_bgwriter", views.pg_stat_bgwriter_row())]),
        "pg_stat_archiver" => all(vec![since(views, "pg_stat_archiver", views.pg_stat_archiver_row())]),
        "pg_stat_progress_create_index" => all(progress::create_index(views)),
        "pg_stat_progress_vacuum" => all(progress::vacuum(views)),
        "pg_stat_progress_analyze" => all(progress::analyze(views)),
        "pg_stat_progress_basebackup" => all(progress::base_backup(views)),
        "pg_stat_progress_cluster" => all(progress::cluster(views)),
        "pg_stat_progress_copy" => all(progress::copy(views)),
        "pg_stat_database" => all(vec![since(views, resets::DATABASE, activity::database(views))]),
        "pg_stat_all_tables" => all(activity::tables(views, catalog, &keys)),
        "pg_stat_all_indexes" => all(activity::indexes(views, catalog, &keys)),
        "pg_statio_all_tables" => all(blocks::tables(views, catalog, &keys)),
        "pg_statio_all_indexes" => all(blocks::indexes(views, catalog, &keys)),
        "pg_statio_all_sequences" => all(blocks::sequences(views, catalog)),
        "pg_description" => {
            let own = |((class, object, column), text): ((Oid, Oid, i32), &Arc<str>)| {
                vec![oid(object), oid(class), Value::Int4(column), Value::Text(Arc::clone(text))]
            };
            let is_here = |((class, ..), _): &((Oid, Oid, i32), &Arc<str>)| !is_shared(*class);
            let own: Vec<_> = match keys.oid("objoid") {
                Some(object) => catalog.comments_on(object).filter(is_here).map(own).collect(),
                None => catalog.comments().filter(is_here).map(own).collect(),
            };
            let row = |(object, text): (Oid, &str)| {
                vec![oid(object), oid(extensions::PG_EXTENSION), Value::Int4(0), Value::text(text)]
            };
            let wanted = keys.oid("objoid");
            let of_extensions = extensions::comments(catalog).into_iter();
            let of_extensions: Vec<_> = of_extensions
                .filter(|(object, _)| wanted.is_none_or(|wanted| wanted == *object))
                .map(row)
                .collect();
            Box::new(fixed::rows("pg_description", &keys).chain(own).chain(of_extensions))
        }
        "pg_operator" => Box::new(fixed::rows("pg_operator", &keys).chain(aggregates::operators(catalog))),
        "pg_range" => Box::new(fixed::rows("pg_range", &keys).chain(types::ranges(catalog, &keys))),
        "pg_cast" => Box::new(fixed::rows("pg_cast", &keys).chain(aggregates::casts(catalog))),
        "pg_aggregate" => Box::new(fixed::rows("pg_aggregate", &keys).chain(aggregates::aggregates(catalog))),
        "pg_shdescription" => {
            let own_database = Object::Database.key();
            let own = catalog.comments().filter(|((class, ..), _)| is_shared(*class));
            let row = |(key, text): ((Oid, Oid, i32), &Arc<str>)| {
                // The session's own database has one number in its catalog, and another one among all databases.
                let object = match key == own_database {
                    true => number(views.services.instance.member.number()),
                    false => oid(key.1),
                };
                vec![object, oid(key.0), Value::Text(Arc::clone(text))]
            };
            let own: Vec<_> = own.map(row).collect();
            Box::new(fixed::rows("pg_shdescription", &keys).chain(own))
        }
        name => fixed::rows(name, &keys),
    }
}

/// The row of a view, counted since it was set back.
fn since(views: &Views<'_>, view: &'static str, row: Vec<Value>) -> Vec<Value> {
    views.services.instance.resets.since(view, 0, row)
}

/// An oid as a value.
fn oid(oid: verso_catalog::Oid) -> Value {
    Value::Int8(oid.0.into())
}

/// A number as an oid.
fn number(oid: u32) -> Value {
    Value::Int8(oid.into())
}

/// A letter, as `"char"` columns have them.
fn letter(letter: char) -> Value {
    Value::text(letter.encode_utf8(&mut [0; 4]))
}

/// A vector.
fn vector(values: impl IntoIterator<Item = Value>) -> Value {
    Value::Array(Array::vector(values.into_iter().collect::<Vec<_>>()))
}

/// An array of smallints.
fn shorts(numbers: impl IntoIterator<Item = i16>) -> Value {
    Value::Array(numbers.into_iter().map(Value::Int2).collect())
}

/// A number of columns, of a column.
fn short(number: usize) -> Value {
    Value::Int2(i16::try_from(number).unwrap_or(i16::MAX))
}

/// A column's number.
fn attnum(id: u16) -> i16 {
    i16::try_from(id).unwrap_or(i16::MAX)
}
