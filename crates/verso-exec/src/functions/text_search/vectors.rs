//! What is done with a `tsvector`, and `@@`.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use verso_types::text_search::parse::Mode;
use verso_types::text_search::{
    Lexeme, POSITION_MAX, POSITIONS_MAX, Position, StoredVector, TsQuery, TsVector,
};
use verso_types::{Array, Opaque, SqlType, SystemType, TypeError, Value};

use super::config::Config;
use super::documents::{current_oid, of_text};
use super::{AS_BOOL, AS_INT4, ASKED, DOCUMENT, TEXT, TEXTS, VECTOR, asking, function, query, vector};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::functions::collected::{Rows, rows};
use crate::functions::define::unexpected;
use crate::functions::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

const LETTER: ArgType = ArgType::Exact(SqlType::System(SystemType::Char));
const LETTERS: ArgType = ArgType::ArrayOf(SqlType::System(SystemType::Char));

/// 22004.
#[cold]
fn no_nulls(what: &str) -> ExecError {
    TypeError::new("22004", format!("{what} array may not contain nulls")).into()
}

/// The weight of a letter.
fn weight(letter: &str) -> Option<u8> {
    Some(match letter {
        "A" | "a" => 3,
        "B" | "b" => 2,
        "C" | "c" => 1,
        "D" | "d" => 0,
        _ => return None,
    })
}

fn with_weights(vector: TsVector, weight: u8, wanted: impl Fn(&Lexeme) -> bool) -> Result<Value> {
    let mut lexemes = vector.into_lexemes();
    for lexeme in lexemes.iter_mut().filter(|lexeme| wanted(lexeme)) {
        for position in &mut lexeme.positions {
            *position = Position::new(position.place(), weight);
        }
    }
    Ok(TsVector::of_ordered(lexemes)?.into_value())
}

fn setweight(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(own), Value::Text(letter), only @ ..] = args else {
        return Err(unexpected("setweight", args));
    };
    let own = vector(own)?;
    let Some(weight) = weight(letter) else {
        let code = letter.bytes().next().unwrap_or_default().cast_signed();
        return Err(TypeError::new("XX000", format!("unrecognized weight: {code}")).into());
    };
    match only {
        [Value::Array(words)] => {
            let words: HashSet<&str> = words.iter().filter_map(Value::as_str).collect();
            with_weights(own, weight, |lexeme| words.contains(&*lexeme.text))
        }
        _ => with_weights(own, weight, |_| true),
    }
}

/// The texts of an array.
fn strings<'v>(array: &'v Array, what: &str) -> Result<Vec<&'v str>> {
    array.iter().map(|value| value.as_str().ok_or_else(|| no_nulls(what))).collect()
}

fn length(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(own)] = args else { return Err(unexpected("length", args)) };
    Ok(Value::Int4(i32::try_from(vector(own)?.lexemes().len()).unwrap_or(i32::MAX)))
}

fn strip(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(own)] = args else { return Err(unexpected("strip", args)) };
    let bare = |lexeme: Lexeme| Lexeme { positions: Vec::new(), ..lexeme };
    let lexemes = vector(own)?.into_lexemes().into_iter().map(bare).collect();
    Ok(TsVector::of_ordered(lexemes)?.into_value())
}

fn delete(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(own), without] = args else { return Err(unexpected("ts_delete", args)) };
    let mut lexemes = vector(own)?.into_lexemes();
    match without {
        Value::Text(word) => lexemes.retain(|lexeme| *lexeme.text != **word),
        Value::Array(words) => {
            let words: HashSet<&str> = words.iter().filter_map(Value::as_str).collect();
            lexemes.retain(|lexeme| !words.contains(&*lexeme.text));
        }
        _ => return Err(unexpected("ts_delete", args)),
    }
    Ok(TsVector::of_ordered(lexemes)?.into_value())
}

fn filter(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(own), Value::Array(letters)] = args else { return Err(unexpected("ts_filter", args)) };
    let mut weights = 0u8;
    for letter in strings(letters, "weight")? {
        let Some(weight) = weight(letter) else {
            return Err(TypeError::new("22023", format!("unrecognized weight: \"{letter}\"")).into());
        };
        weights |= 1 << weight;
    }
    let mut lexemes = vector(own)?.into_lexemes();
    for lexeme in &mut lexemes {
        lexeme.positions.retain(|position| weights >> position.weight() & 1 == 1);
    }
    lexemes.retain(|lexeme| !lexeme.positions.is_empty());
    Ok(TsVector::of_ordered(lexemes)?.into_value())
}

fn to_array(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(own)] = args else { return Err(unexpected("tsvector_to_array", args)) };
    let words: Vec<Value> = vector(own)?.lexemes().iter().map(|lexeme| Value::text(&lexeme.text)).collect();
    Ok(Value::Array(words.into()))
}

fn of_array(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(words)] = args else { return Err(unexpected("array_to_tsvector", args)) };
    let mut lexemes = Vec::with_capacity(words.len());
    for word in strings(words, "lexeme")? {
        if word.is_empty() {
            return Err(TypeError::new("2200F", "lexeme array may not contain empty strings").into());
        }
        lexemes.push(Lexeme { text: word.into(), positions: Vec::new() });
    }
    Ok(TsVector::new(lexemes)?.into_value())
}

/// `unnest(tsvector)`: each lexeme with its positions and their weights.
fn unnest(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let [Value::Opaque(own)] = args else { return Err(unexpected("unnest", args)) };
    let row = |lexeme: Lexeme| {
        let (mut places, mut weights) = (Value::Null, Value::Null);
        if !lexeme.positions.is_empty() {
            let place = |position: &Position| Value::Int2(position.place().cast_signed());
            let letter = |position: &Position| Value::text(position.letter().encode_utf8(&mut [0; 4]));
            places = Value::Array(lexeme.positions.iter().map(place).collect::<Vec<_>>().into());
            weights = Value::Array(lexeme.positions.iter().map(letter).collect::<Vec<_>>().into());
        }
        Ok(Value::Record([Value::text(&lexeme.text), places, weights].into()))
    };
    rows(cx, vector(own)?.into_lexemes().into_iter().map(row))
}

/// `a || b`: the positions of the second vector behind the last of the first.
fn concat(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(a), Value::Opaque(b)] = args else { return Err(unexpected("tsvector_concat", args)) };
    let (a, b) = (vector(a)?, vector(b)?);
    let last = a.lexemes().iter().flat_map(|lexeme| &lexeme.positions).map(|position| position.place()).max();
    let shift = |position: Position| {
        let place = position.place().saturating_add(last.unwrap_or(0)).min(POSITION_MAX);
        Position::new(place, position.weight())
    };
    let mut lexemes = a.into_lexemes();
    let count = lexemes.len();
    for mut lexeme in b.into_lexemes() {
        let shifted = lexeme.positions.iter().map(|position| shift(*position));
        match lexemes[..count].binary_search_by(|own| own.text.as_bytes().cmp(lexeme.text.as_bytes())) {
            Ok(at) => add(&mut lexemes[at].positions, shifted),
            Err(_) => {
                let mut positions = Vec::new();
                add(&mut positions, shifted);
                lexeme.positions = positions;
                lexemes.push(lexeme);
            }
        }
    }
    lexemes.sort_by(|a, b| a.text.as_bytes().cmp(b.text.as_bytes()));
    Ok(TsVector::of_ordered(lexemes)?.into_value())
}

/// Adds positions that lie behind those that are there, as many as there may be; the last one is there once.
fn add(positions: &mut Vec<Position>, more: impl Iterator<Item = Position>) {
    for position in more {
        let full = positions.len() >= POSITIONS_MAX;
        if full || positions.last().is_some_and(|last| last.place() == POSITION_MAX) {
            return;
        }
        positions.push(position);
    }
}

thread_local! {
    /// The query that was used last: most statements use one for all their rows.
    static LAST: RefCell<Option<(Opaque, Rc<TsQuery>)>> = const { RefCell::new(None) };
}

/// The query that a value is, read once.
fn kept(value: &Opaque) -> Result<Rc<TsQuery>> {
    LAST.with_borrow_mut(|last| {
        if let Some((known, query)) = last
            && known == value
        {
            return Ok(Rc::clone(query));
        }
        let read = Rc::new(query(value)?);
        *last = Some((value.clone(), Rc::clone(&read)));
        Ok(read)
    })
}

/// `@@`, whichever side the query is on; a text is a document, or where there is no query a plain query.
fn matches(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    use verso_types::OpaqueKind::TsVector as Document;
    let own = || Config::find(current_oid(cx)?).map_err(ExecError::from);
    let found = match args {
        [Value::Opaque(a), Value::Opaque(b)] => {
            let (document, asked) = if a.kind() == Document { (a, b) } else { (b, a) };
            StoredVector::read(document.bytes()).is_matched_by(&*kept(asked)?)
        }
        [Value::Text(text), Value::Opaque(asked)] => of_text(cx, own()?, text)?.is_matched_by(&*kept(asked)?),
        [Value::Text(text), Value::Text(asked)] => {
            let config = own()?;
            let asked = asking::ask(cx, config, asked, Mode::Plain, false)?;
            of_text(cx, config, text)?.is_matched_by(&asked)
        }
        _ => return Err(unexpected("ts_match", args)),
    };
    Ok(Value::Bool(found))
}

static UNNESTED: [(&str, ResultType); 3] = [
    ("lexeme", ResultType::Fixed(SqlType::Text)),
    ("positions", ResultType::FixedArray(SqlType::Int2)),
    ("weights", ResultType::FixedArray(SqlType::Text)),
];

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    function!("length" [DOCUMENT] => AS_INT4, Volatility::Immutable, length),
    function!("strip" [DOCUMENT] => VECTOR, Volatility::Immutable, strip),
    function!("setweight" [DOCUMENT, LETTER] => VECTOR, Volatility::Immutable, setweight),
    function!("setweight" [DOCUMENT, LETTER, TEXTS] => VECTOR, Volatility::Immutable, setweight),
    function!("ts_delete" [DOCUMENT, TEXT] => VECTOR, Volatility::Immutable, delete),
    function!("ts_delete" [DOCUMENT, TEXTS] => VECTOR, Volatility::Immutable, delete),
    function!("ts_filter" [DOCUMENT, LETTERS] => VECTOR, Volatility::Immutable, filter),
    function!("tsvector_to_array" [DOCUMENT] => ResultType::FixedArray(SqlType::Text), Volatility::Immutable, to_array),
    function!("array_to_tsvector" [TEXTS] => VECTOR, Volatility::Immutable, of_array),
    function!("tsvector_concat" "||" [DOCUMENT, DOCUMENT] => VECTOR, Volatility::Immutable, concat),
    BuiltinFunction {
        body: Body::Set(unnest),
        ..function!("unnest" [DOCUMENT] => ResultType::Mixed(&UNNESTED), Volatility::Immutable, concat)
    },
    function!("ts_match_vq" "@@" [DOCUMENT, ASKED] => AS_BOOL, Volatility::Immutable, matches),
    function!("ts_match_qv" "@@" [ASKED, DOCUMENT] => AS_BOOL, Volatility::Immutable, matches),
    function!("ts_match_vq" "@@@" [DOCUMENT, ASKED] => AS_BOOL, Volatility::Immutable, matches),
    function!("ts_match_qv" "@@@" [ASKED, DOCUMENT] => AS_BOOL, Volatility::Immutable, matches),
    function!("ts_match_tq" "@@" [TEXT, ASKED] => AS_BOOL, Volatility::Stable, matches),
    function!("ts_match_tt" "@@" [TEXT, TEXT] => AS_BOOL, Volatility::Stable, matches),
];
