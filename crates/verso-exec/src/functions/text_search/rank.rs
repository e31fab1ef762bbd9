//! How well a document fits a query: `ts_rank` counts words and how near they stand, `ts_rank_cd` the density of covers.
//!
//! Cover density: Clarke, Cormack, Tudhope, 2000. Arithmetic is PostgreSQL's, in single and double precision where it is.

use verso_types::text_search::matching::{Flags, Matches};
use verso_types::text_search::{Item, Lexeme, POSITION_MAX, Position, TsQuery, TsVector};
use verso_types::{SqlType, TypeError, Value};

use super::{ASKED, DOCUMENT, INT4, function, query, vector};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::define::unexpected;
use crate::functions::{ArgType, BuiltinFunction, ResultType, Volatility};

const WEIGHTS: ArgType = ArgType::ArrayOf(SqlType::Float4);
const AS_REAL: ResultType = ResultType::Fixed(SqlType::Float4);

/// Weights of D, C, B, A where none are given.
const DEFAULT: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

/// What a rank is divided by; the bits of the last argument.
struct Divisors(i32);

impl Divisors {
    const LOG_LENGTH: i32 = 1;
    const LENGTH: i32 = 2;
    const DISTANCE: i32 = 4;
    const WORDS: i32 = 8;
    const LOG_WORDS: i32 = 16;
    const ITSELF: i32 = 32;

    fn has(&self, bit: i32) -> bool {
        self.0 & bit != 0
    }
}

fn weights(given: &Value) -> Result<[f32; 4]> {
    let wrong = |code, text: &str| TypeError::new(code, format!("array of weight {text}"));
    let Value::Array(given) = given else { return Ok(DEFAULT) };
    if given.dimensions().len() != 1 {
        return Err(wrong("2202E", "must be one-dimensional").into());
    }
    if given.len() < 4 {
        return Err(wrong("2202E", "is too short").into());
    }
    if given.iter().any(Value::is_null) {
        return Err(wrong("22004", "must not contain nulls").into());
    }
    let mut weights = DEFAULT;
    for (weight, value) in weights.iter_mut().zip(given.iter()) {
        if let Value::Float4(value) = value
            && *value >= 0.0
        {
            *weight = *value;
        }
        if *weight > 1.0 {
            return Err(TypeError::new("22023", "weight out of range").into());
        }
    }
    Ok(weights)
}

/// The weight of two words that stand so far from each other.
fn nearness(distance: i32) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    (1.0 / (1.005 + 0.05 * (f64::from(distance as f32) / 1.5 - 2.0).exp())) as f32
}

/// The words of a query in order, each once, and whether it is a prefix.
fn words(query: &TsQuery) -> Vec<(&str, bool)> {
    let mut words: Vec<(&str, bool)> =
        query.operands().map(|operand| (&*operand.word, operand.prefix)).collect();
    words.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    words.dedup_by(|a, b| a.0 == b.0);
    words
}

/// The rank of what needs not stand together.
fn rank_or(weights: &[f32; 4], document: &TsVector, query: &TsQuery) -> f32 {
    let words = words(query);
    let nowhere = [Position::new(0, 0)];
    let mut rank = 0f32;
    for (word, prefix) in &words {
        for lexeme in document.find(word, *prefix) {
            let positions = if lexeme.positions.is_empty() { &nowhere[..] } else { &lexeme.positions };
            let (mut sum, mut most, mut most_at) = (0f32, -1f32, 0i32);
            for (n, position) in (0i32..).zip(positions) {
                let weight = weights[usize::from(position.weight())];
                sum += weight / ((n + 1) * (n + 1)) as f32;
                if weight > most {
                    (most, most_at) = (weight, n);
                }
            }
            let own = most + sum - most / ((most_at + 1) * (most_at + 1)) as f32;
            // the sum of 1 / n² over all n
            rank = (f64::from(rank) + f64::from(own) / 1.644_934_066_85) as f32;
        }
    }
    if words.is_empty() { rank } else { rank / words.len() as f32 }
}

/// The rank of what stands together.
fn rank_and(cx: &EvalContext<'_>, weights: &[f32; 4], document: &TsVector, query: &TsQuery) -> Result<f32> {
    let words = words(query);
    if words.len() < 2 {
        return Ok(rank_or(weights, document, query));
    }
    let nowhere = [Position::new(POSITION_MAX, 0)];
    let of = |lexeme: &Lexeme| !lexeme.positions.is_empty();
    let mut rank = -1f32;
    // The lexeme that each word was found as last.
    let mut found: Vec<Option<&Lexeme>> = vec![None; words.len()];
    for (n, (word, prefix)) in words.iter().enumerate() {
        for lexeme in document.find(word, *prefix) {
            cx.runtime.check_cancelled()?;
            let own = if of(lexeme) { &lexeme.positions[..] } else { &nowhere };
            for other in found[..n].iter().flatten() {
                let others = if of(other) { &other.positions[..] } else { &nowhere };
                let unplaced = !of(lexeme) || !of(other);
                for a in own {
                    for b in others {
                        let mut distance = (i32::from(a.place()) - i32::from(b.place())).abs();
                        if distance == 0 && !unplaced {
                            continue;
                        }
                        if distance == 0 {
                            distance = i32::from(POSITION_MAX) + 1;
                        }
                        let weight = |position: &Position| weights[usize::from(position.weight())];
                        let both = weight(a) * weight(b) * nearness(distance);
                        let both = f64::from(both).sqrt() as f32;
                        rank = match rank < 0.0 {
                            true => both,
                            false => (1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(both))) as f32,
                        };
                    }
                }
            }
            found[n] = Some(lexeme);
        }
    }
    Ok(rank)
}

fn rank(
    cx: &EvalContext<'_>,
    weights: &[f32; 4],
    document: &TsVector,
    query: &TsQuery,
    by: &Divisors,
) -> Result<f32> {
    let count = document.lexemes().len();
    let Some(first) = query.items().first().filter(|_| count > 0) else { return Ok(0.0) };
    let mut rank = match first {
        Item::And | Item::Phrase(_) => rank_and(cx, weights, document, query)?,
        _ => rank_or(weights, document, query),
    };
    if rank < 0.0 {
        rank = 1e-20;
    }
    let divided = |rank: f32, by: f64| (f64::from(rank) / by) as f32;
    let log2 = |number: usize| ((number + 1) as f64).ln() / 2f64.ln();
    if by.has(Divisors::LOG_LENGTH) {
        rank = divided(rank, log2(document.length()));
    }
    if by.has(Divisors::LENGTH) && document.length() > 0 {
        rank /= document.length() as f32;
    }
    if by.has(Divisors::WORDS) {
        rank /= count as f32;
    }
    if by.has(Divisors::LOG_WORDS) {
        rank = divided(rank, log2(count));
    }
    if by.has(Divisors::ITSELF) {
        rank /= rank + 1.0;
    }
    Ok(rank)
}

/// A place of a document, and the operands of the query that are found there.
struct Found {
    position: Position,
    lexeme: usize,
    items: Vec<usize>,
}

/// The places where a document has words of a query, in order.
fn places(document: &TsVector, query: &TsQuery) -> Vec<Found> {
    let mut all: Vec<(Position, usize, usize)> = Vec::new();
    for (n, item) in query.items().iter().enumerate() {
        let Item::Operand(operand) = item else { continue };
        let found = document.find(&operand.word, operand.prefix);
        let first =
            document.lexemes().partition_point(|lexeme| lexeme.text.as_bytes() < operand.word.as_bytes());
        for (at, lexeme) in (first..).zip(found) {
            let fits =
                |position: &&Position| operand.weights == 0 || operand.weights >> position.weight() & 1 == 1;
            all.extend(lexeme.positions.iter().filter(fits).map(|position| (*position, at, n)));
        }
    }
    all.sort_by_key(|(position, lexeme, item)| (position.place(), position.weight(), *lexeme, *item));
    let mut places: Vec<Found> = Vec::new();
    for (position, lexeme, item) in all {
        match places.last_mut() {
            Some(last) if last.position == position && last.lexeme == lexeme => last.items.push(item),
            _ => places.push(Found { position, lexeme, items: vec![item] }),
        }
    }
    places
}

/// What of the query is in a part of a document: places of each operand in order.
struct Seen {
    places: Vec<Vec<u16>>,
}

impl Seen {
    fn add(&mut self, found: &Found, from_front: bool) {
        let place = found.position.place();
        for item in &found.items {
            let places = &mut self.places[*item];
            match from_front {
                true if places.last() != Some(&place) => places.push(place),
                false if places.first() != Some(&place) => places.insert(0, place),
                _ => {}
            }
        }
    }

    fn is_matched(&self, query: &TsQuery) -> bool {
        let mut look = |n: usize, _: &verso_types::text_search::Operand, places: Option<&mut Vec<u16>>| {
            let Some(own) = self.places.get(n).filter(|own| !own.is_empty()) else { return Matches::No };
            if let Some(places) = places {
                places.clone_from(own);
            }
            Matches::Yes
        };
        query.matches(Flags::default(), &mut look) != Matches::No
    }

    fn clear(&mut self) {
        self.places.iter_mut().for_each(Vec::clear);
    }
}

/// A shortest part of a document that the query matches: its first and last place, and their numbers in the list.
struct Cover {
    begin: usize,
    end: usize,
}

/// The next cover that begins at `from` or behind it.
fn cover(
    cx: &EvalContext<'_>,
    list: &[Found],
    query: &TsQuery,
    seen: &mut Seen,
    mut from: usize,
) -> Result<Option<Cover>> {
    loop {
        cx.runtime.check_cancelled()?;
        seen.clear();
        let mut end = None;
        for (n, found) in list.iter().enumerate().skip(from) {
            seen.add(found, true);
            if seen.is_matched(query) {
                end = Some(n).filter(|_| found.position.place() > 0);
                break;
            }
        }
        let Some(end) = end else { return Ok(None) };
        seen.clear();
        let mut begin = None;
        for n in (from..=end).rev() {
            seen.add(&list[n], false);
            if seen.is_matched(query) {
                begin = Some(n);
                break;
            }
        }
        if let Some(begin) = begin
            && list[begin].position.place() <= list[end].position.place()
        {
            return Ok(Some(Cover { begin, end }));
        }
        from += 1;
    }
}

fn cover_density(
    cx: &EvalContext<'_>,
    weights: &[f32; 4],
    document: &TsVector,
    query: &TsQuery,
    by: &Divisors,
) -> Result<f32> {
    let list = places(document, query);
    if list.is_empty() {
        return Ok(0.0);
    }
    let inverse = weights.map(|weight| 1.0 / f64::from(weight));
    let mut seen = Seen { places: vec![Vec::new(); query.items().len()] };
    let (mut density, mut distances, mut last, mut count, mut from) = (0f64, 0f64, 0f64, 0u32, 0);
    while let Some(Cover { begin, end }) = cover(cx, &list, query, &mut seen, from)? {
        from = begin + 1;
        let part = &list[begin..=end];
        let sum: f64 = part.iter().map(|found| inverse[usize::from(found.position.weight())]).sum();
        let (first, behind) = (list[begin].position.place(), list[end].position.place());
        let span = (end - begin) as i32;
        // Places that the document has no room for are taken as half of the cover.
        let mut others = i32::from(behind) - i32::from(first) - span;
        if others < 0 {
            others = span / 2;
        }
        density += (f64::from(span + 1) / sum) / f64::from(1 + others);
        let middle = f64::from(u32::from(first) + u32::from(behind)) / 2.0;
        if count > 0 && middle > last {
            distances += 1.0 / (middle - last);
        }
        last = middle;
        count += 1;
    }
    let words = document.lexemes().len();
    let log = |number: usize| ((number + 1) as f64).ln();
    if by.has(Divisors::LOG_LENGTH) && words > 0 {
        density /= log(document.length());
    }
    if by.has(Divisors::LENGTH) && document.length() > 0 {
        density /= document.length() as f64;
    }
    if by.has(Divisors::DISTANCE) && count > 0 && distances > 0.0 {
        density /= f64::from(count) / distances;
    }
    if by.has(Divisors::WORDS) && words > 0 {
        density /= words as f64;
    }
    if by.has(Divisors::LOG_WORDS) && words > 0 {
        density /= log(words) / 2f64.ln();
    }
    if by.has(Divisors::ITSELF) {
        density /= density + 1.0;
    }
    Ok(density as f32)
}

/// `ts_rank([weights,] document, query [, divisors])`, or `ts_rank_cd`.
fn ranked(cx: &EvalContext<'_>, args: &[Value], dense: bool) -> Result<Value> {
    let (weights, rest) = match args {
        [given @ Value::Array(_), rest @ ..] => (weights(given)?, rest),
        _ => (DEFAULT, args),
    };
    let [Value::Opaque(document), Value::Opaque(asked), by @ ..] = rest else {
        return Err(unexpected("ts_rank", args));
    };
    let by = Divisors(by.first().and_then(Value::as_i64).unwrap_or(0) as i32);
    let (document, asked) = (vector(document)?, query(asked)?);
    let rank = if dense { cover_density } else { rank };
    Ok(Value::Float4(rank(cx, &weights, &document, &asked, &by)?))
}

macro_rules! ranks {
    ($($name:literal $dense:literal;)*) => {
        &[$(
            function!($name [WEIGHTS, DOCUMENT, ASKED, INT4] => AS_REAL, Volatility::Immutable, |cx, args| ranked(cx, args, $dense)),
            function!($name [WEIGHTS, DOCUMENT, ASKED] => AS_REAL, Volatility::Immutable, |cx, args| ranked(cx, args, $dense)),
            function!($name [DOCUMENT, ASKED, INT4] => AS_REAL, Volatility::Immutable, |cx, args| ranked(cx, args, $dense)),
            function!($name [DOCUMENT, ASKED] => AS_REAL, Volatility::Immutable, |cx, args| ranked(cx, args, $dense)),
        )*]
    };
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = ranks! {
    "ts_rank" false;
    "ts_rank_cd" true;
};
