//! Partitions that are left out when a scan of their table is opened.

use std::ops::Range;
use std::sync::Arc;

use verso_catalog::TableDef;
use verso_catalog::partition::{Said, comparable};
use verso_types::{SqlType, Value};

use super::ExecContext;
use crate::context::EvalContext;
use crate::expr::RowExpr;
use crate::plan::{ExprKind, Plan, Pruning, PruningStep, PruningTerm, TypedExpr};

/// [`Pruning`], compiled.
pub(crate) struct Pruner {
    steps: Vec<Step>,
}

struct Step {
    table: Arc<TableDef>,
    terms: Vec<Term>,
    inputs: Vec<(usize, Range<usize>)>,
}

/// What a condition says of a column, with the type of the column and those of its values.
struct Term {
    column: u16,
    ty: SqlType,
    kind: PruningTerm,
    values: Vec<(RowExpr, SqlType)>,
}

impl Pruner {
    pub fn new(pruning: &Pruning) -> Pruner {
        let step = |step: &PruningStep| {
            let key = step.table.partitioned.iter().flat_map(|it| it.columns.iter().zip(&it.types));
            let key: Vec<(&u16, &SqlType)> = key.collect();
            let term = |(column, kind): &(u16, PruningTerm)| {
                let ty = key.iter().find(|(of, _)| *of == column).map(|(_, ty)| (*ty).clone())?;
                let value = |value: &TypedExpr| (RowExpr::compile(value), value.ty.clone());
                let values = kind.values().iter().map(value).collect();
                Some(Term { column: *column, ty, kind: kind.clone(), values })
            };
            Step {
                table: Arc::clone(&step.table),
                terms: step.terms.iter().filter_map(term).collect(),
                inputs: step.inputs.clone(),
            }
        };
        Pruner { steps: pruning.steps.iter().map(step).collect() }
    }

    /// Says of each input whether it is read. A value that cannot be computed leaves none out: where there are rows it is
    /// computed once more, and reported.
    pub fn select(&self, cx: &EvalContext<'_>, kept: &mut [bool]) {
        kept.fill(true);
        for step in &self.steps {
            let Some(partitioned) = &step.table.partitioned else { continue };
            let said: Vec<(u16, Said)> =
                step.terms.iter().filter_map(|term| Some((term.column, term.said(cx)?))).collect();
            let places = partitioned.kept(&said);
            let gone = step.inputs.iter().filter(|(place, _)| !places.contains(place));
            for (_, inputs) in gone {
                kept.get_mut(inputs.clone()).into_iter().for_each(|kept| kept.fill(false));
            }
        }
    }
}

impl Term {
    fn said(&self, cx: &EvalContext<'_>) -> Option<Said> {
        let value = |(expr, of): &(RowExpr, SqlType)| comparable(&expr.eval_constant(cx).ok()?, of, &self.ty);
        let first = || value(self.values.first()?);
        Some(match self.kind {
            PruningTerm::Equal(_) => Said::Equal(first()?),
            PruningTerm::Lower(_) => Said::Lower(first()?),
            PruningTerm::Upper(_, included) => Said::Upper(first()?, included),
            PruningTerm::Any(_) => {
                let (array, ty) = self.values.first()?;
                Said::In(values_in_array(&array.eval_constant(cx).ok()?, ty, &self.ty)?)
            }
            PruningTerm::In(_) => Said::In(self.values.iter().map(value).collect::<Option<Vec<Value>>>()?),
            PruningTerm::Null => Said::Null,
        })
    }
}

/// Arrays of more values than this leave no partition out: each of them would be compared with the bounds of each partition.
const ARRAY_MAX: usize = 1024;

/// The elements of an array of type `of` as values of a column's type `ty`; NULL is equal to nothing. None where one cannot be
/// compared, and of long arrays.
pub fn values_in_array(array: &Value, of: &SqlType, ty: &SqlType) -> Option<Vec<Value>> {
    match (array, of) {
        (Value::Null, _) => Some(Vec::new()),
        (Value::Array(array), SqlType::Array(element)) if array.iter().len() <= ARRAY_MAX => {
            let given = array.iter().filter(|value| !value.is_null());
            given.map(|value| comparable(value, element, ty)).collect()
        }
        _ => None,
    }
}

/// Takes the partitions out of a plan that would not be read, were it opened now; those that depend on other rows stay.
pub fn prune(cx: &ExecContext<'_>, plan: &mut Plan) {
    let Plan::Append { inputs, pruning } = plan else { return };
    let Some(steps) = pruning.as_ref() else { return };
    let outer = |expr: &TypedExpr| expr.any(&mut |part| matches!(part.kind, ExprKind::Outer(_)));
    let terms = steps.steps.iter().flat_map(|step| &step.terms);
    if steps.removed > 0 || terms.flat_map(|(_, term)| term.values()).any(outer) {
        return;
    }
    let mut kept = vec![true; inputs.len()];
    Pruner::new(steps).select(&cx.eval(), &mut kept);
    let removed = kept.iter().filter(|kept| !**kept).count();
    if removed == 0 {
        return;
    }
    let mut kept = kept.into_iter();
    // The first says what the columns are called.
    if kept.clone().any(|kept| kept) {
        inputs.retain(|_| kept.next().unwrap_or(true));
    } else {
        inputs.truncate(1);
        return;
    }
    *pruning = Some(Arc::new(Pruning { steps: Vec::new(), removed }));
}
