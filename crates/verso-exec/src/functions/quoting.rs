//! Texts that become SQL: `quote_ident`, `quote_literal`, `quote_nullable`, `format`.

use verso_types::interrupt::text_pieces;
use verso_types::keyword::quoted;
use verso_types::text::type_of;
use verso_types::{SqlType, TypeError, Value, cast};

use super::define::unexpected;
use super::texts::{output, shown};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::Bytes;
use crate::plan::CastKind;

/// What fills a piece up.
const BLANKS: &[u8] = &[b' '; 256];

fn quote_literal(value: &str, out: &mut Bytes<'_>) -> Result<()> {
    out.push(if value.contains('\\') { b"E'" } else { b"'" })?;
    for piece in text_pieces(value) {
        for part in piece?.split_inclusive(['\'', '\\']) {
            out.push(part.as_bytes())?;
            if let Some(mark @ (b'\'' | b'\\')) = part.as_bytes().last() {
                out.push(&[*mark])?;
            }
        }
    }
    out.push(b"'")
}

/// An identifier, in double quotes where it needs them.
#[must_use]
pub fn quote_ident(value: &str) -> String {
    quoted(value)
}

fn ident(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(name)] = args else { return Err(unexpected("quote_ident", args)) };
    Ok(Value::text(&quote_ident(name)))
}

/// The value as a literal, other types cast to text first.
fn literal(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [value] = args else { return Err(unexpected("quote_literal", args)) };
    let mut out = Bytes::new(cx);
    match value {
        Value::Text(value) => quote_literal(value, &mut out)?,
        value => {
            let value =
                cast(value, &type_of(value), &SqlType::Text, CastKind::Explicit, cx.services.time_zone)?;
            quote_literal(value.as_str().unwrap_or_default(), &mut out)?;
        }
    }
    Ok(out.into_text())
}

fn nullable(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Null] => Ok(Value::text("NULL")),
        _ => literal(cx, args),
    }
}

#[cold]
fn invalid(message: impl Into<String>) -> TypeError {
    TypeError::new("22023", message)
}

/// How wide a piece is to be: not at all, so many characters, or as an argument says.
enum Width {
    Own,
    Fixed(i32),
    Argument(Option<usize>),
}

/// What follows a `%`: argument position, width, to the left, conversion.
struct Directive {
    position: Option<usize>,
    left: bool,
    width: Width,
    conversion: char,
}

/// The characters of a template, one by one.
struct Template<'t>(std::iter::Peekable<std::str::Chars<'t>>);

impl Template<'_> {
    fn next(&mut self) -> Result<char> {
        let hint = "For a single \"%\" use \"%%\".";
        Ok(self.0.next().ok_or_else(|| invalid("unterminated format() type specifier").with_hint(hint))?)
    }

    /// The digits that stand here, if any.
    fn number(&mut self) -> Result<Option<i32>> {
        let mut number = None;
        while let Some(digit) = self.0.peek().and_then(|c| c.to_digit(10)) {
            self.0.next();
            let next = number.unwrap_or(0i32).checked_mul(10).and_then(|n| n.checked_add(digit as i32));
            number = Some(next.ok_or_else(|| TypeError::new("22003", "number is out of range"))?);
        }
        Ok(number)
    }

    fn position(&mut self, number: i32) -> Result<usize> {
        match usize::try_from(number) {
            Ok(0) | Err(_) => {
                Err(invalid("format specifies argument 0, but arguments are numbered from 1").into())
            }
            Ok(position) => Ok(position),
        }
    }

    /// `[position$][-][width]type`, where a width is a number, `*` or `*position$`.
    fn directive(&mut self) -> Result<Directive> {
        let mut directive = Directive { position: None, left: false, width: Width::Own, conversion: 's' };
        if let Some(number) = self.number()? {
            if self.0.peek() == Some(&'$') {
                self.0.next();
                directive.position = Some(self.position(number)?);
            } else {
                directive.width = Width::Fixed(number);
                directive.conversion = self.next()?;
                return Ok(directive);
            }
        }
        while self.0.peek() == Some(&'-') {
            self.0.next();
            directive.left = true;
        }
        if self.0.peek() == Some(&'*') {
            self.0.next();
            directive.width = Width::Argument(match self.number()? {
                None => None,
                Some(number) => {
                    if self.next()? != '$' {
                        let message = "width argument position must be ended by \"$\"";
                        return Err(invalid(message).into());
                    }
                    Some(self.position(number)?)
                }
            });
        } else if let Some(number) = self.number()? {
            directive.width = Width::Fixed(number);
        }
        directive.conversion = self.next()?;
        Ok(directive)
    }
}

/// The argument at a position, or the next one.
fn argument<'a>(args: &'a [Value], position: Option<usize>, next: &mut usize) -> Result<&'a Value> {
    *next = position.unwrap_or(*next + 1);
    Ok(args.get(*next).ok_or_else(|| invalid("too few arguments for format()"))?)
}

/// One piece, filled with blanks.
fn append(out: &mut Bytes<'_>, piece: &str, width: i64, left: bool) -> Result<()> {
    let mut fill = width.unsigned_abs().saturating_sub(piece.chars().count() as u64);
    let at_left = left || width < 0;
    if at_left {
        out.push(piece.as_bytes())?;
    }
    while fill > 0 {
        let part = fill.min(BLANKS.len() as u64);
        out.push(&BLANKS[..part as usize])?;
        fill -= part;
    }
    if at_left { Ok(()) } else { out.push(piece.as_bytes()) }
}

/// `format(template, …)`: `%s`, `%I`, `%L`, `%%`.
fn format(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let Some(Value::Text(template)) = args.first() else { return Ok(Value::Null) };
    let mut template = Template(template.chars().peekable());
    let (mut out, mut used) = (Bytes::new(cx), 0);
    while let Some(c) = template.0.next() {
        if c != '%' {
            out.push(c.encode_utf8(&mut [0; 4]).as_bytes())?;
            continue;
        }
        if template.0.peek() == Some(&'%') {
            template.0.next();
            out.push(b"%")?;
            continue;
        }
        let directive = template.directive()?;
        if !"sIL".contains(directive.conversion) {
            let message = format!("unrecognized format() type specifier \"{}\"", directive.conversion);
            return Err(invalid(message).with_hint("For a single \"%\" use \"%%\".").into());
        }
        let width = match directive.width {
            Width::Own => 0,
            Width::Fixed(width) => i64::from(width),
            Width::Argument(position) => match argument(args, position, &mut used)? {
                Value::Null => 0,
                width => width.as_i64().ok_or_else(|| invalid("a width is an integer"))?,
            },
        };
        if i32::try_from(width).is_err() {
            return Err(TypeError::out_of_range("integer").into());
        }
        let value = argument(args, directive.position, &mut used)?;
        let mut text = Bytes::new(cx);
        match (directive.conversion, value) {
            ('s', Value::Null) => {}
            ('L', Value::Null) => text.push(b"NULL")?,
            ('I', Value::Null) => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(TypeError::new("22004", message).into());
            }
            _ => output(cx, value, &mut text)?,
        }
        let mut text = text.into_text();
        if !value.is_null() && directive.conversion != 's' {
            let mut quoted = Bytes::new(cx);
            match (directive.conversion, text.as_str().unwrap_or_default()) {
                ('I', name) => quoted.push(quote_ident(name).as_bytes())?,
                (_, value) => quote_literal(value, &mut quoted)?,
            }
            text = quoted.into_text();
        }
        let piece = text.as_str().unwrap_or_default();
        append(&mut out, piece, width, directive.left)?;
    }
    Ok(out.into_text())
}

/// A function with a text as its result.
macro_rules! quoting {
    ($name:literal [$($arg:expr),*] variadic $variadic:literal strict $strict:literal $volatility:ident $f:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$($arg),*],
            variadic: $variadic,
            result: ResultType::Fixed(SqlType::Text),
            strict: $strict,
            volatility: Volatility::$volatility,
            body: Body::Typed(|cx, args, types| $f(cx, &shown(cx, args, types))),
            kernel: None,
        }
    };
}

const TEXT: ArgType = ArgType::Exact(SqlType::Text);

static QUOTING: &[BuiltinFunction] = &[
    quoting!("quote_ident" [TEXT] variadic false strict true Immutable ident),
    quoting!("quote_literal" [TEXT] variadic false strict true Immutable literal),
    quoting!("quote_literal" [ArgType::AnyElement] variadic false strict true Stable literal),
    quoting!("quote_nullable" [TEXT] variadic false strict false Immutable nullable),
    quoting!("quote_nullable" [ArgType::AnyElement] variadic false strict false Stable nullable),
    quoting!("format" [TEXT] variadic false strict false Stable format),
    quoting!("format" [TEXT, ArgType::Any] variadic true strict false Stable format),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [QUOTING];
