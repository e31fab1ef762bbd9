//! Reads and writes rows of the system tables through the heap, as any other table's.
//!
//! W1. A change of rows says which objects they belong to, before it is made (`versions.rs`); where new rows stand is noted
//!     when it is made (`places.rs`).
//! W2. Who looks for rows names objects that they belong to, or reads the whole of a small table.
//! W3. A system table that nothing was ever written to is not there: it has no rows, and is made with the first.

use std::collections::BTreeSet;

use verso_storage::heap::{ScanBatch, ScanSpec};
use verso_storage::page::RecordId;
use verso_storage::{Engine, Txn};

use crate::catalog::Catalog;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::places::Place;
use crate::system::row::{ReadRows, SystemRow};
use crate::system::types::is_type;
use crate::versions::Touched;

/// No row is written that could not be read again: its object would be damaged.
fn check_types<R: SystemRow>(rows: &[R]) -> Result<(), CatalogError> {
    match rows.iter().flat_map(R::types).find(|oid| !is_type(*oid)) {
        None => Ok(()),
        Some(oid) => {
            let text = format!("a definition with the type of number {oid} is not supported");
            Err(CatalogError::invalid("0A000", text))
        }
    }
}

/// Which rows of a system table are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of<'o> {
    /// Those of one object.
    One(Oid),
    /// Those of several.
    Any(&'o BTreeSet<Oid>),
    /// All of them.
    All,
}

impl From<Oid> for Of<'_> {
    fn from(object: Oid) -> Self {
        Of::One(object)
    }
}

impl<'o> From<&'o BTreeSet<Oid>> for Of<'o> {
    fn from(objects: &'o BTreeSet<Oid>) -> Self {
        Of::Any(objects)
    }
}

/// An object with a row that could not be read, and the system table of that.
pub(crate) type UnreadRow = (Oid, &'static str);

impl Of<'_> {
    /// Whether the rows of an object are asked for by its number.
    fn names(&self, object: Oid) -> bool {
        match self {
            Of::One(one) => *one == object,
            Of::Any(objects) => objects.contains(&object),
            Of::All => false,
        }
    }
}

impl Catalog {
    /// Every row of a system table that the transaction's statement sees; notes where they are.
    pub(crate) fn read_all<R: SystemRow>(&self, txn: &Txn) -> Result<Vec<R>, CatalogError> {
        self.read_all_noting(txn, &mut Vec::new())
    }

    /// The same; notes objects with a row that could not be read, and the system table of that.
    pub(crate) fn read_all_noting<R: SystemRow>(
        &self,
        txn: &Txn,
        unread: &mut Vec<UnreadRow>,
    ) -> Result<Vec<R>, CatalogError> {
        let (mut all, known) = (Vec::new(), unread.len());
        let add = |batch: &mut ScanBatch, all: &mut Vec<R>, unread: &mut Vec<UnreadRow>| {
            let mut read = R::from_batch(&batch.batch);
            self.note_read(batch, &read);
            unread.extend(read.unread.iter().map(|(_, object)| (*object, R::TABLE.name)));
            all.append(&mut read.rows);
        };
        match scan::<R>(&self.engine, txn, 0..u32::MAX, &mut |batch| add(batch, &mut all, unread)) {
            Err(CatalogError::Storage(error)) if error.is_of_a_page() => {}
            read => return read.map(|()| all),
        }
        // One page after the other, without those that cannot be read (Y1 of `lost.rs`).
        all.clear();
        unread.truncate(known);
        let pages = match self.engine.heap(R::TABLE.heap) {
            Ok(heap) => heap.page_count(),
            Err(error) if error.is_of_a_page() => {
                self.give_up(R::TABLE, error)?;
                0
            }
            Err(error) => return Err(error.into()),
        };
        for page in 0..pages {
            let mut batches: Vec<ScanBatch> = Vec::new();
            let mut keep = |batch: &mut ScanBatch| batches.push(std::mem::take(batch));
            match scan::<R>(&self.engine, txn, page..page.saturating_add(1), &mut keep) {
                Ok(()) => batches.iter_mut().for_each(|batch| add(batch, &mut all, unread)),
                Err(CatalogError::Storage(error)) if error.is_of_a_page() => self.give_up(R::TABLE, error)?,
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// The rows of these objects that the transaction's statement sees.
    pub(crate) fn read_of<'o, R: SystemRow>(
        &self,
        txn: &Txn,
        of: impl Into<Of<'o>>,
    ) -> Result<Vec<R>, CatalogError> {
        self.read_of_noting(txn, of, &mut Vec::new())
    }

    /// The same; notes objects with a row that could not be read, and the system table of that.
    pub(crate) fn read_of_noting<'o, R: SystemRow>(
        &self,
        txn: &Txn,
        of: impl Into<Of<'o>>,
        unread: &mut Vec<UnreadRow>,
    ) -> Result<Vec<R>, CatalogError> {
        let mut found = Vec::new();
        self.scan_of::<R>(txn, of.into(), &mut |_, mut read| {
            unread.extend(read.unread.iter().map(|(_, object)| (*object, R::TABLE.name)));
            found.append(&mut read.rows);
        })?;
        Ok(found)
    }

    /// Adds rows.
    pub(crate) fn insert_rows<R: SystemRow>(&self, txn: &mut Txn, rows: &[R]) -> Result<(), CatalogError> {
        if rows.is_empty() {
            return Ok(());
        }
        check_types(rows)?;
        self.touch(txn, rows);
        let mut records = Vec::new();
        self.engine.heap(R::TABLE.heap)?.insert(txn, &R::to_batch(rows), Some(&mut records))?;
        self.note(&records, rows);
        Ok(())
    }

    /// Deletes the rows of these objects that `matches`, and gives them back; those of them that cannot be read, too.
    pub(crate) fn delete_rows<'o, R: SystemRow>(
        &self,
        txn: &mut Txn,
        of: impl Into<Of<'o>>,
        matches: impl Fn(&R) -> bool,
    ) -> Result<Vec<R>, CatalogError> {
        let mut deleted = Vec::new();
        for Selected { batch, mut selection, mut rows, unread } in self.select(txn, of.into(), matches)? {
            self.touch(txn, &rows);
            if !unread.is_empty() {
                self.with_versions(|versions| {
                    unread.iter().for_each(|(_, object)| versions.touch(txn, Touched::Object(*object)));
                });
                selection.extend(unread.iter().map(|(at, _)| *at));
                selection.sort_unstable();
            }
            self.engine.heap(R::TABLE.heap)?.delete(txn, &batch, Some(&selection))?;
            deleted.append(&mut rows);
        }
        Ok(deleted)
    }

    /// Changes the rows of these objects that `matches`, as `change` says; how many there were.
    pub(crate) fn update_rows<'o, R: SystemRow>(
        &self,
        txn: &mut Txn,
        of: impl Into<Of<'o>>,
        matches: impl Fn(&R) -> bool,
        change: impl Fn(&mut R),
    ) -> Result<usize, CatalogError> {
        let mut count = 0;
        for Selected { batch, selection, mut rows, .. } in self.select(txn, of.into(), matches)? {
            if rows.is_empty() {
                continue;
            }
            self.touch(txn, &rows);
            rows.iter_mut().for_each(&change);
            check_types(&rows)?;
            self.touch(txn, &rows);
            count += rows.len();
            let heap = self.engine.heap(R::TABLE.heap)?;
            heap.update(txn, &batch, Some(&selection), &R::column_ids(), &R::to_batch(&rows))?;
            let records: Vec<RecordId> = selection.iter().map(|at| batch.records[*at as usize]).collect();
            self.note(&records, &rows);
        }
        Ok(count)
    }

    /// The rows that `matches`, with what the heap needs to change them. All are read before the first is changed.
    fn select<R: SystemRow>(
        &self,
        txn: &Txn,
        of: Of<'_>,
        matches: impl Fn(&R) -> bool,
    ) -> Result<Vec<Selected<R>>, CatalogError> {
        let mut selected = Vec::new();
        self.scan_of::<R>(txn, of, &mut |batch, mut read| {
            read.unread.retain(|(_, object)| of.names(*object));
            selected.extend(choose(batch, read, &matches));
        })?;
        Ok(selected)
    }

    /// Reads the pages where rows of these objects may be: hands out the rows of each batch that are theirs, with their places in it.
    fn scan_of<R: SystemRow>(
        &self,
        txn: &Txn,
        of: Of<'_>,
        each: &mut dyn FnMut(&mut ScanBatch, ReadRows<R>),
    ) -> Result<(), CatalogError> {
        let heap = R::TABLE.heap;
        let one;
        let objects = match of {
            Of::All => {
                return scan::<R>(&self.engine, txn, 0..u32::MAX, &mut |batch| {
                    let read = R::from_batch(&batch.batch);
                    each(batch, read);
                });
            }
            Of::Any(objects) => objects,
            Of::One(object) => {
                one = BTreeSet::from([object]);
                &one
            }
        };
        let pages = self.places.lock().pages(heap, objects);
        for page in pages {
            let mut seen: BTreeSet<Oid> = BTreeSet::new();
            scan::<R>(&self.engine, txn, page..page.saturating_add(1), &mut |batch| {
                let read = R::of_objects(&batch.batch, objects);
                seen.extend(read.rows.iter().flat_map(|row| row.keys()));
                seen.extend(read.unread.iter().map(|(_, object)| *object));
                if !read.rows.is_empty() || !read.unread.is_empty() {
                    each(batch, read);
                }
            })?;
            let mut places = self.places.lock();
            for object in objects.iter().filter(|object| !seen.contains(object)) {
                let place = Place { heap, object: *object, page };
                if places.has(place) {
                    places.found_empty(place);
                }
            }
        }
        Ok(())
    }

    /// Notes where rows are (P1 of `places.rs`).
    fn note<R: SystemRow>(&self, records: &[RecordId], rows: &[R]) {
        let mut places = self.places.lock();
        for (record, row) in records.iter().zip(rows) {
            for object in row.keys() {
                places.add(Place { heap: R::TABLE.heap, object, page: record.page_index });
            }
        }
    }

    /// The same of rows that were read, and of those that could not be.
    fn note_read<R: SystemRow>(&self, batch: &ScanBatch, read: &ReadRows<R>) {
        let records: Vec<RecordId> = read.at.iter().map(|at| batch.records[*at as usize]).collect();
        self.note(&records, &read.rows);
        let mut places = self.places.lock();
        for (at, object) in &read.unread {
            let page = batch.records[*at as usize].page_index;
            places.add(Place { heap: R::TABLE.heap, object: *object, page });
        }
    }

    /// Says what the transaction changes (W1).
    fn touch<R: SystemRow>(&self, txn: &Txn, rows: &[R]) {
        self.with_versions(|versions| {
            for row in rows {
                let mut keys = row.keys().peekable();
                if keys.peek().is_none() {
                    versions.touch(txn, Touched::Table(R::TABLE.heap));
                }
                keys.for_each(|key| versions.touch(txn, Touched::Object(key)));
            }
        });
    }

    /// Forgets places without rows (P3 of `places.rs`).
    pub(crate) fn forget_empty_places(&self) -> Result<(), CatalogError> {
        let ends = self.with_versions(|versions| versions.ends());
        let empty = self.places.lock().take_empty(ends);
        if empty.is_empty() {
            return Ok(());
        }
        let (quiet, busy): (BTreeSet<Place>, BTreeSet<Place>) = self.with_versions(|versions| {
            empty.into_iter().partition(|place| !versions.is_touched(place.object))
        });
        if !busy.is_empty() {
            let mut places = self.places.lock();
            busy.into_iter().for_each(|place| places.keep_busy(place));
        }
        if quiet.is_empty() {
            return Ok(());
        }
        let gone = self.alone(true, |txn| {
            let mut gone = Vec::new();
            for place in &quiet {
                if !crate::system::gather::has_rows(self, txn, *place)? {
                    gone.push(*place);
                }
            }
            Ok(gone)
        })?;
        // With the lock of the versions held nobody begins to change one of these objects.
        self.with_versions(|versions| {
            let mut places = self.places.lock();
            for place in gone {
                if versions.ends() == ends && !versions.is_touched(place.object) {
                    places.remove(place);
                } else {
                    places.found_empty(place);
                }
            }
        });
        Ok(())
    }

    /// Whether there are rows of an object on a page, as a statement sees them.
    pub(crate) fn has_rows_at<R: SystemRow>(&self, txn: &Txn, place: Place) -> Result<bool, CatalogError> {
        let (mut found, objects) = (false, BTreeSet::from([place.object]));
        scan::<R>(&self.engine, txn, place.page..place.page.saturating_add(1), &mut |batch| {
            let read = R::of_objects(&batch.batch, &objects);
            found |= !read.rows.is_empty() || !read.unread.is_empty();
        })?;
        Ok(found)
    }
}

/// Every row of a system table that the transaction's statement sees, without a catalog.
pub(crate) fn read<R: SystemRow>(engine: &Engine, txn: &Txn) -> Result<Vec<R>, CatalogError> {
    let mut rows = Vec::new();
    scan::<R>(engine, txn, 0..u32::MAX, &mut |batch| rows.append(&mut R::from_batch(&batch.batch).rows))?;
    Ok(rows)
}

/// Adds rows before there is a catalog.
pub(crate) fn insert<R: SystemRow>(engine: &Engine, txn: &mut Txn, rows: &[R]) -> Result<(), CatalogError> {
    if !rows.is_empty() {
        engine.heap(R::TABLE.heap)?.insert(txn, &R::to_batch(rows), None)?;
    }
    Ok(())
}

/// Changes the rows that `matches`, as `change` says, before there is a catalog.
pub(crate) fn update<R: SystemRow>(
    engine: &Engine,
    txn: &mut Txn,
    matches: impl Fn(&R) -> bool,
    change: impl Fn(&mut R),
) -> Result<(), CatalogError> {
    let mut selected = Vec::new();
    scan::<R>(engine, txn, 0..u32::MAX, &mut |batch| {
        let mut read = R::from_batch(&batch.batch);
        read.unread.clear();
        selected.extend(choose(batch, read, &matches));
    })?;
    for Selected { batch, selection, mut rows, .. } in selected {
        rows.iter_mut().for_each(&change);
        let heap = engine.heap(R::TABLE.heap)?;
        heap.update(txn, &batch, Some(&selection), &R::column_ids(), &R::to_batch(&rows))?;
    }
    Ok(())
}

/// Rows of one scanned batch.
struct Selected<R> {
    batch: ScanBatch,
    /// Which of its rows.
    selection: Vec<u32>,
    /// These as structures.
    rows: Vec<R>,
    /// Those that cannot be read, and what they are a part of.
    unread: Vec<(u32, Oid)>,
}

/// Those of some rows of a batch that `matches`, and those that cannot be read; the batch is taken if there are any.
fn choose<R>(batch: &mut ScanBatch, read: ReadRows<R>, matches: impl Fn(&R) -> bool) -> Option<Selected<R>> {
    let ReadRows { at, rows, unread } = read;
    let chosen = at.into_iter().zip(rows).filter(|(_, row)| matches(row));
    let (selection, rows): (Vec<u32>, Vec<R>) = chosen.unzip();
    let any = !rows.is_empty() || !unread.is_empty();
    any.then(|| Selected { batch: std::mem::take(batch), selection, rows, unread })
}

fn scan<R: SystemRow>(
    engine: &Engine,
    txn: &Txn,
    pages: std::ops::Range<u32>,
    each: &mut dyn FnMut(&mut ScanBatch),
) -> Result<(), CatalogError> {
    // W3
    if !engine.has_object(R::TABLE.heap) {
        return Ok(());
    }
    let heap = engine.heap(R::TABLE.heap)?;
    let columns = R::column_ids();
    let mut scan = heap.scan(txn, ScanSpec { columns: &columns, pages });
    let mut batch = ScanBatch::default();
    while scan.next(&mut batch)? {
        each(&mut batch);
    }
    Ok(())
}
