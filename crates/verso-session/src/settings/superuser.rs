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

/// The number of a setting in lists of rights.
pub(crate) fn parameter_number(name: &str) -> Option<u32> {
    super::listed::all().iter().any(|(known, _)| *known == name).then(|| mixed(name))
}

/// The setting of that number.
pub(crate) fn parameter_numbered(number: u32) -> Option<&'static str> {
    super::listed::all().iter().map(|(name, _)| *name).find(|name| mixed(name) == number)
}

/// A number that a name makes, the same in every release (FNV-1a), above all numbers that a catalog comes to.
fn mixed(name: &str) -> u32 {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    name.bytes().fold(2_166_136_261, mix) | 0xC000_0000
}

/// Refuses a setting that the role may not change: `may` says whether it may change this one though it is for superusers.
///
/// # Errors
/// 42501.
pub(crate) fn check_may_set(name: &str, may: impl FnOnce() -> bool) -> Result<(), SqlError> {
    if !needs_superuser(name) || may() {
        return Ok(());
    }
    let text = format!("permission denied to set parameter \"{name}\"");
    Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_settings_have_a_number() {
        for (name, _) in super::super::listed::all() {
            assert_eq!(parameter_number(name).and_then(parameter_numbered), Some(*name), "{name}");
        }
        assert_eq!(parameter_number("none_of_them"), None);
    }
}
