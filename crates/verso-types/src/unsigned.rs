//! Numbers without a sign within other values, as versions before [`Value::Xid8`] stored them: as integers of the same bits.
//!
//! A column says that it holds `xid8`, a value within an array, a row or a range says what it is itself. So the type of what is
//! read tells which integers are none.

use crate::array::Array;
use crate::range::{Bound, Range};
use crate::sqltype::SqlType;
use crate::system_type::SystemType;
use crate::value::Value;

impl SqlType {
    /// Whether its values have an `xid8` within.
    pub fn holds_xid8(&self) -> bool {
        match self {
            SqlType::System(ty) => *ty == SystemType::Xid8,
            SqlType::Array(element) => element.holds_xid8(),
            SqlType::Row(row) => row.fields.iter().any(|(_, ty)| ty.holds_xid8()),
            SqlType::Domain(domain) => domain.base.holds_xid8(),
            SqlType::Collated(collated) => collated.base.holds_xid8(),
            SqlType::Range(range) | SqlType::Multirange(range) => {
                range.own_name(false).is_some() && range.subtype().holds_xid8()
            }
            _ => false,
        }
    }
}

impl Value {
    /// The same with integers that stand for an `xid8` of the type as such.
    pub(crate) fn with_xid8(self, ty: &SqlType) -> Value {
        match (self, ty) {
            (Value::Int8(v), SqlType::System(SystemType::Xid8)) => Value::Xid8(v.cast_unsigned()),
            (Value::Array(array), SqlType::Array(element)) if is_old(&array, element) => {
                let values = array.iter().map(|value| value.clone().with_xid8(element));
                Value::Array(array.with_values(values.collect()))
            }
            (Value::Record(values), SqlType::Row(row)) if row.fields.len() == values.len() => {
                let pairs = values.iter().zip(&row.fields);
                Value::Record(pairs.map(|(value, (_, ty))| value.clone().with_xid8(ty)).collect())
            }
            (Value::Range(range), SqlType::Range(ty)) => {
                Value::Range(with_bounds(&range, &ty.subtype()).into())
            }
            (Value::Multirange(ranges), SqlType::Multirange(ty)) => {
                let mut ranges = (*ranges).clone();
                ranges.ranges.iter_mut().for_each(|range| *range = with_bounds(range, &ty.subtype()));
                Value::Multirange(ranges.into())
            }
            (value, SqlType::Domain(domain)) => value.with_xid8(&domain.base),
            (value, _) => value,
        }
    }
}

/// Whether there is something to do; mostly there is not.
fn is_old(array: &Array, element: &SqlType) -> bool {
    match element {
        SqlType::System(_) => array.iter().any(|value| matches!(value, Value::Int8(_))),
        _ => true,
    }
}

fn with_bounds(range: &Range, subtype: &SqlType) -> Range {
    let bound = |bound: &Bound| {
        let mut bound = bound.clone();
        bound.value = bound.value.map(|value| value.with_xid8(subtype));
        bound
    };
    let bounds = range.bounds.as_ref().map(|(lower, upper)| (bound(lower), bound(upper)));
    Range { kind: range.kind, bounds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_earlier_versions_are_read_as_numbers_without_a_sign() {
        let xid8 = SqlType::System(SystemType::Xid8);
        let array = SqlType::Array(Box::new(xid8.clone()));
        assert!(array.holds_xid8() && !SqlType::Array(Box::new(SqlType::Int8)).holds_xid8());
        let old = Value::Array(vec![Value::Int8(-1), Value::Null, Value::Int8(1)].into());
        let new = Value::Array(vec![Value::Xid8(u64::MAX), Value::Null, Value::Xid8(1)].into());
        assert_eq!(old.with_xid8(&array), new);
        assert_eq!(new.clone().with_xid8(&array), new);
    }
}
