//! Calls of functions and aggregates, also in keyword form.

use sqlparser::ast;

use super::super::super::source::Source;
use super::super::{names, qualified, refuse};
use super::{boxed_query, expr, node};
use crate::error::SyntaxError;
use crate::syntax::{Call, Expr, ExprKind, Name, QualifiedName, Span};

/// A call of a function or aggregate.
pub(in super::super) fn function_call(
    function: ast::Function,
    source: &Source<'_>,
) -> Result<(Call, Span), SyntaxError> {
    let ast::Function {
        name,
        uses_odbc_syntax,
        parameters,
        args,
        within_group,
        filter,
        null_treatment,
        over,
    } = function;
    let name = qualified(name, source)?;
    let at = name.at();
    let clauses = [
        (uses_odbc_syntax, "the ODBC escape {…}"),
        (!matches!(parameters, ast::FunctionArguments::None), "parameters of a function"),
        (!within_group.is_empty(), "WITHIN GROUP"),
        (null_treatment.is_some(), "IGNORE NULLS"),
        (over.is_some(), "OVER (window functions)"),
    ];
    refuse(&clauses, at.start)?;
    let mut call = Call::plain(name, Vec::new());
    let arguments = match args {
        ast::FunctionArguments::None => {
            call.keyword = true;
            return Ok((call, at));
        }
        ast::FunctionArguments::Subquery(_) => {
            return Err(SyntaxError::unsupported("a subquery as the arguments").at(at.end));
        }
        ast::FunctionArguments::List(list) => list,
    };
    let ast::FunctionArgumentList { duplicate_treatment, args, clauses } = arguments;
    if let Some(clause) = clauses.into_iter().next() {
        let what = match clause {
            ast::FunctionArgumentClause::OrderBy(_) => "ORDER BY inside a call",
            ast::FunctionArgumentClause::IgnoreOrRespectNulls(_) => "IGNORE NULLS",
            ast::FunctionArgumentClause::Where(_) => "WHERE inside a call",
            ast::FunctionArgumentClause::Limit(_) => "LIMIT inside a call",
            ast::FunctionArgumentClause::OnOverflow(_) => "ON OVERFLOW",
            ast::FunctionArgumentClause::Having(_) => "HAVING inside a call",
            ast::FunctionArgumentClause::Separator(_) => "SEPARATOR",
            ast::FunctionArgumentClause::JsonNullClause(_) => "NULL ON NULL",
            ast::FunctionArgumentClause::JsonReturningClause(_) => "RETURNING inside a call",
        };
        return Err(SyntaxError::unsupported(what).at(at.start));
    }
    call.distinct = match duplicate_treatment {
        Some(ast::DuplicateTreatment::Distinct) => true,
        Some(ast::DuplicateTreatment::All) | None => false,
    };
    for arg in args {
        match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(arg)) => call.args.push(expr(arg, source)?),
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => call.star = true,
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::QualifiedWildcard(_)) => {
                return Err(SyntaxError::unsupported("t.* as an argument").at(at.start));
            }
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::WildcardWithOptions(_)) => {
                return Err(SyntaxError::unsupported("* with options as an argument").at(at.start));
            }
            ast::FunctionArg::Named { name: _, arg: _, operator: _ }
            | ast::FunctionArg::ExprNamed { name: _, arg: _, operator: _ } => {
                return Err(SyntaxError::unsupported("named arguments").at(at.start));
            }
        }
    }
    if call.star && !call.args.is_empty() {
        return Err(source.near(at.end));
    }
    let inside = call.args.iter().map(|arg| arg.at).fold(at, Span::to);
    let mut end = source.find(inside.end, ")").unwrap_or(inside);
    if let Some(filter) = filter {
        let filter = expr(*filter, source)?;
        end = source.find(filter.at.end, ")").unwrap_or(end);
        call.filter = Some(Box::new(filter));
    }
    Ok((call, at.to(end)))
}

fn call(function: ast::Function, source: &Source<'_>) -> Result<Expr, SyntaxError> {
    let (call, at) = function_call(function, source)?;
    let point = call.name.at().start;
    Ok(node(ExprKind::Call(Box::new(call)), at, point))
}

/// `ARRAY(query)`, which the library hands over as a call; any other call.
pub(super) fn array_subquery(mut function: ast::Function, source: &Source<'_>) -> Result<Expr, SyntaxError> {
    use sqlparser::ast::Spanned;
    let is_array = matches!(function.name.0.as_slice(), [ast::ObjectNamePart::Identifier(name)]
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("array"));
    let args = std::mem::replace(&mut function.args, ast::FunctionArguments::None);
    match args {
        ast::FunctionArguments::Subquery(inner) if is_array => {
            let word = source.span(function.name.span());
            let inner = boxed_query(*inner, source)?;
            let at = word.to(inner.at);
            Ok(node(ExprKind::ArraySubquery(inner), at, at.start))
        }
        args => call(ast::Function { args, ..function }, source),
    }
}

/// A call of a built-in function that has no name of its own in the text.
pub(super) fn builtin(function: &str, args: Vec<Expr>, at: Span, point: u32) -> Expr {
    let name = Name { text: function.to_string(), at: Span { start: point, end: point } };
    let call = Call::plain(QualifiedName { schema: None, name }, args);
    node(ExprKind::Call(Box::new(call)), at, point)
}

/// A call in keyword form: from its word to its closing parenthesis.
pub(super) fn keyword_call(function: &str, word: Option<Span>, args: Vec<Expr>, source: &Source<'_>) -> Expr {
    let inside = args.iter().map(|arg| arg.at).reduce(Span::to).unwrap_or_default();
    let start = word.unwrap_or(inside);
    let end = source.find(inside.end, ")").unwrap_or(inside);
    builtin(function, args, start.to(end), start.start)
}

pub(super) fn rounding(
    function: &str,
    arg: ast::Expr,
    field: ast::CeilFloorKind,
    source: &Source<'_>,
) -> Result<Expr, SyntaxError> {
    let arg = expr(arg, source)?;
    match field {
        ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => {}
        ast::CeilFloorKind::DateTimeField(_) | ast::CeilFloorKind::Scale(_) => {
            return Err(SyntaxError::unsupported("a scale of CEIL or FLOOR").at(arg.at.end));
        }
    }
    let start = source.find_back(arg.at.start, &[function], 2);
    Ok(keyword_call(function, start, vec![arg], source))
}

/// Names with dots, for assignments.
pub(in super::super) fn one_name(object: ast::ObjectName, source: &Source<'_>) -> Result<Name, SyntaxError> {
    let mut parts = names(object, source)?;
    match (parts.len(), parts.pop()) {
        (1, Some(name)) => Ok(name),
        (_, Some(name)) => Err(SyntaxError::unsupported("a qualified column as a target").at(name.at.start)),
        (_, None) => Err(SyntaxError::syntax("syntax error: empty name")),
    }
}
