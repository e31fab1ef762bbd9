//! The order in which the rows of several tables go into a database that is there.
//!
//! O1. Rows of a table that foreign keys of the database make wait go in behind those of all tables that are restored and
//!     referenced; such tables come by name, as far as foreign keys say no more. All other rows go in as the archive has them.
//! O2. In a circle of foreign keys no order is right: what the names put first is taken first.
//! O3. Until their turn comes the chunks stand in a file beside the database, packed as in the archive. A restore that is cut off
//!     leaves it, and the next one begins it anew.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, ConstraintKind, Oid, TableDef};
use verso_env::{Env, VfsFile, open_alone};
use verso_storage::CommitMode;
use versodb::Database;

use super::Plan;
use super::fresh::read_only;
use crate::archive::Head;
use crate::archive::reader::StoredChunk;
use crate::error::BackupError;

/// The places of tables whose rows wait for those of others, in their order.
pub(super) fn waiting(database: &Database, plan: &Plan) -> Result<Vec<u32>, BackupError> {
    let engine = database.engine();
    let mut txn = engine.begin(read_only());
    txn.begin_statement()?;
    let catalog = database.instance().catalog.snapshot(&txn)?;
    let mut families = Families::default();
    for (place, table) in (0..).zip(&plan.definitions.tables) {
        // One that is made by this restore has no foreign keys before its rows.
        if plan.wants(table)
            && let Some(found) = catalog.table(Some(&table.schema), &table.name)
        {
            families.add(&catalog, place, &found);
        }
    }
    txn.end_statement()?;
    txn.commit(CommitMode::NoWait)?;
    Ok(families.waiting())
}

/// A table that is restored, or a partitioned one with its partitions: their foreign keys are those of all.
#[derive(Default)]
struct Family {
    places: Vec<u32>,
    references: HashSet<Oid>,
}

#[derive(Default)]
struct Families {
    /// In the order of their first tables.
    all: Vec<Family>,
    by_root: HashMap<Oid, usize>,
}

impl Families {
    fn add(&mut self, catalog: &CatalogSnapshot, place: u32, table: &TableDef) {
        let root = root_of(catalog, table);
        let at = *self.by_root.entry(root).or_insert(self.all.len());
        if at == self.all.len() {
            self.all.push(Family::default());
        }
        let family = &mut self.all[at];
        family.places.push(place);
        let above: Vec<Arc<TableDef>> = catalog.tables_above(table).collect();
        for table in std::iter::once(table).chain(above.iter().map(|table| &**table)) {
            for constraint in &table.constraints {
                let ConstraintKind::Foreign(foreign) = &constraint.kind else { continue };
                // One that is checked at the commit, or not at all, makes nothing wait.
                if constraint.initially_deferred || !constraint.enforced || foreign.unchecked {
                    continue;
                }
                let other = catalog.table_by_oid(foreign.referenced);
                let other = other.map_or(foreign.referenced, |other| root_of(catalog, &other));
                if other != root {
                    family.references.insert(other);
                }
            }
        }
    }

    fn waiting(&self) -> Vec<u32> {
        let mut before = vec![0usize; self.all.len()];
        let mut behind: Vec<Vec<usize>> = vec![Vec::new(); self.all.len()];
        for (at, family) in self.all.iter().enumerate() {
            for other in family.references.iter().filter_map(|root| self.by_root.get(root)) {
                before[at] += 1;
                behind[*other].push(at);
            }
        }
        let waits: Vec<bool> = before.iter().map(|count| *count > 0).collect();
        let mut ready: BTreeSet<usize> = (0..self.all.len()).filter(|at| !waits[*at]).collect();
        let mut rest: BTreeSet<usize> = (0..self.all.len()).collect();
        let mut ordered = Vec::new();
        while let Some(at) = ready.pop_first().or_else(|| rest.first().copied()) {
            rest.remove(&at);
            if waits[at] {
                ordered.extend_from_slice(&self.all[at].places);
            }
            for other in &behind[at] {
                before[*other] = before[*other].saturating_sub(1);
                if before[*other] == 0 && rest.contains(other) {
                    ready.insert(*other);
                }
            }
        }
        ordered
    }
}

/// The table that a partition is a part of in the end, or the table itself.
fn root_of(catalog: &CatalogSnapshot, table: &TableDef) -> Oid {
    catalog.tables_above(table).last().map_or(table.oid, |root| root.oid)
}

/// Chunks that wait (O3).
pub(super) struct Waiting<'e> {
    env: &'e Env,
    path: PathBuf,
    file: Option<Arc<dyn VfsFile>>,
    end: u64,
    chunks: HashMap<u32, Vec<(Head, u64)>>,
}

impl<'e> Waiting<'e> {
    pub fn new(env: &'e Env, database: &Path) -> Waiting<'e> {
        let mut path = database.as_os_str().to_owned();
        path.push(".restoring");
        Waiting { env, path: PathBuf::from(path), file: None, end: 0, chunks: HashMap::new() }
    }

    /// Keeps a chunk of the table at a place.
    pub fn keep(&mut self, place: u32, chunk: &StoredChunk) -> Result<(), BackupError> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                let opened = open_alone(&*self.env.vfs, &self.path).map_err(self.failed())?;
                let file = opened.ok_or_else(|| {
                    BackupError::Refused(format!("another restore writes {}", self.path.display()))
                })?;
                Arc::clone(self.file.insert(file))
            }
        };
        file.write_at(&chunk.bytes, self.end).map_err(self.failed())?;
        self.chunks.entry(place).or_default().push((chunk.head, self.end));
        self.end += chunk.bytes.len() as u64;
        Ok(())
    }

    /// The chunks of the table at a place, in their order.
    pub fn chunks_of(&self, place: u32) -> impl Iterator<Item = Result<StoredChunk, BackupError>> {
        self.chunks.get(&place).into_iter().flatten().map(move |(head, at)| {
            let mut bytes = vec![0; head.stored as usize];
            if let Some(file) = &self.file {
                file.read_exact_at(&mut bytes, *at).map_err(self.failed())?;
            }
            Ok(StoredChunk { head: *head, bytes })
        })
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> BackupError + use<> {
        BackupError::io(self.path.display().to_string())
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // What cannot be removed is begun anew by the next restore.
            let _ = self.env.vfs.remove_file(&self.path);
        }
    }
}
