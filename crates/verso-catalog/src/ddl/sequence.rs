//! CREATE SEQUENCE, DROP SEQUENCE.

use std::sync::Arc;

use verso_storage::{TableLockMode, Txn};

use super::{persistence, refuse_if_needed, sequence_spec, target_schema};
use crate::catalog::Catalog;
use crate::definition::{Oid, SchemaDef};
use crate::error::{CatalogError, ObjectKind};
use crate::request::NewSequence;
use crate::sequence::SequenceBounds;
use crate::snapshot::Relation;
use crate::store;
use crate::system::assemble::{class_row, sequence_row};
use crate::system::field::Letter;
use crate::system::row::{ClassRow, DependRow, SystemRow};
use crate::system::{DEPENDS_AUTO, KIND_SEQUENCE};

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
        if !self.take_name(txn, &schema.name, &new.name)? {
            return if if_not_exists {
                Ok(None)
            } else {
                Err(CatalogError::exists(ObjectKind::Sequence, &*new.name))
            };
        }
        self.change(txn, |txn| self.insert_sequence(txn, &schema, &new.name, &new.bounds, owner)).map(Some)
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
    ) -> Result<(), CatalogError> {
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
        if !cascade {
            let dependents = self.needs_sequence(txn, &snapshot, &sequence)?;
            refuse_if_needed(format!("sequence {name}"), dependents)?;
        }
        self.change(txn, |txn| self.remove_sequence(txn, &sequence))
    }

    /// Writes the rows of a new sequence; the change has begun.
    pub(super) fn insert_sequence(
        &self,
        txn: &mut Txn,
        schema: &SchemaDef,
        name: &Arc<str>,
        bounds: &SequenceBounds,
        owner: Option<(Oid, u16)>,
    ) -> Result<Oid, CatalogError> {
        let oid = self.new_oid()?;
        let object = self.engine.create_sequence(txn, sequence_spec(bounds))?;
        let class = class_row(oid, name, schema.oid, object, KIND_SEQUENCE, 0);
        let class = ClassRow { relpersistence: persistence(schema), ..class };
        store::insert(&self.engine, txn, &[class])?;
        store::insert(&self.engine, txn, &[sequence_row(oid, bounds)])?;
        if let Some((table, column)) = owner {
            let link = DependRow {
                classid: ClassRow::TABLE.oid,
                objid: oid,
                objsubid: 0,
                refclassid: ClassRow::TABLE.oid,
                refobjid: table,
                refobjsubid: i32::from(column),
                deptype: Letter(DEPENDS_AUTO),
            };
            store::insert(&self.engine, txn, &[link])?;
        }
        Ok(oid)
    }
}
