//! COPY: the statement, and its formats: rows from and to text, CSV and binary data.
//!
//! | module | what it is |
//! |---|---|
//! | [`layout`] | how the data look, checked |
//! | [`records`] | text and CSV data cut into records and fields |
//! | [`writer`] | rows to any format |
//! | [`reader`] | any format to rows |
//! | [`parquet`] | rows of Parquet files, where the program reads and writes them |
//! | [`statement`] | the statement: files, clients, tables |
//!
//! C1. What the writer makes the reader reads back as the same rows, with the same options.
//! C2. Data come in pieces cut anywhere; what is kept of them is at most one record and one piece.
//!
//! Source: PostgreSQL's documentation of COPY.

pub mod layout;
mod parquet;
pub mod reader;
pub mod records;
mod statement;
pub mod writer;

pub(crate) use statement::copy;

/// How binary data begin.
pub(crate) const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

#[cfg(test)]
mod tests;
