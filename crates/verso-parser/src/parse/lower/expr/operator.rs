//! Operators and tests: `+`, AND, IN (query), IS NULL, LIKE.

use sqlparser::ast::{self, BinaryOperator, UnaryOperator};

use super::super::super::source::Source;
use super::{boxed, boxed_query, expr, list, node, refused};
use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, Literal};

pub(super) fn binary(
    left: Expr,
    op: BinaryOperator,
    right: ast::Expr,
    source: &Source<'_>,
) -> Result<Expr, SyntaxError> {
    let text = match &op {
        BinaryOperator::PGCustomBinaryOperator(_) => {
            return Err(SyntaxError::unsupported("OPERATOR(…)").at(left.at.end));
        }
        BinaryOperator::Overlaps => return Err(SyntaxError::unsupported("OVERLAPS").at(left.at.end)),
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

/// `a = ANY (array)`: an operator named `= ANY`.
pub(super) fn quantified(
    left: ast::Expr,
    op: &BinaryOperator,
    word: &str,
    array: ast::Expr,
    source: &Source<'_>,
) -> Result<Expr, SyntaxError> {
    let (left, right) = (expr(left, source)?, expr(array, source)?);
    let symbol = op.to_string();
    let point = source.find(left.at.end, &symbol).map_or(left.at.end, |found| found.start);
    let at = left.at.to(right.at);
    let op = format!("{symbol} {word}");
    Ok(node(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, at, point))
}

/// `a IN (query)`; on its left one value or a row of them.
pub(super) fn in_subquery(
    arg: ast::Expr,
    inner: ast::Query,
    negated: bool,
    source: &Source<'_>,
) -> Result<Expr, SyntaxError> {
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
pub(super) fn test(
    arg: ast::Expr,
    keyword: &str,
    source: &Source<'_>,
    kind: impl FnOnce(Box<Expr>) -> ExprKind,
) -> Result<Expr, SyntaxError> {
    let arg = boxed(arg, source)?;
    let found = source.find(arg.at.end, keyword);
    let at = found.map_or(arg.at, |found| arg.at.to(found));
    let point = found.map_or(arg.at.start, |found| found.start);
    Ok(node(kind(arg), at, point))
}

pub(super) fn truth(
    arg: ast::Expr,
    truth: Option<bool>,
    negated: bool,
    source: &Source<'_>,
) -> Result<Expr, SyntaxError> {
    let mut result = test(arg, "is", source, |arg| ExprKind::IsTruth { arg, truth, negated })?;
    result.point = result.at.start; // where PostgreSQL points when the argument is no boolean
    Ok(result)
}

pub(super) fn distinct(
    left: ast::Expr,
    right: ast::Expr,
    negated: bool,
    source: &Source<'_>,
) -> Result<Expr, SyntaxError> {
    let (left, right) = (boxed(left, source)?, boxed(right, source)?);
    let point = source.find(left.at.end, "is").map_or(left.at.end, |point| point.start);
    let at = left.at.to(right.at);
    Ok(node(ExprKind::IsDistinct { left, right, negated }, at, point))
}

pub(super) fn like(
    any: bool,
    arg: ast::Expr,
    pattern: ast::Expr,
    escape: Option<Box<ast::Expr>>,
    (negated, case_insensitive): (bool, bool),
    source: &Source<'_>,
) -> Result<Expr, SyntaxError> {
    let arg = boxed(arg, source)?;
    let word = if case_insensitive { "ilike" } else { "like" };
    let point =
        source.find(arg.at.end, if negated { "not" } else { word }).map_or(arg.at.end, |point| point.start);
    if any {
        return Err(SyntaxError::unsupported("LIKE ANY").at(point));
    }
    let pattern = boxed(pattern, source)?;
    let escape = escape.map(|escape| boxed(*escape, source)).transpose()?;
    let at = arg.at.to(escape.as_ref().unwrap_or(&pattern).at);
    Ok(node(ExprKind::Like { arg, pattern, escape, negated, case_insensitive }, at, point))
}

pub(super) fn unary(op: UnaryOperator, arg: ast::Expr, source: &Source<'_>) -> Result<Expr, SyntaxError> {
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

/// In PostgreSQL a sign binds tighter than `^`; in the library it is the other way round: `-2 ^ 2` is `(-2) ^ 2`.
pub(super) fn signed_powers(expr: ast::Expr) -> ast::Expr {
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
