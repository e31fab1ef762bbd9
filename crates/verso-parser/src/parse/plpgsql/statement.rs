//! Statements: assignments, conditions, loops, and SQL.

use super::super::block::call;
use super::super::cursor::{Cursor, word_of};
use super::super::lexer::{Lexeme, Token};
use super::super::source::{Source, is_word};
use super::super::statement;
use super::super::transaction::{chain, commit_options};
use super::Body;
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, Name, PlPart, PlStatement, PlStatementKind, PlTarget, Span, Statement};

/// A statement's tokens without INTO, where there was one; the targets; STRICT.
type WithoutInto = (Option<Vec<Lexeme>>, Vec<PlTarget>, bool);

impl<'s> Body<'s> {
    pub(super) fn statement(&mut self) -> Result<PlStatement, SyntaxError> {
        let line = self.line();
        let label = self.label()?;
        let start = self.here().start;
        let word = self.word_at(0).unwrap_or_default();
        if label.is_some()
            && !matches!(word.as_str(), "declare" | "begin" | "loop" | "while" | "for" | "foreach")
        {
            return Err(self.unexpected());
        }
        let next = self.source.tokens().get(self.at + self.target_width()).map(|token| &token.token);
        let assigns = matches!(self.peek(), Some(Token::Word(_) | Token::Quoted(_) | Token::Parameter(_)))
            && matches!(next, Some(Token::Assignment | Token::Eq | Token::LBracket));
        if assigns || matches!(word.as_str(), "raise" | "return" | "open") {
            self.latest.set(line);
        }
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
            "foreach" => self.foreach_loop(label)?,
            "exit" | "continue" => self.leave(&word)?,
            "return" => self.return_statement()?,
            "perform" => {
                let tokens = self.until_semicolon()?;
                let query = self.parse(tokens, |cursor| {
                    cursor.perform = true;
                    cursor.query()
                })?;
                let query = Box::new(query);
                self.semicolon()?;
                let text = format!("SELECT{}", &self.text_of(tokens)["perform".len()..]);
                self.shown_as(&text);
                PlStatementKind::Perform { query, text }
            }
            "raise" => self.raise()?,
            "get" => self.get_diagnostics()?,
            "call" => {
                let tokens = self.until_semicolon()?;
                let call = self.parse(tokens, call)?;
                self.semicolon()?;
                PlStatementKind::Call(call, self.text_of(tokens).to_owned())
            }
            "commit" | "rollback" => self.end_transaction(word == "commit")?,
            "execute" if self.calls_routine() => self.routine()?,
            "execute" => self.execute()?,
            "assert" => self.assert()?,
            "open" => self.open()?,
            "fetch" | "move" => self.fetch(word == "move")?,
            "close" => self.close()?,
            _ => self.sql()?,
        };
        self.latest.set(line);
        let last = self.at.checked_sub(1).and_then(|last| self.source.tokens().get(last));
        Ok(PlStatement { kind, line, start, end: last.map_or(start, |last| last.at.start) })
    }

    /// Whether `EXECUTE {PROCEDURE | FUNCTION} name (` comes next: a statement of Informix's triggers.
    fn calls_routine(&self) -> bool {
        let token = |n: usize| self.source.tokens().get(self.at + n).map(|token| token.token);
        matches!(self.word_at(1).as_deref(), Some("procedure" | "function"))
            && matches!(token(2), Some(Token::Word(_) | Token::Quoted(_)))
            && matches!(token(3), Some(Token::LParen | Token::Period))
    }

    fn routine(&mut self) -> Result<PlStatementKind, SyntaxError> {
        let tokens = self.statement_tokens()?;
        let call = self.parse(&tokens[1..], call)?;
        let tokens = &tokens[2..];
        let query = self.parse(tokens, |cursor| {
            cursor.bare = true;
            cursor.query()
        })?;
        self.semicolon()?;
        Ok(PlStatementKind::Routine { call, query: Box::new(query), text: self.text_of(tokens).to_owned() })
    }

    fn assignment(&mut self) -> Result<PlStatementKind, SyntaxError> {
        let (start, known) = (self.here().start, self.parts.borrow().len());
        let target = self.target()?;
        let path = match self.peek() {
            Some(Token::LBracket) => {
                let tokens =
                    self.until(|token| matches!(token.token, Token::Assignment | Token::Eq), ":=")?;
                self.parse(tokens, Cursor::steps)?
            }
            _ => Vec::new(),
        };
        self.at += 1;
        if self.peek().is_none() {
            return Err(SyntaxError::syntax("syntax error at end of input").at(self.source.end()));
        }
        let tokens = self.until_semicolon()?;
        let value = self.expr(tokens)?;
        // Errors show the whole of it.
        let end = tokens.last().map_or(start, |last| last.at.end);
        let mut parts = self.parts.borrow_mut();
        parts.truncate(known);
        parts.push(PlPart { at: Span { start, end }, text: None });
        drop(parts);
        self.semicolon()?;
        Ok(PlStatementKind::Assign { target, path, value })
    }

    fn conditional(&mut self) -> Result<PlStatementKind, SyntaxError> {
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
            return Ok(PlStatementKind::If { operand: None, branches, otherwise, word: "IF" });
        }
    }

    /// `COMMIT [AND [NO] CHAIN] [WRITE …];`, `ROLLBACK [AND [NO] CHAIN];`
    fn end_transaction(&mut self, commit: bool) -> Result<PlStatementKind, SyntaxError> {
        let tokens = self.statement_tokens()?;
        let kind = self.parse(tokens, |cursor| {
            cursor.advance();
            if commit {
                let (chain, write) = commit_options(cursor)?;
                Ok(PlStatementKind::Commit { chain, write })
            } else {
                Ok(PlStatementKind::Rollback { chain: chain(cursor)? })
            }
        })?;
        self.semicolon()?;
        Ok(kind)
    }

    /// `CASE [e] WHEN a, b THEN … [ELSE …] END CASE`, as the IF it stands for.
    fn case(&mut self) -> Result<PlStatementKind, SyntaxError> {
        let (line, start) = (self.line(), self.here().start);
        self.at += 1;
        let operand = match self.is(&["when"]) {
            true => None,
            false => {
                let tokens = self.until_word("when")?;
                let operand = self.expr(tokens)?;
                // As PostgreSQL calls it; told from those of other statements by its place.
                let text = format!("__Case__Variable_{}__", operand.at.start);
                Some(Box::new((Name { text, at: operand.at }, operand)))
            }
        };
        let mut branches = Vec::new();
        while self.accept(&["when"]) {
            let tokens = self.until_word("then")?;
            if tokens.is_empty() {
                return Err(self.source.problem("missing expression", self.here().start));
            }
            let values = self.parse(tokens, |cursor| cursor.list(Cursor::expr))?;
            self.expect(&["then"])?;
            let body = self.statements(&["when", "else", "end"])?;
            branches.push((
                case_condition(operand.as_ref().map(|operand| &operand.0), values, self.source)?,
                body,
            ));
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = match self.accept(&["else"]) {
            true => self.statements(&["end"])?,
            false => vec![PlStatement { kind: PlStatementKind::CaseNotFound, line, start, end: start }],
        };
        self.expect(&["end", "case"])?;
        self.semicolon()?;
        Ok(PlStatementKind::If { operand, branches, otherwise, word: "CASE" })
    }

    /// `LOOP … END LOOP [label];`
    fn loop_body(&mut self, label: Option<&Name>) -> Result<Vec<PlStatement>, SyntaxError> {
        self.expect(&["loop"])?;
        let body = self.statements(&["end"])?;
        self.expect(&["end", "loop"])?;
        self.end_label(label)?;
        self.semicolon()?;
        Ok(body)
    }

    fn for_loop(&mut self, label: Option<Name>) -> Result<PlStatementKind, SyntaxError> {
        self.at += 1;
        let targets = self.targets()?;
        self.expect(&["in"])?;
        if self.accept(&["execute"]) {
            let text = self.dynamic(&["loop"], "LOOP or USING")?;
            let body = self.loop_body(label.as_ref())?;
            return Ok(PlStatementKind::ForExecute { label, targets, text, body });
        }
        let reverse_at = self.here().start;
        let reverse = self.accept(&["reverse"]);
        let range = self.until_word("loop")?;
        if range.is_empty() {
            return Err(self.source.problem("missing expression", self.here().start));
        }
        let first = targets[0][0].at.start;
        let dots = range.iter().position(|token| token.token == Token::Range);
        let Some(dots) = dots else {
            if reverse {
                return Err(SyntaxError::syntax("cannot specify REVERSE in query FOR loop").at(reverse_at));
            }
            if self.names_cursor(range) {
                let [target] = targets.as_slice() else {
                    let text = "cursor FOR loop must have only one target variable";
                    return Err(SyntaxError::syntax(text).at(first));
                };
                let [variable] = target.as_slice() else { return Err(self.source.near(target[1].at.start)) };
                self.at -= range.len();
                let (cursor, args) = self.cursor_and_args()?;
                let (variable, body) = (variable.clone(), self.loop_body(label.as_ref())?);
                return Ok(PlStatementKind::ForCursor { label, variable, cursor, args, body });
            }
            if let Some(text) = self.served(range)? {
                let body = self.loop_body(label.as_ref())?;
                return Ok(PlStatementKind::ForExecute { label, targets, text, body });
            }
            let statement = self.rows(range)?;
            let text = self.text_of(range).to_owned();
            let body = self.loop_body(label.as_ref())?;
            return Ok(PlStatementKind::ForQuery { label, targets, statement, text, body });
        };
        let from = self.expr(&range[..dots])?;
        let rest = &range[dots + 1..];
        let by = rest.iter().position(|token| is_word(self.source, token, "by"));
        let to = self.expr(&rest[..by.unwrap_or(rest.len())])?;
        let by = by.map(|by| self.expr(&rest[by + 1..])).transpose()?;
        let [target] = targets.as_slice() else {
            return Err(SyntaxError::syntax("integer FOR loop must have only one target variable").at(first));
        };
        let [variable] = target.as_slice() else { return Err(self.source.near(target[1].at.start)) };
        let variable = variable.clone();
        let body = self.loop_body(label.as_ref())?;
        Ok(PlStatementKind::ForInteger { label, variable, reverse, from, to, by, body })
    }

    /// `FOREACH a [SLICE n] IN ARRAY e LOOP … END LOOP [label];`
    fn foreach_loop(&mut self, label: Option<Name>) -> Result<PlStatementKind, SyntaxError> {
        self.at += 1;
        let targets = self.targets()?;
        let mut slice = 0;
        if self.accept(&["slice"]) {
            let tokens = self.until_word("in")?;
            let number = self.parse(tokens, Cursor::integer)?;
            slice = usize::try_from(number).map_err(|_| self.source.near(tokens[0].at.start))?;
        }
        self.expect(&["in", "array"])?;
        let tokens = self.until_word("loop")?;
        let array = self.expr(tokens)?;
        let body = self.loop_body(label.as_ref())?;
        Ok(PlStatementKind::Foreach { label, targets, slice, array, body })
    }

    fn leave(&mut self, word: &str) -> Result<PlStatementKind, SyntaxError> {
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

    fn return_statement(&mut self) -> Result<PlStatementKind, SyntaxError> {
        self.at += 1;
        if self.peek().is_none() {
            return Err(self.source.problem("unexpected end of function definition", self.source.end()));
        }
        if self.accept(&["query"]) {
            if self.accept(&["execute"]) {
                let text = self.dynamic(&[], "; or USING")?;
                self.semicolon()?;
                return Ok(PlStatementKind::ReturnExecute(text));
            }
            let tokens = self.until_semicolon()?;
            if let Some(text) = self.served(tokens)? {
                self.semicolon()?;
                return Ok(PlStatementKind::ReturnExecute(text));
            }
            let statement = self.rows(tokens)?;
            self.semicolon()?;
            let text = self.text_of(tokens).to_owned();
            return Ok(PlStatementKind::ReturnQuery { statement, text });
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

    /// Any other statement, with `INTO` taken out of it.
    fn sql(&mut self) -> Result<PlStatementKind, SyntaxError> {
        let tokens = self.statement_tokens()?;
        if tokens.is_empty() {
            return Err(self.unexpected());
        }
        let first = word_of(self.source, &tokens[0]).unwrap_or_default();
        // No statement of a body begins so.
        if tokens[0].token == Token::LParen || ["table", "into"].contains(&&*first) {
            return Err(self.source.near(tokens[0].at.start));
        }
        let (rest, into, strict) = self.take_into(tokens)?;
        let text = self.text_without_into(tokens, rest.as_deref());
        let statement = match rest {
            None => self.parse(tokens, statement)?,
            Some(rest) => {
                let end = tokens[tokens.len() - 1].at.end;
                let at = Span { start: tokens[0].at.start, end };
                self.parts.borrow_mut().push(PlPart { at, text: Some(text.clone()) });
                let mut cursor = Cursor::new(self.source, rest);
                let read = statement(&mut cursor).and_then(|read| cursor.finish().map(|()| read));
                read.map_err(|error| self.ended(error, tokens))?
            }
        };
        match &statement {
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_) => {}
            Statement::Do(block) if into.is_empty() => {
                let block = block.text.clone();
                self.semicolon()?;
                return Ok(PlStatementKind::Inline { block, text });
            }
            _ if statement.defines() && into.is_empty() || statement.serves() => {
                self.semicolon()?;
                let query = match statement {
                    Statement::CreateTableAs(create) => Some(Box::new(Statement::Query(create.query))),
                    Statement::Explain { statement, .. } => Some(statement),
                    _ => None,
                };
                return Ok(PlStatementKind::Define { text, query, into, strict });
            }
            // Refused when it is reached.
            _ if ["start", "savepoint", "release", "abort", "prepare"].contains(&&*first)
                && !matches!(statement, Statement::Prepare { .. }) =>
            {
                self.semicolon()?;
                return Ok(PlStatementKind::Transaction);
            }
            _ => {
                let what = format!("{} in PL/pgSQL", first.to_uppercase());
                return Err(SyntaxError::unsupported(what).at(tokens[0].at.start));
            }
        }
        self.semicolon()?;
        Ok(PlStatementKind::Sql { statement: Box::new(statement), into, strict, text })
    }

    /// Errors show the part that was read last as this text.
    fn shown_as(&self, text: &str) {
        if let Some(part) = self.parts.borrow_mut().last_mut() {
            part.text = Some(text.to_owned());
        }
    }

    /// The text of these tokens.
    pub(super) fn text_of(&self, tokens: &[Lexeme]) -> &'s str {
        tokens.first().zip(tokens.last()).map_or("", |(first, last)| self.source.between(first, last))
    }

    /// The text of a statement, with blanks for INTO where it was taken out: places within it stay what they are.
    fn text_without_into(&self, tokens: &[Lexeme], rest: Option<&[Lexeme]>) -> String {
        let whole = self.text_of(tokens);
        let Some(rest) = rest else { return whole.to_owned() };
        let kept = rest.iter().zip(tokens).take_while(|(kept, token)| kept.start == token.start).count();
        // What stands between the words before INTO and that stays, as in PostgreSQL.
        let upto = self.text_of(&tokens[..(kept + 1).min(tokens.len())]);
        let into = self.text_of(tokens.get(kept..=kept).unwrap_or_default());
        let head = &upto[..upto.len() - into.len()];
        let tail = self.text_of(&rest[kept..]);
        let blanks = whole.len().saturating_sub(head.len() + tail.len());
        format!("{head}{}{tail}", " ".repeat(blanks)).trim_end().to_owned()
    }

    /// Takes `INTO [STRICT] a, b` out of a statement; no tokens where there is none.
    fn take_into(&self, tokens: &'s [Lexeme]) -> Result<WithoutInto, SyntaxError> {
        let mut depth = 0;
        let mut into = None;
        for (n, token) in tokens.iter().enumerate() {
            match &token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                // INSERT INTO and MERGE INTO name a table.
                Token::Word(_)
                    if depth == 0
                        && is_word(self.source, token, "into")
                        && !n.checked_sub(1).is_some_and(|n| {
                            is_word(self.source, &tokens[n], "insert")
                                || is_word(self.source, &tokens[n], "merge")
                        }) =>
                {
                    into = Some(n);
                    break;
                }
                _ => {}
            }
        }
        let Some(into) = into else { return Ok((None, Vec::new(), false)) };
        let mut cursor = Cursor::new(self.source, &tokens[into + 1..]);
        let strict = cursor.accept(&["strict"]);
        if cursor.at_end() {
            return Err(self.unexpected());
        }
        let target = |cursor: &mut Cursor<'s>| {
            let mut names = vec![cursor.name()?];
            while cursor.accept_token(&Token::Period) {
                names.push(cursor.label()?);
            }
            Ok(names)
        };
        let names = cursor.list(target)?;
        // An element is no target.
        if let Some(next) =
            tokens[into + 1..].get(cursor.mark().0).filter(|next| next.token == Token::LBracket)
        {
            return Err(self.source.near(next.at.start));
        }
        let taken = 1 + cursor.mark().0;
        let again = |token: &&Lexeme| is_word(self.source, token, "into");
        if let Some(again) = tokens[into + taken..].iter().find(again) {
            return Err(self.source.problem("INTO specified more than once", again.at.start));
        }
        let mut rest = tokens[..into].to_vec();
        rest.extend_from_slice(&tokens[into + taken..]);
        Ok((Some(rest), names, strict))
    }
}

/// `operand = a OR operand = b`, of the variable that has the operand's value, or the values themselves where there is none.
fn case_condition(
    operand: Option<&Name>,
    values: Vec<Expr>,
    source: &Source<'_>,
) -> Result<Expr, SyntaxError> {
    let mut conditions: Vec<Expr> = values
        .into_iter()
        .map(|value| match operand {
            None => value,
            Some(operand) => Expr {
                at: value.at,
                point: value.at.start,
                kind: ExprKind::Binary {
                    op: "=".to_string(),
                    left: Box::new(Expr {
                        at: operand.at,
                        point: operand.at.start,
                        kind: ExprKind::Column(vec![operand.clone()]),
                    }),
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
