//! A session without a database: of fixed time and seeded randomness.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use verso_catalog::{
    Asked, CatalogSnapshot, ColumnDef, FunctionDef, SystemRowIter, SystemRows, SystemView, TableDef,
    TriggerDef,
};
use verso_storage::workers::WorkerPool;
use verso_types::{SqlType, TimeStyle, Value};

use crate::context::CatalogFunctions;
use crate::context::{
    AdvisoryCall, Binding, Clock, Crew, Described, EvalContext, HeldSettings, Identity, Known, Notice,
    NoticeSink, Notifications, Random, Runtime, SequenceName, SequenceState, Services, SessionCursors,
    SettingAccess, Signals, Workers,
};
use crate::error::{ExecError, Result};
use crate::memory::{Account, Memory, Scope};
use crate::plan::{ExprKind, PlFunction, Plan, RaiseLevel, RowRules, Statement, SubqueryTest, TypedExpr};
use crate::spill::TempSpace;

/// 2024-02-29 12:30:45.678901 UTC.
const NOW: i64 = 762_525_045_678_901;

/// A session of fixed time and seeded randomness.
pub(crate) struct TestSession {
    pub zone: TimeStyle,
    pub random: Cell<u64>,
    pub sequence: Cell<i64>,
    pub notices: RefCell<Vec<Notice>>,
    pub work_memory: Cell<u64>,
    pub memory: Account,
    /// Where operators may put rows.
    pub temporary: Option<Arc<TempSpace>>,
    /// Of expressions; statements have the world's.
    pub cancel: AtomicBool,
    pub functions: RefCell<HashMap<Arc<str>, Arc<PlFunction>>>,
    pub portals: crate::Portals,
    /// Workers of each operator that can have some.
    pub workers: Cell<u32>,
    pool: WorkerPool,
}

impl Default for TestSession {
    fn default() -> Self {
        Self {
            zone: TimeStyle::UTC,
            random: Cell::new(0x9e37_79b9_7f4a_7c15),
            sequence: Cell::new(0),
            notices: RefCell::default(),
            work_memory: Cell::new(64 << 20),
            memory: Account::new(Scope::Statement, 0),
            temporary: None,
            cancel: AtomicBool::new(false),
            functions: RefCell::default(),
            portals: crate::Portals::default(),
            workers: Cell::new(1),
            pool: WorkerPool::new(verso_env::Env::real()),
        }
    }
}

impl Drop for TestSession {
    fn drop(&mut self) {
        self.pool.close();
    }
}

impl Workers for TestSession {
    fn for_pages(&self, _: u64) -> u32 {
        self.workers.get()
    }
    fn turns(&self, _: u32) -> Option<std::sync::Arc<dyn crate::context::GivesWay>> {
        None
    }
    fn crew(&self, wanted: u32) -> Crew {
        self.pool.lend(wanted)
    }
}

impl TestSession {
    pub fn memory(&self) -> Memory<'_> {
        Memory {
            work_bytes: self.work_memory.get(),
            account: &self.memory,
            temporary: self.temporary.as_ref(),
        }
    }

    /// Lends everything.
    pub fn services(&self) -> Services<'_> {
        Services {
            time_zone: &self.zone,
            memory: self.memory(),
            workers: self,
            clock: self,
            random: self,
            sequences: self,
            settings: self,
            notices: self,
            identity: self,
            signals: self,
            notifications: self,
            cursors: self,
            portals: &self.portals,
            views: self,
            catalogs: self,
            binding: self,
            figures: self,
        }
    }

    pub fn context<'a>(&'a self, services: &'a Services<'a>) -> EvalContext<'a> {
        EvalContext { services, runtime: self, params: &[], outer: &[] }
    }
}

impl SystemRows for TestSession {
    fn rows(&self, _: SystemView, _: &[Value], _: Asked<'_>) -> SystemRowIter {
        let rows = [("page", 7), ("log", 9)];
        Box::new(rows.into_iter().map(|(kind, writes)| vec![Value::text(kind), Value::Int8(writes)]))
    }
}

impl CatalogFunctions for TestSession {
    fn call(&self, function: &'static str, _: &[Value]) -> Result<Value> {
        Err(ExecError::raised("0A000", function.to_string()))
    }
}

impl Clock for TestSession {
    fn transaction_timestamp(&self) -> i64 {
        NOW
    }
    fn statement_timestamp(&self) -> i64 {
        NOW
    }
    fn clock_timestamp(&self) -> i64 {
        NOW
    }
}

impl Random for TestSession {
    fn random_u64(&self) -> u64 {
        self.random.set(self.random.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        self.random.get()
    }
    fn seed_random(&self, seed: f64) {
        self.random.set(seed.to_bits());
    }
    fn unseeded_u64(&self) -> u64 {
        self.random_u64()
    }
    fn uuid_stamp(&self, micros: i64) -> i128 {
        i128::from(micros) * 1000
    }
}

impl SequenceState for TestSession {
    fn value(&self, _: u32) -> Option<i64> {
        Some(self.sequence.get()).filter(|value| *value > 0)
    }
    fn last_used(&self) -> Option<u32> {
        self.value(0).map(|_| 0)
    }
    fn note_value(&self, _: u32, value: i64, _: bool) {
        self.sequence.set(value);
    }
}

impl SettingAccess for TestSession {
    fn setting(&self, name: &str) -> Option<String> {
        (name == "timezone").then(|| "UTC".to_owned())
    }
    fn set_setting(&self, name: &str, _: Option<&str>, _: bool) -> Result<String> {
        Err(ExecError::raised("42704", format!("unrecognized configuration parameter \"{name}\"")))
    }
    fn hold(&self, _: &[(Arc<str>, Arc<str>)], catalog: &Arc<CatalogSnapshot>) -> Result<HeldSettings> {
        Ok(HeldSettings { catalog: Arc::clone(catalog), time_zone: TimeStyle::UTC, work_bytes: None })
    }
    fn release(&self, _: &Arc<CatalogSnapshot>) {}
}

impl NoticeSink for TestSession {
    fn notice(&self, notice: Notice, _: Memory<'_>) -> Result<()> {
        self.notices.borrow_mut().push(notice);
        Ok(())
    }

    fn hears(&self, _: RaiseLevel) -> bool {
        true
    }
}

impl Identity for TestSession {
    fn user_name(&self) -> Arc<str> {
        "tester".into()
    }
    fn session_user(&self) -> Arc<str> {
        self.user_name()
    }
    fn act_as(&self, _: Option<verso_catalog::Oid>) -> Option<verso_catalog::Oid> {
        None
    }
    fn backend_id(&self) -> i32 {
        0
    }
    fn database_name(&self) -> Arc<str> {
        "test".into()
    }
    fn version(&self) -> Arc<str> {
        "Verso".into()
    }
}

impl Signals for TestSession {
    fn signal_backend(&self, _: i32, _: bool) -> Result<bool> {
        Ok(false)
    }
    fn has_backend(&self, _: i32) -> bool {
        false
    }
    fn sleep(&self, _: Duration) -> Result<()> {
        Ok(())
    }
    fn ends_session(&self) -> bool {
        false
    }
    fn forget_cancel(&self) {
        self.cancel.store(false, Ordering::Relaxed);
    }
    fn wait_durable(&self) -> Result<u64> {
        Ok(0)
    }
}

impl Notifications for TestSession {
    fn notify(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }
    fn listening(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
    fn queue_usage(&self) -> f64 {
        0.0
    }
}

impl SessionCursors for TestSession {
    fn cursor_place(&self, cursor: &str, _: &TableDef) -> Result<i64> {
        Err(ExecError::raised("34000", format!("cursor \"{cursor}\" does not exist")))
    }
}

impl crate::context::StatementFigures for TestSession {}

impl Binding for TestSession {
    fn compile_function(
        &self,
        function: &Arc<FunctionDef>,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>> {
        let functions = self.functions.borrow();
        let found = functions.get(&function.name).cloned();
        found.ok_or_else(|| ExecError::raised("42883", format!("function {} is unknown here", function.name)))
    }
    fn compile_trigger(
        &self,
        trigger: &Arc<TriggerDef>,
        _: Option<&Arc<FunctionDef>>,
        _: &Arc<TableDef>,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>> {
        let functions = self.functions.borrow();
        let found = functions.get(&trigger.name).cloned();
        found.ok_or_else(|| ExecError::raised("42883", format!("trigger {} is unknown here", trigger.name)))
    }
    fn trigger_condition(&self, trigger: &Arc<TriggerDef>, _: &Arc<TableDef>) -> Result<TypedExpr> {
        Err(ExecError::raised("42883", format!("trigger {} is unknown here", trigger.name)))
    }
    fn row_rules(&self, _: &Arc<TableDef>) -> Result<RowRules> {
        Ok(RowRules::default())
    }
    fn value_of_domain(&self, domain: &SqlType) -> Result<TypedExpr> {
        Ok(TypedExpr::new(ExprKind::Parameter(0), domain.erased()))
    }
    fn column_default(&self, column: &ColumnDef) -> Result<TypedExpr> {
        Ok(TypedExpr::null(column.ty.clone()))
    }
    fn statements_of(&self, _: &str) -> Result<Vec<Range<usize>>> {
        Err(ExecError::raised("0A000", "there is no parser here"))
    }

    fn bind_text(
        &self,
        _: &str,
        _: Range<usize>,
        _: &Known<'_>,
        _: bool,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Option<Statement>> {
        Err(ExecError::raised("0A000", "there is no parser here"))
    }

    fn describe_error(&self, error: &ExecError) -> Described {
        let sqlstate: Arc<str> = match error.root() {
            ExecError::Type(error) => error.sqlstate.into(),
            ExecError::Raised(raised) => Arc::clone(&raised.sqlstate),
            ExecError::NotNull { .. } => "23502".into(),
            ExecError::Cancelled => "57014".into(),
            ExecError::OutOfMemory { .. } => "53200".into(),
            ExecError::TooDeep | ExecError::CallsTooDeep => "54001".into(),
            _ => "XX000".into(),
        };
        Described { sqlstate, message: error.to_string(), ..Described::default() }
    }
}

impl Runtime for TestSession {
    fn check_cancelled(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) { Err(ExecError::Cancelled) } else { Ok(()) }
    }
    fn call_function(&self, function: &Arc<FunctionDef>, _: Vec<Value>) -> Result<Value> {
        Err(ExecError::raised("42883", format!("function {} is unknown here", function.name)))
    }
    fn next_value(&self, _: SequenceName<'_>) -> Result<(u32, i64)> {
        Ok((1, self.sequence.get() + 1))
    }
    fn set_value(&self, _: SequenceName<'_>, _: i64, _: bool) -> Result<u32> {
        Ok(1)
    }
    fn sequence_oid(&self, _: SequenceName<'_>) -> Result<u32> {
        Ok(1)
    }
    fn has_sequence(&self, _: u32) -> Result<bool> {
        Ok(true)
    }
    fn subquery(
        &self,
        _: &Arc<Plan>,
        _: SubqueryTest,
        _: Vec<Value>,
        _: &[Value],
        _: &[Value],
    ) -> Result<Value> {
        Err(ExecError::raised("0A000", "no statement runs here"))
    }
    fn advisory(&self, _: AdvisoryCall) -> Result<bool> {
        Err(ExecError::raised("0A000", "no transaction runs here"))
    }
    fn export_snapshot(&self) -> Result<String> {
        Err(ExecError::raised("0A000", "no transaction runs here"))
    }
    fn transaction_id(&self, _: bool) -> Result<Option<u64>> {
        Ok(None)
    }
    fn shown_snapshot(&self) -> Result<verso_types::snapshot::Snapshot> {
        Ok(verso_types::snapshot::Snapshot::default())
    }
}
