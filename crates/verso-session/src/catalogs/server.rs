//! Functions about the server, its log and its sessions. Their signatures are in `verso-exec`, `functions/catalogs.rs`.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, Object, Oid, ReplicaIdentity, Rights, SystemRelation};
use verso_exec::ExecError;
use verso_storage::wal::{SegmentInfo, SegmentState};
use verso_types::opaque::lsn::PgLsn;
use verso_types::{SqlType, TypeError, Value};

use super::activity;
use super::objects::UTF8;
use crate::client::Notice;
use crate::registry::backend_id;
use crate::resets;
use crate::tracked;
use crate::views::Views;

/// Bytes of the longest character of UTF-8.
const UTF8_LENGTH_MAX: i32 = 4;

/// The value of such a function; `None` where it is another one.
pub(super) fn call(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    function: &str,
    args: &[Value],
) -> Result<Option<Value>, ExecError> {
    let services = views.services;
    let engine = &services.instance.engine;
    let place = |bytes: u64| PgLsn(bytes).into_value();
    Ok(Some(match function {
        "pg_current_wal_lsn" => place(engine.log_progress().written),
        "pg_current_wal_insert_lsn" => place(engine.log_progress().appended),
        "pg_current_wal_flush_lsn" => place(engine.log_progress().durable),
        "pg_walfile_name" => segment(views, args),
        "pg_switch_wal" => {
            may_call(views, catalog, function)?;
            place(engine.switch_segment()?.0)
        }
        "pg_reload_conf" => {
            may_call(views, catalog, function)?;
            Value::Bool(services.instance.member.cluster().reload())
        }
        "pg_stat_reset" => {
            may_call(views, catalog, function)?;
            activity::reset_all(views, catalog);
            Value::text("")
        }
        "pg_stat_reset_shared" => {
            may_call(views, catalog, function)?;
            reset_shared(views, args.first().and_then(Value::as_str))?;
            Value::text("")
        }
        "pg_stat_reset_single_table_counters" => {
            may_call(views, catalog, function)?;
            let table = args.first().and_then(Value::as_i64).and_then(|table| u32::try_from(table).ok());
            activity::reset_table(views, catalog, Oid(table.unwrap_or_default()));
            Value::text("")
        }
        // Nobody counts calls of functions one by one, nor caches of transactions: the moment is all there is.
        "pg_stat_reset_single_function_counters" => {
            may_call(views, catalog, function)?;
            services.instance.resets.touch(resets::DATABASE, services.clocks.now());
            Value::text("")
        }
        "pg_stat_statements_reset" => {
            for_superusers(views, catalog, function)?;
            tracked::reset(views, args)
        }
        "pg_stat_reset_slru" => {
            may_call(views, catalog, function)?;
            Value::text("")
        }
        // No row is locked by several transactions together here: the number that PostgreSQL begins with is as old as any.
        "mxid_age" => match args.first().and_then(Value::as_i64) {
            Some(0) => Value::Int4(i32::MAX),
            _ => Value::Int4(0),
        },
        "pg_blocking_pids" => blockers(views, args),
        "current_query" => Value::Text(Arc::clone(&services.info.statement.lock())),
        "pg_my_temp_schema" => {
            let schema = catalog.schema(&services.temporary_schema());
            super::oid(schema.map_or(Oid(0), |schema| schema.oid))
        }
        "pg_postmaster_start_time" => Value::Timestamptz(services.instance.member.cluster().moments().0),
        "pg_conf_load_time" => Value::Timestamptz(services.instance.member.cluster().moments().1),
        // Of a number's lower half: how many numbers were given since, round the circle of 32 bits.
        "age" => {
            let id = args.first().and_then(Value::as_i64).unwrap_or_default();
            // PostgreSQL's numbers of transactions that were always there.
            if id < 3 {
                return Ok(Some(Value::Int4(i32::MAX)));
            }
            let next = engine.markers().next.0 as u32;
            Value::Int4(next.wrapping_sub(u32::try_from(id).unwrap_or_default()).cast_signed())
        }
        "pg_encoding_max_length" => match args.first().and_then(Value::as_i64) {
            Some(number) if number == i64::from(UTF8) => Value::Int4(UTF8_LENGTH_MAX),
            _ => Value::Null,
        },
        "pg_tablespace_databases" => databases_in(views, args),
        "pg_database_collation_actual_version" => {
            database_number(views, args)?;
            // As `datcollversion` has it: the order by bytes has one version.
            Value::text("1")
        }
        "pg_import_system_collations" => {
            for_superusers(views, catalog, function)?;
            let schema = args.first().and_then(Value::as_i64).unwrap_or_default();
            if !catalog.schemas().any(|known| i64::from(known.oid.0) == schema) {
                let text = format!("schema with OID {schema} does not exist");
                return Err(ExecError::raised("3F000", text));
            }
            // All that there are come with the program.
            Value::Int4(0)
        }
        // The program is one piece.
        "pg_get_loaded_modules" => Value::Array(verso_types::Array::default()),
        "pg_current_logfile" => {
            let format = args.first().and_then(Value::as_str).unwrap_or("stderr");
            if !["stderr", "csvlog", "jsonlog"].contains(&format) {
                let text = format!("log format \"{format}\" is not supported");
                let error = TypeError::new("22023", text);
                let hint = "The supported log formats are \"stderr\", \"csvlog\", and \"jsonlog\".";
                return Err(error.with_hint(hint).into());
            }
            // The server writes to its standard error output, which is no file of its own.
            Value::Null
        }
        "pg_get_replica_identity_index" => {
            let table = args.first().and_then(Value::as_i64).and_then(|table| u32::try_from(table).ok());
            replica_index(catalog, Oid(table.unwrap_or_default()))?
        }
        "satisfies_hash_partition" => super::hash_partition::satisfies(catalog, args)?,
        "pg_restore_relation_stats" | "pg_restore_attribute_stats" => not_restored(views, catalog, args)?,
        "pg_basetype" => {
            let number = args.first().and_then(Value::as_i64).and_then(|number| u32::try_from(number).ok());
            match number.and_then(|number| catalog.user_type(Oid(number))).map(|known| &known.ty) {
                Some(SqlType::Domain(domain)) => {
                    let mut base = &domain.base;
                    while let SqlType::Domain(inner) = base {
                        base = &inner.base;
                    }
                    super::number(base.pg_oid())
                }
                Some(_) => args[0].clone(),
                None => match number.is_some_and(|number| SqlType::from_pg_oid(number, -1).is_some()) {
                    true => args[0].clone(),
                    false => Value::Null,
                },
            }
        }
        _ => return Ok(None),
    }))
}

/// The databases that are in a tablespace.
fn databases_in(views: &Views<'_>, args: &[Value]) -> Value {
    let member = &views.services.instance.member;
    if args.first().and_then(Value::as_i64) != Some(super::objects::DEFAULT_TABLESPACE.into()) {
        return Value::Array(verso_types::Array::default());
    }
    let others = member.cluster().others(member).into_iter().map(|entry| entry.number);
    Value::Array(std::iter::once(member.number()).chain(others).map(super::number).collect())
}

/// The number of a database, if there is one.
pub(super) fn database_number(views: &Views<'_>, args: &[Value]) -> Result<u32, ExecError> {
    let member = &views.services.instance.member;
    let number = args.first().and_then(Value::as_i64).unwrap_or_default();
    let others = || member.cluster().others(member).into_iter().map(|entry| entry.number);
    let found = std::iter::once(member.number()).chain(others()).find(|known| i64::from(*known) == number);
    found.ok_or_else(|| ExecError::raised("42704", format!("database with OID {number} does not exist")))
}

/// The index whose columns say which row of a table was changed.
fn replica_index(catalog: &CatalogSnapshot, table: Oid) -> Result<Value, ExecError> {
    let Some(table) = catalog.table_by_oid(table) else {
        let is_other = catalog.relation_by_oid(table).is_some() || SystemRelation::by_oid(table).is_some();
        let missing = || ExecError::raised("XX000", format!("could not open relation with OID {table}"));
        return if is_other { Ok(Value::Null) } else { Err(missing()) };
    };
    let found = match table.replica_identity() {
        ReplicaIdentity::Default => table.all_indexes().find(|index| index.primary),
        ReplicaIdentity::Index => table.all_indexes().find(|index| index.replica_identity),
        ReplicaIdentity::Full | ReplicaIdentity::Nothing => None,
    };
    Ok(found.map_or(Value::Null, |index| super::oid(index.oid)))
}

/// What dumps of PostgreSQL say about the statistics of a table: the table is found, and the client told that ANALYZE collects
/// them. The answer is the one that PostgreSQL gives where not everything was taken over.
fn not_restored(views: &Views<'_>, catalog: &CatalogSnapshot, args: &[Value]) -> Result<Value, ExecError> {
    if !args.len().is_multiple_of(2) {
        let error = TypeError::new("22023", "variadic arguments must be name/value pairs");
        let hint = "Provide an even number of variadic arguments that can be divided into pairs.";
        return Err(error.with_hint(hint).into());
    }
    let given = |name: &str| {
        let mut pairs = args.chunks_exact(2);
        pairs.find(|pair| pair[0].as_str() == Some(name)).and_then(|pair| pair[1].as_str())
    };
    let needed = |name: &str| {
        let missing = || ExecError::raised("22023", format!("argument \"{name}\" must not be null"));
        given(name).ok_or_else(missing)
    };
    let (schema, name) = (needed("schemaname")?, needed("relname")?);
    if catalog.schema(schema).is_none() {
        return Err(ExecError::raised("3F000", format!("schema \"{schema}\" does not exist")));
    }
    if catalog.relation(Some(schema), name).is_none() {
        return Err(ExecError::raised("42P01", format!("relation \"{name}\" does not exist")));
    }
    let told = Notice::warning("01000", format!("statistics of \"{schema}.{name}\" are not restored"));
    let hint = Some("ANALYZE collects statistics.".to_string());
    views.services.notices.tell(Notice { hint, ..told });
    Ok(Value::Bool(false))
}

/// Sets the counters back that are not of one database.
fn reset_shared(views: &Views<'_>, target: Option<&str>) -> Result<(), ExecError> {
    // Of the last three nothing is counted here.
    let known = ["archiver", "bgwriter", "checkpointer", "wal", "io", "recovery_prefetch", "slru"];
    if let Some(target) = target
        && !known.contains(&target)
    {
        let hint = "Target must be \"archiver\", \"bgwriter\", \"checkpointer\", \"io\", \"recovery_prefetch\", \"slru\", \
                    or \"wal\".";
        let error = TypeError::new("22023", format!("unrecognized reset target: \"{target}\""));
        return Err(error.with_hint(hint).into());
    }
    let (resets, at) = (&views.services.instance.resets, views.services.clocks.now());
    let reset = |name: &str, view: &'static str, row: &dyn Fn() -> Vec<Value>| {
        if target.is_none_or(|target| target == name) {
            resets.reset(view, 0, row(), at);
        }
    };
    reset("archiver", "pg_stat_archiver", &|| views.pg_stat_archiver_row());
    reset("bgwriter", "pg_stat_bgwriter", &|| views.pg_stat_bgwriter_row());
    reset("checkpointer", "pg_stat_checkpointer", &|| views.pg_stat_checkpointer_row());
    reset("wal", "pg_stat_wal", &|| views.pg_stat_wal_row());
    Ok(())
}

/// Refuses a function that the role may not call: it is asked again when it runs, whatever its statement was bound for.
pub(super) fn may_call(
    views: &Views<'_>,
    catalog: &CatalogSnapshot,
    function: &str,
) -> Result<(), ExecError> {
    let role = views.services.current_role();
    let number = |row: Vec<Value>| row[0].as_i64().and_then(|oid| u32::try_from(oid).ok());
    let may = |oid: u32| catalog.rights(role, Object::Function(Oid(oid))).has(Rights::EXECUTE);
    match super::fixed::functions_named(function).filter_map(number).any(may) {
        true => Ok(()),
        false => for_superusers(views, catalog, function),
    }
}

/// Refuses what PostgreSQL grants to nobody else.
pub(super) fn for_superusers(
    views: &Views<'_>,
    catalog: &CatalogSnapshot,
    function: &str,
) -> Result<(), ExecError> {
    match catalog.is_superuser(views.services.current_role()) {
        true => Ok(()),
        false => Err(ExecError::raised("42501", format!("permission denied for function {function}"))),
    }
}

/// The file of the log that has this place, as long as it is kept.
pub(super) fn segment(views: &Views<'_>, args: &[Value]) -> Value {
    let Some(Value::Opaque(place)) = args.first() else { return Value::Null };
    let place = PgLsn::of(place).0;
    let engine = &views.services.instance.engine;
    // What is logged and not written yet goes to the segment that is written.
    let appended = engine.log_progress().appended;
    let has = |segment: &SegmentInfo| {
        let goes_on = segment.state == SegmentState::Current && place <= appended;
        segment.first.is_some_and(|first| first.0 <= place)
            && (goes_on || segment.last.is_none_or(|last| place <= last.0))
    };
    let segments = engine.log_segments();
    segments.into_iter().find(has).map_or(Value::Null, |segment| Value::text(&segment.file))
}

/// The sessions for which one waits.
fn blockers(views: &Views<'_>, args: &[Value]) -> Value {
    let session = args.first().and_then(Value::as_i64);
    let mut numbers: Vec<u64> = Vec::new();
    for lock in views.services.instance.engine.locks() {
        if !lock.granted && session == Some(i64::from(backend_id(lock.session))) {
            numbers.extend(lock.blocked_by);
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Value::Array(numbers.into_iter().map(|number| Value::Int4(backend_id(number))).collect())
}
