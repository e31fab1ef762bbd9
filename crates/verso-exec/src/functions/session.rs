//! Functions that ask the session or the database: sequences, settings, random numbers, who and what.

use std::time::Duration;

use verso_types::{SqlType, SystemType, TypeError, Value, datetime};

use super::define::{optional, sql_type, unexpected};
use super::sets::set_function;
use super::{ArgType, Body, BuiltinFunction, ResultType, SetFn, Volatility};
use crate::context::{EvalContext, Notice, SequenceName};
use crate::error::{ExecError, Result};
use crate::plan::RaiseLevel;

/// A strict function of given volatility.
macro_rules! session_function {
    ($name:literal $volatility:ident [$($arg:ident),*] => $res:ident = $f:expr) => {
        BuiltinFunction {
            name: $name,
            operator: optional!(),
            args: &[$(ArgType::Exact(sql_type!($arg))),*],
            variadic: false,
            result: ResultType::Fixed(sql_type!($res)),
            strict: true,
            volatility: Volatility::$volatility,
            body: Body::Scalar($f),
            kernel: None,
        }
    };
}

pub(super) use session_function;

/// A function of a sequence given as `regclass`.
macro_rules! sequence_function {
    ($name:literal [$($arg:ident),*] => $f:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Exact(SqlType::System(SystemType::Regclass)), $(ArgType::Exact(sql_type!($arg))),*],
            variadic: false,
            result: ResultType::Fixed(SqlType::Int8),
            strict: true,
            volatility: Volatility::Volatile,
            body: Body::Scalar($f),
            kernel: None,
        }
    };
}

fn nextval(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (oid, value) = cx.runtime.next_value(named(args)?)?;
    cx.services.sequences.note_value(oid, value, true);
    Ok(Value::Int8(value))
}

/// The next number of an identity column, for a row that may be added.
fn next_of_identity(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let SequenceName::Oid(oid) = named(args)? else { return Err(unexpected("an identity column", args)) };
    let (oid, value) = cx.runtime.next_value(SequenceName::Identity(oid))?;
    cx.services.sequences.note_value(oid, value, true);
    Ok(Value::Int8(value))
}

fn currval(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let oid = cx.runtime.sequence_oid(named(args)?)?;
    if let Some(value) = cx.services.sequences.value(oid) {
        return Ok(Value::Int8(value));
    }
    let mut sequence = String::new();
    verso_types::names::format_reference(SystemType::Regclass, oid.into(), &mut sequence);
    Err(not_yet_defined(format!("currval of sequence \"{sequence}\" is not yet defined in this session")))
}

fn lastval(cx: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    let nothing = || not_yet_defined("lastval is not yet defined in this session".to_owned());
    let sequence = cx.services.sequences.last_used().ok_or_else(nothing)?;
    if !cx.runtime.has_sequence(sequence)? {
        return Err(nothing());
    }
    cx.services.sequences.value(sequence).map(Value::Int8).ok_or_else(nothing)
}

#[cold]
fn not_yet_defined(message: String) -> ExecError {
    TypeError::new("55000", message).into()
}

/// `setval(sequence, value [, is_called])`.
fn setval(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (value, is_called) = match args {
        [_, Value::Int8(value)] => (*value, true),
        [_, Value::Int8(value), Value::Bool(is_called)] => (*value, *is_called),
        _ => return Err(unexpected("setval", args)),
    };
    let oid = cx.runtime.set_value(named(args)?, value, is_called)?;
    if is_called {
        cx.services.sequences.note_value(oid, value, false);
    }
    Ok(Value::Int8(value))
}

/// The sequence that the first argument names.
fn named(args: &[Value]) -> Result<SequenceName<'_>> {
    match args.first() {
        Some(Value::Text(name)) => Ok(SequenceName::Text(name)),
        Some(Value::Int8(oid)) => u32::try_from(*oid)
            .map(SequenceName::Oid)
            .map_err(|_| ExecError::raised("42P01", format!("could not open relation with OID {oid}"))),
        _ => Err(unexpected("a sequence function", args)),
    }
}

/// At least 0, below 1.
pub(super) fn fraction(cx: &EvalContext<'_>) -> f64 {
    // 52 bits, as in PostgreSQL: every double of the grid is as likely as the next
    (cx.services.random.random_u64() >> 12) as f64 / (1u64 << 52) as f64
}

fn random(cx: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Float8(fraction(cx)))
}

/// Both bounds included.
pub(super) fn random_between(cx: &EvalContext<'_>, low: i64, high: i64) -> Result<i64> {
    if low > high {
        let message = "lower bound must be less than or equal to upper bound";
        return Err(TypeError::new("22023", message).into());
    }
    let span = high.wrapping_sub(low).cast_unsigned();
    Ok(low.wrapping_add_unsigned(offset_within(span, || cx.services.random.random_u64())))
}

/// From 0 to `span`, both included, as PostgreSQL draws: as many bits as the span has, until they are within it, which more
/// than every second draw is.
pub(super) fn offset_within(span: u64, bits: impl Fn() -> u64) -> u64 {
    if span == 0 {
        return 0;
    }
    loop {
        let offset = bits() >> span.leading_zeros();
        if offset <= span {
            return offset;
        }
    }
}

fn random_int4(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Int4(low), Value::Int4(high)] = args else { return Err(unexpected("random", args)) };
    // between two int4 values
    Ok(Value::Int4(random_between(cx, i64::from(*low), i64::from(*high))? as i32))
}

fn random_int8(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Int8(low), Value::Int8(high)] = args else { return Err(unexpected("random", args)) };
    Ok(Value::Int8(random_between(cx, *low, *high)?))
}

fn setseed(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Float8(seed)] = args else { return Err(unexpected("setseed", args)) };
    if !(-1.0..=1.0).contains(seed) {
        let message = format!("setseed parameter {seed} is out of allowed range [-1,1]");
        return Err(TypeError::new("22023", message).into());
    }
    cx.services.random.seed_random(*seed);
    Ok(void())
}

fn setting(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (name, missing_ok) = match args {
        [Value::Text(name)] => (name, false),
        [Value::Text(name), Value::Bool(missing_ok)] => (name, *missing_ok),
        _ => return Err(unexpected("current_setting", args)),
    };
    match cx.services.settings.setting(&name.to_lowercase()) {
        Some(value) => Ok(Value::text(&value)),
        None if missing_ok => Ok(Value::Null),
        None => {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            Err(TypeError::new("42704", message).into())
        }
    }
}

/// `set_config(name, value, is_local)`.
fn set_setting(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let value = match args {
        [Value::Null, ..] => {
            return Err(TypeError::new("22004", "SET requires parameter name".to_owned()).into());
        }
        [Value::Text(_), Value::Text(value), _] => Some(&**value),
        [Value::Text(_), Value::Null, _] => None,
        _ => return Err(unexpected("set_config", args)),
    };
    let local = matches!(args[2], Value::Bool(true));
    let setting = args[0].as_str().ok_or_else(|| unexpected("set_config", args))?.to_lowercase();
    let value = cx.services.settings.set_setting(&setting, value, local)?;
    Ok(Value::text(&value))
}

fn user(cx: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Text(cx.services.identity.user_name()))
}

fn session_user(cx: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Text(cx.services.identity.session_user()))
}

fn signal(cx: &EvalContext<'_>, args: &[Value], terminate: bool) -> Result<Value> {
    match args {
        [Value::Int4(id)] => cx.services.signals.signal_backend(*id, terminate).map(Value::Bool),
        [Value::Int4(id), Value::Int8(wait_ms)] => terminate_within(cx, *id, *wait_ms),
        _ => Err(unexpected("pg_cancel_backend", args)),
    }
}

/// How long a session that is told to end is looked after in one go.
const LOOK_MS: u64 = 10;

/// Tells a session to end, and waits so many milliseconds until it has; 0 does not wait.
fn terminate_within(cx: &EvalContext<'_>, id: i32, wait_ms: i64) -> Result<Value> {
    let Ok(mut left) = u64::try_from(wait_ms) else {
        return Err(TypeError::new("22003", "\"timeout\" must not be negative".to_owned()).into());
    };
    let signals = cx.services.signals;
    if !signals.signal_backend(id, true)? {
        return Ok(Value::Bool(false));
    }
    if left == 0 {
        return Ok(Value::Bool(true));
    }
    while signals.has_backend(id) {
        if left == 0 {
            let message = format!("backend with PID {id} did not terminate within {wait_ms} milliseconds");
            let (level, sqlstate) = (RaiseLevel::Warning, "01000".into());
            let warning = Notice { level, sqlstate, message, detail: None, hint: None, context: None };
            cx.services.notices.notice(warning, cx.services.memory)?;
            return Ok(Value::Bool(false));
        }
        let look = left.min(LOOK_MS);
        signals.sleep(Duration::from_millis(look))?;
        left -= look;
    }
    Ok(Value::Bool(true))
}

fn sleep(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let moment = cx.services.clock.clock_timestamp();
    let until = |micros: i64| micros.saturating_sub(moment).max(0) as f64 / 1e6;
    let seconds = match args {
        [Value::Float8(seconds)] => *seconds,
        [Value::Interval(interval)] => {
            until(datetime::timestamptz_plus_interval(moment, *interval, cx.services.time_zone)?)
        }
        [Value::Timestamptz(moment)] => until(*moment),
        _ => return Err(unexpected("pg_sleep", args)),
    };
    // What is no number, or less than nothing, is no time; what is more than can be counted lasts for ever.
    let seconds = if seconds > 0.0 { seconds } else { 0.0 };
    cx.services.signals.sleep(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))?;
    Ok(void())
}

/// The transaction's id, as `xid8`.
fn transaction_id(cx: &EvalContext<'_>, assign: bool) -> Result<Value> {
    Ok(cx.runtime.transaction_id(assign)?.map_or(Value::Null, Value::Xid8))
}

/// The same as `bigint`.
fn transaction_number(cx: &EvalContext<'_>, assign: bool) -> Result<Value> {
    Ok(cx.runtime.transaction_id(assign)?.map_or(Value::Null, |id| Value::Int8(id.cast_signed())))
}

/// What functions without a result yield: it is not NULL.
pub(crate) fn void() -> Value {
    Value::text("")
}

/// `pg_notify(channel, payload)`: NULL is nothing.
fn notify(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [channel, payload] = args else { return Err(unexpected("pg_notify", args)) };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    cx.services.notifications.notify(&text(channel), &text(payload))?;
    Ok(void())
}

fn listening(cx: &EvalContext<'_>, _: &[Value]) -> Result<Box<dyn Iterator<Item = Value> + Send>> {
    Ok(Box::new(cx.services.notifications.listening().into_iter().map(Value::Text)))
}

/// Known when the statement is compiled; this is for calls that are not.
fn type_name(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Int8(verso_types::text::type_of(&args[0]).pg_oid().into()))
}

/// What controls the replay of a log: a database that answers replays none.
fn not_in_recovery(_: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    let hint = "Recovery control functions can only be executed during recovery.";
    Err(TypeError::new("55000", "recovery is not in progress").with_hint(hint).into())
}

/// What the default of an identity column calls. No statement can name it: it asks for no right to the sequence.
static NEXT_OF_IDENTITY: BuiltinFunction = sequence_function!("nextval" [] => next_of_identity);

/// The form of `nextval` and kin that takes a `regclass`; of an identity column, the one that asks for no right to the sequence.
pub fn of_sequence(function: &'static BuiltinFunction, identity: bool) -> Option<&'static BuiltinFunction> {
    if identity && function.name == "nextval" {
        return Some(&NEXT_OF_IDENTITY);
    }
    let arguments = function.args.len();
    let takes_number = |one: &&&BuiltinFunction| {
        one.args.len() == arguments && one.args[0] == ArgType::Exact(SqlType::System(SystemType::Regclass))
    };
    super::candidates(function.name).iter().find(takes_number).copied()
}

static SESSION: &[BuiltinFunction] = &[
    session_function!("nextval" Volatile [Text] => Int8 = nextval),
    session_function!("currval" Volatile [Text] => Int8 = currval),
    sequence_function!("nextval" [] => nextval),
    sequence_function!("currval" [] => currval),
    sequence_function!("setval" [Int8] => setval),
    sequence_function!("setval" [Int8, Bool] => setval),
    session_function!("lastval" Volatile [] => Int8 = lastval),
    session_function!("setval" Volatile [Text, Int8] => Int8 = setval),
    session_function!("setval" Volatile [Text, Int8, Bool] => Int8 = setval),
    session_function!("random" Volatile [] => Float8 = random),
    session_function!("random" Volatile [Int4, Int4] => Int4 = random_int4),
    session_function!("random" Volatile [Int8, Int8] => Int8 = random_int8),
    session_function!("setseed" Volatile [Float8] => Void = setseed),
    session_function!("version" Stable [] => Text = |cx, _| Ok(Value::Text(cx.services.identity.version()))),
    session_function!("current_user" Stable [] => Name = user),
    session_function!("getpgusername" Stable [] => Name = user),
    session_function!("session_user" Stable [] => Name = session_user),
    session_function!("current_database" Stable [] => Name =
        |cx, _| Ok(Value::Text(cx.services.identity.database_name()))),
    session_function!("pg_backend_pid" Stable [] => Int4 = |cx, _| Ok(Value::Int4(cx.services.identity.backend_id()))),
    session_function!("pg_cancel_backend" Volatile [Int4] => Bool = |cx, args| signal(cx, args, false)),
    session_function!("pg_terminate_backend" Volatile [Int4] => Bool = |cx, args| signal(cx, args, true)),
    session_function!("pg_terminate_backend" Volatile [Int4, Int8] => Bool = |cx, args| signal(cx, args, true)),
    session_function!("pg_sleep" Volatile [Float8] => Void = sleep),
    session_function!("pg_sleep_for" Volatile [Interval] => Void = sleep),
    session_function!("pg_sleep_until" Volatile [Timestamptz] => Void = sleep),
    // Figures are counted as things happen: nothing waits to be written, and nobody keeps a copy of them.
    session_function!("pg_stat_force_next_flush" Volatile [] => Void = |_, _| Ok(void())),
    session_function!("pg_stat_clear_snapshot" Volatile [] => Void = |_, _| Ok(void())),
    BuiltinFunction {
        strict: false,
        ..session_function!("pg_notify" Volatile [Text, Text] => Void = notify)
    },
    BuiltinFunction {
        volatility: Volatility::Stable,
        ..set_function!("pg_listening_channels" [] => ResultType::Fixed(SqlType::Text), listening)
    },
    session_function!("pg_notification_queue_usage" Volatile [] => Float8 =
        |cx, _| Ok(Value::Float8(cx.services.notifications.queue_usage()))),
    session_function!("txid_current" Stable [] => Int8 = |cx, _| transaction_number(cx, true)),
    session_function!("txid_current_if_assigned" Stable [] => Int8 = |cx, _| transaction_number(cx, false)),
    session_function!("pg_current_xact_id" Stable [] => Xid8 = |cx, _| transaction_id(cx, true)),
    session_function!("pg_current_xact_id_if_assigned" Stable [] => Xid8 =
        |cx, _| transaction_id(cx, false)),
    session_function!("pg_is_in_recovery" Stable [] => Bool = |_, _| Ok(Value::Bool(false))),
    session_function!("pg_is_wal_replay_paused" Volatile [] => Bool = not_in_recovery),
    session_function!("pg_get_wal_replay_pause_state" Volatile [] => Text = not_in_recovery),
    session_function!("pg_wal_replay_pause" Volatile [] => Void = not_in_recovery),
    session_function!("pg_wal_replay_resume" Volatile [] => Void = not_in_recovery),
    session_function!("pg_promote" Volatile [] => Bool = not_in_recovery),
    session_function!("pg_promote" Volatile [Bool] => Bool = not_in_recovery),
    session_function!("pg_promote" Volatile [Bool, Int4] => Bool = not_in_recovery),
    session_function!("pg_last_wal_receive_lsn" Volatile [] => Lsn = |_, _| Ok(Value::Null)),
    session_function!("pg_last_wal_replay_lsn" Volatile [] => Lsn = |_, _| Ok(Value::Null)),
    session_function!("pg_last_xact_replay_timestamp" Volatile [] => Timestamptz = |_, _| Ok(Value::Null)),
    session_function!("current_schema" Stable [] => Name = |cx, _| {
        let schemas = cx.runtime.catalog().map(|catalog| catalog.search_path().shown(false));
        Ok(schemas.unwrap_or_default().into_iter().next().map_or(Value::Null, Value::Text))
    }),
    session_function!("current_setting" Stable [Text] => Text = setting),
    session_function!("current_setting" Stable [Text, Bool] => Text = setting),
    BuiltinFunction {
        name: "set_config",
        operator: None,
        args: &[ArgType::Exact(SqlType::Text), ArgType::Exact(SqlType::Text), ArgType::Exact(SqlType::Bool)],
        variadic: false,
        result: ResultType::Fixed(SqlType::Text),
        strict: false,
        volatility: Volatility::Volatile,
        body: Body::Scalar(set_setting),
        kernel: None,
    },
    BuiltinFunction {
        name: "pg_typeof",
        operator: None,
        args: &[ArgType::Any],
        variadic: false,
        result: ResultType::Fixed(SqlType::System(SystemType::Regtype)),
        strict: false,
        volatility: Volatility::Stable,
        body: Body::Scalar(type_name),
        kernel: None,
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [SESSION];
