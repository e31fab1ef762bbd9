//! Objects in words: `pg_describe_object`, `pg_identify_object`, `pg_identify_object_as_address`. The way back is in
//! [`address`](super::address).

use std::sync::Arc;

use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{CatalogSnapshot, Oid, Relation, SystemRelation};
use verso_exec::ExecError;
use verso_exec::functions::quote_ident;
use verso_types::{SqlType, SystemType, Value, names as references};

use super::fixed;
use super::names::{relation_name, type_name};
use crate::views::Views;

type Result<T> = std::result::Result<T, ExecError>;

/// What an object is, and its name in several ways.
#[derive(Debug, Default)]
pub(super) struct Identity {
    /// `table column`.
    kind: &'static str,
    schema: Option<String>,
    name: Option<String>,
    /// `public.t.a`, wherever one looks from.
    whole: String,
    /// `column a of table t`, as the session writes it.
    pub(super) words: String,
    /// How `pg_get_object_address` finds it: names, unquoted, and arguments.
    names: Vec<String>,
    args: Vec<String>,
}

/// `XX000` for a number that is none of a catalog with objects.
fn unsupported(class: Oid) -> ExecError {
    ExecError::raised("XX000", format!("unsupported object class: {}", class.0))
}

/// `pg_describe_object`.
pub(super) fn described(views: &Views<'_>, catalog: &CatalogSnapshot, given: Given) -> Result<Value> {
    if given.class.0 == 0 && given.object.0 == 0 {
        return Ok(Value::Null);
    }
    kind_of_missing(given).ok_or_else(|| unsupported(given.class))?;
    Ok(identity(views, catalog, given).map_or(Value::Null, |found| Value::text(&found.words)))
}

/// The row of `pg_identify_object`.
pub(super) fn identified(views: &Views<'_>, catalog: &CatalogSnapshot, given: Given) -> Result<Value> {
    let missing = kind_of_missing(given).ok_or_else(|| unsupported(given.class))?;
    let text = |text: Option<&String>| text.map_or(Value::Null, |text| Value::text(text));
    let row = match identity(views, catalog, given) {
        Some(found) => [
            Value::text(found.kind),
            text(found.schema.as_ref().map(|schema| quote_ident(schema)).as_ref()),
            text(found.name.as_ref()),
            Value::text(&found.whole),
        ],
        None => [missing_kind(catalog, given, missing), Value::Null, Value::Null, Value::Null],
    };
    Ok(one_row(row.into()))
}

/// The row of `pg_identify_object_as_address`.
pub(super) fn addressed(views: &Views<'_>, catalog: &CatalogSnapshot, given: Given) -> Result<Value> {
    let missing = kind_of_missing(given).ok_or_else(|| unsupported(given.class))?;
    let texts = |texts: &[String]| Value::Array(texts.iter().map(|text| Value::text(text)).collect());
    let row = match identity(views, catalog, given) {
        Some(found) => [Value::text(found.kind), texts(&found.names), texts(&found.args)],
        None => [missing_kind(catalog, given, missing), Value::Null, Value::Null],
    };
    Ok(one_row(row.into()))
}

fn one_row(row: Vec<Value>) -> Value {
    Value::Array(std::iter::once(Value::Record(row.into())).collect())
}

/// A number of a catalog, of a row of it, and of a part of that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) class: Oid,
    pub(super) object: Oid,
    pub(super) part: i32,
}

/// The kind of a relation's column whose number no column has: that of the relation.
fn missing_kind(catalog: &CatalogSnapshot, given: Given, missing: &str) -> Value {
    let of_column =
        (given.class.0 == 1259 && given.part != 0).then(|| relation(catalog, given.object, 0)).flatten();
    Value::text(of_column.map_or(missing, |of| kind_of_column(of.kind)))
}

/// What PostgreSQL calls an object of a catalog that has no such row; none for what is no catalog of objects.
fn kind_of_missing(given: Given) -> Option<&'static str> {
    Some(match given.class.0 {
        1259 => "relation",
        1255 => "routine",
        2606 => "constraint",
        class => KINDS.iter().find(|(number, _)| *number == class)?.1,
    })
}

/// The kinds of objects, by the numbers of their catalogs.
const KINDS: &[(u32, &str)] = &[
    (826, "default acl"),
    (1213, "tablespace"),
    (1247, "type"),
    (1260, "role"),
    (1261, "role membership"),
    (1262, "database"),
    (1417, "server"),
    (1418, "user mapping"),
    (2328, "foreign-data wrapper"),
    (2601, "access method"),
    (2602, "operator of access method"),
    (2603, "function of access method"),
    (2604, "default value"),
    (2605, "cast"),
    (2607, "conversion"),
    (2612, "language"),
    (2613, "large object"),
    (2615, "schema"),
    (2616, "operator class"),
    (2617, "operator"),
    (2618, "rule"),
    (2620, "trigger"),
    (2753, "operator family"),
    (3079, "extension"),
    (3256, "policy"),
    (3381, "statistics object"),
    (3456, "collation"),
    (3466, "event trigger"),
    (3576, "transform"),
    (3600, "text search dictionary"),
    (3601, "text search parser"),
    (3602, "text search configuration"),
    (3764, "text search template"),
    (6100, "subscription"),
    (6104, "publication"),
    (6106, "publication relation"),
    (6237, "publication namespace"),
    (6243, "parameter ACL"),
];

/// An object whose name is in no schema.
fn unschemed(kind: &'static str, name: &str) -> Identity {
    let whole = quote_ident(name);
    let (names, words) = (vec![name.to_owned()], format!("{kind} {name}"));
    Identity { kind, name: Some(whole.clone()), whole, words, names, ..Identity::default() }
}

/// An object of a schema, as the session writes it in `words`.
fn schemed(kind: &'static str, schema: &str, name: &str, words: String) -> Identity {
    let whole = format!("{}.{}", quote_ident(schema), quote_ident(name));
    let names = vec![schema.to_owned(), name.to_owned()];
    Identity {
        kind,
        schema: Some(schema.to_owned()),
        name: Some(quote_ident(name)),
        whole,
        words,
        names,
        args: Vec::new(),
    }
}

fn number_at(row: &[Value], place: usize) -> Option<u32> {
    u32::try_from(row.get(place)?.as_i64()?).ok()
}

/// The name of an access method.
fn method_name(number: u32) -> Option<String> {
    Some(fixed::by_oid("pg_am", number.into())?.get(1)?.as_str()?.to_owned())
}

/// An operator class or family of the system.
fn of_method(relation: &str, kind: &'static str, object: Oid) -> Option<Identity> {
    let row = fixed::by_oid(relation, object.0.into())?;
    let (method, name) = (method_name(number_at(&row, 1)?)?, row.get(2)?.as_str()?);
    let words = format!("{kind} {} for access method {method}", quote_ident(name));
    let found = schemed(kind, PG_CATALOG, name, words);
    let whole = format!("{} USING {method}", found.whole);
    let names = vec![method, PG_CATALOG.to_owned(), name.to_owned()];
    Some(Identity { whole, names, ..found })
}

/// An operator or a function of an operator family.
fn of_family(catalog: &CatalogSnapshot, kind: &'static str, relation: &str, object: Oid) -> Option<Identity> {
    let row = fixed::by_oid(relation, object.0.into())?;
    let is_operator = relation == "pg_amop";
    let family = of_method("pg_opfamily", "operator family", Oid(number_at(&row, 1)?))?;
    let sides = [number_at(&row, 2)?, number_at(&row, 3)?];
    let [left, right] = sides.map(|ty| type_name(catalog, ty));
    let [whole_left, whole_right] = sides.map(|ty| whole_type(catalog, Oid(ty)));
    let args = vec![whole_left?, whole_right?];
    let number = row.get(4)?.as_i64()?;
    let (reference, place, what) = match is_operator {
        true => (SystemType::Regoperator, 6, "operator"),
        false => (SystemType::Regprocedure, 5, "function"),
    };
    let mut shown = String::new();
    references::format_reference(reference, row.get(place)?.as_i64()?, &mut shown);
    let head = |sides: String| format!("{what} {number} ({sides}) of");
    let mut names = family.names;
    names.push(number.to_string());
    Some(Identity {
        kind,
        whole: format!("{} {}", head(args.join(", ")), family.whole),
        words: format!("{} {}: {shown}", head(format!("{}, {}", left?, right?)), family.words),
        names,
        args,
        ..Identity::default()
    })
}

/// Something of text search that the system has.
fn of_text_search(kind: &'static str, relation: &str, object: Oid) -> Option<Identity> {
    let row = fixed::by_oid(relation, object.0.into())?;
    let name = row.get(1)?.as_str()?;
    Some(schemed(kind, PG_CATALOG, name, format!("{kind} {}", quote_ident(name))))
}

/// Default privileges.
fn default_rights(catalog: &CatalogSnapshot, object: Oid) -> Option<Identity> {
    let one = catalog.default_acls().iter().find(|one| one.oid == object)?;
    let letter = one.kind.letter();
    let (plural, new) = match letter {
        'r' => ("tables", "relations"),
        'S' => ("sequences", "sequences"),
        'f' => ("functions", "functions"),
        'T' => ("types", "types"),
        'n' => ("schemas", "schemas"),
        _ => ("large objects", "large objects"),
    };
    let role = &catalog.role_by_oid(one.role)?.name;
    let schema = catalog.schemas().find(|schema| schema.oid == one.schema);
    let mut names = vec![role.to_string()];
    names.extend(schema.as_ref().map(|schema| schema.name.to_string()));
    let within = |name: &dyn Fn(&str) -> String| {
        schema.as_ref().map_or_else(String::new, |schema| format!(" in schema {}", name(&schema.name)))
    };
    let whole = format!("for role {}{} on {plural}", quote_ident(role), within(&|name| quote_ident(name)));
    let words = format!(
        "default privileges on new {new} belonging to role {role}{}",
        within(&|name| name.to_owned())
    );
    let args = vec![letter.to_string()];
    Some(Identity { kind: "default acl", whole, words, names, args, ..Identity::default() })
}

/// A database of the server.
fn database(views: &Views<'_>, object: Oid) -> Option<Identity> {
    let member = &views.services.instance.member;
    let others = member.cluster().others(member);
    let others = others.iter().map(|entry| (entry.number, &entry.name));
    let (_, name) = std::iter::once((member.number(), member.name()))
        .chain(others)
        .find(|(number, _)| *number == object.0)?;
    Some(unschemed("database", name))
}

pub(super) fn identity(views: &Views<'_>, catalog: &CatalogSnapshot, given: Given) -> Option<Identity> {
    let Given { class, object, part } = given;
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
            let (names, name) = (vec![whole.clone()], Some(quote_ident(&name)));
            let args = Vec::new();
            Some(Identity { kind: "type", schema: Some(schema), name, whole, words, names, args })
        }
        1255 => {
            let own = catalog.function_by_oid(object);
            if own.is_none() {
                fixed::by_oid("pg_proc", object.0.into())?;
            }
            let mut shown = String::new();
            references::format_reference(SystemType::Regprocedure, object.0.into(), &mut shown);
            let schema = own.map_or_else(|| "pg_catalog".to_string(), |own| own.schema.to_string());
            let row = fixed::by_oid("pg_proc", object.0.into()).unwrap_or_default();
            let (name, args) = match own {
                Some(own) => {
                    let types = own.inputs().map(|arg| arg.rows_of.unwrap_or(Oid(arg.ty.pg_oid())));
                    let types: Vec<String> = types.filter_map(|ty| whole_type(catalog, ty)).collect();
                    (own.name.to_string(), types)
                }
                None => {
                    let types = match row.get(19) {
                        Some(Value::Array(types)) => types.iter().filter_map(Value::as_i64).collect(),
                        _ => Vec::new(),
                    };
                    let type_of = |number: i64| whole_type(catalog, Oid(u32::try_from(number).ok()?));
                    let types = types.into_iter().filter_map(type_of).collect();
                    (row.get(1).and_then(Value::as_str).unwrap_or_default().to_owned(), types)
                }
            };
            let whole = format!("{}.{}({})", quote_ident(&schema), quote_ident(&name), args.join(","));
            let is_aggregate = row.get(9).and_then(Value::as_str) == Some("a");
            let kind = match own {
                Some(own) if own.is_procedure() => "procedure",
                Some(own) if own.is_aggregate() => "aggregate",
                None if is_aggregate => "aggregate",
                _ => "function",
            };
            // PostgreSQL's word for all of them
            let words = format!("function {shown}");
            let names = vec![schema.clone(), name];
            Some(Identity { kind, schema: Some(schema), name: None, whole, words, names, args })
        }
        2615 => {
            let schema = catalog.schemas().find(|schema| schema.oid == object)?;
            Some(unschemed("schema", &schema.name))
        }
        2606 => constraint(catalog, object),
        2604 => {
            let column = default_of(catalog, object)?;
            let of = relation(catalog, column.0, column.1)?;
            let words = format!("default value for {}", of.words);
            let (whole, names) = (format!("for {}", of.whole), of.names);
            Some(Identity { kind: "default value", whole, words, names, ..Identity::default() })
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
            let policy = catalog.policy_by_oid(object)?;
            part_of(catalog, ("policy", &policy.name), policy.table)
        }
        3381 => {
            let one = catalog.statistics_by_oid(object)?;
            let is_visible =
                catalog.statistics_object(None, &one.name).is_some_and(|found| found.oid == object);
            let found = schemed("statistics object", &one.schema, &one.name, String::new());
            let shown = if is_visible { quote_ident(&one.name) } else { found.whole.clone() };
            Some(Identity { words: format!("statistics object {shown}"), ..found })
        }
        2617 => {
            let own = catalog.operator_by_oid(object);
            if own.is_none() {
                fixed::by_oid("pg_operator", object.0.into())?;
            }
            let mut shown = String::new();
            references::format_reference(SystemType::Regoperator, object.0.into(), &mut shown);
            let schema = own.map_or_else(|| "pg_catalog".to_string(), |own| own.schema.to_string());
            let (name, left, right) = match own {
                Some(own) => (own.name.to_string(), own.left, own.right),
                None => {
                    let row = fixed::by_oid("pg_operator", object.0.into())?;
                    let side = |place| number_at(&row, place).filter(|side| *side != 0).map(Oid);
                    (row.get(1)?.as_str()?.to_owned(), side(7), side(8)?)
                }
            };
            let left = match left {
                Some(left) => Some(whole_type(catalog, left)?),
                None => None,
            };
            let right = whole_type(catalog, right)?;
            let sides = format!("({},{right})", left.as_deref().unwrap_or("NONE"));
            let whole = format!("{}.{name}{sides}", quote_ident(&schema));
            let words = format!("operator {shown}");
            let (names, args) = (vec![schema.clone(), name], left.into_iter().chain([right]).collect());
            Some(Identity { kind: "operator", schema: Some(schema), name: None, whole, words, names, args })
        }
        3456 => {
            let one = catalog.collation_by_oid(object.0)?;
            let words = format!("collation {}", super::collations::name_of(catalog, object.0)?);
            Some(schemed("collation", &one.collation.schema, &one.collation.name, words))
        }
        2605 => {
            let own = catalog.cast_by_oid(object);
            let (source, target) = match own {
                Some(cast) => (cast.source, cast.target),
                None => {
                    let row = fixed::by_oid("pg_cast", object.0.into())?;
                    (Oid(number_at(&row, 1)?), Oid(number_at(&row, 2)?))
                }
            };
            let shown = |ty: Oid| type_name(catalog, ty.0);
            let words = format!("cast from {} to {}", shown(source)?, shown(target)?);
            let (source, target) = (whole_type(catalog, source)?, whole_type(catalog, target)?);
            let whole = format!("({source} AS {target})");
            let (names, args) = (vec![source], vec![target]);
            Some(Identity { kind: "cast", whole, words, names, args, ..Identity::default() })
        }
        2612 => {
            let row = fixed::by_oid("pg_language", object.0.into())?;
            Some(unschemed("language", row.get(1)?.as_str()?))
        }
        1260 => {
            let role = catalog.role_by_oid(object)?;
            Some(unschemed("role", &role.name))
        }
        1262 => database(views, object),
        1213 => {
            let known = super::objects::tablespaces(catalog);
            let row = known.iter().find(|row| number_at(row, 0) == Some(object.0))?;
            Some(unschemed("tablespace", row.get(1)?.as_str()?))
        }
        3079 => {
            let known = super::extensions::installed(catalog);
            let row = known.iter().find(|row| number_at(row, 0) == Some(object.0))?;
            Some(unschemed("extension", row.get(1)?.as_str()?))
        }
        826 => default_rights(catalog, object),
        2601 => Some(unschemed("access method", &method_name(object.0)?)),
        2616 => of_method("pg_opclass", "operator class", object),
        2753 => of_method("pg_opfamily", "operator family", object),
        2602 => of_family(catalog, "operator of access method", "pg_amop", object),
        2603 => of_family(catalog, "function of access method", "pg_amproc", object),
        3600 => of_text_search("text search dictionary", "pg_ts_dict", object),
        3601 => of_text_search("text search parser", "pg_ts_parser", object),
        3602 => of_text_search("text search configuration", "pg_ts_config", object),
        3764 => of_text_search("text search template", "pg_ts_template", object),
        _ => None,
    }
}

/// The types of the system that SQL spells by words of its own, which name no schema.
const SPELLED: [&str; 16] = [
    "bit",
    "bit varying",
    "boolean",
    "character",
    "character varying",
    "bigint",
    "double precision",
    "integer",
    "interval",
    "numeric",
    "real",
    "smallint",
    "time with time zone",
    "time without time zone",
    "timestamp with time zone",
    "timestamp without time zone",
];

/// A type with its schema, unless SQL spells it by a word of its own.
fn whole_type(catalog: &CatalogSnapshot, object: Oid) -> Option<String> {
    match catalog.type_or_row_by_oid(object) {
        Some(ty) => {
            let array = if ty.oid == object { "" } else { "[]" };
            Some(format!("{}.{}{array}", quote_ident(&ty.schema), quote_ident(&ty.name)))
        }
        None => {
            let name = type_name(catalog, object.0)?;
            let element = name.trim_end_matches("[]");
            let spelled = SPELLED.contains(&element) || name.starts_with("pg_catalog.");
            Some(if spelled { name } else { format!("pg_catalog.{name}") })
        }
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
        return Some(schemed(kind, &schema, &name, format!("{kind} {shown}")));
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
    Some(Identity {
        kind: kind_of_column(kind),
        whole: format!("{whole}.{}", quote_ident(&column)),
        words: format!("column {column} of {kind} {shown}"),
        names: vec![schema.clone(), name.clone(), column.to_string()],
        schema: Some(schema),
        name: Some(quote_ident(&name)),
        args: Vec::new(),
    })
}

/// The kind of a column of a relation of that kind.
fn kind_of_column(kind: &str) -> &'static str {
    match kind {
        "view" => "view column",
        "materialized view" => "materialized view column",
        "composite type" => "composite type column",
        "index" => "index column",
        "sequence" => "sequence column",
        _ => "table column",
    }
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
            names: vec![of],
            args: vec![name.to_string()],
        })
    })
}

/// Something that a relation has: a trigger, a policy, a rule.
fn part_of(catalog: &CatalogSnapshot, (kind, name): (&'static str, &str), on: Oid) -> Option<Identity> {
    let of = relation(catalog, on, 0)?;
    let whole = format!("{} on {}", quote_ident(name), of.whole);
    let words = format!("{kind} {name} on {}", of.words);
    let mut names = of.names;
    names.push(name.to_owned());
    Some(Identity { kind, whole, words, names, ..Identity::default() })
}

/// The column that has the default of this number.
fn default_of(catalog: &CatalogSnapshot, object: Oid) -> Option<(Oid, i32)> {
    let (table, column) = catalog.column_of_default(object.0)?;
    Some((table, i32::from(column)))
}
