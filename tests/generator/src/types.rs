//! Types of columns and values, and a few values of each: such that meet each other often, and the edges.

use crate::Random;

/// A type that generated columns and values have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the types'")]
pub enum Type {
    Bool,
    Small,
    Int,
    Big,
    Numeric,
    Float,
    Text,
    Varchar,
    Char,
    Date,
    Time,
    Timestamp,
    Timestamptz,
    Interval,
    Uuid,
    Bytea,
    Jsonb,
    Ints,
    Texts,
    Range,
}

use Type::*;

impl Type {
    /// All of them; those that stand twice are met more often.
    pub const ALL: [Type; 28] = [
        Bool,
        Bool,
        Small,
        Int,
        Int,
        Int,
        Int,
        Big,
        Big,
        Numeric,
        Numeric,
        Float,
        Text,
        Text,
        Text,
        Text,
        Varchar,
        Char,
        Date,
        Date,
        Time,
        Timestamp,
        Timestamptz,
        Interval,
        Uuid,
        Bytea,
        Jsonb,
        Ints,
    ];

    /// Any type, by its weight.
    pub fn any(random: &mut Random) -> Type {
        match random.below(16) {
            0 => Texts,
            1 => Range,
            _ => *random.one(&Type::ALL),
        }
    }

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Bool => "boolean",
            Small => "smallint",
            Int => "integer",
            Big => "bigint",
            Numeric => "numeric",
            Float => "double precision",
            Text => "text",
            Varchar => "varchar(8)",
            Char => "char(4)",
            Date => "date",
            Time => "time",
            Timestamp => "timestamp",
            Timestamptz => "timestamptz",
            Interval => "interval",
            Uuid => "uuid",
            Bytea => "bytea",
            Jsonb => "jsonb",
            Ints => "integer[]",
            Texts => "text[]",
            Range => "int4range",
        }
    }

    /// Its name in templates.
    pub fn short(self) -> &'static str {
        match self {
            Bool => "bool",
            Small => "small",
            Int => "int",
            Big => "big",
            Numeric => "numeric",
            Float => "float",
            Text => "text",
            Varchar => "varchar",
            Char => "char",
            Date => "date",
            Time => "time",
            Timestamp => "timestamp",
            Timestamptz => "timestamptz",
            Interval => "interval",
            Uuid => "uuid",
            Bytea => "bytea",
            Jsonb => "jsonb",
            Ints => "ints",
            Texts => "texts",
            Range => "range",
        }
    }

    /// The type of a name in templates.
    pub fn of(short: &str) -> Option<Type> {
        Type::ALL.into_iter().chain([Texts, Range]).find(|ty| ty.short() == short)
    }

    /// Whether `min` and `max` know it.
    pub fn has_least(self) -> bool {
        !matches!(self, Bool | Uuid | Jsonb | Range)
    }

    /// Values of it, as their texts; the last is met seldom.
    fn texts(self) -> &'static [&'static str] {
        match self {
            Bool => &["true", "false", "false"],
            Small => &["0", "1", "2", "3", "-1", "7", "32767"],
            Int => &["0", "1", "2", "3", "4", "5", "-1", "7", "100", "2147483647"],
            Big => &["0", "1", "2", "3", "-2", "10", "3000000000", "-9223372036854775808"],
            Numeric => {
                &["0", "1", "2.50", "-0.5", "3.14159", "100", "0.001", "123456789012345678901234567890.5"]
            }
            Float => &["0", "1", "0.5", "-1.5", "2", "100", "1e10"],
            Text => &["", "a", "b", "ab", "abc", "A", "B", "a b", "1", "12", "x%y", "ä", "日本"],
            Varchar => &["", "a", "ab", "B", "abcdefgh", "1", "ä"],
            Char => &["", "a", "ab", "abcd", "B", "1"],
            Date => &[
                "2024-02-29",
                "2024-01-01",
                "2023-12-31",
                "2000-01-01",
                "1970-01-01",
                "2024-03-10",
                "infinity",
            ],
            Time => &["00:00:00", "12:34:56", "23:59:59.999999", "01:02:03.5", "24:00:00"],
            Timestamp => &[
                "2024-02-29 12:00:00",
                "2024-01-01 00:00:00",
                "2023-12-31 23:59:59.5",
                "1970-01-01 00:00:00",
                "1999-05-05 05:05:05.000001",
                "-infinity",
            ],
            Timestamptz => &[
                "2024-02-29 12:00:00+00",
                "2024-01-01 00:00:00+02",
                "2023-12-31 23:59:59.5+00",
                "1970-01-01 00:00:00+00",
                "infinity",
            ],
            Interval => &["1 day", "00:00:00", "1 mon", "-1 day 02:00:00", "1 year 2 mons 3 days 04:05:06"],
            Uuid => &[
                "00000000-0000-0000-0000-000000000000",
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
            ],
            Bytea => &["\\x", "\\x00", "\\x616263", "\\xff00"],
            Jsonb => &[
                "{}",
                "[]",
                "1",
                "null",
                "\"a\"",
                "{\"a\": 1, \"b\": [1, 2, null]}",
                "{\"a\": {\"b\": \"c\"}}",
                "[1, \"a\", {\"a\": 2}]",
                "{\"a\": null}",
                "1.50",
            ],
            Ints => &["{}", "{1}", "{1,2,3}", "{NULL,2}", "{3,2,1,2}", "{{1,2},{3,4}}"],
            Texts => &["{}", "{a}", "{a,b,NULL}", "{\"x y\",\"\"}", "{b,a}"],
            // Not (,): PostgreSQL says of NULL, too, that it lies within it.
            Range => &["empty", "[1,5)", "[3,8)", "(,4)", "[2,)", "[1,2)"],
        }
    }

    /// The text of one of its values.
    pub fn value(self, random: &mut Random) -> &'static str {
        let texts = self.texts();
        let often = if random.once_in(6) { texts.len() } else { texts.len() - 1 };
        texts[random.below(often)]
    }

    /// A literal of it, or NULL.
    pub fn literal(self, random: &mut Random) -> String {
        if random.once_in(7) {
            return format!("NULL::{}", self.name());
        }
        let text = self.value(random);
        match self {
            Bool => text.to_string(),
            // A number of more digits than its type has by itself would be of another.
            Int if !text.starts_with('-') => text.to_string(),
            Text if random.once_in(5) => format!("'{text}'"),
            _ => format!("'{text}'::{}", self.name()),
        }
    }
}
