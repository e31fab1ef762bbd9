//! A file of archived log: the chunks of one segment as they were written, and a footer that says what they are.
//!
//! ```text
//! NUMBER-FIRST-LAST-DIGEST.vlog:  segment header (512) │ chunks … │ footer (512)
//! footer  0 crc u32 │ 4 magic "VARC" │ 8 version u32 │ 12 zero │ 16 database id [16] │ 32 first lsn u64 │ 40 last lsn u64 │
//!         48 number u64 │ 56 first epoch u64 │ 64 last epoch u64 │ 72 commits u64 │ 80 time of the first commit i64 │
//!         88 of the last i64 (0: none has one) │ 96 SHA-256 of all before the footer [32] │ zeroes
//! ```

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use verso_env::{OpenMode, Vfs};

use super::damaged;
use crate::StorageError;
use crate::page::Lsn;
use crate::page::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::progress::Steps;
use crate::wal::{DatabaseId, LogStream, RecordKind, SECTOR, StreamedChunk, segment_header};

const MAGIC: u32 = u32::from_le_bytes(*b"VARC");
const VERSION: u32 = 1;
pub(super) const SUFFIX: &str = ".vlog";
/// Of a file that is being written.
const PART: &str = ".part";

/// What the footer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub database: DatabaseId,
    pub number: u64,
    pub first: Lsn,
    pub last: Lsn,
    pub first_epoch: u64,
    pub last_epoch: u64,
    pub commits: u64,
    /// Microseconds since 1970, 0 where no commit has a time.
    pub first_commit: i64,
    pub last_commit: i64,
    pub digest: [u8; 32],
}

impl Summary {
    fn encode(&self) -> [u8; SECTOR] {
        let mut bytes = [0; SECTOR];
        put_u32(&mut bytes, 4, MAGIC);
        put_u32(&mut bytes, 8, VERSION);
        bytes[16..32].copy_from_slice(&self.database.0);
        let numbers =
            [self.first.0, self.last.0, self.number, self.first_epoch, self.last_epoch, self.commits];
        for (number, at) in numbers.into_iter().zip((32..).step_by(8)) {
            put_u64(&mut bytes, at, number);
        }
        bytes[80..88].copy_from_slice(&self.first_commit.to_le_bytes());
        bytes[88..96].copy_from_slice(&self.last_commit.to_le_bytes());
        bytes[96..128].copy_from_slice(&self.digest);
        let crc = crc32c::crc32c(&bytes[4..]);
        put_u32(&mut bytes, 0, crc);
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Summary> {
        let sound = bytes.len() == SECTOR
            && u32_at(bytes, 4) == MAGIC
            && u32_at(bytes, 8) == VERSION
            && crc32c::crc32c(&bytes[4..]) == u32_at(bytes, 0);
        sound.then(|| Summary {
            database: DatabaseId(bytes[16..32].try_into().expect("16 bytes")),
            first: Lsn(u64_at(bytes, 32)),
            last: Lsn(u64_at(bytes, 40)),
            number: u64_at(bytes, 48),
            first_epoch: u64_at(bytes, 56),
            last_epoch: u64_at(bytes, 64),
            commits: u64_at(bytes, 72),
            first_commit: u64_at(bytes, 80).cast_signed(),
            last_commit: u64_at(bytes, 88).cast_signed(),
            digest: bytes[96..128].try_into().expect("32 bytes"),
        })
    }

    /// The file's name: it says what is in it.
    fn name(&self) -> String {
        let digest: String = self.digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:016}-{:020}-{:020}-{digest}{SUFFIX}", self.number, self.first.0, self.last.0)
    }
}

/// A file of archived log by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchivedFile {
    pub path: PathBuf,
    pub number: u64,
    pub first: Lsn,
    pub last: Lsn,
}

impl ArchivedFile {
    fn parse(path: &Path) -> Option<ArchivedFile> {
        let name = path.file_name()?.to_str()?.strip_suffix(SUFFIX)?;
        let mut parts = name.split('-');
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (number, first, last) = (number()?, Lsn(number()?), Lsn(number()?));
        let digest = parts.next()?;
        let fits = parts.next().is_none() && digest.len() == 16 && first < last;
        fits.then(|| ArchivedFile { path: path.to_owned(), number, first, last })
    }

    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    pub fn overlaps(&self, first: Lsn, last: Lsn) -> bool {
        self.first < last && first < self.last
    }

    /// Reads all of it: its checksums and digest hold, and it holds exactly what its name says.
    ///
    /// # Errors
    /// `Archive` names the file; what the file system reports, or whoever watches.
    pub fn verify(
        &self,
        vfs: &dyn Vfs,
        database: DatabaseId,
        steps: &mut Steps<'_>,
    ) -> Result<Summary, StorageError> {
        let name = self.path.display();
        let failed = |e| StorageError::io(format!("reading {name}"), e);
        let file = vfs.open(&self.path, OpenMode::READ_ONLY).map_err(failed)?;
        let length = file.len().map_err(failed)?;
        let mut stream = LogStream::open(vfs, &self.path, database)?;
        let mut tally = Tally::default();
        while let Some(chunk) = stream.next()? {
            steps.advance(chunk.end.0 - chunk.start.0)?;
            tally.note(&chunk)?;
        }
        let end = stream.position();
        let mut footer = [0; SECTOR];
        let read = file.read_at(&mut footer, end).map_err(failed)?;
        let summary = Summary::parse(&footer[..read]).filter(|_| length == end + SECTOR as u64);
        let Some(summary) = summary else {
            return Err(damaged(format!(
                "{name} is damaged at offset {end}: its log can be read up to LSN {} of {}",
                stream.expected(),
                self.last
            )));
        };
        let mut digest = Sha256::new();
        let mut block = vec![0; 1 << 20];
        let mut at = 0;
        while at < end {
            let wanted = (block.len() as u64).min(end - at) as usize;
            steps.advance(wanted as u64)?;
            file.read_exact_at(&mut block[..wanted], at).map_err(failed)?;
            digest.update(&block[..wanted]);
            at += wanted as u64;
        }
        let found =
            tally.summary(database, self.number, self.first, stream.expected(), digest.finalize().into());
        if found != summary || summary.name() != self.name() {
            return Err(damaged(format!("{name} does not hold what its footer and its name say")));
        }
        Ok(summary)
    }
}

/// The files of log in a folder, in the order of the log.
///
/// # Errors
/// `Archive` where two of them overlap: two histories of a database lie in one folder; what the file system reports.
pub(super) fn list(vfs: &dyn Vfs, dir: &Path) -> Result<Vec<ArchivedFile>, StorageError> {
    let paths = vfs.list_dir(dir).map_err(|e| StorageError::io(format!("listing {}", dir.display()), e))?;
    let mut files: Vec<ArchivedFile> = paths.iter().filter_map(|path| ArchivedFile::parse(path)).collect();
    files.sort_by_key(|file| (file.first, file.last));
    for pair in files.windows(2) {
        if pair[0].last > pair[1].first {
            return Err(damaged(format!(
                "{} and {} hold the same part of the log: two copies of the database were archived to one folder",
                pair[0].path.display(),
                pair[1].name()
            )));
        }
    }
    Ok(files)
}

/// What is counted while chunks go by.
#[derive(Default)]
pub(super) struct Tally {
    epochs: Option<(u64, u64)>,
    commits: u64,
    times: Option<(i64, i64)>,
}

impl Tally {
    pub fn note(&mut self, chunk: &StreamedChunk<'_>) -> Result<(), StorageError> {
        self.epochs = Some((self.epochs.map_or(chunk.epoch, |(first, _)| first), chunk.epoch));
        for group in chunk.groups() {
            let (start, group) = group?;
            for record in group.records() {
                let record = record.map_err(|flaw| crate::wal::corrupt(start, &flaw))?;
                if record.kind == RecordKind::COMMIT {
                    self.commits += 1;
                    if let Some(time) = commit_time(record.payload) {
                        self.times = Some((self.times.map_or(time, |(first, _)| first), time));
                    }
                }
            }
        }
        Ok(())
    }

    fn summary(&self, database: DatabaseId, number: u64, first: Lsn, last: Lsn, digest: [u8; 32]) -> Summary {
        let (first_epoch, last_epoch) = self.epochs.unwrap_or_default();
        let (first_commit, last_commit) = self.times.unwrap_or_default();
        let commits = self.commits;
        Summary {
            database,
            number,
            first,
            last,
            first_epoch,
            last_epoch,
            commits,
            first_commit,
            last_commit,
            digest,
        }
    }
}

/// When a transaction was committed, if its record says so: microseconds since 1970.
pub(super) fn commit_time(payload: &[u8]) -> Option<i64> {
    Some(i64::from_le_bytes(payload.get(..8)?.try_into().ok()?))
}

/// Copies what a stream holds before `last` to a file of archived log in `dir` (A4). `seal` is called when all of it is there,
/// before it gets the name that `seal` is told.
///
/// # Errors
/// `Archive` where the stream ends before `last`; what the file system reports, or `seal`.
pub(super) fn copy(
    vfs: &dyn Vfs,
    dir: &Path,
    stream: &mut LogStream,
    (database, number): (DatabaseId, u64),
    last: Lsn,
    seal: impl FnOnce(&str) -> Result<(), StorageError>,
) -> Result<Summary, StorageError> {
    let first = stream.expected();
    let part = dir.join(format!("{number:016}-{:020}{PART}", first.0));
    let failed = |e| StorageError::io(format!("writing {}", part.display()), e);
    let file = vfs.open(&part, OpenMode { truncate: true, ..OpenMode::CREATE }).map_err(failed)?;
    let (mut tally, mut digest) = (Tally::default(), Sha256::new());
    let mut at = SECTOR as u64;
    let mut headed = false;
    while stream.expected() < last {
        let Some(chunk) = stream.next()? else {
            return Err(damaged(format!(
                "{} can be read up to LSN {} only, not up to {last}",
                stream.name(),
                stream.expected()
            )));
        };
        if !headed {
            let sector = segment_header(database, chunk.epoch, first, number);
            file.write_at(&sector, 0).map_err(failed)?;
            digest.update(sector);
            headed = true;
        }
        tally.note(&chunk)?;
        let bytes = chunk.before(chunk.end);
        file.write_at(&bytes, at).map_err(failed)?;
        digest.update(&bytes);
        at += bytes.len() as u64;
    }
    let summary = tally.summary(database, number, first, stream.expected(), digest.finalize().into());
    file.write_at(&summary.encode(), at).and_then(|()| file.sync_data()).map_err(failed)?;
    seal(&summary.name())?;
    let path = dir.join(summary.name());
    vfs.rename(&part, &path).and_then(|()| vfs.sync_dir(dir)).map_err(failed)?;
    Ok(summary)
}
