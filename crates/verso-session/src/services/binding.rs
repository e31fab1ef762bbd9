//! What the catalog keeps as text, bound for the statement that needs it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{
    BuiltInTrigger, CatalogSnapshot, ColumnDef, FunctionDef, FunctionLanguage, TableDef, TriggerDef,
};
use verso_exec::context::{Binding, Described, Known, TextPurpose};
use verso_exec::error::ExecError;
use verso_exec::plan::{ExprKind, PlFunction, RowRules, Statement as Bound, TypedExpr};
use verso_types::{SqlType, TimeStyle};

use super::Services;
use verso_parser::syntax::{PlBlock, PlConflict, Statement};
use verso_parser::{Script, parse_body, parse_script};
use verso_planner::bind::{
    Binder, bind_block, bind_function, bind_sql_function, bind_trigger, function_statements,
    parse_function_body, update_trigger_body,
};
use verso_planner::errors::{SqlError, sqlstate};

impl Services {
    /// Binds what the catalog keeps as text, for a statement that runs.
    fn bound<T>(&self, bind: impl FnOnce(&Binder<'_>) -> Result<T, SqlError>) -> Result<T, ExecError> {
        let catalog = self.known_catalog();
        let catalog = catalog.ok_or_else(|| ExecError::raised("XX000", "no statement is running"))?;
        let style = self.style();
        let binder = Binder::new(&catalog, &style, &[]);
        bind(&binder).map_err(|error| ExecError::from(SqlError { position: None, ..error }))
    }

    /// The conventions for dates and times in force where a statement stands: a function may have its own, and may have changed
    /// them.
    fn style(&self) -> TimeStyle {
        match self.settings.asked() {
            Some(asked) => asked.time_zone.clone(),
            None => self.settings.time_zone.clone(),
        }
    }

    /// A cancel is called what it was: of a timeout, or somebody's wish.
    pub(crate) fn tell_reason(&self, error: &mut SqlError) {
        // A COPY that its client breaks off, and a RAISE, have the same code, and words of their own.
        if error.sqlstate == sqlstate::QUERY_CANCELED
            && error.message == "canceling statement due to user request"
            && self.info.cancel_flag().load(Ordering::Relaxed)
        {
            let reason = self.info.reason().error();
            (error.sqlstate, error.message) = (reason.sqlstate, reason.message);
        }
    }

    /// What `plpgsql.variable_conflict` says, where that is not the usual.
    fn variable_conflict(&self) -> Option<PlConflict> {
        match self.settings.show_asked("plpgsql.variable_conflict")?.as_str() {
            "use_variable" => Some(PlConflict::Variable),
            "use_column" => Some(PlConflict::Column),
            _ => None,
        }
    }

    /// A body, parsed, with what the settings say of it.
    pub(crate) fn body(&self, name: &str, text: &str) -> Result<PlBlock, SqlError> {
        let block = parse_function_body(name, text)?;
        SqlError::check_databases(&block.databases, self.database())?;
        Ok(PlBlock { conflict: block.conflict.or_else(|| self.variable_conflict()), ..block })
    }

    fn compile(
        &self,
        function: &Arc<FunctionDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, SqlError> {
        let style = self.style();
        if function.oid.0 == 0 {
            let block = self.body(&function.name, &function.body)?;
            return bind_block(&block, catalog, &style).map(Arc::new);
        }
        let bind = || {
            if function.language == FunctionLanguage::Sql {
                let line = || format!("SQL function \"{}\" during inlining", function.name);
                let statements =
                    function_statements(function).map_err(|error| error.with_context(&line()))?;
                for statement in &statements {
                    SqlError::check_databases(&statement.databases, self.database())
                        .map_err(|error| error.with_context(&line()))?;
                }
                return bind_sql_function(function, &statements, catalog, &style);
            }
            let block = self.body(&function.name, &function.body)?;
            bind_function(function, &block, catalog, &style)
        };
        match function.variant {
            // What a name means there is this session's matter.
            0 if self.variable_conflict().is_some() => bind().map(Arc::new),
            0 => self.instance.function((function.oid.0, catalog.key()), &style, bind),
            // Of a polymorphic function each statement keeps its own.
            _ => bind().map(Arc::new),
        }
    }
}

/// SELECT … INTO makes a table, and yields no rows.
fn refuse_into(purpose: TextPurpose) -> SqlError {
    match purpose {
        TextPurpose::Execute => {
            let text = "EXECUTE of SELECT ... INTO is not implemented";
            let hint = "You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead.";
            SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_hint(hint)
        }
        TextPurpose::Cursor => SqlError::new("42P11", "cannot open SELECT INTO query as cursor"),
        TextPurpose::Return => SqlError::syntax("SELECT INTO query does not return tuples"),
    }
}

impl Binding for Services {
    fn compile_function(
        &self,
        function: &Arc<FunctionDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, ExecError> {
        catalog.check_whole(function.oid)?;
        // What is wrong with the text of a body is shown in that.
        self.compile(function, catalog).map_err(|error| ExecError::from(error.within(&function.body)))
    }

    fn compile_trigger(
        &self,
        trigger: &Arc<TriggerDef>,
        function: Option<&Arc<FunctionDef>>,
        table: &Arc<TableDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, ExecError> {
        if let Some(function) = function {
            catalog.check_whole(function.oid)?;
        }
        let style = self.style();
        let bound = self.instance.function((trigger.oid.0, catalog.key()), &style, || {
            let statements = trigger.action.as_ref().map(|action| &action.body);
            let text = function.map(|function| &function.body).or(statements);
            let block = match (text, BuiltInTrigger::of(trigger.function)) {
                (None, Some(built_in)) => parse_body(&update_trigger_body(built_in, trigger, table)?)?,
                (text, _) => {
                    let name = function.map_or(&trigger.name, |function| &function.name);
                    self.body(name, text.map_or("", |text| text))?
                }
            };
            bind_trigger(trigger, function.map(|function| &**function), table, &block, catalog, &style)
        });
        bound.map_err(|error| {
            let text = function.map_or("", |function| &*function.body);
            ExecError::from(error.within(text))
        })
    }

    fn trigger_condition(
        &self,
        trigger: &Arc<TriggerDef>,
        table: &Arc<TableDef>,
    ) -> Result<TypedExpr, ExecError> {
        self.bound(|binder| binder.stored_trigger_condition(trigger, table))
    }

    fn row_rules(&self, table: &Arc<TableDef>) -> Result<RowRules, ExecError> {
        self.bound(|binder| binder.row_rules(table))
    }

    fn value_of_domain(&self, domain: &SqlType) -> Result<TypedExpr, ExecError> {
        self.bound(|binder| {
            let value = TypedExpr::new(ExprKind::Parameter(0), domain.erased());
            binder.of_domain(value, domain)
        })
    }

    fn column_default(&self, column: &ColumnDef) -> Result<TypedExpr, ExecError> {
        self.bound(|binder| binder.stored_default(column))
    }

    fn describe_error(&self, error: &ExecError) -> Described {
        let mut error = SqlError::from(error.clone());
        self.tell_reason(&mut error);
        let subject = error.subject.map(|subject| *subject).unwrap_or_default();
        Described {
            sqlstate: error.sqlstate.into(),
            message: error.message,
            detail: error.detail.map(String::from),
            hint: error.hint.map(String::from),
            context: error.context.map(String::from),
            column: subject.column,
            constraint: subject.constraint,
            datatype: subject.datatype,
            table: subject.table,
            schema: subject.schema,
        }
    }

    fn statements_of(&self, text: &str) -> Result<Vec<Range<usize>>, ExecError> {
        // The usual one is read once, when it is bound.
        if !text.contains(';') {
            return Ok(std::iter::once(0..text.len()).collect());
        }
        Script::read(text, &mut |_| ())
            .map(|script| script.places())
            .map_err(|error| ExecError::from(SqlError::from(error).within(text)))
    }

    fn bind_text(
        &self,
        text: &str,
        part: Range<usize>,
        known: &Known<'_>,
        places: bool,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Option<Bound>, ExecError> {
        let style = self.style();
        let bind = || {
            let Some(parsed) = parse_script(&text[part.clone()])?.pop() else { return Ok(None) };
            SqlError::check_databases(&parsed.databases, self.database())?;
            let mut parsed = parsed.statement;
            if let Statement::Query(query) = &mut parsed {
                // A loop over rows that it locks knows their places, too.
                let looped = matches!(known.purpose, TextPurpose::Cursor) && !query.locks.is_empty();
                query.places = places || looped;
            }
            match parsed {
                Statement::Commit { .. }
                | Statement::Rollback { .. }
                | Statement::RollbackTo(_)
                | Statement::Savepoint(_)
                | Statement::Release { .. }
                | Statement::PrepareTransaction(_)
                | Statement::EndPrepared { .. }
                | Statement::Begin { .. } => {
                    let text = "EXECUTE of transaction commands is not implemented";
                    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
                }
                Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::Merge(_) => {
                    let binder = Binder::new(catalog, &style, known.types);
                    let binder = binder.with_rules(self.settings.rules).with_transitions(known.transitions);
                    binder.statement(&parsed).map(Some)
                }
                Statement::CreateTableAs(create) if create.selects => Err(refuse_into(known.purpose)),
                parsed if parsed.defines() || parsed.serves() => Ok(None),
                _ => Err(SqlError::unsupported("EXECUTE of such a statement")),
            }
        };
        bind().map_err(|error| match error.position {
            Some(position) => {
                let before = text[..part.start].chars().count();
                let position = Some(position.saturating_add(u32::try_from(before).unwrap_or(u32::MAX)));
                ExecError::from(SqlError { position, ..error }.within(text))
            }
            None if ["EXECUTE of ", "cannot open SELECT INTO"]
                .iter()
                .any(|head| error.message.starts_with(head)) =>
            {
                ExecError::from(error)
            }
            None => ExecError::from(error.with_context(&format!("SQL statement \"{text}\""))),
        })
    }
}
