//! Memberships, owners, rights, policies and the settings of roles, as statements.
//!
//! Rights are granted anew by those who had granted them: the owner's first, then what roles had handed on, for which the restore
//! takes their role.

use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{
    Acl, CatalogSnapshot, ColumnDef, OWNER_ROLE, Object, Oid, PolicyDef, Relation, RelationId, Rights,
    RightsOf, is_temporary,
};
use verso_types::SqlType;

use super::needs::Finder;
use super::parts::{literal, name, qualified, setting_value, step};
use crate::archive::contents::{Kind, Step};

/// Everybody, in a list of rights and among the roles of a policy.
const PUBLIC: Oid = Oid(0);

/// The columns of `pg_policy` that have USING and WITH CHECK: how they are spelled is noted under these.
pub(super) const CONDITIONS: [&str; 2] = ["polqual", "polwithcheck"];

/// Everything that is said of roles and rights, once all objects are there.
pub(super) fn rights_steps(catalog: &CatalogSnapshot, finder: &Finder) -> Vec<Step> {
    let maker = Maker { catalog, finder };
    let mut texts = maker.memberships();
    texts.extend(maker.owners());
    texts.extend(maker.policies());
    texts.extend(maker.rights());
    texts.extend(maker.default_rights());
    texts.extend(maker.settings());
    texts.into_iter().map(|text| step(Kind::Rights, text)).collect()
}

struct Maker<'c> {
    catalog: &'c CatalogSnapshot,
    finder: &'c Finder,
}

impl Maker<'_> {
    fn role(&self, oid: Oid) -> Option<String> {
        match oid {
            PUBLIC => Some("PUBLIC".to_owned()),
            _ => self.catalog.role_by_oid(oid).map(|role| name(&role.name)),
        }
    }

    fn memberships(&self) -> Vec<String> {
        // Those of the system have no row.
        let own = self.catalog.memberships().iter().filter(|one| one.oid != Oid(0));
        let text = |one: &verso_catalog::Membership| {
            let by = match one.grantor {
                OWNER_ROLE => String::new(),
                grantor => self.role(grantor).map_or_else(String::new, |role| format!(" GRANTED BY {role}")),
            };
            Some(format!(
                "GRANT {} TO {} WITH ADMIN {}, INHERIT {}, SET {}{by}",
                self.role(one.role)?,
                self.role(one.member)?,
                one.admin,
                one.inherit,
                one.set
            ))
        };
        own.filter_map(text).collect()
    }

    /// What an object is called behind ALTER and ON; none for what is not restored.
    fn object(&self, object: Object) -> Option<(&'static str, String)> {
        let catalog = self.catalog;
        Some(match object {
            Object::Relation(oid) | Object::Column(oid, _) => {
                let relation = catalog.relation_by_oid(oid)?;
                if is_temporary(relation.schema()) {
                    return None;
                }
                let word = match relation {
                    Relation::Table(table) if table.materialized.is_some() => "MATERIALIZED VIEW",
                    Relation::Table(_) => "TABLE",
                    Relation::View(_) => "VIEW",
                    Relation::Sequence(sequence) if sequence.owned_by.is_some() => "OWNED SEQUENCE",
                    Relation::Sequence(_) => "SEQUENCE",
                    Relation::Index(_) => return None,
                };
                (word, qualified(relation.schema(), relation.name()))
            }
            Object::Schema(oid) => {
                let schema = catalog.schemas().find(|schema| schema.oid == oid)?;
                if is_temporary(&schema.name) {
                    return None;
                }
                ("SCHEMA", name(&schema.name))
            }
            Object::Function(oid) => {
                let function = catalog.function_by_oid(oid)?;
                let word = if function.is_procedure() { "PROCEDURE" } else { "FUNCTION" };
                let types: Vec<String> =
                    function.inputs().map(|arg| arg.ty.without_modifiers().to_string()).collect();
                (word, format!("{}({})", qualified(&function.schema, &function.name), types.join(", ")))
            }
            Object::Type(oid) => {
                let known = catalog.user_type(oid)?;
                let word = if matches!(known.ty, SqlType::Domain(_)) { "DOMAIN" } else { "TYPE" };
                (word, qualified(&known.schema, &known.name))
            }
            Object::Language(Oid(14)) => ("LANGUAGE", "sql".to_owned()),
            Object::Language(verso_catalog::rights::PLPGSQL) => ("LANGUAGE", "plpgsql".to_owned()),
            Object::Language(_) => return None,
            Object::Database => ("DATABASE", name("verso")),
            // What the session knows of.
            Object::Parameter(_) | Object::Tablespace(_) => return None,
        })
    }

    fn owners(&self) -> Vec<String> {
        let mut owned: Vec<(Object, Oid)> = self.catalog.owned().collect();
        owned.sort_unstable();
        let text = |(object, owner): (Object, Oid)| {
            let (word, place) = self.object(object)?;
            // A schema is made with its owner; a sequence of a column goes with its table.
            if matches!(word, "SCHEMA" | "OWNED SEQUENCE") {
                return None;
            }
            Some(format!("ALTER {word} {place} OWNER TO {}", self.role(owner)?))
        };
        let mut texts: Vec<String> = owned.into_iter().filter_map(text).collect();
        for one in self.catalog.collations() {
            let place = qualified(&one.collation.schema, &one.collation.name);
            let owner = self.role(one.owner).filter(|_| one.owner != OWNER_ROLE);
            texts.extend(owner.map(|owner| format!("ALTER COLLATION {place} OWNER TO {owner}")));
        }
        let statistics = self.catalog.tables().flat_map(|table| &table.extended);
        let mut statistics: Vec<_> = statistics.filter(|one| !is_temporary(&one.schema)).collect();
        statistics.sort_by_key(|one| (&one.schema, &one.name));
        for one in statistics {
            let place = qualified(&one.schema, &one.name);
            let owner = self.role(one.owner).filter(|_| one.owner != OWNER_ROLE);
            texts.extend(owner.map(|owner| format!("ALTER STATISTICS {place} OWNER TO {owner}")));
        }
        for one in self.catalog.operators().iter().filter(|one| !is_temporary(&one.schema)) {
            let owner = self.role(one.owner).filter(|_| one.owner != OWNER_ROLE);
            let named = owner.zip(super::made::operator_name(self.catalog, one));
            texts.extend(named.map(|(owner, place)| format!("ALTER OPERATOR {place} OWNER TO {owner}")));
        }
        texts
    }

    fn policies(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let mut policies: Vec<_> = self.catalog.all_policies().collect();
        policies.sort_by_key(|policy| (policy.table, policy.name.clone()));
        texts.extend(policies.iter().filter_map(|policy| self.policy(policy)));
        texts.extend(policies.iter().filter_map(|policy| self.comment(policy)));
        let mut tables: Vec<_> = self.catalog.tables().filter(|table| !table.is_system()).collect();
        tables.sort_by_key(|table| table.oid);
        for table in tables {
            let Some((_, place)) = self.object(Object::Relation(table.oid)) else { continue };
            let (enabled, forced) = self.catalog.row_security(table.oid);
            if enabled {
                texts.push(format!("ALTER TABLE {place} ENABLE ROW LEVEL SECURITY"));
            }
            if forced {
                texts.push(format!("ALTER TABLE {place} FORCE ROW LEVEL SECURITY"));
            }
        }
        texts
    }

    fn policy(&self, policy: &PolicyDef) -> Option<String> {
        let (_, place) = self.object(Object::Relation(policy.table))?;
        let roles: Option<Vec<String>> = policy.roles.iter().map(|role| self.role(*role)).collect();
        let command = policy.command.name();
        let kind = if policy.permissive { "PERMISSIVE" } else { "RESTRICTIVE" };
        let mut text = format!(
            "CREATE POLICY {} ON {place} AS {kind} FOR {command} TO {}",
            name(&policy.name),
            roles?.join(", ")
        );
        let conditions = [("USING", &policy.using), ("WITH CHECK", &policy.check)];
        for ((word, condition), column) in conditions.into_iter().zip(CONDITIONS) {
            if condition.is_some() {
                text.push_str(&format!(" {word} ({})", self.finder.text(policy.oid, column)));
            }
        }
        Some(text)
    }

    fn comment(&self, policy: &PolicyDef) -> Option<String> {
        let class = RelationId::find(PG_CATALOG, "pg_policy")?.get().oid;
        let mut comments = self.catalog.comments_on(policy.oid);
        let (_, text) = comments.find(|((of, ..), _)| *of == class)?;
        let (_, place) = self.object(Object::Relation(policy.table))?;
        Some(format!("COMMENT ON POLICY {} ON {place} IS {}", name(&policy.name), literal(text)))
    }

    /// The lists of objects that have one of their own.
    fn rights(&self) -> Vec<String> {
        let mut lists: Vec<_> = self.catalog.acls().collect();
        lists.sort_by_key(|(object, _)| *object);
        let mut texts: Vec<(usize, String)> =
            lists.into_iter().flat_map(|(object, acl)| self.rights_of(object, acl)).collect();
        // Who hands on needs what it hands on, and what leads to it.
        texts.sort_by_key(|(depth, _)| *depth);
        texts.into_iter().map(|(_, text)| text).collect()
    }

    /// The statements for an object's list, and through how many hands what they grant has gone.
    fn rights_of(&self, object: Object, acl: &Acl) -> Vec<(usize, String)> {
        let of_system = || verso_session::system_object(object).map(|(word, _, place)| (word, place));
        let Some((word, place)) = of_system().or_else(|| self.object(object)) else { return Vec::new() };
        let word = match word {
            "VIEW" | "MATERIALIZED VIEW" => "TABLE",
            "OWNED SEQUENCE" => "SEQUENCE",
            "DOMAIN" => "TYPE",
            word => word,
        };
        let column = match object {
            Object::Column(oid, id) => {
                let columns: &[ColumnDef] = match self.catalog.relation_by_oid(oid) {
                    Some(Relation::Table(table)) => table.shown(),
                    Some(Relation::View(view)) => &view.columns,
                    _ => return Vec::new(),
                };
                let Some(column) = columns.iter().find(|column| column.id == id) else { return Vec::new() };
                Some(name(&column.name))
            }
            _ => None,
        };
        let (kind, owner) = (self.catalog.rights_kind(object), self.catalog.owner_of(object));
        let mut texts = Vec::new();
        if column.is_none() {
            let initial = self.catalog.initial_acl(object);
            let default = initial.unwrap_or_else(|| Acl::default_of(kind, owner));
            for item in &default.0 {
                texts.extend(
                    self.role(item.grantee)
                        .map(|role| (0, format!("REVOKE ALL ON {word} {place} FROM {role}"))),
                );
            }
        }
        for (depth, grantor, items) in by_grantor(acl, owner) {
            let grants = self.grants(&items, kind, column.as_deref(), &format!("{word} {place}"));
            let role = (depth > 0).then(|| self.role(grantor)).flatten();
            // One text, which leaves no role behind.
            let as_role = |grant: String| match &role {
                Some(role) => format!("SET ROLE {role}; {grant}; RESET ROLE"),
                None => grant,
            };
            texts.extend(grants.into_iter().map(|grant| (depth, as_role(grant))));
        }
        texts
    }

    /// What a list says, as GRANT of the kind's rights on something.
    fn grants(&self, acl: &Acl, kind: RightsOf, column: Option<&str>, place: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for item in &acl.0 {
            let Some(role) = self.role(item.grantee) else { continue };
            for (rights, option) in
                [(item.rights.without(item.grantable), ""), (item.grantable, " WITH GRANT OPTION")]
            {
                let text = rights_text(rights, kind, column);
                if !text.is_empty() {
                    texts.push(format!("GRANT {text} ON {place} TO {role}{option}"));
                }
            }
        }
        texts
    }

    /// ALTER DEFAULT PRIVILEGES.
    fn default_rights(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for default in self.catalog.default_acls() {
            let Some(role) = self.role(default.role) else { continue };
            let schema = self.catalog.schemas().find(|schema| schema.oid == default.schema);
            let within =
                schema.map_or_else(String::new, |schema| format!(" IN SCHEMA {}", name(&schema.name)));
            let what = match default.kind {
                RightsOf::Table => "TABLES",
                RightsOf::Sequence => "SEQUENCES",
                RightsOf::Function => "FUNCTIONS",
                RightsOf::Type => "TYPES",
                RightsOf::Schema => "SCHEMAS",
                RightsOf::Column
                | RightsOf::Language
                | RightsOf::Database
                | RightsOf::Parameter
                | RightsOf::Tablespace => continue,
            };
            let head = format!("ALTER DEFAULT PRIVILEGES FOR ROLE {role}{within}");
            if schema.is_none() {
                for item in Acl::default_of(default.kind, default.role).0 {
                    let Some(role) = self.role(item.grantee) else { continue };
                    texts.push(format!("{head} REVOKE ALL ON {what} FROM {role}"));
                }
            }
            let grants = self.grants(&default.acl, default.kind, None, what);
            texts.extend(grants.into_iter().map(|grant| format!("{head} {grant}")));
        }
        texts
    }

    /// ALTER ROLE … SET.
    fn settings(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for (database, role, settings) in self.catalog.kept_settings() {
            let role = match (*role, self.catalog.role_by_oid(*role)) {
                (Oid(0), _) if *database == Oid(0) => "ALL".to_owned(),
                (_, Some(role)) => name(&role.name),
                (_, None) => continue,
            };
            let within = if *database == Oid(0) { "" } else { " IN DATABASE verso" };
            for (setting, value) in settings.iter().filter_map(|setting| setting.split_once('=')) {
                let value = setting_value(setting, value);
                texts.push(format!("ALTER ROLE {role}{within} SET {setting} = {value}"));
            }
        }
        texts
    }
}

/// Rights by their names; of a column with its name behind each.
fn rights_text(rights: Rights, kind: RightsOf, column: Option<&str>) -> String {
    if column.is_none() && rights == kind.all() {
        return "ALL".to_owned();
    }
    let text = |(_, _, right): (Rights, char, &str)| match column {
        Some(column) => format!("{right} ({column})"),
        None => right.to_owned(),
    };
    rights.each().map(text).collect::<Vec<_>>().join(", ")
}

/// The items of a list by who granted them, the owner's first, each grantor behind those from whom it has its rights.
fn by_grantor(acl: &Acl, owner: Oid) -> Vec<(usize, Oid, Acl)> {
    let mut known: Vec<(Oid, usize)> = vec![(owner, 0)];
    let mut groups: Vec<(usize, Oid, Acl)> = Vec::new();
    let mut next = 0;
    while let Some((grantor, depth)) = known.get(next).copied() {
        next += 1;
        let items: Vec<_> = acl.0.iter().filter(|item| item.grantor == grantor).cloned().collect();
        for item in items.iter().filter(|item| !item.grantable.is_empty()) {
            if known.iter().all(|(one, _)| *one != item.grantee) {
                known.push((item.grantee, depth + 1));
            }
        }
        if !items.is_empty() {
            groups.push((depth, grantor, Acl(items)));
        }
    }
    // What nobody who is reached had granted comes from the owner.
    let left: Vec<_> =
        acl.0.iter().filter(|item| known.iter().all(|(one, _)| *one != item.grantor)).cloned().collect();
    groups.extend((!left.is_empty()).then_some((0, owner, Acl(left))));
    groups
}
