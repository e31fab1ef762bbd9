//! `polygon`: what is within a closed path.

use super::inside::{has_segment, is_inside};
use super::number::{Result, is_less, over, plus};
use super::path::{any_meet, least_distance, segments};
use super::{Circle, Lseg, Path, Point, Rect, Shape, put_points, take_points};
use crate::interrupt::Pieces;
use crate::opaque::OpaqueKind;

/// A polygon.
#[derive(Clone, Debug, PartialEq)]
pub struct Polygon {
    /// Its corners, one at least.
    pub points: Vec<Point>,
    /// The smallest box around it.
    pub bounds: Rect,
}

impl Shape for Polygon {
    const KIND: OpaqueKind = OpaqueKind::Polygon;

    fn put(&self, out: &mut Vec<u8>) {
        put_points(&self.points, out);
    }

    fn take(bytes: &[u8]) -> Polygon {
        Polygon::new(take_points(bytes))
    }
}

impl Polygon {
    /// The polygon with these corners, one at least.
    pub fn new(points: Vec<Point>) -> Polygon {
        let bounds = Rect::around(&points);
        Polygon { points, bounds }
    }

    /// A box as a polygon.
    pub fn of_rect(rect: &Rect) -> Polygon {
        let Rect { high, low } = *rect;
        let points = vec![low, Point::new(low.x, high.y), high, Point::new(high.x, low.y)];
        Polygon { points, bounds: Rect::of_corners(&high, &low) }
    }

    fn sides(&self) -> impl Iterator<Item = Lseg> + Clone {
        segments(&self.points, true)
    }

    /// How many corners it has.
    pub fn count(&self) -> i32 {
        i32::try_from(self.points.len()).unwrap_or(i32::MAX)
    }

    /// Its outline.
    pub fn to_path(&self) -> Path {
        Path { closed: true, points: self.points.clone() }
    }

    /// The circle around the mean of its corners that is as far away as they are on average.
    /// # Errors
    /// 22003.
    pub fn to_circle(&self) -> Result<Circle> {
        let count = f64::from(self.count());
        let sum = self.points.iter().try_fold(Point::default(), |sum, point| sum.plus(point))?;
        let center = Point::new(over(sum.x, count)?, over(sum.y, count)?);
        let sum = self.points.iter().try_fold(0.0, |sum, point| plus(sum, point.distance(&center)?))?;
        Ok(Circle { center, radius: over(sum, count)? })
    }

    /// The mean of its corners.
    /// # Errors
    /// 22003.
    pub fn center(&self) -> Result<Point> {
        Ok(self.to_circle()?.center)
    }

    /// Whether both have the same corners in the same order, from whichever on and in whichever direction.
    /// # Errors
    /// 57014.
    pub fn is_same(&self, other: &Polygon) -> Result<bool> {
        let (ours, theirs) = (&self.points, &other.points);
        let count = ours.len();
        if count != theirs.len() {
            return Ok(false);
        }
        let mut pieces = Pieces::default();
        for start in 0..count {
            pieces.one_more()?;
            let mut agree = |place: &dyn Fn(usize) -> usize| -> Result<bool> {
                for (step, our) in ours.iter().enumerate() {
                    pieces.one_more()?;
                    if !theirs[place(step)].is_same(our) {
                        return Ok(false);
                    }
                }
                Ok(true)
            };
            if agree(&|step| (start + step) % count)? || agree(&|step| (start + count - step) % count)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Do they have a point in common?
    /// # Errors
    /// 22003, 57014.
    pub fn overlaps(&self, other: &Polygon) -> Result<bool> {
        if !self.bounds.overlaps(&other.bounds) {
            return Ok(false);
        }
        if any_meet(self.sides(), other.sides())? {
            return Ok(true);
        }
        // One may be within the other.
        match (self.points.first(), other.points.first()) {
            (Some(ours), Some(theirs)) => {
                Ok(is_inside(ours, &other.points)? || is_inside(theirs, &self.points)?)
            }
            _ => Ok(false),
        }
    }

    /// Whether all of another polygon is in it.
    /// # Errors
    /// 22003, 57014.
    pub fn contains(&self, other: &Polygon) -> Result<bool> {
        if !self.bounds.contains(&other.bounds) {
            return Ok(false);
        }
        for side in other.sides() {
            if !has_segment(&self.points, &side)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a point is in it, or on its outline.
    /// # Errors
    /// 22003.
    pub fn contains_point(&self, point: &Point) -> Result<bool> {
        is_inside(point, &self.points)
    }

    /// How far a point is from it; 0 where it is in it.
    /// # Errors
    /// 22003.
    pub fn distance_to_point(&self, point: &Point) -> Result<f64> {
        if self.contains_point(point)? {
            return Ok(0.0);
        }
        let (first, last) = (self.points.first(), self.points.last());
        let (first, last) = (first.copied().unwrap_or_default(), last.copied().unwrap_or_default());
        // The closing side goes from the first corner to the last one here, which matters where both are about the same.
        let mut best = Lseg::new(first, last).nearest_to_point(point)?.0;
        for side in segments(&self.points, false) {
            let (distance, _) = side.nearest_to_point(point)?;
            if is_less(distance, best) {
                best = distance;
            }
        }
        Ok(best)
    }

    /// How far it is from another polygon; 0 where they overlap.
    /// # Errors
    /// 22003, 57014.
    pub fn distance(&self, other: &Polygon) -> Result<Option<f64>> {
        if self.overlaps(other)? {
            return Ok(Some(0.0));
        }
        least_distance(self.sides(), other.sides())
    }
}
