//! Settings as SHOW and `current_setting` give them: those of the session, the transaction and the database.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::CatalogSnapshot;
use verso_exec::ExecError;
use verso_exec::context::{HeldSettings, SettingAccess};

use super::Services;
use crate::automatic::AutoSettings;
use crate::serving::{Late, check_late};
use crate::session::{SEED, modes_of};
use crate::settings::{self, ShownModes};
use verso_parser::syntax::{ActAs, Name, Span};
use verso_planner::errors::{SqlError, sqlstate};

impl Services {
    /// Statements that take so many milliseconds are logged; -1 is none.
    pub(crate) fn log_min_duration_ms(&self) -> i64 {
        let own = self.settings.log_min_duration_ms;
        own.unwrap_or_else(|| self.instance.log_min_duration_ms.load(Ordering::Relaxed))
    }

    /// The same, as the running statement has asked for it.
    fn log_min_duration_asked(&self) -> i64 {
        let asked = self.settings.asked().and_then(|asked| asked.log_min_duration_ms);
        asked.unwrap_or_else(|| self.log_min_duration_ms())
    }

    /// Shows a setting of the session, the transaction or the database.
    pub(crate) fn show(&self, name: &str) -> Option<String> {
        let on = |value: bool| Some(settings::on(value));
        let current = self.transaction.get();
        let database = *self.instance.database.lock();
        match name {
            "transaction_isolation" => {
                Some(current.map_or(self.settings.isolation.as_str(), |modes| modes.isolation).to_string())
            }
            "transaction_read_only" => on(current.map_or(self.settings.read_only, |modes| modes.read_only)),
            "transaction_savepoints" => {
                on(current.map_or(self.settings.savepoints, |modes| modes.savepoints))
            }
            "transaction_deferrable" => {
                on(current.map_or(self.settings.deferrable, |modes| modes.deferrable))
            }
            "sweep_interval" => Some(database.sweep_interval.to_string()),
            "archive_target" => {
                let target = self.instance.engine.archive_status().target;
                Some(target.map_or_else(String::new, |target| target.display().to_string()))
            }
            "long_tx_wal_limit" => Some(settings::memory_text(self.instance.long.limit())),
            "long_tx_action" => Some(self.instance.long.action().name().to_string()),
            "wal_spare_size" => Some(settings::memory_text(self.instance.engine.spare_log())),
            "buffer_pool" | "shared_buffers" => Some(settings::memory_text(database.buffer_pool_bytes)),
            "lru_min_dirty" => Some(database.lru_dirty[0].to_string()),
            "lru_max_dirty" => Some(database.lru_dirty[1].to_string()),
            "auto_readahead" => Some(self.instance.engine.read_ahead().to_string()),
            "stmt_cache_size" => Some(self.instance.statements.size().to_string()),
            "pg_stat_statements.max" => Some(self.instance.tracked.most().to_string()),
            "gc_policy" => Some(self.instance.engine.gc_policy().name().to_string()),
            "max_pdq_priority" => Some(self.instance.shares.max().to_string()),
            "version_retention" => Some(settings::duration(database.version_retention_ms)),
            "version_retention_size" => Some(settings::memory_text(database.version_retention_bytes)),
            "max_snapshot_age" => Some(settings::duration(self.instance.long.snapshot_age_ms())),
            "archive_timeout" => Some(settings::duration(database.archive_timeout_ms)),
            "log_min_duration_statement" => {
                Some(settings::least_duration_text(self.log_min_duration_asked()))
            }
            "compress" => on(self.instance.compresses.load(Ordering::Relaxed)),
            "compress_delay" => Some(settings::duration(database.compress_delay_ms)),
            "colocate" => on(self.instance.colocates.load(Ordering::Relaxed)),
            name if AutoSettings::NAMES.contains(&name) => self.instance.automatic.settings.lock().show(name),
            "auto_backout" => on(database.auto_backout),
            "checkpoint_interval" | "checkpoint_timeout" => {
                Some(settings::duration(database.checkpoint_interval_ms))
            }
            "parallel_workers" => Some(self.workers_wanted().to_string()),
            "max_parallel_workers" => Some(database.workers_max.to_string()),
            "worker_idle_timeout" => Some(settings::duration(database.worker_idle_ms)),
            "max_wal_size" => Some(settings::size_text(database.max_wal_bytes)),
            "memory_limit" => {
                // What a server says for all of its databases together holds for each.
                let limits = [
                    self.instance.memory.limit_bytes(),
                    self.instance.member.cluster().memory().limit_bytes(),
                ];
                let least = limits.into_iter().filter(|bytes| *bytes > 0).min();
                Some(settings::memory_text(least.unwrap_or(0)))
            }
            "commit_wait" | "commit_logging" | "synchronous_commit" => {
                self.settings.commit_asked().show(name, database.commit).map(str::to_string)
            }
            "role" => Some(match self.settings.roles_asked() {
                [None, _] => "none".into(),
                [Some((role, name)), _] => self.name_of(role).unwrap_or(name).to_string(),
            }),
            name => fixed_setting(self, name).or_else(|| self.settings.show_asked(name)),
        }
    }
}

impl Services {
    /// What SHOW says of a setting: what it is called, and its value.
    ///
    /// # Errors
    /// 42704.
    pub(crate) fn shown_as(&self, name: &str) -> Result<(String, String), SqlError> {
        let value = self.show(name).ok_or_else(|| match self.may_see(name) {
            true => settings::unknown(name),
            false => {
                let detail = "Only roles with privileges of the \"pg_read_all_settings\" role may examine this parameter.";
                let text = format!("permission denied to examine \"{name}\"");
                SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).with_detail(detail)
            }
        })?;
        let title = match name {
            "timezone" => "TimeZone",
            "datestyle" => "DateStyle",
            "intervalstyle" => "IntervalStyle",
            name => name,
        };
        Ok((title.to_string(), value))
    }

    /// Whether the role that statements run as may see the value of a setting.
    fn may_see(&self, name: &str) -> bool {
        !settings::is_secret(name) || self.has_role(verso_catalog::authority::READ_ALL_SETTINGS)
    }

    /// SHOW ALL: names, values and what they do, of all that has a value here.
    pub(crate) fn show_all(&self) -> Vec<Vec<String>> {
        let row = |(name, about): &(&str, &str)| {
            let (title, value) = self.shown_as(name).ok()?;
            Some(vec![title, value, (*about).to_string()])
        };
        settings::all().iter().filter_map(row).collect()
    }

    /// CHECKPOINT.
    ///
    /// # Errors
    /// 42501, and those of the storage.
    pub(crate) fn checkpoint(&self) -> Result<(), SqlError> {
        if !self.has_role(verso_catalog::authority::CHECKPOINT) {
            let detail = "Only roles with privileges of the \"pg_checkpoint\" role may execute this command.";
            let text = "permission denied to execute CHECKPOINT command";
            return Err(SqlError::new("42501", text).with_detail(detail));
        }
        Ok(self.instance.engine.checkpoint()?)
    }
}

impl SettingAccess for Services {
    fn setting(&self, name: &str) -> Option<String> {
        self.show(name)
    }

    fn set_setting(&self, name: &str, value: Option<&str>, local: bool) -> Result<String, ExecError> {
        let who = |value: &str| Some(Name { text: value.to_string(), at: Span::default() });
        let role = match name {
            "role" => Some(ActAs::Role(value.filter(|value| *value != "none").and_then(who))),
            "session_authorization" => Some(ActAs::Session(value.and_then(who))),
            _ => None,
        };
        if let Some(role) = role {
            self.ask_for_role(&role, local)?;
            return Ok(self.show(name).unwrap_or_default());
        }
        let failed = |error: SqlError| ExecError::raised(error.sqlstate, error.message);
        if let Some(modes) = modes_of(name, value).map_err(failed)? {
            // The query that calls the function has begun.
            if let Some(known) = self.transaction.get() {
                check_late(known, &modes, Late::QUERIED).map_err(failed)?;
                if modes.read_only == Some(true) && !known.read_only {
                    self.becomes_read_only.set(true);
                    self.transaction.set(Some(ShownModes { read_only: true, ..known }));
                }
            }
            return Ok(self.show(name).unwrap_or_default());
        }
        if let (SEED, Some(value)) = (name, value) {
            self.seed(value).map_err(failed)?;
            return Ok(self.show(name).unwrap_or_default());
        }
        let asked = self.settings.ask(name, value, local);
        // The function that asks goes on with what follows from it.
        self.asked.set(self.asked.get() + 1);
        asked.map_err(failed)
    }

    fn hold(
        &self,
        settings: &[(Arc<str>, Arc<str>)],
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<HeldSettings, ExecError> {
        let held = self.settings.hold(settings);
        let held = held.map_err(|error| ExecError::raised(error.sqlstate, error.message))?;
        let catalog = catalog.with_path(&self.path_of(&held, catalog.key().role));
        self.lend_names(&catalog);
        let has_work_mem = settings.iter().any(|(name, _)| **name == *"work_mem");
        let work_bytes = has_work_mem.then_some(held.work_memory_bytes);
        Ok(HeldSettings { catalog, time_zone: held.time_zone, work_bytes })
    }

    fn release(&self, catalog: &Arc<CatalogSnapshot>) {
        self.settings.release();
        self.lend_names(catalog);
    }
}

/// Settings that a client sees but nobody can change: some drivers and tools ask for them.
fn fixed_setting(services: &Services, name: &str) -> Option<String> {
    let on = |value: bool| Some(settings::on(value));
    let text = match name {
        "is_superuser" => return on(services.is_superuser()),
        "session_authorization" => return Some(services.session_name().to_string()),
        SEED => "unavailable",
        "archive_mode" => return on(services.instance.engine.archive_status().target.is_some()),
        "block_size" => return Some(services.instance.engine.space().page_size.to_string()),
        "max_connections" => {
            let connections = services.instance.member.cluster.connections_max();
            return (connections > 0).then(|| connections.to_string());
        }
        name if !services.may_see(name) => return None,
        name if let Some(value) = settings::fixed_value(name) => value,
        _ => return services.instance.member.cluster.server_setting(name),
    };
    Some(text.to_string())
}
