//! What the condition of a scan says about the places of rows (`ctid`): which pages of the table have them.
//!
//! P1. The condition is asked of every row all the same: places only leave pages out.
//! P2. One conjunct that lists places is enough, and the others are conditions like any; without one all comparisons count.

use super::{ExprKind, RECORD_COLUMN, TypedExpr};
use crate::functions::Volatility;

/// The operator that makes `ctid` of the place of a row.
pub const PLACE: &str = "row place";

/// Places that a condition asks for.
#[derive(Clone, Debug)]
pub enum Places<'e> {
    /// `ctid = …`, `IN`, `= ANY`, and several of them with OR.
    Listed(Vec<Listed<'e>>),
    /// Behind, or before, a place.
    Between(Vec<Side<'e>>),
}

/// A place, or an array of them.
#[derive(Clone, Copy, Debug)]
pub enum Listed<'e> {
    /// One.
    One(&'e TypedExpr),
    /// The elements of an array.
    Any(&'e TypedExpr),
}

/// A side of a range of places. Whether the place itself is included does not matter for its page.
#[derive(Clone, Copy, Debug)]
pub enum Side<'e> {
    /// Not before this one.
    From(&'e TypedExpr),
    /// Not behind this one.
    To(&'e TypedExpr),
}

impl<'e> Places<'e> {
    /// What a filter over `columns` of a table says, and the conjuncts that say it, by their numbers.
    #[must_use]
    pub fn of(columns: &[usize], filter: &'e TypedExpr) -> Option<(Places<'e>, Vec<usize>)> {
        if !columns.contains(&RECORD_COLUMN) {
            return None;
        }
        let conjuncts = parts(filter, |kind| match kind {
            ExprKind::And(parts) => Some(parts),
            _ => None,
        });
        let listed = conjuncts.iter().enumerate().find_map(|(n, conjunct)| {
            let mut places = Vec::new();
            list(columns, conjunct, &mut places).then_some((Places::Listed(places), vec![n]))
        });
        listed.or_else(|| {
            let side = |(n, conjunct): (usize, &&'e TypedExpr)| Some((side(columns, conjunct)?, n));
            let (sides, said): (Vec<_>, Vec<_>) = conjuncts.iter().enumerate().filter_map(side).unzip();
            (!sides.is_empty()).then_some((Places::Between(sides), said))
        })
    }

    /// Whether it is a list, which is better than any index.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        matches!(self, Places::Listed(_))
    }

    /// About how many rows it finds; none where it is a range.
    #[must_use]
    pub fn rows(&self) -> Option<f64> {
        let rows = |listed: &Listed<'_>| match listed {
            Listed::One(_) => 1.0,
            // As many as PostgreSQL assumes.
            Listed::Any(_) => 10.0,
        };
        match self {
            Places::Listed(places) => Some(places.iter().map(rows).sum()),
            Places::Between(_) => None,
        }
    }
}

/// The parts of a condition within conditions of its own kind.
fn parts<'e>(
    expr: &'e TypedExpr,
    within: impl Fn(&'e ExprKind) -> Option<&'e Vec<TypedExpr>> + Copy,
) -> Vec<&'e TypedExpr> {
    match within(&expr.kind) {
        Some(args) => args.iter().flat_map(|arg| parts(arg, within)).collect(),
        None => vec![expr],
    }
}

/// Whether an expression is `ctid` of the row.
fn is_place(columns: &[usize], expr: &TypedExpr) -> bool {
    let ExprKind::Call { function, args } = &expr.kind else { return false };
    let [TypedExpr { kind: ExprKind::Column(at), .. }] = args.as_slice() else { return false };
    function.operator == Some(PLACE) && columns.get(*at) == Some(&RECORD_COLUMN)
}

/// Whether an expression has one value as long as the scan is open.
fn is_fixed(expr: &TypedExpr) -> bool {
    !expr.any(&mut |part| match &part.kind {
        ExprKind::Column(_) => true,
        ExprKind::UserCall { function, .. } => function.volatility == verso_catalog::Volatility::Volatile,
        ExprKind::Subquery { plan, .. } => plan.is_volatile(),
        ExprKind::Call { function, .. } => function.volatility == Volatility::Volatile,
        _ => false,
    })
}

/// Appends the places that a condition lists, if it does nothing else.
fn list<'e>(columns: &[usize], condition: &'e TypedExpr, out: &mut Vec<Listed<'e>>) -> bool {
    let is_own = |expr: &TypedExpr| is_place(columns, expr);
    match &condition.kind {
        ExprKind::Or(parts) => parts.iter().all(|part| list(columns, part, out)),
        ExprKind::InList { arg, list, negated: false } if is_own(arg) && list.iter().all(is_fixed) => {
            out.extend(list.iter().map(Listed::One));
            true
        }
        ExprKind::Call { function, args } => {
            let [left, right] = args.as_slice() else { return false };
            let found = match function.operator {
                Some("=") if is_own(left) => Listed::One(right),
                Some("=") if is_own(right) => Listed::One(left),
                Some("= ANY") if is_own(left) => Listed::Any(right),
                _ => return false,
            };
            let (Listed::One(value) | Listed::Any(value)) = found;
            out.push(found);
            is_fixed(value)
        }
        _ => false,
    }
}

fn side<'e>(columns: &[usize], condition: &'e TypedExpr) -> Option<Side<'e>> {
    let ExprKind::Call { function, args } = &condition.kind else { return None };
    let [left, right] = args.as_slice() else { return None };
    let (own_first, value) = match (is_place(columns, left), is_place(columns, right)) {
        (true, false) => (true, right),
        (false, true) => (false, left),
        _ => return None,
    };
    let from = match function.operator? {
        ">" | ">=" => own_first,
        "<" | "<=" => !own_first,
        _ => return None,
    };
    is_fixed(value).then_some(if from { Side::From(value) } else { Side::To(value) })
}
