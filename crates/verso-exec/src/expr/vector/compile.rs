//! From typed expressions to nodes.

use verso_env::stack;
use verso_types::{CastKind, Physical, SqlType, Value};

use super::apply::Apply;
use super::decimals::Decimals;
use super::member::Members;
use super::pick::Pick;
use super::{Node, Repr, cast, compare, numeric};
use crate::expr::depends_on_row;
use crate::expr::like::LikePattern;
use crate::expr::row::{RowExpr, cast_is_identity, types_of};
use crate::functions::BuiltinFunction;
use crate::functions::kernel::{CompareOp, Kernel, NumericOp};
use crate::functions::subscripts::ELEMENT;
use crate::plan::{ExprKind, TypedExpr};

/// So many comparisons are quicker than looking each value up.
const IN_LIST_MAX: usize = 16;

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
        (ExprKind::Call { function, args }, SqlType::Numeric(None)) => {
            arithmetic_repr(function, args).unwrap_or_else(|| Repr::of_type(&expr.ty))
        }
        (_, ty) => Repr::of_type(ty),
    }
}

/// How a sum, difference or product of constants stands.
fn arithmetic_repr(function: &BuiltinFunction, args: &[TypedExpr]) -> Option<Repr> {
    let Some(Kernel::Numeric(op)) = function.kernel else { return None };
    let [left, right] = args else { return None };
    if stack::check().is_err() {
        return None;
    }
    let (left, right) = (constant_repr(left).scale()?, constant_repr(right).scale()?);
    let scale = match op {
        NumericOp::Add | NumericOp::Subtract => left.max(right),
        NumericOp::Multiply => left.checked_add(right).filter(|scale| *scale <= 18)?,
        _ => return None,
    };
    Some(Repr::Scaled64(scale))
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
        // Texts of char(n) are stored as they are seen, without the blanks at their end.
        ExprKind::Cast { arg, .. }
            if matches!(
                (&arg.ty, &expr.ty),
                (SqlType::Char(Some(_)), SqlType::Text | SqlType::Varchar(None))
            ) =>
        {
            Some((compile(arg).0, Repr::Native(expr.ty.clone())))
        }
        ExprKind::Cast { arg, kind } => {
            let (node, from) = compile(arg);
            let Some((kernel, repr)) = cast::find(&from, &expr.ty, *kind) else {
                let apply = Apply::of_cast(node, from, &arg.ty, &expr.ty, *kind)?;
                return Some((Node::Apply(apply), Repr::of_type(&expr.ty)));
            };
            Some((Node::Cast { cast: kernel, arg: Box::new(node) }, repr))
        }
        ExprKind::And(args) => boolean(connective(args, false)),
        ExprKind::Or(args) => boolean(connective(args, true)),
        ExprKind::Not(arg) => boolean(Node::Not(Box::new(compile(arg).0))),
        ExprKind::IsNull { arg, negated } if !arg.ty.is_row() => {
            boolean(Node::IsNull { arg: Box::new(compile(arg).0), negated: *negated })
        }
        ExprKind::Like { arg, pattern, escape, negated, case_insensitive } => {
            let escape = escape.as_deref();
            let (of_text, negated) = (Box::new(compile(arg).0), *negated);
            match LikePattern::of_literals(pattern, escape, *case_insensitive) {
                Some(pattern) => boolean(Node::Like { arg: of_text, pattern: pattern.ok()?, negated }),
                None if is_given(pattern) && escape.is_none_or(is_given) => {
                    let (pattern, escape) = (RowExpr::compile(pattern), escape.map(RowExpr::compile));
                    let fold = *case_insensitive;
                    boolean(Node::LikeGiven { arg: of_text, pattern, escape, fold, negated })
                }
                None if escape.is_none() && !*case_insensitive => {
                    boolean(Node::LikeEach { args: Box::new([*of_text, compile(pattern).0]), negated })
                }
                None => None,
            }
        }
        ExprKind::InList { arg, list, negated } if list.len() > IN_LIST_MAX => {
            if list.iter().any(depends_on_row) || list.iter().any(TypedExpr::is_volatile) {
                return None;
            }
            boolean(member(arg, Members::listed(list, &arg.ty), *negated)?)
        }
        ExprKind::InList { arg, list, negated } => match in_list(arg, list) {
            Some(any) => boolean(if *negated { Node::Not(Box::new(any)) } else { any }),
            None if list.iter().all(is_given) => {
                boolean(member(arg, Members::listed(list, &arg.ty), *negated)?)
            }
            None => None,
        },
        ExprKind::Case { branches, otherwise } => case(branches, otherwise.as_deref(), &expr.ty),
        ExprKind::Coalesce(args) => {
            let (args, repr) = alike(args.iter(), &expr.ty)?;
            let fits = (1..=usize::from(u8::MAX)).contains(&args.len());
            fits.then(|| (Node::Coalesce { args, out: repr.physical() }, repr))
        }
        ExprKind::NullIf { left, right } => {
            let (arg, repr) = compile(left);
            let equal = Box::new(plain_comparison(CompareOp::Equal, left, right)?);
            Some((Node::NullIf { arg: Box::new(arg), equal }, repr))
        }
        ExprKind::IsDistinct { left, right, negated } => {
            match plain_comparison(CompareOp::Equal, left, right)? {
                Node::Compare { order, args, .. } => {
                    boolean(Node::IsDistinct { order, args, negated: *negated })
                }
                _ => None,
            }
        }
        ExprKind::IsBool { arg, value, negated } => {
            boolean(Node::IsBool { arg: Box::new(compile(arg).0), wanted: *value, negated: *negated })
        }
        _ => None,
    }
}

/// A value looked up among many.
fn member(arg: &TypedExpr, among: Members, negated: bool) -> Option<Node> {
    let (node, repr) = compile(arg);
    // Numbers of a scale of their own do not stand as values.
    matches!(&repr, Repr::Native(_)).then(|| Node::Member { arg: Box::new(node), among, negated })
}

/// `column IN (constants)` as comparisons.
fn in_list(arg: &TypedExpr, list: &[TypedExpr]) -> Option<Node> {
    let ExprKind::Column(_) = arg.kind else { return None };
    if list.iter().any(depends_on_row) {
        return None;
    }
    let equal = |constant: &TypedExpr| {
        let ((left, a), (right, b)) = (compile(arg), compile(constant));
        comparison(CompareOp::Equal, (left, &a), (right, &b))
    };
    let args = list.iter().map(equal).collect::<Option<Vec<Node>>>()?;
    Some(Node::Connective { args, stop: true, by_need: false })
}

fn case(
    branches: &[(TypedExpr, TypedExpr)],
    otherwise: Option<&TypedExpr>,
    ty: &SqlType,
) -> Option<(Node, Repr)> {
    let null = TypedExpr::null(ty.clone());
    let otherwise = otherwise.unwrap_or(&null);
    let (mut results, repr) = alike(branches.iter().map(|(_, result)| result).chain([otherwise]), ty)?;
    let by_need =
        branches.iter().any(|(condition, result)| asks(condition) || asks(result)) || asks(otherwise);
    let otherwise = results.pop()?;
    let conditions: Vec<Node> = branches.iter().map(|(condition, _)| compile(condition).0).collect();
    let by_need = by_need || conditions.iter().chain(&results).chain([&otherwise]).any(Node::is_by_need);
    let branches = conditions.into_iter().zip(results).collect();
    Some((Node::Case { branches, otherwise: Box::new(otherwise), out: repr.physical(), by_need }, repr))
}

/// Results of which each row takes one, and how they all stand; `None` if they do not. A numeric of another scale in one of them shows:
/// then each row's has its own.
fn alike<'e>(exprs: impl Iterator<Item = &'e TypedExpr>, ty: &SqlType) -> Option<(Vec<Node>, Repr)> {
    let is_null = |expr: &TypedExpr| matches!(expr.kind, ExprKind::Literal(Value::Null));
    let results: Vec<(Option<Node>, Repr)> = exprs
        .map(|expr| {
            let (node, repr) = compile(expr);
            ((!is_null(expr)).then_some(node), repr)
        })
        .collect();
    let repr = results
        .iter()
        .find(|(node, _)| node.is_some())
        .map_or_else(|| Repr::of_type(ty), |(_, repr)| repr.clone());
    let stands = |other: &Repr| match (&repr, other) {
        (Repr::Native(a), Repr::Native(b)) => a.physical() == b.physical(),
        (a, b) => a == b,
    };
    let plain = Repr::Native(SqlType::Numeric(None));
    let is_numeric = |other: &Repr| other.scale().is_some() || *other == plain;
    let all =
        |fits: &dyn Fn(&Repr) -> bool| results.iter().all(|(node, other)| node.is_none() || fits(other));
    let repr = match all(&stands) {
        true => repr,
        false if *ty == SqlType::Numeric(None) && all(&is_numeric) => plain,
        false => return None,
    };
    let null = TypedExpr::null(ty.clone());
    let node = |(node, from): (Option<Node>, Repr)| match (node, from.scale()) {
        (None, _) => Node::Constant { expr: RowExpr::compile(&null), repr: repr.clone() },
        (Some(node), Some(scale)) if repr.scale().is_none() => Node::Unscaled { arg: Box::new(node), scale },
        (Some(node), _) => node,
    };
    Some((results.into_iter().map(node).collect(), repr.clone()))
}

/// A comparison of values whose order is that of their bytes or numbers, whatever their type.
fn plain_comparison(op: CompareOp, left: &TypedExpr, right: &TypedExpr) -> Option<Node> {
    let is_plain = |ty: &SqlType| !matches!(ty, SqlType::Char(_) | SqlType::System(_));
    if !is_plain(&left.ty) || !is_plain(&right.ty) {
        return None;
    }
    let ((left, a), (right, b)) = (compile(left), compile(right));
    comparison(op, (left, &a), (right, &b))
}

/// Whether an expression asks a query or calls a function of users, which may cost much.
fn asks(expr: &TypedExpr) -> bool {
    expr.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. } | ExprKind::UserCall { .. }))
}

fn connective(args: &[TypedExpr], stop: bool) -> Node {
    let nodes: Vec<Node> = args.iter().map(|arg| compile(arg).0).collect();
    let by_need = nodes.iter().any(Node::is_by_need) || args.iter().any(asks);
    Node::Connective { args: nodes, stop, by_need }
}

fn call(expr: &TypedExpr, function: &'static BuiltinFunction, args: &[TypedExpr]) -> Option<(Node, Repr)> {
    let negated = match function.operator {
        Some("= ANY") => Some(false),
        Some("<> ALL") => Some(true),
        _ => None,
    };
    if let (Some(negated), [arg, array]) = (negated, args) {
        if depends_on_row(array) || array.is_volatile() {
            return None;
        }
        let node = member(arg, Members::of_array(array, &arg.ty), negated)?;
        return Some((node, Repr::Native(SqlType::Bool)));
    }
    if let (true, [array, subscript]) = (std::ptr::eq(function, &ELEMENT), args)
        && is_given(array)
    {
        let pick = Pick::new(array, compile(subscript).0, &expr.ty);
        return Some((Node::Pick(pick), Repr::of_type(&expr.ty)));
    }
    let (mut nodes, mut reprs): (Vec<Node>, Vec<Repr>) = args.iter().map(compile).unzip();
    if matches!(function.name, "textanycat" | "anytextcat") && with_texts(&mut nodes, &mut reprs) {
        return Some((Node::Concat(flatten(nodes)), Repr::Native(SqlType::Text)));
    }
    let Some(kernel) = function.kernel else {
        let apply = Apply::of_call(function, nodes, &reprs, types_of(args), &expr.ty)?;
        return Some((Node::Apply(apply), Repr::of_type(&expr.ty)));
    };
    match kernel {
        Kernel::Columns(kernel) => {
            // the kernel's layouts are those of the declared types
            let fits = args.iter().zip(&reprs).all(|(arg, repr)| *repr == Repr::Native(arg.ty.clone()));
            let out = expr.ty.physical();
            let is_partial = out == Physical::Bytes || matches!(function.operator, Some("/" | "%"));
            let node = Node::Kernel { kernel, args: nodes, out, is_partial };
            fits.then_some((node, Repr::Native(expr.ty.clone())))
        }
        Kernel::OrNull(kernel) => {
            let fits = args.iter().zip(&reprs).all(|(arg, repr)| *repr == Repr::Native(arg.ty.clone()));
            let node = Node::OrNull { kernel, args: nodes, out: expr.ty.physical() };
            fits.then_some((node, Repr::Native(expr.ty.clone())))
        }
        Kernel::Concat => {
            let fits = args.iter().all(|arg| arg.ty.is_text() && !matches!(arg.ty, SqlType::Char(_)));
            fits.then(|| (Node::Concat(flatten(nodes)), Repr::Native(SqlType::Text)))
        }
        Kernel::Numeric(op) => numeric_call(op, nodes, &reprs),
        Kernel::Compare(op) => {
            let [left, right]: [Node; 2] = nodes.try_into().ok()?;
            Some((comparison(op, (left, &reprs[0]), (right, &reprs[1]))?, Repr::Native(SqlType::Bool)))
        }
    }
}

/// Makes texts of the sides of `text || integer`; whether both are texts then.
fn with_texts(nodes: &mut Vec<Node>, reprs: &mut Vec<Repr>) -> bool {
    let is_text =
        |repr: &Repr| matches!(repr, Repr::Native(ty) if ty.is_text() && !matches!(ty, SqlType::Char(_)));
    let is_integer = |repr: &Repr| matches!(repr, Repr::Native(ty) if ty.is_integer());
    if !reprs.iter().all(|repr| is_text(repr) || is_integer(repr)) {
        return false;
    }
    let sides = std::mem::take(nodes).into_iter().zip(std::mem::take(reprs));
    for (node, repr) in sides {
        let (node, repr) = match cast::find(&repr, &SqlType::Text, CastKind::Explicit) {
            Some((cast, text)) if is_integer(&repr) => (Node::Cast { cast, arg: Box::new(node) }, text),
            _ => (node, repr),
        };
        nodes.push(node);
        reprs.push(repr);
    }
    true
}

/// Whether the value is the same for all rows of a batch.
fn is_given(expr: &TypedExpr) -> bool {
    !depends_on_row(expr) && !expr.is_volatile()
}

/// A comparison; `None` where only rows can be compared.
fn comparison(op: CompareOp, (left, a): (Node, &Repr), (right, b): (Node, &Repr)) -> Option<Node> {
    let (left, right) = (as_compared(left, b), as_compared(right, a));
    let repr = |node: &Node, known: &Repr| match node {
        Node::Compared { repr, .. } => repr.clone(),
        _ => known.clone(),
    };
    let (a, b) = (repr(&left, a), repr(&right, b));
    let (order, left, right) = compare::order_of((left, &a), (right, &b))?;
    Some(Node::Compare { op, order, args: Box::new([left, right]) })
}

/// A numeric whose scale is known only when it is given, as the other side of a comparison stands.
fn as_compared(node: Node, other: &Repr) -> Node {
    match node {
        Node::Constant { expr, repr: Repr::Native(SqlType::Numeric(None)) } if other.scale().is_some() => {
            Node::Compared { expr, repr: other.clone() }
        }
        // The other side has a scale for each row.
        Node::Constant { expr, repr }
            if repr.scale().is_some() && *other == Repr::Native(SqlType::Numeric(None)) =>
        {
            Node::Compared { expr, repr: other.clone() }
        }
        node => node,
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
        let has_scale = |repr: &Repr| repr.scale().is_some();
        if op == NumericOp::Divide || !reprs.iter().all(has_scale) {
            return of_decimals(op, [left, right], reprs);
        }
        numeric::binary(op, (left, &reprs[0]), (right, &reprs[1]))
    } else {
        numeric::unary(op, args.pop()?, reprs.first()?)
    }
}

/// Of numerics one of which has its scale in each row, or the result has.
fn of_decimals(op: NumericOp, args: [Node; 2], reprs: &[Repr]) -> Option<(Node, Repr)> {
    let [left, right] = reprs else { return None };
    let result = Repr::Native(SqlType::Numeric(None));
    if [left, right].iter().any(|repr| repr.scale().is_none() && **repr != result) {
        return None;
    }
    Some((Node::Decimals(Box::new(Decimals::new(op, args, [left, right])?)), result))
}
