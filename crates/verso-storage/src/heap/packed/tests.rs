//! Parts: whatever a page holds comes back, and junk is a flaw.

use proptest::prelude::*;
use verso_types::{Batch, Column, Physical, SqlType, Value};

use super::container;
use super::dictionary::Dictionary;
use super::encode::encode;
use super::part::{self, Image, Part};
use super::symbols::Symbols;
use crate::heap::apply;
use crate::heap::layout::{ColumnSpec, FLAG_ALL_VISIBLE, FLAG_SWEPT, PageLayout, SLOT_HIGH};
use crate::heap::slice::{bit, encode_column};
use crate::heap::slots::Slots;
use crate::heap::value_slot::ValueSlot;
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{ObjectId, PageId, header};
use crate::wal::RecordKind;

const SIZE: usize = 8192;
const OWNER: ObjectId = ObjectId(1000);
const INDEX: u32 = 3;

/// A column of each kind.
const TYPES: [(SqlType, Physical); 8] = [
    (SqlType::Bool, Physical::Bool),
    (SqlType::Int2, Physical::I16),
    (SqlType::Int4, Physical::I32),
    (SqlType::Int8, Physical::I64),
    (SqlType::Float4, Physical::F32),
    (SqlType::Float8, Physical::F64),
    (SqlType::Text, Physical::Bytes),
    (SqlType::Text, Physical::Bytes),
];

fn specs() -> Vec<ColumnSpec> {
    (1..).zip(TYPES).map(|(id, (_, physical))| ColumnSpec { id, physical }).collect()
}

/// A row, made of one number by which columns are more or less alike.
fn row(number: i64) -> [Value; 8] {
    let null_or = |every: i64, value: Value| if number % every == every - 1 { Value::Null } else { value };
    [
        null_or(7, Value::Bool(number % 3 == 0)),
        Value::Int2(number as i16),
        null_or(5, Value::Int4(1_000_000 + (number % 50) as i32)),
        Value::Int8(number.wrapping_mul(0x5DEE_CE66_D1CE_4E5B)),
        Value::Float4((number % 4) as f32),
        null_or(3, Value::Float8(number as f64 / 7.0)),
        null_or(4, Value::text(["ship", "", "rail", "mail"][(number % 4) as usize])),
        Value::text(&format!("Customer#{number}")),
    ]
}

/// A page with rows of several writers, that a sweep has seen; the slots `free` have none.
fn page(rows: &[[Value; 8]], free: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut page = vec![0; SIZE];
    let mut payload = Vec::new();
    apply::init_payload(&mut payload, PageId(9), OWNER, INDEX, rows.len() + 2, &specs());
    apply::redo(RecordKind::DATA_INIT, &mut page, &payload).unwrap();
    for (writer, rows, first) in
        [(70u64, &rows[..rows.len() / 2], 0), (81, &rows[rows.len() / 2..], rows.len() / 2)]
    {
        if rows.is_empty() {
            continue;
        }
        let mut columns: Vec<Column> = TYPES.iter().map(|(_, physical)| Column::new(*physical)).collect();
        for row in rows {
            for ((column, value), (ty, _)) in columns.iter_mut().zip(row).zip(&TYPES) {
                column.push_value(value, ty).unwrap();
            }
        }
        let batch = Batch::from_columns(columns);
        payload.clear();
        payload.extend_from_slice(&writer.to_le_bytes());
        Slots::Run { first: first as u16, count: rows.len() as u16 }.encode(&mut payload);
        payload.extend_from_slice(&(TYPES.len() as u16).to_le_bytes());
        for (spec, column) in specs().iter().zip(&batch.columns) {
            encode_column(&mut payload, spec.id, column, 0..rows.len(), None);
        }
        apply::redo(RecordKind::DATA_INSERT, &mut page, &payload).unwrap();
    }
    let gone: Vec<u16> = (0..rows.len()).filter(|slot| free(*slot)).map(|slot| slot as u16).collect();
    payload.clear();
    Slots::from_list(&gone).encode(&mut payload);
    apply::redo(RecordKind::DATA_FREE, &mut page, &payload).unwrap();
    payload.clear();
    payload.push(FLAG_SWEPT | FLAG_ALL_VISIBLE);
    Slots::from_list(&[]).encode(&mut payload);
    apply::redo(RecordKind::DATA_SWEEP, &mut page, &payload).unwrap();
    page
}

fn expand(part: &[u8]) -> Result<Vec<u8>, crate::Flaw> {
    expand_with(part, None)
}

fn expand_with(part: &[u8], dictionary: Option<&Dictionary>) -> Result<Vec<u8>, crate::Flaw> {
    let mut image = Image::default();
    Part::of(part)?.expand(&mut image, SIZE, (PageId(9), OWNER, INDEX), None, dictionary)?;
    Ok(image.page().to_vec())
}

/// One for the last two columns, which are of texts.
fn dictionary() -> Dictionary {
    let texts: Vec<Vec<u8>> = (0..500).map(|n| format!("Customer#{}", n * 7).into_bytes()).collect();
    let symbols = Symbols::train(&texts.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut payload = Vec::new();
    for number in [5, OWNER.0, 0] {
        payload.extend_from_slice(&number.to_le_bytes());
    }
    payload.push(2);
    for column in [7u16, 8] {
        payload.extend_from_slice(&column.to_le_bytes());
        symbols.write(&mut payload);
    }
    let mut page = vec![1; SIZE];
    container::redo(RecordKind::DICTIONARY_INIT, &mut page, &payload).unwrap();
    let read = Dictionary::of(&page, OWNER).unwrap();
    assert_eq!(read.page, PageId(5));
    assert!(Dictionary::of(&page, ObjectId(7)).is_err() && Dictionary::of(&page[..60], OWNER).is_err());
    read
}

#[test]
fn texts_in_symbols_come_back_and_need_their_dictionary() {
    let dictionary = dictionary();
    let text =
        |n: i64| format!("{}Customer#{} and Customer#{}", "!".repeat((n % 4) as usize), n * 13, n * 11);
    let rows: Vec<_> = (0..40)
        .map(|n| {
            let mut row = row(n);
            row[6] = if n % 5 == 0 { Value::Null } else { Value::text(&text(n)) };
            row[7] = Value::text(&text(n * 3));
            row
        })
        .collect();
    for free in [1000, 3] {
        let page = page(&rows, |slot| slot % free == free - 1);
        let layout = PageLayout::of(&page).unwrap();
        let plain = encode(&page, &layout, None).unwrap().unwrap();
        let part = encode(&page, &layout, Some(&dictionary)).unwrap().unwrap();
        assert_eq!(encodings(&part)[7..], [part::SYMBOLS, part::SYMBOLS]);
        assert!(part.len() + 400 < plain.len(), "{} of {} bytes", part.len(), plain.len());
        let its = Part::of(&part).unwrap();
        assert_eq!(its.dictionary(None).unwrap(), Some(PageId(5)));
        assert_eq!(
            (its.dictionary(Some(&[8])).unwrap(), its.dictionary(Some(&[1, 4])).unwrap()),
            (Some(PageId(5)), None)
        );
        assert_eq!(records(&expand_with(&part, Some(&dictionary)).unwrap()), records(&page));
        assert!(expand(&part).is_err());
        let mut image = Image::default();
        its.expand(&mut image, SIZE, (PageId(9), OWNER, INDEX), Some(&[1, 4]), None).unwrap();
    }
}

/// Writer, and by column a value.
type Record = (u64, Vec<Option<Vec<u8>>>);

/// What the records of a page are, by slot.
fn records(page: &[u8]) -> Vec<Option<Record>> {
    let layout = PageLayout::of(page).unwrap();
    let record = |slot: usize| {
        let writer = u64_at(page, layout.writer + slot * 8);
        assert_eq!(writer != 0, apply::is_live(page, &layout, slot as u16));
        let value = |place: &crate::heap::layout::ColumnPlace| {
            let at = place.data + slot * place.width;
            if bit(&page[place.nulls..], slot) {
                return None;
            }
            if !place.is_variable() {
                return Some(page[at..at + place.width].to_vec());
            }
            match ValueSlot::decode(u64_at(page, at)).unwrap() {
                ValueSlot::Empty => Some(Vec::new()),
                ValueSlot::Inline { offset, length } => {
                    Some(page[usize::from(offset)..][..usize::from(length)].to_vec())
                }
                other => panic!("{other:?}"),
            }
        };
        (writer != 0).then(|| (writer, layout.columns.iter().map(value).collect()))
    };
    (0..usize::from(u16_at(page, SLOT_HIGH))).map(record).collect()
}

fn check(rows: &[[Value; 8]], free: impl Fn(usize) -> bool) -> Vec<u8> {
    let page = page(rows, free);
    let part = encode(&page, &PageLayout::of(&page).unwrap(), None).unwrap().unwrap();
    let image = expand(&part).unwrap();
    assert_eq!(records(&image), records(&page));
    assert_eq!(header::flags(&image), FLAG_SWEPT | FLAG_ALL_VISIBLE);
    // The fields of the page, but for where the variable bytes begin and how many are garbage.
    assert_eq!(image[24..36], page[24..36]);
    assert_eq!(image[40..56], page[40..56]);
    assert_eq!(encode(&image, &PageLayout::of(&image).unwrap(), None).unwrap().unwrap(), part);
    part
}

/// The encoding of each column.
fn encodings(part: &[u8]) -> Vec<u8> {
    let head = |ordinal: usize| part[part::HEADS + ordinal * part::HEAD + part::HEAD_ENCODING];
    (0..=TYPES.len()).map(head).collect()
}

#[test]
fn each_column_has_the_encoding_that_suits_it() {
    let rows: Vec<_> = (0..80).map(row).collect();
    let part = check(&rows, |_| false);
    use super::part::{CONSTANT, DICTIONARY, FRAME, NOTHING, PLAIN, TEXTS};
    let expected = [DICTIONARY, DICTIONARY, FRAME, FRAME, PLAIN, DICTIONARY, DICTIONARY, DICTIONARY, TEXTS];
    assert_eq!(encodings(&part), expected);
    assert!(part.len() < SIZE / 3, "{} bytes", part.len());
    // All alike, and none at all.
    let alike: Vec<_> = (0..80).map(|_| row(12)).collect();
    let part = check(&alike, |_| false);
    assert!(encodings(&part)[1..].iter().all(|encoding| *encoding == CONSTANT), "{:?}", encodings(&part));
    let nulls: Vec<_> = (0..80).map(|_| [(); 8].map(|()| Value::Null)).collect();
    let part = check(&nulls, |_| false);
    assert!(encodings(&part)[1..].iter().all(|encoding| *encoding == NOTHING));
    check(&rows, |slot| slot % 3 == 1);
    check(&rows, |_| true);
    check(&rows[..1], |_| false);
}

#[test]
fn the_ends_of_the_numbers_fit_a_frame_or_need_none() {
    for (least, greatest) in
        [(i64::MIN, i64::MAX), (i64::MAX - 5, i64::MAX), (i64::MIN, i64::MIN + 1), (0, 1 << 56)]
    {
        let rows: Vec<_> = (0..60)
            .map(|number| {
                let mut row = row(number);
                row[3] = Value::Int8(if number == 0 { greatest } else { least + number % 2 });
                row[2] = Value::Int4(if number % 2 == 0 { i32::MIN } else { i32::MAX });
                row
            })
            .collect();
        check(&rows, |_| false);
    }
}

#[test]
fn records_with_older_versions_or_values_elsewhere_are_left_alone() {
    let rows: Vec<_> = (0..40).map(row).collect();
    let plain = page(&rows, |_| false);
    let layout = PageLayout::of(&plain).unwrap();
    assert!(encode(&plain, &layout, None).unwrap().is_some());
    let with = |at: usize, raw: u64| {
        let mut page = plain.clone();
        page[at..at + 8].copy_from_slice(&raw.to_le_bytes());
        encode(&page, &layout, None).unwrap()
    };
    assert_eq!(with(layout.back + 8, 1 << 32), None, "an older version");
    assert_eq!(with(layout.writer + 8, 0), None, "no writer");
    let elsewhere = ValueSlot::Overflow { page: PageId(77), incarnation: 1 }.encode();
    assert_eq!(with(layout.columns[7].data + 8, elsewhere), None, "a chain");
    let mut deleted = plain.clone();
    deleted[layout.live] &= !1;
    assert_eq!(encode(&deleted, &layout, None).unwrap(), None, "a deleted record");
}

#[test]
fn parts_are_taken_out_and_pages_come_whole_from_the_log() {
    let rows: Vec<_> = (0..40).map(row).collect();
    let plain = page(&rows, |_| false);
    let part = check(&rows, |_| false);
    let mut payload = Vec::new();
    let parts = vec![(INDEX, part.clone()), (7, part.clone())];
    container::init_payload(&mut payload, PageId(5), OWNER, &parts);
    let mut packed = vec![0; SIZE];
    container::redo(RecordKind::PACKED_INIT, &mut packed, &payload).unwrap();
    assert_eq!(container::size(parts.iter().map(|(_, part)| part.len())), header::SIZE + payload.len() - 10);
    for (index, _) in &parts {
        let range = container::find(&packed, *index).unwrap().unwrap();
        assert_eq!(packed[range], part);
    }
    for (_, range) in container::parts(&packed).unwrap() {
        expand(&packed[range]).unwrap();
    }
    let its = INDEX.to_le_bytes();
    container::redo(RecordKind::PACKED_REMOVE, &mut packed, &its).unwrap();
    assert_eq!(container::find(&packed, INDEX).unwrap(), None);
    assert_eq!(container::parts(&packed).unwrap().len(), 1);
    assert!(container::redo(RecordKind::PACKED_REMOVE, &mut packed, &its).is_err(), "it is gone");
    let image = expand(&part).unwrap();
    let layout = PageLayout::of(&image).unwrap();
    payload.clear();
    let variable = usize::from(u16_at(&image, crate::heap::layout::VARIABLE_START));
    container::image_payload(&mut payload, PageId(9), &image, layout.end, variable);
    let mut whole = vec![7; SIZE];
    container::redo(RecordKind::DATA_IMAGE, &mut whole, &payload).unwrap();
    assert!(whole == image);
    assert_eq!(records(&whole), records(&plain));
}

proptest! {
    #[test]
    fn whatever_a_page_holds_comes_back(numbers in prop::collection::vec(0i64..1000, 1..90), every in 1usize..9) {
        let rows: Vec<_> = numbers.iter().map(|number| row(*number)).collect();
        check(&rows, |slot| every > 1 && slot % every == 0);
    }

    /// Flipped bytes of a part are a flaw or other values, never a panic.
    #[test]
    fn junk_is_a_flaw(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
        let rows: Vec<_> = (0..60).map(row).collect();
        let page = page(&rows, |slot| slot == 3);
        let dictionary = dictionary();
        let layout = PageLayout::of(&page).unwrap();
        let mut part = encode(&page, &layout, Some(&dictionary).filter(|_| flips.len() % 2 == 0)).unwrap().unwrap();
        for (at, byte) in &flips {
            let heads = part.len().min(128);
            let at = if byte % 2 == 0 { at.index(heads) } else { at.index(part.len()) };
            part[at] = *byte;
        }
        if let Ok(image) = expand_with(&part, Some(&dictionary)) {
            let _ = PageLayout::of(&image).unwrap();
        }
        let _ = Part::of(&part).and_then(|part| part.dictionary(None));
        let _ = expand_with(&part[..cut.index(part.len())], Some(&dictionary));
    }
}
