//! CREATE AGGREGATE.

use std::sync::Arc;

use verso_catalog::{
    ArgMode, FunctionArg, FunctionLanguage, FunctionReturn, Modify, NewFunction, Object, Planning, Volatility,
};
use verso_parser::syntax::{self, AggregateOption, CreateAggregate, OptionValue, QualifiedName};
use verso_planner::bind::{NewAggregate, NewMoving, check_aggregate};
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::SqlType;

use super::Schema;
use crate::client::{CommandTag, Notice, tag};
use crate::failure::Failure;

fn invalid(text: impl Into<String>) -> SqlError {
    SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text)
}

/// What stands in parentheses.
#[derive(Debug, Default)]
struct Options<'a> {
    base: Option<&'a OptionValue>,
    plain: WayOptions<'a>,
    moving: WayOptions<'a>,
    inverse: Option<&'a QualifiedName>,
    combine: Option<&'a QualifiedName>,
    serial: Option<&'a QualifiedName>,
    deserial: Option<&'a QualifiedName>,
    parallel: Option<char>,
}

/// The options that plain and moving aggregates have both.
#[derive(Debug, Default)]
struct WayOptions<'a> {
    step: Option<&'a QualifiedName>,
    state: Option<&'a OptionValue>,
    last: Option<&'a QualifiedName>,
    extra: bool,
    modify: Modify,
    space: i32,
    initial: Option<&'a str>,
}

impl<'a> Options<'a> {
    fn of(options: &'a [AggregateOption], tell: &dyn Fn(String)) -> Result<Options<'a>, SqlError> {
        let mut all = Options::default();
        for option in options {
            let name = option.name.text.as_str();
            match name {
                "basetype" => all.base = Some(&option.value),
                "combinefunc" => all.combine = Some(function(option)?),
                "serialfunc" => all.serial = Some(function(option)?),
                "deserialfunc" => all.deserial = Some(function(option)?),
                "minvfunc" => all.inverse = Some(function(option)?),
                "parallel" => {
                    let words = [("safe", 's'), ("restricted", 'r'), ("unsafe", 'u')];
                    all.parallel = Some(word(option, &words, "SAFE, RESTRICTED, or UNSAFE")?);
                }
                "hypothetical" if flag(&option.value) => {
                    let refused = SqlError::unsupported("CREATE AGGREGATE … HYPOTHETICAL");
                    return Err(refused.at(option.name.at.start));
                }
                "hypothetical" => {}
                _ if all.plain.take(name, option)? => {}
                _ => match name.strip_prefix('m') {
                    Some(rest) if !rest.ends_with('1') && all.moving.take(rest, option)? => {}
                    _ => tell(format!("aggregate attribute \"{name}\" not recognized")),
                },
            }
        }
        Ok(all)
    }

    /// What the options of moving frames say together.
    fn check_moving(&self) -> Result<(), SqlError> {
        let given = [
            ("msfunc", self.moving.step.is_some()),
            ("minvfunc", self.inverse.is_some()),
            ("mfinalfunc", self.moving.last.is_some()),
            ("msspace", self.moving.space != 0),
            ("minitcond", self.moving.initial.is_some()),
        ];
        if self.moving.state.is_some() {
            if let Some((name, _)) = given[..2].iter().find(|(_, given)| !given) {
                return Err(invalid(format!("aggregate {name} must be specified when mstype is specified")));
            }
        } else if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
            return Err(invalid(format!("aggregate {name} must not be specified without mstype")));
        }
        Ok(())
    }

    /// Functions that write a state as bytes are for states of type `internal`, which functions of users do not have.
    fn check_serial(&self, state: &SqlType) -> Result<(), SqlError> {
        if self.serial.is_some() || self.deserial.is_some() {
            let text = "serialization functions may be specified only when the aggregate transition data type is internal";
            return Err(match (state.pg_name().as_str(), self.serial.and(self.deserial)) {
                ("internal", _) => SqlError::unsupported("CREATE AGGREGATE … SERIALFUNC"),
                (_, Some(_)) => invalid(text),
                (_, None) => {
                    invalid("must specify both or neither of serialization and deserialization functions")
                }
            });
        }
        Ok(())
    }
}

impl<'a> WayOptions<'a> {
    /// Takes an option by its name without the letter that stands for moving; whether there is one of that name.
    fn take(&mut self, name: &str, option: &'a AggregateOption) -> Result<bool, SqlError> {
        match name {
            "sfunc" | "sfunc1" => self.step = Some(function(option)?),
            "stype" | "stype1" => self.state = Some(&option.value),
            "finalfunc" => self.last = Some(function(option)?),
            "finalfunc_extra" => self.extra = flag(&option.value),
            "finalfunc_modify" => {
                let words = [
                    ("read_only", Modify::ReadOnly),
                    ("shareable", Modify::Shareable),
                    ("read_write", Modify::ReadWrite),
                ];
                self.modify = word(option, &words, "READ_ONLY, SHAREABLE, or READ_WRITE")?;
            }
            "sspace" => {
                let number = match &option.value {
                    OptionValue::Text(text) => text.parse().ok(),
                    _ => None,
                };
                let text = || format!("{} requires a numeric value", option.name.text);
                self.space = number.ok_or_else(|| SqlError::syntax(text()).at(option.name.at.start))?;
            }
            "initcond" | "initcond1" => {
                self.initial = Some(match &option.value {
                    OptionValue::Text(text) => text,
                    OptionValue::Name(name) => &name.name.text,
                    _ => {
                        let text = format!("{} requires a parameter", option.name.text);
                        return Err(SqlError::syntax(text).at(option.name.at.start));
                    }
                });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn function(option: &AggregateOption) -> Result<&QualifiedName, SqlError> {
    match &option.value {
        OptionValue::Name(name) => Ok(name),
        _ => {
            let text = format!("argument of {} must be a name", option.name.text);
            Err(SqlError::syntax(text).at(option.name.at.start))
        }
    }
}

/// One of several words.
fn word<T: Copy>(option: &AggregateOption, words: &[(&str, T)], all: &str) -> Result<T, SqlError> {
    let given = match &option.value {
        OptionValue::Text(text) => text.as_str(),
        OptionValue::Name(name) => name.name.text.as_str(),
        OptionValue::Type(_) | OptionValue::None => "",
    };
    let found = words.iter().find(|(word, _)| *word == given).map(|(_, means)| *means);
    found.ok_or_else(|| SqlError::syntax(format!("parameter \"{}\" must be {all}", option.name.text)))
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
        let Some(state) = options.plain.state else {
            return Err(invalid("aggregate stype must be specified").into());
        };
        let Some(step) = options.plain.step else {
            return Err(invalid("aggregate sfunc must be specified").into());
        };
        options.check_moving()?;
        let state = self.option_type(state)?;
        options.check_serial(&state)?;
        let moving = match (options.moving.step, options.inverse, options.moving.state) {
            (Some(step), Some(inverse), Some(state)) => Some(NewMoving {
                step,
                inverse,
                state: self.option_type(state)?,
                last: options.moving.last,
                extra: options.moving.extra,
                modify: options.moving.modify,
                space: options.moving.space,
                initial: options.moving.initial,
            }),
            _ => None,
        };
        let inputs: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
        inputs.iter().chain([&state]).try_for_each(|ty| self.may_use(ty))?;
        let new = NewAggregate {
            args: inputs.clone(),
            step,
            state,
            last: options.plain.last,
            extra: options.plain.extra,
            initial: options.plain.initial,
            modify: options.plain.modify,
            space: options.plain.space,
            combine: options.combine,
            parallel: options.parallel.unwrap_or('u'),
            moving,
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
            leakproof: false,
            planning: Planning::default(),
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
