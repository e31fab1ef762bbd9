//! Which expressions give the same for the same row for ever, so that an index or a generated column may keep what they gave.
//!
//! I1. Functions are what PostgreSQL declares them to be. The registry says what a result depends on in Verso, which decides what
//!     is folded and what workers may compute; where PostgreSQL says otherwise it is listed here.
//! I2. A cast is as steady as its function; without one as the output function of the one type and the input function of the other.
//! I3. What PostgreSQL writes as a cast to text (`'n: ' || 1`) is as steady as that cast.
//!
//! Source: PostgreSQL's `contain_mutable_functions`, `pg_proc.provolatile`, `pg_cast`.

use verso_catalog::Volatility as Declared;
use verso_exec::functions::json::{JSON_ARRAY, JSON_OBJECT, JSONB_ARRAY, JSONB_OBJECT};
use verso_exec::functions::{ArgType, BuiltinFunction, Volatility};
use verso_exec::plan::{ExprKind as K, JsonPathCall, Plan, SetCall, TypedExpr};
use verso_types::{SqlType, SystemType, TimeStyle, Value, format_text};

/// Whether an expression gives the same for the same row for ever.
pub fn is_immutable(expr: &TypedExpr) -> bool {
    !expr.any(&mut varies)
}

/// Whether a part of an expression, without its own parts, may give something else.
fn varies(part: &TypedExpr) -> bool {
    match &part.kind {
        K::Call { function, args } => !is_steady_call(function, args),
        K::UserCall { function, .. } => function.volatility != Declared::Immutable,
        K::Cast { arg, .. } => !is_steady_cast(&arg.ty, &part.ty),
        K::JsonPath(call) => !is_steady_path(call),
        K::Subquery { plan, .. } => !is_over_elements(plan),
        K::Parameter(_) => true,
        _ => false,
    }
}

/// Whether a query is none that somebody has written, but what `a op ANY (array)` is bound to: it reads no table, and all
/// within it is immutable.
fn is_over_elements(plan: &Plan) -> bool {
    let reads = plan.any(&mut |part| match part {
        Plan::FunctionScan { call: SetCall::Builtin { function, args }, .. } => {
            function.name != "unnest" || !is_steady_call(function, args)
        }
        Plan::Aggregate { .. } | Plan::Project { .. } => false,
        _ => true,
    });
    !reads && !plan.any_expr(&mut varies)
}

const DATE_AND_TIME: [ArgType; 2] = [ArgType::Exact(SqlType::Date), ArgType::Exact(SqlType::Time(None))];

/// I1, I3.
fn is_steady_call(function: &'static BuiltinFunction, args: &[TypedExpr]) -> bool {
    if [&JSON_OBJECT, &JSON_ARRAY, &JSONB_OBJECT, &JSONB_ARRAY].contains(&function) {
        return args.iter().all(|arg| is_steady_json(&arg.ty));
    }
    match function.name {
        "to_char" | "to_date" | "to_number" => false, // the names of months and signs of money are of a locale
        "jsonb_populate_record" | "json_populate_record" => false,
        "timestamptz" if function.args == DATE_AND_TIME => false,
        "age" => args.len() == 2, // it heeds the zone, but PostgreSQL does not say so
        "pg_size_pretty" => true,
        "timezone" if matches!(function.args, [ArgType::Exact(SqlType::Interval(_)), _]) => true,
        "textanycat" | "anytextcat" | "quote_literal" | "quote_nullable" => {
            args.iter().all(|arg| is_steady_cast(&arg.ty, &SqlType::Text))
        }
        _ => function.volatility == Volatility::Immutable,
    }
}

/// I2.
pub(super) fn is_steady_cast(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as T;
    let (from, to) = (from.erased(), to.erased());
    match (&from, &to) {
        (from, to) if from.same_base(to) && !from.is_row() => true,
        (T::Array(from), T::Array(to)) => is_steady_cast(from, to),
        (T::Row(from), T::Row(to)) => {
            from.fields.iter().zip(to.fields.iter()).all(|(from, to)| is_steady_cast(&from.1, &to.1))
        }
        // the zone
        (T::Date | T::Timestamp(_), T::Timestamptz(_)) | (T::Time(_), T::Timetz(_)) => false,
        (T::Timestamptz(_), T::Date | T::Time(_) | T::Timestamp(_) | T::Timetz(_)) => false,
        // how money is written
        (T::System(SystemType::Money), _) | (_, T::System(SystemType::Money)) => false,
        (from, to) if to.is_text() => from.is_text() || is_written_steadily(from),
        (from, to) if from.is_text() => is_read_steadily(to),
        (from, to) => !(from.is_row() || to.is_row()),
    }
}

/// Whether the output function of a type is immutable.
fn is_written_steadily(ty: &SqlType) -> bool {
    use SqlType as T;
    use SystemType as S;
    match ty {
        T::Date | T::Timestamp(_) | T::Timestamptz(_) | T::Interval(_) => false,
        T::Array(_) | T::Range(_) | T::Multirange(_) | T::Enum(_) => false,
        T::System(S::Money | S::AclItem | S::AnyArray | S::Regconfig | S::Regdictionary) => false,
        T::System(ty) => !ty.is_reference(),
        ty => !ty.is_row(),
    }
}

/// Whether the input function of a type is immutable.
fn is_read_steadily(ty: &SqlType) -> bool {
    is_written_steadily(ty) && !matches!(ty, SqlType::Time(_) | SqlType::Timetz(_))
}

/// Whether a value becomes JSON in one way.
fn is_steady_json(ty: &SqlType) -> bool {
    let ty = ty.erased();
    matches!(ty, SqlType::Json | SqlType::Jsonb | SqlType::Unknown) || is_written_steadily(&ty)
}

/// The path has to be known. Those that compare moments with and without a zone heed the session's; which ones these are is told
/// by their methods.
fn is_steady_path(call: &JsonPathCall) -> bool {
    const OF_TIME: [&str; 6] =
        [".datetime(", ".date(", ".time(", ".time_tz(", ".timestamp(", ".timestamp_tz("];
    match &call.path.kind {
        K::Literal(Value::Null) => true,
        K::Literal(value) => {
            let mut path = String::new();
            format_text(value, &call.path.ty, &TimeStyle::UTC, &mut path);
            let compares = ["==", "!=", "<", ">"].iter().any(|sign| path.contains(sign));
            !(compares && OF_TIME.iter().any(|method| path.contains(method)))
        }
        _ => false,
    }
}
