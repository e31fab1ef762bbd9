//! Statements of the schema within a running statement: CREATE TABLE in a function, TRUNCATE in a block.
//!
//! ```text
//! DO, SELECT f() ─► step of the body ─► statement of its own within the transaction's ─► the body goes on, bound anew
//! ```
//!
//! D1. Such a statement sees what those before it did, and nobody else sees it before the commit. If it fails, only its own
//!     changes are taken back: a handler of the body may go on.
//! D2. What was bound before is bound anew where the body comes to it. What cannot be, the statement around the function
//!     itself, does not touch a table again that has changed: it fails with 55006.
//! D3. A table that statements around the function use is neither changed nor dropped nor emptied: such a statement of the
//!     schema is refused before it begins (55006, `ddl/in_use.rs`).
//! D4. In a SECURITY DEFINER function it is the owner's: what it makes belongs to the owner, and what it may do is what the owner
//!     may.

use std::cell::RefCell;
use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, Oid, TableDef};
use verso_exec::context::{Definitions, Given, HeldSettings, Served};
use verso_exec::error::{ExecError, Result};
use verso_storage::Txn;

use crate::client::{Client, Nowhere, Results};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::plans::{Begins, Done, Job, changes, command, maintains};
use crate::services::Services;
use crate::{ddl, executing, framed, serving};
use verso_parser::parse_script;
use verso_parser::syntax::Statement;
use verso_planner::errors::{SqlError, sqlstate};

/// PostgreSQL says where the names of types, columns and functions stand, but not where the relation of a statement of the
/// schema does.
fn without_place(failure: Failure, statement: &Statement) -> Failure {
    let reads =
        matches!(statement, Statement::CreateTable(_) | Statement::CreateTableAs(_) | Statement::View(_));
    if reads || failure.error.sqlstate != sqlstate::UNDEFINED_TABLE {
        return failure;
    }
    Failure { error: SqlError { position: None, ..failure.error }, ..failure }
}

impl Definitions for Frame<'_> {
    fn define(
        &self,
        text: &str,
        given: Given<'_>,
        catalog: &Arc<CatalogSnapshot>,
        used: &[Oid],
    ) -> Result<Served> {
        let run = || -> std::result::Result<Served, Failure> {
            verso_env::stack::check().map_err(ExecError::from)?;
            let statements = parse_script(text)?;
            let parsed = match statements.as_slice() {
                [] => return Ok(Served::default()),
                [parsed] => parsed,
                _ => {
                    return Err(SqlError::unsupported("several statements in one step of a function").into());
                }
            };
            SqlError::check_databases(&parsed.databases, self.services.database())?;
            if let Some(word) = parsed.statement.of_transactions().filter(|_| given.sql) {
                let text = format!("{word} is not allowed in an SQL function");
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
            }
            if given.read_only {
                let text =
                    format!("{} is not allowed in a non-volatile function", command(&parsed.statement));
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
            }
            if let Some(word) = parsed.statement.stands_outside() {
                let text = format!("{word} cannot be executed from a function");
                return Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, text).into());
            }
            let read_only = self.txn.borrow().is_read_only();
            let lifted = read_only && maintains(&parsed.statement);
            if let Some(word) = changes(&parsed.statement)
                && read_only
                && !lifted
            {
                let text = format!("cannot execute {word} in a read-only transaction");
                return Err(SqlError::new(sqlstate::READ_ONLY_TRANSACTION, text).into());
            }
            if parsed.statement.serves() {
                // Behind the end of a transaction the body goes by another catalog than the statement around it.
                let frame = Frame { catalog, keeps: false, transitions: given.transitions, ..*self };
                return serving::serve(&frame, parsed, text, given);
            }
            if !parsed.statement.defines() {
                return Err(SqlError::unsupported("this statement in a function").into());
            }
            // What fails may have seen that others changed the catalog: either way it is looked at anew.
            self.services.defined.set(self.services.defined.get() + 1);
            let _defining = Defining::begin(self.services, used);
            let mut nowhere = Nowhere;
            let client = Client::new(&mut nowhere);
            let mut results = Results::aside(&client, self.services.memory.lend());
            let job = Job::of(parsed, text, given.params);
            if lifted {
                self.txn.borrow_mut().set_read_only(false);
            }
            let around = match self.services.acting.get() {
                // The body runs with the rights of its function's owner (D4).
                Some(_) => Frame { catalog, keeps: false, transitions: given.transitions, ..*self },
                None => Frame { transitions: given.transitions, ..*self },
            };
            let begins = Begins::of(&parsed.statement);
            let done = around.inside_as(begins, |frame| match (&parsed.statement, given.query) {
                (Statement::CreateTableAs(create), Some(query)) => {
                    Ok(Done::Tag(ddl::fill_table_as(frame, create, query, given.params)?))
                }
                (Statement::Execute { name, args, purpose }, _) => {
                    executing::execute(frame, (name, args, purpose), &mut results)
                }
                _ => framed::statement(frame, &job, given.types, &mut results),
            });
            if lifted {
                self.txn.borrow_mut().set_read_only(true);
            }
            let done = done.map_err(|failure| without_place(failure, &parsed.statement))?;
            Ok(Served { rows: done.into_tag().rows, yields: None })
        };
        // What has ended a transaction does not begin anew; nor does such a statement by itself.
        let may_restart = self.services.may_restart.get();
        self.services.may_restart.set(may_restart && !self.services.has_ended.get());
        let served = run();
        self.services.may_restart.set(may_restart);
        // Its place is one in this text.
        let served = served.map_err(|Failure { error, .. }| ExecError::from(error.within(text)))?;
        self.outgoing.flush()?;
        Ok(served)
    }

    fn count(&self) -> u32 {
        let Services { defined, renewed, asked, .. } = self.services;
        defined.get() + renewed.get() + asked.get()
    }

    fn renewed(&self, catalog: &Arc<CatalogSnapshot>) -> Result<HeldSettings> {
        let services = self.services;
        let now = {
            // As a new statement sees it: what others have committed by now is in it.
            let mut txn = self.txn.borrow_mut();
            txn.begin_statement()?;
            let now = services.snapshot_asked(&txn, catalog.key().role);
            txn.end_statement()?;
            now?
        };
        let asked = services.settings.asked();
        services.lend_names(&now);
        *services.redefined.borrow_mut() = Some(Arc::clone(&now));
        let time_zone =
            asked.map_or_else(|| services.settings.time_zone.clone(), |asked| asked.time_zone.clone());
        Ok(HeldSettings { catalog: now, time_zone, work_bytes: None })
    }
}

/// Says, until it is dropped, that a statement of the schema runs.
struct Defining<'s> {
    services: &'s Services,
    outer: bool,
    /// How many tables statements around the function use that runs the one around this one.
    used: usize,
}

impl Defining<'_> {
    fn begin<'s>(services: &'s Services, used: &[Oid]) -> Defining<'s> {
        let mut in_use = services.in_use.borrow_mut();
        let outer_used = in_use.len();
        in_use.extend_from_slice(used);
        Defining { services, outer: services.defining.replace(true), used: outer_used }
    }
}

impl Drop for Defining<'_> {
    fn drop(&mut self) {
        self.services.defining.set(self.outer);
        self.services.in_use.borrow_mut().truncate(self.used);
    }
}

impl Services {
    /// Refuses a table that a statement within the running one has changed or dropped, as it was before (D2).
    pub(crate) fn check_not_redefined(&self, txn: &RefCell<Txn>, table: &TableDef) -> Result<()> {
        if table.is_system() || self.defining.get() {
            return Ok(());
        }
        let now = self.snapshot(&txn.borrow())?;
        let same = |now: &Arc<TableDef>| now.heap == table.heap && now.columns == table.columns;
        let now = now.table_by_oid(table.oid);
        if now.as_ref().is_some_and(same) {
            return Ok(());
        }
        // What others have changed is found behind the lock.
        if self.instance.catalog.is_committed(table.oid, now.as_deref())? {
            return Ok(());
        }
        let text =
            format!("table \"{}\" was changed by a function of the statement that uses it", table.name);
        Err(ExecError::raised("55006", text))
    }
}
