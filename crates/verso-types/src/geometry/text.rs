//! Geometric values from and to text.
//!
//! Parentheses, brackets and blanks may be left out in many places, and the rules for that are PostgreSQL's: a path is written
//! `((1,2),(3,4))`, `(1,2),(3,4)`, `(1,2,3,4)` or `1,2,3,4`, and `[(1,2),(3,4)]` where it is open.

use super::line::{NOWHERE, ONE_POINT};
use super::{Circle, Line, Lseg, Path, Point, Polygon, Rect, Shape};
use crate::TimeStyle;
use crate::error::{TypeError, sqlstate};
use crate::interrupt::Pieces;
use crate::opaque::{Opaque, OpaqueKind};
use crate::text::{format_f64, format_rounded, parse_f64};

/// Reads a value of a geometric type.
/// # Errors
/// 22P02; 22003 for numbers that no double holds.
pub(crate) fn parse(kind: OpaqueKind, text: &str) -> Result<Opaque, TypeError> {
    Ok(match kind {
        OpaqueKind::Lseg => lseg(text)?.value(),
        OpaqueKind::Line => line(text)?.value(),
        OpaqueKind::Box => rect(text)?.value(),
        OpaqueKind::Path => path(text)?.value(),
        OpaqueKind::Polygon => polygon(text)?.value(),
        OpaqueKind::Circle => circle(text)?.value(),
        _ => point(text)?.value(),
    })
}

/// C's `isspace`.
fn is_blank(char: char) -> bool {
    matches!(char, ' ' | '\t'..='\r')
}

/// How many bytes at the front of a text are a number for C's `strtod`; 0 for none.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let start = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let begins = |word: &[u8]| {
        bytes.get(start..start + word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    let digits = |from: usize, is_digit: fn(&u8) -> bool| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|byte| is_digit(byte)).count()
    };
    for word in ["infinity", "inf", "nan"] {
        if begins(word.as_bytes()) {
            return start + word.len();
        }
    }
    // Digits with a point and an exponent; what is no digit is not part of it.
    let mantissa = |from: usize, is_digit: fn(&u8) -> bool| {
        let whole = digits(from, is_digit);
        let point = bytes.get(from + whole) == Some(&b'.');
        let behind = if point { digits(from + whole + 1, is_digit) } else { 0 };
        (whole + behind > 0).then_some(from + whole + usize::from(point) + behind)
    };
    let exponent = |end: usize, letter: u8| {
        let marked = bytes.get(end).is_some_and(|byte| byte.eq_ignore_ascii_case(&letter));
        let sign = usize::from(marked && matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let count = digits(end + 1 + sign, u8::is_ascii_digit);
        if marked && count > 0 { end + 1 + sign + count } else { end }
    };
    if begins(b"0x")
        && let Some(end) = mantissa(start + 2, u8::is_ascii_hexdigit)
    {
        return exponent(end, b'p');
    }
    mantissa(start, u8::is_ascii_digit).map_or(0, |end| exponent(end, b'e'))
}

/// A text and what is not read of it yet.
struct Reader<'t> {
    type_name: &'static str,
    text: &'t str,
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// All of a text, but for the blanks in front of it.
    fn new(type_name: &'static str, text: &'t str) -> Reader<'t> {
        let mut reader = Reader { type_name, text, rest: text };
        reader.blanks();
        reader
    }

    #[cold]
    fn failed(&self) -> TypeError {
        TypeError::syntax(self.type_name, self.text)
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(is_blank);
    }

    fn take(&mut self, char: char) -> bool {
        let rest = self.rest.strip_prefix(char);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, char: char) -> Result<(), TypeError> {
        if self.take(char) { Ok(()) } else { Err(self.failed()) }
    }

    fn end(&self) -> Result<(), TypeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.failed()) }
    }

    /// Whether what is not read yet begins with the only parenthesis in it.
    fn begins_with_last_parenthesis(&self) -> bool {
        self.rest.rfind('(') == Some(0)
    }

    /// A number with the blanks around it.
    fn number(&mut self) -> Result<f64, TypeError> {
        self.blanks();
        let (number, rest) = self.rest.split_at(number_length(self.rest));
        let value = parse_f64(number).map_err(|error| match error.sqlstate {
            sqlstate::INVALID_TEXT_REPRESENTATION => self.failed(),
            _ => error,
        })?;
        self.rest = rest;
        self.blanks();
        Ok(value)
    }

    /// Two numbers, perhaps in parentheses.
    fn pair(&mut self) -> Result<Point, TypeError> {
        self.blanks();
        let enclosed = self.take('(');
        let x = self.number()?;
        self.expect(',')?;
        let y = self.number()?;
        if enclosed {
            self.expect(')')?;
            self.blanks();
        }
        Ok(Point { x, y })
    }

    /// So many pairs, perhaps in parentheses, or where they may be open in brackets: whether they are.
    fn pairs(&mut self, count: usize, may_be_open: bool) -> Result<(Vec<Point>, bool), TypeError> {
        self.blanks();
        let (mut depth, open) = (0, self.take('['));
        if open {
            if !may_be_open {
                return Err(self.failed());
            }
            depth = 1;
        } else if let Some(inner) = self.rest.strip_prefix('(') {
            let inner = inner.trim_start_matches(is_blank);
            if inner.starts_with('(') || self.begins_with_last_parenthesis() {
                (depth, self.rest) = (1, inner);
            }
        }
        let (mut points, mut pieces) = (Vec::new(), Pieces::default());
        for _ in 0..count {
            pieces.one_more()?;
            points.push(self.pair()?);
            self.take(',');
        }
        if depth == 1 {
            if !(self.take(')') || open && self.take(']')) {
                return Err(self.failed());
            }
            self.blanks();
        }
        Ok((points, open))
    }

    /// As many pairs as the commas say.
    fn counted(&self) -> Result<usize, TypeError> {
        match self.text.bytes().filter(|byte| *byte == b',').count() {
            commas if commas % 2 == 1 => Ok(commas.div_ceil(2)),
            _ => Err(self.failed()),
        }
    }

    /// Two pairs and nothing else.
    fn two(&mut self, may_be_open: bool) -> Result<[Point; 2], TypeError> {
        let (points, _) = self.pairs(2, may_be_open)?;
        self.end()?;
        points.try_into().map_err(|_| self.failed())
    }
}

fn point(text: &str) -> Result<Point, TypeError> {
    let mut reader = Reader::new("point", text);
    let point = reader.pair()?;
    reader.end()?;
    Ok(point)
}

fn lseg(text: &str) -> Result<Lseg, TypeError> {
    Ok(Lseg { ends: Reader::new("lseg", text).two(true)? })
}

fn rect(text: &str) -> Result<Rect, TypeError> {
    let [high, low] = Reader::new("box", text).two(false)?;
    Ok(Rect::ordered(high, low))
}

fn line(text: &str) -> Result<Line, TypeError> {
    let mut reader = Reader::new("line", text);
    let invalid = |text: &str| TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, text);
    if !reader.take('{') {
        let [one, other] = reader.two(true)?;
        if one.is_same(&other) {
            return Err(invalid(ONE_POINT));
        }
        return Line::through(&one, one.slope(&other)?);
    }
    let a = reader.number()?;
    reader.expect(',')?;
    let b = reader.number()?;
    reader.expect(',')?;
    let c = reader.number()?;
    reader.expect('}')?;
    reader.blanks();
    reader.end()?;
    let line = Line { a, b, c };
    if line.is_nowhere() { Err(invalid(NOWHERE)) } else { Ok(line) }
}

fn path(text: &str) -> Result<Path, TypeError> {
    let mut reader = Reader::new("path", text);
    let count = reader.counted()?;
    let enclosed = reader.begins_with_last_parenthesis() && reader.take('(');
    let (points, open) = reader.pairs(count, true)?;
    if enclosed {
        reader.expect(')')?;
        reader.blanks();
    }
    reader.end()?;
    Ok(Path { closed: !open, points })
}

fn polygon(text: &str) -> Result<Polygon, TypeError> {
    let mut reader = Reader::new("polygon", text);
    let (points, _) = reader.pairs(reader.counted()?, false)?;
    reader.end()?;
    Ok(Polygon::new(points))
}

fn circle(text: &str) -> Result<Circle, TypeError> {
    let mut reader = Reader::new("circle", text);
    let mut enclosed = reader.take('<');
    if !enclosed && let Some(inner) = reader.rest.strip_prefix('(') {
        let inner = inner.trim_start_matches(is_blank);
        if inner.starts_with('(') {
            (enclosed, reader.rest) = (true, inner);
        }
    }
    let center = reader.pair()?;
    reader.take(',');
    let radius = reader.number()?;
    if radius < 0.0 {
        return Err(reader.failed());
    }
    if enclosed {
        if !reader.take(')') && !reader.take('>') {
            return Err(reader.failed());
        }
        reader.blanks();
    }
    reader.end()?;
    Ok(Circle { center, radius })
}

fn put_number(number: f64, style: &TimeStyle, out: &mut String) {
    match style.float_digits {
        digits @ ..=0 => format_rounded(number, 15 + digits, out),
        _ => format_f64(number, out),
    }
}

/// Numbers between commas.
fn put_numbers(numbers: &[f64], style: &TimeStyle, out: &mut String) {
    for (n, number) in numbers.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        put_number(*number, style, out);
    }
}

/// Points between commas, each in parentheses.
fn put_points(points: &[Point], style: &TimeStyle, out: &mut String) {
    for (n, point) in points.iter().enumerate() {
        out.push_str(if n > 0 { ",(" } else { "(" });
        put_numbers(&[point.x, point.y], style, out);
        out.push(')');
    }
}

/// Appends the text of a value.
pub(crate) fn format(value: &Opaque, style: &TimeStyle, out: &mut String) {
    let mut within = |open: char, points: &[Point], close: char| {
        out.push(open);
        put_points(points, style, out);
        out.push(close);
    };
    match value.kind() {
        OpaqueKind::Lseg => within('[', &Lseg::of(value).ends, ']'),
        OpaqueKind::Path => {
            let path = Path::of(value);
            if path.closed { within('(', &path.points, ')') } else { within('[', &path.points, ']') }
        }
        OpaqueKind::Polygon => within('(', &Polygon::of(value).points, ')'),
        OpaqueKind::Box => {
            let Rect { high, low } = Rect::of(value);
            put_points(&[high, low], style, out);
        }
        OpaqueKind::Line => {
            let Line { a, b, c } = Line::of(value);
            out.push('{');
            put_numbers(&[a, b, c], style, out);
            out.push('}');
        }
        OpaqueKind::Circle => {
            let Circle { center, radius } = Circle::of(value);
            out.push('<');
            put_points(&[center], style, out);
            out.push(',');
            put_number(radius, style, out);
            out.push('>');
        }
        _ => put_points(&[Point::of(value)], style, out),
    }
}
