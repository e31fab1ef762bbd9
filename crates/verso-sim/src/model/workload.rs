//! Random work done by a subject and by the model alike, and compared.

use std::collections::BTreeMap;

use super::{Model, ModelTxn, Refusal, Row, difference};
use crate::rng::Rng;

/// What is tested against the model. Methods take `&self`, as engines do; one thread calls them.
pub trait Subject {
    /// An open transaction.
    type Txn;

    /// Begins a transaction with a snapshot of now. In one without savepoints the runner sets none.
    ///
    /// # Errors
    /// `Failed`; so with all methods.
    fn begin(&self, no_savepoint: bool) -> Result<Self::Txn, Refusal>;

    /// Adds a row and tells its record id.
    ///
    /// # Errors
    /// `Failed`.
    fn insert(&self, txn: &mut Self::Txn, table: u32, row: &Row) -> Result<u64, Refusal>;

    /// Changes columns of a row.
    ///
    /// # Errors
    /// `Changed` when another transaction changed it behind the snapshot.
    fn update(
        &self,
        txn: &mut Self::Txn,
        table: u32,
        rid: u64,
        changes: &[(usize, Option<Vec<u8>>)],
    ) -> Result<(), Refusal>;

    /// Deletes a row.
    ///
    /// # Errors
    /// `Changed` when another transaction changed it behind the snapshot.
    fn delete(&self, txn: &mut Self::Txn, table: u32, rid: u64) -> Result<(), Refusal>;

    /// All rows that the transaction sees.
    ///
    /// # Errors
    /// `Failed`.
    fn scan(&self, txn: &mut Self::Txn, table: u32) -> Result<BTreeMap<u64, Row>, Refusal>;

    /// Sets a savepoint, one deeper than the last.
    ///
    /// # Errors
    /// `Failed`.
    fn savepoint(&self, txn: &mut Self::Txn) -> Result<(), Refusal>;

    /// Undoes what was done since the savepoint of that depth (from 0), which stays.
    ///
    /// # Errors
    /// `Failed`.
    fn rollback_to(&self, txn: &mut Self::Txn, depth: usize) -> Result<(), Refusal>;

    /// Forgets the savepoint of that depth (from 0) and deeper ones.
    ///
    /// # Errors
    /// `Failed`.
    fn release(&self, txn: &mut Self::Txn, depth: usize) -> Result<(), Refusal>;

    /// Commits durably.
    ///
    /// # Errors
    /// `Failed`: then it may have happened or not.
    fn commit(&self, txn: Self::Txn) -> Result<(), Refusal>;

    /// Rolls back.
    ///
    /// # Errors
    /// `Failed`.
    fn rollback(&self, txn: Self::Txn) -> Result<(), Refusal>;

    /// Something that must not change any answer: a sweep, a checkpoint, an eviction. Nothing by default.
    ///
    /// # Errors
    /// `Failed`.
    fn maintain(&self, _rng: &mut Rng) -> Result<(), Refusal> {
        Ok(())
    }
}

/// The values that a column takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnShape {
    /// So many bytes.
    Fixed(usize),
    /// From none up to so many bytes, mostly few.
    Bytes(usize),
    /// So many bytes, of which there are few kinds.
    Few(usize),
    /// From none up to so many bytes, made of a few words.
    Words(usize),
}

/// What [`ColumnShape::Words`] are made of.
const WORDS: [&str; 8] =
    ["carefully ", "final ", "deposits ", "sleep ", "among the ", "quick ", "express ", "requests "];

impl ColumnShape {
    /// A value of so many bytes.
    pub fn draw(self, rng: &mut Rng, len: usize) -> Vec<u8> {
        match self {
            ColumnShape::Fixed(_) | ColumnShape::Bytes(_) => return rng.bytes(len),
            ColumnShape::Few(_) => return vec![rng.index(3) as u8; len],
            ColumnShape::Words(_) => {}
        }
        let mut text = Vec::new();
        while text.len() < len {
            text.extend_from_slice(rng.pick(&WORDS).as_bytes());
        }
        text.truncate(len);
        text
    }
}

/// What work is done, and how often.
#[derive(Clone, Debug)]
pub struct Mix {
    /// The columns of every table.
    pub columns: Vec<ColumnShape>,
    /// Tables `0..table_count` are used.
    pub table_count: u32,
    /// Most transactions open at a time.
    pub open_count_max: usize,
    /// Inserts become rare once a transaction sees so many rows.
    pub row_count_max: usize,
    /// One in so many transactions is without savepoints; 0: none.
    pub no_savepoint_one_in: u64,
    /// One in so many values is NULL; 0: none.
    pub null_one_in: u64,
    /// How often, by weight: begin.
    pub begins: u64,
    /// Commit.
    pub commits: u64,
    /// Roll back.
    pub rollbacks: u64,
    /// Insert.
    pub inserts: u64,
    /// Update of a random subset of the columns.
    pub updates: u64,
    /// Delete.
    pub deletes: u64,
    /// Set a savepoint.
    pub savepoints: u64,
    /// Roll back to one.
    pub rollbacks_to: u64,
    /// Release one.
    pub releases: u64,
    /// Compare what a transaction sees.
    pub scans: u64,
    /// Maintenance, then compare what every transaction sees.
    pub maintenances: u64,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix {
            columns: vec![ColumnShape::Fixed(8), ColumnShape::Bytes(40), ColumnShape::Bytes(3000)],
            table_count: 2,
            open_count_max: 4,
            row_count_max: 60,
            no_savepoint_one_in: 5,
            null_one_in: 8,
            begins: 10,
            commits: 6,
            rollbacks: 3,
            inserts: 30,
            updates: 50,
            deletes: 8,
            savepoints: 8,
            rollbacks_to: 4,
            releases: 3,
            scans: 4,
            maintenances: 2,
        }
    }
}

/// How a run of steps ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All steps done, every answer as the model's.
    Done,
    /// The subject failed (a planned fault, a power cut); see [`Runner::after_crash`].
    Failed(String),
}

/// Does random steps on a subject and on the model, and compares.
pub struct Runner<'s, S: Subject> {
    subject: &'s S,
    model: Model,
    rng: Rng,
    mix: Mix,
    open: Vec<Open<S::Txn>>,
    in_doubt: Option<ModelTxn>,
}

/// A transaction on both sides.
struct Open<T> {
    model: ModelTxn,
    subject: T,
    no_savepoint: bool,
}

/// A stop before the end of the steps.
enum Stop {
    Failed(String),
    Wrong(String),
}

impl<'s, S: Subject> Runner<'s, S> {
    /// A runner for a subject that holds what `model` holds, both without open transactions.
    pub fn new(subject: &'s S, model: Model, rng: Rng, mix: Mix) -> Runner<'s, S> {
        Runner { subject, model, rng, mix, open: Vec::new(), in_doubt: None }
    }

    /// Does `step_count` random steps.
    ///
    /// # Panics
    /// When an answer is not the model's.
    pub fn run(&mut self, step_count: u64) -> Ending {
        for step in 0..step_count {
            match self.step() {
                Ok(()) => {}
                Err(Stop::Failed(what)) => return Ending::Failed(what),
                Err(Stop::Wrong(what)) => panic!("step {step}: {what}"),
            }
        }
        Ending::Done
    }

    /// Compares every open transaction, ends them all, compares a new one, and hands over the model.
    ///
    /// # Panics
    /// When an answer is not the model's, or the subject fails.
    pub fn finish(mut self) -> Model {
        let result = self.compare_all().and_then(|()| {
            while !self.open.is_empty() {
                self.end(0, true)?;
            }
            self.begin()?;
            self.compare_all()?;
            self.end(0, false)
        });
        match result {
            Ok(()) => self.model,
            Err(Stop::Failed(what) | Stop::Wrong(what)) => panic!("at the end: {what}"),
        }
    }

    /// The states that are right when the subject is opened again after a crash: one, or two if the crash came
    /// during a commit.
    pub fn after_crash(self) -> Vec<Model> {
        let mut without = self.model;
        let with = self.in_doubt.map(|txn| {
            let mut with = without.clone();
            with.commit(txn);
            with.crash();
            with
        });
        without.crash();
        [without].into_iter().chain(with).collect()
    }

    fn step(&mut self) -> Result<(), Stop> {
        if self.open.is_empty() {
            return self.begin();
        }
        let at = self.rng.index(self.open.len());
        let mix = &self.mix;
        let weights = [
            mix.begins,
            mix.commits,
            mix.rollbacks,
            mix.inserts,
            mix.updates,
            mix.deletes,
            mix.savepoints,
            mix.rollbacks_to,
            mix.releases,
            mix.scans,
            mix.maintenances,
        ];
        match pick_weighted(&mut self.rng, &weights) {
            0 if self.open.len() < self.mix.open_count_max => self.begin(),
            0 => Ok(()),
            1 => self.end(at, true),
            2 => self.end(at, false),
            3 => self.insert(at),
            4 => self.change(at, false),
            5 => self.change(at, true),
            6..=8 if self.open[at].no_savepoint => Ok(()),
            6 => {
                self.subject.savepoint(&mut self.open[at].subject)?;
                self.model.savepoint(self.open[at].model);
                Ok(())
            }
            7 => self.use_savepoint(at, true),
            8 => self.use_savepoint(at, false),
            9 => self.compare(at),
            _ => {
                self.subject.maintain(&mut self.rng)?;
                self.compare_all()
            }
        }
    }

    fn begin(&mut self) -> Result<(), Stop> {
        let no_savepoint = self.mix.no_savepoint_one_in > 0 && self.rng.one_in(self.mix.no_savepoint_one_in);
        let subject = self.subject.begin(no_savepoint)?;
        self.open.push(Open { model: self.model.begin(), subject, no_savepoint });
        Ok(())
    }

    fn end(&mut self, at: usize, commits: bool) -> Result<(), Stop> {
        let open = self.open.swap_remove(at);
        if !commits {
            // A rollback that fails on the way down is one all the same: nothing was acknowledged.
            self.model.rollback(open.model);
            return Ok(self.subject.rollback(open.subject)?);
        }
        self.in_doubt = Some(open.model);
        self.subject.commit(open.subject)?;
        self.in_doubt = None;
        self.model.commit(open.model);
        Ok(())
    }

    fn insert(&mut self, at: usize) -> Result<(), Stop> {
        let table = self.any_table();
        let row_count = self.model.scan(self.open[at].model, table).len();
        if row_count >= self.mix.row_count_max && !self.rng.one_in(10) {
            return Ok(());
        }
        let row: Row = (0..self.mix.columns.len()).map(|column| self.any_value(column)).collect();
        let rid = self.subject.insert(&mut self.open[at].subject, table, &row)?;
        self.model.insert(self.open[at].model, table, rid, row).map_err(|refusal| {
            Stop::Wrong(format!("insert into table {table} chose record {rid}: {refusal}"))
        })
    }

    /// Updates or deletes a row that the transaction sees, unless it would have to wait.
    fn change(&mut self, at: usize, deletes: bool) -> Result<(), Stop> {
        let (table, txn) = (self.any_table(), self.open[at].model);
        let rids: Vec<u64> = self.model.scan(txn, table).into_keys().collect();
        if rids.is_empty() {
            return Ok(());
        }
        let rid = *self.rng.pick(&rids);
        let expected = self.model.check_change(txn, table, rid);
        if expected == Err(Refusal::Blocked) {
            return Ok(());
        }
        let subject = &mut self.open[at].subject;
        let (changes, found) = if deletes {
            (Vec::new(), self.subject.delete(subject, table, rid))
        } else {
            let changes = self.any_changes();
            let found = self.subject.update(&mut self.open[at].subject, table, rid, &changes);
            (changes, found)
        };
        if let Err(Refusal::Failed(what)) = found {
            return Err(Stop::Failed(what));
        }
        if found != expected {
            let text =
                format!("change of record {rid}, table {table}: expected {expected:?}, found {found:?}");
            return Err(Stop::Wrong(text));
        }
        match expected {
            Err(_) => self.end(at, false),
            Ok(()) if deletes => Ok(self.model.delete(txn, table, rid)?),
            Ok(()) => Ok(self.model.update(txn, table, rid, &changes)?),
        }
    }

    fn use_savepoint(&mut self, at: usize, rolls_back: bool) -> Result<(), Stop> {
        let count = self.model.savepoint_count(self.open[at].model);
        if count == 0 {
            return Ok(());
        }
        let depth = self.rng.index(count);
        let open = &mut self.open[at];
        if rolls_back {
            self.subject.rollback_to(&mut open.subject, depth)?;
            self.model.rollback_to(open.model, depth);
            self.compare(at)
        } else {
            self.subject.release(&mut open.subject, depth)?;
            self.model.release(open.model, depth);
            Ok(())
        }
    }

    fn compare(&mut self, at: usize) -> Result<(), Stop> {
        for table in 0..self.mix.table_count {
            let open = &mut self.open[at];
            let found = self.subject.scan(&mut open.subject, table)?;
            let expected = self.model.scan(open.model, table);
            if let Some(difference) = difference(&expected, &found) {
                return Err(Stop::Wrong(format!("table {table} as {:?} sees it: {difference}", open.model)));
            }
        }
        Ok(())
    }

    fn compare_all(&mut self) -> Result<(), Stop> {
        (0..self.open.len()).try_for_each(|at| self.compare(at))
    }

    fn any_table(&mut self) -> u32 {
        self.rng.below(u64::from(self.mix.table_count)) as u32
    }

    fn any_changes(&mut self) -> Vec<(usize, Option<Vec<u8>>)> {
        let mut columns: Vec<usize> = (0..self.mix.columns.len()).collect();
        self.rng.shuffle(&mut columns);
        columns.truncate(1 + self.rng.index(columns.len()));
        columns.sort_unstable();
        columns.into_iter().map(|column| (column, self.any_value(column))).collect()
    }

    fn any_value(&mut self, column: usize) -> Option<Vec<u8>> {
        if self.mix.null_one_in > 0 && self.rng.one_in(self.mix.null_one_in) {
            return None;
        }
        let shape = self.mix.columns[column];
        let len = match shape {
            ColumnShape::Fixed(len) | ColumnShape::Few(len) => len,
            ColumnShape::Bytes(most) if self.rng.one_in(8) => self.rng.index(most + 1),
            ColumnShape::Bytes(most) => self.rng.index(most.min(20) + 1),
            ColumnShape::Words(most) => self.rng.index(most + 1),
        };
        Some(shape.draw(&mut self.rng, len))
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        match refusal {
            Refusal::Failed(what) => Stop::Failed(what),
            other => Stop::Wrong(format!("unexpected refusal: {other}")),
        }
    }
}

fn pick_weighted(rng: &mut Rng, weights: &[u64]) -> usize {
    let mut left = rng.below(weights.iter().sum::<u64>().max(1));
    for (at, weight) in weights.iter().enumerate() {
        if left < *weight {
            return at;
        }
        left -= weight;
    }
    weights.len() - 1
}
