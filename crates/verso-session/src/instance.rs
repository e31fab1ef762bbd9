//! What the sessions of one open database share.

mod earlier;
mod folder;
mod settings;
mod sweeps;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::time::Duration;

use parking_lot::Mutex;
use verso_catalog::{Catalog, CatalogSnapshot, Damage, Dangling, NamesKey, Role};
use verso_exec::memory::{Account, Reservation, Scope};
use verso_exec::plan::PlFunction;
use verso_exec::spill::TempFiles;
use verso_storage::{Engine, Lsn, TxnOptions};
use verso_types::TimeStyle;

use crate::automatic::AutoAnalyze;
use crate::catalogs::LastingRows;
use crate::cluster::{Member, Usage, usual_memory_bytes};
use crate::notify::Channels;
use crate::plans::StatementCache;
use crate::registry::{LongTransactions, Reason, Registry};
use crate::reservations::Journal;
use crate::resets::Resets;
use crate::shares::Shares;
use crate::shares::rest_of_sweep;
use crate::tracked::Tracked;
pub(crate) use folder::archive_folder;
use settings::DatabaseSettings;
pub(crate) use sweeps::SweepRecord;
use verso_planner::errors::SqlError;

/// Bound functions kept; beyond that all are forgotten and bound again when called.
const FUNCTIONS_KEPT: usize = 256;
/// Of each of them bound with different conventions for dates and times; beyond that the oldest is forgotten.
const STYLES_KEPT: usize = 8;

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
    /// Rows of the catalogs that questions have asked for.
    pub(crate) lasting: LastingRows,
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
    /// Held by the session that keeps a setting for good.
    keeping: Mutex<()>,
    /// Shares of the machine.
    pub(crate) shares: Arc<Shares>,
    /// What transactions that have not ended add to RESERVABLE columns.
    pub(crate) reservations: Arc<Journal>,
    /// Transactions that span much log.
    pub(crate) long: Arc<LongTransactions>,
    /// Counters that were set back.
    pub(crate) resets: Resets,
    /// What statements have cost.
    pub(crate) tracked: Tracked,
    /// Who may connect.
    usage: Mutex<Usage>,
}

/// The setting that says of a database that a restore has begun and not ended.
const UNFINISHED: &str = "verso.restore";
/// The one that says how it may be used.
const USAGE: &str = "verso.usage";

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
        Ok(self.catalog.database_property(UNFINISHED)?.is_some())
    }

    /// How the database may be used.
    pub fn usage(&self) -> Usage {
        *self.usage.lock()
    }

    /// Says how the database may be used, for good. That is on disk when this returns.
    ///
    /// # Errors
    /// Those of storage.
    pub fn set_usage(&self, usage: Usage) -> Result<(), SqlError> {
        let _one_by_one = self.keeping.lock();
        let text = (usage != Usage::default()).then(|| usage.text());
        self.catalog.set_database_setting(USAGE, text.as_deref())?;
        *self.usage.lock() = usage;
        Ok(())
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
        let is_whole = !catalog.is_incomplete();
        if is_whole {
            catalog.drop_temporary(None)?;
        }
        let kept = catalog.database_settings()?;
        let instance = Instance::new(engine, catalog, member);
        if is_whole {
            instance.settle_policies()?;
        }
        let is_archived = |name: &str| name == "archive_target";
        // Of a catalog that is not whole nobody knows which settings there were.
        if is_whole
            && !kept.iter().any(|(name, _)| is_archived(name))
            && !instance.member.cluster().defaults().iter().any(|(name, _)| is_archived(name))
        {
            // Log that was kept for an archive that was never set, or is not any more.
            instance.engine.set_archive(None)?;
        }
        let keeps = |name: &str| name == "version_retention";
        if is_whole
            && !kept.iter().any(|(name, _)| keeps(name))
            && !instance.member.cluster().defaults().iter().any(|(name, _)| keeps(name))
        {
            // A past that was kept as long as somebody wanted it.
            instance.engine.set_version_retention(Duration::ZERO);
        }
        // What is wrong in them was told when the server started.
        let _ = instance.apply_defaults();
        let usage = instance.catalog.database_property(USAGE)?;
        *instance.usage.lock() = usage.map(|text| Usage::of_text(&text)).unwrap_or_default();
        for (name, value) in &kept {
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

    fn new(engine: Engine, catalog: Catalog, member: Arc<Member>) -> Instance {
        crate::files::provide();
        // Long texts are read as long as their statement is wanted.
        verso_types::interrupt::ask(verso_env::recursion::is_wanted);
        let settings = DatabaseSettings::usual(engine.options());
        engine.set_workers(settings.workers_max, Duration::from_millis(settings.worker_idle_ms));
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
            tracked: Tracked::new(&memory, moment),
            usage: Mutex::default(),
            shares: Arc::new(Shares::new(Arc::clone(&engine.env().clock))),
            automatic: AutoAnalyze::default(),
            catalog_memory: Mutex::new(memory.reserve("the catalog", u64::MAX)),
            lasting: LastingRows::new(&memory),
            channels: Arc::new(Channels::new(&memory)),
            memory,
            temporary,
            engine,
            catalog,
            sessions: Arc::clone(&member.cluster.sessions),
            statements: StatementCache::default(),
            functions: Mutex::default(),
            database: Mutex::new(settings),
            member,
            colocates: AtomicBool::new(true),
            compresses: AtomicBool::new(false),
            builds_later: AtomicBool::new(false),
            log_min_duration_ms: AtomicI64::new(-1),
            sweeps: Mutex::default(),
            session_defaults: Mutex::default(),
            keeping: Mutex::default(),
            long,
        }
    }

    /// What statements, sessions and connections hold of the memory: all but the catalog, rows of it, and the figures of statements.
    pub fn held_bytes(&self) -> u64 {
        let catalog = self.catalog_memory.lock().bytes() + self.lasting.held_bytes();
        self.memory.used_bytes().saturating_sub(catalog).saturating_sub(self.tracked.held_bytes())
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
    /// What definitions of the catalog name and is not there: nothing in a sound database.
    ///
    /// # Errors
    /// Those of reading the catalog; `XX001` where its rows make no catalog.
    pub fn dangling(&self) -> Result<Vec<Dangling>, SqlError> {
        self.of_catalog(CatalogSnapshot::dangling)
    }

    /// The objects whose definitions could not be read; part of `verso check`.
    ///
    /// # Errors
    /// Those of reading the catalog.
    pub fn damage(&self) -> Result<Vec<Damage>, SqlError> {
        self.of_catalog(CatalogSnapshot::damage)
    }

    /// What the catalog has lost on damaged pages; part of `verso check`.
    ///
    /// # Errors
    /// Those of reading the catalog.
    pub fn losses(&self) -> Result<Vec<String>, SqlError> {
        self.of_catalog(|snapshot| self.catalog.losses(snapshot))
    }

    /// How many indexes are out of use because they were built with other data of collations than the program has.
    ///
    /// # Errors
    /// Those of reading the catalog.
    pub fn outdated_indexes(&self) -> Result<usize, SqlError> {
        self.of_catalog(CatalogSnapshot::outdated_indexes)
    }

    /// Asks the catalog as it is now.
    fn of_catalog<T>(&self, ask: impl FnOnce(&CatalogSnapshot) -> T) -> Result<T, SqlError> {
        let nothing = TxnOptions { read_only: true, savepoints: false, ..TxnOptions::default() };
        let mut txn = self.engine.begin(nothing);
        txn.begin_statement()?;
        let answer = ask(&*self.catalog.snapshot(&txn)?);
        txn.end_statement()?;
        txn.end_unseen()?;
        Ok(answer)
    }

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
