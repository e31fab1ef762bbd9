//! From typed expressions to nodes.

use verso_env::stack;
use verso_types::{SqlType, Value};

use super::{Node, Repr, cast, compare, numeric};
use crate::expr::depends_on_row;
use crate::expr::like::LikePattern;
use crate::expr::row::{RowExpr, cast_is_identity};
use crate::functions::BuiltinFunction;
use crate::functions::kernel::{Kernel, NumericOp};
use crate::plan::{ExprKind, TypedExpr};

/// The node of an expression and how its values stand in the column.
pub(super) fn compile(expr: &TypedExpr) -> (Node, Repr) {
    if !depends_on_row(expr) && !expr.is_volatile() {
        let repr = constant_repr(expr);
        return (Node::Constant { expr: RowExpr::compile(expr), repr: repr.clone() }, repr);
    }
    // Too deep for kernels: the closures say so.
    let kernel = if stack::check().is_ok() { with_kernel(expr) } else { None };
    kernel.unwrap_or_else(|| rows(expr))
}

fn rows(expr: &TypedExpr) -> (Node, Repr) {
    let node = Node::Rows { expr: RowExpr::compile(expr), ty: expr.ty.clone() };
    (node, Repr::of_type(&expr.ty))
}

/// How a constant stands: a numeric literal by its own scale, an integer as numeric without one.
fn constant_repr(expr: &TypedExpr) -> Repr {
    match (&expr.kind, &expr.ty) {
        (ExprKind::Literal(Value::Numeric(decimal)), SqlType::Numeric(None)) => {
            match i64::try_from(decimal.unscaled()) {
                Ok(_) => Repr::Scaled64(decimal.scale()),
                Err(_) => Repr::Scaled128(decimal.scale()),
            }
        }
        (ExprKind::Cast { arg, .. }, SqlType::Numeric(None)) if arg.ty.is_integer() => Repr::Scaled64(0),
        (ExprKind::Cast { arg, .. }, SqlType::Numeric(None)) if matches!(arg.ty, SqlType::Numeric(_)) => {
            constant_repr(arg)
        }
        (_, ty) => Repr::of_type(ty),
    }
}

/// `None` where no kernel fits.
fn with_kernel(expr: &TypedExpr) -> Option<(Node, Repr)> {
    let boolean = |node| Some((node, Repr::Native(SqlType::Bool)));
    match &expr.kind {
        ExprKind::Column(index) => Some((Node::Column(*index), Repr::of_type(&expr.ty))),
        ExprKind::Call { function, args } => call(expr, function, args),
        ExprKind::Cast { arg, .. } if cast_is_identity(&arg.ty, &expr.ty) => {
            let (node, repr) = compile(arg);
            // a text stays a text; a numeric keeps its scale
            let repr = if repr.scale().is_some() { repr } else { Repr::of_type(&expr.ty) };
            Some((node, repr))
        }
        ExprKind::Cast { arg, kind } => {
            let (node, from) = compile(arg);
            let (kernel, repr) = cast::find(&from, &expr.ty, *kind)?;
            Some((Node::Cast { cast: kernel, arg: Box::new(node) }, repr))
        }
        ExprKind::And(args) => boolean(connective(args, false)),
        ExprKind::Or(args) => boolean(connective(args, true)),
        ExprKind::Not(arg) => boolean(Node::Not(Box::new(compile(arg).0))),
        ExprKind::IsNull { arg, negated } if !arg.ty.is_row() => {
            boolean(Node::IsNull { arg: Box::new(compile(arg).0), negated: *negated })
        }
        ExprKind::Like { arg, pattern, escape, negated, case_insensitive } => {
            let pattern = LikePattern::of_literals(pattern, escape.as_deref(), *case_insensitive)?.ok()?;
            boolean(Node::Like { arg: Box::new(compile(arg).0), pattern, negated: *negated })
        }
        _ => None,
    }
}

fn connective(args: &[TypedExpr], stop: bool) -> Node {
    Node::Connective { args: args.iter().map(|arg| compile(arg).0).collect(), stop }
}

fn call(expr: &TypedExpr, function: &'static BuiltinFunction, args: &[TypedExpr]) -> Option<(Node, Repr)> {
    let (nodes, reprs): (Vec<Node>, Vec<Repr>) = args.iter().map(compile).unzip();
    match function.kernel? {
        Kernel::Columns(kernel) => {
            // the kernel's layouts are those of the declared types
            let fits = args.iter().zip(&reprs).all(|(arg, repr)| *repr == Repr::Native(arg.ty.clone()));
            let out = expr.ty.physical();
            fits.then_some((Node::Kernel { kernel, args: nodes, out }, Repr::Native(expr.ty.clone())))
        }
        Kernel::Concat => {
            let fits = args.iter().all(|arg| arg.ty.is_text() && !matches!(arg.ty, SqlType::Char(_)));
            fits.then(|| (Node::Concat(flatten(nodes)), Repr::Native(SqlType::Text)))
        }
        Kernel::Numeric(op) => numeric_call(op, nodes, &reprs),
        Kernel::Compare(op) => {
            let [left, right]: [Node; 2] = nodes.try_into().ok()?;
            let (order, left, right) = compare::order_of((left, &reprs[0]), (right, &reprs[1]))?;
            let node = Node::Compare { op, order, args: Box::new([left, right]) };
            Some((node, Repr::Native(SqlType::Bool)))
        }
    }
}

/// `(a || b) || c` in one pass.
fn flatten(args: Vec<Node>) -> Vec<Node> {
    let mut flat = Vec::with_capacity(args.len());
    for arg in args {
        match arg {
            Node::Concat(inner) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    flat
}

fn numeric_call(op: NumericOp, mut args: Vec<Node>, reprs: &[Repr]) -> Option<(Node, Repr)> {
    if args.len() == 2 {
        let right = args.pop()?;
        let left = args.pop()?;
        numeric::binary(op, (left, &reprs[0]), (right, &reprs[1]))
    } else {
        numeric::unary(op, args.pop()?, reprs.first()?)
    }
}
