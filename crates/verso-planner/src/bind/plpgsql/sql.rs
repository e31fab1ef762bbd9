//! Functions in SQL: their statements one after the other, and what the last one yields.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, FunctionReturn, Volatility};
use verso_exec::plan::{
    ExprKind, OutputColumn, PlBlock, PlFunction, PlInto, PlPlace, PlReturn, PlStatement, PlStatementKind,
    PlTargets, Statement as Planned, TypedExpr,
};
use verso_types::{CastKind, RowType, SqlType, TimeStyle};

use super::Body;
use super::statement::planned;
use crate::bind::Binder;
use crate::bind::scope::value_type;
use crate::bind::trace::Trace;
use crate::bind::view::Noting;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Parsed, PlConflict, QueryBody, Select, Statement};

/// Binds a function in SQL.
///
/// # Errors
/// Those of its statements; 42P13 where the last one does not yield what the function returns.
pub fn bind_sql_function(
    function: &FunctionDef,
    statements: &[Parsed],
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<PlFunction, SqlError> {
    bind_noted(function, statements, (catalog, time_zone), Watch::default())
}

/// What is noted while a body is bound.
#[derive(Clone, Copy, Default)]
struct Watch<'w> {
    /// What its names mean; they are looked up anew, unless they are `kept`.
    noting: Option<&'w Noting>,
    /// Names mean what they meant when the function was made.
    kept: bool,
    /// What its text means.
    traced: Option<&'w Trace>,
}

/// Binds a body that is SQL's own again and notes what its text means.
pub(crate) fn traced_body(
    function: &FunctionDef,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
    trace: &Trace,
) -> Result<Vec<Parsed>, SqlError> {
    let statements = super::function_statements(function)?;
    let watch = Watch { traced: Some(trace), ..Watch::default() };
    bind_noted(function, &statements, (catalog, time_zone), watch)?;
    Ok(statements)
}

/// The same of a function whose body is SQL's own; what its names mean is noted.
///
/// # Errors
/// The same.
pub(in crate::bind) fn bind_noting(
    function: &FunctionDef,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
    noting: &Noting,
) -> Result<PlFunction, SqlError> {
    let statements = super::function_statements(function)?;
    let watch = Watch { noting: Some(noting), ..Watch::default() };
    bind_noted(function, &statements, (catalog, time_zone), watch)
}

/// The same of one that is kept, whose names mean what they meant when it was made.
///
/// # Errors
/// The same.
pub(in crate::bind) fn bind_kept_noting(
    function: &FunctionDef,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
    noting: &Noting,
) -> Result<PlFunction, SqlError> {
    let statements = super::function_statements(function)?;
    let watch = Watch { noting: Some(noting), kept: true, ..Watch::default() };
    bind_noted(function, &statements, (catalog, time_zone), watch)
}

fn bind_noted(
    function: &FunctionDef,
    statements: &[Parsed],
    (catalog, time_zone): (&Arc<CatalogSnapshot>, &TimeStyle),
    watch: Watch<'_>,
) -> Result<PlFunction, SqlError> {
    let inputs = || function.called_with();
    let types: Vec<SqlType> = inputs().map(|arg| value_type(&arg.ty)).collect();
    let stored = function.stored.as_deref().filter(|_| watch.noting.is_none() || watch.kept);
    let own = Binder::new(catalog, time_zone, &types);
    let Watch { noting, traced, .. } = watch;
    let unread = noting.is_some() || traced.is_some();
    let binder = Binder { noting, traced, unread, stored: stored.map(|stored| &stored.query), ..own };
    let name = stored.map_or(&function.name, |stored| &stored.name);
    let mut body = Body::new(binder, Arc::clone(name));
    body.conflict = PlConflict::Column;
    for arg in inputs() {
        body.declare(&arg.name, arg.ty.clone(), false);
    }
    let mut returns = super::returned(function);
    if function.is_procedure() {
        // What the last statement yields goes to the arguments that come out.
        let outputs = || function.args.iter().enumerate().filter(|(_, arg)| arg.mode.goes_out());
        body.result_slots = outputs().map(|(slot, _)| slot).collect();
        returns = match outputs().map(|(_, arg)| arg.ty.clone()).collect::<Vec<_>>().as_slice() {
            [] => PlReturn::Void,
            [one] => PlReturn::Scalar(one.clone()),
            more => PlReturn::Rows(more.to_vec()),
        };
    }
    body.returns_rows = matches!(function.returns, FunctionReturn::Set(SqlType::Row(_) | SqlType::Record));
    let found = body.declare("", SqlType::Bool, false);
    let mut steps = Vec::new();
    let last = statements.len().saturating_sub(1);
    // A set of void has no rows, whatever the last statement yields.
    let of_nothing = matches!(function.returns, FunctionReturn::Set(SqlType::Void));
    for (n, parsed) in statements.iter().enumerate() {
        let wanted = match n == last && !of_nothing {
            true if body.hands_on_void(function, statements) => &PlReturn::Scalar(SqlType::Void),
            true => &returns,
            false => &PlReturn::Void,
        };
        let mut own = Vec::new();
        if let Some(kind) = body.sql_beside(function, parsed, wanted)? {
            own.push(kind);
        } else {
            let wanted = Wanted { function, returns: wanted };
            body.sql_statement(&parsed.statement, &wanted, found, &mut own)?;
        }
        let line = u32::try_from(n + 1).unwrap_or(u32::MAX);
        steps.extend(own.into_iter().map(|kind| PlStatement::new(line, kind)));
    }
    if statements.is_empty() && returns != PlReturn::Void && !of_nothing {
        return Err(mismatch(function, NO_ROWS));
    }
    let block = PlBlock { body: steps, ..PlBlock::default() };
    Ok(PlFunction {
        oid: function.oid.0,
        sql: true,
        read_only: function.volatility != Volatility::Volatile,
        one_column: is_one_column(function),
        columns: Arc::default(),
        signature: super::named(function, catalog),
        argument_count: types.len(),
        variables: body.variables.into(),
        returns,
        found: Some(found),
        body: block,
        trigger: None,
        strict_params: None,
    })
}

fn of_function(statement: Box<Planned>, into: Option<PlInto>) -> PlStatementKind {
    PlStatementKind::Sql { statement, into, text: None, perform: false }
}

/// Of a last statement that yields no rows.
const NO_ROWS: &str = "Function's final statement must be SELECT or INSERT/UPDATE/DELETE/MERGE RETURNING.";

/// What a statement is to yield.
struct Wanted<'w> {
    function: &'w FunctionDef,
    /// Nothing, unless it is the last one.
    returns: &'w PlReturn,
}

/// Whether a function yields values that are no rows, or rows of one column that is named: a row of a query that stands
/// alone in its list becomes such a value, and is not taken apart.
fn is_one_column(function: &FunctionDef) -> bool {
    match &function.returns {
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => !ty.is_row(),
        FunctionReturn::Table(columns) => columns.len() == 1,
        FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => false,
    }
}

/// Whether the only column of a last statement is the row that the function returns.
fn is_whole(function: &FunctionDef, given: &SqlType) -> bool {
    if is_one_column(function) || function.is_procedure() {
        return false;
    }
    let becomes = |ty: &SqlType| {
        // As its only field a row is taken, too.
        let is_field = matches!(ty, SqlType::Row(row) if row.as_declared().map(|(_, ty)| ty).eq([given]));
        !is_field && verso_types::cast_kind(given, ty).is_some_and(|kind| kind <= CastKind::Assignment)
    };
    given.is_row()
        && match &function.returns {
            FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => becomes(ty),
            _ => true,
        }
}

/// `42P13`.
fn mismatch(function: &FunctionDef, detail: &str) -> SqlError {
    let declared = match &function.returns {
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => ty.pg_name(),
        FunctionReturn::Table(columns) if columns.len() == 1 => columns[0].1.pg_name(),
        FunctionReturn::Table(_) | FunctionReturn::Procedure => "record".to_string(),
        FunctionReturn::Void | FunctionReturn::Trigger => "void".to_string(),
    };
    let text = format!("return type mismatch in function declared to return {declared}");
    SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text).with_detail(detail.to_string())
}

/// Refuses columns that do not become those that a function returns.
fn check_columns(function: &FunctionDef, given: &[OutputColumn], types: &[SqlType]) -> Result<(), SqlError> {
    let one = is_one_column(function);
    if one && given.len() != 1 {
        return Err(mismatch(function, "Final statement must return exactly one column."));
    }
    for (n, given) in given.iter().enumerate() {
        let Some(wanted) = types.get(n) else {
            return Err(mismatch(function, "Final statement returns too many columns."));
        };
        let known = given.ty == SqlType::Unknown || given.ty.same_base(wanted);
        let assignable =
            verso_types::cast_kind(&given.ty, wanted).is_some_and(|kind| kind <= CastKind::Assignment);
        if !known && !assignable {
            let (given, wanted) = (given.ty.pg_name(), wanted.pg_name());
            let detail = match one {
                true => format!("Actual return type is {given}."),
                false => {
                    format!("Final statement returns {given} instead of {wanted} at column {}.", n + 1)
                }
            };
            return Err(mismatch(function, &detail));
        }
    }
    match given.len() < types.len() {
        true => Err(mismatch(function, "Final statement returns too few columns.")),
        false => Ok(()),
    }
}

impl Body<'_> {
    /// Whether the function is one that PostgreSQL replaces by a call of another one of void, of which the value is no NULL.
    fn hands_on_void(&self, function: &FunctionDef, statements: &[Parsed]) -> bool {
        let is_replaced = function.returns == FunctionReturn::Void
            && function.volatility == Volatility::Volatile
            && !function.strict
            && !function.security_definer
            && function.settings.is_empty();
        let [Parsed { statement: Statement::Query(query), .. }] = statements else { return false };
        let QueryBody::Select(select) = &query.body else { return false };
        let [item] = select.items.as_slice() else { return false };
        if !is_replaced || **select != Select::of(vec![item.clone()], None) {
            return false;
        }
        let plan = self.binder.as_numbered(&|binder| binder.query_for(query, &[]));
        plan.is_ok_and(|plan| matches!(plan.output().as_slice(), [column] if column.ty == SqlType::Void))
    }

    /// A statement that is no query and no change: CALL, and what the session runs as a text. None for others, and where a row is wanted.
    fn sql_beside(
        &mut self,
        function: &FunctionDef,
        parsed: &Parsed,
        wanted: &PlReturn,
    ) -> Result<Option<PlStatementKind>, SqlError> {
        let with_outputs = || {
            let text = "calling procedures with output arguments is not supported in SQL functions";
            SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
        };
        if *wanted != PlReturn::Void {
            return match &parsed.statement {
                Statement::Call(call)
                    if self.binder.procedure(call)?.0.args.iter().any(|arg| arg.mode.goes_out()) =>
                {
                    Err(with_outputs())
                }
                _ => Ok(None),
            };
        }
        let text = function.body.get(parsed.at.start as usize..parsed.at.end as usize).unwrap_or_default();
        match &parsed.statement {
            Statement::Call(_) if function.standard_body => {
                let text = "CALL is not yet supported in unquoted SQL function body";
                Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
            }
            Statement::Call(call) => {
                let (called, args) = self.binder.procedure(call)?;
                if called.args.iter().any(|arg| arg.mode.goes_out()) {
                    return Err(with_outputs());
                }
                let out = Vec::new();
                Ok(Some(PlStatementKind::Call { function: called, args, out, text: text.into() }))
            }
            // What may not be done in a function is refused when it is to be done.
            statement
                if statement.defines() || statement.serves() || statement.of_transactions().is_some() =>
            {
                if function.standard_body {
                    let words = text.split_whitespace().take(2).collect::<Vec<_>>().join(" ").to_uppercase();
                    let text = format!("{words} is not yet supported in unquoted SQL function body");
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
                }
                let query = match statement {
                    Statement::CreateTableAs(create) => Some(Statement::Query(create.query.clone())),
                    _ => None,
                };
                let query = query.map(|query| self.binder.statement(&query).map(Box::new)).transpose()?;
                Ok(Some(PlStatementKind::Define { text: text.into(), query, into: None }))
            }
            _ => Ok(None),
        }
    }

    fn sql_statement(
        &mut self,
        statement: &Statement,
        &Wanted { function, returns }: &Wanted<'_>,
        found: usize,
        steps: &mut Vec<PlStatementKind>,
    ) -> Result<(), SqlError> {
        let fields: Vec<SqlType>;
        let types: &[SqlType] = match returns {
            PlReturn::Void | PlReturn::Trigger | PlReturn::Record | PlReturn::Records => &[],
            // Of a procedure one argument takes one column, also a row.
            PlReturn::Scalar(SqlType::Row(row)) if self.result_slots.is_empty() => {
                fields = row.as_declared().map(|(_, ty)| ty.clone()).collect();
                &fields
            }
            PlReturn::Scalar(ty) => std::slice::from_ref(ty),
            PlReturn::Rows(types) => types,
        };
        let bound = match statement {
            // as with a client's statement: its WITH may change rows
            Statement::Query(query) if query.changes_rows() => Box::new(self.binder.statement(statement)?),
            Statement::Query(query) => {
                let plan = self.binder.as_numbered(&|binder| binder.query_for(query, &[]))?;
                planned(&self.binder, plan)?
            }
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_) => {
                Box::new(self.binder.statement(statement)?)
            }
            _ if *returns != PlReturn::Void => {
                return Err(mismatch(function, NO_ROWS));
            }
            _ => {
                return Err(SqlError::unsupported(
                    "a function in SQL with other statements than queries and changes",
                ));
            }
        };
        if *returns == PlReturn::Void {
            steps.push(of_function(bound, None));
            return Ok(());
        }
        let given = bound.output();
        if given.is_empty() {
            return Err(mismatch(function, NO_ROWS));
        }
        // One column may be the whole row.
        let whole = given.len() == 1 && is_whole(function, &given[0].ty);
        let open = matches!(returns, PlReturn::Record | PlReturn::Records);
        if !whole && !open {
            check_columns(function, &given, types)?;
        }
        if !self.result_slots.is_empty() {
            steps.push(of_function(bound, Some(self.arguments_as_into())));
            return Ok(());
        }
        match returns {
            PlReturn::Scalar(_) | PlReturn::Record => {
                let ty = match returns {
                    PlReturn::Scalar(ty) => ty.clone(),
                    _ => SqlType::Record,
                };
                let slot = self.declare("", ty.clone(), false);
                let targets = match &ty {
                    SqlType::Row(_) if !whole => PlTargets::Row { slot, types: types.to_vec() },
                    SqlType::Record if !whole => PlTargets::Record { slot },
                    _ => PlTargets::Places(vec![PlPlace { slot, field: None, ty: ty.clone() }]),
                };
                let into = Some(PlInto { targets, strict: false, params: Vec::new() });
                steps.push(of_function(bound, into));
                let row = ty.is_row();
                let value = TypedExpr::new(ExprKind::Parameter(slot), ty.erased());
                let returned = match returns {
                    PlReturn::Record if !whole => {
                        let fields = given.into_iter().map(|column| (column.name, column.ty)).collect();
                        let shape = Arc::new(RowType::unnamed(fields));
                        PlStatementKind::ReturnComposite { value, shape, types: None }
                    }
                    _ => PlStatementKind::Return { value: Some(value) },
                };
                if !row {
                    steps.push(returned);
                    return Ok(());
                }
                // Without a row it is NULL, and no row of NULLs.
                let line = |kind| PlStatement::new(1, kind);
                let condition = TypedExpr::new(ExprKind::Parameter(found), SqlType::Bool);
                let nothing = TypedExpr::null(SqlType::Record);
                steps.push(PlStatementKind::If {
                    operand: None,
                    branches: vec![(condition, vec![line(returned)])],
                    otherwise: vec![line(PlStatementKind::Return { value: Some(nothing) })],
                    word: "IF",
                });
            }
            _ => steps.push(PlStatementKind::ReturnQuery { query: bound, text: None }),
        }
        Ok(())
    }

    /// The arguments of a procedure that take the columns of its last statement.
    fn arguments_as_into(&self) -> PlInto {
        let place = |slot: &usize| PlPlace { slot: *slot, field: None, ty: self.variables[*slot].ty.clone() };
        let targets = PlTargets::Places(self.result_slots.iter().map(place).collect());
        PlInto { targets, strict: false, params: Vec::new() }
    }
}
