//! Full text search: functions and operators over `tsvector` and `tsquery`.
//!
//! ```text
//! text ─► tokens ─► lexemes ─► tsvector          text of a query ─► operands, each as a text ─► tsquery
//!       parser    config     documents                           asking
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | [`parser`], [`states`] | texts as tokens |
//! | [`config`] | configurations and dictionaries |
//! | [`documents`], [`asking`] | what makes vectors and queries |
//! | [`vectors`], [`queries`] | what is done with them, and `@@` |
//! | [`rank`] | how well a document fits |
//! | [`rewrite`] | queries in queries |
//! | [`headline`] | parts of documents |
//! | [`debugging`] | what becomes of a text, step by step |
//! | [`json_text`] | the strings of a json text |
//!
//! The values themselves are in `verso-types`, `text_search/`.

mod asking;
mod config;
mod debugging;
mod documents;
mod headline;
mod json_text;
mod parser;
mod queries;
mod rank;
mod rewrite;
mod states;
mod vectors;

pub use config::{configuration, is_known};
use verso_types::text_search::{TsQuery, TsVector};
use verso_types::{Opaque, OpaqueKind, SqlType, SystemType, TypeError};

use super::{ArgType, BuiltinFunction, ResultType};
use crate::error::Result;

const TEXT: ArgType = ArgType::Exact(SqlType::Text);
const TEXTS: ArgType = ArgType::ArrayOf(SqlType::Text);
const JSON: ArgType = ArgType::Exact(SqlType::Json);
const JSONB: ArgType = ArgType::Exact(SqlType::Jsonb);
const INT4: ArgType = ArgType::Exact(SqlType::Int4);
const CONFIG: ArgType = ArgType::Exact(SqlType::System(SystemType::Regconfig));
const DOCUMENT: ArgType = ArgType::Exact(SqlType::System(SystemType::TsVector));
const ASKED: ArgType = ArgType::Exact(SqlType::System(SystemType::TsQuery));

const VECTOR: ResultType = ResultType::Fixed(SqlType::System(SystemType::TsVector));
const QUERY: ResultType = ResultType::Fixed(SqlType::System(SystemType::TsQuery));
const AS_CONFIG: ResultType = ResultType::Fixed(SqlType::System(SystemType::Regconfig));
const AS_TEXT: ResultType = ResultType::Fixed(SqlType::Text);
const AS_BOOL: ResultType = ResultType::Fixed(SqlType::Bool);
const AS_INT4: ResultType = ResultType::Fixed(SqlType::Int4);

/// A strict function over values; with a symbol the one behind an operator.
macro_rules! function {
    ($name:literal [$($arg:expr),*] => $result:expr, $volatility:expr, $body:expr) => {
        $crate::functions::text_search::function!(@ $name, None, [$($arg),*] => $result, $volatility, $body)
    };
    ($name:literal $operator:literal [$($arg:expr),*] => $result:expr, $volatility:expr, $body:expr) => {
        $crate::functions::text_search::function!(@ $name, Some($operator), [$($arg),*] => $result, $volatility, $body)
    };
    (@ $name:literal, $operator:expr, [$($arg:expr),*] => $result:expr, $volatility:expr, $body:expr) => {
        $crate::functions::BuiltinFunction {
            name: $name,
            operator: $operator,
            args: &[$($arg),*],
            variadic: false,
            result: $result,
            strict: true,
            volatility: $volatility,
            body: $crate::functions::Body::Scalar($body),
            kernel: None,
        }
    };
}

use function;

/// The vector that an argument is.
fn vector(value: &Opaque) -> Result<TsVector> {
    match value.kind() {
        OpaqueKind::TsVector => Ok(TsVector::of(value)),
        _ => Err(TypeError::corrupt("tsvector").into()),
    }
}

/// The query that an argument is.
fn query(value: &Opaque) -> Result<TsQuery> {
    match value.kind() {
        OpaqueKind::TsQuery => Ok(TsQuery::of(value)),
        _ => Err(TypeError::corrupt("tsquery").into()),
    }
}

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 8] = [
    documents::FUNCTIONS,
    asking::FUNCTIONS,
    vectors::FUNCTIONS,
    queries::FUNCTIONS,
    rank::FUNCTIONS,
    rewrite::FUNCTIONS,
    headline::FUNCTIONS,
    debugging::FUNCTIONS,
];
