//! Views: queries with a name.

use super::{Expr, Name, QualifiedName, Query};

/// CREATE VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// Its name.
    pub name: QualifiedName,
    /// OR REPLACE.
    pub or_replace: bool,
    /// TEMPORARY.
    pub temporary: bool,
    /// Names of its first columns; the others have those of the query.
    pub columns: Vec<Name>,
    /// WITH (…): names and texts of values.
    pub options: Vec<(String, String)>,
    /// What it shows.
    pub query: Query,
    /// The same as text, which the catalog keeps.
    pub text: String,
    /// WITH CHECK OPTION: CASCADED (true) or LOCAL.
    pub check: Option<bool>,
}

/// CREATE MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateMaterialized {
    /// Its name.
    pub name: QualifiedName,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Names of its first columns; the others have those of the query.
    pub columns: Vec<Name>,
    /// WITH (…): names and texts of values.
    pub options: Vec<(String, String)>,
    /// What it shows.
    pub query: Query,
    /// The same as text, which the catalog keeps.
    pub text: String,
    /// Not WITH NO DATA.
    pub with_data: bool,
}

/// What changes a view.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the parts of the form that the variant's comment spells out")]
pub enum ViewStatement {
    /// CREATE VIEW.
    Create(Box<CreateView>),
    /// CREATE MATERIALIZED VIEW.
    CreateMaterialized(Box<CreateMaterialized>),
    /// `REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH [NO] DATA]`.
    Refresh { name: QualifiedName, concurrently: bool, with_data: bool },
    /// `ALTER VIEW [IF EXISTS] name RENAME COLUMN column TO to`.
    RenameColumn { name: QualifiedName, column: Name, to: Name, if_exists: bool },
    /// `ALTER VIEW [IF EXISTS] name ALTER [COLUMN] column SET DEFAULT default | DROP DEFAULT`.
    Default { name: QualifiedName, column: Name, default: Option<(Expr, String)>, if_exists: bool },
    /// `ALTER VIEW [IF EXISTS] name SET (…)`, `RESET (…)`: a value of none takes the option away.
    Options { name: QualifiedName, options: Vec<(String, Option<String>)>, if_exists: bool },
}
