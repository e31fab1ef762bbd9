//! Rows of `pg_shdepend`: which roles own objects, have rights on them, or are named in their policies.

use verso_catalog::{CatalogSnapshot, Object, Oid, Relation};
use verso_types::Value;

use super::{letter, number, oid};
use crate::views::Views;

/// The numbers of `pg_authid`, `pg_default_acl` and `pg_policy`.
const ROLES: u32 = 1260;
const DEFAULT_ACL: u32 = 826;
const POLICY: u32 = 3256;

/// The rows of `pg_shdepend`. As in PostgreSQL roles that every database has are left out.
pub(super) fn shared_depends(views: &Views<'_>, catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let own = number(views.services.instance.member.number());
    let mut rows = Vec::new();
    let mut add = |(class, object, part): (Oid, Oid, i32), role: Oid, kind: char| {
        if role.is_system() {
            return;
        }
        let (database, object) = match object == verso_catalog::rights::DATABASE_OID {
            true => (number(0), own.clone()),
            false => (own.clone(), oid(object)),
        };
        let part = Value::Int4(part);
        rows.push(vec![database, oid(class), object, part, number(ROLES), oid(role), letter(kind)]);
    };
    for object in objects(catalog) {
        let (owner, key) = (catalog.owner_of(object), object.key());
        if key.2 == 0 {
            add(key, owner, 'o');
        }
        let acl = catalog.own_acl(object);
        let items = acl.iter().flat_map(|acl| &acl.0);
        let mut named: Vec<Oid> = items.flat_map(|item| [item.grantee, item.grantor]).collect();
        named.sort_unstable();
        named.dedup();
        named.into_iter().filter(|role| *role != owner).for_each(|role| add(key, role, 'a'));
    }
    for policy in catalog.all_policies() {
        policy.roles.iter().for_each(|role| add((Oid(POLICY), policy.oid, 0), *role, 'r'));
    }
    for given in catalog.default_acls() {
        let key = (Oid(DEFAULT_ACL), given.oid, 0);
        add(key, given.role, 'o');
        let mut named: Vec<Oid> = given.acl.0.iter().map(|item| item.grantee).collect();
        named.sort_unstable();
        named.dedup();
        named.into_iter().filter(|role| *role != given.role).for_each(|role| add(key, role, 'a'));
    }
    rows
}

/// What has an owner and a list of rights.
fn objects(catalog: &CatalogSnapshot) -> Vec<Object> {
    let mut all = vec![Object::Database];
    all.extend(catalog.schemas().map(|schema| Object::Schema(schema.oid)));
    all.extend(catalog.all_functions().map(|function| Object::Function(function.oid)));
    all.extend(catalog.types().map(|ty| Object::Type(ty.oid)));
    for relation in catalog.relations().filter(|relation| !relation.oid().is_system()) {
        let columns = match relation {
            Relation::Table(table) => table.shown(),
            Relation::View(view) => view.columns.as_slice(),
            Relation::Sequence(_) => &[],
            Relation::Index(_) => continue,
        };
        all.push(Object::Relation(relation.oid()));
        all.extend(columns.iter().map(|column| Object::Column(relation.oid(), column.id)));
    }
    // Of what the system has that of which GRANT or REVOKE has said something.
    let is_of_system = |object: &Object| object.key().1.is_system() && !all.contains(object);
    let listed: Vec<Object> = catalog.acls().map(|(object, _)| object).filter(is_of_system).collect();
    all.extend(listed);
    all
}
