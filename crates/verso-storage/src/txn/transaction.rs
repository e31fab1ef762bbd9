//! One transaction: its statements, savepoints, end.
//!
//! F4. Rollback undoes eagerly up to `eager_rollback_records`; nothing is left then and it counts as committed. Beyond,
//!     the transaction is marked dead at once and backed out in the background.
//! F5. NO SAVEPOINT: no frames at all; after the first error only reads and rollback are accepted; a rollback with
//!     writes marks it dead and leaves it to sweep.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use smallvec::SmallVec;

use crate::StorageError;
use crate::heap::{image, undo};
use crate::index::entries::Entries;
use crate::index::unique::{self, UniqueChecks};
use crate::lock::{CancelHandle, LockOwner, OwnerCore, TableLockMode, WaitPolicy};
use crate::maintenance::retire;
use crate::mini::Mini;
use crate::page::{Lsn, ObjectId, TxnId};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::frame::Frame;
use crate::txn::image_store::ImageStore;
use crate::txn::live::LiveTxn;
use crate::txn::prepared;
use crate::txn::ssi::Reader;
use crate::txn::{ReadView, Registration};
use crate::version::entry::{EntryKind, NewEntry, VersionPointer};
use crate::version::store::WriterSlot;
use crate::wal::RecordKind;

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

/// When a commit returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitMode {
    /// After the log is durable.
    Wait,
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

/// What a statement saw, kept beyond its end: scans begun in it stay valid as long as this lives.
#[derive(Debug)]
pub struct HeldView {
    /// Holds the horizon; none where the transaction's own snapshot does.
    registration: Option<Registration>,
    view: ReadView,
}

/// A transaction; rolled back when dropped.
pub struct Txn {
    pub(crate) shared: Arc<Shared>,
    options: TxnOptions,
    pub(crate) id: TxnId,
    pub(crate) slot: Option<WriterSlot>,
    /// The transaction's own frame first; none under NO SAVEPOINT.
    pub(crate) frames: Vec<Frame>,
    snapshot: Option<Registration>,
    statements: Vec<(Option<Registration>, ReadView)>,
    /// Of the statement before, left idle for the next one.
    idle: Option<(Registration, ReadView)>,
    must_rollback: bool,
    ended: bool,
    first_lsn: Lsn,
    log_bytes: u64,
    /// Images of all frames (F3).
    pub(crate) images: ImageStore,
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
}

impl Txn {
    pub(crate) fn new(shared: Arc<Shared>, options: TxnOptions, owner: Option<&LockOwner>) -> Txn {
        let alone = if owner.is_none() { Some(shared.locks.register(0)) } else { None };
        let owner = Arc::clone(&owner.or(alone.as_ref()).expect("one of the two").core);
        let (serial, live) = {
            let mut live = shared.live.lock();
            let serial = live.last_key_value().map_or(0, |(serial, _)| serial + 1);
            let info = Arc::new(LiveTxn::new(options));
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
            snapshot: None,
            statements: Vec::new(),
            idle: None,
            must_rollback: false,
            ended: false,
            first_lsn: Lsn::ZERO,
            log_bytes: 0,
            images: ImageStore::default(),
            scratch: Vec::new(),
            cancel: Arc::clone(&owner.cancel),
            owner,
            _alone: alone,
            locked: SmallVec::new(),
            lock_timeout: None,
            reader: None,
            exported: Vec::new(),
            deferrable: false,
            serial,
            live,
            bitmaps: (0, 0),
            unique: UniqueChecks::default(),
            index_entries: Entries::default(),
        }
    }

    /// Its number, once it has written.
    pub fn id(&self) -> Option<TxnId> {
        (self.id != TxnId::NONE).then_some(self.id)
    }

    /// What it sees of others.
    pub fn isolation(&self) -> Isolation {
        self.options.isolation
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
        self.must_rollback
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
        let (_, view) = self.statements.last()?;
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

    /// Opens a statement: takes the snapshot its level asks for, and a frame. Statements nest.
    ///
    /// # Errors
    /// `Closed`.
    pub fn begin_statement(&mut self) -> Result<(), StorageError> {
        if self.shared.closed.load(Ordering::Relaxed) {
            return Err(StorageError::Closed);
        }
        self.check_serializable()?;
        self.settle()?;
        let (registration, view) = self.take_view()?;
        self.statements.push((registration, view));
        if self.options.savepoints {
            self.frames.push(Frame { statement: true, images_from: self.images.end(), ..Frame::default() });
        }
        Ok(())
    }

    /// As [`Txn::begin_statement`] for a statement that changes rows and tells its client nothing of what it reads. At
    /// READ COMMITTED it does not wait for commits that are in the log already, and sees them (T1-logged).
    ///
    /// # Errors
    /// As [`Txn::begin_statement`].
    pub fn begin_change(&mut self) -> Result<(), StorageError> {
        if self.options.isolation != Isolation::ReadCommitted || disabled(Rule::T1Logged) {
            return self.begin_statement();
        }
        if self.shared.closed.load(Ordering::Relaxed) {
            return Err(StorageError::Closed);
        }
        let statement = self.view_taken(true);
        self.statements.push(statement);
        if self.options.savepoints {
            self.frames.push(Frame { statement: true, images_from: self.images.end(), ..Frame::default() });
        }
        Ok(())
    }

    /// Whether the running statement sees what is logged only.
    pub(crate) fn sees_logged(&self) -> bool {
        self.statements.last().is_some_and(|(_, view)| view.sees_logged())
    }

    /// Waits until everything is durable and published that the transaction may have seen, if it has seen any commit that
    /// was not: before it shows its client anything.
    fn settle(&self) -> Result<(), StorageError> {
        if !self.owner.saw_logged.load(Ordering::Relaxed) || disabled(Rule::T1Settle) {
            return Ok(());
        }
        let shared = &self.shared;
        if let Some(end) = shared.transactions.logged_end() {
            let wal = &shared.core().wal;
            wal.flush(end)?;
            shared.transactions.publish_durable(wal.durable());
        }
        self.owner.saw_logged.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// As [`Txn::begin_statement`], under a view that an earlier statement left.
    ///
    /// # Errors
    /// `Closed`.
    pub fn begin_statement_under(&mut self, held: HeldView) -> Result<(), StorageError> {
        if self.shared.closed.load(Ordering::Relaxed) {
            return Err(StorageError::Closed);
        }
        self.settle()?;
        self.statements.push((held.registration, held.view));
        if self.options.savepoints {
            self.frames.push(Frame { statement: true, images_from: self.images.end(), ..Frame::default() });
        }
        Ok(())
    }

    /// As [`Txn::end_statement`]; the statement's view is kept, so that its scans may go on later.
    ///
    /// # Errors
    /// As [`Txn::end_statement`]; `Closed` without a statement.
    pub fn end_statement_holding(&mut self) -> Result<HeldView, StorageError> {
        self.check_statement()?;
        let (registration, view) = self.statements.pop().ok_or(StorageError::Closed)?;
        // Ended below; the entry that goes is a copy that protects nothing.
        self.statements.push((None, view.clone()));
        self.end_statement()?;
        Ok(HeldView { registration, view })
    }

    /// Fails a serializable transaction that was chosen to give way.
    pub(crate) fn check_serializable(&self) -> Result<(), StorageError> {
        self.reader.as_ref().map_or(Ok(()), |reader| reader.check())
    }

    /// Takes the snapshot of the transaction, where the level has one, if that has not been done.
    fn take_snapshot(&mut self) -> Result<(), StorageError> {
        if self.snapshot.is_some() || self.options.isolation.by_statement() {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        self.snapshot = Some(if self.options.isolation != Isolation::Serializable {
            shared.transactions.register()
        } else if self.options.read_only && self.deferrable {
            shared.ssi.begin_deferrable(&shared.transactions, &self.cancel)?
        } else {
            let (registration, reader) = shared.ssi.begin(&shared.transactions, self.options.read_only);
            self.reader = reader;
            registration
        });
        Ok(())
    }

    /// Whether the transaction, if it is serializable and read-only, waits for a snapshot with which it cannot fail.
    pub fn set_deferrable(&mut self, deferrable: bool) {
        self.deferrable = deferrable;
    }

    /// Lets other transactions see what this one sees: the name of its snapshot, good until this one ends.
    ///
    /// # Errors
    /// As [`Txn::begin_statement`].
    pub fn export_snapshot(&mut self) -> Result<String, StorageError> {
        self.take_snapshot()?;
        let shared = Arc::clone(&self.shared);
        let current = self.statements.last().map(|(_, view)| view.number());
        let number = self.snapshot.as_ref().map(|registration| registration.number).or(current);
        let registration = match number {
            Some(number) => {
                shared.transactions.register_number(number).ok_or(StorageError::SnapshotTooOld)?
            }
            None => shared.transactions.register(),
        };
        let epoch = shared.core().wal.epoch();
        let name = format!("{epoch:08X}-{:016X}-{}", registration.number, self.exported.len() + 1);
        let name = format!("{name}-{}", self.serial);
        shared.exported.lock().insert(name.clone(), registration);
        self.exported.push(name.clone());
        Ok(name)
    }

    /// Takes over an exported snapshot, by its name, or one of this life of the database by its commit number. Only
    /// before anything was read, at the level `Snapshot`.
    ///
    /// # Errors
    /// `NoSuchSnapshot`; `SnapshotTooOld` when the number lies behind the horizon.
    pub fn import_snapshot(&mut self, name: &str) -> Result<(), StorageError> {
        let unknown = || StorageError::NoSuchSnapshot(name.to_owned());
        if self.snapshot.is_some() || self.options.isolation != Isolation::Snapshot {
            return Err(unknown());
        }
        let shared = &self.shared;
        let number = match name.parse::<u64>() {
            Ok(number) => number,
            Err(_) => shared.exported.lock().get(name).map(|snapshot| snapshot.number).ok_or_else(unknown)?,
        };
        let registration = shared.transactions.register_number(number);
        self.snapshot = Some(registration.ok_or(StorageError::SnapshotTooOld)?);
        Ok(())
    }

    fn take_view(&mut self) -> Result<(Option<Registration>, ReadView), StorageError> {
        self.take_snapshot()?;
        Ok(self.view_taken(false))
    }

    fn view_taken(&mut self, changes: bool) -> (Option<Registration>, ReadView) {
        let transactions = &self.shared.transactions;
        let dirty = self.options.isolation == Isolation::ReadUncommitted;
        match &self.snapshot {
            None => {
                let idle = self.idle.take();
                let again = idle.filter(|(idle, view)| idle.take_up(changes) && view.is_dirty() == dirty);
                let (registration, view) = match again {
                    Some((registration, view)) => (registration, view.with_own(self.id)),
                    None => {
                        let registration = transactions.register();
                        let view = ReadView::new(transactions, &registration, self.id, dirty);
                        (registration, view)
                    }
                };
                let view = if changes {
                    view.with_logged(&registration, &self.owner.saw_logged)
                } else {
                    view.without_logged()
                };
                (Some(registration), view)
            }
            Some(registration) => {
                let view = ReadView::new(transactions, registration, self.id, false);
                (None, view.with_reader(self.reader.clone()))
            }
        }
    }

    /// What the current statement sees; outside of a statement a view of now, with what keeps it valid.
    pub(crate) fn view_or_now(&self) -> (Option<Registration>, ReadView) {
        if let Some((_, view)) = self.statements.last()
            && !disabled(Rule::T2)
        {
            return (None, view.clone().with_own(self.id));
        }
        let transactions = &self.shared.transactions;
        if let Some(registration) = &self.snapshot {
            let view = ReadView::new(transactions, registration, self.id, false);
            return (None, view.with_reader(self.reader.clone()));
        }
        let (registration, view) = self.view_of_now();
        (Some(registration), view)
    }

    /// What is committed at this moment.
    pub(crate) fn view_of_now(&self) -> (Registration, ReadView) {
        let transactions = &self.shared.transactions;
        let registration = transactions.register();
        let view = ReadView::new(transactions, &registration, self.id, false);
        let view =
            if self.sees_logged() { view.with_logged(&registration, &self.owner.saw_logged) } else { view };
        (registration, view)
    }

    /// The commit number up to which the statement under way sees others; none outside of statements.
    pub fn snapshot_number(&self) -> Option<u64> {
        self.statements.last().map(|(_, view)| view.number())
    }

    /// The frame that changes go to.
    pub(crate) fn frame(&mut self) -> Option<&mut Frame> {
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

    fn check_statement(&mut self) -> Result<(), StorageError> {
        if self.unique.is_empty() {
            return Ok(());
        }
        let checked = unique::check_due(self, Some(self.statements.len()));
        if checked.is_err() {
            self.abort_statement()?;
        }
        checked
    }

    /// Closes the statement: its frame merges into the one around it.
    ///
    /// # Errors
    /// `Unique` when it has left a unique key double, or what waiting for another writer of the key says: the statement is
    /// undone and closed then. `Serialization`: the transaction was chosen to give way, and the statement is to be aborted.
    pub fn end_statement(&mut self) -> Result<(), StorageError> {
        self.check_serializable()?;
        self.check_statement()?;
        if let Some((Some(registration), view)) = self.statements.pop() {
            registration.leave_idle();
            self.idle = Some((registration, view));
        }
        self.release_down_to_statement();
        if self.id != TxnId::NONE && self.statements.is_empty() {
            self.publish_figures();
        }
        Ok(())
    }

    /// Tells monitoring where the transaction stands. The bitmaps are counted again only when the frames know of many
    /// more pages than last time: counting walks over all of them.
    fn publish_figures(&mut self) {
        let pages = self.frames.iter().map(Frame::pages).sum::<usize>();
        let (counted, _) = self.bitmaps;
        if pages < counted || pages > counted + counted / 8 {
            let bytes = self.frames.iter().map(|frame| frame.bitmap_bytes() as u64).sum();
            self.bitmaps = (pages, bytes);
        }
        let figures = TxnStatistics {
            undo_bitmap_bytes: self.bitmaps.1,
            undo_image_bytes: self.images.end(),
            log_bytes: self.log_bytes,
            first_lsn: self.first_lsn,
        };
        let snapshot = self.snapshot.as_ref().map(|registration| registration.number);
        self.live.publish(self.id, snapshot, &figures);
    }

    fn release_down_to_statement(&mut self) {
        while self.frames.len() > 1 {
            let frame = self.frames.pop().expect("more than one");
            let statement = frame.statement;
            let parent = self.frames.last_mut().expect("the transaction's own frame");
            frame.release_into(parent, &mut self.images);
            if statement {
                break;
            }
        }
    }

    /// Undoes the statement; under NO SAVEPOINT the whole transaction must be rolled back if it has written.
    ///
    /// # Errors
    /// `MustRollback` when undo failed.
    pub fn abort_statement(&mut self) -> Result<(), StorageError> {
        let undone = self.undo_statement();
        // The client's error may tell of what the statement has read.
        let settled = self.settle();
        undone.and(settled)
    }

    fn undo_statement(&mut self) -> Result<(), StorageError> {
        self.unique.abandon(self.statements.len());
        self.statements.pop();
        if !self.options.savepoints {
            self.must_rollback |= self.has_writes() && !disabled(Rule::F5);
            return Ok(());
        }
        let Some(at) = self.frames.iter().rposition(|frame| frame.statement) else { return Ok(()) };
        self.undo_from(at)?;
        self.shared.locks.look_again(&self.owner);
        Ok(())
    }

    /// Undoes and removes the frames from `at` on.
    fn undo_from(&mut self, at: usize) -> Result<(), StorageError> {
        while self.frames.len() > at + 1 {
            let frame = self.frames.pop().expect("more than one");
            frame.release_into(self.frames.last_mut().expect("not the last"), &mut self.images);
        }
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let images_from = frame.images_from;
        let undone = undo::undo_frame(self, frame);
        self.images.truncate(images_from);
        if undone.is_err() {
            self.must_rollback = true;
        }
        undone
    }

    /// Opens a named savepoint.
    ///
    /// # Errors
    /// `MustRollback` in that state; `SavepointsOff` under NO SAVEPOINT.
    pub fn savepoint(&mut self, name: &str) -> Result<(), StorageError> {
        self.accept_writes()?;
        if !self.options.savepoints {
            return Err(StorageError::SavepointsOff);
        }
        self.frames.push(Frame {
            name: Some(name.to_owned()),
            images_from: self.images.end(),
            locks_from: self.owner.next_mark(),
            ..Frame::default()
        });
        Ok(())
    }

    /// Gives all locks of the transaction back. What it has done is undone, and it begins anew, its number kept.
    pub fn release_locks(&mut self) {
        self.locked.clear();
        self.shared.locks.release_since(&self.owner, 0);
    }

    /// The lock on a table stays until the end of the transaction, also past a rollback to a savepoint: for changes of
    /// definitions.
    pub fn pin_lock(&mut self, object: ObjectId) {
        self.shared.locks.pin_table(&self.owner, object);
    }

    fn find_savepoint(&self, name: &str) -> Result<usize, StorageError> {
        let found = self.frames.iter().rposition(|frame| frame.name.as_deref() == Some(name));
        found.ok_or_else(|| StorageError::NoSuchSavepoint(name.to_owned()))
    }

    /// Undoes everything since the savepoint, which stays.
    ///
    /// # Errors
    /// `NoSuchSavepoint`; `MustRollback` when undo failed.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), StorageError> {
        let at = self.find_savepoint(name)?;
        let mark = self.frames[at].locks_from;
        self.undo_from(at)?;
        if !disabled(Rule::T3Savepoint) {
            self.locked.clear();
            self.shared.locks.release_since(&self.owner, mark);
        }
        self.frames.push(Frame {
            name: Some(name.to_owned()),
            images_from: self.images.end(),
            locks_from: self.owner.next_mark(),
            ..Frame::default()
        });
        Ok(())
    }

    /// Forgets the savepoint and those after it; what was done since stays.
    ///
    /// # Errors
    /// `NoSuchSavepoint`.
    pub fn release(&mut self, name: &str) -> Result<(), StorageError> {
        let at = self.find_savepoint(name)?;
        while self.frames.len() > at {
            let frame = self.frames.pop().expect("at least one more");
            let parent = self.frames.last_mut().expect("savepoints stand above the transaction's frame");
            frame.release_into(parent, &mut self.images);
        }
        Ok(())
    }

    /// Refuses writes where they are not allowed.
    pub(crate) fn accept_writes(&self) -> Result<(), StorageError> {
        match () {
            () if self.must_rollback => Err(StorageError::MustRollback),
            () if self.options.read_only => Err(StorageError::ReadOnly),
            () if self.shared.closed.load(Ordering::Relaxed) => Err(StorageError::Closed),
            () => Ok(()),
        }
    }

    /// Gives the transaction a number and a writer slot at its first write.
    pub(crate) fn begin_write(&mut self) -> Result<TxnId, StorageError> {
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
        if self.frames.iter().any(|frame| frame.log.is_some()) {
            image::keep_log_short(self)?;
        }
        Ok(self.id)
    }

    /// Counts a mini-transaction of this transaction.
    pub(crate) fn wrote(&mut self, lsns: (Lsn, Lsn)) {
        if self.first_lsn == Lsn::ZERO {
            self.first_lsn = lsns.0;
        }
        self.log_bytes += lsns.1.0 - lsns.0.0;
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
        let known = self.locked.iter().position(|(locked, _)| *locked == object);
        if known.is_some_and(|at| self.locked[at].1 >> mode as u8 & 1 == 1) {
            return Ok(true);
        }
        let request = self.request(policy);
        if !self.shared.locks.lock_table(&self.owner, object, mode, request)? {
            return Ok(false);
        }
        match known {
            Some(at) => self.locked[at].1 |= 1 << mode as u8,
            None => self.locked.push((object, 1 << mode as u8)),
        }
        Ok(true)
    }

    /// Waits until another transaction has ended; at once if it has.
    ///
    /// # Errors
    /// `Deadlock`, `Cancelled`, `LockTimeout`.
    pub fn wait_end(&self, other: TxnId) -> Result<(), StorageError> {
        let request = self.request(WaitPolicy::Block);
        self.shared.locks.wait_end(&self.owner, other, request).map(drop)
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

    /// Checks the keys that deferred constraints have left unchecked.
    ///
    /// # Errors
    /// `Unique`; `Deadlock`, `Cancelled` while waiting for another transaction.
    pub fn check_unique_now(&mut self) -> Result<(), StorageError> {
        if self.unique.is_empty() { Ok(()) } else { unique::check_due(self, None) }
    }

    /// Makes everything durable and visible.
    ///
    /// # Errors
    /// `MustRollback`; `Poisoned` when the log failed.
    pub fn commit(mut self, _mode: CommitMode) -> Result<(), StorageError> {
        if self.must_rollback {
            self.finish_badly();
            return Err(StorageError::MustRollback);
        }
        if let Err(error) = self.check_unique_now() {
            self.finish_badly();
            return Err(error);
        }
        if let Some(reader) = &self.reader
            && let Err(error) = reader.prepare()
        {
            self.finish_badly();
            return Err(error);
        }
        self.ended = true;
        self.statements.clear();
        self.shared.commits.fetch_add(1, Ordering::Relaxed);
        if self.id == TxnId::NONE {
            let settled = self.settle();
            self.leave(true);
            return settled;
        }
        let shared = Arc::clone(&self.shared);
        let mut mini = Mini::begin(shared.core(), self.id);
        if let Err(error) = mini.state(RecordKind::COMMIT, &[]) {
            // Nothing is logged yet, so it is an ordinary failure.
            self.ended = false;
            self.finish_badly();
            return Err(error);
        }
        let wal = &shared.core().wal;
        let (mut needs, mut dropped) = (Lsn::ZERO, false);
        let logged = mini.commit_with(|_, end| needs = shared.transactions.mark_committing(self.id, end));
        let durable = logged.and_then(|_| {
            if disabled(Rule::T1) {
                shared.transactions.publish_durable(Lsn(u64::MAX));
            }
            // Changes need not wait for the disk, too: whatever they make of this one is durable behind it.
            shared.locks.logged(&self.owner);
            dropped = self.give_back_slot();
            wal.flush(needs)
        });
        if durable.is_err() {
            // In doubt until the restart: it keeps its locks, and nobody waits for them any more.
            shared.locks.fail();
            return durable;
        }
        shared.transactions.publish_durable(wal.durable());
        self.leave(true);
        if dropped && let Err(error) = retire::retire(&shared) {
            tracing::warn!(%error, "pages of what was dropped are free only after the next housekeeping");
        }
        Ok(())
    }

    /// Prepares the transaction under a name: it outlives this handle, its locks and a restart, until
    /// [`Engine::commit_prepared`](crate::Engine::commit_prepared) or
    /// [`Engine::rollback_prepared`](crate::Engine::rollback_prepared).
    ///
    /// # Errors
    /// `PreparedExists`, `MustRollback`, `Serialization`, `Poisoned`; the transaction is rolled back then.
    pub fn prepare(mut self, name: &str, by: &str) -> Result<(), StorageError> {
        if self.must_rollback {
            self.finish_badly();
            return Err(StorageError::MustRollback);
        }
        self.begin_write()?;
        let passed = self.reader.as_ref().map_or(Ok(()), |reader| reader.prepare());
        passed?;
        prepared::prepare(&mut self, name, by)?;
        self.ended = true;
        self.statements.clear();
        if let Some(slot) = self.slot.take() {
            self.shared.versions.give_back(slot, &self.shared.transactions);
        }
        self.id = TxnId::NONE;
        // What it read still matters until it ends: the preparation keeps the reader.
        self.reader = None;
        self.leave(true);
        Ok(())
    }

    /// Gives back where it wrote its versions; whether it dropped an object.
    fn give_back_slot(&mut self) -> bool {
        let slot = self.slot.take();
        slot.is_some_and(|slot| self.shared.versions.give_back(slot, &self.shared.transactions))
    }

    /// Gives back what the transaction held.
    fn leave(&mut self, committed: bool) {
        if let Some(reader) = self.reader.take() {
            reader.ended(committed);
        }
        if !self.exported.is_empty() {
            let mut exported = self.shared.exported.lock();
            self.exported.drain(..).for_each(|name| drop(exported.remove(&name)));
        }
        self.give_back_slot();
        if self.id != TxnId::NONE {
            self.shared.versions.ended(self.id, &self.shared.transactions);
        }
        self.snapshot = None;
        // Its state says already that it ended, so nobody who goes on now sees it active.
        self.shared.locks.end(&self.owner);
        if let Err(error) = self.images.clear(&self.shared) {
            tracing::warn!(%error, txn = self.id.0, "pages of undo images stay allocated until the next start");
        }
    }

    /// Undoes everything (F4, F5).
    ///
    /// # Errors
    /// `Poisoned` when the log failed.
    pub fn rollback(mut self) -> Result<(), StorageError> {
        self.roll_back()
    }

    fn finish_badly(&mut self) {
        if let Err(error) = self.roll_back() {
            tracing::warn!(%error, txn = self.id.0, "rollback failed; recovery will mark the transaction dead");
        }
    }

    fn roll_back(&mut self) -> Result<(), StorageError> {
        if self.ended {
            return Ok(());
        }
        self.ended = true;
        self.statements.clear();
        self.shared.rollbacks.fetch_add(1, Ordering::Relaxed);
        if self.id == TxnId::NONE {
            self.leave(false);
            return Ok(());
        }
        let records: u64 = self.frames.iter().map(|frame| frame.records).sum();
        let eager = self.options.savepoints
            && !self.must_rollback
            && !disabled(Rule::F4)
            && (records <= self.shared.options.eager_rollback_records || disabled(Rule::F4Limit))
            && self.undo_from(0).is_ok();
        let logged = self.log_rollback(eager);
        if logged.is_err() {
            // A restart marks it dead without a record, too.
            self.die();
        }
        self.leave(false);
        match logged {
            // It is rolled back all the same, and backed out when there is room again.
            Err(StorageError::Full { .. }) => Ok(()),
            logged => logged,
        }
    }

    /// Logs the end of a rollback: with nothing left of the transaction, or with everything to be backed out.
    fn log_rollback(&self, clean: bool) -> Result<(), StorageError> {
        let mut mini = Mini::begin(self.shared.core(), self.id);
        mini.use_reserve();
        if clean {
            mini.state(RecordKind::ROLLED_BACK, &[])?;
            mini.commit_with(|_, _| self.shared.transactions.rolled_back_clean(self.id))?;
        } else {
            mini.state(RecordKind::DEAD, &[u8::from(self.is_left_to_sweep())])?;
            mini.commit_with(|_, _| self.die())?;
        }
        Ok(())
    }

    /// F5: without savepoints the dead are left to sweep.
    fn is_left_to_sweep(&self) -> bool {
        !self.options.savepoints && !disabled(Rule::F5Sweep)
    }

    fn die(&self) {
        if self.is_left_to_sweep() {
            self.shared.left_to_sweep.lock().insert(self.id);
        }
        self.shared.transactions.mark_dead(self.id);
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        self.finish_badly();
        self.shared.live.lock().remove(&self.serial);
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
    };
    let slot = txn.slot.as_mut().expect("begin_write gave one");
    shared.versions.append(mini, &shared.space, &shared.transactions, slot, &entry)
}
