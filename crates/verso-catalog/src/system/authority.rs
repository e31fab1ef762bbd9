//! Rows to roles, owners, rights and policies.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::OWNER_OID;
use super::assemble::CatalogRows;
use super::row::{DbRoleSettingRow, PolicyRow};
use crate::authority::{DefaultAcl, Membership, PolicyDef, PolicyFor};
use crate::damage::Flaws;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::rights::{Acl, Object, RightsOf};
use crate::role::role;
use crate::snapshot::SnapshotBuilder;
use crate::stored::StoredCondition;

/// Adds what the rows say of who may do what; nothing is known yet of what they are about. Where that cannot be read, nobody but
/// the owner may do anything, and the object is damaged.
pub(crate) fn add(builder: &mut SnapshotBuilder, rows: &mut CatalogRows, flaws: &Flaws) {
    let policies = policies(std::mem::take(&mut rows.policies), flaws);
    let all = builder.authority_mut();
    let classes = rows.classes.iter().map(|row| (Object::Relation(row.oid), row.relowner));
    let schemas = rows.namespaces.iter().map(|row| (Object::Schema(row.oid), row.nspowner));
    let functions = rows.functions.iter().map(|row| (Object::Function(row.oid), row.proowner));
    let types = rows.types.iter().map(|row| (Object::Type(row.oid), row.typowner));
    let owned = classes.chain(schemas).chain(functions).chain(types);
    all.owners.extend(owned.filter(|(_, owner)| *owner != OWNER_OID));
    for row in std::mem::take(&mut rows.acls) {
        let key = (row.classoid, row.objoid, row.objsubid);
        let Some(object) = Object::of_key(key) else {
            flaws.note(row.objoid, "there are rights on it as on something else");
            continue;
        };
        if row.owner.0 != 0 {
            all.owners.insert(object, row.owner);
        }
        if let Some(texts) = &row.acl {
            let acl = Acl::of_texts(texts).unwrap_or_else(|| {
                flaws.note(row.objoid, "its list of rights is none");
                Acl::default()
            });
            all.acls.insert((object.key().1, object), Arc::new(acl));
        }
    }
    if let Some((roles, members)) = rows.roles.take() {
        let members = members.into_iter().map(|row| Membership {
            oid: row.oid,
            role: row.roleid,
            member: row.member,
            grantor: row.grantor,
            admin: row.admin_option,
            inherit: row.inherit_option,
            set: row.set_option,
        });
        all.set_roles(roles.into_iter().map(role).collect(), members.collect());
    }
    if let Some(rows) = rows.default_acls.take() {
        let mut defaults = Vec::new();
        for row in rows {
            let kind = RightsOf::of_letter(row.defaclobjtype.0);
            let (Some(kind), Some(acl)) = (kind, Acl::of_texts(&row.defaclacl)) else {
                flaws.note(row.oid, "default rights that are none");
                continue;
            };
            let (role, schema) = (row.defaclrole, row.defaclnamespace);
            defaults.push(DefaultAcl { oid: row.oid, role, schema, kind, acl });
        }
        all.defaults = Arc::new(defaults);
    }
    let flags = rows.classes.iter().map(|row| (row.oid, (row.relrowsecurity, row.relforcerowsecurity)));
    all.secured.extend(flags.filter(|(_, flags)| *flags != (false, false)));
    if let Some(rows) = rows.settings.take() {
        // ALTER ROLE ALL is of role 0 in database 0; those of the database are read by themselves
        let of_roles = rows.into_iter().filter(|row| row.setrole.0 != 0 || row.setdatabase.0 == 0);
        let setting =
            |row: DbRoleSettingRow| (row.setdatabase, row.setrole, row.setconfig.unwrap_or_default());
        all.settings = Arc::new(of_roles.map(setting).collect());
    }
    builder.add_policies(policies);
}

/// The policies of each table, by name. One that cannot be read is none: its table is damaged, so that it hides nothing less.
fn policies(rows: Vec<PolicyRow>, flaws: &Flaws) -> BTreeMap<Oid, Vec<Arc<PolicyDef>>> {
    let mut policies: BTreeMap<Oid, Vec<Arc<PolicyDef>>> = BTreeMap::new();
    for row in rows {
        let (table, name) = (row.polrelid, Arc::clone(&row.polname.0));
        match policy(row) {
            Ok(policy) => policies.entry(table).or_default().push(Arc::new(policy)),
            Err(error) => flaws.note(table, format!("policy \"{name}\": {error}")),
        }
    }
    policies.values_mut().for_each(|all| all.sort_by(|a, b| a.name.cmp(&b.name)));
    policies
}

fn policy(row: PolicyRow) -> Result<PolicyDef, CatalogError> {
    let command = PolicyFor::of_letter(row.polcmd.0);
    let corrupt = || CatalogError::Corrupt { what: "it is for no command".to_owned() };
    let condition = |written: &Option<Arc<str>>| written.as_ref().map(StoredCondition::read).transpose();
    Ok(PolicyDef {
        oid: row.oid,
        command: command.ok_or_else(corrupt)?,
        using: condition(&row.polqual)?,
        check: condition(&row.polwithcheck)?,
        name: row.polname.0,
        table: row.polrelid,
        permissive: row.polpermissive,
        roles: row.polroles,
    })
}
