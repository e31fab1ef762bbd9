//! CREATE DOMAIN, ALTER DOMAIN. A domain goes as other types do (`types.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;
use verso_types::{DomainCheck, DomainType, SqlType};

use super::claim::{NameOf, Taking};
use super::removal::Gone;
use super::target_schema;
use super::types::array_name;
use crate::catalog::Catalog;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::request::NewDomain;
use crate::system::row::{CollatedRow, ConstraintRow, DomainRow, SystemRow};
use crate::system::types::{domain_row, domain_types};

/// What ALTER DOMAIN changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainChange {
    /// The default, as SQL text.
    Default(Option<Arc<str>>),
    /// NOT NULL, perhaps with a name.
    NotNull(bool, Option<Arc<str>>),
    /// Another condition: its name where one was given, its SQL text, whether all values fulfil it.
    AddCheck(Option<Arc<str>>, Arc<str>, bool),
    /// A constraint goes.
    DropConstraint(Arc<str>),
    /// A constraint gets another name.
    RenameConstraint(Arc<str>, Arc<str>),
    /// All values fulfil a condition.
    Validated(Arc<str>),
}

impl Catalog {
    /// Makes a domain.
    ///
    /// # Errors
    /// `Exists`, `Missing` (the schema), `SystemObject`, `InvalidDefinition` (42710: a constraint that comes twice); storage's.
    pub fn create_domain(&self, txn: &mut Txn, new: &NewDomain) -> Result<Oid, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&new.schema))?;
        self.hold_schema(txn, &schema)?;
        self.take_type_name(txn, &snapshot, &schema, (&new.name, Taking::Type))?;
        self.hold_types(txn, &snapshot, &schema.name, [&new.base])?;
        // As in PostgreSQL the array has the smaller number.
        let (array, oid) = (self.new_oid()?, self.new_oid()?);
        let mut domain = DomainType {
            oid: oid.0,
            array: array.0,
            schema: Arc::clone(&schema.name),
            name: Arc::clone(&new.name),
            base: new.base.clone(),
            not_null: false,
            not_null_name: "".into(),
            not_null_oid: 0,
            default: new.default.clone(),
            checks: Vec::new(),
        };
        if let Some(name) = &new.not_null {
            self.require_value(&mut domain, name.as_ref())?;
        }
        for (name, expression) in &new.checks {
            self.add_check(&mut domain, name.as_ref(), expression, true)?;
        }
        let types = domain_types(&domain, &array_name(&new.name), schema.oid);
        self.makes(txn, oid)?;
        self.change(txn, |txn| {
            self.insert_rows(txn, &types)?;
            self.insert_rows(txn, &[domain_row(&domain)])?;
            let SqlType::Collated(collated) = &domain.base else { return Ok(()) };
            let collation = Oid(collated.collation.oid);
            let row = CollatedRow { objid: oid, objsubid: 0, collation, version: None };
            self.insert_rows(txn, std::slice::from_ref(&row))
        })?;
        Ok(oid)
    }

    /// Changes a domain.
    ///
    /// # Errors
    /// `InvalidDefinition` (42704: there is no such constraint, 42710: there is one of this name); storage's.
    pub fn alter_domain(
        &self,
        txn: &mut Txn,
        domain: &DomainType,
        change: &DomainChange,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        self.lock_name(txn, NameOf::Type, [&domain.schema, &domain.name])?;
        self.check_made(txn, &snapshot, Oid(domain.oid))?;
        let mut new = DomainType { checks: domain.checks.clone(), base: domain.base.clone(), ..copy(domain) };
        match change {
            DomainChange::Default(default) => new.default = default.clone(),
            DomainChange::NotNull(true, name) => self.require_value(&mut new, name.as_ref())?,
            DomainChange::NotNull(false, _) => new.not_null = false,
            DomainChange::AddCheck(name, expression, valid) => {
                self.add_check(&mut new, name.as_ref(), expression, *valid)?;
            }
            DomainChange::DropConstraint(name) => {
                let before = new.checks.len();
                new.checks.retain(|check| check.name != *name);
                if new.checks.len() == before {
                    if !(new.not_null && new.not_null_name == *name) {
                        return Err(no_constraint(domain, name));
                    }
                    new.not_null = false;
                }
            }
            DomainChange::RenameConstraint(name, to) => {
                if is_taken(&new, to) {
                    return Err(taken(&new, to));
                }
                if new.not_null && new.not_null_name == *name {
                    new.not_null_name = Arc::clone(to);
                } else {
                    let check = new.checks.iter_mut().find(|check| check.name == *name);
                    check.ok_or_else(|| no_constraint(domain, name))?.name = Arc::clone(to);
                }
            }
            DomainChange::Validated(name) => {
                let check = new.checks.iter_mut().find(|check| check.name == *name);
                check.ok_or_else(|| no_constraint(domain, name))?.validated = true;
            }
        }
        let mut gone = constraint_numbers(domain);
        gone.retain(|one| !constraint_numbers(&new).contains(one));
        self.change(txn, |txn| {
            let row = domain_row(&new);
            let is_it = |row: &DomainRow| row.oid.0 == domain.oid;
            self.update_rows(txn, Oid(domain.oid), is_it, |old| *old = row.clone())?;
            self.remove_hanging(txn, &gone)
        })
    }

    fn require_value(&self, domain: &mut DomainType, name: Option<&Arc<str>>) -> Result<(), CatalogError> {
        domain.not_null = true;
        domain.not_null_name = free_name(domain, name, "not_null")?;
        domain.not_null_oid = self.new_oid()?.0;
        Ok(())
    }

    fn add_check(
        &self,
        domain: &mut DomainType,
        name: Option<&Arc<str>>,
        expression: &Arc<str>,
        validated: bool,
    ) -> Result<(), CatalogError> {
        let name = free_name(domain, name, "check")?;
        let oid = self.new_oid()?.0;
        domain.checks.push(DomainCheck { oid, name, expression: Arc::clone(expression), validated });
        Ok(())
    }
}

/// The constraints of a domain, as objects: comments on them go with them.
pub(super) fn constraint_numbers(domain: &DomainType) -> BTreeSet<Gone> {
    let demand = domain.not_null.then_some(domain.not_null_oid);
    let all = domain.checks.iter().map(|check| check.oid).chain(demand);
    all.map(|oid| (ConstraintRow::TABLE.oid, Oid(oid))).collect()
}

/// The same without conditions, over nothing.
pub(super) fn copy(domain: &DomainType) -> DomainType {
    DomainType {
        oid: domain.oid,
        array: domain.array,
        schema: Arc::clone(&domain.schema),
        name: Arc::clone(&domain.name),
        base: SqlType::Void,
        not_null: domain.not_null,
        not_null_name: Arc::clone(&domain.not_null_name),
        not_null_oid: domain.not_null_oid,
        default: domain.default.clone(),
        checks: Vec::new(),
    }
}

/// The name of a new constraint: the given one, or one that is free.
fn free_name(domain: &DomainType, given: Option<&Arc<str>>, what: &str) -> Result<Arc<str>, CatalogError> {
    if let Some(name) = given {
        return if is_taken(domain, name) { Err(taken(domain, name)) } else { Ok(Arc::clone(name)) };
    }
    let first = format!("{}_{what}", domain.name);
    let mut names = std::iter::once(first.clone()).chain((1..).map(|n| format!("{first}{n}")));
    Ok(names.find(|name| !is_taken(domain, name)).unwrap_or(first).into())
}

fn is_taken(domain: &DomainType, name: &str) -> bool {
    domain.check(name).is_some() || domain.not_null && *domain.not_null_name == *name
}

fn taken(domain: &DomainType, name: &str) -> CatalogError {
    let text = format!("constraint \"{name}\" for domain \"{}\" already exists", domain.name);
    CatalogError::invalid("42710", text)
}

fn no_constraint(domain: &DomainType, name: &str) -> CatalogError {
    let text = format!("constraint \"{name}\" of domain \"{}\" does not exist", domain.name);
    CatalogError::invalid("42704", text)
}
