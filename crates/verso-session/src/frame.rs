//! Frames: what one statement works with, and how it runs there.
//!
//! A frame is made inside of storage's statement, by [`crate::run`] or by a portal, and holds the catalog as that
//! statement's snapshot has it. Parts of a statement that have to see what the parts before them did are statements of
//! their own within it ([`Frame::inside`]).

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use verso_catalog::{
    CatalogSnapshot, FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn, Oid, Volatility,
};
use verso_exec::plan::{ExprKind, Plan, Statement as Bound, TypedExpr};
use verso_exec::{Compiled, ExecContext, execute};
use verso_storage::Txn;
use verso_types::text::type_of;
use verso_types::{SqlType, Value};

use crate::Session;
use crate::client::Nowhere;
use crate::client::OutputColumn;
use crate::client::Results;
use crate::failure::Failure;
use crate::plans::{Done, Job};
use crate::plans::{Planned, Prepared};
use crate::plans::{Ready, ReadyStatements};
use crate::services::Services;
use crate::tables::EngineTables;
use crate::transaction::{Active, tag};
use verso_parser::parse_script;
use verso_parser::syntax::Statement;
use verso_planner::bind::Binder;
use verso_planner::errors::SqlError;

/// What a statement works with inside of its frame.
pub(crate) struct Frame<'f> {
    pub(crate) services: &'f Services,
    pub(crate) txn: &'f RefCell<Txn>,
    pub(crate) catalog: &'f Arc<CatalogSnapshot>,
    pub(crate) cancel: &'f AtomicBool,
    /// Compiled statements of the session.
    ready: &'f RefCell<ReadyStatements>,
    /// What is bound may be kept for others: the transaction has not changed the schema.
    keeps: bool,
}

impl Session {
    /// Runs `body` in a frame over the statement that the transaction is in.
    pub(crate) fn in_frame<T>(
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

impl Frame<'_> {
    /// Runs a statement of any kind that runs in a frame.
    pub(crate) fn statement(
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
        let binder = Binder::new(self.catalog, &self.services.settings.time_zone, types);
        let tag = match job.statement {
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                return self.run_once(binder.statement(job.statement)?, job, results);
            }
            Statement::Do(body) => {
                self.inline_block(&body.text, job.params)?;
                tag("DO")
            }
            Statement::Copy(copy) => self.copy(&binder, copy, results)?,
            Statement::CreateTableAs(create) => self.create_table_as(&binder, create, job.params)?,
            Statement::Explain { analyze, statement } => {
                let bound = binder.statement(statement)?;
                self.explain(&bound, *analyze, job.params, results)?
            }
            other => self.define(&binder, other)?,
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

    /// Runs a statement of the cache from its text: the types of its parameters have changed since it was kept.
    fn as_given(&self, job: &Job<'_>, results: &mut Results<'_>) -> Result<Done, Failure> {
        let statements = parse_script(job.sql)?;
        let [parsed] = statements.as_slice() else { return Err(SqlError::internal("one statement").into()) };
        // Where literals became parameters the text has none.
        let params = if job.shows { job.params } else { &[] };
        let types: Vec<SqlType> = params.iter().map(type_of).collect();
        let time_zone = &self.services.settings.time_zone;
        let bound = Binder::new(self.catalog, time_zone, &types).statement(&parsed.statement)?;
        self.run_once(bound, &Job { params, ..*job }, results)
    }

    /// Runs a statement whose plan is not kept.
    fn run_once(&self, bound: Bound, job: &Job<'_>, results: &mut Results<'_>) -> Result<Done, Failure> {
        let settings = &self.services.settings;
        let planned = Planned::new(bound, self.catalog.version, &settings.time_zone);
        let mut compiled = Compiled::new(&planned.bound, settings.executor);
        self.run(&planned, &mut compiled, job, results)
    }

    /// A prepared statement's compiled form, taken out of the session's: while its portal is open nobody else uses it.
    pub(crate) fn taken(&self, prepared: &Prepared) -> Result<Ready, SqlError> {
        let (executor, epoch) = (self.services.settings.executor, self.services.epoch);
        let known = self.ready.borrow_mut().take(prepared.number());
        match known.filter(|ready| ready.fits(self.catalog.version, executor, epoch)) {
            Some(ready) => Ok(ready),
            None => self.compile(prepared),
        }
    }

    /// Compiles a prepared statement, bound anew where the catalog has changed.
    fn compile(&self, prepared: &Prepared) -> Result<Ready, SqlError> {
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
    pub(crate) fn execute(
        &self,
        bound: &Bound,
        params: &[Value],
        results: &mut Results<'_>,
    ) -> Result<u64, Failure> {
        let rows = self.with_context(params, |cx| execute(bound, cx, results));
        results.outcome(rows)
    }

    /// What the executors see of storage.
    pub(crate) fn tables(&self) -> EngineTables<'_> {
        self.services.tables(self.txn, self.catalog.version)
    }

    /// What the executors run in.
    pub(crate) fn with_context<T>(&self, params: &[Value], run: impl FnOnce(&ExecContext<'_>) -> T) -> T {
        let tables = self.tables();
        let executor = self.services.settings.executor;
        let services = self.services.lend();
        run(&ExecContext::new(&tables, self.catalog, params, &services, self.cancel, executor))
    }

    /// Runs `work` as a statement of its own within this one: it sees what was done before.
    pub(crate) fn inside<T>(
        &self,
        work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.txn.borrow_mut().begin_statement()?;
        self.within(work)
    }

    /// The same over all that is committed, for work on a table that nobody else can get at.
    pub(crate) fn inside_now<T>(
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
    pub(crate) fn count(&self, bound: &Bound, params: &[Value]) -> Result<u64, Failure> {
        let mut nowhere = Nowhere;
        let mut results = Results::new(&mut nowhere);
        results.counts_only = true;
        self.execute(bound, params, &mut results)
    }

    /// DO: the block as a function of its own that nobody else can call.
    fn inline_block(&self, text: &str, params: &[Value]) -> Result<(), Failure> {
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
        self.count(&bound, params).map(drop)
    }
}
