//! How alike words are, or sound: PostgreSQL's `fuzzystrmatch` without the double metaphone and the codes of Daitch and Mokotoff;
//! and texts without accents, its `unaccent`. They are there while their extensions are.

use std::collections::HashMap;
use std::sync::LazyLock;

use verso_types::{SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::texts::each_char;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// Most characters of what is compared.
const COMPARED_MAX: usize = 255;
/// Letters of a code of `soundex`.
const CODE: usize = 4;

/// The costs of putting in, taking out and exchanging a character.
#[derive(Clone, Copy)]
struct Costs {
    put: i64,
    take: i64,
    exchange: i64,
}

/// The cheapest way from a text to another one; beyond `most`, where that is not below zero, one more than that.
fn distance(from: &str, to: &str, costs: Costs, most: i64) -> Result<Value> {
    let Costs { put, take, exchange } = costs;
    let count = |text: &str| text.chars().count();
    let cheapest = match (count(from), count(to)) {
        (0, theirs) => i64::try_from(theirs).unwrap_or(i64::MAX).wrapping_mul(put),
        (own, 0) => i64::try_from(own).unwrap_or(i64::MAX).wrapping_mul(take),
        (own, theirs) if own.max(theirs) > COMPARED_MAX => {
            let text = format!("levenshtein argument exceeds maximum length of {COMPARED_MAX} characters");
            return Err(TypeError::new("22023", text).into());
        }
        (own, _) => {
            // What the ways to the beginnings of `from` cost, for one beginning of `to` after the other.
            let from: Vec<char> = from.chars().collect();
            let mut before: Vec<i64> = (0..).map(|taken| taken * take).take(own + 1).collect();
            for theirs in to.chars() {
                let mut now = vec![before[0] + put];
                for (at, own) in from.iter().enumerate() {
                    let kept = before[at] + if *own == theirs { 0 } else { exchange };
                    now.push(kept.min(before[at + 1] + put).min(now[at] + take));
                }
                before = now;
            }
            before[own]
        }
    };
    let cheapest = if most >= 0 && cheapest > most { most + 1 } else { cheapest };
    // As integers of PostgreSQL, which do not look whether they overflow here.
    Ok(Value::Int4(cheapest as i32))
}

fn levenshtein(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let one = Costs { put: 1, take: 1, exchange: 1 };
    let number = |value: &Value| value.as_i64().unwrap_or_default();
    match args {
        [Value::Text(from), Value::Text(to)] => distance(from, to, one, -1),
        [Value::Text(from), Value::Text(to), most] => distance(from, to, one, number(most)),
        [Value::Text(from), Value::Text(to), put, take, exchange, most @ ..] => {
            let costs = Costs { put: number(put), take: number(take), exchange: number(exchange) };
            distance(from, to, costs, most.first().map_or(-1, number))
        }
        _ => Err(unexpected("levenshtein", args)),
    }
}

/// The digit of a letter; any other byte is its own.
fn digit(byte: u8) -> u8 {
    const OF_LETTERS: &[u8; 26] = b"01230120022455012623010202";
    match byte.to_ascii_uppercase() {
        letter @ b'A'..=b'Z' => OF_LETTERS[usize::from(letter - b'A')],
        other => other,
    }
}

/// The first letter, and the digits of those behind that do not sound like the one before; empty without letters.
fn code(word: &str) -> String {
    let word = word.as_bytes();
    let Some(first) = word.iter().position(u8::is_ascii_alphabetic) else { return String::new() };
    let mut code = String::from(char::from(word[first].to_ascii_uppercase()));
    for pair in word[first..].windows(2) {
        let digit_of = digit(pair[1]);
        if code.len() < CODE
            && pair[1].is_ascii_alphabetic()
            && digit_of != digit(pair[0])
            && digit_of != b'0'
        {
            code.push(char::from(digit_of));
        }
    }
    while code.len() < CODE {
        code.push('0');
    }
    code
}

fn difference(a: &str, b: &str) -> i32 {
    let (a, b) = (code(a), code(b));
    (0..CODE).filter(|at| a.as_bytes().get(*at) == b.as_bytes().get(*at)).count() as i32
}

/// A word as Lawrence Philips' metaphone spells it, with so many letters at most.
fn metaphone(word: &str, most: usize) -> String {
    let word = word.as_bytes();
    let letter = |at: usize| word.get(at).map_or(0, u8::to_ascii_uppercase);
    let back = |at: usize, by: usize| at.checked_sub(by).map_or(0, letter);
    let is_vowel = |letter: u8| matches!(letter, b'A' | b'E' | b'I' | b'O' | b'U');
    let softens = |letter: u8| matches!(letter, b'E' | b'I' | b'Y');
    let mut out = String::new();
    let Some(mut at) = word.iter().position(u8::is_ascii_alphabetic) else { return out };
    // The first letters have rules of their own.
    let next = letter(at + 1);
    let (heard, taken) = match letter(at) {
        b'A' if next == b'E' => ("E", 2),
        b'A' => ("A", 1),
        b'E' => ("E", 1),
        b'I' => ("I", 1),
        b'O' => ("O", 1),
        b'U' => ("U", 1),
        b'G' | b'K' | b'P' if next == b'N' => ("N", 2),
        b'W' if next == b'H' => ("H", 2),
        b'W' if next == b'R' => ("R", 2),
        b'W' if is_vowel(next) => ("W", 2),
        b'X' => ("S", 1),
        _ => ("", 0),
    };
    out.push_str(heard);
    at += taken;
    while at < word.len() && out.len() < most {
        let (own, before, next) = (letter(at), back(at, 1), letter(at + 1));
        let behind = if next == 0 { 0 } else { letter(at + 2) };
        let here = at;
        at += 1;
        // Of a letter that comes twice one is heard, but for C.
        if !own.is_ascii_alphabetic() || own == before && own != b'C' {
            continue;
        }
        let hisses = next == b'I' && matches!(behind, b'O' | b'A');
        // What is heard, and how many letters behind it belong to it.
        let (heard, taken) = match own {
            b'B' if before == b'M' => ("", 0),
            b'C' if next == b'I' && behind == b'A' => ("X", 0),
            b'C' if softens(next) => (if before == b'S' { "" } else { "S" }, 0),
            b'C' if next == b'H' => (if behind == b'R' || before == b'S' { "K" } else { "X" }, 1),
            b'C' | b'Q' => ("K", 0),
            b'D' if next == b'G' && softens(behind) => ("J", 1),
            b'D' => ("T", 0),
            b'G' if next == b'H' => {
                let silent = matches!(back(here, 3), b'B' | b'D' | b'H') || back(here, 4) == b'H';
                if silent { ("", 0) } else { ("F", 1) }
            }
            b'G' if next == b'N' => {
                let ends = !behind.is_ascii_alphabetic() || behind == b'E' && letter(here + 3) == b'D';
                (if ends { "" } else { "K" }, 0)
            }
            b'G' => (if softens(next) && before != b'G' { "J" } else { "K" }, 0),
            b'H' => {
                let affected = matches!(before, b'C' | b'G' | b'P' | b'S' | b'T');
                (if is_vowel(next) && !affected { "H" } else { "" }, 0)
            }
            b'K' => (if before == b'C' { "" } else { "K" }, 0),
            b'P' => (if next == b'H' { "F" } else { "P" }, 0),
            b'S' if hisses => ("X", 0),
            b'S' if next == b'H' => ("X", 1),
            b'S' if next == b'C' && letter(here + 2) == b'H' && letter(here + 3) == b'W' => ("X", 2),
            b'S' | b'Z' => ("S", 0),
            b'T' if hisses => ("X", 0),
            b'T' if next == b'H' => ("0", 1),
            b'T' => ("T", 0),
            b'V' => ("F", 0),
            b'W' => (if is_vowel(next) { "W" } else { "" }, 0),
            b'X' => (if out.len() + 1 < most { "KS" } else { "K" }, 0),
            b'Y' => (if is_vowel(next) { "Y" } else { "" }, 0),
            b'B' => ("B", 0),
            b'F' => ("F", 0),
            b'J' => ("J", 0),
            b'L' => ("L", 0),
            b'M' => ("M", 0),
            b'N' => ("N", 0),
            b'R' => ("R", 0),
            _ => ("", 0),
        };
        out.push_str(heard);
        at += taken;
    }
    out
}

fn spelled(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(word), Value::Int4(most)] = args else { return Err(unexpected("metaphone", args)) };
    let too_long = |what: &str| {
        let text = format!("{what} exceeds the maximum length of {COMPARED_MAX} bytes");
        Err(TypeError::new("22023", text).into())
    };
    match usize::try_from(*most) {
        _ if word.is_empty() => Ok(Value::text("")),
        _ if word.len() > COMPARED_MAX => too_long("argument"),
        Ok(most) if most > COMPARED_MAX => too_long("output"),
        Ok(most) if most > 0 => Ok(Value::text(&metaphone(word, most))),
        _ => Err(TypeError::new("2200F", "output cannot be empty string").into()),
    }
}

/// What stands for a letter with an accent, a ligature or the like, as PostgreSQL's rules have it (`data/unaccent.tsv`, made by asking
/// its `unaccent` of each character).
static PLAIN: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let (number, plain) = line.split_once('\t')?;
        Some((char::from_u32(u32::from_str_radix(number, 16).ok()?)?, plain))
    };
    include_str!("../../data/unaccent.tsv").lines().filter_map(line).collect()
});

fn unaccent(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text)] = args else { return Err(unexpected("unaccent", args)) };
    if text.is_ascii() {
        return Ok(args[0].clone());
    }
    each_char(cx, text.chars(), |c, push| match PLAIN.get(&c) {
        Some(plain) => plain.chars().for_each(push),
        None => push(c),
    })
}

fn sound(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Text(word)] => Ok(Value::text(&code(word))),
        _ => Err(unexpected("soundex", args)),
    }
}

static FUNCTIONS: &[BuiltinFunction] = &[
    entry!("levenshtein" () [Text, Text] => Int4, levenshtein, None),
    entry!("levenshtein" () [Text, Text, Int4, Int4, Int4] => Int4, levenshtein, None),
    entry!("levenshtein_less_equal" () [Text, Text, Int4] => Int4, levenshtein, None),
    entry!("levenshtein_less_equal" () [Text, Text, Int4, Int4, Int4, Int4] => Int4, levenshtein, None),
    entry!("soundex" () [Text] => Text, sound, None),
    entry!("text_soundex" () [Text] => Text, sound, None),
    entry!("difference" () [Text, Text] => Int4, |_, args| match args {
        [Value::Text(a), Value::Text(b)] => Ok(Value::Int4(difference(a, b))),
        _ => Err(unexpected("difference", args)),
    }, None),
    entry!("metaphone" () [Text, Int4] => Text, spelled, None),
    BuiltinFunction {
        volatility: Volatility::Stable,
        ..entry!("unaccent" () [Text] => Text, unaccent, None)
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
