//! The catalog over a real engine.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod concurrent;
mod functions;
mod schemas;
mod sequences;
mod tables;

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use verso_catalog::{Catalog, CatalogError, CatalogSnapshot, NewColumn, NewTable};
use verso_env::Env;
use verso_storage::{CommitMode, Engine, EngineOptions, Isolation, Txn, TxnOptions};
use verso_types::SqlType;

/// An open database with its catalog.
struct World {
    engine: Engine,
    catalog: Arc<Catalog>,
    directory: TempDir,
}

impl World {
    fn new() -> World {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.verso");
        let engine = Engine::create(Env::real(), &path, EngineOptions::default()).unwrap();
        let catalog = Arc::new(Catalog::bootstrap(&engine).unwrap());
        World { engine, catalog, directory }
    }

    /// Closes the database and opens it again.
    fn reopen(self) -> World {
        let World { engine, catalog, directory } = self;
        drop(catalog);
        engine.close().unwrap();
        drop(engine);
        let engine = open(directory.path());
        let catalog = Arc::new(Catalog::load(&engine).unwrap());
        World { engine, catalog, directory }
    }

    fn begin(&self, isolation: Isolation) -> Txn {
        self.engine.begin(TxnOptions { isolation, savepoints: true, read_only: false })
    }

    /// Runs `work` as one statement of a transaction of its own.
    fn run<T>(
        &self,
        work: impl FnOnce(&Catalog, &mut Txn) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        let mut txn = self.begin(Isolation::ReadCommitted);
        let result = self.statement(&mut txn, work);
        match result {
            Ok(value) => {
                txn.commit(CommitMode::Wait)?;
                Ok(value)
            }
            Err(error) => {
                txn.rollback()?;
                Err(error)
            }
        }
    }

    /// Runs `work` as one statement of `txn`; an error undoes the statement.
    fn statement<T>(
        &self,
        txn: &mut Txn,
        work: impl FnOnce(&Catalog, &mut Txn) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        txn.begin_statement()?;
        match work(&self.catalog, txn) {
            Ok(value) => {
                txn.end_statement()?;
                Ok(value)
            }
            Err(error) => {
                txn.abort_statement()?;
                Err(error)
            }
        }
    }

    /// What the next statement of `txn` sees.
    fn seen_by(&self, txn: &mut Txn) -> Arc<CatalogSnapshot> {
        self.statement(txn, |catalog, txn| catalog.snapshot(txn)).unwrap()
    }

    /// What a new transaction sees.
    fn seen(&self) -> Arc<CatalogSnapshot> {
        self.run(|catalog, txn| catalog.snapshot(txn)).unwrap()
    }
}

fn open(directory: &Path) -> Engine {
    Engine::open(Env::real(), &directory.join("test.verso"), EngineOptions::default()).unwrap()
}

/// A table of an integer and a text.
fn table(name: &str) -> NewTable {
    let columns = vec![NewColumn::new("a", SqlType::Int4), NewColumn::new("b", SqlType::Text)];
    NewTable::new(name, columns)
}
