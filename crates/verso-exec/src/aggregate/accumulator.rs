//! The state of one aggregate of one group.

use std::hash::{Hash, Hasher};

use verso_types::error::sqlstate;
use verso_types::{
    Array, Column, ColumnData, Decimal, Interval, Number, SqlType, SystemType, TypeError, Value, eq_sql,
    hash_sql, unpadded,
};

use super::FloatSum;
use super::moments::{ExactMoments, FloatMoments};
use super::ordered::{OrderedRows, ValueOrder};
use super::places::Places;
use super::seen::Seen;
use crate::error::Result;
use crate::functions::{self, AggregateKind, order_of};
use crate::memory::{VALUE_BYTES_MAX, check_length};
use crate::plan::AggregateCall;

/// What has been gathered so far.
#[derive(Clone, Debug)]
pub(crate) struct Accumulator {
    pub(super) state: State,
    /// Values seen already, for DISTINCT.
    distinct: Option<Box<Seen>>,
    /// Rows kept until their order is known.
    rows: Option<Box<OrderedRows>>,
    /// The direct arguments, of the first row.
    direct: Option<Box<[Value]>>,
    /// Bytes of the values kept, beside those of the places they stand in.
    payload: usize,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Count(i64),
    /// sum of smallint and integer: bigint
    SumInteger {
        sum: i128,
        count: i64,
    },
    /// avg of integers; sum of bigint: exact in 128 bits
    Integers {
        sum: i128,
        count: i64,
        average: bool,
    },
    Numeric {
        sum: Decimal,
        count: i64,
        average: bool,
    },
    /// A sum that has outgrown decimals
    Big {
        sum: Number,
        count: i64,
        average: bool,
    },
    Float {
        sum: FloatSum,
        average: bool,
    },
    /// sum(real) is a real of sums taken in single precision
    Float4 {
        sum: f32,
        count: i64,
    },
    Interval {
        sum: Interval,
        count: i64,
        average: bool,
    },
    Extreme {
        best: Value,
        of: Extreme,
    },
    Bool {
        value: Option<bool>,
        all: bool,
    },
    Text {
        value: Option<String>,
    },
    Bytes {
        value: Option<Vec<u8>>,
    },
    Any(Value),
    /// What a function of two values has made of them, one after the other, in any order.
    Folded {
        value: Value,
        with: fn(&Value, &Value) -> Result<Value>,
    },
    Bits {
        value: Option<i64>,
        kind: AggregateKind,
        ty: SqlType,
    },
    Exact {
        moments: Box<ExactMoments>,
        kind: AggregateKind,
    },
    Moments {
        moments: Box<FloatMoments>,
        kind: AggregateKind,
    },
    /// An ordered-set aggregate: only the rows count.
    Place {
        kind: AggregateKind,
        ty: SqlType,
    },
    Array {
        values: Vec<Value>,
        /// Values of an array type become its inner dimensions.
        stacked: bool,
        /// Values of a char, whose blanks at the end no array keeps.
        padded: bool,
    },
}

/// A value by SQL's equality.
#[derive(Clone, Debug)]
pub(crate) struct Key(pub Value);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        eq_sql(&self.0, &other.0)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_sql(&self.0, state);
    }
}

impl State {
    /// The result.
    pub(super) fn finish(self) -> Result<Value> {
        Ok(match self {
            State::Count(count) => Value::Int8(count),
            State::SumInteger { count: 0, .. } | State::Integers { count: 0, .. } => Value::Null,
            State::Numeric { count: 0, .. }
            | State::Float4 { count: 0, .. }
            | State::Interval { count: 0, .. } => Value::Null,
            State::SumInteger { sum, .. } => {
                Value::Int8(i64::try_from(sum).map_err(|_| TypeError::out_of_range("bigint"))?)
            }
            State::Integers { sum, count, average } => {
                let sum = Decimal::new(sum, 0).map_err(TypeError::from)?;
                quotient(sum, count, average)?
            }
            State::Numeric { sum, count, average } => quotient(sum, count, average)?,
            State::Big { count: 0, .. } => Value::Null,
            State::Big { sum, count, average } => quotient_of(&sum, count, average)?,
            State::Float { sum, .. } if sum.count() == 0 => Value::Null,
            State::Float { sum, average } => {
                let total = sum.total()?;
                // PostgreSQL begins averages with 0, which -0 does not change.
                Value::Float8(if average { (total + 0.0) / sum.count() as f64 } else { total })
            }
            State::Float4 { sum, .. } => Value::Float4(sum),
            State::Interval { sum, count, average: true } => Value::Interval(sum.checked_div(count as f64)?),
            State::Interval { sum, .. } => Value::Interval(sum),
            State::Extreme { best, .. } => best,
            State::Bool { value, .. } => value.map_or(Value::Null, Value::Bool),
            State::Bytes { value } => value.map_or(Value::Null, |bytes| Value::bytes(&bytes)),
            State::Any(value) | State::Folded { value, .. } => value,
            State::Bits { value: None, .. } => Value::Null,
            State::Bits { value: Some(bits), ty, .. } => match ty {
                // Bits of numbers of that width.
                SqlType::Int2 => Value::Int2(bits as i16),
                SqlType::Int4 => Value::Int4(bits as i32),
                _ => Value::Int8(bits),
            },
            State::Exact { moments, kind } => moments.finish(kind)?,
            State::Moments { moments, kind } => moments.finish(kind),
            State::Place { .. } => Value::Null,
            State::Text { value } => value.map_or(Value::Null, |text| Value::Text(text.into())),
            State::Array { values, .. } if values.is_empty() => Value::Null,
            State::Array { values, stacked: true, .. } => Value::Array(Array::accumulated(values)?),
            State::Array { values, stacked: false, .. } => Value::Array(values.into()),
        })
    }

    /// Adds to a sum of decimals, which may outgrow them.
    #[inline]
    pub(super) fn add_decimal(&mut self, value: &Decimal) {
        match self {
            State::Numeric { sum, count, average } => match sum.checked_add(value) {
                Ok(total) => {
                    *sum = total;
                    *count += 1;
                }
                Err(_) => {
                    let total = Number::from(*sum).plus(&Number::from(*value));
                    *self = State::Big { sum: total, count: *count + 1, average: *average };
                }
            },
            State::Big { sum, count, .. } => {
                *sum = sum.plus(&Number::from(*value));
                *count += 1;
            }
            _ => {}
        }
    }
}

impl Accumulator {
    /// The same sum of numerics as a sum, or as an average.
    pub fn averaging(mut self, wanted: bool) -> Accumulator {
        if let State::Numeric { average, .. } | State::Big { average, .. } = &mut self.state {
            *average = wanted;
        }
        self
    }

    /// The empty state of an aggregate.
    pub fn new(call: &AggregateCall) -> Self {
        let arg = call.args.first().map_or(SqlType::Void, |arg| arg.ty.without_modifiers());
        let average = call.function.kind == AggregateKind::Avg;
        let state = match call.function.kind {
            AggregateKind::CountStar | AggregateKind::Count => State::Count(0),
            AggregateKind::Sum | AggregateKind::Avg => match arg {
                SqlType::Int2 | SqlType::Int4 if !average => State::SumInteger { sum: 0, count: 0 },
                SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
                    State::Integers { sum: 0, count: 0, average }
                }
                SqlType::Numeric(_) => State::Numeric { sum: Decimal::ZERO, count: 0, average },
                SqlType::Float4 if !average => State::Float4 { sum: -0.0, count: 0 },
                SqlType::Interval(_) => State::Interval { sum: Interval::default(), count: 0, average },
                SqlType::System(SystemType::Money) => {
                    State::Folded { value: Value::Null, with: functions::money::sum }
                }
                _ => State::Float { sum: FloatSum::default(), average },
            },
            AggregateKind::Min => State::Extreme { best: Value::Null, of: Extreme::new(&arg, false) },
            AggregateKind::Max => State::Extreme { best: Value::Null, of: Extreme::new(&arg, true) },
            AggregateKind::BoolAnd => State::Bool { value: None, all: true },
            AggregateKind::BoolOr => State::Bool { value: None, all: false },
            AggregateKind::StringAgg if arg == SqlType::Bytea => State::Bytes { value: None },
            AggregateKind::StringAgg => State::Text { value: None },
            AggregateKind::ArrayAgg => {
                let (stacked, padded) = (matches!(arg, SqlType::Array(_)), arg == SqlType::Char(None));
                State::Array { values: Vec::new(), stacked, padded }
            }
            AggregateKind::Gathered => State::Array { values: Vec::new(), stacked: false, padded: false },
            AggregateKind::AnyValue => State::Any(Value::Null),
            kind @ (AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor)
                if matches!(arg, SqlType::Bit(_) | SqlType::Varbit(_)) =>
            {
                State::Folded { value: Value::Null, with: functions::bits::pairwise_of(kind) }
            }
            kind @ (AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor) => {
                State::Bits { value: None, kind, ty: arg }
            }
            kind @ (AggregateKind::VarPop
            | AggregateKind::VarSamp
            | AggregateKind::StddevPop
            | AggregateKind::StddevSamp)
                if !matches!(arg, SqlType::Float4 | SqlType::Float8) =>
            {
                State::Exact { moments: Box::default(), kind }
            }
            kind if kind.is_ordered_set() => State::Place { kind, ty: call.ty.clone() },
            kind => State::Moments { moments: Box::default(), kind },
        };
        let rows = OrderedRows::of(call).map(Box::new);
        let distinct = (call.distinct && rows.is_none()).then(|| Box::new(Seen::of(call)));
        Self { state, distinct, rows, direct: None, payload: 0 }
    }

    /// Whether a row's arguments can be taken out of it again without a trace: of exact sums.
    pub fn takes_out(call: &AggregateCall) -> bool {
        let arg = call.args.first().map(|arg| &arg.ty);
        match call.function.kind {
            AggregateKind::CountStar | AggregateKind::Count => true,
            AggregateKind::Sum | AggregateKind::Avg => {
                // Of numbers of several scales the largest one shows.
                matches!(arg, Some(SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Numeric(Some(_))))
            }
            _ => false,
        }
    }

    /// Takes out what [`add`](Self::add) took. False where that cannot be done.
    /// # Errors
    /// 22003.
    pub fn take_out(&mut self, args: &[Value]) -> Result<bool> {
        let first = args.first().unwrap_or(&Value::Bool(true));
        if first.is_null() {
            return Ok(true);
        }
        match &mut self.state {
            State::Count(count) => *count -= 1,
            State::SumInteger { sum, count } | State::Integers { sum, count, .. } => {
                *sum -= i128::from(first.as_i64().unwrap_or(0));
                *count -= 1;
            }
            State::Numeric { sum, count, .. } => {
                if let Value::Numeric(value) = first {
                    *sum = sum.checked_sub(value).map_err(TypeError::from)?;
                    *count -= 1;
                }
            }
            State::Big { sum, count, .. } => {
                if let Some(value) = Number::of(first) {
                    *sum = sum.minus(&value);
                    *count -= 1;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether several states, each of a part of the rows, can be made into one: only the last bits of a sum of doubles may
    /// depend on which rows were in which part.
    pub fn merges(call: &AggregateCall) -> bool {
        let kind = call.function.kind;
        let in_order =
            matches!(kind, AggregateKind::StringAgg | AggregateKind::ArrayAgg | AggregateKind::Gathered);
        !in_order && call.direct.is_empty() && OrderedRows::of(call).is_none()
    }

    /// Takes over what another one, of the same call ([`Accumulator::merges`]), has gathered.
    /// # Errors
    /// Those of [`Accumulator::add`].
    pub fn merge(&mut self, other: Accumulator) -> Result<()> {
        if let Some(seen) = other.distinct {
            return seen.into_values().try_for_each(|value| self.add(std::slice::from_ref(&value)));
        }
        if let (State::Numeric { sum, count, average }, State::Big { .. }) = (&self.state, &other.state) {
            self.state = State::Big { sum: Number::from(*sum), count: *count, average: *average };
        }
        match (&mut self.state, other.state) {
            (State::Count(count), State::Count(more)) => *count += more,
            (
                State::SumInteger { sum, count } | State::Integers { sum, count, .. },
                State::SumInteger { sum: more, count: rows } | State::Integers { sum: more, count: rows, .. },
            ) => {
                *sum += more;
                *count += rows;
            }
            (
                state @ (State::Numeric { .. } | State::Big { .. }),
                State::Numeric { sum: more, count: rows, .. },
            ) => {
                if rows > 0 {
                    state.add_decimal(&more);
                }
                if let State::Numeric { count, .. } | State::Big { count, .. } = state {
                    *count += if rows > 0 { rows - 1 } else { 0 };
                }
            }
            (State::Big { sum, count, .. }, State::Big { sum: more, count: rows, .. }) => {
                *sum = sum.plus(&more);
                *count += rows;
            }
            (State::Float { sum, .. }, State::Float { sum: more, .. }) => sum.merge(&more),
            (State::Float4 { sum, count }, State::Float4 { sum: more, count: rows }) => {
                *sum = float4_sum(*sum, more)?;
                *count += rows;
            }
            (State::Interval { sum, count, .. }, State::Interval { sum: more, count: rows, .. }) => {
                *sum = sum.checked_add(more)?;
                *count += rows;
            }
            (State::Extreme { best, of }, State::Extreme { best: other, .. }) => {
                if !other.is_null() {
                    of.take(best, &other);
                    self.payload = payload(best);
                }
            }
            (State::Bool { value, all }, State::Bool { value: Some(new), .. }) => {
                let old = value.unwrap_or(*all);
                *value = Some(if *all { old && new } else { old || new });
            }
            (State::Any(value), State::Any(other)) => {
                if value.is_null() {
                    *value = other;
                }
            }
            (State::Folded { value, with }, State::Folded { value: new, .. }) => {
                fold(value, &new, *with)?;
                self.payload = payload(value);
            }
            (State::Bits { value, kind, .. }, State::Bits { value: Some(new), .. }) => {
                *value = Some(bits_of(*value, new, *kind));
            }
            (State::Exact { moments, .. }, State::Exact { moments: more, .. }) => moments.merge(&more),
            (State::Moments { moments, .. }, State::Moments { moments: more, .. }) => moments.merge(&more)?,
            // without a value
            (State::Bool { .. }, State::Bool { .. }) | (State::Bits { .. }, State::Bits { .. }) => {}
            (state, _) => {
                let text = format!("states of an aggregate do not fit each other: {state:?}");
                return Err(TypeError::new(sqlstate::INTERNAL_ERROR, text).into());
            }
        }
        Ok(())
    }

    /// Takes the direct arguments of an ordered-set aggregate.
    pub fn take_direct(&mut self, direct: Vec<Value>) {
        self.direct = Some(direct.into());
    }

    /// Whether it is still to be told its direct arguments.
    pub fn wants_direct(&self) -> bool {
        self.direct.is_none()
    }

    /// Takes the arguments of one row, its sort keys behind them; none for `count(*)`.
    pub fn add(&mut self, args: &[Value]) -> Result<()> {
        if let Some(rows) = &mut self.rows {
            self.payload += args.iter().map(payload).sum::<usize>();
            rows.push(args);
            return Ok(());
        }
        let first = args.first().unwrap_or(&Value::Bool(true));
        // every aggregate but array_agg skips NULLs
        if first.is_null() && !matches!(self.state, State::Array { .. }) {
            return Ok(());
        }
        if let Some(seen) = &mut self.distinct
            && !seen.insert(first)
        {
            return Ok(());
        }
        if let State::Numeric { sum, count, average } = self.state
            && outgrows(&sum, first)
        {
            self.state = State::Big { sum: Number::from(sum), count, average };
        }
        match &mut self.state {
            State::Big { sum, count, .. } => {
                if let Some(value) = Number::of(first) {
                    *sum = sum.plus(&value);
                    *count += 1;
                }
            }
            State::Count(count) => *count += 1,
            State::SumInteger { sum, count } | State::Integers { sum, count, .. } => {
                *sum += i128::from(first.as_i64().unwrap_or(0));
                *count += 1;
            }
            State::Numeric { sum, count, .. } => {
                if let Value::Numeric(value) = first {
                    *sum = sum.checked_add(value).map_err(TypeError::from)?;
                    *count += 1;
                }
            }
            State::Float { sum, .. } => sum.add(first.as_f64().unwrap_or(0.0)),
            State::Float4 { sum, count } => {
                *sum = float4_sum(*sum, first.as_f64().unwrap_or(0.0) as f32)?;
                *count += 1;
            }
            State::Interval { sum, count, .. } => {
                if let Value::Interval(value) = first {
                    *sum = sum.checked_add(*value)?;
                    *count += 1;
                }
            }
            State::Extreme { best, of } => {
                of.take(best, first);
                self.payload = payload(best);
            }
            State::Bool { value, all } => {
                if let Some(new) = first.as_bool() {
                    let old = value.unwrap_or(*all);
                    *value = Some(if *all { old && new } else { old || new });
                }
            }
            State::Text { value } => {
                let text = first.as_str().unwrap_or_default();
                match value {
                    None => *value = Some(text.to_owned()),
                    Some(value) => {
                        let between = args.get(1).and_then(Value::as_str).unwrap_or_default();
                        check_length(value.len() + between.len() + text.len())?;
                        value.push_str(between);
                        value.push_str(text);
                    }
                }
            }
            State::Bytes { value } => {
                let bytes = |value: Option<&Value>| match value {
                    Some(Value::Bytes(bytes)) => bytes.to_vec(),
                    _ => Vec::new(),
                };
                match value {
                    None => *value = Some(bytes(Some(first))),
                    Some(value) => {
                        value.extend(bytes(args.get(1)));
                        value.extend(bytes(Some(first)));
                    }
                }
            }
            State::Any(value) => {
                if value.is_null() {
                    *value = first.clone();
                }
            }
            State::Folded { value, with } => {
                fold(value, first, *with)?;
                self.payload = payload(value);
            }
            State::Bits { value, kind, .. } => {
                let new = first.as_i64().unwrap_or(0);
                *value = Some(bits_of(*value, new, *kind));
            }
            State::Exact { moments, .. } => match first {
                Value::Numeric(value) => moments.add(value),
                Value::Big(value) => {
                    moments.add_long(value);
                    self.payload = moments.heap_bytes();
                }
                other => moments.add(&Decimal::from(other.as_i64().unwrap_or(0))),
            },
            State::Moments { moments, .. } => match (first.as_f64(), args.get(1)) {
                (Some(x), None) => moments.add(x)?,
                (Some(y), Some(x)) => {
                    if let Some(x) = x.as_f64() {
                        moments.add_pair(y, x)?;
                    }
                }
                (None, _) => {}
            },
            State::Place { .. } => {}
            State::Array { values, padded, .. } => {
                self.payload += payload(first);
                if values.len() * size_of::<Value>() + self.payload > VALUE_BYTES_MAX {
                    let text = format!("array size exceeds the maximum allowed ({VALUE_BYTES_MAX})");
                    return Err(TypeError::new("54000", text).into());
                }
                values.push(if *padded { unpadded(first.clone()) } else { first.clone() });
            }
        }
        Ok(())
    }

    /// Whether columns may be fed to its state as they come.
    pub(super) fn takes_columns(&self) -> bool {
        self.distinct.is_none() && self.rows.is_none() && self.direct.is_none()
    }

    /// Takes a text, given by its bytes. False where only [`add`](Self::add) can do it: nothing was taken then.
    pub fn add_text(&mut self, text: &[u8]) -> bool {
        let (State::Count(count), Some(seen), None) = (&mut self.state, &mut self.distinct, &self.rows)
        else {
            return false;
        };
        *count += i64::from(seen.insert_text(text));
        true
    }

    /// Counts rows of `count(*)`.
    pub fn add_rows(&mut self, rows: usize) {
        if let State::Count(count) = &mut self.state {
            *count += rows as i64;
        }
    }

    /// Takes a whole column of the argument. False where only [`add`](Self::add) can do it; nothing was taken then.
    pub fn add_column(&mut self, column: &Column, ty: &SqlType) -> Result<bool> {
        if !self.takes_columns() {
            return Ok(false);
        }
        let nulls = &column.nulls;
        let any_nulls = nulls.any();
        let present = (column.len() - if any_nulls { nulls.count() } else { 0 }) as i64;
        macro_rules! each {
            ($values:expr, $value:ident => $do:expr) => {
                if any_nulls {
                    for (row, $value) in $values.iter().enumerate() {
                        if !nulls.is_null(row) {
                            $do
                        }
                    }
                } else {
                    for $value in $values {
                        $do
                    }
                }
            };
        }
        match (&mut self.state, &column.data) {
            (State::Count(count), _) => *count += present,
            (State::SumInteger { sum, count } | State::Integers { sum, count, .. }, data) => {
                match data {
                    ColumnData::I16(values) => {
                        let mut part = 0i64;
                        each!(values, value => part += i64::from(*value));
                        *sum += i128::from(part);
                    }
                    ColumnData::I32(values) => {
                        let mut part = 0i64;
                        each!(values, value => part += i64::from(*value));
                        *sum += i128::from(part);
                    }
                    ColumnData::I64(values) => each!(values, value => *sum += i128::from(*value)),
                    _ => return Ok(false),
                }
                *count += present;
            }
            (State::Numeric { sum, count, .. }, ColumnData::Bytes(values)) => {
                let mut total = *sum;
                for (row, value) in values.iter().enumerate() {
                    if !(any_nulls && nulls.is_null(row)) {
                        // What is no decimal, or makes the sum none, is added row by row.
                        let Ok(value) = Decimal::from_bytes(value) else { return Ok(false) };
                        let Ok(next) = total.checked_add(&value) else { return Ok(false) };
                        total = next;
                    }
                }
                *sum = total;
                *count += present;
            }
            (State::Numeric { sum, count, .. }, data) => {
                let SqlType::Numeric(Some(spec)) = ty else { return Ok(false) };
                let mut part = 0i128;
                match data {
                    ColumnData::I64(values) => each!(values, value => part += i128::from(*value)),
                    ColumnData::I128(values) => {
                        let mut overflow = false;
                        each!(values, value => match part.checked_add(*value) {
                            Some(next) => part = next,
                            None => overflow = true,
                        });
                        if overflow {
                            return Ok(false);
                        }
                    }
                    _ => return Ok(false),
                }
                if present > 0 {
                    let Ok(part) = Decimal::new(part, spec.scale) else { return Ok(false) };
                    let Ok(total) = sum.checked_add(&part) else { return Ok(false) };
                    *sum = total;
                    *count += present;
                }
            }
            (State::Float { sum, .. }, ColumnData::F64(values)) => {
                if any_nulls {
                    each!(values, value => sum.add(*value));
                } else {
                    sum.add_all(values);
                }
            }
            (State::Extreme { best, of }, data) => {
                let Some(row) = extreme_row(data, nulls, any_nulls, of.largest, ty) else {
                    return Ok(present == 0);
                };
                of.take(best, &column.value(row, ty));
                self.payload = payload(best);
            }
            (State::Bool { value, all }, ColumnData::Bool(values)) => {
                let mut result = value.unwrap_or(*all);
                each!(values, new => result = if *all { result && *new != 0 } else { result || *new != 0 });
                if present > 0 {
                    *value = Some(result);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The result.
    pub fn finish(mut self) -> Result<Value> {
        if let Some(rows) = self.rows.take() {
            if let State::Place { kind, ty } = &self.state {
                return rows.place(*kind, self.direct.as_deref().unwrap_or_default(), ty);
            }
            for row in rows.sorted() {
                self.add(row)?;
            }
        }
        self.state.finish()
    }

    /// Where repeats are told by a table of the values seen: from now on by their order, as other rows that are kept.
    pub fn sort_repeats(&mut self, call: &AggregateCall) {
        if let Some(seen) = self.distinct.take() {
            let mut rows = OrderedRows::any(call);
            rows.set_values(seen.into_values().collect());
            *self = Self { rows: Some(Box::new(rows)), distinct: None, ..Self::new(call) };
        }
    }

    /// The rows that it keeps until their order is known, if it is of a call with one.
    pub fn ordered_rows(&self) -> Option<&OrderedRows> {
        self.rows.as_deref()
    }

    /// Takes these rows out, value by value.
    pub fn take_ordered(&mut self) -> Vec<Value> {
        self.payload = 0;
        self.rows.as_mut().map(|rows| rows.take_values()).unwrap_or_default()
    }

    /// The result, where the rows were taken out: `feed` gives the arguments of all of them, in their order; `present` have a
    /// value that is not NULL.
    ///
    /// # Errors
    /// Those of [`Accumulator::finish`] and of `feed`.
    pub fn finish_sorted(
        mut self,
        present: u64,
        feed: impl FnOnce(&mut dyn FnMut(&[Value]) -> Result<()>) -> Result<()>,
    ) -> Result<Value> {
        let rows = self.rows.take();
        match (&self.state, rows) {
            (State::Place { kind, ty }, Some(rows)) => {
                let direct = self.direct.as_deref().unwrap_or_default();
                let mut places = Places::new(&rows, *kind, direct, ty, present)?;
                feed(&mut |row| {
                    places.push(row);
                    Ok(())
                })?;
                places.finish()
            }
            _ => {
                feed(&mut |row| self.add(row))?;
                self.state.finish()
            }
        }
    }

    /// Roughly the memory held beyond the accumulator itself.
    pub fn heap_bytes(&self) -> usize {
        let kept = match &self.state {
            State::Text { value } => value.as_ref().map_or(0, String::capacity),
            State::Bytes { value } => value.as_ref().map_or(0, Vec::capacity),
            State::Array { values, .. } => values.capacity() * size_of::<Value>(),
            _ => 0,
        };
        let kept = kept + self.rows.as_ref().map_or(0, |rows| rows.heap_bytes());
        kept + self.payload + self.distinct.as_ref().map_or(0, |seen| seen.heap_bytes())
    }

    /// All of the state, to be put aside: [`Accumulator::load`] of the same call goes on from there.
    pub fn save(self) -> Vec<Value> {
        let int = Value::Int8;
        let wide = |sum: i128| Value::Uuid(sum.cast_unsigned());
        let mut saved = match self.state {
            State::Count(count) => vec![int(count)],
            State::SumInteger { sum, count } | State::Integers { sum, count, .. } => {
                vec![wide(sum), int(count)]
            }
            State::Numeric { sum, count, .. } => vec![Value::Numeric(sum), int(count)],
            State::Big { sum, count, .. } => vec![sum.value().unwrap_or(Value::Null), int(count)],
            State::Float { sum, .. } => sum.save().map(|part| int(part.to_bits().cast_signed())).to_vec(),
            State::Float4 { sum, count } => vec![int(i64::from(sum.to_bits())), int(count)],
            State::Interval { sum, count, .. } => vec![Value::Interval(sum), int(count)],
            State::Extreme { best, .. } => vec![best],
            State::Bool { value, .. } => vec![value.map_or(Value::Null, Value::Bool)],
            State::Text { value } => vec![value.map_or(Value::Null, |text| Value::Text(text.into()))],
            State::Array { values, .. } => vec![Value::Array(values.into())],
            State::Bytes { value } => vec![value.map_or(Value::Null, |bytes| Value::Bytes(bytes.into()))],
            State::Any(value) | State::Folded { value, .. } => vec![value],
            State::Bits { value, .. } => vec![value.map_or(Value::Null, Value::Int8)],
            State::Exact { moments, .. } => moments.save(),
            State::Moments { moments, .. } => moments.save(),
            State::Place { .. } => Vec::new(),
        };
        if let Some(rows) = self.rows {
            saved.push(Value::Array(rows.into_values().into()));
        }
        if let Some(direct) = self.direct {
            saved.push(Value::Array(direct.into_vec().into()));
        }
        if let Some(seen) = self.distinct {
            saved.push(Value::Array(seen.into_values().collect()));
        }
        saved
    }

    /// The inverse of [`Accumulator::save`].
    pub fn load(call: &AggregateCall, saved: Vec<Value>) -> Result<Self> {
        let mut new = Self::new(call);
        let mut saved = saved.into_iter();
        let mut next = || saved.next().unwrap_or(Value::Null);
        let number = |value: Value| value.as_i64().unwrap_or(0);
        if let State::Numeric { average, .. } = new.state {
            let (saved, count) = (next(), number(next()));
            new.state = match saved {
                Value::Numeric(sum) => State::Numeric { sum, count, average },
                other => State::Big { sum: Number::of(&other).unwrap_or(Number::NaN), count, average },
            };
        }
        match &mut new.state {
            // taken above
            State::Numeric { .. } | State::Big { .. } => {}
            State::Count(count) => *count = number(next()),
            State::SumInteger { sum, count } | State::Integers { sum, count, .. } => {
                if let Value::Uuid(saved) = next() {
                    *sum = saved.cast_signed();
                }
                *count = number(next());
            }
            State::Float { sum, .. } => {
                let parts = std::array::from_fn(|_| f64::from_bits(number(next()).cast_unsigned()));
                *sum = FloatSum::load(parts);
            }
            State::Float4 { sum, count } => {
                *sum = f32::from_bits(number(next()) as u32);
                *count = number(next());
            }
            State::Interval { sum, count, .. } => {
                if let Value::Interval(saved) = next() {
                    *sum = saved;
                }
                *count = number(next());
            }
            State::Extreme { best, .. } => {
                *best = next();
                new.payload = payload(best);
            }
            State::Bool { value, .. } => *value = next().as_bool(),
            State::Text { value } => *value = next().as_str().map(str::to_owned),
            State::Array { values, .. } => {
                if let Value::Array(saved) = next() {
                    new.payload = saved.iter().map(payload).sum();
                    *values = saved.to_vec();
                }
            }
            State::Bytes { value } => {
                if let Value::Bytes(saved) = next() {
                    *value = Some(saved.to_vec());
                }
            }
            State::Any(value) | State::Folded { value, .. } => {
                *value = next();
                new.payload = payload(value);
            }
            State::Bits { value, .. } => *value = next().as_i64(),
            State::Exact { moments, .. } => {
                **moments = ExactMoments::load(&mut next);
                new.payload = moments.heap_bytes();
            }
            State::Moments { moments, .. } => **moments = FloatMoments::load(&mut next),
            State::Place { .. } => {}
        }
        if let Some(rows) = &mut new.rows
            && let Value::Array(saved) = next()
        {
            new.payload += saved.iter().map(payload).sum::<usize>();
            rows.set_values(saved.to_vec());
        }
        if !call.direct.is_empty()
            && let Value::Array(saved) = next()
        {
            new.direct = Some(saved.to_vec().into());
        }
        if let Some(seen) = &mut new.distinct
            && let Value::Array(saved) = next()
        {
            saved.iter().for_each(|value| {
                seen.insert(value);
            });
        }
        Ok(new)
    }
}

/// Makes one value of two; NULL is no value yet.
fn fold(value: &mut Value, new: &Value, with: fn(&Value, &Value) -> Result<Value>) -> Result<()> {
    if !new.is_null() {
        *value = if value.is_null() { new.clone() } else { with(value, new)? };
    }
    Ok(())
}

/// Bytes that a value has beside the place it stands in.
pub(crate) fn payload(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len() + 16,
        Value::Bytes(bytes) => bytes.len() + 16,
        Value::Jsonb(value) => value.bytes().len() + 16,
        Value::Opaque(value) => value.bytes().len() + 16,
        Value::Range(value) => value.heap_bytes(),
        Value::Multirange(value) => value.heap_bytes(),
        Value::Big(value) => value.heap_bytes(),
        Value::Array(values) => payload_of_all(values),
        Value::Record(values) => payload_of_all(values),
        _ => 0,
    }
}

fn payload_of_all(values: &[Value]) -> usize {
    16 + values.iter().map(|value| size_of::<Value>() + payload(value)).sum::<usize>()
}

/// Whether a sum of decimals is none any more with this value.
fn outgrows(sum: &Decimal, value: &Value) -> bool {
    match value {
        Value::Numeric(value) => sum.checked_add(value).is_err(),
        value => matches!(value, Value::Big(_)),
    }
}

fn quotient(sum: Decimal, count: i64, average: bool) -> Result<Value> {
    if !average {
        return Ok(Value::Numeric(sum));
    }
    match Decimal::average(sum, count) {
        Ok(average) => Ok(Value::Numeric(average)),
        Err(_) => quotient_of(&Number::from(sum), count, average),
    }
}

fn quotient_of(sum: &Number, count: i64, average: bool) -> Result<Value> {
    let result = if average { sum.divide(&Number::from(Decimal::from(count)))? } else { sum.clone() };
    Ok(result.value()?)
}

/// The bits of a further value taken in.
fn bits_of(old: Option<i64>, new: i64, kind: AggregateKind) -> i64 {
    match (old, kind) {
        (None, _) => new,
        (Some(old), AggregateKind::BitAnd) => old & new,
        (Some(old), AggregateKind::BitOr) => old | new,
        (Some(old), _) => old ^ new,
    }
}

/// # Errors
/// 22003 where finite values have an infinite sum.
fn float4_sum(a: f32, b: f32) -> Result<f32, TypeError> {
    let sum = a + b;
    if sum.is_infinite() && a.is_finite() && b.is_finite() {
        Err(TypeError::float_overflow())
    } else {
        Ok(sum)
    }
}

/// Which of two values of a type is the smaller or larger one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extreme {
    largest: bool,
    order: ValueOrder,
    /// Of values that are equal the last one counts, as in PostgreSQL (1.00 and 1.0 look different); of `char(n)` the first.
    keeps_first: bool,
}

impl Extreme {
    pub(crate) fn new(ty: &SqlType, largest: bool) -> Extreme {
        Extreme { largest, order: order_of(ty), keeps_first: matches!(ty, SqlType::Char(_)) }
    }

    /// Whether a value takes the place of one before it.
    pub(crate) fn replaces(&self, later: &Value, earlier: &Value) -> bool {
        let order = (self.order)(later, earlier);
        let order = if self.largest { order } else { order.reverse() };
        if self.keeps_first { order.is_gt() } else { order.is_ge() }
    }

    fn take(&self, best: &mut Value, value: &Value) {
        if best.is_null() || self.replaces(value, best) {
            *best = value.clone();
        }
    }
}

/// A row with the smallest or largest value, the last one where equal ones may look different, where the layout's own order is SQL's.
fn extreme_row(
    data: &ColumnData,
    nulls: &verso_types::NullMask,
    any_nulls: bool,
    largest: bool,
    ty: &SqlType,
) -> Option<usize> {
    if matches!(
        ty,
        SqlType::Interval(_)
            | SqlType::Uuid
            | SqlType::Array(_)
            | SqlType::Record
            | SqlType::Row(_)
            | SqlType::Jsonb
            | SqlType::Range(_)
            | SqlType::Multirange(_)
            | SqlType::Numeric(None)
            | SqlType::LongNumeric(_)
            // The blanks at their end do not count.
            | SqlType::Char(None)
            // They have no sign.
            | SqlType::System(SystemType::Xid8)
    ) {
        return None;
    }
    macro_rules! best {
        ($values:expr, $less:expr) => {{
            let mut best: Option<usize> = None;
            for row in 0..$values.len() {
                if any_nulls && nulls.is_null(row) {
                    continue;
                }
                let better = best.is_none_or(|best| {
                    let (a, b) = if largest { (best, row) } else { (row, best) };
                    $less(&$values, a, b)
                });
                if better {
                    best = Some(row);
                }
            }
            best
        }};
    }
    match data {
        ColumnData::Bool(v) => best!(v, |v: &Vec<u8>, a: usize, b: usize| v[a] < v[b]),
        ColumnData::I16(v) => best!(v, |v: &Vec<i16>, a: usize, b: usize| v[a] < v[b]),
        ColumnData::I32(v) => best!(v, |v: &Vec<i32>, a: usize, b: usize| v[a] < v[b]),
        ColumnData::I64(v) => best!(v, |v: &Vec<i64>, a: usize, b: usize| v[a] < v[b]),
        ColumnData::I128(v) => best!(v, |v: &Vec<i128>, a: usize, b: usize| v[a] < v[b]),
        ColumnData::F64(v) => {
            // Zeros with and without a sign are equal.
            best!(v, |v: &Vec<f64>, a: usize, b: usize| verso_types::value::cmp_f64(v[a], v[b]).is_le())
        }
        ColumnData::Bytes(v) => {
            best!(v, |v: &verso_types::BytesColumn, a: usize, b: usize| v.get(a) < v.get(b))
        }
        ColumnData::F32(_) => None,
    }
}
