//! Rows of functions: those that a function returns, one by one or collected.

use verso_types::{Batch, CastKind, SqlType, Value, cast, cast_kind};

use super::operator::Operator;
use super::source::types;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext};
use crate::context::EvalContext;
use crate::error::Result;
use crate::expr::RowExpr;
use crate::functions::{Body, BuiltinFunction, ResultType};
use crate::plan::{OutputColumn, SetCall, TypedExpr};
use crate::plpgsql;
use crate::spill::Spool;

/// Rows of a function.
pub(crate) struct FunctionOperator {
    call: SetCall,
    args: Vec<RowExpr>,
    types: Vec<SqlType>,
    rows: FunctionRows,
}

/// Rows of a running function.
pub(super) enum FunctionRows {
    None,
    /// Of one column.
    Values(Box<dyn Iterator<Item = Value> + Send>),
    Spool(Box<Spool>),
}

impl FunctionRows {
    /// Replaces `out`, of these types, by the next rows. False at the end.
    pub(super) fn next(&mut self, out: &mut Batch, types: &[SqlType]) -> Result<bool> {
        match self {
            FunctionRows::None => Ok(false),
            FunctionRows::Spool(spool) => spool.next(out),
            FunctionRows::Values(values) => {
                out.clear();
                if types.len() != 1 {
                    return rows_of_records(values, out, types);
                }
                let (Some(column), Some(ty)) = (out.columns.first_mut(), types.first()) else {
                    return Ok(false);
                };
                while out.rows < BATCH_ROWS
                    && column.data.bytes().is_none_or(|bytes| bytes.bytes.len() < BATCH_BYTES)
                    && let Some(value) = values.next()
                {
                    match &value {
                        // Its row is of one column.
                        Value::Record(fields) if fields.len() == 1 && !ty.is_row() => {
                            column.push_value(&fields[0], ty)?;
                        }
                        value => column.push_value(value, ty)?,
                    }
                    out.rows += 1;
                }
                Ok(out.rows > 0)
            }
        }
    }
}

/// Of a function of several columns each value is a record.
fn rows_of_records(
    values: &mut Box<dyn Iterator<Item = Value> + Send>,
    out: &mut Batch,
    types: &[SqlType],
) -> Result<bool> {
    let mut bytes = 0;
    while out.rows < BATCH_ROWS
        && bytes < BATCH_BYTES
        && let Some(value) = values.next()
    {
        match value {
            Value::Record(fields) if fields.len() == types.len() => out.push_row(&fields, types)?,
            _ => out.push_row(&vec![Value::Null; types.len()], types)?,
        }
        bytes = out.variable_bytes();
    }
    Ok(out.rows > 0)
}

/// Calls a function for its rows, which have these types.
pub(super) fn call_rows(
    cx: &ExecContext<'_>,
    call: &SetCall,
    args: Vec<Value>,
    types: &[SqlType],
) -> Result<FunctionRows> {
    let eval = cx.eval();
    let null = args.iter().any(Value::is_null);
    Ok(match call {
        SetCall::Builtin { function, args: written } => match function.body {
            _ if function.strict && null && function.yields_null_row() => {
                FunctionRows::Values(Box::new(std::iter::once(Value::Null)))
            }
            Body::Set(_) | Body::TypedSet(_) if function.strict && null => FunctionRows::None,
            Body::Set(set) => FunctionRows::Values(set(&eval, &args)?),
            Body::TypedSet(set) => {
                FunctionRows::Values(set(&eval, &args, &crate::expr::types_of(written), types)?)
            }
            Body::Scalar(scalar) => one_row(function, scalar(&eval, &args)?, written, types)?,
            Body::Typed(scalar) => {
                let value = scalar(&eval, &args, &crate::expr::types_of(written))?;
                one_row(function, value, written, types)?
            }
        },
        SetCall::User { function, .. } => {
            FunctionRows::Spool(Box::new(plpgsql::call_rows(cx, function, args, types)?))
        }
    })
}

/// The row that a function of one value yields. Of a record that it was given the query says which columns it has.
fn one_row(
    function: &BuiltinFunction,
    value: Value,
    args: &[TypedExpr],
    types: &[SqlType],
) -> Result<FunctionRows> {
    if let (Value::Record(fields), ResultType::SameAs(at)) = (&value, &function.result)
        && args.get(*at).is_some_and(|arg| arg.ty == SqlType::Record)
    {
        plpgsql::check_row(fields, types)?;
    }
    Ok(FunctionRows::Values(Box::new(std::iter::once(value))))
}

impl FunctionOperator {
    pub fn new(call: &SetCall, columns: &[OutputColumn]) -> Self {
        let args = match call {
            SetCall::Builtin { args, .. } | SetCall::User { args, .. } => args,
        };
        let args = args.iter().map(RowExpr::compile).collect();
        Self { call: call.clone(), args, types: types(columns), rows: FunctionRows::None }
    }
}

impl Operator for FunctionOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let eval = cx.eval();
        let args: Vec<Value> = self.args.iter().map(|arg| arg.eval_constant(&eval)).collect::<Result<_>>()?;
        self.rows = call_rows(cx, &self.call, args, &self.types)?;
        Ok(())
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        cx.check_cancelled()?;
        self.rows.next(out, &self.types)
    }

    fn close(&mut self) {
        self.rows = FunctionRows::None;
    }
}

/// A row of a query brought to the types that a function declares.
pub(crate) fn cast_row(
    cx: &ExecContext<'_>,
    values: &mut [Value],
    from: &[SqlType],
    to: &[SqlType],
) -> Result<()> {
    for ((value, from), to) in values.iter_mut().zip(from).zip(to) {
        if from != to && !value.is_null() {
            let zone = cx.services.time_zone;
            *value = match cast_kind(from, to) {
                Some(kind) if kind <= CastKind::Assignment => {
                    cast(value, from, to, CastKind::Assignment, zone)?
                }
                // By way of text, as everywhere.
                _ => {
                    let text = cast(value, from, &SqlType::Text, CastKind::Explicit, zone)?;
                    cast(&text, &SqlType::Text, to, CastKind::Explicit, zone)?
                }
            };
        }
        // What has the domain already is a value of it.
        if to.is_constrained() && from != to {
            let own = cx.services.binding.value_of_domain(to)?;
            let eval = EvalContext { params: std::slice::from_ref(value), ..cx.eval() };
            RowExpr::compile(&own).eval_constant(&eval)?;
        }
    }
    Ok(())
}
