//! Expressions.

use verso_catalog::{extension_of_type, is_operator_of_own_type};
use verso_env::recursion;
use verso_exec::functions::{ArgType, BuiltinFunction, WITH_BLANKS, operator_candidates};
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{CastKind, SqlType, SystemType, Value, cast_kind, unpadded};

use super::Binder;
use super::call::without_sets;
use super::collate::{distinguished_together, refuse_mismatch, searching};
use super::comparable::{self, compares_roughly, is_comparison, is_widened};
use super::context::{Clause, Context};
use super::once::{once, once_if_volatile};
use super::resolve::{self, Declared, Resolution, operator_error, resolve, result_type, shown};
use super::rows_keyed::rows_keyed;
use super::scope::{Meaning, Scope, is_part_of_row, value_type};
use super::subscript::array_over;
use super::table_number::missing;
use super::trace::{Source, Trace, source_of};
use crate::depth::levels;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, ExprKind, Literal, Name, Span};

/// The types in which a value is compared with the elements of an array: those in which the operator compares the two
/// types, where they have no type in common by themselves (`"char" = ANY (text[])`).
fn quantified(op: &str, types: &[SqlType]) -> Option<[SqlType; 2]> {
    let base = op.strip_suffix(" ANY").or_else(|| op.strip_suffix(" ALL"))?;
    let [left, SqlType::Array(element)] = types else { return None };
    let entries = operator_candidates(base);
    let declared: Vec<Declared> = entries.iter().map(|entry| entry.declared(2)).collect();
    match resolve(&declared, &[left.clone(), (**element).clone()], true) {
        Resolution::One(_, to) => match <[SqlType; 2]>::try_from(to).ok()? {
            [left, right] if left == right => Some([left, SqlType::Array(Box::new(right))]),
            _ => None,
        },
        Resolution::None | Resolution::Ambiguous => None,
    }
}

/// The error where the elements of an array do not become of the type of what is compared with them: there is no such operator.
fn no_such_element(error: SqlError, op: &str, types: &[SqlType], point: u32) -> SqlError {
    match types {
        [_, SqlType::Array(_)] if error.sqlstate == sqlstate::CANNOT_COERCE && op.contains(' ') => {
            operator_error(op, types, &Resolution::None).at(point)
        }
        _ => error,
    }
}

/// The row and the function that `t.f` means where `t` has no such column.
pub(crate) fn called_of_row(parts: &[Name]) -> Option<(Expr, &Name)> {
    let (function, table) = parts.split_last()?;
    let (first, last) = (table.first()?, table.last()?);
    // The row of the table, though its columns may be called so, too.
    let star = Name { text: "*".into(), at: last.at };
    let names = table.iter().cloned().chain([star]).collect();
    let at = Span { start: first.at.start, end: last.at.end };
    Some((Expr { kind: ExprKind::Column(names), at, point: at.start }, function))
}

impl Binder<'_> {
    /// Binds an expression; an untyped literal stays `Unknown`.
    pub(super) fn expr(&self, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let bound = self.expr_of_kind(expr, cx)?;
        refuse_mismatch(&bound.collation, expr.at.start)?;
        Ok(bound)
    }

    fn expr_of_kind(&self, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        recursion::check()?;
        let bound = self.untraced(expr, cx)?;
        if let Some(trace) = self.traced {
            trace.expr(expr.at, &bound.ty);
        }
        Ok(bound)
    }

    fn untraced(&self, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        match &expr.kind {
            ExprKind::Column(parts) => self.column(parts, cx),
            ExprKind::Literal(literal) => self.literal(literal, expr.at.start),
            ExprKind::Parameter(number) => {
                let index = (*number as usize).wrapping_sub(1);
                let error = || {
                    SqlError::new(sqlstate::UNDEFINED_PARAMETER, format!("there is no parameter ${number}"))
                        .at(expr.at.start)
                };
                let ty = match self.inference {
                    Some(inference) => inference.refer(index),
                    None => self.parameters.get(index).cloned(),
                };
                let ty = value_type(&ty.ok_or_else(error)?);
                let is_plain = !matches!(ty, SqlType::Unknown | SqlType::Void) && !ty.is_row();
                Ok(match self.values.get(index).filter(|_| is_plain) {
                    Some(value) => TypedExpr::literal(value.clone(), ty),
                    None => TypedExpr::new(K::Parameter(index), ty),
                })
            }
            ExprKind::Unary { op, arg } => {
                let operand = self.expr(arg, cx)?;
                self.notes().for_each(|notes| notes.operands(expr.point, expr.at, &[arg.at]));
                self.operator(op, vec![(operand, arg.at.start)], expr.point)
            }
            ExprKind::Binary { .. } => {
                let chain = self.chain(expr, cx)?;
                Ok(known_range(cx.null_if_strict(chain)))
            }
            ExprKind::And(args) => Ok(TypedExpr::new(K::And(self.booleans(args, "AND", cx)?), SqlType::Bool)),
            ExprKind::Or(args) => Ok(TypedExpr::new(K::Or(self.booleans(args, "OR", cx)?), SqlType::Bool)),
            ExprKind::Not(arg) => {
                let inner = self.expr(arg, cx)?;
                let inner = self.boolean(inner, arg.at.start, "NOT")?;
                Ok(TypedExpr::new(K::Not(Box::new(inner)), SqlType::Bool))
            }
            ExprKind::IsNull { arg, negated } => {
                let by_name = !self.has_doubled_names(arg, cx.scope);
                if let Some(parts) = self.spread(arg, cx.scope).filter(|_| by_name) {
                    // All of its parts, either way.
                    let mut tests = Vec::new();
                    for part in &parts {
                        let bound = self.expr(part, cx)?;
                        let arg = Box::new(self.of_any_type(bound, part.at.start)?);
                        tests.push(TypedExpr::new(K::IsNull { arg, negated: *negated }, SqlType::Bool));
                    }
                    return Ok(TypedExpr::new(K::And(tests), SqlType::Bool));
                }
                let inner = self.expr(arg, cx)?;
                let inner = Box::new(self.of_any_type(inner, arg.at.start)?);
                Ok(TypedExpr::new(K::IsNull { arg: inner, negated: *negated }, SqlType::Bool))
            }
            ExprKind::IsTruth { arg, truth, negated } => {
                let word = match truth {
                    Some(true) => "TRUE",
                    Some(false) => "FALSE",
                    None => "UNKNOWN",
                };
                let not = if *negated { "NOT " } else { "" };
                let inner = self.expr(arg, cx)?;
                let inner = self.boolean(inner, arg.at.start, &format!("IS {not}{word}"))?;
                let kind = K::IsBool { arg: Box::new(inner), value: *truth, negated: *negated };
                Ok(TypedExpr::new(kind, SqlType::Bool))
            }
            ExprKind::IsDistinct { left, right, negated } => {
                let spread = (self.spread(left, cx.scope), self.spread(right, cx.scope));
                if let (Some(left), Some(right)) = spread {
                    return self.distinct_rows(&left, &right, *negated, expr.point, cx);
                }
                let sides =
                    vec![(self.expr(left, cx)?, left.at.start), (self.expr(right, cx)?, right.at.start)];
                let null = |side: &Expr| matches!(side.kind, ExprKind::Literal(Literal::Null));
                if null(left) || null(right) {
                    // It is IS NULL in other words, and needs no `=`. Of a row it is the row that is NULL, not each of its fields.
                    let (other, at) = &sides[usize::from(null(left))];
                    if !matches!(other.ty, SqlType::Row(_) | SqlType::Record) {
                        let arg = Box::new(self.of_any_type(other.clone(), *at)?);
                        return Ok(TypedExpr::new(K::IsNull { arg, negated: !*negated }, SqlType::Bool));
                    }
                }
                if sides.iter().all(|(side, _)| matches!(side.ty, SqlType::Row(_)))
                    && let Some(equal) = self.compare_records("=", &sides, expr.point)?
                {
                    return Ok(distinct_records(sides, equal, *negated));
                }
                self.distinct(sides, *negated, expr.point)
            }
            ExprKind::InList { arg, list, negated } => self.in_list(arg, list, *negated, expr.point, cx),
            // Pair by pair, as each of the two comparisons is by itself.
            ExprKind::Between { arg, low, high, negated } if let ExprKind::Row(parts) = &arg.kind => {
                let parts = self.spread_all(parts, cx.scope);
                let (below, above) = if *negated { ("<", ">") } else { (">=", "<=") };
                let mut tests = Vec::with_capacity(2);
                for (op, bound) in [(below, low), (above, high)] {
                    tests.push(match self.row_operator(op, &parts, bound, expr.point, cx)? {
                        Some(test) => test,
                        None => {
                            let row = (self.expr(arg, cx)?, arg.at.start);
                            let bound = (self.expr(bound, cx)?, bound.at.start);
                            self.operator(op, vec![row, bound], expr.point)?
                        }
                    });
                }
                Ok(TypedExpr::new(if *negated { K::Or(tests) } else { K::And(tests) }, SqlType::Bool))
            }
            ExprKind::Between { arg, low, high, negated } => {
                let value = (self.expr(arg, cx)?, arg.at.start);
                let low = (self.expr(low, cx)?, low.at.start);
                let (below, above) = if *negated { ("<", ">") } else { (">=", "<=") };
                let both = |parts| {
                    TypedExpr::new(if *negated { K::Or(parts) } else { K::And(parts) }, SqlType::Bool)
                };
                if value.0.ty == SqlType::Unknown {
                    // A parameter gets its type from the first comparison, and has it in the second one.
                    let first = cx.null_if_strict(self.operator(below, vec![value, low], expr.point)?);
                    let value = (self.expr(arg, cx)?, arg.at.start);
                    let high = (self.expr(high, cx)?, high.at.start);
                    let second = cx.null_if_strict(self.operator(above, vec![value, high], expr.point)?);
                    return Ok(both(vec![first, second]));
                }
                let high = (self.expr(high, cx)?, high.at.start);
                once(value, |value| {
                    let parts = vec![
                        cx.null_if_strict(self.operator(below, vec![value.clone(), low], expr.point)?),
                        cx.null_if_strict(self.operator(above, vec![value, high], expr.point)?),
                    ];
                    Ok(both(parts))
                })
            }
            ExprKind::Like { arg, pattern, escape, negated, case_insensitive } => {
                let op = match (case_insensitive, negated) {
                    (false, false) => "~~",
                    (false, true) => "!~~",
                    (true, false) => "~~*",
                    (true, true) => "!~~*",
                };
                let bound = [self.expr(arg, cx)?, self.expr(pattern, cx)?];
                let types = [bound[0].ty.clone(), bound[1].ty.clone()];
                let [value, like] = bound;
                if types.contains(&SqlType::Bytea) {
                    let escape = match escape {
                        Some(escape) => Some((self.expr(escape, cx)?, escape.at.start)),
                        None => None,
                    };
                    let (left, right) = ((value.clone(), arg.at.start), (like.clone(), pattern.at.start));
                    if let Some(bytes) = self.like_of_bytes(op, &left, &right, escape.as_ref(), expr.point)? {
                        return Ok(bytes);
                    }
                }
                let fits = |ty: &SqlType| ty.is_text() || resolve::implicit(ty, &SqlType::Text);
                if !types.iter().all(fits) {
                    return Err(operator_error(op, &types, &Resolution::None).at(expr.point));
                }
                let folds = folds_pattern(&types);
                let value =
                    self.coerce(with_blanks(value), arg.at.start, &SqlType::Text, CastKind::Implicit)?;
                let like = self.coerce(like, pattern.at.start, &SqlType::Text, CastKind::Implicit)?;
                let escape = match escape {
                    Some(escape) => {
                        let bound = self.expr(escape, cx)?;
                        Some(Box::new(self.coerce(
                            bound,
                            escape.at.start,
                            &SqlType::Text,
                            CastKind::Implicit,
                        )?))
                    }
                    None => None,
                };
                let kind = K::Like {
                    arg: Box::new(value),
                    pattern: Box::new(like),
                    escape,
                    negated: *negated,
                    case_insensitive: *case_insensitive || folds,
                };
                self.collated_like(TypedExpr::new(kind, SqlType::Bool), expr.point)
            }
            ExprKind::Case { operand, branches, otherwise } => {
                let sets = cx.sets.len();
                let case = self.case(operand.as_deref(), branches, otherwise.as_deref(), cx)?;
                without_sets(cx, sets, "CASE", expr.at.start)?;
                Ok(case)
            }
            ExprKind::Cast { arg, ty, at_type } => match self.data_type(ty) {
                Err(_) if is_unknown(ty) => {
                    let bound = self.expr(arg, cx)?;
                    match bound.ty {
                        // It stays a literal without a type.
                        SqlType::Unknown => Ok(bound),
                        _ => {
                            let text = format!("cannot cast type {} to unknown", shown(&bound.ty));
                            Err(SqlError::new(sqlstate::CANNOT_COERCE, text).at(*at_type))
                        }
                    }
                }
                to => {
                    let to = to?;
                    self.note_made(arg, ty, &to);
                    let then = self.row_then(arg, ty, &to);
                    self.cast(then.as_ref().unwrap_or(arg), &to, *at_type, cx)
                }
            },
            ExprKind::Call(call) => self.call(call, expr, cx),
            ExprKind::Array(elements) => {
                if elements.is_empty() {
                    return Err(SqlError::new(
                        sqlstate::INDETERMINATE_DATATYPE,
                        "cannot determine type of empty array",
                    )
                    .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
                    .at(expr.at.start));
                }
                let bound = self.located(elements, cx)?;
                let (elements, ty) = self.unify(bound, "ARRAY")?;
                Ok(TypedExpr::new(K::Array(elements), array_over(ty)))
            }
            ExprKind::Subscript { .. } | ExprKind::Slice { .. } => self.subscripted(expr, cx),
            ExprKind::Subquery(query) => {
                self.refuse_subquery(cx.clause, expr.point)?;
                self.scalar_subquery(query, expr.at.start, cx)
            }
            ExprKind::Exists(query) => {
                self.refuse_subquery(cx.clause, expr.point)?;
                self.exists(query, cx)
            }
            ExprKind::ArraySubquery(query) => {
                self.refuse_subquery(cx.clause, expr.point)?;
                self.array_subquery(query, expr.at.start, cx)
            }
            ExprKind::InSubquery { args, query, negated } => {
                self.refuse_subquery(cx.clause, expr.point)?;
                self.in_subquery(args, query, *negated, expr.point, cx)
            }
            ExprKind::Field { arg, name } => self.field(arg, name, cx),
            ExprKind::Row(parts) => self.row(parts, cx),
            ExprKind::QuantifiedSubquery { args, op, all, query } => {
                self.refuse_subquery(cx.clause, expr.point)?;
                self.quantified_subquery(op, args, query, *all, expr.point, cx)
            }
            ExprKind::SimilarTo { arg, pattern, escape, negated } => {
                self.similar_to(arg, pattern, escape.as_deref(), *negated, expr.point, cx)
            }
            ExprKind::Collate { arg, collation } => self.collated(arg, collation, expr.point, cx),
            ExprKind::IsJson { arg, kind, unique_keys, negated } => {
                let bound = self.expr(arg, cx)?;
                self.is_json(bound, arg.at.start, *kind, *unique_keys, *negated)
            }
            ExprKind::Json(form) => self.json_form(form, expr, cx),
            ExprKind::Default => {
                Err(SqlError::syntax("DEFAULT is not allowed in this context").at(expr.at.start))
            }
        }
    }

    /// Binds expressions, each with its place.
    pub(super) fn located(
        &self,
        exprs: &[Expr],
        cx: &mut Context<'_>,
    ) -> Result<Vec<(TypedExpr, u32)>, SqlError> {
        exprs.iter().map(|expr| Ok((self.expr(expr, cx)?, expr.at.start))).collect()
    }

    fn booleans(&self, args: &[Expr], word: &str, cx: &mut Context<'_>) -> Result<Vec<TypedExpr>, SqlError> {
        args.iter()
            .map(|arg| {
                let bound = self.expr(arg, cx)?;
                self.boolean(bound, arg.at.start, word)
            })
            .collect()
    }

    fn column(
        &self,
        parts: &[verso_parser::syntax::Name],
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        if cx.clause == Clause::Default && self.variables.is_empty() {
            let at = parts.first().map_or(0, |part| part.at.start);
            let text = "cannot use column reference in DEFAULT expression";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
        }
        if let Some(parts) = self.without_schema(parts, cx.scope) {
            return self.column(&parts, cx);
        }
        if let Some(trace) = self.traced {
            self.trace_column(trace, parts, cx.scope);
        }
        let meaning = match (cx.scope.find(parts, &self.variables), self.outer) {
            (Err(error), _) if error.sqlstate == sqlstate::UNDEFINED_COLUMN && cx.scope.is_table(parts) => {
                return Ok(self.whole_row(parts, cx));
            }
            (Err(error), outer)
                if matches!(error.sqlstate, sqlstate::UNDEFINED_COLUMN | sqlstate::UNDEFINED_TABLE) =>
            {
                let around = match outer.map(|outer| outer.find(parts)).transpose() {
                    // A function of the row of an item further out.
                    Err(error) if error.sqlstate == sqlstate::UNDEFINED_COLUMN => {
                        return self.called_like_column(parts, error, cx);
                    }
                    around => around?.flatten(),
                };
                // What rows of this query's own table have beside their columns goes before a column around it of that name.
                if around.is_some() && missing(&error).is_some_and(|number| !self.numbered.has(number)) {
                    return Err(error);
                }
                if around.is_none() {
                    match self.of_record(parts) {
                        Err(error)
                            if error.sqlstate == sqlstate::UNDEFINED_COLUMN
                                && self.is_sql_variable(parts) =>
                        {
                            return self.called_like_column(parts, error, cx);
                        }
                        Ok(None) => {}
                        found => return found?.ok_or(error),
                    }
                }
                // `t.*` as a value is the whole row
                if around.is_none()
                    && let Some((star, table)) = parts.split_last()
                    && star.text == "*"
                {
                    if cx.scope.is_table(table) {
                        return Ok(self.whole_row(table, cx));
                    }
                    return self.row_around(table).ok_or(error);
                }
                if around.is_none()
                    && let Some(row) = self.row_around(parts)
                {
                    return Ok(row);
                }
                let is_item = match parts {
                    [table, _] => cx.scope.is_table(std::slice::from_ref(table)),
                    [schema, table, _] => cx.scope.item(Some(&schema.text), &table.text).is_some(),
                    _ => false,
                };
                if around.is_none() && is_item {
                    return self.called_like_column(parts, error, cx);
                }
                let refused = || outer.and_then(|outer| outer.refused(parts)).unwrap_or(error);
                return around.ok_or_else(refused);
            }
            (found, _) => found?,
        };
        match meaning {
            Meaning::Variable(_, SqlType::Record) => {
                let name = parts.last().map_or("", |name| name.text.as_str());
                Err(super::plpgsql::not_assigned(name))
            }
            Meaning::Variable(slot, ty) => {
                if let (Some(trace), Some(first)) = (self.traced, parts.first()) {
                    trace.column(first.at.start, Source::Variable(slot));
                }
                Ok(TypedExpr::new(K::Parameter(slot), ty))
            }
            Meaning::Column(column) => {
                // What a row has beside its columns is found last.
                if let (Some(trace), Some(first)) = (self.traced, parts.first())
                    && let Some(source @ Source::Number(..)) = source_of(cx.scope, &column)
                {
                    trace.number(first.at.start, source);
                }
                if let [first, .., last] = parts
                    && cx.clause.is_of_one_row()
                {
                    self.notes().for_each(|notes| notes.qualifier(first.at.start, last.at.start));
                }
                let at = parts.first().map_or(0, |part| part.at.start);
                match is_part_of_row(parts) {
                    true => cx.uses_in_row(&column, at),
                    false => cx.uses(&column, at),
                }
                Ok(column)
            }
        }
    }

    /// `t.f`, where `t` has no such column: a function of its row.
    fn called_like_column(
        &self,
        parts: &[Name],
        missing: SqlError,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        match called_of_row(parts) {
            Some((row, function)) => self.of_row(&row, function, missing, cx),
            None => Err(missing),
        }
    }

    /// Notes what the name of a column means.
    fn trace_column(&self, trace: &Trace, parts: &[verso_parser::syntax::Name], scope: &Scope) {
        let Some(first) = parts.first() else { return };
        let own = match scope.lookup(parts) {
            _ if parts.last().is_some_and(|part| part.text == "*") => None,
            Ok(Some(expr)) => Some(source_of(scope, &expr).unwrap_or_else(|| {
                Source::Merged(parts.last().map_or("", |name| name.text.as_str()).into())
            })),
            _ if scope.is_table(parts) => None,
            _ => self.outer.and_then(|outer| outer.source(parts)),
        };
        let row = || {
            let named = match parts {
                [table, star] if star.text == "*" => table,
                [table] => table,
                _ => return None,
            };
            scope.table(&named.text).map(|item| Source::Row(item.place))
        };
        let around = || self.outer.and_then(|outer| outer.source(parts));
        if let Some(source) = own.or_else(row).or_else(around) {
            trace.column(first.at.start, source);
        }
    }

    fn literal(&self, literal: &Literal, at: u32) -> Result<TypedExpr, SqlError> {
        Ok(match literal {
            Literal::Null => TypedExpr::null(SqlType::Unknown),
            Literal::Bool(value) => TypedExpr::literal(Value::Bool(*value), SqlType::Bool),
            Literal::String(text) => TypedExpr::literal(Value::text(text), SqlType::Unknown),
            Literal::Bits(digits) => {
                let ty = SqlType::Bit(None);
                let value = verso_types::parse_text(&ty, digits, self.time_zone);
                TypedExpr::literal(value.map_err(|error| SqlError::from(error).at(at))?, ty)
            }
            Literal::Number(digits) => {
                if let Ok(value) = digits.parse() {
                    TypedExpr::literal(Value::Int4(value), SqlType::Int4)
                } else if let Ok(value) = digits.parse() {
                    TypedExpr::literal(Value::Int8(value), SqlType::Int8)
                } else {
                    let ty = SqlType::Numeric(None);
                    let value = verso_types::parse_text(&ty, digits, self.time_zone);
                    TypedExpr::literal(value.map_err(|error| SqlError::from(error).at(at))?, ty)
                }
            }
        })
    }

    /// `a + b - c …`: left-deep, so in a loop.
    fn chain(&self, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let mut steps = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary { op, left, right } = &first.kind {
            steps.push((op, &**right, first.point, left.at.start, first.at));
            self.notes().for_each(|notes| notes.operands(first.point, first.at, &[left.at, right.at]));
            first = left;
        }
        // The result is as deep as the chain is long, and walked by functions without a check of their own.
        levels(steps.len())?;
        // A row is compared as a whole.
        let compared = match (self.spread(first, cx.scope), steps.last()) {
            (Some(left), Some((op, right, point, ..))) => {
                match self.composite_operator(op, first, right, *point, cx)? {
                    None if self.is_item_row(first, cx.scope) || self.is_item_row(right, cx.scope) => None,
                    None => self.row_operator(op, &left, right, *point, cx)?,
                    compared => compared,
                }
            }
            _ => None,
        };
        let mut result = match compared {
            Some(compared) => {
                steps.pop();
                compared
            }
            None => self.expr(first, cx)?,
        };
        for (op, right, point, start, at) in steps.into_iter().rev() {
            let right_bound = self.expr(right, cx)?;
            result = self.operator(op, vec![(result, start), (right_bound, right.at.start)], point)?;
            if let Some(trace) = self.traced {
                trace.expr(at, &result.ty);
            }
        }
        Ok(result)
    }

    /// Applies an operator to operands and their places.
    pub(super) fn operator(
        &self,
        op: &str,
        operands: Vec<(TypedExpr, u32)>,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        let op = if op == "!=" { "<>" } else { op };
        // In front of ANY (array) it is asked for with each element.
        if op.contains('.')
            && let Some(each) = self.derived_operator(op, &operands, point)?
        {
            return Ok(each);
        }
        let users = self.has_user_operator(op);
        if !users && !self.has_user_casts() {
            return self.built_in_operator(op, operands, point);
        }
        if users
            && self.is_own_operator(op, &operands)
            && let Some(call) = self.user_operator(op, operands.clone(), point)?
        {
            return Ok(call);
        }
        // What users have made comes behind what is built in.
        let missing = match op.contains('.') {
            true => operator_error(op, &[], &Resolution::None),
            false => match self.built_in_operator(op, operands.clone(), point) {
                Err(error) if error.sqlstate == sqlstate::UNDEFINED_FUNCTION => error,
                result => return result,
            },
        };
        if users && let Some(call) = self.user_operator(op, operands.clone(), point)? {
            return Ok(call);
        }
        if let Some((schema, symbol)) = op.rsplit_once('.')
            && self.has_operator_of_extension(schema, symbol)
            // the remainder of numbers is nobody's but the system's
            && (symbol != "%" || operands.iter().all(|(operand, _)| is_textual(&operand.ty)))
            && (!is_operator_of_own_type(symbol)
                || operands.iter().any(|(operand, _)| extension_of_type(&operand.ty).is_some()))
        {
            return self.built_in_operator(symbol, operands, point);
        }
        let mut fitting = Vec::new();
        for (way, cast) in self.with_user_casts(&operands)? {
            let call = match self.built_in_operator(op, way.clone(), point) {
                Ok(call) => Some(call),
                Err(_) => self.user_operator(op, way, point)?,
            };
            fitting.extend(call.map(|call| (call, cast)));
        }
        let types: Vec<SqlType> = operands.iter().map(|(operand, _)| operand.ty.clone()).collect();
        match (fitting.len(), op.contains('.')) {
            (1, _) => {
                let (call, cast) = fitting.pop().ok_or(missing)?;
                self.note_cast(cast);
                Ok(call)
            }
            (0, true) => Err(operator_error(op, &types, &Resolution::None).at(point)),
            (0, false) => Err(missing),
            _ => Err(operator_error(op, &types, &Resolution::Ambiguous).at(point)),
        }
    }

    /// An operator that is built in.
    pub(super) fn built_in_operator(
        &self,
        op: &str,
        mut operands: Vec<(TypedExpr, u32)>,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        if let Some(base) = op.strip_suffix(" ANY").or_else(|| op.strip_suffix(" ALL"))
            && let [left, (TypedExpr { ty: SqlType::Array(element), .. }, _)] = operands.as_slice()
            && let Some(settled) = self.settled_beside(base, left, element, point)
        {
            operands[0].0 = settled;
        }
        if let Some(compared) = self.compare_records(op, &operands, point)? {
            return Ok(compared);
        }
        if let Some(derived) = self.derived_operator(op, &operands, point)? {
            return Ok(derived);
        }
        if let [
            (TypedExpr { ty: SqlType::Array(left), .. }, _),
            (TypedExpr { ty: SqlType::Array(right), .. }, _),
        ] = operands.as_slice()
            && matches!(op, "=" | "<>" | "<" | "<=" | ">" | ">=" | "@>" | "<@" | "&&")
            && !left.same_base(right)
        {
            let types: Vec<SqlType> = operands.iter().map(|(operand, _)| operand.ty.clone()).collect();
            return Err(operator_error(op, &types, &Resolution::None).at(point));
        }
        let types: Vec<SqlType> = operands.iter().map(|(operand, _)| operand.ty.clone()).collect();
        let op = match op {
            "~" if folds_pattern(&types) => "~*",
            "!~" if folds_pattern(&types) => "!~*",
            op => op,
        };
        let entries = operator_candidates(op);
        let declared: Vec<Declared> = entries.iter().map(|entry| entry.declared(types.len())).collect();
        // Beside texts char(n) is compared as text, whatever type both could have.
        let found = match types.as_slice() {
            [left, SqlType::Array(element)]
                if left.is_text()
                    && element.is_text()
                    && matches!(left, SqlType::Char(_)) != matches!(**element, SqlType::Char(_)) =>
            {
                quantified(op, &types).map(|to| Resolution::One(0, to.to_vec()))
            }
            _ => None,
        };
        match found.unwrap_or_else(|| resolve(&declared, &types, true)) {
            Resolution::One(index, to) => {
                if let Some(trace) = self.traced {
                    trace.operands(point, &to);
                }
                let base = op.strip_suffix(" ANY").or_else(|| op.strip_suffix(" ALL"));
                if let (Some(base), [left, SqlType::Array(right)], [common, _]) = (base, &types[..], &to[..])
                {
                    comparable::check_member(base, common, [left, right], point)?;
                }
                let call = self.built_in(entries[index], operands, &to);
                self.compared(op, call.map_err(|error| no_such_element(error, op, &types, point))?, point)
            }
            found => match (quantified(op, &types), entries) {
                (Some(to), [entry]) => {
                    let call = self.built_in(entry, operands, &to);
                    self.compared(op, call.map_err(|error| no_such_element(error, op, &types, point))?, point)
                }
                _ => Err(operator_error(op, &types, &found).at(point)),
            },
        }
    }

    /// The call of a built-in function, its arguments cast.
    pub(super) fn built_in(
        &self,
        function: &'static BuiltinFunction,
        args: Vec<(TypedExpr, u32)>,
        to: &[SqlType],
    ) -> Result<TypedExpr, SqlError> {
        // PostgreSQL has these for char(n) itself, whose blanks they see
        let sees_blanks = matches!(function.operator, Some("~" | "~*" | "!~" | "!~*"))
            || matches!(function.name, "octet_length");
        let args = args
            .into_iter()
            .zip(to)
            .enumerate()
            .map(|(n, ((arg, at), to))| match n {
                0 if sees_blanks => self.coerce(with_blanks(arg), at, to, CastKind::Implicit),
                // Functions of char(n) do not look at its blanks.
                n if *to == SqlType::Char(None) && takes_char(function, n) => match arg.ty {
                    SqlType::Char(Some(_)) => Ok(arg),
                    _ if is_comparison(function.operator.unwrap_or_default()) => {
                        let arg = self.coerce(arg, at, to, CastKind::Implicit)?;
                        Ok(if matches!(arg.kind, K::Literal(_)) { without_blanks(arg) } else { arg })
                    }
                    _ => self.coerce(without_blanks(arg), at, to, CastKind::Implicit),
                },
                _ if is_comparison(function.operator.unwrap_or_default()) && is_widened(&arg.ty, to) => {
                    self.coerce(arg, at, to, CastKind::Compared)
                }
                _ => self.coerce(arg, at, to, CastKind::Implicit),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let (function, args) =
            searching(function, args).map_err(|error| SqlError { position: None, ..error })?;
        let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
        comparable::check_call(function, &types)?;
        let ty = result_type(&function.result, &types);
        // What is put into an array, or looked for in one, has no blanks at its end: none of its elements has.
        let of_chars =
            |ty: &SqlType| matches!(ty, SqlType::Array(element) if **element == SqlType::Char(None));
        let args = match of_chars(&ty) || types.iter().any(of_chars) {
            true => args.into_iter().map(without_blanks).collect(),
            false => args,
        };
        Ok(TypedExpr::new(K::Call { function, args }, ty))
    }

    /// Two operands as `=` takes them.
    pub(super) fn sides(
        &self,
        operands: Vec<(TypedExpr, u32)>,
        what: &str,
        point: u32,
    ) -> Result<Vec<TypedExpr>, SqlError> {
        if operands.iter().all(|(operand, _)| operand.ty.is_row() || operand.ty == SqlType::Record) {
            for (operand, _) in &operands {
                comparable::check_fields_equality(&operand.ty)?;
            }
            let settled = operands.into_iter().map(|(operand, at)| self.settle(operand, at));
            let settled = settled.collect::<Result<Vec<_>, _>>()?;
            return Ok(rows_keyed(&settled, false, false).unwrap_or(settled));
        }
        match self.operator("=", operands, point)?.kind {
            K::Call { function, .. } if function.operator.is_some() && function.comparison().is_none() => {
                Err(SqlError::unsupported(format!("{what} by an operator = of sizes")).at(point))
            }
            K::Call { args, .. } => Ok(args),
            _ => Err(SqlError::unsupported(format!("{what} by an operator = of your own")).at(point)),
        }
    }

    /// `a IS [NOT] DISTINCT FROM b` of two values.
    pub(super) fn distinct(
        &self,
        sides: Vec<(TypedExpr, u32)>,
        negated: bool,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        if sides.iter().all(|(side, _)| side.ty.is_row())
            && sides.iter().any(|(side, _)| comparable::is_unequaled_row(&side.ty))
        {
            let equal = self.operator("=", sides.clone(), point)?;
            return Ok(distinct_records(sides, equal, negated));
        }
        if sides.iter().any(|(side, _)| compares_roughly(&side.ty)) {
            let equal = self.operator("=", sides, point)?;
            let sides = match &equal.kind {
                K::Call { args, .. } => args.iter().map(|arg| (arg.clone(), point)).collect(),
                _ => Vec::new(),
            };
            return Ok(distinct_records(sides, equal, negated));
        }
        let (left, right) = self.comparable(sides, point)?;
        let kind = K::IsDistinct { left: Box::new(left), right: Box::new(right), negated };
        Ok(TypedExpr::new(kind, SqlType::Bool))
    }

    /// `NULLIF(a, b)` where `=` is rough.
    pub(super) fn null_if_rough(
        &self,
        sides: Vec<(TypedExpr, u32)>,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        let [left, right] = <[_; 2]>::try_from(sides).map_err(|_| SqlError::internal("NULLIF of two"))?;
        once_if_volatile(left, |left| {
            let equal = self.operator("=", vec![left, right], point)?;
            let K::Call { args, .. } = &equal.kind else {
                return Err(SqlError::unsupported("NULLIF by an operator = of your own").at(point));
            };
            let Some(value) = args.first().cloned() else {
                return Err(SqlError::internal("a comparison without operands"));
            };
            let ty = value.ty.clone();
            let branches = vec![(equal, TypedExpr::null(ty.clone()))];
            Ok(TypedExpr::new(K::Case { branches, otherwise: Some(Box::new(value)) }, ty))
        })
    }

    /// Both sides of a comparison in one type.
    pub(super) fn comparable(
        &self,
        operands: Vec<(TypedExpr, u32)>,
        point: u32,
    ) -> Result<(TypedExpr, TypedExpr), SqlError> {
        let mut args = self.sides(operands, "a comparison here", point)?.into_iter();
        match (args.next(), args.next()) {
            // What compares them looks at bytes.
            (Some(left), Some(right)) => Ok((without_blanks(left), without_blanks(right))),
            _ => Err(SqlError::internal("a comparison without two operands")),
        }
    }

    fn in_list(
        &self,
        arg: &Expr,
        list: &[Expr],
        negated: bool,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        if let ExprKind::Row(left) = &arg.kind {
            return self.row_in_list(left, list, negated, point, cx);
        }
        let mut all = vec![(self.expr(arg, cx)?, arg.at.start)];
        all.extend(self.located(list, cx)?);
        if matches!(&all[0].0, TypedExpr { kind: K::Parameter(_), ty: SqlType::Unknown, .. })
            && let Ok(others) = resolve::common_type(all[1..].iter().map(|(item, _)| &item.ty))
            && let Some(settled) = self.settled_beside("=", &all[0], &others, point)
        {
            all[0].0 = settled;
        }
        let types: Vec<SqlType> = all.iter().map(|(expr, _)| expr.ty.clone()).collect();
        if types.iter().any(compares_roughly) {
            return self.in_rough_list(all, negated, point);
        }
        if types.iter().any(comparable::is_unequaled_row) {
            return self.among_rows(all, negated, point);
        }
        if let Err((_, right)) = resolve::common_type(types.iter()) {
            if types.iter().any(SqlType::is_row) {
                return self.among_rows(all, negated, point);
            }
            return Err(operator_error("=", &[types[0].clone(), right], &Resolution::None).at(point));
        }
        let (all, common) = match self.unify(all, "IN") {
            // What has no type in common is compared each by itself, or cannot be.
            Err(error) if error.sqlstate == sqlstate::CANNOT_COERCE => {
                let mut all = vec![(self.expr(arg, cx)?, arg.at.start)];
                all.extend(self.located(list, cx)?);
                return self.among_rows(all, negated, point);
            }
            unified => unified?,
        };
        if let [left, right, more @ ..] = &types[..] {
            let right = if more.is_empty() { right } else { &common };
            let op = if negated { "<>" } else { "=" };
            comparable::check_member(op, &common, [left, right], point)?;
        }
        let all = distinguished_together(all, point)?;
        let mut all = all.into_iter();
        let Some(arg) = all.next() else { return Err(SqlError::internal("IN without an argument")) };
        let kind = K::InList { arg: Box::new(arg), list: all.collect(), negated };
        Ok(TypedExpr::new(kind, SqlType::Bool))
    }

    /// A value among others that have no type in common, as rows: compared with each by itself. A volatile one is computed for each, too, as in
    /// PostgreSQL.
    fn among_rows(
        &self,
        all: Vec<(TypedExpr, u32)>,
        negated: bool,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        let mut items = all.into_iter();
        let Some(row) = items.next() else { return Err(SqlError::internal("IN without an argument")) };
        self.equal_to_any(&row, items, negated, point)
    }

    /// Whether a value is equal to one of others, or, `negated`, to none: a comparison each.
    fn equal_to_any(
        &self,
        value: &(TypedExpr, u32),
        items: impl Iterator<Item = (TypedExpr, u32)>,
        negated: bool,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        let op = if negated { "<>" } else { "=" };
        let tests = items.map(|item| self.operator(op, vec![value.clone(), item], point));
        let tests = tests.collect::<Result<Vec<_>, SqlError>>()?;
        Ok(TypedExpr::new(if negated { K::And(tests) } else { K::Or(tests) }, SqlType::Bool))
    }

    /// `a IN (b, …)` where `=` is rough: one comparison each. Several items first become of one type, if they have one in
    /// common.
    fn in_rough_list(
        &self,
        all: Vec<(TypedExpr, u32)>,
        negated: bool,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        let all = match all.len() {
            ..=2 => all,
            _ => {
                let places: Vec<u32> = all.iter().map(|(_, at)| *at).collect();
                match self.unify(all.clone(), "IN") {
                    Ok((items, _)) => items.into_iter().zip(places).collect(),
                    Err(_) => all,
                }
            }
        };
        let mut items = all.into_iter();
        let Some(arg) = items.next() else { return Err(SqlError::internal("IN without an argument")) };
        once_if_volatile(arg, |arg| self.equal_to_any(&arg, items, negated, point))
    }

    fn case(
        &self,
        operand: Option<&Expr>,
        branches: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let operand = match operand {
            Some(operand) => {
                let bound = self.expr(operand, cx)?;
                Some((self.settle(bound, operand.at.start)?, operand.at.start))
            }
            None => None,
        };
        if let Some(operand) = operand {
            return once_if_volatile(operand, |operand| {
                self.branches(Some(operand), branches, otherwise, cx)
            });
        }
        self.branches(None, branches, otherwise, cx)
    }

    /// The branches of CASE; an operand is compared with each.
    fn branches(
        &self,
        operand: Option<(TypedExpr, u32)>,
        branches: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let mut conditions = Vec::new();
        let mut results = Vec::new();
        for (condition, result) in branches {
            let bound = self.expr(condition, cx)?;
            conditions.push(match &operand {
                Some(operand) => self.operator(
                    "=",
                    vec![operand.clone(), (bound, condition.at.start)],
                    condition.at.start,
                )?,
                None => self.boolean(bound, condition.at.start, "CASE/WHEN")?,
            });
            results.push((self.expr(result, cx)?, result.at.start));
        }
        // PostgreSQL looks at ELSE first.
        // Without one NULL counts, which has no modifier.
        let (or_else, at) = match otherwise {
            Some(otherwise) => (self.expr(otherwise, cx)?, otherwise.at.start),
            None => (TypedExpr::null(SqlType::Unknown), 0),
        };
        results.insert(0, (or_else, at));
        let (mut results, ty) = self.unify(results, "CASE")?;
        let or_else = results.remove(0);
        let otherwise = otherwise.map(|_| Box::new(or_else));
        let branches = conditions.into_iter().zip(results).collect();
        Ok(TypedExpr::new(K::Case { branches, otherwise }, ty))
    }

    fn cast(
        &self,
        arg: &Expr,
        ty: &SqlType,
        at_type: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        if let (ExprKind::Array(elements), SqlType::Array(element)) = (&arg.kind, ty) {
            return self.cast_array(elements, ty, element, at_type, cx);
        }
        let bound = self.expr(arg, cx)?;
        self.cast_bound(bound, arg.at.start, ty, at_type)
    }

    /// `ARRAY[…]::t[]` casts the elements, so that an empty one has a type. Where one of them is an array, whatever expression
    /// has it, all of them are the inner dimensions.
    fn cast_array(
        &self,
        elements: &[Expr],
        ty: &SqlType,
        element: &SqlType,
        at_type: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let mut bound = Vec::with_capacity(elements.len());
        for item in elements {
            bound.push(match item.kind {
                ExprKind::Array(_) => self.cast(item, ty, at_type, cx)?,
                _ => self.expr(item, cx)?,
            });
        }
        let is_array =
            |item: &TypedExpr| matches!(item.ty, SqlType::Array(_)) && item.ty.vector_name().is_none();
        let to = if bound.iter().any(is_array) { ty } else { element };
        let mut cast = Vec::with_capacity(elements.len());
        for (bound, item) in bound.into_iter().zip(elements) {
            cast.push(match item.kind {
                ExprKind::Array(_) => bound,
                _ => self.cast_bound(bound, item.at.start, to, item.at.start)?,
            });
        }
        Ok(TypedExpr::new(K::Array(cast), ty.erased()))
    }

    /// A bound expression, which begins at a place, cast to a type; where there is no such cast, the error is at `at_error`.
    fn cast_bound(
        &self,
        bound: TypedExpr,
        at: u32,
        ty: &SqlType,
        at_error: u32,
    ) -> Result<TypedExpr, SqlError> {
        let known =
            cast_kind(&bound.ty, ty).is_some() || self.has_user_cast(&bound.ty, ty, CastKind::Explicit);
        if bound.ty != SqlType::Unknown && !known {
            let text = format!("cannot cast type {} to {}", shown(&bound.ty), shown(ty));
            return Err(SqlError::new(sqlstate::CANNOT_COERCE, text).at(at_error));
        }
        let value = self.coerce(bound, at, ty, CastKind::Explicit)?;
        // A type without a modifier that somebody has written takes the value's away, though the value stays as it is.
        Ok(match value.ty != *ty && value.ty.without_modifiers() == *ty {
            true => TypedExpr::new(K::Cast { arg: Box::new(value), kind: CastKind::Explicit }, ty.clone()),
            false => value,
        })
    }
}

/// A char(n) as a text with its blanks at the end, for what sees them: LIKE, regular expressions, `octet_length`.
pub(super) fn with_blanks(expr: TypedExpr) -> TypedExpr {
    match expr.ty {
        SqlType::Char(_) => {
            TypedExpr::new(K::Call { function: &WITH_BLANKS, args: vec![expr] }, SqlType::Text)
        }
        _ => expr,
    }
}

/// A char without a length, and without the blanks at its end that it may have from one with a length.
pub(super) fn without_blanks(expr: TypedExpr) -> TypedExpr {
    if expr.ty != SqlType::Char(None) {
        return expr;
    }
    if let K::Literal(value) = expr.kind {
        return TypedExpr { collation: expr.collation, ..TypedExpr::literal(unpadded(value), expr.ty) };
    }
    let cast = |expr, ty| TypedExpr::new(K::Cast { arg: Box::new(expr), kind: CastKind::Implicit }, ty);
    cast(cast(expr, SqlType::Text), SqlType::Char(None))
}

/// Whether an argument of a function is declared as char.
fn takes_char(function: &BuiltinFunction, n: usize) -> bool {
    let declared = function.args.get(n).or_else(|| function.args.last());
    matches!(declared, Some(ArgType::Exact(SqlType::Char(None))))
}

/// The constant range that is empty has no element, and the one without bounds every one, also those that are NULL: so
/// PostgreSQL simplifies it.
fn known_range(expr: TypedExpr) -> TypedExpr {
    let K::Call { function, args } = &expr.kind else { return expr };
    let (range, element) = match (function.operator, &args[..]) {
        (Some("@>"), [range, element]) | (Some("<@"), [element, range]) => (range, element),
        _ => return expr,
    };
    let K::Literal(Value::Range(range)) = &range.kind else { return expr };
    if matches!(element.kind, K::Literal(_))
        || matches!(element.ty, SqlType::Range(_) | SqlType::Multirange(_))
    {
        return expr;
    }
    let has = match &range.bounds {
        None => false,
        Some((lower, upper)) if lower.value.is_none() && upper.value.is_none() => true,
        Some(_) => return expr,
    };
    TypedExpr::literal(Value::Bool(has), SqlType::Bool)
}

/// Whether a type is that of literals which have none yet.
fn is_unknown(ty: &SqlType) -> bool {
    match ty {
        SqlType::Named(named) => {
            &*named.name == "unknown" && named.schema.as_deref().is_none_or(|schema| schema == "pg_catalog")
        }
        _ => false,
    }
}

/// `a IS [NOT] DISTINCT FROM b` of rows whose columns are of other types, or not known, given what `a = b` says: where either row is
/// missing they are not compared.
fn distinct_records(sides: Vec<(TypedExpr, u32)>, equal: TypedExpr, negated: bool) -> TypedExpr {
    let mut there = sides.into_iter().map(|(side, _)| Box::new(TypedExpr::is_there(side)));
    let (Some(left), Some(right)) = (there.next(), there.next()) else { return equal };
    let missing = TypedExpr::new(K::IsDistinct { left, right, negated }, SqlType::Bool);
    let unknown = K::IsNull { arg: Box::new(equal.clone()), negated: false };
    let answer = if negated { equal } else { TypedExpr::new(K::Not(Box::new(equal)), SqlType::Bool) };
    let branches = vec![(TypedExpr::new(unknown, SqlType::Bool), missing)];
    TypedExpr::new(K::Case { branches, otherwise: Some(Box::new(answer)) }, SqlType::Bool)
}

/// Whether a type is that of a text, or of a literal that may be one.
fn is_textual(ty: &SqlType) -> bool {
    ty.is_text() || *ty == SqlType::Unknown
}

/// Whether a pattern is looked for in a value of `citext`, whatever the case of letters. Beside it the pattern is text, too; a text in
/// which a pattern of `citext` is looked for stays one.
pub(super) fn folds_pattern(types: &[SqlType]) -> bool {
    const CITEXT: SqlType = SqlType::System(SystemType::Citext);
    match types {
        [value, pattern] => *value == CITEXT || *value == SqlType::Unknown && *pattern == CITEXT,
        _ => false,
    }
}
