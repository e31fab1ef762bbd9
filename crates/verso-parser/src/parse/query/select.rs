//! SELECT and its output list; RETURNING has one too.

use super::super::cursor::Cursor;
use super::super::lexer::{Token, is_bare_label};
use super::super::source::into_refused;
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, Hint, Name, QualifiedName, Select, SelectItem, WindowSpec};

impl Cursor<'_> {
    /// A SELECT without what may stand behind any query.
    pub(super) fn behind_select(&mut self) -> Result<Select, SyntaxError> {
        let hints = self.hints();
        let mut distinct = self.accept(&["distinct"]);
        let mut distinct_on = Vec::new();
        if distinct {
            if self.accept(&["on"]) {
                distinct = false;
                distinct_on = self.listed(Cursor::expr)?;
                distinct_on.iter().for_each(|expr| self.note_column_number(expr));
            }
        } else {
            self.accept(&["all"]);
        }
        if distinct && self.ends_list() {
            return Err(self.unexpected());
        }
        let items = if self.ends_list() { Vec::new() } else { self.select_items()? };
        if self.is(&["into"]) {
            self.select_into()?;
        }
        let from = if self.accept(&["from"]) { Some(self.items_of_from()?) } else { None };
        let filter = if self.accept(&["where"]) { Some(self.expr()?) } else { None };
        let mut group_by = Vec::new();
        let mut group_distinct = false;
        if self.accept(&["group", "by"]) {
            group_distinct = self.accept(&["distinct"]);
            if !group_distinct {
                self.accept(&["all"]);
            }
            group_by = self.list(Cursor::group_item)?;
        }
        let having = if self.accept(&["having"]) { Some(self.expr()?) } else { None };
        let windows = if self.accept(&["window"]) { self.list(Cursor::named_window)? } else { Vec::new() };
        Ok(Select {
            distinct,
            distinct_on,
            items,
            from,
            filter,
            group_by,
            group_distinct,
            having,
            windows,
            hints,
        })
    }

    /// The hints that stand here, behind the first word of a statement or query.
    pub(in crate::parse) fn hints(&self) -> Vec<Hint> {
        self.lexeme(0).map(|next| self.source().hints(next.start)).unwrap_or_default()
    }

    /// Whether the output list is empty.
    fn ends_list(&self) -> bool {
        const ENDS: &[&str] = &[
            "from",
            "where",
            "group",
            "having",
            "window",
            "order",
            "limit",
            "offset",
            "fetch",
            "for",
            "union",
            "intersect",
            "except",
            "into",
            "returning",
        ];
        matches!(self.peek(), Token::RParen | Token::SemiColon | Token::End) || self.is_any(ENDS)
    }

    /// `name AS (…)`.
    fn named_window(&mut self) -> Result<(Name, WindowSpec), SyntaxError> {
        let name = self.name()?;
        self.expect(&["as"])?;
        Ok((name, self.window_spec()?))
    }

    /// INTO and the table that the query makes.
    fn select_into(&mut self) -> Result<(), SyntaxError> {
        self.advance();
        let named_so = matches!(self.peek_at(1), Token::Period) || self.is_at(1, "from");
        self.into_unlogged = !named_so && self.accept(&["unlogged"]);
        self.into_temporary = !named_so && !self.into_unlogged && super::super::ddl::accept_temporary(self);
        self.accept(&["table"]);
        let table = self.qualified()?;
        if !self.takes_into {
            return Err(into_refused().at(table.at().start));
        }
        self.takes_into = false;
        self.into = Some(table);
        Ok(())
    }

    /// An output list.
    pub(in crate::parse) fn select_items(&mut self) -> Result<Vec<SelectItem>, SyntaxError> {
        self.list(Cursor::select_item)
    }

    fn select_item(&mut self) -> Result<SelectItem, SyntaxError> {
        let start = self.here();
        if self.accept_token(&Token::Mul) {
            return Ok(SelectItem::Wildcard { table: None, at: start });
        }
        if let Some(table) = self.wildcard_table()? {
            let at = self.since(start);
            // A name says nothing: the columns have theirs.
            self.column_alias()?;
            return Ok(SelectItem::Wildcard { table: Some(table), at });
        }
        let expr = self.expr()?;
        let expr = match expr.kind {
            ExprKind::Field { arg, name } if name.text == "*" => {
                let at = self.since(start);
                self.column_alias()?;
                return Ok(SelectItem::Fields { expr: *arg, at });
            }
            // `(t.*)`: parentheses change nothing, and a name says nothing.
            ExprKind::Column(mut parts)
                if parts.len() > 1 && parts.last().is_some_and(|it| it.text == "*") =>
            {
                parts.pop();
                let at = self.since(start);
                self.column_alias()?;
                let name = parts.pop().ok_or_else(|| self.unexpected())?;
                let table = Some(QualifiedName { schema: parts.pop(), name });
                return Ok(SelectItem::Wildcard { table, at });
            }
            kind => Expr { kind, ..expr },
        };
        let alias = self.column_alias()?;
        Ok(SelectItem::Expr { expr, alias })
    }

    /// `[AS] name` behind a column.
    pub(in crate::parse) fn column_alias(&mut self) -> Result<Option<Name>, SyntaxError> {
        let bare = match self.peek() {
            Token::Quoted(_) => true,
            Token::Word(_) => is_bare_label(self.written()),
            _ => false,
        };
        if self.accept(&["as"]) || bare { self.label().map(Some) } else { Ok(None) }
    }

    /// The table of `t.*` or `s.t.*`, if that is what comes next.
    fn wildcard_table(&mut self) -> Result<Option<QualifiedName>, SyntaxError> {
        let mut n = 0;
        while matches!(self.peek_at(n), Token::Word(_) | Token::Quoted(_))
            && self.peek_at(n + 1) == Token::Period
        {
            n += 2;
        }
        // `t.*::t`, `t.* = u.*`, `t.* IS NULL` and `t.* IN (…)` are values of its row.
        let goes_on = match self.peek_at(n + 1) {
            Token::DoubleColon
            | Token::Op
            | Token::Eq
            | Token::NotEq
            | Token::Lt
            | Token::Gt
            | Token::LtEq
            | Token::GtEq => true,
            Token::Word(_) => ["is", "in", "not", "between"].into_iter().any(|word| self.is_at(n + 1, word)),
            _ => false,
        };
        if n == 0 || self.peek_at(n) != Token::Mul || goes_on {
            return Ok(None);
        }
        let mut parts = vec![self.name()?];
        while self.accept_token(&Token::Period) && self.peek() != Token::Mul {
            parts.push(self.label()?);
        }
        // Errors show the star, too.
        parts.push(Name { text: "*".to_string(), at: self.here() });
        self.advance();
        self.without_database(&mut parts, 3, false)?;
        parts.pop();
        let name = parts.pop().ok_or_else(|| self.unexpected())?;
        let table = QualifiedName { schema: parts.pop(), name };
        Ok(Some(table))
    }
}
