//! The definitions of all objects as statements, in an order in which they can be run.
//!
//! ```text
//! before the rows:  roles, schemas, types, sequences, functions, tables ([`objects`])
//! after the rows:   numbers of sequences, keys, indexes, views, foreign keys, triggers, comments, settings,
//!                   owners, rights, policies
//! ```
//!
//! S1. Everything is read through the catalog of one snapshot: the one whose rows are in the archive.
//! S2. Names are written with their schema, in texts that users have written (conditions, defaults, views), too: they mean the same
//!     along every search path. What means something along a path only when it runs, such as a body given as a string, is run
//!     along the path that the database has ([`Definitions::search_path`]).
//! S3. Temporary objects belong to their session and are left out.

mod made;
mod meaning;
mod needs;
mod objects;
mod partitions;
mod parts;
mod queue;
mod rights;
pub(crate) mod schemas;
mod types;
mod view_text;

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, ColumnDef, ConstraintDef, ConstraintKind, FunctionDef, IndexDef, Oid, ReplicaIdentity,
    Role, SequenceDef, TableDef, TriggerEnabled, extension_of_type, extensions_used, is_temporary, kept,
};
use verso_storage::Engine;
use verso_types::SqlType;
use versodb::{Connection, Error, params};

use crate::archive::contents::{ColumnOf, Definitions, Kind, Step, TableOf};
use crate::error::BackupError;
use crate::references::names_objects;
use needs::Finder;
use objects::Object;
pub(crate) use partitions::left_out;
use parts::{Chosen, comments, literal, name, qualified, role_steps, setting_steps, setting_value};
use queue::Waiting;
pub(crate) use types::{labels_of, type_text};

/// For whom the statements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// For Verso: everything.
    Verso,
    /// For PostgreSQL, too: without roles, settings of the database and what only Verso has.
    Postgres,
}

/// Which objects are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Only these tables, `schema.name` or `name`; empty means everything.
    pub tables: Vec<String>,
}

impl Selection {
    pub fn is_all(&self) -> bool {
        self.tables.is_empty()
    }

    /// Whether a table is wanted.
    pub fn has(&self, schema: &str, table: &str) -> bool {
        let is_it = |wanted: &String| match wanted.split_once('.') {
            Some((in_schema, wanted)) => in_schema == schema && wanted == table,
            None => wanted == table,
        };
        self.is_all() || self.tables.iter().any(is_it)
    }

    /// The first name that no table has.
    pub fn missing<'t>(
        &'t self,
        tables: impl Iterator<Item = (&'t str, &'t str)> + Clone,
    ) -> Option<&'t str> {
        let one = |wanted: &&String| Selection { tables: vec![(*wanted).clone()] };
        let missing = |wanted: &&String| {
            let one = one(wanted);
            !tables.clone().any(|(schema, table)| one.has(schema, table))
        };
        self.tables.iter().find(missing).map(String::as_str)
    }
}

/// What the statements are made from.
pub(crate) struct Source<'s> {
    /// Reads the snapshot's catalog by SQL.
    pub connection: &'s mut Connection,
    pub catalog: &'s Arc<CatalogSnapshot>,
    pub engine: &'s Engine,
    pub roles: Vec<Role>,
    pub settings: Vec<(String, String)>,
    pub selection: &'s Selection,
    pub dialect: Dialect,
}

/// The definitions, and the tables in the order in which the archive numbers them.
pub(crate) fn definitions(
    source: &mut Source<'_>,
    schema: bool,
    data: bool,
) -> Result<(Definitions, Vec<Arc<TableDef>>), BackupError> {
    let mut tables: Vec<Arc<TableDef>> =
        source.catalog.tables().filter(|table| is_user(table)).cloned().collect();
    let names = tables.iter().map(|table| (&*table.schema, &*table.name));
    if let Some(missing) = source.selection.missing(names) {
        return Err(BackupError::Refused(format!("there is no table {missing}")));
    }
    tables.retain(|table| source.selection.has(&table.schema, &table.name));
    tables.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    // Large tables first, so that workers do not end with one of them; see the queue of pages.
    let random = &source.engine.env().random;
    let mut all = Definitions {
        verso: env!("CARGO_PKG_VERSION").to_owned(),
        id: format!("{:016x}{:016x}", random.next_u64(), random.next_u64()),
        page_bytes: u32::try_from(source.engine.space().page_size).unwrap_or_default(),
        schema,
        data,
        search_path: path_of(&source.settings),
        ..Definitions::default()
    };
    if schema {
        let mut maker = Maker::new(source);
        maker.spell(&tables)?;
        maker.spell_policies()?;
        maker.before(&tables)?;
        all.before = std::mem::take(&mut maker.steps);
        maker.after(&tables, data)?;
        all.after = maker.steps;
    } else {
        let mut maker = Maker::new(source);
        maker.values(&tables)?;
        all.after = maker.steps;
    }
    all.tables = tables.iter().map(|table| table_of(table)).collect();
    Ok((all, tables))
}

fn is_user(table: &TableDef) -> bool {
    !table.is_system() && !table.is_temporary() && table.materialized.is_none()
}

fn table_of(table: &TableDef) -> TableOf {
    let column = |column: &ColumnDef| ColumnOf {
        name: column.name.to_string(),
        ty: type_text(column.declared()),
        layout: if names_objects(&column.ty) { SqlType::Text.physical() } else { column.ty.physical() } as u8,
        named: names_objects(&column.ty),
        // A virtual column has no values in the archive.
        not_null: !column.is_virtual
            && table.column_with_id(column.id).is_some_and(|at| table.is_never_null(at)),
        generated: column.generated,
        labels: labels_of(&column.ty),
    };
    TableOf {
        schema: table.schema.to_string(),
        name: table.name.to_string(),
        columns: table.shown().iter().map(column).collect(),
    }
}

struct Maker<'m, 's> {
    source: &'m mut Source<'s>,
    steps: Vec<Step>,
    finder: Finder,
    /// Views that were made before the rows, with nothing in them.
    there: HashSet<Oid>,
    /// What waits for views.
    behind: Vec<Waiting<Object>>,
    /// Are the rows there?
    is_behind: bool,
    /// The types and collations that are made.
    made: HashSet<Oid>,
}

impl<'m, 's> Maker<'m, 's> {
    fn new(source: &'m mut Source<'s>) -> Maker<'m, 's> {
        let finder = Finder::new(source.catalog);
        Maker {
            source,
            steps: Vec::new(),
            finder,
            there: HashSet::new(),
            behind: Vec::new(),
            is_behind: false,
            made: HashSet::new(),
        }
    }

    fn add(&mut self, kind: Kind, table: Option<&TableDef>, sql: String) {
        let defines = !matches!(
            kind,
            Kind::Role | Kind::Schema | Kind::Sequence | Kind::Value | Kind::Comment | Kind::Setting
        );
        let sql = if defines { self.guarded(sql) } else { sql };
        let of = |table: &TableDef| (table.schema.to_string(), table.name.to_string());
        self.steps.push(Step { kind, table: table.map(of), other: None, sql });
    }

    /// A statement that means the same whatever users have called as built-in functions are called.
    fn guarded(&self, sql: String) -> String {
        if !self.finder.meanings.is_taken(&sql) {
            return sql;
        }
        let back = match path_of(&self.source.settings) {
            Some(path) => format!("SET search_path = {path}"),
            None => "RESET search_path".to_owned(),
        };
        // A text of a user may end with a comment.
        format!("SET search_path = '';\n{sql}\n;\n{back}")
    }

    /// Finds out how texts are spelled that name one of several functions of a name.
    fn spell(&mut self, tables: &[Arc<TableDef>]) -> Result<(), BackupError> {
        if self.finder.meanings.are_plain() {
            return Ok(());
        }
        let catalog = Arc::clone(self.source.catalog);
        let mut wanted: Vec<(Oid, Arc<str>, String)> = Vec::new();
        let default = |relation: Oid, column: u16| {
            format!(
                "pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = {relation} AND adnum = {column}"
            )
        };
        let columns = tables.iter().map(|table| (table.oid, table.shown().to_vec()));
        let views = objects::views(&catalog);
        let columns = columns.chain(views.iter().map(|view| (view.oid, view.columns.clone())));
        for (relation, columns) in columns {
            for column in &columns {
                let Some(text) = &column.default else { continue };
                wanted.push((relation, Arc::clone(text), default(relation, column.id)));
            }
        }
        for table in tables {
            for constraint in &table.constraints {
                let ConstraintKind::Check { expression } = &constraint.kind else { continue };
                let text = format!(
                    "pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE oid = {}",
                    constraint.oid
                );
                wanted.push((table.oid, Arc::clone(expression), text));
            }
            let key =
                table.columns.iter().filter(|column| column.is_hidden() && table.is_divided_by(column.id));
            let mut key = key.filter_map(|column| column.default.as_deref());
            if key.any(|text| self.finder.meanings.needs_casts(text)) {
                let spelled = self.ask("pg_get_partkeydef", table.oid)?;
                self.finder.spell(table.oid, "", spelled);
            }
        }
        for ty in catalog.types() {
            let SqlType::Domain(domain) = &ty.ty else { continue };
            for check in &domain.checks {
                let text =
                    format!("pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE oid = {}", check.oid);
                wanted.push((ty.oid, Arc::clone(&check.expression), text));
            }
            if let Some(text) = &domain.default {
                let of = format!("pg_get_expr(typdefaultbin, 0) FROM pg_type WHERE oid = {}", ty.oid);
                wanted.push((ty.oid, Arc::clone(text), of));
            }
        }
        for (owner, text, of) in wanted {
            if !self.finder.meanings.needs_casts(&text) {
                continue;
            }
            let statement = self.source.connection.prepare(&format!("SELECT {of}"))?;
            let spelled: Option<Option<String>> = statement.query_row(&[], |row| row.get(0))?;
            if let Some(spelled) = spelled.flatten() {
                self.finder.spell(owner, &text, spelled);
            }
        }
        Ok(())
    }

    /// Finds out how conditions of policies are spelled: their texts have the names that things had when they were made.
    fn spell_policies(&mut self) -> Result<(), BackupError> {
        if self.source.catalog.all_policies().next().is_none() {
            return Ok(());
        }
        for column in rights::CONDITIONS {
            let shown = format!(
                "SELECT oid::bigint, pg_get_expr({column}, polrelid) FROM pg_policy WHERE {column} IS NOT NULL"
            );
            for row in self.source.connection.query(&shown)? {
                if let Ok(oid) = u32::try_from(row.get::<i64>(0)?) {
                    self.finder.spell(Oid(oid), column, row.get(1)?);
                }
            }
        }
        Ok(())
    }

    /// The last step is about this table, too.
    fn with_other(&mut self, other: Option<&TableDef>) {
        if let Some(step) = self.steps.last_mut() {
            step.other = other.map(|other| (other.schema.to_string(), other.name.to_string()));
        }
    }

    /// What a function over the catalog says of an object.
    fn ask(&mut self, function: &str, oid: Oid) -> Result<String, BackupError> {
        let statement = self.source.connection.prepare(&format!("SELECT {function}($1)"))?;
        let text: Option<Option<String>> =
            statement.query_row(&params![i64::from(oid.0)], |row| row.get(0))?;
        text.flatten().ok_or_else(|| Error::new("XX000", format!("{function}({oid}) has no text")).into())
    }

    // ── before the rows ──────────────────────────────────────────────────────────────────────────────────────────

    fn before(&mut self, tables: &[Arc<TableDef>]) -> Result<(), BackupError> {
        let catalog = Arc::clone(self.source.catalog);
        let all = self.source.selection.is_all();
        let verso = self.source.dialect == Dialect::Verso;
        if let Some(path) = path_of(&self.source.settings).filter(|_| !verso) {
            // The schemas in it come behind.
            self.add(Kind::Schema, None, format!("SET search_path = {path}"));
        }
        if all && verso {
            self.steps.append(&mut role_steps(&self.source.roles));
        }
        let first = self.steps.len();
        self.schemas();
        let schemas = first..self.steps.len();
        // Chosen tables need those whose types they have.
        let is_needed = |extension: &str| {
            let mut columns = tables.iter().flat_map(|table| &table.columns);
            columns.any(|column| extension_of_type(column.declared()) == Some(extension))
        };
        for one in catalog.extensions().iter().filter(|one| all || is_needed(&one.name)) {
            let schema = name(&one.schema);
            let sql = format!("CREATE EXTENSION IF NOT EXISTS {} WITH SCHEMA {schema}", name(&one.name));
            self.add(Kind::Schema, None, sql);
        }
        if !verso {
            // What they bring is a part of Verso, whether it was asked for or not.
            let known = |name: &&str| !all || catalog.extension(name).is_none();
            for one in extensions_used(tables).into_iter().filter(known) {
                // Their operator classes are named with the schema where they are by default.
                let place = catalog.schema("public").map_or("", |_| " WITH SCHEMA public");
                self.add(Kind::Schema, None, format!("CREATE EXTENSION IF NOT EXISTS {}{place}", name(one)));
            }
        }
        self.collations(tables);
        self.objects_before(tables)?;
        if !all {
            // Those that have something in them: types of chosen tables may be elsewhere.
            let (made, others) = self.steps.split_at(schemas.end);
            let is_named = |step: &Step| {
                let named = |schema| others.iter().any(|other| schemas::names(&other.sql, schema));
                schemas::created(step).is_none_or(named)
            };
            let kept: Vec<Step> = made.iter().filter(|step| is_named(step)).chain(others).cloned().collect();
            self.steps = kept;
        }
        Ok(())
    }

    /// The collations that users have made: all, or those of the tables.
    fn collations(&mut self, tables: &[Arc<TableDef>]) {
        let catalog = Arc::clone(self.source.catalog);
        let all = self.source.selection.is_all();
        let used = |oid: u32| {
            let columns = tables.iter().flat_map(|table| &table.columns);
            let parts = tables.iter().flat_map(|table| table.all_indexes()).flat_map(|index| &index.parts);
            let mut keys = tables.iter().flat_map(|table| &table.partitioned).flat_map(|own| &own.orders);
            columns.map(|column| column.declared()).any(|ty| types::has_collation(ty, oid))
                || keys.any(|order| order.collation.as_ref().is_some_and(|one| one.oid == oid))
                || parts.filter_map(|part| part.collation.as_ref()).any(|one| one.oid == oid)
        };
        for one in catalog.collations() {
            if !all && !used(one.oid().0) {
                continue;
            }
            let provider = match one.provider {
                'i' => "icu",
                'b' => "builtin",
                _ => "libc",
            };
            let locale = one.locale.as_deref().unwrap_or("C");
            let deterministic = if one.deterministic { "" } else { ", deterministic = false" };
            let sql = format!(
                "CREATE COLLATION {} (provider = {provider}{deterministic}, locale = {})",
                qualified(&one.collation.schema, &one.collation.name),
                parts::literal(locale)
            );
            self.add(Kind::Type, None, sql);
            self.made.insert(one.oid());
        }
    }

    fn schemas(&mut self) {
        let catalog = Arc::clone(self.source.catalog);
        let verso = self.source.dialect == Dialect::Verso;
        let all = self.source.selection.is_all();
        let owner = |oid: Oid| self.source.roles.iter().find(|role| role.oid == oid);
        let mut steps = Vec::new();
        let mut public = false;
        for schema in catalog.schemas() {
            if matches!(&*schema.name, "pg_catalog" | "information_schema" | "pg_toast")
                || is_temporary(&schema.name)
            {
                continue;
            }
            // Roles go along with everything only.
            let role = owner(schema.owner).filter(|role| all && verso && &*role.name != verso_catalog::OWNER);
            let name_of = name(&schema.name);
            if &*schema.name == "public" {
                public = true;
                if let Some(role) = role {
                    steps.push(format!("ALTER SCHEMA public OWNER TO {}", name(&role.name)));
                }
                continue;
            }
            let authorization =
                role.map_or_else(String::new, |role| format!(" AUTHORIZATION {}", name(&role.name)));
            steps.push(format!("CREATE SCHEMA {name_of}{authorization}"));
        }
        if !public && all {
            steps.insert(0, "DROP SCHEMA public".to_owned());
        }
        steps.into_iter().for_each(|sql| self.add(Kind::Schema, None, sql));
    }

    /// What CREATE STATISTICS has made for a table; what ANALYZE found is found again.
    fn extended(&mut self, table: &TableDef, of: Option<&TableDef>) -> Result<(), BackupError> {
        let all = self.source.selection.is_all();
        for one in table.extended.iter().filter(|one| all || one.schema == table.schema) {
            let sql = self.ask("pg_get_statisticsobjdef", one.oid)?;
            self.add(Kind::View, of, sql);
            if let Some(target) = one.target {
                let place = qualified(&one.schema, &one.name);
                let sql = format!("ALTER STATISTICS {place} SET STATISTICS {target}");
                self.add(Kind::View, of, sql);
            }
        }
        Ok(())
    }

    /// What ANALYZE and CLUSTER are told of a table.
    fn upkeep(&mut self, table: &Arc<TableDef>) {
        let place = qualified(&table.schema, &table.name);
        for column in table.shown() {
            if let Some(target) = column.statistics {
                let sql = format!(
                    "ALTER TABLE ONLY {place} ALTER COLUMN {} SET STATISTICS {target}",
                    name(&column.name)
                );
                self.add(Kind::View, Some(table), sql);
            }
        }
        for column in table.shown() {
            let storage = table.column_storage(column.id).map(|letter| match letter {
                'p' => "SET STORAGE PLAIN",
                'e' => "SET STORAGE EXTERNAL",
                'm' => "SET STORAGE MAIN",
                _ => "SET STORAGE EXTENDED",
            });
            let compression = table.column_compression(column.id).map(|letter| match letter {
                'l' => "SET COMPRESSION lz4",
                _ => "SET COMPRESSION pglz",
            });
            for words in storage.into_iter().chain(compression) {
                let sql = format!("ALTER TABLE ONLY {place} ALTER COLUMN {} {words}", name(&column.name));
                self.add(Kind::View, Some(table), sql);
            }
        }
        for column in table.shown() {
            let options: Vec<String> = table
                .column_options(column.id)
                .map(|(option, value)| format!("{option} = {value}"))
                .collect();
            if !options.is_empty() {
                let (column, options) = (name(&column.name), options.join(", "));
                let sql = format!("ALTER TABLE ONLY {place} ALTER COLUMN {column} SET ({options})");
                self.add(Kind::View, Some(table), sql);
            }
        }
        let of = table.of_type().filter(|_| self.source.selection.is_all());
        if let Some(ty) = of.and_then(|ty| self.source.catalog.user_type(ty)) {
            let sql = format!("ALTER TABLE ONLY {place} OF {}", qualified(&ty.schema, &ty.name));
            self.add(Kind::View, Some(table), sql);
        }
        let identity = match table.replica_identity() {
            ReplicaIdentity::Default => None,
            ReplicaIdentity::Full => Some("FULL".to_owned()),
            ReplicaIdentity::Nothing => Some("NOTHING".to_owned()),
            ReplicaIdentity::Index => {
                let index = table.all_indexes().find(|index| index.replica_identity);
                index.map(|index| format!("USING INDEX {}", name(&index.name)))
            }
        };
        if let Some(identity) = identity {
            self.add(
                Kind::View,
                Some(table),
                format!("ALTER TABLE ONLY {place} REPLICA IDENTITY {identity}"),
            );
        }
        for index in table.all_indexes() {
            for (part, number) in index.parts.iter().zip(1..) {
                let column = table.column_with_id(part.column).map(|at| &table.columns[at]);
                let told = column.filter(|column| column.is_hidden()).and_then(|column| column.statistics);
                if let Some(target) = told {
                    let place = qualified(&index.schema, &index.name);
                    let sql = format!("ALTER INDEX {place} ALTER COLUMN {number} SET STATISTICS {target}");
                    self.add(Kind::View, Some(table), sql);
                }
            }
        }
        if let Some(index) = table.all_indexes().find(|index| index.clustered) {
            let sql = format!("ALTER TABLE {place} CLUSTER ON {}", name(&index.name));
            self.add(Kind::View, Some(table), sql);
        }
    }

    // ── after the rows ───────────────────────────────────────────────────────────────────────────────────────────

    fn after(&mut self, tables: &[Arc<TableDef>], data: bool) -> Result<(), BackupError> {
        let catalog = Arc::clone(self.source.catalog);
        let all = self.source.selection.is_all();
        if data {
            self.values(tables)?;
        }
        // Those of partitions are built one after the other: all of them change the whole table.
        let divided = partitions::divided(tables);
        for table in tables.iter().filter(|table| !divided.contains(&table.oid)) {
            for constraint in &table.constraints {
                // A CHECK or NOT NULL that some rows may break comes behind them.
                let late =
                    matches!(constraint.kind, ConstraintKind::Check { .. } | ConstraintKind::NotNull { .. })
                        && !constraint.validated;
                if late || constraint.kind.own_index().is_some() {
                    self.constraint(Kind::Key, table, constraint)?;
                }
            }
        }
        for table in tables.iter().filter(|table| !divided.contains(&table.oid)) {
            // One that users have taken out of use may have a key twice: then the restore would not come through.
            let can_be_built = |index: &&Arc<IndexDef>| index.valid || index.outdated || !index.unique;
            let plain = table.all_indexes().filter(|index| index.constraint.is_none());
            for index in plain.filter(can_be_built) {
                let sql = self.ask("pg_get_indexdef", index.oid)?;
                self.add(Kind::Index, Some(table), sql);
            }
        }
        for table in partitions::wholes_first(tables).iter().filter(|table| divided.contains(&table.oid)) {
            self.indexes_of_divided(table, tables)?;
        }
        for table in tables {
            self.upkeep(table);
            self.extended(table, Some(table))?;
        }
        if all {
            self.is_behind = true;
            self.objects_behind(tables)?;
        }
        let restored: HashSet<Oid> = tables.iter().map(|table| table.oid).collect();
        for table in tables {
            for constraint in &table.constraints {
                let ConstraintKind::Foreign(foreign) = &constraint.kind else { continue };
                // The part of a partition comes with the whole.
                if partitions::comes_with_whole(constraint.part_of.is_some(), table, tables) {
                    continue;
                }
                let Some(other) = catalog.table_by_oid(foreign.referenced) else { continue };
                self.constraint(Kind::ForeignKey, table, constraint)?;
                self.with_other(Some(&*other));
                // Whoever restores an archive looks for the other table; a script does that itself.
                let is_script = self.source.dialect == Dialect::Postgres;
                if let Some(step) =
                    self.steps.last_mut().filter(|_| is_script && !restored.contains(&other.oid))
                {
                    step.sql = if_there(&step.sql, (table, &constraint.name), &other);
                }
            }
        }
        // They need the primary key, and have their NOT NULL and CHECKs.
        let verso = self.source.dialect == Dialect::Verso;
        for table in tables.iter().filter(|_| verso) {
            for column in table.columns.iter().filter(|column| column.reservable) {
                let place = qualified(&table.schema, &table.name);
                let sql = format!("ALTER TABLE {place} ALTER COLUMN {} SET RESERVABLE", name(&column.name));
                self.add(Kind::ForeignKey, Some(table), sql);
            }
        }
        if all {
            for table in partitions::wholes_first(tables) {
                self.triggers(&table)?;
            }
            for view in objects::views(&catalog) {
                self.triggers(&view.as_table())?;
            }
        }
        let selected = Chosen { tables: &restored, made: &self.made };
        let selected = (!all).then_some(&selected);
        self.steps.append(&mut comments(&catalog, selected, self.source.dialect));
        if all && self.source.dialect == Dialect::Verso {
            self.steps.append(&mut setting_steps(&self.source.settings));
            let rights = rights::rights_steps(&catalog, &self.finder);
            let of_policies = |step: &Step| step.sql.starts_with("CREATE POLICY ");
            let guarded = |step: Step| match of_policies(&step) {
                true => Step { sql: self.guarded(step.sql), ..step },
                false => step,
            };
            let mut rights: Vec<Step> = rights.into_iter().map(guarded).collect();
            self.steps.append(&mut rights);
        }
        Ok(())
    }

    /// Where the sequences stand: at least where the snapshot's rows need them, for they are read after it was taken.
    fn values(&mut self, tables: &[Arc<TableDef>]) -> Result<(), BackupError> {
        let catalog = Arc::clone(self.source.catalog);
        for sequence in catalog.sequences() {
            if sequence.oid.is_system() || is_temporary(&sequence.schema) {
                continue;
            }
            let owner = sequence.owned_by.map(|owner| owner.table);
            let table = owner.and_then(|owner| tables.iter().find(|table| table.oid == owner));
            let wanted = match owner {
                Some(_) => table.is_some(),
                None => self.source.selection.is_all() || tables.iter().any(|table| uses(table, sequence)),
            };
            let (value, called) = self.source.engine.sequence(sequence.object)?.state();
            if wanted && (called || value != sequence.bounds.start) {
                let place = literal(&qualified(&sequence.schema, &sequence.name));
                let sql = format!("SELECT pg_catalog.setval({place}, {value}, {called})");
                self.add(Kind::Value, table.map(|table| &**table), sql);
            }
        }
        Ok(())
    }

    fn constraint(
        &mut self,
        kind: Kind,
        table: &TableDef,
        constraint: &ConstraintDef,
    ) -> Result<(), BackupError> {
        let mut definition = self.ask("pg_get_constraintdef", constraint.oid)?;
        if let ConstraintKind::Unique { index, .. } = &constraint.kind
            && let Some(index) = table.index(*index)
        {
            // In front of what else is said of the constraint.
            let at = [" DEFERRABLE", " INITIALLY"].iter().filter_map(|word| definition.find(word)).min();
            definition.insert_str(at.unwrap_or(definition.len()), &index.with_options());
        }
        let sql = format!(
            "ALTER TABLE {} ADD CONSTRAINT {} {definition}",
            qualified(&table.schema, &table.name),
            name(&constraint.name)
        );
        self.add(kind, Some(table), sql);
        Ok(())
    }

    fn triggers(&mut self, table: &TableDef) -> Result<(), BackupError> {
        let of = (!table.is_view()).then_some(table);
        for trigger in &table.triggers {
            if trigger.action.is_some() && self.source.dialect == Dialect::Postgres {
                let what = format!("trigger {} of table {}", trigger.name, table.name);
                return Err(BackupError::Refused(format!(
                    "{what} has statements in place of a function, which PostgreSQL has not"
                )));
            }
            let catalog = Arc::clone(self.source.catalog);
            let whole = catalog.whole_trigger(trigger);
            let usual = whole.as_ref().map_or(TriggerEnabled::Origin, |(_, whole)| whole.enabled);
            if whole.is_none() {
                let sql = self.ask("pg_get_triggerdef", trigger.oid)?;
                self.add(Kind::Trigger, of, sql);
            }
            let word = match trigger.enabled {
                enabled if enabled == usual => continue,
                TriggerEnabled::Origin => "ENABLE",
                TriggerEnabled::Disabled => "DISABLE",
                TriggerEnabled::Replica => "ENABLE REPLICA",
                TriggerEnabled::Always => "ENABLE ALWAYS",
            };
            let place = qualified(&table.schema, &table.name);
            let sql = format!("ALTER TABLE {place} {word} TRIGGER {}", name(&trigger.name));
            self.add(Kind::Trigger, of, sql);
        }
        Ok(())
    }
}

/// The statement that makes a foreign key, run only where the other table is there; else a warning says that the key is left out.
fn if_there(sql: &str, (table, key): (&TableDef, &str), other: &TableDef) -> String {
    let [own, other] = [table, other].map(|table| qualified(&table.schema, &table.name));
    let text = left_out_key(key, &own, &other).replace('%', "%%");
    let mut tag = "$key$".to_owned();
    while sql.contains(&tag) || text.contains(&tag) {
        tag.insert(1, 'a');
    }
    let (other, text) = (literal(&other), literal(&text));
    format!(
        "DO {tag}\nBEGIN\n  IF pg_catalog.to_regclass({other}) IS NULL THEN\n    RAISE WARNING {text};\n  ELSE\n    {sql};\n  END IF;\nEND {tag}"
    )
}

/// What is said of a foreign key whose other table is not there.
pub(crate) fn left_out_key(key: &str, table: &str, other: &str) -> String {
    format!("foreign key {key} of {table} is left out: table {other} is not there")
}

/// The search path that a database gives its sessions, as SET takes it; none where it says nothing.
fn path_of(settings: &[(String, String)]) -> Option<String> {
    let (name, value) = settings.iter().find(|(name, _)| name == "search_path")?;
    Some(setting_value(name, value))
}

fn is_own(function: &FunctionDef) -> bool {
    // Those that come with a range type are made with it.
    !function.oid.is_system() && !is_temporary(&function.schema) && !function.is_range_constructor()
}

/// The sequences that columns of a table own.
fn owned<'c>(
    catalog: &'c CatalogSnapshot,
    table: &TableDef,
) -> impl Iterator<Item = &'c Arc<SequenceDef>> + use<'c> {
    let table = table.oid;
    catalog.sequences().filter(move |sequence| sequence.owned_by.is_some_and(|owner| owner.table == table))
}

fn owning_column<'t>(table: &'t TableDef, sequence: &SequenceDef) -> Option<&'t ColumnDef> {
    let owner = sequence.owned_by?;
    table.column_with_id(owner.column).map(|at| &table.columns[at])
}

/// Whether a default of the table may take numbers from a sequence.
fn uses(table: &TableDef, sequence: &SequenceDef) -> bool {
    let defaults = || table.columns.iter().filter_map(|column| column.default.as_deref());
    defaults()
        .any(|default| default.contains(&*sequence.name) || kept::objects_of(default).contains(&sequence.oid))
}
