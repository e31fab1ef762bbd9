//! The tokens of a body: looking, taking, and cutting out what lies between two of them.

use super::super::cursor::{Cursor, word_of};
use super::super::lexer::{Lexeme, Token};
use super::super::source::is_word;
use super::super::split::AtomicBodies;
use super::super::statement;
use super::Body;
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, Literal, Name, PlDynamic, PlPart, PlTarget, Span, Statement};

impl<'s> Body<'s> {
    pub(super) fn peek(&self) -> Option<Token> {
        self.source.tokens().get(self.at).map(|token| token.token)
    }

    /// Whether the token `n` behind the next one is this operator.
    pub(super) fn is_operator(&self, n: usize, operator: &str) -> bool {
        self.source.tokens().get(self.at + n).is_some_and(|token| self.source.written(token) == operator)
    }

    pub(super) fn word_at(&self, n: usize) -> Option<String> {
        self.source.tokens().get(self.at + n).and_then(|token| word_of(self.source, token))
    }

    pub(super) fn is(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(n, word)| {
            self.source.tokens().get(self.at + n).is_some_and(|token| is_word(self.source, token, word))
        })
    }

    pub(super) fn accept(&mut self, words: &[&str]) -> bool {
        let found = self.is(words);
        if found {
            self.at += words.len();
        }
        found
    }

    pub(super) fn expect(&mut self, words: &[&str]) -> Result<(), SyntaxError> {
        for word in words {
            if !self.accept(&[word]) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    pub(super) fn accept_token(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(*token);
        if found {
            self.at += 1;
        }
        found
    }

    pub(super) fn semicolon(&mut self) -> Result<(), SyntaxError> {
        if self.accept_token(&Token::SemiColon) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn here(&self) -> Span {
        let end = Span { start: self.source.end(), end: self.source.end() };
        self.source.tokens().get(self.at).map_or(end, |token| token.at)
    }

    pub(super) fn line(&self) -> u32 {
        self.source.tokens().get(self.at).map_or(1, |token| self.source.line(token))
    }

    pub(super) fn unexpected(&self) -> SyntaxError {
        self.source.near(self.here().start)
    }

    pub(super) fn name(&mut self) -> Result<Name, SyntaxError> {
        // An argument by its number.
        if let Some(Token::Parameter(number)) = self.peek() {
            let name = Name { text: format!("${number}"), at: self.here() };
            self.at += 1;
            return Ok(name);
        }
        let tokens = &self.source.tokens()[self.at.min(self.source.tokens().len())..];
        let name = Cursor::new(self.source, &tokens[..tokens.len().min(1)]).name();
        let name = name.map_err(|_| self.unexpected())?;
        self.at += 1;
        Ok(name)
    }

    /// `a`, `a.b`, `a.b.c`.
    pub(super) fn target(&mut self) -> Result<PlTarget, SyntaxError> {
        let mut names = vec![self.name()?];
        while self.accept_token(&Token::Period) {
            names.push(self.label_name()?);
        }
        Ok(names)
    }

    /// Several of them.
    pub(super) fn targets(&mut self) -> Result<Vec<PlTarget>, SyntaxError> {
        let mut all = vec![self.target()?];
        while self.accept_token(&Token::Comma) {
            all.push(self.target()?);
        }
        Ok(all)
    }

    /// How many tokens a target takes that begins with the next one.
    pub(super) fn target_width(&self) -> usize {
        let token = |n: usize| self.source.tokens().get(self.at + n).map(|token| token.token);
        let mut width = 1;
        while token(width) == Some(Token::Period)
            && matches!(token(width + 1), Some(Token::Word(_) | Token::Quoted(_)))
        {
            width += 2;
        }
        width
    }

    /// A word of any class, or a quoted name.
    pub(super) fn label_name(&mut self) -> Result<Name, SyntaxError> {
        // An argument by its number.
        if let Some(Token::Parameter(number)) = self.peek() {
            let name = Name { text: format!("${number}"), at: self.here() };
            self.at += 1;
            return Ok(name);
        }
        let tokens = &self.source.tokens()[self.at.min(self.source.tokens().len())..];
        let name = Cursor::new(self.source, &tokens[..tokens.len().min(1)]).label();
        let name = name.map_err(|_| self.unexpected())?;
        self.at += 1;
        Ok(name)
    }

    /// Takes the tokens of an expression, up to (not including) the first that `stop` accepts outside of parentheses and
    /// CASE … END; `expected` is what errors say is missing there.
    pub(super) fn until(
        &mut self,
        stop: impl Fn(&Lexeme) -> bool,
        expected: &str,
    ) -> Result<&'s [Lexeme], SyntaxError> {
        let tokens = &self.source.tokens()[self.at..];
        let (mut parens, mut cases) = (0i32, 0i32);
        for (n, token) in tokens.iter().enumerate() {
            if parens == 0 && cases == 0 && stop(token) {
                self.at += n;
                return Ok(&tokens[..n]);
            }
            match token.token {
                Token::LParen | Token::LBracket => parens += 1,
                Token::RParen | Token::RBracket if parens == 0 => {
                    return Err(self.source.problem("mismatched parentheses", token.at.start));
                }
                Token::RParen | Token::RBracket => parens -= 1,
                Token::SemiColon => return Err(self.missing_end(parens, expected, token.at.start)),
                Token::Word(_) if is_word(self.source, token, "case") => cases += 1,
                Token::Word(_) if is_word(self.source, token, "end") => cases = (cases - 1).max(0),
                _ => {}
            }
        }
        let end = self.source.end();
        Err(match parens {
            0 if tokens.is_empty() => self.source.problem("missing expression", end),
            0 => SyntaxError::syntax("syntax error at end of input").at(end),
            _ => self.missing_end(parens, expected, end),
        })
    }

    /// What is said where an expression does not end as it should.
    fn missing_end(&self, parens: i32, expected: &str, at: u32) -> SyntaxError {
        match parens {
            0 => SyntaxError::syntax(format!("missing \"{expected}\" at end of SQL expression")).at(at),
            _ => self.source.problem("mismatched parentheses", at),
        }
    }

    /// Takes the tokens of an expression up to the semicolon.
    pub(super) fn until_semicolon(&mut self) -> Result<&'s [Lexeme], SyntaxError> {
        self.until(|token| matches!(token.token, Token::SemiColon), ";")
    }

    /// Takes the tokens of a statement up to the semicolon, whatever stands before it.
    pub(super) fn statement_tokens(&mut self) -> Result<&'s [Lexeme], SyntaxError> {
        let tokens = &self.source.tokens()[self.at..];
        let mut parens = 0i32;
        // CREATE FUNCTION … BEGIN ATOMIC has semicolons of its own.
        let mut bodies = AtomicBodies::default();
        let is_end = |token: &Lexeme| {
            bodies.pass(self.source.written(token));
            parens += match token.token {
                Token::LParen => 1,
                Token::RParen => -1,
                _ => 0,
            };
            parens == 0 && !bodies.is_open() && matches!(token.token, Token::SemiColon)
        };
        let Some(n) = tokens.iter().position(is_end) else {
            return Err(self.source.problem("unexpected end of function definition", self.source.end()));
        };
        self.at += n;
        Ok(&tokens[..n])
    }

    pub(super) fn until_word(&mut self, word: &'static str) -> Result<&'s [Lexeme], SyntaxError> {
        self.until(|token| is_word(self.source, token, word), &word.to_uppercase())
    }

    pub(super) fn parse<T>(
        &self,
        tokens: &'s [Lexeme],
        parse: impl FnOnce(&mut Cursor<'s>) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        if tokens.is_empty() {
            return Err(self.source.problem("missing SQL statement", self.here().start));
        }
        if let (Some(first), Some(last)) = (tokens.first(), tokens.last()) {
            let at = Span { start: first.at.start, end: last.at.end };
            self.parts.borrow_mut().push(PlPart { at, text: None });
        }
        let mut cursor = Cursor::new(self.source, tokens);
        let read = parse(&mut cursor).and_then(|result| cursor.finish().map(|()| result));
        read.map_err(|error| self.ended(error, tokens))
    }

    /// An error behind the last of these tokens is one at the end of them: what follows is not part of their text.
    pub(super) fn ended(&self, error: SyntaxError, tokens: &[Lexeme]) -> SyntaxError {
        let end = tokens.last().map_or(0, |last| last.at.end);
        let is_behind = error.position.is_some_and(|position| position > end);
        if is_behind && error.message.starts_with("syntax error at or near") {
            return SyntaxError::syntax("syntax error at end of input").at(end);
        }
        error
    }

    /// An expression, or what may stand behind SELECT: `count(*) FROM t WHERE …`.
    pub(super) fn expr(&self, tokens: &'s [Lexeme]) -> Result<Expr, SyntaxError> {
        if tokens.is_empty() {
            return Err(self.source.problem("missing expression", self.here().start));
        }
        // It is a column of a query, which may be named.
        let named = |cursor: &mut Cursor<'s>| {
            let expr = cursor.expr()?;
            cursor.column_alias()?;
            Ok(expr)
        };
        self.parse(tokens, named).or_else(|error| self.bare_query(tokens).ok_or(error))
    }

    /// A query without its SELECT, as the expression it is; none where it is no such query.
    fn bare_query(&self, tokens: &'s [Lexeme]) -> Option<Expr> {
        const CLAUSES: [&str; 11] = [
            "from",
            "where",
            "group",
            "having",
            "order",
            "limit",
            "union",
            "except",
            "intersect",
            "distinct",
            "all",
        ];
        let is_clause = |token: &Lexeme| {
            token.token == Token::Comma || CLAUSES.iter().any(|word| is_word(self.source, token, word))
        };
        if !tokens.iter().any(is_clause) {
            return None;
        }
        let query = self.parse(tokens, |cursor| {
            cursor.bare = true;
            cursor.query()
        });
        let (first, last) = (tokens.first()?.at, tokens.last()?.at);
        let kind = ExprKind::Subquery(Box::new(query.ok()?));
        Some(Expr { kind, at: Span { start: first.start, end: last.end }, point: first.start })
    }

    /// SHOW or EXPLAIN, whose rows the session makes, as a text to be run; none where it is another statement.
    pub(super) fn served(&self, tokens: &'s [Lexeme]) -> Result<Option<PlDynamic>, SyntaxError> {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return Ok(None) };
        if tokens.len() < 2 || !["show", "explain"].iter().any(|word| is_word(self.source, first, word)) {
            return Ok(None);
        }
        let explained = match self.parse(tokens, statement)? {
            Statement::Explain { statement, .. } => Some(statement),
            _ => None,
        };
        let text = self.source.between(first, last).to_owned();
        let at = Span { start: first.at.start, end: last.at.end };
        let text = Expr { kind: ExprKind::Literal(Literal::String(text)), at, point: at.start };
        Ok(Some(PlDynamic { text, using: Vec::new(), explained }))
    }

    /// A statement that yields rows, or may.
    pub(super) fn rows(&self, tokens: &'s [Lexeme]) -> Result<Box<Statement>, SyntaxError> {
        let parsed = self.parse(tokens, statement)?;
        match parsed {
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_) => Ok(Box::new(parsed)),
            _ => Err(SyntaxError::unsupported("rows of such a statement").at(tokens[0].at.start)),
        }
    }
}
