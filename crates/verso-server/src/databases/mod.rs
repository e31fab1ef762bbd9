//! The databases that a server serves: one file, or each file `NAME.verso` of a folder.
//!
//! ```text
//! lease(name) ──► closed ──► open, N leases ──► the last lease goes: it stays open
//!                   ▲             │ CREATE … TEMPLATE, RENAME, DROP: nobody has a lease
//!                   └── taken ◄───┘
//! ```
//!
//! O1. A database is opened by the first session that wants it, and closed by the end of the server or by a statement that
//!     needs its file whole. Meanwhile those who want it wait.
//! O2. A new database is a file of its own name only when it is complete: until then it is `NAME.verso.new`. One that is
//!     dropped is `NAME.verso.dropped` first. The next start removes what a crash has left of either.
//! O3. A database that was closed is whole without its log, so its file alone is copied and renamed.

mod files;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex, MutexGuard};
use verso_env::{Env, VfsFile};
use verso_session::cluster::{
    CheckCancelled, DatabaseEntry, FIRST_DATABASE, FIRST_DATABASE_NUMBER, NewDatabase, SECOND_DATABASE,
    SECOND_DATABASE_NUMBER, Usage, WithInstance, no_database, usual_memory_bytes,
};
use verso_session::errors::sqlstate;
use verso_session::{Cluster, Databases, Instance, Member, SqlError};
use versodb::{Database, Options};

use crate::workers::{Line, Log};
use files::Files;

/// How often those that wait for a database look whether they are cancelled.
const LOOK: Duration = Duration::from_millis(50);
/// How often they look before sessions that do not leave are an error: as long as PostgreSQL waits, 5 seconds.
const LOOKS_MAX: u32 = 100;
/// The fewest bytes of a database's share of the buffer pool.
const POOL_BYTES_MIN: u64 = 16 << 20;
/// Numbers of databases begin behind those that PostgreSQL keeps for itself.
const NUMBER_MIN: u32 = 16_384;

/// A database that is open.
pub struct Opened {
    database: Database,
    line: Arc<Line>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Opened").field("database", &self.database).finish_non_exhaustive()
    }
}

impl Opened {
    fn new(database: Database) -> Arc<Opened> {
        let log = DatabaseLog(Arc::downgrade(database.instance()));
        Arc::new(Opened { database, line: Line::new(Box::new(log)) })
    }
}

/// The log that commits wait for. It does not keep the database open: a session that waits does.
struct DatabaseLog(Weak<Instance>);

impl Log for DatabaseLog {
    fn durable(&self) -> u64 {
        self.0.upgrade().map_or(0, |instance| instance.durable())
    }

    fn flush(&self, upto: u64) -> bool {
        self.0.upgrade().is_some_and(|instance| instance.flush_log(upto).is_ok())
    }
}

/// Keeps a database open for a session.
#[derive(Debug)]
pub struct Lease {
    keeper: Arc<Keeper>,
    name: Arc<str>,
    opened: Arc<Opened>,
}

impl Lease {
    /// The database.
    pub fn instance(&self) -> &Arc<Instance> {
        self.opened.database.instance()
    }

    /// Where its commits wait.
    pub fn line(&self) -> &Arc<Line> {
        &self.opened.line
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.keeper.state.lock();
        if let Some(entry) = state.entries.get_mut(&self.name) {
            entry.leases = entry.leases.saturating_sub(1);
        }
        drop(state);
        self.keeper.changed.notify_all();
    }
}

#[derive(Debug)]
enum Standing {
    Closed,
    Open(Arc<Opened>),
    /// It is being opened, closed, copied, renamed or removed.
    Taken,
    /// It is being made: nobody sees it (O2).
    Made,
}

#[derive(Debug)]
struct Entry {
    number: u32,
    /// Its owner when it was last looked at.
    owner: Option<Arc<str>>,
    /// How it may be used, as far as that is known.
    usage: Usage,
    standing: Standing,
    leases: usize,
}

impl Entry {
    fn new(number: u32, standing: Standing) -> Entry {
        Entry { number, owner: None, usage: Usage::default(), standing, leases: 0 }
    }
}

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<Arc<str>, Entry>,
    ending: bool,
}

/// A folder, and how its files are opened.
struct Folder {
    files: Files,
    options: Options,
    /// Locked as long as the server runs.
    _lock: Arc<dyn VfsFile>,
}

/// All databases of a server.
pub struct Keeper {
    own: Weak<Keeper>,
    cluster: Arc<Cluster>,
    /// None: there is one database, which was open before the server was.
    folder: Option<Folder>,
    state: Mutex<State>,
    changed: Condvar,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Keeper").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Keeper {
    /// One database, which is open.
    pub fn of_one(database: Database) -> Arc<Keeper> {
        let member = Arc::clone(database.instance().member());
        let entry = Entry::new(member.number(), Standing::Open(Opened::new(database)));
        let state = State { entries: BTreeMap::from([(Arc::clone(member.name()), entry)]), ending: false };
        Arc::new_cyclic(|own| Keeper {
            own: Weak::clone(own),
            cluster: Arc::clone(member.cluster()),
            folder: None,
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    /// The databases of a folder; an empty one gets a first database, and the one that tools of PostgreSQL connect to where
    /// nobody names any. It may be dropped, and does not come back.
    ///
    /// # Errors
    /// 55006 if another server has the folder; those of its files.
    pub fn of_folder(path: PathBuf, options: Options) -> Result<Arc<Keeper>, SqlError> {
        let env: Env = options.outside().clone();
        let files = Files::new(env, path);
        let lock = files.lock()?;
        files.clean()?;
        let cluster = Cluster::new(usual_memory_bytes());
        let keeper = Arc::new_cyclic(|own| Keeper {
            own: Weak::clone(own),
            cluster: Arc::clone(&cluster),
            folder: Some(Folder { files, options, _lock: lock }),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let databases: Arc<dyn Databases> = Arc::<Keeper>::clone(&keeper);
        cluster.kept_by(&databases);
        keeper.look(&mut keeper.state.lock())?;
        if keeper.state.lock().entries.is_empty() {
            for name in [FIRST_DATABASE, SECOND_DATABASE] {
                let new = NewDatabase { name, template: None, page_size: None };
                keeper.create(&new, &mut |_| Ok(()), &|| Ok(()))?;
            }
        }
        Ok(keeper)
    }

    /// What the databases share.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// Opens a database, if it is not open yet.
    ///
    /// # Errors
    /// 3D000, 57P03; those of opening it.
    pub fn lease(&self, name: &str) -> Result<Lease, SqlError> {
        let Some(keeper) = self.own.upgrade() else { return Err(no_database(name)) };
        let mut state = self.state.lock();
        if !state.entries.contains_key(name) {
            self.look(&mut state)?;
        }
        let (number, count) = loop {
            if state.ending {
                let text = "the database system is shutting down";
                return Err(SqlError::new(sqlstate::CANNOT_CONNECT_NOW, text));
            }
            let count = self.sharing(&state, name);
            let Some((name, entry)) = state.entries.get_key_value(name) else {
                return Err(no_database(name));
            };
            match &entry.standing {
                Standing::Open(opened) => {
                    let (name, opened) = (Arc::clone(name), Arc::clone(opened));
                    if let Some(entry) = state.entries.get_mut(&name) {
                        entry.leases += 1;
                    }
                    return Ok(Lease { keeper, name, opened });
                }
                Standing::Closed => break (entry.number, count),
                Standing::Made => return Err(no_database(name)),
                Standing::Taken => drop(self.changed.wait_for(&mut state, LOOK)),
            }
        };
        set(&mut state, name, Standing::Taken);
        drop(state);
        let opened = self.open(name, number, count);
        let owner = opened.as_ref().ok().and_then(|opened| opened.database.instance().owner().ok().flatten());
        let mut state = self.state.lock();
        if let Some(entry) = state.entries.get_mut(name) {
            entry.owner = owner;
            entry.usage = opened.as_ref().map_or(entry.usage, |opened| opened.database.instance().usage());
        }
        let standing = opened.as_ref().map_or(Standing::Closed, |opened| Standing::Open(Arc::clone(opened)));
        set(&mut state, name, standing);
        drop(state);
        self.changed.notify_all();
        opened.and_then(|_| self.lease(name))
    }

    /// A database that can be opened: the first one, or whichever it is.
    ///
    /// # Errors
    /// Those of opening, if none can be.
    pub fn lease_any(&self) -> Result<Lease, SqlError> {
        let mut names: Vec<Arc<str>> = self.state.lock().entries.keys().cloned().collect();
        names.sort_by_key(|name| **name != *FIRST_DATABASE);
        let mut failed = no_database(FIRST_DATABASE);
        for name in names {
            match self.lease(&name) {
                Ok(lease) => return Ok(lease),
                Err(error) => {
                    tracing::error!(database = %name, %error, "cannot open a database");
                    failed = error;
                }
            }
        }
        Err(failed)
    }

    /// Closes all databases, and opens none any more.
    ///
    /// # Errors
    /// The first one's; the others are closed all the same.
    pub fn close(&self) -> Result<(), SqlError> {
        let open: Vec<Arc<Opened>> = {
            let mut state = self.state.lock();
            state.ending = true;
            let open = state.entries.values_mut().filter_map(|entry| match &entry.standing {
                Standing::Open(opened) => Some(Arc::clone(opened)),
                _ => None,
            });
            open.collect()
        };
        let mut closed = Ok(());
        for opened in open {
            closed = closed.and(opened.database.clone().close());
        }
        closed
    }

    /// The databases that are open now, by name; it opens none.
    pub fn open_instances(&self) -> Vec<(Arc<str>, Arc<Instance>)> {
        let state = self.state.lock();
        let open = state.entries.iter().filter_map(|(name, entry)| match &entry.standing {
            Standing::Open(opened) => Some((Arc::clone(name), Arc::clone(opened.database.instance()))),
            _ => None,
        });
        open.collect()
    }

    fn folder(&self) -> Result<&Folder, SqlError> {
        self.folder.as_ref().ok_or_else(|| SqlError::unsupported("this statement where one file is served"))
    }

    /// Learns what files have come and gone.
    fn look(&self, state: &mut MutexGuard<'_, State>) -> Result<(), SqlError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let names = folder.files.names()?;
        state.entries.retain(|name, entry| {
            !matches!(entry.standing, Standing::Closed) || names.iter().any(|known| **known == **name)
        });
        for name in names {
            if !state.entries.contains_key(&*name) {
                let number = number_of(&name, &state.entries);
                state.entries.insert(name.into(), Entry::new(number, Standing::Closed));
            }
        }
        Ok(())
    }

    fn open(&self, name: &str, number: u32, count: usize) -> Result<Arc<Opened>, SqlError> {
        let folder = self.folder()?;
        let options = self.options(folder, name, number, count);
        let opened = Opened::new(Database::open(folder.files.database(name), options)?);
        tracing::info!(database = name, "database open");
        Ok(opened)
    }

    /// How many databases share the buffer pool when one of them is opened. The one that is there for tools does not count
    /// while it is so small that the least share holds it.
    fn sharing(&self, state: &State, opened: &str) -> usize {
        let small = || {
            let bytes = self.folder.as_ref().and_then(|folder| folder.files.size(SECOND_DATABASE).ok());
            bytes.is_some_and(|bytes| bytes < POOL_BYTES_MIN)
        };
        let spared = opened != SECOND_DATABASE && state.entries.contains_key(SECOND_DATABASE) && small();
        state.entries.len() - usize::from(spared)
    }

    /// How a database is opened that is one of so many: with its share of the buffer pool.
    fn options(&self, folder: &Folder, name: &str, number: u32, count: usize) -> Options {
        let options = folder.options.clone().member(&Member::new(&self.cluster, number, name));
        let share = options.buffer_pool_bytes() / count.max(1) as u64;
        options.buffer_pool(share.max(POOL_BYTES_MIN))
    }

    /// Closes a database that nobody uses, and keeps it closed until it is given back; its number.
    fn take(&self, name: &str, force: bool, what: &str, check: CheckCancelled<'_>) -> Result<u32, SqlError> {
        let mut state = self.state.lock();
        let mut looks = 0;
        loop {
            let Some(entry) = state.entries.get_mut(name) else { return Err(no_database(name)) };
            let (number, leases) = (entry.number, entry.leases);
            match &entry.standing {
                Standing::Made => return Err(no_database(name)),
                Standing::Closed => {
                    entry.standing = Standing::Taken;
                    return Ok(number);
                }
                Standing::Open(opened) if leases == 0 => {
                    let opened = Arc::clone(opened);
                    entry.standing = Standing::Taken;
                    drop(state);
                    return self.shut(opened).map(|()| number).inspect_err(|_| {
                        self.give_back(name, Standing::Closed);
                    });
                }
                Standing::Open(_) | Standing::Taken if looks >= LOOKS_MAX => {
                    let text = format!("{what} \"{name}\" is being accessed by other users");
                    let s = if leases == 1 { " is" } else { "s are" };
                    let detail = format!("{leases} other session{s} using the database.");
                    return Err(SqlError::new(sqlstate::OBJECT_IN_USE, text).with_detail(detail));
                }
                Standing::Open(_) | Standing::Taken => {
                    looks += 1;
                    if force {
                        self.cluster.terminate_sessions(number);
                    }
                    self.changed.wait_for(&mut state, LOOK);
                    check()?;
                }
            }
        }
    }

    /// Closes a database, and waits until its file can be opened again: a session that has just gone may still hold it.
    fn shut(&self, opened: Arc<Opened>) -> Result<(), SqlError> {
        let instance = Arc::downgrade(opened.database.instance());
        let closed = opened.database.clone().close();
        drop(opened);
        let mut state = self.state.lock();
        for _ in 0..LOOKS_MAX {
            if instance.strong_count() == 0 {
                break;
            }
            self.changed.wait_for(&mut state, LOOK);
        }
        closed
    }

    fn give_back(&self, name: &str, standing: Standing) {
        set(&mut self.state.lock(), name, standing);
        self.changed.notify_all();
    }

    /// Forgets a database whose file has another name, or none.
    fn forget(&self, name: &str) {
        self.state.lock().entries.remove(name);
        self.changed.notify_all();
    }

    fn note_owner(&self, name: &str, owner: Option<Arc<str>>) {
        if let Some(entry) = self.state.lock().entries.get_mut(name) {
            entry.owner = owner;
        }
    }

    /// Notes a name for a new database; its number, and how many there are with it.
    fn claim(&self, name: &str) -> Result<(u32, usize), SqlError> {
        let mut state = self.state.lock();
        self.look(&mut state)?;
        if state.entries.contains_key(name) {
            let text = format!("database \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_DATABASE, text));
        }
        let number = number_of(name, &state.entries);
        state.entries.insert(name.into(), Entry::new(number, Standing::Made));
        Ok((number, state.entries.len()))
    }

    /// Makes the file of a new database under its name for the time being (O2).
    fn make(
        &self,
        &NewDatabase { name, template, page_size }: &NewDatabase<'_>,
        (number, count): (u32, usize),
        fill: WithInstance<'_>,
        check: CheckCancelled<'_>,
    ) -> Result<(), SqlError> {
        let folder = self.folder()?;
        folder.files.remove_new(name)?;
        let mut options = self.options(folder, name, number, count);
        if let Some(bytes) = page_size {
            options = options.page_size(bytes);
        }
        let database = match template {
            None => Database::create(folder.files.new_database(name), options)?,
            Some(template) => {
                self.take(template, false, "source database", check)?;
                let copied = folder.files.copy(template, name, check);
                self.give_back(template, Standing::Closed);
                copied?;
                Database::open(folder.files.new_database(name), options)?
            }
        };
        fill(database.instance())?;
        check()?;
        let owner = database.instance().owner()?;
        self.note_owner(name, owner);
        database.close()
    }
}

impl Databases for Keeper {
    fn list(&self) -> Vec<DatabaseEntry> {
        let open: Vec<(Arc<str>, Arc<Opened>)> = {
            let mut state = self.state.lock();
            if let Err(error) = self.look(&mut state) {
                tracing::warn!(%error, "cannot read the folder of the databases");
            }
            let open = state.entries.iter().filter_map(|(name, entry)| match &entry.standing {
                Standing::Open(opened) => Some((Arc::clone(name), Arc::clone(opened))),
                _ => None,
            });
            open.collect()
        };
        let owners: Vec<(Arc<str>, Option<Arc<str>>)> = open
            .into_iter()
            .map(|(name, opened)| (name, opened.database.instance().owner().ok().flatten()))
            .collect();
        let mut state = self.state.lock();
        for (name, owner) in owners {
            if let (Some(entry), Some(owner)) = (state.entries.get_mut(&name), owner) {
                entry.owner = Some(owner);
            }
        }
        let shown = state.entries.iter().filter(|(_, entry)| !matches!(entry.standing, Standing::Made));
        shown
            .map(|(name, entry)| DatabaseEntry {
                number: entry.number,
                name: Arc::clone(name),
                owner: entry.owner.clone(),
                usage: match &entry.standing {
                    Standing::Open(opened) => opened.database.instance().usage(),
                    _ => entry.usage,
                },
            })
            .collect()
    }

    fn create(
        &self,
        new: &NewDatabase<'_>,
        fill: WithInstance<'_>,
        check: CheckCancelled<'_>,
    ) -> Result<(), SqlError> {
        let name = new.name;
        let folder = self.folder()?;
        if let Some(template) = new.template {
            // One that was not closed by its last server is recovered first (O3).
            self.with(template, &mut |_| Ok(()))?;
        }
        let place = self.claim(name)?;
        let made = self.make(new, place, fill, check).and_then(|()| folder.files.finish(name));
        match made {
            Ok(()) => {
                self.give_back(name, Standing::Closed);
                tracing::info!(database = name, "database created");
                Ok(())
            }
            Err(error) => {
                // What stays is removed by the next start.
                let _ = folder.files.remove_new(name);
                self.forget(name);
                Err(error)
            }
        }
    }

    fn remove(&self, name: &str, force: bool, check: CheckCancelled<'_>) -> Result<(), SqlError> {
        let folder = self.folder()?;
        self.take(name, force, "database", check)?;
        let removed = folder.files.remove(name);
        match &removed {
            Ok(()) => self.forget(name),
            Err(_) => self.give_back(name, Standing::Closed),
        }
        removed
    }

    fn rename(&self, name: &str, to: &str, check: CheckCancelled<'_>) -> Result<(), SqlError> {
        let folder = self.folder()?;
        // One that was not closed by its last server is recovered first (O3).
        self.with(name, &mut |_| Ok(()))?;
        self.claim(to)?;
        let renamed = self.take(name, false, "database", check).and_then(|_| {
            let renamed = folder.files.rename(name, to);
            let known = self.state.lock().entries.get(name).map(|entry| (entry.owner.clone(), entry.usage));
            if let Some((owner, usage)) = known {
                self.note_owner(to, owner);
                self.note_usage(to, usage);
            }
            self.give_back(name, Standing::Closed);
            renamed
        });
        match &renamed {
            Ok(()) => {
                self.forget(name);
                self.give_back(to, Standing::Closed);
            }
            Err(_) => self.forget(to),
        }
        renamed
    }

    fn with(&self, name: &str, job: WithInstance<'_>) -> Result<(), SqlError> {
        job(self.lease(name)?.instance())
    }

    fn note_usage(&self, name: &str, usage: Usage) {
        if let Some(entry) = self.state.lock().entries.get_mut(name) {
            entry.usage = usage;
        }
    }

    fn size(&self, name: &str) -> Result<u64, SqlError> {
        self.folder()?.files.size(name)
    }
}

/// How a database stands from now on.
fn set(state: &mut State, name: &str, standing: Standing) {
    if let Some(entry) = state.entries.get_mut(name) {
        entry.standing = standing;
    }
}

/// A database's number, made of its name so that it is the same after a restart; no other one's.
fn number_of(name: &str, entries: &BTreeMap<Arc<str>, Entry>) -> u32 {
    match name {
        FIRST_DATABASE => return FIRST_DATABASE_NUMBER,
        SECOND_DATABASE => return SECOND_DATABASE_NUMBER,
        _ => {}
    }
    // FNV-1a. Numbers beyond 2^31 are negative for clients that keep them in 32 bits with a sign.
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mut number = (hash & i32::MAX as u32).max(NUMBER_MIN);
    while entries.values().any(|entry| entry.number == number) {
        number = (number.wrapping_add(1) & i32::MAX as u32).max(NUMBER_MIN);
    }
    number
}
