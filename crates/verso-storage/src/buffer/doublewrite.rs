//! The double-write area: a second copy of each page of the batch being written, so that a torn page can be mended.
//!
//! ```text
//!  0      4      8          12      16        24       32                                 4096
//!  crc u32│"VDW1"│page size │ count │ sequence│ unused │ count × {page u32, checksum u32} … │ page copies …
//! ```
//!
//! The pages of a batch go to the area first and to their places only when the area is durable; the area is written
//! again only when those places are durable. So at any moment a page is whole in its place, or whole in the area.
//!
//! D1. The header's CRC-32C covers its bytes 4..4096; an area whose header does not fit holds nothing.
//! D2. A copy counts only if its own checksum is the one the header names: header and copies may tear apart.
//! D3. A copy replaces only a page that is itself flawed; a whole page is as new as the copy or newer.
//! D4. The area has its room on disk before a batch is copied: that of a few pages always, also while the database is closed; that
//!     of a larger batch when one comes. What the area does not take goes in pieces that fit, so a full disk keeps no page from
//!     its place.
//! D5. Pages of the map and of the catalog are always logged, so nothing goes to their places but from the area: what the last batch
//!     has of one is what its place should hold, at any moment. Whoever finds such a page damaged takes it from there, also in a
//!     database that was closed in order. Others may have been written without log since.

use verso_env::VfsFile;

use crate::error::StorageError;
use crate::page::bytes::{checked_u32, put_u32, put_u64, u32_at};
use crate::page::{PageId, PageKind, header};

/// Most pages in a batch.
pub(super) const BATCH_PAGES: usize = 128;
/// Pages for which the area has room always.
pub(super) const AREA_PAGES_MIN: usize = 4;
/// Bytes before the first copy.
pub(super) const HEADER_SIZE: usize = 4096;

const MAGIC: u32 = u32::from_le_bytes(*b"VDW1");
const ENTRIES: usize = 32;
const ENTRY_SIZE: usize = 8;
const _: () = assert!(ENTRIES + BATCH_PAGES * ENTRY_SIZE <= HEADER_SIZE);

/// Bytes of an area for so many pages.
pub(super) fn area_size(page_size: usize, pages: usize) -> u64 {
    (HEADER_SIZE + pages * page_size) as u64
}

/// Fills in the header of a batch of sealed pages.
pub(super) fn write_header(out: &mut [u8], page_size: usize, sequence: u64, sealed: &[u8]) {
    out.fill(0);
    let pages = sealed.chunks_exact(page_size);
    put_u32(out, 4, MAGIC);
    put_u32(out, 8, u32::try_from(page_size).expect("page sizes are small"));
    put_u32(out, 12, u32::try_from(pages.len()).expect("batches are small"));
    put_u64(out, 16, sequence);
    for (at, page) in (ENTRIES..).step_by(ENTRY_SIZE).zip(pages) {
        put_u32(out, at, header::page_id(page).0);
        put_u32(out, at + 4, header::checksum(page));
    }
    let crc = crc32c::crc32c(&out[4..HEADER_SIZE]);
    put_u32(out, 0, crc);
}

/// Mends pages of `file` that were torn while the batch in the area was written; returns how many.
///
/// To be called before anything else reads pages. An area that is empty, torn itself or of another page size mends
/// nothing. Reads the area and, for each page it names, the page.
///
/// # Errors
/// Reading, writing or syncing failed.
pub fn restore(file: &dyn VfsFile, doublewrite: &dyn VfsFile, page_size: usize) -> Result<u32, StorageError> {
    let io = |what: &'static str| move |error| StorageError::io(what, error);
    let mut head = vec![0; HEADER_SIZE];
    let read = doublewrite.read_at(&mut head, 0).map_err(io("reading the double-write area"))?;
    let Some(entries) = (read == HEADER_SIZE).then(|| parse_header(&head, page_size)).flatten() else {
        return Ok(0);
    };
    let (mut copy, mut home) = (vec![0; page_size], vec![0; page_size]);
    let mut mended = 0;
    for (index, (page, checksum)) in entries.into_iter().enumerate() {
        let at = (HEADER_SIZE + index * page_size) as u64;
        let copied = doublewrite.read_at(&mut copy, at).map_err(io("reading the double-write area"))?;
        let whole =
            copied == page_size && header::checksum(&copy) == checksum && header::verify(&copy, page).is_ok();
        if !whole {
            continue;
        }
        let at = u64::from(page.0) * page_size as u64;
        let there = file.read_at(&mut home, at).map_err(io("reading a page to be mended"))?;
        if there < page_size || header::verify(&home, page).is_err() {
            file.write_at(&copy, at).map_err(io("mending a torn page"))?;
            tracing::info!(page = page.0, "mended a torn page from the double-write area");
            mended += 1;
        }
    }
    if mended > 0 {
        file.sync_data().map_err(io("syncing mended pages"))?;
    }
    Ok(mended)
}

/// Reads the copy that the area has of a page, whether it is one that D5 is about, and whole; `out` is anything if not. Nobody
/// writes a batch meanwhile.
///
/// # Errors
/// Reading failed.
pub(super) fn copy_of(doublewrite: &dyn VfsFile, page: PageId, out: &mut [u8]) -> Result<bool, StorageError> {
    let io = |error| StorageError::io("reading the double-write area", error);
    let mut head = vec![0; HEADER_SIZE];
    if doublewrite.read_at(&mut head, 0).map_err(io)? < HEADER_SIZE {
        return Ok(false);
    }
    let entries = parse_header(&head, out.len()).unwrap_or_default();
    let Some(index) = entries.iter().position(|(copied, _)| *copied == page) else { return Ok(false) };
    let at = (HEADER_SIZE + index * out.len()) as u64;
    let read = doublewrite.read_at(out, at).map_err(io)?;
    let whole =
        read == out.len() && header::checksum(out) == entries[index].1 && header::verify(out, page).is_ok();
    let is_always_logged =
        header::kind(out) == Some(PageKind::SpaceMap) || header::owner(out).is_of_catalog();
    Ok(whole && is_always_logged)
}

/// The batch that a header names, if it is one (D1).
fn parse_header(head: &[u8], page_size: usize) -> Option<Vec<(PageId, u32)>> {
    let fits = u32_at(head, 0) == crc32c::crc32c(&head[4..])
        && u32_at(head, 4) == MAGIC
        && u32_at(head, 8) as usize == page_size;
    let count = u32_at(head, 12) as usize;
    if !fits || count > BATCH_PAGES {
        return None;
    }
    let entry = |index: usize| {
        let at = ENTRIES + index * ENTRY_SIZE;
        Some((PageId(checked_u32(head, at).ok()?), checked_u32(head, at + 4).ok()?))
    };
    (0..count).map(entry).collect()
}
