//! Aggregates of users: the steps over gathered rows.

use std::sync::Arc;

use verso_types::Value;

use super::row::{Closure, compile, compile_all};
use crate::context::EvalContext;
use crate::plan::{FoldRules, TypedExpr};

/// Between two questions whether to go on.
const STEPS: usize = 256;

/// What the steps make of the rows.
pub(super) fn fold(rows: &TypedExpr, rules: &Arc<FoldRules>) -> Closure {
    let rows = compile(rows);
    let (args, step) = (compile_all(&rules.args), compile(&rules.step));
    let last = rules.last.as_ref().map(compile);
    let rules = Arc::clone(rules);
    Box::new(move |cx, input| {
        let gathered = rows(cx, input)?;
        let mut state = rules.initial.clone();
        let mut begun = !state.is_null();
        let elements = match &gathered {
            Value::Array(elements) => Some(elements),
            _ => None,
        };
        for (n, row) in elements.into_iter().flat_map(|elements| elements.iter()).enumerate() {
            if n % STEPS == 0 {
                cx.runtime.check_cancelled()?;
            }
            let mut raw = vec![Value::Null];
            match row {
                Value::Record(values) if !rules.single => raw.extend(values.iter().cloned()),
                value => raw.push(value.clone()),
            }
            let own = EvalContext { params: &raw, ..*cx };
            let mut values = vec![state];
            for arg in &args {
                values.push(arg(&own, input)?);
            }
            if rules.strict {
                let skipped = values[1..].iter().any(Value::is_null) || begun && values[0].is_null();
                let first = !skipped && !begun && values.len() > 1;
                if skipped || first {
                    begun |= first;
                    state = values.swap_remove(usize::from(first));
                    continue;
                }
            }
            state = step(&EvalContext { params: &values, ..*cx }, input)?;
            begun = true;
        }
        match &last {
            Some(last) => last(&EvalContext { params: std::slice::from_ref(&state), ..*cx }, input),
            None => Ok(state),
        }
    })
}
