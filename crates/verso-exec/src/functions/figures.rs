//! Figures of the statistics, one function each: `pg_stat_get_db_xact_commit(oid)`. Binding puts a query over the system's views in the
//! place of each.

use verso_types::SqlType;

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

macro_rules! figures {
    ($($name:literal [$($arg:expr),*] $result:expr;)*) => {
        &[$(BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$(ArgType::Exact($arg)),*],
            variadic: false,
            result: ResultType::Fixed($result),
            strict: true,
            volatility: Volatility::Stable,
            body: Body::Scalar(|_, args| Err(unexpected($name, args))),
            kernel: None,
        },)*]
    };
}

static FIGURES: &[BuiltinFunction] = figures! {
    "pg_stat_get_autovacuum_count" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_bgwriter_buf_written_clean" [] SqlType::Int8;
    "pg_stat_get_bgwriter_maxwritten_clean" [] SqlType::Int8;
    "pg_stat_get_bgwriter_stat_reset_time" [] SqlType::Timestamptz(None);
    "pg_stat_get_buf_alloc" [] SqlType::Int8;
    "pg_stat_get_checkpointer_buffers_written" [] SqlType::Int8;
    "pg_stat_get_checkpointer_num_performed" [] SqlType::Int8;
    "pg_stat_get_checkpointer_num_requested" [] SqlType::Int8;
    "pg_stat_get_checkpointer_num_timed" [] SqlType::Int8;
    "pg_stat_get_checkpointer_restartpoints_performed" [] SqlType::Int8;
    "pg_stat_get_checkpointer_restartpoints_requested" [] SqlType::Int8;
    "pg_stat_get_checkpointer_restartpoints_timed" [] SqlType::Int8;
    "pg_stat_get_checkpointer_slru_written" [] SqlType::Int8;
    "pg_stat_get_checkpointer_stat_reset_time" [] SqlType::Timestamptz(None);
    "pg_stat_get_checkpointer_sync_time" [] SqlType::Float8;
    "pg_stat_get_checkpointer_write_time" [] SqlType::Float8;
    "pg_stat_get_db_active_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_db_blk_read_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_db_blk_write_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_db_blocks_fetched" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_blocks_hit" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_checksum_failures" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_checksum_last_failure" [SqlType::Oid] SqlType::Timestamptz(None);
    "pg_stat_get_db_conflict_all" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_conflict_bufferpin" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_conflict_lock" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_conflict_logicalslot" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_conflict_snapshot" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_conflict_startup_deadlock" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_conflict_tablespace" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_deadlocks" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_idle_in_transaction_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_db_numbackends" [SqlType::Oid] SqlType::Int4;
    "pg_stat_get_db_parallel_workers_launched" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_parallel_workers_to_launch" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_session_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_db_sessions" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_sessions_abandoned" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_sessions_fatal" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_sessions_killed" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_stat_reset_time" [SqlType::Oid] SqlType::Timestamptz(None);
    "pg_stat_get_db_temp_bytes" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_temp_files" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_tuples_deleted" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_tuples_fetched" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_tuples_inserted" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_tuples_returned" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_tuples_updated" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_xact_commit" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_db_xact_rollback" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_function_calls" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_function_self_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_function_total_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_ins_since_vacuum" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_last_autovacuum_time" [SqlType::Oid] SqlType::Timestamptz(None);
    "pg_stat_get_last_vacuum_time" [SqlType::Oid] SqlType::Timestamptz(None);
    "pg_stat_get_lastscan" [SqlType::Oid] SqlType::Timestamptz(None);
    "pg_stat_get_total_analyze_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_total_autoanalyze_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_total_autovacuum_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_total_vacuum_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_tuples_newpage_updated" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_vacuum_count" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_xact_function_calls" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_xact_function_self_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_xact_function_total_time" [SqlType::Oid] SqlType::Float8;
    "pg_stat_get_xact_numscans" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_xact_tuples_deleted" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_xact_tuples_fetched" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_xact_tuples_hot_updated" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_xact_tuples_inserted" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_xact_tuples_newpage_updated" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_xact_tuples_returned" [SqlType::Oid] SqlType::Int8;
    "pg_stat_get_xact_tuples_updated" [SqlType::Oid] SqlType::Int8;
};

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FIGURES];
