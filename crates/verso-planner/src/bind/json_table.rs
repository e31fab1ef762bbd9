//! JSON_TABLE: a function yields the items that the paths of its rows find, and a projection computes the columns of them.
//!
//! ```text
//! Project  JSON_VALUE(#0, '$.a'), #1, JSON_QUERY(#2, '$.b')
//!   json_table(document, '$[*]', nested '$.x[*]')  ─►  #0 item, #1 its number, #2 nested item, #3 its number
//! ```
//!
//! Source: PostgreSQL's `parse_jsontable.c`.

use std::collections::HashSet;
use std::sync::Arc;

use verso_env::recursion;
use verso_exec::functions::json::JSON_TABLE;
use verso_exec::plan::{JsonPathTest, OutputColumn, Plan, SetCall, TypedExpr};
use verso_parser::syntax::{
    Expr, ExprKind, JsonColumn, JsonFallback, JsonOutput, JsonResult, JsonRows, JsonTable, JsonWrapper,
    Literal, Name,
};
use verso_types::{CastKind, SqlType, SystemType, Value};

use super::Binder;
use super::context::{Clause, Context};
use super::resolve::shown;
use super::scope::Scope;
use super::sql_json::{JsonPathParts, Owner};
use crate::errors::{SqlError, sqlstate};

/// What has been bound of a JSON_TABLE.
struct Columns {
    /// The paths of rows, each behind as many characters as it is levels deep.
    paths: Vec<Value>,
    /// The columns.
    exprs: Vec<TypedExpr>,
    names: Vec<Arc<str>>,
    /// The names of columns and paths, which must differ.
    taken: HashSet<String>,
    /// PASSING.
    passing: Vec<(Arc<str>, TypedExpr)>,
}

impl Columns {
    fn take(&mut self, name: &Name) -> Result<(), SqlError> {
        if self.taken.insert(name.text.clone()) {
            return Ok(());
        }
        let text = format!("duplicate JSON_TABLE column or path name: {}", name.text);
        Err(SqlError::new(sqlstate::DUPLICATE_ALIAS, text).at(name.at.start))
    }

    fn push(&mut self, name: &Name, expr: TypedExpr) {
        self.names.push(Arc::from(name.text.as_str()));
        self.exprs.push(expr);
    }
}

/// The text of a path, which must be written as a string.
fn path_text(path: &Expr) -> Result<&str, SqlError> {
    match &path.kind {
        ExprKind::Literal(Literal::String(text)) => Ok(text),
        _ => {
            let text = "only string constants are supported in JSON_TABLE path specification";
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(path.at.start))
        }
    }
}

/// Types whose columns are made by JSON_QUERY, whatever is written.
fn holds_several(ty: &SqlType) -> bool {
    matches!(
        ty.erased(),
        SqlType::Json | SqlType::Jsonb | SqlType::Record | SqlType::Row(_) | SqlType::Array(_)
    )
}

impl Binder<'_> {
    pub(super) fn json_table(&self, table: &JsonTable) -> Result<Plan, SqlError> {
        let loud = match &table.on_error {
            None | Some((JsonFallback::EmptyArray, _)) => false,
            Some((JsonFallback::Error, _)) => true,
            Some((_, at)) => {
                let detail = "Only EMPTY [ ARRAY ] or ERROR is allowed in the top-level ON ERROR clause.";
                return Err(SqlError::syntax("invalid ON ERROR behavior").with_detail(detail).at(*at));
            }
        };
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::From);
        let document = self.json_document(&table.document, &mut cx)?;
        let passing = self.json_passing(&table.passing, &mut cx)?;
        let mut columns = Columns {
            paths: Vec::new(),
            exprs: Vec::new(),
            names: Vec::new(),
            taken: HashSet::new(),
            passing,
        };
        self.json_names(&table.rows, &mut columns)?;
        self.json_rows(&table.rows, 0, &mut columns, &mut cx)?;
        let texts = |values: Vec<Value>| {
            TypedExpr::literal(Value::Array(values.into()), SqlType::Array(Box::new(SqlType::Text)))
        };
        let levels = columns.paths.len() / 2;
        let names = columns.passing.iter().map(|(name, _)| Value::text(name)).collect();
        let mut args = vec![
            document,
            TypedExpr::literal(Value::Bool(loud), SqlType::Bool),
            texts(columns.paths),
            texts(names),
        ];
        args.extend(columns.passing.into_iter().map(|(_, value)| value));
        let output = (0..levels).flat_map(|_| {
            [OutputColumn::new("item", SqlType::Jsonb), OutputColumn::new("number", SqlType::Int4)]
        });
        let input = Box::new(Plan::FunctionScan {
            call: SetCall::Builtin { function: &JSON_TABLE, args },
            columns: output.collect(),
        });
        Ok(Plan::Project { input, exprs: columns.exprs, names: columns.names })
    }

    /// Names are looked at before anything else, in the order in which they are written.
    fn json_names(&self, rows: &JsonRows, columns: &mut Columns) -> Result<(), SqlError> {
        recursion::check()?;
        if let Some(name) = &rows.name {
            columns.take(name)?;
        }
        for column in &rows.columns {
            match column {
                JsonColumn::Ordinality(name) | JsonColumn::Regular { name, .. } => columns.take(name)?,
                JsonColumn::Nested(rows) => self.json_names(rows, columns)?,
            }
        }
        Ok(())
    }

    /// The columns of a path's rows, then those of the paths nested in it.
    fn json_rows(
        &self,
        rows: &JsonRows,
        depth: usize,
        columns: &mut Columns,
        cx: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        recursion::check()?;
        let path = path_text(&rows.path)?;
        self.json_path_literal(path, rows.path.at.start)?;
        let level = columns.paths.len() / 2;
        columns.paths.extend([Value::text(&"-".repeat(depth)), Value::text(path)]);
        let mut numbered = false;
        // A level's own columns come first, wherever the nested ones are written among them.
        let is_nested = |column: &&JsonColumn| matches!(column, JsonColumn::Nested(_));
        let own = rows.columns.iter().filter(|column| !is_nested(column));
        for column in own.chain(rows.columns.iter().filter(is_nested)) {
            match column {
                JsonColumn::Ordinality(name) => {
                    if std::mem::replace(&mut numbered, true) {
                        let text = "only one FOR ORDINALITY column is allowed";
                        return Err(SqlError::syntax(text).at(name.at.start));
                    }
                    columns.push(name, TypedExpr::column(2 * level + 1, SqlType::Int4));
                }
                JsonColumn::Regular { name, ty, exists, path, result } => {
                    let path = match path {
                        Some(path) => self.json_path_literal(path_text(path)?, path.at.start)?,
                        None => {
                            let mut text = String::from("$.");
                            verso_types::json::escape_into(&name.text, &mut text);
                            self.json_path_literal(&text, name.at.start)?
                        }
                    };
                    let parts = JsonPathParts {
                        document: TypedExpr::column(2 * level, SqlType::Jsonb),
                        path,
                        passing: columns.passing.clone(),
                        at: name.at.start,
                    };
                    let column = self.json_column(parts, name, (ty, *exists), result, cx)?;
                    columns.push(name, column);
                }
                JsonColumn::Nested(rows) => self.json_rows(rows, depth + 1, columns, cx)?,
            }
        }
        Ok(())
    }

    fn json_column(
        &self,
        parts: JsonPathParts,
        name: &Name,
        (output, exists): (&JsonOutput, bool),
        result: &JsonResult,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let ty = self.json_type(output)?;
        let formatted = output.format.is_some()
            || result.quotes.is_some()
            || result.wrapper != JsonWrapper::Unspecified
            || holds_several(&ty);
        let test = match exists {
            true => JsonPathTest::Exists,
            false if formatted => JsonPathTest::Query,
            false => JsonPathTest::Value,
        };
        let owner = Owner { test, column: Some(&name.text) };
        if !exists {
            return self.json_path(parts, owner, result, &ty, cx);
        }
        let found = self.json_path(parts, owner, result, &SqlType::Bool, cx)?;
        match ty.erased() {
            SqlType::Bool | SqlType::Int4 => self.coerce(found, name.at.start, &ty, CastKind::Explicit),
            base if base.is_text() => {
                let text = self.coerce(found, name.at.start, &SqlType::Text, CastKind::Explicit)?;
                self.coerce(text, name.at.start, &ty, CastKind::Assignment)
            }
            base => {
                let text = "could not coerce ON ERROR expression (FALSE) to the RETURNING type";
                let detail = format!("invalid input syntax for type {}: \"false\"", shown(&base));
                Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).with_detail(detail))
            }
        }
    }

    fn json_path_literal(&self, text: &str, at: u32) -> Result<TypedExpr, SqlError> {
        let literal = TypedExpr::literal(Value::text(text), SqlType::Unknown);
        self.coerce(literal, at, &SqlType::System(SystemType::JsonPath), CastKind::Explicit)
    }
}
