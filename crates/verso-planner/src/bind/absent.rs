//! Functions of PostgreSQL that are not there because what they are about is not there.
//!
//! A call of one is refused with 0A000, which says what there is not and what serves instead: "does not exist", with a hint about
//! types, would send the reader to look for a mistake in the call. A function of one's own that has such a name is found first.

use crate::errors::{SqlError, sqlstate};

/// Functions with one reason.
struct Absent {
    /// Their names.
    names: &'static [&'static str],
    /// A sentence that says what there is not.
    what: &'static str,
    /// What serves instead; empty if nothing does.
    instead: &'static str,
}

/// The list of the guide (`functions.md`, "What there is not").
const ABSENT: &[Absent] = &[
    Absent {
        names: &[
            "lo_close",
            "lo_creat",
            "lo_create",
            "lo_export",
            "lo_from_bytea",
            "lo_get",
            "lo_import",
            "lo_lseek",
            "lo_lseek64",
            "lo_open",
            "lo_put",
            "lo_tell",
            "lo_tell64",
            "lo_truncate",
            "lo_truncate64",
            "lo_unlink",
            "loread",
            "lowrite",
        ],
        what: "large objects are not supported",
        instead: "A value of bytea holds up to 1 GB.",
    },
    Absent {
        names: &[
            "pg_read_file",
            "pg_read_binary_file",
            "pg_stat_file",
            "pg_ls_dir",
            "pg_ls_archive_statusdir",
            "pg_ls_logdir",
            "pg_ls_logicalmapdir",
            "pg_ls_logicalsnapdir",
            "pg_ls_replslotdir",
            "pg_ls_summariesdir",
            "pg_ls_tmpdir",
            "pg_relation_filepath",
            "pg_rotate_logfile",
        ],
        what: "functions over the files of the server are not supported",
        instead: "A database is one file, and messages go to standard error. COPY, read_csv, read_json and read_parquet read other \
                  files.",
    },
    Absent {
        names: &["pg_backup_start", "pg_backup_stop"],
        what: "base backups that copy the files themselves are not supported",
        instead: "BACKUP DATABASE TO makes a base backup while the database is used.",
    },
    Absent {
        names: &[
            "pg_copy_logical_replication_slot",
            "pg_copy_physical_replication_slot",
            "pg_create_logical_replication_slot",
            "pg_create_physical_replication_slot",
            "pg_drop_replication_slot",
            "pg_get_publication_tables",
            "pg_get_replication_slots",
            "pg_log_standby_snapshot",
            "pg_logical_emit_message",
            "pg_logical_slot_get_binary_changes",
            "pg_logical_slot_get_changes",
            "pg_logical_slot_peek_binary_changes",
            "pg_logical_slot_peek_changes",
            "pg_replication_origin_advance",
            "pg_replication_origin_create",
            "pg_replication_origin_drop",
            "pg_replication_origin_oid",
            "pg_replication_origin_progress",
            "pg_replication_origin_session_is_setup",
            "pg_replication_origin_session_progress",
            "pg_replication_origin_session_reset",
            "pg_replication_origin_session_setup",
            "pg_replication_origin_xact_reset",
            "pg_replication_origin_xact_setup",
            "pg_replication_slot_advance",
            "pg_show_replication_origin_status",
            "pg_stat_get_recovery_prefetch",
            "pg_stat_get_replication_slot",
            "pg_stat_get_subscription",
            "pg_stat_get_subscription_stats",
            "pg_stat_get_wal_receiver",
            "pg_stat_get_wal_senders",
            "pg_stat_reset_replication_slot",
            "pg_stat_reset_subscription_stats",
            "pg_sync_replication_slots",
        ],
        what: "replication is not supported",
        instead: "An archive of the log (archive_target) and base backups (BACKUP DATABASE TO) bring a database back as it was at any \
                  moment.",
    },
    Absent {
        names: &[
            "pg_available_wal_summaries",
            "pg_get_wal_resource_managers",
            "pg_get_wal_summarizer_state",
            "pg_split_walfile_name",
            "pg_wal_summary_contents",
            "pg_walfile_name_offset",
        ],
        what: "functions over the contents and names of PostgreSQL's log files are not supported",
        instead: "pg_walfile_name and pg_ls_waldir tell of the files of the log.",
    },
    Absent {
        names: &[
            "pg_event_trigger_ddl_commands",
            "pg_event_trigger_dropped_objects",
            "pg_event_trigger_table_rewrite_oid",
            "pg_event_trigger_table_rewrite_reason",
        ],
        what: "event triggers are not supported",
        instead: "",
    },
    Absent {
        names: &["postgresql_fdw_validator"],
        what: "foreign tables are not supported",
        instead: "read_csv, read_json and read_parquet read files as tables.",
    },
    Absent {
        names: &[
            "amvalidate",
            "brin_desummarize_range",
            "brin_summarize_new_values",
            "brin_summarize_range",
            "gin_clean_pending_list",
            "pg_indexam_progress_phasename",
        ],
        what: "functions over BRIN and GIN indexes and index methods are not supported",
        instead: "Indexes need no such care: what is inserted is in them at once.",
    },
    Absent {
        names: &["pg_extension_config_dump", "pg_nextoid", "pg_stop_making_pinned_objects"],
        what: "functions for the upgrade and the making of PostgreSQL's own catalogs are not supported",
        instead: "",
    },
    Absent {
        names: &[
            "pg_get_aios",
            "pg_get_backend_memory_contexts",
            "pg_get_catalog_foreign_keys",
            "pg_get_multixact_members",
            "pg_get_shmem_allocations",
            "pg_get_shmem_allocations_numa",
            "pg_get_wait_events",
            "pg_isolation_test_session_is_blocked",
            "pg_log_backend_memory_contexts",
            "pg_safe_snapshot_blocking_pids",
            "pg_stat_get_activity",
            "pg_stat_get_archiver",
            "pg_stat_get_backend_activity",
            "pg_stat_get_backend_activity_start",
            "pg_stat_get_backend_client_addr",
            "pg_stat_get_backend_client_port",
            "pg_stat_get_backend_dbid",
            "pg_stat_get_backend_idset",
            "pg_stat_get_backend_io",
            "pg_stat_get_backend_pid",
            "pg_stat_get_backend_start",
            "pg_stat_get_backend_subxact",
            "pg_stat_get_backend_userid",
            "pg_stat_get_backend_wait_event",
            "pg_stat_get_backend_wait_event_type",
            "pg_stat_get_backend_wal",
            "pg_stat_get_backend_xact_start",
            "pg_stat_get_io",
            "pg_stat_get_progress_info",
            "pg_stat_get_slru",
            "pg_stat_get_snapshot_timestamp",
            "pg_stat_get_wal",
            "pg_stat_get_xact_blocks_fetched",
            "pg_stat_get_xact_blocks_hit",
            "pg_stat_reset_backend_stats",
        ],
        what: "functions over PostgreSQL's own processes and memory are not supported",
        instead: "The views pg_stat_* and verso_* tell what the database does.",
    },
    Absent {
        names: &["pg_config", "pg_hba_file_rules", "pg_ident_file_mappings", "pg_show_all_file_settings"],
        what: "functions over PostgreSQL's own files of settings are not supported",
        instead: "pg_settings shows the settings.",
    },
    Absent {
        names: &["pg_clear_attribute_stats", "pg_clear_relation_stats"],
        what: "statistics that are cleared by hand are not supported",
        instead: "ANALYZE collects them anew.",
    },
    Absent {
        names: &["pg_timezone_abbrevs_zone"],
        what: "abbreviations of one time zone alone are not supported",
        instead: "pg_timezone_abbrevs lists those that every zone knows.",
    },
    Absent {
        names: &[
            "cursor_to_xml",
            "cursor_to_xmlschema",
            "database_to_xml",
            "database_to_xml_and_xmlschema",
            "database_to_xmlschema",
            "query_to_xml",
            "query_to_xml_and_xmlschema",
            "query_to_xmlschema",
            "schema_to_xml",
            "schema_to_xml_and_xmlschema",
            "schema_to_xmlschema",
            "table_to_xml",
            "table_to_xml_and_xmlschema",
            "table_to_xmlschema",
            "xml",
            "xml_is_well_formed",
            "xml_is_well_formed_content",
            "xml_is_well_formed_document",
            "xmlagg",
            "xmlcomment",
            "xmlconcat2",
            "xmltext",
            "xmlvalidate",
            "xpath",
            "xpath_exists",
        ],
        what: "XML is not supported",
        instead: "Keep it in text.",
    },
];

/// `0A000` for a function of PostgreSQL that is not there; `shown` is the call with the types of its arguments.
pub(super) fn absent(name: &str, shown: &str) -> Option<SqlError> {
    let what = match name.starts_with("binary_upgrade_") {
        true => "pg_nextoid",
        false => name,
    };
    let found = ABSENT.iter().find(|group| group.names.contains(&what))?;
    let error = SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, found.what);
    let error = error.with_detail(format!("There is no function {shown}."));
    Some(if found.instead.is_empty() { error } else { error.with_hint(found.instead) })
}
