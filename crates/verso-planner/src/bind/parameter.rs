//! Types of parameters that nobody declared: the first context that wants a type gives it, as in PostgreSQL.
//!
//! Q1. Until something wants a type of it a parameter is `Unknown`, like an untyped literal. Q2. The type it then gets
//! is without modifier, and stays: another context casts, or is refused (42P08). Q3. What nothing gave a type by the
//! end of the statement is refused (42P18). Q4. What takes a value of any type (`IS NULL`, `count`) gives none, and a
//! parameter that has none there must not get one later (42P08), as in PostgreSQL. Q5. Drivers send values in the form of
//! the type that they are told, so it is PostgreSQL's also where a function or an operator here takes another one.

use std::cell::{Cell, RefCell};

use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{CastKind, SqlType, SystemType, cast_kind};

use super::Binder;
use super::context::{Clause, Context};
use super::resolve::{Resolution, function_error, shown};
use super::scope::Scope;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Call, Expr};

/// The highest number of a parameter, as the protocol counts them in 16 bits.
const PARAMETERS_MAX: usize = 65_535;

/// What is known of a statement's parameters while it is bound.
#[derive(Debug, Default)]
pub struct Inference {
    types: RefCell<Vec<SqlType>>,
    /// Those that stood where nothing gives a type, and had none.
    open: RefCell<Vec<usize>>,
    /// One is cast to an interval with fields.
    fields: Cell<bool>,
}

impl Inference {
    /// Begins with the declared types; `None` is to be found out.
    pub fn new(declared: &[Option<SqlType>]) -> Inference {
        let types = declared.iter().map(|ty| ty.clone().unwrap_or(SqlType::Unknown)).collect();
        Inference { types: RefCell::new(types), ..Inference::default() }
    }

    /// The type so far of parameter `index`, counted from 0; none if there can be no such parameter.
    pub(super) fn refer(&self, index: usize) -> Option<SqlType> {
        if index >= PARAMETERS_MAX {
            return None;
        }
        let mut types = self.types.borrow_mut();
        if types.len() <= index {
            types.resize(index + 1, SqlType::Unknown);
        }
        Some(types[index].clone())
    }

    /// What is known so far, for [`Inference::go_back`].
    pub(super) fn known(&self) -> Vec<SqlType> {
        self.types.borrow().clone()
    }

    /// Forgets what was found out since [`Inference::known`]: a part of the statement is bound once more.
    pub(super) fn go_back(&self, known: Vec<SqlType>) {
        *self.types.borrow_mut() = known;
    }

    /// Takes over what was found out elsewhere of those of which nothing is known.
    pub(super) fn go_on(&self, found: &[SqlType]) {
        let mut types = self.types.borrow_mut();
        if types.len() < found.len() {
            types.resize(found.len(), SqlType::Unknown);
        }
        for (ty, found) in types.iter_mut().zip(found) {
            if *ty == SqlType::Unknown {
                *ty = found.clone();
            }
        }
    }

    /// Notes that a parameter without a type stands where nothing gives it one (Q4).
    pub(super) fn leave_open(&self, index: usize) {
        self.open.borrow_mut().push(index);
    }

    /// Notes that a parameter is cast to an interval with fields.
    pub(super) fn note_fields(&self) {
        self.fields.set(true);
    }

    /// Whether one is cast to an interval with fields: these act while a literal is read, but not on a parameter.
    pub fn has_fields(&self) -> bool {
        self.fields.get()
    }

    /// Gives a parameter its type (Q2).
    pub(super) fn decide(&self, index: usize, ty: &SqlType) -> Result<(), SqlError> {
        let mut types = self.types.borrow_mut();
        match types.get_mut(index) {
            Some(known) if *known == SqlType::Unknown => *known = ty.clone(),
            Some(known) if *known != *ty => {
                let text = format!("inconsistent types deduced for parameter ${}", index + 1);
                let detail = format!("{} versus {}", known.pg_name(), ty.pg_name());
                return Err(SqlError::new(sqlstate::AMBIGUOUS_PARAMETER, text).with_detail(detail));
            }
            _ => {}
        }
        Ok(())
    }

    /// The types of all parameters (Q3).
    ///
    /// # Errors
    /// 42P18, 42P08.
    pub fn finish(self) -> Result<Vec<SqlType>, SqlError> {
        let types = self.types.into_inner();
        let unknown = |index: &usize| types.get(*index).is_none_or(|ty| *ty == SqlType::Unknown);
        let error = |code, index: usize| {
            Err(SqlError::new(code, format!("could not determine data type of parameter ${}", index + 1)))
        };
        if let Some(index) = self.open.into_inner().into_iter().find(|index| !unknown(index)) {
            return error(sqlstate::AMBIGUOUS_PARAMETER, index);
        }
        if let Some(index) = (0..types.len()).find(unknown) {
            return error(sqlstate::INDETERMINATE_DATATYPE, index);
        }
        Ok(types)
    }
}

impl Binder<'_> {
    /// Binds an argument of EXECUTE to its parameter's type.
    pub fn argument(&self, expr: &Expr, index: usize, ty: &SqlType) -> Result<TypedExpr, SqlError> {
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::ExecuteArgument);
        let value = self.expr(expr, &mut cx)?;
        let fits = cast_kind(&value.ty, ty).is_some_and(|kind| kind <= CastKind::Assignment)
            || self.has_user_cast(&value.ty, ty, CastKind::Assignment);
        if !fits && value.ty != SqlType::Unknown && value.ty != *ty {
            let text = format!(
                "parameter ${} of type {} cannot be coerced to the expected type {}",
                index + 1,
                shown(&value.ty),
                shown(ty)
            );
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
                .with_hint("You will need to rewrite or cast the expression.")
                .at(expr.at.start));
        }
        self.coerce(value, expr.at.start, ty, CastKind::Assignment)
    }

    /// The arguments of a call. A parameter of no type gets that of PostgreSQL's function, where functions are named like types: it
    /// is no cast there, and several may take it (Q5).
    ///
    /// # Errors
    /// 42725, 42883.
    pub(super) fn with_types_there(
        &self,
        call: &Call,
        mut args: Vec<(TypedExpr, u32)>,
    ) -> Result<Vec<(TypedExpr, u32)>, SqlError> {
        let name = call.name.name.text.as_str();
        let is_theirs = || {
            let schema = call.name.schema_text();
            schema.is_none_or(|schema| schema == "pg_catalog")
                && self.catalog.functions(None, name).is_empty()
        };
        let count = args.len();
        let Some((arg, at)) = args.first_mut().filter(|(arg, _)| self.is_open(arg)) else { return Ok(args) };
        let there = taken_there(name, count).filter(|_| is_theirs());
        match there {
            None => {}
            Some(Ok(ty)) => *arg = self.coerce(arg.clone(), *at, &ty, CastKind::Implicit)?,
            Some(Err(found)) => {
                return Err(function_error(name, &[SqlType::Unknown], &found).at(call.name.at().start));
            }
        }
        Ok(args)
    }

    /// Gives a parameter of no type, which is compared with one of several values of a type, that which the operator takes beside
    /// it: `$1 = ANY (varchar[])` has a text (Q5). What cannot be compared is told where it is.
    pub(super) fn settled_beside(
        &self,
        op: &str,
        (arg, at): &(TypedExpr, u32),
        other: &SqlType,
        point: u32,
    ) -> Option<TypedExpr> {
        let inference = self.inference?;
        let K::Parameter(index) = arg.kind else { return None };
        if !self.is_open(arg) || *other == SqlType::Unknown {
            return None;
        }
        let beside = (TypedExpr::null(other.clone()), *at);
        self.operator(op, vec![(arg.clone(), *at), beside], point).ok()?;
        let ty = inference.refer(index).filter(|ty| *ty != SqlType::Unknown)?;
        Some(TypedExpr { ty, ..arg.clone() })
    }

    /// Whether it is a parameter of which nothing has given the type yet.
    fn is_open(&self, arg: &TypedExpr) -> bool {
        self.inference.is_some() && arg.ty == SqlType::Unknown && matches!(arg.kind, K::Parameter(_))
    }
}

/// What PostgreSQL's function of that name makes of a first argument of no type: the type that it has then, or why it finds none. Of
/// functions that take what those here take nothing is said.
fn taken_there(name: &str, args: usize) -> Option<Result<SqlType, Resolution>> {
    let system = |ty| Some(Ok(SqlType::System(ty)));
    match (name, args) {
        ("nextval" | "currval", 1) | ("setval", 2 | 3) => system(SystemType::Regclass),
        ("date" | "timetz", 1) => Some(Ok(SqlType::Timestamptz(None))),
        ("cidr", 1) => system(SystemType::Inet),
        ("macaddr", 1) => system(SystemType::Macaddr8),
        ("macaddr8", 1) => system(SystemType::Macaddr),
        ("oid", 1) => Some(Ok(SqlType::Int8)),
        ("regclass", 1) => Some(Ok(SqlType::Text)),
        ("bool" | "bytea" | "float4" | "float8" | "int2" | "int4" | "int8" | "money" | "timestamptz", 1) => {
            Some(Err(Resolution::Ambiguous))
        }
        ("inet" | "json" | "jsonb" | "uuid", 1) => Some(Err(Resolution::None)),
        _ => None,
    }
}
