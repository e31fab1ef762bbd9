//! Tables, columns, functions, sequences and views: what the names mean.
//!
//! | module | what it is |
//! |---|---|
//! | [`definition`] | what is known of a table, sequence or function |
//! | [`sequence`] | the bounds of a sequence, with PostgreSQL's defaults and checks |
//! | [`request`] | what a `CREATE` asks for |
//! | [`snapshot`] | one version of the whole catalog: immutable, shared, looked up by name |
//! | [`view`] | the system views `verso_*` and their columns |
//! | [`error`] | the one error type |
#![forbid(unsafe_code)]

pub mod definition;
pub mod error;
pub mod request;
pub mod sequence;
pub mod snapshot;
pub mod view;

pub use definition::{
    ColumnDef, FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn, Oid, OwnedBy, SchemaDef,
    SequenceDef, TableDef, Volatility,
};
pub use error::{CatalogError, ObjectKind};
pub use request::{NewColumn, NewFunction, NewSequence, NewTable};
pub use sequence::{SequenceBounds, SequenceRequest};
pub use snapshot::{CatalogSnapshot, Relation, SnapshotBuilder};
pub use view::{SystemRows, SystemView, ViewColumn};
