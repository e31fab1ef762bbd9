//! INTERSECT and EXCEPT; plans read in several places; recursive ones.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_env::stack;
use verso_types::{Batch, SqlType};

use super::operator::{Operator, compile};
use super::{ExecContext, key, spool};
use crate::error::{ExecError, Result};
use crate::expr::Executor;
use crate::plan::{Plan, SetOperation};

/// Left rows that are, or are not, on the right.
pub(crate) struct SetOperator {
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    types: Vec<SqlType>,
    operation: SetOperation,
    all: bool,
    /// How often each right row is still to be met.
    counts: HashMap<Box<[u8]>, u64>,
    /// Rows passed on already, without ALL.
    seen: HashSet<Box<[u8]>>,
    selection: Vec<u32>,
}

impl SetOperator {
    pub fn new(
        left: Box<dyn Operator>,
        right: Box<dyn Operator>,
        types: Vec<SqlType>,
        operation: SetOperation,
        all: bool,
    ) -> Self {
        Self {
            left,
            right,
            types,
            operation,
            all,
            counts: HashMap::new(),
            seen: HashSet::new(),
            selection: Vec::new(),
        }
    }

    fn keeps(&mut self, encoded: &[u8]) -> bool {
        let on_right = self.counts.get_mut(encoded).filter(|count| **count > 0);
        let keep = on_right.is_some() == (self.operation == SetOperation::Intersect);
        if self.all {
            if let Some(count) = on_right {
                *count -= 1;
            }
            return keep;
        }
        keep && self.seen.insert(encoded.into())
    }
}

impl Operator for SetOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        let mut batch = Batch::of_types(&self.types);
        let (mut encoded, mut bytes) = (Vec::new(), 0);
        self.right.open(cx)?;
        while self.right.next(cx, &mut batch)? {
            cx.check_cancelled()?;
            for row in 0..batch.rows {
                encoded.clear();
                key::encode(&batch, &self.types, row, &mut encoded);
                match self.counts.get_mut(encoded.as_slice()) {
                    Some(count) => *count += 1,
                    None => {
                        bytes += encoded.len() as u64 + 48;
                        self.counts.insert(encoded.as_slice().into(), 1);
                    }
                }
            }
            spool::check_memory(cx, "INTERSECT or EXCEPT", bytes)?;
        }
        self.right.close();
        self.left.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let mut encoded = Vec::new();
        while self.left.next(cx, out)? {
            cx.check_cancelled()?;
            self.selection.clear();
            for row in 0..out.rows {
                encoded.clear();
                key::encode(out, &self.types, row, &mut encoded);
                if self.keeps(&encoded) {
                    self.selection.push(row as u32);
                }
            }
            spool::check_memory(cx, "INTERSECT or EXCEPT", self.seen.len() as u64 * 64)?;
            if !self.selection.is_empty() {
                out.filter(&self.selection);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close(&mut self) {
        self.left.close();
        self.right.close();
        self.counts = HashMap::new();
        self.seen = HashSet::new();
    }
}

/// Collects the rows of an operator.
fn collect(
    operator: &mut dyn Operator,
    types: &[SqlType],
    cx: &ExecContext<'_>,
    bytes: &mut u64,
) -> Result<Vec<Batch>> {
    let mut rows = Vec::new();
    operator.open(cx)?;
    loop {
        cx.check_cancelled()?;
        let mut batch = Batch::of_types(types);
        if !operator.next(cx, &mut batch)? {
            operator.close();
            return Ok(rows);
        }
        *bytes += batch.heap_bytes() as u64;
        spool::check_memory(cx, "WITH", *bytes)?;
        rows.push(batch);
    }
}

fn outside() -> ExecError {
    ExecError::raised("XX000", "a query with WITH outside of a statement")
}

/// Rows kept for several readers, and how far this one is.
#[derive(Default)]
struct Kept {
    rows: Arc<Vec<Batch>>,
    next: usize,
}

impl Kept {
    fn new(rows: Arc<Vec<Batch>>) -> Self {
        Self { rows, next: 0 }
    }

    /// Copies the next batch out. False at the end.
    fn next(&mut self, out: &mut Batch) -> bool {
        out.clear();
        let Some(batch) = self.rows.get(self.next) else { return false };
        out.append(batch);
        self.next += 1;
        true
    }
}

/// Rows that the statement keeps.
pub(crate) struct SharedOperator {
    plan: Arc<Plan>,
    types: Vec<SqlType>,
    executor: Executor,
    rows: Kept,
}

impl SharedOperator {
    pub fn new(plan: &Arc<Plan>, types: Vec<SqlType>, executor: Executor) -> Self {
        Self { plan: Arc::clone(plan), types, executor, rows: Kept::default() }
    }
}

impl Operator for SharedOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        let state = cx.state().ok_or_else(outside)?;
        let address = Arc::as_ptr(&self.plan).addr();
        let known = state.shared.borrow().get(&address).map(|(_, rows)| Arc::clone(rows));
        self.rows = Kept::new(match known {
            Some(rows) => rows,
            None => {
                let mut operator = compile(&self.plan, self.executor);
                let rows = Arc::new(collect(&mut *operator, &self.types, cx, &mut 0)?);
                state.shared.borrow_mut().insert(address, (Arc::clone(&self.plan), Arc::clone(&rows)));
                rows
            }
        });
        Ok(())
    }

    fn next(&mut self, _: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        Ok(self.rows.next(out))
    }

    fn close(&mut self) {
        self.rows = Kept::default();
    }
}

/// The rows of the last round.
pub(crate) struct WorkOperator {
    number: usize,
    rows: Kept,
}

impl WorkOperator {
    pub fn new(number: usize) -> Self {
        Self { number, rows: Kept::default() }
    }
}

impl Operator for WorkOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let state = cx.state().ok_or_else(outside)?;
        self.rows = Kept::new(state.work.borrow().get(&self.number).cloned().unwrap_or_default());
        Ok(())
    }

    fn next(&mut self, _: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        Ok(self.rows.next(out))
    }

    fn close(&mut self) {
        self.rows = Kept::default();
    }
}

/// `WITH RECURSIVE`.
pub(crate) struct RecursiveOperator {
    number: usize,
    base: Box<dyn Operator>,
    step: Box<dyn Operator>,
    types: Vec<SqlType>,
    /// Rows seen, where duplicates go.
    seen: Option<HashSet<Box<[u8]>>>,
    round: Kept,
}

impl RecursiveOperator {
    pub fn new(
        number: usize,
        base: Box<dyn Operator>,
        step: Box<dyn Operator>,
        types: Vec<SqlType>,
        all: bool,
    ) -> Self {
        let seen = (!all).then(HashSet::new);
        Self { number, base, step, types, seen, round: Kept::default() }
    }

    /// Makes these rows the last round, without those seen before.
    fn take(&mut self, cx: &ExecContext<'_>, mut rows: Vec<Batch>) -> Result<()> {
        if let Some(seen) = &mut self.seen {
            let (mut encoded, mut selection) = (Vec::new(), Vec::new());
            for batch in &mut rows {
                selection.clear();
                for row in 0..batch.rows {
                    encoded.clear();
                    key::encode(batch, &self.types, row, &mut encoded);
                    if seen.insert(encoded.as_slice().into()) {
                        selection.push(row as u32);
                    }
                }
                batch.filter(&selection);
            }
            spool::check_memory(cx, "WITH RECURSIVE", seen.len() as u64 * 64)?;
        }
        rows.retain(|batch| batch.rows > 0);
        let rows = Arc::new(rows);
        let state = cx.state().ok_or_else(outside)?;
        state.work.borrow_mut().insert(self.number, Arc::clone(&rows));
        self.round = Kept::new(rows);
        Ok(())
    }
}

impl Operator for RecursiveOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if let Some(seen) = &mut self.seen {
            seen.clear();
        }
        let rows = collect(&mut *self.base, &self.types, cx, &mut 0)?;
        self.take(cx, rows)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if self.round.next(out) {
            return Ok(true);
        }
        if self.round.rows.is_empty() {
            return Ok(false);
        }
        let rows = collect(&mut *self.step, &self.types, cx, &mut 0)?;
        self.take(cx, rows)?;
        Ok(self.round.next(out))
    }

    fn close(&mut self) {
        self.base.close();
        self.step.close();
        self.round = Kept::default();
    }
}
