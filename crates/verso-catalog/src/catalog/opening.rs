//! The catalog of a database that is made or opened: its system tables, those that came after it, and what has to be put right
//! before anybody uses it.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use verso_env::sync::Mutex;
use verso_storage::{Engine, StorageError};

use super::settled::Settled;
use super::{Catalog, internal};
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::lost::Lost;
use crate::snapshot::PG_CATALOG;
use crate::store;
use crate::system::gather;
use crate::system::initial::TableShape;
use crate::system::row::{AuthIdRow, ClassRow, NamespaceRow, SequenceRow, SystemRow};
use crate::system::{OID_SEQUENCE, initial};
use crate::versions::Versions;

impl Catalog {
    /// Makes the system tables of a new database, in a transaction of its own.
    ///
    /// # Errors
    /// Those of storage.
    pub fn bootstrap(engine: &Engine) -> Result<Catalog, CatalogError> {
        Catalog::make(engine, &initial::tables(), &[])?;
        Catalog::load(engine)
    }

    /// As [`Catalog::bootstrap`], with settings of the database that are there from its first commit on.
    ///
    /// # Errors
    /// Those of storage.
    pub fn bootstrap_with(engine: &Engine, settings: &[(&str, &str)]) -> Result<Catalog, CatalogError> {
        Catalog::make(engine, &initial::tables(), settings)?;
        Catalog::load(engine)
    }

    fn make(engine: &Engine, tables: &[TableShape], settings: &[(&str, &str)]) -> Result<(), CatalogError> {
        Catalog::declare(engine, tables)?;
        let mut txn = engine.begin(internal(false));
        txn.begin_statement()?;
        let oids = engine.create_sequence(&mut txn, crate::ddl::sequence_spec(&initial::oid_bounds()))?;
        let rows = initial::rows(tables, oids);
        store::insert(engine, &mut txn, &rows.namespaces)?;
        store::insert(engine, &mut txn, &rows.classes)?;
        store::insert(engine, &mut txn, &rows.attributes)?;
        store::insert(engine, &mut txn, &rows.sequences)?;
        store::insert(engine, &mut txn, &initial::types())?;
        store::insert(engine, &mut txn, &initial::languages())?;
        if tables.iter().any(|shape| shape.table == AuthIdRow::TABLE) {
            store::insert(engine, &mut txn, &[crate::role::owner()])?;
        }
        if !settings.is_empty() {
            store::insert(engine, &mut txn, &[crate::setting::first(settings)])?;
        }
        txn.end_statement()?;
        txn.commit(verso_storage::CommitMode::Wait)?;
        Ok(())
    }

    /// Says of system tables which columns they have, so that each is made with its first row (W3 of `store.rs`).
    fn declare(engine: &Engine, tables: &[TableShape]) -> Result<(), CatalogError> {
        let page_size = engine.page_size();
        let columns = |shape: &TableShape| crate::packs::stored_columns(&shape.columns, &[], page_size);
        engine.declare_heaps(tables.iter().map(|shape| (shape.table.heap, columns(shape))))?;
        Ok(())
    }

    /// Describes the system tables that a database of an earlier release lacks, in a transaction of its own.
    fn complete(engine: &Engine) -> Result<(), CatalogError> {
        let mut missing = initial::tables();
        Catalog::declare(engine, &missing)?;
        // Its first transaction describes all of them. One that did not commit is backed out while this looks.
        let mut txn = engine.begin(internal(true));
        txn.begin_statement()?;
        let schemas = store::read::<NamespaceRow>(engine, &txn);
        let classes = store::read::<ClassRow>(engine, &txn);
        txn.end_statement()?;
        txn.commit(verso_storage::CommitMode::NoWait)?;
        if is_of_a_page(&schemas) || is_of_a_page(&classes) {
            // Which tables there are is not known. Nothing is changed (Y2 of `lost.rs`).
            return Ok(());
        }
        let known: HashSet<Oid> = classes?.into_iter().map(|class| class.oid).collect();
        if schemas?.is_empty() || known.is_empty() {
            let what = "it has no catalog: its creation did not end".to_owned();
            return Err(StorageError::NotADatabase { what }.into());
        }
        missing.retain(|shape| !known.contains(&shape.table.oid));
        if missing.is_empty() {
            return Ok(());
        }
        let mut txn = engine.begin(internal(false));
        txn.begin_statement()?;
        for shape in &missing {
            let (class, attributes) = initial::rows_of(shape);
            store::insert(engine, &mut txn, &[class])?;
            store::insert(engine, &mut txn, &attributes)?;
            if shape.table == AuthIdRow::TABLE {
                store::insert(engine, &mut txn, &[crate::role::owner()])?;
            }
        }
        txn.end_statement()?;
        txn.commit(verso_storage::CommitMode::Wait)?;
        Ok(())
    }

    /// Takes indexes out of use whose keys a program with other data of collations has made, in a transaction of its own.
    fn leave_old_keys(engine: &Engine) -> Result<(), CatalogError> {
        let mut txn = engine.begin(internal(false));
        txn.begin_statement()?;
        let retired = Catalog::retire_indexes(engine, &mut txn);
        if is_of_a_page(&retired) {
            // They stay as they are: nothing is changed (Y2 of `lost.rs`), and the catalog knows that they are of no use.
            txn.abort_statement()?;
            txn.rollback()?;
            return Ok(());
        }
        let retired = retired?;
        txn.end_statement()?;
        if retired == 0 {
            txn.end_unseen()?;
            return Ok(());
        }
        txn.commit(verso_storage::CommitMode::Wait)?;
        Ok(())
    }

    /// Reads the catalog of an existing database; makes the system tables that came after it.
    ///
    /// # Errors
    /// `Corrupt` if the system tables contradict each other; those of storage.
    pub fn load(engine: &Engine) -> Result<Catalog, CatalogError> {
        Catalog::complete(engine)?;
        Catalog::leave_old_keys(engine)?;
        let mut txn = engine.begin(internal(true));
        txn.begin_statement()?;
        let versions = Versions::new(engine.prepared().into_iter().map(|prepared| prepared.txn));
        let catalog = Catalog {
            engine: engine.clone(),
            versions: Mutex::new(versions),
            announced: AtomicU64::new(0),
            settled: Settled::default(),
            cache: Mutex::default(),
            cached_bytes: AtomicU64::default(),
            oids: OnceLock::new(),
            places: Mutex::default(),
            lost: Lost::default(),
            #[cfg(test)]
            read_whole: AtomicU64::new(0),
        };
        let snapshot = gather::all(&catalog, &txn)?.assemble(1, None)?.of_database(engine);
        // Each time, for they stay out of use until they are built.
        let outdated = snapshot.outdated_indexes();
        if outdated > 0 {
            tracing::warn!(
                indexes = outdated,
                version = engine.options().collation_data.version(),
                "indexes were built with another version of the collations and are not used: REINDEX COLLATIONS builds them anew"
            );
        }
        match snapshot.sequence(Some(PG_CATALOG), OID_SEQUENCE) {
            Some(oids) => match engine.sequence(oids.object) {
                Ok(oids) => drop(catalog.oids.set(oids)),
                Err(error) if error.is_of_a_page() => catalog.give_up(SequenceRow::TABLE, error)?,
                Err(error) => return Err(error.into()),
            },
            // Where nothing can be changed nobody needs new numbers.
            None if catalog.is_incomplete() => {}
            None => {
                return Err(CatalogError::Corrupt { what: format!("there is no sequence {OID_SEQUENCE}") });
            }
        }
        catalog.cache.lock().push_front(snapshot);
        txn.end_statement()?;
        txn.commit(verso_storage::CommitMode::Wait)?;
        catalog.note_opened();
        if !catalog.is_incomplete() {
            catalog.after_a_crash()?;
        }
        Ok(catalog)
    }

    /// Empties what a crash has taken: unlogged tables.
    fn after_a_crash(&self) -> Result<(), CatalogError> {
        let mut txn = self.engine.begin(internal(false));
        txn.begin_statement()?;
        // What a prepared transaction has locked is not waited for.
        txn.set_lock_timeout(Some(std::time::Duration::ZERO));
        let emptied = self.empty_lost_tables(&mut txn)?;
        txn.end_statement()?;
        txn.commit(verso_storage::CommitMode::Wait)?;
        if emptied > 0 {
            tracing::warn!(
                emptied,
                "unlogged tables are empty, unlogged sequences begin anew: the database was not closed in order"
            );
        }
        Ok(())
    }
}

/// Whether something could not be read because a page is damaged.
fn is_of_a_page<T>(read: &Result<T, CatalogError>) -> bool {
    matches!(read, Err(CatalogError::Storage(error)) if error.is_of_a_page())
}

#[cfg(test)]
mod tests {
    use verso_env::Env;
    use verso_storage::EngineOptions;

    use super::*;

    #[test]
    fn a_database_made_before_roles_and_keys_gets_their_tables_when_it_opens() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old.verso");
        let engine = Engine::create(Env::real(), &path, EngineOptions::default()).unwrap();
        let later = ["pg_index", "pg_constraint", "pg_trigger", "pg_authid"];
        let mut first = initial::tables();
        first.retain(|shape| !later.contains(&shape.table.name));
        Catalog::make(&engine, &first, &[]).unwrap();
        engine.close().unwrap();
        drop(engine);
        for _ in 0..2 {
            let engine = Engine::open(Env::real(), &path, EngineOptions::default()).unwrap();
            let catalog = Catalog::load(&engine).unwrap();
            let names: Vec<_> =
                catalog.committed_roles().unwrap().into_iter().map(|role| role.name).collect();
            assert_eq!(names, [crate::role::OWNER.into()]);
            let mut txn = engine.begin(internal(true));
            txn.begin_statement().unwrap();
            let classes: Vec<ClassRow> = store::read(&engine, &txn).unwrap();
            for name in later {
                assert_eq!(classes.iter().filter(|class| &*class.relname.0 == name).count(), 1, "{name}");
            }
            txn.end_statement().unwrap();
            drop((txn, catalog));
            engine.close().unwrap();
        }
    }
}
