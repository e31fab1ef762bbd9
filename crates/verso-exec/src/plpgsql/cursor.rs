//! Cursors that functions open: OPEN, FETCH, MOVE, CLOSE, and what the client sees of them.
//!
//! L7. A cursor reads the state at OPEN (T2): its rows are collected then. It ends with the transaction, or with the block whose
//!     handler undoes its OPEN.
//! L8. A position is before the first row, on a row, or behind the last: 0, 1 … n, n + 1.
//! L9. A variable of type refcursor holds the cursor's name. One that is NULL gets a name that no other has.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use verso_types::{Batch, RowType, SqlType, Value};

use super::program::Embedded;
use super::run::{Frame, Taken, run_embedded};
use crate::error::{ExecError, Raised, Result};
use crate::exec::ExecContext;
use crate::plan::{Movement, PlCursor, PlTargets};
use crate::spill::{Spool, SpoolReader};

/// The cursors that functions of a session have opened, by name.
#[derive(Default)]
pub struct Portals {
    open: RefCell<BTreeMap<Arc<str>, OpenCursor>>,
    /// Names given to cursors that had none.
    unnamed: Cell<u64>,
    /// Cursors ever opened.
    opened: Cell<u64>,
}

impl std::fmt::Debug for Portals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_set().entries(self.open.borrow().keys()).finish()
    }
}

impl Portals {
    /// Closes all: their transaction has ended.
    pub fn clear(&self) {
        self.open.borrow_mut().clear();
    }

    /// Is there one of that name?
    pub fn has(&self, name: &str) -> bool {
        self.open.borrow().contains_key(name)
    }

    /// Closes one; false where there is none of that name.
    pub fn close(&self, name: &str) -> bool {
        self.open.borrow_mut().remove(name).is_some()
    }

    /// The columns of one.
    pub fn columns(&self, name: &str) -> Option<Arc<RowType>> {
        self.open.borrow().get(name).map(|cursor| Arc::clone(&cursor.shape))
    }

    /// Moves one and yields the rows that it passed; none where there is none of that name.
    ///
    /// # Errors
    /// 55000 for a way back that it does not go.
    pub fn fetch(&self, name: &str, movement: Movement) -> Result<Option<Batch>> {
        let mut open = self.open.borrow_mut();
        let Some(cursor) = open.get_mut(name) else { return Ok(None) };
        let mut rows = Batch::of_types(&cursor.types);
        for number in cursor.passed(movement)? {
            let row = cursor.row(number)?;
            rows.push_row(&row, &cursor.types)?;
        }
        Ok(Some(rows))
    }

    pub(super) fn opened(&self) -> u64 {
        self.opened.get()
    }

    pub(super) fn close_since(&self, opened: u64) {
        self.open.borrow_mut().retain(|_, cursor| cursor.serial <= opened);
    }

    /// A name that no cursor has.
    fn new_name(&self) -> Arc<str> {
        loop {
            self.unnamed.set(self.unnamed.get() + 1);
            let name = format!("<unnamed portal {}>", self.unnamed.get());
            if !self.has(&name) {
                return name.into();
            }
        }
    }
}

struct OpenCursor {
    rows: Spool,
    types: Vec<SqlType>,
    shape: Arc<RowType>,
    forward: bool,
    position: i64,
    reader: SpoolReader,
    batch: Batch,
    /// The number of the first row of the batch.
    first: i64,
    /// How many were opened before it, and it.
    serial: u64,
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

    /// Moves over rows: their numbers, in the order in which it passed them.
    fn passed(&mut self, movement: Movement) -> Result<Vec<i64>> {
        let at = self.position;
        let (to, _) = self.moved(movement)?;
        let now = self.position;
        Ok(match movement {
            Movement::Absolute(_) | Movement::Relative(_) => to.into_iter().collect(),
            Movement::Forward(Some(0)) | Movement::Backward(Some(0)) => to.into_iter().collect(),
            _ if now > at => (at + 1..=now.min(self.last())).collect(),
            _ => (now.max(1)..at).rev().collect(),
        })
    }
}

/// OPEN, with the arguments in their slots.
pub(super) fn open(
    cursor: &PlCursor,
    query: &mut Embedded,
    params: Option<&[Value]>,
    forward: bool,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<()> {
    let portals = cx.services.portals;
    check_free(cursor, cx, frame)?;
    let mut rows = Spool::default();
    run_embedded(query, params, cx, frame, Taken::Spool(&mut rows))?;
    let name = match &frame.slots[cursor.slot] {
        Value::Text(name) => Arc::clone(name),
        _ => portals.new_name(),
    };
    portals.opened.set(portals.opened.get() + 1);
    let open = OpenCursor {
        rows,
        types: query.types.clone(),
        shape: Arc::clone(&query.shape),
        forward,
        position: 0,
        reader: SpoolReader::default(),
        batch: Batch::of_types(&query.types),
        first: 1,
        serial: portals.opened.get(),
    };
    portals.open.borrow_mut().insert(Arc::clone(&name), open);
    frame.assign(cx, cursor.slot, Value::Text(name))
}

/// FOR over a cursor: it is open as long as the loop runs.
pub(super) fn begin_loop(cursor: &PlCursor, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<()> {
    check_free(cursor, cx, frame)?;
    frame.looping.insert(cursor.slot);
    Ok(())
}

/// However the loop has ended.
pub(super) fn end_loop(cursor: &PlCursor, frame: &mut Frame) {
    frame.looping.remove(&cursor.slot);
}

fn check_free(cursor: &PlCursor, cx: &ExecContext<'_>, frame: &Frame) -> Result<()> {
    let name = frame.slots[cursor.slot].as_str();
    let used = frame.looping.contains(&cursor.slot) || name.is_some_and(|name| cx.services.portals.has(name));
    match used {
        true => {
            let name = name.unwrap_or(&cursor.name);
            Err(ExecError::raised("42P03", format!("cursor \"{name}\" already in use")))
        }
        false => Ok(()),
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
    let name = named(cursor, frame)?;
    let mut portals = cx.services.portals.open.borrow_mut();
    let open = portals.get_mut(&*name).ok_or_else(|| missing(&name))?;
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
    drop(portals);
    frame.take_row(cx, targets, row, &types, &shape)?;
    frame.counted(u64::from(number.is_some()));
    Ok(())
}

/// CLOSE.
pub(super) fn close(cursor: &PlCursor, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<()> {
    let name = named(cursor, frame)?;
    match cx.services.portals.close(&name) {
        true => Ok(()),
        false => Err(missing(&name)),
    }
}

fn missing(name: &str) -> ExecError {
    ExecError::raised("34000", format!("cursor \"{name}\" does not exist"))
}

/// The name in a cursor's variable.
fn named(cursor: &PlCursor, frame: &Frame) -> Result<Arc<str>> {
    if frame.looping.contains(&cursor.slot) {
        let text = "FETCH, MOVE or CLOSE of the cursor of a FOR loop is not supported";
        return Err(ExecError::raised("0A000", text));
    }
    match &frame.slots[cursor.slot] {
        Value::Text(name) => Ok(Arc::clone(name)),
        _ => Err(ExecError::raised("22004", format!("cursor variable \"{}\" is null", cursor.name))),
    }
}
