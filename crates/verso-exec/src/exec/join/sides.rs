//! Both inputs of a join: the right one held in memory, or both in parts, one after the other.

use verso_types::{Batch, SqlType};

use super::build::{Build, NONE};
use super::parts::{Part, Tasks, cut};
use crate::error::Result;
use crate::exec::ExecContext;
use crate::exec::operator::Operator;
use crate::expr::{Executor, ExprList};
use crate::plan::{JoinKind, TypedExpr};

/// The inputs, and what of the right one is built.
pub(super) struct Sides {
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    /// Which rows are wanted without a partner.
    kind: JoinKind,
    /// As errors name the operator.
    what: &'static str,
    pub left_types: Vec<SqlType>,
    right_types: Vec<SqlType>,
    left_keys: ExprList,
    right_keys: ExprList,
    pub build: Build,
    pub tasks: Tasks,
}

/// A batch of left rows.
#[derive(Default)]
pub(super) struct LeftRows {
    pub rows: Batch,
    keys: Batch,
    /// Per row its first candidate.
    pub heads: Vec<u32>,
}

impl Sides {
    pub fn new(
        left: (Box<dyn Operator>, Vec<SqlType>),
        right: (Box<dyn Operator>, Vec<SqlType>),
        (kind, what): (JoinKind, &'static str),
        equal: &[(TypedExpr, TypedExpr)],
        executor: Executor,
    ) -> Sides {
        Sides {
            kind,
            what,
            left_keys: ExprList::compile(equal.iter().map(|(left, _)| left), executor),
            right_keys: ExprList::compile(equal.iter().map(|(_, right)| right), executor),
            left: left.0,
            left_types: left.1,
            right: right.0,
            right_types: right.1,
            build: Build::default(),
            tasks: Tasks::default(),
        }
    }

    /// For rows of the left input.
    pub fn left_rows(&self) -> LeftRows {
        LeftRows {
            rows: Batch::of_types(&self.left_types),
            keys: Batch::of_types(self.left_keys.types()),
            heads: Vec::new(),
        }
    }

    /// Reads the right input to its end; where it may not be held, both inputs are cut into parts.
    pub fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let mut batch = Batch::of_types(&self.right_types);
        self.build = Build::new(cx, &self.right_types, self.what);
        self.right.open(cx)?;
        while self.right.next(cx, &mut batch)? {
            cx.check_cancelled()?;
            if let Err(refused) = self.build.add(cx, &mut self.right_keys, &batch)? {
                let Some(space) = cx.services.memory.temporary else { return Err(refused.error(self.what)) };
                let mut right = Part::new(space, &self.right_types, &self.right_keys, cx)?;
                let held = std::mem::take(&mut self.build.rows);
                self.build = Build::new(cx, &self.right_types, self.what);
                right.put_all(cx, &held, &mut self.right_keys)?;
                drop(held);
                right.put_all(cx, &batch, &mut self.right_keys)?;
                while self.right.next(cx, &mut batch)? {
                    cx.check_cancelled()?;
                    right.put_all(cx, &batch, &mut self.right_keys)?;
                }
                self.right.close();
                let mut left = Part::new(space, &self.left_types, &self.left_keys, cx)?;
                let mut batch = Batch::of_types(&self.left_types);
                self.left.open(cx)?;
                while self.left.next(cx, &mut batch)? {
                    cx.check_cancelled()?;
                    left.put_all(cx, &batch, &mut self.left_keys)?;
                }
                self.left.close();
                self.tasks.add(left, right, 0, self.kind)?;
                return self.next_task(cx).map(drop);
            }
        }
        self.right.close();
        self.build.finish(self.kind);
        self.left.open(cx)
    }

    /// Builds the next chunk of the part under way, or the first of the next one; false if there is none.
    pub fn next_task(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        self.build = Build::default();
        loop {
            self.build = Build::new(cx, &self.right_types, self.what);
            if !self.tasks.next_chunk()? {
                return Ok(false);
            }
            let mut batch = Batch::of_types(&self.right_types);
            let mut whole = true;
            while self.tasks.read_right(&mut batch)? {
                cx.check_cancelled()?;
                let Err(refused) = self.build.add(cx, &mut self.right_keys, &batch)? else { continue };
                if self.tasks.may_cut() && !self.right_keys.types().is_empty() {
                    self.build = Build::default();
                    let types = (&self.left_types[..], &self.right_types[..]);
                    cut(cx, &mut self.tasks, types, (&mut self.left_keys, &mut self.right_keys), self.kind)?;
                    whole = false;
                    break;
                }
                if self.build.rows.rows == 0 {
                    // Half of the rows may fit.
                    if batch.rows <= 1 {
                        return Err(refused.error(self.what));
                    }
                    let half = batch.rows / 2;
                    let behind: Vec<u32> = (half as u32..batch.rows as u32).collect();
                    self.tasks.put_back(batch.gather(&behind));
                    batch.truncate(half);
                    self.tasks.put_back(std::mem::replace(&mut batch, Batch::of_types(&self.right_types)));
                    continue;
                }
                // The chunk ends here; the batch is the next one's first.
                self.tasks.put_back(batch);
                self.tasks.chunk_is_full(cx, self.kind)?;
                break;
            }
            if whole {
                self.build.finish(self.kind);
                return Ok(true);
            }
        }
    }

    /// Reads the next left rows, of the part under way where there are parts, and finds their first candidates. False at
    /// the end.
    pub fn read_left(&mut self, cx: &ExecContext<'_>, bounded: bool, out: &mut LeftRows) -> Result<bool> {
        let more = if self.tasks.is_parted() {
            self.tasks.read_left(&mut out.rows)?
        } else {
            if bounded {
                self.left.bound(1); // one row may be enough
            }
            self.left.next(cx, &mut out.rows)?
        };
        if !more {
            return Ok(false);
        }
        out.heads.clear();
        if self.left_keys.types().is_empty() {
            let first = if self.build.rows.rows > 0 { 0 } else { NONE };
            out.heads.resize(out.rows.rows, first);
        } else {
            self.left_keys.eval(&cx.eval(), &out.rows, &mut out.keys)?;
            self.build.find(&out.keys, self.left_keys.types(), &mut out.heads);
        }
        Ok(true)
    }

    pub fn close(&mut self) {
        self.left.close();
        self.right.close();
        self.build = Build::default();
        self.tasks = Tasks::default();
    }
}
