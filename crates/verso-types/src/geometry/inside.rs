//! What is within the outline of a polygon.

use super::number::{Result, is_above, is_at_least, is_at_most, is_below, is_zero, minus, times};
use super::{Lseg, Point};
use crate::interrupt::Pieces;

/// Whether a point is within an outline, or on it.
///
/// A ray goes from the point to the right, and what crosses it is counted, with a sign for the direction: upwards and downwards
/// cancel out for points outside. An end on the ray counts for half of a crossing, which its neighbour completes.
pub(super) fn is_inside(point: &Point, outline: &[Point]) -> Result<bool> {
    let relative = |corner: &Point| corner.minus(point);
    let Some((first, others)) = outline.split_first() else { return Ok(false) };
    let first = relative(first)?;
    let (mut last, mut sum) = (first, 0i64);
    for corner in others {
        let next = relative(corner)?;
        match crossing(&next, &last)? {
            None => return Ok(true),
            Some(halves) => sum += halves,
        }
        last = next;
    }
    Ok(match crossing(&first, &last)? {
        None => true,
        Some(halves) => sum + halves != 0,
    })
}

/// How the segment from `last` to `next` crosses the right half of the x axis, in halves; `None` where it goes through zero.
fn crossing(next: &Point, last: &Point) -> Result<Option<i64>> {
    let Point { x, y } = *next;
    if is_zero(y) {
        if is_zero(x) {
            return Ok(None);
        }
        let to_the_right = is_above(x, 0.0);
        return Ok(match (to_the_right, is_zero(last.y)) {
            // Along the axis: through zero, unless both ends are on the same side.
            (true, true) => is_above(last.x, 0.0).then_some(0),
            (false, true) => is_below(last.x, 0.0).then_some(0),
            (true, false) => Some(if is_below(last.y, 0.0) { 1 } else { -1 }),
            (false, false) => Some(0),
        });
    }
    let upwards = is_above(y, 0.0);
    let sign = if upwards { 1 } else { -1 };
    if is_zero(last.y) {
        return Ok(Some(if is_below(last.x, 0.0) { 0 } else { sign }));
    }
    let same_side = |number: f64| if upwards { is_above(number, 0.0) } else { is_below(number, 0.0) };
    if same_side(last.y) {
        return Ok(Some(0));
    }
    if is_at_least(x, 0.0) && is_above(last.x, 0.0) {
        return Ok(Some(2 * sign));
    }
    if is_below(x, 0.0) && is_at_most(last.x, 0.0) {
        return Ok(Some(0));
    }
    let side = minus(times(minus(x, last.x)?, y)?, times(minus(y, last.y)?, x)?)?;
    if is_zero(side) {
        return Ok(None);
    }
    Ok(Some(if same_side(side) { 0 } else { 2 * sign }))
}

/// A part of a segment that is still to be looked at.
struct Part {
    segment: Lseg,
    /// The corner at which the next side of the outline ends.
    next: usize,
    /// Whether it was taken apart: then its parts say whether it is within.
    apart: bool,
}

/// Whether all of a segment is within an outline.
///
/// The sides of the outline are looked at one after the other. One that crosses the segment takes it apart, one that touches it
/// leaves the part behind it, and the following sides are asked of these parts; a part that nothing takes apart is within if its
/// middle is. The parts stand on a stack: an outline may have many sides.
pub(super) fn has_segment(outline: &[Point], segment: &Lseg) -> Result<bool> {
    let (mut stack, mut pieces) =
        (vec![Part { segment: *segment, next: 0, apart: false }], Pieces::default());
    while let Some(part) = stack.last_mut() {
        pieces.one_more()?;
        let Lseg { ends: [from, to] } = part.segment;
        let at = part.next;
        let Some(corner) = outline.get(at) else {
            let (segment, apart) = (part.segment, part.apart);
            stack.pop();
            if !apart && !is_inside(&segment.center()?, outline)? {
                return Ok(false);
            }
            continue;
        };
        let before = if at == 0 { outline.last() } else { outline.get(at - 1) };
        let side = Lseg::new(before.copied().unwrap_or_default(), *corner);
        part.next += 1;
        let behind =
            |from: Point, to: Point| Part { segment: Lseg::new(from, to), next: at + 1, apart: false };
        if side.contains(&from)? {
            if side.contains(&to)? {
                stack.pop();
                continue;
            }
            stack.extend(touching(&from, &to, &side)?.map(|end| behind(to, end)));
        } else if side.contains(&to)? {
            stack.extend(touching(&to, &from, &side)?.map(|end| behind(from, end)));
        } else if let Some(point) = part.segment.meets(&side)? {
            part.apart = true;
            stack.extend([behind(to, point), behind(from, point)]);
        }
    }
    Ok(true)
}

/// The end of a side on the segment from `on`, a point of that side, to `off`, which is none: the side covers the segment up to
/// there. `None` where it does not go along it.
fn touching(on: &Point, off: &Point, side: &Lseg) -> Result<Option<Point>> {
    let segment = Lseg::new(*on, *off);
    let [first, second] = side.ends;
    let covers = |end: Point| -> Result<Option<Point>> { Ok(segment.contains(&end)?.then_some(end)) };
    if on.is_same(&first) {
        return covers(second);
    }
    if on.is_same(&second) {
        return covers(first);
    }
    match covers(first)? {
        Some(end) => Ok(Some(end)),
        None => covers(second),
    }
}
