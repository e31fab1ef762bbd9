//! Ranges of index keys, made from expressions when a statement opens.
//!
//! A1. A value beyond the column's type narrows the range or empties it; it is never an error.
//! A2. Ranges of one access are in key order and do not overlap, so rows come in the order of the index, each once.
//!     What several accesses find together comes in the order of the table, each row once.
//! A3. A key of one row is encoded into a buffer that is kept, straight from parameters.

use std::ops::Bound;
use std::sync::Arc;

use verso_catalog::{IndexDef, IndexPart, TableDef};
use verso_storage::index::Gather;
use verso_storage::index::key::{KeyPart, KeyRange, encode_into};
use verso_types::inverted::{Search, Strategy};
use verso_types::{Decimal, KeyOrder, KeyType, Number, SqlType, Value};

use super::ExecContext;
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::expr::RowExpr;
use crate::functions::trigrams::similarity_threshold;
use crate::plan::{ExprKind, IndexAccess, KeyMatch, Span, TypedExpr};
use crate::regexp::required;

/// A compiled access.
#[derive(Clone)]
pub(crate) struct Access {
    pub index: Arc<IndexDef>,
    pub descending: bool,
    parts: Vec<KeyPart>,
    types: Vec<SqlType>,
    equals: Vec<Match>,
    lower: Option<(Source, bool)>,
    upper: Option<(Source, bool)>,
    spans: Vec<Bounds>,
    /// Whether records have to be found by all of these accesses, or by any.
    together: Option<(bool, Vec<Access>)>,
    searched: Vec<(usize, Strategy, Source)>,
    point: bool,
    /// Workers may compute its values.
    pub is_safe: bool,
    key: Vec<u8>,
}

/// Between which values a part of the key lies.
type Bounds = (Option<(Source, bool)>, Option<(Source, bool)>);

#[derive(Clone)]
enum Match {
    Equal(Source),
    In(Vec<Source>),
    /// The elements of an array, of this type.
    Any(Source, SqlType),
    Null,
}

/// Where a value comes from.
#[derive(Clone)]
struct Source {
    from: From,
    ty: SqlType,
}

#[derive(Clone)]
enum From {
    Parameter(usize),
    Literal(Value),
    Expr(Arc<RowExpr>),
}

impl Source {
    fn compile(expr: &TypedExpr) -> Source {
        let from = match &expr.kind {
            ExprKind::Parameter(index) => From::Parameter(*index),
            ExprKind::Literal(value) => From::Literal(value.clone()),
            _ => From::Expr(Arc::new(RowExpr::compile(expr))),
        };
        Source { from, ty: expr.ty.clone() }
    }

    /// Calls `then` with the value.
    fn with<T>(&self, cx: &EvalContext<'_>, then: impl FnOnce(&Value) -> Result<T>) -> Result<T> {
        match &self.from {
            From::Parameter(index) => then(cx.params.get(*index).unwrap_or(&Value::Null)),
            From::Literal(value) => then(value),
            From::Expr(expr) => then(&expr.eval_constant(cx)?),
        }
    }
}

/// Where a value lies among those of a column's type.
enum Fit {
    /// It is one of them: the value itself.
    Same,
    /// It is one of them, in another representation.
    Exact(Value),
    /// Less than all of them.
    Below,
    /// Greater than all of them.
    Above,
    /// Greater than this one, less than the next.
    Behind(Value),
}

/// What `value` of type `from` is to a column of type `to`.
fn fit(value: &Value, from: &SqlType, to: &SqlType) -> Fit {
    let integer = |value: &Value| match value {
        Value::Int2(v) => Some(i64::from(*v)),
        Value::Int4(v) => Some(i64::from(*v)),
        Value::Int8(v) => Some(*v),
        _ => None,
    };
    match to {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 if from.same_base(to) => Fit::Same,
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
            let Some(number) = integer(value) else { return Fit::Same };
            let (least, greatest) = match to {
                SqlType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
                SqlType::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
                _ => (i64::MIN, i64::MAX),
            };
            if number < least {
                return Fit::Below;
            }
            if number > greatest {
                return Fit::Above;
            }
            Fit::Exact(match to {
                SqlType::Int2 => Value::Int2(number as i16),
                SqlType::Int4 => Value::Int4(number as i32),
                _ => Value::Int8(number),
            })
        }
        SqlType::Numeric(Some(spec)) => match value {
            Value::Numeric(decimal) => fit_decimal(decimal, spec.precision, spec.scale),
            Value::Big(number) => fit_big(number, spec.precision, spec.scale),
            _ => Fit::Same,
        },
        _ => Fit::Same,
    }
}

/// A number of many digits, or none at all, is never one of the column's, but for zeros at its end.
fn fit_big(number: &Number, precision: u8, scale: u8) -> Fit {
    if let Some(decimal) = number.normalize().to_decimal() {
        return fit_decimal(&decimal, precision, scale);
    }
    match number.trunc(i32::from(scale)).to_decimal() {
        Some(part) => {
            // the one before it, where cutting has gone up
            let unscaled = part.unscaled() - i128::from(number.is_negative());
            Decimal::new(unscaled, scale).map_or(Fit::Below, |floor| Fit::Behind(Value::Numeric(floor)))
        }
        _ if number.is_negative() => Fit::Below,
        _ => Fit::Above,
    }
}

fn fit_decimal(value: &Decimal, precision: u8, scale: u8) -> Fit {
    let beyond = if value.is_negative() { Fit::Below } else { Fit::Above };
    let Ok(rounded) = value.rescale(scale) else { return beyond };
    let order = rounded.compare(value);
    let fits = |decimal: &Decimal| verso_types::decimal::in_precision(decimal.unscaled(), precision);
    if order.is_eq() {
        return if fits(&rounded) { Fit::Exact(Value::Numeric(rounded)) } else { beyond };
    }
    // rounded up: the one before it
    let unscaled = rounded.unscaled() - i128::from(order.is_gt());
    match Decimal::new(unscaled, scale) {
        Ok(floor) if fits(&floor) => Fit::Behind(Value::Numeric(floor)),
        Ok(floor) if floor.is_negative() => Fit::Below,
        _ => beyond,
    }
}

/// How the values of a part of an index make keys.
fn key_type(ty: &SqlType, part: &IndexPart) -> KeyType {
    let collator = part.collation.as_ref().and_then(|collation| collation.collator);
    let own = part.class.key_type(ty).and_then(|ty| ty.collated(collator));
    own.unwrap_or(KeyType::Bytes)
}

/// The parts of an index's key as storage orders them.
pub(crate) fn key_parts(table: &TableDef, index: &IndexDef) -> (Vec<KeyPart>, Vec<SqlType>) {
    let mut parts = Vec::with_capacity(index.parts.len());
    let mut types = Vec::with_capacity(index.parts.len());
    for part in &index.parts {
        let column = table.column_with_id(part.column).map(|at| &table.columns[at]);
        let ty = column.map_or(SqlType::Text, |column| column.ty.clone());
        parts.push(KeyPart {
            column: part.column,
            ty: key_type(&ty, part),
            descending: part.descending,
            nulls_first: part.nulls_first,
            guard: false,
            excludes: part.excludes,
        });
        types.push(ty);
    }
    (parts, types)
}

/// What indexes find, put together.
pub type Gathering = Gather<Arc<IndexDef>>;

/// What an access found out when it was opened.
pub(crate) enum Found<'a> {
    /// No row can be there.
    Nothing,
    /// One row at most: the one with this key.
    Point(&'a [u8]),
    /// Ranges in the order of the index.
    Ranges(Vec<KeyRange>),
    /// The candidates of an inverted index, or of several indexes.
    Candidates(Gathering),
    /// Any row.
    All,
}

impl Access {
    pub fn compile(table: &TableDef, access: &IndexAccess) -> Access {
        let (parts, types) = key_parts(table, &access.index);
        let equals = access.equals.iter().map(|part| match part {
            KeyMatch::Equal(expr) => Match::Equal(Source::compile(expr)),
            KeyMatch::In(list) => Match::In(list.iter().map(Source::compile).collect()),
            KeyMatch::Any(array) => {
                let element = match &array.ty {
                    SqlType::Array(element) => (**element).clone(),
                    other => other.clone(),
                };
                Match::Any(Source::compile(array), element)
            }
            KeyMatch::Null => Match::Null,
        });
        let given = |(expr, inclusive): (&TypedExpr, bool)| (Source::compile(expr), inclusive);
        let bound = |bound: &Option<(TypedExpr, bool)>| {
            bound.as_ref().map(|(expr, inclusive)| given((expr, *inclusive)))
        };
        let span = |span: &Span| {
            let (lower, upper) = span.bounds();
            (lower.map(given), upper.map(given))
        };
        Access {
            index: Arc::clone(&access.index),
            descending: access.descending,
            parts,
            types,
            equals: equals.collect(),
            lower: bound(&access.lower),
            upper: bound(&access.upper),
            spans: access.spans.iter().map(span).collect(),
            together: access.together.as_ref().map(|together| {
                let part = |part: &IndexAccess| Access::compile(table, part);
                (together.all, together.parts.iter().map(part).collect())
            }),
            searched: access
                .searched
                .iter()
                .map(|one| (one.part, one.strategy, Source::compile(&one.value)))
                .collect(),
            point: access.is_point(),
            is_safe: access.exprs().all(TypedExpr::is_parallel_safe),
            key: Vec::new(),
        }
    }

    /// Whether it finds one row at most, by its key.
    pub fn is_point(&self) -> bool {
        self.point
    }

    /// The indexes that it reads.
    pub fn indexes(&self) -> Vec<&IndexDef> {
        match &self.together {
            Some((_, parts)) => parts.iter().flat_map(Access::indexes).collect(),
            None => vec![&self.index],
        }
    }

    /// Evaluates the expressions; the index comes along.
    pub fn open_parts(&mut self, cx: &EvalContext<'_>) -> Result<(&IndexDef, Found<'_>)> {
        if self.point {
            let Access { index, parts, types, equals, key, .. } = self;
            return Ok((index, point(parts, types, equals, key, cx)?));
        }
        if let Some((all, parts)) = &mut self.together {
            return Ok((&self.index, together(*all, parts, cx)?));
        }
        if self.index.is_inverted() {
            return Ok((&self.index, self.candidates(cx)?));
        }
        Ok((&self.index, self.ranges(cx)?))
    }

    /// What an inverted index is asked for.
    fn candidates(&self, cx: &EvalContext<'_>) -> Result<Found<'static>> {
        let mut all = Vec::with_capacity(self.searched.len());
        for (part, strategy, source) in &self.searched {
            let Some(key) = self.parts.get(*part) else { continue };
            let (ty, part) = (key.ty, *part as u8);
            all.push(source.with(cx, |value| {
                Ok(match (strategy, value) {
                    (Strategy::Regex { fold }, Value::Text(pattern)) => {
                        required::search(part, pattern, *fold)
                    }
                    (Strategy::Similar, Value::Text(text)) => {
                        Search::similar(part, text, similarity_threshold(cx))
                    }
                    _ => Search::of(ty, part, *strategy, value),
                })
            })?);
        }
        Ok(match Search::all(all) {
            Search::Unknown => Found::All,
            search => Found::Candidates(Gather::Search(Arc::clone(&self.index), search)),
        })
    }

    fn ranges(&self, cx: &EvalContext<'_>) -> Result<Found<'static>> {
        let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
        for (n, part) in self.equals.iter().enumerate() {
            let keys = self.part_keys(cx, n, part)?;
            let combine = |prefix: &Vec<u8>| {
                keys.iter().map(|key| [prefix.as_slice(), key].concat()).collect::<Vec<_>>()
            };
            prefixes = prefixes.iter().flat_map(combine).collect();
        }
        if prefixes.is_empty() {
            return Ok(Found::Nothing);
        }
        if !self.spans.is_empty() {
            let mut ranges = Vec::new();
            for prefix in &prefixes {
                let mut of = Vec::new();
                for (lower, upper) in &self.spans {
                    of.extend(self.between(cx, prefix, lower.as_ref(), upper.as_ref())?);
                }
                ranges.append(&mut KeyRange::united(of));
            }
            return Ok(if ranges.is_empty() { Found::Nothing } else { Found::Ranges(ranges) });
        }
        if self.lower.is_none() && self.upper.is_none() {
            let whole = |prefix: &Vec<u8>| {
                if prefix.is_empty() { KeyRange::all() } else { KeyRange::prefix(prefix) }
            };
            return Ok(Found::Ranges(prefixes.iter().map(whole).collect()));
        }
        let (lower, upper) = (self.lower.as_ref(), self.upper.as_ref());
        let ranges = prefixes.iter().filter_map(|prefix| self.between(cx, prefix, lower, upper).transpose());
        let ranges = ranges.collect::<Result<Vec<_>>>()?;
        Ok(if ranges.is_empty() { Found::Nothing } else { Found::Ranges(ranges) })
    }

    /// The keys behind a prefix whose next part lies between two values; none where no value does.
    fn between(
        &self,
        cx: &EvalContext<'_>,
        prefix: &[u8],
        lower: Option<&(Source, bool)>,
        upper: Option<&(Source, bool)>,
    ) -> Result<Option<KeyRange>> {
        let (Some(lower), Some(upper)) = (self.bound(cx, lower, true)?, self.bound(cx, upper, false)?) else {
            return Ok(None);
        };
        let with = |bound: Bound<Vec<u8>>| match bound {
            Bound::Unbounded => Bound::Included([prefix, &[KeyOrder::VALUE]].concat()),
            bound => bound.map(|key| [prefix, key.as_slice()].concat()),
        };
        let (lower, upper) = (with(lower), with(upper));
        Ok(Some(match self.parts.get(self.equals.len()).is_some_and(|part| part.descending) {
            true => KeyRange { lower: upper, upper: lower },
            false => KeyRange { lower, upper },
        }))
    }

    /// The encoded values that a part may have, in order, each once.
    fn part_keys(&self, cx: &EvalContext<'_>, n: usize, part: &Match) -> Result<Vec<Vec<u8>>> {
        let (Some(order), Some(ty)) = (self.parts.get(n), self.types.get(n)) else { return Ok(Vec::new()) };
        let mut keys = Vec::new();
        let mut add = |source: &Source| {
            let mut key = Vec::new();
            if source.with(cx, |value| encode(order, ty, value, &source.ty, &mut key))? {
                keys.push(key);
            }
            Ok::<(), ExecError>(())
        };
        match part {
            Match::Equal(source) => add(source)?,
            Match::In(list) => list.iter().try_for_each(add)?,
            Match::Any(array, element) => array.with(cx, |array| {
                let Value::Array(array) = array else { return Ok(()) };
                for value in array.iter() {
                    let mut key = Vec::new();
                    if encode(order, ty, value, element, &mut key)? {
                        keys.push(key);
                    }
                }
                Ok(())
            })?,
            Match::Null => {
                let mut key = Vec::new();
                encode_into(std::slice::from_ref(order), [(&Value::Null, ty)], &mut key)?;
                keys.push(key);
            }
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// The encoded bound of the part behind the equal ones; `None` if nothing is within it.
    fn bound(
        &self,
        cx: &EvalContext<'_>,
        given: Option<&(Source, bool)>,
        lower: bool,
    ) -> Result<Option<Bound<Vec<u8>>>> {
        let Some((source, inclusive)) = given else { return Ok(Some(Bound::Unbounded)) };
        let n = self.equals.len();
        let (Some(part), Some(ty)) = (self.parts.get(n), self.types.get(n)) else {
            return Ok(Some(Bound::Unbounded));
        };
        source.with(cx, |value| {
            if value.is_null() {
                return Ok(None);
            }
            let key = |value: &Value| {
                let mut key = Vec::new();
                encode_into(std::slice::from_ref(part), [(value, ty)], &mut key)?;
                Ok::<_, ExecError>(key)
            };
            let at = |value: &Value, inclusive: bool| {
                key(value).map(|key| if inclusive { Bound::Included(key) } else { Bound::Excluded(key) })
            };
            Ok(match (fit(value, &source.ty, ty), lower) {
                (Fit::Same, _) => Some(at(value, *inclusive)?),
                (Fit::Exact(value), _) => Some(at(&value, *inclusive)?),
                (Fit::Below, true) | (Fit::Above, false) => Some(Bound::Unbounded),
                (Fit::Below, false) | (Fit::Above, true) => None,
                (Fit::Behind(floor), true) => Some(at(&floor, false)?),
                (Fit::Behind(floor), false) => Some(at(&floor, true)?),
            })
        })
    }
}

/// The key of one row, in a buffer that is kept.
fn point<'k>(
    parts: &[KeyPart],
    types: &[SqlType],
    equals: &[Match],
    key: &'k mut Vec<u8>,
    cx: &EvalContext<'_>,
) -> Result<Found<'k>> {
    key.clear();
    for ((part, ty), source) in parts.iter().zip(types).zip(equals) {
        let Match::Equal(source) = source else { return Ok(Found::Nothing) };
        if !source.with(cx, |value| encode(part, ty, value, &source.ty, key))? {
            return Ok(Found::Nothing);
        }
    }
    Ok(Found::Point(key))
}

/// What several accesses find together, where that can be said.
fn together(all: bool, parts: &mut [Access], cx: &EvalContext<'_>) -> Result<Found<'static>> {
    let mut gathered = Vec::with_capacity(parts.len());
    for part in parts {
        let index = Arc::clone(&part.index);
        gathered.push(match part.open_parts(cx)?.1 {
            Found::Nothing if all => return Ok(Found::Nothing),
            Found::All if !all => return Ok(Found::All),
            Found::Nothing | Found::All => continue,
            Found::Point(key) => Gather::Ranges(index, vec![KeyRange::prefix(key)]),
            Found::Ranges(ranges) => Gather::Ranges(index, ranges),
            Found::Candidates(gathering) => gathering,
        });
    }
    Ok(match gathered.is_empty() {
        true if all => Found::All,
        true => Found::Nothing,
        false if all => Found::Candidates(Gather::All(gathered)),
        false => Found::Candidates(Gather::Any(gathered)),
    })
}

/// Whether what indexes find together is so large a part of the table that it is read faster whole, as `is_large` says of ranges.
pub(super) fn is_much(
    gathering: &Gathering,
    is_large: impl FnOnce(&[(&IndexDef, &[KeyRange])]) -> Result<bool>,
) -> Result<bool> {
    fn of_any<'g>(gathering: &'g Gathering, ranges: &mut Vec<(&'g IndexDef, &'g [KeyRange])>) {
        match gathering {
            Gather::Ranges(index, of) => ranges.push((index, of)),
            Gather::Any(parts) => parts.iter().for_each(|part| of_any(part, ranges)),
            // An inverted index says no shares; records that several find are fewer than each finds.
            Gather::Search(..) | Gather::All(_) => {}
        }
    }
    let mut ranges = Vec::new();
    of_any(gathering, &mut ranges);
    Ok(!ranges.is_empty() && is_large(&ranges)?)
}

/// Whether a scan with this access would read the whole table now. What depends on a row around it is not known yet.
///
/// # Errors
/// Those of the expressions.
pub fn reads_whole(cx: &ExecContext<'_>, table: &TableDef, access: &IndexAccess) -> Result<bool> {
    let outer = |expr: &TypedExpr| expr.any(&mut |part| matches!(part.kind, ExprKind::Outer(_)));
    if access.instead.is_none() && access.together.is_none() || access.exprs().any(outer) {
        return Ok(false);
    }
    match Access::compile(table, access).open_parts(&cx.eval())? {
        (index, Found::Ranges(ranges)) => cx.tables()?.is_large(table, &[(index, &ranges)]),
        (_, Found::Candidates(gathering)) => {
            is_much(&gathering, |ranges| cx.tables()?.is_large(table, ranges))
        }
        _ => Ok(false),
    }
}

/// Appends the key of a value; false where no value of the column's type equals it.
pub(crate) fn encode(
    part: &KeyPart,
    ty: &SqlType,
    value: &Value,
    from: &SqlType,
    key: &mut Vec<u8>,
) -> Result<bool> {
    if value.is_null() {
        return Ok(false);
    }
    let exact;
    let value = match fit(value, from, ty) {
        Fit::Same => value,
        Fit::Exact(value) => {
            exact = value;
            &exact
        }
        Fit::Below | Fit::Above | Fit::Behind(_) => return Ok(false),
    };
    encode_into(std::slice::from_ref(part), [(value, ty)], key)?;
    Ok(true)
}
