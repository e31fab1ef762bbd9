//! Domains: casts to them, and what the rows of a table owe to those of its columns.
//!
//! Expressions have the type beneath a domain; that a value is one of the domain is a step of its own
//! ([`ExprKind::Domain`](K::Domain)).

use std::sync::Arc;

use verso_catalog::{ColumnDef, TableDef};
use verso_env::recursion;
use verso_exec::functions::json::with_definitions;
use verso_exec::plan::{Check, CheckOf, DomainRules, ExprKind as K, Plan, SetCall, TypedExpr};
use verso_types::{CastKind, Derivation, DomainType, SqlType};

use super::Binder;
use super::context::{Clause, Context};
use super::scope::Scope;
use super::trace::Trace;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, Name};

/// What a condition calls the value.
const VALUE: &str = "value";

impl Binder<'_> {
    /// Casts to a domain or to an array of one, as [`Binder::coerce`] does to other types.
    pub(super) fn coerce_to_domain(
        &self,
        expr: TypedExpr,
        at: u32,
        to: &SqlType,
        kind: CastKind,
    ) -> Result<TypedExpr, SqlError> {
        let value = self.coerce(expr, at, &to.erased(), kind)?;
        let mut value = self.of_domain(value, to)?;
        // A domain that was declared with a collation gives it to its values; COLLATE says more.
        if let Some(collation) = to.collation()
            && !matches!(value.collation, Derivation::Explicit(_))
        {
            value.collation = Derivation::Implicit(collation);
        }
        Ok(value)
    }

    /// A value that already has the type beneath, checked.
    pub fn of_domain(&self, value: TypedExpr, to: &SqlType) -> Result<TypedExpr, SqlError> {
        let (element, elements) = match to {
            SqlType::Array(element) => (&**element, true),
            own => (own, false),
        };
        let SqlType::Domain(domain) = element else { return Ok(value) };
        let mut value = value;
        let of = element.clone();
        let (checks, fields) = (Vec::new(), Vec::new());
        let mut rules = DomainRules { of, not_null: false, elements, checks, fields };
        for domain in beneath_first(domain) {
            if let (false, SqlType::Array(_)) = (elements, &domain.base) {
                value = self.of_domain(value, &domain.base)?; // over an array, perhaps of another domain
            }
            rules.not_null |= domain.not_null;
            for check in &domain.checks {
                let bound = self.stored_domain_condition(&check.expression, &domain.base)?;
                rules.checks.push((Arc::clone(&check.name), bound));
            }
        }
        if !rules.not_null && rules.checks.is_empty() {
            return Ok(value);
        }
        let ty = value.ty.clone();
        Ok(TypedExpr::new(K::Domain { arg: Box::new(value), rules: Arc::new(rules) }, ty))
    }

    /// A row that was made of something else, or rows of an array: what the domains of its fields demand is asked.
    pub(super) fn of_fields(&self, value: TypedExpr, to: &SqlType) -> Result<TypedExpr, SqlError> {
        recursion::check()?;
        let (element, elements) = match to {
            SqlType::Array(element) => (&**element, true),
            own => (own, false),
        };
        let SqlType::Row(row) = element else { return Ok(value) };
        let mut fields = Vec::new();
        for (at, (_, ty)) in row.fields.iter().enumerate() {
            let field = self.of_domain(TypedExpr::new(K::Parameter(0), ty.clone()), row.declared(at))?;
            let field = match ty.has_constrained_fields() {
                true => self.of_fields(field, ty)?,
                false => field,
            };
            if matches!(field.kind, K::Domain { .. }) {
                fields.push((at, field));
            }
        }
        if fields.is_empty() {
            return Ok(value);
        }
        let of = element.clone();
        let rules = DomainRules { of, not_null: false, elements, checks: Vec::new(), fields };
        let ty = value.ty.clone();
        Ok(TypedExpr::new(K::Domain { arg: Box::new(value), rules: Arc::new(rules) }, ty))
    }

    /// The rows that functions of FROM make of JSON, their columns of the domains that the query or the type of the rows declares.
    /// `definitions`: the columns that the query lists, for each of the functions.
    pub(super) fn of_json_rows(
        &self,
        plan: Plan,
        definitions: &[&[(Name, SqlType)]],
    ) -> Result<Plan, SqlError> {
        let calls: Vec<(&SetCall, usize)> = match &plan {
            Plan::FunctionScan { call, columns } => vec![(call, columns.len())],
            Plan::ProjectSet { calls, .. } => {
                calls.iter().map(|call| (&call.call, call.columns.len())).collect()
            }
            _ => return Ok(plan),
        };
        let output = plan.output();
        let mut exprs: Vec<TypedExpr> = Vec::with_capacity(output.len());
        let mut is_checked = false;
        for ((call, width), definitions) in calls.into_iter().zip(definitions) {
            let declared = self.declared_for_json(call, definitions)?;
            for at in 0..width {
                let column = exprs.len();
                let Some(known) = output.get(column) else { return Ok(plan) };
                let mut expr = TypedExpr::column(column, known.seen());
                if let Some(ty) = declared.get(at).filter(|_| declared.len() == width) {
                    expr = self.of_domain(expr, ty)?;
                    let beneath = ty.erased();
                    if beneath.has_constrained_fields() {
                        expr = self.of_fields(expr, &beneath)?;
                    }
                    is_checked |= matches!(expr.kind, K::Domain { .. });
                }
                exprs.push(expr);
            }
        }
        let plan = match &plan {
            Plan::FunctionScan { call: SetCall::Builtin { function, args }, .. }
                if with_definitions(function.name).is_some()
                    && let Some(row) = args.first()
                    && let Some(domain) = domain_of_row(row) =>
            {
                // The rows themselves are of a domain. It is computed, which is all that matters.
                let row = TypedExpr::new(K::Row(exprs.clone()), row.ty.clone());
                let kind = K::IsNull { arg: Box::new(self.of_domain(row, &domain)?), negated: false };
                let arg = Box::new(TypedExpr::new(kind, SqlType::Bool));
                let kind = K::IsBool { arg, value: None, negated: true };
                let predicate = TypedExpr::new(kind, SqlType::Bool);
                Plan::Filter { input: Box::new(plan), predicate }
            }
            _ => plan,
        };
        if !is_checked {
            return Ok(plan);
        }
        let rest = output.iter().enumerate().skip(exprs.len());
        let rest: Vec<TypedExpr> = rest.map(|(at, column)| TypedExpr::column(at, column.seen())).collect();
        exprs.extend(rest);
        let names = output.iter().map(|column| Arc::clone(&column.name)).collect();
        Ok(Plan::Project { input: Box::new(plan), exprs, names })
    }

    /// What the columns were declared as of a function that makes rows of JSON; empty for all others.
    fn declared_for_json(
        &self,
        call: &SetCall,
        definitions: &[(Name, SqlType)],
    ) -> Result<Vec<SqlType>, SqlError> {
        let SetCall::Builtin { function, args } = call else { return Ok(Vec::new()) };
        let of_definitions = ["json_to_record", "jsonb_to_record", "json_to_recordset", "jsonb_to_recordset"];
        if with_definitions(function.name).is_none() && !of_definitions.contains(&function.name) {
            return Ok(Vec::new());
        }
        if !definitions.is_empty() {
            return definitions.iter().map(|(_, ty)| self.data_type(ty)).collect();
        }
        Ok(match args.first().map(|row| &row.ty) {
            Some(SqlType::Row(row)) => row.as_declared().map(|(_, ty)| ty.clone()).collect(),
            _ => Vec::new(),
        })
    }

    /// Binds the condition that a domain has in the catalog.
    pub fn stored_domain_condition(&self, text: &str, base: &SqlType) -> Result<TypedExpr, SqlError> {
        let plain = self.plain_names();
        let catalog = plain.as_ref().unwrap_or(self.catalog);
        let binder =
            Binder { rules: self.rules, acting: self.acting, ..Binder::new(catalog, self.time_zone, &[]) };
        let binder = Binder { kept: true, ..binder };
        // The text was checked when the condition was made; positions in it mean nothing to the statement.
        let bound = verso_parser::parse_expression(text)
            .map_err(SqlError::from)
            .and_then(|expr| binder.domain_condition(&expr, base));
        let mut bound = bound.map_err(|error| SqlError { position: None, ..error })?;
        replace_value(&mut bound);
        Ok(bound)
    }

    /// Binds the condition that a domain has in the catalog, and notes what its text means.
    pub(crate) fn traced_domain_condition(
        &self,
        expr: &Expr,
        base: &SqlType,
        trace: &Trace,
    ) -> Result<(), SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.traced_domain_condition(expr, base, trace);
        }
        let binder = Binder { traced: Some(trace), kept: true, ..self.plain_names_aside() };
        binder.domain_condition(expr, base).map(|_| ())
    }

    /// Binds a condition over VALUE, which is column 0.
    pub fn domain_condition(&self, expr: &Expr, base: &SqlType) -> Result<TypedExpr, SqlError> {
        let scope = Scope::of(None, None, vec![(Arc::from(VALUE), base.erased())]);
        let bound = self.expr(expr, &mut Context::new(&scope, Clause::Check))?;
        if bound.any(&mut |part| matches!(part.kind, K::Subquery { .. })) {
            let text = "cannot use subquery in check constraint";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        self.boolean(bound, expr.at.start, "CHECK")
    }

    /// What rows of a table owe to the domains of its columns.
    pub(super) fn domain_checks(&self, table: &TableDef) -> Result<Vec<Check>, SqlError> {
        let mut checks = Vec::new();
        for (at, column) in table.columns.iter().enumerate() {
            let Some(declared) = &column.domain else { continue };
            let value = self.of_domain(TypedExpr::column(at, column.seen()), declared)?;
            if !matches!(value.kind, K::Domain { .. }) {
                continue;
            }
            // It is computed, which is all that matters: the value reports what it breaks.
            let computed = K::IsNull { arg: Box::new(value), negated: false };
            let arg = Box::new(TypedExpr::new(computed, SqlType::Bool));
            let condition = TypedExpr::new(K::IsBool { arg, value: None, negated: true }, SqlType::Bool);
            checks.push(Check { name: Arc::clone(&column.name), condition, of: CheckOf::Domain });
        }
        Ok(checks)
    }

    /// The default of the domain of a column that has none of its own.
    pub(super) fn domain_default(&self, column: &ColumnDef) -> Result<Option<TypedExpr>, SqlError> {
        let Some(SqlType::Domain(domain)) = &column.domain else { return Ok(None) };
        let Some(text) = &domain.default else { return Ok(None) };
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.domain_default(column);
        }
        let bound = verso_parser::parse_expression(text)
            .map_err(SqlError::from)
            .and_then(|expr| self.in_kept_text().default_value(&expr, &column.name, &column.ty));
        bound.map(Some).map_err(|error| SqlError { position: None, ..error })
    }
}

/// The domain with conditions that a row was cast to: what is made after its pattern is one of that domain, too.
pub(super) fn domain_of_row(row: &TypedExpr) -> Option<SqlType> {
    match &row.kind {
        K::Domain { rules, .. } if row.ty.is_row() && matches!(rules.of, SqlType::Domain(_)) => {
            Some(rules.of.clone())
        }
        _ => None,
    }
}

/// A domain and those beneath it, the lowest first.
fn beneath_first(domain: &Arc<DomainType>) -> Vec<&Arc<DomainType>> {
    let mut all = vec![domain];
    let mut top = domain;
    while let SqlType::Domain(beneath) = &top.base {
        all.push(beneath);
        top = beneath;
    }
    all.reverse();
    all
}

/// Makes the one column the one parameter.
fn replace_value(expr: &mut TypedExpr) {
    if let K::Column(_) = expr.kind {
        expr.kind = K::Parameter(0);
    }
    expr.for_each_child_mut(&mut replace_value);
}
