//! What roles own and have rights on: REASSIGN OWNED, DROP OWNED, and what keeps a role from being dropped.

use std::sync::Arc;

use verso_catalog::{
    Acl, CatalogError, CollationChange, Lost, MembershipChange, Object, Oid, PolicyDef, Relation, RightsOf,
    StatisticsChange, TableDef, needing_together,
};

use super::Schema;
use super::rights::kind_word;
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use verso_parser::syntax::RoleName;
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::SqlType;

impl Schema<'_> {
    /// The numbers of roles whose rights the session's role has.
    fn with_rights_of(&self, roles: &[RoleName], text: &str) -> Result<Vec<Oid>, SqlError> {
        let mut numbers = Vec::new();
        for role in roles {
            let role = self.role_number(role)?;
            if self.limited().is_some_and(|own| !self.frame.catalog.inherits(own, role)) {
                let detail = format!(
                    "Only roles with privileges of role \"{}\" may {} objects owned by it.",
                    self.role_text(role),
                    if text.ends_with("drop objects") { "drop" } else { "reassign" }
                );
                return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).with_detail(detail));
            }
            numbers.push(role);
        }
        Ok(numbers)
    }

    /// REASSIGN OWNED.
    pub(super) fn reassign(&self, from: &[RoleName], to: &RoleName) -> Result<CommandTag, Failure> {
        let from = self.with_rights_of(from, "permission denied to reassign objects")?;
        let to = self.with_rights_of(std::slice::from_ref(to), "permission denied to reassign objects")?;
        let Some(to) = to.first().copied() else { return Ok(tag("REASSIGN OWNED")) };
        if from.contains(&verso_catalog::OWNER_ROLE) {
            let text = "cannot reassign ownership of objects owned by role verso because they are required by the \
                        database system";
            return Err(SqlError::new("2BP01", text).into());
        }
        let objects = self.frame.catalog.owned().filter(|(_, owner)| from.contains(owner));
        let objects: Vec<Object> = objects.map(|(object, _)| object).collect();
        let store = &self.frame.services.instance.catalog;
        let txn = &mut self.frame.txn.borrow_mut();
        store.set_owner(txn, self.frame.catalog, &objects, to)?;
        for operator in self.frame.catalog.operators().iter().filter(|one| from.contains(&one.owner)) {
            store.set_operator_owner(txn, operator.oid, to)?;
        }
        for collation in self.frame.catalog.collations().iter().filter(|one| from.contains(&one.owner)) {
            store.alter_collation(txn, collation, &CollationChange::Owner(to))?;
        }
        let statistics = self.frame.catalog.tables().flat_map(|table| &table.extended);
        for one in statistics.filter(|one| from.contains(&one.owner)) {
            store.alter_statistics(txn, one, &StatisticsChange::Owner(to))?;
        }
        Ok(tag("REASSIGN OWNED"))
    }

    /// DROP OWNED.
    pub(super) fn drop_owned(&self, roles: &[RoleName], cascade: bool) -> Result<CommandTag, Failure> {
        let roles = self.with_rights_of(roles, "permission denied to drop objects")?;
        if roles.contains(&verso_catalog::OWNER_ROLE) {
            let text =
                "cannot drop objects owned by role verso because they are required by the database system";
            return Err(SqlError::new("2BP01", text).into());
        }
        let (catalog, store) = (self.frame.catalog, &self.frame.services.instance.catalog);
        // Rights first: what is dropped then takes its own along.
        let named: Vec<Object> = catalog
            .acls()
            .filter(|(_, acl)| roles.iter().any(|role| acl.names(*role)))
            .map(|(object, _)| object)
            .collect();
        for object in named {
            self.frame.inside(|frame| {
                let mut acl = frame.catalog.acl(object).into_owned();
                acl.0.retain(|item| !roles.contains(&item.grantee) && !roles.contains(&item.grantor));
                Ok(store.set_acl(&mut frame.txn.borrow_mut(), frame.catalog, object, Some(&acl))?)
            })?;
        }
        // Roles that they have granted; their own memberships go with the roles.
        for one in catalog.memberships().iter().filter(|one| roles.contains(&one.grantor)) {
            let of = (one.role, one.member, one.grantor);
            let change = MembershipChange::Revoke { admin: false, inherit: false, set: false };
            self.frame.inside(|frame| {
                let txn = &mut frame.txn.borrow_mut();
                Ok(store.change_membership(txn, frame.catalog, of, change).map(drop)?)
            })?;
        }
        for default in catalog.default_acls().iter().filter(|one| roles.contains(&one.role)) {
            let of = (default.role, default.schema, default.kind);
            self.frame.inside(|frame| {
                Ok(store.set_default_acl(&mut frame.txn.borrow_mut(), frame.catalog, of, None)?)
            })?;
        }
        let named = catalog.default_acls().iter().filter(|one| roles.iter().any(|role| one.acl.names(*role)));
        for default in named.filter(|one| !roles.contains(&one.role)) {
            let of = (default.role, default.schema, default.kind);
            let mut acl = default.acl.clone();
            acl.0.retain(|item| !roles.contains(&item.grantee));
            let system = if default.schema.0 == 0 {
                Acl::default_of(default.kind, default.role)
            } else {
                Acl::default()
            };
            let kept = Some(&acl).filter(|acl| **acl != system);
            self.frame.inside(|frame| {
                Ok(store.set_default_acl(&mut frame.txn.borrow_mut(), frame.catalog, of, kept)?)
            })?;
        }
        for policy in
            catalog.all_policies().filter(|policy| policy.roles.iter().any(|role| roles.contains(role)))
        {
            let Some(table) = catalog.table_by_oid(policy.table) else { continue };
            let mut rest = PolicyDef::clone(policy);
            rest.roles.retain(|role| !roles.contains(role));
            self.frame.inside(|frame| {
                let txn = &mut frame.txn.borrow_mut();
                match rest.roles.is_empty() {
                    true => store.drop_policy(txn, &table, policy.oid)?,
                    false => store.put_policy(txn, &table, &rest).map(drop)?,
                }
                Ok(())
            })?;
        }
        let mut owned: Vec<Object> =
            catalog.owned().filter(|(_, owner)| roles.contains(owner)).map(|(object, _)| object).collect();
        owned.sort_unstable();
        // A sequence of a column goes with its table.
        let is_part = |object: &Object| match object {
            Object::Relation(oid) => match catalog.relation_by_oid(*oid) {
                Some(Relation::Sequence(sequence)) => sequence.owned_by.is_some(),
                _ => false,
            },
            _ => false,
        };
        owned.retain(|object| !is_part(object));
        let operators = catalog.operators().iter().filter(|one| roles.contains(&one.owner));
        let collations = catalog.collations().into_iter().filter(|one| roles.contains(&one.owner));
        let mut others: Vec<Lost> = operators.map(|one| Lost::Other(one.oid)).collect();
        others.extend(collations.map(|one| Lost::Other(one.oid())));
        let (along, lines) = needing_together(catalog, &owned, &others);
        if !cascade && !lines.is_empty() {
            let what = match owned.as_slice() {
                [only] if others.is_empty() => self.shown_object(*only),
                _ => None,
            };
            let what = what.unwrap_or_else(|| "desired object(s)".to_string());
            return Err(CatalogError::Needed { what, detail: lines.join("\n") }.into());
        }
        self.tell_along(&along);
        // What needs others of them goes along with these.
        let relations = owned.iter().filter_map(|object| match object {
            Object::Relation(oid) => catalog.relation_by_oid(*oid).cloned(),
            _ => None,
        });
        let relations: Vec<Relation> = relations.collect();
        let types = owned.iter().filter_map(|object| match object {
            Object::Type(oid) => Some(*oid),
            _ => None,
        });
        self.drop_held(&relations, &types.collect::<Vec<_>>(), &mut Vec::new())?;
        let mut lost: Vec<Lost> = owned
            .iter()
            .filter_map(|object| match object {
                Object::Relation(oid) => Some(Lost::Relation(*oid)),
                Object::Function(oid) => Some(Lost::Function(*oid)),
                Object::Type(oid) => Some(Lost::Type(*oid)),
                _ => None,
            })
            .collect();
        lost.extend(others);
        self.frame.inside(|frame| Schema { frame }.drop_generated(&lost).map(drop))?;
        self.frame.inside(|frame| {
            let tables = relations.iter().filter_map(|one| frame.catalog.table_by_oid(one.oid()));
            let tables: Vec<Arc<TableDef>> = tables.collect();
            Ok(store.drop_tables(&mut frame.txn.borrow_mut(), &tables, true).map(drop)?)
        })?;
        owned.sort_by_key(|object| match object {
            Object::Relation(_) => 0,
            Object::Function(_) => 1,
            Object::Type(_) => 2,
            _ => 3,
        });
        for object in owned {
            self.frame.inside(|frame| Schema { frame }.drop_object(object))?;
        }
        for operator in catalog.operators().iter().filter(|one| roles.contains(&one.owner)) {
            self.frame.inside(|frame| {
                if let Some(there) = frame.catalog.operator_by_oid(operator.oid) {
                    store.drop_operator(&mut frame.txn.borrow_mut(), there, cascade)?;
                }
                Ok(())
            })?;
        }
        for collation in catalog.collations().iter().filter(|one| roles.contains(&one.owner)) {
            self.frame.inside(|frame| match frame.catalog.collation_by_oid(collation.oid().0) {
                Some(there) => Schema { frame }.drop_found_collation(&there, cascade).map(drop),
                None => Ok(()),
            })?;
        }
        self.frame.inside(|frame| {
            let txn = &mut frame.txn.borrow_mut();
            let statistics = frame.catalog.tables().flat_map(|table| &table.extended);
            for one in statistics.filter(|one| roles.contains(&one.owner)) {
                store.drop_statistics(txn, one)?;
            }
            Ok(())
        })?;
        Ok(tag("DROP OWNED"))
    }

    /// Drops what a role owns, if it is still there, and what needs it.
    fn drop_object(&self, object: Object) -> Result<(), Failure> {
        let cascade = true;
        if let Object::Type(oid) = object {
            let ty = self.frame.catalog.types().find(|ty| ty.oid == oid).cloned();
            return ty.map_or(Ok(()), |ty| self.drop_found_types(vec![ty], cascade, false));
        }
        let (catalog, store) = (self.frame.catalog, &self.frame.services.instance.catalog);
        if let Object::Schema(oid) = object {
            let Some(schema) = catalog.schemas().find(|schema| schema.oid == oid) else { return Ok(()) };
            if verso_catalog::is_temporary(&schema.name) {
                return Ok(());
            }
            self.drop_held_by_others(schema)?;
            return self.frame.inside(|frame| {
                Ok(store.drop_schema(&mut frame.txn.borrow_mut(), &schema.name, cascade)?)
            });
        }
        let txn = &mut self.frame.txn.borrow_mut();
        match object {
            Object::Relation(oid) => match catalog.relation_by_oid(oid) {
                Some(Relation::Table(table)) => {
                    drop(store.drop_tables(txn, &[Arc::clone(table)], cascade)?)
                }
                Some(Relation::View(view)) => drop(store.drop_views(txn, &[Arc::clone(view)], cascade)?),
                Some(Relation::Sequence(sequence)) if sequence.owned_by.is_none() => {
                    store.drop_sequence(txn, Some(&sequence.schema), &sequence.name, cascade)?;
                }
                _ => {}
            },
            Object::Function(oid) => {
                if let Some(function) = catalog.function_by_oid(oid) {
                    store.drop_function(txn, function, cascade)?;
                }
            }
            Object::Schema(_)
            | Object::Type(_)
            | Object::Column(..)
            | Object::Language(_)
            | Object::Database
            | Object::Parameter(_)
            | Object::Tablespace(_) => {}
        }
        Ok(())
    }

    /// What keeps a role from being dropped, a line each.
    pub(super) fn needed_role(&self, role: Oid) -> Vec<String> {
        let catalog = self.frame.catalog;
        let mut lines: Vec<(u8, String)> = Vec::new();
        for (object, _) in catalog.owned().filter(|(_, owner)| *owner == role) {
            if let Some(shown) = self.shown_object(object) {
                lines.push((0, format!("owner of {shown}")));
            }
        }
        for one in catalog.collations().iter().filter(|one| one.owner == role) {
            lines.push((0, format!("owner of collation {}", one.collation.name)));
        }
        let statistics = catalog.tables().flat_map(|table| &table.extended);
        for one in statistics.filter(|one| one.owner == role) {
            lines.push((0, format!("owner of statistics object {}", one.name)));
        }
        for operator in catalog.operators().iter().filter(|operator| operator.owner == role) {
            lines.push((0, format!("owner of {}", super::operators::operator_name(catalog, operator))));
        }
        for (object, _) in catalog.acls().filter(|(_, acl)| acl.names(role)) {
            if catalog.owner_of(object) != role
                && let Some(shown) = self.shown_object(object)
            {
                lines.push((1, format!("privileges for {shown}")));
            }
        }
        for policy in catalog.all_policies().filter(|policy| policy.roles.contains(&role)) {
            if let Some(table) = catalog.table_by_oid(policy.table) {
                lines.push((2, format!("target of policy {} on table {}", policy.name, table.name)));
            }
        }
        for default in catalog.default_acls() {
            if default.role == role || default.acl.names(role) {
                let owner = self.role_text(default.role);
                let word = match default.kind {
                    RightsOf::Table => "relations",
                    RightsOf::Sequence => "sequences",
                    RightsOf::Function => "functions",
                    RightsOf::Type => "types",
                    _ => "schemas",
                };
                let schema = catalog.schemas().find(|schema| schema.oid == default.schema);
                let place = schema.map_or_else(String::new, |schema| format!(" in schema {}", schema.name));
                lines.push((
                    3,
                    format!(
                        "privileges for default privileges on new {word} belonging to role {owner}{place}"
                    ),
                ));
            }
        }
        lines.sort();
        lines.into_iter().map(|(_, line)| line).collect()
    }

    fn shown_object(&self, object: Object) -> Option<String> {
        let catalog = self.frame.catalog;
        if let Some((_, kind, path)) = crate::catalogs::system_object(object) {
            let name = path.strip_prefix("pg_catalog.").unwrap_or(&path);
            return Some(match object {
                Object::Type(oid) => {
                    let ty = SqlType::from_pg_oid(oid.0, -1);
                    format!("type {}", ty.map_or_else(|| name.to_owned(), |ty| ty.pg_name()))
                }
                // As PostgreSQL says it of views, too.
                Object::Relation(_) => format!("table {name}"),
                _ => format!("{kind} {}", name.replace(", ", ",")),
            });
        }
        Some(match object {
            Object::Relation(oid) => match catalog.relation_by_oid(oid)? {
                Relation::Index(_) => return None,
                relation if catalog.is_visible(relation) => {
                    format!("{} {}", kind_word(relation), relation.name())
                }
                relation => format!("{} {}.{}", kind_word(relation), relation.schema(), relation.name()),
            },
            Object::Column(oid, column) => {
                let table = catalog.table_by_oid(oid)?;
                let at = table.column_with_id(column)?;
                format!("column {} of table {}", table.columns[at].name, table.name)
            }
            Object::Schema(oid) => {
                format!("schema {}", catalog.schemas().find(|schema| schema.oid == oid)?.name)
            }
            Object::Function(oid) => format!("function {}", catalog.function_by_oid(oid)?.signature()),
            // The array of a type goes with it.
            Object::Type(oid) => format!("type {}", catalog.types().find(|ty| ty.oid == oid)?.name),
            Object::Language(Oid(14)) => "language sql".to_owned(),
            Object::Language(_) => "language plpgsql".to_owned(),
            Object::Database => format!("database {}", self.frame.services.database()),
            Object::Parameter(oid) => format!("parameter {}", crate::settings::parameter_numbered(oid.0)?),
            Object::Tablespace(oid) => format!("tablespace {}", crate::catalogs::tablespace_named(oid)?),
        })
    }
}
