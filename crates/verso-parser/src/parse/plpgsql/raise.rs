//! RAISE.

use verso_types::condition::condition_code;

use super::super::lexer::{Lexeme, Token};
use super::super::source::is_word;
use super::Body;
use super::unknown_condition;
use crate::error::SyntaxError;
use crate::syntax::{Expr, PlDiagnostic, PlLevel, PlRaise, PlRaiseOption, PlStatementKind};

impl Body<'_> {
    pub(super) fn raise(&mut self) -> Result<PlStatementKind, SyntaxError> {
        self.at += 1;
        let mut named = false;
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
                if matches!(self.peek(), Some(Token::SemiColon)) {
                    return Err(self.unexpected());
                }
                break;
            }
        }
        match self.peek() {
            Some(Token::SemiColon) => {}
            Some(Token::String(format)) => {
                self.at += 1;
                let format = self.source.meaning(format);
                raise.format = Some(format.to_string());
                while self.accept_token(&Token::Comma) {
                    let stop = |token: &Lexeme| {
                        matches!(token.token, Token::Comma | Token::SemiColon)
                            || is_word(self.source, token, "using")
                    };
                    let tokens = self.until(stop, ", or ; or USING")?;
                    raise.args.push(self.expr(tokens)?);
                }
            }
            _ if self.accept(&["sqlstate"]) => raise.sqlstate = Some(self.sqlstate_code()?),
            Some(Token::Word(_)) if !self.is(&["using"]) => {
                let name = self.name()?;
                let code = condition_code(&name.text).ok_or_else(|| unknown_condition(&name.text))?;
                raise.sqlstate = Some(code.to_string());
                named = true;
                raise.format = Some(name.text.replace('%', "%%"));
            }
            _ => {}
        }
        let counted = raise.format.is_some() && !named;
        if self.accept(&["using"]) {
            loop {
                raise.options.push(self.raise_option()?);
                if !self.accept_token(&Token::Comma) {
                    break;
                }
            }
        }
        self.semicolon()?;
        if let (Some(format), true) = (&raise.format, counted) {
            check_placeholders(format, raise.args.len())?;
        }
        // The name of a condition is the message where there is no other.
        if named && raise.options.iter().any(|(option, _)| *option == PlRaiseOption::Message) {
            raise.format = None;
        }
        Ok(PlStatementKind::Raise(raise))
    }

    fn raise_option(&mut self) -> Result<(PlRaiseOption, Expr), SyntaxError> {
        let option = match self.word_at(0).as_deref() {
            Some("message") => PlRaiseOption::Message,
            Some("detail") => PlRaiseOption::Detail,
            Some("hint") => PlRaiseOption::Hint,
            Some("errcode") => PlRaiseOption::Errcode,
            Some("column") => PlRaiseOption::About(PlDiagnostic::ColumnName),
            Some("constraint") => PlRaiseOption::About(PlDiagnostic::ConstraintName),
            Some("datatype") => PlRaiseOption::About(PlDiagnostic::DatatypeName),
            Some("table") => PlRaiseOption::About(PlDiagnostic::TableName),
            Some("schema") => PlRaiseOption::About(PlDiagnostic::SchemaName),
            _ => {
                let found = self.source.slice(self.here());
                let text = format!("unrecognized RAISE statement option at or near \"{found}\"");
                return Err(SyntaxError::syntax(text).at(self.here().start));
            }
        };
        self.at += 1;
        if !self.accept_token(&Token::Eq) && !self.accept_token(&Token::Assignment) {
            return Err(self.source.problem("syntax error, expected \"=\"", self.here().start));
        }
        let ends = |token: &Lexeme| matches!(token.token, Token::Comma | Token::SemiColon);
        let tokens = self.until(ends, ", or ;")?;
        Ok((option, self.expr(tokens)?))
    }
}

/// PostgreSQL does not say where.
fn check_placeholders(format: &str, args: usize) -> Result<(), SyntaxError> {
    let wanted = format.replace("%%", "").matches('%').count();
    match wanted.cmp(&args) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(SyntaxError::syntax("too few parameters specified for RAISE")),
        std::cmp::Ordering::Less => Err(SyntaxError::syntax("too many parameters specified for RAISE")),
    }
}
