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
        let mut text = self.dynamic(&["into"], "INTO or USING or ;")?;
        let (mut into, mut strict) = (Vec::new(), false);
        if self.accept(&["into"]) {
            strict = self.accept(&["strict"]);
            into = self.targets()?;
            if text.using.is_empty() && self.accept(&["using"]) {
                text.using = self.using(&[], ", or ; or INTO")?;
            }
        }
        if self.is(&["into"]) {
            return Err(self.unexpected());
        }
        self.semicolon()?;
        Ok(PlStatementKind::Execute { text, into, strict })
    }

    /// `text [USING a, b]`, up to one of these words or the semicolon, which stay.
    pub(super) fn dynamic(
        &mut self,
        ends: &[&'static str],
        expected: &str,
    ) -> Result<PlDynamic, SyntaxError> {
        let stop = |token: &Lexeme| {
            matches!(token.token, Token::SemiColon) && !ends.contains(&"loop")
                || is_word(self.source, token, "using")
                || ends.iter().any(|end| is_word(self.source, token, end))
        };
        let tokens = self.until(stop, expected)?;
        let text = self.expr(tokens)?;
        let behind = match ends {
            [] => ", or ;",
            ["loop", ..] => ", or LOOP",
            _ => ", or ; or INTO",
        };
        let using = if self.accept(&["using"]) { self.using(ends, behind)? } else { Vec::new() };
        Ok(PlDynamic { text, using, explained: None })
    }

    fn using(
        &mut self,
        ends: &[&'static str],
        expected: &str,
    ) -> Result<Vec<crate::syntax::Expr>, SyntaxError> {
        let mut values = Vec::new();
        loop {
            let stop = |token: &Lexeme| {
                matches!(token.token, Token::Comma)
                    || matches!(token.token, Token::SemiColon) && !ends.contains(&"loop")
                    || ends.iter().any(|end| is_word(self.source, token, end))
            };
            let tokens = self.until(stop, expected)?;
            values.push(self.expr(tokens)?);
            if !self.accept_token(&Token::Comma) {
                return Ok(values);
            }
        }
    }
}
