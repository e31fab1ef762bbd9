//! What calls of aggregates ask of a row, computed once where that has to be: by functions of users, and volatile ones.
//!
//! ```text
//! input ─► columns, conditions of FILTER ─► columns, conditions, arguments and keys of ORDER BY ─► groups
//! ```
//!
//! Rows that have no room go to files with what was computed for them, and are not asked again when they come back. As before
//! an argument is computed only for rows for which the condition of its call is true.

use verso_types::SqlType;

use crate::exec::operator::Operator;
use crate::exec::pipeline::ProjectOperator;
use crate::exec::turns::TurnsOperator;
use crate::expr::Executor;
use crate::plan::{AggregateCall, ExprKind, TypedExpr};

/// An input, the types of its columns, and calls over it.
pub(crate) type Computed = (Box<dyn Operator>, Vec<SqlType>, Vec<AggregateCall>);

/// The calls over columns of an input that has computed what they ask for; all as it is, where that may be computed again.
pub(crate) fn computed_once(
    input: Box<dyn Operator>,
    types: Vec<SqlType>,
    calls: &[AggregateCall],
    executor: Executor,
) -> Computed {
    let mut calls = calls.to_vec();
    if !calls.iter_mut().flat_map(of_row).any(|expr| expr.is_volatile()) {
        return (input, types, calls);
    }
    let mut computed = Columns { input, types, executor, has_acted: false };
    computed.add(calls.iter_mut().filter_map(|call| call.filter.as_mut()).collect());
    let mut asked = Vec::new();
    for call in &mut calls {
        let filter = call.filter.clone();
        for expr in call.args.iter_mut().chain(call.order_by.iter_mut().map(|key| &mut key.expr)) {
            if let Some(filter) = &filter {
                let value = std::mem::replace(expr, TypedExpr::null(SqlType::Unknown));
                let ty = value.ty.clone();
                let kind = ExprKind::Case { branches: vec![(filter.clone(), value)], otherwise: None };
                *expr = TypedExpr::new(kind, ty);
            }
            asked.push(expr);
        }
    }
    computed.add(asked);
    (computed.input, computed.types, calls)
}

/// What a call asks of each row.
fn of_row(call: &mut AggregateCall) -> impl Iterator<Item = &mut TypedExpr> {
    let keys = call.order_by.iter_mut().map(|key| &mut key.expr);
    call.args.iter_mut().chain(keys).chain(&mut call.filter)
}

struct Columns {
    input: Box<dyn Operator>,
    types: Vec<SqlType>,
    executor: Executor,
    /// Something was computed that does something: what is computed now, and does so too, takes turns with that.
    has_acted: bool,
}

impl Columns {
    /// Computes these as further columns, which take their places.
    fn add(&mut self, exprs: Vec<&mut TypedExpr>) {
        if exprs.is_empty() {
            return;
        }
        let acts = exprs.iter().any(|expr| expr.acts());
        let own = self.types.iter().enumerate();
        let mut all: Vec<TypedExpr> = own.map(|(at, ty)| TypedExpr::column(at, ty.clone())).collect();
        for expr in exprs {
            let column = TypedExpr::column(all.len(), expr.ty.clone());
            all.push(std::mem::replace(expr, column));
        }
        let mut input = std::mem::replace(&mut self.input, Box::new(crate::exec::operator::Nothing));
        if acts && self.has_acted {
            input = TurnsOperator::over(input);
        }
        self.has_acted |= acts;
        let types: Vec<SqlType> = all.iter().map(|expr| expr.ty.clone()).collect();
        self.input = Box::new(ProjectOperator::new(input, &self.types, &all, self.executor));
        self.types = types;
    }
}
