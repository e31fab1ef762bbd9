//! Full text search: `tsvector` and `tsquery`, and whether one matches the other.
//!
//! | module | what it has |
//! |---|---|
//! | [`vector`] | lexemes with their positions; text, binary and stored form |
//! | [`query`] | conditions over lexemes as a list in prefix order; text, binary and stored form |
//! | [`parse`] | texts of queries: operators and operands, whose words a caller may replace |
//! | [`words`] | how lexemes stand in the texts of both |
//! | [`matching`] | which documents a query matches, and where |
//! | [`shape`] | queries without stop words, without negations |
//!
//! What makes lexemes of documents (the parser and the dictionaries) is in `verso-exec`.
//!
//! 1. Lexemes are not empty, hold no NUL, and have [`LEXEME_MAX`] bytes at most.
//! 2. No function here recurses: a query may be as deep as it is long.

pub mod matching;
pub mod parse;
pub mod query;
pub mod shape;
pub mod vector;
mod words;

#[cfg(test)]
mod tests;

pub use query::{Item, Operand, TsQuery, checksum};
pub use vector::{Lexeme, Position, StoredVector, TsVector};

/// Longest lexeme, in bytes.
pub const LEXEME_MAX: usize = (1 << 11) - 1;
/// Most bytes of the lexemes and positions of a vector, and of the words of a query.
pub const TEXT_MAX: usize = (1 << 20) - 1;
/// Most positions of a lexeme.
pub const POSITIONS_MAX: usize = 256;
/// The last position; later words have it, too.
pub const POSITION_MAX: u16 = (1 << 14) - 1;
