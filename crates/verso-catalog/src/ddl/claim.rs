//! What a change of the schema relies on while others change it too: names that stay free, definitions that stay as they are.
//!
//! L1. Something new has its name locked to the end of its transaction, and so has what gets another name or comes to another schema.
//!     Who would give something else the same name waits, and then finds it taken, or not. Relations and types have names of their
//!     own in a schema, and tables, views and composite types have both ([`Taking`]).
//! L2. What is made in a schema holds a weak lock on the schema's name, and what drops a schema a strong one.
//! L3. A definition that is changed, or that something new relies on, is locked with its table's heap, and is then the
//!     newest one; otherwise the statement begins anew with a newer snapshot (`Conflict`).
//!     How strongly is said in one place ([`super::lock_modes`]). Two whose locks do not exclude each other see each other's
//!     changes as a conflict all the same where they look at the definition once more.
//! L4. What is made of a user's type or collation holds a weak lock on its number, and what drops or changes the type a strong
//!     one: nobody finds a column whose type is gone.
//! L5. Tables are locked in one order by statements that change rows and by those that change definitions: a partitioned table
//!     before its partitions, these before theirs, those of one table by their numbers ([`TableDef::with_partitions`]), all of
//!     them before the first is changed. What is in a partitioned table is reached through it, by rows too (`verso-exec`,
//!     `plan/ahead.rs`), so that of two who go through it one waits with nothing of it in his hands. A partition that goes or comes has
//!     its table locked first, and the default partition beside it last. A table that refers comes before those that it refers to.
//! L6. What a definition names, or a role that is given something, is held weakly when the statement that names it has written it,
//!     and who drops something holds it strongly before he relies on what names it ([`super::named`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::page::{RecordId, TxnId};
use verso_storage::{StorageError, TableLockMode, Txn, WaitPolicy};
use verso_types::{SqlType, SystemType};

use crate::catalog::Catalog;
use crate::definition::{Oid, SchemaDef, TableDef};
use crate::error::{CatalogError, ObjectKind};
use crate::path::is_temporary;
use crate::row_type::{ARRAY, relations_in};
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::versions::Touched;

/// What has a name of its own.
#[derive(Clone, Copy)]
pub(crate) enum NameOf {
    Schema = 1,
    Relation,
    Function,
    Role,
    Type,
    Rights,
    Collation,
    Extension,
    Operator,
    Cast,
    /// An index that becomes a part of another one has this name.
    Part,
    /// A type or collation by its number, for what is made of it (L4).
    Made,
    Statistics,
    /// What has a comment.
    Comment,
}

/// Which names something takes in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taking {
    /// That of a relation: indexes and sequences.
    Relation,
    /// That of a type: enum types, domains, ranges, multiranges, types of extensions.
    Type,
    /// Both: tables and views, whose rows are of a type of their name, and composite types.
    Both,
}

impl Taking {
    /// Those that a relation has.
    pub(super) fn of(relation: Option<&Relation>) -> Taking {
        match relation {
            Some(Relation::Index(_) | Relation::Sequence(_)) => Taking::Relation,
            _ => Taking::Both,
        }
    }

    /// Those that a type has.
    pub(super) fn of_type(ty: &SqlType) -> Taking {
        if ty.is_row() { Taking::Both } else { Taking::Type }
    }
}

/// The number by which a name is locked (FNV-1a).
fn number(of: NameOf, parts: [&str; 2]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let start = (0xCBF2_9CE4_8422_2325 ^ of as u64).wrapping_mul(0x0100_0000_01B3);
    bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// The statement is to begin anew, with a newer snapshot where its level has one.
pub(crate) fn conflict() -> CatalogError {
    let record = RecordId { page_index: 0, slot: 0 };
    StorageError::Conflict { record, by: TxnId::NONE, deleted: false }.into()
}

impl Catalog {
    /// Locks a name (L1).
    pub(crate) fn lock_name(&self, txn: &mut Txn, of: NameOf, parts: [&str; 2]) -> Result<(), CatalogError> {
        txn.lock_name(number(of, parts), TableLockMode::AccessExclusive)?;
        Ok(())
    }

    /// Locks a name together with others who do.
    pub(super) fn share_name(&self, txn: &mut Txn, of: NameOf, name: &str) -> Result<(), CatalogError> {
        txn.lock_name(number(of, [name, ""]), TableLockMode::AccessShare)?;
        Ok(())
    }

    /// Something is made in a schema, which stays (L2).
    pub(super) fn hold_schema(&self, txn: &mut Txn, schema: &SchemaDef) -> Result<(), CatalogError> {
        txn.lock_name(number(NameOf::Schema, [&schema.name, ""]), TableLockMode::AccessShare)?;
        let stays = |now: &Arc<SchemaDef>| now.oid == schema.oid;
        let newest = self.committed()?;
        newest.check_whole(schema.oid)?;
        if newest.schema(&schema.name).is_some_and(stays) || self.is_held(txn, schema.oid) {
            return Ok(());
        }
        self.hold_renamed_schema(txn, schema, &newest)
    }

    /// The same of a schema that is not there by its name: the transaction may have given it that, and nobody else gets at it by the
    /// name that others see while it has both locked. A rollback to a savepoint may have given them back, so the lock is taken again.
    fn hold_renamed_schema(
        &self,
        txn: &mut Txn,
        schema: &SchemaDef,
        newest: &CatalogSnapshot,
    ) -> Result<(), CatalogError> {
        let touched = self.with_versions(|versions| versions.touched_since(txn, 0));
        let known = newest.schemas().find(|now| now.oid == schema.oid);
        let Some(known) = known.filter(|_| touched.contains(&Touched::Object(schema.oid))) else {
            return Err(conflict());
        };
        txn.lock_name(number(NameOf::Schema, [&known.name, ""]), TableLockMode::AccessShare)?;
        let stays = |now: &Arc<SchemaDef>| now.oid == schema.oid;
        if self.committed()?.schema(&known.name).is_some_and(stays) { Ok(()) } else { Err(conflict()) }
    }

    /// Takes a name in a schema for something new there (L1); whether no relation has it, or for a type alone no type.
    ///
    /// # Errors
    /// `Exists` where something that is a relation, too, finds a type; storage's.
    pub(super) fn take_name(
        &self,
        txn: &mut Txn,
        schema: &str,
        name: &str,
        of: Taking,
    ) -> Result<bool, CatalogError> {
        if of != Taking::Type {
            self.lock_name(txn, NameOf::Relation, [schema, name])?;
        }
        if of != Taking::Relation {
            self.lock_name(txn, NameOf::Type, [schema, name])?;
        }
        let newest = self.committed()?;
        let stays = |oid: Oid| !self.is_removed(txn, oid);
        let is_in_the_way = |one: &Relation| of != Taking::Type || Taking::of(Some(one)) == Taking::Both;
        let relation = newest.relation(Some(schema), name).filter(|one| is_in_the_way(one));
        if relation.is_some_and(|one| stays(one.oid())) {
            return Ok(false);
        }
        match newest.type_named(Some(schema), name).filter(|ty| stays(ty.oid)) {
            // A composite type is a relation by its name.
            Some(ty) if of == Taking::Type || ty.ty.is_row() => Ok(false),
            Some(_) if of == Taking::Both => Err(CatalogError::exists(ObjectKind::Type, name)),
            _ => Ok(true),
        }
    }

    /// Locks a table whose definition is about to change, or is relied upon (L3).
    pub(super) fn lock_definition(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        snapshot: &CatalogSnapshot,
        mode: TableLockMode,
    ) -> Result<(), CatalogError> {
        snapshot.check_whole(table.oid)?;
        self.lock_as_it_is(txn, table, snapshot, mode)
    }

    /// The same of a table that may be damaged: nothing but its name and its number is relied upon.
    fn lock_as_it_is(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        snapshot: &CatalogSnapshot,
        mode: TableLockMode,
    ) -> Result<(), CatalogError> {
        self.engine.lock_table(txn, table.heap, mode, WaitPolicy::Block)?;
        txn.pin_lock(table.heap);
        if !self.is_unchanged(table, snapshot.version, txn)? {
            txn.forget_lock(table.heap);
            return Err(conflict());
        }
        if mode.excludes(mode) {
            self.check_naming(txn, snapshot, [table.oid])?;
            self.hold(txn, table.oid)
        } else if mode == TableLockMode::Share {
            // Others may add indexes, and nothing else.
            let id = txn.assign_id()?;
            self.with_versions(|versions| versions.hold_beside(id, txn, table.oid));
            Ok(())
        } else {
            // Weaker ones let others change what refers to it.
            Ok(())
        }
    }

    /// Holds what these types are made of, user's types, collations and relations whose row types they are: they stay, and stay as
    /// they are, until the transaction ends.
    ///
    /// # Errors
    /// `InvalidDefinition` (0A000: the relation is temporary, and what is made of it is not); `Conflict`.
    pub(super) fn hold_types<'t>(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        schema: &str,
        types: impl IntoIterator<Item = &'t SqlType>,
    ) -> Result<(), CatalogError> {
        let (mut found, mut made) = (Vec::new(), BTreeSet::new());
        types.into_iter().for_each(|ty| {
            relations_in(ty, &mut found);
            made_of(ty, &mut made);
        });
        self.hold_made(txn, made)?;
        for oid in found {
            let relation = snapshot.relation_by_oid(oid).ok_or_else(conflict)?;
            if is_temporary(relation.schema()) && !is_temporary(schema) {
                let text =
                    "a type of the rows of a temporary table in what is not temporary is not supported";
                return Err(CatalogError::invalid("0A000", text));
            }
            match relation {
                Relation::Table(table) if table.partitioned.is_none() => {
                    self.lock_definition(txn, table, snapshot, TableLockMode::AccessShare)?;
                }
                relation => {
                    snapshot.check_whole(oid)?;
                    let name = number(NameOf::Relation, [relation.schema(), relation.name()]);
                    txn.lock_name(name, TableLockMode::AccessShare)?;
                    self.check_same(txn, snapshot, [oid])?;
                }
            }
        }
        Ok(())
    }

    /// Something is made of types and collations of these numbers, which stay (L4).
    ///
    /// # Errors
    /// `Conflict` where one of them is gone by now.
    pub(super) fn hold_made(
        &self,
        txn: &mut Txn,
        of: impl IntoIterator<Item = Oid>,
    ) -> Result<(), CatalogError> {
        let goes = |oid: &Oid| !oid.is_system() || SystemType::is_oid_of_extension(oid.0);
        for oid in of.into_iter().filter(goes) {
            txn.lock_name(number(NameOf::Made, [&oid.0.to_string(), ""]), TableLockMode::AccessShare)?;
            let newest = self.committed()?;
            newest.check_whole(oid)?;
            let is_there =
                newest.type_or_row_by_oid(oid).is_some() || newest.collation_by_oid(oid.0).is_some();
            if !is_there && !self.is_held(txn, oid) {
                return Err(conflict());
            }
        }
        Ok(())
    }

    /// A type or collation goes, or changes, and nobody makes anything of it meanwhile (L4); `seen` is where the caller looked
    /// for what is made of it.
    ///
    /// # Errors
    /// `Conflict` where it, or something that is made of it or names it, has changed since.
    pub(super) fn lock_made(
        &self,
        txn: &mut Txn,
        seen: &CatalogSnapshot,
        oid: Oid,
    ) -> Result<(), CatalogError> {
        self.lock_name(txn, NameOf::Made, [&oid.0.to_string(), ""])?;
        self.check_made(txn, seen, oid)
    }

    /// Keeps writers out of a table of which an index is built; readers go on, and others who build one.
    pub(super) fn lock_for_build(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        snapshot: &CatalogSnapshot,
    ) -> Result<(), CatalogError> {
        self.lock_definition(txn, table, snapshot, TableLockMode::Share)
    }

    /// Keeps others out of a table until the transaction ends; waits for those at work (L3).
    pub(super) fn lock_out(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        snapshot: &CatalogSnapshot,
    ) -> Result<(), CatalogError> {
        self.lock_definition(txn, table, snapshot, TableLockMode::AccessExclusive)
    }

    /// The same for a table that goes, or loses what refers to one that goes: it may be damaged.
    pub(super) fn lock_to_drop(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        snapshot: &CatalogSnapshot,
    ) -> Result<(), CatalogError> {
        self.lock_as_it_is(txn, table, snapshot, TableLockMode::AccessExclusive)
    }

    /// Fails unless the snapshot has all changes that others have committed.
    pub(super) fn check_newest(&self, txn: &Txn, snapshot: &CatalogSnapshot) -> Result<(), CatalogError> {
        if self.is_newest(txn, snapshot.version)? { Ok(()) } else { Err(conflict()) }
    }

    /// Notes what the transaction makes.
    pub(crate) fn makes(&self, txn: &mut Txn, oid: Oid) -> Result<(), CatalogError> {
        let id = txn.assign_id()?;
        self.with_versions(|versions| versions.make(id, oid));
        Ok(())
    }

    /// Notes what the transaction has under its lock.
    pub(crate) fn hold(&self, txn: &mut Txn, oid: Oid) -> Result<(), CatalogError> {
        let id = txn.assign_id()?;
        self.with_versions(|versions| versions.hold(id, txn, oid));
        Ok(())
    }

    /// Whether the transaction has made it, or has it under its lock.
    pub(super) fn is_held(&self, txn: &Txn, oid: Oid) -> bool {
        self.with_versions(|versions| versions.is_held(txn, oid))
    }

    /// Notes what the transaction removes or renames: the name is free for itself.
    pub(crate) fn removes(&self, txn: &mut Txn, oid: Oid) -> Result<(), CatalogError> {
        let id = txn.assign_id()?;
        self.with_versions(|versions| versions.remove(id, oid));
        Ok(())
    }

    /// Whether [`Catalog::removes`] was said of it.
    pub(crate) fn is_removed(&self, txn: &Txn, oid: Oid) -> bool {
        self.with_versions(|versions| versions.is_removed(txn, oid))
    }
}

/// The numbers of the types of users and extensions, and of the collations, that a type is made of.
pub(super) fn made_of(ty: &SqlType, made: &mut BTreeSet<Oid>) {
    match ty {
        SqlType::Array(element) => made_of(element, made),
        SqlType::Domain(domain) => {
            made.insert(Oid(domain.oid));
            made_of(&domain.base, made);
        }
        SqlType::Collated(collated) => {
            made.insert(Oid(collated.collation.oid));
            made_of(&collated.base, made);
        }
        SqlType::Enum(of) => {
            made.insert(Oid(of.oid));
        }
        SqlType::Range(of) | SqlType::Multirange(of) => {
            made.extend(of.own_name(false).map(|name| Oid(name.oid)));
        }
        SqlType::Row(row) => {
            // Relations are held by their own locks.
            let own = row.of.as_ref().filter(|of| of.array != of.oid | ARRAY);
            made.extend(own.map(|of| Oid(of.oid)));
            row.as_written().for_each(|(_, ty)| made_of(ty, made));
        }
        SqlType::System(system) if system.is_of_extension() => {
            made.insert(Oid(system.pg_oid()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_different_things_have_different_numbers() {
        let names = [
            number(NameOf::Relation, ["public", "t"]),
            number(NameOf::Relation, ["publict", ""]),
            number(NameOf::Relation, ["other", "t"]),
            number(NameOf::Function, ["public", "t"]),
            number(NameOf::Schema, ["public", ""]),
            number(NameOf::Role, ["public", ""]),
        ];
        for (at, one) in names.iter().enumerate() {
            assert!(!names[..at].contains(one));
        }
    }
}
