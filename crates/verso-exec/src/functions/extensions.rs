//! The functions of extensions that are built in: `uuid-ossp`, and of `pgcrypto` digests and random bytes. Those of
//! `pg_trgm` are in `trigrams.rs`. They are there whether or not CREATE EXTENSION was called.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use verso_types::{SqlType, TypeError, Value, datetime};

use super::bytes::digest as of_bytes;
use super::define::{entry, optional, sql_type, unexpected};
use super::session::session_function;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// Most bytes that `gen_random_bytes` gives, as in PostgreSQL.
const RANDOM_BYTES_MAX: i32 = 1024;
/// From 1582-10-15, where the time of UUIDs begins, to 1970, in steps of 100 ns.
const GREGORIAN_STEPS: i128 = 122_192_928_000_000_000;
/// The bit of a node that no network card has.
const MULTICAST: u128 = 1 << 40;
/// What names of UUIDs belong to: RFC 9562, 6.6.
const DNS: u128 = 0x6ba7_b810_9dad_11d1_80b4_00c0_4fd4_30c8;
const URL: u128 = 0x6ba7_b811_9dad_11d1_80b4_00c0_4fd4_30c8;
const OID: u128 = 0x6ba7_b812_9dad_11d1_80b4_00c0_4fd4_30c8;
const X500: u128 = 0x6ba7_b814_9dad_11d1_80b4_00c0_4fd4_30c8;

fn stamped(bits: u128, version: u128) -> Value {
    Value::Uuid(bits & !(0xf << 76) & !(0b11 << 62) | version << 76 | 0b10 << 62)
}

/// Version 1: the time, a random clock, and a random node that says it is none of a network card.
fn timed(cx: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    let now = cx.services.clock.clock_timestamp().saturating_add(datetime::UNIX_EPOCH_MICROS);
    let steps = (cx.services.random.uuid_stamp(now).div_euclid(100) + GREGORIAN_STEPS).cast_unsigned();
    let (low, middle, high) = (steps & 0xffff_ffff, steps >> 32 & 0xffff, steps >> 48 & 0xfff);
    let rest = u128::from(cx.services.random.unseeded_u64()) | MULTICAST;
    Ok(stamped(low << 96 | middle << 80 | high << 64 | rest, 1))
}

/// Versions 3 and 5: a name within a namespace.
fn named<D: Digest>(args: &[Value], version: u128) -> Result<Value> {
    let [Value::Uuid(space), Value::Text(name)] = args else { return Err(unexpected("uuid_generate", args)) };
    let digest = D::new().chain_update(space.to_be_bytes()).chain_update(name.as_bytes()).finalize();
    let bytes = digest.first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes));
    Ok(stamped(bytes, version))
}

fn no_such(name: &str) -> TypeError {
    TypeError::new("22023", format!("Cannot use \"{name}\": No such hash algorithm"))
}

fn digest(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [data, Value::Text(name)] = args else { return Err(unexpected("digest", args)) };
    let data = bytes(data).ok_or_else(|| unexpected("digest", args))?;
    let result = match name.to_ascii_lowercase().as_str() {
        "md5" => of_bytes::<Md5>(cx, data)?,
        "sha1" => of_bytes::<Sha1>(cx, data)?,
        "sha224" => of_bytes::<Sha224>(cx, data)?,
        "sha256" => of_bytes::<Sha256>(cx, data)?,
        "sha384" => of_bytes::<Sha384>(cx, data)?,
        "sha512" => of_bytes::<Sha512>(cx, data)?,
        _ => return Err(no_such(name).into()),
    };
    Ok(Value::bytes(&result))
}

fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Text(text) => Some(text.as_bytes()),
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

fn signed(args: &[Value]) -> Result<Value> {
    let wrong = || unexpected("hmac", args);
    let [data, key, Value::Text(name)] = args else { return Err(wrong()) };
    let (data, key) = (bytes(data).ok_or_else(wrong)?, bytes(key).ok_or_else(wrong)?);
    macro_rules! of {
        ($digest:ty) => {
            Hmac::<$digest>::new_from_slice(key)
                .expect("HMAC takes keys of every length")
                .chain_update(data)
                .finalize()
                .into_bytes()
                .to_vec()
        };
    }
    let result = match name.to_ascii_lowercase().as_str() {
        "md5" => of!(Md5),
        "sha1" => of!(Sha1),
        "sha224" => of!(Sha224),
        "sha256" => of!(Sha256),
        "sha384" => of!(Sha384),
        "sha512" => of!(Sha512),
        _ => return Err(no_such(name).into()),
    };
    Ok(Value::bytes(&result))
}

fn random_bytes(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Int4(count)] = args else { return Err(unexpected("gen_random_bytes", args)) };
    if !(1..=RANDOM_BYTES_MAX).contains(count) {
        return Err(TypeError::new("39000", "Length not in range").into());
    }
    let count = usize::try_from(*count).unwrap_or_default();
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        bytes.extend_from_slice(&cx.services.random.unseeded_u64().to_le_bytes());
    }
    Ok(Value::bytes(&bytes[..count]))
}

static FUNCTIONS: &[BuiltinFunction] = &[
    entry!("uuid_nil" () [] => Uuid, |_, _| Ok(Value::Uuid(0)), None),
    entry!("uuid_ns_dns" () [] => Uuid, |_, _| Ok(Value::Uuid(DNS)), None),
    entry!("uuid_ns_url" () [] => Uuid, |_, _| Ok(Value::Uuid(URL)), None),
    entry!("uuid_ns_oid" () [] => Uuid, |_, _| Ok(Value::Uuid(OID)), None),
    entry!("uuid_ns_x500" () [] => Uuid, |_, _| Ok(Value::Uuid(X500)), None),
    session_function!("uuid_generate_v1" Volatile [] => Uuid = timed),
    session_function!("uuid_generate_v1mc" Volatile [] => Uuid = timed),
    entry!("uuid_generate_v3" () [Uuid, Text] => Uuid, |_, args| named::<Md5>(args, 3), None),
    session_function!("uuid_generate_v4" Volatile [] => Uuid = |cx, _| {
        let bits = |()| u128::from(cx.services.random.unseeded_u64());
        Ok(stamped(bits(()) << 64 | bits(()), 4))
    }),
    entry!("uuid_generate_v5" () [Uuid, Text] => Uuid, |_, args| named::<Sha1>(args, 5), None),
    entry!("digest" () [Text, Text] => Bytea, digest, None),
    entry!("digest" () [Bytea, Text] => Bytea, digest, None),
    entry!("hmac" () [Text, Text, Text] => Bytea, |_, args| signed(args), None),
    entry!("hmac" () [Bytea, Bytea, Text] => Bytea, |_, args| signed(args), None),
    session_function!("gen_random_bytes" Volatile [Int4] => Bytea = random_bytes),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
