//! Which log is replayed upon a base, and whether it is all there.
//!
//! ```text
//! base     redo ├──────────┤ end
//! archive ├────────┼────────────┼───────┤
//! walk          ├──chunk──chunk── … ────► stop
//! ```
//!
//! P1. The log is walked from the first chunk of the base on, chunk by chunk, each starting where the one before ended. Where
//!     both the base and the archive have a chunk it is the same one, or they are two histories.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use verso_env::Vfs;

use super::base::{BaseReport, LOG, Manifest};
use super::damaged;
use super::restore::RestoreTarget;
use super::segment::{self, ArchivedFile, commit_time};
use crate::StorageError;
use crate::page::Lsn;
use crate::progress::{Steps, WatchProgress};
use crate::wal::{DatabaseId, LogStream, RecordKind, StreamedChunk, chunk_crc, corrupt};

/// What an archive holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveReport {
    /// Whose log it is.
    pub database: DatabaseId,
    /// Files of log.
    pub segments: u64,
    /// Where the log starts.
    pub first: Lsn,
    /// Where it ends.
    pub last: Lsn,
    /// Commits in it.
    pub commits: u64,
    /// When the first of them was made that says so: microseconds since 1970, 0 for none.
    pub first_commit: i64,
    /// When the last one was made.
    pub last_commit: i64,
}

/// Reads an archive, and proves that it can be restored from: its files are whole, and the log of each database is one chain
/// without a gap. With a base, that its pages and its log are whole, and that the archive goes on where the base ends.
///
/// # Errors
/// `Archive` says what is missing or damaged, and where; what the file system reports.
pub fn verify_archive(
    vfs: &dyn Vfs,
    archive: &Path,
    base: Option<&Path>,
) -> Result<(Vec<ArchiveReport>, Option<BaseReport>), StorageError> {
    let bases: Vec<PathBuf> = base.map(Path::to_owned).into_iter().collect();
    verify_archive_with(vfs, archive, &bases, &mut |_| Ok(()))
}

/// As [`verify_archive`], with a base and the increments upon it, in their order; for as long as `watch`, which is told how many
/// bytes are read, returns no error.
///
/// # Errors
/// As [`verify_archive`]; what `watch` returns.
pub fn verify_archive_with(
    vfs: &dyn Vfs,
    archive: &Path,
    bases: &[PathBuf],
    watch: WatchProgress<'_>,
) -> Result<(Vec<ArchiveReport>, Option<BaseReport>), StorageError> {
    let mut logs = Vec::new();
    let listing = |e| StorageError::io(format!("listing {}", archive.display()), e);
    for folder in vfs.list_dir(archive).map_err(listing)? {
        if let Some(database) = database_of(&folder) {
            let files = segment::list(vfs, &folder)?;
            logs.push((folder, database, files));
        }
    }
    let links = chain(vfs, bases)?;
    let plan = bases.last().map(|last| Plan::new(vfs, last, Some(archive))).transpose()?;
    // Files of log are read once for their chunks, and once for their digest.
    let planned =
        |files: &[ArchivedFile]| 2 * files.iter().map(|file| file.last.0 - file.first.0).sum::<u64>();
    let total = logs.iter().map(|(.., files)| planned(files)).sum::<u64>()
        + links.iter().map(|(_, manifest)| manifest.bytes()).sum::<u64>()
        + plan.as_ref().map_or(0, Plan::log_bytes);
    let steps = &mut Steps::new(watch, total);
    let mut reports = Vec::new();
    for (folder, database, files) in &logs {
        steps.enter("log", planned(files))?;
        reports.extend(verify_chain(vfs, folder, *database, files, steps)?);
    }
    if reports.is_empty() {
        return Err(damaged(format!("{} holds no log", archive.display())));
    }
    let Some(plan) = plan else { return Ok((reports, None)) };
    let database = plan.manifest.report.database;
    if let Some(base) = bases.last()
        && !reports.iter().any(|report| report.database == database)
    {
        let (archive, base) = (archive.display(), base.display());
        return Err(damaged(format!("{archive} holds no log of the database that {base} is of")));
    }
    verify_pages(vfs, &links, steps)?;
    verify_logs(vfs, bases, steps)?;
    plan.find_stop(vfs, &RestoreTarget::End, steps)?;
    Ok((reports, Some(plan.manifest.report)))
}

/// Reads the log of each base and increment but the last one, as far as it belongs to it: each of them can be restored by itself.
fn verify_logs(vfs: &dyn Vfs, folders: &[PathBuf], steps: &mut Steps<'_>) -> Result<(), StorageError> {
    for folder in &folders[..folders.len().saturating_sub(1)] {
        let plan = Plan::new(vfs, folder, None)?;
        plan.find_stop(vfs, &RestoreTarget::End, steps).map_err(|error| match error {
            StorageError::Archive { problem } => damaged(format!("{}: {problem}", folder.display())),
            error => error,
        })?;
    }
    Ok(())
}

/// Reads the pages of a base and of the increments upon it.
pub(super) fn verify_pages(
    vfs: &dyn Vfs,
    links: &[(&Path, Manifest)],
    steps: &mut Steps<'_>,
) -> Result<(), StorageError> {
    for (folder, manifest) in links {
        steps.enter("pages", manifest.bytes())?;
        manifest.read_pages(vfs, folder, |_, bytes| steps.advance(bytes.len() as u64))?;
    }
    Ok(())
}

/// A base and the increments upon it, each with its manifest; they follow each other.
///
/// # Errors
/// `Archive` names the one that does not; what the file system reports.
pub(super) fn chain<'p>(
    vfs: &dyn Vfs,
    folders: &'p [PathBuf],
) -> Result<Vec<(&'p Path, Manifest)>, StorageError> {
    let mut links: Vec<(&Path, Manifest)> = Vec::new();
    for folder in folders {
        let manifest = Manifest::read(vfs, folder)?;
        match (links.last(), manifest.parent()) {
            (None, None) => {}
            (None, Some(_)) => {
                let problem =
                    format!("{} is an increment: name the base that it completes first", folder.display());
                return Err(damaged(problem));
            }
            (Some((before, known)), parent) => {
                let follows = parent == Some(known.as_parent())
                    && known.report.database == manifest.report.database
                    && known.report.page_size == manifest.report.page_size;
                if !follows {
                    let (folder, before) = (folder.display(), before.display());
                    return Err(damaged(format!("{folder} is no increment upon {before}")));
                }
            }
        }
        links.push((folder, manifest));
    }
    Ok(links)
}

/// The database whose log a folder of an archive holds.
fn database_of(folder: &Path) -> Option<DatabaseId> {
    let name = folder.file_name()?.to_str()?;
    let mut id = [0; 16];
    if name.len() != 32 || !name.is_ascii() {
        return None;
    }
    for (byte, at) in id.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&name[at..at + 2], 16).ok()?;
    }
    Some(DatabaseId(id))
}

fn verify_chain(
    vfs: &dyn Vfs,
    folder: &Path,
    database: DatabaseId,
    files: &[ArchivedFile],
    steps: &mut Steps<'_>,
) -> Result<Option<ArchiveReport>, StorageError> {
    let (Some(first), Some(last)) = (files.first(), files.last()) else { return Ok(None) };
    let mut report = ArchiveReport {
        database,
        segments: files.len() as u64,
        first: first.first,
        last: last.last,
        commits: 0,
        first_commit: 0,
        last_commit: 0,
    };
    let mut expected = report.first;
    for file in files {
        if file.first != expected {
            return Err(gap(folder, expected, file));
        }
        expected = file.last;
        let summary = file.verify(vfs, database, steps)?;
        report.commits += summary.commits;
        if summary.last_commit != 0 {
            report.last_commit = summary.last_commit;
            if report.first_commit == 0 {
                report.first_commit = summary.first_commit;
            }
        }
    }
    Ok(Some(report))
}

fn gap(folder: &Path, expected: Lsn, next: &ArchivedFile) -> StorageError {
    damaged(format!(
        "log is missing in {}: it ends at LSN {expected} and goes on at LSN {} in {}",
        folder.display(),
        next.first,
        next.name()
    ))
}

/// Where a restore ends, and what its superblock has to know of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub at: Lsn,
    /// The newest epoch of the log, if it is newer than the base's, and where it starts.
    pub epoch: Option<(u64, Lsn)>,
    /// When the last commit was made that is restored, as far as known.
    pub last_commit: i64,
}

/// A base and the log upon it.
pub(super) struct Plan {
    pub manifest: Manifest,
    database: DatabaseId,
    base_log: Vec<ArchivedFile>,
    archive: Vec<ArchivedFile>,
    folder: PathBuf,
}

impl Plan {
    /// Whose log it is.
    pub fn database(&self) -> DatabaseId {
        self.database
    }

    /// The files of the archive, in the order of the log.
    pub fn archived(&self) -> &[ArchivedFile] {
        &self.archive
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Looks at what there is.
    ///
    /// # Errors
    /// `Archive` for a base that is none, or two histories in one folder; what the file system reports.
    pub fn new(vfs: &dyn Vfs, base: &Path, archive: Option<&Path>) -> Result<Plan, StorageError> {
        let manifest = Manifest::read(vfs, base)?;
        let database = manifest.report.database;
        let base_log = segment::list(vfs, &base.join(LOG))?;
        let (mut files, mut folder) = (Vec::new(), PathBuf::new());
        if let Some(archive) = archive {
            folder = archive.join(database.to_string());
            let looking = |e| StorageError::io(format!("looking for {}", folder.display()), e);
            if !vfs.exists(&folder).map_err(looking)? {
                let problem = format!("{} holds no log of the base's database {database}", archive.display());
                return Err(damaged(problem));
            }
            files = segment::list(vfs, &folder)?;
        }
        Ok(Plan { manifest, database, base_log, archive: files, folder })
    }

    /// Refuses an archive that has nothing of the base's database: what was meant is another one, or it has lost its files.
    pub fn refuse_empty_archive(&self) -> Result<(), StorageError> {
        if self.folder.as_os_str().is_empty() || !self.archive.is_empty() {
            return Ok(());
        }
        let folder = self.folder.display();
        Err(damaged(format!(
            "{folder} holds no log of the base's database; without an archive the base alone is restored"
        )))
    }

    /// About how long the log is that is walked.
    pub fn log_bytes(&self) -> u64 {
        let first = self.base_log.first().map_or(Lsn::ZERO, |file| file.first);
        let last = self.base_log.iter().chain(&self.archive).map(|file| file.last).max();
        last.unwrap_or(first).0.saturating_sub(first.0)
    }

    /// Walks the log (P1); `visit` returns whether the chunk is the last one wanted.
    pub fn walk(
        &self,
        vfs: &dyn Vfs,
        mut visit: impl FnMut(&StreamedChunk<'_>) -> Result<bool, StorageError>,
    ) -> Result<(), StorageError> {
        let Some(first) = self.base_log.first() else {
            return Err(damaged("the base has no log"));
        };
        let redo = self.manifest.report.redo;
        if first.first > redo {
            return Err(damaged(format!(
                "the base's log starts at LSN {}, behind its redo LSN {redo}",
                first.first
            )));
        }
        let mut expected = first.first;
        let mut base = Source::new(&self.base_log, self.database);
        let mut archive = Source::new(&self.archive, self.database);
        loop {
            let from_base = base.chunk_at(vfs, expected)?;
            let from_archive = archive.chunk_at(vfs, expected)?;
            let chunk = match (from_base, from_archive) {
                (Some(one), Some(other)) if chunk_crc(one.bytes) != chunk_crc(other.bytes) => {
                    return Err(damaged(format!(
                        "the base and {} have different histories from LSN {expected} on",
                        self.folder.display()
                    )));
                }
                (Some(chunk), _) | (None, Some(chunk)) => chunk,
                (None, None) => break,
            };
            expected = chunk.end;
            if visit(&chunk)? {
                return Ok(());
            }
        }
        if expected < self.manifest.report.end {
            let end = self.manifest.report.end;
            return Err(damaged(format!("the base's log ends at LSN {expected}, it has to go to LSN {end}")));
        }
        match self.archive.iter().find(|file| file.first > expected) {
            Some(next) => Err(gap(&self.folder, expected, next)),
            None => Ok(()),
        }
    }

    /// Reads all of the log that is wanted, and says where it ends (R1, R3).
    ///
    /// # Errors
    /// `Archive` if what is wanted cannot be restored; what the file system reports.
    pub fn find_stop(
        &self,
        vfs: &dyn Vfs,
        target: &RestoreTarget,
        steps: &mut Steps<'_>,
    ) -> Result<Stop, StorageError> {
        steps.enter("log", self.log_bytes())?;
        let base = &self.manifest.report;
        match target {
            RestoreTarget::Lsn(lsn) if *lsn < base.end => {
                return Err(damaged(format!(
                    "the base is consistent from LSN {} on, that is behind LSN {lsn}",
                    base.end
                )));
            }
            RestoreTarget::Time(time) if *time < base.ended => {
                return Err(damaged(
                    "the time to restore to is before the end of the base backup: take an older base",
                ));
            }
            _ => {}
        }
        let mut stop = Stop { at: base.redo, epoch: None, last_commit: 0 };
        let (mut newest, mut reached) = (self.manifest.epoch, false);
        // Recovery commits before the clock of commits runs: what it does comes behind what is known, and before what follows.
        let mut opening = false;
        self.walk(vfs, |chunk| {
            steps.advance(chunk.end.0 - chunk.start.0)?;
            for group in chunk.groups() {
                let (start, group) = group?;
                let end = Lsn(start.0 + group.byte_len() as u64);
                if start >= base.end && is_loaded(start, &group)? {
                    return Err(damaged(format!(
                        "rows loaded by COPY … WITH (nolog) until LSN {start} are in no archive: restore to a moment before, or \
                         take a base begun later"
                    )));
                }
                let commit = commit_of(start, &group)?;
                opening |= chunk.epoch > newest;
                reached = match (target, commit) {
                    (RestoreTarget::Lsn(lsn), _) => end > *lsn,
                    (RestoreTarget::Time(time), Some(Some(made))) => start >= base.end && made > *time,
                    (RestoreTarget::Time(_), Some(None)) if start >= base.end && !opening => {
                        return Err(damaged(format!(
                            "the commit at LSN {start} does not say when it was made: restore to an LSN instead"
                        )));
                    }
                    _ => false,
                };
                if reached {
                    return Ok(true);
                }
                if chunk.epoch > newest {
                    newest = chunk.epoch;
                    stop.epoch = Some((newest, chunk.start));
                }
                if let Some(Some(made)) = commit {
                    opening = false;
                    stop.last_commit = made;
                }
                stop.at = end;
                reached = match target {
                    RestoreTarget::Lsn(lsn) => end >= *lsn,
                    RestoreTarget::Name(name) => start >= base.end && is_named(start, &group, name)?,
                    _ => false,
                };
                if reached {
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        match target {
            RestoreTarget::Lsn(lsn) if !reached && stop.at < *lsn => {
                Err(damaged(format!("the log ends at LSN {}, before LSN {lsn}", stop.at)))
            }
            RestoreTarget::Time(_) if !reached => Err(damaged(format!(
                "the log ends at LSN {} before a commit later than the time to restore to: what was committed until then may \
                 be missing; restore to that LSN, or to the end",
                stop.at
            ))),
            RestoreTarget::Name(name) if !reached => Err(damaged(format!(
                "there is no restore point \"{name}\" between LSN {}, where the base ends, and LSN {}, where the log ends",
                base.end, stop.at
            ))),
            _ => Ok(stop),
        }
    }
}

/// Whether a group is the restore point of that name.
fn is_named(start: Lsn, group: &crate::wal::GroupView<'_>, name: &str) -> Result<bool, StorageError> {
    for record in group.records() {
        let record = record.map_err(|flaw| corrupt(start, &flaw))?;
        if record.kind == RecordKind::RESTORE_POINT && record.payload == name.as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a group ends a load without log (U4).
fn is_loaded(start: Lsn, group: &crate::wal::GroupView<'_>) -> Result<bool, StorageError> {
    for record in group.records() {
        let record = record.map_err(|flaw| corrupt(start, &flaw))?;
        if record.kind == RecordKind::LOADED {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a group is a commit, and when it was made.
fn commit_of(start: Lsn, group: &crate::wal::GroupView<'_>) -> Result<Option<Option<i64>>, StorageError> {
    for record in group.records() {
        let record = record.map_err(|flaw| corrupt(start, &flaw))?;
        if record.kind == RecordKind::COMMIT {
            return Ok(Some(commit_time(record.payload)));
        }
    }
    Ok(None)
}

/// Files of log, read one after the other.
struct Source {
    files: VecDeque<ArchivedFile>,
    database: DatabaseId,
    stream: Option<(LogStream, Lsn)>,
}

impl Source {
    fn new(files: &[ArchivedFile], database: DatabaseId) -> Source {
        Source { files: files.iter().cloned().collect(), database, stream: None }
    }

    /// The chunk that starts at `lsn`; none if no file holds it. Asked for in ascending order.
    fn chunk_at(&mut self, vfs: &dyn Vfs, lsn: Lsn) -> Result<Option<StreamedChunk<'_>>, StorageError> {
        if self.stream.as_ref().is_some_and(|(_, last)| *last <= lsn) {
            self.stream = None;
        }
        if self.stream.is_none() {
            while self.files.front().is_some_and(|file| file.last <= lsn) {
                self.files.pop_front();
            }
            let Some(file) = self.files.front().filter(|file| file.first <= lsn) else { return Ok(None) };
            let stream = LogStream::open(vfs, &file.path, self.database)?;
            if stream.expected() != file.first {
                let problem = format!("{} starts at LSN {}", file.path.display(), stream.expected());
                return Err(damaged(problem));
            }
            self.stream = Some((stream, file.last));
        }
        let Some((stream, last)) = &mut self.stream else { return Ok(None) };
        while stream.expected() < lsn {
            if stream.next()?.is_none() {
                break;
            }
        }
        let (found, name, last) = (stream.expected(), stream.name().to_owned(), *last);
        let torn =
            || damaged(format!("{name} is damaged: it can be read up to LSN {found} only, not up to {last}"));
        if found > lsn {
            return Err(damaged(format!(
                "{name} has no chunk at LSN {lsn}: it is another history than the base"
            )));
        }
        if found < lsn {
            return Err(torn());
        }
        stream.next()?.map(Some).ok_or_else(torn)
    }
}
