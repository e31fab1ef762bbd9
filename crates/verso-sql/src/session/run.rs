//! Queries and changes: frames around them, restarts, results.

use std::cell::RefCell;
use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn, Oid, Volatility,
};
use verso_row::error::ExecError;
use verso_row::plan::{ExprKind, Plan, SetCall, Statement as Bound, TypedExpr};
use verso_row::{ExecContext, Sink, execute};
use verso_storage::{StorageError, Txn};
use verso_types::text::type_of;
use verso_types::{Batch, SqlType, Value};

use super::Session;
use super::api::{CommandTag, OutputColumn, StatementSink};
use super::services::Services;
use super::tables::EngineTables;
use super::transaction::{Block, tag};
use crate::bind::Binder;
use crate::errors::{SqlError, sqlstate};
use crate::syntax::Statement;

/// Times a statement of READ COMMITTED is tried again before the client is told.
const RESTARTS_MAX: u32 = 20;

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
    pub(super) catalog: Arc<CatalogSnapshot>,
    pub(super) cancel: &'f std::sync::atomic::AtomicBool,
}

impl Session {
    /// Runs a statement within the open transaction, or within one of its own that ends with it.
    pub(super) fn transactional(
        &mut self,
        statement: &Statement,
        sql: &str,
        params: &[Value],
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        self.ensure_active()?;
        let Some(active) = &mut self.active else { return Err(SqlError::internal("no transaction")) };
        active.pristine = false;
        if let (true, Some(word)) = (active.read_only(), super::changes(statement)) {
            let text = format!("cannot execute {word} in a read-only transaction");
            return Err(SqlError::new(sqlstate::READ_ONLY_TRANSACTION, text));
        }
        active.changed_schema |= changes_schema(statement);
        let types: Vec<SqlType> = params.iter().map(type_of).collect();
        let mut results = Results::new(sink);
        let tag = self.framed(&mut results, |frame, results| {
            frame.statement(statement, sql, params, &types, results)
        })?;
        results.finish()?;
        if let Some(active) = self.active.take_if(|active| active.block == Block::Statement) {
            self.end(active, true, false)?;
        }
        Ok(tag)
    }

    /// Opens a frame, runs `body` in it, and closes it; on a conflict perhaps again.
    fn framed<T>(
        &self,
        results: &mut Results<'_>,
        mut body: impl FnMut(&Frame<'_>, &mut Results<'_>) -> Result<T, Failure>,
    ) -> Result<T, SqlError> {
        let Some(active) = &self.active else { return Err(SqlError::internal("no transaction")) };
        let notices = self.services.notices.borrow().len();
        let mut tries = 0;
        loop {
            active.txn.borrow_mut().begin_statement()?;
            let result = self.in_frame(&active.txn, results, &mut body);
            self.services.catalog.replace(None);
            let Failure { error, conflict } = match result {
                Ok(value) => {
                    active.txn.borrow_mut().end_statement()?;
                    return Ok(value);
                }
                Err(failure) => failure,
            };
            active.txn.borrow_mut().abort_statement()?;
            if !conflict || !active.restarts() || results.sent || tries == RESTARTS_MAX {
                return Err(error);
            }
            tries += 1;
            results.forget();
            self.services.notices.borrow_mut().truncate(notices);
            verso_env::sync::backoff();
        }
    }

    fn in_frame<T>(
        &self,
        txn: &RefCell<Txn>,
        results: &mut Results<'_>,
        body: &mut impl FnMut(&Frame<'_>, &mut Results<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let catalog = self.services.instance.catalog.snapshot(&txn.borrow())?;
        self.services.catalog.replace(Some(Arc::clone(&catalog)));
        let frame = Frame { services: &self.services, txn, catalog, cancel: &self.cancel.flag };
        body(&frame, results)
    }
}

impl Frame<'_> {
    fn statement(
        &self,
        statement: &Statement,
        sql: &str,
        params: &[Value],
        types: &[SqlType],
        results: &mut Results<'_>,
    ) -> Result<CommandTag, Failure> {
        let binder = Binder::new(&self.catalog, &self.services.settings.time_zone, types);
        match statement {
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                let bound = binder.statement(statement)?;
                self.run(&bound, params, results)
            }
            Statement::Do(body) => {
                self.block(&body.text, params)?;
                Ok(tag("DO"))
            }
            Statement::Explain { analyze, statement } => {
                let bound = binder.statement(statement)?;
                self.explain(&bound, *analyze, params, results)
            }
            other => self.define(&binder, other, sql),
        }
    }

    /// Runs a bound statement and hands on its rows.
    fn run(&self, bound: &Bound, params: &[Value], results: &mut Results<'_>) -> Result<CommandTag, Failure> {
        let columns = bound.output();
        let returns = matches!(bound, Bound::Query(_)) || !columns.is_empty();
        // A query without functions of the user's changes nothing, so it never runs twice and its rows go out at once.
        results.streams = matches!(bound, Bound::Query(plan) if !calls_users(plan));
        if returns {
            results.begin(columns)?;
        }
        let rows = self.execute(bound, params, results)?;
        let word = match bound {
            Bound::Query(_) => "SELECT",
            Bound::Insert(_) => "INSERT 0",
            Bound::Update(_) => "UPDATE",
            Bound::Delete(_) => "DELETE",
        };
        Ok(CommandTag { text: format!("{word} {rows}"), rows })
    }

    /// Runs a bound statement on the executors.
    pub(super) fn execute(
        &self,
        bound: &Bound,
        params: &[Value],
        results: &mut Results<'_>,
    ) -> Result<u64, Failure> {
        let tables = EngineTables { engine: &self.services.instance.engine, txn: self.txn };
        let executor = self.services.settings.executor;
        let catalog = Arc::clone(&self.catalog);
        let cx = ExecContext::new(&tables, catalog, params, self.services, self.cancel, executor);
        let result = execute(bound, &cx, results);
        // An error of the client's sink comes back as itself.
        match (result, results.error.take()) {
            (Err(_), Some(error)) => Err(error.into()),
            (result, _) => Ok(result?),
        }
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
    )
}

/// Whether a plan calls functions of the catalog.
pub(super) fn calls_users(plan: &Plan) -> bool {
    let any = |exprs: &[TypedExpr]| {
        exprs.iter().any(|expr| expr.any(&mut |part| matches!(part.kind, ExprKind::UserCall { .. })))
    };
    let one = |expr: &Option<TypedExpr>| expr.as_ref().is_some_and(|expr| any(std::slice::from_ref(expr)));
    match plan {
        Plan::Values { rows, columns: _ } => rows.iter().any(|row| any(row)),
        Plan::TableScan { table: _, columns: _, filter } => one(filter),
        Plan::SystemScan { .. } => false,
        Plan::FunctionScan { call, columns: _ } => match call {
            SetCall::User { .. } => true,
            SetCall::Builtin { function: _, args } => any(args),
        },
        Plan::Project { input, exprs, names: _ } => any(exprs) || calls_users(input),
        Plan::Filter { input, predicate } => any(std::slice::from_ref(predicate)) || calls_users(input),
        Plan::Aggregate { input, group_by, aggregates } => {
            let inside = aggregates.iter().any(|call| any(&call.args) || one(&call.filter));
            inside || any(group_by) || calls_users(input)
        }
        Plan::Sort { input, keys } => {
            keys.iter().any(|key| any(std::slice::from_ref(&key.expr))) || calls_users(input)
        }
        Plan::Limit { input, limit, offset } => one(limit) || one(offset) || calls_users(input),
        Plan::Distinct { input } => calls_users(input),
        Plan::Append { inputs } => inputs.iter().any(calls_users),
    }
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
    columns: Option<Vec<OutputColumn>>,
    held: Vec<Batch>,
    error: Option<SqlError>,
}

impl<'s> Results<'s> {
    fn new(sink: &'s mut dyn StatementSink) -> Results<'s> {
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
    pub(super) fn begin(&mut self, columns: Vec<OutputColumn>) -> Result<(), SqlError> {
        if self.streams {
            self.sink.begin(&columns)?;
        }
        self.columns = Some(columns);
        Ok(())
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
    fn finish(&mut self) -> Result<(), SqlError> {
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
        if self.counts_only || self.columns.is_none() {
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

/// A client that wants nothing.
struct Nowhere;

impl StatementSink for Nowhere {
    fn begin(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn batch(&mut self, _: &Batch) -> Result<(), SqlError> {
        Ok(())
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, _: &super::Notice) -> Result<(), SqlError> {
        Ok(())
    }
}
