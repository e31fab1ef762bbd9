//! Indexes that need columns which the records of a table do not have, made while others write.
//!
//! The values of an expression are a hidden column, and a page says for all of its records which columns they have. So the
//! rows are copied into a new heap with the new column, and the new index and all others are built there. Whoever copies
//! them repeats what others have changed meanwhile, until little is left; then everybody is kept out for the rest of it,
//! and the table has the new heap.
//!
//! ```text
//! begin_online   others change the definition no more; an empty heap      (readers and writers go on)
//! — the caller copies the rows —
//! build_online   all indexes, from one scan of the copy                   (readers and writers go on)
//! — the caller repeats changes —
//! lock_online    everybody is out
//! — the caller repeats the last ones —
//! finish_online  the definition says where the rows are now
//! ```
//!
//! O1. Nothing is announced before `finish_online`, so others find the catalog settled meanwhile (N1).
//! O2. All of it is one transaction: whatever ends it early, heap and indexes go with it, and nothing is left.
//! O3. Whoever has a snapshot from before `finish_online` reads the old heap, which stays as it was then. Who changes rows
//!     needs a lock on the old heap, and meets another definition behind it (L3).

use std::sync::Arc;
use std::time::Duration;

use verso_storage::{ObjectId, StorageError, TableLockMode, Txn, WaitPolicy};
use verso_types::SqlType;

use super::alter::Rewrite;
use super::claim::conflict;
use super::constraint::Target;
use super::table::find_table;
use crate::catalog::Catalog;
use crate::definition::{ColumnDef, IndexDef, Oid, SchemaDef, TableDef};
use crate::error::CatalogError;
use crate::system::assemble::attribute_row;
use crate::system::row::ClassRow;

/// An index that is to be made: its name is taken, its definition stands, its entries are missing.
#[derive(Debug)]
pub struct PreparedIndex {
    pub(super) schema: Arc<SchemaDef>,
    pub(super) table: Arc<TableDef>,
    pub(super) definition: IndexDef,
}

/// A table whose rows are copied while others change them.
#[derive(Debug)]
pub struct OnlineCopy {
    /// As the table was, and as it will be.
    pub rewrite: Rewrite,
    /// The columns that the copy has in addition.
    added: Vec<ColumnDef>,
    /// The indexes that the table has already, and what they are over the copy.
    built: Vec<(Arc<IndexDef>, ObjectId)>,
}

impl OnlineCopy {
    /// The columns that the copy has in addition.
    pub fn added(&self) -> &[ColumnDef] {
        &self.added
    }
}

impl Catalog {
    /// Begins the copy: with these hidden columns in addition, and those columns with the numbers `apart` by themselves.
    ///
    /// # Errors
    /// `Missing`, `SystemObject`, `TooManyColumns`; storage's.
    pub fn begin_online(
        &self,
        txn: &mut Txn,
        schema: &str,
        name: &str,
        hidden: &[(SqlType, Arc<str>)],
        apart: Vec<u16>,
    ) -> Result<OnlineCopy, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let old = find_table(&snapshot, Some(schema), name)?;
        self.lock_definition(txn, &old, &snapshot, TableLockMode::ShareUpdateExclusive)?;
        let added = self.hidden_columns(txn, &old, hidden)?;
        let mut new = (*old).clone();
        new.columns.retain(|column| !column.is_hidden() || column.generated);
        new.columns.extend(added.iter().cloned());
        new.columns.sort_by_key(|column| column.id);
        new.heap = self.create_heap(txn, new.unlogged, &new.columns, old.all_indexes(), apart)?;
        new.indexes.clear();
        new.idle_indexes.clear();
        new.constraints.clear();
        new.referenced_by.clear();
        new.triggers.clear();
        Ok(OnlineCopy { rewrite: Rewrite { old, new: Arc::new(new) }, added, built: Vec::new() })
    }

    /// Gives up a copy that nobody needs.
    ///
    /// # Errors
    /// Storage's.
    pub fn abandon_online(&self, txn: &mut Txn, copy: &OnlineCopy) -> Result<(), CatalogError> {
        Ok(self.engine.drop_object(txn, copy.rewrite.new.heap)?)
    }

    /// Builds the table's indexes and the new one over the copy, which keeps them in step from then on.
    ///
    /// # Errors
    /// `Duplicates` names the index of which two rows have the same key; storage's.
    pub fn build_online(
        &self,
        txn: &mut Txn,
        copy: &mut OnlineCopy,
        index: &mut PreparedIndex,
    ) -> Result<(), CatalogError> {
        let Rewrite { old, new } = &copy.rewrite;
        let known: Vec<&Arc<IndexDef>> = old.indexes.iter().filter(|index| index.valid).collect();
        let mut all: Vec<&IndexDef> = known.iter().map(|index| &***index).collect();
        all.push(&index.definition);
        let mut objects = self.build_indexes(txn, new.heap, &new.columns, &all)?;
        let Some(own) = objects.pop() else { return Err(conflict()) };
        copy.built = known.into_iter().cloned().zip(objects).collect();
        index.definition.object = own;
        Ok(())
    }

    /// Names the key that a change which was repeated has given to two rows.
    pub fn explain_online(
        &self,
        txn: &Txn,
        copy: &OnlineCopy,
        index: &PreparedIndex,
        error: StorageError,
    ) -> CatalogError {
        let new = &copy.rewrite.new;
        let of = match &error {
            StorageError::Unique { index, .. } | StorageError::Excluded { index, .. } => *index,
            _ => return error.into(),
        };
        let known = copy.built.iter().find(|(_, object)| *object == of).map(|(index, _)| &**index);
        self.duplicates(txn, new.heap, &new.columns, known.unwrap_or(&index.definition), error)
    }

    /// Keeps everybody out of the table, once those at work have ended; false if that takes longer than `wait`.
    ///
    /// # Errors
    /// `Conflict` where the definition is another one by now; `Deadlock`, `Cancelled`.
    pub fn lock_online(
        &self,
        txn: &mut Txn,
        copy: &OnlineCopy,
        wait: Duration,
    ) -> Result<bool, CatalogError> {
        let old = &copy.rewrite.old;
        txn.set_lock_timeout(Some(wait));
        let locked = self.engine.lock_table(txn, old.heap, TableLockMode::AccessExclusive, WaitPolicy::Block);
        match locked {
            Err(StorageError::LockTimeout) => return Ok(false),
            locked => locked?,
        };
        txn.pin_lock(old.heap);
        let newest = self.committed()?;
        let is_same = newest.table_by_oid(old.oid).is_some_and(|now| {
            now.heap == old.heap
                && now.columns == old.columns
                && now.indexes == old.indexes
                && now.idle_indexes == old.idle_indexes
                && now.unlogged == old.unlogged
        });
        if !is_same {
            return Err(conflict());
        }
        self.hold(txn, old.oid)?;
        Ok(true)
    }

    /// The copy becomes the table, and has the index.
    ///
    /// # Errors
    /// Storage's.
    pub fn finish_online(
        &self,
        txn: &mut Txn,
        copy: OnlineCopy,
        index: PreparedIndex,
    ) -> Result<Oid, CatalogError> {
        let OnlineCopy { rewrite: Rewrite { old, new }, added, built } = copy;
        self.change(txn, |txn| {
            for column in &added {
                self.insert_rows(txn, &[attribute_row(new.oid, column)])?;
                self.insert_defaults(txn, new.oid, std::slice::from_ref(column), &[])?;
            }
            for column in old.columns.iter().filter(|column| column.is_hidden() && !column.generated) {
                self.remove_column(txn, &old, column)?;
            }
            let is_it = |row: &ClassRow| row.oid == new.oid;
            self.update_rows(txn, new.oid, is_it, |row| row.relfilenode = Oid(new.heap.0))?;
            for (index, object) in &built {
                self.replace_index(txn, &new.columns, index, *object)?;
            }
            self.engine.drop_object(txn, old.heap)?;
            self.insert_index(txn, &mut Target::of(&new, index.schema), index.definition)
        })
    }
}
