//! Segment files: where they are, how they come to be and go.
//!
//! A segment in use has a header that repeats its number; a *spare* has none (fresh, or renamed after use) and gets
//! one when it is taken into use. Its space on disk is reserved before. Small flushes zero a stretch ahead of
//! themselves once, and used segments are used again, so that most flushes overwrite; bulk goes to fresh space at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_env::{OpenMode, Vfs, VfsFile};

use super::chunk::{Head, SECTOR, SegmentHeader};
use crate::StorageError;

/// What a full disk has no room for where a segment was to be made.
pub(crate) const SEGMENT: &str = "a log segment";

/// An open segment file.
#[derive(Clone)]
pub(super) struct Segment {
    pub number: u64,
    pub file: Arc<dyn VfsFile>,
    /// Length of the file.
    pub size: u64,
    /// Up to here it was written before, so that a sync after writing there changes no metadata.
    pub overwritable: u64,
    /// Its name is durable.
    pub named: bool,
}

/// Name of segment `number` in the log folder.
pub(super) fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:016}.log"))
}

/// The number a file name stands for, if it is a segment's.
fn number_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let digits = name.strip_suffix(".log").filter(|digits| digits.len() == 16)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// Every segment file of the folder by number, with its header if it is in use: blank ones and those renamed after use are
/// spares. Other files are left alone.
pub(super) fn list(vfs: &dyn Vfs, dir: &Path) -> Result<Vec<(Segment, Head)>, StorageError> {
    let mut found = Vec::new();
    for path in vfs.list_dir(dir).map_err(|e| StorageError::io("listing the log folder", e))? {
        let Some(number) = number_of(&path) else { continue };
        let what = || format!("reading {}", path.display());
        let file = vfs.open(&path, OpenMode::EXISTING).map_err(|e| StorageError::io(what(), e))?;
        let size = file.len().map_err(|e| StorageError::io(what(), e))?;
        let mut sector = [0; SECTOR];
        let read = file.read_at(&mut sector, 0).map_err(|e| StorageError::io(what(), e))?;
        let head = SegmentHeader::parse(&sector[..read])
            .map_err(|flaw| StorageError::NotADatabase { what: format!("{}: {flaw}", path.display()) })?;
        let head = match head {
            Head::Used(header) if header.number != number => Head::Blank,
            head => head,
        };
        found.push((Segment { number, file, size, overwritable: 0, named: true }, head));
    }
    found.sort_by_key(|(segment, _)| segment.number);
    Ok(found)
}

/// Creates a spare of `size` bytes with its space on disk reserved. Neither its content nor its name is durable yet. A
/// failure leaves no file behind.
pub(super) fn create(vfs: &dyn Vfs, dir: &Path, number: u64, size: u64) -> Result<Segment, StorageError> {
    let path = path_of(dir, number);
    let opened = vfs.open(&path, OpenMode { truncate: true, ..OpenMode::CREATE });
    let result = opened.and_then(|file| file.preallocate(0, size).map(|()| file));
    if result.is_err() {
        // The first failure is what counts; what remains is found and reused at the next open.
        let _ = vfs.remove_file(&path);
    }
    let file = result.map_err(|e| StorageError::io(SEGMENT, e))?;
    Ok(Segment { number, file, size, overwritable: 0, named: false })
}
