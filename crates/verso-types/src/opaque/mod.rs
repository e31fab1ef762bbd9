//! Values that are bytes in a form of their own: bit strings, addresses, money, times with a zone.
//!
//! | kind | bytes |
//! |---|---|
//! | bit strings | [`bits`]: seven bits a byte |
//! | `timetz` | time in UTC i64, seconds west of UTC i32; big-endian, sign bit inverted |
//! | `inet`, `cidr` | 4 or 6; the network's bits, others zero; how many there are; the whole address |
//! | `macaddr`, `macaddr8` | the 6 or 8 bytes |
//! | `jsonpath` | its text, as it is shown |
//! | `money` | hundredths i64, big-endian, sign bit inverted |
//! | `pg_lsn` | u64, big-endian |
//! | `hstore` | [`hstore`]: the texts, and where they end |
//! | `tsvector`, `tsquery` | [`vector`](crate::text_search::vector), [`query`](crate::text_search::query) |
//! | `point` and the other types of the plane | [`geometry`] |
//!
//! 1. Two values of a kind are equal exactly if their bytes are, and in order as their bytes are. So
//!    whatever compares, sorts, hashes, groups and indexes `bytea` does the same for these types, and keys give the values back.
//!    `jsonpath` and geometry have no order in SQL, and the binder refuses what would ask for one.
//! 2. No value's bytes are a prefix of those of another one of its kind, `jsonpath` and geometry aside.
//! 3. Reading trusts nothing: bytes that break their form read as the kind's zero.

pub mod bits;
pub mod hardware;
pub mod hstore;
pub mod lsn;
pub mod money;
pub mod network;
pub mod tid;
pub mod timetz;

use std::sync::Arc;

use crate::TimeStyle;
use crate::error::TypeError;
use crate::geometry;
use crate::sqltype::SqlType;
use crate::system_type::SystemType;
use crate::text_search::{TsQuery, TsVector};
use bits::Bits;
use hardware::Hardware;
use hstore::Hstore;
use lsn::PgLsn;
use money::Money;
use network::Network;
use tid::Tid;
use timetz::TimeTz;

/// What bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum OpaqueKind {
    /// `bit`, `bit varying`
    Bits = 1,
    /// `time with time zone`
    TimeTz = 2,
    /// `inet`
    Inet = 3,
    /// `cidr`
    Cidr = 4,
    /// `macaddr`
    Mac = 5,
    /// `macaddr8`
    Mac8 = 6,
    /// `money`
    Money = 7,
    /// `jsonpath`, which has no order in SQL
    JsonPath = 8,
    /// `pg_lsn`
    Lsn = 9,
    /// `tid`
    Tid = 10,
    /// `tsvector`
    TsVector = 11,
    /// `tsquery`
    TsQuery = 12,
    /// `point`
    Point = 13,
    /// `lseg`
    Lseg = 14,
    /// `line`
    Line = 15,
    /// `box`
    Box = 16,
    /// `path`
    Path = 17,
    /// `polygon`
    Polygon = 18,
    /// `circle`
    Circle = 19,
    /// `hstore`
    Hstore = 20,
}

impl OpaqueKind {
    const ALL: [OpaqueKind; 20] = [
        OpaqueKind::Bits,
        OpaqueKind::TimeTz,
        OpaqueKind::Inet,
        OpaqueKind::Cidr,
        OpaqueKind::Mac,
        OpaqueKind::Mac8,
        OpaqueKind::Money,
        OpaqueKind::JsonPath,
        OpaqueKind::Lsn,
        OpaqueKind::Tid,
        OpaqueKind::TsVector,
        OpaqueKind::TsQuery,
        OpaqueKind::Point,
        OpaqueKind::Lseg,
        OpaqueKind::Line,
        OpaqueKind::Box,
        OpaqueKind::Path,
        OpaqueKind::Polygon,
        OpaqueKind::Circle,
        OpaqueKind::Hstore,
    ];

    /// The kind with this number, which stands in spools and in columns of arrays and rows.
    pub fn from_code(code: u8) -> Option<OpaqueKind> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// The kind of the values of a type.
    pub fn of(ty: &SqlType) -> Option<OpaqueKind> {
        Some(match ty {
            SqlType::Bit(_) | SqlType::Varbit(_) => OpaqueKind::Bits,
            SqlType::Timetz(_) => OpaqueKind::TimeTz,
            SqlType::System(system) => return system.opaque(),
            _ => return None,
        })
    }

    /// The plainest type that has such values.
    pub fn plain_type(self) -> SqlType {
        match self {
            OpaqueKind::Bits => SqlType::Varbit(None),
            OpaqueKind::TimeTz => SqlType::Timetz(None),
            OpaqueKind::Inet => SqlType::System(SystemType::Inet),
            OpaqueKind::Cidr => SqlType::System(SystemType::Cidr),
            OpaqueKind::Mac => SqlType::System(SystemType::Macaddr),
            OpaqueKind::Mac8 => SqlType::System(SystemType::Macaddr8),
            OpaqueKind::Money => SqlType::System(SystemType::Money),
            OpaqueKind::JsonPath => SqlType::System(SystemType::JsonPath),
            OpaqueKind::Lsn => SqlType::System(SystemType::Lsn),
            OpaqueKind::Tid => SqlType::System(SystemType::Tid),
            OpaqueKind::TsVector => SqlType::System(SystemType::TsVector),
            OpaqueKind::TsQuery => SqlType::System(SystemType::TsQuery),
            OpaqueKind::Hstore => SqlType::System(SystemType::Hstore),
            OpaqueKind::Point => SqlType::System(SystemType::Point),
            OpaqueKind::Lseg => SqlType::System(SystemType::Lseg),
            OpaqueKind::Line => SqlType::System(SystemType::Line),
            OpaqueKind::Box => SqlType::System(SystemType::Box),
            OpaqueKind::Path => SqlType::System(SystemType::Path),
            OpaqueKind::Polygon => SqlType::System(SystemType::Polygon),
            OpaqueKind::Circle => SqlType::System(SystemType::Circle),
        }
    }

    /// Is it one of the [`geometry`] types?
    pub fn is_geometric(self) -> bool {
        (OpaqueKind::Point..=OpaqueKind::Circle).contains(&self)
    }
}

/// A value of such a type: the number of its kind and its bytes, two words in all, so that a [`Value`](crate::Value) stays small.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opaque(Arc<[u8]>);

impl Opaque {
    /// The value of a kind with these bytes.
    pub fn new(kind: OpaqueKind, bytes: impl AsRef<[u8]>) -> Opaque {
        Opaque(std::iter::once(kind as u8).chain(bytes.as_ref().iter().copied()).collect())
    }

    /// What it is.
    pub fn kind(&self) -> OpaqueKind {
        let code = self.0.first().copied().unwrap_or_default();
        OpaqueKind::from_code(code).expect("made of a kind")
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.get(1..).unwrap_or_default()
    }
}

/// Reads a value of a type that has a kind.
/// # Errors
/// 22P02, 22003, 22007, 22008, 22026, 22001 as PostgreSQL.
pub fn parse(ty: &SqlType, kind: OpaqueKind, text: &str, style: &TimeStyle) -> Result<Opaque, TypeError> {
    Ok(match kind {
        OpaqueKind::Bits => Bits::parse(text)?.fit(ty, false)?.value(),
        OpaqueKind::TimeTz => TimeTz::parse(text, style)?.limit(ty).value(),
        OpaqueKind::Inet => Network::parse(text, false)?.value(),
        OpaqueKind::Cidr => Network::parse(text, true)?.value(),
        OpaqueKind::Mac => Hardware::parse(text)?.value(),
        OpaqueKind::Mac8 => Hardware::parse8(text)?.value(),
        OpaqueKind::Money => Money::parse(text)?.value(),
        OpaqueKind::JsonPath => json_path(text)?,
        OpaqueKind::Lsn => PgLsn::parse(text)?.value(),
        OpaqueKind::Tid => Tid::parse(text)?.value(),
        OpaqueKind::TsVector => TsVector::parse(text)?.value(),
        OpaqueKind::TsQuery => TsQuery::parse(text)?.value(),
        OpaqueKind::Hstore => Hstore::parse(text)?.value(),
        geometric => geometry::parse(geometric, text)?,
    })
}

/// Appends the text of a value.
pub fn format(value: &Opaque, style: &TimeStyle, out: &mut String) {
    match value.kind() {
        OpaqueKind::Bits => Bits::of(value).format(out),
        OpaqueKind::TimeTz => TimeTz::of(value).format(out),
        OpaqueKind::Inet | OpaqueKind::Cidr => Network::of(value).format(out),
        OpaqueKind::Mac | OpaqueKind::Mac8 => Hardware::of(value).format(out),
        OpaqueKind::Money => Money::of(value).format(out),
        OpaqueKind::JsonPath => out.push_str(&String::from_utf8_lossy(value.bytes())),
        OpaqueKind::Lsn => PgLsn::of(value).format(out),
        OpaqueKind::Tid => Tid::of(value).format(out),
        OpaqueKind::TsVector => TsVector::of(value).format(out),
        OpaqueKind::TsQuery => TsQuery::of(value).format(out),
        OpaqueKind::Hstore => Hstore::of(value).format(out),
        _ => geometry::format(value, style, out),
    }
}

/// Appends the binary form of the protocol.
pub fn send(value: &Opaque, out: &mut Vec<u8>) {
    match value.kind() {
        OpaqueKind::Bits => Bits::of(value).send(out),
        OpaqueKind::TimeTz => TimeTz::of(value).send(out),
        OpaqueKind::Inet | OpaqueKind::Cidr => Network::of(value).send(out),
        OpaqueKind::Mac | OpaqueKind::Mac8 | OpaqueKind::Lsn | OpaqueKind::Tid => {
            out.extend_from_slice(value.bytes());
        }
        OpaqueKind::Money => out.extend_from_slice(&Money::of(value).0.to_be_bytes()),
        OpaqueKind::JsonPath => {
            out.push(1);
            out.extend_from_slice(value.bytes());
        }
        OpaqueKind::TsVector => TsVector::of(value).send(out),
        OpaqueKind::TsQuery => TsQuery::of(value).send(out),
        OpaqueKind::Hstore => Hstore::of(value).send(out),
        _ => geometry::send(value, out),
    }
}

/// Reads the binary form of the protocol, all of the bytes.
/// # Errors
/// 22P03 for bytes that are none, 08P01 for too few, 22026, 22001, 22P02.
pub fn receive(ty: &SqlType, kind: OpaqueKind, bytes: &[u8]) -> Result<Opaque, TypeError> {
    Ok(match kind {
        OpaqueKind::Bits => Bits::receive(bytes)?.fit(ty, false)?.value(),
        OpaqueKind::TimeTz => TimeTz::receive(bytes)?.limit(ty).value(),
        OpaqueKind::Inet => Network::receive(bytes, false)?.value(),
        OpaqueKind::Cidr => Network::receive(bytes, true)?.value(),
        OpaqueKind::Mac => Hardware::from(exactly::<6>(bytes)?).value(),
        OpaqueKind::Mac8 => match exactly::<6>(bytes) {
            Ok(short) => Hardware::from(short).widen().value(),
            Err(_) => Hardware::from(exactly::<8>(bytes)?).value(),
        },
        OpaqueKind::Money => Money(i64::from_be_bytes(exactly(bytes)?)).value(),
        OpaqueKind::Lsn => PgLsn(u64::from_be_bytes(exactly(bytes)?)).value(),
        OpaqueKind::Tid => Tid::from(exactly::<6>(bytes)?).value(),
        OpaqueKind::TsVector => TsVector::receive(bytes)?.value(),
        OpaqueKind::TsQuery => TsQuery::receive(bytes)?.value(),
        OpaqueKind::Hstore => Hstore::receive(bytes)?.value(),
        OpaqueKind::JsonPath => match bytes.split_first() {
            Some((1, text)) => json_path(crate::wire::utf8(text)?)?,
            Some((version, _)) => {
                let text = format!("unsupported jsonpath version number: {version}");
                return Err(TypeError::new(crate::error::sqlstate::INTERNAL_ERROR, text));
            }
            None => return Err(crate::wire::insufficient()),
        },
        geometric => geometry::receive(geometric, bytes)?,
    })
}

fn json_path(text: &str) -> Result<Opaque, TypeError> {
    Ok(Opaque::new(OpaqueKind::JsonPath, crate::json::path::normalize(text)?.as_bytes()))
}

/// So many bytes and no other.
pub(crate) fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], TypeError> {
    let Some(head) = bytes.first_chunk::<N>() else { return Err(crate::wire::insufficient()) };
    if bytes.len() == N { Ok(*head) } else { Err(crate::wire::malformed(crate::wire::SURPLUS)) }
}

/// A signed number as bytes in its order.
pub(crate) fn put_ordered(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(number.cast_unsigned() ^ 1 << 63).to_be_bytes());
}

/// The number that [`put_ordered`] wrote; 0 where there are too few bytes.
pub(crate) fn ordered(bytes: &[u8]) -> i64 {
    let bits = bytes.first_chunk().map_or(1 << 63, |bytes| u64::from_be_bytes(*bytes));
    (bits ^ 1 << 63).cast_signed()
}

#[cfg(test)]
mod tests;
