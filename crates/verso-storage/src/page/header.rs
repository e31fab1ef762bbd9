//! The 32 bytes every page starts with.
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 4 | checksum: CRC-32C of everything behind it |
//! | 4 | 1 | kind ([`PageKind`]) |
//! | 5 | 1 | flags, their meaning per kind |
//! | 6 | 2 | incarnation: counts how often the page was given out, so that a stale reference shows |
//! | 8 | 8 | LSN: end of the newest log group that changed the page |
//! | 16 | 4 | the page's own number |
//! | 20 | 4 | owner ([`ObjectId`]) |
//! | 24 | 8 | free for the kind |
//!
//! The page in memory carries a stale checksum; [`seal`] computes it on the copy that goes to disk.

use super::bytes::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use super::{Flaw, Lsn, ObjectId, PageId, PageKind};
use crate::rules::{Rule, disabled};

/// Size of the header; the body of every page starts here.
pub const SIZE: usize = 32;
/// Offset of the eight bytes a kind may use as it likes.
pub const KIND_SPECIFIC: usize = 24;

const CHECKSUM: usize = 0;
/// Offset of the byte that names the kind.
pub(crate) const KIND: usize = 4;
const FLAGS: usize = 5;
const INCARNATION: usize = 6;
const LSN: usize = 8;
const PAGE: usize = 16;
const OWNER: usize = 20;

/// The kind, if the byte names one.
#[inline]
#[must_use]
pub fn kind(page: &[u8]) -> Option<PageKind> {
    PageKind::from_u8(page[KIND])
}

/// Turns the page into one of another kind (a log record said so).
pub fn set_kind(page: &mut [u8], kind: PageKind) {
    page[KIND] = kind as u8;
}

/// Flags; each kind gives them its own meaning.
#[inline]
#[must_use]
pub fn flags(page: &[u8]) -> u8 {
    page[FLAGS]
}

/// Sets the flags.
#[inline]
pub fn set_flags(page: &mut [u8], flags: u8) {
    page[FLAGS] = flags;
}

/// How often this page was given out, modulo 2^16.
#[inline]
#[must_use]
pub fn incarnation(page: &[u8]) -> u16 {
    u16_at(page, INCARNATION)
}

/// Sets the incarnation.
pub fn set_incarnation(page: &mut [u8], incarnation: u16) {
    put_u16(page, INCARNATION, incarnation);
}

/// End of the newest log group that changed this page.
#[inline]
#[must_use]
pub fn lsn(page: &[u8]) -> Lsn {
    Lsn(u64_at(page, LSN))
}

/// Notes that the log group ending at `lsn` changed this page.
#[inline]
pub fn set_lsn(page: &mut [u8], lsn: Lsn) {
    put_u64(page, LSN, lsn.0);
}

/// The number the page itself says it has.
#[inline]
#[must_use]
pub fn page_id(page: &[u8]) -> PageId {
    PageId(u32_at(page, PAGE))
}

/// The object the page belongs to.
#[inline]
#[must_use]
pub fn owner(page: &[u8]) -> ObjectId {
    ObjectId(u32_at(page, OWNER))
}

/// Empties the page and gives it an identity; its LSN is zero.
pub fn init(page: &mut [u8], id: PageId, kind: PageKind, owner: ObjectId, incarnation: u16) {
    page[SIZE..].fill(0);
    name(page, id, kind, owner, incarnation);
}

/// Gives a page an identity and leaves its body as it is; its LSN is zero.
pub fn name(page: &mut [u8], id: PageId, kind: PageKind, owner: ObjectId, incarnation: u16) {
    page[..SIZE].fill(0);
    page[KIND] = kind as u8;
    put_u16(page, INCARNATION, incarnation);
    put_u32(page, PAGE, id.0);
    put_u32(page, OWNER, owner.0);
}

/// Computes and stores the checksum: the last step before the bytes go to disk.
pub fn seal(page: &mut [u8]) {
    let checksum = crc32c::crc32c(&page[KIND..]);
    put_u32(page, CHECKSUM, checksum);
}

/// The checksum as stored; that of a page in memory is stale.
#[must_use]
pub fn checksum(page: &[u8]) -> u32 {
    u32_at(page, CHECKSUM)
}

/// Tests that the bytes are page `id` as [`seal`] left it.
///
/// # Errors
/// A flaw naming the first thing that does not fit.
pub fn verify(page: &[u8], id: PageId) -> Result<(), Flaw> {
    if page.len() < SIZE {
        return Err(Flaw::from("shorter than a page header"));
    }
    if crc32c::crc32c(&page[KIND..]) != checksum(page) && !disabled(Rule::Checksum) {
        return Err(match page.iter().all(|byte| *byte == 0) {
            true => Flaw::from("all bytes are zero"),
            false => Flaw::from("checksum mismatch"),
        });
    }
    if page_id(page) != id {
        return Err(Flaw::new(format!("holds {} instead", page_id(page))));
    }
    if kind(page).is_none() {
        return Err(Flaw::new(format!("unknown page kind {}", page[KIND])));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(id: PageId) -> Vec<u8> {
        let mut page = vec![0xAA; 4096];
        init(&mut page, id, PageKind::Data, ObjectId(7), 3);
        set_lsn(&mut page, Lsn(99));
        set_flags(&mut page, 0x81);
        page[4000] = 42;
        seal(&mut page);
        page
    }

    #[test]
    fn fields_stand_where_the_format_says() {
        let page = sealed(PageId(0x0102));
        assert_eq!(&page[4..24], [5, 0x81, 3, 0, 99, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 7, 0, 0, 0]);
        assert_eq!(kind(&page), Some(PageKind::Data));
        assert_eq!((page_id(&page), owner(&page), incarnation(&page)), (PageId(0x0102), ObjectId(7), 3));
        assert_eq!((lsn(&page), flags(&page)), (Lsn(99), 0x81));
        assert_eq!(verify(&page, PageId(0x0102)), Ok(()));
    }

    #[test]
    fn any_flipped_bit_shows() {
        let page = sealed(PageId(9));
        let offsets = if cfg!(miri) { vec![0, 5, 4000] } else { (0..4096).step_by(37).collect() };
        for offset in offsets {
            let mut flipped = page.clone();
            flipped[offset] ^= 0x10;
            assert!(verify(&flipped, PageId(9)).is_err(), "flip at {offset}");
        }
    }

    #[test]
    fn a_page_in_the_wrong_place_or_of_no_kind_is_flawed() {
        let page = sealed(PageId(9));
        assert!(verify(&page, PageId(8)).is_err());
        let mut zero = vec![0; 4096];
        assert_eq!(verify(&zero, PageId(0)), Err(Flaw::from("all bytes are zero")));
        seal(&mut zero);
        assert!(verify(&zero, PageId(0)).is_err());
        assert!(verify(&page[..20], PageId(9)).is_err());
    }
}
