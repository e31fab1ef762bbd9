//! Tables, sequences and indexes: made, dropped, found by their numbers.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Engine;
use crate::StorageError;
use crate::heap::layout::ColumnSpec;
use crate::heap::{Heap, root};
use crate::index::{self, Index, IndexProgress, IndexSpec};
use crate::mini::Mini;
use crate::page::{ObjectId, TxnId};
use crate::rules::{Rule, disabled};
use crate::sequence::{self, Sequence, SequenceSpec};
use crate::space::Growth;
use crate::txn::frame::Voidable;
use crate::txn::transaction::{Txn, note_object};
use crate::unlogged::Load;
use crate::version::entry::EntryKind;
use crate::wal::RecordKind;

impl Engine {
    /// Creates a table.
    ///
    /// # Errors
    /// `Full`, `TooLarge` for too many or too wide columns.
    pub fn create_heap(&self, txn: &mut Txn, columns: &[ColumnSpec]) -> Result<ObjectId, StorageError> {
        let object = ObjectId(self.shared().next_object.fetch_add(1, Ordering::AcqRel));
        self.create_heap_with_id(txn, object, columns)?;
        Ok(object)
    }

    /// As [`Engine::create_heap`], of a table that is not logged: neither are its indexes, and all of them are gone after
    /// anything but a clean shutdown (U2).
    ///
    /// # Errors
    /// As [`Engine::create_heap`].
    pub fn create_unlogged_heap(
        &self,
        txn: &mut Txn,
        columns: &[ColumnSpec],
    ) -> Result<ObjectId, StorageError> {
        let object = ObjectId(self.shared().next_object.fetch_add(1, Ordering::AcqRel));
        self.check_width(columns)?;
        self.create_object(txn, object, (root::TABLE, true), columns, None)?;
        Ok(object)
    }

    /// Whether a table or index is not logged.
    pub fn is_unlogged(&self, object: ObjectId) -> bool {
        self.shared().core().unlogged.contains(object)
    }

    /// Whether there is an object with this number.
    pub fn has_object(&self, object: ObjectId) -> bool {
        self.shared().roots.lock().contains_key(&object)
    }

    /// Begins to load a table without log, which [`UnloggedLoad::end`] ends; `None` where the log has to tell of all rows,
    /// because it is archived or a base backup runs.
    pub fn begin_unlogged_load(&self) -> Option<UnloggedLoad<'_>> {
        let shared = self.shared();
        if shared.store.archiver.is_on() {
            return None;
        }
        let load = shared.core().unlogged.begin_load()?;
        Some(UnloggedLoad { engine: self, _load: load })
    }

    /// Creates a table of the catalog under a number below [`Engine::FIRST_USER_OBJECT`].
    ///
    /// # Errors
    /// As [`Engine::create_heap`].
    pub fn create_heap_with_id(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        columns: &[ColumnSpec],
    ) -> Result<(), StorageError> {
        self.check_width(columns)?;
        self.create_object(txn, object, (root::TABLE, false), columns, None)
    }

    /// Says which columns tables of the catalog have that are made when [`Engine::heap`] is asked for them, so that those that
    /// nobody needs take no page.
    ///
    /// # Errors
    /// `TooLarge` for too many or too wide columns.
    pub fn declare_heaps(
        &self,
        tables: impl IntoIterator<Item = (ObjectId, Vec<ColumnSpec>)>,
    ) -> Result<(), StorageError> {
        let tables: Vec<_> = tables.into_iter().collect();
        tables.iter().try_for_each(|(_, columns)| self.check_width(columns))?;
        self.inner.declared.lock().extend(tables);
        Ok(())
    }

    /// The declared table with this number, made now. No transaction has made it: no rollback takes it away from those who use it
    /// from now on.
    #[cold]
    fn declared_heap(&self, object: ObjectId) -> Result<Arc<Heap>, StorageError> {
        let shared = self.shared();
        // Only one makes it.
        let declared = self.inner.declared.lock();
        let columns = declared.get(&object).ok_or(StorageError::NoSuchObject(object))?;
        if !self.has_object(object) {
            shared.space.keep_reserve(shared.core())?;
            let mut mini = Mini::begin(shared.core(), TxnId::NONE);
            let run = shared.space.begin(&mut mini, object)?;
            let handle = mini.create(run.first)?;
            let payload = root::init_payload(run.first, object, run.pages, root::TABLE, columns);
            mini.apply(handle, RecordKind::ROOT_INIT, &payload)?;
            mini.commit_with(|_, _| {
                shared.roots.lock().insert(object, run.first);
            })?;
        }
        shared.heap(object)
    }

    /// Whether a page has room for a record of these columns.
    fn check_width(&self, columns: &[ColumnSpec]) -> Result<(), StorageError> {
        let page_size = self.shared().page_size;
        let width = crate::heap::layout::PageLayout::new(columns.iter().copied(), 1).end;
        let too_large = |what: &str, size: usize, limit: usize| StorageError::TooLarge {
            what: what.into(),
            size: size as u64,
            limit: limit as u64,
        };
        if columns.len() > root::MAX_COLUMNS {
            return Err(too_large("the list of columns", columns.len() * 4, root::MAX_COLUMNS * 4));
        }
        if width > page_size {
            return Err(too_large("a row", width, page_size));
        }
        Ok(())
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> usize {
        self.shared().page_size
    }

    /// Creates a sequence.
    ///
    /// # Errors
    /// `Full`.
    pub fn create_sequence(&self, txn: &mut Txn, spec: SequenceSpec) -> Result<ObjectId, StorageError> {
        self.make_sequence(txn, spec, false)
    }

    /// As [`Engine::create_sequence`], not logged: it is gone after anything but a clean shutdown (U2).
    ///
    /// # Errors
    /// `Full`.
    pub fn create_unlogged_sequence(
        &self,
        txn: &mut Txn,
        spec: SequenceSpec,
    ) -> Result<ObjectId, StorageError> {
        self.make_sequence(txn, spec, true)
    }

    fn make_sequence(
        &self,
        txn: &mut Txn,
        spec: SequenceSpec,
        unlogged: bool,
    ) -> Result<ObjectId, StorageError> {
        let object = ObjectId(self.shared().next_object.fetch_add(1, Ordering::AcqRel));
        let body = sequence::body(&spec, spec.start, false);
        self.create_object(txn, object, (root::SEQUENCE, unlogged), &[], Some(body))?;
        Ok(object)
    }

    fn create_object(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        (kind, unlogged): (u8, bool),
        columns: &[ColumnSpec],
        body: Option<Vec<u8>>,
    ) -> Result<(), StorageError> {
        let shared = Arc::clone(self.shared());
        if unlogged {
            shared.core().unlogged.insert(object);
        }
        let made = self.make_object(txn, object, (kind, unlogged), columns, body);
        if made.is_err() {
            shared.core().unlogged.remove(object);
        }
        made
    }

    fn make_object(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        (kind, unlogged): (u8, bool),
        columns: &[ColumnSpec],
        body: Option<Vec<u8>>,
    ) -> Result<(), StorageError> {
        txn.begin_write()?;
        let shared = Arc::clone(self.shared());
        if !txn.makes_room() {
            shared.space.keep_reserve(shared.core())?;
        }
        let mut mini = txn.begin_mini(&shared);
        if unlogged && !disabled(Rule::U1) {
            mini.state(RecordKind::UNLOGGED, &object.0.to_le_bytes())?;
        }
        // The note first: allocations that may fail come before any change.
        note_object(&shared, txn, &mut mini, EntryKind::CreateObject, object)?;
        mini.use_reserve();
        let run = shared.space.begin(&mut mini, object)?;
        let handle = mini.create(run.first)?;
        mini.apply(
            handle,
            RecordKind::ROOT_INIT,
            &root::init_payload(run.first, object, run.pages, kind, columns),
        )?;
        if let Some(body) = body {
            mini.apply(handle, RecordKind::PATCH, &body)?;
        }
        let lsns = mini.commit_with(|_, _| {
            shared.roots.lock().insert(object, run.first);
        })?;
        txn.wrote(lsns);
        if let Some(frame) = txn.frame() {
            frame.created.push(object);
        }
        Ok(())
    }

    /// Drops a table or sequence: its pages go back after the commit, behind the horizon.
    ///
    /// # Errors
    /// `NoSuchObject`, `Full`.
    pub fn drop_object(&self, txn: &mut Txn, object: ObjectId) -> Result<(), StorageError> {
        let shared = Arc::clone(self.shared());
        if !shared.roots.lock().contains_key(&object) {
            return Err(StorageError::NoSuchObject(object));
        }
        txn.begin_write()?;
        let mut mini = txn.begin_mini(&shared);
        let pointer = note_object(&shared, txn, &mut mini, EntryKind::DropObject, object)?;
        let lsns = mini.commit()?;
        txn.wrote(lsns);
        if let Some(frame) = txn.frame() {
            frame.voids.push(Voidable { pointer, own_value: None });
        }
        txn.forbids_nothing(object);
        Ok(())
    }

    /// The table with this number.
    ///
    /// # Errors
    /// `NoSuchObject`, `Corrupt`, `Io`; `Full` for one that is to be made (see [`Engine::declare_heaps`]).
    pub fn heap(&self, object: ObjectId) -> Result<Arc<Heap>, StorageError> {
        match self.shared().heap(object) {
            Err(StorageError::NoSuchObject(_)) => self.declared_heap(object),
            found => found,
        }
    }

    /// The sequence with this number.
    ///
    /// # Errors
    /// `NoSuchObject`, `Corrupt`, `Io`.
    pub fn sequence(&self, object: ObjectId) -> Result<Arc<Sequence>, StorageError> {
        let root =
            self.shared().roots.lock().get(&object).copied().ok_or(StorageError::NoSuchObject(object))?;
        let mut sequences = self.inner.sequences.lock();
        if let Some(sequence) = sequences.get(&object) {
            return Ok(Arc::clone(sequence));
        }
        let sequence = Arc::new(Sequence::load(self.shared(), object, root)?);
        sequences.insert(object, Arc::clone(&sequence));
        Ok(sequence)
    }

    /// The sequences that there are stand where they are, and not ahead.
    pub(super) fn settle_sequences(&self) -> Result<(), StorageError> {
        let known: Vec<Arc<Sequence>> = self.inner.sequences.lock().values().cloned().collect();
        let is_there =
            |sequence: &&Arc<Sequence>| self.shared().roots.lock().contains_key(&sequence.object());
        known.iter().filter(is_there).try_for_each(|sequence| sequence.settle())
    }

    /// Creates an index and fills it with what the table holds. The caller holds a lock on the table that keeps writers
    /// away; `progress` may end it early.
    ///
    /// # Errors
    /// `Unique` when two records have the same key of a unique index; `Cancelled`; `NoSuchObject`, `TooLarge`, `Full`.
    pub fn create_index(
        &self,
        txn: &mut Txn,
        spec: IndexSpec,
        progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
    ) -> Result<ObjectId, StorageError> {
        let made = self.create_indexes(txn, vec![spec], progress)?;
        Ok(made[0])
    }

    /// As [`Engine::create_index`], several of one table from one scan; in the order of their specifications.
    ///
    /// # Errors
    /// As [`Engine::create_index`].
    pub fn create_indexes(
        &self,
        txn: &mut Txn,
        specs: Vec<IndexSpec>,
        progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
    ) -> Result<Vec<ObjectId>, StorageError> {
        let shared = Arc::clone(self.shared());
        let Some(table) = specs.first().map(|spec| spec.table) else { return Ok(Vec::new()) };
        assert!(specs.iter().all(|spec| spec.table == table), "indexes of one table are built together");
        let heap = shared.heap(table)?;
        index::validate(&heap, &specs)?;
        let mut new = Vec::with_capacity(specs.len());
        for spec in specs {
            new.push(self.create_index_object(txn, spec)?);
        }
        let objects = new.iter().map(|(object, _, _)| *object).collect();
        index::create(txn, &heap, new, progress)?;
        Ok(objects)
    }

    /// As [`Engine::create_index`] while writers go on: the caller's lock keeps away only others who change the table's
    /// definition or build indexes of it. Until the transaction has ended nobody else knows the index but for its keys,
    /// if it is unique: who comes with one that is there is refused, and may ask it for its `label`.
    ///
    /// # Errors
    /// As [`Engine::create_index`]; `TooLarge` where more changes were undone meanwhile than the job's memory has room for.
    pub fn create_index_concurrently(
        &self,
        txn: &mut Txn,
        spec: IndexSpec,
        label: &str,
        progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
    ) -> Result<ObjectId, StorageError> {
        let heap = self.shared().heap(spec.table)?;
        index::validate(&heap, std::slice::from_ref(&spec))?;
        let new = self.create_index_object(txn, spec)?;
        let object = new.0;
        index::create_concurrently(txn, &heap, new, label, progress)?;
        Ok(object)
    }

    /// An index object without a tree.
    fn create_index_object(&self, txn: &mut Txn, spec: IndexSpec) -> Result<index::New, StorageError> {
        let shared = self.shared();
        let object = ObjectId(shared.next_object.fetch_add(1, Ordering::AcqRel));
        let mut body = Vec::new();
        root::patch(&mut body, root::TREE, &root::NO_TREE.to_le_bytes());
        root::patch(&mut body, root::BODY, &spec.encode());
        let unlogged = shared.core().unlogged.contains(spec.table);
        self.create_object(txn, object, (root::INDEX, unlogged), &[], Some(body))?;
        let root = shared.roots.lock().get(&object).copied().ok_or(StorageError::NoSuchObject(object))?;
        Ok((object, root, spec))
    }

    /// What an index is of, as its root says; `None` where there is no such index.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn index_spec(&self, object: ObjectId) -> Result<Option<IndexSpec>, StorageError> {
        let shared = self.shared();
        let Some(root) = shared.roots.lock().get(&object).copied() else { return Ok(None) };
        if shared.object_kind(root)? != root::INDEX {
            return Ok(None);
        }
        Index::read_spec(shared, object, root).map(|(spec, _)| Some(spec))
    }

    /// The index with this number.
    ///
    /// # Errors
    /// `NoSuchObject`, `Corrupt`, `Io`.
    pub fn index(&self, object: ObjectId) -> Result<Arc<Index>, StorageError> {
        let missing = || StorageError::NoSuchObject(object);
        let shared = self.shared();
        let root = shared.roots.lock().get(&object).copied().ok_or_else(missing)?;
        if shared.object_kind(root)? != root::INDEX {
            return Err(missing());
        }
        let (spec, _) = Index::read_spec(shared, object, root)?;
        let list = shared.heap(spec.table)?.indexes.list();
        list.iter().find(|index| index.object() == object).cloned().ok_or_else(missing)
    }

    /// Sets how large extents of a table are from now on.
    pub fn set_growth(&self, object: ObjectId, growth: Growth) {
        self.shared().space.set_growth(object, growth);
    }
}

/// A table is being loaded without log. Dropped before its end, the objects stay unlogged, and are for a rollback only.
pub struct UnloggedLoad<'e> {
    engine: &'e Engine,
    _load: Load<'e>,
}

impl UnloggedLoad<'_> {
    /// Makes the rows of a table that `txn` has created, and its indexes, durable in their places; from then on they are logged
    /// like others. Nobody else knows the table yet.
    ///
    /// # Errors
    /// `NoSuchObject`, `Full`; failed writes and syncs, which poison.
    pub fn end(self, txn: &mut Txn, table: ObjectId) -> Result<(), StorageError> {
        let shared = self.engine.shared();
        let heap = shared.heap(table)?;
        // Sweep, which finds every table there is, keeps away (U4).
        let gate = heap.indexes.close();
        let mut objects: Vec<ObjectId> = heap.indexes.list().iter().map(|index| index.object()).collect();
        objects.push(table);
        let runs: Vec<_> = objects.iter().flat_map(|object| shared.space.extents_of(*object)).collect();
        if !disabled(Rule::U4) {
            shared.store.flush_unlogged(&runs)?;
        }
        let id = txn.begin_write()?;
        let mut mini = Mini::begin(shared.core(), id);
        for object in &objects {
            mini.state(RecordKind::LOADED, &object.0.to_le_bytes())?;
        }
        let unlogged = &shared.core().unlogged;
        let lsns = mini.commit_with(|_, _| objects.iter().for_each(|object| unlogged.remove(*object)))?;
        drop(gate);
        txn.wrote(lsns);
        Ok(())
    }
}
