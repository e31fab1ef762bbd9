//! Closures and kernels yield the same values, or the same error: random expressions over random batches.

use proptest::prelude::*;
use verso_types::json::Jsonb;
use verso_types::{Batch, CastKind, Decimal, Interval, NumericSpec, SqlType, Value};

use super::{Executor, ExprList, Predicate};
use crate::context::EvalContext;
use crate::functions::subscripts::ELEMENT;
use crate::plan::{ExprKind, TypedExpr};
use crate::testing::{TestSession, call, cast, column, literal};

/// A small generator of its own: expressions are trees of many types, which proptest's strategies make slow.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }

    fn pick<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.roll(list.len())]
    }

    fn word<'w>(&mut self, list: &[&'w str]) -> &'w str {
        list[self.roll(list.len())]
    }
}

fn numeric(precision: u8, scale: u8) -> SqlType {
    SqlType::Numeric(NumericSpec::new(precision, scale))
}

/// The columns of the batches: one of each type.
fn types() -> Vec<SqlType> {
    vec![
        SqlType::Bool,
        SqlType::Int2,
        SqlType::Int4,
        SqlType::Int8,
        SqlType::Float8,
        numeric(18, 2),
        numeric(30, 5),
        SqlType::Numeric(None),
        SqlType::Text,
        SqlType::Varchar(Some(8)),
        SqlType::Date,
        SqlType::Timestamp(None),
        SqlType::Interval(None),
        SqlType::Uuid,
        SqlType::Float4,
        SqlType::Jsonb,
    ]
}

/// Documents: of all kinds, with what the steps of [`step`] find.
const DOCUMENTS: [&str; 9] = [
    r#"{"a": 1, "ab": {"a": [true, null, "x"]}, "äöü": 2.50}"#,
    r#"{"a": "text", "": [1, [2]]}"#,
    r#"[1, "a", null, {"a": null}]"#,
    r#"["abc"]"#,
    "[]",
    "{}",
    "1e3",
    r#""a""#,
    "null",
];

/// What a document is asked for: a key or an index.
fn step(dice: &mut Dice, depth: usize) -> TypedExpr {
    match dice.roll(3) {
        0 => literal(Value::text(dice.word(&["a", "ab", "", "äöü", "missing"]))),
        1 => literal(Value::Int4(dice.roll(6) as i32 - 3)),
        _ => expr(dice, &SqlType::Text, depth),
    }
}

fn value(dice: &mut Dice, ty: &SqlType) -> Value {
    if dice.roll(6) == 0 {
        return Value::Null;
    }
    let small = dice.roll(7) as i64 - 3;
    let decimal = |unscaled: i128, scale| Value::Numeric(Decimal::new(unscaled, scale).unwrap());
    match ty {
        SqlType::Bool => Value::Bool(dice.roll(2) == 1),
        SqlType::Int2 => Value::Int2(*dice.pick(&[small as i16, i16::MAX, i16::MIN, 100])),
        SqlType::Int4 => Value::Int4(*dice.pick(&[small as i32, small as i32, i32::MAX, i32::MIN])),
        SqlType::Int8 => Value::Int8(*dice.pick(&[small, small, 1 << 40, i64::MAX, i64::MIN])),
        SqlType::Float4 => Value::Float4(*dice.pick(&[0.5, -0.0, f32::NAN, 1e30])),
        SqlType::Float8 => {
            Value::Float8(*dice.pick(&[small as f64, 0.1, -0.0, f64::NAN, f64::INFINITY, 1e300, 2.5]))
        }
        SqlType::Numeric(Some(spec)) if spec.is_small() => {
            decimal(*dice.pick(&[i128::from(small), 150, -275, 999_999_999_999_999_999]), spec.scale)
        }
        SqlType::Numeric(Some(spec)) => {
            decimal(*dice.pick(&[i128::from(small), 123_456_789, -10_i128.pow(29)]), spec.scale)
        }
        SqlType::Numeric(None) => {
            let scale = dice.roll(4) as u8;
            decimal(i128::from(small) * 25, scale)
        }
        SqlType::Text | SqlType::Varchar(_) => {
            Value::text(dice.word(&["", "a", "abc", "ABC", "äöü", "12", "%x_", "abcdefgh"]))
        }
        SqlType::Date => Value::Date(*dice.pick(&[0, 366, -1, 9000])),
        SqlType::Timestamp(_) => Value::Timestamp(*dice.pick(&[0, 1, 86_400_000_000, -1])),
        SqlType::Interval(_) => Value::Interval(*dice.pick(&[
            Interval { months: 1, days: 0, micros: 0 },
            Interval { months: 0, days: 30, micros: 0 },
            Interval { months: 0, days: 0, micros: -5 },
        ])),
        SqlType::Uuid => Value::Uuid(*dice.pick(&[0, 1, u128::MAX])),
        SqlType::Jsonb => Value::Jsonb(Jsonb::parse(dice.word(&DOCUMENTS)).unwrap()),
        other => panic!("no values of {other:?}"),
    }
}

fn batch(dice: &mut Dice, rows: usize) -> Batch {
    let types = types();
    let mut batch = Batch::of_types(&types);
    // now and then a column without NULLs takes the other loops
    let tame = dice.roll(2) == 0;
    for _ in 0..rows {
        let row: Vec<Value> = types
            .iter()
            .map(|ty| {
                loop {
                    let value = value(dice, ty);
                    if !(tame && value.is_null()) {
                        break value;
                    }
                }
            })
            .collect();
        batch.push_row(&row, &types).unwrap();
    }
    batch
}

fn leaf(dice: &mut Dice, ty: &SqlType) -> TypedExpr {
    if dice.roll(3) == 0 {
        return TypedExpr::literal(value(dice, ty), ty.clone());
    }
    let of_type: Vec<usize> =
        types().iter().enumerate().filter(|(_, t)| t.same_base(ty)).map(|(i, _)| i).collect();
    if of_type.is_empty() {
        return TypedExpr::literal(value(dice, ty), ty.clone());
    }
    let index = *dice.pick(&of_type);
    column(index, types()[index].clone())
}

/// An expression whose type has this base.
fn expr(dice: &mut Dice, ty: &SqlType, depth: usize) -> TypedExpr {
    if depth == 0 || dice.roll(5) == 0 {
        return leaf(dice, ty);
    }
    if dice.roll(8) == 0 {
        return general(dice, ty, depth - 1);
    }
    let of = |dice: &mut Dice, ty: &SqlType| expr(dice, ty, depth - 1);
    let arithmetic = |dice: &mut Dice, ops: &[&str], ty: &SqlType| {
        let op = dice.word(ops);
        let args = vec![of(dice, ty), of(dice, ty)];
        call(op, args)
    };
    match ty {
        SqlType::Bool => boolean(dice, depth - 1),
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => match dice.roll(5) {
            0 => cast(integer_source(dice, depth - 1), ty.clone(), CastKind::Explicit),
            1 => call("-", vec![of(dice, ty)]),
            2 if *ty == SqlType::Int4 => match dice.roll(2) {
                0 => call(
                    dice.word(&["length", "octet_length", "ascii"]),
                    vec![expr(dice, &SqlType::Text, depth - 1)],
                ),
                _ => {
                    let text = |dice: &mut Dice| expr(dice, &SqlType::Text, depth - 1);
                    call("strpos", vec![text(dice), text(dice)])
                }
            },
            _ => arithmetic(dice, &["+", "-", "*", "/", "%", "&", "|"], ty),
        },
        SqlType::Float4 => arithmetic(dice, &["+", "*"], ty),
        SqlType::Float8 => match dice.roll(4) {
            0 => cast(integer_source(dice, depth - 1), ty.clone(), CastKind::Implicit),
            1 => call(dice.word(&["floor", "abs", "round"]), vec![of(dice, ty)]),
            _ => arithmetic(dice, &["+", "-", "*", "/"], ty),
        },
        SqlType::Numeric(_) => match dice.roll(6) {
            0 => cast(integer_source(dice, depth - 1), SqlType::Numeric(None), CastKind::Implicit),
            1 => {
                let to = dice.pick(&[numeric(18, 2), numeric(18, 0), numeric(10, 4), numeric(38, 6)]).clone();
                cast(of(dice, ty), to, CastKind::Assignment)
            }
            2 => call(dice.word(&["-", "abs", "round"]), vec![of(dice, ty)]),
            _ => arithmetic(dice, &["+", "-", "*", "/", "%"], &SqlType::Numeric(None)),
        },
        SqlType::Jsonb => call("->", vec![of(dice, ty), step(dice, depth - 1)]),
        SqlType::Text | SqlType::Varchar(_) => match dice.roll(6) {
            5 => call("->>", vec![of(dice, &SqlType::Jsonb), step(dice, depth - 1)]),
            0 => {
                let kind = *dice.pick(&[CastKind::Assignment, CastKind::Explicit]);
                cast(of(dice, &SqlType::Text), SqlType::Varchar(Some(4)), kind)
            }
            1 => cast(integer_source(dice, depth - 1), SqlType::Text, CastKind::Explicit),
            2 => match dice.roll(4) {
                0 => call(dice.word(&["upper", "lower", "reverse", "btrim", "rtrim"]), vec![of(dice, ty)]),
                1 => {
                    let count = call("%", vec![of(dice, &SqlType::Int4), literal(Value::Int4(6))]);
                    let name = dice.word(&["left", "right", "substr", "repeat", "lpad", "rpad"]);
                    call(name, vec![of(dice, &SqlType::Text), count])
                }
                2 => {
                    let text = |dice: &mut Dice| expr(dice, &SqlType::Text, depth - 1);
                    call("replace", vec![text(dice), text(dice), text(dice)])
                }
                _ => {
                    let n = call("%", vec![of(dice, &SqlType::Int4), literal(Value::Int4(3))]);
                    let delimiter = literal(Value::text(dice.word(&["", "b", "bc", "ä", "_"])));
                    call("split_part", vec![of(dice, &SqlType::Text), delimiter, n])
                }
            },
            3 => element(dice, depth - 1),
            _ => arithmetic(dice, &["||"], &SqlType::Text),
        },
        SqlType::Date => call("+", vec![of(dice, ty), literal(Value::Int4(3))]),
        SqlType::Timestamp(_) => match dice.roll(2) {
            0 => cast(of(dice, &SqlType::Date), SqlType::Timestamp(None), CastKind::Implicit),
            _ => call("+", vec![of(dice, ty), of(dice, &SqlType::Interval(None))]),
        },
        other => leaf(dice, other),
    }
}

/// `array[i]` of a few texts, some of them NULL.
fn element(dice: &mut Dice, depth: usize) -> TypedExpr {
    let texts = (0..dice.roll(4)).map(|_| TypedExpr::literal(value(dice, &SqlType::Text), SqlType::Text));
    let array = TypedExpr::new(ExprKind::Array(texts.collect()), SqlType::Array(Box::new(SqlType::Text)));
    let subscript = expr(dice, &SqlType::Int4, depth);
    let subscript = call("%", vec![subscript, literal(Value::Int4(5))]);
    TypedExpr::new(ExprKind::Call { function: &ELEMENT, args: vec![array, subscript] }, SqlType::Text)
}

/// Something that casts to numbers.
fn integer_source(dice: &mut Dice, depth: usize) -> TypedExpr {
    let types = [SqlType::Int2, SqlType::Int4, SqlType::Int8, SqlType::Numeric(None), SqlType::Float8];
    let ty = dice.pick(&types).clone();
    expr(dice, &ty, depth)
}

/// Forms that every type has.
fn general(dice: &mut Dice, ty: &SqlType, depth: usize) -> TypedExpr {
    let ty = ty.without_modifiers();
    let same = |dice: &mut Dice| {
        let arg = expr(dice, &ty, depth);
        if arg.ty == ty { arg } else { cast(arg, ty.clone(), CastKind::Implicit) }
    };
    let kind = match dice.roll(3) {
        0 => ExprKind::Case {
            branches: vec![(boolean(dice, depth), same(dice))],
            otherwise: (dice.roll(2) == 0).then(|| Box::new(same(dice))),
        },
        1 => ExprKind::Coalesce(vec![same(dice), same(dice)]),
        _ => ExprKind::NullIf { left: Box::new(same(dice)), right: Box::new(same(dice)) },
    };
    TypedExpr::new(kind, ty)
}

fn boolean(dice: &mut Dice, depth: usize) -> TypedExpr {
    let of = |dice: &mut Dice| expr(dice, &SqlType::Bool, depth);
    let any_type = types();
    let ty = dice.pick(&any_type).clone();
    let kind = match dice.roll(12) {
        11 => {
            let document = expr(dice, &SqlType::Jsonb, depth);
            return match dice.roll(2) {
                0 => call("?", vec![document, expr(dice, &SqlType::Text, depth)]),
                _ => call("@>", vec![document, expr(dice, &SqlType::Jsonb, depth)]),
            };
        }
        0 => ExprKind::And(vec![of(dice), of(dice)]),
        1 => ExprKind::Or(vec![of(dice), of(dice), of(dice)]),
        2 => ExprKind::Not(Box::new(of(dice))),
        3 => ExprKind::IsNull { arg: Box::new(expr(dice, &ty, depth)), negated: dice.roll(2) == 0 },
        4 => {
            let value = *dice.pick(&[None, Some(true), Some(false)]);
            ExprKind::IsBool { arg: Box::new(of(dice)), value, negated: dice.roll(2) == 0 }
        }
        5 => ExprKind::Like {
            arg: Box::new(expr(dice, &SqlType::Text, depth)),
            pattern: Box::new(literal(Value::text(dice.word(&["a%", "%b%", "_", "", "%ö_", "\\%x%"])))),
            escape: None,
            negated: dice.roll(2) == 0,
            case_insensitive: dice.roll(2) == 0,
        },
        6 => ExprKind::InList {
            arg: Box::new(expr(dice, &SqlType::Int4, depth)),
            list: vec![literal(Value::Int4(1)), expr(dice, &SqlType::Int4, 0)],
            negated: dice.roll(2) == 0,
        },
        8 if !matches!(ty, SqlType::Varchar(_) | SqlType::Numeric(_)) => ExprKind::IsDistinct {
            left: Box::new(expr(dice, &ty, depth)),
            right: Box::new(expr(dice, &ty, depth)),
            negated: dice.roll(2) == 0,
        },
        7 => {
            let (value, beginning) = (expr(dice, &SqlType::Text, depth), expr(dice, &SqlType::Text, depth));
            return call("starts_with", vec![value, beginning]);
        }
        _ => {
            let base = if matches!(ty, SqlType::Varchar(_)) { SqlType::Text } else { ty };
            let args = vec![expr(dice, &base, depth), expr(dice, &base, depth)];
            return call(dice.word(&["=", "<>", "<", "<=", ">", ">="]), args);
        }
    };
    TypedExpr::new(kind, SqlType::Bool)
}

/// Values of every row, or the error, as text: NaN equals itself, scales count.
fn outcome(list: &mut ExprList, batch: &Batch) -> String {
    let session = TestSession::default();
    let mut out = Batch::of_types(list.types());
    match list.eval(&session.context(&session.services()), batch, &mut out) {
        Ok(()) => {
            out.check().expect("a sound batch");
            let types = list.types().to_vec();
            format!("{:?}", (0..out.rows).map(|row| out.row(row, &types)).collect::<Vec<_>>())
        }
        Err(error) => format!("{error:?}"),
    }
}

/// The same where kernels compute all and leave numerics scaled.
fn scaled_outcome(exprs: &[TypedExpr], batch: &Batch) -> Option<String> {
    let session = TestSession::default();
    let mut list = ExprList::compile_scaled(exprs, Executor::Vector);
    let types = list.scaled_types();
    let mut out = Batch::of_types(&types);
    if !list.eval_scaled(&session.context(&session.services()), batch, &mut out) {
        return None;
    }
    out.check().expect("a sound batch");
    Some(format!("{:?}", (0..out.rows).map(|row| out.row(row, &types)).collect::<Vec<_>>()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn closures_and_kernels_agree(seed in any::<u64>(), rows in 1usize..40) {
        let mut dice = Dice(seed);
        let batch = batch(&mut dice, rows);
        let exprs: Vec<TypedExpr> = (0..1 + dice.roll(2))
            .map(|_| {
                let ty = dice.pick(&types()).clone();
                expr(&mut dice, &ty, 4)
            })
            .collect();
        let by_rows = outcome(&mut ExprList::compile(&exprs, Executor::Row), &batch);
        let by_columns = outcome(&mut ExprList::compile(&exprs, Executor::Vector), &batch);
        prop_assert_eq!(&by_rows, &by_columns, "{:?}", exprs);
        if let Some(scaled) = scaled_outcome(&exprs, &batch) {
            prop_assert_eq!(by_rows, scaled, "{:?}", exprs);
        }
    }

    #[test]
    fn predicates_agree(seed in any::<u64>(), rows in 1usize..40) {
        let mut dice = Dice(seed);
        let batch = batch(&mut dice, rows);
        let condition = boolean(&mut dice, 3);
        let session = TestSession::default();
        let outcome = |executor| {
            let mut selection = Vec::new();
            let error = Predicate::compile(&condition, executor).select(&session.context(&session.services()), &batch, &mut selection);
            format!("{selection:?} {error:?}")
        };
        prop_assert_eq!(outcome(Executor::Row), outcome(Executor::Vector), "{:?}", condition);
    }
}

/// Rows that do not reach a branch do not make its kernels give up, though the function has no result for them.
#[test]
fn kernels_are_not_asked_for_rows_of_other_branches() {
    let text = |value: &str| literal(Value::text(value));
    let space = || call("strpos", vec![column(0, SqlType::Text), text(" ")]);
    let before = call("-", vec![space(), literal(Value::Int4(1))]);
    let word = call("substr", vec![column(0, SqlType::Text), literal(Value::Int4(1)), before]);
    let found = call(">", vec![space(), literal(Value::Int4(0))]);
    let shared = call("/", vec![literal(Value::Int4(12)), call("length", vec![column(0, SqlType::Text)])]);
    let some = call("<>", vec![column(0, SqlType::Text), text("")]);
    let case = |condition, result: TypedExpr| {
        let ty = result.ty.clone();
        TypedExpr::new(ExprKind::Case { branches: vec![(condition, result)], otherwise: None }, ty)
    };
    let exprs = [case(found, word), case(some, shared)];
    let mut batch = Batch::of_types(&[SqlType::Text]);
    for value in ["one two", "three", "", "ä b"] {
        batch.push_row(&[Value::text(value)], &[SqlType::Text]).unwrap();
    }
    let by_kernels = scaled_outcome(&exprs, &batch).expect("no row has no result");
    assert_eq!(by_kernels, outcome(&mut ExprList::compile(&exprs, Executor::Row), &batch));
}

/// E1's assignments run as kernels and yield what the closures yield.
#[test]
fn the_update_of_e1_is_vectorised() {
    let money = numeric(18, 2);
    let name = SqlType::Varchar(Some(120));
    let exprs = e1_assignments(&money, &name);
    let mut batch = Batch::of_types(&[money.clone(), SqlType::Float8, name.clone()]);
    let types = [money, SqlType::Float8, name];
    for i in 0..100 {
        let row = [
            Value::Numeric(Decimal::new(i * 100, 2).unwrap()),
            Value::Float8(i as f64 * 0.5),
            Value::text(&format!("name {i}")),
        ];
        batch.push_row(&row, &types).unwrap();
    }
    for expr in &exprs {
        let (_, rows) = super::vector::census(expr);
        assert_eq!(rows, 0, "{expr:?} falls back to rows");
    }
    let by_rows = outcome(&mut ExprList::compile(&exprs, Executor::Row), &batch);
    let by_columns = outcome(&mut ExprList::compile(&exprs, Executor::Vector), &batch);
    assert_eq!(by_rows, by_columns);
    assert!(by_rows.contains("name 991"), "{by_rows}");
}

/// Sums and comparisons with computed constants, IN and CASE run as kernels; a product stays a scaled integer.
#[test]
fn conditions_of_reports_are_vectorised() {
    let money = numeric(15, 2);
    let cents = |cents: i128| literal(Value::Numeric(Decimal::new(cents, 2).unwrap()));
    let list = TypedExpr::new(
        ExprKind::InList {
            arg: Box::new(column(1, SqlType::Text)),
            list: vec![literal(Value::text("AIR")), literal(Value::text("MAIL"))],
            negated: false,
        },
        SqlType::Bool,
    );
    let number = |number: i32| literal(Value::Int4(number));
    let case = TypedExpr::new(
        ExprKind::Case { branches: vec![(list.clone(), number(1))], otherwise: Some(Box::new(number(0))) },
        SqlType::Int4,
    );
    let product = call("*", vec![column(0, money.clone()), column(0, money.clone())]);
    let exprs = vec![
        call(">=", vec![column(0, money.clone()), call("-", vec![cents(6), cents(1)])]),
        list,
        case,
        product,
    ];
    exprs.iter().for_each(|expr| assert_eq!(super::vector::census(expr).1, 0, "{expr:?} falls back to rows"));
    let types = [money, SqlType::Text];
    let mut batch = Batch::of_types(&types);
    for (cents, mode) in [(5, "AIR"), (4, "RAIL"), (6, "MAIL")] {
        let row = [Value::Numeric(Decimal::new(cents, 2).unwrap()), Value::text(mode)];
        batch.push_row(&row, &types).unwrap();
    }
    let by_rows = outcome(&mut ExprList::compile(&exprs, Executor::Row), &batch);
    assert_eq!(Some(&by_rows), scaled_outcome(&exprs, &batch).as_ref());
    let scaled = ExprList::compile_scaled(&exprs, Executor::Vector).scaled_types();
    assert_eq!(scaled[3], numeric(38, 4));
    assert!(by_rows.contains("0.0025"), "{by_rows}");
}

/// A function without a kernel over arguments with one is called alone for each row, with the errors of the closures.
#[test]
fn functions_are_applied_to_what_kernels_have_computed() {
    let number = |number: i64| literal(Value::Int8(number));
    let rest = call("%", vec![column(0, SqlType::Int8), number(26)]);
    let code =
        call("+", vec![literal(Value::Int4(64)), cast(rest.clone(), SqlType::Int4, CastKind::Explicit)]);
    let letter = call("chr", vec![code]);
    let text = cast(call("*", vec![column(0, SqlType::Int8), number(7)]), SqlType::Text, CastKind::Explicit);
    let refused = call("chr", vec![cast(rest, SqlType::Int4, CastKind::Explicit)]);
    for expr in [&letter, &text, &refused] {
        assert_eq!(super::vector::census(expr).1, 0, "{expr:?} falls back to rows");
    }
    let batch_of = |numbers: &[Option<i64>]| {
        let mut batch = Batch::of_types(&[SqlType::Int8]);
        for number in numbers {
            batch.push_row(&[number.map_or(Value::Null, Value::Int8)], &[SqlType::Int8]).unwrap();
        }
        batch
    };
    let both = |exprs: &[TypedExpr], batch: &Batch| {
        let by_rows = outcome(&mut ExprList::compile(exprs, Executor::Row), batch);
        assert_eq!(by_rows, outcome(&mut ExprList::compile(exprs, Executor::Vector), batch));
        by_rows
    };
    let values = both(&[letter, text], &batch_of(&[Some(1), None, Some(2), Some(28)]));
    assert!(values.contains("\"A\"") && values.contains("\"196\""), "{values}");
    // The third row is the first whose character is refused.
    let error = both(&[refused], &batch_of(&[Some(30), None, Some(26), Some(-1)]));
    assert!(error.contains("null character not permitted"), "{error}");
}

/// What is given with the statement is compared with a column's scaled integers, whatever its scale, and is a pattern once for a
/// batch.
#[test]
fn parameters_are_compared_and_matched_by_kernels() {
    let money = numeric(15, 2);
    let types = [money.clone(), SqlType::Text];
    let mut batch = Batch::of_types(&types);
    for (cents, name) in [(2400, "green"), (2401, "red"), (2405, "a green one")] {
        let row = [Value::Numeric(Decimal::new(cents, 2).unwrap()), Value::text(name)];
        batch.push_row(&row, &types).unwrap();
    }
    let given = |n, ty| TypedExpr::new(ExprKind::Parameter(n), ty);
    let less = call("<", vec![column(0, money), given(0, SqlType::Numeric(None))]);
    let like = TypedExpr::new(
        ExprKind::Like {
            arg: Box::new(column(1, SqlType::Text)),
            pattern: Box::new(given(1, SqlType::Text)),
            escape: None,
            negated: true,
            case_insensitive: false,
        },
        SqlType::Bool,
    );
    for expr in [&less, &like] {
        assert_eq!(super::vector::census(expr).1, 0, "{expr:?} falls back to rows");
    }
    let decimal = |unscaled, scale| Value::Numeric(Decimal::new(unscaled, scale).unwrap());
    let pattern = Value::text("%green%");
    for (limit, pattern, expected) in [
        (decimal(24, 0), &pattern, "[false, false] [false, true] [false, false]"),
        (decimal(240_100, 4), &pattern, "[true, false] [false, true] [false, false]"),
        // Between two values of the column: rows decide.
        (decimal(24_005, 3), &pattern, "[true, false] [false, true] [false, false]"),
        (Value::Null, &Value::Null, "[NULL, NULL] [NULL, NULL] [NULL, NULL]"),
    ] {
        let session = TestSession::default();
        let services = session.services();
        let params = [limit, pattern.clone()];
        let cx = EvalContext { params: &params, ..session.context(&services) };
        for executor in [Executor::Row, Executor::Vector] {
            let mut list = ExprList::compile([&less, &like], executor);
            let mut out = Batch::of_types(list.types());
            list.eval(&cx, &batch, &mut out).unwrap();
            let shown = |value: &Value| value.as_bool().map_or("NULL".to_owned(), |value| value.to_string());
            let row = |row| {
                let values = out.row(row, &[SqlType::Bool, SqlType::Bool]);
                format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", "))
            };
            let rows: Vec<String> = (0..out.rows).map(row).collect();
            assert_eq!(rows.join(" "), expected, "{executor:?}");
        }
    }
}

/// `id + 1, qrt + 1, name || '1', CURRENT_TIMESTAMP`, bound as PostgreSQL binds them.
pub(crate) fn e1_assignments(money: &SqlType, name: &SqlType) -> Vec<TypedExpr> {
    let one = |ty: SqlType| cast(literal(Value::Int4(1)), ty, CastKind::Implicit);
    vec![
        cast(
            call("+", vec![column(0, money.clone()), one(SqlType::Numeric(None))]),
            money.clone(),
            CastKind::Assignment,
        ),
        call("+", vec![column(1, SqlType::Float8), one(SqlType::Float8)]),
        cast(
            call("||", vec![column(2, name.clone()), literal(Value::text("1"))]),
            name.clone(),
            CastKind::Assignment,
        ),
        cast(call("now", vec![]), SqlType::Timestamp(None), CastKind::Assignment),
    ]
}

/// The error is the one of the first row, then of the first expression.
#[test]
fn errors_come_in_row_order() {
    let divide = |by: usize| call("/", vec![literal(Value::Int4(1)), column(by, SqlType::Int4)]);
    let modulo = call("+", vec![literal(Value::Int4(i32::MAX)), column(1, SqlType::Int4)]);
    let exprs = [divide(0), modulo];
    let types = [SqlType::Int4, SqlType::Int4];
    let mut batch = Batch::of_types(&types);
    for (a, b) in [(1, 0), (1, 1), (0, 0)] {
        batch.push_row(&[Value::Int4(a), Value::Int4(b)], &types).unwrap();
    }
    for executor in [Executor::Row, Executor::Vector, Executor::Auto] {
        let outcome = outcome(&mut ExprList::compile(&exprs, executor), &batch);
        assert!(outcome.contains("integer out of range"), "{executor:?}: {outcome}");
    }
}

/// Ten times the largest numeric(18,2) leaves 64 bits: the kernels give up, the result is right.
#[test]
fn sums_beyond_64_bits_are_right() {
    let money = numeric(18, 2);
    let types = [money.clone()];
    let mut batch = Batch::of_types(&types);
    for unscaled in [999_999_999_999_999_999, -999_999_999_999_999_999] {
        batch.push_row(&[Value::Numeric(Decimal::new(unscaled, 2).unwrap())], &types).unwrap();
    }
    for op in ["+", "-"] {
        // x + x + …, and -x - x - …
        let start =
            if op == "+" { column(0, money.clone()) } else { call("-", vec![column(0, money.clone())]) };
        let sum = (0..9).fold(start, |sum, _| call(op, vec![sum, column(0, money.clone())]));
        let by_columns = outcome(&mut ExprList::compile([&sum], Executor::Vector), &batch);
        assert_eq!(by_columns, outcome(&mut ExprList::compile([&sum], Executor::Row), &batch));
        assert!(by_columns.contains("99999999999999999.90"), "{op}: {by_columns}");
    }
}

/// What lies under a NULL may overflow without harm.
#[test]
fn garbage_under_nulls_does_not_trap() {
    let types = [SqlType::Int4, SqlType::Int4];
    let mut batch = Batch::of_types(&types);
    batch.push_row(&[Value::Int4(i32::MAX), Value::Int4(1)], &types).unwrap();
    batch.push_row(&[Value::Int4(1), Value::Int4(0)], &types).unwrap();
    // computed columns may hold any value where they are NULL
    batch.columns[0].nulls.set(0);
    batch.columns[1].nulls.set(1);
    for op in ["+", "*", "/", "%"] {
        let list = [call(op, vec![column(0, SqlType::Int4), column(1, SqlType::Int4)])];
        let outcome = outcome(&mut ExprList::compile(&list, Executor::Vector), &batch);
        assert_eq!(outcome, "[[Null], [Null]]", "{op}");
    }
}

/// One row may take long, so that a batch is too much to wait for.
#[test]
fn rows_look_at_the_flag_that_cancels() {
    let session = TestSession::default();
    let services = session.services();
    let mut batch = Batch::of_types(&[SqlType::Int4]);
    for row in 0..3 {
        batch.push_row(&[Value::Int4(row)], &[SqlType::Int4]).unwrap();
    }
    let column = TypedExpr::column(0, SqlType::Int4);
    let mut list = ExprList::compile(&[column], Executor::Row);
    let mut out = Batch::of_types(&[SqlType::Int4]);
    list.eval_rows(&session.context(&services), &batch, &mut out).unwrap();
    session.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    let ended = list.eval_rows(&session.context(&services), &batch, &mut out);
    assert!(matches!(ended, Err(crate::error::ExecError::Cancelled)), "{ended:?}");
}
