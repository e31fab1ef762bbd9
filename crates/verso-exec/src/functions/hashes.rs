//! `hashtext` and its relatives: PostgreSQL's hash functions, whose numbers applications use to divide rows or to name
//! advisory locks. Source: Bob Jenkins's `lookup3`, as in PostgreSQL's `hashfn.c`.

use verso_env::stack;
use verso_types::json::JsonRef;
use verso_types::opaque::hardware::Hardware;
use verso_types::opaque::lsn::PgLsn;
use verso_types::opaque::network::Network;
use verso_types::opaque::tid::Tid;
use verso_types::opaque::timetz::TimeTz;
use verso_types::{OpaqueKind, Range, SqlType, SystemType, Value, byte_of_char, format_binary};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::error::{ExecError, Result};

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

/// A hash before it is taken in one of its two widths.
enum Hashed {
    /// The state, and what is taken into the result by exclusive or.
    State(State, u64),
    /// This in four bytes, and that in eight.
    Fixed(u32, u64),
}

impl Hashed {
    fn short(&self) -> u32 {
        match self {
            Hashed::State(state, with) => state.2 ^ *with as u32,
            Hashed::Fixed(short, _) => *short,
        }
    }

    fn long(&self) -> u64 {
        match self {
            Hashed::State(state, with) => (u64::from(state.1) << 32 | u64::from(state.2)) ^ with,
            Hashed::Fixed(_, long) => *long,
        }
    }
}

/// The hash of a value that has no others within.
fn hashed(value: &Value, seed: u64) -> Option<Hashed> {
    let state = match value {
        Value::Text(text) => State::of_bytes(text.as_bytes(), seed),
        Value::Bytes(bytes) => State::of_bytes(bytes, seed),
        Value::Uuid(uuid) => State::of_bytes(&uuid.to_be_bytes(), seed),
        Value::Bool(value) => State::of_word(u32::from(*value), seed),
        Value::Int2(value) => State::of_word(i32::from(*value).cast_unsigned(), seed),
        Value::Int4(value) | Value::Date(value) => State::of_word(value.cast_unsigned(), seed),
        Value::Int8(value) | Value::Timestamp(value) | Value::Timestamptz(value) | Value::Time(value) => {
            State::of_word(folded(*value), seed)
        }
        Value::Xid8(value) => State::of_word(folded(value.cast_signed()), seed),
        Value::Float4(value) => return Some(of_double(f64::from(*value), seed)),
        Value::Float8(value) => return Some(of_double(*value, seed)),
        Value::Numeric(_) | Value::Big(_) => return Some(of_numeric(value, seed)),
        // What is equal is: a month is thirty days.
        Value::Interval(value) => {
            let days = i128::from(value.months) * 30 + i128::from(value.days);
            let span = days * 86_400_000_000 + i128::from(value.micros);
            State::of_word(folded(span as i64), seed)
        }
        Value::Opaque(value) => match value.kind() {
            OpaqueKind::Inet | OpaqueKind::Cidr => {
                let network = Network::of(value);
                let mut bytes = vec![if network.six { 3 } else { 2 }, network.bits];
                bytes.extend_from_slice(network.bytes());
                State::of_bytes(&bytes, seed)
            }
            OpaqueKind::Mac | OpaqueKind::Mac8 => State::of_bytes(Hardware::of(value).bytes(), seed),
            OpaqueKind::Lsn => State::of_word(folded(PgLsn::of(value).0.cast_signed()), seed),
            OpaqueKind::Tid => {
                let Tid { page, slot } = Tid::of(value);
                let mut bytes = [0; 6];
                bytes[..2].copy_from_slice(&((page >> 16) as u16).to_le_bytes());
                bytes[2..4].copy_from_slice(&(page as u16).to_le_bytes());
                bytes[4..].copy_from_slice(&slot.to_le_bytes());
                State::of_bytes(&bytes, seed)
            }
            OpaqueKind::TimeTz => {
                let TimeTz { micros, offset } = TimeTz::of(value);
                let zone = Hashed::State(State::of_word((-offset).cast_unsigned(), seed), 0);
                return Some(Hashed::State(State::of_word(folded(micros), seed), zone.long()));
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(Hashed::State(state, 0))
}

/// Zero is zero, whatever its sign, and all NaNs are one.
fn of_double(value: f64, seed: u64) -> Hashed {
    if value == 0.0 {
        return Hashed::Fixed(0, seed);
    }
    let value = if value.is_nan() { f64::from_bits(0x7ff8_0000_0000_0000) } else { value };
    Hashed::State(State::of_bytes(&value.to_bits().to_le_bytes(), seed), 0)
}

/// The digits to the base 10,000 without zeroes around them, and the place of the first one; signs do not count.
fn of_numeric(value: &Value, seed: u64) -> Hashed {
    let mut sent = Vec::new();
    format_binary(value, &SqlType::Numeric(None), &mut sent);
    let mut words = sent.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    let (_, weight, sign) = (words.next(), words.next().unwrap_or(0), words.next().unwrap_or(0));
    words.next();
    if sign & 0xc000 == 0xc000 {
        return Hashed::Fixed(0, seed);
    }
    let digits: Vec<u16> = words.collect();
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    let trailing = digits.iter().rev().take_while(|digit| **digit == 0).count();
    if leading == digits.len() {
        return Hashed::Fixed(u32::MAX, seed.wrapping_sub(1));
    }
    let digits = &digits[leading..digits.len() - trailing];
    let bytes: Vec<u8> = digits.iter().flat_map(|digit| digit.to_le_bytes()).collect();
    let weight = i64::from(weight.cast_signed()) - leading as i64;
    Hashed::State(State::of_bytes(&bytes, seed), weight.cast_unsigned())
}

/// The two widths in which values with others within are hashed.
trait Width: Copy {
    const ONE: Self;
    fn of(hashed: &Hashed) -> Self;
    /// `31 * self + part`.
    fn and_element(self, part: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// One bit further round; of eight bytes in each half.
    fn turned(self) -> Self;
    fn of_number(number: u32, seed: u64) -> Self;
    /// The kind of a document's part.
    fn of_kind(kind: u32) -> Self;
}

impl Width for u32 {
    const ONE: Self = 1;
    fn of(hashed: &Hashed) -> Self {
        hashed.short()
    }
    fn and_element(self, part: Self) -> Self {
        self.wrapping_mul(31).wrapping_add(part)
    }
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    fn turned(self) -> Self {
        self.rotate_left(1)
    }
    fn of_number(number: u32, _: u64) -> Self {
        number
    }
    fn of_kind(kind: u32) -> Self {
        kind
    }
}

impl Width for u64 {
    const ONE: Self = 1;
    fn of(hashed: &Hashed) -> Self {
        hashed.long()
    }
    fn and_element(self, part: Self) -> Self {
        self.wrapping_mul(31).wrapping_add(part)
    }
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    fn turned(self) -> Self {
        let (high, low) = ((self >> 32) as u32, self as u32);
        u64::from(high.rotate_left(1)) << 32 | u64::from(low.rotate_left(1))
    }
    fn of_number(number: u32, seed: u64) -> Self {
        seed.wrapping_add(number.into())
    }
    fn of_kind(kind: u32) -> Self {
        u64::from(kind) << 32 | u64::from(kind)
    }
}

/// The hash of any value; none of those without one.
fn hash<W: Width>(value: &Value, seed: u64) -> Result<Option<W>> {
    stack::check()?;
    let start = W::of_number(0, 0);
    let list = |values: &mut dyn Iterator<Item = &Value>, first: W| -> Result<Option<W>> {
        let mut all = first;
        for value in values {
            let part = if value.is_null() { Some(start) } else { hash::<W>(value, seed)? };
            let Some(part) = part else { return Ok(None) };
            all = all.and_element(part);
        }
        Ok(Some(all))
    };
    match value {
        Value::Array(elements) => list(&mut elements.iter(), W::ONE),
        Value::Record(fields) => list(&mut fields.iter(), start),
        Value::Range(range) => of_range(range, seed),
        Value::Multirange(ranges) => {
            let mut all = W::ONE;
            for range in &ranges.ranges {
                let Some(part) = of_range::<W>(range, seed)? else { return Ok(None) };
                all = all.and_element(part);
            }
            Ok(Some(all))
        }
        Value::Jsonb(document) => {
            let mut all = W::of_number(0, 0);
            match document.root() {
                JsonRef::Array(parts) if parts.is_empty() => return Ok(Some(W::of_number(0, seed))),
                JsonRef::Object(pairs) if pairs.is_empty() => return Ok(Some(W::of_number(0, seed))),
                root @ (JsonRef::Array(_) | JsonRef::Object(_)) => of_document(root, seed, &mut all)?,
                // A document of one value is an array of it.
                root => {
                    all = all.xor(W::of_kind(0x4000_0000));
                    of_document(root, seed, &mut all)?;
                }
            }
            Ok(Some(all))
        }
        value => Ok(hashed(value, seed).map(|hashed| W::of(&hashed))),
    }
}

fn of_range<W: Width>(range: &Range, seed: u64) -> Result<Option<W>> {
    let none = W::of_number(0, 0);
    let bound = |value: Option<&Value>| match value {
        None => Ok(Some(none)),
        Some(value) => hash::<W>(value, seed),
    };
    let bounds = range.bounds.as_ref();
    let lower = bound(bounds.and_then(|(lower, _)| lower.value.as_ref()))?;
    let upper = bound(bounds.and_then(|(_, upper)| upper.value.as_ref()))?;
    let flags = W::of(&Hashed::State(State::of_word(range.flags().into(), seed), 0));
    let (Some(lower), Some(upper)) = (lower, upper) else { return Ok(None) };
    Ok(Some(flags.xor(lower).turned().xor(upper)))
}

/// Takes a part of a document into the hash of the whole, in the order in which it stands there.
fn of_document<W: Width>(part: JsonRef<'_>, seed: u64, all: &mut W) -> Result<()> {
    stack::check()?;
    let scalar = match part {
        JsonRef::Array(parts) => {
            *all = all.xor(W::of_kind(0x4000_0000));
            return parts.iter().try_for_each(|part| of_document(part, seed, all));
        }
        JsonRef::Object(pairs) => {
            *all = all.xor(W::of_kind(0x2000_0000));
            return pairs.iter().try_for_each(|(key, part)| {
                of_document(JsonRef::String(key), seed, all)?;
                of_document(part, seed, all)
            });
        }
        JsonRef::Null => W::of_number(1, seed),
        JsonRef::Bool(value) if seed != 0 => W::of(&Hashed::State(State::of_word(value.into(), seed), 0)),
        JsonRef::Bool(value) => W::of_number(if value { 2 } else { 4 }, 0),
        JsonRef::Number(value) => W::of(&of_numeric(&Value::Numeric(value), seed)),
        JsonRef::Long(value) => W::of(&of_numeric(&value.number().value()?, seed)),
        JsonRef::String(text) => W::of(&Hashed::State(State::of_bytes(text.as_bytes(), seed), 0)),
    };
    *all = all.turned().xor(scalar);
    Ok(())
}

fn unhashable(name: &str) -> ExecError {
    ExecError::raised("42883", format!("{name}: could not identify a hash function for the type of a part"))
}

fn short(name: &str, args: &[Value]) -> Result<Value> {
    let [value] = args else { return Err(unexpected(name, args)) };
    let found = hash::<u32>(value, 0)?.ok_or_else(|| unhashable(name))?;
    Ok(Value::Int4(found.cast_signed()))
}

fn extended(name: &str, args: &[Value]) -> Result<Value> {
    let [value, Value::Int8(seed)] = args else { return Err(unexpected(name, args)) };
    let found = hash::<u64>(value, seed.cast_unsigned())?.ok_or_else(|| unhashable(name))?;
    Ok(Value::Int8(found.cast_signed()))
}

macro_rules! hash_functions {
    ($($name:literal $extended:literal $ty:expr;)*) => {
        &[$(
            hash_functions!(@one $name [$ty] SqlType::Int4, |_, args| short($name, args)),
            hash_functions!(@one $extended [$ty, ArgType::Exact(SqlType::Int8)] SqlType::Int8,
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
    "hashtext" "hashtextextended" ArgType::Exact(SqlType::Text);
    "hashbytea" "hashbyteaextended" ArgType::Exact(SqlType::Bytea);
    "hashbool" "hashboolextended" ArgType::Exact(SqlType::Bool);
    "hashint2" "hashint2extended" ArgType::Exact(SqlType::Int2);
    "hashint4" "hashint4extended" ArgType::Exact(SqlType::Int4);
    "hashint8" "hashint8extended" ArgType::Exact(SqlType::Int8);
    "hashdate" "hashdateextended" ArgType::Exact(SqlType::Date);
    "timestamp_hash" "timestamp_hash_extended" ArgType::Exact(SqlType::Timestamp(None));
    "timestamptz_hash" "timestamptz_hash_extended" ArgType::Exact(SqlType::Timestamptz(None));
    "time_hash" "time_hash_extended" ArgType::Exact(SqlType::Time(None));
    "uuid_hash" "uuid_hash_extended" ArgType::Exact(SqlType::Uuid);
    "hashname" "hashnameextended" ArgType::Exact(SqlType::Name);
    "hashbpchar" "hashbpcharextended" ArgType::Exact(SqlType::Char(None));
    "hashoid" "hashoidextended" ArgType::Exact(SqlType::Oid);
    "hashxid" "hashxidextended" ArgType::Exact(SqlType::System(SystemType::Xid));
    "hashxid8" "hashxid8extended" ArgType::Exact(SqlType::System(SystemType::Xid8));
    "hashtid" "hashtidextended" ArgType::Exact(SqlType::System(SystemType::Tid));
    "hashfloat4" "hashfloat4extended" ArgType::Exact(SqlType::Float4);
    "hashfloat8" "hashfloat8extended" ArgType::Exact(SqlType::Float8);
    "hash_numeric" "hash_numeric_extended" ArgType::Exact(SqlType::Numeric(None));
    "hashinet" "hashinetextended" ArgType::Exact(SqlType::System(SystemType::Inet));
    "hashmacaddr" "hashmacaddrextended" ArgType::Exact(SqlType::System(SystemType::Macaddr));
    "hashmacaddr8" "hashmacaddr8extended" ArgType::Exact(SqlType::System(SystemType::Macaddr8));
    "pg_lsn_hash" "pg_lsn_hash_extended" ArgType::Exact(SqlType::System(SystemType::Lsn));
    "interval_hash" "interval_hash_extended" ArgType::Exact(SqlType::Interval(None));
    "timetz_hash" "timetz_hash_extended" ArgType::Exact(SqlType::Timetz(None));
    "jsonb_hash" "jsonb_hash_extended" ArgType::Exact(SqlType::Jsonb);
    "hash_array" "hash_array_extended" ArgType::AnyArray;
    "hash_record" "hash_record_extended" ArgType::Exact(SqlType::Record);
    "hash_range" "hash_range_extended" ArgType::AnyRange;
    "hash_multirange" "hash_multirange_extended" ArgType::AnyMultirange;
];

/// Of a "char", whose byte is a number with a sign.
fn of_char(name: &str, args: &[Value], seed: u64) -> Result<Hashed> {
    let Some(Value::Text(text)) = args.first() else { return Err(unexpected(name, args)) };
    let number = i32::from(byte_of_char(text.as_bytes()).cast_signed());
    Ok(Hashed::State(State::of_word(number.cast_unsigned(), seed), 0))
}

static CHARS: &[BuiltinFunction] = &[
    hash_functions!(@one "hashchar" [ArgType::Exact(SqlType::System(SystemType::Char))] SqlType::Int4, |_, args| {
        Ok(Value::Int4(of_char("hashchar", args, 0)?.short().cast_signed()))
    }),
    hash_functions!(@one "hashcharextended"
        [ArgType::Exact(SqlType::System(SystemType::Char)), ArgType::Exact(SqlType::Int8)] SqlType::Int8, |_, args| {
        let Some(Value::Int8(seed)) = args.get(1) else { return Err(unexpected("hashcharextended", args)) };
        Ok(Value::Int8(of_char("hashcharextended", args, seed.cast_unsigned())?.long().cast_signed()))
    }),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 2] = [HASHES, CHARS];
