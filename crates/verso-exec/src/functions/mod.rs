//! The registry of built-in functions, operators and aggregates.
//!
//! One definition of each function serves both executors: a scalar function over values, and for hot ones
//! a kernel over columns that yields the same values. Names, argument and result types are PostgreSQL's.
//!
//! The binder resolves names through [`candidates`], [`operator_candidates`] and [`aggregate_candidates`],
//! by PostgreSQL's rules, and stores the `&'static` entry in the plan.

mod acl;
mod aggregates;
pub(crate) mod arrays;
pub(crate) mod bits;
mod by_name;
mod bytes;
mod calendar;
pub mod case;
mod catalogs;
mod chance;
mod checksums;
mod citext;
pub mod collations;
mod collected;
mod comparison;
mod crypto;
mod date_templates;
mod datetimes;
mod define;
mod encodings;
mod enums;
mod extensions;
mod figures;
mod floats;
mod geometry;
mod hashes;
pub mod hstore;
mod identifiers;
mod inputs;
mod integers;
pub mod json;
pub mod kernel;
mod keywords;
mod likeness;
mod locks;
pub(crate) mod money;
mod named_within;
mod networks;
mod number_templates;
mod numerics;
mod operator_names;
mod parameters;
mod patterns;
mod periods;
mod quoting;
mod ranges;
pub mod records;
mod registry;
pub(crate) mod samples;
mod sends;
mod session;
mod sets;
mod similar;
mod sizes;
mod special;
mod spread;
mod standard;
pub mod subscripts;
pub(crate) mod support;
mod templates;
#[cfg(test)]
mod tests;
pub(crate) mod text_kernels;
pub mod text_search;
pub(crate) mod texts;
mod timetz;
mod transactions;
mod transitions;
pub(crate) mod trigrams;
mod unicode;
mod uuids;
mod windows;
mod writers;

pub(crate) use comparison::order_of;
pub use operator_names::operand_types;
pub use parameters::{Parameters, parameters};
pub use quoting::quote_ident;
pub use ranges::own_constructor;
pub(crate) use registry::is_of_one_row;
pub use registry::{
    AggregateFunction, AggregateKind, ArgType, Body, BuiltinFunction, ResultType, ScalarFn, SetFn, TypedFn,
    TypedSetFn, Volatility, aggregate_candidates, all_functions, candidates, operator_candidates,
};
pub use session::of_sequence;
pub(crate) use session::void;
pub use spread::taking_array;
pub use texts::{WITH_BLANKS, is_named};
pub use windows::{WindowEntry, WindowKind, window_candidates};

/// Every table of functions.
static TABLES: &[&[&[BuiltinFunction]]] = &[
    &integers::TABLES,
    &floats::TABLES,
    &special::TABLES,
    &numerics::TABLES,
    &comparison::TABLES,
    &enums::TABLES,
    &texts::TABLES,
    &case::TABLES,
    &collations::TABLES,
    &quoting::TABLES,
    &identifiers::TABLES,
    &unicode::TABLES,
    &bytes::TABLES,
    &checksums::TABLES,
    &hashes::TABLES,
    &chance::TABLES,
    &bits::TABLES,
    &networks::TABLES,
    &geometry::TABLES,
    &money::TABLES,
    &timetz::TABLES,
    &arrays::TABLES,
    &standard::TABLES,
    &json::TABLES,
    &calendar::TABLES,
    &templates::TABLES,
    &date_templates::TABLES,
    &uuids::TABLES,
    &extensions::TABLES,
    &crypto::TABLES,
    &citext::TABLES,
    &hstore::TABLES,
    &likeness::TABLES,
    &patterns::TABLES,
    &periods::TABLES,
    &similar::TABLES,
    &number_templates::TABLES,
    &datetimes::TABLES,
    &locks::TABLES,
    &session::TABLES,
    &transactions::TABLES,
    &keywords::TABLES,
    &acl::TABLES,
    &catalogs::TABLES,
    &figures::TABLES,
    &samples::TABLES,
    &writers::TABLES,
    &sends::TABLES,
    &sets::TABLES,
    &sizes::TABLES,
    &support::TABLES,
    &named_within::TABLES,
    &ranges::TABLES,
    &records::TABLES,
    &trigrams::TABLES,
    &encodings::TABLES,
    &inputs::TABLES,
    &text_search::TABLES,
    &transitions::TABLES,
    &by_name::TABLES,
];
