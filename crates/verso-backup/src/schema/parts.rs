//! Parts of statements: names, tables, sequences, roles, comments, settings.

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{
    CatalogSnapshot, ColumnDef, ConstraintDef, ConstraintKind, FunctionDef, OWNER, Oid, Relation, RelationId,
    Role, SequenceBounds, TableDef, is_temporary,
};
use verso_exec::functions::quote_ident;
use verso_types::{Identity, SqlType, TimeStyle, Value, format_text};

use super::needs::Finder;
use super::objects::Later;
use super::types::type_text;
use super::{Dialect, Maker};
use crate::archive::contents::{Kind, Step};

/// A name, quoted if it must be.
pub(super) fn name(name: &str) -> String {
    quote_ident(name)
}

/// A name with its schema.
pub(super) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quote_ident(schema), quote_ident(name))
}

/// A text as SQL.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) fn step(kind: Kind, sql: String) -> Step {
    Step { kind, table: None, other: None, sql }
}

/// ` AS integer START WITH 1 …`, without the type where it follows from the column.
pub(super) fn bounds(bounds: &SequenceBounds, with_type: bool) -> String {
    let SequenceBounds { ty, start, increment, min, max, cycle, cache } = bounds;
    let ty = if with_type { format!(" AS {ty}") } else { String::new() };
    let cycle = if *cycle { " CYCLE" } else { "" };
    let cache = if *cache > 1 { format!(" CACHE {cache}") } else { String::new() };
    format!("{ty} START WITH {start} INCREMENT BY {increment} MINVALUE {min} MAXVALUE {max}{cache}{cycle}")
}

/// The word of what is not logged.
pub(super) fn unlogged(unlogged: bool) -> &'static str {
    if unlogged { "UNLOGGED " } else { "" }
}

/// CREATE TABLE: columns, defaults, NOT NULL and CHECK; keys come when the rows are there.
pub(super) fn table_text(maker: &Maker<'_, '_>, table: &TableDef, later: &Later) -> String {
    let mut parts: Vec<String> =
        table.shown().iter().map(|column| column_text(maker, table, column, later)).collect();
    for constraint in &table.constraints {
        if let (ConstraintKind::Check { expression }, true) = (&constraint.kind, constraint.validated)
            && !later.has_check(constraint.oid)
        {
            parts.push(check_text(&maker.finder, constraint, expression));
        }
    }
    let unlogged = unlogged(table.unlogged);
    let mut text = format!("CREATE {unlogged}TABLE {} (", qualified(&table.schema, &table.name));
    text.push_str(if parts.is_empty() { "" } else { "\n    " });
    text.push_str(&parts.join(",\n    "));
    text.push_str(if parts.is_empty() { ")" } else { "\n)" });
    text.push_str(&super::partitions::divided_by(&maker.finder, table));
    text.push_str(&options_text(table, maker.source.dialect));
    text
}

/// `CONSTRAINT c CHECK (…)`.
pub(super) fn check_text(finder: &Finder, constraint: &ConstraintDef, expression: &str) -> String {
    let only = if constraint.no_inherit { " NO INHERIT" } else { "" };
    format!(
        "CONSTRAINT {} CHECK ({}){only}",
        name(&constraint.name),
        finder.text(constraint.table, expression)
    )
}

/// ` WITH (…)`, where there is something to say.
pub(super) fn options_text(table: &TableDef, dialect: Dialect) -> String {
    let known = |option: &str| {
        let of_postgres = ["fillfactor", "parallel_workers", "toast_tuple_target"];
        dialect == Dialect::Verso || of_postgres.contains(&option) || option.starts_with("autovacuum")
    };
    let options: Vec<String> = table
        .options
        .shown()
        .filter(|(option, _)| known(option))
        .map(|(option, value)| format!("{} = {}", name(option), literal(value)))
        .collect();
    match options.is_empty() {
        true => String::new(),
        false => format!(" WITH ({})", options.join(", ")),
    }
}

/// ` COLLATE name` of a column or domain that was declared with a collation.
pub(super) fn collate(declared: &SqlType) -> String {
    match declared {
        SqlType::Collated(collated) => {
            let collation = &collated.collation;
            match &*collation.schema {
                "pg_catalog" => format!(" COLLATE {}", name(&collation.name)),
                schema => format!(" COLLATE {}", qualified(schema, &collation.name)),
            }
        }
        _ => String::new(),
    }
}

/// Which kind of generated column it is.
pub(super) fn kind_of_generated(column: &ColumnDef) -> &'static str {
    if column.is_virtual { "VIRTUAL" } else { "STORED" }
}

fn column_text(maker: &Maker<'_, '_>, table: &TableDef, column: &ColumnDef, later: &Later) -> String {
    let catalog = maker.source.catalog;
    let mut text =
        format!("{} {}{}", name(&column.name), type_text(column.declared()), collate(column.declared()));
    if column.identity.is_some() && table.partition_of.is_some() {
        // Its numbers are the whole table's, and come with it.
    } else if let Some(identity) = column.identity {
        let always = if identity == Identity::Always { "ALWAYS" } else { "BY DEFAULT" };
        text.push_str(&format!(" GENERATED {always} AS IDENTITY"));
        if let Some(sequence) = catalog.identity_sequence(table, column) {
            let place = qualified(&sequence.schema, &sequence.name);
            text.push_str(&format!(" (SEQUENCE NAME {place}{})", bounds(&sequence.bounds, false)));
        }
    } else if column.generated {
        let expression = maker.finder.text(table.oid, column.default.as_deref().unwrap_or("NULL"));
        text.push_str(&format!(" GENERATED ALWAYS AS ({expression}) {}", kind_of_generated(column)));
    } else if let Some(default) = column.default.as_deref().filter(|_| !later.has_default(column.id)) {
        text.push_str(&format!(" DEFAULT {}", maker.finder.text(table.oid, default)));
    }
    // One that some rows may break comes behind them.
    if column.not_null && table.not_null_of(column.id).is_none_or(|constraint| constraint.validated) {
        // a name that is not the usual one
        let own = |constraint: &&Arc<ConstraintDef>| {
            constraint.kind == ConstraintKind::NotNull { column: column.id }
                && (*constraint.name != *format!("{}_{}_not_null", table.name, column.name)
                    || maker.finder.is_shared_name(&table.schema, &constraint.name))
        };
        if let Some(constraint) = table.constraints.iter().find(own) {
            text.push_str(&format!(" CONSTRAINT {}", name(&constraint.name)));
        }
        text.push_str(" NOT NULL");
        if table.not_null_of(column.id).is_some_and(|constraint| constraint.no_inherit) {
            text.push_str(" NO INHERIT");
        }
    }
    text
}

/// Roles; the owner of every database is there already and may have got a password.
pub(super) fn role_steps(roles: &[Role]) -> Vec<Step> {
    let text = |role: &Role| {
        let word = |on: bool, word: &str| if on { word.to_owned() } else { format!("NO{word}") };
        let mut text = format!(
            "{} ROLE {} {} {} {}",
            if &*role.name == OWNER { "ALTER" } else { "CREATE" },
            name(&role.name),
            word(role.superuser, "SUPERUSER"),
            word(role.create_role, "CREATEROLE"),
            word(role.login, "LOGIN")
        );
        text.push_str(if role.create_db { " CREATEDB" } else { "" });
        text.push_str(if role.inherit { "" } else { " NOINHERIT" });
        text.push_str(if role.replication { " REPLICATION" } else { "" });
        text.push_str(if role.bypass_rls { " BYPASSRLS" } else { "" });
        if role.connection_limit >= 0 {
            text.push_str(&format!(" CONNECTION LIMIT {}", role.connection_limit));
        }
        if let Some(password) = &role.password {
            text.push_str(&format!(" PASSWORD {}", literal(password)));
        }
        if let Some(until) = role.valid_until {
            let mut shown = String::new();
            format_text(&Value::Timestamptz(until), &SqlType::Timestamptz(None), &TimeStyle::UTC, &mut shown);
            text.push_str(&format!(" VALID UNTIL {}", literal(&shown)));
        }
        text
    };
    // Those of the system are in every database.
    let made = |role: &&Role| !role.oid.is_system() || &*role.name == OWNER;
    let plain = |role: &&Role| {
        made(role) && (&*role.name != OWNER || role.password.is_some() || role.valid_until.is_some())
    };
    roles.iter().filter(plain).map(|role| step(Kind::Role, text(role))).collect()
}

/// The value of a setting as SET takes it: a list of names is one already.
pub(super) fn setting_value(setting: &str, value: &str) -> String {
    if setting == "search_path" && !value.is_empty() { value.to_owned() } else { literal(value) }
}

/// Settings of the database. Where the log is archived belongs to the machine, not to what is saved.
pub(super) fn setting_steps(settings: &[(String, String)]) -> Vec<Step> {
    let own =
        |(setting, _): &&(String, String)| !setting.starts_with("verso.") && setting != "archive_target";
    let text = |(setting, value): &(String, String)| {
        format!("ALTER DATABASE SET {setting} = {}", setting_value(setting, value))
    };
    settings.iter().filter(own).map(|setting| step(Kind::Setting, text(setting))).collect()
}

/// What is saved, where tables were chosen.
pub(super) struct Chosen<'m> {
    pub tables: &'m HashSet<Oid>,
    /// The types and collations that they need.
    pub made: &'m HashSet<Oid>,
}

/// COMMENT ON; of these tables and what they need only, if some were chosen.
pub(super) fn comments(catalog: &CatalogSnapshot, only: Option<&Chosen<'_>>, dialect: Dialect) -> Vec<Step> {
    let target = |(key, text)| Some((commented(catalog, only, dialect, key)?, text));
    let mut all: Vec<(String, &Arc<str>)> = catalog.comments().filter_map(target).collect();
    // Numbers of objects are others in a database that is restored; names are the same.
    all.sort();
    let comment = |(target, text): (String, &Arc<str>)| {
        step(Kind::Comment, format!("COMMENT ON {target} IS {}", literal(text)))
    };
    all.into_iter().map(comment).collect()
}

/// The number of the extension that every database has.
const PLPGSQL: Oid = Oid(13_494);

/// What a comment is on; none for what is not restored.
fn commented(
    catalog: &CatalogSnapshot,
    only: Option<&Chosen<'_>>,
    dialect: Dialect,
    (class, object, column): (Oid, Oid, i32),
) -> Option<String> {
    let is = |relation: &str| RelationId::find(PG_CATALOG, relation).is_some_and(|it| it.get().oid == class);
    let of_table = |table: Oid| only.is_none_or(|only| only.tables.contains(&table));
    let is_made = |oid: Oid| only.is_none_or(|only| only.made.contains(&oid));
    if is("pg_class")
        && let Some(ty) = catalog.types().find(|ty| ty.oid == object)
    {
        let SqlType::Row(row) = &ty.ty else { return None };
        let place = u16::try_from(column).ok().and_then(|id| ty.field_with_id(id));
        let field = place.and_then(|at| row.fields.get(at));
        let shown = is_made(ty.oid) && !is_temporary(&ty.schema);
        let (field, _) = field.filter(|_| shown)?;
        return Some(format!("COLUMN {}.{}", qualified(&ty.schema, &ty.name), name(field)));
    }
    if is("pg_class") {
        let relation = catalog.relation_by_oid(object)?;
        if is_temporary(relation.schema()) {
            return None;
        }
        let (word, columns, table): (_, &[ColumnDef], _) = match relation {
            Relation::Table(table) if table.materialized.is_some() => {
                ("MATERIALIZED VIEW", table.shown(), None)
            }
            Relation::Table(table) => ("TABLE", table.shown(), Some(table.oid)),
            Relation::View(view) => ("VIEW", &view.columns, None),
            Relation::Sequence(sequence) => ("SEQUENCE", &[], sequence.owned_by.map(|owner| owner.table)),
            Relation::Index(index) => ("INDEX", &[], Some(index.table)),
        };
        if !table.map_or(only.is_none(), of_table) {
            return None;
        }
        let place = qualified(relation.schema(), relation.name());
        if column == 0 {
            return Some(format!("{word} {place}"));
        }
        let column = columns.iter().find(|known| i32::from(known.id) == column)?;
        return Some(format!("COLUMN {place}.{}", name(&column.name)));
    }
    if is("pg_constraint") {
        if let Some((domain, target)) = domain_constraint(catalog, object) {
            return is_made(domain).then_some(target);
        }
        let mut tables = catalog.tables().filter(|table| of_table(table.oid));
        return tables.find_map(|table| {
            let constraint = table.constraints.iter().find(|constraint| constraint.oid == object)?;
            // A foreign key to a table that is not saved may be left out of what is restored.
            if let ConstraintKind::Foreign(foreign) = &constraint.kind
                && !of_table(foreign.referenced)
            {
                return None;
            }
            let place = qualified(&table.schema, &table.name);
            Some(format!("CONSTRAINT {} ON {place}", name(&constraint.name)))
        });
    }
    if is("pg_statistic_ext") {
        let one = catalog.statistics_by_oid(object).filter(|one| of_table(one.table))?;
        let table = catalog.table_by_oid(one.table).filter(|_| !is_temporary(&one.schema))?;
        let shown = only.is_none() || table.schema == one.schema;
        return shown.then(|| format!("STATISTICS {}", qualified(&one.schema, &one.name)));
    }
    if is("pg_trigger") {
        let mut relations = catalog.relations().filter(|relation| of_table(relation.oid()));
        return relations.find_map(|relation| {
            let trigger = relation.triggers().iter().find(|trigger| trigger.oid == object)?;
            let place = qualified(relation.schema(), relation.name());
            Some(format!("TRIGGER {} ON {place}", name(&trigger.name)))
        });
    }
    if is("pg_type") {
        let ty = catalog.types().find(|ty| ty.oid == object && is_made(ty.oid))?;
        let word = if matches!(ty.ty, SqlType::Domain(_)) { "DOMAIN" } else { "TYPE" };
        return (!is_temporary(&ty.schema)).then(|| format!("{word} {}", qualified(&ty.schema, &ty.name)));
    }
    if is("pg_collation") {
        let one = catalog.collations().into_iter().find(|one| one.oid() == object && is_made(one.oid()))?;
        return Some(format!("COLLATION {}", qualified(&one.collation.schema, &one.collation.name)));
    }
    if only.is_some() {
        return None;
    }
    if is("pg_namespace") {
        let schema = catalog.schemas().find(|schema| schema.oid == object)?;
        return Some(format!("SCHEMA {}", name(&schema.name)));
    }
    if is("pg_proc") {
        let function: &FunctionDef = catalog.all_functions().find(|function| function.oid == object)?;
        let word = match () {
            () if function.is_aggregate() => "AGGREGATE",
            () if function.is_procedure() => "PROCEDURE",
            () => "FUNCTION",
        };
        let types: Vec<String> =
            function.inputs().map(|arg| arg.ty.without_modifiers().to_string()).collect();
        let place = qualified(&function.schema, &function.name);
        let types = if types.is_empty() && function.is_aggregate() { vec!["*".to_owned()] } else { types };
        return Some(format!("{word} {place}({})", types.join(", ")));
    }
    // A script for PostgreSQL is run in a database of another name.
    if is("pg_database") && dialect == Dialect::Verso {
        return Some(format!("DATABASE {}", name("verso")));
    }
    // Roles are the whole server's there.
    if is("pg_authid") && dialect == Dialect::Verso {
        let role = catalog.role_by_oid(object)?;
        return Some(format!("ROLE {}", name(&role.name)));
    }
    // PostgreSQL's tablespaces are its administrator's.
    if is("pg_tablespace") && dialect == Dialect::Verso {
        let known = if object == Oid(1663) { "pg_default" } else { "pg_global" };
        return Some(format!("TABLESPACE {known}"));
    }
    if is("pg_extension") {
        if object == PLPGSQL {
            return Some("EXTENSION plpgsql".to_string());
        }
        let extension = catalog.extensions().iter().find(|one| one.oid == object)?;
        return Some(format!("EXTENSION {}", name(&extension.name)));
    }
    if is("pg_operator") {
        let operator = catalog.operator_by_oid(object)?;
        return Some(format!("OPERATOR {}", super::made::operator_name(catalog, operator)?));
    }
    if is("pg_cast") {
        let cast = catalog.cast_by_oid(object)?;
        return Some(format!("CAST {}", super::made::cast_name(catalog, cast)?));
    }
    None
}

/// A constraint of a domain: the domain, and how COMMENT ON names it.
fn domain_constraint(catalog: &CatalogSnapshot, object: Oid) -> Option<(Oid, String)> {
    catalog.types().find_map(|ty| {
        let SqlType::Domain(domain) = &ty.ty else { return None };
        let check = domain.checks.iter().find(|check| check.oid == object.0).map(|check| &check.name);
        let demand = (domain.not_null && domain.not_null_oid == object.0).then_some(&domain.not_null_name);
        let constraint = name(check.or(demand)?);
        let target = format!("CONSTRAINT {constraint} ON DOMAIN {}", qualified(&ty.schema, &ty.name));
        Some((ty.oid, target))
    })
}
