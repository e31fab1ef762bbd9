//! Rows to roles, owners, rights and policies.

use std::sync::Arc;

use super::OWNER_OID;
use super::assemble::CatalogRows;
use crate::authority::{Authority, DefaultAcl, Membership, PolicyDef, PolicyFor};
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::rights::{Acl, Object, RightsOf};
use crate::role::role;

/// What the rows say of who may do what.
pub(crate) fn authority(rows: &mut CatalogRows) -> Result<Authority, CatalogError> {
    let corrupt = |what: &str, oid: Oid| CatalogError::Corrupt { what: format!("{what} {oid} is none") };
    let mut all = Authority::default();
    std::mem::take(&mut rows.roles).into_iter().for_each(|row| all.add_role(role(row)));
    let classes = rows.classes.iter().map(|row| (Object::Relation(row.oid), row.relowner));
    let schemas = rows.namespaces.iter().map(|row| (Object::Schema(row.oid), row.nspowner));
    let functions = rows.functions.iter().map(|row| (Object::Function(row.oid), row.proowner));
    let types = rows.types.iter().map(|row| (Object::Type(row.oid), row.typowner));
    let owned = classes.chain(schemas).chain(functions).chain(types);
    all.owners.extend(owned.filter(|(_, owner)| *owner != OWNER_OID));
    for row in std::mem::take(&mut rows.acls) {
        let key = (row.classoid, row.objoid, row.objsubid);
        let object = Object::of_key(key).ok_or_else(|| corrupt("an object of rights", row.objoid))?;
        if row.owner.0 != 0 {
            all.owners.insert(object, row.owner);
        }
        if let Some(texts) = &row.acl {
            let acl = Acl::of_texts(texts).ok_or_else(|| corrupt("a list of rights of", row.objoid))?;
            all.acls.insert(object, Arc::new(acl));
        }
    }
    all.members.extend(std::mem::take(&mut rows.members).into_iter().map(|row| Membership {
        oid: row.oid,
        role: row.roleid,
        member: row.member,
        grantor: row.grantor,
        admin: row.admin_option,
        inherit: row.inherit_option,
        set: row.set_option,
    }));
    all.add_predefined();
    for row in std::mem::take(&mut rows.default_acls) {
        let kind = RightsOf::of_letter(row.defaclobjtype.0);
        let kind = kind.ok_or_else(|| corrupt("a kind of default rights", row.oid))?;
        let acl =
            Acl::of_texts(&row.defaclacl).ok_or_else(|| corrupt("a list of default rights", row.oid))?;
        let (role, schema) = (row.defaclrole, row.defaclnamespace);
        all.defaults.push(DefaultAcl { oid: row.oid, role, schema, kind, acl });
    }
    for row in std::mem::take(&mut rows.policies) {
        let command =
            PolicyFor::of_letter(row.polcmd.0).ok_or_else(|| corrupt("a policy's command", row.oid))?;
        let policy = PolicyDef {
            oid: row.oid,
            name: row.polname.0,
            table: row.polrelid,
            command,
            permissive: row.polpermissive,
            roles: row.polroles,
            using: row.polqual,
            check: row.polwithcheck,
        };
        all.policies.entry(policy.table).or_default().push(Arc::new(policy));
    }
    all.policies.values_mut().for_each(|all| all.sort_by(|a, b| a.name.cmp(&b.name)));
    let flags = rows.classes.iter().map(|row| (row.oid, (row.relrowsecurity, row.relforcerowsecurity)));
    all.secured.extend(flags.filter(|(_, flags)| *flags != (false, false)));
    for row in std::mem::take(&mut rows.settings) {
        if row.setrole.0 != 0 {
            all.settings.push((row.setdatabase, row.setrole, row.setconfig.unwrap_or_default()));
        }
    }
    Ok(all)
}
