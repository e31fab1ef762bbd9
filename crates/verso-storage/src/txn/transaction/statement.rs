//! Statements of a transaction, and what they see: a snapshot of their own or the transaction's.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Isolation, Statement, Txn, TxnStatistics};
use crate::StorageError;
use crate::index::unique::{self, Checked};
use crate::page::{ObjectId, RecordId, TxnId};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::command::OwnChanges;
use crate::txn::frame::Frame;
use crate::txn::{ReadView, Registration, TxnState};
use crate::workers::Job;

/// Reads as a statement of a transaction does, on any thread, as long as the statement lasts.
#[derive(Clone)]
pub struct SnapshotReader {
    pub(crate) shared: Arc<Shared>,
    pub(crate) view: ReadView,
    /// Keeps the versions outside of a statement.
    pub(crate) registration: Option<Arc<Registration>>,
    pub(crate) cancel: Arc<AtomicBool>,
    /// The job that counts the pages that scans of this table read.
    pub(crate) watched: Option<(ObjectId, Arc<Job>)>,
}

/// What a statement saw, kept beyond its end: scans begun in it stay valid as long as this lives.
#[derive(Debug)]
pub struct HeldView {
    /// Holds the horizon; none where the transaction's own snapshot does.
    registration: Option<Registration>,
    view: ReadView,
}

impl HeldView {
    /// What it sees.
    pub(crate) fn view(&self) -> &ReadView {
        &self.view
    }

    /// Whether nobody has committed since an earlier moment.
    #[must_use]
    pub fn sees_no_more_than(&self, earlier: &HeldView) -> bool {
        self.view.sees_no_more_than(&earlier.view)
    }
}

impl Statement {
    /// Whether the next statement may see what this one saw, which is idle ([`Registration::take_up`]).
    fn take_up(&self, changes: bool) -> bool {
        self.registration.as_ref().is_some_and(|registration| registration.take_up(changes))
    }
}

impl Txn {
    /// Opens a statement: takes the snapshot its level asks for, and a frame. Statements nest.
    ///
    /// # Errors
    /// `Closed`.
    pub fn begin_statement(&mut self) -> Result<(), StorageError> {
        self.may_begin()?;
        self.take_snapshot()?;
        let statement = self.statement_begun(false);
        self.statements.push(statement);
        self.open_statement_frame();
        Ok(())
    }

    /// As [`Txn::begin_statement`] for a statement that reads no rows: where the transaction has no snapshot yet, it has none
    /// afterwards either, so that the first one that reads sees what was committed while this one waited.
    ///
    /// # Errors
    /// As [`Txn::begin_statement`].
    pub fn begin_rowless(&mut self) -> Result<(), StorageError> {
        self.may_begin()?;
        let statement = self.statement_begun(false);
        self.statements.push(statement);
        self.open_statement_frame();
        Ok(())
    }

    /// As [`Txn::begin_statement`] for a statement that is about definitions as they are now, and not about rows: it sees what is
    /// committed when it begins, whatever the level, and so do the statements within it. The transaction has its snapshot afterwards
    /// as after any other statement.
    ///
    /// # Errors
    /// As [`Txn::begin_statement`].
    pub fn begin_newest(&mut self) -> Result<(), StorageError> {
        self.may_begin()?;
        self.take_snapshot()?;
        self.begin_seeing_newest();
        Ok(())
    }

    /// The same for a statement that leaves it to others to take the transaction's snapshot, as [`Txn::begin_rowless`] does.
    ///
    /// # Errors
    /// As [`Txn::begin_statement`].
    pub fn begin_newest_rowless(&mut self) -> Result<(), StorageError> {
        self.may_begin()?;
        self.begin_seeing_newest();
        Ok(())
    }

    fn begin_seeing_newest(&mut self) {
        let mut statement = self.statement_of_now(false);
        statement.newest = true;
        self.statements.push(statement);
        self.open_statement_frame();
    }

    /// What is looked at before a statement begins that shows its client what it reads.
    fn may_begin(&self) -> Result<(), StorageError> {
        if self.shared.closed.load(Ordering::Relaxed) {
            return Err(StorageError::Closed);
        }
        self.check_serializable()?;
        self.settle()
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
        let statement = self.statement_begun(true);
        self.statements.push(statement);
        self.open_statement_frame();
        Ok(())
    }

    /// As [`Txn::begin_change`] for a statement that adds a row and reads nothing: it takes no snapshot. Where somebody has
    /// the same key, the check takes one. The number that a snapshot of now would have; `None` where the statement has to
    /// begin like any other, which is so at other levels than READ COMMITTED and within other statements.
    ///
    /// # Errors
    /// As [`Txn::begin_statement`].
    #[inline]
    pub fn begin_row(&mut self) -> Result<Option<u64>, StorageError> {
        let plain = self.options.isolation == Isolation::ReadCommitted && self.statements.is_empty();
        if !plain || !self.unique.is_empty() {
            return Ok(None);
        }
        if self.shared.closed.load(Ordering::Relaxed) {
            return Err(StorageError::Closed);
        }
        self.open_statement_frame();
        Ok(Some(self.shared.transactions.counter()))
    }

    /// Whether the running statement sees what is logged only.
    pub(crate) fn sees_logged(&self) -> bool {
        self.statements.last().is_some_and(|statement| statement.view.sees_logged())
    }

    /// Waits until everything is durable and published that the transaction may have seen, if it has seen any commit that
    /// was not: before it shows its client anything.
    pub(super) fn settle(&self) -> Result<(), StorageError> {
        if !self.owner.saw_logged.load(Ordering::Relaxed) || disabled(Rule::T1Settle) {
            return Ok(());
        }
        let shared = &self.shared;
        if let Some(end) = shared.transactions.logged_end() {
            let wal = &shared.core().wal;
            wal.flush(end)?;
            shared.publish(wal.durable());
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
        let HeldView { registration, view } = held;
        self.statements.push(Box::new(Statement { registration, view, newest: false }));
        self.open_statement_frame();
        Ok(())
    }

    /// As [`Txn::begin_statement`], but the statement sees what is committed at this moment, whatever the level: for changes
    /// of definitions, which are about all rows that there are.
    ///
    /// # Errors
    /// As [`Txn::begin_statement`].
    pub fn begin_statement_now(&mut self) -> Result<(), StorageError> {
        self.begin_statement()?;
        if !self.options.isolation.by_statement()
            && let Some(statement) = self.statements.pop()
        {
            let (registration, view) = self.view_of_now();
            drop(statement);
            self.statements.push(Box::new(Statement {
                registration: Some(registration),
                view,
                newest: false,
            }));
        }
        Ok(())
    }

    /// As [`Txn::end_statement`]; the statement's view is kept, so that its scans may go on later.
    ///
    /// # Errors
    /// As [`Txn::end_statement`]; `Closed` without a statement.
    pub fn end_statement_holding(&mut self) -> Result<HeldView, StorageError> {
        self.check_statement()?;
        let statement = self.statements.last_mut().ok_or(StorageError::Closed)?;
        // What is ended below protects nothing any more.
        let held = HeldView { registration: statement.registration.take(), view: statement.view.clone() };
        self.end_statement()?;
        Ok(held)
    }

    /// The state that a commit number names, for [`Txn::enter_past`]; it stays as long as what is returned lives.
    ///
    /// # Errors
    /// `SnapshotTooOld` when versions that it needs may be gone, and for a number that was not given yet.
    pub fn past(&self, number: u64) -> Result<HeldView, StorageError> {
        let transactions = &self.shared.transactions;
        let registration = transactions.register_number(number).ok_or(StorageError::SnapshotTooOld)?;
        let view = ReadView::of_past(transactions, &registration);
        Ok(HeldView { registration: Some(registration), view })
    }

    /// What is committed at this moment, for [`Txn::enter_past`].
    #[must_use]
    pub fn hold_now(&self) -> HeldView {
        let (registration, view) = self.view_of_now();
        HeldView { registration: Some(registration), view }
    }

    /// What is read from now on until [`Txn::leave_past`] is that state, without the transaction's own changes; scans that are
    /// begun read it to their end. Nothing is changed or locked in between.
    pub fn enter_past(&mut self, past: &HeldView) {
        let view = past.view.clone();
        self.statements.push(Box::new(Statement { registration: None, view, newest: false }));
    }

    /// Ends [`Txn::enter_past`].
    pub fn leave_past(&mut self) {
        self.statements.pop();
    }

    /// Lets the running statement see what the one around it sees, and the other way round; a second call puts that back.
    pub fn exchange_views(&mut self) {
        if let [.., outer, inner] = self.statements.as_mut_slice() {
            std::mem::swap(outer, inner);
        }
    }

    /// The running statement does not see what it changes from now on, nor what the statements change that functions and triggers
    /// run for it (T4); `false`, and nothing happens, where it has begun a command before, or there is no statement.
    pub fn begin_command(&mut self) -> bool {
        let Txn { statements, own_changes, .. } = self;
        let statement = statements.last_mut().filter(|statement| statement.view.command().is_none());
        let Some(statement) = statement else { return false };
        let changes = own_changes.get_or_insert_with(|| Arc::new(OwnChanges::default()));
        statement.view.set_command(Some(changes.begin()));
        true
    }

    /// The running statement sees all that the transaction has changed, as before [`Txn::begin_command`].
    pub fn end_command(&mut self) {
        if let Some(statement) = self.statements.last_mut() {
            statement.view.set_command(None);
        }
    }

    /// The running statement leaves out what the one around it leaves out of the transaction's own changes.
    pub fn share_command(&mut self) {
        if let [.., outer, inner] = self.statements.as_mut_slice() {
            inner.view.set_command(outer.view.command().cloned());
        }
    }

    /// Whether the running statement has begun a command.
    #[must_use]
    pub fn in_command(&self) -> bool {
        self.statements.last().is_some_and(|statement| statement.view.command().is_some())
    }

    /// Whether a record was changed since the command of the running statement began: by what it has called, as no statement
    /// changes a record twice. What was undone does not count.
    #[must_use]
    pub fn has_changed(&self, table: ObjectId, record: RecordId) -> bool {
        let command = self.statements.last().and_then(|statement| statement.view.command());
        match command {
            None => false,
            // Nothing is undone.
            Some(command) if !self.options.savepoints => command.hides(table, record),
            Some(_) => self.frame_has(table, record),
        }
    }

    /// The same since the command of the statement around the running one began, which has changed nothing yet.
    #[must_use]
    pub fn has_changed_around(&self, table: ObjectId, record: RecordId) -> bool {
        let [.., outer, _] = self.statements.as_slice() else { return false };
        match outer.view.command() {
            None => false,
            Some(command) if !self.options.savepoints => command.hides(table, record),
            Some(_) => self.frame_around_has(table, record),
        }
    }

    /// Has the memory accounted for that commands hold and that grows with what is changed, where it has grown: `reserve` is told
    /// how much it is. What that returns goes with the last command.
    ///
    /// # Errors
    /// Those of `reserve`.
    pub fn account_command<E>(
        &self,
        reserve: impl FnOnce(u64) -> Result<Box<dyn Any + Send>, E>,
    ) -> Result<(), E> {
        self.own_changes.as_ref().map_or(Ok(()), |changes| changes.account(reserve))
    }

    /// Forgets what was kept for commands where none lives any more, or the transaction has ended.
    pub(super) fn forget_own_changes(&mut self, ended: bool) {
        if let Some(changes) = self.own_changes.take_if(|changes| ended || changes.is_idle())
            && let Err(error) = changes.clear(&self.shared)
        {
            tracing::warn!(%error, txn = self.id.0, "pages of images stay allocated until the next start");
        }
    }

    /// Fails a serializable transaction that was chosen to give way.
    pub(crate) fn check_serializable(&self) -> Result<(), StorageError> {
        self.reader.as_ref().map_or(Ok(()), |reader| reader.check())
    }

    /// Takes the snapshot of the transaction, where the level has one, if that has not been done.
    pub(super) fn take_snapshot(&mut self) -> Result<(), StorageError> {
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

    /// Lets other transactions see what this one sees: the name of its snapshot, good until this one ends.
    ///
    /// # Errors
    /// As [`Txn::begin_statement`].
    pub fn export_snapshot(&mut self) -> Result<String, StorageError> {
        self.take_snapshot()?;
        let shared = Arc::clone(&self.shared);
        let current = self.snapshot_number();
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

    /// Whether it has exported a snapshot.
    pub fn has_exported(&self) -> bool {
        !self.exported.is_empty()
    }

    /// The first number of a transaction that the running statement cannot see, and those below it whose writers it does
    /// not see: they were not committed when its view was taken. What was rolled back is in neither.
    pub fn unseen(&self) -> (TxnId, Vec<TxnId>) {
        let transactions = &self.shared.transactions;
        let next = transactions.markers().next;
        let view = self.statements.last().map(|statement| &statement.view);
        let Some(view) = view else { return (next, transactions.active()) };
        let is_unseen = |id: &TxnId| {
            Some(*id) == self.id() || !view.visible(*id) && transactions.state(*id) != TxnState::Dead
        };
        let mut unseen: Vec<TxnId> = (view.all_below().0..next.0).map(TxnId).filter(is_unseen).collect();
        let mut end = next;
        while unseen.last().is_some_and(|last| last.0 + 1 == end.0) {
            end = unseen.pop().expect("looked at");
        }
        (end, unseen)
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

    /// A statement that sees what its level says, or the newest within one that does; the snapshot of the transaction is there, if
    /// it has one.
    fn statement_begun(&mut self, changes: bool) -> Box<Statement> {
        let newest = self.statements.last().is_some_and(|around| around.newest);
        if let Some(registration) = self.snapshot.as_ref().filter(|_| !newest) {
            let view = ReadView::new(&self.shared.transactions, registration, self.id, false);
            let view = view.with_reader(self.reader.clone());
            return Box::new(Statement { registration: None, view, newest });
        }
        let mut statement = self.statement_of_now(changes);
        statement.newest = newest;
        statement
    }

    /// A statement that sees what is committed at this moment.
    fn statement_of_now(&mut self, changes: bool) -> Box<Statement> {
        let transactions = &self.shared.transactions;
        let dirty = self.options.isolation == Isolation::ReadUncommitted;
        let mut statement = match self.idle.take() {
            Some(idle) if idle.view.is_dirty() == dirty && idle.take_up(changes) => idle,
            idle => {
                let registration = match idle.and_then(|idle| idle.registration) {
                    Some(mut idle) => {
                        transactions.register_again(&mut idle);
                        idle
                    }
                    None => transactions.register(),
                };
                let view = ReadView::new(transactions, &registration, self.id, dirty);
                Box::new(Statement { registration: Some(registration), view, newest: false })
            }
        };
        let Statement { registration, view, .. } = &mut *statement;
        view.see_own(self.id);
        match registration {
            Some(registration) if changes => view.see_logged(registration, &self.owner.saw_logged),
            _ => view.see_published(),
        }
        statement
    }

    /// What reads as the running statement does, on any thread.
    pub fn snapshot_reader(&self) -> SnapshotReader {
        let (registration, view) = self.view_or_now();
        SnapshotReader {
            shared: Arc::clone(&self.shared),
            view,
            registration: registration.map(Arc::new),
            cancel: Arc::clone(&self.cancel),
            watched: self.watched.clone(),
        }
    }

    /// Scans of this table that begin from now on tell the job how many pages they have read.
    pub fn watch_scans(&mut self, watched: Option<(ObjectId, Arc<Job>)>) {
        self.watched = watched;
    }

    /// What the current statement sees; outside of a statement a view of now, with what keeps it valid.
    pub(crate) fn view_or_now(&self) -> (Option<Registration>, ReadView) {
        if let Some(statement) = self.statements.last()
            && !disabled(Rule::T2)
        {
            return (None, statement.view.clone().with_own(self.id));
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
        self.statements.last().map(|statement| statement.view.number())
    }

    fn check_statement(&mut self) -> Result<(), StorageError> {
        let checked = self.check_keys();
        if checked.is_err() {
            self.abort_statement()?;
        }
        checked
    }

    /// Whether the statement has left a unique key double: what [`Txn::end_statement`] looks at, too, but the statement stays open.
    ///
    /// # Errors
    /// `Unique`, `Excluded`, or what waiting for another writer of the key says.
    pub fn check_keys(&mut self) -> Result<(), StorageError> {
        if self.unique.is_empty() {
            return Ok(());
        }
        unique::check_due(self, Some(self.statements.len()), Checked::Over)
    }

    /// Closes the statement: its frame merges into the one around it.
    ///
    /// # Errors
    /// `Unique` when it has left a unique key double, or what waiting for another writer of the key says: the statement is
    /// undone and closed then. `Serialization`: the transaction was chosen to give way, and the statement is to be aborted.
    pub fn end_statement(&mut self) -> Result<(), StorageError> {
        self.check_serializable()?;
        self.check_statement()?;
        if let Some(mut statement) = self.statements.pop()
            && let Some(registration) = &statement.registration
        {
            registration.leave_idle();
            statement.view.set_command(None);
            self.idle = Some(statement);
        }
        self.forget_own_changes(false);
        self.release_down_to_statement();
        if self.id != TxnId::NONE && self.statements.is_empty() {
            self.publish_figures();
        }
        Ok(())
    }

    /// Tells monitoring where the transaction stands. The bitmaps are counted again only when the frames know of many
    /// more pages than last time: counting walks over all of them.
    fn publish_figures(&mut self) {
        let pages = self.frames.last().map_or(0, Frame::pages_in_all);
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
        if self.release_unopened() {
            return;
        }
        if self.frames.len() > 1 {
            let statement = self.frames.iter().rposition(|frame| frame.statement);
            self.release_from(statement.unwrap_or(1).max(1));
        }
    }
}
