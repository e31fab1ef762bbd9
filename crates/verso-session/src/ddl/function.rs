//! CREATE FUNCTION, DROP FUNCTION.

use std::sync::Arc;

use verso_catalog::{
    FunctionDef, FunctionLanguage, FunctionReturn, Lost, NewFunction, Object, Oid, ParallelSafety, Planning,
    Rights, Volatility,
};
use verso_exec::context::SettingAccess;
use verso_types::SqlType;

use super::Schema;
use super::routine::check_replaced;
use crate::catalogs::is_system_routine;
use crate::client::{CommandTag, Notice, tag};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::settings::{Settings, unknown};
use verso_parser::syntax::{
    self, CreateFunction, DropFunction, FunctionBody, FunctionSetting, QualifiedName, RoutineKind,
    RoutineType,
};
use verso_planner::bind::{check_function, function_body, shadowed};
use verso_planner::errors::{SqlError, sqlstate};

/// 42712
const DUPLICATE_ALIAS: &str = "42712";

/// An error whose place in a body becomes one in the statement that gives it; then nothing says in which function it is.
/// Where the body is written otherwise than it reads, the error shows it.
pub(crate) fn in_literal(error: SqlError, body: &FunctionBody) -> SqlError {
    let Some(position) = error.position else { return error };
    let kept = |context: Box<str>| {
        let kept: Vec<&str> = context.lines().filter(|line| !is_of_body(line)).collect();
        (!kept.is_empty()).then(|| kept.join("\n").into())
    };
    let error = SqlError { context: error.context.and_then(kept), ..error };
    let Some(start) = body.start else { return error.within(&body.text) };
    let before = body.text.chars().take(position.saturating_sub(1) as usize);
    let quotes = if body.doubled { before.filter(|before| *before == '\'').count() as u32 } else { 0 };
    SqlError { position: Some(start + position + quotes), ..error }
}

/// Whether a line of context says in which body an error is.
fn is_of_body(line: &str) -> bool {
    line.starts_with("compilation of PL/pgSQL function ") || line.starts_with("SQL function \"")
}

/// A setting and its value.
type Setting = (Arc<str>, Arc<str>);

impl Schema<'_> {
    /// Refuses a function in a language, or over types, that the role may not use.
    fn may_define(&self, new: &NewFunction) -> Result<(), SqlError> {
        let language = new.language.name();
        if let Some(object) = super::rights::language_named(language) {
            self.needs(object, Rights::USAGE, "language", language)?;
        }
        new.args.iter().try_for_each(|arg| self.may_use(&arg.ty))?;
        match &new.returns {
            FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => self.may_use(ty),
            FunctionReturn::Table(columns) => columns.iter().try_for_each(|(_, ty)| self.may_use(ty)),
            FunctionReturn::Void | FunctionReturn::Procedure | FunctionReturn::Trigger => Ok(()),
        }
    }

    /// Whether the role may say that a function tells nothing of its arguments.
    pub(super) fn may_be_leakproof(&self, leakproof: bool) -> Result<(), SqlError> {
        if leakproof && self.limited().is_some() {
            let text = "only superuser can define a leakproof function";
            return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text));
        }
        Ok(())
    }

    /// CREATE FUNCTION.
    pub(super) fn create_function(&self, create: &CreateFunction) -> Result<CommandTag, Failure> {
        let CreateFunction { name, or_replace, language, body, volatility, strict, .. } = create;
        let settings = self.routine_settings(&create.settings)?;
        let (args, returns, rows_of) = self.routine_signature(create)?;
        let planning = planning(&create.planning, Planning::default(), returns.is_set())?;
        let new = NewFunction {
            schema: Some(self.place(name)?),
            name: name.name.text.as_str().into(),
            args,
            returns,
            language: match language.text.as_str() {
                "sql" => FunctionLanguage::Sql,
                _ => FunctionLanguage::PlPgSql,
            },
            body: body.text.as_str().into(),
            volatility: self::volatility(*volatility),
            strict: *strict,
            security_definer: create.security_definer,
            leakproof: create.leakproof,
            planning,
            rows_of,
            standard_body: body.standard,
            settings,
        };
        self.may_define(&new)?;
        let polymorphic = |ty: &SqlType| matches!(ty, SqlType::System(system) if system.is_polymorphic());
        if new.standard_body && new.args.iter().any(|arg| polymorphic(&arg.ty)) {
            let text = "SQL function with unquoted function body cannot have polymorphic arguments";
            return Err(SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text).into());
        }
        let procedure = create.procedure;
        self.may_be_leakproof(create.leakproof)?;
        let inputs = new.args.iter().filter(|arg| arg.mode.goes_in());
        let types: Vec<SqlType> = inputs.map(|arg| arg.ty.clone()).collect();
        let overloads = self.frame.catalog.functions(new.schema.as_deref(), &new.name);
        if let Some(known) = overloads.iter().find(|known| known.takes(&types))
            && *or_replace
            && (known.is_procedure() != procedure || known.is_aggregate())
        {
            let is = if known.is_aggregate() { "aggregate function" } else { known.kind_word() };
            let text = "cannot change routine kind";
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
                .with_detail(format!("\"{}\" is a {is}.", new.name))
                .into());
        }
        let known = overloads.iter().find(|known| known.takes(&types));
        if let (Some(known), true) = (known, *or_replace) {
            self.own(Object::Function(known.oid), "function", &known.name)?;
            check_replaced(known, &new.args)?;
        }
        let is_new = known.is_none();
        let services = self.frame.services;
        let store = &services.instance.catalog;
        let oid = store.create_function(&mut self.frame.txn.borrow_mut(), &new, *or_replace)?;
        if is_new {
            self.made(Object::Function(oid), new.schema.as_deref())?;
        }
        if services.settings.checks_bodies() || new.standard_body {
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
                leakproof: new.leakproof,
                planning: new.planning,
                needs: Vec::new(),
                stored: None,
                rows_of: new.rows_of,
                standard_body: new.standard_body,
                settings: new.settings,
                variant: 0,
            };
            // One that calls itself is to be found, but for a body that is bound now. What the body takes is looked at when it runs.
            let names_itself = !checked.standard_body && checked.body.to_lowercase().contains(&*checked.name);
            let catalog = match names_itself {
                true => services.snapshot(&self.frame.txn.borrow())?.with_role(None),
                false => self.frame.catalog.with_role(None),
            };
            self.check_shadowed(&checked, body)?;
            // A body of SQL's own is bound as the session sees names now, not as the function will.
            match checked.settings.is_empty() || checked.standard_body {
                true => check_function(&checked, &catalog, &services.settings.time_zone),
                false => {
                    let held = services.hold(&checked.settings, &catalog)?;
                    let result = check_function(&checked, &held.catalog, &held.time_zone);
                    services.release(self.frame.catalog);
                    result
                }
            }
            .map_err(|error| in_literal(error, body))?;
            if checked.standard_body {
                let stored = function_body(&checked, &catalog, &services.settings.time_zone)?;
                let body = Arc::clone(&stored.query.text);
                let noted = FunctionDef { oid, body, stored: Some(Arc::new(stored)), ..checked };
                store.set_function_properties(&mut self.frame.txn.borrow_mut(), &noted)?;
            }
        }
        Ok(tag(if procedure { "CREATE PROCEDURE" } else { "CREATE FUNCTION" }))
    }

    /// Warns of variables that hide others, or refuses them, where a setting asks for that.
    fn check_shadowed(&self, function: &FunctionDef, body: &FunctionBody) -> Result<(), SqlError> {
        if function.language != FunctionLanguage::PlPgSql {
            return Ok(());
        }
        let services = self.frame.services;
        let asks = |setting: &str| {
            let value = services.settings.show_asked(setting).unwrap_or_default();
            value.split(',').any(|word| ["shadowed_variables", "all"].contains(&word.trim()))
        };
        let errors = asks("plpgsql.extra_errors");
        if !errors && !asks("plpgsql.extra_warnings") {
            return Ok(());
        }
        // A body that is none is told so by the check.
        let Ok(block) = verso_parser::parse_body(&body.text) else { return Ok(()) };
        let columns = match &function.returns {
            FunctionReturn::Table(columns) => columns.as_slice(),
            _ => &[],
        };
        let arguments = function.args.iter().map(|arg| &*arg.name);
        for name in shadowed(arguments.chain(columns.iter().map(|(name, _)| &**name)), &block) {
            let text = format!("variable \"{}\" shadows a previously defined variable", name.text);
            let error = in_literal(SqlError::new(DUPLICATE_ALIAS, text).at(name.at.start), body);
            if errors {
                return Err(error);
            }
            let position = error.position;
            services.notices.tell(Notice { position, ..Notice::warning(DUPLICATE_ALIAS, error.message) });
        }
        Ok(())
    }

    /// SET of a definition: settings and their values.
    pub(super) fn routine_settings(
        &self,
        given: &[(syntax::Name, Option<String>)],
    ) -> Result<Vec<Setting>, SqlError> {
        let mut settings: Vec<Setting> = Vec::new();
        let services = self.frame.services;
        for (name, value) in given {
            let name = name.text.to_ascii_lowercase();
            let value = match value {
                Some(value) => value.clone(),
                // FROM CURRENT
                None => services.show(&name).ok_or_else(|| unknown(&name))?,
            };
            if matches!(
                name.as_str(),
                "transaction_isolation" | "transaction_read_only" | "transaction_deferrable"
            ) {
                let text = format!("parameter \"{name}\" cannot be set locally in functions");
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
            }
            Settings::clone(&services.settings).set(&name, Some(&value))?;
            if !may_hold(&name) {
                return Err(SqlError::unsupported(format!("SET {name} in a function's definition")));
            }
            settings.retain(|(known, _)| **known != *name);
            settings.push((name.into(), value.into()));
        }
        Ok(settings)
    }

    /// SET and RESET of ALTER FUNCTION, one after the other.
    pub(super) fn altered_settings(
        &self,
        known: &[Setting],
        changes: &[FunctionSetting],
    ) -> Result<Vec<Setting>, SqlError> {
        let mut settings = known.to_vec();
        for change in changes {
            match change {
                FunctionSetting::Set(name, value) => {
                    let new = self.routine_settings(&[(name.clone(), value.clone())])?;
                    settings.retain(|(known, _)| new.iter().all(|(name, _)| name != known));
                    settings.extend(new);
                }
                FunctionSetting::Reset(name) => {
                    let name = name.text.to_ascii_lowercase();
                    // That there is none of that name is an error, here as in SET.
                    Settings::clone(&self.frame.services.settings).set(&name, None)?;
                    settings.retain(|(known, _)| **known != *name);
                }
                FunctionSetting::ResetAll => settings.clear(),
            }
        }
        Ok(settings)
    }

    /// DROP FUNCTION, PROCEDURE, ROUTINE.
    pub(super) fn drop_function(&self, drop: &DropFunction) -> Result<CommandTag, Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let what = drop.kind.word();
        for (name, types) in &drop.functions {
            if drop.if_exists
                && let Some(error) = self.schema_absent(name)
            {
                self.skip(format!("{}, skipping", error.message));
                continue;
            }
            let types = &match self.argument_types(types.as_deref()) {
                Err(error) if drop.if_exists && super::absent::is_absence(&error) => {
                    self.skip(format!("{}, skipping", error.message));
                    continue;
                }
                types => types?,
            };
            match self.routine(drop.kind, name, types.as_deref()) {
                Ok(function) if drop.kind == RoutineKind::Function && function.is_aggregate() => {
                    let text = format!("\"{}\" is an aggregate function", function.name);
                    return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
                        .with_hint("Use DROP AGGREGATE to drop aggregate functions.")
                        .into());
                }
                Ok(function) if function.is_range_constructor() => return Err(required(&function).into()),
                Ok(function) => {
                    let is = function.kind_word();
                    self.own_to_drop(Object::Function(function.oid), &function.schema, is, &function.name)?;
                    let mut along = Vec::new();
                    if drop.cascade {
                        let lost = [Lost::Function(function.oid)];
                        let generated = |frame: &Frame<'_>| Schema { frame }.drop_generated(&lost);
                        along = self.frame.inside(generated)?;
                    }
                    along.extend(self.frame.inside(|frame| {
                        // It may have gone along with another one.
                        if frame.catalog.function_by_oid(function.oid).is_none() {
                            return Ok(Vec::new());
                        }
                        let txn = &mut frame.txn.borrow_mut();
                        Ok(catalog.drop_function(txn, &function, drop.cascade)?)
                    })?);
                    self.tell_along(&along);
                }
                Err(error)
                    if error.sqlstate == sqlstate::UNDEFINED_FUNCTION
                        && let Some(required) =
                            self.system_routine("drop", (drop.kind, name), types.as_deref()) =>
                {
                    return Err(required.into());
                }
                Err(error) if drop.if_exists && error.sqlstate == sqlstate::UNDEFINED_FUNCTION => {
                    let signature = match types {
                        Some(types) => {
                            let types: Vec<_> =
                                types.iter().map(|ty| ty.without_modifiers().pg_name()).collect();
                            format!("{what} {name}({})", types.join(","))
                        }
                        None => format!("{what} {name}()"),
                    };
                    self.skip(format!("{signature} does not exist, skipping"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(tag(match drop.kind {
            RoutineKind::Function => "DROP FUNCTION",
            RoutineKind::Procedure => "DROP PROCEDURE",
            RoutineKind::Routine => "DROP ROUTINE",
            RoutineKind::Aggregate => "DROP AGGREGATE",
        }))
    }

    /// The types of arguments that a statement names; those of rows by the names of their relations.
    pub(super) fn argument_types(&self, types: Option<&[SqlType]>) -> Result<Option<Vec<SqlType>>, SqlError> {
        let one = |ty: &SqlType| Ok(self.routine_type(&RoutineType::Plain(ty.clone()))?.0);
        types.map(|types| types.iter().map(one).collect()).transpose()
    }

    /// `2BP01` where no function of users is meant but one of the system's, with which a statement would do that.
    pub(super) fn system_routine(
        &self,
        doing: &str,
        (kind, name): (RoutineKind, &QualifiedName),
        types: Option<&[SqlType]>,
    ) -> Option<SqlError> {
        if !is_system_routine(name.schema_text(), &name.name.text, types) {
            return None;
        }
        let what = if kind == RoutineKind::Procedure { "procedure" } else { "function" };
        let shown = match types {
            Some(types) => {
                let types: Vec<_> = types.iter().map(|ty| ty.without_modifiers().pg_name()).collect();
                format!("{}({})", name.name.text, types.join(","))
            }
            None => name.name.text.clone(),
        };
        let text = format!("cannot {doing} {what} {shown} because it is required by the database system");
        Some(SqlError::new("2BP01", text))
    }

    /// The function that ALTER names.
    ///
    /// # Errors
    /// As [`Schema::routine`]; 2BP01 for one of the system's.
    pub(super) fn altered_routine(
        &self,
        kind: RoutineKind,
        name: &QualifiedName,
        types: Option<&[SqlType]>,
    ) -> Result<Arc<FunctionDef>, SqlError> {
        self.routine(kind, name, types).map_err(|error| match error.sqlstate {
            sqlstate::UNDEFINED_FUNCTION => {
                self.system_routine("alter", (kind, name), types).unwrap_or(error)
            }
            _ => error,
        })
    }

    /// The function or procedure that a statement names.
    ///
    /// # Errors
    /// 42883, 42725 where the name alone does not tell, 42809 for one of another kind.
    pub(super) fn routine(
        &self,
        kind: RoutineKind,
        name: &QualifiedName,
        types: Option<&[SqlType]>,
    ) -> Result<Arc<FunctionDef>, SqlError> {
        let what = kind.word();
        let found = self.frame.catalog.functions(name.schema_text(), &name.name.text);
        let fits = |function: &FunctionDef| match types {
            Some(types) => function.takes(types) || function.is_procedure() && function.has_arguments(types),
            None => match kind {
                RoutineKind::Function => !function.is_procedure(),
                RoutineKind::Aggregate => function.is_aggregate(),
                RoutineKind::Procedure => function.is_procedure(),
                RoutineKind::Routine => true,
            },
        };
        let fitting: Vec<&Arc<FunctionDef>> = found.iter().filter(|function| fits(function)).collect();
        let function = match fitting.as_slice() {
            [only] => Arc::clone(only),
            [first, ..] if types.is_some() => Arc::clone(first),
            [] => {
                let text = match types {
                    Some(types) => {
                        let what = if kind == RoutineKind::Routine { "function" } else { what };
                        let types: Vec<_> = types.iter().map(|ty| ty.without_modifiers().pg_name()).collect();
                        format!("{what} {name}({}) does not exist", types.join(", "))
                    }
                    None => {
                        let what = if kind == RoutineKind::Procedure { what } else { "function" };
                        format!("could not find a {what} named \"{name}\"")
                    }
                };
                return Err(SqlError::new(sqlstate::UNDEFINED_FUNCTION, text));
            }
            _ => {
                let text = format!("{what} name \"{name}\" is not unique");
                return Err(SqlError::new(sqlstate::AMBIGUOUS_FUNCTION, text)
                    .with_hint(format!("Specify the argument list to select the {what} unambiguously.")));
            }
        };
        if kind == RoutineKind::Aggregate && !function.is_aggregate() {
            let text = format!("function {} is not an aggregate", function.signature());
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
        }
        let wrong = match kind {
            RoutineKind::Aggregate => false,
            RoutineKind::Function => function.is_procedure(),
            RoutineKind::Procedure => !function.is_procedure(),
            RoutineKind::Routine => false,
        };
        if wrong {
            let text = format!("{} is not a {what}", function.signature());
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
        }
        Ok(function)
    }
}

/// What the planner may assume, as the catalog has it.
pub(super) fn volatility(volatility: syntax::Volatility) -> Volatility {
    match volatility {
        syntax::Volatility::Immutable => Volatility::Immutable,
        syntax::Volatility::Stable => Volatility::Stable,
        syntax::Volatility::Volatile => Volatility::Volatile,
    }
}

/// Whether a setting can be in force for a function only. Of others the session looks once at what they are when a client's
/// statement begins, or they say whom it acts as.
fn may_hold(name: &str) -> bool {
    let acts = [
        "search_path",
        "timezone",
        "datestyle",
        "intervalstyle",
        "bytea_output",
        "extra_float_digits",
        "row_security",
        "client_min_messages",
        "work_mem",
        "maintenance_memory",
        "maintenance_work_mem",
        "lock_timeout",
    ];
    // What these are for begins or ends outside of a function, in PostgreSQL, too: within it one can only see them.
    let shown = [
        "deadlock_timeout",
        "statement_timeout",
        "transaction_timeout",
        "idle_in_transaction_session_timeout",
        "log_min_duration_statement",
        "synchronous_commit",
        "commit_wait",
        "commit_logging",
        "default_transaction_isolation",
        "default_transaction_read_only",
        "default_transaction_deferrable",
    ];
    name.contains('.') || acts.contains(&name) || shown.contains(&name)
}

/// 2BP01 for a function that came with a range type.
fn required(function: &FunctionDef) -> SqlError {
    let ty = match &function.returns {
        FunctionReturn::Scalar(SqlType::Range(of) | SqlType::Multirange(of)) => {
            of.clone().ty(false).pg_name()
        }
        _ => String::new(),
    };
    let text = format!("cannot drop function {} because type {ty} requires it", function.signature());
    SqlError::new("2BP01", text).with_hint(format!("You can drop type {ty} instead."))
}

/// What is said of a function for planners, which was `before`.
///
/// # Errors
/// 22023 for ROWS of one that yields no set.
pub(super) fn planning(
    given: &syntax::Planning,
    before: Planning,
    is_set: bool,
) -> Result<Planning, SqlError> {
    if given.rows.is_some() && !is_set {
        let text = "ROWS is not applicable when function does not return a set";
        return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
    }
    let parallel = given.parallel.and_then(ParallelSafety::of_letter);
    Ok(before.altered(given.cost, given.rows, parallel))
}
