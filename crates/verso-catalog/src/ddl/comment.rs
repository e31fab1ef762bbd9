//! COMMENT ON.
//!
//! A comment goes with what it is on: objects have numbers that are never used again, so a comment that is left behind
//! is nobody's; it is taken away with the object's row (`removal.rs`).
//!
//! Two who comment on one thing go one after the other: a table is locked as for other changes of what is said of it, all else by
//! a name. The second finds the comment of the first whatever his level.
//!
//! What gets a comment is there, and stays until the transaction ends: it is held as a definition that names it would hold it (L4, L6
//! of `claim.rs`), so that who drops it waits and finds the comment, or the comment comes too late.

use std::sync::Arc;

use verso_storage::{TableLockMode, Txn};
use verso_types::SqlType;

use super::claim::{NameOf, conflict};
use crate::catalog::Catalog;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::rights::Object;
use crate::snapshot::{CatalogSnapshot, Relation};
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
    /// A constraint, and the table or domain that has it.
    Constraint(Oid, Oid),
    /// A trigger, and its table or view.
    Trigger(Oid, Oid),
    /// A policy, and its table.
    Policy(Oid, Oid),
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
            CommentOn::Trigger(oid, _) => (TriggerRow::TABLE.oid, oid, 0),
            CommentOn::Policy(oid, _) => (PolicyRow::TABLE.oid, oid, 0),
            CommentOn::Constraint(oid, _) => (ConstraintRow::TABLE.oid, oid, 0),
        }
    }
}

impl Catalog {
    /// Sets a comment, or takes it away.
    ///
    /// # Errors
    /// `Conflict` where it is gone by now; storage's.
    pub fn comment(&self, txn: &mut Txn, on: CommentOn, text: Option<&Arc<str>>) -> Result<(), CatalogError> {
        let (classoid, objoid, objsubid) = on.key();
        let snapshot = self.snapshot(txn)?;
        self.hold_commented(txn, &snapshot, on)?;
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

    /// What gets a comment stays until the transaction ends.
    fn hold_commented(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        on: CommentOn,
    ) -> Result<(), CatalogError> {
        match on {
            CommentOn::Database | CommentOn::Tablespace(_) => Ok(()),
            CommentOn::Role(role) => self.hold_role(txn, role),
            CommentOn::Schema(oid) => match snapshot.schemas().find(|schema| schema.oid == oid) {
                Some(schema) if !oid.is_system() => self.hold_schema(txn, schema),
                _ => Ok(()),
            },
            CommentOn::Statistics(oid) => match snapshot.statistics_by_oid(oid) {
                Some(statistics) => self.hold_whole(txn, snapshot, on, statistics.table),
                None => Err(conflict()),
            },
            CommentOn::Relation(oid)
            | CommentOn::Column(oid, _)
            | CommentOn::Trigger(_, oid)
            | CommentOn::Policy(_, oid)
            | CommentOn::Constraint(_, oid)
            | CommentOn::Function(oid)
            | CommentOn::Type(oid)
            | CommentOn::Collation(oid)
            | CommentOn::Extension(oid)
            | CommentOn::Operator(oid)
            | CommentOn::Cast(oid) => self.hold_whole(txn, snapshot, on, oid),
        }
    }

    /// The same of an object that has what the comment is on, or is it.
    fn hold_whole(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        on: CommentOn,
        oid: Oid,
    ) -> Result<(), CatalogError> {
        if oid.is_system() {
            return Ok(());
        }
        // Indexes stay with their tables.
        let table = match snapshot.relation_by_oid(oid) {
            Some(Relation::Index(index)) => snapshot.table_by_oid(index.table),
            _ => snapshot.table_by_oid(oid),
        };
        if let Some(table) = table {
            return self.lock_definition(txn, &table, snapshot, TableLockMode::ShareUpdateExclusive);
        }
        if let (CommentOn::Constraint(..), Some(domain)) = (on, snapshot.user_type(oid)) {
            // Changes of its constraints lock the name of a domain, and not its number.
            self.lock_name(txn, NameOf::Type, [&domain.schema, &domain.name])?;
        }
        self.hold_number(txn, oid)?;
        let newest = self.committed()?;
        let is_there = newest.knows(oid) || newest.extensions().iter().any(|one| one.oid == oid);
        if is_there && has_part(&newest, on) { Ok(()) } else { self.check_same(txn, snapshot, [oid]) }
    }
}

/// Whether a view, a domain or a composite type, which is there, has the part that a comment is on.
fn has_part(newest: &CatalogSnapshot, on: CommentOn) -> bool {
    match on {
        CommentOn::Trigger(trigger, of) => {
            let of = newest.relation_by_oid(of);
            of.is_some_and(|of| of.triggers().iter().any(|one| one.oid == trigger))
        }
        CommentOn::Constraint(constraint, of) => match newest.user_type(of).map(|ty| &ty.ty) {
            Some(SqlType::Domain(domain)) => {
                domain.not_null_oid == constraint.0
                    || domain.checks.iter().any(|check| check.oid == constraint.0)
            }
            _ => false,
        },
        CommentOn::Column(of, field) => newest.user_type(of).is_none_or(|ty| ty.fields.contains(&field)),
        _ => true,
    }
}
