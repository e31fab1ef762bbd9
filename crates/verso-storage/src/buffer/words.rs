//! Where the words of pages stand in memory.
//!
//! Two writers often have neighbours latched, one page each, as a table gives its pages out one after the other. Words of
//! neighbours therefore stand on different cache lines, and not on two that are fetched together.

use crate::page::PageId;

/// Words whose order is another than that of their pages.
const SPREAD: usize = 512;
/// Words of 128 bytes.
const NEAR: usize = 16;

/// How many words there have to be for so many pages.
pub(super) fn reserved(pages: usize) -> usize {
    pages.next_multiple_of(SPREAD)
}

/// Which word is a page's.
#[inline]
pub(super) fn place_of(page: PageId) -> usize {
    let (block, page) = (page.0 as usize / SPREAD, page.0 as usize % SPREAD);
    block * SPREAD + page % (SPREAD / NEAR) * NEAR + page / (SPREAD / NEAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_word_of_its_own_and_neighbours_are_far_apart() {
        let places: Vec<usize> = (0..2 * SPREAD as u32).map(|page| place_of(PageId(page))).collect();
        let mut sorted = places.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..2 * SPREAD));
        // But for the last page of a block and the first of the next.
        let far = |pair: &[usize]| pair[0].abs_diff(pair[1]) >= NEAR;
        assert!(places.chunks(SPREAD).all(|block| block.windows(2).all(far)));
    }
}
