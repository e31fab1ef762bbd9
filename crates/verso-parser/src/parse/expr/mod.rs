//! Expressions, by precedence climbing over [`super::operators::Precedence`].
//!
//! ```text
//! climb(min):  operand  { operator of at least `min`  climb(tighter) }
//! ```
//!
//! A1. AND and OR are flat; other chains lean to the left and are as high as they are long, up to the limit of
//!     [`Cursor::nested`].
//! A2. An operator that does not associate is not followed by one of its level, as in PostgreSQL.
//!
//! Source: PostgreSQL 18, `a_expr` and `b_expr` of `gram.y`.

mod call;
mod case;
mod forms;
mod json;
mod literal;
mod operand;
mod predicate;

use super::collation::collation_name;
use super::cursor::Cursor;
use super::lexer::Token;
use super::operators::Precedence;
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, Literal, Span};

pub(super) use call::builtin;

pub(super) fn node(kind: ExprKind, at: Span, point: u32) -> Expr {
    Expr { kind, at, point }
}

/// What stands behind an operand.
enum Behind {
    /// An operator between two operands, made of signs.
    Infix(Precedence),
    And,
    Or,
    /// IS, LIKE, IN and the like: the precedence, and how many words of NOT stand before.
    Predicate(Precedence, usize),
    AtTimeZone,
    Collate,
    Cast,
    /// OPERATOR(…).
    Named,
}

impl Cursor<'_> {
    /// An expression.
    pub fn expr(&mut self) -> Result<Expr, SyntaxError> {
        self.nested(|cursor| cursor.climb(Precedence::Lowest, false))
    }

    /// An expression as a column's default has it: without AND, OR, NOT, IS NULL, LIKE, IN, BETWEEN, COLLATE outside of
    /// parentheses.
    pub fn restricted_expr(&mut self) -> Result<Expr, SyntaxError> {
        self.nested(|cursor| cursor.climb(Precedence::Lowest, true))
    }

    /// Expressions with commas between.
    pub(super) fn exprs(&mut self) -> Result<Vec<Expr>, SyntaxError> {
        self.list(Cursor::expr)
    }

    /// The right side of an operator: operators that bind as tight at least.
    fn right(&mut self, min: Precedence, restricted: bool) -> Result<Expr, SyntaxError> {
        self.nested(|cursor| cursor.climb(min, restricted))
    }

    fn climb(&mut self, min: Precedence, restricted: bool) -> Result<Expr, SyntaxError> {
        let mut left = self.operand(restricted)?;
        // The level of the operator that was read last, where it does not associate.
        let mut closed: Option<Precedence> = None;
        while let Some(behind) = self.behind(restricted) {
            let precedence = match &behind {
                Behind::Infix(precedence) | Behind::Predicate(precedence, _) => *precedence,
                Behind::And => Precedence::And,
                Behind::Or => Precedence::Or,
                Behind::AtTimeZone => Precedence::At,
                Behind::Collate => Precedence::Collate,
                Behind::Cast => Precedence::Cast,
                Behind::Named => Precedence::Other,
            };
            if precedence < min {
                break;
            }
            if closed == Some(precedence) {
                return Err(self.unexpected());
            }
            closed = None;
            let point = self.here().start;
            left = match behind {
                Behind::Infix(precedence) => {
                    let op = self.operator_text();
                    self.advance();
                    if precedence == Precedence::Comparison && !self.is_quantifier() {
                        closed = Some(precedence);
                    }
                    self.infix(left, op, precedence, point, restricted)?
                }
                Behind::Named => {
                    let op = self.named_operator()?;
                    self.infix(left, op, Precedence::Other, point, restricted)?
                }
                Behind::And => self.logical(left, Precedence::And, point)?,
                Behind::Or => self.logical(left, Precedence::Or, point)?,
                Behind::Predicate(precedence, not) => {
                    let open;
                    (left, open) = self.predicate(left, not, restricted)?;
                    if open {
                        closed = Some(precedence);
                    }
                    left
                }
                Behind::AtTimeZone => self.at_time_zone(left, point)?,
                Behind::Collate => {
                    self.advance();
                    let collation = collation_name(self)?;
                    let at = self.since(left.at);
                    node(ExprKind::Collate { arg: Box::new(left), collation }, at, point)
                }
                Behind::Cast => {
                    self.advance();
                    let ty = self.data_type()?;
                    let at = self.since(left.at);
                    node(ExprKind::Cast { arg: Box::new(left), ty, at_type: point }, at, point)
                }
            };
            self.grow(point)?;
        }
        Ok(left)
    }

    /// What comes next, if it goes on with an expression.
    fn behind(&self, restricted: bool) -> Option<Behind> {
        let token = self.peek();
        if let Some(precedence) = Precedence::of(token) {
            return Some(Behind::Infix(precedence));
        }
        match token {
            Token::DoubleColon => return Some(Behind::Cast),
            Token::Word(_) => {}
            _ => return None,
        }
        // Told apart by their first letters, as most words that follow are none of these.
        let written = self.written().as_bytes();
        let is = |word: &str| written.eq_ignore_ascii_case(word.as_bytes());
        let not = usize::from(is("not"));
        match written.first().map(u8::to_ascii_lowercase)? {
            b'o' if is("operator") && self.peek_at(1) == Token::LParen => Some(Behind::Named),
            b'i' if is("is") && (!restricted || self.is_restricted_test()) => {
                Some(Behind::Predicate(Precedence::Is, 0))
            }
            b'a' if is("at") && (self.is_at(1, "local") || self.is(&["at", "time", "zone"])) => {
                Some(Behind::AtTimeZone)
            }
            _ if restricted => None,
            b'a' if is("and") => Some(Behind::And),
            b'c' if is("collate") => Some(Behind::Collate),
            b'o' if is("or") => Some(Behind::Or),
            b'i' if is("isnull") => Some(Behind::Predicate(Precedence::Is, 0)),
            b'n' if is("notnull") => Some(Behind::Predicate(Precedence::Is, 0)),
            b'b' | b'i' | b'l' | b's' | b'n' => {
                let like = ["between", "in", "like", "ilike"].iter().any(|word| self.is_at(not, word));
                let similar = self.is_at(not, "similar") && self.is_at(not + 1, "to");
                (like || similar).then_some(Behind::Predicate(Precedence::Like, not))
            }
            _ => None,
        }
    }

    /// `IS [NOT] DISTINCT FROM`, which `b_expr` has.
    fn is_restricted_test(&self) -> bool {
        self.is(&["is", "distinct"]) || self.is(&["is", "not", "distinct"])
    }

    /// Is the next token an operator?
    pub(super) fn is_operator(&self) -> bool {
        Precedence::of(self.peek()).is_some()
    }

    /// The operator that comes next, as the catalog has it.
    pub(super) fn operator_text(&self) -> String {
        match self.peek() {
            Token::NotEq => "<>".to_string(),
            _ => self.written().to_string(),
        }
    }

    /// ANY, SOME or ALL and a parenthesis.
    fn is_quantifier(&self) -> bool {
        self.is_any(&["any", "some", "all"]) && self.peek_at(1) == Token::LParen
    }

    /// Behind an operator between two operands.
    fn infix(
        &mut self,
        left: Expr,
        op: String,
        precedence: Precedence,
        point: u32,
        restricted: bool,
    ) -> Result<Expr, SyntaxError> {
        if self.is_quantifier() {
            return self.quantified(left, op, point);
        }
        let height = std::mem::take(&mut self.height);
        let right = self.right(precedence.tighter(), restricted)?;
        self.height = self.height.max(height);
        let at = left.at.to(right.at);
        Ok(node(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, at, point))
    }

    /// AND and OR: flat.
    fn logical(&mut self, left: Expr, precedence: Precedence, point: u32) -> Result<Expr, SyntaxError> {
        self.advance();
        let is_and = precedence == Precedence::And;
        let start = left.at;
        let mut all = match left.kind {
            ExprKind::And(all) if is_and => all,
            ExprKind::Or(all) if !is_and => all,
            kind => vec![Expr { kind, ..left }],
        };
        let end = loop {
            let right = self.right(precedence.tighter(), false)?;
            let end = right.at;
            all.push(right);
            if !self.accept(&[if is_and { "and" } else { "or" }]) {
                break end;
            }
        };
        let kind = if is_and { ExprKind::And(all) } else { ExprKind::Or(all) };
        Ok(node(kind, start.to(end), point))
    }

    /// A sign, NOT or another operator in front of its operand; then any other operand.
    fn operand(&mut self, restricted: bool) -> Result<Expr, SyntaxError> {
        let start = self.here();
        match self.peek() {
            Token::Plus | Token::Minus => self.nested(|cursor| {
                let negative = cursor.advance() == Token::Minus;
                let arg = cursor.right(Precedence::Sign, restricted)?;
                let at = start.to(arg.at);
                // A minus before a number belongs to the number, so that the smallest integers can be written.
                if let (true, ExprKind::Literal(Literal::Number(digits))) = (negative, &arg.kind) {
                    let digits =
                        digits.strip_prefix('-').map_or_else(|| format!("-{digits}"), str::to_string);
                    cursor.source().note_constant(at, false);
                    return Ok(node(ExprKind::Literal(Literal::Number(digits)), at, start.start));
                }
                let op = if negative { "-" } else { "+" }.to_string();
                Ok(node(ExprKind::Unary { op, arg: Box::new(arg) }, at, start.start))
            }),
            Token::Op => self.nested(|cursor| {
                let op = cursor.operator_text();
                cursor.advance();
                let arg = cursor.right(Precedence::Additive, restricted)?;
                let at = start.to(arg.at);
                Ok(node(ExprKind::Unary { op, arg: Box::new(arg) }, at, start.start))
            }),
            Token::Word(_) if !restricted && self.is(&["not"]) => self.nested(|cursor| {
                cursor.advance();
                let arg = cursor.right(Precedence::Not, false)?;
                let at = start.to(arg.at);
                Ok(node(ExprKind::Not(Box::new(arg)), at, start.start))
            }),
            Token::Word(_) if self.is(&["operator"]) && self.peek_at(1) == Token::LParen => {
                self.nested(|cursor| {
                    let op = cursor.named_operator()?;
                    let arg = cursor.right(Precedence::Additive, restricted)?;
                    let at = start.to(arg.at);
                    Ok(node(ExprKind::Unary { op, arg: Box::new(arg) }, at, start.start))
                })
            }
            _ => self.nested(Cursor::primary),
        }
    }

    /// An operator by itself, also as `OPERATOR(schema.op)`.
    pub(in crate::parse) fn any_operator(&mut self) -> Result<String, SyntaxError> {
        if self.is(&["operator"]) {
            return self.named_operator();
        }
        if Precedence::of(self.peek()).is_none() {
            return Err(self.unexpected());
        }
        let op = self.operator_text();
        self.advance();
        Ok(op)
    }

    /// `OPERATOR(schema.op)`: the symbol, with its schema in front unless that is pg_catalog.
    fn named_operator(&mut self) -> Result<String, SyntaxError> {
        self.advance();
        let mut prefix = String::new();
        self.expect_token(&Token::LParen)?;
        if matches!(self.peek(), Token::Word(_) | Token::Quoted(_)) {
            let schema = self.label()?;
            self.expect_token(&Token::Period)?;
            if schema.text != "pg_catalog" {
                prefix = format!("{}.", schema.text);
            }
        }
        if Precedence::of(self.peek()).is_none() {
            return Err(self.unexpected());
        }
        let op = self.operator_text();
        self.advance();
        self.expect_token(&Token::RParen)?;
        Ok(prefix + &op)
    }

    /// `AT TIME ZONE zone`, `AT LOCAL`.
    fn at_time_zone(&mut self, value: Expr, point: u32) -> Result<Expr, SyntaxError> {
        self.advance();
        if self.accept(&["local"]) {
            let at = self.since(value.at);
            return Ok(builtin("timezone", vec![value], at, point));
        }
        self.expect(&["time", "zone"])?;
        let height = std::mem::take(&mut self.height);
        let zone = self.right(Precedence::Collate, false)?;
        self.height = self.height.max(height);
        let at = value.at.to(zone.at);
        Ok(builtin("timezone", vec![zone, value], at, point))
    }
}
