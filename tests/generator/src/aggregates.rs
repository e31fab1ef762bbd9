//! Aggregates and window functions by their result's type, in the words of [`crate::templates`].

use crate::Type::{self, *};

/// Aggregates that give a type.
pub const AGGREGATES: &[(Type, &str)] = &[
    (Big, "count(*)"),
    (Big, "count({X})"),
    (Big, "count(DISTINCT {X})"),
    (Big, "sum({int})"),
    (Big, "sum(DISTINCT {small})"),
    (Numeric, "sum({big})"),
    (Numeric, "sum({numeric})"),
    (Numeric, "avg({int})"),
    (Numeric, "avg({numeric})"),
    (Numeric, "var_samp({int})"),
    (Numeric, "stddev_pop({numeric})"),
    (Float, "sum({col:float})"),
    (Interval, "sum({interval})"),
    (Interval, "avg({interval})"),
    (Bool, "bool_and({bool})"),
    (Bool, "bool_or({bool})"),
    (Bool, "every({X} IS NOT NULL)"),
    (Int, "bit_and({int})"),
    (Int, "bit_or({int})"),
    (Int, "bit_xor({int})"),
    (Text, "string_agg({col:text}, ',' ORDER BY {1})"),
    (Text, "string_agg(DISTINCT {col:text}, '')"),
    (Ints, "array_agg({col:int} ORDER BY {1})"),
    (Ints, "array_agg({col:int} ORDER BY {1} DESC NULLS LAST)"),
    (Ints, "array_agg(DISTINCT {col:int})"),
    (Texts, "array_agg({col:text} ORDER BY {1} DESC)"),
    (Jsonb, "jsonb_agg({col:int} ORDER BY {1})"),
    (Jsonb, "jsonb_object_agg(coalesce({col:int}, 0)::text || 'k', 1)"),
    (Int, "mode() WITHIN GROUP (ORDER BY {col:int})"),
    (Int, "percentile_disc(0.5) WITHIN GROUP (ORDER BY {int})"),
    (Float, "percentile_cont(0.25) WITHIN GROUP (ORDER BY {col:float})"),
    (Big, "rank(2) WITHIN GROUP (ORDER BY {int})"),
];

/// Aggregates of every type that has an order.
pub const LEAST: &[&str] = &["min({T})", "max({T})"];

/// Functions that only windows have.
pub const WINDOWS: &[(Type, &str)] = &[
    (Big, "row_number()"),
    (Big, "rank()"),
    (Big, "dense_rank()"),
    (Int, "ntile(3)"),
    (Float, "percent_rank()"),
    (Float, "cume_dist()"),
];

/// Such of every type.
pub const WINDOWS_OF_ANY: &[&str] = &[
    "lag({T})",
    "lead({T}, 2)",
    "lag({T}, 1, {T})",
    "first_value({T})",
    "last_value({T})",
    "nth_value({T}, 2)",
];

/// Frames.
pub const FRAMES: &[&str] = &[
    "",
    "",
    "ROWS UNBOUNDED PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW",
    "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES",
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE GROUP",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
];
