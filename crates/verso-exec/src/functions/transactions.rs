//! Transactions and the log, as PostgreSQL shows them: `pg_snapshot`, `xid8`, `pg_lsn`.

use verso_types::opaque::lsn::PgLsn;
use verso_types::snapshot::Snapshot;
use verso_types::{Number, Opaque, SqlType, TypeError, Value};

use super::define::{entry, optional, sql_type, unexpected, valued};
use super::session::session_function;
use super::sets::set_function;
use super::{ArgType, Body, BuiltinFunction, ResultType, SetFn, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

fn place(value: &Opaque) -> u64 {
    PgLsn::of(value).0
}

fn difference(a: &Opaque, b: &Opaque) -> Result<Value> {
    Ok(Number::parse_value(&(i128::from(place(a)) - i128::from(place(b))).to_string())?)
}

/// A place so many bytes behind, or before, another one.
fn moved(from: &Opaque, bytes: &Value, forward: bool) -> Result<Value> {
    let name = if forward { "add" } else { "subtract" };
    let number = Number::of(bytes).ok_or_else(|| unexpected("pg_lsn", std::slice::from_ref(bytes)))?;
    if number == Number::NaN {
        let side = if forward { "to" } else { "from" };
        return Err(TypeError::new("0A000", format!("cannot {name} NaN {side} pg_lsn")).into());
    }
    if !matches!(number, Number::Finite { .. }) {
        return Err(TypeError::new("0A000", "cannot convert infinity to pg_lsn").into());
    }
    let start = Number::parse_value(&place(from).to_string())?;
    let start = Number::of(&start).ok_or_else(|| unexpected("pg_lsn", std::slice::from_ref(bytes)))?;
    let moved = if forward { start.plus(&number) } else { start.minus(&number) };
    let moved: Option<u64> = moved.round(0).to_string().parse().ok();
    // 22023 as in PostgreSQL, not 22003
    moved
        .map(|place| PgLsn(place).into_value())
        .ok_or_else(|| TypeError::new("22023", "pg_lsn out of range").into())
}

/// The snapshot that a text is, which was checked when it became a value.
fn snapshot(value: &Value) -> Result<Snapshot> {
    let text = value.as_str().ok_or_else(|| unexpected("pg_snapshot", std::slice::from_ref(value)))?;
    Ok(Snapshot::parse(text, "pg_snapshot")?)
}

/// As `xid8`, or as the `bigint` of the older functions.
fn number(id: u64, old: bool) -> Value {
    if old { Value::Int8(id.cast_signed()) } else { Value::Xid8(id) }
}

fn current(cx: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::text(&cx.runtime.shown_snapshot()?.to_string()))
}

fn visible(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (id, shown) = match args {
        [Value::Xid8(id), shown] => (*id, shown),
        [Value::Int8(id), shown] => (id.cast_unsigned(), shown),
        _ => return Err(unexpected("pg_visible_in_snapshot", args)),
    };
    Ok(Value::Bool(snapshot(shown)?.sees(id)))
}

fn running(args: &[Value], old: bool) -> Result<Box<dyn Iterator<Item = Value> + Send>> {
    let [shown] = args else { return Err(unexpected("pg_snapshot_xip", args)) };
    Ok(Box::new(snapshot(shown)?.running.into_iter().map(move |id| number(id, old))))
}

/// The number of a snapshot that `which` says.
fn limit(args: &[Value], old: bool, which: fn(&Snapshot) -> u64) -> Result<Value> {
    let shown = args.first().ok_or_else(|| unexpected("pg_snapshot_xmin", args))?;
    Ok(number(which(&snapshot(shown)?), old))
}

/// When a transaction committed is not kept.
fn no_times<T>(_: &EvalContext<'_>, _: &[Value]) -> Result<T> {
    Err(TypeError::new("55000", "could not get commit timestamp data")
        .with_hint("Make sure the configuration parameter \"track_commit_timestamp\" is set.")
        .into())
}

/// What `pg_last_committed_xact` would yield.
static LAST_COMMITTED: [(&str, SqlType); 3] =
    [("xid", sql_type!(Xid)), ("timestamp", SqlType::Timestamptz(None)), ("roident", SqlType::Oid)];

/// What `pg_xact_commit_timestamp_origin` would yield.
static COMMIT_ORIGIN: [(&str, SqlType); 2] =
    [("timestamp", SqlType::Timestamptz(None)), ("roident", SqlType::Oid)];

static TRANSACTIONS: &[BuiltinFunction] = &[
    set_function!("pg_last_committed_xact" [] => ResultType::Columns(&LAST_COMMITTED), no_times),
    set_function!("pg_xact_commit_timestamp_origin" [ArgType::Exact(sql_type!(Xid))]
        => ResultType::Columns(&COMMIT_ORIGIN), no_times),
    valued!("pg_lsn_mi" ("-"): a Lsn, b Lsn => Numeric = difference(a, b)),
    valued!("pg_wal_lsn_diff" (): a Lsn, b Lsn => Numeric = difference(a, b)),
    entry!("pg_lsn_pli" ("+") [Lsn, Numeric] => Lsn, |_, args| match args {
        [Value::Opaque(from), bytes] => moved(from, bytes, true),
        _ => Err(unexpected("pg_lsn_pli", args)),
    }, None),
    entry!("numeric_pl_pg_lsn" ("+") [Numeric, Lsn] => Lsn, |_, args| match args {
        [bytes, Value::Opaque(from)] => moved(from, bytes, true),
        _ => Err(unexpected("numeric_pl_pg_lsn", args)),
    }, None),
    entry!("pg_lsn_mii" ("-") [Lsn, Numeric] => Lsn, |_, args| match args {
        [Value::Opaque(from), bytes] => moved(from, bytes, false),
        _ => Err(unexpected("pg_lsn_mii", args)),
    }, None),
    session_function!("pg_current_snapshot" Stable [] => PgSnapshot = current),
    session_function!("txid_current_snapshot" Stable [] => TxidSnapshot = current),
    session_function!("pg_visible_in_snapshot" Immutable [Xid8, PgSnapshot] => Bool = visible),
    session_function!("txid_visible_in_snapshot" Immutable [Int8, TxidSnapshot] => Bool = visible),
    session_function!("pg_snapshot_xmin" Immutable [PgSnapshot] => Xid8 =
        |_, args| limit(args, false, |shown| shown.xmin)),
    session_function!("txid_snapshot_xmin" Immutable [TxidSnapshot] => Int8 =
        |_, args| limit(args, true, |shown| shown.xmin)),
    session_function!("pg_snapshot_xmax" Immutable [PgSnapshot] => Xid8 =
        |_, args| limit(args, false, |shown| shown.xmax)),
    session_function!("txid_snapshot_xmax" Immutable [TxidSnapshot] => Int8 =
        |_, args| limit(args, true, |shown| shown.xmax)),
    set_function!("pg_snapshot_xip" [ArgType::Exact(sql_type!(PgSnapshot))]
        => ResultType::Fixed(sql_type!(Xid8)), |_, args| running(args, false)),
    set_function!("txid_snapshot_xip" [ArgType::Exact(sql_type!(TxidSnapshot))]
        => ResultType::Fixed(SqlType::Int8), |_, args| running(args, true)),
    session_function!("pg_xact_commit_timestamp" Volatile [Xid] => Timestamptz = no_times),
    session_function!("pg_trigger_depth" Stable [] => Int4 =
        |cx, _| Ok(Value::Int4(i32::try_from(cx.runtime.trigger_depth()).unwrap_or(i32::MAX)))),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [TRANSACTIONS];
