//! Keys of a record's versions, from the newest to the oldest that anybody may still see.
//!
//! I3. An entry goes only if no reachable version has its key: none of the home record and its versions down to the
//!     first one that every snapshot sees.

use std::cell::RefCell;

use smallvec::SmallVec;
use verso_types::TypeError;
use verso_types::inverted::{self, Keys};

use super::key::{KeyPart, is_inverted};
use super::table::Index;
use crate::StorageError;
use crate::heap::layout::{PageLayout, SLOT_HIGH};
use crate::heap::slice::{ColumnSlice, Variable, bit};
use crate::heap::value_slot::ValueSlot;
use crate::heap::{Heap, apply, moved};
use crate::page::bytes::{checked_slice, u16_at, u64_at};
use crate::page::{Flaw, PageKind, TxnId, header};
use crate::shared::Shared;
use crate::version::entry::{Entry, VersionPointer};

/// A value that is not the home record's.
#[derive(Clone)]
enum Old {
    Null,
    Bytes(SmallVec<[u8; 24]>),
}

/// The bytes of a value; `None` for NULL.
pub(super) type RawValue = Option<SmallVec<[u8; 24]>>;

/// A value of a version entry: one that stands elsewhere is read when it is asked for.
enum Kept {
    Here(Old),
    Away(u64),
}

/// The version entry that a record of a page was last found to point at, for the records behind: those that were changed
/// together point at one. It is right as long as its page's home is latched, and versions are walked.
#[derive(Default)]
pub(super) struct LastEntry {
    pointer: Option<VersionPointer>,
    bytes: Vec<u8>,
    /// Old values of the index's columns, by rank.
    columns: SmallVec<[(u16, Vec<Kept>); 2]>,
}

impl LastEntry {
    /// Reads the entry at `pointer` unless it is the one at hand.
    fn turn_to(&mut self, versions: &Versions<'_>, pointer: VersionPointer) -> Result<(), StorageError> {
        if self.pointer == Some(pointer) {
            return Ok(());
        }
        self.pointer = None;
        self.columns.clear();
        let id = pointer.page();
        let corrupt = |flaw: Flaw| StorageError::corrupt(id, versions.heap.object, flaw);
        {
            let page = versions.shared.core().pool.read(id)?;
            let entry = versions.entry_on(&page, pointer)?;
            self.bytes.clear();
            self.bytes.extend_from_slice(entry.bytes());
        }
        let entry = Entry::decode(&self.bytes, 0).map_err(corrupt)?;
        if !entry.is_own() {
            let parts = &versions.index.spec().parts;
            let wanted = |id: u16| parts.iter().any(|part| part.column == id);
            let take = |slice: ColumnSlice<'_>| {
                let kept = |rank: usize| match slice.physical.width() {
                    _ if slice.is_null(rank) => Kept::Here(Old::Null),
                    Some(width) => Kept::Here(Old::Bytes(SmallVec::from_slice(slice.fixed_at(rank, width)))),
                    None => Kept::Here(Old::Null),
                };
                let variable = |value: Variable<'_>| match value {
                    Variable::Null => Kept::Here(Old::Null),
                    Variable::Bytes(bytes) => Kept::Here(Old::Bytes(SmallVec::from_slice(bytes))),
                    Variable::Reference(raw) => Kept::Away(raw),
                };
                let values = match slice.physical.width() {
                    Some(_) => (0..slice.count).map(kept).collect(),
                    None => slice.variables().map(variable).collect(),
                };
                self.columns.push((slice.id, values));
            };
            entry.each_column(wanted, take).map_err(corrupt)?;
        }
        self.pointer = Some(pointer);
        Ok(())
    }
}

/// One record, standing at one of its versions.
#[derive(Clone)]
pub(super) struct Versions<'a> {
    shared: &'a Shared,
    heap: &'a Heap,
    index: &'a Index,
    page: &'a [u8],
    layout: &'a PageLayout,
    page_index: u32,
    slot: u16,
    /// Who wrote the version; none = there is no record.
    pub writer: TxnId,
    back: VersionPointer,
    /// Whether it is not deleted.
    pub live: bool,
    old: SmallVec<[(u16, Old); 4]>,
    last: Option<&'a RefCell<LastEntry>>,
}

impl<'a> Versions<'a> {
    /// The record as it stands on its latched home page.
    pub fn home(
        shared: &'a Shared,
        heap: &'a Heap,
        index: &'a Index,
        page: &'a [u8],
        layout: &'a PageLayout,
        page_index: u32,
        slot: u16,
    ) -> Versions<'a> {
        let at = usize::from(slot) * 8;
        let known = slot < u16_at(page, SLOT_HIGH) && usize::from(slot) < layout.capacity;
        let (writer, back, live) = if known {
            (
                u64_at(page, layout.writer + at),
                u64_at(page, layout.back + at),
                apply::is_live(page, layout, slot),
            )
        } else {
            (0, 0, false)
        };
        Versions {
            shared,
            heap,
            index,
            page,
            layout,
            page_index,
            slot,
            writer: TxnId(writer),
            back: VersionPointer(back),
            live,
            old: SmallVec::new(),
            last: None,
        }
    }

    /// The same; entries are looked for at `last` first.
    pub fn with_last(self, last: &'a RefCell<LastEntry>) -> Versions<'a> {
        Versions { last: Some(last), ..self }
    }

    fn corrupt(&self, flaw: Flaw) -> StorageError {
        StorageError::corrupt(header::page_id(self.page), self.heap.object, flaw)
    }

    /// Appends the version's key; whether a part is NULL. Nothing where a guard keeps the version out.
    pub fn key(&self, out: &mut Vec<u8>) -> Result<bool, StorageError> {
        let start = out.len();
        let mut any_null = false;
        for part in &self.index.spec().parts {
            let end = out.len();
            let null = self.part(part, out)?;
            if !part.guard {
                any_null |= null;
                continue;
            }
            out.truncate(if null { start } else { end });
            if null {
                return Ok(false);
            }
        }
        Ok(any_null)
    }

    /// Sets `keys` to the version's, in order: one; several in an inverted index; none where a guard keeps the version out.
    /// Whether a part is NULL.
    pub fn keys(&self, keys: &mut Keys) -> Result<bool, StorageError> {
        keys.clear();
        let parts = &self.index.spec().parts;
        if !is_inverted(parts) {
            return keys.push_with(|out| self.key(out));
        }
        self.keys_by(keys, |_, part, take| self.with_raw(part, take))
    }

    /// As [`Versions::keys`] where `value` hands out the values of the parts, by number: `None` for NULL.
    pub fn keys_by(
        &self,
        keys: &mut Keys,
        value: impl Fn(usize, &KeyPart, &mut dyn FnMut(Option<&[u8]>)) -> Result<(), StorageError>,
    ) -> Result<bool, StorageError> {
        keys.clear();
        let parts = &self.index.spec().parts;
        let corrupt = |error: TypeError| self.corrupt(Flaw::new(error.message));
        if is_inverted(parts) {
            for (n, part) in parts.iter().enumerate() {
                let mut done = Ok(());
                value(n, part, &mut |raw| {
                    if !part.guard {
                        done = inverted::extract(part.ty, n as u8, raw, keys);
                    } else if raw.is_none() {
                        keys.clear();
                    }
                })?;
                done.map_err(corrupt)?;
            }
            keys.sort();
            return Ok(false);
        }
        keys.push_with(|out| {
            let start = out.len();
            let mut any_null = false;
            for (n, part) in parts.iter().enumerate() {
                let (mut null, mut encoded) = (false, Ok(()));
                value(n, part, &mut |raw| {
                    null = raw.is_none();
                    if !part.guard {
                        encoded = part.order().encode_raw(raw, out);
                    }
                })?;
                encoded.map_err(corrupt)?;
                if !part.guard {
                    any_null |= null;
                } else if null {
                    out.truncate(start);
                    return Ok(false);
                }
            }
            Ok(any_null)
        })
    }

    /// Calls `take` with the raw value of a part; `None` for NULL.
    pub fn with_raw(&self, part: &KeyPart, take: &mut dyn FnMut(Option<&[u8]>)) -> Result<(), StorageError> {
        let old = self.old.iter().rev().find(|(column, _)| *column == part.column);
        match old {
            Some((_, Old::Null)) => take(None),
            Some((_, Old::Bytes(bytes))) => take(Some(bytes)),
            None => match home_value(self.shared, self.heap, self.page, self.layout, part.column, self.slot)?
            {
                None => take(None),
                Some(Home::Here(bytes)) => take(Some(bytes)),
                Some(Home::Away(bytes)) => take(Some(&bytes)),
            },
        }
        Ok(())
    }

    /// Appends one part of a key; whether it is NULL.
    pub fn part(&self, part: &KeyPart, out: &mut Vec<u8>) -> Result<bool, StorageError> {
        let (mut null, mut encoded) = (false, Ok(()));
        self.with_raw(part, &mut |raw| {
            null = raw.is_none();
            encoded = part.order().encode_raw(raw, out);
        })?;
        encoded.map_err(|error| self.corrupt(Flaw::new(error.message)))?;
        Ok(null)
    }

    /// The raw values of the key's parts.
    pub fn values(&self) -> Result<SmallVec<[RawValue; 4]>, StorageError> {
        let value = |part: &KeyPart| {
            let mut value = None;
            self.with_raw(part, &mut |raw| value = raw.map(SmallVec::from_slice))?;
            Ok(value)
        };
        self.index.spec().parts.iter().map(value).collect()
    }

    /// Overrides columns by the values at `rank` of `slices`.
    pub fn put(&mut self, slices: &[ColumnSlice<'_>], rank: usize) -> Result<(), StorageError> {
        for slice in slices {
            if !self.index.spec().parts.iter().any(|part| part.column == slice.id) {
                continue;
            }
            let old = match slice.physical.width() {
                Some(_) => slice_value(self.shared, self.heap, slice, rank, &[])?,
                None => match slice.variable_at(rank) {
                    Variable::Null => None,
                    Variable::Bytes(bytes) => Some(SmallVec::from_slice(bytes)),
                    Variable::Reference(raw) => Some(SmallVec::from_vec(chain(self.shared, self.heap, raw)?)),
                },
            };
            self.old.push((slice.id, old.map_or(Old::Null, Old::Bytes)));
        }
        Ok(())
    }

    /// Goes to the version before the newest change; whether there is one.
    fn older(&mut self) -> Result<bool, StorageError> {
        if self.back.is_none() {
            return Ok(false);
        }
        if let Some(last) = self.last {
            return self.older_at(last);
        }
        let id = self.back.page();
        let page = self.shared.core().pool.read(id)?;
        let corrupt = |flaw: Flaw| StorageError::corrupt(id, self.heap.object, flaw);
        let entry = self.entry_on(&page, self.back)?;
        let rank = self.rank_in(&entry)?;
        let slices = if entry.is_own() { SmallVec::new() } else { entry.columns().map_err(corrupt)? };
        let (writer, back) = entry.prior(rank);
        self.put(&slices, rank)?;
        (self.writer, self.back, self.live) = (writer, back, true);
        Ok(true)
    }

    /// As [`Versions::older`] by way of the entry at hand.
    fn older_at(&mut self, last: &RefCell<LastEntry>) -> Result<bool, StorageError> {
        let mut last = last.borrow_mut();
        last.turn_to(self, self.back)?;
        let corrupt = |flaw: Flaw| StorageError::corrupt(self.back.page(), self.heap.object, flaw);
        let entry = Entry::decode(&last.bytes, 0).map_err(corrupt)?;
        let rank = self.rank_in(&entry)?;
        for (column, values) in &last.columns {
            let old = match values.get(rank) {
                Some(Kept::Here(old)) => old.clone(),
                Some(Kept::Away(raw)) => Old::Bytes(SmallVec::from_vec(chain(self.shared, self.heap, *raw)?)),
                None => return Err(corrupt(Flaw::from("a version entry with too few values"))),
            };
            self.old.push((*column, old));
        }
        let (writer, back) = entry.prior(rank);
        (self.writer, self.back, self.live) = (writer, back, true);
        Ok(true)
    }

    /// The entry that a pointer of the record leads to; its page is latched.
    fn entry_on<'p>(&self, page: &'p [u8], pointer: VersionPointer) -> Result<Entry<'p>, StorageError> {
        let corrupt = |flaw: Flaw| StorageError::corrupt(pointer.page(), self.heap.object, flaw);
        if header::kind(page) != Some(PageKind::Version) || header::incarnation(page) != pointer.incarnation()
        {
            return Err(corrupt(Flaw::from("a back pointer leads to a page that was given out anew (V6)")));
        }
        let entry = Entry::decode(page, pointer.offset()).map_err(corrupt)?;
        if entry.table() != self.heap.object || entry.page_index() != self.page_index {
            return Err(corrupt(Flaw::from("a back pointer leads to another record's version (V6)")));
        }
        Ok(entry)
    }

    fn rank_in(&self, entry: &Entry<'_>) -> Result<usize, StorageError> {
        entry.slots.rank(self.slot).ok_or_else(|| {
            let flaw = Flaw::from("a version entry without the record that points at it (V6)");
            StorageError::corrupt(self.back.page(), self.heap.object, flaw)
        })
    }

    /// Whether the version has the very values of the key that the home record has: then the keys are equal. `false` may be
    /// said of equal keys, too.
    pub fn is_as_home(&self) -> Result<bool, StorageError> {
        for part in &self.index.spec().parts {
            let Some((_, old)) = self.old.iter().rev().find(|(column, _)| *column == part.column) else {
                continue; // never changed
            };
            let home = home_value(self.shared, self.heap, self.page, self.layout, part.column, self.slot)?;
            let same = match (old, &home) {
                (Old::Null, None) => true,
                (Old::Bytes(old), Some(Home::Here(home))) => **old == **home,
                (Old::Bytes(old), Some(Home::Away(home))) => **old == **home,
                _ => false,
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes to the newest version by somebody else; whether there is one.
    pub fn older_writer(&mut self) -> Result<bool, StorageError> {
        let writer = self.writer;
        loop {
            if !self.older()? {
                return Ok(false);
            }
            if self.writer != writer {
                return Ok(true);
            }
        }
    }

    /// Takes out of `keys` those that this version, or an older one that somebody may see, has. `horizon` is that of a
    /// moment since which no version page was retired.
    pub fn keep_unheld(mut self, keys: &mut Keys, horizon: u64) -> Result<(), StorageError> {
        let mut own = Keys::default();
        while !keys.is_empty() && self.writer != TxnId::NONE {
            self.keys(&mut own)?;
            keys.subtract(&own);
            if keys.is_empty() || self.is_seen_by_all(horizon) || !self.older_writer()? {
                break;
            }
        }
        Ok(())
    }

    /// Whether nobody may see an older version.
    fn is_seen_by_all(&self, horizon: u64) -> bool {
        self.shared.transactions.commit_number(self.writer).is_some_and(|number| number <= horizon)
    }

    /// This version and older ones that somebody may see, with their keys and whether a part of them is NULL.
    pub fn walk(
        mut self,
        horizon: u64,
        mut each: impl FnMut(&Versions<'a>, &Keys, bool) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut own = Keys::default();
        loop {
            if self.writer == TxnId::NONE {
                return Ok(());
            }
            let any_null = self.keys(&mut own)?;
            each(&self, &own, any_null)?;
            if self.is_seen_by_all(horizon) || !self.older_writer()? {
                return Ok(());
            }
        }
    }
}

enum Home<'a> {
    Here(&'a [u8]),
    Away(Vec<u8>),
}

fn home_value<'a>(
    shared: &Shared,
    heap: &Heap,
    page: &'a [u8],
    layout: &PageLayout,
    column: u16,
    slot: u16,
) -> Result<Option<Home<'a>>, StorageError> {
    let Some(ordinal) = layout.ordinal(column) else { return Ok(None) };
    let place = &layout.columns[ordinal];
    let slot = usize::from(slot);
    if bit(&page[place.nulls..], slot) {
        return Ok(None);
    }
    if !place.is_variable() {
        let from = place.data + slot * place.width;
        return Ok(Some(Home::Here(&page[from..from + place.width])));
    }
    let raw = u64_at(page, place.data + slot * 8);
    match ValueSlot::decode(raw) {
        Some(ValueSlot::Empty) => Ok(Some(Home::Here(&[]))),
        Some(ValueSlot::Inline { offset, length }) => {
            let bytes = checked_slice(page, usize::from(offset), usize::from(length));
            let corrupt = |flaw| StorageError::corrupt(header::page_id(page), heap.object, flaw);
            Ok(Some(Home::Here(bytes.map_err(corrupt)?)))
        }
        _ => Ok(Some(Home::Away(chain(shared, heap, raw)?))),
    }
}

fn chain(shared: &Shared, heap: &Heap, raw: u64) -> Result<Vec<u8>, StorageError> {
    let mut bytes = Vec::new();
    moved::read(&shared.core().pool, heap.object, raw, &mut bytes)?;
    Ok(bytes)
}

/// The value at `rank` of a slice whose variable values begin at `starts`; `None` for NULL.
pub(super) fn slice_value(
    shared: &Shared,
    heap: &Heap,
    slice: &ColumnSlice<'_>,
    rank: usize,
    starts: &[u32],
) -> Result<Option<SmallVec<[u8; 24]>>, StorageError> {
    Ok(match slice.physical.width() {
        _ if slice.is_null(rank) => None,
        Some(width) => Some(SmallVec::from_slice(slice.fixed_at(rank, width))),
        None => match slice.variable_from(rank, starts[rank] as usize) {
            Variable::Null => None,
            Variable::Bytes(bytes) => Some(SmallVec::from_slice(bytes)),
            Variable::Reference(raw) => Some(SmallVec::from_vec(chain(shared, heap, raw)?)),
        },
    })
}
