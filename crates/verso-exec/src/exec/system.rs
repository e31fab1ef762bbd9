//! Rows of system views, which the session makes.
//!
//! S1. Keys are hints: the session may yield other rows, too, and a filter has the last word.
//! S2. A key that is NULL is equal to nothing: no row is made.
//! S3. Of several values of a column each is asked for by itself, once; a row comes with the value that it has.
//! S4. Without keys the session may have the rows ready, column by column; then none is made.

use verso_catalog::{Asked, KeptRows, SystemRowIter, SystemView};
use verso_types::{Batch, SqlType, Value, cmp_sql};

use super::operator::Operator;
use super::source::types;
use super::{BATCH_ROWS, ExecContext};
use crate::context::EvalContext;
use crate::error::Result;
use crate::expr::RowExpr;
use crate::plan::{KeyMatch, OutputColumn, TypedExpr};

/// Rows of a system view.
pub(crate) struct SystemOperator {
    view: SystemView,
    args: Vec<RowExpr>,
    /// Columns of the view and what they are to be equal to.
    keys: Vec<(usize, RowExpr)>,
    /// A column that is to have one of several values.
    listed: Option<(usize, Listed)>,
    columns: Vec<usize>,
    types: Vec<SqlType>,
    rows: SystemRowIter,
    /// In their place all rows as they are kept, and which of them comes next (S4).
    kept: Option<(KeptRows, usize)>,
    looked_up: LookedUp,
}

/// Where several values come from.
enum Listed {
    In(Vec<RowExpr>),
    Any(RowExpr),
}

/// What the rows of a view are asked for, one value of the listed column after the other.
#[derive(Default)]
struct LookedUp {
    args: Vec<Value>,
    keys: Vec<(usize, Value)>,
    values: std::vec::IntoIter<Value>,
    /// The value whose rows are being read: no others are taken, as they come for another value, too.
    current: Option<(usize, Value)>,
}

impl SystemOperator {
    pub fn new(
        view: SystemView,
        (args, keys): (&[TypedExpr], &[(usize, KeyMatch)]),
        columns: &[usize],
        output: &[OutputColumn],
    ) -> Self {
        Self {
            view,
            args: args.iter().map(RowExpr::compile).collect(),
            keys: (keys.iter())
                .filter_map(|(column, key)| match key {
                    KeyMatch::Equal(key) => Some((*column, RowExpr::compile(key))),
                    _ => None,
                })
                .collect(),
            listed: keys.iter().find_map(|(column, key)| match key {
                KeyMatch::In(list) => {
                    Some((*column, Listed::In(list.iter().map(RowExpr::compile).collect())))
                }
                KeyMatch::Any(array) => Some((*column, Listed::Any(RowExpr::compile(array)))),
                KeyMatch::Equal(_) | KeyMatch::Null => None,
            }),
            columns: columns.to_vec(),
            types: types(output),
            rows: Box::new(std::iter::empty()),
            kept: None,
            looked_up: LookedUp::default(),
        }
    }

    /// The values of the listed column, each once; nothing where they cannot be told.
    fn values(&self, eval: &EvalContext<'_>) -> Option<(usize, Vec<Value>)> {
        let (column, listed) = self.listed.as_ref()?;
        // An error in a key is one of the condition, which is evaluated for rows only.
        let mut values: Vec<Value> = match listed {
            Listed::In(list) => {
                list.iter().map(|value| value.eval_constant(eval)).collect::<Result<_>>().ok()?
            }
            Listed::Any(array) => match array.eval_constant(eval).ok()? {
                Value::Array(array) => array.iter().cloned().collect(),
                _ => return None,
            },
        };
        values.retain(|value| !value.is_null());
        values.sort_by(cmp_sql);
        values.dedup_by(|a, b| cmp_sql(a, b).is_eq());
        Some((*column, values))
    }

    /// Asks for the rows of the next value. False where there is none.
    fn ask_next(&mut self, cx: &ExecContext<'_>) -> bool {
        let Some((column, _)) = self.looked_up.current else { return false };
        let Some(value) = self.looked_up.values.next() else { return false };
        let mut keys = self.looked_up.keys.clone();
        keys.push((column, value.clone()));
        self.looked_up.current = Some((column, value));
        self.rows = self.rows_of(cx, &keys);
        true
    }

    fn rows_of(&self, cx: &ExecContext<'_>, keys: &[(usize, Value)]) -> SystemRowIter {
        let asked = Asked { keys, columns: &self.columns };
        cx.services.views.rows(self.view, &self.looked_up.args, asked)
    }
}

impl Operator for SystemOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let eval = cx.eval();
        self.kept = None;
        self.looked_up.args = self.args.iter().map(|arg| arg.eval_constant(&eval)).collect::<Result<_>>()?;
        let mut keys = Vec::with_capacity(self.keys.len());
        for (column, key) in &self.keys {
            // An error in a key is one of the condition, which is evaluated for rows only.
            match key.eval_constant(&eval) {
                Ok(Value::Null) => {
                    self.looked_up = LookedUp::default();
                    self.rows = Box::new(std::iter::empty());
                    return Ok(());
                }
                Ok(value) => keys.push((*column, value)),
                Err(_) => {}
            }
        }
        match self.values(&eval) {
            Some((column, values)) => {
                self.looked_up.current = Some((column, Value::Null));
                (self.looked_up.keys, self.looked_up.values) = (keys, values.into_iter());
                self.rows = Box::new(std::iter::empty());
            }
            None => {
                self.looked_up.current = None;
                if keys.is_empty() && self.looked_up.args.is_empty() {
                    let kept = cx.services.views.kept(self.view, &self.columns, &self.types);
                    self.kept = kept.map(|kept| (kept, 0));
                }
                self.rows = match self.kept {
                    Some(_) => Box::new(std::iter::empty()),
                    None => self.rows_of(cx, &keys),
                };
            }
        }
        Ok(())
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        cx.check_cancelled()?;
        out.clear();
        if let Some((kept, next)) = &mut self.kept {
            let rows = *next..kept.rows.min(*next + BATCH_ROWS);
            for (column, values) in out.columns.iter_mut().zip(&kept.columns) {
                column.append_range(values, rows.clone());
            }
            (*next, out.rows) = (rows.end, rows.len());
            return Ok(out.rows > 0);
        }
        while out.rows < BATCH_ROWS {
            let Some(row) = self.rows.next() else {
                if self.ask_next(cx) {
                    cx.check_cancelled()?;
                    continue;
                }
                break;
            };
            if let Some((column, wanted)) = &self.looked_up.current
                && row.get(*column).is_none_or(|value| value.is_null() || !cmp_sql(value, wanted).is_eq())
            {
                continue;
            }
            // Straight out of the row, of which mostly a few columns are read.
            debug_assert_eq!(out.columns.len(), self.columns.len(), "one value per column");
            let mut columns = out.columns.iter_mut().zip(&self.columns).zip(&self.types);
            let pushed = columns.try_for_each(|((column, at), ty)| {
                column.push_value(row.get(*at).unwrap_or(&Value::Null), ty)
            });
            if let Err(error) = pushed {
                out.truncate(out.rows);
                return Err(error.into());
            }
            out.rows += 1;
        }
        Ok(out.rows > 0)
    }

    fn close(&mut self) {
        self.rows = Box::new(std::iter::empty());
        self.kept = None;
        self.looked_up = LookedUp::default();
    }
}
