//! How alike texts are, by their trigrams: the functions and operators of PostgreSQL's `pg_trgm`.

use std::collections::HashMap;

use verso_types::inverted::trigram::{self, Trigram};
use verso_types::{SqlType, TypeError, Value};

use super::define::{optional, sql_type, unexpected};
use super::session::session_function;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// The settings that the operators compare with, and what they are where nobody has set them.
const SIMILARITY: (&str, f32) = ("pg_trgm.similarity_threshold", 0.3);
const WORD: (&str, f32) = ("pg_trgm.word_similarity_threshold", 0.6);
const STRICT_WORD: (&str, f32) = ("pg_trgm.strict_word_similarity_threshold", 0.5);

fn threshold(cx: &EvalContext<'_>, (name, default): (&str, f32)) -> f32 {
    cx.services.settings.setting(name).and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// From which similarity on `%` is true.
pub(crate) fn similarity_threshold(cx: &EvalContext<'_>) -> f32 {
    threshold(cx, SIMILARITY)
}

/// What is in both, as a part of what is in either.
fn share(common: usize, left: usize, right: usize) -> f32 {
    let all = left + right - common;
    if all == 0 { 0.0 } else { common as f32 / all as f32 }
}

fn similarity(a: &str, b: &str) -> f32 {
    let (a, b) = (trigram::of(a), trigram::of(b));
    let common = a.iter().filter(|trigram| b.binary_search(trigram).is_ok()).count();
    share(common, a.len(), b.len())
}

/// The trigrams of a text in its order, and which of them begin and end a word.
fn placed(text: &str) -> (Vec<Trigram>, Vec<(bool, bool)>) {
    let (mut all, mut edges) = (Vec::new(), Vec::new());
    for word in trigram::words(text) {
        let its = trigram::of_word(&word);
        edges.extend((0..its.len()).map(|at| (at == 0, at + 1 == its.len())));
        all.extend(its);
    }
    (all, edges)
}

/// The greatest similarity of `word` to a run of trigrams of `text`, as `pg_trgm` looks for it: `strict` runs begin and end with
/// words.
fn word_similarity(cx: &EvalContext<'_>, word: &str, text: &str, strict: bool) -> Result<f32> {
    let wanted = trigram::of(word);
    let (all, edges) = placed(text);
    // A number for each trigram; those of the word first.
    let mut numbers: HashMap<Trigram, usize> = wanted.iter().zip(0..).map(|(one, n)| (*one, n)).collect();
    let mut number = |one: &Trigram| {
        let next = numbers.len();
        *numbers.entry(*one).or_insert(next)
    };
    let all: Vec<usize> = all.iter().map(&mut number).collect();
    let found = |number: usize| number < wanted.len();
    let mut last: Vec<Option<usize>> = vec![None; numbers.len()];
    let mut lower: Option<usize> = strict.then_some(0);
    let (mut common, mut distinct, mut greatest) = (0usize, 0usize, 0f32);
    for (at, number) in all.iter().copied().enumerate() {
        if at % 4096 == 0 {
            cx.runtime.check_cancelled()?;
        }
        if lower.is_some() || found(number) {
            if last[number].is_none() {
                distinct += 1;
                common += usize::from(found(number));
            }
            last[number] = Some(at);
        }
        if !(if strict { edges[at].1 } else { found(number) }) {
            continue;
        }
        let begin = *lower.get_or_insert_with(|| {
            distinct = 1;
            at
        });
        let mut best = share(common, wanted.len(), distinct);
        // A later beginning may leave out what the word does not have.
        let (mut rest_common, mut rest_distinct) = (common, distinct);
        let mut first = begin;
        for at in begin..=at {
            if !strict || edges[at].0 {
                let here = share(rest_common, wanted.len(), rest_distinct);
                if here > best {
                    (best, first) = (here, at);
                    (common, distinct) = (rest_common, rest_distinct);
                }
            }
            if last[all[at]] == Some(at) {
                rest_distinct -= 1;
                rest_common -= usize::from(found(all[at]));
            }
        }
        greatest = greatest.max(best);
        for at in begin..first {
            if last[all[at]] == Some(at) {
                last[all[at]] = None;
            }
        }
        lower = Some(first);
    }
    Ok(greatest)
}

fn show(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text)] = args else { return Err(unexpected("show_trgm", args)) };
    let trigrams: Vec<Value> = trigram::of(text).iter().map(|one| Value::text(&one.text())).collect();
    Ok(Value::Array(trigrams.into()))
}

fn show_limit(cx: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Float4(similarity_threshold(cx)))
}

fn set_limit(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Float4(limit)] = args else { return Err(unexpected("set_limit", args)) };
    if !(0.0..=1.0).contains(limit) {
        let text = format!("{limit} is outside the valid range for parameter \"{}\" (0 .. 1)", SIMILARITY.0);
        return Err(TypeError::new("22023", text).into());
    }
    cx.services.settings.set_setting(SIMILARITY.0, Some(&limit.to_string()), false)?;
    Ok(Value::Float4(*limit))
}

/// How alike the operands are: as they stand, or the other way round.
fn alike(cx: &EvalContext<'_>, args: &[Value], how: How, turned: bool) -> Result<f32> {
    let [Value::Text(a), Value::Text(b)] = args else { return Err(unexpected("similarity", args)) };
    let (a, b) = if turned { (b, a) } else { (a, b) };
    match how {
        How::Whole => Ok(similarity(a, b)),
        How::Word => word_similarity(cx, a, b, false),
        How::StrictWord => word_similarity(cx, a, b, true),
    }
}

#[derive(Clone, Copy)]
enum How {
    Whole,
    Word,
    StrictWord,
}

impl How {
    fn threshold(self) -> (&'static str, f32) {
        match self {
            How::Whole => SIMILARITY,
            How::Word => WORD,
            How::StrictWord => STRICT_WORD,
        }
    }
}

/// A function or operator of two texts.
macro_rules! of_two {
    ($name:literal $op:expr, $volatility:ident => $res:ident = $f:expr) => {
        BuiltinFunction {
            name: $name,
            operator: $op,
            args: &[ArgType::Exact(SqlType::Text), ArgType::Exact(SqlType::Text)],
            variadic: false,
            result: ResultType::Fixed(sql_type!($res)),
            strict: true,
            volatility: Volatility::$volatility,
            body: Body::Scalar($f),
            kernel: None,
        }
    };
}

macro_rules! measure {
    ($name:literal $op:expr, $how:ident) => {
        of_two!($name $op, Immutable => Float4 = |cx, args| Ok(Value::Float4(alike(cx, args, How::$how, false)?)))
    };
}

macro_rules! distance {
    ($name:literal $op:literal, $how:ident $turned:literal) => {
        of_two!($name Some($op), Immutable => Float4 = |cx, args| {
            Ok(Value::Float4(1.0 - alike(cx, args, How::$how, $turned)?))
        })
    };
}

macro_rules! test {
    ($name:literal $op:literal, $how:ident $turned:literal) => {
        of_two!($name Some($op), Stable => Bool = |cx, args| {
            Ok(Value::Bool(alike(cx, args, How::$how, $turned)? >= threshold(cx, How::$how.threshold())))
        })
    };
}

pub(super) static TABLES: [&[BuiltinFunction]; 1] = [&[
    BuiltinFunction {
        result: ResultType::ArrayOf(0),
        ..session_function!("show_trgm" Immutable [Text] => Text = show)
    },
    session_function!("show_limit" Stable [] => Float4 = show_limit),
    session_function!("set_limit" Volatile [Float4] => Float4 = set_limit),
    measure!("similarity" None, Whole),
    measure!("word_similarity" None, Word),
    measure!("strict_word_similarity" None, StrictWord),
    test!("similarity_op" "%", Whole false),
    test!("word_similarity_op" "<%", Word false),
    test!("word_similarity_commutator_op" "%>", Word true),
    test!("strict_word_similarity_op" "<<%", StrictWord false),
    test!("strict_word_similarity_commutator_op" "%>>", StrictWord true),
    distance!("similarity_dist" "<->", Whole false),
    distance!("word_similarity_dist_op" "<<->", Word false),
    distance!("word_similarity_dist_commutator_op" "<->>", Word true),
    distance!("strict_word_similarity_dist_op" "<<<->", StrictWord false),
    distance!("strict_word_similarity_dist_commutator_op" "<->>>", StrictWord true),
]];
