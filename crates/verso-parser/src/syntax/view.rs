//! Views: queries with a name.

use super::{Name, QualifiedName, Query};

/// CREATE VIEW, CREATE MATERIALIZED VIEW.
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

/// What changes a view.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the parts of the form that the variant's comment spells out")]
pub enum ViewStatement {
    /// CREATE VIEW.
    Create(Box<CreateView>),
    /// `ALTER VIEW [IF EXISTS] name RENAME COLUMN column TO to`.
    RenameColumn { name: QualifiedName, column: Name, to: Name, if_exists: bool },
    /// `ALTER VIEW [IF EXISTS] name SET (…)`, `RESET (…)`: a value of none takes the option away.
    Options { name: QualifiedName, options: Vec<(String, Option<String>)>, if_exists: bool },
}
