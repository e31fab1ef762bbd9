//! Whether a row is in a sample of its table (TABLESAMPLE); as operators whose names nobody can write.

use verso_storage::heap::Draw;
use verso_types::{SqlType, TypeError, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::error::Result;
use crate::exec::record_of;
use crate::plan::{ExprKind, TypedExpr};

/// The sample of so many percent of the rows of a table, or of its pages.
///
/// # Errors
/// For a percentage that is none, and NULLs.
pub(crate) fn draw(pages: bool, percent: &Value, seed: &Value) -> Result<Draw> {
    let percent = match percent {
        Value::Float8(percent) if (0.0..=100.0).contains(percent) => *percent,
        Value::Float8(_) => {
            return Err(TypeError::new("2202H", "sample percentage must be between 0 and 100").into());
        }
        _ => return Err(TypeError::new("2202H", "TABLESAMPLE parameter cannot be null").into()),
    };
    let Value::Float8(seed) = seed else {
        return Err(TypeError::new("2202G", "TABLESAMPLE REPEATABLE parameter cannot be null").into());
    };
    Ok(Draw::new(pages, percent / 100.0, *seed))
}

/// What a condition draws: of pages or of rows, the percentage and the seed, over the place of a row in that column.
pub(crate) fn drawn(condition: &TypedExpr, column: usize) -> Option<(bool, &TypedExpr, &TypedExpr)> {
    let ExprKind::Call { function, args } = &condition.kind else { return None };
    let pages = match function.operator? {
        ROWS => false,
        PAGES => true,
        _ => return None,
    };
    match args.as_slice() {
        [place, percent, seed] if place.as_column() == Some(column) => Some((pages, percent, seed)),
        _ => None,
    }
}

const ROWS: &str = "sample rows";
const PAGES: &str = "sample pages";

/// An entry; of whole pages, or of rows.
macro_rules! sample {
    ($name:expr, $pages:literal) => {
        BuiltinFunction {
            name: "",
            operator: Some($name),
            args: &[
                ArgType::Exact(SqlType::Int8),
                ArgType::Exact(SqlType::Float8),
                ArgType::Exact(SqlType::Float8),
            ],
            variadic: false,
            result: ResultType::Fixed(SqlType::Bool),
            strict: false,
            // Judged where the places of rows are known: no rewrite moves it.
            volatility: Volatility::Volatile,
            body: Body::Scalar(|_, args| match args {
                [Value::Int8(place), percent, seed] => {
                    Ok(Value::Bool(draw($pages, percent, seed)?.has(record_of(*place))))
                }
                _ => Err(unexpected("TABLESAMPLE", args)),
            }),
            kernel: None,
        }
    };
}

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [&[sample!(ROWS, false), sample!(PAGES, true)]];
