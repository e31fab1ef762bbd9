//! A function compiled, and the pool of compiled ones.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use verso_catalog::{FunctionDef, Oid};
use verso_types::{RowType, SqlType, Value};

use super::dynamic::Dynamic;
use super::element::ElementChange;
use super::growing::{Append, Reads};
use super::later::Later;
use super::short::BodyExpr;
use crate::error::Result;
use crate::exec::{Compiled, ExecContext, StatementUses, TriggerCall};
use crate::expr::{Executor, RowExpr};
use crate::plan::{
    CommitWrite, Movement, Origin, OutputColumn, PlBlock, PlCondition, PlCursor, PlDeclaration, PlDefault,
    PlDiagnostic, PlFunction, PlInto, PlPlace, PlStatement, PlStatementKind, PlTargets, PlWithin, Plan,
    RaiseLevel, Statement, TypedExpr,
};

/// A compiled function. One run at a time: recursion takes another one.
pub(crate) struct Program {
    pub function: Arc<PlFunction>,
    pub(super) body: Block,
}

pub(super) struct Block {
    pub label: Option<Arc<str>>,
    pub declarations: Vec<Declaration>,
    pub cursors: Vec<usize>,
    pub body: Vec<Step>,
    pub handlers: Vec<Handler>,
    pub error_slots: Option<(usize, usize)>,
}

/// A variable: its slot, its first value, its line, and what an error of that says first.
pub(super) struct Declaration {
    pub slot: usize,
    pub default: Default,
    pub line: u32,
    pub within: Vec<PlWithin>,
}

#[expect(clippy::large_enum_variant, reason = "one for each variable of a body")]
pub(super) enum Default {
    Null,
    Value(RowExpr),
    Step(Step),
}

pub(super) struct Handler {
    pub conditions: Vec<PlCondition>,
    pub body: Vec<Step>,
}

/// A statement and its line.
pub(super) struct Step {
    pub line: u32,
    /// How PostgreSQL calls it.
    pub name: &'static str,
    /// What errors of its expressions say first.
    pub within: Vec<PlWithin>,
    /// An expression of it asks a query.
    pub asks: bool,
    pub kind: StepKind,
}

impl Step {
    pub fn new(line: u32, kind: StepKind) -> Step {
        Step { line, name: kind.name(), within: Vec::new(), asks: false, kind }
    }

    /// What errors of its expressions say first.
    pub fn within(&self) -> &[PlWithin] {
        match &self.kind {
            StepKind::Later(later) => later.within(),
            _ => &self.within,
        }
    }
}

pub(super) enum StepKind {
    Define {
        text: Arc<str>,
        query: Option<Box<Statement>>,
        into: Option<PlInto>,
    },
    Block(Block),
    Assign {
        slot: usize,
        value: BodyExpr,
    },
    /// To an element of an array, or to the array with one more.
    Change(ElementChange),
    /// To a text or bytea with something behind it.
    Append(Append),
    AssignField {
        place: PlPlace,
        value: RowExpr,
    },
    AssignRow(Box<RowAssignment>),
    If {
        operand: Option<(usize, BodyExpr)>,
        branches: Vec<(BodyExpr, Vec<Step>)>,
        otherwise: Vec<Step>,
        word: &'static str,
    },
    Loop {
        label: Option<Arc<str>>,
        body: Vec<Step>,
    },
    While {
        label: Option<Arc<str>>,
        condition: BodyExpr,
        body: Vec<Step>,
    },
    ForRange(Box<Range>),
    ForQuery {
        label: Option<Arc<str>>,
        query: Embedded,
        targets: PlTargets,
        cursor: Option<PlCursor>,
        args: Vec<(usize, RowExpr)>,
        body: Vec<Step>,
    },
    Foreach {
        label: Option<Arc<str>>,
        targets: PlTargets,
        slice: usize,
        array: RowExpr,
        element: SqlType,
        body: Vec<Step>,
    },
    Exit {
        label: Option<Arc<str>>,
        when: Option<BodyExpr>,
    },
    Continue {
        label: Option<Arc<str>>,
        when: Option<BodyExpr>,
    },
    Return {
        value: Option<RowExpr>,
    },
    ReturnCast {
        value: RowExpr,
        from: SqlType,
        to: SqlType,
    },
    ReturnComposite {
        value: RowExpr,
        shape: Arc<RowType>,
        types: Option<Arc<RowType>>,
    },
    ReturnNextComposite {
        value: RowExpr,
        shape: Arc<RowType>,
    },
    ReturnRow {
        record: Option<usize>,
    },
    ReturnRowValue {
        value: RowExpr,
        types: Vec<SqlType>,
    },
    Later(Later),
    ReturnNext {
        values: Vec<RowExpr>,
    },
    ReturnQuery {
        query: Embedded,
    },
    Sql {
        statement: Embedded,
        into: Option<PlInto>,
        perform: bool,
    },
    Raise(Box<Raise>),
    Reraise,
    GetDiagnostics {
        items: Vec<(PlDiagnostic, PlPlace)>,
    },
    Execute {
        text: Dynamic,
        into: Option<PlInto>,
    },
    ForExecute {
        label: Option<Arc<str>>,
        text: Dynamic,
        targets: PlTargets,
        body: Vec<Step>,
    },
    ReturnExecute {
        text: Dynamic,
    },
    Open {
        cursor: PlCursor,
        args: Vec<(usize, RowExpr)>,
        query: Embedded,
        /// Of the query. Errors of its rows do not name it, unlike `Embedded::text`.
        text: Arc<str>,
        scroll: Option<bool>,
    },
    OpenExecute {
        cursor: PlCursor,
        text: Dynamic,
        scroll: Option<bool>,
    },
    Fetch {
        cursor: PlCursor,
        movement: Movement,
        count: Option<RowExpr>,
        targets: Option<PlTargets>,
    },
    Refused,
    Close {
        cursor: PlCursor,
    },
    Assert {
        condition: RowExpr,
        message: Option<RowExpr>,
    },
    Call {
        function: Arc<FunctionDef>,
        args: Vec<RowExpr>,
        out: Vec<(usize, PlPlace)>,
        text: Arc<str>,
    },
    Commit {
        chain: bool,
        write: CommitWrite,
    },
    Rollback {
        chain: bool,
    },
    Nothing,
}

/// `row := value`.
pub(super) struct RowAssignment {
    pub target: PlTargets,
    pub value: RowExpr,
    pub types: Vec<SqlType>,
    pub shape: Arc<RowType>,
}

pub(super) struct Range {
    pub label: Option<Arc<str>>,
    pub slot: usize,
    pub from: RowExpr,
    pub to: RowExpr,
    pub by: Option<RowExpr>,
    /// What the bounds read.
    pub reads: Reads,
    pub reverse: bool,
    pub body: Vec<Step>,
}

pub(super) struct Raise {
    pub level: RaiseLevel,
    pub format: Option<Arc<str>>,
    pub args: Vec<RowExpr>,
    pub by_option: bool,
    pub sqlstate: Option<Arc<str>>,
    pub errcode: Option<RowExpr>,
    pub detail: Option<RowExpr>,
    pub hint: Option<RowExpr>,
    pub about: Vec<(PlDiagnostic, RowExpr)>,
}

/// An SQL statement of a body.
pub(super) struct Embedded {
    pub compiled: Compiled,
    /// Types of its rows.
    pub types: Vec<SqlType>,
    /// The same with their names, but for the places of records.
    pub shape: Arc<RowType>,
    /// Of a cursor: the oids of the tables whose records' places are its last columns.
    pub places: Vec<u32>,
    /// It locks its rows.
    pub locks: bool,
    /// It, where its rows may be locked, or its functions called, as they are fetched.
    pub fetched: Option<Arc<Statement>>,
    /// Its text, where errors name it.
    pub text: Option<Arc<str>>,
    /// Counts towards FOUND and ROW_COUNT by the rows it returns (a query) or changes.
    pub is_query: bool,
    /// It is a query that never has a second row.
    pub one_row: bool,
    /// It is a query and changes nothing; none of the session's, such as EXPLAIN.
    pub reads_only: bool,
    /// Of a query that only reads: the tables that it uses.
    pub used: StatementUses,
    /// The word for what it changes or locks.
    pub change: Option<&'static str>,
    /// It is no change for a READ ONLY transaction: of temporary tables only.
    pub temporary: bool,
}

impl Program {
    fn compile(function: Arc<PlFunction>, executor: Executor) -> Self {
        let body = block(&function.body, executor);
        Self { function, body }
    }
}

fn block(block: &PlBlock, executor: Executor) -> Block {
    Block {
        label: block.label.clone(),
        declarations: block
            .declarations
            .iter()
            .map(|PlDeclaration { slot, default, line, within }| Declaration {
                slot: *slot,
                default: match default {
                    PlDefault::Null => Default::Null,
                    PlDefault::Value(value) => Default::Value(RowExpr::compile(value)),
                    PlDefault::Statement(kind) => {
                        let within = within.clone();
                        Default::Step(Step { within, ..Step::new(*line, step(kind, executor)) })
                    }
                },
                line: *line,
                within: within.clone(),
            })
            .collect(),
        cursors: block.cursors.clone(),
        body: steps(&block.body, executor),
        handlers: block
            .handlers
            .iter()
            .map(|handler| Handler {
                conditions: handler.conditions.clone(),
                body: steps(&handler.body, executor),
            })
            .collect(),
        error_slots: block.error_slots,
    }
}

fn optional(expr: Option<&TypedExpr>) -> Option<RowExpr> {
    expr.map(RowExpr::compile)
}

impl Embedded {
    pub fn new(statement: &Statement, executor: Executor) -> Embedded {
        let output = statement.output();
        let place = |column: &OutputColumn| column.origin.filter(|origin| origin.column == Origin::RECORD);
        let places: Vec<u32> = output.iter().filter_map(place).map(|origin| origin.table).collect();
        let types = output.iter().map(|column| column.ty.clone()).collect();
        let visible = output.len() - places.len();
        let fields: Vec<(Arc<str>, SqlType)> = output
            .into_iter()
            .take(visible)
            .map(|column| (Arc::clone(&column.name), column.seen()))
            .collect();
        let locks = match statement {
            Statement::Query(plan) => plan.any(&mut |plan| matches!(plan, Plan::LockRows { .. })),
            _ => false,
        };
        Embedded {
            compiled: Compiled::new(statement, executor),
            types,
            fetched: (locks || acts_last(statement)).then(|| Arc::new(statement.clone())),
            places,
            locks,
            shape: Arc::new(RowType::collated(fields)),
            text: None,
            is_query: statement.is_query(),
            one_row: matches!(statement, Statement::Query(plan) if has_one_row(plan)),
            reads_only: matches!(statement, Statement::Query(_)),
            used: match statement {
                Statement::Query(_) => StatementUses::of(statement),
                _ => StatementUses::default(),
            },
            change: statement.change(),
            temporary: statement.changes_temporary(),
        }
    }
}

/// Whether a query calls functions that do something for rows that it has read: not ones that take turns with others below them.
fn acts_last(statement: &Statement) -> bool {
    let takes_turns = |plan: &Plan| {
        plan.any(&mut |part| part.inputs().into_iter().any(|input| part.takes_turns_with(input)))
    };
    matches!(statement, Statement::Query(plan) if plan.acts() && !takes_turns(plan))
}

/// Whether it is plain that a query never has a second row.
fn has_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } | Plan::Filter { input, .. } => has_one_row(input),
        Plan::IndexScan { access, .. } => access.is_point(),
        Plan::Aggregate { group_by, sets, .. } => group_by.is_empty() && sets.is_none(),
        Plan::Values { rows, .. } => rows.len() <= 1,
        _ => false,
    }
}

impl Embedded {
    /// The types of what its rows have beside places.
    pub fn visible(&self) -> &[SqlType] {
        &self.types[..self.types.len() - self.places.len()]
    }
}

fn embedded(statement: &Statement, executor: Executor) -> Embedded {
    Embedded::new(statement, executor)
}

fn types_of(shape: &RowType) -> Vec<SqlType> {
    shape.as_declared().map(|(_, ty)| ty.clone()).collect()
}

fn steps(statements: &[PlStatement], executor: Executor) -> Vec<Step> {
    let compiled = |statement: &PlStatement| {
        let within = statement.within.clone();
        Step { within, asks: statement.asks, ..Step::new(statement.line, step(&statement.kind, executor)) }
    };
    statements.iter().map(compiled).collect()
}

pub(super) fn step(kind: &PlStatementKind, executor: Executor) -> StepKind {
    match kind {
        PlStatementKind::Define { text, query, into } => {
            StepKind::Define { text: Arc::clone(text), query: query.clone(), into: into.clone() }
        }
        PlStatementKind::Block(inner) => StepKind::Block(block(inner, executor)),
        PlStatementKind::Assign { slot, value } => {
            if let Some(change) = ElementChange::compile(*slot, value) {
                StepKind::Change(change)
            } else if let Some(append) = Append::compile(*slot, value) {
                StepKind::Append(append)
            } else {
                StepKind::Assign { slot: *slot, value: BodyExpr::compile(value) }
            }
        }
        PlStatementKind::AssignField { place, value } => {
            StepKind::AssignField { place: place.clone(), value: RowExpr::compile(value) }
        }
        PlStatementKind::AssignRow { target, value, shape } => StepKind::AssignRow(Box::new(RowAssignment {
            target: target.clone(),
            value: RowExpr::compile(value),
            types: types_of(shape),
            shape: Arc::clone(shape),
        })),
        PlStatementKind::If { operand, branches, otherwise, word } => StepKind::If {
            word,
            operand: operand.as_ref().map(|(slot, value)| (*slot, BodyExpr::compile(value))),
            branches: branches
                .iter()
                .map(|(condition, body)| (BodyExpr::compile(condition), steps(body, executor)))
                .collect(),
            otherwise: steps(otherwise, executor),
        },
        PlStatementKind::Loop { label, body } => {
            StepKind::Loop { label: label.clone(), body: steps(body, executor) }
        }
        PlStatementKind::While { label, condition, body } => StepKind::While {
            label: label.clone(),
            condition: BodyExpr::compile(condition),
            body: steps(body, executor),
        },
        PlStatementKind::ForRange { label, slot, from, to, by, reverse, body } => {
            StepKind::ForRange(Box::new(Range {
                label: label.clone(),
                slot: *slot,
                reads: Reads::of_all([from, to].into_iter().chain(by)),
                from: RowExpr::compile(from),
                to: RowExpr::compile(to),
                by: optional(by.as_ref()),
                reverse: *reverse,
                body: steps(body, executor),
            }))
        }
        PlStatementKind::ForQuery { label, query, targets, cursor, args, body } => StepKind::ForQuery {
            cursor: cursor.clone(),
            args: args.iter().map(|(slot, value)| (*slot, RowExpr::compile(value))).collect(),
            label: label.clone(),
            query: embedded(query, executor),
            targets: targets.clone(),
            body: steps(body, executor),
        },
        PlStatementKind::Foreach { label, targets, slice, array, element, body } => StepKind::Foreach {
            label: label.clone(),
            targets: targets.clone(),
            slice: *slice,
            array: RowExpr::compile(array),
            element: element.clone(),
            body: steps(body, executor),
        },
        PlStatementKind::Exit { label, when } => {
            StepKind::Exit { label: label.clone(), when: when.as_ref().map(BodyExpr::compile) }
        }
        PlStatementKind::Continue { label, when } => {
            StepKind::Continue { label: label.clone(), when: when.as_ref().map(BodyExpr::compile) }
        }
        PlStatementKind::Return { value } => StepKind::Return { value: optional(value.as_ref()) },
        PlStatementKind::ReturnCast { value, from, to } => {
            StepKind::ReturnCast { value: RowExpr::compile(value), from: from.clone(), to: to.clone() }
        }
        PlStatementKind::ReturnComposite { value, shape, types } => StepKind::ReturnComposite {
            value: RowExpr::compile(value),
            shape: Arc::clone(shape),
            types: types.clone(),
        },
        PlStatementKind::ReturnNextComposite { value, shape } => {
            StepKind::ReturnNextComposite { value: RowExpr::compile(value), shape: Arc::clone(shape) }
        }
        PlStatementKind::ReturnRow { record } => StepKind::ReturnRow { record: *record },
        PlStatementKind::ReturnRowValue { value, shape } => {
            StepKind::ReturnRowValue { value: RowExpr::compile(value), types: types_of(shape) }
        }
        PlStatementKind::Later(later) => StepKind::Later(Later::new(later)),
        PlStatementKind::ReturnNext { values } => {
            StepKind::ReturnNext { values: values.iter().map(RowExpr::compile).collect() }
        }
        PlStatementKind::ReturnQuery { query, text } => {
            StepKind::ReturnQuery { query: Embedded { text: text.clone(), ..embedded(query, executor) } }
        }
        PlStatementKind::Sql { statement, into, text, perform } => StepKind::Sql {
            statement: Embedded { text: text.clone(), ..embedded(statement, executor) },
            into: into.clone(),
            perform: *perform,
        },
        PlStatementKind::Raise { level, format, args, by_option, sqlstate, errcode, detail, hint, about } => {
            StepKind::Raise(Box::new(Raise {
                level: *level,
                format: format.clone(),
                args: args.iter().map(RowExpr::compile).collect(),
                by_option: *by_option,
                sqlstate: sqlstate.clone(),
                errcode: optional(errcode.as_ref()),
                detail: optional(detail.as_ref()),
                hint: optional(hint.as_ref()),
                about: about.iter().map(|(what, text)| (*what, RowExpr::compile(text))).collect(),
            }))
        }
        PlStatementKind::Reraise => StepKind::Reraise,
        PlStatementKind::GetDiagnostics { items } => StepKind::GetDiagnostics { items: items.clone() },
        PlStatementKind::Execute { text, into } => {
            StepKind::Execute { text: Dynamic::compile(text), into: into.clone() }
        }
        PlStatementKind::ForExecute { label, text, targets, body } => StepKind::ForExecute {
            label: label.clone(),
            text: Dynamic::compile(text),
            targets: targets.clone(),
            body: steps(body, executor),
        },
        PlStatementKind::ReturnExecute { text } => StepKind::ReturnExecute { text: Dynamic::compile(text) },
        PlStatementKind::Open { cursor, args, query, text, scroll } => StepKind::Open {
            cursor: cursor.clone(),
            args: args.iter().map(|(slot, value)| (*slot, RowExpr::compile(value))).collect(),
            query: embedded(query, executor),
            text: Arc::clone(text),
            scroll: *scroll,
        },
        PlStatementKind::OpenExecute { cursor, text, scroll } => {
            StepKind::OpenExecute { cursor: cursor.clone(), text: Dynamic::compile(text), scroll: *scroll }
        }
        PlStatementKind::Fetch { cursor, movement, count, targets } => StepKind::Fetch {
            cursor: cursor.clone(),
            movement: *movement,
            count: optional(count.as_ref()),
            targets: targets.clone(),
        },
        PlStatementKind::Refused => StepKind::Refused,
        PlStatementKind::Close { cursor } => StepKind::Close { cursor: cursor.clone() },
        PlStatementKind::Assert { condition, message } => {
            StepKind::Assert { condition: RowExpr::compile(condition), message: optional(message.as_ref()) }
        }
        PlStatementKind::Call { function, args, out, text } => StepKind::Call {
            function: Arc::clone(function),
            args: args.iter().map(RowExpr::compile).collect(),
            out: out.clone(),
            text: Arc::clone(text),
        },
        PlStatementKind::Commit { chain, write } => StepKind::Commit { chain: *chain, write: *write },
        PlStatementKind::Rollback { chain } => StepKind::Rollback { chain: *chain },
        PlStatementKind::Nothing => StepKind::Nothing,
    }
}

impl StepKind {
    /// Whether it reads no variable but by expressions that let it become a value before, if it grows.
    pub fn settles_itself(&self) -> bool {
        matches!(
            self,
            StepKind::Assign { .. }
                | StepKind::Change(_)
                | StepKind::Append(_)
                | StepKind::If { .. }
                | StepKind::Loop { .. }
                | StepKind::While { .. }
                | StepKind::ForRange(_)
                | StepKind::Exit { .. }
                | StepKind::Continue { .. }
                | StepKind::Block(_)
                | StepKind::Nothing
        )
    }

    /// How PostgreSQL calls the statement in an error's context.
    pub fn name(&self) -> &'static str {
        match self {
            StepKind::Block(_) => "statement block",
            StepKind::Assign { .. }
            | StepKind::Change(_)
            | StepKind::Append(_)
            | StepKind::AssignField { .. }
            | StepKind::AssignRow(_) => "assignment",
            StepKind::If { word, .. } => word,
            StepKind::Loop { .. } => "LOOP",
            StepKind::While { .. } => "WHILE",
            StepKind::ForRange(_) => "FOR with integer loop variable",
            StepKind::ForQuery { cursor: Some(_), .. } => "FOR over cursor",
            StepKind::ForQuery { .. } => "FOR over SELECT rows",
            StepKind::Foreach { .. } => "FOREACH over array",
            StepKind::Exit { .. } => "EXIT",
            StepKind::Continue { .. } => "CONTINUE",
            StepKind::Return { .. }
            | StepKind::ReturnCast { .. }
            | StepKind::ReturnComposite { .. }
            | StepKind::ReturnRow { .. }
            | StepKind::ReturnRowValue { .. } => "RETURN",
            StepKind::Later(later) => later.name(),
            StepKind::ReturnNext { .. } | StepKind::ReturnNextComposite { .. } => "RETURN NEXT",
            StepKind::ReturnQuery { .. } => "RETURN QUERY",
            StepKind::Sql { perform: true, .. } => "PERFORM",
            StepKind::Define { .. } | StepKind::Sql { .. } | StepKind::Refused => "SQL statement",
            // Of a CASE without the case.
            StepKind::Raise(raise) if raise.sqlstate.as_deref() == Some("20000") && raise.args.is_empty() => {
                "CASE"
            }
            StepKind::Raise(_) | StepKind::Reraise => "RAISE",
            StepKind::GetDiagnostics { items } => match items.iter().all(|(item, _)| item.is_current()) {
                true => "GET DIAGNOSTICS",
                false => "GET STACKED DIAGNOSTICS",
            },
            StepKind::Execute { .. } => "EXECUTE",
            StepKind::ForExecute { .. } => "FOR over EXECUTE statement",
            StepKind::ReturnExecute { .. } => "RETURN QUERY",
            StepKind::Open { .. } | StepKind::OpenExecute { .. } => "OPEN",
            StepKind::Fetch { targets: None, .. } => "MOVE",
            StepKind::Fetch { .. } => "FETCH",
            StepKind::Close { .. } => "CLOSE",
            StepKind::Assert { .. } => "ASSERT",
            StepKind::Call { function, .. } if function.oid.0 == 0 => "DO",
            StepKind::Call { .. } => "CALL",
            StepKind::Commit { .. } => "COMMIT",
            StepKind::Rollback { .. } => "ROLLBACK",
            StepKind::Nothing => "NULL",
        }
    }
}

/// A bound function and the programs of it that no one runs.
type Bound = (Arc<PlFunction>, Vec<Program>);

/// The functions that a statement of the client has compiled, for the next call.
#[derive(Default)]
pub(crate) struct ProgramPool {
    /// A handful, mostly: found quicker in order than by hashes.
    functions: RefCell<BTreeMap<(Oid, u64), Bound>>,
}

impl ProgramPool {
    /// A program of the function that no one runs.
    pub fn take(&self, cx: &ExecContext<'_>, function: &Arc<FunctionDef>) -> Result<Program> {
        let key = (function.oid, function.variant);
        if let Some((bound, free)) = self.functions.borrow_mut().get_mut(&key) {
            return Ok(free.pop().unwrap_or_else(|| Program::compile(Arc::clone(bound), cx.executor)));
        }
        let bound = cx.services.binding.compile_function(function, cx.catalog)?;
        self.functions.borrow_mut().insert(key, (Arc::clone(&bound), Vec::new()));
        Ok(Program::compile(bound, cx.executor))
    }

    /// The same of what a trigger calls: it is bound to the trigger's table.
    pub fn take_trigger(&self, cx: &ExecContext<'_>, call: &TriggerCall<'_>) -> Result<Program> {
        let key = (call.trigger.oid, 0);
        if let Some((bound, free)) = self.functions.borrow_mut().get_mut(&key) {
            return Ok(free.pop().unwrap_or_else(|| Program::compile(Arc::clone(bound), cx.executor)));
        }
        let binding = cx.services.binding;
        let bound = binding.compile_trigger(call.trigger, call.function, call.table, cx.catalog)?;
        self.functions.borrow_mut().insert(key, (Arc::clone(&bound), Vec::new()));
        Ok(Program::compile(bound, cx.executor))
    }

    /// Takes a program back: that of a function, or of a trigger.
    pub fn give(&self, (oid, variant): (Oid, u64), program: Program) {
        if let Some((_, free)) = self.functions.borrow_mut().get_mut(&(oid, variant)) {
            free.push(program);
        }
    }
}

/// The slots of a call: arguments, then NULLs.
pub(super) fn slots(function: &PlFunction, mut args: Vec<Value>) -> Vec<Value> {
    args.resize(function.variables.len().max(args.len()), Value::Null);
    args
}
