//! The log as found at open: which segments belong to it, where it ends, what groups it holds.
//!
//! The segment that holds the redo LSN is the last that starts at or before it. From there the chunks are followed,
//! each starting at the LSN where the one before ended; where a segment has no such chunk, another segment that
//! starts at this LSN goes on, or the log ends. What does not fit is never an error here: [`LogImage::remains`] says
//! whether it is the torn or stale remains behind the end, or what a disk has lost.
//!
//! What can be mended is: a segment whose header is damaged is known by its first chunk, and chunks before the redo LSN,
//! which nobody needs any more, are stepped over.
//!
//! L2 (design): a chunk or segment that starts at or behind the newest epoch's start is of that epoch; one before is
//! of an older epoch, and epochs never decrease along the log.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use verso_env::{Env, Vfs};

use super::GroupView;
use super::chunk::{
    CHUNK_HEADER, ChunkHeader, DatabaseId, FORMAT_UNSYNCED, Head, LOG_FORMAT, SECTOR, SegmentHeader,
    verify_chunk,
};
use super::log::Wal;
use super::mark;
use super::options::WalOptions;
use super::remains::{Remains, Wanted, next_chunk};
use super::segment::{self, Segment};
use super::tail::{LiveSegment, Tail};
use crate::StorageError;
use crate::page::{Flaw, Lsn, ObjectId, PageId};
use crate::rules::{Rule, disabled};

/// What the superblock knows about the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOrigin {
    /// The database.
    pub database: DatabaseId,
    /// The newest epoch.
    pub epoch: u64,
    /// Where the newest epoch starts.
    pub epoch_start: Lsn,
    /// Where reading starts: the start of a group, or the end of the log.
    pub redo: Lsn,
    /// What is missing from it.
    pub gaps: LogGaps,
}

/// A part of the log that was given up: behind `from` it goes on at `to`. Pages that were changed by what stood between
/// are damaged. Both are 0 where nothing was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogGap {
    /// Here it ended.
    pub from: Lsn,
    /// Here it went on.
    pub to: Lsn,
}

/// All parts of the log that were given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogGaps(pub [LogGap; LogGaps::MAX]);

impl LogGaps {
    /// So often a log can be given up in part.
    pub const MAX: usize = 4;

    /// Whether a page whose newest change ends at `lsn` has it from a lost part.
    #[must_use]
    pub fn have(&self, lsn: Lsn) -> bool {
        self.0.iter().any(|gap| gap.from < lsn && lsn <= gap.to)
    }

    /// Where the log goes on that ended here.
    fn behind(&self, end: Lsn) -> Option<Lsn> {
        self.0.iter().find(|gap| gap.from == end && gap.to > end).map(|gap| gap.to)
    }

    /// Gives up what is from `from` to `to`; false if that happened too often.
    #[must_use]
    pub fn add(&mut self, gap: LogGap) -> bool {
        // One that begins where another one does takes its place: opening was interrupted.
        let same = self.0.iter().position(|known| known.from == gap.from && known.to > known.from);
        let place = same.or_else(|| self.0.iter().position(|known| known.to == Lsn::ZERO));
        place.map(|place| self.0[place] = gap).is_some()
    }
}

impl LogOrigin {
    /// Whether something that starts at `start` and follows something of epoch `previous` may be of `epoch`.
    fn admits(&self, start: Lsn, epoch: u64, previous: u64) -> bool {
        if disabled(Rule::L2) {
            return true;
        }
        let expected_newest = start >= self.epoch_start;
        epoch >= previous && if expected_newest { epoch == self.epoch } else { epoch < self.epoch }
    }
}

/// A log before anything is appended to it.
pub struct LogImage {
    dir: PathBuf,
    origin: LogOrigin,
    /// In the order of the log; the first holds the redo LSN.
    chain: Vec<(Segment, SegmentHeader)>,
    /// Everything else: spares, used up ones, remains of a lost tail.
    others: Vec<Segment>,
    /// Of them, those of the log before the chain.
    old: Vec<(Segment, SegmentHeader)>,
    /// Behind the last chunk of the last segment of the chain.
    position: u64,
    /// So far it can be read.
    readable: Lsn,
    /// Here it goes on.
    end: Lsn,
    /// Numbers of segments that have lost their headers.
    mended: Vec<u64>,
    remains: Remains,
    /// Nothing of it is to be undone.
    settled: bool,
}

impl LogImage {
    /// A log without a segment that starts at `start`: of a new database, or of one that was shut down cleanly and
    /// copied without its log.
    #[must_use]
    pub fn empty(dir: &Path, origin: LogOrigin, start: Lsn) -> LogImage {
        LogImage {
            dir: dir.to_owned(),
            origin: LogOrigin { redo: start, ..origin },
            chain: Vec::new(),
            others: Vec::new(),
            old: Vec::new(),
            position: 0,
            readable: start,
            end: start,
            mended: Vec::new(),
            remains: Remains::default(),
            settled: false,
        }
    }

    /// As [`LogImage::empty`] in a folder whose segments are of no use any more; they are reused.
    ///
    /// # Errors
    /// `NotADatabase` for the log of another database; what the file system reports.
    pub fn abandon(
        vfs: &dyn Vfs,
        dir: &Path,
        origin: LogOrigin,
        start: Lsn,
    ) -> Result<LogImage, StorageError> {
        let mut image = LogImage::empty(dir, origin, start);
        for (segment, head) in segment::list(vfs, dir)? {
            if let Head::Used(header) = head {
                check_database((dir, segment.number), header, &origin)?;
            }
            image.others.push(segment);
        }
        Ok(image)
    }

    /// Finds the log in `dir` and its end, and makes sure that what was found is durable (after a crash of the
    /// process alone it may not be). `visit` sees every group from the redo LSN on, in order, with its start.
    ///
    /// # Errors
    /// `NotADatabase` for a log of another database, `MissingLog` for one without the redo LSN; what the file system
    /// reports; what `visit` returns.
    pub fn open(
        vfs: &dyn Vfs,
        dir: &Path,
        origin: LogOrigin,
        visit: impl FnMut(Lsn, &GroupView<'_>) -> Result<(), StorageError>,
    ) -> Result<LogImage, StorageError> {
        let mut used = Vec::new();
        let mut others = Vec::new();
        let mut mended = Vec::new();
        for (segment, head) in segment::list(vfs, dir)? {
            let header = match head {
                Head::Used(header) => {
                    check_database((dir, segment.number), header, &origin)?;
                    Some(header)
                }
                Head::Blank => None,
                Head::Damaged => header_of_first_chunk(&segment, &origin)?.inspect(|header| {
                    tracing::warn!(segment = header.number, start = %header.start, "a segment of the log has lost its header");
                    mended.push(header.number);
                }),
            };
            match header {
                Some(header) => used.push((segment, header)),
                None => others.push(segment),
            }
        }
        let mut walk = Walk::new(origin, used, Lsn(u64::MAX))?;
        walk.run(visit)?;
        let mut remains = walk.look_behind(&others)?;
        remains.durable = remains.durable.max(mark::read(vfs, dir, origin.database, origin.epoch));
        let Walk { candidates, chain, position, expected: end, .. } = walk;
        let first = chain.first().map_or(Lsn::ZERO, |(_, header)| header.start);
        let old = candidates.iter().filter(|(_, header)| header.start < first).cloned().collect();
        others.extend(candidates.into_iter().map(|(segment, _)| segment));
        others.sort_by_key(|segment| segment.number);
        for (segment, _) in &chain {
            segment.file.sync_data().map_err(|e| StorageError::io("syncing the log", e))?;
        }
        if end < origin.redo {
            return Err(lost(&origin, end));
        }
        Ok(LogImage {
            dir: dir.to_owned(),
            origin,
            chain,
            others,
            old,
            position,
            readable: end,
            end,
            mended,
            remains,
            settled: false,
        })
    }

    /// Keeps the segments before the redo LSN that hold log from `from` on, for the archive does not have them yet. A segment
    /// that the archive has, and in which the log ends, is left: what the archive has is never added to.
    pub(crate) fn keep(&mut self, from: Lsn, sealed: Lsn) {
        self.old.sort_by_key(|(_, header)| header.start);
        while let Some((segment, header)) = self.old.pop() {
            let end = self.chain.first().map_or(self.end, |(_, next)| next.start);
            if end <= from {
                break;
            }
            self.others.retain(|other| other.number != segment.number);
            self.chain.insert(0, (segment, header));
        }
        if self.end <= sealed {
            self.position = self.chain.last().map_or(0, |(segment, _)| segment.size);
        }
    }

    /// It is that of a database that was shut down cleanly: room for changes is made with the first one (R7 of `room.rs`).
    pub fn settle(&mut self) {
        self.settled = true;
    }

    /// What lies behind the end.
    #[must_use]
    pub fn remains(&self) -> &Remains {
        &self.remains
    }

    /// The file in which the log ends, and where.
    #[must_use]
    pub fn place_of_end(&self) -> (PathBuf, u64) {
        let number = self.chain.last().map_or(0, |(segment, _)| segment.number);
        (segment::path_of(&self.dir, number), self.position)
    }

    /// Gives up what lies behind the end: the log goes on at `to`, in another segment. `to` is behind everything that ever was
    /// logged.
    pub fn skip_to(&mut self, to: Lsn) {
        assert!(to > self.end, "a log goes on behind its end");
        self.end = to;
        self.position = self.chain.last().map_or(0, |(segment, _)| segment.size);
    }

    /// Where the log ends.
    #[must_use]
    pub fn end(&self) -> Lsn {
        self.end
    }

    /// Whether no segment was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }

    /// Visits every group from the redo LSN to the end again.
    ///
    /// # Errors
    /// `Corrupt` when the log is not what it was at open; what `visit` returns.
    pub fn scan(
        &self,
        visit: impl FnMut(Lsn, &GroupView<'_>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        if self.chain.is_empty() {
            return Ok(());
        }
        let mut walk = Walk::new(self.origin, self.chain.clone(), self.readable)?;
        walk.run(visit)?;
        if walk.expected == self.readable {
            Ok(())
        } else {
            Err(StorageError::corrupt(
                PageId::NONE,
                ObjectId::SYSTEM,
                Flaw::new(format!("the log changed while it was read: it ended at {}", self.end)),
            ))
        }
    }

    /// Opens the log for appending in `epoch`, which becomes durable in the superblock before the first append.
    /// Segments that are not part of the log lose their headers, so that they are never taken for one.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn start(&self, env: &Env, options: WalOptions, epoch: u64) -> Result<Wal, StorageError> {
        let mut spares = VecDeque::new();
        for segment in &self.others {
            let wiped = segment.file.write_at(&[0; SECTOR], 0).and_then(|()| segment.file.sync_data());
            wiped.map_err(|e| StorageError::io("preparing a log segment", e))?;
            // One too short came from a crash while it was made.
            if segment.size > SECTOR as u64 {
                spares.push_back(segment.clone());
            }
        }
        for (segment, header) in
            self.chain.iter().filter(|(segment, _)| self.mended.contains(&segment.number))
        {
            let mended = segment.file.write_at(&header.encode(), 0).and_then(|()| segment.file.sync_data());
            mended.map_err(|e| StorageError::io("mending a log segment", e))?;
        }
        // What is written to gets groups that programs of the former format do not know: they refuse it by its header.
        if let Some((segment, header)) = self.chain.last()
            && (FORMAT_UNSYNCED..LOG_FORMAT).contains(&header.format)
        {
            let header = SegmentHeader { format: LOG_FORMAT, ..*header };
            let raised = segment.file.write_at(&header.encode(), 0).and_then(|()| segment.file.sync_data());
            raised.map_err(|e| StorageError::io("raising the format of a log segment", e))?;
        }
        let segments = || self.chain.iter().map(|(segment, _)| segment).chain(&self.others);
        let newest = segments().map(|segment| segment.number).max();
        let largest = segments().map(|segment| segment.size).max();
        let tail = Tail {
            dir: self.dir.clone(),
            live: self
                .chain
                .iter()
                .map(|(segment, header)| LiveSegment { segment: segment.clone(), start: header.start })
                .collect(),
            position: self.position,
            spares,
            unsynced: Vec::new(),
            unsynced_bytes: 0,
            unsynced_names: false,
            written: self.end,
            next_number: newest.map_or(1, |number| number + 1),
            next_size: largest.map_or(options.segment_bytes_first, |size| {
                (size * 2).clamp(options.segment_bytes_first, options.segment_bytes_max)
            }),
            slack_of_ends: if self.settled { options.slack_of_ends() } else { 0 },
        };
        Ok(Wal::start(env, &self.dir, self.origin.database, epoch, options, tail, self.settled))
    }
}

/// What the header of a segment said that has lost it, as far as its first chunk tells. That what was logged before is on
/// disk is not believed of it.
fn header_of_first_chunk(
    segment: &Segment,
    origin: &LogOrigin,
) -> Result<Option<SegmentHeader>, StorageError> {
    let first = next_chunk(segment, SECTOR as u64, |header| header.epoch <= origin.epoch, origin.database)?;
    Ok(first.filter(|(position, _, _)| *position == SECTOR as u64).map(|(_, header, _)| SegmentHeader {
        database: origin.database,
        epoch: header.epoch,
        start: header.start,
        number: segment.number,
        format: LOG_FORMAT,
    }))
}

fn check_database(
    (dir, number): (&Path, u64),
    header: SegmentHeader,
    origin: &LogOrigin,
) -> Result<(), StorageError> {
    if header.database == origin.database {
        return Ok(());
    }
    let what =
        format!("the log segment {} belongs to another database", segment::path_of(dir, number).display());
    Err(StorageError::NotADatabase { what })
}

fn lost(origin: &LogOrigin, end: Lsn) -> StorageError {
    let what = format!("it ends at LSN {end}, recovery has to start at LSN {}", origin.redo);
    StorageError::MissingLog { what }
}

/// Follows the log from segment to segment and chunk to chunk.
struct Walk {
    origin: LogOrigin,
    /// Segments in use that the walk has not entered.
    candidates: Vec<(Segment, SegmentHeader)>,
    chain: Vec<(Segment, SegmentHeader)>,
    position: u64,
    expected: Lsn,
    epoch: u64,
    stop: Lsn,
    bytes: Vec<u8>,
}

impl Walk {
    fn new(
        origin: LogOrigin,
        mut candidates: Vec<(Segment, SegmentHeader)>,
        stop: Lsn,
    ) -> Result<Walk, StorageError> {
        let oldest = candidates.iter().map(|(segment, _)| segment.number).min();
        let first = candidates
            .iter()
            .enumerate()
            .filter(|(_, (_, header))| {
                header.start <= origin.redo && origin.admits(header.start, header.epoch, 0)
            })
            .max_by_key(|(_, (_, header))| (header.start, header.epoch))
            .map(|(index, _)| index)
            .ok_or_else(|| StorageError::MissingLog {
                what: format!(
                    "recovery has to start at LSN {}, and no segment has it; {}",
                    origin.redo,
                    match oldest {
                        Some(number) => {
                            let name = segment::path_of(Path::new(""), number);
                            format!("the first one there is {}", name.display())
                        }
                        None => "there is none at all".to_owned(),
                    }
                ),
            })?;
        let (segment, header) = candidates.remove(first);
        Ok(Walk {
            origin,
            candidates,
            chain: vec![(segment, header)],
            position: SECTOR as u64,
            expected: header.start,
            epoch: header.epoch,
            stop,
            bytes: Vec::new(),
        })
    }

    fn run(
        &mut self,
        mut visit: impl FnMut(Lsn, &GroupView<'_>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        while self.expected < self.stop {
            let (segment, _) = self.chain.last().expect("the walk starts in a segment");
            let segment = segment.clone();
            if let Some(next) = self.origin.gaps.behind(self.expected) {
                (self.expected, self.position) = (next, segment.size);
                continue;
            }
            let Some(header) = self.read_chunk(&segment, self.position)? else {
                match self.enter_next()? || self.step_over(&segment)? {
                    true => continue,
                    false => break,
                }
            };
            self.visit_groups(&mut visit)?;
            self.position += header.disk_len();
            self.expected = header.end();
            self.epoch = header.epoch;
        }
        Ok(())
    }

    /// Reads the chunk at `position` into `bytes`; `None` if there is none that continues the log.
    fn read_chunk(&mut self, segment: &Segment, position: u64) -> Result<Option<ChunkHeader>, StorageError> {
        let read_error = |e| StorageError::io("reading the log", e);
        self.bytes.resize(SECTOR, 0);
        let read = segment.file.read_at(&mut self.bytes, position).map_err(read_error)?;
        let header = ChunkHeader::parse(&self.bytes[..read], self.origin.database)
            .filter(|header| header.start == self.expected)
            .filter(|header| self.origin.admits(header.start, header.epoch, self.epoch));
        let Some(header) = header else { return Ok(None) };
        let length = CHUNK_HEADER + header.length;
        self.bytes.resize(length, 0);
        if length > SECTOR {
            let rest = &mut self.bytes[SECTOR..];
            let wanted = rest.len();
            let read = segment.file.read_at(rest, position + SECTOR as u64).map_err(read_error)?;
            if read < wanted {
                return Ok(None);
            }
        } else if read < length {
            return Ok(None);
        }
        Ok(verify_chunk(&self.bytes).then_some(header))
    }

    /// Enters a segment that goes on where this one ends; it counts only if its first chunk does.
    fn enter_next(&mut self) -> Result<bool, StorageError> {
        let fitting: Vec<usize> = (0..self.candidates.len())
            .filter(|index| {
                let header = &self.candidates[*index].1;
                header.start == self.expected && self.origin.admits(header.start, header.epoch, self.epoch)
            })
            .collect();
        for index in fitting {
            let segment = self.candidates[index].0.clone();
            if self.read_chunk(&segment, SECTOR as u64)?.is_some() {
                let next = self.candidates.remove(index);
                self.chain.push(next);
                self.position = SECTOR as u64;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Steps over chunks that cannot be read and are before the redo LSN, all of them.
    fn step_over(&mut self, segment: &Segment) -> Result<bool, StorageError> {
        let (expected, origin) = (self.expected, self.origin);
        if expected >= origin.redo {
            return Ok(false);
        }
        let usable = |header: &ChunkHeader| {
            (expected.0 + 1..=origin.redo.0).contains(&header.start.0)
                && origin.admits(header.start, header.epoch, self.epoch)
        };
        let Some((position, header, _)) = next_chunk(segment, self.position, usable, origin.database)? else {
            return Ok(false);
        };
        tracing::warn!(
            segment = segment.number,
            offset = self.position,
            "log that is not needed any more is damaged"
        );
        (self.position, self.expected) = (position, header.start);
        Ok(true)
    }

    /// Looks at what lies behind the end; `others` are no segments in use, as far as can be told.
    fn look_behind(&self, others: &[Segment]) -> Result<Remains, StorageError> {
        let wanted = Wanted { database: self.origin.database, epoch: self.origin.epoch, end: self.expected };
        let mut remains = Remains::default();
        let (last, header) = self.chain.last().expect("the walk starts in a segment");
        remains.look_for_torn(last, self.position, wanted)?;
        remains.look(last, header.format >= FORMAT_UNSYNCED, self.position, wanted)?;
        for (segment, header) in &self.candidates {
            if header.epoch == wanted.epoch && header.start >= wanted.end {
                remains.look(segment, header.format >= FORMAT_UNSYNCED, SECTOR as u64, wanted)?;
            }
        }
        for segment in others {
            let mut sector = [0; SECTOR];
            let read =
                segment.file.read_at(&mut sector, 0).map_err(|e| StorageError::io("reading the log", e))?;
            if matches!(SegmentHeader::parse(&sector[..read]), Ok(Head::Damaged)) {
                remains.look(segment, true, SECTOR as u64, wanted)?;
            }
        }
        Ok(remains)
    }

    /// The checksum held, so groups that do not decode are a bug or an unlikely accident: an error, not an end.
    fn visit_groups(
        &self,
        visit: &mut impl FnMut(Lsn, &GroupView<'_>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut offset = CHUNK_HEADER;
        while offset < self.bytes.len() {
            let start = Lsn(self.expected.0 + (offset - CHUNK_HEADER) as u64);
            let group = GroupView::parse(&self.bytes[offset..]).map_err(|flaw| corrupt(start, &flaw))?;
            offset += group.byte_len();
            if start >= self.origin.redo {
                visit(start, &group)?;
            } else if start.0 + group.byte_len() as u64 > self.origin.redo.0 {
                return Err(corrupt(start, &Flaw::from("recovery has to start within a group")));
            }
        }
        Ok(())
    }
}

/// The log is corrupt at `lsn`.
pub(crate) fn corrupt(lsn: Lsn, flaw: &Flaw) -> StorageError {
    StorageError::corrupt(PageId::NONE, ObjectId::SYSTEM, Flaw::new(format!("log at {lsn}: {flaw}")))
}
