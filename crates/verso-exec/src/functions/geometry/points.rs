//! `point`.

use verso_types::SqlType;
use verso_types::geometry::Point;
use verso_types::geometry::number::{is_above, is_below, is_near};

use super::super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use super::functions;

fn is_left(a: &Point, b: &Point) -> bool {
    is_below(a.x, b.x)
}

fn is_right(a: &Point, b: &Point) -> bool {
    is_above(a.x, b.x)
}

fn is_over(a: &Point, b: &Point) -> bool {
    is_above(a.y, b.y)
}

fn is_under(a: &Point, b: &Point) -> bool {
    is_below(a.y, b.y)
}

fn is_vertical(a: &Point, b: &Point) -> bool {
    is_near(a.x, b.x)
}

fn is_horizontal(a: &Point, b: &Point) -> bool {
    is_near(a.y, b.y)
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = functions! {
    "point" () [Float8, Float8] => Point = |x: &f64, y: &f64| Point::new(*x, *y);
    "point_eq" ("~=") [Point, Point] => Bool = Point::is_same;
    "point_ne" ("<>") [Point, Point] => Bool = |a: &Point, b: &Point| !a.is_same(b);
    "point_left" ("<<") [Point, Point] => Bool = is_left;
    "point_right" (">>") [Point, Point] => Bool = is_right;
    "point_above" ("|>>") [Point, Point] => Bool = is_over;
    "" (">^") [Point, Point] => Bool = is_over;
    "point_below" ("<<|") [Point, Point] => Bool = is_under;
    "" ("<^") [Point, Point] => Bool = is_under;
    "point_vert" ("?|") [Point, Point] => Bool = is_vertical;
    "isvertical" () [Point, Point] => Bool = is_vertical;
    "point_horiz" ("?-") [Point, Point] => Bool = is_horizontal;
    "ishorizontal" () [Point, Point] => Bool = is_horizontal;
    "point_distance" ("<->") [Point, Point] => Float8 = Point::distance;
    "slope" () [Point, Point] => Float8 = Point::slope;
    "point_add" ("+") [Point, Point] => Point = Point::plus;
    "point_sub" ("-") [Point, Point] => Point = Point::minus;
    "point_mul" ("*") [Point, Point] => Point = Point::times;
    "point_div" ("/") [Point, Point] => Point = Point::over;
};
