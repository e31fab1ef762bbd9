//! Names of catalog entries from and to their numbers, as one session sees them: `regclass` and its relatives.

use std::sync::{Arc, Weak};

use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{
    CatalogSnapshot, INFORMATION_SCHEMA, Object, Oid, RelationId, Rights, SystemRelation, extension_of_type,
};
use verso_exec::functions::quote_ident;
use verso_types::names::{self as references, ObjectNames};
use verso_types::{SqlType, SystemType, TypeError, Value};

use super::relations::INFORMATION_SCHEMA_OID;
use super::{fixed, visible};
use crate::ddl::is_schema;
use crate::instance::Instance;
use crate::services::NewLabels;

/// The names of a version of the catalog.
pub(crate) struct SessionNames {
    catalog: Arc<CatalogSnapshot>,
    /// Roles are no part of the snapshot. The session holds the instance.
    instance: Weak<Instance>,
    /// The session's, whatever version of the catalog it sees.
    new_labels: Arc<NewLabels>,
}

impl SessionNames {
    pub(crate) fn new(
        catalog: &Arc<CatalogSnapshot>,
        instance: &Arc<Instance>,
        new_labels: &Arc<NewLabels>,
    ) -> SessionNames {
        SessionNames {
            catalog: Arc::clone(catalog),
            instance: Arc::downgrade(instance),
            new_labels: Arc::clone(new_labels),
        }
    }

    /// Are they those of this snapshot?
    pub(crate) fn is_of(&self, catalog: &Arc<CatalogSnapshot>) -> bool {
        Arc::ptr_eq(&self.catalog, catalog)
    }

    /// All roles, those of the running transaction and those that every database has among them.
    fn every_role(&self) -> impl Iterator<Item = &Arc<verso_catalog::Role>> {
        self.catalog.all_roles()
    }
}

/// A name in parts: `schema.name`, each folded unless it is quoted.
///
/// # Errors
/// 42602 for what is no name, 0A000 for more than three parts.
pub(super) fn parts(text: &str) -> Result<Vec<String>, TypeError> {
    let invalid = || TypeError::new("42602", "invalid name syntax");
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let mut part = String::new();
                let mut characters = quoted.char_indices();
                let end = loop {
                    match characters.next() {
                        Some((at, '"')) if quoted[at + 1..].starts_with('"') => {
                            characters.next();
                            part.push('"');
                        }
                        Some((at, '"')) => break at + 1,
                        Some((_, character)) => part.push(character),
                        None => return Err(invalid()),
                    }
                };
                (part, quoted[end..].trim_start())
            }
            None => {
                let end = rest.find(['.', '"']).unwrap_or(rest.len());
                let part = rest[..end].trim();
                if part.contains(char::is_whitespace) {
                    return Err(invalid());
                }
                (part.to_lowercase(), &rest[end..])
            }
        };
        if part.is_empty() {
            return Err(invalid());
        }
        parts.push(part);
        match behind.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start(),
            None if behind.is_empty() => return Ok(parts),
            None => return Err(invalid()),
        }
    }
}

/// The schema, if one is named, and the name.
fn path(text: &str) -> Result<(Option<String>, String), TypeError> {
    let mut parts = parts(text)?;
    let name = parts.pop().unwrap_or_default();
    if parts.len() > 2 {
        let message = format!("improper relation name (too many dotted names): {text}");
        return Err(TypeError::new("42601", message));
    }
    Ok((parts.pop(), name))
}

/// A name that has no schema.
fn single(text: &str) -> Result<String, TypeError> {
    match path(text)? {
        (None, name) => Ok(name),
        (Some(_), _) => Err(TypeError::new("42602", "invalid name syntax")),
    }
}

/// The relation of a name: its number.
pub(super) fn relation(catalog: &CatalogSnapshot, schema: Option<&str>, name: &str) -> Option<u32> {
    let Some(schema) = schema else { return visible::relation_named(catalog, name) };
    if let Some(system) = RelationId::find(schema, name) {
        return Some(system.get().oid.0);
    }
    catalog.relation(Some(schema), name).map(|relation| relation.oid().0)
}

/// The number of the relation that a text names, for functions to which PostgreSQL hands the text: of a schema that is not there
/// they say so.
pub(super) fn relation_number(catalog: &CatalogSnapshot, text: &str) -> Result<i64, TypeError> {
    match (references::find_reference(SystemType::Regclass, text)?, path(text)) {
        (Some(number), _) => Ok(number),
        (None, Ok((Some(schema), _))) if !is_schema(catalog, &schema) => Err(absent(&schema)),
        (None, _) => references::parse_reference(SystemType::Regclass, text),
    }
}

fn absent(schema: &str) -> TypeError {
    TypeError::new("3F000", format!("schema \"{schema}\" does not exist"))
}

/// The type of a name as SQL spells it.
pub(super) fn type_named(catalog: &CatalogSnapshot, text: &str) -> Option<SqlType> {
    if let Ok((None, name)) = path(text)
        && let Some(oid) = visible::type_before_system(catalog, &name)
    {
        return catalog.type_by_oid(oid, -1);
    }
    catalog.resolve_type(&verso_parser::parse_type(text).ok()?).ok()
}

/// What a type is an array of, if it is one.
fn element_of(ty: &SqlType) -> SqlType {
    if let SqlType::Array(element) = ty { element_of(element) } else { ty.clone() }
}

/// Rows of a fixed relation by the text in column 1.
fn fixed_by_name(relation: &str, name: &str) -> Vec<u32> {
    fixed::named(relation, name, |row| {
        let open = relation != "pg_type" || !fixed::is_of_standard(row);
        u32::try_from(row[0].as_i64()?).ok().filter(|_| open)
    })
}

/// The number of a domain of `information_schema`, or of an array of one.
fn type_of_standard(name: &str) -> Option<u32> {
    let rows = fixed::table("pg_type")?;
    let named = rows.iter().find(|row| row[1].as_str() == Some(name) && fixed::is_of_standard(row))?;
    u32::try_from(named[0].as_i64()?).ok()
}

/// Whether the system has a function, aggregate or procedure of that name that takes these types; any of the name without types.
pub(crate) fn is_system_routine(schema: Option<&str>, name: &str, types: Option<&[SqlType]>) -> bool {
    if !matches!(schema, None | Some(PG_CATALOG)) {
        return false;
    }
    let takes = |oid: &u32| {
        let Some(types) = types else { return true };
        let Some(row) = fixed_row("pg_proc", *oid) else { return false };
        let Value::Array(args) = &row[19] else { return false };
        args.iter().map(Value::as_i64).eq(types.iter().map(|ty| Some(i64::from(ty.pg_oid()))))
    };
    fixed_by_name("pg_proc", name).iter().any(takes)
}

/// What something of the system is, and its name with its schema: as GRANT writes them, with the kind as errors have it. None of what
/// has no rights of its own, and of what users have made.
#[must_use]
pub fn system_object(object: Object) -> Option<(&'static str, &'static str, String)> {
    let named = |name: &str| format!("{PG_CATALOG}.{}", quote_ident(name));
    match object {
        Object::Relation(oid) => {
            let relation = SystemRelation::by_oid(oid)?;
            let kind = if relation.kind == 'v' { "view" } else { "table" };
            Some(("TABLE", kind, format!("{}.{}", quote_ident(relation.schema), quote_ident(relation.name))))
        }
        Object::Function(oid) => {
            let row = fixed_row("pg_proc", oid.0)?;
            let Value::Array(args) = &row[19] else { return None };
            let ty = |ty: &Value| match u32::try_from(ty.as_i64()?).ok()? {
                // A word of the language without its quotes.
                2276 => Some("\"any\"".to_owned()),
                ty => match SqlType::from_pg_oid(ty, -1) {
                    Some(ty) => Some(ty.pg_name()),
                    None => Some(named(fixed_row("pg_type", ty)?[1].as_str()?)),
                },
            };
            let args = args.iter().map(ty).collect::<Option<Vec<_>>>()?;
            Some(("FUNCTION", "function", format!("{}({})", named(row[1].as_str()?), args.join(", "))))
        }
        Object::Type(oid)
            if SqlType::from_pg_oid(oid.0, -1).is_some_and(|ty| extension_of_type(&ty).is_none()) =>
        {
            let row = fixed_row("pg_type", oid.0)?;
            Some(("TYPE", "type", named(row[1].as_str()?)))
        }
        Object::Parameter(oid) => {
            Some(("PARAMETER", "parameter", crate::settings::parameter_numbered(oid.0)?.to_owned()))
        }
        Object::Tablespace(oid) => {
            Some(("TABLESPACE", "tablespace", super::objects::tablespace_named(oid)?.to_owned()))
        }
        Object::Schema(verso_catalog::INFORMATION_SCHEMA_OID) => {
            Some(("SCHEMA", "schema", INFORMATION_SCHEMA.to_owned()))
        }
        _ => None,
    }
}

/// The catalog of what these types refer to.
fn text_search(ty: SystemType) -> &'static str {
    if ty == SystemType::Regconfig { "pg_ts_config" } else { "pg_ts_dict" }
}

/// The row of a fixed relation with this number.
fn fixed_row(relation: &str, oid: u32) -> Option<Vec<Value>> {
    fixed::by_oid(relation, oid.into())
}

/// The name of a type by its number; that of what Verso does not know from its row.
pub(super) fn type_name(catalog: &CatalogSnapshot, oid: u32) -> Option<String> {
    if let Some(ty) = SqlType::from_pg_oid(oid, -1).filter(|ty| extension_of_type(ty).is_none()) {
        return Some(of_system(catalog, ty.regtype_name()));
    }
    if let Some(ty) = catalog.type_or_row_by_oid(Oid(oid)) {
        let name = match visible::is_type(catalog, ty.oid).unwrap_or(false) {
            true => quote_ident(&ty.name),
            false => format!("{}.{}", quote_ident(&ty.schema), quote_ident(&ty.name)),
        };
        return Some(if ty.oid.0 == oid { name } else { name + "[]" });
    }
    let row = fixed_row("pg_type", oid)?;
    if !fixed::is_of_standard(&row) {
        let array =
            row[1].as_str().and_then(|name| name.strip_prefix('_')).filter(|_| row[13].as_i64() > Some(0));
        let shown = match array {
            Some(element) => quoted_type(element) + "[]",
            None => quoted_type(row[1].as_str()?),
        };
        return Some(of_system(catalog, shown));
    }
    // The domains of the standard's schema, which is not searched, and arrays of them.
    match row[13].as_i64().and_then(|element| u32::try_from(element).ok()) {
        None | Some(0) => Some(format!("{INFORMATION_SCHEMA}.{}", row[1].as_str()?)),
        Some(element) => Some(type_name(catalog, element)? + "[]"),
    }
}

/// The name of a type of the system, with its schema where another type is what the name alone means.
pub(super) fn of_system(catalog: &CatalogSnapshot, shown: String) -> String {
    match visible::is_hidden(catalog, shown.trim_end_matches("[]")) {
        true => format!("{PG_CATALOG}.{shown}"),
        false => shown,
    }
}

/// `"any"` needs its quotes.
fn quoted_type(name: &str) -> String {
    if name == "any" { "\"any\"".to_string() } else { name.to_string() }
}

/// `(integer, text)` of a vector of types.
fn type_list(catalog: &CatalogSnapshot, types: &Value) -> String {
    let Value::Array(types) = types else { return "()".to_string() };
    let names = types.iter().filter_map(|oid| type_name(catalog, u32::try_from(oid.as_i64()?).ok()?));
    format!("({})", names.collect::<Vec<_>>().join(","))
}

impl SessionNames {
    /// The schema, if one is named, and the name; a schema that the role may not look into is refused.
    fn path(&self, text: &str) -> Result<(Option<String>, String), TypeError> {
        let (schema, name) = path(text)?;
        if let [database, _, _] = &parts(text)?[..]
            && self.instance.upgrade().is_some_and(|instance| **instance.member.name() != **database)
        {
            let text = format!("cross-database references are not implemented: \"{text}\"");
            return Err(TypeError::new("0A000", text));
        }
        self.check_usage(schema.as_deref())?;
        Ok((schema, name))
    }

    fn check_usage(&self, schema: Option<&str>) -> Result<(), TypeError> {
        let catalog = &self.catalog;
        let role = catalog.acting_role().filter(|role| !catalog.is_superuser(*role));
        let (Some(role), Some(schema)) = (role, schema.and_then(|schema| catalog.schema(schema))) else {
            return Ok(());
        };
        let own = catalog.search_path().temporary() == Some(&schema.name);
        match own || catalog.rights(role, Object::Schema(schema.oid)).has(Rights::USAGE) {
            true => Ok(()),
            false => Err(TypeError::new("42501", format!("permission denied for schema {}", schema.name))),
        }
    }

    /// Of several functions that take as many arguments, one that takes these; where none is known to, all of them may be meant.
    fn called_functions(name: &str, types: &[u32]) -> Vec<u32> {
        let number = |row: &[Value]| row[0].as_i64().and_then(|oid| u32::try_from(oid).ok());
        let rows: Vec<Vec<Value>> = fixed::functions_named(name).collect();
        let exact = |row: &&Vec<Value>| matches!(fit_of(row, types), Some(Fit::Exact));
        if let Some(one) = rows.iter().find(exact) {
            return number(one).into_iter().collect();
        }
        let fitting: Vec<&Vec<Value>> = rows.iter().filter(|row| fit_of(row, types).is_some()).collect();
        let all = if fitting.is_empty() { rows.iter().collect() } else { fitting };
        all.into_iter().filter_map(|row| number(row)).collect()
    }

    fn functions(&self, schema: Option<&str>, name: &str) -> Vec<u32> {
        let Some(schema) = schema else { return visible::functions_named(&self.catalog, name) };
        let mut found = if schema == PG_CATALOG { fixed_by_name("pg_proc", name) } else { Vec::new() };
        found.extend(self.catalog.functions(Some(schema), name).iter().map(|function| function.oid.0));
        found
    }

    /// A function with its arguments: `length(text)`.
    fn function(&self, text: &str) -> Result<Option<u32>, TypeError> {
        let Some((name, args)) = text.trim_end().strip_suffix(')').and_then(|text| text.split_once('('))
        else {
            return Err(TypeError::new("22P02", "expected a left parenthesis"));
        };
        let (schema, name) = self.path(name)?;
        let types: Option<Vec<u32>> = args
            .split(',')
            .filter(|arg| !arg.trim().is_empty())
            .map(|arg| {
                // Arguments may be of types that no value has: `"any"`, which is a word without its quotes.
                let pseudo = || {
                    let (schema, name) = path(arg).ok()?;
                    let system = schema.is_none_or(|schema| schema == PG_CATALOG);
                    let open = system && (name != "any" || arg.contains('"'));
                    fixed_by_name("pg_type", &name).into_iter().find(|_| open)
                };
                type_named(&self.catalog, arg).map(|ty| ty.pg_oid()).or_else(pseudo)
            })
            .collect();
        let Some(types) = types else { return Ok(None) };
        let takes = |oid: &u32| match fixed_row("pg_proc", *oid) {
            Some(row) => {
                let Value::Array(args) = &row[19] else { return false };
                args.iter().map(Value::as_i64).eq(types.iter().map(|oid| Some(i64::from(*oid))))
            }
            None => self.catalog.all_functions().any(|function| {
                function.oid.0 == *oid
                    && function.inputs().map(|arg| arg.ty.pg_oid()).eq(types.iter().copied())
            }),
        };
        Ok(self.functions(schema.as_deref(), &name).into_iter().find(takes))
    }

    fn one(found: &[u32], what: &str, text: &str) -> Result<Option<u32>, TypeError> {
        match found {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            _ => Err(TypeError::new("42725", format!("more than one {what} named \"{text}\""))),
        }
    }

    fn function_name(&self, oid: u32, arguments: bool) -> Option<String> {
        // A name alone has to mean this function only; with arguments it has to be found without its schema.
        let placed = |schema: &str, name: &str| {
            let found = self.functions(None, name);
            let alone = if arguments { found.contains(&oid) } else { found == [oid] };
            match alone {
                true => quote_ident(name),
                false => format!("{}.{}", quote_ident(schema), quote_ident(name)),
            }
        };
        if let Some(row) = fixed_row("pg_proc", oid) {
            let name = placed(PG_CATALOG, row[1].as_str()?);
            return Some(if arguments { name + &type_list(&self.catalog, &row[19]) } else { name });
        }
        let function = self.catalog.function_by_oid(Oid(oid))?;
        let name = placed(&function.schema, &function.name);
        let types = function.inputs().map(|arg| match arg.rows_of {
            Some(relation) => relation_name(&self.catalog, relation).unwrap_or_default(),
            None => type_name(&self.catalog, arg.ty.pg_oid()).unwrap_or_else(|| arg.ty.pg_name()),
        });
        Some(if arguments { format!("{name}({})", types.collect::<Vec<_>>().join(",")) } else { name })
    }

    /// The symbol of an operator, with its schema where the symbol alone, or with the types of its sides, does not mean it.
    fn operator_name(&self, schema: &str, symbol: &str, oid: u32, sides: bool) -> String {
        let found = visible::operators_named(&self.catalog, symbol);
        let alone = if sides { found.contains(&oid) } else { found == [oid] };
        if alone { symbol.to_string() } else { format!("{}.{symbol}", quote_ident(schema)) }
    }
}

/// How a function takes arguments.
enum Fit {
    /// It is declared with their types.
    Exact,
    /// With polymorphic types, a list, or defaults behind them.
    Open,
}

/// How the function of a row takes arguments of these types; none where it does not.
fn fit_of(row: &[Value], types: &[u32]) -> Option<Fit> {
    let Value::Array(declared) = &row[19] else { return None };
    let declared: Vec<u32> =
        declared.iter().map(|ty| ty.as_i64().and_then(|ty| u32::try_from(ty).ok())).collect::<Option<_>>()?;
    if declared == types {
        return Some(Fit::Exact);
    }
    let is_list = row[7].as_i64() != Some(0);
    let defaults = row[17].as_i64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
    let least = declared.len() - defaults.max(usize::from(is_list)).min(declared.len());
    if types.len() < least || types.len() > declared.len() && !is_list {
        return None;
    }
    let fits = |(declared, given): (&u32, &u32)| declared == given || is_polymorphic(*declared);
    let fixed = declared.len() - usize::from(is_list);
    declared[..fixed].iter().zip(types).all(fits).then_some(Fit::Open)
}

/// `"any"`, `anyelement` and their relatives.
fn is_polymorphic(ty: u32) -> bool {
    matches!(ty, 2276 | 2277 | 2283 | 2776 | 3500 | 3831 | 4537 | 4538 | 5077..=5080)
}

/// The name of a relation by its number, as the session writes it.
pub(super) fn relation_name(catalog: &CatalogSnapshot, oid: Oid) -> Option<String> {
    let shown = |schema: &str, name: &str| match visible::is_relation(catalog, oid).unwrap_or(false) {
        true => quote_ident(name),
        false => format!("{}.{}", quote_ident(schema), quote_ident(name)),
    };
    if let Some(system) = SystemRelation::by_oid(oid) {
        return Some(shown(system.schema, system.name));
    }
    let (schema, name) = catalog.relation_by_oid(oid)?.path();
    Some(shown(schema, name))
}

/// The schema and the symbol of an operator's name.
fn operator_path(text: &str) -> (Option<String>, &str) {
    let text = text.trim();
    match text.rsplit_once('.') {
        Some((schema, symbol)) => {
            let schema = path(schema).map_or_else(|_| schema.to_string(), |(_, name)| name);
            (Some(schema), symbol)
        }
        None => (None, text),
    }
}

impl SessionNames {
    /// The operators of a symbol that a schema has, or that the symbol alone may mean.
    fn operators(&self, schema: Option<&str>, symbol: &str) -> Vec<u32> {
        let Some(schema) = schema else { return visible::operators_named(&self.catalog, symbol) };
        let mut found = if schema == PG_CATALOG { fixed_by_name("pg_operator", symbol) } else { Vec::new() };
        let own = self.catalog.operators().iter();
        let own = own.filter(|one| *one.name == *symbol && *one.schema == *schema);
        found.extend(own.map(|one| one.oid.0));
        found
    }
}

impl ObjectNames for SessionNames {
    fn is_new_label(&self, label: u32) -> bool {
        self.new_labels.has(label)
    }

    fn called(&self, name: &str, types: &[u32]) -> Vec<u32> {
        SessionNames::called_functions(name, types)
    }

    fn find(&self, ty: SystemType, text: &str) -> Result<Option<u32>, TypeError> {
        match ty {
            SystemType::Regclass => {
                let (schema, name) = self.path(text)?;
                let composite = || {
                    let ty = self.catalog.type_named(schema.as_deref(), &name);
                    ty.filter(|ty| ty.ty.is_row()).map(|ty| ty.oid.0)
                };
                Ok(relation(&self.catalog, schema.as_deref(), &name).or_else(composite))
            }
            SystemType::Regtype => {
                if let Ok(SqlType::Named(named)) = verso_parser::parse_type(text).map(|ty| element_of(&ty)) {
                    self.check_usage(named.schema.as_deref())?;
                    if let Some(schema) = named.schema.as_deref().filter(|one| !is_schema(&self.catalog, one))
                    {
                        return Err(absent(schema));
                    }
                }
                let known = type_named(&self.catalog, text).map(|ty| ty.pg_oid());
                // What no value is of: `trigger`, `anyelement`, `event_trigger`, `xml`.
                let pseudo = || {
                    let element = text.trim().strip_suffix("[]");
                    let (schema, mut name) = path(element.unwrap_or(text)).ok()?;
                    if element.is_some() {
                        name.insert(0, '_');
                    }
                    if schema.as_deref() == Some(INFORMATION_SCHEMA) {
                        return type_of_standard(&name);
                    }
                    let system = schema.is_none_or(|schema| schema == PG_CATALOG);
                    fixed_by_name("pg_type", &name).into_iter().find(|_| system)
                };
                Ok(known.or_else(pseudo))
            }
            SystemType::Regnamespace => {
                let name = single(text)?;
                Ok(match name.as_str() {
                    INFORMATION_SCHEMA => Some(INFORMATION_SCHEMA_OID),
                    name => self.catalog.schema(name).map(|schema| schema.oid.0),
                })
            }
            SystemType::Regrole => {
                let name = single(text)?;
                Ok(self.every_role().find(|role| *role.name == *name).map(|role| role.oid.0))
            }
            SystemType::Regproc => {
                let (schema, name) = self.path(text)?;
                SessionNames::one(&self.functions(schema.as_deref(), &name), "function", text)
            }
            SystemType::Regprocedure => self.function(text),
            SystemType::Regoper => {
                let (schema, symbol) = operator_path(text);
                self.check_usage(schema.as_deref())?;
                let all = self.operators(schema.as_deref(), symbol);
                SessionNames::one(&all, "operator", text)
            }
            SystemType::Regoperator => {
                let Some((symbol, args)) =
                    text.trim_end().strip_suffix(')').and_then(|text| text.split_once('('))
                else {
                    return Err(TypeError::new("22P02", "expected a left parenthesis"));
                };
                let (schema, symbol) = operator_path(symbol.trim());
                self.check_usage(schema.as_deref())?;
                let types: Option<Vec<i64>> = args
                    .split(',')
                    .map(|arg| match arg.trim() {
                        "none" | "NONE" => Some(0),
                        arg => type_named(&self.catalog, arg).map(|ty| ty.pg_oid().into()),
                    })
                    .collect();
                let Some([left, right]) = types.and_then(|types| <[i64; 2]>::try_from(types).ok()) else {
                    return Ok(None);
                };
                let fits = |oid: &u32| match fixed_row("pg_operator", *oid) {
                    Some(row) => row[7] == Value::Int8(left) && row[8] == Value::Int8(right),
                    None => self.catalog.operators().iter().any(|one| {
                        let side = i64::from(one.left.map_or(0, |left| left.0));
                        one.oid.0 == *oid && side == left && i64::from(one.right.0) == right
                    }),
                };
                Ok(self.operators(schema.as_deref(), symbol).into_iter().find(fits))
            }
            SystemType::Regconfig | SystemType::Regdictionary => {
                let (schema, name) = self.path(text)?;
                let own = schema.as_deref().is_none_or(|schema| schema == PG_CATALOG);
                Ok(if own { fixed_by_name(text_search(ty), &name).first().copied() } else { None })
            }
            SystemType::Regcollation => {
                let (schema, name) = self.path(text)?;
                Ok(super::collations::by_name(&self.catalog, schema.as_deref(), &name))
            }
            _ => Ok(None),
        }
    }

    fn are_rows_of(&self, part: u32, whole: u32) -> bool {
        let mut next = self.catalog.table_by_oid(Oid(part));
        while let Some(table) = next {
            if table.of_type() == Some(Oid(whole)) {
                return true;
            }
            let Some(of) = &table.partition_of else { return false };
            if of.parent == Oid(whole) {
                return true;
            }
            next = self.catalog.table_by_oid(of.parent);
        }
        false
    }

    fn name(&self, ty: SystemType, oid: u32) -> Option<String> {
        match ty {
            SystemType::Regclass => relation_name(&self.catalog, Oid(oid)).or_else(|| {
                let ty = self.catalog.user_type(Oid(oid)).filter(|ty| ty.ty.is_row() && ty.oid.0 == oid)?;
                type_name(&self.catalog, ty.oid.0)
            }),
            SystemType::Regtype => type_name(&self.catalog, oid),
            SystemType::Regnamespace => match oid {
                INFORMATION_SCHEMA_OID => Some(INFORMATION_SCHEMA.to_string()),
                oid => {
                    let schema = self.catalog.schemas().find(|schema| schema.oid.0 == oid)?;
                    Some(quote_ident(&schema.name))
                }
            },
            SystemType::Regrole => {
                self.every_role().find(|role| role.oid.0 == oid).map(|role| quote_ident(&role.name))
            }
            SystemType::Regproc => self.function_name(oid, false),
            SystemType::Regprocedure => self.function_name(oid, true),
            SystemType::Regoper | SystemType::Regoperator
                if let Some(own) = self.catalog.operators().iter().find(|one| one.oid.0 == oid) =>
            {
                let sides = ty == SystemType::Regoperator;
                let name = self.operator_name(&own.schema, &own.name, oid, sides);
                if ty == SystemType::Regoper {
                    return Some(name);
                }
                let left = own
                    .left
                    .map_or_else(|| Some("NONE".to_string()), |left| type_name(&self.catalog, left.0));
                Some(format!("{name}({},{})", left?, type_name(&self.catalog, own.right.0)?))
            }
            SystemType::Regoper => {
                let row = fixed_row("pg_operator", oid)?;
                Some(self.operator_name(PG_CATALOG, row[1].as_str()?, oid, false))
            }
            SystemType::Regoperator => {
                let row = fixed_row("pg_operator", oid)?;
                let side = |value: &Value| match value.as_i64() {
                    Some(0) | None => "NONE".to_string(),
                    Some(oid) => {
                        let name = u32::try_from(oid).ok().and_then(|oid| type_name(&self.catalog, oid));
                        name.unwrap_or_default()
                    }
                };
                let name = self.operator_name(PG_CATALOG, row[1].as_str()?, oid, true);
                Some(format!("{name}({},{})", side(&row[7]), side(&row[8])))
            }
            SystemType::Regconfig | SystemType::Regdictionary => {
                Some(quote_ident(fixed_row(text_search(ty), oid)?[1].as_str()?))
            }
            SystemType::Regcollation => super::collations::name_of(&self.catalog, oid),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded_unless_they_are_quoted() {
        let read = |text| parts(text).map(|parts| parts.join("|"));
        assert_eq!(read("Public.T1"), Ok("public|t1".to_string()));
        assert_eq!(read("\"My \"\"T\".\"x.y\""), Ok("My \"T|x.y".to_string()));
        for wrong in ["", "a.", ".b", "a b", "\"open", "\"a\"b"] {
            assert_eq!(read(wrong).expect_err(wrong).sqlstate, "42602");
        }
    }
}
