//! Operands: columns, constants, parentheses, rows, arrays, queries, and what may stand behind one: `[i]`, `.f`.

use super::super::cursor::Cursor;
use super::super::fingerprint::list;
use super::super::lexer::{Class, Token};
use super::{builtin, node};
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, Literal, Name, Step};
use verso_types::sqlstate;

impl Cursor<'_> {
    /// An operand with what stands behind it.
    pub(super) fn primary(&mut self) -> Result<Expr, SyntaxError> {
        let start = self.here();
        let (operand, takes_fields) = match self.peek() {
            Token::Number(digits) => {
                let digits = self.source().meaning(digits).to_string();
                self.advance();
                self.source().note_constant(start, false);
                (node(ExprKind::Literal(Literal::Number(digits)), start, start.start), false)
            }
            Token::String(text) => {
                let text = self.source().meaning(text).to_string();
                self.advance();
                self.source().note_constant(start, false);
                (node(ExprKind::Literal(Literal::String(text)), start, start.start), false)
            }
            Token::Parameter(0) => {
                let text = "there is no parameter $0";
                return Err(SyntaxError::new(sqlstate::UNDEFINED_PARAMETER, text).at(start.start));
            }
            Token::Parameter(number) => {
                self.advance();
                (node(ExprKind::Parameter(number), start, start.start), true)
            }
            Token::Bits(text) => {
                let text = self.source().meaning(text).to_string();
                self.advance();
                self.source().note_constant(start, false);
                (node(ExprKind::Literal(Literal::Bits(text)), start, start.start), false)
            }
            Token::LParen => (self.parenthesis()?, true),
            Token::Quoted(_) => (self.column_or_call()?, false),
            Token::Word(class) => {
                let operand = self.word_operand(class)?;
                // Elements of an array that is written out are taken behind parentheses only.
                let written = matches!(operand.kind, ExprKind::Array(_) | ExprKind::ArraySubquery(_));
                if written && self.peek() == Token::LBracket {
                    return Err(self.unexpected());
                }
                (operand, false)
            }
            _ => return Err(self.unexpected()),
        };
        self.access(operand, takes_fields)
    }

    /// `[i]`, `[a:b]` and, behind parentheses and parameters, `.f`.
    fn access(&mut self, mut operand: Expr, mut takes_fields: bool) -> Result<Expr, SyntaxError> {
        loop {
            let start = operand.at;
            let point = self.here().start;
            if self.accept_token(&Token::LBracket) {
                let height = std::mem::take(&mut self.height);
                operand = self.element(operand)?;
                self.height = self.height.max(height);
                takes_fields = true;
            } else if takes_fields && self.peek() == Token::Period {
                self.advance();
                let star = self.here();
                let all = self.accept_token(&Token::Mul);
                let name = if all { Name { text: "*".to_string(), at: star } } else { self.label()? };
                let at = self.since(start);
                operand = node(ExprKind::Field { arg: Box::new(operand), name }, at, point);
                if all && self.peek() == Token::Period {
                    return Err(SyntaxError::syntax("improper use of \"*\"").at(star.start));
                }
            } else {
                return Ok(operand);
            }
            self.grow(point)?;
        }
    }

    /// `[i]`, `[a:b]`, `.field` behind the target of an assignment.
    pub(in crate::parse) fn steps(&mut self) -> Result<Vec<Step>, SyntaxError> {
        let mut steps = Vec::new();
        loop {
            if self.peek() == Token::Period {
                self.advance();
                steps.push(Step::Field(self.label()?));
                continue;
            }
            if !self.accept_token(&Token::LBracket) {
                break;
            }
            let bound = |cursor: &mut Self| match cursor.peek() {
                Token::Colon | Token::RBracket => Ok(None),
                _ => cursor.expr().map(Some),
            };
            let lower = bound(self)?;
            steps.push(match (self.accept_token(&Token::Colon), lower) {
                (true, lower) => Step::Slice(lower, bound(self)?),
                (false, Some(index)) => Step::Index(index),
                (false, None) => return Err(self.unexpected()),
            });
            self.expect_token(&Token::RBracket)?;
        }
        Ok(steps)
    }

    /// Behind `[`.
    fn element(&mut self, array: Expr) -> Result<Expr, SyntaxError> {
        let start = array.at;
        let array = Box::new(array);
        let bound = |cursor: &mut Self| match cursor.peek() {
            Token::Colon | Token::RBracket => Ok(None),
            _ => cursor.expr().map(|bound| Some(Box::new(bound))),
        };
        let lower = bound(self)?;
        let kind = if self.accept_token(&Token::Colon) {
            ExprKind::Slice { array, lower, upper: bound(self)? }
        } else {
            match lower {
                Some(index) => ExprKind::Subscript { array, index },
                None => return Err(self.unexpected()),
            }
        };
        self.expect_token(&Token::RBracket)?;
        Ok(node(kind, self.since(start), start.start))
    }

    /// `(a)`, `(a, b)`, `(query)`.
    fn parenthesis(&mut self) -> Result<Expr, SyntaxError> {
        let start = self.here();
        if self.is_query(0) {
            let query = Box::new(self.query_in_parentheses()?);
            return Ok(node(ExprKind::Subquery(query), self.since(start), start.start));
        }
        self.advance();
        let first = self.expr()?;
        if self.accept_token(&Token::RParen) {
            return Ok(Expr { at: self.since(start), ..first });
        }
        let mut values = vec![first];
        while self.accept_token(&Token::Comma) {
            values.push(self.expr()?);
        }
        self.expect_token(&Token::RParen)?;
        self.row(values, start)
    }

    /// A row, or `(a, b) OVERLAPS (c, d)`.
    fn row(&mut self, mut values: Vec<Expr>, start: crate::syntax::Span) -> Result<Expr, SyntaxError> {
        let at = self.since(start);
        let point = self.here();
        if !self.is(&["overlaps"]) {
            return Ok(node(ExprKind::Row(values), at, start.start));
        }
        self.advance();
        let side = self.here();
        self.accept(&["row"]);
        let others = self.listed(Cursor::expr)?;
        for (count, what, at) in [(values.len(), "left", start), (others.len(), "right", side)] {
            if count != 2 {
                let text = format!("wrong number of parameters on {what} side of OVERLAPS expression");
                return Err(SyntaxError::syntax(text).at(at.start));
            }
        }
        values.extend(others);
        Ok(builtin("overlaps", values, self.since(start), point.start))
    }

    /// What begins with a word that is not quoted.
    fn word_operand(&mut self, class: Class) -> Result<Expr, SyntaxError> {
        let start = self.here();
        if matches!(class, Class::Plain) && !matches!(self.peek_at(1), Token::String(_) | Token::LParen) {
            if let Some(typed) = self.typed_literal()? {
                return Ok(typed);
            }
            return self.column_or_call();
        }
        let written = self.written();
        let mut buffer = [0u8; 24];
        let lower = match buffer.get_mut(..written.len()) {
            Some(buffer) => {
                buffer.copy_from_slice(written.as_bytes());
                buffer.make_ascii_lowercase();
                std::str::from_utf8(buffer).unwrap_or_default()
            }
            None => "",
        };
        let literal = |cursor: &mut Self, literal| {
            cursor.advance();
            cursor.source().note_constant(start, false);
            Ok(node(ExprKind::Literal(literal), start, start.start))
        };
        match lower {
            "null" => return literal(self, Literal::Null),
            "true" => return literal(self, Literal::Bool(true)),
            "false" => return literal(self, Literal::Bool(false)),
            "default" => {
                self.advance();
                return Ok(node(ExprKind::Default, start, start.start));
            }
            "case" => return self.case(),
            "array" => return self.array(),
            "exists" if self.is_query(1) => {
                self.advance();
                let query = Box::new(self.query_in_parentheses()?);
                return Ok(node(ExprKind::Exists(query), self.since(start), start.start));
            }
            "row" if self.peek_at(1) == Token::LParen => {
                self.advance();
                self.advance();
                let values = if self.peek() == Token::RParen { Vec::new() } else { self.exprs()? };
                self.expect_token(&Token::RParen)?;
                return self.row(values, start);
            }
            "unique" if self.is_query(1) => return Err(self.unsupported("a UNIQUE predicate")),
            _ => {}
        }
        if let Some(form) = self.form(lower)? {
            return Ok(form);
        }
        if let Some(typed) = self.typed_literal()? {
            return Ok(typed);
        }
        match class {
            Class::Reserved => Err(self.unexpected()),
            // Names of types that are no names of functions, and have no modifiers.
            Class::Column
                if self.peek_at(1) == Token::LParen
                    && matches!(lower, "bigint" | "boolean" | "int" | "integer" | "real" | "smallint") =>
            {
                self.advance();
                Err(self.unexpected())
            }
            _ => self.column_or_call(),
        }
    }

    /// A call as it stands in FROM.
    pub(in crate::parse) fn function_expr(&mut self) -> Result<Expr, SyntaxError> {
        match self.peek() {
            Token::Word(class) => self.word_operand(class),
            _ => self.column_or_call(),
        }
    }

    /// `a`, `t.a`, `s.t.a`, `f(…)`, `s.f(…)`; `t.*`, `s.t.*`, whose last part is `*`.
    fn column_or_call(&mut self) -> Result<Expr, SyntaxError> {
        let start = self.here();
        let mut parts = vec![self.name()?];
        while self.peek() == Token::Period && self.peek_at(1) != Token::Mul {
            self.advance();
            parts.push(self.label()?);
        }
        if self.peek() == Token::Period && self.peek_at(1) == Token::Mul {
            self.advance();
            self.advance();
            parts.push(Name { text: "*".to_string(), at: self.last() });
            let at = self.since(start);
            self.without_database(&mut parts, 3, false)?;
            return Ok(node(ExprKind::Column(parts), at, at.start));
        }
        match self.peek() {
            Token::LParen => self.call(parts),
            Token::String(_) => self.generic_literal(parts, start),
            _ => {
                let at = self.since(start);
                self.without_database(&mut parts, 3, false)?;
                Ok(node(ExprKind::Column(parts), at, at.start))
            }
        }
    }

    /// `ARRAY[…]`, `ARRAY(query)`.
    fn array(&mut self) -> Result<Expr, SyntaxError> {
        let start = self.here();
        self.advance();
        if self.is_query(0) {
            let query = Box::new(self.query_in_parentheses()?);
            return Ok(node(ExprKind::ArraySubquery(query), self.since(start), start.start));
        }
        self.elements(start)
    }

    /// `[a, b]`, `[[a], [b]]`.
    fn elements(&mut self, start: crate::syntax::Span) -> Result<Expr, SyntaxError> {
        self.nested(|cursor| {
            cursor.expect_token(&Token::LBracket)?;
            let mut elements = Vec::new();
            if cursor.peek() == Token::LBracket {
                elements = cursor.list(|cursor| cursor.elements(cursor.here()))?;
            } else if cursor.peek() != Token::RBracket {
                elements = cursor.exprs()?;
            }
            cursor.expect_token(&Token::RBracket)?;
            cursor.note_list(&elements);
            Ok(node(ExprKind::Array(elements), cursor.since(start), start.start))
        })
    }

    /// Notes that elements are a list of constants, if they are one.
    pub(super) fn note_list(&self, elements: &[Expr]) {
        if let Some(noted) = list(elements) {
            self.source().note_constant(noted.at, noted.is_list);
        }
    }

    /// A name of a collation, with its schema or without.
    pub(in crate::parse) fn any_name(&mut self) -> Result<crate::syntax::QualifiedName, SyntaxError> {
        self.qualified()
    }
}
