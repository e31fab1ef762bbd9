//! A base backup: the pages of a database that is in use, and the log that makes them consistent.
//!
//! ```text
//! BASE/pages   the database file; in page 0 the superblock of the checkpoint it starts from
//! BASE/log/    archived log from the segment with the redo LSN to the base's end
//! BASE/base    0 crc u32 │ 4 magic "VBAS" │ 8 version u32 │ 12 page size u32 │ 16 database id [16] │ 32 redo lsn u64 │
//!              40 end lsn u64 │ 48 epoch u64 │ 56 pages u32 │ 60 crc of the file pages u32 │ 64 began i64 │ 72 ended i64 │ zeroes …512
//! ```
//!
//! ```text
//! INCREMENT/pages   numbers of the pages that the log since the parent names, u32 each, ascending, zeroes to a whole page; then
//!                   these pages
//! INCREMENT/base    as above, version 2: 80 pages in the file u32 │ 84 crc of the parent's file pages u32 │ 88 redo lsn u64 │
//!                   96 end lsn u64 of the parent
//! ```
//!
//! Pages are read from the file, not through the pool, so that a backup does not drive out what is used. A page that is being
//! written may be read in part: its checksum says so, and it is read again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use verso_env::{Env, OpenMode, Vfs, VfsFile, open_alone};

use super::changed::ChangedPages;
use super::{damaged, read_small, segment, write_whole};
use crate::StorageError;
use crate::page::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::page::{Lsn, ObjectId, PageId, header};
use crate::wal::{DatabaseId, SECTOR, Wal};

pub(super) const PAGES: &str = "pages";
/// Its name while it is written: a store of objects gets it when it is whole.
const PAGES_PART: &str = "pages.part";
pub(super) const LOG: &str = "log";
const MANIFEST: &str = "base";
const MAGIC: u32 = u32::from_le_bytes(*b"VBAS");
const VERSION: u32 = 1;
/// Of an increment.
const VERSION_INCREMENT: u32 = 2;
/// Read at once.
const BLOCK_BYTES: usize = 1 << 20;
/// Bytes of the copy between two syncs.
const SYNC_BYTES: usize = 32 << 20;
/// A page that cannot be verified is read so often, a little later each time.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// What a base is made of.
pub(crate) struct BaseParts<'a> {
    pub env: &'a Env,
    pub file: &'a dyn VfsFile,
    pub wal: &'a Wal,
    /// Of the checkpoint the base starts from.
    pub superblock: [u8; SECTOR],
    pub page_size: usize,
    pub pages: u32,
    /// The log is pinned from here on.
    pub redo: Lsn,
    pub epoch: u64,
    /// Microseconds since 1970.
    pub began: i64,
    /// Whether a page means something.
    pub has_owner: &'a dyn Fn(PageId) -> bool,
    /// What is copied of an increment, and upon what.
    pub increment: Option<(Parent, ChangedPages)>,
}

/// Upon which backup an increment is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    pages_crc: u32,
    redo: Lsn,
    end: Lsn,
}

/// What a base backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseReport {
    /// Whose it is.
    pub database: DatabaseId,
    /// Pages of the database.
    pub pages: u64,
    /// Pages in the backup: all of them, or those of an increment.
    pub copied: u64,
    /// Bytes of a page.
    pub page_size: u64,
    /// Where redo starts.
    pub redo: Lsn,
    /// From here on it is consistent.
    pub end: Lsn,
    /// When it was begun: microseconds since 1970.
    pub began: i64,
    /// When it was consistent.
    pub ended: i64,
}

/// What is written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub report: BaseReport,
    pub epoch: u64,
    pages_crc: u32,
    /// Pages in the file of an increment, and upon what it is one.
    increment: Option<(u32, Parent)>,
}

impl Manifest {
    /// What an increment upon this one says.
    pub fn as_parent(&self) -> Parent {
        Parent { pages_crc: self.pages_crc, redo: self.report.redo, end: self.report.end }
    }

    /// Bytes of pages in it.
    pub fn bytes(&self) -> u64 {
        self.report.copied * self.report.page_size
    }

    /// Upon what this is an increment.
    pub fn parent(&self) -> Option<Parent> {
        self.increment.map(|(_, parent)| parent)
    }

    fn encode(&self) -> [u8; SECTOR] {
        let mut bytes = [0; SECTOR];
        let report = &self.report;
        put_u32(&mut bytes, 4, MAGIC);
        put_u32(&mut bytes, 8, if self.increment.is_some() { VERSION_INCREMENT } else { VERSION });
        put_u32(&mut bytes, 12, u32::try_from(report.page_size).expect("a page size"));
        if let Some((count, parent)) = self.increment {
            put_u32(&mut bytes, 80, count);
            put_u32(&mut bytes, 84, parent.pages_crc);
            put_u64(&mut bytes, 88, parent.redo.0);
            put_u64(&mut bytes, 96, parent.end.0);
        }
        bytes[16..32].copy_from_slice(&report.database.0);
        put_u64(&mut bytes, 32, report.redo.0);
        put_u64(&mut bytes, 40, report.end.0);
        put_u64(&mut bytes, 48, self.epoch);
        put_u32(&mut bytes, 56, u32::try_from(report.pages).expect("page numbers have 32 bits"));
        put_u32(&mut bytes, 60, self.pages_crc);
        bytes[64..72].copy_from_slice(&report.began.to_le_bytes());
        bytes[72..80].copy_from_slice(&report.ended.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[4..]);
        put_u32(&mut bytes, 0, crc);
        bytes
    }

    /// The manifest of the base in `folder`.
    ///
    /// # Errors
    /// `Archive` if it has none that is whole; what the file system reports.
    pub fn read(vfs: &dyn Vfs, folder: &Path) -> Result<Manifest, StorageError> {
        let Some(bytes) = read_small(vfs, &folder.join(MANIFEST))? else {
            let problem = format!("{} is no base backup, or one that was not finished", folder.display());
            return Err(damaged(problem));
        };
        let sound = bytes.len() == SECTOR
            && u32_at(&bytes, 4) == MAGIC
            && crc32c::crc32c(&bytes[4..]) == u32_at(&bytes, 0)
            && crate::page::PAGE_SIZES.contains(&(u32_at(&bytes, 12) as usize));
        if !sound {
            return Err(damaged(format!("the manifest of the base {} is damaged", folder.display())));
        }
        let version = u32_at(&bytes, 8);
        if !(VERSION..=VERSION_INCREMENT).contains(&version) {
            let problem = format!(
                "{} is a base of version {version}, only {VERSION} and {VERSION_INCREMENT} are known",
                folder.display()
            );
            return Err(damaged(problem));
        }
        let parent = || Parent {
            pages_crc: u32_at(&bytes, 84),
            redo: Lsn(u64_at(&bytes, 88)),
            end: Lsn(u64_at(&bytes, 96)),
        };
        Ok(Manifest {
            report: BaseReport {
                database: DatabaseId(bytes[16..32].try_into().expect("16 bytes")),
                pages: u64::from(u32_at(&bytes, 56)),
                copied: u64::from(u32_at(&bytes, if version == VERSION_INCREMENT { 80 } else { 56 })),
                page_size: u64::from(u32_at(&bytes, 12)),
                redo: Lsn(u64_at(&bytes, 32)),
                end: Lsn(u64_at(&bytes, 40)),
                began: u64_at(&bytes, 64).cast_signed(),
                ended: u64_at(&bytes, 72).cast_signed(),
            },
            epoch: u64_at(&bytes, 48),
            pages_crc: u32_at(&bytes, 60),
            increment: (version == VERSION_INCREMENT).then(|| (u32_at(&bytes, 80), parent())),
        })
    }

    /// Hands the pages of the backup on with their offsets in the database, block by block or one by one, and compares their
    /// checksum at the end.
    ///
    /// # Errors
    /// `Archive` if they are not what was written; what the file system reports, or `visit`.
    pub fn read_pages(
        &self,
        vfs: &dyn Vfs,
        folder: &Path,
        mut visit: impl FnMut(u64, &[u8]) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let Some((count, _)) = self.increment else {
            let length = self.report.pages * self.report.page_size;
            return self.read_file(vfs, folder, length, visit);
        };
        let size = self.report.page_size as usize;
        let list = list_bytes(count, size);
        let (mut numbers, mut page) = (Vec::with_capacity(list), Vec::with_capacity(size));
        let mut next = 0;
        let length = list as u64 + u64::from(count) * size as u64;
        self.read_file(vfs, folder, length, |_, mut bytes| {
            let rest = bytes.split_at(bytes.len().min(list - numbers.len()));
            numbers.extend_from_slice(rest.0);
            bytes = rest.1;
            while !bytes.is_empty() {
                let (part, rest) = bytes.split_at(bytes.len().min(size - page.len()));
                page.extend_from_slice(part);
                bytes = rest;
                if page.len() == size {
                    let number = u64::from(u32_at(&numbers, next * 4));
                    if number >= self.report.pages {
                        return Err(damaged(format!("{} names page {number}", folder.display())));
                    }
                    visit(number * size as u64, &page)?;
                    next += 1;
                    page.clear();
                }
            }
            Ok(())
        })
    }

    /// Hands the bytes of the file of pages on, block by block, and compares their checksum at the end.
    fn read_file(
        &self,
        vfs: &dyn Vfs,
        folder: &Path,
        length: u64,
        mut visit: impl FnMut(u64, &[u8]) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let path = folder.join(PAGES);
        let failed = |e| StorageError::io(format!("reading {}", path.display()), e);
        let file = vfs.open(&path, OpenMode::READ_ONLY).map_err(failed)?;
        let (mut at, mut crc) = (0, 0);
        let mut block = vec![0; BLOCK_BYTES];
        while at < length {
            let wanted = (BLOCK_BYTES as u64).min(length - at) as usize;
            let read = file.read_at(&mut block[..wanted], at).map_err(failed)?;
            if read < wanted {
                return Err(damaged(format!(
                    "{} is cut off at {} of {length} bytes",
                    path.display(),
                    at + read as u64
                )));
            }
            crc = crc32c::crc32c_append(crc, &block[..wanted]);
            visit(at, &block[..wanted])?;
            at += wanted as u64;
        }
        let found = file.len().map_err(failed)?;
        if found > length {
            let problem = format!("{} has {} bytes behind its {length}", path.display(), found - length);
            return Err(damaged(problem));
        }
        match crc == self.pages_crc {
            true => Ok(()),
            false => Err(damaged(format!("the checksum of {} is wrong", path.display()))),
        }
    }
}

/// Told how many pages of how many are copied; the total is 0 before that is known. Its error ends the backup.
pub type WatchPages<'w> = &'w mut dyn FnMut(u64, u64) -> Result<(), StorageError>;

/// Takes a base (B1, B2).
///
/// # Errors
/// See [`Store::write_base`](crate::recovery::Store::write_base).
pub(crate) fn write_base(
    parts: &BaseParts<'_>,
    folder: &Path,
    watch: WatchPages<'_>,
) -> Result<BaseReport, StorageError> {
    let vfs = &*parts.env.vfs;
    let was_there =
        vfs.exists(folder).map_err(|e| StorageError::io(format!("making {}", folder.display()), e))?;
    let (log, copy) = prepare(vfs, folder)?;
    let part = Arc::clone(&copy.file);
    let done = write_files(parts, (folder, log.as_path()), copy, watch);
    if done.is_err() {
        // The error that is told is the one before. What cannot be removed is no base, and goes with the next one.
        match was_there {
            true => drop(remove_unfinished(vfs, folder)),
            false => drop(vfs.remove_dir_all(folder)),
        }
    }
    // Others wait for its lock until here.
    drop(part);
    done
}

/// The files of a base, the one that makes it whole at last.
fn write_files(
    parts: &BaseParts<'_>,
    (folder, log): (&Path, &Path),
    copy: PagesFile,
    watch: WatchPages<'_>,
) -> Result<BaseReport, StorageError> {
    let (env, vfs) = (parts.env, &*parts.env.vfs);
    let pages_crc = match &parts.increment {
        None => copy_pages(parts, copy, folder, watch)?,
        Some((_, changed)) => copy_changed(parts, changed, copy, folder, watch)?,
    };
    // All that the pages hold is logged before, and durable: the log comes before its page.
    parts.wal.flush(parts.wal.appended())?;
    let copied = parts.increment.as_ref().map_or(parts.pages, |(_, changed)| changed.count()).into();
    // The end of a chunk, always.
    let end = parts.wal.durable();
    let database = parts.wal.database();
    for live in parts.wal.live_log() {
        let last = live.last.map_or(end, |last| last.min(end));
        if last <= parts.redo || live.first >= end {
            continue;
        }
        watch(copied, copied)?;
        segment::copy(vfs, log, &mut live.stream(), (database, live.number), last, |_| Ok(()))?;
    }
    let report = BaseReport {
        database,
        pages: u64::from(parts.pages),
        copied,
        page_size: parts.page_size as u64,
        redo: parts.redo,
        end,
        began: parts.began,
        ended: env.clock.unix_micros(),
    };
    let increment = parts.increment.as_ref().map(|(parent, changed)| (changed.count(), *parent));
    let manifest = Manifest { report, epoch: parts.epoch, pages_crc, increment };
    write_whole(vfs, folder, MANIFEST, &manifest.encode())?;
    Ok(report)
}

/// Names of files that an unfinished backup has left; the folder has no others.
fn unfinished(vfs: &dyn Vfs, folder: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let failed = |e| StorageError::io(format!("making {}", folder.display()), e);
    if !vfs.exists(folder).map_err(failed)? {
        return Ok(Vec::new());
    }
    let ours = [PAGES, PAGES_PART, LOG, "base.part"].map(|name| folder.join(name));
    let there = vfs.list_dir(folder).map_err(failed)?;
    match there.iter().find(|path| !ours.contains(path)) {
        None => Ok(there),
        Some(other) => Err(damaged(match other.ends_with(MANIFEST) {
            true => format!("{} holds a base backup already", folder.display()),
            false => format!("the folder {} is not empty", folder.display()),
        })),
    }
}

fn remove_unfinished(vfs: &dyn Vfs, folder: &Path) -> Result<(), StorageError> {
    for path in unfinished(vfs, folder)? {
        if path.ends_with(LOG) { vfs.remove_dir_all(&path) } else { vfs.remove_file(&path) }
            .map_err(|e| StorageError::io(format!("removing {}", path.display()), e))?;
    }
    Ok(())
}

/// Makes the folders, with nothing in them but the file of the pages, which is locked; what an unfinished backup has left goes.
fn prepare(vfs: &dyn Vfs, folder: &Path) -> Result<(PathBuf, PagesFile), StorageError> {
    let failed = |e| StorageError::io(format!("making {}", folder.display()), e);
    unfinished(vfs, folder)?;
    vfs.create_dir_all(folder).map_err(failed)?;
    let copy = PagesFile::create(vfs, folder)?;
    // Once more: another backup may have ended in between.
    let left = unfinished(vfs, folder).inspect_err(|_| drop(vfs.remove_file(&copy.path)))?;
    for path in left.iter().filter(|path| **path != copy.path) {
        if path.ends_with(LOG) { vfs.remove_dir_all(path) } else { vfs.remove_file(path) }.map_err(failed)?;
    }
    let log = folder.join(LOG);
    vfs.create_dir_all(&log).map_err(failed)?;
    vfs.sync_dir(folder).map_err(failed)?;
    if verso_env::scheme_of(folder).is_some() {
        return Ok((log, copy));
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    vfs.sync_dir(parent).map_err(failed)?;
    Ok((log, copy))
}

/// The file of a base's or an increment's pages, while it is written.
struct PagesFile {
    file: Arc<dyn VfsFile>,
    path: PathBuf,
    unsynced: usize,
}

impl PagesFile {
    fn create(vfs: &dyn Vfs, folder: &Path) -> Result<PagesFile, StorageError> {
        let path = folder.join(PAGES_PART);
        match open_alone(vfs, &path) {
            Ok(Some(file)) => Ok(PagesFile { file, path, unsynced: 0 }),
            Ok(None) => Err(damaged(format!("another backup writes {}", folder.display()))),
            Err(error) => Err(StorageError::io(format!("writing {}", path.display()), error)),
        }
    }

    fn failed(&self, error: std::io::Error) -> StorageError {
        StorageError::io(format!("writing {}", self.path.display()), error)
    }

    /// Writes some, and syncs now and then: one sync of all at the end could not be cancelled for as long as it takes.
    fn write(&mut self, bytes: &[u8], at: u64) -> Result<(), StorageError> {
        self.file.write_at(bytes, at).map_err(|e| self.failed(e))?;
        self.unsynced += bytes.len();
        if self.unsynced >= SYNC_BYTES {
            self.file.sync_data().map_err(|e| self.failed(e))?;
            self.unsynced = 0;
        }
        Ok(())
    }

    fn finish(self, vfs: &dyn Vfs, folder: &Path) -> Result<(), StorageError> {
        let whole = || {
            self.file.sync_data()?;
            vfs.rename(&self.path, &folder.join(PAGES))?;
            vfs.sync_dir(folder)
        };
        whole().map_err(|e| self.failed(e))
    }
}

/// Copies the pages; returns the checksum of all.
fn copy_pages(
    parts: &BaseParts<'_>,
    mut copy: PagesFile,
    folder: &Path,
    watch: WatchPages<'_>,
) -> Result<u32, StorageError> {
    let page_size = parts.page_size;
    copy.file.set_len(u64::from(parts.pages) * page_size as u64).map_err(|e| copy.failed(e))?;
    let per_block = u32::try_from(BLOCK_BYTES / page_size).expect("a block has few pages");
    let mut block = vec![0; BLOCK_BYTES];
    let mut crc = 0;
    for first in (0..parts.pages).step_by(per_block as usize) {
        watch(first.into(), parts.pages.into())?;
        let count = per_block.min(parts.pages - first) as usize;
        let bytes = &mut block[..count * page_size];
        let at = u64::from(first) * page_size as u64;
        let reading = |e| StorageError::io("reading the database file", e);
        parts.file.read_exact_at(bytes, at).map_err(reading)?;
        for (page, number) in bytes.chunks_exact_mut(page_size).zip(first..) {
            if number == 0 {
                page.fill(0);
                page[..SECTOR].copy_from_slice(&parts.superblock);
            } else {
                verified(parts, PageId(number), page)?;
            }
        }
        crc = crc32c::crc32c_append(crc, bytes);
        // What is zero stays a hole.
        if bytes.iter().any(|byte| *byte != 0) {
            copy.write(bytes, at)?;
        }
    }
    copy.finish(&*parts.env.vfs, folder)?;
    Ok(crc)
}

/// Bytes of the list of page numbers in front of the pages of an increment.
fn list_bytes(count: u32, page_size: usize) -> usize {
    (count as usize * 4).next_multiple_of(page_size)
}

/// Copies the pages of an increment; returns the checksum of its file.
fn copy_changed(
    parts: &BaseParts<'_>,
    changed: &ChangedPages,
    mut copy: PagesFile,
    folder: &Path,
    watch: WatchPages<'_>,
) -> Result<u32, StorageError> {
    let mut list = Vec::with_capacity(list_bytes(changed.count(), parts.page_size));
    changed.iter().for_each(|page| list.extend_from_slice(&page.0.to_le_bytes()));
    list.resize(list_bytes(changed.count(), parts.page_size), 0);
    let mut crc = crc32c::crc32c(&list);
    copy.write(&list, 0)?;
    let mut at = list.len() as u64;
    let mut page = vec![0; parts.page_size];
    for (done, id) in (0..).zip(changed.iter()) {
        watch(done, changed.count().into())?;
        if id.0 == 0 {
            page.fill(0);
            page[..SECTOR].copy_from_slice(&parts.superblock);
        } else {
            let from = u64::from(id.0) * parts.page_size as u64;
            let reading = |e| StorageError::io("reading the database file", e);
            parts.file.read_exact_at(&mut page, from).map_err(reading)?;
            verified(parts, id, &mut page)?;
        }
        crc = crc32c::crc32c_append(crc, &page);
        copy.write(&page, at)?;
        at += page.len() as u64;
    }
    copy.finish(&*parts.env.vfs, folder)?;
    Ok(crc)
}

/// Makes sure that a page was read as a whole; one that means nothing becomes zero.
fn verified(parts: &BaseParts<'_>, id: PageId, page: &mut [u8]) -> Result<(), StorageError> {
    let mut tries = 0;
    loop {
        let Err(flaw) = header::verify(page, id) else { return Ok(()) };
        if page.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        if !(parts.has_owner)(id) {
            page.fill(0);
            return Ok(());
        }
        tries += 1;
        if tries > TRIES {
            return Err(StorageError::corrupt(id, ObjectId::SYSTEM, flaw));
        }
        parts.env.clock.sleep(PAUSE);
        let at = u64::from(id.0) * page.len() as u64;
        parts.file.read_exact_at(page, at).map_err(|e| StorageError::io("reading the database file", e))?;
    }
}
