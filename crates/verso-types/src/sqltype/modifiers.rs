//! Modifiers of types: precision and scale of numerics, fields and digits of intervals, and the number that PostgreSQL packs them
//! into.

use super::SqlType;

/// Precision and scale of a constrained numeric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumericSpec {
    /// Total digits, 1 ..= 38.
    pub precision: u8,
    /// Digits behind the point, 0 ..= precision.
    pub scale: u8,
}

impl NumericSpec {
    /// The largest precision of a numeric column.
    pub const MAX_PRECISION: u8 = 38;

    /// `None` unless 1 ≤ precision ≤ 38 and scale ≤ precision.
    pub fn new(precision: u8, scale: u8) -> Option<NumericSpec> {
        let fits = (1..=Self::MAX_PRECISION).contains(&precision) && scale <= precision;
        fits.then_some(NumericSpec { precision, scale })
    }

    /// Does a column of it hold scaled 64-bit integers (otherwise 128-bit ones)?
    pub fn is_small(self) -> bool {
        self.precision <= 18
    }
}

/// Precision and scale of a numeric that is no [`NumericSpec`]: of more than 38 digits, with a scale below zero, or above
/// the precision. Its columns are those of `numeric`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LongSpec {
    /// Total digits, 1 ..= 1000.
    pub precision: u16,
    /// Digits behind the point, -1000 ..= 1000.
    pub scale: i16,
}

/// Which fields an interval keeps, and how many digits of its seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntervalSpec {
    /// The bits of the fields as PostgreSQL numbers them, [`IntervalSpec::ALL`] without.
    pub range: u16,
    /// Digits behind the point, [`IntervalSpec::FULL`] without.
    pub precision: u16,
}

impl IntervalSpec {
    /// `INTERVAL_FULL_RANGE`.
    pub const ALL: u16 = 0x7fff;
    /// `INTERVAL_FULL_PRECISION`.
    pub const FULL: u16 = 0xffff;
    /// The fields, the largest first, each with its bit.
    const FIELDS: [(&str, u16); 6] = [
        ("year", 1 << 2),
        ("month", 1 << 1),
        ("day", 1 << 3),
        ("hour", 1 << 10),
        ("minute", 1 << 11),
        ("second", 1 << 12),
    ];

    /// The fields from the one number `first` to the one number `last` (0 is the year, 5 the second), all of them
    /// without; so many digits of a second.
    pub fn new(fields: Option<(usize, usize)>, precision: Option<u8>) -> Option<IntervalSpec> {
        let range = match fields {
            None => Self::ALL,
            Some((first, last)) => Self::FIELDS.get(first..=last)?.iter().map(|(_, bit)| bit).sum(),
        };
        let precision = precision.map_or(Self::FULL, |digits| digits.min(6).into());
        (range != Self::ALL || precision != Self::FULL).then_some(IntervalSpec { range, precision })
    }

    /// The numbers of the first and the last field; `None` where all are kept.
    pub fn fields(self) -> Option<(usize, usize)> {
        let has = |(_, bit): &(&str, u16)| self.range & bit != 0;
        match self.range {
            Self::ALL => None,
            _ => Some((Self::FIELDS.iter().position(has)?, Self::FIELDS.iter().rposition(has)?)),
        }
    }

    /// Digits of a second.
    pub fn digits(self) -> u8 {
        u8::try_from(self.precision).unwrap_or(6).min(6)
    }

    fn typmod(self) -> i32 {
        i32::from(self.range) << 16 | i32::from(self.precision)
    }

    pub(super) fn of_typmod(typmod: i32) -> Option<IntervalSpec> {
        let typmod = u32::try_from(typmod).ok()?;
        let spec = IntervalSpec { range: (typmod >> 16) as u16, precision: typmod as u16 };
        (spec.range != Self::ALL || spec.precision != Self::FULL).then_some(spec)
    }

    /// `day to second(3)`, as `information_schema` calls it too; without fields `(3)`.
    pub fn name(self) -> String {
        let mut name = match self.fields() {
            None => String::new(),
            Some((first, last)) if first == last => Self::FIELDS[first].0.to_string(),
            Some((first, last)) => format!("{} to {}", Self::FIELDS[first].0, Self::FIELDS[last].0),
        };
        if self.precision != Self::FULL {
            name += &format!("({})", self.precision);
        }
        name
    }
}

impl SqlType {
    /// PostgreSQL's `atttypmod`: -1 without modifiers.
    pub fn typmod(&self) -> i32 {
        match self {
            SqlType::Collated(collated) => collated.base.typmod(),
            SqlType::Numeric(Some(spec)) => (i32::from(spec.precision) << 16 | i32::from(spec.scale)) + 4,
            SqlType::Time(Some(digits))
            | SqlType::Timetz(Some(digits))
            | SqlType::Timestamp(Some(digits))
            | SqlType::Timestamptz(Some(digits)) => i32::from(*digits),
            SqlType::Bit(Some(n)) | SqlType::Varbit(Some(n)) => i32::try_from(*n).unwrap_or(-1),
            SqlType::Interval(Some(spec)) => spec.typmod(),
            SqlType::LongNumeric(spec) => {
                (i32::from(spec.precision) << 16 | i32::from(spec.scale) & 0x7ff) + 4
            }
            SqlType::Varchar(Some(n)) | SqlType::Char(Some(n)) => {
                i32::try_from(*n).map_or(-1, |n| n.saturating_add(4))
            }
            SqlType::Array(element) => element.typmod(),
            _ => -1,
        }
    }

    /// The type without modifiers: `numeric(18,2)` becomes `numeric`.
    pub fn without_modifiers(&self) -> SqlType {
        match self {
            SqlType::Numeric(_) | SqlType::LongNumeric(_) => SqlType::Numeric(None),
            SqlType::Varchar(_) => SqlType::Varchar(None),
            SqlType::Char(_) => SqlType::Char(None),
            SqlType::Time(_) => SqlType::Time(None),
            SqlType::Timetz(_) => SqlType::Timetz(None),
            SqlType::Bit(_) => SqlType::Bit(None),
            SqlType::Varbit(_) => SqlType::Varbit(None),
            SqlType::Timestamp(_) => SqlType::Timestamp(None),
            SqlType::Timestamptz(_) => SqlType::Timestamptz(None),
            SqlType::Interval(_) => SqlType::Interval(None),
            SqlType::Array(element) => SqlType::Array(Box::new(element.without_modifiers())),
            SqlType::Collated(collated) => collated.base.without_modifiers(),
            other => other.clone(),
        }
    }
}

/// The numeric of a precision and a scale, as PostgreSQL packs them.
pub(super) fn numeric_of(packed: u32) -> SqlType {
    let (precision, low) = (packed >> 16, (packed & 0x7ff) as i16);
    let scale = (low ^ 0x400) - 0x400;
    let short = || NumericSpec::new(precision.try_into().ok()?, scale.try_into().ok()?);
    match (short(), u16::try_from(precision)) {
        (Some(spec), _) => SqlType::Numeric(Some(spec)),
        (None, Ok(precision @ 1..=1000)) => SqlType::LongNumeric(LongSpec { precision, scale }),
        (None, _) => SqlType::Numeric(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqltype::Physical;

    #[test]
    fn a_numeric_spec_is_bounded() {
        assert!(NumericSpec::new(0, 0).is_none() && NumericSpec::new(39, 0).is_none());
        assert!(NumericSpec::new(5, 6).is_none());
        assert_eq!(SqlType::Numeric(NumericSpec::new(18, 0)).physical(), Physical::I64);
        assert_eq!(SqlType::Numeric(NumericSpec::new(19, 0)).physical(), Physical::I128);
        assert_eq!(SqlType::Numeric(None).physical(), Physical::Bytes);
    }
}
