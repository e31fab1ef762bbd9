//! EXECUTE: the statements of a text are bound when they run, with the values of USING as their parameters.

use std::ops::Range;
use std::sync::Arc;

use verso_types::{SqlType, Value};

use super::checks::{check_strict, check_width};
use super::embedded::{Taken, in_statement, run_embedded};
use super::frame::{Frame, check_columns};
use super::program::Embedded;
use super::run::part_of_now;
use crate::context::{Given, Known, Served, TextPurpose, TransitionsSeen};
use crate::error::{ExecError, Result};
use crate::exec::ExecContext;
use crate::expr::RowExpr;
use crate::plan::{PlDynamic, PlInto, Statement, TransitionTable, TypedExpr, planned_of_query};

/// Of INTO with a statement that yields no rows.
pub(super) const NO_DATA: &str = "INTO used with a command that cannot return data";

/// A statement whose text is an expression.
pub(super) struct Dynamic {
    text: RowExpr,
    using: Vec<RowExpr>,
    using_types: Vec<SqlType>,
    transitions: Vec<TransitionTable>,
    /// The statement of an EXPLAIN that stands in the body as such.
    explained: Option<Box<Statement>>,
}

/// A query over whose rows a loop or a cursor goes.
pub(super) struct Opening {
    pub query: Embedded,
    pub params: Vec<Value>,
    pub text: Arc<str>,
    /// What PostgreSQL computes before the first row.
    planned: Vec<TypedExpr>,
}

impl Opening {
    /// Runs what goes over the rows.
    pub fn over<T>(
        self,
        cx: &ExecContext<'_>,
        frame: &mut Frame,
        run: impl FnOnce(&mut Embedded, &[Value], &[TypedExpr], &mut Frame) -> Result<T>,
    ) -> Result<T> {
        let Opening { mut query, params, text, planned } = self;
        run(&mut query, &params, &planned, frame).map_err(|error| {
            // One that came up in the body of the loop says where.
            match !frame.located && is_of(&error, &params, &planned, cx) {
                true => in_statement(error, &text),
                false => error,
            }
        })
    }
}

/// Whether an error is one of what PostgreSQL computes before the first row: that names the query, one of a row does not.
#[cold]
pub(super) fn is_of(
    error: &ExecError,
    params: &[Value],
    planned: &[TypedExpr],
    cx: &ExecContext<'_>,
) -> bool {
    let told = |error: &ExecError| cx.services.binding.describe_error(error).message;
    let message = told(error);
    let inner = cx.with_params(params);
    planned.iter().any(|expr| match RowExpr::compile(expr).eval_constant(&inner.eval()) {
        Err(error) => told(&error) == message,
        Ok(_) => false,
    })
}

/// Of a statement that yields no rows, where a loop or a cursor wants some.
pub(super) fn no_cursor(word: &str) -> ExecError {
    ExecError::raised("42P11", format!("cannot open {word} query as cursor"))
}

impl Dynamic {
    pub fn compile(dynamic: &PlDynamic) -> Dynamic {
        Dynamic {
            text: RowExpr::compile(&dynamic.text),
            using: dynamic.using.iter().map(RowExpr::compile).collect(),
            using_types: dynamic.using.iter().map(|value| value.ty.clone()).collect(),
            transitions: dynamic.transitions.clone(),
            explained: dynamic.explained.clone(),
        }
    }

    /// The text of now.
    fn text(&self, cx: &ExecContext<'_>, frame: &Frame) -> Result<Arc<str>> {
        match frame.eval(cx, &self.text)? {
            Value::Text(text) => Ok(text),
            _ => Err(ExecError::raised("22004", "query string argument of EXECUTE is null")),
        }
    }

    /// The query of a loop of now.
    pub fn bind(&self, cx: &ExecContext<'_>, frame: &Frame) -> Result<Opening> {
        self.bind_for(false, cx, frame)
    }

    /// The query of a cursor.
    pub fn bind_cursor(&self, cx: &ExecContext<'_>, frame: &Frame) -> Result<Opening> {
        self.bind_for(true, cx, frame)
    }

    fn bind_for(&self, cursor: bool, cx: &ExecContext<'_>, frame: &Frame) -> Result<Opening> {
        let text = self.text(cx, frame)?;
        let parts = cx.services.binding.statements_of(&text)?;
        let part = match parts.as_slice() {
            [_, _, ..] => return Err(ExecError::raised("42P11", "cannot open multi-query plan as cursor")),
            parts => parts.first().cloned().unwrap_or(0..text.len()),
        };
        let params = self.using.iter().map(|value| frame.eval(cx, value)).collect::<Result<Vec<_>>>()?;
        let purpose = TextPurpose::Cursor;
        let known = Known { types: &self.using_types, transitions: &self.transitions, purpose };
        let bound = cx.services.binding.bind_text(&text, part.clone(), &known, cursor, cx.catalog)?;
        if let Some(statement) = bound {
            let query = Embedded::new(&statement, cx.executor);
            if let (true, Some(word)) = (query.types.is_empty(), query.change) {
                return Err(no_cursor(word));
            }
            let planned = match &statement {
                Statement::Query(plan) => planned_of_query(plan),
                _ => Vec::new(),
            };
            let is_query = matches!(statement, Statement::Query(_));
            return Ok(Opening { query: Embedded { is_query, ..query }, params, text, planned });
        }
        let words: Vec<String> =
            text[part.clone()].split_whitespace().take(2).map(str::to_ascii_uppercase).collect();
        let served =
            self.serve((&text, part), cx, frame)?.yields.ok_or_else(|| no_cursor(&words.join(" ")))?;
        let query = Embedded { reads_only: false, ..Embedded::new(&served, cx.executor) };
        Ok(Opening { query, params: Vec::new(), text, planned: Vec::new() })
    }

    /// Runs a statement of the session's, which is a part of a text. Errors show the whole text.
    fn serve(
        &self,
        (words, part): (&str, Range<usize>),
        cx: &ExecContext<'_>,
        frame: &Frame,
    ) -> Result<Served> {
        let text = &words[part.clone()];
        let params = self.using.iter().map(|value| frame.eval(cx, value)).collect::<Result<Vec<_>>>()?;
        let ends = cx.ends().filter(|_| frame.savepoints == 0);
        let read_only = frame.function.read_only;
        let transitions = TransitionsSeen { tables: &self.transitions, rows: None };
        let (params, types) = match self.explained {
            // It is bound to the variables.
            Some(_) => (frame.slots.as_slice(), [].as_slice()),
            None => (params.as_slice(), self.using_types.as_slice()),
        };
        let query = self.explained.as_deref();
        let given = Given { query, ends, params, types, read_only, sql: false, transitions };
        let around = &cx.services.portals.around;
        around.within(cx, Some(words), || cx.define(text, given)).map_err(|error| match error {
            ExecError::InQuery { error, query, position } if query == text => {
                let before = words[..part.start].chars().count() as u32;
                ExecError::InQuery { error, query: words.to_owned(), position: position + before }
            }
            error => in_statement(error, words),
        })
    }

    /// A part of a text as a statement, and its parameters; none where it defines something.
    fn bound(
        &self,
        text: &str,
        part: Range<usize>,
        purpose: TextPurpose,
        cx: &ExecContext<'_>,
        frame: &Frame,
    ) -> Result<Option<(Embedded, Vec<Value>)>> {
        let params = self.using.iter().map(|value| frame.eval(cx, value)).collect::<Result<Vec<_>>>()?;
        let known = Known { types: &self.using_types, transitions: &self.transitions, purpose };
        let statement = cx.services.binding.bind_text(text, part, &known, false, cx.catalog)?;
        Ok(statement.map(|statement| {
            let is_query = matches!(statement, Statement::Query(_));
            let text = Some(text.into());
            (Embedded { is_query, text, ..Embedded::new(&statement, cx.executor) }, params)
        }))
    }

    /// Runs one statement of a text. It counts its rows, and leaves FOUND as it was.
    fn run_part(
        &self,
        (words, part): (&str, Range<usize>),
        into: Option<&PlInto>,
        cx: &ExecContext<'_>,
        frame: &mut Frame,
    ) -> Result<()> {
        let (mut statement, params) =
            match self.bound(words, part.clone(), TextPurpose::Execute, cx, frame)? {
                Some(bound) => bound,
                None => {
                    let served = self.serve((words, part), cx, frame)?;
                    frame.row_count = i64::try_from(served.rows).unwrap_or(i64::MAX);
                    match (served.yields, into) {
                        (_, None) => return Ok(()),
                        (None, Some(_)) => return Err(ExecError::raised("42601", NO_DATA)),
                        (Some(rows), Some(_)) => (Embedded::new(&rows, cx.executor), Vec::new()),
                    }
                }
            };
        let Some(into) = into else {
            let rows = run_embedded(&mut statement, Some(&params), cx, frame, Taken::Nothing)?;
            frame.row_count = i64::try_from(rows).unwrap_or(i64::MAX);
            return Ok(());
        };
        if statement.types.is_empty() {
            return Err(ExecError::raised("42601", NO_DATA));
        }
        let mut first = None;
        let rows =
            run_embedded(&mut statement, Some(&params), cx, frame, Taken::First(&mut first, u64::MAX))?;
        frame.row_count = i64::try_from(rows).unwrap_or(i64::MAX);
        check_strict(into, rows, &statement, Some((&params, &self.using_types)), cx, frame)?;
        if first.is_some() {
            check_width(cx, &into.targets, &statement.types)?;
        }
        let row = first.unwrap_or_else(|| vec![Value::Null; statement.types.len()]);
        frame.take_row(cx, &into.targets, row, &statement.types, &statement.shape)
    }
}

/// `EXECUTE … [INTO …]`: all statements of the text, of which the last one has what INTO takes.
pub(super) fn execute(
    text: &Dynamic,
    into: Option<&PlInto>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<()> {
    let words = text.text(cx, frame)?;
    let parts = cx.services.binding.statements_of(&words)?;
    let Some((last, before)) = parts.split_last() else {
        return text.run_part((&words, 0..words.len()), into, cx, frame);
    };
    for part in before {
        part_of_now(cx, frame, |cx, frame| text.run_part((&words, part.clone()), None, cx, frame))?;
    }
    part_of_now(cx, frame, |cx, frame| text.run_part((&words, last.clone()), into, cx, frame))
}

/// `RETURN QUERY EXECUTE`: the rows of all statements of the text.
pub(super) fn return_execute(text: &Dynamic, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<()> {
    let words = text.text(cx, frame)?;
    let mut rows = 0;
    for part in cx.services.binding.statements_of(&words)? {
        rows += part_of_now(cx, frame, |cx, frame| {
            let (mut query, params) =
                match text.bound(&words, part.clone(), TextPurpose::Return, cx, frame)? {
                    Some(bound) => bound,
                    None => {
                        let served = text.serve((&words, part.clone()), cx, frame)?.yields;
                        let served = served.ok_or_else(|| in_statement(no_rows("SELECT INTO"), &words))?;
                        (Embedded::new(&served, cx.executor), Vec::new())
                    }
                };
            if let (true, Some(change)) = (query.types.is_empty(), query.change) {
                return Err(in_statement(no_rows(change), &words));
            }
            check_columns(frame, &query)?;
            run_embedded(&mut query, Some(&params), cx, frame, Taken::Result)
        })?;
    }
    frame.counted(rows);
    Ok(())
}

/// Of RETURN QUERY with a statement that yields no rows.
pub(super) fn no_rows(word: &str) -> ExecError {
    ExecError::raised("42601", format!("{word} query does not return tuples"))
}
