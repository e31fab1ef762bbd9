//! Calls: functions, aggregates, and the forms of the language that look like them.

use std::borrow::Cow;
use std::sync::Arc;

use verso_catalog::{FunctionDef, FunctionReturn, INFORMATION_SCHEMA, Oid, extension_with, kept};
use verso_exec::files::FUNCTIONS;
use verso_exec::functions::{
    self, AggregateKind, ArgType, BuiltinFunction, candidates as functions_named, taking_array,
};
use verso_exec::plan::{ExprKind as K, OutputColumn, SetCall, SetColumns, TypedExpr};
use verso_types::{CastKind, Derivation, RowType, SqlType, SystemType, Value, cast_kind, names};

use super::Binder;
use super::absent::absent;
use super::collate::{extreme_keys, is_keyed, made_of, nullif, searching, text_of_key};
use super::comparable;
use super::context::{Clause, Context, Inside, SET_BASE};
use super::domain::domain_of_row;
use super::json::json_aggregate;
use super::polymorphic::{is_open, no_element};
use super::resolve::{
    Declared, Resolution, as_taken, call_error, function_error, passed_on, resolve, result_type,
};
use super::routine::{self, Fit};
use super::row::with_fields;
use super::scope::Scope;
use super::walk::same;
use super::written::written;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Call, Expr, ExprKind, Literal, QualifiedName, Span};
use verso_parser::type_of_call;

impl Binder<'_> {
    pub(super) fn call(&self, call: &Call, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let call = &*self.positional(call)?;
        let name = call.name.name.text.as_str();
        let built_in = call.name.schema_text().is_none_or(|schema| schema == "pg_catalog");
        if call.name.schema.is_none()
            && let Some(result) = self.special_form(name, call, expr.at, cx)?
        {
            return Ok(result);
        }
        if built_in && let Some(rewritten) = json_aggregate(call, expr) {
            return self.expr(&rewritten, cx);
        }
        if let Some(own) = self.chosen_beside_aggregates(call, cx) {
            return match own.is_aggregate() {
                true => self.user_aggregate(call, expr, cx),
                false => self.call_among(&[], &[], call, cx),
            };
        }
        if self.is_user_aggregate(call) {
            // Built-in ones come first, where one takes the arguments.
            let known = built_in
                && (!functions::aggregate_candidates(name).is_empty() || !functions_named(name).is_empty());
            let built = if known { Some(self.built_in_call(call, cx)) } else { None };
            return match built {
                Some(Err(error)) if error.sqlstate == sqlstate::UNDEFINED_FUNCTION => {
                    self.user_aggregate(call, expr, cx)
                }
                Some(result) => result,
                None => self.user_aggregate(call, expr, cx),
            };
        }
        self.built_in_call(call, cx)
    }

    /// A call that is no aggregate of users.
    pub(super) fn built_in_call(&self, call: &Call, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let name = call.name.name.text.as_str();
        let built_in = call.name.schema_text().is_none_or(|schema| schema == "pg_catalog");
        let aggregates = if built_in { functions::aggregate_candidates(name) } else { &[] };
        let windows = if built_in { functions::window_candidates(name) } else { Vec::new() };
        self.call_among(aggregates, &windows, call, cx)
    }

    /// The function of users that a call means whose name built-in aggregates have, too; `None` where it is one of those.
    fn chosen_beside_aggregates(&self, call: &Call, cx: &mut Context<'_>) -> Option<Arc<FunctionDef>> {
        let name = call.name.name.text.as_str();
        let entries = functions::aggregate_candidates(name);
        if entries.is_empty() || call.name.schema.is_some() || !call.within_group.is_empty() {
            return None;
        }
        if let Some(stored) = self.stored {
            let at = call.name.at().start;
            let noted = stored.functions.iter().find(|(place, _)| *place == at);
            return noted.and_then(|(_, oid)| self.catalog.function_by_oid(*oid)).cloned();
        }
        let users = self.catalog.functions(None, name);
        if users.is_empty() || call.star {
            return None;
        }
        // What is wrong with the arguments is told by the call itself.
        let mut aside = Context::new(cx.scope(), cx.clause);
        let args = self.located(&call.args, &mut aside).ok()?;
        let types: Vec<SqlType> = args.iter().map(|(arg, _)| arg.ty.clone()).collect();
        let others = functions_named(name);
        let built_in = entries.iter().map(|entry| entry.args.to_vec());
        let mut built_in: Vec<Declared> =
            built_in.chain(others.iter().map(|entry| entry.declared(args.len()))).collect();
        let mut users: Vec<(Arc<FunctionDef>, Declared)> = users
            .iter()
            .filter_map(|function| {
                let takes = Fit::of(function, call, args.len())?.declared(function);
                Some((Arc::clone(function), takes))
            })
            .collect();
        built_in.retain(|takes| {
            let hides = |(function, own): &(Arc<FunctionDef>, Declared)| {
                own == takes && self.catalog.search_path().precedes_system(&function.schema)
            };
            !users.iter().any(hides)
        });
        // One `max` serves here for what are many elsewhere.
        let extreme = |takes: &Declared| {
            let is_extreme = |kind| matches!(kind, AggregateKind::Min | AggregateKind::Max);
            entries.iter().any(|entry| is_extreme(entry.kind))
                && matches!(takes.as_slice(), [ArgType::Exact(ty)]
                    if comparable::has_extremes(ty) && !matches!(ty, SqlType::Varchar(_) | SqlType::Name))
        };
        users.retain(|(function, takes)| {
            let precedes = self.catalog.search_path().precedes_system(&function.schema);
            !built_in.contains(takes) && (precedes || !extreme(takes))
        });
        let known = built_in.len();
        built_in.extend(users.iter().map(|(_, takes)| takes.clone()));
        match resolve(&built_in, &types, false) {
            Resolution::One(index, _) => Some(Arc::clone(&users.get(index.checked_sub(known)?)?.0)),
            Resolution::Ambiguous | Resolution::None => None,
        }
    }

    /// Whether there is a function of the name that a call has, whatever its arguments.
    fn is_function(&self, call: &Call) -> bool {
        let name = call.name.name.text.as_str();
        let schema = call.name.schema_text();
        let built_in = schema.is_none_or(|schema| schema == "pg_catalog");
        built_in && !functions_named(name).is_empty() || !self.catalog.functions(schema, name).is_empty()
    }

    /// A call of one of these aggregates and window functions, or of another function.
    fn call_among(
        &self,
        aggregates: &'static [&'static functions::AggregateFunction],
        windows: &[&'static functions::WindowEntry],
        call: &Call,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let name = call.name.name.text.as_str();
        let at = call.name.at().start;
        if call.variadic && !(aggregates.is_empty() && windows.is_empty()) {
            // none of these lists arguments, so the word says nothing
            let call = Call { variadic: false, ..call.clone() };
            return self.call_among(aggregates, windows, &call, cx);
        }
        if !call.names.is_empty() && !aggregates.is_empty() {
            let text = "aggregates cannot use named arguments";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
        }
        if let Some(over) = &call.over
            && (!aggregates.is_empty() || !windows.is_empty() || self.is_function(call))
        {
            return self.window_call(aggregates, windows, call, over, cx);
        }
        if !aggregates.is_empty()
            && (windows.is_empty() || !call.within_group.is_empty() || !call.args.is_empty())
        {
            return self.aggregate(aggregates, call, at, cx);
        }
        if !windows.is_empty() {
            let text = format!("window function {name} requires an OVER clause");
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at));
        }
        if call.star {
            return Err(function_error(&call.name.to_string(), &[], &Resolution::None).at(at));
        }
        let args = self.with_types_there(call, self.located(&call.args, cx)?)?;
        let type_called = self.type_called(call, &args);
        let of_aggregates = [
            (!call.within_group.is_empty(), "WITHIN GROUP"),
            (call.distinct, "DISTINCT"),
            (!call.order_by.is_empty(), "ORDER BY"),
            (call.filter.is_some(), "FILTER"),
            (call.over.is_some(), "OVER"),
        ];
        let of_aggregates = of_aggregates.iter().find(|(present, _)| *present);
        if let Some((_, what)) = of_aggregates
            && (type_called.is_some() || self.is_function(call))
        {
            let text = format!("{what} specified, but {name} is not an aggregate function");
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at));
        }
        let found = match type_called {
            None => match self.function_or_cast(call, args) {
                Err(error) if error.sqlstate == sqlstate::UNDEFINED_FUNCTION && of_aggregates.is_none() => {
                    return self.field_called(call, error, cx);
                }
                found => found?,
            },
            // It is always read as a value of the type.
            Some((named, true)) => return self.called_cast(args, &named),
            Some((named, false)) => {
                let schema = call.name.schema_text().filter(|schema| *schema != "pg_catalog");
                if functions_named(name).is_empty() && self.catalog.functions(schema, name).is_empty() {
                    return self.called_cast(args, &named);
                }
                match self.function_or_cast(call, args.clone()) {
                    Err(error) if error.sqlstate == sqlstate::UNDEFINED_FUNCTION => {
                        return self.called_cast(args, &named);
                    }
                    found => found?,
                }
            }
        };
        match found {
            Found::BuiltIn(function, mut args, types) => {
                if functions::json::with_definitions(function.name).is_some()
                    && let Some((row, _)) = args.first_mut()
                {
                    *row = with_fields(row.clone());
                }
                if function.returns_set() {
                    if function.result == functions::ResultType::Fixed(SqlType::Record) {
                        let text =
                            "function returning record called in context that cannot accept type record";
                        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
                    }
                    let args = args
                        .into_iter()
                        .zip(&types)
                        .map(|((arg, at), to)| self.coerce(arg, at, to, CastKind::Implicit))
                        .collect::<Result<Vec<_>, _>>()?;
                    let (function, args) = searching(function, args)?;
                    let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
                    let ty = result_type(&function.result, &types);
                    let populates = functions::json::with_definitions(function.name).is_some();
                    let rows = set_column(SetCall::Builtin { function, args }, ty.clone(), name, at, cx)?;
                    return if populates { self.of_fields(rows, &ty) } else { Ok(rows) };
                }
                if function.name == "pg_typeof" && args.iter().any(|(arg, _)| arg.ty == SqlType::Unknown) {
                    let ty = SqlType::System(SystemType::Regtype);
                    return Ok(TypedExpr::literal(Value::Int8(SqlType::Unknown.pg_oid().into()), ty));
                }
                if let (SqlType::Array(_), "array_fill") =
                    (types.first().unwrap_or(&SqlType::Void), function.name)
                {
                    let text = format!("could not find array type for data type {}", types[0].pg_name());
                    return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text));
                }
                let domain = args.first().and_then(|(row, _)| domain_of_row(row));
                let bound = self.built_in(function, args, &types)?;
                let bound = match function.name {
                    "json_populate_record" | "jsonb_populate_record" => {
                        let ty = bound.ty.clone();
                        let row = self.of_fields(bound, &ty)?;
                        match &domain {
                            Some(domain) => self.of_domain(row, domain)?,
                            None => row,
                        }
                    }
                    "jsonb_populate_record_valid" => self.valid_row(bound)?,
                    _ => bound,
                };
                let bound = match function.operator {
                    // called by the name of the function behind the operator
                    Some(op) if function.name != name => self.compared(op, bound, at)?,
                    _ => bound,
                };
                Ok(cx.null_if_strict(bound))
            }
            Found::User(function, args) if function.is_range_constructor() => {
                let constructor = functions::own_constructor(&function.body);
                let (Some(constructor), FunctionReturn::Scalar(ty)) = (constructor, &function.returns) else {
                    return Err(SqlError::internal("a range type without its functions"));
                };
                Ok(TypedExpr::new(K::Call { function: constructor, args }, ty.clone()))
            }
            Found::User(function, args) => {
                let ty = match &function.returns {
                    FunctionReturn::Void | FunctionReturn::Procedure => SqlType::Void,
                    FunctionReturn::Trigger => {
                        let text = "trigger functions can only be called as triggers";
                        let line =
                            format!("compilation of PL/pgSQL function \"{}\" near line 1", function.name);
                        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_context(&line));
                    }
                    FunctionReturn::Scalar(ty) => ty.erased(),
                    FunctionReturn::Set(ty) => {
                        let ty = ty.erased();
                        return set_column(SetCall::User { function, args }, ty, name, at, cx);
                    }
                    FunctionReturn::Table(columns) => {
                        // Each row as one value; one column is a value by itself.
                        let ty = match columns.as_slice() {
                            [(_, ty)] => ty.erased(),
                            columns => {
                                let field =
                                    |(name, ty): &(Arc<str>, SqlType)| (Arc::clone(name), ty.erased());
                                SqlType::Row(Arc::new(RowType::unnamed(columns.iter().map(field).collect())))
                            }
                        };
                        return set_column(SetCall::User { function, args }, ty, name, at, cx);
                    }
                };
                Ok(TypedExpr::new(K::UserCall { function, args }, ty))
            }
        }
    }

    /// `date(x)`: the type that a call would cast to, were there no function of that name; as it is named. That it was looked at
    /// is noted nowhere: a table that is called as a function is has nothing to do with calls of it.
    fn type_called(&self, call: &Call, args: &[(TypedExpr, u32)]) -> Option<(SqlType, bool)> {
        let [(arg, _)] = args else { return None };
        if !call.names.is_empty() || arg.ty.is_row() || arg.ty == SqlType::Record {
            return None;
        }
        let named = type_of_call(call.name.schema_text(), &call.name.name.text, call.name.at().start)?;
        let aside = Binder { noted: None, noting: None, ..self.clone() };
        let ty = aside.data_type(&named).ok()?;
        if ty.is_row() {
            return None;
        }
        let known = arg.ty == SqlType::Unknown
            || cast_kind(&arg.ty, &ty).is_some()
            || self.has_user_cast(&arg.ty, &ty, CastKind::Explicit);
        // A literal always; a parameter of no type where texts are what it can be of.
        let is_cast = matches!(arg.kind, K::Literal(_)) || ty.is_text();
        known.then_some((named, arg.ty == SqlType::Unknown && is_cast))
    }

    fn called_cast(&self, args: Vec<(TypedExpr, u32)>, named: &SqlType) -> Result<TypedExpr, SqlError> {
        let to = self.data_type(named)?;
        let mut args = args.into_iter();
        let Some((arg, at)) = args.next() else { return Err(SqlError::internal("a cast of nothing")) };
        self.coerce(arg, at, &to, CastKind::Explicit)
    }

    /// The procedure that CALL means, and its arguments.
    ///
    /// # Errors
    /// 42883 where there is none, 42809 for a function.
    pub fn procedure(&self, call: &Call) -> Result<(Arc<FunctionDef>, Vec<TypedExpr>), SqlError> {
        let at = call.name.at().start;
        let scope = Scope::default();
        let mut args = self.located(&call.args, &mut Context::new(&scope, Clause::CallArgument))?;
        for (arg, _) in &mut args {
            crate::plan::expression(arg, self.planning())?;
        }
        let types: Vec<SqlType> = args.iter().map(|(arg, _)| arg.ty.clone()).collect();
        let as_procedure = |mut error: SqlError| {
            let renamed = |text: &str| {
                text.replacen("function", "procedure", 1).replacen("No function", "No procedure", 1)
            };
            error.message = renamed(&error.message);
            error.hint = error.hint.map(|hint| renamed(&hint).into());
            error
        };
        match self.function_or_procedure(call, args).map_err(as_procedure)? {
            Found::User(function, args) if function.is_procedure() => Ok((function, args)),
            Found::User(..) | Found::BuiltIn(..) => {
                let types: Vec<String> = types.iter().map(SqlType::pg_name).collect();
                let text = format!("{}({}) is not a procedure", call.name, types.join(", "));
                Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
                    .with_hint("To call a function, use SELECT.")
                    .at(at))
            }
        }
    }

    /// As [`Binder::function`]; where none takes the arguments, one that takes what an implicit cast of users makes of them.
    fn function_or_cast(&self, call: &Call, args: Vec<(TypedExpr, u32)>) -> Result<Found, SqlError> {
        let declared = self.as_declared_rows(&args);
        if !self.has_user_casts() && declared.is_none() {
            return self.function(call, args);
        }
        let missing = match self.function(call, args.clone()) {
            Err(error) if error.sqlstate == sqlstate::UNDEFINED_FUNCTION => error,
            result => return result,
        };
        if let Some(declared) = declared
            && let Ok(found) = self.function(call, declared)
        {
            return Ok(found);
        }
        let ways = self.with_user_casts(&args)?;
        let found = |(way, cast)| Some((self.function(call, way).ok()?, cast));
        let mut fitting: Vec<_> = ways.into_iter().filter_map(found).collect();
        match (fitting.pop(), fitting.is_empty()) {
            (Some((found, cast)), true) => {
                self.note_cast(cast);
                Ok(found)
            }
            _ => Err(missing),
        }
    }

    /// Arguments with the rows of typed tables as values of the types of these tables; none where there are no such rows.
    fn as_declared_rows(&self, args: &[(TypedExpr, u32)]) -> Option<Vec<(TypedExpr, u32)>> {
        let mut found = false;
        let mut declared = |(arg, at): &(TypedExpr, u32)| match self.declared_row(&arg.ty) {
            Some(ty) => {
                found = true;
                (TypedExpr { ty, ..arg.clone() }, *at)
            }
            None => (arg.clone(), *at),
        };
        if !args.iter().any(|(arg, _)| arg.ty.composite().is_some()) {
            return None;
        }
        let all = args.iter().map(&mut declared).collect();
        found.then_some(all)
    }

    /// The type that a typed table is of, of the type of its rows: these are values of it.
    pub(super) fn declared_row(&self, ty: &SqlType) -> Option<SqlType> {
        let table = self.catalog.table_by_oid(Oid(ty.composite()?.oid))?;
        Some(self.catalog.user_type(table.of_type()?)?.ty.clone())
    }

    /// Finds the function a call means, which must not be a procedure.
    pub(super) fn function(&self, call: &Call, mut args: Vec<(TypedExpr, u32)>) -> Result<Found, SqlError> {
        // As in PostgreSQL: so drivers of JDBC declare the parameters that only come out.
        args.retain(|(arg, _)| !(matches!(arg.kind, K::Parameter(_)) && arg.ty == SqlType::Void));
        let types: Vec<SqlType> = args.iter().map(|(arg, _)| arg.ty.clone()).collect();
        let found = self.function_or_procedure(call, args)?;
        if let Found::BuiltIn(_, _, taken) = &found {
            self.check_call(&call.name.name.text, taken)?;
        }
        match found {
            Found::User(function, _) if function.is_procedure() => {
                let types: Vec<String> = types.iter().map(SqlType::pg_name).collect();
                let text = format!("{}({}) is a procedure", call.name, types.join(", "));
                Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
                    .with_hint("To call a procedure, use CALL.")
                    .at(call.name.at().start))
            }
            Found::BuiltIn(function, args, to) => match written(function) {
                None => Ok(Found::BuiltIn(function, args, to)),
                Some(definition) => {
                    let cast = |((arg, at), to): ((TypedExpr, u32), &SqlType)| {
                        self.coerce(arg, at, to, CastKind::Implicit)
                    };
                    let mut args = args.into_iter().zip(&to).map(cast).collect::<Result<Vec<_>, _>>()?;
                    // What is not given is empty.
                    let missing = definition.args.len().saturating_sub(args.len());
                    let empty = || TypedExpr::literal(Value::text(""), SqlType::Text);
                    args.extend(std::iter::repeat_with(empty).take(missing));
                    Ok(Found::User(definition, args))
                }
            },
            found => Ok(found),
        }
    }

    /// Finds the function a call means; built-in ones first, as `pg_catalog` is searched first.
    fn function_or_procedure(&self, call: &Call, args: Vec<(TypedExpr, u32)>) -> Result<Found, SqlError> {
        let name = call.name.name.text.as_str();
        let at = call.name.at().start;
        let types: Vec<SqlType> = args.iter().map(|(arg, _)| arg.ty.clone()).collect();
        let schema = call.name.schema_text();
        if let Some(schema) = &call.name.schema
            && self.stored.is_none()
            && schema.text != INFORMATION_SCHEMA
            && kept::number_of(Some(&schema.text)).is_none()
            && self.catalog.schema(&schema.text).is_none()
        {
            let text = format!("schema \"{}\" does not exist", schema.text);
            return Err(SqlError::new(sqlstate::INVALID_SCHEMA_NAME, text).at(at));
        }
        self.check_usage(schema, at)?;
        let noted = self.stored.is_some_and(|stored| stored.functions.iter().any(|(place, _)| *place == at));
        let entries = match schema {
            _ if noted => &[],
            None | Some("pg_catalog") => functions_named(name),
            // The functions of the standard's schema, which drivers call, too.
            Some(INFORMATION_SCHEMA) if name.starts_with("_pg_") => functions_named(name),
            // Of an extension. A kept text means it, whatever the schema is called now.
            Some(schema)
                if self.reads_kept()
                    && kept::number_of(Some(schema)).is_none()
                    && extension_with(name).is_some() =>
            {
                functions_named(name)
            }
            Some(schema) if self.catalog.has_from_extension(schema, name) => functions_named(name),
            Some(_) => &[],
        };
        let is_there = |entry: &&'static BuiltinFunction| {
            let of_extension = entry.extension_type();
            of_extension.is_none_or(|ty| self.catalog.user_type(Oid(ty.pg_oid())).is_some())
                && self.catalog.has_function_of_extension(name)
        };
        let there: Vec<&'static BuiltinFunction>;
        let entries = match entries.iter().all(is_there) {
            true => entries,
            false => {
                there = entries.iter().copied().filter(is_there).collect();
                there.as_slice()
            }
        };
        let users = match schema {
            _ if self.stored.is_some() => {
                let noted =
                    self.stored.and_then(|stored| stored.functions.iter().find(|(place, _)| *place == at));
                let found = noted.and_then(|(_, oid)| self.catalog.function_by_oid(*oid));
                Cow::Owned(found.into_iter().cloned().collect())
            }
            Some("pg_catalog") => Cow::Borrowed([].as_slice()),
            schema => self.catalog.functions(schema, name),
        };
        let given = self.shown_types(call, &types);
        let expand = |entry: &&'static BuiltinFunction| -> Declared {
            functions::operand_types(name, entry).map_or_else(|| entry.declared(args.len()), <[_]>::to_vec)
        };
        // In a text that the catalog keeps users' functions have numbers; those of earlier releases name them where nothing built in
        // can be meant.
        let is_settled = self.kept && schema.is_none() && !users.is_empty() && {
            let built_in: Vec<Declared> = entries.iter().map(expand).collect();
            matches!(resolve(&built_in, &types, false), Resolution::One(..))
        };
        let users = if is_settled { Cow::Borrowed([].as_slice()) } else { users };
        let spread = if call.variadic && !entries.is_empty() { taking_array(name) } else { None };
        let spread = spread.filter(|_| call.names.is_empty());
        if let (Some(entry), Some((last, at))) = (spread, args.last())
            && entry.args.last() == Some(&ArgType::AnyArray)
            && !matches!(last.ty, SqlType::Array(_))
        {
            let text = "VARIADIC argument must be an array";
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(*at));
        }
        let unlisted: Vec<&'static BuiltinFunction>;
        let entries = match spread.as_slice() {
            _ if call.names.is_empty() && !call.variadic => entries,
            // VARIADIC says nothing to a function that lists no arguments
            [] if call.names.is_empty() => {
                unlisted = entries.iter().copied().filter(|entry| !entry.variadic).collect();
                unlisted.as_slice()
            }
            spread => spread,
        };
        let mut declared: Vec<Declared> = entries.iter().map(expand).collect();
        let mut fits: Vec<(&Arc<FunctionDef>, Fit)> = users
            .iter()
            .filter_map(|function| Some((function, Fit::of(function, call, args.len())?)))
            .collect();
        // One that lists arguments is none beside another of its schema that takes the same without.
        let plain: Vec<_> = fits
            .iter()
            .filter(|(_, fit)| !fit.is_list())
            .map(|(function, fit)| (Arc::clone(&function.schema), fit.declared(function)))
            .collect();
        fits.retain(|(function, fit)| {
            let takes = fit.declared(function);
            !fit.is_list() || !plain.iter().any(|(schema, its)| *schema == function.schema && *its == takes)
        });
        // Of functions that take the same the schema searched first has the one that is meant.
        let mut entries = Cow::Borrowed(entries);
        if schema.is_none() && !fits.is_empty() && !entries.is_empty() {
            let path = self.catalog.search_path();
            let hidden = |takes: &Declared| {
                let own = |(function, fit): &(&Arc<FunctionDef>, Fit)| fit.declared(function) == *takes;
                fits.iter().any(|fit| own(fit) && path.precedes_system(&fit.0.schema))
            };
            let seen: Vec<bool> = declared.iter().map(|takes| !hidden(takes)).collect();
            let mut is_seen = seen.iter();
            entries.to_mut().retain(|_| is_seen.next() == Some(&true));
            let mut is_seen = seen.iter();
            declared.retain(|_| is_seen.next() == Some(&true));
            fits.retain(|(function, fit)| !declared.contains(&fit.declared(function)));
        }
        let entries = &*entries;
        declared.extend(fits.iter().map(|(function, fit)| fit.declared(function)));
        let mut resolution = resolve(&declared, &types, false);
        if let Resolution::One(index, _) = &mut resolution
            && let Some(own) = index.checked_sub(entries.len())
        {
            // Of those that take the same, one that lists no arguments, and then the only one.
            let alike = |n: &usize| {
                declared[entries.len() + n] == declared[*index] && fits[*n].0.schema == fits[own].0.schema
            };
            let mut same: Vec<usize> = (0..fits.len()).filter(alike).collect();
            if same.iter().any(|n| !fits[*n].1.is_list()) {
                same.retain(|n| !fits[*n].1.is_list());
            }
            match same.as_slice() {
                [only] => *index = entries.len() + only,
                _ => resolution = Resolution::Ambiguous,
            }
        }
        if matches!(name, "nextval" | "currval" | "setval")
            && let Some((first, at)) = args.first()
        {
            self.check_sequence(first, *at)?;
        }
        if let (Some(trace), Resolution::One(index, taken)) = (self.traced, &resolution) {
            match entries.get(*index) {
                Some(entry) => trace.operands(at, &as_taken(entry.args, taken, &types)),
                None => trace.operands(at, taken),
            }
        }
        match resolution {
            Resolution::One(index, types) => match entries.get(index) {
                Some(_) if is_open(name, &declared[index], &args) => Err(no_element().at(at)),
                Some(entry)
                    if (self.noted.is_some() || self.noting.is_some())
                        && matches!(entry.name, "nextval" | "currval" | "setval") =>
                {
                    if let Some((first, at)) = args.first()
                        && let K::Literal(Value::Text(written)) = &first.kind
                        && first.ty == SqlType::Unknown
                    {
                        match self.sequence_literal(first) {
                            Some(known) => self.note_object((*at, None), written, known.oid, "regclass"),
                            None => check_named(written, *at)?,
                        }
                    }
                    Ok(Found::BuiltIn(entry, args, types))
                }
                Some(entry) if functions::operand_types(name, entry).is_some() => {
                    let own = |arg| match arg {
                        ArgType::Exact(ty) => Some(ty),
                        _ => None,
                    };
                    let wider = entry.declared(args.len()).into_iter().map(own).collect::<Option<Vec<_>>>();
                    Ok(Found::BuiltIn(entry, args, wider.unwrap_or(types)))
                }
                Some(entry) => Ok(Found::BuiltIn(entry, self.with_any_types(&declared[index], args)?, types)),
                None => {
                    let (function, fit) = &fits[index - entries.len()];
                    self.catalog.check_whole(function.oid)?;
                    let (fitted, args) = self.fitted(function, fit, args, &types)?;
                    let fitted = routine::collated(fitted, &args, at)?;
                    if let Some(trace) = self.traced {
                        trace.function(at, &function.schema, &function.name);
                        if fit.is_list() {
                            trace.list(at, function.called_with().count() - 1);
                        }
                    }
                    if let Some(noting) = self.noting {
                        noting.function(at, function.oid);
                    }
                    if let Some(notes) = self.noted {
                        notes.name(at, function.oid);
                    }
                    Ok(Found::User(fitted, args))
                }
            },
            Resolution::None if schema.is_none() && FUNCTIONS.contains(&name) => {
                let what = format!("{name} anywhere but by itself in FROM");
                Err(SqlError::unsupported(what).at(at))
            }
            found => {
                let nothing =
                    entries.is_empty() && users.is_empty() && matches!(schema, None | Some("pg_catalog"));
                let shown = || format!("{name}({})", given.join(", "));
                let refused = if nothing { absent(name, &shown()) } else { None };
                let error = refused.unwrap_or_else(|| call_error(&shown_name(&call.name), &given, &found));
                Err(error.at(at))
            }
        }
    }

    /// The types of a call's arguments as errors name them, with the names that are given.
    fn shown_types(&self, call: &Call, types: &[SqlType]) -> Vec<String> {
        let plain = types.len().saturating_sub(call.names.len());
        let shown = |(n, ty): (usize, &SqlType)| match n.checked_sub(plain).and_then(|n| call.names.get(n)) {
            Some(name) => format!("{} => {}", name.text, super::resolve::shown(ty)),
            None => super::resolve::shown(ty),
        };
        types.iter().enumerate().map(shown).collect()
    }

    /// Forms that look like calls but are part of the language.
    pub(super) fn special_form(
        &self,
        name: &str,
        call: &Call,
        at: Span,
        cx: &mut Context<'_>,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let plain = !call.star && !call.distinct && call.filter.is_none() && call.over.is_none();
        Ok(Some(match name {
            "grouping" if plain && !call.args.is_empty() => self.grouping(call, at.start, cx)?,
            "pg_collation_for" if plain && call.args.len() == 1 => {
                let arg = self.expr(&call.args[0], cx)?;
                self.collation_for(arg, call.args[0].at.start)?
            }
            "merge_action" if plain && call.args.is_empty() => self.merge_action(at, cx)?,
            "coalesce" if plain && !call.args.is_empty() => {
                let sets = cx.sets.len();
                let args = self.located(&call.args, cx)?;
                without_sets(cx, sets, "COALESCE", call.args[0].at.start)?;
                let (args, ty) = self.unify(args, "COALESCE")?;
                TypedExpr::new(K::Coalesce(args), ty)
            }
            "nullif" if plain && call.args.len() == 2 => {
                let sides = self.located(&call.args, cx)?;
                if sides.iter().any(|(side, _)| comparable::compares_roughly(&side.ty)) {
                    return self.null_if_rough(sides, at.start).map(Some);
                }
                let own = (sides[0].0.ty.clone(), sides[1].0.ty.clone());
                let (left, right) = self.comparable(sides, at.start)?;
                let by_key = is_keyed(&left);
                let result = match by_key {
                    true => nullif(&left, &right)?,
                    false => {
                        let ty = left.ty.clone();
                        TypedExpr::new(K::NullIf { left: Box::new(left), right: Box::new(right) }, ty)
                    }
                };
                let ty = match (&own.0, by_key) {
                    (SqlType::Char(_), true) => passed_on(&own.0),
                    _ => {
                        let (left, ty) = (own.0.clone(), nullif_type(own, &result.ty));
                        // The left value is handed on as it is, with its modifier.
                        if left.without_modifiers() == ty { left } else { ty }
                    }
                };
                if result.ty == ty {
                    result
                } else {
                    TypedExpr::new(K::Cast { arg: Box::new(result), kind: CastKind::Explicit }, ty)
                }
            }
            "greatest" | "least" if plain && !call.args.is_empty() => {
                let args = self.located(&call.args, cx)?;
                let (args, ty) = self.unify(args, &name.to_uppercase())?;
                comparable::check_extremes(&ty)?;
                match functions_named(name).first() {
                    Some(function) => match extreme_keys(&args, at.start)? {
                        Some((args, derived)) => {
                            let of_keys = args.first().map_or(SqlType::Bytea, |key| key.ty.clone());
                            let key = TypedExpr::new(K::Call { function, args }, of_keys);
                            text_of_key(key, &ty, &derived)?
                        }
                        None => TypedExpr::new(K::Call { function, args }, ty),
                    },
                    None => return Ok(None),
                }
            }
            "current_timestamp" | "current_date" | "current_time" | "localtimestamp" | "localtime"
                if call.keyword || call.args.len() == 1 =>
            {
                let moment = self.moment(name, at.start)?;
                match call.args.first() {
                    None => moment,
                    Some(digits) => {
                        let ExprKind::Literal(Literal::Number(text)) = &digits.kind else {
                            let text = format!("syntax error in the precision of {}", name.to_uppercase());
                            return Err(SqlError::syntax(text).at(digits.at.start));
                        };
                        let digits = Some(text.parse().map_or(6, |digits: u8| digits.min(6)));
                        let ty = match moment.ty {
                            SqlType::Timestamptz(_) => SqlType::Timestamptz(digits),
                            SqlType::Timestamp(_) => SqlType::Timestamp(digits),
                            SqlType::Timetz(_) => SqlType::Timetz(digits),
                            _ => SqlType::Time(digits),
                        };
                        self.coerce(moment, at.start, &ty, CastKind::Explicit)?
                    }
                }
            }
            "current_user" | "session_user" | "current_role" | "user" | "current_catalog"
            | "current_schema"
                if call.keyword =>
            {
                let function = match name {
                    "current_role" | "user" => "current_user",
                    "current_catalog" => "current_database",
                    other => other,
                };
                self.nullary(function, at.start)?
            }
            // How the session has logged in is not kept.
            "system_user" if call.keyword => TypedExpr::null(SqlType::Text),
            _ if call.keyword => {
                return Err(SqlError::syntax(format!("syntax error at or near \"{name}\"")).at(at.start));
            }
            _ => return Ok(None),
        }))
    }

    /// `CURRENT_TIMESTAMP` and its relatives: casts of `now()`.
    fn moment(&self, name: &str, at: u32) -> Result<TypedExpr, SqlError> {
        let now = self.nullary("now", at)?;
        let ty = match name {
            "current_date" => SqlType::Date,
            "localtimestamp" => SqlType::Timestamp(None),
            "localtime" => SqlType::Time(None),
            "current_time" => SqlType::Timetz(None),
            _ => return Ok(now),
        };
        self.coerce(now, at, &ty, CastKind::Explicit)
    }

    /// A built-in function without arguments.
    fn nullary(&self, name: &str, at: u32) -> Result<TypedExpr, SqlError> {
        let function = functions_named(name).iter().find(|function| function.args.is_empty());
        let function = function.ok_or_else(|| function_error(name, &[], &Resolution::None).at(at))?;
        Ok(TypedExpr::new(K::Call { function, args: Vec::new() }, result_type(&function.result, &[])))
    }
}

/// Notes a set-returning function; what stands for its column.
fn set_column(
    call: SetCall,
    ty: SqlType,
    name: &str,
    at: u32,
    cx: &mut Context<'_>,
) -> Result<TypedExpr, SqlError> {
    let refused = |text: String| Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
    match cx.inside {
        Inside::Nothing => {}
        Inside::Aggregate => {
            return refused("aggregate function calls cannot contain set-returning function calls".into());
        }
        Inside::Filter => return refused("set-returning functions are not allowed in FILTER".into()),
        Inside::Window => {
            return refused("window function calls cannot contain set-returning function calls".into());
        }
    }
    if !cx.clause.allows_sets() {
        return refused(format!("set-returning functions are not allowed in {}", cx.clause.name()));
    }
    let column = made_of(OutputColumn::new(name, ty.clone()), call.args());
    // Written once more in GROUP BY, ORDER BY or a window, it is that of the output list, and the other way round for a window.
    let of_windows = |number: &usize| cx.clause != Clause::Select || cx.sets_of_windows.contains(number);
    let mut same = (0..cx.sets.len()).filter(|number| same_call(&cx.sets[*number].call, &call));
    let known = same.find(of_windows);
    let number = known.unwrap_or(cx.sets.len());
    if cx.clause == Clause::Window {
        cx.sets_of_windows.push(number);
    }
    let mut expr = TypedExpr::column(SET_BASE + number, ty);
    expr.collation = column.collation.as_ref().map_or(Derivation::Default, Derivation::of_kept);
    if known.is_none() {
        cx.sets.push(SetColumns { call, columns: vec![column] });
    }
    Ok(expr)
}

fn same_call(a: &SetCall, b: &SetCall) -> bool {
    let function = match (a, b) {
        (SetCall::Builtin { function: a, .. }, SetCall::Builtin { function: b, .. }) => std::ptr::eq(*a, *b),
        (SetCall::User { function: a, .. }, SetCall::User { function: b, .. }) => a.oid == b.oid,
        _ => false,
    };
    function && a.args().len() == b.args().len() && a.args().iter().zip(b.args()).all(|(a, b)| same(a, b))
}

/// Refuses set-returning functions among those that were noted since there were `before` of them.
pub(super) fn without_sets(cx: &Context<'_>, before: usize, what: &str, at: u32) -> Result<(), SqlError> {
    if cx.sets.len() == before {
        return Ok(());
    }
    let text = format!("set-returning functions are not allowed in {what}");
    let hint = "You might be able to move the set-returning function into a LATERAL FROM item.";
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_hint(hint).at(at))
}

/// A function that was found, with its arguments.
pub(super) enum Found {
    /// Arguments still to be cast to these types.
    BuiltIn(&'static BuiltinFunction, Vec<(TypedExpr, u32)>, Vec<SqlType>),
    /// Arguments cast.
    User(std::sync::Arc<verso_catalog::FunctionDef>, Vec<TypedExpr>),
}

/// Refuses the name of a sequence in a text that is to be kept where nothing is called so: PostgreSQL's literal is a number at once.
fn check_named(name: &str, at: u32) -> Result<(), SqlError> {
    if names::lent().is_some() {
        names::parse_reference(SystemType::Regclass, name).map_err(|error| SqlError::from(error).at(at))?;
    }
    Ok(())
}

/// The type of NULLIF: that of the left side of the operator `=` for both, given their own types and the one in which they are
/// compared. Some operators have sides of different types.
fn nullif_type((left, right): (SqlType, SqlType), compared: &SqlType) -> SqlType {
    use SqlType::{
        Char, Date, Float4, Float8, Int2, Int4, Int8, Name, Text, Timestamp, Timestamptz, Unknown, Varchar,
    };
    let family = |ty: &SqlType| match ty {
        Int2 | Int4 | Int8 => Some(0),
        Float4 | Float8 => Some(1),
        Date | Timestamp(_) | Timestamptz(_) => Some(2),
        _ => None,
    };
    let of_one_family = family(&left).is_some() && family(&left) == family(&right);
    let single = SqlType::System(SystemType::Char);
    let of_single = [&left, &right].into_iter().all(|ty| *ty == single || *ty == Unknown);
    let of_name = left == Name && matches!(right, Name | Text | Varchar(_));
    match (&left, &right, compared) {
        (Unknown, Unknown, _) => Text,
        _ if of_single => single,
        _ if of_one_family || of_name => left.without_modifiers(),
        (_, _, Varchar(_)) => Text,
        (Char(_), _, Char(_)) => passed_on(&left),
        (_, _, compared) => compared.without_modifiers(),
    }
}

/// The name of a function as errors have it: that of a form of SQL, which nobody has written, is PostgreSQL's own.
fn shown_name(name: &QualifiedName) -> String {
    let written = name.schema.is_some() || name.name.at.start < name.name.at.end;
    if written { name.to_string() } else { format!("pg_catalog.{name}") }
}
