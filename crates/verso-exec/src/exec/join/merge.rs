//! Joins of inputs that are in the order of the keys.
//!
//! ```text
//! left  ─► 1 2 2 4 ─┐
//!                    ├─► for each left row the group of right rows with its key
//! right ─► 2 2 3 4 ─┘
//! ```
//!
//! M1. Pairs come out in the order of the left input, and among equals in that of the right one.
//! M2. Of the right input one group is held: in a batch, and what is beyond that in a spool, which may be in a file.

use std::cmp::Ordering;

use verso_types::{Batch, BytesColumn, SqlType};

use crate::error::Result;
use crate::exec::operator::Operator;
use crate::exec::order::{self, SortOrder};
use crate::exec::{BATCH_BYTES, BATCH_ROWS, ExecContext, KEEP_BYTES};
use crate::expr::{Executor, ExprList, Predicate};
use crate::plan::TypedExpr;
use crate::spill::{Spool, SpoolReader};

/// An inner join of sorted inputs.
pub(crate) struct MergeJoinOperator {
    left: Side,
    right: Side,
    filter: Option<Predicate>,
    group: Group,
    /// The left rows of the pairs that have been put together.
    pairs: Vec<u32>,
    selection: Vec<u32>,
}

/// An input.
struct Side {
    input: Box<dyn Operator>,
    keys: ExprList,
    orders: Vec<SortOrder>,
    values: Batch,
    encoded: BytesColumn,
    rows: Batch,
    /// The row that it stands at.
    row: usize,
    ended: bool,
    /// Functions of the input do something: it is asked for one row at a time where not all may be wanted.
    steps: bool,
    bounded: bool,
}

/// Right rows with one key.
struct Group {
    key: Option<Vec<u8>>,
    /// The first of them.
    first: Batch,
    /// Those beyond.
    rest: Option<Spool>,
    /// Where the pairs of a left row are: in `first`, or in `read`.
    reader: Option<SpoolReader>,
    read: Batch,
    at: usize,
}

impl Side {
    fn new(
        (input, types): (Box<dyn Operator>, Vec<SqlType>),
        keys: Vec<&TypedExpr>,
        executor: Executor,
    ) -> Side {
        let keys = ExprList::compile(keys, executor);
        Side {
            input,
            orders: keys.types().iter().map(|ty| SortOrder::new(ty, false, false)).collect(),
            values: Batch::of_types(keys.types()),
            keys,
            encoded: BytesColumn::default(),
            rows: Batch::of_types(&types),
            row: 0,
            ended: false,
            steps: false,
            bounded: false,
        }
    }

    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        (self.row, self.rows.rows, self.ended) = (0, 0, false);
        self.rows.clear();
        self.input.open(cx)
    }

    /// Whether there are more rows with keys in this batch; it stands at the next one then.
    fn has_more(&mut self) -> bool {
        let is_null = |row: usize| self.values.columns.iter().any(|column| column.nulls.is_null(row));
        self.row += (self.row..self.rows.rows).take_while(|row| is_null(*row)).count();
        self.row < self.rows.rows
    }

    /// Whether it stands at a row: the next one with keys, of another batch where this one has ended.
    fn stands(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        loop {
            if self.has_more() {
                return Ok(true);
            }
            cx.check_cancelled()?;
            if self.bounded {
                self.input.bound(1);
            }
            if self.ended || !self.input.next(cx, &mut self.rows)? {
                self.ended = true;
                self.rows.clear();
                self.row = 0;
                return Ok(false);
            }
            self.row = 0;
            self.keys.eval(&cx.eval(), &self.rows, &mut self.values)?;
            self.encoded.clear();
            for row in 0..self.rows.rows {
                order::encode(&self.values, &self.orders, row, &mut self.encoded.bytes)?;
                self.encoded.end_value();
            }
        }
    }

    fn key(&self) -> &[u8] {
        self.encoded.get(self.row)
    }

    fn close(&mut self) {
        self.input.close();
        self.rows.recycle(KEEP_BYTES);
        (self.row, self.ended) = (0, true);
    }
}

impl Group {
    fn new(types: &[SqlType]) -> Group {
        let empty = || Batch::of_types(types);
        Group { key: None, first: empty(), rest: None, reader: None, read: empty(), at: 0 }
    }

    /// Reads the group that the right input stands at.
    fn gather(&mut self, cx: &ExecContext<'_>, right: &mut Side) -> Result<()> {
        self.clear();
        let key = right.key().to_vec();
        while right.stands(cx)? && right.key() == key {
            let from = right.row;
            while right.row < right.rows.rows && right.key() == key {
                right.row += 1;
            }
            let rows = from..right.row;
            if self.rest.is_none()
                && self.first.rows + rows.len() <= BATCH_ROWS
                && self.first.variable_bytes() < BATCH_BYTES
            {
                append(&right.rows, rows, &mut self.first);
                continue;
            }
            let rows: Vec<u32> = (from as u32..right.row as u32).collect();
            let rest = self.rest.get_or_insert_default();
            rest.push(cx.services.memory, "a join", right.rows.gather(&rows))?;
        }
        self.key = Some(key);
        Ok(())
    }

    /// The rows that come next for a left row, from a place on; none behind the last.
    fn rows(&mut self) -> Result<Option<(&Batch, usize)>> {
        let end = if self.reader.is_some() { self.read.rows } else { self.first.rows };
        if self.at == end {
            let Some(rest) = &self.rest else { return Ok(None) };
            let reader = self.reader.get_or_insert_default();
            self.at = 0;
            if !rest.read(reader, &mut self.read)? {
                return Ok(None);
            }
        }
        Ok(Some((if self.reader.is_some() { &self.read } else { &self.first }, self.at)))
    }

    /// Begins with the first row again.
    fn rewind(&mut self) {
        (self.reader, self.at) = (None, 0);
    }

    fn clear(&mut self) {
        self.rewind();
        self.first.clear();
        (self.key, self.rest) = (None, None);
    }
}

fn append(from: &Batch, rows: std::ops::Range<usize>, to: &mut Batch) {
    for (from, to) in from.columns.iter().zip(&mut to.columns) {
        to.append_range(from, rows.clone());
    }
    to.rows += rows.len();
}

impl MergeJoinOperator {
    pub fn new(
        left: (Box<dyn Operator>, Vec<SqlType>),
        right: (Box<dyn Operator>, Vec<SqlType>),
        equal: &[(TypedExpr, TypedExpr)],
        filter: Option<&TypedExpr>,
        executor: Executor,
    ) -> Self {
        Self {
            group: Group::new(&right.1),
            left: Side::new(left, equal.iter().map(|(left, _)| left).collect(), executor),
            right: Side::new(right, equal.iter().map(|(_, right)| right).collect(), executor),
            filter: filter.map(|filter| Predicate::compile(filter, executor)),
            pairs: Vec::new(),
            selection: Vec::new(),
        }
    }

    /// Over inputs of which one or the other has functions that do something.
    pub fn stepping(mut self, left: bool, right: bool) -> Self {
        (self.left.steps, self.right.steps) = (left, right);
        self
    }

    /// Lets the group be that of the left row; false where there is none and the left row has been passed, or nothing comes any more.
    fn find_group(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        let key = self.left.key();
        if self.group.key.as_deref() == Some(key) {
            return Ok(true);
        }
        while self.right.stands(cx)? {
            match self.right.key().cmp(key) {
                Ordering::Less => self.right.row += 1,
                Ordering::Equal => {
                    self.group.gather(cx, &mut self.right)?;
                    return Ok(true);
                }
                Ordering::Greater => break,
            }
        }
        match self.right.ended {
            true => self.left.ended = true,
            false => self.left.row += 1,
        }
        Ok(false)
    }

    /// Puts pairs of one left batch together: of the right side the values, of the left one the places.
    fn put_together(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<()> {
        let width = self.left.rows.columns.len();
        self.pairs.clear();
        let mut bytes = 0;
        while self.pairs.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            // Pairs name rows of one batch.
            if !self.left.has_more() && (!self.pairs.is_empty() || !self.left.stands(cx)?) {
                return Ok(());
            }
            if !self.find_group(cx)? {
                if self.left.ended {
                    self.left.row = self.left.rows.rows;
                }
                continue;
            }
            let row = self.left.row;
            let Some((rows, at)) = self.group.rows()? else {
                self.group.rewind();
                self.left.row += 1;
                continue;
            };
            let count = (rows.rows - at).min(BATCH_ROWS - self.pairs.len());
            for (from, to) in rows.columns.iter().zip(&mut out.columns[width..]) {
                to.append_range(from, at..at + count);
            }
            bytes += (at..at + count).map(|at| rows.variable_bytes_at(at)).sum::<usize>();
            bytes += count * self.left.rows.variable_bytes_at(row);
            self.pairs.resize(self.pairs.len() + count, row as u32);
            self.group.at = at + count;
        }
        Ok(())
    }

    /// The next pairs that the condition holds for. False at the end.
    fn next_pairs(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        loop {
            cx.check_cancelled()?;
            out.clear();
            self.put_together(cx, out)?;
            if self.pairs.is_empty() {
                return Ok(false);
            }
            for (from, to) in self.left.rows.columns.iter().zip(&mut out.columns) {
                from.gather_into(&self.pairs, to);
            }
            out.rows = self.pairs.len();
            if let Some(filter) = &mut self.filter {
                self.selection.clear();
                if let Some(error) = filter.select(&cx.eval(), out, &mut self.selection) {
                    return Err(error);
                }
                out.filter(&self.selection);
            }
            if out.rows > 0 {
                return Ok(true);
            }
        }
    }
}

impl Operator for MergeJoinOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.group.clear();
        self.left.open(cx)?;
        self.right.open(cx)
    }

    fn bound(&mut self, _: u64) {
        (self.left.bounded, self.right.bounded) = (self.left.steps, self.right.steps);
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let more = self.next_pairs(cx, out);
        (self.left.bounded, self.right.bounded) = (false, false);
        more
    }

    fn close(&mut self) {
        self.group.clear();
        self.left.close();
        self.right.close();
    }
}
