//! Regular expressions: `~`, `~*`, `!~`, `!~*`, the functions `regexp_…`, `substring(text from pattern)`. The `regex`
//! crate's language, which lacks back references and look-around (an error names them).

use std::cell::RefCell;
use std::rc::Rc;

use regex::{Captures, Regex, RegexBuilder};
use verso_types::error::sqlstate;
use verso_types::{SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, SetFn, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::Bytes;

/// Compiled patterns kept per thread; a statement rarely has more than one.
const CACHED: usize = 8;
/// Matches between two looks at the flag that cancels.
const TICK_MATCHES: usize = 4096;

/// What the letters of a flags argument ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Flags {
    global: bool,
    fold: bool,
    literal: bool,
    /// `.` stops at the end of a line.
    dot_in_line: bool,
    /// `^` and `$` match at every line.
    lines: bool,
}

impl Flags {
    fn parse(flags: &str) -> Result<Flags> {
        let mut parsed = Flags::default();
        for flag in flags.chars() {
            match flag {
                'g' => parsed.global = true,
                'i' => parsed.fold = true,
                'c' => parsed.fold = false,
                'q' => parsed.literal = true,
                'n' | 'm' => (parsed.dot_in_line, parsed.lines) = (true, true),
                'p' => (parsed.dot_in_line, parsed.lines) = (true, false),
                'w' => (parsed.dot_in_line, parsed.lines) = (false, true),
                's' => (parsed.dot_in_line, parsed.lines) = (false, false),
                't' => {}
                'x' | 'b' | 'e' => {
                    let message = format!("regular expression option \"{flag}\" is not supported");
                    return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).into());
                }
                _ => {
                    let message = format!("invalid regular expression option: \"{flag}\"");
                    return Err(TypeError::new("22023", message).into());
                }
            }
        }
        Ok(parsed)
    }

    /// The flags of a function that has a sibling for all matches, or needs none.
    fn parse_once(flags: &str, function: &str) -> Result<Flags> {
        let parsed = Flags::parse(flags)?;
        if parsed.global {
            let message = format!("{function}() does not support the \"global\" option");
            return Err(TypeError::new("22023", message).into());
        }
        Ok(parsed)
    }
}

thread_local! {
    static CACHE: RefCell<Vec<(String, Flags, Rc<Regex>)>> = const { RefCell::new(Vec::new()) };
}

fn compiled(pattern: &str, flags: Flags) -> Result<Rc<Regex>> {
    let flags = Flags { global: false, ..flags };
    CACHE.with_borrow_mut(|cache| {
        if let Some(at) = cache.iter().position(|(text, kept, _)| *kept == flags && text == pattern) {
            return Ok(Rc::clone(&cache[at].2));
        }
        if flags.dot_in_line && pattern.contains("[^") {
            let message = "[^…] beside a regular expression option for single lines is not supported";
            return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).into());
        }
        let literal = if flags.literal { regex::escape(pattern) } else { String::new() };
        let regex = RegexBuilder::new(if flags.literal { &literal } else { pattern })
            .case_insensitive(flags.fold)
            .dot_matches_new_line(!flags.dot_in_line)
            .multi_line(flags.lines)
            .build()
            .map_err(|error| TypeError::new("2201B", format!("invalid regular expression: {error}")))?;
        if cache.len() == CACHED {
            cache.remove(0);
        }
        let regex = Rc::new(regex);
        cache.push((pattern.to_owned(), flags, Rc::clone(&regex)));
        Ok(regex)
    })
}

fn is_match(text: &str, pattern: &str, fold: bool, negated: bool) -> Result<Value> {
    let flags = Flags { fold, ..Flags::default() };
    Ok(Value::Bool(compiled(pattern, flags)?.is_match(text) != negated))
}

/// The matches from a place on. Behind an empty one the search goes on a character further, so that one that is empty
/// may follow one that is not (the `regex` crate's own iterator leaves that out).
fn matches<'r, 't>(
    regex: &'r Regex,
    text: &'t str,
    start: usize,
) -> impl Iterator<Item = Captures<'t>> + use<'r, 't> {
    let mut next = Some(start);
    std::iter::from_fn(move || {
        let captures = regex.captures_at(text, next?)?;
        let found = captures.get_match();
        next = if found.is_empty() {
            text[found.end()..].chars().next().map(|c| found.end() + c.len_utf8())
        } else {
            Some(found.end())
        };
        Some(captures)
    })
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

/// Replaces the `nth` match from a place on, or all if that is 0.
fn replace(
    cx: &EvalContext<'_>,
    text: &str,
    regex: &Regex,
    new: &str,
    start: usize,
    nth: usize,
) -> Result<Value> {
    let (mut out, mut copied) = (Bytes::new(cx), 0);
    for (i, captures) in matches(regex, text, start).enumerate() {
        if i % TICK_MATCHES == TICK_MATCHES - 1 {
            cx.runtime.check_cancelled()?;
        }
        if nth == 0 || i + 1 == nth {
            let found = captures.get_match();
            out.push(&text.as_bytes()[copied..found.start()])?;
            expand(new, &captures, &mut out)?;
            copied = found.end();
        }
        if i + 1 == nth {
            break;
        }
    }
    out.push(&text.as_bytes()[copied..])?;
    Ok(out.into_text())
}

/// `regexp_replace(text, pattern, new [, flags])` and `(text, pattern, new, start [, n [, flags]])`.
fn regexp_replace(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern), Value::Text(new), rest @ ..] = args else {
        return Err(unexpected("regexp_replace", args));
    };
    match rest {
        [Value::Text(flags)] => {
            if let Some(digit) = flags.chars().next().filter(char::is_ascii_digit) {
                let message = format!("invalid regular expression option: \"{digit}\"");
                let hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth \
                            argument to integer explicitly.";
                return Err(TypeError::new("22023", message).with_hint(hint).into());
            }
            let flags = Flags::parse(flags)?;
            replace(cx, text, &*compiled(pattern, flags)?, new, 0, usize::from(!flags.global))
        }
        _ => {
            let options = Options::read(rest, &["start", "n"])?;
            let flags = Flags::parse(options.flags)?;
            let nth = if options.numbers.len() < 2 && flags.global { 0 } else { options.number(1, 1) };
            let Some(start) = offset(text, options.number(0, 1)) else { return Ok(args[0].clone()) };
            replace(cx, text, &*compiled(pattern, flags)?, new, start, nth)
        }
    }
}

/// Where the character with this number (from 1) begins; none behind the end.
fn offset(text: &str, character: usize) -> Option<usize> {
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.nth(character - 1)
}

/// The numbers behind text and pattern, and the flags wherever they stand among them.
struct Options<'a> {
    numbers: Vec<usize>,
    flags: &'a str,
}

impl Options<'_> {
    fn read<'a>(args: &'a [Value], names: &[&str]) -> Result<Options<'a>> {
        let mut options = Options { numbers: Vec::new(), flags: "" };
        for arg in args {
            match arg {
                Value::Int4(number) => {
                    let name = names.get(options.numbers.len()).copied().unwrap_or("n");
                    let least = i32::from(
                        name != "subexpr" && name != "endoption" && !(name == "n" && names.len() == 2),
                    );
                    let most = if name == "endoption" { 1 } else { i32::MAX };
                    if !(least..=most).contains(number) {
                        let message = format!("invalid value for parameter \"{name}\": {number}");
                        return Err(TypeError::new("22023", message).into());
                    }
                    // not negative, as checked
                    options.numbers.push(usize::try_from(*number).unwrap_or(0));
                }
                Value::Text(flags) => options.flags = flags,
                _ => {}
            }
        }
        Ok(options)
    }

    fn number(&self, at: usize, default: usize) -> usize {
        self.numbers.get(at).copied().unwrap_or(default)
    }
}

/// Text, pattern, and the rest of the arguments.
fn split_args<'a>(args: &'a [Value], function: &str) -> Result<(&'a str, &'a str, &'a [Value])> {
    match args {
        [Value::Text(text), Value::Text(pattern), rest @ ..] => Ok((text, pattern, rest)),
        _ => Err(unexpected(function, args)),
    }
}

fn flags_of(rest: &[Value]) -> &str {
    rest.last().and_then(Value::as_str).unwrap_or("")
}

/// The groups of a match, or all of it where there are none.
fn groups(captures: &Captures<'_>) -> Value {
    let value =
        |found: Option<regex::Match<'_>>| found.map_or(Value::Null, |found| Value::text(found.as_str()));
    let first = usize::from(captures.len() > 1);
    Value::Array((first..captures.len()).map(|i| value(captures.get(i))).collect())
}

fn regexp_match(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, rest) = split_args(args, "regexp_match")?;
    let flags = Flags::parse(flags_of(rest))?;
    if flags.global {
        let message = "regexp_match() does not support the \"global\" option";
        return Err(TypeError::new("22023", message)
            .with_hint("Use the regexp_matches function instead.")
            .into());
    }
    let regex = compiled(pattern, flags)?;
    Ok(regex.captures(text).map_or(Value::Null, |captures| groups(&captures)))
}

fn regexp_matches(_: &EvalContext<'_>, args: &[Value]) -> Result<Box<dyn Iterator<Item = Value> + Send>> {
    let (text, pattern, rest) = split_args(args, "regexp_matches")?;
    let flags = Flags::parse(flags_of(rest))?;
    let regex = compiled(pattern, flags)?;
    let count = if flags.global { usize::MAX } else { 1 };
    let rows: Vec<Value> = matches(&regex, text, 0).take(count).map(|captures| groups(&captures)).collect();
    Ok(Box::new(rows.into_iter()))
}

fn regexp_like(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, rest) = split_args(args, "regexp_like")?;
    let flags = Flags::parse_once(flags_of(rest), "regexp_like")?;
    Ok(Value::Bool(compiled(pattern, flags)?.is_match(text)))
}

fn regexp_count(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, rest) = split_args(args, "regexp_count")?;
    let options = Options::read(rest, &["start"])?;
    let regex = compiled(pattern, Flags::parse_once(options.flags, "regexp_count")?)?;
    let found = offset(text, options.number(0, 1)).map_or(0, |start| matches(&regex, text, start).count());
    Ok(Value::Int4(found as i32))
}

/// The match with this number from a place on.
fn nth<'t>(regex: &Regex, text: &'t str, start: usize, n: usize) -> Option<Captures<'t>> {
    matches(regex, text, offset(text, start)?).nth(n - 1)
}

/// `regexp_instr(text, pattern [, start [, n [, endoption [, flags [, subexpr]]]]])`
fn regexp_instr(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, rest) = split_args(args, "regexp_instr")?;
    let options = Options::read(rest, &["start", "n", "endoption", "subexpr"])?;
    let regex = compiled(pattern, Flags::parse_once(options.flags, "regexp_instr")?)?;
    let captures = nth(&regex, text, options.number(0, 1), options.number(1, 1));
    let found = captures.as_ref().and_then(|captures| captures.get(options.number(3, 0)));
    Ok(Value::Int4(found.map_or(0, |found| {
        let at = if options.number(2, 0) == 1 { found.end() } else { found.start() };
        text[..at].chars().count() as i32 + 1
    })))
}

/// `regexp_substr(text, pattern [, start [, n [, flags [, subexpr]]]])`
fn regexp_substr(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, rest) = split_args(args, "regexp_substr")?;
    let options = Options::read(rest, &["start", "n", "subexpr"])?;
    let regex = compiled(pattern, Flags::parse_once(options.flags, "regexp_substr")?)?;
    let captures = nth(&regex, text, options.number(0, 1), options.number(1, 1));
    let found = captures.as_ref().and_then(|captures| captures.get(options.number(2, 0)));
    Ok(found.map_or(Value::Null, |found| Value::text(found.as_str())))
}

/// `substring(text from pattern)`: the first group of the first match, or all of it.
fn substring(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, _) = split_args(args, "substring")?;
    substring_of(text, pattern)
}

/// What the first parenthesis matches, or all of the pattern where it has none.
pub(super) fn substring_of(text: &str, pattern: &str) -> Result<Value> {
    let regex = compiled(pattern, Flags::default())?;
    let captures = regex.captures(text);
    let found = captures.as_ref().and_then(|captures| captures.get(usize::from(captures.len() > 1)));
    Ok(found.map_or(Value::Null, |found| Value::text(found.as_str())))
}

/// What lies between the matches. One that is empty divides only within the text, and not where one has just ended.
fn split(args: &[Value], function: &str) -> Result<Vec<Value>> {
    let (text, pattern, rest) = split_args(args, function)?;
    let regex = compiled(pattern, Flags::parse_once(flags_of(rest), function)?)?;
    let (mut parts, mut part_start, mut last_end) = (Vec::new(), 0, 0);
    for captures in matches(&regex, text, 0) {
        let found = captures.get_match();
        if found.start() < text.len() && found.end() > last_end {
            parts.push(Value::text(&text[part_start..found.start()]));
            part_start = found.end();
        }
        last_end = found.end();
    }
    parts.push(Value::text(&text[part_start..]));
    Ok(parts)
}

fn split_to_array(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Array(split(args, "regexp_split_to_array")?.into()))
}

fn split_to_table(_: &EvalContext<'_>, args: &[Value]) -> Result<Box<dyn Iterator<Item = Value> + Send>> {
    Ok(Box::new(split(args, "regexp_split_to_table")?.into_iter()))
}

macro_rules! matching {
    ($name:literal ($($op:literal)?) fold $fold:literal negated $negated:literal) => {
        entry!($name ($($op)?) [Text, Text] => Bool, |_, args| match args {
            [Value::Text(a), Value::Text(b)] => is_match(a, b, $fold, $negated),
            _ => Err(unexpected($name, args)),
        }, None)
    };
}

/// A function of a text and a pattern whose result is, or yields, something else than the short names tell.
macro_rules! of_pattern {
    ($name:literal [$($arg:ident),*] => $result:expr, $body:expr) => {
        BuiltinFunction {
            result: $result,
            body: $body,
            ..entry!($name () [Text, Text $(, $arg)*] => Text, split_to_array, None)
        }
    };
}

/// An array of texts.
const TEXTS: ResultType = ResultType::ArrayOf(0);

static PATTERNS: &[BuiltinFunction] = &[
    matching!("textregexeq" ("~") fold false negated false),
    matching!("texticregexeq" ("~*") fold true negated false),
    matching!("textregexne" ("!~") fold false negated true),
    matching!("texticregexne" ("!~*") fold true negated true),
    entry!("regexp_like" () [Text, Text] => Bool, regexp_like, None),
    entry!("regexp_like" () [Text, Text, Text] => Bool, regexp_like, None),
    entry!("regexp_replace" () [Text, Text, Text] => Text, regexp_replace, None),
    entry!("regexp_replace" () [Text, Text, Text, Text] => Text, regexp_replace, None),
    entry!("regexp_replace" () [Text, Text, Text, Int4] => Text, regexp_replace, None),
    entry!("regexp_replace" () [Text, Text, Text, Int4, Int4] => Text, regexp_replace, None),
    entry!("regexp_replace" () [Text, Text, Text, Int4, Int4, Text] => Text, regexp_replace, None),
    entry!("regexp_count" () [Text, Text] => Int4, regexp_count, None),
    entry!("regexp_count" () [Text, Text, Int4] => Int4, regexp_count, None),
    entry!("regexp_count" () [Text, Text, Int4, Text] => Int4, regexp_count, None),
    entry!("regexp_instr" () [Text, Text] => Int4, regexp_instr, None),
    entry!("regexp_instr" () [Text, Text, Int4] => Int4, regexp_instr, None),
    entry!("regexp_instr" () [Text, Text, Int4, Int4] => Int4, regexp_instr, None),
    entry!("regexp_instr" () [Text, Text, Int4, Int4, Int4] => Int4, regexp_instr, None),
    entry!("regexp_instr" () [Text, Text, Int4, Int4, Int4, Text] => Int4, regexp_instr, None),
    entry!("regexp_instr" () [Text, Text, Int4, Int4, Int4, Text, Int4] => Int4, regexp_instr, None),
    entry!("regexp_substr" () [Text, Text] => Text, regexp_substr, None),
    entry!("regexp_substr" () [Text, Text, Int4] => Text, regexp_substr, None),
    entry!("regexp_substr" () [Text, Text, Int4, Int4] => Text, regexp_substr, None),
    entry!("regexp_substr" () [Text, Text, Int4, Int4, Text] => Text, regexp_substr, None),
    entry!("regexp_substr" () [Text, Text, Int4, Int4, Text, Int4] => Text, regexp_substr, None),
    entry!("substring" () [Text, Text] => Text, substring, None),
    of_pattern!("regexp_match" [] => TEXTS, Body::Scalar(regexp_match)),
    of_pattern!("regexp_match" [Text] => TEXTS, Body::Scalar(regexp_match)),
    of_pattern!("regexp_matches" [] => TEXTS, Body::Set(regexp_matches as SetFn)),
    of_pattern!("regexp_matches" [Text] => TEXTS, Body::Set(regexp_matches as SetFn)),
    of_pattern!("regexp_split_to_array" [] => TEXTS, Body::Scalar(split_to_array)),
    of_pattern!("regexp_split_to_array" [Text] => TEXTS, Body::Scalar(split_to_array)),
    of_pattern!("regexp_split_to_table" [] => ResultType::Fixed(SqlType::Text), Body::Set(split_to_table as SetFn)),
    of_pattern!("regexp_split_to_table" [Text] => ResultType::Fixed(SqlType::Text),
        Body::Set(split_to_table as SetFn)),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [PATTERNS];
