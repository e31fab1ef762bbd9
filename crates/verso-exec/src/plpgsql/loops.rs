//! FOR over integers and over rows.

use std::sync::Arc;

use verso_types::{Array, Batch, Dimension, TypeError, Value};

use super::checks::check_width;
use super::cursor::Looping;
use super::embedded::{Taken, run_embedded};
use super::fetched::{Fetched, FetchingLoop};
use super::frame::Frame;
use super::program::{Embedded, Range, Step};
use super::run::{Flow, run_steps};
use crate::error::{ExecError, Result};
use crate::exec::{ChangedRecords, ExecContext};
use crate::expr::RowExpr;
use crate::plan::PlTargets;
use crate::spill::Spool;

/// What a turn of a loop leads to.
pub(super) enum Turn {
    Again,
    Done,
    Leave(Flow),
}

/// One turn of the loop of this label.
pub(super) fn turn(
    body: &mut [Step],
    label: Option<&Arc<str>>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<Turn> {
    cx.check_cancelled()?;
    let mine = |wanted: &Option<Arc<str>>| wanted.is_none() || wanted.as_ref() == label;
    Ok(match run_steps(body, cx, frame)? {
        Flow::Next => Turn::Again,
        Flow::Continue(wanted) if mine(&wanted) => Turn::Again,
        Flow::Exit(wanted) if mine(&wanted) => Turn::Done,
        flow => Turn::Leave(flow),
    })
}

pub(super) fn run_range(range: &mut Range, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Flow> {
    frame.settle_for(range.reads);
    let bound = |frame: &Frame, expr: &RowExpr, name: &str| -> Result<i64> {
        frame
            .eval(cx, expr)?
            .as_i64()
            .ok_or_else(|| TypeError::new("22004", format!("{name} of FOR loop cannot be null")).into())
    };
    let from = bound(frame, &range.from, "lower bound")?;
    let to = bound(frame, &range.to, "upper bound")?;
    let by = range.by.as_ref().map_or(Ok(1), |by| bound(frame, by, "BY value"))?;
    if by <= 0 {
        return Err(TypeError::new("22023", "BY value of FOR loop must be greater than zero").into());
    }
    let step = if range.reverse { -by } else { by };
    let mut at = from;
    let mut turned = false;
    let mut leave = Flow::Next;
    while if range.reverse { at >= to } else { at <= to } {
        turned = true;
        // bounds are int4, and so is what lies between
        frame.slots[range.slot] = Value::Int4(at as i32);
        match turn(&mut range.body, range.label.as_ref(), cx, frame)? {
            Turn::Again => {}
            Turn::Done => break,
            Turn::Leave(flow) => {
                leave = flow;
                break;
            }
        }
        at += step;
    }
    frame.set_found(turned);
    Ok(leave)
}

/// A loop over rows.
pub(super) struct RowLoop<'l> {
    pub(super) label: Option<&'l Arc<str>>,
    /// It is over the rows of this cursor.
    pub(super) cursor: Option<&'l Looping>,
    pub(super) targets: &'l PlTargets,
}

pub(super) fn run_for_query(
    looping: RowLoop<'_>,
    query: &mut Embedded,
    params: Option<&[Value]>,
    body: &mut [Step],
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<Flow> {
    if looping.cursor.is_none() {
        cx.services.portals.count_unnamed();
    }
    let changes = usize::from(!query.reads_only);
    let loops = &cx.services.portals.changing;
    loops.set(loops.get() + changes);
    let flow = run_rows(looping, query, params, body, cx, frame);
    loops.set(loops.get() - changes);
    flow
}

fn run_rows(
    RowLoop { label, cursor, targets }: RowLoop<'_>,
    query: &mut Embedded,
    params: Option<&[Value]>,
    body: &mut [Step],
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<Flow> {
    let mut rows = LoopRows::of(query, params, cursor.is_some(), cx, frame)?;
    let used = query.used.by_parameters(params.unwrap_or(&frame.slots), cx);
    let _used = (!used.is_empty()).then(|| cx.services.portals.used.begin(&used));
    let flow = run_over(&mut rows, RowLoop { label, cursor, targets }, query, body, cx, frame);
    rows.end(cx);
    flow
}

/// The rows that a loop goes over.
enum LoopRows {
    Read(Spool),
    /// Locked, or computed, as they come, so many at once.
    Fetched(FetchingLoop, u64),
}

/// So many rows PostgreSQL fetches for the first turns of a loop over a query, and then for the others; one by one where the loop may
/// end the transaction.
const FETCHED: [u64; 2] = [10, 50];

impl LoopRows {
    fn of(
        query: &mut Embedded,
        params: Option<&[Value]>,
        one_by_one: bool,
        cx: &ExecContext<'_>,
        frame: &mut Frame,
    ) -> Result<LoopRows> {
        if let Some(opened) = Fetched::open(query, params, cx, frame)? {
            let changed = ChangedRecords::new(&query.places, cx.catalog, cx.services.memory.account);
            let looping = FetchingLoop::begin(cx.services.portals, opened, changed);
            let one_by_one = one_by_one || cx.ends().is_some();
            return Ok(LoopRows::Fetched(looping, if one_by_one { 1 } else { FETCHED[0] }));
        }
        let mut rows = Spool::default();
        run_embedded(query, params, cx, frame, Taken::Spool(&mut rows))?;
        Ok(LoopRows::Read(rows))
    }

    fn next(&mut self, batch: &mut Batch, cx: &ExecContext<'_>) -> Result<bool> {
        match self {
            LoopRows::Read(rows) => rows.next(batch),
            LoopRows::Fetched(looping, rows) => {
                let asked = *rows;
                if asked > 1 {
                    *rows = FETCHED[1];
                }
                let Some(fetched) = looping.next(asked, cx)? else { return Ok(false) };
                *batch = fetched;
                Ok(true)
            }
        }
    }

    fn end(self, cx: &ExecContext<'_>) {
        if let LoopRows::Fetched(looping, _) = self {
            looping.end(cx);
        }
    }
}

fn run_over(
    rows: &mut LoopRows,
    RowLoop { label, cursor, targets }: RowLoop<'_>,
    query: &Embedded,
    body: &mut [Step],
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<Flow> {
    let mut turned = false;
    let mut batch = Batch::default();
    let mut leave = Flow::Next;
    'rows: while rows.next(&mut batch, cx)? {
        for row in 0..batch.rows {
            turned = true;
            let mut values = batch.row(row, &query.types);
            let places = values.split_off(query.visible().len());
            if let Some(cursor) = cursor {
                cursor.stand(cx, places);
            }
            check_width(cx, targets, query.visible())?;
            frame.take_row(cx, targets, values, query.visible(), &query.shape)?;
            match turn(body, label, cx, frame)? {
                Turn::Again => {}
                Turn::Done => break 'rows,
                Turn::Leave(flow) => {
                    leave = flow;
                    break 'rows;
                }
            }
        }
    }
    if !turned {
        let nulls = vec![Value::Null; query.visible().len()];
        frame.take_row(cx, targets, nulls, query.visible(), &query.shape)?;
    }
    frame.set_found(turned);
    Ok(leave)
}

/// The dimensions of each slice of an array, and how many elements it has.
pub(super) fn slices(array: &Array, slice: usize) -> Result<(Vec<Dimension>, usize)> {
    let mut dimensions = array.dimensions();
    let Some(outer) = dimensions.len().checked_sub(slice) else {
        let count = dimensions.len();
        let text = format!("slice dimension ({slice}) is out of the valid range 0..{count}");
        return Err(ExecError::raised("2202E", text));
    };
    let shape = dimensions.split_off(outer);
    // An array without elements has no slice, whatever its width.
    let width = shape.iter().map(|one| usize::try_from(one.length).unwrap_or_default()).product::<usize>();
    Ok((shape, width.max(1)))
}
