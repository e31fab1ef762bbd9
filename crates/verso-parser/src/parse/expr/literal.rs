//! Constants with a type in front: `DATE '…'`, `INTERVAL '90' DAY`, `double precision '1'`.

use verso_types::{IntervalSpec, SqlType};

use super::super::cursor::Cursor;
use super::super::lexer::Token;
use super::super::types::named_type;
use super::node;
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, Literal, Name, Span};

/// Types whose names are more than a word, or have something in parentheses.
const LONG_TYPES: &[&str] = &[
    "double",
    "timestamp",
    "timestamptz",
    "time",
    "timetz",
    "character",
    "char",
    "varchar",
    "national",
    "nchar",
    "numeric",
    "decimal",
    "dec",
    "float",
    "bit",
];

impl Cursor<'_> {
    /// The constant that begins with the words of a type, if that is what comes next.
    pub(super) fn typed_literal(&mut self) -> Result<Option<Expr>, SyntaxError> {
        if self.is(&["interval"]) {
            return self.interval();
        }
        let long = self.is_any(LONG_TYPES) && matches!(self.peek_at(1), Token::Word(_) | Token::LParen);
        if !long && !matches!(self.peek_at(1), Token::String(_)) {
            return Ok(None);
        }
        let (start, mark) = (self.here(), self.mark());
        let measured = self.peek_at(1) == Token::LParen;
        let ty = match self.data_type() {
            // a constant of no length has its own
            Ok(SqlType::Bit(Some(1))) if !measured => SqlType::Bit(None),
            Ok(ty) => ty,
            Err(error) if !long => return Err(error),
            Err(_) => {
                self.back(mark);
                return Ok(None);
            }
        };
        if !matches!(self.peek(), Token::String(_)) {
            self.back(mark);
            return Ok(None);
        }
        self.typed(ty, start).map(Some)
    }

    /// A type was read: the literal comes next.
    fn typed(&mut self, ty: SqlType, start: Span) -> Result<Expr, SyntaxError> {
        let arg = Box::new(self.string_operand()?);
        Ok(node(ExprKind::Cast { arg, ty, at_type: start.start }, self.since(start), start.start))
    }

    /// `s.t '…'`: the name of the type was read.
    pub(super) fn generic_literal(&mut self, mut parts: Vec<Name>, start: Span) -> Result<Expr, SyntaxError> {
        self.without_database(&mut parts, 2, false)?;
        let parts: Vec<String> = parts.into_iter().map(|part| part.text).collect();
        let ty = named_type(&parts, start.start)?;
        self.typed(ty, start)
    }

    fn string_operand(&mut self) -> Result<Expr, SyntaxError> {
        let at = self.here();
        let Token::String(text) = self.peek() else { return Err(self.unexpected()) };
        let text = self.source().meaning(text).to_string();
        self.advance();
        self.source().note_constant(at, false);
        Ok(node(ExprKind::Literal(Literal::String(text)), at, at.start))
    }

    /// `INTERVAL '…' [fields]`, `INTERVAL(p) '…'`.
    fn interval(&mut self) -> Result<Option<Expr>, SyntaxError> {
        let (start, mark) = (self.here(), self.mark());
        self.advance();
        let mut precision = None;
        if self.peek() == Token::LParen {
            if !matches!(self.peek_at(3), Token::String(_)) || self.peek_at(2) != Token::RParen {
                self.back(mark);
                return Ok(None);
            }
            precision = Some(self.precision()?);
        }
        if !matches!(self.peek(), Token::String(_)) {
            self.back(mark);
            return Ok(None);
        }
        let arg = Box::new(self.string_operand()?);
        let spec = match precision {
            Some(_) => IntervalSpec::new(None, precision),
            None => self.interval_fields()?,
        };
        let kind = ExprKind::Cast { arg, ty: SqlType::Interval(spec), at_type: start.start };
        Ok(Some(node(kind, self.since(start), start.start)))
    }

    /// `(p)`: digits of a second; more than six are six, as in PostgreSQL.
    pub(in crate::parse) fn precision(&mut self) -> Result<u8, SyntaxError> {
        self.expect_token(&Token::LParen)?;
        let at = self.here().start;
        let precision = u32::try_from(self.integer()?).map_err(|_| self.source().near(at))?;
        self.expect_token(&Token::RParen)?;
        Ok(precision.min(6) as u8)
    }

    /// `YEAR`, `DAY TO SECOND(3)`: fields of an interval and the digits of its seconds.
    pub(in crate::parse) fn interval_fields(&mut self) -> Result<Option<IntervalSpec>, SyntaxError> {
        let Some(first) = self.interval_field() else { return Ok(None) };
        let (year, month, second) = (0, 1, 5);
        let mut last = first;
        let to = self.mark();
        if first != second && self.accept(&["to"]) {
            match self.interval_field() {
                Some(field) if field > first && (first > month || (first, field) == (year, month)) => {
                    last = field;
                }
                _ => {
                    self.back(to);
                    return Err(self.unexpected());
                }
            }
        }
        let mut precision = None;
        if last == second && self.peek() == Token::LParen {
            precision = Some(self.precision()?);
        }
        Ok(IntervalSpec::new(Some((first, last)), precision))
    }

    /// The number of a field: 0 is the year, 5 the second.
    fn interval_field(&mut self) -> Option<usize> {
        let words = ["year", "month", "day", "hour", "minute", "second"];
        words.iter().position(|word| self.accept(&[word]))
    }
}
