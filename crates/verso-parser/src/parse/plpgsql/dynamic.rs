//! EXECUTE: statements whose text is known when they run.

use super::super::lexer::{Lexeme, Token};
use super::super::source::is_word;
use super::Body;
use crate::error::SyntaxError;
use crate::syntax::{PlDynamic, PlStatementKind};

impl Body<'_> {
    /// `EXECUTE text [INTO [STRICT] a, b] [USING …];`, INTO and USING in any order.
    pub(super) fn execute(&mut self) -> Result<PlStatementKind, SyntaxError> {
        self.at += 1;
        let mut text = self.dynamic(&["into"])?;
        let (mut into, mut strict) = (Vec::new(), false);
        if self.accept(&["into"]) {
            strict = self.accept(&["strict"]);
            into = self.targets()?;
            if text.using.is_empty() && self.accept(&["using"]) {
                text.using = self.using(&[])?;
            }
        }
        self.semicolon()?;
        Ok(PlStatementKind::Execute { text, into, strict })
    }

    /// `text [USING a, b]`, up to one of these words or the semicolon, which stay.
    pub(super) fn dynamic(&mut self, ends: &[&'static str]) -> Result<PlDynamic, SyntaxError> {
        let tokens = self.until(|token| {
            matches!(token.token, Token::SemiColon)
                || is_word(self.source, token, "using")
                || ends.iter().any(|end| is_word(self.source, token, end))
        })?;
        let text = self.expr(tokens)?;
        let using = if self.accept(&["using"]) { self.using(ends)? } else { Vec::new() };
        Ok(PlDynamic { text, using })
    }

    fn using(&mut self, ends: &[&'static str]) -> Result<Vec<crate::syntax::Expr>, SyntaxError> {
        let mut values = Vec::new();
        loop {
            let stop = |token: &Lexeme| {
                matches!(token.token, Token::Comma | Token::SemiColon)
                    || ends.iter().any(|end| is_word(self.source, token, end))
            };
            let tokens = self.until(stop)?;
            values.push(self.expr(tokens)?);
            if !self.accept_token(&Token::Comma) {
                return Ok(values);
            }
        }
    }
}
