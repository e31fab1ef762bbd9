//! `hashtext` and its relatives: PostgreSQL's hash functions, whose numbers applications use to divide rows or to name
//! advisory locks. Source: Bob Jenkins's `lookup3`, as in PostgreSQL's `hashfn.c`.

use verso_types::{SqlType, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::error::Result;

/// The three words of the state.
struct State(u32, u32, u32);

impl State {
    fn new(len: usize) -> State {
        let start = 0x9e37_79b9_u32.wrapping_add(len as u32).wrapping_add(3_923_095);
        State(start, start, start)
    }

    fn seeded(len: usize, seed: u64) -> State {
        let mut state = State::new(len);
        if seed != 0 {
            state.0 = state.0.wrapping_add((seed >> 32) as u32);
            state.1 = state.1.wrapping_add(seed as u32);
            state.mix();
        }
        state
    }

    fn mix(&mut self) {
        let State(a, b, c) = self;
        *a = a.wrapping_sub(*c) ^ c.rotate_left(4);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(6);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(8);
        *b = b.wrapping_add(*a);
        *a = a.wrapping_sub(*c) ^ c.rotate_left(16);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(19);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(4);
        *b = b.wrapping_add(*a);
    }

    fn finish(&mut self) {
        let State(a, b, c) = self;
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
    }

    /// Both halves of the result.
    fn of_bytes(bytes: &[u8], seed: u64) -> State {
        let mut state = State::seeded(bytes.len(), seed);
        let mut blocks = bytes.chunks_exact(12);
        let word = |bytes: &[u8], at: usize| {
            let mut word = [0; 4];
            let part = bytes.get(at..).unwrap_or_default();
            let length = part.len().min(4);
            word[..length].copy_from_slice(&part[..length]);
            u32::from_le_bytes(word)
        };
        for block in &mut blocks {
            state.0 = state.0.wrapping_add(word(block, 0));
            state.1 = state.1.wrapping_add(word(block, 4));
            state.2 = state.2.wrapping_add(word(block, 8));
            state.mix();
        }
        let rest = blocks.remainder();
        state.0 = state.0.wrapping_add(word(rest, 0));
        state.1 = state.1.wrapping_add(word(rest, 4));
        // the lowest byte of the third word is the length's
        state.2 = state.2.wrapping_add(word(rest, 8) << 8);
        state.finish();
        state
    }

    fn of_word(word: u32, seed: u64) -> State {
        let mut state = State::seeded(4, seed);
        state.0 = state.0.wrapping_add(word);
        state.finish();
        state
    }
}

/// The words that integers of all widths have in common if they are equal.
fn folded(value: i64) -> u32 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    low ^ if value >= 0 { high } else { !high }
}

fn hashed(value: &Value, seed: u64) -> Option<State> {
    Some(match value {
        Value::Text(text) => State::of_bytes(text.as_bytes(), seed),
        Value::Bytes(bytes) => State::of_bytes(bytes, seed),
        Value::Uuid(uuid) => State::of_bytes(&uuid.to_be_bytes(), seed),
        Value::Bool(value) => State::of_word(u32::from(*value), seed),
        Value::Int2(value) => State::of_word(i32::from(*value).cast_unsigned(), seed),
        Value::Int4(value) | Value::Date(value) => State::of_word(value.cast_unsigned(), seed),
        Value::Int8(value) | Value::Timestamp(value) | Value::Timestamptz(value) | Value::Time(value) => {
            State::of_word(folded(*value), seed)
        }
        _ => return None,
    })
}

fn short(name: &str, args: &[Value]) -> Result<Value> {
    let state = args.first().and_then(|value| hashed(value, 0));
    state.map(|state| Value::Int4(state.2.cast_signed())).ok_or_else(|| unexpected(name, args))
}

fn extended(name: &str, args: &[Value]) -> Result<Value> {
    let [value, Value::Int8(seed)] = args else { return Err(unexpected(name, args)) };
    let state = hashed(value, seed.cast_unsigned()).ok_or_else(|| unexpected(name, args))?;
    Ok(Value::Int8((u64::from(state.1) << 32 | u64::from(state.2)).cast_signed()))
}

macro_rules! hash_functions {
    ($($name:literal $extended:literal $ty:expr;)*) => {
        &[$(
            hash_functions!(@one $name [ArgType::Exact($ty)] SqlType::Int4, |_, args| short($name, args)),
            hash_functions!(@one $extended [ArgType::Exact($ty), ArgType::Exact(SqlType::Int8)] SqlType::Int8,
                |_, args| extended($extended, args)),
        )*]
    };
    (@one $name:literal [$($arg:expr),*] $result:expr, $body:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$($arg),*],
            variadic: false,
            result: ResultType::Fixed($result),
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Scalar($body),
            kernel: None,
        }
    };
}

static HASHES: &[BuiltinFunction] = hash_functions![
    "hashtext" "hashtextextended" SqlType::Text;
    "hashbytea" "hashbyteaextended" SqlType::Bytea;
    "hashbool" "hashboolextended" SqlType::Bool;
    "hashint2" "hashint2extended" SqlType::Int2;
    "hashint4" "hashint4extended" SqlType::Int4;
    "hashint8" "hashint8extended" SqlType::Int8;
    "hashdate" "hashdateextended" SqlType::Date;
    "timestamp_hash" "timestamp_hash_extended" SqlType::Timestamp(None);
    "timestamptz_hash" "timestamptz_hash_extended" SqlType::Timestamptz(None);
    "time_hash" "time_hash_extended" SqlType::Time(None);
    "uuid_hash" "uuid_hash_extended" SqlType::Uuid;
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [HASHES];
