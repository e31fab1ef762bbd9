//! Bodies of PL/pgSQL functions: variables become slots, expressions and statements are bound with them in scope.
//!
//! As in PostgreSQL a body is bound when it is first called, not when it is created: its tables may come later.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, FunctionReturn};
use verso_row::plan::{
    PlBlock, PlCondition, PlDeclaration, PlFunction, PlHandler, PlInto, PlReturn, PlStatement,
    PlStatementKind, PlVariable, RaiseLevel, Statement, TypedExpr,
};
use verso_types::{CastKind, SqlType, TimeZone};

use super::Binder;
use super::context::{Clause, Context};
use super::scope::{Scope, Variable};
use crate::errors::{SqlError, sqlstate};
use crate::parse::condition_code;
use crate::syntax::{
    self, Expr, ExprKind, Literal, Name, PlLevel, PlRaise, PlRaiseOption, PlStatementKind as Syntax,
};

/// Binds a function of the catalog.
pub fn bind_function(
    function: &FunctionDef,
    block: &syntax::PlBlock,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeZone,
) -> Result<PlFunction, SqlError> {
    let types: Vec<SqlType> = function.args.iter().map(|arg| arg.ty.clone()).collect();
    let mut body = Body::new(Binder::new(catalog, time_zone, &types), Arc::clone(&function.name));
    for arg in &function.args {
        body.declare(&arg.name, arg.ty.clone(), false);
    }
    body.returns = match &function.returns {
        FunctionReturn::Void => PlReturn::Void,
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
        })
    }

    /// A new slot under a name; an empty name has only its slot.
    fn declare(&mut self, name: &str, ty: SqlType, not_null: bool) -> usize {
        let slot = self.variables.len();
        self.variables.push(PlVariable { name: name.into(), ty: ty.clone(), not_null });
        if !name.is_empty() {
            let block = Arc::clone(&self.block);
            self.binder.variables.push(Variable { block, name: name.into(), slot, ty });
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
            // The default is bound before the name exists, so it may mean an outer variable.
            let default = match &declaration.default {
                Some(default) => Some(self.value(default, &declaration.name.text, &declaration.ty)?),
                None => None,
            };
            let slot = self.declare(&declaration.name.text, declaration.ty.clone(), declaration.not_null);
            if declaration.constant {
                self.constants.push(slot);
            }
            declarations.push(PlDeclaration { slot, default });
        }
        self.labels.push((block.label.as_ref().map(|label| label.text.clone()), false));
        let body = self.statements(&block.body)?;
        let mut error_slots = None;
        let mut handlers = Vec::new();
        if !block.handlers.is_empty() {
            let state = self.declare("sqlstate", SqlType::Text, false);
            let message = self.declare("sqlerrm", SqlType::Text, false);
            error_slots = Some((state, message));
            let outer_handler = std::mem::replace(&mut self.in_handler, true);
            for handler in &block.handlers {
                let condition = |condition: &syntax::PlCondition| match condition {
                    syntax::PlCondition::Others => PlCondition::Others,
                    syntax::PlCondition::Sqlstate(code) => PlCondition::SqlState(code.as_str().into()),
                };
                let conditions = handler.conditions.iter().map(condition).collect();
                handlers.push(PlHandler { conditions, body: self.statements(&handler.body)? });
            }
            self.in_handler = outer_handler;
        }
        self.labels.pop();
        self.binder.variables.truncate(outer);
        self.block = outer_label;
        let label = block.label.as_ref().map(|label| label.text.as_str().into());
        Ok(PlBlock { label, declarations, body, handlers, error_slots })
    }

    fn statements(&mut self, statements: &[syntax::PlStatement]) -> Result<Vec<PlStatement>, SqlError> {
        let mut all = Vec::with_capacity(statements.len());
        for statement in statements {
            self.line = statement.line;
            all.push(PlStatement { line: statement.line, kind: self.statement(&statement.kind)? });
        }
        Ok(all)
    }

    fn statement(&mut self, statement: &Syntax) -> Result<PlStatementKind, SqlError> {
        Ok(match statement {
            Syntax::Block(block) => PlStatementKind::Block(self.block(block)?),
            Syntax::Null => PlStatementKind::Nothing,
            Syntax::Assign { target, value } => {
                let (slot, ty) = self.target(target)?;
                PlStatementKind::Assign { slot, value: self.value(value, &target.text, &ty)? }
            }
            Syntax::If { branches, otherwise } => {
                let mut bound = Vec::new();
                for (condition, body) in branches {
                    bound.push((self.condition(condition, "IF")?, self.statements(body)?));
                }
                PlStatementKind::If { branches: bound, otherwise: self.statements(otherwise)? }
            }
            Syntax::CaseNotFound => PlStatementKind::Raise {
                level: RaiseLevel::Exception,
                format: "case not found".into(),
                args: Vec::new(),
                sqlstate: Some("20000".into()),
                detail: None,
                hint: Some(text("CASE statement is missing ELSE part.")),
            },
            Syntax::Loop { label, body } => {
                PlStatementKind::Loop { label: text_of(label), body: self.loop_body(label, body)? }
            }
            Syntax::While { label, condition, body } => PlStatementKind::While {
                label: text_of(label),
                condition: self.condition(condition, "WHILE")?,
                body: self.loop_body(label, body)?,
            },
            Syntax::ForInteger { label, variable, reverse, from, to, by, body } => {
                let from = self.integer(from)?;
                let to = self.integer(to)?;
                let by = by.as_ref().map(|by| self.integer(by)).transpose()?;
                let outer = self.binder.variables.len();
                let outer_label = Arc::clone(&self.block);
                if let Some(label) = label {
                    self.block = label.text.as_str().into();
                }
                let slot = self.declare(&variable.text, SqlType::Int4, false);
                self.block = outer_label;
                let body = self.loop_body(label, body)?;
                self.binder.variables.truncate(outer);
                PlStatementKind::ForRange {
                    label: text_of(label),
                    slot,
                    from,
                    to,
                    by,
                    reverse: *reverse,
                    body,
                }
            }
            Syntax::ForQuery { label, targets, query, body } => {
                let mut plan = self.binder.query(query)?;
                crate::plan::query(&mut plan);
                let targets = self.targets(targets, plan.output().len())?;
                let query = Box::new(Statement::Query(plan));
                PlStatementKind::ForQuery {
                    label: text_of(label),
                    query,
                    targets,
                    body: self.loop_body(label, body)?,
                }
            }
            Syntax::Exit { label, when } => {
                self.check_label(label.as_ref(), "EXIT")?;
                PlStatementKind::Exit { label: text_of(label), when: self.optional_condition(when, "EXIT")? }
            }
            Syntax::Continue { label, when } => {
                self.check_label(label.as_ref(), "CONTINUE")?;
                PlStatementKind::Continue {
                    label: text_of(label),
                    when: self.optional_condition(when, "CONTINUE")?,
                }
            }
            Syntax::Return(value) => self.return_value(value.as_ref())?,
            Syntax::ReturnNext(value) => self.return_next(value.as_ref())?,
            Syntax::ReturnQuery(query) => {
                let PlReturn::Rows(types) = &self.returns else {
                    let text = "cannot use RETURN QUERY in a non-SETOF function";
                    return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
                };
                let mut plan = self.binder.query_for(query, types)?;
                crate::plan::query(&mut plan);
                let (given, wanted) = (plan.output().len(), types.len());
                if given != wanted {
                    let detail = format!(
                        "Number of returned columns ({given}) does not match expected column count ({wanted})."
                    );
                    let text = "structure of query does not match function result type";
                    return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).with_detail(detail));
                }
                PlStatementKind::ReturnQuery { query: Box::new(Statement::Query(plan)) }
            }
            Syntax::Perform(query) => {
                let mut plan = self.binder.query(query)?;
                crate::plan::query(&mut plan);
                PlStatementKind::Sql { statement: Box::new(Statement::Query(plan)), into: None }
            }
            Syntax::GetRowCount(target) => {
                let (slot, ty) = self.target(target)?;
                if ty != SqlType::Int8 {
                    let what = "ROW_COUNT into a variable that is no bigint";
                    return Err(SqlError::unsupported(what).at(target.at.start));
                }
                PlStatementKind::GetRowCount { slot }
            }
            Syntax::Raise(raise) => self.raise(raise)?,
            Syntax::Sql { statement, into, strict } => {
                let statement = self.binder.statement(statement)?;
                let into = match into.as_slice() {
                    [] => None,
                    names => {
                        let targets = self.targets(names, statement.output().len())?;
                        Some(PlInto { targets, strict: *strict })
                    }
                };
                PlStatementKind::Sql { statement: Box::new(statement), into }
            }
        })
    }

    // ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────

    fn bind(&self, expr: &Expr) -> Result<TypedExpr, SqlError> {
        let scope = Scope::default();
        let mut bound = self.binder.expr(expr, &mut Context::new(&scope, Clause::Procedure))?;
        crate::plan::expression(&mut bound);
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

    fn condition(&self, expr: &Expr, word: &str) -> Result<TypedExpr, SqlError> {
        let bound = self.bind(expr)?;
        self.binder.boolean(bound, expr.at.start, word)
    }

    fn optional_condition(&self, expr: &Option<Expr>, word: &str) -> Result<Option<TypedExpr>, SqlError> {
        expr.as_ref().map(|expr| self.condition(expr, word)).transpose()
    }

    fn integer(&self, expr: &Expr) -> Result<TypedExpr, SqlError> {
        self.value(expr, "integer FOR loop", &SqlType::Int4)
    }

    // ── targets, labels ──────────────────────────────────────────────────────────────────────────────────────────

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

    fn loop_body(
        &mut self,
        label: &Option<Name>,
        body: &[syntax::PlStatement],
    ) -> Result<Vec<PlStatement>, SqlError> {
        self.labels.push((label.as_ref().map(|label| label.text.clone()), true));
        let body = self.statements(body);
        self.labels.pop();
        body
    }

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

    // ── RETURN, RAISE ────────────────────────────────────────────────────────────────────────────────────────────

    fn return_value(&self, value: Option<&Expr>) -> Result<PlStatementKind, SqlError> {
        let mismatch = |text: &str| SqlError::new(sqlstate::DATATYPE_MISMATCH, text);
        let value = match (&self.returns, value) {
            (PlReturn::Void | PlReturn::Rows(_), None) => None,
            (PlReturn::Scalar(ty), Some(value)) => Some(self.value(value, "return value", ty)?),
            (PlReturn::Void, Some(value)) => {
                let text = "RETURN cannot have a parameter in function returning void";
                return Err(mismatch(text).at(value.at.start));
            }
            (PlReturn::Rows(_), Some(value)) => {
                return Err(mismatch("RETURN cannot have a parameter in function returning set")
                    .with_hint("Use RETURN NEXT or RETURN QUERY.")
                    .at(value.at.start));
            }
            (PlReturn::Scalar(_), None) => {
                return Err(SqlError::syntax("missing expression at or near \";\""));
            }
        };
        Ok(PlStatementKind::Return { value })
    }

    fn return_next(&self, value: Option<&Expr>) -> Result<PlStatementKind, SqlError> {
        let PlReturn::Rows(types) = &self.returns else {
            let text = "cannot use RETURN NEXT in a non-SETOF function";
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
        };
        let values = match (value, self.result_slots.as_slice(), types.as_slice()) {
            (None, slots @ [_, ..], types) => {
                let variable = |(slot, ty): (&usize, &SqlType)| {
                    TypedExpr::new(verso_row::plan::ExprKind::Parameter(*slot), ty.clone())
                };
                slots.iter().zip(types).map(variable).collect()
            }
            (Some(value), [], [ty]) => vec![self.value(value, "return value", ty)?],
            (None, [], _) => return Err(SqlError::syntax("RETURN NEXT must have a parameter")),
            (Some(value), _, _) => {
                let text = "RETURN NEXT cannot have a parameter in function with OUT parameters";
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(value.at.start));
            }
        };
        Ok(PlStatementKind::ReturnNext { values })
    }

    fn raise(&self, raise: &PlRaise) -> Result<PlStatementKind, SqlError> {
        if raise.format.is_none() && raise.sqlstate.is_none() && raise.options.is_empty() {
            if !self.in_handler {
                let text = "RAISE without parameters cannot be used outside an exception handler";
                return Err(SqlError::new("0Z002", text));
            }
            return Ok(PlStatementKind::Reraise);
        }
        let as_text = |expr: &Expr| {
            let bound = self.bind(expr)?;
            self.binder.coerce(bound, expr.at.start, &SqlType::Text, CastKind::Explicit)
        };
        let mut format = raise.format.clone();
        let mut args = raise.args.iter().map(as_text).collect::<Result<Vec<_>, _>>()?;
        let mut code = raise.sqlstate.clone();
        let (mut detail, mut hint) = (None, None);
        for (option, expr) in &raise.options {
            match option {
                PlRaiseOption::Message => {
                    if raise.format.is_some() {
                        return Err(
                            SqlError::syntax("RAISE option already specified: MESSAGE").at(expr.at.start)
                        );
                    }
                    format = Some("%".to_string());
                    args = vec![as_text(expr)?];
                }
                PlRaiseOption::Detail => detail = Some(as_text(expr)?),
                PlRaiseOption::Hint => hint = Some(as_text(expr)?),
                PlRaiseOption::Errcode => code = Some(error_code(expr)?),
            }
        }
        let format = format.or_else(|| code.clone()).unwrap_or_default();
        Ok(PlStatementKind::Raise {
            level: match raise.level {
                PlLevel::Debug => RaiseLevel::Debug,
                PlLevel::Log => RaiseLevel::Log,
                PlLevel::Info => RaiseLevel::Info,
                PlLevel::Notice => RaiseLevel::Notice,
                PlLevel::Warning => RaiseLevel::Warning,
                PlLevel::Exception => RaiseLevel::Exception,
            },
            format: format.into(),
            args,
            sqlstate: code.map(Into::into),
            detail,
            hint,
        })
    }
}

/// The code that USING ERRCODE names: a literal, either five characters or a condition's name.
fn error_code(expr: &Expr) -> Result<String, SqlError> {
    let ExprKind::Literal(Literal::String(text)) = &expr.kind else {
        return Err(SqlError::unsupported("an ERRCODE that is no literal").at(expr.at.start));
    };
    if let Some(code) = condition_code(&text.to_lowercase()) {
        return Ok(code.to_string());
    }
    match text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) {
        true => Ok(text.clone()),
        false => {
            let text = format!("unrecognized exception condition \"{text}\"");
            Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(expr.at.start))
        }
    }
}

fn text_of(name: &Option<Name>) -> Option<Arc<str>> {
    name.as_ref().map(|name| name.text.as_str().into())
}

fn text(text: &str) -> TypedExpr {
    TypedExpr::literal(verso_types::Value::text(text), SqlType::Text)
}
