//! FOR UPDATE and its relatives.

use super::super::cursor::Cursor;
use super::super::lexer::Token;
use crate::error::SyntaxError;
use crate::syntax::{LockClause, LockStrength, LockWait};

impl Cursor<'_> {
    /// `FOR UPDATE [OF t, …] [NOWAIT | SKIP LOCKED]`; none for FOR READ ONLY, or where FOR begins something else.
    pub(super) fn lock_clause(&mut self) -> Result<Option<LockClause>, SyntaxError> {
        let at = self.here().start;
        if self.accept(&["for", "read", "only"]) {
            return self.lock_clause_again();
        }
        let strengths = [
            (&["for", "update"][..], LockStrength::Update),
            (&["for", "no", "key", "update"], LockStrength::NoKeyUpdate),
            (&["for", "share"], LockStrength::Share),
            (&["for", "key", "share"], LockStrength::KeyShare),
        ];
        let found = strengths.into_iter().find(|(words, _)| self.accept(words));
        let Some((_, strength)) = found else { return Ok(None) };
        let mut of = Vec::new();
        if self.accept(&["of"]) {
            of = self.list(|cursor| {
                let name = cursor.qualified()?;
                if name.schema.is_some() || cursor.peek() == Token::Period {
                    let text = format!("{} must specify unqualified relation names", strength.as_str());
                    return Err(SyntaxError::syntax(text).at(name.at().start));
                }
                Ok(name.name)
            })?;
        }
        let wait = if self.accept(&["nowait"]) {
            LockWait::NoWait
        } else if self.accept(&["skip", "locked"]) {
            LockWait::SkipLocked
        } else {
            LockWait::Block
        };
        Ok(Some(LockClause { strength, of, wait, at }))
    }

    /// Behind FOR READ ONLY nothing is locked.
    fn lock_clause_again(&self) -> Result<Option<LockClause>, SyntaxError> {
        if self.is(&["for"]) { Err(self.unexpected()) } else { Ok(None) }
    }
}
