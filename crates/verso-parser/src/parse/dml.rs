//! INSERT, UPDATE, DELETE, MERGE.

use super::cursor::Cursor;
use super::lexer::Token;
use super::query::unwrap_parentheses;
use crate::error::SyntaxError;
use crate::syntax::{
    Assignment, ConflictTarget, ConflictUpdate, Cte, Delete, Expr, ExprKind, Insert, Merge, MergeAction,
    MergeClause, MergeRows, Name, OnConflict, Returning, Statement, Step, Update,
};
use verso_types::sqlstate;

/// A change of rows, behind its WITH.
pub(super) fn statement(cursor: &mut Cursor<'_>, with: Vec<Cte>) -> Result<Statement, SyntaxError> {
    if cursor.is(&["insert"]) {
        cursor.insert(with).map(Statement::Insert)
    } else if cursor.is(&["update"]) {
        cursor.update(with).map(Statement::Update)
    } else if cursor.is(&["delete"]) {
        cursor.delete(with).map(Statement::Delete)
    } else if cursor.is(&["merge"]) {
        cursor.merge(with).map(Statement::Merge)
    } else {
        Err(cursor.unexpected())
    }
}

impl Cursor<'_> {
    fn insert(&mut self, with: Vec<Cte>) -> Result<Insert, SyntaxError> {
        self.advance();
        let hints = self.hints();
        self.expect(&["into"])?;
        let table = self.qualified()?;
        let alias = if self.accept(&["as"]) { Some(self.name()?) } else { None };
        let (mut columns, mut places) = (Vec::new(), Vec::new());
        if self.peek() == Token::LParen && !self.is_query(0) {
            (columns, places) = self.listed(Cursor::target_place)?.into_iter().unzip();
        }
        let overriding = self.overriding()?;
        let source =
            if self.accept(&["default", "values"]) { None } else { Some(unwrap_parentheses(self.query()?)?) };
        let on_conflict = if self.is(&["on", "conflict"]) { Some(self.on_conflict()?) } else { None };
        let returning = self.returning()?;
        Ok(Insert { with, hints, table, alias, columns, places, source, overriding, on_conflict, returning })
    }

    /// `OVERRIDING SYSTEM | USER VALUE`.
    fn overriding(&mut self) -> Result<Option<bool>, SyntaxError> {
        if !self.accept(&["overriding"]) {
            return Ok(None);
        }
        let system = self.accept(&["system"]);
        if !system {
            self.expect(&["user"])?;
        }
        self.expect(&["value"])?;
        Ok(Some(system))
    }

    /// A column that is stored to, and the place within it.
    fn target_place(&mut self) -> Result<(Name, Vec<Step>), SyntaxError> {
        Ok((self.name()?, self.steps()?))
    }

    /// A column that is stored to as a whole.
    fn target_column(&mut self) -> Result<Name, SyntaxError> {
        let name = self.name()?;
        match self.peek() {
            Token::Period => {
                Err(SyntaxError::unsupported("a qualified column as a target").at(name.at.start))
            }
            Token::LBracket => {
                Err(SyntaxError::unsupported("assignment to an element of an array").at(name.at.start))
            }
            _ => Ok(name),
        }
    }

    fn on_conflict(&mut self) -> Result<OnConflict, SyntaxError> {
        let at = self.here().start;
        self.expect(&["on", "conflict"])?;
        let mut target = None;
        if self.accept(&["on", "constraint"]) {
            target = Some(ConflictTarget::Constraint(self.name()?));
        } else if self.peek() == Token::LParen {
            let parts = self.listed(|cursor| {
                let part = cursor.expr()?;
                // Which class of operators an index has decides nothing here: each of them is one of equality.
                if cursor.word().is_some_and(|word| word.ends_with("_ops")) {
                    cursor.advance();
                }
                Ok(part)
            })?;
            let predicate = if self.accept(&["where"]) { Some(self.expr()?) } else { None };
            target = Some(ConflictTarget::Inferred(parts, predicate));
        }
        self.expect(&["do"])?;
        if self.accept(&["nothing"]) {
            return Ok(OnConflict { target, update: None, at });
        }
        self.expect(&["update", "set"])?;
        let assignments = self.assignments()?;
        let filter = if self.accept(&["where"]) { Some(self.expr()?) } else { None };
        Ok(OnConflict { target, update: Some(ConflictUpdate { assignments, filter }), at })
    }

    /// `RETURNING [WITH (OLD AS o, NEW AS n)] items`.
    fn returning(&mut self) -> Result<Returning, SyntaxError> {
        let mut returning = Returning::default();
        if !self.accept(&["returning"]) {
            return Ok(returning);
        }
        if self.accept(&["with"]) {
            for (old, name) in self.listed(Cursor::returning_name)? {
                let (known, word) = match old {
                    true => (&mut returning.old, "OLD"),
                    false => (&mut returning.new, "NEW"),
                };
                if known.is_some() {
                    let text = format!("{word} cannot be specified multiple times");
                    return Err(SyntaxError::syntax(text).at(name.at.start));
                }
                *known = Some(name);
            }
        }
        returning.items = self.select_items()?;
        Ok(returning)
    }

    /// `OLD AS name` (true), `NEW AS name`.
    fn returning_name(&mut self) -> Result<(bool, Name), SyntaxError> {
        let old = self.accept(&["old"]);
        if !old {
            self.expect(&["new"])?;
        }
        self.expect(&["as"])?;
        Ok((old, self.name()?))
    }

    fn update(&mut self, with: Vec<Cte>) -> Result<Update, SyntaxError> {
        self.advance();
        let hints = self.hints();
        let table = self.target(&["set"])?;
        self.expect(&["set"])?;
        let assignments = self.assignments()?;
        let from = if self.accept(&["from"]) { Some(self.items_of_from()?) } else { None };
        let (filter, current) = self.condition()?;
        let returning = self.returning()?;
        Ok(Update { with, hints, table, assignments, from, filter, current, returning })
    }

    fn delete(&mut self, with: Vec<Cte>) -> Result<Delete, SyntaxError> {
        self.advance();
        let hints = self.hints();
        self.expect(&["from"])?;
        let table = self.target(&[])?;
        if self.peek() == Token::Comma {
            return Err(self.unexpected());
        }
        let using = if self.accept(&["using"]) { Some(self.items_of_from()?) } else { None };
        let (filter, current) = self.condition()?;
        let returning = self.returning()?;
        Ok(Delete { with, hints, table, using, filter, current, returning })
    }

    /// WHERE, also CURRENT OF.
    fn condition(&mut self) -> Result<(Option<Expr>, Option<Name>), SyntaxError> {
        if !self.accept(&["where"]) {
            return Ok((None, None));
        }
        if self.accept(&["current", "of"]) {
            return Ok((None, Some(self.name()?)));
        }
        Ok((Some(self.expr()?), None))
    }

    /// Behind SET: assignments with commas between.
    fn assignments(&mut self) -> Result<Vec<Assignment>, SyntaxError> {
        let mut all = Vec::new();
        loop {
            self.assignment(&mut all)?;
            if !self.accept_token(&Token::Comma) {
                return Ok(all);
            }
        }
    }

    fn assignment(&mut self, all: &mut Vec<Assignment>) -> Result<(), SyntaxError> {
        if self.peek() != Token::LParen {
            let place = self.target_place()?;
            self.expect_token(&Token::Eq)?;
            all.push(assigned(place, self.expr()?));
            return Ok(());
        }
        let columns = self.listed(Cursor::target_place)?;
        self.expect_token(&Token::Eq)?;
        let at = self.here().start;
        let value = self.expr()?;
        let values = match value.kind {
            ExprKind::Row(values) => values,
            ExprKind::Subquery(query) => {
                if let Some((name, _)) = columns.iter().find(|(_, steps)| !steps.is_empty()) {
                    let what = "assignment of a subquery's row to parts of columns";
                    return Err(SyntaxError::unsupported(what).at(name.at.start));
                }
                let columns = columns.into_iter().map(|(name, _)| name).collect();
                all.push(Assignment::Row(columns, query));
                return Ok(());
            }
            _ => {
                let text =
                    "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
            }
        };
        if values.iter().any(Expr::is_starred) && columns.iter().all(|(_, steps)| steps.is_empty()) {
            let columns = columns.into_iter().map(|(name, _)| name).collect();
            all.push(Assignment::List(columns, values, value.at));
            return Ok(());
        }
        if columns.len() != values.len() {
            return Err(SyntaxError::syntax("number of columns does not match number of values").at(at));
        }
        all.extend(columns.into_iter().zip(values).map(|(place, value)| assigned(place, value)));
        Ok(())
    }

    fn merge(&mut self, with: Vec<Cte>) -> Result<Merge, SyntaxError> {
        let at = self.here().start;
        self.advance();
        self.expect(&["into"])?;
        let table = self.target(&[])?;
        self.expect(&["using"])?;
        let source = self.joined()?;
        self.expect(&["on"])?;
        let on = self.expr()?;
        let mut clauses = Vec::new();
        while self.is(&["when"]) {
            clauses.push(self.merge_clause()?);
        }
        if clauses.is_empty() {
            return Err(self.unexpected());
        }
        let returning = self.returning()?;
        Ok(Merge { with, table, source, on, clauses, returning, at })
    }

    fn merge_clause(&mut self) -> Result<MergeClause, SyntaxError> {
        let at = self.here().start;
        self.expect(&["when"])?;
        let rows = if self.accept(&["matched"]) {
            MergeRows::Matched
        } else {
            self.expect(&["not", "matched"])?;
            if self.accept(&["by", "source"]) {
                MergeRows::NotMatchedBySource
            } else {
                self.accept(&["by", "target"]);
                MergeRows::NotMatchedByTarget
            }
        };
        let condition = if self.accept(&["and"]) { Some(self.expr()?) } else { None };
        self.expect(&["then"])?;
        let inserts = rows == MergeRows::NotMatchedByTarget;
        let action = if self.accept(&["do", "nothing"]) {
            MergeAction::Nothing
        } else if inserts {
            self.expect(&["insert"])?;
            let columns = match self.peek() {
                Token::LParen => self.listed(Cursor::target_column)?,
                _ => Vec::new(),
            };
            let overriding = self.overriding()?;
            let values = if self.accept(&["default", "values"]) {
                None
            } else {
                self.expect(&["values"])?;
                Some(self.listed(Cursor::expr)?)
            };
            MergeAction::Insert { columns, overriding, values }
        } else if self.accept(&["delete"]) {
            MergeAction::Delete
        } else {
            self.expect(&["update", "set"])?;
            MergeAction::Update(self.assignments()?)
        };
        Ok(MergeClause { rows, condition, action, at })
    }
}

/// What an item of SET assigns to a column or a place within it.
fn assigned((column, steps): (Name, Vec<Step>), value: Expr) -> Assignment {
    match steps.is_empty() {
        true => Assignment::Value(column, value),
        false => Assignment::Part(column, steps, value),
    }
}
