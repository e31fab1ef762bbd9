//! CREATE, ALTER, DROP POLICY; ROW LEVEL SECURITY.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;

use crate::authority::PolicyDef;
use crate::catalog::Catalog;
use crate::definition::{Oid, TableDef};
use crate::error::CatalogError;
use crate::stored::StoredCondition;
use crate::system::field::{Letter, Name};
use crate::system::row::{ClassRow, PolicyRow};

impl Catalog {
    /// Makes a policy, or gives the one of that number other parts.
    ///
    /// # Errors
    /// `InvalidDefinition` (42710: there is one of that name); storage's.
    pub fn put_policy(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        policy: &PolicyDef,
    ) -> Result<Oid, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let same = |known: &&Arc<PolicyDef>| known.name == policy.name && known.oid != policy.oid;
        if snapshot.policies(table.oid).iter().any(|known| same(&known)) {
            let text = format!("policy \"{}\" for table \"{}\" already exists", policy.name, table.name);
            return Err(CatalogError::invalid("42710", text));
        }
        self.lock_out(txn, table, &snapshot)?;
        let mut made = BTreeSet::new();
        for condition in policy.conditions() {
            made.extend(self.hold_relations(txn, &snapshot, &condition.query)?);
        }
        self.hold_made(txn, made)?;
        let oid = if policy.oid.0 == 0 { self.new_oid()? } else { policy.oid };
        let row = PolicyRow {
            oid,
            polname: Name(Arc::clone(&policy.name)),
            polrelid: table.oid,
            polcmd: Letter(policy.command.letter()),
            polpermissive: policy.permissive,
            polroles: policy.roles.clone(),
            polqual: policy.using.as_ref().map(StoredCondition::written),
            polwithcheck: policy.check.as_ref().map(StoredCondition::written),
        };
        self.change(txn, |txn| {
            // What is said of a policy stays when it changes.
            let is_it = |known: &PolicyRow| known.oid == oid;
            match self.update_rows(txn, table.oid, is_it, |known| *known = row.clone())? {
                0 => self.insert_rows(txn, std::slice::from_ref(&row)),
                _ => Ok(()),
            }
        })?;
        Ok(oid)
    }

    /// Drops a policy.
    ///
    /// # Errors
    /// Storage's.
    pub fn drop_policy(&self, txn: &mut Txn, table: &TableDef, policy: Oid) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        self.lock_out(txn, table, &snapshot)?;
        self.change(txn, |txn| self.remove_policies(txn, table.oid, &BTreeSet::from([policy])))
    }

    /// Removes policies of a table, and what is said of them; the change has begun.
    pub(super) fn remove_policies(
        &self,
        txn: &mut Txn,
        table: Oid,
        gone: &BTreeSet<Oid>,
    ) -> Result<(), CatalogError> {
        self.remove_objects(txn, table, |row: &PolicyRow| gone.contains(&row.oid)).map(drop)
    }

    /// ENABLE, DISABLE, FORCE, NO FORCE ROW LEVEL SECURITY; what is not given stays as it is.
    ///
    /// # Errors
    /// Storage's.
    pub fn set_row_security(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        enabled: Option<bool>,
        forced: Option<bool>,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        self.lock_out(txn, table, &snapshot)?;
        self.change(txn, |txn| {
            let change = |row: &mut ClassRow| {
                row.relrowsecurity = enabled.unwrap_or(row.relrowsecurity);
                row.relforcerowsecurity = forced.unwrap_or(row.relforcerowsecurity);
            };
            self.update_rows(txn, table.oid, |row: &ClassRow| row.oid == table.oid, change).map(drop)
        })
    }
}
