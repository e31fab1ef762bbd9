//! SWEEP, REINDEX of several tables, and the settings of the database.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{Object, Oid, Rights, TableDef};
use verso_env::scheme_of;
use verso_storage::archive::target_is_there;
use verso_storage::{Markers, StorageError, SweepOptions};

use super::Ending;
use super::Session;
use crate::client::StatementSink;
use crate::client::tag;
use crate::client::{CommandTag, Notice};
use crate::ddl::schema_absent;
use crate::ddl::upkeep::{passed_over, system_relation};
use crate::instance::{Instance, SweepRecord, archive_folder};
use crate::plans::Job;
use crate::settings::wal_bytes;
use crate::shares::WithWorkers;
use verso_parser::syntax::{Cluster, Name, QualifiedName, Reindex, ReindexTarget, Statement};
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.services.instance
    }

    /// What it does from now on gives way to others.
    pub(crate) fn set_automatic(&self) {
        self.services.automatic.set(true);
    }

    /// How long ago that was.
    pub(crate) fn micros_since(&self, time: i64) -> u64 {
        u64::try_from(self.services.clocks.now() - time).unwrap_or(0)
    }

    /// SWEEP, VACUUM, whichever `word` says.
    pub(crate) fn sweep(
        &mut self,
        word: &str,
        table: Option<&QualifiedName>,
        verbose: bool,
        parallel: Option<u32>,
    ) -> Result<CommandTag, SqlError> {
        if self.transaction.is_open() {
            let text = format!("{word} cannot run inside a transaction block");
            return Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, text));
        }
        if !self.may_sweep(word, table)? {
            return Ok(tag(word));
        }
        let workers = self.services.workers_of(parallel, true);
        let engine = &self.services.instance.engine;
        if let Some(system) = table.and_then(system_relation)
            && system.kind != 'r'
        {
            self.services.notices.warn("01000", &passed_over(system.name, "vacuum"));
            return Ok(tag(word));
        }
        let object = match table {
            None => None,
            // Of some the session makes the rows.
            Some(name)
                if system_relation(name).is_some()
                    && self.with_catalog(|_, catalog, _| {
                        Ok(catalog.table(name.schema_text(), &name.name.text).is_none())
                    })? =>
            {
                return Ok(tag(word));
            }
            Some(name) => {
                let catalog = self.with_catalog(|_, catalog, _| Ok(Arc::clone(catalog)))?;
                let found = catalog.table(name.schema_text(), &name.name.text);
                if let Some(other) = catalog.relation(name.schema_text(), &name.name.text)
                    && found.is_none()
                {
                    self.services.notices.warn("01000", &passed_over(other.name(), "vacuum"));
                    return Ok(tag(word));
                }
                let missing = || {
                    let text = format!("relation \"{name}\" does not exist");
                    let plain = SqlError::new(sqlstate::UNDEFINED_TABLE, text).at(name.at().start);
                    schema_absent(&catalog, name).unwrap_or(plain)
                };
                Some(found.ok_or_else(missing)?.heap)
            }
        };
        let started = self.services.clocks.now();
        let info = Arc::clone(&self.services.info);
        let cancel = info.cancel_flag();
        let session = info.number;
        // Its own session is none that a sweep gives way to, nor that other reports do.
        let _with_workers = WithWorkers::new(Arc::clone(&info));
        let options = SweepOptions {
            table: object,
            verbose,
            workers,
            session,
            waits: true,
            gives_way: true,
            gives_back: true,
        };
        let report = engine.sweep(options, &mut |_| {
            if cancel.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if report.damaged > 0 {
            let text = format!("{} damaged pages were left out: see verso_damage", report.damaged);
            self.services.notices.warn("01000", &text);
        }
        if cancel.load(Ordering::Relaxed) {
            let text = "canceling statement due to user request";
            return Err(SqlError::new(sqlstate::QUERY_CANCELED, text));
        }
        let markers = |markers: &Markers| {
            format!(
                "OIT {}, OAT {}, OST {}, Next {}",
                markers.oit.0, markers.oat.0, markers.ost.0, markers.next.0
            )
        };
        if verbose {
            let message = format!(
                "swept {} pages ({} skipped, {} backed out, {} version pages retired, {} pages given back) in {:.3} s with {} workers: {} before, {} after",
                report.pages_visited,
                report.pages_skipped,
                report.pages_backed_out,
                report.version_pages_retired,
                report.pages_freed,
                report.seconds,
                report.workers,
                markers(&report.before),
                markers(&report.after)
            );
            self.services.notices.tell(Notice { severity: "INFO", ..Notice::message(message) });
        }
        self.services.instance.remember_sweep(SweepRecord {
            session: Some(session),
            started,
            seconds: report.seconds,
            workers: report.workers,
            table: table.map(ToString::to_string),
            pages_visited: report.pages_visited,
            pages_skipped: report.pages_skipped,
            pages_backed_out: report.pages_backed_out,
            before: report.before,
            after: report.after,
        });
        Ok(tag(word))
    }

    /// REINDEX SCHEMA, REINDEX DATABASE: each table in a transaction of its own; REINDEX COLLATIONS: each index whose keys were
    /// made from other data of collations than the program has. Tables that have gone meanwhile are passed
    /// over, and those that the role may not maintain are left alone, as in PostgreSQL.
    pub(crate) fn reindex_many(
        &mut self,
        job: &Job<'_>,
        reindex: &Reindex,
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        let tables = self.with_catalog(|session, catalog, _| {
            let role = session.services.current_role();
            let schema = match &reindex.target {
                ReindexTarget::Schema(name) => {
                    let missing = || {
                        let text = format!("schema \"{}\" does not exist", name.text);
                        SqlError::new("3F000", text).at(name.at.start)
                    };
                    let schema = catalog.schema(&name.text).ok_or_else(missing)?;
                    let may = catalog.owns(role, Object::Schema(schema.oid))
                        || catalog.inherits(role, verso_catalog::authority::MAINTAIN);
                    if !may {
                        let text = format!("must be owner of schema {}", name.text);
                        return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text));
                    }
                    Some(Arc::clone(&schema.name))
                }
                ReindexTarget::Database(name) | ReindexTarget::System(name) => {
                    let database = session.services.database();
                    if let Some(name) = name.as_ref().filter(|name| *name.text != **database) {
                        let text = "can only reindex the currently open database";
                        return Err(SqlError::new("0A000", text).at(name.at.start));
                    }
                    let may = catalog.owns(role, Object::Database)
                        || catalog.inherits(role, verso_catalog::authority::MAINTAIN);
                    if !may {
                        let text = format!("must be owner of database {database}");
                        return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text));
                    }
                    None
                }
                _ => None,
            };
            if matches!(reindex.target, ReindexTarget::System(_)) {
                return Ok(Vec::new());
            }
            let outdated = reindex.target == ReindexTarget::Collations;
            if outdated {
                let mut indexes: Vec<(Oid, Arc<str>, Arc<str>)> = Vec::new();
                for table in catalog.tables().filter(|table| !table.is_system()) {
                    let own = table.idle_indexes.iter().filter(|index| index.outdated);
                    let may = catalog.rights(role, Object::Relation(table.oid)).has(Rights::MAINTAIN);
                    indexes.extend(
                        own.filter(|_| may)
                            .map(|index| (index.oid, Arc::clone(&index.schema), Arc::clone(&index.name))),
                    );
                }
                indexes.sort();
                return Ok(indexes);
            }
            let wanted = |table: &&Arc<TableDef>| {
                !table.is_system()
                    && !table.is_temporary()
                    && table.all_indexes().any(|index| index.valid || index.outdated)
                    && schema.as_ref().is_none_or(|schema| table.schema == *schema)
                    && catalog.rights(role, Object::Relation(table.oid)).has(Rights::MAINTAIN)
            };
            let mut tables: Vec<(Oid, Arc<str>, Arc<str>)> = catalog
                .tables()
                .filter(wanted)
                .map(|table| (table.oid, Arc::clone(&table.schema), Arc::clone(&table.name)))
                .collect();
            tables.sort();
            Ok(tables)
        })?;
        // A key that two rows have keeps one index out of use, not those behind it.
        let collations = reindex.target == ReindexTarget::Collations;
        let mut failed: Option<SqlError> = None;
        for (_, schema, table) in tables {
            let gone =
                self.with_catalog(|_, catalog, _| Ok(catalog.relation(Some(&schema), &table).is_none()))?;
            if gone {
                continue;
            }
            let at = job.at;
            let name = |text: &str| Name { text: text.to_string(), at };
            let name = QualifiedName { schema: Some(name(&schema)), name: name(&table) };
            let target = match reindex.target {
                ReindexTarget::Collations => ReindexTarget::Index(name),
                _ => ReindexTarget::Table(name),
            };
            let one = Reindex { target, ..reindex.clone() };
            let statement = Statement::Reindex(one);
            match self.transactional(&Job { statement: &statement, ..*job }, sink) {
                Err(error) if collations && is_duplicate(&error) => {
                    if let Some(active) = self.transaction.take() {
                        self.end(active, Ending::Rollback)?;
                    }
                    let detail = error.detail.as_deref().unwrap_or_default();
                    self.services.notices.warn(error.sqlstate, &format!("{}: {detail}", error.message));
                    failed.get_or_insert(error);
                    continue;
                }
                done => drop(done?),
            }
            // Of several messages up to a Sync, too.
            if let Some(active) = self.transaction.take() {
                self.end(active, Ending::usual())?;
            }
            // The next one meets the same rows of the catalog.
            self.settle()?;
        }
        match failed {
            Some(error) => Err(error.with_hint(
                "The other indexes were built. Delete the rows that have the key twice and run REINDEX COLLATIONS again, or drop the index.",
            )),
            None => Ok(tag("REINDEX")),
        }
    }

    /// VACUUM FULL: each table is copied in a transaction of its own.
    pub(crate) fn vacuum_full(
        &mut self,
        job: &Job<'_>,
        tables: &[QualifiedName],
        verbose: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        let mut wanted = Vec::new();
        for table in tables {
            if let Some(system) = system_relation(table) {
                // What the system keeps, sweeps look after.
                if system.kind != 'r' {
                    self.services.notices.warn("01000", &passed_over(system.name, "vacuum"));
                }
                continue;
            }
            if self.may_sweep("VACUUM", Some(table))? {
                wanted.push(table.clone());
            }
        }
        if tables.is_empty() {
            wanted = self.tables_where(job, |_| true)?;
        }
        self.copy_tables(job, wanted, (true, verbose), sink)?;
        Ok(tag("VACUUM"))
    }

    /// CLUSTER: the tables of which CLUSTER ON says something, each in a transaction of its own.
    pub(crate) fn cluster_many(
        &mut self,
        job: &Job<'_>,
        verbose: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        let wanted = self.tables_where(job, |table| table.indexes.iter().any(|index| index.clustered))?;
        self.copy_tables(job, wanted, (false, verbose), sink)?;
        Ok(tag("CLUSTER"))
    }

    /// The tables with rows of their own that the role may maintain.
    fn tables_where(
        &mut self,
        job: &Job<'_>,
        wanted: impl Fn(&TableDef) -> bool,
    ) -> Result<Vec<QualifiedName>, SqlError> {
        let at = job.at;
        self.with_catalog(|session, catalog, _| {
            let role = session.services.current_role();
            let may = |table: &&Arc<TableDef>| {
                !table.is_system()
                    && !table.is_temporary()
                    && table.partitioned.is_none()
                    && wanted(table)
                    && catalog.rights(role, Object::Relation(table.oid)).has(Rights::MAINTAIN)
            };
            let mut tables: Vec<(Oid, QualifiedName)> = catalog
                .tables()
                .filter(may)
                .map(|table| {
                    let name = |text: &str| Name { text: text.to_string(), at };
                    (table.oid, QualifiedName { schema: Some(name(&table.schema)), name: name(&table.name) })
                })
                .collect();
            tables.sort_by_key(|(oid, _)| *oid);
            Ok(tables.into_iter().map(|(_, name)| name).collect())
        })
    }

    /// Copies tables, each in a transaction of its own; those that have gone meanwhile are passed over where the statement does
    /// not name them.
    fn copy_tables(
        &mut self,
        job: &Job<'_>,
        tables: Vec<QualifiedName>,
        (full, verbose): (bool, bool),
        sink: &mut dyn StatementSink,
    ) -> Result<(), SqlError> {
        for table in tables {
            let statement = Statement::Cluster(Cluster { table: Some(table), index: None, full, verbose });
            self.transactional(&Job { statement: &statement, ..*job }, sink)?;
            if let Some(active) = self.transaction.take() {
                self.end(active, Ending::usual())?;
            }
            self.settle()?;
        }
        Ok(())
    }

    /// Whether the role may sweep a table; what it may not is told and left alone, as in PostgreSQL.
    fn may_sweep(&self, word: &str, table: Option<&QualifiedName>) -> Result<bool, SqlError> {
        let role = self.services.current_role();
        if role == verso_catalog::OWNER_ROLE {
            return Ok(true);
        }
        self.with_catalog(|session, catalog, _| {
            let Some(name) = table else {
                if catalog.inherits(role, verso_catalog::authority::MAINTAIN) {
                    return Ok(true);
                }
                let text = format!("permission denied to {} the whole database", word.to_lowercase());
                return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text));
            };
            let Some(found) = catalog.table(name.schema_text(), &name.name.text) else { return Ok(true) };
            if catalog.rights(role, Object::Relation(found.oid)).has(Rights::MAINTAIN) {
                return Ok(true);
            }
            let text =
                format!("permission denied to {} \"{}\", skipping it", word.to_lowercase(), found.name);
            session.services.notices.warn("01000", &text);
            Ok(false)
        })
    }

    /// # Errors
    /// 25001 within a transaction block; 42501 for whoever is no superuser.
    pub(crate) fn check_backup(&self) -> Result<(), SqlError> {
        if self.transaction.is_open() {
            let text = "BACKUP cannot run inside a transaction block";
            return Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, text));
        }
        if !self.services.is_superuser() {
            let text = "permission denied to back up the database";
            return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text)
                .with_detail("Only superusers may read the whole database and write files of the server."));
        }
        Ok(())
    }

    /// BACKUP DATABASE TO: a base backup in a folder of the machine that the database is on, or of an object store, or an
    /// increment upon the backup in `parent`.
    pub(crate) fn backup(&mut self, folder: &str, parent: Option<&str>) -> Result<CommandTag, SqlError> {
        self.check_backup()?;
        let vfs = &*self.services.env.vfs;
        let folder = archive_folder(folder, vfs)?;
        let parent = parent.map(|parent| archive_folder(parent, vfs)).transpose()?;
        let cancel = self.services.info.cancel_flag();
        let engine = &self.services.instance.engine;
        let listed = engine.begin_job("BASE BACKUP", self.services.info.number, None);
        let job = listed.job();
        let mut is_copying = false;
        let go_on = &mut |done, total| {
            if total > 0 && !std::mem::replace(&mut is_copying, true) {
                job.enter("streaming database files", total);
            }
            job.advance_to(done, total);
            if cancel.load(Ordering::Relaxed) { Err(StorageError::Cancelled) } else { Ok(()) }
        };
        match parent {
            None => engine.backup_base(&folder, go_on)?,
            Some(parent) => engine.backup_increment(&folder, &parent, go_on)?,
        };
        Ok(tag("BACKUP"))
    }

    /// ALTER SYSTEM ADD LOGFILE: one more file is kept ready, at once and for good.
    pub(crate) fn add_log_file(&mut self, size: &str) -> Result<CommandTag, SqlError> {
        self.check_log_files()?;
        let sizes = 1 << 20..=64 << 30;
        let bytes = wal_bytes(size).filter(|bytes| sizes.contains(bytes)).ok_or_else(|| {
            let text = format!("invalid size of a log file: \"{size}\"");
            SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
                .with_hint("Between 1MB and 64GB; a number alone counts megabytes.")
        })?;
        let engine = &self.services.instance.engine;
        let cancel = self.services.info.cancel_flag();
        let number = engine.add_log_file(bytes, &mut || {
            if cancel.load(Ordering::Relaxed) { Err(StorageError::Cancelled) } else { Ok(()) }
        })?;
        self.keep_ready(engine.spare_log().saturating_add(bytes))?;
        self.services.notices.tell(Notice::message(format!("log file {number} is ready")));
        Ok(tag("ALTER SYSTEM"))
    }

    /// ALTER SYSTEM DROP LOGFILE.
    pub(crate) fn drop_log_file(&mut self, number: u64) -> Result<CommandTag, SqlError> {
        self.check_log_files()?;
        let engine = &self.services.instance.engine;
        let bytes = engine.drop_log_file(number)?;
        self.keep_ready(engine.spare_log().saturating_sub(bytes))?;
        Ok(tag("ALTER SYSTEM"))
    }

    fn check_log_files(&self) -> Result<(), SqlError> {
        match self.services.is_superuser() {
            true => Ok(()),
            false => {
                let text = "permission denied to change log files";
                Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text))
            }
        }
    }

    /// Keeps so many bytes of log files ready, also when the database is opened next.
    fn keep_ready(&self, bytes: u64) -> Result<(), SqlError> {
        let instance = &self.services.instance;
        let text = format!("{}kB", bytes >> 10);
        instance.set_database("wal_spare_size", Some(&text))?;
        Ok(instance.catalog.set_database_setting("wal_spare_size", Some(&text))?)
    }

    /// ALTER DATABASE SET, ALTER SYSTEM SET: at once and for good, the former whatever becomes of the transaction around it.
    pub(crate) fn alter_database(
        &mut self,
        system: bool,
        database: Option<&Name>,
        name: &Name,
        value: Option<&str>,
    ) -> Result<CommandTag, SqlError> {
        let other = database.filter(|other| *other.text != **self.services.database());
        if let Some(other) = other {
            return self.alter_other_database(&other.text, name, value);
        }
        self.with_catalog(|session, catalog, _| {
            let role = session.services.current_role();
            let may = match system {
                true => {
                    catalog.is_superuser(role)
                        || session.services.may_set(&name.text.to_ascii_lowercase(), Rights::ALTER_SYSTEM)
                }
                false => catalog.owns(role, Object::Database),
            };
            let text = match system {
                true => format!("permission denied to set parameter \"{}\"", name.text),
                false => format!("must be owner of database {}", session.services.database()),
            };
            if may { Ok(()) } else { Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text)) }
        })?;
        let instance = &self.services.instance;
        if let ("archive_target", Some(target)) = (&*name.text, value)
            && !target.is_empty()
        {
            let vfs = &*instance.engine.env().vfs;
            let folder = archive_folder(target, vfs).map_err(|error| error.at(name.at.start))?;
            let missing = match target_is_there(vfs, &folder) {
                Ok(true) => None,
                Err(error) if scheme_of(&folder).is_some() => {
                    let text = format!("the archive folder {} cannot be listed: {error}", folder.display());
                    let hint = "Endpoint, region and credentials come from the environment of the server: AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY.";
                    Some((text, hint))
                }
                _ => Some((
                    format!("the archive folder {} does not exist", folder.display()),
                    "Make the folder first, on a disk other than the database's.",
                )),
            };
            if let Some((text, hint)) = missing {
                return Err(SqlError::new("58P01", text).with_hint(hint).at(name.at.start));
            }
        }
        instance.keep_setting(&name.text, value).map_err(|error| error.at(name.at.start))?;
        Ok(tag(if system { "ALTER SYSTEM" } else { "ALTER DATABASE" }))
    }
}

/// Says an error that two rows have a key that may be there once?
fn is_duplicate(error: &SqlError) -> bool {
    matches!(error.sqlstate, "23505" | "23P01")
}
