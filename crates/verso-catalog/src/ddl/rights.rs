//! Owners, lists of rights, memberships.
//!
//! What is changed has its name locked ([`NameOf::Rights`]) and is then the newest: two GRANTs on one object follow each other.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;

use super::claim::NameOf;
use crate::authority::Membership;
use crate::catalog::Catalog;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::rights::{Acl, Object, RightsOf};
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::store::Of;
use crate::system::field::Letter;
use crate::system::row::{
    AclRow, AuthMemberRow, ClassRow, DbRoleSettingRow, DefaultAclRow, NamespaceRow, ProcRow, TypeRow,
};

/// What GRANT or REVOKE of a role changes; what is not said stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipChange {
    /// GRANT.
    Grant {
        /// ADMIN.
        admin: Option<bool>,
        /// INHERIT.
        inherit: Option<bool>,
        /// SET.
        set: Option<bool>,
    },
    /// REVOKE: of it all, or of an option.
    Revoke {
        /// ADMIN OPTION FOR.
        admin: bool,
        /// INHERIT OPTION FOR.
        inherit: bool,
        /// SET OPTION FOR.
        set: bool,
    },
}

impl Catalog {
    /// Locks what is said of an object's rights, which the snapshot then knows.
    fn lock_rights(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        object: Object,
    ) -> Result<(), CatalogError> {
        let (class, oid, column) = object.key();
        self.lock_name(txn, NameOf::Rights, [&format!("{class} {oid}"), &column.to_string()])?;
        self.check_newest(txn, snapshot)
    }

    /// Gives an object a list of rights; without one it has the default ones again.
    ///
    /// # Errors
    /// Storage's, of which `Conflict` says that another transaction changed the schema first.
    pub fn set_acl(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        object: Object,
        acl: Option<&Acl>,
    ) -> Result<(), CatalogError> {
        self.lock_rights(txn, snapshot, object)?;
        self.change(txn, |txn| self.write_acl(txn, object, acl))
    }

    /// The same of something that the transaction has just made.
    ///
    /// # Errors
    /// Storage's.
    pub fn write_new_acl(&self, txn: &mut Txn, object: Object, acl: &Acl) -> Result<(), CatalogError> {
        self.change(txn, |txn| self.write_acl(txn, object, Some(acl)))
    }

    /// Gives the sequence of a column that a table gets the rights that were said for what the table's owner makes in its
    /// schema; the change has begun.
    pub(super) fn rights_of_owned(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        (table, schema): (Oid, Oid),
        sequence: Oid,
    ) -> Result<(), CatalogError> {
        let owner = snapshot.owner_of(Object::Relation(table));
        match snapshot.acl_for_new(owner, Some(schema), RightsOf::Sequence) {
            Some(acl) => self.write_acl(txn, Object::Relation(sequence), Some(&acl)),
            None => Ok(()),
        }
    }

    fn write_acl(&self, txn: &mut Txn, object: Object, acl: Option<&Acl>) -> Result<(), CatalogError> {
        let key = object.key();
        let is_it = |row: &AclRow| (row.classoid, row.objoid, row.objsubid) == key;
        let texts = acl.map(Acl::texts);
        if self.update_rows(txn, key.1, is_it, |row| row.acl.clone_from(&texts))? == 0 {
            let (classoid, objoid, objsubid) = key;
            let row = AclRow { classoid, objoid, objsubid, owner: Oid(0), acl: texts };
            self.insert_rows(txn, &[row])?;
        }
        Ok(())
    }

    /// Gives objects to a role, with what belongs to them: the sequences of a table's columns. Their rights name the new
    /// owner where they named the old one.
    ///
    /// # Errors
    /// Storage's.
    pub fn set_owner(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        objects: &[Object],
        owner: Oid,
    ) -> Result<(), CatalogError> {
        let mut all: Vec<Object> = Vec::new();
        for object in objects {
            all.push(*object);
            if let Object::Relation(table) = object {
                let own = snapshot.sequences_of(*table).into_iter();
                all.extend(own.map(|sequence| Object::Relation(sequence.oid)));
                if let Some(Relation::Table(table)) = snapshot.relation_by_oid(*table) {
                    all.extend(table.all_indexes().map(|index| Object::Relation(index.oid)));
                }
            }
        }
        self.change(txn, |txn| {
            let numbers: BTreeSet<Oid> = all.iter().map(|object| object.key().1).collect();
            let is = |object: Object| all.contains(&object);
            self.update_rows(
                txn,
                &numbers,
                |row: &ClassRow| is(Object::Relation(row.oid)),
                |row| row.relowner = owner,
            )?;
            self.update_rows(
                txn,
                &numbers,
                |row: &NamespaceRow| is(Object::Schema(row.oid)),
                |row| row.nspowner = owner,
            )?;
            self.update_rows(
                txn,
                &numbers,
                |row: &ProcRow| is(Object::Function(row.oid)),
                |row| row.proowner = owner,
            )?;
            self.update_rows(
                txn,
                &numbers,
                |row: &TypeRow| is(Object::Type(row.oid)),
                |row| row.typowner = owner,
            )?;
            if is(Object::Database) {
                self.write_database_owner(txn, owner)?;
            }
            let of_table = |object: Object| match object {
                Object::Column(table, _) => Object::Relation(table),
                other => other,
            };
            for (object, acl) in snapshot.acls().filter(|(object, _)| is(of_table(*object))) {
                let acl = acl.with_owner(snapshot.owner_of(object), owner);
                self.write_acl(txn, object, Some(&acl))?;
            }
            Ok(())
        })
    }

    fn write_database_owner(&self, txn: &mut Txn, owner: Oid) -> Result<(), CatalogError> {
        let (classoid, objoid, objsubid) = Object::Database.key();
        let is_it = |row: &AclRow| (row.classoid, row.objoid) == (classoid, objoid);
        if self.update_rows(txn, objoid, is_it, |row| row.owner = owner)? == 0 {
            self.insert_rows(txn, &[AclRow { classoid, objoid, objsubid, owner, acl: None }])?;
        }
        Ok(())
    }

    /// Says what rights things get that a role makes, in one schema or (0) in all of them; none takes that back.
    ///
    /// # Errors
    /// Storage's.
    pub fn set_default_acl(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        of: (Oid, Oid, RightsOf),
        acl: Option<&Acl>,
    ) -> Result<(), CatalogError> {
        let (role, schema, kind) = of;
        self.lock_name(
            txn,
            NameOf::Rights,
            [&format!("default {role} {schema}"), &kind.letter().to_string()],
        )?;
        let named = acl.into_iter().flat_map(Acl::roles).chain([role]);
        named.into_iter().try_for_each(|role| self.hold_role(txn, role))?;
        self.check_newest(txn, snapshot)?;
        let oid = self.new_oid()?;
        self.change(txn, |txn| {
            let is_it = |row: &DefaultAclRow| {
                (row.defaclrole, row.defaclnamespace, row.defaclobjtype.0) == (role, schema, kind.letter())
            };
            self.delete_rows(txn, Of::All, is_it)?;
            let Some(acl) = acl else { return Ok(()) };
            let row = DefaultAclRow {
                oid,
                defaclrole: role,
                defaclnamespace: schema,
                defaclobjtype: Letter(kind.letter()),
                defaclacl: acl.texts(),
            };
            self.insert_rows(txn, &[row])
        })
    }

    /// Makes a role a member of another, or changes that; `false` if there was nothing to change.
    ///
    /// # Errors
    /// Storage's.
    pub fn change_membership(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        (role, member, grantor): (Oid, Oid, Oid),
        change: MembershipChange,
    ) -> Result<bool, CatalogError> {
        self.lock_name(txn, NameOf::Rights, [&format!("member {role} {member}"), ""])?;
        [role, member, grantor].into_iter().try_for_each(|role| self.hold_role(txn, role))?;
        self.check_newest(txn, snapshot)?;
        let fits = |one: &&Membership| one.role == role && one.member == member && one.grantor == grantor;
        let known = snapshot.memberships().iter().find(fits);
        let is_it =
            |row: &AuthMemberRow| row.roleid == role && row.member == member && row.grantor == grantor;
        match (change, known) {
            (MembershipChange::Grant { admin, inherit, set }, None) => {
                let inherits = snapshot.role_by_oid(member).is_none_or(|role| role.inherit);
                let row = AuthMemberRow {
                    oid: self.new_oid()?,
                    roleid: role,
                    member,
                    grantor,
                    admin_option: admin.unwrap_or(false),
                    inherit_option: inherit.unwrap_or(inherits),
                    set_option: set.unwrap_or(true),
                };
                self.change(txn, |txn| self.insert_rows(txn, &[row]))?;
            }
            (MembershipChange::Grant { admin, inherit, set }, Some(known)) => {
                let same = |wanted: Option<bool>, is: bool| wanted.is_none_or(|wanted| wanted == is);
                if same(admin, known.admin) && same(inherit, known.inherit) && same(set, known.set) {
                    return Ok(false);
                }
                self.change(txn, |txn| {
                    let change = |row: &mut AuthMemberRow| {
                        row.admin_option = admin.unwrap_or(row.admin_option);
                        row.inherit_option = inherit.unwrap_or(row.inherit_option);
                        row.set_option = set.unwrap_or(row.set_option);
                    };
                    self.update_rows(txn, Of::All, is_it, change)
                })?;
            }
            (MembershipChange::Revoke { .. }, None) => return Ok(false),
            (MembershipChange::Revoke { admin: false, inherit: false, set: false }, Some(_)) => {
                self.change(txn, |txn| self.delete_rows(txn, Of::All, is_it))?;
            }
            (MembershipChange::Revoke { admin, inherit, set }, Some(_)) => {
                self.change(txn, |txn| {
                    let change = |row: &mut AuthMemberRow| {
                        row.admin_option &= !admin;
                        row.inherit_option &= !inherit;
                        row.set_option &= !set;
                    };
                    self.update_rows(txn, Of::All, is_it, change)
                })?;
            }
        }
        Ok(true)
    }

    /// Takes away what is said of a role that goes: memberships, settings. The change has begun.
    pub(crate) fn remove_role_rows(&self, txn: &mut Txn, role: Oid) -> Result<(), CatalogError> {
        self.delete_rows(txn, Of::All, |row: &AuthMemberRow| row.roleid == role || row.member == role)?;
        self.delete_rows(txn, Of::All, |row: &DbRoleSettingRow| row.setrole == role).map(drop)
    }

    /// Keeps a setting for a role, in this database (`here`) or in all; without a value it is not kept any more, without a
    /// name none is.
    ///
    /// # Errors
    /// Storage's.
    pub fn set_role_setting(
        &self,
        txn: &mut Txn,
        role: Oid,
        here: bool,
        name: Option<&str>,
        value: Option<&str>,
    ) -> Result<(), CatalogError> {
        let database = if here { crate::setting::DATABASE } else { Oid(0) };
        self.lock_name(txn, NameOf::Rights, [&format!("setting {role}"), ""])?;
        self.change(txn, |txn| {
            let is_it = |row: &DbRoleSettingRow| row.setrole == role && row.setdatabase == database;
            let rows = self.delete_rows(txn, Of::All, is_it)?;
            let Some(name) = name else { return Ok(()) };
            let known = rows.into_iter().flat_map(|row| row.setconfig.unwrap_or_default());
            let others = known.filter(|one| one.split_once('=').is_none_or(|(known, _)| known != name));
            let new = value.map(|value| Arc::from(format!("{name}={value}")));
            let kept: Vec<Arc<str>> = others.chain(new).collect();
            if kept.is_empty() {
                return Ok(());
            }
            let row = DbRoleSettingRow { setdatabase: database, setrole: role, setconfig: Some(kept) };
            self.insert_rows(txn, &[row])
        })
    }
}
