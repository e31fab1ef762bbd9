//! Functions over windows: OVER, WINDOW, frames.
//!
//! ```text
//! sum(a) OVER (w ROWS 2 PRECEDING) … WINDOW w AS (PARTITION BY b ORDER BY c)
//!     ─►  Sort by b, c  ─►  Window: partition b, order c, calls [sum(a) ROWS …, …]
//! ```
//!
//! Calls over the same partitions in the same order share one operator, whatever their frames.

use verso_exec::functions::{AggregateFunction, WindowEntry};
use verso_exec::plan::{
    ExprKind as K, FrameBound, FrameExclusion, FrameUnit, Plan, SortKey, TypedExpr, WindowCall, WindowFrame,
    WindowFunction,
};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::aggregate::Shown;
use super::collate::{derived_from, distinguished};
use super::computed::Computed;
use super::context::{Clause, Context, Inside, WINDOW_BASE};
use super::resolve::{Declared, Resolution, function_error, implicit, resolve, result_type, shown};
use super::walk::{columns_of, same};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Call, FrameExclude, FrameMode, Name, Over, WindowSpec};

/// The windows of a query and the functions over them.
#[derive(Default)]
pub(super) struct Windows {
    definitions: Vec<Definition>,
    /// Each with the number of its definition; `Column(WINDOW_BASE + i)` stands for number `i`.
    pub(super) calls: Vec<(usize, WindowCall)>,
}

/// Partitions and their order.
struct Definition {
    partition_by: Vec<TypedExpr>,
    order_by: Vec<SortKey>,
}

impl Definition {
    fn is(&self, other: &Definition) -> bool {
        let keys = |a: &SortKey, b: &SortKey| {
            (a.descending, a.nulls_first) == (b.descending, b.nulls_first) && same(&a.expr, &b.expr)
        };
        self.partition_by.len() == other.partition_by.len()
            && self.order_by.len() == other.order_by.len()
            && self.partition_by.iter().zip(&other.partition_by).all(|(a, b)| same(a, b))
            && self.order_by.iter().zip(&other.order_by).all(|(a, b)| keys(a, b))
    }

    /// The order that its rows have to be in.
    fn sort_keys(&self) -> Vec<SortKey> {
        let partition = self.partition_by.iter();
        let partition =
            partition.map(|expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false });
        partition.chain(self.order_by.iter().cloned()).collect()
    }
}

impl Windows {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether two definitions, by their numbers, are of the same partitions in the same order.
    pub(super) fn same_definition(&self, a: usize, b: usize) -> bool {
        a == b || self.definitions[a].is(&self.definitions[b])
    }

    /// Whether a column is among what they are divided or ordered by.
    pub(super) fn are_by(&self, column: usize) -> bool {
        let mut keys = self.definitions.iter().flat_map(Definition::sort_keys);
        keys.any(|key| columns_of(&key.expr).contains(&column))
    }

    /// Every expression of them, to change it.
    pub(super) fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut TypedExpr)) {
        for definition in &mut self.definitions {
            definition.partition_by.iter_mut().for_each(&mut *visit);
            definition.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
        }
        self.calls.iter_mut().flat_map(|(_, call)| call.exprs_mut()).for_each(visit);
    }

    /// The plan with the functions' columns behind its own, and where each call's column is.
    pub(super) fn over(self, mut plan: Plan) -> (Plan, Vec<usize>) {
        let Windows { mut definitions, mut calls } = self;
        let mut places = vec![0; calls.len()];
        // The sort and the window both ask for what rows are divided and ordered by: what is volatile is computed before.
        let mut computed = Computed::over(&plan);
        for definition in &mut definitions {
            let keys = definition.order_by.iter_mut().map(|key| &mut key.expr);
            for key in definition.partition_by.iter_mut().chain(keys).filter(|key| key.is_volatile()) {
                let args = calls.iter_mut().flat_map(|(_, call)| &mut call.args);
                computed.share(key, args);
            }
        }
        plan = computed.below(plan);
        let mut width = plan.output().len();
        let mut calls: Vec<Option<(usize, WindowCall)>> = calls.into_iter().map(Some).collect();
        for (number, definition) in definitions.into_iter().enumerate() {
            let mut own = Vec::new();
            for (call, place) in calls.iter_mut().zip(&mut places) {
                if let Some((_, call)) = call.take_if(|(of, _)| *of == number) {
                    *place = width + own.len();
                    own.push(call);
                }
            }
            if own.is_empty() {
                continue;
            }
            width += own.len();
            let keys = definition.sort_keys();
            if !keys.is_empty() {
                plan = Plan::Sort { input: Box::new(plan), keys, sorted: 0 };
            }
            let Definition { partition_by, order_by } = definition;
            plan = Plan::Window { input: Box::new(plan), partition_by, order_by, calls: own, until: None };
        }
        (plan, places)
    }
}

/// A function over a window: itself, its arguments, its filter, its type, and what stands for its column.
type Windowed = (WindowFunction, Vec<TypedExpr>, Option<TypedExpr>, SqlType, Option<Shown>);

fn windowing(text: impl Into<String>, at: u32) -> SqlError {
    SqlError::new(sqlstate::WINDOWING_ERROR, text).at(at)
}

impl Binder<'_> {
    /// A call with OVER.
    pub(super) fn window_call(
        &self,
        aggregates: &'static [&'static AggregateFunction],
        windows: &[&'static WindowEntry],
        call: &Call,
        over: &Over,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let name = call.name.name.text.as_str();
        let at = call.name.at().start;
        let unsupported = |text: String| Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
        if !call.within_group.is_empty() {
            return unsupported(format!("OVER is not supported for ordered-set aggregate {name}"));
        }
        if aggregates.is_empty() && windows.is_empty() {
            let text =
                format!("OVER specified, but {name} is not a window function nor an aggregate function");
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at));
        }
        if call.distinct {
            return unsupported("DISTINCT is not implemented for window functions".into());
        }
        if !call.order_by.is_empty() {
            return unsupported("aggregate ORDER BY is not implemented for window functions".into());
        }
        match cx.inside {
            Inside::Nothing => {}
            Inside::Aggregate => {
                let text = "aggregate function calls cannot contain window function calls";
                return Err(SqlError::new(sqlstate::GROUPING_ERROR, text).at(at));
            }
            Inside::Filter => {
                return Err(windowing("window functions are not allowed in FILTER", at));
            }
            Inside::Window => return Err(windowing("window function calls cannot be nested", at)),
        }
        if !cx.clause.allows_windows() {
            return Err(windowing(format!("window functions are not allowed in {}", cx.clause.name()), at));
        }
        cx.inside = Inside::Window;
        let bound = self.windowed(aggregates, windows, call, cx);
        cx.inside = Inside::Nothing;
        let (function, args, filter, ty, shown) = bound?;
        let (definition, frame) = self.window_of(over, cx)?;
        let known = cx.windows.definitions.iter().position(|known| known.is(&definition));
        let number = known.unwrap_or_else(|| {
            cx.windows.definitions.push(definition);
            cx.windows.definitions.len() - 1
        });
        let call = WindowCall {
            function,
            args,
            filter,
            frame,
            ty: ty.uncollated().clone(),
            name: name.into(),
            fold: None,
        };
        cx.windows.calls.push((number, call));
        let column = TypedExpr::column(WINDOW_BASE + cx.windows.calls.len() - 1, ty);
        shown.map_or(Ok(column.clone()), |shown| shown.over(column))
    }

    /// The function, its arguments, its filter and its type.
    fn windowed(
        &self,
        aggregates: &'static [&'static AggregateFunction],
        windows: &[&'static WindowEntry],
        call: &Call,
        cx: &mut Context<'_>,
    ) -> Result<Windowed, SqlError> {
        let name = call.name.name.text.as_str();
        let at = call.name.at().start;
        if windows.is_empty() {
            let bound = self.aggregate_call(aggregates, call, at, cx)?;
            let shown = Shown::of(&bound);
            return Ok((
                WindowFunction::Aggregate(bound.function),
                bound.args,
                bound.filter,
                bound.ty,
                Some(shown),
            ));
        }
        if call.filter.is_some() {
            let text = "FILTER is not implemented for non-aggregate window functions";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
        }
        let args = self.located(&call.args, cx)?;
        let types: Vec<SqlType> = args.iter().map(|(arg, _)| arg.ty.clone()).collect();
        let declared: Vec<Declared> = windows.iter().map(|entry| entry.args.to_vec()).collect();
        let (entry, mut to) = match resolve(&declared, &types, false) {
            Resolution::One(index, to) => (windows[index], to),
            found => return Err(function_error(name, &types, &found).at(at)),
        };
        // Beside a default of another type a char(n) is one without a length.
        if let ([SqlType::Char(Some(_)), _, _], [value, _, default]) = (&to[..], &types[..])
            && value != default
        {
            to.iter_mut().for_each(|ty| *ty = ty.without_modifiers());
        }
        // With a default, lag and lead look for a type that both have.
        if entry.args.len() < 3 {
            super::polymorphic::known_element(entry.args, &types)?;
        }
        if let Some(trace) = self.traced {
            trace.operands(at, &to);
        }
        let cast =
            |((arg, at), to): ((TypedExpr, u32), &SqlType)| self.coerce(arg, at, to, CastKind::Implicit);
        let args = args.into_iter().zip(&to).map(cast).collect::<Result<Vec<_>, _>>()?;
        let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
        let derived = derived_from(&args);
        let ty = result_type(&entry.result, &types).collated(&derived.of_column());
        Ok((WindowFunction::Own(entry.kind), args, None, ty, None))
    }

    /// What OVER names or spells out.
    fn window_of(&self, over: &Over, cx: &mut Context<'_>) -> Result<(Definition, WindowFrame), SqlError> {
        let clause = std::mem::replace(&mut cx.clause, Clause::Window);
        let result = match over {
            Over::Name(name) => match find(cx.named_windows, name, cx.named_windows.len()) {
                Ok(number) => self.named_window(number, cx),
                Err(error) => Err(error),
            },
            Over::Spec(spec) => self.window_spec(spec, cx.named_windows.len(), cx),
        };
        cx.clause = clause;
        result
    }

    /// Checks the WINDOW clause as a whole, also what no call names.
    pub(super) fn check_windows(&self, cx: &mut Context<'_>) -> Result<(), SqlError> {
        for number in 0..cx.named_windows.len() {
            let name = &cx.named_windows[number].0;
            if find(cx.named_windows, name, number).is_ok() {
                return Err(windowing(format!("window \"{}\" is already defined", name.text), name.at.start));
            }
            let clause = std::mem::replace(&mut cx.clause, Clause::Window);
            let checked = self.named_window(number, cx);
            cx.clause = clause;
            checked?;
        }
        Ok(())
    }

    fn named_window(
        &self,
        number: usize,
        cx: &mut Context<'_>,
    ) -> Result<(Definition, WindowFrame), SqlError> {
        let named = cx.named_windows;
        match named.get(number) {
            Some((_, spec)) => self.window_spec(spec, number, cx),
            None => Err(SqlError::internal("a window that is not there")),
        }
    }

    /// A window; it may start from one of the first `known` of the WINDOW clause.
    fn window_spec(
        &self,
        spec: &WindowSpec,
        known: usize,
        cx: &mut Context<'_>,
    ) -> Result<(Definition, WindowFrame), SqlError> {
        let base = match &spec.base {
            None => None,
            Some(base) => {
                let number = find(cx.named_windows, base, known)?;
                let base_spec = &cx.named_windows[number].1;
                let name = &base.text;
                if base_spec.frame.is_some() {
                    let text = format!("cannot copy window \"{name}\" because it has a frame clause");
                    return Err(windowing(text, spec.at.start));
                }
                if let Some(key) = spec.partition_by.first() {
                    let text = format!("cannot override PARTITION BY clause of window \"{name}\"");
                    return Err(windowing(text, key.at.start));
                }
                if let (Some(item), false) = (spec.order_by.first(), base_spec.order_by.is_empty()) {
                    let text = format!("cannot override ORDER BY clause of window \"{name}\"");
                    return Err(windowing(text, item.expr.at.start));
                }
                Some(self.named_window(number, cx)?.0)
            }
        };
        let mut partition_by = Vec::new();
        for key in &spec.partition_by {
            let bound = self.expr(key, cx)?;
            partition_by.push(distinguished(self.settle(bound, key.at.start)?, key.at.start)?);
        }
        let mut order_by = self.sort_keys(&spec.order_by, cx)?;
        if let Some(base) = base {
            partition_by = base.partition_by;
            if order_by.is_empty() {
                order_by = base.order_by;
            }
        }
        let frame = match &spec.frame {
            None => WindowFrame::standard(),
            Some(frame) => self.frame(frame, &order_by, cx)?,
        };
        Ok((Definition { partition_by, order_by }, frame))
    }

    fn frame(
        &self,
        frame: &syntax::Frame,
        order_by: &[SortKey],
        cx: &mut Context<'_>,
    ) -> Result<WindowFrame, SqlError> {
        use syntax::FrameBound as B;
        let wrong = |text: &str| Err(windowing(text, frame.at));
        match (&frame.start, &frame.end) {
            (B::UnboundedFollowing, _) => return wrong("frame start cannot be UNBOUNDED FOLLOWING"),
            (_, B::UnboundedPreceding) => return wrong("frame end cannot be UNBOUNDED PRECEDING"),
            (B::CurrentRow, B::Preceding(_)) => {
                return wrong("frame starting from current row cannot have preceding rows");
            }
            (B::Following(_), B::Preceding(_) | B::CurrentRow) => {
                return wrong("frame starting from following row cannot have preceding rows");
            }
            _ => {}
        }
        let offsets = [&frame.start, &frame.end];
        let measured = offsets.iter().any(|bound| matches!(bound, B::Preceding(_) | B::Following(_)));
        let unit = match frame.mode {
            FrameMode::Rows => FrameUnit::Rows,
            FrameMode::Range => FrameUnit::Range,
            FrameMode::Groups => FrameUnit::Groups,
        };
        if unit == FrameUnit::Range && measured && order_by.len() != 1 {
            let text = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
            return wrong(text);
        }
        if unit == FrameUnit::Groups && order_by.is_empty() {
            return wrong("GROUPS mode requires an ORDER BY clause");
        }
        let key = order_by.first().map(|key| &key.expr.ty);
        let mut bound = |bound: &B| -> Result<FrameBound, SqlError> {
            Ok(match bound {
                B::UnboundedPreceding => FrameBound::UnboundedPreceding,
                B::Preceding(offset) => FrameBound::Preceding(self.offset(offset, unit, key, cx)?),
                B::CurrentRow => FrameBound::CurrentRow,
                B::Following(offset) => FrameBound::Following(self.offset(offset, unit, key, cx)?),
                B::UnboundedFollowing => FrameBound::UnboundedFollowing,
            })
        };
        Ok(WindowFrame {
            unit,
            start: bound(&frame.start)?,
            end: bound(&frame.end)?,
            exclude: match frame.exclude {
                FrameExclude::NoOthers => FrameExclusion::NoOthers,
                FrameExclude::CurrentRow => FrameExclusion::CurrentRow,
                FrameExclude::Group => FrameExclusion::Group,
                FrameExclude::Ties => FrameExclusion::Ties,
            },
        })
    }

    /// `n` of `n PRECEDING`, in the type that its unit wants.
    fn offset(
        &self,
        offset: &syntax::Expr,
        unit: FrameUnit,
        key: Option<&SqlType>,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let at = offset.at.start;
        let word = match unit {
            FrameUnit::Rows => "ROWS",
            FrameUnit::Range => "RANGE",
            FrameUnit::Groups => "GROUPS",
        };
        let clause = std::mem::replace(&mut cx.clause, Clause::Frame);
        let bound = self.expr(offset, cx);
        cx.clause = clause;
        let bound = bound?;
        if bound.any(&mut |part| matches!(part.kind, K::Column(_))) {
            let text = format!("argument of {word} must not contain variables");
            return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(at));
        }
        if unit != FrameUnit::Range {
            if bound.ty != SqlType::Unknown && !bound.ty.is_number() {
                let text = format!("argument of {word} must be type bigint, not type {}", shown(&bound.ty));
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(at));
            }
            return self.coerce(bound, at, &SqlType::Int8, CastKind::Assignment);
        }
        let key = key.map(SqlType::without_modifiers).unwrap_or(SqlType::Unknown);
        let wanted = match &key {
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => SqlType::Int8,
            SqlType::Float4 | SqlType::Float8 => SqlType::Float8,
            SqlType::Numeric(_) | SqlType::LongNumeric(_) => SqlType::Numeric(None),
            SqlType::Date
            | SqlType::Time(_)
            | SqlType::Timetz(_)
            | SqlType::Timestamp(_)
            | SqlType::Timestamptz(_)
            | SqlType::Interval(_) => SqlType::Interval(None),
            other => {
                let text = format!(
                    "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
                    shown(other)
                );
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
            }
        };
        if bound.ty != SqlType::Unknown && !implicit(&bound.ty, &wanted) {
            let text = format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {} and offset type {}",
                shown(&key),
                shown(&bound.ty)
            );
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
        }
        self.coerce(bound, at, &wanted, CastKind::Implicit)
    }
}

/// The number of a window among the first `known`.
fn find(named: &[(Name, WindowSpec)], name: &Name, known: usize) -> Result<usize, SqlError> {
    named.iter().take(known).position(|(other, _)| other.text == name.text).ok_or_else(|| {
        let text = format!("window \"{}\" does not exist", name.text);
        SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(name.at.start)
    })
}
