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
//! | module | what it is |
//! |---|---|
//! | [`compile`] | from a typed expression to nodes |
//! | [`eval`] | nodes over a batch |
//! | [`scratch`] | their results |
//! | [`apply`] | functions without a kernel over arguments with one |
//! | [`case`], [`cast`], [`choice`], [`compare`], [`logic`], [`member`], [`numeric`], [`pick`], [`text`] | kinds of nodes |
//!
//! X1. A node either yields a column with the rows' right values or traps (rule K2); after a trap nothing of
//!     the batch's results is used.
//! X2. What has no kernel is a [`Node::Rows`]: its closure, called for each row; or, where kernels compute its arguments, a
//!     [`Node::Apply`], which calls the function alone.
//! X3. What runs row by row in a later part of AND, OR and CASE runs only for the rows that reach it: a query in a branch that few
//!     rows take is asked for these. Kernels of functions that often have no result for the others (`a / b` where `b <> 0`,
//!     `substr(a, 1, strpos(a, ' ') - 1)` where there is one) are not asked for them either.

mod apply;
mod case;
mod cast;
mod choice;
mod compare;
mod compile;
mod decimals;
mod eval;
mod logic;
mod member;
mod numeric;
mod pick;
mod scratch;
mod text;

use verso_types::{Batch, Column, ColumnData, Decimal, NullMask, NumericSpec, Physical, SqlType};

use super::row::RowExpr;
use crate::context::EvalContext;
use crate::expr::like::LikePattern;
use crate::expr::list::VECTOR_BYTES;
use crate::functions::kernel::{CompareOp, KernelFn, OrNullFn, Trap};
use crate::plan::TypedExpr;
use eval::Evaluation;
pub(crate) use scratch::Scratch;
use scratch::Vector;

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
    /// The same for a comparison: a numeric of another scale is as good if none of its digits is lost.
    Compared { expr: RowExpr, repr: Repr },
    /// A kernel of the registry; `is_partial` if rows that nobody asks may well have no result.
    Kernel { kernel: KernelFn, args: Vec<Node>, out: Physical, is_partial: bool },
    /// The same of one that has NULLs of its own.
    OrNull { kernel: OrNullFn, args: Vec<Node>, out: Physical },
    /// A comparison.
    Compare { op: CompareOp, order: compare::Order, args: Box<[Node; 2]> },
    /// Arithmetic of scaled integers.
    Numeric { op: numeric::Op, args: Vec<Node> },
    /// Arithmetic of numerics of which each row has a scale of its own.
    Decimals(Box<decimals::Decimals>),
    /// Scaled integers of this scale as `numeric` without bounds.
    Unscaled { arg: Box<Node>, scale: u8 },
    /// A cast with a kernel.
    Cast { cast: cast::CastKernel, arg: Box<Node> },
    /// AND (stops at false) and OR (at true); `by_need` is as in CASE.
    Connective { args: Vec<Node>, stop: bool, by_need: bool },
    /// NOT.
    Not(Box<Node>),
    /// IS [NOT] NULL.
    IsNull { arg: Box<Node>, negated: bool },
    /// CASE. Its parts are computed for every row, or `by_need`: those that are computed row by row, or ask a query, only for the
    /// rows that reach them (X3).
    Case { branches: Vec<(Node, Node)>, otherwise: Box<Node>, out: Physical, by_need: bool },
    /// COALESCE.
    Coalesce { args: Vec<Node>, out: Physical },
    /// NULLIF: the value, and whether it equals the other one.
    NullIf { arg: Box<Node>, equal: Box<Node> },
    /// IS [NOT] DISTINCT FROM.
    IsDistinct { order: compare::Order, args: Box<[Node; 2]>, negated: bool },
    /// IS [NOT] TRUE, FALSE (`Some`) and UNKNOWN.
    IsBool { arg: Box<Node>, wanted: Option<bool>, negated: bool },
    /// LIKE with a pattern known when compiled.
    Like { arg: Box<Node>, pattern: LikePattern, negated: bool },
    /// LIKE with a pattern that is the same for a batch.
    LikeGiven { arg: Box<Node>, pattern: RowExpr, escape: Option<RowExpr>, fold: bool, negated: bool },
    /// LIKE with a pattern of each row's own: the text, and the pattern.
    LikeEach { args: Box<[Node; 2]>, negated: bool },
    /// Whether a value is among many that are the same for a batch.
    Member { arg: Box<Node>, among: member::Members, negated: bool },
    /// An element of an array that is the same for a batch, by its subscript.
    Pick(pick::Pick),
    /// Concatenation of texts.
    Concat(Vec<Node>),
    /// No kernel of its own, but of its arguments: called row by row (X2).
    Apply(apply::Apply),
    /// No kernel: the closure, row by row (X2).
    Rows { expr: RowExpr, ty: SqlType },
}

impl Node {
    /// Whether a part of it is to be computed for the rows that reach it only (X3).
    fn is_by_need(&self) -> bool {
        match self {
            Node::Rows { .. } | Node::Apply(_) | Node::Kernel { is_partial: true, .. } => true,
            Node::Cast { cast, .. } if cast.is_partial() => true,
            Node::Column(_) | Node::Constant { .. } | Node::Compared { .. } => false,
            Node::Connective { by_need, .. } | Node::Case { by_need, .. } => *by_need,
            Node::Kernel { args, .. }
            | Node::OrNull { args, .. }
            | Node::Numeric { args, .. }
            | Node::Concat(args)
            | Node::Coalesce { args, .. } => args.iter().any(Node::is_by_need),
            Node::NullIf { arg, equal } => arg.is_by_need() || equal.is_by_need(),
            Node::IsDistinct { args, .. } => args.iter().any(Node::is_by_need),
            Node::Compare { args, .. } => args.iter().any(Node::is_by_need),
            Node::LikeEach { args, .. } => args.iter().any(Node::is_by_need),
            Node::Decimals(decimals) => decimals.is_partial() || decimals.args().iter().any(Node::is_by_need),
            Node::Pick(pick) => pick.subscript().is_by_need(),
            Node::Cast { arg, .. }
            | Node::Unscaled { arg, .. }
            | Node::Not(arg)
            | Node::IsNull { arg, .. }
            | Node::IsBool { arg, .. }
            | Node::Like { arg, .. }
            | Node::LikeGiven { arg, .. }
            | Node::Member { arg, .. } => arg.is_by_need(),
        }
    }
}

/// A compiled expression.
pub(crate) struct VectorExpr {
    root: Node,
    repr: Repr,
    ty: SqlType,
    /// Scaled integers of 128 bits may come in 64.
    narrow: bool,
}

impl std::fmt::Debug for VectorExpr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VectorExpr({:?})", self.repr)
    }
}

impl VectorExpr {
    /// Compiles an expression without volatile calls.
    pub fn compile(expr: &TypedExpr) -> Self {
        let (root, repr) = compile::compile(expr);
        // Bytes are made of either.
        Self { root, repr, ty: expr.ty.clone(), narrow: expr.ty.physical() == Physical::Bytes }
    }

    /// As [`VectorExpr::compile`], but numerics of a scale that is known stay scaled integers: [`VectorExpr::ty`] says of which
    /// scale. Their columns have 64 bits where these are enough for all values, whatever the type says.
    pub fn compile_scaled(expr: &TypedExpr) -> Self {
        let mut compiled = Self::compile(expr);
        let spec = match compiled.repr {
            Repr::Scaled64(scale) => NumericSpec { precision: 18, scale },
            Repr::Scaled128(scale) => NumericSpec { precision: NumericSpec::MAX_PRECISION, scale },
            Repr::Native(_) => return compiled,
        };
        (compiled.ty, compiled.narrow) = (SqlType::Numeric(Some(spec)), true);
        compiled
    }

    /// The type of the column that it fills.
    pub fn ty(&self) -> &SqlType {
        &self.ty
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
        let over = Evaluation { cx, batch, reached: None };
        let vector = match self.narrow {
            true => self.root.eval_narrow(&over, scratch)?,
            false => self.root.eval(&over, scratch)?,
        };
        let vector = self.materialise(vector, scratch)?;
        let physical = vector.column().physical();
        if out.physical() != physical {
            scratch.give(std::mem::replace(out, Column::new(physical)));
        }
        match vector {
            Vector::Borrowed(column) => out.append(column),
            Vector::Owned(column) => scratch.give(std::mem::replace(out, column)),
            Vector::Constant(column) if is_long(&column, batch.rows) => return Err(Trap),
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
        let vector = self.root.eval(&Evaluation { cx, batch, reached: None }, scratch)?;
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
        match self.repr.scale() {
            Some(scale) if self.ty.physical() == Physical::Bytes => unscaled(vector, scale, scratch),
            _ => Ok(vector),
        }
    }
}

/// Scaled integers as `numeric` without bounds, each with its scale.
fn unscaled<'a>(vector: Vector<'a>, scale: u8, scratch: &mut Scratch) -> Result<Vector<'a>, Trap> {
    let mut out = scratch.take(Physical::Bytes);
    let column = vector.column();
    let bytes = out.data.bytes_mut().ok_or(Trap)?;
    match &column.data {
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
    out.nulls.union(&column.nulls);
    let constant = matches!(vector, Vector::Constant(_));
    scratch.drop_vector(vector);
    Ok(if constant { Vector::Constant(out) } else { Vector::Owned(out) })
}

/// Truth values of a predicate.
pub(crate) enum BoolResult<'a> {
    /// The same for every row (unknown counts as false).
    All(bool),
    /// One per row.
    Rows(&'a [u8], &'a NullMask),
}

/// Whether so many copies of a value are left to the closures.
fn is_long(one: &Column, rows: usize) -> bool {
    one.data.bytes().is_some_and(|one| one.bytes.len().saturating_mul(rows) > VECTOR_BYTES)
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

/// How many nodes an expression compiles to, and how many of them run row by row.
#[cfg(test)]
pub(crate) fn census(expr: &TypedExpr) -> (usize, usize) {
    fn count(node: &Node) -> (usize, usize) {
        let children: Vec<&Node> = match node {
            Node::Column(_) | Node::Constant { .. } | Node::Compared { .. } | Node::Rows { .. } => Vec::new(),
            Node::Kernel { args, .. }
            | Node::OrNull { args, .. }
            | Node::Numeric { args, .. }
            | Node::Connective { args, .. }
            | Node::Coalesce { args, .. }
            | Node::Concat(args) => args.iter().collect(),
            Node::NullIf { arg, equal } => vec![&**arg, &**equal],
            Node::IsDistinct { args, .. } => args.iter().collect(),
            Node::Compare { args, .. } => args.iter().collect(),
            Node::Apply(apply) => apply.args().collect(),
            Node::Decimals(decimals) => decimals.args().iter().collect(),
            Node::Pick(pick) => vec![pick.subscript()],
            Node::Case { branches, otherwise, .. } => {
                branches.iter().flat_map(|(a, b)| [a, b]).chain([&**otherwise]).collect()
            }
            Node::Cast { arg, .. }
            | Node::Unscaled { arg, .. }
            | Node::Not(arg)
            | Node::IsNull { arg, .. }
            | Node::IsBool { arg, .. }
            | Node::Like { arg, .. }
            | Node::LikeGiven { arg, .. }
            | Node::Member { arg, .. } => {
                vec![&**arg]
            }
            Node::LikeEach { args, .. } => args.iter().collect(),
        };
        let own = usize::from(matches!(node, Node::Rows { .. }));
        children.into_iter().map(count).fold((1, own), |a, b| (a.0 + b.0, a.1 + b.1))
    }
    count(&VectorExpr::compile(expr).root)
}
