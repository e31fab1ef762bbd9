//! Sessions: statements in transactions, settings, results.
//!
//! | module | what it is |
//! |---|---|
//! | [`api`] | what a session says: sinks, tags, notices, statistics |
//! | [`identity`] | who a session belongs to |
//! | [`instance`] | what the sessions of a database share |
//! | [`transaction`] | the transaction a session is in, and what begins and ends it |
//! | [`settle`] | commits whose wait for the disk is left to others |
//! | [`run`] | queries and changes: frames, restarts, results |
//! | [`direct`] | the short way of an INSERT of one row |
//! | [`prepared`] | statements parsed and bound ahead of their execution |
//! | [`arguments`] | values for their parameters |
//! | [`cursors`] | PREPARE, EXECUTE, DECLARE, FETCH |
//! | [`cache`] | texts that were executed before |
//! | [`normal`] | texts without their literals |
//! | [`portal`] | executions that yield their rows in portions |
//! | [`copy`] | COPY |
//! | [`role`] | CREATE, ALTER, DROP ROLE |
//! | [`constraints`] | constraints checked at commit, errors of keys |
//! | [`ddl`] | CREATE, DROP |
//! | [`tables_ddl`] | tables, constraints, indexes |
//! | [`maintenance`] | SWEEP, CHECKPOINT, ALTER DATABASE |
//! | [`explain`] | plans as text |
//! | [`services`] | what running expressions ask of the session |
//! | [`tables`] | the executors' tables, over storage |
//! | [`system`] | rows of the system views |
//! | [`settings`] | SET, SHOW, RESET |
//! | [`registry`] | who is connected; cancel, terminate, timeouts |
//! | [`ready`] | statements compiled for this session |
//! | [`job`] | one statement to be run, and how it ended |
//! | [`measure`] | what a statement cost |
//!
//! S1. A statement that fails leaves nothing behind: its frame is undone, or (NO SAVEPOINT) the whole transaction
//!     must be rolled back.
//! S2. Under READ COMMITTED a statement that meets a newer version runs again on a new snapshot, and the
//!     client sees the results of the last run only. S3. Every statement ends its frame, whatever happens in it.

mod api;
mod arguments;
mod cache;
mod constraints;
mod copy;
mod cursors;
mod ddl;
mod direct;
mod explain;
mod identity;
mod instance;
mod job;
mod maintenance;
mod measure;
mod normal;
mod opened;
mod portal;
mod position;
mod prepared;
mod ready;
mod registry;
mod role;
mod run;
mod services;
mod settings;
mod settle;
mod system;
mod table_as;
mod tables;
mod tables_ddl;
mod transaction;

pub use api::{
    CancelHandle, CommandTag, CopyLayout, Notice, OutputColumn, StatementSink, StatementStatistics,
};
pub(crate) use copy::external as external_rows;
pub use identity::{Identity, Terminate};
pub use instance::Instance;
pub use portal::{Portal, PortalEnd};
pub use prepared::Prepared;
pub use settings::{SETTINGS, Settings};
pub use transaction::TransactionStatus;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use verso_types::{SqlType, TimeZone, Value};

use crate::errors::{SqlError, must_rollback, sqlstate};
use crate::parse::parse_script;
use crate::syntax::Statement;
use cache::OwnStatements;
use cursors::SqlCursor;
use job::{Done, Job};
use measure::Measure;
use ready::ReadyStatements;
use registry::Activity;
use services::Services;
use settle::Commits;
use transaction::{Active, Block, Condition, in_failed_transaction, tag};

/// One client's conversation with the database. Statements run one after the other.
pub struct Session {
    /// Before the services: its transaction ends before the session's locks go.
    active: Option<Box<Active>>,
    /// Likewise, and the one that ended last, for the next to begin with what it has left.
    commits: Commits,
    spare: Option<Box<Active>>,
    services: Services,
    autocommit: bool,
    /// Statements now are parts of an implicit block (X2).
    series: bool,
    /// Transactions begun so far.
    transactions: u64,
    /// The transaction about to begin is one query.
    only_reads: bool,
    /// Prepared statements with a name.
    statements: BTreeMap<String, Arc<Prepared>>,
    /// Cursors that are open.
    cursors: BTreeMap<String, SqlCursor>,
    /// Texts this session has executed.
    own: OwnStatements,
    /// Portals that may have to be set aside or closed.
    portals: Vec<Weak<Mutex<portal::State>>>,
    /// Compiled statements by their prepared one.
    ready: RefCell<ReadyStatements>,
    statistics: Option<StatementStatistics>,
    memory_max_bytes: u64,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session").field("number", &self.services.info.number).finish_non_exhaustive()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let services = &self.services;
        services.instance.sessions.remove(services.info.number);
        // Who is told of its end often knows the session in turn: neither would ever go.
        services.info.set_hook(None);
    }
}

impl Session {
    /// A new session, with autocommit on.
    pub fn new(instance: Arc<Instance>) -> Session {
        Session {
            services: Services::new(instance),
            active: None,
            commits: Commits::default(),
            spare: None,
            autocommit: true,
            series: false,
            transactions: 0,
            only_reads: false,
            statements: BTreeMap::new(),
            cursors: BTreeMap::new(),
            own: OwnStatements::default(),
            portals: Vec::new(),
            ready: RefCell::default(),
            statistics: None,
            memory_max_bytes: 0,
        }
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
        if let Some(result) = self.execute_cached(sql, params, sink) {
            return result;
        }
        let statements = parse_script(sql).inspect_err(|_| self.fail_transaction())?;
        let Some((last, before)) = statements.split_last() else { return Ok(()) };
        let series = !before.is_empty() || self.series;
        self.series = series && self.autocommit;
        let job = |parsed| Job::of(parsed, sql, params);
        let mut result = before.iter().try_for_each(|parsed| self.one(&job(parsed), sink));
        if result.is_ok() {
            // The last statement ends the block before the client hears that it is done.
            result = self.one(&Job { ends: series, ..job(last) }, sink);
        }
        self.series = false;
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
        let params = if prepared.takes(params) {
            params
        } else {
            let arguments = self.arguments(prepared, params.to_vec());
            converted = arguments.inspect_err(|_| self.fail_transaction())?;
            &converted
        };
        let Some(job) = Job::prepared(prepared, params) else { return Ok(0) };
        let ends = std::mem::replace(&mut self.series, false);
        Ok(self.perform(&Job { ends, ..job }, sink)?.rows())
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
        for set in &mut sets {
            if !prepared.takes(set) {
                let arguments = self.arguments(prepared, std::mem::take(set));
                *set = arguments.inspect_err(|_| self.fail_transaction())?;
            }
        }
        let Some(job) = Job::prepared(prepared, &[]) else { return Ok(0) };
        if !prepared.is_plain() {
            return Err(SqlError::unsupported("a batch of statements that are no queries or changes"));
        }
        let ends = std::mem::replace(&mut self.series, false);
        Ok(self.perform(&Job { sets: Some(&sets), ends, ..job }, sink)?.rows())
    }

    /// Ends an extended-protocol series: what ran since the last time, outside of a transaction block, is committed.
    ///
    /// # Errors
    /// Those of the commit.
    pub fn sync(&mut self) -> Result<(), SqlError> {
        self.end_series()
    }

    /// How the session stands.
    pub fn status(&self) -> TransactionStatus {
        match &self.active {
            Some(active) if active.block == Block::Explicit => match active.condition {
                Condition::Good => TransactionStatus::InTransaction,
                Condition::Failed | Condition::MustRollback => TransactionStatus::Failed,
            },
            _ => TransactionStatus::Idle,
        }
    }

    /// Whether a transaction block is open.
    pub fn in_transaction(&self) -> bool {
        self.active.is_some()
    }

    /// Whether the open transaction can only be rolled back.
    pub fn transaction_failed(&self) -> bool {
        self.active.as_ref().is_some_and(|active| active.condition != Condition::Good)
    }

    /// Off: the first statement opens a transaction that lasts until COMMIT or ROLLBACK.
    pub fn set_autocommit(&mut self, on: bool) {
        self.autocommit = on;
    }

    /// The session's time zone.
    pub fn timezone(&self) -> &TimeZone {
        &self.services.settings.time_zone
    }

    /// What the last statement cost.
    pub fn last_statistics(&self) -> Option<&StatementStatistics> {
        self.statistics.as_ref()
    }

    /// Cancels this session's statements from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { info: Arc::clone(&self.services.info) }
    }

    // ── one statement ────────────────────────────────────────────────────────────────────────────────────────────

    /// Runs a statement of a text and tells the sink how it ended.
    fn one(&mut self, job: &Job<'_>, sink: &mut dyn StatementSink) -> Result<(), SqlError> {
        let epoch = self.services.epoch;
        let done = self.perform(job, sink)?;
        if self.services.epoch != epoch {
            sink.time_zone(&self.services.settings.time_zone);
        }
        sink.complete(&done.into_tag())
    }

    /// Runs a statement; with all that goes around it.
    pub(super) fn perform(&mut self, job: &Job<'_>, sink: &mut dyn StatementSink) -> Result<Done, SqlError> {
        self.begin_work(job)?;
        let measures = self.services.settings.statement_statistics
            && *job.statement != Statement::ShowStatementStatistics;
        let measure = measures.then(|| Measure::start(self));
        let mut result = self.dispatch(job, sink);
        if result.is_ok() && job.ends {
            result = self.end_series().and(result);
        }
        if let Err(error) = &mut result {
            self.fail_work(error);
        }
        if let Some(measure) = measure {
            measure.finish(self, result.as_ref().map_or(0, Done::rows));
        }
        self.end_work();
        if !self.services.notices.borrow().is_empty() {
            for notice in self.services.notices.take() {
                sink.notice(&notice)?;
            }
        }
        result
    }

    /// Tells others what the session does now, and starts its clocks.
    fn begin_work(&mut self, job: &Job<'_>) -> Result<(), SqlError> {
        self.check_ending()?;
        self.settle()?;
        let services = &self.services;
        let info = &services.info;
        if services.is_timed {
            info.start_statement(services.deadline(services.settings.statement_timeout_ms));
        }
        info.clear();
        // What goes the short way does not ask for the time.
        let now = match self.may_be_direct(job) {
            true => services.now_rough().max(services.transaction_started.get()),
            false => services.now(),
        };
        services.statement_started.set(now);
        info.statement_started.store(now, Ordering::Relaxed);
        let shared = job.prepared.filter(|_| job.shows).map(Prepared::text);
        let mut shown = services.shown.borrow_mut();
        if !shared.is_some_and(|text| Arc::ptr_eq(&shown, text)) {
            *shown = shared.map_or_else(|| job.shown().into(), Arc::clone);
            *info.statement.lock() = Arc::clone(&shown);
        }
        info.set_active(now);
        Ok(())
    }

    /// Refuses everything once the session is to end, and gives up its transaction.
    pub(super) fn check_ending(&mut self) -> Result<(), SqlError> {
        let Some(reason) = self.services.info.ending() else { return Ok(()) };
        self.abandon();
        Err(reason.error())
    }

    /// Rolls the open transaction back; its error would have nobody to go to.
    pub fn abandon(&mut self) {
        if let Some(active) = self.active.take() {
            let _ = self.end(active, false, false);
        }
    }

    /// After a failure: the transaction fails, and a cancel is called what it was.
    fn fail_work(&mut self, error: &mut SqlError) {
        // A COPY that its client breaks off has the same code, and words of its own.
        if error.sqlstate == sqlstate::QUERY_CANCELED
            && self.services.info.cancel_flag().load(Ordering::Relaxed)
        {
            let reason = self.services.info.reason().error();
            (error.sqlstate, error.message) = (reason.sqlstate, reason.message);
        }
        self.fail_transaction();
        if self.services.info.ending().is_some() {
            self.abandon();
        }
    }

    fn end_work(&mut self) {
        let activity = match &self.active {
            Some(active) if active.block == Block::Explicit => match active.condition {
                Condition::Good => Activity::IdleInTransaction,
                Condition::Failed | Condition::MustRollback => Activity::IdleInFailedTransaction,
            },
            _ => Activity::Idle,
        };
        let services = &self.services;
        if services.is_timed {
            let timeout = match activity {
                Activity::Idle | Activity::Active => 0,
                _ => services.settings.idle_in_transaction_timeout_ms,
            };
            services.info.end_statement(services.deadline(timeout));
        }
        // A statement's end is told roughly, and not before its beginning.
        let now = services.now_rough().max(services.statement_started.get());
        services.info.set_activity(activity, now);
        // Who wanted the session to end while the statement ran left it to the session.
        if services.info.ending().is_some() {
            self.abandon();
            self.services.info.tell();
        }
    }

    fn dispatch(&mut self, job: &Job<'_>, sink: &mut dyn StatementSink) -> Result<Done, SqlError> {
        if job.prepared.is_some_and(Prepared::is_plain) {
            self.check_condition(job.statement)?;
            if self.may_be_direct(job) {
                if let Some(done) = self.direct(job)? {
                    return Ok(done);
                }
                self.services.statement_started.set(self.services.now());
            }
            return self.transactional(job, sink);
        }
        self.other(job, sink)
    }

    fn other(&mut self, job: &Job<'_>, sink: &mut dyn StatementSink) -> Result<Done, SqlError> {
        let tag = match job.statement {
            Statement::Begin(modes) => self.begin(modes),
            Statement::PrepareTransaction(gid) => self.prepare_transaction(gid),
            Statement::EndPrepared { gid, commit } => self.end_prepared(gid, *commit),
            Statement::SetTransaction(modes) => self.set_transaction(modes),
            Statement::Commit { chain } => self.commit(*chain),
            Statement::Rollback { chain } => self.rollback(*chain),
            Statement::RollbackTo(name) => self.rollback_to(name),
            statement => {
                self.check_condition(statement)?;
                return self.inside(job, sink);
            }
        };
        tag.map(Done::Tag)
    }

    /// Statements that a failed transaction does not accept.
    fn inside(&mut self, job: &Job<'_>, sink: &mut dyn StatementSink) -> Result<Done, SqlError> {
        let tag = match job.statement {
            Statement::Begin(_)
            | Statement::PrepareTransaction(_)
            | Statement::EndPrepared { .. }
            | Statement::SetTransaction(_)
            | Statement::Commit { .. }
            | Statement::Rollback { .. }
            | Statement::RollbackTo(_) => Err(SqlError::internal("handled above")),
            Statement::Savepoint(name) => self.savepoint(name),
            Statement::Release(name) => self.release(name),
            Statement::SetSessionCharacteristics(modes) => {
                self.change_settings(false, |settings| {
                    settings.isolation = modes.isolation.unwrap_or(settings.isolation);
                    settings.read_only = modes.read_only.unwrap_or(settings.read_only);
                    settings.savepoints = modes.savepoints.unwrap_or(settings.savepoints);
                    Ok(())
                })?;
                Ok(tag("SET"))
            }
            Statement::Set { name, value, local } => self.set(&name.text, value.as_deref(), *local),
            Statement::Reset(name) => {
                self.change_settings(false, |settings| settings.set(&name.text, None))?;
                Ok(tag("RESET"))
            }
            Statement::ResetAll => {
                let defaults = Arc::clone(&self.services.settings_default);
                self.change_settings(false, |settings| {
                    *settings = Settings::clone(&defaults);
                    Ok(())
                })?;
                Ok(tag("RESET"))
            }
            Statement::Show(name) => {
                let value = self.services.show(&name.text).ok_or_else(|| settings::unknown(&name.text))?;
                texts(sink, &[&name.text], &[vec![value]], "SHOW")
            }
            Statement::ShowAll => {
                let row = |(name, description): &(&str, &str)| {
                    vec![
                        name.to_string(),
                        self.services.show(name).unwrap_or_default(),
                        description.to_string(),
                    ]
                };
                let rows: Vec<_> = SETTINGS.iter().map(row).collect();
                texts(sink, &["name", "setting", "description"], &rows, "SHOW")
            }
            Statement::ShowStatementStatistics => self.show_statistics(sink),
            Statement::Sweep { table, verbose, parallel } => self.sweep(table.as_ref(), *verbose, *parallel),
            Statement::Checkpoint => {
                self.services.instance.engine.checkpoint()?;
                Ok(tag("CHECKPOINT"))
            }
            Statement::Prepare(prepare) => self.prepare_named(job, prepare),
            Statement::Execute { name, args } => return self.execute_named(name, args, job, sink),
            Statement::Deallocate(name) => self.deallocate(name.as_ref()),
            Statement::DiscardAll => self.discard_all(),
            Statement::Unlisten => Ok(tag("UNLISTEN")),
            Statement::Declare(cursor) => self.declare(job, cursor, sink),
            Statement::Fetch(fetch) => self.fetch(fetch, sink),
            Statement::Close(name) => self.close_cursor(name.as_ref()),
            Statement::AlterDatabase { name, value } => self.alter_database(name, value.as_deref()),
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_)
            | Statement::Explain { .. }
            | Statement::CreateTable(_)
            | Statement::CreateTableAs(_)
            | Statement::CreateSequence(_)
            | Statement::CreateFunction(_)
            | Statement::Drop(_)
            | Statement::DropFunction(_)
            | Statement::Copy(_)
            | Statement::Role(_)
            | Statement::CreateIndex(_)
            | Statement::AlterTable(_)
            | Statement::Rename { .. }
            | Statement::Reindex { .. }
            | Statement::LockTable(_)
            | Statement::SetConstraints(_)
            | Statement::Analyze(_)
            | Statement::Truncate(_) => return self.transactional(job, sink),
        };
        tag.map(Done::Tag)
    }

    /// Refuses what a transaction that failed, or one that may only read, does not accept.
    fn check_condition(&self, statement: &Statement) -> Result<(), SqlError> {
        let Some(active) = &self.active else { return Ok(()) };
        match active.condition {
            Condition::Good => {}
            Condition::Failed => return Err(in_failed_transaction()),
            Condition::MustRollback
                if changes(statement).is_some() || matches!(statement, Statement::Savepoint(_)) =>
            {
                return Err(must_rollback());
            }
            Condition::MustRollback => {}
        }
        Ok(())
    }

    /// A failed statement fails its transaction; one of its own is rolled back.
    fn fail_transaction(&mut self) {
        match self.active.take() {
            Some(mut active) if active.block == Block::Explicit => {
                if active.fail() {
                    self.undo_failed(&mut active);
                }
                self.active = Some(active);
            }
            Some(active) => {
                // The error that the client gets is the statement's; a dead transaction is rolled back anyway.
                let _ = self.end(active, false, false);
            }
            None => {}
        }
    }

    fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<CommandTag, SqlError> {
        if local && self.active.as_ref().is_none_or(|active| active.block == Block::Statement) {
            let warning = "SET LOCAL can only be used in transaction blocks";
            let notice = Notice::warning(sqlstate::NO_ACTIVE_TRANSACTION, warning);
            self.services.notices.borrow_mut().push(notice);
            return Ok(tag("SET"));
        }
        self.change_settings(local, |settings| settings.set(name, value))?;
        Ok(tag("SET"))
    }

    fn show_statistics(&self, sink: &mut dyn StatementSink) -> Result<CommandTag, SqlError> {
        let statistics = self.statistics.clone().unwrap_or_default();
        let StatementStatistics {
            memory_current_bytes,
            memory_delta_bytes,
            memory_max_bytes,
            elapsed_nanos,
            buffers,
            reads,
            writes,
            fetches,
            redo_bytes,
        } = statistics;
        let row = |name: &str, value: String| vec![name.to_string(), value];
        let rows = [
            row("current memory", memory_current_bytes.to_string()),
            row("delta memory", memory_delta_bytes.to_string()),
            row("max memory", memory_max_bytes.to_string()),
            row("elapsed time", format!("{:.6} s", elapsed_nanos as f64 / 1e9)),
            row("buffers", buffers.to_string()),
            row("reads", reads.to_string()),
            row("writes", writes.to_string()),
            row("fetches", fetches.to_string()),
            row("redo", redo_bytes.to_string()),
        ];
        texts(sink, &["statistic", "value"], &rows, "SHOW")
    }
}

/// The word for what a statement changes in the database; none for those that only read.
pub(super) fn changes(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::Insert(_) => "INSERT",
        Statement::Update(_) => "UPDATE",
        Statement::Delete(_) => "DELETE",
        Statement::CreateTable(_) => "CREATE TABLE",
        Statement::CreateTableAs(_) => "CREATE TABLE AS",
        Statement::CreateSequence(_) => "CREATE SEQUENCE",
        Statement::CreateFunction(_) => "CREATE FUNCTION",
        Statement::Drop(drop) => match drop.kind {
            crate::syntax::DropKind::Table => "DROP TABLE",
            crate::syntax::DropKind::Sequence => "DROP SEQUENCE",
            crate::syntax::DropKind::Index => "DROP INDEX",
        },
        Statement::DropFunction(_) => "DROP FUNCTION",
        Statement::Truncate(_) => "TRUNCATE TABLE",
        Statement::Copy(copy) if copy.from => "COPY FROM",
        Statement::Role(role) => match role {
            crate::syntax::RoleStatement::Create { .. } => "CREATE ROLE",
            crate::syntax::RoleStatement::Alter { .. } => "ALTER ROLE",
            crate::syntax::RoleStatement::Drop { .. } => "DROP ROLE",
        },
        Statement::CreateIndex(_) => "CREATE INDEX",
        Statement::AlterTable(_) => "ALTER TABLE",
        Statement::Rename { .. } => "ALTER TABLE",
        Statement::Reindex { .. } => "REINDEX",
        Statement::Do(_) => "DO",
        Statement::Explain { analyze: true, statement } => return changes(statement),
        Statement::AlterDatabase { .. } => "ALTER DATABASE",
        Statement::Explain { analyze: false, .. }
        | Statement::Query(_)
        | Statement::Copy(_)
        | Statement::Begin(_)
        | Statement::PrepareTransaction(_)
        | Statement::EndPrepared { .. }
        | Statement::SetTransaction(_)
        | Statement::SetSessionCharacteristics(_)
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint(_)
        | Statement::RollbackTo(_)
        | Statement::Release(_)
        | Statement::Set { .. }
        | Statement::Show(_)
        | Statement::ShowAll
        | Statement::ShowStatementStatistics
        | Statement::Reset(_)
        | Statement::ResetAll
        | Statement::LockTable(_)
        | Statement::SetConstraints(_)
        | Statement::Analyze(_)
        | Statement::Sweep { .. }
        | Statement::Checkpoint
        | Statement::Prepare(_)
        | Statement::Execute { .. } // what it executes is asked about by itself
        | Statement::Deallocate(_)
        | Statement::DiscardAll
        | Statement::Unlisten
        | Statement::Declare(_)
        | Statement::Fetch(_)
        | Statement::Close(_) => return None,
    })
}

/// Sends rows of texts.
fn texts(
    sink: &mut dyn StatementSink,
    names: &[&str],
    rows: &[Vec<String>],
    tag: &str,
) -> Result<CommandTag, SqlError> {
    let columns: Vec<OutputColumn> =
        names.iter().map(|name| OutputColumn::new(*name, SqlType::Text)).collect();
    let types = vec![SqlType::Text; names.len()];
    let mut batch = verso_types::Batch::of_types(&types);
    for row in rows {
        for (column, text) in batch.columns.iter_mut().zip(row) {
            column.push_value(&Value::text(text), &SqlType::Text)?;
        }
        batch.rows += 1;
    }
    sink.begin(&columns)?;
    sink.batch(&batch)?;
    Ok(CommandTag { text: tag.to_string(), rows: rows.len() as u64 })
}
