//! What the groups of a match are: the match is taken apart, from its whole to its parts, the earlier parts first.
//!
//! D1. Where the parts of a row may divide a text in several ways, each part, from left to right, takes the length that it
//!     prefers among those with which the rest can still match.
//! D2. Of several branches the first counts that matches the whole text.
//! D3. Of a part that repeats, what its last round has captured counts.
//! D4. Only a part that refers back may fail here; then the next division is tried, not another one of the parts before.

use std::collections::HashSet;

use verso_env::stack;
use verso_types::TypeError;

use super::case::small;
use super::invalid;
use super::places::Places;
use super::program::{Budget, Program};
use super::simulate::{Reached, Subject, Until};
use super::syntax::{Greed, Node};
use crate::error::{ExecError, Result};

/// Where the groups have matched.
pub(super) type Groups = Vec<Option<(usize, usize)>>;

/// A part of an expression with what takes it apart.
#[derive(Debug)]
pub(super) struct Tree {
    part: Part,
    greed: Greed,
    /// It refers back.
    backs: bool,
    /// From its beginning to its ends.
    program: Program,
}

#[derive(Debug)]
enum Part {
    /// Nothing within it is captured or refers back.
    Plain,
    Back {
        group: usize,
        fold: bool,
    },
    Group(usize, Box<Tree>),
    Row {
        parts: Vec<Tree>,
        backward: Program,
    },
    Branches(Vec<Tree>),
    Rounds {
        one: Box<Tree>,
        backward: Program,
        min: u32,
        max: Option<u32>,
    },
}

impl Tree {
    pub fn of(node: &Node, fold: bool, budget: &mut Budget) -> Result<Tree, TypeError> {
        if stack::check().is_err() {
            return Err(invalid("regular expression is too complex"));
        }
        let (backs, program) = (node.has_back(), Program::of(node, false, budget)?);
        let tree = |part| Tree { part, greed: node.greed(), backs, program };
        if !backs && !node.captures() {
            return Ok(tree(Part::Plain));
        }
        Ok(match node {
            Node::Group(number, inner) => {
                tree(Part::Group(*number, Box::new(Tree::of(inner, fold, budget)?)))
            }
            Node::Back(group) => tree(Part::Back { group: *group, fold }),
            Node::Concat(parts) => tree(row(parts, fold, budget)?),
            Node::Alternate(branches) => {
                let branches =
                    branches.iter().map(|branch| Tree::of(branch, fold, budget)).collect::<Result<_, _>>()?;
                tree(Part::Branches(branches))
            }
            // What the rounds before the last have captured does not count: they are one plain part.
            Node::Repeat { node: one, min, max, greed } if *min > 0 && !backs => {
                let before = Node::Repeat {
                    node: Box::new(uncaptured(one)),
                    min: min - 1,
                    max: max.map(|max| max - 1),
                    greed: if *greed == Greed::None { one.greed() } else { *greed },
                };
                tree(row(&[before, (**one).clone()], fold, budget)?)
            }
            Node::Repeat { node: one, min, max, greed } => {
                let rounds = Node::Repeat { node: one.clone(), min: 0, max: None, greed: *greed };
                let backward = Program::of(&rounds, true, budget)?;
                tree(Part::Rounds {
                    one: Box::new(Tree::of(one, fold, budget)?),
                    backward,
                    min: *min,
                    max: *max,
                })
            }
            Node::Empty | Node::Set(_) | Node::Assert(_) | Node::Look { .. } => tree(Part::Plain),
        })
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    pub fn greed(&self) -> Greed {
        self.greed
    }

    pub fn backs(&self) -> bool {
        self.backs
    }

    /// Finds the groups of a text that the tree matches; false where a part that refers back does not (D4).
    pub fn dissect(
        &self,
        subject: &Subject<'_>,
        from: usize,
        to: usize,
        groups: &mut Groups,
    ) -> Result<bool> {
        stack::check().map_err(|_| ExecError::TooDeep)?;
        match &self.part {
            Part::Plain => Ok(true),
            Part::Back { group, fold } => {
                let Some((start, end)) = groups.get(*group).copied().flatten() else { return Ok(false) };
                let (given, here) = (&subject.text[start..end], &subject.text[from..to]);
                subject.tick(given.len())?;
                Ok(given == here || *fold && is_same_folded(given, here))
            }
            Part::Group(number, inner) => {
                let matched = inner.dissect(subject, from, to, groups)?;
                if matched {
                    groups[*number] = Some((from, to));
                }
                Ok(matched)
            }
            Part::Row { parts, backward } => {
                let rest = subject.run(backward, to, from, Until::All)?;
                Row { parts, rest, to }.divide(subject, 0, from, groups)
            }
            Part::Branches(branches) => {
                for branch in branches {
                    let reached = subject.run(&branch.program, from, to, Until::Last)?;
                    if reached.last == Some(to) && branch.dissect(subject, from, to, groups)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            // No round is short enough.
            Part::Rounds { one, min: 0, max, .. }
                if from == to && (*max == Some(0) || one.greed == Greed::Shortest) =>
            {
                Ok(true)
            }
            Part::Rounds { one, min, .. } if from == to => {
                // An empty round, if one can be empty; else none at all.
                let reached = subject.run(&one.program, from, to, Until::First)?;
                match reached.first.is_none() {
                    true => Ok(*min == 0),
                    false => Ok(one.dissect(subject, from, to, groups)? || *min == 0),
                }
            }
            Part::Rounds { one, backward, min: _, max } => {
                let rest = subject.run(backward, to, from, Until::All)?;
                if max.is_none() && !one.backs {
                    return endless(one, &rest, subject, (from, to), groups);
                }
                let mut rounds =
                    Rounds { one, rest, to, max: *max, hopeless: HashSet::new(), places: vec![from] };
                rounds.run(subject, groups)
            }
        }
    }

    /// The ends that the tree has from a place; it prefers the last ones unless it is to be short.
    fn ends(&self, subject: &Subject<'_>, from: usize, limit: usize) -> Result<Places> {
        Ok(subject.run(&self.program, from, limit, Until::All)?.ends)
    }

    fn prefers_long(&self) -> bool {
        self.greed != Greed::Shortest
    }
}

fn row(parts: &[Node], fold: bool, budget: &mut Budget) -> Result<Part, TypeError> {
    let backward = Program::of_row(parts, true, true, budget)?;
    let parts = parts.iter().map(|part| Tree::of(part, fold, budget)).collect::<Result<_, _>>()?;
    Ok(Part::Row { parts, backward })
}

/// Rounds without end, each as long as it prefers; the last one is taken apart (D3).
fn endless(
    one: &Tree,
    rest: &Reached,
    subject: &Subject<'_>,
    (from, to): (usize, usize),
    groups: &mut Groups,
) -> Result<bool> {
    let (mut start, mut at) = (from, from);
    while at < to {
        let ends = one.ends(subject, at, to)?;
        let mut fit = ends.iter(one.prefers_long()).filter(|end| *end > at && rest.ends.contains(*end));
        let Some(end) = fit.next() else { return Ok(false) };
        (start, at) = (at, end);
    }
    one.dissect(subject, start, at, groups)
}

/// The same without groups.
fn uncaptured(node: &Node) -> Node {
    match node {
        Node::Group(_, inner) => uncaptured(inner),
        Node::Concat(parts) => Node::Concat(parts.iter().map(uncaptured).collect()),
        Node::Alternate(parts) => Node::Alternate(parts.iter().map(uncaptured).collect()),
        Node::Repeat { node, min, max, greed } => {
            Node::Repeat { node: Box::new(uncaptured(node)), min: *min, max: *max, greed: *greed }
        }
        other => other.clone(),
    }
}

fn is_same_folded(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.chars(), b.chars());
    loop {
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some(x), Some(y)) if x == y || small(x) == small(y) => {}
            _ => return false,
        }
    }
}

/// Parts in a row, and where each may begin so that it and those behind it match up to the end.
struct Row<'t> {
    parts: &'t [Tree],
    rest: Reached,
    to: usize,
}

impl Row<'_> {
    fn may_end(&self, part: usize, at: usize) -> bool {
        match self.rest.marks.get(part + 1) {
            _ if part + 1 == self.parts.len() => at == self.to,
            Some(begins) => begins.contains(at),
            None => false,
        }
    }

    fn divide(&self, subject: &Subject<'_>, first: usize, from: usize, groups: &mut Groups) -> Result<bool> {
        let mut at = from;
        for (number, part) in self.parts.iter().enumerate().skip(first) {
            let last = number + 1 == self.parts.len();
            let (found, only) = match last {
                true => (Places::default(), Some(self.to)),
                false => (part.ends(subject, at, self.to)?, None),
            };
            let ends = only.into_iter().chain(found.iter(part.prefers_long()));
            let mut ends = ends.filter(|end| self.may_end(number, *end));
            if self.parts[number..].iter().any(Tree::backs) {
                for end in ends {
                    let before = groups.clone();
                    if part.dissect(subject, at, end, groups)?
                        && self.divide(subject, number + 1, end, groups)?
                    {
                        return Ok(true);
                    }
                    *groups = before;
                    subject.tick(1)?;
                }
                return Ok(false);
            }
            let Some(end) = ends.next() else { return Ok(false) };
            if !part.dissect(subject, at, end, groups)? {
                return Ok(false);
            }
            at = end;
        }
        Ok(at == self.to)
    }
}

/// A part that repeats.
struct Rounds<'t> {
    one: &'t Tree,
    rest: Reached,
    to: usize,
    max: Option<u32>,
    /// Places from which so many rounds do not reach the end.
    hopeless: HashSet<(usize, usize)>,
    /// Where the rounds begin, and the last one ends.
    places: Vec<usize>,
}

impl Rounds<'_> {
    /// Tries rounds, each as long as it prefers, back from where they do not reach the end.
    fn run(&mut self, subject: &Subject<'_>, groups: &mut Groups) -> Result<bool> {
        let mut choices = vec![self.choices(subject)?];
        loop {
            subject.tick(1)?;
            let Some(open) = choices.last_mut() else { return Ok(false) };
            let Some(end) = open.pop() else {
                choices.pop();
                let from = self.places.pop();
                if !self.one.backs {
                    self.hopeless.extend(from.map(|from| (from, self.places.len())));
                }
                continue;
            };
            // Those of rounds that were given up are gone.
            self.places.truncate(choices.len());
            self.places.push(end);
            if end == self.to {
                if self.verify(subject, groups)? {
                    return Ok(true);
                }
                self.places.pop();
                continue;
            }
            let full = self.max.is_some_and(|max| choices.len() >= max as usize);
            if full || self.hopeless.contains(&(end, self.places.len() - 1)) {
                self.places.pop();
                continue;
            }
            choices.push(self.choices(subject)?);
        }
    }

    /// The ends of the next round, the preferred one last.
    fn choices(&self, subject: &Subject<'_>) -> Result<Vec<usize>> {
        let from = self.places[self.places.len() - 1];
        let ends = self.one.ends(subject, from, self.to)?;
        let fit = |end: &usize| *end > from && self.rest.ends.contains(*end);
        Ok(ends.iter(!self.one.prefers_long()).filter(fit).collect())
    }

    fn verify(&self, subject: &Subject<'_>, groups: &mut Groups) -> Result<bool> {
        let rounds: Vec<(usize, usize)> = self.places.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let before = groups.clone();
        // What earlier rounds have captured only matters to those who refer to it.
        let first = if self.one.backs { 0 } else { rounds.len().saturating_sub(1) };
        for (from, to) in &rounds[first..] {
            if !self.one.dissect(subject, *from, *to, groups)? {
                *groups = before;
                return Ok(false);
            }
        }
        Ok(true)
    }
}
