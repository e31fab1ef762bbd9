//! Rows that stand in the text of a statement.
//!
//! Rows of literals, of which a text may hold hundreds of thousands, are columns; others are compiled, but where there are
//! many each is compiled when it comes and forgotten then.

use std::borrow::Cow;

use verso_types::{Batch, SqlType};

use super::source::ONE_ROW;
use crate::context::EvalContext;
use crate::error::Result;
use crate::expr::{Executor, ExprList, RowInput};
use crate::plan::{ExprKind, TypedExpr};

/// Rows whose expressions stay compiled.
const COMPILED_MAX: usize = 256;

/// The rows of a VALUES list.
pub(super) struct ListedRows {
    rows: Vec<ListedRow>,
    literals: Batch,
    types: Vec<SqlType>,
}

enum ListedRow {
    /// A row of the literals.
    Literals(u32),
    Compiled(Box<ExprList>),
    /// Of types that are not the columns'.
    Converted(Box<ExprList>),
    Exprs(Box<[TypedExpr]>),
}

impl ListedRows {
    /// Rows of expressions without columns, of these types.
    pub fn new<'r>(
        rows: impl ExactSizeIterator<Item = Cow<'r, Vec<TypedExpr>>>,
        types: Vec<SqlType>,
    ) -> ListedRows {
        let many = rows.len() > COMPILED_MAX;
        let mut literals = Batch::of_types(&types);
        let rows = rows
            .map(|row| match push_literals(&row, &types, &mut literals) {
                true => ListedRow::Literals(literals.rows as u32 - 1),
                false if many => ListedRow::Exprs(row.into_owned().into()),
                // one row each: closures
                false => {
                    let list = Box::new(ExprList::compile(row.iter(), Executor::Row));
                    if list.types() == types { ListedRow::Compiled(list) } else { ListedRow::Converted(list) }
                }
            })
            .collect();
        ListedRows { rows, literals, types }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Appends a row to a batch.
    pub fn push(&self, row: usize, cx: &EvalContext<'_>, out: &mut Batch) -> Result<()> {
        let input = RowInput::new(&ONE_ROW, 0);
        let compiled;
        let list = match &self.rows[row] {
            ListedRow::Literals(row) => {
                let row = *row as usize;
                for (from, to) in self.literals.columns.iter().zip(&mut out.columns) {
                    to.append_range(from, row..row + 1);
                }
                out.rows += 1;
                return Ok(());
            }
            ListedRow::Compiled(list) => return list.push_row(cx, input, out),
            ListedRow::Converted(list) => &**list,
            ListedRow::Exprs(exprs) => {
                compiled = ExprList::compile(exprs.iter(), Executor::Row);
                &compiled
            }
        };
        let values = list.eval_row(cx, input)?;
        Ok(out.push_row(&values, &self.types)?)
    }
}

/// Adds a row if all of it are literals that fit their columns, and there is room.
fn push_literals(row: &[TypedExpr], types: &[SqlType], literals: &mut Batch) -> bool {
    if row.len() != types.len() || literals.heap_bytes() > 1 << 30 {
        return false;
    }
    for ((expr, column), ty) in row.iter().zip(&mut literals.columns).zip(types) {
        let pushed = match &expr.kind {
            ExprKind::Literal(value) => column.push_value(value, ty).is_ok(),
            _ => false,
        };
        if !pushed {
            literals.truncate(literals.rows);
            return false;
        }
    }
    literals.rows += 1;
    true
}
