//! Cursors that are open: where they stand, and how long they live.
//!
//! | module | what it is |
//! |---|---|
//! | [`position`] | where cursors stand, for WHERE CURRENT OF |
//!
//! C1. A cursor reads the state at DECLARE (T2): it is a portal, opened at once. One with SCROLL collects its rows then.
//! C2. A cursor ends with its transaction, or is held beyond its commit (WITH HOLD).
//! C3. A position is before the first row, on a row, or behind the last: 0, 1 … n, n + 1.

mod position;

use std::collections::BTreeMap;

use verso_types::{Batch, Value};

use crate::client::{OutputColumn, StatementSink};
use crate::portal::Portal;
use crate::services::Position;
use verso_parser::syntax::Direction;
use verso_planner::errors::{SqlError, sqlstate};

pub(crate) use position::Places;

/// The cursors of a session, by name.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    open: BTreeMap<String, SqlCursor>,
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
    /// All rows, of one with SCROLL.
    pub(crate) rows: Option<Batch>,
    /// For them.
    pub(crate) held: Option<verso_exec::memory::Reservation>,
    pub(crate) position: i64,
    pub(crate) hold: bool,
    /// The transaction it was declared in, until that has committed.
    pub(crate) transaction: Option<u64>,
    pub(crate) depth: usize,
    pub(crate) place: Places,
}

impl Cursors {
    /// Refuses a name that is taken.
    pub(crate) fn check_free(&self, name: &str) -> Result<(), SqlError> {
        if self.open.contains_key(name) {
            let text = format!("cursor \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_CURSOR, text));
        }
        Ok(())
    }

    /// Adds one, or puts it back.
    pub(crate) fn keep(&mut self, name: &str, cursor: SqlCursor) {
        self.open.insert(name.to_string(), cursor);
    }

    /// Takes one out.
    pub(crate) fn take(&mut self, name: &str) -> Result<SqlCursor, SqlError> {
        self.open.remove(name).ok_or_else(|| {
            let text = format!("cursor \"{name}\" does not exist");
            SqlError::new(sqlstate::INVALID_CURSOR_NAME, text)
        })
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    /// What one yields; none where there is no such cursor.
    pub(crate) fn columns(&self, name: &str) -> Option<&[OutputColumn]> {
        self.open.get(name)?.columns()
    }

    /// Where one stands, for WHERE CURRENT OF.
    pub(crate) fn position(&self, name: &str) -> Option<Position> {
        self.open.get(name).map(|cursor| cursor.place.position(name))
    }

    /// As `pg_cursors` shows them.
    pub(crate) fn rows(&self) -> Vec<Vec<Value>> {
        self.open.iter().map(|(name, cursor)| cursor.row(name)).collect()
    }

    /// When a transaction ends, its cursors do, but for those that are held (C2).
    pub(crate) fn end(&mut self, committed: bool) {
        self.open.retain(|_, cursor| {
            let keeps = cursor.transaction.is_none() || committed && cursor.hold;
            cursor.transaction = None;
            cursor.place.end();
            keeps
        });
    }

    /// Whether the open transaction has declared a cursor that would outlive it.
    pub(crate) fn declares_held(&self) -> bool {
        self.open.values().any(|cursor| cursor.hold && cursor.transaction.is_some())
    }

    /// RELEASE hands on those declared behind the savepoint to what is around it.
    pub(crate) fn keep_at(&mut self, depth: usize) {
        self.open.values_mut().for_each(|cursor| cursor.depth = cursor.depth.min(depth));
    }

    /// ROLLBACK TO ends those declared behind the savepoint.
    pub(crate) fn end_above(&mut self, depth: usize) {
        self.open.retain(|_, cursor| cursor.transaction.is_none() || cursor.depth <= depth);
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

    /// Moves over the collected rows and sends those passed.
    pub(crate) fn scroll(
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
