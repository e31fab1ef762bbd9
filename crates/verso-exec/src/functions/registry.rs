//! The shape of the registry's entries and the look-up by name.

use std::collections::HashMap;
use std::sync::OnceLock;

use verso_types::{SqlType, SystemType, Value};

use super::kernel::Kernel;
use crate::context::EvalContext;
use crate::error::ExecError;

/// A scalar function over values.
pub type ScalarFn = fn(&EvalContext<'_>, &[Value]) -> Result<Value, ExecError>;
/// A set-returning function: yields all its rows.
pub type SetFn = fn(&EvalContext<'_>, &[Value]) -> Result<Box<dyn Iterator<Item = Value> + Send>, ExecError>;

/// A scalar function that heeds the types of its arguments.
pub type TypedFn = fn(&EvalContext<'_>, &[Value], &[SqlType]) -> Result<Value, ExecError>;
/// A set-returning function that heeds the types of its arguments and of the columns asked for.
pub type TypedSetFn = fn(
    &EvalContext<'_>,
    &[Value],
    &[SqlType],
    &[SqlType],
) -> Result<Box<dyn Iterator<Item = Value> + Send>, ExecError>;

/// What a function takes at one position.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgType {
    /// This type, whatever its modifier.
    Exact(SqlType),
    /// An array of this type.
    ArrayOf(SqlType),
    /// Any type at all (`"any"`).
    Any,
    /// One type for all arguments of this kind.
    AnyElement,
    /// One type for all arguments of this kind, not an array.
    AnyNonArray,
    /// An array (of the `AnyElement` type).
    AnyArray,
    /// One enum type for all arguments of this kind.
    AnyEnum,
    /// A range (of the `AnyElement` type).
    AnyRange,
    /// A multirange (of the `AnyElement` type).
    AnyMultirange,
    /// A polymorphic type of a function of users.
    Polymorphic(SystemType),
}

/// What a function returns.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultType {
    /// This type.
    Fixed(SqlType),
    /// An array of this type.
    FixedArray(SqlType),
    /// The type of argument `i`, without its modifier.
    SameAs(usize),
    /// The type of the elements of the array, of the bounds of the range or multirange at argument `i`.
    ElementOf(usize),
    /// An array of the type of argument `i`.
    ArrayOf(usize),
    /// The range of the values of the range or multirange at argument `i`.
    RangeOf(usize),
    /// The multirange of the values of the range or multirange at argument `i`.
    MultirangeOf(usize),
    /// Columns of these names and types; a row of them as one value. What is unknown is an element of the first argument.
    Columns(&'static [(&'static str, SqlType)]),
    /// The same, where some of the columns are arrays.
    Mixed(&'static [(&'static str, ResultType)]),
}

/// How far a result depends on more than the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// On nothing else: folded when the plan is made.
    Immutable,
    /// On the statement (time, settings): one value per statement.
    Stable,
    /// On the moment: called once per row, in row order.
    Volatile,
}

/// How a built-in function is computed.
#[derive(Clone, Copy)]
pub enum Body {
    /// One value.
    Scalar(ScalarFn),
    /// One value that depends on the types of the arguments, too.
    Typed(TypedFn),
    /// Rows: of one column, or records of several.
    Set(SetFn),
    /// Rows that depend on types, too.
    TypedSet(TypedSetFn),
}

/// A built-in function, also one behind an operator.
pub struct BuiltinFunction {
    /// PostgreSQL's name, lower case.
    pub name: &'static str,
    /// The operator's symbol; with one argument it is a prefix operator.
    pub operator: Option<&'static str>,
    /// Argument types.
    pub args: &'static [ArgType],
    /// The last argument may stand any number of times (at least once).
    pub variadic: bool,
    /// The type of the result (of one row, for sets).
    pub result: ResultType,
    /// NULL in, NULL out, without a call.
    pub strict: bool,
    /// What the result depends on.
    pub volatility: Volatility,
    /// How it is computed.
    pub body: Body,
    /// The same over columns.
    pub kernel: Option<Kernel>,
}

impl BuiltinFunction {
    /// The type of an extension that it takes or makes: where the extension is not, it is not there either.
    #[must_use]
    pub fn extension_type(&self) -> Option<SystemType> {
        let taken = self.args.iter().map(|arg| if let ArgType::Exact(ty) = arg { Some(ty) } else { None });
        let made = if let ResultType::Fixed(ty) = &self.result { Some(ty) } else { None };
        taken.chain([made]).flatten().find_map(|ty| match ty {
            SqlType::System(system) if system.is_of_extension() => Some(*system),
            _ => None,
        })
    }

    /// The types of its arguments, for so many of them; arrays of a type are exact types here.
    #[must_use]
    pub fn declared(&self, count: usize) -> Vec<ArgType> {
        let written = self.args.iter().map(|arg| match arg {
            ArgType::ArrayOf(element) => ArgType::Exact(SqlType::Array(Box::new(element.clone()))),
            other => other.clone(),
        });
        let mut declared: Vec<ArgType> = written.collect();
        if let (true, Some(last)) = (self.variadic, declared.last().cloned()) {
            declared.resize(count.max(declared.len()), last);
        }
        declared
    }

    /// The operator that it is, where that compares values by what they are: `=` holds for what is the same to grouping, hashing
    /// and indexes, `<` follows the order of the type. Those of geometry compare sizes, and roughly.
    #[must_use]
    pub fn comparison(&self) -> Option<&'static str> {
        let is_rough =
            |arg: &ArgType| matches!(arg, ArgType::Exact(SqlType::System(ty)) if ty.is_geometric());
        self.operator.filter(|_| !self.args.iter().any(is_rough))
    }

    /// Whether it tells nothing of its arguments but its result, also by errors: PostgreSQL's `proleakproof`, of operators.
    #[must_use]
    pub fn is_leakproof(&self) -> bool {
        let compares = matches!(self.operator, Some("=" | "<>" | "<" | "<=" | ">" | ">="));
        let numbers = |ty: &SqlType| matches!(ty, SqlType::Float4 | SqlType::Float8) || ty.is_integer();
        let plain = |arg: &ArgType| match arg {
            ArgType::Exact(ty) => {
                numbers(ty)
                    || matches!(
                        ty,
                        SqlType::Bool
                            | SqlType::Text
                            | SqlType::Varchar(_)
                            | SqlType::Char(_)
                            | SqlType::Bytea
                            | SqlType::Uuid
                            | SqlType::Date
                            | SqlType::Time(_)
                            | SqlType::Timestamp(_)
                            | SqlType::Timestamptz(_)
                            | SqlType::Interval(_)
                    )
            }
            _ => false,
        };
        // A date and a timestamp are compared by way of a conversion, which may overflow.
        let alike = |one: &ArgType| match (&self.args[0], one) {
            (ArgType::Exact(one), ArgType::Exact(other)) => {
                one.same_base(other) || numbers(one) && numbers(other)
            }
            _ => false,
        };
        (compares || self.operator == Some("^@")) && self.args.iter().all(|arg| plain(arg) && alike(arg))
    }

    /// Whether it yields rows.
    #[must_use]
    pub fn returns_set(&self) -> bool {
        matches!(self.body, Body::Set(_) | Body::TypedSet(_))
    }

    /// Whether a call for rows without an argument that it needs yields a row of NULLs, and not none: of a function that is
    /// no set-returning one and yields one row.
    #[must_use]
    pub(crate) fn yields_null_row(&self) -> bool {
        match self.body {
            Body::Set(_) | Body::TypedSet(_) => is_of_one_row(self.name),
            Body::Scalar(_) | Body::Typed(_) => true,
        }
    }
}

/// Names of functions whose result is a row, and no set of rows (`proretset` is false), though they are called for their rows.
const OF_ONE_ROW: [&str; 7] = [
    "pg_get_object_address",
    "pg_get_sequence_data",
    "pg_identify_object",
    "pg_identify_object_as_address",
    "pg_input_error_info",
    "pg_sequence_parameters",
    "pg_xact_commit_timestamp_origin",
];

/// Whether the result of a built-in function of that name is one row.
pub(crate) fn is_of_one_row(name: &str) -> bool {
    OF_ONE_ROW.contains(&name)
}

impl std::fmt::Debug for BuiltinFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.name, self.args)
    }
}

impl PartialEq for BuiltinFunction {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// What an aggregate computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "PostgreSQL's own names")]
pub enum AggregateKind {
    CountStar,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    AnyValue,
    BoolAnd,
    BoolOr,
    BitAnd,
    BitOr,
    BitXor,
    StringAgg,
    ArrayAgg,
    /// What other aggregates are made of: an array of the values, which keeps arrays and NULLs as they are.
    Gathered,
    VarPop,
    VarSamp,
    StddevPop,
    StddevSamp,
    Corr,
    CovarPop,
    CovarSamp,
    RegrAvgx,
    RegrAvgy,
    RegrCount,
    RegrIntercept,
    RegrR2,
    RegrSlope,
    RegrSxx,
    RegrSxy,
    RegrSyy,
    PercentileCont,
    PercentileDisc,
    Mode,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

impl AggregateKind {
    /// Whether it is written with WITHIN GROUP and not without.
    #[must_use]
    pub fn is_ordered_set(self) -> bool {
        use AggregateKind as K;
        matches!(self, K::PercentileCont | K::PercentileDisc | K::Mode) || self.is_hypothetical()
    }

    /// Whether it tells the place of a row that is not there: its direct arguments have the types of the sort keys.
    #[must_use]
    pub fn is_hypothetical(self) -> bool {
        use AggregateKind as K;
        matches!(self, K::Rank | K::DenseRank | K::PercentRank | K::CumeDist)
    }

    /// Whether the order of the values may change the result, be it by the last bit.
    #[must_use]
    pub fn heeds_order(self) -> bool {
        use AggregateKind as K;
        !matches!(
            self,
            K::CountStar
                | K::Count
                | K::Min
                | K::Max
                | K::BoolAnd
                | K::BoolOr
                | K::BitAnd
                | K::BitOr
                | K::BitXor
        )
    }
}

/// An aggregate function.
#[derive(Debug, PartialEq)]
pub struct AggregateFunction {
    /// PostgreSQL's name.
    pub name: &'static str,
    /// What it computes.
    pub kind: AggregateKind,
    /// Argument types; none for `count(*)`. Those before WITHIN GROUP come first.
    pub args: &'static [ArgType],
    /// How many arguments stand before WITHIN GROUP; those of hypothetical ones are as many as sort keys.
    pub direct: usize,
    /// The type of the result. For `sum(numeric)` and the like it carries no modifier.
    pub result: ResultType,
}

pub(super) type Index<T> = HashMap<&'static str, Vec<&'static T>>;

/// Every built-in function of this (lower-case) name, those behind operators by PostgreSQL's names, too.
#[must_use]
pub fn candidates(name: &str) -> &'static [&'static BuiltinFunction] {
    static INDEX: OnceLock<Index<BuiltinFunction>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index = group(all_functions().filter(|f| !f.name.is_empty()), |f| f.name);
        super::operator_names::add(&mut index);
        index
    });
    index.get(name).map_or(&[], Vec::as_slice)
}

/// Every operator of this symbol: entries with one argument are prefix operators, with two infix ones.
#[must_use]
pub fn operator_candidates(symbol: &str) -> &'static [&'static BuiltinFunction] {
    static INDEX: OnceLock<Index<BuiltinFunction>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        group(all_functions().filter(|f| f.operator.is_some()), |f| f.operator.unwrap_or_default())
    });
    index.get(symbol).map_or(&[], Vec::as_slice)
}

/// Every aggregate of this (lower-case) name. `count(*)` is the `count` without arguments.
#[must_use]
pub fn aggregate_candidates(name: &str) -> &'static [&'static AggregateFunction] {
    static INDEX: OnceLock<Index<AggregateFunction>> = OnceLock::new();
    let index = INDEX.get_or_init(|| group(super::aggregates::AGGREGATES.iter(), |f| f.name));
    index.get(name).map_or(&[], Vec::as_slice)
}

/// The whole registry.
pub fn all_functions() -> impl Iterator<Item = &'static BuiltinFunction> {
    super::TABLES.iter().flat_map(|tables| tables.iter()).flat_map(|table| table.iter())
}

fn group<T>(entries: impl Iterator<Item = &'static T>, key: fn(&T) -> &'static str) -> Index<T> {
    let mut index: Index<T> = HashMap::new();
    for entry in entries {
        index.entry(key(entry)).or_default().push(entry);
    }
    index
}
