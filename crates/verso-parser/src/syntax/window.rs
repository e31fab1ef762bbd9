//! Windows: OVER, WINDOW, frames.

use super::{Expr, Name, OrderItem, Span};

/// What stands behind OVER.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// A name of the WINDOW clause.
    Name(Name),
    /// `(…)`.
    Spec(Box<WindowSpec>),
}

/// `([name] [PARTITION BY …] [ORDER BY …] [frame])`.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpec {
    /// The named window that this one extends.
    pub base: Option<Name>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// The frame, where one is given.
    pub frame: Option<Frame>,
    /// All of its text.
    pub at: Span,
}

/// `ROWS | RANGE | GROUPS BETWEEN start AND end [EXCLUDE …]`; without BETWEEN it ends at the current row.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What the distances count.
    pub mode: FrameMode,
    /// Where it starts.
    pub start: FrameBound,
    /// Where it ends.
    pub end: FrameBound,
    /// Which rows it leaves out.
    pub exclude: FrameExclude,
    /// Its first word.
    pub at: u32,
}

/// What the distances of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameMode {
    /// ROWS.
    Rows,
    /// RANGE: differences of the sort key.
    Range,
    /// GROUPS of rows with the same sort key.
    Groups,
}

/// An end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING.
    UnboundedPreceding,
    /// `n PRECEDING`.
    Preceding(Box<Expr>),
    /// CURRENT ROW.
    CurrentRow,
    /// `n FOLLOWING`.
    Following(Box<Expr>),
    /// UNBOUNDED FOLLOWING.
    UnboundedFollowing,
}

/// EXCLUDE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameExclude {
    /// NO OTHERS.
    #[default]
    NoOthers,
    /// CURRENT ROW.
    CurrentRow,
    /// GROUP: the current row and its peers.
    Group,
    /// TIES: the peers of the current row.
    Ties,
}
