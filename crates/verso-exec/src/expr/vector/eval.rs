//! Nodes evaluated over a batch.
//!
//! A strict node is NULL wherever one of its arguments is: their NULLs are united before its kernel fills the column. What
//! depends on no column is one value until somebody needs it in every row.

use std::cmp::Ordering;

use verso_types::decimal::POW10;
use verso_types::{Batch, Column, ColumnData, Decimal, NullMask, Physical, Value};

use super::scratch::{Scratch, Vector};
use super::{Node, Repr, case, choice, compare, logic, text, unscaled};
use crate::context::EvalContext;
use crate::expr::Repeated;
use crate::expr::like::LikePattern;
use crate::expr::list::VECTOR_BYTES;
use crate::expr::row::{RowExpr, RowInput};
use crate::functions::kernel::{Operand, Trap, unary};

/// What a node is evaluated over.
pub(super) struct Evaluation<'a, 'b> {
    pub(super) cx: &'b EvalContext<'b>,
    pub(super) batch: &'a Batch,
    /// The rows whose values are wanted; all of them where it is not said. What is computed row by row is NULL in the others, and
    /// what they get by kernels is not looked at (X3).
    pub(super) reached: Option<&'b [bool]>,
}

impl<'a> Evaluation<'a, '_> {
    /// Of these rows only.
    pub(super) fn of<'c>(&'c self, reached: &'c [bool]) -> Evaluation<'a, 'c> {
        Evaluation { cx: self.cx, batch: self.batch, reached: Some(reached) }
    }

    /// Whether the value of a row is wanted.
    pub(super) fn reaches(&self, row: usize) -> bool {
        self.reached.is_none_or(|reached| reached[row])
    }
}

/// The rows that a kernel is not asked for: NULLs, and those whose values are not wanted.
pub(super) fn left_out(nulls: &NullMask, reached: &[bool]) -> NullMask {
    let mut out = nulls.clone();
    reached.iter().enumerate().filter(|(_, reached)| !**reached).for_each(|(row, _)| out.set(row));
    out
}

/// NULL for every row.
pub(super) fn no_value<'a>(physical: Physical, scratch: &mut Scratch) -> Vector<'a> {
    let mut column = scratch.take(physical);
    column.push_null();
    Vector::Constant(column)
}

impl Node {
    pub(super) fn eval<'a>(
        &self,
        over: &Evaluation<'a, '_>,
        scratch: &mut Scratch,
    ) -> Result<Vector<'a>, Trap> {
        let rows = over.batch.rows;
        match self {
            Node::Column(index) => Ok(Vector::Borrowed(&over.batch.columns[*index])),
            Node::Constant { expr, repr } => {
                let value = expr.eval_constant(over.cx).map_err(|_| Trap)?;
                constant(&value, repr, scratch).map(Vector::Constant)
            }
            Node::Compared { expr, repr } => {
                let value = match (expr.eval_constant(over.cx).map_err(|_| Trap)?, repr.scale()) {
                    (Value::Numeric(decimal), Some(scale)) => Value::Numeric(at_scale(&decimal, scale)?),
                    (value, _) => value,
                };
                constant(&value, repr, scratch).map(Vector::Constant)
            }
            Node::Kernel { kernel, args, out, is_partial } => {
                strict(args, *out, over, scratch, |args, nulls, rows, out| {
                    let operands: Vec<Operand<'_>> = args.iter().map(Vector::operand).collect();
                    match over.reached {
                        Some(reached) if *is_partial => {
                            kernel(&operands, &left_out(nulls, reached), rows, out)
                        }
                        _ => kernel(&operands, nulls, rows, out),
                    }
                })
            }
            Node::OrNull { kernel, args, out } => {
                let mut absent = NullMask::default();
                let mut found = strict(args, *out, over, scratch, |args, nulls, rows, out| {
                    let operands: Vec<Operand<'_>> = args.iter().map(Vector::operand).collect();
                    kernel(&operands, nulls, rows, out, &mut absent)
                })?;
                if let Vector::Owned(column) | Vector::Constant(column) = &mut found {
                    column.nulls.union(&absent);
                }
                Ok(found)
            }
            Node::Compare { op, order, args } => {
                strict(&args[..], Physical::Bool, over, scratch, |args, nulls, rows, out| {
                    compare::compare(*op, *order, &args[0].operand(), &args[1].operand(), nulls, rows, out)
                })
            }
            Node::Numeric { op, .. } => {
                let vector = self.eval_narrow(over, scratch)?;
                Ok(if op.physical() == Physical::I128 { widened(vector, scratch) } else { vector })
            }
            Node::Unscaled { arg, scale } => unscaled(arg.eval(over, scratch)?, *scale, scratch),
            Node::Cast { cast, arg } => cast.eval(arg, over, scratch),
            Node::Connective { args, stop, by_need } => {
                logic::connective(args, (*stop, *by_need), over, scratch)
            }
            Node::Not(arg) => strict(
                std::slice::from_ref(&**arg),
                Physical::Bool,
                over,
                scratch,
                |args, nulls, rows, out| {
                    unary::<u8, u8>(&[args[0].operand()], nulls, rows, out, |v| Ok(v ^ 1))
                },
            ),
            Node::Case { branches, otherwise, out, by_need } => {
                case::case(branches, otherwise, (*out, *by_need), over, scratch)
            }
            Node::Coalesce { args, out } => choice::coalesce(args, *out, over, scratch),
            Node::NullIf { arg, equal } => choice::null_if(arg, equal, over, scratch),
            Node::IsDistinct { order, args, negated } => {
                choice::is_distinct(*order, args, *negated, over, scratch)
            }
            Node::IsBool { arg, wanted, negated } => choice::is_bool(arg, *wanted, *negated, over, scratch),
            Node::IsNull { arg, negated } => logic::is_null(arg, *negated, over, scratch),
            Node::Like { arg, pattern, negated } => {
                strict(std::slice::from_ref(&**arg), Physical::Bool, over, scratch, |args, _, rows, out| {
                    text::like(&args[0].operand(), pattern, *negated, rows, out)
                })
            }
            Node::LikeGiven { arg, pattern, escape, fold, negated } => {
                let given = |expr: &RowExpr| expr.eval_constant(over.cx).map_err(|_| Trap);
                let escape = escape.as_ref().map(given).transpose()?;
                let pattern = given(pattern)?;
                if pattern.is_null() || escape.as_ref().is_some_and(Value::is_null) {
                    let mut out = scratch.take(Physical::Bool);
                    out.push_null();
                    return Ok(Vector::Constant(out));
                }
                let escape = escape.as_ref().map_or(Some("\\"), Value::as_str).ok_or(Trap)?;
                let pattern =
                    LikePattern::new(pattern.as_str().ok_or(Trap)?, escape, *fold).map_err(|_| Trap)?;
                strict(std::slice::from_ref(&**arg), Physical::Bool, over, scratch, |args, _, rows, out| {
                    text::like(&args[0].operand(), &pattern, *negated, rows, out)
                })
            }
            Node::LikeEach { args, negated } => {
                strict(&args[..], Physical::Bool, over, scratch, |args, nulls, rows, out| {
                    text::like_each(&args[0].operand(), &args[1].operand(), *negated, nulls, rows, out)
                })
            }
            Node::Member { arg, among, negated } => {
                let mut unknown = false;
                let fill = |args: &[Vector<'a>],
                            _: &NullMask,
                            rows: usize,
                            out: &mut ColumnData|
                 -> Result<(), Trap> {
                    let column = match &args[0] {
                        Vector::Borrowed(column) => column,
                        Vector::Owned(column) | Vector::Constant(column) => column,
                    };
                    unknown = among.look_up(over.cx, column, *negated, rows, out)?;
                    Ok(())
                };
                let mut found = strict(std::slice::from_ref(&**arg), Physical::Bool, over, scratch, fill)?;
                if unknown
                    && let Vector::Owned(column) | Vector::Constant(column) = &mut found
                    && let ColumnData::Bool(values) = &column.data
                {
                    let missed = |(_, value): &(usize, &u8)| **value == u8::from(*negated);
                    values.iter().enumerate().filter(missed).for_each(|(row, _)| column.nulls.set(row));
                }
                Ok(found)
            }
            Node::Concat(args) => strict(args, Physical::Bytes, over, scratch, |args, _, rows, out| {
                let operands: Vec<Operand<'_>> = args.iter().map(Vector::operand).collect();
                text::concat(&operands, rows, out)
            }),
            Node::Decimals(decimals) => decimals.eval(over, scratch),
            Node::Apply(apply) => apply.eval(over, scratch),
            Node::Pick(pick) => pick.eval(over, scratch),
            Node::Rows { expr, ty } => {
                let mut out = scratch.take(ty.physical());
                let repeated = Repeated::default();
                for row in 0..rows {
                    if !over.reaches(row) {
                        out.push_null();
                        continue;
                    }
                    let input = RowInput::among(over.batch, row, &repeated);
                    expr.push(over.cx, input, &mut out, ty).map_err(|_| Trap)?;
                    // One row may take long.
                    over.cx.runtime.check_cancelled().map_err(|_| Trap)?;
                    if out.data.bytes().is_some_and(|out| out.bytes.len() > VECTOR_BYTES) {
                        return Err(Trap);
                    }
                }
                Ok(Vector::Owned(out))
            }
        }
    }
}

impl Node {
    /// As [`Node::eval`], but integers of 128 bits may come in 64 where all of them fit: arithmetic of those is several times as quick.
    pub(super) fn eval_narrow<'a>(
        &self,
        over: &Evaluation<'a, '_>,
        scratch: &mut Scratch,
    ) -> Result<Vector<'a>, Trap> {
        let Node::Numeric { op, args } = self else { return self.eval(over, scratch) };
        let (mut args, nulls) = match strict_args(args, over, scratch, Node::eval_narrow)? {
            Strict::Rows(args, nulls) => (args, nulls),
            Strict::Null => {
                let mut out = scratch.take(op.physical());
                out.push_null();
                return Ok(Vector::Constant(out));
            }
        };
        let constant = args.iter().all(|arg| matches!(arg, Vector::Constant(_)));
        let rows = if constant { 1 } else { over.batch.rows };
        let is_narrow = |arg: &Vector<'_>| arg.column().physical() == Physical::I64;
        let mut filled = None;
        if op.physical() == Physical::I128 && args.iter().all(is_narrow) {
            let mut out = scratch.take(Physical::I64);
            let operands: Vec<Operand<'_>> = args.iter().map(Vector::operand).collect();
            match op.apply_narrow(&operands, &nulls, rows, &mut out.data) {
                Ok(()) => filled = Some(out),
                Err(Trap) => scratch.give(out),
            }
        }
        let mut out = match filled {
            Some(out) => out,
            None => {
                if op.takes_wide() {
                    args = args.into_iter().map(|arg| widened(arg, scratch)).collect();
                }
                let mut out = scratch.take(op.physical());
                let operands: Vec<Operand<'_>> = args.iter().map(Vector::operand).collect();
                op.apply(&operands, &nulls, rows, &mut out.data)?;
                out
            }
        };
        out.nulls = nulls;
        args.into_iter().for_each(|arg| scratch.drop_vector(arg));
        Ok(if constant { Vector::Constant(out) } else { Vector::Owned(out) })
    }
}

/// The same integers in 128 bits.
pub(super) fn widened<'a>(vector: Vector<'a>, scratch: &mut Scratch) -> Vector<'a> {
    let ColumnData::I64(values) = &vector.column().data else { return vector };
    let mut wide = scratch.take(Physical::I128);
    if let Some(wide) = wide.data.i128s_mut() {
        wide.extend(values.iter().map(|value| i128::from(*value)));
    }
    wide.nulls.union(&vector.column().nulls);
    let constant = matches!(vector, Vector::Constant(_));
    scratch.drop_vector(vector);
    if constant { Vector::Constant(wide) } else { Vector::Owned(wide) }
}

/// The arguments of a strict node: the union of their NULLs, or the one NULL that makes every row NULL.
enum Strict<'a> {
    Rows(Vec<Vector<'a>>, NullMask),
    Null,
}

/// Evaluates the arguments of a strict node and fills a column with `fill`. All arguments constant: one value.
pub(super) fn strict<'a>(
    args: &[Node],
    physical: Physical,
    over: &Evaluation<'a, '_>,
    scratch: &mut Scratch,
    fill: impl FnOnce(&[Vector<'a>], &NullMask, usize, &mut ColumnData) -> Result<(), Trap>,
) -> Result<Vector<'a>, Trap> {
    match strict_args(args, over, scratch, Node::eval)? {
        Strict::Null => {
            let mut out = scratch.take(physical);
            out.push_null();
            Ok(Vector::Constant(out))
        }
        Strict::Rows(args, nulls) => {
            let mut out = scratch.take(physical);
            let constant = args.iter().all(|arg| matches!(arg, Vector::Constant(_)));
            fill(&args, &nulls, if constant { 1 } else { over.batch.rows }, &mut out.data)?;
            out.nulls = nulls;
            args.into_iter().for_each(|arg| scratch.drop_vector(arg));
            Ok(if constant { Vector::Constant(out) } else { Vector::Owned(out) })
        }
    }
}

fn strict_args<'a>(
    args: &[Node],
    over: &Evaluation<'a, '_>,
    scratch: &mut Scratch,
    eval: impl Fn(&Node, &Evaluation<'a, '_>, &mut Scratch) -> Result<Vector<'a>, Trap>,
) -> Result<Strict<'a>, Trap> {
    let mut vectors = Vec::with_capacity(args.len());
    let mut nulls = NullMask::default();
    let mut null = false;
    for arg in args {
        let vector = eval(arg, over, scratch)?;
        null |= vector.is_null_constant();
        if let Some(mask) = vector.nulls()
            && mask.any()
        {
            nulls.union(mask);
        }
        vectors.push(vector);
    }
    Ok(if null { Strict::Null } else { Strict::Rows(vectors, nulls) })
}

/// The same number with so many digits behind the point.
fn at_scale(decimal: &Decimal, scale: u8) -> Result<Decimal, Trap> {
    let moved = match decimal.scale().cmp(&scale) {
        Ordering::Equal => return Ok(*decimal),
        Ordering::Less => {
            decimal.unscaled().checked_mul(POW10[usize::from(scale - decimal.scale())]).ok_or(Trap)?
        }
        Ordering::Greater => {
            let factor = POW10[usize::from(decimal.scale() - scale)];
            if decimal.unscaled() % factor != 0 {
                return Err(Trap);
            }
            decimal.unscaled() / factor
        }
    };
    Decimal::new(moved, scale).map_err(|_| Trap)
}

/// A column of one value in the representation asked for.
fn constant(value: &Value, repr: &Repr, scratch: &mut Scratch) -> Result<Column, Trap> {
    let mut column = scratch.take(repr.physical());
    match (value, repr) {
        (Value::Null, _) => column.push_null(),
        (value, Repr::Native(ty)) => column.push_value(value, ty).map_err(|_| Trap)?,
        (Value::Numeric(decimal), Repr::Scaled64(scale)) => {
            let scaled = exact_rescale(decimal, *scale)?;
            column.data.i64s_mut().ok_or(Trap)?.push(i64::try_from(scaled).map_err(|_| Trap)?);
        }
        (Value::Numeric(decimal), Repr::Scaled128(scale)) => {
            column.data.i128s_mut().ok_or(Trap)?.push(exact_rescale(decimal, *scale)?);
        }
        _ => return Err(Trap),
    }
    Ok(column)
}

/// The unscaled integer at a scale that loses nothing.
fn exact_rescale(decimal: &Decimal, scale: u8) -> Result<i128, Trap> {
    if decimal.scale() != scale {
        // the scale is part of the value, so another one would show
        return Err(Trap);
    }
    Ok(decimal.unscaled())
}
