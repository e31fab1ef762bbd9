//! Samples of a table: which of its pages or records are in, as a hash tells. So the same seed draws the same ones, as long as the
//! table does not change.

use crate::page::RecordId;

/// A part of the pages of a table, or of its records, drawn by chance.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// Whole pages, instead of records.
    pages: bool,
    seed: u64,
    /// Of the 2^53 values that a hash may have, how many are in.
    share: f64,
}

impl Draw {
    /// Of the pages or of the records the given share, from 0 to 1.
    #[must_use]
    pub fn new(pages: bool, share: f64, seed: f64) -> Draw {
        Draw { pages, seed: mix(seed.to_bits()), share: share * (1u64 << 53) as f64 }
    }

    /// Whether a record is in.
    #[must_use]
    #[inline]
    pub fn has(&self, record: RecordId) -> bool {
        let page = u64::from(record.page_index);
        self.has_unit(if self.pages { page } else { page << 16 | u64::from(record.slot) })
    }

    /// Whether records of a page may be in.
    pub(super) fn has_page(&self, page_index: u32) -> bool {
        !self.pages || self.has_unit(page_index.into())
    }

    /// Whether it has to be asked about each record of a page that it has.
    pub(super) fn draws_records(&self) -> bool {
        !self.pages
    }

    #[inline]
    fn has_unit(&self, unit: u64) -> bool {
        // The upper 53 bits of the hash.
        ((mix(self.seed.wrapping_add(unit)) >> 11) as f64) < self.share
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[inline]
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
