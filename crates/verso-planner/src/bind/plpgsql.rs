//! Bodies of PL/pgSQL functions: variables become slots, expressions and statements are bound with them in scope.
//!
//! | module | what it is |
//! |---|---|
//! | [`statement`] | statements, loops and what leaves them |
//! | [`result`] | RETURN and its relatives |
//! | [`raise`] | RAISE |
//! | [`sql`] | functions in SQL, which become bodies of the same kind |
//! | [`dynamic`] | EXECUTE, GET DIAGNOSTICS |
//! | [`trigger`] | functions of triggers |
//!
//! As in PostgreSQL a body is bound when it is first called, not when it is created: its tables may come later.

mod dynamic;
mod raise;
mod result;
mod sql;
mod statement;
mod trigger;

pub use sql::bind_sql_function;

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, FunctionReturn};
use verso_exec::plan::{
    ExprKind, PlBlock, PlCondition, PlDeclaration, PlFunction, PlHandler, PlReturn, PlTrigger, PlVariable,
    TypedExpr,
};
use verso_types::{CastKind, SqlType, TimeZone};

use super::Binder;
use super::context::{Clause, Context};
use super::scope::{Scope, Variable};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Expr, Name};

pub use trigger::bind_trigger;

/// Of SQLSTATE and SQLERRM.
type ErrorSlots = Option<(usize, usize)>;

/// Binds a function of the catalog.
pub fn bind_function(
    function: &FunctionDef,
    block: &syntax::PlBlock,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeZone,
) -> Result<PlFunction, SqlError> {
    let types: Vec<SqlType> = function.args.iter().map(|arg| arg.ty.clone()).collect();
    if function.returns == FunctionReturn::Trigger {
        let text = "trigger functions can only be called as triggers";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    let mut body = Body::new(Binder::new(catalog, time_zone, &types), Arc::clone(&function.name));
    for arg in &function.args {
        body.declare(&arg.name, arg.ty.clone(), false);
    }
    body.returns = match &function.returns {
        FunctionReturn::Void | FunctionReturn::Procedure(_) | FunctionReturn::Trigger => PlReturn::Void,
        FunctionReturn::Scalar(ty) => PlReturn::Scalar(ty.clone()),
        FunctionReturn::Set(ty) => PlReturn::Rows(vec![ty.clone()]),
        FunctionReturn::Table(columns) => {
            for (name, ty) in columns {
                let slot = body.declare(name, ty.clone(), false);
                body.result_slots.push(slot);
            }
            PlReturn::Rows(columns.iter().map(|(_, ty)| ty.clone()).collect())
        }
    };
    body.finish(function.signature().into(), function.args.len(), block)
}

/// Binds the block of a DO statement.
pub fn bind_block(
    block: &syntax::PlBlock,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeZone,
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
    /// Slots of the columns of RETURNS TABLE.
    result_slots: Vec<usize>,
    /// What EXIT and CONTINUE may leave: label and whether it is a loop.
    labels: Vec<(Option<String>, bool)>,
    in_handler: bool,
    /// Names of columns go before those of variables: it is a function in SQL.
    weak: bool,
    /// Of a trigger: what cannot be bound fails when it is reached.
    trigger: Option<PlTrigger>,
    /// Of the statement that is bound, for errors.
    line: u32,
}

impl<'c> Body<'c> {
    fn new(binder: Binder<'c>, name: Arc<str>) -> Body<'c> {
        Body {
            binder,
            variables: Vec::new(),
            constants: Vec::new(),
            block: name,
            returns: PlReturn::Void,
            result_slots: Vec::new(),
            labels: Vec::new(),
            in_handler: false,
            weak: false,
            trigger: None,
            line: 1,
        }
    }

    fn finish(
        mut self,
        signature: Arc<str>,
        argument_count: usize,
        block: &syntax::PlBlock,
    ) -> Result<PlFunction, SqlError> {
        let found = self.declare("found", SqlType::Bool, false);
        let body = self.block(block).map_err(|error| {
            let name = signature.split('(').next().unwrap_or_default();
            let line = format!("compilation of PL/pgSQL function \"{name}\" near line {}", self.line);
            SqlError { position: None, ..error }.with_context(&line)
        })?;
        Ok(PlFunction {
            signature,
            argument_count,
            variables: self.variables,
            returns: self.returns,
            found: Some(found),
            body,
            trigger: self.trigger.map(Box::new),
        })
    }

    /// A new slot under a name; an empty name has only its slot.
    fn declare(&mut self, name: &str, ty: SqlType, not_null: bool) -> usize {
        let slot = self.variables.len();
        self.variables.push(PlVariable { name: name.into(), ty: ty.clone(), not_null });
        if !name.is_empty() {
            let block = Arc::clone(&self.block);
            let weak = self.weak;
            self.binder.variables.push(Variable { block, name: name.into(), slot, ty, weak });
        }
        slot
    }

    fn block(&mut self, block: &syntax::PlBlock) -> Result<PlBlock, SqlError> {
        let outer = self.binder.variables.len();
        let outer_label = Arc::clone(&self.block);
        if let Some(label) = &block.label {
            self.block = label.text.as_str().into();
        }
        let mut declarations = Vec::new();
        for (n, declaration) in block.declarations.iter().enumerate() {
            self.line = declaration.line;
            let again = block.declarations[..n].iter().any(|other| other.name.text == declaration.name.text);
            if again {
                return Err(SqlError::syntax(format!("duplicate declaration \"{}\"", declaration.name.text)));
            }
            let ty = self.declared_type(declaration)?;
            // The default is bound before the name exists, so it may mean an outer variable.
            let default = match &declaration.default {
                Some(default) => Some(self.value(default, &declaration.name.text, &ty)?),
                None => None,
            };
            let slot = self.declare(&declaration.name.text, ty, declaration.not_null);
            if declaration.constant {
                self.constants.push(slot);
            }
            declarations.push(PlDeclaration { slot, default });
        }
        self.labels.push((block.label.as_ref().map(|label| label.text.clone()), false));
        let body = self.statements(&block.body)?;
        let (handlers, error_slots) = self.handlers(&block.handlers)?;
        self.labels.pop();
        self.binder.variables.truncate(outer);
        self.block = outer_label;
        let label = block.label.as_ref().map(|label| label.text.as_str().into());
        Ok(PlBlock { label, declarations, body, handlers, error_slots })
    }

    /// The type of a variable, which may be that of another one or of a column.
    fn declared_type(&self, declaration: &syntax::PlDeclaration) -> Result<SqlType, SqlError> {
        let (schema, table, column) = match declaration.like.as_slice() {
            [] => return Ok(declaration.ty.clone()),
            [name] => {
                let known = self.binder.variables.iter().rev().find(|variable| *variable.name == *name.text);
                return known.map(|variable| variable.ty.clone()).ok_or_else(|| {
                    let text = format!("variable \"{}\" does not exist", name.text);
                    SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(name.at.start)
                });
            }
            [block, name] => {
                let own =
                    |variable: &&Variable| *variable.block == *block.text && *variable.name == *name.text;
                if let Some(variable) = self.binder.variables.iter().rev().find(own) {
                    return Ok(variable.ty.clone());
                }
                (None, block, name)
            }
            [schema, table, column] => (Some(schema.clone()), table, column),
            [first, ..] => {
                return Err(SqlError::unsupported("a reference to another database").at(first.at.start));
            }
        };
        let table = self.binder.table(&syntax::QualifiedName { schema, name: table.clone() })?;
        let found = table.columns.iter().find(|known| *known.name == *column.text);
        found.map(|column| column.ty.clone()).ok_or_else(|| {
            let text = format!("column \"{}\" of relation \"{}\" does not exist", column.text, table.name);
            SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(column.at.start)
        })
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

    /// The slot and type of a variable that is assigned to.
    fn target(&self, name: &Name) -> Result<(usize, SqlType), SqlError> {
        let variable = self.binder.variables.iter().rev().find(|variable| *variable.name == *name.text);
        let variable = variable.ok_or_else(|| {
            SqlError::syntax(format!("\"{}\" is not a known variable", name.text)).at(name.at.start)
        })?;
        if self.constants.contains(&variable.slot) {
            let text = format!("variable \"{}\" is declared CONSTANT", name.text);
            return Err(SqlError::new("22005", text).at(name.at.start));
        }
        Ok((variable.slot, variable.ty.clone()))
    }

    /// The slots that the columns of a row go to.
    fn targets(&self, names: &[Name], width: usize) -> Result<Vec<usize>, SqlError> {
        let slots =
            names.iter().map(|name| Ok(self.target(name)?.0)).collect::<Result<Vec<_>, SqlError>>()?;
        // Fewer columns than targets leave NULLs and more are dropped in PostgreSQL; both are mistakes more often.
        if slots.len() != width {
            let what = format!("{width} columns into {} variables", slots.len());
            return Err(SqlError::unsupported(what).at(names.first().map_or(0, |name| name.at.start)));
        }
        Ok(slots)
    }

    fn bind(&self, expr: &Expr) -> Result<TypedExpr, SqlError> {
        let scope = Scope::default();
        let mut bound = self.binder.expr(expr, &mut Context::new(&scope, Clause::Procedure))?;
        crate::plan::expression(&mut bound, self.binder.planning())?;
        Ok(bound)
    }

    /// A value for a variable; PL/pgSQL casts by way of text where there is no assignment cast.
    fn value(&self, expr: &Expr, name: &str, ty: &SqlType) -> Result<TypedExpr, SqlError> {
        let bound = self.bind(expr)?;
        let start = expr.at.start;
        let direct = verso_types::cast_kind(&bound.ty, ty).is_some_and(|kind| kind <= CastKind::Assignment);
        if direct || bound.ty == SqlType::Unknown {
            return self.binder.assign(bound, start, name, ty);
        }
        let as_text = self.binder.coerce(bound, start, &SqlType::Text, CastKind::Explicit)?;
        self.binder.coerce(as_text, start, ty, CastKind::Explicit)
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
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::Procedure);
        let old = TypedExpr::new(ExprKind::Parameter(slot), ty.clone());
        let bound = (self.binder.expr(value, &mut cx)?, value.at.start);
        let named = (target.text.as_str(), target.at.start);
        let mut new = self.binder.assigned_within(old, named, path, bound, &mut cx)?;
        crate::plan::expression(&mut new, self.binder.planning())?;
        Ok(new)
    }

    /// The condition of IF, WHILE, WHEN.
    fn condition(&self, expr: &Expr, word: &str) -> Result<TypedExpr, SqlError> {
        let bound = self.bind(expr)?;
        self.binder.boolean(bound, expr.at.start, word)
    }
}
