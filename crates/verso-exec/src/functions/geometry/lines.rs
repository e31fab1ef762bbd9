//! `line`.

use verso_types::SqlType;
use verso_types::geometry::lseg::found;
use verso_types::geometry::number::Result;
use verso_types::geometry::{Line, Point};

use super::super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use super::functions;

fn distance(line: &Line, point: &Point) -> Result<f64> {
    Ok(line.nearest(point)?.0)
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = functions! {
    "line" () [Point, Point] => Line = Line::of_points;
    "line_eq" ("=") [Line, Line] => Bool = Line::is_same;
    "line_interpt" ("#") [Line, Line] => Point = Line::meets;
    "line_intersect" ("?#") [Line, Line] => Bool = Line::intersects;
    "line_parallel" ("?||") [Line, Line] => Bool = Line::is_parallel;
    "isparallel" () [Line, Line] => Bool = Line::is_parallel;
    "line_perp" ("?-|") [Line, Line] => Bool = Line::is_perpendicular;
    "isperp" () [Line, Line] => Bool = Line::is_perpendicular;
    "line_vertical" ("?|") [Line] => Bool = Line::is_vertical;
    "isvertical" () [Line] => Bool = Line::is_vertical;
    "line_horizontal" ("?-") [Line] => Bool = Line::is_horizontal;
    "ishorizontal" () [Line] => Bool = Line::is_horizontal;
    "line_distance" ("<->") [Line, Line] => Float8 = Line::distance;
    "dist_lp" ("<->") [Line, Point] => Float8 = distance;
    "dist_pl" ("<->") [Point, Line] => Float8 = |a: &Point, b: &Line| distance(b, a);
    "close_pl" ("##") [Point, Line] => Point = |a: &Point, b: &Line| b.nearest(a).map(found);
    "on_pl" ("<@") [Point, Line] => Bool = |a: &Point, b: &Line| b.contains(a);
};
