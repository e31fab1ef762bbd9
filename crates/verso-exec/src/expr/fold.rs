//! Aggregates of users: the steps over gathered rows.

use std::sync::Arc;

use verso_types::{Batch, Value};

use super::row::{Closure, RowInput, compile, compile_all};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::plan::{FoldRules, TypedExpr, WindowFold};

/// Between two questions whether to go on.
const STEPS: usize = 256;

/// The steps, compiled.
pub(crate) struct FoldSteps {
    rules: Arc<FoldRules>,
    args: Vec<Closure>,
    step: Closure,
    inverse: Option<Closure>,
    last: Option<Closure>,
}

/// What the steps have made of the rows so far.
pub(crate) struct FoldState {
    pub(crate) value: Value,
    /// Whether the state is one: it had a first value, or got one of a row.
    begun: bool,
    /// How many rows are in it.
    rows: u64,
}

impl FoldSteps {
    fn compile(rules: &Arc<FoldRules>, inverse: Option<&TypedExpr>) -> FoldSteps {
        FoldSteps {
            args: compile_all(&rules.args),
            step: compile(&rules.step),
            inverse: inverse.map(compile),
            last: rules.last.as_ref().map(compile),
            rules: Arc::clone(rules),
        }
    }

    /// Those over a window.
    pub(crate) fn of_window(fold: &WindowFold) -> FoldSteps {
        FoldSteps::compile(&fold.rules, fold.inverse.as_ref())
    }

    /// Whether rows can be taken out again.
    pub(crate) fn takes_out(&self) -> bool {
        self.inverse.is_some()
    }

    /// The first state.
    pub(crate) fn begin(&self) -> FoldState {
        let value = self.rules.initial.clone();
        FoldState { begun: !value.is_null(), value, rows: 0 }
    }

    /// The state, which is taken, and behind it the arguments of a row; none where the row is passed over.
    fn values(&self, cx: &EvalContext<'_>, state: &mut FoldState, row: &Value) -> Result<Option<Vec<Value>>> {
        let mut raw = vec![Value::Null];
        match row {
            Value::Record(values) if !self.rules.single => raw.extend(values.iter().cloned()),
            value => raw.push(value.clone()),
        }
        let own = EvalContext { params: &raw, ..*cx };
        let batch = Batch::default();
        let mut values = vec![Value::Null];
        for arg in &self.args {
            values.push(arg(&own, RowInput::new(&batch, 0))?);
        }
        if self.rules.strict
            && (values[1..].iter().any(Value::is_null) || state.begun && state.value.is_null())
        {
            return Ok(None);
        }
        values[0] = std::mem::replace(&mut state.value, Value::Null);
        Ok(Some(values))
    }

    fn run(closure: &Closure, cx: &EvalContext<'_>, params: &[Value]) -> Result<Value> {
        closure(&EvalContext { params, ..*cx }, RowInput::new(&Batch::default(), 0))
    }

    /// Adds a row.
    pub(crate) fn add(&self, cx: &EvalContext<'_>, state: &mut FoldState, row: &Value) -> Result<()> {
        let Some(mut values) = self.values(cx, state, row)? else { return Ok(()) };
        state.rows += 1;
        let first = self.rules.strict && !state.begun && values.len() > 1;
        state.begun = true;
        if first {
            state.value = values.swap_remove(1);
            return Ok(());
        }
        state.value = Self::run(&self.step, cx, &values)?;
        if self.inverse.is_some() && state.value.is_null() {
            let text = "moving-aggregate transition function must not return null";
            return Err(ExecError::raised("22004", text));
        }
        Ok(())
    }

    /// Takes the row out that came first; false where that cannot be.
    pub(crate) fn take_out(&self, cx: &EvalContext<'_>, state: &mut FoldState, row: &Value) -> Result<bool> {
        let Some(inverse) = &self.inverse else { return Ok(false) };
        let Some(values) = self.values(cx, state, row)? else { return Ok(true) };
        // Without rows the state is the first one, which an inverse step may not lead back to.
        if state.rows <= 1 {
            *state = self.begin();
            return Ok(true);
        }
        state.value = Self::run(inverse, cx, &values)?;
        state.rows -= 1;
        Ok(!state.value.is_null())
    }

    /// The result.
    pub(crate) fn result(&self, cx: &EvalContext<'_>, state: &FoldState) -> Result<Value> {
        match &self.last {
            Some(last) => Self::run(last, cx, std::slice::from_ref(&state.value)),
            None => Ok(state.value.clone()),
        }
    }
}

/// What the steps make of the rows.
pub(super) fn fold(rows: &TypedExpr, rules: &Arc<FoldRules>) -> Closure {
    let rows = compile(rows);
    let steps = FoldSteps::compile(rules, None);
    Box::new(move |cx, input| {
        let gathered = rows(cx, input)?;
        let mut state = steps.begin();
        let elements = match &gathered {
            Value::Array(elements) => Some(elements),
            _ => None,
        };
        for (n, row) in elements.into_iter().flat_map(|elements| elements.iter()).enumerate() {
            if n % STEPS == 0 {
                cx.runtime.check_cancelled()?;
            }
            steps.add(cx, &mut state, row)?;
        }
        steps.result(cx, &state)
    })
}
