//! CREATE, ALTER, DROP POLICY.

use std::sync::Arc;

use verso_catalog::{Object, Oid, PolicyDef, PolicyFor, StoredCondition, TableDef};

use super::{Schema, text};
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use verso_parser::syntax::{Expr, Name, Policy, QualifiedName, RoleName};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// The table of a policy, which has to be the role's own.
    fn policy_table(&self, name: &QualifiedName, word: &str) -> Result<Arc<TableDef>, Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let table = binder.target(name)?;
        self.own(Object::Relation(table.oid), word, &table.name)?;
        Ok(table)
    }

    fn known_policy(&self, table: &TableDef, name: &Name) -> Result<Arc<PolicyDef>, SqlError> {
        let known = self.frame.catalog.policies(table.oid).iter().find(|policy| *policy.name == *name.text);
        known.cloned().ok_or_else(|| {
            let text = format!("policy \"{}\" for table \"{}\" does not exist", name.text, table.name);
            SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
        })
    }

    fn policy_roles(&self, roles: &[RoleName]) -> Result<Vec<Oid>, SqlError> {
        let public = |role: &RoleName| matches!(role, RoleName::Named(name) if name.text == "public");
        if roles.iter().any(public) {
            return Ok(vec![Oid(0)]);
        }
        roles.iter().map(|role| self.role_number(role)).collect()
    }

    /// A condition as the catalog keeps it, with what its names mean now.
    fn condition(&self, table: &Arc<TableDef>, given: &(Expr, String)) -> Result<StoredCondition, SqlError> {
        let (expr, written) = given;
        self.by_anybody(|binder| binder.policy_query(expr, (written, expr.at.start), table))
    }

    /// CREATE POLICY.
    pub(super) fn create_policy(&self, policy: &Policy) -> Result<CommandTag, Failure> {
        let table = self.policy_table(&policy.table, "table")?;
        let command = match policy.command.as_str() {
            "select" => PolicyFor::Select,
            "insert" => PolicyFor::Insert,
            "update" => PolicyFor::Update,
            "delete" => PolicyFor::Delete,
            _ => PolicyFor::All,
        };
        check_parts(command, policy)?;
        let part = |given: &Option<(Expr, String)>| {
            given.as_ref().map(|given| self.condition(&table, given)).transpose()
        };
        let new = PolicyDef {
            oid: Oid(0),
            name: text(&policy.name),
            table: table.oid,
            command,
            permissive: policy.permissive,
            roles: match &policy.roles {
                Some(roles) => self.policy_roles(roles)?,
                None => vec![Oid(0)],
            },
            using: part(&policy.using)?,
            check: part(&policy.check)?,
        };
        self.put_policy(&table, &new)?;
        Ok(tag("CREATE POLICY"))
    }

    /// ALTER POLICY.
    pub(super) fn alter_policy(&self, policy: &Policy) -> Result<CommandTag, Failure> {
        let table = self.policy_table(&policy.table, "table")?;
        let mut new = PolicyDef::clone(&*self.known_policy(&table, &policy.name)?);
        check_parts(new.command, policy)?;
        if let Some(roles) = &policy.roles {
            new.roles = self.policy_roles(roles)?;
        }
        if let Some(using) = &policy.using {
            new.using = Some(self.condition(&table, using)?);
        }
        if let Some(check) = &policy.check {
            new.check = Some(self.condition(&table, check)?);
        }
        self.put_policy(&table, &new)?;
        Ok(tag("ALTER POLICY"))
    }

    /// ALTER POLICY … RENAME TO.
    pub(super) fn rename_policy(
        &self,
        name: &Name,
        table: &QualifiedName,
        to: &Name,
    ) -> Result<CommandTag, Failure> {
        let table = self.policy_table(table, "table")?;
        let known = self.known_policy(&table, name)?;
        self.put_policy(&table, &PolicyDef { name: text(to), ..PolicyDef::clone(&*known) })?;
        Ok(tag("ALTER POLICY"))
    }

    fn put_policy(&self, table: &TableDef, policy: &PolicyDef) -> Result<(), Failure> {
        let store = &self.frame.services.instance.catalog;
        store.put_policy(&mut self.frame.txn.borrow_mut(), table, policy)?;
        Ok(())
    }

    /// DROP POLICY.
    pub(super) fn drop_policy(
        &self,
        name: &Name,
        table: &QualifiedName,
        if_exists: bool,
    ) -> Result<CommandTag, Failure> {
        if if_exists && self.frame.catalog.relation(table.schema_text(), &table.name.text).is_none() {
            let text = match self.schema_absent(table) {
                Some(error) => error.message,
                None => format!("relation \"{table}\" does not exist"),
            };
            self.skip(format!("{text}, skipping"));
            return Ok(tag("DROP POLICY"));
        }
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let table = binder.target(table)?;
        match self.known_policy(&table, name) {
            Ok(policy) => {
                self.own(Object::Relation(table.oid), "relation", &table.name)?;
                let store = &self.frame.services.instance.catalog;
                store.drop_policy(&mut self.frame.txn.borrow_mut(), &table, policy.oid)?;
            }
            Err(_) if if_exists => {
                let text = format!(
                    "policy \"{}\" for relation \"{}\" does not exist, skipping",
                    name.text, table.name
                );
                self.skip(text);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(tag("DROP POLICY"))
    }
}

/// Refuses parts that a policy for such a command does not have.
fn check_parts(command: PolicyFor, policy: &Policy) -> Result<(), SqlError> {
    match command {
        PolicyFor::Select | PolicyFor::Delete if policy.check.is_some() => {
            Err(SqlError::syntax("WITH CHECK cannot be applied to SELECT or DELETE"))
        }
        PolicyFor::Insert if policy.using.is_some() => {
            Err(SqlError::syntax("only WITH CHECK expression allowed for INSERT"))
        }
        _ => Ok(()),
    }
}
