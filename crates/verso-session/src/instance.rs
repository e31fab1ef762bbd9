//! What the sessions of one open database share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use verso_catalog::{Catalog, NamesKey, Role};
use verso_env::Vfs;
use verso_exec::memory::{Account, Reservation, Scope};
use verso_exec::plan::PlFunction;
use verso_exec::spill::TempFiles;
use verso_storage::archive::ArchiveOptions;
use verso_storage::wal::WalOptions;
use verso_storage::{Engine, EngineOptions, GcPolicy, Lsn, Markers, ReadAhead, SweepReport};
use verso_types::TimeStyle;

use crate::automatic::{AutoAnalyze, AutoSettings};
use crate::cluster::{Member, usual_memory_bytes};
use crate::notify::Channels;
use crate::plans::StatementCache;
use crate::registry::{LongAction, LongTransactions, Reason, Registry};
use crate::reservations::Journal;
use crate::resets::Resets;
use crate::services::EPOCH_MICROS;
use crate::settings::{
    self, CommitLevel, Settings, flag, interval_ms, least_duration, memory_bytes, wal_bytes,
};
use crate::shares::Shares;
use crate::shares::rest_of_sweep;
use verso_planner::errors::{SqlError, sqlstate};

/// Bound functions kept; beyond that all are forgotten and bound again when called.
const FUNCTIONS_KEPT: usize = 256;
/// Of each of them bound with different conventions for dates and times; beyond that the oldest is forgotten.
const STYLES_KEPT: usize = 8;
/// Most texts that `stmt_cache_size` may ask for.
const STATEMENTS_MAX: usize = 1_000_000;
/// Sweeps remembered for `verso_sweep_history`.
const SWEEPS_KEPT: usize = 1_000;

/// A function as it is bound with different conventions for dates and times.
type ByStyle = Vec<(TimeStyle, Arc<PlFunction>)>;

/// An open database, as its sessions see it.
pub struct Instance {
    /// Storage.
    pub engine: Engine,
    /// ANALYZE by itself.
    pub(crate) automatic: AutoAnalyze,
    /// Names and what they mean.
    pub catalog: Catalog,
    /// Who is connected.
    pub(crate) sessions: Arc<Registry>,
    /// Who listens to what, and messages on their way.
    pub(crate) channels: Arc<Channels>,
    /// Texts executed before.
    pub(crate) statements: StatementCache,
    /// Functions bound, by oid and catalog version.
    functions: Mutex<HashMap<(u32, NamesKey), ByStyle>>,
    /// What ALTER DATABASE SET changed.
    pub(crate) database: Mutex<DatabaseSettings>,
    /// What the catalog holds of it.
    catalog_memory: Mutex<Reservation>,
    /// What all sessions hold together (`memory_limit`).
    pub(crate) memory: Account,
    /// Where their temporary files are.
    pub(crate) temporary: Arc<TempFiles>,
    /// Its place among the databases of its server.
    pub(crate) member: Arc<Member>,
    /// Whether tables without an option of their own place together what one transaction writes (`colocate`).
    pub(crate) colocates: AtomicBool,
    /// Whether cold pages of tables without an option of their own are packed by themselves (`compress`).
    pub(crate) compresses: AtomicBool,
    /// Statements that take so many milliseconds are logged, where their sessions say nothing about it; -1 is none.
    pub(crate) log_min_duration_ms: AtomicI64,
    /// Indexes get their entries when all of a table are known, from one scan: for a restore into a database that nobody uses
    /// yet.
    pub builds_later: AtomicBool,
    /// Sweeps asked for by statements, oldest first.
    pub(crate) sweeps: Mutex<Vec<SweepRecord>>,
    /// Settings that sessions begin with.
    session_defaults: Mutex<Vec<(String, String)>>,
    /// Shares of the machine.
    pub(crate) shares: Arc<Shares>,
    /// What transactions that have not ended add to RESERVABLE columns.
    pub(crate) reservations: Arc<Journal>,
    /// Transactions that span much log.
    pub(crate) long: Arc<LongTransactions>,
    /// Counters that were set back.
    pub(crate) resets: Resets,
}

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

/// A segment is archived after this time where nobody has said another.
const ARCHIVE_TIMEOUT_MS: u64 = 300_000;
/// Pages are cold, and packed by themselves, after so long unless it is set.
const COMPRESS_DELAY_MS: u64 = 60_000;

/// The folder that a statement names: an absolute path of this machine.
fn local_folder(text: &str) -> Result<PathBuf, SqlError> {
    if let Some((scheme, _)) = text.split_once("://") {
        let text = format!("archives and backups at \"{scheme}://\" are not supported");
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_hint("Name a folder."));
    }
    let folder = PathBuf::from(text);
    match folder.is_absolute() {
        true => Ok(folder),
        false => {
            let text = format!("\"{text}\" is not an absolute path");
            Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text))
        }
    }
}

/// The folder of an archive or a backup: one of the disk, or of an object store that the program knows.
///
/// # Errors
/// 0A000, 22023.
pub(crate) fn archive_folder(text: &str, vfs: &dyn Vfs) -> Result<PathBuf, SqlError> {
    match text.split_once("://") {
        Some((scheme, rest)) if vfs.knows(scheme) => {
            let rest = rest.trim_matches('/');
            if rest.is_empty() {
                let text = format!("\"{text}\" names no bucket");
                return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
            }
            Ok(PathBuf::from(format!("{scheme}://{rest}")))
        }
        _ => local_folder(text),
    }
}

/// The setting that says of a database that a restore has begun and not ended.
const UNFINISHED: &str = "verso.restore";
/// What Verso keeps among the settings for itself.
const OWN: &str = "verso.";
/// Most workers of a job where nobody has said how many: more than a small machine has processors.
fn default_workers_max() -> u32 {
    (verso_env::process::processors() as u32).max(8)
}

/// How long a worker without work stays where nobody has said how long.
const WORKER_IDLE_MS: u64 = 60_000;

impl std::fmt::Debug for Instance {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Instance").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

impl Instance {
    /// Makes the catalog of a new database.
    ///
    /// # Errors
    /// Those of storage.
    pub fn create(engine: Engine, member: Arc<Member>) -> Result<Instance, SqlError> {
        let catalog = Catalog::bootstrap(&engine)?;
        let instance = Instance::new(engine, catalog, member);
        instance.apply_defaults()?;
        Ok(instance)
    }

    /// As [`Instance::create`], for a restore: from its first commit on the database says that it is unfinished.
    ///
    /// # Errors
    /// Those of storage.
    pub fn create_unfinished(engine: Engine, member: Arc<Member>) -> Result<Instance, SqlError> {
        let catalog = Catalog::bootstrap_with(&engine, &[(UNFINISHED, "unfinished")])?;
        Ok(Instance::new(engine, catalog, member))
    }

    /// Whether a restore into this database has begun and not ended.
    ///
    /// # Errors
    /// Those of storage.
    pub fn is_unfinished(&self) -> Result<bool, SqlError> {
        Ok(self.catalog.database_settings()?.iter().any(|(name, _)| name == UNFINISHED))
    }

    /// The restore has ended: the database can be opened by everybody. That is on disk when this returns.
    ///
    /// # Errors
    /// Those of storage.
    pub fn finish(&self) -> Result<(), SqlError> {
        Ok(self.catalog.set_database_setting(UNFINISHED, None)?)
    }

    /// Reads the catalog of a database.
    ///
    /// # Errors
    /// Those of storage; a catalog that contradicts itself.
    pub fn open(engine: Engine, member: Arc<Member>) -> Result<Instance, SqlError> {
        let catalog = Catalog::load(&engine)?;
        // What sessions have left behind that did not end by themselves.
        catalog.drop_temporary(None)?;
        let kept = catalog.database_settings()?;
        let instance = Instance::new(engine, catalog, member);
        let is_archived = |name: &str| name == "archive_target";
        if !kept.iter().any(|(name, _)| is_archived(name))
            && !instance.member.cluster().defaults().iter().any(|(name, _)| is_archived(name))
        {
            // Log that was kept for an archive that was never set, or is not any more.
            instance.engine.set_archive(None)?;
        }
        let keeps = |name: &str| name == "version_retention";
        if !kept.iter().any(|(name, _)| keeps(name))
            && !instance.member.cluster().defaults().iter().any(|(name, _)| keeps(name))
        {
            // A past that was kept as long as somebody wanted it.
            instance.engine.set_version_retention(Duration::ZERO);
        }
        // What is wrong in them was told when the server started.
        let _ = instance.apply_defaults();
        for (name, value) in kept.iter().filter(|(name, _)| !name.starts_with(OWN)) {
            // One that this version does not know, or whose value it does not take, has no effect.
            let _ = instance.set_database(name, Some(value));
        }
        Ok(instance)
    }

    /// The server's configuration was read just now.
    pub fn note_configured(&self) {
        let moment = self.engine.env().clock.unix_micros() - crate::services::EPOCH_MICROS;
        self.member.cluster().note_configured(moment);
    }

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
                    Some(value) => value.trim().parse().map_err(|_| {
                        let text = format!("invalid value for parameter \"sweep_interval\": \"{value}\"");
                        SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
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
                self.log_min_duration_ms.store(least.ok_or_else(|| invalid(name, value))?, Ordering::Relaxed);
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
    pub(crate) fn keep_setting(&self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        if name == "all" && value.is_none() {
            let known = self.catalog.database_settings()?.into_iter().map(|(name, _)| name);
            return known
                .filter(|name| name != UNFINISHED)
                .try_for_each(|name| self.keep_setting(&name, None));
        }
        self.set_database(name, value)?;
        self.catalog.set_database_setting(name, value)?;
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

    fn new(engine: Engine, catalog: Catalog, member: Arc<Member>) -> Instance {
        crate::files::provide();
        // Long texts are read as long as their statement is wanted.
        verso_types::interrupt::ask(verso_env::recursion::is_wanted);
        let &EngineOptions {
            sweep_interval, auto_backout, checkpoint_interval_ms, checkpoint_log_bytes, ..
        } = engine.options();
        let engine_options = engine.options().clone();
        engine.set_workers(default_workers_max(), Duration::from_millis(WORKER_IDLE_MS));
        let vfs = Arc::clone(&engine.env().vfs);
        let temporary = Arc::new(TempFiles::new(vfs, engine.temporary_dir().to_path_buf()));
        let memory = member.cluster().memory().child(Scope::Instance, usual_memory_bytes());
        let moment = engine.env().clock.unix_micros() - crate::services::EPOCH_MICROS;
        member.cluster().note_opened(moment);
        let long = Arc::new(LongTransactions::new(engine.clone(), member.number()));
        let (sessions, clock) = (Arc::downgrade(&member.cluster.sessions), Arc::clone(&engine.env().clock));
        engine.worker_pool().rest_by(Arc::new(move |workers| {
            sessions.upgrade().map_or(Duration::ZERO, |sessions| rest_of_sweep(&sessions, &*clock, workers))
        }));
        Instance {
            reservations: Arc::default(),
            resets: Resets::default(),
            shares: Arc::new(Shares::new(Arc::clone(&engine.env().clock))),
            automatic: AutoAnalyze::default(),
            catalog_memory: Mutex::new(memory.reserve("the catalog", u64::MAX)),
            channels: Arc::new(Channels::new(&memory)),
            memory,
            temporary,
            engine,
            catalog,
            sessions: Arc::clone(&member.cluster.sessions),
            statements: StatementCache::default(),
            functions: Mutex::default(),
            database: Mutex::new(DatabaseSettings {
                sweep_interval,
                auto_backout,
                commit: CommitLevel::default(),
                checkpoint_interval_ms,
                max_wal_bytes: checkpoint_log_bytes,
                workers_max: default_workers_max(),
                archive_timeout_ms: ARCHIVE_TIMEOUT_MS,
                compress_delay_ms: COMPRESS_DELAY_MS,
                worker_idle_ms: WORKER_IDLE_MS,
                buffer_pool_bytes: engine_options.buffer_pool_bytes,
                lru_dirty: [engine_options.lru_min_dirty, engine_options.lru_max_dirty],
                version_retention_ms: 0,
                version_retention_bytes: 0,
            }),
            member,
            colocates: AtomicBool::new(true),
            compresses: AtomicBool::new(false),
            builds_later: AtomicBool::new(false),
            log_min_duration_ms: AtomicI64::new(-1),
            sweeps: Mutex::default(),
            session_defaults: Mutex::default(),
            long,
        }
    }

    /// What statements, sessions and connections hold of the memory: all but the catalog.
    pub fn held_bytes(&self) -> u64 {
        let catalog = self.catalog_memory.lock();
        self.memory.used_bytes().saturating_sub(catalog.bytes())
    }

    /// Counts what the catalog takes now. It is there whatever the limit: statements have what is left.
    pub(crate) fn count_catalog(&self) {
        // Asked before the lock is taken: the catalog has locks of its own.
        let bytes = self.catalog.heap_bytes();
        self.catalog_memory.lock().hold(bytes);
    }

    /// What the statements of all sessions hold (`memory_limit`).
    pub fn memory(&self) -> &Account {
        &self.memory
    }

    /// Its place among the databases of its server.
    pub fn member(&self) -> &Arc<Member> {
        &self.member
    }

    /// Finds a function bound with these conventions for dates and times, by which its literals were read, or binds it.
    pub(crate) fn function(
        &self,
        key: (u32, NamesKey),
        style: &TimeStyle,
        bind: impl FnOnce() -> Result<PlFunction, SqlError>,
    ) -> Result<Arc<PlFunction>, SqlError> {
        let known = |of_style: &ByStyle| {
            of_style.iter().find(|(of, _)| of == style).map(|(_, function)| Arc::clone(function))
        };
        if let Some(function) = self.functions.lock().get(&key).and_then(known) {
            return Ok(function);
        }
        let function = Arc::new(bind()?);
        let mut functions = self.functions.lock();
        if functions.len() >= FUNCTIONS_KEPT {
            functions.clear();
        }
        let of_style = functions.entry(key).or_default();
        if of_style.len() >= STYLES_KEPT {
            of_style.remove(0);
        }
        of_style.push((style.clone(), Arc::clone(&function)));
        Ok(function)
    }

    /// Remembers a sweep.
    pub(crate) fn remember_sweep(&self, record: SweepRecord) {
        let mut sweeps = self.sweeps.lock();
        if sweeps.len() >= SWEEPS_KEPT {
            sweeps.remove(0);
        }
        sweeps.push(record);
    }
}

impl Instance {
    /// The role of that name.
    ///
    /// # Errors
    /// Those of storage.
    pub fn role(&self, name: &str) -> Result<Option<Role>, SqlError> {
        Ok(self.catalog.committed_roles()?.into_iter().find(|role| &*role.name == name))
    }

    /// Whether a role is a member of another, or is it; by names, and what is not there is a member of nothing.
    ///
    /// # Errors
    /// Those of storage.
    pub fn is_member(&self, role: &str, other: &str) -> Result<bool, SqlError> {
        crate::session::is_member(self, role, other)
    }

    /// The name of the role that owns the database.
    ///
    /// # Errors
    /// Those of storage.
    pub fn owner(&self) -> Result<Option<Arc<str>>, SqlError> {
        crate::session::owner_of(self)
    }

    /// All roles.
    ///
    /// # Errors
    /// Those of storage.
    pub fn roles(&self) -> Result<Vec<Role>, SqlError> {
        Ok(self.catalog.committed_roles()?)
    }

    /// Cancels the statement of a session; false if there is no such session.
    pub fn cancel_session(&self, id: u64) -> bool {
        self.sessions.find(id).map(|session| session.interrupt(Reason::User)).is_some()
    }

    /// Ends a session, as soon as its owner notices; false if there is no such session.
    pub fn terminate_session(&self, id: u64) -> bool {
        self.sessions.find(id).map(|session| session.interrupt(Reason::Administrator)).is_some()
    }
}

impl Instance {
    /// How far the log is on disk; see [`Session::unsettled`](crate::Session::unsettled).
    pub fn durable(&self) -> u64 {
        self.engine.durable().0
    }

    /// Waits until everything that is committed is on disk; up to where the log is then.
    ///
    /// # Errors
    /// 58030 if the log could not be written.
    pub fn wait_durable(&self) -> Result<u64, SqlError> {
        let end = self.engine.logged();
        self.engine.flush_log(end)?;
        Ok(end.0)
    }

    /// Waits until the log is on disk up to there; writes it, if nobody does.
    ///
    /// # Errors
    /// 58030 if the log could not be written.
    pub fn flush_log(&self, upto: u64) -> Result<(), SqlError> {
        Ok(self.engine.flush_log(Lsn(upto))?)
    }
}

/// 22023.
fn invalid(name: &str, value: Option<&str>) -> SqlError {
    let text = format!("invalid value for parameter \"{name}\": \"{}\"", value.unwrap_or_default());
    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
}

/// A sweep that is done.
#[derive(Clone, Debug)]
pub struct SweepRecord {
    /// The session that asked for it; none if it started by itself.
    pub(crate) session: Option<u64>,
    pub(crate) started: i64,
    pub(crate) seconds: f64,
    pub(crate) workers: u32,
    pub(crate) table: Option<String>,
    pub(crate) pages_visited: u64,
    pub(crate) pages_skipped: u64,
    pub(crate) pages_backed_out: u64,
    pub(crate) before: Markers,
    pub(crate) after: Markers,
}

impl SweepRecord {
    /// One that started by itself.
    pub(crate) fn automatic(report: &SweepReport) -> SweepRecord {
        SweepRecord {
            session: None,
            started: report.started_unix_micros - EPOCH_MICROS,
            seconds: report.seconds,
            workers: report.workers,
            table: None,
            pages_visited: report.pages_visited,
            pages_skipped: report.pages_skipped,
            pages_backed_out: report.pages_backed_out,
            before: report.before,
            after: report.after,
        }
    }
}
