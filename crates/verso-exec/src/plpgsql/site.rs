//! Where each call under way stands: for GET DIAGNOSTICS … PG_CONTEXT.

use std::cell::Cell;
use std::sync::Arc;

use super::program::Step;
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
    pub fn lines(&self) -> String {
        let mut all = String::new();
        let mut next = Some(self);
        while let Some(site) = next {
            if !all.is_empty() {
                all.push('\n');
            }
            match &site.what {
                Within::Function { function, line, at } => {
                    all.push_str(&context_line(function, line.get(), at.get()));
                }
                Within::Statement(text) => {
                    all.push_str("SQL statement \"");
                    all.push_str(text);
                    all.push('"');
                }
            }
            next = site.outer;
        }
        all
    }
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
