//! The settings of a database, as ALTER DATABASE and ALTER SYSTEM change them while it is open.
//!
//! ```text
//! the server's configuration  ─►  what the database keeps (ALTER … SET)  ─►  engine, memory, workers, …
//! ```
//!
//! A setting that the database keeps stands above what the configuration says, also under another name of the same thing. Those
//! that are a session's are kept, too: sessions begin with them.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use verso_storage::archive::ArchiveOptions;
use verso_storage::wal::WalOptions;
use verso_storage::{EngineOptions, GcPolicy, ReadAhead};

use super::folder::archive_folder;
use super::{Instance, UNFINISHED};
use crate::automatic::AutoSettings;
use crate::cluster::usual_memory_bytes;
use crate::registry::LongAction;
use crate::settings::{
    self, CommitLevel, LEAST_DURATION_HINT, Settings, flag, interval_ms, least_duration, memory_bytes,
    wal_bytes,
};
use verso_planner::errors::{SqlError, sqlstate};

/// Most texts that `stmt_cache_size` may ask for.
const STATEMENTS_MAX: usize = 1_000_000;

/// Settings of the database, as ALTER DATABASE SET leaves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatabaseSettings {
    pub sweep_interval: u64,
    pub auto_backout: bool,
    pub commit: CommitLevel,
    pub checkpoint_interval_ms: u64,
    pub max_wal_bytes: u64,
    /// A segment with changes is archived after this time at the latest; 0 for never.
    pub archive_timeout_ms: u64,
    /// How long pages stay unchanged before they are packed by themselves.
    pub compress_delay_ms: u64,
    /// Most workers of a job.
    pub workers_max: u32,
    /// How long one without work stays.
    pub worker_idle_ms: u64,
    /// Bytes of the buffer pool.
    pub buffer_pool_bytes: u64,
    /// Shares of dirty frames at which the page cleaner stops and starts, in per cent.
    pub lru_dirty: [u8; 2],
    /// How long old versions stay.
    pub version_retention_ms: u64,
    /// Most bytes of them.
    pub version_retention_bytes: u64,
}

impl DatabaseSettings {
    /// Those of a database for which nobody has said anything: its engine runs with these options.
    pub(super) fn usual(options: &EngineOptions) -> DatabaseSettings {
        DatabaseSettings {
            sweep_interval: options.sweep_interval,
            auto_backout: options.auto_backout,
            commit: CommitLevel::default(),
            checkpoint_interval_ms: options.checkpoint_interval_ms,
            max_wal_bytes: options.checkpoint_log_bytes,
            workers_max: default_workers_max(),
            archive_timeout_ms: ARCHIVE_TIMEOUT_MS,
            compress_delay_ms: COMPRESS_DELAY_MS,
            worker_idle_ms: WORKER_IDLE_MS,
            buffer_pool_bytes: options.buffer_pool_bytes,
            lru_dirty: [options.lru_min_dirty, options.lru_max_dirty],
            version_retention_ms: 0,
            version_retention_bytes: 0,
        }
    }
}

/// A segment is archived after this time where nobody has said another.
const ARCHIVE_TIMEOUT_MS: u64 = 300_000;
/// Pages are cold, and packed by themselves, after so long unless it is set.
const COMPRESS_DELAY_MS: u64 = 60_000;

/// Most workers of a job where nobody has said how many: more than a small machine has processors.
fn default_workers_max() -> u32 {
    (verso_env::process::processors() as u32).max(8)
}

/// How long a worker without work stays where nobody has said how long.
const WORKER_IDLE_MS: u64 = 60_000;

impl Instance {
    /// Takes up what the server's configuration says where the database says nothing itself.
    ///
    /// # Errors
    /// 42704 for an unknown setting, 22023 for a value that it does not take, 55P02 for one that nobody can set.
    pub fn apply_defaults(&self) -> Result<(), SqlError> {
        let kept = self.catalog.database_settings()?;
        let defaults = self.member.cluster().defaults();
        for (name, value) in defaults.iter() {
            if settings::is_of_commits(name) {
                CommitLevel::default().set(name, Some(value))?;
            } else if !kept.iter().any(|(known, _)| known == name) {
                self.set_database(name, Some(value))?;
            }
        }
        // What is kept under another name of the same thing stands above that.
        for (name, value) in &kept {
            if !settings::is_of_commits(name)
                && defaults.iter().any(|(other, _)| settings::are_aliases(name, other))
            {
                // One whose value this version does not take has no effect.
                let _ = self.set_database(name, Some(value));
            }
        }
        self.apply_commits(&defaults, &kept);
        Ok(())
    }

    /// Takes up another configuration of the server; what it says no more is what it is without one.
    ///
    /// # Errors
    /// Those of [`Instance::apply_defaults`]; the configuration stays the one before then.
    pub fn reconfigure(&self, defaults: &[(String, String)]) -> Result<(), SqlError> {
        let cluster = self.member.cluster();
        let before = cluster.defaults();
        cluster.set_defaults(defaults);
        if let Err(error) = self.apply_defaults() {
            cluster.set_defaults(&before);
            return Err(error);
        }
        let kept = self.catalog.database_settings()?;
        let stands = |name: &String| defaults.iter().chain(&kept).any(|(known, _)| known == name);
        for (name, _) in before.iter().filter(|(name, _)| !settings::is_of_commits(name) && !stands(name)) {
            self.set_database(name, None)?;
            self.fall_back(name)?;
        }
        Ok(())
    }

    /// Puts together how commits are written: at once, so that none meets what only one of the settings says.
    fn apply_commits(&self, defaults: &[(String, String)], kept: &[(String, String)]) {
        let mut commit = CommitLevel::default();
        for (name, value) in defaults.iter().chain(kept) {
            // False for the settings of others; what this version does not take has no effect.
            let _ = commit.set(name, Some(value));
        }
        self.database.lock().commit = commit;
    }

    /// Changes a setting of the database while it is open; without a value to what the server's configuration says, else to
    /// its default.
    pub(crate) fn set_database(&self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        let defaults = self.member.cluster().defaults();
        let configured = || defaults.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
        self.set_to(name, value.or_else(configured))
    }

    /// What sessions begin with where their roles and clients say nothing else.
    pub(crate) fn session_defaults(&self) -> Vec<(String, String)> {
        self.session_defaults.lock().clone()
    }

    fn set_to(&self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        let defaults = EngineOptions::default();
        match name {
            "sweep_interval" => {
                let interval = match value {
                    None => defaults.sweep_interval,
                    Some(text) => text.trim().parse().map_err(|_| {
                        let hint = format!("A number of transactions, from 0 (never) to {}.", u64::MAX);
                        invalid(name, value).with_hint(hint)
                    })?,
                };
                self.engine.set_sweep_interval(interval);
                self.database.lock().sweep_interval = interval;
            }
            "memory_limit" => {
                let bytes = match value {
                    None => usual_memory_bytes(),
                    Some(value) => memory_bytes(value)
                        .filter(|bytes| *bytes == 0 || *bytes >= 16 << 20)
                        .ok_or_else(|| {
                            let text = format!("invalid value for parameter \"memory_limit\": \"{value}\"");
                            SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
                                .with_hint("0 or at least 16MB; units are kB, MB and GB.")
                        })?,
                };
                self.memory.set_limit(bytes);
            }
            "checkpoint_interval" | "checkpoint_timeout" => {
                let wanted = match value {
                    None => Some(defaults.checkpoint_interval_ms),
                    Some(value) => interval_ms(value).filter(|ms| (1_000..=86_400_000).contains(ms)),
                };
                self.database.lock().checkpoint_interval_ms = wanted.ok_or_else(|| {
                    invalid(name, value).with_hint("Between 1s and 1d; a number alone counts seconds.")
                })?;
                self.set_checkpoints();
            }
            "max_wal_size" => {
                let wanted = match value {
                    None => Some(defaults.checkpoint_log_bytes),
                    Some(value) => wal_bytes(value).filter(|bytes| *bytes >= 2 << 20),
                };
                self.database.lock().max_wal_bytes = wanted.ok_or_else(|| {
                    invalid(name, value).with_hint("At least 2MB; a number alone counts megabytes.")
                })?;
                self.set_checkpoints();
            }
            "long_tx_wal_limit" => {
                let wanted = match value {
                    None => Some(0),
                    Some(value) => wal_bytes(value).filter(|bytes| *bytes == 0 || *bytes >= 1 << 20),
                };
                self.long.set_limit(wanted.ok_or_else(|| {
                    invalid(name, value).with_hint("0 or at least 1MB; a number alone counts megabytes.")
                })?);
                if self.long.limit() > 0 {
                    self.sessions.watch(self.engine.env(), &self.long);
                }
            }
            "long_tx_action" => {
                let wanted = LongAction::of(value.unwrap_or(LongAction::NAMES[0]));
                self.long.set_action(wanted.ok_or_else(|| {
                    let values = LongAction::NAMES.join(", ");
                    invalid(name, value).with_hint(format!("Available values: {values}."))
                })?);
            }
            "wal_spare_size" => {
                let wanted = match value {
                    None => Some(WalOptions::default().spare_bytes_max),
                    Some(value) => wal_bytes(value),
                };
                self.engine.set_spare_log(
                    wanted
                        .ok_or_else(|| invalid(name, value).with_hint("A number alone counts megabytes."))?,
                );
            }
            "version_retention" => {
                let wanted = match value {
                    None => Some(0),
                    Some(value) => interval_ms(value).filter(|ms| *ms <= 31 * 86_400_000),
                };
                let ms = wanted.ok_or_else(|| {
                    invalid(name, value)
                        .with_hint("At most 31d, 0 for not at all; a number alone counts seconds.")
                })?;
                self.database.lock().version_retention_ms = ms;
                self.engine.set_version_retention(Duration::from_millis(ms));
            }
            "buffer_pool" | "shared_buffers" => {
                let most = self.engine.buffer_pool_max();
                let wanted = match value {
                    None => Some(self.engine.options().buffer_pool_bytes),
                    Some(value) => memory_bytes(value).filter(|bytes| (1 << 20..=most).contains(bytes)),
                };
                let bytes = wanted.ok_or_else(|| {
                    let most = settings::memory_text(most >> 20 << 20);
                    invalid(name, value)
                        .with_hint(format!("Between 1MB and {most}; units are kB, MB and GB."))
                })?;
                self.engine.set_buffer_pool(bytes)?;
                self.database.lock().buffer_pool_bytes = bytes;
            }
            "lru_min_dirty" | "lru_max_dirty" => {
                let mut lru = self.database.lock().lru_dirty;
                let own = usize::from(name == "lru_max_dirty");
                let usual = [defaults.lru_min_dirty, defaults.lru_max_dirty][own];
                let wanted = match value {
                    None => Some(usual),
                    Some(value) => value.trim().parse().ok().filter(|part| (0..=100).contains(part)),
                };
                lru[own] =
                    wanted.ok_or_else(|| invalid(name, value).with_hint("Between 0 and 100 per cent."))?;
                // The other one follows where it would stand on the wrong side.
                if lru[0] > lru[1] {
                    lru[1 - own] = lru[own];
                }
                self.database.lock().lru_dirty = lru;
                self.engine.set_lru_dirty(lru[0], lru[1]);
            }
            "auto_readahead" => {
                let wanted = match value {
                    None => Some(ReadAhead::default()),
                    Some(value) => ReadAhead::of(value),
                };
                self.engine.set_read_ahead(wanted.ok_or_else(|| {
                    let most = ReadAhead::PAGES_MAX;
                    invalid(name, value).with_hint(format!(
                        "\"mode,pages\": a mode of 0, 1 or 2, and between 1 and {most} pages."
                    ))
                })?);
            }
            "stmt_cache_size" => {
                let texts = |value: &str| {
                    let texts = value.trim().parse().ok().filter(|texts| *texts <= STATEMENTS_MAX);
                    texts.ok_or_else(|| {
                        let hint = format!("Between 0 and {STATEMENTS_MAX} texts.");
                        invalid(name, Some(value)).with_hint(hint)
                    })
                };
                self.statements.set_size(value.map(texts).transpose()?);
            }
            "max_pdq_priority" => {
                let wanted = match value {
                    None => Some(100),
                    Some(value) => value.trim().parse().ok().filter(|part| (0..=100).contains(part)),
                };
                self.shares
                    .set_max(wanted.ok_or_else(|| invalid(name, value).with_hint("Between 0 and 100."))?);
            }
            "gc_policy" => {
                let wanted = GcPolicy::of(value.unwrap_or(GcPolicy::NAMES[0]));
                self.engine.set_gc_policy(wanted.ok_or_else(|| {
                    let values = GcPolicy::NAMES.join(", ");
                    invalid(name, value).with_hint(format!("Available values: {values}."))
                })?);
            }
            "version_retention_size" => {
                let wanted = match value {
                    None => Some(0),
                    Some(value) => memory_bytes(value).filter(|bytes| *bytes == 0 || *bytes >= 1 << 20),
                };
                let bytes = wanted.ok_or_else(|| {
                    invalid(name, value).with_hint("0 or at least 1MB; units are kB, MB and GB.")
                })?;
                self.database.lock().version_retention_bytes = bytes;
                self.engine.set_retention_bytes(bytes);
            }
            "max_snapshot_age" => {
                let wanted = match value {
                    None => Some(0),
                    Some(value) => interval_ms(value).filter(|ms| *ms <= 31 * 86_400_000),
                };
                self.long.set_snapshot_age(wanted.ok_or_else(|| {
                    invalid(name, value).with_hint("At most 31d, 0 for never; a number alone counts seconds.")
                })?);
                if self.long.snapshot_age_ms() > 0 {
                    self.sessions.watch(self.engine.env(), &self.long);
                }
            }
            "archive_target" => {
                let vfs = &*self.engine.env().vfs;
                let folder = |target| archive_folder(target, vfs);
                let target = value.filter(|target| !target.is_empty()).map(folder).transpose()?;
                self.set_archive(target)?;
            }
            "archive_timeout" => {
                let wanted = match value {
                    None => Some(ARCHIVE_TIMEOUT_MS),
                    Some(value) => interval_ms(value).filter(|ms| *ms <= 86_400_000),
                };
                self.database.lock().archive_timeout_ms = wanted.ok_or_else(|| {
                    invalid(name, value).with_hint("At most 1d, 0 for never; a number alone counts seconds.")
                })?;
                let target = self.engine.archive_status().target;
                if target.is_some() {
                    self.set_archive(target)?;
                }
            }
            "log_min_duration_statement" => {
                let least = least_duration(value.unwrap_or("-1"));
                let least = least.ok_or_else(|| invalid(name, value).with_hint(LEAST_DURATION_HINT))?;
                self.log_min_duration_ms.store(least, Ordering::Relaxed);
            }
            "colocate" => self.colocates.store(flag("colocate", value, true)?, Ordering::Relaxed),
            "compress" => self.compresses.store(flag("compress", value, false)?, Ordering::Relaxed),
            "compress_delay" => {
                let wanted = match value {
                    None => Some(COMPRESS_DELAY_MS),
                    Some(value) => interval_ms(value).filter(|ms| *ms <= 86_400_000),
                };
                let wanted = wanted.ok_or_else(|| {
                    invalid(name, value).with_hint("At most 1d; a number alone counts seconds.")
                })?;
                self.engine.set_packing_delay(Duration::from_millis(wanted));
                self.database.lock().compress_delay_ms = wanted;
            }
            "max_parallel_workers" => {
                let wanted = match value {
                    None => Some(default_workers_max()),
                    Some(value) => value.trim().parse().ok().filter(|workers| (1..=1024).contains(workers)),
                };
                self.database.lock().workers_max =
                    wanted.ok_or_else(|| invalid(name, value).with_hint("Between 1 and 1024."))?;
                self.set_workers();
            }
            "worker_idle_timeout" => {
                let wanted = match value {
                    None => Some(WORKER_IDLE_MS),
                    Some(value) => interval_ms(value).filter(|ms| *ms <= 86_400_000),
                };
                self.database.lock().worker_idle_ms = wanted.ok_or_else(|| {
                    invalid(name, value).with_hint("At most 1d; a number alone counts seconds.")
                })?;
                self.set_workers();
            }
            name if AutoSettings::NAMES.contains(&name) => {
                self.automatic.settings.lock().set(name, value)?;
                self.engine.changes().wake();
            }
            "auto_backout" => {
                let on = flag("auto_backout", value, defaults.auto_backout)?;
                self.engine.set_auto_backout(on);
                self.database.lock().auto_backout = on;
            }
            other => {
                if self.database.lock().commit.set(other, value)? {
                    return Ok(());
                }
                // A session's: each begins with it.
                let mut settings = Settings::default();
                settings.set(other, value)?;
                let mut defaults = self.session_defaults.lock();
                defaults.retain(|(known, _)| known != other && !settings::are_aliases(known, other));
                defaults.extend(value.map(|value| (other.to_owned(), value.to_owned())));
            }
        }
        Ok(())
    }

    /// Changes a setting for good: one of the database, or one that its sessions begin with. Without a value it is as if it
    /// had never been set; `all` are all that were.
    /// Sessions that do this wait for each other: all settings are kept in one row.
    pub(crate) fn keep_setting(&self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        let _one_by_one = self.keeping.lock();
        if name == "all" && value.is_none() {
            let known = self.catalog.database_settings()?.into_iter().map(|(name, _)| name);
            return known.filter(|name| name != UNFINISHED).try_for_each(|name| self.keep_one(&name, None));
        }
        self.keep_one(name, value)
    }

    fn keep_one(&self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        self.set_database(name, value)?;
        self.catalog.set_database_setting(name, value)?;
        // Another name of the same thing says nothing any more.
        for other in settings::aliases(name) {
            let kept = self.catalog.database_settings()?;
            if kept.iter().any(|(known, _)| known == other) {
                self.catalog.set_database_setting(other, None)?;
            }
        }
        if value.is_none() {
            self.fall_back(name)?;
        }
        Ok(())
    }

    /// A setting is kept no more: what another name says of the same thing counts again.
    fn fall_back(&self, name: &str) -> Result<(), SqlError> {
        let kept = self.catalog.database_settings()?;
        let defaults = self.member.cluster().defaults();
        if settings::is_of_commits(name) {
            self.apply_commits(&defaults, &kept);
            return Ok(());
        }
        let others = defaults.iter().chain(&kept);
        for (other, value) in others.filter(|(other, _)| settings::are_aliases(name, other)) {
            // One whose value this version does not take has no effect.
            let _ = self.set_database(other, Some(value));
        }
        Ok(())
    }

    /// Tells the engine where the log is archived.
    fn set_archive(&self, target: Option<PathBuf>) -> Result<(), SqlError> {
        let timeout = Duration::from_millis(self.database.lock().archive_timeout_ms);
        Ok(self.engine.set_archive(target.map(|target| ArchiveOptions { target, timeout }))?)
    }

    /// Tells the engine how many workers there may be.
    fn set_workers(&self) {
        let DatabaseSettings { workers_max, worker_idle_ms, .. } = *self.database.lock();
        self.engine.set_workers(workers_max, Duration::from_millis(worker_idle_ms));
    }

    /// Tells the engine when checkpoints are to be made.
    fn set_checkpoints(&self) {
        let DatabaseSettings { checkpoint_interval_ms, max_wal_bytes, .. } = *self.database.lock();
        self.engine.set_checkpoints(Duration::from_millis(checkpoint_interval_ms), max_wal_bytes);
    }
}

/// 22023.
fn invalid(name: &str, value: Option<&str>) -> SqlError {
    let text = format!("invalid value for parameter \"{name}\": \"{}\"", value.unwrap_or_default());
    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
}
