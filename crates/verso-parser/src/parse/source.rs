//! The text of a script, its tokens and their places.
//!
//! The tokenizer speaks of lines and columns, errors of characters; this is where one becomes the other.

use std::cell::RefCell;

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Location, Span as TokenSpan, Token, TokenWithSpan, Tokenizer};

use super::operators::Spaced;
use super::taken::{Taken, TakenLock};

use crate::error::SyntaxError;
use crate::syntax::{Name, QualifiedName, Span};

/// The dialect everything is tokenized and parsed with. Our own statements are parsed before the library sees them,
/// so PostgreSQL's own dialect serves unchanged.
pub static DIALECT: PostgreSqlDialect = PostgreSqlDialect {};

/// Operators that may stand in a row without parentheses between AND and OR.
const CHAIN_OPERATORS_MAX: u32 = 400;
/// ANDs and ORs that may stand in a row.
const CHAIN_LOGICAL_MAX: u32 = 2_000;

/// Parentheses that may be open at once. The parser's own limit is lower; this one keeps the check itself cheap.
const PARENTHESES_MAX: usize = 100;

/// CASE within CASE. Deeper ones meet the parser's own limit, which it reports as something else.
const CASES_MAX: u32 = 20;

/// A text cut into tokens.
#[derive(Debug)]
pub struct Source<'a> {
    text: &'a str,
    /// First character of each line.
    lines: Vec<u32>,
    /// Byte offset of each character, only where they differ.
    bytes: Option<Vec<u32>>,
    /// Everything but white space and comments.
    tokens: Vec<TokenWithSpan>,
    /// Starts of the BETWEENs before a SYMMETRIC.
    symmetric: Vec<u32>,
    /// What the library does not know.
    taken: Taken,
    /// Tables of SELECT … INTO that no statement has asked for.
    into: RefCell<Vec<QualifiedName>>,
}

impl<'a> Source<'a> {
    /// Cuts a text into tokens.
    pub fn new(text: &'a str) -> Result<Source<'a>, SyntaxError> {
        let mut lines = vec![0];
        let mut count = 0;
        for c in text.chars() {
            count += 1;
            if c == '\n' {
                lines.push(count);
            }
        }
        let bytes = (!text.is_ascii()).then(|| {
            let ends = std::iter::once(text.len() as u32);
            text.char_indices().map(|(at, _)| at as u32).chain(ends).collect()
        });
        let mut source = Source {
            text,
            lines,
            bytes,
            tokens: Vec::new(),
            symmetric: Vec::new(),
            taken: Taken::default(),
            into: RefCell::default(),
        };
        if let Some(at) = text.chars().position(|c| c == '\0') {
            return Err(
                SyntaxError::new("22021", "invalid byte sequence for encoding \"UTF8\": 0x00").at(at as u32)
            );
        }
        let plain = super::numbers::plain(text)?;
        let spaced = Spaced::new(&plain);
        let tokens = Tokenizer::new(&DIALECT, &spaced.text).tokenize_with_location().map_err(|error| {
            let at = source.offset(spaced.given(error.location));
            tokenizer_error(&error.message, &source, at)
        })?;
        for mut token in tokens {
            if !matches!(token.token, Token::Whitespace(_)) {
                spaced.move_back(&mut token);
                source.push(token);
            }
        }
        if matches!(plain, std::borrow::Cow::Owned(_)) {
            source.read_numbers()?;
        }
        let mut tokens = std::mem::take(&mut source.tokens);
        source.taken = Taken::out_of(&mut tokens, &source);
        source.tokens = tokens;
        source.check_chains()?;
        Ok(source)
    }

    /// What the library does not say of the next lock clause behind `from`.
    pub fn lock(&self, from: u32) -> Option<&TakenLock> {
        self.taken.lock(from)
    }

    /// The cursor of WHERE CURRENT OF in the statement with this character.
    pub fn current_of(&self, from: u32) -> Option<Name> {
        let first = self.tokens.partition_point(|token| self.offset(token.span.start) < from);
        let end = self.tokens[first..].iter().find(|token| token.token == Token::SemiColon);
        self.taken.current_of(from, end.map_or(u32::MAX, |token| self.offset(token.span.start)))
    }

    /// A SELECT … INTO this table was met.
    pub fn note_into(&self, table: QualifiedName) {
        self.into.borrow_mut().push(table);
    }

    /// How many were met.
    pub fn tables_made(&self) -> usize {
        self.into.borrow().len()
    }

    /// The table of SELECT … INTO of the query that was just parsed.
    ///
    /// # Errors
    /// 42601 within parentheses.
    pub fn take_into(&self) -> Result<Option<QualifiedName>, SyntaxError> {
        let Some(table) = self.into.borrow_mut().pop() else { return Ok(None) };
        let at = table.at().start;
        let end = self.tokens.partition_point(|token| self.offset(token.span.start) < at);
        let mut depth = 0;
        for token in &self.tokens[..end] {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                Token::SemiColon => depth = 0,
                _ => {}
            }
        }
        if depth > 0 { Err(into_refused().at(at)) } else { Ok(Some(table)) }
    }

    /// Refuses a SELECT … INTO that no statement has asked for.
    pub fn check_into(&self) -> Result<(), SyntaxError> {
        match self.into.borrow().first() {
            Some(table) => Err(into_refused().at(table.at().start)),
            None => Ok(()),
        }
    }

    /// Refuses clauses that were noted, and belong to no statement that has such ones.
    pub fn check_taken(&self) -> Result<(), SyntaxError> {
        self.taken.check()
    }

    /// The first OVERRIDING between two characters, and whether it says SYSTEM.
    pub fn overriding(&self, from: u32, to: u32) -> Option<bool> {
        self.taken.overriding(from, to)
    }

    /// Adds a token. `1..n`, `1..2` and `n..2` are a range of PL/pgSQL, as PostgreSQL reads them; the tokenizer sees the
    /// numbers `1.` and `.2` there. `SYMMETRIC` and `ASYMMETRIC`, which the library does not know, are noted and left
    /// out.
    fn push(&mut self, mut token: TokenWithSpan) {
        let word = |token: &Token, text: &str| matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text));
        if let Some(last) = self.tokens.last()
            && word(&last.token, "between")
        {
            let start = self.offset(last.span.start);
            match &token.token {
                token if word(token, "symmetric") => return self.symmetric.push(start),
                token if word(token, "asymmetric") => return,
                _ => {}
            }
        }
        let Some(last) = self.tokens.last_mut() else { return self.tokens.push(token) };
        if let (Token::Period, Token::Number(digits, long)) = (&last.token, &token.token)
            && last.span.end == token.span.start
            && let Some(digits) = digits.strip_prefix('.')
        {
            let start = token.span.start;
            let behind = Location { column: start.column + 1, ..start };
            let number = Token::Number(digits.to_string(), *long);
            self.tokens.push(TokenWithSpan::new(Token::Period, TokenSpan::new(start, behind)));
            token = TokenWithSpan::new(number, TokenSpan::new(behind, token.span.end));
            return self.tokens.push(token);
        }
        let Token::Number(digits, false) = &last.token else { return self.tokens.push(token) };
        let touching = last.span.end == token.span.start && digits.ends_with('.');
        let second = match &token.token {
            Token::Period if touching => None,
            Token::Number(digits, long) if touching && digits.starts_with('.') => {
                Some(Token::Number(digits[1..].to_string(), *long))
            }
            _ => return self.tokens.push(token),
        };
        let before = |location: Location| Location { column: location.column.saturating_sub(1), ..location };
        let behind = |location: Location| Location { column: location.column + 1, ..location };
        let end = last.span.end;
        last.token = Token::Number(digits.trim_end_matches('.').to_string(), false);
        last.span.end = before(end);
        for start in [before(end), end] {
            self.tokens.push(TokenWithSpan::new(Token::Period, TokenSpan::new(start, behind(start))));
        }
        if let Some(second) = second {
            let span = TokenSpan::new(behind(token.span.start), token.span.end);
            self.tokens.push(TokenWithSpan::new(second, span));
        }
    }

    /// Gives the numbers that the tokenizer saw zeroes for their values.
    fn read_numbers(&mut self) -> Result<(), SyntaxError> {
        let mut tokens = std::mem::take(&mut self.tokens);
        for token in &mut tokens {
            let at = self.span(token.span);
            if let Token::Number(digits, _) = &mut token.token
                && *digits != self.slice(at)
            {
                *digits = super::numbers::decimal(self.slice(at)).map_err(|error| error.at(at.start))?;
            }
        }
        self.tokens = tokens;
        Ok(())
    }

    /// The tokens.
    pub fn tokens(&self) -> &[TokenWithSpan] {
        &self.tokens
    }

    /// Whether `SYMMETRIC` stands behind the BETWEEN that starts here.
    pub fn is_symmetric(&self, between: u32) -> bool {
        self.symmetric.contains(&between)
    }

    /// The whole text in characters.
    pub fn end(&self) -> u32 {
        match &self.bytes {
            Some(bytes) => bytes.len() as u32 - 1,
            None => self.text.len() as u32,
        }
    }

    /// The character at a place of the tokenizer; the end of the text for none.
    pub fn offset(&self, location: Location) -> u32 {
        let Some(line) = (location.line as usize).checked_sub(1).and_then(|line| self.lines.get(line)) else {
            return self.end();
        };
        (line + (location.column as u32).saturating_sub(1)).min(self.end())
    }

    /// The place of a token.
    pub fn span(&self, span: TokenSpan) -> Span {
        Span { start: self.offset(span.start), end: self.offset(span.end) }
    }

    /// The text at a place.
    pub fn slice(&self, at: Span) -> &'a str {
        let byte = |offset: u32| match &self.bytes {
            Some(bytes) => bytes.get(offset as usize).map_or(self.text.len(), |byte| *byte as usize),
            None => (offset as usize).min(self.text.len()),
        };
        self.text.get(byte(at.start)..byte(at.end)).unwrap_or_default()
    }

    /// `syntax error at or near …` for what starts at this character.
    pub fn near(&self, at: u32) -> SyntaxError {
        let index = self.tokens.partition_point(|token| self.offset(token.span.start) < at);
        match self.tokens.get(index) {
            Some(token) => {
                let span = self.span(token.span);
                SyntaxError::syntax(format!("syntax error at or near \"{}\"", self.slice(span)))
                    .at(span.start)
            }
            None => SyntaxError::syntax("syntax error at end of input").at(self.end()),
        }
    }

    /// The first token behind `from` whose text, in lower case, is `text`.
    pub fn find(&self, from: u32, text: &str) -> Option<Span> {
        let first = self.tokens.partition_point(|token| self.offset(token.span.start) < from);
        self.tokens[first..]
            .iter()
            .map(|token| self.span(token.span))
            .find(|span| self.slice(*span).eq_ignore_ascii_case(text))
    }

    /// The last token before `before` whose text, in lower case, is one of `texts`, at most `limit` tokens back.
    pub fn find_back(&self, before: u32, texts: &[&str], limit: usize) -> Option<Span> {
        let end = self.tokens.partition_point(|token| self.offset(token.span.start) < before);
        self.tokens[..end]
            .iter()
            .rev()
            .take(limit)
            .map(|token| self.span(token.span))
            .find(|span| texts.iter().any(|text| self.slice(*span).eq_ignore_ascii_case(text)))
    }

    /// Start of the first token at or behind a character.
    pub fn token_behind(&self, from: u32) -> u32 {
        let index = self.tokens.partition_point(|token| self.offset(token.span.start) < from);
        self.tokens.get(index).map_or(self.end(), |token| self.offset(token.span.start))
    }

    /// Start of the last token before a character.
    pub fn token_before(&self, before: u32) -> u32 {
        let index = self.tokens.partition_point(|token| self.offset(token.span.start) < before);
        index
            .checked_sub(1)
            .and_then(|index| self.tokens.get(index))
            .map_or(0, |token| self.offset(token.span.start))
    }

    /// End of the last token before a character.
    pub fn token_end_before(&self, before: u32) -> u32 {
        let index = self.tokens.partition_point(|token| self.offset(token.span.start) < before);
        index
            .checked_sub(1)
            .and_then(|index| self.tokens.get(index))
            .map_or(0, |token| self.offset(token.span.end))
    }

    /// Refuses texts whose syntax tree would be too deep to walk: the parser limits nesting, not chains.
    fn check_chains(&self) -> Result<(), SyntaxError> {
        // One entry per open parenthesis: operators since the last AND, OR or comma; ANDs and ORs since the last comma.
        let mut open = vec![(0u32, 0u32)];
        let mut cases = 0u32;
        for token in &self.tokens {
            let Some(here) = open.last_mut() else { break };
            match &token.token {
                Token::LParen | Token::LBracket => {
                    open.push((0, 0));
                    continue;
                }
                Token::RParen | Token::RBracket => {
                    let bracket = matches!(token.token, Token::RBracket);
                    if open.len() > 1 {
                        open.pop();
                    }
                    // A subscript may follow a subscript: each is a level of the tree.
                    if let (true, Some(here)) = (bracket, open.last_mut()) {
                        here.0 += 1;
                    }
                }
                Token::Comma | Token::SemiColon => *here = (0, 0),
                Token::Word(word) if word.quote_style.is_none() => {
                    match word.value.to_ascii_lowercase().as_str() {
                        "and" | "or" => *here = (0, here.1 + 1),
                        "case" => cases += 1,
                        "end" => cases = cases.saturating_sub(1),
                        "is" | "isnull" | "notnull" | "not" | "like" | "ilike" | "between" | "in" | "at"
                        | "collate" | "similar" | "xor" | "div" | "overlaps" | "union" | "intersect"
                        | "except" | "join" => {
                            here.0 += 1;
                        }
                        _ => {}
                    }
                }
                Token::Number(..)
                | Token::SingleQuotedString(_)
                | Token::DollarQuotedString(_)
                | Token::EscapedStringLiteral(_)
                | Token::Placeholder(_)
                | Token::EOF => {}
                _ => here.0 += 1,
            }
            let (operators, logical) = open.iter().fold((0, 0), |sum, here| (sum.0 + here.0, sum.1 + here.1));
            let chained = operators > CHAIN_OPERATORS_MAX || logical > CHAIN_LOGICAL_MAX;
            if chained || open.len() > PARENTHESES_MAX || cases > CASES_MAX {
                return Err(too_complex().at(self.offset(token.span.start)));
            }
        }
        Ok(())
    }
}

/// `42601` for a SELECT … INTO within another statement.
pub fn into_refused() -> SyntaxError {
    SyntaxError::syntax("SELECT ... INTO is not allowed here")
}

/// `54001` as PostgreSQL says it.
pub fn too_complex() -> SyntaxError {
    verso_env::stack::StackExhausted.into()
}

/// What the tokenizer could not read, in PostgreSQL's words.
fn tokenizer_error(message: &str, source: &Source<'_>, at: u32) -> SyntaxError {
    let lower = message.to_ascii_lowercase();
    let what = if lower.contains("unterminated") && lower.contains("comment")
        || lower.contains("unexpected eof while in a multi-line comment")
    {
        "unterminated /* comment"
    } else if lower.contains("dollar") {
        "unterminated dollar-quoted string"
    } else if lower.contains("before eof") || lower.contains("identifier") {
        "unterminated quoted identifier"
    } else if lower.contains("unterminated") {
        "unterminated quoted string"
    } else {
        return SyntaxError::syntax(format!("syntax error: {message}")).at(at);
    };
    let open = super::split::open_start(source.text).map(|byte| source.text[..byte].chars().count() as u32);
    let at = open.unwrap_or(at);
    let rest = source.slice(Span { start: at, end: source.end() });
    SyntaxError::syntax(format!("{what} at or near \"{rest}\"")).at(at)
}
