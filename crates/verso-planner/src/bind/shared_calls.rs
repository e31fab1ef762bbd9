//! Aggregates and functions over windows that are written once more.
//!
//! Each call gets a number of its own while it is bound, so two expressions of the same text differ by the numbers in them.
//! DISTINCT and ORDER BY ask whether two expressions are the same: what ORDER BY or DISTINCT ON repeats of the output gets the
//! number that it has there. A call of which nothing else speaks is then computed once.

use verso_exec::plan::{
    AggregateCall, FrameBound, SortKey, TypedExpr, WindowCall, WindowFrame, WindowFunction,
};

use super::context::{AGGREGATE_BASE, Context, GROUPING_BASE, SET_BASE, WINDOW_BASE};
use super::walk::{all_same, map_columns, optional, same, same_fold};

/// How many calls there were before an expression was bound.
pub(super) struct Before {
    aggregates: usize,
    windows: usize,
    sets: usize,
}

impl Before {
    pub(super) fn of(cx: &Context<'_>) -> Before {
        Before {
            aggregates: cx.aggregates.borrow().len(),
            windows: cx.windows.calls.len(),
            sets: cx.sets.len(),
        }
    }

    /// Gives the calls of an expression that was bound since then the numbers of equal ones before them.
    pub(super) fn share(&self, expr: &mut TypedExpr, cx: &mut Context<'_>) {
        // Functions over windows may be over aggregates, which are compared first.
        let aggregates = cx.aggregates.get_mut();
        let equal = |n: usize| (0..n).find(|known| same_aggregate(&aggregates[*known], &aggregates[n]));
        let places = places(self.aggregates, aggregates.len(), equal);
        let mut place = renumber(AGGREGATE_BASE..GROUPING_BASE, &places);
        map_columns(expr, &mut place);
        cx.windows.for_each_expr_mut(&mut |expr| map_columns(expr, &mut place));
        // Arguments of set-returning functions keep the numbers that they have.
        let unused = |places: &[usize], before: usize| {
            cx.sets.len() == self.sets && places[before..].iter().all(|place| *place < before)
        };
        if unused(&places, self.aggregates) {
            aggregates.truncate(self.aggregates);
        }
        let places = places_of_windows(self.windows, cx);
        map_columns(expr, &mut renumber(WINDOW_BASE..SET_BASE, &places));
        if unused(&places, self.windows) {
            cx.windows.calls.truncate(self.windows);
        }
    }
}

fn places_of_windows(before: usize, cx: &Context<'_>) -> Vec<usize> {
    let windows = &cx.windows;
    let equal = |n: usize| {
        (0..n).find(|known| {
            let (a, b) = (&windows.calls[*known], &windows.calls[n]);
            windows.same_definition(a.0, b.0) && same_window_call(&a.1, &b.1)
        })
    };
    places(before, windows.calls.len(), equal)
}

/// The first of equal calls for each; those before `before` stay.
fn places(before: usize, count: usize, equal: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    (0..count).map(|n| if n < before { n } else { equal(n).unwrap_or(n) }).collect()
}

/// What stands for call `n`, in a range of columns, stands for call `places[n]`.
fn renumber(range: std::ops::Range<usize>, places: &[usize]) -> impl FnMut(usize) -> usize {
    move |column| match range.contains(&column) {
        true => places.get(column - range.start).map_or(column, |place| range.start + place),
        false => column,
    }
}

fn same_keys(a: &[SortKey], b: &[SortKey]) -> bool {
    let key = |a: &SortKey, b: &SortKey| {
        (a.descending, a.nulls_first) == (b.descending, b.nulls_first) && same(&a.expr, &b.expr)
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| key(a, b))
}

fn same_aggregate(a: &AggregateCall, b: &AggregateCall) -> bool {
    std::ptr::eq(a.function, b.function)
        && (a.distinct, &a.ty) == (b.distinct, &b.ty)
        && all_same(&a.args, &b.args)
        && same_keys(&a.order_by, &b.order_by)
        && all_same(&a.direct, &b.direct)
        && optional(a.filter.as_ref(), b.filter.as_ref())
}

fn same_window_call(a: &WindowCall, b: &WindowCall) -> bool {
    let function = match (a.function, b.function) {
        (WindowFunction::Own(a), WindowFunction::Own(b)) => a == b,
        (WindowFunction::Aggregate(a), WindowFunction::Aggregate(b)) => std::ptr::eq(a, b),
        _ => false,
    };
    let fold = match (&a.fold, &b.fold) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            same_fold(&a.rules, &b.rules) && optional(a.inverse.as_ref(), b.inverse.as_ref())
        }
        _ => false,
    };
    function
        && fold
        && a.ty == b.ty
        && all_same(&a.args, &b.args)
        && optional(a.filter.as_ref(), b.filter.as_ref())
        && same_frame(&a.frame, &b.frame)
}

fn same_frame(a: &WindowFrame, b: &WindowFrame) -> bool {
    let bound = |a: &FrameBound, b: &FrameBound| match (a, b) {
        (FrameBound::Preceding(a), FrameBound::Preceding(b))
        | (FrameBound::Following(a), FrameBound::Following(b)) => same(a, b),
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    };
    (a.unit, a.exclude) == (b.unit, b.exclude) && bound(&a.start, &b.start) && bound(&a.end, &b.end)
}
