//! Casts, constants and common types.

use std::sync::Arc;

use verso_exec::functions::ArgType;
use verso_exec::plan::{ExprKind, TypedExpr};
use verso_types::composite::unequal;
use verso_types::datetime::heeds_clock;
use verso_types::{CastKind, SqlType, TimeStyle, Value, cast, cast_kind, names, parse_text};

use super::Binder;
use super::expr::{with_blanks, without_blanks};
use super::once::once_if_volatile;
use super::resolve::{common_type, shown};
use super::steady::is_steady_cast;
use crate::errors::{SqlError, sqlstate};

/// The expression with exactly this type, modifier included: columns of one type stand in batches alike.
pub fn exactly(expr: TypedExpr, ty: &SqlType) -> TypedExpr {
    if expr.ty == *ty {
        return expr;
    }
    TypedExpr::new(ExprKind::Cast { arg: Box::new(expr), kind: CastKind::Implicit }, ty.clone())
}

/// The expression as values of this type stand in columns (P3 of the plan): what takes the place of an expression of the type, or goes
/// to a column of it, has its form. A number with a scale has another one than a number without.
pub(crate) fn in_form(expr: TypedExpr, ty: &SqlType) -> TypedExpr {
    if expr.ty.same_form(ty) { expr } else { exactly(expr, &ty.erased()) }
}

impl Binder<'_> {
    /// Casts where the context allows it. `at` is where the expression starts.
    pub(super) fn coerce(
        &self,
        expr: TypedExpr,
        at: u32,
        to: &SqlType,
        kind: CastKind,
    ) -> Result<TypedExpr, SqlError> {
        if let SqlType::Collated(collated) = to {
            return self.coerce(expr, at, &collated.base, kind);
        }
        if to.is_constrained() {
            return self.coerce_to_domain(expr, at, to, kind);
        }
        // A row that is written has its parts checked, and one of the type is one.
        let has_checked = match &expr.kind {
            ExprKind::Row(_) => to.composite().is_some(),
            ExprKind::Literal(value) => value.is_null(),
            _ => false,
        };
        let checks = to.has_constrained_fields() && !expr.ty.same_base(to) && !has_checked;
        let value = self.coerce_value(expr, at, to, kind)?;
        if checks { self.of_fields(value, to) } else { Ok(value) }
    }

    /// As [`Binder::coerce`], to a type without a collation that is no domain.
    fn coerce_value(
        &self,
        expr: TypedExpr,
        at: u32,
        to: &SqlType,
        kind: CastKind,
    ) -> Result<TypedExpr, SqlError> {
        if expr.ty == *to || is_record_of(&expr.ty, to) {
            return Ok(expr);
        }
        if let Some(value) = self.user_cast(&expr, at, to, kind)? {
            return Ok(value);
        }
        if expr.ty.composite().is_some() && self.declared_row(&expr.ty).as_ref() == Some(to) {
            return Ok(TypedExpr { ty: to.clone(), ..expr });
        }
        if let ExprKind::Literal(value) = &expr.kind {
            let value = match (value, &expr.ty) {
                (Value::Null, _) => Some(Ok(Value::Null)),
                (Value::Text(text), SqlType::Unknown) if self.is_later(text, to) => None,
                (Value::Text(text), SqlType::Unknown) => {
                    let value = self.constant(text, to, kind);
                    let open = to.without_modifiers();
                    if value.is_err() && kind == CastKind::Assignment && open != *to {
                        // One that is too long is refused when it is stored, not before: a default may wait for years.
                        let value = self.coerce_value(expr, at, &open, kind)?;
                        return Ok(TypedExpr::new(ExprKind::Cast { arg: Box::new(value), kind }, to.clone()));
                    }
                    if let Ok(value) = &value {
                        self.note_literal((at, None), text, value, to);
                    }
                    Some(value)
                }
                (Value::Text(text), from) if from.is_text() && to.has_times() && heeds_clock(text) => None,
                (_, from) if (self.reads_kept() || self.lasts) && !is_steady_cast(from, to) => None,
                (value, from) if cast_kind(from, to).is_some_and(|weakest| weakest <= kind) => {
                    // What fails does so when the statement runs, if it comes to it.
                    cast(value, from, to, kind, self.time_zone).ok().map(Ok)
                }
                _ => None,
            }
            .transpose()
            .map_err(|error| match expr.ty {
                SqlType::Unknown => SqlError::from(error).at(at),
                _ => SqlError::from(error), // found while computing: PostgreSQL points nowhere then
            })?;
            if let Some(value) = value {
                let literal = TypedExpr::literal(value, to.clone());
                return Ok(match to.is_collatable() && expr.ty.own_collation().is_none() {
                    true => TypedExpr { collation: expr.collation, ..literal },
                    false => literal,
                });
            }
        }
        if expr.ty == SqlType::Unknown {
            if let ExprKind::Literal(Value::Text(_)) = expr.kind {
                // `today` and the like: what it means is known when the statement runs
                let text = TypedExpr::new(expr.kind, SqlType::Text);
                let cast = ExprKind::Cast { arg: Box::new(text), kind: CastKind::Explicit };
                return Ok(TypedExpr::new(cast, to.clone()));
            }
            if let (Some(inference), ExprKind::Parameter(index)) = (self.inference, &expr.kind) {
                let ty = to.without_modifiers();
                if reads_by_fields(to) {
                    inference.note_fields();
                }
                inference.decide(*index, &ty).map_err(|error| error.at(at))?;
                return self.coerce(TypedExpr::new(expr.kind, ty), at, to, kind);
            }
            // A parameter without a type: only NULL has none.
            return Ok(TypedExpr::new(expr.kind, to.clone()));
        }
        if to.composite().is_some()
            && expr.ty != *to
            && matches!(expr.kind, ExprKind::Row(_))
            && !are_rows_of(&expr.ty, to)
        {
            return self.row_as(expr, at, to, kind);
        }
        if *to == expr.ty.without_modifiers() && !matches!(expr.ty, SqlType::Char(Some(_))) {
            return Ok(expr); // one representation: nothing changes (P3)
        }
        match cast_kind(&expr.ty, to) {
            Some(weakest) if weakest <= kind => {
                Ok(TypedExpr::new(ExprKind::Cast { arg: Box::new(expr), kind }, to.clone()))
            }
            _ => {
                let text = format!("cannot cast type {} to {}", shown(&expr.ty), shown(to));
                Err(SqlError::new(sqlstate::CANNOT_COERCE, text).at(at))
            }
        }
    }

    /// Whether what a literal means is known only when the statement runs: `today` and the like. In a statement that is prepared,
    /// and in a text that the catalog is to keep, they mean the moment at which it is given (M1).
    fn is_later(&self, text: &str, to: &SqlType) -> bool {
        to.has_times() && heeds_clock(text) && (self.reads_kept() || !self.is_noted() && !self.lasts)
    }

    /// An untyped literal's value: read without the modifier, then cast to it, so that `'abc'::varchar(2)` cuts.
    fn constant(&self, text: &str, to: &SqlType, kind: CastKind) -> Result<Value, verso_types::TypeError> {
        let settled = TimeStyle::UTC;
        let style = if self.reads_kept() { &settled } else { self.time_zone };
        if let SqlType::Interval(Some(_)) = to {
            return parse_text(to, text, style); // its fields say what a number without a unit is
        }
        if *to == SqlType::Char(None) && kind == CastKind::Explicit {
            return Ok(Value::text(text)); // with its blanks, which no table keeps
        }
        let plain = to.without_modifiers();
        let value = parse_text(&plain, text, style)?;
        if plain == *to { Ok(value) } else { cast(&value, &plain, to, kind, style) }
    }

    /// A row that is written as such, as one of a composite type: part by part.
    fn row_as(&self, row: TypedExpr, at: u32, to: &SqlType, kind: CastKind) -> Result<TypedExpr, SqlError> {
        let (ExprKind::Row(parts), SqlType::Row(wanted)) = (row.kind, to) else {
            return Err(SqlError::internal("a row that is none"));
        };
        if parts.len() != wanted.fields.len() {
            let few = parts.len() < wanted.fields.len();
            return Err(SqlError::from(unequal(&SqlType::Record, to, few)).at(at));
        }
        let mut values = Vec::with_capacity(parts.len());
        for (n, part) in parts.into_iter().enumerate() {
            let ty = wanted.declared(n);
            let from = part.ty.clone();
            if part.ty != SqlType::Unknown && cast_kind(&from, ty).is_none_or(|weakest| weakest > kind) {
                let text = format!("cannot cast type record to {}", shown(to));
                let detail =
                    format!("Cannot cast type {} to {} in column {}.", shown(&from), shown(ty), n + 1);
                return Err(SqlError::new(sqlstate::CANNOT_COERCE, text).with_detail(detail).at(at));
            }
            let written = match (&part.kind, &part.ty) {
                (ExprKind::Literal(Value::Text(text)), SqlType::Unknown) => Some(Arc::clone(text)),
                _ => None,
            };
            let own = &wanted.fields[n].1;
            let value = exactly(self.coerce(part, at, ty, kind)?, own);
            if let (Some(written), ExprKind::Literal(known)) = (written, &value.kind) {
                self.note_literal((at, Some(n)), &written, known, own);
            }
            values.push(value);
        }
        Ok(TypedExpr::new(ExprKind::Row(values), to.clone()))
    }

    /// Casts to the type of a column or variable, as an assignment does.
    pub(super) fn assign(
        &self,
        expr: TypedExpr,
        at: u32,
        column: &str,
        to: &SqlType,
    ) -> Result<TypedExpr, SqlError> {
        if !self.is_assignable(&expr.ty, to) {
            let text = format!(
                "column \"{column}\" is of type {} but expression is of type {}",
                shown(to),
                shown(&expr.ty)
            );
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
                .with_hint("You will need to rewrite or cast the expression.")
                .at(at));
        }
        // A table keeps no blanks at the end.
        let expr = match to {
            SqlType::Char(None) => without_blanks(expr),
            _ => expr,
        };
        Ok(in_form(self.coerce(expr, at, to, CastKind::Assignment)?, to))
    }

    /// Whether an assignment casts from a type to another.
    pub(super) fn is_assignable(&self, from: &SqlType, to: &SqlType) -> bool {
        *from == SqlType::Unknown
            || cast_kind(from, to).is_some_and(|kind| kind <= CastKind::Assignment)
            || self.has_user_cast(from, to, CastKind::Assignment)
    }

    /// Casts as PL/pgSQL does where there is no such cast: what one type writes the other reads.
    pub(super) fn by_way_of_text(
        &self,
        expr: TypedExpr,
        at: u32,
        to: &SqlType,
    ) -> Result<TypedExpr, SqlError> {
        let text = self.written(expr, at)?;
        self.coerce(text, at, to, CastKind::Explicit)
    }

    /// A value as the output function of its type writes it, which is not always its cast to text.
    pub(super) fn written(&self, expr: TypedExpr, at: u32) -> Result<TypedExpr, SqlError> {
        if expr.ty != SqlType::Bool {
            return self.coerce(with_blanks(expr), at, &SqlType::Text, CastKind::Explicit);
        }
        let word = |word: &str| TypedExpr::literal(Value::text(word), SqlType::Text);
        once_if_volatile((expr, at), |(expr, _)| {
            let not = TypedExpr::new(ExprKind::Not(Box::new(expr.clone())), SqlType::Bool);
            let branches = vec![(expr, word("t")), (not, word("f"))];
            Ok(TypedExpr::new(ExprKind::Case { branches, otherwise: None }, SqlType::Text))
        })
    }

    /// A literal that nothing gave a type becomes text.
    pub(super) fn settle(&self, expr: TypedExpr, at: u32) -> Result<TypedExpr, SqlError> {
        match expr.ty {
            SqlType::Unknown => self.coerce(expr, at, &SqlType::Text, CastKind::Implicit),
            _ => Ok(expr),
        }
    }

    /// A value where one of any type may stand: a literal becomes text, and a parameter that has no type gets none.
    pub(super) fn of_any_type(&self, expr: TypedExpr, at: u32) -> Result<TypedExpr, SqlError> {
        match (self.inference, &expr.kind) {
            (Some(inference), ExprKind::Parameter(index)) if expr.ty == SqlType::Unknown => {
                inference.leave_open(*index);
                Ok(TypedExpr::new(expr.kind, SqlType::Text))
            }
            _ => self.settle(expr, at),
        }
    }

    /// The arguments of a call, those of them that may be of any type as such.
    pub(super) fn with_any_types(
        &self,
        declared: &[ArgType],
        args: Vec<(TypedExpr, u32)>,
    ) -> Result<Vec<(TypedExpr, u32)>, SqlError> {
        if self.inference.is_none() || !declared.contains(&ArgType::Any) {
            return Ok(args);
        }
        let one = |(n, (arg, at)): (usize, (TypedExpr, u32))| match declared.get(n) {
            Some(ArgType::Any) if matches!(arg.kind, ExprKind::Parameter(_)) => {
                Ok((self.of_any_type(arg, at)?, at))
            }
            _ => Ok((arg, at)),
        };
        args.into_iter().enumerate().map(one).collect()
    }

    /// Casts to boolean, or says which clause wants one.
    pub(super) fn boolean(&self, expr: TypedExpr, at: u32, clause: &str) -> Result<TypedExpr, SqlError> {
        match expr.ty {
            SqlType::Bool | SqlType::Unknown => self.coerce(expr, at, &SqlType::Bool, CastKind::Implicit),
            other => {
                let text = format!("argument of {clause} must be type boolean, not type {}", shown(&other));
                Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(at))
            }
        }
    }

    /// Casts all to their common type; `what` names them in the error. Pairs of expression and place.
    pub(super) fn unify(
        &self,
        exprs: Vec<(TypedExpr, u32)>,
        what: &str,
    ) -> Result<(Vec<TypedExpr>, SqlType), SqlError> {
        let common = common_type(exprs.iter().map(|(expr, _)| &expr.ty)).map_err(|(left, right)| {
            let at = exprs.iter().find(|(expr, _)| expr.ty == right).map_or(0, |(_, at)| *at);
            let text = format!("{what} types {} and {} cannot be matched", shown(&left), shown(&right));
            SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(at)
        })?;
        // Members of lists and elements of arrays are only compared: their blanks do not count.
        let is_compared = matches!(what, "IN" | "ARRAY") && common == SqlType::Char(None);
        let casts = exprs.into_iter().map(|(expr, at)| match expr.ty {
            SqlType::Char(Some(_)) if is_compared => Ok(expr),
            _ => {
                if is_typed_null(&expr) && expr.ty != common {
                    // NULL would become of any type: what has its type does not.
                    let other = TypedExpr::column(0, expr.ty.clone());
                    self.coerce(other, at, &common, CastKind::Implicit)
                        .map_err(|error| unconverted(error, what))?;
                }
                let cast = self.coerce(expr, at, &common, CastKind::Implicit);
                cast.map_err(|error| unconverted(error, what)).map(|expr| match what {
                    "IN" => without_blanks(expr),
                    _ => expr,
                })
            }
        });
        Ok((casts.collect::<Result<_, _>>()?, common))
    }
}

fn is_typed_null(expr: &TypedExpr) -> bool {
    expr.ty != SqlType::Unknown && matches!(&expr.kind, ExprKind::Literal(value) if value.is_null())
}

/// The error of a cast that nobody has written, of what is to become of the type of others, in PostgreSQL's words.
pub(super) fn unconverted(error: SqlError, what: &str) -> SqlError {
    let what = if what == "CASE" { "CASE/WHEN" } else { what };
    match error.message.strip_prefix("cannot cast type ") {
        Some(types) if error.sqlstate == sqlstate::CANNOT_COERCE => {
            SqlError { message: format!("{what} could not convert type {types}"), ..error }
        }
        _ => error,
    }
}

/// Whether the values of a type are those of `record`, or arrays of them.
fn is_record_of(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::Array(from), SqlType::Array(to)) => is_record_of(from, to),
        (from, to) => *to == SqlType::Record && from.is_row(),
    }
}

/// Whether rows of the one type are rows of the other as well, whose columns may stand in another order.
fn are_rows_of(from: &SqlType, to: &SqlType) -> bool {
    match (from.composite(), to.composite()) {
        (Some(from), Some(to)) => from.oid != to.oid && names::are_rows_of(from.oid, to.oid),
        _ => false,
    }
}

/// Whether the fields of an interval act while a literal of the type is read; those of an array's elements do not.
fn reads_by_fields(to: &SqlType) -> bool {
    matches!(to, SqlType::Interval(Some(spec)) if spec.fields().is_some())
}
