//! Casts between the geometric types: those of PostgreSQL's `pg_cast`.

use super::{Circle, Lseg, Path, Point, Polygon, Rect, Shape};
use crate::cast::CastKind;
use crate::error::TypeError;
use crate::opaque::{Opaque, OpaqueKind};
use crate::system_type::SystemType;
use crate::value::Value;

/// How many corners a circle has as a polygon.
const CORNERS: i32 = 12;

/// Where a cast between two geometric types is applied; `None` where there is none.
pub(crate) fn cast_kind(from: SystemType, to: SystemType) -> Option<CastKind> {
    use SystemType as S;
    match (from, to) {
        (S::Point, S::Box) | (S::Path, S::Polygon) | (S::Box, S::Polygon) | (S::Polygon, S::Path) => {
            Some(CastKind::Assignment)
        }
        (S::Lseg, S::Point)
        | (S::Box, S::Point | S::Lseg | S::Circle)
        | (S::Polygon, S::Point | S::Box | S::Circle)
        | (S::Circle, S::Point | S::Box | S::Polygon) => Some(CastKind::Explicit),
        _ => None,
    }
}

/// A value as one of another geometric type; `None` where there is no such cast.
pub(crate) fn cast(value: &Opaque, to: OpaqueKind) -> Option<Result<Value, TypeError>> {
    use OpaqueKind as K;
    fn made<S: Shape>(shape: Result<S, TypeError>) -> Result<Value, TypeError> {
        shape.map(Shape::into_value)
    }
    Some(match (value.kind(), to) {
        (K::Point, K::Box) => made(Ok(Rect::of_point(&Point::of(value)))),
        (K::Lseg, K::Point) => made(Lseg::of(value).center()),
        (K::Path, K::Polygon) => made(Path::of(value).to_polygon()),
        (K::Box, K::Point) => made(Rect::of(value).center()),
        (K::Box, K::Lseg) => made(Ok(Rect::of(value).diagonal())),
        (K::Box, K::Polygon) => made(Ok(Polygon::of_rect(&Rect::of(value)))),
        (K::Box, K::Circle) => made(Circle::of_rect(&Rect::of(value))),
        (K::Polygon, K::Point) => made(Polygon::of(value).center()),
        (K::Polygon, K::Path) => made(Ok(Polygon::of(value).to_path())),
        (K::Polygon, K::Box) => made(Ok(Polygon::of(value).bounds)),
        (K::Polygon, K::Circle) => made(Polygon::of(value).to_circle()),
        (K::Circle, K::Point) => made(Ok(Circle::of(value).center)),
        (K::Circle, K::Box) => made(Circle::of(value).to_rect()),
        (K::Circle, K::Polygon) => made(Circle::of(value).to_polygon(CORNERS)),
        _ => return None,
    })
}
