//! What CREATE FUNCTION and CREATE PROCEDURE say of arguments and results, checked as PostgreSQL checks it.

use std::sync::Arc;

use verso_catalog::{
    ArgMode, CatalogError, FunctionArg, FunctionDef, FunctionReturn, ObjectKind, Oid, Relation,
};
use verso_types::{RowType, SqlType};

use super::{Schema, is_schema};
use verso_parser::syntax::{self, CreateFunction, Name, Returns, RoutineType};
use verso_planner::bind::{Binder, follows_from, is_polymorphic, needed_for};
use verso_planner::errors::{SqlError, sqlstate};

/// Arguments, the result, and the relation whose rows it is.
pub(super) type Signature = (Vec<FunctionArg>, FunctionReturn, Option<Oid>);

fn invalid(text: impl Into<String>) -> SqlError {
    SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text)
}

impl Schema<'_> {
    /// What a definition takes and gives.
    pub(super) fn routine_signature(&self, create: &CreateFunction) -> Result<Signature, SqlError> {
        let mut args: Vec<FunctionArg> = Vec::new();
        let mut defaulted = false;
        for arg in &create.args {
            let (ty, rows_of) = self.routine_type(&arg.ty).map_err(without_quotes)?;
            if args.iter().any(|last| last.mode == ArgMode::Variadic)
                && (arg.mode != syntax::ArgMode::Out || create.procedure)
            {
                let which = if arg.mode == syntax::ArgMode::Out { "" } else { "input " };
                return Err(invalid(format!("VARIADIC parameter must be the last {which}parameter")));
            }
            let mode = mode(arg.mode);
            if mode == ArgMode::Variadic && !is_array(&ty) {
                return Err(invalid("VARIADIC parameter must be an array"));
            }
            if ty == SqlType::Record && mode.goes_in() && create.language.text == "sql" {
                return Err(invalid("SQL functions cannot have arguments of type record"));
            }
            let default = match &arg.default {
                None if defaulted && mode.goes_in() => {
                    return Err(invalid(
                        "input parameters after one with a default value must also have defaults",
                    ));
                }
                None if defaulted && create.procedure => {
                    return Err(invalid(
                        "procedure OUT parameters cannot appear after one with a default value",
                    ));
                }
                None => None,
                Some(_) if !mode.goes_in() => {
                    return Err(invalid("only input parameters can have default values"));
                }
                Some((expr, text)) => {
                    defaulted = true;
                    Some(self.argument_default(expr, text, &ty)?)
                }
            };
            let name: Arc<str> = arg.name.as_ref().map_or("", |name| name.text.as_str()).into();
            let both_ways = |other: &FunctionArg| {
                (other.mode.goes_in() && mode.goes_in()) || (other.mode.goes_out() && mode.goes_out())
            };
            if !name.is_empty() && args.iter().any(|other| other.name == name && both_ways(other)) {
                let text = format!("parameter name \"{name}\" used more than once");
                return Err(invalid(text).at(arg.at));
            }
            args.push(FunctionArg { name, ty, mode, default, rows_of });
        }
        let (returns, rows_of) = self.routine_result(create, &args)?;
        self.check_polymorphic(&args, &returns)?;
        Ok((args, returns, rows_of))
    }

    fn routine_result(
        &self,
        create: &CreateFunction,
        args: &[FunctionArg],
    ) -> Result<(FunctionReturn, Option<Oid>), SqlError> {
        let out: Vec<&FunctionArg> = args.iter().filter(|arg| arg.mode.goes_out()).collect();
        let fields = || -> Vec<(Arc<str>, SqlType)> {
            let field = |(n, arg): (usize, &&FunctionArg)| match arg.name.is_empty() {
                true => (format!("column{}", n + 1).into(), arg.ty.clone()),
                false => (Arc::clone(&arg.name), arg.ty.clone()),
            };
            out.iter().enumerate().map(field).collect()
        };
        if create.procedure {
            return Ok((FunctionReturn::Procedure, None));
        }
        // What the arguments that come out say, which RETURNS may only repeat.
        let said = match out.as_slice() {
            [] => None,
            [only] => Some(only.ty.clone()),
            _ => Some(SqlType::Record),
        };
        let agree = |ty: &SqlType| match &said {
            Some(said) if !said.same_base(ty) => Err(invalid(format!(
                "function result type must be {} because of OUT parameters",
                said.pg_name()
            ))),
            _ => Ok(()),
        };
        Ok(match &create.returns {
            None => match out.as_slice() {
                [only] => (FunctionReturn::Scalar(only.ty.clone()), only.rows_of),
                _ => (FunctionReturn::Scalar(SqlType::Row(Arc::new(RowType::unnamed(fields())))), None),
            },
            Some(Returns::Trigger) => {
                if !args.is_empty() {
                    let hint =
                        "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.";
                    let function = &create.name.name.text;
                    let context = format!("compilation of PL/pgSQL function \"{function}\" near line 1");
                    return Err(invalid("trigger functions cannot have declared arguments")
                        .with_hint(hint)
                        .with_context(&context));
                }
                if create.language.text == "sql" {
                    return Err(invalid("SQL functions cannot return type trigger"));
                }
                (FunctionReturn::Trigger, None)
            }
            Some(Returns::Type(ty)) => {
                let (ty, rows_of) = self.routine_type(ty)?;
                agree(&ty)?;
                match ty {
                    SqlType::Void => (FunctionReturn::Void, None),
                    SqlType::Record if !out.is_empty() => {
                        let row = SqlType::Row(Arc::new(RowType::unnamed(fields())));
                        (FunctionReturn::Scalar(row), None)
                    }
                    ty => (FunctionReturn::Scalar(ty), rows_of),
                }
            }
            Some(Returns::Set(ty)) => {
                let (ty, rows_of) = self.routine_type(ty)?;
                agree(&ty)?;
                match ty {
                    SqlType::Record if !out.is_empty() => (FunctionReturn::Table(fields()), None),
                    ty => (FunctionReturn::Set(ty), rows_of),
                }
            }
            Some(Returns::Table(columns)) => {
                if !out.is_empty() {
                    let text = "OUT and INOUT arguments aren't allowed in TABLE functions";
                    return Err(SqlError::syntax(text));
                }
                let mut named: Vec<(Arc<str>, SqlType)> = Vec::new();
                for (name, ty) in columns {
                    if named.iter().any(|(known, _)| **known == *name.text) {
                        let text = format!("parameter name \"{}\" used more than once", name.text);
                        return Err(invalid(text).at(name.at.start));
                    }
                    let ty = self.routine_type(ty).map_err(without_quotes)?.0;
                    named.push((name.text.as_str().into(), ty));
                }
                (FunctionReturn::Table(named), None)
            }
        })
    }

    /// A result of a polymorphic type follows from an argument of one.
    fn check_polymorphic(&self, args: &[FunctionArg], returns: &FunctionReturn) -> Result<(), SqlError> {
        let inputs = || args.iter().filter(|arg| arg.mode.goes_in());
        let settled = |ty: &SqlType| inputs().any(|arg| follows_from(ty, &arg.ty));
        let given: Vec<&SqlType> = match returns {
            FunctionReturn::Scalar(SqlType::Row(row)) => row.fields.iter().map(|(_, ty)| ty).collect(),
            FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => vec![ty],
            FunctionReturn::Table(columns) => columns.iter().map(|(_, ty)| ty).collect(),
            FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => Vec::new(),
        };
        match given.into_iter().find(|ty| is_polymorphic(ty) && !settled(ty)) {
            Some(ty) => {
                let (name, needed) = (ty.pg_name(), needed_for(ty));
                Err(invalid("cannot determine result data type").with_detail(format!(
                    "A result of type {name} requires at least one input of type {needed}."
                )))
            }
            None => Ok(()),
        }
    }

    /// A type, or that of the rows of a relation, whose number it then has.
    pub(super) fn routine_type(&self, ty: &RoutineType) -> Result<(SqlType, Option<Oid>), SqlError> {
        let ty = match ty {
            RoutineType::Plain(ty) => ty,
            RoutineType::Column(names) => return Ok((self.type_of_column(names)?.without_modifiers(), None)),
        };
        let ty = self.data_type(ty)?.without_modifiers();
        let relation = ty.composite().map(|of| Oid(of.oid));
        let relation = relation.filter(|oid| self.frame.catalog.relation_by_oid(*oid).is_some());
        Ok((ty, relation))
    }

    fn type_of_column(&self, names: &[Name]) -> Result<SqlType, SqlError> {
        let (schema, table, column) = match names {
            [table, column] => (None, table, column),
            [schema, table, column] => (Some(schema.text.as_str()), table, column),
            _ => {
                let text = "improper %TYPE reference (too few dotted names)";
                return Err(SqlError::syntax(text).at(names.first().map_or(0, |name| name.at.start)));
            }
        };
        let relation = self.frame.catalog.relation(schema, &table.text);
        let relation = relation.ok_or_else(|| {
            if let Some(schema) = schema.filter(|schema| !is_schema(self.frame.catalog, schema)) {
                return CatalogError::missing(ObjectKind::Schema, schema).into();
            }
            let text = format!("relation \"{}\" does not exist", table.text);
            SqlError::new(sqlstate::UNDEFINED_TABLE, text).at(table.at.start)
        })?;
        let found = columns_of(relation).into_iter().find(|(name, _)| **name == *column.text);
        found.map(|(_, ty)| ty).ok_or_else(|| {
            let text = format!("column \"{}\" of relation \"{}\" does not exist", column.text, table.text);
            SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(column.at.start)
        })
    }

    fn argument_default(&self, expr: &syntax::Expr, text: &str, ty: &SqlType) -> Result<Arc<str>, SqlError> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let own = match is_polymorphic(ty) {
            true => None,
            false => Some(ty),
        };
        let (kept, _) = binder.kept_text(expr, text, |binder| match own {
            Some(ty) => binder.argument_value(expr, ty),
            None => binder.argument_value(expr, &SqlType::Text),
        })?;
        Ok(kept.into())
    }
}

/// Rules of CREATE OR REPLACE: callers by name and by fewer arguments go on working.
pub(super) fn check_replaced(old: &FunctionDef, args: &[FunctionArg]) -> Result<(), SqlError> {
    let word = if old.is_procedure() { "PROCEDURE" } else { "FUNCTION" };
    let hint = format!("Use DROP {word} {} first.", old.signature().replace(", ", ","));
    let inputs = || args.iter().filter(|arg| arg.mode.goes_in());
    for (was, is) in old.inputs().zip(inputs()) {
        if !was.name.is_empty() && was.name != is.name {
            let text = format!("cannot change name of input parameter \"{}\"", was.name);
            return Err(invalid(text).with_hint(hint));
        }
    }
    // One that comes out alone is the value of a function, whatever it is called.
    let outputs = |args: &[FunctionArg]| -> Vec<(Arc<str>, SqlType)> {
        let alone = !old.is_procedure() && args.iter().filter(|arg| arg.mode.goes_out()).count() == 1;
        let out = args.iter().filter(|arg| arg.mode.goes_out());
        let name = |arg: &FunctionArg| if alone { "".into() } else { Arc::clone(&arg.name) };
        out.map(|arg| (name(arg), arg.ty.clone())).collect()
    };
    if outputs(&old.args) != outputs(args) {
        let text = match old.is_procedure() {
            true => "cannot change whether a procedure has output parameters",
            false => "cannot change return type of existing function",
        };
        return Err(invalid(text)
            .with_detail("Row type defined by OUT parameters is different.")
            .with_hint(hint));
    }
    let defaults =
        |args: &mut dyn Iterator<Item = &FunctionArg>| args.filter(|arg| arg.default.is_some()).count();
    if defaults(&mut inputs()) < defaults(&mut old.inputs()) {
        let text = "cannot remove parameter defaults from existing function";
        return Err(invalid(text).with_hint(hint));
    }
    Ok(())
}

fn is_array(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Array(_)) || is_polymorphic(ty) && ty.pg_name().ends_with("array")
}

fn mode(mode: syntax::ArgMode) -> ArgMode {
    match mode {
        syntax::ArgMode::In => ArgMode::In,
        syntax::ArgMode::Out => ArgMode::Out,
        syntax::ArgMode::InOut => ArgMode::InOut,
        syntax::ArgMode::Variadic => ArgMode::Variadic,
    }
}

fn columns_of(relation: &Relation) -> Vec<(Arc<str>, SqlType)> {
    let column = |column: &verso_catalog::ColumnDef| (Arc::clone(&column.name), column.ty.clone());
    match relation {
        Relation::Table(table) => table.shown().iter().map(column).collect(),
        Relation::View(view) => view.columns.iter().map(column).collect(),
        _ => Vec::new(),
    }
}

/// A type of an argument that there is not stands without quotes, as PostgreSQL has it.
fn without_quotes(error: SqlError) -> SqlError {
    let name = error.message.strip_prefix("type \"").and_then(|rest| rest.strip_suffix("\" does not exist"));
    match name.filter(|_| error.sqlstate == sqlstate::UNDEFINED_OBJECT) {
        Some(name) => SqlError { message: format!("type {name} does not exist"), ..error },
        None => error,
    }
}
