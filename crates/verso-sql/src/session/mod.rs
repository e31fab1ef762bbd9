//! Sessions: statements in transactions, settings, results.
//!
//! | module | what it is |
//! |---|---|
//! | [`api`] | what a session says: sinks, tags, notices, statistics |
//! | [`identity`] | who a session belongs to |
//! | [`instance`] | what the sessions of a database share |
//! | [`transaction`] | the transaction a session is in, and what begins and ends it |
//! | [`run`] | queries and changes: frames, restarts, results |
//! | [`prepared`] | statements parsed and bound ahead of their execution |
//! | [`portal`] | executions that yield their rows in portions |
//! | [`ddl`] | CREATE, DROP, TRUNCATE |
//! | [`maintenance`] | SWEEP, CHECKPOINT, ALTER DATABASE |
//! | [`explain`] | plans as text |
//! | [`services`] | what running expressions ask of the session |
//! | [`tables`] | the executors' tables, over storage |
//! | [`system`] | rows of the system views |
//! | [`settings`] | SET, SHOW, RESET |
//!
//! S1. A statement that fails leaves nothing behind: its frame is undone, or (NO SAVEPOINT) the whole transaction
//!     must be rolled back.
//! S2. Under READ COMMITTED a statement that meets a newer version runs again on a new snapshot, and the
//!     client sees the results of the last run only. S3. Every statement ends its frame, whatever happens in it.

mod api;
mod ddl;
mod explain;
mod identity;
mod instance;
mod maintenance;
mod portal;
mod prepared;
mod run;
mod services;
mod settings;
mod system;
mod tables;
mod transaction;

pub use api::{
    CancelHandle, CommandTag, CopyLayout, Notice, OutputColumn, StatementSink, StatementStatistics,
};
pub use identity::{Identity, Terminate};
pub use instance::Instance;
pub use portal::{Portal, PortalEnd};
pub use prepared::Prepared;
pub use settings::{SETTINGS, Settings};
pub use transaction::TransactionStatus;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_types::{SqlType, TimeZone, Value};

use crate::errors::{SqlError, must_rollback, sqlstate};
use crate::parse::parse_script;
use crate::syntax::{Parsed, Statement};
use services::Services;
use transaction::{Active, Block, Condition, in_failed_transaction, tag};

/// How much of a statement's text others are shown.
const SHOWN_TEXT_MAX: usize = 1_024;

/// One client's conversation with the database. Statements run one after the other.
pub struct Session {
    /// Before the services: its transaction ends before the session's locks go.
    active: Option<Active>,
    services: Services,
    autocommit: bool,
    /// Statements now are parts of an implicit block (X2).
    series: bool,
    /// Transactions begun so far.
    transactions: u64,
    cancel: CancelHandle,
    statistics: Option<StatementStatistics>,
    memory_max_bytes: u64,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session").field("id", &self.services.id).finish_non_exhaustive()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.services.instance.sessions.lock().remove(&self.services.id);
    }
}

impl Session {
    /// A new session, with autocommit on.
    pub fn new(instance: Arc<Instance>) -> Session {
        let services = Services::new(instance);
        Session {
            cancel: CancelHandle::new(services.owner.cancel_handle()),
            services,
            active: None,
            autocommit: true,
            series: false,
            transactions: 0,
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
        let statements = parse_script(sql).inspect_err(|_| self.fail_transaction())?;
        let Some((last, before)) = statements.split_last() else { return Ok(()) };
        if before.is_empty() {
            return self.one(last, sql, params, sink);
        }
        let outer = std::mem::replace(&mut self.series, true);
        let mut result = before.iter().try_for_each(|parsed| self.one(parsed, sql, params, sink));
        if result.is_ok() {
            // The last statement ends the block before the client hears that it is done.
            result = self.one_ending(last, sql, params, sink, !outer);
        }
        self.series = outer;
        result
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
        self.cancel.clone()
    }

    // ── one statement ────────────────────────────────────────────────────────────────────────────────────────────

    fn one(
        &mut self,
        parsed: &Parsed,
        sql: &str,
        params: &[Value],
        sink: &mut dyn StatementSink,
    ) -> Result<(), SqlError> {
        self.one_ending(parsed, sql, params, sink, false)
    }

    /// Runs a statement; with `ends` it is the last of an implicit block.
    fn one_ending(
        &mut self,
        parsed: &Parsed,
        sql: &str,
        params: &[Value],
        sink: &mut dyn StatementSink,
        ends: bool,
    ) -> Result<(), SqlError> {
        self.cancel.flag.store(false, Ordering::Relaxed);
        let start = self.services.now();
        self.services.statement_started.set(start);
        self.publish(Some((sql, parsed)));
        let measure = Measure::start(self);
        let mut result = self.dispatch(parsed, sql, params, sink);
        if result.is_err() {
            self.fail_transaction();
        } else if ends && let Err(error) = self.end_series() {
            result = Err(error);
        }
        let shows_statistics = parsed.statement == Statement::ShowStatementStatistics;
        if !shows_statistics {
            measure.finish(self, result.as_ref().map_or(0, |tag| tag.rows));
        }
        self.publish(None);
        for notice in self.services.notices.take() {
            sink.notice(&notice)?;
        }
        sink.complete(&result?)
    }

    /// What others are told about this session.
    fn publish(&self, statement: Option<(&str, &Parsed)>) {
        let mut sessions = self.services.instance.sessions.lock();
        let Some(info) = sessions.get_mut(&self.services.id) else { return };
        info.running = statement.is_some();
        info.in_transaction = self.active.is_some();
        if let Some((sql, parsed)) = statement {
            let at = parsed.at;
            let length = (at.end.saturating_sub(at.start) as usize).min(SHOWN_TEXT_MAX);
            info.statement = sql.chars().skip(at.start as usize).take(length).collect();
            info.statement_started = Some(self.services.statement_started.get());
        }
    }

    fn dispatch(
        &mut self,
        parsed: &Parsed,
        sql: &str,
        params: &[Value],
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        match &parsed.statement {
            Statement::Begin(modes) => return self.begin(modes),
            Statement::SetTransaction(modes) => return self.set_transaction(modes),
            Statement::Commit { chain } => return self.commit(*chain),
            Statement::Rollback { chain } => return self.rollback(*chain),
            Statement::RollbackTo(name) => return self.rollback_to(name),
            _ => {}
        }
        self.check_condition(&parsed.statement)?;
        match &parsed.statement {
            Statement::Begin(_)
            | Statement::SetTransaction(_)
            | Statement::Commit { .. }
            | Statement::Rollback { .. }
            | Statement::RollbackTo(_) => Err(SqlError::internal("handled above")),
            Statement::Savepoint(name) => self.savepoint(name),
            Statement::Release(name) => self.release(name),
            Statement::SetSessionCharacteristics(modes) => {
                let settings = &mut self.services.settings;
                settings.isolation = modes.isolation.unwrap_or(settings.isolation);
                settings.read_only = modes.read_only.unwrap_or(settings.read_only);
                settings.savepoints = modes.savepoints.unwrap_or(settings.savepoints);
                Ok(tag("SET"))
            }
            Statement::Set { name, value, local } => self.set(&name.text, value.as_deref(), *local),
            Statement::Reset(name) => {
                self.services.settings.set(&name.text, None)?;
                Ok(tag("RESET"))
            }
            Statement::ResetAll => {
                self.services.settings = (*self.services.settings_default).clone();
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
            Statement::AlterDatabase { name, value } => self.alter_database(name, value.as_deref()),
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_)
            | Statement::Explain { .. }
            | Statement::CreateTable(_)
            | Statement::CreateSequence(_)
            | Statement::CreateFunction(_)
            | Statement::Drop(_)
            | Statement::DropFunction(_)
            | Statement::Truncate(_) => self.transactional(&parsed.statement, sql, params, sink),
        }
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
                active.fail();
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
        if local && self.active.is_none() {
            let warning = "SET LOCAL can only be used in transaction blocks";
            let notice = Notice::warning(sqlstate::NO_ACTIVE_TRANSACTION, warning);
            self.services.notices.borrow_mut().push(notice);
            return Ok(tag("SET"));
        }
        let mut changed = self.services.settings.clone();
        changed.set(name, value)?;
        if local {
            let before = self.services.settings.clone();
            self.services.settings_before.get_or_insert(before);
        }
        self.services.settings = changed;
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
fn changes(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::Insert(_) => "INSERT",
        Statement::Update(_) => "UPDATE",
        Statement::Delete(_) => "DELETE",
        Statement::CreateTable(_) => "CREATE TABLE",
        Statement::CreateSequence(_) => "CREATE SEQUENCE",
        Statement::CreateFunction(_) => "CREATE FUNCTION",
        Statement::Drop(drop) => match drop.kind {
            crate::syntax::DropKind::Table => "DROP TABLE",
            crate::syntax::DropKind::Sequence => "DROP SEQUENCE",
        },
        Statement::DropFunction(_) => "DROP FUNCTION",
        Statement::Truncate(_) => "TRUNCATE TABLE",
        Statement::Do(_) => "DO",
        Statement::Explain { analyze: true, statement } => return changes(statement),
        Statement::AlterDatabase { .. } => "ALTER DATABASE",
        Statement::Explain { analyze: false, .. }
        | Statement::Query(_)
        | Statement::Begin(_)
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
        | Statement::Sweep { .. }
        | Statement::Checkpoint => return None,
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

/// Counters at the start of a statement.
struct Measure {
    nanos: u64,
    memory_bytes: u64,
    counters: Counters,
}

#[derive(Clone, Copy)]
struct Counters {
    reads: u64,
    writes: u64,
    fetches: u64,
    redo_bytes: u64,
    buffers: u64,
    resident_pool_bytes: u64,
}

impl Counters {
    fn now(session: &Session) -> Counters {
        let engine = &session.services.instance.engine;
        let statistics = engine.statistics();
        Counters {
            reads: statistics.pool.reads,
            writes: statistics.pool.writes,
            fetches: statistics.pool.fetches,
            redo_bytes: statistics.log.bytes,
            buffers: statistics.pool.capacity_pages,
            resident_pool_bytes: statistics.pool.resident_pages * u64::from(engine.options().page_size),
        }
    }
}

/// Memory of the process beside the pool's frames.
fn memory_bytes(counters: &Counters) -> u64 {
    verso_env::process::resident_bytes().unwrap_or(0).saturating_sub(counters.resident_pool_bytes)
}

impl Measure {
    fn start(session: &Session) -> Measure {
        let counters = Counters::now(session);
        let nanos = session.services.env.clock.monotonic_nanos();
        Measure { nanos, memory_bytes: memory_bytes(&counters), counters }
    }

    fn finish(self, session: &mut Session, rows: u64) {
        let elapsed_nanos = session.services.env.clock.monotonic_nanos().saturating_sub(self.nanos);
        let now = Counters::now(session);
        let memory = memory_bytes(&now);
        session.memory_max_bytes = session.memory_max_bytes.max(memory);
        let statistics = StatementStatistics {
            memory_current_bytes: memory,
            memory_delta_bytes: memory as i64 - self.memory_bytes as i64,
            memory_max_bytes: session.memory_max_bytes,
            elapsed_nanos,
            buffers: now.buffers,
            reads: now.reads.saturating_sub(self.counters.reads),
            writes: now.writes.saturating_sub(self.counters.writes),
            fetches: now.fetches.saturating_sub(self.counters.fetches),
            redo_bytes: now.redo_bytes.saturating_sub(self.counters.redo_bytes),
        };
        let mut totals = session.services.totals.borrow_mut();
        totals.statements += 1;
        totals.rows += rows;
        totals.elapsed_nanos += elapsed_nanos;
        totals.fetches += statistics.fetches;
        totals.reads += statistics.reads;
        totals.writes += statistics.writes;
        totals.redo_bytes += statistics.redo_bytes;
        drop(totals);
        session.statistics = Some(statistics);
    }
}
