//! GRANT and REVOKE of roles: who is a member of which, and who may say so.

use verso_catalog::authority::DATABASE_OWNER;
use verso_catalog::{CatalogSnapshot, Membership, MembershipChange, OWNER_ROLE, Oid};

use super::Schema;
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use crate::frame::Frame;
use verso_parser::syntax::{GrantRole, RoleName};
use verso_planner::errors::{SqlError, sqlstate};

/// The grants of a role, as member and grantor, that nobody stands for any more when a member has lost it, or its ADMIN option.
fn granted_on(catalog: &CatalogSnapshot, role: Oid, member: Oid, grantor: Oid) -> Vec<(Oid, Oid)> {
    let all: Vec<&Membership> = catalog.memberships().iter().filter(|one| one.role == role).collect();
    let first = all.iter().position(|one| one.member == member && one.grantor == grantor);
    // Who owns the database grants without being a member.
    let Some(first) = first.filter(|_| member != OWNER_ROLE) else { return Vec::new() };
    let mut gone = vec![false; all.len()];
    let mut next = vec![first];
    let mut along = Vec::new();
    while let Some(at) = next.pop() {
        if std::mem::replace(&mut gone[at], true) {
            continue;
        }
        let of = all[at].member;
        if at != first {
            along.push((of, all[at].grantor));
        }
        let stays = all.iter().enumerate().any(|(other, one)| !gone[other] && one.member == of && one.admin);
        if !stays {
            next.extend((0..all.len()).filter(|other| !gone[*other] && all[*other].grantor == of));
        }
    }
    along
}

/// Refuses members of the role of the database's owner but the owner, who is one without being said to be.
pub(super) fn check_owners(role: Oid, member: Oid) -> Result<(), SqlError> {
    let refusal = match (role, member) {
        (DATABASE_OWNER, _) => "cannot have explicit members",
        (_, DATABASE_OWNER) => "cannot be a member of any role",
        _ => return Ok(()),
    };
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("role \"pg_database_owner\" {refusal}")))
}

impl Schema<'_> {
    /// GRANT, REVOKE of roles.
    pub(super) fn grant_role(&self, grant: &GrantRole) -> Result<CommandTag, Failure> {
        for name in &grant.roles {
            let role = self.role_called(&name.text)?;
            for member in &grant.to {
                let member = match member {
                    RoleName::Named(name) if name.text == "public" => {
                        return Err(
                            SqlError::syntax("role specification \"PUBLIC\" is not allowed here").into()
                        );
                    }
                    member => self.role_number(member)?,
                };
                self.grant_one_role(grant, role, member)?;
            }
        }
        Ok(tag(match grant.revoke {
            _ if grant.group => "ALTER ROLE",
            true => "REVOKE ROLE",
            false => "GRANT ROLE",
        }))
    }

    fn grant_one_role(&self, grant: &GrantRole, role: Oid, member: Oid) -> Result<(), Failure> {
        let (shown, of_member) = (self.role_text(role), self.role_text(member));
        self.frame.inside(|frame| {
            let catalog = frame.catalog;
            self.may_administer(role, if grant.revoke { "revoke" } else { "grant" })?;
            let grantor = match &grant.by {
                Some(by) => self.grantor_named(by, role, grant.revoke)?,
                // Superusers grant as the first of them.
                None => self.limited().and_then(|own| catalog.admin_of(own, role)).unwrap_or(OWNER_ROLE),
            };
            if !grant.revoke
                && grant.admin == Some(true)
                && !catalog.is_admin_without(grantor, role, member)
                && !catalog.is_superuser(grantor)
            {
                let text = "ADMIN option cannot be granted back to your own grantor";
                return Err(SqlError::new("0LP01", text).into());
            }
            if !grant.revoke {
                check_owners(role, member)?;
            }
            if !grant.revoke && (role == member || catalog.is_really_member(role, member)) {
                let text = format!("role \"{shown}\" is a member of role \"{of_member}\"");
                return Err(SqlError::new("0LP01", text).into());
            }
            let change = match grant.revoke {
                false => {
                    MembershipChange::Grant { admin: grant.admin, inherit: grant.inherit, set: grant.set }
                }
                true => MembershipChange::Revoke {
                    admin: grant.admin.is_some(),
                    inherit: grant.inherit.is_some(),
                    set: grant.set.is_some(),
                },
            };
            if grant.revoke && (grant.admin.is_some() || grant.inherit.is_none() && grant.set.is_none()) {
                let along = granted_on(catalog, role, member, grantor);
                if !along.is_empty() && !grant.cascade {
                    return Err(SqlError::new("2BP01", "dependent privileges exist")
                        .with_hint("Use CASCADE to revoke them too.")
                        .into());
                }
                let change = MembershipChange::Revoke { admin: false, inherit: false, set: false };
                for (member, grantor) in along {
                    frame.inside(|frame| {
                        let txn = &mut frame.txn.borrow_mut();
                        let store = &frame.services.instance.catalog;
                        Ok(store.change_membership(txn, frame.catalog, (role, member, grantor), change)?)
                    })?;
                }
            }
            frame.inside(|frame| self.change_role(frame, grant, (role, member, grantor), change))
        })
    }

    /// The role in GRANTED BY: one whose rights the session's role has, and that may grant itself. Superusers may, as the owner of
    /// the database does, so that a dump goes in whose superuser had another name.
    fn grantor_named(&self, by: &RoleName, role: Oid, revoke: bool) -> Result<Oid, SqlError> {
        let catalog = self.frame.catalog;
        let grantor = self.role_number(by)?;
        let shown = self.role_text(grantor);
        let (text, doing) = match revoke {
            false => ("grant privileges as role", "grant privileges as this role"),
            true => ("revoke privileges granted by role", "revoke privileges granted by this role"),
        };
        let refused = || {
            let text = format!("permission denied to {text} \"{shown}\"");
            SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text)
        };
        if self.limited().is_some_and(|own| !catalog.inherits(own, grantor)) {
            let detail = format!("Only roles with privileges of role \"{shown}\" may {doing}.");
            return Err(refused().with_detail(detail));
        }
        let may = revoke || catalog.is_superuser(grantor) || catalog.admin_of(grantor, role) == Some(grantor);
        if !may {
            let of = self.role_text(role);
            return Err(
                refused().with_detail(format!("The grantor must have the ADMIN option on role \"{of}\"."))
            );
        }
        Ok(grantor)
    }

    /// Grants a role or revokes it, when all is in order.
    fn change_role(
        &self,
        frame: &Frame<'_>,
        grant: &GrantRole,
        (role, member, grantor): (Oid, Oid, Oid),
        change: MembershipChange,
    ) -> Result<(), Failure> {
        let (shown, of_member, catalog) = (self.role_text(role), self.role_text(member), frame.catalog);
        let store = &frame.services.instance.catalog;
        let changed =
            store.change_membership(&mut frame.txn.borrow_mut(), catalog, (role, member, grantor), change)?;
        if !changed && grant.revoke {
            let text = format!(
                "role \"{of_member}\" has not been granted membership in role \"{shown}\" by role \"{}\"",
                self.role_text(grantor)
            );
            frame.services.notices.warn("01000", &text);
        } else if !changed {
            let text = format!(
                "role \"{of_member}\" has already been granted membership in role \"{shown}\" by role \"{}\"",
                self.role_text(grantor)
            );
            self.skip(text);
        }
        Ok(())
    }

    /// Refuses a role that the session's may not grant to others.
    pub(super) fn may_administer(&self, role: Oid, doing: &str) -> Result<(), SqlError> {
        let Some(own) = self.limited() else { return Ok(()) };
        let catalog = self.frame.catalog;
        let shown = self.role_text(role);
        let text = format!("permission denied to {doing} role \"{shown}\"");
        let refused = SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text);
        if catalog.is_superuser(role) {
            let detail = format!(
                "Only roles with the SUPERUSER attribute may {doing} roles with the SUPERUSER attribute."
            );
            return Err(refused.with_detail(detail));
        }
        if catalog.administers(own, role) {
            return Ok(());
        }
        Err(refused.with_detail(format!(
            "Only roles with the ADMIN option on role \"{shown}\" may {doing} this role."
        )))
    }
}
