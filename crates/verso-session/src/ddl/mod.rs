//! Statements that change the schema: from syntax to the catalog's requests.
//!
//! | module | statements |
//! |---|---|
//! | [`create_table`], [`like`], [`table_as`] | CREATE TABLE |
//! | [`alter_table`] | ALTER TABLE |
//! | [`alter_columns`], [`alter_constraints`], [`alter_pages`], [`alter_names`] | what it does with columns, constraints, pages, names |
//! | [`rewrite`] | its changes of columns, which copy the rows |
//! | [`reservable`] | what tables with RESERVABLE columns have to be |
//! | [`in_use`] | which tables they leave as they are |
//! | [`existing_rows`] | its constraints, which the rows that are there have to keep |
//! | [`index`] | CREATE INDEX, REINDEX |
//! | [`schema`] | schemas, and in which one a name is |
//! | [`sequence`], [`function`], [`role`] | the same of sequences, functions and roles |
//! | [`rights`] | what statements of the schema take |
//! | [`grant`], [`memberships`], [`default_rights`] | GRANT, REVOKE: of rights, of roles, of rights on what will be made |
//! | [`owners`], [`owned`] | ALTER … OWNER TO; REASSIGN OWNED, DROP OWNED |
//! | [`policy`] | policies |
//! | [`trigger`] | CREATE, ALTER, DROP TRIGGER |
//! | [`drop`], [`absent`] | DROP |
//! | [`named_schemas`] | schemas that they name and that are not there |
//! | [`view`] | views |
//! | [`temporary`] | temporary tables |
//! | [`types`] | CREATE, ALTER, DROP TYPE |
//! | [`comment`] | COMMENT ON |
//! | [`truncate`] | TRUNCATE |
//! | [`lock_table`] | LOCK TABLE |

mod absent;
mod aggregate;
mod along;
mod alter_columns;
mod alter_constraints;
mod alter_names;
mod alter_others;
mod alter_pages;
mod alter_partitions;
mod alter_passes;
mod alter_table;
mod alter_types;
mod analyze;
mod cluster;
mod collations;
mod comment;
mod composite;
mod create_table;
mod default_rights;
mod domains;
mod drop;
mod exclusion;
mod existing_rows;
mod extensions;
mod function;
mod grant;
mod in_use;
mod index;
mod like;
mod lock_modes;
mod lock_table;
mod materialized;
mod memberships;
mod named_schemas;
mod online;
mod operators;
mod owned;
mod owners;
mod partition;
mod policy;
mod range_type;
mod reservable;
mod retype;
mod rewrite;
mod rights;
mod role;
mod routine;
mod row_types;
mod schema;
mod sequence;
mod statistics;
mod table_as;
mod temporary;
mod trigger;
mod truncate;
mod typed;
mod types;
mod types_of_others;
pub(crate) mod upkeep;
mod view;

pub(crate) use function::in_literal;
pub(crate) use named_schemas::{is_schema, schema_absent};
pub(crate) use temporary::at_commit;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{Object, Rights, TableOptions};
use verso_exec::plan::Statement as Bound;
use verso_storage::{JobLimits, StorageError, TableLockMode};
use verso_types::Value;

use crate::client::{CommandTag, Notice};
use crate::constraints::set_constraints;
use crate::failure::Failure;
use crate::frame::Frame;
use crate::tables::begun_anew;
use table_as::Source;
use verso_parser::syntax::{CreateTableAs, Discarded, Name, QualifiedName, Statement};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

/// Runs a statement that changes the schema.
pub(crate) fn define(
    frame: &Frame<'_>,
    binder: &Binder<'_>,
    statement: &Statement,
) -> Result<CommandTag, Failure> {
    named_schemas::refuse_absent(frame.catalog, statement)?;
    let kept = in_use::kept(frame)?;
    in_use::refuse_used(frame, statement, &kept)?;
    // What the sorting of an index holds.
    let mut held = frame.services.memory.lend().account.reserve("CREATE INDEX", u64::MAX);
    let gauge = move |bytes| {
        held.try_resize(bytes).map_err(|refused| StorageError::NoMemory {
            what: "CREATE INDEX",
            limit_bytes: refused.limit_bytes,
            setting: refused.scope.setting(),
        })
    };
    let services = frame.services;
    services.defines.set(true);
    let asked = match statement {
        Statement::CreateIndex(create) => create.parallel,
        Statement::Reindex(reindex) => reindex.parallel,
        _ => None,
    };
    let limits = JobLimits {
        workers: services.workers_of(asked, builds_indexes(statement)),
        memory_bytes: services.settings.job_memory_bytes(),
        later: services.instance.builds_later.load(Ordering::Relaxed),
    };
    let temporary = services.memory.temporary();
    frame.txn.borrow_mut().set_job_limits(limits, Some(temporary));
    frame.txn.borrow_mut().set_gauge(Some(Box::new(gauge)));
    let concerned = reservable::Concerned::of(frame.catalog, statement);
    let result = holding_named(frame, || {
        let result = Schema { frame }.define_somewhere(binder, statement);
        let placed =
            |failure: Failure| Failure { error: named_schemas::placed(statement, failure.error), ..failure };
        let result = result.map_err(placed);
        let result = result.and_then(|tag| in_use::refuse_dropped(frame, &kept).map(|()| tag));
        temporary::note_touched(frame);
        result.and_then(|tag| concerned.check(frame).map(|()| tag))
    });
    frame.txn.borrow_mut().set_gauge(None);
    result
}

/// Runs what makes or changes definitions: what they name then, and have not named before, stays (L6 of the catalog).
///
/// A part of the statement that sees what others have committed by now finds what another part has written damaged, if that names
/// what they have removed. So damage counts only where nobody has changed the schema meanwhile: otherwise the statement begins anew,
/// and damage that was there before is found again.
fn holding_named<T>(frame: &Frame<'_>, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let catalog = &frame.services.instance.catalog;
    let changes = catalog.changes(&frame.txn.borrow());
    let done = match work() {
        Err(failure) if failure.error.sqlstate == sqlstate::DATA_CORRUPTED => {
            return match catalog.is_behind(&frame.txn.borrow(), frame.catalog)? {
                true => Err(begun_anew().into()),
                false => Err(failure),
            };
        }
        done => done?,
    };
    catalog.hold_named(&mut frame.txn.borrow_mut(), frame.catalog, changes)?;
    Ok(done)
}

/// Whether workers of the session's number help with a statement unless it says otherwise.
fn builds_indexes(statement: &Statement) -> bool {
    matches!(statement, Statement::CreateIndex(_) | Statement::Reindex(_) | Statement::AlterIndex(_))
}

/// CREATE TABLE AS.
pub(crate) fn create_table_as(
    frame: &Frame<'_>,
    binder: &Binder<'_>,
    create: &CreateTableAs,
    params: &[Value],
) -> Result<CommandTag, Failure> {
    let schema = Schema { frame };
    frame.services.defines.set(true);
    if (create.temporary.is_some() || schema.is_in_temporary(&create.name))
        && schema.make_temporary_schema()?
    {
        return frame.inside(|frame| {
            let types: Vec<_> = params.iter().map(verso_types::text::type_of).collect();
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &types);
            let binder = binder.with_transitions(frame.transitions.tables);
            Schema { frame }.create_table_as(Source::Unbound(&binder), create, params)
        });
    }
    schema.create_table_as(Source::Unbound(binder), create, params)
}

/// The same with a query that is bound to variables of a function.
pub(crate) fn fill_table_as(
    frame: &Frame<'_>,
    create: &CreateTableAs,
    query: &Bound,
    params: &[Value],
) -> Result<CommandTag, Failure> {
    let schema = Schema { frame };
    frame.services.defines.set(true);
    if (create.temporary.is_some() || schema.is_in_temporary(&create.name))
        && schema.make_temporary_schema()?
    {
        return frame.inside(|frame| Schema { frame }.create_table_as(Source::Bound(query), create, params));
    }
    schema.create_table_as(Source::Bound(query), create, params)
}

/// The statements of the schema, over the frame that one of them runs in.
struct Schema<'f> {
    frame: &'f Frame<'f>,
}

impl Schema<'_> {
    /// Runs a statement that may make something temporary, for which there has to be a schema.
    fn define_somewhere(&self, binder: &Binder<'_>, statement: &Statement) -> Result<CommandTag, Failure> {
        if !self.prepare_temporary(statement)? {
            return self.define(binder, statement);
        }
        self.frame.inside(|frame| {
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            Schema { frame }.define(&binder, statement)
        })
    }

    fn define(&self, binder: &Binder<'_>, statement: &Statement) -> Result<CommandTag, Failure> {
        match statement {
            Statement::CreateTable(create) => self.create_table(binder, create),
            Statement::CreateSequence(create) => self.create_sequence(create),
            Statement::AlterSequence(alter) => self.alter_sequence(alter),
            Statement::CreateFunction(create) => self.create_function(create),
            Statement::CreateAggregate(create) => self.create_aggregate(create),
            Statement::CreateTrigger(create) => self.create_trigger(binder, create),
            Statement::DropTrigger(drop) => self.drop_trigger(binder, drop),
            Statement::RenameTrigger(rename) => self.rename_trigger(binder, rename),
            Statement::Drop(drop) => self.making_room(|| self.drop(drop)),
            Statement::DropFunction(drop) => self.drop_function(drop),
            Statement::Role(role) => self.role(role),
            Statement::Rights(statement) => self.rights_statement(statement),
            Statement::Schema(schema) => self.schema(schema),
            Statement::Type(statement) => self.type_statement(statement),
            Statement::Comment(comment) => self.comment(comment),
            Statement::View(view) => self.view(binder, view),
            Statement::Truncate(truncate) => self.making_room(|| self.truncate(binder, truncate)),
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::Rename { kind, name, to, if_exists } => self.rename(*kind, name, to, *if_exists),
            Statement::Reindex(reindex) => self.reindex(reindex),
            Statement::AlterIndex(alter) => self.alter_index(alter),
            Statement::Cluster(cluster) => self.cluster(cluster),
            Statement::Analyze(analyze) => self.analyze(binder, analyze),
            Statement::Prewarm(name) => self.prewarm(binder, name),
            Statement::LockTable(lock) => self.lock_table(binder, lock),
            Statement::SetConstraints(set) => set_constraints(self.frame, set),
            Statement::Discard(Discarded::Temporary) => self.discard_temporary(),
            _ => Err(SqlError::internal("no statement of the schema").into()),
        }
    }

    /// Runs what makes room, also where there is none.
    fn making_room<T>(&self, run: impl FnOnce() -> T) -> T {
        self.frame.txn.borrow_mut().set_makes_room(true);
        let done = run();
        self.frame.txn.borrow_mut().set_makes_room(false);
        done
    }

    /// PREWARM TABLE: reads the pages of a table and its indexes into memory; the tag says how many.
    fn prewarm(&self, binder: &Binder<'_>, name: &QualifiedName) -> Result<CommandTag, Failure> {
        let table = binder.table(name)?;
        let rights = |role| self.frame.catalog.rights(role, Object::Relation(table.oid));
        if self.limited().is_some_and(|role| !rights(role).has(Rights::SELECT)) {
            let text = format!("permission denied for table {}", table.name);
            return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).into());
        }
        let engine = &self.frame.services.instance.engine;
        self.frame.tables().lock(&table, TableLockMode::AccessShare)?;
        let mut go_on = || match self.frame.cancel.load(Ordering::Relaxed) {
            true => Err(StorageError::Cancelled),
            false => Ok(()),
        };
        let mut pages = engine.prewarm(table.heap, &mut go_on)?;
        for index in &table.indexes {
            pages += engine.prewarm(index.object, &mut go_on)?;
        }
        Ok(CommandTag { text: format!("PREWARM {pages}"), rows: pages })
    }

    /// A notice that there was nothing to do.
    fn skip(&self, message: String) {
        self.frame.services.notices.tell(Notice::message(message));
    }

    /// The same for what is there already.
    fn skip_known(&self, sqlstate: &str, message: String) {
        let notice = Notice { sqlstate: sqlstate.into(), ..Notice::message(message) };
        self.frame.services.notices.tell(notice);
    }
}

fn text(name: &Name) -> Arc<str> {
    name.text.as_str().into()
}

fn texts(names: &[Name]) -> Vec<Arc<str>> {
    names.iter().map(text).collect()
}

fn options(given: &[(String, String)]) -> TableOptions {
    TableOptions {
        given: given.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect(),
    }
}
