//! What running expressions and functions ask of their session.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{CatalogSnapshot, ColumnDef, FunctionDef, TableDef};
use verso_env::Env;
use verso_exec::Notice as RowNotice;
use verso_exec::context::{
    Binding, Clock, CursorPlaces, NoticeSink, Random, SequenceState, SettingAccess, Signals,
};
use verso_exec::error::{ExecError, Raised};
use verso_exec::plan::{Check, PlFunction, RaiseLevel, TypedExpr};
use verso_storage::{LockOwner, ObjectId};

use crate::client::Notice;
use crate::cursors::Position;
use crate::cursors::{Named, SqlCursor};
use crate::instance::Instance;
use crate::registry::SessionInfo;
use crate::settings;
use crate::settings::Settings;
use verso_parser::parse_body;
use verso_planner::bind::{Binder, bind_block, bind_function};
use verso_planner::errors::{SqlError, sqlstate};

/// Microseconds from 1970 to 2000, PostgreSQL's epoch.
pub(crate) const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// Changes of settings by `set_config`, which hold for the session once their statement is done.
pub(crate) struct AskedSettings {
    /// Name, value, and whether only for the transaction.
    pub(crate) changes: Vec<(String, Option<String>, bool)>,
    /// As they will then be.
    settings: Settings,
}

/// The session's state that statements read while they run; changed through cells, as expressions only borrow it.
pub struct Services {
    pub(crate) instance: Arc<Instance>,
    pub(crate) env: Env,
    /// Who holds this session's locks.
    pub(crate) owner: LockOwner,
    /// What others see of the session.
    pub(crate) info: Arc<SessionInfo>,
    /// The text that they are shown.
    pub(crate) shown: RefCell<Arc<str>>,
    pub(crate) settings: Arc<Settings>,
    /// What RESET brings back.
    pub(crate) settings_default: Arc<Settings>,
    pub(crate) identity: crate::Identity,
    /// What `set_config` asks for in the running statement.
    pub(crate) asked: RefCell<Option<AskedSettings>>,
    /// Grows with every change of the settings.
    pub(crate) epoch: u64,
    /// A timeout was set once, so that deadlines are kept: also while none is set, to take back those that were.
    pub(crate) is_timed: bool,
    pub(crate) transaction_started: Cell<i64>,
    pub(crate) statement_started: Cell<i64>,
    pub(crate) notices: RefCell<Vec<Notice>>,
    /// Level, read-only and savepoints of the running transaction, for SHOW.
    pub(crate) transaction: Cell<Option<(&'static str, bool, bool)>>,
    pub(crate) totals: RefCell<crate::views::SessionTotals>,
    /// The catalog as the last statement saw it.
    pub(crate) catalog: RefCell<Option<Arc<CatalogSnapshot>>>,
    /// Tables the session has used.
    pub(crate) opened: crate::tables::OpenTables,
    /// What the running transaction checks at commit.
    pub(crate) deferred: RefCell<crate::constraints::Deferred>,
    /// Tables over which the running statement has had conflicts.
    pub(crate) contended: RefCell<Vec<ObjectId>>,
    /// Where the cursor of WHERE CURRENT OF stands.
    pub(crate) position: RefCell<Option<Position>>,
    /// Prepared statements with a name.
    pub(crate) statements: BTreeMap<String, Named>,
    /// Cursors that are open.
    pub(crate) cursors: BTreeMap<String, SqlCursor>,
    sequences: RefCell<HashMap<u32, i64>>,
    last_sequence: Cell<Option<i64>>,
    /// State of the session's random numbers once `setseed` was called.
    seed: Cell<Option<u64>>,
}

impl Services {
    pub(crate) fn new(instance: Arc<Instance>) -> Services {
        let env = instance.engine.env().clone();
        let connected = env.clock.unix_micros() - EPOCH_MICROS;
        let number = instance.sessions.number();
        let owner = instance.engine.lock_owner(number);
        let info = instance.sessions.add(number, connected, owner.cancel_handle());
        Services {
            instance,
            env,
            owner,
            info,
            shown: RefCell::new("".into()),
            settings: Arc::default(),
            settings_default: Arc::default(),
            identity: crate::Identity::default(),
            asked: RefCell::default(),
            epoch: 0,
            is_timed: false,
            transaction_started: Cell::new(connected),
            statement_started: Cell::new(connected),
            notices: RefCell::default(),
            transaction: Cell::new(None),
            totals: RefCell::default(),
            catalog: RefCell::default(),
            opened: crate::tables::OpenTables::default(),
            deferred: RefCell::default(),
            contended: RefCell::default(),
            position: RefCell::default(),
            statements: BTreeMap::new(),
            cursors: BTreeMap::new(),
            sequences: RefCell::default(),
            last_sequence: Cell::new(None),
            seed: Cell::new(None),
        }
    }

    /// Lends a statement what it may ask of the session.
    pub(crate) fn lend(&self) -> verso_exec::Services<'_> {
        verso_exec::Services {
            time_zone: &self.settings.time_zone,
            work_memory_bytes: self.settings.work_memory_bytes,
            clock: self,
            random: self,
            sequences: self,
            settings: self,
            notices: self,
            identity: self,
            signals: self,
            cursors: self,
            views: self,
            binding: self,
        }
    }

    /// Binds what the catalog keeps as text, for a statement that runs.
    fn bound<T>(&self, bind: impl FnOnce(&Binder<'_>) -> Result<T, SqlError>) -> Result<T, ExecError> {
        let catalog = self.catalog.borrow().clone();
        let catalog = catalog.ok_or_else(|| ExecError::raised("XX000", "no statement is running"))?;
        let binder = Binder::new(&catalog, &self.settings.time_zone, &[]);
        bind(&binder).map_err(|error| ExecError::raised(error.sqlstate, error.message))
    }

    /// The moment.
    pub(crate) fn now(&self) -> i64 {
        self.env.clock.unix_micros() - EPOCH_MICROS
    }

    /// No sequence was used in the session.
    pub(crate) fn forget_sequences(&self) {
        self.sequences.borrow_mut().clear();
        self.last_sequence.set(None);
    }

    /// The moment or a few milliseconds before it, cheaper to be had.
    pub(crate) fn now_rough(&self) -> i64 {
        self.env.clock.unix_micros_rough() - EPOCH_MICROS
    }

    /// When so many milliseconds from now have passed; never for 0.
    pub(crate) fn deadline(&self, timeout_ms: u64) -> Option<u64> {
        let now = self.env.clock.monotonic_nanos();
        (timeout_ms > 0).then(|| now.saturating_add(timeout_ms.saturating_mul(1_000_000)))
    }

    /// Keeps a message for the client, which hears of it at the statement's end.
    pub(crate) fn tell(&self, notice: Notice) {
        self.notices.borrow_mut().push(notice);
    }

    /// Likewise a warning.
    pub(crate) fn warn(&self, sqlstate: &str, text: &str) {
        self.tell(Notice::warning(sqlstate, text));
    }

    /// Shows a setting of the session, the transaction or the database.
    pub(crate) fn show(&self, name: &str) -> Option<String> {
        let on = |value: bool| Some(if value { "on" } else { "off" }.to_string());
        let current = self.transaction.get();
        let database = *self.instance.database.lock();
        match name {
            "transaction_isolation" => {
                Some(current.map_or(self.settings.isolation.as_str(), |(level, _, _)| level).to_string())
            }
            "transaction_read_only" => {
                on(current.map_or(self.settings.read_only, |(_, read_only, _)| read_only))
            }
            "transaction_savepoints" => {
                on(current.map_or(self.settings.savepoints, |(_, _, savepoints)| savepoints))
            }
            "sweep_interval" => Some(database.sweep_interval.to_string()),
            "auto_backout" => on(database.auto_backout),
            name => fixed_setting(self, name).or_else(|| {
                let asked = self.asked.borrow();
                asked.as_ref().map_or(&*self.settings, |asked| &asked.settings).show(name)
            }),
        }
    }

    fn compile(
        &self,
        function: &Arc<FunctionDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, SqlError> {
        if function.oid.0 == 0 {
            let block = parse_body(&function.body)?;
            return bind_block(&block, catalog, &self.settings.time_zone).map(Arc::new);
        }
        self.instance.function((function.oid.0, catalog.version), || {
            let block = parse_body(&function.body)?;
            bind_function(function, &block, catalog, &self.settings.time_zone)
        })
    }
}

impl Clock for Services {
    fn transaction_timestamp(&self) -> i64 {
        self.transaction_started.get()
    }

    fn statement_timestamp(&self) -> i64 {
        self.statement_started.get()
    }

    fn clock_timestamp(&self) -> i64 {
        self.now()
    }
}

impl Random for Services {
    fn random_u64(&self) -> u64 {
        let Some(state) = self.seed.get() else { return self.env.random.next_u64() };
        // splitmix64: a seeded session repeats itself, as setseed promises.
        let next = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.seed.set(Some(next));
        let mixed = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn seed_random(&self, seed: f64) {
        self.seed.set(Some(seed.to_bits()));
    }
}

impl SequenceState for Services {
    fn value(&self, sequence: u32) -> Option<i64> {
        self.sequences.borrow().get(&sequence).copied()
    }

    fn last_value(&self) -> Option<i64> {
        self.last_sequence.get()
    }

    fn note_value(&self, sequence: u32, value: i64, is_last: bool) {
        self.sequences.borrow_mut().insert(sequence, value);
        if is_last {
            self.last_sequence.set(Some(value));
        }
    }
}

impl SettingAccess for Services {
    fn setting(&self, name: &str) -> Option<String> {
        self.show(name)
    }

    fn set_setting(&self, name: &str, value: Option<&str>, local: bool) -> Result<String, ExecError> {
        let mut asked = self.asked.borrow_mut();
        let asked = asked.get_or_insert_with(|| AskedSettings {
            changes: Vec::new(),
            settings: Settings::clone(&self.settings),
        });
        let set = match value {
            Some(value) => asked.settings.set(name, Some(value)),
            None => asked.settings.reset(name, &self.settings_default),
        };
        set.map_err(|error| ExecError::raised(error.sqlstate, error.message))?;
        asked.changes.push((name.to_string(), value.map(str::to_string), local));
        Ok(asked.settings.show(name).unwrap_or_default())
    }
}

impl NoticeSink for Services {
    fn notice(&self, notice: RowNotice) {
        let RowNotice { level, sqlstate, message, detail, hint } = notice;
        let severity = match level {
            RaiseLevel::Debug | RaiseLevel::Log => return, // below what clients are shown
            RaiseLevel::Info => "INFO",
            RaiseLevel::Notice => "NOTICE",
            RaiseLevel::Warning | RaiseLevel::Exception => "WARNING",
        };
        self.tell(Notice { severity, sqlstate, message, detail, hint });
    }
}

impl verso_exec::context::Identity for Services {
    fn user_name(&self) -> Arc<str> {
        Arc::clone(&self.identity.user)
    }

    fn backend_id(&self) -> i32 {
        crate::registry::backend_id(self.info.number)
    }

    fn database_name(&self) -> Arc<str> {
        "verso".into()
    }

    fn version(&self) -> Arc<str> {
        format!("PostgreSQL 18.0 (Verso {})", env!("CARGO_PKG_VERSION")).into()
    }
}

impl Signals for Services {
    fn signal_backend(&self, id: i32, terminate: bool) -> Result<bool, ExecError> {
        self.signal(id, terminate)
    }

    fn sleep(&self, duration: std::time::Duration) -> Result<(), ExecError> {
        Ok(self.owner.sleep(duration)?)
    }
}

impl CursorPlaces for Services {
    fn cursor_place(&self, cursor: &str, table: &TableDef) -> verso_exec::error::Result<i64> {
        let position = self.position.borrow();
        let place = position.as_ref().and_then(|position| position.place(cursor, table));
        place
            .unwrap_or_else(|| Err(ExecError::raised("34000", format!("cursor \"{cursor}\" does not exist"))))
    }
}

impl Binding for Services {
    fn compile_function(
        &self,
        function: &Arc<FunctionDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, ExecError> {
        self.compile(function, catalog).map_err(|error| {
            let context = error.context.map(String::from);
            let raised = Raised {
                sqlstate: error.sqlstate.into(),
                message: error.message,
                detail: error.detail.map(Into::into),
                hint: error.hint.map(Into::into),
            };
            let inner = ExecError::Raised(Box::new(raised));
            match context {
                Some(context) => ExecError::InFunction { error: Box::new(inner), context },
                None => inner,
            }
        })
    }

    fn row_checks(&self, table: &Arc<TableDef>) -> Result<Vec<Check>, ExecError> {
        self.bound(|binder| binder.checks(table))
    }

    fn column_default(&self, column: &ColumnDef) -> Result<TypedExpr, ExecError> {
        self.bound(|binder| binder.stored_default(column))
    }

    fn describe_error(&self, error: &ExecError) -> (Arc<str>, String) {
        let error = SqlError::from(error.clone());
        (error.sqlstate.into(), error.message)
    }
}

impl Services {
    /// Cancels the statement of another session, or ends the session; false if there is none.
    pub(crate) fn signal(&self, id: i32, terminate: bool) -> Result<bool, ExecError> {
        let id = u64::try_from(id).unwrap_or(0);
        let Some(other) = self.instance.sessions.find(id) else { return Ok(false) };
        let owner = other.identity.lock().clone();
        if !self.identity.superuser && (owner.superuser || owner.user != self.identity.user) {
            let what = if terminate { "terminate process" } else { "cancel query" };
            return Err(ExecError::raised(
                sqlstate::INSUFFICIENT_PRIVILEGE,
                format!("permission denied to {what}"),
            ));
        }
        Ok(if terminate { self.instance.terminate_session(id) } else { self.instance.cancel_session(id) })
    }
}

/// Settings that a client sees but nobody can change: some drivers and tools ask for them.
pub(crate) fn fixed_setting(services: &Services, name: &str) -> Option<String> {
    let on = |value: bool| Some(settings::on(value));
    let identity = &services.identity;
    let text = match name {
        "is_superuser" => return on(identity.superuser),
        "session_authorization" => &*identity.user,
        "in_hot_standby" | "default_transaction_deferrable" | "transaction_deferrable" => return on(false),
        "integer_datetimes" | "data_checksums" | "fsync" => return on(true),
        "block_size" => return Some(services.instance.engine.space().page_size.to_string()),
        "lc_collate" | "lc_ctype" | "lc_messages" | "lc_monetary" | "lc_numeric" | "lc_time" => "C",
        "max_connections" => {
            let connections = services.instance.connections_max.load(Ordering::Relaxed);
            return (connections > 0).then(|| connections.to_string());
        }
        "max_identifier_length" => "63",
        "max_index_keys" => "32",
        "wal_level" => "replica",
        _ => return None,
    };
    Some(text.to_string())
}
