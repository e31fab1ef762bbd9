//! `polygon`.

use verso_types::geometry::{Circle, POINTS_MAX, Path, Point, Polygon, Shape};
use verso_types::{SqlType, Value};

use super::super::arrays::hold_elements;
use super::super::define::{entry, unexpected};
use super::super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use super::{Argument, functions};
use crate::context::EvalContext;
use crate::error::Result;

/// `polygon(count, circle)`. There has to be room for as many points as are asked for before the first is computed.
fn of_circle(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Int4(count), circle] = args else { return Err(unexpected("polygon", args)) };
    let circle = Circle::read(circle).ok_or_else(|| unexpected("polygon", args))?;
    let _held = match usize::try_from(*count) {
        Ok(points) if *count <= POINTS_MAX => hold_elements(cx, points)?,
        _ => None,
    };
    Ok(circle.to_polygon(*count)?.into_value())
}

pub(super) static OF_CIRCLES: &[BuiltinFunction] =
    &[entry!("polygon" () [Int4, Circle] => Polygon, of_circle, None)];

pub(super) static FUNCTIONS: &[BuiltinFunction] = functions! {
    "polygon" () [Box] => Polygon = Polygon::of_rect;
    "polygon" () [Path] => Polygon = Path::to_polygon;
    "polygon" () [Circle] => Polygon = |circle: &Circle| circle.to_polygon(12);
    "box" () [Polygon] => Box = |a: &Polygon| a.bounds;
    "circle" () [Polygon] => Circle = Polygon::to_circle;
    "poly_center" ("@@") [Polygon] => Point = Polygon::center;
    "point" () [Polygon] => Point = Polygon::center;
    "poly_npoints" ("#") [Polygon] => Int4 = Polygon::count;
    "npoints" () [Polygon] => Int4 = Polygon::count;
    "poly_same" ("~=") [Polygon, Polygon] => Bool = Polygon::is_same;
    "poly_overlap" ("&&") [Polygon, Polygon] => Bool = Polygon::overlaps;
    "poly_contain" ("@>") [Polygon, Polygon] => Bool = Polygon::contains;
    "poly_contained" ("<@") [Polygon, Polygon] => Bool = |a: &Polygon, b: &Polygon| b.contains(a);
    "poly_left" ("<<") [Polygon, Polygon] => Bool = |a: &Polygon, b: &Polygon| a.bounds.high.x < b.bounds.low.x;
    "poly_overleft" ("&<") [Polygon, Polygon] => Bool = |a: &Polygon, b: &Polygon| a.bounds.high.x <= b.bounds.high.x;
    "poly_right" (">>") [Polygon, Polygon] => Bool = |a: &Polygon, b: &Polygon| a.bounds.low.x > b.bounds.high.x;
    "poly_overright" ("&>") [Polygon, Polygon] => Bool = |a: &Polygon, b: &Polygon| a.bounds.low.x >= b.bounds.low.x;
    "poly_below" ("<<|") [Polygon, Polygon] => Bool = |a: &Polygon, b: &Polygon| a.bounds.high.y < b.bounds.low.y;
    "poly_overbelow" ("&<|") [Polygon, Polygon] => Bool = |a: &Polygon, b: &Polygon| a.bounds.high.y <= b.bounds.high.y;
    "poly_above" ("|>>") [Polygon, Polygon] => Bool = |a: &Polygon, b: &Polygon| a.bounds.low.y > b.bounds.high.y;
    "poly_overabove" ("|&>") [Polygon, Polygon] => Bool = |a: &Polygon, b: &Polygon| a.bounds.low.y >= b.bounds.low.y;
    "poly_contain_pt" ("@>") [Polygon, Point] => Bool = Polygon::contains_point;
    "pt_contained_poly" ("<@") [Point, Polygon] => Bool = |a: &Point, b: &Polygon| b.contains_point(a);
    "poly_distance" ("<->") [Polygon, Polygon] => Float8 = Polygon::distance;
    "dist_polyp" ("<->") [Polygon, Point] => Float8 = Polygon::distance_to_point;
    "dist_ppoly" ("<->") [Point, Polygon] => Float8 = |a: &Point, b: &Polygon| b.distance_to_point(a);
    "dist_cpoly" ("<->") [Circle, Polygon] => Float8 = Circle::distance_to_polygon;
    "dist_polyc" ("<->") [Polygon, Circle] => Float8 = |a: &Polygon, b: &Circle| b.distance_to_polygon(a);
};
