//! Verso's syntax tree: what the parser accepts, nothing more.
//!
//! The parser ([`crate::parse_script`] and its relatives) makes it. A form that has no node is refused there, with its name and
//! position, so the binder never meets a clause it would have to ignore.
//!
//! S1. Every node knows its place in the text ([`Span`], characters from 0), so an error can point at it.
//! S2. Names are folded as SQL folds them: unquoted ones in lower case.
//! S3. Left-deep chains of operators stay left-deep, but AND and OR are flat, so that long ones do not nest.

mod absent;
mod comment;
mod copy;
mod database;
mod dml;
mod expr;
mod fingerprint;
mod json;
mod merge;
mod object;
mod operator_definition;
mod plpgsql;
mod rights;
mod schema;
mod server;
mod session;
mod statement;
mod statistics;
mod table;
mod transaction;
mod trigger;
mod user_type;
mod view;
mod window;

pub use absent::*;
pub use comment::*;
pub use copy::*;
pub use database::*;
pub use dml::*;
pub use expr::*;
pub(crate) use fingerprint::Constant;
pub use fingerprint::Fingerprint;
pub use json::*;
pub use merge::*;
pub use object::*;
pub use operator_definition::*;
pub use plpgsql::*;
pub use rights::*;
pub use schema::*;
pub use server::*;
pub use session::{Cursor, Direction, Fetch, LogicalBackup, Prepare};
pub use statement::*;
pub use statistics::*;
pub use table::*;
pub use transaction::*;
pub use trigger::*;
pub use user_type::*;
pub use view::*;
pub use window::*;

/// A place in the text: characters from 0, half open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First character.
    pub start: u32,
    /// Behind the last character.
    pub end: u32,
}

impl Span {
    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// An identifier, folded.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// As stored in the catalog.
    pub text: String,
    /// Where it stands.
    pub at: Span,
}

/// A name of a table, function, …, perhaps with its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct QualifiedName {
    /// The schema, where one is given.
    pub schema: Option<Name>,
    /// The name itself.
    pub name: Name,
}

impl QualifiedName {
    /// Where it stands, schema included.
    pub fn at(&self) -> Span {
        self.schema.as_ref().map_or(self.name.at, |schema| schema.at.to(self.name.at))
    }

    /// The schema's text.
    pub fn schema_text(&self) -> Option<&str> {
        self.schema.as_ref().map(|schema| schema.text.as_str())
    }
}

impl std::fmt::Display for QualifiedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{}.", schema.text)?;
        }
        f.write_str(&self.name.text)
    }
}
