//! What a query wants columns of a relation to be equal to.

use verso_catalog::{Oid, SystemRelation};
use verso_types::{Value, cmp_sql};

/// Columns of a relation and their values, and the columns that are read.
pub(super) struct Keys<'k> {
    pub(super) relation: &'static SystemRelation,
    pub(super) keys: &'k [(usize, Value)],
    pub(super) columns: &'k [usize],
}

impl Keys<'_> {
    /// Whether a column is read.
    pub(super) fn reads(&self, column: &str) -> bool {
        self.relation.column(column).is_some_and(|at| self.columns.contains(&at))
    }

    /// The value of a column, made only where it is read.
    pub(super) fn read(&self, column: &str, make: impl FnOnce() -> Value) -> Value {
        if self.reads(column) { make() } else { Value::Null }
    }

    fn value(&self, column: &str) -> Option<&Value> {
        let column = self.relation.column(column)?;
        self.keys.iter().find(|(key, _)| *key == column).map(|(_, value)| value)
    }

    /// The number that a column is to have.
    pub(super) fn oid(&self, column: &str) -> Option<Oid> {
        let number = self.value(column)?.as_i64()?;
        // What is no oid is that of nothing.
        Some(Oid(u32::try_from(number).unwrap_or(0)))
    }

    /// Whether a column may have this number.
    pub(super) fn takes(&self, column: &str, oid: Oid) -> bool {
        self.oid(column).is_none_or(|wanted| wanted == oid)
    }

    /// The text that a column is to have.
    pub(super) fn text(&self, column: &str) -> Option<&str> {
        self.value(column)?.as_str()
    }

    /// Whether a whole row fits.
    pub(super) fn fit(&self, row: &[Value]) -> bool {
        self.keys.iter().all(|(column, wanted)| {
            row.get(*column).is_some_and(|value| !value.is_null() && cmp_sql(value, wanted).is_eq())
        })
    }
}
