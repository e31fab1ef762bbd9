//! From syntax to typed plans: names, types and casts, by PostgreSQL's rules.
//!
//! | module | what it is |
//! |---|---|
//! | [`scope`] | what a name means |
//! | [`renamed`] | kept texts of a table's rows, when the table or a column gets another name |
//! | [`resolve`] | which function or operator a call means |
//! | [`coerce`] | casts, constants, common types |
//! | [`context`] | where an expression stands |
//! | [`expr`], [`call`] | expressions; calls of functions and aggregates |
//! | [`aggregate`] | aggregates and the query they belong to; what stands above the grouping, over the keys |
//! | [`grouping`] | GROUP BY: keys and grouping sets |
//! | [`window`] | functions over windows |
//! | [`shared_calls`] | aggregates and functions over windows that ORDER BY repeats |
//! | [`query`] | queries as a whole, VALUES, LIMIT |
//! | [`select`], [`set_operation`], [`order`] | SELECT; UNION and its relatives; ORDER BY |
//! | [`from`] | tables, functions and joins in FROM |
//! | [`lock`] | FOR UPDATE and its relatives |
//! | [`subquery`], [`row`] | queries within expressions; rows and what they are compared with |
//! | [`row_variable`] | variables of PL/pgSQL that are rows |
//! | [`like`] | LIKE as an operator; operators before ANY and ALL |
//! | [`sample`] | TABLESAMPLE |
//! | [`named_arguments`] | `f(a => x)` |
//! | [`json`], [`sql_json`] | aggregates of JSON, IS JSON; JSON_VALUE and its relatives, constructors |
//! | [`with`], [`with_changes`] | WITH; changes in it |
//! | [`recursive`] | which queries of WITH read themselves, and where they may |
//! | [`search`] | SEARCH and CYCLE |
//! | [`copy`] | COPY |
//! | [`generated`] | generated columns, and what they may depend on |
//! | [`virtual_columns`] | generated columns that are computed when they are read |
//! | [`dml`], [`change`], [`merge`] | INSERT; UPDATE, DELETE; MERGE |
//! | [`returning`] | RETURNING |
//! | [`rights`] | which rights a statement needs; policies |
//! | [`start`] | queries of an INSERT over its own table |
//! | [`stored`] | texts that the catalog keeps: what their names meant when they were made |
//! | [`view`], [`shown`] | views; those whose rows change |
//! | [`plpgsql`] | bodies of functions |
//! | [`trigger`] | WHEN of triggers; NEW and OLD |
//! | [`null`] | which columns have no NULL
//! | [`once`] | values that an expression uses several times |
//! | [`parameter`] | types of parameters that nobody declared |
//! | [`trace`] | what a text means, noted for the deparser |
//! | [`unbound`] | clauses that are refused by name |
//! | [`walk`] | walks over typed expressions |
//!
//! N1. Every cast in the result is explicit (P3 of the plan), every value stored has the column's type (P4).
//! N2. An error points at the characters that cause it.

mod absent;
mod aggregate;
mod call;
mod change;
mod coerce;
mod collate;
mod comparable;
mod computed;
mod context;
mod copy;
mod dml;
mod domain;
mod expr;
mod figures;
mod file_scan;
mod from;
mod generated;
mod grouping;
mod json;
mod json_table;
mod like;
mod literals;
mod lock;
mod merge;
mod named_arguments;
mod named_type;
mod names;
mod null;
mod once;
mod order;
mod parameter;
mod partition;
pub(crate) mod past;
mod plpgsql;
mod polymorphic;
mod query;
mod recursive;
mod renamed;
mod resolve;
mod returning;
pub mod rights;
mod routine;
mod row;
mod row_variable;
mod rows_keyed;
mod sample;
mod scope;
mod search;
mod select;
mod set_operation;
mod shared_calls;
mod shown;
mod sql_json;
mod start;
mod steady;
mod stored;
mod strict;
mod subquery;
mod subscript;
mod system_view;
mod table_number;
pub(crate) mod trace;
mod trigger;
mod unbound;
mod user_aggregate;
mod user_operator;
mod view;
mod view_function;
mod virtual_columns;
mod walk;
mod window;
mod with;
mod with_changes;
mod written;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, ColumnDef, Oid, StoredQuery, TableDef, ViewDef};
use verso_exec::plan::{Statement, TypedExpr};
use verso_types::{CastKind, SqlType, TimeStyle, Value};

use crate::errors::{SqlError, sqlstate};
use crate::estimate::Estimate;
use crate::hints::Hints;
use crate::rewrite::{Planning, Rules};
use verso_parser::syntax;

pub(crate) use coerce::{exactly, in_form};
pub use collate::refuse_undetermined;
pub(crate) use collate::unkeyed;
pub(crate) use dml::EXCLUDED;
pub(crate) use expr::called_of_row;
pub(crate) use from::place_of;
pub use generated::{ColumnInScope, columns_in_scope, filled_text};
pub(crate) use json::is_json_aggregate;
pub use names::index_name;
pub(crate) use names::output_name;
pub(crate) use null::may_be_null;
pub(crate) use order::around_sort;
pub use parameter::Inference;
pub use plpgsql::bind_block;
pub use plpgsql::bind_sql_function;
pub use plpgsql::{bind_function, function_statements};
pub use plpgsql::{bind_trigger, check_trigger_statements, update_trigger_body};
pub(crate) use plpgsql::{body_as_query, traced_body};
pub use plpgsql::{check_function, parse_function_body, shadowed};
pub use polymorphic::{follows_from, is_polymorphic, needed_for, takes_polymorphic};
pub use renamed::Renamed;
pub use resolve::category;
pub(crate) use resolve::common_type;
pub(crate) use returning::RETURNED_ROWS;
pub(crate) use scope::{came_later, is_hidden};
pub(crate) use start::before_changes;
pub(crate) use steady::is_immutable;
pub use user_aggregate::{NewAggregate, NewMoving, Part, check_aggregate, part_of_definition};
pub use view::{function_body, keys_of_body};
pub use view_function::is_form;
pub use walk::{columns_of, map_columns};
pub(crate) use walk::{in_turn_together, replace_columns, same, tells_nothing};

/// In front of the name of a column that keeps what another one was before a statement has changed it.
const BEFORE: &str = "\u{1}before ";

/// The name of the column that keeps, while ALTER TABLE runs, what a column was before it.
pub fn value_before(column: &str) -> String {
    format!("{BEFORE}{column}")
}

/// What binding needs to know.
#[derive(Clone)]
pub struct Binder<'c> {
    /// Tables, sequences and functions.
    pub catalog: &'c Arc<CatalogSnapshot>,
    /// For constants such as `'2020-01-01'::timestamptz`.
    pub time_zone: &'c TimeStyle,
    /// Types of `$1` …; `Unknown` for a NULL without a type.
    pub parameters: &'c [SqlType],
    /// Values of the parameters, where the plan is made for them alone.
    values: &'c [Value],
    /// Instead of `parameters`: types are found out while binding.
    inference: Option<&'c Inference>,
    /// Variables in scope, innermost last; empty outside of PL/pgSQL.
    variables: Vec<scope::Variable>,
    /// NEW and OLD of a trigger.
    records: Vec<scope::Record>,
    /// The queries around the one that is bound.
    outer: Option<&'c scope::Correlation<'c>>,
    /// The queries of WITH in scope, innermost last.
    ctes: Vec<with::Cte>,
    /// Tables that several changes of one WITH are about.
    changed_twice: Vec<Oid>,
    /// Notes what names mean, for a text that the catalog is to keep.
    noted: Option<&'c stored::Notes>,
    /// It binds a text that the catalog keeps: what that names was found when it was made.
    kept: bool,
    /// Notes what names mean, for a query that becomes a view's.
    noting: Option<&'c view::Noting>,
    /// Notes what a text means, for the deparser.
    traced: Option<&'c trace::Trace>,
    /// The query of a view that is being bound.
    stored: Option<&'c StoredQuery>,
    /// The views around it.
    expanding: Vec<Oid>,
    /// The role whose rights count, where they are limited.
    acting: Option<Oid>,
    /// What the query that is bound needs of relations.
    needs: Option<rights::Needs>,
    /// Which rewrites are on.
    pub(crate) rules: Rules,
    /// What comments ask of the plan.
    hints: Rc<Hints>,
    /// The views that were named, those within views among them.
    views: Rc<RefCell<BTreeSet<Oid>>>,
    /// What rows of tables come with beside their columns.
    numbered: table_number::RowNumbers,
    /// The table over whose rows an expression is bound that it keeps: 0 of one that is not made yet.
    own_table: Oid,
    /// The plan outlives the settings: what heeds them is computed when it runs, but for literals, whose values stay.
    lasts: bool,
    /// FLASHBACK: columns that are always generated get the values that they had.
    flashes_back: bool,
    /// What is bound is not run: materialized views without rows may be read.
    unread: bool,
}

impl<'c> Binder<'c> {
    /// For statements outside of PL/pgSQL.
    pub fn new(
        catalog: &'c Arc<CatalogSnapshot>,
        time_zone: &'c TimeStyle,
        parameters: &'c [SqlType],
    ) -> Binder<'c> {
        Binder {
            catalog,
            time_zone,
            parameters,
            values: &[],
            inference: None,
            variables: Vec::new(),
            records: Vec::new(),
            outer: None,
            ctes: Vec::new(),
            changed_twice: Vec::new(),
            noted: None,
            kept: false,
            noting: None,
            traced: None,
            stored: None,
            expanding: Vec::new(),
            acting: catalog.acting_role().and_then(|role| rights::limited(catalog, role)),
            needs: None,
            rules: Rules::ALL,
            hints: Rc::default(),
            views: Rc::default(),
            numbered: table_number::RowNumbers::default(),
            own_table: Oid(0),
            lasts: false,
            flashes_back: false,
            unread: false,
        }
    }

    /// The same over a text that the catalog keeps.
    pub(crate) fn over_stored(
        catalog: &'c Arc<CatalogSnapshot>,
        time_zone: &'c TimeStyle,
        stored: &'c StoredQuery,
    ) -> Binder<'c> {
        Binder { stored: Some(stored), unread: true, ..Binder::new(catalog, time_zone, &[]) }
    }

    /// What rewriting needs to know.
    pub(crate) fn planning(&self) -> Planning<'_> {
        let hints = Some(&*self.hints).filter(|hints| !hints.is_empty());
        let estimate = Estimate { catalog: Some(self.catalog), methods: self.rules.methods, hints };
        Planning { rules: self.rules, estimate, hints, time_zone: Some(self.time_zone) }
    }

    /// What the client is to know of the statements bound: hints that were not followed.
    pub fn told(&self) -> Vec<String> {
        self.hints.told()
    }

    /// The views that the statements bound name, those that these name among them.
    pub fn views(&self) -> Vec<Arc<ViewDef>> {
        self.views.borrow().iter().filter_map(|oid| self.catalog.view_by_oid(*oid)).collect()
    }

    /// The same with these rewrites only.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Binder<'c> {
        Binder { rules, ..self }
    }

    /// The same for these values of the parameters only.
    #[must_use]
    pub fn with_values(self, values: &'c [Value]) -> Binder<'c> {
        Binder { values, ..self }
    }

    /// The same for a plan that is kept when settings change and time goes by.
    #[must_use]
    pub fn lasting(self, lasts: bool) -> Binder<'c> {
        Binder { lasts, ..self }
    }

    /// The same for a query that is not run, of a definition: it may read materialized views that have no rows yet.
    #[must_use]
    pub fn unread(self) -> Binder<'c> {
        Binder { unread: true, ..self }
    }

    /// For statements to be prepared: parameters get the types that their contexts want.
    pub fn inferring(
        catalog: &'c Arc<CatalogSnapshot>,
        time_zone: &'c TimeStyle,
        inference: &'c Inference,
    ) -> Binder<'c> {
        Binder { inference: Some(inference), ..Binder::new(catalog, time_zone, &[]) }
    }

    /// For expressions that a table keeps of its rows, which may ask for its number.
    #[must_use]
    pub fn of_table(self, table: Oid) -> Binder<'c> {
        Binder { own_table: table, ..self }
    }

    /// Binds a query or a change of rows and chooses its access paths.
    pub fn statement(&self, statement: &syntax::Statement) -> Result<Statement, SqlError> {
        let bound = self.as_numbered(&|binder| binder.unplanned(statement));
        let mut bound = bound.map_err(|error| table_number::refused(error, statement))?;
        crate::plan::choose(&mut bound, self.planning())?;
        Ok(bound)
    }

    /// Chooses the access paths of what was bound in parts.
    ///
    /// # Errors
    /// Those of planning.
    pub fn planned(&self, bound: &mut Statement) -> Result<(), SqlError> {
        crate::plan::choose(bound, self.planning())
    }

    fn unplanned(&self, statement: &syntax::Statement) -> Result<Statement, SqlError> {
        self.checked(|binder| match binder.with_changes(statement)? {
            Some(bound) => Ok(bound),
            None => binder.plain(statement),
        })
    }

    /// A statement without changes in its WITH.
    fn plain(&self, statement: &syntax::Statement) -> Result<Statement, SqlError> {
        match statement {
            syntax::Statement::Query(query) => Ok(Statement::Query(row::as_sent(self.query(query)?))),
            syntax::Statement::Insert(insert) => {
                self.hints.add(&select::texts(&insert.hints), Vec::new());
                self.with(&insert.with)?.insert(insert).map(Statement::Insert)
            }
            syntax::Statement::Update(update) => {
                self.hints.add(&select::texts(&update.hints), Vec::new());
                self.with(&update.with)?.update(update).map(Statement::Update)
            }
            syntax::Statement::Delete(delete) => {
                self.hints.add(&select::texts(&delete.hints), Vec::new());
                self.with(&delete.with)?.delete(delete).map(Statement::Delete)
            }
            syntax::Statement::Merge(merge) => self.with(&merge.with)?.merge(merge).map(Statement::Merge),
            _ => Err(SqlError::internal("only queries and changes of rows are bound")),
        }
    }

    /// Binds the condition of a CHECK over a table's columns.
    pub fn condition(
        &self,
        expr: &syntax::Expr,
        table: &str,
        columns: &[(Arc<str>, SqlType)],
    ) -> Result<TypedExpr, SqlError> {
        let scope = scope::Scope::of(Some(table.into()), None, columns.to_vec());
        let scope = table_number::with_own_number(scope);
        let mut cx = context::Context::new(&scope, context::Clause::Check);
        let bound = self.expr(expr, &mut cx).map_err(|error| {
            table_number::misplaced(error, |name| {
                let text = format!("system column \"{name}\" reference in check constraint is invalid");
                SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text)
            })
        })?;
        let mut bound = self.boolean(bound, expr.at.start, "CHECK")?;
        table_number::settle_own_number(&mut bound, columns.len(), self.own_table);
        Ok(bound)
    }

    /// Binds the condition that a table's CHECK constraint has in the catalog, over all columns of its stored rows.
    pub fn stored_condition(&self, text: &str, table: &TableDef) -> Result<TypedExpr, SqlError> {
        let columns: Vec<_> =
            table.columns.iter().map(|column| (Arc::clone(&column.name), column.seen())).collect();
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.stored_condition(text, table);
        }
        // The text was checked when the constraint was made; positions in it mean nothing to the statement.
        let binder = self.in_kept_text().of_table(table.oid);
        let bound = verso_parser::parse_expression(text)
            .map_err(SqlError::from)
            .and_then(|expr| binder.condition(&expr, &table.name, &columns))
            .and_then(|condition| binder.expanded(condition, table, 0));
        bound.map_err(|error| SqlError { position: None, ..error })
    }

    /// Binds the expression that ALTER COLUMN … TYPE … USING computes of a row. A column that the same statement has changed already
    /// means what it was, where that is kept ([`value_before`]).
    pub fn conversion(
        &self,
        expr: &syntax::Expr,
        table: &TableDef,
        ty: &SqlType,
    ) -> Result<TypedExpr, SqlError> {
        let name = |column: &ColumnDef| match column.name.strip_prefix(BEFORE) {
            Some(name) => name.into(),
            None if table.column(&value_before(&column.name)).is_some() => scope::later(&column.name),
            None => Arc::clone(&column.name),
        };
        let columns = table.columns.iter().map(|column| (name(column), column.seen())).collect();
        let scope = scope::Scope::of(Some(Arc::clone(&table.name)), None, columns);
        let mut cx = context::Context::new(&scope, context::Clause::Transform);
        let bound = self.expr(expr, &mut cx)?;
        match bound.ty {
            SqlType::Unknown => self.coerce(bound, expr.at.start, ty, CastKind::Assignment),
            _ => Ok(bound),
        }
    }

    /// The default that a column has in the catalog; NULL where it has none, and where it is generated.
    pub fn stored_default(&self, column: &ColumnDef) -> Result<TypedExpr, SqlError> {
        let text = match &column.default {
            Some(text) if !column.generated => text,
            _ => {
                let inherited = if column.generated { None } else { self.domain_default(column)? };
                return Ok(inherited.unwrap_or_else(|| TypedExpr::null(column.ty.clone())));
            }
        };
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.stored_default(column);
        }
        // The text was checked when the column was made; positions in it mean nothing to the statement.
        let bound = verso_parser::parse_expression(text)
            .map_err(SqlError::from)
            .and_then(|expr| self.in_kept_text().default_value(&expr, &column.name, &column.ty));
        let mut bound = bound.map_err(|error| SqlError { position: None, ..error })?;
        self.number_sequences(&mut bound, column);
        Ok(bound)
    }

    /// The type of a column's default before it becomes a value of the column, as PostgreSQL's defaults are without the casts that
    /// nobody has written; `Unknown` for a literal, which takes its type from the column.
    pub fn written_default_type(&self, text: &str) -> Result<SqlType, SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.written_default_type(text);
        }
        let expr = verso_parser::parse_expression(text)?;
        let scope = scope::Scope::default();
        let mut cx = context::Context::new(&scope, context::Clause::Default);
        let bound = self.in_kept_text().expr(&expr, &mut cx);
        bound.map(|bound| bound.ty).map_err(|error| SqlError { position: None, ..error })
    }

    /// Binds an expression without columns to the type it is stored as: the default of a column.
    pub fn default_value(
        &self,
        expr: &syntax::Expr,
        column: &str,
        ty: &SqlType,
    ) -> Result<TypedExpr, SqlError> {
        self.value_in(context::Clause::Default, expr, column, ty)
    }

    /// The same of an argument of a function.
    pub fn argument_value(&self, expr: &syntax::Expr, ty: &SqlType) -> Result<TypedExpr, SqlError> {
        self.value_in(context::Clause::ArgumentDefault, expr, "default", ty)
    }

    fn value_in(
        &self,
        clause: context::Clause,
        expr: &syntax::Expr,
        column: &str,
        ty: &SqlType,
    ) -> Result<TypedExpr, SqlError> {
        let scope = scope::Scope::default();
        let mut cx = context::Context::new(&scope, clause);
        let value = self.expr(expr, &mut cx)?;
        self.assign(value, expr.at.start, column, ty)
    }
}
