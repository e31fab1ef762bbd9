//! Bound statements as text, for EXPLAIN.
//!
//! | module | what it is |
//! |---|---|
//! | [`plan`] | the lines of operators |
//! | [`expression`] | expressions within them |

mod expression;
mod plan;

pub use plan::Lines;
