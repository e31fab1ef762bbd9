//! `to_char` of numbers and `to_number`: PostgreSQL's template patterns.
//!
//! A template is read into patterns and characters; its digits before and behind the point decide how the number is
//! rounded. Then the number is walked digit by digit beside the patterns. Source: PostgreSQL 18, `formatting.c`.

use std::rc::Rc;

use verso_types::{Decimal, Number, SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::templates::{Recent, ordinal};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

/// The patterns, longer ones first where they start alike.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pattern {
    Nine,
    Zero,
    Point,
    Comma,
    Group,
    Blank,
    Exponent,
    Fill,
    Currency,
    Minus,
    Plus,
    Brackets,
    Roman(bool),
    PlusMinus,
    Sign,
    Ordinal(bool),
    Shift,
    Other(char),
}

static PATTERNS: &[(&str, Pattern)] = &[
    ("EEEE", Pattern::Exponent),
    ("FM", Pattern::Fill),
    ("MI", Pattern::Minus),
    ("PL", Pattern::Plus),
    ("PR", Pattern::Brackets),
    ("rn", Pattern::Roman(false)),
    ("RN", Pattern::Roman(true)),
    ("SG", Pattern::PlusMinus),
    ("th", Pattern::Ordinal(false)),
    ("TH", Pattern::Ordinal(true)),
    (",", Pattern::Comma),
    (".", Pattern::Point),
    ("0", Pattern::Zero),
    ("9", Pattern::Nine),
    ("B", Pattern::Blank),
    ("D", Pattern::Point),
    ("G", Pattern::Group),
    ("L", Pattern::Currency),
    ("S", Pattern::Sign),
    ("V", Pattern::Shift),
];

/// Where the sign of `S` stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Anchor {
    None,
    Before,
    Behind,
}

/// What a template asks for.
#[derive(Clone, Debug)]
struct Template {
    nodes: Rc<[Pattern]>,
    /// Digits before and behind the point, and behind `V`.
    pre: usize,
    post: usize,
    shift: usize,
    /// The first and the last `0`, counted from 1 among the digits.
    zero_start: usize,
    zero_end: usize,
    zero: bool,
    decimal: bool,
    shifted: bool,
    fill: bool,
    minus: bool,
    plus: bool,
    brackets: bool,
    roman: bool,
    exponent: bool,
    blank: bool,
    sign: Anchor,
    /// How many digits stand before `S`.
    sign_at: usize,
}

#[cold]
fn syntax(text: &str) -> ExecError {
    TypeError::new("42601", text).into()
}

/// Reads the text as patterns and characters; what is quoted is characters.
fn nodes(text: &str) -> Vec<Pattern> {
    let (mut rest, mut nodes) = (text, Vec::new());
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            let mut chars = rest.chars();
            chars.next();
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => nodes.extend(chars.next().map(Pattern::Other)),
                    c => nodes.push(Pattern::Other(c)),
                }
            }
            rest = chars.as_str();
            continue;
        }
        if let Some(escaped) = rest.strip_prefix("\\\"") {
            nodes.push(Pattern::Other('"'));
            rest = escaped;
            continue;
        }
        // Besides those of one case, patterns are written in capitals or in small letters alike.
        let found = PATTERNS.iter().find(|(name, _)| {
            rest.starts_with(name)
                || rest.get(..name.len()).is_some_and(|head| {
                    head.eq_ignore_ascii_case(name) && !head.bytes().any(|byte| byte.is_ascii_uppercase())
                })
        });
        match found {
            Some((name, pattern)) => {
                nodes.push(*pattern);
                rest = &rest[name.len()..];
            }
            None => {
                nodes.push(Pattern::Other(c));
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    nodes
}

thread_local! {
    static TEMPLATES: Recent<Template> = const { Recent::new() };
}

impl Template {
    /// What is kept of a template, or what is read of it now.
    fn kept(text: &str) -> Result<Rc<Template>> {
        TEMPLATES.with(|kept| kept.get(text, || Template::read(text).map(Rc::new)))
    }

    fn read(text: &str) -> Result<Template> {
        let mut template = Template {
            nodes: nodes(text).into(),
            pre: 0,
            post: 0,
            shift: 0,
            zero_start: 0,
            zero_end: 0,
            zero: false,
            decimal: false,
            shifted: false,
            fill: false,
            minus: false,
            plus: false,
            brackets: false,
            roman: false,
            exponent: false,
            blank: false,
            sign: Anchor::None,
            sign_at: 0,
        };
        for node in Rc::clone(&template.nodes).iter() {
            template.take(*node)?;
        }
        let signs = template.sign != Anchor::None || template.minus || template.plus || template.brackets;
        let numbers = template.zero || template.decimal || template.shifted || template.blank;
        if template.roman && (signs || numbers) {
            return Err(TypeError::new("42601", "\"RN\" is incompatible with other formats")
                .with_detail("\"RN\" may only be used together with \"FM\".")
                .into());
        }
        Ok(template)
    }

    fn digit(&mut self) {
        if self.decimal { self.post += 1 } else { self.pre += 1 }
    }

    fn take(&mut self, node: Pattern) -> Result<()> {
        if let Pattern::Other(_) = node {
            return Ok(());
        }
        if self.exponent && node != Pattern::Exponent {
            return Err(syntax("\"EEEE\" must be the last pattern used"));
        }
        let together = "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together";
        match node {
            Pattern::Nine if self.brackets => return Err(syntax("\"9\" must be ahead of \"PR\"")),
            Pattern::Nine if self.shifted => self.shift += 1,
            Pattern::Nine => self.digit(),
            Pattern::Zero if self.brackets => return Err(syntax("\"0\" must be ahead of \"PR\"")),
            Pattern::Zero => {
                if !self.zero && !self.decimal {
                    (self.zero, self.zero_start) = (true, self.pre + 1);
                }
                self.digit();
                self.zero_end = self.pre + self.post;
            }
            Pattern::Blank => self.blank |= self.pre == 0 && self.post == 0 && !self.zero,
            Pattern::Point if self.decimal => return Err(syntax("multiple decimal points")),
            Pattern::Point if self.shifted => {
                return Err(syntax("cannot use \"V\" and decimal point together"));
            }
            Pattern::Point => self.decimal = true,
            Pattern::Fill => self.fill = true,
            Pattern::Sign => {
                if self.sign != Anchor::None {
                    return Err(syntax("cannot use \"S\" twice"));
                }
                if self.plus || self.minus || self.brackets {
                    return Err(syntax(together));
                }
                (self.sign, self.sign_at) =
                    if self.decimal { (Anchor::Behind, 0) } else { (Anchor::Before, self.pre) };
            }
            Pattern::Minus | Pattern::Plus | Pattern::PlusMinus if self.sign != Anchor::None => {
                let name = match node {
                    Pattern::Minus => "MI",
                    Pattern::Plus => "PL",
                    _ => "SG",
                };
                return Err(syntax(&format!("cannot use \"S\" and \"{name}\" together")));
            }
            Pattern::Minus => self.minus = true,
            Pattern::Plus => self.plus = true,
            Pattern::PlusMinus => (self.minus, self.plus) = (true, true),
            Pattern::Brackets => {
                if self.sign != Anchor::None || self.plus || self.minus {
                    return Err(syntax("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                self.brackets = true;
            }
            Pattern::Roman(_) if self.roman => return Err(syntax("cannot use \"RN\" twice")),
            Pattern::Roman(_) => self.roman = true,
            Pattern::Shift if self.decimal => {
                return Err(syntax("cannot use \"V\" and decimal point together"));
            }
            Pattern::Shift => self.shifted = true,
            Pattern::Exponent if self.exponent => return Err(syntax("cannot use \"EEEE\" twice")),
            Pattern::Exponent => {
                let signs = self.sign != Anchor::None || self.brackets || self.minus || self.plus;
                if self.blank || self.fill || signs || self.roman || self.shifted {
                    return Err(TypeError::new("42601", "\"EEEE\" is incompatible with other formats")
                        .with_detail(
                            "\"EEEE\" may only be used together with digit and decimal point patterns.",
                        )
                        .into());
                }
                self.exponent = true;
            }
            Pattern::Comma | Pattern::Group | Pattern::Currency | Pattern::Ordinal(_) | Pattern::Other(_) => {
            }
        }
        Ok(())
    }
}

/// A number as the templates want it: its sign, and digits with a point.
struct Digits {
    negative: bool,
    text: String,
}

/// A number on its way into a template.
struct Walk<'a> {
    template: Template,
    negative: bool,
    digits: &'a [u8],
    /// The next digit.
    at: usize,
    /// Digits of the template passed.
    passed: usize,
    /// Digits of the template that the number is too short for.
    blanks: usize,
    /// The last digit that `FM` shows.
    last: Option<usize>,
    sign_written: bool,
    /// How many digits there are, the sign among them where it has no place of its own.
    count: usize,
    in_number: bool,
    out: String,
}

impl Walk<'_> {
    fn digit(&self) -> u8 {
        self.digits.get(self.at).copied().unwrap_or(0)
    }

    /// The zero before the point of `0.5` beside `9.9` is a blank.
    fn before_point(&self) -> bool {
        !self.template.zero && self.at == 0 && self.digits.first() == Some(&b'0') && self.template.post != 0
    }

    fn last_is_point(&self) -> bool {
        self.last.is_some_and(|last| self.digits.get(last) == Some(&b'.'))
    }

    /// The sign, where it is due before a digit.
    fn sign(&mut self) {
        let due = self.passed >= self.blanks || self.template.zero && self.template.zero_start == self.passed;
        if self.sign_written || !due || self.before_point() && !self.last_is_point() {
            return;
        }
        if self.template.sign != Anchor::None {
            if self.template.sign == Anchor::Before {
                self.out.push(if self.negative { '-' } else { '+' });
                self.sign_written = true;
            }
        } else if self.template.brackets {
            self.out.push(if self.negative { '<' } else { ' ' });
            self.sign_written = true;
        } else if self.negative {
            self.out.push('-');
            self.sign_written = true;
        } else {
            if !self.template.fill {
                self.out.push(' ');
            }
            self.sign_written = true;
        }
    }

    /// A digit or the point.
    fn part(&mut self, pattern: Pattern) {
        self.in_number = false;
        self.sign();
        let template = &self.template;
        let missing = self.passed < self.blanks;
        if missing && (!template.zero || template.zero_start > self.passed) {
            if !template.fill {
                self.out.push(' ');
            }
        } else if missing {
            self.out.push('0');
            self.in_number = true;
        } else {
            let digit = self.digit();
            if digit == b'.' {
                if !self.last_is_point() || template.fill {
                    self.out.push('.');
                }
            } else if self.last.is_some_and(|last| self.at > last) && pattern != Pattern::Zero {
            } else if self.before_point() {
                if !template.fill {
                    self.out.push(' ');
                } else if self.last_is_point() {
                    self.out.push('0');
                }
            } else if digit != 0 {
                self.out.push(char::from(digit));
                self.in_number = true;
            }
            if digit != 0 {
                self.at += 1;
            }
        }
        let mut end = self.count + usize::from(self.blanks > 0) + usize::from(self.template.decimal);
        if self.last.is_some_and(|last| last == self.at) {
            end = self.passed;
        }
        if self.passed + 1 == end {
            if self.sign_written && self.template.brackets {
                self.out.push(if self.negative { '>' } else { ' ' });
            } else if self.template.sign == Anchor::Behind {
                self.out.push(if self.negative { '-' } else { '+' });
            }
        }
        self.passed += 1;
    }
}

/// The digits in the template.
fn filled(mut template: Template, number: &Digits, blanks: usize) -> String {
    template.zero_start = template.zero_start.saturating_sub(1);
    let negative = number.negative;
    let sign_written;
    if template.plus || template.minus {
        sign_written = !template.plus || template.minus;
    } else {
        if !negative && template.fill {
            template.brackets = false;
        }
        sign_written = !negative && template.fill && template.sign == Anchor::None;
        if template.sign == Anchor::Before && template.pre == template.sign_at {
            template.sign = Anchor::Behind;
        }
    }
    let digits = number.text.as_bytes();
    let mut last = None;
    if template.fill && template.decimal {
        last = last_relevant(digits);
        if let Some(relevant) = last
            && template.zero_end > blanks
        {
            let zero = (digits.len() - 1).min(template.zero_end - blanks);
            last = Some(relevant.max(zero));
        }
    }
    let count = (template.post + template.pre + usize::from(!sign_written && blanks == 0)).saturating_sub(1);
    let nodes = Rc::clone(&template.nodes);
    let mut walk = Walk {
        template,
        negative,
        digits,
        at: 0,
        passed: 0,
        blanks,
        last,
        sign_written,
        count,
        in_number: false,
        out: String::new(),
    };
    for node in nodes.iter().copied() {
        let fill = walk.template.fill;
        match node {
            Pattern::Nine | Pattern::Zero | Pattern::Point => walk.part(node),
            Pattern::Comma | Pattern::Group if walk.in_number => walk.out.push(','),
            Pattern::Comma | Pattern::Group | Pattern::Currency if !fill => walk.out.push(' '),
            Pattern::Currency => walk.out.push(' '),
            Pattern::Ordinal(upper) => {
                let none = walk.digits.first() == Some(&b'#') || negative || walk.template.decimal;
                if !none {
                    let suffix = ordinal(&number.text);
                    walk.out.push_str(&if upper { suffix.to_uppercase() } else { suffix.into() });
                }
            }
            Pattern::Minus if negative => walk.out.push('-'),
            Pattern::Plus if !negative => walk.out.push('+'),
            Pattern::Minus | Pattern::Plus if !fill => walk.out.push(' '),
            Pattern::PlusMinus => walk.out.push(if negative { '-' } else { '+' }),
            Pattern::Other(c) => walk.out.push(c),
            _ => {}
        }
    }
    walk.out
}

/// The last digit behind the point that is not 0, or the point.
fn last_relevant(digits: &[u8]) -> Option<usize> {
    let point = digits.iter().position(|digit| *digit == b'.')?;
    let last = digits[point..].iter().rposition(|digit| *digit != b'0')?;
    Some(point + last)
}

/// Roman numerals of 1 to 3999.
fn roman(number: i64) -> Option<String> {
    const PARTS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut rest = (1..4000).contains(&number).then_some(number)?;
    let mut out = String::new();
    for (value, letters) in PARTS {
        while rest >= value {
            out.push_str(letters);
            rest -= value;
        }
    }
    Some(out)
}

/// What is shown: a number that is exact, or a float of which so many digits are known.
enum Source {
    Exact(Decimal),
    Number(Number),
    Float { value: f64, known: usize },
}

impl Source {
    fn of(value: &Value) -> Option<Source> {
        Some(match value {
            Value::Numeric(number) => Source::Exact(*number),
            Value::Big(number) => Source::Number((**number).clone()),
            Value::Float8(value) => Source::Float { value: *value, known: 15 },
            Value::Float4(value) => Source::Float { value: (*value).into(), known: 6 },
            other => Source::Exact(Decimal::from(other.as_i64()?)),
        })
    }

    fn is_finite(&self) -> bool {
        match self {
            Source::Exact(_) => true,
            Source::Number(number) => matches!(number, Number::Finite { .. }),
            Source::Float { value, .. } => value.is_finite(),
        }
    }

    /// The nearest integer.
    fn whole(&self) -> Option<i64> {
        match self {
            Source::Exact(number) => number.rescale(0).ok()?.to_i64(),
            Source::Number(number) => number.round(0).to_i64(),
            Source::Float { value, .. } => Some(value.round_ties_even() as i64).filter(|_| value.is_finite()),
        }
    }

    fn times_ten_to(self, power: usize) -> Result<Source> {
        let number = match self {
            Source::Float { value, known } => {
                return Ok(Source::Float { value: value * 10f64.powi(power as i32), known });
            }
            Source::Exact(number) => Number::from(number),
            Source::Number(number) => number,
        };
        let factor = Number::of(&Number::parse_value(&format!("1e{power}"))?);
        Ok(Source::Number(factor.map_or(number.clone(), |factor| number.times(&factor))))
    }

    /// Rounded to so many places, as a text.
    fn rounded(&self, places: usize) -> String {
        match self {
            Source::Exact(number) => {
                let scale = u8::try_from(places).ok().filter(|scale| *scale <= Decimal::MAX_SCALE);
                match scale.and_then(|scale| number.rescale(scale).ok()) {
                    Some(rounded) => rounded.to_string(),
                    None => {
                        Number::from(*number).round(i32::try_from(places).unwrap_or(i32::MAX)).to_string()
                    }
                }
            }
            Source::Number(number) => number.round(i32::try_from(places).unwrap_or(i32::MAX)).to_string(),
            Source::Float { value, .. } if value.is_infinite() => {
                if *value < 0.0 {
                    "-Infinity".into()
                } else {
                    "Infinity".into()
                }
            }
            Source::Float { value, .. } => format!("{value:.places$}"),
        }
    }

    fn scientific(&self, digits: usize) -> String {
        match self {
            Source::Exact(number) => scientific(&number.to_string(), digits),
            Source::Number(number) => scientific(&number.to_string(), digits),
            Source::Float { value, .. } => {
                // A double has fewer digits than that, and a precision in a format 16 bits.
                let shown = digits.min(1100);
                let text = format!("{:.shown$e}", value.abs());
                let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                let mantissa = format!("{mantissa}{}", "0".repeat(digits - shown));
                let sign = if value.is_sign_negative() { '-' } else { ' ' };
                let (mark, exponent) = match exponent.strip_prefix('-') {
                    Some(exponent) => ('-', exponent),
                    None => ('+', exponent),
                };
                format!("{sign}{mantissa}e{mark}{exponent:0>2}")
            }
        }
    }
}

/// A number by a template.
fn number_to_char(mut number: Source, text: &str) -> Result<String> {
    let mut template = Template::clone(&*Template::kept(text)?);
    if template.roman {
        let numeral = number.whole().and_then(roman);
        let numeral = numeral.unwrap_or_else(|| "#".repeat(15));
        let upper = template.nodes.contains(&Pattern::Roman(true));
        let numeral = if upper { numeral } else { numeral.to_lowercase() };
        return Ok(if template.fill { numeral } else { format!("{numeral:>15}") });
    }
    if template.exponent && !number.is_finite() {
        // a sign, the point, `e`, its sign and two digits more than the digits
        let (before, behind) = ("#".repeat(template.pre), "#".repeat(template.post + 4));
        return Ok(format!(" {before}.{behind}"));
    }
    if template.exponent {
        return Ok(number.scientific(template.post));
    }
    if template.shifted {
        number = number.times_ten_to(template.shift)?;
        template.pre += template.shift;
    }
    if let Source::Float { value, known } = number {
        // no digits beyond those that are known
        let whole = match value.is_finite() {
            true => format!("{:.0}", value.abs()).len(),
            false => Source::Float { value: value.abs(), known }.rounded(0).len(),
        };
        template.post = template.post.min(known.saturating_sub(whole));
    }
    let mut digits = number.rounded(template.post);
    let negative = digits.starts_with('-');
    if negative {
        digits.remove(0);
    }
    let before = digits.find('.').unwrap_or(digits.len());
    let blanks = template.pre.saturating_sub(before);
    if template.pre < before {
        digits = format!("{}.{}", "#".repeat(template.pre), "#".repeat(template.post));
    }
    Ok(filled(template, &Digits { negative, text: digits }, blanks))
}

/// `1.23e+04`, with so many digits behind the point.
fn scientific(plain: &str, digits: usize) -> String {
    let negative = plain.starts_with('-');
    let body = plain.trim_start_matches('-');
    let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
    let all: String = format!("{whole}{fraction}");
    let first = all.bytes().position(|digit| digit != b'0');
    let (significant, exponent) = match first {
        None => ("0".to_owned(), 0i64),
        Some(first) => (all[first..].to_owned(), whole.len() as i64 - 1 - first as i64),
    };
    let mut kept: Vec<u8> = significant.bytes().map(|digit| digit - b'0').collect();
    let (mut exponent, round_up) = (exponent, kept.get(digits + 1).is_some_and(|digit| *digit >= 5));
    kept.resize(digits + 1, 0);
    if round_up {
        let mut at = kept.len();
        loop {
            let Some(next) = at.checked_sub(1) else {
                kept.insert(0, 1);
                kept.truncate(digits + 1);
                exponent += 1;
                break;
            };
            at = next;
            if kept[at] < 9 {
                kept[at] += 1;
                break;
            }
            kept[at] = 0;
        }
    }
    let shown: String = kept.iter().map(|digit| char::from(b'0' + digit)).collect();
    let point = if digits > 0 { "." } else { "" };
    let (sign, exponent_sign) = (if negative { '-' } else { ' ' }, if exponent < 0 { '-' } else { '+' });
    format!("{sign}{}{point}{}e{exponent_sign}{:02}", &shown[..1], &shown[1..], exponent.unsigned_abs())
}

fn to_char(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [number, Value::Text(template)] = args else { return Err(unexpected("to_char", args)) };
    if template.is_empty() {
        return Ok(Value::text(""));
    }
    let source = Source::of(number).ok_or_else(|| unexpected("to_char", args))?;
    Ok(Value::Text(number_to_char(source, template)?.into()))
}

/// A text that is read by a template of numbers.
struct Reading<'t> {
    template: &'t Template,
    input: Vec<char>,
    at: usize,
    /// The sign, once it is read.
    sign: Option<char>,
    /// The digits and the point.
    number: String,
    point: bool,
    /// Digits before and behind the point.
    before: usize,
    behind: usize,
}

impl Reading<'_> {
    fn next(&self) -> Option<char> {
        self.input.get(self.at).copied()
    }

    fn takes_sign(&mut self, signs: &[char]) -> bool {
        let Some(sign) = self.next().filter(|c| signs.contains(c)) else { return false };
        self.sign = Some(if sign == '<' { '-' } else { sign });
        true
    }

    /// Passes over so many characters, none of which may be part of a number.
    fn eat(&mut self, count: usize) {
        for _ in 0..count {
            match self.next() {
                Some(c) if !"0123456789.,+-".contains(c) => self.at += 1,
                _ => return,
            }
        }
    }

    /// A digit or the point, with the sign that may stand before or behind it. The caller goes on by a character.
    fn part(&mut self, pattern: Pattern) {
        let template = self.template;
        if self.next() == Some(' ') {
            self.at += 1;
        }
        let none_read = |reading: &Self| reading.sign.is_none() && reading.before + reading.behind == 0;
        if none_read(self) && pattern != Pattern::Point {
            let signs: &[char] = match () {
                () if template.sign == Anchor::Before => &['-', '+'],
                () if template.brackets => &['-', '<', '+'],
                () => &['-', '+'],
            };
            if self.takes_sign(signs) {
                self.at += 1;
            }
        }
        let mut read = false;
        match self.next() {
            None => return,
            Some(digit) if digit.is_ascii_digit() => {
                if self.point && self.behind == template.post {
                    return;
                }
                self.number.push(digit);
                *(if self.point { &mut self.behind } else { &mut self.before }) += 1;
                read = true;
            }
            Some('.') if template.decimal && !self.point => {
                self.number.push('.');
                (self.point, read) = (true, true);
            }
            Some(_) => {}
        }
        if self.sign.is_some() || self.before + self.behind == 0 {
            return;
        }
        // The sign of `S`, `MI` or `PL` may stand right behind the last digit.
        if template.sign != Anchor::None {
            let behind = self.input.get(self.at + 1).copied();
            if read && behind.is_some_and(|c| !c.is_ascii_digit()) {
                self.at += 1;
                if !self.takes_sign(&['-', '+']) {
                    self.at -= 1;
                }
            }
        } else if !read && (template.plus || template.minus) {
            self.takes_sign(&['-', '+']);
        }
    }

    fn read(&mut self) {
        for node in self.template.nodes.iter() {
            if self.at >= self.input.len() {
                break;
            }
            match node {
                Pattern::Nine | Pattern::Zero | Pattern::Point => self.part(*node),
                Pattern::Comma | Pattern::Group if self.template.fill || self.next() != Some(',') => continue,
                Pattern::Comma | Pattern::Group => {}
                Pattern::Currency => {
                    self.eat(1);
                    continue;
                }
                Pattern::Ordinal(_) if self.sign == Some('-') || self.template.decimal => continue,
                Pattern::Ordinal(_) => {
                    self.eat(2);
                    continue;
                }
                Pattern::Minus | Pattern::Plus | Pattern::PlusMinus => {
                    let signs: &[char] = match node {
                        Pattern::Minus => &['-'],
                        Pattern::Plus => &['+'],
                        _ => &['-', '+'],
                    };
                    if !self.takes_sign(signs) {
                        self.eat(1);
                        continue;
                    }
                }
                // Whatever stands there.
                Pattern::Other(_) => {}
                _ => continue,
            }
            self.at += 1;
        }
    }
}

/// The number that a Roman numeral stands for; none if it is not written as usual.
fn of_roman(text: &str) -> Option<i64> {
    let value = |c: char| match c.to_ascii_uppercase() {
        'I' => 1,
        'V' => 5,
        'X' => 10,
        'L' => 50,
        'C' => 100,
        'D' => 500,
        'M' => 1000,
        _ => 0,
    };
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let letters: Vec<char> = text.chars().take(15).take_while(|c| value(*c) != 0).collect();
    let sum = letters.iter().enumerate().map(|(at, letter)| {
        let smaller = letters.get(at + 1).is_some_and(|next| value(*letter) < value(*next));
        if smaller { -value(*letter) } else { value(*letter) }
    });
    let number: i64 = sum.sum();
    let usual = roman(number)?;
    usual.eq_ignore_ascii_case(&letters.into_iter().collect::<String>()).then_some(number)
}

/// `to_number`: the digits, the sign and the point of a text, where the template has their places.
fn to_number(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(template)] = args else { return Err(unexpected("to_number", args)) };
    if template.is_empty() {
        return Ok(Value::Null);
    }
    let template = Template::kept(template)?;
    if template.exponent {
        return Err(TypeError::new("0A000", "\"EEEE\" not supported for input").into());
    }
    if template.roman {
        let number = of_roman(text).ok_or_else(|| TypeError::new("22P02", "invalid Roman numeral"))?;
        return Ok(Value::Numeric(Decimal::from(number)));
    }
    let mut reading = Reading {
        template: &template,
        input: text.chars().collect(),
        at: 0,
        sign: None,
        number: String::new(),
        point: false,
        before: 0,
        behind: 0,
    };
    reading.read();
    let sign = reading.sign.unwrap_or(' ');
    if reading.before + reading.behind == 0 {
        let text = format!("{sign}{}", reading.number.trim_end_matches('.'));
        return Err(TypeError::syntax("numeric", &text).into());
    }
    let mut digits = reading.number.trim_end_matches('.').to_owned();
    if template.shifted {
        // Digits behind `V` are those behind the point; the factor, a power of ten, adds 16 places.
        while digits.len() <= template.shift {
            digits.insert(0, '0');
        }
        digits.insert(digits.len() - template.shift, '.');
        digits.push_str(&"0".repeat(16));
    }
    let sign = if sign == '-' { "-" } else { "" };
    Ok(Number::parse_value(&format!("{sign}{digits}"))?)
}

static NUMBERS: &[BuiltinFunction] = &[
    entry!("to_char" () [Int4, Text] => Text, to_char, None),
    entry!("to_char" () [Int8, Text] => Text, to_char, None),
    entry!("to_char" () [Numeric, Text] => Text, to_char, None),
    entry!("to_char" () [Float4, Text] => Text, to_char, None),
    entry!("to_char" () [Float8, Text] => Text, to_char, None),
    entry!("to_number" () [Text, Text] => Numeric, to_number, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [NUMBERS];
