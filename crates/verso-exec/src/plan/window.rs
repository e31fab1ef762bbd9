//! Functions over windows, and the frames that they look at.

use std::sync::Arc;

use verso_types::SqlType;

use super::{FoldRules, TypedExpr};
use crate::functions::{AggregateFunction, WindowKind};

/// One function of a `Window` operator.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// What it computes.
    pub function: WindowFunction,
    /// The arguments, over the input's columns.
    pub args: Vec<TypedExpr>,
    /// Only rows for which this is true count; of aggregates only.
    pub filter: Option<TypedExpr>,
    /// The rows around the current one that it looks at.
    pub frame: WindowFrame,
    /// Type of the result.
    pub ty: SqlType,
    /// Name of the output column.
    pub name: Arc<str>,
    /// An aggregate of users: the argument has the rows that it is computed of.
    pub fold: Option<Arc<WindowFold>>,
}

/// The steps of an aggregate of users over a frame.
#[derive(Clone, Debug)]
pub struct WindowFold {
    /// Those of a row that comes into the frame, and what makes the result.
    pub rules: Arc<FoldRules>,
    /// The state without a row that leaves the frame, NULL where that cannot be said; as in [`FoldRules::step`], the state is
    /// `Parameter(0)`. Without one the rows of a frame that moves are added anew.
    pub inverse: Option<TypedExpr>,
}

impl WindowCall {
    /// Every expression of it.
    pub fn exprs(&self) -> impl Iterator<Item = &TypedExpr> {
        self.args.iter().chain(&self.filter).chain(self.frame.offsets())
    }

    /// Every expression of it, to change it.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut TypedExpr> {
        self.args.iter_mut().chain(&mut self.filter).chain(self.frame.offsets_mut())
    }
}

/// What is computed of a window.
#[derive(Clone, Copy, Debug)]
pub enum WindowFunction {
    /// A function that only windows have.
    Own(WindowKind),
    /// An aggregate over the frame.
    Aggregate(&'static AggregateFunction),
}

impl WindowFunction {
    /// PostgreSQL's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WindowFunction::Own(kind) => kind.name(),
            WindowFunction::Aggregate(function) => function.name,
        }
    }
}

/// The rows around the current one, of its partition, that a function looks at.
#[derive(Clone, Debug)]
pub struct WindowFrame {
    /// What offsets count.
    pub unit: FrameUnit,
    /// Where it starts.
    pub start: FrameBound,
    /// Where it ends.
    pub end: FrameBound,
    /// Which rows in it do not count.
    pub exclude: FrameExclusion,
}

impl WindowFrame {
    /// From the start of the partition to the last peer of the current row: the frame where none is written.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            unit: FrameUnit::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclude: FrameExclusion::NoOthers,
        }
    }

    /// The offsets written, which have no columns.
    pub fn offsets(&self) -> impl Iterator<Item = &TypedExpr> {
        [&self.start, &self.end].into_iter().filter_map(|bound| match bound {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            _ => None,
        })
    }

    /// The offsets written, to change them.
    pub fn offsets_mut(&mut self) -> impl Iterator<Item = &mut TypedExpr> {
        [&mut self.start, &mut self.end].into_iter().filter_map(|bound| match bound {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            _ => None,
        })
    }
}

/// What the offsets of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Differences of the one sort key.
    Range,
    /// Groups of rows that are equal in the order.
    Groups,
}

/// One end of a frame.
#[derive(Clone, Debug)]
pub enum FrameBound {
    /// The first row of the partition.
    UnboundedPreceding,
    /// So far before the current row. For `Range` the offset has the type that is added to the key.
    Preceding(TypedExpr),
    /// The current row; for `Range` and `Groups` the first or last of its peers.
    CurrentRow,
    /// So far behind the current row.
    Following(TypedExpr),
    /// The last row of the partition.
    UnboundedFollowing,
}

/// Rows of a frame that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameExclusion {
    /// All count.
    #[default]
    NoOthers,
    /// Not the current row.
    CurrentRow,
    /// Neither the current row nor its peers.
    Group,
    /// Not the peers of the current row.
    Ties,
}
