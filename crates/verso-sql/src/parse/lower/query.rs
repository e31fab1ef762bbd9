//! Queries.

use sqlparser::ast::{self, SetExpr, Spanned};

use super::super::source::{Source, into_refused, too_complex};
use super::expr::function_call;
use super::locks::lock_clauses;
use super::{expr, name, qualified, refuse, refuse_at, table_name};
use crate::errors::{SqlError, sqlstate};
use crate::syntax::{
    Call, Cte, Expr, ExprKind, FromItem, FromSource, Join, JoinCondition, JoinKind, Name, OrderItem,
    QualifiedName, Query, QueryBody, Select, SelectItem, SetOperator, Span,
};

/// Lowers a query.
pub fn query(query: ast::Query, source: &Source<'_>) -> Result<Query, SqlError> {
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
    Ok(Query { with, body, order_by, limit, offset, locks, places: false, at })
}

fn query_body(body: SetExpr, source: &Source<'_>) -> Result<QueryBody, SqlError> {
    let start = source.span(body.span()).start;
    let unsupported = |what: &str| Err(SqlError::unsupported(what).at(start));
    match body {
        SetExpr::Select(select) => Ok(QueryBody::Select(Box::new(self::select(*select, source)?))),
        SetExpr::Query(inner) => Ok(QueryBody::Nested(Box::new(query(*inner, source)?))),
        SetExpr::Values(ast::Values { explicit_row, value_keyword, rows }) => {
            refuse(&[(explicit_row, "ROW in VALUES"), (value_keyword, "VALUE")], start)?;
            let row = |row: ast::Parens<Vec<ast::Expr>>| {
                let ast::Parens { opening_token: _, content, closing_token: _ } = row;
                content.into_iter().map(|value| expr(value, source)).collect()
            };
            Ok(QueryBody::Values(rows.into_iter().map(row).collect::<Result<_, SqlError>>()?))
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
            let side = |side: SetExpr| -> Result<Box<Query>, SqlError> {
                let at = source.span(side.span());
                let body = query_body(side, source)?;
                let query = Query {
                    with: vec![],
                    body,
                    order_by: vec![],
                    limit: None,
                    offset: None,
                    locks: vec![],
                    places: false,
                    at,
                };
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

fn with_queries(with: ast::With, source: &Source<'_>) -> Result<Vec<Cte>, SqlError> {
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
        Ok(Cte { name: alias, columns, query: query(*inner, source)?, materialized, recursive })
    };
    cte_tables.into_iter().map(one).collect()
}

fn select(select: ast::Select, source: &Source<'_>) -> Result<Select, SqlError> {
    let ast::Select {
        select_token,
        optimizer_hints: _, // comments: advice that changes no answer
        distinct,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from,
        lateral_views,
        prewhere,
        selection,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having,
        named_window,
        qualify,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    let start = source.span(select_token.0.span).start;
    if let Some(into) = into {
        select_into(into, source, start)?;
    }
    for (present, what) in [
        (exclude.is_some(), "EXCLUDE"),
        (select_modifiers.is_some_and(|modifiers| modifiers.is_any_set()), "a modifier of SELECT"),
        (top.is_some(), "TOP"),
        (!lateral_views.is_empty(), "LATERAL VIEW"),
        (prewhere.is_some(), "PREWHERE"),
        (!connect_by.is_empty(), "CONNECT BY"),
        (!cluster_by.is_empty(), "CLUSTER BY"),
        (!distribute_by.is_empty(), "DISTRIBUTE BY"),
        (!sort_by.is_empty(), "SORT BY"),
        (!named_window.is_empty(), "WINDOW"),
        (qualify.is_some(), "QUALIFY"),
        (value_table_mode.is_some(), "AS VALUE or AS STRUCT"),
        (!matches!(flavor, ast::SelectFlavor::Standard), "FROM before SELECT"),
    ] {
        refuse_at(present, what, source, start)?;
    }
    let distinct = match distinct {
        None | Some(ast::Distinct::All) => false,
        Some(ast::Distinct::Distinct) => true,
        Some(ast::Distinct::On(_)) => {
            return Err(SqlError::unsupported("DISTINCT ON")
                .at(source.find(start, "distinct").map_or(start, |d| d.start)));
        }
    };
    let group_by = match group_by {
        ast::GroupByExpr::All(_) => return Err(SqlError::unsupported("GROUP BY ALL").at(start)),
        ast::GroupByExpr::Expressions(keys, modifiers) => {
            refuse(&[(!modifiers.is_empty(), "WITH behind GROUP BY")], start)?;
            keys.into_iter().map(|key| expr(key, source)).collect::<Result<_, _>>()?
        }
    };
    Ok(Select {
        distinct,
        items: select_items(projection, source)?,
        from: from_list(from, source)?,
        filter: selection.map(|filter| expr(filter, source)).transpose()?,
        group_by,
        having: having.map(|having| expr(having, source)).transpose()?,
    })
}

/// Notes the table of SELECT … INTO, for who parses the statement.
fn select_into(into: ast::SelectInto, source: &Source<'_>, start: u32) -> Result<(), SqlError> {
    let at = source.find(start, "into").map_or(start, |word| word.start);
    let ast::SelectInto { temporary, unlogged, table: _, targets } = into;
    refuse(&[(temporary, "SELECT INTO TEMPORARY"), (unlogged, "SELECT INTO UNLOGGED")], at)?;
    let mut targets = targets.into_iter().map(|target| expr(target, source));
    let (target, None) = (targets.next().transpose()?, targets.next()) else { return Err(source.near(at)) };
    let parts = match target.map(|target| target.kind) {
        Some(ExprKind::Column(parts)) => parts,
        _ => return Err(source.near(source.token_behind(at + 4))),
    };
    let mut parts = parts.into_iter();
    let table = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => QualifiedName { schema: None, name },
        (Some(schema), Some(name), None) => QualifiedName { schema: Some(schema), name },
        _ => return Err(SqlError::unsupported("a reference to another database").at(at)),
    };
    source.note_into(table);
    Ok(())
}

/// Lowers an output list.
pub(super) fn select_items(
    items: Vec<ast::SelectItem>,
    source: &Source<'_>,
) -> Result<Vec<SelectItem>, SqlError> {
    items
        .into_iter()
        .map(|item| match item {
            ast::SelectItem::UnnamedExpr(value) => {
                Ok(SelectItem::Expr { expr: expr(value, source)?, alias: None })
            }
            ast::SelectItem::ExprWithAlias { expr: value, alias } => {
                Ok(SelectItem::Expr { expr: expr(value, source)?, alias: Some(name(alias, source)) })
            }
            ast::SelectItem::ExprWithAliases { expr: value, aliases: _ } => {
                let value = expr(value, source)?;
                Err(SqlError::unsupported("several aliases").at(value.at.end))
            }
            ast::SelectItem::Wildcard(options) => {
                Ok(SelectItem::Wildcard { table: None, at: wildcard(options, source)? })
            }
            ast::SelectItem::QualifiedWildcard(kind, options) => {
                let star = wildcard(options, source)?;
                match kind {
                    ast::SelectItemQualifiedWildcardKind::ObjectName(table) => {
                        let table = qualified(table, source)?;
                        let at = table.at().to(star);
                        Ok(SelectItem::Wildcard { table: Some(table), at })
                    }
                    ast::SelectItemQualifiedWildcardKind::Expr(value) => {
                        let value = expr(value, source)?;
                        Err(SqlError::unsupported("expression.*").at(value.at.start))
                    }
                }
            }
        })
        .collect()
}

fn wildcard(options: ast::WildcardAdditionalOptions, source: &Source<'_>) -> Result<Span, SqlError> {
    let ast::WildcardAdditionalOptions {
        wildcard_token,
        opt_ilike,
        opt_exclude,
        opt_except,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    let at = source.span(wildcard_token.0.span);
    if let Some(alias) = opt_alias {
        // Elsewhere a name for all columns; in PostgreSQL most likely a keyword misspelt.
        let text = format!("syntax error at or near \"{}\"", alias.value);
        return Err(SqlError::new(sqlstate::SYNTAX_ERROR, text).at(source.span(alias.span).start));
    }
    let clauses = [
        (opt_ilike.is_some(), "* ILIKE"),
        (opt_exclude.is_some(), "* EXCLUDE"),
        (opt_except.is_some(), "* EXCEPT"),
        (opt_replace.is_some(), "* REPLACE"),
        (opt_rename.is_some(), "* RENAME"),
    ];
    refuse(&clauses, at.start)?;
    Ok(at)
}

pub(super) fn from_list(
    from: Vec<ast::TableWithJoins>,
    source: &Source<'_>,
) -> Result<Option<FromItem>, SqlError> {
    let mut all: Option<FromItem> = None;
    for item in from {
        let item = table_with_joins(item, source)?;
        all = Some(match all {
            None => item,
            Some(left) => join(left, item, JoinKind::Inner, JoinCondition::None),
        });
    }
    Ok(all)
}

fn join(left: FromItem, right: FromItem, kind: JoinKind, condition: JoinCondition) -> FromItem {
    let source = FromSource::Join(Box::new(Join { left, right, kind, condition }));
    FromItem { source, alias: None, columns: Vec::new(), lateral: false }
}

/// Lowers a FROM item with the joins behind it.
pub(super) fn table_with_joins(
    table: ast::TableWithJoins,
    source: &Source<'_>,
) -> Result<FromItem, SqlError> {
    use ast::JoinOperator as J;
    let ast::TableWithJoins { relation, joins } = table;
    let mut left = from_item(relation, source)?;
    for ast::Join { relation, global, join_operator } in joins {
        let start = source.span(relation.span()).start;
        refuse(&[(global, "GLOBAL")], start)?;
        let unsupported = |what: &str| Err(SqlError::unsupported(what).at(start));
        let (kind, constraint) = match join_operator {
            J::Join(constraint) | J::Inner(constraint) => (JoinKind::Inner, constraint),
            J::Left(constraint) | J::LeftOuter(constraint) => (JoinKind::Left, constraint),
            J::Right(constraint) | J::RightOuter(constraint) => (JoinKind::Right, constraint),
            J::FullOuter(constraint) => (JoinKind::Full, constraint),
            J::CrossJoin(ast::JoinConstraint::None) => (JoinKind::Inner, ast::JoinConstraint::None),
            J::CrossJoin(_) => return Err(source.near(start)),
            J::Semi(_) | J::LeftSemi(_) | J::RightSemi(_) => return unsupported("SEMI JOIN"),
            J::Anti(_) | J::LeftAnti(_) | J::RightAnti(_) => return unsupported("ANTI JOIN"),
            J::CrossApply | J::OuterApply => return unsupported("APPLY"),
            J::AsOf { match_condition: _, constraint: _ } => return unsupported("ASOF JOIN"),
            J::StraightJoin(_) => return unsupported("STRAIGHT_JOIN"),
            J::ArrayJoin | J::LeftArrayJoin | J::InnerArrayJoin => return unsupported("ARRAY JOIN"),
        };
        let right = from_item(relation, source)?;
        let condition = match constraint {
            ast::JoinConstraint::On(condition) => JoinCondition::On(expr(condition, source)?),
            ast::JoinConstraint::Using(names) => {
                let one = |column| super::expr::one_name(column, source);
                JoinCondition::Using(names.into_iter().map(one).collect::<Result<_, _>>()?)
            }
            ast::JoinConstraint::Natural => JoinCondition::Natural,
            ast::JoinConstraint::None => JoinCondition::None,
        };
        left = join(left, right, kind, condition);
    }
    Ok(left)
}

fn from_item(factor: ast::TableFactor, source: &Source<'_>) -> Result<FromItem, SqlError> {
    use ast::TableFactor as F;
    let span = source.span(factor.span());
    let unsupported = |what: &str| Err(SqlError::unsupported(what).at(span.start));
    match factor {
        F::Table {
            name,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } => {
            let name = if args.is_none() { table_name(name, source)? } else { qualified(name, source)? };
            let at = name.at();
            let clauses = [
                (!with_hints.is_empty(), "WITH behind a table"),
                (version.is_some(), "a version of a table"),
                (with_ordinality, "WITH ORDINALITY"),
                (!partitions.is_empty(), "PARTITION"),
                (json_path.is_some(), "a JSON path"),
                (sample.is_some(), "TABLESAMPLE"),
                (!index_hints.is_empty(), "an index hint"),
            ];
            refuse(&clauses, at.start)?;
            let from = match args {
                None => FromSource::Table(name),
                Some(ast::TableFunctionArgs { args, settings }) => {
                    refuse(&[(settings.is_some(), "SETTINGS")], at.start)?;
                    let mut call = Call {
                        name,
                        args: Vec::new(),
                        star: false,
                        distinct: false,
                        filter: None,
                        keyword: false,
                    };
                    for arg in args {
                        match arg {
                            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(arg)) => {
                                call.args.push(expr(arg, source)?);
                            }
                            ast::FunctionArg::Unnamed(
                                ast::FunctionArgExpr::Wildcard
                                | ast::FunctionArgExpr::QualifiedWildcard(_)
                                | ast::FunctionArgExpr::WildcardWithOptions(_),
                            ) => return Err(SqlError::unsupported("* as an argument").at(at.start)),
                            ast::FunctionArg::Named { name: _, arg: _, operator: _ }
                            | ast::FunctionArg::ExprNamed { name: _, arg: _, operator: _ } => {
                                return Err(SqlError::unsupported("named arguments").at(at.start));
                            }
                        }
                    }
                    let inside = call.args.iter().map(|arg| arg.at).fold(at, Span::to);
                    let end = source.find(inside.end, ")").unwrap_or(inside);
                    FromSource::Function(call, at.to(end))
                }
            };
            with_alias(from, alias, source)
        }
        F::Derived { lateral, subquery, alias, sample } => {
            refuse(&[(sample.is_some(), "TABLESAMPLE")], span.start)?;
            let inner = query(*subquery, source)?;
            let open = source.find_back(span.start, &["("], 1).map_or(span, |open| open.to(span));
            let item = with_alias(FromSource::Query(Box::new(inner), open), alias, source)?;
            Ok(FromItem { lateral, ..item })
        }
        F::Function { lateral, name, args, with_ordinality, alias } => {
            let at = source.span(name.span());
            refuse(&[(with_ordinality, "WITH ORDINALITY")], at.start)?;
            let list = ast::FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() };
            let function = ast::Function {
                name,
                uses_odbc_syntax: false,
                parameters: ast::FunctionArguments::None,
                args: ast::FunctionArguments::List(list),
                within_group: Vec::new(),
                filter: None,
                null_treatment: None,
                over: None,
            };
            let (call, at) = function_call(function, source)?;
            let item = with_alias(FromSource::Function(call, at), alias, source)?;
            Ok(FromItem { lateral, ..item })
        }
        F::NestedJoin { table_with_joins: inner, alias } => {
            if alias.is_some() {
                return unsupported("an alias of a join");
            }
            table_with_joins(*inner, source)
        }
        F::TableFunction { expr: _, alias: _ } => unsupported("TABLE(…)"),
        F::UNNEST { alias: _, array_exprs: _, with_offset: _, with_offset_alias: _, with_ordinality: _ } => {
            unsupported("UNNEST")
        }
        F::JsonTable { json_expr: _, json_path: _, columns: _, alias: _ } => unsupported("JSON_TABLE"),
        F::OpenJsonTable { json_expr: _, json_path: _, columns: _, alias: _ } => unsupported("OPENJSON"),
        F::Pivot {
            table: _,
            aggregate_functions: _,
            value_column: _,
            value_source: _,
            default_on_null: _,
            alias: _,
        } => unsupported("PIVOT"),
        F::Unpivot { table: _, value: _, name: _, columns: _, null_inclusion: _, alias: _ } => {
            unsupported("UNPIVOT")
        }
        F::UnpivotExpr { expression: _, value_alias: _, attribute_alias: _ } => unsupported("UNPIVOT"),
        F::MatchRecognize {
            table: _,
            partition_by: _,
            order_by: _,
            measures: _,
            rows_per_match: _,
            after_match_skip: _,
            pattern: _,
            symbols: _,
            alias: _,
        } => unsupported("MATCH_RECOGNIZE"),
        F::XmlTable { namespaces: _, row_expression: _, passing: _, columns: _, alias: _ } => {
            unsupported("XMLTABLE")
        }
        F::SemanticView { name: _, dimensions: _, metrics: _, facts: _, where_clause: _, alias: _ } => {
            unsupported("SEMANTIC_VIEW")
        }
    }
}

fn with_alias(
    from: FromSource,
    alias: Option<ast::TableAlias>,
    source: &Source<'_>,
) -> Result<FromItem, SqlError> {
    let Some(ast::TableAlias { explicit: _, name: alias, columns, at }) = alias else {
        return Ok(FromItem { source: from, alias: None, columns: Vec::new(), lateral: false });
    };
    let alias = name(alias, source);
    refuse(&[(at.is_some(), "AT behind an alias")], alias.at.start)?;
    let columns = columns.into_iter().map(|column| column_alias(column, source)).collect::<Result<_, _>>()?;
    Ok(FromItem { source: from, alias: Some(alias), columns, lateral: false })
}

fn column_alias(column: ast::TableAliasColumnDef, source: &Source<'_>) -> Result<Name, SqlError> {
    let ast::TableAliasColumnDef { name: column, data_type } = column;
    let column = name(column, source);
    refuse(&[(data_type.is_some(), "a column definition list")], column.at.start)?;
    Ok(column)
}

fn order(order_by: Option<ast::OrderBy>, source: &Source<'_>) -> Result<Vec<OrderItem>, SqlError> {
    let Some(ast::OrderBy { kind, interpolate }) = order_by else { return Ok(Vec::new()) };
    let items = match kind {
        ast::OrderByKind::All(_) => return Err(SqlError::unsupported("ORDER BY ALL")),
        ast::OrderByKind::Expressions(items) => items,
    };
    let items = items.into_iter().map(|item| order_item(item, source)).collect::<Result<Vec<_>, _>>()?;
    let at = items.first().map_or(0, |item: &OrderItem| item.expr.at.start);
    refuse(&[(interpolate.is_some(), "INTERPOLATE")], at)?;
    Ok(items)
}

fn order_item(item: ast::OrderByExpr, source: &Source<'_>) -> Result<OrderItem, SqlError> {
    let ast::OrderByExpr { expr: key, options, with_fill } = item;
    let ast::OrderByOptions { sort, nulls_first } = options;
    let key = expr(key, source)?;
    refuse(&[(with_fill.is_some(), "WITH FILL")], key.at.end)?;
    let descending = match sort {
        None | Some(ast::OrderBySort::Asc) => false,
        Some(ast::OrderBySort::Desc) => true,
        Some(ast::OrderBySort::Using(_)) => {
            return Err(SqlError::unsupported("ORDER BY … USING").at(key.at.end));
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
) -> Result<(Option<Expr>, Option<Expr>), SqlError> {
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
            return Err(SqlError::syntax("LIMIT #,# syntax is not supported")
                .with_hint("Use separate LIMIT and OFFSET clauses.")
                .at(offset.at.start));
        }
    }
    if let Some(ast::Fetch { with_ties, percent, quantity }) = fetch {
        let start = source.find(at.start, "fetch").map_or(at.end, |fetch| fetch.start);
        refuse(&[(with_ties, "WITH TIES"), (percent, "FETCH … PERCENT")], start)?;
        if limit.is_some() {
            return Err(SqlError::syntax("multiple LIMIT clauses not allowed").at(start));
        }
        let one = Expr {
            kind: crate::syntax::ExprKind::Literal(crate::syntax::Literal::Number("1".into())),
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
pub(super) fn unwrap_parentheses(mut query: Query) -> Result<Query, SqlError> {
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
