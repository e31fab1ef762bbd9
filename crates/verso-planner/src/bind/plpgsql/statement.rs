//! Statements of bodies: blocks, branches, loops and what leaves them, SQL.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use verso_catalog::{ArgMode, FunctionDef};
use verso_exec::plan::{
    CommitWrite, ExprKind, PlInto, PlStatement, PlStatementKind, PlTargets, Plan, RaiseLevel, Statement,
    TypedExpr,
};
use verso_types::{RowType, SqlType, Value};

use super::Body;
use super::cursor::refuse_change;
use super::later::looks_at_catalog;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Expr, Name, PlStatementKind as Syntax};

/// The branches of IF and CASE, and what is done where none of their conditions holds.
type Branches = (Vec<(TypedExpr, Vec<PlStatement>)>, Vec<PlStatement>);

impl Body<'_> {
    pub(super) fn statements(
        &mut self,
        statements: &[syntax::PlStatement],
    ) -> Result<Vec<PlStatement>, SqlError> {
        // Within a statement that is bound when it is reached records may come to have other fields than they have then.
        let shapes = self.shapes();
        self.set_shapes(&[]);
        let mut all = Vec::with_capacity(statements.len());
        for statement in statements {
            self.line = statement.line;
            self.at = (statement.start, statement.end);
            let (kind, within, asks) = self.told(&statement.kind, Body::lazily);
            let kind = kind?;
            // One that is bound when it is reached has its own then.
            let (kind, within, asks) = match kind {
                PlStatementKind::Later(_) => (kind, Vec::new(), false),
                kind if self.ends && looks_at_catalog(&statement.kind) => {
                    self.line = statement.line;
                    self.at = (statement.start, statement.end);
                    (self.renewable(&statement.kind, (kind, within, asks)), Vec::new(), false)
                }
                kind => (kind, within, asks),
            };
            all.push(PlStatement { line: statement.line, within, asks, kind });
        }
        self.set_shapes(&shapes);
        Ok(all)
    }

    pub(super) fn statement(&mut self, statement: &Syntax) -> Result<PlStatementKind, SqlError> {
        Ok(match statement {
            Syntax::Block(block) => PlStatementKind::Block(self.block(block)?),
            Syntax::Null => PlStatementKind::Nothing,
            Syntax::Define { text, query, into, strict } => {
                let into = self.row_targets(into, *strict)?;
                let bind = |query: &syntax::Statement| self.binder.statement(query).map(Box::new);
                let query = query.as_deref().map(bind).transpose()?;
                PlStatementKind::Define { text: text.as_str().into(), query, into }
            }
            Syntax::Transaction => PlStatementKind::Refused,
            Syntax::Inline { block, text } => {
                static BLOCKS: AtomicU64 = AtomicU64::new(1);
                // Each has a number, by which those that a statement has compiled are told apart.
                let variant = BLOCKS.fetch_add(1, Ordering::Relaxed);
                let function = Arc::new(FunctionDef { variant, ..FunctionDef::inline(block) });
                let text = text.as_str().into();
                PlStatementKind::Call { function, args: Vec::new(), out: Vec::new(), text }
            }
            Syntax::Assign { target, path, value } => self.assignment(target, path, value)?,
            Syntax::If { operand, branches, otherwise, word } => {
                let outer = self.binder.variables.len();
                let operand =
                    operand.as_deref().map(|(name, value)| self.case_operand(name, value)).transpose()?;
                let (branches, otherwise) = self.branches(branches, otherwise, word)?;
                self.binder.variables.truncate(outer);
                PlStatementKind::If { operand, branches, otherwise, word }
            }
            Syntax::CaseNotFound => PlStatementKind::Raise {
                level: RaiseLevel::Exception,
                format: Some("case not found".into()),
                args: Vec::new(),
                by_option: false,
                sqlstate: Some("20000".into()),
                errcode: None,
                detail: None,
                hint: Some(TypedExpr::literal(
                    Value::text("CASE statement is missing ELSE part."),
                    SqlType::Text,
                )),
                about: Vec::new(),
            },
            Syntax::Loop { label, body } => {
                PlStatementKind::Loop { label: text_of(label), body: self.loop_body(label, body)? }
            }
            Syntax::While { label, condition, body } => match self.condition(condition) {
                Ok(condition) if !(self.defines || self.ends || self.reads_records(&condition)) => {
                    PlStatementKind::While {
                        label: text_of(label),
                        condition,
                        body: self.loop_body(label, body)?,
                    }
                }
                // The condition is bound by itself each time: a record in it may have come to have other fields, or a table
                // other columns.
                _ => {
                    let leave = Syntax::Exit { label: None, when: None };
                    let leave = self.synthetic(leave);
                    let test = Syntax::If {
                        operand: None,
                        branches: vec![(condition.clone(), Vec::new())],
                        otherwise: vec![leave],
                        word: "WHILE",
                    };
                    let test = self.synthetic(test);
                    let body: Vec<_> = std::iter::once(test).chain(body.iter().cloned()).collect();
                    PlStatementKind::Loop { label: text_of(label), body: self.loop_body(label, &body)? }
                }
            },
            Syntax::ForInteger { label, variable, reverse, from, to, by, body } => {
                let from = self.integer(from)?;
                let to = self.integer(to)?;
                let by = by.as_ref().map(|by| self.integer(by)).transpose()?;
                let (slot, body) = self.counting_loop(label, variable, body)?;
                let label = text_of(label);
                PlStatementKind::ForRange { label, slot, from, to, by, reverse: *reverse, body }
            }
            Syntax::ForQuery { label, targets, statement, text, body } => {
                let targets = self.loop_targets(targets)?;
                let query = Box::new(self.looped(statement)?);
                refuse_change(&query)?;
                self.note_query(&query, text);
                let body = self.loop_body(label, body)?;
                let (label, args) = (text_of(label), Vec::new());
                PlStatementKind::ForQuery { label, query, targets, cursor: None, args, body }
            }
            Syntax::ForCursor { label, variable, cursor, args, body } => {
                self.cursor_loop(label, variable, (cursor, args), body)?
            }
            Syntax::Open { cursor, args } => self.open_cursor(cursor, args)?,
            Syntax::OpenFor { cursor, scroll, statement, text } => {
                self.open_for(cursor, *scroll, (statement, text))?
            }
            Syntax::OpenExecute { cursor, scroll, text } => self.open_execute(cursor, *scroll, text)?,
            Syntax::Fetch { cursor, bare, direction, count, into } => {
                if *bare && self.binder.variable_of(std::slice::from_ref(cursor)).is_none() {
                    let text = "missing \"FROM or IN\" at end of SQL expression";
                    return Err(self.refuse(SqlError::syntax(text).at(self.at.1)));
                }
                self.fetch_cursor(cursor, *direction, count.as_ref(), into)?
            }
            Syntax::Close(cursor) => self.close_cursor(cursor)?,
            Syntax::Foreach { label, targets, slice, array, body } => {
                self.foreach(label, targets, *slice, array, body)?
            }
            Syntax::Exit { label, when } => {
                self.check_label(label.as_ref(), "EXIT").map_err(|error| self.refuse_here(error))?;
                PlStatementKind::Exit { label: text_of(label), when: self.optional_condition(when)? }
            }
            Syntax::Continue { label, when } => {
                self.check_label(label.as_ref(), "CONTINUE").map_err(|error| self.refuse_here(error))?;
                PlStatementKind::Continue { label: text_of(label), when: self.optional_condition(when)? }
            }
            Syntax::Return(value) => self.return_value(value.as_ref())?,
            Syntax::ReturnNext(value) => self.return_next(value.as_ref())?,
            Syntax::ReturnQuery { statement, text } => self.return_query(statement, text)?,
            Syntax::Perform { query, text } => {
                let statement = match query.changes_rows() {
                    true => Box::new(
                        self.binder.statement(&syntax::Statement::Query(syntax::Query::clone(query)))?,
                    ),
                    false => planned(&self.binder, self.binder.query(query)?)?,
                };
                let text = Some(text.as_str().into());
                PlStatementKind::Sql { statement, into: None, text, perform: true }
            }
            Syntax::GetDiagnostics { items, .. } => {
                let item = |(target, item): &(syntax::PlTarget, syntax::PlDiagnostic)| {
                    let place = self.place(target)?;
                    match place.ty.is_row() {
                        true => Err(self.no_scalar(target)),
                        false => Ok((*item, place)),
                    }
                };
                let items = items.iter().map(item).collect::<Result<Vec<_>, SqlError>>()?;
                PlStatementKind::GetDiagnostics { items }
            }
            Syntax::Execute { text, into, strict } => {
                let into = self.row_targets(into, *strict)?;
                let text = self.dynamic(text)?;
                PlStatementKind::Execute { text, into }
            }
            Syntax::ForExecute { label, targets, text, body } => {
                let targets = self.loop_targets(targets).map_err(|mut error| {
                    if error.message.starts_with("loop variable") {
                        error.sqlstate = sqlstate::DATATYPE_MISMATCH;
                    }
                    error
                })?;
                let text = self.dynamic(text)?;
                let body = self.loop_body(label, body)?;
                PlStatementKind::ForExecute { label: text_of(label), text, targets, body }
            }
            Syntax::ReturnExecute(text) => self.return_execute(text)?,
            Syntax::Assert { condition, message } => PlStatementKind::Assert {
                condition: self.condition(condition)?,
                message: message.as_ref().map(|message| self.as_text(message)).transpose()?,
            },
            Syntax::Raise(raise) => self.raise(raise)?,
            Syntax::Call(call, text) => self.call(call, text)?,
            Syntax::Routine { call, query, text } => match self.call(call, &format!("CALL {text}")) {
                Err(error) if ["42883", "42809"].contains(&error.sqlstate) => {
                    let (query, text) = (query.clone(), format!("SELECT {text}"));
                    self.statement(&Syntax::Perform { query, text })?
                }
                called => called?,
            },
            Syntax::Commit { chain, write: syntax::CommitWrite { wait, batch } } => {
                PlStatementKind::Commit { chain: *chain, write: CommitWrite { wait: *wait, batch: *batch } }
            }
            Syntax::Rollback { chain } => PlStatementKind::Rollback { chain: *chain },
            Syntax::Sql { statement, into, strict, text } => {
                let mut into = self.row_targets(into, *strict)?;
                let statement = self.binder.statement(statement)?;
                if into.is_none() && statement.is_query() {
                    return Err(SqlError::syntax("query has no destination for result data")
                        .with_hint("If you want to discard the results of a SELECT, use PERFORM instead."));
                }
                if into.is_none() && !statement.output().is_empty() {
                    return Err(SqlError::syntax("query has no destination for result data"));
                }
                if let Some(into) = into.as_mut().filter(|into| into.strict) {
                    into.params = read_slots(&statement);
                }
                let text = Some(text.as_str().into());
                PlStatementKind::Sql { statement: Box::new(statement), into, text, perform: false }
            }
        })
    }

    /// The branches of IF and CASE, and what is done otherwise. PostgreSQL looks at a condition when it comes to it: from one
    /// behind the first that cannot be bound here, the branches are a statement of their own within what is done otherwise, which
    /// is bound when it is reached.
    fn branches(
        &mut self,
        branches: &[(Expr, Vec<syntax::PlStatement>)],
        otherwise: &[syntax::PlStatement],
        word: &'static str,
    ) -> Result<Branches, SqlError> {
        let (line, at) = (self.line, self.at);
        let mut bound = Vec::with_capacity(branches.len());
        for (n, (condition, body)) in branches.iter().enumerate() {
            let noted = self.noted.borrow().len();
            match self.condition(condition) {
                Ok(condition) => bound.push((condition, self.statements(body)?)),
                Err(error) if n == 0 || self.strict || self.refused.get() => return Err(error),
                Err(_) => {
                    self.noted.borrow_mut().truncate(noted);
                    (self.line, self.at) = (line, at);
                    let rest = self.synthetic(Syntax::If {
                        operand: None,
                        branches: branches[n..].to_vec(),
                        otherwise: otherwise.to_vec(),
                        word,
                    });
                    return Ok((bound, self.statements(&[rest])?));
                }
            }
        }
        Ok((bound, self.statements(otherwise)?))
    }

    /// Whether an expression reads a RECORD.
    fn reads_records(&self, expr: &TypedExpr) -> bool {
        let mut reads = matches!(expr.kind, ExprKind::Parameter(slot) if self.open.contains(&slot));
        expr.for_each_child(&mut |child| reads = reads || self.reads_records(child));
        reads
    }

    /// A statement that stands for a part of the one that is bound.
    fn synthetic(&self, kind: Syntax) -> syntax::PlStatement {
        let (start, end) = self.at;
        syntax::PlStatement { kind, line: self.line, start, end }
    }

    /// INTO; none where there are no names.
    fn row_targets(&self, names: &[syntax::PlTarget], strict: bool) -> Result<Option<PlInto>, SqlError> {
        Ok(match names {
            [] => None,
            names => Some(PlInto { targets: self.targets(names)?, strict, params: Vec::new() }),
        })
    }

    /// FOREACH: elements go to one variable, their fields to several, or to a row.
    fn foreach(
        &mut self,
        label: &Option<Name>,
        targets: &[syntax::PlTarget],
        slice: usize,
        array: &Expr,
        body: &[syntax::PlStatement],
    ) -> Result<PlStatementKind, SqlError> {
        let targets = self.foreach_targets(targets)?;
        let array = self.bind(array)?;
        let SqlType::Array(element) = &array.ty else {
            let ty = array.ty.pg_name();
            let text = format!("FOREACH expression must yield an array, not type {ty}");
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
        };
        let element = match (&**element, &array.kind) {
            // Rows that are written there: what their fields are is known.
            (SqlType::Record, ExprKind::Array(rows)) => record_of(rows).unwrap_or(SqlType::Record),
            (element, _) => element.clone(),
        };
        let to_array = match &targets {
            PlTargets::Places(places) => {
                matches!(places.as_slice(), [place] if matches!(place.ty, SqlType::Array(_)))
            }
            _ => false,
        };
        let text = match (slice, to_array) {
            (0, true) => Some("FOREACH loop variable must not be of an array type"),
            (1.., false) => Some("FOREACH ... SLICE loop variable must be of an array type"),
            _ => None,
        };
        if let Some(text) = text {
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
        }
        let body = self.loop_body(label, body)?;
        Ok(PlStatementKind::Foreach { label: text_of(label), targets, slice, array, element, body })
    }

    /// CALL: what comes back goes to variables.
    fn call(&mut self, call: &syntax::Call, text: &str) -> Result<PlStatementKind, SqlError> {
        let (function, mut args) = self.binder.procedure(call)?;
        let mut out = Vec::new();
        for (n, parameter) in function.args.iter().enumerate().filter(|(_, arg)| arg.mode.goes_out()) {
            let given = given_for(call, n, &parameter.name);
            let names = match given.map(|given| &given.kind) {
                Some(syntax::ExprKind::Column(names)) => names,
                _ => {
                    let text = format!(
                        "procedure parameter \"{}\" is an output parameter but corresponding argument is not writable",
                        parameter.name
                    );
                    return Err(SqlError::syntax(text));
                }
            };
            out.push((n, self.place_of_call(names)?));
            if parameter.mode == ArgMode::Out {
                args[n] = TypedExpr::literal(Value::Null, parameter.ty.clone());
            }
        }
        Ok(PlStatementKind::Call { function, args, out, text: text.into() })
    }

    /// The body of a FOR over integers, and the slot of its variable, which is seen there only.
    pub(super) fn counting_loop(
        &mut self,
        label: &Option<Name>,
        variable: &Name,
        body: &[syntax::PlStatement],
    ) -> Result<(usize, Vec<PlStatement>), SqlError> {
        let outer = self.binder.variables.len();
        let outer_label = Arc::clone(&self.block);
        self.block = label.as_ref().map_or("", |label| label.text.as_str()).into();
        let slot = self.declare(&variable.text, SqlType::Int4, false);
        self.block = outer_label;
        let body = self.loop_body(label, body)?;
        self.binder.variables.truncate(outer);
        Ok((slot, body))
    }

    /// The slot of the variable that has the operand of CASE, which is computed once, and its value.
    fn case_operand(&mut self, name: &Name, operand: &Expr) -> Result<(usize, TypedExpr), SqlError> {
        let bound = self.bind(operand)?;
        let ty = match &bound.ty {
            SqlType::Unknown => SqlType::Text,
            ty => ty.clone(),
        };
        let value = self.value_of(bound, operand.at.start, &name.text, &ty)?;
        Ok((self.declare(&name.text, ty, false), value))
    }

    pub(super) fn loop_body(
        &mut self,
        label: &Option<Name>,
        body: &[syntax::PlStatement],
    ) -> Result<Vec<PlStatement>, SqlError> {
        self.labels.push((label.as_ref().map(|label| label.text.clone()), true));
        let body = self.statements(body);
        self.labels.pop();
        body
    }

    /// Whether there is something that EXIT or CONTINUE may leave.
    fn check_label(&self, label: Option<&Name>, word: &str) -> Result<(), SqlError> {
        match label {
            None if self.labels.iter().any(|(_, is_loop)| *is_loop) => Ok(()),
            None if word == "EXIT" => {
                Err(SqlError::syntax("EXIT cannot be used outside a loop, unless it has a label"))
            }
            None => Err(SqlError::syntax("CONTINUE cannot be used outside a loop")),
            Some(label) => {
                let known = self.labels.iter().rev().find(|(known, _)| known.as_ref() == Some(&label.text));
                match known {
                    Some((_, false)) if word == "CONTINUE" => Err(SqlError::syntax(format!(
                        "block label \"{}\" cannot be used in CONTINUE",
                        label.text
                    ))
                    .at(label.at.start)),
                    Some(_) => Ok(()),
                    None => Err(SqlError::syntax(format!(
                        "there is no label \"{}\" attached to any block or loop enclosing this statement",
                        label.text
                    ))
                    .at(label.at.start)),
                }
            }
        }
    }

    fn optional_condition(&self, expr: &Option<Expr>) -> Result<Option<TypedExpr>, SqlError> {
        expr.as_ref().map(|expr| self.condition(expr)).transpose()
    }

    fn integer(&self, expr: &Expr) -> Result<TypedExpr, SqlError> {
        self.first_value(expr, "integer FOR loop", &SqlType::Int4)
    }
}

/// The slots that a query, or the source of an INSERT, reads.
fn read_slots(statement: &Statement) -> Vec<usize> {
    let plan = match statement {
        Statement::Query(plan) => plan,
        Statement::Insert(insert) => &insert.source,
        _ => return Vec::new(),
    };
    let mut slots = BTreeSet::new();
    plan.any_expr(&mut |expr| {
        if let ExprKind::Parameter(slot) = expr.kind {
            slots.insert(slot);
        }
        false
    });
    slots.into_iter().collect()
}

/// The argument of a call that is for this parameter.
fn given_for<'c>(call: &'c syntax::Call, parameter: usize, name: &str) -> Option<&'c Expr> {
    let plain = call.args.len() - call.names.len();
    match call.names.iter().position(|named| named.text == *name) {
        Some(named) => call.args.get(plain + named),
        None => call.args[..plain].get(parameter),
    }
}

fn text_of(name: &Option<Name>) -> Option<Arc<str>> {
    name.as_ref().map(|name| name.text.as_str().into())
}

/// A query as a statement to be run.
/// The type of rows that have fields of the same types.
fn record_of(rows: &[TypedExpr]) -> Option<SqlType> {
    fn types(row: &TypedExpr) -> Option<Vec<SqlType>> {
        let field = |part: &TypedExpr| match &part.ty {
            SqlType::Unknown => SqlType::Text,
            ty => ty.clone(),
        };
        match &row.kind {
            ExprKind::Row(parts) => Some(parts.iter().map(field).collect()),
            ExprKind::Cast { arg, .. } => types(arg),
            _ => None,
        }
    }
    let first = types(rows.first()?)?;
    let all_alike = rows.iter().all(|row| types(row).as_ref() == Some(&first));
    let fields = first.into_iter().zip(1..).map(|(ty, n)| (format!("f{n}").into(), ty)).collect();
    all_alike.then(|| SqlType::Row(Arc::new(RowType::unnamed(fields))))
}

pub(super) fn planned(binder: &crate::bind::Binder<'_>, mut query: Plan) -> Result<Box<Statement>, SqlError> {
    crate::plan::query(&mut query, binder.planning())?;
    Ok(Box::new(Statement::Query(query)))
}
