//! The states of one aggregate for many groups: arrays where a state is a count or a sum, fed a column at a time.
//!
//! 1. State `i` is group `i`'s. Every form yields the accumulator that rows fed one by one would have left.
//! 2. Arrays become accumulators, once, where something comes that they cannot take in; never the other way.
//! 3. Sums in 128 bits stay below 10^38: `bound` is above each of them.

use std::ops::Range;

use verso_types::error::sqlstate;
use verso_types::{Column, ColumnData, Decimal, SqlType, TypeError};

use super::accumulator::{Accumulator, State};
use crate::error::Result;
use crate::functions::AggregateKind;
use crate::plan::AggregateCall;

/// See the module.
#[derive(Debug)]
pub(crate) struct GroupStates {
    form: Form,
    /// The state of a group without rows.
    empty: Accumulator,
    /// Bytes that accumulators hold beside themselves.
    payload: usize,
}

#[derive(Debug)]
enum Form {
    Counts(Vec<i64>),
    Sums(Sums),
    Any(Vec<Accumulator>),
}

/// Sums of integers, or of numerics of one scale.
#[derive(Debug)]
struct Sums {
    sums: Vec<i128>,
    counts: Vec<i64>,
    /// Of numerics, once some have come.
    scale: Option<u8>,
    of_numerics: bool,
    bound: u128,
}

/// With fewer groups than this their sums are taken [in parts](Sums::add_few).
const FEW: usize = 16;
/// Parts of the sum of a group.
const LANES: usize = 4;
/// Bits of a value of such a sum.
const PART_BITS: u32 = 46;

/// Sums of numerics are below this.
const LIMIT: u128 = 10u128.pow(38);

impl GroupStates {
    /// A row that belongs to no group.
    pub const NONE: u32 = u32::MAX;

    /// No groups yet.
    pub fn new(call: &AggregateCall) -> GroupStates {
        let plain = !call.distinct && call.order_by.is_empty() && call.direct.is_empty();
        let kind = call.function.kind;
        let sums = |of_numerics| {
            Form::Sums(Sums { sums: Vec::new(), counts: Vec::new(), scale: None, of_numerics, bound: 0 })
        };
        let form = match call.args.first().map(|arg| arg.ty.without_modifiers()) {
            _ if !plain => Form::Any(Vec::new()),
            _ if matches!(kind, AggregateKind::CountStar | AggregateKind::Count) => Form::Counts(Vec::new()),
            Some(ty) if matches!(kind, AggregateKind::Sum | AggregateKind::Avg) => match ty {
                SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => sums(false),
                SqlType::Numeric(_) => sums(true),
                _ => Form::Any(Vec::new()),
            },
            _ => Form::Any(Vec::new()),
        };
        GroupStates { form, empty: Accumulator::new(call), payload: 0 }
    }

    /// Adds so many groups without rows.
    pub fn push(&mut self, groups: usize) {
        match &mut self.form {
            Form::Counts(counts) => counts.resize(counts.len() + groups, 0),
            Form::Sums(Sums { sums, counts, .. }) => {
                sums.resize(sums.len() + groups, 0);
                counts.resize(counts.len() + groups, 0);
            }
            Form::Any(accumulators) => {
                accumulators.extend(std::iter::repeat_n(&self.empty, groups).cloned());
            }
        }
    }

    /// Makes room for so many further groups.
    pub fn reserve(&mut self, groups: usize) {
        match &mut self.form {
            Form::Counts(counts) => counts.reserve(groups),
            Form::Sums(Sums { sums, counts, .. }) => {
                sums.reserve(groups);
                counts.reserve(groups);
            }
            Form::Any(accumulators) => accumulators.reserve(groups),
        }
    }

    /// Whether the results of many groups can be [written](GroupStates::finish_into) at once.
    pub fn is_array(&self) -> bool {
        matches!(self.form, Form::Counts(_) | Form::Sums(_))
    }

    /// Appends the results of some groups to a column of this type; only of an [array](GroupStates::is_array). `average` says whether
    /// they are sums or averages, where these are not what the states are of.
    /// # Errors
    /// 22003.
    pub fn finish_into(
        &self,
        groups: Range<usize>,
        average: Option<bool>,
        column: &mut Column,
        ty: &SqlType,
    ) -> Result<()> {
        let empty = match average {
            Some(average) => &self.empty.clone().averaging(average),
            None => &self.empty,
        };
        match &self.form {
            Form::Counts(counts) => match column.data.i64s_mut() {
                Some(to) => to.extend_from_slice(&counts[groups]),
                None => return Err(TypeError::new(sqlstate::INTERNAL_ERROR, "a count is a bigint").into()),
            },
            Form::Sums(sums) => {
                if sums.finish_plain(&empty.state, groups.clone(), column) {
                    return Ok(());
                }
                for group in groups {
                    column.push_value(&sums.state(&empty.state, group).finish()?, ty)?;
                }
            }
            Form::Any(_) => {
                return Err(TypeError::new(sqlstate::INTERNAL_ERROR, "states are no arrays").into());
            }
        }
        Ok(())
    }

    /// Adds a group with this state.
    pub fn push_state(&mut self, state: Accumulator) {
        match (&mut self.form, &state.state) {
            (Form::Counts(counts), State::Count(count)) => counts.push(*count),
            _ => {
                self.payload += state.heap_bytes();
                self.accumulators().push(state);
            }
        }
    }

    /// Counts the rows of `count(*)`. False where the states are of another kind.
    pub fn add_rows(&mut self, groups: &[u32]) -> bool {
        let Form::Counts(counts) = &mut self.form else { return false };
        if counts.len() < FEW && groups.len() > 4 * FEW {
            count_few(counts, groups);
            return true;
        }
        for group in groups {
            if let Some(count) = counts.get_mut(*group as usize) {
                *count += 1;
            }
        }
        true
    }

    /// Feeds a column of the argument, whose rows are those of the groups. False where only [`GroupStates::with`] can do it;
    /// nothing was fed then.
    /// # Errors
    /// 22003.
    pub fn add_column(&mut self, groups: &[u32], column: &Column, ty: &SqlType) -> Result<bool> {
        let taken = match &mut self.form {
            Form::Counts(counts) => {
                let any_nulls = column.nulls.any();
                if !any_nulls && counts.len() < FEW && groups.len() > 4 * FEW {
                    count_few(counts, groups);
                    return Ok(true);
                }
                for (row, group) in groups.iter().enumerate() {
                    if let Some(count) = counts.get_mut(*group as usize) {
                        *count += i64::from(!any_nulls || !column.nulls.is_null(row));
                    }
                }
                true
            }
            Form::Sums(sums) => sums.add_column(groups, column, ty),
            Form::Any(accumulators) => return feed(accumulators, groups, column, ty),
        };
        if taken {
            return Ok(true);
        }
        feed(self.accumulators(), groups, column, ty)
    }

    /// Works with the accumulator of a group.
    pub fn with<T>(&mut self, group: u32, work: impl FnOnce(&mut Accumulator) -> Result<T>) -> Result<T> {
        let accumulator = &mut self.accumulators()[group as usize];
        let before = accumulator.heap_bytes();
        let result = work(accumulator);
        let after = accumulator.heap_bytes();
        self.payload = self.payload + after - before;
        result
    }

    /// Takes over states of other groups, each for a group that is here: pairs of the other's group and the own one.
    /// # Errors
    /// Those of [`Accumulator::merge`].
    pub fn merge(&mut self, other: &mut GroupStates, pairs: &[(u32, u32)]) -> Result<()> {
        let merged = match (&mut self.form, &other.form) {
            (Form::Counts(counts), Form::Counts(more)) => {
                for (from, to) in pairs {
                    counts[*to as usize] += more[*from as usize];
                }
                true
            }
            (Form::Sums(sums), Form::Sums(more)) => sums.merge(more, pairs),
            _ => false,
        };
        if merged {
            return Ok(());
        }
        for (from, to) in pairs {
            let state = other.take(*from as usize);
            self.with(*to, |own| own.merge(state))?;
        }
        Ok(())
    }

    /// Whether the states hold nothing beside themselves, so that copying one costs little.
    pub fn are_small(&self) -> bool {
        self.payload == 0
    }

    /// The states of some groups, copied.
    pub fn copy_of(&self, groups: &[u32]) -> GroupStates {
        let at = |group: &u32| *group as usize;
        let form = match &self.form {
            Form::Counts(counts) => Form::Counts(groups.iter().map(|group| counts[at(group)]).collect()),
            Form::Sums(all) => Form::Sums(Sums {
                sums: groups.iter().map(|group| all.sums[at(group)]).collect(),
                counts: groups.iter().map(|group| all.counts[at(group)]).collect(),
                ..*all
            }),
            Form::Any(accumulators) => {
                Form::Any(groups.iter().map(|group| accumulators[at(group)].clone()).collect())
            }
        };
        GroupStates { form, empty: self.empty.clone(), payload: 0 }
    }

    /// The states as accumulators, from now on.
    fn accumulators(&mut self) -> &mut Vec<Accumulator> {
        if !matches!(self.form, Form::Any(_)) {
            let count = self.len();
            let all = (0..count).map(|group| self.take(group)).collect();
            self.form = Form::Any(all);
        }
        match &mut self.form {
            Form::Any(accumulators) => accumulators,
            _ => unreachable!("made above"),
        }
    }

    /// How many groups there are.
    fn len(&self) -> usize {
        match &self.form {
            Form::Counts(counts) => counts.len(),
            Form::Sums(sums) => sums.counts.len(),
            Form::Any(accumulators) => accumulators.len(),
        }
    }

    /// The state of a group, which is not asked for again.
    pub fn take(&mut self, group: usize) -> Accumulator {
        let state = match &mut self.form {
            Form::Any(accumulators) => {
                return std::mem::replace(&mut accumulators[group], self.empty.clone());
            }
            Form::Counts(counts) => State::Count(counts[group]),
            Form::Sums(sums) => sums.state(&self.empty.state, group),
        };
        let mut accumulator = self.empty.clone();
        accumulator.state = state;
        accumulator
    }

    /// The state of a group for a result, which is not asked for again if that is the last one.
    pub fn result(&mut self, group: usize, is_last: bool) -> Accumulator {
        match &self.form {
            Form::Any(accumulators) if !is_last => accumulators[group].clone(),
            _ => self.take(group),
        }
    }

    /// Takes the states from this group on.
    pub fn split_off(&mut self, kept: usize) -> Vec<Accumulator> {
        match &mut self.form {
            Form::Any(accumulators) => {
                let gone = accumulators.split_off(kept);
                accumulators.shrink_to_fit();
                self.payload = accumulators.iter().map(Accumulator::heap_bytes).sum();
                gone
            }
            _ => {
                let gone = (kept..self.len()).map(|group| self.take(group)).collect();
                match &mut self.form {
                    Form::Counts(counts) => {
                        counts.truncate(kept);
                        counts.shrink_to_fit();
                    }
                    Form::Sums(Sums { sums, counts, .. }) => {
                        sums.truncate(kept);
                        counts.truncate(kept);
                        sums.shrink_to_fit();
                        counts.shrink_to_fit();
                    }
                    Form::Any(_) => {}
                }
                gone
            }
        }
    }

    /// Bytes that the state of one group holds beyond its place.
    pub fn bytes_of(&self, group: usize) -> usize {
        match &self.form {
            Form::Any(accumulators) => accumulators[group].heap_bytes(),
            Form::Counts(_) | Form::Sums(_) => 0,
        }
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        self.payload
            + match &self.form {
                Form::Counts(counts) => counts.capacity() * 8,
                Form::Sums(Sums { sums, counts, .. }) => sums.capacity() * 16 + counts.capacity() * 8,
                Form::Any(accumulators) => accumulators.capacity() * size_of::<Accumulator>(),
            }
    }
}

impl Sums {
    /// As [`GroupStates::add_column`]; false also where a sum might become too large.
    fn add_column(&mut self, groups: &[u32], column: &Column, ty: &SqlType) -> bool {
        let scale = match (self.of_numerics, ty) {
            (true, SqlType::Numeric(Some(spec))) => Some(spec.scale),
            (false, _) => None,
            _ => return false,
        };
        if self.of_numerics && self.scale.is_some() && self.scale != scale {
            return false;
        }
        let widest = match &column.data {
            ColumnData::I16(_) => 1 << 15,
            ColumnData::I32(_) => 1 << 31,
            ColumnData::I64(_) => 1 << 63,
            ColumnData::I128(values) => values.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0),
            _ => return false,
        };
        let bound = self.bound.saturating_add(widest.saturating_mul(groups.len() as u128));
        if bound >= LIMIT {
            return false;
        }
        self.bound = bound;
        if column.nulls.count() < column.len() {
            self.scale = scale;
        }
        match &column.data {
            ColumnData::I16(values) => self.add(groups, values, column),
            ColumnData::I32(values) => self.add(groups, values, column),
            ColumnData::I64(values) => self.add(groups, values, column),
            ColumnData::I128(values) => self.add(groups, values, column),
            _ => return false,
        }
        true
    }

    /// False, and nothing has happened, where the sums are of numbers of another scale, or might become too large.
    fn merge(&mut self, other: &Sums, pairs: &[(u32, u32)]) -> bool {
        let bound = self.bound.saturating_add(other.bound);
        let alike = self.scale.is_none() || other.scale.is_none() || self.scale == other.scale;
        if bound >= LIMIT || !alike {
            return false;
        }
        self.bound = bound;
        self.scale = self.scale.or(other.scale);
        for (from, to) in pairs {
            self.sums[*to as usize] += other.sums[*from as usize];
            self.counts[*to as usize] += other.counts[*from as usize];
        }
        true
    }

    fn add<T: Copy + Into<i128>>(&mut self, groups: &[u32], values: &[T], column: &Column) {
        let any_nulls = column.nulls.any();
        if !any_nulls && self.sums.len() < FEW && groups.len() > 4 * FEW && self.add_few(groups, values) {
            return;
        }
        let Self { sums, counts, .. } = self;
        for (row, (value, group)) in values.iter().zip(groups).enumerate() {
            if any_nulls && column.nulls.is_null(row) {
                continue;
            }
            // There is no such group where the row belongs to none.
            if let (Some(sum), Some(count)) = (sums.get_mut(*group as usize), counts.get_mut(*group as usize))
            {
                *sum += (*value).into();
                *count += 1;
            }
        }
    }

    /// The same for few groups: sums of the rows at hand in 64 bits, several for each group so that no row waits for the one before
    /// it. False, and nothing has happened, where 64 bits may not be enough.
    fn add_few<T: Copy + Into<i128>>(&mut self, groups: &[u32], values: &[T]) -> bool {
        // All bits that tell a value from 0 or -1.
        let bits = values.iter().fold(0u128, |bits, value| {
            let value: i128 = (*value).into();
            bits | (value ^ value >> 127).cast_unsigned()
        });
        if bits.leading_zeros() < 128 - PART_BITS || groups.len() > 1 << (62 - PART_BITS) {
            return false;
        }
        let mut parts = [([0i64; FEW], [0u32; FEW]); LANES];
        // Rows of no group are summed up behind all groups.
        let place = |group: u32| (group as usize).min(FEW - 1);
        let (rows, rest) = values.as_chunks::<LANES>();
        let (of_rows, of_rest) = groups.split_at(rows.len() * LANES);
        for (values, groups) in rows.iter().zip(of_rows.as_chunks::<LANES>().0) {
            for ((value, group), (sums, counts)) in values.iter().zip(groups).zip(&mut parts) {
                let value: i128 = (*value).into();
                sums[place(*group)] += value as i64;
                counts[place(*group)] += 1;
            }
        }
        for (value, group) in rest.iter().zip(of_rest) {
            let value: i128 = (*value).into();
            parts[0].0[place(*group)] += value as i64;
            parts[0].1[place(*group)] += 1;
        }
        for (sums, counts) in &parts {
            let own = self.sums.iter_mut().zip(&mut self.counts);
            for ((own, count), (sum, rows)) in own.zip(sums.iter().zip(counts)) {
                *own += i128::from(*sum);
                *count += i64::from(*rows);
            }
        }
        true
    }

    /// Appends the sums of groups that all have rows, of numerics as bytes; false, and nothing has happened, where there is more to them.
    fn finish_plain(&self, empty: &State, groups: Range<usize>, column: &mut Column) -> bool {
        let State::Numeric { average: false, .. } = empty else { return false };
        let (Some(scale), Some(bytes)) = (self.scale, column.data.bytes_mut()) else { return false };
        let (sums, counts) = (&self.sums[groups.clone()], &self.counts[groups]);
        let numbers = || sums.iter().map(|sum| Decimal::new(*sum, scale));
        if counts.contains(&0) || numbers().any(|number| number.is_err()) {
            return false;
        }
        numbers().flatten().for_each(|number| bytes.push_with(|out| number.to_bytes(out)));
        true
    }

    /// The state of a group; that of none without rows is `empty`.
    fn state(&self, empty: &State, group: usize) -> State {
        let (sum, count) = (self.sums[group], self.counts[group]);
        let scale = if count > 0 { self.scale.unwrap_or(0) } else { 0 };
        let mut state = empty.clone();
        match &mut state {
            State::SumInteger { sum: to, count: rows } | State::Integers { sum: to, count: rows, .. } => {
                (*to, *rows) = (sum, count);
            }
            State::Numeric { sum: to, count: rows, .. } => {
                // Rule 3: it has no more digits than a decimal may have.
                (*to, *rows) = (Decimal::new(sum, scale).unwrap_or(Decimal::ZERO), count);
            }
            _ => {}
        }
        state
    }
}

/// Counts the rows of few groups, with several counters for each so that no row waits for the one before it.
fn count_few(counts: &mut [i64], groups: &[u32]) {
    let mut parts = [[0i64; FEW]; LANES];
    let place = |group: u32| (group as usize).min(FEW - 1);
    let (rows, rest) = groups.as_chunks::<LANES>();
    for groups in rows {
        groups.iter().zip(&mut parts).for_each(|(group, part)| part[place(*group)] += 1);
    }
    rest.iter().for_each(|group| parts[0][place(*group)] += 1);
    for part in &parts {
        counts.iter_mut().zip(part).for_each(|(count, rows)| *count += rows);
    }
}

/// Feeds accumulators, one by one. False where only [`Accumulator::add`] can do it.
fn feed(slots: &mut [Accumulator], groups: &[u32], column: &Column, ty: &SqlType) -> Result<bool> {
    let nulls = &column.nulls;
    let any_nulls = nulls.any();
    macro_rules! each {
        ($values:expr, $pattern:pat, $value:ident => $do:expr) => {{
            for (row, ($value, group)) in $values.iter().zip(groups).enumerate() {
                if *group == GroupStates::NONE || any_nulls && nulls.is_null(row) {
                    continue;
                }
                if let $pattern = &mut slots[*group as usize].state {
                    $do
                }
            }
            true
        }};
    }
    // All groups' accumulators of a call are of one kind, but for sums that have outgrown decimals.
    let Some(first) = slots.first() else { return Ok(true) };
    if !first.takes_columns() {
        return Ok(false);
    }
    Ok(match (&first.state, &column.data, ty) {
        (State::SumInteger { .. }, ColumnData::I16(values), _) => {
            each!(values, State::SumInteger { sum, count }, value => { *sum += i128::from(*value); *count += 1; })
        }
        (State::SumInteger { .. }, ColumnData::I32(values), _) => {
            each!(values, State::SumInteger { sum, count }, value => { *sum += i128::from(*value); *count += 1; })
        }
        (State::Integers { .. }, ColumnData::I16(values), _) => {
            each!(values, State::Integers { sum, count, .. }, value => { *sum += i128::from(*value); *count += 1; })
        }
        (State::Integers { .. }, ColumnData::I32(values), _) => {
            each!(values, State::Integers { sum, count, .. }, value => { *sum += i128::from(*value); *count += 1; })
        }
        (State::Integers { .. }, ColumnData::I64(values), _) => {
            each!(values, State::Integers { sum, count, .. }, value => { *sum += i128::from(*value); *count += 1; })
        }
        (
            State::Numeric { .. } | State::Big { .. },
            ColumnData::I64(values),
            SqlType::Numeric(Some(spec)),
        ) => {
            each!(values, state @ (State::Numeric { .. } | State::Big { .. }), value => {
                state.add_decimal(&Decimal::from_scaled_i64(*value, spec.scale));
            })
        }
        (
            State::Numeric { .. } | State::Big { .. },
            ColumnData::I128(values),
            SqlType::Numeric(Some(spec)),
        ) => {
            each!(values, state @ (State::Numeric { .. } | State::Big { .. }), value => {
                state.add_decimal(&Decimal::new(*value, spec.scale).map_err(TypeError::from)?);
            })
        }
        (State::Float { .. }, ColumnData::F64(values), _) => {
            each!(values, State::Float { sum, .. }, value => sum.add(*value))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use verso_types::{NumericSpec, Value};

    use super::*;
    use crate::functions::aggregate_candidates;
    use crate::testing::column;

    fn call(name: &str, ty: &SqlType) -> AggregateCall {
        let function = aggregate_candidates(name)
            .iter()
            .find(|function| match function.args {
                [crate::functions::ArgType::Exact(arg)] => arg.same_base(ty),
                [_] => true,
                _ => false,
            })
            .unwrap_or_else(|| panic!("no {name}"));
        let args = vec![column(0, ty.clone())];
        AggregateCall { args, ..AggregateCall::plain(function, ty.clone(), name.into()) }
    }

    /// Columns of several types one after the other, so that arrays become accumulators on the way, against rows one by one.
    #[test]
    fn arrays_and_accumulators_agree() {
        let numeric = |precision, scale| SqlType::Numeric(NumericSpec::new(precision, scale));
        let number = |digits: i128, scale| Value::Numeric(Decimal::new(digits, scale).unwrap());
        let wide = 10i128.pow(37) * 9;
        let inputs: Vec<Vec<(SqlType, Vec<Value>)>> = vec![
            vec![(
                SqlType::Int4,
                vec![Value::Int4(i32::MAX), Value::Null, Value::Int4(-7), Value::Int4(i32::MAX)],
            )],
            vec![
                (SqlType::Int8, vec![Value::Int8(i64::MAX); 5]),
                (SqlType::Int8, vec![Value::Int8(i64::MIN)]),
            ],
            vec![
                (numeric(8, 2), vec![number(150, 2), Value::Null, number(-1, 2)]),
                (numeric(30, 2), vec![number(10i128.pow(29), 2); 4]),
                (numeric(8, 3), vec![number(1, 3)]),
                (numeric(8, 2), vec![number(5, 2); 3]),
            ],
            vec![(numeric(38, 0), vec![number(wide, 0); 6]), (numeric(8, 2), vec![number(25, 2)])],
            vec![(numeric(8, 2), vec![Value::Null; 4])],
        ];
        for batches in inputs {
            for name in ["sum", "avg", "count"] {
                let call = call(name, &batches[0].0.without_modifiers());
                let mut states = GroupStates::new(&call);
                let mut one_by_one: Vec<Accumulator> = Vec::new();
                for _ in 0..3 {
                    states.push(1);
                    one_by_one.push(Accumulator::new(&call));
                }
                for (ty, values) in &batches {
                    let mut column = Column::new(ty.physical());
                    values.iter().for_each(|value| column.push_value(value, ty).unwrap());
                    // Every fourth row belongs to no group.
                    let groups: Vec<u32> =
                        (0..values.len()).map(|row| [0, 2, GroupStates::NONE, 2][row % 4]).collect();
                    assert!(states.add_column(&groups, &column, ty).unwrap(), "{name} {ty:?}");
                    for (value, group) in values.iter().zip(&groups) {
                        if let Some(accumulator) = one_by_one.get_mut(*group as usize) {
                            accumulator.add(std::slice::from_ref(value)).unwrap();
                        }
                    }
                }
                for (group, expected) in one_by_one.iter().enumerate().filter(|_| states.is_array()) {
                    // Errors are those of the accumulator below.
                    let Ok(expected) = expected.clone().finish() else { continue };
                    let ty = match &expected {
                        Value::Null => SqlType::Int8,
                        value => verso_types::text::type_of(value),
                    };
                    let mut column = Column::new(ty.physical());
                    states.finish_into(group..group + 1, None, &mut column, &ty).unwrap();
                    assert_eq!(format!("{:?}", column.value(0, &ty)), format!("{expected:?}"), "{name}");
                }
                // Half of the groups in another order, put together with those here: twice what each has.
                let mut twice = states.copy_of(&[0, 1, 2]);
                twice.merge(&mut states.copy_of(&[2, 0, 1]), &[(0, 2), (1, 0), (2, 1)]).unwrap();
                for (group, once) in one_by_one.iter().enumerate() {
                    let mut expected = once.clone();
                    expected.merge(once.clone()).unwrap();
                    assert_eq!(
                        format!("{:?}", twice.take(group).finish().map_err(|error| error.to_string())),
                        format!("{:?}", expected.finish().map_err(|error| error.to_string())),
                        "{name} twice {batches:?} {group}"
                    );
                }
                let saved = states.split_off(2);
                for (group, expected) in one_by_one.into_iter().enumerate() {
                    let state = if group < 2 { states.take(group) } else { saved[0].clone() };
                    assert_eq!(
                        format!("{:?}", state.finish().map_err(|error| error.to_string())),
                        format!("{:?}", expected.finish().map_err(|error| error.to_string())),
                        "{name} {batches:?} {group}"
                    );
                }
            }
        }
    }
}
