//! Expressions as kernels over column arrays.
//!
//! ```text
//! Cast(numeric_add(id, Cast(1)))   ─►   CheckPrecision ─► AddScaled ─► id        (i64 array, scale 2)
//!                                                             └──────► constant  (100, scale 2)
//! ```
//!
//! A numeric travels as a scaled integer whose scale is known when the expression is compiled, whatever
//! its SQL type says ([`Repr`]); it becomes a `numeric` of bytes only where it leaves the expression.
//!
//! X1. A node either yields a column with the rows' right values or traps (rule K2); after a trap nothing of
//!     the batch's results is used.
//! X2. What has no kernel is a [`Node::Rows`]: its closure, called for each row.

mod cast;
mod compare;
mod compile;
mod logic;
mod numeric;
mod text;

use verso_types::{Batch, Column, ColumnData, Decimal, NullMask, Physical, SqlType, Value};

use super::row::{RowExpr, RowInput};
use crate::context::EvalContext;
use crate::expr::like::LikePattern;
use crate::functions::kernel::{CompareOp, KernelFn, Operand, Trap};
use crate::plan::TypedExpr;

/// How the values of a node stand in its column.
#[derive(Clone, Debug, PartialEq)]
enum Repr {
    /// As a column of this type.
    Native(SqlType),
    /// Numeric: 64-bit integers times 10^-scale.
    Scaled64(u8),
    /// Numeric: 128-bit integers times 10^-scale, below 10^38.
    Scaled128(u8),
}

impl Repr {
    fn physical(&self) -> Physical {
        match self {
            Repr::Native(ty) => ty.physical(),
            Repr::Scaled64(_) => Physical::I64,
            Repr::Scaled128(_) => Physical::I128,
        }
    }

    /// How a column of a type comes out of a batch.
    fn of_type(ty: &SqlType) -> Repr {
        match ty {
            SqlType::Numeric(Some(spec)) if spec.is_small() => Repr::Scaled64(spec.scale),
            SqlType::Numeric(Some(spec)) => Repr::Scaled128(spec.scale),
            other => Repr::Native(other.clone()),
        }
    }

    /// The scale of a scaled integer.
    fn scale(&self) -> Option<u8> {
        match self {
            Repr::Native(_) => None,
            Repr::Scaled64(scale) | Repr::Scaled128(scale) => Some(*scale),
        }
    }
}

/// A step of the computation.
enum Node {
    /// A column of the input.
    Column(usize),
    /// Depends on no column: one value per batch.
    Constant { expr: RowExpr, repr: Repr },
    /// A kernel of the registry.
    Kernel { kernel: KernelFn, args: Vec<Node>, out: Physical },
    /// A comparison.
    Compare { op: CompareOp, order: compare::Order, args: Box<[Node; 2]> },
    /// Arithmetic of scaled integers.
    Numeric { op: numeric::Op, args: Vec<Node> },
    /// A cast with a kernel.
    Cast { cast: cast::CastKernel, arg: Box<Node> },
    /// AND (stops at false) and OR (at true).
    Connective { args: Vec<Node>, stop: bool },
    /// NOT.
    Not(Box<Node>),
    /// IS [NOT] NULL.
    IsNull { arg: Box<Node>, negated: bool },
    /// LIKE with a pattern known when compiled.
    Like { arg: Box<Node>, pattern: LikePattern, negated: bool },
    /// Concatenation of texts.
    Concat(Vec<Node>),
    /// No kernel: the closure, row by row (X2).
    Rows { expr: RowExpr, ty: SqlType },
}

/// The result of a node.
enum Vector<'a> {
    /// A column of the input.
    Borrowed(&'a Column),
    /// A column of the scratch.
    Owned(Column),
    /// One value for all rows.
    Constant(Column),
}

impl Vector<'_> {
    fn operand(&self) -> Operand<'_> {
        match self {
            Vector::Borrowed(column) => Operand::Column(&column.data),
            Vector::Owned(column) => Operand::Column(&column.data),
            Vector::Constant(column) => Operand::Constant(&column.data),
        }
    }

    /// The NULLs of a column; constants have none here.
    fn nulls(&self) -> Option<&NullMask> {
        match self {
            Vector::Borrowed(column) => Some(&column.nulls),
            Vector::Owned(column) => Some(&column.nulls),
            Vector::Constant(_) => None,
        }
    }

    fn is_null_constant(&self) -> bool {
        matches!(self, Vector::Constant(column) if column.nulls.any())
    }
}

/// Columns to be filled again.
#[derive(Default)]
pub(crate) struct Scratch {
    free: Vec<Column>,
}

impl Scratch {
    /// An empty column.
    fn take(&mut self, physical: Physical) -> Column {
        match self.free.iter().position(|column| column.physical() == physical) {
            Some(index) => self.free.swap_remove(index),
            None => Column::new(physical),
        }
    }

    fn give(&mut self, mut column: Column) {
        // a handful per layout is all that an expression needs
        if self.free.len() < 32 {
            column.clear();
            self.free.push(column);
        }
    }

    fn drop_vector(&mut self, vector: Vector<'_>) {
        if let Vector::Owned(column) = vector {
            self.give(column);
        }
    }
}

/// A compiled expression.
pub(crate) struct VectorExpr {
    root: Node,
    repr: Repr,
    ty: SqlType,
}

impl std::fmt::Debug for VectorExpr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VectorExpr({:?})", self.repr)
    }
}

/// What a node is evaluated over.
struct Evaluation<'a, 'b> {
    cx: &'b EvalContext<'b>,
    batch: &'a Batch,
}

impl VectorExpr {
    /// Compiles an expression without volatile calls.
    pub fn compile(expr: &TypedExpr) -> Self {
        let (root, repr) = compile::compile(expr);
        Self { root, repr, ty: expr.ty.clone() }
    }

    /// Whether nothing of it has a kernel, so that rows do as well.
    pub fn is_rows_only(&self) -> bool {
        matches!(self.root, Node::Rows { .. })
    }

    /// Fills `out`, a column of the expression's type, with a value for each row of the batch.
    pub fn eval_into(
        &self,
        cx: &EvalContext<'_>,
        batch: &Batch,
        scratch: &mut Scratch,
        out: &mut Column,
    ) -> Result<(), Trap> {
        out.clear();
        let vector = self.root.eval(&Evaluation { cx, batch }, scratch)?;
        let vector = self.materialise(vector, scratch)?;
        match vector {
            Vector::Borrowed(column) => out.append(column),
            Vector::Owned(column) => scratch.give(std::mem::replace(out, column)),
            Vector::Constant(column) => repeat(&column, batch.rows, out),
        }
        Ok(())
    }

    /// Calls `read` with the boolean results: values, NULLs, or one for all.
    pub fn eval_bool<R>(
        &self,
        cx: &EvalContext<'_>,
        batch: &Batch,
        scratch: &mut Scratch,
        read: impl FnOnce(BoolResult<'_>) -> R,
    ) -> Result<R, Trap> {
        let vector = self.root.eval(&Evaluation { cx, batch }, scratch)?;
        let result = match &vector {
            Vector::Constant(column) => {
                read(BoolResult::All(!column.nulls.any() && column.data.bools().ok_or(Trap)?[0] != 0))
            }
            Vector::Borrowed(column) => {
                read(BoolResult::Rows(column.data.bools().ok_or(Trap)?, &column.nulls))
            }
            Vector::Owned(column) => read(BoolResult::Rows(column.data.bools().ok_or(Trap)?, &column.nulls)),
        };
        scratch.drop_vector(vector);
        Ok(result)
    }

    /// A scaled numeric that leaves the expression as a plain `numeric` becomes bytes.
    fn materialise<'a>(&self, vector: Vector<'a>, scratch: &mut Scratch) -> Result<Vector<'a>, Trap> {
        let Some(scale) = self.repr.scale() else { return Ok(vector) };
        if self.ty.physical() != Physical::Bytes {
            return Ok(vector);
        }
        let mut out = scratch.take(Physical::Bytes);
        let (data, nulls) = match &vector {
            Vector::Borrowed(column) => (&column.data, &column.nulls),
            Vector::Owned(column) | Vector::Constant(column) => (&column.data, &column.nulls),
        };
        let bytes = out.data.bytes_mut().ok_or(Trap)?;
        match data {
            ColumnData::I64(values) => values
                .iter()
                .for_each(|v| bytes.push_with(|out| Decimal::from_scaled_i64(*v, scale).to_bytes(out))),
            ColumnData::I128(values) => {
                for value in values {
                    let decimal = Decimal::new(*value, scale).map_err(|_| Trap)?;
                    bytes.push_with(|out| decimal.to_bytes(out));
                }
            }
            _ => return Err(Trap),
        }
        out.nulls.union(nulls);
        let constant = matches!(vector, Vector::Constant(_));
        scratch.drop_vector(vector);
        Ok(if constant { Vector::Constant(out) } else { Vector::Owned(out) })
    }
}

/// Truth values of a predicate.
pub(crate) enum BoolResult<'a> {
    /// The same for every row (unknown counts as false).
    All(bool),
    /// One per row.
    Rows(&'a [u8], &'a NullMask),
}

/// Fills `out` with `rows` times the one value.
fn repeat(one: &Column, rows: usize, out: &mut Column) {
    if one.nulls.any() {
        out.data.push_default(rows);
        out.nulls.set_range(0..rows);
        return;
    }
    macro_rules! fixed {
        ($($variant:ident),*) => {
            match (&one.data, &mut out.data) {
                $((ColumnData::$variant(one), ColumnData::$variant(out)) => out.resize(rows, one[0]),)*
                (ColumnData::Bytes(one), ColumnData::Bytes(out)) => {
                    out.reserve(rows, rows * one.bytes.len());
                    (0..rows).for_each(|_| out.push(one.get(0)));
                }
                _ => unreachable!("a constant has the layout of its column"),
            }
        };
    }
    fixed!(Bool, I16, I32, I64, I128, F32, F64);
}

/// The arguments of a strict node: the union of their NULLs, or the one NULL that makes every row NULL.
enum Strict<'a> {
    Rows(Vec<Vector<'a>>, NullMask),
    Null,
}

impl Node {
    fn eval<'a>(&self, over: &Evaluation<'a, '_>, scratch: &mut Scratch) -> Result<Vector<'a>, Trap> {
        let rows = over.batch.rows;
        match self {
            Node::Column(index) => Ok(Vector::Borrowed(&over.batch.columns[*index])),
            Node::Constant { expr, repr } => {
                let value = expr.eval_constant(over.cx).map_err(|_| Trap)?;
                constant(&value, repr, scratch).map(Vector::Constant)
            }
            Node::Kernel { kernel, args, out } => {
                strict(args, *out, over, scratch, |args, nulls, rows, out| {
                    let operands: Vec<Operand<'_>> = args.iter().map(Vector::operand).collect();
                    kernel(&operands, nulls, rows, out)
                })
            }
            Node::Compare { op, order, args } => {
                strict(&args[..], Physical::Bool, over, scratch, |args, nulls, rows, out| {
                    compare::compare(*op, *order, &args[0].operand(), &args[1].operand(), nulls, rows, out)
                })
            }
            Node::Numeric { op, args } => {
                strict(args, op.physical(), over, scratch, |args, nulls, rows, out| {
                    let operands: Vec<Operand<'_>> = args.iter().map(Vector::operand).collect();
                    op.apply(&operands, nulls, rows, out)
                })
            }
            Node::Cast { cast, arg } => cast.eval(arg, over, scratch),
            Node::Connective { args, stop } => logic::connective(args, *stop, over, scratch),
            Node::Not(arg) => strict(
                std::slice::from_ref(&**arg),
                Physical::Bool,
                over,
                scratch,
                |args, nulls, rows, out| {
                    crate::functions::kernel::unary::<u8, u8>(&[args[0].operand()], nulls, rows, out, |v| {
                        Ok(v ^ 1)
                    })
                },
            ),
            Node::IsNull { arg, negated } => logic::is_null(arg, *negated, over, scratch),
            Node::Like { arg, pattern, negated } => {
                strict(std::slice::from_ref(&**arg), Physical::Bool, over, scratch, |args, _, rows, out| {
                    text::like(&args[0].operand(), pattern, *negated, rows, out)
                })
            }
            Node::Concat(args) => strict(args, Physical::Bytes, over, scratch, |args, _, rows, out| {
                let operands: Vec<Operand<'_>> = args.iter().map(Vector::operand).collect();
                text::concat(&operands, rows, out)
            }),
            Node::Rows { expr, ty } => {
                let mut out = scratch.take(ty.physical());
                for row in 0..rows {
                    let value = expr.eval(over.cx, RowInput { batch: over.batch, row }).map_err(|_| Trap)?;
                    out.push_value(&value, ty).map_err(|_| Trap)?;
                }
                Ok(Vector::Owned(out))
            }
        }
    }
}

/// Evaluates the arguments of a strict node and fills a column with `fill`. All arguments constant: one value.
fn strict<'a>(
    args: &[Node],
    physical: Physical,
    over: &Evaluation<'a, '_>,
    scratch: &mut Scratch,
    fill: impl FnOnce(&[Vector<'a>], &NullMask, usize, &mut ColumnData) -> Result<(), Trap>,
) -> Result<Vector<'a>, Trap> {
    match strict_args(args, over, scratch)? {
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
) -> Result<Strict<'a>, Trap> {
    let mut vectors = Vec::with_capacity(args.len());
    let mut nulls = NullMask::default();
    let mut null = false;
    for arg in args {
        let vector = arg.eval(over, scratch)?;
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

/// How many nodes an expression compiles to, and how many of them run row by row.
#[cfg(test)]
pub(crate) fn census(expr: &TypedExpr) -> (usize, usize) {
    fn count(node: &Node) -> (usize, usize) {
        let children: Vec<&Node> = match node {
            Node::Column(_) | Node::Constant { .. } | Node::Rows { .. } => Vec::new(),
            Node::Kernel { args, .. }
            | Node::Numeric { args, .. }
            | Node::Connective { args, .. }
            | Node::Concat(args) => args.iter().collect(),
            Node::Compare { args, .. } => args.iter().collect(),
            Node::Cast { arg, .. } | Node::Not(arg) | Node::IsNull { arg, .. } | Node::Like { arg, .. } => {
                vec![&**arg]
            }
        };
        let own = usize::from(matches!(node, Node::Rows { .. }));
        children.into_iter().map(count).fold((1, own), |a, b| (a.0 + b.0, a.1 + b.1))
    }
    count(&VectorExpr::compile(expr).root)
}
