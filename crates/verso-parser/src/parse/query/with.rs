//! WITH: queries by name, recursion's SEARCH and CYCLE, changes whose rows are read.

use super::super::cursor::Cursor;
use super::super::lexer::Token;
use crate::error::SyntaxError;
use crate::syntax::{Cte, Cycle, Query, QueryBody, Search, Statement};

impl Cursor<'_> {
    /// `WITH [RECURSIVE] a AS (…), …`.
    pub(in crate::parse) fn with_clause(&mut self) -> Result<Vec<Cte>, SyntaxError> {
        self.expect(&["with"])?;
        let recursive = self.accept(&["recursive"]);
        let takes_into = std::mem::replace(&mut self.takes_into, false);
        let all = self.list(|cursor| cursor.nested(|cursor| cursor.cte(recursive)))?;
        self.takes_into = takes_into;
        Ok(all)
    }

    fn cte(&mut self, recursive: bool) -> Result<Cte, SyntaxError> {
        let name = self.name()?;
        let columns = if self.peek() == Token::LParen { self.listed(Cursor::name)? } else { Vec::new() };
        self.expect(&["as"])?;
        let materialized = if self.accept(&["not", "materialized"]) {
            Some(false)
        } else {
            self.accept(&["materialized"]).then_some(true)
        };
        self.expect_token(&Token::LParen)?;
        let start = self.here();
        let changes = ["insert", "update", "delete", "merge"];
        let query = if self.is_any(&changes) || self.is(&["with"]) && self.changes_behind_with() {
            let statement = super::super::statement(self)?;
            if matches!(statement, Statement::Query(_)) {
                return Err(self.unexpected());
            }
            Query::of(QueryBody::Change(Box::new(statement)), self.since(start))
        } else {
            self.query()?
        };
        self.expect_token(&Token::RParen)?;
        let search = if self.is_any(&["search"]) { Some(self.search()?) } else { None };
        let cycle = if self.is_any(&["cycle"]) { Some(self.cycle()?) } else { None };
        Ok(Cte { name, columns, query, materialized, recursive, search, cycle })
    }

    /// Whether a change stands behind the WITH that comes next: behind its queries, each in parentheses.
    pub(in crate::parse) fn changes_behind_with(&self) -> bool {
        let mut n = 1;
        loop {
            match self.peek_at(n) {
                Token::End | Token::SemiColon | Token::RParen => return false,
                Token::LParen => n += self.width_at(n).unwrap_or(1),
                Token::Word(_) => {
                    if ["insert", "update", "delete", "merge"].iter().any(|word| self.is_at(n, word)) {
                        // A name of a query is followed by AS or its columns.
                        return !self.is_at(n + 1, "as") && self.peek_at(n + 1) != Token::LParen;
                    }
                    if ["select", "values", "table"].iter().any(|word| self.is_at(n, word)) {
                        return false;
                    }
                }
                _ => {}
            }
            n += 1;
        }
    }

    /// `SEARCH DEPTH | BREADTH FIRST BY a, b SET c`.
    fn search(&mut self) -> Result<Search, SyntaxError> {
        let at = self.here().start;
        self.advance();
        let depth = self.accept(&["depth"]);
        if !depth {
            self.expect(&["breadth"])?;
        }
        self.expect(&["first", "by"])?;
        let by = self.list(Cursor::name)?;
        self.expect(&["set"])?;
        Ok(Search { depth, by, set: self.name()?, at })
    }

    /// `CYCLE a, b SET c [TO x DEFAULT y] USING d`.
    fn cycle(&mut self) -> Result<Cycle, SyntaxError> {
        let at = self.here().start;
        self.advance();
        let columns = self.list(Cursor::name)?;
        self.expect(&["set"])?;
        let set = self.name()?;
        let mut values = None;
        if self.accept(&["to"]) {
            let to = self.expr()?;
            self.expect(&["default"])?;
            values = Some(Box::new((to, self.expr()?)));
        }
        self.expect(&["using"])?;
        Ok(Cycle { columns, set, values, using: self.name()?, at })
    }
}
