//! The geometric types of the plane: `point`, `lseg`, `line`, `box`, `path`, `polygon`, `circle`.
//!
//! | type | module | bytes: coordinates are doubles, big-endian |
//! |---|---|---|
//! | `point` | [`point`] | x, y |
//! | `lseg` | [`lseg`] | two points |
//! | `line` | [`line`](mod@line) | A, B, C of `Ax + By + C = 0` |
//! | `box` | [`rect`] | the upper right corner, the lower left one |
//! | `path` | [`path`] | 1 where it is closed, else 0; its points, one at least |
//! | `polygon` | [`polygon`] | its points, one at least |
//! | `circle` | [`circle`] | its center, its radius |
//!
//! G1. Comparisons allow for a difference of a millionth ([`number`]), as in PostgreSQL: "equal" goes from one value to a
//!     second and from that to a third, and not from the first to the third. So no type here has an order or a hash, and
//!     nothing sorts, groups, hashes or indexes such values.
//! G2. Results that no double holds are errors (22003, 22012). NaN and infinities pass as in floating point.
//! G3. Bytes that break their form read as the type's zero.
//!
//! Source: PostgreSQL's `geo_ops.c`, whose steps are followed in their order, as each of them may round or fail.

mod cast;
pub mod circle;
mod inside;
pub mod line;
pub mod lseg;
pub mod number;
pub mod path;
pub mod point;
pub mod polygon;
pub mod rect;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use cast::{cast, cast_kind};
pub use circle::Circle;
pub use line::Line;
pub use lseg::Lseg;
pub use path::Path;
pub use point::Point;
pub use polygon::Polygon;
pub use rect::Rect;
pub(crate) use text::{format, parse};

use crate::error::TypeError;
use crate::opaque::{Opaque, OpaqueKind};
use crate::value::Value;

/// A geometric type.
pub trait Shape: Sized {
    /// What its values are stored as.
    const KIND: OpaqueKind;

    /// Appends its bytes.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads its bytes (G3).
    fn take(bytes: &[u8]) -> Self;

    /// The stored value.
    fn value(&self) -> Opaque {
        let mut bytes = Vec::with_capacity(32);
        self.put(&mut bytes);
        Opaque::new(Self::KIND, bytes)
    }

    /// As [`Shape::value`], a value.
    fn into_value(self) -> Value {
        Value::Opaque(self.value())
    }

    /// What a stored value is.
    fn of(value: &Opaque) -> Self {
        Self::take(value.bytes())
    }
}

/// The doubles that bytes are, the first `N` of them; 0 for those that are not there.
fn numbers<const N: usize>(bytes: &[u8]) -> [f64; N] {
    let mut read = [0.0; N];
    for (number, bytes) in read.iter_mut().zip(bytes.as_chunks().0) {
        *number = f64::from_be_bytes(*bytes);
    }
    read
}

fn put_number(number: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_be_bytes());
}

fn put_points(points: &[Point], out: &mut Vec<u8>) {
    out.reserve(points.len() * 16);
    points.iter().for_each(|point| point.put(out));
}

/// The points that bytes are, one at least.
fn take_points(bytes: &[u8]) -> Vec<Point> {
    let points: Vec<Point> = bytes.as_chunks::<16>().0.iter().map(|bytes| Point::take(bytes)).collect();
    if points.is_empty() { vec![Point::default()] } else { points }
}

/// The bytes of each part that a subscript picks; `None` for types without such parts.
fn part_size(kind: OpaqueKind) -> Option<usize> {
    match kind {
        OpaqueKind::Point | OpaqueKind::Line => Some(8),
        OpaqueKind::Lseg | OpaqueKind::Box => Some(16),
        _ => None,
    }
}

/// Where a part stands, counted from 0.
fn part_place(value: &Opaque, at: i32) -> Option<std::ops::Range<usize>> {
    let size = part_size(value.kind())?;
    let start = usize::try_from(at).ok()?.checked_mul(size)?;
    let place = start..start.checked_add(size)?;
    (place.end <= value.bytes().len()).then_some(place)
}

/// `value[at]`: a coordinate of a point, a number of a line, a point of a segment or box. `None` where there is none.
pub fn part(value: &Opaque, at: i32) -> Option<Value> {
    let bytes = &value.bytes()[part_place(value, at)?];
    Some(match <[u8; 8]>::try_from(bytes) {
        Ok(bytes) => Value::Float8(f64::from_be_bytes(bytes)),
        Err(_) => Point::take(bytes).into_value(),
    })
}

/// The value with another part at that place. Corners of a box stay where they are put, as in PostgreSQL.
/// # Errors
/// 2202E where there is no such part.
pub fn with_part(value: &Opaque, at: i32, part: &Value) -> Result<Opaque, TypeError> {
    let out_of_range =
        || TypeError::new(crate::error::sqlstate::ARRAY_SUBSCRIPT_ERROR, "array subscript out of range");
    let place = part_place(value, at).ok_or_else(out_of_range)?;
    let mut bytes = value.bytes().to_vec();
    match part {
        Value::Float8(number) if place.len() == 8 => bytes[place].copy_from_slice(&number.to_be_bytes()),
        Value::Opaque(point) if place.len() == point.bytes().len() => {
            bytes[place].copy_from_slice(point.bytes());
        }
        _ => return Err(TypeError::mismatch(part, &value.kind().plain_type())),
    }
    Ok(Opaque::new(value.kind(), bytes))
}

/// Appends the binary form of the protocol.
pub(crate) fn send(value: &Opaque, out: &mut Vec<u8>) {
    let bytes = value.bytes();
    let points = |bytes: &[u8], out: &mut Vec<u8>| {
        let (points, _) = bytes.as_chunks::<16>();
        out.extend_from_slice(&(points.len() as i32).to_be_bytes());
        out.extend_from_slice(points.as_flattened());
    };
    match (value.kind(), bytes.split_first()) {
        (OpaqueKind::Path, Some((closed, bytes))) => {
            out.push(*closed);
            points(bytes, out);
        }
        (OpaqueKind::Polygon, _) => points(bytes, out),
        _ => out.extend_from_slice(bytes),
    }
}

/// Reads the binary form of the protocol, all of the bytes.
/// # Errors
/// 22P03 for bytes that are no such value, 08P01 for too few.
pub(crate) fn receive(kind: OpaqueKind, bytes: &[u8]) -> Result<Opaque, TypeError> {
    use crate::opaque::exactly;
    use crate::wire::malformed;
    Ok(match kind {
        OpaqueKind::Lseg => Lseg::take(&exactly::<32>(bytes)?).value(),
        OpaqueKind::Box => {
            let Rect { high, low } = Rect::take(&exactly::<32>(bytes)?);
            Rect::ordered(high, low).value()
        }
        OpaqueKind::Line => {
            let line = Line::take(&exactly::<24>(bytes)?);
            if line.is_nowhere() {
                return Err(malformed(line::NOWHERE));
            }
            line.value()
        }
        OpaqueKind::Circle => {
            let circle = Circle::take(&exactly::<24>(bytes)?);
            if circle.radius < 0.0 {
                return Err(malformed("invalid radius in external \"circle\" value"));
            }
            circle.value()
        }
        OpaqueKind::Path => {
            let Some((closed, bytes)) = bytes.split_first() else { return Err(crate::wire::insufficient()) };
            Path { closed: *closed != 0, points: received_points(bytes, "path")? }.value()
        }
        OpaqueKind::Polygon => Polygon::new(received_points(bytes, "polygon")?).value(),
        _ => Point::take(&exactly::<16>(bytes)?).value(),
    })
}

/// How many points a value has at most, as in PostgreSQL.
pub const POINTS_MAX: i32 = 134_217_726;

/// Points behind their number.
fn received_points(bytes: &[u8], name: &str) -> Result<Vec<Point>, TypeError> {
    let Some((count, bytes)) = bytes.split_first_chunk() else { return Err(crate::wire::insufficient()) };
    let count = i32::from_be_bytes(*count);
    if !(1..=POINTS_MAX).contains(&count) {
        let text = format!("invalid number of points in external \"{name}\" value");
        return Err(crate::wire::malformed(&text));
    }
    let wanted = count as usize * 16;
    match bytes.len().cmp(&wanted) {
        std::cmp::Ordering::Less => Err(crate::wire::insufficient()),
        std::cmp::Ordering::Greater => Err(crate::wire::malformed(crate::wire::SURPLUS)),
        std::cmp::Ordering::Equal => Ok(take_points(bytes)),
    }
}

/// 54000.
#[cold]
pub fn too_many_points() -> TypeError {
    TypeError::new(crate::error::sqlstate::PROGRAM_LIMIT_EXCEEDED, "too many points requested")
}
