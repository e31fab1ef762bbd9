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

use super::Instance;
use super::folder::archive_folder;
use crate::automatic::AutoSettings;
use crate::cluster::usual_memory_bytes;
use crate::registry::LongAction;
use crate::settings::{self, CommitLevel, Settings, flag, number, small};
use crate::tracked::MAX_USUAL;
use verso_planner::errors::{SqlError, sqlstate};

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

/// At these shares of dirty frames the page cleaner stops and starts.
const LRU_DIRTY: [&str; 2] = ["lru_min_dirty", "lru_max_dirty"];
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
        let mut lru = lru_usual();
        for (share, name) in lru.iter_mut().zip(LRU_DIRTY) {
            let said = kept.iter().chain(defaults.iter()).find(|(known, _)| known == name);
            *share = small(name, said.map(|(_, value)| &**value), *share)?;
        }
        // What the database keeps by itself has been refused when it was said, or comes from a version that moved the other one.
        match defaults.iter().any(|(name, _)| LRU_DIRTY.contains(&name.as_str())) {
            true => in_order(lru),
            false => Ok(()),
        }
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
                let interval = number(name, value, defaults.sweep_interval)?;
                self.engine.set_sweep_interval(interval);
                self.database.lock().sweep_interval = interval;
            }
            "memory_limit" => {
                self.memory.set_limit(number(name, value, usual_memory_bytes())?);
            }
            "checkpoint_interval" | "checkpoint_timeout" => {
                let wanted = number(name, value, defaults.checkpoint_interval_ms)?;
                self.database.lock().checkpoint_interval_ms = wanted;
                self.set_checkpoints();
            }
            "max_wal_size" => {
                let wanted = number(name, value, defaults.checkpoint_log_bytes)?;
                self.database.lock().max_wal_bytes = wanted;
                self.set_checkpoints();
            }
            "long_tx_wal_limit" => {
                self.long.set_limit(number(name, value, 0)?);
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
                self.engine.set_spare_log(number(name, value, WalOptions::default().spare_bytes_max)?);
            }
            "version_retention" => {
                let ms = number(name, value, 0)?;
                self.database.lock().version_retention_ms = ms;
                self.engine.set_version_retention(Duration::from_millis(ms));
            }
            "buffer_pool" | "shared_buffers" => {
                let range = settings::range(name).map(|range| range.up_to(self.engine.buffer_pool_max()));
                let bytes = match (value, range) {
                    (Some(value), Some(range)) => range.size(name, value)?,
                    _ => self.engine.options().buffer_pool_bytes,
                };
                self.engine.set_buffer_pool(bytes)?;
                self.database.lock().buffer_pool_bytes = bytes;
            }
            "lru_min_dirty" | "lru_max_dirty" => {
                let mut lru = self.database.lock().lru_dirty;
                let own = usize::from(name == LRU_DIRTY[1]);
                lru[own] = small(name, value, lru_usual()[own])?;
                // While a database is opened they come one after the other: until both are there, the other one follows.
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
                self.statements.set_size(value.map(|_| small(name, value, 0)).transpose()?);
            }
            "pg_stat_statements.max" => {
                self.tracked.set_most(small(name, value, MAX_USUAL)?);
            }
            "max_pdq_priority" => {
                self.shares.set_max(small(name, value, 100)?);
            }
            "gc_policy" => {
                let wanted = GcPolicy::of(value.unwrap_or(GcPolicy::NAMES[0]));
                self.engine.set_gc_policy(wanted.ok_or_else(|| {
                    let values = GcPolicy::NAMES.join(", ");
                    invalid(name, value).with_hint(format!("Available values: {values}."))
                })?);
            }
            "version_retention_size" => {
                let bytes = number(name, value, 0)?;
                self.database.lock().version_retention_bytes = bytes;
                self.engine.set_retention_bytes(bytes);
            }
            "max_snapshot_age" => {
                self.long.set_snapshot_age(number(name, value, 0)?);
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
                let wanted = number(name, value, ARCHIVE_TIMEOUT_MS)?;
                self.database.lock().archive_timeout_ms = wanted;
                let target = self.engine.archive_status().target;
                if target.is_some() {
                    self.set_archive(target)?;
                }
            }
            "log_min_duration_statement" => {
                let mut settings = Settings::default();
                settings.set(name, value)?;
                self.log_min_duration_ms.store(settings.log_min_duration_ms.unwrap_or(-1), Ordering::Relaxed);
            }
            "colocate" => self.colocates.store(flag("colocate", value, true)?, Ordering::Relaxed),
            "compress" => self.compresses.store(flag("compress", value, false)?, Ordering::Relaxed),
            "compress_delay" => {
                let wanted = number(name, value, COMPRESS_DELAY_MS)?;
                self.engine.set_packing_delay(Duration::from_millis(wanted));
                self.database.lock().compress_delay_ms = wanted;
            }
            "max_parallel_workers" => {
                let wanted = small(name, value, default_workers_max())?;
                self.database.lock().workers_max = wanted;
                self.set_workers();
            }
            "worker_idle_timeout" => {
                let wanted = number(name, value, WORKER_IDLE_MS)?;
                self.database.lock().worker_idle_ms = wanted;
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
            let known: Vec<String> =
                self.catalog.database_settings()?.into_iter().map(|(name, _)| name).collect();
            return known.into_iter().try_for_each(|name| self.keep_one(&name, None));
        }
        self.check_pair(name, value)?;
        self.keep_one(name, value)
    }

    /// Refuses a share of dirty pages at which the page cleaner would start below the one at which it stops: neither of the two
    /// moves the other.
    fn check_pair(&self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        let Some(own) = LRU_DIRTY.iter().position(|known| *known == name) else { return Ok(()) };
        let defaults = self.member.cluster().defaults();
        let configured = || defaults.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
        let mut lru = self.database.lock().lru_dirty;
        lru[own] = small(name, value.or_else(configured), lru_usual()[own])?;
        in_order(lru).map_err(|error| error.with_hint(format!("Set {} before.", LRU_DIRTY[1 - own])))
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

/// The shares of dirty frames at which the page cleaner stops and starts where nobody says any.
fn lru_usual() -> [u8; 2] {
    let defaults = EngineOptions::default();
    [defaults.lru_min_dirty, defaults.lru_max_dirty]
}

/// Refuses such shares that the page cleaner would stop above where it starts.
fn in_order(lru: [u8; 2]) -> Result<(), SqlError> {
    if lru[0] <= lru[1] {
        return Ok(());
    }
    let [(min, least), (max, most)] = [(LRU_DIRTY[0], lru[0]), (LRU_DIRTY[1], lru[1])];
    let text = format!("{min} ({least}) must not be above {max} ({most})");
    Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text))
}

/// 22023.
fn invalid(name: &str, value: Option<&str>) -> SqlError {
    let text = format!("invalid value for parameter \"{name}\": \"{}\"", value.unwrap_or_default());
    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
}
