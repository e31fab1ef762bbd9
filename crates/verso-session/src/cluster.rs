//! The databases of one server, as the sessions of each see the others.
//!
//! ```text
//! server ──► Cluster: sessions, memory ◄── Member ◄── Instance (one a database that is open)
//!    ▲                  │
//!    └── Databases ◄────┘   CREATE, DROP, ALTER DATABASE, pg_database
//! ```
//!
//! D1. Each database holds its own roles. A role of one database means something in another only if it is a superuser, or
//!     has the same name and the same password there, or none in both and has logged in (docs/decisions/0020).
//! D2. A database that is opened by itself, by a program or as one file of a server, is the only one of its cluster.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::RwLock;
use verso_exec::memory::{Account, Scope};

use crate::export::Exporter;
use crate::instance::Instance;
use crate::registry::{Registry, Waits};
use verso_parser::syntax::DatabaseOptions;
use verso_planner::errors::{SqlError, sqlstate};

/// The name of a database that is alone.
pub const FIRST_DATABASE: &str = "verso";
/// The name of the other database of a new folder: `createdb`, `pg_dumpall` and test runners connect to it.
pub const SECOND_DATABASE: &str = "postgres";
/// The first one's number in `pg_database`: the first of those that tools take for a user's. pgAdmin hides databases below it.
pub const FIRST_DATABASE_NUMBER: u32 = 16_384;
/// The number of `postgres`, as in PostgreSQL.
pub const SECOND_DATABASE_NUMBER: u32 = 5;

/// A database that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewDatabase<'n> {
    /// Its name.
    pub name: &'n str,
    /// The one that it is a copy of; an empty one without.
    pub template: Option<&'n str>,
    /// Bytes of its pages; those of the server's without. A copy has those of its template.
    pub page_size: Option<u32>,
}

/// How a database may be used: what CONNECTION LIMIT, IS_TEMPLATE and ALLOW_CONNECTIONS say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// So many sessions at the most, but for those of superusers; -1 is no limit.
    pub connection_limit: i32,
    /// Whoever may make databases may copy it, and nobody drops it.
    pub is_template: bool,
    /// Whether anybody may connect.
    pub allow_connections: bool,
}

impl Default for Usage {
    fn default() -> Usage {
        Usage { connection_limit: -1, is_template: false, allow_connections: true }
    }
}

impl Usage {
    /// This with what a statement says.
    #[must_use]
    pub fn with(self, options: DatabaseOptions) -> Usage {
        Usage {
            connection_limit: options.connection_limit.unwrap_or(self.connection_limit),
            is_template: options.is_template.unwrap_or(self.is_template),
            allow_connections: options.allow_connections.unwrap_or(self.allow_connections),
        }
    }

    /// How it is kept.
    pub(crate) fn text(self) -> String {
        let Usage { connection_limit, is_template, allow_connections } = self;
        format!("{connection_limit} {is_template} {allow_connections}")
    }

    /// What was kept; what is missing or cannot be read is as it is without.
    pub(crate) fn of_text(text: &str) -> Usage {
        let mut parts = text.split(' ');
        let usual = Usage::default();
        let limit = parts.next().and_then(|part| part.parse().ok());
        let mut flag = |usual: bool| parts.next().and_then(|part| part.parse().ok()).unwrap_or(usual);
        Usage {
            connection_limit: limit.unwrap_or(usual.connection_limit),
            is_template: flag(usual.is_template),
            allow_connections: flag(usual.allow_connections),
        }
    }
}

/// A database as `pg_database` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseEntry {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: Arc<str>,
    /// Its owner's name; not known before it was open.
    pub owner: Option<Arc<str>>,
    /// How it may be used; as usual where that is not known before it was open.
    pub usage: Usage,
}

/// Looks whether the statement is cancelled.
pub type CheckCancelled<'c> = &'c dyn Fn() -> Result<(), SqlError>;
/// What is done with an open database.
pub type WithInstance<'w> = &'w mut dyn FnMut(&Arc<Instance>) -> Result<(), SqlError>;

/// The server's side: the databases that there are, and how they are made, renamed and removed.
pub trait Databases: Send + Sync {
    /// All of them, by name; where the folder cannot be read, those that were known before.
    fn list(&self) -> Vec<DatabaseEntry>;

    /// Makes a database: a new one, or a copy of one that nobody uses. `fill` gets it before anybody can see it.
    ///
    /// # Errors
    /// 42P04 where it is there already, 55006 where the template is used, 0A000 where there is one file; those of `fill`.
    fn create(
        &self,
        new: &NewDatabase<'_>,
        fill: WithInstance<'_>,
        check: CheckCancelled<'_>,
    ) -> Result<(), SqlError>;

    /// Removes a database, its sessions before if `force` says so.
    ///
    /// # Errors
    /// 3D000 where it is not there, 55006 where it is used.
    fn remove(&self, name: &str, force: bool, check: CheckCancelled<'_>) -> Result<(), SqlError>;

    /// Gives a database that nobody uses another name.
    ///
    /// # Errors
    /// 3D000, 42P04, 55006.
    fn rename(&self, name: &str, to: &str, check: CheckCancelled<'_>) -> Result<(), SqlError>;

    /// Opens a database for as long as `job` needs it.
    ///
    /// # Errors
    /// 3D000; those of opening and of the job.
    fn with(&self, name: &str, job: WithInstance<'_>) -> Result<(), SqlError>;

    /// Notes how a database that is open may be used from now on.
    fn note_usage(&self, name: &str, usage: Usage);

    /// Bytes of a database's file.
    ///
    /// # Errors
    /// 3D000.
    fn size(&self, name: &str) -> Result<u64, SqlError>;
}

/// Half of the memory that the process may use; the other half is for the buffer pool and the rest of the machine.
pub fn usual_memory_bytes() -> u64 {
    verso_env::process::machine_bytes().map_or(0, |bytes| (bytes / 2).max(64 << 20))
}

/// What the databases of a server share.
pub struct Cluster {
    pub(crate) sessions: Arc<Registry>,
    /// What all sessions hold together.
    memory: Account,
    /// Connections that the server takes, for SHOW; 0 where there is none.
    connections_max: AtomicUsize,
    /// Settings of the server itself, for SHOW.
    server_settings: RwLock<Vec<(&'static str, String)>>,
    databases: OnceLock<Weak<dyn Databases>>,
    /// Who makes logical backups.
    exporter: OnceLock<Arc<dyn Exporter>>,
    /// Has the configuration read again.
    reloads: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
    /// What the server's configuration says: databases and sessions begin with it where nothing else is said.
    defaults: RwLock<Arc<[(String, String)]>>,
    /// When its first database was opened, and when its configuration was read last; 0 before.
    started: AtomicI64,
    configured: AtomicI64,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Cluster").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

impl Cluster {
    /// One whose statements hold at most so many bytes, whatever the `memory_limit` of each database; 0 is no limit.
    pub fn new(memory_bytes: u64) -> Arc<Cluster> {
        Arc::new(Cluster {
            sessions: Arc::default(),
            memory: Account::new(Scope::Instance, memory_bytes),
            connections_max: AtomicUsize::new(0),
            server_settings: RwLock::default(),
            databases: OnceLock::new(),
            exporter: OnceLock::new(),
            reloads: OnceLock::new(),
            defaults: RwLock::new(Arc::new([])),
            started: AtomicI64::new(0),
            configured: AtomicI64::new(0),
        })
    }

    /// Says who keeps the databases; the first call counts.
    pub fn kept_by(&self, databases: &Arc<dyn Databases>) {
        let _ = self.databases.set(Arc::downgrade(databases));
    }

    /// Says who makes logical backups; the first call counts.
    pub fn exported_by(&self, exporter: Arc<dyn Exporter>) {
        let _ = self.exporter.set(exporter);
    }

    /// Says how the server's configuration is read again; the first call counts.
    pub fn reloaded_by(&self, reload: Box<dyn Fn() -> bool + Send + Sync>) {
        let _ = self.reloads.set(reload);
    }

    /// Has the configuration read again, soon; false where there is no server that could.
    pub(crate) fn reload(&self) -> bool {
        self.reloads.get().is_some_and(|reload| reload())
    }

    pub(crate) fn exporter(&self) -> Option<&Arc<dyn Exporter>> {
        self.exporter.get()
    }

    /// Says what databases begin with that are opened from now on, and their sessions.
    pub fn set_defaults(&self, defaults: &[(String, String)]) {
        *self.defaults.write() = defaults.into();
    }

    /// A database is opened at this moment.
    pub(crate) fn note_opened(&self, moment: i64) {
        let first = self.started.compare_exchange(0, moment, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if first {
            self.configured.store(moment, Ordering::Relaxed);
        }
    }

    /// The configuration was read at this moment.
    pub fn note_configured(&self, moment: i64) {
        self.configured.store(moment, Ordering::Relaxed);
    }

    /// When the server began, and when its configuration was read last, in microseconds since 2000.
    pub(crate) fn moments(&self) -> (i64, i64) {
        (self.started.load(Ordering::Relaxed), self.configured.load(Ordering::Relaxed))
    }

    /// What the configuration says.
    pub(crate) fn defaults(&self) -> Arc<[(String, String)]> {
        Arc::clone(&self.defaults.read())
    }

    /// What all sessions hold.
    pub fn memory(&self) -> &Account {
        &self.memory
    }

    /// Says how many connections the server takes.
    pub fn set_connections_max(&self, connections: usize) {
        self.connections_max.store(connections, Ordering::Relaxed);
    }

    /// Says what SHOW tells of the server's own settings.
    pub fn set_server_settings(&self, settings: Vec<(&'static str, String)>) {
        *self.server_settings.write() = settings;
    }

    pub(crate) fn server_setting(&self, name: &str) -> Option<String> {
        let settings = self.server_settings.read();
        settings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    pub(crate) fn connections_max(&self) -> usize {
        self.connections_max.load(Ordering::Relaxed)
    }

    /// Ends the sessions of a database.
    pub fn terminate_sessions(&self, number: u32) {
        let own = self.sessions.all().into_iter().filter(|info| info.member.number == number);
        own.for_each(|info| info.interrupt(crate::registry::Reason::Administrator));
    }

    /// Who keeps the databases; an error where the database is alone.
    pub(crate) fn databases(&self) -> Result<Arc<dyn Databases>, SqlError> {
        self.databases.get().and_then(Weak::upgrade).ok_or_else(|| {
            let text = "there is one database, and the process that has it open makes no others";
            SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_hint(
                "Serve a folder: \"verso serve FOLDER\" serves each of its files NAME.verso as a database.",
            )
        })
    }

    /// The databases beside `own`, where there are any.
    pub(crate) fn others(&self, own: &Member) -> Vec<DatabaseEntry> {
        let databases = self.databases.get().and_then(Weak::upgrade);
        let mut others = databases.map(|databases| databases.list()).unwrap_or_default();
        others.retain(|entry| entry.number != own.number);
        others
    }
}

/// A database's place among those of its server.
#[derive(Debug)]
pub struct Member {
    pub(crate) cluster: Arc<Cluster>,
    number: u32,
    name: Arc<str>,
    /// What its sessions have waited for.
    waits: Waits,
    /// Sessions so far.
    pub(crate) sessions: AtomicU64,
}

impl Member {
    pub(crate) fn waits(&self) -> &Waits {
        &self.waits
    }

    /// A database of a server.
    pub fn new(cluster: &Arc<Cluster>, number: u32, name: &str) -> Arc<Member> {
        let (waits, sessions) = (Waits::default(), AtomicU64::new(0));
        Arc::new(Member { cluster: Arc::clone(cluster), number, name: name.into(), waits, sessions })
    }

    /// A database that is alone (D2).
    pub fn alone() -> Arc<Member> {
        Member::new(&Cluster::new(0), FIRST_DATABASE_NUMBER, FIRST_DATABASE)
    }

    /// The database's number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The database's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What it shares with others.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }
}

/// 3D000.
pub fn no_database(name: &str) -> SqlError {
    SqlError::new(sqlstate::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist"))
}

/// What can be said of a database only in a session that is connected to it.
pub(crate) fn elsewhere(name: &str) -> SqlError {
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "changing the rights and the owner of another database")
        .with_hint(format!("Connect to the database \"{name}\": each holds its own roles and rights."))
}
