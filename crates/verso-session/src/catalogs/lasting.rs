//! Rows of the catalogs that are kept as long as the version of the catalog from which they were made is in use.
//!
//! A question about all columns, types or dependencies of a large database needs tens of thousands of rows, and clients
//! ask such questions one after the other. The first one makes the rows; the values of the columns that it reads are
//! kept, and the others copy them.
//!
//! R1. Kept are columns whose values follow from the definitions alone: what shows a session's settings, or a size of
//!     today, is made for each question.
//! R2. All kept columns of a relation in a version have the same rows, in the same order: the same definitions yield them.
//! R3. What is kept counts as memory of the instance. What would take more than its share is not kept, and is yielded row by row.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{Asked, CatalogSnapshot, DefinitionsKey, KeptRows, RelationId};
use verso_exec::memory::{Account, Reservation};
use verso_types::{Column, SqlType, Value};

use crate::views::Views;

/// The relations of which rows are kept, and the columns that are not (R1).
const LASTING: &[(&str, &[&str])] = &[
    ("pg_class", &["relpages", "relpartbound"]),
    ("pg_attribute", &[]),
    ("pg_attrdef", &["adbin"]),
    ("pg_index", &["indexprs", "indpred"]),
    ("pg_constraint", &["conbin"]),
    ("pg_depend", &[]),
    ("pg_type", &["typdefault", "typdefaultbin"]),
    ("pg_proc", &["proargdefaults"]),
    ("pg_operator", &[]),
    ("pg_description", &[]),
];

/// Versions of the catalog of which rows are kept: that of most sessions, and one of a transaction that changes the schema.
const VERSIONS_MAX: usize = 2;
/// What may be kept, whatever memory there is.
const BYTES_MAX: u64 = 64 << 20;
/// The part of the memory that may be kept.
const SHARE: u64 = 16;
/// After so many rows the memory that they take is looked at.
const ROWS_BETWEEN: usize = 1_024;

/// Kept rows of an open database.
pub(crate) struct LastingRows {
    memory: Account,
    /// Those of the version asked for last at the end.
    versions: Mutex<Vec<OfVersion>>,
}

/// Kept rows of one version of the catalog.
struct OfVersion {
    version: DefinitionsKey,
    columns: HashMap<(RelationId, usize), Arc<Column>>,
    /// Relations that would take too much.
    large: HashSet<RelationId>,
    held: Vec<Reservation>,
}

impl OfVersion {
    fn bytes(&self) -> u64 {
        self.held.iter().map(Reservation::charged_bytes).sum()
    }
}

impl LastingRows {
    pub(crate) fn new(memory: &Account) -> LastingRows {
        LastingRows { memory: memory.clone(), versions: Mutex::default() }
    }

    /// What they are charged for.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.versions.lock().iter().map(OfVersion::bytes).sum()
    }

    fn limit_bytes(&self) -> u64 {
        BYTES_MAX.min(self.memory.least_limit_bytes() / SHARE)
    }

    /// Those of these columns that are kept; none where the relation takes too much.
    fn find(
        &self,
        version: &DefinitionsKey,
        relation: RelationId,
        columns: &[usize],
    ) -> Option<Vec<Option<Arc<Column>>>> {
        let mut versions = self.versions.lock();
        let Some(at) = versions.iter().position(|known| known.version == *version) else {
            return Some(vec![None; columns.len()]);
        };
        let known = versions.remove(at);
        let is_large = known.large.contains(&relation);
        let found = columns.iter().map(|column| known.columns.get(&(relation, *column)).cloned()).collect();
        versions.push(known);
        (!is_large).then_some(found)
    }

    /// Changes what is kept of a version.
    fn change(&self, version: &DefinitionsKey, change: impl FnOnce(&mut OfVersion)) {
        let mut versions = self.versions.lock();
        versions.retain(|known| known.version.is_used());
        if !versions.iter().any(|known| known.version == *version) {
            if versions.len() >= VERSIONS_MAX {
                versions.remove(0);
            }
            let (columns, large) = (HashMap::new(), HashSet::new());
            versions.push(OfVersion { version: version.clone(), columns, large, held: Vec::new() });
        }
        if let Some(known) = versions.iter_mut().find(|known| known.version == *version) {
            change(known);
        }
        // Other versions make room first.
        while versions.iter().map(OfVersion::bytes).sum::<u64>() > self.limit_bytes() && versions.len() > 1 {
            let other = versions.iter().position(|known| known.version != *version);
            other.into_iter().for_each(|other| drop(versions.remove(other)));
        }
    }

    fn bytes_of(&self, version: &DefinitionsKey) -> u64 {
        let versions = self.versions.lock();
        versions.iter().find(|known| known.version == *version).map_or(0, OfVersion::bytes)
    }
}

/// Bytes that columns take.
fn bytes(columns: &[Column]) -> u64 {
    columns.iter().map(|column| column.heap_bytes() as u64).sum()
}

/// All rows of a relation, from columns that are kept or are kept from now on; nothing where that cannot be.
pub(crate) fn kept(
    views: &Views<'_>,
    relation: RelationId,
    (columns, types): (&[usize], &[SqlType]),
) -> Option<KeptRows> {
    let known = relation.get();
    let (_, besides) = LASTING.iter().find(|(name, _)| *name == known.name && known.schema == PG_CATALOG)?;
    let lasts = |(column, ty): (&usize, &SqlType)| {
        (known.columns.get(*column)).is_some_and(|known| known.ty == *ty && !besides.contains(&known.name))
    };
    if columns.len() != types.len() || !columns.iter().zip(types).all(lasts) {
        return None;
    }
    // They are the same for every role: made with the rights of none (R2).
    let catalog = views.services.known_catalog()?.with_role(None);
    let version = &catalog.definitions_key();
    let lasting = &views.services.instance.lasting;
    // Rows of which nothing is read are counted by their first column.
    let wanted = if columns.is_empty() { &[0][..] } else { columns };
    let mut found = lasting.find(version, relation, wanted)?;
    let mut missing: Vec<usize> =
        wanted.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(at, _)| *at).collect();
    missing.sort_unstable();
    missing.dedup();
    if !missing.is_empty() {
        let made = make(views, &catalog, relation, &missing)?;
        for (at, found) in wanted.iter().zip(&mut found) {
            if let Ok(place) = missing.binary_search(at) {
                *found = made.get(place).cloned();
            }
        }
    }
    let mut all: Vec<Arc<Column>> = found.into_iter().flatten().collect();
    let rows = all.first()?.len();
    // R2: else the rows are made one by one, which needs no columns of others.
    debug_assert!(all.iter().all(|column| column.len() == rows), "columns of {} differ", known.name);
    if all.len() != wanted.len() || all.iter().any(|column| column.len() != rows) {
        return None;
    }
    all.truncate(columns.len());
    Some(KeptRows { rows, columns: all })
}

/// Makes columns of a relation and keeps them; nothing where they take too much (R3).
fn make(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    relation: RelationId,
    missing: &[usize],
) -> Option<Vec<Arc<Column>>> {
    let version = &catalog.definitions_key();
    let types: Vec<&SqlType> =
        missing.iter().filter_map(|at| Some(&relation.get().columns.get(*at)?.ty)).collect();
    let mut made: Vec<Column> = types.iter().map(|ty| Column::new(ty.physical())).collect();
    let lasting = &views.services.instance.lasting;
    let room = lasting.limit_bytes().saturating_sub(lasting.bytes_of(version));
    let mut held = lasting.memory.reserve("rows of the catalogs", room);
    let asked = Asked { keys: &[], columns: missing };
    let mut fits = true;
    for (row, count) in super::rows_of(views, catalog, relation, asked).zip(1usize..) {
        for ((column, at), ty) in made.iter_mut().zip(missing).zip(&types) {
            column.push_value(row.get(*at).unwrap_or(&Value::Null), ty).ok()?;
        }
        if count.is_multiple_of(ROWS_BETWEEN) && held.try_resize(bytes(&made)).is_err() {
            fits = false;
            break;
        }
    }
    if !fits || held.try_resize(bytes(&made)).is_err() {
        lasting.change(version, |known| {
            known.large.insert(relation);
        });
        return None;
    }
    let made: Vec<Arc<Column>> = made.into_iter().map(Arc::new).collect();
    lasting.change(version, |known| {
        for (column, at) in made.iter().zip(missing) {
            // Another session may have made the same meanwhile.
            known.columns.entry((relation, *at)).or_insert_with(|| Arc::clone(column));
        }
        known.held.push(held);
    });
    Some(made)
}
