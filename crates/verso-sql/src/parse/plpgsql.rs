//! The body of a PL/pgSQL function: a recursive descent over the tokens.
//!
//! Blocks, loops and conditions are read here; expressions, queries and statements between them are cut out by their
//! end (`;`, `THEN`, `LOOP`, `..`) and parsed as everywhere else.
//!
//! G1. Nesting is bounded ([`NESTING_MAX`]), so no body overflows the stack.
//! G2. Positions of errors count in the body; whoever holds the literal moves them.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::cursor::{Cursor, word_of};
use super::source::{Source, too_complex};
use crate::errors::{SqlError, sqlstate};
use crate::syntax::{
    Expr, ExprKind, Name, PlBlock, PlCondition, PlDeclaration, PlHandler, PlLevel, PlRaise, PlRaiseOption,
    PlStatement, PlStatementKind, Query, Span, Statement,
};

/// Blocks within blocks.
const NESTING_MAX: u32 = 40;

/// Parses a body: one block.
pub fn parse_body(text: &str) -> Result<PlBlock, SqlError> {
    let source = Source::new(text)?;
    let mut body = Body { source: &source, at: 0, depth: 0 };
    let label = body.label()?;
    if !body.is(&["declare"]) && !body.is(&["begin"]) {
        return Err(body.unexpected());
    }
    let block = body.block(label)?;
    body.accept_token(&Token::SemiColon);
    match body.peek() {
        None => Ok(block),
        Some(_) => Err(body.unexpected()),
    }
}

struct Body<'s> {
    source: &'s Source<'s>,
    at: usize,
    depth: u32,
}

impl<'s> Body<'s> {
    // ── tokens ───────────────────────────────────────────────────────────────────────────────────────────────────

    fn peek(&self) -> Option<&'s Token> {
        self.source.tokens().get(self.at).map(|token| &token.token)
    }

    fn word_at(&self, n: usize) -> Option<String> {
        self.source.tokens().get(self.at + n).and_then(|token| word_of(&token.token))
    }

    fn is(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(n, word)| self.word_at(n).as_deref() == Some(*word))
    }

    fn accept(&mut self, words: &[&str]) -> bool {
        let found = self.is(words);
        if found {
            self.at += words.len();
        }
        found
    }

    fn expect(&mut self, words: &[&str]) -> Result<(), SqlError> {
        for word in words {
            if !self.accept(&[word]) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    fn accept_token(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        if found {
            self.at += 1;
        }
        found
    }

    fn semicolon(&mut self) -> Result<(), SqlError> {
        if self.accept_token(&Token::SemiColon) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn here(&self) -> Span {
        let end = Span { start: self.source.end(), end: self.source.end() };
        self.source.tokens().get(self.at).map_or(end, |token| self.source.span(token.span))
    }

    fn line(&self) -> u32 {
        self.source.tokens().get(self.at).map_or(1, |token| token.span.start.line as u32)
    }

    fn unexpected(&self) -> SqlError {
        self.source.near(self.here().start)
    }

    fn unsupported(&self, what: &str) -> SqlError {
        SqlError::unsupported(what).at(self.here().start)
    }

    fn name(&mut self) -> Result<Name, SqlError> {
        let tokens = &self.source.tokens()[self.at.min(self.source.tokens().len())..];
        let name = Cursor::new(self.source, &tokens[..tokens.len().min(1)]).name();
        let name = name.map_err(|_| self.unexpected())?;
        self.at += 1;
        Ok(name)
    }

    /// Takes the tokens up to (not including) the first that `stop` accepts outside of parentheses and CASE … END.
    fn until(&mut self, stop: impl Fn(&Token) -> bool) -> Result<&'s [TokenWithSpan], SqlError> {
        let tokens = &self.source.tokens()[self.at..];
        let (mut parens, mut cases) = (0i32, 0i32);
        for (n, token) in tokens.iter().enumerate() {
            if parens == 0 && cases == 0 && stop(&token.token) || matches!(token.token, Token::SemiColon) {
                if !stop(&token.token) {
                    self.at += n;
                    return Err(self.unexpected());
                }
                self.at += n;
                return Ok(&tokens[..n]);
            }
            match &token.token {
                Token::LParen | Token::LBracket => parens += 1,
                Token::RParen | Token::RBracket => parens -= 1,
                token => match word_of(token).as_deref() {
                    Some("case") => cases += 1,
                    Some("end") => cases = (cases - 1).max(0),
                    _ => {}
                },
            }
        }
        Err(SqlError::syntax("syntax error at end of input").at(self.source.end()))
    }

    fn until_semicolon(&mut self) -> Result<&'s [TokenWithSpan], SqlError> {
        self.until(|token| matches!(token, Token::SemiColon))
    }

    fn until_word(&mut self, word: &'static str) -> Result<&'s [TokenWithSpan], SqlError> {
        self.until(|token| word_of(token).as_deref() == Some(word))
    }

    fn parse<T>(
        &self,
        tokens: &[TokenWithSpan],
        parse: impl FnOnce(&mut Cursor<'s>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        if tokens.is_empty() {
            return Err(self.unexpected());
        }
        let mut cursor = Cursor::new(self.source, tokens);
        let result = parse(&mut cursor)?;
        cursor.finish()?;
        Ok(result)
    }

    fn expr(&self, tokens: &[TokenWithSpan]) -> Result<Expr, SqlError> {
        self.parse(tokens, Cursor::expr)
    }

    fn query(&self, tokens: &[TokenWithSpan]) -> Result<Box<Query>, SqlError> {
        self.parse(tokens, Cursor::query).map(Box::new)
    }

    // ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────

    fn label(&mut self) -> Result<Option<Name>, SqlError> {
        if !self.accept_token(&Token::ShiftLeft) {
            return Ok(None);
        }
        let name = self.name()?;
        if self.accept_token(&Token::ShiftRight) { Ok(Some(name)) } else { Err(self.unexpected()) }
    }

    /// `[DECLARE …] BEGIN … [EXCEPTION …] END [label]`, without the semicolon.
    fn block(&mut self, label: Option<Name>) -> Result<PlBlock, SqlError> {
        let mut declarations = Vec::new();
        if self.accept(&["declare"]) {
            while !self.is(&["begin"]) {
                if self.accept(&["declare"]) {
                    continue;
                }
                declarations.push(self.declaration()?);
            }
        }
        self.expect(&["begin"])?;
        let body = self.statements(&["end", "exception"])?;
        let mut handlers = Vec::new();
        if self.accept(&["exception"]) {
            while self.is(&["when"]) {
                handlers.push(self.handler()?);
            }
            if handlers.is_empty() {
                return Err(self.unexpected());
            }
        }
        self.expect(&["end"])?;
        self.end_label(label.as_ref())?;
        Ok(PlBlock { label, declarations, body, handlers })
    }

    /// The label repeated behind END or END LOOP.
    fn end_label(&mut self, label: Option<&Name>) -> Result<(), SqlError> {
        if !matches!(self.peek(), Some(Token::Word(_))) {
            return Ok(());
        }
        let at = self.here().start;
        let end = self.name()?;
        let problem = match label {
            None => format!("end label \"{}\" specified for unlabeled block", end.text),
            Some(label) if label.text != end.text => {
                format!("end label \"{}\" differs from block's label \"{}\"", end.text, label.text)
            }
            Some(_) => return Ok(()),
        };
        Err(SqlError::syntax(problem).at(at))
    }

    fn declaration(&mut self) -> Result<PlDeclaration, SqlError> {
        let line = self.line();
        let name = self.name()?;
        for what in ["alias", "cursor", "scroll", "record", "refcursor"] {
            if self.is(&[what]) {
                return Err(self.unsupported(&what.to_uppercase()));
            }
        }
        let constant = self.accept(&["constant"]);
        let ty = self.until(|token| {
            matches!(token, Token::SemiColon | Token::Assignment | Token::Eq)
                || matches!(word_of(token).as_deref(), Some("not" | "default" | "collate"))
        })?;
        if let Some(percent) = ty.iter().find(|token| matches!(token.token, Token::Mod)) {
            let at = self.source.span(percent.span).start;
            return Err(SqlError::unsupported("%TYPE and %ROWTYPE").at(at));
        }
        let ty = self.parse(ty, Cursor::data_type)?;
        if self.is(&["collate"]) {
            return Err(self.unsupported("COLLATE"));
        }
        let not_null = self.accept(&["not", "null"]);
        let assigned = self.accept(&["default"])
            || self.accept_token(&Token::Assignment)
            || self.accept_token(&Token::Eq);
        let default = match assigned {
            true => {
                let tokens = self.until_semicolon()?;
                Some(self.expr(tokens)?)
            }
            false => None,
        };
        self.semicolon()?;
        if not_null && default.is_none() {
            let text =
                format!("variable \"{}\" must have a default value, since it's declared NOT NULL", name.text);
            return Err(SqlError::new("22004", text).at(name.at.start));
        }
        Ok(PlDeclaration { name, ty, constant, not_null, default, line })
    }

    fn handler(&mut self) -> Result<PlHandler, SqlError> {
        self.expect(&["when"])?;
        let mut conditions = Vec::new();
        loop {
            conditions.push(self.condition()?);
            if !self.accept(&["or"]) {
                break;
            }
        }
        self.expect(&["then"])?;
        Ok(PlHandler { conditions, body: self.statements(&["when", "end"])? })
    }

    fn condition(&mut self) -> Result<PlCondition, SqlError> {
        if self.accept(&["others"]) {
            return Ok(PlCondition::Others);
        }
        if self.accept(&["sqlstate"]) {
            return Ok(PlCondition::Sqlstate(self.sqlstate_code()?));
        }
        let at = self.here().start;
        let name = self.name()?;
        let code = condition_code(&name.text).ok_or_else(|| unknown_condition(&name.text).at(at))?;
        Ok(PlCondition::Sqlstate(code.to_string()))
    }

    fn sqlstate_code(&mut self) -> Result<String, SqlError> {
        let at = self.here().start;
        match self.peek() {
            Some(Token::SingleQuotedString(code)) => {
                self.at += 1;
                let valid =
                    code.len() == 5 && code.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
                if valid { Ok(code.clone()) } else { Err(SqlError::syntax("invalid SQLSTATE code").at(at)) }
            }
            _ => Err(self.unexpected()),
        }
    }

    // ── statements ───────────────────────────────────────────────────────────────────────────────────────────────

    /// Statements up to one of these words.
    fn statements(&mut self, ends: &[&str]) -> Result<Vec<PlStatement>, SqlError> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(too_complex().at(self.here().start));
        }
        let mut all = Vec::new();
        while !ends.iter().any(|end| self.is(&[end])) {
            if self.peek().is_none() {
                return Err(self.unexpected());
            }
            all.push(self.statement()?);
        }
        self.depth -= 1;
        Ok(all)
    }

    fn statement(&mut self) -> Result<PlStatement, SqlError> {
        let line = self.line();
        let label = self.label()?;
        let word = self.word_at(0).unwrap_or_default();
        if label.is_some()
            && !matches!(word.as_str(), "declare" | "begin" | "loop" | "while" | "for" | "foreach")
        {
            return Err(self.unexpected());
        }
        let next = self.source.tokens().get(self.at + 1).map(|token| &token.token);
        let assigns = matches!(self.peek(), Some(Token::Word(_)))
            && matches!(next, Some(Token::Assignment | Token::Eq));
        let kind = match word.as_str() {
            _ if assigns => self.assignment()?,
            "declare" | "begin" => {
                let block = self.block(label)?;
                self.semicolon()?;
                PlStatementKind::Block(block)
            }
            "null" => {
                self.at += 1;
                self.semicolon()?;
                PlStatementKind::Null
            }
            "if" => self.conditional()?,
            "case" => self.case()?,
            "loop" => PlStatementKind::Loop { body: self.loop_body(label.as_ref())?, label },
            "while" => {
                self.at += 1;
                let condition = self.until_word("loop")?;
                let condition = self.expr(condition)?;
                PlStatementKind::While { condition, body: self.loop_body(label.as_ref())?, label }
            }
            "for" => self.for_loop(label)?,
            "exit" | "continue" => self.leave(&word)?,
            "return" => self.return_statement()?,
            "perform" => {
                let mut tokens = self.until_semicolon()?.to_vec();
                if let Some(TokenWithSpan { token: Token::Word(first), .. }) = tokens.first_mut() {
                    first.value = "SELECT".to_string();
                    first.keyword = sqlparser::keywords::Keyword::SELECT;
                }
                let query = self.query(&tokens)?;
                self.semicolon()?;
                PlStatementKind::Perform(query)
            }
            "raise" => self.raise()?,
            "get" => self.get_diagnostics()?,
            "commit" | "rollback" => {
                return Err(self.unsupported(&format!("{} inside a function or block", word.to_uppercase())));
            }
            "execute" | "foreach" | "open" | "fetch" | "move" | "close" | "assert" | "call" | "do" => {
                return Err(self.unsupported(&format!("{} in PL/pgSQL", word.to_uppercase())));
            }
            _ if matches!(next, Some(Token::LBracket | Token::Period)) && self.assignment_follows() => {
                return Err(self.unsupported("assignment to an element or field"));
            }
            _ => self.sql()?,
        };
        Ok(PlStatement { kind, line })
    }

    /// Whether `:=` comes before the next semicolon.
    fn assignment_follows(&self) -> bool {
        self.source.tokens()[self.at..]
            .iter()
            .take_while(|token| !matches!(token.token, Token::SemiColon))
            .any(|token| matches!(token.token, Token::Assignment))
    }

    fn assignment(&mut self) -> Result<PlStatementKind, SqlError> {
        let target = self.name()?;
        self.at += 1;
        let value = self.until_semicolon()?;
        let value = self.expr(value)?;
        self.semicolon()?;
        Ok(PlStatementKind::Assign { target, value })
    }

    fn conditional(&mut self) -> Result<PlStatementKind, SqlError> {
        self.at += 1;
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            let condition = self.until_word("then")?;
            let condition = self.expr(condition)?;
            self.expect(&["then"])?;
            branches.push((condition, self.statements(&["elsif", "elseif", "else", "end"])?));
            if self.accept(&["elsif"]) || self.accept(&["elseif"]) {
                continue;
            }
            if self.accept(&["else"]) {
                otherwise = self.statements(&["end"])?;
            }
            self.expect(&["end", "if"])?;
            self.semicolon()?;
            return Ok(PlStatementKind::If { branches, otherwise });
        }
    }

    /// `CASE [e] WHEN a, b THEN … [ELSE …] END CASE`, as the IF it stands for.
    fn case(&mut self) -> Result<PlStatementKind, SqlError> {
        let line = self.line();
        self.at += 1;
        let operand = match self.is(&["when"]) {
            true => None,
            false => {
                let tokens = self.until_word("when")?;
                Some(self.expr(tokens)?)
            }
        };
        let mut branches = Vec::new();
        while self.accept(&["when"]) {
            let tokens = self.until_word("then")?;
            let values = self.parse(tokens, |cursor| cursor.list(Cursor::expr))?;
            self.expect(&["then"])?;
            let body = self.statements(&["when", "else", "end"])?;
            branches.push((case_condition(operand.as_ref(), values, self.source)?, body));
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = match self.accept(&["else"]) {
            true => self.statements(&["end"])?,
            false => vec![PlStatement { kind: PlStatementKind::CaseNotFound, line }],
        };
        self.expect(&["end", "case"])?;
        self.semicolon()?;
        Ok(PlStatementKind::If { branches, otherwise })
    }

    /// `LOOP … END LOOP [label];`
    fn loop_body(&mut self, label: Option<&Name>) -> Result<Vec<PlStatement>, SqlError> {
        self.expect(&["loop"])?;
        let body = self.statements(&["end"])?;
        self.expect(&["end", "loop"])?;
        self.end_label(label)?;
        self.semicolon()?;
        Ok(body)
    }

    fn for_loop(&mut self, label: Option<Name>) -> Result<PlStatementKind, SqlError> {
        self.at += 1;
        let mut targets = vec![self.name()?];
        while self.accept_token(&Token::Comma) {
            targets.push(self.name()?);
        }
        self.expect(&["in"])?;
        if self.is(&["execute"]) {
            return Err(self.unsupported("FOR … IN EXECUTE"));
        }
        let reverse = self.accept(&["reverse"]);
        let range = self.until_word("loop")?;
        let dots = range
            .windows(2)
            .position(|pair| matches!((&pair[0].token, &pair[1].token), (Token::Period, Token::Period)));
        let Some(dots) = dots else {
            if reverse {
                return Err(self.unexpected());
            }
            let query = self.query(range)?;
            let body = self.loop_body(label.as_ref())?;
            return Ok(PlStatementKind::ForQuery { label, targets, query, body });
        };
        let from = self.expr(&range[..dots])?;
        let rest = &range[dots + 2..];
        let by = rest.iter().position(|token| word_of(&token.token).as_deref() == Some("by"));
        let to = self.expr(&rest[..by.unwrap_or(rest.len())])?;
        let by = by.map(|by| self.expr(&rest[by + 1..])).transpose()?;
        let mut targets = targets.into_iter();
        let (Some(variable), None) = (targets.next(), targets.next()) else {
            return Err(
                SqlError::syntax("integer FOR loop must have only one target variable").at(from.at.start)
            );
        };
        let body = self.loop_body(label.as_ref())?;
        Ok(PlStatementKind::ForInteger { label, variable, reverse, from, to, by, body })
    }

    fn leave(&mut self, word: &str) -> Result<PlStatementKind, SqlError> {
        self.at += 1;
        let label = match self.peek() {
            Some(Token::Word(_)) if !self.is(&["when"]) => Some(self.name()?),
            _ => None,
        };
        let when = match self.accept(&["when"]) {
            true => {
                let tokens = self.until_semicolon()?;
                Some(self.expr(tokens)?)
            }
            false => None,
        };
        self.semicolon()?;
        Ok(match word {
            "exit" => PlStatementKind::Exit { label, when },
            _ => PlStatementKind::Continue { label, when },
        })
    }

    fn return_statement(&mut self) -> Result<PlStatementKind, SqlError> {
        self.at += 1;
        if self.accept(&["query"]) {
            if self.is(&["execute"]) {
                return Err(self.unsupported("RETURN QUERY EXECUTE"));
            }
            let tokens = self.until_semicolon()?;
            let query = self.query(tokens)?;
            self.semicolon()?;
            return Ok(PlStatementKind::ReturnQuery(query));
        }
        let next = self.accept(&["next"]);
        let tokens = self.until_semicolon()?;
        let value = match tokens {
            [] => None,
            tokens => Some(self.expr(tokens)?),
        };
        self.semicolon()?;
        Ok(if next { PlStatementKind::ReturnNext(value) } else { PlStatementKind::Return(value) })
    }

    fn get_diagnostics(&mut self) -> Result<PlStatementKind, SqlError> {
        self.at += 1;
        if self.is(&["stacked"]) {
            return Err(self.unsupported("GET STACKED DIAGNOSTICS"));
        }
        self.accept(&["current"]);
        self.expect(&["diagnostics"])?;
        let target = self.name()?;
        if !self.accept_token(&Token::Assignment) && !self.accept_token(&Token::Eq) {
            return Err(self.unexpected());
        }
        if !self.accept(&["row_count"]) {
            return Err(self.unsupported("GET DIAGNOSTICS other than ROW_COUNT"));
        }
        if matches!(self.peek(), Some(Token::Comma)) {
            return Err(self.unsupported("GET DIAGNOSTICS of several items"));
        }
        self.semicolon()?;
        Ok(PlStatementKind::GetRowCount(target))
    }

    fn raise(&mut self) -> Result<PlStatementKind, SqlError> {
        let start = self.here().start;
        self.at += 1;
        let mut raise = PlRaise {
            level: PlLevel::Exception,
            format: None,
            args: Vec::new(),
            sqlstate: None,
            options: Vec::new(),
        };
        for (word, level) in [
            ("debug", PlLevel::Debug),
            ("log", PlLevel::Log),
            ("info", PlLevel::Info),
            ("notice", PlLevel::Notice),
            ("warning", PlLevel::Warning),
            ("exception", PlLevel::Exception),
        ] {
            if self.accept(&[word]) {
                raise.level = level;
                break;
            }
        }
        match self.peek() {
            Some(Token::SemiColon) => {}
            Some(Token::SingleQuotedString(format)) => {
                self.at += 1;
                raise.format = Some(format.clone());
                while self.accept_token(&Token::Comma) {
                    let stop = |token: &Token| {
                        matches!(token, Token::Comma | Token::SemiColon)
                            || word_of(token).as_deref() == Some("using")
                    };
                    let tokens = self.until(stop)?;
                    raise.args.push(self.expr(tokens)?);
                }
                check_placeholders(format, raise.args.len()).map_err(|error| error.at(start))?;
            }
            _ if self.accept(&["sqlstate"]) => raise.sqlstate = Some(self.sqlstate_code()?),
            Some(Token::Word(_)) if !self.is(&["using"]) => {
                let at = self.here().start;
                let name = self.name()?;
                let code = condition_code(&name.text).ok_or_else(|| unknown_condition(&name.text).at(at))?;
                raise.sqlstate = Some(code.to_string());
                raise.format = Some(name.text.replace('%', "%%"));
            }
            _ => {}
        }
        if self.accept(&["using"]) {
            loop {
                raise.options.push(self.raise_option()?);
                if !self.accept_token(&Token::Comma) {
                    break;
                }
            }
        }
        self.semicolon()?;
        Ok(PlStatementKind::Raise(raise))
    }

    fn raise_option(&mut self) -> Result<(PlRaiseOption, Expr), SqlError> {
        let option = match self.word_at(0).as_deref() {
            Some("message") => PlRaiseOption::Message,
            Some("detail") => PlRaiseOption::Detail,
            Some("hint") => PlRaiseOption::Hint,
            Some("errcode") => PlRaiseOption::Errcode,
            Some(word @ ("column" | "constraint" | "datatype" | "table" | "schema")) => {
                return Err(self.unsupported(&format!("RAISE … USING {}", word.to_uppercase())));
            }
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        if !self.accept_token(&Token::Eq) && !self.accept_token(&Token::Assignment) {
            return Err(self.unexpected());
        }
        let tokens = self.until(|token| matches!(token, Token::Comma | Token::SemiColon))?;
        Ok((option, self.expr(tokens)?))
    }

    /// Any other statement, with `INTO` taken out of it.
    fn sql(&mut self) -> Result<PlStatementKind, SqlError> {
        let tokens = self.until_semicolon()?;
        if tokens.is_empty() {
            return Err(self.unexpected());
        }
        let first = word_of(&tokens[0].token).unwrap_or_default();
        let (rest, into, strict) = self.take_into(tokens, &first)?;
        let statement = self.parse(&rest, super::statement)?;
        match &statement {
            Statement::Query(_) if into.is_empty() => {
                return Err(SqlError::new("42601", "query has no destination for result data")
                    .with_hint("If you want to discard the results of a SELECT, use PERFORM instead.")
                    .at(self.source.span(tokens[0].span).start));
            }
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {}
            _ => {
                let what = format!("{} in PL/pgSQL", first.to_uppercase());
                return Err(SqlError::unsupported(what).at(self.source.span(tokens[0].span).start));
            }
        }
        self.semicolon()?;
        Ok(PlStatementKind::Sql { statement: Box::new(statement), into, strict })
    }

    /// Takes `INTO [STRICT] a, b` out of a statement.
    fn take_into(
        &self,
        tokens: &[TokenWithSpan],
        first: &str,
    ) -> Result<(Vec<TokenWithSpan>, Vec<Name>, bool), SqlError> {
        let mut depth = 0;
        let from = usize::from(first == "insert") * 2;
        let mut into = None;
        for (n, token) in tokens.iter().enumerate().skip(from) {
            match &token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                token if depth == 0 && word_of(token).as_deref() == Some("into") => {
                    into = Some(n);
                    break;
                }
                _ => {}
            }
        }
        let Some(into) = into else { return Ok((tokens.to_vec(), Vec::new(), false)) };
        let mut cursor = Cursor::new(self.source, &tokens[into + 1..]);
        let strict = cursor.accept(&["strict"]);
        let names = cursor.list(Cursor::name)?;
        let taken = 1 + usize::from(strict) + names.len() * 2 - 1;
        let mut rest = tokens[..into].to_vec();
        rest.extend_from_slice(&tokens[into + taken..]);
        Ok((rest, names, strict))
    }
}

/// `operand = a OR operand = b`, or the values themselves where there is no operand.
fn case_condition(operand: Option<&Expr>, values: Vec<Expr>, source: &Source<'_>) -> Result<Expr, SqlError> {
    let mut conditions: Vec<Expr> = values
        .into_iter()
        .map(|value| match operand {
            None => value,
            Some(operand) => Expr {
                at: value.at,
                point: value.at.start,
                kind: ExprKind::Binary {
                    op: "=".to_string(),
                    left: Box::new(operand.clone()),
                    right: Box::new(value),
                },
            },
        })
        .collect();
    match (conditions.len(), operand) {
        (1, _) => Ok(conditions.remove(0)),
        (_, None) => Err(source.near(conditions[1].at.start)),
        (_, Some(_)) => {
            let at = conditions[0].at;
            Ok(Expr { kind: ExprKind::Or(conditions), at, point: at.start })
        }
    }
}

fn check_placeholders(format: &str, args: usize) -> Result<(), SqlError> {
    let wanted = format.replace("%%", "").matches('%').count();
    match wanted.cmp(&args) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(SqlError::syntax("too few parameters specified for RAISE")),
        std::cmp::Ordering::Less => Err(SqlError::syntax("too many parameters specified for RAISE")),
    }
}

fn unknown_condition(name: &str) -> SqlError {
    SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{name}\""))
}

/// The SQLSTATE behind a condition's name, as PostgreSQL's appendix A has them.
pub fn condition_code(name: &str) -> Option<&'static str> {
    CONDITIONS.iter().find(|(known, _)| *known == name).map(|(_, code)| *code)
}

const CONDITIONS: &[(&str, &str)] = &[
    ("no_data", "02000"),
    ("connection_exception", "08000"),
    ("feature_not_supported", "0A000"),
    ("case_not_found", "20000"),
    ("cardinality_violation", "21000"),
    ("data_exception", "22000"),
    ("string_data_right_truncation", "22001"),
    ("null_value_not_allowed", "22004"),
    ("numeric_value_out_of_range", "22003"),
    ("invalid_datetime_format", "22007"),
    ("datetime_field_overflow", "22008"),
    ("division_by_zero", "22012"),
    ("invalid_parameter_value", "22023"),
    ("invalid_text_representation", "22P02"),
    ("integrity_constraint_violation", "23000"),
    ("restrict_violation", "23001"),
    ("not_null_violation", "23502"),
    ("foreign_key_violation", "23503"),
    ("unique_violation", "23505"),
    ("check_violation", "23514"),
    ("invalid_transaction_state", "25000"),
    ("read_only_sql_transaction", "25006"),
    ("in_failed_sql_transaction", "25P02"),
    ("must_rollback", "25V01"),
    ("triggered_action_exception", "09000"),
    ("savepoint_exception", "3B000"),
    ("transaction_rollback", "40000"),
    ("serialization_failure", "40001"),
    ("deadlock_detected", "40P01"),
    ("syntax_error_or_access_rule_violation", "42000"),
    ("syntax_error", "42601"),
    ("insufficient_privilege", "42501"),
    ("undefined_column", "42703"),
    ("undefined_function", "42883"),
    ("undefined_table", "42P01"),
    ("duplicate_table", "42P07"),
    ("datatype_mismatch", "42804"),
    ("insufficient_resources", "53000"),
    ("disk_full", "53100"),
    ("out_of_memory", "53200"),
    ("program_limit_exceeded", "54000"),
    ("statement_too_complex", "54001"),
    ("object_not_in_prerequisite_state", "55000"),
    ("lock_not_available", "55P03"),
    ("query_canceled", "57014"),
    ("plpgsql_error", "P0000"),
    ("raise_exception", "P0001"),
    ("no_data_found", "P0002"),
    ("too_many_rows", "P0003"),
    ("assert_failure", "P0004"),
    ("internal_error", "XX000"),
    ("data_corrupted", "XX001"),
];
