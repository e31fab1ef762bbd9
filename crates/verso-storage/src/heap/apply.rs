//! Redo of data pages: the only code that changes them (mini-transactions rule M1).
//!
//! A change validates everything first and then cannot fail (M2). Every change but sweep's own clears the page's
//! flags in the same log record (V7).

use std::ops::Range;

use super::layout::*;
use super::slice::{ColumnSlice, Variable};
use super::slots::Slots;
use super::value_slot::{ValueSlot, one_piece};
use crate::page::bytes::{
    checked_u8, checked_u16, checked_u32, checked_u64, put_u16, put_u64, u16_at, u32_at, u64_at,
};
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};
use crate::rules::{Rule, disabled};
use crate::wal::RecordKind;

/// [`RecordKind::DATA_UPDATE`] form: one writer and back pointer for all slots follow.
pub const UNIFORM: u8 = 1;
/// Form: a writer and a back pointer per slot follow.
pub const EACH: u8 = 2;
/// Form: the records are live afterwards.
pub const SET_LIVE: u8 = 4;
/// Form: the records are deleted afterwards.
pub const CLEAR_LIVE: u8 = 8;

/// Payload of [`RecordKind::DATA_INIT`].
pub fn init_payload(
    out: &mut Vec<u8>,
    page: PageId,
    owner: ObjectId,
    page_index: u32,
    capacity: usize,
    columns: &[ColumnSpec],
) {
    out.extend_from_slice(&page.0.to_le_bytes());
    out.extend_from_slice(&owner.0.to_le_bytes());
    out.extend_from_slice(&page_index.to_le_bytes());
    out.extend_from_slice(&(capacity as u16).to_le_bytes());
    out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
    for column in columns {
        out.extend_from_slice(&column.id.to_le_bytes());
        out.extend_from_slice(&[physical_code(column.physical), 0]);
    }
}

/// Runs a record of kinds 40–45 on a page.
pub fn redo(kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    if kind == RecordKind::DATA_INIT {
        return init(page, payload);
    }
    if header::kind(page) != Some(PageKind::Data) {
        return Err(Flaw::from("not a data page"));
    }
    if kind == RecordKind::DATA_APPEND {
        return super::row::redo(page, payload);
    }
    let layout = PageLayout::of(page)?;
    match kind {
        RecordKind::DATA_INSERT => insert(page, &layout, payload),
        RecordKind::DATA_UPDATE => update(page, &layout, payload),
        RecordKind::DATA_FREE => free(page, &layout, payload),
        RecordKind::DATA_SWEEP => sweep(page, &layout, payload),
        _ => Err(Flaw::new(format!("log record of unknown kind {}", kind.0))),
    }
}

fn init(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    let id = PageId(checked_u32(payload, 0)?);
    let owner = ObjectId(checked_u32(payload, 4)?);
    let (page_index, capacity) = (checked_u32(payload, 8)?, checked_u16(payload, 12)?);
    let count = usize::from(checked_u16(payload, 14)?);
    let mut columns = Vec::with_capacity(count);
    for at in (0..count).map(|index| 16 + index * 4) {
        let physical = physical_from_code(checked_u8(payload, at + 2)?)
            .ok_or_else(|| Flaw::from("unknown column type"))?;
        columns.push(ColumnSpec { id: checked_u16(payload, at)?, physical });
    }
    if PageLayout::new(columns.iter().copied(), usize::from(capacity)).end > page.len() {
        return Err(Flaw::from("columns do not fit the page"));
    }
    header::init(page, id, PageKind::Data, owner, 0);
    PageLayout::format(&columns, usize::from(capacity), page, page_index, 1);
    Ok(())
}

fn slots_of<'a>(payload: &'a [u8], at: &mut usize, layout: &PageLayout) -> Result<Slots<'a>, Flaw> {
    let slots = Slots::decode(payload, at)?;
    if slots.is_empty() {
        return Ok(Slots::Run { first: 0, count: 0 });
    }
    if usize::from(slots.get(slots.len() - 1)) >= layout.capacity {
        return Err(Flaw::from("slot beyond the page's capacity"));
    }
    Ok(slots)
}

/// Decodes the column slices at `at` together with the page's place of each into `slices`: they are large, and would be
/// moved more than once if they were returned.
fn columns_of<'a>(
    payload: &'a [u8],
    at: &mut usize,
    count: usize,
    layout: &PageLayout,
    slices: &mut Slices<'a>,
) -> Result<(), Flaw> {
    let columns = usize::from(checked_u16(payload, *at)?);
    *at += 2;
    slices.reserve(columns);
    for _ in 0..columns {
        let slice = ColumnSlice::decode(payload, at, count)?;
        let ordinal = layout.ordinal(slice.id).ok_or_else(|| Flaw::from("no such column on the page"))?;
        if layout.columns[ordinal].physical != slice.physical {
            return Err(Flaw::from("column of another type"));
        }
        slices.push((ordinal, slice, None));
    }
    if *at != payload.len() {
        return Err(Flaw::from("bytes behind the record"));
    }
    Ok(())
}

/// Where the slots and the column slices stand in the payload of a [`RecordKind::DATA_UPDATE`].
pub fn update_parts(payload: &[u8]) -> Result<(Range<usize>, Range<usize>), Flaw> {
    let form = checked_u8(payload, 0)?;
    let mut at = 1;
    let count = Slots::decode(payload, &mut at)?.len();
    let slots = 1..at;
    at += match form & (UNIFORM | EACH) {
        0 => 0,
        UNIFORM => 16,
        _ => 16 * count,
    };
    checked_u16(payload, at)?;
    Ok((slots, at + 2..payload.len()))
}

/// Bytes between the arrays and the variable bytes.
pub fn contiguous(page: &[u8], layout: &PageLayout) -> usize {
    usize::from(u16_at(page, VARIABLE_START)).saturating_sub(layout.end)
}

/// The inline values of some records in one column, taken together.
#[derive(Clone, Copy, Debug)]
pub struct Inline {
    /// Their bytes.
    pub bytes: usize,
    /// Where the first of them starts.
    low: usize,
    /// Where the last of them ends.
    high: usize,
}

/// What values at `slots` of a variable column hold inline.
pub fn inline(page: &[u8], place: &ColumnPlace, slots: Slots<'_>) -> Inline {
    let mut found = Inline { bytes: 0, low: usize::MAX, high: 0 };
    let mut add = |raw: u64| {
        if let Some(ValueSlot::Inline { offset, length }) = ValueSlot::decode(raw)
            && length > 0
        {
            let (offset, length) = (usize::from(offset), usize::from(length));
            found.bytes += length;
            found.low = found.low.min(offset);
            found.high = found.high.max(offset + length);
        }
    };
    match slots {
        Slots::Run { first, count } => {
            let from = place.data + usize::from(first) * 8;
            let array = &page[from..from + usize::from(count) * 8];
            match one_piece(array) {
                Some((_, 0)) | None => array.chunks_exact(8).for_each(|raw| add(u64_at(raw, 0))),
                Some((low, bytes)) => found = Inline { bytes, low, high: low + bytes },
            }
        }
        _ => slots.iter().for_each(|slot| add(u64_at(page, place.data + usize::from(slot) * 8))),
    }
    found
}

/// Whether one of the values at `slots` of a variable column stands elsewhere.
pub fn any_chain(page: &[u8], place: &ColumnPlace, slots: Slots<'_>) -> bool {
    if let Slots::Run { first, count } = slots {
        let from = place.data + usize::from(first) * 8;
        let slots = page[from..from + usize::from(count) * 8].as_chunks::<8>().0;
        let elsewhere = |raw: &[u8; 8]| raw[0] == ValueSlot::COMPANION || raw[0] == ValueSlot::OVERFLOW;
        return slots.iter().fold(false, |found, raw| found | elsewhere(raw));
    }
    slots.iter().any(|slot| super::moved::is_reference(u64_at(page, place.data + usize::from(slot) * 8)))
}

/// Whether one of the value slots at `slots` of a variable column is of no known kind.
fn any_unknown(page: &[u8], place: &ColumnPlace, slots: Slots<'_>) -> bool {
    if let Slots::Run { first, count } = slots {
        let from = place.data + usize::from(first) * 8;
        let array = &page[from..from + usize::from(count) * 8];
        // Bulk work leaves values that stand one behind the other, whose kinds were looked at together.
        return one_piece(array).is_none()
            && array.chunks_exact(8).any(|raw| ValueSlot::decode(u64_at(raw, 0)).is_none());
    }
    slots.iter().any(|slot| ValueSlot::decode(u64_at(page, place.data + usize::from(slot) * 8)).is_none())
}

/// Bytes available to variable values once the garbage is collected.
pub fn free_bytes(page: &[u8], layout: &PageLayout) -> usize {
    contiguous(page, layout) + usize::from(u16_at(page, GARBAGE))
}

/// Moves the variable bytes together, so that all garbage becomes contiguous room. The values of a column end up one
/// behind the other by slot, those of the last column lowest.
fn compact(page: &mut [u8], layout: &PageLayout) -> Result<(), Flaw> {
    let size = page.len();
    let start = usize::from(u16_at(page, VARIABLE_START));
    let old = page.get(start..).ok_or_else(|| Flaw::from("variable bytes beyond the page"))?.to_vec();
    let high = usize::from(u16_at(page, SLOT_HIGH)).min(layout.capacity);
    let everything = Slots::Run { first: 0, count: high as u16 };
    let mut end = size;
    for place in layout.columns.iter().filter(|place| place.is_variable()) {
        end = end
            .checked_sub(inline(page, place, everything).bytes)
            .filter(|end| *end >= layout.end)
            .ok_or_else(|| Flaw::from("values overlap"))?;
        let (mut to, mut from, mut pending) = (end, 0, 0);
        for at in (0..high).map(|slot| place.data + slot * 8) {
            if let Some(ValueSlot::Inline { offset, length }) = ValueSlot::decode(u64_at(page, at))
                && length > 0
            {
                let length = usize::from(length);
                let offset =
                    usize::from(offset).checked_sub(start).ok_or_else(|| Flaw::from("value outside"))?;
                // Values that follow each other already are moved together.
                if from + pending != offset {
                    let bytes = old.get(from..from + pending).ok_or_else(|| Flaw::from("value outside"))?;
                    page[to - pending..to].copy_from_slice(bytes);
                    (from, pending) = (offset, 0);
                }
                put_u64(page, at, ValueSlot::Inline { offset: to as u16, length: length as u16 }.encode());
                to += length;
                pending += length;
            }
        }
        let bytes = old.get(from..from + pending).ok_or_else(|| Flaw::from("value outside"))?;
        page[to - pending..to].copy_from_slice(bytes);
    }
    put_u16(page, VARIABLE_START, end as u16);
    put_u16(page, GARBAGE, 0);
    Ok(())
}

/// Gives up the bytes of values: they become room where they are the lowest of the page and in one piece, as after an
/// update of every record, else garbage.
fn give_up(page: &mut [u8], values: Inline) {
    let start = usize::from(u16_at(page, VARIABLE_START));
    if values.low == start && values.high - values.low == values.bytes {
        put_u16(page, VARIABLE_START, values.high as u16);
    } else {
        let garbage = usize::from(u16_at(page, GARBAGE)) + values.bytes;
        put_u16(page, GARBAGE, garbage as u16);
    }
}

/// Empties the value slots at `slots`.
fn empty(page: &mut [u8], place: &ColumnPlace, slots: Slots<'_>) {
    for slot in slots.iter() {
        put_u64(page, place.data + usize::from(slot) * 8, 0);
    }
}

/// Column slices of a log record with their place on the page, and for variable ones what they replace.
type Slices<'a> = smallvec::SmallVec<[(usize, ColumnSlice<'a>, Option<Inline>); 4]>;

/// Stores column slices at `slots`. Room was checked.
fn store(page: &mut [u8], layout: &PageLayout, slots: Slots<'_>, slices: &Slices<'_>) -> Result<(), Flaw> {
    let mut need = 0;
    // Backwards: the last one was stored lowest.
    for (_, slice, old) in slices.iter().rev() {
        if let Some(old) = old {
            give_up(page, *old);
            need += slice.inline_bytes();
        }
    }
    if contiguous(page, layout) < need {
        for (ordinal, ..) in slices.iter().filter(|(_, _, old)| old.is_some()) {
            empty(page, &layout.columns[*ordinal], slots);
        }
        compact(page, layout)?;
    }
    for (ordinal, slice, _) in slices {
        let place = &layout.columns[*ordinal];
        store_nulls(page, place, slots, slice);
        if place.is_variable() {
            store_variable(page, place, slots, slice);
        } else {
            store_fixed(page, place, slots, slice);
        }
    }
    Ok(())
}

fn store_nulls(page: &mut [u8], place: &ColumnPlace, slots: Slots<'_>, slice: &ColumnSlice<'_>) {
    if slice.nulls.is_none()
        && let Slots::Run { first, count } = slots
    {
        let (first, end) = (usize::from(first), usize::from(first) + usize::from(count));
        let bitmap = &mut page[place.nulls + first / 8..place.nulls + end.div_ceil(8)];
        if bitmap.iter().all(|byte| *byte == 0) {
            return;
        }
    }
    for (rank, slot) in slots.iter().enumerate() {
        set_bit(page, place.nulls, slot, slice.is_null(rank));
    }
}

fn store_fixed(page: &mut [u8], place: &ColumnPlace, slots: Slots<'_>, slice: &ColumnSlice<'_>) {
    let width = place.width;
    match slots {
        Slots::Run { first, count } => {
            let from = place.data + usize::from(first) * width;
            let array = &mut page[from..from + usize::from(count) * width];
            if slice.constant {
                repeat(array, slice.fixed);
            } else {
                array.copy_from_slice(slice.fixed);
            }
        }
        _ => {
            for (rank, slot) in slots.iter().enumerate() {
                let from = place.data + usize::from(slot) * width;
                page[from..from + width].copy_from_slice(slice.fixed_at(rank, width));
            }
        }
    }
}

/// Fills `array` with copies of `value`, whose length divides it.
fn repeat(array: &mut [u8], value: &[u8]) {
    let mut done = value.len().min(array.len());
    array[..done].copy_from_slice(&value[..done]);
    while done < array.len() {
        let more = done.min(array.len() - done);
        array.copy_within(..more, done);
        done += more;
    }
}

/// The values are put below the lowest so far, in ascending order, so that later all of them can be copied together.
fn store_variable(page: &mut [u8], place: &ColumnPlace, slots: Slots<'_>, slice: &ColumnSlice<'_>) {
    let start = usize::from(u16_at(page, VARIABLE_START)) - slice.inline_bytes();
    put_u16(page, VARIABLE_START, start as u16);
    let mut at = start;
    let mut inline = |length: usize| {
        let raw = ValueSlot::Inline { offset: at as u16, length: length as u16 }.encode();
        at += length;
        raw
    };
    if slice.is_plain() {
        page[start..start + slice.bytes.len()].copy_from_slice(slice.bytes);
        let lengths = slice.lengths.chunks_exact(2).map(|length| usize::from(u16_at(length, 0)));
        if let Slots::Run { first, count } = slots {
            let from = place.data + usize::from(first) * 8;
            let array = page[from..from + usize::from(count) * 8].chunks_exact_mut(8);
            array.zip(lengths).for_each(|(raw, length)| put_u64(raw, 0, inline(length)));
        } else {
            for (slot, length) in slots.iter().zip(lengths) {
                put_u64(page, place.data + usize::from(slot) * 8, inline(length));
            }
        }
        return;
    }
    let mut to = start;
    for (slot, value) in slots.iter().zip(slice.variables()) {
        let raw = match value {
            Variable::Null => 0,
            Variable::Reference(raw) => raw,
            Variable::Bytes(bytes) => {
                page[to..to + bytes.len()].copy_from_slice(bytes);
                to += bytes.len();
                inline(bytes.len())
            }
        };
        put_u64(page, place.data + usize::from(slot) * 8, raw);
    }
}

/// Looks at what the slices replace, and whether what they bring fits.
fn check_room(
    page: &[u8],
    layout: &PageLayout,
    slots: Slots<'_>,
    slices: &mut Slices<'_>,
) -> Result<(), Flaw> {
    let start = usize::from(u16_at(page, VARIABLE_START));
    if !(layout.end..=page.len()).contains(&start) {
        return Err(Flaw::from("variable bytes beyond the page"));
    }
    let (mut need, mut room) = (0, free_bytes(page, layout));
    for (ordinal, slice, old) in slices {
        let place = &layout.columns[*ordinal];
        if place.is_variable() {
            let values = inline(page, place, slots);
            if values.low < start || values.high > page.len() {
                return Err(Flaw::from("value outside"));
            }
            room += values.bytes;
            need += slice.inline_bytes();
            *old = Some(values);
        }
    }
    if need > room {
        return Err(Flaw::new(format!("{need} bytes of values do not fit into {room}")));
    }
    Ok(())
}

/// What a change of a page finds out when others have been changed already, found out before: that values of these records in
/// these columns stand where values cannot, and, where `need` bytes of new ones may have the variable bytes moved together, the
/// same of all others. Nothing can be undone then (M3 of mini-transactions).
///
/// # Errors
/// The flaw.
pub fn look(
    page: &[u8],
    layout: &PageLayout,
    slots: Slots<'_>,
    columns: impl IntoIterator<Item = u16>,
    need: usize,
) -> Result<(), Flaw> {
    let start = usize::from(u16_at(page, VARIABLE_START));
    if !(layout.end..=page.len()).contains(&start) {
        return Err(Flaw::from("variable bytes beyond the page"));
    }
    for column in columns {
        let place = layout.ordinal(column).map(|ordinal| &layout.columns[ordinal]);
        let Some(place) = place.filter(|place| place.is_variable()) else { continue };
        let values = inline(page, place, slots);
        if values.low < start || values.high > page.len() {
            return Err(Flaw::from("value outside"));
        }
        if any_unknown(page, place, slots) {
            return Err(Flaw::from("unknown value slot"));
        }
    }
    if contiguous(page, layout) < need { check_movable(page, layout, start) } else { Ok(()) }
}

/// That [`compact`] finds each value within the variable bytes, which begin at `start`, and has room for all of them. It reads
/// the value slots and moves nothing.
fn check_movable(page: &[u8], layout: &PageLayout, start: usize) -> Result<(), Flaw> {
    let high = usize::from(u16_at(page, SLOT_HIGH)).min(layout.capacity);
    let everything = Slots::Run { first: 0, count: high as u16 };
    let mut room = page.len() - layout.end;
    for place in layout.columns.iter().filter(|place| place.is_variable()) {
        let values = inline(page, place, everything);
        if values.bytes > 0 && (values.low < start || values.high > page.len()) {
            return Err(Flaw::from("value outside"));
        }
        room = room.checked_sub(values.bytes).ok_or_else(|| Flaw::from("values overlap"))?;
    }
    Ok(())
}

#[inline]
fn set_bit(page: &mut [u8], bitmap: usize, slot: u16, value: bool) {
    let byte = bitmap + usize::from(slot) / 8;
    let mask = 1u8 << (slot % 8);
    if value { page[byte] |= mask } else { page[byte] &= !mask }
}

fn set_live(page: &mut [u8], layout: &PageLayout, slot: u16, live: bool) {
    set_bit(page, layout.live, slot, live);
}

/// Whether the record at `slot` is live.
#[inline]
pub fn is_live(page: &[u8], layout: &PageLayout, slot: u16) -> bool {
    super::slice::bit(&page[layout.live..], usize::from(slot))
}

/// The first of `slots` whose record is not live.
pub fn first_dead(page: &[u8], layout: &PageLayout, slots: Slots<'_>) -> Option<u16> {
    if let Slots::Run { first, count } = slots
        && super::slice::all_set(&page[layout.live..], usize::from(first), usize::from(count))
    {
        return None;
    }
    slots.iter().find(|slot| !is_live(page, layout, *slot))
}

/// Clears the flags (V7).
pub(super) fn clear_flags(page: &mut [u8]) {
    let sweeps = if disabled(Rule::V7) { 0 } else { FLAG_ALL_VISIBLE | FLAG_SWEPT };
    header::set_flags(page, header::flags(page) & !(sweeps | FLAG_ALIKE));
}

/// Counts live and deleted records anew and clears the flags.
fn settle(page: &mut [u8], layout: &PageLayout) {
    let high = usize::from(u16_at(page, SLOT_HIGH)).min(layout.capacity);
    let live: u32 = page[layout.live..layout.writer].iter().map(|byte| byte.count_ones()).sum();
    let writers = page[layout.writer..layout.writer + high * 8].chunks_exact(8);
    let used = writers.filter(|writer| u64_at(writer, 0) != 0).count();
    put_u16(page, LIVE_COUNT, live as u16);
    put_u16(page, DELETED_COUNT, used.saturating_sub(live as usize) as u16);
    clear_flags(page);
}

fn insert(page: &mut [u8], layout: &PageLayout, payload: &[u8]) -> Result<(), Flaw> {
    let writer = checked_u64(payload, 0)?;
    let mut at = 8;
    let slots = slots_of(payload, &mut at, layout)?;
    let mut slices = Slices::new();
    columns_of(payload, &mut at, slots.len(), layout, &mut slices)?;
    check_room(page, layout, slots, &mut slices)?;
    store(page, layout, slots, &slices)?;
    for slot in slots.iter() {
        put_u64(page, layout.writer + usize::from(slot) * 8, writer);
        put_u64(page, layout.back + usize::from(slot) * 8, 0);
        set_live(page, layout, slot, true);
    }
    if !slots.is_empty() {
        let high = u16_at(page, SLOT_HIGH).max(slots.get(slots.len() - 1) + 1);
        put_u16(page, SLOT_HIGH, high);
    }
    let greatest = u64_at(page, MAX_WRITER).max(writer);
    put_u64(page, MAX_WRITER, greatest);
    settle(page, layout);
    Ok(())
}

/// Redo of [`RecordKind::DATA_UPDATE`] on a data page of that layout.
///
/// # Errors
/// A flaw when the payload does not fit the page; nothing has changed then.
pub fn update(page: &mut [u8], layout: &PageLayout, payload: &[u8]) -> Result<(), Flaw> {
    let form = checked_u8(payload, 0)?;
    let mut at = 1;
    let slots = slots_of(payload, &mut at, layout)?;
    let owners = at;
    let pairs = if form & EACH != 0 { slots.len() } else { usize::from(form & UNIFORM != 0) };
    at += pairs * 16;
    let mut slices = Slices::new();
    columns_of(payload, &mut at, slots.len(), layout, &mut slices)?;
    check_room(page, layout, slots, &mut slices)?;
    store(page, layout, slots, &slices)?;
    let mut greatest = u64_at(page, MAX_WRITER);
    let mut unused = false;
    let mut alike = pairs == 0 && header::flags(page) & FLAG_ALIKE != 0;
    if let (1, Slots::Run { first, count }) = (pairs, slots) {
        let owner = &payload[owners..owners + 16];
        greatest = greatest.max(u64_at(owner, 0));
        unused = u64_at(owner, 0) == 0;
        let (from, length) = (usize::from(first) * 8, usize::from(count) * 8);
        repeat(&mut page[layout.writer + from..][..length], &owner[..8]);
        repeat(&mut page[layout.back + from..][..length], &owner[8..]);
        alike = first == 0 && count >= u16_at(page, SLOT_HIGH);
    } else if pairs > 0 {
        for (rank, slot) in slots.iter().enumerate() {
            let pair = owners + if pairs == 1 { 0 } else { rank * 16 };
            let writer = u64_at(payload, pair);
            greatest = greatest.max(writer);
            unused |= writer == 0;
            put_u64(page, layout.writer + usize::from(slot) * 8, writer);
            put_u64(page, layout.back + usize::from(slot) * 8, u64_at(payload, pair + 8));
        }
    }
    put_u64(page, MAX_WRITER, greatest);
    if form & (SET_LIVE | CLEAR_LIVE) == 0 && !unused {
        // Who lives does not change.
        clear_flags(page);
    } else {
        for slot in slots.iter().filter(|_| form & (SET_LIVE | CLEAR_LIVE) != 0) {
            set_live(page, layout, slot, form & SET_LIVE != 0);
        }
        settle(page, layout);
    }
    if alike {
        header::set_flags(page, header::flags(page) | FLAG_ALIKE);
    }
    Ok(())
}

fn free(page: &mut [u8], layout: &PageLayout, payload: &[u8]) -> Result<(), Flaw> {
    let mut at = 0;
    let slots = slots_of(payload, &mut at, layout)?;
    for place in &layout.columns {
        if place.is_variable() {
            let values = inline(page, place, slots);
            give_up(page, values);
            empty(page, place, slots);
        }
        for slot in slots.iter() {
            page[place.nulls + usize::from(slot) / 8] &= !(1u8 << (slot % 8));
        }
    }
    for slot in slots.iter() {
        put_u64(page, layout.writer + usize::from(slot) * 8, 0);
        put_u64(page, layout.back + usize::from(slot) * 8, 0);
        set_live(page, layout, slot, false);
    }
    settle(page, layout);
    Ok(())
}

/// Payload: `flags u8 | slots` – the back pointers of the slots go, the flags are set.
fn sweep(page: &mut [u8], layout: &PageLayout, payload: &[u8]) -> Result<(), Flaw> {
    let flags = checked_u8(payload, 0)?;
    let mut at = 1;
    let slots = slots_of(payload, &mut at, layout)?;
    for slot in slots.iter() {
        put_u64(page, layout.back + usize::from(slot) * 8, 0);
    }
    let alike = if slots.is_empty() { 0 } else { FLAG_ALIKE };
    header::set_flags(page, header::flags(page) & !alike | flags);
    Ok(())
}

/// Directory index a data page says it has.
pub fn page_index(page: &[u8]) -> u32 {
    u32_at(page, PAGE_INDEX)
}
