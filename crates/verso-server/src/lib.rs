//! The server: PostgreSQL's protocol over TCP and Unix sockets, sessions served by a few threads.
//!
//! ```text
//! listener ──► startup, on a thread of its own ──► pool ──► a worker ──► messages ─► Session (verso-session)
//!    │            │                                 ▲          │             │
//!    │            auth                              └──────────┘             sink ─► output ─► one write per Sync
//!    └ Backends: who is connected, cancel, terminate
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`protocol`] | bytes from and to messages |
//! | [`network`] | sockets, TLS, listener |
//! | [`access`] | rules: who may connect from where, and how that is proved |
//! | [`auth`] | SCRAM-SHA-256, with and without channel binding |
//! | [`conversation`] | one client's messages, in order |
//! | [`backends`] | who is connected |
//! | [`workers`] | the threads that serve them: who may run a statement now |
//! | [`config`] | what the server is told |
//! | [`metrics`] | figures over HTTP, for Prometheus |
//! | [`databases`] | what is served: one file, or those of a folder |
//! | [`server`] | a running server: start, reload, shutdown |
//!
//! A statement is on one stack from its message to its answer, and blocks where it waits: then another thread takes the
//! worker's place.
#![forbid(unsafe_code)]

pub mod access;
pub mod auth;
pub mod backends;
pub mod config;
pub mod conversation;
pub mod databases;
pub mod metrics;
pub mod network;
pub mod protocol;
pub mod server;
pub mod workers;

pub use config::{Config, ConfigError};
pub use server::{Server, ServerError, ShutdownMode};

/// Reads junk as a message, and as a first packet; for fuzzing. Must return, whatever the bytes.
pub fn fuzz_decode(kind: u8, bytes: &[u8]) {
    use protocol::frontend::{Message, Startup, sasl_initial};
    // Errors are fine: only a panic is a finding.
    if let Ok(Message::Bind(bind)) = Message::parse(kind, bytes) {
        let count =
            bind.values().enumerate().filter(|(i, _)| bind.formats.of(*i) == bind.results.of(*i)).count();
        assert!(count <= bind.count, "a value is counted once");
    }
    drop(Startup::parse(bytes));
    drop(sasl_initial(bytes));
    let mut input = network::input::Input::new(1 << 20);
    if input.fill(&mut &bytes[..]).is_ok() {
        while let Ok(Some(frame)) = input.next_frame() {
            drop(Message::parse(frame.kind, input.body(&frame)));
        }
    }
}
