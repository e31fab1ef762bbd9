//! INTERSECT and EXCEPT.
//!
//! Keys of the right rows are counted, then the left rows are looked up. Where no further key is let in, rows of both
//! sides with other keys are cut into parts by their hashes, and each pair of parts is a pass of its own, as in
//! [`super::passes`].

use std::sync::Arc;

use verso_types::Batch;

use super::ExecContext;
use super::key::RowTypes;
use super::keys::{KeyTable, RowKeys};
use super::operator::Operator;
use crate::error::Result;
use crate::memory::{Refused, Reservation};
use crate::plan::SetOperation;
use crate::spill::{Partitions, Run, RunReader, SpillFile, partition_of};

/// Left rows that are, or are not, on the right.
pub(crate) struct SetOperator {
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    types: RowTypes,
    operation: SetOperation,
    all: bool,
    table: KeyTable,
    /// Of each key how often it is still to be met.
    counts: Vec<u64>,
    /// Of each key whether it has come out already.
    seen: Vec<bool>,
    held: Option<Reservation>,
    level: u32,
    /// Rows of the right and the left for later passes.
    parts: Option<(Partitions, Partitions)>,
    pending: Vec<Pair>,
    /// The pass whose left rows are read; none in the first.
    current: Option<(Pair, RunReader)>,
    selection: Vec<u32>,
    later: Vec<(u32, usize)>,
    keys: RowKeys,
    /// Functions of the left input do something: it is asked for one row at a time where not all may be wanted.
    steps: bool,
    bounded: bool,
}

/// Rows of a later pass.
struct Pair {
    right: (Arc<SpillFile>, Run),
    left: (Arc<SpillFile>, Run),
    level: u32,
}

impl SetOperator {
    pub fn new(
        left: Box<dyn Operator>,
        right: Box<dyn Operator>,
        types: RowTypes,
        operation: SetOperation,
        all: bool,
    ) -> Self {
        Self {
            left,
            right,
            types,
            operation,
            all,
            table: KeyTable::default(),
            counts: Vec::new(),
            seen: Vec::new(),
            held: None,
            level: 0,
            parts: None,
            pending: Vec::new(),
            current: None,
            selection: Vec::new(),
            later: Vec::new(),
            keys: RowKeys::default(),
            steps: false,
            bounded: false,
        }
    }

    /// Over a left input whose functions do something.
    pub fn stepping(self, steps: bool) -> Self {
        Self { steps, ..self }
    }

    /// The number of a row's key, made if the pass takes it.
    fn number(&mut self, cx: &ExecContext<'_>, row: usize) -> Result<Option<u32>> {
        let (hash, key) = (self.keys.hash(row), self.keys.key(row));
        if let Some(number) = self.table.find(hash, key) {
            return Ok(Some(number));
        }
        if self.parts.is_some() {
            return Ok(None);
        }
        let held = self.held.get_or_insert_with(|| cx.reserve("INTERSECT or EXCEPT"));
        let bytes = self.table.bytes_with(1, key.len()) + 18 * (self.table.len() + 1);
        if let Err(refused) = held.try_resize(bytes as u64) {
            if self.table.len() == 0 {
                return Err(refused.error(held.what()));
            }
            self.close_pass(cx, refused)?;
            return Ok(None);
        }
        self.counts.push(0);
        self.seen.push(false);
        Ok(Some(self.table.add(hash, self.keys.key(row))))
    }

    fn close_pass(&mut self, cx: &ExecContext<'_>, refused: Refused) -> Result<()> {
        let space = cx.services.memory.temporary.ok_or_else(|| refused.error("INTERSECT or EXCEPT"))?;
        let bytes = cx.services.memory.work_bytes / 8;
        let make = || Partitions::new(space, &self.types.types, bytes);
        self.parts = Some((make()?, make()?));
        Ok(())
    }

    /// Counts the keys of right rows.
    fn count(&mut self, cx: &ExecContext<'_>, batch: &Batch) -> Result<()> {
        self.later.clear();
        self.types.fill(batch, &mut self.keys);
        for row in 0..batch.rows {
            match self.number(cx, row)? {
                Some(number) => self.counts[number as usize] += 1,
                None => self.later.push((row as u32, partition_of(self.keys.hash(row), self.level))),
            }
        }
        match &mut self.parts {
            Some((right, _)) => right.push(batch, self.later.iter().copied()),
            None => Ok(()),
        }
    }

    /// Selects the left rows that come out.
    fn select(&mut self, cx: &ExecContext<'_>, batch: &Batch) -> Result<()> {
        self.selection.clear();
        self.later.clear();
        let intersects = self.operation == SetOperation::Intersect;
        self.types.fill(batch, &mut self.keys);
        for row in 0..batch.rows {
            // What is not on the right is only remembered where it may come again.
            let known = match (self.all || intersects) && self.parts.is_none() {
                true => self.table.find(self.keys.hash(row), self.keys.key(row)),
                false => self.number(cx, row)?,
            };
            let Some(number) = known.map(|number| number as usize) else {
                if self.parts.is_some() {
                    self.later.push((row as u32, partition_of(self.keys.hash(row), self.level)));
                } else if !intersects {
                    self.selection.push(row as u32);
                }
                continue;
            };
            let on_right = self.counts[number] > 0;
            if on_right && self.all {
                self.counts[number] -= 1;
            }
            if on_right == intersects && (self.all || !std::mem::replace(&mut self.seen[number], true)) {
                self.selection.push(row as u32);
            }
        }
        match &mut self.parts {
            Some((_, left)) => left.push(batch, self.later.iter().copied()),
            None => Ok(()),
        }
    }

    /// Ends the pass and counts the right rows of the next; false if there is none.
    fn next_pass(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        if let Some((right, left)) = self.parts.take() {
            let ((right_file, right), (left_file, left)) = (right.finish()?, left.finish()?);
            let (right_file, left_file, level) = (Arc::new(right_file), Arc::new(left_file), self.level + 1);
            let pairs = right.into_iter().zip(left).filter(|(_, left)| left.rows > 0);
            self.pending.extend(pairs.map(|(right, left)| Pair {
                right: (Arc::clone(&right_file), right),
                left: (Arc::clone(&left_file), left),
                level,
            }));
        }
        self.table = KeyTable::default();
        self.counts = Vec::new();
        self.seen = Vec::new();
        self.current = None;
        let Some(pair) = self.pending.pop() else { return Ok(false) };
        self.level = pair.level;
        let mut batch = Batch::of_types(&self.types.types);
        let mut reader = RunReader::default();
        while reader.next(&pair.right.0, &pair.right.1, &mut batch)? {
            cx.check_cancelled()?;
            self.count(cx, &batch)?;
        }
        self.current = Some((pair, RunReader::default()));
        Ok(true)
    }
}

impl Operator for SetOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        let mut batch = Batch::of_types(&self.types.types);
        self.right.open(cx)?;
        while self.right.next(cx, &mut batch)? {
            cx.check_cancelled()?;
            self.count(cx, &batch)?;
        }
        self.right.close();
        self.left.open(cx)
    }

    fn bound(&mut self, _: u64) {
        self.bounded = self.steps;
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bounded = std::mem::take(&mut self.bounded);
        loop {
            let more = match &mut self.current {
                Some((pair, reader)) => reader.next(&pair.left.0, &pair.left.1, out)?,
                None => {
                    if bounded {
                        self.left.bound(1); // it may come out
                    }
                    self.left.next(cx, out)?
                }
            };
            cx.check_cancelled()?;
            if !more {
                if !self.next_pass(cx)? {
                    return Ok(false);
                }
                continue;
            }
            self.select(cx, out)?;
            if !self.selection.is_empty() {
                out.filter(&self.selection);
                return Ok(true);
            }
        }
    }

    fn close(&mut self) {
        self.left.close();
        self.right.close();
        self.table = KeyTable::default();
        self.counts = Vec::new();
        self.seen = Vec::new();
        self.held = None;
        self.level = 0;
        self.parts = None;
        self.pending = Vec::new();
        self.current = None;
        self.bounded = false;
    }
}
