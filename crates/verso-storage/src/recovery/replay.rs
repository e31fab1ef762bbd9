//! The two passes over the log.

use std::collections::HashMap;
use std::path::Path;

use smallvec::SmallVec;
use verso_env::{Env, VfsFile};

use super::superblock::Superblock;
use crate::StorageError;
use crate::archive::ArchiveNote;
use crate::buffer::ExclusivePage;
use crate::engine_core::Core;
use crate::page::bytes::checked_u32;
use crate::page::{Flaw, Lsn, ObjectId, PageId, PageKind, TxnId, header};
use crate::space::{UNIT_PAGES, freed_pages};
use crate::wal::{
    GroupView, LogGap, LogGaps, LogImage, LogOrigin, RecordKind, RecordShape, RecordView, corrupt,
};

/// Who keeps state in memory that the log tells of: transactions, sequences, version extents.
pub trait StateRedo {
    /// State as it was at the newest checkpoint; called first, or not at all in a database without one.
    ///
    /// # Errors
    /// A flaw when it makes no sense.
    fn checkpoint(&mut self, state: &[u8]) -> Result<(), Flaw>;

    /// A group of `txn` that ends at `end`, at or behind the checkpoint; called before its state records.
    fn group(&mut self, txn: TxnId, end: Lsn) {
        let _ = (txn, end);
    }

    /// Recovery is at this place of the log, in its first pass or, once more, in its second one.
    ///
    /// # Errors
    /// Ends recovery; the database can be opened again.
    fn reached(&mut self, at: Lsn) -> Result<(), StorageError> {
        let _ = at;
        Ok(())
    }

    /// A state record at or behind the checkpoint, in log order; `end` is the end of its group.
    ///
    /// # Errors
    /// A flaw when it makes no sense.
    fn state(&mut self, kind: RecordKind, txn: TxnId, end: Lsn, payload: &[u8]) -> Result<(), Flaw>;
}

/// What recovery found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The database had been shut down in order.
    pub clean: bool,
    /// Every page is as it was when the database was shut down in order, those that are not logged too.
    pub complete: bool,
    /// The log folder was missing; the file was whole without it.
    pub log_missing: bool,
    /// Where redo started.
    pub redo: Lsn,
    /// Where the log ends.
    pub end: Lsn,
    /// Groups read.
    pub groups: u64,
    /// Page records that were applied.
    pub page_records_applied: u64,
    /// Page records whose effect was on the page already, or that belong to a former life of it.
    pub page_records_skipped: u64,
    /// State records handed on.
    pub state_records: u64,
    /// Torn pages restored from the double-write area.
    pub pages_restored: u32,
    /// A write was under way at the end of the log, or what was there is damaged; nothing tells which.
    pub torn: bool,
    /// What was given up because the log is damaged.
    pub lost: Option<LostLog>,
    /// Pages given up because they could not be brought up to date.
    pub pages_given_up: u64,
}

impl RecoveryReport {
    /// Says in the program's log what an operator has to know.
    pub(super) fn tell(&self) {
        if let Some(lost) = &self.lost {
            tracing::warn!(
                from = lost.from.0,
                upto = lost.upto.0,
                commits = lost.commits,
                pages = lost.pages,
                "the log was damaged: what stands behind the damage is given up, with at least so many commits, and so many \
                 pages that were changed by it are damaged now"
            );
        }
        if self.pages_given_up > 0 {
            tracing::warn!(records = self.pages_given_up, "damaged pages could not be brought up to date");
        }
        if self.torn && self.lost.is_none() {
            tracing::warn!(
                end = self.end.0,
                "the last write to the log is there in part: it was under way when the database stopped; where no power was \
                 lost, the disk has damaged it"
            );
        }
    }
}

/// A part of the log that was given up, and what with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostLog {
    /// The log can be read so far.
    pub from: Lsn,
    /// So far it is known to have gone.
    pub upto: Lsn,
    /// Commits in it, as far as they can be read.
    pub commits: u64,
    /// Pages changed by it: they are damaged now.
    pub pages: u64,
}

/// Where pages start anew (C2): records before do not count.
#[derive(Default)]
struct Lives {
    pages: HashMap<PageId, u64>,
    units: HashMap<u32, u64>,
}

impl Lives {
    fn note(&mut self, at: u64, record: &RecordView<'_>, page_size: usize) -> Result<(), Flaw> {
        match record.kind.shape() {
            Some(RecordShape::Init | RecordShape::Void) => {
                self.pages.insert(record.page, at);
            }
            Some(RecordShape::Page) if record.kind == RecordKind::SPACE_FREE => {
                let (first, pages) = freed_pages(record.page, record.payload, page_size)?;
                if first.0.is_multiple_of(UNIT_PAGES) && pages.is_multiple_of(UNIT_PAGES) {
                    for unit in first.0 / UNIT_PAGES..(first.0 + pages) / UNIT_PAGES {
                        self.units.insert(unit, at);
                    }
                } else {
                    self.pages.extend((first.0..first.0 + pages).map(|page| (PageId(page), at)));
                }
            }
            _ => (),
        }
        Ok(())
    }

    /// Whether a record at `at` belongs to a former life of `page`.
    fn is_over(&self, page: PageId, at: u64) -> bool {
        let newest = self.pages.get(&page).max(self.units.get(&(page.0 / UNIT_PAGES)));
        newest.is_some_and(|newest| at < *newest)
    }
}

/// What the first pass found.
pub(super) struct FoundLog {
    pub image: LogImage,
    /// State of the newest checkpoint.
    pub checkpoint: Option<Vec<u8>>,
    pub log_missing: bool,
    /// Behind its end there was more.
    pub lost: Option<LostLog>,
    /// How far the archive has the log.
    pub note: Option<ArchiveNote>,
    clean: bool,
    complete: bool,
    redo: Lsn,
    lives: Lives,
}

/// First pass.
pub(super) fn find_log(
    env: &Env,
    dir: &Path,
    superblock: &Superblock,
    file: &dyn VfsFile,
    keeper: &mut dyn StateRedo,
    gives_up: bool,
) -> Result<FoundLog, StorageError> {
    let origin = LogOrigin {
        database: superblock.database,
        epoch: superblock.epoch,
        epoch_start: superblock.epoch_start,
        redo: superblock.redo,
        gaps: superblock.gaps,
    };
    let mut lives = Lives::default();
    let mut state = Parts::default();
    // Whether the log goes on behind the checkpoint.
    let mut goes_on = false;
    let note = ArchiveNote::read(&*env.vfs, dir, superblock.database)?;
    let image = LogImage::open(&*env.vfs, dir, origin, |start, group| {
        keeper.reached(start)?;
        for record in group.records() {
            let noted = record.and_then(|record| {
                if record.kind == RecordKind::CHECKPOINT && start >= superblock.checkpoint {
                    state.add(record.payload)?;
                } else if start >= superblock.checkpoint {
                    goes_on = true;
                }
                lives.note(start.0 + record.offset as u64, &record, superblock.page_size as usize)
            });
            noted.map_err(|flaw| corrupt(start, &flaw))?;
        }
        Ok(())
    });
    let (clean, redo) = (superblock.clean, superblock.redo);
    let found = match image {
        Ok(mut image) => {
            if let Some(note) = note {
                image.keep(note.archived, note.sealed);
            }
            let lost = lost(&image, superblock);
            let has_state = state.complete || !superblock.has_checkpoint;
            if has_state && (lost.is_none() || (gives_up && !clean)) {
                let checkpoint = superblock.has_checkpoint.then_some(state.bytes);
                return Ok(FoundLog {
                    image,
                    checkpoint,
                    log_missing: false,
                    lost,
                    note,
                    clean,
                    complete: clean || (superblock.complete && lost.is_none() && !goes_on),
                    redo,
                    lives,
                });
            }
            let (segment, offset) = image.place_of_end();
            let lost = lost.unwrap_or_default();
            StorageError::DamagedLog {
                segment: segment.display().to_string(),
                offset,
                from: image.end().0,
                upto: lost.upto.max(superblock.checkpoint).0,
                commits: lost.commits,
            }
        }
        Err(StorageError::Cancelled) => return Err(StorageError::Cancelled),
        Err(error) => error,
    };
    // A clean file needs no log; but the log of another database is not to be overwritten.
    if !clean {
        return Err(found);
    }
    let image = LogImage::abandon(&*env.vfs, dir, origin, superblock.redo)?;
    let checkpoint = Some(read_state(superblock, file)?);
    let lives = Lives::default();
    Ok(FoundLog {
        image,
        checkpoint,
        log_missing: true,
        lost: None,
        note,
        clean,
        complete: clean,
        redo,
        lives,
    })
}

/// What stood behind the end of the log, if more than a torn tail.
fn lost(image: &LogImage, superblock: &Superblock) -> Option<LostLog> {
    let (remains, end) = (image.remains(), image.end());
    let known = remains.durable.max(superblock.epoch_start);
    let upto = known.max(remains.upto);
    (known > end).then_some(LostLog { from: end, upto, commits: remains.commits, pages: 0 })
}

/// Parts of a checkpoint's state.
#[derive(Default)]
struct Parts {
    bytes: Vec<u8>,
    next: u32,
    complete: bool,
}

impl Parts {
    fn add(&mut self, payload: &[u8]) -> Result<(), Flaw> {
        let (index, count) = (checked_u32(payload, 0)?, checked_u32(payload, 4)?);
        // A later checkpoint, whose superblock never was written, is no state to start from.
        if self.complete {
            return Ok(());
        }
        if index != self.next || index >= count {
            return Err(Flaw::new(format!(
                "part {index} of {count} of a checkpoint follows {} others",
                self.next
            )));
        }
        self.bytes.extend_from_slice(&payload[8..]);
        self.next += 1;
        self.complete = self.next == count;
        Ok(())
    }
}

fn read_state(superblock: &Superblock, file: &dyn VfsFile) -> Result<Vec<u8>, StorageError> {
    let place = superblock.state;
    let mut state = vec![0; place.length as usize];
    let read =
        file.read_at(&mut state, place.offset).map_err(|e| StorageError::io("reading the last state", e))?;
    if read < state.len() || crc32c::crc32c(&state) != place.crc {
        let flaw = "the state behind the last page is damaged, and there is no log";
        return Err(StorageError::corrupt(PageId(0), ObjectId::SYSTEM, flaw));
    }
    Ok(state)
}

impl FoundLog {
    /// Gives up what stands behind the end of the log, and the pages that were changed by it. The log goes on behind
    /// everything that ever was logged, so that no page seems newer than it.
    ///
    /// # Errors
    /// `Full` after too many times; reading the file.
    pub(super) fn give_up(
        &mut self,
        gaps: &mut LogGaps,
        file: &dyn VfsFile,
        page_size: usize,
    ) -> Result<(), StorageError> {
        let Some(lost) = &mut self.lost else { return Ok(()) };
        let (from, known) = (lost.from, *gaps);
        let mut page = vec![0; page_size];
        for number in 1..super::file_pages(file, page_size)? {
            let id = PageId(number);
            let read = file.read_at(&mut page, u64::from(number) * page_size as u64);
            // What cannot be read is no worse for it.
            if read.is_ok_and(|read| read == page_size) && header::verify(&page, id).is_ok() {
                let lsn = header::lsn(&page);
                if lsn > from && !known.have(lsn) {
                    // A map page counts as it is.
                    lost.pages += u64::from(header::kind(&page) != Some(PageKind::SpaceMap));
                    lost.upto = lost.upto.max(lsn);
                }
            }
        }
        if !gaps.add(LogGap { from, to: lost.upto }) {
            return Err(StorageError::Full { what: "another part of the log to be given up".to_owned() });
        }
        self.image.skip_to(lost.upto);
        Ok(())
    }

    /// Second pass.
    pub(super) fn replay(
        &self,
        core: &Core,
        checkpoint: Lsn,
        keeper: &mut dyn StateRedo,
        gives_up: bool,
    ) -> Result<RecoveryReport, StorageError> {
        let mut report = RecoveryReport {
            clean: self.clean,
            complete: self.complete,
            log_missing: self.log_missing,
            redo: self.redo,
            end: self.image.end(),
            torn: self.image.remains().torn,
            lost: self.lost,
            ..RecoveryReport::default()
        };
        if let Some(state) = &self.checkpoint {
            keeper.checkpoint(state).map_err(|flaw| corrupt(checkpoint, &flaw))?;
        }
        self.image.scan(|start, group| {
            report.groups += 1;
            keeper.reached(start)?;
            self.replay_pages(core, start, group, gives_up, &mut report)?;
            if start >= checkpoint {
                hand_on(start, group, keeper, &mut report).map_err(|flaw| corrupt(start, &flaw))?;
            }
            Ok(())
        })?;
        Ok(report)
    }

    fn replay_pages(
        &self,
        core: &Core,
        start: Lsn,
        group: &GroupView<'_>,
        gives_up: bool,
        report: &mut RecoveryReport,
    ) -> Result<(), StorageError> {
        let end = Lsn(start.0 + group.byte_len() as u64);
        // The group's pages, latched to its end; `None` for those that have it already.
        let mut pages: SmallVec<[(PageId, Option<ExclusivePage<'_>>); 8]> = SmallVec::new();
        for record in group.records() {
            let record = record.map_err(|flaw| corrupt(start, &flaw))?;
            let shape = record.kind.shape();
            if record.page.is_none() || shape == Some(RecordShape::Void) {
                continue;
            }
            if self.lives.is_over(record.page, start.0 + record.offset as u64) {
                report.page_records_skipped += 1;
                continue;
            }
            let index = match pages.iter().position(|(id, _)| *id == record.page) {
                Some(index) => index,
                None => {
                    let page = match shape {
                        Some(RecordShape::Init) => Some(core.pool.create(record.page)?),
                        _ => match core.pool.write(record.page) {
                            Err(StorageError::Corrupt { .. }) if gives_up => {
                                report.pages_given_up += 1;
                                None
                            }
                            page => Some(page?).filter(|page| page.lsn() < end),
                        },
                    };
                    pages.push((record.page, page));
                    pages.len() - 1
                }
            };
            let Some(page) = &mut pages[index].1 else {
                report.page_records_skipped += 1;
                continue;
            };
            core.redo.redo(record.kind, page, record.payload).map_err(|flaw| {
                let owner = header::owner(page);
                StorageError::corrupt(
                    record.page,
                    owner,
                    format!("redo of {} at {start}: {flaw}", record.kind),
                )
            })?;
            report.page_records_applied += 1;
        }
        for (_, page) in &mut pages {
            if let Some(page) = page {
                page.set_lsn(start, end);
            }
        }
        Ok(())
    }
}

fn hand_on(
    start: Lsn,
    group: &GroupView<'_>,
    keeper: &mut dyn StateRedo,
    report: &mut RecoveryReport,
) -> Result<(), Flaw> {
    let end = Lsn(start.0 + group.byte_len() as u64);
    keeper.group(group.txn(), end);
    for record in group.records() {
        let record = record?;
        if record.page.is_none() && record.kind != RecordKind::CHECKPOINT {
            keeper.state(record.kind, group.txn(), end, record.payload)?;
            report.state_records += 1;
        }
    }
    Ok(())
}
