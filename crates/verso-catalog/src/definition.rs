//! What the catalog knows of a schema, a table, a sequence, a function.
//!
//! D1. A definition never changes: a change of the schema makes a new one with the same [`Oid`].
//! D2. A column's `id` is its number in storage and in `pg_attribute.attnum`; it starts at 1 and is never reused.
//! D3. `heap` changes with TRUNCATE, the oid does not.

use std::fmt;
use std::sync::Arc;

use verso_storage::page::ObjectId;
use verso_types::SqlType;

use crate::sequence::SequenceBounds;

/// Number of a catalog entry, as in PostgreSQL; unique within its system table and never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(pub u32);

impl Oid {
    /// First number given to what users create; smaller ones are the system's own.
    pub const FIRST_USER: Oid = Oid(16_384);

    /// Does the entry belong to the system?
    pub fn is_system(self) -> bool {
        self < Oid::FIRST_USER
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// A schema: a name space of relations and functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDef {
    /// Its row in `pg_namespace`.
    pub oid: Oid,
    /// Its name, folded.
    pub name: Arc<str>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDef {
    /// Its row in `pg_class`.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// Where its records are.
    pub heap: ObjectId,
    /// The columns in their order.
    pub columns: Vec<ColumnDef>,
}

impl TableDef {
    /// Position of the column of that name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| &*column.name == name)
    }

    /// One of the system's own tables, which only schema changes write?
    pub fn is_system(&self) -> bool {
        self.oid.is_system()
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDef {
    /// Its name, folded.
    pub name: Arc<str>,
    /// Its number in storage: from 1, never reused.
    pub id: u16,
    /// Its type.
    pub ty: SqlType,
    /// Declared NOT NULL?
    pub not_null: bool,
    /// DEFAULT, as SQL text.
    pub default: Option<Arc<str>>,
}

/// A sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceDef {
    /// Its row in `pg_class`.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// Where its value is.
    pub object: ObjectId,
    /// Start, step, bounds.
    pub bounds: SequenceBounds,
    /// The column it goes away with (`serial`, `OWNED BY`).
    pub owned_by: Option<OwnedBy>,
}

/// A column that owns a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedBy {
    /// The table.
    pub table: Oid,
    /// The column's number.
    pub column: u16,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionDef {
    /// Its row in `pg_proc`; CREATE OR REPLACE keeps it.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// What it takes.
    pub args: Vec<FunctionArg>,
    /// What it gives.
    pub returns: FunctionReturn,
    /// What its body is written in.
    pub language: FunctionLanguage,
    /// The text between the quotes.
    pub body: Arc<str>,
    /// What the planner may assume.
    pub volatility: Volatility,
    /// NULL for a NULL argument, without a call (`STRICT`)?
    pub strict: bool,
}

impl FunctionDef {
    /// `name(integer, text)`, as error messages name a function.
    pub fn signature(&self) -> String {
        signature(&self.name, self.args.iter().map(|arg| &arg.ty))
    }

    /// Does it take exactly these types, whatever their modifiers?
    pub fn takes(&self, types: &[SqlType]) -> bool {
        self.args.len() == types.len() && self.args.iter().zip(types).all(|(arg, ty)| arg.ty.same_base(ty))
    }
}

/// `name(integer, text)`.
pub(crate) fn signature<'t>(name: &str, types: impl Iterator<Item = &'t SqlType>) -> String {
    let types: Vec<String> = types.map(|ty| ty.without_modifiers().pg_name()).collect();
    format!("{name}({})", types.join(", "))
}

/// An argument of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionArg {
    /// Its name; empty if it has none (`$1` only).
    pub name: Arc<str>,
    /// Its type, without modifiers.
    pub ty: SqlType,
}

/// What a function gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionReturn {
    /// Nothing.
    Void,
    /// One value.
    Scalar(SqlType),
    /// Rows of one column.
    Set(SqlType),
    /// Rows of several named columns.
    Table(Vec<(Arc<str>, SqlType)>),
}

impl FunctionReturn {
    /// May it give several rows?
    pub fn is_set(&self) -> bool {
        matches!(self, FunctionReturn::Set(_) | FunctionReturn::Table(_))
    }
}

/// What a function's body is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionLanguage {
    /// `LANGUAGE sql`
    Sql,
    /// `LANGUAGE plpgsql`
    PlPgSql,
}

impl FunctionLanguage {
    /// As in `pg_language.lanname`.
    pub fn name(self) -> &'static str {
        match self {
            FunctionLanguage::Sql => "sql",
            FunctionLanguage::PlPgSql => "plpgsql",
        }
    }
}

/// What the planner may assume of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Volatility {
    /// The same result for the same arguments, for ever.
    Immutable,
    /// The same result for the same arguments, within a statement.
    Stable,
    /// Anything.
    #[default]
    Volatile,
}
