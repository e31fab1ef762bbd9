//! `lseg`: a straight line from one point to another.

use super::number::{Result, is_less, is_near};
use super::{Line, Point, Shape, numbers};
use crate::opaque::OpaqueKind;

/// A line segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lseg {
    /// Where it begins and where it ends.
    pub ends: [Point; 2],
}

impl Shape for Lseg {
    const KIND: OpaqueKind = OpaqueKind::Lseg;

    fn put(&self, out: &mut Vec<u8>) {
        super::put_points(&self.ends, out);
    }

    fn take(bytes: &[u8]) -> Lseg {
        let [a, b, c, d] = numbers(bytes);
        Lseg { ends: [Point::new(a, b), Point::new(c, d)] }
    }
}

impl Lseg {
    /// The segment between two points.
    pub fn new(from: Point, to: Point) -> Lseg {
        Lseg { ends: [from, to] }
    }

    /// How long it is.
    /// # Errors
    /// 22003.
    pub fn length(&self) -> Result<f64> {
        self.ends[0].distance(&self.ends[1])
    }

    /// Its middle.
    /// # Errors
    /// 22003.
    pub fn center(&self) -> Result<Point> {
        self.ends[0].middle(&self.ends[1])
    }

    /// How much it rises.
    /// # Errors
    /// 22003.
    pub fn slope(&self) -> Result<f64> {
        self.ends[0].slope(&self.ends[1])
    }

    fn upright_slope(&self) -> Result<f64> {
        self.ends[0].upright_slope(&self.ends[1])
    }

    /// The line that it is a part of.
    fn line(&self) -> Result<Line> {
        Line::through(&self.ends[0], self.slope()?)
    }

    /// Is it vertical?
    pub fn is_vertical(&self) -> bool {
        is_near(self.ends[0].x, self.ends[1].x)
    }

    /// Is it horizontal?
    pub fn is_horizontal(&self) -> bool {
        is_near(self.ends[0].y, self.ends[1].y)
    }

    /// Do both rise alike?
    /// # Errors
    /// 22003.
    pub fn is_parallel(&self, other: &Lseg) -> Result<bool> {
        Ok(is_near(self.slope()?, other.slope()?))
    }

    /// Does one stand upright on the other?
    /// # Errors
    /// 22003.
    pub fn is_perpendicular(&self, other: &Lseg) -> Result<bool> {
        Ok(is_near(self.slope()?, other.upright_slope()?))
    }

    /// Whether both begin and end at the same points.
    pub fn is_same(&self, other: &Lseg) -> bool {
        self.ends[0].is_same(&other.ends[0]) && self.ends[1].is_same(&other.ends[1])
    }

    /// Is a point on it? It is where it makes no detour from one end to the other.
    /// # Errors
    /// 22003.
    pub fn contains(&self, point: &Point) -> Result<bool> {
        let way = point.distance(&self.ends[0])? + point.distance(&self.ends[1])?;
        Ok(is_near(way, self.length()?))
    }

    /// Whether all of it is on a line.
    /// # Errors
    /// 22003.
    pub fn is_on_line(&self, line: &Line) -> Result<bool> {
        Ok(line.contains(&self.ends[0])? && line.contains(&self.ends[1])?)
    }

    /// Where it meets a line; the very end where it is about there.
    /// # Errors
    /// 22003.
    pub fn meets_line(&self, line: &Line) -> Result<Option<Point>> {
        let Some(point) = self.line()?.meets(line)? else { return Ok(None) };
        if !self.contains(&point)? {
            return Ok(None);
        }
        Ok(Some(self.ends.into_iter().find(|end| end.is_same(&point)).unwrap_or(point)))
    }

    /// Does it meet a line?
    /// # Errors
    /// 22003.
    pub fn intersects_line(&self, line: &Line) -> Result<bool> {
        Ok(self.meets_line(line)?.is_some())
    }

    /// Where it meets another segment.
    /// # Errors
    /// 22003.
    pub fn meets(&self, other: &Lseg) -> Result<Option<Point>> {
        let Some(point) = self.meets_line(&other.line()?)? else { return Ok(None) };
        Ok(other.contains(&point)?.then_some(point))
    }

    /// Does it meet another segment?
    /// # Errors
    /// 22003.
    pub fn intersects(&self, other: &Lseg) -> Result<bool> {
        Ok(self.meets(other)?.is_some())
    }

    /// How far a line is from it, and its point that is nearest to the line: where there are several, its second end.
    /// # Errors
    /// 22003.
    pub fn nearest_to_line(&self, line: &Line) -> Result<(f64, Point)> {
        if let Some(point) = self.meets_line(line)? {
            return Ok((0.0, point));
        }
        let (first, second) = (line.nearest(&self.ends[0])?.0, line.nearest(&self.ends[1])?.0);
        Ok(if first < second { (first, self.ends[0]) } else { (second, self.ends[1]) })
    }

    /// How far a point is from it, and its point that is nearest to that.
    /// # Errors
    /// 22003.
    pub fn nearest_to_point(&self, point: &Point) -> Result<(f64, Point)> {
        let upright = Line::through(point, self.upright_slope()?)?;
        let (_, nearest) = self.nearest_to_line(&upright)?;
        Ok((nearest.distance(point)?, nearest))
    }

    /// How far another segment is from it, and its point that is nearest to that.
    /// # Errors
    /// 22003.
    pub fn nearest(&self, other: &Lseg) -> Result<(f64, Point)> {
        if let Some(point) = self.meets(other)? {
            return Ok((0.0, point));
        }
        // Two segments that do not meet are nearest at an end of one of them.
        let mut best = self.nearest_to_point(&other.ends[0])?;
        let second = self.nearest_to_point(&other.ends[1])?;
        if is_less(second.0, best.0) {
            best = second;
        }
        for end in self.ends {
            let (distance, _) = other.nearest_to_point(&end)?;
            if is_less(distance, best.0) {
                best = (distance, end);
            }
        }
        Ok(best)
    }

    /// The point of another segment that is nearest to this one; `None` where they rise alike.
    /// # Errors
    /// 22003.
    pub fn nearest_of(&self, other: &Lseg) -> Result<Option<Point>> {
        if self.slope()? == other.slope()? {
            return Ok(None);
        }
        Ok(found(other.nearest(self)?))
    }

    /// Its point that is nearest to a line; `None` where they rise alike.
    /// # Errors
    /// 22003.
    pub fn point_near_line(&self, line: &Line) -> Result<Option<Point>> {
        if self.slope()? == line.slope()? {
            return Ok(None);
        }
        Ok(found(self.nearest_to_line(line)?))
    }
}

/// A nearest point, where the distance is a number.
pub fn found((distance, point): (f64, Point)) -> Option<Point> {
    (!distance.is_nan()).then_some(point)
}
