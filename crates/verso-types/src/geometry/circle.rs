//! `circle`.

use std::f64::consts::PI;

use super::number::{Result, hypotenuse, is_at_most, is_near, is_zero, minus, over, plus, times};
use super::{Point, Polygon, Rect, Shape, numbers, put_number};
use crate::error::{TypeError, sqlstate};
use crate::interrupt::Pieces;
use crate::opaque::OpaqueKind;

/// A circle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circle {
    /// Its center.
    pub center: Point,
    /// Its radius.
    pub radius: f64,
}

impl Shape for Circle {
    const KIND: OpaqueKind = OpaqueKind::Circle;

    fn put(&self, out: &mut Vec<u8>) {
        self.center.put(out);
        put_number(self.radius, out);
    }

    fn take(bytes: &[u8]) -> Circle {
        let [x, y, radius] = numbers(bytes);
        Circle { center: Point { x, y }, radius }
    }
}

/// A distance, or 0 where it would be less.
fn not_negative(distance: f64) -> f64 {
    if distance < 0.0 { 0.0 } else { distance }
}

impl Circle {
    /// The circle around a box, through its corners.
    /// # Errors
    /// 22003.
    pub fn of_rect(rect: &Rect) -> Result<Circle> {
        let center = rect.center()?;
        Ok(Circle { center, radius: center.distance(&rect.high)? })
    }

    /// The box in it, with its corners on it.
    /// # Errors
    /// 22003.
    pub fn to_rect(&self) -> Result<Rect> {
        let half = over(self.radius, 2.0f64.sqrt())?;
        let Point { x, y } = self.center;
        Ok(Rect {
            high: Point::new(plus(x, half)?, plus(y, half)?),
            low: Point::new(minus(x, half)?, minus(y, half)?),
        })
    }

    /// So many points on it as a polygon.
    /// # Errors
    /// 0A000 for a circle that is a point, 22023 for less than two points, 54000 for too many, 22003.
    pub fn to_polygon(&self, count: i32) -> Result<Polygon> {
        if is_zero(self.radius) {
            let text = "cannot convert circle with radius zero to polygon";
            return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        if count < 2 {
            let text = "must request at least 2 points";
            return Err(TypeError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        }
        if count > super::POINTS_MAX {
            return Err(super::too_many_points());
        }
        let (step, mut pieces) = (over(2.0 * PI, count.into())?, Pieces::default());
        let points = (0..count).map(|number| -> Result<Point> {
            pieces.one_more()?;
            let angle = times(step, number.into())?;
            Ok(Point {
                x: minus(self.center.x, times(self.radius, angle.cos())?)?,
                y: plus(self.center.y, times(self.radius, angle.sin())?)?,
            })
        });
        Ok(Polygon::new(points.collect::<Result<_>>()?))
    }

    /// Its area.
    /// # Errors
    /// 22003.
    pub fn area(&self) -> Result<f64> {
        times(times(self.radius, self.radius)?, PI)
    }

    /// Its diameter.
    /// # Errors
    /// 22003.
    pub fn diameter(&self) -> Result<f64> {
        times(self.radius, 2.0)
    }

    /// Its left edge.
    /// # Errors
    /// 22003.
    pub fn left(&self) -> Result<f64> {
        minus(self.center.x, self.radius)
    }

    /// Its right edge.
    /// # Errors
    /// 22003.
    pub fn right(&self) -> Result<f64> {
        plus(self.center.x, self.radius)
    }

    /// Its lower edge.
    /// # Errors
    /// 22003.
    pub fn bottom(&self) -> Result<f64> {
        minus(self.center.y, self.radius)
    }

    /// Its upper edge.
    /// # Errors
    /// 22003.
    pub fn top(&self) -> Result<f64> {
        plus(self.center.y, self.radius)
    }

    /// Whether both are about the same circle; NaN is the same as NaN.
    pub fn is_same(&self, other: &Circle) -> bool {
        let radius = self.radius.is_nan() && other.radius.is_nan() || is_near(self.radius, other.radius);
        radius && self.center.is_same(&other.center)
    }

    /// Do they have a point in common?
    /// # Errors
    /// 22003.
    pub fn overlaps(&self, other: &Circle) -> Result<bool> {
        Ok(is_at_most(self.center.distance(&other.center)?, plus(self.radius, other.radius)?))
    }

    /// Is another circle in it?
    /// # Errors
    /// 22003.
    pub fn contains(&self, other: &Circle) -> Result<bool> {
        Ok(is_at_most(self.center.distance(&other.center)?, minus(self.radius, other.radius)?))
    }

    /// Whether a point is in it, or on it, to the last digit.
    /// # Errors
    /// 22003.
    pub fn contains_point(&self, point: &Point) -> Result<bool> {
        Ok(self.center.distance(point)? <= self.radius)
    }

    /// How far another circle is from it; 0 where they have a point in common.
    /// # Errors
    /// 22003.
    pub fn distance(&self, other: &Circle) -> Result<f64> {
        let between = self.center.distance(&other.center)?;
        Ok(not_negative(minus(between, plus(self.radius, other.radius)?)?))
    }

    /// How far a point is from it; 0 where it is in it.
    /// # Errors
    /// 22003.
    pub fn distance_to_point(&self, point: &Point) -> Result<f64> {
        Ok(not_negative(minus(point.distance(&self.center)?, self.radius)?))
    }

    /// How far a polygon is from it; 0 where they have a point in common.
    /// # Errors
    /// 22003.
    pub fn distance_to_polygon(&self, polygon: &Polygon) -> Result<f64> {
        Ok(not_negative(minus(polygon.distance_to_point(&self.center)?, self.radius)?))
    }

    /// Moved.
    /// # Errors
    /// 22003.
    pub fn plus(&self, by: &Point) -> Result<Circle> {
        Ok(Circle { center: self.center.plus(by)?, ..*self })
    }

    /// Moved back.
    /// # Errors
    /// 22003.
    pub fn minus(&self, by: &Point) -> Result<Circle> {
        Ok(Circle { center: self.center.minus(by)?, ..*self })
    }

    /// Turned and stretched.
    /// # Errors
    /// 22003.
    pub fn times(&self, by: &Point) -> Result<Circle> {
        Ok(Circle { center: self.center.times(by)?, radius: times(self.radius, hypotenuse(by.x, by.y)?)? })
    }

    /// Turned and stretched the other way.
    /// # Errors
    /// 22003, 22012.
    pub fn over(&self, by: &Point) -> Result<Circle> {
        Ok(Circle { center: self.center.over(by)?, radius: over(self.radius, hypotenuse(by.x, by.y)?)? })
    }
}
