//! What definitions name stays while their transaction is under way, and who drops something looks at all that names it (L6 in
//! [`super::claim`]).
//!
//! ```text
//! CREATE VIEW v AS … t …    writes v ─► holds t, weakly ─► t is still there: done
//! DROP TABLE t              locks t, strongly: waits for the other ─► v names t, which it has not seen: begins anew
//! ```
//!
//! Tables are held as who reads them holds them, everything else by its number. When they are held they have to be there in what is
//! committed then, and mean what they meant to the definition: no column, field or label has gone or become another.
//!
//! What a definition names goes by its number, and something new of the same name has another one. A definition that names what is
//! gone when it is looked at for the first time is damaged in what the transaction sees then, and cannot say what it names: that is a
//! conflict, too.
//!
//! Where what the transaction sees and what is committed differ, it has to be told whether that is the transaction's own doing. That
//! it has written rows of an object does not say so: who names an object writes rows that belong to it, too. It is, unless others
//! have touched the object whose changes only one of the two has; and what the transaction has made, has under its lock or has removed
//! is its own in any case ([`Compared`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::{TableLockMode, Txn, WaitPolicy};

use super::claim::{NameOf, conflict};
use crate::catalog::Catalog;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::versions::Touched;

impl Catalog {
    /// How many changes of the schema the transaction has announced, for [`Catalog::hold_named`].
    pub fn changes(&self, txn: &Txn) -> u64 {
        self.with_versions(|versions| versions.announced(txn))
    }

    /// A statement of the schema has ended that began in `before`, when the transaction had announced so many changes: holds what
    /// its definitions name and did not name before, and the roles that it gave something to.
    ///
    /// Costs a version of the catalog, which the next statement would make anyway, and a lock for each name.
    ///
    /// # Errors
    /// `Conflict` where something of it is gone by now: the statement is to begin anew; those of waiting; storage's.
    pub fn hold_named(
        &self,
        txn: &mut Txn,
        before: &CatalogSnapshot,
        changes: u64,
    ) -> Result<(), CatalogError> {
        let touched = self.with_versions(|versions| versions.touched_since(txn, changes));
        if touched.is_empty() {
            return Ok(());
        }
        let now = self.snapshot_now(txn)?;
        // What has just been written names what others have removed before it could be held.
        if now.has_damage() && now.has_damage_beyond(before) && self.is_behind(txn, before)? {
            return Err(conflict());
        }
        let mut own: BTreeSet<Oid> = touched
            .iter()
            .filter_map(|one| if let Touched::Object(oid) = one { Some(*oid) } else { None })
            .collect();
        if touched.iter().any(|one| matches!(one, Touched::Table(_))) {
            // Rows of operators and casts belong to nothing else.
            let operators = now.operators().iter().map(|one| one.oid);
            let new = operators.chain(now.casts().iter().map(|one| one.oid));
            own.extend(new.filter(|oid| !before.knows(*oid)));
        }
        let mut named = BTreeSet::new();
        let mut roles = BTreeSet::new();
        for oid in &own {
            let known = before.named_by(*oid);
            // What a new text means hangs on the labels and fields of types that were named before, too.
            let has_new_text = !now.texts_of(*oid).is_subset(&before.texts_of(*oid));
            let counts = |one: &Oid| !known.contains(one) || has_new_text && now.user_type(*one).is_some();
            named.extend(now.named_by(*oid).into_iter().filter(counts));
            let known = before.roles_named_by(*oid);
            roles.extend(now.roles_named_by(*oid).into_iter().filter(|one| !known.contains(one)));
        }
        // What was there before, and what others have made since then, where a part of the statement has seen that: what is made with it
        // nobody else has seen. It may have gone since then: by the transaction itself, or by what others have done, where it sees that
        // already.
        let newest = match named.iter().all(|oid| before.knows(*oid)) {
            true => None,
            false => Some(self.committed()?),
        };
        let is_of_others = |oid: Oid| newest.as_ref().is_some_and(|newest| newest.knows(oid));
        named.retain(|oid| {
            let was_there = before.knows(*oid) || is_of_others(*oid);
            was_there && (now.knows(*oid) || !self.is_removed(txn, *oid))
        });
        for oid in &named {
            if !now.knows(*oid) {
                return Err(conflict());
            }
            match now.relation_by_oid(*oid) {
                Some(Relation::Table(table)) => {
                    let mode = TableLockMode::AccessShare;
                    self.engine.lock_table(txn, table.heap, mode, WaitPolicy::Block)?;
                }
                _ => self.hold_number(txn, *oid)?,
            }
        }
        for role in &roles {
            self.hold_number(txn, *role)?;
        }
        if named.is_empty() && roles.is_empty() {
            return Ok(());
        }
        // With what the statement was bound to: it may see more by now.
        let compared = Compared::new(self, txn, before)?;
        let stays = |oid: Oid| {
            let newest = &compared.newest;
            let is_there = newest.knows(oid) || newest.role_by_oid(oid).is_some();
            is_there && before.means_the_same(oid, newest) || compared.is_own(oid)
        };
        if named.into_iter().chain(roles).all(stays) { Ok(()) } else { Err(conflict()) }
    }

    /// Whether others have changed the schema since a statement began that sees `seen`.
    ///
    /// # Errors
    /// Those of reading the catalog.
    pub fn is_behind(&self, txn: &Txn, seen: &CatalogSnapshot) -> Result<bool, CatalogError> {
        Ok(!self.is_newest(txn, seen.version)?)
    }

    /// Something of this number stays until the transaction ends.
    pub(super) fn hold_number(&self, txn: &mut Txn, oid: Oid) -> Result<(), CatalogError> {
        self.share_name(txn, NameOf::Made, &oid.0.to_string())
    }

    /// Somebody is given something, or made a member, who stays until the transaction ends.
    pub(super) fn hold_role(&self, txn: &mut Txn, role: Oid) -> Result<(), CatalogError> {
        if role.is_system() {
            return Ok(());
        }
        self.hold_number(txn, role)?;
        let is_there = self.committed()?.role_by_oid(role).is_some();
        if is_there || self.is_held(txn, role) { Ok(()) } else { Err(conflict()) }
    }

    /// A role goes, and nobody gives it anything meanwhile; `seen` is where the caller looked for what it has.
    ///
    /// # Errors
    /// `Conflict` where others have changed something since that has to do with roles, or with an object that names this one.
    pub fn claim_role(&self, txn: &mut Txn, seen: &CatalogSnapshot, role: Oid) -> Result<(), CatalogError> {
        self.lock_name(txn, NameOf::Made, [&role.0.to_string(), ""])?;
        let Some(compared) = self.compared(txn, seen)? else { return Ok(()) };
        match &compared.by_others {
            Some(by_others) if by_others.iter().all(|one| compared.is_apart(*one, role)) => Ok(()),
            _ => Err(conflict()),
        }
    }

    /// These go, and nobody makes anything that names them meanwhile; `seen` is where the caller looked for what does.
    ///
    /// # Errors
    /// `Conflict` where others name them now, or no more.
    pub(super) fn claim_gone(
        &self,
        txn: &mut Txn,
        seen: &CatalogSnapshot,
        gone: impl IntoIterator<Item = Oid>,
    ) -> Result<(), CatalogError> {
        let gone: BTreeSet<Oid> = gone.into_iter().filter(|oid| !oid.is_system()).collect();
        for oid in &gone {
            self.lock_name(txn, NameOf::Made, [&oid.0.to_string(), ""])?;
        }
        self.check_naming(txn, seen, gone)
    }

    /// `seen` beside what is committed; none where it has all of that.
    fn compared<'c>(
        &'c self,
        txn: &'c Txn,
        seen: &'c CatalogSnapshot,
    ) -> Result<Option<Compared<'c>>, CatalogError> {
        if self.is_newest(txn, seen.version)? {
            return Ok(None);
        }
        Compared::new(self, txn, seen).map(Some)
    }

    /// What names these, which the transaction has locked, is what named them in `seen`, but for its own changes.
    ///
    /// # Errors
    /// `Conflict` where it is not.
    pub(super) fn check_naming(
        &self,
        txn: &Txn,
        seen: &CatalogSnapshot,
        of: impl IntoIterator<Item = Oid>,
    ) -> Result<(), CatalogError> {
        let Some(compared) = self.compared(txn, seen)? else { return Ok(()) };
        for oid in of {
            let (then, now) = (seen.namers(oid), compared.newest.namers(oid));
            let is_own = |one: &Oid| compared.is_own(*one);
            let same_policies = seen.policies(oid) == compared.newest.policies(oid);
            if !then.symmetric_difference(&now).all(is_own) || !(same_policies || is_own(&oid)) {
                return Err(conflict());
            }
        }
        Ok(())
    }

    /// These, which the transaction has locked or which a lock of it keeps as they are, are what they were in `seen`, but for its own
    /// changes.
    ///
    /// # Errors
    /// `Conflict` where they are not.
    pub(super) fn check_same(
        &self,
        txn: &Txn,
        seen: &CatalogSnapshot,
        of: impl IntoIterator<Item = Oid>,
    ) -> Result<(), CatalogError> {
        let Some(compared) = self.compared(txn, seen)? else { return Ok(()) };
        if of.into_iter().all(|oid| compared.is_own(oid)) { Ok(()) } else { Err(conflict()) }
    }

    /// The same of a type that is locked by its number, and of all that names it.
    pub(super) fn check_made(&self, txn: &Txn, seen: &CatalogSnapshot, oid: Oid) -> Result<(), CatalogError> {
        if self.is_newest(txn, seen.version)? {
            return Ok(());
        }
        let now = self.committed()?.namers(oid);
        self.check_same(txn, seen, seen.namers(oid).into_iter().chain(now).chain([oid]))
    }
}

/// What a transaction sees beside what is committed.
struct Compared<'c> {
    catalog: &'c Catalog,
    txn: &'c Txn,
    seen: &'c CatalogSnapshot,
    newest: Arc<CatalogSnapshot>,
    /// What others have touched whose changes only one of the two has; none where that is not known.
    by_others: Option<BTreeSet<Touched>>,
}

impl<'c> Compared<'c> {
    fn new(
        catalog: &'c Catalog,
        txn: &'c Txn,
        seen: &'c CatalogSnapshot,
    ) -> Result<Compared<'c>, CatalogError> {
        let newest = catalog.committed()?;
        let by_others =
            catalog.with_versions(|versions| versions.difference_by_others(seen.version, newest.version));
        Ok(Compared { catalog, txn, seen, newest, by_others })
    }

    /// Whether it is the transaction's own doing if a definition is not the same in both.
    fn is_own(&self, oid: Oid) -> bool {
        let views = [self.seen, &*self.newest];
        // Policies are locked and written with their tables.
        let policy = views.iter().find_map(|view| view.policy_by_oid(oid));
        let oid = policy.map_or(oid, |policy| policy.table);
        if self.catalog.is_held(self.txn, oid) {
            return true;
        }
        let Some(by_others) = &self.by_others else { return false };
        let by_number = !by_others.contains(&Touched::Object(oid));
        if self.belongs(oid) {
            return by_number;
        }
        // Rows of operators, casts, collations and roles belong to nothing, so others may have touched any of them.
        let is_seen = || self.seen.knows(oid) || self.seen.role_by_oid(oid).is_some();
        let is_gone = || self.catalog.is_removed(self.txn, oid) && !is_seen();
        let untouched = || !by_others.iter().any(|one| matches!(one, Touched::Table(_)));
        by_number && (is_gone() || untouched())
    }

    /// Whether what others have touched has nothing to do with a role, then and now.
    fn is_apart(&self, touched: Touched, role: Oid) -> bool {
        let Touched::Object(oid) = touched else { return false };
        let views = [self.seen, &*self.newest];
        let has_statistics = |view: &CatalogSnapshot| {
            let table = view.table_by_oid(oid);
            table.is_some_and(|table| table.extended.iter().any(|one| one.owner == role))
        };
        let names = |view: &CatalogSnapshot| view.roles_named_by(oid).contains(&role) || has_statistics(view);
        self.belongs(oid) && !views.into_iter().any(names)
    }

    /// Whether the rows of an object belong to its number.
    fn belongs(&self, oid: Oid) -> bool {
        let views = [self.seen, &*self.newest];
        views.iter().any(|view| view.has_rows(oid) || view.schemas().any(|schema| schema.oid == oid))
    }
}
