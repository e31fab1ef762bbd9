//! GROUP BY: keys, ROLLUP, CUBE, GROUPING SETS.

use super::super::cursor::Cursor;
use super::super::lexer::Token;
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, GroupItem};

impl Cursor<'_> {
    pub(super) fn group_item(&mut self) -> Result<GroupItem, SyntaxError> {
        let start = self.here();
        let called = self.peek_at(1) == Token::LParen;
        if called && self.accept(&["rollup"]) {
            return Ok(GroupItem::Rollup(self.listed(Cursor::group_list)?, self.since(start)));
        }
        if called && self.accept(&["cube"]) {
            return Ok(GroupItem::Cube(self.listed(Cursor::group_list)?, self.since(start)));
        }
        if self.accept(&["grouping", "sets"]) {
            let sets = self.nested(|cursor| cursor.listed(Cursor::grouping_set))?;
            return Ok(GroupItem::Sets(sets, self.since(start)));
        }
        if self.peek() == Token::LParen && self.peek_at(1) == Token::RParen {
            self.advance();
            self.advance();
            return Ok(GroupItem::Set(Vec::new(), self.since(start)));
        }
        let expr = self.expr()?;
        self.note_column_number(&expr);
        match expr.kind {
            // `(a, b)` are two keys.
            ExprKind::Row(values) => Ok(GroupItem::Set(values, expr.at)),
            kind => Ok(GroupItem::Expr(Expr { kind, ..expr })),
        }
    }

    /// An item of GROUPING SETS: `(a, b)` is one set.
    fn grouping_set(&mut self) -> Result<GroupItem, SyntaxError> {
        self.group_item()
    }

    /// `a` or `(a, b)` within ROLLUP or CUBE.
    fn group_list(&mut self) -> Result<Vec<Expr>, SyntaxError> {
        let expr = self.expr()?;
        Ok(match expr.kind {
            ExprKind::Row(values) => values,
            kind => vec![Expr { kind, ..expr }],
        })
    }
}
