//! Figures of the statistics that PostgreSQL has a function for each: queries over the system's views.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use verso_catalog::{FunctionDef, FunctionReturn};
use verso_exec::functions::{BuiltinFunction, ResultType, candidates};
use verso_types::SqlType;

use super::written::{argument, definition};

/// A name and its number in `pg_proc`, the view, its column that the argument names a row by, and what of it is asked for.
type Figure = (&'static str, u32, &'static str, Option<&'static str>, &'static str);

static FIGURES: &[Figure] = &[
    ("pg_stat_get_autovacuum_count", 3055, "pg_stat_all_tables", Some("relid"), "autovacuum_count"),
    ("pg_stat_get_bgwriter_buf_written_clean", 2772, "pg_stat_bgwriter", None, "buffers_clean"),
    ("pg_stat_get_bgwriter_maxwritten_clean", 2773, "pg_stat_bgwriter", None, "maxwritten_clean"),
    ("pg_stat_get_bgwriter_stat_reset_time", 3075, "pg_stat_bgwriter", None, "stats_reset"),
    ("pg_stat_get_buf_alloc", 2859, "pg_stat_bgwriter", None, "buffers_alloc"),
    ("pg_stat_get_checkpointer_buffers_written", 2771, "pg_stat_checkpointer", None, "buffers_written"),
    ("pg_stat_get_checkpointer_num_performed", 6377, "pg_stat_checkpointer", None, "num_done"),
    ("pg_stat_get_checkpointer_num_requested", 2770, "pg_stat_checkpointer", None, "num_requested"),
    ("pg_stat_get_checkpointer_num_timed", 2769, "pg_stat_checkpointer", None, "num_timed"),
    (
        "pg_stat_get_checkpointer_restartpoints_performed",
        6329,
        "pg_stat_checkpointer",
        None,
        "restartpoints_done",
    ),
    (
        "pg_stat_get_checkpointer_restartpoints_requested",
        6328,
        "pg_stat_checkpointer",
        None,
        "restartpoints_req",
    ),
    (
        "pg_stat_get_checkpointer_restartpoints_timed",
        6327,
        "pg_stat_checkpointer",
        None,
        "restartpoints_timed",
    ),
    ("pg_stat_get_checkpointer_slru_written", 6366, "pg_stat_checkpointer", None, "slru_written"),
    ("pg_stat_get_checkpointer_stat_reset_time", 6314, "pg_stat_checkpointer", None, "stats_reset"),
    ("pg_stat_get_checkpointer_sync_time", 3161, "pg_stat_checkpointer", None, "sync_time"),
    ("pg_stat_get_checkpointer_write_time", 3160, "pg_stat_checkpointer", None, "write_time"),
    ("pg_stat_get_db_active_time", 6186, "pg_stat_database", Some("datid"), "active_time"),
    ("pg_stat_get_db_blk_read_time", 2844, "pg_stat_database", Some("datid"), "blk_read_time"),
    ("pg_stat_get_db_blk_write_time", 2845, "pg_stat_database", Some("datid"), "blk_write_time"),
    ("pg_stat_get_db_blocks_fetched", 1944, "pg_stat_database", Some("datid"), "blks_read + blks_hit"),
    ("pg_stat_get_db_blocks_hit", 1945, "pg_stat_database", Some("datid"), "blks_hit"),
    ("pg_stat_get_db_checksum_failures", 3426, "pg_stat_database", Some("datid"), "checksum_failures"),
    (
        "pg_stat_get_db_checksum_last_failure",
        3428,
        "pg_stat_database",
        Some("datid"),
        "checksum_last_failure",
    ),
    ("pg_stat_get_db_conflict_all", 3070, "pg_stat_database", Some("datid"), "conflicts"),
    (
        "pg_stat_get_db_conflict_bufferpin",
        3068,
        "pg_stat_database_conflicts",
        Some("datid"),
        "confl_bufferpin",
    ),
    ("pg_stat_get_db_conflict_lock", 3066, "pg_stat_database_conflicts", Some("datid"), "confl_lock"),
    (
        "pg_stat_get_db_conflict_logicalslot",
        6309,
        "pg_stat_database_conflicts",
        Some("datid"),
        "confl_active_logicalslot",
    ),
    ("pg_stat_get_db_conflict_snapshot", 3067, "pg_stat_database_conflicts", Some("datid"), "confl_snapshot"),
    (
        "pg_stat_get_db_conflict_startup_deadlock",
        3069,
        "pg_stat_database_conflicts",
        Some("datid"),
        "confl_deadlock",
    ),
    (
        "pg_stat_get_db_conflict_tablespace",
        3065,
        "pg_stat_database_conflicts",
        Some("datid"),
        "confl_tablespace",
    ),
    ("pg_stat_get_db_deadlocks", 3152, "pg_stat_database", Some("datid"), "deadlocks"),
    (
        "pg_stat_get_db_idle_in_transaction_time",
        6187,
        "pg_stat_database",
        Some("datid"),
        "idle_in_transaction_time",
    ),
    ("pg_stat_get_db_numbackends", 1941, "pg_stat_database", Some("datid"), "numbackends"),
    (
        "pg_stat_get_db_parallel_workers_launched",
        6356,
        "pg_stat_database",
        Some("datid"),
        "parallel_workers_launched",
    ),
    (
        "pg_stat_get_db_parallel_workers_to_launch",
        6355,
        "pg_stat_database",
        Some("datid"),
        "parallel_workers_to_launch",
    ),
    ("pg_stat_get_db_session_time", 6185, "pg_stat_database", Some("datid"), "session_time"),
    ("pg_stat_get_db_sessions", 6188, "pg_stat_database", Some("datid"), "sessions"),
    ("pg_stat_get_db_sessions_abandoned", 6189, "pg_stat_database", Some("datid"), "sessions_abandoned"),
    ("pg_stat_get_db_sessions_fatal", 6190, "pg_stat_database", Some("datid"), "sessions_fatal"),
    ("pg_stat_get_db_sessions_killed", 6191, "pg_stat_database", Some("datid"), "sessions_killed"),
    ("pg_stat_get_db_stat_reset_time", 3074, "pg_stat_database", Some("datid"), "stats_reset"),
    ("pg_stat_get_db_temp_bytes", 3151, "pg_stat_database", Some("datid"), "temp_bytes"),
    ("pg_stat_get_db_temp_files", 3150, "pg_stat_database", Some("datid"), "temp_files"),
    ("pg_stat_get_db_tuples_deleted", 2762, "pg_stat_database", Some("datid"), "tup_deleted"),
    ("pg_stat_get_db_tuples_fetched", 2759, "pg_stat_database", Some("datid"), "tup_fetched"),
    ("pg_stat_get_db_tuples_inserted", 2760, "pg_stat_database", Some("datid"), "tup_inserted"),
    ("pg_stat_get_db_tuples_returned", 2758, "pg_stat_database", Some("datid"), "tup_returned"),
    ("pg_stat_get_db_tuples_updated", 2761, "pg_stat_database", Some("datid"), "tup_updated"),
    ("pg_stat_get_db_xact_commit", 1942, "pg_stat_database", Some("datid"), "xact_commit"),
    ("pg_stat_get_db_xact_rollback", 1943, "pg_stat_database", Some("datid"), "xact_rollback"),
    ("pg_stat_get_function_calls", 2978, "pg_stat_user_functions", Some("funcid"), "calls"),
    ("pg_stat_get_function_self_time", 2980, "pg_stat_user_functions", Some("funcid"), "self_time"),
    ("pg_stat_get_function_total_time", 2979, "pg_stat_user_functions", Some("funcid"), "total_time"),
    ("pg_stat_get_ins_since_vacuum", 5053, "pg_stat_all_tables", Some("relid"), "n_ins_since_vacuum"),
    ("pg_stat_get_last_autovacuum_time", 2782, "pg_stat_all_tables", Some("relid"), "last_autovacuum"),
    ("pg_stat_get_last_vacuum_time", 2781, "pg_stat_all_tables", Some("relid"), "last_vacuum"),
    ("pg_stat_get_lastscan", 6310, "pg_stat_all_tables", Some("relid"), "last_seq_scan"),
    ("pg_stat_get_total_analyze_time", 6360, "pg_stat_all_tables", Some("relid"), "total_analyze_time"),
    (
        "pg_stat_get_total_autoanalyze_time",
        6361,
        "pg_stat_all_tables",
        Some("relid"),
        "total_autoanalyze_time",
    ),
    ("pg_stat_get_total_autovacuum_time", 6359, "pg_stat_all_tables", Some("relid"), "total_autovacuum_time"),
    ("pg_stat_get_total_vacuum_time", 6358, "pg_stat_all_tables", Some("relid"), "total_vacuum_time"),
    ("pg_stat_get_tuples_newpage_updated", 6217, "pg_stat_all_tables", Some("relid"), "n_tup_newpage_upd"),
    ("pg_stat_get_vacuum_count", 3054, "pg_stat_all_tables", Some("relid"), "vacuum_count"),
    ("pg_stat_get_xact_function_calls", 3046, "pg_stat_xact_user_functions", Some("funcid"), "calls"),
    ("pg_stat_get_xact_function_self_time", 3048, "pg_stat_xact_user_functions", Some("funcid"), "self_time"),
    (
        "pg_stat_get_xact_function_total_time",
        3047,
        "pg_stat_xact_user_functions",
        Some("funcid"),
        "total_time",
    ),
    ("pg_stat_get_xact_numscans", 3037, "pg_stat_xact_all_tables", Some("relid"), "seq_scan"),
    ("pg_stat_get_xact_tuples_deleted", 3042, "pg_stat_xact_all_tables", Some("relid"), "n_tup_del"),
    ("pg_stat_get_xact_tuples_fetched", 3039, "pg_stat_xact_all_tables", Some("relid"), "idx_tup_fetch"),
    ("pg_stat_get_xact_tuples_hot_updated", 3043, "pg_stat_xact_all_tables", Some("relid"), "n_tup_hot_upd"),
    ("pg_stat_get_xact_tuples_inserted", 3040, "pg_stat_xact_all_tables", Some("relid"), "n_tup_ins"),
    (
        "pg_stat_get_xact_tuples_newpage_updated",
        6218,
        "pg_stat_xact_all_tables",
        Some("relid"),
        "n_tup_newpage_upd",
    ),
    ("pg_stat_get_xact_tuples_returned", 3038, "pg_stat_xact_all_tables", Some("relid"), "seq_tup_read"),
    ("pg_stat_get_xact_tuples_updated", 3041, "pg_stat_xact_all_tables", Some("relid"), "n_tup_upd"),
];

static WRITTEN: LazyLock<HashMap<&'static str, Arc<FunctionDef>>> = LazyLock::new(|| {
    let one = |(name, number, view, key, column): &Figure| {
        let [function] = candidates(name) else { return None };
        let ResultType::Fixed(ty) = &function.result else { return None };
        let row = key.map_or_else(String::new, |key| format!(" WHERE {key} = $1"));
        let asked = format!("(SELECT {column} FROM pg_catalog.{view}{row})");
        // Nothing has been counted of what is not there; of functions nobody counts calls unless they have been called.
        let known = matches!(ty, SqlType::Timestamptz(_)) || *key == Some("funcid");
        let value = if known { asked } else { format!("coalesce({asked}, 0)") };
        let args = key.iter().map(|_| argument("oid", SqlType::Oid)).collect();
        let body = format!("\nBEGIN\n    RETURN {value};\nEND");
        Some((*name, definition((*number, name), args, FunctionReturn::Scalar(ty.clone()), &body)))
    };
    FIGURES.iter().filter_map(one).collect()
});

/// The definition that stands for an entry of the registry, if it is one of them.
pub(super) fn figure(function: &BuiltinFunction) -> Option<Arc<FunctionDef>> {
    WRITTEN.get(function.name).cloned()
}
