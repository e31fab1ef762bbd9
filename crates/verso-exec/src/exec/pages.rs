//! Which pages of a table a scan reads, where its condition names places of rows ([`Places`]).

use std::ops::Range;
use std::sync::Arc;

use verso_types::Value;
use verso_types::opaque::tid::Tid;

use crate::context::EvalContext;
use crate::error::Result;
use crate::expr::RowExpr;
use crate::plan::{Listed, Places, Side, TypedExpr};

/// What tells the pages when a scan is opened.
#[derive(Clone)]
pub(crate) enum Pages {
    /// Places, and arrays of them.
    Listed(Vec<Arc<RowExpr>>),
    /// Sides of a range; whether it begins there.
    Between(Vec<(Arc<RowExpr>, bool)>),
}

impl Pages {
    /// Of a filter over `columns` of a table.
    pub fn of(columns: &[usize], filter: Option<&TypedExpr>) -> Option<Pages> {
        let compiled = |expr: &TypedExpr| Arc::new(RowExpr::compile(expr));
        let listed = |place: &Listed<'_>| match place {
            Listed::One(expr) | Listed::Any(expr) => compiled(expr),
        };
        let side = |side: &Side<'_>| match side {
            Side::From(expr) => (compiled(expr), true),
            Side::To(expr) => (compiled(expr), false),
        };
        Some(match Places::of(columns, filter?)?.0 {
            Places::Listed(places) => Pages::Listed(places.iter().map(listed).collect()),
            Places::Between(sides) => Pages::Between(sides.iter().map(side).collect()),
        })
    }

    /// The pages, ascending; NULL is no place, and in a range there is nothing then.
    pub fn ranges(&self, cx: &EvalContext<'_>) -> Result<Vec<Range<u32>>> {
        let mut ranges: Vec<Range<u32>> = match self {
            Pages::Listed(places) => {
                let mut pages = Vec::new();
                for expr in places {
                    match expr.eval_constant(cx)? {
                        Value::Array(places) => pages.extend(places.iter().filter_map(page)),
                        place => pages.extend(page(&place)),
                    }
                }
                pages.sort_unstable();
                pages.dedup();
                pages.into_iter().map(|page| page..page.saturating_add(1)).collect()
            }
            Pages::Between(sides) => {
                let (mut from, mut to) = (0, u32::MAX);
                for (expr, is_from) in sides {
                    let Some(page) = page(&expr.eval_constant(cx)?) else { return Ok(Vec::new()) };
                    if *is_from { from = from.max(page) } else { to = to.min(page.saturating_add(1)) }
                }
                std::iter::once(from..to).collect()
            }
        };
        ranges.retain(|range| range.start < range.end);
        Ok(ranges)
    }
}

/// The page of a place.
fn page(value: &Value) -> Option<u32> {
    match value {
        Value::Opaque(place) => Some(Tid::of(place).page),
        _ => None,
    }
}
