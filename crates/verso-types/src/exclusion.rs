//! Operators of exclusion constraints, over stored values.

use crate::error::TypeError;
use crate::key::{KeyOrder, KeyType};
use crate::opaque::network::Network;
use crate::opaque::{Opaque, OpaqueKind};
use crate::range::{self, Range};
use crate::row;
use crate::value::Value;

/// How two values of a column exclude each other. The numbers stand on disk. All of them are the same in both directions, and
/// none holds for NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Exclusion {
    /// `=`
    Equal = 1,
    /// `<>`
    Different = 2,
    /// `&&`: of ranges, multiranges and networks.
    Overlaps = 3,
    /// `-|-`: of ranges and multiranges.
    Adjacent = 4,
}

impl Exclusion {
    /// All of them.
    pub const ALL: [Exclusion; 4] =
        [Exclusion::Equal, Exclusion::Different, Exclusion::Overlaps, Exclusion::Adjacent];

    /// The operator with this number on disk.
    pub fn from_code(code: u8) -> Option<Exclusion> {
        Exclusion::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Its number on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The operator in SQL.
    pub fn symbol(self) -> &'static str {
        match self {
            Exclusion::Equal => "=",
            Exclusion::Different => "<>",
            Exclusion::Overlaps => "&&",
            Exclusion::Adjacent => "-|-",
        }
    }

    /// The operator that is written so.
    pub fn named(symbol: &str) -> Option<Exclusion> {
        let symbol = if symbol == "!=" { "<>" } else { symbol };
        Exclusion::ALL.into_iter().find(|one| one.symbol() == symbol)
    }

    /// Whether the operator holds for two stored values of a key part.
    ///
    /// # Errors
    /// XX001 for bytes that are no value of the part's type.
    pub fn holds(self, order: KeyOrder, a: &[u8], b: &[u8]) -> Result<bool, TypeError> {
        match self {
            Exclusion::Equal | Exclusion::Different => {
                let (mut first, mut second) = (Vec::new(), Vec::new());
                order.encode_raw(Some(a), &mut first)?;
                order.encode_raw(Some(b), &mut second)?;
                Ok((first == second) == (self == Exclusion::Equal))
            }
            Exclusion::Overlaps if order.ty == KeyType::Bytes => {
                let network = |bytes: &[u8]| Network::of(&Opaque::new(OpaqueKind::Inet, bytes));
                Ok(network(a).overlaps(&network(b)))
            }
            Exclusion::Overlaps => Ok(range::sets::overlaps(&ranges(a)?, &ranges(b)?)),
            Exclusion::Adjacent => Ok(range::sets::are_adjacent(&ranges(a)?, &ranges(b)?)),
        }
    }
}

/// The ranges that a stored range or multirange consists of.
fn ranges(raw: &[u8]) -> Result<Vec<Range>, TypeError> {
    match row::decode_value(raw)? {
        Value::Range(range) => Ok(vec![Range::clone(&range)]),
        Value::Multirange(multirange) => Ok(multirange.ranges.to_vec()),
        _ => Err(TypeError::corrupt("range")),
    }
}

/// Where in an index the keys of ranges stand that overlap a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlapping {
    /// Between the first string and the second one, which is exclusive, in the order of where they begin. Those that overlap
    /// none of each other and end before the value begins stand before those that overlap it.
    Between(Vec<u8>, Vec<u8>),
    /// Nowhere: the value is empty.
    Nowhere,
    /// Anywhere: it is no range.
    Anywhere,
}

/// Where keys stand that overlap a stored value.
///
/// # Errors
/// XX001 for bytes that are no value of the part's type.
pub fn overlapping(order: KeyOrder, raw: &[u8]) -> Result<Overlapping, TypeError> {
    if order.ty != KeyType::Range {
        return Ok(Overlapping::Anywhere);
    }
    let Value::Range(value) = row::decode_value(raw)? else { return Ok(Overlapping::Anywhere) };
    if value.is_empty() {
        return Ok(Overlapping::Nowhere);
    }
    // The first bytes of each range that is not empty.
    let start = vec![KeyOrder::VALUE, 1];
    let mut end = start.clone();
    range::encode_end(&value, &mut end)?;
    Ok(Overlapping::Between(start, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::range::RangeType;
    use crate::{Column, SqlType, TimeStyle, parse_text};

    fn stored(text: &str, ty: &SqlType) -> Vec<u8> {
        let value = parse_text(ty, text, &TimeStyle::UTC).unwrap();
        let mut column = Column::new(ty.physical());
        column.push_value(&value, ty).unwrap();
        column.raw_at(0).to_vec()
    }

    #[test]
    fn ranges_that_overlap_stand_between_the_bounds_and_those_that_begin_behind_do_not() {
        let ty = RangeType::type_named("numrange").unwrap();
        let order = KeyOrder::ascending(KeyType::Range);
        let texts = [
            "empty", "(,)", "(,1)", "(,1]", "(,2)", "[1,1]", "[1,2)", "(1,2)", "(1,2]", "[2,2]", "[2,3)",
            "(2,3]", "[0,5]", "[3,)", "(2.5,)", "(,2.5)",
        ];
        for own in texts {
            let own_raw = stored(own, &ty);
            for other in texts {
                let raw = stored(other, &ty);
                let overlaps = Exclusion::Overlaps.holds(order, &own_raw, &raw).unwrap();
                assert_eq!(overlaps, Exclusion::Overlaps.holds(order, &raw, &own_raw).unwrap());
                let Overlapping::Between(start, end) = overlapping(order, &own_raw).unwrap() else {
                    assert!(own == "empty" && !overlaps);
                    continue;
                };
                let key = key_of(&raw);
                assert!((start <= key && key < end) || !overlaps, "{own} {other}");
                // Of those that begin behind where it begins, all and no others.
                if key > key_of(&own_raw) && other != "empty" {
                    assert_eq!(key < end, overlaps, "{own} {other}");
                }
            }
        }
    }

    fn key_of(raw: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        KeyOrder::ascending(KeyType::Range).encode_raw(Some(raw), &mut key).unwrap();
        key
    }

    #[test]
    fn networks_overlap_where_one_has_the_other() {
        let ty = SqlType::System(crate::SystemType::Inet);
        let order = KeyOrder::ascending(KeyType::Bytes);
        let overlap =
            |a: &str, b: &str| Exclusion::Overlaps.holds(order, &stored(a, &ty), &stored(b, &ty)).unwrap();
        assert!(overlap("10.0.0.0/8", "10.1.2.3"));
        assert!(overlap("10.1.2.3", "10.0.0.0/8"));
        assert!(!overlap("10.1.2.3", "10.1.2.4"));
        assert!(!overlap("10.0.0.0/8", "::/0"));
    }
}
