//! What a worker of a parallel operator takes along from the session, and what its expressions may ask.
//!
//! Expressions that are [parallel-safe](crate::plan::TypedExpr::is_parallel_safe) ask for the time of the statement, the
//! session's zone, memory, and whether they are cancelled. Everything else belongs to the session's thread: what can fail is
//! refused here with an error, and what cannot is a bug of the planner that ends the statement.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use verso_catalog::{
    Asked, CatalogSnapshot, ColumnDef, FunctionDef, Oid, SystemRowIter, SystemRows, SystemView, TableDef,
    TriggerDef,
};
use verso_types::{SqlType, TimeStyle, Value};

use crate::context::{
    Binding, CatalogFunctions, Clock, Described, GivesWay, HeldSettings, Identity, Known, Notice, NoticeSink,
    Notifications, Random, SequenceState, Services, SessionCursors, SettingAccess, Signals, Workers,
};
use crate::error::{ExecError, Result};
use crate::exec::ExecContext;
use crate::exec::context::WorkerParts;
use crate::exec::probe::{Probes, WorkerMeasures};
use crate::expr::Executor;
use crate::memory::{Account, Memory};
use crate::plan::{PlFunction, RaiseLevel, RowRules, Statement, TypedExpr};
use crate::plpgsql::Portals;
use crate::spill::TempSpace;

/// What is taken along.
pub(super) struct Luggage {
    catalog: Arc<CatalogSnapshot>,
    params: Vec<Value>,
    outer: Vec<Value>,
    time_zone: TimeStyle,
    work_bytes: u64,
    account: Account,
    temporary: Option<Arc<TempSpace>>,
    cancel: Arc<AtomicBool>,
    turns: Option<Arc<dyn GivesWay>>,
    executor: Executor,
    moments: Moments,
    /// Operators are measured, by this clock if their times are.
    measured: Option<Option<Arc<dyn verso_env::Clock>>>,
}

/// When statement and transaction began.
#[derive(Clone, Copy)]
struct Moments {
    transaction: i64,
    statement: i64,
}

impl Luggage {
    /// For each of so many workers.
    pub fn of(cx: &ExecContext<'_>, workers: usize) -> Luggage {
        let services = cx.services;
        Luggage {
            catalog: Arc::clone(cx.catalog),
            params: cx.params.to_vec(),
            outer: cx.outer().to_vec(),
            time_zone: services.time_zone.clone(),
            work_bytes: services.memory.work_bytes / workers.max(1) as u64,
            account: services.memory.account.clone(),
            temporary: services.memory.temporary.cloned(),
            cancel: Arc::clone(cx.cancel),
            turns: services.workers.turns(workers as u32),
            executor: cx.executor,
            moments: Moments {
                transaction: services.clock.transaction_timestamp(),
                statement: services.clock.statement_timestamp(),
            },
            measured: cx.probes.map(Probes::clock),
        }
    }

    /// Works in a context made of it; what the work yields, and what its operators have done.
    pub fn unpack<T>(
        &self,
        stop: &AtomicBool,
        work: impl FnOnce(&ExecContext<'_>) -> Result<T>,
    ) -> Result<(T, WorkerMeasures)> {
        let session = Elsewhere { moments: self.moments };
        let portals = Portals::default();
        let services = Services {
            time_zone: &self.time_zone,
            memory: Memory {
                work_bytes: self.work_bytes,
                account: &self.account,
                temporary: self.temporary.as_ref(),
            },
            workers: &session,
            clock: &session,
            random: &session,
            sequences: &session,
            settings: &session,
            notices: &session,
            identity: &session,
            signals: &session,
            notifications: &session,
            cursors: &session,
            portals: &portals,
            views: &session,
            catalogs: &session,
            binding: &session,
            figures: &session,
        };
        let probes = self.measured.clone().map(Probes::of_worker);
        let turns = self.turns.as_ref().map(|turns| turns.of_worker());
        // Whoever takes a value for each row counts its holders: each worker in memory of its own.
        let [params, outer] =
            [&self.params, &self.outer].map(|values| values.iter().map(Value::apart).collect::<Vec<Value>>());
        let cx = ExecContext::of_worker(WorkerParts {
            catalog: &self.catalog,
            params: &params,
            outer: &outer,
            services: &services,
            cancel: &self.cancel,
            turns: turns.as_deref(),
            stop,
            executor: self.executor,
            probes: probes.as_ref(),
        });
        let value = work(&cx)?;
        drop(cx);
        Ok((value, probes.map(Probes::into_measures).unwrap_or_default()))
    }
}

/// The session, as a worker sees it.
struct Elsewhere {
    moments: Moments,
}

/// What only the session's thread can do.
#[cold]
fn refused<T>(what: &str) -> Result<T> {
    Err(ExecError::raised("XX000", format!("a worker of a query cannot {what}")))
}

/// The same where there is no error to be told.
#[cold]
fn unreachable(what: &str) -> ! {
    unreachable!("an expression of a worker asks for {what}")
}

impl Workers for Elsewhere {
    fn for_pages(&self, _: u64) -> u32 {
        1
    }
    fn turns(&self, _: u32) -> Option<std::sync::Arc<dyn GivesWay>> {
        None
    }
    fn crew(&self, _: u32) -> crate::context::Crew {
        unreachable("workers")
    }
}

impl Clock for Elsewhere {
    fn transaction_timestamp(&self) -> i64 {
        self.moments.transaction
    }
    fn statement_timestamp(&self) -> i64 {
        self.moments.statement
    }
    fn clock_timestamp(&self) -> i64 {
        unreachable("the clock")
    }
}

impl Random for Elsewhere {
    fn random_u64(&self) -> u64 {
        unreachable("random numbers")
    }
    fn seed_random(&self, _: f64) {
        unreachable("random numbers")
    }
    fn unseeded_u64(&self) -> u64 {
        unreachable("random numbers")
    }
    fn uuid_stamp(&self, _: i64) -> i128 {
        unreachable("random numbers")
    }
}

impl SequenceState for Elsewhere {
    fn value(&self, _: u32) -> Option<i64> {
        unreachable("a sequence")
    }
    fn last_used(&self) -> Option<u32> {
        unreachable("a sequence")
    }
    fn note_value(&self, _: u32, _: i64, _: bool) {
        unreachable("a sequence")
    }
}

impl SettingAccess for Elsewhere {
    fn setting(&self, _: &str) -> Option<String> {
        unreachable("a setting")
    }
    fn set_setting(&self, _: &str, _: Option<&str>, _: bool) -> Result<String> {
        refused("change settings")
    }
    fn hold(&self, _: &[(Arc<str>, Arc<str>)], _: &Arc<CatalogSnapshot>) -> Result<HeldSettings> {
        refused("change settings")
    }
    fn release(&self, _: &Arc<CatalogSnapshot>) {
        unreachable("a setting")
    }
}

impl NoticeSink for Elsewhere {
    fn notice(&self, _: Notice, _: Memory<'_>) -> Result<()> {
        refused("tell the client something")
    }

    fn hears(&self, _: RaiseLevel) -> bool {
        true
    }
}

impl Identity for Elsewhere {
    fn user_name(&self) -> Arc<str> {
        unreachable("the user")
    }
    fn session_user(&self) -> Arc<str> {
        unreachable("the user")
    }
    fn act_as(&self, _: Option<Oid>) -> Option<Oid> {
        unreachable("another role")
    }
    fn backend_id(&self) -> i32 {
        unreachable("the session")
    }
    fn database_name(&self) -> Arc<str> {
        unreachable("the database")
    }
    fn version(&self) -> Arc<str> {
        unreachable("the version")
    }
}

impl Signals for Elsewhere {
    fn signal_backend(&self, _: i32, _: bool) -> Result<bool> {
        refused("signal sessions")
    }
    fn has_backend(&self, _: i32) -> bool {
        false
    }
    fn sleep(&self, _: Duration) -> Result<()> {
        refused("sleep")
    }
    fn ends_session(&self) -> bool {
        unreachable("cancels")
    }
    fn forget_cancel(&self) {
        unreachable("cancels")
    }
    fn wait_durable(&self) -> Result<u64> {
        refused("wait for the log")
    }
}

impl Notifications for Elsewhere {
    fn notify(&self, _: &str, _: &str) -> Result<()> {
        refused("notify")
    }
    fn listening(&self) -> Vec<Arc<str>> {
        unreachable("channels")
    }
    fn queue_usage(&self) -> f64 {
        unreachable("channels")
    }
}

impl SessionCursors for Elsewhere {
    fn cursor_place(&self, _: &str, _: &TableDef) -> Result<i64> {
        refused("look at cursors")
    }
}

impl SystemRows for Elsewhere {
    fn rows(&self, _: SystemView, _: &[Value], _: Asked<'_>) -> SystemRowIter {
        unreachable("a system view")
    }
}

impl CatalogFunctions for Elsewhere {
    fn call(&self, function: &'static str, _: &[Value]) -> Result<Value> {
        refused(&format!("call {function}"))
    }
}

impl crate::context::StatementFigures for Elsewhere {}

impl Binding for Elsewhere {
    fn compile_function(&self, _: &Arc<FunctionDef>, _: &Arc<CatalogSnapshot>) -> Result<Arc<PlFunction>> {
        refused("compile functions")
    }
    fn compile_trigger(
        &self,
        _: &Arc<TriggerDef>,
        _: Option<&Arc<FunctionDef>>,
        _: &Arc<TableDef>,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>> {
        refused("compile triggers")
    }
    fn trigger_condition(&self, _: &Arc<TriggerDef>, _: &Arc<TableDef>) -> Result<TypedExpr> {
        refused("compile triggers")
    }
    fn row_rules(&self, _: &Arc<TableDef>) -> Result<RowRules> {
        refused("bind constraints")
    }
    fn value_of_domain(&self, _: &SqlType) -> Result<TypedExpr> {
        refused("bind domains")
    }
    fn column_default(&self, _: &ColumnDef) -> Result<TypedExpr> {
        refused("bind defaults")
    }
    fn describe_error(&self, error: &ExecError) -> Described {
        Described { sqlstate: "XX000".into(), message: error.to_string(), ..Described::default() }
    }
    fn statements_of(&self, _: &str) -> Result<Vec<Range<usize>>> {
        refused("bind statements")
    }

    fn bind_text(
        &self,
        _: &str,
        _: Range<usize>,
        _: &Known<'_>,
        _: bool,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Option<Statement>> {
        refused("bind statements")
    }
}
