//! Sorting with several workers: each sorts the rows that it has read, and the sorted parts are merged.
//!
//! A worker that may hold no more rows ends: the statement's thread then goes on with the rows of all workers, unsorted, and
//! with what is left of the input.

use super::rows::STEP;
use super::{Entry, ExecContext, Keyed, Operator, Rows, SortOperator, Sorted, parallel};
use crate::error::Result;
use crate::memory::Reservation;
use verso_types::Batch;

/// What workers have read.
pub(super) struct Read {
    pub rows: Rows,
    /// The rows of each worker in order.
    orders: Vec<Vec<Entry>>,
    /// What is left of the input.
    pub rest: Vec<Box<dyn Operator>>,
}

/// What a worker takes along.
struct Part {
    input: Box<dyn Operator>,
    keyed: Keyed,
}

/// What it has read, in order.
struct Done {
    rows: Rows,
    order: Vec<Entry>,
    rest: Option<Box<dyn Operator>>,
    _held: Reservation,
}

impl SortOperator {
    /// Reads the input with several workers, if it is to be read so; `first` rows of the result are wanted.
    pub(super) fn share(&mut self, cx: &ExecContext<'_>, first: usize) -> Result<Option<Read>> {
        if !self.is_safe {
            return Ok(None);
        }
        let Some(inputs) = parallel::split(cx, &mut *self.input)? else { return Ok(None) };
        let parts = inputs.into_iter().map(|input| Part { input, keyed: self.keyed.clone() }).collect();
        let types = self.types.clone();
        let done = parallel::run(cx, parts, move |cx, Part { mut input, mut keyed }: Part| {
            let mut held = cx.reserve_before_files("a sort");
            let mut rows = Rows::default();
            let mut batch = Batch::of_types(&types);
            while input.next(cx, &mut batch)? {
                rows.push(&batch, keyed.of(cx, &batch)?);
                rows.bound(first, &types, cx)?;
                if held.try_resize(rows.heap_bytes()).is_err() {
                    held.hold(rows.heap_bytes());
                    return Ok(Done { rows, order: Vec::new(), rest: Some(input), _held: held });
                }
            }
            input.close();
            let order = rows.sorted(first, cx)?;
            Ok(Done { rows, order, rest: None, _held: held })
        })?;
        let mut read = Read { rows: Rows::default(), orders: Vec::new(), rest: Vec::new() };
        for mut part in done {
            let before = read.rows.chunks.len() as u32;
            part.order.iter_mut().for_each(|entry| entry.chunk += before);
            read.rows.count += part.rows.count;
            read.rows.bytes += part.rows.bytes;
            read.rows.chunks.append(&mut part.rows.chunks);
            read.orders.push(part.order);
            read.rest.extend(part.rest);
        }
        Ok(Some(read))
    }
}

impl Read {
    /// All rows in order, or the first of them; none is left to be read.
    pub fn sorted(self, cx: &ExecContext<'_>, first: usize, mut held: Reservation) -> Result<Sorted> {
        let Read { rows, mut orders, .. } = self;
        held.hold(rows.heap_bytes());
        while orders.len() > 1 {
            let mut merged = Vec::with_capacity(orders.len().div_ceil(2));
            let mut pairs = orders.into_iter();
            while let Some(left) = pairs.next() {
                merged.push(match pairs.next() {
                    Some(right) => merge(cx, &rows, &left, &right, first)?,
                    None => left,
                });
            }
            orders = merged;
        }
        let mut order = orders.pop().unwrap_or_default();
        order.truncate(first);
        Ok(Sorted::Memory { rows, order, next: 0, _held: held })
    }
}

/// Two ordered lists as one, as far as it is wanted.
fn merge<'r>(
    cx: &ExecContext<'_>,
    rows: &Rows,
    mut left: &'r [Entry],
    mut right: &'r [Entry],
    first: usize,
) -> Result<Vec<Entry>> {
    let wanted = (left.len() + right.len()).min(first);
    let mut merged = Vec::with_capacity(wanted);
    while merged.len() < wanted {
        if merged.len().is_multiple_of(STEP) {
            cx.check_cancelled()?;
        }
        let from = match (left.first(), right.first()) {
            (Some(a), Some(b)) if rows.compare(b, a).is_lt() => &mut right,
            (Some(_), _) => &mut left,
            _ => &mut right,
        };
        let Some((next, behind)) = from.split_first() else { break };
        merged.push(*next);
        *from = behind;
    }
    Ok(merged)
}
