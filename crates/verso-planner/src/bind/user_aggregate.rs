//! Aggregates of users. A call means what its steps make of the rows that an aggregate has gathered, so that DISTINCT, ORDER
//! BY, FILTER, OVER and outer queries mean what they mean elsewhere:
//!
//! ```text
//! total(a, b ORDER BY c)     fold(array_agg(ROW(a, b) ORDER BY c))
//! total(DISTINCT a)          fold(array_gathered(DISTINCT a))
//! ```

use std::sync::Arc;

use verso_catalog::{
    AggregateDef, ArgMode, Callee, CatalogSnapshot, FunctionDef, FunctionReturn, Modify, MovingDef, Object,
    Oid, Rights,
};
use verso_exec::functions::Volatility;
use verso_exec::plan::{ExprKind as K, FoldRules, FrameBound as PlanBound, TypedExpr, WindowFold};
use verso_types::{CastKind, SqlType, TimeStyle, Value, parse_text};

use super::Binder;
use super::call::Found;
use super::context::{Context, WINDOW_BASE};
use super::json::named;
use super::polymorphic::{follows_from, is_polymorphic, needed_for};
use super::rights::denied;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Call, Expr, ExprKind, FrameBound, Literal, Name, Over, QualifiedName, Span};

/// What CREATE AGGREGATE says, with its types looked up.
#[derive(Clone, Debug)]
pub struct NewAggregate<'a> {
    /// What it takes.
    pub args: Vec<SqlType>,
    /// SFUNC.
    pub step: &'a QualifiedName,
    /// STYPE.
    pub state: SqlType,
    /// FINALFUNC.
    pub last: Option<&'a QualifiedName>,
    /// FINALFUNC_EXTRA.
    pub extra: bool,
    /// INITCOND.
    pub initial: Option<&'a str>,
    /// FINALFUNC_MODIFY.
    pub modify: Modify,
    /// SSPACE.
    pub space: i32,
    /// COMBINEFUNC.
    pub combine: Option<&'a QualifiedName>,
    /// PARALLEL, as `pg_proc` has it.
    pub parallel: char,
    /// The options of moving frames.
    pub moving: Option<NewMoving<'a>>,
}

/// The moving-aggregate options of CREATE AGGREGATE.
#[derive(Clone, Debug)]
pub struct NewMoving<'a> {
    /// MSFUNC.
    pub step: &'a QualifiedName,
    /// MINVFUNC.
    pub inverse: &'a QualifiedName,
    /// MSTYPE.
    pub state: SqlType,
    /// MFINALFUNC.
    pub last: Option<&'a QualifiedName>,
    /// MFINALFUNC_EXTRA.
    pub extra: bool,
    /// MFINALFUNC_MODIFY.
    pub modify: Modify,
    /// MSSPACE.
    pub space: i32,
    /// MINITCOND.
    pub initial: Option<&'a str>,
}

fn invalid(text: impl Into<String>) -> SqlError {
    SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text)
}

/// What a new aggregate computes, and the type of its result.
///
/// # Errors
/// Those of CREATE AGGREGATE.
pub fn check_aggregate(
    new: &NewAggregate<'_>,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<(AggregateDef, SqlType), SqlError> {
    let binder = Binder::new(catalog, time_zone, &[]);
    let plain =
        Way { step: new.step, state: &new.state, last: new.last, extra: new.extra, initial: new.initial };
    let moving = new.moving.as_ref().map(|moving| Way {
        step: moving.step,
        state: &moving.state,
        last: moving.last,
        extra: moving.extra,
        initial: moving.initial,
    });
    for way in [Some(&plain), moving.as_ref()].into_iter().flatten() {
        if is_polymorphic(way.state) && !new.args.iter().any(|arg| follows_from(way.state, arg)) {
            return Err(invalid("cannot determine transition data type").with_detail(format!(
                "A result of type {} requires at least one input of type {}.",
                way.state.pg_name(),
                needed_for(way.state)
            )));
        }
    }
    let step = binder.step(&plain, &new.args)?;
    let moving_steps = match (&moving, &new.moving) {
        (Some(way), Some(moving)) => {
            let step = binder.step(way, &new.args)?;
            let inverse = binder.aggregate_part(moving.inverse, &way.taken(&new.args))?;
            if !inverse.1.same_base(&concrete(&moving.state)) {
                return Err(returned("inverse transition function", moving.inverse, &moving.state));
            }
            if inverse.2 != step.strict {
                return Err(invalid(
                    "strictness of aggregate's forward and inverse transition functions must match",
                ));
            }
            Some((step.callee, inverse.0))
        }
        _ => None,
    };
    let (last, result) = binder.last(&plain, &new.args)?;
    let combine = match new.combine {
        None => None,
        Some(combine) => {
            let state = concrete(&new.state);
            let part = binder.aggregate_part(combine, &[state.clone(), state.clone()])?;
            if !part.1.same_base(&state) {
                return Err(returned("combine function", combine, &new.state));
            }
            Some(part.0)
        }
    };
    let moving_last = match &moving {
        None => None,
        Some(way) => {
            let (last, moving_result) = binder.last(way, &new.args)?;
            if !moving_result.same_base(&result) {
                return Err(invalid(format!(
                    "moving-aggregate implementation returns type {}, but plain implementation returns type {}",
                    moving_result.pg_name(),
                    result.pg_name()
                )));
            }
            last
        }
    };
    for way in [Some(&plain), moving.as_ref()].into_iter().flatten() {
        if let (Some(initial), false) = (way.initial, is_polymorphic(way.state)) {
            parse_text(way.state, initial, time_zone)?;
        }
    }
    let moving = new.moving.as_ref().zip(moving_steps).map(|(moving, (step, inverse))| MovingDef {
        step,
        inverse,
        state: Oid(moving.state.pg_oid()),
        last: moving_last,
        extra: moving.extra,
        modify: moving.modify,
        space: moving.space,
        initial: moving.initial.map(Into::into),
    });
    let definition = AggregateDef {
        step: step.callee,
        state: Oid(new.state.pg_oid()),
        last,
        extra: new.extra,
        initial: new.initial.map(Into::into),
        modify: new.modify,
        space: new.space,
        combine,
        parallel: new.parallel,
        moving,
    };
    Ok((definition, result))
}

/// One of the two ways in which an aggregate may be computed: row by row, or over a frame that moves.
struct Way<'a> {
    step: &'a QualifiedName,
    state: &'a SqlType,
    last: Option<&'a QualifiedName>,
    extra: bool,
    initial: Option<&'a str>,
}

impl Way<'_> {
    /// What a step takes.
    fn taken(&self, args: &[SqlType]) -> Vec<SqlType> {
        std::iter::once(self.state).chain(args).map(concrete).collect()
    }
}

/// What an aggregate is computed by, row by row or over a frame that moves.
#[derive(Clone, Copy)]
struct Steps<'a> {
    step: &'a Callee,
    state: Oid,
    last: Option<&'a Callee>,
    extra: bool,
    initial: Option<&'a str>,
}

/// Whether an argument may be another one when its row leaves the frame.
fn is_unsteady(arg: &TypedExpr) -> bool {
    arg.any(&mut |part| match &part.kind {
        K::Call { function, .. } => function.volatility == Volatility::Volatile,
        K::UserCall { function, .. } => function.volatility == verso_catalog::Volatility::Volatile,
        K::Subquery { .. } => true,
        _ => false,
    })
}

/// A type as a polymorphic aggregate has it that is called with integers.
fn concrete(ty: &SqlType) -> SqlType {
    of_element(ty, &SqlType::Int4)
}

fn returned(what: &str, function: &QualifiedName, state: &SqlType) -> SqlError {
    let text = format!("return type of {what} {} is not {}", function.name.text, state.pg_name());
    SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
}

/// A function that a definition names.
#[derive(Clone, Debug)]
pub struct Part {
    /// Which.
    pub callee: Callee,
    /// What it gives.
    pub ty: SqlType,
    /// Whether it is strict.
    pub strict: bool,
}

/// The function that a definition of an operator or a cast names, which takes these types.
///
/// # Errors
/// 42883, 42P13.
pub fn part_of_definition(
    name: &QualifiedName,
    types: &[SqlType],
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<Part, SqlError> {
    let (callee, ty, strict) = Binder::new(catalog, time_zone, &[]).aggregate_part(name, types)?;
    Ok(Part { callee, ty, strict })
}

/// A type with this one for what it does not say.
fn of_element(ty: &SqlType, element: &SqlType) -> SqlType {
    match ty {
        ty if !is_polymorphic(ty) => ty.clone(),
        ty if ty.pg_name().ends_with("array") && !ty.pg_name().ends_with("nonarray") => {
            SqlType::Array(Box::new(element.clone()))
        }
        _ => element.clone(),
    }
}

impl Binder<'_> {
    /// The function that makes the next state.
    fn step(&self, way: &Way<'_>, args: &[SqlType]) -> Result<Part, SqlError> {
        let state = concrete(way.state);
        let (callee, ty, strict) = self.aggregate_part(way.step, &way.taken(args))?;
        if !ty.same_base(&state) {
            return Err(returned("transition function", way.step, way.state));
        }
        if strict
            && way.initial.is_none()
            && args.first().is_none_or(|first| !concrete(first).same_base(&state))
        {
            return Err(invalid(
                "must not omit initial value when transition function is strict and transition type is not \
                 compatible with input type",
            ));
        }
        Ok(Part { callee, ty, strict })
    }

    /// The function that makes the result, if there is one; the type of the result.
    fn last(&self, way: &Way<'_>, args: &[SqlType]) -> Result<(Option<Callee>, SqlType), SqlError> {
        let Some(last) = way.last else { return Ok((None, way.state.clone())) };
        let taken = if way.extra { way.taken(args) } else { vec![concrete(way.state)] };
        let (callee, ty, strict) = self.aggregate_part(last, &taken)?;
        if way.extra && strict {
            return Err(invalid("final function with extra arguments must not be declared STRICT"));
        }
        let ty = match args.iter().any(is_polymorphic) {
            // Whether it is the one of the arguments' types the function itself says.
            true => self.declared_result(&callee).unwrap_or(ty),
            false => ty,
        };
        Ok((Some(callee), ty))
    }

    /// The function of an aggregate by its name and the types it takes; what it gives, and whether it is strict.
    fn aggregate_part(
        &self,
        name: &QualifiedName,
        types: &[SqlType],
    ) -> Result<(Callee, SqlType, bool), SqlError> {
        let args = types.iter().enumerate().map(|(n, ty)| (TypedExpr::new(K::Parameter(n), ty.clone()), 0));
        let args: Vec<(TypedExpr, u32)> = args.collect();
        let call = Call::plain(name.clone(), places(types.len()));
        let own = self.catalog.functions(name.schema_text(), &name.name.text);
        // Where the aggregate gathers arguments into an array, its function gets that.
        let found = match own.iter().any(|function| takes_list(function, &args)) {
            true => {
                let listed = Call { variadic: true, ..call.clone() };
                self.function(&listed, args.clone()).or_else(|_| self.function(&call, args))?
            }
            false => self.function(&call, args)?,
        };
        match found {
            Found::BuiltIn(function, args, to) => {
                let strict = function.strict;
                let bound = self.built_in(function, args, &to)?;
                Ok((Callee::BuiltIn(name.name.text.as_str().into()), bound.ty, strict))
            }
            Found::User(function, _) => match &function.returns {
                FunctionReturn::Scalar(ty) if !function.is_aggregate() => {
                    Ok((Callee::User(function.oid), ty.erased(), function.strict))
                }
                _ => Err(invalid(format!("function {} returns a set", function.signature()))),
            },
        }
    }

    /// The polymorphic result of a function of users as it was declared.
    fn declared_result(&self, callee: &Callee) -> Option<SqlType> {
        let Callee::User(oid) = callee else { return None };
        match &self.catalog.function_by_oid(*oid)?.returns {
            FunctionReturn::Scalar(ty) if is_polymorphic(ty) => Some(ty.clone()),
            _ => None,
        }
    }

    /// Does the call mean an aggregate of users?
    pub(super) fn is_user_aggregate(&self, call: &Call) -> bool {
        let at = call.name.at().start;
        match self.stored {
            Some(stored) => stored
                .functions
                .iter()
                .find(|(place, _)| *place == at)
                .and_then(|(_, oid)| self.catalog.function_by_oid(*oid))
                .is_some_and(|function| function.is_aggregate()),
            None => self
                .catalog
                .functions(call.name.schema_text(), &call.name.name.text)
                .iter()
                .any(|function| function.is_aggregate()),
        }
    }

    /// A call of an aggregate of users.
    pub(super) fn user_aggregate(
        &self,
        call: &Call,
        expr: &Expr,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let at = call.name.at();
        let name = &call.name.name.text;
        if call.args.is_empty() && !call.star {
            let text = format!("{name}(*) must be used to call a parameterless aggregate function");
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at.start));
        }
        if !call.within_group.is_empty() {
            let text = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at.start));
        }
        if call.star && call.distinct {
            return Err(SqlError::syntax("DISTINCT specified, but there is nothing to count").at(at.start));
        }
        if !call.names.is_empty() {
            let text = "aggregates cannot use named arguments";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at.start));
        }
        // What DISTINCT is to sort by has to be an argument itself.
        let single = call.distinct && call.args.len() == 1;
        let mut gathered = call.clone();
        let gathers = match (single, call.distinct) {
            (true, _) => "array_gathered",
            (false, true) => "array_gathered_parts",
            (false, false) => "array_agg",
        };
        gathered.name = named(gathers, at);
        gathered.star = false;
        gathered.variadic = false;
        gathered.args = match (single, call.args.as_slice()) {
            (true, args) => args.to_vec(),
            (false, []) => vec![like(ExprKind::Literal(Literal::Bool(true)), expr)],
            (false, args) => vec![like(ExprKind::Row(args.to_vec()), expr)],
        };
        // A row does not tell the types of its parts, so they are asked for first.
        let mut params = Vec::new();
        let mut aside = Context::new(cx.scope(), cx.clause);
        for (n, (arg, at)) in self.located(&call.args, &mut aside)?.into_iter().enumerate() {
            let part = match (&arg.kind, arg.ty.clone()) {
                (K::Literal(_), SqlType::Unknown) => arg,
                (_, SqlType::Unknown) => TypedExpr::new(K::Parameter(n + 1), SqlType::Text),
                (_, ty) => TypedExpr::new(K::Parameter(n + 1), ty),
            };
            params.push((part, at));
        }
        let windows = cx.windows.calls.len();
        let rows = self.call(&gathered, &like(ExprKind::Call(Box::new(gathered.clone())), expr), cx)?;
        let plain = Call { variadic: call.variadic, ..Call::plain(call.name.clone(), call.args.clone()) };
        let Found::User(function, args) = self.function(&plain, params)? else {
            return Err(SqlError::internal("an aggregate of users is built in"));
        };
        if !function.is_aggregate() {
            let text = format!("{} is not an aggregate", function.signature());
            return Err(SqlError::unsupported(text).at(at.start));
        }
        let object = Object::Function(function.oid);
        if self.acting.is_some_and(|role| !self.catalog.rights(role, object).has(Rights::EXECUTE)) {
            return Err(denied("aggregate", &function.name));
        }
        if let (Some(over), Some(definition)) = (&call.over, AggregateDef::parse(&function.body)) {
            let moves = matches!(over, Over::Spec(spec)
                if spec.frame.as_ref().is_some_and(|frame| frame.start != FrameBound::UnboundedPreceding));
            let modify = match &definition.moving {
                Some(moving) if moves => moving.modify,
                _ => definition.modify,
            };
            // Its result is made of a state that further rows are added to.
            if modify != Modify::ReadOnly {
                let text = format!(
                    "aggregate function {} does not support use as a window function",
                    function.signature()
                );
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at.start));
            }
        }
        let damaged = || SqlError::new("XX001", format!("aggregate {} is damaged", function.signature()));
        let definition = AggregateDef::parse(&function.body).ok_or_else(damaged)?;
        let plain = Steps {
            step: &definition.step,
            state: definition.state,
            last: definition.last.as_ref(),
            extra: definition.extra,
            initial: definition.initial.as_deref(),
        };
        let Some((_, window)) = cx.windows.calls.get_mut(windows) else {
            let (rules, ty) = self.steps(&plain, &function, args, single, at)?;
            return Ok(TypedExpr::new(K::Fold { rows: Box::new(rows), rules: Arc::new(rules) }, ty));
        };
        // Over a window the state goes from row to row.
        let moving = definition.moving.as_ref().filter(|_| {
            !matches!(window.frame.start, PlanBound::UnboundedPreceding)
                && !args.iter().any(is_unsteady)
                && !window.args.iter().any(is_unsteady)
        });
        let (rules, inverse, ty) = match moving {
            None => {
                let (rules, ty) = self.steps(&plain, &function, args, single, at)?;
                (rules, None, ty)
            }
            Some(moving) => {
                let steps = Steps {
                    step: &moving.step,
                    state: moving.state,
                    last: moving.last.as_ref(),
                    extra: moving.extra,
                    initial: moving.initial.as_deref(),
                };
                let (rules, ty) = self.steps(&steps, &function, args.clone(), single, at)?;
                let back = Steps { step: &moving.inverse, last: None, ..steps };
                let inverse = self.steps(&back, &function, args, single, at)?.0.step;
                (rules, Some(inverse), ty)
            }
        };
        window.fold = Some(Arc::new(WindowFold { rules: Arc::new(rules), inverse }));
        (window.ty, window.name) = (ty.clone(), Arc::clone(&function.name));
        Ok(TypedExpr::column(WINDOW_BASE + windows, ty))
    }

    /// The steps of an aggregate over gathered rows, and the type of the result.
    fn steps(
        &self,
        definition: &Steps<'_>,
        function: &Arc<FunctionDef>,
        args: Vec<TypedExpr>,
        single: bool,
        at: Span,
    ) -> Result<(FoldRules, SqlType), SqlError> {
        let damaged = || SqlError::new("XX001", format!("aggregate {} is damaged", function.signature()));
        let declared = self.catalog.function_by_oid(function.oid).ok_or_else(damaged)?;
        let state = self.type_numbered(definition.state).ok_or_else(damaged)?;
        let state = match is_polymorphic(&state) {
            true => {
                let pairs = declared.inputs().zip(function.inputs());
                let element =
                    pairs.filter(|(was, _)| follows_from(&state, &was.ty)).map(|(was, is)| match &is.ty {
                        SqlType::Array(element) if of_element(&was.ty, &SqlType::Int4) != SqlType::Int4 => {
                            (**element).clone()
                        }
                        ty => ty.clone(),
                    });
                of_element(&state, &element.into_iter().next().ok_or_else(damaged)?)
            }
            false => state,
        };
        // Its functions are called for what they are, wherever the call of the aggregate stands.
        let inner = Binder { stored: None, noting: None, noted: None, traced: None, ..self.clone() };
        let own = TypedExpr::new(K::Parameter(0), state.clone());
        let mut taken = vec![(own.clone(), at.start)];
        let typed = |(n, arg): (usize, &TypedExpr)| TypedExpr::new(K::Parameter(n + 1), arg.ty.clone());
        taken.extend(args.iter().enumerate().map(|arg| (typed(arg), at.start)));
        let (step, strict) = inner.called(definition.step, taken, at)?;
        let step = inner.coerce(step, at.start, &state, CastKind::Implicit)?;
        let last = match definition.last {
            None => None,
            Some(last) => {
                let mut taken = vec![(own, at.start)];
                if definition.extra {
                    taken.extend(args.iter().map(|arg| (TypedExpr::null(arg.ty.clone()), at.start)));
                }
                Some(inner.called(last, taken, at)?.0)
            }
        };
        let initial = match definition.initial {
            None => Value::Null,
            Some(text) => parse_text(&state, text, self.time_zone)?,
        };
        let ty = last.as_ref().map_or_else(|| state.clone(), |last| last.ty.clone());
        Ok((FoldRules { single, args, initial, strict, step, last }, ty))
    }

    /// A call of a function that a definition names; whether it is strict.
    pub(super) fn called(
        &self,
        callee: &Callee,
        args: Vec<(TypedExpr, u32)>,
        at: Span,
    ) -> Result<(TypedExpr, bool), SqlError> {
        let mut variadic = false;
        let name = match callee {
            Callee::BuiltIn(name) => named(name, at),
            Callee::User(oid) => {
                let function = self.catalog.function_by_oid(*oid);
                let function =
                    function.ok_or_else(|| SqlError::internal(format!("there is no function {oid}")))?;
                variadic = takes_list(function, &args);
                let part = |text: &str| Name { text: text.to_owned(), at };
                QualifiedName { schema: Some(part(&function.schema)), name: part(&function.name) }
            }
        };
        let count = args.len();
        match self.function(&Call { variadic, ..Call::plain(name, places(count)) }, args)? {
            Found::BuiltIn(function, args, types) => {
                Ok((self.built_in(function, args, &types)?, function.strict))
            }
            Found::User(function, args) => match &function.returns {
                FunctionReturn::Scalar(ty) => {
                    let (ty, strict) = (ty.erased(), function.strict);
                    Ok((TypedExpr::new(K::UserCall { function, args }, ty), strict))
                }
                _ => Err(invalid(format!("function {} returns a set", function.signature()))),
            },
        }
    }

    /// The type with that number.
    pub(super) fn type_numbered(&self, oid: Oid) -> Option<SqlType> {
        self.catalog.type_by_oid(oid.0, -1)
    }
}

/// Whether these are the arguments of a VARIADIC function, the last of them the array itself.
fn takes_list(function: &FunctionDef, args: &[(TypedExpr, u32)]) -> bool {
    matches!(args.last(), Some((last, _)) if matches!(last.ty, SqlType::Array(_)))
        && function.inputs().count() == args.len()
        && function.inputs().last().is_some_and(|last| last.mode == ArgMode::Variadic)
}

/// As many arguments of a call as there are; what they are stands beside it.
fn places(count: usize) -> Vec<Expr> {
    let at = Span::default();
    vec![Expr { kind: ExprKind::Literal(Literal::Null), at, point: 0 }; count]
}

/// An expression that stands where another does.
fn like(kind: ExprKind, expr: &Expr) -> Expr {
    Expr { kind, at: expr.at, point: expr.point }
}
