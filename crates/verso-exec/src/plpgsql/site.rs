//! Where each call under way stands: for GET DIAGNOSTICS … PG_CONTEXT.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::program::Step;
use crate::exec::ExecContext;
use crate::plan::PlFunction;

/// A call, or a statement of a body whose functions are called, and what is around it.
pub(crate) struct CallSite<'a> {
    outer: Option<&'a CallSite<'a>>,
    what: Within,
}

enum Within {
    Function { function: Arc<PlFunction>, line: Cell<u32>, at: Cell<&'static str> },
    Statement(Arc<str>),
}

impl<'a> CallSite<'a> {
    /// A call of a function.
    pub fn of_function(outer: Option<&'a CallSite<'a>>, function: &Arc<PlFunction>) -> CallSite<'a> {
        let function = Arc::clone(function);
        CallSite { outer, what: Within::Function { function, line: Cell::new(0), at: Cell::new("") } }
    }

    /// A statement of a body.
    pub fn of_statement(outer: Option<&'a CallSite<'a>>, text: &Arc<str>) -> CallSite<'a> {
        CallSite { outer, what: Within::Statement(Arc::clone(text)) }
    }

    /// Notes which statement runs.
    #[inline]
    pub(super) fn stands_at(&self, step: &Step) {
        if let Within::Function { line, at, .. } = &self.what {
            line.set(step.line);
            at.set(step.name);
        }
    }

    /// A line for each call, innermost first.
    fn lines(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut next = Some(self);
        while let Some(site) = next {
            all.push(site.what.line());
            next = site.outer;
        }
        all
    }
}

impl Within {
    fn line(&self) -> String {
        match self {
            Within::Function { function, line, at } => context_line(function, line.get(), at.get()),
            Within::Statement(text) => format!("SQL statement \"{text}\""),
        }
    }
}

impl Clone for Within {
    fn clone(&self) -> Within {
        match self {
            Within::Function { function, line, at } => {
                let (line, at) = (Cell::new(line.get()), Cell::new(at.get()));
                Within::Function { function: Arc::clone(function), line, at }
            }
            Within::Statement(text) => Within::Statement(Arc::clone(text)),
        }
    }
}

/// The calls around statements that the session runs for functions, and around what it does at their COMMIT: these have a
/// context of their own, which knows of no calls.
#[derive(Default)]
pub(crate) struct Around(RefCell<Vec<Vec<Within>>>);

impl Around {
    /// Does something for the calls of a context; `statement` is what it runs for them.
    pub fn within<T>(&self, cx: &ExecContext<'_>, statement: Option<&str>, work: impl FnOnce() -> T) -> T {
        let mut sites: Vec<Within> =
            statement.map(|text| Within::Statement(text.into())).into_iter().collect();
        let mut next = cx.calls();
        while let Some(site) = next {
            sites.push(site.what.clone());
            next = site.outer;
        }
        self.0.borrow_mut().push(sites);
        let done = work();
        self.0.borrow_mut().pop();
        done
    }
}

/// A line for each call under way, innermost first, those included for which the session runs a statement. None without a call.
pub(super) fn context_of(cx: &ExecContext<'_>) -> Option<String> {
    let mut lines = cx.calls().map_or_else(Vec::new, CallSite::lines);
    for sites in cx.services.portals.around.0.borrow().iter().rev() {
        lines.extend(sites.iter().map(Within::line));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// What stands in the context of an error of this statement of a function.
pub(super) fn context_line(function: &PlFunction, line: u32, at: &str) -> String {
    match function.sql {
        true => {
            let name = function.signature.split('(').next().unwrap_or_default();
            format!("SQL function \"{name}\" statement {line}")
        }
        false => format!("PL/pgSQL function {} line {line} at {at}", function.signature),
    }
}
