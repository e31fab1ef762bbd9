//! Cursors that functions open: OPEN, FETCH, MOVE, CLOSE, and what the client sees of them.
//!
//! L7. A cursor reads the state at OPEN (T2): its rows are collected then; those of one that locks them are locked, and functions of
//!     its select list that do something are called, as they are fetched ([`fetched`](super::fetched)). It ends with the transaction, or with the block whose handler undoes its OPEN.
//! L8. A position is before the first row, on a row, or behind the last: 0, 1 … n, n + 1.
//!     Nobody uses the place of a record again on which one may stand: it holds a view from before its rows may go.
//!     What goes wrong with a row is told when the row is fetched, and not at OPEN. One that locks its rows passes over those ahead
//!     of it that its transaction has changed or deleted since.
//! L9. A variable of type refcursor holds the cursor's name. One that is NULL gets a name that no other has. The name may also be
//!     that of a cursor that the client has declared: the session moves and closes those ([`SessionCursors`](crate::context::SessionCursors)).

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use verso_storage::RecordId;
use verso_types::{Batch, RowType, SqlType, Value};

use super::checks::check_width;
use super::embedded::{Taken, run_embedded};
use super::fetched::{Fetched, Loops, ROWS_AT_ONCE};
use super::frame::Frame;
use super::program::Embedded;
use super::site::Around;
use crate::context::Moved;
use crate::error::{ExecError, Raised, Result};
use crate::exec::{ChangedByTriggers, ChangedRecords, ExecContext, Use, UsedTables};
use crate::memory::Account;
use crate::plan::{Movement, PlCursor, PlTargets};
use crate::spill::{Spool, SpoolReader};

/// The cursors that functions of a session have opened, by name.
#[derive(Default)]
pub struct Portals {
    open: RefCell<BTreeMap<Arc<str>, OpenCursor>>,
    /// Those over whose rows loops run.
    loops: RefCell<BTreeMap<Arc<str>, Standing>>,
    /// Those over whose rows loops run that lock them one by one.
    pub(super) fetching: RefCell<Loops>,
    /// What was changed within the BEFORE triggers of the statements that run, the innermost last.
    by_triggers: RefCell<Vec<ChangedByTriggers>>,
    /// Names given to cursors that had none.
    unnamed: Cell<u64>,
    /// Cursors ever opened.
    opened: Cell<u64>,
    /// The tables that open queries use, these cursors' and others'.
    pub used: UsedTables,
    /// Loops that run over the rows of statements that do more than read: no transaction ends within them, be it in a procedure
    /// that they call.
    pub(super) changing: Cell<usize>,
    /// The calls for which the session does something now.
    pub(crate) around: Around,
}

impl std::fmt::Debug for Portals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_set().entries(self.open.borrow().keys()).finish()
    }
}

impl Portals {
    /// Closes all: their transaction has ended. Loops go on over the rows that they have.
    pub fn clear(&self) {
        self.open.borrow_mut().clear();
        self.used.clear();
        self.loops.borrow_mut().values_mut().for_each(|standing| standing.held = true);
    }

    /// Is there one of that name?
    pub fn has(&self, name: &str) -> bool {
        self.open.borrow().contains_key(name) || self.loops.borrow().contains_key(name)
    }

    /// Where one stands; none where there is none of that name.
    ///
    /// # Errors
    /// Those of reading its rows.
    pub fn standing(&self, name: &str) -> Result<Option<Standing>> {
        if let Some(standing) = self.loops.borrow().get(name) {
            return Ok(Some(standing.clone()));
        }
        let mut open = self.open.borrow_mut();
        let Some(cursor) = open.get_mut(name) else { return Ok(None) };
        let on_row = (cursor.passed + 1..=cursor.last()).contains(&cursor.position);
        let mut standing = cursor.standing.clone();
        if on_row {
            let places = cursor.whole_row(cursor.position)?.split_off(cursor.types.len());
            standing.row = Some(places_of(&places));
        }
        Ok(Some(standing))
    }

    /// As `pg_cursors` shows them: name, query, whether they scroll, and since when they are open.
    pub fn rows(&self) -> Vec<(Arc<str>, Arc<str>, bool, i64)> {
        let open = self.open.borrow();
        let row = |(name, cursor): (&Arc<str>, &OpenCursor)| {
            (Arc::clone(name), Arc::clone(&cursor.text), !cursor.forward, cursor.at)
        };
        open.iter().map(row).collect()
    }

    /// Closes one; false where there is none of that name.
    pub fn close(&self, name: &str) -> bool {
        self.open.borrow_mut().remove(name).is_some()
    }

    /// The columns of one.
    pub fn columns(&self, name: &str) -> Option<Arc<RowType>> {
        self.open.borrow().get(name).map(|cursor| Arc::clone(&cursor.shape))
    }

    /// Fetches the rows that a movement passes, of one that locks its rows then.
    ///
    /// # Errors
    /// Those of its query; 55000 for one whose query runs, or has failed.
    pub fn reach(&self, cx: &ExecContext<'_>, name: &str, movement: Movement) -> Result<()> {
        let wanted = {
            let open = self.open.borrow();
            let Some(cursor) = open.get(name) else { return Ok(()) };
            match cursor.ahead {
                Ahead::Read => return Ok(()),
                Ahead::Broken => return Err(not_to_be_run(name)),
                Ahead::Query(_) => cursor.wanted(movement),
            }
        };
        let mut rows = Spool::default();
        while rows.rows() < wanted {
            let taken = self.open.borrow_mut().get_mut(name).map(OpenCursor::take_query);
            let Some(Some(mut query)) = taken else { break };
            let fetched = query.next((wanted - rows.rows()).min(ROWS_AT_ONCE), cx)?;
            let mut open = self.open.borrow_mut();
            let Some(cursor) = open.get_mut(name) else { break };
            let Some(batch) = fetched else {
                cursor.ahead = Ahead::Read;
                break;
            };
            let batch = query.unchanged(batch, cursor.changed.as_deref());
            cursor.ahead = Ahead::Query(Box::new(query));
            drop(open);
            if batch.rows > 0 {
                rows.push(cx.services.memory, "an open cursor", batch)?;
            }
        }
        if wanted > 0
            && let Some(cursor) = self.open.borrow_mut().get_mut(name)
        {
            cursor.go_on_with(rows);
        }
        Ok(())
    }

    /// Whether one locks rows as they are fetched.
    pub fn fetches(&self, name: &str) -> bool {
        self.open.borrow().get(name).is_some_and(|cursor| !matches!(cursor.ahead, Ahead::Read))
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

    /// How many were ever opened: at a savepoint, for [`Portals::close_since`].
    pub fn opened(&self) -> u64 {
        self.opened.get()
    }

    /// The number of another cursor that is opened.
    pub fn number(&self) -> u64 {
        self.opened.set(self.opened.get() + 1);
        self.opened.get()
    }

    /// Closes those that were opened since there were so many: what is behind a savepoint is undone.
    pub fn close_since(&self, opened: u64) {
        let mut open = self.open.borrow_mut();
        open.retain(|_, cursor| cursor.serial <= opened);
        open.values_mut()
            .filter_map(|cursor| cursor.changed.as_mut())
            .for_each(|one| one.forget_since(opened));
        self.fetching.borrow_mut().forget_since(opened);
        self.by_triggers.borrow_mut().iter_mut().for_each(|changed| changed.forget_since(opened));
    }

    /// A statement with BEFORE ROW triggers runs, until what is returned is dropped.
    pub fn fire_triggers(&self, account: &Account) -> Firing<'_> {
        self.by_triggers.borrow_mut().push(ChangedByTriggers::new(account));
        Firing { portals: self }
    }

    /// Whether the BEFORE triggers of the innermost statement that has some have changed a record.
    pub fn is_changed_by_triggers(&self, table: u32, record: RecordId) -> bool {
        self.by_triggers.borrow().last().is_some_and(|changed| changed.has(table, record))
    }

    /// Does one of them lock its rows, or do triggers fire whose statement must know what they change?
    pub fn lock_rows(&self) -> bool {
        self.open.borrow().values().any(|cursor| cursor.changed.is_some())
            || !self.fetching.borrow().is_empty()
            || self.by_triggers.borrow().iter().any(|changed| changed.fire)
    }

    /// Records of a table are being changed or deleted, by what has this number: those that lock their rows pass them over.
    ///
    /// # Errors
    /// 53200.
    pub fn note_changed(
        &self,
        table: u32,
        number: u64,
        records: &(impl Iterator<Item = RecordId> + Clone),
    ) -> Result<()> {
        self.fetching.borrow_mut().note_changed(table, number, records)?;
        for changed in self.by_triggers.borrow_mut().iter_mut().filter(|changed| changed.fire) {
            changed.note(table, number, &mut records.clone())?;
        }
        let mut open = self.open.borrow_mut();
        let mut locking = open.values_mut().filter_map(|cursor| cursor.changed.as_mut());
        locking.try_for_each(|changed| changed.note(table, number, &mut records.clone()))
    }

    /// A loop begins that has a cursor without a name in PostgreSQL: it takes a number there.
    pub(super) fn count_unnamed(&self) {
        self.unnamed.set(self.unnamed.get() + 1);
    }

    /// A name that no cursor has.
    fn new_name(&self, cx: &ExecContext<'_>) -> Arc<str> {
        loop {
            self.unnamed.set(self.unnamed.get() + 1);
            let name = format!("<unnamed portal {}>", self.unnamed.get());
            if !self.has(&name) && !cx.services.cursors.is_declared(&name) {
                return name.into();
            }
        }
    }
}

/// A statement with BEFORE ROW triggers that runs.
pub struct Firing<'p> {
    portals: &'p Portals,
}

impl Firing<'_> {
    /// Calls triggers: what changes meanwhile is noted.
    pub fn call<T>(&self, triggers: impl FnOnce() -> T) -> T {
        self.fire(true);
        let called = triggers();
        self.fire(false);
        called
    }

    fn fire(&self, fire: bool) {
        if let Some(own) = self.portals.by_triggers.borrow_mut().last_mut() {
            own.fire = fire;
        }
    }
}

impl Drop for Firing<'_> {
    fn drop(&mut self) {
        self.portals.by_triggers.borrow_mut().pop();
    }
}

/// Where a cursor stands.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Oids of the tables of whose records it knows the places.
    pub tables: Vec<u32>,
    /// It locks its rows.
    pub locks: bool,
    /// The transaction in which it was opened has ended.
    pub held: bool,
    /// The places, on a row.
    pub row: Option<Vec<i64>>,
}

impl Standing {
    /// Before the first row of a query.
    fn before(query: &Embedded) -> Standing {
        Standing { tables: query.places.clone(), locks: query.locks, held: false, row: None }
    }
}

fn places_of(values: &[Value]) -> Vec<i64> {
    values.iter().map(|value| value.as_i64().unwrap_or_default()).collect()
}

/// What is ahead of a cursor's rows.
enum Ahead {
    /// Nothing: all of them were read.
    Read,
    /// Those that its query has not locked yet.
    Query(Box<Fetched>),
    /// Its query runs, or has failed.
    Broken,
}

struct OpenCursor {
    /// All of them, or those that were fetched last.
    rows: Spool,
    /// So many were fetched before these.
    passed: i64,
    ahead: Ahead,
    /// Of its rows as they are seen.
    types: Vec<SqlType>,
    /// With the places of records behind them.
    all_types: Vec<SqlType>,
    standing: Standing,
    _places: Option<Box<dyn Any + Send>>,
    shape: Arc<RowType>,
    /// Its query, and when the client's statement began that opened it.
    text: Arc<str>,
    at: i64,
    forward: bool,
    position: i64,
    reader: SpoolReader,
    batch: Batch,
    /// The number of the first row of the batch.
    first: i64,
    /// How many were opened before it, and it.
    serial: u64,
    /// Behind its last row this happens.
    failed: Option<ExecError>,
    /// Of one that locks its rows: those that it passes over.
    changed: Option<Box<ChangedRecords>>,
    /// The tables that its query uses.
    _used: Use,
}

impl OpenCursor {
    fn last(&self) -> i64 {
        i64::try_from(self.rows.rows()).unwrap_or(i64::MAX - 1).saturating_add(self.passed)
    }

    /// Its query, which is to be put back.
    fn take_query(&mut self) -> Option<Fetched> {
        match std::mem::replace(&mut self.ahead, Ahead::Broken) {
            Ahead::Query(query) => Some(*query),
            other => {
                self.ahead = other;
                None
            }
        }
    }

    /// How many rows a movement passes.
    fn wanted(&self, movement: Movement) -> u64 {
        let count = match movement {
            Movement::Forward(None) => return u64::MAX,
            Movement::Forward(Some(count)) | Movement::Relative(count) => count,
            Movement::Absolute(number) if number < 0 => return u64::MAX,
            Movement::Absolute(number) => number.saturating_sub(self.position),
            Movement::Backward(_) => 0,
        };
        u64::try_from(count).unwrap_or(0)
    }

    /// The rows behind its position are these: it never goes back to those before.
    fn go_on_with(&mut self, rows: Spool) {
        self.passed = self.position.min(self.last());
        self.rows = rows;
        (self.reader, self.batch) = (SpoolReader::default(), Batch::of_types(&self.all_types));
        self.first = 1;
    }

    /// The row of that number, which is there.
    fn row(&mut self, number: i64) -> Result<Vec<Value>> {
        let mut row = self.whole_row(number)?;
        row.truncate(self.types.len());
        Ok(row)
    }

    /// The same with the places of its records.
    fn whole_row(&mut self, number: i64) -> Result<Vec<Value>> {
        let number = number - self.passed;
        if number < self.first {
            let batch = Batch::of_types(&self.all_types);
            (self.reader, self.batch, self.first) = (SpoolReader::default(), batch, 1);
        }
        while number >= self.first + self.batch.rows as i64 {
            let passed = self.batch.rows as i64;
            if !self.rows.read(&mut self.reader, &mut self.batch)? {
                return Err(ExecError::raised("XX000", "a row of a cursor is not there"));
            }
            self.first += passed;
        }
        Ok(self.batch.row((number - self.first) as usize, &self.all_types))
    }

    /// Whether rows may have to be passed over.
    fn skips(&self) -> bool {
        self.changed.as_ref().is_some_and(|changed| !changed.is_empty())
    }

    /// Whether a row is passed over.
    fn is_passed_over(&mut self, number: i64) -> Result<bool> {
        let places = places_of(&self.whole_row(number)?.split_off(self.types.len()));
        Ok(self.changed.as_ref().is_some_and(|changed| changed.has_any(&places)))
    }

    /// The numbers of the rows ahead, up to one, that are not passed over.
    fn ahead(&mut self, to: i64, count: i64) -> Result<Vec<i64>> {
        let mut numbers = Vec::new();
        for number in self.position + 1..=to.min(self.last()) {
            if numbers.len() as i64 >= count {
                break;
            }
            if !self.is_passed_over(number)? {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    /// Moves: the number of the row it then stands on, if any, and over how many it went.
    fn moved(&mut self, movement: Movement) -> Result<(Option<i64>, i64)> {
        let (at, end) = (self.position, self.last() + 1);
        let to = match movement {
            Movement::Forward(None) => end,
            Movement::Backward(None) => 0,
            Movement::Forward(Some(count)) | Movement::Relative(count) if count > 0 && self.skips() => {
                let ahead = self.ahead(end, count)?;
                ahead.last().copied().filter(|_| ahead.len() as i64 == count).unwrap_or(end)
            }
            Movement::Forward(Some(count)) | Movement::Relative(count) => at.saturating_add(count),
            Movement::Backward(Some(count)) => at.saturating_sub(count),
            Movement::Absolute(number) if number < 0 => end.saturating_add(number),
            Movement::Absolute(number) => number,
        };
        if self.forward && (to < at || to == at && at > 0 && to < end) {
            // It cannot be run any more.
            self.ahead = Ahead::Broken;
            return Err(ExecError::Raised(Box::new(Raised {
                sqlstate: "55000".into(),
                message: "cursor can only scan forward".into(),
                detail: None,
                hint: Some("Declare it with SCROLL option to enable backward scan.".into()),
            })));
        }
        if let Some(failed) =
            self.failed.take_if(|_| to >= end || matches!(movement, Movement::Absolute(..0)))
        {
            // It cannot be run any more.
            self.ahead = Ahead::Broken;
            return Err(failed);
        }
        let to = to.clamp(0, end);
        let passed =
            if to > at && self.skips() { Some(self.ahead(to, i64::MAX)?.len() as i64) } else { None };
        self.position = to;
        let on_row = (1..end).contains(&to);
        let over = match movement {
            Movement::Absolute(_) | Movement::Relative(_) => i64::from(on_row),
            Movement::Forward(Some(0)) | Movement::Backward(Some(0)) => i64::from(on_row),
            _ if let Some(passed) = passed => passed,
            _ if to > at => to.min(end - 1) - at,
            _ => at.min(end) - to.max(1),
        };
        Ok((on_row.then_some(to), over.max(0)))
    }

    /// Moves over rows: their numbers, in the order in which it passed them.
    fn passed(&mut self, movement: Movement) -> Result<Vec<i64>> {
        let at = self.position;
        let ahead = if self.skips() { Some(self.ahead(self.last(), i64::MAX)?) } else { None };
        let (to, _) = self.moved(movement)?;
        let now = self.position;
        Ok(match movement {
            Movement::Absolute(_) | Movement::Relative(_) => to.into_iter().collect(),
            Movement::Forward(Some(0)) | Movement::Backward(Some(0)) => to.into_iter().collect(),
            _ if now > at => match ahead {
                Some(ahead) => ahead.into_iter().take_while(|number| *number <= now).collect(),
                None => (at + 1..=now.min(self.last())).collect(),
            },
            _ => (now.max(1)..at).rev().collect(),
        })
    }
}

/// The query of a cursor.
pub(super) struct Opened<'q> {
    pub query: &'q mut Embedded,
    /// Of the query, for `pg_cursors`.
    pub text: &'q str,
    /// Its parameters; without any the slots are.
    pub params: Option<&'q [Value]>,
    /// SCROLL or NO SCROLL, where one of them is said.
    pub scroll: Option<bool>,
}

/// OPEN, with the arguments in their slots. `is_planned` says whether an error comes before the first row.
pub(super) fn open(
    cursor: &PlCursor,
    Opened { query, text, params, scroll }: Opened<'_>,
    is_planned: impl Fn(&ExecError, &Frame) -> bool,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<()> {
    let portals = cx.services.portals;
    check_free(cursor, cx, frame)?;
    if query.locks && scroll == Some(true) {
        return Err(ExecError::Raised(Box::new(Raised {
            sqlstate: "0A000".into(),
            message: "DECLARE SCROLL CURSOR ... FOR UPDATE/SHARE is not supported".into(),
            detail: Some("Scrollable cursors must be READ ONLY.".into()),
            hint: None,
        })));
    }
    let mut rows = Spool::default();
    // Errors of data, that is: of others it is not known whether what comes next would work.
    let of_data = |error: &ExecError| cx.services.binding.describe_error(error).sqlstate.starts_with("22");
    let ahead = Fetched::open(query, params, cx, frame)?;
    let ahead = ahead.map_or(Ahead::Read, |query| Ahead::Query(Box::new(query)));
    let ran = match ahead {
        Ahead::Read => run_embedded(query, params, cx, frame, Taken::Spool(&mut rows)).map(drop),
        Ahead::Query(_) | Ahead::Broken => Ok(()),
    };
    let failed = match ran {
        Ok(()) => None,
        Err(error) if query.is_query && query.reads_only && of_data(&error) && !is_planned(&error, frame) => {
            Some(error)
        }
        Err(error) => return Err(error),
    };
    let name = match &frame.slots[cursor.slot] {
        Value::Text(name) => Arc::clone(name),
        _ => portals.new_name(cx),
    };
    let changed =
        query.locks.then(|| ChangedRecords::new(&query.places, cx.catalog, cx.services.memory.account));
    let changed = changed.map(Box::new);
    let open = OpenCursor {
        rows,
        passed: 0,
        ahead,
        types: query.visible().to_vec(),
        all_types: query.types.clone(),
        standing: Standing::before(query),
        _places: hold_places(query, cx)?,
        shape: Arc::clone(&query.shape),
        text: text.into(),
        at: cx.services.clock.statement_timestamp(),
        // Rows are locked in one direction.
        forward: scroll == Some(false) || query.locks,
        position: 0,
        reader: SpoolReader::default(),
        batch: Batch::of_types(&query.types),
        first: 1,
        serial: portals.number(),
        failed,
        changed,
        _used: portals.used.begin(&query.used.by_parameters(params.unwrap_or(&frame.slots), cx)),
    };
    portals.open.borrow_mut().insert(Arc::clone(&name), open);
    frame.assign(cx, cursor.slot, Value::Text(name))
}

fn hold_places(query: &Embedded, cx: &ExecContext<'_>) -> Result<Option<Box<dyn Any + Send>>> {
    (!query.places.is_empty()).then(|| cx.tables()?.hold_places()).transpose()
}

/// A cursor over whose rows a loop runs.
pub(super) struct Looping {
    slot: usize,
    name: Arc<str>,
    /// Its variable had no name before.
    unnamed: bool,
    _places: Option<Box<dyn Any + Send>>,
}

impl Looping {
    /// Goes on to a row, whose records are at these places.
    pub fn stand(&self, cx: &ExecContext<'_>, places: Vec<Value>) {
        if let Some(standing) = cx.services.portals.loops.borrow_mut().get_mut(&self.name) {
            standing.row = Some(places_of(&places));
        }
    }
}

/// FOR over a cursor: it is open as long as the loop runs.
pub(super) fn begin_loop(
    cursor: &PlCursor,
    query: &Embedded,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<Looping> {
    check_free(cursor, cx, frame)?;
    let portals = cx.services.portals;
    let _places = hold_places(query, cx)?;
    let (name, unnamed) = match &frame.slots[cursor.slot] {
        Value::Text(name) => (Arc::clone(name), false),
        _ => (portals.new_name(cx), true),
    };
    frame.assign(cx, cursor.slot, Value::Text(Arc::clone(&name)))?;
    portals.loops.borrow_mut().insert(Arc::clone(&name), Standing::before(query));
    frame.looping.insert(cursor.slot);
    Ok(Looping { slot: cursor.slot, name, unnamed, _places })
}

/// However the loop has ended.
pub(super) fn end_loop(looping: Looping, cx: &ExecContext<'_>, frame: &mut Frame) {
    cx.services.portals.loops.borrow_mut().remove(&looping.name);
    frame.looping.remove(&looping.slot);
    if looping.unnamed {
        frame.slots[looping.slot] = Value::Null;
    }
}

fn check_free(cursor: &PlCursor, cx: &ExecContext<'_>, frame: &Frame) -> Result<()> {
    let name = frame.slots[cursor.slot].as_str();
    let is_open = |name: &str| cx.services.portals.has(name) || cx.services.cursors.is_declared(name);
    let used = frame.looping.contains(&cursor.slot) || name.is_some_and(is_open);
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
    cx.services.portals.reach(cx, &name, movement)?;
    let mut portals = cx.services.portals.open.borrow_mut();
    let Some(open) = portals.get_mut(&*name) else {
        drop(portals);
        let moved = cx.services.cursors.move_declared(cx, &name, movement)?;
        return take(moved.ok_or_else(|| missing(&name))?, targets, cx, frame);
    };
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
    if number.is_some() {
        check_width(cx, targets, &types)?;
    }
    frame.take_row(cx, targets, row, &types, &shape)?;
    frame.counted(u64::from(number.is_some()));
    Ok(())
}

/// What FETCH or MOVE of a cursor that the client has declared does to its variables.
fn take(moved: Moved, targets: Option<&PlTargets>, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<()> {
    let Moved { row, shape, over } = moved;
    let Some(targets) = targets else {
        frame.counted(over);
        return Ok(());
    };
    let types: Vec<SqlType> = shape.fields.iter().map(|(_, ty)| ty.clone()).collect();
    let found = row.is_some();
    if found {
        check_width(cx, targets, &types)?;
    }
    let row = row.unwrap_or_else(|| vec![Value::Null; types.len()]);
    frame.take_row(cx, targets, row, &types, &shape)?;
    frame.counted(u64::from(found));
    Ok(())
}

/// CLOSE.
pub(super) fn close(cursor: &PlCursor, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<()> {
    let name = named(cursor, frame)?;
    match cx.services.portals.close(&name) || cx.services.cursors.close_declared(&name)? {
        true => Ok(()),
        false => Err(missing(&name)),
    }
}

fn not_to_be_run(name: &str) -> ExecError {
    ExecError::raised("55000", format!("portal \"{name}\" cannot be run"))
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
