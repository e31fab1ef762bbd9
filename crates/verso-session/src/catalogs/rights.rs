//! Rights as the catalogs show them: lists of rights, members of roles, policies; `has_…_privilege`.

use std::sync::Arc;

use verso_catalog::{
    Acl, CatalogSnapshot, Object, Oid, PolicyDef, Relation, Rights, RightsOf, Role, SequenceDef,
    StoredCondition, SystemRelation, SystemRowIter,
};
use verso_exec::ExecError;
use verso_exec::error::Result;
use verso_planner::deparse;
use verso_types::names as references;
use verso_types::system_type::SystemType;
use verso_types::{SqlType, Value, array::Array};

use super::keys::Keys;
use super::{letter, number, oid};
use crate::views::Views;

/// The name of a role, quoted as lists of rights have it.
fn quoted_role(catalog: &CatalogSnapshot, role: Oid) -> String {
    match catalog.role_by_oid(role) {
        Some(known) => verso_exec::functions::quote_ident(&known.name),
        None if role.0 == 0 => String::new(),
        None => role.to_string(),
    }
}

/// A list of rights as an array of `aclitem`.
pub(super) fn acl_value(catalog: &CatalogSnapshot, acl: &Acl) -> Value {
    let item = |item: &verso_catalog::AclItem| Value::text(&item.shown(|role| quoted_role(catalog, role)));
    Value::Array(acl.0.iter().map(item).collect())
}

/// The list of its own that an object has; NULL where it has none.
pub(super) fn own_acl(catalog: &CatalogSnapshot, object: Object) -> Value {
    catalog.own_acl(object).map_or(Value::Null, |acl| acl_value(catalog, &acl))
}

/// Rows of objects of the system, which end with their list of rights.
pub(super) fn with_lists(
    catalog: &Arc<CatalogSnapshot>,
    rows: SystemRowIter,
    object: fn(Oid) -> Object,
) -> impl Iterator<Item = Vec<Value>> + use<> {
    let catalog = Arc::clone(catalog);
    rows.map(move |mut row| {
        let number = row.first().and_then(Value::as_i64).and_then(|oid| u32::try_from(oid).ok());
        if let (Some(number), Some(list)) = (number, row.last_mut()) {
            *list = own_acl(&catalog, object(Oid(number)));
        }
        row
    })
}

/// Whose an object is.
pub(super) fn owner(catalog: &CatalogSnapshot, object: Object) -> Value {
    oid(catalog.owner_of(object))
}

/// The rows of `pg_auth_members`.
pub(super) fn members(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let row = |one: &verso_catalog::Membership| {
        vec![
            oid(one.oid),
            oid(one.role),
            oid(one.member),
            oid(one.grantor),
            Value::Bool(one.admin),
            Value::Bool(one.inherit),
            Value::Bool(one.set),
        ]
    };
    // Those of the roles that every database has have no rows but for `pg_monitor`.
    let shown = |one: &&verso_catalog::Membership| one.role != verso_catalog::authority::DATABASE_OWNER;
    catalog.memberships().iter().filter(shown).map(row).collect()
}

/// The rows of `pg_default_acl`.
pub(super) fn defaults(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let row = |one: &verso_catalog::DefaultAcl| {
        vec![
            oid(one.oid),
            oid(one.role),
            oid(one.schema),
            letter(one.kind.letter()),
            acl_value(catalog, &one.acl),
        ]
    };
    catalog.default_acls().iter().map(row).collect()
}

/// `pg_namespace.oid` of `public`.
const PUBLIC: Oid = Oid(2200);

/// The rows of `pg_init_privs`: the lists that the system's relations, schemas and functions have from the beginning. A dump leaves
/// them out.
pub(super) fn initial(catalog: &CatalogSnapshot, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let relations = SystemRelation::all().iter().map(|relation| Object::Relation(relation.oid));
    let schemas = catalog.schemas().map(|schema| schema.oid).filter(|oid| oid.is_system());
    let schemas = schemas.chain([Oid(super::relations::INFORMATION_SCHEMA_OID)]).map(Object::Schema);
    let functions = super::fixed::table("pg_proc");
    let functions = functions.iter().flat_map(|rows| rows.iter()).filter_map(|row| row[0].as_i64());
    let functions = functions.filter_map(|oid| Some(Object::Function(Oid(u32::try_from(oid).ok()?))));
    let row = |object: Object| {
        let (class, number, part) = object.key();
        let acl = acl_value(catalog, &catalog.initial_acl(object)?);
        let row = vec![oid(number), oid(class), Value::Int4(part), letter('i'), acl];
        keys.fit(&row).then_some(row)
    };
    // That of `public` may be changed as any other's.
    let others = relations.chain(schemas).filter(|object| *object != Object::Schema(PUBLIC));
    others.chain(functions).filter_map(row).collect()
}

/// The rows of `pg_parameter_acl`.
pub(super) fn parameters(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let row = |(object, acl): (Object, &Arc<Acl>)| {
        let Object::Parameter(number) = object else { return None };
        let name = crate::settings::parameter_numbered(number.0)?;
        Some(vec![oid(number), Value::text(name), acl_value(catalog, acl)])
    };
    catalog.acls().filter_map(row).collect()
}

/// The rows of `pg_policy`.
pub(super) fn policies(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    keys: &Keys<'_>,
) -> Vec<Vec<Value>> {
    let row = |policy: &Arc<PolicyDef>| {
        let text = |part: &Option<StoredCondition>| condition(views, catalog, policy, part.as_ref());
        vec![
            oid(policy.oid),
            Value::Text(Arc::clone(&policy.name)),
            oid(policy.table),
            letter(policy.command.letter()),
            Value::Bool(policy.permissive),
            Value::Array(policy.roles.iter().map(|role| oid(*role)).collect()),
            keys.read("polqual", || text(&policy.using)),
            keys.read("polwithcheck", || text(&policy.check)),
        ]
    };
    match keys.oid("polrelid") {
        Some(table) => catalog.policies(table).iter().map(row).collect(),
        None => catalog.all_policies().map(row).collect(),
    }
}

/// A condition of a policy as SQL, with its names as the session's path wants them.
fn condition(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    policy: &PolicyDef,
    condition: Option<&StoredCondition>,
) -> Value {
    let (Some(condition), Some(table)) = (condition, catalog.table_by_oid(policy.table)) else {
        return Value::Null;
    };
    let binder = super::definitions::binder(views, catalog);
    Value::text(&deparse::condition(&binder, condition, &table, false))
}

/// The rows of `pg_policies`.
pub(super) fn policy_view(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let row = |policy: &Arc<PolicyDef>| {
        let shown = |part: &Option<StoredCondition>| condition(views, catalog, policy, part.as_ref());
        let table = catalog.table_by_oid(policy.table)?;
        let role = |role: &Oid| match catalog.role_by_oid(*role) {
            Some(role) => Value::Text(Arc::clone(&role.name)),
            None => Value::text("public"),
        };
        let command = policy.command.name();
        Some(vec![
            Value::Text(Arc::clone(&table.schema)),
            Value::Text(Arc::clone(&table.name)),
            Value::Text(Arc::clone(&policy.name)),
            Value::text(if policy.permissive { "PERMISSIVE" } else { "RESTRICTIVE" }),
            Value::Array(policy.roles.iter().map(role).collect()),
            Value::text(command),
            shown(&policy.using),
            shown(&policy.check),
        ])
    };
    let mut rows: Vec<_> = catalog.all_policies().filter_map(row).collect();
    rows.sort_by_key(|row| (format!("{:?}", row[0]), format!("{:?}", row[1]), format!("{:?}", row[2])));
    rows
}

/// The rows of `pg_db_role_setting`.
pub(super) fn settings(views: &Views<'_>, catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let own = views.services.instance.member.number();
    let row = |(database, role, config): &(Oid, Oid, Vec<Arc<str>>)| {
        let database = number(if database.0 == 0 { 0 } else { own });
        vec![database, oid(*role), config_value(config)]
    };
    let of_roles =
        catalog.kept_settings().iter().filter(|(database, role, _)| role.0 != 0 || database.0 == 0);
    let mut rows: Vec<Vec<Value>> = of_roles.map(row).collect();
    // those of the database are no part of a version of the catalog
    let of_all = views.services.instance.catalog.database_settings().unwrap_or_default();
    let of_all: Vec<Arc<str>> =
        of_all.iter().map(|(name, value)| Arc::from(format!("{name}={value}"))).collect();
    if !of_all.is_empty() {
        rows.push(row(&(Oid(1), Oid(0), of_all)));
    }
    rows
}

fn config_value(config: &[Arc<str>]) -> Value {
    Value::Array(config.iter().map(|one| Value::Text(Arc::clone(one))).collect())
}

/// `rolconfig`: the settings of a role in all databases.
pub(super) fn role_settings(catalog: &CatalogSnapshot, role: &Role) -> Value {
    let own = catalog.kept_settings().iter().find(|(database, of, _)| database.0 == 0 && *of == role.oid);
    own.map_or(Value::Null, |(.., config)| config_value(config))
}

// ── the views of the standard ────────────────────────────────────────────────────────────────────────────────────

/// The rights on objects that the role has granted, or was granted, one by one: grantor, grantee, right, grantable.
fn granted(catalog: &CatalogSnapshot, object: Object) -> Vec<(Value, Value, &'static str, Value)> {
    let counts = |role: Oid| match catalog.acting_role() {
        Some(own) => role.0 == 0 || catalog.inherits(own, role),
        None => true,
    };
    let name = |role: Oid| match catalog.role_by_oid(role) {
        Some(known) => Value::Text(Arc::clone(&known.name)),
        None => Value::text("PUBLIC"),
    };
    let yes = |yes: bool| Value::text(if yes { "YES" } else { "NO" });
    let mut rows = Vec::new();
    for item in catalog.acl(object).0.iter().filter(|item| counts(item.grantee) || counts(item.grantor)) {
        let is_owner = item.grantee.0 != 0 && catalog.inherits(item.grantee, catalog.owner_of(object));
        for (right, _, word) in item.rights.each() {
            let grantable = item.grantable.has(right) || is_owner;
            rows.push((name(item.grantor), name(item.grantee), word, yes(grantable)));
        }
    }
    rows
}

/// The rows of a view of `information_schema` that shows rights; none of others.
pub(super) fn standard(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    view: &str,
) -> Option<Vec<Vec<Value>>> {
    let database = || Value::Text(Arc::clone(views.services.database()));
    let mut rows = Vec::new();
    let users = || {
        catalog.relations().filter(|relation| {
            let shown = match relation {
                Relation::Table(table) => table.materialized.is_none(),
                Relation::View(_) => true,
                Relation::Index(_) | Relation::Sequence(_) => false,
            };
            shown && !relation.oid().is_system()
        })
    };
    match view {
        "table_privileges" | "role_table_grants" => {
            for relation in users() {
                let (schema, name) = relation.path();
                for (grantor, grantee, word, grantable) in granted(catalog, Object::Relation(relation.oid()))
                {
                    if word == "MAINTAIN" {
                        continue;
                    }
                    let hierarchy = Value::text(if word == "SELECT" { "YES" } else { "NO" });
                    let (schema, name) = (Value::text(schema), Value::text(name));
                    rows.push(vec![
                        grantor,
                        grantee,
                        database(),
                        schema,
                        name,
                        Value::text(word),
                        grantable,
                        hierarchy,
                    ]);
                }
            }
        }
        "column_privileges" | "role_column_grants" => {
            for relation in users() {
                let (schema, name) = relation.path();
                let columns = match relation {
                    Relation::Table(table) => table.shown(),
                    Relation::View(view) => view.columns.as_slice(),
                    Relation::Sequence(_) | Relation::Index(_) => continue,
                };
                for column in columns {
                    let whole = granted(catalog, Object::Relation(relation.oid()));
                    let own = granted(catalog, Object::Column(relation.oid(), column.id));
                    let is_of_columns = |word: &str| {
                        Rights::named(word).is_some_and(|right| RightsOf::Column.all().has(right))
                    };
                    for (grantor, grantee, word, grantable) in whole.into_iter().chain(own) {
                        if is_of_columns(word) {
                            rows.push(vec![
                                grantor,
                                grantee,
                                database(),
                                Value::text(schema),
                                Value::text(name),
                                Value::Text(Arc::clone(&column.name)),
                                Value::text(word),
                                grantable,
                            ]);
                        }
                    }
                }
            }
        }
        "routine_privileges" | "role_routine_grants" => {
            for function in catalog.all_functions() {
                for (grantor, grantee, word, grantable) in granted(catalog, Object::Function(function.oid)) {
                    let (schema, name) = (Value::text(&function.schema), Value::text(&function.name));
                    let specific = Value::text(&format!("{}_{}", function.name, function.oid));
                    rows.push(vec![
                        grantor,
                        grantee,
                        database(),
                        schema.clone(),
                        specific,
                        database(),
                        schema,
                        name,
                        Value::text(word),
                        grantable,
                    ]);
                }
            }
        }
        "usage_privileges" | "role_usage_grants" => {
            let mut add = |(grantor, grantee, grantable), schema: &str, name: &str, kind| {
                let (schema, name, right) = (Value::text(schema), Value::text(name), Value::text("USAGE"));
                rows.push(vec![
                    grantor,
                    grantee,
                    database(),
                    schema,
                    name,
                    Value::text(kind),
                    right,
                    grantable,
                ]);
            };
            for one in catalog.collations() {
                let owner = catalog
                    .role_by_oid(one.owner)
                    .map_or(Value::Null, |role| Value::Text(Arc::clone(&role.name)));
                let given = (owner, Value::text("PUBLIC"), Value::text("NO"));
                add(given, &one.collation.schema, &one.collation.name, "COLLATION");
            }
            for ty in catalog.types().filter(|ty| matches!(ty.ty, SqlType::Domain(_))) {
                for (grantor, grantee, _, grantable) in granted(catalog, Object::Type(ty.oid)) {
                    add((grantor, grantee, grantable), &ty.schema, &ty.name, "DOMAIN");
                }
            }
            // As in PostgreSQL, where only a list of its own says something of a sequence.
            let listed = |sequence: &&Arc<SequenceDef>| {
                !sequence.oid.is_system() && catalog.own_acl(Object::Relation(sequence.oid)).is_some()
            };
            for sequence in catalog.sequences().filter(listed) {
                for (grantor, grantee, word, grantable) in granted(catalog, Object::Relation(sequence.oid)) {
                    if word == "USAGE" {
                        add((grantor, grantee, grantable), &sequence.schema, &sequence.name, "SEQUENCE");
                    }
                }
            }
        }
        "udt_privileges" | "role_udt_grants" => {
            let mut add = |(grantor, grantee, grantable), schema: &str, name: &str| {
                let (schema, name) = (Value::text(schema), Value::text(name));
                let right = Value::text("TYPE USAGE");
                rows.push(vec![grantor, grantee, database(), schema, name, right, grantable]);
            };
            for ty in catalog.types().filter(|ty| ty.ty.is_row()) {
                for (grantor, grantee, _, grantable) in granted(catalog, Object::Type(ty.oid)) {
                    add((grantor, grantee, grantable), &ty.schema, &ty.name);
                }
            }
            // The types of the rows of tables and views: what goes without saying of types.
            let with_rows = |relation: &&Relation| {
                !relation.oid().is_system() && matches!(relation, Relation::Table(_) | Relation::View(_))
            };
            for relation in catalog.relations().filter(with_rows) {
                let owner = catalog.owner_of(Object::Relation(relation.oid()));
                let Some(owner) = catalog.role_by_oid(owner) else { continue };
                let (schema, name) = relation.path();
                let owner = || Value::Text(Arc::clone(&owner.name));
                add((owner(), Value::text("PUBLIC"), Value::text("NO")), schema, name);
                add((owner(), owner(), Value::text("YES")), schema, name);
            }
        }
        "enabled_roles" => {
            for role in catalog.all_roles() {
                if catalog.acting_role().is_none_or(|own| catalog.is_member(own, role.oid)) {
                    rows.push(vec![Value::Text(Arc::clone(&role.name))]);
                }
            }
        }
        _ => return None,
    }
    Some(rows)
}

// ── has_…_privilege ──────────────────────────────────────────────────────────────────────────────────────────────

/// The role that an argument means.
fn role_of(catalog: &CatalogSnapshot, value: &Value) -> Result<Oid> {
    match value {
        Value::Text(name) if &**name == "public" => Ok(Oid(0)),
        Value::Text(name) => match catalog.role_named(name) {
            Some(role) => Ok(role.oid),
            None => Err(ExecError::raised("42704", format!("role \"{name}\" does not exist"))),
        },
        other => Ok(Oid(u32::try_from(other.as_i64().unwrap_or_default()).unwrap_or_default())),
    }
}

/// The words of the rights that there are on things of a kind.
fn words_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "table" => &["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "MAINTAIN"],
        "column" | "any_column" => &["SELECT", "INSERT", "UPDATE", "REFERENCES"],
        "sequence" => &["USAGE", "SELECT", "UPDATE"],
        "database" => &["CREATE", "TEMPORARY", "TEMP", "CONNECT"],
        "schema" => &["CREATE", "USAGE"],
        "function" => &["EXECUTE"],
        "tablespace" => &["CREATE"],
        "largeobject" => &["SELECT", "UPDATE"],
        "parameter" => &["SET", "ALTER SYSTEM"],
        _ => &["USAGE"],
    }
}

/// The words of a text that asks for rights, each with whether the right is to be grantable.
fn asked_words(kind: &str, text: &str) -> Result<Vec<(String, bool)>> {
    let one = |part: &str| {
        let part = part.trim();
        let upper = part.to_ascii_uppercase();
        let (name, option) = match upper.strip_suffix("WITH GRANT OPTION") {
            Some(name) => (name.trim_end().to_string(), true),
            None => (upper, false),
        };
        match words_of(kind).contains(&name.as_str()) {
            true => Ok((name, option)),
            false => Err(ExecError::raised("22023", format!("unrecognized privilege type: \"{part}\""))),
        }
    };
    text.split(',').map(one).collect()
}

/// The rights that a text asks for, each with whether it is to be grantable: one of them is enough.
fn asked(kind: &str, text: &str) -> Result<Vec<(Rights, bool)>> {
    let words = asked_words(kind, text)?.into_iter();
    Ok(words.filter_map(|(name, option)| Some((Rights::named(&name)?, option))).collect())
}

/// `has_KIND_privilege([role,] object, [column,] rights)`.
pub(super) fn has_right(
    views: &Views<'_>,
    catalog: &CatalogSnapshot,
    kind: &str,
    values: &[Value],
) -> Result<Value> {
    let own = if kind == "column" { 3 } else { 2 };
    if let ("parameter", Some(Value::Text(wanted))) = (kind, values.last()) {
        asked_words(kind, wanted)?;
    }
    let (role, rest) = match values.len() > own {
        true => (role_of(catalog, &values[0])?, &values[1..]),
        false => (views.services.current_role(), values),
    };
    let (Some(object), Some(Value::Text(wanted))) = (rest.first(), rest.last()) else {
        return Ok(Value::Null);
    };
    if kind == "parameter" {
        let name = object.as_str().unwrap_or_default().to_ascii_lowercase();
        let superuser = role.0 != 0 && catalog.is_superuser(role);
        let Some(number) = crate::settings::parameter_number(&name) else {
            return Ok(Value::Bool(superuser));
        };
        let object = Object::Parameter(Oid(number));
        let may = |(right, option): &(Rights, bool)| match option {
            true => role.0 != 0 && catalog.grantable(role, object).has(*right),
            false => catalog.rights(role, object).has(*right),
        };
        return Ok(Value::Bool(asked(kind, wanted)?.iter().any(may)));
    }
    match kind {
        "tablespace" => return tablespace_right(catalog, role, object, wanted),
        "server" | "foreign_data_wrapper" | "largeobject" => {
            return absent_right(catalog, role, kind, object, wanted);
        }
        // What a sequence is asked about is read before its name.
        "sequence" => {
            asked(kind, wanted)?;
        }
        _ => {}
    }
    let member = &views.services.instance.member;
    let number = match object {
        Value::Text(name) => match kind {
            "table" | "any_column" | "column" | "sequence" => super::names::relation_number(catalog, name)?,
            // a name as it is, not as a statement has it
            "schema" => references::parse_reference(
                SystemType::Regnamespace,
                &verso_exec::functions::quote_ident(name),
            )?,
            "function" => references::parse_reference(SystemType::Regprocedure, name)?,
            "type" => references::parse_reference(SystemType::Regtype, name)?,
            "language" => match &**name {
                "sql" => 14,
                "plpgsql" => 13_500,
                "c" => 13,
                "internal" => 12,
                name => {
                    return Err(ExecError::raised("42704", format!("language \"{name}\" does not exist")));
                }
            },
            _ if name == member.name() => member.number().into(),
            _ => {
                let other = member.cluster().others(member).into_iter().find(|entry| entry.name == *name);
                let missing = || ExecError::raised("3D000", format!("database \"{name}\" does not exist"));
                other.ok_or_else(missing)?.number.into()
            }
        },
        other => other.as_i64().unwrap_or_default(),
    };
    let oid = Oid(u32::try_from(number).unwrap_or_default());
    if let ("column", Some(name)) = (kind, rest.get(1).filter(|name| name.as_str().is_some())) {
        column_of(catalog, oid, name)?;
    }
    let wanted = asked(kind, wanted)?;
    let is_relation = || catalog.relation_by_oid(oid).is_some() || SystemRelation::by_oid(oid).is_some();
    let (object, exists) = match kind {
        "table" | "any_column" | "column" | "sequence" => (Object::Relation(oid), is_relation()),
        "schema" => {
            let known = oid.0 == super::relations::INFORMATION_SCHEMA_OID
                || catalog.schemas().any(|schema| schema.oid == oid);
            (Object::Schema(oid), known)
        }
        "function" => (Object::Function(oid), oid.is_system() || catalog.function_by_oid(oid).is_some()),
        "type" => (Object::Type(oid), oid.is_system() || catalog.user_type(oid).is_some()),
        "language" => (Object::Language(verso_catalog::rights::language_in_lists(oid)), true),
        // Rights on another database are known there only, but for those who may everything.
        _ if oid.0 != member.number() => {
            return Ok(if catalog.is_superuser(role) { Value::Bool(true) } else { Value::Null });
        }
        _ => (Object::Database, true),
    };
    if !exists {
        // Superusers are not asked what there is, but of relations.
        let is_relation = matches!(object, Object::Relation(_));
        let may = !is_relation && role.0 != 0 && catalog.is_superuser(role);
        return Ok(if may { Value::Bool(true) } else { Value::Null });
    }
    if kind == "sequence" && !matches!(catalog.relation_by_oid(oid), Some(Relation::Sequence(_))) {
        let name = catalog.relation_by_oid(oid).map_or_else(String::new, |one| one.name().to_string());
        return Err(ExecError::raised("42809", format!("\"{name}\" is not a sequence")));
    }
    let column = match (kind, rest.get(1)) {
        ("column", Some(column)) => match column_of(catalog, oid, column)? {
            Some(column) => Some(column),
            None => return Ok(Value::Null),
        },
        _ => None,
    };
    let may = |(right, option): &(Rights, bool)| {
        if *option {
            let grantable = |object| role.0 != 0 && catalog.grantable(role, object).has(*right);
            return grantable(object) || column.is_some_and(|column| grantable(Object::Column(oid, column)));
        }
        match kind {
            "column" => catalog.may_columns(role, oid, *right, &[column.unwrap_or_default()]),
            "any_column" => catalog.may_columns(role, oid, *right, &[]),
            _ => catalog.rights(role, object).has(*right),
        }
    };
    Ok(Value::Bool(wanted.iter().any(may)))
}

/// Of these kinds there is nothing: no name means one, and no number is one's. A superuser may do everything with it.
fn absent_right(
    catalog: &CatalogSnapshot,
    role: Oid,
    kind: &str,
    object: &Value,
    wanted: &str,
) -> Result<Value> {
    if let Value::Text(name) = object {
        let kind = if kind == "server" { "server" } else { "foreign-data wrapper" };
        return Err(ExecError::raised("42704", format!("{kind} \"{name}\" does not exist")));
    }
    asked_words(kind, wanted)?;
    let may = kind != "largeobject" && role.0 != 0 && catalog.is_superuser(role);
    Ok(if may { Value::Bool(true) } else { Value::Null })
}

/// There are two tablespaces.
fn tablespace_right(catalog: &CatalogSnapshot, role: Oid, object: &Value, wanted: &str) -> Result<Value> {
    let known = match object {
        Value::Text(name) if !matches!(&**name, "pg_default" | "pg_global") => {
            return Err(ExecError::raised("42704", format!("tablespace \"{name}\" does not exist")));
        }
        Value::Text(_) => true,
        other => matches!(other.as_i64(), Some(1663 | 1664)),
    };
    let wanted = asked("tablespace", wanted)?;
    if !known {
        let superuser = role.0 != 0 && catalog.is_superuser(role);
        return Ok(if superuser { Value::Bool(true) } else { Value::Null });
    }
    let number = match object {
        Value::Text(name) => super::objects::tablespace(name),
        other => other.as_i64().and_then(|oid| u32::try_from(oid).ok()),
    };
    let object = Object::Tablespace(Oid(number.unwrap_or_default()));
    let may = |(right, option): &(Rights, bool)| match option {
        true => role.0 != 0 && catalog.grantable(role, object).has(*right),
        false => catalog.rights(role, object).has(*right),
    };
    Ok(Value::Bool(wanted.iter().any(may)))
}

/// The number of a column by its name, or as it is given.
fn column_of(catalog: &CatalogSnapshot, relation: Oid, column: &Value) -> Result<Option<u16>> {
    // As clients see it, not as its rows are stored.
    if let Some(system) = SystemRelation::by_oid(relation) {
        return column_of_system(system, column);
    }
    let columns = match catalog.relation_by_oid(relation) {
        Some(Relation::Table(table)) => table.columns.as_slice(),
        Some(Relation::View(view)) => view.columns.as_slice(),
        _ => return Ok(Some(0)),
    };
    match column {
        Value::Text(name) => {
            let has_records = matches!(catalog.relation_by_oid(relation), Some(Relation::Table(_)));
            if has_records && SYSTEM_COLUMNS.contains(&&**name) {
                return Ok(Some(0));
            }
            let found = columns.iter().find(|known| *known.name == **name);
            let missing = || {
                let of =
                    catalog.relation_by_oid(relation).map_or_else(String::new, |one| one.name().to_string());
                ExecError::raised("42703", format!("column \"{name}\" of relation \"{of}\" does not exist"))
            };
            Ok(Some(found.ok_or_else(missing)?.id))
        }
        other => {
            let id = other.as_i64().and_then(|id| u16::try_from(id).ok());
            Ok(id.filter(|id| columns.iter().any(|known| known.id == *id)))
        }
    }
}

/// Columns that every record has: the rights on the whole table count.
const SYSTEM_COLUMNS: [&str; 6] = ["ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"];

/// The same of a relation of the system's.
fn column_of_system(relation: &SystemRelation, column: &Value) -> Result<Option<u16>> {
    let number = |at: usize| u16::try_from(at + 1).ok();
    match column {
        Value::Text(name) if relation.kind == 'r' && SYSTEM_COLUMNS.contains(&&**name) => Ok(Some(0)),
        Value::Text(name) => match relation.column(name) {
            Some(at) => Ok(number(at)),
            None => {
                let text = format!("column \"{name}\" of relation \"{}\" does not exist", relation.name);
                Err(ExecError::raised("42703", text))
            }
        },
        other => {
            let known = |id: &u16| (1..=relation.columns.len()).contains(&usize::from(*id));
            Ok(other.as_i64().and_then(|id| u16::try_from(id).ok()).filter(known))
        }
    }
}

/// `pg_has_role([role,] role, kind)`.
pub(super) fn has_role(views: &Views<'_>, catalog: &CatalogSnapshot, values: &[Value]) -> Result<Value> {
    let (role, rest) = match values.len() > 2 {
        true => (role_of(catalog, &values[0])?, &values[1..]),
        false => (views.services.current_role(), values),
    };
    let (Some(of), Some(Value::Text(kinds))) = (rest.first(), rest.last()) else { return Ok(Value::Null) };
    let of = role_of(catalog, of)?;
    for kind in kinds.split(',') {
        let kind = kind.trim().to_ascii_uppercase();
        let holds = match kind.as_str() {
            "USAGE" => catalog.inherits(role, of),
            "MEMBER" => catalog.is_member(role, of),
            "SET" => catalog.may_become(role, of),
            _ if kind.ends_with("WITH GRANT OPTION") || kind.ends_with("WITH ADMIN OPTION") => {
                catalog.administers(role, of)
            }
            _ => {
                return Err(ExecError::raised("22023", format!("unrecognized privilege type: \"{kinds}\"")));
            }
        };
        if holds {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// `acldefault(kind, owner)`: the rights on something for which nothing was granted.
pub(super) fn default_rights(catalog: &CatalogSnapshot, kind: &str, owner: Oid) -> Result<Value> {
    let letter = kind.chars().next();
    // Of these there are none, so the catalog knows no rights of theirs.
    let rights = match letter {
        Some('L') => "rw",
        Some('p') => "sA",
        Some('t') => "C",
        Some('F' | 'S') => "U",
        _ => "",
    };
    if !rights.is_empty() {
        let name = quoted_role(catalog, owner);
        let item = Value::text(&format!("{name}={rights}/{name}"));
        return Ok(Value::Array(std::iter::once(item).collect()));
    }
    match letter.and_then(RightsOf::of_letter) {
        Some(kind) => Ok(acl_value(catalog, &Acl::default_of(kind, owner))),
        None if letter == Some('c') => Ok(Value::Array(Array::default())),
        None => {
            let text = format!("unrecognized object type abbreviation: {}", letter.unwrap_or_default());
            Err(ExecError::raised("XX000", text))
        }
    }
}
