//! MERGE.

use super::{Assignment, Cte, Expr, FromItem, Name, Returning};

/// MERGE INTO target USING source ON condition WHEN … THEN ….
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// WITH.
    pub with: Vec<Cte>,
    /// The table, as a FROM item.
    pub table: FromItem,
    /// What it is compared with.
    pub source: FromItem,
    /// Which rows belong together.
    pub on: Expr,
    /// What to do, the first that fits.
    pub clauses: Vec<MergeClause>,
    /// RETURNING.
    pub returning: Returning,
    /// Its first word.
    pub at: u32,
}

/// `WHEN … [AND condition] THEN …`.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeClause {
    /// Which rows it is about.
    pub rows: MergeRows,
    /// AND.
    pub condition: Option<Expr>,
    /// THEN.
    pub action: MergeAction,
    /// Its first word.
    pub at: u32,
}

/// Which rows a WHEN of MERGE is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRows {
    /// MATCHED.
    Matched,
    /// NOT MATCHED BY SOURCE: rows of the table without a partner.
    NotMatchedBySource,
    /// NOT MATCHED [BY TARGET]: rows of the source without a partner.
    NotMatchedByTarget,
}

/// What a WHEN of MERGE does.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// DO NOTHING.
    Nothing,
    /// DELETE.
    Delete,
    /// UPDATE SET.
    Update(Vec<Assignment>),
    /// INSERT.
    Insert {
        /// The columns named.
        columns: Vec<Name>,
        /// OVERRIDING SYSTEM VALUE (true) or USER VALUE (false).
        overriding: Option<bool>,
        /// VALUES; `None` is DEFAULT VALUES.
        values: Option<Vec<Expr>>,
    },
}
