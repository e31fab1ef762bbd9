//! Forms of SQL/JSON: queries by a path, and constructors.
//!
//! ```text
//! JSON_VALUE, JSON_QUERY, JSON_EXISTS    one JsonPath expression
//! JSON_OBJECT, JSON_ARRAY, JSON          calls of functions without a name, cast to what RETURNING says
//! JSON_ARRAY(query)                      (SELECT JSON_ARRAYAGG(a) FROM (query) q(a))
//! JSON_ARRAYAGG, JSON_OBJECTAGG          json_agg and its relatives
//! ```
//!
//! Source: PostgreSQL's `parse_expr.c`.

use std::sync::Arc;

use verso_exec::functions::json::{
    BYTES_AS_TEXT, JSON_ARRAY, JSON_OBJECT, JSON_UNIQUE, JSONB_ARRAY, JSONB_OBJECT, TEXT_AS_BYTES,
};
use verso_exec::functions::{BuiltinFunction, candidates};
use verso_exec::plan::{ExprKind as K, JsonPathCall, JsonPathTest, JsonWrapping, TypedExpr};
use verso_parser::syntax::{
    Call, Expr, ExprKind, FromItem, FromSource, JsonAggregate, JsonFallback, JsonForm, JsonFormat, JsonInput,
    JsonOutput, JsonPassing, JsonPathQuery, JsonQueryKind, JsonResult, JsonWrapper, Literal, Name, Query,
    QueryBody, Select, SelectItem,
};
use verso_types::{CastKind, SqlType, SystemType, Value, cast_kind};

use super::Binder;
use super::context::Context;
use super::json::named;
use super::polymorphic::is_polymorphic;
use super::resolve::shown;
use crate::errors::{SqlError, sqlstate};

const PATH: SqlType = SqlType::System(SystemType::JsonPath);

/// The form that a fallback belongs to, as errors name it.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    /// What is asked of the path.
    pub(super) test: JsonPathTest,
    /// The column of JSON_TABLE.
    pub(super) column: Option<&'a str>,
}

fn mismatch(text: impl Into<String>) -> SqlError {
    SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
}

fn call(function: &'static BuiltinFunction, args: Vec<TypedExpr>, ty: SqlType) -> TypedExpr {
    TypedExpr::new(K::Call { function, args }, ty)
}

fn switch(value: bool) -> TypedExpr {
    TypedExpr::literal(Value::Bool(value), SqlType::Bool)
}

/// An expression that stands where another does.
fn beside(kind: ExprKind, like: &Expr) -> Expr {
    Expr { kind, at: like.at, point: like.point }
}

/// The functions of SQL that are written without parentheses, which DEFAULT does not take.
const WORDS: &[&str] = &[
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
];

/// The constant that EMPTY ARRAY and EMPTY OBJECT stand for, as a value of a type, which `domain` asks more of.
fn empty(
    text: &str,
    ty: &SqlType,
    domain: Option<TypedExpr>,
    omit_quotes: bool,
) -> Result<TypedExpr, SqlError> {
    let document = verso_types::json::Jsonb::parse(text)?;
    let path = verso_types::parse_text(&PATH, "$", &verso_types::TimeStyle::UTC)?;
    let call = JsonPathCall {
        test: JsonPathTest::Query,
        document: TypedExpr::literal(Value::Jsonb(document), SqlType::Jsonb),
        path: TypedExpr::literal(path, PATH),
        passing: Vec::new(),
        wrapping: JsonWrapping::Never,
        omit_quotes,
        column: None,
        domain,
        on_empty: None,
        on_error: None,
        named: [None; 2],
    };
    Ok(TypedExpr::new(K::JsonPath(Box::new(call)), ty.clone()))
}

impl Binder<'_> {
    /// Whether an object is fit for a row whose fields are of domains: whether JSON_QUERY makes a row of it. The call itself asks the
    /// types beneath.
    pub(super) fn valid_row(&self, call: TypedExpr) -> Result<TypedExpr, SqlError> {
        let K::Call { args, .. } = &call.kind else { return Ok(call) };
        let [base, document] = args.as_slice() else { return Ok(call) };
        let ty = base.ty.clone();
        if !ty.has_constrained_fields() || !matches!(base.kind, K::Literal(Value::Null)) {
            return Ok(call);
        }
        let path = verso_types::parse_text(&PATH, "$", &verso_types::TimeStyle::UTC)?;
        let query = JsonPathCall {
            test: JsonPathTest::Query,
            document: document.clone(),
            path: TypedExpr::literal(path, PATH),
            passing: Vec::new(),
            wrapping: JsonWrapping::Never,
            omit_quotes: false,
            column: None,
            domain: Some(self.of_fields(TypedExpr::new(K::Parameter(0), ty.clone()), &ty)?),
            on_empty: None,
            on_error: Some(TypedExpr::null(ty.clone())),
            named: [None; 2],
        };
        let row = TypedExpr::new(K::JsonPath(Box::new(query)), ty.clone());
        let (left, right) = (Box::new(row), Box::new(TypedExpr::null(ty)));
        let made = TypedExpr::new(K::IsDistinct { left, right, negated: false }, SqlType::Bool);
        let missing = K::IsNull { arg: Box::new(document.clone()), negated: false };
        let branches = vec![(TypedExpr::new(missing, SqlType::Bool), TypedExpr::null(SqlType::Bool))];
        Ok(TypedExpr::new(K::Case { branches, otherwise: Some(Box::new(made)) }, SqlType::Bool))
    }

    /// Binds a form of SQL/JSON.
    pub(super) fn json_form(
        &self,
        form: &JsonForm,
        expr: &Expr,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let at = expr.at.start;
        match form {
            JsonForm::PathQuery(query) => self.json_path_query(query, at, cx),
            JsonForm::Parse { input, unique } => {
                let source = self.json_source(input, true, cx)?;
                if *unique && !source.ty.is_text() {
                    let text = "cannot use non-string types with WITH UNIQUE KEYS clause";
                    return Err(mismatch(text).at(input.value.at.start));
                }
                let value = self.json_text(source, input.value.at.start)?;
                Ok(if *unique { call(&JSON_UNIQUE, vec![value], SqlType::Json) } else { value })
            }
            JsonForm::Scalar(value) => {
                let bound = self.expr(value, cx)?;
                let bound = self.settle(bound, value.at.start)?;
                let function = candidates("to_json").first().ok_or_else(|| SqlError::internal("to_json"))?;
                Ok(call(function, vec![bound], SqlType::Json))
            }
            JsonForm::Serialize { input, returning } => self.json_serialize(input, returning.as_ref(), cx),
            JsonForm::Object { pairs, absent, unique, returning } => {
                let mut args = vec![switch(*absent), switch(*unique)];
                for (key, value) in pairs {
                    let bound = self.expr(key, cx)?;
                    args.push(self.settle(bound, key.at.start)?);
                    args.push(self.json_value_input(value, cx)?);
                }
                self.constructed([&JSON_OBJECT, &JSONB_OBJECT], args, 2, returning.as_ref())
            }
            JsonForm::Array { values, absent, returning } => {
                let mut args = vec![switch(*absent)];
                for value in values {
                    args.push(self.json_value_input(value, cx)?);
                }
                self.constructed([&JSON_ARRAY, &JSONB_ARRAY], args, 1, returning.as_ref())
            }
            JsonForm::ArrayQuery { query, format, returning } => {
                // refuses a query of several columns
                self.array_subquery(query, expr.at.start, cx)?;
                let query = array_of_query(query, format, returning, expr);
                self.scalar_subquery(&query, expr.at.start, cx)
            }
            JsonForm::Aggregate(aggregate) => self.json_aggregate(aggregate, expr, cx),
        }
    }

    // ── constructors ─────────────────────────────────────────────────────────────────────────────────────────────

    /// A call of the function for `json` or of the one for `jsonb`, cast to what RETURNING says.
    fn constructed(
        &self,
        [json, jsonb]: [&'static BuiltinFunction; 2],
        args: Vec<TypedExpr>,
        switches: usize,
        returning: Option<&JsonOutput>,
    ) -> Result<TypedExpr, SqlError> {
        let any = args.iter().skip(switches).any(|arg| arg.ty == SqlType::Jsonb);
        match self.builds_jsonb(returning, any) {
            true => self.json_output(call(jsonb, args, SqlType::Jsonb), returning),
            false => self.json_output(call(json, args, SqlType::Json), returning),
        }
    }

    fn builds_jsonb(&self, returning: Option<&JsonOutput>, from_jsonb: bool) -> bool {
        returning.map_or(from_jsonb, |output| output.ty == SqlType::Jsonb)
    }

    /// A json as the type that RETURNING says.
    fn json_output(&self, value: TypedExpr, returning: Option<&JsonOutput>) -> Result<TypedExpr, SqlError> {
        let Some(output) = returning else { return Ok(value) };
        let ty = self.json_type(output)?;
        let of_text =
            |binder: &Self, value| binder.coerce(value, output.at, &SqlType::Text, CastKind::Explicit);
        match ty.erased() {
            SqlType::Json | SqlType::Jsonb => self.coerce(value, output.at, &ty, CastKind::Assignment),
            SqlType::Bytea => {
                let text = of_text(self, value)?;
                Ok(call(&TEXT_AS_BYTES, vec![text], SqlType::Bytea))
            }
            base if base.is_text() => {
                let text = of_text(self, value)?;
                self.coerce(text, output.at, &ty, CastKind::Assignment)
            }
            _ => {
                let text = format!("cannot cast type {} to {}", shown(&value.ty), shown(&ty));
                Err(SqlError::new(sqlstate::CANNOT_COERCE, text))
            }
        }
    }

    /// The type of RETURNING, with what its FORMAT demands of it.
    pub(super) fn json_type(&self, output: &JsonOutput) -> Result<SqlType, SqlError> {
        if output.set {
            let text = "returning SETOF types is not supported in SQL/JSON functions";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        let ty = self.data_type(&output.ty)?;
        if is_polymorphic(&ty) || matches!(ty, SqlType::Record | SqlType::Void) {
            let text = "returning pseudo-types is not supported in SQL/JSON functions";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        if let Some(format) = &output.format {
            let base = ty.erased();
            let known = utf8(format);
            if let Err(error) = &known
                && error.sqlstate == sqlstate::INVALID_PARAMETER_VALUE
            {
                return known.map(|()| ty);
            }
            if format.encoding.is_some() && base != SqlType::Bytea {
                let text = "cannot set JSON encoding for non-bytea output types";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(format.at));
            }
            if !(base.is_text() || matches!(base, SqlType::Json | SqlType::Jsonb | SqlType::Bytea)) {
                return Err(mismatch("cannot use JSON format with non-string output types").at(format.at));
            }
            known?;
        }
        Ok(ty)
    }

    /// What is written for JSON: a text, bytes or JSON itself, as a `json`.
    fn json_text(&self, value: TypedExpr, at: u32) -> Result<TypedExpr, SqlError> {
        if cast_kind(&value.ty, &SqlType::Json).is_none() {
            let text = format!("cannot cast type {} to json", shown(&value.ty));
            return Err(SqlError::new(sqlstate::CANNOT_COERCE, text).at(at));
        }
        self.coerce(value, at, &SqlType::Json, CastKind::Explicit)
    }

    /// The value of an input; bytes become their text where they stand for JSON.
    fn json_source(
        &self,
        input: &JsonInput,
        is_json: bool,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let at = input.value.at.start;
        let bound = self.expr(&input.value, cx)?;
        let bound = self.settle(bound, at)?;
        if let Some(format) = &input.format {
            if format.encoding.is_some() && bound.ty != SqlType::Bytea {
                let text = "JSON ENCODING clause is only allowed for bytea input type";
                return Err(mismatch(text).at(format.at));
            }
            utf8(format)?;
        }
        if bound.ty == SqlType::Bytea && (is_json || input.format.is_some()) {
            return Ok(call(&BYTES_AS_TEXT, vec![bound], SqlType::Text));
        }
        Ok(bound)
    }

    /// A value of JSON_OBJECT or JSON_ARRAY: with FORMAT JSON it is JSON already.
    fn json_value_input(&self, input: &JsonInput, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let value = self.json_source(input, false, cx)?;
        match (&input.format, &value.ty) {
            (None, _) | (Some(_), SqlType::Json | SqlType::Jsonb) => Ok(value),
            (Some(_), ty) if ty.is_text() => {
                self.coerce(value, input.value.at.start, &SqlType::Json, CastKind::Explicit)
            }
            (Some(format), _) => {
                let text = "cannot use non-string types with explicit FORMAT JSON clause";
                Err(mismatch(text).at(format.at))
            }
        }
    }

    fn json_serialize(
        &self,
        input: &JsonInput,
        returning: Option<&JsonOutput>,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let value = self.json_source(input, true, cx)?;
        let value = match value.ty {
            SqlType::Json | SqlType::Jsonb => value,
            ref ty if ty.is_text() => {
                self.coerce(value, input.value.at.start, &SqlType::Json, CastKind::Explicit)?
            }
            _ => {
                let text = "cannot use non-string types with implicit FORMAT JSON clause";
                return Err(mismatch(text).at(input.value.at.start));
            }
        };
        let Some(output) = returning else {
            return self.coerce(value, input.value.at.start, &SqlType::Text, CastKind::Explicit);
        };
        let ty = self.json_type(output)?;
        if !(ty.erased().is_text() || ty.erased() == SqlType::Bytea) {
            let text = format!("cannot use type {} in RETURNING clause of JSON_SERIALIZE()", shown(&ty));
            return Err(mismatch(text).with_hint("Try returning a string type or bytea."));
        }
        self.json_output(value, returning)
    }

    /// JSON_ARRAYAGG and JSON_OBJECTAGG as calls of PostgreSQL's functions.
    fn json_aggregate(
        &self,
        aggregate: &JsonAggregate,
        expr: &Expr,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        // what is gathered decides on the type: bound once for that alone
        let scope = cx.scope();
        let mut aside = Context::new(scope, cx.clause);
        let parts = aggregate.key.iter().chain([&aggregate.value.value]);
        let mut from_jsonb = false;
        for part in parts {
            from_jsonb |= self.expr(part, &mut aside)?.ty == SqlType::Jsonb;
        }
        let jsonb = self.builds_jsonb(aggregate.returning.as_ref(), from_jsonb);
        let name = format!(
            "json{}_{}{}{}",
            if jsonb { "b" } else { "" },
            if aggregate.key.is_some() { "object_agg" } else { "agg" },
            if aggregate.unique { "_unique" } else { "" },
            if aggregate.absent { "_strict" } else { "" },
        );
        let value = &aggregate.value.value;
        let given = self.expr(value, &mut aside)?.ty;
        let seen = given.clone();
        let cast = |arg: Expr, ty: SqlType| {
            beside(ExprKind::Cast { arg: Box::new(arg), ty, at_type: value.at.start }, value)
        };
        let value = match &aggregate.value.format {
            Some(_) => {
                self.json_value_input(&aggregate.value, &mut aside)?;
                let text = match given {
                    SqlType::Bytea => {
                        let utf8 = beside(ExprKind::Literal(Literal::String("UTF8".into())), value);
                        let call = Call::plain(named("convert_from", value.at), vec![value.clone(), utf8]);
                        beside(ExprKind::Call(Box::new(call)), value)
                    }
                    _ => value.clone(),
                };
                cast(text, SqlType::Json)
            }
            // It may be of any type: a literal is a text.
            None if given == SqlType::Unknown => cast(value.clone(), SqlType::Text),
            None => value.clone(),
        };
        let mut gathered =
            Call::plain(named(&name, expr.at), aggregate.key.iter().cloned().chain([value]).collect());
        gathered.order_by.clone_from(&aggregate.order_by);
        gathered.filter = aggregate.filter.clone().map(Box::new);
        gathered.over.clone_from(&aggregate.over);
        let bound = self.expr(&beside(ExprKind::Call(Box::new(gathered)), expr), cx)?;
        if let Some(trace) = self.traced {
            // The value as it is written, not what the aggregate takes for it.
            trace.expr(aggregate.value.value.at, &seen);
        }
        self.json_output(bound, aggregate.returning.as_ref())
    }

    // ── queries by a path ────────────────────────────────────────────────────────────────────────────────────────

    fn json_path_query(
        &self,
        query: &JsonPathQuery,
        at: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let test = match query.kind {
            JsonQueryKind::Exists => JsonPathTest::Exists,
            JsonQueryKind::Value => JsonPathTest::Value,
            JsonQueryKind::Query => JsonPathTest::Query,
        };
        if let (JsonPathTest::Value, Some(JsonOutput { format: Some(format), .. })) = (test, &query.returning)
        {
            let text = "cannot specify FORMAT JSON in RETURNING clause of JSON_VALUE()";
            return Err(SqlError::syntax(text).at(format.at));
        }
        let ty = match (&query.returning, test) {
            (Some(output), _) => self.json_type(output)?,
            (None, JsonPathTest::Exists) => SqlType::Bool,
            (None, JsonPathTest::Value) => SqlType::Text,
            (None, JsonPathTest::Query) => SqlType::Jsonb,
        };
        let document = self.json_document(&query.document, cx)?;
        let path = self.expr(&query.path, cx)?;
        let path = match &path.ty {
            ty if *ty == PATH => path,
            ty if ty.is_text() || *ty == SqlType::Unknown => {
                self.coerce(path, query.path.at.start, &PATH, CastKind::Explicit)?
            }
            ty => {
                let text =
                    format!("JSON path expression must be of type jsonpath, not of type {}", shown(ty));
                return Err(mismatch(text).at(query.path.at.start));
            }
        };
        let passing = self.json_passing(&query.passing, cx)?;
        self.json_path(
            JsonPathParts { document, path, passing, at },
            Owner { test, column: None },
            &query.result,
            &ty,
            cx,
        )
    }

    /// What a path is applied to, as a `jsonb`.
    pub(super) fn json_document(
        &self,
        input: &JsonInput,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let value = self.json_source(input, input.format.is_some(), cx)?;
        let fits = value.ty.is_text() || matches!(value.ty, SqlType::Json | SqlType::Jsonb);
        if !fits {
            let text = format!("cannot cast type {} to jsonb", shown(&value.ty));
            return Err(SqlError::new(sqlstate::CANNOT_COERCE, text).at(input.value.at.start));
        }
        self.coerce(value, input.value.at.start, &SqlType::Jsonb, CastKind::Explicit)
    }

    /// The values of PASSING.
    pub(super) fn json_passing(
        &self,
        passing: &JsonPassing,
        cx: &mut Context<'_>,
    ) -> Result<Vec<(Arc<str>, TypedExpr)>, SqlError> {
        let one = |(input, name): &(JsonInput, Name)| {
            Ok((Arc::from(name.text.as_str()), self.json_value_input(input, cx)?))
        };
        passing.iter().map(one).collect()
    }

    /// A document, a path and what is made of its items.
    pub(super) fn json_path(
        &self,
        parts: JsonPathParts,
        owner: Owner<'_>,
        result: &JsonResult,
        ty: &SqlType,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let wrapping = match result.wrapper {
            JsonWrapper::Unspecified | JsonWrapper::Without => JsonWrapping::Never,
            JsonWrapper::Conditional => JsonWrapping::Conditional,
            JsonWrapper::Always => JsonWrapping::Always,
        };
        if wrapping != JsonWrapping::Never && result.quotes == Some(false) {
            let text = "SQL/JSON QUOTES behavior must not be specified when WITH WRAPPER is used";
            return Err(SqlError::syntax(text).at(parts.at));
        }
        let base = ty.erased();
        let omits = result.quotes == Some(false);
        let null = || {
            let null = TypedExpr::null(base.clone());
            Ok::<_, SqlError>(Fallback::named(
                if ty.is_constrained() { self.of_domain(null, ty)? } else { null },
                "NULL",
            ))
        };
        let on_empty = match &result.on_empty {
            Some(given) => self.json_fallback(given, "EMPTY", owner, (ty, omits), cx)?,
            None => null()?,
        };
        let on_error = match (&result.on_error, owner.test) {
            (Some(given), _) => self.json_fallback(given, "ERROR", owner, (ty, omits), cx)?,
            (None, JsonPathTest::Exists) => Fallback::plain(switch(false)),
            (None, _) => null()?,
        };
        let domain = self.json_domain(ty)?;
        // where errors are to be told, those of the fallbacks are, as they are
        let named = if on_error.value.is_some() { [on_empty.name, on_error.name] } else { [None; 2] };
        let call = JsonPathCall {
            test: owner.test,
            document: parts.document,
            path: parts.path,
            passing: parts.passing,
            wrapping,
            omit_quotes: omits,
            column: owner.column.map(Arc::from),
            domain,
            on_empty: on_empty.value,
            on_error: on_error.value,
            named,
        };
        Ok(TypedExpr::new(K::JsonPath(Box::new(call)), base))
    }

    /// What a domain makes of the value of a form, which is `Parameter(0)`.
    fn json_domain(&self, ty: &SqlType) -> Result<Option<TypedExpr>, SqlError> {
        let value = TypedExpr::new(K::Parameter(0), ty.erased());
        Ok(match ty.is_constrained() {
            true => Some(self.of_domain(value, ty)?),
            false if ty.has_constrained_fields() => Some(self.of_fields(value, ty)?),
            false => None,
        })
    }

    /// What stands before ON EMPTY or ON ERROR.
    fn json_fallback(
        &self,
        (fallback, at): &(JsonFallback, u32),
        word: &str,
        owner: Owner<'_>,
        (ty, omits): (&SqlType, bool),
        cx: &mut Context<'_>,
    ) -> Result<Fallback, SqlError> {
        use JsonFallback as F;
        let base = ty.erased();
        let empty = |text| empty(text, &base, self.json_domain(ty)?, omits);
        Ok(match (fallback, owner.test) {
            (F::Error, _) => Fallback { value: None, name: None },
            (F::Truth(Some(value)), JsonPathTest::Exists) => Fallback::plain(switch(*value)),
            (F::Truth(None), JsonPathTest::Exists) => Fallback::plain(TypedExpr::null(SqlType::Bool)),
            (F::Null, JsonPathTest::Value | JsonPathTest::Query) => {
                let null = TypedExpr::null(base);
                let null = if ty.is_constrained() { self.of_domain(null, ty)? } else { null };
                Fallback::named(null, "NULL")
            }
            (F::EmptyArray, JsonPathTest::Query) => Fallback::named(empty("[]")?, "EMPTY ARRAY"),
            (F::EmptyObject, JsonPathTest::Query) => Fallback::named(empty("{}")?, "EMPTY OBJECT"),
            (F::Default(expr), JsonPathTest::Value | JsonPathTest::Query) => {
                self.json_default(expr, ty, cx)?
            }
            (_, test) => return Err(refused(word, owner, test).at(*at)),
        })
    }

    fn json_default(&self, expr: &Expr, ty: &SqlType, cx: &mut Context<'_>) -> Result<Fallback, SqlError> {
        let word =
            matches!(&expr.kind, ExprKind::Call(call) if WORDS.contains(&call.name.name.text.as_str()));
        let bound = self.expr(expr, cx)?;
        let plain = matches!(
            bound.kind,
            K::Literal(_)
                | K::Call { .. }
                | K::UserCall { .. }
                | K::Cast { .. }
                | K::Parameter(_)
                | K::Domain { .. }
        );
        let reaches = |part: &TypedExpr| matches!(part.kind, K::Column(_) | K::Outer(_));
        if plain && !word && bound.any(&mut |part| reaches(part)) {
            return Err(mismatch("DEFAULT expression must not contain column references").at(expr.at.start));
        }
        if !plain || word || bound.any(&mut |part| matches!(part.kind, K::Subquery { .. })) {
            let text =
                "can only specify a constant, non-aggregate function, or operator expression for DEFAULT";
            return Err(mismatch(text).at(expr.at.start));
        }
        let kind = match cast_kind(&bound.ty, &ty.erased()) {
            _ if bound.ty == SqlType::Unknown => CastKind::Assignment,
            Some(kind) => kind.max(CastKind::Assignment),
            None => {
                let text =
                    format!("cannot cast behavior expression of type {} to {}", shown(&bound.ty), shown(ty));
                let hint = format!("You will need to explicitly cast the expression to type {}.", shown(ty));
                return Err(SqlError::new(sqlstate::CANNOT_COERCE, text).with_hint(hint).at(expr.at.start));
            }
        };
        // A text that is read as a value, and a value that a domain may refuse, are told as those of the path are.
        let read = bound.ty.is_text() && !ty.erased().is_text();
        let name = (read || ty.is_constrained()).then_some("DEFAULT");
        Ok(Fallback { value: Some(self.coerce(bound, expr.at.start, ty, kind)?), name })
    }
}

/// What stands before ON EMPTY or ON ERROR.
struct Fallback {
    /// The value; none is an error.
    value: Option<TypedExpr>,
    /// How an error names it that it may yield as the value of a path may.
    name: Option<&'static str>,
}

impl Fallback {
    fn plain(value: TypedExpr) -> Fallback {
        Fallback { value: Some(value), name: None }
    }

    fn named(value: TypedExpr, name: &'static str) -> Fallback {
        Fallback { value: Some(value), name: Some(name) }
    }
}

/// What a path is applied to, with what.
pub(super) struct JsonPathParts {
    /// The document.
    pub(super) document: TypedExpr,
    /// The path.
    pub(super) path: TypedExpr,
    /// PASSING.
    pub(super) passing: Vec<(Arc<str>, TypedExpr)>,
    /// Where the form begins.
    pub(super) at: u32,
}

/// A fallback that the form does not know.
#[cold]
fn refused(word: &str, owner: Owner<'_>, test: JsonPathTest) -> SqlError {
    let of = owner.column.map(|column| format!(" for column \"{column}\"")).unwrap_or_default();
    let (known, what) = match test {
        JsonPathTest::Exists => ("ERROR, TRUE, FALSE, or UNKNOWN", "EXISTS columns"),
        JsonPathTest::Value => ("ERROR, NULL, or DEFAULT expression", "scalar columns"),
        JsonPathTest::Query => {
            ("ERROR, NULL, EMPTY ARRAY, EMPTY OBJECT, or DEFAULT expression", "formatted columns")
        }
    };
    let whose = if owner.column.is_some() { what.to_owned() } else { format!("{}()", test.name()) };
    SqlError::syntax(format!("invalid ON {word} behavior{of}"))
        .with_detail(format!("Only {known} is allowed in ON {word} for {whose}."))
}

/// UTF-8 is the one encoding of JSON that is supported.
fn utf8(format: &JsonFormat) -> Result<(), SqlError> {
    let Some(name) = &format.encoding else { return Ok(()) };
    match name.text.to_ascii_lowercase().as_str() {
        "utf8" => Ok(()),
        "utf16" | "utf32" => Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "unsupported JSON encoding")
            .with_hint("Only UTF8 JSON encoding is supported.")
            .at(format.at)),
        _ => {
            let text = format!("unrecognized JSON encoding: {}", name.text);
            Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text))
        }
    }
}

/// `SELECT JSON_ARRAYAGG(a …) FROM (query) q(a)`.
fn array_of_query(
    query: &Query,
    format: &Option<JsonFormat>,
    returning: &Option<JsonOutput>,
    expr: &Expr,
) -> Query {
    let name = |text: &str| Name { text: text.to_owned(), at: expr.at };
    let value = beside(ExprKind::Column(vec![name("q"), name("a")]), expr);
    let aggregate = JsonAggregate {
        key: None,
        value: JsonInput { value, format: format.clone() },
        order_by: Vec::new(),
        absent: true,
        unique: false,
        returning: returning.clone(),
        filter: None,
        over: None,
    };
    let gathered = beside(ExprKind::Json(Box::new(JsonForm::Aggregate(aggregate))), expr);
    let from = FromItem {
        alias: Some(name("q")),
        columns: vec![name("a")],
        lateral: true,
        ..FromItem::of(FromSource::Query(Box::new(query.clone()), query.at))
    };
    let select = Select::of(vec![SelectItem::Expr { expr: gathered, alias: None }], Some(from));
    Query::of(QueryBody::Select(Box::new(select)), query.at)
}
