//! How insistent a cast is.

/// PostgreSQL's contexts of a cast, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastKind {
    /// Applied wherever it helps an expression.
    Implicit,
    /// Applied when a value is stored in a column or variable.
    Assignment,
    /// Written by the user.
    Explicit,
}
