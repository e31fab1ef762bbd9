//! `box`: a rectangle that stands upright.

use super::number::{Result, greatest, is_at_least, is_at_most, is_less, least, minus, times};
use super::{Line, Lseg, Point, Shape, numbers, put_points};
use crate::opaque::OpaqueKind;

/// A box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// The upper right corner.
    pub high: Point,
    /// The lower left corner.
    pub low: Point,
}

impl Shape for Rect {
    const KIND: OpaqueKind = OpaqueKind::Box;

    fn put(&self, out: &mut Vec<u8>) {
        put_points(&[self.high, self.low], out);
    }

    fn take(bytes: &[u8]) -> Rect {
        let [a, b, c, d] = numbers(bytes);
        Rect { high: Point::new(a, b), low: Point::new(c, d) }
    }
}

impl Rect {
    /// The box with two opposite corners.
    pub fn of_corners(one: &Point, other: &Point) -> Rect {
        let sorted = |a: f64, b: f64| if is_less(b, a) { (a, b) } else { (b, a) };
        let ((high_x, low_x), (high_y, low_y)) = (sorted(one.x, other.x), sorted(one.y, other.y));
        Rect { high: Point::new(high_x, high_y), low: Point::new(low_x, low_y) }
    }

    /// The box with two corners as they were read: they change places where they have to.
    pub(super) fn ordered(high: Point, low: Point) -> Rect {
        let sorted = |high: f64, low: f64| if is_less(high, low) { (low, high) } else { (high, low) };
        let ((high_x, low_x), (high_y, low_y)) = (sorted(high.x, low.x), sorted(high.y, low.y));
        Rect { high: Point::new(high_x, high_y), low: Point::new(low_x, low_y) }
    }

    /// The smallest box around points, of which there is one.
    pub fn around(points: &[Point]) -> Rect {
        let first = points.first().copied().unwrap_or_default();
        let mut bounds = Rect { high: first, low: first };
        for point in points.iter().skip(1) {
            let (high, low) = (&mut bounds.high, &mut bounds.low);
            low.x = least(point.x, low.x);
            low.y = least(point.y, low.y);
            high.x = greatest(point.x, high.x);
            high.y = greatest(point.y, high.y);
        }
        bounds
    }

    /// A point as a box.
    pub fn of_point(point: &Point) -> Rect {
        Rect { high: *point, low: *point }
    }

    /// How wide it is.
    /// # Errors
    /// 22003.
    pub fn width(&self) -> Result<f64> {
        minus(self.high.x, self.low.x)
    }

    /// How high it is.
    /// # Errors
    /// 22003.
    pub fn height(&self) -> Result<f64> {
        minus(self.high.y, self.low.y)
    }

    /// How large it is.
    /// # Errors
    /// 22003.
    pub fn area(&self) -> Result<f64> {
        times(self.width()?, self.height()?)
    }

    /// Its center.
    /// # Errors
    /// 22003.
    pub fn center(&self) -> Result<Point> {
        self.high.middle(&self.low)
    }

    /// From the upper right corner to the lower left one.
    pub fn diagonal(&self) -> Lseg {
        Lseg::new(self.high, self.low)
    }

    /// How far their centers are from each other.
    /// # Errors
    /// 22003.
    pub fn distance(&self, other: &Rect) -> Result<f64> {
        self.center()?.distance(&other.center()?)
    }

    /// Whether both have the same corners.
    pub fn is_same(&self, other: &Rect) -> bool {
        self.high.is_same(&other.high) && self.low.is_same(&other.low)
    }

    /// Do they have a point in common?
    pub fn overlaps(&self, other: &Rect) -> bool {
        is_at_most(self.low.x, other.high.x)
            && is_at_most(other.low.x, self.high.x)
            && is_at_most(self.low.y, other.high.y)
            && is_at_most(other.low.y, self.high.y)
    }

    /// What they have in common.
    pub fn common(&self, other: &Rect) -> Option<Rect> {
        self.overlaps(other).then(|| Rect {
            high: Point::new(least(self.high.x, other.high.x), least(self.high.y, other.high.y)),
            low: Point::new(greatest(self.low.x, other.low.x), greatest(self.low.y, other.low.y)),
        })
    }

    /// The smallest box that has both.
    pub fn bounds(&self, other: &Rect) -> Rect {
        Rect {
            high: Point::new(greatest(self.high.x, other.high.x), greatest(self.high.y, other.high.y)),
            low: Point::new(least(self.low.x, other.low.x), least(self.low.y, other.low.y)),
        }
    }

    /// Whether another box is in it, or on its border.
    pub fn contains(&self, other: &Rect) -> bool {
        is_at_least(self.high.x, other.high.x)
            && is_at_most(self.low.x, other.low.x)
            && is_at_least(self.high.y, other.high.y)
            && is_at_most(self.low.y, other.low.y)
    }

    /// Whether a point is in it, or on its border, to the last digit.
    pub fn contains_point(&self, point: &Point) -> bool {
        self.high.x >= point.x && self.low.x <= point.x && self.high.y >= point.y && self.low.y <= point.y
    }

    /// Whether all of a segment is in it.
    pub fn contains_lseg(&self, lseg: &Lseg) -> bool {
        lseg.ends.iter().all(|end| self.contains_point(end))
    }

    /// Moved.
    /// # Errors
    /// 22003.
    pub fn plus(&self, by: &Point) -> Result<Rect> {
        Ok(Rect { high: self.high.plus(by)?, low: self.low.plus(by)? })
    }

    /// Moved back.
    /// # Errors
    /// 22003.
    pub fn minus(&self, by: &Point) -> Result<Rect> {
        Ok(Rect { high: self.high.minus(by)?, low: self.low.minus(by)? })
    }

    /// Its corners turned and stretched.
    /// # Errors
    /// 22003.
    pub fn times(&self, by: &Point) -> Result<Rect> {
        Ok(Rect::of_corners(&self.high.times(by)?, &self.low.times(by)?))
    }

    /// Its corners turned and stretched, the other way.
    /// # Errors
    /// 22003, 22012.
    pub fn over(&self, by: &Point) -> Result<Rect> {
        Ok(Rect::of_corners(&self.high.over(by)?, &self.low.over(by)?))
    }

    /// Its sides: to the left, above, below, to the right.
    fn sides(&self) -> [Lseg; 4] {
        let (above, below) = (Point::new(self.low.x, self.high.y), Point::new(self.high.x, self.low.y));
        [
            Lseg::new(self.low, above),
            Lseg::new(self.high, above),
            Lseg::new(self.low, below),
            Lseg::new(self.high, below),
        ]
    }

    /// The nearest of what its sides say.
    fn nearest_side(&self, of: impl Fn(&Lseg) -> Result<(f64, Point)>) -> Result<(f64, Point)> {
        let [first, others @ ..] = self.sides();
        let mut best = of(&first)?;
        for side in &others {
            let found = of(side)?;
            if is_less(found.0, best.0) {
                best = found;
            }
        }
        Ok(best)
    }

    /// How far a point is from it, and its point that is nearest to that.
    /// # Errors
    /// 22003.
    pub fn nearest_to_point(&self, point: &Point) -> Result<(f64, Point)> {
        if self.contains_point(point) {
            return Ok((0.0, *point));
        }
        self.nearest_side(|side| side.nearest_to_point(point))
    }

    /// Whether a segment may meet it.
    fn is_near_lseg(&self, lseg: &Lseg) -> bool {
        let [from, to] = lseg.ends;
        let around = Rect {
            high: Point::new(greatest(from.x, to.x), greatest(from.y, to.y)),
            low: Point::new(least(from.x, to.x), least(from.y, to.y)),
        };
        around.overlaps(self)
    }

    /// Whether a segment near it has a point in common with it.
    fn has_part_of(&self, lseg: &Lseg) -> Result<bool> {
        if lseg.ends.iter().any(|end| self.contains_point(end)) {
            return Ok(true);
        }
        for side in self.sides() {
            if side.intersects(lseg)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Do they have a point in common?
    /// # Errors
    /// 22003.
    pub fn intersects_lseg(&self, lseg: &Lseg) -> Result<bool> {
        Ok(self.is_near_lseg(lseg) && self.has_part_of(lseg)?)
    }

    /// How far a segment is from it.
    /// # Errors
    /// 22003.
    pub fn distance_to_lseg(&self, lseg: &Lseg) -> Result<f64> {
        if self.intersects_lseg(lseg)? {
            return Ok(0.0);
        }
        Ok(self.nearest_side(|side| side.nearest(lseg))?.0)
    }

    /// Its point that is nearest to a segment; of one that meets it the segment's point that is nearest to its center.
    /// # Errors
    /// 22003.
    pub fn nearest_to_lseg(&self, lseg: &Lseg) -> Result<Option<Point>> {
        if self.is_near_lseg(lseg) {
            let (_, point) = lseg.nearest_to_point(&self.center()?)?;
            if self.has_part_of(lseg)? {
                return Ok(Some(point));
            }
        }
        Ok(super::lseg::found(self.nearest_side(|side| side.nearest(lseg))?))
    }

    /// Does a line cross it?
    /// # Errors
    /// 22003.
    pub fn intersects_line(&self, line: &Line) -> Result<bool> {
        let [left, above, below, right] = self.sides();
        for side in [left, above, right, below] {
            if side.intersects_line(line)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
