//! Calls of users' functions: which parameter each argument is for, defaults, lists of arguments.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use verso_catalog::{ArgMode, FunctionArg, FunctionDef, FunctionLanguage};
use verso_env::stack;
use verso_exec::functions::ArgType;
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{CastKind, CollatedType, Derivation, RowType, SqlType};

use super::Binder;
use super::collate::refuse_mismatch;
use super::polymorphic::{is_polymorphic, listed, solve, takes_polymorphic};
use super::resolve::Declared;
use super::view::Noting;
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
    /// How the call fits with so many arguments, if it does.
    pub(super) fn of(function: &FunctionDef, call: &Call, given: usize) -> Option<Fit> {
        let parameters: Vec<&FunctionArg> = function.called_with().collect();
        let variadic = parameters.last().is_some_and(|last| last.mode == ArgMode::Variadic);
        let plain = given.checked_sub(call.names.len())?;
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
        // Without VARIADIC at the call its parameter takes elements, which have no names: no call by name fits, as in PostgreSQL.
        let by_name = !call.names.is_empty();
        if variadic && !call.variadic && !listed && (by_name || places.contains(&(parameters.len() - 1))) {
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
            ty if self.listed && *place == last => arg_type(&listed(ty).unwrap_or_else(|| ty.clone())),
            ty => arg_type(ty),
        };
        self.places.iter().map(declared).collect()
    }
}

/// An argument's type as candidates have it.
fn arg_type(ty: &SqlType) -> ArgType {
    match ty {
        SqlType::System(system) if system.is_polymorphic() => ArgType::Polymorphic(*system),
        ty => ArgType::Exact(ty.without_modifiers()),
    }
}

/// An argument of a call, and the type that it is cast to.
struct Given {
    value: TypedExpr,
    at: u32,
    to: SqlType,
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
        let mut given: Vec<Vec<Given>> = parameters.iter().map(|_| Vec::new()).collect();
        let last = parameters.len().saturating_sub(1);
        for (((mut value, at), to), place) in args.into_iter().zip(types).zip(&fit.places) {
            let ty = &parameters[*place].ty;
            if (is_polymorphic(ty) || *ty == SqlType::Record)
                && let Some(row) = written_row(&value)
            {
                value.ty = row;
            }
            given[*place].push(Given { value, at, to: to.clone() });
        }
        // A default has the type of its parameter; of a polymorphic one its own.
        for (given, parameter) in given.iter_mut().zip(&parameters) {
            if given.is_empty()
                && let Some(text) = &parameter.default
            {
                let value = self.argument_default(parameter, text)?;
                let (at, to) = (0, value.ty.clone());
                given.push(Given { value, at, to });
            }
        }
        let of_list = |place: usize, ty: &SqlType| match fit.listed && place == last {
            true => listed(ty).unwrap_or_else(|| ty.clone()),
            false => ty.clone(),
        };
        let mut function = Arc::clone(function);
        if takes_polymorphic(&function) {
            let declared: Vec<SqlType> =
                (0..).zip(&parameters).map(|(place, parameter)| of_list(place, &parameter.ty)).collect();
            let pairs = declared.iter().zip(&given).filter_map(|(ty, given)| match ty {
                SqlType::System(system) if system.is_polymorphic() => Some((*system, given)),
                _ => None,
            });
            let pairs =
                pairs.flat_map(|(system, given)| given.iter().map(move |one| (system, &one.value.ty)));
            let meaning = solve(pairs).ok_or_else(|| {
                let text = "arguments and defaults of polymorphic types are not all alike";
                SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
            })?;
            for (ty, given) in declared.iter().zip(&mut given).filter(|(ty, _)| is_polymorphic(ty)) {
                let to = meaning.of_parameter(ty)?;
                given.iter_mut().for_each(|one| one.to = to.clone());
            }
            function = Arc::new(meaning.of_function(&function));
        }
        if parameters.iter().any(|parameter| parameter.ty == SqlType::Record) {
            function = Arc::new(with_records(&function, &parameters, &mut given));
        }
        let mut values = Vec::with_capacity(parameters.len());
        for (place, given) in given.into_iter().enumerate() {
            let mut list = Vec::with_capacity(given.len());
            for Given { value, at, to } in given {
                list.push(self.coerce(value, at, &to, CastKind::Implicit)?);
            }
            if fit.listed && place == last {
                let element = list.first().map_or(SqlType::Text, |first| first.ty.without_modifiers());
                let ty = SqlType::Array(Box::new(element));
                values.push(TypedExpr::new(K::Array(list), ty));
            } else {
                values.extend(list);
            }
        }
        Ok((function, values))
    }

    /// The default of an argument.
    fn argument_default(&self, parameter: &FunctionArg, text: &str) -> Result<TypedExpr, SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.argument_default(parameter, text);
        }
        let scope = super::scope::Scope::default();
        // What the default needs, the text around it needs, too; it stands nowhere in that.
        let within = self.noting.map(|_| Noting::default());
        let binder = Binder { noting: within.as_ref(), ..self.in_kept_text() };
        let mut cx = super::context::Context::new(&scope, super::context::Clause::Default);
        let bound = verso_parser::parse_expression(text).map_err(SqlError::from).and_then(|expr| {
            let value = binder.expr(&expr, &mut cx)?;
            match &parameter.ty {
                SqlType::System(system) if system.is_polymorphic() => Ok(value),
                ty => binder.assign(value, expr.at.start, &parameter.name, ty),
            }
        });
        if let (Some(noting), Some(within)) = (self.noting, within) {
            noting.needs_of(within);
        }
        // The text was checked when the function was made; positions in it mean nothing to the statement.
        bound.map_err(|error| SqlError { position: None, ..error })
    }
}

/// The type of a row that is written where it stands, ROW(…).
fn written_row(value: &TypedExpr) -> Option<SqlType> {
    stack::check().ok()?;
    let (SqlType::Record, K::Row(parts)) = (&value.ty, &value.kind) else { return None };
    let field = |(n, part): (usize, &TypedExpr)| {
        let ty = match &part.ty {
            SqlType::Unknown => SqlType::Text,
            ty => written_row(part).unwrap_or_else(|| ty.clone()),
        };
        (format!("f{}", n + 1).into(), ty)
    };
    Some(SqlType::Row(Arc::new(RowType::unnamed(parts.iter().enumerate().map(field).collect()))))
}

/// A function whose parameters of type record have the fields of the rows that they are called with. A row whose fields are not
/// known before it runs, and NULL, is a record that has none yet.
fn with_records(
    function: &FunctionDef,
    parameters: &[&FunctionArg],
    given: &mut [Vec<Given>],
) -> FunctionDef {
    let mut own = function.clone();
    let mut hasher = DefaultHasher::new();
    own.variant.hash(&mut hasher);
    let takes = |arg: &&mut FunctionArg| function.is_procedure() || arg.mode.goes_in();
    for ((arg, parameter), given) in own.args.iter_mut().filter(takes).zip(parameters).zip(given) {
        let [one] = given.as_mut_slice() else { continue };
        if parameter.ty == SqlType::Record && matches!(one.value.ty, SqlType::Row(_)) {
            one.to = one.value.ty.clone();
            arg.ty = one.to.clone();
        }
        arg.ty.hash(&mut hasher);
    }
    own.variant = hasher.finish().max(1);
    own
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
