//! The path language of `jsonpath`: a path as a tree, read from and written as text.
//!
//! ```text
//! strict $.a[*] ? (@.b > 1 && exists (@.c)).size()        mode, root, accessors: members, elements, filters, methods
//! ```
//!
//! 1. A value of the type is the text that [`normalize`] writes, which reads back as the same path.
//! 2. A tree is at most [`DEPTH_MAX`] levels high, so whatever follows it recursively ends.
//!
//! Source: PostgreSQL's `jsonpath_scan.l`, `jsonpath_gram.y`, `jsonpath.c`.

mod lex;
mod parse;
mod print;

use crate::decimal::Decimal;
use crate::error::TypeError;

/// How high the tree of a path may be.
pub const DEPTH_MAX: usize = 120;

/// A path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// Are missing members and elements passed over, and arrays and items taken for each other?
    pub lax: bool,
    /// What it computes.
    pub root: Expr,
}

/// An operator of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are the operations")]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arithmetic {
    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
        }
    }
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are the operations")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// An expression, or a predicate.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    /// `$name`
    Variable(String),
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number
    Number(Decimal),
    /// A string
    String(String),
    /// What stands in front, and the accessors behind it, at least one.
    Access(Box<Expr>, Vec<Accessor>),
    /// `+ a`; `- a` if true
    Sign(bool, Box<Expr>),
    /// `a + b`
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    /// `a == b`
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// `a && b`
    And(Box<Expr>, Box<Expr>),
    /// `a || b`
    Or(Box<Expr>, Box<Expr>),
    /// `!(a)`
    Not(Box<Expr>),
    /// `(a) is unknown`
    IsUnknown(Box<Expr>),
    /// `exists (a)`
    Exists(Box<Expr>),
    /// `a starts with b`
    StartsWith(Box<Expr>, Box<Expr>),
    /// `a like_regex "pattern" flag "i"`
    LikeRegex(Box<Expr>, String, Flags),
}

/// Flags of `like_regex`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `i`: upper and lower case alike.
    pub fold: bool,
    /// `s`: a dot is a line's end, too.
    pub dot_all: bool,
    /// `m`: `^` and `$` are those of lines.
    pub lines: bool,
    /// `x`: blanks do not count, which is refused.
    pub expanded: bool,
    /// `q`: nothing is special.
    pub literal: bool,
}

/// What stands behind an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Accessor {
    /// `.key`
    Member(String),
    /// `.*`
    AnyMember,
    /// `[1, 2 to last]`
    Elements(Vec<(Expr, Option<Expr>)>),
    /// `[*]`
    AnyElement,
    /// `.**{1 to 3}`: the first and the last level; none is the last one.
    Deep(Option<u32>, Option<u32>),
    /// `? (predicate)`
    Filter(Expr),
    /// `.size()`
    Method(Method, Vec<Expr>),
}

macro_rules! methods {
    ($($method:ident $name:literal $most:literal),* $(,)?) => {
        /// A method.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "PostgreSQL's own names")]
        pub enum Method { $($method),* }

        impl Method {
            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Method::$method => $name),* }
            }

            /// The method of this name, and how many arguments it takes at most.
            fn named(name: &str) -> Option<(Method, usize)> {
                match name {
                    $($name => Some((Method::$method, $most)),)*
                    _ => None,
                }
            }
        }
    };
}

methods!(
    Abs "abs" 0, Size "size" 0, Type "type" 0, Floor "floor" 0, Double "double" 0, Ceiling "ceiling" 0,
    KeyValue "keyvalue" 0, BigInt "bigint" 0, Boolean "boolean" 0, Date "date" 0, Integer "integer" 0,
    Number "number" 0, String "string" 0, DateTime "datetime" 1, Decimal "decimal" 2, Time "time" 1,
    TimeTz "time_tz" 1, Timestamp "timestamp" 1, TimestampTz "timestamp_tz" 1,
);

impl JsonPath {
    /// Reads a path.
    /// # Errors
    /// 42601 and 22P02 as PostgreSQL; 54001 where it is nested too deeply.
    pub fn parse(text: &str) -> Result<JsonPath, TypeError> {
        parse::parse(text)
    }
}

impl std::fmt::Display for JsonPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&print::print(self))
    }
}

/// The text of the path that a text is, as it is stored and shown.
/// # Errors
/// As [`JsonPath::parse`].
pub fn normalize(text: &str) -> Result<String, TypeError> {
    Ok(JsonPath::parse(text)?.to_string())
}

#[cfg(test)]
mod tests;
