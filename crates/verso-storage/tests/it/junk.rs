//! The functions of the fuzz targets over real pages and logs, mutated: nothing panics.

use verso_env::Env;
use verso_sim::{Rng, seeds};
use verso_storage::page::header;
use verso_storage::wal::{GroupView, RecordKind};
use verso_storage::{Engine, SweepOptions, TxnOptions};

use crate::support::{COLUMNS, bump, create, fill, options, remove};

#[path = "../../../../fuzz/src/storage.rs"]
mod targets;

/// Pages of a used database, and groups of its log.
fn corpus() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..60);
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(&heap, &mut txn, "x", 1.0, |id| id % 2 == 0).unwrap();
    remove(&heap, &mut txn, |id| id < 7);
    bump(&heap, &mut txn, &"long".repeat(700), 1.0, |id| id == 40).unwrap();
    txn.end_statement().unwrap();
    engine.checkpoint().unwrap();
    txn.commit(verso_storage::CommitMode::Wait).unwrap();
    engine.sweep(SweepOptions::default(), &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let table = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(verso_storage::CommitMode::Wait).unwrap();
    let packed = engine.heap(table).unwrap();
    fill(&engine, &packed, 0..600);
    let packing = engine
        .pack(&mut engine.begin(TxnOptions::default()), table, SweepOptions::default(), &mut || Ok(()))
        .unwrap();
    assert!(packing.made > 0, "{packing:?}");
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(&packed, &mut txn, "y", 1.0, |id| id == 5).unwrap();
    txn.end_statement().unwrap();
    txn.commit(verso_storage::CommitMode::Wait).unwrap();
    drop((heap, packed, engine));
    let path = dir.path().join("t.verso");
    drop(Engine::open(Env::real(), &path, options()).unwrap());
    let file = std::fs::read(&path).unwrap();
    let pages = file.chunks_exact(4096).filter(|page| header::kind(page).is_some()).map(<[u8]>::to_vec);
    let mut groups = Vec::new();
    for segment in std::fs::read_dir(dir.path().join("t.verso-wal")).unwrap() {
        let bytes = std::fs::read(segment.unwrap().path()).unwrap();
        // Groups stand behind the header of a chunk, one after the other.
        for sector in (0..bytes.len()).step_by(512) {
            let mut at = sector + verso_storage::wal::CHUNK_HEADER;
            while bytes[sector + 4..].starts_with(b"VLOG") {
                let Ok(group) = GroupView::parse(&bytes[at..]) else { break };
                groups.push(bytes[at..at + group.byte_len()].to_vec());
                at += group.byte_len();
            }
        }
    }
    (pages.collect(), groups)
}

/// Flips, copies and cuts.
fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.between(1, 4) {
        if bytes.is_empty() {
            return;
        }
        let at = if rng.one_in(2) { rng.index(bytes.len().min(128)) } else { rng.index(bytes.len()) };
        match rng.below(6) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = *rng.pick(&[0, 1, 0x7F, 0x80, 0xFF]),
            2 => bytes[at] = rng.next_u64() as u8,
            3 => bytes.truncate(at + 1),
            4 => {
                let from = rng.index(bytes.len());
                let count = rng.index(bytes.len() - from.max(at)).min(16);
                bytes.copy_within(from..from + count, at);
            }
            _ => bytes[at] = bytes[at].wrapping_add(1),
        }
    }
}

#[test]
fn mutated_pages_and_logs_are_flaws_never_panics() {
    let (pages, groups) = corpus();
    assert!(pages.len() > 4 && groups.len() > 10, "{} pages, {} groups", pages.len(), groups.len());
    let records: Vec<(RecordKind, Vec<u8>)> = groups
        .iter()
        .flat_map(|group| {
            GroupView::parse(group).unwrap().records().map(|record| record.unwrap()).collect::<Vec<_>>()
        })
        .filter(|record| record.page != verso_storage::PageId::NONE)
        .map(|record| (record.kind, record.payload.to_vec()))
        .collect();
    for seed in seeds(4) {
        let mut rng = Rng::new(seed);
        for _ in 0..3000 {
            let mut page = rng.pick(&pages).clone();
            if rng.one_in(2) {
                mutate(&mut rng, &mut page);
            }
            targets::page(&page);
            let mut group = rng.pick(&groups).clone();
            if rng.one_in(3) {
                mutate(&mut rng, &mut group);
            }
            targets::log(&group, &page);
            let (kind, mut payload) = rng.pick(&records).clone();
            if rng.one_in(2) {
                mutate(&mut rng, &mut payload);
            }
            targets::redo(kind, &page, &payload);
        }
    }
}
