//! Partitions: PARTITION OF, ATTACH and DETACH PARTITION.
//!
//! | module | what it is |
//! |---|---|
//! | [`key`] | PARTITION BY |
//! | [`foreign`] | foreign keys of the whole table |
//! | [`bound`] | FOR VALUES … |
//! | [`alike`] | what a table needs to become a partition |
//! | [`index`] | ALTER INDEX … ATTACH PARTITION |
//! | [`rows`] | rows that would belong elsewhere |
//! | [`allowed`] | what ALTER TABLE may not do |

mod alike;
mod allowed;
mod bound;
mod foreign;
mod index;
mod key;
mod rows;

use std::sync::Arc;

use verso_catalog::{
    IndexDef, NewConstraint, NewConstraintKind, NewTable, PartitionOf, Relation, TableDef, is_temporary,
};
use verso_exec::functions::quote_ident;
use verso_parser::syntax::{self, CreateTable, QualifiedName};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};
use verso_storage::TableLockMode;

pub(super) use self::alike::same_kind;
use self::alike::{check_columns, check_constraints, check_kinship, check_triggers};
use super::Schema;
use super::index::{like_index, named};
use super::like::{copy_columns, copy_constraints, index_statement};
use crate::constraints::check_leaving;
use crate::failure::Failure;

use self::allowed::take_parameters;
pub(super) use self::allowed::{
    refuse_identity_alone, refuse_of_partitions, refuse_parameters, refuse_without_parts,
};
pub(super) use self::foreign::refuse_moves;
pub(super) use self::key::{check_key, check_not_null, divided_by, of_expressions, refuse_period};

fn invalid(text: impl Into<String>) -> SqlError {
    SqlError::new("42P16", text)
}

impl Schema<'_> {
    /// PARTITION OF: what a new table takes over from the one that it is a part of, and its bound.
    pub(in crate::ddl) fn partition_of(
        &self,
        binder: &Binder<'_>,
        create: &CreateTable,
        of: &syntax::PartitionOf,
        place: &str,
        new: &mut NewTable,
    ) -> Result<(), Failure> {
        let found = self.frame.catalog.relation(of.parent.schema_text(), &of.parent.name.text);
        if let Some(Relation::View(view)) = found {
            let text = format!("inherited relation \"{}\" is not a table or foreign table", view.name);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
        }
        let parent = binder.table(&of.parent).map_err(|error| SqlError { position: None, ..error })?;
        self.own_relation(&Relation::Table(Arc::clone(&parent)))?;
        let Some(partitioned) = &parent.partitioned else {
            let text = format!("\"{}\" is not partitioned", parent.name);
            return Err(SqlError::new("42P17", text).into());
        };
        match (is_temporary(place), parent.is_temporary()) {
            (true, false) => {
                let text = "cannot create a temporary relation as partition of permanent relation";
                let text = format!("{text} \"{}\"", parent.name);
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
            }
            (false, true) => {
                let text = "cannot create a permanent relation as partition of temporary relation";
                let text = format!("{text} \"{}\"", parent.name);
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
            }
            _ => {}
        }
        copy_columns(&parent, new, true, None, true, false);
        // Both take their numbers from one sequence.
        for (copy, column) in new.columns.iter_mut().zip(parent.shown()) {
            copy.identity = column.identity;
            copy.default.clone_from(&column.default);
        }
        self.refuse_whole_rows(&parent, true, true)?;
        copy_constraints(&parent, new, true, true, true);
        take_parameters(&parent.options, &mut new.options);
        let name = create.name.name.text.as_str();
        let bound = self.bound(binder, name, &parent, partitioned, of)?;
        // That the name is taken is told first.
        if self.frame.catalog.relation(Some(place), name).is_none() {
            self.refuse_overlap(name, partitioned, of, &bound)?;
        }
        self.frame.tables().lock(&parent, TableLockMode::AccessExclusive)?;
        self.refuse_foreign_rows(&parent, partitioned, &bound)?;
        for constraint in &parent.constraints {
            new.constraints.extend(self::foreign::key_of_part(self.frame.catalog, &parent, constraint));
        }
        new.partition_of = Some(PartitionOf { parent: parent.oid, bound });
        Ok(())
    }

    /// ATTACH PARTITION.
    pub(in crate::ddl) fn attach_partition(
        &self,
        binder: &Binder<'_>,
        table: &Arc<TableDef>,
        partition: &QualifiedName,
        of: &syntax::PartitionOf,
    ) -> Result<(), Failure> {
        let Some(partitioned) = &table.partitioned else { return Err(not_partitioned(table, "ATTACH")) };
        let part = binder.target(partition).map_err(|error| SqlError { position: None, ..error })?;
        self.own_relation(&Relation::Table(Arc::clone(&part)))?;
        if part.of_type().is_some() {
            let text = "cannot attach a typed table as partition";
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
        }
        check_kinship(self.frame.catalog, table, &part)?;
        check_columns(table, &part)?;
        check_constraints(table, &part)?;
        check_triggers(&part)?;
        let bound = self.bound(binder, &part.name, table, partitioned, of)?;
        self.refuse_overlap(&part.name, partitioned, of, &bound)?;
        self.frame.tables().lock(table, TableLockMode::ShareUpdateExclusive)?;
        self.frame.inside_now(|frame| {
            let catalog = &frame.services.instance.catalog;
            let of = PartitionOf { parent: table.oid, bound: bound.clone() };
            Ok(catalog.attach_partition(&mut frame.txn.borrow_mut(), &part, of)?)
        })?;
        for index in &table.indexes {
            self.frame.inside_now(|frame| Schema { frame }.index_of_attached(table, index, partition))?;
        }
        self.frame.inside_now(|frame| {
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            Schema { frame }.triggers_of_partition(table, &binder.table(partition)?)
        })?;
        let name = named(&part, partition);
        for one in part.with_partitions() {
            let name = named(&one, &name);
            self.frame.inside_now(|frame| Schema { frame }.take_foreign_keys(&name))?;
        }
        self.frame.inside_now(|frame| {
            let schema = Schema { frame };
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            for leaf in binder.table(partition)?.leaves() {
                schema.refuse_rows_elsewhere(table, partitioned, &bound, &leaf)?;
            }
            schema.refuse_foreign_rows(table, partitioned, &bound)
        })
    }

    /// What an index of the whole table means for a table that has become a partition: the one that it has, or a new one.
    fn index_of_attached(
        &self,
        table: &TableDef,
        index: &Arc<IndexDef>,
        partition: &QualifiedName,
    ) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let part = binder.table(partition)?;
        if let Some(known) = like_index(&part, index, table) {
            let catalog = &self.frame.services.instance.catalog;
            return Ok(catalog.attach_index(&mut self.frame.txn.borrow_mut(), known, index.oid)?);
        }
        let name = named(&part, partition);
        let Some(constraint) = table.constraints.iter().find(|one| Some(one.oid) == index.constraint) else {
            let target = format!("{}.{}", quote_ident(&part.schema), quote_ident(&part.name));
            return self.run_like(&index_statement(index, table, &target), Some(index.oid));
        };
        if index.excluding.is_some() {
            return self.exclusion_like(index, table, &name);
        }
        let name_of = |id: &u16| table.column_with_id(*id).map(|at| Arc::clone(&table.columns[at].name));
        let new = NewConstraint {
            name: None,
            kind: NewConstraintKind::Unique {
                columns: index.parts.iter().filter_map(|part| name_of(&part.column)).collect(),
                primary: index.primary,
                nulls_distinct: index.nulls_distinct,
                without_overlaps: index.is_temporal(),
                include: index.include.iter().filter_map(name_of).collect(),
            },
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initially_deferred,
            validated: true,
            enforced: true,
            part_of: Some(index.oid),
            no_inherit: false,
            options: index.options.clone(),
        };
        self.key_of_partition(&name, &new, table)
    }

    /// DETACH PARTITION: it is a table like others then, with the indexes and constraints that it has.
    pub(in crate::ddl) fn detach_partition(
        &self,
        binder: &Binder<'_>,
        table: &Arc<TableDef>,
        partition: &QualifiedName,
        later: bool,
    ) -> Result<(), Failure> {
        if table.partitioned.is_none() {
            return Err(not_partitioned(table, "DETACH"));
        }
        if later {
            return Err(SqlError::unsupported("DETACH PARTITION … CONCURRENTLY or FINALIZE").into());
        }
        let part = binder.target(partition).map_err(|error| SqlError { position: None, ..error })?;
        if part.partition_of.as_ref().is_none_or(|of| of.parent != table.oid) {
            let text =
                format!("relation \"{}\" is not a partition of relation \"{}\"", part.name, table.name);
            return Err(SqlError::new(sqlstate::UNDEFINED_TABLE, text).into());
        }
        self.frame.tables().lock(table, TableLockMode::AccessExclusive)?;
        self.frame.inside_now(|frame| check_leaving(frame, &part))?;
        let catalog = &self.frame.services.instance.catalog;
        Ok(catalog.detach_partition(&mut self.frame.txn.borrow_mut(), &part)?)
    }
}

/// 42809: ATTACH and DETACH are for partitioned tables.
fn not_partitioned(table: &TableDef, word: &str) -> Failure {
    let text = format!("ALTER action {word} PARTITION cannot be performed on relation \"{}\"", table.name);
    let detail = "This operation is not supported for tables.";
    SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_detail(detail).into()
}
