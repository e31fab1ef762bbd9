//! CREATE SEQUENCE, ALTER SEQUENCE, DROP SEQUENCE.

use std::sync::Arc;

use verso_storage::{ObjectId, RecordId, StorageError, TableLockMode, Txn, TxnId, WaitPolicy};

use super::claim::Taking;
use super::needing::{Lost, Needing, named};
use super::table::find_table;
use super::{persistence, refuse_if_needed, sequence_spec, target_schema};
use crate::catalog::Catalog;
use crate::definition::{ColumnDef, Oid, SchemaDef, SequenceDef, TableDef};
use crate::error::{CatalogError, ObjectKind};
use crate::request::NewSequence;
use crate::sequence::{SequenceBounds, SequenceChange};
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::system::assemble::{class_row, sequence_row};
use crate::system::field::Letter;
use crate::system::row::{ClassRow, DependRow, SequenceRow, SystemRow};
use crate::system::{DEPENDS_AUTO, KIND_SEQUENCE, LOGGED, UNLOGGED};

impl Catalog {
    /// Makes a sequence; `None` if there is a relation of that name and `if_not_exists` allows it.
    ///
    /// # Errors
    /// `Exists`, `Missing` (schema, owning table or column), `SystemObject`; storage's, of which `Conflict` says
    /// that another transaction changed the schema first.
    pub fn create_sequence(
        &self,
        txn: &mut Txn,
        new: &NewSequence,
        if_not_exists: bool,
    ) -> Result<Option<Oid>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, new.schema.as_ref())?;
        if snapshot.relation(Some(&schema.name), &new.name).is_some() {
            return if if_not_exists {
                Ok(None)
            } else {
                Err(CatalogError::exists(ObjectKind::Sequence, &*new.name))
            };
        }
        let owner = match &new.owned_by {
            None => None,
            Some((table, column)) => {
                let definition = snapshot
                    .table(Some(&schema.name), table)
                    .ok_or_else(|| CatalogError::missing(ObjectKind::Relation, &**table))?;
                let at = definition
                    .column(column)
                    .ok_or_else(|| CatalogError::missing(ObjectKind::Column, &**column))?;
                // As PostgreSQL: nobody else drops the table.
                self.lock_definition(txn, &definition, &snapshot, TableLockMode::AccessShare)?;
                Some((definition.oid, definition.columns[at].id))
            }
        };
        self.hold_schema(txn, &schema)?;
        if !self.take_name(txn, &schema.name, &new.name, Taking::Relation)? {
            return if if_not_exists {
                Ok(None)
            } else {
                Err(CatalogError::exists(ObjectKind::Sequence, &*new.name))
            };
        }
        self.change(txn, |txn| {
            self.insert_sequence(txn, (&schema, &new.name), (&new.bounds, new.unlogged), owner)
        })
        .map(Some)
    }

    /// Drops a sequence; with `cascade` also the defaults that need it.
    ///
    /// # Errors
    /// `Missing`, `WrongKind`, `SystemObject`, `Needed`; storage's, of which `Conflict` says that another
    /// transaction changed the schema first.
    pub fn drop_sequence(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        name: &str,
        cascade: bool,
    ) -> Result<Vec<String>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let sequence = match snapshot.relation(schema, name) {
            None => return Err(CatalogError::missing(ObjectKind::Sequence, name)),
            Some(Relation::Table(_) | Relation::Index(_) | Relation::View(_)) => {
                return Err(CatalogError::WrongKind { kind: ObjectKind::Sequence, name: name.to_string() });
            }
            Some(Relation::Sequence(sequence)) => Arc::clone(sequence),
        };
        if sequence.oid.is_system() {
            return Err(CatalogError::SystemObject { name: name.to_string() });
        }
        let needing = Needing::of(&snapshot, &[Lost::Relation(sequence.oid)]);
        let mut defaults = self.needs_sequence(txn, &snapshot, &sequence)?;
        if !cascade {
            let on = |what: String| format!("{what} depends on sequence {}", sequence.name);
            let mut dependents = needing.lines(&snapshot);
            dependents.extend(std::mem::take(&mut defaults).into_iter().map(on));
            refuse_if_needed(named(&snapshot, Lost::Relation(sequence.oid)), dependents)?;
        }
        self.claim_gone(txn, &snapshot, [sequence.oid])?;
        self.change(txn, |txn| {
            self.remove_needing(txn, &snapshot, &needing)?;
            self.remove_sequence(txn, &sequence)
        })?;
        let mut along = needing.names(&snapshot);
        along.extend(defaults);
        Ok(along)
    }

    /// Changes a sequence: it gets another object in storage, so that a rollback leaves the one that was.
    ///
    /// # Errors
    /// `Missing`, `WrongKind`, `SystemObject`, `InvalidParameter`, `InvalidDefinition` (an identity column's owner); storage's, of which `Conflict`
    /// says that another transaction changed it first.
    pub fn alter_sequence(
        &self,
        txn: &mut Txn,
        (schema, name): (Option<&str>, &str),
        version: u64,
        change: &SequenceChange,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let sequence = match snapshot.relation(schema, name) {
            None => return Err(CatalogError::missing(ObjectKind::Relation, name)),
            Some(Relation::Sequence(sequence)) => Arc::clone(sequence),
            Some(_) => {
                return Err(CatalogError::WrongKind { kind: ObjectKind::Sequence, name: name.to_string() });
            }
        };
        if sequence.oid.is_system() {
            return Err(CatalogError::SystemObject { name: name.to_string() });
        }
        let owner = match &change.owned_by {
            None => None,
            Some(None) => Some(None),
            Some(Some((schema, table, column))) => {
                let table = find_table(&snapshot, Some(schema), table)?;
                let at = table.column(column).ok_or_else(|| {
                    let text = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
                    CatalogError::invalid("42703", text)
                })?;
                if table.schema != sequence.schema {
                    let text = "sequence must be in same schema as table it is linked to";
                    return Err(CatalogError::invalid("55000", text.to_string()));
                }
                self.lock_definition(txn, &table, &snapshot, TableLockMode::AccessShare)?;
                Some(Some((table.oid, table.columns[at].id)))
            }
        };
        if owner.is_some()
            && let Some((table, _)) = snapshot.identity_of(&sequence)
        {
            return Err(CatalogError::InvalidDefinition {
                sqlstate: "0A000",
                message: "cannot change ownership of identity sequence".to_string(),
                detail: Some(format!("Sequence \"{name}\" is linked to table \"{}\".", table.name)),
                hint: None,
            });
        }
        // Numbers are asked for under a weaker lock, so that none is handed out meanwhile.
        self.engine.lock_table(txn, sequence.object, TableLockMode::AccessExclusive, WaitPolicy::Block)?;
        if !self.is_current_sequence(&sequence, version, txn)? {
            let record = RecordId { page_index: 0, slot: 0 };
            return Err(StorageError::Conflict { record, by: TxnId::NONE, deleted: false }.into());
        }
        let state = self.engine.sequence(sequence.object)?.state();
        let (bounds, (number, is_called)) = change.apply(&sequence.bounds, state)?;
        let unlogged = change.logged.map_or(sequence.unlogged, |logged| !logged);
        self.change(txn, |txn| {
            self.replace_sequence(txn, &sequence, &bounds, (number, is_called), unlogged)?;
            self.engine.drop_object(txn, sequence.object)?;
            let new = sequence_row(sequence.oid, &bounds);
            let is_it = |row: &SequenceRow| row.seqrelid == sequence.oid;
            self.update_rows(txn, sequence.oid, is_it, |row| *row = new.clone())?;
            if let Some(owner) = owner {
                self.delete_rows(txn, sequence.oid, |row: &DependRow| {
                    row.classid == ClassRow::TABLE.oid
                        && row.objid == sequence.oid
                        && row.deptype.0 == DEPENDS_AUTO
                })?;
                self.insert_owner(txn, sequence.oid, owner)?;
            }
            Ok(())
        })
    }

    /// Puts a new object with this number into the place of a sequence's; the change has begun. The old one is left to the
    /// caller.
    pub(super) fn replace_sequence(
        &self,
        txn: &mut Txn,
        sequence: &SequenceDef,
        bounds: &SequenceBounds,
        (number, is_called): (i64, bool),
        unlogged: bool,
    ) -> Result<(), CatalogError> {
        let object = self.sequence_object(txn, bounds, unlogged)?;
        self.engine.sequence(object)?.set_value(number, is_called)?;
        let is_it = |row: &ClassRow| row.oid == sequence.oid;
        self.update_rows(txn, sequence.oid, is_it, |row| {
            row.relfilenode = Oid(object.0);
            if unlogged != sequence.unlogged {
                row.relpersistence = Letter(if unlogged { UNLOGGED } else { LOGGED });
            }
        })?;
        Ok(())
    }

    /// Logs the sequences of a table's columns from now on, or does not.
    pub(super) fn log_sequences(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        table: Oid,
        logged: bool,
    ) -> Result<(), CatalogError> {
        let is_its = |sequence: &&Arc<SequenceDef>| {
            sequence.owned_by.is_some_and(|owner| owner.table == table) && sequence.unlogged == logged
        };
        for sequence in snapshot.naming(table).sequences().filter(is_its) {
            self.engine.lock_table(
                txn,
                sequence.object,
                TableLockMode::AccessExclusive,
                WaitPolicy::Block,
            )?;
            let state = self.engine.sequence(sequence.object)?.state();
            self.replace_sequence(txn, sequence, &sequence.bounds, state, !logged)?;
            self.engine.drop_object(txn, sequence.object)?;
        }
        Ok(())
    }

    /// The sequence of an identity column counts in the type that the column has now, as far as that goes; that of a `serial`
    /// column stays as it is.
    pub(super) fn retype_sequences(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        table: &TableDef,
        column: &ColumnDef,
    ) -> Result<(), CatalogError> {
        let its = snapshot.identity_sequence(table, column);
        if let Some(sequence) = its.filter(|sequence| sequence.bounds.ty != column.ty) {
            self.engine.lock_table(
                txn,
                sequence.object,
                TableLockMode::AccessExclusive,
                WaitPolicy::Block,
            )?;
            let change = SequenceChange { ty: Some(column.ty.clone()), ..SequenceChange::default() };
            let state = self.engine.sequence(sequence.object)?.state();
            let (bounds, state) = change.apply(&sequence.bounds, state)?;
            self.replace_sequence(txn, sequence, &bounds, state, sequence.unlogged)?;
            self.engine.drop_object(txn, sequence.object)?;
            let new = sequence_row(sequence.oid, &bounds);
            let is_it = |row: &SequenceRow| row.seqrelid == sequence.oid;
            self.update_rows(txn, sequence.oid, is_it, |row| *row = new.clone())?;
        }
        Ok(())
    }

    fn sequence_object(
        &self,
        txn: &mut Txn,
        bounds: &SequenceBounds,
        unlogged: bool,
    ) -> Result<ObjectId, CatalogError> {
        Ok(match unlogged {
            true => self.engine.create_unlogged_sequence(txn, sequence_spec(bounds))?,
            false => self.engine.create_sequence(txn, sequence_spec(bounds))?,
        })
    }

    /// Whether a sequence, which the transaction has locked, is still what the catalog of this version says.
    ///
    /// # Errors
    /// As [`Catalog::snapshot`].
    pub fn is_current_sequence(
        &self,
        sequence: &SequenceDef,
        version: u64,
        txn: &Txn,
    ) -> Result<bool, CatalogError> {
        if self.is_settled(version) {
            return Ok(true);
        }
        let newest = self.committed()?;
        let same = newest.sequence_by_oid(sequence.oid).is_some_and(|now| now.object == sequence.object);
        // Who holds the lock and sees another one has made that itself.
        let own = || {
            Ok(self
                .snapshot(txn)?
                .sequence_by_oid(sequence.oid)
                .is_some_and(|now| now.object == sequence.object && self.changed_by(txn)))
        };
        if same { Ok(true) } else { own() }
    }

    fn insert_owner(
        &self,
        txn: &mut Txn,
        sequence: Oid,
        owner: Option<(Oid, u16)>,
    ) -> Result<(), CatalogError> {
        let Some((table, column)) = owner else { return Ok(()) };
        let link = DependRow {
            classid: ClassRow::TABLE.oid,
            objid: sequence,
            objsubid: 0,
            refclassid: ClassRow::TABLE.oid,
            refobjid: table,
            refobjsubid: i32::from(column),
            deptype: Letter(DEPENDS_AUTO),
        };
        self.insert_rows(txn, &[link])
    }

    /// Writes the rows of a new sequence; the change has begun.
    pub(super) fn insert_sequence(
        &self,
        txn: &mut Txn,
        (schema, name): (&SchemaDef, &Arc<str>),
        (bounds, unlogged): (&SequenceBounds, bool),
        owner: Option<(Oid, u16)>,
    ) -> Result<Oid, CatalogError> {
        let oid = self.new_oid()?;
        let object = self.sequence_object(txn, bounds, unlogged)?;
        let class = class_row(oid, name, schema.oid, object, KIND_SEQUENCE, 0);
        let relpersistence = if unlogged { Letter(UNLOGGED) } else { persistence(schema) };
        let class = ClassRow { relpersistence, ..class };
        self.insert_rows(txn, &[class])?;
        self.insert_rows(txn, &[sequence_row(oid, bounds)])?;
        self.insert_owner(txn, oid, owner)?;
        Ok(oid)
    }
}
