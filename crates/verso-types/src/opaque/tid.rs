//! `tid`: the place of a row in its table, as its page and the slot there.

use super::{Opaque, OpaqueKind};
use crate::error::TypeError;

/// The place of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tid {
    /// The page, counted within the table.
    pub page: u32,
    /// The slot in it.
    pub slot: u16,
}

impl Tid {
    /// Reads `(12,3)`.
    /// # Errors
    /// 22P02.
    pub fn parse(text: &str) -> Result<Tid, TypeError> {
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        let parts = inner.and_then(|inner| inner.split_once(','));
        let read = parts.and_then(|(page, slot)| {
            Some(Tid { page: page.trim_start().parse().ok()?, slot: slot.trim_start().parse().ok()? })
        });
        read.ok_or_else(|| TypeError::syntax("tid", text))
    }

    /// Appends its text.
    pub fn format(self, out: &mut String) {
        // writing to a String cannot fail
        let _ = std::fmt::Write::write_fmt(out, format_args!("({},{})", self.page, self.slot));
    }

    /// The stored value, whose bytes stand in the order of places.
    pub fn value(self) -> Opaque {
        let mut bytes = [0; 6];
        bytes[..4].copy_from_slice(&self.page.to_be_bytes());
        bytes[4..].copy_from_slice(&self.slot.to_be_bytes());
        Opaque::new(OpaqueKind::Tid, bytes)
    }

    /// The place that a stored value is.
    pub fn of(value: &Opaque) -> Tid {
        value.bytes().first_chunk().map_or(Tid { page: 0, slot: 0 }, |bytes| Tid::from(*bytes))
    }
}

impl From<[u8; 6]> for Tid {
    fn from([a, b, c, d, e, f]: [u8; 6]) -> Tid {
        Tid { page: u32::from_be_bytes([a, b, c, d]), slot: u16::from_be_bytes([e, f]) }
    }
}
