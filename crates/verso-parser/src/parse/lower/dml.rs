//! INSERT, UPDATE, DELETE.

use sqlparser::ast::{self, Spanned};

use super::super::source::Source;
use super::expr::{function_call, one_name};
use super::from::{from_list, table_with_joins};
use super::query::unwrap_parentheses;
use super::select::select_items;
use super::{expr, name, query, refuse, refuse_at, table_name};
use verso_types::sqlstate;

use crate::error::SyntaxError;
use crate::syntax::{
    Assignment, ConflictTarget, ConflictUpdate, Delete, Expr, FromItem, FromSource, Insert, OnConflict,
    SelectItem, Statement, Update,
};

/// Lowers a statement that began with INSERT, UPDATE or DELETE.
pub fn dml(statement: ast::Statement, source: &Source<'_>, start: u32) -> Result<Statement, SyntaxError> {
    match statement {
        ast::Statement::Insert(statement) => insert(statement, source).map(Statement::Insert),
        ast::Statement::Update(statement) => update(statement, source).map(Statement::Update),
        ast::Statement::Delete(statement) => delete(statement, source).map(Statement::Delete),
        ast::Statement::Query(inner) => query(*inner, source).map(Statement::Query),
        // The three words begin nothing else in this dialect; a form that appears is refused, never dropped.
        _ => Err(SyntaxError::unsupported("this form of INSERT, UPDATE or DELETE").at(start)),
    }
}

fn insert(statement: ast::Insert, source: &Source<'_>) -> Result<Insert, SyntaxError> {
    let ast::Insert {
        insert_token,
        optimizer_hints: _, // comments
        or,
        ignore,
        into,
        table,
        table_alias,
        columns,
        overwrite,
        source: rows,
        assignments,
        partitioned,
        after_columns,
        has_table_keyword,
        on,
        returning,
        output,
        replace_into,
        priority,
        insert_alias,
        settings,
        format_clause,
        multi_table_insert_type,
        multi_table_into_clauses,
        multi_table_when_clauses,
        multi_table_else_clause,
    } = statement;
    let token = source.span(insert_token.0.span);
    if !into || has_table_keyword {
        return Err(source.near(source.token_behind(if into {
            source.token_behind(token.end) + 4
        } else {
            token.end
        })));
    }
    for (present, what) in [
        (or.is_some(), "OR behind INSERT"),
        (ignore, "IGNORE"),
        (overwrite, "OVERWRITE"),
        (!assignments.is_empty(), "SET in INSERT"),
        (partitioned.is_some() || !after_columns.is_empty(), "PARTITION"),
        (output.is_some(), "OUTPUT"),
        (replace_into, "REPLACE INTO"),
        (priority.is_some(), "a priority of INSERT"),
        (insert_alias.is_some(), "an alias behind VALUES"),
        (settings.is_some(), "SETTINGS"),
        (format_clause.is_some(), "FORMAT"),
        (
            multi_table_insert_type.is_some()
                || !multi_table_into_clauses.is_empty()
                || !multi_table_when_clauses.is_empty()
                || multi_table_else_clause.is_some(),
            "INSERT into several tables",
        ),
    ] {
        refuse_at(present, what, source, token.start)?;
    }
    let table = match table {
        ast::TableObject::TableName(table) => table_name(table, source)?,
        ast::TableObject::TableFunction(_) => {
            return Err(SyntaxError::unsupported("a function as a target").at(token.end));
        }
        ast::TableObject::TableQuery(_) => {
            return Err(SyntaxError::unsupported("a query as a target").at(token.end));
        }
    };
    let alias = table_alias.map(|ast::TableAliasWithoutColumns { explicit: _, alias }| name(alias, source));
    let columns =
        columns.into_iter().map(|column| one_name(column, source)).collect::<Result<Vec<_>, _>>()?;
    let rows = rows.map(|rows| query(*rows, source).and_then(unwrap_parentheses)).transpose()?;
    if rows.is_none() {
        // INSERT INTO t DEFAULT VALUES has no source; anything else without one is no INSERT.
        let end = columns.last().map_or(table.at().end, |last| last.at.end);
        if !columns.is_empty() || source.find(end, "default").is_none() {
            return Err(source.near(end));
        }
    }
    let end = rows.as_ref().map_or(source.end(), |rows| rows.at.start);
    let overriding = source.overriding(table.at().end, end);
    let behind = rows.as_ref().map_or(table.at().end, |rows| rows.at.end);
    let on_conflict = on.map(|on| on_conflict(on, source, behind)).transpose()?;
    let returning = returning_items(returning, source)?;
    Ok(Insert {
        with: Vec::new(),
        hints: Vec::new(),
        table,
        alias,
        columns,
        source: rows,
        overriding,
        on_conflict,
        returning,
    })
}

/// ON CONFLICT; `from` is where to look for it.
fn on_conflict(on: ast::OnInsert, source: &Source<'_>, from: u32) -> Result<OnConflict, SyntaxError> {
    let at = source.find(from, "conflict").map_or(from, |conflict| source.token_before(conflict.start));
    let ast::OnInsert::OnConflict(ast::OnConflict { conflict_target, action }) = on else {
        return Err(SyntaxError::unsupported("ON DUPLICATE KEY UPDATE").at(at));
    };
    let target = match conflict_target {
        None => None,
        Some(ast::ConflictTarget::Columns(columns)) => {
            Some(ConflictTarget::Columns(columns.into_iter().map(|column| name(column, source)).collect()))
        }
        Some(ast::ConflictTarget::OnConstraint(constraint)) => {
            Some(ConflictTarget::Constraint(one_name(constraint, source)?))
        }
    };
    let update = match action {
        ast::OnConflictAction::DoNothing => None,
        ast::OnConflictAction::DoUpdate(ast::DoUpdate { assignments, selection }) => Some(ConflictUpdate {
            assignments: set(assignments, source)?,
            filter: selection.map(|filter| expr(filter, source)).transpose()?,
        }),
    };
    Ok(OnConflict { target, update, at })
}

fn returning_items(
    items: Option<Vec<ast::SelectItem>>,
    source: &Source<'_>,
) -> Result<Vec<SelectItem>, SyntaxError> {
    select_items(items.unwrap_or_default(), source)
}

fn update(statement: ast::Update, source: &Source<'_>) -> Result<Update, SyntaxError> {
    let ast::Update {
        update_token,
        optimizer_hints: _, // comments
        table,
        assignments,
        from,
        selection,
        returning,
        output,
        or,
        order_by,
        limit,
    } = statement;
    let token = source.span(update_token.0.span);
    for (present, what) in [
        (output.is_some(), "OUTPUT"),
        (or.is_some(), "OR behind UPDATE"),
        (!order_by.is_empty(), "ORDER BY in UPDATE"),
        (limit.is_some(), "LIMIT in UPDATE"),
    ] {
        refuse_at(present, what, source, token.start)?;
    }
    let from = match from {
        None => None,
        Some(ast::UpdateTableFromKind::AfterSet(from)) => from_list(from, source)?,
        Some(ast::UpdateTableFromKind::BeforeSet(_)) => {
            return Err(source.near(source.token_behind(token.end)));
        }
    };
    Ok(Update {
        with: Vec::new(),
        hints: Vec::new(),
        table: target(table, source)?,
        assignments: set(assignments, source)?,
        from,
        filter: selection.map(|filter| expr(filter, source)).transpose()?,
        current: source.current_of(token.start),
        returning: returning_items(returning, source)?,
    })
}

/// SET.
fn set(assignments: Vec<ast::Assignment>, source: &Source<'_>) -> Result<Vec<Assignment>, SyntaxError> {
    let mut all = Vec::new();
    for ast::Assignment { target, value } in assignments {
        let columns = match target {
            ast::AssignmentTarget::ColumnName(column) => {
                all.push(Assignment::Value(one_name(column, source)?, expr(value, source)?));
                continue;
            }
            ast::AssignmentTarget::Tuple(columns) => columns,
        };
        let at = source.span(value.span()).start;
        let columns =
            columns.into_iter().map(|column| one_name(column, source)).collect::<Result<Vec<_>, _>>()?;
        let values: Vec<Expr> = match value {
            ast::Expr::Tuple(values) => {
                values.into_iter().map(|value| expr(value, source)).collect::<Result<_, _>>()?
            }
            ast::Expr::Subquery(inner) => {
                all.push(Assignment::Row(columns, Box::new(query(*inner, source)?)));
                continue;
            }
            ast::Expr::Function(function) if is_row(&function) => function_call(function, source)?.0.args,
            _ => {
                let text =
                    "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
            }
        };
        if columns.len() != values.len() {
            return Err(SyntaxError::syntax("number of columns does not match number of values").at(at));
        }
        all.extend(columns.into_iter().zip(values).map(|(column, value)| Assignment::Value(column, value)));
    }
    Ok(all)
}

/// `ROW(…)`, which the library takes for a call.
fn is_row(function: &ast::Function) -> bool {
    let [ast::ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return false };
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case("row")
}

fn delete(statement: ast::Delete, source: &Source<'_>) -> Result<Delete, SyntaxError> {
    let ast::Delete {
        delete_token,
        optimizer_hints: _, // comments
        tables,
        from,
        using,
        selection,
        returning,
        output,
        order_by,
        limit,
    } = statement;
    let token = source.span(delete_token.0.span);
    for (present, what) in [
        (output.is_some(), "OUTPUT"),
        (!order_by.is_empty(), "ORDER BY in DELETE"),
        (limit.is_some(), "LIMIT in DELETE"),
    ] {
        refuse_at(present, what, source, token.start)?;
    }
    let mut from = match from {
        ast::FromTable::WithFromKeyword(from) if tables.is_empty() => from,
        ast::FromTable::WithFromKeyword(_) | ast::FromTable::WithoutKeyword(_) => {
            return Err(source.near(source.token_behind(token.end)));
        }
    };
    let table = match (from.pop(), from.is_empty()) {
        (Some(table), true) => target(table, source)?,
        (Some(table), false) => {
            return Err(
                SyntaxError::unsupported("DELETE from several tables").at(source.span(table.span()).start)
            );
        }
        (None, _) => return Err(source.near(token.end)),
    };
    Ok(Delete {
        with: Vec::new(),
        hints: Vec::new(),
        table,
        using: using.map(|using| from_list(using, source)).transpose()?.flatten(),
        filter: selection.map(|filter| expr(filter, source)).transpose()?,
        current: source.current_of(token.start),
        returning: returning_items(returning, source)?,
    })
}

/// The table of an UPDATE or DELETE.
fn target(table: ast::TableWithJoins, source: &Source<'_>) -> Result<FromItem, SyntaxError> {
    let item = table_with_joins(table, source)?;
    match &item.source {
        FromSource::Table(table) => {
            refuse(&[(!item.columns.is_empty(), "column aliases of a target")], table.at().start)?;
        }
        FromSource::Function(_, at) | FromSource::Rows(_, at) | FromSource::Query(_, at) => {
            return Err(source.near(at.start));
        }
        FromSource::Join(join) => {
            let at = match &join.right.source {
                FromSource::Table(table) => table.at().start,
                FromSource::Function(_, at) | FromSource::Rows(_, at) | FromSource::Query(_, at) => at.start,
                FromSource::Join(_) => 0,
            };
            return Err(source.near(at));
        }
    }
    Ok(item)
}
