//! `x IN (…)` and `x = ANY (array)` with many values that are the same for all rows: looked up, not compared one by one.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use verso_types::{Array, Column, ColumnData, SqlType, Value, cmp_sql};

use crate::context::EvalContext;
use crate::expr::row::RowExpr;
use crate::functions::kernel::Trap;
use crate::plan::{ExprKind, TypedExpr};

/// So many texts are compared one by one.
const FEW: usize = 16;

/// The values among which one is looked for.
pub(super) struct Members {
    from: From,
    /// The type of each.
    ty: SqlType,
    /// What has been made of the values, as long as they are the same.
    kept: Mutex<Option<(Array, Arc<Among>)>>,
}

/// Where the values come from.
enum From {
    /// A list of constants.
    Listed(Array),
    /// Expressions without columns.
    Given(Vec<RowExpr>),
    /// An expression without columns that is an array.
    Array(RowExpr),
}

/// What has been made of the values.
struct Among {
    sought: Sought,
    /// There are NULLs among them: what is not found is unknown then.
    unknown: bool,
}

/// Values to look up; none of them NULL, and at least one.
enum Sought {
    /// Integers, ascending.
    Integers(Vec<i64>),
    /// Of types whose equal values have equal bytes; a few of them, which are compared one by one.
    Few(Vec<Box<[u8]>>),
    Bytes(HashSet<Box<[u8]>>),
    /// Ascending.
    Values(Vec<Value>),
}

impl Members {
    /// The values of a list, over which `arg` has no say.
    pub fn listed(list: &[TypedExpr], ty: &SqlType) -> Members {
        let literal = |expr: &TypedExpr| match &expr.kind {
            ExprKind::Literal(value) => Some(value.clone()),
            _ => None,
        };
        let from = match list.iter().map(literal).collect::<Option<Vec<Value>>>() {
            Some(values) => From::Listed(values.into()),
            None => From::Given(list.iter().map(RowExpr::compile).collect()),
        };
        Members { from, ty: ty.clone(), kept: Mutex::default() }
    }

    /// The elements of an array.
    pub fn of_array(array: &TypedExpr, ty: &SqlType) -> Members {
        Members { from: From::Array(RowExpr::compile(array)), ty: ty.clone(), kept: Mutex::default() }
    }

    /// The values as they are now. Traps where there is none but NULL.
    fn sought(&self, cx: &EvalContext<'_>) -> Result<Arc<Among>, Trap> {
        let array = match &self.from {
            From::Listed(values) => values.clone(),
            From::Given(exprs) => {
                let values = exprs.iter().map(|expr| expr.eval_constant(cx).map_err(|_| Trap));
                values.collect::<Result<Vec<Value>, Trap>>()?.into()
            }
            From::Array(expr) => match expr.eval_constant(cx).map_err(|_| Trap)? {
                Value::Array(array) => array,
                _ => return Err(Trap),
            },
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, sought)) = &*kept
            && known.is_same(&array)
        {
            return Ok(Arc::clone(sought));
        }
        let unknown = array.iter().any(Value::is_null);
        let sought = Arc::new(Among { sought: Sought::of(&array, &self.ty)?, unknown });
        *kept = Some((array, Arc::clone(&sought)));
        Ok(sought)
    }

    /// Which rows of a column are among the values, or are not; true where those that are not found are unknown.
    pub fn look_up(
        &self,
        cx: &EvalContext<'_>,
        column: &Column,
        negated: bool,
        rows: usize,
        out: &mut ColumnData,
    ) -> Result<bool, Trap> {
        let among = self.sought(cx)?;
        let ColumnData::Bool(out) = out else { return Err(Trap) };
        let mut put = |found: bool| out.push(u8::from(found != negated));
        match (&among.sought, &column.data) {
            (Sought::Integers(values), ColumnData::I16(column)) => {
                column.iter().take(rows).for_each(|v| put(values.binary_search(&i64::from(*v)).is_ok()));
            }
            (Sought::Integers(values), ColumnData::I32(column)) => {
                column.iter().take(rows).for_each(|v| put(values.binary_search(&i64::from(*v)).is_ok()));
            }
            (Sought::Integers(values), ColumnData::I64(column)) => {
                column.iter().take(rows).for_each(|v| put(values.binary_search(v).is_ok()));
            }
            (Sought::Few(values), data) => {
                for value in data.bytes().ok_or(Trap)?.iter().take(rows) {
                    put(values.iter().any(|one| **one == *value));
                }
            }
            (Sought::Bytes(values), data) => {
                let column = data.bytes().ok_or(Trap)?;
                (0..rows).for_each(|row| put(values.contains(column.get(row))));
            }
            (Sought::Values(values), _) => {
                for row in 0..rows {
                    let value = column.value(row, &self.ty);
                    put(values.binary_search_by(|other| cmp_sql(other, &value)).is_ok());
                }
            }
            _ => return Err(Trap),
        }
        Ok(among.unknown)
    }
}

impl Sought {
    fn of(array: &Array, ty: &SqlType) -> Result<Sought, Trap> {
        let known = || array.iter().filter(|value| !value.is_null());
        let count = known().count();
        if count == 0 {
            return Err(Trap);
        }
        if ty.is_integer() {
            let integer = |value: &Value| match value {
                Value::Int2(value) => Ok(i64::from(*value)),
                Value::Int4(value) => Ok(i64::from(*value)),
                Value::Int8(value) => Ok(*value),
                _ => Err(Trap),
            };
            let mut values = known().map(integer).collect::<Result<Vec<i64>, Trap>>()?;
            values.sort_unstable();
            return Ok(Sought::Integers(values));
        }
        if matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Bytea) {
            let bytes = |value: &Value| match value {
                Value::Text(text) => Ok(text.as_bytes().into()),
                Value::Bytes(bytes) => Ok(bytes.as_ref().into()),
                _ => Err(Trap),
            };
            return Ok(match count <= FEW {
                true => Sought::Few(known().map(bytes).collect::<Result<_, Trap>>()?),
                false => Sought::Bytes(known().map(bytes).collect::<Result<_, Trap>>()?),
            });
        }
        let mut values: Vec<Value> = known().cloned().collect();
        values.sort_by(cmp_sql);
        Ok(Sought::Values(values))
    }
}
