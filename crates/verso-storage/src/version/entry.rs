//! Version entries and the pointers that lead to them.
//!
//! ```text
//! length u16 │ kind u8 │ flags u8 │ table u32 │ writer u64 │ page index u32 │ columns u16 │ pad u16 │ slots │
//! prior writer u64, prior pointer u64 (one pair, or one per slot) │ column slices │ pad to 8
//! ```
//! V1. An entry is immutable once linked; only its *void* flag is set when its statement is undone.
//! V6. A pointer carries its page's incarnation and an entry repeats table, page index and slots: a mismatch is corruption.

use crate::heap::slice::ColumnSlice;
use crate::heap::slots::Slots;
use crate::page::bytes::{checked_slice, checked_u16, checked_u32, u16_at, u32_at, u64_at};
use crate::page::{Flaw, ObjectId, PageId, TxnId};
use crate::wal::{put_varint, varint, varint_u32};

/// Where a record's next older version stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VersionPointer(pub u64);

impl VersionPointer {
    /// No older version.
    pub const NONE: VersionPointer = VersionPointer(0);

    /// A pointer to the entry at `offset` of a page in that incarnation.
    pub fn new(page: PageId, offset: u16, incarnation: u16) -> VersionPointer {
        VersionPointer(u64::from(page.0) << 32 | u64::from(offset) << 16 | u64::from(incarnation))
    }

    /// The version page.
    pub fn page(self) -> PageId {
        PageId((self.0 >> 32) as u32)
    }

    /// Offset of the entry.
    pub fn offset(self) -> usize {
        usize::from((self.0 >> 16) as u16)
    }

    /// Incarnation the page must have.
    pub fn incarnation(self) -> u16 {
        self.0 as u16
    }

    /// Whether it leads nowhere.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// What an entry remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// Old values of changed columns.
    Update = 1,
    /// The records were live (empty mask).
    Delete = 2,
    /// The writer inserted these records (V1: so that a dead inserter can be found).
    Insert = 3,
    /// The writer created the object.
    CreateObject = 4,
    /// The writer dropped the object: its pages go at retirement.
    DropObject = 5,
}

/// Flag: one prior pair for all slots.
const UNIFORM: u8 = 1;
/// Flag: retirement has to look at this entry (V5).
const PURGE: u8 = 2;
/// Flag: the statement was undone; nothing to purge.
pub const VOID: u8 = 4;
/// Flag: the writer gave the records another key (R2).
const KEY: u8 = 16;
/// Flag: it holds a value that its writer had written itself, for retirement to free; nobody reads it.
const OWN: u8 = 8;
/// Bytes before the slots.
pub const FIXED: usize = 24;

/// An entry to be written.
pub struct NewEntry<'a> {
    /// What it remembers.
    pub kind: EntryKind,
    /// Whose records.
    pub table: ObjectId,
    /// Who writes it.
    pub writer: TxnId,
    /// Which data page.
    pub page_index: u32,
    /// Which records of it.
    pub slots: Slots<'a>,
    /// Prior writer and pointer: one pair, or one per slot.
    pub prior: &'a [(u64, u64)],
    /// Encoded column slices.
    pub columns: &'a [u8],
    /// How many of them.
    pub column_count: u16,
    /// Whether retirement has to look at it.
    pub purge: bool,
    /// Whether its values are older ones of the writer's own, which only wait to be freed.
    pub own: bool,
    /// Whether the writer gives the records another key.
    pub changes_key: bool,
}

impl NewEntry<'_> {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let flags = if self.prior.len() == 1 { UNIFORM } else { 0 } | if self.purge { PURGE } else { 0 };
        let flags = flags | if self.own { OWN } else { 0 } | if self.changes_key { KEY } else { 0 };
        out.extend_from_slice(&[0, 0, self.kind as u8, flags]);
        out.extend_from_slice(&self.table.0.to_le_bytes());
        out.extend_from_slice(&self.writer.0.to_le_bytes());
        out.extend_from_slice(&self.page_index.to_le_bytes());
        out.extend_from_slice(&self.column_count.to_le_bytes());
        out.extend_from_slice(&[0, 0]);
        self.slots.encode(out);
        for (writer, pointer) in self.prior {
            out.extend_from_slice(&writer.to_le_bytes());
            out.extend_from_slice(&pointer.to_le_bytes());
        }
        out.extend_from_slice(self.columns);
        while !(out.len() - start).is_multiple_of(8) {
            out.push(0);
        }
        let length = (out.len() - start) as u16;
        out[start..start + 2].copy_from_slice(&length.to_le_bytes());
    }

    /// Bytes that [`NewEntry::encode`] appends.
    pub fn encoded_len(&self) -> usize {
        (FIXED + self.slots.encoded_len() + self.prior.len() * 16 + self.columns.len()).next_multiple_of(8)
    }
}

/// Bytes of the entry that a [`Note`] is.
pub const NOTE_BYTES: usize = (FIXED + 6).next_multiple_of(8);

/// An insert note as the log has it: of most transactions it is the only entry, and most of its bytes on the page say nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    table: ObjectId,
    writer: TxnId,
    page_index: u32,
    first: u16,
    count: u16,
}

impl Note {
    /// An entry that is nothing else.
    pub fn of(entry: &NewEntry<'_>) -> Option<Note> {
        let NewEntry { kind: EntryKind::Insert, table, writer, page_index, slots, .. } = *entry else {
            return None;
        };
        let Slots::Run { first, count } = slots else { return None };
        let more = !entry.prior.is_empty() || !entry.columns.is_empty() || entry.column_count > 0;
        let flags = entry.purge || entry.own || entry.changes_key;
        (!more && !flags).then_some(Note { table, writer, page_index, first, count })
    }

    /// Appends `table │ writer │ page index │ first slot │ slots`, each as a varint.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.table.0));
        put_varint(out, self.writer.0);
        put_varint(out, u64::from(self.page_index));
        put_varint(out, u64::from(self.first));
        put_varint(out, u64::from(self.count));
    }

    /// What [`Note::encode`] has appended, and nothing more.
    ///
    /// # Errors
    /// A flaw for anything else.
    pub fn decode(bytes: &[u8]) -> Result<Note, Flaw> {
        let mut at = 0;
        let table = ObjectId(varint_u32(bytes, &mut at)?);
        let writer = TxnId(varint(bytes, &mut at)?);
        let page_index = varint_u32(bytes, &mut at)?;
        let (first, count) = (varint_u32(bytes, &mut at)?, varint_u32(bytes, &mut at)?);
        let slot = |slot: u32| u16::try_from(slot).map_err(|_| Flaw::from("slot beyond the greatest slot"));
        let note = Note { table, writer, page_index, first: slot(first)?, count: slot(count)? };
        if at != bytes.len() || note.first.checked_add(note.count).is_none() {
            return Err(Flaw::from("not an insert note"));
        }
        Ok(note)
    }

    /// The entry.
    pub fn entry(&self) -> NewEntry<'static> {
        NewEntry {
            kind: EntryKind::Insert,
            table: self.table,
            writer: self.writer,
            page_index: self.page_index,
            slots: Slots::Run { first: self.first, count: self.count },
            prior: &[],
            columns: &[],
            column_count: 0,
            purge: false,
            own: false,
            changes_key: false,
        }
    }
}

/// An entry on its page.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// All its bytes.
    bytes: &'a [u8],
    /// What it remembers.
    pub kind: EntryKind,
    /// Which records.
    pub slots: Slots<'a>,
    prior: usize,
    columns: usize,
}

impl<'a> Entry<'a> {
    /// The entry at `offset` of a version page.
    ///
    /// # Errors
    /// A flaw when there is none.
    pub fn decode(page: &'a [u8], offset: usize) -> Result<Entry<'a>, Flaw> {
        let length = usize::from(checked_u16(page, offset)?);
        if length < FIXED + 6 {
            return Err(Flaw::from("version entry too short"));
        }
        let bytes = checked_slice(page, offset, length)?;
        let kind = match bytes[2] {
            1 => EntryKind::Update,
            2 => EntryKind::Delete,
            3 => EntryKind::Insert,
            4 => EntryKind::CreateObject,
            5 => EntryKind::DropObject,
            other => return Err(Flaw::new(format!("unknown version entry kind {other}"))),
        };
        let mut at = FIXED;
        let slots = Slots::decode(bytes, &mut at)?;
        let prior = at;
        if matches!(kind, EntryKind::Update | EntryKind::Delete) {
            at += 16 * if bytes[3] & UNIFORM != 0 { 1 } else { slots.len() };
        }
        checked_slice(bytes, prior, at - prior)?;
        Ok(Entry { bytes, kind, slots, prior, columns: at })
    }

    /// The entry at `offset` that a record's pointer leads to: of an update or a delete.
    ///
    /// # Errors
    /// A flaw when there is none, or one that no record points at (V6).
    pub fn linked(page: &'a [u8], offset: usize) -> Result<Entry<'a>, Flaw> {
        let entry = Entry::decode(page, offset)?;
        match entry.kind {
            EntryKind::Update | EntryKind::Delete => Ok(entry),
            _ => Err(Flaw::from("a back pointer leads to an entry without an older version (V6)")),
        }
    }

    /// All its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes it takes.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Whose records.
    pub fn table(&self) -> ObjectId {
        ObjectId(u32_at(self.bytes, 4))
    }

    /// Who wrote it.
    pub fn writer(&self) -> TxnId {
        TxnId(u64_at(self.bytes, 8))
    }

    /// Which data page.
    pub fn page_index(&self) -> u32 {
        u32_at(self.bytes, 16)
    }

    /// Whether retirement has to look at it.
    pub fn needs_purge(&self) -> bool {
        self.bytes[3] & (PURGE | VOID) == PURGE
    }

    /// Whether retirement has to look at the keys of its old values, also if it was undone.
    pub fn may_hold_keys(&self) -> bool {
        self.kind == EntryKind::Update && self.bytes[3] & PURGE != 0
    }

    /// Whether its values are older ones of the writer's own: no version that anybody sees.
    pub fn is_own(&self) -> bool {
        self.bytes[3] & OWN != 0
    }

    /// Whether its writer gave the records another key with it. One that had linked an entry with the columns of the key
    /// before, for another reason, does not say so here.
    pub fn changes_key(&self) -> bool {
        self.bytes[3] & KEY != 0
    }

    /// Whether it was undone, or purged.
    pub fn is_void(&self) -> bool {
        self.bytes[3] & VOID != 0
    }

    /// Writer and pointer before this change of the record at `rank`; of updates and deletes only.
    pub fn prior(&self, rank: usize) -> (TxnId, VersionPointer) {
        let at = self.prior + if self.is_uniform() { 0 } else { rank * 16 };
        (TxnId(u64_at(self.bytes, at)), VersionPointer(u64_at(self.bytes, at + 8)))
    }

    /// Whether all records had the same prior writer and pointer: [`Entry::prior`] of any of them.
    pub fn is_uniform(&self) -> bool {
        self.bytes[3] & UNIFORM != 0
    }

    /// How many columns it holds old values of.
    pub fn column_count(&self) -> u16 {
        u16_at(self.bytes, 20)
    }

    /// Which columns it holds old values of.
    ///
    /// # Errors
    /// A flaw when the bytes are no slices.
    pub fn column_ids(&self) -> Result<smallvec::SmallVec<[u16; 8]>, Flaw> {
        let mut at = self.columns;
        (0..u16_at(self.bytes, 20))
            .map(|_| {
                let id = checked_u16(self.bytes, at)?;
                at += ColumnSlice::HEADER + checked_u32(self.bytes, at + 4)? as usize;
                Ok(id)
            })
            .collect()
    }

    /// The old values, one slice per column.
    ///
    /// # Errors
    /// A flaw when the bytes are no slices.
    pub fn columns(&self) -> Result<smallvec::SmallVec<[ColumnSlice<'a>; 8]>, Flaw> {
        let mut found = smallvec::SmallVec::new();
        self.each_column(|_| true, |slice| found.push(slice))?;
        Ok(found)
    }

    /// Hands the old values of the columns that are `wanted` to `take`, a slice per column; the others are passed over
    /// unread. Returns the bytes of all slices.
    ///
    /// # Errors
    /// A flaw when the bytes are no slices.
    pub fn each_column(
        &self,
        wanted: impl Fn(u16) -> bool,
        mut take: impl FnMut(ColumnSlice<'a>),
    ) -> Result<&'a [u8], Flaw> {
        let mut at = self.columns;
        for _ in 0..u16_at(self.bytes, 20) {
            if wanted(checked_u16(self.bytes, at)?) {
                take(ColumnSlice::decode(self.bytes, &mut at, self.slots.len())?);
            } else {
                at += ColumnSlice::HEADER + checked_u32(self.bytes, at + 4)? as usize;
            }
        }
        checked_slice(self.bytes, self.columns, at - self.columns)
    }
}
