//! `upper`, `lower`, `initcap` and `casefold`, as collations map letters.
//!
//! | collation | mapping |
//! |---|---|
//! | the database's, `pg_c_utf8` | [`Mapping::Simple`]: a letter for a letter |
//! | `C`, `POSIX`, `ucs_basic` | [`Mapping::Ascii`]: other letters stay |
//! | `pg_unicode_fast`, those of ICU | [`Mapping::Full`]: `ß` becomes `SS`, a sigma looks where it stands |
//! | those of ICU for Turkish and Azerbaijani | [`Mapping::Turkic`]: the same, and `i` has its dot as a capital, too |

use verso_types::{SqlType, Value};

use super::define::{entry, unexpected};
use super::texts::each_char;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::regexp::case::{large, small};

/// A function of case under a collation whose mapping is another one than the database's: the text, the function's name, the
/// mapping's.
pub const MAPPED: &str = "verso_collation_case";

/// Texts that are mapped as a whole: a final sigma depends on what is around it.
const WHOLE_BYTES: usize = 1 << 12;

/// How letters become others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Letters of ASCII only.
    Ascii,
    /// One for one.
    Simple,
    /// As Unicode's special casing says.
    Full,
    /// The same with a dotted and a dotless `i`.
    Turkic,
}

impl Mapping {
    const ALL: [(Mapping, &'static str); 4] = [
        (Mapping::Ascii, "ascii"),
        (Mapping::Simple, "simple"),
        (Mapping::Full, "full"),
        (Mapping::Turkic, "turkic"),
    ];

    /// Its name in calls of [`MAPPED`].
    pub fn name(self) -> &'static str {
        Mapping::ALL.iter().find(|(mapping, _)| *mapping == self).map_or("", |(_, name)| name)
    }

    fn of_name(name: &str) -> Option<Mapping> {
        Mapping::ALL.iter().find(|(_, known)| *known == name).map(|(mapping, _)| *mapping)
    }

    fn is_full(self) -> bool {
        matches!(self, Mapping::Full | Mapping::Turkic)
    }
}

fn push_lower(mapping: Mapping, c: char, push: &mut dyn FnMut(char)) {
    match (mapping, c) {
        (Mapping::Ascii, c) => push(c.to_ascii_lowercase()),
        (Mapping::Simple, c) => push(small(c)),
        (Mapping::Turkic, 'I') => push('ı'),
        (Mapping::Turkic, 'İ') => push('i'),
        (_, c) => c.to_lowercase().for_each(push),
    }
}

fn push_upper(mapping: Mapping, c: char, push: &mut dyn FnMut(char)) {
    match (mapping, c) {
        (Mapping::Ascii, c) => push(c.to_ascii_uppercase()),
        (Mapping::Simple, c) => push(large(c)),
        (Mapping::Turkic, 'i') => push('İ'),
        (_, c) => c.to_uppercase().for_each(push),
    }
}

/// The first letter of a word.
fn push_title(mapping: Mapping, c: char, push: &mut dyn FnMut(char)) {
    if !mapping.is_full() {
        return push_upper(mapping, c, push);
    }
    match c {
        'Ǆ' | 'ǅ' | 'ǆ' => push('ǅ'),
        'Ǉ' | 'ǈ' | 'ǉ' => push('ǈ'),
        'Ǌ' | 'ǋ' | 'ǌ' => push('ǋ'),
        'Ǳ' | 'ǲ' | 'ǳ' => push('ǲ'),
        // Georgian has capitals for whole words only.
        '\u{10d0}'..='\u{10ff}' => push(c),
        '\u{1f80}'..='\u{1faf}'
        | '\u{1fb3}'
        | '\u{1fbc}'
        | '\u{1fc3}'
        | '\u{1fcc}'
        | '\u{1ff3}'
        | '\u{1ffc}' => {
            push(large(c));
        }
        // An iota below a letter with an accent stays below.
        '\u{1fb2}' | '\u{1fb4}' | '\u{1fc2}' | '\u{1fc4}' | '\u{1ff2}' | '\u{1ff4}' => {
            c.to_uppercase().take(1).for_each(&mut *push);
            push('\u{345}');
        }
        '\u{1fb7}' => ['\u{1fbc}', '\u{342}'].into_iter().for_each(push),
        '\u{1fc7}' => ['\u{1fcc}', '\u{342}'].into_iter().for_each(push),
        '\u{1ff7}' => ['\u{1ffc}', '\u{342}'].into_iter().for_each(push),
        'ŉ' => c.to_uppercase().for_each(push),
        // Of a ligature only the first letter is a capital.
        _ => {
            let mut letters = 0;
            push_upper(mapping, c, &mut |upper| {
                letters += 1;
                if letters == 1 { push(upper) } else { upper.to_lowercase().for_each(&mut *push) }
            });
        }
    }
}

/// What texts that differ in case only have in common.
fn push_folded(mapping: Mapping, c: char, push: &mut dyn FnMut(char)) {
    match (mapping, c) {
        (Mapping::Ascii, c) => push(c.to_ascii_lowercase()),
        (Mapping::Turkic, 'I') => push('ı'),
        (Mapping::Turkic, 'İ') => push('i'),
        (_, 'ı') | (Mapping::Simple, 'İ') => push(c),
        // The capitals of Cherokee are older.
        (_, '\u{13a0}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}') => push(large(c)),
        (Mapping::Simple, '\u{1fd3}') => push('\u{390}'),
        (Mapping::Simple, '\u{1fe3}') => push('\u{3b0}'),
        (Mapping::Simple, '\u{fb05}') => push('\u{fb06}'),
        (Mapping::Simple, c) => push(small(large(c))),
        (_, 'ẞ') => ['s', 's'].into_iter().for_each(push),
        (_, c) => c.to_uppercase().flat_map(char::to_lowercase).for_each(push),
    }
}

/// Whether a word goes on with the character.
fn is_of_word(mapping: Mapping, c: char) -> bool {
    match mapping {
        Mapping::Ascii => c.is_ascii_alphanumeric(),
        Mapping::Simple => c.is_alphabetic() || c.is_ascii_digit(),
        Mapping::Full | Mapping::Turkic => c.is_alphanumeric() && !matches!(c, '²' | '³' | '¹' | '¼'..='¾'),
    }
}

/// Each character by itself.
fn each(cx: &EvalContext<'_>, value: &str, mut map: impl FnMut(char, &mut dyn FnMut(char))) -> Result<Value> {
    if value.len() > WHOLE_BYTES {
        return each_char(cx, value.chars(), map);
    }
    let mut out = String::with_capacity(value.len());
    value.chars().for_each(|c| map(c, &mut |c| out.push(c)));
    Ok(Value::Text(out.into()))
}

pub(super) fn lower(cx: &EvalContext<'_>, mapping: Mapping, value: &str) -> Result<Value> {
    if value.len() <= WHOLE_BYTES && mapping != Mapping::Turkic {
        if value.is_ascii() {
            return Ok(Value::Text(value.to_ascii_lowercase().into()));
        }
        if mapping == Mapping::Full {
            return Ok(Value::Text(value.to_lowercase().into()));
        }
    }
    each(cx, value, |c, push| push_lower(mapping, c, push))
}

pub(super) fn upper(cx: &EvalContext<'_>, mapping: Mapping, value: &str) -> Result<Value> {
    if value.len() <= WHOLE_BYTES && mapping != Mapping::Turkic && value.is_ascii() {
        return Ok(Value::Text(value.to_ascii_uppercase().into()));
    }
    each(cx, value, |c, push| push_upper(mapping, c, push))
}

pub(super) fn initcap(cx: &EvalContext<'_>, mapping: Mapping, value: &str) -> Result<Value> {
    let mut inside = false;
    each(cx, value, |c, push| {
        match inside {
            true => push_lower(mapping, c, push),
            false => push_title(mapping, c, push),
        }
        inside = is_of_word(mapping, c);
    })
}

pub(super) fn casefold(cx: &EvalContext<'_>, mapping: Mapping, value: &str) -> Result<Value> {
    each(cx, value, |c, push| push_folded(mapping, c, push))
}

fn mapped(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(value), Value::Text(function), Value::Text(mapping)] = args else {
        return Err(unexpected(MAPPED, args));
    };
    let Some(mapping) = Mapping::of_name(mapping) else { return Err(unexpected(MAPPED, args)) };
    match &**function {
        "lower" => lower(cx, mapping, value),
        "upper" => upper(cx, mapping, value),
        "initcap" => initcap(cx, mapping, value),
        "casefold" => casefold(cx, mapping, value),
        _ => Err(unexpected(MAPPED, args)),
    }
}

static FUNCTIONS: &[BuiltinFunction] =
    &[entry!("verso_collation_case" () [Text, Text, Text] => Text, mapped, None)];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
