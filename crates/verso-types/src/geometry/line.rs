//! `line`: without ends, `Ax + By + C = 0`.

use super::number::{Result, hypotenuse, is_near, is_zero, minus, over, plus, times, unsigned_zero};
use super::{Point, Shape, numbers, put_number};
use crate::error::{TypeError, sqlstate};
use crate::opaque::OpaqueKind;
use crate::value::cmp_f64;

/// What is wrong with a line of which two numbers are zero.
pub(super) const NOWHERE: &str = "invalid line specification: A and B cannot both be zero";
/// What is wrong with a line through a single point.
pub(super) const ONE_POINT: &str = "invalid line specification: must be two distinct points";

/// A line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// What x is multiplied by.
    pub a: f64,
    /// What y is multiplied by.
    pub b: f64,
    /// What is added.
    pub c: f64,
}

impl Shape for Line {
    const KIND: OpaqueKind = OpaqueKind::Line;

    fn put(&self, out: &mut Vec<u8>) {
        [self.a, self.b, self.c].into_iter().for_each(|number| put_number(number, out));
    }

    fn take(bytes: &[u8]) -> Line {
        let [a, b, c] = numbers(bytes);
        Line { a, b, c }
    }
}

impl Line {
    /// The line of a slope through a point.
    /// # Errors
    /// 22003.
    pub fn through(point: &Point, slope: f64) -> Result<Line> {
        Ok(if slope.is_infinite() {
            Line { a: -1.0, b: 0.0, c: point.x }
        } else if slope == 0.0 {
            Line { a: 0.0, b: -1.0, c: point.y }
        } else {
            Line { a: slope, b: -1.0, c: unsigned_zero(minus(point.y, times(slope, point.x)?)?) }
        })
    }

    /// The line through two points.
    /// # Errors
    /// 22023 where they are the same, 22003.
    pub fn of_points(one: &Point, other: &Point) -> Result<Line> {
        if one.is_same(other) {
            return Err(TypeError::new(sqlstate::INVALID_PARAMETER_VALUE, ONE_POINT));
        }
        Line::through(one, one.slope(other)?)
    }

    /// Whether no point, or every one, is on it.
    pub(super) fn is_nowhere(&self) -> bool {
        is_zero(self.a) && is_zero(self.b)
    }

    /// How much it rises.
    /// # Errors
    /// 22003.
    pub fn slope(&self) -> Result<f64> {
        if is_zero(self.a) {
            return Ok(0.0);
        }
        if is_zero(self.b) { Ok(f64::INFINITY) } else { over(self.a, -self.b) }
    }

    /// How much a line rises that stands upright on it.
    fn upright_slope(&self) -> Result<f64> {
        if is_zero(self.a) {
            return Ok(f64::INFINITY);
        }
        if is_zero(self.b) { Ok(0.0) } else { over(self.b, self.a) }
    }

    /// Is it vertical?
    pub fn is_vertical(&self) -> bool {
        is_zero(self.b)
    }

    /// Is it horizontal?
    pub fn is_horizontal(&self) -> bool {
        is_zero(self.a)
    }

    /// Where both meet. The same line meets itself nowhere in particular, so it counts as parallel; with NaN among the numbers
    /// they meet where no number says.
    /// # Errors
    /// 22003.
    pub fn meets(&self, other: &Line) -> Result<Option<Point>> {
        // The one that is not vertical says how high it is.
        let (one, other) = if !is_zero(self.b) {
            (self, other)
        } else if !is_zero(other.b) {
            (other, self)
        } else {
            return Ok(None);
        };
        if is_near(other.a, times(one.a, over(other.b, one.b)?)?) {
            return Ok(None);
        }
        let x = over(
            minus(times(one.b, other.c)?, times(other.b, one.c)?)?,
            minus(times(one.a, other.b)?, times(other.a, one.b)?)?,
        )?;
        let y = over(-plus(times(one.a, x)?, one.c)?, one.b)?;
        Ok(Some(Point { x: unsigned_zero(x), y: unsigned_zero(y) }))
    }

    /// Do they meet?
    /// # Errors
    /// 22003.
    pub fn intersects(&self, other: &Line) -> Result<bool> {
        Ok(self.meets(other)?.is_some())
    }

    /// Do they never meet, or are they the same?
    /// # Errors
    /// 22003.
    pub fn is_parallel(&self, other: &Line) -> Result<bool> {
        Ok(self.meets(other)?.is_none())
    }

    /// Does one stand upright on the other?
    /// # Errors
    /// 22003.
    pub fn is_perpendicular(&self, other: &Line) -> Result<bool> {
        if is_zero(self.a) {
            return Ok(is_zero(other.b));
        }
        if is_zero(other.a) {
            return Ok(is_zero(self.b));
        }
        if is_zero(self.b) {
            return Ok(is_zero(other.a));
        }
        if is_zero(other.b) {
            return Ok(is_zero(self.a));
        }
        Ok(is_near(over(times(self.a, other.a)?, times(self.b, other.b)?)?, -1.0))
    }

    /// Whether both are the same line: their numbers are in proportion, or with NaN among them the same.
    /// # Errors
    /// 22003.
    pub fn is_same(&self, other: &Line) -> Result<bool> {
        let (ours, theirs) = ([self.a, self.b, self.c], [other.a, other.b, other.c]);
        if ours.iter().chain(&theirs).any(|number| number.is_nan()) {
            return Ok(ours.iter().zip(&theirs).all(|(a, b)| cmp_f64(*a, *b).is_eq()));
        }
        let ratio = match ours.iter().zip(&theirs).find(|(_, theirs)| !is_zero(**theirs)) {
            Some((ours, theirs)) => over(*ours, *theirs)?,
            None => 1.0,
        };
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            if !is_near(ours, times(ratio, theirs)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How far parallel lines are from each other; 0 for others.
    /// # Errors
    /// 22003, 22012.
    pub fn distance(&self, other: &Line) -> Result<f64> {
        if self.intersects(other)? {
            return Ok(0.0);
        }
        let is_number = |number: f64| !is_zero(number) && !number.is_nan();
        let ratio = if is_number(self.a) && is_number(other.a) {
            over(self.a, other.a)?
        } else if is_number(self.b) && is_number(other.b) {
            over(self.b, other.b)?
        } else {
            1.0
        };
        over(minus(self.c, times(ratio, other.c)?)?.abs(), hypotenuse(self.a, self.b)?)
    }

    /// Is a point on it?
    /// # Errors
    /// 22003.
    pub fn contains(&self, point: &Point) -> Result<bool> {
        Ok(is_zero(plus(plus(times(self.a, point.x)?, times(self.b, point.y)?)?, self.c)?))
    }

    /// How far a point is from it, and the nearest point of it. The distance is NaN where none is found, which NaN among the
    /// numbers and rounding may bring about.
    /// # Errors
    /// 22003.
    pub fn nearest(&self, point: &Point) -> Result<(f64, Point)> {
        let upright = Line::through(point, self.upright_slope()?)?;
        match upright.meets(self)? {
            Some(nearest) => Ok((nearest.distance(point)?, nearest)),
            None => Ok((f64::NAN, *point)),
        }
    }
}
