//! Rows of schemas, databases, tablespaces, roles, functions of users, settings and time zones.

use std::sync::Arc;

use verso_catalog::{
    AggregateDef, ArgMode, CatalogSnapshot, FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn,
    Object, Oid, Role, Volatility, kept,
};
use verso_types::{Interval, SqlType, SystemType, Value};

use super::keys::Keys;
use super::relations::{INFORMATION_SCHEMA_OID, OWNER, namespace};
use super::{letter, number, oid, rights, short};
use crate::cluster::Usage;
use crate::views::Views;

/// The number of `pg_default`.
pub(super) const DEFAULT_TABLESPACE: u32 = 1663;
/// UTF8, as PostgreSQL numbers encodings.
pub(super) const UTF8: i32 = 6;

/// The rows of `pg_namespace`.
pub(super) fn namespaces(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let row = |number: Oid, name: &str| {
        let object = Object::Schema(number);
        vec![oid(number), Value::text(name), rights::owner(catalog, object), rights::own_acl(catalog, object)]
    };
    let own = catalog.schemas().map(|schema| row(schema.oid, &schema.name));
    own.chain([row(Oid(INFORMATION_SCHEMA_OID), verso_catalog::INFORMATION_SCHEMA)]).collect()
}

/// The rows of `pg_database`. The owner of another database is a role of that one: it is shown as the role of its name
/// here, and as none where that is not known; its rights are not known.
pub(super) fn databases(views: &Views<'_>, catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let row = |place: u32, name: &Arc<str>, owner: Value, acl: Value, usage: Usage| {
        vec![
            number(place),
            Value::Text(Arc::clone(name)),
            owner,
            Value::Int4(UTF8),
            // PostgreSQL's own: by bytes, and a letter is mapped to a letter.
            letter('b'),
            Value::Bool(usage.is_template),
            Value::Bool(usage.allow_connections),
            Value::Bool(false),
            Value::Int4(usage.connection_limit),
            number(0),
            number(0),
            number(DEFAULT_TABLESPACE),
            Value::text("C"),
            Value::text("C"),
            Value::text("C.UTF-8"),
            Value::Null,
            Value::text("1"),
            acl,
        ]
    };
    let member = &views.services.instance.member;
    let own = (rights::owner(catalog, Object::Database), rights::own_acl(catalog, Object::Database));
    let usage = views.services.instance.usage();
    let mut rows = vec![row(member.number(), member.name(), own.0, own.1, usage)];
    for entry in member.cluster().others(member) {
        let owner = entry.owner.as_ref().and_then(|owner| catalog.role_named(owner));
        let owner = owner.map_or(number(0), |role| oid(role.oid));
        rows.push(row(entry.number, &entry.name, owner, Value::Null, entry.usage));
    }
    rows
}

/// The rows of `pg_tablespace`: the database's file is the one there is.
pub(super) fn tablespaces(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let row = |(oid, name): &(u32, &str)| {
        let acl = rights::own_acl(catalog, Object::Tablespace(Oid(*oid)));
        vec![number(*oid), Value::text(name), number(OWNER), acl, Value::Null]
    };
    TABLESPACES.iter().map(row).collect()
}

/// The tablespaces: there are PostgreSQL's two.
const TABLESPACES: [(u32, &str); 2] =
    [(DEFAULT_TABLESPACE, "pg_default"), (DEFAULT_TABLESPACE + 1, "pg_global")];

/// The number of the tablespace of that name.
pub(crate) fn tablespace(name: &str) -> Option<u32> {
    TABLESPACES.iter().find(|(_, known)| *known == name).map(|(oid, _)| *oid)
}

/// The name of the tablespace of that number.
pub(crate) fn tablespace_named(oid: Oid) -> Option<&'static str> {
    TABLESPACES.iter().find(|(known, _)| *known == oid.0).map(|(_, name)| *name)
}

/// The rows of `pg_authid`.
pub(super) fn authids(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let row = |role: &Arc<Role>| {
        vec![
            oid(role.oid),
            Value::Text(Arc::clone(&role.name)),
            Value::Bool(role.superuser),
            Value::Bool(role.inherit),
            Value::Bool(role.create_role),
            Value::Bool(role.create_db),
            Value::Bool(role.login),
            Value::Bool(role.replication),
            Value::Bool(role.bypass_rls),
            Value::Int4(role.connection_limit),
            role.password.as_ref().map_or(Value::Null, |password| Value::Text(Arc::clone(password))),
            role.valid_until.map_or(Value::Null, Value::Timestamptz),
        ]
    };
    catalog.all_roles().map(row).collect()
}

/// The rows of `pg_roles`, without the passwords.
pub(super) fn roles(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let row = |role: &Arc<Role>| {
        let mut row = role.to_values();
        // PostgreSQL's newer column `rolconfig` stands in front of the number.
        let oid = row.pop().unwrap_or(Value::Null);
        row.extend([rights::role_settings(catalog, role), oid]);
        row
    };
    catalog.all_roles().map(row).collect()
}

/// The number of a language.
pub(super) fn language(language: FunctionLanguage) -> Value {
    let rows = super::fixed::table("pg_language");
    let own = |row: &&Vec<Value>| row[1].as_str() == Some(language.name());
    rows.iter().flat_map(|rows| rows.iter()).find(own).map_or(Value::Int8(0), |row| row[0].clone())
}

/// The pseudo-type `trigger`, which no value has.
const TRIGGER: u32 = 2279;

/// The type of what a function gives.
pub(super) fn result_type(returns: &FunctionReturn) -> SqlType {
    match returns {
        FunctionReturn::Void | FunctionReturn::Procedure | FunctionReturn::Trigger => SqlType::Void,
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => ty.clone(),
        FunctionReturn::Table(columns) => match columns.as_slice() {
            [(_, ty)] => ty.clone(),
            _ => SqlType::Record,
        },
    }
}

/// The rows of `pg_proc` for functions of users.
pub(super) fn functions(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let row = |function: &Arc<FunctionDef>| function_row(catalog, function);
    match (keys.oid("oid"), keys.text("proname")) {
        (Some(oid), _) => catalog.function_by_oid(oid).map(row).into_iter().collect(),
        (None, Some(name)) => catalog.functions_named(name).map(row).collect(),
        (None, None) => catalog.all_functions().map(row).collect(),
    }
}

fn function_row(catalog: &CatalogSnapshot, function: &FunctionDef) -> Vec<Value> {
    let type_oid = |arg: &FunctionArg| number(arg.rows_of.map_or(arg.ty.pg_oid(), |oid| oid.0));
    let columns: &[(Arc<str>, SqlType)] = match &function.returns {
        FunctionReturn::Table(columns) if function.outputs().next().is_none() => columns,
        _ => &[],
    };
    let named = function.args.iter().any(|arg| !arg.name.is_empty()) || !columns.is_empty();
    let names = function.args.iter().map(|arg| &arg.name).chain(columns.iter().map(|(name, _)| name));
    let all_types =
        function.args.iter().map(type_oid).chain(columns.iter().map(|(_, ty)| number(ty.pg_oid())));
    let modes = function.args.iter().map(|arg| letter(arg.mode.letter()));
    let modes = modes.chain(columns.iter().map(|_| letter('t')));
    let all_in = function.args.iter().all(|arg| arg.mode == ArgMode::In) && columns.is_empty();
    let variadic = function.args.iter().find(|arg| arg.mode == ArgMode::Variadic);
    let variadic = variadic.map_or(0, |arg| match &arg.ty {
        SqlType::Array(element) => element.pg_oid(),
        SqlType::System(SystemType::AnyCompatibleArray) => SystemType::AnyCompatible.pg_oid(),
        _ => SystemType::AnyElement.pg_oid(),
    });
    let defaults: Vec<String> =
        function.inputs().filter_map(|arg| Some(kept::with_names(catalog, arg.default.as_ref()?))).collect();
    let setting = |(name, value): &(Arc<str>, Arc<str>)| {
        Value::text(&format!("{}={value}", super::definitions::setting_name(name)))
    };
    let settings = function.settings.iter().map(setting).collect();
    let some = |wanted: bool, value: Value| if wanted { value } else { Value::Null };
    vec![
        oid(function.oid),
        Value::Text(Arc::clone(&function.name)),
        namespace(catalog, &function.schema),
        rights::owner(catalog, Object::Function(function.oid)),
        language(function.language),
        Value::Float4(match function.language {
            FunctionLanguage::Internal => 1.0,
            _ => function.planning.cost(),
        }),
        Value::Float4(if function.returns.is_set() { function.planning.rows() } else { 0.0 }),
        number(variadic),
        number(0),
        letter(match () {
            () if function.is_procedure() => 'p',
            () if function.is_aggregate() => 'a',
            () => 'f',
        }),
        Value::Bool(function.security_definer),
        Value::Bool(function.leakproof),
        Value::Bool(function.strict),
        Value::Bool(function.returns.is_set()),
        letter(match function.volatility {
            Volatility::Immutable => 'i',
            Volatility::Stable => 's',
            Volatility::Volatile => 'v',
        }),
        letter(match function.is_aggregate() {
            true => AggregateDef::parse(&function.body).map_or('u', |aggregate| aggregate.parallel),
            false if function.is_range_constructor() => 's',
            false => function.planning.parallel.letter(),
        }),
        short(function.inputs().count()),
        short(defaults.len()),
        match function.returns {
            FunctionReturn::Trigger => number(TRIGGER),
            FunctionReturn::Procedure if function.outputs().next().is_some() => {
                number(SqlType::Record.pg_oid())
            }
            _ => number(function.rows_of.map_or(result_type(&function.returns).pg_oid(), |oid| oid.0)),
        },
        super::vector(function.inputs().map(type_oid)),
        some(!all_in, Value::Array(all_types.collect())),
        some(!all_in, Value::Array(modes.collect())),
        some(named, Value::Array(names.map(|name| Value::Text(Arc::clone(name))).collect())),
        some(!defaults.is_empty(), Value::text(&defaults.join(", "))),
        Value::Null,
        if function.is_aggregate() {
            Value::text("aggregate_dummy")
        } else if function.standard_body {
            Value::text("")
        } else {
            Value::Text(Arc::clone(&function.body))
        },
        Value::Null,
        some(function.standard_body, Value::text(&verso_catalog::kept::bare(&function.body))),
        some(!function.settings.is_empty(), Value::Array(settings)),
        rights::own_acl(catalog, Object::Function(function.oid)),
    ]
}

/// The rows of `pg_timezone_names`, as of now.
pub(super) fn time_zones(views: &Views<'_>) -> Vec<Vec<Value>> {
    use verso_exec::context::Clock;
    let now = views.services.clocks.transaction_timestamp();
    let row = |name: String| {
        let zone = verso_types::datetime::time_zone(&name).ok()?;
        let offset = verso_types::datetime::to_local(now, &zone) - now;
        let abbreviation = Value::text(&verso_types::datetime::zone_abbreviation(now, &zone));
        let offset = Value::Interval(Interval { micros: offset, ..Interval::default() });
        let summer = Value::Bool(verso_types::datetime::is_summer_time(now, &zone));
        Some(vec![Value::text(&name), abbreviation, offset, summer])
    };
    verso_types::datetime::zone_names().into_iter().filter_map(row).collect()
}

/// The rows of `pg_timezone_abbrevs`.
pub(super) fn zone_abbreviations() -> Vec<Vec<Value>> {
    let row = |(name, seconds, summer): (String, i32, bool)| {
        let micros = i64::from(seconds) * verso_types::datetime::MICROS_PER_SECOND;
        let offset = Value::Interval(Interval { micros, ..Interval::default() });
        vec![Value::text(&name), offset, Value::Bool(summer)]
    };
    verso_types::datetime::zone_abbreviations().into_iter().map(row).collect()
}
