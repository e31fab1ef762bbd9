//! SQL and PL/pgSQL text to syntax tree; knows nothing but types.
//!
//! ```text
//! text ─► parse ─► syntax
//! ```
#![forbid(unsafe_code)]

mod error;
mod parse;
pub mod syntax;

pub use error::SyntaxError;
pub use parse::{
    AtomicBodies, Open, OptionsOf, Piece, Script, all_names, check_options, fuzz_parse, literals, names,
    names_column, parse_body, parse_expression, parse_kept_script, parse_script, parse_standard_body,
    parse_type, quoted, rename_column, rename_table, returned_query, split_statements, type_of_call,
};
