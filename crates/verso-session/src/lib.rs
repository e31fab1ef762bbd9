//! Sessions: statements in transactions, settings, results.
//!
//! ```text
//! text ─► verso-parser ─► syntax ─► verso-planner ─► plan ─► session ─► verso-exec ─► batches
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`session`] | a session: its parts, and the order in which a statement goes through them |
//! | [`views`] | rows of the system views |
//! | [`catalogs`] | the system catalogs: rows of `pg_catalog`, functions over them |
//! | [`cursors`] | cursors that are open, and where they stand |
//! | [`portal`] | portals: executions that yield their rows in portions |
//! | [`framed`] | which part runs a statement in its frame |
//! | [`ddl`] | CREATE, ALTER, DROP, TRUNCATE, LOCK TABLE |
//! | [`copy`] | COPY |
//! | [`files`] | `read_csv`, `read_json`: files as tables |
//! | [`explain`] | plans as text |
//! | [`export`] | backups that go to the client |
//! | [`constraints`] | constraints checked at commit, errors of keys |
//! | [`frame`] | what a statement works with, and how it runs there |
//! | [`services`] | what running expressions ask of the session |
//! | [`automatic`] | ANALYZE by itself |
//! | [`instance`] | what the sessions of a database share |
//! | [`transaction`] | the transaction a session is in: a state machine, and storage's transaction |
//! | [`memory`] | what a session's statements and portals may hold |
//! | [`plans`] | statements made ready, and kept |
//! | [`tables`] | the executors' tables, over storage |
//! | [`tracked`] | what statements cost, statement by statement |
//! | [`notify`] | LISTEN, NOTIFY: messages between sessions |
//! | [`registry`] | who is connected; cancel, terminate, timeouts |
//! | [`settings`] | the settings and their values |
//! | [`cluster`] | the databases of one server |
//! | [`metrics`] | figures for programs that watch a database over time |
//! | [`client`] | the way to the client: sinks, tags, notices, rows |
//! | [`failure`] | why a statement failed, and whether another try may help |
//! | [`scram`] | verifiers of passwords |

#![forbid(unsafe_code)]

mod automatic;
mod catalogs;
mod client;
pub mod cluster;
mod constraints;
pub mod copy;
mod cursors;
mod ddl;
mod defining;
mod executing;
mod explain;
mod export;
mod failure;
mod files;
mod frame;
mod framed;
mod inside;
mod instance;
mod marks;
mod memory;
pub mod metrics;
mod notify;
mod passwords;
mod plans;
mod portal;
mod registry;
mod reservations;
mod resets;
pub mod scram;
mod services;
mod serving;
mod session;
mod settings;
mod shares;
mod tables;
mod tracked;
mod transaction;
mod views;
mod wal_views;

pub use automatic::Background;
pub use catalogs::system_object;
pub use client::{CommandTag, CopyLayout, Notice, OutputColumn, StatementSink, StatementStatistics};
pub use cluster::{Cluster, Databases, Member};
pub use export::{Export, Exporter, PipeWriter};
pub use instance::Instance;
pub use notify::{Notification, Wake};
pub use plans::Prepared;
pub use portal::{Portal, PortalEnd};
pub use registry::{CancelHandle, Encryption, Identity, Terminate};
pub use session::Session;
pub use settings::{SETTINGS, Settings, setting_bytes};
pub use transaction::TransactionStatus;
pub use verso_catalog::Role;
pub use verso_exec::memory::{Account, Reservation};
pub use verso_parser::{AtomicBodies, Open, Piece, split_statements};
pub use verso_planner::errors;
pub use verso_planner::errors::SqlError;
