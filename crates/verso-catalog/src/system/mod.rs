//! The system tables: where definitions are kept, as ordinary rows with PostgreSQL's names.
//!
//! ```text
//! pg_namespace ◄─ pg_class ◄─ pg_attribute ◄─ pg_attrdef       pg_depend   sequence ─► owning column
//!      ▲             ▲                                                     default  ─► its sequence
//!      ├─ pg_type ◄──┼─ pg_enum                                        rule     ─► what a view needs
//!      └─ pg_proc    ├─ pg_sequence            pg_language, the system's own types: written once
//!                    ├─ pg_index
//!                    ├─ pg_constraint
//!                    └─ pg_trigger
//! ```
//!
//! S1. A system table's object id is below 1000 and fixed, so that the catalog can be read before it is known.
//! S2. Its rows are versioned like all others: a schema change is visible, undone and recovered with its transaction.
//! S3. Its column ids are 1, 2, 3 … in the order of [`row`]'s structures; a new column goes to the end.
//!
//! | module | what it is |
//! |---|---|
//! | [`row`] | one structure for the rows of each system table |
//! | [`field`] | how a field of such a structure is stored |
//! | [`assemble`] | rows to a snapshot, and definitions to rows |
//! | [`gather`] | the rows that another version of the catalog lacks |
//! | [`types`] | the same of users' types |
//! | [`authority`] | the same of roles, owners, rights and policies |
//! | [`divided`] | the same of partitions |
//! | [`initial`] | the rows that every new database has |

pub(crate) mod assemble;
pub(crate) mod authority;
mod collated;
mod divided;
pub(crate) mod field;
pub(crate) mod gather;
pub(crate) mod initial;
pub(crate) mod row;
pub(crate) mod types;

use verso_storage::page::ObjectId;

use crate::definition::Oid;

/// A system table: its fixed numbers and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SystemTable {
    /// Its row in `pg_class`: PostgreSQL's number where PostgreSQL has the table.
    pub oid: Oid,
    /// Its heap (S1).
    pub heap: ObjectId,
    /// Its name.
    pub name: &'static str,
}

/// `pg_namespace.oid` of `pg_catalog`.
pub(crate) const PG_CATALOG_OID: Oid = Oid(11);
/// `pg_namespace.oid` of `public`.
pub(crate) const PUBLIC_OID: Oid = Oid(2200);
/// The owner of everything.
pub(crate) const OWNER_OID: Oid = Oid(10);
/// The sequence that numbers catalog entries.
pub(crate) const OID_SEQUENCE: &str = "verso_oid";
/// Its row in `pg_class`.
pub(crate) const OID_SEQUENCE_OID: Oid = Oid(9001);

/// `pg_type.typtype` of an enum.
pub(crate) const TYPE_ENUM: char = 'e';
/// The same of a domain.
pub(crate) const TYPE_DOMAIN: char = 'd';
/// `pg_type.typtype` of a composite type.
pub(crate) const TYPE_COMPOSITE: char = 'c';
/// `pg_type.typtype` of a range type.
pub(crate) const TYPE_RANGE: char = 'r';
/// `pg_type.typtype` of a multirange type.
pub(crate) const TYPE_MULTIRANGE: char = 'm';
/// `pg_class.relkind` of a table.
pub(crate) const KIND_TABLE: char = 'r';
/// `pg_class.relkind` of a table whose rows are in partitions.
pub(crate) const KIND_PARTITIONED: char = 'p';
/// `pg_class.relkind` of a view.
pub(crate) const KIND_VIEW: char = 'v';
/// `pg_class.relkind` of a materialized view.
pub(crate) const KIND_MATERIALIZED: char = 'm';
/// `pg_class.relkind` of a sequence.
pub(crate) const KIND_SEQUENCE: char = 'S';
/// `pg_class.relkind` of an index.
pub(crate) const KIND_INDEX: char = 'i';
/// `pg_class.relpersistence` of what is logged.
pub(crate) const LOGGED: char = 'p';
/// `pg_class.relpersistence` of what is not.
pub(crate) const UNLOGGED: char = 'u';
/// `pg_depend.deptype`: DROP is refused without CASCADE.
pub(crate) const DEPENDS_NORMAL: char = 'n';
/// `pg_depend.deptype`: a part of it.
pub(crate) const DEPENDS_INTERNAL: char = 'i';
/// `pg_depend.deptype`: goes away together.
pub(crate) const DEPENDS_AUTO: char = 'a';
