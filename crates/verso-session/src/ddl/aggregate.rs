//! CREATE AGGREGATE.

use std::sync::Arc;

use verso_catalog::{
    ArgMode, FunctionArg, FunctionLanguage, FunctionReturn, NewFunction, Object, Volatility,
};
use verso_parser::syntax::{self, AggregateOption, CreateAggregate, OptionValue, QualifiedName};
use verso_planner::bind::{NewAggregate, check_aggregate};
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::SqlType;

use super::Schema;
use crate::client::{CommandTag, Notice, tag};
use crate::failure::Failure;

fn invalid(text: impl Into<String>) -> SqlError {
    SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text)
}

/// What stands in parentheses. What only serves to be faster is not kept: parts are not combined, frames of windows are
/// computed anew.
#[derive(Debug, Default)]
struct Options<'a> {
    base: Option<&'a OptionValue>,
    step: Option<&'a QualifiedName>,
    state: Option<&'a OptionValue>,
    last: Option<&'a QualifiedName>,
    extra: bool,
    initial: Option<&'a str>,
}

impl<'a> Options<'a> {
    fn of(options: &'a [AggregateOption], tell: &dyn Fn(String)) -> Result<Options<'a>, SqlError> {
        let mut all = Options::default();
        for AggregateOption { name, value } in options {
            let function =
                || match value {
                    OptionValue::Name(name) => Ok(name),
                    _ => Err(SqlError::syntax(format!("argument of {} must be a name", name.text))
                        .at(name.at.start)),
                };
            match name.text.as_str() {
                "basetype" => all.base = Some(value),
                "sfunc" | "sfunc1" => all.step = Some(function()?),
                "stype" | "stype1" => all.state = Some(value),
                "finalfunc" => all.last = Some(function()?),
                "finalfunc_extra" => all.extra = flag(value),
                "initcond" | "initcond1" => {
                    all.initial = Some(match value {
                        OptionValue::Text(text) => text,
                        OptionValue::Name(name) => &name.name.text,
                        _ => return Err(SqlError::syntax("initcond requires a parameter").at(name.at.start)),
                    });
                }
                "hypothetical" if flag(value) => {
                    return Err(SqlError::unsupported("CREATE AGGREGATE … HYPOTHETICAL").at(name.at.start));
                }
                "hypothetical" | "combinefunc" | "serialfunc" | "deserialfunc" | "msfunc" | "minvfunc"
                | "mstype" | "msspace" | "mfinalfunc" | "mfinalfunc_extra" | "mfinalfunc_modify"
                | "minitcond" | "sspace" | "sortop" | "parallel" | "finalfunc_modify" => {}
                other => tell(format!("aggregate attribute \"{other}\" not recognized")),
            }
        }
        Ok(all)
    }
}

fn flag(value: &OptionValue) -> bool {
    match value {
        OptionValue::Name(name) => !matches!(name.name.text.as_str(), "false" | "off"),
        _ => true,
    }
}

impl Schema<'_> {
    /// CREATE AGGREGATE.
    pub(super) fn create_aggregate(&self, create: &CreateAggregate) -> Result<CommandTag, Failure> {
        let services = self.frame.services;
        let tell = |message: String| {
            let warning = Notice::warning("42601", message);
            services.notices.tell(warning);
        };
        let options = Options::of(&create.options, &tell)?;
        let args = self.aggregate_arguments(create, &options)?;
        let Some(state) = options.state else {
            return Err(invalid("aggregate stype must be specified").into());
        };
        let Some(step) = options.step else {
            return Err(invalid("aggregate sfunc must be specified").into());
        };
        let state = self.option_type(state)?;
        let inputs: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
        let new = NewAggregate {
            args: inputs.clone(),
            step,
            state,
            last: options.last,
            extra: options.extra,
            initial: options.initial,
        };
        let (definition, result) =
            check_aggregate(&new, &self.frame.catalog.with_role(None), &services.settings.time_zone)?;
        let new = NewFunction {
            schema: Some(self.place(&create.name)?),
            name: create.name.name.text.as_str().into(),
            args,
            returns: FunctionReturn::Scalar(result),
            language: FunctionLanguage::Internal,
            body: definition.text().into(),
            volatility: Volatility::Immutable,
            strict: false,
            security_definer: false,
            rows_of: None,
            standard_body: false,
            settings: Vec::new(),
        };
        let overloads = self.frame.catalog.functions(new.schema.as_deref(), &new.name);
        let known = overloads.iter().find(|known| known.takes(&inputs));
        if let (Some(known), true) = (known, create.or_replace) {
            if !known.is_aggregate() {
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, "cannot change routine kind")
                    .with_detail(format!("\"{}\" is a {}.", new.name, known.kind_word()))
                    .into());
            }
            self.own(Object::Function(known.oid), "aggregate", &known.name)?;
        }
        let is_new = known.is_none();
        let catalog = &services.instance.catalog;
        let oid = catalog.create_function(&mut self.frame.txn.borrow_mut(), &new, create.or_replace)?;
        if is_new {
            self.made(Object::Function(oid), new.schema.as_deref())?;
        }
        Ok(tag("CREATE AGGREGATE"))
    }

    /// What it takes: its arguments, or what BASETYPE says.
    fn aggregate_arguments(
        &self,
        create: &CreateAggregate,
        options: &Options<'_>,
    ) -> Result<Vec<FunctionArg>, Failure> {
        let plain = |ty: SqlType| FunctionArg {
            name: Arc::from(""),
            mode: ArgMode::In,
            ty,
            rows_of: None,
            default: None,
        };
        let Some(given) = &create.args else {
            let Some(base) = options.base else {
                return Err(invalid("aggregate input type must be specified").into());
            };
            let any = matches!(base, OptionValue::Text(text) if text.eq_ignore_ascii_case("any"));
            return Ok(if any { Vec::new() } else { vec![plain(self.option_type(base)?)] });
        };
        if options.base.is_some() {
            let text = "basetype is redundant with aggregate input type specification";
            return Err(invalid(text).into());
        }
        let mut args = Vec::new();
        for arg in given {
            let mode = match arg.mode {
                syntax::ArgMode::In => ArgMode::In,
                syntax::ArgMode::Variadic => ArgMode::Variadic,
                _ => return Err(invalid("aggregates cannot have output arguments").into()),
            };
            if arg.default.is_some() {
                let text = "aggregate arguments cannot have default values".to_string();
                return Err(invalid(text).into());
            }
            let (ty, rows_of) = self.routine_type(&arg.ty)?;
            let name = arg.name.as_ref().map_or("", |name| name.text.as_str()).into();
            args.push(FunctionArg { name, mode, rows_of, ..plain(ty) });
        }
        Ok(args)
    }

    /// A type that an option says, perhaps as a text.
    fn option_type(&self, value: &OptionValue) -> Result<SqlType, Failure> {
        let ty = match value {
            OptionValue::Type(ty) => ty.clone(),
            OptionValue::Text(text) => verso_parser::parse_type(text).map_err(SqlError::from)?,
            OptionValue::Name(_) | OptionValue::None => {
                return Err(SqlError::syntax("a type is expected").into());
            }
        };
        Ok(self.data_type(&ty)?.without_modifiers())
    }
}
