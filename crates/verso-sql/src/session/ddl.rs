//! CREATE, DROP, TRUNCATE: from syntax to the catalog's requests.

use std::sync::Arc;

use verso_catalog::{
    CatalogError, FunctionArg, FunctionLanguage, FunctionReturn, NewFunction, NewSequence, ObjectKind,
    Volatility,
};

use super::api::{CommandTag, Notice};
use super::run::{Failure, Frame};
use super::transaction::tag;
use crate::bind::Binder;
use crate::errors::{SqlError, sqlstate};
use crate::syntax::{
    self, CreateFunction, CreateSequence, Drop, DropFunction, DropKind, QualifiedName, Returns, Statement,
};

impl Frame<'_> {
    /// Runs a statement that changes the schema.
    pub(super) fn define(
        &self,
        binder: &Binder<'_>,
        statement: &Statement,
        _sql: &str,
    ) -> Result<CommandTag, Failure> {
        match statement {
            Statement::CreateTable(create) => self.create_table(binder, create),
            Statement::CreateSequence(create) => self.create_sequence(create),
            Statement::CreateFunction(create) => self.create_function(create),
            Statement::Drop(drop) => self.drop(drop),
            Statement::DropFunction(drop) => self.drop_function(drop),
            Statement::Role(role) => self.role(role),
            Statement::Truncate(truncate) => self.truncate(binder, truncate),
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::Rename { kind, name, to, if_exists } => self.rename(*kind, name, to, *if_exists),
            Statement::Reindex { index, name } => self.reindex(*index, name),
            Statement::Analyze(tables) => {
                for table in tables {
                    binder.table(table)?;
                }
                Ok(tag("ANALYZE"))
            }
            Statement::LockTable(lock) => self.lock_table(binder, lock),
            Statement::SetConstraints(set) => self.set_constraints(set),
            _ => Err(SqlError::internal("no statement of the schema").into()),
        }
    }

    pub(super) fn skip(&self, message: String) {
        self.services.notices.borrow_mut().push(Notice::message(message));
    }

    /// The same for what is there already.
    pub(super) fn skip_known(&self, sqlstate: &str, message: String) {
        let notice = Notice { sqlstate: sqlstate.into(), ..Notice::message(message) };
        self.services.notices.borrow_mut().push(notice);
    }

    fn create_sequence(&self, create: &CreateSequence) -> Result<CommandTag, Failure> {
        let new = NewSequence {
            schema: schema(&create.name),
            name: create.name.name.text.as_str().into(),
            bounds: super::tables_ddl::bounds(create)?,
            owned_by: None,
        };
        let catalog = &self.services.instance.catalog;
        if catalog.create_sequence(&mut self.txn.borrow_mut(), &new, create.if_not_exists)?.is_none() {
            let text = format!("relation \"{}\" already exists, skipping", create.name.name.text);
            self.skip_known(sqlstate::DUPLICATE_TABLE, text);
        }
        Ok(tag("CREATE SEQUENCE"))
    }

    fn create_function(&self, create: &CreateFunction) -> Result<CommandTag, Failure> {
        let CreateFunction { name, or_replace, args, returns, language: _, body, volatility, strict } =
            create;
        let arg = |(name, ty): &(Option<syntax::Name>, verso_types::SqlType)| FunctionArg {
            name: name.as_ref().map_or("", |name| name.text.as_str()).into(),
            ty: ty.without_modifiers(),
        };
        for (n, (name, _)) in args.iter().enumerate() {
            if let Some(name) = name
                && args[..n]
                    .iter()
                    .any(|(other, _)| other.as_ref().is_some_and(|other| other.text == name.text))
            {
                let text = format!("parameter name \"{}\" used more than once", name.text);
                return Err(SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text).into());
            }
        }
        let returns = match returns {
            Returns::Type(verso_types::SqlType::Void) => FunctionReturn::Void,
            Returns::Type(ty) => FunctionReturn::Scalar(ty.without_modifiers()),
            Returns::Set(ty) => FunctionReturn::Set(ty.without_modifiers()),
            Returns::Table(columns) => FunctionReturn::Table(
                columns
                    .iter()
                    .map(|(name, ty)| (name.text.as_str().into(), ty.without_modifiers()))
                    .collect(),
            ),
        };
        let new = NewFunction {
            schema: schema(name),
            name: name.name.text.as_str().into(),
            args: args.iter().map(arg).collect(),
            returns,
            language: FunctionLanguage::PlPgSql,
            body: body.text.as_str().into(),
            volatility: match volatility {
                syntax::Volatility::Immutable => Volatility::Immutable,
                syntax::Volatility::Stable => Volatility::Stable,
                syntax::Volatility::Volatile => Volatility::Volatile,
            },
            strict: *strict,
        };
        let catalog = &self.services.instance.catalog;
        catalog.create_function(&mut self.txn.borrow_mut(), &new, *or_replace)?;
        Ok(tag("CREATE FUNCTION"))
    }

    fn drop(&self, drop: &Drop) -> Result<CommandTag, Failure> {
        let catalog = &self.services.instance.catalog;
        if drop.kind == DropKind::Table && drop.names.len() > 1 {
            return self.drop_tables(drop);
        }
        for name in &drop.names {
            let (schema, text) = (name.schema_text(), name.name.text.as_str());
            let txn = &mut self.txn.borrow_mut();
            let (result, kind) = match drop.kind {
                DropKind::Table => (catalog.drop_table(txn, schema, text, drop.cascade), "table"),
                DropKind::Sequence => (catalog.drop_sequence(txn, schema, text, drop.cascade), "sequence"),
                DropKind::Index => (catalog.drop_index(txn, schema, text, drop.cascade), "index"),
            };
            match result {
                Err(CatalogError::Missing { kind: missing, name: _ }) if drop.if_exists => match missing {
                    ObjectKind::Schema => self
                        .skip(format!("schema \"{}\" does not exist, skipping", schema.unwrap_or_default())),
                    _ => self.skip(format!("{kind} \"{text}\" does not exist, skipping")),
                },
                result => result?,
            }
        }
        Ok(tag(match drop.kind {
            DropKind::Table => "DROP TABLE",
            DropKind::Sequence => "DROP SEQUENCE",
            DropKind::Index => "DROP INDEX",
        }))
    }

    /// Several tables at once, so that foreign keys among them are in nobody's way.
    fn drop_tables(&self, drop: &Drop) -> Result<CommandTag, Failure> {
        let mut tables: Vec<Arc<verso_catalog::TableDef>> = Vec::new();
        for name in &drop.names {
            let (schema, text) = (name.schema_text(), name.name.text.as_str());
            match self.catalog.relation(schema, text) {
                Some(verso_catalog::Relation::Table(table)) => {
                    if !tables.iter().any(|known| known.oid == table.oid) {
                        tables.push(Arc::clone(table));
                    }
                }
                Some(_) => {
                    let error = CatalogError::WrongKind { kind: ObjectKind::Table, name: text.to_string() };
                    return Err(error.into());
                }
                None if drop.if_exists => {
                    self.skip(format!("table \"{text}\" does not exist, skipping"));
                }
                None => return Err(CatalogError::missing(ObjectKind::Table, text).into()),
            }
        }
        let catalog = &self.services.instance.catalog;
        catalog.drop_tables(&mut self.txn.borrow_mut(), &tables, drop.cascade)?;
        Ok(tag("DROP TABLE"))
    }

    fn drop_function(&self, drop: &DropFunction) -> Result<CommandTag, Failure> {
        let catalog = &self.services.instance.catalog;
        for (name, types) in &drop.functions {
            let txn = &mut self.txn.borrow_mut();
            let result = catalog.drop_function(txn, name.schema_text(), &name.name.text, types.as_deref());
            match result {
                Err(
                    error @ (CatalogError::Missing { kind: _, name: _ }
                    | CatalogError::NoFunctionNamed { name: _ }),
                ) if drop.if_exists => {
                    let text = match error {
                        CatalogError::Missing { kind: _, name } => format!("function {name}"),
                        _ => format!("function {name}()"),
                    };
                    self.skip(format!("{text} does not exist, skipping"));
                }
                result => result?,
            }
        }
        Ok(tag("DROP FUNCTION"))
    }
}

fn schema(name: &QualifiedName) -> Option<Arc<str>> {
    name.schema_text().map(Arc::from)
}
