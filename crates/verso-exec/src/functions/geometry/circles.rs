//! `circle`.

use verso_types::SqlType;
use verso_types::geometry::number::{Result, is_above, is_apart, is_at_least, is_at_most, is_below, is_near};
use verso_types::geometry::{Circle, Point};

use super::super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use super::{by, functions};

/// By their areas.
fn compared(a: &Circle, holds: fn(f64, f64) -> bool, b: &Circle) -> Result<bool> {
    by(a, Circle::area, holds, b, Circle::area)
}

fn is_left(a: &Circle, b: &Circle) -> Result<bool> {
    by(a, Circle::right, is_below, b, Circle::left)
}

fn is_over_left(a: &Circle, b: &Circle) -> Result<bool> {
    by(a, Circle::right, is_at_most, b, Circle::right)
}

fn is_right(a: &Circle, b: &Circle) -> Result<bool> {
    by(a, Circle::left, is_above, b, Circle::right)
}

fn is_over_right(a: &Circle, b: &Circle) -> Result<bool> {
    by(a, Circle::left, is_at_least, b, Circle::left)
}

fn is_under(a: &Circle, b: &Circle) -> Result<bool> {
    by(a, Circle::top, is_below, b, Circle::bottom)
}

fn is_over_under(a: &Circle, b: &Circle) -> Result<bool> {
    by(a, Circle::top, is_at_most, b, Circle::top)
}

fn is_over(a: &Circle, b: &Circle) -> Result<bool> {
    by(a, Circle::bottom, is_above, b, Circle::top)
}

fn is_over_over(a: &Circle, b: &Circle) -> Result<bool> {
    by(a, Circle::bottom, is_at_least, b, Circle::bottom)
}

fn center(a: &Circle) -> Point {
    a.center
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = functions! {
    "circle" () [Point, Float8] => Circle = |center: &Point, radius: &f64| Circle { center: *center, radius: *radius };
    "circle" () [Box] => Circle = Circle::of_rect;
    "box" () [Circle] => Box = Circle::to_rect;
    "circle_center" ("@@") [Circle] => Point = center;
    "center" () [Circle] => Point = center;
    "point" () [Circle] => Point = center;
    "radius" () [Circle] => Float8 = |a: &Circle| a.radius;
    "diameter" () [Circle] => Float8 = Circle::diameter;
    "area" () [Circle] => Float8 = Circle::area;
    "circle_eq" ("=") [Circle, Circle] => Bool = |a: &Circle, b: &Circle| compared(a, is_near, b);
    "circle_ne" ("<>") [Circle, Circle] => Bool = |a: &Circle, b: &Circle| compared(a, is_apart, b);
    "circle_lt" ("<") [Circle, Circle] => Bool = |a: &Circle, b: &Circle| compared(a, is_below, b);
    "circle_le" ("<=") [Circle, Circle] => Bool = |a: &Circle, b: &Circle| compared(a, is_at_most, b);
    "circle_gt" (">") [Circle, Circle] => Bool = |a: &Circle, b: &Circle| compared(a, is_above, b);
    "circle_ge" (">=") [Circle, Circle] => Bool = |a: &Circle, b: &Circle| compared(a, is_at_least, b);
    "circle_same" ("~=") [Circle, Circle] => Bool = Circle::is_same;
    "circle_overlap" ("&&") [Circle, Circle] => Bool = Circle::overlaps;
    "circle_contain" ("@>") [Circle, Circle] => Bool = Circle::contains;
    "circle_contained" ("<@") [Circle, Circle] => Bool = |a: &Circle, b: &Circle| b.contains(a);
    "circle_left" ("<<") [Circle, Circle] => Bool = is_left;
    "circle_overleft" ("&<") [Circle, Circle] => Bool = is_over_left;
    "circle_right" (">>") [Circle, Circle] => Bool = is_right;
    "circle_overright" ("&>") [Circle, Circle] => Bool = is_over_right;
    "circle_below" ("<<|") [Circle, Circle] => Bool = is_under;
    "circle_overbelow" ("&<|") [Circle, Circle] => Bool = is_over_under;
    "circle_above" ("|>>") [Circle, Circle] => Bool = is_over;
    "circle_overabove" ("|&>") [Circle, Circle] => Bool = is_over_over;
    "circle_add_pt" ("+") [Circle, Point] => Circle = Circle::plus;
    "circle_sub_pt" ("-") [Circle, Point] => Circle = Circle::minus;
    "circle_mul_pt" ("*") [Circle, Point] => Circle = Circle::times;
    "circle_div_pt" ("/") [Circle, Point] => Circle = Circle::over;
    "circle_distance" ("<->") [Circle, Circle] => Float8 = Circle::distance;
    "dist_cpoint" ("<->") [Circle, Point] => Float8 = Circle::distance_to_point;
    "dist_pc" ("<->") [Point, Circle] => Float8 = |a: &Point, b: &Circle| b.distance_to_point(a);
    "circle_contain_pt" ("@>") [Circle, Point] => Bool = Circle::contains_point;
    "pt_contained_circle" ("<@") [Point, Circle] => Bool = |a: &Point, b: &Circle| b.contains_point(a);
};
