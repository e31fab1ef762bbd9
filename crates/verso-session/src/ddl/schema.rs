//! CREATE, ALTER, DROP SCHEMA, SET SCHEMA; in which schema a name is.

use std::sync::Arc;

use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{CatalogError, FunctionDef, Object, ObjectKind, Relation, Rights, going_with_schema};
use verso_types::SqlType;

use super::alter_names::altered;
use super::drop::kind_of;
use super::{Schema, text};
use crate::client::{Client, CommandTag, Nowhere, Results, tag};
use crate::failure::Failure;
use crate::framed;
use crate::plans::Job;
use verso_parser::syntax::{
    AlterFunction, Name, Parsed, QualifiedName, RoutineKind, SchemaStatement, Statement, ViewStatement,
};
use verso_planner::errors::{SqlError, sqlstate};

/// No schema has this name, so nothing is found in it.
const NOWHERE: &str = "";

impl Schema<'_> {
    /// The statements within CREATE SCHEMA: run by the schema's owner, with the schema first in the search path.
    fn schema_elements(&self, schema: &str, owner: &str, elements: &[Parsed]) -> Result<(), Failure> {
        let services = self.frame.services;
        for element in elements {
            let named = match &element.statement {
                Statement::CreateTable(create) => Some(&create.name),
                Statement::CreateSequence(create) => Some(&create.name),
                Statement::CreateIndex(create) => Some(&create.table),
                Statement::CreateTrigger(create) => Some(&create.table),
                Statement::View(ViewStatement::Create(create)) => Some(&create.name),
                _ => None,
            };
            if let Some(other) =
                named.and_then(|name| name.schema.as_ref()).filter(|name| name.text != schema)
            {
                let text = format!(
                    "CREATE specifies a schema ({}) different from the one being created ({schema})",
                    other.text
                );
                return Err(SqlError::new("42P15", text).at(other.at.start).into());
            }
        }
        let owner = self.role_called(owner)?;
        let as_owner = (services.current_role() != owner).then_some(owner);
        let before = (services.acting.get(), services.creating.replace(Some(schema.into())));
        services.acting.set(as_owner.or(before.0));
        let run = |element: &Parsed| {
            let mut nowhere = Nowhere;
            let client = Client::new(&mut nowhere);
            let mut results = Results::aside(&client, services.memory.lend());
            // What is wrong within says no place: an element does not know the text around it.
            let job = Job::of(element, "", &[]);
            self.frame.inside(|frame| framed::statement(frame, &job, &[], &mut results).map(drop))
        };
        let result = elements.iter().try_for_each(run);
        services.acting.set(before.0);
        services.creating.replace(before.1);
        result
    }

    /// Runs a statement about schemas.
    pub(super) fn schema(&self, statement: &SchemaStatement) -> Result<CommandTag, Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let txn = &self.frame.txn;
        match statement {
            SchemaStatement::Create { name, owner, if_not_exists, elements } => {
                self.needs(Object::Database, Rights::CREATE, "database", self.frame.services.database())?;
                let owner = owner.as_ref().map(|owner| self.role_name(owner)).transpose()?;
                let user = self.frame.services.current_name();
                let name = name.as_ref().map(text).or_else(|| owner.clone()).unwrap_or_else(|| user.clone());
                let owner = owner.unwrap_or(user);
                if let (Some(role), Ok(of)) = (self.limited(), self.role_called(&owner))
                    && !self.frame.catalog.may_become(role, of)
                {
                    let text = format!("must be able to SET ROLE \"{owner}\"");
                    return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).into());
                }
                let made =
                    catalog.create_schema(&mut txn.borrow_mut(), &name, Some(&owner), *if_not_exists)?;
                match made {
                    Some(made) => self.default_rights_of_schema(made, &owner)?,
                    None => {
                        let text = format!("schema \"{name}\" already exists, skipping");
                        self.skip_known("42P06", text);
                    }
                }
                if !elements.is_empty() {
                    self.schema_elements(&name, &owner, elements)?;
                }
                Ok(tag("CREATE SCHEMA"))
            }
            SchemaStatement::Rename { name, to } => {
                self.own_schema(name)?;
                self.needs(Object::Database, Rights::CREATE, "database", self.frame.services.database())?;
                catalog.rename_schema(&mut txn.borrow_mut(), &name.text, &text(to))?;
                Ok(tag("ALTER SCHEMA"))
            }
            SchemaStatement::Owner { name, owner } => {
                let known = self.frame.catalog.schema(&name.text);
                let missing = || CatalogError::missing(ObjectKind::Schema, name.text.as_str());
                let schema = Object::Schema(known.ok_or_else(missing)?.oid);
                self.own_schema(name)?;
                self.give(schema, self.role_number(owner)?, None)?;
                Ok(tag("ALTER SCHEMA"))
            }
            SchemaStatement::Drop { names, if_exists, cascade } => {
                let mut along = Vec::new();
                for name in names {
                    if *if_exists && self.frame.catalog.schema(&name.text).is_none() {
                        self.skip(format!("schema \"{}\" does not exist, skipping", name.text));
                        continue;
                    }
                    self.own_schema(name)?;
                    if *cascade {
                        // Another one of the list may have taken along what needs it.
                        let more = self.frame.inside(|frame| Schema { frame }.release_schema(&name.text))?;
                        along.extend(more);
                    }
                    self.frame.inside(|frame| {
                        let catalog = &frame.services.instance.catalog;
                        Ok(catalog.drop_schema(&mut frame.txn.borrow_mut(), &name.text, *cascade)?)
                    })?;
                }
                self.tell_along(&along);
                Ok(tag("DROP SCHEMA"))
            }
            SchemaStatement::Move { kind, name, to, if_exists } => {
                let (kind, word) = (kind_of(*kind), altered(*kind));
                let home = self.home(name);
                let relation = self.frame.catalog.relation(Some(&home), &name.name.text);
                self.refuse_composite(kind, name)?;
                if *if_exists && relation.is_none() {
                    self.skip(format!("relation \"{}\" does not exist, skipping", name.name.text));
                    return Ok(tag(word));
                }
                // ALTER TABLE moves views and sequences, too.
                let kind = match relation {
                    Some(Relation::Index(index)) if kind == ObjectKind::Table => {
                        let text = format!("cannot change schema of index \"{}\"", index.name);
                        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
                            .with_hint("Change the schema of the table instead.")
                            .into());
                    }
                    Some(relation) if kind == ObjectKind::Table => relation.kind(),
                    _ => kind,
                };
                self.own_named(name)?;
                self.may_create_in(&to.text)?;
                let place = (Some(&*home), name.name.text.as_str());
                // `pg_temp` is the session's own.
                let target = self.frame.catalog.schema(&to.text);
                let target = target.map_or(to.text.as_str(), |schema| &*schema.name);
                catalog.set_schema(&mut txn.borrow_mut(), kind, place, target)?;
                Ok(tag(word))
            }
            SchemaStatement::AlterFunction { kind, name, args, action } => {
                let types = self.argument_types(args.as_deref())?;
                let function = self.altered_routine(*kind, name, types.as_deref())?;
                let is = if function.is_procedure() { "procedure" } else { "function" };
                self.own(Object::Function(function.oid), is, &function.name)?;
                let txn = &mut txn.borrow_mut();
                match action {
                    AlterFunction::Move(to) => {
                        self.may_create_in(&to.text)?;
                        catalog.set_function_schema(txn, &function, &to.text)?;
                    }
                    AlterFunction::Rename(to) => catalog.rename_function(txn, &function, &to.text)?,
                    AlterFunction::Properties {
                        volatility,
                        strict,
                        security_definer,
                        leakproof,
                        planning,
                        settings,
                        of_functions,
                    } => {
                        if let (true, Some(at)) = (function.is_procedure(), *of_functions) {
                            let text = "invalid attribute in procedure definition";
                            let error = SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text);
                            return Err(error.at(at).into());
                        }
                        self.may_be_leakproof(*leakproof == Some(true))?;
                        let new = FunctionDef {
                            leakproof: leakproof.unwrap_or(function.leakproof),
                            planning: super::function::planning(
                                planning,
                                function.planning,
                                function.returns.is_set(),
                            )?,
                            volatility: volatility.map_or(function.volatility, super::function::volatility),
                            strict: strict.unwrap_or(function.strict),
                            security_definer: security_definer.unwrap_or(function.security_definer),
                            settings: self.altered_settings(&function.settings, settings)?,
                            ..(*function).clone()
                        };
                        catalog.set_function_properties(txn, &new)?;
                    }
                }
                Ok(tag(match kind {
                    RoutineKind::Function => "ALTER FUNCTION",
                    RoutineKind::Procedure => "ALTER PROCEDURE",
                    RoutineKind::Routine => "ALTER ROUTINE",
                    RoutineKind::Aggregate => "ALTER AGGREGATE",
                }))
            }
        }
    }

    /// Drops what goes along with a schema and has to go first; all that goes along.
    pub(super) fn release_schema(&self, name: &str) -> Result<Vec<String>, Failure> {
        let catalog = self.frame.catalog;
        let Some(schema) = catalog.schema(name).filter(|_| name != PG_CATALOG).cloned() else {
            return Ok(Vec::new());
        };
        let along = going_with_schema(catalog, &schema).0;
        self.drop_held_by_others(&schema)?;
        Ok(along)
    }

    fn own_schema(&self, name: &Name) -> Result<(), SqlError> {
        match self.frame.catalog.schema(&name.text) {
            Some(schema) => self.own(Object::Schema(schema.oid), "schema", &name.text),
            None => Ok(()),
        }
    }

    /// The schema in which something of this name is made.
    pub(super) fn place(&self, name: &QualifiedName) -> Result<Arc<str>, SqlError> {
        let catalog = self.frame.catalog;
        let place: Arc<str> = match &name.schema {
            Some(schema) => catalog
                .schema(&schema.text)
                .map_or_else(|| schema.text.as_str().into(), |schema| Arc::clone(&schema.name)),
            None => {
                let found = catalog.creation_schema().map(|schema| Arc::clone(&schema.name));
                found.ok_or_else(|| {
                    let text = "no schema has been selected to create in";
                    SqlError::new(sqlstate::INVALID_SCHEMA_NAME, text).at(name.at().start)
                })?
            }
        };
        self.may_create_in(&place)?;
        Ok(place)
    }

    /// The schema in which a relation of this name is; where there is none of it, one in which there is nothing.
    pub(super) fn home(&self, name: &QualifiedName) -> Arc<str> {
        let catalog = self.frame.catalog;
        match &name.schema {
            Some(schema) => catalog
                .schema(&schema.text)
                .map_or_else(|| schema.text.as_str().into(), |schema| Arc::clone(&schema.name)),
            None => {
                let found = catalog.relation(None, &name.name.text);
                found.map_or_else(|| NOWHERE.into(), |relation| Arc::clone(relation.schema()))
            }
        }
    }

    /// The same for a table that a foreign key references: it may be the very one that is being made in `own`.
    pub(super) fn referenced_home(&self, name: &QualifiedName, own: (&Arc<str>, &str)) -> Arc<str> {
        let (schema, table) = own;
        let is_own = name.schema.is_none() && name.name.text == table;
        let first = self.frame.catalog.search_path().named().first();
        if is_own && (first == Some(schema) || *self.home(name) == *NOWHERE) {
            return Arc::clone(schema);
        }
        self.home(name)
    }

    /// The function of that name and these argument types; without types, the only one of that name.
    pub(super) fn one_function(
        &self,
        name: &QualifiedName,
        types: Option<&[SqlType]>,
    ) -> Result<Arc<FunctionDef>, CatalogError> {
        let found = self.frame.catalog.functions(name.schema_text(), &name.name.text);
        match (types, &*found) {
            (Some(types), found) => found.iter().find(|one| one.takes(types)).cloned().ok_or_else(|| {
                let names: Vec<_> = types.iter().map(|ty| ty.without_modifiers().pg_name()).collect();
                CatalogError::missing(ObjectKind::Function, format!("{name}({})", names.join(", ")))
            }),
            (None, []) => Err(CatalogError::NoFunctionNamed { name: name.to_string() }),
            (None, [only]) => Ok(Arc::clone(only)),
            (None, _) => Err(CatalogError::AmbiguousFunction { name: name.to_string() }),
        }
    }
}
