//! The short way of integers: sums and comparisons of variables and constants, which most loops consist of.
//!
//! It takes `+`, `-`, `*`, `/`, `%` and comparisons of integer and bigint, over variables, constants and casts from one to the
//! other. Whatever is not an everyday case (a NULL, a result out of range, a division by zero) is left to the general
//! expression, which knows what to say about it.

use verso_types::{SqlType, Value};

use super::frame::Frame;
use super::growing::Reads;
use crate::error::Result;
use crate::exec::ExecContext;
use crate::expr::RowExpr;
use crate::plan::{ExprKind, TypedExpr};

/// An expression of a body, with its short way where it has one.
pub(super) struct BodyExpr {
    short: Option<Short>,
    general: RowExpr,
    reads: Reads,
}

enum Short {
    /// A number of this type.
    Number { number: Number, is_wide: bool },
    /// A comparison.
    Test { test: Test, left: Number, right: Number },
}

enum Number {
    Slot(usize),
    Constant(i64),
    Of { operator: Operator, is_wide: bool, sides: Box<[Number; 2]> },
}

#[derive(Clone, Copy)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy)]
enum Test {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl BodyExpr {
    pub fn compile(expr: &TypedExpr) -> BodyExpr {
        BodyExpr { short: short(expr), general: RowExpr::compile(expr), reads: Reads::of(expr) }
    }

    /// Its value.
    #[inline]
    pub fn eval(&self, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Value> {
        match &self.short {
            Some(Short::Number { number, is_wide }) => {
                if let Some(number) = number.value(&frame.slots) {
                    let narrow = |number| Value::Int4(number as i32); // it was computed as one
                    return Ok(if *is_wide { Value::Int8(number) } else { narrow(number) });
                }
            }
            Some(Short::Test { .. }) => {
                if let Some(holds) = self.test(frame) {
                    return Ok(Value::Bool(holds));
                }
            }
            None => {}
        }
        frame.settle_for(self.reads);
        frame.eval(cx, &self.general)
    }

    /// Whether it is true.
    #[inline]
    pub fn holds(&self, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<bool> {
        match self.test(frame) {
            Some(holds) => Ok(holds),
            None => {
                frame.settle_for(self.reads);
                Ok(frame.eval(cx, &self.general)?.as_bool() == Some(true))
            }
        }
    }

    #[inline]
    fn test(&self, frame: &Frame) -> Option<bool> {
        let Some(Short::Test { test, left, right }) = &self.short else { return None };
        let (left, right) = (left.value(&frame.slots)?, right.value(&frame.slots)?);
        Some(match test {
            Test::Equal => left == right,
            Test::NotEqual => left != right,
            Test::Less => left < right,
            Test::LessOrEqual => left <= right,
            Test::Greater => left > right,
            Test::GreaterOrEqual => left >= right,
        })
    }
}

impl Number {
    /// Its value; none where the general way has to be gone.
    #[inline]
    fn value(&self, slots: &[Value]) -> Option<i64> {
        match self {
            Number::Slot(slot) => match slots.get(*slot)? {
                Value::Int4(number) => Some(i64::from(*number)),
                Value::Int8(number) => Some(*number),
                _ => None,
            },
            Number::Constant(number) => Some(*number),
            Number::Of { operator, is_wide, sides } => {
                let (left, right) = (sides[0].value(slots)?, sides[1].value(slots)?);
                let result = match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Subtract => left.checked_sub(right),
                    Operator::Multiply => left.checked_mul(right),
                    Operator::Divide => left.checked_div(right),
                    Operator::Remainder => left.checked_rem(right),
                };
                result.filter(|result| *is_wide || i32::try_from(*result).is_ok())
            }
        }
    }
}

/// Whether a type is bigint, if it is one of the two.
fn is_wide(ty: &SqlType) -> Option<bool> {
    match ty {
        SqlType::Int4 => Some(false),
        SqlType::Int8 => Some(true),
        _ => None,
    }
}

fn short(expr: &TypedExpr) -> Option<Short> {
    if let Some(is_wide) = is_wide(&expr.ty) {
        return Some(Short::Number { number: number(expr, 0)?, is_wide });
    }
    let ExprKind::Call { function, args } = &expr.kind else { return None };
    let [left, right] = args.as_slice() else { return None };
    let test = match function.operator? {
        "=" => Test::Equal,
        "<>" => Test::NotEqual,
        "<" => Test::Less,
        "<=" => Test::LessOrEqual,
        ">" => Test::Greater,
        ">=" => Test::GreaterOrEqual,
        _ => return None,
    };
    Some(Short::Test { test, left: number(left, 0)?, right: number(right, 0)? })
}

/// Deeper ones go the general way.
const DEPTH_MAX: u32 = 16;

fn number(expr: &TypedExpr, depth: u32) -> Option<Number> {
    let is_wide = is_wide(&expr.ty)?;
    if depth > DEPTH_MAX {
        return None;
    }
    match &expr.kind {
        ExprKind::Parameter(slot) => Some(Number::Slot(*slot)),
        ExprKind::Literal(value) => value.as_i64().map(Number::Constant),
        // A bigint need not fit into an integer: only the other way round.
        ExprKind::Cast { arg, .. } if is_wide => number(arg, depth + 1),
        ExprKind::Call { function, args } => {
            let [left, right] = args.as_slice() else { return None };
            let operator = match function.operator? {
                "+" => Operator::Add,
                "-" => Operator::Subtract,
                "*" => Operator::Multiply,
                "/" => Operator::Divide,
                "%" => Operator::Remainder,
                _ => return None,
            };
            let sides = Box::new([number(left, depth + 1)?, number(right, depth + 1)?]);
            Some(Number::Of { operator, is_wide, sides })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::CastKind;
    use crate::testing::{TestSession, call, cast, literal};

    fn parameter(slot: usize, ty: SqlType) -> TypedExpr {
        TypedExpr::new(ExprKind::Parameter(slot), ty)
    }

    /// The short way and the general one say the same, or the short one says nothing.
    #[test]
    fn the_short_way_says_what_the_general_one_says() {
        let session = TestSession::default();
        let numbers = [0, 1, -1, 7, i64::from(i32::MAX), i64::from(i32::MIN), i64::MAX, i64::MIN];
        let (mut agreed, mut left) = (0, 0);
        for wide in [false, true] {
            let ty = if wide { SqlType::Int8 } else { SqlType::Int4 };
            let value = |number: i64| match wide {
                true => Some(Value::Int8(number)),
                false => i32::try_from(number).ok().map(Value::Int4),
            };
            for name in ["+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">="] {
                let result = if "+-*/%".contains(name) { ty.clone() } else { SqlType::Bool };
                let expr = call(name, vec![parameter(0, ty.clone()), parameter(1, ty.clone())]);
                assert_eq!(expr.ty, result);
                let body = BodyExpr::compile(&expr);
                let short = body.short.as_ref().expect("both are integers");
                for (a, b) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b))) {
                    let (Some(a), Some(b)) = (value(a), value(b)) else { continue };
                    let slots = [a, b];
                    let services = session.services();
                    let mut cx = session.context(&services);
                    cx.params = &slots;
                    let general = body.general.eval_constant(&cx);
                    let found = match short {
                        Short::Number { number, is_wide } => number.value(&slots).map(|number| {
                            if *is_wide { Value::Int8(number) } else { Value::Int4(number as i32) }
                        }),
                        Short::Test { .. } => continue,
                    };
                    match found {
                        Some(found) => {
                            assert_eq!(
                                found,
                                general.expect("the short way has an answer"),
                                "{name} {slots:?}"
                            );
                            agreed += 1;
                        }
                        None => left += 1,
                    }
                }
            }
        }
        assert!(agreed > 200 && left > 20, "{agreed} {left}");
    }

    #[test]
    fn casts_widen_and_other_types_go_the_general_way() {
        let widened = cast(parameter(0, SqlType::Int4), SqlType::Int8, CastKind::Implicit);
        let sum = call("+", vec![widened, literal(Value::Int8(1))]);
        let Some(Short::Number { number, is_wide: true }) = short(&sum) else { panic!("a bigint") };
        assert_eq!(number.value(&[Value::Int4(i32::MAX)]), Some(i64::from(i32::MAX) + 1));
        assert_eq!(number.value(&[Value::Null]), None);
        let narrowed = cast(parameter(0, SqlType::Int8), SqlType::Int4, CastKind::Assignment);
        assert!(short(&narrowed).is_none());
        assert!(short(&parameter(0, SqlType::Text)).is_none());
    }
}
