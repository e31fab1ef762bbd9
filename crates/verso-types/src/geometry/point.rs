//! `point`.

use super::number::{Result, hypotenuse, is_near, middle, minus, over, plus, times};
use super::{Shape, numbers, put_number};
use crate::opaque::OpaqueKind;
use crate::value::cmp_f64;

/// A point of the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
}

impl Shape for Point {
    const KIND: OpaqueKind = OpaqueKind::Point;

    fn put(&self, out: &mut Vec<u8>) {
        put_number(self.x, out);
        put_number(self.y, out);
    }

    fn take(bytes: &[u8]) -> Point {
        let [x, y] = numbers(bytes);
        Point { x, y }
    }
}

impl Point {
    /// The point with these coordinates.
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    /// Whether both are about the same point; with NaN among their coordinates, exactly the same one.
    pub fn is_same(&self, other: &Point) -> bool {
        if [self.x, self.y, other.x, other.y].iter().any(|number| number.is_nan()) {
            return cmp_f64(self.x, other.x).is_eq() && cmp_f64(self.y, other.y).is_eq();
        }
        is_near(self.x, other.x) && is_near(self.y, other.y)
    }

    /// `self + other`
    /// # Errors
    /// 22003.
    pub fn plus(&self, other: &Point) -> Result<Point> {
        Ok(Point { x: plus(self.x, other.x)?, y: plus(self.y, other.y)? })
    }

    /// `self - other`
    /// # Errors
    /// 22003.
    pub fn minus(&self, other: &Point) -> Result<Point> {
        Ok(Point { x: minus(self.x, other.x)?, y: minus(self.y, other.y)? })
    }

    /// The product of both as complex numbers: turned and stretched.
    /// # Errors
    /// 22003.
    pub fn times(&self, other: &Point) -> Result<Point> {
        Ok(Point {
            x: minus(times(self.x, other.x)?, times(self.y, other.y)?)?,
            y: plus(times(self.x, other.y)?, times(self.y, other.x)?)?,
        })
    }

    /// The quotient of both as complex numbers.
    /// # Errors
    /// 22003, 22012.
    pub fn over(&self, other: &Point) -> Result<Point> {
        let size = plus(times(other.x, other.x)?, times(other.y, other.y)?)?;
        Ok(Point {
            x: over(plus(times(self.x, other.x)?, times(self.y, other.y)?)?, size)?,
            y: over(minus(times(self.y, other.x)?, times(self.x, other.y)?)?, size)?,
        })
    }

    /// How far it is from zero.
    /// # Errors
    /// 22003.
    pub fn size(&self) -> Result<f64> {
        hypotenuse(self.x, self.y)
    }

    /// How far it is from another one.
    /// # Errors
    /// 22003.
    pub fn distance(&self, other: &Point) -> Result<f64> {
        hypotenuse(minus(self.x, other.x)?, minus(self.y, other.y)?)
    }

    /// The point in the middle.
    /// # Errors
    /// 22003.
    pub fn middle(&self, other: &Point) -> Result<Point> {
        Ok(Point { x: middle(self.x, other.x)?, y: middle(self.y, other.y)? })
    }

    /// The slope of the line through both; infinite where they are the same.
    /// # Errors
    /// 22003.
    pub fn slope(&self, other: &Point) -> Result<f64> {
        if is_near(self.x, other.x) {
            return Ok(f64::INFINITY);
        }
        if is_near(self.y, other.y) {
            return Ok(0.0);
        }
        over(minus(self.y, other.y)?, minus(self.x, other.x)?)
    }

    /// The slope of what stands upright on the line through both; 0 where they are the same.
    /// # Errors
    /// 22003.
    pub fn upright_slope(&self, other: &Point) -> Result<f64> {
        if is_near(self.x, other.x) {
            return Ok(0.0);
        }
        if is_near(self.y, other.y) {
            return Ok(f64::INFINITY);
        }
        over(minus(self.x, other.x)?, minus(other.y, self.y)?)
    }
}
