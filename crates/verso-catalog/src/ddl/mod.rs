//! Schema changes: each writes rows of the system tables, nothing else, so each is undone with its transaction,
//! with its statement, and by ROLLBACK TO.
//!
//! Every change goes the same way: find out in the snapshot whether it may be done; lock what it relies on ([`claim`]),
//! which fails if that is not what the snapshot says any more; write ([`Catalog::change`]).
//!
//! | module | what it is |
//! |---|---|
//! | [`table`] | CREATE TABLE, DROP TABLE, TRUNCATE |
//! | [`alter`] | ALTER TABLE |
//! | [`constraint`] | constraints of new and of existing tables |
//! | [`index`] | CREATE INDEX, DROP INDEX, REINDEX |
//! | [`online`] | indexes for which rows are copied while others write |
//! | [`lock_modes`] | how strongly a change of a table locks it |
//! | [`names`] | names for what has none |
//! | [`claim`] | what a change relies on while others change the schema too |
//! | [`named`] | what definitions name stays, and who drops it sees them |
//! | [`sequence`] | CREATE SEQUENCE, DROP SEQUENCE |
//! | [`function`] | CREATE FUNCTION, DROP FUNCTION |
//! | [`trigger`] | CREATE TRIGGER, ALTER TRIGGER, DROP TRIGGER |
//! | [`view`], [`needing`] | CREATE VIEW; what needs something that is to go |
//! | [`domains`] | CREATE DOMAIN, ALTER DOMAIN |
//! | [`types`] | CREATE TYPE, ALTER TYPE, DROP TYPE |
//! | [`collation`] | CREATE COLLATION, ALTER COLLATION, DROP COLLATION |
//! | [`partition`] | what is a partition of what |
//! | [`comment`] | COMMENT ON |
//! | [`unlogged`] | tables emptied by a crash, loads without log |
//! | [`schema`] | CREATE SCHEMA, DROP SCHEMA |
//! | [`rights`], [`policy`] | owners, lists of rights, memberships; policies |

mod alter;
pub(crate) mod claim;
mod collation;
mod comment;
mod composite;
mod constraint;
mod domains;
mod extended;
mod extension;
mod foreign_key;
mod function;
mod holding;
mod index;
mod labels;
mod lock_modes;
mod named;
mod names;
mod needing;
mod online;
mod operator;
mod partition;
mod policy;
mod removal;
mod rights;
mod schema;
mod sequence;
mod table;
mod together;
mod trigger;
mod types;
mod unlogged;
mod view;

pub use alter::Rewrite;

pub use collation::{CollationChange, CollationUse, NewCollation, collation_uses};
pub use comment::{CommentOn, is_shared};
pub use composite::ChangedField;
pub use domains::DomainChange;
pub use extended::StatisticsChange;
pub(crate) use extended::number_of_data;
pub use foreign_key::check_own_keys;
pub use labels::label_holders;
pub use names::{free as free_name, told_apart as index_columns};
pub use needing::{Lost, generated_along, named as in_words};
pub use online::{OnlineCopy, PreparedIndex};
pub use rights::MembershipChange;
pub use together::{
    going_with_column, going_with_constraint, going_with_schema, lost_with_schema, needing_together,
};
pub use types::TypeUses;

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::{ObjectId, SequenceSpec, Txn};

use crate::catalog::Catalog;
use crate::definition::{ColumnDef, IndexDef, Oid, SchemaDef, SequenceDef};
use crate::error::{CatalogError, ObjectKind};
use crate::packs::stored_columns;
use crate::sequence::SequenceBounds;
use crate::snapshot::{CatalogSnapshot, PG_CATALOG, PUBLIC};
use crate::system::field::Letter;
use crate::system::row::{AttributeRow, ClassRow, DefaultRow, DependRow, SequenceRow, SystemRow};
use crate::system::{DEPENDS_NORMAL, LOGGED};
use crate::view_text::identifier;

/// The bounds as storage knows them.
pub(crate) fn sequence_spec(bounds: &SequenceBounds) -> SequenceSpec {
    SequenceSpec {
        start: bounds.start,
        increment: bounds.increment,
        min: bounds.min,
        max: bounds.max,
        cycle: bounds.cycle,
    }
}

/// The schema in which something new is made: the one named, else `public`.
fn target_schema(
    snapshot: &CatalogSnapshot,
    schema: Option<&Arc<str>>,
) -> Result<Arc<SchemaDef>, CatalogError> {
    let name = schema.map_or(PUBLIC, |name| name);
    if name == PG_CATALOG {
        return Err(CatalogError::SystemObject { name: name.to_string() });
    }
    snapshot.schema(name).cloned().ok_or_else(|| CatalogError::missing(ObjectKind::Schema, name))
}

/// `pg_class.relpersistence` of what is made in a schema.
fn persistence(schema: &SchemaDef) -> Letter {
    Letter(if crate::path::is_temporary(&schema.name) { 't' } else { LOGGED })
}

/// What a sequence or schema that is to go is needed by, in PostgreSQL's words.
fn refuse_if_needed(what: String, dependents: Vec<String>) -> Result<(), CatalogError> {
    if dependents.is_empty() {
        return Ok(());
    }
    Err(CatalogError::Needed { what, detail: dependents.join("\n") })
}

impl Catalog {
    /// Makes the heap of a table of these columns; those with the numbers `apart`, and those of its indexes, stand by themselves.
    fn create_heap<'i>(
        &self,
        txn: &mut Txn,
        unlogged: bool,
        columns: &[ColumnDef],
        indexes: impl Iterator<Item = &'i Arc<IndexDef>>,
        mut apart: Vec<u16>,
    ) -> Result<ObjectId, CatalogError> {
        apart.extend(indexes.flat_map(|index| index.columns()));
        let stored = stored_columns(columns, &apart, self.engine.page_size());
        Ok(match unlogged {
            true => self.engine.create_unlogged_heap(txn, &stored)?,
            false => self.engine.create_heap(txn, &stored)?,
        })
    }

    /// Removes a sequence, and the defaults that need it.
    fn remove_sequence(&self, txn: &mut Txn, sequence: &SequenceDef) -> Result<(), CatalogError> {
        let engine = &self.engine;
        if self.delete_rows(txn, sequence.oid, |row: &ClassRow| row.oid == sequence.oid)?.is_empty() {
            return Err(CatalogError::missing(ObjectKind::Sequence, &*sequence.name));
        }
        self.removes(txn, sequence.oid)?;
        let links = self.delete_rows(txn, sequence.oid, |row: &DependRow| {
            let own = row.classid == ClassRow::TABLE.oid && row.objid == sequence.oid;
            let needs = row.refclassid == ClassRow::TABLE.oid && row.refobjid == sequence.oid;
            own || needs
        })?;
        for link in links.iter().filter(|row| row.classid == DefaultRow::TABLE.oid) {
            for default in self.delete_rows(txn, link.objid, |row: &DefaultRow| row.oid == link.objid)? {
                let is_column =
                    |row: &AttributeRow| row.attrelid == default.adrelid && row.attnum == default.adnum;
                self.update_rows(txn, default.adrelid, is_column, |row| row.atthasdef = false)?;
            }
        }
        self.remove_hanging(txn, &BTreeSet::from([(ClassRow::TABLE.oid, sequence.oid)]))?;
        self.delete_rows(txn, sequence.oid, |row: &SequenceRow| row.seqrelid == sequence.oid)?;
        engine.drop_object(txn, sequence.object)?;
        Ok(())
    }

    /// The defaults that need a sequence, in words.
    fn needs_sequence(
        &self,
        txn: &Txn,
        snapshot: &CatalogSnapshot,
        sequence: &SequenceDef,
    ) -> Result<Vec<String>, CatalogError> {
        let links: Vec<DependRow> = self.read_of(txn, sequence.oid)?;
        let linked: BTreeSet<Oid> = links.iter().map(|link| link.objid).collect();
        let defaults: Vec<DefaultRow> = self.read_of(txn, &linked)?;
        let mut lines = Vec::new();
        let needing = links.iter().filter(|row| {
            row.deptype.0 == DEPENDS_NORMAL
                && row.classid == DefaultRow::TABLE.oid
                && row.refclassid == ClassRow::TABLE.oid
                && row.refobjid == sequence.oid
        });
        for default in needing.filter_map(|link| defaults.iter().find(|row| row.oid == link.objid)) {
            let Some(table) = snapshot.table_by_oid(default.adrelid) else { continue };
            let Some(column) =
                table.columns.iter().find(|column| i64::from(column.id) == default.adnum.into())
            else {
                continue;
            };
            lines.push(format!("default value for column {} of table {}", column.name, table.name));
        }
        Ok(lines)
    }
}

/// The default of a `serial` column: the sequence with its schema, so that it means the same along every search path.
pub fn next_value(schema: &str, sequence: &str) -> Arc<str> {
    let path = format!("{}.{}", quoted(schema), quoted(sequence));
    format!("nextval('{}')", path.replace('\'', "''")).into()
}

/// The sequence that a default of this text takes the next number of: one that follows the sequence's name.
fn sequence_of(snapshot: &CatalogSnapshot, default: &str) -> Option<Oid> {
    let path = default.strip_prefix("nextval('")?.strip_suffix("')")?.replace("''", "'");
    let path: Vec<char> = path.chars().collect();
    let (dot, schema) = identifier(&path, 0);
    let (_, name) = identifier(&path, dot + 1);
    let sequence = snapshot.sequence(Some(&schema), &name)?;
    (*next_value(&sequence.schema, &sequence.name) == *default).then_some(sequence.oid)
}

/// An identifier as SQL text, quoted where it must be.
pub(crate) fn quoted(name: &str) -> String {
    let plain = name
        .bytes()
        .enumerate()
        .all(|(i, byte)| byte.is_ascii_lowercase() || byte == b'_' || (i > 0 && byte.is_ascii_digit()));
    if plain && !name.is_empty() { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
