//! The aggregates and their types: those of PostgreSQL. The percentiles also take an array of fractions, and then yield
//! an array.

use verso_types::{SqlType, SystemType};

use super::{AggregateFunction, AggregateKind, ArgType, ResultType};

macro_rules! aggregates {
    ($($name:literal $kind:ident $($direct:literal within)? [$($arg:expr),*] $result:expr;)*) => {
        &[$(AggregateFunction {
            name: $name,
            kind: AggregateKind::$kind,
            args: &[$($arg),*],
            direct: 0 $(+ $direct)?,
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
    "sum" Sum [exact(SqlType::Interval(None))] fixed(SqlType::Interval(None));
    "sum" Sum [exact(SqlType::System(SystemType::Money))] fixed(SqlType::System(SystemType::Money));
    "avg" Avg [exact(SqlType::Int2)] fixed(SqlType::Numeric(None));
    "avg" Avg [exact(SqlType::Int4)] fixed(SqlType::Numeric(None));
    "avg" Avg [exact(SqlType::Int8)] fixed(SqlType::Numeric(None));
    "avg" Avg [exact(SqlType::Numeric(None))] fixed(SqlType::Numeric(None));
    "avg" Avg [exact(SqlType::Float4)] fixed(SqlType::Float8);
    "avg" Avg [exact(SqlType::Float8)] fixed(SqlType::Float8);
    "avg" Avg [exact(SqlType::Interval(None))] fixed(SqlType::Interval(None));
    "min" Min [ArgType::AnyElement] ResultType::SameAs(0);
    "max" Max [ArgType::AnyElement] ResultType::SameAs(0);
    "bool_and" BoolAnd [exact(SqlType::Bool)] fixed(SqlType::Bool);
    "every" BoolAnd [exact(SqlType::Bool)] fixed(SqlType::Bool);
    "bool_or" BoolOr [exact(SqlType::Bool)] fixed(SqlType::Bool);
    "any_value" AnyValue [ArgType::AnyElement] ResultType::SameAs(0);
    "bit_and" BitAnd [exact(SqlType::Int2)] fixed(SqlType::Int2);
    "bit_and" BitAnd [exact(SqlType::Int4)] fixed(SqlType::Int4);
    "bit_and" BitAnd [exact(SqlType::Int8)] fixed(SqlType::Int8);
    "bit_and" BitAnd [exact(SqlType::Bit(None))] fixed(SqlType::Bit(None));
    "bit_or" BitOr [exact(SqlType::Bit(None))] fixed(SqlType::Bit(None));
    "bit_xor" BitXor [exact(SqlType::Bit(None))] fixed(SqlType::Bit(None));
    "bit_or" BitOr [exact(SqlType::Int2)] fixed(SqlType::Int2);
    "bit_or" BitOr [exact(SqlType::Int4)] fixed(SqlType::Int4);
    "bit_or" BitOr [exact(SqlType::Int8)] fixed(SqlType::Int8);
    "bit_xor" BitXor [exact(SqlType::Int2)] fixed(SqlType::Int2);
    "bit_xor" BitXor [exact(SqlType::Int4)] fixed(SqlType::Int4);
    "bit_xor" BitXor [exact(SqlType::Int8)] fixed(SqlType::Int8);
    "string_agg" StringAgg [exact(SqlType::Text), exact(SqlType::Text)] fixed(SqlType::Text);
    "array_agg" ArrayAgg [ArgType::AnyNonArray] ResultType::ArrayOf(0);
    "array_agg" ArrayAgg [ArgType::AnyArray] ResultType::SameAs(0);
    "array_gathered" Gathered [ArgType::AnyElement] ResultType::ArrayOf(0);
    // Of rows of several arguments: under DISTINCT each of them may be sorted by.
    "array_gathered_parts" Gathered [ArgType::AnyElement] ResultType::ArrayOf(0);
    "string_agg" StringAgg [exact(SqlType::Bytea), exact(SqlType::Bytea)] fixed(SqlType::Bytea);
    "variance" VarSamp [exact(SqlType::Int2)] fixed(SqlType::Numeric(None));
    "variance" VarSamp [exact(SqlType::Int4)] fixed(SqlType::Numeric(None));
    "variance" VarSamp [exact(SqlType::Int8)] fixed(SqlType::Numeric(None));
    "variance" VarSamp [exact(SqlType::Numeric(None))] fixed(SqlType::Numeric(None));
    "variance" VarSamp [exact(SqlType::Float4)] fixed(SqlType::Float8);
    "variance" VarSamp [exact(SqlType::Float8)] fixed(SqlType::Float8);
    "var_samp" VarSamp [exact(SqlType::Int2)] fixed(SqlType::Numeric(None));
    "var_samp" VarSamp [exact(SqlType::Int4)] fixed(SqlType::Numeric(None));
    "var_samp" VarSamp [exact(SqlType::Int8)] fixed(SqlType::Numeric(None));
    "var_samp" VarSamp [exact(SqlType::Numeric(None))] fixed(SqlType::Numeric(None));
    "var_samp" VarSamp [exact(SqlType::Float4)] fixed(SqlType::Float8);
    "var_samp" VarSamp [exact(SqlType::Float8)] fixed(SqlType::Float8);
    "var_pop" VarPop [exact(SqlType::Int2)] fixed(SqlType::Numeric(None));
    "var_pop" VarPop [exact(SqlType::Int4)] fixed(SqlType::Numeric(None));
    "var_pop" VarPop [exact(SqlType::Int8)] fixed(SqlType::Numeric(None));
    "var_pop" VarPop [exact(SqlType::Numeric(None))] fixed(SqlType::Numeric(None));
    "var_pop" VarPop [exact(SqlType::Float4)] fixed(SqlType::Float8);
    "var_pop" VarPop [exact(SqlType::Float8)] fixed(SqlType::Float8);
    "stddev" StddevSamp [exact(SqlType::Int2)] fixed(SqlType::Numeric(None));
    "stddev" StddevSamp [exact(SqlType::Int4)] fixed(SqlType::Numeric(None));
    "stddev" StddevSamp [exact(SqlType::Int8)] fixed(SqlType::Numeric(None));
    "stddev" StddevSamp [exact(SqlType::Numeric(None))] fixed(SqlType::Numeric(None));
    "stddev" StddevSamp [exact(SqlType::Float4)] fixed(SqlType::Float8);
    "stddev" StddevSamp [exact(SqlType::Float8)] fixed(SqlType::Float8);
    "stddev_samp" StddevSamp [exact(SqlType::Int2)] fixed(SqlType::Numeric(None));
    "stddev_samp" StddevSamp [exact(SqlType::Int4)] fixed(SqlType::Numeric(None));
    "stddev_samp" StddevSamp [exact(SqlType::Int8)] fixed(SqlType::Numeric(None));
    "stddev_samp" StddevSamp [exact(SqlType::Numeric(None))] fixed(SqlType::Numeric(None));
    "stddev_samp" StddevSamp [exact(SqlType::Float4)] fixed(SqlType::Float8);
    "stddev_samp" StddevSamp [exact(SqlType::Float8)] fixed(SqlType::Float8);
    "stddev_pop" StddevPop [exact(SqlType::Int2)] fixed(SqlType::Numeric(None));
    "stddev_pop" StddevPop [exact(SqlType::Int4)] fixed(SqlType::Numeric(None));
    "stddev_pop" StddevPop [exact(SqlType::Int8)] fixed(SqlType::Numeric(None));
    "stddev_pop" StddevPop [exact(SqlType::Numeric(None))] fixed(SqlType::Numeric(None));
    "stddev_pop" StddevPop [exact(SqlType::Float4)] fixed(SqlType::Float8);
    "stddev_pop" StddevPop [exact(SqlType::Float8)] fixed(SqlType::Float8);
    "corr" Corr [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "covar_pop" CovarPop [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "covar_samp" CovarSamp [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "regr_avgx" RegrAvgx [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "regr_avgy" RegrAvgy [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "regr_intercept" RegrIntercept [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "regr_r2" RegrR2 [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "regr_slope" RegrSlope [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "regr_sxx" RegrSxx [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "regr_sxy" RegrSxy [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "regr_syy" RegrSyy [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "regr_count" RegrCount [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Int8);
    "percentile_cont" PercentileCont 1 within [exact(SqlType::Float8), exact(SqlType::Float8)] fixed(SqlType::Float8);
    "percentile_cont" PercentileCont 1 within [exact(SqlType::Float8), exact(SqlType::Interval(None))] fixed(SqlType::Interval(None));
    "percentile_disc" PercentileDisc 1 within [exact(SqlType::Float8), ArgType::AnyElement] ResultType::SameAs(1);
    "mode" Mode [ArgType::AnyElement] ResultType::SameAs(0);
    "rank" Rank [] fixed(SqlType::Int8);
    "dense_rank" DenseRank [] fixed(SqlType::Int8);
    "percent_rank" PercentRank [] fixed(SqlType::Float8);
    "cume_dist" CumeDist [] fixed(SqlType::Float8);
};
