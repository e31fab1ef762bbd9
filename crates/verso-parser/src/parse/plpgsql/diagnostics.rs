//! GET DIAGNOSTICS and ASSERT.

use super::super::lexer::{Lexeme, Token};
use super::Body;
use crate::error::SyntaxError;
use crate::syntax::{PlDiagnostic, PlStatementKind};

/// The items of GET DIAGNOSTICS, and whether they are about an error that is handled.
const ITEMS: &[(&str, PlDiagnostic, bool)] = &[
    ("row_count", PlDiagnostic::RowCount, false),
    ("pg_context", PlDiagnostic::Context, false),
    ("pg_routine_oid", PlDiagnostic::RoutineOid, false),
    ("returned_sqlstate", PlDiagnostic::ReturnedSqlstate, true),
    ("message_text", PlDiagnostic::MessageText, true),
    ("pg_exception_detail", PlDiagnostic::Detail, true),
    ("pg_exception_hint", PlDiagnostic::Hint, true),
    ("pg_exception_context", PlDiagnostic::ExceptionContext, true),
    ("column_name", PlDiagnostic::ColumnName, true),
    ("constraint_name", PlDiagnostic::ConstraintName, true),
    ("pg_datatype_name", PlDiagnostic::DatatypeName, true),
    ("table_name", PlDiagnostic::TableName, true),
    ("schema_name", PlDiagnostic::SchemaName, true),
];

impl Body<'_> {
    /// `GET [CURRENT | STACKED] DIAGNOSTICS a = item, …;`
    pub(super) fn get_diagnostics(&mut self) -> Result<PlStatementKind, SyntaxError> {
        let start = self.here().start;
        self.at += 1;
        let stacked = self.accept(&["stacked"]);
        if !stacked {
            self.accept(&["current"]);
        }
        self.expect(&["diagnostics"])?;
        let mut items = Vec::new();
        let mut wrong = None;
        loop {
            let target = self.target()?;
            if self.peek() == Some(Token::LBracket) {
                let names: Vec<&str> = target.iter().map(|name| name.text.as_str()).collect();
                let text = format!("\"{}\" is not a scalar variable", names.join("."));
                return Err(SyntaxError::syntax(text).at(target[0].at.start));
            }
            if !self.accept_token(&Token::Assignment) && !self.accept_token(&Token::Eq) {
                return Err(self.unexpected());
            }
            let at = self.here().start;
            let source = self.source;
            let unknown = || source.problem("unrecognized GET DIAGNOSTICS item", at);
            let word = self.name().map_err(|_| unknown())?.text;
            let found = ITEMS.iter().find(|(name, ..)| *name == word);
            let (_, item, of_error) = found.ok_or_else(unknown)?;
            if *of_error != stacked {
                let kind = if stacked { "STACKED" } else { "CURRENT" };
                let what = word.to_uppercase();
                let text = format!("diagnostics item {what} is not allowed in GET {kind} DIAGNOSTICS");
                wrong = wrong.or(Some(SyntaxError::syntax(text).at(start)));
            }
            items.push((target, *item));
            if !self.accept_token(&Token::Comma) {
                self.semicolon()?;
                return wrong.map_or(Ok(PlStatementKind::GetDiagnostics { stacked, items }), Err);
            }
        }
    }

    /// `ASSERT condition [, message];`
    pub(super) fn assert(&mut self) -> Result<PlStatementKind, SyntaxError> {
        self.at += 1;
        let stop = |token: &Lexeme| matches!(token.token, Token::Comma | Token::SemiColon);
        let tokens = self.until(stop, ", or ;")?;
        let condition = self.expr(tokens)?;
        let message = match self.accept_token(&Token::Comma) {
            true => {
                let tokens = self.until_semicolon()?;
                Some(self.expr(tokens)?)
            }
            false => None,
        };
        self.semicolon()?;
        Ok(PlStatementKind::Assert { condition, message })
    }
}
