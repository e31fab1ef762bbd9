//! Constraints of domains: rows of `pg_constraint`, and their texts.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, Oid};
use verso_planner::deparse;
use verso_types::{DomainCheck, DomainType, SqlType, Value};

use super::definitions::binder;
use super::keys::Keys;
use super::relations::namespace;
use super::{letter, number};
use crate::views::Views;

/// Every domain.
fn domains(catalog: &CatalogSnapshot) -> impl Iterator<Item = &Arc<DomainType>> {
    catalog.types().filter_map(|ty| match &ty.ty {
        SqlType::Domain(domain) => Some(domain),
        _ => None,
    })
}

/// The rows of `pg_constraint`.
pub(super) fn constraints(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    keys: &Keys<'_>,
) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    if ["conrelid", "confrelid", "conindid"].iter().any(|of| keys.oid(of).is_some_and(|one| one.0 != 0)) {
        return rows;
    }
    for domain in domains(catalog) {
        for check in &domain.checks {
            let condition = Value::text(&condition(views, catalog, domain, check, false));
            rows.push(row(catalog, domain, (check.oid, &check.name, 'c', check.validated), condition));
        }
        if domain.not_null {
            let named = (domain.not_null_oid, &domain.not_null_name, 'n', true);
            rows.push(row(catalog, domain, named, Value::Null));
        }
    }
    rows.retain(|row| keys.fit(row));
    rows
}

fn row(
    catalog: &Arc<CatalogSnapshot>,
    domain: &DomainType,
    (oid, name, kind, validated): (u32, &Arc<str>, char, bool),
    condition: Value,
) -> Vec<Value> {
    let (no, blank) = (|| Value::Bool(false), || letter(' '));
    vec![
        number(oid),
        Value::Text(Arc::clone(name)),
        namespace(catalog, &domain.schema),
        letter(kind),
        no(),
        no(),
        Value::Bool(true),
        Value::Bool(validated),
        number(0),
        number(domain.oid),
        number(0),
        number(0),
        number(0),
        blank(),
        blank(),
        blank(),
        Value::Bool(true),
        Value::Int2(0),
        no(),
        no(),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        condition,
    ]
}

fn condition(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    domain: &DomainType,
    check: &DomainCheck,
    pretty: bool,
) -> String {
    let binder = binder(views, catalog);
    if let Some(text) = deparse::domain_condition(&binder, &check.expression, &domain.base, pretty) {
        return text;
    }
    let bound = binder.stored_domain_condition(&check.expression, &domain.base);
    bound.map_or_else(
        |_| verso_catalog::kept::with_names(catalog, &check.expression),
        |bound| deparse::bound_domain_condition(catalog, &bound, pretty),
    )
}

/// `pg_get_constraintdef`.
pub(super) fn constraint_text(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    oid: Oid,
    pretty: bool,
) -> Option<String> {
    for domain in domains(catalog) {
        if domain.not_null && domain.not_null_oid == oid.0 {
            return Some("NOT NULL".to_string());
        }
        if let Some(check) = domain.checks.iter().find(|check| check.oid == oid.0) {
            let valid = if check.validated { "" } else { " NOT VALID" };
            return Some(format!("CHECK ({}){valid}", condition(views, catalog, domain, check, pretty)));
        }
    }
    None
}
