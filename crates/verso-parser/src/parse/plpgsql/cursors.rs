//! Cursors: their declarations, OPEN, FETCH, MOVE, CLOSE, and loops over them.

use verso_types::sqlstate;

use super::super::lexer::{Lexeme, Token};
use super::super::session::direction;
use super::super::source::is_word;
use super::Body;
use crate::error::SyntaxError;
use crate::syntax::{Direction, Name, PlCursor, PlCursorArg, PlStatementKind};

impl Body<'_> {
    /// `[[NO] SCROLL] CURSOR [(a t, …)] {FOR | IS} query`, behind its name; none where it is no cursor.
    pub(super) fn cursor_declaration(&mut self) -> Result<Option<PlCursor>, SyntaxError> {
        let forward = self.is(&["no", "scroll", "cursor"]);
        let known = self.accept(&["no", "scroll", "cursor"])
            || self.accept(&["scroll", "cursor"])
            || self.accept(&["cursor"]);
        if !known {
            return Ok(None);
        }
        let mut args = Vec::new();
        if self.accept_token(&Token::LParen) {
            loop {
                let name = self.name()?;
                let tokens = self.until(|token| matches!(token.token, Token::Comma | Token::RParen))?;
                args.push((name, self.parse(tokens, |cursor| cursor.data_type())?));
                if !self.accept_token(&Token::Comma) {
                    break;
                }
            }
            if !self.accept_token(&Token::RParen) {
                return Err(self.unexpected());
            }
        }
        if !self.accept(&["for"]) && !self.accept(&["is"]) {
            return Err(self.unexpected());
        }
        let tokens = self.until_semicolon()?;
        let statement = *self.rows(tokens)?;
        let text = self.text_of(tokens).to_owned();
        self.semicolon()?;
        Ok(Some(PlCursor { forward, args, statement, text }))
    }

    /// Whether these tokens, between IN and LOOP, name a cursor.
    pub(super) fn names_cursor(&self, range: &[Lexeme]) -> bool {
        let statements = [
            "select", "with", "values", "table", "insert", "update", "delete", "merge", "execute", "explain",
        ];
        let word = matches!(range.first().map(|first| first.token), Some(Token::Word(_) | Token::Quoted(_)));
        word && range
            .first()
            .is_some_and(|first| !statements.iter().any(|word| is_word(self.source, first, word)))
            && range.get(1).is_none_or(|second| second.token == Token::LParen)
    }

    /// `cursor [(…)]`; the arguments may be named: `a := 1`, `a => 1`.
    pub(super) fn cursor_and_args(&mut self) -> Result<(Name, Vec<PlCursorArg>), SyntaxError> {
        let cursor = self.name()?;
        let mut args = Vec::new();
        if self.accept_token(&Token::LParen) {
            loop {
                let named = matches!(self.peek(), Some(Token::Word(_) | Token::Quoted(_)))
                    && (self.is_operator(1, ":=") || self.is_operator(1, "=>"));
                let name = if named { Some(self.name()?) } else { None };
                self.at += usize::from(named);
                let tokens = self.until(|token| matches!(token.token, Token::Comma | Token::RParen))?;
                args.push((name, self.expr(tokens)?));
                if !self.accept_token(&Token::Comma) {
                    break;
                }
            }
            if !self.accept_token(&Token::RParen) {
                return Err(self.unexpected());
            }
        }
        Ok((cursor, args))
    }

    /// `OPEN cursor [(…)];`, `OPEN cursor [[NO] SCROLL] FOR {query | EXECUTE text [USING …]};`
    pub(super) fn open(&mut self) -> Result<PlStatementKind, SyntaxError> {
        self.at += 1;
        let (cursor, args) = self.cursor_and_args()?;
        let forward = self.accept(&["no", "scroll"]);
        if forward || self.accept(&["scroll"]) || self.is(&["for"]) {
            self.expect(&["for"])?;
            if self.accept(&["execute"]) {
                let text = self.dynamic(&[])?;
                self.semicolon()?;
                return Ok(PlStatementKind::OpenExecute { cursor, forward, text });
            }
            let tokens = self.until_semicolon()?;
            if let Some(text) = self.served(tokens) {
                self.semicolon()?;
                return Ok(PlStatementKind::OpenExecute { cursor, forward, text });
            }
            let statement = self.rows(tokens)?;
            let text = self.text_of(tokens).to_owned();
            self.semicolon()?;
            return Ok(PlStatementKind::OpenFor { cursor, forward, statement, text });
        }
        self.semicolon()?;
        Ok(PlStatementKind::Open { cursor, args })
    }

    /// `FETCH [direction [FROM | IN]] cursor INTO …;`, `MOVE [direction [FROM | IN]] cursor;`
    pub(super) fn fetch(&mut self, moves: bool) -> Result<PlStatementKind, SyntaxError> {
        let start = self.here().start;
        self.at += 1;
        let ends: &[&str] = if moves { &[] } else { &["into"] };
        let tokens = self.until(|token| {
            matches!(token.token, Token::SemiColon) || ends.iter().any(|end| is_word(self.source, token, end))
        })?;
        let (direction, cursor) = self.parse(tokens, |cursor| {
            let direction = match tokens {
                [_] => Direction::Forward(Some(1)),
                _ => direction(cursor)?,
            };
            let _ = cursor.accept(&["from"]) || cursor.accept(&["in"]);
            Ok((direction, cursor.name()?))
        })?;
        let into = match moves {
            true => Vec::new(),
            false => {
                self.expect(&["into"])?;
                self.targets()?
            }
        };
        // A count is refused whatever it is, as PostgreSQL does.
        let counted = tokens.iter().any(|token| matches!(token.token, Token::Number(_)));
        if let Direction::Forward(count) | Direction::Backward(count) = direction
            && !moves
            && (counted || count.is_none())
        {
            let text = "FETCH statement cannot return multiple rows";
            return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(start));
        }
        self.semicolon()?;
        Ok(PlStatementKind::Fetch { cursor, direction, into })
    }

    /// `CLOSE cursor;`
    pub(super) fn close(&mut self) -> Result<PlStatementKind, SyntaxError> {
        self.at += 1;
        let cursor = self.name()?;
        self.semicolon()?;
        Ok(PlStatementKind::Close(cursor))
    }
}
