//! Settings that only superusers may change: with them a session would hide what it does, or pass what others rely on.
//!
//! Source: PostgreSQL 18, `guc_tables.c` (`PGC_SUSET`).

use verso_planner::errors::{SqlError, sqlstate};

const OF_SUPERUSERS: [&str; 29] = [
    "allow_in_place_tablespaces",
    "compute_query_id",
    "deadlock_timeout",
    "ignore_checksum_failure",
    "jit_dump_bitcode",
    "lc_messages",
    "lo_compat_privileges",
    "log_duration",
    "log_error_verbosity",
    "log_executor_stats",
    "log_lock_failures",
    "log_lock_waits",
    "log_min_duration_statement",
    "log_min_error_statement",
    "log_min_messages",
    "log_parser_stats",
    "log_planner_stats",
    "log_plans",
    "log_replication_commands",
    "log_statement",
    "log_statement_stats",
    "pg_stat_statements.track",
    "pg_stat_statements.track_planning",
    "pg_stat_statements.track_utility",
    "session_replication_role",
    "temp_file_limit",
    "track_cost_delay_timing",
    "wal_compression",
    "zero_damaged_pages",
];

/// Whether only superusers may change it.
pub(crate) fn needs_superuser(name: &str) -> bool {
    OF_SUPERUSERS.contains(&name)
}

/// Refuses a setting that the role may not change.
///
/// # Errors
/// 42501.
pub(crate) fn check_may_set(name: &str, superuser: bool) -> Result<(), SqlError> {
    if superuser || !needs_superuser(name) {
        return Ok(());
    }
    let text = format!("permission denied to set parameter \"{name}\"");
    Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text))
}
