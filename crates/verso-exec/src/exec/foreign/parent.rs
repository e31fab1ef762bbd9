//! The referenced side of a foreign key: is there a row with the key?

use std::borrow::Cow;
use std::sync::Arc;

use verso_catalog::{ConstraintDef, IndexDef, TableDef};
use verso_types::range::sets::{contains, normalized, overlaps};
use verso_types::{CastKind, Range, SqlType, Value, cast, cast_kind, eq_sql};

use super::super::ExecContext;
use super::super::access::{encode, key_parts};
use super::super::check::values_text;
use super::super::shown_values::may_show;
use super::super::tables::KeyOf;
use super::{foreign, positions};
use crate::error::{ExecError, Result};

/// The referenced side of a foreign key.
pub(super) struct Parent {
    table: Arc<TableDef>,
    index: Arc<IndexDef>,
    /// For each part of the index, which of the foreign key's columns it is, and that column's type.
    parts: Vec<(usize, SqlType)>,
    own: Vec<usize>,
    /// The columns that the foreign key's are, in their order.
    referenced: Vec<u16>,
    /// Whether the last column of the key has a period, which the rows referenced cover together.
    period: bool,
}

impl Parent {
    pub(super) fn find(
        cx: &ExecContext<'_>,
        child: &Arc<TableDef>,
        constraint: &ConstraintDef,
    ) -> Option<Parent> {
        let key = foreign(constraint)?;
        let table = match key.referenced == child.oid {
            true => Arc::clone(child),
            false => cx.catalog.table_by_oid(key.referenced)?,
        };
        let index = Arc::clone(table.index(key.index)?);
        let own = positions(child, &key.columns);
        let part = |part: &verso_catalog::IndexPart| {
            let at = key.referenced_columns.iter().position(|id| *id == part.column)?;
            Some((at, child.columns[*own.get(at)?].ty.clone()))
        };
        let parts = index.parts.iter().map(part).collect::<Option<Vec<_>>>()?;
        let (referenced, period) = (key.referenced_columns.clone(), key.period);
        Some(Parent { table, index, parts, own, referenced, period })
    }

    /// The same of the partition that a key belongs to, if there is one: the key has all columns by which the table is divided.
    fn of_partition(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<Option<Parent>> {
        let Some(partitioned) = &self.table.partitioned else { return Ok(None) };
        let mut values = Vec::with_capacity(partitioned.columns.len());
        for (id, ty) in partitioned.columns.iter().zip(&partitioned.types) {
            let Some(at) = self.referenced.iter().position(|column| column == id) else { return Ok(None) };
            let from = self.parts.iter().find(|(place, _)| *place == at).map_or(ty, |(_, from)| from);
            let Some(value) = comparable(cx, &key[at], from, ty)? else { return Ok(None) };
            let value = match from.same_base(ty) || !from.is_integer() {
                true => value.into_owned(),
                // An integer of another width, which may not have the value.
                false => match cast(
                    &value,
                    from,
                    &ty.without_modifiers(),
                    CastKind::Explicit,
                    cx.services.time_zone,
                ) {
                    Ok(value) => value,
                    Err(_) => return Ok(None),
                },
            };
            values.push(value);
        }
        let Some(place) = partitioned.route(&values)? else { return Ok(None) };
        let part = &partitioned.partitions[place];
        let index = part.indexes.iter().find(|index| index.part_of == Some(self.index.oid));
        let referenced: Option<Vec<u16>> =
            self.referenced.iter().map(|id| part.column_of(&self.table, *id)).collect();
        let (Some(index), Some(referenced)) = (index, referenced) else { return Ok(None) };
        let place = |own: &verso_catalog::IndexPart| {
            let at = referenced.iter().position(|id| *id == own.column)?;
            self.parts.iter().find(|(place, _)| *place == at).cloned()
        };
        let parts = index.parts.iter().map(place).collect::<Option<Vec<_>>>();
        Ok(parts.map(|parts| Parent {
            table: Arc::clone(part),
            index: Arc::clone(index),
            parts,
            own: self.own.clone(),
            referenced,
            period: self.period,
        }))
    }

    /// Whether the key is there by now; it then stays.
    pub(super) fn has(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<bool> {
        self.has_of(cx, key, KeyOf::Now)
    }

    /// The same for a row that refers to it: the transaction has to see it.
    pub(super) fn shows(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<bool> {
        self.has_of(cx, key, KeyOf::Snapshot)
    }

    fn has_of(&self, cx: &ExecContext<'_>, key: &[Value], of: KeyOf) -> Result<bool> {
        if self.table.partitioned.is_some() {
            let part = self.leaf(cx, key)?;
            return part.map_or(Ok(false), |part| part.has_here(cx, key, of));
        }
        self.has_here(cx, key, of)
    }

    /// The partition with rows that a key belongs to.
    fn leaf(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<Option<Parent>> {
        let mut part = self.of_partition(cx, key)?;
        while let Some(inner) = part.take_if(|part| part.table.partitioned.is_some()) {
            part = inner.of_partition(cx, key)?;
        }
        Ok(part)
    }

    /// The key as that of the index, but for its period; none that can have no row.
    fn encoded(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<Option<Vec<u8>>> {
        let (parts, types) = key_parts(&self.table, &self.index);
        let mut bytes = Vec::new();
        let equal = parts.len() - usize::from(self.period);
        for ((part, ty), (at, from)) in parts.iter().zip(&types).zip(&self.parts).take(equal) {
            let Some(value) = comparable(cx, &key[*at], from, ty)? else { return Ok(None) };
            let from = if from.same_base(ty) || from.is_integer() { from } else { ty };
            if !encode(part, ty, &value, from, &mut bytes)? {
                return Ok(None);
            }
        }
        Ok(Some(bytes))
    }

    /// Whether the transaction's snapshot has the key, which others have taken away since.
    fn was_there(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<bool> {
        if self.period {
            return Ok(false);
        }
        if self.table.partitioned.is_some() {
            let part = self.leaf(cx, key)?;
            return part.map_or(Ok(false), |part| part.was_there(cx, key));
        }
        let Some(bytes) = self.encoded(cx, key)? else { return Ok(false) };
        cx.tables()?.saw_key(&self.table, &self.index, &bytes)
    }

    /// The same of a table that has rows itself.
    fn has_here(&self, cx: &ExecContext<'_>, key: &[Value], of: KeyOf) -> Result<bool> {
        let Some(bytes) = self.encoded(cx, key)? else { return Ok(false) };
        let Some((place, _)) = self.parts.last().filter(|_| self.period) else {
            return cx.tables()?.hold_key(&self.table, &self.index, &bytes, of);
        };
        let period = &key[*place];
        let held = cx.tables()?.hold_periods(&self.table, &self.index, &bytes, period, of)?;
        let covered = normalized(held.iter().flat_map(ranges_of).cloned().collect());
        Ok(!covered.is_empty() && contains(&covered, ranges_of(period)))
    }

    /// The error of a key that is not there: one that the transaction sees all the same has gone since (40001).
    #[cold]
    pub(super) fn absent(
        &self,
        cx: &ExecContext<'_>,
        child: &TableDef,
        constraint: &ConstraintDef,
        key: &[Value],
    ) -> ExecError {
        match self.was_there(cx, key) {
            Ok(false) => {}
            Ok(true) => {
                return ExecError::raised("40001", "could not serialize access due to concurrent update");
            }
            Err(error) => return error,
        }
        let key = key_text(cx, child, &self.own, key);
        missing(child, constraint, format!("{key} is not present in table \"{}\".", self.table.name))
    }
}

/// The ranges that a period consists of.
fn ranges_of(period: &Value) -> &[Range] {
    match period {
        Value::Range(range) => std::slice::from_ref(&**range),
        Value::Multirange(multirange) => &multirange.ranges,
        _ => &[],
    }
}

/// Whether two periods have a value in common.
pub(super) fn periods_overlap(a: &Value, b: &Value) -> bool {
    overlaps(ranges_of(a), ranges_of(b))
}

/// A referencing value as one of the referenced column's type, as far as that is another one; `None` where no such value
/// equals it. PostgreSQL compares it after an implicit cast, or by an equality of both types.
fn comparable<'v>(
    cx: &ExecContext<'_>,
    value: &'v Value,
    from: &SqlType,
    to: &SqlType,
) -> Result<Option<Cow<'v, Value>>> {
    let texts = from.is_text() && to.is_text();
    if from.same_base(to) || (from.is_integer() && to.is_integer()) || texts {
        return Ok(Some(Cow::Borrowed(value)));
    }
    let (zone, to) = (cx.services.time_zone, to.without_modifiers());
    if cast_kind(from, &to) == Some(CastKind::Implicit) {
        return Ok(Some(Cow::Owned(cast(value, from, &to, CastKind::Implicit, zone)?)));
    }
    let Ok(there) = cast(value, from, &to, CastKind::Explicit, zone) else { return Ok(None) };
    let back = cast(&there, &to, from, CastKind::Explicit, zone);
    Ok(back.is_ok_and(|back| eq_sql(&back, value)).then_some(Cow::Owned(there)))
}

/// `insert or update … violates`.
pub(super) fn missing(table: &TableDef, constraint: &ConstraintDef, detail: String) -> ExecError {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        table.name, constraint.name
    );
    ExecError::violation("23503", message, Some(detail), table, &constraint.name)
}

/// `Key (columns)=(values)`; without them where the role may not read them.
pub(super) fn key_text(cx: &ExecContext<'_>, table: &TableDef, columns: &[usize], key: &[Value]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| &*table.columns[*column].name).collect();
    let ids: Vec<u16> = columns.iter().map(|column| table.columns[*column].id).collect();
    if !may_show(cx, table, &ids) {
        return "Key".to_string();
    }
    let types = columns.iter().map(|column| &table.columns[*column].ty);
    format!("Key ({})=({})", names.join(", "), values_text(cx, key, types))
}
