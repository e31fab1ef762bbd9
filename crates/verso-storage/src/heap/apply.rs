//! Redo of data pages: the only code that changes them (mini-transactions rule M1).
//!
//! A change validates everything first and then cannot fail (M2). Every change but sweep's own clears the page's
//! flags in the same log record (V7).

use super::layout::*;
use super::slice::{ColumnSlice, Variable};
use super::slots::Slots;
use super::value_slot::ValueSlot;
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

/// Runs a record of kinds 40–44 on a page.
pub fn redo(kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    if kind == RecordKind::DATA_INIT {
        return init(page, payload);
    }
    if header::kind(page) != Some(PageKind::Data) {
        return Err(Flaw::from("not a data page"));
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
    if !slots.is_empty() && usize::from(slots.get(slots.len() - 1)) >= layout.capacity {
        return Err(Flaw::from("slot beyond the page's capacity"));
    }
    Ok(slots)
}

/// Decodes the column slices at `at` together with the page's place of each.
fn columns_of<'a>(
    payload: &'a [u8],
    at: &mut usize,
    count: usize,
    layout: &PageLayout,
) -> Result<smallvec::SmallVec<[(usize, ColumnSlice<'a>); 12]>, Flaw> {
    let columns = usize::from(checked_u16(payload, *at)?);
    *at += 2;
    let mut slices = smallvec::SmallVec::with_capacity(columns);
    for _ in 0..columns {
        let slice = ColumnSlice::decode(payload, at, count)?;
        let ordinal = layout.ordinal(slice.id).ok_or_else(|| Flaw::from("no such column on the page"))?;
        if layout.columns[ordinal].physical != slice.physical {
            return Err(Flaw::from("column of another type"));
        }
        slices.push((ordinal, slice));
    }
    if *at != payload.len() {
        return Err(Flaw::from("bytes behind the record"));
    }
    Ok(slices)
}

/// Bytes between the arrays and the variable bytes.
pub fn contiguous(page: &[u8], layout: &PageLayout) -> usize {
    usize::from(u16_at(page, VARIABLE_START)).saturating_sub(layout.end)
}

/// Bytes that values at `slots` of a variable column hold inline.
pub fn inline_bytes(page: &[u8], place: &ColumnPlace, slots: Slots<'_>) -> usize {
    slots
        .iter()
        .map(|slot| match ValueSlot::decode(u64_at(page, place.data + usize::from(slot) * 8)) {
            Some(ValueSlot::Inline { length, .. }) => usize::from(length),
            _ => 0,
        })
        .sum()
}

/// Bytes available to variable values once the garbage is collected.
pub fn free_bytes(page: &[u8], layout: &PageLayout) -> usize {
    contiguous(page, layout) + usize::from(u16_at(page, GARBAGE))
}

/// Moves the variable bytes together, so that all garbage becomes contiguous room.
fn compact(page: &mut [u8], layout: &PageLayout) -> Result<(), Flaw> {
    let size = page.len();
    let start = usize::from(u16_at(page, VARIABLE_START));
    let old = page.get(start..).ok_or_else(|| Flaw::from("variable bytes beyond the page"))?.to_vec();
    let high = usize::from(u16_at(page, SLOT_HIGH));
    let mut end = size;
    for place in layout.columns.iter().filter(|place| place.is_variable()) {
        for at in (0..high).map(|slot| place.data + slot * 8) {
            if let Some(ValueSlot::Inline { offset, length }) = ValueSlot::decode(u64_at(page, at)) {
                let length = usize::from(length);
                let from =
                    usize::from(offset).checked_sub(start).ok_or_else(|| Flaw::from("value outside"))?;
                let bytes = old.get(from..from + length).ok_or_else(|| Flaw::from("value outside"))?;
                end = end
                    .checked_sub(length)
                    .filter(|end| *end >= layout.end)
                    .ok_or_else(|| Flaw::from("values overlap"))?;
                page[end..end + length].copy_from_slice(bytes);
                put_u64(page, at, ValueSlot::Inline { offset: end as u16, length: length as u16 }.encode());
            }
        }
    }
    put_u16(page, VARIABLE_START, end as u16);
    put_u16(page, GARBAGE, 0);
    Ok(())
}

/// Gives up the variable values at `slots`: their bytes become garbage, the value slots empty.
fn release(page: &mut [u8], place: &ColumnPlace, slots: Slots<'_>) {
    let mut garbage = usize::from(u16_at(page, GARBAGE));
    for at in slots.iter().map(|slot| place.data + usize::from(slot) * 8) {
        if let Some(ValueSlot::Inline { length, .. }) = ValueSlot::decode(u64_at(page, at)) {
            garbage += usize::from(length);
        }
        put_u64(page, at, 0);
    }
    put_u16(page, GARBAGE, garbage as u16);
}

/// Stores column slices at `slots`. Room was checked.
fn store(
    page: &mut [u8],
    layout: &PageLayout,
    slots: Slots<'_>,
    slices: &[(usize, ColumnSlice<'_>)],
) -> Result<(), Flaw> {
    let mut need = 0;
    for (ordinal, slice) in slices.iter().filter(|(ordinal, _)| layout.columns[*ordinal].is_variable()) {
        release(page, &layout.columns[*ordinal], slots);
        need += slice.inline_bytes();
    }
    if contiguous(page, layout) < need {
        compact(page, layout)?;
    }
    for (ordinal, slice) in slices {
        let place = &layout.columns[*ordinal];
        for (rank, slot) in slots.iter().enumerate() {
            let byte = place.nulls + usize::from(slot) / 8;
            let mask = 1u8 << (slot % 8);
            if slice.is_null(rank) { page[byte] |= mask } else { page[byte] &= !mask }
        }
        if !place.is_variable() {
            let width = place.width;
            match slots {
                Slots::Run { first, count } if !slice.constant => {
                    let from = place.data + usize::from(first) * width;
                    page[from..from + usize::from(count) * width].copy_from_slice(slice.fixed);
                }
                _ => {
                    for (rank, slot) in slots.iter().enumerate() {
                        let from = place.data + usize::from(slot) * width;
                        page[from..from + width].copy_from_slice(slice.fixed_at(rank, width));
                    }
                }
            }
            continue;
        }
        let mut start = usize::from(u16_at(page, VARIABLE_START));
        for (slot, value) in slots.iter().zip(slice.variables()) {
            let raw = match value {
                Variable::Null => 0,
                Variable::Reference(raw) => raw,
                Variable::Bytes(bytes) => {
                    start -= bytes.len();
                    page[start..start + bytes.len()].copy_from_slice(bytes);
                    ValueSlot::Inline { offset: start as u16, length: bytes.len() as u16 }.encode()
                }
            };
            put_u64(page, place.data + usize::from(slot) * 8, raw);
        }
        put_u16(page, VARIABLE_START, start as u16);
    }
    Ok(())
}

fn check_room(
    page: &[u8],
    layout: &PageLayout,
    slots: Slots<'_>,
    slices: &[(usize, ColumnSlice<'_>)],
) -> Result<(), Flaw> {
    let (mut need, mut room) = (0, free_bytes(page, layout));
    for (ordinal, slice) in slices.iter().filter(|(ordinal, _)| layout.columns[*ordinal].is_variable()) {
        need += slice.inline_bytes();
        room += inline_bytes(page, &layout.columns[*ordinal], slots);
    }
    if need > room {
        return Err(Flaw::new(format!("{need} bytes of values do not fit into {room}")));
    }
    Ok(())
}

fn set_live(page: &mut [u8], layout: &PageLayout, slot: u16, live: bool) {
    let byte = layout.live + usize::from(slot) / 8;
    let mask = 1u8 << (slot % 8);
    if live { page[byte] |= mask } else { page[byte] &= !mask }
}

/// Whether the record at `slot` is live.
#[inline]
pub fn is_live(page: &[u8], layout: &PageLayout, slot: u16) -> bool {
    super::slice::bit(&page[layout.live..], usize::from(slot))
}

/// Counts live and deleted records anew and clears the flags.
fn settle(page: &mut [u8], layout: &PageLayout) {
    let high = usize::from(u16_at(page, SLOT_HIGH));
    let live: u32 = page[layout.live..layout.writer].iter().map(|byte| byte.count_ones()).sum();
    let used = (0..high).filter(|slot| u64_at(page, layout.writer + slot * 8) != 0).count();
    put_u16(page, LIVE_COUNT, live as u16);
    put_u16(page, DELETED_COUNT, used.saturating_sub(live as usize) as u16);
    if !disabled(Rule::V7) {
        let flags = header::flags(page) & !(FLAG_ALL_VISIBLE | FLAG_SWEPT);
        header::set_flags(page, flags);
    }
}

fn insert(page: &mut [u8], layout: &PageLayout, payload: &[u8]) -> Result<(), Flaw> {
    let writer = checked_u64(payload, 0)?;
    let mut at = 8;
    let slots = slots_of(payload, &mut at, layout)?;
    let slices = columns_of(payload, &mut at, slots.len(), layout)?;
    check_room(page, layout, slots, &slices)?;
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

fn update(page: &mut [u8], layout: &PageLayout, payload: &[u8]) -> Result<(), Flaw> {
    let form = checked_u8(payload, 0)?;
    let mut at = 1;
    let slots = slots_of(payload, &mut at, layout)?;
    let owners = at;
    let pairs = if form & EACH != 0 { slots.len() } else { usize::from(form & UNIFORM != 0) };
    at += pairs * 16;
    let slices = columns_of(payload, &mut at, slots.len(), layout)?;
    check_room(page, layout, slots, &slices)?;
    store(page, layout, slots, &slices)?;
    let mut greatest = u64_at(page, MAX_WRITER);
    for (rank, slot) in slots.iter().enumerate() {
        if pairs > 0 {
            let pair = owners + if pairs == 1 && form & EACH == 0 { 0 } else { rank * 16 };
            let writer = u64_at(payload, pair);
            greatest = greatest.max(writer);
            put_u64(page, layout.writer + usize::from(slot) * 8, writer);
            put_u64(page, layout.back + usize::from(slot) * 8, u64_at(payload, pair + 8));
        }
        if form & (SET_LIVE | CLEAR_LIVE) != 0 {
            set_live(page, layout, slot, form & SET_LIVE != 0);
        }
    }
    put_u64(page, MAX_WRITER, greatest);
    settle(page, layout);
    Ok(())
}

fn free(page: &mut [u8], layout: &PageLayout, payload: &[u8]) -> Result<(), Flaw> {
    let mut at = 0;
    let slots = slots_of(payload, &mut at, layout)?;
    for place in &layout.columns {
        if place.is_variable() {
            release(page, place, slots);
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
    header::set_flags(page, header::flags(page) | flags);
    Ok(())
}

/// Directory index a data page says it has.
pub fn page_index(page: &[u8]) -> u32 {
    u32_at(page, PAGE_INDEX)
}
