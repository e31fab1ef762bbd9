//! PostgreSQL's regular expressions: of all matches that begin first, the longest or the shortest, as the expression
//! prefers; groups, back references, constraints that look ahead and behind.
//!
//! ```text
//! text ─► parse ─► Node ─┬─► fast: the `regex` crate's expression    where does the first match begin?
//!                        └─► Tree of Programs                         where does it end? what are its groups?
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`syntax`], [`parse`], [`case`] | trees, and how texts become them; other cases |
//! | [`program`], [`simulate`], [`places`] | automata, and running them over a text |
//! | [`dissect`] | the groups of a match |
//! | [`fast`] | the same language for the `regex` crate |
//!
//! R1. Without back references a search takes time that grows with the text times the expression, for each place where a match
//!     may begin; with them it may take longer, and looks at the flag that cancels all the time.
//!
//! Source: `src/backend/regex` of PostgreSQL, by Henry Spencer; the manual's section 9.7.3.

mod case;
mod dissect;
mod fast;
mod parse;
mod places;
mod program;
pub(crate) mod required;
mod simulate;
mod syntax;
#[cfg(test)]
mod tests;

use verso_types::TypeError;
use verso_types::error::sqlstate;

use crate::context::EvalContext;
use crate::error::Result;
use dissect::{Groups, Tree};
use fast::{Fast, fast_of};
use program::Budget;
use simulate::{Subject, Until};
use syntax::Greed;

/// `2201B`.
fn invalid(flaw: &str) -> TypeError {
    TypeError::new("2201B", format!("invalid regular expression: {flaw}"))
}

/// What the letters of options ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    /// Whatever the case.
    pub fold: bool,
    /// The pattern is a text.
    pub literal: bool,
    /// `.` and `[^…]` stop at the end of a line.
    pub dot_in_line: bool,
    /// `^` and `$` match at every line.
    pub lines: bool,
    /// White space and comments mean nothing.
    pub expanded: bool,
}

impl Options {
    /// Sets what a letter asks for; false for no such letter.
    ///
    /// # Errors
    /// 0A000 for the older languages of expressions.
    pub fn set(&mut self, letter: char) -> Result<bool, TypeError> {
        match letter {
            'i' => self.fold = true,
            'c' => self.fold = false,
            'q' => self.literal = true,
            'n' | 'm' => (self.dot_in_line, self.lines) = (true, true),
            'p' => (self.dot_in_line, self.lines) = (true, false),
            'w' => (self.dot_in_line, self.lines) = (false, true),
            's' => (self.dot_in_line, self.lines) = (false, false),
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'b' | 'e' => {
                let message = format!("regular expression option \"{letter}\" is not supported");
                return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Regexp {
    tree: Tree,
    groups: usize,
    fast: Option<Fast>,
    steps: usize,
}

/// A match: the whole, then its groups, as places in the text.
pub(crate) struct Match<'t> {
    text: &'t str,
    groups: Groups,
}

impl<'t> Match<'t> {
    /// Where group `n` has matched, 0 for the whole.
    pub fn place(&self, n: usize) -> Option<(usize, usize)> {
        self.groups.get(n).copied().flatten()
    }

    /// What group `n` has matched, 0 for the whole.
    pub fn get(&self, n: usize) -> Option<&'t str> {
        self.place(n).map(|(start, end)| &self.text[start..end])
    }

    /// Where it begins.
    pub fn start(&self) -> usize {
        self.place(0).map_or(0, |(start, _)| start)
    }

    /// Where it ends.
    pub fn end(&self) -> usize {
        self.place(0).map_or(0, |(_, end)| end)
    }

    /// How many groups there are, the whole included.
    pub fn len(&self) -> usize {
        self.groups.len()
    }
}

impl Regexp {
    /// Compiles an expression.
    ///
    /// # Errors
    /// 2201B for one that is wrong, or too large.
    pub fn new(pattern: &str, options: Options) -> Result<Regexp, TypeError> {
        let (node, groups, options) = parse::parse(pattern, options)?;
        let mut budget = Budget::default();
        let tree = Tree::of(&node, options.fold, &mut budget)?;
        Ok(Regexp { tree, groups, fast: fast_of(&node), steps: budget.used() })
    }

    /// How many steps its automata have.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Does any part of a text match?
    ///
    /// # Errors
    /// When it is cancelled.
    pub fn is_match(&self, cx: &EvalContext<'_>, text: &str) -> Result<bool> {
        match &self.fast {
            Some(fast) if fast.exact => Ok(fast.regex.is_match(text)),
            _ => Ok(self.find(cx, text, 0)?.is_some()),
        }
    }

    /// The first match from a place on.
    ///
    /// # Errors
    /// When it is cancelled.
    pub fn find<'t>(&self, cx: &EvalContext<'_>, text: &'t str, start: usize) -> Result<Option<Match<'t>>> {
        let subject = Subject { text, cx, work: std::cell::Cell::new(0) };
        let mut from = start;
        loop {
            if let Some(fast) = &self.fast {
                let Some(found) = fast.regex.find_at(text, from) else { return Ok(None) };
                from = found.start();
            }
            if let Some(groups) = self.at(&subject, from)? {
                return Ok(Some(Match { text, groups }));
            }
            let Some(next) = text[from..].chars().next() else { return Ok(None) };
            from += next.len_utf8();
            subject.tick(1)?;
        }
    }

    /// The match that begins at a place.
    fn at(&self, subject: &Subject<'_>, from: usize) -> Result<Option<Groups>> {
        let (backs, shortest) = (self.tree.backs(), self.tree.greed() == Greed::Shortest);
        let until = match (backs, shortest) {
            (true, _) => Until::All,
            (false, true) => Until::First,
            (false, false) => Until::Last,
        };
        let reached = subject.run(self.tree.program(), from, subject.text.len(), until)?;
        let one = if shortest { reached.first } else { reached.last };
        let several = backs.then(|| reached.ends.iter(!shortest)).into_iter().flatten();
        for to in one.filter(|_| !backs).into_iter().chain(several) {
            let mut groups: Groups = vec![None; self.groups + 1];
            if self.tree.dissect(subject, from, to, &mut groups)? {
                groups[0] = Some((from, to));
                return Ok(Some(groups));
            }
        }
        Ok(None)
    }
}
