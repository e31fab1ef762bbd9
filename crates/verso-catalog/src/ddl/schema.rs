//! CREATE SCHEMA, DROP SCHEMA.

use std::sync::Arc;

use verso_storage::Txn;

use super::claim::NameOf;
use super::refuse_if_needed;
use crate::catalog::Catalog;
use crate::definition::{FunctionDef, Oid, SequenceDef, TableDef};
use crate::error::{CatalogError, ObjectKind};
use crate::snapshot::PG_CATALOG;
use crate::store;
use crate::system::OWNER_OID;
use crate::system::field::Name;
use crate::system::row::{NamespaceRow, ProcRow};

impl Catalog {
    /// Makes a schema; `None` if there is one of that name and `if_not_exists` allows it.
    ///
    /// # Errors
    /// `Exists`, `ReservedName`; storage's, of which `Conflict` says that another transaction changed the schema
    /// first.
    pub fn create_schema(
        &self,
        txn: &mut Txn,
        name: &Arc<str>,
        if_not_exists: bool,
    ) -> Result<Option<Oid>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        if snapshot.schema(name).is_some() {
            return if if_not_exists {
                Ok(None)
            } else {
                Err(CatalogError::exists(ObjectKind::Schema, &**name))
            };
        }
        if name.starts_with("pg_") {
            return Err(CatalogError::ReservedName { name: name.to_string() });
        }
        self.lock_name(txn, NameOf::Schema, [name, ""])?;
        if self.committed()?.schema(name).is_some_and(|schema| !self.is_removed(txn, schema.oid)) {
            return if if_not_exists {
                Ok(None)
            } else {
                Err(CatalogError::exists(ObjectKind::Schema, &**name))
            };
        }
        let oid = self.new_oid()?;
        self.hold(txn, oid)?;
        let row = NamespaceRow { oid, nspname: Name(Arc::clone(name)), nspowner: OWNER_OID };
        self.change(txn, |txn| store::insert(&self.engine, txn, &[row]))?;
        Ok(Some(oid))
    }

    /// Drops a schema; with `cascade` also what is in it.
    ///
    /// # Errors
    /// `Missing`, `SystemObject`, `Needed`; storage's, of which `Conflict` says that another transaction changed
    /// the schema first.
    pub fn drop_schema(&self, txn: &mut Txn, name: &str, cascade: bool) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = snapshot.schema(name).ok_or_else(|| CatalogError::missing(ObjectKind::Schema, name))?;
        if name == PG_CATALOG {
            return Err(CatalogError::SystemObject { name: name.to_string() });
        }
        let tables: Vec<&Arc<TableDef>> = snapshot.tables().filter(|table| &*table.schema == name).collect();
        let sequences: Vec<&Arc<SequenceDef>> =
            snapshot.sequences().filter(|sequence| &*sequence.schema == name).collect();
        let functions: Vec<&Arc<FunctionDef>> =
            snapshot.all_functions().filter(|function| &*function.schema == name).collect();
        if !cascade {
            let lines = tables.iter().map(|table| format!("table {name}.{}", table.name));
            let loose = sequences.iter().filter(|sequence| sequence.owned_by.is_none());
            let lines = lines.chain(loose.map(|sequence| format!("sequence {name}.{}", sequence.name)));
            let lines = lines
                .chain(functions.iter().map(|function| format!("function {name}.{}", function.signature())));
            let lines = lines.map(|what| format!("{what} depends on schema {name}")).collect();
            refuse_if_needed(format!("schema {name}"), lines)?;
        }
        // Whoever is making something in it ends first; what that was the next snapshot has.
        self.lock_name(txn, NameOf::Schema, [name, ""])?;
        self.check_newest(txn, &snapshot)?;
        for table in &tables {
            self.lock_out(txn, table, &snapshot)?;
        }
        self.change(txn, |txn| {
            for table in &tables {
                self.remove_table(txn, &snapshot, table)?;
            }
            for sequence in sequences.iter().filter(|sequence| {
                // Those of the tables just removed are gone with them.
                !sequence.owned_by.is_some_and(|owner| tables.iter().any(|table| table.oid == owner.table))
            }) {
                self.remove_sequence(txn, sequence)?;
            }
            store::delete(&self.engine, txn, |row: &ProcRow| row.pronamespace == schema.oid)?;
            store::delete(&self.engine, txn, |row: &NamespaceRow| row.oid == schema.oid)?;
            self.removes(txn, schema.oid)?;
            Ok(())
        })
    }
}
