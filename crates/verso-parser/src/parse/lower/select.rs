//! SELECT and its output list; RETURNING has one too.

use sqlparser::ast;

use super::super::source::Source;
use super::from::from_list;
use super::{expr, name, qualified, refuse, refuse_at};
use verso_types::sqlstate;

use crate::error::SyntaxError;
use crate::syntax::{ExprKind, GroupItem, QualifiedName, Select, SelectItem, Span};

/// Lowers a SELECT without what may stand behind any query.
pub(super) fn select(select: ast::Select, source: &Source<'_>) -> Result<Select, SyntaxError> {
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
            return Err(SyntaxError::unsupported("DISTINCT ON")
                .at(source.find(start, "distinct").map_or(start, |d| d.start)));
        }
    };
    let group_by = match group_by {
        ast::GroupByExpr::All(_) => return Err(SyntaxError::unsupported("GROUP BY ALL").at(start)),
        ast::GroupByExpr::Expressions(keys, modifiers) => {
            refuse(&[(!modifiers.is_empty(), "WITH behind GROUP BY")], start)?;
            keys.into_iter().map(|key| expr(key, source).map(GroupItem::Expr)).collect::<Result<_, _>>()?
        }
    };
    Ok(Select {
        distinct,
        distinct_on: Vec::new(),
        items: select_items(projection, source)?,
        from: from_list(from, source)?,
        filter: selection.map(|filter| expr(filter, source)).transpose()?,
        group_by,
        group_distinct: false,
        having: having.map(|having| expr(having, source)).transpose()?,
        windows: Vec::new(),
        hints: Vec::new(),
    })
}

/// Notes the table of SELECT … INTO, for who parses the statement.
fn select_into(into: ast::SelectInto, source: &Source<'_>, start: u32) -> Result<(), SyntaxError> {
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
        _ => return Err(SyntaxError::unsupported("a reference to another database").at(at)),
    };
    source.note_into(table);
    Ok(())
}

/// Lowers an output list.
pub(super) fn select_items(
    items: Vec<ast::SelectItem>,
    source: &Source<'_>,
) -> Result<Vec<SelectItem>, SyntaxError> {
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
                Err(SyntaxError::unsupported("several aliases").at(value.at.end))
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
                        Err(SyntaxError::unsupported("expression.*").at(value.at.start))
                    }
                }
            }
        })
        .collect()
}

fn wildcard(options: ast::WildcardAdditionalOptions, source: &Source<'_>) -> Result<Span, SyntaxError> {
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
        return Err(SyntaxError::new(sqlstate::SYNTAX_ERROR, text).at(source.span(alias.span).start));
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
