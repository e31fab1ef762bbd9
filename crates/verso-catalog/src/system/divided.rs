//! Rows about partitions to definitions: each table gets its partitions, which have to be whole before it.

use std::collections::HashMap;
use std::sync::Arc;

use verso_types::SqlType;

use super::collated::Collated;
use super::row::{InheritsRow, PartitionedRow};
use crate::damage::Flaws;
use crate::definition::{ColumnDef, Oid, TableDef};
use crate::error::CatalogError;
use crate::key_class::KeyClass;
use crate::partition::{Bound, PartOrder, PartitionOf, Partitioned, Strategy};

/// Partitions may be partitioned themselves, so many times.
const LEVELS_MAX: usize = 100;

/// The tables of a catalog while it is put together.
#[derive(Default)]
pub(super) struct Divided {
    tables: Vec<TableDef>,
    divided: HashMap<Oid, PartitionedRow>,
    parents: HashMap<Oid, InheritsRow>,
    children: HashMap<Oid, Vec<Oid>>,
}

impl Divided {
    /// What the system tables say.
    pub fn of(divided: Vec<PartitionedRow>, inherits: Vec<InheritsRow>, flaws: &Flaws) -> Divided {
        let mut all = Divided::default();
        for row in inherits {
            all.children.entry(row.inhparent).or_default().push(row.inhrelid);
            all.parents.insert(row.inhrelid, row);
        }
        all.divided.extend(divided.into_iter().map(|row| (row.partrelid, row)));
        for parent in all.children.keys().filter(|parent| !all.divided.contains_key(parent)) {
            flaws.note(*parent, "it has partitions and no key");
        }
        all
    }

    /// Whether a row is about an index that is a part of one of the whole table: that has no bound.
    pub fn is_of_index(row: &InheritsRow) -> bool {
        row.bound.is_empty()
    }

    /// Adds a table, which does not know its partitions yet.
    pub fn add(&mut self, table: TableDef) {
        self.tables.push(table);
    }

    /// Hands out all tables, partitions before what they are a part of. Where it cannot be read how a table is divided, it and all
    /// that is below it are tables of their own, and damaged: nobody knows where a row belongs.
    pub fn finish(
        mut self,
        collated: &Collated,
        flaws: &Flaws,
        hand_out: &mut dyn FnMut(TableDef) -> Arc<TableDef>,
    ) {
        let mut waiting: HashMap<Oid, TableDef> = HashMap::new();
        for table in std::mem::take(&mut self.tables) {
            let partition = self.parents.contains_key(&table.oid) || self.divided.contains_key(&table.oid);
            match partition {
                true => drop(waiting.insert(table.oid, table)),
                false => drop(hand_out(table)),
            }
        }
        let mut roots: Vec<Oid> =
            waiting.keys().filter(|oid| !self.parents.contains_key(oid)).copied().collect();
        roots.sort();
        for root in roots {
            let mut handed: Vec<Arc<TableDef>> = Vec::new();
            let mut keep = |table: TableDef| {
                let table = hand_out(table);
                handed.push(Arc::clone(&table));
                table
            };
            let found = self.finish_one(root, (None, collated, flaws), LEVELS_MAX, &mut waiting, &mut keep);
            let Err(error) = found else { continue };
            let text: Arc<str> =
                format!("it is not known what it is divided by, or a part of: {error}").into();
            let mut alone: Vec<TableDef> = handed.into_iter().map(Arc::unwrap_or_clone).collect();
            alone.extend(self.below(root).iter().filter_map(|oid| waiting.remove(oid)));
            for mut table in alone {
                flaws.note(table.oid, Arc::clone(&text));
                (table.partition_of, table.partitioned) = (None, None);
                hand_out(table);
            }
        }
        let mut left: Vec<TableDef> = waiting.into_values().collect();
        left.sort_by_key(|table| table.oid);
        for table in left {
            flaws.note(table.oid, "it is a partition of a table that there is not, or of itself");
            hand_out(table);
        }
    }

    /// A table and all that is below it, each once.
    fn below(&self, root: Oid) -> Vec<Oid> {
        let (mut all, mut next) = (vec![root], 0);
        while let Some(oid) = all.get(next).copied() {
            next += 1;
            for child in self.children.get(&oid).into_iter().flatten() {
                if !all.contains(child) {
                    all.push(*child);
                }
            }
        }
        all
    }

    /// A table with its partitions; where that fails it waits again.
    fn finish_one(
        &self,
        oid: Oid,
        whole: (Option<(&TableDef, &[SqlType])>, &Collated, &Flaws),
        levels: usize,
        waiting: &mut HashMap<Oid, TableDef>,
        hand_out: &mut dyn FnMut(TableDef) -> Arc<TableDef>,
    ) -> Result<Arc<TableDef>, CatalogError> {
        let missing = || corrupt(format!("partition {oid} has no row in pg_class"));
        let levels = levels.checked_sub(1).ok_or_else(|| corrupt("partitions nest too deeply".to_owned()))?;
        let mut table = waiting.remove(&oid).ok_or_else(missing)?;
        match self.complete(&mut table, whole, levels, waiting, hand_out) {
            Ok(()) => Ok(hand_out(table)),
            Err(error) => {
                waiting.insert(oid, table);
                Err(error)
            }
        }
    }

    /// Gives a table its bound and its partitions.
    fn complete(
        &self,
        table: &mut TableDef,
        (whole, collated, flaws): (Option<(&TableDef, &[SqlType])>, &Collated, &Flaws),
        levels: usize,
        waiting: &mut HashMap<Oid, TableDef>,
        hand_out: &mut dyn FnMut(TableDef) -> Arc<TableDef>,
    ) -> Result<(), CatalogError> {
        let oid = table.oid;
        if let (Some(row), Some((whole, types))) = (self.parents.get(&oid), whole) {
            let bound = Bound::read(&row.bound, types)?;
            table.partition_of = Some(PartitionOf { parent: row.inhparent, bound });
            let keys = whole.referenced_by.iter().filter_map(|key| key.on_partition(whole, table));
            let keys: Vec<_> = keys.map(Arc::new).collect();
            table.referenced_by.extend(keys);
        }
        if let Some(row) = self.divided.get(&oid) {
            let (key, classes) = key_of(row, &table.columns)?;
            let order =
                |(number, class): (i32, _)| PartOrder { collation: collated.of_part(oid, -number), class };
            let orders: Vec<PartOrder> = (1..).zip(classes).map(order).collect();
            let strategy = Strategy::from_letter(row.partstrat.0)
                .ok_or_else(|| corrupt(format!("table {oid} is divided in an unknown way")))?;
            let own = Partitioned::new(strategy, key, &table.columns, Vec::new());
            let own = own.in_orders(&orders, &table.columns);
            let mut partitions = Vec::new();
            for child in self.children.get(&oid).into_iter().flatten() {
                let whole = (Some((&*table, own.types.as_slice())), collated, flaws);
                let part = self.finish_one(*child, whole, levels, waiting, hand_out)?;
                // Whoever reads the table reads its partitions.
                if flaws.has(part.oid) {
                    flaws.note(oid, format!("its partition \"{}\" is damaged", part.name));
                }
                partitions.push(part);
            }
            let whole = Partitioned::new(strategy, own.columns, &table.columns, partitions);
            table.partitioned = Some(whole.in_orders(&orders, &table.columns));
        }
        Ok(())
    }
}

/// The columns of a key, by number, and their classes.
fn key_of(row: &PartitionedRow, columns: &[ColumnDef]) -> Result<(Vec<u16>, Vec<KeyClass>), CatalogError> {
    let (numbers, classes): (Vec<i16>, Vec<i16>) = match row.partattrs.iter().any(|number| *number < 0) {
        true => {
            let (numbers, classes) = row.partattrs.split_at(row.partattrs.len() / 2);
            (numbers.to_vec(), classes.to_vec())
        }
        false => (row.partattrs.clone(), vec![0; row.partattrs.len()]),
    };
    let class = |code: &i16| u8::try_from(code.unsigned_abs()).ok().and_then(KeyClass::from_code);
    let classes: Option<Vec<KeyClass>> = classes.iter().map(class).collect();
    let classes =
        classes.ok_or_else(|| corrupt(format!("table {} is divided in an unknown order", row.partrelid)))?;
    let known = |number: &i16| {
        let id = u16::try_from(*number).ok()?;
        columns.iter().any(|column| column.id == id).then_some(id)
    };
    let key: Option<Vec<u16>> = numbers.iter().map(known).collect();
    key.filter(|key| !key.is_empty())
        .map(|key| (key, classes))
        .ok_or_else(|| corrupt(format!("table {} is divided by columns that it has not", row.partrelid)))
}

fn corrupt(what: String) -> CatalogError {
    CatalogError::Corrupt { what }
}
