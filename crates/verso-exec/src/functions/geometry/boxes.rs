//! `box`.

use verso_types::SqlType;
use verso_types::geometry::lseg::found;
use verso_types::geometry::number::{Result, is_above, is_at_least, is_at_most, is_below, is_near};
use verso_types::geometry::{Line, Lseg, Point, Rect};

use super::super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use super::{by, functions};

/// By their areas.
fn compared(a: &Rect, holds: fn(f64, f64) -> bool, b: &Rect) -> Result<bool> {
    by(a, Rect::area, holds, b, Rect::area)
}

fn distance_to_point(a: &Rect, b: &Point) -> Result<f64> {
    Ok(a.nearest_to_point(b)?.0)
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = functions! {
    "box" () [Point, Point] => Box = Rect::of_corners;
    "box" () [Point] => Box = Rect::of_point;
    "box_eq" ("=") [Box, Box] => Bool = |a: &Rect, b: &Rect| compared(a, is_near, b);
    "box_lt" ("<") [Box, Box] => Bool = |a: &Rect, b: &Rect| compared(a, is_below, b);
    "box_le" ("<=") [Box, Box] => Bool = |a: &Rect, b: &Rect| compared(a, is_at_most, b);
    "box_gt" (">") [Box, Box] => Bool = |a: &Rect, b: &Rect| compared(a, is_above, b);
    "box_ge" (">=") [Box, Box] => Bool = |a: &Rect, b: &Rect| compared(a, is_at_least, b);
    "box_same" ("~=") [Box, Box] => Bool = Rect::is_same;
    "box_overlap" ("&&") [Box, Box] => Bool = Rect::overlaps;
    "" ("?#") [Box, Box] => Bool = Rect::overlaps;
    "box_contain" ("@>") [Box, Box] => Bool = Rect::contains;
    "box_contained" ("<@") [Box, Box] => Bool = |a: &Rect, b: &Rect| b.contains(a);
    "box_left" ("<<") [Box, Box] => Bool = |a: &Rect, b: &Rect| is_below(a.high.x, b.low.x);
    "box_overleft" ("&<") [Box, Box] => Bool = |a: &Rect, b: &Rect| is_at_most(a.high.x, b.high.x);
    "box_right" (">>") [Box, Box] => Bool = |a: &Rect, b: &Rect| is_above(a.low.x, b.high.x);
    "box_overright" ("&>") [Box, Box] => Bool = |a: &Rect, b: &Rect| is_at_least(a.low.x, b.low.x);
    "box_below" ("<<|") [Box, Box] => Bool = |a: &Rect, b: &Rect| is_below(a.high.y, b.low.y);
    "box_overbelow" ("&<|") [Box, Box] => Bool = |a: &Rect, b: &Rect| is_at_most(a.high.y, b.high.y);
    "box_above" ("|>>") [Box, Box] => Bool = |a: &Rect, b: &Rect| is_above(a.low.y, b.high.y);
    "box_overabove" ("|&>") [Box, Box] => Bool = |a: &Rect, b: &Rect| is_at_least(a.low.y, b.low.y);
    "box_below_eq" ("<^") [Box, Box] => Bool = |a: &Rect, b: &Rect| is_at_most(a.high.y, b.low.y);
    "box_above_eq" (">^") [Box, Box] => Bool = |a: &Rect, b: &Rect| is_at_least(a.low.y, b.high.y);
    "box_add" ("+") [Box, Point] => Box = Rect::plus;
    "box_sub" ("-") [Box, Point] => Box = Rect::minus;
    "box_mul" ("*") [Box, Point] => Box = Rect::times;
    "box_div" ("/") [Box, Point] => Box = Rect::over;
    "box_intersect" ("#") [Box, Box] => Box = Rect::common;
    "bound_box" () [Box, Box] => Box = Rect::bounds;
    "area" () [Box] => Float8 = Rect::area;
    "width" () [Box] => Float8 = Rect::width;
    "height" () [Box] => Float8 = Rect::height;
    "box_center" ("@@") [Box] => Point = Rect::center;
    "center" () [Box] => Point = Rect::center;
    "point" () [Box] => Point = Rect::center;
    "diagonal" () [Box] => Lseg = Rect::diagonal;
    "lseg" () [Box] => Lseg = Rect::diagonal;
    "box_distance" ("<->") [Box, Box] => Float8 = Rect::distance;
    "dist_bp" ("<->") [Box, Point] => Float8 = distance_to_point;
    "dist_pb" ("<->") [Point, Box] => Float8 = |a: &Point, b: &Rect| distance_to_point(b, a);
    "dist_bs" ("<->") [Box, Lseg] => Float8 = Rect::distance_to_lseg;
    "dist_sb" ("<->") [Lseg, Box] => Float8 = |a: &Lseg, b: &Rect| b.distance_to_lseg(a);
    "close_pb" ("##") [Point, Box] => Point = |a: &Point, b: &Rect| b.nearest_to_point(a).map(found);
    "close_sb" ("##") [Lseg, Box] => Point = |a: &Lseg, b: &Rect| b.nearest_to_lseg(a);
    "box_contain_pt" ("@>") [Box, Point] => Bool = Rect::contains_point;
    "on_pb" ("<@") [Point, Box] => Bool = |a: &Point, b: &Rect| b.contains_point(a);
    "on_sb" ("<@") [Lseg, Box] => Bool = |a: &Lseg, b: &Rect| b.contains_lseg(a);
    "inter_sb" ("?#") [Lseg, Box] => Bool = |a: &Lseg, b: &Rect| b.intersects_lseg(a);
    "inter_lb" ("?#") [Line, Box] => Bool = |a: &Line, b: &Rect| b.intersects_line(a);
};
