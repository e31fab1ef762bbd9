//! Foreign keys of a partitioned table: each partition has a part of them, which is checked for its rows.

use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, ConstraintDef, ConstraintKind, ForeignKey, NewConstraint, NewConstraintKind,
    ReferentialAction, TableChange, TableDef, TableOptions,
};
use verso_parser::syntax::QualifiedName;
use verso_planner::bind::Binder;
use verso_planner::errors::SqlError;

use super::super::Schema;
use crate::failure::Failure;

/// A foreign key of a table, for a new partition of it.
pub(super) fn key_of_part(
    catalog: &CatalogSnapshot,
    whole: &TableDef,
    constraint: &ConstraintDef,
) -> Option<NewConstraint> {
    let ConstraintKind::Foreign(key) = &constraint.kind else { return None };
    let names = |table: &TableDef, ids: &[u16]| {
        let name = |id: &u16| table.column_with_id(*id).map(|at| Arc::clone(&table.columns[at].name));
        ids.iter().map(name).collect::<Option<Vec<_>>>()
    };
    let referenced = catalog.table_by_oid(key.referenced)?;
    Some(NewConstraint {
        name: Some(Arc::clone(&constraint.name)),
        kind: NewConstraintKind::Foreign {
            columns: names(whole, &key.columns)?,
            schema: Some(Arc::clone(&referenced.schema)),
            table: Arc::clone(&referenced.name),
            referenced: names(&referenced, &key.referenced_columns)?,
            period: (key.period, key.period),
            match_full: key.match_full,
            on_delete: key.on_delete,
            on_update: key.on_update,
            delete_columns: names(whole, &key.delete_columns)?,
        },
        deferrable: constraint.deferrable,
        initially_deferred: constraint.initially_deferred,
        validated: constraint.validated,
        enforced: constraint.enforced,
        part_of: Some(constraint.oid),
        no_inherit: false,
        options: TableOptions::default(),
    })
}

/// Whether a foreign key of a partition says what that of the whole table does.
fn is_same(part: &TableDef, own: &ConstraintDef, whole: &TableDef, of: &ConstraintDef) -> bool {
    let (ConstraintKind::Foreign(key), ConstraintKind::Foreign(like)) = (&own.kind, &of.kind) else {
        return false;
    };
    let map = |ids: &[u16]| ids.iter().map(|id| part.column_of(whole, *id)).collect::<Option<Vec<_>>>();
    let columns = (map(&like.columns), map(&like.delete_columns));
    let (Some(columns), Some(delete_columns)) = columns else { return false };
    // Which triggers are disabled is a matter of the day.
    let like = ForeignKey {
        columns,
        delete_columns,
        index: key.index,
        unchecked: key.unchecked,
        unguarded: key.unguarded,
        ..like.clone()
    };
    own.part_of.is_none()
        && *key == like
        && (own.deferrable, own.initially_deferred, own.enforced, own.validated)
            == (of.deferrable, of.initially_deferred, of.enforced, of.validated)
}

/// Refuses a foreign key of a partitioned table that would have to move rows to other partitions.
pub(in crate::ddl) fn refuse_moves(key: &[&str], kind: &NewConstraintKind) -> Result<(), SqlError> {
    let NewConstraintKind::Foreign { columns, on_delete, on_update, delete_columns, .. } = kind else {
        return Ok(());
    };
    let sets = |action: &ReferentialAction| {
        matches!(action, ReferentialAction::SetNull | ReferentialAction::SetDefault)
    };
    let has = |columns: &[Arc<str>]| columns.iter().any(|column| key.contains(&&**column));
    let deleted = if delete_columns.is_empty() { columns } else { delete_columns };
    let moved = match () {
        () if has(columns) && (sets(on_update) || *on_update == ReferentialAction::Cascade) => "ON UPDATE",
        () if has(deleted) && sets(on_delete) => "ON DELETE",
        () => return Ok(()),
    };
    let text = format!("{moved} of a foreign key that changes columns by which its table is divided");
    Err(SqlError::unsupported(text))
}

impl Schema<'_> {
    /// Gives a partition the foreign keys that the table has which it is a part of: its own ones that say the same, or new ones,
    /// which are checked for its rows.
    pub(in crate::ddl) fn take_foreign_keys(&self, name: &QualifiedName) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let binder = Binder::new(catalog, &self.frame.services.settings.time_zone, &[]);
        let part = binder.table(name)?;
        let whole = part.partition_of.as_ref().and_then(|of| catalog.table_by_oid(of.parent));
        let Some(whole) = whole else { return Ok(()) };
        for constraint in &whole.constraints {
            let Some(mut new) = key_of_part(catalog, &whole, constraint) else { continue };
            if part.constraints.iter().any(|own| own.part_of == Some(constraint.oid)) {
                continue;
            }
            if let Some(own) = part.constraints.iter().find(|own| is_same(&part, own, &whole, constraint)) {
                let catalog = &self.frame.services.instance.catalog;
                catalog.attach_foreign_key(&mut self.frame.txn.borrow_mut(), own, constraint.oid)?;
                continue;
            }
            new.name = new.name.filter(|name| part.constraint(name).is_none());
            self.frame.inside_now(|frame| Schema { frame }.alter(name, &TableChange::AddConstraint(new)))?;
            if constraint.validated {
                self.frame.inside_now(|frame| {
                    let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
                    let part = binder.table(name)?;
                    let added = part.constraints.iter().find(|own| own.part_of == Some(constraint.oid));
                    added.map_or(Ok(()), |added| Schema { frame }.check_rows(&binder, &part, added))
                })?;
            }
        }
        Ok(())
    }
}
