//! Frames: what one statement works with, and how it runs there.
//!
//! A frame is made inside of storage's statement, by [`crate::session`] or by a portal, and holds the catalog as that
//! statement's snapshot has it. Parts of a statement that have to see what the parts before them did are statements of
//! their own within it ([`Frame::inside`]).

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use verso_catalog::{CatalogSnapshot, Object, TableDef};
use verso_exec::context::TransitionsSeen;
use verso_exec::exec::Probes;
use verso_exec::plan::Statement as Bound;
use verso_exec::{Compiled, ExecContext, ExecError, execute};
use verso_storage::Txn;
use verso_types::text::type_of;
use verso_types::{SqlType, TimeStyle, Value};

use crate::client::{Client, Notice, Nowhere, Results};
use crate::explain::plan_lines;
use crate::failure::Failure;
use crate::plans::{Begins, Done, Job};
use crate::plans::{Planned, Prepared};
use crate::plans::{Ready, ReadyStatements};
use crate::services::{Outgoing, Services};
use crate::settings::{LogPlans, PlanCacheMode};
use crate::tables::EngineTables;
use crate::views::CatalogViews;
use verso_parser::parse_script;
use verso_parser::syntax::Statement;
use verso_planner::bind::Binder;
use verso_planner::errors::SqlError;

/// What a statement works with inside of its frame.
pub(crate) struct Frame<'f> {
    pub(crate) services: &'f Services,
    pub(crate) txn: &'f RefCell<Txn>,
    pub(crate) catalog: &'f Arc<CatalogSnapshot>,
    pub(crate) cancel: &'f Arc<AtomicBool>,
    /// Rows of the system views.
    pub(crate) views: &'f dyn CatalogViews,
    /// Compiled statements of the session.
    pub(crate) ready: &'f RefCell<ReadyStatements>,
    /// What is bound may be kept for others: the transaction has not changed the schema.
    pub(crate) keeps: bool,
    /// Where messages of functions go.
    pub(crate) outgoing: Outgoing<'f>,
    /// What a statement in the function of a trigger sees of its transition tables.
    pub(crate) transitions: TransitionsSeen<'f>,
}

impl Frame<'_> {
    /// Runs a prepared statement, compiled before or now.
    #[inline]
    pub(crate) fn prepared(
        &self,
        prepared: &Prepared,
        job: &Job<'_>,
        results: &mut Results<'_>,
    ) -> Result<Done, Failure> {
        let (executor, epoch) = (self.services.settings.executor, self.services.settings.epoch());
        if let Some(mut ready) = self.for_values(prepared, job)? {
            prepared.count_run(true);
            return self.run(&ready.planned, &mut ready.compiled, job, results);
        }
        prepared.count_run(false);
        let mut statements = self.ready.borrow_mut();
        let done = match statements.find(prepared.number(), self.catalog.key(), executor, epoch) {
            Some(ready) => self.run(&ready.planned, &mut ready.compiled, job, results),
            None => {
                let ready = self.compile(prepared)?;
                let ready = statements.put(prepared.number(), ready);
                self.run(&ready.planned, &mut ready.compiled, job, results)
            }
        };
        if self.services.memory.held_much() {
            drop(statements.take(prepared.number()));
        }
        done
    }

    /// Runs a prepared statement without its kept plan: one that others may share from its text, as the types of its parameters
    /// may have changed since it was kept.
    pub(crate) fn as_given(
        &self,
        prepared: &Prepared,
        job: &Job<'_>,
        results: &mut Results<'_>,
    ) -> Result<Done, Failure> {
        let given = !job.params.is_empty() && job.sets.is_none();
        let mode = self.services.settings.plan_cache_mode;
        prepared.count_run(given && mode != PlanCacheMode::ForceGeneric);
        let own = prepared.statement().filter(|_| !prepared.is_of_cache());
        if let Some(statement) = own {
            let types = prepared.params_in(self.catalog);
            let style = prepared.style_for(self.catalog, &self.services.settings.time_zone);
            return self.bound_anew(statement, (&types, job.params), (&style, prepared.lasts), job, results);
        }
        let statements = parse_script(job.sql)?;
        let [parsed] = statements.as_slice() else { return Err(SqlError::internal("one statement").into()) };
        // Where literals became parameters the text has none.
        let params = if job.shows { job.params } else { &[] };
        let types: Vec<SqlType> = params.iter().map(type_of).collect();
        let style = (&self.services.settings.time_zone, false);
        self.bound_anew(&parsed.statement, (&types, params), style, &Job { params, ..*job }, results)
    }

    fn bound_anew(
        &self,
        statement: &Statement,
        (types, values): (&[SqlType], &[Value]),
        (style, lasts): (&TimeStyle, bool),
        job: &Job<'_>,
        results: &mut Results<'_>,
    ) -> Result<Done, Failure> {
        let settings = &self.services.settings;
        let alone = job.sets.is_none() && settings.plan_cache_mode != PlanCacheMode::ForceGeneric;
        let values = if alone { values } else { &[] };
        let binder = Binder::new(self.catalog, style, types).with_rules(settings.rules);
        let binder = binder.with_values(values).lasting(lasts);
        let bound = self.services.planning(|| binder.statement(statement))?;
        self.run_once(bound, binder.told(), job, results)
    }

    /// Runs a statement whose plan is not kept.
    pub(crate) fn run_once(
        &self,
        bound: Bound,
        told: Vec<String>,
        job: &Job<'_>,
        results: &mut Results<'_>,
    ) -> Result<Done, Failure> {
        let settings = &self.services.settings;
        let planned = Planned::new(bound, self.catalog.key(), &settings.time_zone).telling(told);
        let mut compiled = Compiled::new(&planned.bound, settings.executor);
        self.run(&planned, &mut compiled, job, results)
    }

    /// A prepared statement's compiled form, taken out of the session's: while its portal is open nobody else uses it.
    pub(crate) fn taken(&self, prepared: &Prepared, job: &Job<'_>) -> Result<Ready, SqlError> {
        let for_values = self.for_values(prepared, job)?;
        prepared.count_run(for_values.is_some());
        if let Some(ready) = for_values {
            return Ok(ready);
        }
        let (executor, epoch) = (self.services.settings.executor, self.services.settings.epoch());
        let known = self.ready.borrow_mut().take(prepared.number());
        match known.filter(|ready| ready.fits(self.catalog.key(), executor, epoch)) {
            Some(ready) => Ok(ready),
            None => self.compile(prepared),
        }
    }

    /// A prepared statement's form for the values given alone, where that may be worth it.
    #[inline]
    fn for_values(&self, prepared: &Prepared, job: &Job<'_>) -> Result<Option<Ready>, SqlError> {
        let settings = &self.services.settings;
        if job.sets.is_some() || !prepared.wants_values(settings.plan_cache_mode) {
            return Ok(None);
        }
        let plan = || prepared.plan_for(job.params, self.catalog, &settings.time_zone);
        let planned = Arc::new(self.services.planning(plan)?);
        Ok(Some(Ready::new(planned, settings.executor, settings.epoch()).of_values()))
    }

    /// Compiles a prepared statement, bound anew where the catalog has changed.
    fn compile(&self, prepared: &Prepared) -> Result<Ready, SqlError> {
        let settings = &self.services.settings;
        let plan = || prepared.plan(self.catalog, &settings.time_zone, self.keeps);
        let planned = match prepared.is_planned(self.catalog, &settings.time_zone) {
            true => plan()?,
            false => self.services.planning(plan)?,
        };
        Ok(Ready::new(planned, settings.executor, self.services.settings.epoch()))
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
        if !planned.streams && self.services.frameless.get() {
            self.services.wants_frames.set(true);
            return Err(SqlError::internal("a change in a transaction that keeps no frames").into());
        }
        results.streams = planned.streams;
        self.tell(&planned.told);
        if planned.returns {
            results.begin(&planned.columns);
        }
        if self.services.settings.log_plans != LogPlans::Off && self.services.is_timed() {
            return self.run_logged(planned, compiled, job, results);
        }
        let rows = self.with_context(job.params, |cx| run_compiled(compiled, cx, job, results));
        Ok(Done::Rows(planned.word(), results.outcome(rows)?))
    }

    /// The same, and keeps the plan for the log of slow statements.
    #[cold]
    fn run_logged(
        &self,
        planned: &Planned,
        compiled: &mut Compiled,
        job: &Job<'_>,
        results: &mut Results<'_>,
    ) -> Result<Done, Failure> {
        let clock = Arc::clone(&self.services.env.clock);
        let analyzes = self.services.settings.log_plans == LogPlans::Analyze;
        let probes = analyzes.then(|| Probes::new(Some(clock)));
        let rows = self.with_context(job.params, |cx| {
            let measured = probes.as_ref().map(|probes| cx.measured(probes));
            run_compiled(compiled, measured.as_ref().unwrap_or(cx), job, results)
        });
        self.keep_plan(planned, probes.as_ref());
        Ok(Done::Rows(planned.word(), results.outcome(rows)?))
    }

    /// Keeps the plan of the running statement for the log of slow ones, if it has taken long by now.
    pub(crate) fn keep_plan(&self, planned: &Planned, probes: Option<&Probes>) {
        if self.services.settings.log_plans != LogPlans::Off {
            self.services.keep_plan(|| plan_lines(self.catalog, &planned.bound, probes).join("\n"));
        }
    }

    /// Tells the client what was found out when a statement was bound.
    pub(crate) fn tell(&self, told: &[String]) {
        for text in told {
            self.services.notices.tell(Notice::message(text.as_str()));
        }
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

    /// Lends a running statement what it may ask of the session.
    pub(crate) fn lend(&self) -> verso_exec::Services<'_> {
        self.services.lend(self.views, &self.outgoing)
    }

    /// What the executors run in.
    pub(crate) fn with_context<T>(&self, params: &[Value], run: impl FnOnce(&ExecContext<'_>) -> T) -> T {
        let tables = self.tables();
        let executor = self.services.settings.executor;
        let services = self.lend();
        let cx = ExecContext::new(&tables, self.catalog, params, &services, self.cancel, executor);
        run(&cx.with_definitions(self).seeing_transitions(self.transitions.rows))
    }

    /// Runs `work` as a statement of its own within this one: it sees what was done before.
    pub(crate) fn inside<T>(
        &self,
        work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.txn.borrow_mut().begin_statement()?;
        self.within(work)
    }

    /// The same as a statement of its kind begins.
    pub(crate) fn inside_as<T>(
        &self,
        begins: Begins,
        work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if !begins.sees_newest() {
            return self.inside(work);
        }
        self.txn.borrow_mut().begin_newest()?;
        self.within(work)
    }

    /// The same for a change that tells of nothing it reads: it does not wait for the disk of other commits (T1-logged).
    pub(crate) fn inside_change<T>(
        &self,
        work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.txn.borrow_mut().begin_change()?;
        self.within(work)
    }

    /// Runs `work` with the rights of who owns a table: what its owner has written (the query of a materialized view, the
    /// expressions of an index) gets no others, whoever asks for it.
    pub(crate) fn as_owner_of<T>(
        &self,
        table: &TableDef,
        work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.as_role(self.catalog.owner_of(Object::Relation(table.oid)), work)
    }

    /// Runs `work` as a role, which need not be the one that statements run as now.
    pub(crate) fn as_role<T>(
        &self,
        role: verso_catalog::Oid,
        work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if role == self.services.current_role() {
            return work(self);
        }
        let limited = Some(role).filter(|role| !self.catalog.is_superuser(*role));
        let catalog = self.catalog.with_role(limited);
        let before = self.services.acting.replace(Some(role));
        let result = work(&Frame { catalog: &catalog, keeps: false, ..*self });
        self.services.acting.set(before);
        result
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
            let ended = self.txn.borrow_mut().end_statement();
            ended.map_err(|error| self.tables().explain(error))?;
        } else {
            self.txn.borrow_mut().abort_statement()?;
        }
        result
    }

    fn seeing<T>(&self, work: impl FnOnce(&Frame<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        // A schema that is being made is the first of the path, whatever was asked for.
        let services = self.services;
        let catalog = match services.creating.borrow().is_none() {
            true => services.snapshot_asked(&self.txn.borrow(), self.catalog.key().role)?,
            false => services.snapshot(&self.txn.borrow())?,
        };
        services.lend_names(&catalog);
        work(&Frame { catalog: &catalog, keeps: false, ..*self })
    }

    /// Runs a bound statement for its number of rows.
    pub(crate) fn count(&self, bound: &Bound, params: &[Value]) -> Result<u64, Failure> {
        let mut nowhere = Nowhere;
        let client = Client::new(&mut nowhere);
        let mut results = Results::aside(&client, self.services.memory.lend());
        results.counts_only = true;
        self.execute(bound, params, &mut results)
    }
}

/// Runs a statement with its parameters, or once for each set of them.
#[inline]
fn run_compiled(
    compiled: &mut Compiled,
    cx: &ExecContext<'_>,
    job: &Job<'_>,
    results: &mut Results<'_>,
) -> Result<u64, ExecError> {
    match job.sets {
        None => compiled.run(cx, results),
        Some(sets) => compiled.run_sets(cx, sets, results),
    }
}
