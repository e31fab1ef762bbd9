//! Statements that are bound when they are reached: those that name fields of a RECORD, and those that could not be bound
//! before.
//!
//! L5. Such a statement is bound anew where a record has other fields than when it was bound last, or where the catalog has
//!     changed: a statement before it may have made, altered or dropped what it names, or taken that back by ROLLBACK, and
//!     behind a COMMIT others may have.
//! L6. Slots that it declares lie behind those that were declared before it, and are dead when it has run: statements beside
//!     it may use the same ones.

use std::sync::Arc;

use verso_catalog::NamesKey;
use verso_types::{RowType, Value};

use super::frame::Frame;
use super::program::{Step, step};
use super::run::{Flow, run_step};
use crate::error::Result;
use crate::exec::ExecContext;
use crate::plan::{PlLater, PlVariable, PlWithin};

/// A statement, and what it was bound to last.
pub(super) struct Later {
    plan: Arc<PlLater>,
    bound: Option<Box<Bound>>,
}

struct Bound {
    /// The catalog then.
    catalog: NamesKey,
    /// The fields of records then.
    shapes: Vec<Option<Arc<RowType>>>,
    step: Step,
    variables: Arc<[PlVariable]>,
}

impl Later {
    pub fn new(plan: &Arc<PlLater>) -> Later {
        Later { plan: Arc::clone(plan), bound: None }
    }

    /// How PostgreSQL calls the statement in an error's context.
    pub fn name(&self) -> &'static str {
        self.bound.as_ref().map_or(self.plan.name, |bound| bound.step.kind.name())
    }

    /// What its errors say first.
    pub fn within(&self) -> &[PlWithin] {
        self.bound.as_ref().map_or(&[], |bound| &bound.step.within)
    }

    /// Binds the statement where that is needed, and runs it.
    pub fn run(&mut self, line: u32, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Flow> {
        let bound = match self.bound.take().filter(|bound| bound.fits(&self.plan, cx, frame)) {
            Some(bound) => bound,
            None => Box::new(bind(&self.plan, line, cx, frame)?),
        };
        let bound = self.bound.insert(bound);
        // More variables than around it: its own.
        let own = !bound.variables.is_empty() && bound.variables.len() != frame.variables.len();
        let outer = own.then(|| std::mem::replace(&mut frame.variables, Arc::clone(&bound.variables)));
        if frame.slots.len() < bound.variables.len() {
            frame.slots.resize(bound.variables.len(), Value::Null);
        }
        let flow = run_step(&mut bound.step, cx, frame);
        if let Some(outer) = outer {
            frame.variables = outer;
        }
        flow
    }
}

impl Bound {
    /// Whether the catalog is the same, and the records have the fields that they had.
    fn fits(&self, plan: &PlLater, cx: &ExecContext<'_>, frame: &Frame) -> bool {
        let same = |(known, slot): (&Option<Arc<RowType>>, &usize)| match (known, frame.shape(*slot)) {
            (Some(known), Some(shape)) => Arc::ptr_eq(known, shape) || known == shape,
            (None, None) => true,
            _ => false,
        };
        self.catalog == cx.catalog.key() && self.shapes.iter().zip(&plan.records).all(same)
    }
}

fn bind(plan: &PlLater, line: u32, cx: &ExecContext<'_>, frame: &Frame) -> Result<Bound> {
    if let Some((catalog, bound)) = plan.bound.as_ref().filter(|(catalog, _)| *catalog == cx.catalog.key()) {
        let step = Step {
            within: bound.within.clone(),
            asks: bound.asks,
            ..Step::new(line, step(&bound.kind, cx.executor))
        };
        let variables = Arc::clone(&bound.variables);
        return Ok(Bound { catalog: *catalog, shapes: Vec::new(), step, variables });
    }
    let shapes: Vec<Option<Arc<RowType>>> =
        plan.records.iter().map(|slot| frame.shape(*slot).cloned()).collect();
    let bound = plan.unbound.bind(&shapes, cx.catalog, cx.services.time_zone)?;
    let step =
        Step { within: bound.within, asks: bound.asks, ..Step::new(line, step(&bound.kind, cx.executor)) };
    Ok(Bound { catalog: cx.catalog.key(), shapes, step, variables: bound.variables })
}
