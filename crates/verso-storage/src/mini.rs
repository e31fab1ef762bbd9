//! Mini-transactions: changes of several pages that happen whole or not at all.
//!
//! ```text
//! begin ─► take latched pages ─► apply, apply, … (changes the bytes by redo and logs the same payload)
//!                              └► commit: append the group ─► set page LSNs ─► effects in memory ─► release latches
//! ```
//!
//! L1 (design): the records form one group of the log, and the page latches are held until every LSN is set.
//! M1. Do is redo: a page changes only by the redo function of a record kind, run on the latched bytes with the
//!     payload that is logged. So replay gives the same bytes, whatever the function does. (Rows one behind the other
//!     are put there by [`Mini::apply_as`], which debug builds compare with the redo function.)
//! M2. A redo function that returns a flaw has changed nothing; everything else is validated before `apply`.
//! M3. What was applied is committed. A mini-transaction that is dropped in between leaves pages that the log does
//!     not know of, so it poisons the engine (and panics in debug builds), and these pages cannot be read any more.
//! M4. Append, LSNs and effects in memory lie within the checkpoint gate, held shared: a checkpoint sees all or
//!     nothing of a mini-transaction. Nothing inside may begin or commit another one.
//! M7. What has changed something may use the file's reserve from then on: the first allocation leaves it alone, or is refused.
//! M6. What is done to a page of an unlogged object is not logged; everything else is as for other pages.
//! M5. Room in the log is reserved before the first change, and whether the pool takes changes is asked then: a full disk
//!     refuses a change and never breaks one.
//!
//! Latches: the pages that were taken, in the order of the caller's structure; pages of the space map last.

use smallvec::SmallVec;

use crate::StorageError;
use crate::buffer::ExclusivePage;
use crate::engine_core::Core;
use crate::heap::bounds;
use crate::heap::layout::FLAG_SWEPT;
use crate::page::{Flaw, Lsn, PageId, PageKind, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::space::SpaceChange;
use crate::wal::{Group, GroupView, Promise, RecordKind, RecordShape, Reservation};

/// Room in the log reserved for every mini-transaction that does not ask for more.
const RESERVE_BYTES: u64 = Promise::GROUP_MAX;

/// A page of a mini-transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHandle(u32);

struct Taken<'e> {
    page: ExclusivePage<'e>,
    changed: bool,
    /// What was changed is not logged (U1).
    unlogged: bool,
    /// It was given out here.
    is_new: bool,
}

/// What mini-transactions do besides changing pages.
#[derive(Default)]
struct More<'e> {
    effects: Vec<Box<dyn FnOnce(Lsn, Lsn) + 'e>>,
    /// What follows when the frames of discarded pages are gone.
    last: Vec<Box<dyn FnOnce() + 'e>>,
    /// Runs of pages whose frames are dropped after the commit.
    discards: Vec<(PageId, u32)>,
    space: Option<SpaceChange<'e>>,
}

impl Taken<'_> {
    /// The page is about to be changed (C2).
    #[inline]
    fn is_not_clean(&self, core: &Core) {
        if header::flags(&self.page) & FLAG_SWEPT != 0 && header::kind(&self.page) == Some(PageKind::Data) {
            core.clean.remove(self.page.id());
        }
    }
}

/// A mini-transaction under way.
#[must_use = "a mini-transaction does nothing before commit"]
pub struct Mini<'e> {
    core: &'e Core,
    group: Group,
    pages: SmallVec<[Taken<'e>; 8]>,
    /// Most have nothing of that.
    more: Option<Box<More<'e>>>,
    reservation: Option<Reservation<'e>>,
    use_reserve: bool,
    /// Of the file only.
    use_reserve_of_file: bool,
    /// A usual group has its room already.
    promised: bool,
    /// Of no transaction: it gives room back, sooner or later.
    housekeeping: bool,
    /// Pages were changed, or records promised, that the log does not know of yet.
    changed: bool,
}

impl<'e> Mini<'e> {
    /// Begins one; `txn` is [`TxnId::NONE`] for housekeeping. Allocates nothing and takes no locks.
    pub fn begin(core: &'e Core, txn: TxnId) -> Mini<'e> {
        Mini {
            core,
            group: Group::new(txn),
            pages: SmallVec::new(),
            more: None,
            reservation: None,
            use_reserve: false,
            use_reserve_of_file: false,
            promised: false,
            housekeeping: txn == TxnId::NONE,
            changed: false,
        }
    }

    /// What it works on.
    #[must_use]
    pub fn core(&self) -> &'e Core {
        self.core
    }

    /// Takes a latched page in; the latch is released at commit, or when this is dropped unchanged.
    pub fn take(&mut self, page: ExclusivePage<'e>) -> PageHandle {
        self.pages.push(Taken { page, changed: false, unlogged: false, is_new: false });
        PageHandle(u32::try_from(self.pages.len() - 1).expect("a mini-transaction has few pages"))
    }

    /// Latches a page exclusively and takes it in. A page that was taken already is not latched twice.
    ///
    /// # Errors
    /// As [`BufferPool::write`](crate::buffer::BufferPool::write).
    pub fn write(&mut self, id: PageId) -> Result<PageHandle, StorageError> {
        match self.find(id) {
            Some(handle) => Ok(handle),
            None => Ok(self.take(self.core.pool.write(id)?)),
        }
    }

    /// Takes in a page whose content means nothing, and is anything: the next record for it is an init record, which
    /// empties it.
    ///
    /// # Errors
    /// As [`BufferPool::take_over`](crate::buffer::BufferPool::take_over).
    pub fn create(&mut self, id: PageId) -> Result<PageHandle, StorageError> {
        match self.find(id) {
            Some(handle) => Ok(handle),
            None => {
                // What it was before does not count.
                self.core.clean.remove(id);
                self.core.bounds.remove(id);
                Ok(self.take(self.core.pool.take_over(id)?))
            }
        }
    }

    /// The page, if it was taken.
    #[must_use]
    pub fn find(&self, id: PageId) -> Option<PageHandle> {
        let index = self.pages.iter().position(|taken| taken.page.id() == id)?;
        Some(PageHandle(u32::try_from(index).expect("a mini-transaction has few pages")))
    }

    /// Bytes of a page, with everything applied so far.
    #[must_use]
    pub fn page(&self, handle: PageHandle) -> &[u8] {
        &self.pages[handle.0 as usize].page
    }

    fn more(&mut self) -> &mut More<'e> {
        self.more.get_or_insert_default()
    }

    /// Number of a page.
    #[must_use]
    pub fn page_id(&self, handle: PageHandle) -> PageId {
        self.pages[handle.0 as usize].page.id()
    }

    /// Reserves room in the log for more than the usual 256 KiB. Before the first change.
    ///
    /// # Errors
    /// `Full`, `Poisoned`.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), StorageError> {
        if self.promised && bytes <= RESERVE_BYTES {
            return Ok(());
        }
        if !self.reservation.as_ref().is_some_and(|reservation| reservation.covers(bytes)) {
            let wal = &self.core.wal;
            let bytes = bytes.max(RESERVE_BYTES);
            let kept = self.use_reserve || self.housekeeping;
            self.reservation = Some(if kept { wal.reserve_kept(bytes)? } else { wal.reserve(bytes)? });
        }
        Ok(())
    }

    /// What can fail fails before the first change (M5).
    #[inline]
    fn before_change(&mut self) -> Result<(), StorageError> {
        if !self.changed {
            self.core.pool.check_changes()?;
        }
        if self.promised { Ok(()) } else { self.reserve(RESERVE_BYTES) }
    }

    /// The log has promised room for a group of up to [`Promise::GROUP_MAX`].
    pub fn promised(&mut self) {
        self.promised = true;
    }

    /// Lets this mini-transaction use the space of file and log kept for undo and back-out.
    pub fn use_reserve(&mut self) {
        self.use_reserve = true;
    }

    /// Lets this mini-transaction use the space of the file kept for undo and back-out.
    pub fn use_reserve_of_file(&mut self) {
        self.use_reserve_of_file = true;
    }

    /// Whether allocations may use the space kept for undo and back-out.
    #[must_use]
    pub fn uses_reserve(&self) -> bool {
        self.use_reserve || self.use_reserve_of_file || (self.changed && !disabled(Rule::M7))
    }

    /// Changes a page by the redo function of `kind` and logs the payload.
    ///
    /// # Errors
    /// `Corrupt` when page and payload do not fit together; `Full`, `Poisoned`. Nothing has changed then.
    pub fn apply(
        &mut self,
        handle: PageHandle,
        kind: RecordKind,
        payload: &[u8],
    ) -> Result<(), StorageError> {
        self.apply_with(handle, kind, |out| out.extend_from_slice(payload))
    }

    /// As [`Mini::apply`] with a payload that `write` appends to the log buffer it is given.
    ///
    /// # Errors
    /// As [`Mini::apply`].
    pub fn apply_with(
        &mut self,
        handle: PageHandle,
        kind: RecordKind,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), StorageError> {
        let core = self.core;
        self.apply_known(handle, kind, write, |page, payload| core.redo.redo(kind, page, payload))
    }

    /// As [`Mini::apply_with`] for who knows of the page what the redo function of `kind` would look up first: `redo` is what
    /// that does then (M1).
    ///
    /// # Errors
    /// As [`Mini::apply`].
    #[inline]
    pub fn apply_known(
        &mut self,
        handle: PageHandle,
        kind: RecordKind,
        write: impl FnOnce(&mut Vec<u8>),
        redo: impl FnOnce(&mut [u8], &[u8]) -> Result<(), Flaw>,
    ) -> Result<(), StorageError> {
        self.before_change()?;
        let taken = &mut self.pages[handle.0 as usize];
        let id = taken.page.id();
        taken.is_not_clean(self.core);
        let start = self.group.push_with(kind, id, write);
        let before = cfg!(debug_assertions).then(|| taken.page.to_vec());
        match redo(&mut taken.page, self.group.payload(start)) {
            Ok(()) => {
                if let Some(mut redone) = before {
                    let result = self.core.redo.redo(kind, &mut redone, self.group.payload(start));
                    let same = result.is_ok() && redone[..] == taken.page[..];
                    assert!(same, "M1: {kind} of {id} is not what its redo does: {result:?}");
                }
                taken.changed = true;
                self.changed = true;
                bounds::changed(&self.core.bounds, id, kind, &taken.page, self.group.payload(start));
                if self.core.unlogged.contains(header::owner(&taken.page)) {
                    taken.unlogged = true;
                    taken.is_new |= kind.shape() == Some(RecordShape::Init);
                    self.group.pop();
                }
                Ok(())
            }
            Err(flaw) => {
                self.group.pop();
                if let Some(before) = before {
                    debug_assert!(
                        before[..] == taken.page[..],
                        "M2: {kind} changed {id}, then failed: {flaw}"
                    );
                }
                Err(StorageError::corrupt(id, header::owner(&taken.page), flaw))
            }
        }
    }

    /// As [`Mini::apply_with`] for who knows already what the redo function of `kind` would find out: `change` does to the
    /// page what that does with the payload which `change` appends. Debug builds do both (M1).
    ///
    /// # Errors
    /// `Full`, `Poisoned`. Nothing has changed then.
    #[inline]
    pub fn apply_as(
        &mut self,
        handle: PageHandle,
        kind: RecordKind,
        change: impl FnOnce(&mut [u8], &mut Vec<u8>),
    ) -> Result<(), StorageError> {
        self.before_change()?;
        let taken = &mut self.pages[handle.0 as usize];
        taken.is_not_clean(self.core);
        let before = cfg!(debug_assertions).then(|| taken.page.to_vec());
        let start = self.group.push_with(kind, taken.page.id(), |out| change(&mut taken.page, out));
        taken.changed = true;
        self.changed = true;
        let id = taken.page.id();
        bounds::changed(&self.core.bounds, id, kind, &taken.page, self.group.payload(start));
        if let Some(mut redone) = before {
            let result = self.core.redo.redo(kind, &mut redone, self.group.payload(start));
            let same = result.is_ok() && redone[..] == taken.page[..];
            assert!(same, "M1: {kind} of {} is not what its redo does: {result:?}", taken.page.id());
        }
        if self.core.unlogged.contains(header::owner(&taken.page)) {
            taken.unlogged = true;
            self.group.pop();
        }
        Ok(())
    }

    /// Logs a record that changes no page but state in memory; the change itself is an effect of the commit.
    ///
    /// # Errors
    /// `Full`, `Poisoned`.
    pub fn state(&mut self, kind: RecordKind, payload: &[u8]) -> Result<(), StorageError> {
        self.reserve(RESERVE_BYTES)?;
        self.group.push(kind, PageId::NONE, payload);
        Ok(())
    }

    /// Logs that the content of an allocated page means nothing any more, without latching it: recovery then skips
    /// all older records of it, and after the commit its frame is dropped unwritten. The page's next record is an
    /// init record. Whoever drops a page without freeing its extent has to say so here.
    ///
    /// # Errors
    /// `Full`, `Poisoned`.
    pub fn void(&mut self, page: PageId) -> Result<(), StorageError> {
        self.reserve(RESERVE_BYTES)?;
        self.group.push(RecordKind::PAGE_VOID, page, &[]);
        self.discard_on_commit(page, 1);
        Ok(())
    }

    /// Drops the frames of `count` pages from `first` on, unwritten, after the commit. Their end is in the log by
    /// another record of this mini-transaction.
    pub(crate) fn discard_on_commit(&mut self, first: PageId, count: u32) {
        self.more().discards.push((first, count));
    }

    /// The lock of the space map, if this mini-transaction has it.
    pub(crate) fn take_space(&mut self) -> Option<SpaceChange<'e>> {
        self.more.as_mut()?.space.take()
    }

    /// Keeps the lock of the space map until the commit.
    pub(crate) fn put_space(&mut self, space: SpaceChange<'e>) {
        self.more().space = Some(space);
    }

    /// Runs `effect` with the group's first LSN and the LSN behind it, inside the gate (M4), after the LSNs are set
    /// and before the latches are released.
    pub fn on_commit(&mut self, effect: impl FnOnce(Lsn, Lsn) + 'e) {
        self.more().effects.push(Box::new(effect));
    }

    /// Runs `effect` inside the gate, too, but at the very end: no page is latched any more and the discarded ones have
    /// lost their frames. Only now may somebody else get a page that was given up.
    pub fn on_release(&mut self, effect: impl FnOnce() + 'e) {
        self.more().last.push(Box::new(effect));
    }

    /// Whose change it is.
    #[must_use]
    pub fn txn(&self) -> TxnId {
        self.group.txn()
    }

    /// Bytes of the group so far.
    #[must_use]
    pub fn log_bytes(&self) -> usize {
        self.group.len()
    }

    /// Whether nothing was applied or logged yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.group.is_empty() && !self.changed
    }

    /// Appends the group, sets the LSNs of the changed pages, runs the effects, releases the latches. Durable only
    /// after [`Wal::flush`](crate::wal::Wal::flush) up to the second LSN returned.
    ///
    /// # Errors
    /// `Poisoned`: pages were changed, but the log does not take the group.
    #[inline]
    pub fn commit(self) -> Result<(Lsn, Lsn), StorageError> {
        self.commit_with(|_, _| ())
    }

    /// As [`Mini::commit`], with a last effect that needs no allocation.
    ///
    /// # Errors
    /// As [`Mini::commit`].
    #[inline]
    pub fn commit_with(mut self, effect: impl FnOnce(Lsn, Lsn)) -> Result<(Lsn, Lsn), StorageError> {
        self.finish(effect)
    }

    /// As [`Mini::commit`] where it stands: it is large, and need not be moved. Nothing may follow but dropping it.
    ///
    /// # Errors
    /// As [`Mini::commit`].
    #[inline]
    pub(crate) fn commit_here(&mut self) -> Result<(Lsn, Lsn), StorageError> {
        self.finish(|_, _| ())
    }

    fn finish(&mut self, effect: impl FnOnce(Lsn, Lsn)) -> Result<(Lsn, Lsn), StorageError> {
        let core = self.core;
        let gate = core.gate.enter();
        let (start, end) = if self.group.is_empty() {
            let end = core.wal.appended();
            (end, end)
        } else {
            crate::work::logged(self.group.record_count(), self.group.len() as u64);
            let appended = if disabled(Rule::L1) {
                append_apart(core, &mut self.group)
            } else {
                core.wal.append(&mut self.group)
            };
            match appended {
                Ok(lsns) => lsns,
                Err(error) => {
                    self.give_up(&error);
                    return Err(error);
                }
            }
        };
        self.changed = false;
        for taken in self.pages.iter_mut().filter(|taken| taken.changed) {
            match (taken.unlogged, taken.is_new) {
                (false, _) => taken.page.set_lsn(start, end),
                (true, true) => taken.page.given_out_unlogged(end),
                (true, false) => taken.page.mark_dirty_unlogged(),
            }
            if disabled(Rule::L1Lsn) {
                break;
            }
        }
        let mut more = self.more.take();
        if let Some(more) = &mut more {
            more.effects.drain(..).for_each(|effect| effect(start, end));
        }
        effect(start, end);
        // Latches first: a page to discard may be among those taken. Still within the gate, because a discarded page
        // no longer holds the redo point back, which is right only once the log knows of its end.
        self.pages.clear();
        if let Some(more) = more {
            for (first, count) in more.discards {
                (0..count).for_each(|page| core.bounds.remove(first.offset(page)));
                core.pool.discard_run(first, count);
            }
            if let Some(space) = more.space {
                space.finish();
            }
            more.last.into_iter().for_each(|effect| effect());
        }
        drop(gate);
        Ok((start, end))
    }
}

/// What L1 forbids: every record a group of its own, durable before the next one.
fn append_apart(core: &Core, group: &mut Group) -> Result<(Lsn, Lsn), StorageError> {
    let whole = group.finish().to_vec();
    let flawed = |flaw| StorageError::corrupt(PageId::NONE, crate::ObjectId::SYSTEM, flaw);
    let view = GroupView::parse(&whole).map_err(flawed)?;
    let mut lsns = None;
    for record in view.records() {
        let record = record.map_err(flawed)?;
        let mut part = Group::new(view.txn());
        part.push(record.kind, record.page, record.payload);
        let (start, end) = core.wal.append(&mut part)?;
        core.wal.flush(end)?;
        lsns = Some((lsns.map_or(start, |(first, _)| first), end));
    }
    lsns.ok_or(StorageError::Poisoned { why: None })
}

impl Mini<'_> {
    /// The pages hold what the log will never have: nobody may read those, and nothing is changed any more (M3).
    fn give_up(&mut self, why: &StorageError) {
        self.changed = false;
        self.core.poison(why);
        for taken in self.pages.drain(..).filter(|taken| taken.changed) {
            self.core.pool.abandon(taken.page);
        }
    }
}

impl Drop for Mini<'_> {
    fn drop(&mut self) {
        if self.changed {
            // A failed disk interrupts mini-transactions without any fault of theirs; so does a damaged page that was met too
            // late.
            let pool = &self.core.pool;
            let failed = pool.is_poisoned() || pool.is_stalled() || self.core.wal.is_poisoned();
            let interrupted = failed || pool.has_damaged();
            tracing::error!(
                records = self.group.record_count(),
                "a change of several pages was interrupted: the database takes no more changes; stop and start again, which \
                 recovers every commit that was acknowledged"
            );
            let why = pool.check_changes().err().unwrap_or(StorageError::Poisoned { why: None });
            self.give_up(&why);
            debug_assert!(
                interrupted || std::thread::panicking(),
                "M3: a mini-transaction was dropped with changes applied"
            );
        }
    }
}
