//! Bound plans and everything that runs them: the function registry, the row executor, the page-at-a-time
//! vectorised executor and the PL/pgSQL interpreter.
//!
//! | module | what it is |
//! |---|---|
//! | [`plan`] | the typed IR that the binder produces and both executors run |
//! | [`functions`] | built-in functions, operators and aggregates: one definition serves both executors |
//! | [`context`] | what expressions and statements may ask of the session |
//! | [`expr`] | expressions made runnable: closures over rows, kernels over columns |
//! | [`exec`] | statements made runnable, and run |
//! | [`files`] | files that queries read like tables |
//! | [`memory`] | what statements hold in memory, and what they may |
//! | [`spill`] | rows in temporary files, where they exceed what may be held |
//! | [`error`] | what can go wrong |
#![forbid(unsafe_code)]

mod aggregate;
pub mod context;
pub mod error;
pub mod exec;
pub mod expr;
pub mod files;
pub mod functions;
pub mod memory;
pub mod plan;
mod plpgsql;
mod regexp;
pub mod spill;
#[cfg(test)]
mod testing;

pub use context::{EvalContext, Notice, Runtime, Services};
pub use error::{ExecError, Raised};
pub use exec::{Compiled, ExecContext, ExternalRows, Sink, execute};
pub use expr::Executor;
pub use plpgsql::{Firing, Portals, Standing, evaluate, run_procedure};
