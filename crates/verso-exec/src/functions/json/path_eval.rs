//! The path language: walks over a document as a path says.
//!
//! J1. What goes wrong within a path (class 22) makes a predicate unknown; at the top it is an error, or NULL for functions
//!     that are asked to be silent. Everything else always is an error.
//! J2. In lax mode what is not there is passed over, arrays are taken for their elements and other items for arrays of one.
//!
//! Source: PostgreSQL's `jsonpath_exec.c`.

use std::borrow::Cow;
use std::cell::Cell;

use verso_types::json::path::{Accessor, Arithmetic, Comparison, Expr, Flags, JsonPath, Method};
use verso_types::json::{JsonRef, Node};
use verso_types::{Decimal, Number, SqlType, TypeError, Value, cmp_sql};

use super::path_methods::time_text;
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::regexp::{Options, Regexp};

/// A value that a path passes.
#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
    /// Its binary form.
    Json(Cow<'a, [u8]>),
    /// A date or time that `.datetime()` and its relatives have read; of a timestamp with zone how many seconds east of UTC the
    /// clock was that it was read from, where the text has said so.
    Time(Value, SqlType, Option<i32>),
}

impl<'a> Item<'a> {
    pub(super) fn of(node: Node) -> Result<Item<'a>> {
        Ok(Item::Json(Cow::Owned(node.encode()?.bytes().to_vec())))
    }

    /// What it is; none of a date or time.
    pub(super) fn json(&self) -> Option<JsonRef<'_>> {
        match self {
            Item::Json(bytes) => Some(JsonRef::read(bytes)),
            Item::Time(..) => None,
        }
    }

    fn is_array(&self) -> bool {
        matches!(self.json(), Some(JsonRef::Array(_)))
    }

    /// The elements of an array, the values of an object.
    fn children(&self) -> Vec<Item<'a>> {
        match self {
            Item::Json(Cow::Borrowed(bytes)) => {
                parts(JsonRef::read(bytes)).into_iter().map(|raw| Item::Json(Cow::Borrowed(raw))).collect()
            }
            Item::Json(Cow::Owned(bytes)) => {
                let owned = |raw: &[u8]| Item::Json(Cow::Owned(raw.to_vec()));
                parts(JsonRef::read(bytes)).into_iter().map(owned).collect()
            }
            Item::Time(..) => Vec::new(),
        }
    }

    fn member(&self, key: &str) -> Option<Item<'a>> {
        match self {
            Item::Json(Cow::Borrowed(bytes)) => match JsonRef::read(bytes) {
                JsonRef::Object(object) => object.get(key).map(|raw| Item::Json(Cow::Borrowed(raw))),
                _ => None,
            },
            Item::Json(Cow::Owned(bytes)) => match JsonRef::read(bytes) {
                JsonRef::Object(object) => object.get(key).map(|raw| Item::Json(Cow::Owned(raw.to_vec()))),
                _ => None,
            },
            Item::Time(..) => None,
        }
    }
}

/// The binary forms of the elements of an array, of the values of an object.
fn parts(json: JsonRef<'_>) -> Vec<&[u8]> {
    match json {
        JsonRef::Array(array) => array.iter_raw().collect(),
        JsonRef::Object(object) => object.iter_raw().map(|(_, raw)| raw).collect(),
        _ => Vec::new(),
    }
}

/// Where items go.
pub(super) struct Sink<'a> {
    pub(super) items: Vec<Item<'a>>,
    /// Is the first one enough?
    pub(super) first_only: bool,
}

impl Sink<'_> {
    pub(super) fn all() -> Self {
        Sink { items: Vec::new(), first_only: false }
    }

    fn is_done(&self) -> bool {
        self.first_only && !self.items.is_empty()
    }
}

/// What an expression may refer to.
#[derive(Clone, Copy)]
struct Scope<'s, 'a> {
    /// `@`
    current: &'s Item<'a>,
    /// How many elements the array has whose subscripts are computed.
    size: i64,
    /// Is what is not there passed over?
    tolerant: bool,
}

/// The values of the variables of a path.
#[derive(Clone, Copy)]
pub(super) enum Variables<'a> {
    /// There are none.
    None,
    /// The members of an object.
    Object(&'a [u8]),
    /// Those of PASSING.
    Items(&'a [(std::sync::Arc<str>, Item<'static>)]),
}

/// A path over a document.
pub(super) struct Walk<'a> {
    pub(super) cx: &'a EvalContext<'a>,
    pub(super) path: &'a JsonPath,
    pub(super) root: &'a [u8],
    /// The values of variables.
    pub(super) variables: Variables<'a>,
    /// May zones of the session be used?
    pub(super) zones: bool,
    steps: Cell<u32>,
}

/// Between two looks at the flag that cancels.
const STEPS: u32 = 1024;

#[cold]
pub(super) fn flaw(sqlstate: &'static str, text: impl Into<String>) -> ExecError {
    TypeError::new(sqlstate, text).into()
}

/// None for what goes wrong within a path.
pub(super) fn quiet<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        // a wrong regular expression is an error of the path itself
        Err(ExecError::Type(error)) if error.sqlstate.starts_with("22") && error.sqlstate != "2201B" => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn and(a: Option<bool>, b: impl FnOnce() -> Result<Option<bool>>) -> Result<Option<bool>> {
    if a == Some(false) {
        return Ok(a);
    }
    let b = b()?;
    Ok(if b == Some(true) { a } else { b })
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        cx: &'a EvalContext<'a>,
        path: &'a JsonPath,
        root: &'a [u8],
        variables: Variables<'a>,
        zones: bool,
    ) -> Walk<'a> {
        Walk { cx, path, root, variables, zones, steps: Cell::new(0) }
    }

    /// What the path finds.
    pub(super) fn run(&self, sink: &mut Sink<'a>) -> Result<()> {
        let root = Item::Json(Cow::Borrowed(self.root));
        self.expr(&self.path.root, Scope { current: &root, size: -1, tolerant: self.path.lax }, sink)
    }

    fn step(&self) -> Result<()> {
        verso_env::stack::check()?;
        self.steps.set(self.steps.get().wrapping_add(1));
        if self.steps.get().is_multiple_of(STEPS) {
            self.cx.runtime.check_cancelled()?;
        }
        Ok(())
    }

    fn expr(&self, expr: &Expr, scope: Scope<'_, 'a>, sink: &mut Sink<'a>) -> Result<()> {
        self.step()?;
        let item = match expr {
            Expr::Root => Item::Json(Cow::Borrowed(self.root)),
            Expr::Current => scope.current.clone(),
            Expr::Last => Item::of(Node::Number(Decimal::from(scope.size - 1)))?,
            Expr::Variable(name) => self.variable(name)?,
            Expr::Null => Item::of(Node::Null)?,
            Expr::Bool(value) => Item::of(Node::Bool(*value))?,
            Expr::Number(number) => Item::of(Node::Number(*number))?,
            Expr::String(text) => Item::of(Node::String(text.clone()))?,
            Expr::Access(head, accessors) => {
                let mut heads = Sink::all();
                self.expr(head, scope, &mut heads)?;
                for head in heads.items {
                    self.follow(accessors, head, scope, self.path.lax, sink)?;
                }
                return Ok(());
            }
            Expr::Sign(negative, arg) => {
                for item in self.values(arg, scope, true)? {
                    let node = match item.json() {
                        Some(JsonRef::Number(number)) if *negative => Node::Number(number.negate()),
                        Some(JsonRef::Number(number)) => Node::Number(number),
                        Some(JsonRef::Long(number)) if *negative => {
                            Node::of_number(&number.number().negate())?
                        }
                        Some(JsonRef::Long(number)) => Node::of_number(&number.number())?,
                        _ if sink.first_only => continue,
                        _ => {
                            let sign = if *negative { "-" } else { "+" };
                            let text =
                                format!("operand of unary jsonpath operator {sign} is not a numeric value");
                            return Err(flaw("2203B", text));
                        }
                    };
                    sink.items.push(Item::of(node)?);
                }
                return Ok(());
            }
            Expr::Arithmetic(sign, left, right) => self.arithmetic(*sign, left, right, scope)?,
            _ => match self.predicate(expr, scope)? {
                Some(value) => Item::of(Node::Bool(value))?,
                None => Item::of(Node::Null)?,
            },
        };
        sink.items.push(item);
        Ok(())
    }

    fn variable(&self, name: &str) -> Result<Item<'a>> {
        let found = match self.variables {
            Variables::None => None,
            Variables::Object(object) => match JsonRef::read(object) {
                JsonRef::Object(object) => object.get(name).map(|value| Item::Json(Cow::Borrowed(value))),
                _ => None,
            },
            Variables::Items(items) => {
                items.iter().find(|(own, _)| &**own == name).map(|(_, value)| value.clone())
            }
        };
        found.ok_or_else(|| flaw("42704", format!("could not find jsonpath variable \"{name}\"")))
    }

    /// The items of an expression; of arrays, in lax mode, their elements.
    fn values(&self, expr: &Expr, scope: Scope<'_, 'a>, unwrap: bool) -> Result<Vec<Item<'a>>> {
        let mut sink = Sink::all();
        self.expr(expr, scope, &mut sink)?;
        if !unwrap || !self.path.lax || !sink.items.iter().any(Item::is_array) {
            return Ok(sink.items);
        }
        let elements = |item: Item<'a>| if item.is_array() { item.children() } else { vec![item] };
        Ok(sink.items.into_iter().flat_map(elements).collect())
    }

    fn arithmetic(
        &self,
        sign: Arithmetic,
        left: &Expr,
        right: &Expr,
        scope: Scope<'_, 'a>,
    ) -> Result<Item<'a>> {
        // both sides are computed before either is looked at
        let (left, right) = (self.values(left, scope, true)?, self.values(right, scope, true)?);
        let operand = |items: &[Item<'a>], side: &str| match items {
            [item] if let Some(number @ (JsonRef::Number(_) | JsonRef::Long(_))) = item.json() => {
                Ok((number.as_number(), if let JsonRef::Number(small) = number { Some(small) } else { None }))
            }
            _ => {
                let sign = sign.sign();
                let text =
                    format!("{side} operand of jsonpath operator {sign} is not a single numeric value");
                Err(flaw("22038", text))
            }
        };
        let ((a, small_a), (b, small_b)) = (operand(&left, "left")?, operand(&right, "right")?);
        let quick = small_a.zip(small_b).map(|(a, b)| match sign {
            Arithmetic::Add => a.checked_add(&b),
            Arithmetic::Subtract => a.checked_sub(&b),
            Arithmetic::Multiply => a.checked_mul(&b),
            Arithmetic::Divide => a.checked_div(&b),
            Arithmetic::Modulo => a.checked_rem(&b),
        });
        if let Some(Ok(number)) = quick {
            return Item::of(Node::Number(number));
        }
        // More digits than these have.
        let (a, b) = (a.unwrap_or_else(Number::zero), b.unwrap_or_else(Number::zero));
        let number = match sign {
            Arithmetic::Add => a.plus(&b),
            Arithmetic::Subtract => a.minus(&b),
            Arithmetic::Multiply => a.times(&b),
            Arithmetic::Divide => a.divide(&b)?,
            Arithmetic::Modulo => a.rest(&b)?,
        };
        Item::of(Node::of_number(&number)?)
    }

    /// Follows the accessors behind an item; `unwrap` says whether the first one takes an array for its elements.
    fn follow(
        &self,
        accessors: &[Accessor],
        item: Item<'a>,
        scope: Scope<'_, 'a>,
        unwrap: bool,
        sink: &mut Sink<'a>,
    ) -> Result<()> {
        if sink.is_done() {
            return Ok(());
        }
        let Some((first, rest)) = accessors.split_first() else {
            sink.items.push(item);
            return Ok(());
        };
        self.step()?;
        let lax = self.path.lax;
        let next = |item: Item<'a>, sink: &mut Sink<'a>| self.follow(rest, item, scope, lax, sink);
        let each = |items: Vec<Item<'a>>, sink: &mut Sink<'a>| {
            items.into_iter().try_for_each(|item| self.follow(accessors, item, scope, false, sink))
        };
        let refused = |sqlstate: &'static str, text: &str| {
            if scope.tolerant { Ok(()) } else { Err(flaw(sqlstate, text)) }
        };
        let is_object = matches!(item.json(), Some(JsonRef::Object(_)));
        match first {
            Accessor::Member(key) if is_object => match item.member(key) {
                Some(member) => next(member, sink),
                None => refused("2203A", &format!("JSON object does not contain key \"{key}\"")),
            },
            Accessor::Member(_) | Accessor::AnyMember | Accessor::Filter(_) if unwrap && item.is_array() => {
                each(item.children(), sink)
            }
            Accessor::Member(_) => {
                refused("2203A", "jsonpath member accessor can only be applied to an object")
            }
            Accessor::AnyMember if is_object => item.children().into_iter().try_for_each(|v| next(v, sink)),
            Accessor::AnyMember => {
                refused("2203C", "jsonpath wildcard member accessor can only be applied to an object")
            }
            Accessor::AnyElement if item.is_array() => {
                item.children().into_iter().try_for_each(|v| next(v, sink))
            }
            Accessor::AnyElement if lax => next(item, sink),
            Accessor::AnyElement => {
                refused("22039", "jsonpath wildcard array accessor can only be applied to an array")
            }
            Accessor::Elements(subscripts) if item.is_array() || lax => {
                let elements = if item.is_array() { item.children() } else { vec![item] };
                let inner = Scope { size: elements.len() as i64, ..scope };
                for (from, to) in subscripts {
                    let from = self.subscript(from, inner)?;
                    let to = to.as_ref().map_or(Ok(from), |to| self.subscript(to, inner))?;
                    if !scope.tolerant && (from < 0 || from > to || to >= inner.size) {
                        return Err(flaw("22033", "jsonpath array subscript is out of bounds"));
                    }
                    for at in from.max(0)..=to.min(inner.size - 1) {
                        next(elements[at as usize].clone(), sink)?;
                    }
                }
                Ok(())
            }
            Accessor::Elements(_) => {
                refused("22039", "jsonpath array accessor can only be applied to an array")
            }
            Accessor::Deep(first, last) => {
                let tolerant = Scope { tolerant: true, ..scope };
                if *first == Some(0) {
                    self.follow(rest, item.clone(), tolerant, lax, sink)?;
                }
                let levels = (first.unwrap_or(u32::MAX), last.unwrap_or(u32::MAX));
                self.deep(rest, &item, tolerant, (1, levels), sink)
            }
            Accessor::Filter(predicate) => {
                match self.predicate(predicate, Scope { current: &item, ..scope })? {
                    Some(true) => next(item, sink),
                    _ => Ok(()),
                }
            }
            Accessor::Method(method, args) => {
                let takes_array = matches!(method, Method::Type | Method::Size);
                if unwrap && !takes_array && item.is_array() {
                    return each(item.children(), sink);
                }
                let countless = matches!(method, Method::Size) && !item.is_array();
                if countless && scope.tolerant && !lax {
                    return Ok(());
                }
                let results = self.method(*method, args, item)?;
                results.into_iter().try_for_each(|item| next(item, sink))
            }
        }
    }

    /// The levels below an item, each item before those within it.
    fn deep(
        &self,
        rest: &[Accessor],
        item: &Item<'a>,
        scope: Scope<'_, 'a>,
        (level, (first, last)): (u32, (u32, u32)),
        sink: &mut Sink<'a>,
    ) -> Result<()> {
        if level > last {
            return Ok(());
        }
        self.step()?;
        for child in item.children() {
            let holds = child.is_array() || matches!(child.json(), Some(JsonRef::Object(_)));
            if level >= first || first == u32::MAX && last == u32::MAX && !holds {
                self.follow(rest, child.clone(), scope, self.path.lax, sink)?;
            }
            if sink.is_done() {
                return Ok(());
            }
            if level < last && holds {
                self.deep(rest, &child, scope, (level + 1, (first, last)), sink)?;
            }
        }
        Ok(())
    }

    fn subscript(&self, expr: &Expr, scope: Scope<'_, 'a>) -> Result<i64> {
        let items = self.values(expr, scope, false)?;
        let number = match items.as_slice() {
            [item] if let Some(number) = item.json().and_then(|json| json.as_number()) => number,
            _ => return Err(flaw("22033", "jsonpath array subscript is not a single numeric value")),
        };
        let whole = number.trunc(0).to_i64();
        let whole = whole.filter(|whole| i32::try_from(*whole).is_ok());
        whole.ok_or_else(|| flaw("22033", "jsonpath array subscript is out of integer range"))
    }

    /// Whether a predicate holds; none where that is unknown.
    fn predicate(&self, expr: &Expr, scope: Scope<'_, 'a>) -> Result<Option<bool>> {
        self.step()?;
        match expr {
            Expr::And(a, b) => and(self.predicate(a, scope)?, || self.predicate(b, scope)),
            Expr::Or(a, b) => {
                let a = self.predicate(a, scope)?;
                if a == Some(true) {
                    return Ok(a);
                }
                let b = self.predicate(b, scope)?;
                Ok(if b == Some(false) { a } else { b })
            }
            Expr::Not(arg) => Ok(self.predicate(arg, scope)?.map(|value| !value)),
            Expr::IsUnknown(arg) => Ok(Some(self.predicate(arg, scope)?.is_none())),
            Expr::Exists(arg) => {
                let mut sink = Sink { items: Vec::new(), first_only: self.path.lax };
                let found = quiet(self.expr(arg, scope, &mut sink))?;
                Ok(found.map(|()| !sink.items.is_empty()))
            }
            Expr::Compare(sign, a, b) => {
                self.pairs(scope, (a, Some(b)), true, |a, b| self.compare(*sign, a, b.unwrap_or(a)))
            }
            Expr::StartsWith(a, b) => self.pairs(scope, (a, Some(b)), false, |a, b| {
                Ok(match (a.json(), b.and_then(Item::json)) {
                    (Some(JsonRef::String(a)), Some(JsonRef::String(b))) => Some(a.starts_with(b)),
                    _ => None,
                })
            }),
            Expr::LikeRegex(a, pattern, flags) => {
                let regexp = regexp(pattern, *flags)?;
                self.pairs(scope, (a, None), false, |a, _| match a.json() {
                    Some(JsonRef::String(text)) => regexp.is_match(self.cx, text).map(Some),
                    _ => Ok(None),
                })
            }
            // the grammar puts nothing else here
            _ => Ok(None),
        }
    }

    /// A test of each item of one side with each of the other: one that holds is enough.
    fn pairs(
        &self,
        scope: Scope<'_, 'a>,
        (left, right): (&Expr, Option<&Expr>),
        unwrap_right: bool,
        test: impl Fn(&Item<'a>, Option<&Item<'a>>) -> Result<Option<bool>>,
    ) -> Result<Option<bool>> {
        let Some(left) = quiet(self.values(left, scope, true))? else { return Ok(None) };
        let right = match right {
            None => vec![None],
            Some(right) => match quiet(self.values(right, scope, unwrap_right))? {
                Some(right) => right.into_iter().map(Some).collect(),
                None => return Ok(None),
            },
        };
        let (mut found, mut unknown) = (false, false);
        for a in &left {
            for b in &right {
                self.step()?;
                match test(a, b.as_ref())? {
                    None if !self.path.lax => return Ok(None),
                    None => unknown = true,
                    Some(true) if self.path.lax => return Ok(Some(true)),
                    Some(true) => found = true,
                    Some(false) => {}
                }
            }
        }
        Ok(if found {
            Some(true)
        } else if unknown {
            None
        } else {
            Some(false)
        })
    }

    fn compare(&self, sign: Comparison, a: &Item<'a>, b: &Item<'a>) -> Result<Option<bool>> {
        let order = match (a, b) {
            (Item::Time(a, x, _), Item::Time(b, y, _)) => match self.compare_times((a, x), (b, y))? {
                Some(order) => order,
                None => return Ok(None),
            },
            _ => match (a.json(), b.json()) {
                (Some(JsonRef::Null), Some(JsonRef::Null)) => std::cmp::Ordering::Equal,
                // null differs from everything else, and is neither above nor below it
                (Some(JsonRef::Null), _) | (_, Some(JsonRef::Null)) => {
                    return Ok(Some(sign == Comparison::NotEqual));
                }
                (Some(JsonRef::Bool(a)), Some(JsonRef::Bool(b))) => a.cmp(&b),
                (Some(JsonRef::Number(a)), Some(JsonRef::Number(b))) => a.compare(&b),
                (
                    Some(a @ (JsonRef::Number(_) | JsonRef::Long(_))),
                    Some(b @ (JsonRef::Number(_) | JsonRef::Long(_))),
                ) => verso_types::json::compare(a, b),
                (Some(JsonRef::String(a)), Some(JsonRef::String(b))) => a.cmp(b),
                _ => return Ok(None),
            },
        };
        Ok(Some(match sign {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }))
    }

    /// The order of two dates or times, the one with less of both made like the other; none for a time beside a date.
    fn compare_times(
        &self,
        (a, x): (&Value, &SqlType),
        (b, y): (&Value, &SqlType),
    ) -> Result<Option<std::cmp::Ordering>> {
        let rank = |ty: &SqlType| match ty {
            SqlType::Date => 1,
            SqlType::Timestamp(_) => 2,
            SqlType::Timestamptz(_) => 3,
            SqlType::Time(_) => 11,
            _ => 12,
        };
        if rank(x) / 10 != rank(y) / 10 {
            return Ok(None);
        }
        if rank(x) < rank(y) {
            return Ok(Some(cmp_sql(&self.convert(a, x, y)?, b)));
        }
        Ok(Some(cmp_sql(a, &self.convert(b, y, x)?)))
    }
}

fn regexp(pattern: &str, flags: Flags) -> Result<Regexp> {
    let options = Options {
        fold: flags.fold,
        literal: flags.literal,
        dot_in_line: !flags.literal && !flags.dot_all,
        lines: !flags.literal && flags.lines,
        ..Options::default()
    };
    Ok(Regexp::new(pattern, options)?)
}

/// The item as a value of type `jsonb`.
pub(super) fn into_value(item: Item<'_>, cx: &EvalContext<'_>) -> Result<Value> {
    match item {
        Item::Json(bytes) => Ok(super::jsonb(&bytes)),
        Item::Time(value, ty, clock) => super::encoded(Node::String(time_text(&value, &ty, clock, cx)?)),
    }
}
