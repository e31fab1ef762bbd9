//! COMMENT ON.
//!
//! A comment goes with what it is on: objects have numbers that are never used again, so a comment that is left behind
//! is nobody's; it is taken away with the object's row (`removal.rs`).
//!
//! Two who comment on one thing go one after the other: a table is locked as for other changes of what is said of it, all else by
//! a name. The second finds the comment of the first whatever his level.

use std::sync::Arc;

use verso_storage::{TableLockMode, Txn};

use super::claim::NameOf;
use crate::catalog::Catalog;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::rights::Object;
use crate::snapshot::CatalogSnapshot;
use crate::system::row::{
    AuthIdRow, CastRow, ClassRow, CollationRow, ConstraintRow, DescriptionRow, ExtensionRow, NamespaceRow,
    OperatorRow, PolicyRow, ProcRow, StatisticExtRow, SystemRow, TriggerRow, TypeRow,
};

/// The number of `pg_tablespace`, whose rows are the same in every database.
const TABLESPACES: Oid = Oid(1213);

/// Whether comments on the objects of a system table are those of `pg_shdescription`.
pub fn is_shared(class: Oid) -> bool {
    [AuthIdRow::TABLE.oid, TABLESPACES, Object::Database.key().0].contains(&class)
}

/// What a comment is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentOn {
    /// A table, view, sequence or index.
    Relation(Oid),
    /// A column of one.
    Column(Oid, u16),
    /// A schema.
    Schema(Oid),
    /// The database.
    Database,
    /// A role.
    Role(Oid),
    /// A tablespace, by its number in `pg_tablespace`.
    Tablespace(Oid),
    /// A function.
    Function(Oid),
    /// A type.
    Type(Oid),
    /// A constraint.
    Constraint(Oid),
    /// A trigger.
    Trigger(Oid),
    /// A policy.
    Policy(Oid),
    /// A collation.
    Collation(Oid),
    /// An extension.
    Extension(Oid),
    /// An operator of users.
    Operator(Oid),
    /// A cast of users.
    Cast(Oid),
    /// Statistics.
    Statistics(Oid),
}

impl CommentOn {
    /// The comment that there is.
    pub fn text(self, snapshot: &CatalogSnapshot) -> Option<Arc<str>> {
        let (class, object, column) = self.key();
        snapshot.comment(class, object, column).cloned()
    }

    /// System table, object, column.
    fn key(self) -> (Oid, Oid, i32) {
        match self {
            CommentOn::Relation(oid) => (ClassRow::TABLE.oid, oid, 0),
            CommentOn::Column(oid, column) => (ClassRow::TABLE.oid, oid, i32::from(column)),
            CommentOn::Schema(oid) => (NamespaceRow::TABLE.oid, oid, 0),
            CommentOn::Database => Object::Database.key(),
            CommentOn::Role(oid) => (AuthIdRow::TABLE.oid, oid, 0),
            CommentOn::Tablespace(oid) => (TABLESPACES, oid, 0),
            CommentOn::Function(oid) => (ProcRow::TABLE.oid, oid, 0),
            CommentOn::Type(oid) => (TypeRow::TABLE.oid, oid, 0),
            CommentOn::Operator(oid) => (OperatorRow::TABLE.oid, oid, 0),
            CommentOn::Cast(oid) => (CastRow::TABLE.oid, oid, 0),
            CommentOn::Statistics(oid) => (StatisticExtRow::TABLE.oid, oid, 0),
            CommentOn::Collation(oid) => (CollationRow::TABLE.oid, oid, 0),
            CommentOn::Extension(oid) => (ExtensionRow::TABLE.oid, oid, 0),
            CommentOn::Trigger(oid) => (TriggerRow::TABLE.oid, oid, 0),
            CommentOn::Policy(oid) => (PolicyRow::TABLE.oid, oid, 0),
            CommentOn::Constraint(oid) => (ConstraintRow::TABLE.oid, oid, 0),
        }
    }
}

impl Catalog {
    /// Sets a comment, or takes it away.
    ///
    /// # Errors
    /// Storage's.
    pub fn comment(&self, txn: &mut Txn, on: CommentOn, text: Option<&Arc<str>>) -> Result<(), CatalogError> {
        let (classoid, objoid, objsubid) = on.key();
        let snapshot = self.snapshot(txn)?;
        if let CommentOn::Relation(oid) | CommentOn::Column(oid, _) = on
            && let Some(table) = snapshot.table_by_oid(oid).filter(|table| !table.is_system())
        {
            self.lock_definition(txn, &table, &snapshot, TableLockMode::ShareUpdateExclusive)?;
        }
        self.lock_name(txn, NameOf::Comment, [&format!("{classoid} {objoid}"), &objsubid.to_string()])?;
        self.change_now(txn, |txn| {
            self.delete_rows(txn, objoid, |row: &DescriptionRow| {
                row.classoid == classoid && row.objoid == objoid && row.objsubid == objsubid
            })?;
            let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(()) };
            let row = DescriptionRow { objoid, classoid, objsubid, description: Arc::clone(text) };
            self.insert_rows(txn, &[row])
        })
    }
}
