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
    /// First byte of a slot that refers to a companion page.
    pub const COMPANION: u8 = 2;
    /// First byte of a slot that refers to an overflow chain.
    pub const OVERFLOW: u8 = 3;

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

/// Where the values of neighbouring value slots stand if all of them are inline and one behind the other, as bulk work
/// leaves them: the first byte, and the sum of their lengths.
pub fn one_piece(array: &[u8]) -> Option<(usize, usize)> {
    let slots = array.as_chunks::<8>().0;
    let raw = |slot: &[u8; 8]| u64::from_le_bytes(*slot);
    let offset = |raw: u64| usize::from((raw >> 16) as u16);
    let length = |raw: u64| usize::from((raw >> 32) as u16);
    let (first, last) = (raw(slots.first()?), raw(slots.last()?));
    // Without branches, so that the compiler may look at several slots at once.
    let (mut strange, mut total) = ((first ^ 1) & 0xFF, 0u64);
    for (slot, next) in slots.iter().zip(&slots[1..]) {
        let (slot, next) = (raw(slot), raw(next));
        let end = (slot >> 16).wrapping_add(slot >> 32);
        strange |= (end ^ (next >> 16)) & 0xFFFF | (next ^ 1) & 0xFF;
        total += slot >> 32 & 0xFFFF;
    }
    let total = total as usize + length(last);
    (strange == 0 && offset(first) + total == offset(last) + length(last)).then_some((offset(first), total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_one_behind_the_other_are_one_piece() {
        let of = |values: &[(u16, u16)]| -> Vec<u8> {
            let slot = |&(offset, length): &(u16, u16)| ValueSlot::Inline { offset, length }.encode();
            values.iter().map(slot).flat_map(u64::to_le_bytes).collect()
        };
        assert_eq!(one_piece(&of(&[(100, 5), (105, 0), (105, 300), (405, 1)])), Some((100, 306)));
        assert_eq!(one_piece(&of(&[(100, 5)])), Some((100, 5)));
        assert_eq!(one_piece(&[]), None);
        for apart in [&[(100, 5), (106, 1)][..], &[(105, 5), (100, 5)], &[(65000, 1000), (464, 7)]] {
            assert_eq!(one_piece(&of(apart)), None, "{apart:?}");
        }
        for strange in [0, 9, ValueSlot::Overflow { page: PageId(9), incarnation: 1 }.encode()] {
            for at in 0..3 {
                let mut array = of(&[(100, 5), (105, 5), (110, 5)]);
                array[at * 8..at * 8 + 8].copy_from_slice(&strange.to_le_bytes());
                assert_eq!(one_piece(&array), None, "{strange} at {at}");
            }
        }
    }

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
