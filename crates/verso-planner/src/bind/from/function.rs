//! Functions, and forms of SQL that look like calls; what columns they have, and those that the query defines.

use std::sync::Arc;

use verso_catalog::{FunctionDef, FunctionReturn, SystemView};
use verso_exec::functions::json::with_definitions;
use verso_exec::functions::records::{UNNEST_ROWS, VALUE};
use verso_exec::functions::{ResultType, aggregate_candidates, window_candidates};
use verso_exec::plan::{OutputColumn, Plan, SetCall, SetColumns, TypedExpr};
use verso_types::{CastKind, RowType, SqlType, Value};

use super::super::Binder;
use super::super::call::Found;
use super::super::collate::{made_of, searching};
use super::super::context::{Clause, Context};
use super::super::polymorphic::is_polymorphic;
use super::super::resolve::result_type;
use super::super::row::with_fields;
use super::super::scope::Scope;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Call, Name};

impl Binder<'_> {
    /// Functions side by side, perhaps numbered; whether the first column takes the alias for its name.
    pub(super) fn rows_from(
        &self,
        calls: &[(Call, Vec<(Name, SqlType)>)],
        ordinality: bool,
    ) -> Result<(Plan, bool), SqlError> {
        let mut functions = Vec::new();
        let mut single = true;
        for (call, definitions) in calls {
            let definitions = self.definitions(definitions)?;
            let several = unnests_several(call);
            let parts: Vec<Call> = match several {
                // `unnest(a, b)`: each array by itself.
                true => {
                    call.args.iter().map(|arg| Call::plain(call.name.clone(), vec![arg.clone()])).collect()
                }
                false => vec![call.clone()],
            };
            for part in parts {
                let (plan, one) = self.function_scan(&part)?;
                single &= one && definitions.is_empty();
                match defined(plan, &definitions, part.name.at().start)? {
                    Plan::FunctionScan { call, columns } => functions.push(SetColumns { call, columns }),
                    _ => {
                        let what = "a system view beside other functions or numbered";
                        return Err(SqlError::unsupported(what).at(part.name.at().start));
                    }
                }
            }
        }
        single &= functions.len() == 1;
        let input = Box::new(Plan::Values { rows: vec![Vec::new()], columns: Vec::new() });
        Ok((Plan::ProjectSet { input, calls: functions, ordinality, unread: Vec::new() }, single))
    }

    /// A function in FROM; whether it yields one unnamed column.
    pub(super) fn function_scan(&self, call: &verso_parser::syntax::Call) -> Result<(Plan, bool), SqlError> {
        let call = &*self.positional(call)?;
        let at = call.name.at().start;
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::From);
        if call.star || call.distinct || call.filter.is_some() {
            return Err(SqlError::syntax("syntax error: a function in FROM takes plain arguments").at(at));
        }
        let name = call.name.name.text.as_str();
        if let Some(form) = self.form_in_from(call, &mut cx)? {
            let to = vec![form.ty.clone()];
            return self.function_rows(Found::BuiltIn(&VALUE, vec![(form, at)], to), name);
        }
        let args = self.located(&call.args, &mut cx)?;
        if let Some(view) = SystemView::of_call(name)
            && self.is_built_in(call.name.schema_text(), name)
        {
            return Ok((self.view_call(view, args, at)?, false));
        }
        if args.is_empty()
            && let Some(plan) = super::super::view_function::scan(self, &call.name)
        {
            self.check_call(&call.name.name.text, &[])?;
            return Ok((plan, false));
        }
        let found = match self.function(call, args) {
            Err(error) if error.sqlstate == sqlstate::UNDEFINED_FUNCTION => {
                return Err(self.no_plain_function(call).unwrap_or(error));
            }
            found => found?,
        };
        self.function_rows(found, name)
    }

    /// Whether something built in of that name may be meant with this schema: those of extensions are where these were made, too.
    pub(in crate::bind) fn is_built_in(&self, schema: Option<&str>, name: &str) -> bool {
        schema.is_none_or(|schema| schema == "pg_catalog" || self.catalog.has_from_extension(schema, name))
    }

    /// The value of a form of SQL that looks like a call, or of one that FROM takes for a call.
    pub(super) fn form_in_from(
        &self,
        call: &Call,
        cx: &mut Context<'_>,
    ) -> Result<Option<TypedExpr>, SqlError> {
        match (call.args.as_slice(), &call.name.schema) {
            ([form], _) if call.form => self.expr(form, cx).map(Some),
            (_, None) if call.over.is_none() => {
                self.special_form(&call.name.name.text, call, call.name.at(), cx)
            }
            _ => Ok(None),
        }
    }

    /// What is wrong with an aggregate or a window function as a function in FROM.
    pub(super) fn no_plain_function(&self, call: &Call) -> Option<SqlError> {
        let name = call.name.name.text.as_str();
        let (at, schema) = (call.name.at().start, call.name.schema_text());
        if schema.is_some_and(|schema| schema != "pg_catalog") {
            return None;
        }
        if !aggregate_candidates(name).is_empty() || self.is_user_aggregate(call) {
            let text = "aggregate functions are not allowed in functions in FROM";
            return Some(SqlError::new(sqlstate::GROUPING_ERROR, text).at(at));
        }
        let text = format!("window function {name} requires an OVER clause");
        let is_window = !window_candidates(name).is_empty();
        is_window.then(|| SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at))
    }

    /// The rows of a function that was found; whether they have one unnamed column.
    pub(super) fn function_rows(&self, found: Found, name: &str) -> Result<(Plan, bool), SqlError> {
        match found {
            Found::BuiltIn(function, args, to) => {
                let args = args
                    .into_iter()
                    .zip(&to)
                    .map(|((arg, at), to)| self.coerce(arg, at, to, CastKind::Implicit))
                    .collect::<Result<Vec<_>, _>>()?;
                let (function, mut args) = searching(function, args)?;
                let populates = with_definitions(function.name).is_some();
                if let Some(row) = args.first_mut().filter(|_| populates) {
                    *row = with_fields(row.clone());
                }
                let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
                let ty = result_type(&function.result, &types);
                // Of rows without a type the query says the fields, whatever is known of them.
                let of_array = function.name == "unnest" && matches!(types.first(), Some(SqlType::Array(_)));
                let is_open = |row: &RowType| (of_array || populates) && row.of.is_none();
                let ty = match ty {
                    SqlType::Row(row) if is_open(&row) => SqlType::Record,
                    ty => ty,
                };
                let (columns, single) = match &ty {
                    SqlType::Row(row) => {
                        let column = |(name, ty): &(Arc<str>, SqlType)| {
                            OutputColumn::new(Arc::clone(name), ty.clone())
                        };
                        (row.fields.iter().map(column).collect(), false)
                    }
                    // the one OUT parameter has a name, which an alias of the function leaves as it is
                    _ if function.name.contains("_array_elements") => {
                        (vec![OutputColumn::new("value", ty)], false)
                    }
                    _ if function.name == "pg_partition_ancestors" => {
                        (vec![OutputColumn::new("relid", ty)], false)
                    }
                    _ => (vec![made_of(OutputColumn::new(name, ty), &args)], true),
                };
                Ok((Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns }, single))
            }
            Found::User(function, args) => {
                let (columns, single) = columns_of_routine(&function, name);
                Ok((Plan::FunctionScan { call: SetCall::User { function, args }, columns }, single))
            }
        }
    }

    /// The columns that a query defines, with what the names of their types mean.
    pub(super) fn definitions(
        &self,
        definitions: &[(Name, SqlType)],
    ) -> Result<Vec<(Name, SqlType)>, SqlError> {
        let one = |(name, ty): &(Name, SqlType)| match self.data_type(ty)?.erased() {
            ty if is_polymorphic(&ty) => {
                let text = format!("column \"{}\" has pseudo-type {}", name.text, ty.pg_name());
                Err(SqlError::new("42P16", text))
            }
            ty => Ok((name.clone(), ty)),
        };
        definitions.iter().map(one).collect()
    }
}

/// The plan of a function whose columns the query defines: `AS t(a int, b text)`. Their names are its last argument.
pub(super) fn defined(plan: Plan, definitions: &[(Name, SqlType)], at: u32) -> Result<Plan, SqlError> {
    if let Plan::FunctionScan { call: SetCall::User { function, args }, columns } = plan {
        return defined_routine(function, args, columns, definitions, at);
    }
    let Plan::FunctionScan { call: SetCall::Builtin { mut function, mut args }, columns } = plan else {
        return match definitions.first() {
            Some((name, _)) => Err(SqlError::unsupported("a column definition list").at(name.at.start)),
            None => Ok(plan),
        };
    };
    let open = function.result == verso_exec::functions::ResultType::Fixed(SqlType::Record);
    // What it yields are rows of which nothing says what their fields are.
    let yields_rows = matches!(columns.as_slice(), [OutputColumn { ty: SqlType::Record, .. }]);
    match (open || yields_rows, definitions.first()) {
        (true, None) => {
            let text = "a column definition list is required for functions returning \"record\"";
            return Err(SqlError::syntax(text).at(at));
        }
        (false, Some((name, _))) => {
            let text = match function.result {
                verso_exec::functions::ResultType::Columns(_)
                | verso_exec::functions::ResultType::Mixed(_) => {
                    "a column definition list is redundant for a function with OUT parameters"
                }
                verso_exec::functions::ResultType::SameAs(0)
                    if args.first().is_some_and(|row| row.ty.composite().is_some()) =>
                {
                    "a column definition list is redundant for a function returning a named composite type"
                }
                _ => "a column definition list is only allowed for functions returning \"record\"",
            };
            return Err(SqlError::syntax(text).at(name.at.start));
        }
        (false, None) => {
            return Ok(Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns });
        }
        (true, Some(_)) => {}
    }
    let columns =
        definitions.iter().map(|(name, ty)| OutputColumn::new(name.text.as_str(), ty.clone())).collect();
    if !open {
        if function.name == "unnest" {
            let function = &UNNEST_ROWS;
            return Ok(Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns });
        }
        let Some(defined) = with_definitions(function.name) else {
            return Ok(Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns });
        };
        function = defined;
        args.truncate(2);
    }
    let names: Vec<Value> = definitions.iter().map(|(name, _)| Value::text(&name.text)).collect();
    args.push(TypedExpr::literal(Value::Array(names.into()), SqlType::Array(Box::new(SqlType::Text))));
    Ok(Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns })
}

/// The composite type of the rows that a function yields; none of those that nothing but the function knows.
pub(in crate::bind) fn row_of_call(call: &SetCall) -> Option<Arc<RowType>> {
    let ty = match call {
        SetCall::User { function, .. } => SqlType::Row(function.returns.fields()?),
        SetCall::Builtin { function, args } => {
            let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
            result_type(&function.result, &types)
        }
    };
    match ty {
        SqlType::Row(row) if row.of.is_some() => Some(row),
        _ => None,
    }
}

/// Whether a call whose rows have one column yields values: the name of its item then is that of a value, not of a row.
pub(super) fn yields_values(call: &SetCall) -> bool {
    match call {
        SetCall::User { function, .. } => function.returns.fields().is_none(),
        SetCall::Builtin { function, .. } => {
            !matches!(function.result, ResultType::Columns(_) | ResultType::Mixed(_))
                && row_of_call(call).is_none()
        }
    }
}

/// The columns of a user's function in FROM; whether it is one that has no name.
pub(super) fn columns_of_routine(function: &FunctionDef, name: &str) -> (Vec<OutputColumn>, bool) {
    let output = |(name, ty): &(Arc<str>, SqlType)| OutputColumn::new(Arc::clone(name), ty.erased());
    let one = |ty: &SqlType| match function.outputs().next() {
        // The only argument that comes out names the column.
        Some(arg) if !arg.name.is_empty() => {
            (vec![OutputColumn::new(Arc::clone(&arg.name), ty.erased())], false)
        }
        _ => (vec![OutputColumn::new(name, ty.erased())], true),
    };
    if let Some(row) = function.returns.fields() {
        return (row.fields.iter().map(output).collect(), false);
    }
    match &function.returns {
        FunctionReturn::Void | FunctionReturn::Procedure | FunctionReturn::Trigger => one(&SqlType::Void),
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => one(ty),
        FunctionReturn::Table(columns) => (columns.iter().map(output).collect(), false),
    }
}

/// The plan of a user's function, whose columns the query defines if the function does not.
pub(super) fn defined_routine(
    function: Arc<FunctionDef>,
    args: Vec<TypedExpr>,
    mut columns: Vec<OutputColumn>,
    definitions: &[(Name, SqlType)],
    at: u32,
) -> Result<Plan, SqlError> {
    let open = matches!(
        function.returns,
        FunctionReturn::Scalar(SqlType::Record) | FunctionReturn::Set(SqlType::Record)
    );
    match (open, definitions.first()) {
        (true, None) => {
            let text = "a column definition list is required for functions returning \"record\"";
            return Err(SqlError::syntax(text).at(at));
        }
        (false, Some((name, _))) => {
            let text = match &function.returns {
                FunctionReturn::Table(_) => {
                    "a column definition list is redundant for a function with OUT parameters"
                }
                FunctionReturn::Scalar(SqlType::Row(_)) | FunctionReturn::Set(SqlType::Row(_))
                    if function.rows_of.is_none() =>
                {
                    "a column definition list is redundant for a function with OUT parameters"
                }
                _ if function.returns.fields().is_some() => {
                    "a column definition list is redundant for a function returning a named composite type"
                }
                _ => "a column definition list is only allowed for functions returning \"record\"",
            };
            return Err(SqlError::syntax(text).at(name.at.start));
        }
        (false, None) => {}
        (true, Some(_)) => {
            let column = |(name, ty): &(Name, SqlType)| OutputColumn::new(name.text.as_str(), ty.clone());
            columns = definitions.iter().map(column).collect();
        }
    }
    Ok(Plan::FunctionScan { call: SetCall::User { function, args }, columns })
}

/// `unnest` of several arrays is no function of its own.
pub(super) fn unnests_several(call: &Call) -> bool {
    call.args.len() > 1 && call.name.schema.is_none() && call.name.name.text == "unnest"
}
