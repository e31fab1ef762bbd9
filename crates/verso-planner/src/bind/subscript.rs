//! Subscripts and slices: `a[1]`, `a[2:3]`, and as targets of assignments.
//!
//! Neighbouring subscripts are one access: `a[1][2]` is an element of two dimensions, in `a[1:2][3]` the `[3]` means
//! `[1:3]`. Parentheses end an access. Subscripts of jsonb and hstore are keys.

use verso_exec::functions::hstore::{SET_SUBSCRIPT as STORE_SET_SUBSCRIPT, SUBSCRIPT as STORE_SUBSCRIPT};
use verso_exec::functions::json::{SET_SUBSCRIPT as JSON_SET_SUBSCRIPT, SUBSCRIPT as JSON_SUBSCRIPT};
use verso_exec::functions::records::{FIELD, SET_FIELD};
use verso_exec::functions::subscripts::{ELEMENT, NAME_BYTE, SET_ELEMENT, SET_SLICE, SLICE, parts_of};
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{CastKind, SqlType, SystemType, Value, cast_kind};

use super::Binder;
use super::coerce::exactly;
use super::context::{Clause, Context};
use super::resolve::{passed_on, shown};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, ExprKind, Name, Step};

/// The most subscripts of one access.
const SUBSCRIPTS_MAX: usize = verso_types::array::DIMENSIONS_MAX;

const HSTORE: SqlType = SqlType::System(SystemType::Hstore);

/// The array type whose elements, or rows, have this type: there is no array of arrays.
pub(super) fn array_over(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Array(_) => ty,
        element => SqlType::Array(Box::new(element)),
    }
}

/// One pair of brackets.
enum Subscript<'e> {
    Index(&'e Expr),
    Slice(Option<&'e Expr>, Option<&'e Expr>),
}

/// What brackets mean, bound.
enum Access {
    /// Subscripts.
    Element(Vec<TypedExpr>),
    /// Which bounds are given, and the bounds.
    Slice(Vec<TypedExpr>),
}

impl Binder<'_> {
    /// `a[i]…` and `a[i:j]…` as values.
    pub(super) fn subscripted(&self, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let mut steps = Vec::new();
        let mut base = expr;
        loop {
            let (step, inner) = match &base.kind {
                ExprKind::Subscript { array, index } => (Subscript::Index(index), array),
                ExprKind::Slice { array, lower, upper } => {
                    (Subscript::Slice(lower.as_deref(), upper.as_deref()), array)
                }
                _ => break,
            };
            steps.push(step);
            base = inner;
            // Text that begins before what is subscripted is a parenthesis, and another access within.
            if inner_is_enclosed(inner) {
                break;
            }
        }
        steps.reverse();
        let array = self.expr(base, cx)?;
        let array = self.settle(array, base.at.start)?;
        self.access(array, base.at.start, &steps, cx)
    }

    fn access(
        &self,
        array: TypedExpr,
        at: u32,
        steps: &[Subscript<'_>],
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        if array.ty == SqlType::Jsonb {
            return self.json_subscripts(array, steps, cx);
        }
        if array.ty == HSTORE {
            let key = self.store_subscript(steps, cx)?;
            let call = K::Call { function: &STORE_SUBSCRIPT, args: vec![array, key] };
            return Ok(TypedExpr::new(call, SqlType::Text));
        }
        if array.ty == SqlType::Name {
            return self.name_subscripts(array, at, steps, cx);
        }
        let element = match passed_on(&array.ty) {
            // Parts of an array have the modifier that its elements have.
            SqlType::Array(element) => match &array.ty {
                SqlType::Array(own) if !own.is_constrained() => own.clone(),
                _ => element,
            },
            SqlType::System(ty) => return self.part_subscripts(array, (ty, at), steps, cx),
            _ => return Err(no_subscripts(&array.ty).at(at)),
        };
        let (function, ty, rest) = match self.brackets(steps, at, cx)? {
            Access::Element(subscripts) => (&ELEMENT, *element, subscripts),
            Access::Slice(bounds) => (&SLICE, SqlType::Array(element), bounds),
        };
        let args = std::iter::once(array).chain(rest).collect();
        Ok(TypedExpr::new(K::Call { function, args }, ty))
    }

    /// `point[0]`: a part of a value that has a fixed number of them.
    fn part_subscripts(
        &self,
        value: TypedExpr,
        (ty, at): (SystemType, u32),
        steps: &[Subscript<'_>],
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let (Some(parts), Some(part)) = (parts_of(ty), ty.part()) else {
            return Err(no_subscripts(&value.ty).at(at));
        };
        match self.brackets(steps, at, cx)? {
            Access::Element(subscripts) => {
                let args = std::iter::once(value).chain(subscripts).collect();
                Ok(TypedExpr::new(K::Call { function: &parts.read, args }, part))
            }
            Access::Slice(_) => Err(no_slices("slices").at(at)),
        }
    }

    /// The new value where one of its parts, of which there is a fixed number, is assigned.
    fn part_assigned(
        &self,
        (target, ty): (TypedExpr, SystemType),
        (name, at): (&str, u32),
        steps: &[Subscript<'_>],
        value: (TypedExpr, u32),
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let (Some(parts), Some(part)) = (parts_of(ty), ty.part()) else {
            return Err(no_subscripts(&target.ty).at(at));
        };
        let whole = target.ty.clone();
        match self.brackets(steps, at, cx)? {
            Access::Element(subscripts) => {
                let value = self.value_of_part(value, &part, cx, |wanted| {
                    format!("subscripted assignment to \"{name}\" requires type {wanted}")
                })?;
                let args = [target, value].into_iter().chain(subscripts).collect();
                Ok(TypedExpr::new(K::Call { function: &parts.write, args }, whole))
            }
            Access::Slice(_) => Err(no_slices("updates on slices").at(at)),
        }
    }

    /// `name[0]`: a byte of it. Names have one dimension.
    fn name_subscripts(
        &self,
        name: TypedExpr,
        at: u32,
        steps: &[Subscript<'_>],
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let ty = SqlType::System(SystemType::Char);
        match self.brackets(steps, at, cx)? {
            Access::Element(subscripts) if subscripts.len() == 1 => {
                let args = std::iter::once(name).chain(subscripts).collect();
                Ok(TypedExpr::new(K::Call { function: &NAME_BYTE, args }, ty))
            }
            Access::Element(_) => Ok(TypedExpr::null(ty)),
            Access::Slice(_) => Err(no_slices("slices").at(at)),
        }
    }

    /// `j['a'][0]`: keys and indexes of a jsonb.
    fn json_subscripts(
        &self,
        json: TypedExpr,
        steps: &[Subscript<'_>],
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let mut value = json;
        for step in steps {
            let (key, _) = self.json_subscript(step, cx)?;
            value =
                TypedExpr::new(K::Call { function: &JSON_SUBSCRIPT, args: vec![value, key] }, SqlType::Jsonb);
        }
        Ok(value)
    }

    /// A key or an index, as text; whether it is an index.
    fn json_subscript(
        &self,
        step: &Subscript<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(TypedExpr, bool), SqlError> {
        let index = match step {
            Subscript::Index(index) => index,
            Subscript::Slice(lower, upper) => {
                let at = lower.or(*upper).map_or(0, |bound| bound.at.start);
                let text = "jsonb subscript does not support slices";
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(at));
            }
        };
        let bound = self.expr(index, cx)?;
        let at = index.at.start;
        if !(bound.ty.is_text() || bound.ty.is_integer()) {
            let text = format!("subscript type {} is not supported", shown(&bound.ty));
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
                .with_hint("jsonb subscript must be coercible to either integer or text.")
                .at(at));
        }
        let is_index = bound.ty.is_integer();
        Ok((self.coerce(bound, at, &SqlType::Text, CastKind::Explicit)?, is_index))
    }

    /// The new value of a jsonb of which a part is assigned.
    fn json_assigned(
        &self,
        target: TypedExpr,
        name: &str,
        steps: &[Subscript<'_>],
        value: (TypedExpr, u32),
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let (value, at) = value;
        let value = self.value_of_part((value, at), &SqlType::Jsonb, cx, |wanted| {
            format!("subscripted assignment to \"{name}\" requires type {wanted}")
        })?;
        let mut args = vec![target, value];
        for (n, step) in steps.iter().enumerate() {
            let (key, is_index) = self.json_subscript(step, cx)?;
            if n == 0 {
                args.push(TypedExpr::literal(Value::Bool(is_index), SqlType::Bool));
            }
            args.push(key);
        }
        Ok(TypedExpr::new(K::Call { function: &JSON_SET_SUBSCRIPT, args }, SqlType::Jsonb))
    }

    /// The key in the one pair of brackets that an hstore may have behind it, as text.
    fn store_subscript(&self, steps: &[Subscript<'_>], cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let [Subscript::Index(key)] = steps else {
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "hstore allows only one subscript"));
        };
        let bound = self.expr(key, cx)?;
        if !self.is_assignable(&bound.ty, &SqlType::Text) {
            let text = "hstore subscript must have type text";
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(key.at.start));
        }
        self.coerce(bound, key.at.start, &SqlType::Text, CastKind::Assignment)
    }

    /// The new value of an hstore of which a key gets a value.
    fn store_assigned(
        &self,
        target: TypedExpr,
        name: &str,
        steps: &[Subscript<'_>],
        value: (TypedExpr, u32),
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let key = self.store_subscript(steps, cx)?;
        let value = self.value_of_part(value, &SqlType::Text, cx, |wanted| {
            format!("subscripted assignment to \"{name}\" requires type {wanted}")
        })?;
        let call = K::Call { function: &STORE_SET_SUBSCRIPT, args: vec![target, value, key] };
        Ok(TypedExpr::new(call, HSTORE))
    }

    fn brackets(&self, steps: &[Subscript<'_>], at: u32, cx: &mut Context<'_>) -> Result<Access, SqlError> {
        if steps.len() > SUBSCRIPTS_MAX {
            return Err(SqlError::from(verso_types::array::too_many_dimensions(steps.len())).at(at));
        }
        if steps.iter().all(|step| matches!(step, Subscript::Index(_))) {
            let mut subscripts = Vec::with_capacity(steps.len());
            for step in steps {
                if let Subscript::Index(index) = step {
                    subscripts.push(self.subscript(index, cx)?);
                }
            }
            return Ok(Access::Element(subscripts));
        }
        let one = || TypedExpr::literal(Value::Int4(1), SqlType::Int4);
        let (mut given, mut bounds) = (0, Vec::with_capacity(2 * steps.len()));
        for (n, step) in steps.iter().enumerate() {
            // Beside slices a plain subscript is an upper bound.
            let (lower, upper) = match step {
                Subscript::Index(index) => (Some(one()), Some(self.subscript(index, cx)?)),
                Subscript::Slice(lower, upper) => (
                    lower.map(|lower| self.subscript(lower, cx)).transpose()?,
                    upper.map(|upper| self.subscript(upper, cx)).transpose()?,
                ),
            };
            given |= i32::from(lower.is_some()) << (2 * n) | i32::from(upper.is_some()) << (2 * n + 1);
            bounds.extend([lower.unwrap_or_else(one), upper.unwrap_or_else(one)]);
        }
        bounds.insert(0, TypedExpr::literal(Value::Int4(given), SqlType::Int4));
        Ok(Access::Slice(bounds))
    }

    /// One subscript, an integer.
    fn subscript(&self, expr: &Expr, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let bound = self.expr(expr, cx)?;
        let fits = cast_kind(&bound.ty, &SqlType::Int4).is_some_and(|kind| kind <= CastKind::Assignment);
        if !fits {
            let error = SqlError::new(sqlstate::DATATYPE_MISMATCH, "array subscript must have type integer");
            return Err(error.at(expr.at.start));
        }
        self.coerce(bound, expr.at.start, &SqlType::Int4, CastKind::Assignment)
    }

    /// The new value of `target` where the places that `steps` name get a value. `column` names it in errors.
    pub(super) fn assigned_within(
        &self,
        target: TypedExpr,
        column: (&str, u32),
        steps: &[Step],
        value: (TypedExpr, u32),
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let (name, at) = column;
        let ty = target.ty.clone();
        if let [Step::Field(field), within @ ..] = steps {
            return self.assigned_field(target, column, field, within, value, cx);
        }
        let mut brackets: Vec<Subscript<'_>> = Vec::with_capacity(steps.len());
        for step in steps {
            brackets.push(match step {
                Step::Index(index) => Subscript::Index(index),
                Step::Slice(lower, upper) => Subscript::Slice(lower.as_ref(), upper.as_ref()),
                Step::Field(_) => break,
            });
        }
        if let [Step::Field(field), within @ ..] = &steps[brackets.len()..] {
            return self.assigned_in_element(target, column, &brackets, (field, within), value, cx);
        }
        let steps = brackets;
        if ty == SqlType::Jsonb {
            return self.json_assigned(target, name, &steps, value, cx);
        }
        if ty == HSTORE {
            return self.store_assigned(target, name, &steps, value, cx);
        }
        if let SqlType::System(system) = ty {
            return self.part_assigned((target, system), column, &steps, value, cx);
        }
        let SqlType::Array(element) = ty.without_modifiers() else {
            return Err(no_subscripts(&ty).at(at));
        };
        let places = self.brackets(&steps, at, cx)?;
        let assign = |to: &SqlType| {
            let wants = |wanted: &str| format!("subscripted assignment to \"{name}\" requires type {wanted}");
            self.value_of_part(value, to, cx, wants)
        };
        let (function, value, rest) = match places {
            Access::Element(subscripts) => {
                // The element's modifier is that of the column.
                let to = match &ty {
                    SqlType::Array(element) => (**element).clone(),
                    _ => *element,
                };
                (&SET_ELEMENT, assign(&to)?, subscripts)
            }
            Access::Slice(bounds) => (&SET_SLICE, assign(&ty)?, bounds),
        };
        let args = [target, value].into_iter().chain(rest).collect();
        Ok(TypedExpr::new(K::Call { function, args }, ty))
    }
}

impl Binder<'_> {
    /// The new value of an array of rows where a field of an element gets a value.
    fn assigned_in_element(
        &self,
        target: TypedExpr,
        column: (&str, u32),
        brackets: &[Subscript<'_>],
        (field, within): (&Name, &[Step]),
        value: (TypedExpr, u32),
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let ty = target.ty.clone();
        let SqlType::Array(element) = ty.without_modifiers() else {
            return Err(no_subscripts(&ty).at(column.1));
        };
        let subscripts = match self.brackets(brackets, column.1, cx)? {
            Access::Element(subscripts) => subscripts,
            // A slice is an array, which has no fields.
            Access::Slice(_) => return self.assigned_field(target, column, field, within, value, cx),
        };
        // They are evaluated twice: to read the element, and to write it.
        if subscripts.iter().any(TypedExpr::is_volatile) {
            let text = "a volatile subscript before a field in an assignment";
            return Err(SqlError::unsupported(text).at(field.at.start));
        }
        let args = std::iter::once(target.clone()).chain(subscripts.iter().cloned()).collect();
        let old = TypedExpr::new(K::Call { function: &ELEMENT, args }, *element);
        let new = self.assigned_field(old, column, field, within, value, cx)?;
        let args = [target, new].into_iter().chain(subscripts).collect();
        Ok(TypedExpr::new(K::Call { function: &SET_ELEMENT, args }, ty))
    }

    /// A value cast for a part that is assigned; `wants` says in errors what that wants.
    fn value_of_part(
        &self,
        (value, at): (TypedExpr, u32),
        to: &SqlType,
        cx: &Context<'_>,
        wants: impl Fn(&str) -> String,
    ) -> Result<TypedExpr, SqlError> {
        if self.is_assignable(&value.ty, to) {
            return self.coerce(value, at, to, CastKind::Assignment);
        }
        if cx.clause == Clause::Procedure {
            return self.by_way_of_text(value, at, to);
        }
        let text = format!("{} but expression is of type {}", wants(&shown(to)), shown(&value.ty));
        Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
            .with_hint("You will need to rewrite or cast the expression.")
            .at(at))
    }

    /// The new value of a row where a field, or what `within` names in it, gets a value.
    fn assigned_field(
        &self,
        target: TypedExpr,
        (column, at): (&str, u32),
        field: &Name,
        within: &[Step],
        value: (TypedExpr, u32),
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let ty = target.ty.clone();
        let refuse = |sqlstate: &'static str, why: String| {
            let text =
                format!("cannot assign to field \"{}\" of column \"{column}\" because {why}", field.text);
            Err(SqlError::new(sqlstate, text).at(at))
        };
        let SqlType::Row(row) = &ty else {
            let why = format!("its type {} is not a composite type", shown(&ty));
            return refuse(sqlstate::DATATYPE_MISMATCH, why);
        };
        let Some(place) = self.field_place(row, &self.field_named(&field.text)) else {
            let why = format!("there is no such column in data type {}", shown(&ty));
            return refuse(sqlstate::UNDEFINED_COLUMN, why);
        };
        self.note_field(row, place);
        let number = |n: usize| TypedExpr::literal(Value::Int4(n as i32), SqlType::Int4);
        let (wanted, declared) = (&row.fields[place].1, row.declared(place));
        let value = if within.is_empty() {
            let is = |wanted: &str| format!("subfield \"{}\" is of type {wanted}", field.text);
            exactly(self.value_of_part(value, declared, cx, is)?, wanted)
        } else {
            let args = vec![target.clone(), number(place)];
            let inner = TypedExpr::new(K::Call { function: &FIELD, args }, wanted.clone());
            // As in PostgreSQL errors name what is assigned to, at any depth.
            let inner = self.assigned_within(inner, (column, at), within, value, cx)?;
            self.of_domain(inner, declared)?
        };
        let args = vec![target, value, number(place), number(row.fields.len())];
        Ok(TypedExpr::new(K::Call { function: &SET_FIELD, args }, ty))
    }
}

/// Whether an access stands in parentheses of its own.
fn inner_is_enclosed(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Subscript { array, .. } | ExprKind::Slice { array, .. } => expr.at.start < array.at.start,
        _ => false,
    }
}

/// `0A000`.
fn no_slices(what: &str) -> SqlError {
    let text = format!("{what} of fixed-length arrays not implemented");
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
}

/// `42804`.
fn no_subscripts(ty: &SqlType) -> SqlError {
    let text = format!("cannot subscript type {} because it does not support subscripting", shown(ty));
    SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
}
