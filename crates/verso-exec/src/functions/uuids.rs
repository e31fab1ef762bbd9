//! Random and time-ordered UUIDs, and what they tell.

use verso_types::{SqlType, TypeError, Value, datetime};

use super::define::{entry, optional, sql_type, unexpected};
use super::session::session_function;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// The version and the variant of RFC 9562, which all UUIDs made here have.
fn stamped(bits: u128, version: u128) -> Value {
    Value::Uuid(bits & !(0xf << 76) & !(0b11 << 62) | version << 76 | 0b10 << 62)
}

/// Version 4: nothing but random bits, also after `setseed`.
fn random(cx: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    let bits = |()| u128::from(cx.services.random.unseeded_u64());
    Ok(stamped(bits(()) << 64 | bits(()), 4))
}

/// Version 7: milliseconds since 1970, twelve bits of their fraction, random bits.
fn ordered(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let now = cx.services.clock.clock_timestamp();
    let stamp = cx.services.random.uuid_stamp(now.saturating_add(datetime::UNIX_EPOCH_MICROS));
    let shifted = match args {
        [Value::Interval(shift)] => {
            let micros = stamp.div_euclid(1000);
            let at = micros - i128::from(datetime::UNIX_EPOCH_MICROS);
            let at = datetime::timestamptz_plus_interval(
                datetime::checked_timestamp(at)?,
                *shift,
                cx.services.time_zone,
            )?;
            (i128::from(at) + i128::from(datetime::UNIX_EPOCH_MICROS)) * 1000 + stamp.rem_euclid(1000)
        }
        _ => stamp,
    };
    // before 1970 the 48 bits wrap, as in PostgreSQL
    let milliseconds = shifted.div_euclid(1_000_000).cast_unsigned() & 0xffff_ffff_ffff;
    let fraction = shifted.rem_euclid(1_000_000).cast_unsigned() * 4096 / 1_000_000;
    let low = u128::from(cx.services.random.unseeded_u64());
    Ok(stamped(milliseconds << 80 | fraction << 64 | low, 7))
}

/// Whether the variant is the one of RFC 9562.
fn is_standard(uuid: u128) -> bool {
    uuid >> 62 & 0b11 == 0b10
}

fn version(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Uuid(uuid)] = args else { return Err(unexpected("uuid_extract_version", args)) };
    Ok(if is_standard(*uuid) { Value::Int2((uuid >> 76 & 0xf) as i16) } else { Value::Null })
}

/// Of versions 1 and 7.
fn timestamp(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Uuid(uuid)] = args else { return Err(unexpected("uuid_extract_timestamp", args)) };
    let since_1970 = match uuid >> 76 & 0xf {
        7 if is_standard(*uuid) => (uuid >> 80).cast_signed() * 1000,
        1 if is_standard(*uuid) => {
            let ticks = (uuid >> 64 & 0xfff) << 48 | (uuid >> 80 & 0xffff) << 32 | uuid >> 96;
            // tenths of microseconds since 1582-10-15
            ticks.cast_signed() / 10 - 12_219_292_800_000_000
        }
        _ => return Ok(Value::Null),
    };
    let micros = since_1970 - i128::from(datetime::UNIX_EPOCH_MICROS);
    let micros = i64::try_from(micros).map_err(|_| TypeError::out_of_range("timestamp"))?;
    Ok(Value::Timestamptz(micros))
}

static UUIDS: &[BuiltinFunction] = &[
    session_function!("gen_random_uuid" Volatile [] => Uuid = random),
    session_function!("uuidv4" Volatile [] => Uuid = random),
    session_function!("uuidv7" Volatile [] => Uuid = ordered),
    session_function!("uuidv7" Volatile [Interval] => Uuid = ordered),
    entry!("uuid_extract_version" () [Uuid] => Int2, version, None),
    entry!("uuid_extract_timestamp" () [Uuid] => Timestamptz, timestamp, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [UUIDS];
