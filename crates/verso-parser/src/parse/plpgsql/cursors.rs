//! Cursors: their declarations, OPEN, FETCH, MOVE, CLOSE, and loops over them.

use verso_types::{SqlType, sqlstate};

use super::super::lexer::{Lexeme, Token};
use super::super::source::is_word;
use super::Body;
use crate::error::SyntaxError;
use crate::syntax::{Direction, Expr, ExprKind, Literal, Name, PlCursor, PlCursorArg, PlStatementKind};

impl Body<'_> {
    /// `[[NO] SCROLL] CURSOR [(a t, …)] {FOR | IS} query`, behind its name; none where it is no cursor.
    pub(super) fn cursor_declaration(&mut self) -> Result<Option<PlCursor>, SyntaxError> {
        let scroll = match () {
            () if self.accept(&["no", "scroll", "cursor"]) => Some(false),
            () if self.accept(&["scroll", "cursor"]) => Some(true),
            () if self.accept(&["cursor"]) => None,
            () => return Ok(None),
        };
        let mut args: Vec<(Name, SqlType)> = Vec::new();
        if self.accept_token(&Token::LParen) {
            loop {
                let name = self.name()?;
                if args.iter().any(|(known, _)| known.text == name.text) {
                    return Err(self.source.problem("duplicate declaration", name.at.start));
                }
                let ends = |token: &Lexeme| matches!(token.token, Token::Comma | Token::RParen);
                let tokens = self.until(ends, ")")?;
                if tokens.is_empty() {
                    return Err(self.source.problem("missing data type declaration", self.here().start));
                }
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
        Ok(Some(PlCursor { scroll, args, statement, text }))
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
        let cursor = self.cursor_name()?;
        let mut args = Vec::new();
        if self.accept_token(&Token::LParen) {
            loop {
                let named = matches!(self.peek(), Some(Token::Word(_) | Token::Quoted(_)))
                    && (self.is_operator(1, ":=") || self.is_operator(1, "=>"));
                let name = if named { Some(self.name()?) } else { None };
                self.at += usize::from(named);
                let ends = |token: &Lexeme| matches!(token.token, Token::Comma | Token::RParen);
                let tokens = self.until(ends, ",\" or \")")?;
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
        let scroll = match () {
            () if self.accept(&["no", "scroll"]) => Some(false),
            () if self.accept(&["scroll"]) => Some(true),
            () => None,
        };
        if scroll.is_some() || self.is(&["for"]) {
            self.expect(&["for"])?;
            if self.accept(&["execute"]) {
                let text = self.dynamic(&[], "; or USING")?;
                self.semicolon()?;
                return Ok(PlStatementKind::OpenExecute { cursor, scroll, text });
            }
            let tokens = self.until_semicolon()?;
            if let Some(text) = self.served(tokens)? {
                self.semicolon()?;
                return Ok(PlStatementKind::OpenExecute { cursor, scroll, text });
            }
            let statement = self.rows(tokens)?;
            let text = self.text_of(tokens).to_owned();
            self.semicolon()?;
            return Ok(PlStatementKind::OpenFor { cursor, scroll, statement, text });
        }
        self.semicolon()?;
        Ok(PlStatementKind::Open { cursor, args })
    }

    /// The name of a cursor, which is no field.
    fn cursor_name(&mut self) -> Result<Name, SyntaxError> {
        let name = self.name()?;
        if self.peek() == Some(Token::Period) {
            let text = "cursor variable must be a simple variable";
            return Err(SyntaxError::new(sqlstate::DATATYPE_MISMATCH, text).at(name.at.start));
        }
        Ok(name)
    }

    /// `FETCH [direction [FROM | IN]] cursor INTO …;`, `MOVE [direction [FROM | IN]] cursor;`
    pub(super) fn fetch(&mut self, moves: bool) -> Result<PlStatementKind, SyntaxError> {
        let start = self.here().start;
        self.at += 1;
        let first = self.at;
        let (direction, count, several) = self.direction()?;
        let bare = self.at == first;
        let cursor = self.cursor_name()?;
        let into = match moves {
            true => Vec::new(),
            false => {
                self.expect(&["into"])?;
                self.targets()?
            }
        };
        self.semicolon()?;
        if several && !moves {
            let text = "FETCH statement cannot return multiple rows";
            return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(start));
        }
        Ok(PlStatementKind::Fetch { cursor, bare, direction, count, into })
    }

    /// Where FETCH and MOVE go; the number that an expression gives; whether that may be over several rows.
    fn direction(&mut self) -> Result<(Direction, Option<Expr>, bool), SyntaxError> {
        const ONE: Direction = Direction::Forward(Some(1));
        let plain = [
            ("next", ONE),
            ("prior", Direction::Backward(Some(1))),
            ("first", Direction::Absolute(1)),
            ("last", Direction::Absolute(-1)),
        ];
        // A cursor may have such a name.
        let is_name = matches!(
            self.source.tokens().get(self.at + 1).map(|token| token.token),
            None | Some(Token::SemiColon)
        ) || self.word_at(1).as_deref() == Some("into");
        if is_name {
            return Ok((ONE, None, false));
        }
        for (word, direction) in plain {
            if self.accept(&[word]) {
                self.skip_from_or_in()?;
                return Ok((direction, None, false));
            }
        }
        if self.accept(&["absolute"]) {
            return self.counted(Direction::Absolute, false);
        }
        if self.accept(&["relative"]) {
            return self.counted(Direction::Relative, false);
        }
        if self.accept(&["all"]) {
            self.skip_from_or_in()?;
            return Ok((Direction::Forward(None), None, true));
        }
        for (word, direction) in [("forward", ONE), ("backward", Direction::Backward(Some(1)))] {
            if !self.accept(&[word]) {
                continue;
            }
            let of = |count| match direction {
                Direction::Backward(_) => Direction::Backward(count),
                _ => Direction::Forward(count),
            };
            if self.accept(&["from"]) || self.accept(&["in"]) {
                return Ok((direction, None, false));
            }
            if self.accept(&["all"]) {
                self.skip_from_or_in()?;
                return Ok((of(None), None, true));
            }
            return self.counted(|count| of(Some(count)), true);
        }
        if self.accept(&["from"]) || self.accept(&["in"]) {
            return Ok((ONE, None, false));
        }
        self.counted(|count| Direction::Forward(Some(count)), true)
    }

    fn skip_from_or_in(&mut self) -> Result<(), SyntaxError> {
        match self.accept(&["from"]) || self.accept(&["in"]) {
            true => Ok(()),
            false => Err(self.source.problem("expected FROM or IN", self.here().start)),
        }
    }

    /// `count {FROM | IN}`; a count that is a number is part of the direction.
    fn counted(
        &mut self,
        direction: impl Fn(i64) -> Direction,
        several: bool,
    ) -> Result<(Direction, Option<Expr>, bool), SyntaxError> {
        let ends = |token: &Lexeme| ["from", "in"].iter().any(|word| is_word(self.source, token, word));
        let tokens = self.until(ends, "FROM or IN")?;
        let count = self.expr(tokens)?;
        self.at += 1;
        Ok(match literal(&count) {
            Some(number) => (direction(number), None, several),
            None => (direction(1), Some(count), several),
        })
    }

    /// `CLOSE cursor;`
    pub(super) fn close(&mut self) -> Result<PlStatementKind, SyntaxError> {
        self.at += 1;
        let cursor = self.cursor_name()?;
        self.semicolon()?;
        Ok(PlStatementKind::Close(cursor))
    }
}

/// The number that an expression is, with its sign.
fn literal(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Literal(Literal::Number(number)) => number.parse().ok(),
        ExprKind::Unary { op, arg } if op == "-" => literal(arg).map(|number| -number),
        _ => None,
    }
}
