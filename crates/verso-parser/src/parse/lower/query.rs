//! Queries: WITH, what is between UNION and its relatives, ORDER BY, LIMIT.

use sqlparser::ast::{self, SetExpr, Spanned};

use super::super::source::{Source, into_refused, too_complex};
use super::from::column_alias;
use super::locks::lock_clauses;
use super::select::select;
use super::{expr, name, refuse, refuse_at};
use crate::error::SyntaxError;
use crate::syntax::{Cte, Expr, ExprKind, Literal, OrderItem, Query, QueryBody, SetOperator, Span};

/// Lowers a query.
pub fn query(query: ast::Query, source: &Source<'_>) -> Result<Query, SyntaxError> {
    let at = source.span(query.span());
    let ast::Query {
        with,
        body,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    let with = with.map(|with| with_queries(with, source)).transpose()?.unwrap_or_default();
    refuse_at(for_clause.is_some(), "FOR", source, at.start)?;
    refuse(
        &[
            (settings.is_some(), "SETTINGS"),
            (format_clause.is_some(), "FORMAT"),
            (!pipe_operators.is_empty(), "a pipe operator"),
        ],
        at.start,
    )?;
    let body = query_body(*body, source)?;
    let (limit, offset) = range(limit_clause, fetch, source, at)?;
    let order_by = order(order_by, source)?;
    // Behind all queries inside of this one.
    let locks = lock_clauses(locks, source, at.start)?;
    Ok(Query { with, order_by, limit, offset, locks, ..Query::of(body, at) })
}

fn query_body(body: SetExpr, source: &Source<'_>) -> Result<QueryBody, SyntaxError> {
    let start = source.span(body.span()).start;
    let unsupported = |what: &str| Err(SyntaxError::unsupported(what).at(start));
    match body {
        SetExpr::Select(inner) => Ok(QueryBody::Select(Box::new(select(*inner, source)?))),
        SetExpr::Query(inner) => Ok(QueryBody::Nested(Box::new(query(*inner, source)?))),
        SetExpr::Values(ast::Values { explicit_row, value_keyword, rows }) => {
            refuse(&[(explicit_row, "ROW in VALUES"), (value_keyword, "VALUE")], start)?;
            let row = |row: ast::Parens<Vec<ast::Expr>>| {
                let ast::Parens { opening_token: _, content, closing_token: _ } = row;
                content.into_iter().map(|value| expr(value, source)).collect()
            };
            Ok(QueryBody::Values(rows.into_iter().map(row).collect::<Result<_, SyntaxError>>()?))
        }
        SetExpr::SetOperation { left, op, set_quantifier, right } => {
            let all = match set_quantifier {
                ast::SetQuantifier::All => true,
                ast::SetQuantifier::Distinct | ast::SetQuantifier::None => false,
                ast::SetQuantifier::ByName
                | ast::SetQuantifier::AllByName
                | ast::SetQuantifier::DistinctByName => return unsupported("BY NAME"),
            };
            let operator = match op {
                ast::SetOperator::Union => SetOperator::Union,
                ast::SetOperator::Except => SetOperator::Except,
                ast::SetOperator::Intersect => SetOperator::Intersect,
                ast::SetOperator::Minus => return unsupported("MINUS"),
            };
            let side = |side: SetExpr| -> Result<Box<Query>, SyntaxError> {
                let at = source.span(side.span());
                let body = query_body(side, source)?;
                let query = Query::of(body, at);
                Ok(Box::new(query))
            };
            let left = side(*left)?;
            let known = source.tables_made();
            let right = side(*right)?;
            if source.tables_made() > known {
                return Err(into_refused().at(right.at.start));
            }
            Ok(QueryBody::Set { operator, all, left, right })
        }
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            unsupported("a data-modifying statement inside a query")
        }
        SetExpr::Table(_) => unsupported("TABLE"),
    }
}

fn with_queries(with: ast::With, source: &Source<'_>) -> Result<Vec<Cte>, SyntaxError> {
    let ast::With { with_token: _, recursive, cte_tables } = with;
    let one = |cte: ast::Cte| {
        let ast::Cte { alias, query: inner, from, materialized, closing_paren_token: _ } = cte;
        let ast::TableAlias { explicit: _, name: alias, columns, at } = alias;
        let alias = name(alias, source);
        refuse(
            &[(from.is_some(), "FROM behind WITH"), (at.is_some(), "AT behind an alias")],
            alias.at.start,
        )?;
        let columns =
            columns.into_iter().map(|column| column_alias(column, source)).collect::<Result<_, _>>()?;
        let materialized = materialized.map(|hint| match hint {
            ast::CteAsMaterialized::Materialized => true,
            ast::CteAsMaterialized::NotMaterialized => false,
        });
        let query = query(*inner, source)?;
        Ok(Cte { name: alias, columns, query, materialized, recursive, search: None, cycle: None })
    };
    cte_tables.into_iter().map(one).collect()
}

fn order(order_by: Option<ast::OrderBy>, source: &Source<'_>) -> Result<Vec<OrderItem>, SyntaxError> {
    let Some(ast::OrderBy { kind, interpolate }) = order_by else { return Ok(Vec::new()) };
    let items = match kind {
        ast::OrderByKind::All(_) => return Err(SyntaxError::unsupported("ORDER BY ALL")),
        ast::OrderByKind::Expressions(items) => items,
    };
    let items = items.into_iter().map(|item| order_item(item, source)).collect::<Result<Vec<_>, _>>()?;
    let at = items.first().map_or(0, |item: &OrderItem| item.expr.at.start);
    refuse(&[(interpolate.is_some(), "INTERPOLATE")], at)?;
    Ok(items)
}

fn order_item(item: ast::OrderByExpr, source: &Source<'_>) -> Result<OrderItem, SyntaxError> {
    let ast::OrderByExpr { expr: key, options, with_fill } = item;
    let ast::OrderByOptions { sort, nulls_first } = options;
    let key = expr(key, source)?;
    refuse(&[(with_fill.is_some(), "WITH FILL")], key.at.end)?;
    let descending = match sort {
        None | Some(ast::OrderBySort::Asc) => false,
        Some(ast::OrderBySort::Desc) => true,
        Some(ast::OrderBySort::Using(_)) => {
            return Err(SyntaxError::unsupported("ORDER BY … USING").at(key.at.end));
        }
    };
    Ok(OrderItem { expr: key, descending, nulls_first: nulls_first.unwrap_or(descending) })
}

/// LIMIT, OFFSET and FETCH.
fn range(
    limit_clause: Option<ast::LimitClause>,
    fetch: Option<ast::Fetch>,
    source: &Source<'_>,
    at: Span,
) -> Result<(Option<Expr>, Option<Expr>), SyntaxError> {
    let (mut limit, mut offset) = (None, None);
    match limit_clause {
        None => {}
        Some(ast::LimitClause::LimitOffset { limit: count, offset: skip, limit_by }) => {
            refuse_at(!limit_by.is_empty(), "LIMIT … BY", source, at.start)?;
            limit = count.map(|count| expr(count, source)).transpose()?;
            if let Some(ast::Offset { value, rows: _ }) = skip {
                offset = Some(expr(value, source)?);
            }
        }
        Some(ast::LimitClause::OffsetCommaLimit { offset, limit: _ }) => {
            let offset = expr(offset, source)?;
            return Err(SyntaxError::syntax("LIMIT #,# syntax is not supported")
                .with_hint("Use separate LIMIT and OFFSET clauses.")
                .at(offset.at.start));
        }
    }
    if let Some(ast::Fetch { with_ties, percent, quantity }) = fetch {
        let start = source.find(at.start, "fetch").map_or(at.end, |fetch| fetch.start);
        refuse(&[(with_ties, "WITH TIES"), (percent, "FETCH … PERCENT")], start)?;
        if limit.is_some() {
            return Err(SyntaxError::syntax("multiple LIMIT clauses not allowed").at(start));
        }
        let one = Expr {
            kind: ExprKind::Literal(Literal::Number("1".into())),
            at: Span { start, end: start },
            point: start,
        };
        limit = Some(match quantity {
            Some(quantity) => expr(quantity, source)?,
            None => one,
        });
    }
    Ok((limit, offset))
}

/// The query that `(((…)))` stands for, without its parentheses where they hold nothing else.
pub(super) fn unwrap_parentheses(mut query: Query) -> Result<Query, SyntaxError> {
    for _ in 0..100 {
        let bare = query.order_by.is_empty()
            && query.limit.is_none()
            && query.offset.is_none()
            && query.with.is_empty();
        match query.body {
            QueryBody::Nested(inner) if bare => query = *inner,
            body => return Ok(Query { body, ..query }),
        }
    }
    Err(too_complex())
}
