//! What databases of earlier releases keep otherwise, brought to what this one keeps when they are opened.

use std::sync::Arc;
use std::time::Duration;

use verso_catalog::{CatalogSnapshot, PolicyDef, StoredCondition, TableDef};
use verso_planner::bind::Binder;
use verso_planner::errors::SqlError;
use verso_storage::{CommitMode, Isolation, Txn, TxnOptions};
use verso_types::TimeStyle;

use super::Instance;

impl Instance {
    /// Notes what the names mean in conditions of policies of which earlier releases kept the texts alone.
    ///
    /// A condition that cannot be bound stays a text, which is bound anew by each statement that it concerns.
    pub(super) fn settle_policies(&self) -> Result<(), SqlError> {
        let reading = TxnOptions { read_only: true, savepoints: false, ..TxnOptions::default() };
        let mut txn = self.engine.begin(reading);
        txn.begin_statement()?;
        let catalog = self.catalog.snapshot(&txn);
        txn.end_statement()?;
        txn.end_unseen()?;
        let catalog = catalog?.with_role(None);
        let is_plain = |policy: &&Arc<PolicyDef>| policy.conditions().any(StoredCondition::is_plain);
        let plain: Vec<Arc<PolicyDef>> = catalog.all_policies().filter(is_plain).cloned().collect();
        for policy in plain {
            let Some(table) = catalog.table_by_oid(policy.table) else { continue };
            let settled = settled(&catalog, &policy, &table).and_then(|settled| {
                self.in_own_txn(|txn| {
                    // What a prepared transaction has locked is not waited for.
                    txn.set_lock_timeout(Some(Duration::ZERO));
                    Ok(self.catalog.put_policy(txn, &table, &settled)?)
                })
            });
            if let Err(error) = settled {
                let (name, table) = (&policy.name, &table.name);
                tracing::warn!(
                    "policy \"{name}\" on table \"{table}\" does not follow changes of what it names: {}",
                    error.message
                );
            }
        }
        Ok(())
    }

    fn in_own_txn<T>(&self, work: impl FnOnce(&mut Txn) -> Result<T, SqlError>) -> Result<T, SqlError> {
        let options = TxnOptions { isolation: Isolation::ReadCommitted, savepoints: true, read_only: false };
        let mut txn = self.engine.begin(options);
        txn.begin_statement()?;
        let done = work(&mut txn);
        txn.end_statement()?;
        match done {
            Ok(done) => txn.commit(CommitMode::Wait).map(|_| done).map_err(SqlError::from),
            Err(error) => {
                txn.rollback()?;
                Err(error)
            }
        }
    }
}

/// A policy with what its names mean.
fn settled(
    catalog: &Arc<CatalogSnapshot>,
    policy: &PolicyDef,
    table: &Arc<TableDef>,
) -> Result<PolicyDef, SqlError> {
    let style = TimeStyle::UTC;
    let binder = Binder::new(catalog, &style, &[]);
    let condition = |part: &Option<StoredCondition>| match part {
        Some(part) if part.is_plain() => binder.policy_query_of(&part.query.text, table).map(Some),
        part => Ok(part.clone()),
    };
    let (using, check) = (condition(&policy.using)?, condition(&policy.check)?);
    Ok(PolicyDef { using, check, ..policy.clone() })
}
