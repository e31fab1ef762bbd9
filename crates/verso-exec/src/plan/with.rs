//! Changes in WITH.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Plan, Statement, TypedExpr};

/// A statement with changes in its WITH.
///
/// All of them read the state at the start, and each happens to its end, whether the others ask for its rows or not.
#[derive(Clone, Debug)]
pub struct With {
    /// What is read of tables after a change before it has altered them: computed before the first change.
    pub before: Vec<Arc<Plan>>,
    /// The changes and the statement itself, in the order in which they happen.
    pub parts: Vec<WithPart>,
    /// Several of them change one table: a row that one has changed is left alone by the others.
    pub watched: bool,
}

/// A change in WITH, or the statement behind it.
#[derive(Clone, Debug)]
pub struct WithPart {
    /// Its name; none for the statement itself.
    pub name: Option<Arc<str>>,
    /// What it does.
    pub statement: Statement,
    /// The number under which its rows are read, by [`Plan::WorkTable`]; none where nothing reads them.
    pub number: Option<usize>,
    /// The numbers of those whose rows it reads.
    pub reads: BTreeSet<usize>,
}

impl With {
    /// Numbers from here on are those of changes, not of recursive queries.
    pub const FIRST_NUMBER: usize = 1 << 20;

    /// The statement itself.
    #[must_use]
    pub fn main(&self) -> Option<&Statement> {
        self.parts.iter().find(|part| part.name.is_none()).map(|part| &part.statement)
    }

    /// The same, to change it.
    pub fn main_mut(&mut self) -> Option<&mut Statement> {
        self.parts.iter_mut().find(|part| part.name.is_none()).map(|part| &mut part.statement)
    }
}

/// The numbers that plans and expressions of a statement read.
#[must_use]
pub fn numbers_read(statement: &mut Statement) -> BTreeSet<usize> {
    let mut numbers = BTreeSet::new();
    let (plans, exprs) = statement.parts_mut();
    let mut look = |plan: &Plan| {
        plan.any(&mut |part| {
            if let Plan::WorkTable { number, .. } = part {
                numbers.insert(*number);
            }
            false
        });
    };
    plans.into_iter().for_each(|plan| look(plan));
    let mut inner: Vec<&Plan> = Vec::new();
    let exprs: Vec<&TypedExpr> = exprs.into_iter().map(|expr| &*expr).collect();
    exprs.into_iter().for_each(|expr| expr.for_each_subquery(&mut |plan| inner.push(plan)));
    inner.into_iter().for_each(look);
    numbers
}
