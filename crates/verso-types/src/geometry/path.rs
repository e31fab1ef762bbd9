//! `path`: points and the segments from each to the next, open, or closed by one from the last to the first.

use super::inside::is_inside;
use super::number::{Result, is_less, is_near, minus, over, plus, times};
use super::{Lseg, Point, Polygon, Rect, Shape, put_points, take_points, too_many_points};
use crate::error::{TypeError, sqlstate};
use crate::interrupt::Pieces;
use crate::opaque::OpaqueKind;

/// A path.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Whether a segment leads from the last point to the first.
    pub closed: bool,
    /// One at least.
    pub points: Vec<Point>,
}

impl Shape for Path {
    const KIND: OpaqueKind = OpaqueKind::Path;

    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.closed));
        put_points(&self.points, out);
    }

    fn take(bytes: &[u8]) -> Path {
        let (closed, points) = bytes.split_first().map_or((0, bytes), |(closed, points)| (*closed, points));
        Path { closed: closed != 0, points: take_points(points) }
    }
}

/// The segments between points that follow each other, where they are closed the one from the last to the first before them.
pub(super) fn segments(points: &[Point], closed: bool) -> impl Iterator<Item = Lseg> + Clone {
    let closing = points.first().zip(points.last()).filter(|_| closed);
    let closing = closing.map(|(first, last)| Lseg::new(*last, *first));
    closing.into_iter().chain(points.windows(2).map(|pair| Lseg::new(pair[0], pair[1])))
}

/// The least distance between the segments of two outlines; `None` where one has none.
pub(super) fn least_distance(
    ours: impl Iterator<Item = Lseg>,
    theirs: impl Iterator<Item = Lseg> + Clone,
) -> Result<Option<f64>> {
    let (mut best, mut pieces): (Option<f64>, _) = (None, Pieces::default());
    for our in ours {
        for their in theirs.clone() {
            pieces.one_more()?;
            let (distance, _) = our.nearest(&their)?;
            if best.is_none_or(|best| is_less(distance, best)) {
                best = Some(distance);
            }
        }
    }
    Ok(best)
}

/// Whether one of the segments of two outlines meets one of the others.
pub(super) fn any_meet(
    ours: impl Iterator<Item = Lseg>,
    theirs: impl Iterator<Item = Lseg> + Clone,
) -> Result<bool> {
    let mut pieces = Pieces::default();
    for our in ours {
        for their in theirs.clone() {
            pieces.one_more()?;
            if our.intersects(&their)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

impl Path {
    fn segments(&self) -> impl Iterator<Item = Lseg> + Clone {
        segments(&self.points, self.closed)
    }

    /// How many points it has.
    pub fn count(&self) -> i32 {
        i32::try_from(self.points.len()).unwrap_or(i32::MAX)
    }

    /// Is it closed?
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Is it open?
    pub fn is_open(&self) -> bool {
        !self.closed
    }

    /// The same, closed.
    #[must_use]
    pub fn close(&self) -> Path {
        Path { closed: true, ..self.clone() }
    }

    /// The same, open.
    #[must_use]
    pub fn open(&self) -> Path {
        Path { closed: false, ..self.clone() }
    }

    /// How long it is.
    /// # Errors
    /// 22003.
    pub fn length(&self) -> Result<f64> {
        self.segments().try_fold(0.0, |length, segment| plus(length, segment.length()?))
    }

    /// How much is within; `None` where it is open.
    /// # Errors
    /// 22003.
    pub fn area(&self) -> Result<Option<f64>> {
        if !self.closed {
            return Ok(None);
        }
        let mut area = 0.0;
        let next = self.points.iter().cycle().skip(1);
        for (one, next) in self.points.iter().zip(next) {
            area = plus(area, times(one.x, next.y)?)?;
            area = minus(area, times(one.y, next.x)?)?;
        }
        over(area.abs(), 2.0).map(Some)
    }

    /// How far it is from another one; `None` where one of them is a single point.
    /// # Errors
    /// 22003, 57014.
    pub fn distance(&self, other: &Path) -> Result<Option<f64>> {
        least_distance(self.segments(), other.segments())
    }

    /// How far a point is from it; 0 where it is a single point, as in PostgreSQL.
    /// # Errors
    /// 22003.
    pub fn distance_to_point(&self, point: &Point) -> Result<f64> {
        let mut best = None;
        for segment in self.segments() {
            let (distance, _) = segment.nearest_to_point(point)?;
            if best.is_none_or(|best| is_less(distance, best)) {
                best = Some(distance);
            }
        }
        Ok(best.unwrap_or(0.0))
    }

    /// Do they meet?
    /// # Errors
    /// 22003, 57014.
    pub fn intersects(&self, other: &Path) -> Result<bool> {
        if !Rect::around(&self.points).overlaps(&Rect::around(&other.points)) {
            return Ok(false);
        }
        any_meet(self.segments(), other.segments())
    }

    /// Whether a point is on it, or where it is closed in it.
    /// # Errors
    /// 22003.
    pub fn contains_point(&self, point: &Point) -> Result<bool> {
        if self.closed {
            return is_inside(point, &self.points);
        }
        let Some(first) = self.points.first() else { return Ok(false) };
        let mut to_last = point.distance(first)?;
        for pair in self.points.windows(2) {
            let to_next = point.distance(&pair[1])?;
            if is_near(plus(to_last, to_next)?, pair[0].distance(&pair[1])?) {
                return Ok(true);
            }
            to_last = to_next;
        }
        Ok(false)
    }

    /// One behind the other, where both are open.
    /// # Errors
    /// 54000.
    pub fn plus(&self, other: &Path) -> Result<Option<Path>> {
        if self.closed || other.closed {
            return Ok(None);
        }
        let count = self.points.len() + other.points.len();
        if i32::try_from(count).is_ok_and(|count| count <= super::POINTS_MAX) {
            return Ok(Some(Path { closed: false, points: [&*self.points, &other.points].concat() }));
        }
        Err(too_many_points())
    }

    /// The same with each point computed anew.
    /// # Errors
    /// What the computation says.
    pub fn map(&self, with: impl Fn(&Point) -> Result<Point>) -> Result<Path> {
        let points = self.points.iter().map(with).collect::<Result<_>>()?;
        Ok(Path { closed: self.closed, points })
    }

    /// What is within.
    /// # Errors
    /// 22023 where it is open.
    pub fn to_polygon(&self) -> Result<Polygon> {
        if !self.closed {
            let text = "open path cannot be converted to polygon";
            return Err(TypeError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        }
        Ok(Polygon::new(self.points.clone()))
    }
}
