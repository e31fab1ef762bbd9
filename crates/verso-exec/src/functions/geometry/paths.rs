//! `path`.

use verso_types::geometry::{Path, Point, Polygon};
use verso_types::{SqlType, Value};

use super::super::arrays::hold_elements;
use super::super::define::{entry, unexpected};
use super::super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use super::{Argument, Outcome, functions};
use crate::context::EvalContext;
use crate::error::Result;

/// One path behind the other. There has to be room for the points of both before they are put together.
fn joined(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [first, second] = args else { return Err(unexpected("path_add", args)) };
    let (Some(first), Some(second)) = (Path::read(first), Path::read(second)) else {
        return Err(unexpected("path_add", args));
    };
    let _held = hold_elements(cx, first.points.len() + second.points.len())?;
    Ok(first.plus(&second).value()?)
}

pub(super) static JOINED: &[BuiltinFunction] = &[entry!("path_add" ("+") [Path, Path] => Path, joined, None)];

pub(super) static FUNCTIONS: &[BuiltinFunction] = functions! {
    "path" () [Polygon] => Path = Polygon::to_path;
    "path_n_eq" ("=") [Path, Path] => Bool = |a: &Path, b: &Path| a.count() == b.count();
    "path_n_lt" ("<") [Path, Path] => Bool = |a: &Path, b: &Path| a.count() < b.count();
    "path_n_le" ("<=") [Path, Path] => Bool = |a: &Path, b: &Path| a.count() <= b.count();
    "path_n_gt" (">") [Path, Path] => Bool = |a: &Path, b: &Path| a.count() > b.count();
    "path_n_ge" (">=") [Path, Path] => Bool = |a: &Path, b: &Path| a.count() >= b.count();
    "path_npoints" ("#") [Path] => Int4 = Path::count;
    "npoints" () [Path] => Int4 = Path::count;
    "path_length" ("@-@") [Path] => Float8 = Path::length;
    "length" () [Path] => Float8 = Path::length;
    "area" () [Path] => Float8 = Path::area;
    "isclosed" () [Path] => Bool = Path::is_closed;
    "isopen" () [Path] => Bool = Path::is_open;
    "pclose" () [Path] => Path = Path::close;
    "popen" () [Path] => Path = Path::open;
    "path_add_pt" ("+") [Path, Point] => Path = |a: &Path, b: &Point| a.map(|point| point.plus(b));
    "path_sub_pt" ("-") [Path, Point] => Path = |a: &Path, b: &Point| a.map(|point| point.minus(b));
    "path_mul_pt" ("*") [Path, Point] => Path = |a: &Path, b: &Point| a.map(|point| point.times(b));
    "path_div_pt" ("/") [Path, Point] => Path = |a: &Path, b: &Point| a.map(|point| point.over(b));
    "path_inter" ("?#") [Path, Path] => Bool = Path::intersects;
    "path_distance" ("<->") [Path, Path] => Float8 = Path::distance;
    "dist_pathp" ("<->") [Path, Point] => Float8 = Path::distance_to_point;
    "dist_ppath" ("<->") [Point, Path] => Float8 = |a: &Point, b: &Path| b.distance_to_point(a);
    "path_contain_pt" ("@>") [Path, Point] => Bool = Path::contains_point;
    "on_ppath" ("<@") [Point, Path] => Bool = |a: &Point, b: &Path| b.contains_point(a);
};
