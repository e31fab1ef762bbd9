//! Syntax tree to physical plan, with PostgreSQL's rules.
//!
//! ```text
//! syntax ─► bind (names, types, casts) ─► rewrite ─► plan (access paths) ─► verso_exec::plan
//!                                                        └──► explain: the plan as text
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`bind`] | names, functions, operators, types |
//! | `hints` | what comments ask of plans |
//! | `implied` | whether a condition says that another one is true |
//! | `rewrite` | plans made better without a change of their answers |
//! | [`plan`] | through which index a table's rows are found |
//! | [`explain`] | plans as text |
//! | [`errors`] | what a client is told, and its SQLSTATE |
#![forbid(unsafe_code)]

pub mod bind;
mod cost;
pub mod deparse;
mod depth;
pub mod errors;
pub mod estimate;
pub mod explain;
mod extended;
mod hints;
mod implied;
mod json_text;
mod methods;
pub mod plan;
mod rewrite;
mod selectivity;

pub use errors::SqlError;
pub use methods::Methods;
pub use rewrite::Rules;
