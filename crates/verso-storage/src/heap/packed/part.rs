//! A part of a packed page: one data page, column by column, and the page that it expands to.
//!
//! ```text
//! slots u16 │ capacity u16 │ columns u16 │ flags u8 │ – │ greatest writer u64 │ heads: writers, column, column, … │
//! [bitmap of the live] │ bodies in the order of the heads
//! head   id u16 │ physical type u8 │ encoding u8 │ 1: NULLs first u8 │ bits u8 │ bytes of the body u16
//! body   [null bitmap] │ by encoding
//! ```
//! Each of them has a value for every slot of the page below the high one, also where there is none. Bytes of a part come
//! from the disk and are not trusted.

use verso_types::Physical;

use super::bits::Numbers;
use super::dictionary::Dictionary;
use crate::heap::layout::{
    self, ColumnSpec, FLAG_ALL_VISIBLE, FLAG_SWEPT, LIVE_COUNT, MAX_WRITER, PAGE_INDEX, PageLayout,
    SLOT_HIGH, VARIABLE_START, physical_from_code,
};
use crate::heap::slice::bit;
use crate::heap::value_slot::ValueSlot;
use crate::page::bytes::{checked_slice, put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};

pub(super) const SLOTS: usize = 0;
pub(super) const PART_CAPACITY: usize = 2;
pub(super) const COLUMNS: usize = 4;
pub(super) const FLAGS: usize = 6;
pub(super) const GREATEST: usize = 8;
/// Where the heads begin.
pub(super) const HEADS: usize = 16;
/// Bytes of a head, and offsets in it.
pub(super) const HEAD: usize = 8;
pub(super) const HEAD_PHYSICAL: usize = 2;
pub(super) const HEAD_ENCODING: usize = 3;
pub(super) const HEAD_NULLS: usize = 4;
pub(super) const HEAD_BITS: usize = 5;
pub(super) const HEAD_LENGTH: usize = 6;

/// Flag: some slots have no record; a bitmap says which have one.
pub(super) const HAS_LIVE: u8 = 1;
/// The id of the writers, which stand first.
pub(super) const WRITERS: u16 = u16::MAX;

/// Encoding: values as in a data page's array.
pub(super) const PLAIN: u8 = 1;
/// Encoding: one value, which all have.
pub(super) const CONSTANT: u8 = 2;
/// Encoding: `least i64 │ how far each is above it, in bits`.
pub(super) const FRAME: u8 = 3;
/// Encoding: `entries u16 │ [lengths u16 each] │ entries │ which one each is, in bits`.
pub(super) const DICTIONARY: u8 = 4;
/// Encoding of texts: `length u16 │ what all begin with │ lengths of the rests, in bits │ the rests`.
pub(super) const TEXTS: u8 = 5;
/// Encoding: no slot has a value.
pub(super) const NOTHING: u8 = 6;
/// Encoding of texts: `page of the dictionary u32 │ bytes of all texts u16 │ lengths in symbols, in bits │ the symbols`.
pub(super) const SYMBOLS: u8 = 7;
/// Bytes before the lengths of it.
pub(super) const SYMBOLS_HEAD: usize = 6;

/// A part whose heads fit its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    bytes: &'a [u8],
    slots: usize,
    columns: usize,
    live: Option<&'a [u8]>,
    /// Where the first body begins.
    bodies: usize,
}

/// The data page that a part was, in memory; used again for the next one, which is laid out alike mostly.
#[derive(Default)]
pub(crate) struct Image {
    page: Vec<u8>,
    layout: Option<PageLayout>,
}

impl Image {
    /// The page.
    pub fn page(&self) -> &[u8] {
        &self.page
    }

    /// Makes the page one of the size and the layout given by its columns, with arrays of anything.
    fn lay_out(
        &mut self,
        page_size: usize,
        capacity: usize,
        specs: impl ExactSizeIterator<Item = ColumnSpec> + Clone,
    ) -> Result<(), Flaw> {
        let same = |layout: &PageLayout| {
            let known = layout.columns.iter().map(|place| (place.id, place.physical));
            layout.capacity == capacity && known.eq(specs.clone().map(|spec| (spec.id, spec.physical)))
        };
        if self.page.len() == page_size && self.layout.as_ref().is_some_and(same) {
            return Ok(());
        }
        self.layout = None;
        let layout = PageLayout::new(specs.clone(), capacity);
        if layout.end > page_size {
            return Err(Flaw::from("a part of a longer page"));
        }
        self.page.clear();
        self.page.resize(page_size, 0);
        let specs: Vec<ColumnSpec> = specs.collect();
        PageLayout::format(&specs, capacity, &mut self.page, 0, 1);
        self.layout = Some(layout);
        Ok(())
    }
}

/// The body of a column.
struct Body<'a> {
    physical: Physical,
    encoding: u8,
    nulls: Option<&'a [u8]>,
    bits: u8,
    bytes: &'a [u8],
}

impl<'a> Part<'a> {
    /// Reads the heads.
    ///
    /// # Errors
    /// A flaw when the bytes are no part.
    pub fn of(bytes: &'a [u8]) -> Result<Part<'a>, Flaw> {
        let head = checked_slice(bytes, 0, HEADS)?;
        let (slots, columns) = (usize::from(u16_at(head, SLOTS)), usize::from(u16_at(head, COLUMNS)));
        if slots > usize::from(u16_at(head, PART_CAPACITY)) {
            return Err(Flaw::from("a part with more slots than its page"));
        }
        let mut bodies = HEADS + (columns + 1) * HEAD;
        checked_slice(bytes, HEADS, bodies - HEADS)?;
        let mut live = None;
        if head[FLAGS] & HAS_LIVE != 0 {
            live = Some(checked_slice(bytes, bodies, slots.div_ceil(8))?);
            bodies += slots.div_ceil(8);
        }
        let part = Part { bytes, slots, columns, live, bodies };
        let lengths: usize = (0..=columns).map(|ordinal| part.length(ordinal)).sum();
        if bodies + lengths != bytes.len() || u16_at(part.head(0), 0) != WRITERS {
            return Err(Flaw::from("a part whose columns do not fill it"));
        }
        Ok(part)
    }

    /// Whether no slot has a record.
    pub fn is_empty(&self) -> bool {
        self.slots == 0 || self.live.is_some_and(|live| live.iter().all(|byte| *byte == 0))
    }

    fn head(&self, ordinal: usize) -> &'a [u8] {
        &self.bytes[HEADS + ordinal * HEAD..][..HEAD]
    }

    fn length(&self, ordinal: usize) -> usize {
        usize::from(u16_at(self.head(ordinal), HEAD_LENGTH))
    }

    fn is_live(&self, slot: usize) -> bool {
        self.live.is_none_or(|live| bit(live, slot))
    }

    fn spec(&self, ordinal: usize) -> Result<ColumnSpec, Flaw> {
        let head = self.head(ordinal);
        let physical = physical_from_code(head[HEAD_PHYSICAL]);
        let physical = physical.ok_or_else(|| Flaw::from("unknown column type in a part"))?;
        Ok(ColumnSpec { id: u16_at(head, 0), physical })
    }

    fn body(&self, ordinal: usize, at: usize, physical: Physical) -> Result<Body<'a>, Flaw> {
        let head = self.head(ordinal);
        let mut bytes = checked_slice(self.bytes, at, self.length(ordinal))?;
        let mut nulls = None;
        if head[HEAD_NULLS] != 0 {
            let bitmap = checked_slice(bytes, 0, self.slots.div_ceil(8))?;
            (nulls, bytes) = (Some(bitmap), &bytes[bitmap.len()..]);
        }
        Ok(Body { physical, encoding: head[HEAD_ENCODING], nulls, bits: head[HEAD_BITS], bytes })
    }

    /// The page of the dictionary that all columns need, or those `wanted`: one has them all.
    ///
    /// # Errors
    /// A flaw where there are two.
    pub fn dictionary(&self, wanted: Option<&[u16]>) -> Result<Option<PageId>, Flaw> {
        let (mut found, mut at) = (None, self.bodies);
        for ordinal in 0..=self.columns {
            let (head, length) = (self.head(ordinal), self.length(ordinal));
            let is_wanted = wanted.is_none_or(|wanted| wanted.contains(&u16_at(head, 0)));
            if head[HEAD_ENCODING] == SYMBOLS
                && is_wanted
                && physical_from_code(head[HEAD_PHYSICAL]) == Some(Physical::Bytes)
            {
                let nulls = if head[HEAD_NULLS] != 0 { self.slots.div_ceil(8) } else { 0 };
                let body = checked_slice(self.bytes, at, length)?;
                let page = PageId(u32_at(checked_slice(body, nulls, SYMBOLS_HEAD)?, 0));
                if found.is_some_and(|found| found != page) {
                    return Err(Flaw::from("a part with two dictionaries"));
                }
                found = Some(page);
            }
            at += length;
        }
        Ok(found)
    }

    /// Makes `image` the data page that this is a part of, with all columns or those `wanted`; the others have any values. The
    /// dictionary is the one that these need ([`Part::dictionary`]).
    ///
    /// # Errors
    /// A flaw when the bytes are no part of such a page; the image is anything then.
    pub fn expand(
        &self,
        image: &mut Image,
        page_size: usize,
        (id, owner, index): (PageId, ObjectId, u32),
        wanted: Option<&[u16]>,
        dictionary: Option<&Dictionary>,
    ) -> Result<(), Flaw> {
        (1..=self.columns).try_for_each(|ordinal| self.spec(ordinal).map(drop))?;
        let known = |ordinal: usize| self.spec(ordinal + 1).expect("looked at above");
        let capacity = usize::from(u16_at(self.bytes, PART_CAPACITY));
        image.lay_out(page_size, capacity, (0..self.columns).map(known))?;
        let Image { page, layout: Some(layout) } = image else {
            return Err(Flaw::from("a page without a layout"));
        };
        let page = &mut page[..];
        header::name(page, id, PageKind::Data, owner, 0);
        header::set_flags(page, FLAG_ALL_VISIBLE | FLAG_SWEPT);
        put_u32(page, PAGE_INDEX, index);
        put_u16(page, layout::FORMAT, 1);
        put_u16(page, layout::CAPACITY, capacity as u16);
        let live = &mut page[layout.live..layout.writer];
        live.fill(0);
        match self.live {
            Some(bitmap) => live[..bitmap.len()].copy_from_slice(bitmap),
            None => fill_bits(live, self.slots),
        }
        if !self.slots.is_multiple_of(8) {
            live[self.slots / 8] &= (1 << (self.slots % 8)) - 1;
        }
        let count: u32 = live.iter().map(|byte| byte.count_ones()).sum();
        put_u16(page, SLOT_HIGH, self.slots as u16);
        put_u16(page, LIVE_COUNT, count as u16);
        put_u64(page, MAX_WRITER, u64_at(self.bytes, GREATEST));
        let mut at = self.bodies;
        let writers = layout::ColumnPlace {
            id: WRITERS,
            physical: self.spec(0)?.physical,
            width: 8,
            nulls: layout.live,
            data: layout.writer,
        };
        if writers.physical != Physical::I64 {
            return Err(Flaw::from("a part with writers of another type"));
        }
        self.put_fixed(page, &writers, &self.body(0, at, Physical::I64)?, false)?;
        if self.live.is_some() {
            let dead = (0..self.slots).filter(|slot| !self.is_live(*slot));
            dead.for_each(|slot| put_u64(page, layout.writer + slot * 8, 0));
        }
        at += self.length(0);
        let mut start = page_size;
        for (ordinal, place) in (1..).zip(&layout.columns) {
            let body = self.body(ordinal, at, place.physical)?;
            at += self.length(ordinal);
            if wanted.is_some_and(|wanted| !wanted.contains(&place.id)) {
                continue;
            }
            if place.is_variable() {
                start = self.put_texts(page, place, &body, (start, layout.end), dictionary)?;
            } else {
                self.put_fixed(page, place, &body, true)?;
            }
        }
        put_u16(page, VARIABLE_START, start as u16);
        Ok(())
    }

    /// Sets the null bits of a column.
    fn put_nulls(&self, page: &mut [u8], place: &layout::ColumnPlace, body: &Body<'_>) {
        let bitmap = &mut page[place.nulls..place.nulls + self.slots.div_ceil(8)];
        bitmap.fill(0);
        match (body.encoding, self.live, body.nulls) {
            (NOTHING, Some(live), _) => bitmap.copy_from_slice(live),
            (NOTHING, None, _) => fill_bits(bitmap, self.slots),
            (_, _, Some(nulls)) => bitmap.copy_from_slice(nulls),
            _ => {}
        }
    }

    fn put_fixed(
        &self,
        page: &mut [u8],
        place: &layout::ColumnPlace,
        body: &Body<'_>,
        with_nulls: bool,
    ) -> Result<(), Flaw> {
        if with_nulls {
            self.put_nulls(page, place, body);
        }
        let width = place.width;
        let array = &mut page[place.data..place.data + self.slots * width];
        match body.encoding {
            NOTHING => array.fill(0),
            PLAIN => array.copy_from_slice(checked_slice(body.bytes, 0, self.slots * width)?),
            CONSTANT => {
                let value = checked_slice(body.bytes, 0, width)?;
                array.chunks_exact_mut(width).for_each(|place| place.copy_from_slice(value));
            }
            FRAME => {
                let base = i64::from_le_bytes(*first_eight(body.bytes)?);
                let above = Numbers::of(&body.bytes[8..], self.slots, body.bits)?;
                let value = |slot: usize| base.wrapping_add(above.get(slot) as i64);
                match body.physical {
                    Physical::Bool => put_each(array, |slot| [value(slot) as u8]),
                    Physical::I16 => put_each(array, |slot| (value(slot) as i16).to_le_bytes()),
                    Physical::I32 => put_each(array, |slot| (value(slot) as i32).to_le_bytes()),
                    Physical::I64 => put_each(array, |slot| value(slot).to_le_bytes()),
                    Physical::I128 => put_each(array, |slot| i128::from(value(slot)).to_le_bytes()),
                    Physical::F32 | Physical::F64 | Physical::Bytes => {
                        return Err(Flaw::from("a frame of values that are no integers"));
                    }
                }
            }
            DICTIONARY => {
                let count = dictionary_size(body.bytes)?;
                let entries = checked_slice(body.bytes, 2, count * width)?;
                let codes = Numbers::of(&body.bytes[2 + entries.len()..], self.slots, body.bits)?;
                for (slot, place) in array.chunks_exact_mut(width).enumerate() {
                    let entry = codes.get(slot) as usize;
                    place.copy_from_slice(checked_slice(entries, entry * width, width)?);
                }
            }
            _ => return Err(Flaw::from("unknown encoding of a column")),
        }
        if body.physical == Physical::Bool && array.iter().any(|byte| *byte > 1) {
            return Err(Flaw::from("a boolean beyond 1"));
        }
        Ok(())
    }

    /// Puts the values below `start`, ascending, and where they are into the array; where the lowest of them begins.
    fn put_texts(
        &self,
        page: &mut [u8],
        place: &layout::ColumnPlace,
        body: &Body<'_>,
        (start, end): (usize, usize),
        dictionary: Option<&Dictionary>,
    ) -> Result<usize, Flaw> {
        self.put_nulls(page, place, body);
        if self.live.is_some() || body.nulls.is_some() || body.encoding == NOTHING {
            page[place.data..place.data + self.slots * 8].fill(0);
        }
        let is_there = |slot: usize| self.is_live(slot) && body.nulls.is_none_or(|nulls| !bit(nulls, slot));
        let no_room = || Flaw::from("values of a part that do not fit its page");
        match body.encoding {
            NOTHING => Ok(start),
            CONSTANT | DICTIONARY => {
                let texts = Repeated::of(body, self.slots)?;
                let mut total = 0;
                for slot in (0..self.slots).filter(|slot| is_there(*slot)) {
                    total += texts.get(slot)?.len();
                }
                let low = start.checked_sub(total).filter(|low| *low >= end).ok_or_else(no_room)?;
                let mut to = low;
                for slot in (0..self.slots).filter(|slot| is_there(*slot)) {
                    let text = texts.get(slot)?;
                    page[to..to + text.len()].copy_from_slice(text);
                    put_slot(page, place, slot, to, text.len());
                    to += text.len();
                }
                Ok(low)
            }
            TEXTS => {
                let length = usize::from(u16_at(checked_slice(body.bytes, 0, 2)?, 0));
                let prefix = checked_slice(body.bytes, 2, length)?;
                let lengths = Numbers::of(&body.bytes[2 + length..], self.slots, body.bits)?;
                let mut rests = &body.bytes[2 + length + lengths.len()..];
                let there = (0..self.slots).filter(|slot| is_there(*slot)).count();
                let total = rests.len() + there * length;
                let low = start.checked_sub(total).filter(|low| *low >= end).ok_or_else(no_room)?;
                let mut to = low;
                if length == 0 {
                    // One copy for all; where each begins follows.
                    page[low..start].copy_from_slice(rests);
                }
                for slot in (0..self.slots).filter(|slot| is_there(*slot)) {
                    let rest = lengths.get(slot) as usize;
                    if rest > rests.len() {
                        return Err(Flaw::from("texts beyond their column"));
                    }
                    if length > 0 {
                        page[to..to + length].copy_from_slice(prefix);
                        page[to + length..to + length + rest].copy_from_slice(&rests[..rest]);
                    }
                    rests = &rests[rest..];
                    put_slot(page, place, slot, to, length + rest);
                    to += length + rest;
                }
                if !rests.is_empty() {
                    return Err(Flaw::from("texts that no slot has"));
                }
                Ok(low)
            }
            SYMBOLS => {
                let head = checked_slice(body.bytes, 0, SYMBOLS_HEAD)?;
                let symbols = dictionary.and_then(|dictionary| dictionary.of_column(place.id));
                let symbols = symbols.ok_or_else(|| Flaw::from("a column without its dictionary"))?;
                let low = start.checked_sub(usize::from(u16_at(head, 4))).filter(|low| *low >= end);
                let low = low.ok_or_else(no_room)?;
                let lengths = Numbers::of(&body.bytes[SYMBOLS_HEAD..], self.slots, body.bits)?;
                let mut codes = &body.bytes[SYMBOLS_HEAD + lengths.len()..];
                let (mut to, page) = (low, &mut page[..start]);
                for slot in (0..self.slots).filter(|slot| is_there(*slot)) {
                    let own = codes.split_at_checked(lengths.get(slot) as usize);
                    let (own, rest) = own.ok_or_else(|| Flaw::from("texts beyond their column"))?;
                    let from = to;
                    to = symbols.decode(own, page, from)?;
                    put_slot(page, place, slot, from, to - from);
                    codes = rest;
                }
                if to != start || !codes.is_empty() {
                    return Err(Flaw::from("texts that no slot has"));
                }
                Ok(low)
            }
            _ => Err(Flaw::from("unknown encoding of a column")),
        }
    }
}

/// Sets the first `count` bits.
fn fill_bits(bitmap: &mut [u8], count: usize) {
    bitmap[..count / 8].fill(0xFF);
    if !count.is_multiple_of(8) {
        bitmap[count / 8] = (1 << (count % 8)) - 1;
    }
}

fn first_eight(bytes: &[u8]) -> Result<&[u8; 8], Flaw> {
    bytes.first_chunk().ok_or_else(|| Flaw::from("a column without its base"))
}

fn dictionary_size(bytes: &[u8]) -> Result<usize, Flaw> {
    Ok(usize::from(u16_at(checked_slice(bytes, 0, 2)?, 0)))
}

/// Fills an array of values.
fn put_each<const WIDTH: usize>(array: &mut [u8], value: impl Fn(usize) -> [u8; WIDTH]) {
    for (slot, place) in array.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
        *place = value(slot);
    }
}

fn put_slot(page: &mut [u8], place: &layout::ColumnPlace, slot: usize, offset: usize, length: usize) {
    let value = ValueSlot::Inline { offset: offset as u16, length: length as u16 };
    put_u64(page, place.data + slot * 8, value.encode());
}

/// Texts of which many slots have the same.
struct Repeated<'a> {
    /// Where each begins and how long it is; one, and no codes, where all slots have it.
    places: Vec<(usize, usize)>,
    bytes: &'a [u8],
    codes: Option<Numbers<'a>>,
}

impl<'a> Repeated<'a> {
    fn of(body: &Body<'a>, slots: usize) -> Result<Repeated<'a>, Flaw> {
        if body.encoding == CONSTANT {
            return Ok(Repeated { places: vec![(0, body.bytes.len())], bytes: body.bytes, codes: None });
        }
        let count = dictionary_size(body.bytes)?;
        let lengths = checked_slice(body.bytes, 2, count * 2)?;
        let (mut at, bytes) = (0, &body.bytes[2 + count * 2..]);
        let mut places = Vec::with_capacity(count);
        for length in lengths.chunks_exact(2).map(|length| usize::from(u16_at(length, 0))) {
            checked_slice(bytes, at, length)?;
            places.push((at, length));
            at += length;
        }
        let codes = Numbers::of(&bytes[at..], slots, body.bits)?;
        Ok(Repeated { places, bytes, codes: Some(codes) })
    }

    #[inline]
    fn get(&self, slot: usize) -> Result<&'a [u8], Flaw> {
        let code = self.codes.map_or(0, |codes| codes.get(slot) as usize);
        let place = self.places.get(code).ok_or_else(|| Flaw::from("a text that its dictionary lacks"))?;
        Ok(&self.bytes[place.0..place.0 + place.1])
    }
}
