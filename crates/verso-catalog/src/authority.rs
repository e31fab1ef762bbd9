//! Roles, memberships, owners, lists of rights and policies, as one version of the catalog has them.
//!
//! A1. A superuser may everything. Others have the rights of PUBLIC, their own, and those of the roles whose rights they
//!     inherit, directly or not.
//! A2. What is owned by [`OWNER_OID`] is not noted.
//! A3. Roles with fixed numbers (`pg_read_all_data` and its relatives) are in every database and have no rows.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::definition::Oid;
use crate::initial_rights;
use crate::needs::Need;
use crate::rights::{Acl, Object, Rights, RightsOf};
use crate::role::Role;
use crate::shared_map::SharedMap;
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::stored::StoredCondition;
use crate::system::OWNER_OID;

/// Roles that every database has, with PostgreSQL's numbers.
const PREDEFINED: [(u32, &str); 12] = [
    (DATABASE_OWNER.0, "pg_database_owner"),
    (READ_ALL_DATA.0, "pg_read_all_data"),
    (WRITE_ALL_DATA.0, "pg_write_all_data"),
    (3373, "pg_monitor"),
    (3374, "pg_read_all_settings"),
    (READ_ALL_STATS.0, "pg_read_all_stats"),
    (3377, "pg_stat_scan_tables"),
    (READ_FILES.0, "pg_read_server_files"),
    (WRITE_FILES.0, "pg_write_server_files"),
    (SIGNAL_BACKEND.0, "pg_signal_backend"),
    (CHECKPOINT.0, "pg_checkpoint"),
    (MAINTAIN.0, "pg_maintain"),
];

/// Its one member is the owner of the database.
pub const DATABASE_OWNER: Oid = Oid(6171);
/// May read all tables.
pub const READ_ALL_DATA: Oid = Oid(6181);
/// May change the rows of all tables.
pub const WRITE_ALL_DATA: Oid = Oid(6182);
/// May see what other sessions do.
pub const READ_ALL_STATS: Oid = Oid(3375);
/// `pg_read_all_settings`.
pub const READ_ALL_SETTINGS: Oid = Oid(3374);
/// May read files where the database is.
pub const READ_FILES: Oid = Oid(4569);
/// May write them.
pub const WRITE_FILES: Oid = Oid(4570);
/// May cancel other sessions.
pub const SIGNAL_BACKEND: Oid = Oid(4200);
/// May run CHECKPOINT.
pub const CHECKPOINT: Oid = Oid(4544);
/// May run the statements of maintenance on all tables.
pub const MAINTAIN: Oid = Oid(6337);

/// That a role is a member of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Its row in `pg_auth_members`.
    pub oid: Oid,
    /// The role that has members.
    pub role: Oid,
    /// The member.
    pub member: Oid,
    /// Who said so.
    pub grantor: Oid,
    /// May the member grant it to others?
    pub admin: bool,
    /// Does it have the role's rights without being asked?
    pub inherit: bool,
    /// May it SET ROLE to it?
    pub set: bool,
}

/// What becomes of the rights on what a role makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultAcl {
    /// Its row in `pg_default_acl`.
    pub oid: Oid,
    /// The role that makes it.
    pub role: Oid,
    /// In this schema only, where these are added; 0 for all, where they stand for those of the system.
    pub schema: Oid,
    /// What.
    pub kind: RightsOf,
    /// The rights.
    pub acl: Acl,
}

/// Which commands a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "commands by their names")]
pub enum PolicyFor {
    All,
    Select,
    Insert,
    Update,
    Delete,
}

impl PolicyFor {
    /// The command as SQL spells it.
    pub fn name(self) -> &'static str {
        match self {
            PolicyFor::All => "ALL",
            PolicyFor::Select => "SELECT",
            PolicyFor::Insert => "INSERT",
            PolicyFor::Update => "UPDATE",
            PolicyFor::Delete => "DELETE",
        }
    }

    /// `pg_policy.polcmd`.
    pub fn letter(self) -> char {
        match self {
            PolicyFor::All => '*',
            PolicyFor::Select => 'r',
            PolicyFor::Insert => 'a',
            PolicyFor::Update => 'w',
            PolicyFor::Delete => 'd',
        }
    }

    /// The same backwards.
    pub fn of_letter(letter: char) -> Option<PolicyFor> {
        use PolicyFor as F;
        [F::All, F::Select, F::Insert, F::Update, F::Delete].into_iter().find(|one| one.letter() == letter)
    }
}

/// A policy: which rows of a table some roles see and may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDef {
    /// Its row in `pg_policy`.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// The table.
    pub table: Oid,
    /// For which commands.
    pub command: PolicyFor,
    /// One of which one has to hold; else one that has to hold in any case.
    pub permissive: bool,
    /// For which roles; 0 is PUBLIC.
    pub roles: Vec<Oid>,
    /// USING.
    pub using: Option<StoredCondition>,
    /// WITH CHECK.
    pub check: Option<StoredCondition>,
}

impl PolicyDef {
    /// Its conditions.
    pub fn conditions(&self) -> impl Iterator<Item = &StoredCondition> {
        self.using.iter().chain(&self.check)
    }

    /// What new rows have to keep.
    pub fn demanded(&self) -> Option<&StoredCondition> {
        self.check.as_ref().or(self.using.as_ref())
    }

    /// What they need, but for its table.
    pub fn needs(&self) -> BTreeSet<Need> {
        self.conditions().flat_map(|condition| condition.needs(self.table)).collect()
    }
}

/// Settings for a role: in which database, 0 for all; the role; `name=value`.
pub(crate) type RoleSettings = (Oid, Oid, Vec<Arc<str>>);

/// Roles, memberships, owners, rights and policies.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Authority {
    pub(crate) roles: SharedMap<Oid, Arc<Role>>,
    pub(crate) names: SharedMap<Arc<str>, Oid>,
    pub(crate) members: Arc<Vec<Membership>>,
    pub(crate) owners: SharedMap<Object, Oid>,
    /// By the number of the object; columns stand beside their relation.
    pub(crate) acls: SharedMap<(Oid, Object), Arc<Acl>>,
    pub(crate) defaults: Arc<Vec<DefaultAcl>>,
    /// By table, those of one by name.
    pub(crate) policies: SharedMap<Oid, Vec<Arc<PolicyDef>>>,
    /// The same by their own numbers.
    pub(crate) policies_by_oid: SharedMap<Oid, Arc<PolicyDef>>,
    /// Tables for which row security was said: whether it is on, and whether it then holds for their owners, too.
    pub(crate) secured: SharedMap<Oid, (bool, bool)>,
    /// Settings for roles: in all databases (0) or in this one, and for whom.
    pub(crate) settings: Arc<Vec<RoleSettings>>,
}

impl Authority {
    fn add_role(&mut self, role: Role) {
        self.names.insert(Arc::clone(&role.name), role.oid);
        self.roles.insert(role.oid, Arc::new(role));
    }

    /// Forgets whose the object of that number is, and who may do what with it; yields the policies that it had.
    pub(crate) fn remove(&mut self, oid: Oid) -> Vec<Arc<PolicyDef>> {
        use Object as O;
        for object in [O::Relation(oid), O::Schema(oid), O::Function(oid), O::Type(oid), O::Language(oid)] {
            self.owners.remove(&object);
        }
        if O::Database.key().1 == oid {
            self.owners.remove(&O::Database);
        }
        let listed = self.acls.from(|(known, _)| *known < oid);
        let listed: Vec<_> = listed.map(|(key, _)| *key).take_while(|(known, _)| *known == oid).collect();
        listed.iter().for_each(|key| drop(self.acls.remove(key)));
        self.secured.remove(&oid);
        let policies = self.policies.remove(&oid).unwrap_or_default();
        policies.iter().for_each(|policy| drop(self.policies_by_oid.remove(&policy.oid)));
        policies
    }

    /// Sets roles and memberships, in place of those known; whose the database is is known.
    pub(crate) fn set_roles(&mut self, roles: Vec<Role>, members: Vec<Membership>) {
        (self.roles, self.names) = Default::default();
        roles.into_iter().for_each(|role| self.add_role(role));
        self.members = Arc::new(members);
        self.add_predefined();
    }

    fn add_predefined(&mut self) {
        for (oid, name) in PREDEFINED {
            self.add_role(Role::plain(Oid(oid), name.into()));
        }
        let database = self.owners.get(&Object::Database).copied().unwrap_or(OWNER_OID);
        let members = Arc::make_mut(&mut self.members);
        let monitored = [3374, READ_ALL_STATS.0, 3377].map(|role| (Oid(role), Oid(3373)));
        for (role, member) in monitored.into_iter().chain([(DATABASE_OWNER, database)]) {
            let (oid, grantor) = (Oid(0), OWNER_OID);
            members.push(Membership { oid, role, member, grantor, admin: false, inherit: true, set: true });
        }
    }

    /// Every role that `member` is a member of by way of memberships that count, and itself.
    fn reached(&self, member: Oid, counts: impl Fn(&Membership) -> bool) -> Vec<Oid> {
        let mut reached = vec![member];
        let mut next = 0;
        while let Some(role) = reached.get(next).copied() {
            next += 1;
            for one in self.members.iter().filter(|one| one.member == role && counts(one)) {
                if !reached.contains(&one.role) {
                    reached.push(one.role);
                }
            }
        }
        reached
    }
}

impl CatalogSnapshot {
    fn authority(&self) -> &Authority {
        &self.contents().authority
    }

    /// The role whose rights count, where they are limited at all: none for the owner of the database.
    pub fn acting_role(&self) -> Option<Oid> {
        self.search_path().role()
    }

    /// Whether policies decide which rows of a table the acting role sees.
    pub fn is_hidden_by_policies(&self, table: Oid) -> bool {
        self.acting_role().is_some_and(|role| self.is_secured_for(table, role))
    }

    /// Whether errors may show the acting role values of these columns of a table: it may read all of them, and all rows.
    pub fn may_show(&self, table: Oid, columns: &[u16]) -> bool {
        let Some(role) = self.acting_role() else { return true };
        !self.is_secured_for(table, role) && self.may_columns(role, table, Rights::SELECT, columns)
    }

    /// The role of that name.
    pub fn role_named(&self, name: &str) -> Option<&Arc<Role>> {
        self.role_by_oid(*self.authority().names.get(name)?)
    }

    /// The role of that number.
    pub fn role_by_oid(&self, oid: Oid) -> Option<&Arc<Role>> {
        self.authority().roles.get(&oid)
    }

    /// Every role, by name.
    pub fn all_roles(&self) -> impl Iterator<Item = &Arc<Role>> {
        self.authority().names.values().filter_map(|oid| self.role_by_oid(*oid))
    }

    /// Every membership.
    pub fn memberships(&self) -> &[Membership] {
        &self.authority().members
    }

    /// Whether a role may everything.
    pub fn is_superuser(&self, role: Oid) -> bool {
        role == OWNER_OID || self.role_by_oid(role).is_some_and(|role| role.superuser)
    }

    /// Whether `role` has the rights of `other` without SET ROLE.
    pub fn inherits(&self, role: Oid, other: Oid) -> bool {
        role == other
            || self.is_superuser(role)
            || self.authority().reached(role, |one| one.inherit).contains(&other)
    }

    /// Whether `role` is a member of `other`, whatever that is good for.
    pub fn is_member(&self, role: Oid, other: Oid) -> bool {
        role == other || self.is_superuser(role) || self.authority().reached(role, |_| true).contains(&other)
    }

    /// The same, superusers being no exception.
    pub fn is_really_member(&self, role: Oid, other: Oid) -> bool {
        self.authority().reached(role, |_| true).contains(&other)
    }

    /// Whether `role` may SET ROLE to `other`.
    pub fn may_become(&self, role: Oid, other: Oid) -> bool {
        role == other
            || self.is_superuser(role)
            || self.authority().reached(role, |one| one.set).contains(&other)
    }

    /// Whether `role` may grant membership in `other`.
    pub fn administers(&self, role: Oid, other: Oid) -> bool {
        if self.is_superuser(role) {
            return true;
        }
        let own = self.authority().reached(role, |one| one.inherit);
        self.memberships().iter().any(|one| one.role == other && one.admin && own.contains(&one.member))
    }

    /// The role that membership in `other` is granted by when `role` grants it: itself, or one whose rights it has, with the ADMIN
    /// option.
    pub fn admin_of(&self, role: Oid, other: Oid) -> Option<Oid> {
        let own = self.authority().reached(role, |one| one.inherit);
        let is_admin = |who: &Oid| {
            self.memberships().iter().any(|one| one.role == other && one.admin && one.member == *who)
        };
        std::iter::once(role).chain(own).find(is_admin)
    }

    /// Whether a role has the ADMIN option on `other` by grants that do not come from `member`.
    pub fn is_admin_without(&self, admin: Oid, other: Oid, member: Oid) -> bool {
        let mut admins = vec![OWNER_OID];
        let mut next = 0;
        while let Some(grantor) = admins.get(next).copied() {
            next += 1;
            for one in self.memberships() {
                let counts = one.role == other && one.admin && one.grantor == grantor && one.member != member;
                if counts && !admins.contains(&one.member) {
                    admins.push(one.member);
                }
            }
        }
        admins.contains(&admin)
    }

    /// Whose an object is.
    pub fn owner_of(&self, object: Object) -> Oid {
        let object = match object {
            Object::Column(table, _) => Object::Relation(table),
            Object::Relation(oid) => match self.relation_by_oid(oid) {
                Some(Relation::Index(index)) => Object::Relation(index.table),
                // A column's sequence is whose its table is, also where it came later.
                Some(Relation::Sequence(sequence)) if let Some(owner) = &sequence.owned_by => {
                    Object::Relation(owner.table)
                }
                _ => object,
            },
            object => object,
        };
        if let Object::Schema(PUBLIC_SCHEMA) = object {
            return self.authority().owners.get(&object).copied().unwrap_or(DATABASE_OWNER);
        }
        self.authority().owners.get(&object).copied().unwrap_or(OWNER_OID)
    }

    /// Every owner that is not the database's, with what it owns.
    pub fn owned(&self) -> impl Iterator<Item = (Object, Oid)> {
        self.authority().owners.iter().map(|(object, owner)| (*object, *owner))
    }

    /// Whether `role` may do what owners may.
    pub fn owns(&self, role: Oid, object: Object) -> bool {
        self.inherits(role, self.owner_of(object))
    }

    /// What kind of rights an object has.
    pub fn rights_kind(&self, object: Object) -> RightsOf {
        match object {
            Object::Relation(oid) => match self.relation_by_oid(oid) {
                Some(Relation::Sequence(_)) => RightsOf::Sequence,
                _ => RightsOf::Table,
            },
            Object::Column(..) => RightsOf::Column,
            Object::Schema(_) => RightsOf::Schema,
            Object::Function(_) => RightsOf::Function,
            Object::Type(_) => RightsOf::Type,
            Object::Language(_) => RightsOf::Language,
            Object::Database => RightsOf::Database,
            Object::Parameter(_) => RightsOf::Parameter,
            Object::Tablespace(_) => RightsOf::Tablespace,
        }
    }

    /// The list of rights that an object has of its own.
    pub fn own_acl(&self, object: Object) -> Option<Arc<Acl>> {
        match self.authority().acls.get(&(object.key().1, object)) {
            Some(acl) => Some(Arc::clone(acl)),
            None => self.initial_acl(object).map(Arc::new),
        }
    }

    /// The list that something of the system has of its own from the beginning.
    pub fn initial_acl(&self, object: Object) -> Option<Acl> {
        let schema = |owner: Oid| {
            let mut acl = Acl::default_of(RightsOf::Schema, owner);
            acl.grant(crate::rights::PUBLIC_ROLE, owner, Rights::USAGE, false);
            Some(acl)
        };
        match object {
            Object::Schema(PUBLIC_SCHEMA) => schema(self.owner_of(object)),
            Object::Schema(oid) if oid.is_system() => schema(OWNER_OID),
            Object::Relation(oid) => initial_rights::of_relation(oid),
            Object::Function(oid) => initial_rights::of_function(oid),
            _ => None,
        }
    }

    /// The rights on an object, be they its own or the default ones.
    pub fn acl(&self, object: Object) -> Cow<'_, Acl> {
        match self.own_acl(object) {
            Some(acl) => Cow::Owned((*acl).clone()),
            None => Cow::Owned(Acl::default_of(self.rights_kind(object), self.owner_of(object))),
        }
    }

    /// Every list that was made by GRANT or REVOKE, with its object.
    pub fn acls(&self) -> impl Iterator<Item = (Object, &Arc<Acl>)> {
        self.authority().acls.iter().map(|((_, object), acl)| (*object, acl))
    }

    /// The rights that a role has on an object.
    pub fn rights(&self, role: Oid, object: Object) -> Rights {
        if self.is_superuser(role) {
            return Rights::ALL;
        }
        let own = self.authority().reached(role, |one| one.inherit);
        let acl = self.acl(object);
        let mut rights = acl.rights(|grantee| own.contains(&grantee));
        let reads = own.contains(&READ_ALL_DATA);
        let writes = own.contains(&WRITE_ALL_DATA);
        match object {
            Object::Relation(oid) | Object::Column(oid, _) => {
                if reads && !initial_rights::is_secret(oid) {
                    rights = rights.with(Rights::SELECT);
                }
                if writes && !oid.is_system() {
                    rights = rights.with(Rights::INSERT).with(Rights::UPDATE).with(Rights::DELETE);
                }
                if own.contains(&MAINTAIN) {
                    rights = rights.with(Rights::MAINTAIN);
                }
            }
            Object::Schema(_) if reads || writes => rights = rights.with(Rights::USAGE),
            _ => {}
        }
        // A session's own temporary schema is its own.
        if let (Object::Schema(oid), Some(temporary)) = (object, self.search_path().temporary())
            && self.schema(temporary).is_some_and(|schema| schema.oid == oid)
        {
            rights = rights.with(Rights::USAGE).with(Rights::CREATE);
        }
        rights
    }

    /// What a role may hand on: everything, of what it owns.
    pub fn grantable(&self, role: Oid, object: Object) -> Rights {
        if self.owns(role, object) {
            return self.rights_kind(object).all();
        }
        let own = self.authority().reached(role, |one| one.inherit);
        self.acl(object).grantable(|grantee| own.contains(&grantee))
    }

    /// Who grants, where `role` says GRANT: the owner, or one of the roles whose rights it has; and what that may grant.
    pub fn best_grantor(&self, role: Oid, object: Object, wanted: Rights) -> (Oid, Rights) {
        let owner = self.owner_of(object);
        if self.inherits(role, owner) {
            return (owner, self.rights_kind(object).all());
        }
        let acl = self.acl(object);
        let mut best = (role, Rights::NONE);
        for own in self.authority().reached(role, |one| one.inherit) {
            let may = acl.grantable_by(own).among(wanted);
            if may.0.count_ones() > best.1.0.count_ones() {
                best = (own, may);
            }
        }
        best
    }

    /// Whether a role may all of this with all of these columns of a relation, be it by rights on the whole of it or on each
    /// of them; without columns: with any of them.
    pub fn may_columns(&self, role: Oid, relation: Oid, wanted: Rights, columns: &[u16]) -> bool {
        let missing = wanted.without(self.rights(role, Object::Relation(relation)));
        if missing.is_empty() {
            return true;
        }
        let may = |column: u16| self.rights(role, Object::Column(relation, column)).has(missing);
        if !self.has_column_rights(relation) {
            return false;
        }
        match columns {
            [] => self.column_ids(relation).into_iter().any(may),
            columns => columns.iter().all(|column| may(*column)),
        }
    }

    fn has_column_rights(&self, relation: Oid) -> bool {
        let listed = self.authority().acls.from(|(known, _)| *known < relation);
        listed
            .map(|((_, object), _)| *object)
            .take_while(|object| object.key().1 == relation)
            .any(|object| matches!(object, Object::Column(..)))
    }

    fn column_ids(&self, relation: Oid) -> Vec<u16> {
        match self.relation_by_oid(relation) {
            Some(Relation::Table(table)) => table.columns.iter().map(|column| column.id).collect(),
            Some(Relation::View(view)) => view.columns.iter().map(|column| column.id).collect(),
            _ => Vec::new(),
        }
    }

    /// The roles of users to which the object of this number belongs, or gives rights, or that its policies name.
    pub(crate) fn roles_named_by(&self, oid: Oid) -> BTreeSet<Oid> {
        let mut roles = BTreeSet::new();
        let columns = self.column_ids(oid).into_iter().map(|column| Object::Column(oid, column));
        let kinds = [Object::Relation(oid), Object::Schema(oid), Object::Function(oid), Object::Type(oid)];
        for object in kinds.into_iter().chain(columns) {
            roles.insert(self.owner_of(object));
            roles.extend(self.own_acl(object).iter().flat_map(|acl| acl.roles().collect::<Vec<_>>()));
        }
        roles.extend(self.policies(oid).iter().flat_map(|policy| policy.roles.iter().copied()));
        roles.retain(|role| !role.is_system());
        roles
    }

    /// What ALTER DEFAULT PRIVILEGES has said.
    pub fn default_acls(&self) -> &[DefaultAcl] {
        &self.authority().defaults
    }

    /// The list that something gets which a role makes in a schema; none for the system's.
    pub fn acl_for_new(&self, role: Oid, schema: Option<Oid>, kind: RightsOf) -> Option<Acl> {
        let said = |schema: Oid| {
            let fits = |one: &&DefaultAcl| one.role == role && one.schema == schema && one.kind == kind;
            self.default_acls().iter().find(fits)
        };
        let (everywhere, here) = (said(Oid(0)), schema.and_then(said));
        if everywhere.is_none() && here.is_none() {
            return None;
        }
        let system = Acl::default_of(kind, role);
        let mut acl = everywhere.map_or_else(|| system.clone(), |one| one.acl.clone());
        for item in here.iter().flat_map(|one| &one.acl.0) {
            acl.grant(item.grantee, item.grantor, item.rights, false);
            if !item.grantable.is_empty() {
                acl.grant(item.grantee, item.grantor, item.grantable, true);
            }
        }
        (acl != system).then_some(acl)
    }

    /// The policies of a table, by name.
    pub fn policies(&self, table: Oid) -> &[Arc<PolicyDef>] {
        self.authority().policies.get(&table).map_or(&[], Vec::as_slice)
    }

    /// The policy of that number.
    pub fn policy_by_oid(&self, oid: Oid) -> Option<&Arc<PolicyDef>> {
        self.authority().policies_by_oid.get(&oid)
    }

    /// Every policy.
    pub fn all_policies(&self) -> impl Iterator<Item = &Arc<PolicyDef>> {
        self.authority().policies.values().flatten()
    }

    /// Whether a table has row security, and whether that holds for its owner, too.
    pub fn row_security(&self, table: Oid) -> (bool, bool) {
        self.authority().secured.get(&table).copied().unwrap_or_default()
    }

    /// Whether policies decide which rows of a table a role sees.
    pub fn is_secured_for(&self, table: Oid, role: Oid) -> bool {
        let (enabled, forced) = self.row_security(table);
        if !enabled || self.is_superuser(role) || self.role_by_oid(role).is_some_and(|role| role.bypass_rls) {
            return false;
        }
        forced || !self.owns(role, Object::Relation(table))
    }

    /// The settings kept for roles: database (0 for all), role (0 for all, in all databases), `name=value`.
    pub fn kept_settings(&self) -> &[(Oid, Oid, Vec<Arc<str>>)] {
        &self.authority().settings
    }
}

/// `pg_namespace.oid` of `public`.
const PUBLIC_SCHEMA: Oid = crate::system::PUBLIC_OID;
