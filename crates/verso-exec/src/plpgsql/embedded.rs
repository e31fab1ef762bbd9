//! Statements of bodies: run with the variables as parameters, their rows taken.

use verso_types::{Batch, SqlType, Value};

use super::checks::{check_strict, check_width, tests_rows};
use super::dynamic::NO_DATA;
use super::frame::Frame;
use super::program::Embedded;
use super::site::CallSite;
use crate::context::{EvalContext, Given, Served, TransitionsSeen};
use crate::error::{ExecError, Result};
use crate::exec::{ExecContext, Sink};
use crate::plan::{PlInto, Statement};
use crate::spill::Spool;

/// Times a statement of a block that may commit is tried again on a new snapshot.
pub(super) const RESTARTS_MAX: u32 = 5;

/// Runs a statement of the session's. What the body does behind it is bound to what the catalog is then.
fn define(cx: &ExecContext<'_>, text: &str, given: Given<'_>) -> Result<Served> {
    // Errors of a function in SQL say which statement it is by its number.
    let sql = given.sql;
    let around = &cx.services.portals.around;
    let done = around.within(cx, (!sql).then_some(text), || cx.define(text, given));
    done.map_err(|error| if sql { error } else { in_statement(error, text) })
}

/// The same in a body, whose row goes to variables.
pub(super) fn define_into(
    text: &str,
    query: Option<&Statement>,
    into: Option<&PlInto>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<()> {
    let ends = cx.ends().filter(|_| frame.savepoints == 0);
    let read_only = frame.function.read_only;
    let transitions = TransitionsSeen::default();
    let sql = frame.function.sql;
    let given = Given { query, ends, params: &frame.slots, types: &[], read_only, sql, transitions };
    let served = define(cx, text, given)?;
    frame.row_count = i64::try_from(served.rows).unwrap_or(i64::MAX);
    match (served.yields, into) {
        (None, None) => Ok(()),
        (Some(rows), Some(into)) => run_sql(&mut Embedded::new(&rows, cx.executor), Some(into), cx, frame),
        (Some(_), None) if sql => Ok(()),
        (Some(_), None) => Err(ExecError::raised("42601", "query has no destination for result data")),
        (None, Some(_)) => Err(ExecError::raised("42601", NO_DATA)),
    }
}

impl Embedded {
    /// An error of the statement, with its text if errors name that.
    fn named_in(&self, error: ExecError) -> ExecError {
        match &self.text {
            Some(text) => in_statement(error, text),
            None => error,
        }
    }
}

/// Refuses statements that change something in a function that was declared not to; `word` says which one it is.
pub(super) fn may_change(frame: &Frame, word: &str) -> Result<()> {
    match frame.function.read_only {
        true => Err(ExecError::raised("0A000", format!("{word} is not allowed in a non-volatile function"))),
        false => Ok(()),
    }
}

/// Refuses a statement that changes or locks something where it may not.
pub(super) fn check_change(statement: &Embedded, cx: &ExecContext<'_>, frame: &Frame) -> Result<()> {
    let Some(word) = statement.change else { return Ok(()) };
    may_change(frame, word).map_err(|error| statement.named_in(error))?;
    match !statement.temporary && cx.tables()?.is_read_only() {
        true => Err(statement.named_in(in_read_only(word))),
        false => Ok(()),
    }
}

/// A change in a transaction that is READ ONLY, whether it finds rows or not.
#[cold]
fn in_read_only(word: &str) -> ExecError {
    ExecError::raised("25006", format!("cannot execute {word} in a read-only transaction"))
}

/// An error of a statement that is known as text.
pub(super) fn in_statement(error: ExecError, text: &str) -> ExecError {
    // It shows the text itself.
    if matches!(error, ExecError::InQuery { .. }) {
        return error;
    }
    ExecError::InFunction { error: Box::new(error), context: format!("SQL statement \"{text}\"") }
}

pub(super) fn run_sql(
    statement: &mut Embedded,
    into: Option<&PlInto>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<()> {
    let Some(into) = into else {
        let rows = run_embedded(statement, None, cx, frame, Taken::Nothing)?;
        frame.counted(rows);
        return Ok(());
    };
    let mut first = None;
    // As many as PostgreSQL asks for, also where they are too many.
    let one = statement.is_query && !into.strict;
    let enough = if one { 1 } else { 2 };
    let asked = match () {
        () if !statement.is_query || statement.one_row => u64::MAX,
        () if one && !tests_rows(cx) => 1,
        () => 2,
    };
    let rows = run_embedded(statement, None, cx, frame, Taken::First(&mut first, asked))?;
    if statement.types.is_empty() && !statement.is_query {
        return Err(ExecError::raised("42601", "INTO used with a command that cannot return data"));
    }
    frame.counted(rows.min(enough));
    check_strict(into, rows, statement, None, cx, frame)?;
    if first.is_some() {
        check_width(cx, &into.targets, &statement.types)?;
    }
    let row = first.unwrap_or_else(|| vec![Value::Null; statement.types.len()]);
    frame.take_row(cx, &into.targets, row, &statement.types, &statement.shape)
}

/// Where the rows of an embedded statement go.
pub(super) enum Taken<'t> {
    Nothing,
    /// Into the function's result.
    Result,
    Spool(&'t mut Spool),
    /// The first row; so many are read.
    First(&'t mut Option<Vec<Value>>, u64),
}

/// Takes the rows while the slots are lent to the statement.
struct Taker<'t, 'c> {
    cx: &'c ExecContext<'c>,
    types: &'c [SqlType],
    taken: Taken<'t>,
    /// Result rows, moved into the frame when the statement is done.
    result: Spool,
}

impl Taker<'_, '_> {
    /// Forgets the rows of a run that failed.
    fn forget(&mut self) {
        self.result = Spool::default();
        match &mut self.taken {
            Taken::Nothing | Taken::Result => {}
            Taken::Spool(spool) => **spool = Spool::default(),
            Taken::First(first, _) => **first = None,
        }
    }
}

impl Sink for Taker<'_, '_> {
    fn batch(&mut self, batch: &Batch) -> Result<()> {
        match &mut self.taken {
            Taken::Nothing => Ok(()),
            Taken::Result => self.result.push(self.cx.services.memory, "RETURN QUERY", batch.clone()),
            Taken::Spool(spool) => spool.push(self.cx.services.memory, "FOR over a query", batch.clone()),
            Taken::First(first, wanted) => {
                *wanted = wanted.saturating_sub(batch.rows as u64);
                if first.is_none() && batch.rows > 0 {
                    **first = Some(batch.row(0, self.types));
                }
                Ok(())
            }
        }
    }

    fn wanted(&self) -> Option<u64> {
        match self.taken {
            Taken::First(_, wanted) if wanted < u64::MAX => Some(wanted),
            _ => None,
        }
    }
}

/// Whether a statement of a block that may commit, which has failed and was undone, runs once more: what was committed before
/// keeps the block from being run again, so its statements are, one by one.
pub(super) fn runs_again(cx: &ExecContext<'_>, error: &ExecError, tries: &mut u32) -> Result<bool> {
    if cx.ends().is_none() || *tries == RESTARTS_MAX || !error.is_conflict() || !cx.tables()?.restarts() {
        return Ok(false);
    }
    *tries += 1;
    verso_env::sync::backoff(*tries);
    Ok(true)
}

/// Runs a statement in a storage frame of its own (L2) and yields its number of rows.
#[inline]
pub(super) fn run_embedded(
    statement: &mut Embedded,
    params: Option<&[Value]>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
    taken: Taken<'_>,
) -> Result<u64> {
    let figures = cx.services.figures;
    let begun = figures.begin();
    let rows = run_in_frame(statement, params, cx, frame, taken)?;
    if let (Some(begun), Some(text)) = (&begun, &statement.text) {
        figures.ended(text, begun, rows);
    }
    Ok(rows)
}

fn run_in_frame(
    statement: &mut Embedded,
    params: Option<&[Value]>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
    taken: Taken<'_>,
) -> Result<u64> {
    let to_result = matches!(taken, Taken::Result);
    check_change(statement, cx, frame)?;
    if statement.compiled.adds_row()
        && let Some(rows) = add_row(statement, params, cx, frame)?
    {
        return Ok(rows);
    }
    let result = {
        let site = statement.text.as_ref().map(|text| CallSite::of_statement(cx.calls(), text));
        let inner = cx.with_params(params.unwrap_or(&frame.slots));
        let inner = match &site {
            Some(site) => inner.called(site),
            None => inner,
        };
        let mut taker = Taker { cx, types: &statement.types, taken, result: Spool::default() };
        let mut tries = 0;
        loop {
            // One in a function that changes nothing sees what the caller's statement sees (L5).
            if frame.function.read_only {
                let rows = statement.compiled.run(&inner, &mut taker);
                break rows.map(|rows| (rows, taker.result)).map_err(|error| (error, false));
            }
            cx.tables()?.begin_statement()?;
            let error = match statement.compiled.run(&inner, &mut taker) {
                Ok(rows) => {
                    cx.tables()?.end_statement()?;
                    break Ok((rows, taker.result));
                }
                Err(error) => error,
            };
            cx.tables()?.abort_statement()?;
            if !runs_again(cx, &error, &mut tries)? {
                break Err((error, false));
            }
            taker.forget();
            if let Some(ends) = cx.ends()
                && ends.look_anew(true)?
            {
                break Err((error, true));
            }
        }
    };
    let mut result = match result {
        Ok(result) => result,
        Err((error, stale)) => {
            frame.stale.set(stale);
            return Err(statement.named_in(error));
        }
    };
    if to_result {
        let mut batch = Batch::default();
        while result.1.next(&mut batch)? {
            frame.push_batch(cx, &batch, &statement.types)?;
        }
    }
    Ok(result.0)
}

/// Runs an INSERT of one row that reads nothing by the short way; `None` where that will not do, and nothing has happened.
#[inline]
fn add_row(
    statement: &mut Embedded,
    params: Option<&[Value]>,
    cx: &ExecContext<'_>,
    frame: &Frame,
) -> Result<Option<u64>> {
    let tables = cx.tables()?;
    if !tables.begin_row()? {
        return Ok(None);
    }
    let eval = EvalContext { params: params.unwrap_or(&frame.slots), ..cx.eval() };
    match statement.compiled.run_row(&eval, tables) {
        Some(Ok(rows)) => {
            tables.end_statement()?;
            Ok(Some(rows))
        }
        None => {
            tables.end_statement()?;
            Ok(None)
        }
        Some(Err(error)) => {
            tables.abort_statement()?;
            // The general way tries again.
            if error.is_conflict() {
                return Ok(None);
            }
            Err(statement.named_in(error))
        }
    }
}
