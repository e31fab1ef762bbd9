//! Figures of the server over HTTP, for Prometheus and its like.
//!
//! ```text
//! GET /metrics ─► http ─► measure (verso-session) ─► text ─► 200, text/plain; version=0.0.4
//! ```
//!
//! H1. A request is read up to 8 KiB and within 5 seconds, its answer is written within as many; at most 8 are answered at a
//!     time, others are closed unanswered. So nobody who reaches the port takes more of the server than that.
//! H2. Only databases that are open are measured, from counters in memory: being watched opens nothing and waits for nothing.
//! H3. Nothing of the data is told: names of databases, and figures.

mod http;
mod text;

pub use http::{Endpoint, PORT};

#[cfg(test)]
mod dashboard_tests;
