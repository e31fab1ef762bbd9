//! CREATE FUNCTION, DROP FUNCTION.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;
use verso_types::SqlType;

use super::claim::{NameOf, made_of};
use super::needing::{Lost, Needing};
use super::target_schema;
use crate::catalog::Catalog;
use crate::definition::{FunctionDef, FunctionReturn, Oid};
use crate::error::{CatalogError, ObjectKind};
use crate::request::NewFunction;
use crate::system::assemble::proc_row;
use crate::system::field::Name;
use crate::system::row::ProcRow;

/// Greatest number of arguments, as in PostgreSQL.
pub const MAX_ARGUMENTS: usize = 100;

impl Catalog {
    /// Makes a function, or with `replace` gives an existing one of the same arguments a new body.
    ///
    /// # Errors
    /// `Exists`, `ReturnTypeChanged`, `Missing` (the schema), `SystemObject`, `InvalidParameter` for too many
    /// arguments; storage's, of which `Conflict` says that another transaction changed the schema first.
    pub fn create_function(
        &self,
        txn: &mut Txn,
        new: &NewFunction,
        replace: bool,
    ) -> Result<Oid, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, new.schema.as_ref())?;
        if new.args.len() > MAX_ARGUMENTS {
            return Err(CatalogError::TooManyArguments { limit: MAX_ARGUMENTS });
        }
        let mut made = BTreeSet::new();
        new.args.iter().for_each(|arg| made_of(&arg.ty, &mut made));
        match &new.returns {
            FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => made_of(ty, &mut made),
            FunctionReturn::Table(columns) => columns.iter().for_each(|(_, ty)| made_of(ty, &mut made)),
            FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => {}
        }
        self.hold_made(txn, made)?;
        let inputs = new.args.iter().filter(|arg| arg.mode.goes_in());
        let types: Vec<SqlType> = inputs.map(|arg| arg.ty.clone()).collect();
        let overloads = snapshot.functions(Some(&schema.name), &new.name);
        let existing = overloads.iter().find(|function| function.takes(&types));
        if let Some(existing) = existing {
            let function = existing.signature();
            if !replace {
                return Err(CatalogError::exists(ObjectKind::Function, function));
            }
            if existing.returns != new.returns {
                return Err(CatalogError::ReturnTypeChanged { function });
            }
        }
        let oid = match existing {
            Some(existing) => existing.oid,
            None => self.new_oid()?,
        };
        let definition = FunctionDef {
            oid,
            schema: Arc::clone(&schema.name),
            name: Arc::clone(&new.name),
            args: new.args.clone(),
            returns: new.returns.clone(),
            language: new.language,
            body: Arc::clone(&new.body),
            volatility: new.volatility,
            strict: new.strict,
            security_definer: new.security_definer,
            leakproof: new.leakproof,
            planning: new.planning,
            needs: Vec::new(),
            stored: None,
            rows_of: new.rows_of,
            standard_body: new.standard_body,
            settings: new.settings.clone(),
            variant: 0,
        };
        let row = proc_row(&definition, schema.oid);
        self.hold_schema(txn, &schema)?;
        self.lock_name(txn, NameOf::Function, [&schema.name, &new.name])?;
        let newest = self.committed()?;
        let theirs = newest.functions(Some(&schema.name), &new.name);
        if theirs
            .iter()
            .filter(|theirs| theirs.takes(&types))
            .any(|theirs| existing.is_none_or(|own| *own != *theirs))
        {
            // Made or changed since the snapshot, by somebody else or by the transaction itself.
            self.check_newest(txn, &snapshot)?;
        }
        self.change(txn, |txn| {
            if existing.is_some() {
                let replace = |old: &mut ProcRow| *old = ProcRow { proowner: old.proowner, ..row.clone() };
                self.update_rows(txn, oid, |old: &ProcRow| old.oid == oid, replace)?;
                return Ok(());
            }
            self.insert_rows(txn, std::slice::from_ref(&row))
        })?;
        Ok(oid)
    }

    /// Gives a function another name.
    ///
    /// # Errors
    /// `InvalidDefinition` (42723: there is one of that name and arguments); storage's.
    pub fn rename_function(
        &self,
        txn: &mut Txn,
        function: &FunctionDef,
        to: &str,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&function.schema))?;
        self.hold_schema(txn, &schema)?;
        self.lock_name(txn, NameOf::Function, [&schema.name, to])?;
        let types: Vec<SqlType> = function.inputs().map(|arg| arg.ty.clone()).collect();
        for known in [&snapshot, &self.committed()?] {
            if known.functions(Some(&schema.name), to).iter().any(|other| other.takes(&types)) {
                let signature = FunctionDef { name: to.into(), ..function.clone() }.signature();
                let text = format!("function {signature} already exists in schema \"{}\"", schema.name);
                return Err(CatalogError::invalid("42723", text));
            }
        }
        self.change(txn, |txn| {
            let is_it = |row: &ProcRow| row.oid == function.oid;
            self.update_rows(txn, function.oid, is_it, |row| row.proname = Name(to.into())).map(drop)
        })
    }

    /// Changes what a definition says beside its arguments, and how its body says it.
    ///
    /// # Errors
    /// Storage's.
    pub fn set_function_properties(&self, txn: &mut Txn, function: &FunctionDef) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&function.schema))?;
        let new = proc_row(function, schema.oid);
        self.change(txn, |txn| {
            let is_it = |row: &ProcRow| row.oid == function.oid;
            let change = |row: &mut ProcRow| {
                (row.proisstrict, row.prosecdef) = (new.proisstrict, new.prosecdef);
                row.provolatile = new.provolatile;
                row.prosrc.clone_from(&new.prosrc);
                // Settings stand behind the names of arguments.
                row.proargnames.clone_from(&new.proargnames);
            };
            self.update_rows(txn, function.oid, is_it, change).map(drop)
        })
    }

    /// Drops a function; with `cascade` also the views that call it. What went along, in PostgreSQL's words.
    ///
    /// Yields what CASCADE has dropped along.
    ///
    /// # Errors
    /// `Needed`; storage's, of which `Conflict` says that another transaction changed the schema first.
    pub fn drop_function(
        &self,
        txn: &mut Txn,
        function: &FunctionDef,
        cascade: bool,
    ) -> Result<Vec<String>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let oid = function.oid;
        let needing = Needing::of(&snapshot, &[Lost::Function(oid)]);
        if !cascade {
            needing.refuse(&snapshot)?;
        }
        self.claim_gone(txn, &snapshot, [oid])?;
        let mut dropped = self.release_triggers(txn, &snapshot, function, cascade)?;
        self.change(txn, |txn| {
            self.remove_needing(txn, &snapshot, &needing)?;
            self.remove_objects(txn, oid, |row: &ProcRow| row.oid == oid)
        })?;
        dropped.extend(needing.names(&snapshot));
        Ok(dropped)
    }
}
