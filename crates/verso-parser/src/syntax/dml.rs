//! INSERT, UPDATE, DELETE.

use super::{Cte, Expr, FromItem, Hint, Name, QualifiedName, Query, SelectItem, Span, Step};

/// RETURNING; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Returning {
    /// `WITH (OLD AS name)`.
    pub old: Option<Name>,
    /// `WITH (NEW AS name)`.
    pub new: Option<Name>,
    /// What is returned.
    pub items: Vec<SelectItem>,
}

impl Returning {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// WITH.
    pub with: Vec<Cte>,
    /// Hints in comments behind the first word.
    pub hints: Vec<Hint>,
    /// Where to.
    pub table: QualifiedName,
    /// `AS alias`.
    pub alias: Option<Name>,
    /// The columns named.
    pub columns: Vec<Name>,
    /// For each of them the place within it that gets the value; mostly none.
    pub places: Vec<Vec<Step>>,
    /// What; `None` is DEFAULT VALUES.
    pub source: Option<Query>,
    /// OVERRIDING SYSTEM VALUE (true) or USER VALUE (false).
    pub overriding: Option<bool>,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING.
    pub returning: Returning,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// Which conflicts; without one, all.
    pub target: Option<ConflictTarget>,
    /// DO UPDATE; `None` is DO NOTHING.
    pub update: Option<ConflictUpdate>,
    /// Where it starts.
    pub at: u32,
}

/// The conflicts that ON CONFLICT is about.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictTarget {
    /// Those of the unique indexes on these columns and expressions, and of partial ones whose condition follows from this.
    Inferred(Vec<Expr>, Option<Expr>),
    /// Those of a constraint.
    Constraint(Name),
}

/// DO UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictUpdate {
    /// SET.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub filter: Option<Expr>,
}

/// An item of SET.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    /// `a = x`; `(a, b) = (x, y)` is two of them.
    Value(Name, Expr),
    /// `a[1] = x`.
    Part(Name, Vec<Step>, Expr),
    /// `(a, b) = (SELECT …)`.
    Row(Vec<Name>, Box<Query>),
    /// `(a, b) = ROW(t.*)`, and where the values stand: how many they are only the table says.
    List(Vec<Name>, Vec<Expr>, Span),
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// WITH.
    pub with: Vec<Cte>,
    /// Hints in comments behind the first word.
    pub hints: Vec<Hint>,
    /// The table, as a FROM item.
    pub table: FromItem,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// FROM.
    pub from: Option<FromItem>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// WHERE CURRENT OF.
    pub current: Option<Name>,
    /// RETURNING.
    pub returning: Returning,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// WITH.
    pub with: Vec<Cte>,
    /// Hints in comments behind the first word.
    pub hints: Vec<Hint>,
    /// The table, as a FROM item.
    pub table: FromItem,
    /// USING.
    pub using: Option<FromItem>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// WHERE CURRENT OF.
    pub current: Option<Name>,
    /// RETURNING.
    pub returning: Returning,
}
