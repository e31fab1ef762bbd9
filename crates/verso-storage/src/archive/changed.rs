//! Which pages have changed since a backup: those that the log since then names.
//!
//! ```text
//! parent   redo ├───────┤ end                                     redo of the increment
//! archive           ├─────────┼──────────┤                              │
//! log folder                          ├─────────────────┼───────────────┴──►
//! walk     └──────────────────────────────────────────────────────────►│
//! ```
//!
//! G1. What the log before the parent's redo LSN tells is in the parent's pages; what the log from the increment's redo LSN on
//!     tells is in the increment's log. So the pages named in between, as they are at the increment's redo LSN or later, are
//!     all that the parent lacks.
//! G2. Pages that a load without log has filled (`LOADED`) are named by no record: all pages of the object count.

use std::path::Path;

use verso_env::Vfs;

use super::base::{Manifest, Parent};
use super::damaged;
use super::plan::Plan;
use crate::StorageError;
use crate::page::bytes::checked_u32;
use crate::page::{Lsn, ObjectId, PageId};
use crate::space::ExtentRun;
use crate::wal::{RecordKind, StreamedChunk, Wal, corrupt};

/// A set of pages; a bit for each page of the database.
pub(crate) struct ChangedPages {
    bits: Vec<u64>,
    pages: u32,
    count: u32,
}

impl ChangedPages {
    fn new(pages: u32) -> ChangedPages {
        let mut set = ChangedPages { bits: vec![0; (pages as usize).div_ceil(64)], pages, count: 0 };
        // The superblock is always another one.
        set.add(PageId(0));
        set
    }

    fn add(&mut self, page: PageId) {
        if page.0 < self.pages {
            let (word, bit) = (page.0 as usize / 64, 1 << (page.0 % 64));
            self.count += u32::from(self.bits[word] & bit == 0);
            self.bits[word] |= bit;
        }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// All of them, ascending.
    pub fn iter(&self) -> impl Iterator<Item = PageId> {
        let set = |page: &u32| self.bits[*page as usize / 64] & (1 << (page % 64)) != 0;
        (0..self.pages).filter(set).map(PageId)
    }

    /// Notes what a chunk's groups before `end` name.
    fn note(
        &mut self,
        chunk: &StreamedChunk<'_>,
        end: Lsn,
        extents: &dyn Fn(ObjectId) -> Vec<ExtentRun>,
    ) -> Result<(), StorageError> {
        for group in chunk.groups() {
            let (start, group) = group?;
            if start >= end {
                break;
            }
            for record in group.records() {
                let flawed = |flaw| corrupt(start, &flaw);
                let record = record.map_err(flawed)?;
                if !record.page.is_none() {
                    self.add(record.page);
                } else if record.kind == RecordKind::LOADED {
                    let object = ObjectId(checked_u32(record.payload, 0).map_err(flawed)?);
                    extents(object).into_iter().flat_map(ExtentRun::page_ids).for_each(|page| self.add(page));
                }
            }
        }
        Ok(())
    }
}

/// What an increment is asked for.
pub(crate) struct Increment<'a> {
    /// The folder of the backup that is to be completed.
    pub parent: &'a Path,
    /// Where the log is archived, if it is.
    pub archive: Option<&'a Path>,
}

/// Finds the pages that an increment has to have whose redo LSN is `redo`; the log from the oldest segment on is pinned.
///
/// # Errors
/// `Archive` if the parent is one of another database, or where the log since then is not all there; what the file system
/// reports, or `cancelled`.
pub(crate) fn changed_since(
    vfs: &dyn Vfs,
    increment: &Increment<'_>,
    wal: &Wal,
    (redo, pages): (Lsn, u32),
    extents: &dyn Fn(ObjectId) -> Vec<ExtentRun>,
    cancelled: &mut dyn FnMut() -> Result<(), StorageError>,
) -> Result<(Parent, ChangedPages), StorageError> {
    let parent = increment.parent;
    let manifest = Manifest::read(vfs, parent)?;
    let found = manifest.report.database;
    if found != wal.database() {
        let problem = format!("{} is a backup of the database {found}, not of this one", parent.display());
        return Err(damaged(problem));
    }
    // Without an archive, or before the first segment is in it, the log folder may have all that is wanted.
    let archive = match increment.archive {
        Some(target) => {
            let dir = target.join(found.to_string());
            vfs.exists(&dir)
                .map_err(|e| StorageError::io(format!("looking for {}", dir.display()), e))?
                .then_some(target)
        }
        None => None,
    };
    let plan = Plan::new(vfs, parent, archive)?;
    let mut changed = ChangedPages::new(pages);
    let mut expected = Lsn::ZERO;
    plan.walk(vfs, |chunk| {
        cancelled()?;
        expected = chunk.end;
        changed.note(chunk, redo, extents)?;
        Ok(chunk.end >= redo)
    })?;
    for live in wal.live_log() {
        if expected >= redo {
            break;
        }
        let last = live.last.unwrap_or_else(|| wal.durable());
        if last <= expected || live.first > expected {
            continue;
        }
        let mut stream = live.stream();
        while stream.expected() < redo {
            cancelled()?;
            let Some(chunk) = stream.next()? else { break };
            if chunk.start >= expected {
                expected = chunk.end;
                changed.note(&chunk, redo, extents)?;
            }
        }
    }
    if expected < redo {
        return Err(damaged(format!(
            "the log since {} is not all there: it is known up to LSN {expected} of {redo}; take a full base, and archive the log",
            parent.display()
        )));
    }
    Ok((manifest.as_parent(), changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_pages_has_the_superblock_and_no_page_behind_the_end() {
        let mut set = ChangedPages::new(130);
        for page in [129, 64, 63, 64, 130, 4000] {
            set.add(PageId(page));
        }
        assert_eq!(set.count(), 4);
        assert_eq!(set.iter().map(|page| page.0).collect::<Vec<_>>(), [0, 63, 64, 129]);
    }
}
