//! CREATE INDEX CONCURRENTLY on an expression, or with a condition, that no index of the table has: its values become a
//! hidden column, for which the rows are copied while others go on changing them.
//!
//! ```text
//! copy      all rows as they are now ─► the new heap; which record became which           (others write)
//! build     all indexes over the copy                                                     (others write)
//! repeat    records changed since: their copies go, then they are copied as they are now  (others write)  until few are left
//! shut out  waits for those at work a moment at a time, and repeats and pauses in between
//! repeat    the last ones, and the table has the copy                                     (nobody)
//! ```
//!
//! 1. Changed records are found by their writers ([`Heap::changed_between`]): those who write know nothing of the copy. They are
//!    those of two moments, whatever others begin or take back while they are gone through twice.
//! 2. All copies of changed records go before the first one comes again. So no key is there twice in between which is not
//!    in the table either, whatever the order in which keys were handed on.
//! 3. What is repeated over and over ends after [`ROUNDS_MAX`] times; writers that are faster than it wait in the end.
//! 4. Who waits for the lock keeps later ones out, so it waits for no longer than [`WAIT_MAX`] at a time, and stays away for
//!    [`PAUSE`] times as long: beside one that is idle in its transaction the table stays usable for others.

mod places;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use verso_catalog::packs::{Pack, Wanted};
use verso_catalog::{NewIndex, Oid, OnlineCopy, PreparedIndex, Rewrite};
use verso_exec::exec::Computed;
use verso_exec::memory::Reservation;
use verso_exec::plan::TypedExpr;
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::workers::Job;
use verso_storage::{HeldView, RecordId, StorageError};
use verso_types::Batch;

use super::Schema;
use crate::failure::Failure;
use crate::frame::Frame;
use places::Places;
use verso_planner::bind::Binder;

/// Records that are left to be repeated while everybody is out.
const FEW: u64 = 1_000;
/// Times that changes are repeated before everybody is kept out.
const ROUNDS_MAX: u32 = 8;
/// The first wait for those at work, and the longest.
const WAIT_MIN: Duration = Duration::from_millis(20);
const WAIT_MAX: Duration = Duration::from_millis(150);
/// A wait is followed by a pause of so many times its length.
const PAUSE: u32 = 3;
/// Copies of changed records that go, or come, at a time.
const PORTION: usize = 1_024;

impl Schema<'_> {
    /// Makes an index over a copy of its table; `None` if there is one of its name, and that is allowed.
    pub(super) fn create_online(
        &self,
        new: &NewIndex,
        if_not_exists: bool,
        mut copy: OnlineCopy,
    ) -> Result<Option<Oid>, Failure> {
        let services = self.frame.services;
        let (catalog, engine) = (&services.instance.catalog, &services.instance.engine);
        let prepared = self.frame.inside_now(|frame| {
            let txn = &mut frame.txn.borrow_mut();
            let prepared = catalog.prepare_index(txn, new, if_not_exists)?;
            if prepared.is_none() {
                catalog.abandon_online(txn, &copy)?;
            }
            Ok(prepared)
        })?;
        let Some(mut index) = prepared else { return Ok(None) };
        let listed =
            engine.begin_job("CREATE INDEX CONCURRENTLY", services.info.number, Some(copy.rewrite.old.heap));
        let job = listed.job();
        let mut copier = self.frame.inside_now(|frame| Copier::new(frame, &copy))?;
        job.enter("copying rows", copier.from.page_count().into());
        self.frame.inside_now(|frame| copier.copy(frame, &copy, job))?;
        job.enter("building indexes", 0);
        self.frame.inside_now(|frame| {
            Ok(catalog.build_online(&mut frame.txn.borrow_mut(), &mut copy, &mut index)?)
        })?;
        job.enter("repeating changes", 0);
        for _ in 0..ROUNDS_MAX {
            if self.frame.inside_now(|frame| copier.repeat(frame, &copy, &index))? < FEW {
                break;
            }
        }
        job.enter("waiting for writers", 0);
        self.shut_out(&mut copier, &copy, &index)?;
        job.enter("repeating changes", 0);
        self.frame.inside_now(|frame| {
            copier.repeat(frame, &copy, &index)?;
            copier.check(frame, &copy)?;
            Ok(Some(catalog.finish_online(&mut frame.txn.borrow_mut(), copy, index)?))
        })
    }

    /// Keeps everybody out, once those at work have ended.
    fn shut_out(&self, copier: &mut Copier, copy: &OnlineCopy, index: &PreparedIndex) -> Result<(), Failure> {
        let services = self.frame.services;
        let limit = services.settings.lock_timeout_by_now();
        let (mut wait, mut waited) = (WAIT_MIN, Duration::ZERO);
        loop {
            let now = limit.map_or(wait, |limit| wait.min(limit.saturating_sub(waited)));
            if now.is_zero() {
                return Err(StorageError::LockTimeout.into());
            }
            let locked = self.frame.inside_now(|frame| {
                let txn = &mut frame.txn.borrow_mut();
                let locked = services.instance.catalog.lock_online(txn, copy, now);
                txn.set_lock_timeout(limit);
                Ok(locked?)
            })?;
            if locked {
                return Ok(());
            }
            self.frame.inside_now(|frame| copier.repeat(frame, copy, index))?;
            waited += now;
            let pause = limit.map_or(now * PAUSE, |limit| limit.saturating_sub(waited).min(now * PAUSE));
            services.owner.sleep(pause)?;
            waited += pause;
            wait = (wait * 2).min(WAIT_MAX);
        }
    }
}

/// Copies rows, and knows which record became which.
struct Copier {
    from: Arc<Heap>,
    to: Arc<Heap>,
    wanted: Wanted,
    pack: Option<Pack>,
    values: Computed,
    places: Places,
    /// What the copy is as of.
    seen: HeldView,
    held: Reservation,
    /// Pages that have changed, and records of one of them: kept from call to call.
    pages: Vec<u32>,
    changed: Vec<RecordId>,
    made: Vec<RecordId>,
}

impl Copier {
    fn new(frame: &Frame<'_>, copy: &OnlineCopy) -> Result<Copier, Failure> {
        let Rewrite { old, new } = &copy.rewrite;
        let engine = &frame.services.instance.engine;
        let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
        let value = |column: &verso_catalog::ColumnDef| match old.column_with_id(column.id) {
            Some(at) => Ok(TypedExpr::column(at, column.ty.clone())),
            None => binder.stored_generation(column, old),
        };
        let values = new.columns.iter().map(value).collect::<Result<Vec<TypedExpr>, _>>()?;
        let (from, to) = (engine.heap(old.heap)?, engine.heap(new.heap)?);
        let tables = frame.tables();
        tables.place_rows(new, &to);
        tables.apply_options(new);
        Ok(Copier {
            wanted: Wanted::of(&from, old.columns.iter()),
            pack: Pack::of(&to, new.columns.iter().map(|column| column.id)),
            values: Computed::compile(&values, frame.services.settings.executor),
            places: Places::default(),
            seen: frame.txn.borrow().hold_now(),
            held: frame.services.memory.lend().account.reserve("CREATE INDEX CONCURRENTLY", u64::MAX),
            pages: Vec::new(),
            changed: Vec::new(),
            made: Vec::new(),
            from,
            to,
        })
    }

    /// Copies all rows.
    fn copy(&mut self, frame: &Frame<'_>, copy: &OnlineCopy, job: &Arc<Job>) -> Result<(), Failure> {
        let mut scan = {
            let txn = &mut frame.txn.borrow_mut();
            txn.enter_past(&self.seen);
            txn.watch_scans(Some((self.from.object, Arc::clone(job))));
            let scan = self.from.scan(txn, ScanSpec { columns: self.wanted.ids(), pages: 0..u32::MAX });
            txn.watch_scans(None);
            txn.leave_past();
            scan
        };
        let mut rows = ScanBatch::default();
        while scan.next(&mut rows)? {
            check_cancelled(frame)?;
            self.wanted.finish(&mut rows.batch)?;
            self.insert(frame, copy, &rows.batch)?;
            self.places.append(&rows.records, &self.made);
            self.hold(&rows)?;
        }
        Ok(())
    }

    /// Copies what has changed since the moment that the copy is as of, and makes it one of now. How many records that were:
    /// none, and nothing is looked at, where nobody has committed.
    fn repeat(
        &mut self,
        frame: &Frame<'_>,
        copy: &OnlineCopy,
        index: &PreparedIndex,
    ) -> Result<u64, Failure> {
        let catalog = &frame.services.instance.catalog;
        let now = frame.txn.borrow().hold_now();
        if now.sees_no_more_than(&self.seen) {
            self.seen = now;
            return Ok(0);
        }
        let explained = |error: StorageError| {
            Failure::from(catalog.explain_online(&frame.txn.borrow(), copy, index, error))
        };
        // The number of pages is asked for behind the moment: later ones have no record of then.
        let (mut count, mut gone) = (0, ScanBatch::default());
        self.pages.clear();
        for page in 0..self.from.page_count() {
            check_cancelled(frame)?;
            self.find_changed(frame, &now, page)?;
            if self.changed.is_empty() {
                continue;
            }
            count += self.changed.len() as u64;
            self.pages.push(page);
            gone.records.extend(self.changed.iter().filter_map(|record| self.places.take(*record)));
            if gone.records.len() >= PORTION {
                self.delete(frame, &mut gone)?;
            }
            self.hold(&gone)?;
        }
        self.delete(frame, &mut gone)?;
        let pages = std::mem::take(&mut self.pages);
        let mut rows = ScanBatch::default();
        for page in &pages {
            check_cancelled(frame)?;
            // The same records as before, so that exactly those come whose copies have gone (Y2).
            self.find_changed(frame, &now, *page)?;
            let mut from = 0;
            while from < self.changed.len() {
                check_cancelled(frame)?;
                let some = &self.changed[from..self.changed.len().min(from + PORTION)];
                from += {
                    let txn = &mut frame.txn.borrow_mut();
                    txn.enter_past(&now);
                    let read = self.from.read_records(txn, some, self.wanted.ids(), &mut rows);
                    txn.leave_past();
                    read?
                };
                if rows.records.is_empty() {
                    continue;
                }
                self.hold(&rows)?;
                self.wanted.finish(&mut rows.batch)?;
                self.insert(frame, copy, &rows.batch).map_err(|error| match error {
                    Stopped::Storage(error) => explained(error),
                    Stopped::Other(failure) => failure,
                })?;
                for (from, to) in rows.records.iter().zip(&self.made) {
                    self.places.put(*from, *to);
                }
            }
            self.hold(&rows)?;
        }
        self.pages = pages;
        let checked = frame.txn.borrow_mut().check_keys();
        checked.map_err(explained)?;
        self.seen = now;
        Ok(count)
    }

    /// What functions the expressions name may have gone meanwhile, as nothing says yet that they are needed.
    fn check(&self, frame: &Frame<'_>, copy: &OnlineCopy) -> Result<(), Failure> {
        let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
        for column in copy.added() {
            binder.stored_generation(column, &copy.rewrite.old)?;
        }
        Ok(())
    }

    fn find_changed(&mut self, frame: &Frame<'_>, now: &HeldView, page: u32) -> Result<(), StorageError> {
        self.changed.clear();
        self.from.changed_between(&frame.txn.borrow(), (&self.seen, now), page, &mut self.changed)
    }

    fn delete(&self, frame: &Frame<'_>, gone: &mut ScanBatch) -> Result<(), StorageError> {
        if !gone.records.is_empty() {
            self.to.delete(&mut frame.txn.borrow_mut(), gone, None)?;
            gone.records.clear();
        }
        Ok(())
    }

    /// Puts rows of the table into the copy: `made` says where they are.
    fn insert(&mut self, frame: &Frame<'_>, copy: &OnlineCopy, rows: &Batch) -> Result<(), Stopped> {
        let Self { values, pack, to, made, .. } = self;
        // The expressions of indexes are the owner's.
        frame.as_owner_of(&copy.rewrite.old, |frame| {
            let values = frame.with_context(&[], |cx| values.of(cx, rows))?;
            let packed = match pack {
                Some(pack) => Some(pack.pack(values, None)?),
                None => None,
            };
            made.clear();
            let values = packed.as_ref().unwrap_or(values);
            Ok(to.insert(&mut frame.txn.borrow_mut(), values, Some(made)))
        })??;
        Ok(())
    }

    /// Accounts for the notes, and for rows that are under way.
    fn hold(&mut self, rows: &ScanBatch) -> Result<(), StorageError> {
        let pages = self.pages.capacity() * size_of::<u32>();
        let records = self.changed.capacity() + self.made.capacity() + rows.records.capacity();
        let under_way = pages + records * size_of::<RecordId>() + rows.batch.heap_bytes();
        let bytes = self.places.bytes() + under_way as u64;
        self.held.try_resize(bytes).map_err(|refused| StorageError::NoMemory {
            what: "CREATE INDEX CONCURRENTLY",
            limit_bytes: refused.limit_bytes,
            setting: refused.scope.setting(),
        })
    }
}

/// Why rows did not get into the copy.
enum Stopped {
    /// Storage refused them.
    Storage(StorageError),
    /// Their values could not be computed.
    Other(Failure),
}

impl From<StorageError> for Stopped {
    fn from(error: StorageError) -> Stopped {
        Stopped::Storage(error)
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Stopped {
        Stopped::Other(failure)
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Failure {
        match stopped {
            Stopped::Storage(error) => error.into(),
            Stopped::Other(failure) => failure,
        }
    }
}

fn check_cancelled(frame: &Frame<'_>) -> Result<(), StorageError> {
    match frame.cancel.load(Ordering::Relaxed) {
        true => Err(StorageError::Cancelled),
        false => Ok(()),
    }
}
