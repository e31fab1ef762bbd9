//! CASE.

use super::super::cursor::Cursor;
use super::node;
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind};

impl Cursor<'_> {
    /// `CASE [operand] WHEN … THEN … [ELSE …] END`.
    pub(super) fn case(&mut self) -> Result<Expr, SyntaxError> {
        let start = self.here();
        self.advance();
        let operand = if self.is(&["when"]) { None } else { Some(Box::new(self.expr()?)) };
        let mut branches = Vec::new();
        while self.accept(&["when"]) {
            let condition = self.expr()?;
            self.expect(&["then"])?;
            branches.push((condition, self.expr()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.accept(&["else"]) { Some(Box::new(self.expr()?)) } else { None };
        self.expect(&["end"])?;
        Ok(node(ExprKind::Case { operand, branches, otherwise }, self.since(start), start.start))
    }
}
