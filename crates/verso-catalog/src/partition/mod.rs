//! Declarative partitioning: which partition of a table a row belongs to.
//!
//! ```text
//! values of the key ─► Partitioned::route ─► partition ─► (it may be partitioned itself) ─► … ─► a table with rows
//! ```
//!
//! P1. Partitions stand in the order of their bounds, the default one last, so a value is found by binary search.
//! P2. Bounds of a table's partitions do not overlap: whoever adds one asks [`Partitioned::overlapped`] first.
//! P3. Values are compared as keys of indexes ([`verso_types::key`]), in the order of the column's type and collation.
//! P4. Hashes are PostgreSQL's ([`hash`]), so rows that are dumped partition by partition fit where they are restored.
//!
//! | module | what it is |
//! |---|---|
//! | [`bound`] | the bound of one partition: how it is kept and shown |
//! | [`hash`] | hashes of keys |
//! | [`prune`] | which partitions a condition leaves |

pub mod bound;
pub mod hash;
mod prune;

use std::cmp::Ordering;
use std::sync::Arc;

use verso_types::key::{KeyOrder, KeyType};
use verso_types::{CollatedType, Collation, SqlType, TypeError, Value};

pub use bound::{Bound, Datum, Edge};
pub use prune::{Said, comparable};

use bound::Upper;

use crate::definition::{ColumnDef, Oid, TableDef};
use crate::key_class::KeyClass;

/// How rows are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// By single values.
    List,
    /// By ranges of the key.
    Range,
    /// By a hash of the key.
    Hash,
}

impl Strategy {
    /// As in `pg_partitioned_table.partstrat`.
    pub fn letter(self) -> char {
        match self {
            Strategy::List => 'l',
            Strategy::Range => 'r',
            Strategy::Hash => 'h',
        }
    }

    /// The strategy of that letter.
    pub fn from_letter(letter: char) -> Option<Strategy> {
        [Strategy::List, Strategy::Range, Strategy::Hash].into_iter().find(|one| one.letter() == letter)
    }

    /// As SQL has it.
    pub fn word(self) -> &'static str {
        match self {
            Strategy::List => "LIST",
            Strategy::Range => "RANGE",
            Strategy::Hash => "HASH",
        }
    }
}

/// That a table is a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionOf {
    /// The table that it is a part of.
    pub parent: Oid,
    /// Which rows it has.
    pub bound: Bound,
}

/// That a table has its rows in partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioned {
    /// How its rows are divided.
    pub strategy: Strategy,
    /// The columns of the key, by number; an expression is a hidden column of the table, which its partitions need not have.
    pub columns: Vec<u16>,
    /// The types of these columns, in the orders of the key.
    pub types: Vec<SqlType>,
    /// The orders that the key says.
    pub orders: Vec<PartOrder>,
    /// Which of the columns have another order by themselves, and which of these tell apart what others do not.
    otherwise: Vec<(bool, bool)>,
    /// The partitions (P1).
    pub partitions: Vec<Arc<TableDef>>,
}

/// In which order the values of a part of a key are, beside what its type says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartOrder {
    /// COLLATE, where it is not the collation that the column or expression has anyhow.
    pub collation: Option<Arc<Collation>>,
    /// The operator class.
    pub class: KeyClass,
}

impl PartOrder {
    /// The type of values in this order.
    pub fn of(&self, ty: &SqlType) -> SqlType {
        let base = || ty.uncollated().clone();
        match (self.class, &self.collation) {
            // By bytes, whatever the collation.
            (KeyClass::TextPattern | KeyClass::VarcharPattern | KeyClass::BpcharPattern, _) => base(),
            (_, Some(collation)) => {
                SqlType::Collated(Arc::new(CollatedType { base: base(), collation: Arc::clone(collation) }))
            }
            _ => ty.clone(),
        }
    }
}

/// A value of a key, as partitions are compared with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyValue {
    /// NULL.
    Null,
    /// The bytes of a key.
    Key(Vec<u8>),
}

impl KeyValue {
    /// The bytes, of a value.
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            KeyValue::Null => None,
            KeyValue::Key(bytes) => Some(bytes),
        }
    }
}

/// A value of a type as the key of a partition.
///
/// # Errors
/// 42704 for a type without an order; 0A000 for arrays of texts that are not compared by their bytes; XX001 for a value of another type.
pub fn key_value(value: &Value, ty: &SqlType) -> Result<KeyValue, TypeError> {
    if value.is_null() {
        return Ok(KeyValue::Null);
    }
    let key = KeyType::of(ty).ok_or_else(|| {
        TypeError::new("42704", format!("data type {} has no default operator class", ty.pg_name()))
    })?;
    let (base, mut bytes) = (ty.erased(), Vec::new());
    // `citext` says itself how its values are compared.
    let key = match base.own_collation() {
        Some(own) => key.collated(own.collator).ok_or_else(|| {
            TypeError::new("0A000", format!("partition keys of type {} are not supported", ty.pg_name()))
        })?,
        None => key,
    };
    KeyOrder::ascending(key).encode_value(value, &base, &mut bytes)?;
    Ok(KeyValue::Key(bytes))
}

impl Partitioned {
    /// A table of these columns that is divided by some of them.
    pub fn new(
        strategy: Strategy,
        columns: Vec<u16>,
        of: &[ColumnDef],
        mut partitions: Vec<Arc<TableDef>>,
    ) -> Partitioned {
        let ty =
            |id: &u16| of.iter().find(|column| column.id == *id).map_or(SqlType::Unknown, ColumnDef::seen);
        let types: Vec<SqlType> = columns.iter().map(ty).collect();
        partitions.sort_by(|one, other| match (bound_of(one), bound_of(other)) {
            (Some(one), Some(other)) => one.order(other),
            _ => Ordering::Equal,
        });
        let orders = vec![PartOrder::default(); columns.len()];
        let otherwise = vec![(false, false); columns.len()];
        Partitioned { strategy, columns, types, orders, otherwise, partitions }
    }

    /// The same with a key in these orders.
    #[must_use]
    pub fn in_orders(mut self, orders: &[PartOrder], of: &[ColumnDef]) -> Partitioned {
        let collator = |ty: &SqlType| ty.collation().and_then(|one| one.collator);
        for (at, order) in orders.iter().enumerate().take(self.columns.len()) {
            let own = of.iter().find(|column| column.id == self.columns[at]).map(ColumnDef::seen);
            let own = own.unwrap_or(SqlType::Unknown);
            self.types[at] = order.of(&own);
            let (by_itself, in_key) = (collator(&own), collator(&self.types[at]));
            let is_coarse = by_itself.is_some_and(|collator| !collator.is_deterministic());
            self.otherwise[at] = (by_itself != in_key, by_itself != in_key && is_coarse);
            self.orders[at] = order.clone();
        }
        self
    }

    /// Whether what a comparison says of the part of the key at a place says which partitions have the rows: of equal values, or of
    /// less and greater ones.
    pub fn is_told(&self, at: usize, ranges: bool) -> bool {
        self.otherwise.get(at).is_none_or(|(differs, is_coarse)| if ranges { !differs } else { !is_coarse })
    }

    /// The default partition, and its place.
    pub fn default_partition(&self) -> Option<(usize, &Arc<TableDef>)> {
        let last = self.partitions.last().filter(|last| bound_of(last) == Some(&Bound::Default))?;
        Some((self.partitions.len() - 1, last))
    }

    /// The partitions that have bounds.
    fn bounded(&self) -> &[Arc<TableDef>] {
        &self.partitions[..self.default_partition().map_or(self.partitions.len(), |(at, _)| at)]
    }

    /// The place of the partition that a row with these values of the key belongs to.
    ///
    /// # Errors
    /// Those of [`key_value`].
    pub fn route(&self, values: &[Value]) -> Result<Option<usize>, TypeError> {
        let found = match self.strategy {
            Strategy::Hash => {
                let hash = hash::of_row(values, &self.types)?;
                self.partitions.iter().position(|one| bound_of(one).is_some_and(|bound| bound.has_hash(hash)))
            }
            Strategy::List => {
                let (Some(value), Some(ty)) = (values.first(), self.types.first()) else { return Ok(None) };
                self.with_value(&key_value(value, ty)?)
            }
            Strategy::Range => {
                let mut key = Vec::with_capacity(values.len());
                for (value, ty) in values.iter().zip(&self.types) {
                    match key_value(value, ty)? {
                        KeyValue::Key(bytes) => key.push(bytes),
                        // only the default partition has rows without a key
                        KeyValue::Null => return Ok(self.default_partition().map(|(at, _)| at)),
                    }
                }
                self.with_key(&key)
            }
        };
        Ok(found.or_else(|| self.default_partition().map(|(at, _)| at)))
    }

    /// Whether a row with these values of the key belongs to a partition of that bound.
    ///
    /// # Errors
    /// Those of [`key_value`].
    pub fn belongs(&self, values: &[Value], bound: &Bound) -> Result<bool, TypeError> {
        let keys = values.iter().zip(&self.types).map(|(value, ty)| key_value(value, ty));
        Ok(match bound {
            Bound::Default => false,
            Bound::Hash { .. } => bound.has_hash(hash::of_row(values, &self.types)?),
            Bound::List(_) => match keys.take(1).next() {
                Some(value) => bound.lists(&value?),
                None => false,
            },
            Bound::Range { from, to } => {
                let mut key = Vec::with_capacity(values.len());
                for value in keys {
                    let KeyValue::Key(bytes) = value? else { return Ok(false) };
                    key.push(bytes);
                }
                bound::compare(from, &key) != Ordering::Greater
                    && bound::compare(to, &key) == Ordering::Greater
            }
        })
    }

    /// The partition that lists a value. They are ordered by the least value that each lists, and may interleave.
    fn with_value(&self, value: &KeyValue) -> Option<usize> {
        self.partitions.iter().position(|one| bound_of(one).is_some_and(|bound| bound.lists(value)))
    }

    /// The partition whose range has a key.
    fn with_key(&self, key: &[Vec<u8>]) -> Option<usize> {
        let bounded = self.bounded();
        let after = |one: &Arc<TableDef>| match bound_of(one) {
            Some(Bound::Range { from, .. }) => bound::compare(from, key) != Ordering::Greater,
            _ => false,
        };
        let at = bounded.partition_point(after).checked_sub(1)?;
        let Some(Bound::Range { to, .. }) = bound_of(&bounded[at]) else { return None };
        (bound::compare(to, key) == Ordering::Greater).then_some(at)
    }

    /// The partition with which a new one of that bound would have rows in common.
    pub fn overlapped(&self, new: &Bound) -> Option<&Arc<TableDef>> {
        self.partitions.iter().find(|one| bound_of(one).is_some_and(|bound| bound.overlaps(new)))
    }

    /// The places of the partitions that may have rows whose first column of the key is one of these values; all of
    /// them where nothing is known of single values.
    pub fn with_first(&self, values: &[KeyValue]) -> Vec<usize> {
        let fits = |at: &usize| {
            values.iter().any(|value| match (bound_of(&self.partitions[*at]), value) {
                (Some(bound @ Bound::List(_)), value) => bound.lists(value),
                (Some(bound @ Bound::Range { .. }), KeyValue::Key(key)) => {
                    bound.first_within(Some(key), Some(Upper { key, is_included: true }))
                }
                (Some(Bound::Range { .. }), KeyValue::Null) => false,
                (Some(Bound::Default), value) if self.columns.len() == 1 => {
                    // the default partition has what no other one has
                    let one = match (self.strategy, value) {
                        (Strategy::List, value) => self.with_value(value),
                        (_, KeyValue::Key(key)) => self.with_key(std::slice::from_ref(key)),
                        (_, KeyValue::Null) => None,
                    };
                    one.is_none()
                }
                _ => true,
            })
        };
        (0..self.partitions.len()).filter(fits).collect()
    }

    /// The places of those whose first column of the key may lie between these values; NULLs do not. The default partition is none of
    /// them where the others have all that is between.
    fn within(&self, lower: Option<&[u8]>, upper: Option<Upper<'_>>) -> Vec<usize> {
        let fits = |at: &usize| match bound_of(&self.partitions[*at]) {
            Some(Bound::Default) => !self.has_all_between(lower, upper),
            Some(bound) => bound.first_within(lower, upper),
            None => true,
        };
        (0..self.partitions.len()).filter(fits).collect()
    }

    /// Whether ranges of the one column of the key leave no gap between these values.
    fn has_all_between(&self, lower: Option<&[u8]>, upper: Option<Upper<'_>>) -> bool {
        if self.columns.len() != 1 {
            return false;
        }
        // Up to here, which is not part of it, there is no gap.
        let mut end: Option<&Edge> = None;
        for partition in &self.partitions {
            let Some(Bound::Range { from, to }) = bound_of(partition) else { continue };
            let ([from], [to]) = (&from[..], &to[..]) else { return false };
            let joins = match (end, lower) {
                (Some(end), _) => {
                    bound::order(std::slice::from_ref(end), std::slice::from_ref(from)) == Ordering::Equal
                }
                (None, Some(lower)) => from.compare(lower) != Ordering::Greater,
                (None, None) => *from == Edge::Min,
            };
            if end.is_none() && lower.is_some_and(|lower| to.compare(lower) != Ordering::Greater) {
                continue;
            }
            if !joins {
                return false;
            }
            let is_behind = |upper: Upper<'_>| match to.compare(upper.key) {
                Ordering::Greater => true,
                Ordering::Equal => !upper.is_included,
                Ordering::Less => false,
            };
            if *to == Edge::Max || upper.is_some_and(is_behind) {
                return true;
            }
            end = Some(to);
        }
        false
    }
}

/// The bound of a partition.
fn bound_of(table: &TableDef) -> Option<&Bound> {
    table.partition_of.as_ref().map(|of| &of.bound)
}

impl TableDef {
    /// Whether the key by which it is divided has the column of that number.
    pub fn is_divided_by(&self, column: u16) -> bool {
        self.partitioned.as_ref().is_some_and(|partitioned| partitioned.columns.contains(&column))
    }

    /// The columns that its key reads: those of the key, and those that its expressions name.
    pub fn divided_by(&self) -> Vec<u16> {
        let mut read = Vec::new();
        for id in self.partitioned.iter().flat_map(|partitioned| &partitioned.columns) {
            match self.column_with_id(*id).map(|at| &self.columns[at]) {
                Some(column) if column.is_hidden() => {
                    read.extend(column.default.iter().flat_map(|text| self.named_in(text)));
                }
                Some(column) => read.push(column.id),
                None => {}
            }
        }
        read
    }

    /// The tables that have its rows, in the order of their bounds: itself where it is not partitioned.
    pub fn leaves(self: &Arc<TableDef>) -> Vec<Arc<TableDef>> {
        let mut leaves = Vec::new();
        let mut open = vec![Arc::clone(self)];
        while let Some(table) = open.pop() {
            match &table.partitioned {
                Some(partitioned) => open.extend(partitioned.partitions.iter().rev().cloned()),
                None => leaves.push(table),
            }
        }
        leaves
    }

    /// Which of its columns a column of the table is that it is a part of, or the other way round. Those that indexes need alone
    /// have names of no meaning.
    pub fn column_like(&self, other: &TableDef, at: usize) -> Option<usize> {
        let column = other.columns.get(at)?;
        match column.is_hidden() {
            false => self.column(&column.name),
            true if column.default.is_none() => None,
            true => self
                .columns
                .iter()
                .position(|own| own.is_hidden() && own.default == column.default && own.ty == column.ty),
        }
    }

    /// Its partitions, by number, with what each of them takes.
    pub fn bounds(&self) -> impl Iterator<Item = (Oid, Option<&Bound>)> {
        let all = self.partitioned.iter().flat_map(|partitioned| &partitioned.partitions);
        all.map(|part| (part.oid, part.partition_of.as_ref().map(|of| &of.bound)))
    }

    /// It and all partitions below it, each before its own; those of one table by their numbers.
    pub fn with_partitions(self: &Arc<TableDef>) -> Vec<Arc<TableDef>> {
        let mut all = vec![Arc::clone(self)];
        let mut next = 0;
        while let Some(partitioned) = all.get(next).map(|table| table.partitioned.clone()) {
            next += 1;
            let first = all.len();
            all.extend(partitioned.iter().flat_map(|it| it.partitions.iter().cloned()));
            all[first..].sort_by_key(|part| part.oid);
        }
        all
    }
}

#[cfg(test)]
mod tests;
