//! Tables, columns, functions, sequences and views: what the names mean.
//!
//! Definitions are rows of system tables, which are versioned like every other table's: a schema change belongs to its
//! transaction. A statement asks the [`Catalog`] once, at its start, for the [`CatalogSnapshot`] that it sees.
//!
//! | module | what it is |
//! |---|---|
//! | `catalog` | which version of the catalog a statement sees, and who may change it |
//! | `ddl` | schema changes |
//! | [`role`] | who may connect |
//! | [`rights`], [`authority`] | who may do what: lists of rights; roles, owners and policies of one version |
//! | `setting` | settings that outlive a restart |
//! | [`definition`] | what is known of a table, sequence or function |
//! | [`trigger`] | what is known of a trigger |
//! | `row_type` | the types of the rows of tables and views |
//! | [`sequence`] | the bounds of a sequence, with PostgreSQL's defaults and checks |
//! | [`packs`] | tables of more columns than a page describes |
//! | [`request`] | what a `CREATE` asks for |
//! | `stored` | the query of a view, as the catalog keeps it |
//! | `store`, `places` | rows of system tables, read and written through the heap; where they are |
//! | `versions` | which transactions have changed the schema, and what of it |
//! | `system` | the system tables, in which definitions are kept |
//! | [`partition`] | declarative partitioning: bounds, which partition a row belongs to |
//! | [`path`] | the search path |
//! | [`snapshot`] | one version of the whole catalog: immutable, shared, looked up by name |
//! | `shared_map` | maps of which a changed copy shares most with the original
//! | [`view`] | the system views `verso_*` and their columns |
//! | [`relations`] | the relations of `pg_catalog` and `information_schema` and their columns |
//! | [`error`] | the one error type |
#![forbid(unsafe_code)]

mod aggregate;
pub mod authority;
mod catalog;
pub mod collation;
mod damage;
mod ddl;
pub mod definition;
pub mod error;
mod extended;
mod extensions;
mod initial_rights;
pub mod kept;
mod key_class;
mod lost;
mod needs;
mod operator;
pub mod packs;
pub mod partition;
mod parts;
pub mod path;
mod places;
mod planning;
pub mod relations;
pub mod request;
pub mod rights;
pub mod role;
mod row_type;
pub mod sequence;
mod setting;
mod shared_map;
mod size;
pub mod snapshot;
mod statistics;
mod store;
mod stored;
mod system;
pub mod trigger;
mod versions;
pub mod view;
mod view_text;

pub use aggregate::{AggregateDef, Callee, Modify, MovingDef};
pub use authority::{DefaultAcl, Membership, PolicyDef, PolicyFor};
pub use catalog::{Catalog, Was};
pub use collation::CollationDef;
pub use damage::Damage;
pub use ddl::{
    ChangedField, CollationChange, CollationUse, CommentOn, DomainChange, Lost, MembershipChange,
    NewCollation, OnlineCopy, PreparedIndex, Rewrite, StatisticsChange, TypeUses, check_own_keys,
    collation_uses, free_name, generated_along, going_with_column, going_with_constraint, going_with_schema,
    in_words, index_columns, is_shared, label_holders, lost_with_schema, needing_together, next_value,
};
pub use definition::{
    ArgMode, COLUMN_COMPRESSION, COLUMN_STORAGE, ColumnDef, ConstraintDef, ConstraintKind, DroppedColumn,
    Excluding, ExtensionDef, ForeignKey, FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn,
    Identity, IndexDef, IndexPart, Materialized, Oid, OwnedBy, ReferentialAction, ReplicaIdentity,
    STOOD_IN_FOR, SchemaDef, SequenceDef, TableDef, TableOptions, TypeDef, ViewDef, Volatility, guard_text,
};
pub use error::{CatalogError, ObjectKind};
pub use extended::{CommonValues, ExtendedStatistics, StatisticsDef, StatisticsKind};
pub use extensions::{
    BTREE_GIST, CITEXT, FUZZYSTRMATCH, HSTORE, PG_STAT_STATEMENTS, PG_TRGM, PGCRYPTO, UNACCENT,
    extension_of_type, extension_with, extensions_used, extensions_with_operator, is_operator_of_own_type,
};
pub use key_class::KeyClass;
pub use lost::LostPage;
pub use needs::Need;
pub use operator::{CastContext, CastDef, OperatorDef};
pub use partition::{PartitionOf, Partitioned};
pub use parts::default_oid;
pub use path::{PG_TEMP, SearchPath, WantedPath, is_temporary};
pub use planning::{ParallelSafety, Planning};
pub use relations::{INFORMATION_SCHEMA, INFORMATION_SCHEMA_OID, RelationId, SystemColumn, SystemRelation};
pub use request::{
    KeyPartOf, NewColumn, NewComposite, NewConstraint, NewConstraintKind, NewDomain, NewEnum, NewFunction,
    NewIndex, NewIndexPart, NewKeyPart, NewRange, NewSequence, NewTable, NewView, RenamedTexts,
    RetypedColumn, TableChange, TriggersOf,
};
pub use rights::{Acl, AclItem, Object, Rights, RightsOf};
pub use role::{OWNER, OWNER_ROLE, Role, RoleChange};
pub use row_type::{holders_of_rows, is_made_of, relations_in};
pub use sequence::{SequenceBounds, SequenceChange, SequenceOwner, SequenceRequest};
pub use shared_map::SharedMap;
pub use size::value_bytes;
pub use snapshot::{
    CatalogSnapshot, Dangling, DefinitionsKey, NamesKey, Naming, Relation, SnapshotBuilder, is_of_users,
};
pub use statistics::{ColumnStatistics, TableStatistics};
pub use stored::{NOWHERE, OWN, StoredBody, StoredColumn, StoredCondition, StoredQuery, StoredRelation};
pub use trigger::{BuiltInTrigger, TriggerDef, TriggerEnabled, TriggerKind, TriggerStatements};
pub use view::{Asked, KeptRows, SystemRowIter, SystemRows, SystemView, ViewColumn};
pub use view_text::{has_other_columns, has_other_names, identifier, path_at, relation_text, view_text};
