//! Queries: WITH, what is between UNION and its relatives, ORDER BY, LIMIT, locks.
//!
//! Source: PostgreSQL 18, `select_no_parens` and `select_clause` of `gram.y`.

mod from;
mod group;
mod locks;
mod select;
mod with;

use super::cursor::Cursor;
use super::fingerprint::column_number;
use super::lexer::Token;
use super::source::too_complex;
use crate::error::SyntaxError;
use crate::syntax::{
    CreateTableAs, Cte, Expr, ExprKind, FromItem, FromSource, Literal, Name, OnCommit, OrderItem, Query,
    QueryBody, Select, SelectItem, SetOperator, Span, Statement,
};

/// A query as a statement; SELECT … INTO makes a table.
pub(super) fn statement(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.takes_into = true;
    let query = cursor.query()?;
    cursor.takes_into = false;
    Ok(match cursor.into.take() {
        None => Statement::Query(query),
        Some(name) => Statement::CreateTableAs(CreateTableAs {
            name,
            columns: Vec::new(),
            if_not_exists: false,
            options: Vec::new(),
            query,
            with_data: true,
            temporary: cursor.into_temporary.then(OnCommit::default),
            unlogged: cursor.into_unlogged,
            selects: true,
            executes: false,
        }),
    })
}

impl Cursor<'_> {
    /// A query.
    pub fn query(&mut self) -> Result<Query, SyntaxError> {
        let start = self.here();
        self.nested(|cursor| {
            let with = if cursor.is(&["with"]) { cursor.with_clause()? } else { Vec::new() };
            let mut query = Query { with, ..cursor.set_operations(1)? };
            if query.with.is_empty() && cursor.is_any(&["order", "limit", "offset", "fetch", "for"]) {
                // The clauses behind parentheses are those of the query in them: they see what it names.
                query.with = with_within(&mut query.body);
            }
            cursor.around(&mut query)?;
            query.at = cursor.since(start);
            Ok(query)
        })
    }

    /// Whether a query in parentheses begins `n` behind the next token.
    pub(super) fn is_query(&self, n: usize) -> bool {
        if self.peek_at(n) != Token::LParen {
            return false;
        }
        // From the innermost parenthesis outward: what is inside of one is a query, or begins with one and goes on.
        let mut open = n;
        while self.peek_at(open + 1) == Token::LParen {
            open += 1;
        }
        let begins = ["select", "values", "with", "table"];
        if !begins.iter().any(|word| self.is_at(open + 1, word)) {
            return false;
        }
        while open > n {
            let Some(width) = self.width_at(open) else { return true };
            let behind = open + width + 1;
            let goes_on = ["union", "intersect", "except", "order", "limit", "offset", "fetch", "for"];
            if self.peek_at(behind) != Token::RParen && !goes_on.iter().any(|word| self.is_at(behind, word)) {
                return false;
            }
            open -= 1;
        }
        true
    }

    /// `(query)`.
    pub(super) fn query_in_parentheses(&mut self) -> Result<Query, SyntaxError> {
        let takes_into = std::mem::replace(&mut self.takes_into, false);
        self.expect_token(&Token::LParen)?;
        let query = self.query()?;
        self.expect_token(&Token::RParen)?;
        self.takes_into = takes_into;
        Ok(query)
    }

    /// Queries with UNION and EXCEPT (1) or INTERSECT (2) between: both lean to the left.
    fn set_operations(&mut self, level: u8) -> Result<Query, SyntaxError> {
        let mut left = if level == 1 { self.set_operations(2)? } else { self.simple_query()? };
        loop {
            let point = self.here().start;
            let operator = if level == 2 {
                if self.accept(&["intersect"]) { SetOperator::Intersect } else { return Ok(left) }
            } else if self.accept(&["union"]) {
                SetOperator::Union
            } else if self.accept(&["except"]) {
                SetOperator::Except
            } else {
                return Ok(left);
            };
            let all = self.accept(&["all"]);
            if !all {
                self.accept(&["distinct"]);
            }
            let takes_into = std::mem::replace(&mut self.takes_into, false);
            let height = std::mem::take(&mut self.height);
            let right = self.nested(|cursor| match level {
                1 => cursor.set_operations(2),
                _ => cursor.simple_query(),
            })?;
            self.height = self.height.max(height);
            self.takes_into = takes_into;
            self.grow(point)?;
            let at = left.at.to(right.at);
            let body = QueryBody::Set { operator, all, left: Box::new(left), right: Box::new(right) };
            left = Query::of(body, at);
        }
    }

    /// SELECT, VALUES, TABLE, or a query in parentheses.
    fn simple_query(&mut self) -> Result<Query, SyntaxError> {
        let start = self.here();
        let body = if self.peek() == Token::LParen {
            QueryBody::Nested(Box::new(self.query_in_parentheses()?))
        } else if std::mem::take(&mut self.bare) {
            QueryBody::Select(Box::new(self.behind_select()?))
        } else if self.is(&["select"]) || self.perform && self.is(&["perform"]) {
            self.perform = false;
            self.advance();
            QueryBody::Select(Box::new(self.behind_select()?))
        } else if self.accept(&["values"]) {
            QueryBody::Values(self.list(|cursor| cursor.listed(Cursor::expr))?)
        } else if self.accept(&["table"]) {
            QueryBody::Select(Box::new(self.whole_table()?))
        } else {
            return Err(self.unexpected());
        };
        Ok(Query::of(body, self.since(start)))
    }

    /// Behind TABLE: all columns of it.
    fn whole_table(&mut self) -> Result<Select, SyntaxError> {
        let at = self.last();
        let only = self.accept(&["only"]);
        let name = self.qualified()?;
        if !only {
            self.accept_token(&Token::Mul);
        }
        let from = FromItem::of(FromSource::Table(name));
        Ok(Select::of(vec![SelectItem::Wildcard { table: None, at }], Some(from)))
    }

    /// ORDER BY, LIMIT, OFFSET, FETCH and locks.
    fn around(&mut self, query: &mut Query) -> Result<(), SyntaxError> {
        if self.is(&["order", "by"]) {
            query.order_by = self.order_by()?;
        }
        let twice = |what: &str, at: u32| {
            Err(SyntaxError::syntax(format!("multiple {what} clauses not allowed")).at(at))
        };
        let (mut limited, mut skipped) = (false, false);
        loop {
            let at = self.here().start;
            if self.accept(&["limit"]) {
                if limited {
                    return twice("LIMIT", at);
                }
                limited = true;
                if !self.accept(&["all"]) {
                    query.limit = Some(self.expr()?);
                }
                if self.peek() == Token::Comma {
                    return Err(SyntaxError::syntax("LIMIT #,# syntax is not supported")
                        .with_hint("Use separate LIMIT and OFFSET clauses.")
                        .at(at));
                }
            } else if self.accept(&["fetch"]) {
                if limited {
                    return twice("LIMIT", at);
                }
                limited = true;
                self.fetch(query, at)?;
            } else if self.accept(&["offset"]) {
                if skipped {
                    return twice("OFFSET", at);
                }
                skipped = true;
                query.offset = Some(self.expr()?);
                let _ = self.accept(&["row"]) || self.accept(&["rows"]);
            } else if self.is(&["for"]) {
                match self.lock_clause()? {
                    Some(lock) => query.locks.push(lock),
                    None => return Ok(()),
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Behind FETCH: `FIRST | NEXT [count] ROW | ROWS ONLY | WITH TIES`.
    fn fetch(&mut self, query: &mut Query, at: u32) -> Result<(), SyntaxError> {
        if !(self.accept(&["first"]) || self.accept(&["next"])) {
            return Err(self.unexpected());
        }
        query.limit = Some(if self.is_any(&["row", "rows"]) {
            let kind = ExprKind::Literal(Literal::Number("1".into()));
            Expr { kind, at: Span { start: at, end: at }, point: at }
        } else {
            self.restricted_expr()?
        });
        if self.is(&["percent"]) {
            return Err(SyntaxError::unsupported("FETCH … PERCENT").at(at));
        }
        if !(self.accept(&["row"]) || self.accept(&["rows"])) {
            return Err(self.unexpected());
        }
        query.with_ties = self.accept(&["with", "ties"]);
        if !query.with_ties {
            self.expect(&["only"])?;
        } else if query.order_by.is_empty() {
            let text = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(SyntaxError::syntax(text).at(at));
        }
        Ok(())
    }

    /// A number in ORDER BY, GROUP BY or DISTINCT ON says which column is meant: it is no constant.
    pub(super) fn note_column_number(&self, expr: &Expr) {
        if let Some(at) = column_number(expr) {
            self.source().forget_constant(at);
        }
    }

    /// `ORDER BY a, b`.
    pub(super) fn order_by(&mut self) -> Result<Vec<OrderItem>, SyntaxError> {
        self.expect(&["order", "by"])?;
        self.list(|cursor| {
            let expr = cursor.expr()?;
            cursor.note_column_number(&expr);
            let mut using = None;
            let descending = if cursor.accept(&["using"]) {
                let at = cursor.here();
                let text = cursor.any_operator()?;
                let descending = matches!(text.as_str(), ">" | "~>~");
                using = Some(Name { text, at });
                descending
            } else if cursor.accept(&["desc"]) {
                true
            } else {
                cursor.accept(&["asc"]);
                false
            };
            let nulls_first = if cursor.accept(&["nulls", "first"]) {
                true
            } else if cursor.accept(&["nulls", "last"]) {
                false
            } else {
                descending
            };
            Ok(OrderItem { expr, using, descending, nulls_first })
        })
    }
}

/// Takes the WITH of the query in these parentheses, be they several, out of them.
fn with_within(mut body: &mut QueryBody) -> Vec<Cte> {
    while let QueryBody::Nested(inner) = body {
        if !inner.with.is_empty() {
            return std::mem::take(&mut inner.with);
        }
        if !inner.is_bare() {
            break;
        }
        body = &mut inner.body;
    }
    Vec::new()
}

/// The query that `(((…)))` stands for, without its parentheses where they hold nothing else.
pub(super) fn unwrap_parentheses(mut query: Query) -> Result<Query, SyntaxError> {
    for _ in 0..super::cursor::HEIGHT_MAX {
        let bare = query.is_bare();
        match query.body {
            QueryBody::Nested(inner) if bare => query = *inner,
            body => return Ok(Query { body, ..query }),
        }
    }
    Err(too_complex())
}
