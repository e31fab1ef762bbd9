//! Keys of an index: which columns in which order, and ranges of them.

use std::ops::Bound;

use verso_types::error::TypeError;
use verso_types::inverted::{self, Keys};
use verso_types::{Column, ColumnData, Exclusion, KeyOrder, KeyType, SqlType, Value};

/// One part of an index's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// Identity of the column.
    pub column: u16,
    /// What its values are.
    pub ty: KeyType,
    /// Greater values first.
    pub descending: bool,
    /// NULL before all values, whatever the direction.
    pub nulls_first: bool,
    /// Says whether a record is in the index at all: where the column is NULL the record has no entry, and the part itself
    /// takes no room in keys. Its column is kept with those of the key, so that every version knows.
    pub guard: bool,
    /// Which values of other records exclude one: the operator of an exclusion constraint.
    pub excludes: Option<Exclusion>,
}

impl KeyPart {
    /// Ascending, NULLs last.
    pub fn ascending(column: u16, ty: KeyType) -> KeyPart {
        KeyPart { column, ty, descending: false, nulls_first: false, guard: false, excludes: None }
    }

    /// The guard of a partial index.
    pub fn guard(column: u16, ty: KeyType) -> KeyPart {
        KeyPart { guard: true, ..KeyPart::ascending(column, ty) }
    }

    /// How the part is ordered.
    #[inline]
    pub fn order(&self) -> KeyOrder {
        KeyOrder { ty: self.ty, descending: self.descending, nulls_first: self.nulls_first }
    }
}

/// The key of values with their columns' types, or of a prefix of the parts.
///
/// # Errors
/// As [`KeyOrder::encode_value`].
pub fn encode<'a>(
    parts: &[KeyPart],
    values: impl IntoIterator<Item = (&'a Value, &'a SqlType)>,
) -> Result<Vec<u8>, TypeError> {
    let mut out = Vec::with_capacity(32);
    encode_into(parts, values, &mut out)?;
    Ok(out)
}

/// As [`encode`], appended to `out`.
///
/// # Errors
/// As [`KeyOrder::encode_value`].
pub fn encode_into<'a>(
    parts: &[KeyPart],
    values: impl IntoIterator<Item = (&'a Value, &'a SqlType)>,
    out: &mut Vec<u8>,
) -> Result<(), TypeError> {
    for (part, (value, ty)) in parts.iter().zip(values) {
        part.order().encode_value(value, ty, out)?;
    }
    Ok(())
}

/// Appends the key of row `row`; `columns[i]` is the column of part `i`. Returns whether a part is NULL. Nothing is appended
/// for a row that a guard keeps out.
///
/// # Errors
/// XX001 where a value is none of its part's type.
pub fn encode_row(
    parts: &[KeyPart],
    columns: &[&Column],
    row: usize,
    out: &mut Vec<u8>,
) -> Result<bool, TypeError> {
    let start = out.len();
    let mut any_null = false;
    for (part, column) in parts.iter().zip(columns) {
        if !part.guard {
            any_null |= encode_part(part, column, row, out)?;
        } else if column.is_null(row) {
            out.truncate(start);
            return Ok(false);
        }
    }
    Ok(any_null)
}

/// Sets `keys` to those of row `row`, in order: the one that [`encode_row`] makes, or those of its parts in an inverted
/// index. Returns whether a part is NULL.
///
/// # Errors
/// As [`encode_row`].
pub fn keys_of_row(
    parts: &[KeyPart],
    columns: &[&Column],
    row: usize,
    keys: &mut Keys,
) -> Result<bool, TypeError> {
    keys.clear();
    if !is_inverted(parts) {
        return keys.push_with(|out| encode_row(parts, columns, row, out));
    }
    for ((n, part), column) in (0..).zip(parts).zip(columns) {
        if !part.guard {
            inverted::extract(part.ty, n, (!column.is_null(row)).then(|| column.raw_at(row)), keys)?;
        } else if column.is_null(row) {
            keys.clear();
        }
    }
    keys.sort();
    Ok(false)
}

/// Whether these are parts of an inverted index: each value has several keys, or none.
#[inline]
pub fn is_inverted(parts: &[KeyPart]) -> bool {
    parts.first().is_some_and(|part| part.ty.is_inverted())
}

/// Appends the part of row `row`. Returns whether it is NULL.
///
/// # Errors
/// As [`encode_row`].
#[inline]
pub fn encode_part(
    part: &KeyPart,
    column: &Column,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<bool, TypeError> {
    let null = column.is_null(row);
    if let (false, false, KeyType::I64, ColumnData::I64(values)) =
        (null, part.descending, part.ty, &column.data)
    {
        // The most usual key, at once.
        let mut key = [KeyOrder::VALUE; 9];
        key[1..].copy_from_slice(&(values[row].cast_unsigned() ^ 1 << 63).to_be_bytes());
        out.extend_from_slice(&key);
        return Ok(false);
    }
    part.order().encode_raw((!null).then(|| column.raw_at(row)), out)?;
    Ok(null)
}

/// Keys between two bounds. A bound may be a prefix of keys: it then stands for all keys that begin with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub lower: Bound<Vec<u8>>,
    /// Where it ends.
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> KeyRange {
        KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// The keys that begin with `prefix`: those whose first parts have these values.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        KeyRange { lower: Bound::Included(prefix.to_vec()), upper: Bound::Included(prefix.to_vec()) }
    }

    /// The keys whose first parts equal `equals`, and whose next part lies between two values (and is not NULL, when
    /// either bound is given); `bool` = inclusive. Bounds are SQL's: the smaller value is `lower`, also where the part
    /// is descending. `types` are the columns' types, one per part.
    ///
    /// # Errors
    /// As [`KeyOrder::encode_value`].
    pub fn of(
        parts: &[KeyPart],
        types: &[SqlType],
        equals: &[Value],
        lower: Option<(&Value, bool)>,
        upper: Option<(&Value, bool)>,
    ) -> Result<KeyRange, TypeError> {
        let prefix = encode(parts, equals.iter().zip(types))?;
        let (Some(part), Some(ty)) = (parts.get(equals.len()), types.get(equals.len())) else {
            return Ok(KeyRange::prefix(&prefix));
        };
        if lower.is_none() && upper.is_none() {
            return Ok(KeyRange::prefix(&prefix));
        }
        let bound = |value: Option<(&Value, bool)>| -> Result<Bound<Vec<u8>>, TypeError> {
            let mut key = prefix.clone();
            match value {
                // Every value, but not NULL: all of them begin with the same byte.
                None => {
                    key.push(KeyOrder::VALUE);
                    Ok(Bound::Included(key))
                }
                Some((value, inclusive)) => {
                    part.order().encode_value(value, ty, &mut key)?;
                    Ok(if inclusive { Bound::Included(key) } else { Bound::Excluded(key) })
                }
            }
        };
        let (lower, upper) = if part.descending { (upper, lower) } else { (lower, upper) };
        Ok(KeyRange { lower: bound(lower)?, upper: bound(upper)? })
    }

    /// The keys that any of the ranges has: in order, none empty, none overlapping another.
    #[must_use]
    pub fn united(ranges: Vec<KeyRange>) -> Vec<KeyRange> {
        let mut placed: Vec<(Vec<u8>, Option<Vec<u8>>, KeyRange)> = (ranges.into_iter())
            .map(|range| (range.start(), range.end(), range))
            .filter(|(start, end, _)| end.as_ref().is_none_or(|end| start < end))
            .collect();
        placed.sort_by(|a, b| a.0.cmp(&b.0));
        let mut united: Vec<(Option<Vec<u8>>, KeyRange)> = Vec::new();
        for (start, end, range) in placed {
            match united.last_mut() {
                Some((before, one)) if before.as_ref().is_none_or(|before| start <= *before) => {
                    let goes_on = match (&end, &*before) {
                        (Some(end), Some(before)) => end > before,
                        (None, before) => before.is_some(),
                        (Some(_), None) => false,
                    };
                    if goes_on {
                        (*before, one.upper) = (end, range.upper);
                    }
                }
                _ => united.push((end, range)),
            }
        }
        united.into_iter().map(|(_, range)| range).collect()
    }

    /// The first byte string within the range; empty = from the beginning.
    pub(crate) fn start(&self) -> Vec<u8> {
        match &self.lower {
            Bound::Unbounded => Vec::new(),
            Bound::Included(key) => key.clone(),
            // No successor: nothing is behind it, which an end of "nothing" says too.
            Bound::Excluded(key) => successor(key).unwrap_or_else(|| vec![0xff; key.len() + 1]),
        }
    }

    /// The first byte string behind the range; `None` = to the end.
    pub(crate) fn end(&self) -> Option<Vec<u8>> {
        match &self.upper {
            Bound::Unbounded => None,
            Bound::Included(key) => successor(key),
            Bound::Excluded(key) => Some(key.clone()),
        }
    }
}

/// The least byte string greater than all that begin with `prefix`; `None` when there is none.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut out = prefix[..=last].to_vec();
    out[last] += 1;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn united_ranges_are_in_order_and_have_each_key_once() {
        use Bound::{Excluded, Included, Unbounded};
        let range = |lower: Bound<u8>, upper: Bound<u8>| KeyRange {
            lower: lower.map(|byte| vec![byte]),
            upper: upper.map(|byte| vec![byte]),
        };
        let of = |ranges: &[KeyRange]| KeyRange::united(ranges.to_vec());
        let (one, other) = (range(Included(1), Included(3)), range(Included(7), Excluded(9)));
        assert_eq!(of(&[other.clone(), one.clone()]), [one.clone(), other.clone()]);
        assert_eq!(of(&[one.clone(), range(Included(2), Included(5))]), [range(Included(1), Included(5))]);
        assert_eq!(of(&[one.clone(), range(Included(2), Excluded(3))]), std::slice::from_ref(&one));
        // Neighbours become one, empty ones go.
        assert_eq!(of(&[one.clone(), range(Excluded(3), Included(4))]), [range(Included(1), Included(4))]);
        assert_eq!(of(&[one.clone(), range(Included(8), Excluded(8))]), std::slice::from_ref(&one));
        let rest = range(Included(5), Unbounded);
        assert_eq!(of(&[rest.clone(), other, one.clone()]), [one, rest]);
    }

    #[test]
    fn a_number_has_the_same_key_in_a_column_and_by_itself() {
        let mut column = Column::new(verso_types::Physical::I64);
        for number in [i64::MIN, -2, 0, 7, i64::MAX] {
            column.push_value(&Value::Int8(number), &SqlType::Int8).unwrap();
            for descending in [false, true] {
                let part = KeyPart { descending, ..KeyPart::ascending(1, KeyType::I64) };
                let (mut ours, mut general) = (Vec::new(), Vec::new());
                assert!(!encode_part(&part, &column, column.len() - 1, &mut ours).unwrap());
                part.order().encode_value(&Value::Int8(number), &SqlType::Int8, &mut general).unwrap();
                assert_eq!(ours, general);
            }
        }
    }
}
