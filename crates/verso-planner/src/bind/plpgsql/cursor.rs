//! Cursors: declared with a query, opened, moved and closed.

use std::sync::Arc;

use verso_exec::plan::{
    Movement, PlBlock, PlCursor, PlDeclaration, PlDefault, PlStatement, PlStatementKind, PlTargets, PlWithin,
    Statement, TypedExpr,
};
use verso_types::{SqlType, SystemType};

use super::Body;
use crate::bind::scope::Variable;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Direction, Name, PlCursorArg, PlTarget};

/// The type of a cursor's variable, whose value is the cursor's name.
const REFCURSOR: SqlType = SqlType::System(SystemType::Refcursor);

/// A cursor of a body.
#[derive(Debug)]
pub(super) struct Declared {
    name: Arc<str>,
    slot: usize,
    cursor: syntax::PlCursor,
    /// What its query may name: what is in scope where it is declared.
    names: Vec<Variable>,
}

/// The query of a cursor, which yields the places of its records, too, for WHERE CURRENT OF.
fn placed(statement: &syntax::Statement) -> syntax::Statement {
    let mut statement = statement.clone();
    if let syntax::Statement::Query(query) = &mut statement {
        query.places = true;
    }
    statement
}

/// Whether it is a query that locks its rows.
fn locks(statement: &syntax::Statement) -> bool {
    matches!(statement, syntax::Statement::Query(query) if !query.locks.is_empty())
}

/// The arguments of a cursor, by slot, and its query.
type Opened = (Vec<(usize, TypedExpr)>, Box<verso_exec::plan::Statement>);

impl Body<'_> {
    /// Declares a cursor; yields its slot.
    pub(super) fn declare_cursor(
        &mut self,
        name: &Name,
        cursor: &syntax::PlCursor,
    ) -> Result<usize, SqlError> {
        let mut cursor = cursor.clone();
        for (_, ty) in &mut cursor.args {
            *ty = self.binder.data_type(ty).map_err(|error| self.refuse(error))?;
        }
        let slot = self.declare(&name.text, REFCURSOR, false);
        self.cursors.push(Arc::new(Declared {
            name: name.text.as_str().into(),
            slot,
            cursor,
            names: self.binder.variables.clone(),
        }));
        Ok(slot)
    }

    /// The cursor that a variable is, bound to a query or not.
    fn cursor_variable(&self, name: &Name) -> Result<PlCursor, SqlError> {
        let slot = self.binder.variables.iter().rev().find(|known| *known.name == *name.text);
        match slot {
            Some(known) if known.ty == REFCURSOR => {
                Ok(PlCursor { slot: known.slot, name: Arc::clone(&known.name) })
            }
            _ => Ok(self.declared(name, false)?.plan()),
        }
    }

    /// The query of a loop over rows. One that locks them does so as they are fetched, and passes over those that were changed
    /// meanwhile: it has to know their places.
    pub(super) fn looped(&self, statement: &syntax::Statement) -> Result<Statement, SqlError> {
        match locks(statement) {
            true => self.binder.statement(&placed(statement)),
            false => self.binder.statement(statement),
        }
    }

    /// `OPEN cursor FOR query`.
    pub(super) fn open_for(
        &self,
        cursor: &Name,
        scroll: Option<bool>,
        (statement, text): (&syntax::Statement, &str),
    ) -> Result<PlStatementKind, SqlError> {
        let cursor = self.unbound_cursor(cursor)?;
        let query = Box::new(self.binder.statement(&placed(statement))?);
        refuse_change(&query)?;
        self.note_query(&query, text);
        Ok(PlStatementKind::Open { cursor, args: Vec::new(), query, text: text.into(), scroll })
    }

    /// `OPEN cursor FOR EXECUTE text`.
    pub(super) fn open_execute(
        &self,
        cursor: &Name,
        scroll: Option<bool>,
        text: &syntax::PlDynamic,
    ) -> Result<PlStatementKind, SqlError> {
        let cursor = self.unbound_cursor(cursor)?;
        Ok(PlStatementKind::OpenExecute { cursor, text: self.dynamic(text)?, scroll })
    }

    /// A cursor without a query of its own.
    fn unbound_cursor(&self, name: &Name) -> Result<PlCursor, SqlError> {
        let cursor = self.cursor_variable(name)?;
        if self.cursors.iter().any(|known| known.slot == cursor.slot) {
            // The word behind it, as it is written.
            let rest: Vec<char> = self.source.text.chars().skip(name.at.end as usize).collect();
            let blanks = rest.iter().take_while(|c| c.is_whitespace()).count();
            let word: String = rest[blanks..].iter().take_while(|c| c.is_alphabetic()).collect();
            let at = name.at.end + u32::try_from(blanks).unwrap_or(1);
            return Err(self.refuse(SqlError::syntax(format!("syntax error at or near \"{word}\"")).at(at)));
        }
        Ok(cursor)
    }

    fn declared(&self, name: &Name, loops: bool) -> Result<Arc<Declared>, SqlError> {
        let found = self.cursors.iter().rev().find(|known| *known.name == *name.text);
        if let Some(found) = found {
            return Ok(Arc::clone(found));
        }
        let known = self.binder.variables.iter().rev().find(|known| *known.name == *name.text);
        Err(self.refuse(match known.map(|known| known.ty == REFCURSOR) {
            Some(true) if loops => {
                let text = "cursor FOR loop must use a bound cursor variable";
                SqlError::syntax(text).at(name.at.start)
            }
            Some(true) => SqlError::syntax("syntax error, expected \"FOR\" at or near \";\"").at(self.at.1),
            // What stands there would be a query.
            _ if loops => {
                SqlError::syntax(format!("syntax error at or near \"{}\"", name.text)).at(name.at.start)
            }
            Some(false) if known.is_some_and(|known| known.ty.is_row() || known.ty == SqlType::Record) => {
                let text = "cursor variable must be a simple variable";
                SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(name.at.start)
            }
            Some(false) => {
                let text = format!("variable \"{}\" must be of type cursor or refcursor", name.text);
                SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(name.at.start)
            }
            None => SqlError::syntax(format!("\"{}\" is not a known variable", name.text)).at(name.at.start),
        }))
    }

    /// The values of a cursor's arguments, and its query, which reads them from slots of their own.
    fn opened(
        &mut self,
        declared: &Declared,
        named: &Name,
        args: &[PlCursorArg],
    ) -> Result<Opened, SqlError> {
        let wanted = &declared.cursor.args;
        let mut values: Vec<Option<&syntax::Expr>> = vec![None; wanted.len()];
        let invalid = |text: String, at: u32| self.refuse(SqlError::syntax(text).at(at));
        if wanted.is_empty() && !args.is_empty() {
            return Err(invalid(format!("cursor \"{}\" has no arguments", declared.name), named.at.end));
        }
        let name = &declared.name;
        for (n, (given, value)) in args.iter().enumerate() {
            let at = match given {
                Some(given) => {
                    let at = wanted.iter().position(|(wanted, _)| wanted.text == given.text);
                    at.ok_or_else(|| {
                        let text = format!("cursor \"{name}\" has no argument named \"{}\"", given.text);
                        invalid(text, given.at.start)
                    })?
                }
                None => n,
            };
            match values.get_mut(at) {
                Some(place) if place.is_none() => *place = Some(value),
                Some(_) => {
                    let text = format!(
                        "value for parameter \"{}\" of cursor \"{name}\" specified more than once",
                        wanted[at].0.text
                    );
                    return Err(invalid(text, given.as_ref().map_or(value.at.start, |given| given.at.start)));
                }
                None => {
                    let comma = args[n - 1].1.at.end;
                    return Err(invalid(format!("too many arguments for cursor \"{name}\""), comma));
                }
            }
        }
        if values.iter().any(Option::is_none) {
            return Err(match args.last() {
                None => invalid(format!("cursor \"{name}\" has arguments"), self.at.1),
                Some((_, last)) => {
                    invalid(format!("not enough arguments for cursor \"{name}\""), last.at.end)
                }
            });
        }
        let (mut bound, mut texts) = (Vec::new(), Vec::new());
        let noted = self.noted.borrow().len();
        for (value, (name, ty)) in values.into_iter().flatten().zip(wanted) {
            bound.push(self.value(value, &name.text, ty)?);
            texts.extend(self.source.part_at(value.at.start + 1).map(|(text, _)| text));
        }
        // All of them are one expression for PostgreSQL, which it runs as a query.
        if !bound.is_empty() {
            self.noted.borrow_mut().truncate(noted);
            let line = format!("PL/pgSQL expression \"{}\"", texts.join(", ")).into();
            self.noted.borrow_mut().push(PlWithin { line, of: Some(bound.clone()) });
        }
        // Its query names what is in scope where it is declared, as it is here.
        let shapes = self.shapes();
        let here = std::mem::replace(&mut self.binder.variables, declared.names.clone());
        self.set_shapes(&shapes);
        let block = std::mem::replace(&mut self.block, Arc::clone(&declared.name));
        let slots: Vec<usize> =
            wanted.iter().map(|(name, ty)| self.declare(&name.text, ty.clone(), false)).collect();
        let query = self.binder.statement(&placed(&declared.cursor.statement));
        self.binder.variables = here;
        self.block = block;
        let query = query?;
        refuse_change(&query)?;
        self.note_query(&query, &declared.cursor.text);
        Ok((slots.into_iter().zip(bound).collect(), Box::new(query)))
    }

    /// OPEN.
    pub(super) fn open_cursor(
        &mut self,
        cursor: &Name,
        args: &[PlCursorArg],
    ) -> Result<PlStatementKind, SqlError> {
        let declared = self.declared(cursor, false)?;
        let (args, query) = self.opened(&declared, cursor, args)?;
        let scroll = declared.cursor.scroll;
        let text = declared.cursor.text.as_str().into();
        Ok(PlStatementKind::Open { cursor: declared.plan(), args, query, text, scroll })
    }

    /// FETCH, MOVE.
    pub(super) fn fetch_cursor(
        &self,
        cursor: &Name,
        direction: Direction,
        count: Option<&syntax::Expr>,
        into: &[PlTarget],
    ) -> Result<PlStatementKind, SqlError> {
        let cursor = self.cursor_variable(cursor)?;
        let count = count.map(|count| self.first_value(count, "count", &SqlType::Int4)).transpose()?;
        let movement = match direction {
            Direction::Forward(count) => Movement::Forward(count),
            Direction::Backward(count) => Movement::Backward(count),
            Direction::Absolute(number) => Movement::Absolute(number),
            Direction::Relative(count) => Movement::Relative(count),
        };
        let targets = if into.is_empty() { None } else { Some(self.targets(into)?) };
        Ok(PlStatementKind::Fetch { cursor, movement, count, targets })
    }

    /// CLOSE.
    pub(super) fn close_cursor(&self, cursor: &Name) -> Result<PlStatementKind, SqlError> {
        Ok(PlStatementKind::Close { cursor: self.cursor_variable(cursor)? })
    }

    /// The body of a FOR over a cursor, and the slot of its record, which is seen there only.
    pub(super) fn row_loop(
        &mut self,
        label: &Option<Name>,
        variable: &Name,
        body: &[syntax::PlStatement],
    ) -> Result<(usize, Vec<PlStatement>), SqlError> {
        let outer = self.binder.variables.len();
        let outer_label =
            std::mem::replace(&mut self.block, label.as_ref().map_or("", |label| label.text.as_str()).into());
        let slot = self.declare(&variable.text, SqlType::Record, false);
        self.open.push(slot);
        self.block = outer_label;
        let body = self.loop_body(label, body)?;
        self.binder.variables.truncate(outer);
        Ok((slot, body))
    }

    /// FOR over a cursor: a block with a record of its own, and a loop over the cursor's rows.
    pub(super) fn cursor_loop(
        &mut self,
        label: &Option<Name>,
        variable: &Name,
        (cursor, args): (&Name, &[PlCursorArg]),
        body: &[syntax::PlStatement],
    ) -> Result<PlStatementKind, SqlError> {
        let declared = self.declared(cursor, true)?;
        let (args, query) = self.opened(&declared, cursor, args)?;
        let (slot, body) = self.row_loop(label, variable, body)?;
        let line = self.line;
        let label = label.as_ref().map(|label| Arc::from(label.text.as_str()));
        let targets = PlTargets::Record { slot };
        let cursor = Some(declared.plan());
        let looping = PlStatementKind::ForQuery { label, query, targets, cursor, args, body };
        let within = self.noted.take().into_iter().filter(|line| line.of.is_some()).collect();
        let looping = PlStatement { line, within, asks: false, kind: looping };
        let declarations =
            vec![PlDeclaration { slot, default: PlDefault::Null, line: self.line, within: Vec::new() }];
        Ok(PlStatementKind::Block(PlBlock { declarations, body: vec![looping], ..PlBlock::default() }))
    }
}

/// Refuses a statement without rows where a loop or a cursor goes over some.
pub(super) fn refuse_change(query: &Statement) -> Result<(), SqlError> {
    if !query.output().is_empty() {
        return Ok(());
    }
    // A query without columns has rows.
    let Some(word) = query.change() else { return Ok(()) };
    Err(SqlError::new("42P11", format!("cannot open {word} query as cursor")))
}

impl Declared {
    fn plan(&self) -> PlCursor {
        PlCursor { slot: self.slot, name: Arc::clone(&self.name) }
    }
}
