//! Which part of the session runs a statement, and which statements its transaction accepts now.

use super::Session;
use crate::client::StatementSink;
use crate::client::tag;
use crate::plans::{Done, Job};
use crate::plans::{Prepared, ends_transaction};
use verso_exec::plan::CommitWrite;
use verso_parser::syntax::{self, Discarded, Statement};
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    /// Runs a statement: a query or a change in its frame, the others wherever they belong.
    pub(crate) fn dispatch(&mut self, job: &Job<'_>, sink: &mut dyn StatementSink) -> Result<Done, SqlError> {
        if job.prepared.is_some_and(Prepared::is_plain) {
            self.transaction.check_accepts(job.statement)?;
            if self.may_be_direct(job) {
                if let Some(done) = self.direct(job)? {
                    return Ok(done);
                }
                self.services.clocks.start_statement(false);
            }
            return self.transactional(job, sink);
        }
        self.other(job, sink)
    }

    /// What is no query or change.
    fn other(&mut self, job: &Job<'_>, sink: &mut dyn StatementSink) -> Result<Done, SqlError> {
        if !looks_itself(job.statement) {
            self.transaction.check_accepts(job.statement)?;
        }
        if let Some(word) = job.statement.stands_alone()
            && (self.transaction.is_open() || self.transaction.several)
        {
            let text = format!("{word} cannot run inside a transaction block");
            return Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, text));
        }
        if let Some(tag) = self.said_elsewhere(job)? {
            return Ok(Done::Tag(tag));
        }
        self.begin_series_for(job.statement)?;
        if asks_for_rights(job.statement) {
            self.know_rights()?;
        }
        let tag = match job.statement {
            Statement::Begin { modes, start } => {
                self.begin(modes).map(|()| tag(if *start { "START TRANSACTION" } else { "BEGIN" }))
            }
            Statement::PrepareTransaction(gid) => self.prepare_transaction(gid),
            Statement::SetTransaction(modes) => self.set_transaction(modes),
            Statement::Commit { chain, write: syntax::CommitWrite { wait, batch } } => {
                self.commit(*chain, CommitWrite { wait: *wait, batch: *batch })
            }
            Statement::Rollback { chain } => self.rollback(*chain),
            Statement::RollbackTo(name) => self.rollback_to(name),
            Statement::EndPrepared { gid, commit } => self.end_prepared(gid, *commit),
            Statement::Savepoint(name) => self.savepoint(name),
            Statement::Release { name, only } => self.release(name, *only),
            Statement::SetSessionCharacteristics(modes) => self.set_characteristics(modes),
            Statement::Set { name, value, local } => self.set(&name.text, value.as_deref(), *local),
            Statement::Reset(name) => self.reset(&name.text),
            Statement::ResetAll => self.reset_all(),
            Statement::Show(name) => self.show_setting(&name.text, sink),
            Statement::ShowAll => self.show_all(sink),
            Statement::ShowStatementStatistics => self.show_statistics(sink),
            Statement::Sweep { nothing: true, .. } => Ok(tag("VACUUM")),
            Statement::Sweep { tables, verbose, parallel, vacuum, analyze, full, nothing: _ } => {
                let word = if *vacuum { "VACUUM" } else { "SWEEP" };
                let done = match tables.is_empty() {
                    _ if *full => self.vacuum_full(job, tables, *verbose, sink),
                    true => self.sweep(word, None, *verbose, *parallel),
                    false => tables
                        .iter()
                        .try_for_each(|table| self.sweep(word, Some(table), *verbose, *parallel).map(drop))
                        .map(|()| tag(word)),
                };
                if let (Ok(_), Some(analyze)) = (&done, analyze) {
                    let statement = Statement::Analyze(analyze.clone());
                    self.transactional(&Job { statement: &statement, ..*job }, sink)?;
                }
                done
            }
            Statement::Checkpoint => {
                self.services.checkpoint()?;
                Ok(tag("CHECKPOINT"))
            }
            Statement::Backup { folder, parent } => self.backup(folder, parent.as_deref()),
            Statement::LogicalBackup(wanted) => self.export(wanted, sink),
            Statement::Prepare(prepare) => self.prepare_named(job, prepare),
            Statement::Execute { name, args, purpose } => {
                return self.execute_named(name, args, purpose, job, sink);
            }
            Statement::Deallocate(name) => self.deallocate(name.as_ref()),
            Statement::DiscardAll => self.discard_all(),
            Statement::Discard(Discarded::Temporary) if self.transaction.is_open() => {
                return self.transactional(job, sink);
            }
            Statement::Discard(part) => self.discard(*part),
            Statement::ActAs { who, local, reset } => self.act_as(who, *local, *reset),
            Statement::Declare(cursor) => self.declare(job, cursor, sink),
            Statement::Fetch(fetch) => self.fetch(fetch, sink),
            Statement::Close(name) => self.close_cursor(name.as_ref()),
            Statement::AlterDatabase { system, database, name, value } => {
                if !*system {
                    self.check_writable(job.statement)?;
                }
                self.alter_database(*system, database.as_ref(), name, value.as_deref())
            }
            Statement::AddLogFile { size } => self.add_log_file(size),
            Statement::DropLogFile { number } => self.drop_log_file(*number),
            Statement::Database(statement) => {
                self.check_writable(job.statement)?;
                self.database_statement(statement)
            }
            Statement::Reindex(reindex) if reindex.names_many() => self.reindex_many(job, reindex, sink),
            Statement::Cluster(cluster) if cluster.table.is_none() => {
                self.cluster_many(job, cluster.verbose, sink)
            }
            Statement::Reindex(_)
            | Statement::Cluster(_)
            | Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Flashback(_)
            | Statement::Prewarm(_)
            | Statement::Do(_)
            | Statement::Call(_)
            | Statement::Explain { .. }
            | Statement::CreateTable(_)
            | Statement::CreateTableAs(_)
            | Statement::CreateSequence(_)
            | Statement::AlterSequence(_)
            | Statement::CreateFunction(_)
            | Statement::CreateAggregate(_)
            | Statement::CreateTrigger(_)
            | Statement::DropTrigger(_)
            | Statement::RenameTrigger(_)
            | Statement::Drop(_)
            | Statement::DropFunction(_)
            | Statement::Copy(_)
            | Statement::Role(_)
            | Statement::Rights(_)
            | Statement::Schema(_)
            | Statement::Type(_)
            | Statement::Comment(_)
            | Statement::View(_)
            | Statement::CreateIndex(_)
            | Statement::AlterTable(_)
            | Statement::Rename { .. }
            | Statement::AlterIndex(_)
            | Statement::LockTable(_)
            | Statement::Listen(_)
            | Statement::Notify(..)
            | Statement::Unlisten(_)
            | Statement::SetConstraints(_)
            | Statement::Analyze(_)
            | Statement::Truncate(_) => return self.transactional(job, sink),
        };
        tag.map(Done::Tag)
    }
}

/// Whether a statement says itself what a transaction that has failed does about it.
fn looks_itself(statement: &Statement) -> bool {
    ends_transaction(statement) || matches!(statement, Statement::Begin { .. } | Statement::SetTransaction(_))
}

/// Whether a statement that works without the catalog asks what its role may do.
fn asks_for_rights(statement: &Statement) -> bool {
    match statement {
        Statement::Show(name) => crate::settings::is_secret(&name.text),
        Statement::ShowAll
        | Statement::Checkpoint
        | Statement::Backup { .. }
        | Statement::LogicalBackup(_)
        | Statement::AlterDatabase { .. }
        | Statement::AddLogFile { .. }
        | Statement::DropLogFile { .. }
        | Statement::Database(_) => true,
        _ => false,
    }
}
