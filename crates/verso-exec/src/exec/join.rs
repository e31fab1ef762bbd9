//! Joins: the right input is held in memory, hashed by the equal expressions; left rows look their partners up.
//!
//! J1. Pairs come out in the order of the left input, and among equals in that of the right one; right rows without a
//!     partner come last.
//! J2. A NULL in an equal expression has no partner.
//! J3. Without equal expressions every right row is a candidate (nested loop).

use std::collections::HashMap;

use verso_env::stack;
use verso_types::{Batch, SqlType};

use super::operator::Operator;
use super::{BATCH_ROWS, ExecContext, key, spool};
use crate::error::Result;
use crate::expr::{Executor, ExprList, Predicate};
use crate::plan::{JoinKind, TypedExpr};

/// No row.
const NONE: u32 = u32::MAX;

/// A hash join.
pub(crate) struct JoinOperator {
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    kind: JoinKind,
    left_types: Vec<SqlType>,
    right_types: Vec<SqlType>,
    left_keys: ExprList,
    right_keys: ExprList,
    filter: Option<Predicate>,
    build: Build,
    probe: Probe,
    /// The left input has ended; right rows up to this one have been looked at.
    tail: Option<usize>,
    selection: Vec<u32>,
    /// Not all pairs may be wanted.
    bounded: bool,
}

/// The right input.
#[derive(Default)]
struct Build {
    rows: Batch,
    /// First row of each key.
    heads: HashMap<Box<[u8]>, u32>,
    /// Per row the next one of the same key.
    next: Vec<u32>,
    /// Per row whether it has had a partner; kept where that matters.
    matched: Vec<bool>,
}

/// A batch of left rows.
#[derive(Default)]
struct Probe {
    rows: Batch,
    keys: Batch,
    /// Per row its first candidate.
    heads: Vec<u32>,
    matched: Vec<bool>,
    row: usize,
    candidate: u32,
    /// Pairs of this batch may still come.
    active: bool,
    left: Vec<u32>,
    right: Vec<u32>,
}

impl JoinOperator {
    #[allow(clippy::too_many_arguments, reason = "the parts of the plan's operator")]
    pub fn new(
        left: (Box<dyn Operator>, Vec<SqlType>),
        right: (Box<dyn Operator>, Vec<SqlType>),
        kind: JoinKind,
        equal: &[(TypedExpr, TypedExpr)],
        filter: Option<&TypedExpr>,
        executor: Executor,
    ) -> Self {
        Self {
            kind,
            left_keys: ExprList::compile(equal.iter().map(|(left, _)| left), executor),
            right_keys: ExprList::compile(equal.iter().map(|(_, right)| right), executor),
            filter: filter.map(|filter| Predicate::compile(filter, executor)),
            left: left.0,
            left_types: left.1,
            right: right.0,
            right_types: right.1,
            build: Build::default(),
            probe: Probe::default(),
            tail: None,
            selection: Vec::new(),
            bounded: false,
        }
    }

    /// Reads the right input to its end.
    fn hash_right(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let mut build = Build { rows: Batch::of_types(&self.right_types), ..Build::default() };
        let mut batch = Batch::of_types(&self.right_types);
        self.right.open(cx)?;
        while self.right.next(cx, &mut batch)? {
            cx.check_cancelled()?;
            build.rows.append(&batch);
            spool::check_memory(cx, "a join", build.rows.heap_bytes() as u64)?;
        }
        self.right.close();
        let rows = build.rows.rows;
        if self.right_keys.types().is_empty() {
            build.next = (1..rows as u32).chain((rows > 0).then_some(NONE)).collect();
        } else {
            self.hash_keys(cx, &mut build)?;
        }
        if self.kind.pads_left() {
            build.matched = vec![false; rows];
        }
        self.build = build;
        Ok(())
    }

    /// Chains the rows of each key.
    fn hash_keys(&mut self, cx: &ExecContext<'_>, build: &mut Build) -> Result<()> {
        let rows = build.rows.rows;
        let mut keys = Batch::of_types(self.right_keys.types());
        self.right_keys.eval(&cx.eval(), &build.rows, &mut keys)?;
        build.next = vec![NONE; rows];
        let mut encoded = Vec::new();
        // Backwards, so that each list runs forwards (J1).
        for row in (0..rows).rev() {
            if keys.columns.iter().any(|column| column.is_null(row)) {
                continue;
            }
            encoded.clear();
            key::encode(&keys, self.right_keys.types(), row, &mut encoded);
            match build.heads.get_mut(encoded.as_slice()) {
                Some(head) => build.next[row] = std::mem::replace(head, row as u32),
                None => {
                    build.heads.insert(encoded.as_slice().into(), row as u32);
                }
            }
        }
        let bytes = build.rows.heap_bytes() + build.heads.len() * (encoded.len() + 48) + rows * 4;
        spool::check_memory(cx, "a join", bytes as u64)
    }

    /// Reads the next left rows and finds their first candidates. False at the end.
    fn read_left(&mut self, cx: &ExecContext<'_>, bounded: bool) -> Result<bool> {
        if bounded {
            self.left.bound(1); // one row may be enough
        }
        if !self.left.next(cx, &mut self.probe.rows)? {
            return Ok(false);
        }
        let probe = &mut self.probe;
        let rows = probe.rows.rows;
        probe.heads.clear();
        if self.left_keys.types().is_empty() {
            let first = if self.build.rows.rows > 0 { 0 } else { NONE };
            probe.heads.resize(rows, first);
        } else {
            self.left_keys.eval(&cx.eval(), &probe.rows, &mut probe.keys)?;
            let mut encoded = Vec::new();
            for row in 0..rows {
                if probe.keys.columns.iter().any(|column| column.is_null(row)) {
                    probe.heads.push(NONE);
                    continue;
                }
                encoded.clear();
                key::encode(&probe.keys, self.left_keys.types(), row, &mut encoded);
                probe.heads.push(self.build.heads.get(encoded.as_slice()).copied().unwrap_or(NONE));
            }
        }
        probe.matched.clear();
        probe.matched.resize(rows, false);
        probe.row = 0;
        probe.candidate = probe.heads.first().copied().unwrap_or(NONE);
        probe.active = true;
        Ok(true)
    }

    /// Lists the next candidate pairs of the batch; none at its end.
    fn list_pairs(&mut self) {
        let Probe { heads, row, candidate, left, right, .. } = &mut self.probe;
        left.clear();
        right.clear();
        while *row < heads.len() && left.len() < BATCH_ROWS {
            if *candidate == NONE {
                *row += 1;
                *candidate = heads.get(*row).copied().unwrap_or(NONE);
                continue;
            }
            left.push(*row as u32);
            right.push(*candidate);
            *candidate = self.build.next[*candidate as usize];
        }
    }

    /// The pairs listed that pass the filter.
    fn pairs(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<()> {
        let Probe { rows, left, right, matched, .. } = &mut self.probe;
        out.clear();
        let width = self.left_types.len();
        for (from, to) in rows.columns.iter().zip(&mut out.columns[..width]) {
            from.gather_into(left, to);
        }
        for (from, to) in self.build.rows.columns.iter().zip(&mut out.columns[width..]) {
            from.gather_into(right, to);
        }
        out.rows = left.len();
        self.selection.clear();
        match &mut self.filter {
            Some(filter) => {
                if let Some(error) = filter.select(&cx.eval(), out, &mut self.selection) {
                    return Err(error);
                }
                out.filter(&self.selection);
            }
            None => self.selection.extend(0..left.len() as u32),
        }
        for pair in &self.selection {
            matched[left[*pair as usize] as usize] = true;
            if let Some(matched) = self.build.matched.get_mut(right[*pair as usize] as usize) {
                *matched = true;
            }
        }
        Ok(())
    }

    /// Left rows of the batch without a partner.
    fn lonely_left(&mut self, out: &mut Batch) {
        let rows = 0..self.probe.rows.rows as u32;
        self.selection.clear();
        self.selection.extend(rows.filter(|row| !self.probe.matched[*row as usize]));
        out.clear();
        let (left, right) = out.columns.split_at_mut(self.left_types.len());
        for (from, to) in self.probe.rows.columns.iter().zip(left) {
            from.gather_into(&self.selection, to);
        }
        right.iter_mut().for_each(|column| column.push_nulls(self.selection.len()));
        out.rows = self.selection.len();
    }

    /// The next right rows without a partner. False at the end.
    fn lonely_right(&mut self, out: &mut Batch) -> bool {
        let Some(at) = &mut self.tail else { return false };
        self.selection.clear();
        while *at < self.build.matched.len() && self.selection.len() < BATCH_ROWS {
            if !self.build.matched[*at] {
                self.selection.push(*at as u32);
            }
            *at += 1;
        }
        out.clear();
        let (left, right) = out.columns.split_at_mut(self.left_types.len());
        left.iter_mut().for_each(|column| column.push_nulls(self.selection.len()));
        for (from, to) in self.build.rows.columns.iter().zip(right) {
            from.gather_into(&self.selection, to);
        }
        out.rows = self.selection.len();
        out.rows > 0
    }
}

impl Operator for JoinOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        self.close();
        self.probe = Probe {
            rows: Batch::of_types(&self.left_types),
            keys: Batch::of_types(self.left_keys.types()),
            ..Probe::default()
        };
        self.bounded = false;
        self.hash_right(cx)?;
        self.left.open(cx)
    }

    fn bound(&mut self, _: u64) {
        self.bounded = true;
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if self.tail.is_some() {
            return Ok(self.lonely_right(out));
        }
        let bounded = std::mem::take(&mut self.bounded);
        let needs_left = self.kind.pads_right() || self.build.rows.rows > 0;
        loop {
            cx.check_cancelled()?;
            if !self.probe.active {
                let more = needs_left && self.read_left(cx, bounded)?;
                if !more {
                    self.tail = Some(0);
                    return Ok(self.lonely_right(out));
                }
            }
            self.list_pairs();
            if self.probe.left.is_empty() {
                self.probe.active = false;
                if self.kind.pads_right() {
                    self.lonely_left(out);
                    if out.rows > 0 {
                        return Ok(true);
                    }
                }
                continue;
            }
            self.pairs(cx, out)?;
            if out.rows > 0 {
                return Ok(true);
            }
        }
    }

    fn close(&mut self) {
        self.left.close();
        self.right.close();
        self.build = Build::default();
        self.probe = Probe::default();
        self.tail = None;
    }
}
