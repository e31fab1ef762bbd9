//! A session: the parts that it has, and the order in which a statement goes through them.
//!
//! | module | what it is |
//! |---|---|
//! | [`statement`] | what goes around every statement |
//! | [`dispatch`] | which part of the session runs it |
//! | [`run`] | a statement within a transaction, run again after a conflict |
//! | [`direct`] | the short way of an INSERT of one row |
//! | [`texts`] | texts that were executed before |
//! | [`prepare`], [`named`] | statements prepared for later; PREPARE, EXECUTE, DEALLOCATE |
//! | [`portals`], [`set_aside`] | executions in portions, and what becomes of them meanwhile |
//! | [`cursors`] | DECLARE, FETCH, MOVE, CLOSE |
//! | [`begin`], [`savepoint`], [`ending`] | BEGIN, SET TRANSACTION; SAVEPOINT, ROLLBACK TO; COMMIT, ROLLBACK |
//! | [`login`] | what a session begins with |
//! | [`settle`] | commits whose wait for the disk is left to others |
//! | [`set`], [`act_as`] | SET, RESET, SHOW; SET ROLE, SET SESSION AUTHORIZATION |
//! | [`maintenance`] | SWEEP, CHECKPOINT, ALTER DATABASE SET |
//! | [`export`] | BACKUP DATABASE TO STDOUT |
//! | [`databases`] | CREATE DATABASE, DROP DATABASE, and what is done to another database |
//! | [`measure`] | what a statement cost |
//! | [`slow`] | the log of slow statements |
//! | [`track`] | what goes into `pg_stat_statements` |
//!
//! S1. A statement that fails leaves nothing behind: its frame is undone, or (NO SAVEPOINT) the whole transaction
//!     must be rolled back.
//! S2. Under READ COMMITTED a statement that meets a newer version runs again on a new snapshot, and the
//!     client sees the results of the last run only.
//! S3. Every statement ends its frame, whatever happens in it.

mod act_as;
mod begin;
mod cursors;
mod databases;
mod direct;
mod dispatch;
mod ending;
mod export;
mod login;
mod maintenance;
mod measure;
mod named;
mod portals;
mod prepare;
mod run;
mod savepoint;
mod set;
mod set_aside;
mod settle;
mod slow;
mod statement;
mod texts;
mod track;

pub(crate) use set::{SEED, check_resets, modes_of};
pub(crate) use slow::in_one_line;

use std::borrow::Cow;
use std::sync::Arc;

use verso_types::{SqlType, TimeStyle, Value};

use crate::client::{StatementSink, StatementStatistics};
use crate::instance::Instance;
use crate::notify::{Notification, Wake};
use crate::plans::{Job, Places, Plans, Prepared, arguments, ends_transaction, takes};
use crate::portal::Portals;
use crate::registry::{CancelHandle, Identity, Reason, Terminate};
use crate::services::Services;
use crate::transaction::{Condition, Transaction, TransactionStatus};
pub(crate) use databases::{is_member, owner_of};
use ending::Ending;
use measure::Measures;
use verso_parser::Script;
use verso_parser::syntax::Statement;
use verso_planner::errors::SqlError;

/// One client's conversation with the database. Statements run one after the other.
pub struct Session {
    /// Before the services: it ends before the session's locks go.
    transaction: Transaction,
    plans: Plans,
    portals: Portals,
    services: Services,
    measures: Measures,
    /// What the running EXECUTE executes.
    executed: Option<Arc<Prepared>>,
    /// The text that others are shown.
    shown: Arc<str>,
    /// A timeout was set once, so that deadlines are kept: also while none is set, to take back those that were.
    is_timed: bool,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session").field("number", &self.services.info.number).finish_non_exhaustive()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.services.temporary.take_used() {
            self.abandon();
            // What cannot be dropped now goes when the database is opened.
            let _ = self.drop_temporary();
        }
        let services = &self.services;
        services.unlisten_all();
        services.figures.end(&services.instance.tracked, services.info.number);
        services.instance.sessions.remove(services.info.number);
        // Who is told of its end often knows the session in turn: neither would ever go.
        services.info.set_hook(None);
    }
}

impl Session {
    /// A new session, with autocommit on.
    pub fn new(instance: Arc<Instance>) -> Session {
        let defaults = instance.session_defaults();
        let mut session = Session {
            transaction: Transaction::default(),
            plans: Plans::default(),
            portals: Portals::default(),
            services: Services::new(instance),
            measures: Measures::default(),
            executed: None,
            shown: "".into(),
            is_timed: false,
        };
        for (name, value) in defaults {
            if let Err(error) = session.set_default(&name, &value) {
                session.services.notices.warn(error.sqlstate, &error.message);
            }
        }
        session.idles_from_now();
        session
    }

    /// Runs the statements of a text, one after the other, up to the first that fails. Nothing runs if the text does not
    /// parse. `params` are the values of `$1` … in all of them.
    ///
    /// Outside of a transaction block several statements are one transaction: all of them happen or none.
    ///
    /// # Errors
    /// The first statement's that fails, with its SQLSTATE and position.
    pub fn execute(
        &mut self,
        sql: &str,
        params: &[Value],
        sink: &mut dyn StatementSink,
    ) -> Result<(), SqlError> {
        if !self.transaction.is_open() {
            self.services.clocks.foresee();
        }
        let result = self.execute_text(sql, params, sink);
        self.services.clocks.forget_foreseen();
        result
    }

    fn execute_text(
        &mut self,
        sql: &str,
        params: &[Value],
        sink: &mut dyn StatementSink,
    ) -> Result<(), SqlError> {
        if let Some(result) = self.execute_cached(sql, params, sink) {
            return result;
        }
        let held = self.services.memory.for_text(&self.services.settings, sql);
        let _held = held.inspect_err(|_| self.fail_transaction())?;
        // Without a transaction that knows of them, settings are taken back here when a later statement fails.
        let mut has_own = false;
        let mut visit = |statement: &Statement| {
            has_own |= matches!(statement, Statement::Begin { .. }) || ends_transaction(statement);
        };
        let mut script = Script::read(sql, &mut visit).inspect_err(|_| self.fail_transaction())?;
        let Some(last) = script.len().checked_sub(1) else { return Ok(()) };
        self.tell_of_cut_names(&script);
        let transaction = &mut self.transaction;
        let series = last > 0 || transaction.series;
        transaction.series = series && transaction.autocommit;
        transaction.several = last > 0;
        let takes_back = transaction.series && !transaction.is_open() && !has_own;
        let settings = takes_back.then(|| self.services.settings.shared());
        let mut places = Places::of(sql);
        let result = (0..=last).try_for_each(|number| {
            let parsed = script.take(number)?;
            if let Err(error) = SqlError::check_databases(&parsed.databases, self.services.database()) {
                self.fail_transaction();
                return Err(error);
            }
            let job = Job::of(&parsed, sql, params);
            let byte = Some(places.byte_of(job.at.start as usize));
            // The last statement ends the block before the client hears that it is done.
            self.one(&Job { byte, ends: series && number == last, ..job }, sink)
        });
        self.transaction.series = false;
        self.transaction.several = false;
        if let (Err(_), Some(settings)) = (&result, settings)
            && self.services.settings.restore(settings)
        {
            self.settings_changed();
        }
        result
    }

    /// Executes a prepared statement once, as a transaction of its own where none is open: the shortest way there is.
    /// Yields the number of rows returned or changed.
    ///
    /// # Errors
    /// As [`Session::bind`] and [`Session::run_portal`].
    pub fn run(
        &mut self,
        prepared: &Prepared,
        params: &[Value],
        sink: &mut dyn StatementSink,
    ) -> Result<u64, SqlError> {
        let converted;
        let types = self.parameter_types(prepared);
        let params = if takes(&types, params) {
            params
        } else {
            self.read_outside();
            let account = self.services.memory.lend().account;
            let arguments = arguments(&types, params.to_vec(), self.timezone(), account);
            converted = arguments.inspect_err(|_| self.fail_transaction())?;
            &converted
        };
        let Some(job) = Job::prepared(prepared, params) else { return Ok(0) };
        let ends = std::mem::replace(&mut self.transaction.series, false);
        Ok(self.perform(&Job { ends, ..job }, sink)?.rows())
    }

    /// The types of the parameters of a prepared statement as they are defined now: users' types may have got other labels, attributes
    /// or checks since it was prepared.
    pub fn parameter_types<'p>(&self, prepared: &'p Prepared) -> Cow<'p, [SqlType]> {
        // In a transaction that has failed nothing is read any more, and that is said elsewhere.
        let now = || self.with_catalog(|_, catalog, _| Ok(prepared.params_in(catalog))).ok();
        let now = prepared.takes_types_of_users().then(now).flatten();
        now.unwrap_or(Cow::Borrowed(prepared.params()))
    }

    /// Executes a prepared statement once for each set of parameters, as one statement: all of it happens or nothing.
    /// Yields the rows of all.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn run_sets(
        &mut self,
        prepared: &Prepared,
        mut sets: Vec<Vec<Value>>,
        sink: &mut dyn StatementSink,
    ) -> Result<u64, SqlError> {
        let types = self.parameter_types(prepared);
        for set in &mut sets {
            if !takes(&types, set) {
                let account = self.services.memory.lend().account;
                let arguments = arguments(&types, std::mem::take(set), self.timezone(), account);
                *set = arguments.inspect_err(|_| self.fail_transaction())?;
            }
        }
        let Some(job) = Job::prepared(prepared, &[]) else { return Ok(0) };
        if !prepared.is_plain() {
            return Err(SqlError::unsupported("a batch of statements that are no queries or changes"));
        }
        let ends = std::mem::replace(&mut self.transaction.series, false);
        Ok(self.perform(&Job { sets: Some(&sets), ends, ..job }, sink)?.rows())
    }

    /// Ends an extended-protocol series: what ran since the last time, outside of a transaction block, is committed.
    ///
    /// # Errors
    /// Those of the commit.
    pub fn sync(&mut self) -> Result<(), SqlError> {
        self.forget_foreseen();
        self.end_series()
    }

    /// How the session stands.
    pub fn status(&self) -> TransactionStatus {
        self.transaction.status()
    }

    /// Whether a transaction block is open.
    pub fn in_transaction(&self) -> bool {
        self.transaction.is_open()
    }

    /// Whether the open transaction can only be rolled back.
    pub fn transaction_failed(&self) -> bool {
        self.transaction.state().is_some_and(|state| state.condition != Condition::Good)
    }

    /// Off: the first statement opens a transaction that lasts until COMMIT or ROLLBACK.
    pub fn set_autocommit(&mut self, on: bool) {
        self.transaction.autocommit = on;
    }

    /// The session's time zone.
    pub fn timezone(&self) -> &TimeStyle {
        &self.services.settings.time_zone
    }

    /// What the last statement cost.
    pub fn last_statistics(&self) -> Option<&StatementStatistics> {
        self.measures.last()
    }

    /// Cancels this session's statements from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { info: Arc::clone(&self.services.info) }
    }
}

impl Session {
    /// Its number, unique as long as the database is open.
    pub fn id(&self) -> u64 {
        self.services.info.number
    }

    /// Why it is to end, if it is.
    pub fn ending(&self) -> Option<SqlError> {
        self.services.info.ending().map(Reason::error)
    }

    /// Drops everything temporary that the session has; it is in no transaction.
    pub(crate) fn drop_temporary(&mut self) -> Result<(), SqlError> {
        let name = self.services.temporary_schema();
        Ok(self.services.instance.catalog.drop_temporary(Some(&name))?)
    }

    /// Says who it belongs to.
    pub fn identify(&mut self, identity: Identity) {
        *self.services.info.identity.lock() = identity.clone();
        self.services.identity = identity;
        self.services.names_path.forget();
    }

    /// Whom to tell when the session is to end while it is idle: by a timeout, or because an administrator wants it. The
    /// owner then drops the session, or calls [`Session::abandon`]. A session that is busy ends its statement with the
    /// error, gives up its transaction, tells, and refuses everything after it.
    ///
    /// It is called from other threads, and from the session's own within a call of it.
    pub fn on_terminate(&mut self, terminate: Terminate) {
        self.services.info.set_hook(Some(terminate));
    }

    /// Whom to tell when messages of NOTIFY have come for the session, none having been there before. It is called from other
    /// threads. LISTEN remembers it: it has to be said before.
    pub fn on_notification(&mut self, wake: Wake) {
        self.services.notify.set_wake(wake);
    }

    /// Whether the session may get messages of NOTIFY.
    pub fn listens(&self) -> bool {
        self.services.notify.listens()
    }

    /// Takes messages of NOTIFY that have come, in their order, up to so many bytes of them; none while a transaction is open.
    pub fn take_notifications(&mut self, bytes_max: usize) -> Vec<Notification> {
        match self.transaction.is_open() {
            true => Vec::new(),
            false => self.services.take_notifications(bytes_max),
        }
    }

    /// An error that happened outside of statements fails the transaction, as one of a statement does.
    pub fn fail(&mut self) {
        self.fail_transaction();
    }

    /// The value of a setting, as SHOW gives it; upper and lower case are one.
    pub fn show(&self, name: &str) -> Option<String> {
        self.services.show(&name.to_ascii_lowercase())
    }

    /// Grows whenever settings change, also where the end of a transaction brings old values back.
    pub fn settings_epoch(&self) -> u64 {
        self.services.settings.epoch()
    }

    /// Sets a setting at the session's start: RESET brings it back to this.
    ///
    /// # Errors
    /// As SET.
    pub fn set_default(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let name = name.to_ascii_lowercase();
        self.change_settings(false, |settings| settings.set(&name, Some(value)))?;
        self.services.settings.set_default(&name, value)?;
        Ok(())
    }

    /// What a client asks for when it begins.
    ///
    /// # Errors
    /// As [`Session::set_default`]; 42501 for what only superusers may change.
    pub fn set_asked(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let own = name.to_ascii_lowercase();
        crate::settings::check_may_set(&own, || self.may_set(&own))?;
        self.set_default(name, value)
    }
}
