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
//! | [`syntax`], [`parse`], [`case`], [`collating`] | trees, and how texts become them; other cases; names of characters |
//! | [`program`], [`simulate`], [`places`] | automata, and running them over a text |
//! | [`dissect`] | the groups of a match |
//! | [`fast`] | the same language for the `regex` crate |
//!
//! R1. Without back references a search takes time that grows with the text times the expression, for each place where a match
//!     may begin; with them it may take longer, and looks at the flag that cancels all the time.
//! R2. The first texts are searched by the automata alone: an expression that is used once is not made twice.
//!
//! Source: `src/backend/regex` of PostgreSQL, by Henry Spencer; the manual's section 9.7.3.

pub(crate) mod case;
mod collating;
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

use std::cell::{Cell, OnceCell};

use verso_types::TypeError;

use crate::context::EvalContext;
use crate::error::Result;
use dissect::{Groups, Tree};
use fast::{Fast, fast_of};
use program::{Budget, Step};
use simulate::{Subject, Until};
use syntax::{Greed, Node};

/// `2201B`.
fn invalid(flaw: &str) -> TypeError {
    TypeError::new("2201B", format!("invalid regular expression: {flaw}"))
}

/// Which language of expressions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Flavor {
    /// PostgreSQL's own.
    #[default]
    Advanced,
    /// The extended one of POSIX, as in `egrep`.
    Extended,
    /// The basic one of POSIX, as in `ed`.
    Basic,
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
    /// The language of the pattern.
    pub flavor: Flavor,
}

impl Options {
    /// Sets what a letter asks for; false for no such letter.
    pub fn set(&mut self, letter: char) -> bool {
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
            'b' | 'e' => (self.flavor, self.literal) = (Flavor::Basic, false),
            _ => return false,
        }
        true
    }
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Regexp {
    node: Node,
    tree: Tree,
    groups: usize,
    /// Made once it pays: to make it takes ten times as long as all the rest (R2).
    fast: OnceCell<Option<Fast>>,
    /// Bytes that were searched without it.
    searched: Cell<usize>,
    steps: usize,
}

/// So many bytes are searched without the fast expression: an expression that is made of each row's values is asked once.
const SLOW_BYTES: usize = 512;
/// What a search takes beside the text.
const SEARCH_BYTES: usize = 16;
/// What the fast expression takes, mostly: tables of its own, and the states that it has met.
const FAST_BYTES: u64 = 64 << 10;

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
        let (fast, searched) = (OnceCell::new(), Cell::new(0));
        Ok(Regexp { node, tree, groups, fast, searched, steps: budget.used() })
    }

    /// The memory that it takes, or may take, roughly.
    pub fn bytes(&self) -> u64 {
        (self.steps * size_of::<Step>()) as u64 + FAST_BYTES
    }

    /// The fast expression, for a search of so many bytes.
    fn fast(&self, bytes: usize) -> Option<&Fast> {
        if let Some(fast) = self.fast.get() {
            return fast.as_ref();
        }
        let searched = self.searched.get().saturating_add(bytes).saturating_add(SEARCH_BYTES);
        self.searched.set(searched);
        if searched < SLOW_BYTES {
            return None;
        }
        self.fast.get_or_init(|| fast_of(&self.node)).as_ref()
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
        match self.fast(text.len()) {
            Some(fast) if fast.exact => Ok(fast.regex.is_match(text)),
            None if !self.tree.backs() => {
                let subject = Subject { text, cx, work: Cell::new(0) };
                subject.occurs(self.tree.program())
            }
            fast => Ok(self.find_with(fast, cx, text, 0)?.is_some()),
        }
    }

    /// The first match from a place on.
    ///
    /// # Errors
    /// When it is cancelled.
    pub fn find<'t>(&self, cx: &EvalContext<'_>, text: &'t str, start: usize) -> Result<Option<Match<'t>>> {
        self.find_with(self.fast(text.len() - start), cx, text, start)
    }

    fn find_with<'t>(
        &self,
        fast: Option<&Fast>,
        cx: &EvalContext<'_>,
        text: &'t str,
        start: usize,
    ) -> Result<Option<Match<'t>>> {
        let subject = Subject { text, cx, work: Cell::new(0) };
        let mut from = start;
        loop {
            if let Some(fast) = fast {
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
