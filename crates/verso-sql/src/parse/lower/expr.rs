//! Expressions.

use sqlparser::ast::{self, BinaryOperator, UnaryOperator, Value};
use sqlparser::tokenizer::Span as TokenSpan;
use verso_types::SqlType;

use super::super::source::Source;
use super::{data_type, name, names, qualified};
use crate::errors::SqlError;
use crate::syntax::{Call, Expr, ExprKind, Literal, Name, QualifiedName, Query, Span};

/// Lowers an expression. Left-deep chains of operators are walked in a loop; what recurses is bounded by the parser.
pub fn expr(expr: ast::Expr, source: &Source<'_>) -> Result<Expr, SqlError> {
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

/// In PostgreSQL a sign binds tighter than `^`; in the library it is the other way round: `-2 ^ 2` is `(-2) ^ 2`.
fn signed_powers(expr: ast::Expr) -> ast::Expr {
    let ast::Expr::UnaryOp { op: sign @ (UnaryOperator::Minus | UnaryOperator::Plus), expr: arg } = expr
    else {
        return expr;
    };
    let mut base = signed_powers(*arg);
    let mut powers = Vec::new();
    while let ast::Expr::BinaryOp { left, op: BinaryOperator::PGExp, right } = base {
        powers.push(right);
        base = *left;
    }
    let signed = ast::Expr::UnaryOp { op: sign, expr: Box::new(base) };
    powers.into_iter().rev().fold(signed, |left, right| ast::Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::PGExp,
        right,
    })
}

fn boxed(arg: ast::Expr, source: &Source<'_>) -> Result<Box<Expr>, SqlError> {
    expr(arg, source).map(Box::new)
}

fn list(args: Vec<ast::Expr>, source: &Source<'_>) -> Result<Vec<Expr>, SqlError> {
    args.into_iter().map(|arg| expr(arg, source)).collect()
}

fn node(kind: ExprKind, at: Span, point: u32) -> Expr {
    Expr { kind, at, point }
}

fn binary(left: Expr, op: BinaryOperator, right: ast::Expr, source: &Source<'_>) -> Result<Expr, SqlError> {
    let text = match &op {
        BinaryOperator::PGCustomBinaryOperator(_) => {
            return Err(SqlError::unsupported("OPERATOR(…)").at(left.at.end));
        }
        BinaryOperator::Overlaps => return Err(SqlError::unsupported("OVERLAPS").at(left.at.end)),
        // An operator is a name and nothing else: one that does not exist is found out by its types (42883).
        op => op.to_string(),
    };
    let right = expr(right, source)?;
    let spelled = if text == "<>" { source.find(left.at.end, "!=") } else { None };
    let point = source.find(left.at.end, &text).or(spelled);
    let point = match (point, spelled) {
        (Some(a), Some(b)) => a.start.min(b.start),
        (Some(a), None) => a.start,
        _ => left.at.end,
    };
    let at = left.at.to(right.at);
    let kind = match op {
        BinaryOperator::And => match left.kind {
            ExprKind::And(mut all) => {
                all.push(right);
                ExprKind::And(all)
            }
            _ => ExprKind::And(vec![left, right]),
        },
        BinaryOperator::Or => match left.kind {
            ExprKind::Or(mut all) => {
                all.push(right);
                ExprKind::Or(all)
            }
            _ => ExprKind::Or(vec![left, right]),
        },
        _ => ExprKind::Binary { op: text, left: Box::new(left), right: Box::new(right) },
    };
    Ok(node(kind, at, point))
}

fn boxed_query(inner: ast::Query, source: &Source<'_>) -> Result<Box<Query>, SqlError> {
    super::query(inner, source).map(Box::new)
}

/// `a IN (query)`; on its left one value or a row of them.
fn in_subquery(
    arg: ast::Expr,
    inner: ast::Query,
    negated: bool,
    source: &Source<'_>,
) -> Result<Expr, SqlError> {
    let args = match arg {
        ast::Expr::Tuple(items) => list(items, source)?,
        arg => vec![expr(arg, source)?],
    };
    let query = boxed_query(inner, source)?;
    let start = args.first().map_or(query.at, |arg| arg.at);
    let end = args.last().map_or(start.end, |arg| arg.at.end);
    let point = source.find(end, "in").filter(|word| word.start < query.at.start);
    let point = point.or_else(|| source.find(end, "not")).map_or(start.start, |word| word.start);
    let at = start.to(query.at);
    Ok(node(ExprKind::InSubquery { args, query, negated }, at, point))
}

/// A test behind its argument, such as `IS NULL`; `keyword` is looked for behind the argument.
fn test(
    arg: ast::Expr,
    keyword: &str,
    source: &Source<'_>,
    kind: impl FnOnce(Box<Expr>) -> ExprKind,
) -> Result<Expr, SqlError> {
    let arg = boxed(arg, source)?;
    let found = source.find(arg.at.end, keyword);
    let at = found.map_or(arg.at, |found| arg.at.to(found));
    let point = found.map_or(arg.at.start, |found| found.start);
    Ok(node(kind(arg), at, point))
}

fn truth(arg: ast::Expr, truth: Option<bool>, negated: bool, source: &Source<'_>) -> Result<Expr, SqlError> {
    let mut result = test(arg, "is", source, |arg| ExprKind::IsTruth { arg, truth, negated })?;
    result.point = result.at.start; // where PostgreSQL points when the argument is no boolean
    Ok(result)
}

/// Any expression but a binary operator's.
fn single(e: ast::Expr, source: &Source<'_>) -> Result<Expr, SqlError> {
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
                return Err(SqlError::unsupported("CAST … FORMAT").at(arg.at.start));
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
                return Err(SqlError::unsupported("the ODBC escape {…}").at(arg.at.start));
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
                return Err(SqlError::unsupported("a field behind an INTERVAL literal").at(arg.at.end));
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
                branches: conditions.into_iter().map(branch).collect::<Result<_, SqlError>>()?,
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
                _ => refused("ANY", *left, source),
            };
        }
        E::AllOp { left, compare_op, right } => {
            return match (compare_op, *right) {
                (BinaryOperator::NotEq, E::Subquery(query)) => in_subquery(*left, *query, true, source),
                _ => refused("ALL", *left, source),
            };
        }
        E::Collate { expr, collation: _ } => return refused("COLLATE", *expr, source),
        E::JsonAccess { value, path: _ } => return refused("JSON access", *value, source),
        E::Convert { is_try: _, expr, data_type: _, charset: _, target_before_value: _, styles: _ } => {
            return refused("CONVERT", *expr, source);
        }
        E::Prefixed { prefix, value: _ } => {
            return Err(SqlError::unsupported("a prefixed literal").at(source.span(prefix.span).start));
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
        E::Dictionary(_) => return Err(SqlError::unsupported("a dictionary literal")),
        E::Map(_) => return Err(SqlError::unsupported("MAP")),
        E::MatchAgainst { columns: _, match_value: _, opt_search_modifier: _ } => {
            return Err(SqlError::unsupported("MATCH AGAINST"));
        }
        E::Wildcard(token) => return Err(source.near(source.span(token.0.span).start)),
        E::QualifiedWildcard(_, token) => return Err(source.near(source.span(token.0.span).start)),
        E::Lambda(_) => return Err(SqlError::unsupported("a lambda function")),
        E::MemberOf(ast::MemberOf { value, array: _ }) => return refused("MEMBER OF", *value, source),
    })
}

/// `0A000` for something that stands behind or around `inner`.
fn refused(what: &str, inner: ast::Expr, source: &Source<'_>) -> Result<Expr, SqlError> {
    let inner = expr(inner, source)?;
    let word = what.split(' ').next().unwrap_or(what);
    let at = source.find(inner.at.end, word).or(source.find_back(inner.at.start, &[word], 3));
    Err(SqlError::unsupported(what).at(at.unwrap_or(inner.at).start))
}

fn refused_list(what: &str, items: Vec<ast::Expr>, source: &Source<'_>) -> Result<Expr, SqlError> {
    let error = SqlError::unsupported(what);
    match items.into_iter().next() {
        Some(first) => Err(error.at(expr(first, source)?.at.start)),
        None => Err(error),
    }
}

/// `ARRAY(query)`, which the library hands over as a call; any other call.
fn array_subquery(mut function: ast::Function, source: &Source<'_>) -> Result<Expr, SqlError> {
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

fn access(root: ast::Expr, chain: Vec<ast::AccessExpr>, source: &Source<'_>) -> Result<Expr, SqlError> {
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
                return Err(SqlError::unsupported("an array slice").at(open));
            }
            ast::AccessExpr::Dot(_) => {
                return Err(SqlError::unsupported("a field of a composite value").at(open));
            }
        }
    }
    Ok(array)
}

fn distinct(left: ast::Expr, right: ast::Expr, negated: bool, source: &Source<'_>) -> Result<Expr, SqlError> {
    let (left, right) = (boxed(left, source)?, boxed(right, source)?);
    let point = source.find(left.at.end, "is").map_or(left.at.end, |point| point.start);
    let at = left.at.to(right.at);
    Ok(node(ExprKind::IsDistinct { left, right, negated }, at, point))
}

fn like(
    any: bool,
    arg: ast::Expr,
    pattern: ast::Expr,
    escape: Option<Box<ast::Expr>>,
    (negated, case_insensitive): (bool, bool),
    source: &Source<'_>,
) -> Result<Expr, SqlError> {
    let arg = boxed(arg, source)?;
    let word = if case_insensitive { "ilike" } else { "like" };
    let point =
        source.find(arg.at.end, if negated { "not" } else { word }).map_or(arg.at.end, |point| point.start);
    if any {
        return Err(SqlError::unsupported("LIKE ANY").at(point));
    }
    let pattern = boxed(pattern, source)?;
    let escape = escape.map(|escape| boxed(*escape, source)).transpose()?;
    let at = arg.at.to(escape.as_ref().unwrap_or(&pattern).at);
    Ok(node(ExprKind::Like { arg, pattern, escape, negated, case_insensitive }, at, point))
}

fn unary(op: UnaryOperator, arg: ast::Expr, source: &Source<'_>) -> Result<Expr, SqlError> {
    let text = match op {
        UnaryOperator::Not | UnaryOperator::BangNot => {
            let arg = boxed(arg, source)?;
            let start = source.find_back(arg.at.start, &["not", "!"], 1).unwrap_or(arg.at);
            let at = start.to(arg.at);
            return Ok(node(ExprKind::Not(arg), at, start.start));
        }
        UnaryOperator::Plus => "+",
        UnaryOperator::Minus => "-",
        UnaryOperator::BitwiseNot => "~",
        UnaryOperator::PGAbs => "@",
        UnaryOperator::PGSquareRoot => "|/",
        UnaryOperator::PGCubeRoot => "||/",
        UnaryOperator::PGPrefixFactorial => "!!",
        UnaryOperator::AtDashAt => "@-@",
        UnaryOperator::DoubleAt => "@@",
        UnaryOperator::Hash => "#",
        UnaryOperator::QuestionDash => "?-",
        UnaryOperator::QuestionPipe => "?|",
        UnaryOperator::PGPostfixFactorial => return refused("!", arg, source),
    };
    let arg = expr(arg, source)?;
    let start = source.find_back(arg.at.start, &[text], 1).unwrap_or(arg.at);
    let at = start.to(arg.at);
    // A minus before a number belongs to the number, so that the smallest integers can be written.
    if let (UnaryOperator::Minus, ExprKind::Literal(Literal::Number(digits))) = (op, &arg.kind) {
        let digits = digits.strip_prefix('-').map_or_else(|| format!("-{digits}"), str::to_string);
        return Ok(node(ExprKind::Literal(Literal::Number(digits)), at, start.start));
    }
    Ok(node(ExprKind::Unary { op: text.to_string(), arg: Box::new(arg) }, at, start.start))
}

fn cast(
    kind: ast::CastKind,
    arg: Box<Expr>,
    ty: &ast::DataType,
    source: &Source<'_>,
) -> Result<Expr, SqlError> {
    match kind {
        ast::CastKind::Cast => {
            let start = source.find_back(arg.at.start, &["cast"], 2).unwrap_or(arg.at);
            let word = source.find(arg.at.end, "as").unwrap_or(arg.at);
            let ty = data_type(ty, source.token_behind(word.end))?;
            let end = source.find(word.end, ")").unwrap_or(word);
            let at = start.to(end);
            Ok(node(ExprKind::Cast { arg, ty, at_type: start.start }, at, start.start))
        }
        ast::CastKind::DoubleColon => {
            let colons = source.find(arg.at.end, "::").unwrap_or(arg.at);
            let type_start = source.token_behind(colons.end);
            let ty = data_type(ty, type_start)?;
            let at = arg.at.to(Span { start: type_start, end: type_start + 1 });
            Ok(node(ExprKind::Cast { arg, ty, at_type: colons.start }, at, colons.start))
        }
        ast::CastKind::TryCast => Err(SqlError::unsupported("TRY_CAST").at(arg.at.start)),
        ast::CastKind::SafeCast => Err(SqlError::unsupported("SAFE_CAST").at(arg.at.start)),
    }
}

/// `DATE '…'`: the type's word stands before the literal.
fn start_of_type(literal: u32, source: &Source<'_>) -> u32 {
    source.token_before(literal)
}

fn typed(ty: SqlType, arg: Box<Expr>, start: u32) -> Expr {
    let at = Span { start, end: arg.at.end };
    node(ExprKind::Cast { arg, ty, at_type: start }, at, start)
}

fn literal(value: ast::ValueWithSpan, source: &Source<'_>) -> Result<Expr, SqlError> {
    let ast::ValueWithSpan { value, span } = value;
    let at = if span == TokenSpan::empty() { Span::default() } else { source.span(span) };
    let kind = match value {
        Value::Number(digits, false) => ExprKind::Literal(Literal::Number(digits)),
        Value::Number(_, true) => return Err(source.near(at.start)),
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::NationalStringLiteral(text) => ExprKind::Literal(Literal::String(text)),
        Value::DollarQuotedString(ast::DollarQuotedString { value, tag: _ }) => {
            ExprKind::Literal(Literal::String(value))
        }
        Value::Boolean(value) => ExprKind::Literal(Literal::Bool(value)),
        Value::Null => ExprKind::Literal(Literal::Null),
        Value::Placeholder(text) => match text.strip_prefix('$').map(str::parse) {
            Some(Ok(number @ 1..=65_535)) => ExprKind::Parameter(number),
            Some(Ok(number)) => {
                let text = format!("there is no parameter ${number}");
                return Err(SqlError::new(crate::errors::sqlstate::UNDEFINED_PARAMETER, text).at(at.start));
            }
            _ => return Err(source.near(at.start)),
        },
        Value::HexStringLiteral(_) | Value::SingleQuotedByteStringLiteral(_) => {
            return Err(SqlError::unsupported("a bit string").at(at.start));
        }
        Value::TripleSingleQuotedString(_)
        | Value::TripleDoubleQuotedString(_)
        | Value::DoubleQuotedByteStringLiteral(_)
        | Value::TripleSingleQuotedByteStringLiteral(_)
        | Value::TripleDoubleQuotedByteStringLiteral(_)
        | Value::SingleQuotedRawStringLiteral(_)
        | Value::DoubleQuotedRawStringLiteral(_)
        | Value::TripleSingleQuotedRawStringLiteral(_)
        | Value::TripleDoubleQuotedRawStringLiteral(_)
        | Value::QuoteDelimitedStringLiteral(_)
        | Value::NationalQuoteDelimitedStringLiteral(_)
        | Value::DoubleQuotedString(_) => return Err(source.near(at.start)),
    };
    Ok(node(kind, at, at.start))
}

/// A call of a built-in function that has no name of its own in the text.
fn builtin(function: &str, args: Vec<Expr>, at: Span, point: u32) -> Expr {
    let name = Name { text: function.to_string(), at: Span { start: point, end: point } };
    let call = Call {
        name: QualifiedName { schema: None, name },
        args,
        star: false,
        distinct: false,
        filter: None,
        keyword: false,
    };
    node(ExprKind::Call(call), at, point)
}

/// A call in keyword form: from its word to its closing parenthesis.
fn keyword_call(function: &str, word: Option<Span>, args: Vec<Expr>, source: &Source<'_>) -> Expr {
    let inside = args.iter().map(|arg| arg.at).reduce(Span::to).unwrap_or_default();
    let start = word.unwrap_or(inside);
    let end = source.find(inside.end, ")").unwrap_or(inside);
    builtin(function, args, start.to(end), start.start)
}

fn rounding(
    function: &str,
    arg: ast::Expr,
    field: ast::CeilFloorKind,
    source: &Source<'_>,
) -> Result<Expr, SqlError> {
    let arg = expr(arg, source)?;
    match field {
        ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => {}
        ast::CeilFloorKind::DateTimeField(_) | ast::CeilFloorKind::Scale(_) => {
            return Err(SqlError::unsupported("a scale of CEIL or FLOOR").at(arg.at.end));
        }
    }
    let start = source.find_back(arg.at.start, &[function], 2);
    Ok(keyword_call(function, start, vec![arg], source))
}

/// A call of a function or aggregate.
pub(super) fn function_call(function: ast::Function, source: &Source<'_>) -> Result<(Call, Span), SqlError> {
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
    super::refuse(&clauses, at.start)?;
    let mut call =
        Call { name, args: Vec::new(), star: false, distinct: false, filter: None, keyword: false };
    let arguments = match args {
        ast::FunctionArguments::None => {
            call.keyword = true;
            return Ok((call, at));
        }
        ast::FunctionArguments::Subquery(_) => {
            return Err(SqlError::unsupported("a subquery as the arguments").at(at.end));
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
        return Err(SqlError::unsupported(what).at(at.start));
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
                return Err(SqlError::unsupported("t.* as an argument").at(at.start));
            }
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::WildcardWithOptions(_)) => {
                return Err(SqlError::unsupported("* with options as an argument").at(at.start));
            }
            ast::FunctionArg::Named { name: _, arg: _, operator: _ }
            | ast::FunctionArg::ExprNamed { name: _, arg: _, operator: _ } => {
                return Err(SqlError::unsupported("named arguments").at(at.start));
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

fn call(function: ast::Function, source: &Source<'_>) -> Result<Expr, SqlError> {
    let (call, at) = function_call(function, source)?;
    let point = call.name.at().start;
    Ok(node(ExprKind::Call(call), at, point))
}

/// Names with dots, for assignments.
pub(super) fn one_name(object: ast::ObjectName, source: &Source<'_>) -> Result<Name, SqlError> {
    let mut parts = names(object, source)?;
    match (parts.len(), parts.pop()) {
        (1, Some(name)) => Ok(name),
        (_, Some(name)) => Err(SqlError::unsupported("a qualified column as a target").at(name.at.start)),
        (_, None) => Err(SqlError::syntax("syntax error: empty name")),
    }
}
