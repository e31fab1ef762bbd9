//! A session that answers nothing but the time.

pub mod table;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use verso_catalog::{
    CatalogSnapshot, ColumnDef, FunctionDef, SystemRowIter, SystemRows, SystemView, TableDef, TriggerDef,
};
use verso_exec::context::{
    AdvisoryCall, Binding, CatalogFunctions, Clock, Crew, Described, HeldSettings, Identity, Known,
    NoticeSink, Notifications, Random, SequenceName, SequenceState, SessionCursors, SettingAccess, Signals,
    Workers,
};
use verso_exec::plan::{ExprKind, PlFunction, Plan, RaiseLevel, Statement, SubqueryTest};
use verso_exec::plan::{RowRules, TypedExpr};
use verso_exec::{EvalContext, ExecError, Notice, Runtime, Services};
use verso_types::{SqlType, TimeStyle, Value};

pub struct Session {
    pub zone: TimeStyle,
    pub portals: verso_exec::Portals,
}

impl Session {
    pub fn services(&self) -> Services<'_> {
        Services {
            time_zone: &self.zone,
            memory: verso_exec::memory::Memory {
                work_bytes: u64::MAX,
                account: verso_exec::memory::Account::unlimited(),
                temporary: None,
            },
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

impl Workers for Session {
    fn for_pages(&self, _: u64) -> u32 {
        1
    }
    fn turns(&self, _: u32) -> Option<std::sync::Arc<dyn verso_exec::context::GivesWay>> {
        None
    }
    fn crew(&self, _: u32) -> Crew {
        unreachable!("one thread is enough")
    }
}

fn nothing<T>() -> Result<T, ExecError> {
    Err(ExecError::Cancelled)
}

impl SystemRows for Session {
    fn rows(&self, _: SystemView, _: &[Value], _: verso_catalog::Asked<'_>) -> SystemRowIter {
        Box::new(std::iter::empty())
    }
}

impl CatalogFunctions for Session {
    fn call(&self, _: &'static str, _: &[Value]) -> Result<Value, ExecError> {
        nothing()
    }
}

impl Runtime for Session {
    fn call_function(&self, _: &Arc<FunctionDef>, _: Vec<Value>) -> Result<Value, ExecError> {
        nothing()
    }
    fn next_value(&self, _: SequenceName<'_>) -> Result<(u32, i64), ExecError> {
        nothing()
    }
    fn set_value(&self, _: SequenceName<'_>, _: i64, _: bool) -> Result<u32, ExecError> {
        nothing()
    }
    fn sequence_oid(&self, _: SequenceName<'_>) -> Result<u32, ExecError> {
        nothing()
    }
    fn has_sequence(&self, _: u32) -> Result<bool, ExecError> {
        nothing()
    }
    fn subquery(
        &self,
        _: &Arc<Plan>,
        _: SubqueryTest,
        _: Vec<Value>,
        _: &[Value],
        _: &[Value],
    ) -> Result<Value, ExecError> {
        nothing()
    }
    fn advisory(&self, _: AdvisoryCall) -> Result<bool, ExecError> {
        nothing()
    }
    fn export_snapshot(&self) -> Result<String, ExecError> {
        nothing()
    }
    fn transaction_id(&self, _: bool) -> Result<Option<u64>, ExecError> {
        nothing()
    }
    fn shown_snapshot(&self) -> Result<verso_types::snapshot::Snapshot, ExecError> {
        nothing()
    }
}

impl Clock for Session {
    fn transaction_timestamp(&self) -> i64 {
        762_525_045_678_901
    }
    fn statement_timestamp(&self) -> i64 {
        0
    }
    fn clock_timestamp(&self) -> i64 {
        0
    }
}

impl Random for Session {
    fn random_u64(&self) -> u64 {
        0
    }
    fn seed_random(&self, _: f64) {}
    fn unseeded_u64(&self) -> u64 {
        0
    }
    fn uuid_stamp(&self, micros: i64) -> i128 {
        i128::from(micros) * 1000
    }
}

impl SequenceState for Session {
    fn value(&self, _: u32) -> Option<i64> {
        None
    }
    fn last_used(&self) -> Option<u32> {
        None
    }
    fn note_value(&self, _: u32, _: i64, _: bool) {}
}

impl SettingAccess for Session {
    fn setting(&self, _: &str) -> Option<String> {
        None
    }
    fn set_setting(&self, _: &str, _: Option<&str>, _: bool) -> Result<String, ExecError> {
        nothing()
    }
    fn hold(&self, _: &[(Arc<str>, Arc<str>)], _: &Arc<CatalogSnapshot>) -> Result<HeldSettings, ExecError> {
        nothing()
    }
    fn release(&self, _: &Arc<CatalogSnapshot>) {}
}

impl NoticeSink for Session {
    fn notice(&self, _: Notice, _: verso_exec::memory::Memory<'_>) -> Result<(), ExecError> {
        Ok(())
    }

    fn hears(&self, _: RaiseLevel) -> bool {
        true
    }
}

impl Identity for Session {
    fn user_name(&self) -> Arc<str> {
        "".into()
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
        "".into()
    }
    fn version(&self) -> Arc<str> {
        "".into()
    }
}

impl Signals for Session {
    fn signal_backend(&self, _: i32, _: bool) -> Result<bool, ExecError> {
        nothing()
    }
    fn has_backend(&self, _: i32) -> bool {
        false
    }
    fn sleep(&self, _: Duration) -> Result<(), ExecError> {
        nothing()
    }
    fn ends_session(&self) -> bool {
        false
    }
    fn forget_cancel(&self) {}
    fn wait_durable(&self) -> Result<u64, ExecError> {
        nothing()
    }
}

impl Notifications for Session {
    fn notify(&self, _: &str, _: &str) -> Result<(), ExecError> {
        nothing()
    }
    fn listening(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
    fn queue_usage(&self) -> f64 {
        0.0
    }
}

impl SessionCursors for Session {
    fn cursor_place(&self, _: &str, _: &TableDef) -> Result<i64, ExecError> {
        nothing()
    }
}

impl verso_exec::context::StatementFigures for Session {}

impl Binding for Session {
    fn compile_function(
        &self,
        _: &Arc<FunctionDef>,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, ExecError> {
        nothing()
    }
    fn compile_trigger(
        &self,
        _: &Arc<TriggerDef>,
        _: Option<&Arc<FunctionDef>>,
        _: &Arc<TableDef>,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, ExecError> {
        nothing()
    }
    fn trigger_condition(&self, _: &Arc<TriggerDef>, _: &Arc<TableDef>) -> Result<TypedExpr, ExecError> {
        nothing()
    }
    fn row_rules(&self, _: &Arc<TableDef>) -> Result<RowRules, ExecError> {
        nothing()
    }
    fn value_of_domain(&self, domain: &SqlType) -> Result<TypedExpr, ExecError> {
        Ok(TypedExpr::new(ExprKind::Parameter(0), domain.erased()))
    }
    fn column_default(&self, _: &ColumnDef) -> Result<TypedExpr, ExecError> {
        nothing()
    }
    fn statements_of(&self, _: &str) -> Result<Vec<Range<usize>>, ExecError> {
        nothing()
    }

    fn bind_text(
        &self,
        _: &str,
        _: Range<usize>,
        _: &Known<'_>,
        _: bool,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Option<Statement>, ExecError> {
        nothing()
    }

    fn describe_error(&self, _: &ExecError) -> Described {
        Described::default()
    }
}
