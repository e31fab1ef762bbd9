//! Trees against sets of strings.

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use proptest::prelude::*;
use verso_sim::World;
use verso_types::{KeyType, Physical};

use super::entries::{Entries, RECORD, record_bytes};
use super::{Index, IndexSpec, KeyPart, KeyRange};
use crate::heap::ColumnSpec;
use crate::page::{RecordId, TxnId};
use crate::progress::Steps;
use crate::shared::Shared;
use crate::{CommitMode, Engine, EngineOptions, TxnOptions};

/// An index over a table without records.
fn with_index(body: impl FnOnce(&Arc<Shared>, &Index)) {
    let world = World::new(1);
    world.run(|env| {
        let options = EngineOptions {
            background: false,
            page_size: 4096,
            max_database_bytes: 64 << 20,
            ..EngineOptions::default()
        };
        let engine = Engine::create(env.clone(), &World::dir().join("t.verso"), options).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let table = engine.create_heap(&mut txn, &[ColumnSpec { id: 1, physical: Physical::Bytes }]).unwrap();
        let spec = IndexSpec {
            table,
            parts: vec![KeyPart::ascending(1, KeyType::Bytes)],
            unique: false,
            nulls_distinct: true,
            fill_factor: IndexSpec::FILL_FACTOR,
        };
        let object = engine.create_index(&mut txn, spec, &mut |_| ControlFlow::Continue(())).unwrap();
        let index = engine.index(object).unwrap();
        body(&txn.shared, &index);
        txn.commit(CommitMode::Wait).unwrap();
    });
}

/// A prefix-free key, like those of the codec.
fn key(bytes: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    KeyPart::ascending(1, KeyType::Bytes).order().encode_raw(Some(bytes), &mut key).unwrap();
    key
}

fn contents(shared: &Shared, index: &Index) -> Vec<Vec<u8>> {
    let (mut found, mut from) = (Vec::new(), Vec::new());
    loop {
        let leaf = index.read_leaf(shared, &from).unwrap();
        let node = index.node(leaf.id(), &leaf).unwrap();
        node.check().unwrap();
        found.extend((0..node.count()).map(|at| node.string(at)));
        match node.high() {
            Some(high) => from = high.to_vec(),
            None => return found,
        }
    }
}

fn sound(shared: &Shared, index: &Index) {
    let heap = shared.heap(index.spec().table).unwrap();
    let problems = super::check(shared, &heap, index, &mut Steps::new(&mut |_| Ok(()), 0)).unwrap();
    // The table is empty, so every entry is one too many.
    let problems: Vec<_> = problems.into_iter().filter(|problem| problem.rule != "I3").collect();
    assert!(problems.is_empty(), "{problems:?}");
}

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<(Vec<u8>, u8)>),
    Remove(Vec<(Vec<u8>, u8)>),
    /// Everything between two keys goes.
    Clear(Vec<u8>, Vec<u8>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let short = prop::collection::vec(1u8..5, 0..4);
    let long = (1u8..4, 0usize..600, any::<u8>()).prop_map(|(byte, count, last)| {
        let mut key = vec![byte; count];
        key.push(last);
        key
    });
    let numbers = (0u32..5000).prop_map(|number| number.to_be_bytes().to_vec());
    let one = prop_oneof![3 => short, 2 => long, 4 => numbers];
    let batch = prop::collection::vec((one.clone(), 0u8..4), 1..60);
    let run = (0u32..5000, 1u32..400).prop_map(|(first, count)| -> Vec<(Vec<u8>, u8)> {
        (first..first + count).map(|number| (number.to_be_bytes().to_vec(), 0)).collect()
    });
    let step = prop_oneof![
        4 => batch.clone().prop_map(Step::Add),
        3 => run.prop_map(Step::Add),
        2 => batch.prop_map(Step::Remove),
        1 => (one.clone(), one).prop_map(|(a, b)| Step::Clear(a, b)),
    ];
    prop::collection::vec(step, 1..30)
}

fn entry(bytes: &[u8], slot: u8) -> Vec<u8> {
    let mut entry = key(bytes);
    entry.extend_from_slice(&record_bytes(RecordId { page_index: 7, slot: slot.into() }));
    entry
}

fn list(items: &[Vec<u8>]) -> Entries {
    let mut entries = Entries::default();
    for item in items {
        let (key, record) = item.split_at(item.len() - RECORD);
        entries.push(key, super::entries::record_of(record), true);
    }
    entries.sort();
    entries
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn i1_a_tree_is_a_sorted_set(steps in steps()) {
        with_index(|shared, index| {
            let mut set: BTreeSet<Vec<u8>> = BTreeSet::new();
            for step in &steps {
                let (items, add) = match step {
                    Step::Add(items) => (items.iter().map(|(key, slot)| entry(key, *slot)).collect(), true),
                    Step::Remove(items) => (items.iter().map(|(key, slot)| entry(key, *slot)).collect(), false),
                    Step::Clear(a, b) => {
                        let (a, b) = (entry(a, 0), entry(b, 0));
                        (set.range(a.clone().min(b.clone())..a.max(b)).cloned().collect::<Vec<_>>(), false)
                    }
                };
                let entries = list(&items);
                if add {
                    index.add(shared, TxnId::NONE, &entries, false, &mut Vec::new()).unwrap();
                    set.extend(items);
                } else {
                    index.remove(shared, TxnId::NONE, &entries).unwrap();
                    items.iter().for_each(|item| {
                        set.remove(item);
                    });
                }
            }
            assert!(contents(shared, index).iter().eq(set.iter()));
            sound(shared, index);
        });
    }
}

/// A key that goes on behind the record of the key before it cuts the page there: most entries are in front, most bytes behind.
#[test]
fn a_page_is_cut_where_both_parts_have_room_for_their_fences() {
    with_index(|shared, index| {
        let long = |last: u8| [&[2; 600][..], &[last]].concat();
        let mut all: Vec<Vec<u8>> = (1..9).map(|last| entry(&[1, last], 0)).collect();
        all.extend((10..16).map(|last| entry(&long(last), 0)));
        index.add(shared, TxnId::NONE, &list(&all), false, &mut Vec::new()).unwrap();
        let leaf = index.read_leaf(shared, &[]).unwrap();
        assert_eq!(index.node(leaf.id(), &leaf).unwrap().count(), all.len(), "one page");
        drop(leaf);
        let next = entry(&long(5), 1);
        index.add(shared, TxnId::NONE, &list(std::slice::from_ref(&next)), false, &mut Vec::new()).unwrap();
        all.insert(8, next);
        assert_eq!(contents(shared, index), all);
        sound(shared, index);
    });
}

#[test]
fn appending_leaves_full_leaves_and_emptying_gives_the_pages_back() {
    with_index(|shared, index| {
        let all: Vec<Vec<u8>> =
            (0..20_000u32).map(|number| entry(&(number + 0x0101_0101).to_be_bytes(), 0)).collect();
        for chunk in all.chunks(100) {
            index.add(shared, TxnId::NONE, &list(chunk), false, &mut Vec::new()).unwrap();
        }
        let count: BTreeSet<_> = all.iter().collect();
        sound(shared, index);
        let pages = |shared: &Shared| {
            let root = shared.core().pool.read(index.root()).unwrap();
            crate::page::bytes::u32_at(&root, crate::heap::root::DATA_PAGES)
        };
        // 8 bytes of a slot and about 10 behind the prefix.
        let full = pages(shared) as usize * 4096 / count.len();
        assert!(full < 22, "{full} bytes an entry");
        for chunk in all.chunks(70) {
            index.remove(shared, TxnId::NONE, &list(chunk)).unwrap();
        }
        sound(shared, index);
        assert_eq!(contents(shared, index), Vec::<Vec<u8>>::new());
        assert_eq!(pages(shared), 1, "the root alone");
    });
}

/// Two who append by turns, each in front of keys that are there already.
#[test]
fn appending_within_the_tree_leaves_full_leaves_too() {
    with_index(|shared, index| {
        let key = |number: u32| entry(&(number + 0x0101_0101).to_be_bytes(), (number % 250) as u8);
        index.add(shared, TxnId::NONE, &list(&[key(50_000), key(90_000)]), false, &mut Vec::new()).unwrap();
        for number in 0..10_000 {
            let both = list(&[key(number), key(50_001 + number)]);
            index.add(shared, TxnId::NONE, &both, false, &mut Vec::new()).unwrap();
        }
        sound(shared, index);
        let root = shared.core().pool.read(index.root()).unwrap();
        let pages = crate::page::bytes::u32_at(&root, crate::heap::root::DATA_PAGES);
        let full = pages as usize * 4096 / 20_002;
        assert!(full < 24, "{full} bytes an entry");
        // What was there before stands behind the page's end, for good.
        let leaf = index.read_leaf(shared, &key(9_999)).unwrap();
        let node = index.node(leaf.id(), &leaf).unwrap();
        assert_eq!(node.string(node.count() - 1), key(9_999));
    });
}

#[test]
fn a_place_is_found_whatever_was_guessed() {
    with_index(|shared, index| {
        let key = |number: u32| entry(&number.to_be_bytes(), 0);
        let even = list(&(0..40).map(|number| key(number * 2)).collect::<Vec<_>>());
        index.add(shared, TxnId::NONE, &even, false, &mut Vec::new()).unwrap();
        let leaf = index.read_leaf(shared, &[]).unwrap();
        let node = index.node(leaf.id(), &leaf).unwrap();
        for number in 0..81 {
            let place = (number as usize).div_ceil(2);
            for guess in [0, place.saturating_sub(1), place, place + 1, 40, 41, 1000] {
                assert_eq!(node.find_near(&key(number), guess), (place, number % 2 == 0 && number < 80));
            }
        }
    });
}

#[test]
fn an_index_row_has_a_greatest_size() {
    with_index(|shared, index| {
        let entries = list(&[entry(&[7; 700], 0)]);
        let error = index.add(shared, TxnId::NONE, &entries, false, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, crate::StorageError::IndexRowTooLarge { size: 709, .. }), "{error}");
    });
}

#[test]
fn ranges_say_where_they_begin_and_end() {
    use verso_types::{SqlType, Value};
    let parts = [
        KeyPart::ascending(1, KeyType::I32),
        KeyPart { descending: true, ..KeyPart::ascending(2, KeyType::I32) },
    ];
    let types = [SqlType::Int4, SqlType::Int4];
    let key = |a: i32, b: Option<i32>| {
        let b = b.map_or(Value::Null, Value::Int4);
        super::key::encode(&parts, [(&Value::Int4(a), &types[0]), (&b, &types[1])]).unwrap()
    };
    let inside =
        |range: &KeyRange, key: &[u8]| *key >= *range.start() && range.end().is_none_or(|end| *key < *end);
    let two = Value::Int4(2);
    let range = KeyRange::of(&parts, &types, &[Value::Int4(5)], Some((&two, false)), None).unwrap();
    assert!(inside(&range, &key(5, Some(3))) && !inside(&range, &key(5, Some(2))));
    assert!(!inside(&range, &key(5, None)) && !inside(&range, &key(6, Some(3))));
    let range =
        KeyRange::of(&parts, &types, &[Value::Int4(5)], Some((&two, true)), Some((&two, true))).unwrap();
    assert!(inside(&range, &key(5, Some(2))) && !inside(&range, &key(5, Some(1))));
    let range = KeyRange::of(&parts, &types, &[], None, Some((&two, false))).unwrap();
    assert!(inside(&range, &key(-1, None)) && !inside(&range, &key(2, Some(9))));
    assert!(inside(&KeyRange::prefix(&key(5, None)[..5]), &key(5, Some(1))));
    let all = KeyRange { lower: Bound::Excluded(vec![0xff]), upper: Bound::Unbounded };
    assert!(!inside(&all, &[0xff]) && inside(&KeyRange::all(), &[]));
}
