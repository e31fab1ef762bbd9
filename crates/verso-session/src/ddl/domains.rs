//! CREATE DOMAIN, ALTER DOMAIN.

use std::sync::Arc;

use verso_catalog::{DomainChange, NewDomain, Object, Oid, TableDef};
use verso_exec::plan::{ExprKind, Plan, TypedExpr};
use verso_storage::TableLockMode;
use verso_types::{DomainType, SqlType};

use super::composite::is_pseudo;
use super::{Schema, text};
use crate::failure::Failure;
use verso_parser::syntax::{CreateDomain, DomainAction, DomainCondition, Expr, QualifiedName};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    pub(super) fn create_domain(&self, create: &CreateDomain) -> Result<(), Failure> {
        let binder = self.binder();
        let base = binder.data_type(&create.base)?;
        self.may_use(&base)?;
        if let SqlType::Row(_) = &base
            && self.frame.catalog.user_type(Oid(base.pg_oid())).is_none()
            && !is_pseudo(&base)
        {
            let text = format!("a domain over rows of \"{}\", which is no composite type", base.pg_name());
            return Err(SqlError::unsupported(text).into());
        }
        if is_pseudo(&base) {
            let text = format!("\"{}\" is not a valid base type for a domain", base.pg_name());
            return Err(SqlError::new("42804", text).into());
        }
        let name = text(&create.name.name);
        let default = match (&create.default, &base) {
            (Some(default), base) => self.domain_default_text(&binder, default, &name, base)?,
            (None, SqlType::Domain(beneath)) => beneath.default.clone(),
            (None, _) => None,
        };
        let mut checks = Vec::new();
        for check in &create.checks {
            checks.push((check.name.as_ref().map(text), self.condition_text(&binder, check, &base)?));
        }
        let new = NewDomain {
            schema: self.place(&create.name)?,
            name,
            base,
            default,
            not_null: create.not_null.as_ref().map(|name| name.as_ref().map(text)),
            checks,
        };
        let catalog = &self.frame.services.instance.catalog;
        let oid = catalog.create_domain(&mut self.frame.txn.borrow_mut(), &new)?;
        self.made(Object::Type(oid), Some(&new.schema))
    }

    pub(super) fn alter_domain(&self, name: &QualifiedName, action: &DomainAction) -> Result<(), Failure> {
        let domain = self.domain(name)?;
        let binder = self.binder();
        let change = match action {
            DomainAction::Default(None) => DomainChange::Default(None),
            DomainAction::Default(Some(default)) => {
                let kept = self.domain_default_text(&binder, default, &domain.name, &domain.base)?;
                DomainChange::Default(kept)
            }
            DomainAction::NotNull(true, _) if domain.not_null => return Ok(()),
            DomainAction::NotNull(true, name) => {
                self.check_values(&domain, |at, table| {
                    let column = TypedExpr::column(0, table.columns[at].ty.clone());
                    let null = ExprKind::IsNull { arg: Box::new(column), negated: false };
                    let text = format!(
                        "column \"{}\" of table \"{}\" contains null values",
                        table.columns[at].name, table.name
                    );
                    (TypedExpr::new(null, SqlType::Bool), SqlError::new("23502", text))
                })?;
                DomainChange::NotNull(true, name.as_ref().map(text))
            }
            DomainAction::NotNull(false, _) => DomainChange::NotNull(false, None),
            DomainAction::AddCheck(check) => {
                let kept = self.condition_text(&binder, check, &domain.base)?;
                if !check.not_valid {
                    self.check_condition(&binder, &domain, &check.expr)?;
                }
                DomainChange::AddCheck(check.name.as_ref().map(text), kept, !check.not_valid)
            }
            DomainAction::DropConstraint { name, if_exists } => {
                let own = domain.not_null && *domain.not_null_name == *name.text;
                if *if_exists && !own && domain.check(&name.text).is_none() {
                    let text = format!(
                        "constraint \"{}\" of domain \"{}\" does not exist, skipping",
                        name.text, domain.name
                    );
                    self.skip(text);
                    return Ok(());
                }
                DomainChange::DropConstraint(text(name))
            }
            DomainAction::RenameConstraint { name, to } => {
                DomainChange::RenameConstraint(text(name), text(to))
            }
            DomainAction::Validate(name) => {
                let Some(check) = domain.check(&name.text) else {
                    let text =
                        format!("constraint \"{}\" of domain \"{}\" does not exist", name.text, domain.name);
                    return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).into());
                };
                if check.validated {
                    return Ok(());
                }
                let expr = verso_parser::parse_expression(&check.expression).map_err(SqlError::from)?;
                self.check_condition(&binder, &domain, &expr)?;
                DomainChange::Validated(text(name))
            }
        };
        let catalog = &self.frame.services.instance.catalog;
        Ok(catalog.alter_domain(&mut self.frame.txn.borrow_mut(), &domain, &change)?)
    }

    fn binder(&self) -> Binder<'_> {
        Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[])
    }

    /// The text that is kept of a default; none of a NULL, which is what there is without one. A NULL of a domain is kept: the
    /// domain may refuse it.
    fn domain_default_text(
        &self,
        binder: &Binder<'_>,
        (expr, source): &(Expr, String),
        name: &str,
        base: &SqlType,
    ) -> Result<Option<Arc<str>>, SqlError> {
        let bind = |binder: &Binder<'_>| binder.default_value(expr, name, &base.erased());
        let (kept, bound) = binder.kept_text(expr, source, bind)?;
        let is_null = matches!(&bound.kind, ExprKind::Literal(value) if value.is_null());
        Ok((!is_null || matches!(base, SqlType::Domain(_))).then(|| kept.into()))
    }

    fn condition_text(
        &self,
        binder: &Binder<'_>,
        check: &DomainCondition,
        base: &SqlType,
    ) -> Result<Arc<str>, SqlError> {
        let bind = |binder: &Binder<'_>| binder.domain_condition(&check.expr, base);
        Ok(binder.kept_text(&check.expr, &check.text, bind)?.0.into())
    }

    /// Refuses a condition that values of the domain break which are stored.
    fn check_condition(
        &self,
        binder: &Binder<'_>,
        domain: &Arc<DomainType>,
        expr: &Expr,
    ) -> Result<(), Failure> {
        let condition = binder.domain_condition(expr, &domain.base)?;
        self.check_values(domain, |at, table| {
            let broken = TypedExpr::new(ExprKind::Not(Box::new(condition.clone())), SqlType::Bool);
            let text = format!(
                "column \"{}\" of table \"{}\" contains values that violate the new constraint",
                table.columns[at].name, table.name
            );
            (broken, SqlError::new("23514", text))
        })
    }

    /// Refuses what columns of the domain, and of domains over it, hold: `broken` says what of a column, and its error.
    fn check_values(
        &self,
        domain: &Arc<DomainType>,
        broken: impl Fn(usize, &TableDef) -> (TypedExpr, SqlError),
    ) -> Result<(), Failure> {
        let mut columns = Vec::new();
        let naming = self.frame.catalog.naming(Oid(domain.oid));
        for table in naming.tables() {
            for (at, column) in table.columns.iter().enumerate() {
                let (of, is_array) = match column.declared() {
                    SqlType::Array(element) => (&**element, true),
                    own => (own, false),
                };
                let in_fields = match of {
                    SqlType::Domain(own) if is_over(own, domain) => false,
                    of if has_fields_of(of, domain) => true,
                    _ => continue,
                };
                if is_array || in_fields {
                    let text = format!(
                        "cannot alter type \"{}\" because column \"{}.{}\" uses it",
                        domain.name, table.name, column.name
                    );
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
                }
                columns.push((table, at));
            }
        }
        for (table, at) in columns {
            let (filter, error) = broken(at, table);
            self.frame.tables().lock(table, TableLockMode::Share)?;
            let scan =
                Plan::TableScan { table: Arc::clone(table).into(), columns: vec![at], filter: Some(filter) };
            if self.frame.inside_now(|frame| Schema { frame }.any_row(scan))? {
                let error = error.with_schema(&*table.schema).with_table(&*table.name);
                return Err(error.with_column(&*table.columns[at].name).into());
            }
        }
        Ok(())
    }

    /// The domain of that name, which is the role's own.
    fn domain(&self, name: &QualifiedName) -> Result<Arc<DomainType>, SqlError> {
        let ty = self.own_type(name)?;
        match &ty.ty {
            SqlType::Domain(domain) => Ok(Arc::clone(domain)),
            _ => {
                let text = format!("{} is not a domain", ty.name);
                Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text))
            }
        }
    }
}

/// 42809.
pub(super) fn not_a_domain(name: &str) -> SqlError {
    SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a domain"))
}

/// Has a composite type, or one in it, a field of a domain or of one over it?
fn has_fields_of(ty: &SqlType, domain: &DomainType) -> bool {
    match ty {
        SqlType::Array(element) => has_fields_of(element, domain),
        SqlType::Domain(own) => is_over(own, domain) || has_fields_of(&own.base, domain),
        SqlType::Row(row) => row.as_declared().any(|(_, ty)| has_fields_of(ty, domain)),
        _ => false,
    }
}

/// Is a domain the other one, or over it?
fn is_over(domain: &DomainType, other: &DomainType) -> bool {
    domain.oid == other.oid || matches!(&domain.base, SqlType::Domain(beneath) if is_over(beneath, other))
}
