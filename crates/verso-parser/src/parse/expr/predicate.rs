//! IS, LIKE, IN, BETWEEN, SIMILAR TO, and comparisons with ANY or ALL.

use super::super::cursor::Cursor;
use super::super::lexer::Token;
use super::super::operators::Precedence;
use super::{builtin, node};
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, JsonKind, Literal};

impl Cursor<'_> {
    /// Behind an operand: a test of it, and whether it ends with an operand, so that no other may follow.
    pub(super) fn predicate(
        &mut self,
        arg: Expr,
        not: usize,
        restricted: bool,
    ) -> Result<(Expr, bool), SyntaxError> {
        let point = self.here().start;
        let negated = not > 0;
        let height = std::mem::take(&mut self.height);
        let arg = Box::new(arg);
        if negated {
            self.advance();
        }
        let result = if self.accept(&["is"]) {
            self.is_test(arg, point, restricted)
        } else if self.accept(&["isnull"]) {
            let at = self.since(arg.at);
            Ok((node(ExprKind::IsNull { arg, negated: false }, at, point), false))
        } else if self.accept(&["notnull"]) {
            let at = self.since(arg.at);
            Ok((node(ExprKind::IsNull { arg, negated: true }, at, point), false))
        } else if self.accept(&["between"]) {
            self.between(arg, negated, point).map(|expr| (expr, true))
        } else if self.accept(&["in"]) {
            self.in_set(arg, negated, point).map(|expr| (expr, false))
        } else if self.accept(&["similar", "to"]) {
            let (pattern, escape) = self.pattern()?;
            let at = self.since(arg.at);
            let pattern = Box::new(pattern);
            Ok((node(ExprKind::SimilarTo { arg, pattern, escape, negated }, at, point), true))
        } else {
            let case_insensitive = self.is(&["ilike"]);
            self.advance();
            if self.is_quantifier() {
                let op = match (negated, case_insensitive) {
                    (false, false) => "~~",
                    (false, true) => "~~*",
                    (true, false) => "!~~",
                    (true, true) => "!~~*",
                };
                self.quantified(*arg, op.to_string(), point).map(|expr| (expr, false))
            } else {
                let (pattern, escape) = self.pattern()?;
                let at = self.since(arg.at);
                let pattern = Box::new(pattern);
                let kind = ExprKind::Like { arg, pattern, escape, negated, case_insensitive };
                Ok((node(kind, at, point), true))
            }
        };
        self.height = self.height.max(height);
        result
    }

    /// `pattern [ESCAPE e]`.
    fn pattern(&mut self) -> Result<(Expr, Option<Box<Expr>>), SyntaxError> {
        let pattern = self.right(Precedence::Other, false)?;
        let escape = match self.accept(&["escape"]) {
            true => Some(Box::new(self.right(Precedence::Other, false)?)),
            false => None,
        };
        Ok((pattern, escape))
    }

    /// Behind IS.
    fn is_test(&mut self, arg: Box<Expr>, point: u32, restricted: bool) -> Result<(Expr, bool), SyntaxError> {
        let negated = self.accept(&["not"]);
        if self.accept(&["distinct", "from"]) {
            let right = self.right(Precedence::Comparison, restricted)?;
            let at = arg.at.to(right.at);
            let kind = ExprKind::IsDistinct { left: arg, right: Box::new(right), negated };
            return Ok((node(kind, at, point), true));
        }
        for (word, truth) in [("true", Some(true)), ("false", Some(false)), ("unknown", None)] {
            if self.accept(&[word]) {
                let at = self.since(arg.at);
                // PostgreSQL points at the argument when it is no boolean.
                let start = arg.at.start;
                return Ok((node(ExprKind::IsTruth { arg, truth, negated }, at, start), false));
            }
        }
        if self.accept(&["null"]) {
            let at = self.since(arg.at);
            return Ok((node(ExprKind::IsNull { arg, negated }, at, point), false));
        }
        if self.accept(&["json"]) {
            let kinds = [
                ("value", JsonKind::Value),
                ("object", JsonKind::Object),
                ("array", JsonKind::Array),
                ("scalar", JsonKind::Scalar),
            ];
            let kind = kinds.into_iter().find(|(word, _)| self.accept(&[word])).map(|(_, kind)| kind);
            let kind = kind.unwrap_or(JsonKind::Value);
            let unique_keys = self.accept(&["with", "unique"]);
            if unique_keys || self.accept(&["without", "unique"]) {
                self.accept(&["keys"]);
            }
            let at = self.since(arg.at);
            return Ok((node(ExprKind::IsJson { arg, kind, unique_keys, negated }, at, point), false));
        }
        let form = ["nfc", "nfd", "nfkc", "nfkd"].into_iter().find(|form| self.is(&[form, "normalized"]));
        if form.is_some() {
            self.advance();
        }
        if self.accept(&["normalized"]) {
            let (at, start) = (self.since(arg.at), arg.at.start);
            let mut args = vec![*arg];
            if let Some(form) = form {
                let form = ExprKind::Literal(Literal::String(form.to_uppercase()));
                args.push(node(form, self.last(), self.last().start));
            }
            let test = builtin("is_normalized", args, at, point);
            let test = if negated { node(ExprKind::Not(Box::new(test)), at, start) } else { test };
            return Ok((test, false));
        }
        if self.is(&["document"]) {
            return Err(self.unsupported("IS DOCUMENT"));
        }
        Err(self.unexpected())
    }

    /// Behind BETWEEN.
    fn between(&mut self, arg: Box<Expr>, negated: bool, point: u32) -> Result<Expr, SyntaxError> {
        let symmetric = self.accept(&["symmetric"]);
        if !symmetric {
            self.accept(&["asymmetric"]);
        }
        let low = Box::new(self.restricted_expr()?);
        self.expect(&["and"])?;
        let high = Box::new(self.right(Precedence::Other, false)?);
        let at = arg.at.to(high.at);
        if !symmetric {
            return Ok(node(ExprKind::Between { arg, low, high, negated }, at, point));
        }
        // PostgreSQL writes it out in the same way: either order will do.
        let (a, b) = (arg.clone(), (high.clone(), low.clone()));
        let one = node(ExprKind::Between { arg, low, high, negated }, at, point);
        let other = node(ExprKind::Between { arg: a, low: b.0, high: b.1, negated }, at, point);
        let both = vec![one, other];
        self.grow(point)?;
        Ok(node(if negated { ExprKind::And(both) } else { ExprKind::Or(both) }, at, point))
    }

    /// Behind IN.
    fn in_set(&mut self, arg: Box<Expr>, negated: bool, point: u32) -> Result<Expr, SyntaxError> {
        if self.peek() != Token::LParen {
            return Err(self.unexpected());
        }
        if self.is_query(0) {
            let query = Box::new(self.query_in_parentheses()?);
            let at = self.since(arg.at);
            return Ok(node(ExprKind::InSubquery { args: row_of(*arg), query, negated }, at, point));
        }
        let list = self.listed(Cursor::expr)?;
        self.note_list(&list);
        let at = self.since(arg.at);
        Ok(node(ExprKind::InList { arg, list, negated }, at, point))
    }

    /// Behind an operator: `ANY | SOME | ALL (query or array)`.
    pub(super) fn quantified(&mut self, left: Expr, op: String, point: u32) -> Result<Expr, SyntaxError> {
        let height = std::mem::take(&mut self.height);
        let all = self.is(&["all"]);
        self.advance();
        let result = if self.is_query(0) {
            let query = Box::new(self.query_in_parentheses()?);
            let at = self.since(left.at);
            let args = row_of(left);
            let kind = match (op.as_str(), all) {
                ("=", false) => ExprKind::InSubquery { args, query, negated: false },
                ("<>", true) => ExprKind::InSubquery { args, query, negated: true },
                _ => ExprKind::QuantifiedSubquery { args, op, all, query },
            };
            node(kind, at, point)
        } else {
            // An operator named `= ANY`.
            self.expect_token(&Token::LParen)?;
            let right = Box::new(self.expr()?);
            self.expect_token(&Token::RParen)?;
            let at = self.since(left.at);
            let op = format!("{op} {}", if all { "ALL" } else { "ANY" });
            node(ExprKind::Binary { op, left: Box::new(left), right }, at, point)
        };
        self.height = self.height.max(height);
        Ok(result)
    }
}

/// The values of a row; one value is a row by itself. A row of one value stays a row: `ROW(t.*)` has the columns of `t`, where `t.*`
/// alone is one value.
fn row_of(expr: Expr) -> Vec<Expr> {
    match expr.kind {
        ExprKind::Row(values) if values.len() != 1 => values,
        kind => vec![Expr { kind, ..expr }],
    }
}
