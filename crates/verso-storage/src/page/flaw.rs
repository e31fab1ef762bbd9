//! What is wrong with bytes that break the format.

use std::borrow::Cow;
use std::fmt;

/// A sentence fragment naming how bytes from disk break the format, for example `checksum mismatch`.
///
/// Decoders return it; who knows the page wraps it into [`StorageError::Corrupt`](crate::StorageError::Corrupt).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw(Cow<'static, str>);

impl Flaw {
    /// A flaw described by `text`.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Flaw {
        Flaw(text.into())
    }
}

impl From<&'static str> for Flaw {
    fn from(text: &'static str) -> Flaw {
        Flaw(Cow::Borrowed(text))
    }
}

impl From<String> for Flaw {
    fn from(text: String) -> Flaw {
        Flaw(Cow::Owned(text))
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Flaw {}
