//! The body of a PL/pgSQL function: a recursive descent over the tokens.
//!
//! Blocks, loops and conditions are read here; expressions, queries and statements between them are cut out by their
//! end (`;`, `THEN`, `LOOP`, `..`) and parsed as everywhere else.
//!
//! G1. Nesting is bounded ([`NESTING_MAX`]), so no body overflows the stack.
//! G2. Positions of errors count in the body; whoever holds the literal moves them.
//! G3. An error names the line that PostgreSQL names, the one it looked at last: of a declaration or of a simple statement
//!     where that begins, of one with statements inside when it has ended.

mod cursors;
mod diagnostics;
mod dynamic;
mod raise;
mod statement;
mod tokens;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use verso_types::condition::condition_code;
use verso_types::{SqlType, sqlstate};

use super::cursor::Cursor;
use super::lexer::{Lexeme, Token};
use super::source::is_word;
use super::source::{Source, too_complex};
use crate::error::SyntaxError;
use crate::syntax::{
    Name, PlAlike, PlBlock, PlCondition, PlConflict, PlDeclaration, PlHandler, PlPart, PlSource, PlStatement,
    QualifiedName, Span,
};

/// Blocks within blocks.
const NESTING_MAX: u32 = 40;

/// Words that no variable is declared as.
const RESERVED: [&str; 24] = [
    "all", "begin", "by", "case", "declare", "else", "end", "execute", "for", "foreach", "from", "if", "in",
    "into", "loop", "not", "null", "or", "strict", "then", "to", "using", "when", "while",
];

/// Parses a body: one block.
///
/// # Errors
/// With the line near which they were found.
pub fn parse_body(text: &str) -> Result<PlBlock, SyntaxError> {
    let near = |error: SyntaxError, line: u32| SyntaxError { line: Some(line), ..error };
    let source = Source::new(text).map_err(|error| near(error, 1))?;
    let mut body = Body { source: &source, at: 0, depth: 0, parts: RefCell::default(), latest: Cell::new(1) };
    whole(&mut body, text).map_err(|error| near(error, body.latest.get()))
}

fn whole(body: &mut Body<'_>, text: &str) -> Result<PlBlock, SyntaxError> {
    let (conflict, strict_params) = body.options()?;
    let label = body.label()?;
    if !body.is(&["declare"]) && !body.is(&["begin"]) {
        return Err(body.unexpected());
    }
    let block = body.block(label)?;
    body.accept_token(&Token::SemiColon);
    match body.peek() {
        None => {
            let source = Arc::new(PlSource { text: text.to_owned(), parts: body.parts.take() });
            let databases = body.source.take_databases();
            Ok(PlBlock { conflict, strict_params, source, databases, ..block })
        }
        Some(_) => Err(body.unexpected()),
    }
}

struct Body<'s> {
    source: &'s Source<'s>,
    at: usize,
    depth: u32,
    /// What of it the parser of SQL has read.
    parts: RefCell<Vec<PlPart>>,
    /// The line that errors name.
    latest: Cell<u32>,
}

impl Body<'_> {
    /// `#variable_conflict …`, `#print_strict_params …` before the outermost block.
    fn options(&mut self) -> Result<(Option<PlConflict>, Option<bool>), SyntaxError> {
        let (mut conflict, mut strict_params) = (None, None);
        while self.is_operator(0, "#") {
            self.at += 1;
            if self.accept(&["option"]) {
                return Err(self.unexpected());
            }
            match self.name()?.text.as_str() {
                "variable_conflict" if self.accept(&["use_column"]) => conflict = Some(PlConflict::Column),
                "variable_conflict" if self.accept(&["use_variable"]) => {
                    conflict = Some(PlConflict::Variable)
                }
                "variable_conflict" if self.accept(&["error"]) => conflict = Some(PlConflict::Error),
                "print_strict_params" if self.accept(&["off"]) => strict_params = Some(false),
                "print_strict_params" if self.accept(&["on"]) => strict_params = Some(true),
                "variable_conflict" | "print_strict_params" => return Err(self.unexpected()),
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected());
                }
            }
        }
        Ok((conflict, strict_params))
    }

    fn label(&mut self) -> Result<Option<Name>, SyntaxError> {
        if !self.is_operator(0, "<<") {
            return Ok(None);
        }
        self.at += 1;
        let name = self.name()?;
        if !self.is_operator(0, ">>") {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(Some(name))
    }

    /// `[DECLARE …] BEGIN … [EXCEPTION …] END [label]`, without the semicolon.
    fn block(&mut self, label: Option<Name>) -> Result<PlBlock, SyntaxError> {
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
        let line = self.line();
        if self.accept(&["exception"]) {
            self.latest.set(line);
            while self.is(&["when"]) {
                handlers.push(self.handler()?);
            }
            if handlers.is_empty() {
                return Err(self.unexpected());
            }
        }
        self.expect(&["end"])?;
        self.end_label(label.as_ref())?;
        let source = Arc::default();
        Ok(PlBlock {
            label,
            declarations,
            body,
            handlers,
            conflict: None,
            strict_params: None,
            source,
            databases: Vec::new(),
        })
    }

    /// The label repeated behind END or END LOOP.
    fn end_label(&mut self, label: Option<&Name>) -> Result<(), SyntaxError> {
        if !matches!(self.peek(), Some(Token::Word(_) | Token::Quoted(_))) {
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
        Err(SyntaxError::syntax(problem).at(at))
    }

    fn declaration(&mut self) -> Result<PlDeclaration, SyntaxError> {
        let line = self.line();
        // Words of SQL are names here, those of PL/pgSQL are not.
        if RESERVED.iter().any(|word| self.is(&[word])) || matches!(self.peek(), Some(Token::Parameter(_))) {
            return Err(self.unexpected());
        }
        let name = self.label_name()?;
        self.latest.set(line);
        if let Some(cursor) = self.cursor_declaration()? {
            return Ok(PlDeclaration {
                name,
                ty: SqlType::Unknown,
                like: Vec::new(),
                alike: PlAlike::Type,
                collation: None,
                constant: false,
                not_null: false,
                default: None,
                cursor: Some(Box::new(cursor)),
                line,
            });
        }
        if self.accept(&["alias", "for"]) {
            let like = self.target()?;
            self.semicolon()?;
            let (ty, alike) = (SqlType::Unknown, PlAlike::Alias);
            return Ok(PlDeclaration {
                name,
                ty,
                like,
                alike,
                collation: None,
                constant: false,
                not_null: false,
                default: None,
                cursor: None,
                line,
            });
        }
        let constant = self.accept(&["constant"]);
        let ends_type = |token: &Lexeme| {
            let ends = ["not", "default", "collate"];
            matches!(token.token, Token::SemiColon | Token::Assignment | Token::Eq | Token::Comma)
                || ends.iter().any(|word| is_word(self.source, token, word))
        };
        let ty = self.until(ends_type, ";")?;
        if ty.is_empty() {
            return Err(self.source.problem("missing data type declaration", self.here().start));
        }
        self.check_pseudo(&name, ty)?;
        let (ty, like, alike) = self.declared_type(ty)?;
        let collate_at = self.here().start;
        let collation = match self.accept(&["collate"]) {
            true => {
                let mut names = self.target()?;
                let name = names.pop().ok_or_else(|| self.unexpected())?;
                Some((QualifiedName { schema: names.pop(), name }, collate_at))
            }
            false => None,
        };
        let not_null_at = self.here().start;
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
            return Err(SyntaxError::new("22004", text).at(not_null_at));
        }
        let cursor = None;
        Ok(PlDeclaration { name, ty, like, alike, collation, constant, not_null, default, cursor, line })
    }

    /// An error within a type, of which the text is up to what follows.
    fn in_type(&self, error: SyntaxError, ty: &[Lexeme]) -> SyntaxError {
        let start = ty.first().map_or(0, |first| first.at.start);
        let text = self.source.slice(Span { start, end: self.here().start });
        SyntaxError { context: Some(format!("invalid type name \"{text}\"").into()), ..error }
    }

    /// Refuses types that no value has.
    fn check_pseudo(&self, name: &Name, ty: &[Lexeme]) -> Result<(), SyntaxError> {
        let pseudo = ["void", "trigger", "event_trigger", "cstring", "internal", "language_handler"];
        match ty {
            [word, ..] if is_word(self.source, word, "setof") => {
                let text = format!("invalid type name \"{}\"", self.text_of(ty));
                Err(SyntaxError::syntax(text).at(word.at.start))
            }
            [word] if pseudo.iter().any(|pseudo| is_word(self.source, word, pseudo)) => {
                let pseudo = self.source.written(word).to_lowercase();
                let text = format!("variable \"{}\" has pseudo-type {pseudo}", name.text);
                Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
            }
            _ => Ok(()),
        }
    }

    /// A type, or what a variable has the type of.
    fn declared_type(&self, ty: &[Lexeme]) -> Result<(SqlType, Vec<Name>, PlAlike), SyntaxError> {
        let tokens = |ty: &[Lexeme]| -> Result<Vec<Name>, SyntaxError> {
            // An argument, or the result.
            if let [Lexeme { token: Token::Parameter(number), at, .. }] = ty {
                return Ok(vec![Name { text: format!("${number}"), at: *at }]);
            }
            let mut cursor = Cursor::new(self.source, ty.to_vec());
            let mut names = vec![cursor.name()?];
            while cursor.accept_token(&Token::Period) {
                names.push(cursor.label()?);
            }
            cursor.finish()?;
            Ok(names)
        };
        match ty.iter().position(|token| matches!(token.token, Token::Mod)) {
            None if matches!(ty, [word] if is_word(self.source, word, "record")) => {
                Ok((SqlType::Record, Vec::new(), PlAlike::Type))
            }
            None => {
                let mut cursor = Cursor::new(self.source, ty.to_vec());
                match cursor.data_type().and_then(|ty| cursor.finish().map(|()| ty)) {
                    // A user's type, or a table's name, which is that of its rows' type: the catalog knows.
                    Ok(named @ SqlType::Named(_)) => Ok((named, tokens(ty)?, PlAlike::Named)),
                    Ok(ty) => Ok((ty, Vec::new(), PlAlike::Type)),
                    Err(error) if error.sqlstate == sqlstate::SYNTAX_ERROR => {
                        Err(self.in_type(self.ended(error, ty), ty))
                    }
                    Err(error) => Err(error),
                }
            }
            Some(0) => Err(self.in_type(self.source.near(ty[0].at.start), ty)),
            Some(percent) => {
                // `%TYPE[]`, `%TYPE ARRAY`: an array of that type, whatever its dimensions.
                let bracket = |token: &Lexeme| {
                    matches!(token.token, Token::LBracket | Token::RBracket | Token::Number(_))
                        || is_word(self.source, token, "array")
                };
                let behind = &ty[percent + 1..];
                let word = behind.iter().position(bracket).unwrap_or(behind.len()).max(1).min(behind.len());
                let (word, array) = behind.split_at(word);
                if !array.iter().all(bracket) {
                    return Err(self.source.near(array[0].at.start));
                }
                let element = if array.is_empty() {
                    SqlType::Unknown
                } else {
                    SqlType::Array(Box::new(SqlType::Unknown))
                };
                let alike = match word {
                    [word] if is_word(self.source, word, "type") => PlAlike::Type,
                    [word] if is_word(self.source, word, "rowtype") => PlAlike::Row,
                    _ => return Err(self.in_type(self.source.near(ty[percent].at.start), ty)),
                };
                Ok((element, tokens(&ty[..percent])?, alike))
            }
        }
    }

    fn handler(&mut self) -> Result<PlHandler, SyntaxError> {
        let line = self.line();
        self.expect(&["when"])?;
        let mut conditions = Vec::new();
        loop {
            conditions.push(self.condition()?);
            if !self.accept(&["or"]) {
                break;
            }
        }
        self.expect(&["then"])?;
        let body = self.statements(&["when", "end"])?;
        self.latest.set(line);
        Ok(PlHandler { conditions, body })
    }

    fn condition(&mut self) -> Result<PlCondition, SyntaxError> {
        if self.accept(&["others"]) {
            return Ok(PlCondition::Others);
        }
        if self.accept(&["sqlstate"]) {
            return Ok(PlCondition::Sqlstate(self.sqlstate_code()?));
        }
        let name = self.name()?;
        let code = condition_code(&name.text).ok_or_else(|| unknown_condition(&name.text))?;
        Ok(PlCondition::Sqlstate(code.to_string()))
    }

    fn sqlstate_code(&mut self) -> Result<String, SyntaxError> {
        let at = self.here().start;
        match self.peek() {
            Some(Token::String(code)) => {
                self.at += 1;
                let code = self.source.meaning(code);
                let valid =
                    code.len() == 5 && code.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
                if valid {
                    Ok(code.to_string())
                } else {
                    Err(self.source.problem("invalid SQLSTATE code", at))
                }
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Statements up to one of these words.
    fn statements(&mut self, ends: &[&str]) -> Result<Vec<PlStatement>, SyntaxError> {
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
}

/// PostgreSQL does not say where.
fn unknown_condition(name: &str) -> SyntaxError {
    SyntaxError::new(sqlstate::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{name}\""))
}
