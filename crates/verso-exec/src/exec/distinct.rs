//! DISTINCT and DISTINCT ON: the first of equal rows.

use verso_types::{Batch, SqlType};

use super::ExecContext;
use super::keys::{KeyTable, RowKeys};
use super::operator::Operator;
use super::passes::Passes;
use crate::error::Result;
use crate::expr::{Executor, ExprList};
use crate::memory::Reservation;
use crate::plan::TypedExpr;

/// In which order rows come, as far as DISTINCT ON needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowOrder {
    /// In none that counts.
    Any,
    /// In one that is to be kept.
    Sorted,
    /// Rows with the same keys come one behind the other: only the last key is kept.
    Together,
}

/// Keeps the keys of the rows it has passed on. Where no further key is let in, rows with other keys are looked at in later
/// [passes](Passes).
pub(crate) struct DistinctOperator {
    input: Box<dyn Operator>,
    types: Vec<SqlType>,
    /// What tells rows apart; none where all columns do.
    keys: Option<(ExprList, Batch)>,
    order: RowOrder,
    seen: KeyTable,
    /// The key of the row before, where equal ones come together.
    last: Option<Vec<u8>>,
    held: Option<Reservation>,
    passes: Passes,
    selection: Vec<u32>,
    /// Rows for later, with their hashes.
    later: Vec<(u32, u64)>,
    encoded: RowKeys,
    /// Functions of the input do something: it is asked for one row at a time where not all may be wanted.
    steps: bool,
    bounded: bool,
}

impl DistinctOperator {
    pub fn new(input: Box<dyn Operator>, types: Vec<SqlType>) -> Self {
        Self {
            input,
            types,
            keys: None,
            order: RowOrder::Any,
            seen: KeyTable::default(),
            last: None,
            held: None,
            passes: Passes::default(),
            selection: Vec::new(),
            later: Vec::new(),
            encoded: RowKeys::default(),
            steps: false,
            bounded: false,
        }
    }

    /// Over an input whose functions do something.
    pub fn stepping(self, steps: bool) -> Self {
        Self { steps, ..self }
    }

    /// The first of the rows that are equal in the keys.
    pub fn on(
        input: (Box<dyn Operator>, Vec<SqlType>),
        keys: &[TypedExpr],
        order: RowOrder,
        executor: Executor,
    ) -> Self {
        let keys = ExprList::compile(keys, executor);
        let batch = Batch::of_types(keys.types());
        Self { keys: Some((keys, batch)), order, ..Self::new(input.0, input.1) }
    }

    /// Selects the rows of the batch that are new, and puts those aside that this pass cannot tell.
    fn select(&mut self, cx: &ExecContext<'_>, batch: &Batch) -> Result<()> {
        self.selection.clear();
        self.later.clear();
        let held = self.held.get_or_insert_with(|| cx.reserve("DISTINCT"));
        let (told, types) = match &mut self.keys {
            None => (batch, &self.types[..]),
            Some((keys, values)) => {
                keys.eval(&cx.eval(), batch, values)?;
                (&*values, keys.types())
            }
        };
        self.encoded.fill(told, types, None, None);
        for row in 0..batch.rows {
            let (hash, key) = (self.encoded.hash(row), self.encoded.key(row));
            if self.order == RowOrder::Together {
                if self.last.as_deref() != Some(key) {
                    let last = self.last.get_or_insert_default();
                    last.clear();
                    last.extend_from_slice(key);
                    self.selection.push(row as u32);
                }
                continue;
            }
            if self.seen.find(hash, key).is_some() {
                continue;
            }
            if !self.passes.is_closed()
                && let Err(refused) = held.try_resize(self.seen.bytes_with(1, key.len()) as u64)
            {
                if self.seen.len() == 0 || self.order == RowOrder::Sorted {
                    return Err(refused.error(held.what()));
                }
                self.passes.close_pass(cx, held, refused, &self.types)?;
            }
            if self.passes.is_closed() {
                self.later.push((row as u32, hash));
            } else {
                self.seen.add(hash, key);
                self.selection.push(row as u32);
            }
        }
        if !self.later.is_empty() {
            self.passes.put(batch, self.later.iter().copied())?;
        }
        Ok(())
    }
}

impl Operator for DistinctOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        self.input.open(cx)
    }

    fn bound(&mut self, _: u64) {
        self.bounded = self.steps;
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bounded = std::mem::take(&mut self.bounded);
        loop {
            let more = match self.passes.is_later() {
                true => self.passes.read(out)?,
                false => {
                    if bounded {
                        self.input.bound(1); // it may be a new one
                    }
                    self.input.next(cx, out)?
                }
            };
            cx.check_cancelled()?;
            if !more {
                if !self.passes.next_pass()? {
                    return Ok(false);
                }
                self.seen = KeyTable::default();
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
        self.input.close();
        self.seen = KeyTable::default();
        self.last = None;
        self.held = None;
        self.passes = Passes::default();
        self.bounded = false;
    }
}
