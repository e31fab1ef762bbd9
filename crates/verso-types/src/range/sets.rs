//! Ranges as sets of values: what contains, overlaps, precedes what; union, intersection, difference.
//!
//! Both ranges and multiranges are lists of ranges here: of one, of none if it is empty, or of those of a multirange.

use std::cmp::Ordering;

use super::bound::{Bound, Side, compare_bounds, touch};
use super::{Range, RangeKind};
use crate::value::{Value, cmp_sql};

type Bounds = (Bound, Bound);

fn lower(bounds: &Bounds) -> (&Bound, Side) {
    (&bounds.0, Side::Lower)
}

fn upper(bounds: &Bounds) -> (&Bound, Side) {
    (&bounds.1, Side::Upper)
}

/// The bounds of the ranges that are not empty.
fn filled(ranges: &[Range]) -> impl DoubleEndedIterator<Item = &Bounds> {
    ranges.iter().filter_map(|range| range.bounds.as_ref())
}

/// The ranges in order, those that overlap or touch made one, without empty ones.
pub fn normalized(ranges: Vec<Range>) -> Vec<Range> {
    let mut ranges: Vec<Range> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
    ranges.sort_by(Range::compare);
    let mut merged: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        if let (Some(Range { bounds: Some(last), .. }), Some(own)) = (merged.last_mut(), &range.bounds)
            && (compare_bounds(lower(own), upper(last)).is_le() || touch(&last.1, &own.0))
        {
            if compare_bounds(upper(own), upper(last)).is_gt() {
                last.1 = own.1.clone();
            }
            continue;
        }
        merged.push(range);
    }
    merged
}

/// Whether a value is in one of the ranges.
pub fn contains_value(ranges: &[Range], value: &Value) -> bool {
    filled(ranges).any(|(lower, upper)| {
        let order = |bound: &Bound| bound.value.as_ref().map(|bound| cmp_sql(value, bound));
        let above = match order(lower) {
            None | Some(Ordering::Greater) => true,
            Some(Ordering::Equal) => lower.inclusive,
            Some(Ordering::Less) => false,
        };
        above
            && match order(upper) {
                None | Some(Ordering::Less) => true,
                Some(Ordering::Equal) => upper.inclusive,
                Some(Ordering::Greater) => false,
            }
    })
}

/// Whether each value of `b` is in `a`, whose ranges do not touch each other.
pub fn contains(a: &[Range], b: &[Range]) -> bool {
    filled(b).all(|inner| {
        filled(a).any(|outer| {
            compare_bounds(lower(outer), lower(inner)).is_le()
                && compare_bounds(upper(outer), upper(inner)).is_ge()
        })
    })
}

/// Whether a value is in both.
pub fn overlaps(a: &[Range], b: &[Range]) -> bool {
    filled(a).any(|a| filled(b).any(|b| overlap(a, b)))
}

fn overlap(a: &Bounds, b: &Bounds) -> bool {
    compare_bounds(lower(a), upper(b)).is_le() && compare_bounds(lower(b), upper(a)).is_le()
}

/// Whether `a` ends before `b` begins.
pub fn is_before(a: &[Range], b: &[Range]) -> bool {
    match (filled(a).next_back(), filled(b).next()) {
        (Some(last), Some(first)) => compare_bounds(upper(last), lower(first)).is_lt(),
        _ => false,
    }
}

/// Whether `a` does not end behind `b`'s end.
pub fn ends_within(a: &[Range], b: &[Range]) -> bool {
    match (filled(a).next_back(), filled(b).next_back()) {
        (Some(a), Some(b)) => compare_bounds(upper(a), upper(b)).is_le(),
        _ => false,
    }
}

/// Whether `a` does not begin before `b`'s beginning.
pub fn begins_within(a: &[Range], b: &[Range]) -> bool {
    match (filled(a).next(), filled(b).next()) {
        (Some(a), Some(b)) => compare_bounds(lower(a), lower(b)).is_ge(),
        _ => false,
    }
}

/// Whether one begins where the other ends.
pub fn are_adjacent(a: &[Range], b: &[Range]) -> bool {
    let follows = |a: &[Range], b: &[Range]| match (filled(a).next_back(), filled(b).next()) {
        (Some(last), Some(first)) => touch(&last.1, &first.0),
        _ => false,
    };
    follows(a, b) || follows(b, a)
}

/// The values that are in both.
pub fn intersection(kind: RangeKind, a: &[Range], b: &[Range]) -> Vec<Range> {
    let mut common = Vec::new();
    for a in filled(a) {
        for b in filled(b).filter(|b| overlap(a, b)) {
            let first = if compare_bounds(lower(a), lower(b)).is_ge() { &a.0 } else { &b.0 };
            let last = if compare_bounds(upper(a), upper(b)).is_le() { &a.1 } else { &b.1 };
            common.push(Range { kind, bounds: Some((first.clone(), last.clone())) });
        }
    }
    common
}

/// The values of `a` that are not in `b`.
pub fn difference(kind: RangeKind, a: &[Range], b: &[Range]) -> Vec<Range> {
    let opposite = |bound: &Bound| Bound { value: bound.value.clone(), inclusive: !bound.inclusive };
    let mut rest: Vec<Bounds> = filled(a).cloned().collect();
    for taken in filled(b) {
        let mut left = Vec::with_capacity(rest.len() + 1);
        for own in rest {
            if !overlap(&own, taken) {
                left.push(own);
                continue;
            }
            if compare_bounds(lower(&own), lower(taken)).is_lt() {
                left.push((own.0.clone(), opposite(&taken.0)));
            }
            if compare_bounds(upper(&own), upper(taken)).is_gt() {
                left.push((opposite(&taken.1), own.1));
            }
        }
        rest = left;
    }
    rest.into_iter().map(|bounds| Range { kind, bounds: Some(bounds) }).collect()
}

/// The smallest range that has all values of the ranges.
pub fn span(kind: RangeKind, ranges: &[Range]) -> Range {
    let mut all: Option<Bounds> = None;
    for bounds in filled(ranges) {
        all = Some(match all {
            None => bounds.clone(),
            Some(so_far) => {
                let first =
                    if compare_bounds(lower(&so_far), lower(bounds)).is_le() { &so_far.0 } else { &bounds.0 };
                let last =
                    if compare_bounds(upper(&so_far), upper(bounds)).is_ge() { &so_far.1 } else { &bounds.1 };
                (first.clone(), last.clone())
            }
        });
    }
    Range { kind, bounds: all }
}
