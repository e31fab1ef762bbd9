//! Value slots: the 8 bytes that stand in a data page for a value of variable length.
//!
//! | bits | inline | companion | overflow |
//! |---|---|---|---|
//! | 0–7 | 1 | 2 | 3 |
//! | 16–31 | offset in the page | page (16–47) | first page (16–47) |
//! | 32–47 | length | | |
//! | 48–63 | 0 | item number | incarnation of the first page |
//!
//! An all-zero slot holds nothing (the value is NULL or the record slot is free).

use crate::page::PageId;

/// A decoded value slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSlot {
    /// Nothing: NULL or a free record slot.
    Empty,
    /// The bytes stand in the same page.
    Inline {
        /// Where.
        offset: u16,
        /// How many.
        length: u16,
    },
    /// The bytes are an item of a companion page.
    Companion {
        /// The companion page.
        page: PageId,
        /// The item.
        item: u16,
    },
    /// The bytes fill a chain of overflow pages.
    Overflow {
        /// The first page.
        page: PageId,
        /// Its incarnation when the chain was written.
        incarnation: u16,
    },
}

impl ValueSlot {
    /// The 8 bytes as a number; `None` for an unknown tag.
    #[inline]
    pub fn decode(raw: u64) -> Option<ValueSlot> {
        let page = PageId((raw >> 16) as u32);
        let high = (raw >> 48) as u16;
        Some(match raw as u8 {
            0 if raw == 0 => ValueSlot::Empty,
            1 => ValueSlot::Inline { offset: (raw >> 16) as u16, length: (raw >> 32) as u16 },
            2 => ValueSlot::Companion { page, item: high },
            3 => ValueSlot::Overflow { page, incarnation: high },
            _ => return None,
        })
    }

    /// The number whose 8 bytes stand on the page.
    #[inline]
    pub fn encode(self) -> u64 {
        match self {
            ValueSlot::Empty => 0,
            ValueSlot::Inline { offset, length } => 1 | u64::from(offset) << 16 | u64::from(length) << 32,
            ValueSlot::Companion { page, item } => 2 | u64::from(page.0) << 16 | u64::from(item) << 48,
            ValueSlot::Overflow { page, incarnation } => {
                3 | u64::from(page.0) << 16 | u64::from(incarnation) << 48
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_comes_back() {
        for slot in [
            ValueSlot::Empty,
            ValueSlot::Inline { offset: 32767, length: 8191 },
            ValueSlot::Companion { page: PageId(u32::MAX), item: 65535 },
            ValueSlot::Overflow { page: PageId(77), incarnation: 3 },
        ] {
            assert_eq!(ValueSlot::decode(slot.encode()), Some(slot));
        }
        assert_eq!(ValueSlot::decode(9), None);
        assert_eq!(ValueSlot::decode(256), None);
    }
}
