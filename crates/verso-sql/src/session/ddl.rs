//! CREATE, DROP, TRUNCATE: from syntax to the catalog's requests.

use std::sync::Arc;

use verso_catalog::{
    CatalogError, FunctionArg, FunctionLanguage, FunctionReturn, NewColumn, NewFunction, NewSequence,
    NewTable, ObjectKind, SequenceRequest, Volatility,
};

use super::api::{CommandTag, Notice};
use super::run::{Failure, Frame};
use super::transaction::tag;
use crate::bind::Binder;
use crate::errors::{SqlError, sqlstate};
use crate::syntax::{
    self, CreateFunction, CreateSequence, CreateTable, Drop, DropFunction, DropKind, QualifiedName, Returns,
    Statement, TableElement,
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
            Statement::Truncate(truncate) => {
                let tables = truncate
                    .tables
                    .iter()
                    .map(|name| binder.target(name))
                    .collect::<Result<Vec<_>, SqlError>>()?;
                self.services.instance.catalog.truncate(&mut self.txn.borrow_mut(), &tables, false)?;
                Ok(tag("TRUNCATE TABLE"))
            }
            _ => Err(SqlError::internal("no statement of the schema").into()),
        }
    }

    fn skip(&self, message: String) {
        self.services.notices.borrow_mut().push(Notice::message(message));
    }

    fn create_table(&self, binder: &Binder<'_>, create: &CreateTable) -> Result<CommandTag, Failure> {
        let mut columns: Vec<NewColumn> = Vec::new();
        for element in &create.elements {
            match element {
                TableElement::Column(column) => {
                    let mut new = NewColumn::new(column.name.text.as_str(), column.ty.clone());
                    new.not_null = column.not_null;
                    if let Some((expr, text)) = &column.default {
                        binder.default_value(expr, &column.name.text, &column.ty)?;
                        new.default = Some(text.as_str().into());
                    }
                    let twice = columns.iter().any(|other| *other.name == *column.name.text);
                    if twice {
                        let text = format!("column \"{}\" specified more than once", column.name.text);
                        return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text).into());
                    }
                    columns.push(new);
                }
                TableElement::Like { table, defaults } => {
                    let table = binder.table(table)?;
                    for column in &table.columns {
                        let mut new = NewColumn::new(Arc::clone(&column.name), column.ty.clone());
                        new.not_null = column.not_null;
                        new.default = column.default.clone().filter(|_| *defaults);
                        columns.push(new);
                    }
                }
            }
        }
        let mut new = NewTable::new(create.name.name.text.as_str(), columns);
        new.schema = schema(&create.name);
        let catalog = &self.services.instance.catalog;
        let made = catalog.create_table(&mut self.txn.borrow_mut(), &new, create.if_not_exists)?;
        if made.is_none() {
            self.skip(format!("relation \"{}\" already exists, skipping", create.name.name.text));
        }
        Ok(tag("CREATE TABLE"))
    }

    fn create_sequence(&self, create: &CreateSequence) -> Result<CommandTag, Failure> {
        let CreateSequence { name, if_not_exists, ty, start, increment, min, max, cycle } = create;
        let request = SequenceRequest {
            ty: Some(ty.clone()),
            start: *start,
            increment: *increment,
            min: *min,
            max: *max,
            cycle: *cycle,
        };
        let new = NewSequence {
            schema: schema(name),
            name: name.name.text.as_str().into(),
            bounds: request.resolve()?,
            owned_by: None,
        };
        let catalog = &self.services.instance.catalog;
        if catalog.create_sequence(&mut self.txn.borrow_mut(), &new, *if_not_exists)?.is_none() {
            self.skip(format!("relation \"{}\" already exists, skipping", name.name.text));
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
        for name in &drop.names {
            let (schema, text) = (name.schema_text(), name.name.text.as_str());
            let txn = &mut self.txn.borrow_mut();
            let (result, kind) = match drop.kind {
                DropKind::Table => (catalog.drop_table(txn, schema, text, drop.cascade), "table"),
                DropKind::Sequence => (catalog.drop_sequence(txn, schema, text, drop.cascade), "sequence"),
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
        }))
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
