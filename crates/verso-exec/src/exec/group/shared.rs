//! GROUP BY with several workers.
//!
//! ```text
//! part of the input ─► groups of a worker ─┬─ parts by the hash ─► a worker for each ─► groups
//! part of the input ─► groups of a worker ─┘   or, where they are few, all of them ─► groups
//! ```
//!
//! Where keys are integers, and what rows of a table have in common stands together, workers meet few groups twice: these are added
//! to one of them, and all stay where they are.
//!
//! Each worker may hold its share of the work memory. A worker that is refused more ends: the statement's thread then takes
//! over the groups of all workers and reads the rest of the input, by the passes that it has for that.

use std::ops::Range;
use std::sync::Arc;

use verso_types::Batch;

use super::front::{self, Front};
use super::{Aside, BATCH_ROWS, ExecContext, GroupOperator, Groups, Passes};
use crate::aggregate::GroupStates;
use crate::error::Result;
use crate::exec::aggregate::Call;
use crate::exec::operator::Operator;
use crate::exec::overflow::Overflow;
use crate::exec::parallel;
use crate::memory::Reservation;

/// What an operator has to do with workers.
#[derive(Default)]
pub(super) struct Shared {
    /// It is a worker's; and may hold no more.
    pub is_part: bool,
    pub is_full: bool,
    /// Groups come from workers, so one may come several times.
    pub has_parts: bool,
    /// What workers have left of the input.
    rest: Vec<Box<dyn Operator>>,
    /// Further groups, in which none is twice.
    pub merged: Vec<(Groups, Reservation)>,
}

/// What a worker has made.
struct Part {
    groups: Groups,
    held: Reservation,
}

/// Groups of all workers together below which one thread puts them together.
const FEW_GROUPS: usize = if cfg!(test) { 300 } else { 16 << 10 };

impl GroupOperator {
    /// Reads the input with several workers, if it is to be read so; whether nothing of it is left to be done.
    pub(super) fn collect_shared(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        // A worker that is refused memory takes one batch more, for all sets.
        let many_sets = self.sets.len() > SETS_MAX;
        if self.shared.is_part
            || many_sets
            || !self.keys_are_safe
            || !self.calls.iter().all(Call::is_shareable)
        {
            return Ok(false);
        }
        let Some(inputs) = parallel::split(cx, &mut *self.input)? else { return Ok(false) };
        self.shared.has_parts = true;
        let count = inputs.len();
        let parts: Vec<GroupOperator> = inputs.into_iter().map(|input| self.part(input)).collect();
        let made = parallel::run(cx, parts, |cx, mut part: GroupOperator| {
            part.collect(cx)?;
            let held = part.held.take().unwrap_or_else(|| cx.reserve("GROUP BY"));
            let groups = std::mem::take(&mut part.groups);
            let rest = part.shared.is_full.then_some(part.input);
            Ok((Part { groups, held }, rest))
        })?;
        let (mut made, rest): (Vec<Part>, Vec<_>) = made.into_iter().unzip();
        self.shared.rest = rest.into_iter().flatten().collect();
        let many = made.iter().map(|part| part.groups.keys.rows).sum::<usize>() > FEW_GROUPS;
        if many && !self.has_sets && self.shared.rest.is_empty() {
            if let Some(common) = few_in_common(&made) {
                self.shared.merged = kept_apart(made, common)?;
                return Ok(true);
            }
            match self.merge_by_hash(cx, made, count)? {
                None => return Ok(true),
                Some(refused) => made = refused,
            }
        }
        for part in made {
            self.take_over(cx, part)?;
        }
        // The rest of the rows, if there is one, and the order of the sets are still to come.
        Ok(false)
    }

    /// The next rows of the input, into the batch.
    pub(super) fn next_rows(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        if !self.shared.has_parts {
            return self.input.next(cx, &mut self.batch);
        }
        parallel::next_of(cx, &mut self.shared.rest, &mut self.batch)
    }

    /// The operator of a worker.
    fn part(&self, input: Box<dyn Operator>) -> GroupOperator {
        GroupOperator {
            input,
            batch: Batch::of_types(&self.input_types),
            input_types: self.input_types.clone(),
            keys: self.keys.clone(),
            keys_are_safe: true,
            key_columns: self.key_columns.clone(),
            key_batch: Batch::of_types(self.keys.types()),
            encoded: super::RowKeys::default(),
            calls: self.calls.clone(),
            results: self.results.clone(),
            sets: self.sets.clone(),
            has_sets: self.has_sets,
            groups: Groups::default(),
            held: None,
            passes: Passes::default(),
            overflow: Overflow::default(),
            stored_types: self.stored_types.clone(),
            stored_sets: Vec::new(),
            order: Vec::new(),
            tolerated: 0,
            collected: false,
            next: 0,
            types: self.types.clone(),
            shared: Shared { is_part: true, ..Shared::default() },
        }
    }

    /// Puts many groups together with as many workers, each those with hashes of its own. Yields the parts back where memory
    /// is refused, or copying states would cost too much.
    fn merge_by_hash(
        &mut self,
        cx: &ExecContext<'_>,
        made: Vec<Part>,
        workers: usize,
    ) -> Result<Option<Vec<Part>>> {
        if !made.iter().all(|part| part.groups.states.iter().all(GroupStates::are_small)) {
            return Ok(Some(made));
        }
        let made = Arc::new(made);
        let (parts, calls, types) = (Arc::clone(&made), self.calls.clone(), self.keys.types().to_vec());
        let numbers = (0..workers).collect();
        let merged = parallel::run(cx, numbers, move |cx, number: usize| {
            let mut held = cx.reserve("GROUP BY");
            let all_arrays = parts.iter().all(|part| matches!(part.groups.front, Front::Array(_)));
            let mut whole = Groups {
                front: if all_arrays { Front::of(&types) } else { Front::None },
                keys: Batch::of_types(&types),
                states: calls.iter().map(|call| GroupStates::new(&call.call)).collect(),
                ..Groups::default()
            };
            for part in parts.iter() {
                let own = |group: &u32| (part.groups.table.hash(*group) >> 32) as usize % workers == number;
                let chosen: Vec<u32> = (0..part.groups.keys.rows as u32).filter(own).collect();
                // What is refused afterwards is no more than one part's groups.
                whole.reserve(chosen.len(), &part.groups);
                for some in chosen.chunks(BATCH_ROWS) {
                    cx.check_cancelled()?;
                    whole.add_copies(&part.groups, some)?;
                    if held.try_resize(whole.heap_bytes()).is_err() {
                        return Ok(None);
                    }
                }
            }
            Ok(Some((whole, held)))
        })?;
        if merged.iter().any(Option::is_none) {
            drop(merged);
            return Ok(Arc::into_inner(made));
        }
        self.shared.merged = merged.into_iter().flatten().collect();
        Ok(None)
    }

    /// Takes over the groups of a worker.
    fn take_over(&mut self, cx: &ExecContext<'_>, mut part: Part) -> Result<()> {
        self.groups.forget_front();
        let mut from = 0;
        while from < part.groups.keys.rows {
            cx.check_cancelled()?;
            let to = (from + BATCH_ROWS).min(part.groups.keys.rows);
            self.take_over_some(&mut part.groups, from..to)?;
            from = to;
            self.charge(cx)?;
        }
        Ok(())
    }

    fn take_over_some(&mut self, part: &mut Groups, range: Range<usize>) -> Result<()> {
        let closed = self.passes.is_closed();
        let mut pairs = Vec::with_capacity(range.len());
        let mut aside = Aside::new(&self.stored_types);
        for group in range {
            let (hash, key) = (part.table.hash(group as u32), part.table.key(group as u32));
            let own = match self.groups.table.find(hash, key) {
                Some(own) => own,
                None if closed => {
                    let states: Vec<_> = part.states.iter_mut().map(|states| states.take(group)).collect();
                    aside.push(part, group, states.into_iter(), &mut self.passes)?;
                    continue;
                }
                None => self.groups.add_empty(part, group),
            };
            pairs.push((group as u32, own));
        }
        aside.finish(&mut self.passes)?;
        for (states, more) in self.groups.states.iter_mut().zip(&mut part.states) {
            states.merge(more, &pairs)?;
        }
        Ok(())
    }
}

/// What a part has in common with an earlier one: the numbers of both, and of each group in both.
struct Common {
    part: usize,
    earlier: usize,
    groups: Vec<(u32, u32)>,
}

/// Sets of which workers make groups.
const SETS_MAX: usize = 64;

/// One in so many groups may be in several parts for them to be kept apart.
const FEW_COMMON: usize = 8;

/// The groups that several workers have met, each once for each part behind the first, if all are found by arrays and these are few.
fn few_in_common(made: &[Part]) -> Option<Vec<Common>> {
    let mut all = Vec::new();
    for (number, part) in made.iter().enumerate() {
        let groups = &part.groups;
        let Front::Array(array) = &groups.front else { return None };
        if !groups.states.iter().all(GroupStates::are_small) {
            return None;
        }
        let most = groups.keys.rows / FEW_COMMON;
        let mut known = vec![false; groups.keys.rows];
        let mut count = 0;
        for (earlier, other) in made[..number].iter().enumerate() {
            let Front::Array(theirs) = &other.groups.front else { return None };
            let mut both = array.common(theirs, most)?;
            // The earliest part has it.
            both.retain(|(own, _)| !std::mem::replace(&mut known[*own as usize], true));
            count += both.len();
            all.push(Common { part: number, earlier, groups: both });
        }
        if count > most {
            return None;
        }
    }
    Some(all)
}

/// The groups of all parts; those of several are in the first one of them.
fn kept_apart(mut made: Vec<Part>, common: Vec<Common>) -> Result<Vec<(Groups, Reservation)>> {
    for Common { part, earlier, groups } in common {
        let both = made.get_disjoint_mut([part, earlier]);
        let [from, to] = both.map_err(|_| super::broken())?.map(|part| &mut part.groups);
        let gone: Vec<u32> = groups.iter().map(|(own, _)| *own).collect();
        let pairs: Vec<(u32, u32)> = (0..).zip(groups.iter().map(|(_, first)| *first)).collect();
        for (states, more) in to.states.iter_mut().zip(&from.states) {
            states.merge(&mut more.copy_of(&gone), &pairs)?;
        }
        from.gone.extend(gone);
    }
    made.iter_mut().for_each(|part| part.groups.gone.sort_unstable());
    Ok(made.into_iter().map(|part| (part.groups, part.held)).collect())
}

impl Groups {
    /// Adds a group that another one has and this one has not, without its states.
    fn add_empty(&mut self, other: &Groups, group: usize) -> u32 {
        let number = self.table.add(other.table.hash(group as u32), other.table.key(group as u32));
        for (from, to) in other.keys.columns.iter().zip(&mut self.keys.columns) {
            to.append_range(from, group..group + 1);
        }
        self.keys.rows += 1;
        self.sets.push(other.sets[group]);
        self.states.iter_mut().for_each(|states| states.push(1));
        number
    }

    /// Makes room for so many groups like another's.
    fn reserve(&mut self, groups: usize, other: &Groups) {
        if !matches!(self.front, Front::Array(_)) {
            self.table.reserve(groups, &other.table);
        }
        self.sets.reserve(groups);
        self.states.iter_mut().for_each(|states| states.reserve(groups));
    }

    /// Adds some groups of another one, which keeps them.
    fn add_copies(&mut self, other: &Groups, some: &[u32]) -> Result<()> {
        let mut pairs = Vec::with_capacity(some.len());
        let mut new = Vec::with_capacity(some.len());
        for (at, group) in some.iter().enumerate() {
            let (hash, key) = (other.table.hash(*group), other.table.key(*group));
            let (own, is_new) = match &mut self.front {
                Front::Array(array) => {
                    let integer = front::integer(&other.keys.columns[0], *group as usize);
                    match array.get(integer) {
                        front::NONE => {
                            let own = self.table.add_apart(hash, key);
                            if !array.add(integer, own) {
                                self.forget_front();
                            }
                            (own, true)
                        }
                        own => (own, false),
                    }
                }
                Front::None | Front::Codes(_) => self.table.find_or_add(hash, key),
            };
            if is_new {
                new.push(*group);
            }
            pairs.push((at as u32, own));
        }
        for (from, to) in other.keys.columns.iter().zip(&mut self.keys.columns) {
            from.gather_into(&new, to);
        }
        self.keys.rows += new.len();
        self.sets.extend(new.iter().map(|group| other.sets[*group as usize]));
        for (states, more) in self.states.iter_mut().zip(&other.states) {
            states.push(new.len());
            states.merge(&mut more.copy_of(some), &pairs)?;
        }
        Ok(())
    }
}
