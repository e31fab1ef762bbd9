//! JSON: text and its syntax, and the binary form of `jsonb`, in which a key is found without reading the rest.
//!
//! ```text
//! value  = 1 null │ 2 false │ 3 true │ 4 number │ 5 string │ 6, 7, 8 array │ 9, 10, 11 object     one byte, then
//! number = as in numeric columns                    string = UTF-8, as long as the value
//! array  = count, end of each value, values        object = count, end of each key, end of each value, keys, values
//! ```
//!
//! Counts and ends are little-endian integers of 1, 2 or 4 bytes, as the tag says; an end is counted from the first key
//! or value. How long a value is, its surroundings say.
//!
//! 1. Keys are sorted by length, then by bytes, as PostgreSQL's, and unique; the last of several equal ones is kept.
//! 2. Reading trusts nothing: what breaks the encoding reads as null, and nesting beyond [`DEPTH_MAX`] too.
//! 3. Equal values may differ in bytes by the scale of their numbers (1.0 and 1.00), which output shows.

mod compare;
mod format;
mod node;
pub mod path;
mod scan;
mod view;

use std::sync::Arc;

pub use compare::{compare, contains, encode_key, hash};
pub use format::{escape_into, escape_long, format_into, pretty_into};
pub use node::Node;
pub use scan::{Scanner, Token, elements, fields, validate};
pub use view::{ArrayRef, JsonRef, LongNumber, ObjectRef};

use crate::error::TypeError;

/// How deep arrays and objects may be nested.
pub const DEPTH_MAX: usize = 220;

/// Most digits of a number before the point, and behind it: more than any float8 has. A few letters of a text (`1e400`) make as many
/// bytes as these are, so the limit is not that of numeric.
pub const DIGITS_MAX: usize = 400;

/// The longest array or object, in bytes, as in PostgreSQL.
pub(crate) const CONTAINER_BYTES_MAX: usize = 0x0fff_ffff;

/// The value of type `jsonb`: its binary form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jsonb(Arc<[u8]>);

impl Jsonb {
    /// Reads JSON text.
    /// # Errors
    /// 22P02, 22P05, 22003, 54001 as PostgreSQL.
    pub fn parse(text: &str) -> Result<Jsonb, TypeError> {
        Node::parse(text)?.encode()
    }

    /// The value with this binary form.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Jsonb {
        Jsonb(bytes.into())
    }

    /// The binary form.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What it is.
    #[must_use]
    pub fn root(&self) -> JsonRef<'_> {
        JsonRef::read(&self.0)
    }
}

/// 54001 for JSON that is nested too deeply.
#[cold]
pub(crate) fn too_deep() -> TypeError {
    TypeError::new("54001", "stack depth limit exceeded")
        .with_hint(format!("JSON may be nested {DEPTH_MAX} levels deep."))
}

#[cfg(test)]
mod tests;
