//! Sockets, TLS and the listener.
//!
//! | module | what it is |
//! |---|---|
//! | [`stream`] | a connection's bytes, plain or encrypted |
//! | [`input`] | messages out of these bytes |
//! | [`patience`] | how the client's next bytes are waited for |
//! | [`tls`] | certificate and key, authorities of clients |
//! | [`certificate`] | what a certificate says |
//! | `client_verifier` | logs why a client's certificate was refused |
//! | [`listener`] | who waits for connections |

pub mod certificate;
mod client_verifier;
pub mod input;
pub mod listener;
pub mod patience;
pub mod stream;
pub mod tls;
