//! Functions of the lock manager and of transactions: advisory locks, exported snapshots.

use verso_types::{SqlType, Value};

use super::define::{optional, sql_type, unexpected};
use super::session::{session_function, void};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::{AdvisoryCall, AdvisoryKey, EvalContext, Notice};
use crate::error::Result;
use crate::plan::RaiseLevel;

fn key(args: &[Value]) -> Result<AdvisoryKey> {
    match args {
        [Value::Int8(key)] => Ok(AdvisoryKey::One(*key)),
        [Value::Int4(first), Value::Int4(second)] => Ok(AdvisoryKey::Two(*first, *second)),
        _ => Err(unexpected("an advisory lock function", args)),
    }
}

fn advisory_lock(
    cx: &EvalContext<'_>,
    args: &[Value],
    shared: bool,
    session: bool,
    at_once: bool,
) -> Result<Value> {
    let got = cx.runtime.advisory(AdvisoryCall::Lock { key: key(args)?, shared, session, at_once })?;
    Ok(if at_once { Value::Bool(got) } else { void() })
}

fn advisory_unlock(cx: &EvalContext<'_>, args: &[Value], shared: bool) -> Result<Value> {
    let held = cx.runtime.advisory(AdvisoryCall::Unlock { key: key(args)?, shared })?;
    if !held {
        let mode = if shared { "ShareLock" } else { "ExclusiveLock" };
        let message = format!("you don't own a lock of type {mode}");
        let (level, sqlstate) = (RaiseLevel::Warning, "01000".into());
        let warning = Notice { level, sqlstate, message, detail: None, hint: None, context: None };
        cx.services.notices.notice(warning, cx.services.memory)?;
    }
    Ok(Value::Bool(held))
}

static LOCKS: &[BuiltinFunction] = &[
    session_function!("pg_advisory_lock" Volatile [Int8] => Void =
        |cx, args| advisory_lock(cx, args, false, true, false)),
    session_function!("pg_advisory_lock" Volatile [Int4, Int4] => Void =
        |cx, args| advisory_lock(cx, args, false, true, false)),
    session_function!("pg_try_advisory_lock" Volatile [Int8] => Bool =
        |cx, args| advisory_lock(cx, args, false, true, true)),
    session_function!("pg_try_advisory_lock" Volatile [Int4, Int4] => Bool =
        |cx, args| advisory_lock(cx, args, false, true, true)),
    session_function!("pg_advisory_xact_lock" Volatile [Int8] => Void =
        |cx, args| advisory_lock(cx, args, false, false, false)),
    session_function!("pg_advisory_xact_lock" Volatile [Int4, Int4] => Void =
        |cx, args| advisory_lock(cx, args, false, false, false)),
    session_function!("pg_try_advisory_xact_lock" Volatile [Int8] => Bool =
        |cx, args| advisory_lock(cx, args, false, false, true)),
    session_function!("pg_try_advisory_xact_lock" Volatile [Int4, Int4] => Bool =
        |cx, args| advisory_lock(cx, args, false, false, true)),
    session_function!("pg_advisory_unlock" Volatile [Int8] => Bool =
        |cx, args| advisory_unlock(cx, args, false)),
    session_function!("pg_advisory_unlock" Volatile [Int4, Int4] => Bool =
        |cx, args| advisory_unlock(cx, args, false)),
    session_function!("pg_advisory_lock_shared" Volatile [Int8] => Void =
        |cx, args| advisory_lock(cx, args, true, true, false)),
    session_function!("pg_advisory_lock_shared" Volatile [Int4, Int4] => Void =
        |cx, args| advisory_lock(cx, args, true, true, false)),
    session_function!("pg_try_advisory_lock_shared" Volatile [Int8] => Bool =
        |cx, args| advisory_lock(cx, args, true, true, true)),
    session_function!("pg_try_advisory_lock_shared" Volatile [Int4, Int4] => Bool =
        |cx, args| advisory_lock(cx, args, true, true, true)),
    session_function!("pg_advisory_xact_lock_shared" Volatile [Int8] => Void =
        |cx, args| advisory_lock(cx, args, true, false, false)),
    session_function!("pg_advisory_xact_lock_shared" Volatile [Int4, Int4] => Void =
        |cx, args| advisory_lock(cx, args, true, false, false)),
    session_function!("pg_try_advisory_xact_lock_shared" Volatile [Int8] => Bool =
        |cx, args| advisory_lock(cx, args, true, false, true)),
    session_function!("pg_try_advisory_xact_lock_shared" Volatile [Int4, Int4] => Bool =
        |cx, args| advisory_lock(cx, args, true, false, true)),
    session_function!("pg_advisory_unlock_shared" Volatile [Int8] => Bool =
        |cx, args| advisory_unlock(cx, args, true)),
    session_function!("pg_advisory_unlock_shared" Volatile [Int4, Int4] => Bool =
        |cx, args| advisory_unlock(cx, args, true)),
    session_function!("pg_advisory_unlock_all" Volatile [] => Void = |cx, _| {
        cx.runtime.advisory(AdvisoryCall::UnlockAll)?;
        Ok(void())
    }),
    session_function!("verso_wait_durable" Volatile [] => Int8 = |cx, _| {
        Ok(Value::Int8(i64::try_from(cx.services.signals.wait_durable()?).unwrap_or(i64::MAX)))
    }),
    session_function!("pg_export_snapshot" Volatile [] => Text =
        |cx, _| Ok(Value::text(&cx.runtime.export_snapshot()?))),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [LOCKS];
