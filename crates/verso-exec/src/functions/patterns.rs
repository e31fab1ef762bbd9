//! Regular expressions: `~`, `~*`, `!~`, `!~*`, `regexp_replace`, `regexp_like`. The `regex` crate's language, which
//! lacks back references and look-around (an error names them).

use std::cell::RefCell;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};
use verso_types::{SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::Bytes;

/// Compiled patterns kept per thread; a statement rarely has more than one.
const CACHED: usize = 8;
/// Matches between two looks at the flag that cancels.
const TICK_MATCHES: usize = 4096;

thread_local! {
    static CACHE: RefCell<Vec<(String, bool, Rc<Regex>)>> = const { RefCell::new(Vec::new()) };
}

fn compiled(pattern: &str, fold: bool) -> Result<Rc<Regex>> {
    CACHE.with_borrow_mut(|cache| {
        if let Some(at) = cache.iter().position(|(text, folded, _)| *folded == fold && text == pattern) {
            return Ok(Rc::clone(&cache[at].2));
        }
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(fold)
            .dot_matches_new_line(true)
            .build()
            .map_err(|error| TypeError::new("2201B", format!("invalid regular expression: {error}")))?;
        if cache.len() == CACHED {
            cache.remove(0);
        }
        let regex = Rc::new(regex);
        cache.push((pattern.to_owned(), fold, Rc::clone(&regex)));
        Ok(regex)
    })
}

fn is_match(text: &str, pattern: &str, fold: bool, negated: bool) -> Result<Value> {
    Ok(Value::Bool(compiled(pattern, fold)?.is_match(text) != negated))
}

/// `\1` and `\&` stand for groups and the match; flags `g` (all) and `i` (case).
fn replace(cx: &EvalContext<'_>, text: &str, pattern: &str, replacement: &str, flags: &str) -> Result<Value> {
    if let Some(flag) = flags.chars().find(|flag| !"gi".contains(*flag)) {
        let message = format!("invalid regular expression option: \"{flag}\"");
        return Err(TypeError::new("22023", message).into());
    }
    let regex = compiled(pattern, flags.contains('i'))?;
    let limit = if flags.contains('g') { usize::MAX } else { 1 };
    let mut out = Bytes::new(cx);
    let mut end = 0;
    for (count, captures) in regex.captures_iter(text).take(limit).enumerate() {
        if count % TICK_MATCHES == TICK_MATCHES - 1 {
            cx.runtime.check_cancelled()?;
        }
        let Some(found) = captures.get(0) else { continue };
        out.push(&text.as_bytes()[end..found.start()])?;
        end = found.end();
        expand(replacement, &captures, &mut out)?;
    }
    out.push(&text.as_bytes()[end..])?;
    Ok(out.into_text())
}

/// Appends the replacement with its groups filled in.
fn expand(replacement: &str, captures: &regex::Captures<'_>, out: &mut Bytes<'_>) -> Result<()> {
    let mut parts = replacement.split('\\');
    out.push(parts.next().unwrap_or_default().as_bytes())?;
    while let Some(part) = parts.next() {
        match part.as_bytes().first() {
            Some(b'&') => {
                out.push(captures[0].as_bytes())?;
                out.push(&part.as_bytes()[1..])?;
            }
            Some(digit) if digit.is_ascii_digit() => {
                let group = captures.get(usize::from(digit - b'0'));
                out.push(group.map_or("", |found| found.as_str()).as_bytes())?;
                out.push(&part.as_bytes()[1..])?;
            }
            Some(_) => {
                out.push(b"\\")?;
                out.push(part.as_bytes())?;
            }
            // Two of them stand for one, and one at the end for itself.
            None => {
                out.push(b"\\")?;
                out.push(parts.next().unwrap_or_default().as_bytes())?;
            }
        }
    }
    Ok(())
}

macro_rules! matching {
    ($name:literal ($($op:literal)?) fold $fold:literal negated $negated:literal) => {
        entry!($name ($($op)?) [Text, Text] => Bool, |_, args| match args {
            [Value::Text(a), Value::Text(b)] => is_match(a, b, $fold, $negated),
            _ => Err(unexpected($name, args)),
        }, None)
    };
}

static PATTERNS: &[BuiltinFunction] = &[
    matching!("textregexeq" ("~") fold false negated false),
    matching!("texticregexeq" ("~*") fold true negated false),
    matching!("textregexne" ("!~") fold false negated true),
    matching!("texticregexne" ("!~*") fold true negated true),
    matching!("regexp_like" () fold false negated false),
    entry!("regexp_replace" () [Text, Text, Text] => Text, |cx, args| match args {
        [Value::Text(a), Value::Text(b), Value::Text(c)] => replace(cx, a, b, c, ""),
        _ => Err(unexpected("regexp_replace", args)),
    }, None),
    entry!("regexp_replace" () [Text, Text, Text, Text] => Text, |cx, args| match args {
        [Value::Text(a), Value::Text(b), Value::Text(c), Value::Text(flags)] => replace(cx, a, b, c, flags),
        _ => Err(unexpected("regexp_replace", args)),
    }, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [PATTERNS];
