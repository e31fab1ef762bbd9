//! Calls of users' functions: which parameter each argument is for, defaults, lists of arguments, and what types polymorphic
//! functions stand with.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use verso_catalog::{ArgMode, FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn};
use verso_exec::functions::ArgType;
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::range::RangeType;
use verso_types::{CastKind, CollatedType, Derivation, RowType, SqlType, SystemType};

use super::Binder;
use super::collate::refuse_mismatch;
use super::resolve::Declared;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::Call;

/// How the arguments of a call fit the parameters of a function.
#[derive(Debug)]
pub(super) struct Fit {
    /// For each argument of the call, the number of its parameter.
    places: Vec<usize>,
    /// The last arguments are elements of the last parameter, which is VARIADIC.
    listed: bool,
}

impl Fit {
    /// How the call fits, if it does.
    pub(super) fn of(function: &FunctionDef, call: &Call) -> Option<Fit> {
        let parameters: Vec<&FunctionArg> = function.called_with().collect();
        let variadic = parameters.last().is_some_and(|last| last.mode == ArgMode::Variadic);
        let given = call.args.len();
        let plain = given - call.names.len();
        if call.variadic && !variadic {
            return None;
        }
        let listed = variadic && !call.variadic && call.names.is_empty() && given >= parameters.len();
        let mut places = Vec::with_capacity(given);
        for n in 0..given {
            let place = match n.checked_sub(plain) {
                None if listed => n.min(parameters.len() - 1),
                None => n,
                Some(named) => {
                    parameters.iter().position(|parameter| *parameter.name == *call.names[named].text)?
                }
            };
            if place >= parameters.len()
                || !(listed && place + 1 == parameters.len()) && places.contains(&place)
            {
                return None;
            }
            places.push(place);
        }
        let missing = || (0..parameters.len()).filter(|n| !places.contains(n));
        // Without VARIADIC at the call its parameter takes elements, of which none by name.
        if variadic && !call.variadic && !listed && places.contains(&(parameters.len() - 1)) {
            return None;
        }
        if missing().any(|n| parameters[n].default.is_none()) {
            return None;
        }
        Some(Fit { places, listed })
    }

    /// Is the last parameter a list of arguments?
    pub(super) fn is_list(&self) -> bool {
        self.listed
    }

    /// What the function takes, in the order of the call.
    pub(super) fn declared(&self, function: &FunctionDef) -> Declared {
        let parameters: Vec<&FunctionArg> = function.called_with().collect();
        let last = parameters.len().saturating_sub(1);
        let declared = |place: &usize| match &parameters[*place].ty {
            SqlType::Array(element) if self.listed && *place == last => arg_type(element),
            SqlType::System(SystemType::AnyArray | SystemType::AnyCompatibleArray)
                if self.listed && *place == last =>
            {
                ArgType::AnyElement
            }
            ty => arg_type(ty),
        };
        self.places.iter().map(declared).collect()
    }
}

/// An argument's type as candidates have it.
fn arg_type(ty: &SqlType) -> ArgType {
    use SystemType as S;
    match ty {
        SqlType::System(S::AnyElement | S::AnyCompatible) => ArgType::AnyElement,
        SqlType::System(S::AnyNonArray | S::AnyCompatibleNonArray) => ArgType::AnyNonArray,
        SqlType::System(S::AnyEnum) => ArgType::AnyEnum,
        SqlType::System(S::AnyArray | S::AnyCompatibleArray) => ArgType::AnyArray,
        SqlType::System(S::AnyRange | S::AnyCompatibleRange) => ArgType::AnyRange,
        SqlType::System(S::AnyMultirange | S::AnyCompatibleMultirange) => ArgType::AnyMultirange,
        ty => ArgType::Exact(ty.without_modifiers()),
    }
}

impl Binder<'_> {
    /// The function as the call means it, and its arguments in the order of its parameters. `args` are those of the call,
    /// `types` what they are cast to.
    pub(super) fn fitted(
        &self,
        function: &Arc<FunctionDef>,
        fit: &Fit,
        args: Vec<(TypedExpr, u32)>,
        types: &[SqlType],
    ) -> Result<(Arc<FunctionDef>, Vec<TypedExpr>), SqlError> {
        let parameters: Vec<&FunctionArg> = function.called_with().collect();
        let mut open =
            args.iter().zip(&fit.places).filter(|(_, place)| is_polymorphic(&parameters[**place].ty));
        if open.clone().next().is_some() && open.all(|((arg, _), _)| arg.ty == SqlType::Unknown) {
            let text = "could not determine polymorphic type because input has type unknown";
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
        }
        let mut values: Vec<Option<TypedExpr>> = vec![None; parameters.len()];
        let mut list = Vec::new();
        let last = parameters.len().saturating_sub(1);
        for (((arg, at), to), place) in args.into_iter().zip(types).zip(&fit.places) {
            let value = self.coerce(arg, at, to, CastKind::Implicit)?;
            match fit.listed && *place == last {
                true => list.push(value),
                false => values[*place] = Some(value),
            }
        }
        if fit.listed {
            let element = list.first().map_or(SqlType::Text, |first| first.ty.without_modifiers());
            let ty = SqlType::Array(Box::new(element));
            values[last] = Some(TypedExpr::new(K::Array(list), ty));
        }
        // A default has the type of its parameter; of a polymorphic one its own.
        for (value, parameter) in values.iter_mut().zip(&parameters) {
            if value.is_none()
                && let Some(text) = &parameter.default
            {
                *value = Some(self.argument_default(parameter, text)?);
            }
        }
        let values: Vec<TypedExpr> = values.into_iter().flatten().collect();
        let function = specialized(function, &parameters, &values)?;
        Ok((function, values))
    }

    /// The default of an argument.
    fn argument_default(&self, parameter: &FunctionArg, text: &str) -> Result<TypedExpr, SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.argument_default(parameter, text);
        }
        let scope = super::scope::Scope::default();
        let binder = Binder { variables: Vec::new(), records: Vec::new(), ..self.clone() };
        let mut cx = super::context::Context::new(&scope, super::context::Clause::Default);
        let bound = verso_parser::parse_expression(text).map_err(SqlError::from).and_then(|expr| {
            let value = binder.expr(&expr, &mut cx)?;
            match &parameter.ty {
                SqlType::System(system) if system.is_polymorphic() => Ok(value),
                ty => binder.assign(value, expr.at.start, &parameter.name, ty),
            }
        });
        // The text was checked when the function was made; positions in it mean nothing to the statement.
        bound.map_err(|error| SqlError { position: None, ..error })
    }
}

/// Is the type one that each call decides?
pub fn is_polymorphic(ty: &SqlType) -> bool {
    matches!(ty, SqlType::System(system) if system.is_polymorphic())
}

/// Does it take arguments of polymorphic types?
pub fn takes_polymorphic(function: &FunctionDef) -> bool {
    function.args.iter().any(|arg| is_polymorphic(&arg.ty))
}

/// A polymorphic function with the types that its arguments have; any other one as it is.
fn specialized(
    function: &Arc<FunctionDef>,
    parameters: &[&FunctionArg],
    values: &[TypedExpr],
) -> Result<Arc<FunctionDef>, SqlError> {
    if !takes_polymorphic(function) {
        return Ok(Arc::clone(function));
    }
    use SystemType as S;
    let (mut element, mut range) = (None, None);
    for (parameter, value) in parameters.iter().zip(values) {
        let found = match (&parameter.ty, &value.ty) {
            (SqlType::System(S::AnyArray | S::AnyCompatibleArray), SqlType::Array(element)) => {
                Some((**element).clone())
            }
            (SqlType::System(S::AnyArray | S::AnyCompatibleArray), _) => None,
            (SqlType::System(open), SqlType::Range(of) | SqlType::Multirange(of)) if open.is_any_range() => {
                range = Some(of.clone());
                Some(of.subtype())
            }
            (ty, given) if is_polymorphic(ty) && *given != SqlType::Unknown => {
                Some(given.without_modifiers())
            }
            _ => None,
        };
        element = element.or(found);
    }
    let Some(element) = element else {
        let text = "could not determine polymorphic type because input has type unknown";
        return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
    };
    Ok(Arc::new(of_element(function, &element, range)))
}

/// A function whose arguments have the collation of those that it is called with.
///
/// # Errors
/// 42P21 for arguments with different COLLATE.
pub(super) fn collated(
    function: Arc<FunctionDef>,
    args: &[TypedExpr],
    at: u32,
) -> Result<Arc<FunctionDef>, SqlError> {
    let texts = args.iter().filter(|arg| arg.ty.is_collatable());
    let derived = texts.fold(Derivation::Default, |derived, arg| derived.and(&arg.collation));
    refuse_mismatch(&derived, at)?;
    let Some(collation) = derived.collation() else { return Ok(function) };
    if !matches!(function.language, FunctionLanguage::Sql | FunctionLanguage::PlPgSql) {
        return Ok(function);
    }
    let mut own = FunctionDef::clone(&function);
    for arg in &mut own.args {
        // arrays of texts keep the database's
        if matches!(arg.ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_)) {
            let (base, collation) = (arg.ty.clone(), Arc::clone(collation));
            arg.ty = SqlType::Collated(Arc::new(CollatedType { base, collation }));
        }
    }
    let mut hasher = DefaultHasher::new();
    (own.variant, collation.oid).hash(&mut hasher);
    own.variant = hasher.finish().max(1);
    Ok(Arc::new(own))
}

/// A polymorphic function with this type for what it does not say, and this one for its ranges.
pub fn of_element(function: &FunctionDef, element: &SqlType, range: Option<RangeType>) -> FunctionDef {
    use SystemType as S;
    let own = range.clone().unwrap_or(RangeType::INT4);
    let concrete = |ty: &SqlType| match ty {
        SqlType::System(S::AnyRange | S::AnyCompatibleRange) => SqlType::Range(own.clone()),
        SqlType::System(S::AnyMultirange | S::AnyCompatibleMultirange) => SqlType::Multirange(own.clone()),
        SqlType::System(S::AnyArray | S::AnyCompatibleArray) => SqlType::Array(Box::new(element.clone())),
        ty if is_polymorphic(ty) => element.clone(),
        ty => ty.clone(),
    };
    let mut own = function.clone();
    for arg in &mut own.args {
        arg.ty = concrete(&arg.ty);
    }
    own.returns = match &function.returns {
        FunctionReturn::Scalar(SqlType::Row(row)) => {
            let fields = row.fields.iter().map(|(name, ty)| (Arc::clone(name), concrete(ty))).collect();
            FunctionReturn::Scalar(SqlType::Row(Arc::new(RowType { of: None, fields })))
        }
        FunctionReturn::Scalar(ty) => FunctionReturn::Scalar(concrete(ty)),
        FunctionReturn::Set(ty) => FunctionReturn::Set(concrete(ty)),
        FunctionReturn::Table(columns) => {
            FunctionReturn::Table(columns.iter().map(|(name, ty)| (Arc::clone(name), concrete(ty))).collect())
        }
        other => other.clone(),
    };
    let mut hasher = DefaultHasher::new();
    (element, range).hash(&mut hasher);
    own.variant = hasher.finish().max(1);
    own
}
