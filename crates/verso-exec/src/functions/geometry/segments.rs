//! `lseg`.

use verso_types::SqlType;
use verso_types::geometry::lseg::found;
use verso_types::geometry::number::{Result, is_above, is_at_least, is_at_most, is_below};
use verso_types::geometry::{Line, Lseg, Point};

use super::super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use super::{by, functions};

fn distance_to_point(a: &Lseg, b: &Point) -> Result<f64> {
    Ok(a.nearest_to_point(b)?.0)
}

fn distance_to_line(a: &Lseg, b: &Line) -> Result<f64> {
    Ok(a.nearest_to_line(b)?.0)
}

fn distance(a: &Lseg, b: &Lseg) -> Result<f64> {
    Ok(a.nearest(b)?.0)
}

/// By their lengths.
fn compared(a: &Lseg, holds: fn(f64, f64) -> bool, b: &Lseg) -> Result<bool> {
    by(a, Lseg::length, holds, b, Lseg::length)
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = functions! {
    "lseg" () [Point, Point] => Lseg = |a: &Point, b: &Point| Lseg::new(*a, *b);
    "lseg_center" ("@@") [Lseg] => Point = Lseg::center;
    "point" () [Lseg] => Point = Lseg::center;
    "lseg_length" ("@-@") [Lseg] => Float8 = Lseg::length;
    "length" () [Lseg] => Float8 = Lseg::length;
    "lseg_eq" ("=") [Lseg, Lseg] => Bool = Lseg::is_same;
    "lseg_ne" ("<>") [Lseg, Lseg] => Bool = |a: &Lseg, b: &Lseg| !a.is_same(b);
    "lseg_lt" ("<") [Lseg, Lseg] => Bool = |a: &Lseg, b: &Lseg| compared(a, is_below, b);
    "lseg_le" ("<=") [Lseg, Lseg] => Bool = |a: &Lseg, b: &Lseg| compared(a, is_at_most, b);
    "lseg_gt" (">") [Lseg, Lseg] => Bool = |a: &Lseg, b: &Lseg| compared(a, is_above, b);
    "lseg_ge" (">=") [Lseg, Lseg] => Bool = |a: &Lseg, b: &Lseg| compared(a, is_at_least, b);
    "lseg_intersect" ("?#") [Lseg, Lseg] => Bool = Lseg::intersects;
    "lseg_parallel" ("?||") [Lseg, Lseg] => Bool = Lseg::is_parallel;
    "isparallel" () [Lseg, Lseg] => Bool = Lseg::is_parallel;
    "lseg_perp" ("?-|") [Lseg, Lseg] => Bool = Lseg::is_perpendicular;
    "isperp" () [Lseg, Lseg] => Bool = Lseg::is_perpendicular;
    "lseg_vertical" ("?|") [Lseg] => Bool = Lseg::is_vertical;
    "isvertical" () [Lseg] => Bool = Lseg::is_vertical;
    "lseg_horizontal" ("?-") [Lseg] => Bool = Lseg::is_horizontal;
    "ishorizontal" () [Lseg] => Bool = Lseg::is_horizontal;
    "lseg_interpt" ("#") [Lseg, Lseg] => Point = Lseg::meets;
    "lseg_distance" ("<->") [Lseg, Lseg] => Float8 = distance;
    "dist_ps" ("<->") [Point, Lseg] => Float8 = |a: &Point, b: &Lseg| distance_to_point(b, a);
    "dist_sp" ("<->") [Lseg, Point] => Float8 = distance_to_point;
    "dist_sl" ("<->") [Lseg, Line] => Float8 = distance_to_line;
    "dist_ls" ("<->") [Line, Lseg] => Float8 = |a: &Line, b: &Lseg| distance_to_line(b, a);
    "close_ps" ("##") [Point, Lseg] => Point = |a: &Point, b: &Lseg| b.nearest_to_point(a).map(found);
    "close_lseg" ("##") [Lseg, Lseg] => Point = Lseg::nearest_of;
    "close_ls" ("##") [Line, Lseg] => Point = |a: &Line, b: &Lseg| b.point_near_line(a);
    "on_ps" ("<@") [Point, Lseg] => Bool = |a: &Point, b: &Lseg| b.contains(a);
    "on_sl" ("<@") [Lseg, Line] => Bool = Lseg::is_on_line;
    "inter_sl" ("?#") [Lseg, Line] => Bool = Lseg::intersects_line;
};
