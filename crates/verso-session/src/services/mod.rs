//! What running statements ask of their session: small parts with a state of their own, changed through cells, as
//! expressions only borrow them. A statement is lent them one by one ([`Services::lend`]).
//!
//! | module | what it is |
//! |---|---|
//! | [`clocks`] | now, and when statement and transaction began |
//! | [`random`], [`sequences`], [`notices`] | random numbers, last values of sequences, messages |
//! | [`logged`] | messages and errors in the log |
//! | [`names`] | the catalog along the search path |
//! | [`roles`] | whom statements run as |
//! | [`shown`] | settings by name |
//! | [`position`] | where the cursor of WHERE CURRENT OF stands |
//! | [`temporary`] | temporary tables |
//! | [`signals`] | waiting, and cancelling others |
//! | [`workers`] | how many workers a job of maintenance gets, or a query |
//! | [`handlers`] | what handlers of PL/pgSQL take back |
//! | [`binding`] | what the catalog keeps as text, bound |

mod binding;
mod clocks;
mod handlers;
mod labels;
mod logged;
mod names;
mod notices;
mod position;
mod random;
mod roles;
mod sequences;
mod shown;
mod signals;
mod slow;
mod temporary;
mod workers;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{CatalogSnapshot, Oid, TableDef};
use verso_env::Env;
use verso_exec::ExecContext;
use verso_exec::context::{Moved, NoticeSink, SessionCursors};
use verso_exec::error::ExecError;
use verso_exec::plan::{CommitWrite, Movement};
use verso_storage::{LockOwner, ObjectId, Txn};
use verso_types::names::ObjectNames;

pub(crate) use clocks::{Clocks, EPOCH_MICROS};
use handlers::BlockBegin;
pub(crate) use labels::NewLabels;
use names::NamesPath;
use notices::Notices;
pub(crate) use notices::Outgoing;
pub(crate) use position::Position;
use random::RandomNumbers;
pub(crate) use roles::refused;
use sequences::SequenceValues;

use temporary::Temporary;

use crate::catalogs::SessionNames;
use crate::cursors::Cursors;
use crate::instance::Instance;
use crate::marks::Marks;
use crate::memory::SessionMemory;
use crate::notify::Notify;
use crate::plans::NamedStatements;
use crate::registry::{Identity, SessionInfo, backend_id};
use crate::settings::{OwedWait, SessionSettings, Written, written};
use crate::shares::Grant;
use crate::tables::{Deferred, EngineTables, OpenTables};
use crate::tracked::OwnFigures;
use crate::views::CatalogViews;

/// What statements read of their session while they run.
pub(crate) struct Services {
    pub(crate) instance: Arc<Instance>,
    pub(crate) env: Env,
    /// Who holds this session's locks.
    pub(crate) owner: LockOwner,
    /// What others see of the session.
    pub(crate) info: Arc<SessionInfo>,
    pub(crate) identity: Identity,
    pub(crate) settings: SessionSettings,
    /// What its statements hold.
    pub(crate) memory: SessionMemory,
    pub(crate) clocks: Clocks,
    /// What its statements have cost, as far as the database does not know yet.
    pub(crate) figures: OwnFigures,
    /// Plans made since the last statement was counted, and how long that took.
    pub(crate) planned: Cell<(u64, u64)>,
    pub(crate) notices: Notices,
    pub(crate) sequences: SequenceValues,
    random: RandomNumbers,
    /// Level, read-only and savepoints of the running transaction, for SHOW.
    pub(crate) transaction: Cell<Option<crate::settings::ShownModes>>,
    /// The catalog as the last statement saw it.
    pub(crate) catalog: RefCell<Option<Arc<CatalogSnapshot>>>,
    /// The names that its values of `regclass` and its relatives are read and written by.
    names: RefCell<Option<Arc<SessionNames>>>,
    /// Labels of enum types that the running transaction has added.
    pub(crate) new_labels: Arc<NewLabels>,
    /// Where names without a schema are looked up.
    pub(crate) names_path: NamesPath,
    /// The session's temporary tables.
    pub(crate) temporary: Temporary,
    /// Tables the session has used.
    opened: OpenTables,
    /// What the running transaction checks at commit.
    pub(crate) deferred: RefCell<Deferred>,
    /// What it says to sessions that listen, and what they say to this one.
    pub(crate) notify: Notify,
    /// What the log of slow statements tells of the running one.
    pub(crate) slow: slow::SlowStatement,
    /// Tables over which the running statement has had conflicts.
    pub(crate) contended: RefCell<Vec<ObjectId>>,
    /// The running statement may begin anew, on a new snapshot: nothing that it has read was sent or handed on.
    pub(crate) may_restart: Cell<bool>,
    /// The session analyzes tables by itself, and gives way to others.
    pub(crate) automatic: Cell<bool>,
    /// The running statement may end its transaction: it is a procedure's call or a block, and no part of one.
    pub(crate) may_end: Cell<bool>,
    /// The transaction is that of a query alone which is taken to change nothing: it keeps no frames.
    pub(crate) frameless: Cell<bool>,
    /// Its plan, made anew, calls functions that may change something: it is to begin again in a transaction with frames.
    pub(crate) wants_frames: Cell<bool>,
    /// The running statement has ended a transaction, so it is not run again.
    pub(crate) has_ended: Cell<bool>,
    /// What commits of the running statement have left to wait for.
    pub(crate) owed: OwedWait,
    /// The owner of the function that runs with its owner's rights.
    pub(crate) acting: Cell<Option<Oid>>,
    /// Statements that defined something within the running one, in the transaction that runs.
    pub(crate) defined: Cell<u32>,
    /// How often the running statement was to go by another catalog behind the end of a transaction in it.
    pub(crate) renewed: Cell<u32>,
    /// `set_config` has made the transaction READ ONLY, which is so from the next command on.
    pub(crate) becomes_read_only: Cell<bool>,
    /// How many settings the running statement has asked for.
    pub(crate) asked: Cell<u32>,
    /// Blocks with handlers that run, by their savepoints.
    blocks: RefCell<Marks<BlockBegin>>,
    /// How many statements of functions have run in the session: a transaction in which none has may change its modes.
    pub(crate) embedded: Cell<u64>,
    /// Whether a statement that defines something runs within another one.
    pub(crate) defining: Cell<bool>,
    /// The tables that statements around it use, which it leaves as they are.
    pub(crate) in_use: RefCell<Vec<Oid>>,
    /// The schema whose CREATE SCHEMA runs the statement: the first of the search path.
    pub(crate) creating: RefCell<Option<Arc<str>>>,
    /// The catalog behind them.
    pub(crate) redefined: RefCell<Option<Arc<CatalogSnapshot>>>,
    /// A statement of the schema has run since the last commit.
    pub(crate) defines: Cell<bool>,
    /// The running statement's share of the machine.
    pub(crate) grant: RefCell<Option<Grant>>,
    /// Whether it may wait for one (Q2).
    pub(crate) may_queue: Cell<bool>,
    /// Prepared statements with a name.
    pub(crate) named: NamedStatements,
    /// Cursors that functions have opened.
    pub(crate) portals: verso_exec::Portals,
    /// Cursors that DECLARE has opened.
    pub(crate) cursors: Cursors,
}

impl Services {
    /// The transaction has committed: what it saw of its own changes of the schema others see now.
    pub(crate) fn has_committed(&self, txn: &Txn) {
        if self.defines.take() {
            self.instance.catalog.has_committed(txn);
        }
    }

    pub(crate) fn new(instance: Arc<Instance>) -> Services {
        let env = instance.engine.env().clone();
        let clocks = Clocks::new(Arc::clone(&env.clock));
        let number = instance.sessions.number();
        let owner = instance.engine.lock_owner(number);
        let info = {
            let started = clocks.statement_started();
            instance.sessions.add(number, &instance.member, started, owner.cancel_handle(), &env.clock)
        };
        let mut settings = SessionSettings::default();
        settings.set_clock(&clocks.transaction_clock());
        Services {
            memory: SessionMemory::new(&instance, &settings),
            instance,
            owner,
            info,
            grant: RefCell::default(),
            may_queue: Cell::new(false),
            identity: Identity::default(),
            settings,
            clocks,
            figures: OwnFigures::default(),
            planned: Cell::default(),
            notices: Notices::default(),
            sequences: SequenceValues::default(),
            random: RandomNumbers::new(Arc::clone(&env.random)),
            env,
            transaction: Cell::new(None),
            catalog: RefCell::default(),
            names: RefCell::default(),
            new_labels: Arc::default(),
            names_path: NamesPath::default(),
            temporary: Temporary::default(),
            opened: OpenTables::default(),
            deferred: RefCell::default(),
            notify: Notify::default(),
            slow: slow::SlowStatement::default(),
            contended: RefCell::default(),
            may_restart: Cell::new(false),
            automatic: Cell::new(false),
            may_end: Cell::new(false),
            frameless: Cell::new(false),
            wants_frames: Cell::new(false),
            has_ended: Cell::new(false),
            owed: OwedWait::default(),
            acting: Cell::new(None),
            defined: Cell::new(0),
            renewed: Cell::new(0),
            becomes_read_only: Cell::new(false),
            asked: Cell::new(0),
            blocks: RefCell::default(),
            embedded: Cell::new(0),
            defining: Cell::new(false),
            in_use: RefCell::default(),
            creating: RefCell::default(),
            redefined: RefCell::default(),
            defines: Cell::default(),
            named: NamedStatements::default(),
            portals: verso_exec::Portals::default(),
            cursors: Cursors::default(),
        }
    }

    /// The name of the database that the session is connected to.
    pub(crate) fn database(&self) -> &Arc<str> {
        self.instance.member.name()
    }

    /// How a commit is written that says this of it; `inside` of a procedure or block.
    pub(crate) fn written(&self, write: CommitWrite, inside: bool) -> Written {
        let database = self.instance.database.lock().commit;
        let later = inside && self.settings.procedure_waits_later;
        // What SET LOCAL in a procedure asks for counts for the commit that follows it.
        let session = if inside { self.settings.commit_asked() } else { self.settings.commit };
        written(write, session, database, later)
    }

    /// Lends a statement what it may ask of the session.
    pub(crate) fn lend<'s>(
        &'s self,
        views: &'s dyn CatalogViews,
        notices: &'s dyn NoticeSink,
    ) -> verso_exec::Services<'s> {
        verso_exec::Services {
            time_zone: &self.settings.time_zone,
            memory: self.memory.lend(),
            workers: self,
            clock: &self.clocks,
            random: &self.random,
            sequences: &self.sequences,
            settings: self,
            notices,
            identity: self,
            signals: self,
            notifications: self,
            cursors: self,
            portals: &self.portals,
            views: views.rows_of(),
            catalogs: views.functions_of(),
            binding: self,
            figures: self,
        }
    }

    /// Lends the thread the names of a view of the catalog, which the session has just taken.
    pub(crate) fn lend_names(&self, catalog: &Arc<CatalogSnapshot>) {
        verso_types::keyword::quote_all(self.settings.quote_all_identifiers);
        let mut names = self.names.borrow_mut();
        let known = names.as_ref().filter(|names| names.is_of(catalog)).cloned();
        let known =
            known.unwrap_or_else(|| Arc::new(SessionNames::new(catalog, &self.instance, &self.new_labels)));
        let lent: Arc<dyn ObjectNames> = Arc::clone(&known) as Arc<dyn ObjectNames>;
        verso_types::names::lend(&lent);
        *names = Some(known);
    }

    /// The tables for a transaction of the session, whose statement knows this version of the catalog.
    pub(crate) fn tables<'t>(&'t self, txn: &'t RefCell<Txn>, version: u64) -> EngineTables<'t> {
        EngineTables {
            services: self,
            engine: &self.instance.engine,
            txn,
            opened: &self.opened,
            deferred: &self.deferred,
            contended: &self.contended,
            catalog: &self.instance.catalog,
            version: Cell::new(version),
            colocates: self.instance.colocates.load(Ordering::Relaxed),
            compresses: self.instance.compresses.load(Ordering::Relaxed),
            time_zone: &self.settings.time_zone,
        }
    }
}

impl verso_exec::context::Identity for Services {
    fn user_name(&self) -> Arc<str> {
        self.current_name()
    }

    fn session_user(&self) -> Arc<str> {
        self.session_name()
    }

    fn act_as(&self, role: Option<Oid>) -> Option<Oid> {
        self.acting.replace(role)
    }

    fn backend_id(&self) -> i32 {
        backend_id(self.info.number)
    }

    fn database_name(&self) -> Arc<str> {
        Arc::clone(self.database())
    }

    fn version(&self) -> Arc<str> {
        format!("PostgreSQL 18.0 (Verso {})", env!("CARGO_PKG_VERSION")).into()
    }
}

impl SessionCursors for Services {
    fn cursor_place(&self, cursor: &str, table: &TableDef) -> verso_exec::error::Result<i64> {
        if let Some(position) = self.cursors.position(cursor) {
            return position.record(table);
        }
        if self.cursors.runs(cursor) {
            return Err(ExecError::raised(
                "24000",
                format!("cursor \"{cursor}\" is not positioned on a row"),
            ));
        }
        // One that a function has opened.
        if let Some(verso_exec::Standing { tables, locks, held, row }) = self.portals.standing(cursor)? {
            let position = Position { cursor: cursor.to_string(), tables, locks, held, row };
            return position.record(table);
        }
        Err(ExecError::raised("34000", format!("cursor \"{cursor}\" does not exist")))
    }

    fn is_declared(&self, name: &str) -> bool {
        self.cursors.has(name)
    }

    fn move_declared(
        &self,
        cx: &ExecContext<'_>,
        name: &str,
        movement: Movement,
    ) -> verso_exec::error::Result<Option<Moved>> {
        self.cursors.advance(cx, name, movement)
    }

    fn close_declared(&self, name: &str) -> verso_exec::error::Result<bool> {
        Ok(self.cursors.close(name)?)
    }

    fn close_declared_since(&self, opened: u64) {
        self.cursors.end_since(opened);
    }
}
