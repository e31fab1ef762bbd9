//! Jobs of maintenance: sweeps, packing, the check, housekeeping; the workers that they have.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Engine;
use super::options::GcPolicy;
use crate::StorageError;
use crate::heap::packed::{Trained, Which};
use crate::heap::{ChangedRows, Heap, Packing, UseCounts, packed};
use crate::maintenance::check::CheckReport;
use crate::maintenance::sweep::{SweepOptions, SweepProgress, SweepReport};
use crate::maintenance::{background, backout, check, sweep};
use crate::page::ObjectId;
use crate::progress::{Progress, WatchProgress};
use crate::sleeper::Sleeper;
use crate::txn::transaction::Txn;
use crate::workers::{JobInfo, Listed, WorkerInfo, WorkerPool};

impl Engine {
    /// The last sweeps that started by themselves, oldest first.
    pub fn own_sweeps(&self) -> Vec<SweepReport> {
        self.shared().own_sweeps.lock().iter().copied().collect()
    }

    /// Who is called when rows have changed, as [`ChangedRows::tell_at`] asks for.
    pub fn changes(&self) -> &Arc<Sleeper> {
        &self.shared().changes
    }

    /// How many rows of users' tables were changed: of those tables that somebody has used since the database was opened.
    pub fn changed_rows(&self) -> Vec<(ObjectId, Arc<ChangedRows>)> {
        let heaps = self.shared().heaps.lock();
        let users = heaps.iter().filter(|(object, _)| object.0 >= Engine::FIRST_USER_OBJECT);
        users.map(|(object, heap)| (*object, Arc::clone(&heap.changed))).collect()
    }

    /// The same of one table; none where nobody has used it since the database was opened.
    pub fn changed_rows_of(&self, table: ObjectId) -> Option<Arc<ChangedRows>> {
        self.shared().heaps.lock().get(&table).map(|heap| Arc::clone(&heap.changed))
    }

    /// How often a table and its indexes were read; nothing where nobody has used it since the database was opened.
    pub fn uses_of(&self, table: ObjectId) -> HashMap<ObjectId, UseCounts> {
        let Some(heap) = self.shared().heaps.lock().get(&table).cloned() else { return HashMap::new() };
        let indexes = heap.indexes.list();
        let of_indexes = indexes.iter().map(|index| (index.object(), index.uses.get()));
        std::iter::once((heap.object, heap.uses.get())).chain(of_indexes).collect()
    }

    /// Lists a job, which begins, perhaps at a table; it leaves the list when what is returned is dropped.
    #[must_use]
    pub fn begin_job(&self, what: &'static str, session: u64, table: Option<ObjectId>) -> Listed {
        self.shared().workers.begin(what, session, table)
    }

    /// Jobs of maintenance under way.
    pub fn jobs(&self) -> Vec<JobInfo> {
        self.shared().workers.jobs()
    }

    /// Threads for jobs of maintenance.
    pub fn workers(&self) -> Vec<WorkerInfo> {
        self.shared().workers.workers()
    }

    /// Those threads, for the parts of a query.
    pub fn worker_pool(&self) -> WorkerPool {
        self.shared().workers.clone()
    }

    /// At most so many such threads from now on; one without work ends after this time.
    pub fn set_workers(&self, most: u32, idle: Duration) {
        self.shared().workers.configure(most, idle);
    }

    /// Sweeps.
    ///
    /// # Errors
    /// As [`sweep::sweep`].
    pub fn sweep(
        &self,
        options: SweepOptions,
        progress: &mut dyn FnMut(SweepProgress) -> ControlFlow<()>,
    ) -> Result<SweepReport, StorageError> {
        sweep::sweep(self.shared(), &options, progress)
    }

    /// Packs the data pages of a table that hold nothing but what every snapshot sees: as a sweep of the table, which comes
    /// first, finds them, or one that is under way. Nobody but `txn` may use the table meanwhile. `go_on` is asked between pages.
    ///
    /// # Errors
    /// Those of `go_on`; `NoSuchObject`, `Full`, `Corrupt`, `Io`. What is packed stays packed.
    pub fn pack(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        options: SweepOptions,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Packing, StorageError> {
        self.pack_those(Which::Visible, txn, object, options, go_on)
    }

    /// As [`Engine::pack`], with what is packed already encoded once more: a table that has a dictionary gets a new one before.
    ///
    /// # Errors
    /// As [`Engine::pack`].
    pub fn repack(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        options: SweepOptions,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Packing, StorageError> {
        self.pack_those(Which::Anew, txn, object, options, go_on)
    }

    /// Makes a dictionary of symbols for the texts of a table, chosen from some of its rows: pages that are packed from now on
    /// use it. Nobody but `txn` may use the table meanwhile. `go_on` is asked between pages.
    ///
    /// # Errors
    /// Those of `go_on`; `NoSuchObject`, `Full`, `Corrupt`, `Io`.
    pub fn create_dictionary(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Trained, StorageError> {
        txn.leave_pages(object);
        self.shared().heap(object)?.train(self.shared(), go_on)
    }

    /// Gives pages of a table that hold nothing back to the database, as whole units: pages without records are packed for that,
    /// and the pages at the end of the newest extent go, too. Nobody but `txn` may use the table meanwhile; `go_on` is asked
    /// between pages.
    ///
    /// # Errors
    /// As [`Engine::pack`]. What is given back is.
    pub fn shrink(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        options: SweepOptions,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Packing, StorageError> {
        self.pack_those(Which::Empty, txn, object, options, go_on)
    }

    /// Sweeps a table, packs some of its pages, and gives back what has become free: with its end where only empty pages were asked for.
    fn pack_those(
        &self,
        which: Which,
        txn: &mut Txn,
        object: ObjectId,
        options: SweepOptions,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Packing, StorageError> {
        let session = options.session;
        self.sweep_for(txn, object, options, go_on)?;
        let shared = self.shared();
        let heap = shared.heap(object)?;
        if which == Which::Anew && !heap.all_dictionaries(&shared.core().pool)?.is_empty() {
            heap.train(shared, go_on)?;
        }
        let listed = self.begin_job(which.word(), session, Some(object));
        listed.job().enter("packing pages", heap.page_count().into());
        let mut done = packed::pack_table(shared, object, which, listed.job(), go_on)?;
        done.freed += heap.give_back(shared, which == Which::Empty, go_on)?;
        Ok(done)
    }

    /// Sweeps a table before its pages are packed, unless a sweep is under way.
    fn sweep_for(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        options: SweepOptions,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        txn.leave_pages(object);
        let mut stopped = None;
        let options = SweepOptions { table: Some(object), ..options };
        let swept = sweep::sweep(self.shared(), &options, &mut |_| match go_on() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                stopped = Some(error);
                ControlFlow::Break(())
            }
        });
        match (swept, stopped) {
            (_, Some(error)) => Err(error),
            (Err(StorageError::SweepRunning) | Ok(_), None) => Ok(()),
            (Err(error), None) => Err(error),
        }
    }

    /// Says whether cold pages of a table are packed by themselves from now on.
    #[inline]
    pub fn set_packing(&self, heap: &Heap, by_itself: bool) {
        if heap.packing.by_itself.load(Ordering::Relaxed) != by_itself {
            heap.packing.by_itself.store(by_itself, Ordering::Relaxed);
            self.shared().transactions.housekeeping.wake();
        }
    }

    /// Pages of tables that are packed by themselves ([`Engine::set_packing`]) are packed when they were not changed for so long.
    pub fn set_packing_delay(&self, delay: Duration) {
        self.shared().own_packing.set_delay(delay);
        self.shared().transactions.housekeeping.wake();
    }

    /// Does what the housekeeping thread does, once; for tests and for engines without one.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Poisoned`.
    pub fn housekeeping(&self) -> Result<(), StorageError> {
        background::round(self.shared(), backout::Pace::Full).map(drop)
    }

    /// Proves the numbered invariants.
    ///
    /// # Errors
    /// As [`check::check`].
    pub fn check(&self, progress: &mut dyn FnMut(Progress)) -> Result<CheckReport, StorageError> {
        self.check_while(&mut |now| {
            progress(now);
            Ok(())
        })
    }

    /// As [`Engine::check`], for as long as `go_on` returns no error.
    ///
    /// # Errors
    /// As [`check::check`].
    pub fn check_while(&self, go_on: WatchProgress<'_>) -> Result<CheckReport, StorageError> {
        check::check(self.shared(), go_on)
    }

    /// Switches background back-out.
    pub fn set_auto_backout(&self, on: bool) {
        self.shared().auto_backout.store(on, Ordering::Relaxed);
        self.shared().transactions.housekeeping.wake();
    }

    /// Sets who removes old versions.
    pub fn set_gc_policy(&self, policy: GcPolicy) {
        self.shared().gc_policy.store(policy as u8, Ordering::Relaxed);
        self.shared().transactions.housekeeping.wake();
    }

    /// Who removes old versions.
    pub fn gc_policy(&self) -> GcPolicy {
        GcPolicy::from_u8(self.shared().gc_policy.load(Ordering::Relaxed))
    }

    /// Sets the interval of sweeps that start by themselves; 0 = never.
    pub fn set_sweep_interval(&self, interval: u64) {
        self.shared().sweep_interval.store(interval, Ordering::Relaxed);
        self.shared().transactions.housekeeping.wake();
    }
}
