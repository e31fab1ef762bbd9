//! Functions over the system catalogs: names of types and objects, definitions as text, sizes, rights.
//!
//! Their signatures are here, so that the binder knows them; the session, which has the catalog and whatever else they
//! ask for, computes them ([`CatalogFunctions`](crate::context::CatalogFunctions)).

use verso_types::{SqlType, SystemType, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// Rows of a set-returning function.
type Rows = Box<dyn Iterator<Item = Value> + Send>;

/// The SQL type behind a short name.
macro_rules! ty {
    (Char) => {
        SqlType::System(SystemType::Char)
    };
    (Regclass) => {
        SqlType::System(SystemType::Regclass)
    };
    (Regtype) => {
        SqlType::System(SystemType::Regtype)
    };
    (Regproc) => {
        SqlType::System(SystemType::Regproc)
    };
    (Regprocedure) => {
        SqlType::System(SystemType::Regprocedure)
    };
    (Regnamespace) => {
        SqlType::System(SystemType::Regnamespace)
    };
    (Regrole) => {
        SqlType::System(SystemType::Regrole)
    };
    (Regoper) => {
        SqlType::System(SystemType::Regoper)
    };
    (Regoperator) => {
        SqlType::System(SystemType::Regoperator)
    };
    (Regcollation) => {
        SqlType::System(SystemType::Regcollation)
    };
    (NodeTree) => {
        SqlType::System(SystemType::NodeTree)
    };
    (Inet) => {
        SqlType::System(SystemType::Inet)
    };
    (Xid) => {
        SqlType::System(SystemType::Xid)
    };
    (Lsn) => {
        SqlType::System(SystemType::Lsn)
    };
    (Xid8) => {
        SqlType::System(SystemType::Xid8)
    };
    (Timestamptz) => {
        SqlType::Timestamptz(None)
    };
    (Numeric) => {
        SqlType::Numeric(None)
    };
    ($name:ident) => {
        SqlType::$name
    };
}

/// Rows of the table: `name(Args) -> Result`, strict unless they say `or null`; stable unless they begin with `volatile`.
macro_rules! catalog_functions {
    (volatile $($name:ident($($arg:ident),*) -> $result:ident;)*) => {
        &[$(BuiltinFunction {
            volatility: Volatility::Volatile,
            ..catalog_functions!(@one $name($($arg),*) -> $result)
        }),*]
    };
    ($($name:ident($($arg:ident),*) -> $result:ident $(or $null:ident)?;)*) => {
        &[$(catalog_functions!(@one $name($($arg),*) -> $result $(or $null)?)),*]
    };
    (@one $name:ident($($arg:ident),*) -> $result:ident $(or $null:ident)?) => {
        BuiltinFunction {
            name: stringify!($name),
            operator: None,
            args: &[$(ArgType::Exact(ty!($arg))),*],
            variadic: false,
            result: ResultType::Fixed(ty!($result)),
            strict: catalog_functions!(@strict $($null)?),
            volatility: Volatility::Stable,
            body: Body::Scalar(|cx, args| cx.services.catalogs.call(stringify!($name), args)),
            kernel: None,
        }
    };
    (@strict) => {
        true
    };
    (@strict null) => {
        false
    };
}

static SCALAR: &[BuiltinFunction] = catalog_functions![
    format_type(Oid, Int4) -> Text or null;
    pg_get_constraintdef(Oid) -> Text;
    pg_get_constraintdef(Oid, Bool) -> Text;
    pg_get_indexdef(Oid) -> Text;
    pg_get_indexdef(Oid, Int4, Bool) -> Text;
    pg_get_expr(NodeTree, Oid) -> Text;
    pg_get_expr(NodeTree, Oid, Bool) -> Text;
    pg_get_functiondef(Oid) -> Text;
    pg_get_function_arguments(Oid) -> Text;
    pg_get_function_identity_arguments(Oid) -> Text;
    pg_get_function_result(Oid) -> Text;
    pg_get_function_arg_default(Oid, Int4) -> Text;
    pg_get_function_sqlbody(Oid) -> Text;
    pg_get_ruledef(Oid) -> Text;
    pg_get_ruledef(Oid, Bool) -> Text;
    pg_get_viewdef(Oid) -> Text;
    pg_get_viewdef(Oid, Bool) -> Text;
    pg_get_viewdef(Oid, Int4) -> Text;
    pg_get_viewdef(Text) -> Text;
    pg_get_viewdef(Text, Bool) -> Text;
    pg_get_triggerdef(Oid) -> Text;
    pg_get_triggerdef(Oid, Bool) -> Text;
    pg_get_statisticsobjdef(Oid) -> Text;
    pg_get_statisticsobjdef_columns(Oid) -> Text;
    pg_get_partkeydef(Oid) -> Text;
    pg_get_partition_constraintdef(Oid) -> Text;
    pg_describe_object(Oid, Oid, Int4) -> Text;
    pg_get_userbyid(Oid) -> Name;
    pg_get_serial_sequence(Text, Text) -> Text;
    pg_table_is_visible(Oid) -> Bool;
    pg_type_is_visible(Oid) -> Bool;
    pg_function_is_visible(Oid) -> Bool;
    pg_operator_is_visible(Oid) -> Bool;
    pg_opclass_is_visible(Oid) -> Bool;
    pg_opfamily_is_visible(Oid) -> Bool;
    pg_collation_is_visible(Oid) -> Bool;
    pg_collation_actual_version(Oid) -> Text;
    pg_conversion_is_visible(Oid) -> Bool;
    pg_statistics_obj_is_visible(Oid) -> Bool;
    pg_ts_config_is_visible(Oid) -> Bool;
    pg_ts_dict_is_visible(Oid) -> Bool;
    pg_ts_parser_is_visible(Oid) -> Bool;
    pg_ts_template_is_visible(Oid) -> Bool;
    obj_description(Oid, Name) -> Text;
    obj_description(Oid) -> Text;
    shobj_description(Oid, Name) -> Text;
    col_description(Oid, Int4) -> Text;
    pg_relation_size(Regclass) -> Int8;
    pg_relation_size(Regclass, Text) -> Int8;
    pg_table_size(Regclass) -> Int8;
    pg_indexes_size(Regclass) -> Int8;
    pg_total_relation_size(Regclass) -> Int8;
    pg_database_size(Oid) -> Int8;
    pg_database_size(Name) -> Int8;
    pg_tablespace_size(Oid) -> Int8;
    pg_tablespace_size(Name) -> Int8;
    pg_tablespace_location(Oid) -> Text;
    pg_database_collation_actual_version(Oid) -> Text;
    pg_get_replica_identity_index(Regclass) -> Regclass;
    pg_relation_filenode(Regclass) -> Oid;
    pg_filenode_relation(Oid, Oid) -> Regclass;
    pg_size_pretty(Int8) -> Text;
    pg_size_pretty(Numeric) -> Text;
    pg_encoding_to_char(Int4) -> Name;
    pg_char_to_encoding(Name) -> Int4;
    pg_encoding_max_length(Int4) -> Int4;
    getdatabaseencoding() -> Name;
    pg_client_encoding() -> Name;
    inet_server_addr() -> Inet or null;
    inet_server_port() -> Int4 or null;
    inet_client_addr() -> Inet or null;
    inet_client_port() -> Int4 or null;
    to_regclass(Text) -> Regclass;
    to_regtype(Text) -> Regtype;
    to_regproc(Text) -> Regproc;
    to_regprocedure(Text) -> Regprocedure;
    to_regnamespace(Text) -> Regnamespace;
    to_regrole(Text) -> Regrole;
    to_regoper(Text) -> Regoper;
    to_regoperator(Text) -> Regoperator;
    to_regcollation(Text) -> Regcollation;
    pg_partition_root(Regclass) -> Regclass;
    to_regtypemod(Text) -> Int4;
    pg_basetype(Regtype) -> Regtype;
    pg_my_temp_schema() -> Oid;
    pg_postmaster_start_time() -> Timestamptz;
    pg_conf_load_time() -> Timestamptz;
    age(Xid) -> Int4;
    pg_sequence_last_value(Regclass) -> Int8;
    verso_sequence_number(Regclass) -> Int8;
    verso_sequence_ahead(Regclass) -> Int8;
    pg_is_other_temp_schema(Oid) -> Bool;
    pg_relation_is_publishable(Regclass) -> Bool;
    pg_relation_is_updatable(Regclass, Bool) -> Int4;
    pg_column_is_updatable(Regclass, Int2, Bool) -> Bool;
    pg_index_has_property(Regclass, Text) -> Bool;
    pg_index_column_has_property(Regclass, Int4, Text) -> Bool;
    pg_indexam_has_property(Oid, Text) -> Bool;
    row_security_active(Oid) -> Bool;
    row_security_active(Text) -> Bool;
    pg_jit_available() -> Bool;
    pg_numa_available() -> Bool;
    pg_stat_get_live_tuples(Oid) -> Int8;
    pg_stat_get_mod_since_analyze(Oid) -> Int8;
    pg_stat_get_last_analyze_time(Oid) -> Timestamptz;
    pg_stat_get_last_autoanalyze_time(Oid) -> Timestamptz;
    pg_stat_get_analyze_count(Oid) -> Int8;
    pg_stat_get_autoanalyze_count(Oid) -> Int8;
    pg_has_role(Name, Text) -> Bool;
    pg_has_role(Oid, Text) -> Bool;
    pg_has_role(Name, Name, Text) -> Bool;
    pg_has_role(Name, Oid, Text) -> Bool;
    pg_has_role(Oid, Oid, Text) -> Bool;
    pg_has_role(Oid, Name, Text) -> Bool;
    has_table_privilege(Text, Text) -> Bool;
    has_table_privilege(Oid, Text) -> Bool;
    has_table_privilege(Name, Text, Text) -> Bool;
    has_table_privilege(Name, Oid, Text) -> Bool;
    has_table_privilege(Oid, Text, Text) -> Bool;
    has_table_privilege(Oid, Oid, Text) -> Bool;
    has_any_column_privilege(Text, Text) -> Bool;
    has_any_column_privilege(Oid, Text) -> Bool;
    has_any_column_privilege(Name, Text, Text) -> Bool;
    has_any_column_privilege(Name, Oid, Text) -> Bool;
    has_any_column_privilege(Oid, Text, Text) -> Bool;
    has_any_column_privilege(Oid, Oid, Text) -> Bool;
    has_column_privilege(Text, Text, Text) -> Bool;
    has_column_privilege(Oid, Text, Text) -> Bool;
    has_column_privilege(Oid, Int2, Text) -> Bool;
    has_column_privilege(Name, Oid, Int2, Text) -> Bool;
    has_column_privilege(Name, Text, Text, Text) -> Bool;
    has_column_privilege(Text, Int2, Text) -> Bool;
    has_column_privilege(Name, Oid, Text, Text) -> Bool;
    has_column_privilege(Name, Text, Int2, Text) -> Bool;
    has_column_privilege(Oid, Oid, Int2, Text) -> Bool;
    has_column_privilege(Oid, Oid, Text, Text) -> Bool;
    has_column_privilege(Oid, Text, Int2, Text) -> Bool;
    has_column_privilege(Oid, Text, Text, Text) -> Bool;
    has_sequence_privilege(Text, Text) -> Bool;
    has_sequence_privilege(Oid, Text) -> Bool;
    has_sequence_privilege(Name, Text, Text) -> Bool;
    has_sequence_privilege(Name, Oid, Text) -> Bool;
    has_sequence_privilege(Oid, Text, Text) -> Bool;
    has_sequence_privilege(Oid, Oid, Text) -> Bool;
    has_schema_privilege(Text, Text) -> Bool;
    has_schema_privilege(Oid, Text) -> Bool;
    has_schema_privilege(Name, Text, Text) -> Bool;
    has_schema_privilege(Name, Oid, Text) -> Bool;
    has_schema_privilege(Oid, Text, Text) -> Bool;
    has_schema_privilege(Oid, Oid, Text) -> Bool;
    has_database_privilege(Text, Text) -> Bool;
    has_database_privilege(Oid, Text) -> Bool;
    has_database_privilege(Name, Text, Text) -> Bool;
    has_database_privilege(Name, Oid, Text) -> Bool;
    has_database_privilege(Oid, Text, Text) -> Bool;
    has_database_privilege(Oid, Oid, Text) -> Bool;
    has_function_privilege(Text, Text) -> Bool;
    has_function_privilege(Oid, Text) -> Bool;
    has_function_privilege(Name, Text, Text) -> Bool;
    has_function_privilege(Name, Oid, Text) -> Bool;
    has_function_privilege(Oid, Text, Text) -> Bool;
    has_function_privilege(Oid, Oid, Text) -> Bool;
    has_type_privilege(Oid, Text) -> Bool;
    has_type_privilege(Name, Oid, Text) -> Bool;
    has_type_privilege(Text, Text) -> Bool;
    has_type_privilege(Name, Text, Text) -> Bool;
    has_type_privilege(Oid, Text, Text) -> Bool;
    has_type_privilege(Oid, Oid, Text) -> Bool;
    has_language_privilege(Text, Text) -> Bool;
    has_language_privilege(Oid, Text) -> Bool;
    has_language_privilege(Name, Text, Text) -> Bool;
    has_language_privilege(Name, Oid, Text) -> Bool;
    has_language_privilege(Oid, Text, Text) -> Bool;
    has_language_privilege(Oid, Oid, Text) -> Bool;
    has_tablespace_privilege(Text, Text) -> Bool;
    has_tablespace_privilege(Oid, Text) -> Bool;
    has_tablespace_privilege(Name, Text, Text) -> Bool;
    has_tablespace_privilege(Name, Oid, Text) -> Bool;
    has_tablespace_privilege(Oid, Text, Text) -> Bool;
    has_tablespace_privilege(Oid, Oid, Text) -> Bool;
    has_server_privilege(Text, Text) -> Bool;
    has_server_privilege(Oid, Text) -> Bool;
    has_server_privilege(Name, Text, Text) -> Bool;
    has_server_privilege(Name, Oid, Text) -> Bool;
    has_server_privilege(Oid, Text, Text) -> Bool;
    has_server_privilege(Oid, Oid, Text) -> Bool;
    has_foreign_data_wrapper_privilege(Text, Text) -> Bool;
    has_foreign_data_wrapper_privilege(Oid, Text) -> Bool;
    has_foreign_data_wrapper_privilege(Name, Text, Text) -> Bool;
    has_foreign_data_wrapper_privilege(Name, Oid, Text) -> Bool;
    has_foreign_data_wrapper_privilege(Oid, Text, Text) -> Bool;
    has_foreign_data_wrapper_privilege(Oid, Oid, Text) -> Bool;
    has_largeobject_privilege(Oid, Text) -> Bool;
    has_largeobject_privilege(Name, Oid, Text) -> Bool;
    has_largeobject_privilege(Oid, Oid, Text) -> Bool;
    has_parameter_privilege(Text, Text) -> Bool;
    has_parameter_privilege(Name, Text, Text) -> Bool;
    has_parameter_privilege(Oid, Text, Text) -> Bool;
];

/// What goes on while a statement runs.
static MOMENTARY: &[BuiltinFunction] = catalog_functions![volatile
    pg_current_wal_lsn() -> Lsn;
    pg_current_wal_insert_lsn() -> Lsn;
    pg_current_wal_flush_lsn() -> Lsn;
    pg_walfile_name(Lsn) -> Text;
    current_query() -> Text;
    pg_switch_wal() -> Lsn;
    pg_create_restore_point(Text) -> Lsn;
    txid_status(Int8) -> Text;
    pg_stat_have_stats(Text, Oid, Int8) -> Bool;
    pg_xact_status(Xid8) -> Text;
    pg_reload_conf() -> Bool;
    pg_import_system_collations(Regnamespace) -> Int4;
    pg_current_logfile() -> Text;
    mxid_age(Xid) -> Int4;
    pg_stat_reset() -> Void;
    pg_stat_reset_shared() -> Void;
    pg_stat_reset_slru() -> Void;
    pg_stat_reset_single_table_counters(Oid) -> Void;
    pg_stat_reset_single_function_counters(Oid) -> Void;
    pg_stat_statements_reset() -> Timestamptz;
    pg_stat_statements_reset(Oid) -> Timestamptz;
    pg_stat_statements_reset(Oid, Oid) -> Timestamptz;
    pg_stat_statements_reset(Oid, Oid, Int8) -> Timestamptz;
    pg_stat_statements_reset(Oid, Oid, Int8, Bool) -> Timestamptz;
];

/// Functions of arrays.
macro_rules! over_arrays {
    ($name:literal ($($arg:expr),*) -> $result:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$(ArgType::Exact($arg)),*],
            variadic: false,
            result: $result,
            strict: true,
            volatility: Volatility::Stable,
            body: Body::Scalar(|cx, args| cx.services.catalogs.call($name, args)),
            kernel: None,
        }
    };
}

/// A function that is written in PL/pgSQL, which binding puts in its place.
macro_rules! written {
    ($name:literal ($arg:expr) -> $columns:expr, $volatility:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Exact($arg)],
            variadic: false,
            result: ResultType::Columns(&$columns),
            strict: true,
            volatility: $volatility,
            body: Body::Set(|_, args| Err(unexpected($name, args))),
            kernel: None,
        }
    };
}

/// A counter of a table or an index, which binding puts a query over the views in the place of.
macro_rules! counter {
    ($name:literal) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Exact(SqlType::Oid)],
            variadic: false,
            result: ResultType::Fixed(SqlType::Int8),
            strict: true,
            volatility: Volatility::Stable,
            body: Body::Scalar(|_, args| Err(unexpected($name, args))),
            kernel: None,
        }
    };
}

/// What `pg_get_sequence_data` yields.
static SEQUENCE_DATA: [(&str, SqlType); 2] = [("last_value", SqlType::Int8), ("is_called", SqlType::Bool)];

/// What `pg_sequence_parameters` yields.
static SEQUENCE_PARAMETERS: [(&str, SqlType); 7] = [
    ("start_value", SqlType::Int8),
    ("minimum_value", SqlType::Int8),
    ("maximum_value", SqlType::Int8),
    ("increment", SqlType::Int8),
    ("cycle_option", SqlType::Bool),
    ("cache_size", SqlType::Int8),
    ("data_type", SqlType::Oid),
];

/// What `pg_partition_tree` yields.
static PARTITIONS: [(&str, SqlType); 4] = [
    ("relid", SqlType::System(SystemType::Regclass)),
    ("parentrelid", SqlType::System(SystemType::Regclass)),
    ("isleaf", SqlType::Bool),
    ("level", SqlType::Int4),
];

/// What `pg_identify_object` yields.
static IDENTITY: [(&str, SqlType); 4] = [
    ("type", SqlType::Text),
    ("schema", SqlType::Text),
    ("name", SqlType::Text),
    ("identity", SqlType::Text),
];

/// What `pg_identify_object_as_address` yields.
static AS_ADDRESS: [(&str, ResultType); 3] = [
    ("type", ResultType::Fixed(SqlType::Text)),
    ("object_names", ResultType::FixedArray(SqlType::Text)),
    ("object_args", ResultType::FixedArray(SqlType::Text)),
];

/// What `pg_get_object_address` yields.
static ADDRESS: [(&str, SqlType); 3] =
    [("classid", SqlType::Oid), ("objid", SqlType::Oid), ("objsubid", SqlType::Int4)];

/// What `pg_ls_waldir` yields.
static LOG_FILES: [(&str, SqlType); 3] =
    [("name", SqlType::Text), ("size", SqlType::Int8), ("modification", SqlType::Timestamptz(None))];

/// What `pg_control_checkpoint` yields.
static CONTROL_CHECKPOINT: [(&str, SqlType); 18] = [
    ("checkpoint_lsn", ty!(Lsn)),
    ("redo_lsn", ty!(Lsn)),
    ("redo_wal_file", SqlType::Text),
    ("timeline_id", SqlType::Int4),
    ("prev_timeline_id", SqlType::Int4),
    ("full_page_writes", SqlType::Bool),
    ("next_xid", SqlType::Text),
    ("next_oid", SqlType::Oid),
    ("next_multixact_id", ty!(Xid)),
    ("next_multi_offset", ty!(Xid)),
    ("oldest_xid", ty!(Xid)),
    ("oldest_xid_dbid", SqlType::Oid),
    ("oldest_active_xid", ty!(Xid)),
    ("oldest_multi_xid", ty!(Xid)),
    ("oldest_multi_dbid", SqlType::Oid),
    ("oldest_commit_ts_xid", ty!(Xid)),
    ("newest_commit_ts_xid", ty!(Xid)),
    ("checkpoint_time", SqlType::Timestamptz(None)),
];

/// What `pg_control_system` yields.
static CONTROL_SYSTEM: [(&str, SqlType); 4] = [
    ("pg_control_version", SqlType::Int4),
    ("catalog_version_no", SqlType::Int4),
    ("system_identifier", SqlType::Int8),
    ("pg_control_last_modified", SqlType::Timestamptz(None)),
];

/// What `pg_control_recovery` yields.
static CONTROL_RECOVERY: [(&str, SqlType); 5] = [
    ("min_recovery_end_lsn", ty!(Lsn)),
    ("min_recovery_end_timeline", SqlType::Int4),
    ("backup_start_lsn", ty!(Lsn)),
    ("backup_end_lsn", ty!(Lsn)),
    ("end_of_backup_record_required", SqlType::Bool),
];

/// What `pg_control_init` yields.
static CONTROL_INIT: [(&str, SqlType); 12] = [
    ("max_data_alignment", SqlType::Int4),
    ("database_block_size", SqlType::Int4),
    ("blocks_per_segment", SqlType::Int4),
    ("wal_block_size", SqlType::Int4),
    ("bytes_per_wal_segment", SqlType::Int4),
    ("max_identifier_length", SqlType::Int4),
    ("max_index_columns", SqlType::Int4),
    ("max_toast_chunk_size", SqlType::Int4),
    ("large_object_chunk_size", SqlType::Int4),
    ("float8_pass_by_value", SqlType::Bool),
    ("data_page_checksum_version", SqlType::Int4),
    ("default_char_signedness", SqlType::Bool),
];

/// A function without arguments whose rows the session gives as an array.
macro_rules! rows {
    ($name:literal -> $columns:ident) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[],
            variadic: false,
            result: ResultType::Columns(&$columns),
            strict: true,
            volatility: Volatility::Volatile,
            body: Body::Set(|cx, args| listed(cx, $name, args)),
            kernel: None,
        }
    };
}

/// The rows of a function that the session gives as an array.
fn listed(cx: &EvalContext<'_>, name: &'static str, args: &[Value]) -> Result<Rows> {
    let Value::Array(found) = cx.services.catalogs.call(name, args)? else {
        return Ok(Box::new(std::iter::empty()));
    };
    let rows: Vec<Value> = found.iter().cloned().collect();
    Ok(Box::new(rows.into_iter()))
}

/// What no value has.
macro_rules! of_any {
    ($name:literal -> $result:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Any],
            variadic: false,
            result: ResultType::Fixed($result),
            strict: true,
            volatility: Volatility::Stable,
            body: Body::Scalar(|_, _| Ok(verso_types::Value::Null)),
            kernel: None,
        }
    };
}

/// Sets counters back; NULL is all of them.
macro_rules! resets {
    ($name:literal) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Exact(SqlType::Text)],
            variadic: false,
            result: ResultType::Fixed(SqlType::Void),
            strict: false,
            volatility: Volatility::Volatile,
            body: Body::Scalar(|cx, args| cx.services.catalogs.call($name, args)),
            kernel: None,
        }
    };
}

/// What dumps of PostgreSQL say about statistics, in pairs of a name and a value.
macro_rules! of_pairs {
    ($name:literal) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Any],
            variadic: true,
            result: ResultType::Fixed(SqlType::Bool),
            strict: false,
            volatility: Volatility::Volatile,
            body: Body::Scalar(|cx, args| cx.services.catalogs.call($name, args)),
            kernel: None,
        }
    };
}

/// What `pg_get_loaded_modules` yields.
static MODULES: [(&str, SqlType); 3] =
    [("module_name", SqlType::Text), ("version", SqlType::Text), ("file_name", SqlType::Text)];

static OTHERS: &[BuiltinFunction] = &[
    rows!("pg_get_loaded_modules" -> MODULES),
    of_pairs!("pg_restore_relation_stats"),
    of_pairs!("pg_restore_attribute_stats"),
    BuiltinFunction {
        name: "satisfies_hash_partition",
        operator: None,
        args: &[
            ArgType::Exact(SqlType::Oid),
            ArgType::Exact(SqlType::Int4),
            ArgType::Exact(SqlType::Int4),
            ArgType::Any,
        ],
        variadic: true,
        result: ResultType::Fixed(SqlType::Bool),
        strict: false,
        volatility: Volatility::Stable,
        body: Body::Typed(|cx, args, types| {
            // Values alone do not tell their types.
            let types = types.iter().map(|ty| Value::Int8(ty.pg_oid().into()));
            let mut all = vec![Value::Array(types.collect())];
            all.extend_from_slice(args);
            cx.services.catalogs.call("satisfies_hash_partition", &all)
        }),
        kernel: None,
    },
    BuiltinFunction {
        name: "pg_current_logfile",
        operator: None,
        args: &[ArgType::Exact(SqlType::Text)],
        variadic: false,
        result: ResultType::Fixed(SqlType::Text),
        strict: false,
        volatility: Volatility::Volatile,
        body: Body::Scalar(|cx, args| cx.services.catalogs.call("pg_current_logfile", args)),
        kernel: None,
    },
    BuiltinFunction {
        name: "pg_tablespace_databases",
        operator: None,
        args: &[ArgType::Exact(SqlType::Oid)],
        variadic: false,
        result: ResultType::Fixed(SqlType::Oid),
        strict: true,
        volatility: Volatility::Stable,
        body: Body::Set(|cx, args| listed(cx, "pg_tablespace_databases", args)),
        kernel: None,
    },
    rows!("pg_ls_waldir" -> LOG_FILES),
    rows!("pg_control_checkpoint" -> CONTROL_CHECKPOINT),
    rows!("pg_control_system" -> CONTROL_SYSTEM),
    rows!("pg_control_recovery" -> CONTROL_RECOVERY),
    rows!("pg_control_init" -> CONTROL_INIT),
    resets!("pg_stat_reset_shared"),
    resets!("pg_stat_reset_slru"),
    over_arrays!("pg_settings_get_flags" (SqlType::Text) -> ResultType::FixedArray(SqlType::Text)),
    over_arrays!("pg_get_acl" (SqlType::Oid, SqlType::Oid, SqlType::Int4) -> ResultType::FixedArray(SqlType::System(SystemType::AclItem))),
    over_arrays!("acldefault" (ty!(Char), SqlType::Oid) -> ResultType::FixedArray(SqlType::System(SystemType::AclItem))),
    BuiltinFunction {
        volatility: Volatility::Volatile,
        ..over_arrays!("pg_blocking_pids" (SqlType::Int4) -> ResultType::FixedArray(SqlType::Int4))
    },
    // Values are not compressed each by itself, and those outside of their page are no rows of another table.
    of_any!("pg_column_compression" -> SqlType::Text),
    of_any!("pg_column_toast_chunk_id" -> SqlType::Oid),
    written!("pg_get_sequence_data" (ty!(Regclass)) -> SEQUENCE_DATA, Volatility::Stable),
    written!("pg_sequence_parameters" (SqlType::Oid) -> SEQUENCE_PARAMETERS, Volatility::Stable),
    counter!("pg_stat_get_numscans"),
    counter!("pg_stat_get_tuples_returned"),
    counter!("pg_stat_get_tuples_fetched"),
    counter!("pg_stat_get_tuples_inserted"),
    counter!("pg_stat_get_tuples_updated"),
    counter!("pg_stat_get_tuples_deleted"),
    counter!("pg_stat_get_tuples_hot_updated"),
    counter!("pg_stat_get_dead_tuples"),
    counter!("pg_stat_get_blocks_fetched"),
    counter!("pg_stat_get_blocks_hit"),
    BuiltinFunction {
        name: "oidvectortypes",
        operator: None,
        args: &[ArgType::ArrayOf(SqlType::System(SystemType::VectorOid))],
        variadic: false,
        result: ResultType::Fixed(SqlType::Text),
        strict: true,
        volatility: Volatility::Stable,
        body: Body::Scalar(|cx, args| cx.services.catalogs.call("oidvectortypes", args)),
        kernel: None,
    },
    over_arrays!("pg_get_statisticsobjdef_expressions" (SqlType::Oid) -> ResultType::FixedArray(SqlType::Text)),
    over_arrays!("current_schemas" (SqlType::Bool) -> ResultType::FixedArray(SqlType::Name)),
    BuiltinFunction {
        name: "pg_partition_ancestors",
        operator: None,
        args: &[ArgType::Exact(ty!(Regclass))],
        variadic: false,
        result: ResultType::Fixed(ty!(Regclass)),
        strict: true,
        volatility: Volatility::Stable,
        body: Body::Set(|cx, args| listed(cx, "pg_partition_ancestors", args)),
        kernel: None,
    },
    BuiltinFunction {
        name: "pg_identify_object",
        operator: None,
        args: &[ArgType::Exact(SqlType::Oid), ArgType::Exact(SqlType::Oid), ArgType::Exact(SqlType::Int4)],
        variadic: false,
        result: ResultType::Columns(&IDENTITY),
        strict: true,
        volatility: Volatility::Stable,
        body: Body::Set(|cx, args| listed(cx, "pg_identify_object", args)),
        kernel: None,
    },
    BuiltinFunction {
        name: "pg_identify_object_as_address",
        operator: None,
        args: &[ArgType::Exact(SqlType::Oid), ArgType::Exact(SqlType::Oid), ArgType::Exact(SqlType::Int4)],
        variadic: false,
        result: ResultType::Mixed(&AS_ADDRESS),
        strict: true,
        volatility: Volatility::Stable,
        body: Body::Set(|cx, args| listed(cx, "pg_identify_object_as_address", args)),
        kernel: None,
    },
    BuiltinFunction {
        name: "pg_get_object_address",
        operator: None,
        args: &[
            ArgType::Exact(SqlType::Text),
            ArgType::ArrayOf(SqlType::Text),
            ArgType::ArrayOf(SqlType::Text),
        ],
        variadic: false,
        result: ResultType::Columns(&ADDRESS),
        strict: true,
        volatility: Volatility::Stable,
        body: Body::Set(|cx, args| listed(cx, "pg_get_object_address", args)),
        kernel: None,
    },
    BuiltinFunction {
        name: "pg_partition_tree",
        operator: None,
        args: &[ArgType::Exact(ty!(Regclass))],
        variadic: false,
        result: ResultType::Columns(&PARTITIONS),
        strict: true,
        volatility: Volatility::Stable,
        body: Body::Set(|cx, args| listed(cx, "pg_partition_tree", args)),
        kernel: None,
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 3] = [SCALAR, MOMENTARY, OTHERS];
