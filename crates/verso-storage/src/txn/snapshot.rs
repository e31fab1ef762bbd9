//! Snapshots: one number says what a statement sees.
//!
//! V6. A snapshot is registered as long as anybody reads under it, so the horizon cannot pass it: the counter is read
//!     and the registration made under the one mutex under which the counter moves.
//! A statement leaves its registration *idle*: whoever computes the horizon takes it away. If nobody has, and nothing was
//! committed since, the transaction's next statement takes it up again, without the mutex and anything else that other
//! threads write.
//! S1. The view of a change sees commits that are logged only, too (T1-logged), and tells its transaction when that made
//!     a difference. The numbers up to one are a state that was there at once, whether they are published or not.
//! A version is visible if its writer's commit number is at or below the snapshot's, or the writer is the reader.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::command::Command;
use super::inventory::{ACTIVE, Directory, TxnState, logged_number};
use super::ssi::Reader;
use super::table::Transactions;
use crate::page::TxnId;
use crate::rules::{Rule, disabled};

/// A registered snapshot; dropping it lets the horizon go on.
pub struct Registration {
    /// Commits up to this number are seen.
    pub number: u64,
    /// And up to this one by the view of a change (S1).
    pub(super) newest: u64,
    /// Every transaction below is committed and visible to this snapshot.
    pub all_below: TxnId,
    /// The oldest active transaction when the snapshot was taken.
    pub oldest_active: TxnId,
    pub(super) key: u64,
    /// Shared with the list of registrations.
    pub(super) hold: Arc<Hold>,
    pub(super) transactions: Arc<Transactions>,
}

/// Whether a registration holds the horizon; each on cache lines of its own, for it changes with every statement.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Hold {
    state: AtomicU8,
    /// Whether it needs every version since, not only those that it reads (V9).
    every: AtomicBool,
}

impl Hold {
    const HELD: u8 = 0;
    const IDLE: u8 = 1;
    const GONE: u8 = 2;

    pub fn held() -> Arc<Hold> {
        Arc::new(Hold { state: AtomicU8::new(Hold::HELD), every: AtomicBool::new(false) })
    }

    /// Holds the horizon whatever was before; for who knows that nobody else asks.
    pub fn hold(&self) {
        self.state.store(Hold::HELD, Ordering::SeqCst);
    }

    /// Whether somebody may read under it, now or when nothing has been committed since.
    pub fn is_held(&self) -> bool {
        self.state.load(Ordering::SeqCst) == Hold::HELD
    }

    /// Says whether it needs every version since.
    pub fn set_every(&self, every: bool) {
        self.every.store(every, Ordering::SeqCst);
    }

    /// Whether it needs every version since.
    pub fn needs_every(&self) -> bool {
        self.every.load(Ordering::SeqCst)
    }

    /// Takes an idle one away for good; `false` if it is not idle.
    pub fn end_if_idle(&self) -> bool {
        self.change(Hold::IDLE, Hold::GONE)
    }

    fn change(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

impl Registration {
    /// Lets the horizon go on; the registration stands for nothing until it is [taken up](Registration::take_up) again.
    pub(crate) fn leave_idle(&self) {
        self.hold.change(Hold::HELD, Hold::IDLE);
        self.transactions.housekeeping.call();
    }

    /// Who reads under it does not ask any more which writers it skips: versions that it does not read may go (V9).
    pub(crate) fn needs_its_own_only(&self) {
        self.hold.set_every(false);
    }

    /// Holds the horizon again after [`Registration::leave_idle`], if it still is where it was and the snapshot is still
    /// that of this moment, also for a change (S1) if it is to be.
    pub(crate) fn take_up(&self, changes: bool) -> bool {
        if !self.hold.change(Hold::IDLE, Hold::HELD) && !disabled(Rule::V6Idle) {
            return false;
        }
        let current = self.transactions.counter() == self.number
            && (!changes || self.transactions.newest() == self.newest);
        if !current {
            self.leave_idle();
        }
        current
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.hold.state.load(Ordering::SeqCst) != Hold::GONE {
            self.transactions.unregister(self.number, self.key);
            self.transactions.housekeeping.call();
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Registration({}, all below {})", self.number, self.all_below)
    }
}

/// What one reader sees. Valid while the [`Registration`] it was made from lives.
#[derive(Clone)]
pub struct ReadView {
    all_below: TxnId,
    own: TxnId,
    number: u64,
    directory: Arc<Directory>,
    /// Of a view that sees everything not dead: where that is told.
    dirty: Option<Arc<Transactions>>,
    /// A serializable reader, which wants to know what it skips.
    reader: Option<Arc<Reader>>,
    /// Of the view of a change: up to which number it sees what is logged only, and where it says so (S1).
    logged: Option<(u64, Arc<AtomicBool>)>,
    /// A state of the past: its reader's own changes are not in it.
    past: bool,
    /// Which of its reader's own changes are not in it (T4).
    command: Option<Arc<Command>>,
}

impl ReadView {
    /// The view of `registration` for the transaction `own` ([`TxnId::NONE`] if it has not written). A dirty one sees
    /// everything that is not dead.
    pub fn new(
        transactions: &Arc<Transactions>,
        registration: &Registration,
        own: TxnId,
        dirty: bool,
    ) -> ReadView {
        ReadView {
            all_below: registration.all_below,
            own,
            number: registration.number,
            directory: transactions.directory(),
            dirty: dirty.then(|| Arc::clone(transactions)),
            reader: None,
            logged: None,
            past: false,
            command: None,
        }
    }

    /// The view of a past state, which nobody's own changes are in.
    pub(crate) fn of_past(transactions: &Arc<Transactions>, registration: &Registration) -> ReadView {
        let view = ReadView::new(transactions, registration, TxnId::NONE, false);
        ReadView { past: true, ..view }
    }

    /// The same view for a change: it sees what is logged only, and notes in `seen` if it met such a thing (S1).
    #[must_use]
    pub(crate) fn with_logged(mut self, registration: &Registration, seen: &Arc<AtomicBool>) -> ReadView {
        self.see_logged(registration, seen);
        self
    }

    /// Makes it a view for a change ([`ReadView::with_logged`]).
    pub(crate) fn see_logged(&mut self, registration: &Registration, seen: &Arc<AtomicBool>) {
        match &mut self.logged {
            // As it was for the statement before.
            Some((newest, known)) if Arc::ptr_eq(known, seen) => *newest = registration.newest,
            logged => *logged = Some((registration.newest, Arc::clone(seen))),
        }
    }

    /// Makes it a view for a statement that is no change.
    pub(crate) fn see_published(&mut self) {
        self.logged = None;
    }

    /// Whether it sees what is logged only.
    pub(crate) fn sees_logged(&self) -> bool {
        self.logged.is_some()
    }

    /// The same view for a serializable reader: it reports the writers that it does not see.
    #[must_use]
    pub(crate) fn with_reader(mut self, reader: Option<Arc<Reader>>) -> ReadView {
        self.reader = reader;
        self
    }

    /// The same view without what is not committed.
    #[must_use]
    pub(crate) fn without_dirt(mut self) -> ReadView {
        self.dirty = None;
        self
    }

    /// Leaves out what its reader changes from now on (T4); all of it is seen again without a command.
    pub(crate) fn set_command(&mut self, command: Option<Arc<Command>>) {
        self.command = command;
    }

    /// Behind which command its reader's own changes are left out.
    #[inline]
    pub(crate) fn command(&self) -> Option<&Arc<Command>> {
        self.command.as_ref()
    }

    /// The same view without anything of its reader's own, and without what is not committed. What it skips is not reported.
    #[must_use]
    pub(crate) fn without_own(mut self) -> ReadView {
        self.own = TxnId::NONE;
        (self.dirty, self.reader, self.command) = (None, None, None);
        self
    }

    /// Whether it sees what is not committed.
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty.is_some()
    }

    /// Who reads, if it is serializable.
    #[inline]
    pub(crate) fn reader(&self) -> Option<&Arc<Reader>> {
        self.reader.as_ref()
    }

    /// Whether what `writer` wrote is seen. Below [`ReadView::all_below`] that is one comparison, otherwise one look
    /// into the inventory without a lock.
    #[inline]
    pub fn visible(&self, writer: TxnId) -> bool {
        writer < self.all_below || writer == self.own || self.looked_up(writer)
    }

    /// The same view for a reader that got its number meanwhile: it sees what it has written since.
    #[must_use]
    pub fn with_own(mut self, own: TxnId) -> ReadView {
        self.see_own(own);
        self
    }

    /// Its reader got a number meanwhile: it sees what it has written since.
    pub(crate) fn see_own(&mut self, own: TxnId) {
        if !self.past {
            self.own = own;
        }
    }

    /// Whether `writer` is the reader's own or committed for this snapshot, also when the view is dirty.
    pub fn visible_committed(&self, writer: TxnId) -> bool {
        // The cells of dead and prepared transactions are above every number.
        writer < self.all_below || writer == self.own || self.committed(writer)
    }

    /// Whether what another transaction wrote is seen because it has committed.
    pub(crate) fn sees_commit_of(&self, writer: TxnId) -> bool {
        writer < self.all_below || self.committed(writer)
    }

    /// Whether it sees the commits that an earlier one sees, and no others.
    pub(crate) fn sees_no_more_than(&self, earlier: &ReadView) -> bool {
        let newest = |view: &ReadView| view.logged.as_ref().map(|(newest, _)| *newest);
        self.number == earlier.number && newest(self) == newest(earlier)
    }

    /// Every transaction below is visible.
    #[inline]
    pub fn all_below(&self) -> TxnId {
        self.all_below
    }

    /// The reader's own transaction.
    #[inline]
    pub fn own(&self) -> TxnId {
        self.own
    }

    /// Commits up to this number are seen.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    #[inline]
    fn committed(&self, writer: TxnId) -> bool {
        let cell = self.directory.find(writer).unwrap_or(ACTIVE);
        cell != ACTIVE && (cell <= self.number || self.logged_only(cell))
    }

    /// What a change sees beyond its snapshot (S1).
    fn logged_only(&self, cell: u64) -> bool {
        let Some((newest, seen)) = &self.logged else { return false };
        match logged_number(cell) {
            Some(number) if number <= *newest => {
                seen.store(true, Ordering::Relaxed);
                true
            }
            Some(_) => false,
            // Published meanwhile.
            None => cell <= *newest,
        }
    }

    /// A transaction that the directory does not cover began behind this view, so its number is above ours.
    fn looked_up(&self, writer: TxnId) -> bool {
        if let Some(transactions) = &self.dirty {
            return transactions.state(writer) != TxnState::Dead;
        }
        let seen = self.committed(writer);
        if !seen && let Some(reader) = &self.reader {
            reader.skips(writer);
        }
        seen
    }
}

impl fmt::Debug for ReadView {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ReadView({}, own {}, all below {})", self.number, self.own, self.all_below)
    }
}
