//! GROUP BY, with and without grouping sets.
//!
//! ```text
//! input ─► keys ─► groups in memory ─────────────► rows, in the order in which the groups were met
//!                    │ refused: no further group
//!                    ├─► rows of other groups ─┐
//!                    └─► groups that grow ─────┴─► parts by the hash ─► a pass for each
//! ```
//!
//! H1. Groups come out in the order in which they were met, those of later [passes](Passes) behind those of earlier ones.
//! H2. The rows of a group reach its accumulators in the order of the input, also through files: a group whose state is put
//!     aside stands there before its further rows.
//! With several workers ([`shared`]) this holds for the rows of each; the order of the groups does not.
//!     A group that does not fit even alone puts the rows that its calls keep into files ([`Overflow`]).
//!     What may not be computed again for rows that come back is computed before ([`once`]).
//! H3. Each grouping set has groups of its own: its number is part of their keys. An empty set has its group also without
//!     any row. Within a pass the groups come out set by set.

mod front;
mod once;
mod shared;
mod sorted;

use std::ops::Range;
use std::sync::Arc;

use verso_types::{Batch, Column, SqlType, Value, decode_row, encode_row};

use super::aggregate::Call;
use super::filter::{KeyFilter, Reach};
use super::key;
use super::keys::{KeyTable, RowKeys, hash};
use super::operator::Operator;
use super::overflow::Overflow;
use super::passes::Passes;
use super::source::ONE_ROW;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, KEEP_BYTES};
use crate::aggregate::{Accumulator, GroupStates};
use crate::error::{ExecError, Result};
use crate::expr::{Executor, ExprList};
use crate::functions::AggregateKind;
use crate::memory::{Refused, Reservation};
use crate::plan::{AggregateCall, GroupingSets, TypedExpr};
use front::Front;
use shared::Shared;

pub(crate) use once::computed_once;
pub(crate) use sorted::SortedGroupOperator;

/// A hash table of groups.
pub(crate) struct GroupOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    input_types: Vec<SqlType>,
    keys: ExprList,
    /// Workers may compute them.
    keys_are_safe: bool,
    /// Which column of the input a key is.
    key_columns: Vec<Option<usize>>,
    key_batch: Batch,
    /// The keys of its rows.
    encoded: RowKeys,
    calls: Vec<Call>,
    /// What comes out of them.
    results: Vec<Output>,
    /// The grouping sets; a single one with all keys where there are none.
    sets: Vec<Set>,
    /// There is more to a key than the values of all keys.
    has_sets: bool,
    groups: Groups,
    held: Option<Reservation>,
    passes: Passes,
    /// Rows of the first group, if it is too large even alone.
    overflow: Overflow,
    /// What rows in files consist of: a state, which only groups have; the number of the set; the keys; the columns of the
    /// input.
    stored_types: Vec<SqlType>,
    /// The sets of the rows of a batch that comes from a file.
    stored_sets: Vec<u32>,
    /// The groups as they come out; empty: by their numbers.
    order: Vec<u32>,
    /// What was held when the pass was closed, which may be one batch more than there is room for.
    tolerated: u64,
    collected: bool,
    next: usize,
    types: Vec<SqlType>,
    shared: Shared,
}

/// What comes out of the states of a call.
#[derive(Clone, Copy)]
struct Output {
    call: usize,
    /// Sums and averages of one column have the same states: which of them it is, where it comes out of the other's.
    average: Option<bool>,
    /// No result behind it comes out of the same states.
    is_last: bool,
}

/// The calls that need states of their own, and what comes out of each of all calls.
fn calls_of(aggregates: &[AggregateCall], executor: Executor) -> (Vec<Call>, Vec<Output>) {
    let (mut calls, mut results): (Vec<Call>, Vec<Output>) = (Vec::new(), Vec::new());
    for aggregate in aggregates {
        let known =
            calls.iter().position(|call| executor != Executor::Row && same_states(&call.call, aggregate));
        if let Some(call) = known {
            results.iter_mut().filter(|output| output.call == call).for_each(|output| output.is_last = false);
        }
        results.push(Output {
            call: known.unwrap_or(calls.len()),
            average: known.map(|_| aggregate.function.kind == AggregateKind::Avg),
            is_last: true,
        });
        if known.is_none() {
            calls.push(Call::new(aggregate, executor));
        }
    }
    (calls, results)
}

/// Whether two calls are the sum or the average of the same numerics.
fn same_states(a: &AggregateCall, b: &AggregateCall) -> bool {
    let column = |call: &AggregateCall| match &call.args[..] {
        [arg]
            if matches!(call.function.kind, AggregateKind::Sum | AggregateKind::Avg)
                && !call.distinct
                && call.order_by.is_empty()
                && call.direct.is_empty()
                && call.filter.is_none()
                && matches!(arg.ty, SqlType::Numeric(_)) =>
        {
            arg.as_column()
        }
        _ => None,
    };
    column(a).is_some() && column(a) == column(b)
}

/// A grouping set.
#[derive(Clone)]
struct Set {
    /// Which keys it has.
    keys: Vec<bool>,
    /// The values of the GROUPING() calls.
    groupings: Vec<i32>,
}

/// A set of so many keys, and what GROUPING() says in it.
fn grouping_set(set: &[usize], keys: usize, calls: &[Vec<usize>]) -> Set {
    let bits = |call: &Vec<usize>| call.iter().fold(0, |bits, key| bits << 1 | i32::from(!set.contains(key)));
    Set {
        keys: (0..keys).map(|key| set.contains(&key)).collect(),
        groupings: calls.iter().map(bits).collect(),
    }
}

#[derive(Default)]
struct Groups {
    /// A short way to the numbers of the table.
    front: Front,
    /// Having given it up they look at their keys again when they are so many.
    again: usize,
    table: KeyTable,
    keys: Batch,
    /// The grouping set of each group.
    sets: Vec<u32>,
    /// Of each call.
    states: Vec<GroupStates>,
    /// Groups that have gone to others, ascending.
    gone: Vec<u32>,
}

impl Groups {
    /// From now on keys are looked up in the table.
    fn forget_front(&mut self) {
        self.leave_front();
        self.again = usize::MAX;
    }

    /// The same until there are many groups: the first keys of a dense range that come in no order lie far apart.
    fn leave_front(&mut self) {
        self.front = Front::None;
        self.table.settle();
    }

    /// Takes the short way again where the keys of many groups have turned out to be close to each other.
    fn find_front_again(&mut self) {
        if self.keys.rows < self.again || !matches!(self.front, Front::None) {
            return;
        }
        self.again = 2 * self.keys.rows;
        if let Some(array) = front::Array::of_all(&self.keys.columns[0]) {
            self.front = Front::Array(array);
        }
    }

    /// Adds groups that the table has, with the keys of these rows.
    fn push_rows(&mut self, keys: &Batch, rows: &[u32]) {
        for (from, to) in keys.columns.iter().zip(&mut self.keys.columns) {
            from.gather_into(rows, to);
        }
        self.keys.rows += rows.len();
        self.sets.resize(self.keys.rows, 0);
        self.states.iter_mut().for_each(|states| states.push(rows.len()));
    }

    /// Whether a batch of results, whatever the groups, is made of short values.
    fn are_arrays(&self) -> bool {
        self.keys.columns.iter().all(|key| key.data.bytes().is_none())
            && self.states.iter().all(GroupStates::is_array)
    }

    /// Leaves groups that have gone out of the rows of these.
    fn leave_out_gone(&self, groups: Range<usize>, rows: &mut Batch) {
        let (first, end) = (groups.start as u32, groups.end as u32);
        let at = self.gone.partition_point(|group| *group < first);
        let mut gone = self.gone[at..].iter().copied().take_while(|group| *group < end).peekable();
        if gone.peek().is_some() {
            let kept: Vec<u32> = (first..end)
                .filter(|group| gone.next_if_eq(group).is_none())
                .map(|group| group - first)
                .collect();
            rows.filter(&kept);
        }
    }

    fn heap_bytes(&self) -> u64 {
        let states: usize = self.states.iter().map(GroupStates::heap_bytes).sum();
        (self.front.heap_bytes()
            + self.table.heap_bytes()
            + self.keys.heap_bytes()
            + self.sets.capacity() * 4
            + states) as u64
    }
}

/// A group of rows for a later pass.
const LATER: u32 = GroupStates::NONE;

impl GroupOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        group_by: &[TypedExpr],
        aggregates: &[AggregateCall],
        sets: Option<&GroupingSets>,
        executor: Executor,
    ) -> Self {
        let keys = ExprList::compile(group_by, executor);
        let groupings = sets.map_or(0, |sets| sets.calls.len());
        let output = group_by
            .iter()
            .map(|key| key.ty.clone())
            .chain(aggregates.iter().map(|call| call.ty.clone()))
            .chain((0..groupings).map(|_| SqlType::Int4));
        let stored = [SqlType::Bytea, SqlType::Int4].into_iter().chain(keys.types().iter().cloned());
        let sets = match sets {
            None => vec![Set { keys: vec![true; group_by.len()], groupings: Vec::new() }],
            Some(sets) => {
                sets.sets.iter().map(|set| grouping_set(set, group_by.len(), &sets.calls)).collect()
            }
        };
        let (calls, results) = calls_of(aggregates, executor);
        Self {
            input,
            batch: Batch::of_types(types),
            key_batch: Batch::of_types(keys.types()),
            encoded: RowKeys::default(),
            stored_types: stored.chain(types.iter().cloned()).collect(),
            keys_are_safe: group_by.iter().all(TypedExpr::is_parallel_safe),
            keys,
            key_columns: group_by.iter().map(TypedExpr::as_column).collect(),
            calls,
            results,
            has_sets: sets.len() > 1 || sets.iter().any(|set| set.keys.contains(&false)),
            sets,
            groups: Groups::default(),
            held: None,
            passes: Passes::default(),
            overflow: Overflow::default(),
            stored_sets: Vec::new(),
            order: Vec::new(),
            tolerated: 0,
            collected: false,
            next: 0,
            types: output.collect(),
            input_types: types.to_vec(),
            shared: Shared::default(),
        }
    }

    /// The column of the input that a key is, if leaving out rows by it leaves out whole groups and nothing else.
    fn key_column(&self, key: usize) -> Option<usize> {
        if self.has_sets || self.keys.is_volatile() {
            None
        } else {
            self.key_columns.get(key).copied().flatten()
        }
    }

    /// No groups, and room for some.
    fn begin(&mut self, cx: &ExecContext<'_>) {
        let front = if self.has_sets { Front::None } else { Front::of(self.keys.types()) };
        self.groups = Groups {
            again: if matches!(front, Front::Array(_)) { front::MANY } else { usize::MAX },
            front,
            keys: Batch::of_types(self.keys.types()),
            states: self.calls.iter().map(|call| GroupStates::new(&call.call)).collect(),
            ..Groups::default()
        };
        self.next = 0;
        self.overflow = Overflow::default();
        self.held = Some(cx.reserve("GROUP BY"));
    }

    /// The input in groups: all of it, or the rows of a later pass.
    fn collect(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.begin(cx);
        if !self.passes.is_later() {
            if !self.shared.is_part {
                self.add_empty_sets();
            }
            if self.collect_shared(cx)? {
                return Ok(());
            }
        }
        self.collect_rows(cx)?;
        self.order.clear();
        if self.has_sets {
            self.order.extend(0..self.groups.keys.rows as u32);
            self.order.sort_by_key(|group| self.groups.sets[*group as usize]);
        }
        Ok(())
    }

    /// Reads rows into the groups.
    fn collect_rows(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let mut group_of_row = Vec::new();
        let mut stored = Batch::of_types(&self.stored_types);
        loop {
            cx.check_cancelled()?;
            let later = self.passes.is_later();
            let more = match later {
                true => self.passes.read(&mut stored)?,
                false => self.next_rows(cx)?,
            };
            if !more {
                break;
            }
            match later {
                true => self.take_stored(&stored)?,
                false => self.keys.eval(&cx.eval(), &self.batch, &mut self.key_batch)?,
            }
            for call in &mut self.calls {
                call.evaluate(cx, &self.batch)?;
            }
            // Rows from a file belong to one set each, those of the input to all.
            for set in 0..if later { 1 } else { self.sets.len() } {
                cx.check_cancelled()?;
                self.find_groups((!later).then_some(set as u32), &mut group_of_row)?;
                self.feed_groups(&group_of_row)?;
                self.charge(cx)?;
            }
            if self.shared.is_full {
                break;
            }
        }
        Ok(())
    }

    /// The groups of sets without keys.
    fn add_empty_sets(&mut self) {
        for number in 0..self.sets.len() as u32 {
            if !self.sets[number as usize].keys.contains(&true) {
                self.encoded.fill(&ONE_ROW, &[], self.has_sets.then_some(number), None);
                self.add_group(number, 0);
            }
        }
    }

    /// Encodes the keys of all rows of the batch: for a set, or each for its own.
    fn encode(&mut self, set: Option<u32>) {
        let Self { encoded, key_batch, keys, sets, has_sets, stored_sets, .. } = self;
        match set {
            _ if !*has_sets => encoded.fill(key_batch, keys.types(), None, None),
            Some(set) => {
                encoded.fill(key_batch, keys.types(), Some(set), Some(&sets[set as usize].keys));
            }
            None => encoded.fill_each(key_batch, keys.types(), |row| {
                (stored_sets[row], &sets[stored_sets[row] as usize].keys)
            }),
        }
    }

    /// A new group, with the keys of a row, which are encoded, as far as its set has them.
    fn add_group(&mut self, set: u32, row: usize) -> u32 {
        self.groups.states.iter_mut().for_each(|states| states.push(1));
        self.add_group_of(set, row)
    }

    /// The same for a group whose states are known.
    fn add_group_of(&mut self, set: u32, row: usize) -> u32 {
        let groups = &mut self.groups;
        let group = groups.table.add(self.encoded.hash(row), self.encoded.key(row));
        let columns = self.key_batch.columns.iter().zip(&mut groups.keys.columns);
        for ((from, to), there) in columns.zip(&self.sets[set as usize].keys) {
            match there {
                true => to.append_range(from, row..row + 1),
                false => to.push_null(),
            }
        }
        groups.keys.rows += 1;
        groups.sets.push(set);
        group
    }

    /// Takes rows back from a file: states of groups become groups, the others the batch.
    fn take_stored(&mut self, stored: &Batch) -> Result<()> {
        let [state, sets, rest @ ..] = &stored.columns[..] else { return Err(broken()) };
        let (keys, input) = rest.split_at(self.keys.types().len());
        let set_of = |row: usize| match sets.value(row, &SqlType::Int4) {
            Value::Int4(set) if (0..self.sets.len() as i32).contains(&set) => Ok(set as u32),
            _ => Err(broken()),
        };
        self.stored_sets = (0..stored.rows).map(set_of).collect::<Result<_>>()?;
        self.key_batch = Batch { rows: stored.rows, columns: keys.to_vec() };
        self.encode(None);
        let mut later = Vec::new();
        for row in (0..stored.rows).filter(|row| !state.is_null(*row)) {
            let hash = self.encoded.hash(row);
            let known = self.groups.table.find(hash, self.encoded.key(row));
            match known {
                // What another worker had of the group may have been put aside again.
                None if self.shared.has_parts && self.passes.is_closed() => {
                    later.push((row as u32, hash));
                    continue;
                }
                None => drop(self.add_group_of(self.stored_sets[row], row)),
                // Several workers may have had the group.
                Some(_) if self.shared.has_parts => {}
                Some(_) => return Err(broken()),
            }
            let saved = decode_row(state.bytes_at(row))?;
            for ((call, saved), states) in self.calls.iter().zip(saved).zip(&mut self.groups.states) {
                let Value::Record(saved) = saved else { return Err(broken()) };
                let state = Accumulator::load(&call.call, saved.to_vec())?;
                match known {
                    None => states.push_state(state),
                    Some(group) => states.with(group, |own| own.merge(state))?,
                }
            }
        }
        self.passes.put(stored, later.into_iter())?;
        let rows: Vec<u32> = (0..stored.rows as u32).filter(|row| state.is_null(*row as usize)).collect();
        self.stored_sets = rows.iter().map(|row| self.stored_sets[*row as usize]).collect();
        let taken = |columns: &[Column]| Batch {
            rows: rows.len(),
            columns: columns.iter().map(|column| column.gather(&rows)).collect(),
        };
        self.key_batch = taken(keys);
        self.batch = taken(input);
        Ok(())
    }

    /// The group of each row of the batch, in this set, or in that of the row where it comes from a file; new ones are made,
    /// unless the pass is closed: then the rows are put aside.
    fn find_groups(&mut self, set: Option<u32>, group_of_row: &mut Vec<u32>) -> Result<()> {
        group_of_row.clear();
        let closed = self.passes.is_closed();
        if closed || self.passes.is_later() {
            self.groups.forget_front();
        }
        self.groups.find_front_again();
        if self.find_by_front(group_of_row) {
            return Ok(());
        }
        let mut later = Vec::new();
        self.encode(set);
        self.groups.table.find_all(&self.encoded, group_of_row);
        for (row, group) in group_of_row.iter_mut().enumerate().filter(|(_, group)| **group == KeyTable::NONE)
        {
            let hash = self.encoded.hash(row);
            if closed {
                later.push((row as u32, hash));
                *group = LATER;
                continue;
            }
            // A row before it may have made the group.
            let known = self.groups.table.find(hash, self.encoded.key(row));
            *group =
                known.unwrap_or_else(|| self.add_group(set.unwrap_or_else(|| self.stored_sets[row]), row));
        }
        if later.is_empty() {
            return Ok(());
        }
        let mut state = Column::new(SqlType::Bytea.physical());
        state.push_nulls(self.batch.rows);
        let mut sets = Column::new(SqlType::Int4.physical());
        for row in 0..self.batch.rows {
            let set = set.unwrap_or_else(|| self.stored_sets[row]);
            sets.push_value(&Value::Int4(set as i32), &SqlType::Int4)?;
        }
        let columns = [state, sets]
            .into_iter()
            .chain(std::mem::take(&mut self.key_batch.columns))
            .chain(std::mem::take(&mut self.batch.columns));
        let mut stored = Batch { rows: self.batch.rows, columns: columns.collect() };
        self.passes.put(&stored, later.into_iter())?;
        // The columns go back where they came from.
        self.batch.columns = stored.columns.split_off(2 + self.keys.types().len());
        self.key_batch.columns = stored.columns.split_off(2);
        Ok(())
    }

    /// The group of each row of the batch by the short way; new ones are made. False where there is none, or none any more.
    fn find_by_front(&mut self, group_of_row: &mut Vec<u32>) -> bool {
        let Self { groups, key_batch, keys, .. } = self;
        let mut encoded = Vec::new();
        let encode = |row: usize, encoded: &mut Vec<u8>| {
            encoded.clear();
            key::encode(key_batch, keys.types(), row, encoded);
            hash(encoded)
        };
        match &mut groups.front {
            Front::None => false,
            Front::Array(array) => {
                let column = &key_batch.columns[0];
                let mut missing = Vec::new();
                let mut done = array.find(column, group_of_row, &mut missing);
                let mut new = Vec::new();
                for row in missing {
                    let key = front::integer(column, row as usize);
                    let mut group = array.get(key);
                    if group == front::NONE {
                        let hash = encode(row as usize, &mut encoded);
                        group = groups.table.add_apart(hash, &encoded);
                        new.push(row);
                        if !array.add(key, group) {
                            done = false;
                            break;
                        }
                    }
                    group_of_row[row as usize] = group;
                }
                groups.push_rows(key_batch, &new);
                if !done {
                    groups.leave_front();
                }
                done
            }
            Front::Codes(codes) => {
                let mut new = Vec::new();
                let done = codes.pack(key_batch);
                for row in 0..if done { key_batch.rows } else { 0 } {
                    let mut group = codes.get(row);
                    if group == front::NONE {
                        let hash = encode(row, &mut encoded);
                        let (known, is_new) = groups.table.find_or_add(hash, &encoded);
                        if is_new {
                            new.push(row as u32);
                        }
                        codes.note(row, known);
                        group = known;
                    }
                    group_of_row.push(group);
                }
                groups.push_rows(key_batch, &new);
                if !done {
                    groups.leave_front();
                }
                done
            }
        }
    }

    fn feed_groups(&mut self, group_of_row: &[u32]) -> Result<()> {
        for (call, states) in self.calls.iter().zip(&mut self.groups.states) {
            if call.feed_groups(states, &self.batch, group_of_row)? {
                continue;
            }
            for row in call.rows(group_of_row.len()).filter(|row| group_of_row[*row] != LATER) {
                states.with(group_of_row[row], |accumulator| call.add_row(accumulator, &self.batch, row))?;
            }
        }
        Ok(())
    }

    /// Charges what the groups hold; refused, the pass is closed, and if that is not enough the younger half of the groups is
    /// put aside.
    fn charge(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        loop {
            let bytes = self.groups.heap_bytes();
            let Some(held) = &mut self.held else { return Ok(()) };
            let Err(refused) = held.try_resize(bytes) else { return Ok(()) };
            if !matches!(self.groups.front, Front::None) {
                self.groups.forget_front();
                continue;
            }
            if self.shared.is_part {
                self.shared.is_full = true;
                held.hold(bytes);
                return Ok(());
            }
            if !self.passes.is_closed() {
                self.passes.close_pass(cx, held, refused, &self.stored_types)?;
                self.tolerated = bytes.min(2 * held.limit_bytes().max(64 << 10));
            }
            if bytes <= self.tolerated {
                return Ok(());
            }
            self.put_groups_aside(cx, refused)?;
        }
    }

    fn put_groups_aside(&mut self, cx: &ExecContext<'_>, refused: Refused) -> Result<()> {
        let groups = &mut self.groups;
        let count = groups.table.len();
        let kept = count / 2;
        if count == 1 {
            let mut moved = false;
            for (at, (call, states)) in self.calls.iter().zip(&mut groups.states).enumerate() {
                if call.keeps_rows() {
                    moved |= states.with(0, |state| self.overflow.take(cx, at, call, state))?;
                }
            }
            if moved {
                self.tolerated = 0;
                return Ok(());
            }
        }
        if kept == 0 {
            return Err(refused.error("GROUP BY"));
        }
        let mut gone: Vec<_> =
            groups.states.iter_mut().map(|states| states.split_off(kept).into_iter()).collect();
        let mut aside = Aside::new(&self.stored_types);
        for group in kept..count {
            aside.push(groups, group, gone.iter_mut().filter_map(Iterator::next), &mut self.passes)?;
        }
        aside.finish(&mut self.passes)?;
        groups.table.truncate(kept);
        groups.sets.truncate(kept);
        groups.sets.shrink_to_fit();
        // A copy, which takes no more memory than it needs.
        groups.keys = groups.keys.gather(&(0..kept as u32).collect::<Vec<_>>());
        self.tolerated = 0;
        Ok(())
    }
}

/// Groups on their way to a file.
struct Aside {
    stored: Batch,
    hashes: Vec<u64>,
    state: Vec<u8>,
}

impl Aside {
    fn new(types: &[SqlType]) -> Aside {
        Aside { stored: Batch::of_types(types), hashes: Vec::new(), state: Vec::new() }
    }

    /// Writes a group, whose states these are.
    fn push(
        &mut self,
        groups: &Groups,
        group: usize,
        states: impl Iterator<Item = Accumulator>,
        passes: &mut Passes,
    ) -> Result<()> {
        let saved: Vec<Value> = states.map(|state| Value::Record(state.save().into())).collect();
        self.state.clear();
        encode_row(&saved, &mut self.state);
        drop(saved);
        for (at, column) in self.stored.columns.iter_mut().enumerate() {
            match at {
                0 => column.push_value(&Value::bytes(&self.state), &SqlType::Bytea)?,
                1 => column.push_value(&Value::Int4(groups.sets[group] as i32), &SqlType::Int4)?,
                key => match groups.keys.columns.get(key - 2) {
                    Some(from) => column.append_range(from, group..group + 1),
                    None => column.push_null(),
                },
            }
        }
        self.stored.rows += 1;
        self.hashes.push(groups.table.hash(group as u32));
        if self.stored.rows == BATCH_ROWS || self.stored.variable_bytes() >= BATCH_BYTES {
            self.finish(passes)?;
        }
        Ok(())
    }

    fn finish(&mut self, passes: &mut Passes) -> Result<()> {
        passes.put(&self.stored, (0u32..).zip(self.hashes.drain(..)))?;
        self.stored.recycle(KEEP_BYTES);
        Ok(())
    }
}

#[cold]
fn broken() -> ExecError {
    ExecError::raised("XX000", "groups in a temporary file are not what was put there")
}

impl Operator for GroupOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        self.input.open(cx)
    }

    fn restrict(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        if let Some(column) = self.key_column(column) {
            self.input.restrict(column, filter);
        }
    }

    fn reach(&self, column: usize) -> Reach {
        match self.key_column(column).map(|column| self.input.reach(column)) {
            None | Some(Reach::Nowhere) => Reach::Nowhere,
            Some(_) => Reach::Groups,
        }
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if !self.collected {
            self.collect(cx)?;
            self.input.close();
            self.collected = true;
        }
        while self.next >= self.groups.keys.rows {
            if let Some((groups, held)) = self.shared.merged.pop() {
                (self.groups, self.held, self.next) = (groups, Some(held), 0);
                continue;
            }
            if !self.passes.next_pass()? {
                return Ok(false);
            }
            self.collect(cx)?;
        }
        out.clear();
        let keys = self.keys.types().len();
        if self.groups.are_arrays() && self.order.is_empty() {
            let groups = self.next..self.groups.keys.rows.min(self.next + BATCH_ROWS);
            for (from, to) in self.groups.keys.columns.iter().zip(&mut out.columns) {
                to.append_range(from, groups.clone());
            }
            for (at, output) in self.results.iter().enumerate() {
                let (column, ty) = (&mut out.columns[keys + at], &self.types[keys + at]);
                self.groups.states[output.call].finish_into(groups.clone(), output.average, column, ty)?;
            }
            // Groups come as they are where there is one set, of all keys.
            for (bits, column) in
                self.sets[0].groupings.iter().zip(&mut out.columns[keys + self.results.len()..])
            {
                for _ in groups.clone() {
                    column.push_value(&Value::Int4(*bits), &SqlType::Int4)?;
                }
            }
            out.rows = groups.len();
            self.next = groups.end;
            self.groups.leave_out_gone(groups, out);
            return Ok(true);
        }
        while self.next < self.groups.keys.rows && out.rows < BATCH_ROWS && out.variable_bytes() < BATCH_BYTES
        {
            let group = self.order.get(self.next).map_or(self.next, |group| *group as usize);
            if self.groups.gone.binary_search(&(group as u32)).is_ok() {
                self.next += 1;
                continue;
            }
            for (from, to) in self.groups.keys.columns.iter().zip(&mut out.columns) {
                to.append_range(from, group..group + 1);
            }
            for (at, output) in self.results.iter().enumerate() {
                let whole = self.groups.states[output.call].result(group, output.is_last);
                let whole = match output.average {
                    Some(average) => whole.averaging(average),
                    None => whole,
                };
                let call = &self.calls[output.call];
                let finished = match group {
                    0 => self.overflow.finish(cx, output.call, call, whole)?,
                    _ => call.finish(cx, whole)?,
                };
                out.columns[keys + at].push_value(&finished, &self.types[keys + at])?;
            }
            let set = &self.sets[self.groups.sets[group] as usize];
            for (bits, column) in set.groupings.iter().zip(&mut out.columns[keys + self.results.len()..]) {
                column.push_value(&Value::Int4(*bits), &SqlType::Int4)?;
            }
            out.rows += 1;
            self.next += 1;
        }
        // All that were left may have gone.
        Ok(out.rows > 0 || !self.shared.merged.is_empty())
    }

    fn close(&mut self) {
        self.input.close();
        self.groups = Groups::default();
        self.overflow = Overflow::default();
        self.held = None;
        self.passes = Passes::default();
        self.collected = false;
        self.next = 0;
        self.order = Vec::new();
        self.stored_sets = Vec::new();
        self.shared = Shared::default();
        // In a later pass it had other columns.
        self.batch = Batch::of_types(&self.input_types);
        self.key_batch = Batch::of_types(self.keys.types());
    }
}
