//! What goes around every operator: its batches are charged, and it is asked for no further one once its statement is
//! cancelled. Each is one more level of the stack, so that is looked at, too. EXPLAIN ANALYZE measures it here.

use std::sync::Arc;

use verso_env::stack;
use verso_types::Batch;
#[cfg(debug_assertions)]
use verso_types::{Physical, SqlType};

use super::filter::{KeyFilter, Reach};
use super::operator::{Operator, boxed};
use super::{ExecContext, KEEP_BYTES};
use crate::error::Result;
use crate::memory::{Memory, Reservation, SMALL_BYTES};
use crate::plan::Plan;

/// An operator, and the memory of the batch that it filled last.
pub(crate) struct MeteredOperator {
    input: Box<dyn Operator>,
    /// Made when a batch is no longer small.
    held: Option<Reservation>,
    /// The address of its plan, under which it is measured, and whether it has yielded rows since it was opened.
    place: usize,
    yielded: bool,
    /// How the columns that its plan yields are laid out.
    #[cfg(debug_assertions)]
    forms: Arc<[Physical]>,
}

impl MeteredOperator {
    pub fn new(input: Box<dyn Operator>, plan: &Plan) -> Self {
        Self {
            input,
            held: None,
            place: std::ptr::from_ref(plan).addr(),
            yielded: false,
            #[cfg(debug_assertions)]
            forms: super::operator::types_of(plan).iter().map(SqlType::physical).collect(),
        }
    }

    /// The same around another operator of the plan.
    fn over(&self, input: Box<dyn Operator>) -> Self {
        Self {
            input,
            held: None,
            place: self.place,
            yielded: false,
            #[cfg(debug_assertions)]
            forms: Arc::clone(&self.forms),
        }
    }

    /// P6 of the plan.
    #[cfg(debug_assertions)]
    fn check_forms(&self, out: &Batch) {
        for (n, (column, form)) in out.columns.iter().zip(self.forms.iter()).enumerate() {
            assert_eq!(column.physical(), *form, "P6: the form of column {n} of a batch");
        }
    }

    /// Charges the batch as it is now.
    #[cold]
    fn charge(&mut self, cx: &ExecContext<'_>, bytes: u64) -> Result<()> {
        let held =
            self.held.get_or_insert_with(|| cx.services.memory.account.reserve("a batch of rows", u64::MAX));
        held.resize(bytes)
    }
}

impl Operator for MeteredOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        cx.check_cancelled()?;
        let Some(probes) = cx.probes else { return self.input.open(cx) };
        self.yielded = false;
        let start = probes.enter(cx, self.place);
        let opened = self.input.open(cx);
        probes.opened(cx, self.place, start);
        opened
    }

    fn bound(&mut self, rows: u64) {
        self.input.bound(rows);
    }

    fn restrict(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        self.input.restrict(column, filter);
    }

    fn reach(&self, column: usize) -> Reach {
        match stack::check() {
            Ok(()) => self.input.reach(column),
            Err(_) => Reach::Nowhere,
        }
    }

    fn keep_order(&mut self) -> bool {
        stack::check().is_ok() && self.input.keep_order()
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        stack::check()?;
        cx.check_cancelled()?;
        if self.held.as_ref().is_some_and(|held| held.bytes() > KEEP_BYTES as u64) {
            out.recycle(KEEP_BYTES);
        }
        let more = match cx.probes {
            None => self.input.next(cx, out)?,
            Some(probes) => {
                let start = probes.enter(cx, self.place);
                let more = self.input.next(cx, out);
                let rows = if matches!(more, Ok(true)) { out.rows as u64 } else { 0 };
                probes.yielded(cx, self.place, start, rows, !self.yielded);
                self.yielded |= rows > 0 || matches!(more, Ok(false));
                more?
            }
        };
        if !more {
            out.clear();
        }
        #[cfg(debug_assertions)]
        if out.rows > 0 {
            self.check_forms(out);
        }
        let bytes = out.heap_bytes() as u64;
        if bytes > SMALL_BYTES || self.held.is_some() {
            self.charge(cx, bytes)?;
        }
        Ok(more)
    }

    fn shareable(&self) -> Option<u64> {
        stack::check().ok().and_then(|()| self.input.shareable())
    }

    fn split(&mut self, cx: &ExecContext<'_>, parts: usize) -> Result<Vec<Box<dyn Operator>>> {
        let parts = self.input.split(cx, parts)?.into_iter();
        Ok(boxed(parts.map(|part| self.over(part))))
    }

    fn is_portable(&self) -> bool {
        stack::check().is_ok() && self.input.is_portable()
    }

    fn copy(&self, cx: &ExecContext<'_>) -> Result<Box<dyn Operator>> {
        stack::check()?;
        Ok(Box::new(self.over(self.input.copy(cx)?)))
    }

    fn can_set_aside(&self) -> bool {
        stack::check().is_ok() && self.input.can_set_aside()
    }

    fn set_aside(&mut self, cx: &ExecContext<'_>, memory: Memory<'_>, plan: &Plan) -> Result<()> {
        stack::check()?;
        self.input.set_aside(cx, memory, plan)
    }

    fn close(&mut self) {
        self.held = None;
        self.input.close();
    }
}
