//! Calls: functions, aggregates, and the forms of the language that look like them.

use verso_exec::functions::{
    self, AggregateFunction, AggregateKind, ArgType, BuiltinFunction, candidates as functions_named,
};
use verso_exec::plan::{AggregateCall, ExprKind as K, TypedExpr};
use verso_types::{CastKind, SqlType, Value};

use super::Binder;
use super::context::{AGGREGATE_BASE, Context};
use super::resolve::{Declared, Resolution, function_error, resolve, result_type};
use super::unbound;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Call, Expr};

impl Binder<'_> {
    pub(super) fn call(&self, call: &Call, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        unbound::call(call)?;
        let name = call.name.name.text.as_str();
        let at = call.name.at().start;
        let built_in = call.name.schema_text().is_none_or(|schema| schema == "pg_catalog");
        if call.name.schema.is_none()
            && let Some(result) = self.special_form(name, call, expr, cx)?
        {
            return Ok(result);
        }
        let aggregates = functions::aggregate_candidates(name);
        if built_in && !aggregates.is_empty() {
            return self.aggregate(aggregates, call, at, cx);
        }
        if call.star {
            return Err(function_error(&call.name.to_string(), &[], &Resolution::None).at(at));
        }
        for (present, what) in [(call.distinct, "DISTINCT"), (call.filter.is_some(), "FILTER")] {
            if present {
                let text = format!("{what} specified, but {name} is not an aggregate function");
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at));
            }
        }
        let args = self.located(&call.args, cx)?;
        let found = self.function(call, args)?;
        match found {
            Found::BuiltIn(function, args, types) => {
                if function.returns_set() {
                    return Err(SqlError::unsupported("a set-returning function outside of FROM").at(at));
                }
                if function.name == "pg_typeof" && args.iter().any(|(arg, _)| arg.ty == SqlType::Unknown) {
                    return Ok(TypedExpr::literal(Value::text("unknown"), SqlType::Text));
                }
                self.built_in(function, args, &types)
            }
            Found::User(function, args) => {
                let ty = match &function.returns {
                    verso_catalog::FunctionReturn::Void => SqlType::Void,
                    verso_catalog::FunctionReturn::Scalar(ty) => ty.clone(),
                    verso_catalog::FunctionReturn::Set(_) | verso_catalog::FunctionReturn::Table(_) => {
                        return Err(SqlError::unsupported("a set-returning function outside of FROM").at(at));
                    }
                };
                Ok(TypedExpr::new(K::UserCall { function, args }, ty))
            }
        }
    }

    /// Finds the function a call means; built-in ones first, as `pg_catalog` is searched first.
    pub(super) fn function(&self, call: &Call, args: Vec<(TypedExpr, u32)>) -> Result<Found, SqlError> {
        let name = call.name.name.text.as_str();
        let at = call.name.at().start;
        let types: Vec<SqlType> = args.iter().map(|(arg, _)| arg.ty.clone()).collect();
        let schema = call.name.schema_text();
        if let Some(schema) = &call.name.schema
            && self.catalog.schema(&schema.text).is_none()
        {
            let text = format!("schema \"{}\" does not exist", schema.text);
            return Err(SqlError::new(sqlstate::INVALID_SCHEMA_NAME, text).at(at));
        }
        let entries = match schema {
            None | Some("pg_catalog") => functions_named(name),
            Some(_) => &[],
        };
        let users = match schema {
            Some("pg_catalog") => &[],
            schema => self.catalog.functions(schema, name),
        };
        let expand = |entry: &&'static BuiltinFunction| -> Declared {
            let mut declared = entry.args.to_vec();
            if let (true, Some(last)) = (entry.variadic, entry.args.last()) {
                declared.resize(args.len().max(declared.len()), last.clone());
            }
            declared
        };
        let mut declared: Vec<Declared> = entries.iter().map(expand).collect();
        for function in users {
            declared
                .push(function.args.iter().map(|arg| ArgType::Exact(arg.ty.without_modifiers())).collect());
        }
        match resolve(&declared, &types, false) {
            Resolution::One(index, types) => match entries.get(index) {
                Some(entry) => Ok(Found::BuiltIn(entry, args, types)),
                None => {
                    let args = args
                        .into_iter()
                        .zip(&types)
                        .map(|((arg, at), to)| self.coerce(arg, at, to, CastKind::Implicit))
                        .collect::<Result<Vec<_>, _>>()?;
                    Ok(Found::User(users[index - entries.len()].clone(), args))
                }
            },
            found => Err(function_error(&call.name.to_string(), &types, &found).at(at)),
        }
    }

    /// Forms that look like calls but are part of the language.
    fn special_form(
        &self,
        name: &str,
        call: &Call,
        expr: &Expr,
        cx: &mut Context<'_>,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let plain = !call.star && !call.distinct && call.filter.is_none();
        Ok(Some(match name {
            "coalesce" if plain && !call.args.is_empty() => {
                let args = self.located(&call.args, cx)?;
                let (args, ty) = self.unify(args, "COALESCE")?;
                TypedExpr::new(K::Coalesce(args), ty)
            }
            "nullif" if plain && call.args.len() == 2 => {
                let (left, right) = (&call.args[0], &call.args[1]);
                let own = self.expr(left, cx)?;
                let (left, right) = self.comparable(left, right, expr.at.start, cx)?;
                let ty = if own.ty == SqlType::Unknown { SqlType::Text } else { left.ty.clone() };
                TypedExpr::new(K::NullIf { left: Box::new(left), right: Box::new(right) }, ty)
            }
            "greatest" | "least" if plain && !call.args.is_empty() => {
                let args = self.located(&call.args, cx)?;
                let (args, ty) = self.unify(args, &name.to_uppercase())?;
                match functions_named(name).first() {
                    Some(function) => TypedExpr::new(K::Call { function, args }, ty),
                    None => return Ok(None),
                }
            }
            "current_timestamp" | "current_date" | "current_time" | "localtimestamp" | "localtime"
                if call.keyword || call.args.len() == 1 =>
            {
                if !call.keyword {
                    return Err(SqlError::unsupported(format!("{}(precision)", name.to_uppercase()))
                        .at(expr.at.start));
                }
                self.moment(name, expr.at.start)?
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
                self.nullary(function, expr.at.start)?
            }
            _ if call.keyword => {
                return Err(SqlError::syntax(format!("syntax error at or near \"{name}\"")).at(expr.at.start));
            }
            _ => return Ok(None),
        }))
    }

    /// `CURRENT_TIMESTAMP` and its relatives: casts of `now()`.
    fn moment(&self, name: &str, at: u32) -> Result<TypedExpr, SqlError> {
        let now = self.nullary("now", at)?;
        let ty = match name {
            "current_date" => SqlType::Date,
            "localtimestamp" => SqlType::Timestamp,
            "localtime" => SqlType::Time,
            "current_time" => return Err(SqlError::unsupported("CURRENT_TIME (type timetz)").at(at)),
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

    fn aggregate(
        &self,
        entries: &'static [&'static AggregateFunction],
        call: &Call,
        at: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let grouping = |text: String| SqlError::new(sqlstate::GROUPING_ERROR, text).at(at);
        if cx.inside_aggregate {
            return Err(grouping("aggregate function calls cannot be nested".into()));
        }
        if !cx.clause.allows_aggregates() {
            return Err(grouping(format!("aggregate functions are not allowed in {}", cx.clause.name())));
        }
        let name = call.name.name.text.as_str();
        if call.args.is_empty() && !call.star {
            let text = format!("{name}(*) must be used to call a parameterless aggregate function");
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at));
        }
        if call.star && call.distinct {
            return Err(SqlError::syntax("DISTINCT specified, but there is nothing to count").at(at));
        }
        cx.inside_aggregate = true;
        let args = self.located(&call.args, cx);
        let filter = call.filter.as_deref().map(|filter| {
            let bound = self.expr(filter, cx)?;
            self.boolean(bound, filter.at.start, "FILTER")
        });
        cx.inside_aggregate = false;
        let (args, filter) = (args?, filter.transpose()?);
        let types: Vec<SqlType> = args.iter().map(|(arg, _)| arg.ty.clone()).collect();
        let declared: Vec<Declared> = entries.iter().map(|entry| entry.args.to_vec()).collect();
        let (function, to) = match resolve(&declared, &types, false) {
            Resolution::One(index, to) => (entries[index], to),
            found => return Err(function_error(name, &types, &found).at(at)),
        };
        let extreme = matches!(function.kind, AggregateKind::Min | AggregateKind::Max);
        if extreme && matches!(to.as_slice(), [SqlType::Bool | SqlType::Bytea | SqlType::Uuid]) {
            return Err(function_error(name, &types, &Resolution::None).at(at)); // as PostgreSQL has none
        }
        let args = args
            .into_iter()
            .zip(&to)
            .map(|((arg, at), to)| match to {
                // One `min` serves all types here; PostgreSQL has none for varchar and takes that of text.
                SqlType::Varchar(_) | SqlType::Name if extreme => {
                    let arg = self.coerce(arg, at, to, CastKind::Implicit)?;
                    Ok(TypedExpr::new(
                        K::Cast { arg: Box::new(arg), kind: CastKind::Implicit },
                        SqlType::Text,
                    ))
                }
                to => self.coerce(arg, at, to, CastKind::Implicit),
            })
            .collect::<Result<Vec<_>, SqlError>>()?;
        let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
        let ty = result_type(&function.result, &types);
        let number = cx.aggregates.len();
        cx.aggregates.push(AggregateCall {
            function,
            distinct: call.distinct,
            args,
            filter,
            ty: ty.clone(),
            name: name.into(),
        });
        Ok(TypedExpr::column(AGGREGATE_BASE + number, ty))
    }
}

/// A function that was found, with its arguments.
pub(super) enum Found {
    /// Arguments still to be cast to these types.
    BuiltIn(&'static BuiltinFunction, Vec<(TypedExpr, u32)>, Vec<SqlType>),
    /// Arguments cast.
    User(std::sync::Arc<verso_catalog::FunctionDef>, Vec<TypedExpr>),
}
