//! CREATE FUNCTION, DROP FUNCTION.

use verso_catalog::{
    ArgMode, CatalogError, FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn, NewFunction, Object,
    Oid, Volatility,
};
use verso_types::SqlType;

use super::Schema;
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{self, CreateFunction, DropFunction, Returns};
use verso_planner::bind::check_function;
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// CREATE FUNCTION.
    pub(super) fn create_function(&self, create: &CreateFunction) -> Result<CommandTag, Failure> {
        let CreateFunction { name, or_replace, args, returns, language, body, volatility, strict, .. } =
            create;
        let plain = |ty: &SqlType| Ok::<_, SqlError>(self.data_type(ty)?.without_modifiers());
        let arg = |(name, ty): &(Option<syntax::Name>, SqlType)| {
            let name = name.as_ref().map_or("", |name| name.text.as_str()).into();
            Ok::<_, SqlError>(FunctionArg { name, ty: plain(ty)? })
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
            Returns::Trigger if !args.is_empty() => {
                let text = "trigger functions cannot have declared arguments";
                return Err(SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text)
                    .with_hint(
                        "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.",
                    )
                    .into());
            }
            Returns::Trigger if create.language.text == "sql" => {
                let text = "SQL functions cannot return type trigger";
                return Err(SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text).into());
            }
            Returns::Trigger => FunctionReturn::Trigger,
            Returns::Type(SqlType::Void) => FunctionReturn::Void,
            Returns::Type(ty) => FunctionReturn::Scalar(plain(ty)?),
            Returns::Set(ty) => FunctionReturn::Set(plain(ty)?),
            Returns::Procedure(modes) => {
                let mode = |mode: &syntax::ArgMode| match mode {
                    syntax::ArgMode::In => ArgMode::In,
                    syntax::ArgMode::Out => ArgMode::Out,
                    syntax::ArgMode::InOut => ArgMode::InOut,
                };
                FunctionReturn::Procedure(modes.iter().map(mode).collect())
            }
            Returns::Table(columns) => FunctionReturn::Table(
                columns
                    .iter()
                    .map(|(name, ty)| Ok((name.text.as_str().into(), plain(ty)?)))
                    .collect::<Result<_, SqlError>>()?,
            ),
        };
        let new = NewFunction {
            schema: Some(self.place(name)?),
            name: name.name.text.as_str().into(),
            args: args.iter().map(arg).collect::<Result<_, _>>()?,
            returns,
            language: match language.text.as_str() {
                "sql" => FunctionLanguage::Sql,
                _ => FunctionLanguage::PlPgSql,
            },
            body: body.text.as_str().into(),
            volatility: match volatility {
                syntax::Volatility::Immutable => Volatility::Immutable,
                syntax::Volatility::Stable => Volatility::Stable,
                syntax::Volatility::Volatile => Volatility::Volatile,
            },
            strict: *strict,
            security_definer: create.security_definer,
        };
        let procedure = matches!(new.returns, FunctionReturn::Procedure(_));
        let types: Vec<SqlType> = new.args.iter().map(|arg| arg.ty.clone()).collect();
        let overloads = self.frame.catalog.functions(new.schema.as_deref(), &new.name);
        if let Some(known) = overloads.iter().find(|known| known.takes(&types))
            && *or_replace
            && known.procedure().is_some() != procedure
        {
            let is = if procedure { "function" } else { "procedure" };
            let text = "cannot change routine kind";
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
                .with_detail(format!("\"{}\" is a {is}.", new.name))
                .into());
        }
        let known = overloads.iter().find(|known| known.takes(&types));
        if let (Some(known), true) = (known, *or_replace) {
            self.own(Object::Function(known.oid), "function", &known.name)?;
        }
        let is_new = known.is_none();
        let services = self.frame.services;
        let store = &services.instance.catalog;
        let oid = store.create_function(&mut self.frame.txn.borrow_mut(), &new, *or_replace)?;
        if is_new {
            self.made(Object::Function(oid), new.schema.as_deref())?;
        }
        if services.settings.checks_bodies() {
            let checked = FunctionDef {
                oid: Oid(0),
                schema: new.schema.clone().unwrap_or_else(|| "public".into()),
                name: new.name,
                args: new.args,
                returns: new.returns,
                language: new.language,
                body: new.body,
                volatility: new.volatility,
                strict: new.strict,
                security_definer: new.security_definer,
            };
            // What the body takes is looked at when it runs.
            let catalog = self.frame.catalog.with_role(None);
            check_function(&checked, &catalog, &services.settings.time_zone)?;
        }
        Ok(tag(if procedure { "CREATE PROCEDURE" } else { "CREATE FUNCTION" }))
    }

    /// DROP FUNCTION.
    pub(super) fn drop_function(&self, drop: &DropFunction) -> Result<CommandTag, Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let what = if drop.procedure { "procedure" } else { "function" };
        for (name, types) in &drop.functions {
            let types = &self.data_types(types.as_deref())?;
            let known = self.frame.catalog.functions(name.schema_text(), &name.name.text);
            let known = known.iter().filter(|known| types.as_deref().is_none_or(|types| known.takes(types)));
            if let [only] = known.collect::<Vec<_>>().as_slice()
                && only.procedure().is_some() != drop.procedure
            {
                let is = if drop.procedure { "procedure" } else { "function" };
                let text = format!("{} is not a {is}", only.signature());
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
            }
            if let Ok(function) = self.one_function(name, types.as_deref()) {
                self.own_to_drop(Object::Function(function.oid), &function.schema, what, &function.name)?;
            }
            let txn = &mut self.frame.txn.borrow_mut();
            // Where it is not found, the catalog says how.
            let found = self.one_function(name, types.as_deref());
            let result = found.and_then(|function| catalog.drop_function(txn, &function, drop.cascade));
            match result {
                Err(
                    error @ (CatalogError::Missing { kind: _, name: _ }
                    | CatalogError::NoFunctionNamed { name: _ }),
                ) if drop.if_exists => {
                    let text = match error {
                        CatalogError::Missing { kind: _, name } => format!("{what} {name}"),
                        _ => format!("{what} {name}()"),
                    };
                    self.skip(format!("{text} does not exist, skipping"));
                }
                Err(error) if drop.procedure => {
                    let mut error = SqlError::from(error);
                    error.message = error.message.replacen("function", "procedure", 1);
                    return Err(error.into());
                }
                result => self.tell_along(&result?),
            }
        }
        Ok(tag(if drop.procedure { "DROP PROCEDURE" } else { "DROP FUNCTION" }))
    }
}
