//! Expressions.

mod call;
mod literal;
mod operator;

pub(super) use call::{function_call, one_name};

use sqlparser::ast::{self, BinaryOperator};
use verso_types::SqlType;

use self::call::{array_subquery, builtin, keyword_call, rounding};
use self::literal::{cast, literal, start_of_type, typed};
use self::operator::{binary, distinct, in_subquery, like, quantified, signed_powers, test, truth, unary};
use super::super::source::Source;
use super::{data_type, name};
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, Literal, Name, Query, Span};

/// Lowers an expression. Left-deep chains of operators are walked in a loop; what recurses is bounded by the parser.
pub fn expr(expr: ast::Expr, source: &Source<'_>) -> Result<Expr, SyntaxError> {
    let mut rights = Vec::new();
    let mut left = signed_powers(expr);
    while let ast::Expr::BinaryOp { left: inner, op, mut right } = left {
        left = *inner;
        if op == BinaryOperator::PGExp {
            // `a ^ -b ^ c`: the sign gives up the power behind it, which then belongs to the whole.
            let mut powers = Vec::new();
            *right = signed_powers(*right);
            while let ast::Expr::BinaryOp { left: base, op: BinaryOperator::PGExp, right: power } = *right {
                powers.push((BinaryOperator::PGExp, *power));
                right = base;
            }
            rights.extend(powers);
        }
        rights.push((op, *right));
        left = signed_powers(left);
    }
    let mut result = single(left, source)?;
    while let Some((op, right)) = rights.pop() {
        result = binary(result, op, right, source)?;
    }
    Ok(result)
}

fn boxed(arg: ast::Expr, source: &Source<'_>) -> Result<Box<Expr>, SyntaxError> {
    expr(arg, source).map(Box::new)
}

fn list(args: Vec<ast::Expr>, source: &Source<'_>) -> Result<Vec<Expr>, SyntaxError> {
    args.into_iter().map(|arg| expr(arg, source)).collect()
}

fn node(kind: ExprKind, at: Span, point: u32) -> Expr {
    Expr { kind, at, point }
}

fn boxed_query(inner: ast::Query, source: &Source<'_>) -> Result<Box<Query>, SyntaxError> {
    super::query(inner, source).map(Box::new)
}

/// Any expression but a binary operator's.
fn single(e: ast::Expr, source: &Source<'_>) -> Result<Expr, SyntaxError> {
    use ast::Expr as E;
    Ok(match e {
        E::Identifier(ident) => column(vec![name(ident, source)]),
        E::CompoundIdentifier(parts) => column(parts.into_iter().map(|part| name(part, source)).collect()),
        E::CompoundFieldAccess { root, access_chain } => access(*root, access_chain, source)?,
        E::IsFalse(arg) => truth(*arg, Some(false), false, source)?,
        E::IsNotFalse(arg) => truth(*arg, Some(false), true, source)?,
        E::IsTrue(arg) => truth(*arg, Some(true), false, source)?,
        E::IsNotTrue(arg) => truth(*arg, Some(true), true, source)?,
        E::IsUnknown(arg) => truth(*arg, None, false, source)?,
        E::IsNotUnknown(arg) => truth(*arg, None, true, source)?,
        E::IsNull(arg) => test(*arg, "null", source, |arg| ExprKind::IsNull { arg, negated: false })?,
        E::IsNotNull(arg) => test(*arg, "null", source, |arg| ExprKind::IsNull { arg, negated: true })?,
        E::IsDistinctFrom(left, right) => distinct(*left, *right, false, source)?,
        E::IsNotDistinctFrom(left, right) => distinct(*left, *right, true, source)?,
        E::InList { expr: arg, list: items, negated } => {
            let arg = boxed(*arg, source)?;
            let point = source.find(arg.at.end, if negated { "not" } else { "in" });
            let items = list(items, source)?;
            let end = items.last().and_then(|last| source.find(last.at.end, ")"));
            let at = end.map_or(arg.at, |end| arg.at.to(end));
            let point = point.map_or(at.start, |point| point.start);
            node(ExprKind::InList { arg, list: items, negated }, at, point)
        }
        E::Between { expr: arg, negated, low, high } => {
            let arg = boxed(*arg, source)?;
            let point = source.find(arg.at.end, "between").map_or(arg.at.start, |point| point.start);
            let (low, high) = (boxed(*low, source)?, boxed(*high, source)?);
            let at = arg.at.to(high.at);
            if source.is_symmetric(point) {
                // PostgreSQL writes it out in the same way: either order will do.
                let (a, b) = (arg.clone(), (high.clone(), low.clone()));
                let one = node(ExprKind::Between { arg, low, high, negated }, at, point);
                let other = node(ExprKind::Between { arg: a, low: b.0, high: b.1, negated }, at, point);
                let both = vec![one, other];
                return Ok(node(if negated { ExprKind::And(both) } else { ExprKind::Or(both) }, at, point));
            }
            node(ExprKind::Between { arg, low, high, negated }, at, point)
        }
        E::BinaryOp { left, op, right } => binary(expr(*left, source)?, op, *right, source)?,
        E::Like { negated, any, expr, pattern, escape_char } => {
            like(any, *expr, *pattern, escape_char, (negated, false), source)?
        }
        E::ILike { negated, any, expr, pattern, escape_char } => {
            like(any, *expr, *pattern, escape_char, (negated, true), source)?
        }
        E::UnaryOp { op, expr } => unary(op, *expr, source)?,
        E::Cast { kind, expr: arg, data_type: ty, format } => {
            let arg = boxed(*arg, source)?;
            if format.is_some() {
                return Err(SyntaxError::unsupported("CAST … FORMAT").at(arg.at.start));
            }
            cast(kind, arg, &ty, source)?
        }
        E::AtTimeZone { timestamp, time_zone } => {
            let (value, zone) = (expr(*timestamp, source)?, expr(*time_zone, source)?);
            let point = source.find(value.at.end, "at").map_or(value.at.start, |point| point.start);
            let at = value.at.to(zone.at);
            builtin("timezone", vec![zone, value], at, point)
        }
        E::Extract { field, syntax, expr: arg } => {
            let arg = expr(*arg, source)?;
            if syntax != ast::ExtractSyntax::From {
                return Err(source.near(arg.at.start));
            }
            let start = source.find_back(arg.at.start, &["extract"], 4);
            let field = field.to_string().trim_matches('\'').to_lowercase();
            let field = node(ExprKind::Literal(Literal::String(field)), arg.at, arg.at.start);
            keyword_call("extract", start, vec![field, arg], source)
        }
        E::Ceil { expr: arg, field } => rounding("ceil", *arg, field, source)?,
        E::Floor { expr: arg, field } => rounding("floor", *arg, field, source)?,
        E::Position { expr: what, r#in: text } => {
            let (what, text) = (expr(*what, source)?, expr(*text, source)?);
            let start = source.find_back(what.at.start, &["position"], 2);
            // The built-in function takes them the other way round.
            keyword_call("position", start, vec![text, what], source)
        }
        E::Substring { expr: arg, substring_from, substring_for, special: _, shorthand: _ } => {
            let mut args = vec![expr(*arg, source)?];
            let start = source.find_back(args[0].at.start, &["substring", "substr"], 2);
            match (substring_from, substring_for) {
                (Some(from), length) => {
                    args.push(expr(*from, source)?);
                    if let Some(length) = length {
                        args.push(expr(*length, source)?);
                    }
                }
                (None, Some(length)) => {
                    let at = args[0].at;
                    args.push(node(ExprKind::Literal(Literal::Number("1".into())), at, at.start));
                    args.push(expr(*length, source)?);
                }
                (None, None) => {}
            }
            let word = start.map_or("substring", |start| match source.slice(start).len() {
                6 => "substr",
                _ => "substring",
            });
            keyword_call(word, start, args, source)
        }
        E::Trim { expr: arg, trim_where, trim_what, trim_characters } => {
            let mut args = vec![expr(*arg, source)?];
            if let Some(what) = trim_what {
                args.push(expr(*what, source)?);
            }
            args.extend(list(trim_characters.unwrap_or_default(), source)?);
            let first = args.iter().map(|arg| arg.at.start).min().unwrap_or_default();
            let start = source.find_back(first, &["trim"], 4);
            let function = match trim_where {
                None | Some(ast::TrimWhereField::Both) => "btrim",
                Some(ast::TrimWhereField::Leading) => "ltrim",
                Some(ast::TrimWhereField::Trailing) => "rtrim",
            };
            keyword_call(function, start, args, source)
        }
        E::Overlay { expr: arg, overlay_what, overlay_from, overlay_for } => {
            let mut args =
                vec![expr(*arg, source)?, expr(*overlay_what, source)?, expr(*overlay_from, source)?];
            if let Some(length) = overlay_for {
                args.push(expr(*length, source)?);
            }
            let start = source.find_back(args[0].at.start, &["overlay"], 2);
            keyword_call("overlay", start, args, source)
        }
        E::Nested(inner) => {
            let mut inner = expr(*inner, source)?;
            let open = source.find_back(inner.at.start, &["("], 1);
            let close = source.find(inner.at.end, ")");
            inner.at = open.into_iter().chain(close).fold(inner.at, Span::to);
            // Parentheses end a chain: (a AND b) AND c keeps its shape but stays flat anyway.
            inner
        }
        E::Value(value) => literal(value, source)?,
        E::TypedString(ast::TypedString { data_type: ty, value, uses_odbc_syntax }) => {
            let arg = Box::new(literal(value, source)?);
            if uses_odbc_syntax {
                return Err(SyntaxError::unsupported("the ODBC escape {…}").at(arg.at.start));
            }
            let start = start_of_type(arg.at.start, source);
            typed(data_type(&ty, start)?, arg, start)
        }
        E::Interval(interval) => {
            let ast::Interval {
                value,
                leading_field,
                leading_precision,
                last_field,
                fractional_seconds_precision,
            } = interval;
            let arg = boxed(*value, source)?;
            let qualified = leading_field.is_some()
                || leading_precision.is_some()
                || last_field.is_some()
                || fractional_seconds_precision.is_some();
            if qualified {
                return Err(SyntaxError::unsupported("a field behind an INTERVAL literal").at(arg.at.end));
            }
            if !matches!(arg.kind, ExprKind::Literal(Literal::String(_))) {
                return Err(source.near(arg.at.start));
            }
            let start = start_of_type(arg.at.start, source);
            typed(SqlType::Interval, arg, start)
        }
        E::Function(function) => return array_subquery(function, source),
        E::Case { case_token, end_token, operand, conditions, else_result } => {
            let at = source.span(case_token.0.span).to(source.span(end_token.0.span));
            let branch =
                |ast::CaseWhen { condition, result }| Ok((expr(condition, source)?, expr(result, source)?));
            let kind = ExprKind::Case {
                operand: operand.map(|operand| boxed(*operand, source)).transpose()?,
                branches: conditions.into_iter().map(branch).collect::<Result<_, SyntaxError>>()?,
                otherwise: else_result.map(|result| boxed(*result, source)).transpose()?,
            };
            node(kind, at, at.start)
        }
        E::Array(ast::Array { elem, named }) => {
            let elements = list(elem, source)?;
            let first = elements.first().map_or(0, |first| first.at.start);
            let behind = if elements.is_empty() { source.end() } else { first };
            let start = source
                .find_back(behind, &["array"], if elements.is_empty() { usize::MAX } else { 3 })
                .map_or(first, |start| start.start);
            if !named {
                return Err(source.near(start));
            }
            let end = elements.last().map_or(first, |last| last.at.end);
            node(ExprKind::Array(elements), Span { start, end }, start)
        }

        // ── what Verso does not have, yet ────────────────────────────────────────────────────────────────────────
        E::IsJson { expr, kind: _, unique_keys: _, negated: _ } => return refused("IS JSON", *expr, source),
        E::IsNormalized { expr, form: _, negated: _ } => return refused("IS NORMALIZED", *expr, source),
        E::InSubquery { expr: arg, subquery, negated } => {
            return in_subquery(*arg, *subquery, negated, source);
        }
        E::InUnnest { expr, array_expr: _, negated: _ } => return refused("IN UNNEST", *expr, source),
        E::SimilarTo { negated: _, expr, pattern: _, escape_char: _ } => {
            return refused("SIMILAR TO", *expr, source);
        }
        E::RLike { negated: _, expr, pattern: _, regexp: _ } => return refused("RLIKE", *expr, source),
        E::AnyOp { left, compare_op, right, is_some: _ } => {
            return match (compare_op, *right) {
                (BinaryOperator::Eq, E::Subquery(query)) => in_subquery(*left, *query, false, source),
                (_, E::Subquery(_)) => refused("ANY", *left, source),
                (op, array) => quantified(*left, &op, "ANY", array, source),
            };
        }
        E::AllOp { left, compare_op, right } => {
            return match (compare_op, *right) {
                (BinaryOperator::NotEq, E::Subquery(query)) => in_subquery(*left, *query, true, source),
                (_, E::Subquery(_)) => refused("ALL", *left, source),
                (op, array) => quantified(*left, &op, "ALL", array, source),
            };
        }
        E::Collate { expr, collation: _ } => return refused("COLLATE", *expr, source),
        E::JsonAccess { value, path: _ } => return refused("JSON access", *value, source),
        E::Convert { is_try: _, expr, data_type: _, charset: _, target_before_value: _, styles: _ } => {
            return refused("CONVERT", *expr, source);
        }
        E::Prefixed { prefix, value: _ } => {
            return Err(SyntaxError::unsupported("a prefixed literal").at(source.span(prefix.span).start));
        }
        E::Named { expr, name: _ } => return refused("a name inside an expression", *expr, source),
        E::OuterJoin(inner) => return refused("(+)", *inner, source),
        E::Prior(inner) => return refused("PRIOR", *inner, source),
        E::Exists { subquery, negated } => {
            let inner = boxed_query(*subquery, source)?;
            let word = source.find_back(inner.at.start, &["exists"], 2).unwrap_or(inner.at);
            let at = word.to(inner.at);
            let exists = node(ExprKind::Exists(inner), at, at.start);
            return Ok(if negated { node(ExprKind::Not(Box::new(exists)), at, at.start) } else { exists });
        }
        E::Subquery(inner) => {
            let inner = boxed_query(*inner, source)?;
            let at = source.find_back(inner.at.start, &["("], 1).unwrap_or(inner.at).to(inner.at);
            return Ok(node(ExprKind::Subquery(inner), at, at.start));
        }
        E::Tuple(items) => return refused_list("a row expression", items, source),
        E::GroupingSets(sets) => return refused_list("GROUPING SETS", sets.concat(), source),
        E::Cube(sets) => return refused_list("CUBE", sets.concat(), source),
        E::Rollup(sets) => return refused_list("ROLLUP", sets.concat(), source),
        E::Struct { values, fields: _ } => return refused_list("STRUCT", values, source),
        E::Dictionary(_) => return Err(SyntaxError::unsupported("a dictionary literal")),
        E::Map(_) => return Err(SyntaxError::unsupported("MAP")),
        E::MatchAgainst { columns: _, match_value: _, opt_search_modifier: _ } => {
            return Err(SyntaxError::unsupported("MATCH AGAINST"));
        }
        E::Wildcard(token) => return Err(source.near(source.span(token.0.span).start)),
        E::QualifiedWildcard(_, token) => return Err(source.near(source.span(token.0.span).start)),
        E::Lambda(_) => return Err(SyntaxError::unsupported("a lambda function")),
        E::MemberOf(ast::MemberOf { value, array: _ }) => return refused("MEMBER OF", *value, source),
    })
}

/// `0A000` for something that stands behind or around `inner`.
fn refused(what: &str, inner: ast::Expr, source: &Source<'_>) -> Result<Expr, SyntaxError> {
    let inner = expr(inner, source)?;
    let word = what.split(' ').next().unwrap_or(what);
    let at = source.find(inner.at.end, word).or(source.find_back(inner.at.start, &[word], 3));
    Err(SyntaxError::unsupported(what).at(at.unwrap_or(inner.at).start))
}

fn refused_list(what: &str, items: Vec<ast::Expr>, source: &Source<'_>) -> Result<Expr, SyntaxError> {
    let error = SyntaxError::unsupported(what);
    match items.into_iter().next() {
        Some(first) => Err(error.at(expr(first, source)?.at.start)),
        None => Err(error),
    }
}

fn column(parts: Vec<Name>) -> Expr {
    let at = parts
        .iter()
        .skip(1)
        .fold(parts.first().map(|part| part.at).unwrap_or_default(), |at, part| at.to(part.at));
    // DEFAULT is a reserved word, so an unquoted one is no column. The library hands it over as a name.
    if let [only] = parts.as_slice()
        && only.text == "default"
        && at.end - at.start == 7
    {
        return node(ExprKind::Default, at, at.start);
    }
    node(ExprKind::Column(parts), at, at.start)
}

fn access(root: ast::Expr, chain: Vec<ast::AccessExpr>, source: &Source<'_>) -> Result<Expr, SyntaxError> {
    let mut array = expr(root, source)?;
    for step in chain {
        let open = array.at.end;
        match step {
            ast::AccessExpr::Subscript(ast::Subscript::Index { index }) => {
                let index = boxed(index, source)?;
                let end = source.find(index.at.end, "]").unwrap_or(index.at);
                let (at, point) = (array.at.to(end), array.at.start);
                array = node(ExprKind::Subscript { array: Box::new(array), index }, at, point);
            }
            ast::AccessExpr::Subscript(ast::Subscript::Slice {
                lower_bound: _,
                upper_bound: _,
                stride: _,
            }) => {
                return Err(SyntaxError::unsupported("an array slice").at(open));
            }
            ast::AccessExpr::Dot(_) => {
                return Err(SyntaxError::unsupported("a field of a composite value").at(open));
            }
        }
    }
    Ok(array)
}
