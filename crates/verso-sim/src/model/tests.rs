//! The model's rules by hand, and the runner against right and wrong subjects.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::{Rng, seeds};

fn row(text: &str) -> Row {
    vec![Some(text.as_bytes().to_vec()), None]
}

fn set(text: &str) -> Vec<(usize, Option<Vec<u8>>)> {
    vec![(0, Some(text.as_bytes().to_vec()))]
}

/// A model with one committed row `a` at table 1, record 7.
fn one_row() -> Model {
    let mut model = Model::new();
    let txn = model.begin();
    model.insert(txn, 1, 7, row("a")).unwrap();
    assert_eq!(model.commit(txn), 1);
    model
}

#[test]
fn a_snapshot_sees_its_own_changes_and_what_was_committed_before_it() {
    let mut model = one_row();
    let (reader, writer) = (model.begin(), model.begin());
    model.update(writer, 1, 7, &set("b")).unwrap();
    model.insert(writer, 1, 8, row("c")).unwrap();
    assert_eq!(model.read(writer, 1, 7), Some(&row("b")));
    assert_eq!(model.read(reader, 1, 7), Some(&row("a")));
    assert_eq!(model.commit(writer), 2);
    assert_eq!(model.scan(reader, 1), BTreeMap::from([(7, row("a"))]));
    assert_eq!(model.scan_at(2, 1), BTreeMap::from([(7, row("b")), (8, row("c"))]));
    assert_eq!(model.scan_at(2, 2), BTreeMap::new());
    model.refresh(reader);
    assert_eq!(model.scan(reader, 1).len(), 2);
    assert_eq!(model.snapshot(), 2);
}

#[test]
fn updates_change_only_the_given_columns() {
    let mut model = one_row();
    let txn = model.begin();
    model.update(txn, 1, 7, &[(1, Some(b"x".to_vec()))]).unwrap();
    model.update(txn, 1, 7, &[(0, None)]).unwrap();
    assert_eq!(model.read(txn, 1, 7), Some(&vec![None, Some(b"x".to_vec())]));
}

#[test]
fn the_first_of_two_writers_wins() {
    let mut model = one_row();
    let (first, second) = (model.begin(), model.begin());
    model.update(first, 1, 7, &set("b")).unwrap();
    assert_eq!(model.update(second, 1, 7, &set("c")), Err(Refusal::Blocked));
    model.commit(first);
    assert_eq!(model.delete(second, 1, 7), Err(Refusal::Changed));
    model.refresh(second);
    model.delete(second, 1, 7).unwrap();
    assert_eq!(model.delete(second, 1, 7), Err(Refusal::Missing));
}

#[test]
fn a_rolled_back_writer_blocks_nobody() {
    let mut model = one_row();
    let (first, second) = (model.begin(), model.begin());
    model.update(first, 1, 7, &set("b")).unwrap();
    model.rollback(first);
    model.update(second, 1, 7, &set("c")).unwrap();
    model.crash();
    assert_eq!(model.scan_at(model.snapshot(), 1), BTreeMap::from([(7, row("a"))]));
}

#[test]
fn savepoints_nest_and_restore_exactly() {
    let mut model = one_row();
    let txn = model.begin();
    model.update(txn, 1, 7, &set("b")).unwrap();
    assert_eq!(model.savepoint(txn), 0);
    model.update(txn, 1, 7, &set("c")).unwrap();
    model.insert(txn, 1, 8, row("new")).unwrap();
    assert_eq!(model.savepoint(txn), 1);
    model.delete(txn, 1, 7).unwrap();
    model.rollback_to(txn, 1);
    assert_eq!(model.read(txn, 1, 7), Some(&row("c")));
    model.delete(txn, 1, 8).unwrap();
    model.rollback_to(txn, 0);
    assert_eq!(model.scan(txn, 1), BTreeMap::from([(7, row("b"))]));
    assert_eq!(model.savepoint_count(txn), 1);
    model.update(txn, 1, 7, &set("d")).unwrap();
    model.release(txn, 0);
    assert_eq!(model.savepoint_count(txn), 0);
    assert_eq!(model.read(txn, 1, 7), Some(&row("d")));
}

#[test]
fn a_record_id_is_free_once_nobody_can_see_its_row() {
    let mut model = one_row();
    let (reader, writer) = (model.begin(), model.begin());
    assert_eq!(model.insert(writer, 1, 7, row("x")), Err(Refusal::Occupied));
    model.delete(writer, 1, 7).unwrap();
    let other = model.begin();
    assert_eq!(model.insert(other, 1, 7, row("x")), Err(Refusal::Occupied));
    model.commit(writer);
    assert_eq!(model.insert(other, 1, 7, row("x")), Err(Refusal::Occupied));
    model.rollback(reader);
    model.refresh(other);
    model.insert(other, 1, 7, row("x")).unwrap();
}

#[test]
fn differences_are_told_by_record_and_column() {
    let table = |text: &str| BTreeMap::from([(1, row(text))]);
    assert_eq!(difference(&table("a"), &table("a")), None);
    let told = difference(&table("a"), &table("b")).unwrap();
    assert!(told.starts_with("record 1, column 0: expected Some([97])"), "{told}");
    assert_eq!(difference(&table("a"), &BTreeMap::new()).unwrap(), "record 1 is missing");
    assert_eq!(difference(&BTreeMap::new(), &table("a")).unwrap(), "record 1 should not be there");
}

/// How a subject is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Rolling back to a savepoint forgets to restore deleted rows.
    SavepointKeepsDeletes,
    /// Snapshots see what is committed later.
    NewestIsRead,
    /// The last writer wins.
    OverwritesCommitted,
    /// Maintenance removes a row.
    SweepEats,
    /// The nth commit fails, having happened or not.
    CommitFails {
        at: u32,
        happened: bool,
    },
}

/// Copies of all tables per transaction: another way to be right, unless flawed.
struct Copies {
    flaw: Flaw,
    state: RefCell<CopiesState>,
}

#[derive(Default)]
struct CopiesState {
    committed: Tables,
    changed_at: BTreeMap<Place, u64>,
    commit_count: u64,
    call_count: u32,
    last_rid: u64,
}

type Tables = BTreeMap<Place, Row>;

struct CopiesTxn {
    seen: Tables,
    begun_at: u64,
    written: BTreeSet<Place>,
    savepoints: Vec<(Tables, BTreeSet<Place>)>,
}

impl Copies {
    fn new(flaw: Flaw) -> Copies {
        Copies { flaw, state: RefCell::default() }
    }

    fn check(&self, txn: &CopiesTxn, place: Place) -> Result<(), Refusal> {
        let changed_at = self.state.borrow().changed_at.get(&place).copied().unwrap_or(0);
        if changed_at > txn.begun_at && self.flaw != Flaw::OverwritesCommitted {
            return Err(Refusal::Changed);
        }
        Ok(())
    }
}

impl Subject for Copies {
    type Txn = CopiesTxn;

    fn begin(&self, _no_savepoint: bool) -> Result<CopiesTxn, Refusal> {
        let state = self.state.borrow();
        let (written, savepoints) = (BTreeSet::new(), Vec::new());
        Ok(CopiesTxn { seen: state.committed.clone(), begun_at: state.commit_count, written, savepoints })
    }

    fn insert(&self, txn: &mut CopiesTxn, table: u32, row: &Row) -> Result<u64, Refusal> {
        let mut state = self.state.borrow_mut();
        state.last_rid += 1;
        txn.seen.insert((table, state.last_rid), row.clone());
        txn.written.insert((table, state.last_rid));
        Ok(state.last_rid)
    }

    fn update(
        &self,
        txn: &mut CopiesTxn,
        table: u32,
        rid: u64,
        changes: &[(usize, Option<Vec<u8>>)],
    ) -> Result<(), Refusal> {
        self.check(txn, (table, rid))?;
        let row = txn.seen.get_mut(&(table, rid)).ok_or(Refusal::Missing)?;
        for (column, value) in changes {
            row[*column] = value.clone();
        }
        txn.written.insert((table, rid));
        Ok(())
    }

    fn delete(&self, txn: &mut CopiesTxn, table: u32, rid: u64) -> Result<(), Refusal> {
        self.check(txn, (table, rid))?;
        txn.written.insert((table, rid));
        txn.seen.remove(&(table, rid)).map(|_| ()).ok_or(Refusal::Missing)
    }

    fn scan(&self, txn: &mut CopiesTxn, table: u32) -> Result<BTreeMap<u64, Row>, Refusal> {
        let mut seen = txn.seen.clone();
        if self.flaw == Flaw::NewestIsRead {
            let state = self.state.borrow();
            let newest = state.committed.iter().filter(|(place, _)| !txn.written.contains(place));
            seen.extend(newest.map(|(place, row)| (*place, row.clone())));
        }
        Ok(seen.into_iter().filter(|((of, _), _)| *of == table).map(|((_, rid), row)| (rid, row)).collect())
    }

    fn savepoint(&self, txn: &mut CopiesTxn) -> Result<(), Refusal> {
        txn.savepoints.push((txn.seen.clone(), txn.written.clone()));
        Ok(())
    }

    fn rollback_to(&self, txn: &mut CopiesTxn, depth: usize) -> Result<(), Refusal> {
        txn.savepoints.truncate(depth + 1);
        let (mut seen, written) = txn.savepoints[depth].clone();
        if self.flaw == Flaw::SavepointKeepsDeletes {
            seen.retain(|place, _| txn.seen.contains_key(place));
        }
        (txn.seen, txn.written) = (seen, written);
        Ok(())
    }

    fn release(&self, txn: &mut CopiesTxn, depth: usize) -> Result<(), Refusal> {
        txn.savepoints.truncate(depth);
        Ok(())
    }

    fn commit(&self, txn: CopiesTxn) -> Result<(), Refusal> {
        let mut state = self.state.borrow_mut();
        state.call_count += 1;
        let failure = match self.flaw {
            Flaw::CommitFails { at, happened } if at == state.call_count => Some(happened),
            _ => None,
        };
        if failure != Some(false) {
            state.commit_count += 1;
            let now = state.commit_count;
            for place in txn.written {
                match txn.seen.get(&place) {
                    Some(row) => state.committed.insert(place, row.clone()),
                    None => state.committed.remove(&place),
                };
                state.changed_at.insert(place, now);
            }
        }
        if failure.is_some() { Err(Refusal::Failed("no power".to_owned())) } else { Ok(()) }
    }

    fn rollback(&self, _txn: CopiesTxn) -> Result<(), Refusal> {
        Ok(())
    }

    fn maintain(&self, rng: &mut Rng) -> Result<(), Refusal> {
        if self.flaw == Flaw::SweepEats && rng.one_in(4) {
            self.state.borrow_mut().committed.pop_first();
        }
        Ok(())
    }
}

fn run(seed: u64, subject: &Copies) -> (Ending, Option<Model>) {
    let mut runner = Runner::new(subject, Model::new(), Rng::new(seed), Mix::default());
    let ending = runner.run(600);
    let is_done = ending == Ending::Done;
    (ending, is_done.then(|| runner.finish()))
}

#[test]
fn a_right_subject_passes_with_all_kinds_of_work() {
    for seed in seeds(30) {
        let (ending, model) = run(seed, &Copies::new(Flaw::None));
        assert_eq!(ending, Ending::Done);
        let model = model.unwrap();
        let version_count: usize = model.versions.values().map(Vec::len).sum();
        assert!(model.commit_count > 5 && version_count > model.versions.len());
    }
}

#[test]
fn every_flaw_of_a_subject_is_found() {
    let flaws = [Flaw::SavepointKeepsDeletes, Flaw::NewestIsRead, Flaw::OverwritesCommitted, Flaw::SweepEats];
    for (number, flaw) in flaws.into_iter().enumerate() {
        let found =
            (0..20).filter(|seed| catch_unwind(AssertUnwindSafe(|| run(*seed, &Copies::new(flaw)))).is_err());
        assert!(found.count() > 0, "flaw {number} is never found");
    }
}

#[test]
fn after_a_crash_in_a_commit_both_outcomes_are_right_and_nothing_else() {
    for seed in seeds(20) {
        for happened in [false, true] {
            let subject = Copies::new(Flaw::CommitFails { at: 3, happened });
            let mut runner = Runner::new(&subject, Model::new(), Rng::new(seed), Mix::default());
            assert_eq!(runner.run(5000), Ending::Failed("no power".to_owned()));
            let right = runner.after_crash();
            assert_eq!(right.len(), 2);
            let mut txn = subject.begin(false).unwrap();
            let found: Vec<_> = (0..2).map(|table| subject.scan(&mut txn, table).unwrap()).collect();
            let fits = |model: &Model| {
                (0..2).all(|table| model.scan_at(model.snapshot(), table) == found[table as usize])
            };
            assert!(fits(&right[usize::from(happened)]));
        }
    }
}
