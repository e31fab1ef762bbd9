//! Sorting.
//!
//! ```text
//! input ─► chunks of rows with their keys ─► sorted ─┬─► rows                       all fit into memory
//!                                                     └─► run, run, run … ─► merged ─► rows
//! ```
//!
//! O1. Rows that are equal by the keys come out in the order in which they came, unless several workers ([`shared`]) have read
//!     them.
//! O2. A sort whose memory is refused writes what it has as a run and goes on; runs are merged a few at a time, until those
//!     that are left can be merged on the way out.
//! O3. Under a LIMIT no more rows are kept, in memory or in a run, than it lets through.
//! O4. Rows that come in the order of the first keys already are sorted group by group ([`groups`]).
//! O5. Rows that come in the order of all keys, by an index below joins, go through as they are; where a join has lost their
//!     order, as it went to files, they are sorted.

mod groups;
mod merge;
mod rows;
mod shared;
mod sorter;

use groups::Groups;
use rows::{Entry, Rows};
pub(super) use sorter::{Sorted, Sorter};
use verso_types::{Batch, BytesColumn, SqlType};

use super::operator::Operator;
use super::order::{self, SortOrder};
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, KEEP_BYTES, parallel};
use crate::error::Result;
use crate::expr::{Executor, ExprList, RowExpr};
use crate::plan::{SortKey, TypedExpr};

/// Collects the input, sorts it by its keys, yields it in that order.
pub(crate) struct SortOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    keyed: Keyed,
    types: Vec<SqlType>,
    /// Workers may compute the keys.
    is_safe: bool,
    /// How many rows the LIMIT above it asks for, OFFSET included.
    bound: Option<Bound>,
    /// Where the rows come in the order of the first keys.
    groups: Option<Groups>,
    /// The rows are to come in the order of all keys (O5).
    whole: bool,
    /// They do.
    as_given: bool,
    /// Rows of groups before this one.
    given: usize,
    sorted: Sorted,
}

/// The keys of rows.
#[derive(Clone)]
struct Keyed {
    exprs: ExprList,
    orders: Vec<SortOrder>,
    values: Batch,
    encoded: BytesColumn,
}

impl Keyed {
    fn compile(keys: &[SortKey], executor: Executor) -> Keyed {
        let exprs: Vec<&TypedExpr> = keys.iter().map(|key| &key.expr).collect();
        let exprs = ExprList::compile(exprs, executor);
        let order = |key: &SortKey| SortOrder::new(&key.expr.ty, key.descending, key.nulls_first);
        Keyed {
            values: Batch::of_types(exprs.types()),
            exprs,
            orders: keys.iter().map(order).collect(),
            encoded: BytesColumn::default(),
        }
    }

    /// The keys of a batch.
    fn of(&mut self, cx: &ExecContext<'_>, batch: &Batch) -> Result<&BytesColumn> {
        self.exprs.eval(&cx.eval(), batch, &mut self.values)?;
        self.encoded.clear();
        for row in 0..batch.rows {
            order::encode(&self.values, &self.orders, row, &mut self.encoded.bytes)?;
            self.encoded.end_value();
        }
        Ok(&self.encoded)
    }
}

/// LIMIT and OFFSET of the operator above.
pub(crate) struct Bound {
    pub limit: RowExpr,
    pub offset: Option<RowExpr>,
}

impl Bound {
    /// How many rows; `None` where all may be needed. What is wrong with the numbers the limit itself reports.
    fn rows(&self, cx: &ExecContext<'_>) -> Option<usize> {
        let count = |expr: &RowExpr| -> Option<usize> {
            usize::try_from(expr.eval_constant(&cx.eval()).ok()?.as_i64()?).ok()
        };
        let offset = self.offset.as_ref().map_or(Some(0), count)?;
        count(&self.limit)?.checked_add(offset)
    }
}

impl SortOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        (keys, sorted): (&[SortKey], usize),
        bound: Option<Bound>,
        executor: Executor,
    ) -> Self {
        Self {
            input,
            batch: Batch::of_types(types),
            keyed: Keyed::compile(keys, executor),
            types: types.to_vec(),
            is_safe: keys.iter().all(|key| key.expr.is_parallel_safe()),
            bound,
            whole: sorted == keys.len() && sorted > 0,
            as_given: false,
            groups: (sorted > 0 && sorted < keys.len())
                .then(|| Groups::new(Keyed::compile(&keys[..sorted], executor), types)),
            given: 0,
            sorted: Sorted::No,
        }
    }

    /// How many rows are wanted still.
    fn wanted(&self, cx: &ExecContext<'_>) -> usize {
        let all = self.bound.as_ref().and_then(|bound| bound.rows(cx)).unwrap_or(usize::MAX);
        all.saturating_sub(self.given)
    }

    /// Whether no rows are read any more.
    fn has_read_all(&self) -> bool {
        self.groups.as_ref().is_none_or(Groups::have_ended)
    }

    fn collect(&mut self, cx: &ExecContext<'_>) -> Result<Sorted> {
        let first = self.wanted(cx);
        let mut sorter = Sorter::new(cx, "a sort", &self.types, first);
        let mut rest = Vec::new();
        let read = if self.groups.is_none() { self.share(cx, first)? } else { None };
        let shared = match read {
            None => false,
            Some(read) => {
                if read.rest.is_empty() {
                    return read.sorted(cx, first, sorter.held);
                }
                (sorter.rows, rest) = (read.rows, read.rest);
                sorter.held.hold(sorter.rows.heap_bytes());
                true
            }
        };
        loop {
            let more = match &mut self.groups {
                Some(groups) => groups.next(cx, &mut *self.input, &mut self.batch)?,
                None if shared => parallel::next_of(cx, &mut rest, &mut self.batch)?,
                None => self.input.next(cx, &mut self.batch)?,
            };
            if !more {
                return sorter.finish(cx);
            }
            sorter.push(cx, &self.batch, self.keyed.of(cx, &self.batch)?)?;
        }
    }
}

impl Operator for SortOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.sorted = Sorted::No;
        self.given = 0;
        if let Some(groups) = &mut self.groups {
            groups.begin();
        }
        self.input.open(cx)?;
        self.as_given = self.whole && self.input.keep_order();
        Ok(())
    }

    fn bound(&mut self, rows: u64) {
        if self.as_given {
            self.input.bound(rows);
        }
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if self.as_given {
            return self.input.next(cx, out);
        }
        loop {
            if matches!(self.sorted, Sorted::No) {
                self.sorted = self.collect(cx)?;
                if self.has_read_all() {
                    self.input.close();
                    self.batch.recycle(KEEP_BYTES);
                }
            }
            out.clear();
            self.sorted.fill(out)?;
            if out.rows > 0 || self.has_read_all() {
                self.given += out.rows;
                return Ok(out.rows > 0);
            }
            if self.wanted(cx) == 0 {
                return Ok(false);
            }
            self.sorted = Sorted::No;
        }
    }

    fn close(&mut self) {
        self.input.close();
        self.sorted = Sorted::No;
        self.batch.recycle(KEEP_BYTES);
    }
}
