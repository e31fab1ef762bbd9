//! CREATE, ALTER and DROP STATISTICS.
//!
//! Statistics go with their table, and with each of its columns that they are about.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::{TableLockMode, Txn};

use super::claim::NameOf;
use super::target_schema;
use crate::catalog::Catalog;
use crate::definition::{ColumnDef, Oid, TableDef};
use crate::error::CatalogError;
use crate::extended::StatisticsDef;
use crate::kept::names_plainly;
use crate::snapshot::CatalogSnapshot;
use crate::system::field::Name;
use crate::system::row::{StatisticExtRow, StatisticRow};

/// What ALTER STATISTICS changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatisticsChange {
    /// RENAME TO.
    Name(Arc<str>),
    /// SET SCHEMA.
    Schema(Arc<str>),
    /// OWNER TO.
    Owner(Oid),
    /// SET STATISTICS.
    Target(Option<u16>),
}

/// The number under which what ANALYZE has found stands among the statistics of the table's columns.
pub(crate) fn number_of_data(oid: Oid) -> i32 {
    -((oid.0 & 0x7fff_ffff).cast_signed())
}

impl Catalog {
    /// Makes statistics; its number is chosen here.
    ///
    /// # Errors
    /// `InvalidDefinition` (42710) where there are some of that name; `Missing` (the schema); storage's.
    pub fn create_statistics(&self, txn: &mut Txn, new: &StatisticsDef) -> Result<Oid, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&new.schema))?;
        self.hold_schema(txn, &schema)?;
        let table = snapshot.table_by_oid(new.table);
        let table =
            table.ok_or_else(|| CatalogError::Corrupt { what: "a table that is not there".into() })?;
        self.lock_definition(txn, &table, &snapshot, TableLockMode::ShareUpdateExclusive)?;
        self.take_statistics_name(txn, &snapshot, &schema.name, &new.name)?;
        let oid = self.new_oid()?;
        let row = StatisticExtRow {
            oid,
            stxrelid: new.table,
            stxname: Name(Arc::clone(&new.name)),
            stxnamespace: schema.oid,
            stxowner: new.owner,
            stxkeys: new.columns.iter().map(|id| i16::try_from(*id).unwrap_or(i16::MAX)).collect(),
            stxstattarget: new.target.map_or(-1, |target| i16::try_from(target).unwrap_or(i16::MAX)),
            stxkind: new.kinds.iter().map(|kind| kind.letter()).collect::<String>().into(),
            stxexprs: (!new.expressions.is_empty()).then(|| new.expressions.clone()),
        };
        self.change(txn, |txn| self.insert_rows(txn, std::slice::from_ref(&row)))?;
        Ok(oid)
    }

    fn take_statistics_name(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        schema: &str,
        name: &str,
    ) -> Result<(), CatalogError> {
        let taken = || {
            let text = format!("statistics object \"{name}\" already exists");
            Err(CatalogError::invalid("42710", text))
        };
        if snapshot.statistics_object(Some(schema), name).is_some() {
            return taken();
        }
        self.lock_name(txn, NameOf::Statistics, [schema, name])?;
        match self.committed()?.statistics_object(Some(schema), name) {
            Some(other) if !self.is_removed(txn, other.oid) => taken(),
            _ => Ok(()),
        }
    }

    /// Changes statistics.
    ///
    /// # Errors
    /// As [`Catalog::create_statistics`].
    pub fn alter_statistics(
        &self,
        txn: &mut Txn,
        statistics: &StatisticsDef,
        change: &StatisticsChange,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let mut place = None;
        match change {
            StatisticsChange::Name(name) => {
                self.take_statistics_name(txn, &snapshot, &statistics.schema, name)?;
            }
            StatisticsChange::Schema(schema) if *schema != statistics.schema => {
                let schema = target_schema(&snapshot, Some(schema))?;
                self.hold_schema(txn, &schema)?;
                self.take_statistics_name(txn, &snapshot, &schema.name, &statistics.name)?;
                place = Some(schema.oid);
            }
            _ => {}
        }
        self.change(txn, |txn| {
            let is_it = |row: &StatisticExtRow| row.oid == statistics.oid;
            self.update_rows(txn, statistics.table, is_it, |row| match change {
                StatisticsChange::Name(name) => row.stxname = Name(Arc::clone(name)),
                StatisticsChange::Schema(_) => row.stxnamespace = place.unwrap_or(row.stxnamespace),
                StatisticsChange::Owner(owner) => row.stxowner = *owner,
                StatisticsChange::Target(target) => {
                    row.stxstattarget = target.map_or(-1, |target| i16::try_from(target).unwrap_or(i16::MAX));
                }
            })
            .map(drop)
        })
    }

    /// Drops statistics.
    ///
    /// # Errors
    /// Storage's.
    pub fn drop_statistics(&self, txn: &mut Txn, statistics: &StatisticsDef) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        if let Some(table) = snapshot.table_by_oid(statistics.table) {
            self.lock_definition(txn, &table, &snapshot, TableLockMode::ShareUpdateExclusive)?;
        }
        self.change(txn, |txn| self.remove_statistics(txn, &[statistics]))
    }

    /// Removes statistics and what ANALYZE has found for them; the change has begun.
    pub(super) fn remove_statistics(
        &self,
        txn: &mut Txn,
        all: &[&StatisticsDef],
    ) -> Result<(), CatalogError> {
        for one in all {
            self.remove_objects(txn, one.table, |row: &StatisticExtRow| row.oid == one.oid)?;
            let number = number_of_data(one.oid);
            let is_its = |row: &StatisticRow| row.starelid == one.table && row.staattnum == number;
            self.delete_rows(txn, one.table, is_its)?;
            self.removes(txn, one.oid)?;
        }
        Ok(())
    }

    /// Removes the statistics that are about a column of a table, or about an expression that names it; the change has begun.
    pub(super) fn remove_statistics_of(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        column: &ColumnDef,
    ) -> Result<(), CatalogError> {
        let names = |text: &Arc<str>| names_plainly(text, &column.name);
        let is_about =
            |one: &&StatisticsDef| one.columns.contains(&column.id) || one.expressions.iter().any(names);
        let all: Vec<&StatisticsDef> = table.extended.iter().map(|one| &**one).filter(is_about).collect();
        self.remove_statistics(txn, &all)
    }

    /// Forgets what ANALYZE has found for statistics about a column whose values become others; the change has begun.
    pub(super) fn forget_statistics_of(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        column: &ColumnDef,
    ) -> Result<(), CatalogError> {
        let names = |text: &Arc<str>| names_plainly(text, &column.name);
        let about = table
            .extended
            .iter()
            .filter(|one| one.columns.contains(&column.id) || one.expressions.iter().any(names));
        let numbers: BTreeSet<i32> = about.map(|one| number_of_data(one.oid)).collect();
        let is_its = |row: &StatisticRow| row.starelid == table.oid && numbers.contains(&row.staattnum);
        self.delete_rows(txn, table.oid, is_its).map(drop)
    }
}
