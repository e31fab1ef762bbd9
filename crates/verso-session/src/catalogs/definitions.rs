//! Definitions as SQL text: `pg_get_constraintdef`, `pg_get_indexdef`, `pg_get_functiondef` and their parts.

use std::sync::Arc;

use verso_catalog::{
    ArgMode, CatalogSnapshot, ColumnDef, ConstraintDef, ConstraintKind, FunctionArg, FunctionDef,
    FunctionReturn, IndexDef, Oid, ParallelSafety, ReferentialAction, Relation, TableDef, TriggerDef,
    ViewDef, Volatility, kept,
};
use verso_exec::functions::quote_ident;
use verso_exec::plan::{ExprKind, TypedExpr};
use verso_planner::bind::Binder;
use verso_planner::deparse;
use verso_types::DomainType;

use super::names::relation_name;
use crate::views::Views;

/// The constraint with that row, and its table.
pub(super) fn constraint(
    catalog: &CatalogSnapshot,
    oid: Oid,
) -> Option<(&Arc<TableDef>, &Arc<ConstraintDef>)> {
    let table = catalog.owner_of_part(oid)?.as_table()?;
    Some((table, table.constraints.iter().find(|constraint| constraint.oid == oid)?))
}

/// The constraint trigger with that row in `pg_constraint`.
fn constraint_trigger(catalog: &CatalogSnapshot, oid: Oid) -> Option<&Arc<TriggerDef>> {
    let mut triggers = catalog.owner_of_part(oid)?.as_table()?.triggers.iter();
    triggers.find(|trigger| trigger.oid == oid && trigger.constraint)
}

pub(super) fn binder<'b>(views: &'b Views<'_>, catalog: &'b Arc<CatalogSnapshot>) -> Binder<'b> {
    Binder::new(catalog, &views.services.settings.time_zone, &[])
}

/// Whether rows of a view can be changed.
pub(super) fn is_updatable(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, view: &Arc<ViewDef>) -> bool {
    binder(views, catalog).updatable(view).is_ok()
}

/// Whether a column can be set through a view.
pub(super) fn is_column_updatable(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    view: &Arc<ViewDef>,
    column: &str,
) -> bool {
    binder(views, catalog).is_column_updatable(view, column)
}

/// A column's default as SQL; as it stands in the catalog where it cannot be bound.
pub(super) fn default_text(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &Arc<TableDef>,
    column: &ColumnDef,
) -> Option<String> {
    let stored = column.default.as_deref()?;
    if column.generated {
        let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
        let part = deparse::Part::Value(&column.ty);
        if let Some(text) = deparse::over_table(&binder(views, catalog), stored, table, part, false) {
            return Some(text);
        }
        let bound = binder(views, catalog).stored_generation(column, table);
        return Some(bound.map_or_else(
            |_| kept::with_names(catalog, stored),
            |bound| deparse::expression(&bound, &names, false),
        ));
    }
    let part = deparse::Part::Value(&column.ty);
    if let Some(text) = deparse::over_table(&binder(views, catalog), stored, table, part, false) {
        return Some(text);
    }
    if let Some(number) = number_text(views, catalog, stored) {
        return Some(number);
    }
    let bound = binder(views, catalog).stored_default(column);
    Some(
        bound.map_or_else(
            |_| kept::with_names(catalog, stored),
            |bound| deparse::expression(&bound, &[], false),
        ),
    )
}

/// The default of a domain as SQL.
pub(super) fn domain_default(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    domain: &DomainType,
) -> Option<String> {
    let column =
        ColumnDef { default: Some(domain.default.clone()?), ..ColumnDef::new("", 1, domain.base.erased()) };
    let nothing = Arc::new(TableDef::new(Oid(0), "", "", verso_storage::ObjectId(0), Vec::new()));
    default_text(views, catalog, &nothing, &column)
}

/// A number as it was given: the type of the column does not change it.
fn number_text(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, stored: &str) -> Option<String> {
    let parsed = verso_parser::parse_expression(stored).ok()?;
    let nothing = TableDef::new(Oid(0), "", "", verso_storage::ObjectId(0), Vec::new());
    let bound = binder(views, catalog).conversion(&parsed, &nothing, &verso_types::SqlType::Text).ok()?;
    match &bound.kind {
        ExprKind::Literal(_) if bound.ty.is_number() => Some(deparse::expression(&bound, &[], false)),
        ExprKind::Call { function, args } => match (function.operator, args.as_slice()) {
            (Some("-"), [arg]) if matches!(arg.kind, ExprKind::Literal(_)) => {
                let digits = deparse::expression(arg, &[], false);
                Some(format!("'-{digits}'::{}", arg.ty.without_modifiers()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A CHECK's condition as SQL, and the numbers of its columns.
pub(super) fn check_text(
    views: &Views<'_>,
    table: &Arc<TableDef>,
    name: &str,
    pretty: bool,
) -> Option<(String, Vec<u16>)> {
    // What a condition says is not asked of the rights of the role that looks at it.
    let catalog = views.services.known_catalog()?.with_role(None);
    let checks = binder(views, &catalog).checks(table).ok()?;
    let check = checks.into_iter().find(|check| &*check.name == name)?;
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    let mut columns = Vec::new();
    columns_of(&check.condition, table, &mut columns);
    let stored = table.constraints.iter().find_map(|constraint| match &constraint.kind {
        ConstraintKind::Check { expression } if &*constraint.name == name => Some(expression),
        _ => None,
    })?;
    let part = deparse::Part::Value(&verso_types::SqlType::Bool);
    let text = deparse::over_table(&binder(views, &catalog), stored, table, part, pretty);
    Some((text.unwrap_or_else(|| deparse::expression(&check.condition, &names, pretty)), columns))
}

/// The numbers of the columns that an expression reads, in the order of their first use.
fn columns_of(expr: &TypedExpr, table: &TableDef, columns: &mut Vec<u16>) {
    expr.any(&mut |part| {
        if let ExprKind::Column(index) = part.kind
            && let Some(column) = table.columns.get(index)
            && !columns.contains(&column.id)
        {
            columns.push(column.id);
        }
        false
    });
}

/// Names of columns by their numbers.
fn column_list(table: &TableDef, columns: &[u16]) -> String {
    let name = |id: &u16| table.column_with_id(*id).map(|at| quote_ident(&table.columns[at].name));
    columns.iter().filter_map(name).collect::<Vec<_>>().join(", ")
}

/// `pg_get_constraintdef`.
pub(super) fn constraint_text(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    oid: Oid,
    pretty: bool,
) -> Option<String> {
    let Some((table, constraint)) = constraint(catalog, oid) else {
        if let Some(trigger) = constraint_trigger(catalog, oid) {
            let deferrable = if trigger.deferrable { " DEFERRABLE" } else { "" };
            let deferred = if trigger.initially_deferred { " INITIALLY DEFERRED" } else { "" };
            return Some(format!("TRIGGER{deferrable}{deferred}"));
        }
        return super::domains::constraint_text(views, catalog, oid, pretty);
    };
    let mut text = match &constraint.kind {
        ConstraintKind::Check { expression } => {
            let condition = check_text(views, table, &constraint.name, pretty);
            let condition = condition.map_or_else(|| kept::with_names(catalog, expression), |(text, _)| text);
            format!("CHECK ({condition})")
        }
        ConstraintKind::NotNull { column } => format!("NOT NULL {}", column_list(table, &[*column])),
        ConstraintKind::Unique { columns, index, primary } => {
            let distinct = table.index(*index).is_none_or(|index| index.nulls_distinct);
            let word = match (primary, distinct) {
                (true, _) => "PRIMARY KEY",
                (false, true) => "UNIQUE",
                (false, false) => "UNIQUE NULLS NOT DISTINCT",
            };
            let overlaps = match table.index(*index).is_some_and(|index| index.is_temporal()) {
                true => " WITHOUT OVERLAPS",
                false => "",
            };
            let include = table.index(*index).map(|index| index.include.as_slice()).unwrap_or_default();
            let include = match include.is_empty() {
                true => String::new(),
                false => format!(" INCLUDE ({})", column_list(table, include)),
            };
            format!("{word} ({}{overlaps}){include}", column_list(table, columns))
        }
        ConstraintKind::Exclude { index, .. } => {
            let index = table.index(*index)?;
            format!("EXCLUDE {}", index_body(views, catalog, table, index, pretty, true)?)
        }
        ConstraintKind::Foreign(foreign) => {
            let other = catalog.table_by_oid(foreign.referenced)?;
            let list = |table: &TableDef, columns: &[u16]| match (foreign.period, columns.split_last()) {
                (true, Some((period, rest))) => {
                    format!("{}, PERIOD {}", column_list(table, rest), column_list(table, &[*period]))
                }
                _ => column_list(table, columns),
            };
            let mut text = format!(
                "FOREIGN KEY ({}) REFERENCES {}({})",
                list(table, &foreign.columns),
                relation_name(catalog, other.oid)?,
                list(&other, &foreign.referenced_columns)
            );
            if foreign.match_full {
                text.push_str(" MATCH FULL");
            }
            for (event, action) in [("UPDATE", foreign.on_update), ("DELETE", foreign.on_delete)] {
                if action != ReferentialAction::NoAction {
                    text.push_str(&format!(" ON {event} {}", action.as_str()));
                }
            }
            if !foreign.delete_columns.is_empty() {
                text.push_str(&format!(" ({})", column_list(table, &foreign.delete_columns)));
            }
            text
        }
    };
    if constraint.no_inherit {
        text.push_str(" NO INHERIT");
    }
    if constraint.deferrable {
        text.push_str(" DEFERRABLE");
    }
    if constraint.initially_deferred {
        text.push_str(" INITIALLY DEFERRED");
    }
    if !constraint.enforced {
        text.push_str(" NOT ENFORCED");
    } else if !constraint.validated {
        text.push_str(" NOT VALID");
    }
    Some(text)
}

/// `pg_get_indexdef`: the whole, or a column of it alone.
pub(super) fn index_text(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    oid: Oid,
    column: usize,
    pretty: bool,
) -> Option<String> {
    let Relation::Index(index) = catalog.relation_by_oid(oid)? else { return None };
    let table = catalog.table_by_oid(index.table)?;
    let part = |id: u16| match key_text(views, catalog, &table, id, pretty) {
        Some((text, true)) => text,
        Some((text, false)) => format!("({text})"),
        None => column_list(&table, &[id]),
    };
    if column > 0 {
        let declared = index.declared();
        let mut columns = declared.into_iter().map(|part| part.column).chain(index.include.iter().copied());
        return Some(columns.nth(column - 1).map_or_else(String::new, part));
    }
    let unique = if index.unique { "UNIQUE " } else { "" };
    let on = if pretty {
        relation_name(catalog, table.oid)?
    } else {
        format!("{}.{}", quote_ident(&table.schema), quote_ident(&table.name))
    };
    let name = quote_ident(&index.name);
    let only = if table.partitioned.is_some() { "ONLY " } else { "" };
    let body = index_body(views, catalog, &table, index, pretty, false)?;
    Some(format!("CREATE {unique}INDEX {name} ON {only}{on} {body}"))
}

/// What stands behind the table's name in CREATE INDEX, or behind EXCLUDE.
fn index_body(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &Arc<TableDef>,
    index: &IndexDef,
    pretty: bool,
    excludes: bool,
) -> Option<String> {
    let part = |id: u16| match key_text(views, catalog, table, id, pretty) {
        Some((text, true)) => text,
        Some((text, false)) => format!("({text})"),
        None => column_list(table, &[id]),
    };
    let key = |one: &verso_catalog::IndexPart| {
        let of_expression = hidden_value(views, catalog, table, one.column);
        let own = match &of_expression {
            Some(_) if let Some(arg) = collated_key(views, catalog, table, one.column) => {
                arg.collation.collation().map(|own| own.oid)
            }
            Some(value) => value.collation.collation().map(|own| own.oid),
            None => super::relations::declared(table, one.column).collation().map(|own| own.oid),
        };
        let shown = one.collation.as_ref().filter(|shown| Some(shown.oid) != own);
        let collation = shown.map(|one| {
            let name = super::collations::name_of(catalog, one.oid);
            format!(" COLLATE {}", name.unwrap_or_else(|| quote_ident(&one.name)))
        });
        let class = super::extensions::class_shown(catalog, index.class_suffix(table, one));
        let with = one.excludes.filter(|_| excludes);
        let with = with.map_or_else(String::new, |operator| format!(" WITH {}", operator.symbol()));
        format!("{}{}{class}{}{with}", part(one.column), collation.unwrap_or_default(), one.order())
    };
    let keys: Vec<String> = index.declared().into_iter().map(key).collect();
    let mut text = format!("USING {} ({})", index.method(), keys.join(", "));
    if !index.include.is_empty() {
        text.push_str(&format!(" INCLUDE ({})", column_list(table, &index.include)));
    }
    if !index.nulls_distinct {
        text.push_str(" NULLS NOT DISTINCT");
    }
    text.push_str(&index.with_options());
    if let Some(condition) = index_predicate(views, catalog, table, index, pretty) {
        // That of a constraint stands in parentheses.
        match excludes {
            true => text.push_str(&format!(" WHERE ({condition})")),
            false => text.push_str(&format!(" WHERE {condition}")),
        }
    }
    Some(text)
}

/// What the hidden column with that number is computed from.
fn hidden_value(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &TableDef,
    id: u16,
) -> Option<TypedExpr> {
    let column = &table.columns[table.column_with_id(id)?];
    let is_it = column.is_hidden() && column.generated;
    is_it.then(|| binder(views, catalog).stored_generation(column, table).ok()).flatten()
}

/// What a COLLATE is about with which the expression of a key ends.
fn collated_key(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &TableDef,
    id: u16,
) -> Option<TypedExpr> {
    let stored = table.columns[table.column_with_id(id)?].default.as_deref()?;
    let mut expr = verso_parser::parse_expression(stored).ok()?;
    let mut is_collated = false;
    while let verso_parser::syntax::ExprKind::Collate { arg, .. } = expr.kind {
        (expr, is_collated) = (*arg, true);
    }
    is_collated.then(|| binder(views, catalog).kept_index_expression(&expr, table).ok()).flatten()
}

/// An expression as a part of a key, and whether it is a call: calls stand alone, others in parentheses.
fn key_text(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &TableDef,
    id: u16,
    pretty: bool,
) -> Option<(String, bool)> {
    let value = hidden_value(views, catalog, table, id)?;
    let stored = table.columns[table.column_with_id(id)?].default.as_deref()?;
    if let Some(known) = deparse::index_key(&binder(views, catalog), stored, table, pretty) {
        return Some(known);
    }
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    let text = deparse::expression(&value, &names, pretty);
    let is_call = match &value.kind {
        ExprKind::Call { function, .. } => function.operator.is_none(),
        ExprKind::UserCall { .. } | ExprKind::Coalesce(_) | ExprKind::NullIf { .. } => true,
        _ => false,
    };
    Some((text, is_call))
}

/// `pg_index.indexprs` as `pg_get_expr` shows it.
pub(super) fn index_expressions(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &TableDef,
    index: &IndexDef,
) -> Option<String> {
    let keys = index.parts.iter().filter_map(|part| key_text(views, catalog, table, part.column, false));
    let texts: Vec<String> = keys.map(|(text, _)| text).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// An expression over a table's columns without needless parentheses.
pub(super) fn pretty(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: Oid,
    text: &str,
) -> Option<String> {
    let table = catalog.table_by_oid(table)?;
    let expr = verso_parser::parse_expression(text).ok()?;
    let bound = binder(views, catalog).kept_index_expression(&expr, &table).ok()?;
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    let part = deparse::Part::Expression;
    let shown = deparse::over_table(&binder(views, catalog), text, &table, part, true);
    Some(shown.unwrap_or_else(|| deparse::expression(&bound, &names, true)))
}

/// The condition of a partial index.
pub(super) fn index_predicate(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &TableDef,
    index: &IndexDef,
    pretty: bool,
) -> Option<String> {
    let value = hidden_value(views, catalog, table, index.guard?)?;
    let stored = table.columns[table.column_with_id(index.guard?)?].default.as_deref()?;
    let part = deparse::Part::Guard;
    if let Some(text) = deparse::over_table(&binder(views, catalog), stored, table, part, pretty) {
        return Some(text);
    }
    let ExprKind::Case { branches, .. } = &value.kind else { return None };
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    branches.first().map(|(condition, _)| deparse::expression(condition, &names, pretty))
}

/// The function of users with that row.
pub(super) fn function(catalog: &CatalogSnapshot, oid: Oid) -> Option<&Arc<FunctionDef>> {
    catalog.function_by_oid(oid)
}

/// `pg_get_function_arguments`.
pub(super) fn arguments(views: &Views<'_>, catalog: &CatalogSnapshot, function: &FunctionDef) -> String {
    argument_list(views, catalog, function, true)
}

/// `pg_get_function_identity_arguments`: what tells functions of a name apart.
pub(super) fn identity_arguments(
    views: &Views<'_>,
    catalog: &CatalogSnapshot,
    function: &FunctionDef,
) -> String {
    argument_list(views, catalog, function, false)
}

fn argument_list(
    views: &Views<'_>,
    catalog: &CatalogSnapshot,
    function: &FunctionDef,
    defaults: bool,
) -> String {
    let argument = |arg: &FunctionArg| {
        let mode = match arg.mode {
            ArgMode::In if function.is_procedure() => "IN ",
            ArgMode::In => "",
            ArgMode::Out => "OUT ",
            ArgMode::InOut => "INOUT ",
            ArgMode::Variadic => "VARIADIC ",
        };
        let name = if arg.name.is_empty() { String::new() } else { format!("{} ", quote_ident(&arg.name)) };
        let default = match &arg.default {
            Some(default) if defaults => format!(" DEFAULT {}", shown_default(views, catalog, arg, default)),
            _ => String::new(),
        };
        format!("{mode}{name}{}{default}", type_name(catalog, &arg.ty, arg.rows_of))
    };
    function.args.iter().map(argument).collect::<Vec<_>>().join(", ")
}

/// The default of an argument, as PostgreSQL shows it.
fn shown_default(views: &Views<'_>, catalog: &CatalogSnapshot, arg: &FunctionArg, text: &str) -> String {
    let column = ColumnDef { default: Some(text.into()), ..ColumnDef::new("", 1, arg.ty.clone()) };
    let catalog = Arc::new(catalog.clone());
    let binder = Binder::new(&catalog, &views.services.settings.time_zone, &[]);
    let nothing = TableDef::new(Oid(0), "", "", verso_storage::ObjectId(0), Vec::new());
    if let Some(text) = deparse::over_table(&binder, text, &nothing, deparse::Part::Value(&arg.ty), false) {
        return text;
    }
    match binder.stored_default(&column) {
        Ok(bound) => deparse::expression(&bound, &[], false),
        Err(_) => kept::with_names(&catalog, text),
    }
}

/// `pg_get_function_arg_default`.
pub(super) fn argument_default(
    views: &Views<'_>,
    catalog: &CatalogSnapshot,
    function: &FunctionDef,
    number: i64,
) -> Option<String> {
    let at = usize::try_from(number).ok()?.checked_sub(1)?;
    let arg = function.args.get(at)?;
    Some(shown_default(views, catalog, arg, arg.default.as_deref()?))
}

/// `pg_get_function_result`.
pub(super) fn result(catalog: &CatalogSnapshot, function: &FunctionDef) -> String {
    let shown = |ty: &verso_types::SqlType| type_name(catalog, ty, function.rows_of);
    match &function.returns {
        FunctionReturn::Procedure => String::new(),
        FunctionReturn::Void => "void".to_string(),
        FunctionReturn::Trigger => "trigger".to_string(),
        FunctionReturn::Scalar(ty) => shown(ty),
        FunctionReturn::Set(ty) => format!("SETOF {}", shown(ty)),
        FunctionReturn::Table(_) if function.outputs().next().is_some() => "SETOF record".to_string(),
        FunctionReturn::Table(columns) => {
            let column = |(name, ty): &(Arc<str>, _)| {
                format!("{} {}", quote_ident(name), type_name(catalog, ty, None))
            };
            format!("TABLE({})", columns.iter().map(column).collect::<Vec<_>>().join(", "))
        }
    }
}

fn type_name(catalog: &CatalogSnapshot, ty: &verso_types::SqlType, rows_of: Option<Oid>) -> String {
    let relation = rows_of.and_then(|oid| relation_name(catalog, oid));
    relation.unwrap_or_else(|| ty.regtype_name())
}

/// `pg_get_functiondef`.
pub(super) fn function_text(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    function: &FunctionDef,
) -> String {
    let mut text = format!(
        "CREATE OR REPLACE {} {}.{}({})\n{} LANGUAGE {}\n",
        if function.is_procedure() { "PROCEDURE" } else { "FUNCTION" },
        quote_ident(&function.schema),
        quote_ident(&function.name),
        arguments(views, catalog, function),
        match function.is_procedure() {
            true => String::new(),
            false => format!(" RETURNS {}\n", result(catalog, function)),
        },
        function.language.name()
    );
    let mut words = Vec::new();
    match function.volatility {
        Volatility::Immutable => words.push("IMMUTABLE"),
        Volatility::Stable => words.push("STABLE"),
        Volatility::Volatile => {}
    }
    match function.planning.parallel {
        ParallelSafety::Unsafe => {}
        ParallelSafety::Restricted => words.push("PARALLEL RESTRICTED"),
        ParallelSafety::Safe => words.push("PARALLEL SAFE"),
    }
    if function.strict {
        words.push("STRICT");
    }
    if function.security_definer {
        words.push("SECURITY DEFINER");
    }
    if function.leakproof {
        words.push("LEAKPROOF");
    }
    let (cost, rows) = (function.planning.cost(), function.planning.rows());
    let cost = format!("COST {cost}");
    if cost != "COST 100" {
        words.push(&cost);
    }
    let rows = format!("ROWS {rows}");
    if function.returns.is_set() && rows != "ROWS 1000" {
        words.push(&rows);
    }
    if !words.is_empty() {
        text.push_str(&format!(" {}\n", words.join(" ")));
    }
    for (name, value) in &function.settings {
        let values: Vec<String> = match (&**name, crate::settings::names(value)) {
            ("search_path", Some(names)) => names.iter().map(|name| literal_text(name)).collect(),
            _ => vec![literal_text(value)],
        };
        text.push_str(&format!(" SET {} TO {}\n", quote_ident(setting_name(name)), values.join(", ")));
    }
    if function.standard_body {
        return text + &body_text(views, catalog, function) + "\n";
    }
    let word = if function.is_procedure() { "procedure" } else { "function" };
    let mut tag = format!("${word}");
    while function.body.contains(&tag) {
        tag.push('x');
    }
    tag.push('$');
    text + &format!("AS {tag}{}{tag}\n", function.body)
}

/// A body that is SQL's own, with the names of today.
pub(super) fn body_text(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, function: &FunctionDef) -> String {
    deparse::body(function, catalog, &views.services.settings.time_zone)
}

/// The name of a setting in PostgreSQL's letters.
pub(super) fn setting_name(name: &str) -> &str {
    match name {
        "timezone" => "TimeZone",
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        name => name,
    }
}

/// `pg_get_serial_sequence`.
pub(super) fn serial_sequence(catalog: &CatalogSnapshot, table: &TableDef, column: u16) -> Option<String> {
    let owned = catalog
        .sequences_of(table.oid)
        .into_iter()
        .find(|sequence| sequence.owned_by.is_some_and(|owner| owner.column == column))?;
    Some(format!("{}.{}", quote_ident(&owned.schema), quote_ident(&owned.name)))
}

/// The name of a relation, for messages.
pub(super) fn shown(catalog: &CatalogSnapshot, oid: Oid) -> String {
    relation_name(catalog, oid).unwrap_or_else(|| oid.to_string())
}

/// A text as a literal.
fn literal_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A view, which may be a materialized one.
fn view_of(relation: &Relation) -> Option<Arc<ViewDef>> {
    let materialized = || Some(Arc::new(relation.as_table()?.as_view()?));
    relation.as_view().cloned().or_else(materialized)
}

/// `pg_get_ruledef`, of the one rule that a view has.
pub(super) fn rule_text(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    oid: Oid,
    pretty: bool,
) -> Option<String> {
    let view = view_of(catalog.owner_of_rule(oid)?)?;
    let query = view_text(views, catalog, view.oid, deparse::Style { pretty, wrap: 0 })?;
    let name = if pretty {
        relation_name(catalog, view.oid)?
    } else {
        format!("{}.{}", quote_ident(&view.schema), quote_ident(&view.name))
    };
    Some(format!("CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {query}"))
}

/// `pg_get_viewdef`: the query of a view with the names of today; as it was given, where its text cannot be made.
pub(super) fn view_text(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    oid: Oid,
    style: deparse::Style,
) -> Option<String> {
    let view = view_of(catalog.relation_by_oid(oid).filter(|_| !oid.is_system())?)?;
    let text = deparse::view(&binder(views, catalog), &view, style)
        .unwrap_or_else(|| format!(" {}", verso_catalog::view_text(catalog, &view)));
    Some(format!("{text};"))
}
