//! The settings that there are: their names, what they do, and which of them are the database's.

use std::sync::LazyLock;

use super::kept::described;
use super::{accepted, fixed};

/// Names and descriptions, in the order of SHOW ALL.
pub const SETTINGS: &[(&str, &str)] = &[
    ("application_name", "Sets the application name to be reported in statistics and logs."),
    (
        "archive_target",
        "Folder, or s3://bucket/prefix, to which the log is archived; empty for none (ALTER SYSTEM SET).",
    ),
    (
        "archive_timeout",
        "Longest time until a change is archived; 0 waits for full segments (ALTER SYSTEM SET).",
    ),
    ("autovacuum", "Analyzes tables by itself of which enough rows have changed (ALTER SYSTEM SET)."),
    (
        "auto_readahead",
        "How scans read pages before they need them: 'mode,pages', mode 0 not at all, 1 the next pages, 2 the first ones, too (ALTER SYSTEM SET).",
    ),
    (
        "autovacuum_analyze_scale_factor",
        "Share of a table's rows that change before it is analyzed by itself (ALTER SYSTEM SET).",
    ),
    (
        "autovacuum_analyze_threshold",
        "Rows that change, beside that share, before it is analyzed by itself (ALTER SYSTEM SET).",
    ),
    ("autovacuum_naptime", "A table is analyzed by itself at most once in this time (ALTER SYSTEM SET)."),
    ("checkpoint_interval", "Longest time between checkpoints (ALTER SYSTEM SET)."),
    ("buffer_pool", "Memory that pages of the database take (ALTER SYSTEM SET)."),
    (
        "auto_backout",
        "Whether pages of dead transactions are put right by a thread of its own (ALTER DATABASE SET).",
    ),
    (
        "begin_options",
        "What transactions begin with, as one list: no_savepoint, read_only, deferrable, an isolation level.",
    ),
    ("bytea_output", "Sets the output format for bytea."),
    ("client_encoding", "Sets the client's character set encoding."),
    ("client_min_messages", "Sets the message levels that are sent to the client."),
    ("colocate", "Whether tables place what one transaction writes in pages of its own (ALTER SYSTEM SET)."),
    ("compress", "Whether cold pages of tables are packed by themselves (ALTER SYSTEM SET)."),
    (
        "compress_delay",
        "How long pages are unchanged before they are packed by themselves (ALTER SYSTEM SET).",
    ),
    ("commit_logging", "Whether the log of a commit is written at once or with others: immediate or batch."),
    ("commit_wait", "Whether a commit waits for the disk: wait, nowait or force_wait."),
    ("compute_query_id", "Enables in-core computation of query identifiers."),
    ("datestyle", "Sets the display format for date and time values."),
    ("default_text_search_config", "Sets default text search configuration."),
    ("default_transaction_deferrable", "Sets the default deferrable status of new transactions."),
    ("default_transaction_isolation", "Sets the transaction isolation level of each new transaction."),
    ("default_transaction_read_only", "Sets the default read-only status of new transactions."),
    ("default_transaction_savepoints", "Off: each new transaction is a NO SAVEPOINT transaction."),
    ("enable_bitmapscan", "Enables reading tables by several indexes together, and by inverted indexes."),
    ("enable_hashjoin", "Enables joins by hash tables; off: they are the last resort."),
    ("enable_indexscan", "Enables reading tables by indexes."),
    ("enable_mergejoin", "Enables joins of sorted inputs; off: they are the last resort."),
    ("enable_nestloop", "Enables looking partners up for each row of a join; off: that is the last resort."),
    ("enable_seqscan", "Enables reading a table as a whole where an index would do."),
    ("executor", "Chooses the executor: auto, row or vector."),
    ("extra_float_digits", "Sets the number of digits displayed for floating-point values."),
    (
        "gc_policy",
        "Who removes old versions: a thread of its own (background), transactions when they end (cooperative), or both (combined) (ALTER SYSTEM SET).",
    ),
    ("idle_in_transaction_session_timeout", "Ends a session whose transaction idles longer than this."),
    ("idle_session_timeout", "Ends a session that idles longer than this outside of a transaction."),
    ("intervalstyle", "Sets the display format for interval values."),
    (
        "long_tx_action",
        "What happens beyond long_tx_wal_limit: warn, cancel or terminate (ALTER SYSTEM SET).",
    ),
    ("long_tx_wal_limit", "Most log that a transaction may span; 0 is no limit (ALTER SYSTEM SET)."),
    ("lock_timeout", "Ends a statement that waits longer than this for a lock."),
    ("log_error_verbosity", "Sets the verbosity of logged messages."),
    ("log_min_duration_statement", "Logs statements that take so long or longer; -1 logs none."),
    (
        "log_min_error_statement",
        "Causes all statements generating error at or above this level to be logged.",
    ),
    ("log_min_messages", "Sets the message levels that are logged."),
    ("log_statement", "Sets the type of statements logged."),
    ("log_plans", "Logs the plans of slow statements, too: off, on, or analyze, with what was measured."),
    (
        "lru_max_dirty",
        "The page cleaner starts when so many per cent of the buffer pool are dirty (ALTER SYSTEM SET).",
    ),
    (
        "lru_min_dirty",
        "The page cleaner stops when so many per cent of the buffer pool are dirty (ALTER SYSTEM SET).",
    ),
    ("maintenance_memory", "Memory that sorting an index may take; beyond it temporary files are used."),
    ("max_parallel_workers", "Most workers of a query or of a job of maintenance (ALTER DATABASE SET)."),
    (
        "max_pdq_priority",
        "The part of their pdq_priority that statements get, in per cent (ALTER SYSTEM SET).",
    ),
    (
        "max_snapshot_age",
        "Ends statements and transactions whose snapshot is older than this; 0 is never (ALTER SYSTEM SET).",
    ),
    ("max_wal_size", "Most log between checkpoints (ALTER SYSTEM SET)."),
    ("memory_limit", "Limits the memory of all statements of the database (ALTER DATABASE SET)."),
    (
        "min_parallel_table_scan_size",
        "A query reads tables with several workers where it reads so much or more.",
    ),
    (
        "pdq_priority",
        "The part of the machine that a statement with workers asks for, in per cent; default is to ask for nothing and to take what is free.",
    ),
    (
        "parallel_workers",
        "Workers of a query or of a job of maintenance: of CREATE INDEX, REINDEX and SWEEP.",
    ),
    (
        "pg_stat_statements.max",
        "Sets the maximum number of statements tracked by pg_stat_statements (ALTER SYSTEM SET).",
    ),
    ("pg_stat_statements.track", "Selects which statements are tracked by pg_stat_statements."),
    (
        "pg_stat_statements.track_planning",
        "Selects whether planning duration is tracked by pg_stat_statements.",
    ),
    (
        "pg_stat_statements.track_utility",
        "Selects whether utility commands are tracked by pg_stat_statements.",
    ),
    ("plan_cache_mode", "Controls the planner's selection of custom or generic plan."),
    (
        "procedure_commit",
        "When commits within a procedure wait: once at its end (deferred_wait), or each (wait).",
    ),
    ("quote_all_identifiers", "When generating SQL fragments, quote all identifiers."),
    ("row_security", "Enables row security."),
    ("scram_iterations", "Sets the iteration count for SCRAM secret generation."),
    ("search_path", "Sets the schema search order for names that are not schema-qualified."),
    ("server_encoding", "Shows the server (database) character set encoding."),
    ("server_version", "Shows the server version."),
    ("server_version_num", "Shows the server version as an integer."),
    ("session_memory_limit", "Limits the memory that a session's statements and portals hold."),
    ("standard_conforming_strings", "Causes '...' strings to treat backslashes literally."),
    ("statement_memory_limit", "Limits the memory that a statement holds."),
    ("statement_statistics", "Counts what each statement costs, for SHOW STATEMENT STATISTICS."),
    ("statement_timeout", "Ends a statement that runs longer than this."),
    ("stmt_cache", "Whether the session looks for a text among those whose plans are kept for all sessions."),
    ("stmt_cache_size", "How many texts are kept for all sessions (ALTER SYSTEM SET)."),
    ("sweep_interval", "Transactions after which a sweep starts by itself; 0 is never (ALTER DATABASE SET)."),
    ("synchronous_commit", "Sets commit_wait and commit_logging: off is nowait and batch."),
    ("temp_file_limit", "Limits the temporary files of a session."),
    ("timezone", "Sets the time zone for displaying and interpreting time stamps."),
    ("transaction_deferrable", "Shows whether the current transaction waits for a safe snapshot."),
    ("transaction_isolation", "Shows the current transaction's isolation level."),
    ("transaction_read_only", "Shows the current transaction's read-only status."),
    ("transaction_savepoints", "Shows whether the current transaction has savepoints."),
    ("transaction_timeout", "Ends a session whose transaction lasts longer than this."),
    ("verso_rules_off", "Switches rewrites of plans off, by name, to compare answers in tests."),
    (
        "version_retention",
        "How long old versions stay, so that AS OF reads them; 0 is not at all (ALTER SYSTEM SET).",
    ),
    (
        "version_retention_size",
        "Most space of old versions, beyond which version_retention is cut short; 0 is no limit (ALTER SYSTEM SET).",
    ),
    ("wal_spare_size", "Most bytes of log files kept ready to be written (ALTER SYSTEM SET)."),
    ("work_mem", "Sets the maximum memory to be used for query workspaces."),
    ("worker_idle_timeout", "How long a worker without work stays (ALTER DATABASE SET)."),
];

/// All that there are, by name: those above, those under which clients of PostgreSQL look for something, and those that have one
/// value. SHOW ALL, `pg_settings` and `verso_settings` are this list.
pub(crate) fn all() -> &'static [(&'static str, &'static str)] {
    static ALL: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
        let (accepted, fixed) = (described(accepted::LIST), described(fixed::FIXED));
        let elsewhere = fixed::KNOWN_ELSEWHERE.iter().copied();
        let mut all: Vec<_> =
            SETTINGS.iter().copied().chain(accepted).chain(fixed).chain(elsewhere).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all
    });
    &ALL
}

/// Those of the database as a whole, which nobody sets for a session.
pub(crate) const OF_DATABASE: [&str; 32] = [
    "archive_target",
    "archive_timeout",
    "auto_backout",
    "auto_readahead",
    "autovacuum",
    "autovacuum_analyze_scale_factor",
    "autovacuum_analyze_threshold",
    "autovacuum_naptime",
    "buffer_pool",
    "checkpoint_interval",
    "checkpoint_timeout",
    "colocate",
    "compress",
    "compress_delay",
    "gc_policy",
    "long_tx_action",
    "long_tx_wal_limit",
    "lru_max_dirty",
    "lru_min_dirty",
    "max_parallel_workers",
    "max_pdq_priority",
    "max_snapshot_age",
    "max_wal_size",
    "memory_limit",
    "pg_stat_statements.max",
    "shared_buffers",
    "stmt_cache_size",
    "sweep_interval",
    "version_retention",
    "version_retention_size",
    "wal_spare_size",
    "worker_idle_timeout",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn every_setting_that_is_listed_shows_or_belongs_to_the_transaction() {
        let settings = Settings::default();
        for (name, _) in SETTINGS {
            let elsewhere = name.starts_with("transaction_")
                || name.starts_with("autovacuum")
                || OF_DATABASE.contains(name)
                || *name == "parallel_workers";
            assert!(settings.show(name).is_some() || elsewhere, "{name}");
        }
    }
}
