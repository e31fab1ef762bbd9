//! CREATE, ALTER, DROP POLICY; ROW LEVEL SECURITY.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;

use crate::authority::PolicyDef;
use crate::catalog::Catalog;
use crate::definition::{ColumnDef, Oid, TableDef};
use crate::error::CatalogError;
use crate::needs::Need;
use crate::snapshot::CatalogSnapshot;
use crate::system::DEPENDS_NORMAL;
use crate::system::field::{Letter, Name};
use crate::system::row::{ClassRow, DependRow, PolicyRow, ProcRow, SystemRow, TypeRow};

impl PolicyDef {
    /// Does it name a column of its table?
    pub(super) fn names(&self, column: &ColumnDef) -> bool {
        self.needs.contains(&Need::Column(self.table, column.id))
    }
}

/// The rows of `pg_depend` that say what a policy needs.
fn links(policy: Oid, needs: &[Need]) -> Vec<DependRow> {
    let link = |need: &Need| {
        let (refclassid, refobjid, refobjsubid) = match *need {
            Need::Relation(oid) => (ClassRow::TABLE.oid, oid, 0),
            Need::Column(oid, column) => (ClassRow::TABLE.oid, oid, i32::from(column)),
            Need::Function(oid) => (ProcRow::TABLE.oid, oid, 0),
            Need::Type(oid) => (TypeRow::TABLE.oid, oid, 0),
        };
        DependRow {
            classid: PolicyRow::TABLE.oid,
            objid: policy,
            objsubid: 0,
            refclassid,
            refobjid,
            refobjsubid,
            deptype: Letter(DEPENDS_NORMAL),
        }
    };
    needs.iter().map(link).collect()
}

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
        let oid = if policy.oid.0 == 0 { self.new_oid()? } else { policy.oid };
        let row = PolicyRow {
            oid,
            polname: Name(Arc::clone(&policy.name)),
            polrelid: table.oid,
            polcmd: Letter(policy.command.letter()),
            polpermissive: policy.permissive,
            polroles: policy.roles.clone(),
            polqual: policy.using.clone(),
            polwithcheck: policy.check.clone(),
        };
        self.change(txn, |txn| {
            self.remove_policies(txn, table.oid, &BTreeSet::from([oid]))?;
            self.insert_rows(txn, &[row])?;
            self.insert_rows(txn, &links(oid, &policy.needs))
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

    /// The policies that name a column go along, or are in the way of its end.
    pub(super) fn release_policies(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        table: &TableDef,
        column: &ColumnDef,
        what: String,
        cascade: bool,
    ) -> Result<(), CatalogError> {
        let needing: Vec<&Arc<PolicyDef>> =
            snapshot.policies(table.oid).iter().filter(|policy| policy.names(column)).collect();
        if !cascade {
            let line = |policy: &&Arc<PolicyDef>| {
                format!("policy {} on table {} depends on {what}", policy.name, table.name)
            };
            return super::refuse_if_needed(what.clone(), needing.iter().map(line).collect());
        }
        let gone = needing.iter().map(|policy| policy.oid).collect();
        self.remove_policies(txn, table.oid, &gone)
    }

    /// Removes policies of a table, and what is noted of their needs; the change has begun.
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
