//! Pages of system tables that cannot be read: what stands on them is lost, and the database is opened without it.
//!
//! ```text
//! pg_description, pg_statistic: a page is damaged ─► its comments or statistics are gone, everything else goes on
//! any other system table: a page is damaged       ─► what is still known can be read and saved; nothing can be changed (Y2)
//! ```
//!
//! Y1. A page is given up while the database is opened, before anything can be changed, or when Y2 holds already. One that becomes
//!     unreadable later is an error of whoever needs it: what is in memory of the catalog stays whole.
//! Y2. Where rows are gone that definitions are made of, storage refuses every change: nobody knows the columns, keys,
//!     conditions and rights that a change might break, nor the numbers that a new definition might give out again.
//! Y3. What is known without rows is put in their place: the system tables, their schema, the owner of the database. Keys and indexes
//!     with a column that is not known are left out, so that the rest of their tables can be read and saved.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::sync::Mutex;
use verso_storage::StorageError;

use crate::catalog::Catalog;
use crate::definition::{ColumnDef, Oid};
use crate::error::CatalogError;
use crate::snapshot::{CatalogSnapshot, PG_CATALOG, PUBLIC};
use crate::system::assemble::CatalogRows;
use crate::system::field::Name;
use crate::system::row::{DescriptionRow, NamespaceRow, StatisticRow, SystemRow};
use crate::system::{KIND_INDEX, OWNER_OID, PG_CATALOG_OID, PUBLIC_OID, SystemTable, initial};

/// More are not listed.
const PAGES_MAX: usize = 10_000;

/// A page of a system table, or several of them, that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPage {
    /// The system table.
    pub table: &'static str,
    /// What is wrong, with the page's number.
    pub flaw: String,
}

impl fmt::Display for LostPage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "catalog: what {} has on a damaged page is lost (rule Y1): {}", self.table, self.flaw)
    }
}

/// What was given up.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    pages: Mutex<BTreeMap<String, LostPage>>,
    /// Whether the database is open (Y1).
    opened: AtomicBool,
    /// Whether definitions may be missing (Y2).
    incomplete: AtomicBool,
}

/// Whether rows of a system table are a part of no definition.
fn is_beside(table: SystemTable) -> bool {
    [DescriptionRow::TABLE, StatisticRow::TABLE].contains(&table)
}

impl Catalog {
    /// A page of a system table cannot be read: goes on without it, where that may be (Y1).
    pub(crate) fn give_up(&self, table: SystemTable, error: StorageError) -> Result<(), CatalogError> {
        let is_part = !is_beside(table);
        if is_part && self.lost.opened.load(Ordering::Acquire) && !self.is_incomplete() {
            return Err(error.into());
        }
        let flaw = error.to_string();
        let mut pages = self.lost.pages.lock();
        if !pages.contains_key(&flaw) && pages.len() < PAGES_MAX {
            tracing::error!(table = table.name, error = %flaw, "what the catalog has on a damaged page is lost");
            pages.insert(flaw.clone(), LostPage { table: table.name, flaw: flaw.clone() });
        }
        drop(pages);
        if is_part && !self.lost.incomplete.swap(true, Ordering::AcqRel) {
            self.engine.refuse_changes(&format!("the catalog is incomplete ({}: {flaw})", table.name));
        }
        Ok(())
    }

    /// The database is open.
    pub(crate) fn note_opened(&self) {
        self.lost.opened.store(true, Ordering::Release);
    }

    /// Whether rows are gone that definitions are made of, so that nothing can be changed (Y2).
    pub fn is_incomplete(&self) -> bool {
        self.lost.incomplete.load(Ordering::Acquire)
    }

    /// What was lost, told one by one: the pages, and the tables of which not all columns are known.
    pub fn losses(&self, snapshot: &CatalogSnapshot) -> Vec<String> {
        let mut told: Vec<String> = self.lost.pages.lock().values().map(ToString::to_string).collect();
        if !self.is_incomplete() {
            return told;
        }
        for table in snapshot.tables().filter(|table| !table.is_system()) {
            // One that cannot be read is told of by whoever reads it.
            let Ok(heap) = self.engine.heap(table.heap) else { continue };
            let is_known = |id: &u16| {
                table.columns.iter().any(|column| column.id == *id)
                    || table.dropped.iter().any(|column| column.id == *id)
            };
            let ids = heap.columns().iter().map(|column| column.id);
            let unknown: Vec<String> = ids
                .filter(|id| *id < ColumnDef::FIRST_HIDDEN && !is_known(id))
                .map(|id| id.to_string())
                .collect();
            if !unknown.is_empty() {
                let (schema, name) = (crate::ddl::quoted(&table.schema), crate::ddl::quoted(&table.name));
                let columns = unknown.join(", ");
                told.push(format!(
                    "catalog: table {schema}.{name} has columns that are not known any more (rule Y1): {columns}"
                ));
            }
        }
        told
    }
}

/// Puts what is known without rows in their place, and leaves out what is of no use without those that are gone (Y3).
pub(crate) fn mend(rows: &mut CatalogRows) {
    let tables = initial::tables();
    let ours: HashSet<Oid> = tables.iter().map(|shape| shape.table.oid).collect();
    rows.classes.retain(|row| !ours.contains(&row.oid));
    rows.attributes.retain(|row| !ours.contains(&row.attrelid));
    for shape in &tables {
        let (class, attributes) = initial::rows_of(shape);
        rows.classes.push(class);
        rows.attributes.extend(attributes);
    }
    let is_in_public = rows.classes.iter().any(|row| row.relnamespace == PUBLIC_OID)
        || rows.functions.iter().any(|row| row.pronamespace == PUBLIC_OID)
        || rows.types.iter().any(|row| row.typnamespace == PUBLIC_OID);
    for (oid, name, is_wanted) in [(PG_CATALOG_OID, PG_CATALOG, true), (PUBLIC_OID, PUBLIC, is_in_public)] {
        if is_wanted && !rows.namespaces.iter().any(|row| row.oid == oid) {
            rows.namespaces.push(NamespaceRow { oid, nspname: Name(name.into()), nspowner: OWNER_OID });
        }
    }
    if let Some((roles, _)) = &mut rows.roles
        && !roles.iter().any(|row| row.oid == OWNER_OID)
    {
        roles.push(crate::role::owner());
    }
    let live = rows.attributes.iter().filter(|row| !row.attisdropped);
    let columns: HashSet<(Oid, i16)> = live.map(|row| (row.attrelid, row.attnum)).collect();
    let has_all = |table: Oid, ids: &mut dyn Iterator<Item = i16>| {
        ids.filter(|id| *id != 0).all(|id| columns.contains(&(table, id)))
    };
    let classes = rows.classes.iter().filter(|row| row.relkind.0 == KIND_INDEX);
    let classes: HashSet<Oid> = classes.map(|row| row.oid).collect();
    rows.indexes.retain(|row| {
        let mut ids = row.indkey.iter().copied().chain([row.indguard]);
        classes.contains(&row.indexrelid) && has_all(row.indrelid, &mut ids)
    });
    let indexes: HashSet<Oid> = rows.indexes.iter().map(|row| row.indexrelid).collect();
    rows.constraints.retain(|row| {
        let mut own = row.conkey.iter().flatten().copied();
        let mut other = row.confkey.iter().flatten().copied();
        let is_key = matches!(row.contype.0, 'p' | 'u' | 'x');
        has_all(row.conrelid, &mut own)
            && has_all(row.confrelid, &mut other)
            && (!is_key || indexes.contains(&row.conindid))
    });
}
