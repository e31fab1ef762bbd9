//! The catalog of an open database: which version a statement sees, and who may change it.
//!
//! ```text
//! statement ──view──► which changes of the schema it sees: one number ──► cache: number ─► CatalogSnapshot
//!                                                       └ miss: read by the same view what may differ from a number that
//!                                                               is there, else all of the system tables
//! ```
//!
//! C1. Views that see the same changes of the schema have the same number (`versions.rs`), so two statements that have the
//!     same one see the same definitions, whoever committed what in between: the cache needs no invalidation, neither at
//!     commit nor at ROLLBACK [TO].
//! C2. A change is announced before its rows are written. Transactions that change different things go on side by side;
//!     what a change relies on it has under locks (`ddl/claim.rs`).
//! C3. A snapshot is never loaded in the middle of a change.
//! C4. READ UNCOMMITTED reads the catalog as READ COMMITTED does, but for its own changes.
//! C5. As long as nothing is announced, every view that is at least as young as one that saw all announced changes
//!     ended sees the same number: then nothing need be looked up.
//! C6. Whoever is to change a table's rows locks it, and then asks whether the definition that it knows is still the newest
//!     one ([`Catalog::is_current`]): the one who kept it waiting may have given the table another heap.
//! C7. A version that was made from another one is as if all had been read. Debug builds read all each time, and compare.

mod opening;
mod settled;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use verso_env::sync::Mutex;
use verso_storage::{Engine, Isolation, Sequence, Txn, TxnOptions};

use crate::definition::{IndexDef, Oid, TableDef};
use crate::error::CatalogError;
use crate::lost::Lost;
use crate::partition::Bound;
use crate::places::Places;
use crate::snapshot::CatalogSnapshot;
use crate::system::assemble::Base;
use crate::system::gather;
use crate::versions::Versions;
use settled::Settled;

/// Snapshots kept for statements to come: several, as transactions of different ages see different versions.
const CACHED_VERSIONS: usize = 16;
/// Fewer of them, but so many, where they would take more than [`CACHED_BYTES`] if they shared nothing.
const VERSIONS_MIN: usize = 8;
const CACHED_BYTES: usize = 64 << 20;
/// Up to so many changed objects are read one by one, however few there are.
const CHANGED_MIN: usize = 256;

/// The catalog of one open database; shared by its sessions.
pub struct Catalog {
    pub(crate) engine: Engine,
    /// Who changes the schema, and what that makes of it.
    versions: Mutex<Versions>,
    /// Changes announced so far.
    announced: AtomicU64,
    /// What C5 is told from.
    settled: Settled,
    /// The latest used first.
    cache: Mutex<VecDeque<Arc<CatalogSnapshot>>>,
    /// Roughly what the versions in it take.
    cached_bytes: AtomicU64,
    /// Numbers for new entries; known once the catalog is.
    oids: OnceLock<Arc<Sequence>>,
    /// Where rows of system tables are.
    pub(crate) places: Mutex<Places>,
    /// What could not be read of them.
    pub(crate) lost: Lost,
    /// How often all was read.
    #[cfg(test)]
    read_whole: AtomicU64,
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Catalog").field("announced", &self.announced).finish_non_exhaustive()
    }
}

/// What a table was in an earlier state, beside what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Was {
    /// Its records of then are those that it has versions of.
    Same,
    /// The rows of this table, it or a partition, have been written anew since then: there are no versions of before.
    Rewritten(Arc<str>),
    /// Its columns or partitions were others, or there was no such table.
    Other,
}

impl Catalog {
    /// What the transaction's current statement sees: its own changes, and others' as its isolation level has it.
    ///
    /// Costs next to nothing while the version seen is among the last sixteen used; otherwise the system tables are read.
    ///
    /// # Errors
    /// `Corrupt` if the system tables contradict each other; those of storage.
    pub fn snapshot(&self, txn: &Txn) -> Result<Arc<CatalogSnapshot>, CatalogError> {
        if txn.isolation() == Isolation::ReadUncommitted && !self.changed_by(txn) {
            return self.committed();
        }
        self.snapshot_of(txn)
    }

    /// What is committed at this moment.
    pub(crate) fn committed(&self) -> Result<Arc<CatalogSnapshot>, CatalogError> {
        let mut committed = self.engine.begin(internal(true));
        committed.begin_statement()?;
        let snapshot = self.snapshot_of(&committed)?;
        committed.end_statement()?;
        committed.commit(verso_storage::CommitMode::Wait)?;
        Ok(snapshot)
    }

    /// Whether rows of a table, which the transaction has locked, may be changed as the catalog of this version says
    /// (C6). Costs a few loads, unless somebody has just changed the schema or is about to.
    ///
    /// # Errors
    /// As [`Catalog::snapshot`].
    pub fn is_current(&self, table: &TableDef, version: u64, txn: &Txn) -> Result<bool, CatalogError> {
        let unique = |table: &TableDef| -> Vec<_> {
            table.indexes.iter().filter(|index| index.unique).map(|index| index.oid).collect()
        };
        // Storage keeps other indexes in step by itself.
        self.is_still(table, version, txn, |now| {
            now.name == table.name
                && now.heap == table.heap
                && now.columns == table.columns
                && now.constraints == table.constraints
                && now.referenced_by == table.referenced_by
                && now.triggers == table.triggers
                && now.partitioned == table.partitioned
                && now.partition_of == table.partition_of
                && unique(now) == unique(table)
        })
    }

    /// As [`Catalog::is_current`] for who has locked a table for its own sake: it still has the name, the rows and the partitions that it
    /// has in this version. Whatever else has changed of it is no reason to begin anew, so that sessions which go on changing it do not
    /// keep off who has the lock now.
    ///
    /// # Errors
    /// As [`Catalog::snapshot`].
    pub fn is_still_there(&self, table: &TableDef, version: u64, txn: &Txn) -> Result<bool, CatalogError> {
        self.is_still(table, version, txn, |now| {
            (&now.schema, &now.name) == (&table.schema, &table.name)
                && now.heap == table.heap
                && now.partitioned == table.partitioned
                && now.partition_of == table.partition_of
        })
    }

    /// As [`Catalog::is_current`] for who changes the definition: nothing of it may be another by now.
    ///
    /// # Errors
    /// As [`Catalog::snapshot`].
    pub(crate) fn is_unchanged(
        &self,
        table: &TableDef,
        version: u64,
        txn: &Txn,
    ) -> Result<bool, CatalogError> {
        self.is_still(table, version, txn, |now| now == table)
    }

    /// Whether a table is the `same` to everybody as it is in this version, or nobody else can have changed it.
    fn is_still(
        &self,
        table: &TableDef,
        version: u64,
        txn: &Txn,
        same: impl Fn(&TableDef) -> bool,
    ) -> Result<bool, CatalogError> {
        let announced = self.announced.load(Ordering::Acquire);
        if self.settled.version(announced, u64::MAX) == Some(version) {
            return Ok(true);
        }
        let newest = self.committed()?;
        let (is_own, beside) = self.with_versions(|versions| {
            let is_own = versions.is_held(txn, table.oid)
                || (versions.is_changed_by(txn) && versions.differ_in_own_only(version, newest.version));
            (is_own, versions.is_held_beside(txn, table.oid))
        });
        if is_own || newest.version == version {
            return Ok(true);
        }
        let Some(now) = newest.table_by_oid(table.oid) else { return Ok(false) };
        let knows = |index: &Arc<IndexDef>| table.all_indexes().any(|own| own.oid == index.oid);
        Ok(same(&now) || beside && now.heap == table.heap && now.all_indexes().all(knows))
    }

    /// Whether a partition takes the rows that it takes in `seen`, the catalog of a statement: what a default partition takes is said
    /// by the bounds of those beside it, which may come and go while it stays as it is.
    ///
    /// # Errors
    /// As [`Catalog::snapshot`].
    pub fn takes_the_same(
        &self,
        table: &TableDef,
        seen: &CatalogSnapshot,
        txn: &Txn,
    ) -> Result<bool, CatalogError> {
        let is_default =
            |part: &TableDef| part.partition_of.as_ref().is_some_and(|of| of.bound == Bound::Default);
        let mut defaults = Vec::new();
        let mut part_is_default = is_default(table);
        for above in seen.tables_above(table) {
            let next = is_default(&above);
            defaults.extend(part_is_default.then_some(above));
            part_is_default = next;
        }
        let announced = self.announced.load(Ordering::Acquire);
        if defaults.is_empty() || self.settled.version(announced, u64::MAX) == Some(seen.version) {
            return Ok(true);
        }
        let newest = self.committed()?;
        Ok(defaults.iter().all(|above| {
            let now = newest.table_by_oid(above.oid);
            now.is_some_and(|now| now.bounds().eq(above.bounds()))
                || self.with_versions(|versions| versions.is_held(txn, above.oid))
        }))
    }

    /// Whether this version is what everybody sees: nobody has just changed the schema or is about to.
    pub(crate) fn is_settled(&self, version: u64) -> bool {
        self.settled.version(self.announced.load(Ordering::Acquire), u64::MAX) == Some(version)
    }

    /// Whether the records of a table and its partitions were those of this definition in an earlier state of the database.
    ///
    /// # Errors
    /// `SnapshotTooOld`; those of storage.
    pub fn was(&self, table: &TableDef, number: u64) -> Result<Was, CatalogError> {
        let mut txn = self.engine.begin(TxnOptions { isolation: Isolation::Snapshot, ..internal(true) });
        txn.import_snapshot(&number.to_string())?;
        txn.begin_statement()?;
        let newest = self.committed()?;
        // What was changed before the database was opened is not among the versions that are told apart, and of what has
        // changed since it is not known any more where the rows were.
        let is_newest = number >= self.engine.first_number() && self.visible_version(&txn) == newest.version;
        let then = match is_newest {
            true => newest,
            false => gather::all(self, &txn)?.assemble(0, None)?.of_database(&self.engine),
        };
        txn.end_statement()?;
        txn.commit(verso_storage::CommitMode::Wait)?;
        let Some(whole) = then.table_by_oid(table.oid) else { return Ok(Was::Other) };
        let below = |table: &TableDef| -> Vec<Arc<TableDef>> {
            let parts = table.partitioned.iter().flat_map(|it| &it.partitions);
            parts.flat_map(|part| part.with_partitions()).collect()
        };
        let (parts_then, parts) = (below(&whole), below(table));
        let is_among = |oid: Oid, all: &[Arc<TableDef>]| all.iter().any(|one| one.oid == oid);
        // A partition that was made since then has no rows of that time; one that was a table by itself may have.
        let joined =
            |now: &Arc<TableDef>| !is_among(now.oid, &parts_then) && then.table_by_oid(now.oid).is_some();
        if parts_then.iter().any(|part| !is_among(part.oid, &parts)) || parts.iter().any(joined) {
            return Ok(Was::Other);
        }
        let pairs = parts_then.iter().filter_map(|then| {
            let now = parts.iter().find(|now| now.oid == then.oid)?;
            Some((&**then, &**now, then.partition_of == now.partition_of))
        });
        let mut was = Was::Same;
        for (then, now, is_placed) in std::iter::once((&*whole, table, true)).chain(pairs) {
            let columns = |table: &TableDef| -> Vec<_> {
                table.columns.iter().map(|column| (column.id, column.ty.clone())).collect()
            };
            if columns(then) != columns(now) || !is_placed {
                return Ok(Was::Other);
            }
            if then.heap != now.heap {
                was = Was::Rewritten(Arc::clone(&now.name));
            }
        }
        Ok(was)
    }

    /// As [`Catalog::snapshot`], for who keeps the last one: most of the time the same is right again, and costs no more
    /// than a few loads.
    ///
    /// # Errors
    /// As [`Catalog::snapshot`].
    pub fn refresh(&self, txn: &Txn, known: &mut Option<Arc<CatalogSnapshot>>) -> Result<(), CatalogError> {
        if let (Some(known), Some((number, _))) = (&*known, txn.seen())
            && self.settled.version(self.announced.load(Ordering::Acquire), number) == Some(known.version)
        {
            return Ok(());
        }
        *known = Some(self.snapshot(txn)?);
        Ok(())
    }

    /// Whether a view of this number, of a transaction that has not changed the schema, sees this version. `false` where
    /// that is not known at once.
    #[inline]
    pub fn is_seen(&self, version: u64, number: u64) -> bool {
        self.settled.version(self.announced.load(Ordering::Acquire), number) == Some(version)
    }

    fn snapshot_of(&self, txn: &Txn) -> Result<Arc<CatalogSnapshot>, CatalogError> {
        let number = self.visible_version(txn);
        let mut cache = self.cache.lock();
        if let Some(at) = cache.iter().position(|snapshot| snapshot.version == number) {
            let snapshot = Arc::clone(&cache[at]);
            if at > 0 {
                cache.remove(at);
                cache.push_front(Arc::clone(&snapshot));
            }
            return Ok(snapshot);
        }
        let known: Vec<_> = cache.iter().cloned().collect();
        drop(cache);
        let snapshot = self.load_version(txn, number, &known)?.of_database(&self.engine);
        let mut cache = self.cache.lock();
        // Another thread may have loaded the same version meanwhile: all shall share one.
        if let Some(other) = cache.iter().find(|other| other.version == number) {
            return Ok(Arc::clone(other));
        }
        let bytes = snapshot.heap_bytes();
        cache.push_front(Arc::clone(&snapshot));
        // Versions that were made from each other share most; how much is not known.
        let versions = (CACHED_BYTES / bytes.max(1)).clamp(VERSIONS_MIN, CACHED_VERSIONS);
        cache.truncate(versions);
        let cached = bytes + (cache.len() - 1) * bytes / 16;
        drop(cache);
        self.cached_bytes.store(cached as u64, Ordering::Relaxed);
        Ok(snapshot)
    }

    /// The version with this number, which the transaction's statement sees: made from one of those that are known, where that
    /// is less work than to read all.
    fn load_version(
        &self,
        txn: &Txn,
        number: u64,
        known: &[Arc<CatalogSnapshot>],
    ) -> Result<Arc<CatalogSnapshot>, CatalogError> {
        let relations = known.iter().map(|base| base.relations_count()).max().unwrap_or(0);
        let most = CHANGED_MIN.max(relations / 4);
        let numbers = known.iter().map(|base| base.version);
        let nearest = self.with_versions(|versions| versions.nearest(number, numbers, most));
        if let Some((at, touched)) = nearest {
            let base = &known[at];
            let (rows, changed) = gather::changed(self, txn, base, &touched)?;
            if let Some(made) = rows.assemble_over(number, Base { snapshot: base, changed: &changed })? {
                #[cfg(debug_assertions)]
                {
                    let whole = gather::all(self, txn)?.assemble(number, Some(base))?;
                    assert!(made.says_the_same(&whole), "{}", made.first_difference(&whole));
                }
                return Ok(made);
            }
        }
        #[cfg(test)]
        self.read_whole.fetch_add(1, Ordering::Relaxed);
        gather::all(self, txn)?.assemble(number, known.first().map(|previous| &**previous))
    }

    /// Roughly the memory that the versions of the catalog take which are kept, with what finds the rows of system tables.
    pub fn heap_bytes(&self) -> u64 {
        self.cached_bytes.load(Ordering::Relaxed) + self.places.lock().heap_bytes() as u64
    }

    /// Whether a version has all changes that others have committed.
    pub(crate) fn is_newest(&self, txn: &Txn, version: u64) -> Result<bool, CatalogError> {
        let newest = self.committed()?.version;
        Ok(newest == version
            || self.with_versions(|versions| {
                versions.is_changed_by(txn) && versions.differ_in_own_only(version, newest)
            }))
    }

    pub(crate) fn with_versions<T>(&self, work: impl FnOnce(&mut Versions) -> T) -> T {
        work(&mut self.versions.lock())
    }

    /// Changes the schema: announces it (C2), then runs `work`, which writes the rows.
    ///
    /// The work is a statement within the caller's: it takes a view of its own, which sees what it has written itself
    /// even when this is the transaction's first change.
    ///
    /// # Errors
    /// `Conflict` if another transaction has changed something behind the back of the caller's view that this one relies on;
    /// those of `work`.
    pub(crate) fn change<T>(
        &self,
        txn: &mut Txn,
        work: impl FnOnce(&mut Txn) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        self.announce(txn)?;
        txn.begin_statement()?;
        Self::ended(txn, work)
    }

    /// The same of rows that no definition is made of: the work sees those of others that are committed by now, whatever the level.
    ///
    /// # Errors
    /// As [`Catalog::change`].
    pub(crate) fn change_now<T>(
        &self,
        txn: &mut Txn,
        work: impl FnOnce(&mut Txn) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        self.announce(txn)?;
        txn.begin_statement_now()?;
        Self::ended(txn, work)
    }

    /// A part of a change that has begun, which sees what is committed by now, as [`Catalog::change_now`] does.
    ///
    /// # Errors
    /// Those of `work`; storage's.
    pub(crate) fn within_change_now<T>(
        txn: &mut Txn,
        work: impl FnOnce(&mut Txn) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        txn.begin_statement_now()?;
        Self::ended(txn, work)
    }

    /// The transaction has changed the schema and has committed, which is in the log: what it saw last others need not make anew
    /// (V5 of `versions.rs`). Nobody has to say so: without it they read what the transaction has touched.
    pub fn has_committed(&self, txn: &Txn) {
        self.with_versions(|versions| versions.committed(txn));
    }

    fn announce(&self, txn: &mut Txn) -> Result<(), CatalogError> {
        self.forget_empty_places()?;
        let id = txn.assign_id()?;
        let mut versions = self.versions.lock();
        versions.announce(&self.engine, id);
        self.announced.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Does the work of a statement that has begun, and ends that.
    fn ended<T>(
        txn: &mut Txn,
        work: impl FnOnce(&mut Txn) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        match work(txn) {
            Ok(value) => {
                txn.end_statement()?;
                Ok(value)
            }
            Err(error) => {
                txn.abort_statement()?;
                Err(error)
            }
        }
    }

    /// A number for a new entry.
    pub(crate) fn new_oid(&self) -> Result<Oid, CatalogError> {
        let number = self
            .oids
            .get()
            .ok_or_else(|| CatalogError::Corrupt { what: "no numbers".to_string() })?
            .next_value()?;
        // Larger numbers are those of arrays of row types.
        let number = u32::try_from(number).ok().filter(|number| *number < crate::row_type::ARRAY);
        number
            .map(Oid)
            .ok_or_else(|| CatalogError::Corrupt { what: "no numbers left for new objects".to_string() })
    }

    pub(crate) fn changed_by(&self, txn: &Txn) -> bool {
        self.with_versions(|versions| versions.is_changed_by(txn))
    }

    /// Whether a table has the columns and the heap to everybody that a transaction sees of it `now`: the transaction itself has
    /// not changed them.
    ///
    /// # Errors
    /// As [`Catalog::snapshot`].
    pub fn is_committed(&self, table: Oid, now: Option<&TableDef>) -> Result<bool, CatalogError> {
        let newest = self.committed()?.table_by_oid(table);
        Ok(match (newest, now) {
            (Some(newest), Some(now)) => newest.heap == now.heap && newest.columns == now.columns,
            (newest, now) => newest.is_none() && now.is_none(),
        })
    }

    fn visible_version(&self, txn: &Txn) -> u64 {
        let announced = self.announced.load(Ordering::Acquire);
        let seen = txn.seen();
        if let Some((number, _)) = seen
            && let Some(version) = self.settled.version(announced, number)
        {
            return version;
        }
        let mut versions = self.versions.lock();
        let version = versions.of(&self.engine, txn);
        if let Some((number, all_below)) = seen
            && versions.all_below(all_below)
            && self.announced.load(Ordering::Acquire) == announced
        {
            self.settled.set(announced, number, version);
        }
        version
    }
}

/// Options of a transaction of the catalog's own.
fn internal(read_only: bool) -> TxnOptions {
    TxnOptions { isolation: Isolation::ReadCommitted, savepoints: true, read_only }
}

#[cfg(test)]
mod tests {
    use verso_env::Env;
    use verso_storage::EngineOptions;
    use verso_types::SqlType;

    use super::*;
    use crate::request::{NewColumn, NewConstraint, NewConstraintKind, NewTable};

    /// An empty database.
    fn new_catalog() -> (tempfile::TempDir, Catalog) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.verso");
        let engine = Engine::create(Env::real(), &path, EngineOptions::default()).unwrap();
        let catalog = Catalog::bootstrap(&engine).unwrap();
        (directory, catalog)
    }

    fn new_table(name: &str) -> NewTable {
        NewTable::new(name, vec![NewColumn::new("id", SqlType::Int4), NewColumn::new("b", SqlType::Text)])
    }

    fn statement<T>(catalog: &Catalog, work: impl FnOnce(&mut Txn) -> Result<T, CatalogError>) -> T {
        let mut txn = catalog.engine.begin(internal(false));
        txn.begin_statement().unwrap();
        let done = work(&mut txn).unwrap();
        txn.end_statement().unwrap();
        txn.commit(verso_storage::CommitMode::Wait).unwrap();
        done
    }

    #[test]
    fn definitions_read_what_they_touch_and_leave_no_places_behind() {
        let (_directory, catalog) = new_catalog();
        let rounds = |from: u32, to: u32| {
            for number in from..to {
                let name = format!("t{number}");
                statement(&catalog, |txn| catalog.create_table(txn, &new_table(&name), false));
                assert!(catalog.committed().unwrap().table(None, &name).is_some());
                statement(&catalog, |txn| catalog.drop_table(txn, None, &name, false));
                assert!(catalog.committed().unwrap().table(None, &name).is_none());
                // One that is never committed.
                let mut txn = catalog.engine.begin(internal(false));
                txn.begin_statement().unwrap();
                catalog.create_table(&mut txn, &new_table("never"), false).unwrap();
                txn.end_statement().unwrap();
                txn.begin_statement().unwrap();
                assert!(catalog.snapshot(&txn).unwrap().table(None, "never").is_some());
                txn.end_statement().unwrap();
                txn.rollback().unwrap();
                assert!(catalog.committed().unwrap().table(None, "never").is_none());
            }
            catalog.places.lock().len()
        };
        let after_some = rounds(0, 10);
        assert_eq!(after_some, rounds(10, 60));
        assert_eq!(catalog.read_whole.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_long_transaction_of_definitions_leaves_the_version_of_others_as_it_is() {
        let (_directory, catalog) = new_catalog();
        let before = catalog.committed().unwrap();
        let mut txn = catalog.engine.begin(internal(false));
        let mut own = None;
        for number in 0..100 {
            txn.begin_statement().unwrap();
            catalog.create_table(&mut txn, &new_table(&format!("t{number}")), false).unwrap();
            txn.end_statement().unwrap();
            txn.begin_statement().unwrap();
            own = Some(catalog.snapshot(&txn).unwrap());
            txn.end_statement().unwrap();
            // More versions than are remembered do not make this one a new one.
            assert!(Arc::ptr_eq(&catalog.committed().unwrap(), &before));
        }
        assert_eq!(catalog.read_whole.load(Ordering::Relaxed), 0);
        // With the commit its last version becomes that of all.
        txn.commit_logged(verso_storage::CommitMode::Wait).unwrap();
        catalog.has_committed(&txn);
        txn.finish_commit().unwrap();
        let after = catalog.committed().unwrap();
        assert!(own.is_some_and(|own| Arc::ptr_eq(&own, &after)));
        assert_eq!(catalog.read_whole.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_a_transaction_has_taken_back_is_in_nobody_s_version() {
        let (_directory, catalog) = new_catalog();
        let mut txn = catalog.engine.begin(internal(false));
        let create = |txn: &mut Txn, name: &str| {
            txn.begin_statement().unwrap();
            catalog.create_table(txn, &new_table(name), false).unwrap();
            txn.end_statement().unwrap();
            txn.begin_statement().unwrap();
            let seen = catalog.snapshot(txn).unwrap();
            txn.end_statement().unwrap();
            assert!(seen.table(None, name).is_some());
        };
        create(&mut txn, "stays");
        txn.savepoint("s").unwrap();
        create(&mut txn, "goes");
        txn.rollback_to("s").unwrap();
        txn.commit_logged(verso_storage::CommitMode::Wait).unwrap();
        catalog.has_committed(&txn);
        txn.finish_commit().unwrap();
        let after = catalog.committed().unwrap();
        assert!(after.table(None, "stays").is_some() && after.table(None, "goes").is_none());
    }

    #[test]
    fn a_type_that_nothing_names_comes_and_goes_without_a_look_at_the_rest() {
        let (_directory, catalog) = new_catalog();
        let mood = |name: &str| crate::request::NewEnum {
            schema: "public".into(),
            name: name.into(),
            labels: vec!["a".into(), "b".into()],
        };
        let known = |name: &str| catalog.committed().unwrap().type_named(None, name).cloned();
        statement(&catalog, |txn| catalog.create_enum(txn, &mood("free")));
        statement(&catalog, |txn| catalog.create_enum(txn, &mood("used")));
        let free = known("free").unwrap();
        statement(&catalog, |txn| catalog.move_type(txn, &free, None, &"other".into()));
        let free = known("other").unwrap();
        statement(&catalog, |txn| catalog.drop_types(txn, &[Arc::clone(&free)], false));
        assert!(known("other").is_none());
        let used = known("used").unwrap();
        let table = NewTable::new("t", vec![NewColumn::new("a", used.ty.clone())]);
        statement(&catalog, |txn| catalog.create_table(txn, &table, false));
        assert!(known("used").is_some());
        assert_eq!(catalog.read_whole.load(Ordering::Relaxed), 0);
        // The columns of a type have its name in them.
        statement(&catalog, |txn| catalog.move_type(txn, &used, None, &"renamed".into()));
        let seen = catalog.committed().unwrap();
        assert_eq!(seen.table(None, "t").unwrap().columns[0].ty, known("renamed").unwrap().ty);
        assert_eq!(catalog.read_whole.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_schema_with_another_name_is_read_with_all_that_is_in_it() {
        let (_directory, catalog) = new_catalog();
        statement(&catalog, |txn| catalog.create_schema(txn, &"one".into(), None, false));
        let mut table = new_table("t");
        table.schema = Some("one".into());
        let columns = vec!["id".into()];
        let kind = NewConstraintKind::Unique {
            columns,
            primary: true,
            nulls_distinct: true,
            without_overlaps: false,
            include: Vec::new(),
        };
        table.constraints.push(NewConstraint {
            name: None,
            kind,
            deferrable: false,
            initially_deferred: false,
            validated: true,
            enforced: true,
            part_of: None,
            no_inherit: false,
            options: crate::TableOptions::default(),
        });
        statement(&catalog, |txn| catalog.create_table(txn, &table, false));
        statement(&catalog, |txn| catalog.rename_schema(txn, "one", &"two".into()));
        let seen = catalog.committed().unwrap();
        assert!(seen.table(Some("one"), "t").is_none());
        assert_eq!(
            seen.table(Some("two"), "t").map(|table| table.schema.to_string()).as_deref(),
            Some("two")
        );
        assert!(seen.has_constraint("two", "t_pkey") && !seen.has_constraint("one", "t_pkey"));
        assert_eq!(catalog.read_whole.load(Ordering::Relaxed), 1);
    }
}
