//! Several columns of a table that get other types in one statement. Each change copies the rows, so that the next one finds them
//! as they are then; USING means them as they were before the statement.
//!
//! B1. What a later USING reads of a column that changes before it stands in a further column from before the first change
//!     ([`value_before`]), which goes when all is done.
//!
//! Source: PostgreSQL 18, `ATPrepAlterColumnType` in `tablecmds.c`, where all of them are computed of the old row.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_catalog::{NewColumn, TableChange, TableDef};
use verso_exec::plan::TypedExpr;
use verso_parser::syntax::{AlterAction, AlterTable, Name, QualifiedName};
use verso_planner::bind::{Binder, columns_of, value_before};
use verso_planner::errors::{SqlError, sqlstate};

use super::Schema;
use super::index::named;
use super::lock_modes::mode_of;
use crate::failure::Failure;

impl Schema<'_> {
    /// Keeps what columns are that change before another one's USING reads them (B1); the names of these columns.
    ///
    /// # Errors
    /// 0A000 for a column that gets two types; those of binding USING, and of copying the rows.
    pub(super) fn keep_before_types(
        &self,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        actions: &[AlterAction],
    ) -> Result<Vec<Name>, Failure> {
        let changes = |action: &&AlterAction| matches!(action, AlterAction::ColumnType { .. });
        let changes: Vec<&AlterAction> = actions.iter().filter(changes).collect();
        if changes.len() < 2 {
            return Ok(Vec::new());
        }
        let mut changed: Vec<usize> = Vec::new();
        let mut retyped = BTreeSet::new();
        let mut kept = BTreeSet::new();
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        for action in &changes {
            let AlterAction::ColumnType { column, ty, using } = action else { continue };
            let ty = binder.data_type(ty)?;
            if let Some(using) = using.as_ref().filter(|_| !changed.is_empty()) {
                let read = columns_of(&binder.conversion(using, table, &ty)?);
                kept.extend(changed.iter().copied().filter(|at| read.contains(at)));
            }
            let Some(at) = table.column(&column.text) else { continue };
            if retyped.contains(&at) {
                let text = format!("cannot alter type of column \"{}\" twice", column.text);
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
            }
            // USING alone may be said twice: the last one holds.
            if ty != table.columns[at].seen() {
                retyped.insert(at);
            }
            changed.push(at);
        }
        let all = if kept.is_empty() { Vec::new() } else { table.with_partitions() };
        for table in &all {
            self.frame.tables().lock(table, mode_of(changes[0]))?;
        }
        let mut names = Vec::new();
        for at in kept {
            let column = &table.columns[at];
            let before = value_before(&column.name);
            for part in &all {
                let own = named(part, name);
                let change = TableChange::AddColumn(NewColumn::new(before.as_str(), column.seen()));
                let value = |old: &TableDef| {
                    let at = old.column(&column.name);
                    Ok(at.map(|at| TypedExpr::column(at, old.columns[at].seen())))
                };
                self.frame.inside(|frame| Schema { frame }.rewrite(&own, &change, value).map(drop))?;
            }
            names.push(Name { text: before, at: name.at() });
        }
        Ok(names)
    }

    /// Drops what [`Schema::keep_before_types`] has kept.
    ///
    /// # Errors
    /// Those of copying the rows.
    pub(super) fn drop_kept(
        &self,
        name: &QualifiedName,
        kept: Vec<Name>,
        alter: &AlterTable,
    ) -> Result<(), Failure> {
        kept.into_iter().try_for_each(|column| {
            let action = AlterAction::DropColumn { column, if_exists: false, cascade: false };
            self.frame.inside(|frame| Schema { frame }.alter_whole(name, &action, alter))
        })
    }
}
