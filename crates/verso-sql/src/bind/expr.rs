//! Expressions.

use verso_row::functions::{
    self, AggregateFunction, AggregateKind, ArgType, BuiltinFunction, candidates as functions_named,
    operator_candidates,
};
use verso_row::plan::{AggregateCall, ExprKind as K, TypedExpr};
use verso_types::{CastKind, SqlType, Value, cast_kind};

use super::Binder;
use super::resolve::{
    self, Declared, Resolution, function_error, operator_error, resolve, result_type, shown,
};
use super::scope::{Meaning, Scope};
use crate::errors::{SqlError, sqlstate};
use crate::syntax::{Call, Expr, ExprKind, Literal};

/// Columns from here on stand for aggregates until grouping has numbered them.
pub(super) const AGGREGATE_BASE: usize = 1 << 24;

/// Where an expression stands; decides whether aggregates may occur and how errors call the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// An output column.
    Select,
    /// WHERE.
    Where,
    /// GROUP BY.
    GroupBy,
    /// HAVING.
    Having,
    /// ORDER BY.
    OrderBy,
    /// LIMIT.
    Limit,
    /// OFFSET.
    Offset,
    /// VALUES.
    Values,
    /// SET of UPDATE.
    Set,
    /// RETURNING.
    Returning,
    /// A function in FROM.
    From,
    /// ON.
    JoinOn,
    /// DEFAULT.
    Default,
    /// CHECK.
    Check,
    /// USING of ALTER COLUMN … TYPE.
    Transform,
    /// An expression of PL/pgSQL.
    Procedure,
}

impl Clause {
    fn name(self) -> &'static str {
        match self {
            Clause::Select | Clause::Procedure => "SELECT",
            Clause::Where => "WHERE",
            Clause::GroupBy => "GROUP BY",
            Clause::Having => "HAVING",
            Clause::OrderBy => "ORDER BY",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::Values => "VALUES",
            Clause::Set => "UPDATE",
            Clause::Returning => "RETURNING",
            Clause::From => "functions in FROM",
            Clause::JoinOn => "JOIN conditions",
            Clause::Default => "DEFAULT expressions",
            Clause::Check => "check constraints",
            Clause::Transform => "transform expressions",
        }
    }

    fn allows_aggregates(self) -> bool {
        matches!(self, Clause::Select | Clause::Having | Clause::OrderBy)
    }
}

/// The surroundings of an expression.
pub struct Context<'s> {
    scope: &'s Scope,
    pub(super) clause: Clause,
    /// Aggregates found, in order; `Column(AGGREGATE_BASE + i)` stands for number `i`.
    pub(super) aggregates: Vec<AggregateCall>,
    inside_aggregate: bool,
    /// Columns used outside of aggregates, where and under which name.
    pub(super) plain_columns: Vec<(usize, u32, String)>,
}

impl<'s> Context<'s> {
    pub(super) fn new(scope: &'s Scope, clause: Clause) -> Context<'s> {
        Context { scope, clause, aggregates: Vec::new(), inside_aggregate: false, plain_columns: Vec::new() }
    }

    pub(super) fn scope(&self) -> &'s Scope {
        self.scope
    }

    /// Notes the columns of an expression as used at a place, unless an aggregate is around them.
    pub(super) fn uses(&mut self, expr: &TypedExpr, at: u32) {
        if self.inside_aggregate {
            return;
        }
        expr.any(&mut |part| {
            if let K::Column(index) = part.kind {
                let (name, _) = &self.scope.columns[index];
                let table = self.scope.tables.iter().find(|table| table.columns.contains(&index));
                let shown = match table.and_then(|table| table.name.as_deref()) {
                    Some(table) => format!("{table}.{name}"),
                    None => name.to_string(),
                };
                self.plain_columns.push((index, at, shown));
            }
            false
        });
    }
}

impl Binder<'_> {
    /// Binds an expression; an untyped literal stays `Unknown`.
    pub(super) fn expr(&self, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        match &expr.kind {
            ExprKind::Column(parts) => self.column(parts, cx),
            ExprKind::Literal(literal) => self.literal(literal, expr.at.start),
            ExprKind::Parameter(number) => {
                let index = (*number as usize).wrapping_sub(1);
                let error = || {
                    SqlError::new(sqlstate::UNDEFINED_PARAMETER, format!("there is no parameter ${number}"))
                        .at(expr.at.start)
                };
                let ty = match self.inference {
                    Some(inference) => inference.refer(index),
                    None => self.parameters.get(index).cloned(),
                };
                Ok(TypedExpr::new(K::Parameter(index), ty.ok_or_else(error)?))
            }
            ExprKind::Unary { op, arg } => {
                let operand = self.expr(arg, cx)?;
                self.operator(op, vec![(operand, arg.at.start)], expr.point)
            }
            ExprKind::Binary { .. } => self.chain(expr, cx),
            ExprKind::And(args) => Ok(TypedExpr::new(K::And(self.booleans(args, "AND", cx)?), SqlType::Bool)),
            ExprKind::Or(args) => Ok(TypedExpr::new(K::Or(self.booleans(args, "OR", cx)?), SqlType::Bool)),
            ExprKind::Not(arg) => {
                let inner = self.expr(arg, cx)?;
                let inner = self.boolean(inner, arg.at.start, "NOT")?;
                Ok(TypedExpr::new(K::Not(Box::new(inner)), SqlType::Bool))
            }
            ExprKind::IsNull { arg, negated } => {
                let inner = self.expr(arg, cx)?;
                let inner = Box::new(self.settle(inner, arg.at.start)?);
                Ok(TypedExpr::new(K::IsNull { arg: inner, negated: *negated }, SqlType::Bool))
            }
            ExprKind::IsTruth { arg, truth, negated } => {
                let word = match truth {
                    Some(true) => "TRUE",
                    Some(false) => "FALSE",
                    None => "UNKNOWN",
                };
                let not = if *negated { "NOT " } else { "" };
                let inner = self.expr(arg, cx)?;
                let inner = self.boolean(inner, arg.at.start, &format!("IS {not}{word}"))?;
                let kind = K::IsBool { arg: Box::new(inner), value: *truth, negated: *negated };
                Ok(TypedExpr::new(kind, SqlType::Bool))
            }
            ExprKind::IsDistinct { left, right, negated } => {
                let (left, right) = self.comparable(left, right, expr.point, cx)?;
                let kind = K::IsDistinct { left: Box::new(left), right: Box::new(right), negated: *negated };
                Ok(TypedExpr::new(kind, SqlType::Bool))
            }
            ExprKind::InList { arg, list, negated } => self.in_list(arg, list, *negated, expr.point, cx),
            ExprKind::Between { arg, low, high, negated } => {
                let value = (self.expr(arg, cx)?, arg.at.start);
                let low = (self.expr(low, cx)?, low.at.start);
                let high = (self.expr(high, cx)?, high.at.start);
                let (below, above) = if *negated { ("<", ">") } else { (">=", "<=") };
                let parts = vec![
                    self.operator(below, vec![value.clone(), low], expr.point)?,
                    self.operator(above, vec![value, high], expr.point)?,
                ];
                Ok(TypedExpr::new(if *negated { K::Or(parts) } else { K::And(parts) }, SqlType::Bool))
            }
            ExprKind::Like { arg, pattern, escape, negated, case_insensitive } => {
                let op = match (case_insensitive, negated) {
                    (false, false) => "~~",
                    (false, true) => "!~~",
                    (true, false) => "~~*",
                    (true, true) => "!~~*",
                };
                let bound = [self.expr(arg, cx)?, self.expr(pattern, cx)?];
                let types = [bound[0].ty.clone(), bound[1].ty.clone()];
                let [value, like] = bound;
                let fits = |ty: &SqlType| ty.is_text() || resolve::implicit(ty, &SqlType::Text);
                if !types.iter().all(fits) {
                    return Err(operator_error(op, &types, &Resolution::None).at(expr.point));
                }
                let value = self.coerce(value, arg.at.start, &SqlType::Text, CastKind::Implicit)?;
                let like = self.coerce(like, pattern.at.start, &SqlType::Text, CastKind::Implicit)?;
                let escape = match escape {
                    Some(escape) => {
                        let bound = self.expr(escape, cx)?;
                        Some(Box::new(self.coerce(
                            bound,
                            escape.at.start,
                            &SqlType::Text,
                            CastKind::Implicit,
                        )?))
                    }
                    None => None,
                };
                let kind = K::Like {
                    arg: Box::new(value),
                    pattern: Box::new(like),
                    escape,
                    negated: *negated,
                    case_insensitive: *case_insensitive,
                };
                Ok(TypedExpr::new(kind, SqlType::Bool))
            }
            ExprKind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref(), cx)
            }
            ExprKind::Cast { arg, ty, at_type } => self.cast(arg, ty, *at_type, cx),
            ExprKind::Call(call) => self.call(call, expr, cx),
            ExprKind::Array(elements) => {
                if elements.is_empty() {
                    return Err(SqlError::new(
                        sqlstate::INDETERMINATE_DATATYPE,
                        "cannot determine type of empty array",
                    )
                    .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
                    .at(expr.at.start));
                }
                let bound = self.located(elements, cx)?;
                let (elements, ty) = self.unify(bound, "ARRAY")?;
                Ok(TypedExpr::new(K::Array(elements), SqlType::Array(Box::new(ty))))
            }
            ExprKind::Subscript { array: _, index } => {
                Err(SqlError::unsupported("an array subscript").at(index.at.start.saturating_sub(1)))
            }
            ExprKind::Subquery(query) => self.scalar_subquery(query, cx),
            ExprKind::Exists(query) => self.exists(query, cx),
            ExprKind::ArraySubquery(query) => self.array_subquery(query, cx),
            ExprKind::InSubquery { args, query, negated } => {
                self.in_subquery(args, query, *negated, expr.point, cx)
            }
            ExprKind::Default => {
                Err(SqlError::syntax("DEFAULT is not allowed in this context").at(expr.at.start))
            }
        }
    }

    /// Binds expressions, each with its place.
    pub(super) fn located(
        &self,
        exprs: &[Expr],
        cx: &mut Context<'_>,
    ) -> Result<Vec<(TypedExpr, u32)>, SqlError> {
        exprs.iter().map(|expr| Ok((self.expr(expr, cx)?, expr.at.start))).collect()
    }

    fn booleans(&self, args: &[Expr], word: &str, cx: &mut Context<'_>) -> Result<Vec<TypedExpr>, SqlError> {
        args.iter()
            .map(|arg| {
                let bound = self.expr(arg, cx)?;
                self.boolean(bound, arg.at.start, word)
            })
            .collect()
    }

    fn column(&self, parts: &[crate::syntax::Name], cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let meaning = match (cx.scope.find(parts, &self.variables), self.outer) {
            (Err(error), Some(outer))
                if matches!(error.sqlstate, sqlstate::UNDEFINED_COLUMN | sqlstate::UNDEFINED_TABLE) =>
            {
                return outer.find(parts)?.ok_or(error);
            }
            (found, _) => found?,
        };
        match meaning {
            Meaning::Variable(slot, ty) => Ok(TypedExpr::new(K::Parameter(slot), ty)),
            Meaning::Column(column) => {
                cx.uses(&column, parts.first().map_or(0, |part| part.at.start));
                Ok(column)
            }
        }
    }

    fn literal(&self, literal: &Literal, at: u32) -> Result<TypedExpr, SqlError> {
        Ok(match literal {
            Literal::Null => TypedExpr::null(SqlType::Unknown),
            Literal::Bool(value) => TypedExpr::literal(Value::Bool(*value), SqlType::Bool),
            Literal::String(text) => TypedExpr::literal(Value::text(text), SqlType::Unknown),
            Literal::Number(digits) => {
                if let Ok(value) = digits.parse() {
                    TypedExpr::literal(Value::Int4(value), SqlType::Int4)
                } else if let Ok(value) = digits.parse() {
                    TypedExpr::literal(Value::Int8(value), SqlType::Int8)
                } else {
                    let ty = SqlType::Numeric(None);
                    let value = verso_types::parse_text(&ty, digits, self.time_zone);
                    TypedExpr::literal(value.map_err(|error| SqlError::from(error).at(at))?, ty)
                }
            }
        })
    }

    /// `a + b - c …`: left-deep, so in a loop.
    fn chain(&self, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let mut steps = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary { op, left, right } = &first.kind {
            steps.push((op, &**right, first.point, left.at.start));
            first = left;
        }
        let mut result = self.expr(first, cx)?;
        for (op, right, point, start) in steps.into_iter().rev() {
            let right_bound = self.expr(right, cx)?;
            result = self.operator(op, vec![(result, start), (right_bound, right.at.start)], point)?;
        }
        Ok(result)
    }

    /// Applies an operator to operands and their places.
    pub(super) fn operator(
        &self,
        op: &str,
        operands: Vec<(TypedExpr, u32)>,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        let op = if op == "!=" { "<>" } else { op };
        let entries = operator_candidates(op);
        let types: Vec<SqlType> = operands.iter().map(|(operand, _)| operand.ty.clone()).collect();
        let declared: Vec<Declared> = entries.iter().map(|entry| entry.args.to_vec()).collect();
        match resolve(&declared, &types, true) {
            Resolution::One(index, to) => self.built_in(entries[index], operands, &to),
            found => Err(operator_error(op, &types, &found).at(point)),
        }
    }

    /// The call of a built-in function, its arguments cast.
    fn built_in(
        &self,
        function: &'static BuiltinFunction,
        args: Vec<(TypedExpr, u32)>,
        to: &[SqlType],
    ) -> Result<TypedExpr, SqlError> {
        let args = args
            .into_iter()
            .zip(to)
            .map(|((arg, at), to)| self.coerce(arg, at, to, CastKind::Implicit))
            .collect::<Result<Vec<_>, _>>()?;
        let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
        let ty = result_type(&function.result, &types);
        Ok(TypedExpr::new(K::Call { function, args }, ty))
    }

    /// Both sides of a comparison in one type.
    fn comparable(
        &self,
        left: &Expr,
        right: &Expr,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<(TypedExpr, TypedExpr), SqlError> {
        let operands = vec![(self.expr(left, cx)?, left.at.start), (self.expr(right, cx)?, right.at.start)];
        let TypedExpr { kind: K::Call { function: _, args }, ty: _ } = self.operator("=", operands, point)?
        else {
            return Err(SqlError::internal("an operator that is no call"));
        };
        let mut args = args.into_iter();
        match (args.next(), args.next()) {
            (Some(left), Some(right)) => Ok((left, right)),
            _ => Err(SqlError::internal("a comparison without two operands")),
        }
    }

    fn in_list(
        &self,
        arg: &Expr,
        list: &[Expr],
        negated: bool,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let mut all = vec![(self.expr(arg, cx)?, arg.at.start)];
        all.extend(self.located(list, cx)?);
        let types: Vec<SqlType> = all.iter().map(|(expr, _)| expr.ty.clone()).collect();
        if let Err((_, right)) = resolve::common_type(types.iter()) {
            return Err(operator_error("=", &[types[0].clone(), right], &Resolution::None).at(point));
        }
        let (all, _) = self.unify(all, "IN")?;
        let mut all = all.into_iter();
        let Some(arg) = all.next() else { return Err(SqlError::internal("IN without an argument")) };
        let kind = K::InList { arg: Box::new(arg), list: all.collect(), negated };
        Ok(TypedExpr::new(kind, SqlType::Bool))
    }

    fn case(
        &self,
        operand: Option<&Expr>,
        branches: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let operand = match operand {
            Some(operand) => {
                let bound = self.expr(operand, cx)?;
                Some((self.settle(bound, operand.at.start)?, operand.at.start))
            }
            None => None,
        };
        let mut conditions = Vec::new();
        let mut results = Vec::new();
        for (condition, result) in branches {
            let bound = self.expr(condition, cx)?;
            conditions.push(match &operand {
                Some(operand) => self.operator(
                    "=",
                    vec![operand.clone(), (bound, condition.at.start)],
                    condition.at.start,
                )?,
                None => self.boolean(bound, condition.at.start, "CASE/WHEN")?,
            });
            results.push((self.expr(result, cx)?, result.at.start));
        }
        // PostgreSQL looks at ELSE first.
        let with_else = otherwise.is_some();
        if let Some(otherwise) = otherwise {
            results.insert(0, (self.expr(otherwise, cx)?, otherwise.at.start));
        }
        let (mut results, ty) = self.unify(results, "CASE")?;
        let otherwise = if with_else { Some(Box::new(results.remove(0))) } else { None };
        let branches = conditions.into_iter().zip(results).collect();
        Ok(TypedExpr::new(K::Case { branches, otherwise }, ty))
    }

    fn cast(
        &self,
        arg: &Expr,
        ty: &SqlType,
        at_type: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        if let (ExprKind::Array(elements), SqlType::Array(element)) = (&arg.kind, ty) {
            // ARRAY[…]::t[] casts the elements, so that an empty one has a type.
            let elements = elements
                .iter()
                .map(|item| self.cast(item, element, at_type, cx))
                .collect::<Result<Vec<_>, _>>()?;
            return Ok(TypedExpr::new(K::Array(elements), ty.clone()));
        }
        let bound = self.expr(arg, cx)?;
        if bound.ty != SqlType::Unknown && cast_kind(&bound.ty, ty).is_none() {
            let text = format!("cannot cast type {} to {}", shown(&bound.ty), shown(ty));
            return Err(SqlError::new(sqlstate::CANNOT_COERCE, text).at(at_type));
        }
        self.coerce(bound, arg.at.start, ty, CastKind::Explicit)
    }

    // ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────

    fn call(&self, call: &Call, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
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
