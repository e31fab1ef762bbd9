//! Bodies of PL/pgSQL functions: variables become slots, expressions and statements are bound with them in scope.
//!
//! | module | what it is |
//! |---|---|
//! | [`declare`] | declarations |
//! | [`statement`] | statements, loops and what leaves them |
//! | [`result`] | RETURN and its relatives |
//! | [`raise`] | RAISE |
//! | [`shadowed`] | variables that hide others |
//! | [`sql`] | functions in SQL, which become bodies of the same kind |
//! | [`inlined`] | those that become part of the plans that call them |
//! | [`dynamic`] | EXECUTE, GET DIAGNOSTICS |
//! | [`trigger`] | functions of triggers |
//! | [`target`] | what values are assigned to |
//! | [`cursor`] | cursors |
//! | [`later`] | statements that are bound when they are reached |
//! | [`within`] | which query an error of an expression names |
//!
//! As in PostgreSQL the statements and expressions of a body are bound when they are reached, at the latest: its tables may
//! come later than the function. What PostgreSQL says when a function is created is said then: an unknown variable, a RETURN
//! that does not fit ([`check_function`]).

mod cursor;
mod declare;
mod dynamic;
mod inlined;
mod later;
mod raise;
mod result;
mod shadowed;
mod sql;
mod statement;
mod target;
mod trigger;
mod update_trigger;
mod within;

pub(crate) use inlined::body_as_query;
pub use shadowed::shadowed;
pub use sql::bind_sql_function;
pub(crate) use sql::traced_body;
pub(in crate::bind) use sql::{bind_kept_noting, bind_noting};

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, FunctionLanguage, FunctionReturn, Volatility};
use verso_exec::plan::{
    ExprKind, PlBlock, PlCondition, PlDeclaration, PlFunction, PlHandler, PlReturn, PlStatement,
    PlStatementKind, PlTrigger, PlVariable, PlWithin, TypedExpr,
};
use verso_types::{CastKind, Collation, SqlType, TimeStyle};

use super::Binder;
use super::context::{Clause, Context};
use super::polymorphic::Meaning;
use super::scope::{Scope, Variable, value_type};
use crate::errors::{SqlError, sqlstate};
use cursor::Declared;
use verso_parser::syntax::{self, Expr, Name, PlAlike};

pub use trigger::{bind_trigger, check_trigger_statements};
pub use update_trigger::update_trigger_body;

/// Of SQLSTATE and SQLERRM.
type ErrorSlots = Option<(usize, usize)>;

/// Binds a function of the catalog.
pub fn bind_function(
    function: &FunctionDef,
    block: &syntax::PlBlock,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<PlFunction, SqlError> {
    if function.returns == FunctionReturn::Trigger {
        let text = "trigger functions can only be called as triggers";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    let types: Vec<SqlType> = function.args.iter().map(|arg| value_type(&arg.ty)).collect();
    let mut body = Body::new(Binder::new(catalog, time_zone, &types), Arc::clone(&function.name));
    for (n, arg) in function.args.iter().enumerate() {
        let slot = body.declare(&arg.name, arg.ty.clone(), false);
        if arg.ty == SqlType::Record {
            body.open.push(slot);
        }
        body.number(n + 1, slot, &arg.ty);
        if arg.mode.goes_out() && !function.is_procedure() {
            body.result_slots.push(slot);
        }
    }
    body.oid = function.oid.0;
    body.collation = function.args.iter().find_map(|arg| match &arg.ty {
        SqlType::Collated(collated) => Some(Arc::clone(&collated.collation)),
        _ => None,
    });
    body.read_only = function.volatility != Volatility::Volatile;
    body.columns = column_names(function);
    body.returns = returned(function);
    body.result = match &function.returns {
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) if body.result_slots.is_empty() => {
            Some(ty.clone()).filter(|_| function.variant != 0)
        }
        _ => None,
    };
    body.procedure = function.is_procedure();
    body.gives_back = body.procedure && function.args.iter().any(|arg| arg.mode.goes_out());
    body.returns_rows = matches!(function.returns, FunctionReturn::Set(SqlType::Row(_) | SqlType::Record));
    if let (FunctionReturn::Table(columns), true) = (&function.returns, body.result_slots.is_empty()) {
        for (name, ty) in columns {
            let slot = body.declare(name, ty.clone(), false);
            body.result_slots.push(slot);
        }
    }
    body.finish(named(function, catalog), function.args.len(), block)
}

/// How errors name a function: as it is declared, though its body may be bound for other types.
fn named(function: &FunctionDef, catalog: &CatalogSnapshot) -> Arc<str> {
    match catalog.function_by_oid(function.oid).filter(|_| function.variant != 0) {
        Some(declared) => declared.named_in_context().into(),
        None => function.named_in_context().into(),
    }
}

/// What a function returns, as its body sees it.
fn returned(function: &FunctionDef) -> PlReturn {
    let types = |fields: &[(Arc<str>, SqlType)]| fields.iter().map(|(_, ty)| ty.clone()).collect();
    match &function.returns {
        FunctionReturn::Void | FunctionReturn::Procedure | FunctionReturn::Trigger => PlReturn::Void,
        FunctionReturn::Scalar(SqlType::Record) => PlReturn::Record,
        FunctionReturn::Scalar(ty) => PlReturn::Scalar(ty.clone()),
        FunctionReturn::Set(SqlType::Record) => PlReturn::Records,
        FunctionReturn::Set(SqlType::Row(row)) => {
            PlReturn::Rows(row.as_declared().map(|(_, ty)| ty.clone()).collect())
        }
        FunctionReturn::Set(ty) => PlReturn::Rows(vec![ty.clone()]),
        FunctionReturn::Table(columns) => PlReturn::Rows(types(columns)),
    }
}

/// What the columns of its rows are called.
fn column_names(function: &FunctionDef) -> Arc<[Arc<str>]> {
    let names = |fields: &[(Arc<str>, SqlType)]| fields.iter().map(|(name, _)| Arc::clone(name)).collect();
    match &function.returns {
        FunctionReturn::Set(SqlType::Record) => Arc::default(),
        FunctionReturn::Set(SqlType::Row(row)) => names(&row.fields),
        FunctionReturn::Table(columns) => names(columns),
        // A value that is no row has no name.
        _ => Arc::new([Arc::from("")]),
    }
}

/// What is said of a function when it is created.
///
/// # Errors
/// What no call of it could mend. Of a function in SQL all that its statements say.
pub fn check_function(
    function: &FunctionDef,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<(), SqlError> {
    if super::takes_polymorphic(function) {
        if function.language == FunctionLanguage::Sql && !function.standard_body {
            // What its statements mean depends on the types of a call: only their syntax is looked at.
            return function_statements(function).map(drop);
        }
        // Checked as if it were called with integers.
        let own = Meaning::integers().of_function(function);
        return check_function(&own, catalog, time_zone);
    }
    match (function.language, &function.returns) {
        (FunctionLanguage::Sql, _) => {
            let statements = function_statements(function)?;
            let bound = bind_sql_function(function, &statements, catalog, time_zone);
            bound.map(drop).map_err(|error| match error.sqlstate {
                sqlstate::INVALID_FUNCTION_DEFINITION if error.position.is_none() => {
                    error.with_context(&format!("SQL function \"{}\"", function.name))
                }
                _ => error,
            })
        }
        (FunctionLanguage::Internal, _) => Ok(()),
        (FunctionLanguage::PlPgSql, FunctionReturn::Trigger) => {
            let block = parse_function_body(&function.name, &function.body)?;
            trigger::check_trigger_function(function, &block, catalog, time_zone)
        }
        (FunctionLanguage::PlPgSql, _) => {
            check_names(function)?;
            let block = parse_function_body(&function.name, &function.body)?;
            if function.inputs().any(|arg| arg.ty == SqlType::Record) {
                // Which fields they have is known in each call.
                return Ok(());
            }
            bind_function(function, &block, catalog, time_zone).map(drop)
        }
    }
}

/// Refuses arguments and columns of the result that have one name: they are variables of one block.
fn check_names(function: &FunctionDef) -> Result<(), SqlError> {
    let columns = match &function.returns {
        FunctionReturn::Table(columns) => columns.as_slice(),
        _ => &[],
    };
    let arguments = function.args.iter().map(|arg| &*arg.name);
    let outgoing = function.args.iter().any(|arg| arg.mode.goes_out());
    let columns = columns.iter().filter(|_| !outgoing).map(|(name, _)| &**name);
    let mut known: Vec<&str> = Vec::new();
    for name in arguments.chain(columns).filter(|name| !name.is_empty()) {
        if known.contains(&name) {
            let text = format!("parameter name \"{name}\" used more than once");
            let error = SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text);
            return Err(error.with_context(&compiled_near(&function.name, 1)));
        }
        known.push(name);
    }
    Ok(())
}

/// Parses the body of a function.
///
/// # Errors
/// Those of the syntax, with a line of context.
pub fn parse_function_body(name: &str, body: &str) -> Result<syntax::PlBlock, SqlError> {
    verso_parser::parse_body(body).map_err(|error| {
        let line = error.line.unwrap_or(1);
        SqlError::from(error).with_context(&compiled_near(name, line))
    })
}

/// The line of context of what is wrong with a body when it is compiled.
fn compiled_near(name: &str, line: u32) -> String {
    format!("compilation of PL/pgSQL function \"{name}\" near line {line}")
}

/// The statements of a function in SQL.
///
/// # Errors
/// Those of the syntax.
pub fn function_statements(function: &FunctionDef) -> Result<Vec<syntax::Parsed>, SqlError> {
    let parse = match function.standard_body {
        true => verso_parser::parse_standard_body,
        false => verso_parser::parse_script,
    };
    Ok(parse(&function.body)?)
}

/// A RECORD that has no fields yet.
pub(super) fn not_assigned(name: &str) -> SqlError {
    SqlError::new("55000", format!("record \"{name}\" is not assigned yet"))
        .with_detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}

/// Binds the block of a DO statement.
pub fn bind_block(
    block: &syntax::PlBlock,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<PlFunction, SqlError> {
    let body = Body::new(Binder::new(catalog, time_zone, &[]), "inline_code_block".into());
    body.finish("inline_code_block".into(), 0, block)
}

/// A body on its way, with what is in scope at this point of it.
struct Body<'c> {
    binder: Binder<'c>,
    variables: Vec<PlVariable>,
    constants: Vec<usize>,
    /// Label of the block variables are declared in.
    block: Arc<str>,
    returns: PlReturn,
    /// `$0`: the type of the result where each call decides it.
    result: Option<SqlType>,
    /// Slots of the columns of RETURNS TABLE.
    result_slots: Vec<usize>,
    /// It is a procedure.
    procedure: bool,
    /// It is one that gives something back.
    gives_back: bool,
    /// Each row of the result is one row of several columns (`SETOF t`, `SETOF record`).
    returns_rows: bool,
    /// What EXIT and CONTINUE may leave: label and whether it is a loop.
    labels: Vec<(Option<String>, bool)>,
    in_handler: bool,
    /// What a name means that is a variable's and a column's: in a function in SQL the column.
    conflict: syntax::PlConflict,
    /// RECORD variables: their fields are known when they are assigned.
    open: Vec<usize>,
    /// Cursors in scope, innermost last.
    cursors: Vec<Arc<Declared>>,
    /// What the function of a trigger is told.
    trigger: Option<PlTrigger>,
    /// The last error is one that PostgreSQL gives when it compiles the function: it is not put off.
    refused: Cell<bool>,
    /// A statement of it may define something: those that look at the catalog are bound when they are reached.
    defines: bool,
    /// It may end its transaction: behind that the catalog may be another one, so those statements are bound anew there.
    ends: bool,
    /// How many blocks it is in.
    depth: u32,
    /// Of the statement that is bound, for errors.
    line: u32,
    /// Where that begins and ends.
    at: (u32, u32),
    /// What stands within statements that are put off is looked at, too: the function is compiled.
    compiles: bool,
    /// Nothing is put off: it is checked.
    strict: bool,
    /// The function; 0 of a block.
    oid: u32,
    /// The collation of the arguments that it is called with: variables of texts have it, too, where they say no other.
    collation: Option<Arc<Collation>>,
    /// It may change nothing.
    read_only: bool,
    /// What the columns of its rows are called.
    columns: Arc<[Arc<str>]>,
    /// The text of the body.
    source: Arc<syntax::PlSource>,
    /// What errors of the statement that is bound say first.
    noted: RefCell<Vec<PlWithin>>,
    /// It is an assignment.
    assigns: Cell<bool>,
}

/// An error whose place in a body becomes one in the expression or statement there.
fn located(error: SqlError, source: &syntax::PlSource) -> SqlError {
    let part = error.position.and_then(|position| source.part_at(position));
    let Some((text, position)) = part else { return SqlError { position: None, ..error } };
    SqlError { position: Some(position), ..error }.within(&text)
}

impl<'c> Body<'c> {
    fn new(binder: Binder<'c>, name: Arc<str>) -> Body<'c> {
        Body {
            binder,
            variables: Vec::new(),
            constants: Vec::new(),
            block: name,
            returns: PlReturn::Void,
            result: None,
            result_slots: Vec::new(),
            procedure: false,
            gives_back: false,
            read_only: false,
            columns: Arc::default(),
            returns_rows: false,
            labels: Vec::new(),
            in_handler: false,
            conflict: syntax::PlConflict::Error,
            open: Vec::new(),
            cursors: Vec::new(),
            trigger: None,
            refused: Cell::new(false),
            defines: false,
            ends: false,
            depth: 0,
            line: 1,
            at: (0, 0),
            compiles: true,
            strict: false,
            oid: 0,
            collation: None,
            source: Arc::default(),
            noted: RefCell::default(),
            assigns: Cell::default(),
        }
    }

    fn finish(
        mut self,
        signature: Arc<str>,
        argument_count: usize,
        block: &syntax::PlBlock,
    ) -> Result<PlFunction, SqlError> {
        let found = self.declare("found", SqlType::Bool, false);
        let conflict = block.conflict.unwrap_or_default();
        if conflict != syntax::PlConflict::Error {
            self.conflict = conflict;
            self.binder.variables.iter_mut().for_each(|known| known.conflict = conflict);
        }
        self.source = Arc::clone(&block.source);
        self.defines = later::defines(block);
        self.ends = self.procedure || self.oid == 0 && later::may_end(block);
        let names_results = !self.result_slots.is_empty();
        let body = self.block(block).map(|body| match self.outgoing() {
            // The end of the body returns what the arguments that come out are then.
            Some(value) if names_results => {
                let line = block.body.last().map_or(1, |last| last.line);
                let inner = PlStatement::new(line, PlStatementKind::Block(body));
                let last = PlStatement::new(line, PlStatementKind::Return { value: Some(value) });
                PlBlock { body: vec![inner, last], ..PlBlock::default() }
            }
            _ => body,
        });
        let body = body.map_err(|error| {
            // What PostgreSQL finds when it compiles a function points into its text.
            let error = if self.refused.get() { error } else { located(error, &self.source) };
            let name = signature.split('(').next().unwrap_or_default();
            error.with_context(&compiled_near(name, self.line))
        })?;
        Ok(PlFunction {
            oid: self.oid,
            sql: false,
            read_only: self.read_only,
            one_column: false,
            columns: self.columns,
            signature,
            argument_count,
            variables: self.variables.into(),
            returns: self.returns,
            found: Some(found),
            body,
            trigger: self.trigger.map(Box::new),
            strict_params: block.strict_params,
        })
    }

    /// The name `$n` of an argument.
    fn number(&mut self, number: usize, slot: usize, ty: &SqlType) {
        let (block, name) = (Arc::clone(&self.block), format!("${number}").into());
        let (ty, conflict) = (ty.clone(), self.conflict);
        self.binder.variables.push(Variable { block, name, slot, ty, conflict });
    }

    /// A new slot under a name; an empty name has only its slot.
    fn declare(&mut self, name: &str, ty: SqlType, not_null: bool) -> usize {
        let slot = self.variables.len();
        self.variables.push(PlVariable { name: name.into(), ty: ty.clone(), not_null });
        if !name.is_empty() {
            let block = Arc::clone(&self.block);
            let conflict = self.conflict;
            self.binder.variables.push(Variable { block, name: name.into(), slot, ty, conflict });
        }
        slot
    }

    fn block(&mut self, block: &syntax::PlBlock) -> Result<PlBlock, SqlError> {
        let (outer, outer_records) = (self.binder.variables.len(), self.binder.records.len());
        let outer_label = Arc::clone(&self.block);
        // A label qualifies the variables of its own block only.
        self.block = block.label.as_ref().map_or("", |label| label.text.as_str()).into();
        let outer_cursors = self.cursors.len();
        self.depth += 1;
        let mut cursors = Vec::new();
        let mut declarations = Vec::new();
        for (n, declaration) in block.declarations.iter().enumerate() {
            self.line = declaration.line;
            let again = block.declarations[..n].iter().any(|other| other.name.text == declaration.name.text);
            if again {
                let at = declaration.name.at;
                let length = (at.end - at.start) as usize;
                let name: String = self.source.text.chars().skip(at.start as usize).take(length).collect();
                let text = format!("duplicate declaration at or near \"{name}\"");
                return Err(self.refuse(SqlError::syntax(text).at(declaration.name.at.start)));
            }
            if let Some(cursor) = &declaration.cursor {
                cursors.push(self.declare_cursor(&declaration.name, cursor)?);
                continue;
            }
            if declaration.alike == PlAlike::Alias {
                self.alias(&declaration.name, &declaration.like)?;
                continue;
            }
            let ty = self.declared_type(declaration).map_err(|error| self.refuse(error))?;
            // The default is bound before the name exists, so it may mean an outer variable.
            let default = self.first(declaration, &ty)?;
            let within = self.noted.take();
            let is_record = ty == SqlType::Record;
            let slot = self.declare(&declaration.name.text, ty, declaration.not_null);
            if is_record {
                self.open.push(slot);
            }
            if declaration.constant {
                self.constants.push(slot);
            }
            declarations.push(PlDeclaration { slot, default, line: declaration.line, within });
        }
        self.labels.push((block.label.as_ref().map(|label| label.text.clone()), false));
        let body = self.statements(&block.body)?;
        let (handlers, error_slots) = self.handlers(&block.handlers)?;
        self.labels.pop();
        self.binder.variables.truncate(outer);
        self.binder.records.truncate(outer_records);
        self.cursors.truncate(outer_cursors);
        self.depth -= 1;
        self.block = outer_label;
        let label = block.label.as_ref().map(|label| label.text.as_str().into());
        Ok(PlBlock { label, declarations, cursors, body, handlers, error_slots })
    }

    /// EXCEPTION, and the slots of SQLSTATE and SQLERRM, which its handlers see.
    fn handlers(&mut self, handlers: &[syntax::PlHandler]) -> Result<(Vec<PlHandler>, ErrorSlots), SqlError> {
        if handlers.is_empty() {
            return Ok((Vec::new(), None));
        }
        let state = self.declare("sqlstate", SqlType::Text, false);
        let message = self.declare("sqlerrm", SqlType::Text, false);
        let outer_handler = std::mem::replace(&mut self.in_handler, true);
        let mut bound = Vec::new();
        for handler in handlers {
            let condition = |condition: &syntax::PlCondition| match condition {
                syntax::PlCondition::Others => PlCondition::Others,
                syntax::PlCondition::Sqlstate(code) => PlCondition::SqlState(code.as_str().into()),
            };
            let conditions = handler.conditions.iter().map(condition).collect();
            bound.push(PlHandler { conditions, body: self.statements(&handler.body)? });
        }
        self.in_handler = outer_handler;
        Ok((bound, Some((state, message))))
    }

    /// Marks an error as one that is not put off.
    fn refuse(&self, error: SqlError) -> SqlError {
        self.refused.set(true);
        error
    }

    /// The same of one that points at the statement that is bound.
    fn refuse_here(&self, error: SqlError) -> SqlError {
        self.refuse(error.at(self.at.0))
    }

    fn bind(&self, expr: &Expr) -> Result<TypedExpr, SqlError> {
        let bound = self.bind_quietly(expr)?;
        self.note_expression(expr, &bound);
        Ok(bound)
    }

    /// The same without a note of what its errors say.
    fn bind_quietly(&self, expr: &Expr) -> Result<TypedExpr, SqlError> {
        let scope = Scope::default();
        let bind = |expr: &Expr| {
            let bind = |binder: &Binder<'_>| binder.expr(expr, &mut Context::new(&scope, Clause::Procedure));
            self.binder.as_numbered(&bind)
        };
        let bound = bind(expr).or_else(|error| match is_of_queries(&error) {
            true => bind(&as_query(expr)),
            false => Err(error),
        });
        let mut bound = bound.map_err(|error| self.several_columns(expr, error))?;
        crate::plan::expression(&mut bound, self.binder.planning())?;
        Ok(bound)
    }

    /// The error of an expression that is a query without its SELECT, of several columns, as that of a body.
    fn several_columns(&self, expr: &Expr, error: SqlError) -> SqlError {
        let syntax::ExprKind::Subquery(query) = &expr.kind else { return error };
        let is_bare = query.at.start == expr.at.start;
        if !is_bare || error.message != "subquery must return only one column" {
            return error;
        }
        let (Ok(plan), Some((text, _))) = (
            self.binder.as_numbered(&|binder| binder.query_for(query, &[])),
            self.source.part_at(expr.at.start + 1),
        ) else {
            return error;
        };
        let (what, context) = match self.assigns.get() {
            true => ("assignment source", format!("PL/pgSQL assignment \"{text}\"")),
            false => ("query", format!("query: {text}")),
        };
        let text = format!("{what} returned {} columns", plan.output().len());
        SqlError::syntax(text).with_context(&context)
    }

    /// A value for a variable; PL/pgSQL casts by way of text where there is no assignment cast.
    fn value(&self, expr: &Expr, name: &str, ty: &SqlType) -> Result<TypedExpr, SqlError> {
        let bound = self.bind_quietly(expr)?;
        if bound.ty == SqlType::Unknown || !self.assigns.get() {
            self.note_expression(expr, &bound);
            return self.value_of(bound, expr.at.start, name, ty);
        }
        // The cast is a part of what PostgreSQL plans.
        let value = self.value_of(bound, expr.at.start, name, ty)?;
        self.note_expression(expr, &value);
        Ok(value)
    }

    /// A literal that is none of the variable's type is one when it runs, and not before.
    fn literal(
        &self,
        bound: TypedExpr,
        expr: &Expr,
        name: &str,
        ty: &SqlType,
    ) -> Result<TypedExpr, SqlError> {
        let value = self.value_of(bound, expr.at.start, name, ty);
        if value.is_ok() {
            return value;
        }
        let text = self.binder.coerce(
            self.bind_quietly(expr)?,
            expr.at.start,
            &SqlType::Text,
            CastKind::Implicit,
        )?;
        let cast = ExprKind::Cast { arg: Box::new(text), kind: CastKind::Assignment };
        self.binder.of_domain(TypedExpr::new(cast, ty.erased()), ty)
    }

    /// The same of the first value of a variable.
    fn first_value(&self, expr: &Expr, name: &str, ty: &SqlType) -> Result<TypedExpr, SqlError> {
        let bound = self.bind(expr)?;
        match bound.ty {
            SqlType::Unknown => self.literal(bound, expr, name, ty),
            _ => self.value_of(bound, expr.at.start, name, ty),
        }
    }

    fn value_of(
        &self,
        bound: TypedExpr,
        start: u32,
        name: &str,
        ty: &SqlType,
    ) -> Result<TypedExpr, SqlError> {
        match self.binder.is_assignable(&bound.ty, ty) {
            true => self.binder.assign(bound, start, name, ty),
            false => self.binder.by_way_of_text(bound, start, ty),
        }
    }

    /// The new value of a variable of which a part is assigned.
    fn value_within(
        &self,
        slot: usize,
        ty: &SqlType,
        target: &Name,
        path: &[syntax::Step],
        value: &Expr,
    ) -> Result<TypedExpr, SqlError> {
        let old = TypedExpr::new(ExprKind::Parameter(slot), ty.erased());
        let new = self.changed_within(old, target, path, value)?;
        self.binder.of_domain(new, ty)
    }

    /// The same of any value.
    fn changed_within(
        &self,
        old: TypedExpr,
        target: &Name,
        path: &[syntax::Step],
        value: &Expr,
    ) -> Result<TypedExpr, SqlError> {
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::Procedure);
        let bound = (self.binder.expr(value, &mut cx)?, value.at.start);
        let named = (target.text.as_str(), target.at.start);
        let mut new = self.binder.assigned_within(old, named, path, bound, &mut cx)?;
        crate::plan::expression(&mut new, self.binder.planning())?;
        self.note_expression(value, &new);
        Ok(new)
    }

    /// The condition of IF, WHILE, WHEN: any value that is assigned to a boolean.
    fn condition(&self, expr: &Expr) -> Result<TypedExpr, SqlError> {
        self.first_value(expr, "condition", &SqlType::Bool)
    }
}

/// Whether an expression is refused for what only the output of a query may have: aggregates, windows, functions of sets.
fn is_of_queries(error: &SqlError) -> bool {
    match error.sqlstate {
        sqlstate::GROUPING_ERROR | sqlstate::WINDOWING_ERROR => true,
        sqlstate::FEATURE_NOT_SUPPORTED => {
            error.message.starts_with("set-returning functions are not allowed")
        }
        _ => false,
    }
}

/// An expression as the query that it is to PostgreSQL: `SELECT expression`.
fn as_query(expr: &Expr) -> Expr {
    let items = vec![syntax::SelectItem::Expr { expr: expr.clone(), alias: None }];
    let select = syntax::Select::of(items, None);
    let query = syntax::Query::of(syntax::QueryBody::Select(Box::new(select)), expr.at);
    Expr { kind: syntax::ExprKind::Subquery(Box::new(query)), at: expr.at, point: expr.point }
}
