//! CREATE, ALTER, DROP POLICY.

use std::sync::Arc;

use verso_catalog::{Need, Object, Oid, PolicyDef, PolicyFor, TableDef};

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

    /// A condition as the catalog keeps it.
    fn policy_text(&self, table: &TableDef, given: &(Expr, String)) -> Result<Arc<str>, Failure> {
        let (expr, written) = given;
        let catalog = self.frame.catalog.with_role(None);
        let binder = Binder::new(&catalog, &self.frame.services.settings.time_zone, &[]);
        let columns: Vec<_> = table.columns.iter().map(|c| (Arc::clone(&c.name), c.ty.clone())).collect();
        let (kept, _) =
            binder.kept_text(expr, written, |binder| binder.policy_condition(expr, table, &columns))?;
        Ok(kept.into())
    }

    /// What both conditions of a policy need.
    fn policy_needs(&self, table: &Arc<TableDef>, policy: &Policy) -> Result<Vec<Need>, Failure> {
        self.needs_of(table, &policy.using, &policy.check)
    }

    fn needs_of(
        &self,
        table: &Arc<TableDef>,
        using: &Option<(Expr, String)>,
        check: &Option<(Expr, String)>,
    ) -> Result<Vec<Need>, Failure> {
        let catalog = self.frame.catalog.with_role(None);
        let binder = Binder::new(&catalog, &self.frame.services.settings.time_zone, &[]);
        let mut needs = Vec::new();
        for (expr, _) in using.iter().chain(check) {
            needs.extend(binder.policy_needs(expr, table)?);
        }
        needs.sort_unstable();
        needs.dedup();
        Ok(needs)
    }

    /// What policies mean whose queries read a relation: they name its columns, and those of the tables around them, in a text that
    /// is bound anew by whoever it concerns.
    pub(super) fn meant_by_policies(&self, relation: Oid) -> Vec<(Arc<PolicyDef>, Vec<Need>)> {
        let reads = |need: &Need| matches!(need, Need::Relation(of) | Need::Column(of, _) if *of == relation);
        let policies = self.frame.catalog.all_policies();
        let others = policies.filter(|policy| policy.table != relation && policy.needs.iter().any(reads));
        others.filter_map(|policy| Some((Arc::clone(policy), self.meant_by(policy)?.ok()?))).collect()
    }

    /// What a policy of the catalog means; none without its table.
    fn meant_by(&self, policy: &PolicyDef) -> Option<Result<Vec<Need>, Failure>> {
        let table = self.frame.catalog.table_by_oid(policy.table)?;
        let part = |text: &Option<Arc<str>>| match text {
            Some(text) => Ok(Some((verso_parser::parse_expression(text)?, String::new()))),
            None => Ok::<_, SqlError>(None),
        };
        let parts = part(&policy.using).and_then(|using| Ok((using, part(&policy.check)?)));
        Some(parts.map_err(Failure::from).and_then(|(using, check)| self.needs_of(&table, &using, &check)))
    }

    /// Refuses a change of columns by which a policy would mean something else, or nothing.
    pub(super) fn refuse_other_meanings(&self, meant: &[(Arc<PolicyDef>, Vec<Need>)]) -> Result<(), Failure> {
        for (known, needs) in meant {
            let policies = self.frame.catalog.policies(known.table);
            let Some(policy) = policies.iter().find(|policy| policy.oid == known.oid) else { continue };
            if matches!(self.meant_by(policy), Some(Ok(now)) if now == *needs) {
                continue;
            }
            let table = self.frame.catalog.table_by_oid(known.table);
            let what = format!(
                "changing columns so that a name in the query of policy \"{}\" on table \"{}\" means another one",
                known.name,
                table.map_or_else(String::new, |table| table.name.to_string()),
            );
            return Err(SqlError::unsupported(what).into());
        }
        Ok(())
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
        let needs = self.policy_needs(&table, policy)?;
        let part = |given: &Option<(Expr, String)>| {
            given.as_ref().map(|given| self.policy_text(&table, given)).transpose()
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
            needs,
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
        if policy.using.is_some() || policy.check.is_some() {
            let kept = |given: &Option<(Expr, String)>, known: &Option<Arc<str>>| match (given, known) {
                (None, Some(text)) => Ok(Some((verso_parser::parse_expression(text)?, String::new()))),
                _ => Ok::<_, SqlError>(given.clone()),
            };
            let using = kept(&policy.using, &new.using)?;
            let check = kept(&policy.check, &new.check)?;
            new.needs = self.policy_needs(&table, &Policy { using, check, ..policy.clone() })?;
        }
        if let Some(using) = &policy.using {
            new.using = Some(self.policy_text(&table, using)?);
        }
        if let Some(check) = &policy.check {
            new.check = Some(self.policy_text(&table, check)?);
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
