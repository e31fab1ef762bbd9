//! What the fuzz targets of storage run; the everyday tests run the same over mutated real pages and logs.
//!
//! Nothing here may panic: bytes that pass a checksum may still be junk.
#![allow(dead_code, reason = "each target uses its part")]

use verso_storage::engine_core::PageRedo;
use verso_storage::heap::layout::PageLayout;
use verso_storage::heap::packed::container;
use verso_storage::page::header;
use verso_storage::shared::REDO;
use verso_storage::version::entry::EntryKind;
use verso_storage::version::page as version_page;
use verso_storage::wal::{GroupView, RecordKind};
use verso_storage::{PageId, PageKind};

/// A page as it came from the file: checksum, layout, parts, version entries with their old values.
pub fn page(data: &[u8]) {
    let mut page = data.to_vec();
    page.resize(4096, 0);
    let _ = header::verify(&page, PageId(1));
    match header::kind(&page) {
        Some(PageKind::Data) => {
            let _ = PageLayout::of(&page);
        }
        Some(PageKind::Packed | PageKind::Dictionary) => {
            let _ = container::expand_all(&page);
        }
        Some(PageKind::Version) => {
            for (_, entry) in version_page::entries(&page).unwrap_or_default() {
                for slice in entry.columns().unwrap_or_default() {
                    match slice.physical.width() {
                        Some(width) => (0..entry.slots.len()).for_each(|rank| {
                            let _ = slice.fixed_at(rank, width);
                        }),
                        None => slice.variables().for_each(|_| ()),
                    }
                }
                if matches!(entry.kind, EntryKind::Update | EntryKind::Delete) {
                    (0..entry.slots.len()).for_each(|rank| {
                        let _ = entry.prior(rank);
                    });
                }
            }
        }
        _ => {}
    }
}

/// A group of the log, and each of its records run on a page: a flaw leaves the page as it was.
pub fn log(data: &[u8], page: &[u8]) {
    let Ok(group) = GroupView::parse(data) else { return };
    for record in group.records() {
        let Ok(record) = record else { return };
        redo(record.kind, page, record.payload);
    }
}

/// A record on a page, whatever the two are.
pub fn redo(kind: RecordKind, page: &[u8], payload: &[u8]) {
    let mut changed = page.to_vec();
    changed.resize(4096, 0);
    let before = changed.clone();
    if REDO.redo(kind, &mut changed, payload).is_err() {
        assert!(before == changed, "{kind} changed the page, then failed");
    }
}
