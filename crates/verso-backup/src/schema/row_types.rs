//! What is made of the row types of tables and views, and therefore behind these.
//!
//! ```text
//! types, functions ─► tables ─► types, tables and views over their rows, in order ─► functions over rows ─► …rows… ─► views ─► functions over theirs
//! ```
//!
//! A function whose body is SQL's own is bound when it is made, so it is made behind the relations that its body names, too.
//! A view may read what is made behind the tables: functions over their rows, keys. One whose rows columns hold is therefore made
//! twice, first with its columns and nothing in them, then as it is, as `pg_dump` does.

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, FunctionDef, FunctionReturn, Need, Oid, TableDef, TypeDef, ViewDef, relations_in,
};
use verso_types::SqlType;

use crate::error::BackupError;

/// A type or a table that waits for the tables whose rows it is made of.
pub(super) enum Waiting {
    Type(Arc<TypeDef>),
    Table(Arc<TableDef>),
    /// A view, with nothing but its columns.
    View(Arc<ViewDef>),
}

impl Waiting {
    fn needs(&self) -> Vec<Oid> {
        match self {
            Waiting::Type(ty) => rows_in(&ty.ty),
            Waiting::Table(table) => {
                table.shown().iter().flat_map(|column| rows_in(column.declared())).collect()
            }
            Waiting::View(view) => {
                view.columns.iter().flat_map(|column| rows_in(column.declared())).collect()
            }
        }
    }

    fn name(&self) -> String {
        match self {
            Waiting::Type(ty) => format!("type {}.{}", ty.schema, ty.name),
            Waiting::Table(table) => format!("table {}.{}", table.schema, table.name),
            Waiting::View(view) => format!("view {}.{}", view.schema, view.name),
        }
    }
}

/// The relations whose row types a type is made of.
pub(super) fn rows_in(ty: &SqlType) -> Vec<Oid> {
    let mut found = Vec::new();
    relations_in(ty, &mut found);
    found
}

/// The relations whose row types a function takes or gives.
pub(super) fn rows_of(function: &FunctionDef) -> Vec<Oid> {
    let mut found = Vec::new();
    function.args.iter().for_each(|arg| relations_in(&arg.ty, &mut found));
    match &function.returns {
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => relations_in(ty, &mut found),
        FunctionReturn::Table(columns) => columns.iter().for_each(|(_, ty)| relations_in(ty, &mut found)),
        FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => {}
    }
    found
}

/// The relations that have to be there before a function is made: those whose row types it takes or gives, and those that its
/// body reads or changes where that is SQL's own, which is bound at once; also by way of functions that the body calls.
pub(super) fn relations_of(catalog: &CatalogSnapshot, function: &FunctionDef) -> Vec<Oid> {
    let (mut found, mut seen) = (Vec::new(), HashSet::from([function.oid]));
    let mut open = vec![function];
    while let Some(function) = open.pop() {
        found.extend(rows_of(function));
        for need in &function.needs {
            match *need {
                Need::Relation(oid) if !oid.is_system() => found.push(oid),
                Need::Function(oid) if seen.insert(oid) => {
                    open.extend(catalog.function_by_oid(oid).map(|function| &**function));
                }
                _ => {}
            }
        }
    }
    found
}

/// Does a function need a view, which is made behind all rows?
pub(super) fn needs_view(catalog: &CatalogSnapshot, function: &FunctionDef) -> bool {
    relations_of(catalog, function).into_iter().any(|oid| is_view(catalog, oid))
}

fn is_view(catalog: &CatalogSnapshot, oid: Oid) -> bool {
    catalog.table_by_oid(oid).is_none_or(|table| table.materialized.is_some())
}

/// The views whose rows are in columns and types, and in the columns of such views.
pub(super) fn views_among(catalog: &CatalogSnapshot, waiting: &[Waiting]) -> Vec<Arc<ViewDef>> {
    let mut wanted: Vec<Oid> = waiting.iter().flat_map(Waiting::needs).collect();
    let mut views: Vec<Arc<ViewDef>> = Vec::new();
    while let Some(oid) = wanted.pop() {
        let Some(view) =
            catalog.view_by_oid(oid).filter(|view| views.iter().all(|known| known.oid != view.oid))
        else {
            continue;
        };
        wanted.extend(Waiting::View(Arc::clone(&view)).needs());
        views.push(view);
    }
    views.sort_by_key(|view| view.oid);
    views
}

/// What waits, each behind what it is made of, where these tables are made already.
///
/// # Errors
/// `Refused` where it is made of what is not made before it: the rows of a materialized view, or of a table or view that is not
/// among those chosen.
pub(super) fn in_order(mut waiting: Vec<Waiting>, made: HashSet<Oid>) -> Result<Vec<Waiting>, BackupError> {
    let (mut made, mut ordered) = (made, Vec::new());
    // A composite type of users that waits, too, is found by the tables that it is made of.
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut later = Vec::new();
        for one in waiting {
            if !one.needs().iter().all(|oid| made.contains(oid)) {
                later.push(one);
                continue;
            }
            match &one {
                Waiting::Table(table) => drop(made.insert(table.oid)),
                Waiting::View(view) => drop(made.insert(view.oid)),
                Waiting::Type(_) => {}
            }
            ordered.push(one);
        }
        if later.len() == before {
            let text =
                "is made of the rows of a materialized view, or of a table or view that is not saved with it";
            return Err(BackupError::Refused(format!("{} {text}", later[0].name())));
        }
        waiting = later;
    }
    Ok(ordered)
}
