//! The aggregates and their types: those of PostgreSQL.

use verso_types::SqlType;

use super::{AggregateFunction, AggregateKind, ArgType, ResultType};

macro_rules! aggregates {
    ($($name:literal $kind:ident [$($arg:expr),*] $result:expr;)*) => {
        &[$(AggregateFunction {
            name: $name,
            kind: AggregateKind::$kind,
            args: &[$($arg),*],
            result: $result,
        }),*]
    };
}

const fn exact(ty: SqlType) -> ArgType {
    ArgType::Exact(ty)
}

const fn fixed(ty: SqlType) -> ResultType {
    ResultType::Fixed(ty)
}

/// Every aggregate.
pub(super) static AGGREGATES: &[AggregateFunction] = aggregates! {
    "count" CountStar [] fixed(SqlType::Int8);
    "count" Count [ArgType::Any] fixed(SqlType::Int8);
    "sum" Sum [exact(SqlType::Int2)] fixed(SqlType::Int8);
    "sum" Sum [exact(SqlType::Int4)] fixed(SqlType::Int8);
    "sum" Sum [exact(SqlType::Int8)] fixed(SqlType::Numeric(None));
    "sum" Sum [exact(SqlType::Numeric(None))] fixed(SqlType::Numeric(None));
    "sum" Sum [exact(SqlType::Float4)] fixed(SqlType::Float4);
    "sum" Sum [exact(SqlType::Float8)] fixed(SqlType::Float8);
    "sum" Sum [exact(SqlType::Interval)] fixed(SqlType::Interval);
    "avg" Avg [exact(SqlType::Int2)] fixed(SqlType::Numeric(None));
    "avg" Avg [exact(SqlType::Int4)] fixed(SqlType::Numeric(None));
    "avg" Avg [exact(SqlType::Int8)] fixed(SqlType::Numeric(None));
    "avg" Avg [exact(SqlType::Numeric(None))] fixed(SqlType::Numeric(None));
    "avg" Avg [exact(SqlType::Float4)] fixed(SqlType::Float8);
    "avg" Avg [exact(SqlType::Float8)] fixed(SqlType::Float8);
    "min" Min [ArgType::AnyElement] ResultType::SameAs(0);
    "max" Max [ArgType::AnyElement] ResultType::SameAs(0);
    "bool_and" BoolAnd [exact(SqlType::Bool)] fixed(SqlType::Bool);
    "every" BoolAnd [exact(SqlType::Bool)] fixed(SqlType::Bool);
    "bool_or" BoolOr [exact(SqlType::Bool)] fixed(SqlType::Bool);
    "string_agg" StringAgg [exact(SqlType::Text), exact(SqlType::Text)] fixed(SqlType::Text);
    "array_agg" ArrayAgg [ArgType::AnyNonArray] ResultType::ArrayOf(0);
};
