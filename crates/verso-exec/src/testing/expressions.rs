//! Expressions, made from what they are called with.

use verso_types::{SqlType, Value};

use crate::functions::{ArgType, BuiltinFunction, ResultType, candidates, operator_candidates};
use crate::plan::{CastKind, ExprKind, TypedExpr};

pub(crate) fn column(index: usize, ty: SqlType) -> TypedExpr {
    TypedExpr::column(index, ty)
}

/// A literal of the value's own type.
pub(crate) fn literal(value: Value) -> TypedExpr {
    let ty = verso_types::text::type_of(&value);
    TypedExpr::literal(value, ty)
}

pub(crate) fn cast(arg: TypedExpr, ty: SqlType, kind: CastKind) -> TypedExpr {
    TypedExpr::new(ExprKind::Cast { arg: Box::new(arg), kind }, ty)
}

/// A call by name or operator whose declared types are those of the arguments.
pub(crate) fn call(name: &str, args: Vec<TypedExpr>) -> TypedExpr {
    let named = candidates(name);
    let all = if named.is_empty() { operator_candidates(name) } else { named };
    let function = all
        .iter()
        .find(|function| takes(function, &args))
        .unwrap_or_else(|| panic!("no {name}({:?})", args.iter().map(|arg| &arg.ty).collect::<Vec<_>>()));
    let ty = match &function.result {
        ResultType::Fixed(ty) => ty.clone(),
        ResultType::FixedArray(element) => SqlType::Array(Box::new(element.clone())),
        ResultType::Columns(_) | ResultType::Mixed(_) => SqlType::Record,
        ResultType::SameAs(i) => args[*i].ty.without_modifiers(),
        ResultType::ArrayOf(i) => SqlType::Array(Box::new(args[*i].ty.clone())),
        ResultType::ElementOf(i) => match &args[*i].ty {
            SqlType::Array(element) => (**element).clone(),
            SqlType::Range(of) | SqlType::Multirange(of) => of.subtype(),
            other => other.clone(),
        },
        ResultType::RangeOf(i) | ResultType::MultirangeOf(i) => match &args[*i].ty {
            SqlType::Range(of) => SqlType::Multirange(of.clone()),
            SqlType::Multirange(of) => SqlType::Range(of.clone()),
            other => other.clone(),
        },
    };
    TypedExpr::new(ExprKind::Call { function, args }, ty)
}

fn takes(function: &BuiltinFunction, args: &[TypedExpr]) -> bool {
    let declared = |i: usize| &function.args[i.min(function.args.len().saturating_sub(1))];
    let count =
        if function.variadic { args.len() >= function.args.len() } else { args.len() == function.args.len() };
    count
        && args.iter().enumerate().all(|(i, arg)| match declared(i) {
            ArgType::Exact(SqlType::Text) => matches!(arg.ty, SqlType::Text | SqlType::Varchar(_)),
            ArgType::Exact(ty) => ty.same_base(&arg.ty),
            ArgType::AnyEnum => matches!(arg.ty, SqlType::Enum(_)),
            ArgType::AnyArray => matches!(arg.ty, SqlType::Array(_)),
            ArgType::AnyRange => matches!(arg.ty, SqlType::Range(_)),
            ArgType::AnyMultirange => matches!(arg.ty, SqlType::Multirange(_)),
            ArgType::AnyNonArray => !matches!(arg.ty, SqlType::Array(_)),
            ArgType::Any | ArgType::AnyElement => true,
            ArgType::ArrayOf(element) => matches!(&arg.ty, SqlType::Array(ty) if ty.same_base(element)),
            // of functions of users only
            ArgType::Polymorphic(_) => false,
        })
}
