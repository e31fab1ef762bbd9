//! FROM: tables, functions, queries, and joins of them.

use sqlparser::ast::{self, Spanned};

use super::super::source::Source;
use super::expr::{function_call, one_name};
use super::{expr, name, qualified, query, refuse, table_name};
use crate::error::SyntaxError;
use crate::syntax::{Call, FromItem, FromSource, Join, JoinCondition, JoinKind, Name, QualifiedName, Span};

/// Lowers FROM: what stands between commas is joined.
pub(super) fn from_list(
    from: Vec<ast::TableWithJoins>,
    source: &Source<'_>,
) -> Result<Option<FromItem>, SyntaxError> {
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
    FromItem::of(source)
}

/// Lowers a FROM item with the joins behind it.
pub(super) fn table_with_joins(
    table: ast::TableWithJoins,
    source: &Source<'_>,
) -> Result<FromItem, SyntaxError> {
    use ast::JoinOperator as J;
    let ast::TableWithJoins { relation, joins } = table;
    let mut left = from_item(relation, source)?;
    for ast::Join { relation, global, join_operator } in joins {
        let start = source.span(relation.span()).start;
        refuse(&[(global, "GLOBAL")], start)?;
        let unsupported = |what: &str| Err(SyntaxError::unsupported(what).at(start));
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
                let one = |column| one_name(column, source);
                JoinCondition::Using(names.into_iter().map(one).collect::<Result<_, _>>()?, None)
            }
            ast::JoinConstraint::Natural => JoinCondition::Natural,
            ast::JoinConstraint::None => JoinCondition::None,
        };
        left = join(left, right, kind, condition);
    }
    Ok(left)
}

/// Lowers one item without the joins behind it.
fn from_item(factor: ast::TableFactor, source: &Source<'_>) -> Result<FromItem, SyntaxError> {
    use ast::TableFactor as F;
    let span = source.span(factor.span());
    let unsupported = |what: &str| Err(SyntaxError::unsupported(what).at(span.start));
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
                Some(args) => table_function(name, args, source)?,
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
        refused => unsupported(refused_item(&refused)),
    }
}

/// What an item of FROM that Verso does not have is called.
fn refused_item(factor: &ast::TableFactor) -> &'static str {
    use ast::TableFactor as F;
    match factor {
        F::TableFunction { expr: _, alias: _ } => "TABLE(…)",
        F::UNNEST { alias: _, array_exprs: _, with_offset: _, with_offset_alias: _, with_ordinality: _ } => {
            "UNNEST"
        }
        F::JsonTable { json_expr: _, json_path: _, columns: _, alias: _ } => "JSON_TABLE",
        F::OpenJsonTable { json_expr: _, json_path: _, columns: _, alias: _ } => "OPENJSON",
        F::Pivot {
            table: _,
            aggregate_functions: _,
            value_column: _,
            value_source: _,
            default_on_null: _,
            alias: _,
        } => "PIVOT",
        F::Unpivot { table: _, value: _, name: _, columns: _, null_inclusion: _, alias: _ } => "UNPIVOT",
        F::UnpivotExpr { expression: _, value_alias: _, attribute_alias: _ } => "UNPIVOT",
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
        } => "MATCH_RECOGNIZE",
        F::XmlTable { namespaces: _, row_expression: _, passing: _, columns: _, alias: _ } => "XMLTABLE",
        F::SemanticView { name: _, dimensions: _, metrics: _, facts: _, where_clause: _, alias: _ } => {
            "SEMANTIC_VIEW"
        }
        F::Table { .. } | F::Derived { .. } | F::Function { .. } | F::NestedJoin { .. } => {
            "this item of FROM"
        }
    }
}

/// `f(…)` in FROM.
fn table_function(
    name: QualifiedName,
    args: ast::TableFunctionArgs,
    source: &Source<'_>,
) -> Result<FromSource, SyntaxError> {
    let at = name.at();
    let ast::TableFunctionArgs { args, settings } = args;
    refuse(&[(settings.is_some(), "SETTINGS")], at.start)?;
    let mut given = Vec::new();
    for arg in args {
        match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(arg)) => given.push(expr(arg, source)?),
            ast::FunctionArg::Unnamed(
                ast::FunctionArgExpr::Wildcard
                | ast::FunctionArgExpr::QualifiedWildcard(_)
                | ast::FunctionArgExpr::WildcardWithOptions(_),
            ) => return Err(SyntaxError::unsupported("* as an argument").at(at.start)),
            ast::FunctionArg::Named { name: _, arg: _, operator: _ }
            | ast::FunctionArg::ExprNamed { name: _, arg: _, operator: _ } => {
                return Err(SyntaxError::unsupported("named arguments").at(at.start));
            }
        }
    }
    let inside = given.iter().map(|arg| arg.at).fold(at, Span::to);
    let end = source.find(inside.end, ")").unwrap_or(inside);
    let call = Call::plain(name, given);
    Ok(FromSource::Function(call, at.to(end)))
}

fn with_alias(
    from: FromSource,
    alias: Option<ast::TableAlias>,
    source: &Source<'_>,
) -> Result<FromItem, SyntaxError> {
    let Some(ast::TableAlias { explicit: _, name: alias, columns, at }) = alias else {
        return Ok(FromItem::of(from));
    };
    let alias = name(alias, source);
    refuse(&[(at.is_some(), "AT behind an alias")], alias.at.start)?;
    let columns = columns.into_iter().map(|column| column_alias(column, source)).collect::<Result<_, _>>()?;
    Ok(FromItem { alias: Some(alias), columns, ..FromItem::of(from) })
}

/// A name in the list behind an alias.
pub(super) fn column_alias(
    column: ast::TableAliasColumnDef,
    source: &Source<'_>,
) -> Result<Name, SyntaxError> {
    let ast::TableAliasColumnDef { name: column, data_type } = column;
    let column = name(column, source);
    refuse(&[(data_type.is_some(), "a column definition list")], column.at.start)?;
    Ok(column)
}
