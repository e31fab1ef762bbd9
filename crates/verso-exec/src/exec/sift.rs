//! Parts of a scan's condition that the table's cursor asks by itself, before a row is copied out of a page.
//!
//! 1. These are comparisons of columns with what is the same for all rows, with each other, and with lists of texts: nothing of
//!    them can fail once the constants are known.
//! 2. A part behind others that can fail is asked where it stands: with them, row by row. So errors stay those of the rows.
//! 3. A constant that cannot be computed, or is not of the kind expected, leaves the whole condition to the scan.

use std::sync::Arc;

use verso_storage::heap::Condition;
use verso_types::decimal::POW10;
use verso_types::{Physical, SqlType, Value, without_blanks};

use crate::context::EvalContext;
use crate::expr::like::LikePattern;
use crate::expr::{RowExpr, depends_on_row};
use crate::functions::kernel::{CompareOp, Kernel};
use crate::plan::{ExprKind, TypedExpr};

/// Texts of a list that are compared one by one.
const TEXTS_MAX: usize = 16;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// What is asked of columns of the scan, given by their places.
#[derive(Debug)]
pub(super) struct Sift {
    terms: Vec<Term>,
}

#[derive(Debug)]
enum Term {
    Bound {
        column: usize,
        unit: Unit,
        op: CompareOp,
        constant: RowExpr,
    },
    Below {
        column: usize,
        other: usize,
        or_equal: bool,
    },
    /// Texts, and whether they are a char's: blanks at their end do not count.
    Among {
        column: usize,
        texts: Vec<(RowExpr, bool)>,
        negated: bool,
    },
}

/// What the integers of a column count.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    /// What the constant counts, too.
    Same,
    /// Days, compared with microseconds.
    Days,
    /// Numbers times 10^scale.
    Scaled(u8),
}

impl Sift {
    /// Takes out of a condition what can be asked so, and the rest of it. None where there is nothing.
    pub fn of(condition: &TypedExpr) -> Option<(Arc<Sift>, Option<TypedExpr>)> {
        let (mut terms, mut rest) = (Vec::new(), Vec::new());
        let mut may_fail = false;
        for part in condition.clone().conjuncts() {
            match term(&part).filter(|_| !may_fail) {
                Some(term) => terms.push(term),
                None => {
                    may_fail |= !cannot_fail(&part);
                    rest.push(part);
                }
            }
        }
        (!terms.is_empty()).then(|| (Arc::new(Sift { terms }), TypedExpr::conjunction(rest)))
    }

    /// The columns that it looks at.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.terms.iter().flat_map(|term| {
            match term {
                Term::Bound { column, .. } | Term::Among { column, .. } => [Some(*column), None],
                Term::Below { column, other, .. } => [Some(*column), Some(*other)],
            }
            .into_iter()
            .flatten()
        })
    }

    /// The conditions, now that constants have values; `id` tells the identity of a column.
    pub fn conditions(&self, cx: &EvalContext<'_>, id: impl Fn(usize) -> u16) -> Option<Vec<Condition>> {
        let mut conditions: Vec<Condition> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            match term {
                Term::Below { column, other, or_equal } => {
                    let (column, other) = (id(*column), id(*other));
                    conditions.push(Condition::Below { column, other, or_equal: *or_equal });
                }
                Term::Among { column, texts, negated } => {
                    let mut values: Vec<Box<[u8]>> = Vec::with_capacity(texts.len());
                    let mut any_null = false;
                    for (text, padded) in texts {
                        match text.eval_constant(cx).ok()? {
                            Value::Text(text) if *padded => {
                                values.push(without_blanks(text.as_bytes()).into());
                            }
                            Value::Text(text) => values.push(text.as_bytes().into()),
                            Value::Null => any_null = true,
                            _ => return None,
                        }
                    }
                    let unknown = *negated && any_null;
                    if unknown {
                        // Whether a value is none of them is not known: no row is left.
                        values.clear();
                    }
                    let (column, negated) = (id(*column), *negated && !unknown);
                    conditions.push(Condition::Among { column, values: values.into(), negated });
                }
                Term::Bound { column, unit, op, constant } => {
                    let value = constant.eval_constant(cx).ok()?;
                    let (least, most) = if value.is_null() { (1, 0) } else { unit.range(*op, &value)? };
                    let own = id(*column);
                    let known = conditions.iter_mut().find_map(|known| match known {
                        Condition::Range { column, low, high } if *column == own => Some((low, high)),
                        _ => None,
                    });
                    match known {
                        Some((low, high)) => (*low, *high) = (least.max(*low), most.min(*high)),
                        None => conditions.push(Condition::Range { column: own, low: least, high: most }),
                    }
                }
            }
        }
        Some(conditions)
    }
}

impl Unit {
    /// The integers that are so to a constant, from the least to the greatest one.
    fn range(self, op: CompareOp, constant: &Value) -> Option<(i64, i64)> {
        // The greatest integer that is not above the constant, and whether it is equal to it.
        let (floor, exact): (i128, bool) = match (self, constant) {
            (Unit::Same, Value::Int2(value)) => (i128::from(*value), true),
            (Unit::Same, Value::Int4(value) | Value::Date(value)) => (i128::from(*value), true),
            (
                Unit::Same,
                Value::Int8(value) | Value::Time(value) | Value::Timestamp(value) | Value::Timestamptz(value),
            ) => (i128::from(*value), true),
            (Unit::Days, Value::Timestamp(i64::MAX)) => (i128::from(i32::MAX), true),
            (Unit::Days, Value::Timestamp(i64::MIN)) => (i128::from(i32::MIN), true),
            (Unit::Days, Value::Timestamp(micros)) => {
                (micros.div_euclid(MICROS_PER_DAY).into(), micros.rem_euclid(MICROS_PER_DAY) == 0)
            }
            (Unit::Scaled(scale), Value::Numeric(decimal)) => {
                let factor = POW10[usize::from(scale.abs_diff(decimal.scale()))];
                if decimal.scale() <= scale {
                    // Beyond all 64-bit integers it is beyond those of the column.
                    let far = if decimal.unscaled() < 0 { i128::MIN / 2 } else { i128::MAX / 2 };
                    (decimal.unscaled().checked_mul(factor).unwrap_or(far), true)
                } else {
                    let unscaled = decimal.unscaled();
                    (unscaled.div_euclid(factor), unscaled.rem_euclid(factor) == 0)
                }
            }
            _ => return None,
        };
        let (ends, none) = ((i128::from(i64::MIN), i128::from(i64::MAX)), (1, 0));
        let (low, high) = match op {
            CompareOp::Equal if exact => (floor, floor),
            CompareOp::Equal => return Some(none),
            CompareOp::Less => (ends.0, if exact { floor - 1 } else { floor }),
            CompareOp::LessOrEqual => (ends.0, floor),
            CompareOp::Greater => (floor + 1, ends.1),
            CompareOp::GreaterOrEqual => (if exact { floor } else { floor + 1 }, ends.1),
            CompareOp::NotEqual => return None,
        };
        if low > ends.1 || high < ends.0 || low > high {
            return Some(none);
        }
        Some((i64::try_from(low).unwrap_or(i64::MIN), i64::try_from(high).unwrap_or(i64::MAX)))
    }
}

/// A part of a condition that can be asked of the cursor.
fn term(part: &TypedExpr) -> Option<Term> {
    match &part.kind {
        ExprKind::Call { function, args } => {
            let (Some(Kernel::Compare(op)), [left, right]) = (function.kernel, &args[..]) else {
                return None;
            };
            match (column(left), column(right)) {
                (Some(left), Some(right)) => below(op, left, right),
                (Some(of), None) => bound(of, op, right),
                (None, Some(of)) => bound(of, turned(op), left),
                (None, None) => None,
            }
        }
        ExprKind::InList { arg, list, negated } => {
            let (at, ty) = column(arg)?;
            let given = list.iter().all(is_given);
            let fits = given && list.len() <= TEXTS_MAX && is_text(ty) && is_text(&arg.ty);
            fits.then(|| Term::Among {
                column: at,
                texts: list.iter().map(text).collect(),
                negated: *negated,
            })
        }
        _ => None,
    }
}

/// A column of the scan, and its type there, also where it is only seen as another type.
fn column(expr: &TypedExpr) -> Option<(usize, &SqlType)> {
    match &expr.kind {
        ExprKind::Column(at) => Some((*at, &expr.ty)),
        ExprKind::Cast { arg, .. } => {
            let ExprKind::Column(at) = arg.kind else { return None };
            let same = match (&arg.ty, &expr.ty) {
                (SqlType::Int2, SqlType::Int4 | SqlType::Int8) | (SqlType::Int4, SqlType::Int8) => true,
                (SqlType::Date, SqlType::Timestamp(_)) => true,
                (SqlType::Numeric(Some(_)), SqlType::Numeric(None)) => true,
                // Stored without blanks at the end.
                (
                    SqlType::Varchar(_) | SqlType::Text | SqlType::Char(_),
                    SqlType::Text | SqlType::Varchar(None),
                ) => true,
                _ => false,
            };
            same.then_some((at, &arg.ty))
        }
        _ => None,
    }
}

/// Values that are equal exactly where their bytes are, as they are stored.
fn is_text(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_))
}

fn turned(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
        CompareOp::Equal | CompareOp::NotEqual => op,
    }
}

/// One column compared with another one.
fn below(op: CompareOp, (left, a): (usize, &SqlType), (right, b): (usize, &SqlType)) -> Option<Term> {
    let integers = |ty: &SqlType| {
        matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Date)
            || matches!(ty, SqlType::Timestamp(_) | SqlType::Timestamptz(_) | SqlType::Time(_))
    };
    let alike = match (a, b) {
        (SqlType::Numeric(Some(a)), SqlType::Numeric(Some(b))) => {
            a.is_small() && b.is_small() && a.scale == b.scale
        }
        (a, b) => a.same_base(b) && integers(a) && integers(b),
    };
    let (column, other, or_equal) = match op {
        _ if !alike => return None,
        CompareOp::Less => (left, right, false),
        CompareOp::LessOrEqual => (left, right, true),
        CompareOp::Greater => (right, left, false),
        CompareOp::GreaterOrEqual => (right, left, true),
        CompareOp::Equal | CompareOp::NotEqual => return None,
    };
    Some(Term::Below { column, other, or_equal })
}

/// A column compared with a constant.
fn bound((column, ty): (usize, &SqlType), op: CompareOp, constant: &TypedExpr) -> Option<Term> {
    if !is_given(constant) {
        return None;
    }
    if is_text(ty) && is_text(&constant.ty) && matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
        let texts = vec![text(constant)];
        return Some(Term::Among { column, texts, negated: op == CompareOp::NotEqual });
    }
    let integers = matches!(ty.physical(), Physical::I16 | Physical::I32 | Physical::I64);
    let unit = match (ty, &constant.ty) {
        _ if op == CompareOp::NotEqual || !integers => return None,
        (SqlType::Int2 | SqlType::Int4 | SqlType::Int8, other) if other.is_integer() => Unit::Same,
        (SqlType::Date, SqlType::Timestamp(_)) => Unit::Days,
        (SqlType::Numeric(Some(spec)), SqlType::Numeric(_)) => Unit::Scaled(spec.scale),
        (SqlType::Date | SqlType::Time(_) | SqlType::Timestamp(_) | SqlType::Timestamptz(_), other)
            if ty.same_base(other) =>
        {
            Unit::Same
        }
        _ => return None,
    };
    Some(Term::Bound { column, unit, op, constant: RowExpr::compile(constant) })
}

/// A text that rows are compared with. Columns are stored without the blanks that a char may have at its end.
fn text(constant: &TypedExpr) -> (RowExpr, bool) {
    (RowExpr::compile(constant), matches!(constant.ty, SqlType::Char(_)))
}

/// Whether it is the same for all rows, and asking for it does nothing else.
fn is_given(expr: &TypedExpr) -> bool {
    !depends_on_row(expr)
        && !expr.is_volatile()
        && !expr.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }))
}

/// Whether no row makes it fail.
fn cannot_fail(expr: &TypedExpr) -> bool {
    let itself = match &expr.kind {
        ExprKind::Column(_)
        | ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Outer(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::InList { .. } => true,
        ExprKind::Call { function, .. } => matches!(function.kernel, Some(Kernel::Compare(_))),
        ExprKind::Cast { arg, .. } => column(expr).is_some() && !matches!(arg.ty, SqlType::Date),
        ExprKind::Like { pattern, escape, case_insensitive, .. } => {
            let pattern = LikePattern::of_literals(pattern, escape.as_deref(), *case_insensitive);
            pattern.is_some_and(|pattern| pattern.is_ok())
        }
        _ => false,
    };
    let mut all = itself;
    expr.for_each_child(&mut |child| all = all && cannot_fail(child));
    all
}
