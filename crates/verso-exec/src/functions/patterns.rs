//! Regular expressions: `~`, `~*`, `!~`, `!~*`, the functions `regexp_…`, `substring(text from pattern)`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use verso_types::{SqlType, TypeError, Value};

use super::collected::{Rows, elements, rows};
use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, SetFn, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::{Bytes, Reservation};
use crate::regexp::{Match, Options, Regexp};

/// Compiled patterns kept per thread: a column of patterns rarely has more.
const CACHED: usize = 128;
/// Steps of all of their automata, of which the memory is a multiple; the last one may have more.
const STEPS_CACHED: usize = 50_000;
/// Matches between two looks at the flag that cancels.
const TICK_MATCHES: usize = 4096;

/// What the letters of a flags argument ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Flags {
    global: bool,
    options: Options,
}

impl Flags {
    fn parse(flags: &str) -> Result<Flags> {
        let mut parsed = Flags::default();
        for flag in flags.chars() {
            if flag == 'g' {
                parsed.global = true;
            } else if !parsed.options.set(flag) {
                let message = format!("invalid regular expression option: \"{flag}\"");
                return Err(TypeError::new("22023", message).into());
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

fn compiled(cx: &EvalContext<'_>, pattern: &str, flags: Flags) -> Result<Rc<Regexp>> {
    CACHE.with_borrow_mut(|cache| cache.get(cx, pattern, flags.options))
}

thread_local! {
    static CACHE: RefCell<Compiled> = RefCell::default();
}

/// Compiled patterns, as many as [`CACHED`], [`STEPS_CACHED`] and the instance's memory allow; those used last stay.
#[derive(Default)]
struct Compiled {
    /// By a hash of pattern and options.
    known: HashMap<u64, Known>,
    hasher: RandomState,
    /// The steps of all of them.
    steps: usize,
    uses: u64,
    /// Their memory, charged to the instance whose statement has compiled the last one.
    held: Option<Reservation>,
}

struct Known {
    pattern: Box<str>,
    options: Options,
    regexp: Rc<Regexp>,
    used: u64,
}

impl Compiled {
    fn get(&mut self, cx: &EvalContext<'_>, pattern: &str, options: Options) -> Result<Rc<Regexp>> {
        let hash = self.hasher.hash_one((pattern, options));
        self.uses += 1;
        if let Some(known) = self.known.get_mut(&hash)
            && known.options == options
            && *known.pattern == *pattern
        {
            known.used = self.uses;
            return Ok(Rc::clone(&known.regexp));
        }
        let regexp = Rc::new(Regexp::new(pattern, options)?);
        self.forget(hash);
        self.steps += regexp.steps();
        while !self.known.is_empty() && (self.known.len() >= CACHED || self.steps > STEPS_CACHED) {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.used).map(|(hash, _)| *hash);
            oldest.into_iter().for_each(|hash| self.forget(hash));
        }
        let known = Known { pattern: pattern.into(), options, regexp: Rc::clone(&regexp), used: self.uses };
        self.known.insert(hash, known);
        self.charge(cx, hash);
        Ok(regexp)
    }

    /// Charges for all of them; where there is no room for all, only one is kept.
    fn charge(&mut self, cx: &EvalContext<'_>, kept: u64) {
        let Some(instance) = cx.services.memory.account.of_instance() else { return };
        let bytes = |known: &HashMap<u64, Known>| {
            known.values().map(|known| known.regexp.bytes() + known.pattern.len() as u64).sum::<u64>()
        };
        let of_instance = |held: &Reservation| held.is_of(instance);
        self.held = self.held.take().filter(of_instance);
        let held = self.held.get_or_insert_with(|| instance.reserve("regular expressions", u64::MAX));
        if held.try_resize(bytes(&self.known)).is_err() {
            self.known.retain(|hash, _| *hash == kept);
            self.steps = self.known.values().map(|known| known.regexp.steps()).sum();
            held.hold(bytes(&self.known));
        }
    }

    fn forget(&mut self, hash: u64) {
        if let Some(known) = self.known.remove(&hash) {
            self.steps -= known.regexp.steps();
        }
    }
}

fn is_match(cx: &EvalContext<'_>, text: &str, pattern: &str, fold: bool, negated: bool) -> Result<Value> {
    let flags = Flags { global: false, options: Options { fold, ..Options::default() } };
    Ok(Value::Bool(compiled(cx, pattern, flags)?.is_match(cx, text)? != negated))
}

/// The matches from a place on. Behind an empty one the search goes on a character further, so that one that is empty
/// may follow one that is not.
fn matches<'m, 't: 'm>(
    cx: &'m EvalContext<'_>,
    regexp: &'m Regexp,
    text: &'t str,
    start: usize,
) -> impl Iterator<Item = Result<Match<'t>>> + 'm {
    let mut next = Some(start);
    let mut found_so_far = 0usize;
    std::iter::from_fn(move || {
        let from = next.take()?;
        found_so_far += 1;
        let found = match found_so_far % TICK_MATCHES {
            0 => cx.runtime.check_cancelled().and_then(|()| regexp.find(cx, text, from)),
            _ => regexp.find(cx, text, from),
        };
        let found = match found {
            Ok(found) => found?,
            Err(error) => return Some(Err(error)),
        };
        next = match found.end() == found.start() {
            true => text[found.end()..].chars().next().map(|c| found.end() + c.len_utf8()),
            false => Some(found.end()),
        };
        Some(Ok(found))
    })
}

/// Appends the replacement with its groups filled in.
fn expand(replacement: &str, captures: &Match<'_>, out: &mut Bytes<'_>) -> Result<()> {
    let mut parts = replacement.split('\\');
    out.push(parts.next().unwrap_or_default().as_bytes())?;
    while let Some(part) = parts.next() {
        match part.as_bytes().first() {
            Some(b'&') => {
                out.push(captures.get(0).unwrap_or("").as_bytes())?;
                out.push(&part.as_bytes()[1..])?;
            }
            Some(digit @ b'1'..=b'9') => {
                let group = captures.get(usize::from(digit - b'0'));
                out.push(group.unwrap_or("").as_bytes())?;
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
    regex: &Regexp,
    new: &str,
    start: usize,
    nth: usize,
) -> Result<Value> {
    let (mut out, mut copied) = (Bytes::new(cx), 0);
    for (i, captures) in matches(cx, regex, text, start).enumerate() {
        let captures = captures?;
        if nth == 0 || i + 1 == nth {
            out.push(&text.as_bytes()[copied..captures.start()])?;
            expand(new, &captures, &mut out)?;
            copied = captures.end();
        }
        if i + 1 == nth {
            break;
        }
    }
    out.push(&text.as_bytes()[copied..])?;
    Ok(out.into_text())
}

/// `regexp_replace(text, pattern, new [, flags])` and `(text, pattern, new, start [, n [, flags]])`.
pub(super) fn regexp_replace(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
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
            replace(cx, text, &*compiled(cx, pattern, flags)?, new, 0, usize::from(!flags.global))
        }
        _ => {
            let options = Given::read(rest, &["start", "n"])?;
            let flags = Flags::parse(options.flags)?;
            let nth = if options.numbers.len() < 2 && flags.global { 0 } else { options.number(1, 1) };
            let Some(start) = offset(text, options.number(0, 1)) else { return Ok(args[0].clone()) };
            replace(cx, text, &*compiled(cx, pattern, flags)?, new, start, nth)
        }
    }
}

/// Where the character with this number (from 1) begins; none behind the end.
fn offset(text: &str, character: usize) -> Option<usize> {
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.nth(character - 1)
}

/// The numbers behind text and pattern, and the flags wherever they stand among them.
struct Given<'a> {
    numbers: Vec<usize>,
    flags: &'a str,
}

impl Given<'_> {
    fn read<'a>(args: &'a [Value], names: &[&str]) -> Result<Given<'a>> {
        let mut options = Given { numbers: Vec::new(), flags: "" };
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
fn groups(captures: &Match<'_>) -> Value {
    let first = usize::from(captures.len() > 1);
    let group = |n| captures.get(n).map_or(Value::Null, Value::text);
    Value::Array((first..captures.len()).map(group).collect())
}

pub(super) fn regexp_match(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, rest) = split_args(args, "regexp_match")?;
    let flags = Flags::parse(flags_of(rest))?;
    if flags.global {
        let message = "regexp_match() does not support the \"global\" option";
        return Err(TypeError::new("22023", message)
            .with_hint("Use the regexp_matches function instead.")
            .into());
    }
    let found = compiled(cx, pattern, flags)?.find(cx, text, 0)?;
    Ok(found.map_or(Value::Null, |captures| groups(&captures)))
}

pub(super) fn regexp_matches(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let (text, pattern, rest) = split_args(args, "regexp_matches")?;
    let flags = Flags::parse(flags_of(rest))?;
    let regexp = compiled(cx, pattern, flags)?;
    let count = if flags.global { usize::MAX } else { 1 };
    let all = matches(cx, &regexp, text, 0).take(count);
    rows(cx, all.map(|found| Ok(groups(&found?))))
}

fn regexp_like(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, rest) = split_args(args, "regexp_like")?;
    let flags = Flags::parse_once(flags_of(rest), "regexp_like")?;
    Ok(Value::Bool(compiled(cx, pattern, flags)?.is_match(cx, text)?))
}

fn regexp_count(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, rest) = split_args(args, "regexp_count")?;
    let options = Given::read(rest, &["start"])?;
    let regexp = compiled(cx, pattern, Flags::parse_once(options.flags, "regexp_count")?)?;
    let Some(start) = offset(text, options.number(0, 1)) else { return Ok(Value::Int4(0)) };
    let mut count = 0;
    for found in matches(cx, &regexp, text, start) {
        found?;
        count += 1;
    }
    Ok(Value::Int4(count))
}

/// The match with this number from a place on.
fn nth<'t>(
    cx: &EvalContext<'_>,
    regexp: &Regexp,
    text: &'t str,
    start: usize,
    n: usize,
) -> Result<Option<Match<'t>>> {
    let Some(start) = offset(text, start) else { return Ok(None) };
    matches(cx, regexp, text, start).nth(n - 1).transpose()
}

/// A match without groups counts as one.
fn part_asked(found: &Match<'_>, part: usize) -> usize {
    if found.len() == 1 && part == 1 { 0 } else { part }
}

/// `regexp_instr(text, pattern [, start [, n [, endoption [, flags [, subexpr]]]]])`
fn regexp_instr(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, rest) = split_args(args, "regexp_instr")?;
    let options = Given::read(rest, &["start", "n", "endoption", "subexpr"])?;
    let regexp = compiled(cx, pattern, Flags::parse_once(options.flags, "regexp_instr")?)?;
    let found = nth(cx, &regexp, text, options.number(0, 1), options.number(1, 1))?;
    let found = found.as_ref().and_then(|found| found.place(part_asked(found, options.number(3, 0))));
    Ok(Value::Int4(found.map_or(0, |(start, end)| {
        let at = if options.number(2, 0) == 1 { end } else { start };
        text[..at].chars().count() as i32 + 1
    })))
}

/// `regexp_substr(text, pattern [, start [, n [, flags [, subexpr]]]])`
fn regexp_substr(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, rest) = split_args(args, "regexp_substr")?;
    let options = Given::read(rest, &["start", "n", "subexpr"])?;
    let regexp = compiled(cx, pattern, Flags::parse_once(options.flags, "regexp_substr")?)?;
    let found = nth(cx, &regexp, text, options.number(0, 1), options.number(1, 1))?;
    let found = found.as_ref().and_then(|found| found.get(part_asked(found, options.number(2, 0))));
    Ok(found.map_or(Value::Null, Value::text))
}

/// `substring(text from pattern)`: the first group of the first match, or all of it.
fn substring(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, pattern, _) = split_args(args, "substring")?;
    substring_of(cx, text, pattern)
}

/// What the first parenthesis matches, or all of the pattern where it has none.
pub(super) fn substring_of(cx: &EvalContext<'_>, text: &str, pattern: &str) -> Result<Value> {
    let found = compiled(cx, pattern, Flags::default())?.find(cx, text, 0)?;
    let part = found.as_ref().and_then(|found| found.get(usize::from(found.len() > 1)));
    Ok(part.map_or(Value::Null, Value::text))
}

/// What lies between the matches. One that is empty divides only within the text, and not where one has just ended.
fn split(cx: &EvalContext<'_>, args: &[Value], function: &str) -> Result<Vec<Value>> {
    let (text, pattern, rest) = split_args(args, function)?;
    let regexp = compiled(cx, pattern, Flags::parse_once(flags_of(rest), function)?)?;
    let (mut part_start, mut last_end) = (0, 0);
    let between = matches(cx, &regexp, text, 0).filter_map(|found| {
        let found = match found {
            Ok(found) => found,
            Err(error) => return Some(Err(error)),
        };
        let divides = found.start() < text.len() && found.end() > last_end;
        last_end = found.end();
        divides.then(|| {
            let part = &text[part_start..found.start()];
            part_start = found.end();
            Ok(Value::text(part))
        })
    });
    let mut parts = elements(cx, between)?;
    parts.push(Value::text(&text[part_start..]));
    Ok(parts)
}

pub(super) fn split_to_array(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Array(split(cx, args, "regexp_split_to_array")?.into()))
}

pub(super) fn split_to_table(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    rows(cx, split(cx, args, "regexp_split_to_table")?.into_iter().map(Ok))
}

macro_rules! matching {
    ($name:literal ($($op:literal)?) fold $fold:literal negated $negated:literal) => {
        entry!($name ($($op)?) [Text, Text] => Bool, |cx, args| match args {
            [Value::Text(a), Value::Text(b)] => is_match(cx, a, b, $fold, $negated),
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
