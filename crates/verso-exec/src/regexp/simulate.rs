//! Running a program from a place: all its states at once, so that the time grows with text times program and no further.

use super::places::Places;
use super::program::{Program, Step};
use super::syntax::{Assert, Class};
use crate::context::EvalContext;
use crate::error::Result;

/// Characters between two looks at the flag that cancels.
const TICK: usize = 1 << 10;

/// A text that is searched.
pub(super) struct Subject<'t> {
    pub text: &'t str,
    pub cx: &'t EvalContext<'t>,
    /// Work since the flag was looked at.
    pub work: std::cell::Cell<usize>,
}

/// What a run has found.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Places where the whole program was done, if all were asked for.
    pub ends: Places,
    /// The one that it has met first.
    pub first: Option<usize>,
    /// The one that it has met last.
    pub last: Option<usize>,
    /// By part of a row: places where it was done, and what comes before it in the run.
    pub marks: Vec<Places>,
    /// What it runs between.
    range: (usize, usize),
    all: bool,
}

/// When a run may stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// When it has seen all.
    All,
    /// At the first end.
    First,
    /// When it has seen all; only the first and the last end are kept.
    Last,
}

impl Subject<'_> {
    /// Counts work, and looks at the flag that cancels now and then.
    pub fn tick(&self, work: usize) -> Result<()> {
        let done = self.work.get() + work;
        if done < TICK {
            self.work.set(done);
            return Ok(());
        }
        self.work.set(0);
        self.cx.runtime.check_cancelled()
    }

    fn next(&self, at: usize) -> Option<char> {
        self.text[at..].chars().next()
    }

    fn before(&self, at: usize) -> Option<char> {
        self.text[..at].chars().next_back()
    }

    fn holds(&self, assert: Assert, at: usize) -> bool {
        let word = |c: Option<char>| c.is_some_and(|c| Class::Word.has(c));
        let (before, behind) = (word(self.before(at)), word(self.next(at)));
        match assert {
            Assert::Start => at == 0,
            Assert::End => at == self.text.len(),
            Assert::LineStart => self.before(at).is_none_or(|c| c == '\n'),
            Assert::LineEnd => self.next(at).is_none_or(|c| c == '\n'),
            Assert::WordStart => !before && behind,
            Assert::WordEnd => before && !behind,
            Assert::WordEdge => before != behind,
            Assert::NoWordEdge => before == behind,
        }
    }

    /// Runs a program from a place to a limit, which lies behind it, or before it of a program that runs backward.
    pub fn run(&self, program: &Program, from: usize, limit: usize, until: Until) -> Result<Reached> {
        let all = until == Until::All;
        let ends = if all { Places::between(from, limit) } else { Places::default() };
        let mut reached = Reached { ends, all, range: (from, limit), ..Reached::default() };
        let mut states = States::new(program.steps.len());
        let mut following = States::new(program.steps.len());
        states.add(self, program, 0, from, &mut reached)?;
        let mut at = from;
        loop {
            if until == Until::First && reached.first.is_some() {
                return Ok(reached);
            }
            if at == limit || states.taking.is_empty() {
                return Ok(reached);
            }
            let c = if program.backward { self.before(at) } else { self.next(at) };
            let Some(c) = c else { return Ok(reached) };
            at = if program.backward { at - c.len_utf8() } else { at + c.len_utf8() };
            self.tick(states.taking.len())?;
            for state in std::mem::take(&mut states.taking) {
                if let Step::Set(set) = &program.steps[state]
                    && set.has(c)
                {
                    following.add(self, program, state + 1, at, &mut reached)?;
                }
            }
            std::mem::swap(&mut states, &mut following);
            following.clear();
        }
    }
}

impl Subject<'_> {
    /// Whether a program is done anywhere, wherever it begins: it begins anew at each place, beside the runs under way.
    pub fn occurs(&self, program: &Program) -> Result<bool> {
        let mut reached = Reached::default();
        let mut states = States::new(program.steps.len());
        let mut following = States::new(program.steps.len());
        let mut at = 0;
        loop {
            states.add(self, program, 0, at, &mut reached)?;
            if reached.first.is_some() {
                return Ok(true);
            }
            let Some(c) = self.next(at) else { return Ok(false) };
            at += c.len_utf8();
            self.tick(states.taking.len() + 1)?;
            for state in std::mem::take(&mut states.taking) {
                if let Step::Set(set) = &program.steps[state]
                    && set.has(c)
                {
                    following.add(self, program, state + 1, at, &mut reached)?;
                }
            }
            std::mem::swap(&mut states, &mut following);
            following.clear();
        }
    }
}

/// The states that a run is in.
struct States {
    seen: Vec<u32>,
    round: u32,
    /// Those that take a character next.
    taking: Vec<usize>,
    open: Vec<usize>,
}

impl States {
    fn new(count: usize) -> States {
        States { seen: vec![0; count], round: 1, taking: Vec::new(), open: Vec::new() }
    }

    fn clear(&mut self) {
        self.taking.clear();
        self.round += 1;
    }

    /// Adds a state and those that need no character.
    fn add(
        &mut self,
        subject: &Subject<'_>,
        program: &Program,
        state: usize,
        at: usize,
        reached: &mut Reached,
    ) -> Result<()> {
        self.open.push(state);
        while let Some(state) = self.open.pop() {
            if std::mem::replace(&mut self.seen[state], self.round) == self.round {
                continue;
            }
            match &program.steps[state] {
                Step::Set(_) => self.taking.push(state),
                Step::Split(one, other) => self.open.extend([*one, *other]),
                Step::Jump(to) => self.open.push(*to),
                Step::Assert(assert) if subject.holds(*assert, at) => self.open.push(state + 1),
                Step::Assert(_) => {}
                Step::Look { behind, negated, program } => {
                    let limit = if *behind { 0 } else { subject.text.len() };
                    let found = subject.run(program, at, limit, Until::First)?.first.is_some();
                    if found != *negated {
                        self.open.push(state + 1);
                    }
                }
                Step::Mark(part) => {
                    let (from, limit) = reached.range;
                    while reached.marks.len() <= *part {
                        reached.marks.push(Places::between(from, limit));
                    }
                    reached.marks[*part].insert(at);
                    self.open.push(state + 1);
                }
                Step::Match => {
                    reached.first.get_or_insert(at);
                    reached.last = Some(at);
                    if reached.all {
                        reached.ends.insert(at);
                    }
                }
            }
        }
        Ok(())
    }
}
