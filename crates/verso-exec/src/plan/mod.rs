//! The typed intermediate representation: what the binder produces and the executors run.
//!
//! ```text
//! Statement ─► Plan (tree of relational operators) ─► TypedExpr (over the columns of the input)
//! PlFunction ─► PlStatement ─► Statement | TypedExpr (variables are parameters)
//! ```
//!
//! P1. Every expression knows its type; the executors never guess one.
//! P2. `ExprKind::Column(i)` is column `i` of the batch that the operator's input yields.
//! P3. Casts are explicit, except between types of one representation (`varchar(9)` to `text`,
//!     `numeric(9,2)` to `numeric`), which may be left out because they change no value.
//!     The expression keeps the type that it has without the cast: whoever reads its column reads that type.
//! P4. Values that reach a table have been cast to the column's type (`CastKind::Assignment`) by the binder.
//! P5. `ExprKind::Outer(n)` is value `n` that the nearest `Subquery` or `Apply` around it hands in; what comes from
//!     further out is handed on level by level.
//! P6. A batch has the form of its types. Types of one representation may stand otherwise in columns (`numeric(9,2)` is a scaled
//!     integer, `numeric` bytes; [`SqlType::same_form`](verso_types::SqlType::same_form)), and nothing in a column tells. So the cast
//!     that P3 leaves out is there after all where an expression takes the place of another one (a body that becomes part of its
//!     caller's plan), and wherever a plan, a table or a list has types of its own: columns of tables, sides of UNION, keys of joins.
//!     The binder has `exactly` and `in_form` for that. Operators look at the batches of their inputs where debug assertions are
//!     on, and storage refuses what has not the form of the table in any case (`OtherForm`).

mod access;
mod ahead;
mod command;
mod domains;
mod expr;
mod gate;
mod json;
mod output;
mod parts;
mod places;
mod planned;
mod pruning;
mod query;
mod reserve;
mod routine;
mod statement;
mod walk;
mod window;
mod with;

pub use access::{IndexAccess, KeyMatch, Searched, Span, Together};
pub use ahead::TableUse;
pub use expr::{DomainRules, ExprKind, FoldRules, SubqueryTest, TypedExpr};
pub use json::{JsonPathCall, JsonPathTest, JsonWrapping};
pub use output::{
    LEAVES_MAX, Named, Origin, OutputColumn, RECORD_COLUMN, Scanned, leaf_of, place_in, place_in_leaf,
};
pub use places::{Listed, PLACE, Places, Side};
pub use planned::{planned_of_expression, planned_of_query};
pub use pruning::{Pruning, PruningStep, PruningTerm};
pub use query::{
    AggregateCall, CursorName, GroupingSets, JoinKind, Plan, RowLock, SetCall, SetColumns, SetOperation,
    SortKey,
};
pub use routine::{
    CommitWrite, LateBound, Movement, PlBlock, PlCondition, PlCursor, PlDeclaration, PlDefault, PlDiagnostic,
    PlDynamic, PlFunction, PlHandler, PlInto, PlLater, PlPlace, PlReturn, PlStatement, PlStatementKind,
    PlTargets, PlTrigger, PlVariable, PlWithin, RaiseLevel, TransitionTable, TriggerFact, Unbound,
};
pub use statement::{
    Check, CheckOf, ConflictUpdate, Delete, Generated, Insert, Merge, MergeAction, NO_INDEX_OF_CONFLICT,
    OnConflict, PartitionKey, PartitionLevel, PartitionRule, Returning, RowRules, Statement, Update,
    UpdateParts,
};
pub use verso_types::CastKind;
pub use window::{
    FrameBound, FrameExclusion, FrameUnit, WindowCall, WindowFold, WindowFrame, WindowFunction,
};
pub use with::{With, WithPart, numbers_read};
