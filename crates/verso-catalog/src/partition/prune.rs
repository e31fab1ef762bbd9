//! Which partitions may have rows for which a condition is true.
//!
//! The condition comes as what its terms say of columns of the key, with values: when a plan is made those that are constants,
//! when it runs those of parameters, of outer rows and of stable functions, too.

use verso_types::{SqlType, Value};

use super::bound::Upper;
use super::{KeyValue, Partitioned, Strategy, key_value};

/// What a term of a condition says of a column. Values are such as [`comparable`] gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// It has this value.
    Equal(Value),
    /// It has one of these values.
    In(Vec<Value>),
    /// It is NULL.
    Null,
    /// It has at least this value.
    Lower(Value),
    /// It has at most this value, or, if that is not included, less.
    Upper(Value, bool),
}

/// A value of type `of` as one of a column's type `ty`, where comparing both says the same; texts of no deterministic
/// collation are equal to others, too.
pub fn comparable(value: &Value, of: &SqlType, ty: &SqlType) -> Option<Value> {
    if ty.collation().and_then(|one| one.collator).is_some_and(|collator| !collator.is_deterministic()) {
        return None;
    }
    let column = ty.erased();
    match (value, &column) {
        (Value::Null, _) => Some(Value::Null),
        (value, SqlType::Int2) => Some(Value::Int2(i16::try_from(value.as_i64()?).ok()?)),
        (value, SqlType::Int4) => Some(Value::Int4(i32::try_from(value.as_i64()?).ok()?)),
        (value, SqlType::Int8) => Some(Value::Int8(value.as_i64()?)),
        (Value::Text(_), ty) if ty.is_text() => Some(value.clone()),
        (value, ty) if of.same_base(ty) && !ty.is_number() => Some(value.clone()),
        _ => None,
    }
}

impl Partitioned {
    /// The places of the partitions that are left; columns by number.
    pub fn kept(&self, said: &[(u16, Said)]) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.partitions.len()).collect();
        for (column, said) in said {
            if let Some(places) = self.said(*column, said) {
                kept.retain(|place| places.contains(place));
            }
        }
        if let Some(places) = self.between(said) {
            kept.retain(|place| places.contains(place));
        }
        if let Some(place) = self.routed(said) {
            kept.retain(|kept| Some(*kept) == place);
        }
        kept
    }

    /// The places that one term leaves.
    fn said(&self, column: u16, said: &Said) -> Option<Vec<usize>> {
        if self.columns.first() != Some(&column) {
            return None;
        }
        if self.strategy == Strategy::Hash {
            return self.hashed(said);
        }
        let ty = self.types.first()?;
        let key = |value: &Value| key_value(value, ty).ok();
        match said {
            Said::Equal(value) => Some(self.with_first(&[key(value)?])),
            Said::In(values) => {
                Some(self.with_first(&values.iter().map(key).collect::<Option<Vec<KeyValue>>>()?))
            }
            Said::Null => Some(self.with_first(&[KeyValue::Null])),
            // Both ends together say more.
            Said::Lower(_) | Said::Upper(..) => None,
        }
    }

    /// The places of the partitions by hash that a list of values leaves, where they are those of the whole key. One value is that of a
    /// whole key, too ([`Partitioned::routed`]).
    fn hashed(&self, said: &Said) -> Option<Vec<usize>> {
        let (Said::In(values), [_]) = (said, self.columns.as_slice()) else { return None };
        let route = |value: &Value| self.route(std::slice::from_ref(value));
        let places = values.iter().map(route).collect::<Result<Vec<_>, _>>().ok()?;
        Some(places.into_iter().flatten().collect())
    }

    /// The places that the narrowest ends of what is said of the first column leave.
    fn between(&self, said: &[(u16, Said)]) -> Option<Vec<usize>> {
        let (column, ty) = (self.columns.first()?, self.types.first()?);
        // Texts in the order of a collation are not in that of their bytes.
        if self.strategy == Strategy::Hash || ty.collation().is_some_and(|one| one.collator.is_some()) {
            return None;
        }
        let bytes = |value: &Value| match key_value(value, ty).ok()? {
            KeyValue::Key(bytes) => Some(bytes),
            KeyValue::Null => None,
        };
        let (mut lower, mut upper) = (None, None);
        for (_, said) in said.iter().filter(|(of, _)| of == column) {
            match said {
                Said::Lower(value) => lower = lower.max(bytes(value)),
                Said::Upper(value, is_included) => {
                    let Some(key) = bytes(value) else { continue };
                    let end = (key, *is_included);
                    upper = Some(upper.map_or(end.clone(), |known: (Vec<u8>, bool)| known.min(end)));
                }
                _ => {}
            }
        }
        if lower.is_none() && upper.is_none() {
            return None;
        }
        let upper = upper.as_ref().map(|(key, is_included)| Upper { key, is_included: *is_included });
        Some(self.within(lower.as_deref(), upper))
    }

    /// The place of the only partition that rows with a whole key belong to, where the terms say the key.
    fn routed(&self, said: &[(u16, Said)]) -> Option<Option<usize>> {
        let value = |column: &u16| {
            let mut of_column = said.iter().filter(|(of, _)| of == column);
            of_column.find_map(|(_, said)| match said {
                Said::Equal(value) if !value.is_null() => Some(value.clone()),
                Said::Null => Some(Value::Null),
                _ => None,
            })
        };
        self.route(&self.columns.iter().map(value).collect::<Option<Vec<Value>>>()?).ok()
    }
}
