//! The settings under which the literals of a prepared statement were read.
//!
//! As in PostgreSQL a literal is read once, when the statement is prepared: `t < '2024-01-01 08:00'` stays the same moment when the
//! session goes to another zone, and `now` is when the statement was prepared. A definition that changes something which the statement names has it read anew, under the
//! settings of then; so does another search path. Other definitions change nothing.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, NamesKey, TableDef, ViewDef};
use verso_exec::plan::{Plan, Statement as Bound};
use verso_types::TimeStyle;

/// What the literals of a statement were read under.
#[derive(Clone, Debug)]
pub(super) struct LiteralsRead {
    key: NamesKey,
    style: TimeStyle,
    /// The tables that the statement reads and changes.
    tables: Vec<Arc<TableDef>>,
    /// The views that it names, and those within them.
    views: Vec<Arc<ViewDef>>,
}

impl LiteralsRead {
    /// Those of a statement that was bound now.
    pub fn new(
        bound: &mut Bound,
        views: Vec<Arc<ViewDef>>,
        key: NamesKey,
        style: &TimeStyle,
    ) -> LiteralsRead {
        LiteralsRead { key, style: style.stopped(), tables: tables_of(bound), views }
    }

    /// Under what they are read for this version of the catalog; none where they are read anew.
    pub fn style(&self, catalog: &CatalogSnapshot) -> Option<TimeStyle> {
        let key = catalog.key();
        let is_same = |table: &Arc<TableDef>| {
            catalog.table_by_oid(table.oid).is_some_and(|now| Arc::ptr_eq(&now, table) || *now == **table)
        };
        let shows_same = |view: &Arc<ViewDef>| {
            catalog.view_by_oid(view.oid).is_some_and(|now| Arc::ptr_eq(&now, view) || *now == **view)
        };
        let stays = key.version == self.key.version
            || self.tables.iter().all(is_same) && self.views.iter().all(shows_same);
        (key.path == self.key.path && stays).then(|| self.style.clone())
    }
}

fn tables_of(bound: &mut Bound) -> Vec<Arc<TableDef>> {
    let mut tables: Vec<Arc<TableDef>> = bound.changed_table().cloned().into_iter().collect();
    if let Bound::With(with) = bound {
        tables.extend(with.parts.iter().filter_map(|part| part.statement.changed_table().cloned()));
    }
    for plan in bound.parts_mut().0 {
        plan.any(&mut |part| {
            if let Plan::TableScan { table, .. } | Plan::IndexScan { table, .. } = part {
                tables.push(Arc::clone(table));
            }
            false
        });
    }
    tables
}
