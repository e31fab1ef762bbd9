//! Settings that nobody changes, with what is true of Verso: clients and tools look them up. And the names of those which PostgreSQL
//! has and Verso has not. Which are of which kind, and why: docs/decisions/0028.

use super::kept::{Kept, value_of};

/// Those that have one value.
pub(crate) const FIXED: &[Kept] = &[
    ("allow_alter_system", "on", "Allows running the ALTER SYSTEM command."),
    ("archive_cleanup_command", "", "Sets the shell command that will be executed at every restart point."),
    ("archive_command", "(disabled)", "Sets the shell command that will be called to archive a WAL file."),
    ("archive_library", "", "Sets the library that will be called to archive a WAL file."),
    ("bonjour", "off", "Enables advertising the server via Bonjour."),
    ("cluster_name", "", "Sets the name of the cluster, which is included in the process title."),
    ("data_checksums", "on", "Shows whether data checksums are turned on for this cluster."),
    ("debug_assertions", "off", "Shows whether the running server has assertion checks enabled."),
    ("debug_discard_caches", "0", "Aggressively flush system caches for debugging purposes."),
    ("event_triggers", "off", "Enables event triggers."),
    ("fsync", "on", "Forces synchronization of updates to disk."),
    ("full_page_writes", "off", "Writes full pages to WAL when first modified after a checkpoint."),
    ("gss_accept_delegation", "off", "Sets whether GSSAPI delegation should be accepted from the client."),
    ("hot_standby", "off", "Allows connections and queries during recovery."),
    (
        "hot_standby_feedback",
        "off",
        "Allows feedback from a hot standby to the primary that will avoid query conflicts.",
    ),
    ("ignore_invalid_pages", "off", "Continues recovery after an invalid pages failure."),
    ("ignore_system_indexes", "off", "Disables reading from system indexes."),
    ("in_hot_standby", "off", "Shows whether hot standby is currently active."),
    ("integer_datetimes", "on", "Shows whether datetimes are integer based."),
    ("io_method", "sync", "Selects the method for executing asynchronous I/O."),
    ("jit_debugging_support", "off", "Register JIT-compiled functions with debugger."),
    ("jit_profiling_support", "off", "Register JIT-compiled functions with perf profiler."),
    (
        "krb_caseins_users",
        "off",
        "Sets whether Kerberos and GSSAPI user names should be treated as case-insensitive.",
    ),
    ("krb_server_keyfile", "", "Sets the location of the Kerberos server key file."),
    ("lc_collate", "C", "Shows the order of texts without a collation."),
    ("lc_ctype", "C", "Shows the classes of characters."),
    ("local_preload_libraries", "", "Lists unprivileged shared libraries to preload into each backend."),
    ("log_destination", "stderr", "Sets the destination for server log output."),
    ("log_disconnections", "on", "Logs end of a session, including duration."),
    ("log_hostname", "off", "Logs the host name in the connection logs."),
    ("log_timezone", "UTC", "Sets the time zone to use in log messages."),
    (
        "logging_collector",
        "off",
        "Start a subprocess to capture stderr, csvlog and/or jsonlog into log files.",
    ),
    ("max_active_replication_origins", "0", "Sets the maximum number of active replication origins."),
    ("max_function_args", "100", "Shows the maximum number of function arguments."),
    ("max_identifier_length", "63", "Shows the maximum identifier length."),
    ("max_index_keys", "32", "Shows the maximum number of index keys."),
    ("max_logical_replication_workers", "0", "Maximum number of logical replication worker processes."),
    ("max_replication_slots", "0", "Sets the maximum number of simultaneously defined replication slots."),
    ("max_wal_senders", "0", "Sets the maximum number of simultaneously running WAL sender processes."),
    (
        "oauth_validator_libraries",
        "",
        "Lists libraries that may be called to validate OAuth v2 bearer tokens.",
    ),
    ("pg_stat_statements.save", "off", "Save pg_stat_statements statistics across server shutdowns."),
    ("primary_conninfo", "", "Sets the connection string to be used to connect to the sending server."),
    ("primary_slot_name", "", "Sets the name of the replication slot to use on the sending server."),
    ("recovery_end_command", "", "Sets the shell command that will be executed once at the end of recovery."),
    ("recovery_target", "", "Set to \"immediate\" to end recovery as soon as a consistent state is reached."),
    (
        "reserved_connections",
        "0",
        "Sets the number of connection slots reserved for roles with privileges of pg_use_reserved_connections.",
    ),
    ("restore_command", "", "Sets the shell command that will be called to retrieve an archived WAL file."),
    ("session_preload_libraries", "", "Lists shared libraries to preload into each backend."),
    ("shared_preload_libraries", "", "Lists shared libraries to preload into server."),
    ("ssl_library", "rustls", "Shows the name of the SSL library."),
    ("ssl_min_protocol_version", "TLSv1.2", "Sets the minimum SSL/TLS protocol version to use."),
    ("summarize_wal", "off", "Starts the WAL summarizer process to enable incremental backup."),
    ("superuser_reserved_connections", "0", "Sets the number of connection slots reserved for superusers."),
    (
        "sync_replication_slots",
        "off",
        "Enables a physical standby to synchronize logical failover replication slots from the primary server.",
    ),
    (
        "synchronized_standby_slots",
        "",
        "Lists streaming replication standby server replication slot names that logical WAL sender processes will wait for.",
    ),
    (
        "synchronous_standby_names",
        "",
        "Number of synchronous standbys and list of names of potential synchronous ones.",
    ),
    ("timezone_abbreviations", "Default", "Selects a file of time zone abbreviations."),
    ("trace_connection_negotiation", "off", "Logs details of pre-authentication connection handshake."),
    ("track_commit_timestamp", "off", "Collects transaction commit time."),
    ("track_io_timing", "off", "Collects timing statistics for database I/O activity."),
    ("track_wal_io_timing", "off", "Collects timing statistics for WAL I/O activity."),
    ("wal_level", "replica", "Sets the level of information written to the WAL."),
    (
        "wal_log_hints",
        "off",
        "Writes full pages to WAL when first modified after a checkpoint, even for a non-critical modification.",
    ),
    ("wal_sync_method", "fdatasync", "Selects the method used for forcing WAL updates to disk."),
    ("bonjour_name", "", "Sets the Bonjour service name."),
    ("external_pid_file", "", "Writes the postmaster PID to the specified file."),
    ("ident_file", "", "Sets the server's \"ident\" configuration file."),
    (
        "max_parallel_apply_workers_per_subscription",
        "0",
        "Maximum number of parallel apply workers per subscription.",
    ),
    (
        "max_sync_workers_per_subscription",
        "0",
        "Maximum number of table synchronization workers per subscription.",
    ),
    ("ssl_crl_dir", "", "Location of the SSL certificate revocation list directory."),
    ("ssl_crl_file", "", "Location of the SSL certificate revocation list file."),
    ("ssl_dh_params_file", "", "Location of the SSL DH parameters file."),
    ("ssl_passphrase_command", "", "Command to obtain passphrases for SSL."),
    (
        "ssl_passphrase_command_supports_reload",
        "off",
        "Controls whether \"ssl_passphrase_command\" is called during server reload.",
    ),
    ("unix_socket_group", "", "Sets the owning group of the Unix-domain socket."),
    ("xmlbinary", "base64", "Sets how binary values are to be encoded in XML."),
];

/// Settings that tell of paths of the machine: only roles with the rights of `pg_read_all_settings` see them.
const SECRET: [&str; 3] = ["config_file", "data_directory", "hba_file"];

/// Whether not everybody may see it.
pub(crate) fn is_secret(name: &str) -> bool {
    SECRET.contains(&name)
}

/// Settings whose values others know, with what they say.
pub(crate) const KNOWN_ELSEWHERE: &[(&str, &str)] = &[
    ("archive_mode", "Shows whether the log is archived."),
    ("authentication_timeout", "How long a client may take to log in (verso serve)."),
    ("block_size", "Shows the size of a page."),
    ("checkpoint_timeout", "Longest time between checkpoints (ALTER SYSTEM SET)."),
    ("config_file", "The file of the server's configuration (verso serve)."),
    ("data_directory", "The folder that the databases are in (verso serve)."),
    ("hba_file", "The file of the access rules (verso serve)."),
    ("listen_addresses", "Addresses at which the server listens (verso serve)."),
    ("maintenance_work_mem", "Memory that sorting an index may take; beyond it temporary files are used."),
    ("max_connections", "Sessions that the server takes at a time (verso serve)."),
    ("max_message_size", "The longest message that the server takes from a client (verso serve)."),
    ("max_running_statements", "Long statements that run at a time; others wait (verso serve)."),
    ("port", "The TCP port at which the server listens (verso serve)."),
    ("require_tls", "Whether clients that are not on this machine must encrypt (verso serve)."),
    ("shared_buffers", "Memory that pages of the database take (ALTER SYSTEM SET)."),
    ("shutdown_timeout", "How long statements go on once the server was told to end (verso serve)."),
    ("ssl", "Whether clients may encrypt (verso serve)."),
    ("unix_socket_directories", "The directory of the Unix socket (verso serve)."),
    ("unix_socket_permissions", "Permissions of the Unix socket (verso serve)."),
    ("worker_threads", "Threads that serve short statements (verso serve)."),
];

/// The value of one that nobody changes.
pub(crate) fn value(name: &str) -> Option<&'static str> {
    value_of(FIXED, name)
}

/// Whether nobody changes it by a statement.
pub(crate) fn is_fixed(name: &str) -> bool {
    value(name).is_some() || of_server(name) || ["archive_mode", "block_size"].contains(&name)
}

/// Whether it is told to the server when it starts.
pub(crate) fn of_server(name: &str) -> bool {
    let elsewhere = KNOWN_ELSEWHERE.iter().find(|(known, _)| *known == name);
    elsewhere.is_some_and(|(_, about)| about.ends_with("(verso serve)."))
}

/// Names of PostgreSQL's settings that there are not.
pub(super) const POSTGRESQL_ONLY: &[&str] = &[
    "autovacuum_freeze_max_age",
    "autovacuum_max_workers",
    "autovacuum_multixact_freeze_max_age",
    "autovacuum_vacuum_cost_delay",
    "autovacuum_vacuum_cost_limit",
    "autovacuum_vacuum_insert_scale_factor",
    "autovacuum_vacuum_insert_threshold",
    "autovacuum_vacuum_max_threshold",
    "autovacuum_worker_slots",
    "backend_flush_after",
    "backtrace_functions",
    "bgwriter_delay",
    "bgwriter_flush_after",
    "bgwriter_lru_maxpages",
    "bgwriter_lru_multiplier",
    "checkpoint_flush_after",
    "checkpoint_warning",
    "client_connection_check_interval",
    "commit_timestamp_buffers",
    "createrole_self_grant",
    "data_directory_mode",
    "data_sync_retry",
    "debug_io_direct",
    "debug_logical_replication_streaming",
    "debug_pretty_print",
    "dynamic_library_path",
    "dynamic_shared_memory_type",
    "event_source",
    "extension_control_path",
    "file_copy_method",
    "file_extend_method",
    "gin_fuzzy_search_limit",
    "gin_pending_list_limit",
    "huge_page_size",
    "huge_pages",
    "huge_pages_status",
    "icu_validation_level",
    "idle_replication_slot_timeout",
    "io_combine_limit",
    "io_max_combine_limit",
    "io_max_concurrency",
    "io_workers",
    "jit_provider",
    "log_autovacuum_min_duration",
    "log_checkpoints",
    "log_connections",
    "log_directory",
    "log_file_mode",
    "log_filename",
    "log_line_prefix",
    "log_parameter_max_length",
    "log_parameter_max_length_on_error",
    "log_recovery_conflict_waits",
    "log_rotation_age",
    "log_rotation_size",
    "log_startup_progress_interval",
    "log_temp_files",
    "log_transaction_sample_rate",
    "log_truncate_on_rotation",
    "logical_decoding_work_mem",
    "max_files_per_process",
    "max_locks_per_transaction",
    "max_notify_queue_pages",
    "max_pred_locks_per_page",
    "max_pred_locks_per_relation",
    "max_pred_locks_per_transaction",
    "max_prepared_transactions",
    "max_slot_wal_keep_size",
    "max_stack_depth",
    "max_standby_archive_delay",
    "max_standby_streaming_delay",
    "max_worker_processes",
    "md5_password_warnings",
    "min_dynamic_shared_memory",
    "multixact_member_buffers",
    "multixact_offset_buffers",
    "notify_buffers",
    "num_os_semaphores",
    "post_auth_delay",
    "pre_auth_delay",
    "recovery_init_sync_method",
    "recovery_min_apply_delay",
    "recovery_prefetch",
    "recovery_target_action",
    "recovery_target_inclusive",
    "recovery_target_lsn",
    "recovery_target_name",
    "recovery_target_time",
    "recovery_target_timeline",
    "recovery_target_xid",
    "remove_temp_files_after_crash",
    "restart_after_crash",
    "restrict_nonsystem_relation_kind",
    "segment_size",
    "send_abort_for_crash",
    "send_abort_for_kill",
    "serializable_buffers",
    "shared_memory_size",
    "shared_memory_size_in_huge_pages",
    "shared_memory_type",
    "ssl_ciphers",
    "ssl_groups",
    "ssl_max_protocol_version",
    "ssl_prefer_server_ciphers",
    "ssl_tls13_ciphers",
    "subtransaction_buffers",
    "syslog_facility",
    "syslog_ident",
    "syslog_sequence_numbers",
    "syslog_split_messages",
    "tcp_keepalives_count",
    "tcp_keepalives_idle",
    "tcp_keepalives_interval",
    "tcp_user_timeout",
    "track_activity_query_size",
    "transaction_buffers",
    "update_process_title",
    "vacuum_buffer_usage_limit",
    "vacuum_cost_limit",
    "vacuum_cost_page_dirty",
    "vacuum_cost_page_hit",
    "vacuum_cost_page_miss",
    "vacuum_failsafe_age",
    "vacuum_freeze_min_age",
    "vacuum_freeze_table_age",
    "vacuum_max_eager_freeze_failure_rate",
    "vacuum_multixact_failsafe_age",
    "vacuum_multixact_freeze_min_age",
    "vacuum_multixact_freeze_table_age",
    "vacuum_truncate",
    "wal_block_size",
    "wal_buffers",
    "wal_consistency_checking",
    "wal_decode_buffer_size",
    "wal_init_zero",
    "wal_keep_size",
    "wal_receiver_create_temp_slot",
    "wal_receiver_status_interval",
    "wal_receiver_timeout",
    "wal_recycle",
    "wal_retrieve_retry_interval",
    "wal_segment_size",
    "wal_sender_timeout",
    "wal_skip_threshold",
    "wal_summary_keep_time",
    "wal_writer_delay",
    "wal_writer_flush_after",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Settings, accepted, all, unknown};

    #[test]
    fn each_name_is_in_one_list_only() {
        let mut names: Vec<&str> = all().iter().map(|(name, _)| *name).collect();
        names.extend(POSTGRESQL_ONLY);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn what_is_fixed_or_missing_is_refused_each_with_its_reason() {
        for (name, value, _) in FIXED {
            let error = Settings::default().set(name, Some(*value)).expect_err(name);
            assert_eq!(error.sqlstate, "55P02", "{name}");
            assert!(accepted::default(name).is_none(), "{name}");
        }
        for name in POSTGRESQL_ONLY {
            let error = unknown(name);
            assert!(error.sqlstate == "42704" && error.hint.is_some(), "{name}");
        }
    }
}
