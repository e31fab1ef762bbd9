//! Statements that are bound when they are reached.
//!
//! A statement that cannot be bound with its function is put off, with what is in scope where it stands: it may never be
//! reached, its table may be made before, or it names a field of a RECORD, which has fields when it is assigned. Statements
//! within it are bound with it, or put off in their turn.
//!
//! In a body that may end its transaction the others are put off, too, but with what they are bound to at first: that holds
//! until a COMMIT or ROLLBACK leaves another catalog, or somebody else changes it.

use std::sync::Arc;

use verso_catalog::CatalogSnapshot;
use verso_exec::ExecError;
use verso_exec::plan::{
    LateBound, PlLater, PlReturn, PlStatementKind, PlTrigger, PlVariable, PlWithin, Unbound,
};
use verso_types::{RowType, SqlType, TimeStyle};

use super::super::Binder;
use super::super::scope::{Record, Variable};
use super::super::with::Cte;
use super::cursor::Declared;
use super::{Body, located};
use crate::errors::{SqlError, sqlstate};
use crate::rewrite::Rules;
use verso_parser::syntax::{Name, PlBlock, PlConflict, PlSource, PlStatement, PlStatementKind as Syntax};

/// A statement, and what is in scope where it stands.
#[derive(Debug)]
pub(super) struct Waiting {
    statement: Syntax,
    variables: Vec<PlVariable>,
    open: Vec<usize>,
    cursors: Vec<Arc<Declared>>,
    constants: Vec<usize>,
    block: Arc<str>,
    returns: PlReturn,
    result: Option<SqlType>,
    result_slots: Vec<usize>,
    procedure: bool,
    returns_rows: bool,
    labels: Vec<(Option<String>, bool)>,
    in_handler: bool,
    conflict: PlConflict,
    trigger: Option<PlTrigger>,
    defines: bool,
    ends: bool,
    line: u32,
    at: (u32, u32),
    parameters: Vec<SqlType>,
    names: Vec<Variable>,
    records: Vec<Record>,
    ctes: Vec<Cte>,
    rules: Rules,
    source: Arc<PlSource>,
}

impl Body<'_> {
    /// Binds a statement, or puts it off.
    pub(super) fn lazily(&mut self, statement: &Syntax) -> Result<PlStatementKind, SqlError> {
        let (names, labels, slots) = (self.binder.variables.len(), self.labels.len(), self.variables.len());
        let cursors = self.cursors.len();
        let (block, in_handler, line) = (Arc::clone(&self.block), self.in_handler, self.line);
        match self.statement(statement) {
            Ok(_) if self.defines && looks_at_catalog(statement) => {}
            Err(error) if !self.refused.get() => {
                if self.strict {
                    return Err(error);
                }
                if self.compiles {
                    self.look_within(statement)?;
                }
            }
            bound => return bound,
        }
        self.binder.variables.truncate(names);
        self.labels.truncate(labels);
        self.cursors.truncate(cursors);
        self.variables.truncate(slots);
        self.open.retain(|slot| *slot < slots);
        self.constants.retain(|slot| *slot < slots);
        (self.block, self.in_handler, self.line) = (block, in_handler, line);
        let unbound = Box::new(self.waiting(statement));
        let (name, records) = (name_of(statement), self.open.clone());
        Ok(PlStatementKind::Later(Arc::new(PlLater { name, records, unbound, bound: None })))
    }

    /// A statement as it is bound now, which is bound anew where it is reached under another catalog.
    pub(super) fn renewable(
        &self,
        statement: &Syntax,
        (kind, within, asks): (PlStatementKind, Vec<PlWithin>, bool),
    ) -> PlStatementKind {
        let unbound = Box::new(self.waiting(statement));
        let (name, records) = (name_of(statement), self.open.clone());
        // What it declares is among the variables of the body.
        let bound = LateBound { kind, within, asks, variables: Arc::default() };
        let bound = Some((self.binder.catalog.key(), bound));
        PlStatementKind::Later(Arc::new(PlLater { name, records, unbound, bound }))
    }

    /// What PostgreSQL says of the statements within one that is bound when it is reached, and of what it assigns to: that is
    /// said when the function is made.
    fn look_within(&mut self, statement: &Syntax) -> Result<(), SqlError> {
        match statement {
            Syntax::If { branches, otherwise, .. } => {
                for (_, body) in branches {
                    self.statements(body)?;
                }
                self.statements(otherwise)?;
            }
            Syntax::Loop { label, body }
            | Syntax::While { label, body, .. }
            | Syntax::ForQuery { label, body, .. }
            | Syntax::ForExecute { label, body, .. }
            | Syntax::Foreach { label, body, .. } => {
                self.loop_body(label, body)?;
            }
            Syntax::ForInteger { label, variable, body, .. } => {
                self.counting_loop(label, variable, body)?;
            }
            Syntax::ForCursor { label, variable, body, .. } => {
                self.row_loop(label, variable, body)?;
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn waiting(&self, statement: &Syntax) -> Waiting {
        Waiting {
            statement: statement.clone(),
            variables: self.variables.clone(),
            open: self.open.clone(),
            cursors: self.cursors.clone(),
            constants: self.constants.clone(),
            block: Arc::clone(&self.block),
            returns: self.returns.clone(),
            result: self.result.clone(),
            result_slots: self.result_slots.clone(),
            procedure: self.procedure,
            returns_rows: self.returns_rows,
            labels: self.labels.clone(),
            in_handler: self.in_handler,
            conflict: self.conflict,
            trigger: self.trigger.clone(),
            defines: self.defines,
            ends: self.ends,
            line: self.line,
            at: self.at,
            parameters: self.binder.parameters.to_vec(),
            names: self.binder.variables.clone(),
            records: self.binder.records.clone(),
            ctes: self.binder.ctes.clone(),
            rules: self.binder.rules,
            source: Arc::clone(&self.source),
        }
    }

    /// Says which fields records have, or, without them, that they are not known.
    pub(super) fn set_shapes(&mut self, shapes: &[Option<Arc<RowType>>]) {
        for (n, slot) in self.open.iter().enumerate() {
            let ty = match shapes.get(n) {
                Some(Some(shape)) => SqlType::Row(Arc::clone(shape)),
                _ => SqlType::Record,
            };
            let own = self.binder.variables.iter_mut().filter(|known| known.slot == *slot);
            own.for_each(|known| known.ty = ty.clone());
        }
    }

    /// The fields that records have here.
    pub(super) fn shapes(&self) -> Vec<Option<Arc<RowType>>> {
        let shape = |slot: &usize| {
            let known = self.binder.variables.iter().find(|known| known.slot == *slot)?;
            match &known.ty {
                SqlType::Row(row) => Some(Arc::clone(row)),
                _ => None,
            }
        };
        self.open.iter().map(shape).collect()
    }
}

impl Unbound for Waiting {
    fn bind(
        &self,
        shapes: &[Option<Arc<RowType>>],
        catalog: &Arc<CatalogSnapshot>,
        time_zone: &TimeStyle,
    ) -> Result<LateBound, ExecError> {
        let mut binder = Binder::new(catalog, time_zone, &self.parameters).with_rules(self.rules);
        binder.variables = self.names.clone();
        binder.records = self.records.clone();
        binder.ctes = self.ctes.clone();
        let mut body = Body {
            variables: self.variables.clone(),
            open: self.open.clone(),
            cursors: self.cursors.clone(),
            constants: self.constants.clone(),
            returns: self.returns.clone(),
            result: self.result.clone(),
            result_slots: self.result_slots.clone(),
            procedure: self.procedure,
            returns_rows: self.returns_rows,
            labels: self.labels.clone(),
            in_handler: self.in_handler,
            conflict: self.conflict,
            trigger: self.trigger.clone(),
            defines: self.defines,
            ends: self.ends,
            depth: 1,
            line: self.line,
            at: self.at,
            compiles: false,
            source: Arc::clone(&self.source),
            ..Body::new(binder, Arc::clone(&self.block))
        };
        // One that is not assigned is NULL as a whole.
        let known = |shape: &Option<Arc<RowType>>| Some(shape.clone().unwrap_or_else(unassigned));
        body.set_shapes(&shapes.iter().map(known).collect::<Vec<_>>());
        let (kind, within, asks) = body.told(&self.statement, Body::statement);
        let kind = kind.map_err(|error| late_error(error, &self.statement, &self.source, self.at.0))?;
        Ok(LateBound { kind, within, asks, variables: body.variables.into() })
    }
}

/// What a RECORD is that has no fields when a statement is reached.
fn unassigned() -> Arc<RowType> {
    Arc::new(RowType::unnamed(Vec::new()))
}

/// Whether it is the first value of a variable that is assigned, which is no assignment for PostgreSQL.
pub(super) fn is_first(target: &[Name]) -> bool {
    matches!(target, [name] if name.text == super::declare::FIRST)
}

/// An error of binding a statement when it is reached. What a record lacks PostgreSQL finds when it runs the expression, and not in
/// its text.
fn late_error(error: SqlError, statement: &Syntax, source: &PlSource, start: u32) -> ExecError {
    let lacks_field = error.sqlstate == sqlstate::UNDEFINED_COLUMN && error.message.starts_with("record \"");
    let is_unassigned = error.sqlstate == "55000" && error.message.ends_with("is not assigned yet");
    let expr = match statement {
        Syntax::Assign { value, .. } | Syntax::Return(Some(value)) => Some(value),
        Syntax::If { operand: Some(operand), .. } => Some(&operand.1),
        Syntax::If { branches, .. } => branches.first().map(|(condition, _)| condition),
        Syntax::Raise(raise) => raise.args.first(),
        _ => None,
    };
    let position = error.position.or_else(|| expr.map(|expr| expr.at.start + 1));
    let position = position.unwrap_or(start + 1);
    // A constant that is too long for its variable is one in planning.
    let is_first = matches!(statement, Syntax::Assign { target, .. } if is_first(target));
    let is_too_long = matches!(statement, Syntax::Assign { .. })
        && !is_first
        && error.sqlstate.starts_with("22")
        && (error.position.is_none()
            || error.sqlstate == "22001"
            || error.message == "numeric field overflow");
    // What may not be done is found when the query runs.
    let is_refused = [sqlstate::INSUFFICIENT_PRIVILEGE, sqlstate::FEATURE_NOT_SUPPORTED];
    let is_refused = error.position.is_none() && is_refused.contains(&error.sqlstate);
    let within = lacks_field || is_unassigned || is_too_long || is_refused;
    let part = if within { source.part_at(position) } else { None };
    let Some((text, _)) = part else { return located(error, source).into() };
    let word = match statement {
        Syntax::Assign { .. } if !is_first => "PL/pgSQL assignment",
        Syntax::Sql { .. }
        | Syntax::Perform { .. }
        | Syntax::ForQuery { .. }
        | Syntax::ReturnQuery { .. } => "SQL statement",
        _ => "PL/pgSQL expression",
    };
    ExecError::from(SqlError { position: None, ..error }).in_function(format!("{word} \"{text}\""))
}

/// Whether a statement of a body may define something, or run a text that does, or change settings by which others are read:
/// `set_config` may stand in any expression.
pub(super) fn defines(block: &PlBlock) -> bool {
    let changes_settings = block.source.text.to_ascii_lowercase().contains("set_config");
    changes_settings || defines_within(block)
}

fn defines_within(block: &PlBlock) -> bool {
    any_within(block, &|kind| {
        matches!(kind, Syntax::Define { .. } | Syntax::Inline { .. } | Syntax::Execute { .. })
    })
}

/// Whether a block may end its transaction: by a statement of its own, or by a procedure that it calls.
pub(super) fn may_end(block: &PlBlock) -> bool {
    any_within(block, &|kind| {
        matches!(
            kind,
            Syntax::Commit { .. }
                | Syntax::Rollback { .. }
                | Syntax::Call(..)
                | Syntax::Routine { .. }
                | Syntax::Inline { .. }
        )
    })
}

fn any_within(block: &PlBlock, is: &dyn Fn(&Syntax) -> bool) -> bool {
    any(&block.body, is) || block.handlers.iter().any(|handler| any(&handler.body, is))
}

fn any(statements: &[PlStatement], is: &dyn Fn(&Syntax) -> bool) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        kind if is(kind) => true,
        Syntax::Block(block) => any_within(block, is),
        Syntax::If { branches, otherwise, .. } => {
            branches.iter().any(|(_, body)| any(body, is)) || any(otherwise, is)
        }
        Syntax::Loop { body, .. }
        | Syntax::While { body, .. }
        | Syntax::ForInteger { body, .. }
        | Syntax::ForQuery { body, .. }
        | Syntax::ForCursor { body, .. }
        | Syntax::Foreach { body, .. }
        | Syntax::ForExecute { body, .. } => any(body, is),
        _ => false,
    })
}

/// Whether what a statement itself is bound to, not what stands within it, depends on the catalog.
pub(super) fn looks_at_catalog(statement: &Syntax) -> bool {
    !matches!(
        statement,
        Syntax::Define { query: None, .. }
            | Syntax::Block(_)
            | Syntax::Inline { .. }
            | Syntax::Transaction
            | Syntax::Null
            | Syntax::CaseNotFound
            | Syntax::Loop { .. }
            | Syntax::While { .. }
            | Syntax::Commit { .. }
            | Syntax::Rollback { .. }
            | Syntax::Close(_)
            | Syntax::Fetch { count: None, .. }
            | Syntax::GetDiagnostics { .. }
            | Syntax::Return(None)
            | Syntax::Exit { when: None, .. }
            | Syntax::Continue { when: None, .. }
    )
}

/// How PostgreSQL calls a statement in an error's context.
fn name_of(statement: &Syntax) -> &'static str {
    match statement {
        Syntax::Block(_) => "statement block",
        Syntax::Assign { .. } => "assignment",
        Syntax::If { word, .. } => word,
        Syntax::Loop { .. } => "LOOP",
        Syntax::While { .. } => "WHILE",
        Syntax::ForInteger { .. } => "FOR with integer loop variable",
        Syntax::ForQuery { .. } => "FOR over SELECT rows",
        Syntax::ForExecute { .. } => "FOR over EXECUTE statement",
        Syntax::ForCursor { .. } => "FOR over cursor",
        Syntax::Open { .. } | Syntax::OpenFor { .. } | Syntax::OpenExecute { .. } => "OPEN",
        Syntax::Fetch { into, .. } if into.is_empty() => "MOVE",
        Syntax::Fetch { .. } => "FETCH",
        Syntax::Close(_) => "CLOSE",
        Syntax::Foreach { .. } => "FOREACH over array",
        Syntax::Exit { .. } => "EXIT",
        Syntax::Continue { .. } => "CONTINUE",
        Syntax::Return(_) => "RETURN",
        Syntax::ReturnNext(_) => "RETURN NEXT",
        Syntax::ReturnQuery { .. } | Syntax::ReturnExecute(_) => "RETURN QUERY",
        Syntax::Perform { .. } => "PERFORM",
        Syntax::Raise(_) => "RAISE",
        Syntax::GetDiagnostics { .. } => "GET DIAGNOSTICS",
        Syntax::Execute { .. } => "EXECUTE",
        Syntax::Assert { .. } => "ASSERT",
        Syntax::Call(..) | Syntax::Routine { .. } => "CALL",
        Syntax::Inline { .. } => "DO",
        Syntax::Null
        | Syntax::Transaction
        | Syntax::CaseNotFound
        | Syntax::Commit { .. }
        | Syntax::Rollback { .. }
        | Syntax::Define { .. }
        | Syntax::Sql { .. } => "SQL statement",
    }
}
