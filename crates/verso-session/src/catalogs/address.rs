//! `pg_get_object_address`: the number of an object that is named by its kind, names and arguments. The way back is in
//! [`identity`](super::identity).
//!
//! The lists are looked at in PostgreSQL's order: the kind, nulls, lengths, then what the names mean.
//!
//! Source: PostgreSQL's `objectaddress.c`.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, Oid, Relation, SystemRelation, default_oid};
use verso_exec::ExecError;
use verso_exec::functions::quote_ident;
use verso_planner::errors::SqlError;
use verso_types::{SqlType, SystemType, Value, names as references};

use super::{collations, extensions, fixed, names, objects};
use crate::views::Views;

type Result<T> = std::result::Result<T, ExecError>;

/// What the lists of a kind hold.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// A type.
    Type,
    /// A type, and so many types as arguments; or none are types.
    TypeWith(Arguments),
    /// One name.
    One,
    /// One name and one argument.
    OneWithOne,
    /// At least so many names.
    Names(usize),
    /// Names, and types as arguments.
    Typed,
    /// At least so many names, and two types.
    TwoTypes(usize),
    /// Names and one argument.
    NamesWithOne,
}

#[derive(Clone, Copy, PartialEq)]
enum Arguments {
    /// One, a type.
    Type,
    /// One, a text.
    Text,
}

/// The kinds of objects, with what their lists hold; kinds without are known and have no address.
const KINDS: &[(&str, Option<Shape>)] = &[
    ("table", Some(Shape::Names(1))),
    ("index", Some(Shape::Names(1))),
    ("sequence", Some(Shape::Names(1))),
    ("toast table", None),
    ("view", Some(Shape::Names(1))),
    ("materialized view", Some(Shape::Names(1))),
    ("composite type", None),
    ("foreign table", Some(Shape::Names(1))),
    ("table column", Some(Shape::Names(1))),
    ("index column", None),
    ("sequence column", None),
    ("toast table column", None),
    ("view column", None),
    ("materialized view column", None),
    ("composite type column", None),
    ("foreign table column", Some(Shape::Names(1))),
    ("aggregate", Some(Shape::Typed)),
    ("function", Some(Shape::Typed)),
    ("procedure", Some(Shape::Typed)),
    ("type", Some(Shape::Type)),
    ("cast", Some(Shape::TypeWith(Arguments::Type))),
    ("collation", Some(Shape::Names(1))),
    ("table constraint", Some(Shape::Names(1))),
    ("domain constraint", Some(Shape::TypeWith(Arguments::Text))),
    ("conversion", Some(Shape::Names(1))),
    ("default value", Some(Shape::Names(1))),
    ("language", Some(Shape::One)),
    ("large object", Some(Shape::One)),
    ("operator", Some(Shape::TwoTypes(1))),
    ("operator class", Some(Shape::Names(2))),
    ("operator family", Some(Shape::Names(2))),
    ("access method", Some(Shape::One)),
    ("operator of access method", Some(Shape::TwoTypes(3))),
    ("function of access method", Some(Shape::TwoTypes(3))),
    ("rule", Some(Shape::Names(1))),
    ("trigger", Some(Shape::Names(1))),
    ("schema", Some(Shape::One)),
    ("text search parser", Some(Shape::Names(1))),
    ("text search dictionary", Some(Shape::Names(1))),
    ("text search template", Some(Shape::Names(1))),
    ("text search configuration", Some(Shape::Names(1))),
    ("role", Some(Shape::One)),
    ("role membership", None),
    ("database", Some(Shape::One)),
    ("tablespace", Some(Shape::One)),
    ("foreign-data wrapper", Some(Shape::One)),
    ("server", Some(Shape::One)),
    ("user mapping", Some(Shape::OneWithOne)),
    ("default acl", Some(Shape::NamesWithOne)),
    ("extension", Some(Shape::One)),
    ("event trigger", Some(Shape::One)),
    ("parameter ACL", Some(Shape::One)),
    ("policy", Some(Shape::Names(1))),
    ("publication", Some(Shape::One)),
    ("publication namespace", Some(Shape::OneWithOne)),
    ("publication relation", Some(Shape::NamesWithOne)),
    ("subscription", Some(Shape::One)),
    ("transform", Some(Shape::TypeWith(Arguments::Text))),
    ("statistics object", Some(Shape::Names(1))),
];

/// Letters of default privileges, and what they are for.
const DEFAULTS: [(&str, &str); 6] = [
    ("r", "tables"),
    ("S", "sequences"),
    ("f", "functions"),
    ("T", "types"),
    ("n", "schemas"),
    ("L", "large objects"),
];

fn invalid(text: impl Into<String>) -> ExecError {
    ExecError::raised("22023", text.into())
}

fn missing(text: impl Into<String>) -> ExecError {
    ExecError::raised("42704", text.into())
}

/// The texts of an array, none of them NULL.
fn texts(value: Option<&Value>) -> Result<Vec<String>> {
    let Some(Value::Array(texts)) = value else { return Ok(Vec::new()) };
    let text = |text: &Value| match text.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(invalid("name or argument lists may not contain nulls")),
    };
    texts.iter().map(text).collect()
}

fn exactly(what: &str, list: &[String], count: usize) -> Result<()> {
    match list.len() == count {
        true => Ok(()),
        false => Err(invalid(format!("{what} list length must be exactly {count}"))),
    }
}

/// `pg_get_object_address`.
///
/// # Errors
/// 22023 for a kind or for lists that are wrong; PostgreSQL's own for what is not there.
pub(super) fn address(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, args: &[Value]) -> Result<Value> {
    let kind = args.first().and_then(Value::as_str).unwrap_or_default();
    let Some((kind, shape)) = KINDS.iter().find(|(known, _)| *known == kind) else {
        return Err(invalid(format!("unrecognized object type \"{kind}\"")));
    };
    let Some(shape) = *shape else {
        return Err(invalid(format!("unsupported object type \"{kind}\"")));
    };
    let given = texts(args.get(1))?;
    let of_type = matches!(shape, Shape::Type | Shape::TypeWith(_));
    if of_type || *kind == "large object" {
        exactly("name", &given, 1)?;
    } else if given.is_empty() {
        return Err(invalid("name list length must be at least 1"));
    }
    let arguments = texts(args.get(2))?;
    let finder = Finder { views, catalog };
    let types = match shape {
        Shape::Typed | Shape::TwoTypes(_) | Shape::TypeWith(Arguments::Type) => {
            arguments.iter().map(|ty| finder.type_of(ty)).collect::<Result<Vec<_>>>()?
        }
        _ => Vec::new(),
    };
    match shape {
        Shape::One => exactly("name", &given, 1)?,
        Shape::OneWithOne => {
            exactly("name", &given, 1)?;
            exactly("argument", &arguments, 1)?;
        }
        Shape::TypeWith(_) | Shape::NamesWithOne => exactly("argument", &arguments, 1)?,
        Shape::Names(least) | Shape::TwoTypes(least) if given.len() < least => {
            return Err(invalid(format!("name list length must be at least {least}")));
        }
        Shape::TwoTypes(_) => exactly("argument", &arguments, 2)?,
        Shape::Type | Shape::Names(_) | Shape::Typed => {}
    }
    let (class, object, part) = finder.find(kind, &given, &arguments, &types)?;
    let row = vec![super::number(class), super::number(object.0), Value::Int4(part)];
    Ok(Value::Array(std::iter::once(Value::Record(row.into())).collect()))
}

/// A number of a catalog, of a row of it, and of a part of that.
type Address = (u32, Oid, i32);

struct Finder<'f> {
    views: &'f Views<'f>,
    catalog: &'f Arc<CatalogSnapshot>,
}

/// Names as one text that finds the object.
fn joined(names: &[String]) -> String {
    names.iter().map(|name| quote_ident(name)).collect::<Vec<_>>().join(".")
}

impl Finder<'_> {
    fn find(&self, kind: &str, names: &[String], args: &[String], types: &[Oid]) -> Result<Address> {
        let first = names.first().map_or("", String::as_str);
        let absent = || missing(format!("{kind} \"{}\" does not exist", names.join(".")));
        let of_fixed = |class: u32, relation: &str| -> Result<Address> {
            Ok((class, self.fixed_named(relation, names).ok_or_else(absent)?, 0))
        };
        Ok(match kind {
            "table" | "index" | "sequence" | "view" | "materialized view" | "foreign table" => {
                (1259, self.relation_of_kind(kind, names)?, 0)
            }
            "table column" | "foreign table column" | "default value" => self.column(kind, names)?,
            "rule" | "trigger" | "table constraint" | "policy" => self.part_of(kind, names)?,
            "type" => (1247, self.type_of(first)?, 0),
            "domain constraint" => self.domain_constraint(first, args)?,
            "function" | "procedure" | "aggregate" => (1255, self.function(kind, names, types)?, 0),
            "operator" => (2617, self.operator(names, types)?, 0),
            "cast" => self.cast(self.type_of(first)?, types)?,
            "transform" => {
                let ty = self.shown(self.type_of(first)?);
                let language = args.first().map_or("", String::as_str);
                let known = self.fixed_named("pg_language", args);
                known.ok_or_else(|| missing(format!("language \"{language}\" does not exist")))?;
                let text = format!("transform for type {ty} language \"{language}\" does not exist");
                return Err(missing(text));
            }
            "collation" => {
                let found = match names {
                    [name] => collations::by_name(self.catalog, None, name),
                    [schema, name] => collations::by_name(self.catalog, Some(schema), name),
                    _ => None,
                };
                let text = format!("collation \"{}\" for encoding \"UTF8\" does not exist", names.join("."));
                (3456, Oid(found.ok_or_else(|| missing(text))?), 0)
            }
            "language" => of_fixed(2612, "pg_language")?,
            "access method" => of_fixed(2601, "pg_am")?,
            "text search parser" => of_fixed(3601, "pg_ts_parser")?,
            "text search dictionary" => of_fixed(3600, "pg_ts_dict")?,
            "text search template" => of_fixed(3764, "pg_ts_template")?,
            "text search configuration" => of_fixed(3602, "pg_ts_config")?,
            "operator class" | "operator family" => self.of_method(kind, names)?,
            "operator of access method" | "function of access method" => {
                self.of_family(kind, names, args, types)?
            }
            "schema" => {
                let found = self.catalog.schemas().find(|schema| *schema.name == *first);
                let text = format!("schema \"{first}\" does not exist");
                (2615, found.ok_or_else(|| ExecError::raised("3F000", text))?.oid, 0)
            }
            "role" => (1260, self.catalog.role_named(first).ok_or_else(absent)?.oid, 0),
            "database" => {
                let member = &self.views.services.instance.member;
                let others = member.cluster().others(member);
                let others = others.iter().map(|entry| (entry.number, &entry.name));
                let mut all = std::iter::once((member.number(), member.name())).chain(others);
                let found = all.find(|(_, name)| ***name == *first);
                let text = format!("database \"{first}\" does not exist");
                (1262, Oid(found.ok_or_else(|| ExecError::raised("3D000", text))?.0), 0)
            }
            "tablespace" => (1213, Oid(objects::tablespace(first).ok_or_else(absent)?), 0),
            "extension" => {
                let known = extensions::installed(self.catalog);
                let own = known.iter().find(|row| row.get(1).and_then(Value::as_str) == Some(first));
                let number = own.and_then(|row| u32::try_from(row.first()?.as_i64()?).ok());
                (3079, Oid(number.ok_or_else(absent)?), 0)
            }
            "default acl" => self.default_rights(names, args)?,
            "statistics object" => {
                let found = match names {
                    [name] => self.catalog.statistics_object(None, name),
                    [schema, name] => self.catalog.statistics_object(Some(schema), name),
                    _ => None,
                };
                (3381, found.ok_or_else(absent)?.oid, 0)
            }
            "large object" => {
                let number =
                    verso_types::parse_text(&SqlType::Oid, first, &self.views.services.settings.time_zone)?;
                let number = number.as_i64().unwrap_or_default();
                return Err(missing(format!("large object {number} does not exist")));
            }
            "user mapping" => {
                let server = args.first().map_or("", String::as_str);
                if first != "public" && self.catalog.role_named(first).is_none() {
                    let text =
                        format!("user mapping for user \"{first}\" on server \"{server}\" does not exist");
                    return Err(missing(text));
                }
                return Err(missing(format!("server \"{server}\" does not exist")));
            }
            "publication relation" | "publication namespace" => {
                if kind == "publication relation" {
                    self.relation(names)?;
                }
                let publication = args.first().map_or("", String::as_str);
                return Err(missing(format!("publication \"{publication}\" does not exist")));
            }
            // of these there are none
            _ => return Err(absent()),
        })
    }

    /// A type by its name as SQL spells it.
    fn type_of(&self, text: &str) -> Result<Oid> {
        // a number, or `-`, is a type's for `regtype` only
        verso_parser::parse_type(text).map_err(|error| {
            let error = SqlError::from(error);
            ExecError::raised(error.sqlstate, error.message)
        })?;
        let number = references::parse_reference(SystemType::Regtype, text)?;
        Ok(Oid(u32::try_from(number).unwrap_or_default()))
    }

    fn shown(&self, ty: Oid) -> String {
        names::type_name(self.catalog, ty.0).unwrap_or_default()
    }

    /// Something that is the same in every database, by its name, in `pg_catalog` or without a schema.
    fn fixed_named(&self, relation: &str, names: &[String]) -> Option<Oid> {
        let name = match names {
            [name] => name,
            [schema, name] if *schema == "pg_catalog" => name,
            _ => return None,
        };
        let rows = fixed::table(relation)?;
        let row = rows.iter().find(|row| row.get(1).and_then(Value::as_str) == Some(name))?;
        Some(Oid(u32::try_from(row.first()?.as_i64()?).ok()?))
    }

    fn relation(&self, names: &[String]) -> Result<Oid> {
        if names.len() > 3 {
            let text = format!("improper relation name (too many dotted names): {}", names.join("."));
            return Err(ExecError::raised("42601", text));
        }
        match references::find_reference(SystemType::Regclass, &joined(names))? {
            Some(number) => Ok(Oid(u32::try_from(number).unwrap_or_default())),
            None => {
                let text = format!("relation \"{}\" does not exist", names.join("."));
                Err(ExecError::raised("42P01", text))
            }
        }
    }

    fn relation_of_kind(&self, kind: &str, names: &[String]) -> Result<Oid> {
        let found = self.relation(names)?;
        let own = match (SystemRelation::by_oid(found), self.catalog.relation_by_oid(found)) {
            (Some(system), _) => {
                if system.kind == 'v' {
                    "view"
                } else {
                    "table"
                }
            }
            (None, Some(Relation::Table(table))) if table.materialized.is_some() => "materialized view",
            (None, Some(Relation::Table(_))) => "table",
            (None, Some(Relation::Index(_))) => "index",
            (None, Some(Relation::Sequence(_))) => "sequence",
            (None, Some(Relation::View(_))) => "view",
            (None, None) => "composite type",
        };
        if own == kind {
            return Ok(found);
        }
        let name = names.last().map_or("", String::as_str);
        let article = if kind == "index" { "an" } else { "a" };
        Err(ExecError::raised("42809", format!("\"{name}\" is not {article} {kind}")))
    }

    fn column(&self, kind: &str, names: &[String]) -> Result<Address> {
        let [of @ .., column] = names else { return Err(invalid("name list length must be at least 1")) };
        if of.is_empty() {
            return Err(ExecError::raised("42601", "column name must be qualified"));
        }
        let found = self.relation(of)?;
        let place = match self.catalog.relation_by_oid(found) {
            Some(Relation::Table(table)) => {
                let own = table.columns.iter().find(|own| *own.name == **column && !own.is_hidden());
                own.map(|own| (own.id, own.default.is_some()))
            }
            Some(Relation::View(view)) => {
                let place = view.columns.iter().position(|own| *own.name == **column);
                place.and_then(|place| {
                    let own = view.columns.get(place)?;
                    Some((own.id, own.default.is_some()))
                })
            }
            _ => SystemRelation::by_oid(found).and_then(|system| {
                let place = system.columns.iter().position(|own| *own.name == **column)?;
                Some((u16::try_from(place + 1).ok()?, false))
            }),
        };
        match (place, kind) {
            (Some((place, true)), "default value") => Ok((2604, Oid(default_oid(found, place)), 0)),
            (_, "default value") => {
                let text = format!("default value for column \"{column}\" of relation \"{}\"", of.join("."));
                Err(ExecError::raised("42703", format!("{text} does not exist")))
            }
            (Some((place, _)), _) => Ok((1259, found, i32::from(place))),
            (None, _) => {
                let text = format!("column \"{column}\" of relation \"{}\" does not exist", of.join("."));
                Err(ExecError::raised("42703", text))
            }
        }
    }

    /// What a relation has.
    fn part_of(&self, kind: &str, names: &[String]) -> Result<Address> {
        let [of @ .., name] = names else { return Err(invalid("name list length must be at least 1")) };
        if of.is_empty() {
            return Err(ExecError::raised("42601", "must specify relation and object name"));
        }
        let on = self.relation(of)?;
        let relation = self.catalog.relation_by_oid(on);
        let (class, found, what) = match kind {
            "rule" => {
                let rule = match relation {
                    Some(Relation::View(view)) => Some(view.query.rule),
                    Some(Relation::Table(table)) => table.materialized.as_ref().map(|view| view.query.rule),
                    _ => None,
                };
                let rule = rule.filter(|_| name == "_RETURN");
                (2618, rule, "relation")
            }
            "trigger" => {
                let triggers = relation.map(Relation::triggers).unwrap_or_default();
                let found = triggers.iter().find(|trigger| *trigger.name == **name);
                (2620, found.map(|trigger| trigger.oid), "table")
            }
            "policy" => {
                let found = self.catalog.policies(on).iter().find(|policy| *policy.name == **name);
                (3256, found.map(|policy| policy.oid), "table")
            }
            _ => {
                let own = match relation {
                    Some(Relation::Table(table)) => {
                        let found = table.constraints.iter().find(|constraint| *constraint.name == **name);
                        found.map(|constraint| constraint.oid)
                    }
                    _ => None,
                };
                (2606, own, "table")
            }
        };
        let word = if kind == "table constraint" { "constraint" } else { kind };
        let on = of.last().map_or("", String::as_str);
        let text = format!("{word} \"{name}\" for {what} \"{on}\" does not exist");
        Ok((class, found.ok_or_else(|| missing(text))?, 0))
    }

    fn domain_constraint(&self, ty: &str, args: &[String]) -> Result<Address> {
        let (number, name) = (self.type_of(ty)?, args.first().map_or("", String::as_str));
        let found = self.catalog.user_type(number).and_then(|ty| {
            let SqlType::Domain(domain) = &ty.ty else { return None };
            let check = domain.checks.iter().find(|check| *check.name == *name).map(|check| check.oid);
            check.or((domain.not_null && *domain.not_null_name == *name).then_some(domain.not_null_oid))
        });
        let text = format!("constraint \"{name}\" for domain {} does not exist", self.shown(number));
        Ok((2606, Oid(found.ok_or_else(|| missing(text))?), 0))
    }

    fn function(&self, kind: &str, names: &[String], types: &[Oid]) -> Result<Oid> {
        let types: Vec<String> = types.iter().map(|ty| self.shown(*ty)).collect();
        let signature = format!("{}({})", names.join("."), types.join(", "));
        let text = format!("{}({})", joined(names), types.join(","));
        let Some(number) = references::find_reference(SystemType::Regprocedure, &text)? else {
            return Err(ExecError::raised("42883", format!("{kind} {signature} does not exist")));
        };
        let found = Oid(u32::try_from(number).unwrap_or_default());
        let letter = match self.catalog.function_by_oid(found) {
            Some(own) if own.is_procedure() => 'p',
            Some(own) if own.is_aggregate() => 'a',
            Some(_) => 'f',
            None => {
                let row = fixed::by_oid("pg_proc", number).unwrap_or_default();
                row.get(9).and_then(Value::as_str).and_then(|kind| kind.chars().next()).unwrap_or('f')
            }
        };
        let (fits, what) = match kind {
            "procedure" => (letter == 'p', "a procedure"),
            "aggregate" => (letter == 'a', "an aggregate"),
            _ => (letter != 'p', "a function"),
        };
        match (fits, kind) {
            (true, _) => Ok(found),
            (false, "aggregate") => {
                Err(ExecError::raised("42809", format!("function {signature} is not {what}")))
            }
            (false, _) => Err(ExecError::raised("42809", format!("{signature} is not {what}"))),
        }
    }

    fn operator(&self, names: &[String], types: &[Oid]) -> Result<Oid> {
        let sides: Vec<String> = types.iter().map(|ty| self.shown(*ty)).collect();
        let [schemas @ .., symbol] = names else {
            return Err(invalid("name list length must be at least 1"));
        };
        let mut name: Vec<String> = schemas.iter().map(|schema| quote_ident(schema)).collect();
        name.push(symbol.clone());
        let text = format!("{}({})", name.join("."), sides.join(","));
        match references::find_reference(SystemType::Regoperator, &text)? {
            Some(number) => Ok(Oid(u32::try_from(number).unwrap_or_default())),
            None => {
                let text =
                    format!("operator does not exist: {}", sides.join(&format!(" {} ", names.join("."))));
                Err(ExecError::raised("42883", text))
            }
        }
    }

    fn cast(&self, source: Oid, types: &[Oid]) -> Result<Address> {
        let target = types.first().copied().unwrap_or(Oid(0));
        let own = self.catalog.cast(source, target).map(|cast| cast.oid);
        let number = |row: &[Value], place: usize| row.get(place).and_then(Value::as_i64);
        let of_system = || {
            let rows = fixed::table("pg_cast")?;
            let fits = |row: &&Vec<Value>| {
                number(row, 1) == Some(source.0.into()) && number(row, 2) == Some(target.0.into())
            };
            Some(Oid(u32::try_from(number(rows.iter().find(fits)?, 0)?).ok()?))
        };
        let text = || {
            let (source, target) = (self.shown(source), self.shown(target));
            missing(format!("cast from type {source} to type {target} does not exist"))
        };
        Ok((2605, own.or_else(of_system).ok_or_else(text)?, 0))
    }

    /// A row of a catalog of access methods: of the method in column 1, with the name in column 2.
    fn method_row(&self, relation: &str, method: Oid, names: &[String]) -> Option<Oid> {
        let name = match names {
            [name] => name,
            [schema, name] if *schema == "pg_catalog" => name,
            _ => return None,
        };
        let rows = fixed::table(relation)?;
        let row = rows.iter().find(|row| {
            row.get(1).and_then(Value::as_i64) == Some(method.0.into())
                && row.get(2).and_then(Value::as_str) == Some(name)
        })?;
        Some(Oid(u32::try_from(row.first()?.as_i64()?).ok()?))
    }

    fn method(&self, name: &str) -> Result<Oid> {
        let found = self.fixed_named("pg_am", &[name.to_owned()]);
        found.ok_or_else(|| missing(format!("access method \"{name}\" does not exist")))
    }

    fn of_method(&self, kind: &str, names: &[String]) -> Result<Address> {
        let [method, names @ ..] = names else { return Err(invalid("name list length must be at least 2")) };
        let (class, relation) = match kind {
            "operator class" => (2616, "pg_opclass"),
            _ => (2753, "pg_opfamily"),
        };
        let found = self.method_row(relation, self.method(method)?, names);
        let text = format!("{kind} \"{}\" does not exist for access method \"{method}\"", names.join("."));
        Ok((class, found.ok_or_else(|| missing(text))?, 0))
    }

    fn of_family(&self, kind: &str, names: &[String], args: &[String], types: &[Oid]) -> Result<Address> {
        let [family @ .., number] = names else { return Err(invalid("name list length must be at least 3")) };
        let (_, own, _) = self.of_method("operator family", family)?;
        let (class, relation, what) = match kind {
            "operator of access method" => (2602, "pg_amop", "operator"),
            _ => (2603, "pg_amproc", "function"),
        };
        let zone = &self.views.services.settings.time_zone;
        let number = verso_types::parse_text(&SqlType::Int4, number, zone)?.as_i64();
        let at = |row: &[Value], place: usize| row.get(place).and_then(Value::as_i64);
        let side = |place: usize| types.get(place).map(|ty| i64::from(ty.0));
        let rows = fixed::table(relation);
        let found = rows.iter().flat_map(|rows| rows.iter()).find(|row| {
            at(row, 1) == Some(own.0.into())
                && (at(row, 2), at(row, 3)) == (side(0), side(1))
                && at(row, 4) == number
        });
        match found.and_then(|row| u32::try_from(at(row, 0)?).ok()) {
            Some(found) => Ok((class, Oid(found), 0)),
            None => {
                let given = super::identity::Given { class: Oid(2753), object: own, part: 0 };
                let family = super::identity::identity(self.views, self.catalog, given);
                let family = family.map(|family| family.words).unwrap_or_default();
                let number = number.unwrap_or_default();
                let text = format!("{what} {number} ({}) of {family} does not exist", args.join(", "));
                Err(missing(text))
            }
        }
    }

    fn default_rights(&self, names: &[String], args: &[String]) -> Result<Address> {
        let letter = args.first().map_or("", String::as_str);
        let Some((_, what)) = DEFAULTS.iter().find(|(known, _)| *known == letter) else {
            let text = format!("unrecognized default ACL object type \"{letter}\"");
            let letters: Vec<String> = DEFAULTS.iter().map(|(letter, _)| format!("\"{letter}\"")).collect();
            let hint = format!("Valid object types are {}.", letters.join(", "));
            return Err(verso_types::TypeError::new("22023", text).with_hint(hint).into());
        };
        let (role, schema) = (names.first().map_or("", String::as_str), names.get(1));
        let found = || {
            let role = self.catalog.role_named(role)?.oid;
            let schema = match schema {
                Some(name) => self.catalog.schemas().find(|schema| *schema.name == **name)?.oid,
                None => Oid(0),
            };
            let mut all = self.catalog.default_acls().iter();
            let fits = |one: &&verso_catalog::DefaultAcl| {
                one.role == role && one.schema == schema && letter.starts_with(one.kind.letter())
            };
            all.find(fits).map(|one| one.oid)
        };
        let within = schema.map(|schema| format!(" in schema \"{schema}\"")).unwrap_or_default();
        let text = format!("default ACL for user \"{role}\"{within} on {what} does not exist");
        Ok((826, found().ok_or_else(|| missing(text))?, 0))
    }
}
