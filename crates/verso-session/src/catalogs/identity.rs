//! Objects in words: `pg_describe_object`, `pg_identify_object`.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, Oid, Relation, SystemRelation};
use verso_exec::functions::quote_ident;
use verso_types::{SqlType, SystemType, Value, names as references};

use super::names::{relation_name, type_name};

/// What an object is, and its name in two ways.
#[derive(Debug, Default)]
struct Identity {
    /// `table column`.
    kind: &'static str,
    schema: Option<String>,
    name: Option<String>,
    /// `public.t.a`, wherever one looks from.
    whole: String,
    /// `column a of table t`, as the session writes it.
    words: String,
}

/// `pg_describe_object`.
pub(super) fn described(catalog: &CatalogSnapshot, class: Oid, object: Oid, part: i32) -> Value {
    identity(catalog, class, object, part).map_or(Value::Null, |found| Value::text(&found.words))
}

/// The row of `pg_identify_object`.
pub(super) fn identified(catalog: &CatalogSnapshot, class: Oid, object: Oid, part: i32) -> Value {
    let text = |text: Option<&String>| text.map_or(Value::Null, |text| Value::text(text));
    let row = match identity(catalog, class, object, part) {
        Some(found) => [
            Value::text(found.kind),
            text(found.schema.as_ref()),
            text(found.name.as_ref()),
            Value::text(&found.whole),
        ],
        None => [Value::Null, Value::Null, Value::Null, Value::Null],
    };
    Value::Array(std::iter::once(Value::Record(row.into())).collect())
}

fn identity(catalog: &CatalogSnapshot, class: Oid, object: Oid, part: i32) -> Option<Identity> {
    match class.0 {
        1259 => relation(catalog, object, part),
        1247 => {
            let shown = type_name(catalog, object.0)?;
            let (schema, name) = match catalog.type_or_row_by_oid(object) {
                Some(ty) => (ty.schema.to_string(), ty.name.to_string()),
                None => ("pg_catalog".to_string(), SqlType::from_pg_oid(object.0, -1)?.internal_name()),
            };
            let whole = whole_type(catalog, object)?;
            let words = format!("type {shown}");
            Some(Identity { kind: "type", schema: Some(schema), name: Some(name), whole, words })
        }
        1255 => {
            let own = catalog.function_by_oid(object);
            if own.is_none() {
                super::fixed::by_oid("pg_proc", object.0.into())?;
            }
            let mut shown = String::new();
            references::format_reference(SystemType::Regprocedure, object.0.into(), &mut shown);
            let schema = own.map_or_else(|| "pg_catalog".to_string(), |own| own.schema.to_string());
            let whole = match own {
                Some(own) => {
                    let types = own.inputs().map(|arg| arg.rows_of.unwrap_or(Oid(arg.ty.pg_oid())));
                    let types: Vec<String> = types.filter_map(|ty| whole_type(catalog, ty)).collect();
                    let (schema, name) = (quote_ident(&own.schema), quote_ident(&own.name));
                    format!("{schema}.{name}({})", types.join(","))
                }
                None => format!("pg_catalog.{shown}"),
            };
            let kind = match own {
                Some(own) if own.is_procedure() => "procedure",
                Some(own) if own.is_aggregate() => "aggregate",
                _ => "function",
            };
            let words = format!("function {shown}");
            Some(Identity { kind, schema: Some(schema), name: None, whole, words })
        }
        2615 => {
            let schema = catalog.schemas().find(|schema| schema.oid == object)?;
            let whole = quote_ident(&schema.name);
            let words = format!("schema {}", schema.name);
            Some(Identity { kind: "schema", schema: None, name: Some(whole.clone()), whole, words })
        }
        2606 => constraint(catalog, object),
        2604 => {
            let column = default_of(catalog, object)?;
            let of = relation(catalog, column.0, column.1)?;
            let words = format!("default value for {}", of.words);
            Some(Identity {
                kind: "default value",
                whole: format!("for {}", of.whole),
                words,
                ..Identity::default()
            })
        }
        2618 => {
            let view = catalog.owner_of_rule(object)?;
            part_of(catalog, ("rule", "_RETURN"), view.oid())
        }
        2620 => {
            let owner = catalog.owner_of_part(object)?;
            let trigger = owner.triggers().iter().find(|trigger| trigger.oid == object)?;
            part_of(catalog, ("trigger", &trigger.name), owner.oid())
        }
        3256 => {
            let policy = catalog.all_policies().find(|policy| policy.oid == object)?;
            part_of(catalog, ("policy", &policy.name), policy.table)
        }
        3381 => {
            let one = catalog.statistics_by_oid(object)?;
            let (schema, name) = (quote_ident(&one.schema), quote_ident(&one.name));
            let is_visible =
                catalog.statistics_object(None, &one.name).is_some_and(|found| found.oid == object);
            let whole = format!("{schema}.{name}");
            let words = format!("statistics object {}", if is_visible { &name } else { &whole });
            let (schema, name) = (Some(one.schema.to_string()), Some(one.name.to_string()));
            Some(Identity { kind: "statistics object", schema, name, whole, words })
        }
        2617 => {
            let own = catalog.operators().iter().find(|operator| operator.oid == object);
            if own.is_none() {
                super::fixed::by_oid("pg_operator", object.0.into())?;
            }
            let mut shown = String::new();
            references::format_reference(SystemType::Regoperator, object.0.into(), &mut shown);
            let schema = own.map_or_else(|| "pg_catalog".to_string(), |own| own.schema.to_string());
            let whole = match own {
                Some(own) => {
                    let left =
                        own.left.map_or_else(|| Some("NONE".to_string()), |ty| whole_type(catalog, ty))?;
                    let sides = format!("({left},{})", whole_type(catalog, own.right)?);
                    format!("{}.{}{sides}", quote_ident(&schema), own.name)
                }
                None => format!("pg_catalog.{shown}"),
            };
            let words = format!("operator {shown}");
            Some(Identity { kind: "operator", schema: Some(schema), name: None, whole, words })
        }
        3456 => {
            let one = catalog.collation_by_oid(object.0)?;
            let (schema, name) = (&one.collation.schema, quote_ident(&one.collation.name));
            let whole = format!("{}.{name}", quote_ident(schema));
            let words = format!("collation {}", super::collations::name_of(catalog, object.0)?);
            let schema = Some(schema.to_string());
            Some(Identity { kind: "collation", schema, name: Some(name), whole, words })
        }
        2605 => {
            let cast = catalog.casts().iter().find(|cast| cast.oid == object)?;
            let shown = |ty: Oid| type_name(catalog, ty.0);
            let words = format!("cast from {} to {}", shown(cast.source)?, shown(cast.target)?);
            let (source, target) = (whole_type(catalog, cast.source)?, whole_type(catalog, cast.target)?);
            let whole = format!("({source} AS {target})");
            Some(Identity { kind: "cast", whole, words, ..Identity::default() })
        }
        2612 => {
            let row = super::fixed::by_oid("pg_language", object.0.into())?;
            let name = row.get(1)?.as_str()?;
            let whole = quote_ident(name);
            let words = format!("language {name}");
            Some(Identity { kind: "language", schema: None, name: Some(whole.clone()), whole, words })
        }
        1260 => {
            let role = catalog.role_by_oid(object)?;
            let whole = quote_ident(&role.name);
            let words = format!("role {}", role.name);
            Some(Identity { kind: "role", schema: None, name: Some(whole.clone()), whole, words })
        }
        _ => None,
    }
}

/// A type with its schema, unless it is the system's.
fn whole_type(catalog: &CatalogSnapshot, object: Oid) -> Option<String> {
    match catalog.type_or_row_by_oid(object) {
        Some(ty) => {
            let array = if ty.oid == object { "" } else { "[]" };
            Some(format!("{}.{}{array}", quote_ident(&ty.schema), quote_ident(&ty.name)))
        }
        None => type_name(catalog, object.0),
    }
}

fn relation(catalog: &CatalogSnapshot, object: Oid, part: i32) -> Option<Identity> {
    let known = catalog.relation_by_oid(object);
    let system = SystemRelation::by_oid(object);
    let composite = || catalog.user_type(object).filter(|ty| ty.ty.is_row()).cloned();
    let (kind, schema, name): (&'static str, String, String) = match (known, system, composite()) {
        (_, Some(system), _) => {
            let kind = if system.kind == 'v' { "view" } else { "table" };
            (kind, system.schema.to_string(), system.name.to_string())
        }
        (Some(known), ..) => {
            let (schema, name) = known.path();
            let kind = match known {
                Relation::Table(table) if table.materialized.is_some() => "materialized view",
                Relation::Table(_) => "table",
                Relation::Index(_) => "index",
                Relation::Sequence(_) => "sequence",
                Relation::View(_) => "view",
            };
            (kind, schema.to_string(), name.to_string())
        }
        (None, None, Some(ty)) => ("composite type", ty.schema.to_string(), ty.name.to_string()),
        (None, None, None) => return None,
    };
    let shown = relation_name(catalog, object).or_else(|| type_name(catalog, object.0))?;
    let whole = format!("{}.{}", quote_ident(&schema), quote_ident(&name));
    if part == 0 {
        let words = format!("{kind} {shown}");
        let schema = Some(schema);
        return Some(Identity { kind, schema, name: Some(quote_ident(&name)), whole, words });
    }
    let place = usize::try_from(part).ok()?;
    let column = match known {
        Some(Relation::Table(table)) => {
            let at = table.column_with_id(u16::try_from(place).ok()?)?;
            Arc::clone(&table.columns[at].name)
        }
        Some(Relation::View(view)) => Arc::clone(&view.columns.get(place.checked_sub(1)?)?.name),
        Some(_) => return None,
        None => match (system, composite()) {
            (Some(system), _) => system.columns.get(place.checked_sub(1)?)?.name.into(),
            (None, Some(ty)) => match &ty.ty {
                SqlType::Row(row) => {
                    let at = ty.field_with_id(u16::try_from(place).ok()?)?;
                    Arc::clone(&row.fields.get(at)?.0)
                }
                _ => return None,
            },
            (None, None) => return None,
        },
    };
    let kind_of_column = match kind {
        "view" => "view column",
        "materialized view" => "materialized view column",
        "composite type" => "composite type column",
        _ => "table column",
    };
    Some(Identity {
        kind: kind_of_column,
        schema: Some(schema),
        name: Some(quote_ident(&name)),
        whole: format!("{whole}.{}", quote_ident(&column)),
        words: format!("column {column} of {kind} {shown}"),
    })
}

fn constraint(catalog: &CatalogSnapshot, object: Oid) -> Option<Identity> {
    if let Some(owner) = catalog.owner_of_part(object) {
        let table = owner.as_table()?;
        let own = table.constraints.iter().find(|constraint| constraint.oid == object);
        let name = match own {
            Some(own) => Arc::clone(&own.name),
            None => Arc::clone(&table.triggers.iter().find(|trigger| trigger.oid == object)?.name),
        };
        let found = part_of(catalog, ("table constraint", &name), table.oid)?;
        let of = relation(catalog, table.oid, 0)?;
        let words = format!("constraint {name} on {}", of.words);
        return Some(Identity { schema: Some(table.schema.to_string()), words, ..found });
    }
    catalog.types().find_map(|ty| {
        let SqlType::Domain(domain) = &ty.ty else { return None };
        let check = domain.checks.iter().find(|check| check.oid == object.0).map(|check| &check.name);
        let name = check.or((domain.not_null_oid == object.0).then_some(&domain.not_null_name))?;
        let of = format!("{}.{}", quote_ident(&ty.schema), quote_ident(&ty.name));
        Some(Identity {
            kind: "domain constraint",
            schema: Some(ty.schema.to_string()),
            name: None,
            whole: format!("{} on {of}", quote_ident(name)),
            words: format!("constraint {name}"),
        })
    })
}

/// Something that a relation has: a trigger, a policy, a rule.
fn part_of(catalog: &CatalogSnapshot, (kind, name): (&'static str, &str), on: Oid) -> Option<Identity> {
    let of = relation(catalog, on, 0)?;
    let whole = format!("{} on {}", quote_ident(name), of.whole);
    let words = format!("{kind} {name} on {}", of.words);
    Some(Identity { kind, schema: None, name: None, whole, words })
}

/// The column that has the default of this number.
fn default_of(catalog: &CatalogSnapshot, object: Oid) -> Option<(Oid, i32)> {
    let (table, column) = catalog.column_of_default(object.0)?;
    Some((table, i32::from(column)))
}
