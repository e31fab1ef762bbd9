//! EXECUTE: a text is bound when it runs, with the values of USING as its parameters.

use std::sync::Arc;

use verso_types::{SqlType, Value};

use super::checks::{check_strict, check_width};
use super::embedded::{Taken, define, run_embedded};
use super::frame::Frame;
use super::program::Embedded;
use crate::context::{Given, Known, Served};
use crate::error::{ExecError, Result};
use crate::exec::ExecContext;
use crate::expr::RowExpr;
use crate::plan::{PlDynamic, PlInto, Statement, TransitionTable};

/// Of INTO with a statement that yields no rows.
pub(super) const NO_DATA: &str = "INTO used with a command that cannot return data";

/// A statement whose text is an expression.
pub(super) struct Dynamic {
    text: RowExpr,
    using: Vec<RowExpr>,
    using_types: Vec<SqlType>,
    transitions: Vec<TransitionTable>,
}

impl Dynamic {
    pub fn compile(dynamic: &PlDynamic) -> Dynamic {
        Dynamic {
            text: RowExpr::compile(&dynamic.text),
            using: dynamic.using.iter().map(RowExpr::compile).collect(),
            using_types: dynamic.using.iter().map(|value| value.ty.clone()).collect(),
            transitions: dynamic.transitions.clone(),
        }
    }

    /// The text of now.
    fn text(&self, cx: &ExecContext<'_>, frame: &Frame) -> Result<Arc<str>> {
        match frame.eval(cx, &self.text)? {
            Value::Text(text) => Ok(text),
            _ => Err(ExecError::raised("22004", "query string argument of EXECUTE is null")),
        }
    }

    /// The statement of now, which is a query or a change, and its parameters.
    pub fn bind(&self, cx: &ExecContext<'_>, frame: &Frame) -> Result<(Embedded, Vec<Value>)> {
        self.bind_for(false, cx, frame)
    }

    /// The query of a cursor, and its parameters.
    pub fn bind_cursor(&self, cx: &ExecContext<'_>, frame: &Frame) -> Result<(Embedded, Vec<Value>)> {
        self.bind_for(true, cx, frame)
    }

    fn bind_for(&self, cursor: bool, cx: &ExecContext<'_>, frame: &Frame) -> Result<(Embedded, Vec<Value>)> {
        let text = self.text(cx, frame)?;
        if let Some(bound) = self.bound(&text, cursor, cx, frame)? {
            return Ok(bound);
        }
        let served = self.serve(&text, cx, frame)?.yields.ok_or_else(|| {
            ExecError::raised("42P11", "cannot open a query that returns no rows as a cursor")
        })?;
        Ok((Embedded::new(&served, cx.executor), Vec::new()))
    }

    /// Runs a statement of the session's.
    fn serve(&self, text: &str, cx: &ExecContext<'_>, frame: &Frame) -> Result<Served> {
        let params = self.using.iter().map(|value| frame.eval(cx, value)).collect::<Result<Vec<_>>>()?;
        let ends = cx.ends().filter(|_| frame.savepoints == 0);
        let read_only = frame.function.read_only;
        define(cx, text, Given { query: None, ends, params: &params, types: &self.using_types, read_only })
    }

    /// A text as a statement, and its parameters; none where it defines something.
    fn bound(
        &self,
        text: &str,
        places: bool,
        cx: &ExecContext<'_>,
        frame: &Frame,
    ) -> Result<Option<(Embedded, Vec<Value>)>> {
        let params = self.using.iter().map(|value| frame.eval(cx, value)).collect::<Result<Vec<_>>>()?;
        let known = Known { types: &self.using_types, transitions: &self.transitions };
        let statement = cx.services.binding.bind_text(text, &known, places, cx.catalog)?;
        Ok(statement.map(|statement| {
            let is_query = matches!(statement, Statement::Query(_));
            let text = Some(text.into());
            (Embedded { is_query, text, ..Embedded::new(&statement, cx.executor) }, params)
        }))
    }
}

/// `EXECUTE … [INTO …]`. It counts its rows, and leaves FOUND as it was.
pub(super) fn execute(
    text: &Dynamic,
    into: Option<&PlInto>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<()> {
    let words = text.text(cx, frame)?;
    let (mut statement, params) = match text.bound(&words, false, cx, frame)? {
        Some(bound) => bound,
        None => {
            let served = text.serve(&words, cx, frame)?;
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
    let rows = run_embedded(&mut statement, Some(&params), cx, frame, Taken::First(&mut first))?;
    check_strict(into, rows, &statement, Some((&params, &text.using_types)), cx, frame)?;
    if first.is_some() {
        check_width(cx, &into.targets, &statement.types)?;
    }
    let counted = if statement.is_query { rows.min(1) } else { rows };
    frame.row_count = i64::try_from(counted).unwrap_or(i64::MAX);
    let row = first.unwrap_or_else(|| vec![Value::Null; statement.types.len()]);
    frame.take_row(cx, &into.targets, row, &statement.types, &statement.shape)
}
