//! `read_csv('f.csv')` and its relatives in FROM: files as tables, whose columns are known when the query is bound.

use verso_catalog::authority;
use verso_exec::error::ExecError;
use verso_exec::files::{self, FileRequest};
use verso_exec::plan::{ExprKind as K, Plan, TypedExpr};
use verso_parser::syntax::{Call, Name};
use verso_types::{CastKind, SqlType, Value};

use super::Binder;
use super::context::{Clause, Context};
use super::scope::Scope;
use crate::errors::{SqlError, sqlstate};

impl Binder<'_> {
    /// The files that a call reads; none where it is no such function. Columns that the query defines take the place of those
    /// that the files seem to have.
    pub(super) fn file_scan(
        &self,
        call: &Call,
        definitions: &[(Name, SqlType)],
    ) -> Result<Option<Plan>, SqlError> {
        let name = call.name.name.text.as_str();
        let built_in = call.name.schema_text().is_none_or(|schema| schema == "pg_catalog");
        if !built_in || !files::FUNCTIONS.contains(&name) {
            return Ok(None);
        }
        let at = call.name.at().start;
        if self.noted.is_some() || self.noting.is_some() || self.stored.is_some() {
            return Err(SqlError::unsupported("files in a view or in a text that the catalog keeps").at(at));
        }
        if let Some(role) = self.acting
            && !self.catalog.inherits(role, authority::READ_FILES)
        {
            let text = format!("permission denied for function {name}");
            let detail = "Only roles with privileges of the \"pg_read_server_files\" role may read files.";
            return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).with_detail(detail).at(at));
        }
        let Some(format) = files::format(name) else {
            let hint =
                "The server program has it; a program that embeds Verso turns the feature \"parquet\" on.";
            return Err(SqlError::unsupported(name).with_hint(hint).at(at));
        };
        let Some(vfs) = self.catalog.files() else {
            return Err(SqlError::unsupported("files without a database").at(at));
        };
        if call.star || call.distinct || call.variadic || call.filter.is_some() || call.over.is_some() {
            return Err(SqlError::syntax("syntax error: a function in FROM takes plain arguments").at(at));
        }
        let scope = Scope::default();
        let args = self.located(&call.args, &mut Context::new(&scope, Clause::From))?;
        let plain = args.len() - call.names.len();
        if plain != 1 {
            let text = format!("{name} takes one text or array of texts, and options by name");
            return Err(SqlError::new("42883", text).at(at));
        }
        let mut args = args.into_iter();
        let Some((paths, paths_at)) = args.next() else { return Err(SqlError::internal("no argument")) };
        let mut found = Vec::new();
        for pattern in self.patterns(paths, paths_at)? {
            found.extend(files::matching(&*vfs, &pattern)?);
        }
        if found.is_empty() {
            return Err(SqlError::new("22023", format!("{name} was given no files")).at(paths_at));
        }
        let mut options = Vec::new();
        for ((value, at), option) in args.zip(&call.names) {
            let known = format.options().iter().find(|(known, _)| *known == option.text);
            let Some((_, ty)) = known else {
                let all: Vec<&str> = format.options().iter().map(|(name, _)| *name).collect();
                let text = format!("{name} has no option \"{}\"", option.text);
                let hint = format!("Its options are: {}.", all.join(", "));
                return Err(SqlError::new("42883", text).with_hint(hint).at(option.at.start));
            };
            let value = self.coerce(value, at, ty, CastKind::Implicit)?;
            options.push((option.text.clone(), literal(&value, at)?));
        }
        let columns = match definitions {
            [] => None,
            list => Some(list.iter().map(|(name, ty)| (name.text.clone(), ty.clone())).collect()),
        };
        let style = self.time_zone;
        let request = FileRequest { vfs, files: found, options: &options, columns, style };
        let table = format.describe(&request)?;
        let columns = (0..table.columns.len()).collect();
        Ok(Some(Plan::FileScan { table, columns }))
    }

    /// The paths and patterns: one, or an array of them.
    fn patterns(&self, paths: TypedExpr, at: u32) -> Result<Vec<String>, SqlError> {
        let texts = SqlType::Array(Box::new(SqlType::Text));
        let wanted = if matches!(paths.ty, SqlType::Array(_)) { texts } else { SqlType::Text };
        let paths = self.coerce(paths, at, &wanted, CastKind::Implicit)?;
        let one = |value: &Value| match value {
            Value::Text(path) if !path.is_empty() => Ok(path.to_string()),
            _ => Err(SqlError::new("22004", "a path of a file must not be null or empty").at(at)),
        };
        match &paths.kind {
            K::Array(parts) => parts.iter().map(|part| one(&literal(part, at)?)).collect(),
            _ => match literal(&paths, at)? {
                Value::Array(values) => values.iter().map(one).collect(),
                value => Ok(vec![one(&value)?]),
            },
        }
    }
}

/// The value of a constant: which columns there are is known before the query runs.
fn literal(expr: &TypedExpr, at: u32) -> Result<Value, SqlError> {
    match &expr.kind {
        K::Literal(value) => Ok(value.clone()),
        _ => {
            let error =
                ExecError::raised("0A000", "files and options of a function that reads files are constants");
            Err(SqlError::from(error).at(at))
        }
    }
}
