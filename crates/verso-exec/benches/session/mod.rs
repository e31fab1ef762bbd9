//! A session that answers nothing but the time.

pub mod table;

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, SystemRows, SystemView};
use verso_exec::plan::{PlFunction, Plan, SubqueryTest};
use verso_exec::{EvalContext, ExecError, Notice, Runtime, SessionServices};
use verso_types::{TimeZone, Value};

pub struct Session {
    pub zone: TimeZone,
}

impl Session {
    pub fn context(&self) -> EvalContext<'_> {
        EvalContext { services: self, runtime: self, params: &[], outer: &[] }
    }
}

fn nothing<T>() -> Result<T, ExecError> {
    Err(ExecError::Cancelled)
}

impl SystemRows for Session {
    fn rows(&self, _: SystemView, _: &[Value]) -> Vec<Vec<Value>> {
        Vec::new()
    }
}

impl Runtime for Session {
    fn call_function(&self, _: &Arc<FunctionDef>, _: Vec<Value>) -> Result<Value, ExecError> {
        nothing()
    }
    fn next_value(&self, _: &str) -> Result<(u32, i64), ExecError> {
        nothing()
    }
    fn set_value(&self, _: &str, _: i64, _: bool) -> Result<u32, ExecError> {
        nothing()
    }
    fn sequence_oid(&self, _: &str) -> Result<u32, ExecError> {
        nothing()
    }
    fn subquery(
        &self,
        _: &Arc<Plan>,
        _: SubqueryTest,
        _: Vec<Value>,
        _: &[Value],
    ) -> Result<Value, ExecError> {
        nothing()
    }
}

impl SessionServices for Session {
    fn time_zone(&self) -> &TimeZone {
        &self.zone
    }
    fn transaction_timestamp(&self) -> i64 {
        762_525_045_678_901
    }
    fn statement_timestamp(&self) -> i64 {
        0
    }
    fn clock_timestamp(&self) -> i64 {
        0
    }
    fn random_u64(&self) -> u64 {
        0
    }
    fn seed_random(&self, _: f64) {}
    fn user_name(&self) -> Arc<str> {
        "".into()
    }
    fn database_name(&self) -> Arc<str> {
        "".into()
    }
    fn version(&self) -> Arc<str> {
        "".into()
    }
    fn setting(&self, _: &str) -> Option<String> {
        None
    }
    fn sequence_value(&self, _: u32) -> Option<i64> {
        None
    }
    fn last_sequence_value(&self) -> Option<i64> {
        None
    }
    fn set_sequence_value(&self, _: u32, _: i64, _: bool) {}
    fn system_rows(&self) -> &dyn SystemRows {
        self
    }
    fn compile_function(
        &self,
        _: &Arc<FunctionDef>,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, ExecError> {
        nothing()
    }
    fn notice(&self, _: Notice) {}
    fn describe_error(&self, _: &ExecError) -> (Arc<str>, String) {
        ("".into(), String::new())
    }
    fn work_memory_bytes(&self) -> u64 {
        u64::MAX
    }
}
