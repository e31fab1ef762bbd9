//! SHOW: the value of a setting as a text.

use verso_exec::Executor;

use super::Settings;
use super::accepted;
use super::commit::CommitLevel;
use super::values::{duration, least_duration_text, memory_text, on, size_text};

impl Settings {
    /// What transactions begin with, as `begin_options` names it: without what is usual.
    fn begin_options(&self) -> String {
        let usual = Settings::default();
        let isolation = Some(self.isolation.as_str()).filter(|_| self.isolation != usual.isolation);
        let words = [
            isolation.map(|level| level.replace(' ', "_")),
            self.read_only.then(|| "read_only".to_owned()),
            self.deferrable.then(|| "deferrable".to_owned()),
            (!self.savepoints).then(|| "no_savepoint".to_owned()),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Shows one that does not depend on the transaction.
    pub fn show(&self, name: &str) -> Option<String> {
        Some(match name {
            "timezone" => self.time_zone_name.clone(),
            "executor" => match self.executor {
                Executor::Auto => "auto",
                Executor::Row => "row",
                Executor::Vector => "vector",
            }
            .to_string(),
            "default_transaction_isolation" => self.isolation.as_str().to_string(),
            "default_transaction_read_only" => on(self.read_only),
            "default_transaction_savepoints" => on(self.savepoints),
            "begin_options" => self.begin_options(),
            "stmt_cache" => on(self.keeps_statements),
            "default_transaction_deferrable" => on(self.deferrable),
            "application_name" => self.application_name.clone(),
            "default_text_search_config" => self.text_search_config.clone(),
            "pdq_priority" | "pdqpriority" => {
                self.pdq_priority.map_or_else(|| "default".to_string(), |priority| priority.to_string())
            }
            "commit_wait" | "commit_logging" | "synchronous_commit" => {
                self.commit.show(name, CommitLevel::default())?.to_string()
            }
            "client_min_messages" => self.messages_from.name().to_string(),
            "procedure_commit" => {
                if self.procedure_waits_later { "deferred_wait" } else { "wait" }.to_string()
            }
            "statement_statistics" => on(self.statement_statistics),
            "statement_timeout" => duration(self.statement_timeout_ms),
            "lock_timeout" => duration(self.lock_timeout_ms),
            "idle_in_transaction_session_timeout" => duration(self.idle_in_transaction_timeout_ms),
            "idle_session_timeout" => duration(self.idle_session_timeout_ms),
            "transaction_timeout" => duration(self.transaction_timeout_ms),
            "verso_rules_off" => self.rules_off.clone(),
            "log_min_duration_statement" => least_duration_text(self.log_min_duration_ms.unwrap_or(-1)),
            "log_statement" => self.log_statement.name().to_string(),
            "log_min_messages" | "log_min_error_statement" | "log_error_verbosity" => {
                self.log.show(name).to_string()
            }
            "log_plans" => self.log_plans.name().to_string(),
            "compute_query_id" => self.tracks.ids.name().to_string(),
            "pg_stat_statements.track" => self.tracks.shown().name().to_string(),
            "pg_stat_statements.track_planning" => on(self.tracks.planning),
            "pg_stat_statements.track_utility" => on(self.tracks.utility),
            "plan_cache_mode" => self.plan_cache_mode.name().to_string(),
            "work_mem" => size_text(self.work_memory_bytes),
            "min_parallel_table_scan_size" => memory_text(self.parallel_scan_bytes),
            "maintenance_memory" | "maintenance_work_mem" => size_text(self.maintenance_memory_bytes),
            "statement_memory_limit" => memory_text(self.statement_memory_bytes),
            "session_memory_limit" => memory_text(self.session_memory_bytes),
            "temp_file_limit" => self.temp_file_bytes.map_or_else(|| "-1".to_string(), memory_text),
            "client_encoding" => self.time_zone.encoding.name().to_string(),
            "server_encoding" => "UTF8".to_string(),
            "datestyle" => self.time_zone.date_style(),
            "intervalstyle" => self.time_zone.interval_style().to_string(),
            "bytea_output" => if self.time_zone.escapes_bytes { "escape" } else { "hex" }.to_string(),
            "standard_conforming_strings" => "on".to_string(),
            "search_path" => self.search_path_text.clone(),
            "row_security" => on(self.row_security),
            "quote_all_identifiers" => on(self.quote_all_identifiers),
            "scram_iterations" => self.scram_iterations.to_string(),
            "extra_float_digits" => self.time_zone.float_digits.to_string(),
            "server_version_num" => "180000".to_string(),
            "server_version" => format!("18.0 (Verso {})", env!("CARGO_PKG_VERSION")),
            name if let Some(method) = { self.rules.methods }.by_setting(name) => on(*method),
            name => match self.custom.get(name) {
                Some(value) => value.to_string(),
                None => match accepted::default(name) {
                    None if self.named.lock().contains(name) => String::new(),
                    usual => usual?.to_string(),
                },
            },
        })
    }
}
