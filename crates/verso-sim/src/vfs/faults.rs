//! What shall go wrong, what was done, and how often.

use std::io;
use std::path::{Path, PathBuf};

/// What shall go wrong on a disk. Every number counts from 1 and from the plan's installation; each fault happens
/// once. The default plan is a healthy disk.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    /// Only files whose path ends so are counted and fail; the others are healthy. `power_off_at_op` counts all.
    pub only_paths_ending: Option<String>,
    /// The nth write fails, after some of its sectors.
    pub fail_write: Option<u64>,
    /// From the nth write on writes find no room, each after some of its sectors; lasting.
    pub full_from_write: Option<u64>,
    /// The nth `sync_data` fails (see D4).
    pub fail_sync: Option<u64>,
    /// The nth read fails.
    pub fail_read: Option<u64>,
    /// The nth `set_len` or `preallocate` fails.
    pub fail_resize: Option<u64>,
    /// The nth operation on names (create, remove, rename, `create_dir_all`, `sync_dir`) fails.
    pub fail_name_change: Option<u64>,
    /// The nth read returns fewer bytes than there are.
    pub short_read: Option<u64>,
    /// One bit of what the nth read returns is flipped.
    pub flip_bit_in_read: Option<u64>,
    /// The power goes off in the nth operation that changes the disk; a write is then done in part.
    pub power_off_at_op: Option<u64>,
    /// The disk is full at so many bytes; lasting.
    pub capacity_bytes: Option<u64>,
}

/// Kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// Opening a file that is there.
    Open,
    /// Creating or cutting a file by opening it.
    Create,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// `sync_data`.
    Sync,
    /// `set_len`.
    SetLen,
    /// `preallocate`.
    Preallocate,
    /// Removing a name.
    Remove,
    /// Renaming.
    Rename,
    /// Creating a directory.
    CreateDir,
    /// `sync_dir`.
    SyncDir,
}

/// One operation, as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What was done.
    pub kind: OperationKind,
    /// The file or directory.
    pub path: PathBuf,
    /// Where in the file; 0 if that has no meaning.
    pub offset: u64,
    /// How many bytes; 0 if that has no meaning.
    pub len: u64,
}

/// Counters of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Reads.
    pub reads: u64,
    /// Bytes asked for by reads.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// File syncs.
    pub syncs: u64,
    /// Directory syncs.
    pub dir_syncs: u64,
    /// Names created, renamed or removed.
    pub name_changes: u64,
    /// Faults that happened.
    pub faults: u64,
}

/// What shall happen to an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Proceed,
    Fail,
    ShortRead,
    FlipBit,
    PowerOff,
    NoRoom,
}

/// The plan and how far it has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    plan: FaultPlan,
    pub(super) stats: DiskStats,
    pub(super) trace: Option<Vec<Operation>>,
    changes: u64,
    reads: u64,
    writes: u64,
    syncs: u64,
    resizes: u64,
    name_changes: u64,
}

impl Faults {
    pub(super) fn install(&mut self, plan: FaultPlan) {
        let stats = self.stats;
        let trace = self.trace.take();
        *self = Faults { plan, stats, trace, ..Faults::default() };
    }

    pub(super) fn change_count(&self) -> u64 {
        self.changes
    }

    pub(super) fn capacity_bytes(&self) -> Option<u64> {
        self.plan.capacity_bytes
    }

    /// Counts, records and judges an operation.
    pub(super) fn judge(&mut self, kind: OperationKind, path: &Path, offset: u64, len: u64) -> Verdict {
        if let Some(trace) = &mut self.trace {
            trace.push(Operation { kind, path: path.to_owned(), offset, len });
        }
        self.count(kind, len);
        if !matches!(kind, OperationKind::Read | OperationKind::Open) {
            self.changes += 1;
            if self.plan.power_off_at_op == Some(self.changes) {
                self.stats.faults += 1;
                return Verdict::PowerOff;
            }
        }
        let verdict = if self.is_concerned(path) { self.planned(kind) } else { Verdict::Proceed };
        if verdict != Verdict::Proceed {
            self.stats.faults += 1;
        }
        verdict
    }

    fn is_concerned(&self, path: &Path) -> bool {
        match &self.plan.only_paths_ending {
            None => true,
            Some(ending) => path.to_string_lossy().ends_with(ending.as_str()),
        }
    }

    fn planned(&mut self, kind: OperationKind) -> Verdict {
        use OperationKind as K;
        let (count, fail_at) = match kind {
            K::Open => return Verdict::Proceed,
            K::Read => (&mut self.reads, self.plan.fail_read),
            K::Write => (&mut self.writes, self.plan.fail_write),
            K::Sync => (&mut self.syncs, self.plan.fail_sync),
            K::SetLen | K::Preallocate => (&mut self.resizes, self.plan.fail_resize),
            K::Create | K::Remove | K::Rename | K::CreateDir | K::SyncDir => {
                (&mut self.name_changes, self.plan.fail_name_change)
            }
        };
        *count += 1;
        let now = Some(*count);
        if fail_at == now {
            Verdict::Fail
        } else if kind == K::Write && self.plan.full_from_write.is_some_and(|first| first <= *count) {
            Verdict::NoRoom
        } else if kind == K::Read && self.plan.short_read == now {
            Verdict::ShortRead
        } else if kind == K::Read && self.plan.flip_bit_in_read == now {
            Verdict::FlipBit
        } else {
            Verdict::Proceed
        }
    }

    fn count(&mut self, kind: OperationKind, len: u64) {
        use OperationKind as K;
        let stats = &mut self.stats;
        match kind {
            K::Open | K::SetLen | K::Preallocate => {}
            K::Read => {
                stats.reads += 1;
                stats.read_bytes += len;
            }
            K::Write => {
                stats.writes += 1;
                stats.written_bytes += len;
            }
            K::Sync => stats.syncs += 1,
            K::SyncDir => stats.dir_syncs += 1,
            K::Create | K::Remove | K::Rename | K::CreateDir => stats.name_changes += 1,
        }
    }
}

/// The error of an operation that the plan lets fail.
pub(super) fn planned_failure(kind: OperationKind, path: &Path) -> io::Error {
    io::Error::other(format!("simulated failure: {kind:?} of {}", path.display()))
}

/// The error of every operation without power.
pub(super) fn power_is_off() -> io::Error {
    io::Error::other("simulated power cut")
}
