//! Random values drawn ahead of a projection, so that kernels compute the rest of it.
//!
//! ```text
//! names[1 + trunc(random() * 12)::int], trunc(random() * 10000)
//!                 └── column w                    └── column w + 1     of an input with w columns
//! ```
//!
//! D1. A call is taken out only where each row makes it, and only when no other part of the projection is volatile. The
//!     calls are made row by row, in the order in which the expressions have them: whoever sets a seed gets the same values.
//! D2. Nobody draws for rows that are not asked for: what a LIMIT leaves out stays in the generator.

use std::sync::Arc;

use verso_env::stack;
use verso_types::{Batch, Column, SqlType};

use crate::context::EvalContext;
use crate::error::Result;
use crate::expr::{RowExpr, RowInput};
use crate::plan::{ExprKind, TypedExpr};

/// Functions without arguments that neither fail nor do anything but draw.
const DRAWN: [&str; 4] = ["random", "gen_random_uuid", "uuidv4", "uuidv7"];

/// A call that was taken out.
#[derive(Debug)]
struct Draw {
    call: RowExpr,
    ty: SqlType,
}

/// The columns of drawn values behind those of a batch.
#[derive(Debug)]
pub(super) struct Drawn {
    draws: Arc<[Draw]>,
    /// How many columns the input has.
    width: usize,
    /// The columns while the input fills the batch.
    aside: Vec<Column>,
    /// Rows of the batch that have their values.
    rows: usize,
}

impl Drawn {
    /// The expressions over an input of `width` columns with their calls taken out (D1). `None` where there is none, or
    /// where something else is volatile.
    pub fn take_out(exprs: &[TypedExpr], width: usize) -> Option<(Vec<TypedExpr>, Drawn)> {
        if !exprs.iter().any(TypedExpr::is_volatile_by_itself) {
            return None;
        }
        let (mut exprs, mut draws) = (exprs.to_vec(), Vec::new());
        if !exprs.iter_mut().all(|expr| take(expr, width, &mut draws)) {
            return None;
        }
        let aside = columns(&draws);
        Some((exprs, Drawn { draws: draws.into(), width, aside, rows: 0 }))
    }

    /// The same for another batch.
    pub fn fresh(&self) -> Drawn {
        let aside = columns(&self.draws);
        Drawn { draws: Arc::clone(&self.draws), width: self.width, aside, rows: 0 }
    }

    /// Before the input fills the batch: leaves it the columns of the input.
    pub fn put_aside(&mut self, batch: &mut Batch) {
        if batch.columns.len() > self.width {
            self.aside = batch.columns.split_off(self.width);
        }
    }

    /// After that: puts the columns behind them, empty.
    pub fn put_back(&mut self, batch: &mut Batch) {
        self.rows = 0;
        for (mut column, draw) in self.aside.drain(..).zip(self.draws.iter()) {
            // The one that came back for it may have another layout.
            match column.physical() == draw.ty.physical() {
                true => column.clear(),
                false => column = Column::new(draw.ty.physical()),
            }
            batch.columns.push(column);
        }
    }

    /// Draws for the rows up to `end` (D2).
    /// # Errors
    /// Whatever the functions report: they do not.
    pub fn fill(&mut self, cx: &EvalContext<'_>, batch: &mut Batch, end: usize) -> Result<()> {
        static NOTHING: Batch = Batch { rows: 1, columns: Vec::new() };
        for _ in self.rows..end {
            for (draw, column) in self.draws.iter().zip(&mut batch.columns[self.width..]) {
                draw.call.push(cx, RowInput::new(&NOTHING, 0), column, &draw.ty)?;
            }
        }
        self.rows = self.rows.max(end);
        Ok(())
    }
}

fn columns(draws: &[Draw]) -> Vec<Column> {
    draws.iter().map(|draw| Column::new(draw.ty.physical())).collect()
}

/// Replaces the calls within an expression by columns. False where a part of it that is volatile stays.
fn take(expr: &mut TypedExpr, width: usize, draws: &mut Vec<Draw>) -> bool {
    if stack::check().is_err() {
        return false;
    }
    match &expr.kind {
        ExprKind::Call { function, args } if args.is_empty() && DRAWN.contains(&function.name) => {
            let kind = ExprKind::Column(width + draws.len());
            draws.push(Draw { call: RowExpr::compile(expr), ty: expr.ty.clone() });
            expr.kind = kind;
            true
        }
        // All of their parts are computed for each row.
        ExprKind::Call { .. }
        | ExprKind::Cast { .. }
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::Array(_)
        | ExprKind::Row(_)
            if !expr.is_volatile_call() =>
        {
            let mut all = true;
            expr.for_each_child_mut(&mut |part| all = all && take(part, width, draws));
            all
        }
        _ => !expr.is_volatile(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, column};

    fn random() -> TypedExpr {
        call("random", Vec::new())
    }

    #[test]
    fn what_is_not_called_for_each_row_stays() {
        let branches = vec![(column(0, SqlType::Bool), random())];
        let case = TypedExpr::new(ExprKind::Case { branches, otherwise: None }, SqlType::Float8);
        assert!(Drawn::take_out(std::slice::from_ref(&case), 1).is_none());
        assert!(Drawn::take_out(&[random(), case], 1).is_none(), "all or nothing");
        let (exprs, drawn) = Drawn::take_out(&[random(), random()], 3).expect("two calls");
        assert_eq!(exprs.iter().map(|expr| expr.as_column()).collect::<Vec<_>>(), [Some(3), Some(4)]);
        assert_eq!(drawn.draws.len(), 2);
        assert!(Drawn::take_out(&exprs, 5).is_none(), "nothing is volatile any more");
    }
}
