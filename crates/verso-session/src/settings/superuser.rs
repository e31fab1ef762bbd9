//! Settings that only superusers may change: with them a session would hide what it does, or pass what others rely on.
//!
//! Source: PostgreSQL 18, `guc_tables.c` (`PGC_SUSET`).

use verso_planner::errors::{SqlError, sqlstate};

const OF_SUPERUSERS: [&str; 10] = [
    "deadlock_timeout",
    "lc_messages",
    "log_error_verbosity",
    "log_min_duration_statement",
    "log_min_error_statement",
    "log_min_messages",
    "log_plans",
    "log_statement",
    "session_replication_role",
    "temp_file_limit",
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
