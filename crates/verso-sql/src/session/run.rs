//! Queries and changes: frames around them, restarts, results.

use std::cell::RefCell;
use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn, Oid, Volatility,
};
use verso_row::error::ExecError;
use verso_row::plan::{ExprKind, Plan, SetCall, Statement as Bound, TypedExpr};
use verso_row::{Compiled, ExecContext, Sink, execute};
use verso_storage::rules::{Rule, disabled};
use verso_storage::{StorageError, TableLockMode, Txn, WaitPolicy};
use verso_types::text::type_of;
use verso_types::{Batch, SqlType, Value};

use super::Session;
use super::api::{Notice, OutputColumn, StatementSink};
use super::constraints::explain_unique;
use super::job::{Done, Job};
use super::portal::Nowhere;
use super::prepared::{Planned, Prepared};
use super::ready::{Ready, ReadyStatements};
use super::services::Services;
use super::transaction::{Active, Block, tag};
use crate::bind::Binder;
use crate::errors::{SqlError, sqlstate};
use crate::parse::parse_script;
use crate::syntax::Statement;

/// Times a statement of READ COMMITTED is tried again on a new snapshot. Behind these comes one more, with the tables
/// locked over which it has had conflicts.
const RESTARTS_MAX: u32 = 5;

/// An error, and whether it is worth another try on a new snapshot.
pub(super) struct Failure {
    pub(super) error: SqlError,
    pub(super) conflict: bool,
}

impl<E: Into<Cause>> From<E> for Failure {
    fn from(cause: E) -> Failure {
        match cause.into() {
            Cause::Sql(error) => Failure { error, conflict: false },
            Cause::Exec(error) => {
                let conflict = matches!(
                    error.root(),
                    ExecError::Storage(StorageError::Conflict { .. })
                        | ExecError::Catalog(verso_catalog::CatalogError::Storage(
                            StorageError::Conflict { .. }
                        ))
                );
                Failure { conflict, error: error.into() }
            }
        }
    }
}

/// What a failure comes from.
pub(super) enum Cause {
    Sql(SqlError),
    Exec(ExecError),
}

impl From<SqlError> for Cause {
    fn from(error: SqlError) -> Cause {
        Cause::Sql(error)
    }
}

impl From<ExecError> for Cause {
    fn from(error: ExecError) -> Cause {
        Cause::Exec(error)
    }
}

impl From<StorageError> for Cause {
    fn from(error: StorageError) -> Cause {
        Cause::Exec(error.into())
    }
}

impl From<verso_catalog::CatalogError> for Cause {
    fn from(error: verso_catalog::CatalogError) -> Cause {
        Cause::Exec(error.into())
    }
}

/// What a statement works with inside of its frame.
pub(super) struct Frame<'f> {
    pub(super) services: &'f Services,
    pub(super) txn: &'f RefCell<Txn>,
    pub(super) catalog: &'f Arc<CatalogSnapshot>,
    pub(super) cancel: &'f std::sync::atomic::AtomicBool,
    /// Compiled statements of the session.
    ready: &'f RefCell<ReadyStatements>,
    /// What is bound may be kept for others: the transaction has not changed the schema.
    keeps: bool,
}

impl Session {
    /// Runs a statement within the open transaction, or within one of its own that ends with it.
    pub(super) fn transactional(
        &mut self,
        job: &Job<'_>,
        sink: &mut dyn StatementSink,
    ) -> Result<Done, SqlError> {
        self.ensure_active_for(job.prepared.is_some_and(Prepared::only_reads))?;
        let Some(active) = &mut self.active else { return Err(SqlError::internal("no transaction")) };
        active.pristine = false;
        if active.read_only()
            && let Some(word) = super::changes(job.statement)
        {
            let text = format!("cannot execute {word} in a read-only transaction");
            return Err(SqlError::new(sqlstate::READ_ONLY_TRANSACTION, text));
        }
        if active.block == Block::Statement && matches!(job.statement, Statement::LockTable(_)) {
            let text = "LOCK TABLE can only be used in transaction blocks";
            return Err(SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text));
        }
        if active.block == Block::Statement && matches!(job.statement, Statement::SetConstraints(_)) {
            let text = "SET CONSTRAINTS can only be used in transaction blocks";
            let notice = Notice::warning(sqlstate::NO_ACTIVE_TRANSACTION, text);
            self.services.notices.borrow_mut().push(notice);
        }
        active.changed_schema |= changes_schema(job.statement);
        self.set_aside_for(job)?;
        self.note_position(job.statement);
        let types: Vec<SqlType> = match job.prepared {
            Some(_) => Vec::new(),
            None => job.params.iter().map(type_of).collect(),
        };
        let mut results = Results::new(sink);
        let silent = only_changes(job.statement);
        let done =
            self.framed(silent, &mut results, |frame, results| frame.statement(job, &types, results))?;
        results.finish()?;
        if let Some(active) = self.active.take_if(|active| active.block == Block::Statement) {
            self.end(active, true, false)?;
        }
        Ok(done)
    }

    /// Opens a frame, runs `body` in it, and closes it; on a conflict perhaps again. A `silent` body shows its client
    /// nothing that it reads.
    pub(super) fn framed<T>(
        &self,
        silent: bool,
        results: &mut Results<'_>,
        mut body: impl FnMut(&Frame<'_>, &mut Results<'_>) -> Result<T, Failure>,
    ) -> Result<T, SqlError> {
        let Some(active) = &self.active else { return Err(SqlError::internal("no transaction")) };
        let notices = self.services.notices.borrow().len();
        let mut tries = 0;
        self.services.contended.borrow_mut().clear();
        loop {
            if tries > RESTARTS_MAX {
                self.lock_contended(active)?;
            }
            {
                let mut txn = active.txn.borrow_mut();
                if silent { txn.begin_change()? } else { txn.begin_statement()? }
            }
            let result = self.in_frame(active, results, &mut body);
            let Failure { error, conflict } = match result {
                Ok(value) => {
                    let ended = active.txn.borrow_mut().end_statement();
                    match ended {
                        Ok(()) => return Ok(value),
                        // Found out at the end of the statement; its frame is still open.
                        Err(error @ StorageError::Unique { .. }) => self.explain_at_end(&active.txn, error),
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(failure) => failure,
            };
            active.txn.borrow_mut().abort_statement()?;
            if !conflict || !active.restarts() || results.sent || tries > RESTARTS_MAX {
                return Err(error);
            }
            tries += 1;
            results.forget();
            self.services.notices.borrow_mut().truncate(notices);
            verso_env::sync::backoff(tries);
        }
    }

    /// Keeps others from changing or locking rows of the tables over which the statement has had conflicts. Its next
    /// snapshot, taken afterwards, then sees all that it will meet there.
    fn lock_contended(&self, active: &Active) -> Result<(), SqlError> {
        let mut tables = std::mem::take(&mut *self.services.contended.borrow_mut());
        if disabled(Rule::T2LastTry) {
            return Ok(());
        }
        // In one order, and with nothing held that another such statement may wait for.
        tables.sort_unstable();
        tables.dedup();
        let mut txn = active.txn.borrow_mut();
        if active.block == Block::Statement {
            txn.release_locks();
        }
        for table in tables {
            let engine = &self.services.instance.engine;
            engine.lock_table(&mut txn, table, TableLockMode::Exclusive, WaitPolicy::Block)?;
        }
        Ok(())
    }

    /// A duplicate key that the end of a statement found, as the client is told.
    fn explain_at_end(&self, txn: &RefCell<Txn>, error: StorageError) -> Failure {
        let txn = txn.borrow();
        let catalog = match self.services.instance.catalog.snapshot(&txn) {
            Ok(catalog) => catalog,
            Err(other) => return other.into(),
        };
        let engine = &self.services.instance.engine;
        explain_unique(&catalog, engine, &txn, &self.services.settings.time_zone, error).into()
    }

    pub(super) fn in_frame<T>(
        &self,
        active: &Active,
        results: &mut Results<'_>,
        body: &mut impl FnMut(&Frame<'_>, &mut Results<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let txn = &active.txn;
        {
            let mut known = self.services.catalog.borrow_mut();
            self.services.instance.catalog.refresh(&txn.borrow(), &mut known)?;
        }
        let known = self.services.catalog.borrow();
        let Some(catalog) = &*known else { return Err(SqlError::internal("no catalog").into()) };
        let frame = Frame {
            services: &self.services,
            txn,
            catalog,
            cancel: self.services.info.cancel_flag(),
            ready: &self.ready,
            keeps: !active.changed_schema,
        };
        body(&frame, results)
    }
}

/// Whether a statement changes rows and answers with nothing but their number: it may build upon a commit that is in the
/// log already, for its own comes behind it.
fn only_changes(statement: &Statement) -> bool {
    match statement {
        Statement::Update(update) => update.returning.is_empty(),
        Statement::Delete(delete) => delete.returning.is_empty(),
        Statement::Insert(insert) => insert.returning.is_empty() && insert.on_conflict.is_none(),
        _ => false,
    }
}

impl Frame<'_> {
    fn statement(
        &self,
        job: &Job<'_>,
        types: &[SqlType],
        results: &mut Results<'_>,
    ) -> Result<Done, Failure> {
        if let Some(prepared) = job.prepared
            && prepared.is_plain()
        {
            match self.prepared(prepared, job, results) {
                Err(_) if prepared.is_stale() => return self.as_given(job, results),
                result => return result,
            }
        }
        let time_zone = &self.services.settings.time_zone;
        let binder = Binder::new(self.catalog, time_zone, types);
        let tag = match job.statement {
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                let planned = Planned::new(binder.statement(job.statement)?, self.catalog.version, time_zone);
                let mut compiled = Compiled::new(&planned.bound, self.services.settings.executor);
                return self.run(&planned, &mut compiled, job, results);
            }
            Statement::Do(body) => {
                self.block(&body.text, job.params)?;
                tag("DO")
            }
            Statement::Copy(copy) => self.copy(&binder, copy, results)?,
            Statement::CreateTableAs(create) => self.create_table_as(&binder, create, job.params)?,
            Statement::Explain { analyze, statement } => {
                let bound = binder.statement(statement)?;
                self.explain(&bound, *analyze, job.params, results)?
            }
            other => self.define(&binder, other, job.sql)?,
        };
        Ok(Done::Tag(tag))
    }

    /// Runs a prepared statement, compiled before or now.
    #[inline]
    fn prepared(
        &self,
        prepared: &Prepared,
        job: &Job<'_>,
        results: &mut Results<'_>,
    ) -> Result<Done, Failure> {
        let (executor, epoch) = (self.services.settings.executor, self.services.epoch);
        let mut statements = self.ready.borrow_mut();
        if let Some(ready) = statements.find(prepared.number(), self.catalog.version, executor, epoch) {
            return self.run(&ready.planned, &mut ready.compiled, job, results);
        }
        let ready = self.compile(prepared)?;
        let ready = statements.put(prepared.number(), ready);
        self.run(&ready.planned, &mut ready.compiled, job, results)
    }

    /// Runs a statement of the cache from its text.
    fn as_given(&self, job: &Job<'_>, results: &mut Results<'_>) -> Result<Done, Failure> {
        let statements = parse_script(job.sql)?;
        let [parsed] = statements.as_slice() else { return Err(SqlError::internal("one statement").into()) };
        // Where literals became parameters the text has none.
        let params = if job.shows { job.params } else { &[] };
        let types: Vec<SqlType> = params.iter().map(type_of).collect();
        let time_zone = &self.services.settings.time_zone;
        let bound = Binder::new(self.catalog, time_zone, &types).statement(&parsed.statement)?;
        let planned = Planned::new(bound, self.catalog.version, time_zone);
        let mut compiled = Compiled::new(&planned.bound, self.services.settings.executor);
        self.run(&planned, &mut compiled, &Job { params, ..*job }, results)
    }

    /// Takes a compiled statement out of the session's.
    pub(super) fn take_ready(&self, number: u64) -> Option<Ready> {
        self.ready.borrow_mut().take(number)
    }

    /// Compiles a prepared statement, bound anew where the catalog has changed.
    pub(super) fn compile(&self, prepared: &Prepared) -> Result<Ready, SqlError> {
        let settings = &self.services.settings;
        let planned = prepared.plan(self.catalog, &settings.time_zone, self.keeps)?;
        Ok(Ready::new(planned, settings.executor, self.services.epoch))
    }

    /// Runs a statement and hands on its rows.
    #[inline]
    fn run(
        &self,
        planned: &Planned,
        compiled: &mut Compiled,
        job: &Job<'_>,
        results: &mut Results<'_>,
    ) -> Result<Done, Failure> {
        results.streams = planned.streams;
        if planned.returns {
            results.begin(&planned.columns)?;
        }
        let rows = self.with_context(job.params, |cx| match job.sets {
            None => compiled.run(cx, results),
            Some(sets) => compiled.run_sets(cx, sets, results),
        });
        Ok(Done::Rows(planned.word(), results.outcome(rows)?))
    }

    /// Runs a bound statement once.
    pub(super) fn execute(
        &self,
        bound: &Bound,
        params: &[Value],
        results: &mut Results<'_>,
    ) -> Result<u64, Failure> {
        let rows = self.with_context(params, |cx| execute(bound, cx, results));
        results.outcome(rows)
    }

    /// What the executors run in.
    pub(super) fn with_context<T>(&self, params: &[Value], run: impl FnOnce(&ExecContext<'_>) -> T) -> T {
        let tables = self.tables();
        let executor = self.services.settings.executor;
        run(&ExecContext::new(&tables, self.catalog, params, self.services, self.cancel, executor))
    }

    /// Runs `work` as a statement of its own within this one: it sees what was done before.
    pub(super) fn inside<T>(
        &self,
        work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.txn.borrow_mut().begin_statement()?;
        self.within(work)
    }

    /// The same over all that is committed, for work on a table that nobody else can get at.
    pub(super) fn inside_now<T>(
        &self,
        work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.txn.borrow_mut().begin_statement_now()?;
        self.within(work)
    }

    fn within<T>(&self, work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let result = self.seeing(work);
        if result.is_ok() {
            self.txn.borrow_mut().end_statement()?;
        } else {
            self.txn.borrow_mut().abort_statement()?;
        }
        result
    }

    fn seeing<T>(&self, work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let catalog = self.services.instance.catalog.snapshot(&self.txn.borrow())?;
        work(&Frame { catalog: &catalog, keeps: false, ..*self })
    }

    /// Runs a bound statement for its number of rows.
    pub(super) fn count(&self, bound: &Bound) -> Result<u64, Failure> {
        let mut nowhere = Nowhere;
        let mut results = Results::new(&mut nowhere);
        results.counts_only = true;
        self.execute(bound, &[], &mut results)
    }

    /// DO: the block as a function of its own that nobody else can call.
    fn block(&self, text: &str, params: &[Value]) -> Result<(), Failure> {
        let function = Arc::new(FunctionDef {
            oid: Oid(0),
            schema: "".into(),
            name: "inline_code_block".into(),
            args: Vec::<FunctionArg>::new(),
            returns: FunctionReturn::Void,
            language: FunctionLanguage::PlPgSql,
            body: text.into(),
            volatility: Volatility::Volatile,
            strict: false,
        });
        let call = TypedExpr::new(ExprKind::UserCall { function, args: Vec::new() }, SqlType::Void);
        let columns = vec![OutputColumn::new("do", SqlType::Void)];
        let bound = Bound::Query(Plan::Values { rows: vec![vec![call]], columns });
        let mut nowhere = Nowhere;
        let mut results = Results::new(&mut nowhere);
        results.counts_only = true;
        self.execute(&bound, params, &mut results).map(drop)
    }
}

/// Whether a statement changes the schema, or may do so by statements of its own.
fn changes_schema(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Explain { .. }
            | Statement::Do(_)
            | Statement::LockTable(_)
            | Statement::SetConstraints(_)
            | Statement::Analyze(_)
    )
}

/// Whether a plan calls functions of the catalog.
pub(super) fn calls_users(plan: &Plan) -> bool {
    plan.any(&mut |part| {
        // Rows that are to be locked may have changed: the query then runs again.
        matches!(part, Plan::LockRows { .. } | Plan::FunctionScan { call: SetCall::User { .. }, .. })
            || part.exprs().into_iter().any(TypedExpr::calls_users)
    })
}

/// The way of a statement's rows to the client: at once, or held until it is certain that it will not run again.
pub(super) struct Results<'s> {
    sink: &'s mut dyn StatementSink,
    /// Rows go out at once.
    pub(super) streams: bool,
    /// Rows are counted by the executor and dropped here.
    pub(super) counts_only: bool,
    /// The client has seen something.
    pub(super) sent: bool,
    columns: Option<Arc<[OutputColumn]>>,
    held: Vec<Batch>,
    error: Option<SqlError>,
}

impl<'s> Results<'s> {
    pub(super) fn new(sink: &'s mut dyn StatementSink) -> Results<'s> {
        Results {
            sink,
            streams: false,
            counts_only: false,
            sent: false,
            columns: None,
            held: Vec::new(),
            error: None,
        }
    }

    /// The statement yields rows of these columns.
    pub(super) fn begin(&mut self, columns: &Arc<[OutputColumn]>) -> Result<(), SqlError> {
        if self.streams {
            self.sink.begin(columns)
        } else {
            self.columns = Some(Arc::clone(columns));
            Ok(())
        }
    }

    /// What the executors' result means: an error of the client's sink comes back as itself.
    pub(super) fn outcome<T>(&mut self, result: Result<T, ExecError>) -> Result<T, Failure> {
        match (result, self.error.take()) {
            (Err(_), Some(error)) => Err(error.into()),
            (result, _) => Ok(result?),
        }
    }

    /// Sends rows that were set aside.
    pub(super) fn pass(&mut self, batch: &Batch) -> Result<(), SqlError> {
        self.sent = true;
        self.sink.batch(batch)
    }

    /// The client, for statements that talk with it in their own way.
    pub(super) fn client(&mut self) -> &mut (dyn StatementSink + 's) {
        self.sink
    }

    /// Adds rows of the session's own making.
    pub(super) fn push(&mut self, batch: Batch) {
        self.held.push(batch);
    }

    fn forget(&mut self) {
        self.columns = None;
        self.held.clear();
        self.error = None;
    }

    /// Sends what was held.
    pub(super) fn finish(&mut self) -> Result<(), SqlError> {
        let Some(columns) = &self.columns else { return Ok(()) };
        if !self.streams {
            self.sink.begin(columns)?;
            for batch in &self.held {
                self.sink.batch(batch)?;
            }
        }
        Ok(())
    }
}

impl Sink for Results<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExecError> {
        if self.counts_only {
            return Ok(());
        }
        if !self.streams {
            self.held.push(batch.clone());
            return Ok(());
        }
        self.sent = true;
        self.sink.batch(batch).map_err(|error| {
            let message = error.message.clone();
            self.error = Some(error);
            ExecError::Sink(message)
        })
    }
}
