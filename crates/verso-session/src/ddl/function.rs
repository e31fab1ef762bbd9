//! CREATE FUNCTION, DROP FUNCTION.

use verso_catalog::{CatalogError, FunctionArg, FunctionLanguage, FunctionReturn, NewFunction, Volatility};
use verso_types::SqlType;

use super::{Schema, schema};
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{self, CreateFunction, DropFunction, Returns};
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// CREATE FUNCTION.
    pub(super) fn create_function(&self, create: &CreateFunction) -> Result<CommandTag, Failure> {
        let CreateFunction { name, or_replace, args, returns, language: _, body, volatility, strict } =
            create;
        let arg = |(name, ty): &(Option<syntax::Name>, SqlType)| FunctionArg {
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
            Returns::Type(SqlType::Void) => FunctionReturn::Void,
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
        let catalog = &self.frame.services.instance.catalog;
        catalog.create_function(&mut self.frame.txn.borrow_mut(), &new, *or_replace)?;
        Ok(tag("CREATE FUNCTION"))
    }

    /// DROP FUNCTION.
    pub(super) fn drop_function(&self, drop: &DropFunction) -> Result<CommandTag, Failure> {
        let catalog = &self.frame.services.instance.catalog;
        for (name, types) in &drop.functions {
            let txn = &mut self.frame.txn.borrow_mut();
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
