//! Kernels: built-in functions over whole columns.
//!
//! K1. A kernel yields for every row that is not NULL what the scalar function yields, or traps.
//! K2. A trap says only that some row has no result here (an error, or a value too wide for the column's
//!     representation). The batch is then evaluated row by row by the scalar functions, which yield the
//!     value or the error that row order gives. So the executors cannot differ in errors.
//!     A quick form may trap without need; the exact form then decides whether the batch traps.
//! K3. NULLs are the caller's: a kernel sees where they are only so that garbage below them does not trap.

use verso_types::error::sqlstate;
use verso_types::{ColumnData, NullMask, TypeError};

/// Some row has no result in this representation (K2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap;

/// The row form finds the error again.
impl From<TypeError> for Trap {
    fn from(_: TypeError) -> Trap {
        Trap
    }
}

/// An argument: one value per row, or one for all.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// One value per row.
    Column(&'a ColumnData),
    /// A column of one value.
    Constant(&'a ColumnData),
}

/// Appends one value per row to the (empty) output.
pub type KernelFn = fn(&[Operand<'_>], &NullMask, usize, &mut ColumnData) -> Result<(), Trap>;

/// The same of a function whose result may be NULL of what is not: those rows are set in the mask given last.
pub type OrNullFn = fn(&[Operand<'_>], &NullMask, usize, &mut ColumnData, &mut NullMask) -> Result<(), Trap>;

/// How a function runs over columns.
#[derive(Clone, Copy, Debug)]
pub enum Kernel {
    /// Over the columns of the argument types.
    Columns(KernelFn),
    /// The same, with NULLs of its own.
    OrNull(OrNullFn),
    /// Of numerics: scaled integers where their scales are known when the statement is compiled, decimals otherwise.
    Numeric(NumericOp),
    /// Concatenation of texts.
    Concat,
    /// A comparison; the type decides how.
    Compare(CompareOp),
}

/// Arithmetic of numerics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are the operations")]
pub enum NumericOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Negate,
    Absolute,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are the operations")]
pub enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl CompareOp {
    /// Whether an order satisfies the comparison.
    #[inline]
    #[must_use]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            CompareOp::Equal => order.is_eq(),
            CompareOp::NotEqual => order.is_ne(),
            CompareOp::Less => order.is_lt(),
            CompareOp::LessOrEqual => order.is_le(),
            CompareOp::Greater => order.is_gt(),
            CompareOp::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// Why an element has no result. The kernels trap on it, the scalar functions report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementError {
    /// 22012
    DivisionByZero,
    /// 22003; the type's name
    OutOfRange(&'static str),
    /// 22003: a float beyond its range
    FloatOverflow,
    /// 22003: a float too close to zero
    FloatUnderflow,
}

impl From<ElementError> for TypeError {
    fn from(error: ElementError) -> Self {
        let float = |what: &str| TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, what);
        match error {
            ElementError::DivisionByZero => TypeError::division_by_zero(),
            ElementError::OutOfRange(name) => TypeError::out_of_range(name),
            ElementError::FloatOverflow => float("value out of range: overflow"),
            ElementError::FloatUnderflow => float("value out of range: underflow"),
        }
    }
}

/// Result of a function of one row's values.
pub type ElementResult<T> = Result<T, ElementError>;

/// A fixed-width value of a column.
pub trait Element: Copy + Default {
    /// The column's values; empty for a column of another layout, which a bound plan does not have.
    fn values(data: &ColumnData) -> &[Self];
    /// The column's vector.
    fn vector(data: &mut ColumnData) -> Option<&mut Vec<Self>>;
}

macro_rules! elements {
    ($($ty:ty: $read:ident $write:ident;)*) => {$(
        impl Element for $ty {
            #[inline]
            fn values(data: &ColumnData) -> &[Self] {
                data.$read().unwrap_or_default()
            }
            #[inline]
            fn vector(data: &mut ColumnData) -> Option<&mut Vec<Self>> {
                data.$write()
            }
        }
    )*};
}

elements! {
    u8: bools bools_mut;
    i16: i16s i16s_mut;
    i32: i32s i32s_mut;
    i64: i64s i64s_mut;
    i128: i128s i128s_mut;
    f32: f32s f32s_mut;
    f64: f64s f64s_mut;
}

/// An operand's values: one per row, or the same for every row.
pub(crate) enum Source<'a, T> {
    /// One per row.
    Many(&'a [T]),
    /// One for all.
    One(T),
}

impl<T: Element> Source<'_, T> {
    /// The value of a row.
    #[inline]
    pub(crate) fn at(&self, row: usize) -> T {
        match self {
            Source::Many(values) => values[row],
            Source::One(value) => *value,
        }
    }
}

impl<'a> Operand<'a> {
    /// The column, and whether its one value is that of all rows.
    pub(crate) fn data(&self) -> (&'a ColumnData, bool) {
        match self {
            Operand::Column(data) => (data, false),
            Operand::Constant(data) => (data, true),
        }
    }

    /// The values; traps where the layout is not the announced one.
    pub(crate) fn source<T: Element>(&self, rows: usize) -> Result<Source<'a, T>, Trap> {
        match self {
            Operand::Column(data) => Ok(Source::Many(T::values(data).get(..rows).ok_or(Trap)?)),
            Operand::Constant(data) => T::values(data).first().map(|v| Source::One(*v)).ok_or(Trap),
        }
    }
}

/// Appends `f(i)` for every row; rows that fail trap unless they are NULL.
#[inline(always)]
fn fill<R: Element>(
    values: impl ExactSizeIterator<Item = ElementResult<R>>,
    nulls: &NullMask,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    let out = R::vector(out).ok_or(Trap)?;
    let mut bad = false;
    if nulls.any() {
        out.extend(values.enumerate().map(|(i, value)| {
            bad |= value.is_err() && !nulls.is_null(i);
            value.unwrap_or_default()
        }));
    } else {
        out.extend(values.map(|value| {
            bad |= value.is_err();
            value.unwrap_or_default()
        }));
    }
    if bad { Err(Trap) } else { Ok(()) }
}

/// The kernel of a function of one argument.
#[inline(always)]
pub(crate) fn unary<A: Element, R: Element>(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    f: impl Fn(A) -> ElementResult<R>,
) -> Result<(), Trap> {
    let [a] = args else { return Err(Trap) };
    match a.source::<A>(rows)? {
        Source::Many(a) => fill(a.iter().map(|a| f(*a)), nulls, out),
        Source::One(a) => fill((0..rows).map(|_| f(a)), nulls, out),
    }
}

/// The kernel of a function of two arguments.
#[inline(always)]
pub(crate) fn binary<A: Element, B: Element, R: Element>(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    f: impl Fn(A, B) -> ElementResult<R>,
) -> Result<(), Trap> {
    let [a, b] = args else { return Err(Trap) };
    match (a.source::<A>(rows)?, b.source::<B>(rows)?) {
        (Source::Many(a), Source::Many(b)) => fill(a.iter().zip(b).map(|(a, b)| f(*a, *b)), nulls, out),
        (Source::Many(a), Source::One(b)) => fill(a.iter().map(|a| f(*a, b)), nulls, out),
        (Source::One(a), Source::Many(b)) => fill(b.iter().map(|b| f(a, *b)), nulls, out),
        (Source::One(a), Source::One(b)) => fill((0..rows).map(|_| f(a, b)), nulls, out),
    }
}

/// The kernel of a function of one argument with a quick form: a value and whether it may be wrong. The quick form
/// compiles to vector instructions; where it traps, garbage below NULLs included, the exact one has the say.
#[inline(always)]
pub(crate) fn unary_quick<A: Element, R: Element>(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    quick: impl Fn(A) -> (R, bool),
    exact: impl Fn(A) -> ElementResult<R>,
) -> Result<(), Trap> {
    let [Operand::Column(data)] = args else { return unary(args, nulls, rows, out, exact) };
    let a = A::values(data).get(..rows).ok_or(Trap)?;
    let values = R::vector(out).ok_or(Trap)?;
    values.resize(rows, R::default());
    let mut bad = false;
    for (value, a) in values.iter_mut().zip(a) {
        let (result, trap) = quick(*a);
        *value = result;
        bad |= trap;
    }
    if !bad {
        return Ok(());
    }
    values.clear();
    unary(args, nulls, rows, out, exact)
}

/// The same for two arguments.
#[inline(always)]
pub(crate) fn binary_quick<A: Element, B: Element, R: Element>(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    quick: impl Fn(A, B) -> (R, bool),
    exact: impl Fn(A, B) -> ElementResult<R>,
) -> Result<(), Trap> {
    let [a, b] = args else { return Err(Trap) };
    let values = R::vector(out).ok_or(Trap)?;
    values.resize(rows, R::default());
    let mut bad = false;
    let mut put = |value: &mut R, a: A, b: B| {
        let (result, trap) = quick(a, b);
        *value = result;
        bad |= trap;
    };
    match (a.source::<A>(rows)?, b.source::<B>(rows)?) {
        (Source::Many(a), Source::Many(b)) => {
            values.iter_mut().zip(a).zip(b).for_each(|((value, a), b)| put(value, *a, *b));
        }
        (Source::Many(a), Source::One(b)) => {
            values.iter_mut().zip(a).for_each(|(value, a)| put(value, *a, b))
        }
        (Source::One(a), Source::Many(b)) => {
            values.iter_mut().zip(b).for_each(|(value, b)| put(value, a, *b))
        }
        (Source::One(a), Source::One(b)) => values.iter_mut().for_each(|value| put(value, a, b)),
    }
    if !bad {
        return Ok(());
    }
    values.clear();
    binary(args, nulls, rows, out, exact)
}
