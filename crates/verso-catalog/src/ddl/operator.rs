//! CREATE OPERATOR, CREATE CAST, and their ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;

use super::claim::NameOf;
use super::needing::{Lost, Needing};
use super::target_schema;
use crate::aggregate::Callee;
use crate::catalog::Catalog;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::operator::{CastDef, OperatorDef};
use crate::snapshot::CatalogSnapshot;
use crate::store::Of;
use crate::system::field::{Letter, Name};
use crate::system::row::{CastRow, OperatorRow, SystemRow};

/// Whether there may be a text that uses a cast, be it one that nobody else sees yet: as long as the function is there that it calls,
/// and the types that it is between.
fn may_be_used(snapshot: &CatalogSnapshot, cast: &CastDef) -> bool {
    let function = match &cast.function {
        Some(Callee::User(function)) => Some(*function),
        _ => None,
    };
    let is_there = |oid: Oid| oid.is_system() || snapshot.type_or_row_by_oid(oid).is_some();
    function.is_none_or(|oid| snapshot.function_by_oid(oid).is_some())
        && is_there(cast.source)
        && is_there(cast.target)
}

/// The row of an operator.
fn operator_row(operator: &OperatorDef, oid: Oid, schema: Oid) -> OperatorRow {
    OperatorRow {
        oid,
        oprname: Name(Arc::clone(&operator.name)),
        oprnamespace: schema,
        oprowner: operator.owner,
        oprleft: operator.left.unwrap_or(Oid(0)),
        oprright: operator.right,
        oprresult: operator.result,
        oprcode: operator.function.text().into(),
        oprcom: operator.commutator.clone(),
        oprnegate: operator.negator.clone(),
        oprrest: operator.restrict.clone(),
        oprjoin: operator.join.clone(),
        oprcanmerge: operator.merges,
        oprcanhash: operator.hashes,
    }
}

impl Catalog {
    /// Makes an operator; its number is given here.
    ///
    /// # Errors
    /// `InvalidDefinition` (42723) where there is one; `Missing` (the schema); storage's.
    pub fn create_operator(&self, txn: &mut Txn, new: &OperatorDef) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&new.schema))?;
        self.hold_schema(txn, &schema)?;
        self.lock_name(txn, NameOf::Operator, [&schema.name, &new.name])?;
        let is_it = |one: &Arc<OperatorDef>| {
            (&one.schema, &one.name, one.left, one.right) == (&new.schema, &new.name, new.left, new.right)
        };
        if self.has_operator(txn, &snapshot, is_it)? {
            let text = format!("operator {} already exists", new.name);
            return Err(CatalogError::invalid("42723", text));
        }
        let oid = self.new_oid()?;
        self.makes(txn, oid)?;
        let row = operator_row(new, oid, schema.oid);
        self.change(txn, |txn| self.insert_rows(txn, std::slice::from_ref(&row)))
    }

    /// Drops an operator; with `cascade` also what needs it: that, in PostgreSQL's words.
    ///
    /// # Errors
    /// `Needed`; storage's.
    pub fn drop_operator(
        &self,
        txn: &mut Txn,
        operator: &OperatorDef,
        cascade: bool,
    ) -> Result<Vec<String>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let needing = Needing::of(&snapshot, &[Lost::Other(operator.oid)]);
        if !cascade {
            needing.refuse(&snapshot)?;
        }
        self.claim_gone(txn, &snapshot, [operator.oid])?;
        self.change(txn, |txn| {
            self.remove_needing(txn, &snapshot, &needing)?;
            self.remove_operator(txn, operator.oid)
        })?;
        Ok(needing.names(&snapshot))
    }

    /// Gives an operator to a role.
    ///
    /// # Errors
    /// Storage's.
    pub fn set_operator_owner(&self, txn: &mut Txn, operator: Oid, owner: Oid) -> Result<(), CatalogError> {
        self.change(txn, |txn| {
            let is_it = |row: &OperatorRow| row.oid == operator;
            self.update_rows(txn, Of::All, is_it, |row| row.oprowner = owner).map(drop)
        })
    }

    /// Puts an operator into another schema. What uses it names it by its number.
    ///
    /// # Errors
    /// `Missing` (the schema); `InvalidDefinition` (42723) where that has one; storage's.
    pub fn move_operator(
        &self,
        txn: &mut Txn,
        operator: &OperatorDef,
        schema: &Arc<str>,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(schema))?;
        if schema.name == operator.schema {
            return Ok(());
        }
        self.hold_schema(txn, &schema)?;
        self.lock_name(txn, NameOf::Operator, [&schema.name, &operator.name])?;
        let is_it = |one: &Arc<OperatorDef>| {
            (&one.schema, &one.name, one.left, one.right)
                == (&schema.name, &operator.name, operator.left, operator.right)
        };
        if self.has_operator(txn, &snapshot, is_it)? {
            let text = format!("operator {} already exists in schema \"{}\"", operator.name, schema.name);
            return Err(CatalogError::invalid("42723", text));
        }
        self.change(txn, |txn| {
            let is_it = |row: &OperatorRow| row.oid == operator.oid;
            self.update_rows(txn, Of::All, is_it, |row| row.oprnamespace = schema.oid).map(drop)
        })
    }

    /// Whether there is such an operator, whose name is locked: as the transaction sees it, or as it is committed by now, unless the
    /// transaction has dropped it.
    fn has_operator(
        &self,
        txn: &Txn,
        snapshot: &CatalogSnapshot,
        is_it: impl Fn(&Arc<OperatorDef>) -> bool,
    ) -> Result<bool, CatalogError> {
        if snapshot.operators().iter().any(&is_it) {
            return Ok(true);
        }
        let newest = self.committed()?;
        Ok(newest.operators().iter().any(|one| is_it(one) && !self.is_removed(txn, one.oid)))
    }

    /// Takes an operator and the comment on it away; the change has begun.
    pub(super) fn remove_operator(&self, txn: &mut Txn, oid: Oid) -> Result<(), CatalogError> {
        self.removes(txn, oid)?;
        self.remove_objects(txn, Of::All, |row: &OperatorRow| row.oid == oid).map(drop)
    }

    /// Makes a cast; its number is given here.
    ///
    /// # Errors
    /// `InvalidDefinition` (42710) where there is one: `exists` says so; storage's.
    pub fn create_cast(
        &self,
        txn: &mut Txn,
        new: &CastDef,
        exists: &dyn Fn() -> String,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let (source, target) = (new.source.to_string(), new.target.to_string());
        self.lock_name(txn, NameOf::Cast, [&source, &target])?;
        let newest = self.committed()?;
        let other = newest.cast(new.source, new.target).filter(|other| !self.is_removed(txn, other.oid));
        if snapshot.cast(new.source, new.target).is_some() || other.is_some() {
            return Err(CatalogError::invalid("42710", exists()));
        }
        let oid = self.new_oid()?;
        self.makes(txn, oid)?;
        let row = CastRow {
            oid,
            castsource: new.source,
            casttarget: new.target,
            castfunc: new.function.as_ref().map(|function| function.text().into()),
            castcontext: Letter(new.context.letter()),
        };
        self.change(txn, |txn| self.insert_rows(txn, std::slice::from_ref(&row)))
    }

    /// Drops a cast. As in PostgreSQL nothing is in the way of that: what was made with the cast goes on with it, so that it stays
    /// for the texts that may use it, and those that others are about to make, and is found by nobody else. Those of before whose
    /// function or types have gone go now.
    ///
    /// # Errors
    /// Storage's.
    pub fn drop_cast(&self, txn: &mut Txn, cast: &CastDef) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let same = |other: &CastDef| CastDef { oid: cast.oid, ..other.clone() } == *cast;
        let dropped = snapshot.dropped_casts().iter();
        let stale: BTreeSet<Oid> = dropped
            .filter(|other| same(other) || !may_be_used(&snapshot, other))
            .map(|other| other.oid)
            .collect();
        // Whoever comments on it ends first.
        self.lock_name(txn, NameOf::Made, [&cast.oid.0.to_string(), ""])?;
        self.change(txn, |txn| {
            if !stale.is_empty() {
                self.delete_rows(txn, Of::All, |row: &CastRow| stale.contains(&row.oid))?;
            }
            self.removes(txn, cast.oid)?;
            self.remove_hanging(txn, &BTreeSet::from([(CastRow::TABLE.oid, cast.oid)]))?;
            let is_it = |row: &CastRow| row.oid == cast.oid;
            self.update_rows(txn, Of::All, is_it, |row| row.castcontext = row.castcontext.capital(true))
                .map(drop)
        })
    }

    /// Takes a cast and the comment on it away; the change has begun.
    pub(super) fn remove_cast(&self, txn: &mut Txn, oid: Oid) -> Result<(), CatalogError> {
        self.removes(txn, oid)?;
        self.remove_objects(txn, Of::All, |row: &CastRow| row.oid == oid).map(drop)
    }
}
