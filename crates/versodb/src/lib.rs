//! Verso as a library: Database, Connection, rows and Arrow batches
#![forbid(unsafe_code)]
