//! Levers of other systems that Verso has not, each with what serves instead (docs/decisions/0025), and those that only the
//! server's own configuration has.

use super::fixed::POSTGRESQL_ONLY;
use verso_planner::errors::{SqlError, sqlstate};

/// Names, why there is none, what serves instead.
const OTHERWISE: &[(&str, &str, &str)] = &[
    (
        "listen_threads",
        "one thread accepts connections, and each login has a thread of its own",
        "worker_threads says how many threads serve sessions, max_connections how many sessions there may be.",
    ),
    (
        "poll_threads",
        "the threads that serve sessions wait for them, too",
        "worker_threads says how many there are.",
    ),
    (
        "memory_initial",
        "memory is taken when it is needed, and none beforehand",
        "buffer_pool, memory_limit and statement_memory_limit say how much it may be; PREWARM reads pages before they are needed.",
    ),
    (
        "memory_add",
        "memory is taken as it is needed, not in segments",
        "buffer_pool and memory_limit change while the database is used.",
    ),
    (
        "page_cleaners",
        "one thread writes changed pages, in batches",
        "lru_min_dirty and lru_max_dirty say when it starts and stops.",
    ),
    (
        "stmt_cache_hits",
        "a text is kept from its first execution on, and one that does not come again is the first to go",
        "stmt_cache says whether texts are kept, stmt_cache_size how many.",
    ),
    (
        "undo_bitmap_limit",
        "what a savepoint notes of the records it has changed grows with them, and goes with it",
        "default_transaction_savepoints = off, or BEGIN NO SAVEPOINT, keeps nothing; verso_transactions shows undo_bitmap_bytes.",
    ),
    (
        "colocate_pages_per_tx",
        "a transaction takes pages as it needs them",
        "colocate says whether it has pages of its own.",
    ),
    (
        "autovacuum_vacuum_scale_factor",
        "old versions are removed as soon as nobody sees them",
        "gc_policy says who removes them.",
    ),
    (
        "autovacuum_vacuum_threshold",
        "old versions are removed as soon as nobody sees them",
        "gc_policy says who removes them.",
    ),
    (
        "checkpoint_completion_target",
        "changed pages are written all the time, not towards a checkpoint",
        "lru_min_dirty and lru_max_dirty say when that starts and stops.",
    ),
    (
        "commit_delay",
        "commits that come while the log is written go with the next write",
        "commit_logging = batch does not wait for that.",
    ),
    (
        "commit_siblings",
        "commits that come while the log is written go with the next write",
        "commit_logging = batch does not wait for that.",
    ),
    (
        "effective_io_concurrency",
        "scans read the pages ahead that they will need",
        "auto_readahead says which.",
    ),
    (
        "maintenance_io_concurrency",
        "scans read the pages ahead that they will need",
        "auto_readahead says which.",
    ),
    ("hash_mem_multiplier", "hash tables and sorts take memory alike", "work_mem says how much."),
    (
        "max_parallel_maintenance_workers",
        "queries and jobs of maintenance share the workers",
        "parallel_workers says how many a statement gets.",
    ),
    (
        "min_parallel_index_scan_size",
        "one limit serves tables and indexes",
        "min_parallel_table_scan_size is that.",
    ),
    ("min_wal_size", "files of the log are kept for new ones", "wal_spare_size says how many bytes of them."),
    (
        "log_min_duration_sample",
        "each slow statement is logged",
        "log_min_duration_statement says what is slow.",
    ),
    (
        "log_statement_sample_rate",
        "each slow statement is logged",
        "log_min_duration_statement says what is slow.",
    ),
    ("autovacuum_work_mem", "jobs of maintenance share one limit", "maintenance_memory is that."),
];

/// Settings of `verso serve` that no statement changes.
const OF_SERVER: &[&str] = &[
    "access_rules",
    "authentication_timeout",
    "config_file",
    "data_directory",
    "hba_file",
    "listen",
    "log_format",
    "log_level",
    "max_connections",
    "max_message_size",
    "max_running_statements",
    "metrics",
    "require_tls",
    "shutdown_timeout",
    "socket_directory",
    "socket_permissions",
    "tls_certificate",
    "tls_client_ca",
    "tls_key",
    "port",
    "ssl",
    "unix_socket_directories",
    "unix_socket_permissions",
    "listen_addresses",
    "ssl_cert_file",
    "ssl_key_file",
    "ssl_ca_file",
    "worker_threads",
];

/// What a statement is told that names a setting which there is not.
pub fn unknown(name: &str) -> SqlError {
    if let Some((_, why, hint)) = OTHERWISE.iter().find(|(known, ..)| *known == name) {
        let text = format!("there is no {name}: {why}");
        return SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_hint(*hint);
    }
    if OF_SERVER.contains(&name) {
        let text = format!("parameter \"{name}\" is the server's own, and no statement changes it");
        return SqlError::new(sqlstate::CANT_CHANGE_RUNTIME_PARAM, text)
            .with_hint("It stands in the file of verso serve --config, or behind its -c.");
    }
    let error =
        SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""));
    match POSTGRESQL_ONLY.contains(&name) {
        true => error.with_hint("PostgreSQL has this setting. Verso has nothing that it could change."),
        false => error,
    }
}

/// Refuses a name that no setting of a client's own making can have: parts between dots, each like an identifier. The settings of
/// PL/pgSQL are its own.
///
/// # Errors
/// 42602.
pub(super) fn check_custom(name: &str) -> Result<(), SqlError> {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let goes_on = |c: char| begins(c) || c.is_ascii_digit() || c == '$';
    let detail = match name.split_once('.') {
        Some(("plpgsql", _)) => "\"plpgsql\" is a reserved prefix.",
        _ if name.split('.').all(|part| part.starts_with(begins) && part.chars().all(goes_on)) => {
            return Ok(());
        }
        _ => "Custom parameter names must be two or more simple identifiers separated by dots.",
    };
    let text = format!("invalid configuration parameter name \"{name}\"");
    Err(SqlError::new("42602", text).with_detail(detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SETTINGS;

    #[test]
    fn what_there_is_not_is_told_with_what_serves_instead() {
        for (name, ..) in OTHERWISE {
            let error = unknown(name);
            assert_eq!(error.sqlstate, "0A000", "{name}");
            let hint = error.hint.unwrap_or_default();
            let names = |setting: &&(&str, &str)| hint.contains(setting.0);
            let served = SETTINGS.iter().any(|setting| names(&setting))
                || OF_SERVER.iter().any(|setting| hint.contains(setting));
            assert!(served, "{hint} names no setting");
            assert!(SETTINGS.iter().all(|(known, _)| known != name), "{name} is there after all");
        }
        assert_eq!(unknown("worker_threads").sqlstate, "55P02");
        assert_eq!(unknown("nosuch").sqlstate, "42704");
    }
}
