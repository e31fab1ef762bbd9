//! GRANT, REVOKE, owners; what a statement of the schema takes, and what new objects get.

use std::sync::Arc;

use verso_catalog::{
    Acl, CatalogError, CollationChange, MembershipChange, Object, ObjectKind, Oid, PolicyDef, Relation,
    Rights, RightsOf, StatisticsChange, TableDef,
};

use super::{Schema, text};
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use verso_parser::syntax::RoutineKind;
use verso_parser::syntax::{
    Grant, GrantKind, GrantOn, GrantRole, Name, Owned, QualifiedName, RightsStatement, RoleName,
};
use verso_planner::bind::rights::denied;
use verso_planner::errors::{SqlError, sqlstate};

/// `pg_class.relkind` in words, as messages have them.
pub(super) fn kind_word(relation: &Relation) -> &'static str {
    match relation {
        Relation::Table(_) => "table",
        Relation::View(_) => "view",
        Relation::Sequence(_) => "sequence",
        Relation::Index(_) => "index",
    }
}

/// A language that there are rights on.
pub(super) fn language_named(name: &str) -> Option<Object> {
    match name {
        "sql" => Some(Object::Language(Oid(14))),
        "plpgsql" => Some(Object::Language(Oid(13_500))),
        _ => None,
    }
}

/// `42501` for what only owners may do.
pub(super) fn not_owner(kind: &str, name: &str) -> SqlError {
    SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be owner of {kind} {name}"))
}

impl Schema<'_> {
    /// The role whose rights count, where they are limited.
    pub(super) fn limited(&self) -> Option<Oid> {
        let catalog = self.frame.catalog;
        catalog.acting_role().filter(|role| !catalog.is_superuser(*role))
    }

    /// The role that the session acts as.
    pub(super) fn current(&self) -> Oid {
        self.frame.services.current_role()
    }

    /// Refuses what is not the role's own.
    pub(super) fn own(&self, object: Object, kind: &str, name: &str) -> Result<(), SqlError> {
        match self.limited() {
            Some(role) if !self.frame.catalog.owns(role, object) => Err(not_owner(kind, name)),
            _ => Ok(()),
        }
    }

    /// The same of a relation.
    pub(super) fn own_relation(&self, relation: &Relation) -> Result<(), SqlError> {
        self.own(Object::Relation(relation.oid()), kind_word(relation), relation.name())
    }

    /// The same of a relation by its name, where there is one.
    pub(super) fn own_named(&self, name: &QualifiedName) -> Result<(), SqlError> {
        match self.frame.catalog.relation(name.schema_text(), &name.name.text) {
            Some(relation) => self.own_relation(relation),
            None => Ok(()),
        }
    }

    /// What goes with a DROP has to be the role's own, or in a schema that is.
    pub(super) fn own_to_drop(
        &self,
        object: Object,
        schema: &str,
        kind: &str,
        name: &str,
    ) -> Result<(), SqlError> {
        let Some(role) = self.limited() else { return Ok(()) };
        let catalog = self.frame.catalog;
        let of_schema = catalog.schema(schema).is_some_and(|one| catalog.owns(role, Object::Schema(one.oid)));
        if of_schema || catalog.owns(role, object) { Ok(()) } else { Err(not_owner(kind, name)) }
    }

    /// Refuses what the role has not all of these rights on.
    pub(super) fn needs(
        &self,
        object: Object,
        rights: Rights,
        kind: &str,
        name: &str,
    ) -> Result<(), SqlError> {
        match self.limited() {
            Some(role) if !self.frame.catalog.rights(role, object).has(rights) => Err(denied(kind, name)),
            _ => Ok(()),
        }
    }

    /// The same of a table, of which one of the rights is enough.
    pub(super) fn needs_any(&self, table: &TableDef, rights: Rights) -> Result<(), SqlError> {
        let Some(role) = self.limited() else { return Ok(()) };
        let has = self.frame.catalog.rights(role, Object::Relation(table.oid));
        if has.among(rights).is_empty() { Err(denied("table", &table.name)) } else { Ok(()) }
    }

    /// Refuses a schema in which the role may make nothing.
    pub(super) fn may_create_in(&self, schema: &str) -> Result<(), SqlError> {
        match self.frame.catalog.schema(schema) {
            Some(known) => self.needs(Object::Schema(known.oid), Rights::CREATE, "schema", schema),
            None => Ok(()),
        }
    }

    /// Something new is the role's, with the rights that were said for what it makes.
    pub(super) fn made(&self, object: Object, schema: Option<&str>) -> Result<(), Failure> {
        let role = self.current();
        let catalog = self.frame.catalog;
        let is_owners = role == verso_catalog::OWNER_ROLE;
        if is_owners && catalog.default_acls().is_empty() {
            return Ok(());
        }
        self.frame.inside(|frame| {
            let (store, catalog) = (&frame.services.instance.catalog, frame.catalog);
            let txn = &mut frame.txn.borrow_mut();
            if !is_owners {
                store.set_owner(txn, catalog, &[object], role)?;
            }
            let schema = schema.and_then(|name| catalog.schema(name)).map(|schema| schema.oid);
            if let Some(acl) = catalog.acl_for_new(role, schema, catalog.rights_kind(object)) {
                store.write_new_acl(txn, object, &acl)?;
            }
            Ok(())
        })
    }

    /// The number of a role.
    pub(super) fn role_number(&self, role: &RoleName) -> Result<Oid, SqlError> {
        match role {
            RoleName::Current => Ok(self.current()),
            RoleName::Session => Ok(self.frame.services.session_role()),
            RoleName::Named(name) => self.role_called(&name.text),
        }
    }

    /// The number of the role of that name.
    pub(super) fn role_called(&self, name: &str) -> Result<Oid, SqlError> {
        let found = self.frame.catalog.role_named(name);
        Ok(found.ok_or_else(|| CatalogError::missing(ObjectKind::Role, name))?.oid)
    }

    /// The same where it may be PUBLIC.
    fn grantee(&self, role: &RoleName) -> Result<Oid, SqlError> {
        match role {
            RoleName::Named(name) if name.text == "public" => Ok(Oid(0)),
            role => self.role_number(role),
        }
    }

    pub(super) fn role_text(&self, role: Oid) -> String {
        let known = self.frame.catalog.role_by_oid(role);
        known.map_or_else(|| role.to_string(), |role| role.name.to_string())
    }

    /// Runs a statement about rights.
    pub(super) fn rights_statement(&self, statement: &RightsStatement) -> Result<CommandTag, Failure> {
        match statement {
            RightsStatement::Grant(grant) => self.grant(grant),
            RightsStatement::GrantRole(grant) => self.grant_role(grant),
            RightsStatement::Default { roles, schemas, grant } => self.default_rights(roles, schemas, grant),
            RightsStatement::Owner { of, to, if_exists } => self.change_owner(of, to, *if_exists),
            RightsStatement::Reassign { from, to } => self.reassign(from, to),
            RightsStatement::DropOwned { roles, cascade } => self.drop_owned(roles, *cascade),
            RightsStatement::CreatePolicy(policy) => self.create_policy(policy),
            RightsStatement::AlterPolicy(policy) => self.alter_policy(policy),
            RightsStatement::RenamePolicy { name, table, to } => self.rename_policy(name, table, to),
            RightsStatement::DropPolicy { name, table, if_exists } => {
                self.drop_policy(name, table, *if_exists)
            }
        }
    }

    // ── GRANT, REVOKE ────────────────────────────────────────────────────────────────────────────────────────────

    fn grant(&self, grant: &Grant) -> Result<CommandTag, Failure> {
        if let Some(by) = &grant.by
            && self.role_number(by)? != self.current()
        {
            let text = "grantor must be current user";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
        }
        let to = grant.to.iter().map(|role| self.grantee(role)).collect::<Result<Vec<_>, _>>()?;
        if grant.option && !grant.revoke && to.contains(&Oid(0)) {
            let text = "grant options can only be granted to roles";
            return Err(SqlError::new("0LP01", text).into());
        }
        for (object, word, name) in self.granted(&grant.on)? {
            self.grant_on(grant, object, (word, &name), &to)?;
        }
        Ok(tag(if grant.revoke { "REVOKE" } else { "GRANT" }))
    }

    /// Rights on one object, and on its columns.
    fn grant_on(
        &self,
        grant: &Grant,
        object: Object,
        shown: (&str, &str),
        to: &[Oid],
    ) -> Result<(), Failure> {
        let kind = self.frame.catalog.rights_kind(object);
        let mut whole = Rights::NONE;
        let mut columns: Vec<(u16, Rights)> = Vec::new();
        let mut add = |numbers: Vec<u16>, rights: Rights| {
            for number in numbers {
                match columns.iter_mut().find(|(known, _)| *known == number) {
                    Some((_, known)) => *known = known.with(rights),
                    None => columns.push((number, rights)),
                }
            }
        };
        if grant.rights.is_empty() {
            match grant.columns.is_empty() {
                true => whole = kind.all(),
                false => add(self.column_numbers(object, &grant.columns)?, RightsOf::Column.all()),
            }
        }
        for (name, of) in &grant.rights {
            let right = Rights::named(&name.text)
                .ok_or_else(|| SqlError::syntax(format!("unrecognized privilege type \"{}\"", name.text)))?;
            let allowed = if of.is_empty() { kind.all() } else { RightsOf::Column.all() };
            if !allowed.has(right) {
                let of = if of.is_empty() { kind.word() } else { "column" };
                let text = format!(
                    "invalid privilege type {right} for {}",
                    if of == "table" { "relation" } else { of }
                );
                return Err(SqlError::new("0LP01", text).into());
            }
            match of.is_empty() {
                true => whole = whole.with(right),
                false => add(self.column_numbers(object, of)?, right),
            }
        }
        if !whole.is_empty() {
            self.grant_rights(grant, object, shown, whole, to)?;
            // Rights on all of a table that go take those on its columns along.
            if grant.revoke && kind == RightsOf::Table {
                let known: Vec<_> = self.frame.catalog.acls().map(|(object, _)| object).collect();
                for column in known {
                    if let Object::Column(table, _) = column
                        && Object::Relation(table) == object
                    {
                        self.grant_rights(grant, column, shown, whole.among(RightsOf::Column.all()), to)?;
                    }
                }
            }
        }
        for (column, rights) in columns {
            let Object::Relation(table) = object else { continue };
            self.grant_rights(grant, Object::Column(table, column), shown, rights, to)?;
        }
        Ok(())
    }

    fn column_numbers(&self, object: Object, names: &[Name]) -> Result<Vec<u16>, SqlError> {
        let Object::Relation(oid) = object else {
            let text = "column privileges are only valid for relations";
            return Err(SqlError::new("0LP01", text));
        };
        let relation = self.frame.catalog.relation_by_oid(oid);
        let (name, columns) = match relation {
            Some(Relation::Table(table)) => (&table.name, table.columns.as_slice()),
            Some(Relation::View(view)) => (&view.name, view.columns.as_slice()),
            _ => return Err(SqlError::new("0LP01", "column privileges are only valid for relations")),
        };
        let number = |column: &Name| {
            let found = columns.iter().find(|known| *known.name == *column.text);
            found.map(|column| column.id).ok_or_else(|| {
                let text = format!("column \"{}\" of relation \"{name}\" does not exist", column.text);
                SqlError::new(sqlstate::UNDEFINED_COLUMN, text)
            })
        };
        names.iter().map(number).collect()
    }

    /// Grants or takes rights on one object or column. Each is a statement of its own, which sees those before it.
    fn grant_rights(
        &self,
        grant: &Grant,
        object: Object,
        (word, name): (&str, &str),
        rights: Rights,
        to: &[Oid],
    ) -> Result<(), Failure> {
        self.frame.inside(|frame| {
            let catalog = frame.catalog;
            let (grantor, mut may) = catalog.best_grantor(self.current(), object, rights);
            if let Object::Column(table, _) = object {
                let (_, whole) = catalog.best_grantor(self.current(), Object::Relation(table), rights);
                may = may.with(whole);
            }
            let may = may.among(rights);
            if may.is_empty() {
                // Whoever has any right on it is told so only.
                if catalog.rights(self.current(), object).is_empty() {
                    return Err(denied(word, name).into());
                }
            }
            let said = match (grant.revoke, may.is_empty(), may == rights) {
                (_, _, true) => None,
                (false, true, _) => Some(("01007", format!("no privileges were granted for \"{name}\""))),
                (false, false, _) => {
                    Some(("01007", format!("not all privileges were granted for \"{name}\"")))
                }
                (true, true, _) => Some(("01006", format!("no privileges could be revoked for \"{name}\""))),
                (true, false, _) => {
                    Some(("01006", format!("not all privileges could be revoked for \"{name}\"")))
                }
            };
            // ALL means all that may be granted.
            if let Some((code, text)) = said.filter(|_| !grant.rights.is_empty() || may.is_empty()) {
                frame.services.notices.warn(code, &text);
            }
            let owner = catalog.owner_of(object);
            let before = catalog.acl(object);
            let mut acl: Acl = before.clone().into_owned();
            for grantee in to {
                if grant.revoke {
                    let gone = acl.revoke(*grantee, grantor, may, grant.option, owner, grant.cascade);
                    gone.map_err(|_| dependent())?;
                } else {
                    acl.grant(*grantee, grantor, may, grant.option);
                }
            }
            if acl != *before {
                let store = &frame.services.instance.catalog;
                store.set_acl(&mut frame.txn.borrow_mut(), catalog, object, Some(&acl))?;
            }
            Ok(())
        })
    }

    /// The objects that GRANT names, each with its kind and name as messages have them.
    fn granted(&self, on: &GrantOn) -> Result<Vec<(Object, &'static str, String)>, Failure> {
        let catalog = self.frame.catalog;
        let mut all: Vec<(Object, &'static str, String)> = Vec::new();
        match on {
            GrantOn::Named(GrantKind::Type, names) => {
                for name in names {
                    let ty = self.user_type(name)?;
                    all.push((Object::Type(ty.oid), "type", ty.name.to_string()));
                }
            }
            GrantOn::Named(kind, names) => {
                for name in names {
                    let found = catalog.relation(name.schema_text(), &name.name.text).cloned();
                    let Some(relation) = found else {
                        let system = catalog.system_view(name.schema_text(), &name.name.text);
                        if system.is_some() {
                            return Err(SqlError::unsupported("GRANT on a system catalog").into());
                        }
                        return Err(self.no_relation(name).into());
                    };
                    let wrong = match (&relation, kind) {
                        (Relation::Index(_), _) => Some("table"),
                        (Relation::Sequence(_), GrantKind::Sequence) => None,
                        (_, GrantKind::Sequence) => Some("sequence"),
                        _ => None,
                    };
                    if let Some(wanted) = wrong {
                        let shown = relation.name();
                        let text = match relation {
                            Relation::Index(_) => format!("\"{shown}\" is an index"),
                            _ => format!("\"{shown}\" is not a {wanted}"),
                        };
                        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
                    }
                    if relation.oid().is_system() {
                        return Err(SqlError::unsupported("GRANT on a system catalog").into());
                    }
                    // As PostgreSQL says it of views, too.
                    let word = if relation.as_view().is_some() { "table" } else { kind_word(&relation) };
                    all.push((Object::Relation(relation.oid()), word, relation.name().to_string()));
                }
            }
            GrantOn::Functions(kind, functions) => {
                for (name, types) in functions {
                    let types = self.argument_types(types.as_deref())?;
                    let function = self.one_function(name, types.as_deref())?;
                    let is_procedure = function.is_procedure();
                    let wrong = match kind {
                        GrantKind::Function => is_procedure,
                        GrantKind::Procedure => !is_procedure,
                        _ => false,
                    };
                    if wrong {
                        let wanted = if is_procedure { "function" } else { "procedure" };
                        let text = format!("{} is not a {wanted}", function.signature());
                        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
                    }
                    let word = if is_procedure { "procedure" } else { "function" };
                    all.push((Object::Function(function.oid), word, function.name.to_string()));
                }
            }
            GrantOn::Plain(kind, names) => {
                for name in names {
                    all.push((self.plain_object(*kind, name)?, plain_word(*kind), name.text.clone()));
                }
            }
            GrantOn::All(kind, schemas) => {
                for schema in schemas {
                    let known = catalog.schema(&schema.text);
                    let known =
                        known.ok_or_else(|| CatalogError::missing(ObjectKind::Schema, &*schema.text))?;
                    all.extend(self.all_in(*kind, &known.name));
                }
            }
        }
        Ok(all)
    }

    fn all_in(&self, kind: GrantKind, schema: &Arc<str>) -> Vec<(Object, &'static str, String)> {
        let catalog = self.frame.catalog;
        let relation = |relation: &Relation| {
            (Object::Relation(relation.oid()), kind_word(relation), relation.name().to_string())
        };
        let here = catalog.relations().filter(|relation| relation.schema() == schema);
        match kind {
            GrantKind::Table => here
                .filter(|relation| matches!(relation, Relation::Table(_) | Relation::View(_)))
                .map(relation)
                .collect(),
            GrantKind::Sequence => {
                here.filter(|relation| matches!(relation, Relation::Sequence(_))).map(relation).collect()
            }
            GrantKind::Function | GrantKind::Procedure | GrantKind::Routine => {
                let functions = catalog.all_functions().filter(|function| function.schema == *schema);
                let wanted = functions.filter(|function| match kind {
                    GrantKind::Function => !function.is_procedure(),
                    GrantKind::Procedure => function.is_procedure(),
                    _ => true,
                });
                wanted.map(|one| (Object::Function(one.oid), "function", one.name.to_string())).collect()
            }
            _ => Vec::new(),
        }
    }

    fn plain_object(&self, kind: GrantKind, name: &Name) -> Result<Object, SqlError> {
        let catalog = self.frame.catalog;
        match kind {
            GrantKind::Schema => {
                let schema = catalog.schema(&name.text);
                Ok(Object::Schema(
                    schema.ok_or_else(|| CatalogError::missing(ObjectKind::Schema, &*name.text))?.oid,
                ))
            }
            GrantKind::Language => language_named(&name.text).ok_or_else(|| {
                let text = format!("language \"{}\" does not exist", name.text);
                SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
            }),
            _ => self.database(name),
        }
    }

    /// Whether a name is a database's of this server.
    pub(super) fn is_database(&self, name: &Name) -> bool {
        let own = &self.frame.services.instance.member;
        let others = || own.cluster().others(own);
        *name.text == **own.name() || others().iter().any(|entry| *entry.name == *name.text)
    }

    /// The database of that name, which is the session's.
    pub(super) fn database(&self, name: &Name) -> Result<Object, SqlError> {
        let own = &self.frame.services.instance.member;
        if *name.text == **own.name() {
            return Ok(Object::Database);
        }
        if own.cluster().others(own).iter().any(|entry| *entry.name == *name.text) {
            return Err(crate::cluster::elsewhere(&name.text));
        }
        let text = format!("database \"{}\" does not exist", name.text);
        Err(SqlError::new(sqlstate::INVALID_CATALOG_NAME, text))
    }

    fn no_relation(&self, name: &QualifiedName) -> SqlError {
        let text = format!("relation \"{name}\" does not exist");
        SqlError::new(sqlstate::UNDEFINED_TABLE, text)
    }

    // ── roles ────────────────────────────────────────────────────────────────────────────────────────────────────

    fn grant_role(&self, grant: &GrantRole) -> Result<CommandTag, Failure> {
        for name in &grant.roles {
            let role = self.role_called(&name.text)?;
            for member in &grant.to {
                let member = match member {
                    RoleName::Named(name) if name.text == "public" => {
                        return Err(
                            SqlError::syntax("role specification \"PUBLIC\" is not allowed here").into()
                        );
                    }
                    member => self.role_number(member)?,
                };
                self.grant_one_role(grant, role, member)?;
            }
        }
        Ok(tag(if grant.revoke { "REVOKE ROLE" } else { "GRANT ROLE" }))
    }

    fn grant_one_role(&self, grant: &GrantRole, role: Oid, member: Oid) -> Result<(), Failure> {
        let (shown, of_member) = (self.role_text(role), self.role_text(member));
        self.frame.inside(|frame| {
            let catalog = frame.catalog;
            self.may_administer(role, if grant.revoke { "revoke" } else { "grant" })?;
            let grantor = match &grant.by {
                Some(by) => self.role_number(by)?,
                // Superusers grant as the first of them.
                None => self
                    .limited()
                    .and_then(|own| catalog.admin_of(own, role))
                    .unwrap_or(verso_catalog::OWNER_ROLE),
            };
            if !grant.revoke
                && grant.admin == Some(true)
                && !catalog.is_admin_without(grantor, role, member)
                && !catalog.is_superuser(grantor)
            {
                let text = "ADMIN option cannot be granted back to your own grantor";
                return Err(SqlError::new("0LP01", text).into());
            }
            if !grant.revoke && (role == member || catalog.is_really_member(role, member)) {
                let text = format!("role \"{shown}\" is a member of role \"{of_member}\"");
                return Err(SqlError::new("0LP01", text).into());
            }
            let change = match grant.revoke {
                false => MembershipChange::Grant { admin: grant.admin, inherit: grant.inherit, set: grant.set },
                true => MembershipChange::Revoke {
                    admin: grant.admin.is_some(),
                    inherit: grant.inherit.is_some(),
                    set: grant.set.is_some(),
                },
            };
            let store = &frame.services.instance.catalog;
            let changed =
                store.change_membership(&mut frame.txn.borrow_mut(), catalog, (role, member, grantor), change)?;
            if !changed && grant.revoke {
                let text = format!(
                    "role \"{of_member}\" has not been granted membership in role \"{shown}\" by role \"{}\"",
                    self.role_text(grantor)
                );
                frame.services.notices.warn("01000", &text);
            } else if !changed {
                let text = format!(
                    "role \"{of_member}\" has already been granted membership in role \"{shown}\" by role \"{}\"",
                    self.role_text(grantor)
                );
                self.skip(text);
            }
            Ok(())
        })
    }

    /// Refuses a role that the session's may not grant to others.
    pub(super) fn may_administer(&self, role: Oid, doing: &str) -> Result<(), SqlError> {
        let Some(own) = self.limited() else { return Ok(()) };
        let catalog = self.frame.catalog;
        let shown = self.role_text(role);
        let text = format!("permission denied to {doing} role \"{shown}\"");
        let refused = SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text);
        if catalog.is_superuser(role) {
            let detail = format!(
                "Only roles with the SUPERUSER attribute may {doing} roles with the SUPERUSER attribute."
            );
            return Err(refused.with_detail(detail));
        }
        if catalog.administers(own, role) {
            return Ok(());
        }
        Err(refused.with_detail(format!(
            "Only roles with the ADMIN option on role \"{shown}\" may {doing} this role."
        )))
    }

    // ── what is to come ──────────────────────────────────────────────────────────────────────────────────────────

    fn default_rights(
        &self,
        roles: &[RoleName],
        schemas: &[Name],
        grant: &Grant,
    ) -> Result<CommandTag, Failure> {
        let GrantOn::All(kind, _) = &grant.on else { return Err(SqlError::internal("no kind").into()) };
        let kind = match kind {
            GrantKind::Table => RightsOf::Table,
            GrantKind::Sequence => RightsOf::Sequence,
            GrantKind::Function | GrantKind::Procedure | GrantKind::Routine => RightsOf::Function,
            GrantKind::Type => RightsOf::Type,
            GrantKind::Schema => RightsOf::Schema,
            GrantKind::Language | GrantKind::Database => {
                return Err(SqlError::internal("no default rights").into());
            }
        };
        if kind == RightsOf::Schema && !schemas.is_empty() {
            let text = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
            return Err(SqlError::new("0LP01", text).into());
        }
        let mut rights = Rights::NONE;
        for (name, columns) in &grant.rights {
            let right = Rights::named(&name.text)
                .ok_or_else(|| SqlError::syntax(format!("unrecognized privilege type \"{}\"", name.text)))?;
            if !columns.is_empty() {
                let text = "default privileges cannot be set for columns";
                return Err(SqlError::new("0LP01", text).into());
            }
            if !kind.all().has(right) {
                let word = if kind == RightsOf::Table { "relation" } else { kind.word() };
                return Err(
                    SqlError::new("0LP01", format!("invalid privilege type {right} for {word}")).into()
                );
            }
            rights = rights.with(right);
        }
        if grant.rights.is_empty() {
            rights = kind.all();
        }
        let to = grant.to.iter().map(|role| self.grantee(role)).collect::<Result<Vec<_>, _>>()?;
        let roles = match roles {
            [] => vec![self.current()],
            roles => roles.iter().map(|role| self.role_number(role)).collect::<Result<_, _>>()?,
        };
        let mut places = Vec::new();
        for schema in schemas {
            let known = self.frame.catalog.schema(&schema.text);
            places.push(known.ok_or_else(|| CatalogError::missing(ObjectKind::Schema, &*schema.text))?.oid);
        }
        if schemas.is_empty() {
            places.push(Oid(0));
        }
        for role in roles {
            if self.limited().is_some_and(|own| !self.frame.catalog.inherits(own, role)) {
                let text = "permission denied to change default privileges";
                return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).into());
            }
            for schema in &places {
                self.change_default(grant, (role, *schema, kind), rights, &to)?;
            }
        }
        Ok(tag("ALTER DEFAULT PRIVILEGES"))
    }

    fn change_default(
        &self,
        grant: &Grant,
        of: (Oid, Oid, RightsOf),
        rights: Rights,
        to: &[Oid],
    ) -> Result<(), Failure> {
        let (role, schema, kind) = of;
        self.frame.inside(|frame| {
            let catalog = frame.catalog;
            let system = match schema.0 {
                0 => Acl::default_of(kind, role),
                _ => Acl::default(),
            };
            let known = catalog.default_acls().iter();
            let known =
                known.clone().find(|one| one.role == role && one.schema == schema && one.kind == kind);
            let mut acl = known.map_or_else(|| system.clone(), |one| one.acl.clone());
            for grantee in to {
                if grant.revoke {
                    let gone = acl.revoke(*grantee, role, rights, grant.option, role, grant.cascade);
                    gone.map_err(|_| dependent())?;
                } else {
                    acl.grant(*grantee, role, rights, grant.option);
                }
            }
            let kept = Some(&acl).filter(|acl| **acl != system);
            let store = &frame.services.instance.catalog;
            Ok(store.set_default_acl(&mut frame.txn.borrow_mut(), catalog, of, kept)?)
        })
    }

    // ── owners ───────────────────────────────────────────────────────────────────────────────────────────────────

    fn change_owner(&self, of: &Owned, to: &RoleName, if_exists: bool) -> Result<CommandTag, Failure> {
        let owner = self.role_number(to)?;
        let catalog = self.frame.catalog;
        let (object, schema, word, tag_word) = match of {
            Owned::Relation(kind, name) => {
                let word = super::alter_table::altered(*kind);
                let Some(relation) = catalog.relation(name.schema_text(), &name.name.text).cloned() else {
                    if if_exists {
                        self.skip(format!("relation \"{}\" does not exist, skipping", name.name.text));
                        return Ok(tag(word));
                    }
                    return Err(self.no_relation(name).into());
                };
                let wanted = super::drop::kind_of(*kind);
                if relation.kind() != wanted && wanted != ObjectKind::Table || relation.oid().is_system() {
                    let name = name.name.text.clone();
                    return Err(CatalogError::WrongKind { kind: wanted, name }.into());
                }
                if let Relation::Sequence(sequence) = &relation
                    && let Some(table) = sequence.owned_by.and_then(|by| catalog.table_by_oid(by.table))
                {
                    let text = format!("cannot change owner of sequence \"{}\"", sequence.name);
                    let detail =
                        format!("Sequence \"{}\" is linked to table \"{}\".", sequence.name, table.name);
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
                        .with_detail(detail)
                        .into());
                }
                self.own_relation(&relation)?;
                (Object::Relation(relation.oid()), Some(Arc::clone(relation.schema())), "", word)
            }
            Owned::Function(kind, name, types) => {
                let types = self.argument_types(types.as_deref())?;
                let function = self.routine(*kind, name, types.as_deref())?;
                let word = if function.is_procedure() { "procedure" } else { "function" };
                self.own(Object::Function(function.oid), word, &function.name)?;
                let tag_word = match kind {
                    RoutineKind::Function => "ALTER FUNCTION",
                    RoutineKind::Procedure => "ALTER PROCEDURE",
                    RoutineKind::Routine => "ALTER ROUTINE",
                    RoutineKind::Aggregate => "ALTER AGGREGATE",
                };
                (Object::Function(function.oid), Some(Arc::clone(&function.schema)), "", tag_word)
            }
            Owned::Type(name) => {
                let ty = self.user_type(name)?;
                self.own(Object::Type(ty.oid), "type", &ty.name)?;
                (Object::Type(ty.oid), Some(Arc::clone(&ty.schema)), "", "ALTER TYPE")
            }
            Owned::Operator(reference) => {
                let operator = self.user_operator(reference)?;
                self.own_role_object(operator.owner, "operator", &operator.name)?;
                self.may_hand_over(owner, Some(&operator.schema))?;
                let store = &self.frame.services.instance.catalog;
                store.set_operator_owner(&mut self.frame.txn.borrow_mut(), operator.oid, owner)?;
                return Ok(tag("ALTER OPERATOR"));
            }
            Owned::Collation(name) => {
                let collation = self.collation(name)?;
                self.own_collation(&collation)?;
                self.may_hand_over(owner, Some(&collation.collation.schema))?;
                let store = &self.frame.services.instance.catalog;
                let change = CollationChange::Owner(owner);
                store.alter_collation(&mut self.frame.txn.borrow_mut(), &collation, &change)?;
                return Ok(tag("ALTER COLLATION"));
            }
            Owned::Statistics(name) => {
                let statistics = self.statistics_called(name)?;
                self.own_statistics(&statistics)?;
                self.may_hand_over(owner, Some(&statistics.schema))?;
                let store = &self.frame.services.instance.catalog;
                let change = StatisticsChange::Owner(owner);
                store.alter_statistics(&mut self.frame.txn.borrow_mut(), &statistics, &change)?;
                return Ok(tag("ALTER STATISTICS"));
            }
            Owned::Database(name) => {
                let database = self.frame.services.database();
                if let Some(name) = name {
                    self.database(name)?;
                }
                self.own(Object::Database, "database", database)?;
                (Object::Database, None, &**database, "ALTER DATABASE")
            }
        };
        let _ = word;
        self.give(object, owner, schema.as_deref())?;
        Ok(tag(tag_word))
    }

    /// Gives an object to another role, which the session's has to be able to become.
    pub(super) fn give(&self, object: Object, owner: Oid, schema: Option<&str>) -> Result<(), Failure> {
        self.may_hand_over(owner, schema)?;
        let catalog = self.frame.catalog;
        let store = &self.frame.services.instance.catalog;
        Ok(store.set_owner(&mut self.frame.txn.borrow_mut(), catalog, &[object], owner)?)
    }

    /// Whether the session's role may give what is in a schema to another one.
    fn may_hand_over(&self, owner: Oid, schema: Option<&str>) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        if let Some(role) = self.limited() {
            if !catalog.may_become(role, owner) {
                let text = format!("must be able to SET ROLE \"{}\"", self.role_text(owner));
                return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).into());
            }
            if let Some(schema) = schema.and_then(|name| catalog.schema(name))
                && !catalog.rights(owner, Object::Schema(schema.oid)).has(Rights::CREATE)
            {
                return Err(denied("schema", &schema.name).into());
            }
        }
        Ok(())
    }

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

    fn reassign(&self, from: &[RoleName], to: &RoleName) -> Result<CommandTag, Failure> {
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

    fn drop_owned(&self, roles: &[RoleName], cascade: bool) -> Result<CommandTag, Failure> {
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
        // Views go before the tables that they show, and schemas last.
        owned.sort_by_key(|object| match object {
            Object::Relation(oid) if catalog.view_by_oid(*oid).is_some() => 0,
            Object::Function(_) => 1,
            Object::Schema(_) => 4,
            Object::Type(_) => 3,
            _ => 2,
        });
        for object in owned {
            self.frame.inside(|frame| Schema { frame }.drop_object(object, cascade))?;
        }
        self.frame.inside(|frame| {
            let txn = &mut frame.txn.borrow_mut();
            for operator in frame.catalog.operators().iter().filter(|one| roles.contains(&one.owner)) {
                store.drop_operator(txn, operator, cascade)?;
            }
            for collation in frame.catalog.collations().iter().filter(|one| roles.contains(&one.owner)) {
                store.drop_collation(txn, collation)?;
            }
            let statistics = frame.catalog.tables().flat_map(|table| &table.extended);
            for one in statistics.filter(|one| roles.contains(&one.owner)) {
                store.drop_statistics(txn, one)?;
            }
            Ok(())
        })?;
        Ok(tag("DROP OWNED"))
    }

    fn drop_object(&self, object: Object, cascade: bool) -> Result<(), Failure> {
        let (catalog, store) = (self.frame.catalog, &self.frame.services.instance.catalog);
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
            Object::Type(oid) => {
                if let Some(ty) = catalog.types().find(|ty| ty.oid == oid) {
                    store.drop_types(txn, &[Arc::clone(ty)], cascade)?;
                }
            }
            Object::Schema(oid) => {
                let schema = catalog.schemas().find(|schema| schema.oid == oid);
                if let Some(schema) = schema.filter(|schema| !verso_catalog::is_temporary(&schema.name)) {
                    store.drop_schema(txn, &schema.name, cascade)?;
                }
            }
            Object::Column(..) | Object::Language(_) | Object::Database => {}
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
            Object::Language(_) => return None,
            Object::Database => format!("database {}", self.frame.services.database()),
        })
    }

    /// The name of a role that a statement means.
    pub(super) fn role_name(&self, role: &RoleName) -> Result<Arc<str>, SqlError> {
        match role {
            RoleName::Named(name) => Ok(text(name)),
            role => Ok(self.role_text(self.role_number(role)?).into()),
        }
    }
}

fn plain_word(kind: GrantKind) -> &'static str {
    match kind {
        GrantKind::Schema => "schema",
        GrantKind::Language => "language",
        _ => "database",
    }
}

/// `2BP01`: what is to be taken away was handed on.
fn dependent() -> SqlError {
    SqlError::new("2BP01", "dependent privileges exist").with_hint("Use CASCADE to revoke them too.")
}
