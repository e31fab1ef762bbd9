//! Cursors of a function: OPEN, FETCH, MOVE, CLOSE.
//!
//! L7. A cursor reads the state at OPEN (T2): its rows are collected then. It ends with its call.
//! L8. A position is before the first row, on a row, or behind the last: 0, 1 … n, n + 1.

use std::sync::Arc;

use verso_types::{Batch, RowType, SqlType, Value};

use super::program::Embedded;
use super::run::{Frame, Taken, run_embedded};
use crate::error::{ExecError, Raised, Result};
use crate::exec::ExecContext;
use crate::plan::{Movement, PlCursor, PlTargets};
use crate::spill::{Spool, SpoolReader};

/// A cursor of a call.
pub(crate) enum CallCursor {
    Open(Box<OpenCursor>),
    /// A loop runs over its rows.
    Looping,
    Closed,
}

pub(crate) struct OpenCursor {
    rows: Spool,
    types: Vec<SqlType>,
    shape: Arc<RowType>,
    forward: bool,
    position: i64,
    reader: SpoolReader,
    batch: Batch,
    /// The number of the first row of the batch.
    first: i64,
}

impl OpenCursor {
    fn last(&self) -> i64 {
        i64::try_from(self.rows.rows()).unwrap_or(i64::MAX - 1)
    }

    /// The row of that number, which is there.
    fn row(&mut self, number: i64) -> Result<Vec<Value>> {
        if number < self.first {
            (self.reader, self.batch, self.first) = (SpoolReader::default(), Batch::of_types(&self.types), 1);
        }
        while number >= self.first + self.batch.rows as i64 {
            let passed = self.batch.rows as i64;
            if !self.rows.read(&mut self.reader, &mut self.batch)? {
                return Err(ExecError::raised("XX000", "a row of a cursor is not there"));
            }
            self.first += passed;
        }
        Ok(self.batch.row((number - self.first) as usize, &self.types))
    }

    /// Moves: the number of the row it then stands on, if any, and over how many it went.
    fn moved(&mut self, movement: Movement) -> Result<(Option<i64>, i64)> {
        let (at, end) = (self.position, self.last() + 1);
        let to = match movement {
            Movement::Forward(None) => end,
            Movement::Backward(None) => 0,
            Movement::Forward(Some(count)) | Movement::Relative(count) => at.saturating_add(count),
            Movement::Backward(Some(count)) => at.saturating_sub(count),
            Movement::Absolute(number) if number < 0 => end.saturating_add(number),
            Movement::Absolute(number) => number,
        };
        if self.forward && (to < at || to == at && at > 0 && to < end) {
            return Err(ExecError::Raised(Box::new(Raised {
                sqlstate: "55000".into(),
                message: "cursor can only scan forward".into(),
                detail: None,
                hint: Some("Declare it with SCROLL option to enable backward scan.".into()),
            })));
        }
        let to = to.clamp(0, end);
        self.position = to;
        let on_row = (1..end).contains(&to);
        let over = match movement {
            Movement::Absolute(_) | Movement::Relative(_) => i64::from(on_row),
            Movement::Forward(Some(0)) | Movement::Backward(Some(0)) => i64::from(on_row),
            _ if to > at => to.min(end - 1) - at,
            _ => at.min(end) - to.max(1),
        };
        Ok((on_row.then_some(to), over.max(0)))
    }
}

/// OPEN, with the arguments in their slots.
pub(super) fn open(
    cursor: &PlCursor,
    query: &mut Embedded,
    forward: bool,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<()> {
    check_free(cursor, frame)?;
    let mut rows = Spool::default();
    run_embedded(query, None, cx, frame, Taken::Spool(&mut rows))?;
    let open = OpenCursor {
        rows,
        types: query.types.clone(),
        shape: Arc::clone(&query.shape),
        forward,
        position: 0,
        reader: SpoolReader::default(),
        batch: Batch::of_types(&query.types),
        first: 1,
    };
    frame.cursors.insert(cursor.slot, CallCursor::Open(Box::new(open)));
    Ok(())
}

/// FOR over a cursor: it is open as long as the loop runs.
pub(super) fn begin_loop(cursor: &PlCursor, frame: &mut Frame) -> Result<()> {
    check_free(cursor, frame)?;
    frame.cursors.insert(cursor.slot, CallCursor::Looping);
    Ok(())
}

/// However the loop has ended.
pub(super) fn end_loop(cursor: &PlCursor, frame: &mut Frame) {
    frame.cursors.insert(cursor.slot, CallCursor::Closed);
}

fn check_free(cursor: &PlCursor, frame: &Frame) -> Result<()> {
    match frame.cursors.get(&cursor.slot) {
        Some(CallCursor::Open(_) | CallCursor::Looping) => {
            Err(ExecError::raised("42P03", format!("cursor \"{}\" already in use", cursor.name)))
        }
        Some(CallCursor::Closed) | None => Ok(()),
    }
}

/// FETCH, MOVE.
pub(super) fn fetch(
    cursor: &PlCursor,
    movement: Movement,
    targets: Option<&PlTargets>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<()> {
    let open = found(cursor, frame)?;
    let (number, over) = open.moved(movement)?;
    let Some(targets) = targets else {
        frame.counted(over.unsigned_abs());
        return Ok(());
    };
    let row = match number {
        Some(number) => open.row(number)?,
        None => vec![Value::Null; open.types.len()],
    };
    let (types, shape) = (open.types.clone(), Arc::clone(&open.shape));
    frame.take_row(cx, targets, row, &types, &shape)?;
    frame.counted(u64::from(number.is_some()));
    Ok(())
}

/// CLOSE.
pub(super) fn close(cursor: &PlCursor, frame: &mut Frame) -> Result<()> {
    found(cursor, frame)?;
    frame.cursors.insert(cursor.slot, CallCursor::Closed);
    Ok(())
}

fn found<'f>(cursor: &PlCursor, frame: &'f mut Frame) -> Result<&'f mut OpenCursor> {
    match frame.cursors.get_mut(&cursor.slot) {
        Some(CallCursor::Open(open)) => Ok(open),
        Some(CallCursor::Looping) => Err(ExecError::raised(
            "0A000",
            "FETCH, MOVE or CLOSE of the cursor of a FOR loop is not supported",
        )),
        Some(CallCursor::Closed) => {
            Err(ExecError::raised("34000", format!("cursor \"{}\" does not exist", cursor.name)))
        }
        None => Err(ExecError::raised("22004", format!("cursor variable \"{}\" is null", cursor.name))),
    }
}
