//! Extended statistics: what CREATE STATISTICS asks for of several columns and expressions of a table, and what ANALYZE has found.
//!
//! ```text
//! definition: a row of pg_statistic_ext ─► TableDef::extended
//! data:       a row of pg_statistic with the number of the object below 0 ─► TableStatistics::extended
//! ```
//!
//! 1. A column is known by its number, an expression by its place: -1, -2 …, as in PostgreSQL's texts of such statistics.
//! 2. Values are kept as rows are ([`verso_types::row`]): they say themselves what they are.

use std::sync::Arc;

use verso_types::{Value, decode_row, encode_row};

use crate::definition::Oid;
use crate::statistics::ColumnStatistics;

/// A kind of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatisticsKind {
    /// How many different values columns have together.
    Distinct,
    /// How far the values of some columns say those of another one.
    Dependencies,
    /// Which values are common together.
    Common,
    /// Of expressions what is known of columns.
    Expressions,
}

impl StatisticsKind {
    /// Those that can be asked for by name.
    pub const NAMED: [StatisticsKind; 3] =
        [StatisticsKind::Distinct, StatisticsKind::Dependencies, StatisticsKind::Common];

    /// As in `pg_statistic_ext.stxkind`.
    pub fn letter(self) -> char {
        match self {
            StatisticsKind::Distinct => 'd',
            StatisticsKind::Dependencies => 'f',
            StatisticsKind::Common => 'm',
            StatisticsKind::Expressions => 'e',
        }
    }

    /// The kind of that letter.
    pub fn from_letter(letter: char) -> Option<StatisticsKind> {
        let all = StatisticsKind::NAMED.into_iter().chain([StatisticsKind::Expressions]);
        all.into_iter().find(|kind| kind.letter() == letter)
    }

    /// As SQL has it.
    pub fn word(self) -> &'static str {
        match self {
            StatisticsKind::Distinct => "ndistinct",
            StatisticsKind::Dependencies => "dependencies",
            StatisticsKind::Common => "mcv",
            StatisticsKind::Expressions => "expressions",
        }
    }
}

/// What CREATE STATISTICS has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsDef {
    /// Its row in `pg_statistic_ext`.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// Whose it is.
    pub owner: Oid,
    /// The table.
    pub table: Oid,
    /// The columns, by number, ascending.
    pub columns: Vec<u16>,
    /// The expressions, as SQL text.
    pub expressions: Vec<Arc<str>>,
    /// What is found out.
    pub kinds: Vec<StatisticsKind>,
    /// How many common values are kept at most; 0: nothing is found out.
    pub target: Option<u16>,
}

impl StatisticsDef {
    /// Whether this kind is found out.
    pub fn has(&self, kind: StatisticsKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Its columns and expressions by their numbers.
    pub fn items(&self) -> Vec<i16> {
        let columns = self.columns.iter().map(|id| i16::try_from(*id).unwrap_or(i16::MAX));
        columns.chain((1..).zip(&self.expressions).map(|(place, _)| -place)).collect()
    }
}

/// What is known of the columns and expressions of such an object together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtendedStatistics {
    /// How many different values these have together; where negative, as a part of the rows.
    pub distinct: Vec<(Vec<i16>, f64)>,
    /// In which part of the rows the values of all but the last say the last one's.
    pub dependencies: Vec<(Vec<i16>, f64)>,
    /// Values that are common together, the most common first: one for each column and expression, the part of the rows that has
    /// them, and the part that would have them if they were independent of each other.
    pub common: Vec<CommonValues>,
    /// Of each expression what is known of it.
    pub expressions: Vec<ColumnStatistics>,
}

/// Values that are common together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommonValues {
    /// Of each column and expression one.
    pub values: Vec<Value>,
    /// The part of the rows that has them.
    pub frequency: f64,
    /// The product of the parts that have each of them.
    pub base: f64,
}

fn list(values: impl IntoIterator<Item = Value>) -> Value {
    Value::Record(values.into_iter().collect())
}

fn numbers(items: &[i16]) -> Value {
    list(items.iter().map(|item| Value::Int2(*item)))
}

fn parts(value: &Value) -> Option<&[Value]> {
    if let Value::Record(parts) = value { Some(parts) } else { None }
}

fn float(value: &Value) -> Option<f64> {
    if let Value::Float8(value) = value { Some(*value) } else { None }
}

fn items(value: &Value) -> Option<Vec<i16>> {
    let number = |value: &Value| if let Value::Int2(value) = value { Some(*value) } else { None };
    parts(value)?.iter().map(number).collect()
}

impl ExtendedStatistics {
    /// The bytes that are kept.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let told = |(of, part): &(Vec<i16>, f64)| list([numbers(of), Value::Float8(*part)]);
        let common = |one: &CommonValues| {
            let numbers = [Value::Float8(one.frequency), Value::Float8(one.base)];
            list(numbers.into_iter().chain([list(one.values.iter().cloned())]))
        };
        let column = |one: &ColumnStatistics| {
            let head = [one.null_fraction, one.width, one.distinct, one.correlation.unwrap_or(f64::NAN)];
            let common = one.common.iter().map(|(value, part)| list([value.clone(), Value::Float8(*part)]));
            let head = head.into_iter().map(Value::Float8);
            list(head.chain([list(common), list(one.bounds.iter().cloned())]))
        };
        let all = [
            list(self.distinct.iter().map(told)),
            list(self.dependencies.iter().map(told)),
            list(self.common.iter().map(common)),
            list(self.expressions.iter().map(column)),
        ];
        let mut out = vec![VERSION];
        encode_row(&all, &mut out);
        out
    }

    /// What such bytes say; none where they are of no version that is known.
    pub(crate) fn decode(bytes: &[u8]) -> Option<ExtendedStatistics> {
        let (version, rest) = bytes.split_first()?;
        let all = decode_row(rest).ok().filter(|_| *version == VERSION)?;
        let [distinct, dependencies, common, expressions] = all.as_slice() else { return None };
        let told = |value: &Value| {
            let [of, part] = parts(value)? else { return None };
            Some((items(of)?, float(part)?))
        };
        let of_common = |value: &Value| {
            let [frequency, base, values] = parts(value)? else { return None };
            let values = parts(values)?.to_vec();
            Some(CommonValues { values, frequency: float(frequency)?, base: float(base)? })
        };
        let column = |value: &Value| {
            let [nulls, width, distinct, correlation, common, bounds] = parts(value)? else { return None };
            let one = |value: &Value| {
                let [value, part] = parts(value)? else { return None };
                Some((value.clone(), float(part)?))
            };
            Some(ColumnStatistics {
                null_fraction: float(nulls)?,
                width: float(width)?,
                distinct: float(distinct)?,
                common: parts(common)?.iter().map(one).collect::<Option<_>>()?,
                bounds: parts(bounds)?.to_vec(),
                correlation: float(correlation).filter(|correlation| !correlation.is_nan()),
            })
        };
        Some(ExtendedStatistics {
            distinct: parts(distinct)?.iter().map(told).collect::<Option<_>>()?,
            dependencies: parts(dependencies)?.iter().map(told).collect::<Option<_>>()?,
            common: parts(common)?.iter().map(of_common).collect::<Option<_>>()?,
            expressions: parts(expressions)?.iter().map(column).collect::<Option<_>>()?,
        })
    }
}

/// The layout of the bytes.
const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_read_as_it_was_written_and_other_bytes_are_nothing() {
        let known = ExtendedStatistics {
            distinct: vec![(vec![1, 3], 12.0), (vec![1, -1], -0.5)],
            dependencies: vec![(vec![1, 3], 0.75)],
            common: vec![CommonValues {
                values: vec![Value::Int4(1), Value::Null, Value::text("x")],
                frequency: 0.25,
                base: 0.0625,
            }],
            expressions: vec![ColumnStatistics {
                null_fraction: 0.5,
                width: 4.0,
                distinct: 3.0,
                common: vec![(Value::Int8(7), 0.5)],
                bounds: vec![Value::Int8(1), Value::Int8(9)],
                correlation: None,
            }],
        };
        let bytes = known.encode();
        assert_eq!(ExtendedStatistics::decode(&bytes), Some(known));
        for end in 0..bytes.len() {
            assert_eq!(ExtendedStatistics::decode(&bytes[..end]), None, "{end}");
        }
    }
}
