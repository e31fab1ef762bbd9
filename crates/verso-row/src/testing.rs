//! Helpers of this crate's tests: a session without a database, and expressions by name.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, SystemRows, SystemView};
use verso_types::{SqlType, TimeZone, Value};

use crate::context::{EvalContext, Notice, Runtime, SessionServices};
use crate::error::{ExecError, Result};
use crate::functions::{ArgType, BuiltinFunction, ResultType, candidates, operator_candidates};
use crate::plan::{CastKind, ExprKind, PlFunction, TypedExpr};

/// 2024-02-29 12:30:45.678901 UTC.
pub(crate) const NOW: i64 = 762_525_045_678_901;

/// A session of fixed time and seeded randomness.
pub(crate) struct TestSession {
    pub zone: TimeZone,
    pub random: Cell<u64>,
    pub sequence: Cell<i64>,
    pub notices: RefCell<Vec<Notice>>,
    pub work_memory: Cell<u64>,
}

impl Default for TestSession {
    fn default() -> Self {
        Self {
            zone: TimeZone::UTC,
            random: Cell::new(0x9e37_79b9_7f4a_7c15),
            sequence: Cell::new(0),
            notices: RefCell::default(),
            work_memory: Cell::new(64 << 20),
        }
    }
}

impl TestSession {
    pub fn context(&self) -> EvalContext<'_> {
        EvalContext { services: self, runtime: self, params: &[] }
    }
}

impl SystemRows for TestSession {
    fn rows(&self, _: SystemView, _: &[Value]) -> Vec<Vec<Value>> {
        vec![vec![Value::text("page"), Value::Int8(7)], vec![Value::text("log"), Value::Int8(9)]]
    }
}

impl SessionServices for TestSession {
    fn time_zone(&self) -> &TimeZone {
        &self.zone
    }
    fn transaction_timestamp(&self) -> i64 {
        NOW
    }
    fn statement_timestamp(&self) -> i64 {
        NOW
    }
    fn clock_timestamp(&self) -> i64 {
        NOW
    }
    fn random_u64(&self) -> u64 {
        self.random.set(self.random.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        self.random.get()
    }
    fn seed_random(&self, seed: f64) {
        self.random.set(seed.to_bits());
    }
    fn user_name(&self) -> Arc<str> {
        "tester".into()
    }
    fn database_name(&self) -> Arc<str> {
        "test".into()
    }
    fn version(&self) -> Arc<str> {
        "Verso".into()
    }
    fn setting(&self, name: &str) -> Option<String> {
        (name == "timezone").then(|| "UTC".to_owned())
    }
    fn sequence_value(&self, _: u32) -> Option<i64> {
        Some(self.sequence.get()).filter(|value| *value > 0)
    }
    fn last_sequence_value(&self) -> Option<i64> {
        self.sequence_value(0)
    }
    fn set_sequence_value(&self, _: u32, value: i64, _: bool) {
        self.sequence.set(value);
    }
    fn system_rows(&self) -> &dyn SystemRows {
        self
    }
    fn compile_function(
        &self,
        function: &Arc<FunctionDef>,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>> {
        Err(ExecError::raised("42883", format!("function {} is unknown here", function.name)))
    }
    fn notice(&self, notice: Notice) {
        self.notices.borrow_mut().push(notice);
    }
    fn describe_error(&self, error: &ExecError) -> (Arc<str>, String) {
        let sqlstate: Arc<str> = match error.root() {
            ExecError::Type(error) => error.sqlstate.into(),
            ExecError::Raised(raised) => Arc::clone(&raised.sqlstate),
            ExecError::NotNull { .. } => "23502".into(),
            _ => "XX000".into(),
        };
        (sqlstate, error.to_string())
    }
    fn work_memory_bytes(&self) -> u64 {
        self.work_memory.get()
    }
}

impl Runtime for TestSession {
    fn call_function(&self, function: &Arc<FunctionDef>, _: Vec<Value>) -> Result<Value> {
        Err(ExecError::raised("42883", format!("function {} is unknown here", function.name)))
    }
    fn next_value(&self, _: &str) -> Result<(u32, i64)> {
        Ok((1, self.sequence.get() + 1))
    }
    fn set_value(&self, _: &str, _: i64, _: bool) -> Result<u32> {
        Ok(1)
    }
    fn sequence_oid(&self, _: &str) -> Result<u32> {
        Ok(1)
    }
}

pub(crate) fn column(index: usize, ty: SqlType) -> TypedExpr {
    TypedExpr::column(index, ty)
}

/// A literal of the value's own type.
pub(crate) fn literal(value: Value) -> TypedExpr {
    let ty = crate::functions::texts::natural_type(&value);
    TypedExpr::literal(value, ty)
}

pub(crate) fn cast(arg: TypedExpr, ty: SqlType, kind: CastKind) -> TypedExpr {
    TypedExpr::new(ExprKind::Cast { arg: Box::new(arg), kind }, ty)
}

/// A call by name or operator whose declared types are those of the arguments.
pub(crate) fn call(name: &str, args: Vec<TypedExpr>) -> TypedExpr {
    let named = candidates(name);
    let all = if named.is_empty() { operator_candidates(name) } else { named };
    let function = all
        .iter()
        .find(|function| takes(function, &args))
        .unwrap_or_else(|| panic!("no {name}({:?})", args.iter().map(|arg| &arg.ty).collect::<Vec<_>>()));
    let ty = match &function.result {
        ResultType::Fixed(ty) => ty.clone(),
        ResultType::SameAs(i) => args[*i].ty.without_modifiers(),
        ResultType::ArrayOf(i) => SqlType::Array(Box::new(args[*i].ty.clone())),
        ResultType::ElementOf(i) => match &args[*i].ty {
            SqlType::Array(element) => (**element).clone(),
            other => other.clone(),
        },
    };
    TypedExpr::new(ExprKind::Call { function, args }, ty)
}

fn takes(function: &BuiltinFunction, args: &[TypedExpr]) -> bool {
    let declared = |i: usize| &function.args[i.min(function.args.len().saturating_sub(1))];
    let count =
        if function.variadic { args.len() >= function.args.len() } else { args.len() == function.args.len() };
    count
        && args.iter().enumerate().all(|(i, arg)| match declared(i) {
            ArgType::Exact(SqlType::Text) => matches!(arg.ty, SqlType::Text | SqlType::Varchar(_)),
            ArgType::Exact(ty) => ty.same_base(&arg.ty),
            ArgType::AnyArray => matches!(arg.ty, SqlType::Array(_)),
            ArgType::AnyNonArray => !matches!(arg.ty, SqlType::Array(_)),
            ArgType::Any | ArgType::AnyElement => true,
        })
}
