//! Sockets, TLS and the listener.
//!
//! | module | what it is |
//! |---|---|
//! | [`stream`] | a connection's bytes, plain or encrypted |
//! | [`input`] | messages out of these bytes |
//! | [`tls`] | certificate and key |
//! | [`listener`] | who waits for connections |

pub mod input;
pub mod listener;
pub mod stream;
pub mod tls;
