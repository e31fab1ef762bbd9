//! How a data page becomes a part of a packed page: for each column the encoding that takes the fewest bytes.

use std::collections::HashMap;

use verso_types::Physical;

use super::bits;
use super::dictionary::Dictionary;
use super::part::*;
use super::symbols::Symbols;
use crate::heap::apply;
use crate::heap::layout::{CAPACITY, ColumnPlace, MAX_WRITER, PageLayout, SLOT_HIGH, physical_code};
use crate::heap::slice::bit;
use crate::heap::value_slot::ValueSlot;
use crate::page::bytes::{checked_slice, put_u16, u16_at, u64_at};
use crate::page::{Flaw, PageId};

/// Values beyond so many different ones are not looked for.
const ENTRIES_MAX: usize = 1024;
/// Symbols take longer to read, so they are to save this part of the bytes.
const SYMBOLS_GAIN: usize = 10;

/// The part that a data page becomes, with texts in the symbols of a dictionary where that is smaller; `None` where a value stands elsewhere or a record has an older version (P1).
///
/// # Errors
/// A flaw of the page.
pub(super) fn encode(
    page: &[u8],
    layout: &PageLayout,
    dictionary: Option<&Dictionary>,
) -> Result<Option<Vec<u8>>, Flaw> {
    let slots = usize::from(u16_at(page, SLOT_HIGH)).min(layout.capacity);
    let live: Vec<bool> = (0..slots).map(|slot| apply::is_live(page, layout, slot as u16)).collect();
    for (slot, is_live) in live.iter().enumerate() {
        let owner = |array: usize| u64_at(page, array + slot * 8);
        // One that is not live has no writer, or it is a deleted record.
        if owner(layout.back) != 0 || (owner(layout.writer) == 0) == *is_live {
            return Ok(None);
        }
    }
    let mut out = vec![0; HEADS];
    put_u16(&mut out, SLOTS, slots as u16);
    put_u16(&mut out, PART_CAPACITY, u16_at(page, CAPACITY));
    put_u16(&mut out, COLUMNS, layout.columns.len() as u16);
    out[GREATEST..HEADS].copy_from_slice(&page[MAX_WRITER..MAX_WRITER + 8]);
    out.resize(HEADS + (layout.columns.len() + 1) * HEAD, 0);
    if live.contains(&false) {
        out[FLAGS] |= HAS_LIVE;
        push_bitmap(&mut out, live.iter().copied());
    }
    let writers = ColumnPlace {
        id: WRITERS,
        physical: Physical::I64,
        width: 8,
        nulls: layout.live,
        data: layout.writer,
    };
    let mut coded = Coded { slots, bits: 0, encoding: NOTHING, body: Vec::new() };
    for (ordinal, place) in std::iter::once(&writers).chain(&layout.columns).enumerate() {
        let is_null = |slot: usize| ordinal > 0 && bit(&page[place.nulls..], slot);
        let present: Vec<bool> = (0..slots).map(|slot| live[slot] && !is_null(slot)).collect();
        let any_null = (0..slots).any(|slot| live[slot] && is_null(slot));
        coded.body.clear();
        let with_nulls = any_null && present.contains(&true);
        if with_nulls {
            push_bitmap(&mut coded.body, (0..slots).map(is_null));
        }
        if !present.contains(&true) {
            (coded.encoding, coded.bits) = (NOTHING, 0);
        } else if place.is_variable() {
            let mut values: Vec<&[u8]> = Vec::with_capacity(slots);
            for (slot, present) in present.iter().enumerate() {
                let raw = if *present { u64_at(page, place.data + slot * 8) } else { 0 };
                match ValueSlot::decode(raw) {
                    Some(ValueSlot::Empty) => values.push(&[]),
                    Some(ValueSlot::Inline { offset, length }) => {
                        values.push(checked_slice(page, usize::from(offset), usize::from(length))?);
                    }
                    Some(_) => return Ok(None),
                    None => return Err(Flaw::from("unknown value slot")),
                }
            }
            let symbols =
                dictionary.and_then(|dictionary| Some((dictionary.page, dictionary.of_column(place.id)?)));
            coded.texts(&values, &present, symbols);
        } else {
            let values: Vec<&[u8]> =
                page[place.data..place.data + slots * place.width].chunks_exact(place.width).collect();
            coded.fixed(&values, &present, place.physical);
        }
        let Ok(length) = u16::try_from(coded.body.len()) else { return Ok(None) };
        let head = &mut out[HEADS + ordinal * HEAD..][..HEAD];
        put_u16(head, 0, place.id);
        head[HEAD_PHYSICAL] = physical_code(place.physical);
        head[HEAD_ENCODING] = coded.encoding;
        head[HEAD_NULLS] = u8::from(with_nulls);
        head[HEAD_BITS] = coded.bits;
        put_u16(head, HEAD_LENGTH, length);
        out.extend_from_slice(&coded.body);
    }
    Ok(Some(out))
}

fn push_bitmap(out: &mut Vec<u8>, bits: impl Iterator<Item = bool>) {
    self::bits::push(out, bits.map(u64::from), 1);
}

/// A column on its way.
struct Coded {
    slots: usize,
    bits: u8,
    encoding: u8,
    body: Vec<u8>,
}

/// The different values of a column, and which of them each slot has.
struct Entries<'v> {
    entries: Vec<&'v [u8]>,
    codes: Vec<u64>,
}

impl<'v> Entries<'v> {
    /// `None` where there are too many.
    fn of(values: &[&'v [u8]], present: &[bool]) -> Option<Entries<'v>> {
        let (mut known, mut entries) = (HashMap::new(), Vec::new());
        let mut codes = Vec::with_capacity(values.len());
        for (value, present) in values.iter().zip(present) {
            if !present {
                codes.push(0);
                continue;
            }
            let code = *known.entry(*value).or_insert_with(|| {
                entries.push(*value);
                entries.len() as u64 - 1
            });
            if entries.len() > ENTRIES_MAX {
                return None;
            }
            codes.push(code);
        }
        Some(Entries { entries, codes })
    }

    fn bits(&self) -> u8 {
        bits::needed(self.entries.len() as u64 - 1)
    }

    /// Bytes as a dictionary, of which each entry takes so many besides its own.
    fn size(&self, each: usize) -> usize {
        let entries: usize = self.entries.iter().map(|entry| each + entry.len()).sum();
        2 + entries + bits::bytes(self.codes.len(), self.bits())
    }
}

impl Coded {
    /// At least one value is there.
    fn fixed(&mut self, values: &[&[u8]], present: &[bool], physical: Physical) {
        let width = physical.width().expect("a fixed type");
        let entries = Entries::of(values, present);
        if let Some(Entries { entries, .. }) = entries.as_ref().filter(|entries| entries.entries.len() == 1) {
            (self.encoding, self.bits) = (CONSTANT, 0);
            self.body.extend_from_slice(entries[0]);
            return;
        }
        let numbers: Option<Vec<i64>> = values
            .iter()
            .zip(present)
            .map(|(value, present)| if *present { integer(value, physical) } else { Some(0) })
            .collect();
        let there = |numbers: &Vec<i64>| {
            let there =
                numbers.iter().zip(present).filter(|(_, present)| **present).map(|(number, _)| *number);
            Some((there.clone().min()?, there.max()?))
        };
        let frame = numbers.as_ref().and_then(there).map(|(least, greatest)| {
            let bits = bits::needed(greatest.wrapping_sub(least) as u64);
            (least, bits, 8 + bits::bytes(self.slots, bits))
        });
        let frame = frame.filter(|(_, bits, size)| *bits <= bits::BITS_MAX && *size < self.slots * width);
        let least = frame.map_or(self.slots * width, |(_, _, size)| size);
        if let Some(entries) = entries.filter(|entries| entries.size(0) < least) {
            self.dictionary(&entries, |_, _| ());
            return;
        }
        match (frame, numbers) {
            (Some((base, bits, _)), Some(numbers)) => {
                (self.encoding, self.bits) = (FRAME, bits);
                self.body.extend_from_slice(&base.to_le_bytes());
                let above = numbers.iter().zip(present).map(|(number, present)| match present {
                    true => number.wrapping_sub(base) as u64,
                    false => 0,
                });
                bits::push(&mut self.body, above, bits);
            }
            _ => {
                (self.encoding, self.bits) = (PLAIN, 0);
                values.iter().for_each(|value| self.body.extend_from_slice(value));
            }
        }
    }

    /// At least one value is there.
    fn texts(&mut self, values: &[&[u8]], present: &[bool], symbols: Option<(PageId, &Symbols)>) {
        let there = || values.iter().zip(present).filter(|(_, present)| **present).map(|(value, _)| *value);
        let first = there().next().unwrap_or_default();
        let common = |prefix: usize, value: &[u8]| {
            first[..prefix].iter().zip(value).take_while(|(one, other)| one == other).count()
        };
        let prefix = there().fold(first.len(), common);
        let longest = there().map(<[u8]>::len).max().unwrap_or(0) - prefix;
        let bits = bits::needed(longest as u64);
        let bytes: usize = there().map(|value| value.len() - prefix).sum();
        let size = 2 + prefix + bits::bytes(self.slots, bits) + bytes;
        if longest == 0 {
            (self.encoding, self.bits) = (CONSTANT, 0);
            self.body.extend_from_slice(first);
            return;
        }
        let entries = Entries::of(values, present).filter(|entries| entries.size(2) < size);
        let least = entries.as_ref().map_or(size, |entries| entries.size(2));
        if let Some((page, symbols)) = symbols
            && self.symbols(values, present, (page, symbols), least - least / SYMBOLS_GAIN)
        {
            return;
        }
        if let Some(entries) = entries {
            self.dictionary(&entries, |out, entry| {
                out.extend_from_slice(&(entry.len() as u16).to_le_bytes());
            });
            return;
        }
        (self.encoding, self.bits) = (TEXTS, bits);
        self.body.extend_from_slice(&(prefix as u16).to_le_bytes());
        self.body.extend_from_slice(&first[..prefix]);
        let length =
            |(value, present): (&&[u8], &bool)| if *present { value.len() - prefix } else { 0 } as u64;
        bits::push(&mut self.body, values.iter().zip(present).map(length), bits);
        there().for_each(|value| self.body.extend_from_slice(&value[prefix..]));
    }

    /// The texts in symbols, if that takes less than so many bytes.
    fn symbols(
        &mut self,
        values: &[&[u8]],
        present: &[bool],
        (page, symbols): (PageId, &Symbols),
        least: usize,
    ) -> bool {
        let (mut codes, mut lengths, mut bytes) = (Vec::new(), Vec::with_capacity(self.slots), 0);
        for (value, present) in values.iter().zip(present) {
            let before = codes.len();
            if *present {
                symbols.encode(value, &mut codes);
                bytes += value.len();
            }
            lengths.push((codes.len() - before) as u64);
        }
        let bits = bits::needed(lengths.iter().copied().max().unwrap_or(0));
        let size = SYMBOLS_HEAD + bits::bytes(self.slots, bits) + codes.len();
        let Some(bytes) = u16::try_from(bytes).ok().filter(|_| size < least) else { return false };
        (self.encoding, self.bits) = (SYMBOLS, bits);
        self.body.extend_from_slice(&page.0.to_le_bytes());
        self.body.extend_from_slice(&bytes.to_le_bytes());
        bits::push(&mut self.body, lengths.into_iter(), bits);
        self.body.extend_from_slice(&codes);
        true
    }

    /// The entries, what `before` says of each of them in front, then the codes.
    fn dictionary(&mut self, entries: &Entries<'_>, before: impl Fn(&mut Vec<u8>, &[u8])) {
        (self.encoding, self.bits) = (DICTIONARY, entries.bits());
        self.body.extend_from_slice(&(entries.entries.len() as u16).to_le_bytes());
        entries.entries.iter().for_each(|entry| before(&mut self.body, entry));
        entries.entries.iter().for_each(|entry| self.body.extend_from_slice(entry));
        bits::push(&mut self.body, entries.codes.iter().copied(), self.bits);
    }
}

/// The number that a value of a fixed type is, where it is an integer of at most 64 bits.
fn integer(value: &[u8], physical: Physical) -> Option<i64> {
    Some(match physical {
        Physical::Bool => i64::from(value[0]),
        Physical::I16 => i64::from(i16::from_le_bytes(value.try_into().ok()?)),
        Physical::I32 => i64::from(i32::from_le_bytes(value.try_into().ok()?)),
        Physical::I64 => i64::from_le_bytes(value.try_into().ok()?),
        Physical::I128 => i64::try_from(i128::from_le_bytes(value.try_into().ok()?)).ok()?,
        Physical::F32 | Physical::F64 | Physical::Bytes => return None,
    })
}
