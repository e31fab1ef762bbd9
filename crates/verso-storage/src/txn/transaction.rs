//! One transaction: what it is, writes and locks. [`statement`] has its statements and what they see, [`savepoint`] undoes
//! some of them, [`ending`] ends it.
//!
//! F5. NO SAVEPOINT: no frames at all; after the first error only reads and rollback are accepted.

mod ending;
mod savepoint;
mod statement;

pub(crate) use ending::LeftBehind;
pub use statement::{HeldView, SnapshotReader};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use smallvec::SmallVec;

use crate::StorageError;
use crate::engine::RoomInLog;
use crate::heap::{ChangedRows, RowCounts, image};
use crate::index::TemporarySpace;
use crate::index::entries::Entries;
use crate::index::unique::{self, Checked, UniqueChecks};
use crate::lock::{CancelHandle, LockOwner, OwnerCore, Seen, TableLockMode, WaitPolicy};
use crate::mini::Mini;
use crate::page::{Lsn, ObjectId, TxnId};
use crate::shared::Shared;
use crate::txn::command::OwnChanges;
use crate::txn::frame::Frame;
use crate::txn::image_store::ImageStore;
use crate::txn::live::LiveTxn;
use crate::txn::ssi::Reader;
use crate::txn::transaction::ending::Logged;
use crate::txn::transaction::savepoint::UnopenedFrame;
use crate::txn::{ReadView, Registration};
use crate::version::entry::{EntryKind, NewEntry, VersionPointer};
use crate::version::store::{Placement, WriterSlot};
use crate::workers::{Job, JobLimits};

/// What a transaction sees of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Everything, also what is not committed.
    ReadUncommitted,
    /// What was committed when the statement began.
    ReadCommitted,
    /// What was committed when the transaction began; first updater wins.
    Snapshot,
    /// As if alone: a snapshot, and 40001 for one of those whose conflicts no order explains.
    Serializable,
}

impl Isolation {
    /// Whether each statement has a snapshot of its own.
    pub fn by_statement(self) -> bool {
        matches!(self, Isolation::ReadUncommitted | Isolation::ReadCommitted)
    }
}

/// How a transaction begins.
#[derive(Clone, Copy, Debug)]
pub struct TxnOptions {
    /// What it sees.
    pub isolation: Isolation,
    /// Whether it keeps frames (F5).
    pub savepoints: bool,
    /// Whether it may only read.
    pub read_only: bool,
}

impl Default for TxnOptions {
    fn default() -> TxnOptions {
        TxnOptions { isolation: Isolation::ReadCommitted, savepoints: true, read_only: false }
    }
}

/// When a commit returns, and who writes the log for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitMode {
    /// After the log is durable. The committer writes the log itself, unless somebody does already.
    Wait,
    /// As `Wait`; while other transactions are writing, it lets them come along first.
    WaitBatch,
    /// At once. The log writer starts at once, too: a crash may take what it has not finished.
    NoWait,
    /// At once. The log writer collects commits for [`WalOptions::nowait_delay`](crate::wal::WalOptions::nowait_delay).
    NoWaitBatch,
}

impl CommitMode {
    /// Whether the commit returns only when it is durable.
    pub fn waits(self) -> bool {
        matches!(self, CommitMode::Wait | CommitMode::WaitBatch)
    }

    /// Whether the log is written for several commits together.
    pub fn batches(self) -> bool {
        matches!(self, CommitMode::WaitBatch | CommitMode::NoWaitBatch)
    }
}

/// Figures of one transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct TxnStatistics {
    /// Memory of undo bitmaps.
    pub undo_bitmap_bytes: u64,
    /// Bytes of undo images, nearly all of them on temporary pages (F3).
    pub undo_image_bytes: u64,
    /// Log written.
    pub log_bytes: u64,
    /// Its first log record.
    pub first_lsn: Lsn,
}

/// A statement under way. It is handed from one statement of the transaction to the next, so it stands in a box.
struct Statement {
    /// Keeps what it sees; none where the transaction's own snapshot does, or somebody else.
    registration: Option<Registration>,
    view: ReadView,
    /// It sees what was committed when it began, whatever the level; so do the statements that begin within it.
    newest: bool,
}

/// A transaction; rolled back when dropped.
pub struct Txn {
    pub(crate) shared: Arc<Shared>,
    options: TxnOptions,
    pub(crate) id: TxnId,
    pub(crate) slot: Option<WriterSlot>,
    /// The transaction's own frame first; none under NO SAVEPOINT.
    pub(crate) frames: Vec<Frame>,
    /// The innermost frame, as long as it holds next to nothing.
    unopened: Option<UnopenedFrame>,
    snapshot: Option<Registration>,
    #[expect(
        clippy::vec_box,
        reason = "one is handed to the next statement where it stands, and is large to move"
    )]
    statements: Vec<Box<Statement>>,
    /// The statement before, its registration left idle for the next one.
    idle: Option<Box<Statement>>,
    must_rollback: bool,
    /// Whoever changes rows in it, though it is READ ONLY, has looked which table they are of.
    writes_temporary: bool,
    ended: bool,
    /// Undone statements and goings back to savepoints.
    undone: u64,
    /// How often it has given all its locks back.
    released: u64,
    /// Its commit is in the log, and not waited for yet.
    logged: Option<Logged>,
    first_lsn: Lsn,
    log_bytes: u64,
    /// Images of all frames (F3).
    pub(crate) images: ImageStore,
    /// What it changes while commands live (T4).
    pub(crate) own_changes: Option<Arc<OwnChanges>>,
    /// For bytes that are put together, so that no page of a bulk change allocates anew.
    pub(crate) scratch: Vec<u8>,
    pub(crate) cancel: Arc<AtomicBool>,
    pub(crate) owner: Arc<OwnerCore>,
    /// The owner of a transaction without a session.
    _alone: Option<LockOwner>,
    /// Table locks it is known to hold, a bit for each mode.
    locked: SmallVec<[(ObjectId, u8); 8]>,
    pub(crate) lock_timeout: Option<Duration>,
    /// As serializable transactions know it.
    pub(crate) reader: Option<Arc<Reader>>,
    /// Names of the snapshots it exported.
    exported: Vec<String>,
    deferrable: bool,
    /// What it does makes room (S6).
    makes_room: bool,
    /// It deletes rows where the file has no room but what is kept for undo (S6).
    deletes_anyway: bool,
    /// Undoing a frame found the disk full: what is left of it stands in this one, to be undone with it.
    half_undone: Option<usize>,
    /// Key in the list of open transactions.
    serial: u64,
    /// What that list says of it.
    live: Arc<LiveTxn>,
    /// Pages that the frames knew of when their bitmaps were last counted, and the bytes of these.
    bitmaps: (usize, u64),
    /// Unique keys to be looked at again.
    pub(crate) unique: UniqueChecks,
    /// Memory for the keys of inserted records.
    pub(crate) index_entries: Entries,
    /// Told how much memory an index takes while it is built.
    pub(crate) gauge: Option<MemoryGauge>,
    /// Told how much memory keys take; that of the session, for all of its transactions.
    key_memory: Option<KeyMemory>,
    /// What it was told last.
    keys_told: u64,
    /// See [`Txn::watch_scans`].
    watched: Option<(ObjectId, Arc<Job>)>,
    /// What its jobs of maintenance may use.
    pub(crate) limits: JobLimits,
    /// Who counts their temporary files.
    pub(crate) temporary: Option<Arc<dyn TemporarySpace>>,
    /// Tables it has changed, and how many of their rows; also those of the session's transactions before, with none.
    changed: SmallVec<[(Arc<ChangedRows>, RowCounts); 4]>,
}

/// Told how many bytes work of a transaction holds, each time that has become another number; its error ends the work.
pub type MemoryGauge = Box<dyn FnMut(u64) -> Result<(), StorageError> + Send>;

/// Told how many bytes a transaction holds for keys, each time that has become another number; its error ends the statement.
pub type KeyMemory = Arc<dyn Fn(u64) -> Result<(), StorageError> + Send + Sync>;

/// Keys of fewer bytes, and changes of fewer, are not told.
const KEYS_TOLD: u64 = 64 << 10;

impl Txn {
    pub(crate) fn new(shared: Arc<Shared>, options: TxnOptions, owner: Option<&LockOwner>) -> Txn {
        let alone = if owner.is_none() { Some(shared.locks.register(0)) } else { None };
        let owner = Arc::clone(&owner.or(alone.as_ref()).expect("one of the two").core);
        let (serial, live) = {
            let mut live = shared.live.lock();
            let serial = live.last_key_value().map_or(0, |(serial, _)| serial + 1);
            let info = Arc::new(LiveTxn::new(options, owner.session()));
            live.insert(serial, Arc::clone(&info));
            (serial, info)
        };
        let frames = if options.savepoints { vec![Frame::default()] } else { Vec::new() };
        Txn {
            shared,
            options,
            id: TxnId::NONE,
            slot: None,
            frames,
            unopened: None,
            snapshot: None,
            statements: Vec::new(),
            idle: None,
            must_rollback: false,
            writes_temporary: false,
            ended: false,
            undone: 0,
            released: 0,
            logged: None,
            first_lsn: Lsn::ZERO,
            log_bytes: 0,
            images: ImageStore::default(),
            own_changes: None,
            scratch: Vec::new(),
            cancel: Arc::clone(&owner.cancel),
            owner,
            _alone: alone,
            locked: SmallVec::new(),
            lock_timeout: None,
            reader: None,
            exported: Vec::new(),
            deferrable: false,
            makes_room: false,
            deletes_anyway: false,
            half_undone: None,
            serial,
            live,
            bitmaps: (0, 0),
            unique: UniqueChecks::default(),
            index_entries: Entries::default(),
            gauge: None,
            key_memory: None,
            keys_told: 0,
            watched: None,
            limits: JobLimits::default(),
            temporary: None,
            changed: SmallVec::new(),
        }
    }

    /// Who is told how much memory the building of indexes takes.
    pub fn set_gauge(&mut self, gauge: Option<MemoryGauge>) {
        self.gauge = gauge;
    }

    /// Whether somebody is told how much memory keys take.
    pub fn has_key_memory(&self) -> bool {
        self.key_memory.is_some()
    }

    /// Who is told how much memory keys take, by this transaction and those that begin again from it: those of unique indexes to be
    /// looked at again, and the many that a value has in an inverted index.
    pub fn set_key_memory(&mut self, memory: KeyMemory) {
        self.key_memory = Some(memory);
    }

    /// Tells how much memory keys take: those to be looked at again, and so many bytes besides for a while.
    ///
    /// # Errors
    /// `NoMemory`.
    #[inline]
    pub(crate) fn hold_keys(&mut self, more: u64) -> Result<(), StorageError> {
        let bytes = self.unique.bytes() + more;
        let told = if bytes < KEYS_TOLD { 0 } else { bytes };
        if told.abs_diff(self.keys_told) < KEYS_TOLD && told > 0 || told == self.keys_told {
            return Ok(());
        }
        self.tell_keys(told)
    }

    #[cold]
    fn tell_keys(&mut self, bytes: u64) -> Result<(), StorageError> {
        if let Some(memory) = &self.key_memory {
            memory(bytes)?;
        }
        self.keys_told = bytes;
        Ok(())
    }

    /// As [`Txn::hold_keys`] where there are fewer of them than before.
    pub(crate) fn let_keys_go(&mut self) {
        // Less is never refused.
        let _ = self.hold_keys(0);
    }

    /// What building indexes may use.
    pub fn job_limits(&self) -> JobLimits {
        self.limits
    }

    /// Whether indexes are built later, all of a table from one scan.
    pub fn build_later(&mut self, later: bool) {
        self.limits.later = later;
    }

    /// What building indexes may use, and who counts its temporary files.
    pub fn set_job_limits(&mut self, limits: JobLimits, temporary: Option<Arc<dyn TemporarySpace>>) {
        (self.limits, self.temporary) = (limits, temporary);
    }

    /// Begins the next transaction of the same session, behind one that has ended by [`Txn::finish_commit`]: as new, with
    /// the memory and the idle snapshot of the last one.
    pub fn begin_again(&mut self, options: TxnOptions) {
        debug_assert!(self.ended && self.logged.is_none(), "begun again before its end");
        self.options = options;
        self.id = TxnId::NONE;
        self.gauge = None;
        self.watched = None;
        if options.savepoints {
            self.frames.push(Frame::default());
        }
        self.must_rollback = false;
        self.writes_temporary = false;
        self.ended = false;
        (self.undone, self.released) = (0, 0);
        (self.first_lsn, self.log_bytes) = (Lsn::ZERO, 0);
        self.lock_timeout = None;
        self.deferrable = false;
        self.makes_room = false;
        (self.deletes_anyway, self.half_undone) = (false, None);
        self.bitmaps = (0, 0);
        self.live.begin(options);
    }

    /// Its number, once it has written.
    pub fn id(&self) -> Option<TxnId> {
        (self.id != TxnId::NONE).then_some(self.id)
    }

    /// Its id, which it gets now if it has written nothing yet.
    ///
    /// # Errors
    /// `ReadOnly` and others of a write.
    pub fn assign_id(&mut self) -> Result<TxnId, StorageError> {
        self.begin_write()
    }

    /// What it sees of others.
    pub fn isolation(&self) -> Isolation {
        self.options.isolation
    }

    /// How often it has undone a statement or gone back to a savepoint: what it saw of its own changes may be gone.
    pub fn undone(&self) -> u64 {
        self.undone
    }

    /// How often it has given all its locks back ([`Txn::release_locks`]).
    pub fn released(&self) -> u64 {
        self.released
    }

    /// Those of these other transactions that have committed what the running statement sees.
    pub fn commits_seen(&self, writers: impl IntoIterator<Item = TxnId>) -> Vec<TxnId> {
        let (_registration, view) = self.view_or_now();
        writers.into_iter().filter(|writer| view.sees_commit_of(*writer)).collect()
    }

    /// Whether it keeps frames.
    pub fn savepoints(&self) -> bool {
        self.options.savepoints
    }

    /// Whether it may only read.
    pub fn is_read_only(&self) -> bool {
        self.options.read_only
    }

    /// Whether only reads and rollback are accepted any more.
    pub fn must_rollback(&self) -> bool {
        self.must_rollback || self.half_undone.is_some()
    }

    /// Whether it has written.
    pub fn has_writes(&self) -> bool {
        self.id != TxnId::NONE
    }

    /// Lets another thread cancel what this one does.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.shared.locks.cancel_handle(&self.owner)
    }

    /// What the running statement sees, for caches of what rarely changes: commits up to this number, and every
    /// transaction below this one. None outside of statements and for views that see more.
    pub fn seen(&self) -> Option<(u64, TxnId)> {
        let view = &self.statements.last()?.view;
        let exact = self.options.isolation != Isolation::ReadUncommitted;
        exact.then(|| (view.number(), view.all_below()))
    }

    /// Figures so far.
    pub fn statistics(&self) -> TxnStatistics {
        TxnStatistics {
            undo_bitmap_bytes: self.frames.iter().map(|frame| frame.bitmap_bytes() as u64).sum(),
            undo_image_bytes: self.images.end(),
            log_bytes: self.log_bytes,
            first_lsn: self.first_lsn,
        }
    }

    /// Whether it accepts changes from now on; those that it has made stay.
    pub fn set_read_only(&mut self, read_only: bool) {
        self.options.read_only = read_only;
    }

    /// From now on rows can be changed though it is READ ONLY: the caller changes those of tables that nobody else sees.
    pub fn let_temporary_writes(&mut self) {
        self.writes_temporary = true;
    }

    /// Whether the transaction, if it is serializable and read-only, waits for a snapshot with which it cannot fail.
    pub fn set_deferrable(&mut self, deferrable: bool) {
        self.deferrable = deferrable;
    }

    /// Whether what it does from now on makes room, as dropping a table does: it may take of the space that is kept for undo.
    pub fn set_makes_room(&mut self, makes_room: bool) {
        self.makes_room = makes_room;
    }

    /// Whether what it does makes room.
    pub(crate) fn makes_room(&self) -> bool {
        self.makes_room
    }

    /// A mini-transaction for a change of rows, which allocates as the transaction may.
    pub(crate) fn begin_mini<'m>(&self, shared: &'m Shared) -> Mini<'m> {
        let mut mini = Mini::begin(shared.core(), self.id);
        if self.makes_room {
            mini.use_reserve();
        } else if self.deletes_anyway {
            mini.use_reserve_of_file();
        }
        mini
    }

    /// After an error of a deletion before which it had logged so much: whether it goes on out of the space of the file that is kept
    /// for undo, of which a quarter is left (S6). That of the log is not for it.
    #[cold]
    pub(crate) fn begins_to_delete_anyway(&mut self, logged: u64, error: &StorageError) -> bool {
        if self.log_bytes != logged || self.deletes_anyway || self.makes_room || error.is_full_log() {
            return false;
        }
        self.deletes_anyway = self.shared.space.has_quarter();
        self.deletes_anyway
    }

    /// Whether it takes of that space.
    pub(crate) fn deletes_anyway(&self) -> bool {
        self.deletes_anyway
    }

    /// A quarter of the space is no longer there, or all rows are deleted.
    pub(crate) fn ends_deleting_anyway(&mut self) {
        self.deletes_anyway = false;
    }

    /// After an error of a change before which it had logged so much: whether the log has room again for another try (R5 of `wal`).
    /// No page is latched.
    #[cold]
    pub(crate) fn has_room_again(&mut self, logged: u64, room: &mut RoomInLog, error: &StorageError) -> bool {
        if self.log_bytes != logged || !error.is_full_log() {
            return false;
        }
        // Images in it would keep it; where there is no room for copies they do.
        let _ = image::leave_log(self);
        room.is_there_after(&Arc::clone(&self.shared), error)
    }

    /// Bytes of log that it has written.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log_bytes
    }

    /// Its next records of a table do not go to the page of its last ones, which is about to be given up.
    pub(crate) fn leave_pages(&mut self, table: ObjectId) {
        if let Some(slot) = &mut self.slot {
            (slot.note, slot.target) = (None, None);
            slot.insert_pages.remove(&table);
        }
    }

    /// The frame that changes go to.
    pub(crate) fn frame(&mut self) -> Option<&mut Frame> {
        self.open_frame();
        self.frames.last_mut()
    }

    /// How deep statements are nested.
    pub(crate) fn statement_depth(&self) -> usize {
        self.statements.len()
    }

    /// Something that cannot be put right: only rollback is accepted from now on.
    pub(crate) fn break_off(&mut self) {
        self.must_rollback = true;
    }

    /// Refuses writes where they are not allowed.
    pub(crate) fn accept_writes(&self) -> Result<(), StorageError> {
        match () {
            () if self.must_rollback() => Err(StorageError::MustRollback),
            () if self.options.read_only && !self.writes_temporary => Err(StorageError::ReadOnly),
            () if self.shared.closed.load(Ordering::Relaxed) => Err(StorageError::Closed),
            () => match self.shared.frozen.get() {
                None => Ok(()),
                Some(why) => Err(StorageError::Frozen { why: Arc::clone(why) }),
            },
        }
    }

    /// Gives the transaction a number and a writer slot at its first write.
    pub(crate) fn begin_write(&mut self) -> Result<TxnId, StorageError> {
        self.open_frame();
        self.begin_insert()
    }

    /// As [`Txn::begin_write`] for who only inserts, and asks for the frame by [`Txn::frame`] or [`Txn::inserted`].
    pub(crate) fn begin_insert(&mut self) -> Result<TxnId, StorageError> {
        self.accept_writes()?;
        if self.id == TxnId::NONE {
            self.take_snapshot()?;
            self.id = self.shared.transactions.begin_write();
            self.owner.begin(self.id);
            if let Some(reader) = &self.reader {
                reader.began_write(self.id);
            }
            self.slot = Some(self.shared.versions.borrow());
            // The running statement must see what it writes through nested statements, which take views of their own.
        }
        image::keep_log_short(self)?;
        Ok(self.id)
    }

    /// Counts a mini-transaction of this transaction.
    pub(crate) fn wrote(&mut self, lsns: (Lsn, Lsn)) {
        if self.first_lsn == Lsn::ZERO {
            self.first_lsn = lsns.0;
            self.live.began_to_log(lsns.0);
        }
        self.log_bytes += lsns.1.0 - lsns.0.0;
    }

    /// Counts changed rows of a table.
    pub(crate) fn changed(&mut self, table: &Arc<ChangedRows>, rows: RowCounts) {
        match self.changed.iter_mut().find(|(known, _)| Arc::ptr_eq(known, table)) {
            Some((_, counted)) => counted.add(rows),
            None => self.changed.push((Arc::clone(table), rows)),
        }
    }

    /// Locks a table until the transaction ends; `false` if it was to be skipped.
    ///
    /// # Errors
    /// `Deadlock`, `Cancelled`, `LockTimeout`, `LockNotAvailable`.
    pub(crate) fn lock_table(
        &mut self,
        object: ObjectId,
        mode: TableLockMode,
        policy: WaitPolicy,
    ) -> Result<bool, StorageError> {
        if self.knows_lock(object, mode) {
            return Ok(true);
        }
        let request = self.request(policy);
        if !self.shared.locks.lock_table(&self.owner, object, mode, request)? {
            return Ok(false);
        }
        match self.locked.iter_mut().find(|(locked, _)| *locked == object) {
            Some((_, modes)) => *modes |= 1 << mode as u8,
            None => self.locked.push((object, 1 << mode as u8)),
        }
        Ok(true)
    }

    /// Locks a name of the catalog until the transaction ends: two that would make things of the same name go one after
    /// the other. Names are told apart by numbers made of them; where two have the same number one more waits.
    ///
    /// # Errors
    /// `Deadlock`, `Cancelled`, `LockTimeout`.
    pub fn lock_name(&mut self, name: u64, mode: TableLockMode) -> Result<(), StorageError> {
        let request = self.request(WaitPolicy::Block);
        self.shared.locks.lock_name(&self.owner, name, mode, request)
    }

    /// Whether it is known to hold this lock on a table.
    #[inline]
    pub fn knows_lock(&self, object: ObjectId, mode: TableLockMode) -> bool {
        self.locked.iter().any(|(locked, modes)| *locked == object && modes >> mode as u8 & 1 == 1)
    }

    /// Where its log begins; 0 where it has logged nothing.
    pub fn first_lsn(&self) -> Lsn {
        self.first_lsn
    }

    /// Whether it has locked the table in any mode.
    pub fn has_locked(&self, object: ObjectId) -> bool {
        self.locked.iter().any(|(locked, _)| *locked == object)
    }

    /// Asks the lock manager again when it wants a lock on the table next time, though it may hold it.
    pub fn forget_lock(&mut self, object: ObjectId) {
        self.locked.retain(|(locked, _)| *locked != object);
    }

    /// Waits until another transaction has ended, or has stepped back from records since `seen`; at once if it has.
    ///
    /// # Errors
    /// `Deadlock`, `Cancelled`, `LockTimeout`.
    pub(crate) fn wait_end(&self, other: TxnId, seen: Seen) -> Result<(), StorageError> {
        let request = self.request(WaitPolicy::Block);
        self.shared.locks.wait_end(&self.owner, (other, seen), request).map(drop)
    }

    /// How long it waits for each lock (`LockTimeout` then); for ever by default.
    pub fn set_lock_timeout(&mut self, timeout: Option<Duration>) {
        self.lock_timeout = timeout;
    }

    /// Whether keys of this unique index may be double until [`Txn::check_unique_now`] or the commit (a deferred
    /// constraint).
    pub fn defer_unique(&mut self, index: ObjectId, deferred: bool) {
        self.unique.defer(index, deferred);
    }

    /// The transaction has dropped an object; an index forbids nothing from now on, unless that is undone.
    pub(crate) fn forbids_nothing(&mut self, object: ObjectId) {
        let frames = self.frames.len();
        self.unique.note_drop(object, frames);
    }

    /// The unique indexes that have got keys which are to be checked at the end of the transaction: others have had them.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn unique_due(&self) -> Result<Vec<ObjectId>, StorageError> {
        if self.unique.is_empty() { Ok(Vec::new()) } else { unique::indexes_due(self) }
    }

    /// Checks the keys that deferred constraints have left unchecked.
    ///
    /// # Errors
    /// `Unique`; `Deadlock`, `Cancelled` while waiting for another transaction.
    pub fn check_unique_now(&mut self) -> Result<(), StorageError> {
        if self.unique.is_empty() { Ok(()) } else { unique::check_due(self, None, Checked::Over) }
    }

    /// The same in the midst of a transaction, which may still go back to a savepoint: the commit looks again.
    ///
    /// # Errors
    /// As [`Txn::check_unique_now`].
    pub fn check_unique_so_far(&mut self) -> Result<(), StorageError> {
        if self.unique.is_empty() { Ok(()) } else { unique::check_due(self, None, Checked::SoFar) }
    }
}

/// Links an entry that names an object instead of records.
///
/// # Errors
/// As the mini-transaction.
pub(crate) fn note_object<'e>(
    shared: &'e Shared,
    txn: &mut Txn,
    mini: &mut Mini<'e>,
    kind: EntryKind,
    object: ObjectId,
) -> Result<VersionPointer, StorageError> {
    let entry = NewEntry {
        kind,
        table: object,
        writer: txn.id,
        page_index: 0,
        slots: crate::heap::slots::Slots::Run { first: 0, count: 0 },
        prior: &[],
        columns: &[],
        column_count: 0,
        purge: kind == EntryKind::DropObject,
        own: false,
        changes_key: false,
    };
    let slot = txn.slot.as_mut().expect("begin_write gave one");
    shared.versions.append(mini, &shared.space, &shared.transactions, slot, Placement::Own, &entry)
}
