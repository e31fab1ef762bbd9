//! GRANT and REVOKE of rights on objects and columns.

use std::sync::Arc;

use verso_catalog::{
    Acl, CatalogError, INFORMATION_SCHEMA, INFORMATION_SCHEMA_OID, Object, ObjectKind, Oid, Relation, Rights,
    RightsOf, SystemRelation,
};

use super::Schema;
use super::rights::{kind_word, language_named};
use crate::catalogs::system_functions;
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use verso_parser::syntax::{Grant, GrantKind, GrantOn, Name, QualifiedName};
use verso_planner::bind::rights::denied;
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::SqlType;

/// What the system has itself is needed by it.
const DEPENDENT_OBJECTS: &str = "2BP01";

impl Schema<'_> {
    /// GRANT, REVOKE of rights.
    pub(super) fn grant(&self, grant: &Grant) -> Result<CommandTag, Failure> {
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
        for (object, word, name) in self.granted(grant)? {
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
        if SystemRelation::by_oid(oid).is_some() {
            return Err(SqlError::unsupported("rights on single columns of a system catalog"));
        }
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
                // A column of which nobody has rights of its own has no list.
                let kept =
                    Some(&acl).filter(|acl| !acl.0.is_empty() || !matches!(object, Object::Column(..)));
                store.set_acl(&mut frame.txn.borrow_mut(), catalog, object, kept)?;
            }
            Ok(())
        })
    }

    /// The objects that GRANT names, each with its kind and name as messages have them.
    fn granted(&self, grant: &Grant) -> Result<Vec<(Object, &'static str, String)>, Failure> {
        let catalog = self.frame.catalog;
        let mut all: Vec<(Object, &'static str, String)> = Vec::new();
        match &grant.on {
            GrantOn::Named(GrantKind::Type, names) => {
                for name in names {
                    all.push(match self.user_type(name) {
                        Ok(ty) => (Object::Type(ty.oid), "type", ty.name.to_string()),
                        Err(error) if error.sqlstate == DEPENDENT_OBJECTS => system_type(name)?,
                        Err(error) => return Err(error.into()),
                    });
                }
            }
            GrantOn::Named(kind, names) => {
                for name in names {
                    let found = catalog.relation(name.schema_text(), &name.name.text).cloned();
                    let Some(relation) = found else {
                        let system = catalog.system_view(name.schema_text(), &name.name.text);
                        let Some(system) = system.and_then(|view| view.relation()) else {
                            return Err(self.no_relation(name).into());
                        };
                        if *kind == GrantKind::Sequence {
                            let text = format!("\"{}\" is not a sequence", system.name);
                            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
                        }
                        all.push((Object::Relation(system.oid), "table", system.name.to_owned()));
                        continue;
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
                    // As PostgreSQL says it of views, too.
                    let word = if relation.as_view().is_some() { "table" } else { kind_word(&relation) };
                    all.push((Object::Relation(relation.oid()), word, relation.name().to_string()));
                }
            }
            GrantOn::Functions(kind, functions) => {
                for (name, types) in functions {
                    let types = self.argument_types(types.as_deref())?;
                    let function = match self.one_function(name, types.as_deref()) {
                        Ok(function) => function,
                        Err(error) => {
                            all.push(system_function(*kind, name, types.as_deref(), error)?);
                            continue;
                        }
                    };
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
                    if *known.name == *verso_catalog::snapshot::PG_CATALOG {
                        return Err(SqlError::unsupported("rights on ALL … IN SCHEMA pg_catalog").into());
                    }
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
            GrantKind::Schema if name.text == INFORMATION_SCHEMA => {
                Ok(Object::Schema(INFORMATION_SCHEMA_OID))
            }
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
            GrantKind::Parameter => {
                let known = name.text.to_ascii_lowercase();
                let number =
                    crate::settings::parameter_number(&known).ok_or_else(|| match known.contains('.') {
                        true => SqlError::unsupported("rights on settings of the client's own making"),
                        false => {
                            let text = format!("unrecognized configuration parameter \"{known}\"");
                            SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
                        }
                    });
                Ok(Object::Parameter(Oid(number?)))
            }
            GrantKind::Tablespace => match crate::catalogs::tablespace(&name.text) {
                Some(oid) => Ok(Object::Tablespace(Oid(oid))),
                None => {
                    let text = format!("tablespace \"{}\" does not exist", name.text);
                    Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text))
                }
            },
            _ => self.database(name),
        }
    }
}

fn plain_word(kind: GrantKind) -> &'static str {
    match kind {
        GrantKind::Schema => "schema",
        GrantKind::Language => "language",
        GrantKind::Parameter => "parameter",
        GrantKind::Tablespace => "tablespace",
        _ => "database",
    }
}

/// A type of the system.
fn system_type(name: &QualifiedName) -> Result<(Object, &'static str, String), SqlError> {
    let ty = verso_parser::parse_type(&name.to_string())?;
    if matches!(ty, SqlType::Array(_)) {
        let error = SqlError::new("0LP01", "cannot set privileges of array types");
        return Err(error.with_hint("Set the privileges of the element type instead."));
    }
    Ok((Object::Type(Oid(ty.pg_oid())), "type", name.name.text.clone()))
}

/// The function of the system that a statement means where no function of users is meant, which says so with an error.
fn system_function(
    kind: GrantKind,
    name: &QualifiedName,
    types: Option<&[SqlType]>,
    missing: CatalogError,
) -> Result<(Object, &'static str, String), SqlError> {
    let mut found = system_functions(name.schema_text(), &name.name.text, types);
    let function = match (found.pop(), found.is_empty()) {
        (None, _) => return Err(missing.into()),
        (Some(_), false) => {
            return Err(CatalogError::AmbiguousFunction { name: name.to_string() }.into());
        }
        (Some(only), true) => only,
    };
    let wanted = match kind {
        GrantKind::Function if function.is_procedure => Some("function"),
        GrantKind::Procedure if !function.is_procedure => Some("procedure"),
        _ => None,
    };
    if let Some(wanted) = wanted {
        let types = types.unwrap_or_default().iter().map(|ty| ty.without_modifiers().pg_name());
        let shown = format!("{}({})", name.name.text, types.collect::<Vec<_>>().join(", "));
        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("{shown} is not a {wanted}")));
    }
    if let Some(what) = function.unasked {
        let text = format!("rights on the built-in function {}, which is {what}", name.name.text);
        let hint = "Nobody is asked for the right to run it: every role may.";
        return Err(SqlError::unsupported(text).with_hint(hint));
    }
    Ok((Object::Function(function.oid), "function", name.name.text.clone()))
}

/// `2BP01`: what is to be taken away was handed on.
pub(super) fn dependent() -> SqlError {
    SqlError::new("2BP01", "dependent privileges exist").with_hint("Use CASCADE to revoke them too.")
}
