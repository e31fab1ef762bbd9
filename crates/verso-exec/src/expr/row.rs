//! Expressions as closures over one row.

use std::sync::Arc;

use verso_catalog::Oid;
use verso_env::stack;
use verso_types::{
    Array, Batch, CastKind, Column, SqlType, SystemType, TimeStyle, TypeError, Value, cast, cast_kind,
    cast_known, cast_machine_number, cmp_sql, eq_sql, nesting, unpadded,
};

use super::constant::Constant;
use super::like::{LikePattern, Work, escape_mark, fits_given};
use super::repeated::{Repeated, has_parts};
use crate::context::EvalContext;
use crate::error::{DomainViolation, ExecError, Result};
use crate::exec::expr_uses;
use crate::functions::json::{Form, Found, Variables, is_about_value};
use crate::functions::{Body, BuiltinFunction, ResultType, TypedFn};
use crate::memory::{LongValues, room_to_read};
use crate::plan::{DomainRules, ExprKind, JsonPathCall, TypedExpr};

/// The row that an expression reads.
#[derive(Clone, Copy)]
pub struct RowInput<'a> {
    /// The batch it stands in.
    pub batch: &'a Batch,
    /// Which row.
    pub row: usize,
    /// What was read of the rows before it.
    repeated: Option<&'a Repeated>,
}

impl<'a> RowInput<'a> {
    /// One row by itself.
    #[must_use]
    pub fn new(batch: &'a Batch, row: usize) -> Self {
        Self { batch, row, repeated: None }
    }

    /// One of the rows of a batch that are read one after the other.
    pub(crate) fn among(batch: &'a Batch, row: usize, repeated: &'a Repeated) -> Self {
        Self { batch, row, repeated: Some(repeated) }
    }
}

/// So many variables a function in PL/pgSQL has at most, mostly.
const VARIABLES_MOSTLY: usize = 6;

pub(super) type Closure = Box<dyn Fn(&EvalContext<'_>, RowInput<'_>) -> Result<Value> + Send + Sync>;

/// A compiled expression.
pub struct RowExpr {
    eval: Closure,
    copied: Copied,
    depends_on_view: bool,
    begins_command: bool,
    uses: Option<Arc<[Oid]>>,
}

/// What an expression is that computes nothing.
enum Copied {
    Parameter(usize),
    Column(usize),
    /// It computes something.
    Nothing,
}

/// A column of fewer bytes has room for one more value of any length.
const ROOMY_BYTES: usize = 1 << 30;

impl std::fmt::Debug for RowExpr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RowExpr")
    }
}

impl RowExpr {
    /// Compiles an expression.
    #[must_use]
    pub fn compile(expr: &TypedExpr) -> Self {
        let copied = match expr.kind {
            ExprKind::Parameter(index) => Copied::Parameter(index),
            ExprKind::Column(index) => Copied::Column(index),
            _ => Copied::Nothing,
        };
        let depends_on_view = expr.depends_on_view();
        let begins_command = depends_on_view && expr.begins_command();
        let uses = if depends_on_view { expr_uses(expr) } else { None };
        Self { eval: compile(expr), copied, depends_on_view, begins_command, uses }
    }

    /// Whether the value depends on the rows that the statement around it sees ([`TypedExpr::depends_on_view`]).
    #[inline]
    pub(crate) fn depends_on_view(&self) -> bool {
        self.depends_on_view
    }

    /// Whether what it reads is not to have what functions do that it calls (T4).
    #[inline]
    pub(crate) fn begins_command(&self) -> bool {
        self.begins_command
    }

    /// The tables that its queries read, where functions run that may define something.
    #[inline]
    pub(crate) fn uses(&self) -> Option<&[Oid]> {
        self.uses.as_deref()
    }

    /// Appends the value for one row to a column of type `ty`.
    /// # Errors
    /// Whatever the functions in it report.
    #[inline]
    pub fn push(
        &self,
        cx: &EvalContext<'_>,
        input: RowInput<'_>,
        column: &mut Column,
        ty: &SqlType,
    ) -> Result<()> {
        match self.copied {
            // Without a value in between.
            Copied::Parameter(index) => {
                column.push_value(cx.params.get(index).unwrap_or(&Value::Null), ty)?
            }
            Copied::Column(index)
                if input.batch.columns[index].physical() == column.physical()
                    && column.data.bytes().is_none_or(|bytes| bytes.bytes.len() < ROOMY_BYTES) =>
            {
                column.append_range(&input.batch.columns[index], input.row..input.row + 1);
            }
            _ => column.push_value(&self.eval(cx, input)?, ty)?,
        }
        Ok(())
    }

    /// The value for one row.
    /// # Errors
    /// Whatever the functions in it report.
    #[inline]
    pub fn eval(&self, cx: &EvalContext<'_>, input: RowInput<'_>) -> Result<Value> {
        (self.eval)(cx, input)
    }

    /// The value of an expression without columns.
    /// # Errors
    /// Whatever the functions in it report.
    pub fn eval_constant(&self, cx: &EvalContext<'_>) -> Result<Value> {
        static NOTHING: Batch = Batch { rows: 1, columns: Vec::new() };
        (self.eval)(cx, RowInput::new(&NOTHING, 0))
    }
}

pub(super) fn compile(expr: &TypedExpr) -> Closure {
    if stack::check().is_err() {
        return Box::new(|_, _| Err(ExecError::TooDeep));
    }
    match &expr.kind {
        ExprKind::Column(index) => {
            let (index, ty) = (*index, expr.ty.clone());
            if has_parts(&ty) {
                return Box::new(move |cx, input| match input.repeated {
                    Some(repeated) => repeated.value(cx, input, index, &ty),
                    None => Ok(input.batch.columns[index].value(input.row, &ty)),
                });
            }
            Box::new(move |_, input| Ok(input.batch.columns[index].value(input.row, &ty)))
        }
        ExprKind::Parameter(index) => {
            let index = *index;
            Box::new(move |cx, _| Ok(cx.params.get(index).cloned().unwrap_or(Value::Null)))
        }
        ExprKind::Outer(index) => {
            let index = *index;
            Box::new(move |cx, _| Ok(cx.outer.get(index).cloned().unwrap_or(Value::Null)))
        }
        ExprKind::Subquery { plan, outer, test, args } => {
            let (plan, outer, test, args) = (plan.clone(), compile_all(outer), *test, compile_all(args));
            Box::new(move |cx, input| {
                let (args, _held) = eval_held(&args, 1, cx, input)?;
                cx.runtime.subquery(&plan, test, eval_all(&outer, cx, input)?, &args, cx.params)
            })
        }
        ExprKind::Literal(value) => {
            let value = Constant::new(value.clone());
            Box::new(move |_, _| Ok(value.get()))
        }
        // the one function of types, not of values
        ExprKind::Call { function, args } if function.name == "pg_typeof" => {
            let oid = match &args[0].kind {
                ExprKind::Domain { rules, .. } => rules.ty().pg_oid(),
                _ => args[0].ty.pg_oid(),
            };
            let oid = Value::Int8(oid.into());
            // What goes wrong in the argument, and what it does, it does here, too.
            let arg = compile(&args[0]);
            Box::new(move |cx, input| arg(cx, input).map(|_| oid.clone()))
        }
        ExprKind::Call { function, args } => call(function, args),
        ExprKind::UserCall { function, args } => {
            let (function, args) = (function.clone(), compile_all(args));
            Box::new(move |cx, input| {
                // With room for the variables of a body, which stand behind them.
                let room = args.len() + VARIABLES_MOSTLY;
                let (args, _held) = eval_held_with(room, &args, 1, cx, input)?;
                cx.runtime.call_function(&function, args)
            })
        }
        ExprKind::Cast { arg, kind } => cast_to(arg, &expr.ty, *kind),
        ExprKind::Domain { arg, rules } => of_domain(arg, rules),
        ExprKind::Fold { rows, rules } => super::fold::fold(rows, rules),
        ExprKind::And(args) => connective(args, false),
        ExprKind::Or(args) => connective(args, true),
        ExprKind::Not(arg) => {
            let arg = compile(arg);
            Box::new(move |cx, input| Ok(arg(cx, input)?.as_bool().map_or(Value::Null, |v| Value::Bool(!v))))
        }
        ExprKind::IsNull { arg, negated } => {
            let (arg, negated) = (compile(arg), *negated);
            Box::new(move |cx, input| Ok(Value::Bool(is_null(&arg(cx, input)?, negated))))
        }
        ExprKind::IsBool { arg, value, negated } => {
            let (arg, wanted, negated) = (compile(arg), *value, *negated);
            Box::new(move |cx, input| Ok(Value::Bool((arg(cx, input)?.as_bool() == wanted) != negated)))
        }
        ExprKind::IsDistinct { left, right, negated } => {
            let (left, right, negated) = (compile(left), compile(right), *negated);
            Box::new(move |cx, input| {
                Ok(Value::Bool(eq_sql(&left(cx, input)?, &right(cx, input)?) == negated))
            })
        }
        ExprKind::Case { branches, otherwise } => case(branches, otherwise.as_deref()),
        ExprKind::Coalesce(args) => {
            let args = compile_all(args);
            Box::new(move |cx, input| {
                for arg in &args {
                    let value = arg(cx, input)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            })
        }
        ExprKind::NullIf { left, right } => {
            let (left, right) = (compile(left), compile(right));
            Box::new(move |cx, input| {
                let (left, right) = (left(cx, input)?, right(cx, input)?);
                let equal = !left.is_null() && !right.is_null() && cmp_sql(&left, &right).is_eq();
                Ok(if equal { Value::Null } else { left })
            })
        }
        ExprKind::InList { arg, list, negated } => in_list(arg, list, *negated),
        ExprKind::Like { .. } => like(expr),
        ExprKind::Array(args) => {
            // Elements that are arrays themselves become the inner dimensions.
            let stacked = args.iter().any(|arg| matches!(arg.ty, SqlType::Array(_)));
            if !stacked && let Some(values) = args.iter().map(kept_literal).collect::<Option<Vec<Value>>>() {
                // Made once: rows share it.
                let array = Constant::new(Value::Array(values.into()));
                return Box::new(move |_, _| Ok(array.get()));
            }
            let args = compile_kept(args);
            Box::new(move |cx, input| {
                let (values, _held) = eval_held(&args, 1, cx, input)?;
                Ok(Value::Array(if stacked { Array::stacked(&values)? } else { values.into() }))
            })
        }
        ExprKind::Row(args) => {
            let args = compile_kept(args);
            Box::new(move |cx, input| {
                let (fields, _held) = eval_held(&args, 1, cx, input)?;
                nesting::check_fields(&fields)?;
                Ok(Value::Record(fields.into()))
            })
        }
        ExprKind::JsonPath(call) => json_path(call, &expr.ty),
    }
}

/// The value of a literal as a part of an array.
fn kept_literal(expr: &TypedExpr) -> Option<Value> {
    let value = literal(expr)?;
    Some(if is_padded(expr) { unpadded(value) } else { value })
}

/// Whether values have blanks at their end that arrays and rows do not keep: their parts are compared by their bytes.
fn is_padded(expr: &TypedExpr) -> bool {
    expr.ty.erased() == SqlType::Char(None)
}

/// The value of a literal.
fn literal(expr: &TypedExpr) -> Option<Value> {
    match &expr.kind {
        ExprKind::Literal(value) => Some(value.clone()),
        _ => None,
    }
}

/// The error of a value that breaks a condition of a domain, or of a NULL.
#[cold]
fn no_value_of(rules: &DomainRules, check: Option<&Arc<str>>) -> ExecError {
    let SqlType::Domain(domain) = &rules.of else {
        return ExecError::raised("XX000", "a condition of a type that is no domain");
    };
    ExecError::Domain(Box::new(DomainViolation {
        error: check.map_or_else(|| domain.refuses_null(), |check| domain.refuses(check)),
        schema: Arc::clone(&domain.schema),
        domain: Arc::clone(&domain.name),
        constraint: check.cloned(),
    }))
}

/// A value that fulfils what a domain demands.
fn of_domain(arg: &TypedExpr, rules: &Arc<DomainRules>) -> Closure {
    let arg = compile(arg);
    let checks: Vec<(Arc<str>, Closure)> =
        rules.checks.iter().map(|(name, check)| (Arc::clone(name), compile(check))).collect();
    let fields: Vec<(usize, Closure)> =
        rules.fields.iter().map(|(at, field)| (*at, compile(field))).collect();
    let (rules, elements) = (Arc::clone(rules), rules.elements);
    let check = move |cx: &EvalContext<'_>, input: RowInput<'_>, value: &Value| {
        if rules.not_null && value.is_null() {
            return Err(no_value_of(&rules, None));
        }
        let own = EvalContext { params: std::slice::from_ref(value), ..*cx };
        for (name, check) in &checks {
            if check(&own, input)?.as_bool() == Some(false) {
                return Err(no_value_of(&rules, Some(name)));
            }
        }
        if let Value::Record(values) = value {
            for (at, field) in &fields {
                let own = values.get(*at).unwrap_or(&Value::Null);
                field(&EvalContext { params: std::slice::from_ref(own), ..*cx }, input)?;
            }
        }
        Ok(())
    };
    Box::new(move |cx, input| {
        let value = arg(cx, input)?;
        match &value {
            Value::Array(array) if elements => array.iter().try_for_each(|one| check(cx, input, one))?,
            Value::Null if elements => {}
            value => check(cx, input, value)?,
        }
        Ok(value)
    })
}

/// A form of SQL/JSON: what ON EMPTY and ON ERROR stand for is computed where it is needed.
fn json_path(call: &JsonPathCall, ty: &SqlType) -> Closure {
    let form = Form::of(call, ty);
    let (document, path) = (compile(&call.document), compile(&call.path));
    let names: Vec<Arc<str>> = call.passing.iter().map(|(name, _)| Arc::clone(name)).collect();
    let types: Vec<SqlType> = call.passing.iter().map(|(_, value)| value.ty.clone()).collect();
    let passing: Vec<Closure> = call.passing.iter().map(|(_, value)| compile(value)).collect();
    let domain = call.domain.as_ref().map(compile);
    let fallback = |expr: &Option<TypedExpr>, word: &'static str, named: Option<&'static str>| {
        let inner = match expr.as_ref().map(|expr| &expr.kind) {
            Some(ExprKind::JsonPath(inner)) => inner.domain.as_ref().map(compile),
            _ => None,
        };
        let value = compile(expr.as_ref()?);
        let Some(named) = named else { return Some(value) };
        let tell = move |cx: &EvalContext<'_>, input: RowInput<'_>, error: ExecError| -> ExecError {
            // what is no value at all is asked of the domain as NULL, and that error is told
            let error = match &inner {
                Some(domain) => {
                    domain(&EvalContext { params: &[Value::Null], ..*cx }, input).err().unwrap_or(error)
                }
                None => error,
            };
            let text = format!("could not coerce ON {word} expression ({named}) to the RETURNING type");
            TypeError::new("42804", text).with_detail(error.to_string()).into()
        };
        // Of a DEFAULT for a domain only the domain's own errors are told so.
        let kind = expr.as_ref().map(|expr| &expr.kind);
        let by_domain = named == "DEFAULT" && matches!(kind, Some(ExprKind::Domain { .. }));
        let ty = ty.clone();
        let tells = move |error: &ExecError| match by_domain {
            true => matches!(error, ExecError::Domain(_)),
            false => is_about_value(error, &ty),
        };
        let value: Closure = Box::new(move |cx, input| match value(cx, input) {
            Err(error) if tells(&error) => Err(tell(cx, input, error)),
            value => value,
        });
        Some(value)
    };
    let on_empty = fallback(&call.on_empty, "EMPTY", call.named[0]);
    let on_error = fallback(&call.on_error, "ERROR", call.named[1]);
    let ty = ty.clone();
    Box::new(move |cx, input| {
        let (document, path) = (document(cx, input)?, path(cx, input)?);
        if document.is_null() || path.is_null() {
            return Ok(Value::Null);
        }
        let values = eval_all(&passing, cx, input)?;
        let variables = Variables::of(cx, &names, &values, &types)?;
        let in_domain = |value: Value| match &domain {
            Some(domain) => domain(&EvalContext { params: std::slice::from_ref(&value), ..*cx }, input),
            None => Ok(value),
        };
        let found = form.apply(cx, &document, &path, &variables);
        let found = match found {
            Ok(Found::Value(value)) => in_domain(value),
            Ok(Found::Nothing) => match &on_empty {
                Some(on_empty) => return on_empty(cx, input),
                // ON ERROR does not catch it
                None => return Err(form.nothing_found()),
            },
            Err(error) => Err(error),
        };
        match (found, &on_error) {
            (Err(error), Some(on_error)) if is_about_value(&error, &ty) => on_error(cx, input),
            (found, _) => found,
        }
    })
}

pub(super) fn compile_all(args: &[TypedExpr]) -> Vec<Closure> {
    args.iter().map(compile).collect()
}

/// The same of parts of an array or row.
fn compile_kept(args: &[TypedExpr]) -> Vec<Closure> {
    let one = |arg: &TypedExpr| -> Closure {
        let value = compile(arg);
        if !is_padded(arg) {
            return value;
        }
        Box::new(move |cx, input| Ok(unpadded(value(cx, input)?)))
    };
    args.iter().map(one).collect()
}

fn eval_all(args: &[Closure], cx: &EvalContext<'_>, input: RowInput<'_>) -> Result<Vec<Value>> {
    args.iter().map(|arg| arg(cx, input)).collect()
}

/// As [`eval_all`], with a charge for those that are long, and `times` as much for the work on them.
fn eval_held(
    args: &[Closure],
    times: u64,
    cx: &EvalContext<'_>,
    input: RowInput<'_>,
) -> Result<(Vec<Value>, LongValues)> {
    eval_held_with(args.len(), args, times, cx, input)
}

/// The same with room for so many values.
fn eval_held_with(
    room: usize,
    args: &[Closure],
    times: u64,
    cx: &EvalContext<'_>,
    input: RowInput<'_>,
) -> Result<(Vec<Value>, LongValues)> {
    let mut held = LongValues::default();
    let mut values = Vec::with_capacity(room);
    for arg in args {
        let value = arg(cx, input)?;
        held.hold(cx, &value, times)?;
        values.push(value);
    }
    Ok((values, held))
}

/// How often the bytes of its arguments a function may have in memory, them included: most write their result into
/// [`crate::memory::Bytes`], which is charged by itself; what makes JSON has its tree or text, and the value made of it.
pub(super) fn room_for(function: &BuiltinFunction) -> u64 {
    let makes_json = matches!(function.result, ResultType::Fixed(SqlType::Json | SqlType::Jsonb));
    match function.operator {
        Some("->" | "#>") => 2,
        _ if makes_json || function.name == "jsonb_pretty" => 4,
        _ => 1,
    }
}

/// A record is NULL when all its fields are, and NOT NULL when none is.
fn is_null(value: &Value, negated: bool) -> bool {
    match value {
        Value::Record(fields) if negated => fields.iter().all(|field| !field.is_null()),
        Value::Record(fields) => fields.iter().all(Value::is_null),
        other => other.is_null() != negated,
    }
}

/// A call of a built-in. Up to three arguments are kept on the stack.
fn call(function: &'static BuiltinFunction, args: &[TypedExpr]) -> Closure {
    if let Body::Typed(scalar) = function.body {
        return typed_call(function, scalar, args);
    }
    let Body::Scalar(scalar) = function.body else {
        // the binder puts set-returning functions into FROM only
        let name = function.name;
        return Box::new(move |_, _| {
            Err(ExecError::raised(
                "0A000",
                format!("set-returning function {name} called in a context that cannot accept a set"),
            ))
        });
    };
    let (strict, times) = (function.strict, room_for(function));
    let short = args.iter().all(|arg| is_short(&arg.ty));
    let mut args = compile_all(args);
    match args.len() {
        1 if short => {
            let a = args.remove(0);
            Box::new(move |cx, input| {
                let values = [a(cx, input)?];
                if strict && values[0].is_null() {
                    return Ok(Value::Null);
                }
                scalar(cx, &values)
            })
        }
        2 if short => {
            let b = args.remove(1);
            let a = args.remove(0);
            Box::new(move |cx, input| {
                let values = [a(cx, input)?, b(cx, input)?];
                if strict && (values[0].is_null() || values[1].is_null()) {
                    return Ok(Value::Null);
                }
                scalar(cx, &values)
            })
        }
        1 => {
            let a = args.remove(0);
            Box::new(move |cx, input| {
                let values = [a(cx, input)?];
                if strict && values[0].is_null() {
                    return Ok(Value::Null);
                }
                let mut held = LongValues::default();
                held.hold(cx, &values[0], times)?;
                scalar(cx, &values)
            })
        }
        2 => {
            let b = args.remove(1);
            let a = args.remove(0);
            Box::new(move |cx, input| {
                let mut held = LongValues::default();
                let first = a(cx, input)?;
                held.hold(cx, &first, times)?;
                let values = [first, b(cx, input)?];
                held.hold(cx, &values[1], times)?;
                if strict && (values[0].is_null() || values[1].is_null()) {
                    return Ok(Value::Null);
                }
                scalar(cx, &values)
            })
        }
        _ => Box::new(move |cx, input| {
            let (values, _held) = eval_held(&args, times, cx, input)?;
            if strict && values.iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            scalar(cx, &values)
        }),
    }
}

/// Whether no value of the type is long: nobody counts them.
fn is_short(ty: &SqlType) -> bool {
    is_machine_number(ty)
        || matches!(ty, SqlType::Bool | SqlType::Date | SqlType::Timestamp(_) | SqlType::Timestamptz(_))
}

/// A call of a function that heeds the types of its arguments.
fn typed_call(function: &'static BuiltinFunction, scalar: TypedFn, args: &[TypedExpr]) -> Closure {
    let (strict, types, args) = (function.strict, types_of(args), compile_all(args));
    let times = room_for(function);
    Box::new(move |cx, input| {
        let (values, _held) = eval_held(&args, times, cx, input)?;
        if strict && values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        scalar(cx, &values, &types)
    })
}

/// The types of expressions.
pub(crate) fn types_of(exprs: &[TypedExpr]) -> Vec<SqlType> {
    exprs.iter().map(|expr| expr.ty.clone()).collect()
}

/// Whether a cast between the types leaves every value as it is (P3 of the plan).
pub(super) fn cast_is_identity(from: &SqlType, to: &SqlType) -> bool {
    from == to
        || matches!(
            (from, to),
            (SqlType::Numeric(_) | SqlType::LongNumeric(_), SqlType::Numeric(None))
                | (SqlType::Varchar(_) | SqlType::Text, SqlType::Text | SqlType::Varchar(None))
                | (SqlType::System(SystemType::Citext), SqlType::Text | SqlType::Varchar(None))
                | (SqlType::Time(_), SqlType::Time(None))
                | (SqlType::Timestamp(_), SqlType::Timestamp(None))
                | (SqlType::Timestamptz(_), SqlType::Timestamptz(None))
                | (SqlType::Interval(_), SqlType::Interval(None))
                | (SqlType::Row(_), SqlType::Record)
        )
}

/// Types whose casts among each other are the same in every session.
fn zone_does_not_matter(ty: &SqlType) -> bool {
    ty.is_number()
        || ty.is_text()
        || matches!(ty, SqlType::Bool | SqlType::Bytea | SqlType::Uuid | SqlType::Oid)
}

/// Integers and floating point.
fn is_machine_number(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Float4 | SqlType::Float8)
}

fn cast_to(arg: &TypedExpr, to: &SqlType, kind: CastKind) -> Closure {
    let inner = compile(arg);
    if cast_is_identity(&arg.ty, to) {
        return inner;
    }
    let (from, to) = (arg.ty.clone(), to.clone());
    if let ExprKind::Literal(value) = &arg.kind
        && !value.is_null()
        && zone_does_not_matter(&from)
        && zone_does_not_matter(&to)
        // an error is one of the rows, if there are any
        && let Ok(folded) = cast(value, &from, &to, kind, &TimeStyle::UTC)
    {
        let folded = Constant::new(folded);
        return Box::new(move |_, _| Ok(folded.get()));
    }
    if is_machine_number(&from) && is_machine_number(&to) {
        return Box::new(move |cx, input| {
            let value = inner(cx, input)?;
            match cast_machine_number(&value, &to) {
                Some(number) => Ok(number?),
                None => Ok(cast(&value, &from, &to, kind, cx.services.time_zone)?),
            }
        });
    }
    if let (SqlType::Text | SqlType::Varchar(_), SqlType::Varchar(Some(limit))) = (&from, &to) {
        let limit = *limit as usize;
        return Box::new(move |cx, input| {
            let value = inner(cx, input)?;
            match &value {
                // So many bytes are no more characters.
                Value::Text(text) if text.len() <= limit => Ok(value),
                Value::Null => Ok(value),
                _ => Ok(cast(&value, &from, &to, kind, cx.services.time_zone)?),
            }
        });
    }
    // Whether there is such a cast is the same for all rows.
    let cast = match cast_kind(&from, &to).is_some() && !from.is_constrained() && !to.is_constrained() {
        true => cast_known,
        false => cast,
    };
    Box::new(move |cx, input| {
        let value = inner(cx, input)?;
        let _held = match &value {
            Value::Null => return Ok(Value::Null),
            Value::Text(text) => room_to_read(cx.services.memory.account, text, &to)?,
            _ => None,
        };
        // What is not a text is written into one; what is one stays where it is.
        let mut held = LongValues::default();
        held.hold(cx, &value, if matches!(value, Value::Text(_)) { 1 } else { 2 })?;
        Ok(cast(&value, &from, &to, kind, cx.services.time_zone)?)
    })
}

/// AND (`stop` is false) and OR (`stop` is true).
fn connective(args: &[TypedExpr], stop: bool) -> Closure {
    let args = compile_all(args);
    Box::new(move |cx, input| {
        let mut unknown = false;
        for arg in &args {
            match arg(cx, input)?.as_bool() {
                Some(value) if value == stop => return Ok(Value::Bool(stop)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { Value::Null } else { Value::Bool(!stop) })
    })
}

fn case(branches: &[(TypedExpr, TypedExpr)], otherwise: Option<&TypedExpr>) -> Closure {
    let branches: Vec<(Closure, Closure)> = branches.iter().map(|(c, r)| (compile(c), compile(r))).collect();
    let otherwise = otherwise.map(compile);
    Box::new(move |cx, input| {
        for (condition, result) in &branches {
            if condition(cx, input)?.as_bool() == Some(true) {
                return result(cx, input);
            }
        }
        otherwise.as_ref().map_or(Ok(Value::Null), |otherwise| otherwise(cx, input))
    })
}

fn in_list(arg: &TypedExpr, list: &[TypedExpr], negated: bool) -> Closure {
    let (arg, list) = (compile(arg), compile_all(list));
    Box::new(move |cx, input| {
        let value = arg(cx, input)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        let mut unknown = false;
        for candidate in &list {
            let candidate = candidate(cx, input)?;
            if candidate.is_null() {
                unknown = true;
            } else if cmp_sql(&value, &candidate).is_eq() {
                return Ok(Value::Bool(!negated));
            }
        }
        Ok(if unknown { Value::Null } else { Value::Bool(negated) })
    })
}

fn like(expr: &TypedExpr) -> Closure {
    let ExprKind::Like { arg, pattern, escape, negated, case_insensitive } = &expr.kind else {
        unreachable!("called for LIKE only");
    };
    let (negated, fold) = (*negated, *case_insensitive);
    if let Some(Ok(compiled)) = LikePattern::of_literals(pattern, escape.as_deref(), fold) {
        let arg = compile(arg);
        return Box::new(move |cx, input| {
            let text = arg(cx, input)?;
            let Some(text) = text.as_str() else { return Ok(Value::Null) };
            let mut go_on = || cx.runtime.check_cancelled();
            Ok(Value::Bool(compiled.matches(text.as_bytes(), &mut Work::new(&mut go_on))? != negated))
        });
    }
    let (arg, pattern, escape) = (compile(arg), compile(pattern), escape.as_deref().map(compile));
    Box::new(move |cx, input| {
        let (text, pattern) = (arg(cx, input)?, pattern(cx, input)?);
        let escape = escape.as_ref().map(|escape| escape(cx, input)).transpose()?;
        let escape = match &escape {
            None => Some("\\"),
            Some(value) => value.as_str(),
        };
        let (Some(text), Some(pattern), Some(escape)) = (text.as_str(), pattern.as_str(), escape) else {
            return Ok(Value::Null);
        };
        let mut go_on = || cx.runtime.check_cancelled();
        let work = &mut Work::new(&mut go_on);
        let fits = match fold {
            true => LikePattern::new(pattern, escape, fold)?.matches(text.as_bytes(), work)?,
            false => fits_given(pattern.as_bytes(), escape_mark(escape)?, text.as_bytes(), work)?,
        };
        Ok(Value::Bool(fits != negated))
    })
}
