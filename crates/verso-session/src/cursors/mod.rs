//! Cursors that are open: where they stand, and how long they live.
//!
//! | module | what it is |
//! |---|---|
//! | [`position`] | where cursors stand, for WHERE CURRENT OF |
//! | [`within`] | cursors that functions move and close |
//! | [`served`] | DECLARE, FETCH, MOVE and CLOSE as texts of EXECUTE |
//!
//! C1. A cursor reads the state at DECLARE (T2): it is a portal, opened at once. One with SCROLL keeps the rows that it has come to.
//!     Functions that do something are called as rows are fetched, where the query makes its rows with them at last.
//! C2. A cursor ends with its transaction, or is held beyond its commit (WITH HOLD).
//! C3. A position is before the first row, on a row, or behind the last: 0, 1 … n, n + 1.
//! C4. One that locks its rows reads them at DECLARE and locks each when it is fetched. It leaves out those ahead of it that its
//!     transaction has changed or deleted since, though it has them as they were: they are no longer what DECLARE saw.
//!     Changes are noted by the numbers that cursors are opened under, so that a savepoint takes both back.

mod position;
pub(crate) mod served;
mod within;

use std::cell::RefCell;
use std::collections::BTreeMap;

use verso_storage::RecordId;
use verso_types::{Batch, Value};

use crate::client::{Collect, OutputColumn, PassOver, StatementSink};
use crate::portal::{Portal, PortalEnd};
use crate::services::Position;
use verso_exec::error::Result as ExecResult;
use verso_exec::exec::Use;
use verso_exec::plan::Origin;
use verso_parser::syntax::{Cursor, Direction, Parsed, Statement};
use verso_planner::errors::{SqlError, sqlstate};

pub(crate) use position::Places;

/// The cursors of a session, by name. One that is being opened or moved is taken out until it is put back: its name stays, so that
/// a function which its query calls can neither move nor close it, nor take the name.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    open: RefCell<BTreeMap<String, Option<SqlCursor>>>,
}

/// An open cursor.
#[derive(Debug)]
pub(crate) struct SqlCursor {
    /// The text of its DECLARE, and when that was.
    pub(crate) text: Box<str>,
    pub(crate) at: i64,
    pub(crate) portal: Portal,
    /// With BINARY.
    pub(crate) binary: bool,
    /// For its plan and operators.
    pub(crate) _kept: verso_exec::memory::Reservation,
    /// Of one with SCROLL: the rows that it has come to.
    pub(crate) rows: Option<Batch>,
    /// These are all.
    pub(crate) has_all: bool,
    /// For them.
    pub(crate) held: Option<verso_exec::memory::Reservation>,
    pub(crate) position: i64,
    pub(crate) hold: bool,
    /// The transaction it was declared in, until that has committed.
    pub(crate) transaction: Option<u64>,
    /// How many cursors of the session were opened before it, and it.
    pub(crate) serial: u64,
    /// The tables that its query uses, until the transaction ends.
    pub(crate) used: Option<Use>,
    pub(crate) place: Places,
}

impl Cursors {
    /// Refuses a name that is taken.
    pub(crate) fn check_free(&self, name: &str) -> Result<(), SqlError> {
        if self.has(name) {
            let text = format!("cursor \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_CURSOR, text));
        }
        Ok(())
    }

    /// Is there one of that name?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.open.borrow().contains_key(name)
    }

    /// Takes a name for a cursor that is about to be opened, until it is kept or the name is released.
    pub(crate) fn reserve(&self, name: &str) {
        self.open.borrow_mut().entry(name.to_string()).or_default();
    }

    /// Gives a name back for which no cursor was opened.
    pub(crate) fn release(&self, name: &str) {
        let mut open = self.open.borrow_mut();
        if matches!(open.get(name), Some(None)) {
            open.remove(name);
        }
    }

    /// Adds one, or puts it back.
    pub(crate) fn keep(&self, name: &str, cursor: SqlCursor) {
        self.open.borrow_mut().insert(name.to_string(), Some(cursor));
    }

    /// Takes one out to be moved; none where there is none of that name.
    ///
    /// # Errors
    /// 55000 for one whose query runs.
    pub(crate) fn take(&self, name: &str) -> Result<Option<SqlCursor>, SqlError> {
        let mut open = self.open.borrow_mut();
        let Some(cursor) = open.get_mut(name) else { return Ok(None) };
        cursor.take().map(Some).ok_or_else(|| {
            let text = format!("portal \"{name}\" cannot be run");
            SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, text)
        })
    }

    /// Closes one; whether there is one of that name.
    ///
    /// # Errors
    /// 24000 for one whose query runs.
    pub(crate) fn close(&self, name: &str) -> Result<bool, SqlError> {
        if self.runs(name) {
            return Err(SqlError::new("24000", format!("cannot drop active portal \"{name}\"")));
        }
        let closed = self.open.borrow_mut().remove(name);
        Ok(closed.is_some())
    }

    /// Whether the query of one runs.
    pub(crate) fn runs(&self, name: &str) -> bool {
        matches!(self.open.borrow().get(name), Some(None))
    }

    /// Closes all but those whose queries run.
    pub(crate) fn clear(&self) {
        self.open.borrow_mut().retain(|_, cursor| cursor.is_none());
    }

    /// What one yields; none where there is no such cursor.
    pub(crate) fn columns(&self, name: &str) -> Option<Vec<OutputColumn>> {
        self.open.borrow().get(name)?.as_ref()?.columns().map(<[_]>::to_vec)
    }

    /// Where one stands, for WHERE CURRENT OF.
    pub(crate) fn position(&self, name: &str) -> Option<Position> {
        self.open.borrow().get(name)?.as_ref().map(|cursor| cursor.place.position(name))
    }

    /// Does one of them lock its rows?
    pub(crate) fn lock_rows(&self) -> bool {
        self.open.borrow().values().flatten().any(|cursor| cursor.place.locks())
    }

    /// Records of a table are being changed or deleted, by what has this number: cursors that lock theirs do not come to them any
    /// more (C4).
    ///
    /// # Errors
    /// 53200.
    pub(crate) fn note_changed(
        &self,
        table: u32,
        number: u64,
        records: &(impl Iterator<Item = RecordId> + Clone),
    ) -> ExecResult<()> {
        let mut open = self.open.borrow_mut();
        let mut locking = open.values_mut().flatten().filter_map(|cursor| cursor.place.changed_mut());
        locking.try_for_each(|changed| changed.note(table, number, &mut records.clone()))
    }

    /// As `pg_cursors` shows them.
    pub(crate) fn rows(&self) -> Vec<Vec<Value>> {
        self.open.borrow().iter().filter_map(|(name, cursor)| Some(cursor.as_ref()?.row(name))).collect()
    }

    /// When a transaction ends, its cursors do, but for those that are held (C2).
    pub(crate) fn end(&self, committed: bool) {
        self.open.borrow_mut().retain(|_, cursor| {
            let Some(cursor) = cursor else { return false };
            let keeps = cursor.transaction.is_none() || committed && cursor.hold;
            cursor.transaction = None;
            cursor.used = None;
            cursor.place.end();
            keeps
        });
    }

    /// Whether the open transaction has declared a cursor that would outlive it.
    pub(crate) fn declares_held(&self) -> bool {
        self.open.borrow().values().flatten().any(|cursor| cursor.hold && cursor.transaction.is_some())
    }

    /// What is behind a savepoint is undone: those end that were declared since so many cursors had been opened.
    pub(crate) fn end_since(&self, opened: u64) {
        let stays = |cursor: &SqlCursor| cursor.transaction.is_none() || cursor.serial <= opened;
        let mut open = self.open.borrow_mut();
        open.retain(|_, cursor| cursor.as_ref().is_none_or(stays));
        let changed = open.values_mut().flatten().filter_map(|cursor| cursor.place.changed_mut());
        changed.for_each(|changed| changed.forget_since(opened));
    }
}

impl SqlCursor {
    /// As `pg_cursors` shows it.
    fn row(&self, name: &str) -> Vec<Value> {
        let scrolls = Value::Bool(self.rows.is_some());
        let flags = [Value::Bool(self.hold), Value::Bool(self.binary), scrolls];
        let head = [Value::text(name), Value::text(&self.text)];
        head.into_iter().chain(flags).chain([Value::Timestamptz(self.at)]).collect()
    }

    /// What its rows are made of.
    pub(crate) fn columns(&self) -> Option<&[OutputColumn]> {
        Some(self.place.visible(self.portal.columns()?))
    }

    /// Moves it and sends the rows that it passes; `advance` runs its portal on, for so many rows (0 means all).
    pub(crate) fn fetch(
        &mut self,
        direction: Direction,
        sink: &mut dyn StatementSink,
        advance: Advance<'_>,
    ) -> Result<u64, SqlError> {
        match self.rows.take() {
            Some(mut rows) => {
                let collected = self.collect(&mut rows, direction, sink, advance);
                let count = collected.and_then(|()| self.scroll(&rows, direction, sink));
                self.rows = Some(rows);
                count
            }
            None => self.forward(direction, sink, advance),
        }
    }

    /// Without SCROLL: rows ahead only.
    fn forward(
        &mut self,
        direction: Direction,
        sink: &mut dyn StatementSink,
        advance: Advance<'_>,
    ) -> Result<u64, SqlError> {
        let stays = matches!(
            direction,
            Direction::Forward(Some(0)) | Direction::Backward(Some(0)) | Direction::Relative(0)
        );
        if stays && self.position == 0 {
            // It stands before its first row.
            sink.begin(self.columns().unwrap_or_default())?;
            return Ok(0);
        }
        let (skip, take) = match direction {
            Direction::Forward(None) => (0, 0),
            Direction::Forward(Some(count)) if count > 0 => (0, count),
            Direction::Relative(count) if count > 0 => (count - 1, 1),
            Direction::Absolute(number) if number > self.position => (number - self.position - 1, 1),
            Direction::Forward(_) | Direction::Relative(_) | Direction::Absolute(_) => return Err(backward()),
            Direction::Backward(_) => return Err(backward()),
        };
        if skip > 0 {
            let mut over = PassOver(&mut *sink);
            let mut placed = self.place.watch(&mut over);
            let end = placed.run(&mut self.portal, skip.unsigned_abs(), &mut *advance)?;
            self.position += skip;
            if end.1 != PortalEnd::Suspended {
                self.place.leave();
                sink.begin(self.columns().unwrap_or_default())?;
                return Ok(0);
            }
        }
        let mut placed = self.place.watch(sink);
        let (count, _) = placed.run(&mut self.portal, take.unsigned_abs(), advance)?;
        if count == 0 || count < take.unsigned_abs() || take == 0 {
            self.place.leave();
        }
        self.position += count.cast_signed();
        Ok(count)
    }

    /// Collects the rows that a movement comes to, as far as they are not there yet.
    fn collect(
        &mut self,
        rows: &mut Batch,
        direction: Direction,
        client: &mut dyn StatementSink,
        advance: Advance<'_>,
    ) -> Result<(), SqlError> {
        let last = match direction {
            Direction::Forward(None) => i64::MAX,
            Direction::Forward(Some(count)) | Direction::Relative(count) => {
                self.position.saturating_add(count)
            }
            Direction::Backward(Some(count)) => self.position.saturating_sub(count),
            Direction::Backward(None) => 0,
            Direction::Absolute(number) if number < 0 => i64::MAX,
            Direction::Absolute(number) => number,
        };
        let known = rows.rows as i64;
        if self.has_all || last <= known {
            return Ok(());
        }
        // 0 means all.
        let wanted = if last == i64::MAX { 0 } else { (last - known).unsigned_abs() };
        let mut batches = Vec::new();
        let Some(held) = &mut self.held else { return Err(SqlError::internal("rows without memory")) };
        let mut collect = Collect { rows: &mut batches, held, client };
        let (_, end) = advance(&mut self.portal, wanted, &mut collect)?;
        self.has_all = end != PortalEnd::Suspended;
        batches.iter().for_each(|batch| rows.append(batch));
        held.resize(rows.heap_bytes() as u64)?;
        Ok(())
    }

    /// Moves over the collected rows and sends those passed.
    fn scroll(
        &mut self,
        rows: &Batch,
        direction: Direction,
        sink: &mut dyn StatementSink,
    ) -> Result<u64, SqlError> {
        sink.begin(self.columns().unwrap_or_default())?;
        let last = rows.rows as i64;
        let (at, end) = (self.position, last + 1);
        let one = |number: i64| (number.clamp(0, end), vec![number]);
        let (position, numbers) = match direction {
            Direction::Forward(Some(0)) | Direction::Backward(Some(0)) | Direction::Relative(0) => one(at),
            Direction::Forward(Some(count)) if count < 0 => run(at, -1, count.saturating_neg(), end),
            Direction::Backward(Some(count)) if count < 0 => run(at, 1, count.saturating_neg(), end),
            Direction::Forward(count) => run(at, 1, count.unwrap_or(i64::MAX), end),
            Direction::Backward(count) => run(at, -1, count.unwrap_or(i64::MAX), end),
            Direction::Relative(count) => one(at.saturating_add(count)),
            Direction::Absolute(number) if number < 0 => one(end.saturating_add(number)),
            Direction::Absolute(number) => one(number),
        };
        self.position = position;
        self.place.stand(rows, position);
        let selection: Vec<u32> = numbers
            .into_iter()
            .filter(|number| (1..=last).contains(number))
            .map(|number| (number - 1) as u32)
            .collect();
        if !selection.is_empty() {
            sink.batch(&self.place.without(rows.gather(&selection)))?;
        }
        Ok(selection.len() as u64)
    }
}

/// Runs a portal on for so many rows, 0 meaning all: how many there were, and how it ended.
pub(crate) type Advance<'a> =
    &'a mut dyn FnMut(&mut Portal, u64, &mut dyn StatementSink) -> Result<(u64, PortalEnd), SqlError>;

/// `55000`
pub(crate) fn backward() -> SqlError {
    SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
        .with_hint("Declare it with SCROLL option to enable backward scan.")
}

/// What DECLARE refuses of a query.
pub(crate) fn check_query(cursor: &Cursor) -> Result<(), SqlError> {
    let Statement::Query(query) = &cursor.query.statement else { return Ok(()) };
    if query.changes_rows() {
        let text = "DECLARE CURSOR must not contain data-modifying statements in WITH";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    let Some(lock) = query.locks.first() else { return Ok(()) };
    let lock = lock.strength.as_str();
    let unsupported = sqlstate::FEATURE_NOT_SUPPORTED;
    let (code, text, which) = match () {
        () if cursor.hold => {
            (unsupported, format!("DECLARE CURSOR WITH HOLD ... {lock} is not supported"), "Holdable")
        }
        () if cursor.scroll => {
            (unsupported, format!("DECLARE SCROLL CURSOR ... {lock} is not supported"), "Scrollable")
        }
        () if cursor.insensitive => {
            ("42P11", format!("DECLARE INSENSITIVE CURSOR ... {lock} is not valid"), "Insensitive")
        }
        () => return Ok(()),
    };
    Err(SqlError::new(code, text).with_detail(format!("{which} cursors must be READ ONLY.")))
}

/// The query of DECLARE as it is bound, with the places of its records; whether it locks them.
pub(crate) fn placed(cursor: &Cursor) -> (Parsed, bool) {
    let mut parsed = (*cursor.query).clone();
    let Statement::Query(query) = &mut parsed.statement else { return (parsed, false) };
    query.places = true;
    let locks = !query.locks.is_empty();
    (parsed, locks)
}

/// The tables of whose records the last columns are the places.
pub(crate) fn tables_placed(columns: &[OutputColumn]) -> Vec<u32> {
    let record = |column: &OutputColumn| column.origin.filter(|origin| origin.column == Origin::RECORD);
    columns.iter().filter_map(record).map(|origin| origin.table).collect()
}

/// So many steps from `at`: where they lead, and over which rows. Who asks for more rows than there are ends beyond the
/// last of them.
fn run(at: i64, step: i64, count: i64, end: i64) -> (i64, Vec<i64>) {
    let mut numbers = Vec::new();
    let mut position = at;
    for _ in 0..count {
        position += step;
        if !(1..end).contains(&position) {
            return (position.clamp(0, end), numbers);
        }
        numbers.push(position);
    }
    (position, numbers)
}
