//! PREPARE, EXECUTE, DEALLOCATE, DISCARD.

use std::cell::RefCell;
use std::sync::Arc;

use verso_types::Value;

use super::Session;
use crate::client::{Client, CommandTag, Nowhere, OutputColumn, Results, StatementSink, tag};
use crate::executing;
use crate::plans::{Begins, Done, Job, Prepared};
use verso_parser::syntax::{ActAs, Discarded, ExecutePurpose, Expr, Name, Prepare};
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    // ── prepared statements ──────────────────────────────────────────────────────────────────────────────────────────

    /// PREPARE.
    pub(crate) fn prepare_named(&mut self, job: &Job<'_>, prepare: &Prepare) -> Result<CommandTag, SqlError> {
        let name = &prepare.name.text;
        self.services.named.check_free(name)?;
        let parsed = Some((*prepare.statement).clone());
        let types = self.with_catalog(|session, catalog, _| {
            executing::types_of(prepare, catalog, &session.services.settings.time_zone)
        })?;
        let held = self.services.memory.for_kept(&self.services.settings, job.shown())?;
        let identity = (job.identity.id(), job.identity.text(job.sql).into());
        let prepared = self.prepare_parsed(job.shown().into(), parsed, &types, Some(held))?;
        let prepared = prepared.known_as(Some(identity));
        self.tracked_plan(&prepared);
        self.keep_statement(name, Arc::new(prepared), true);
        Ok(tag("PREPARE"))
    }

    /// EXECUTE.
    pub(crate) fn execute_named(
        &mut self,
        name: &Name,
        args: &[Expr],
        purpose: &ExecutePurpose,
        job: &Job<'_>,
        sink: &mut dyn StatementSink,
    ) -> Result<Done, SqlError> {
        let prepared = self.statement(&name.text)?;
        executing::check_arguments(name, args, &prepared)?;
        let values = if args.is_empty() { Vec::new() } else { self.values_of(args, &prepared)? };
        let generic = !prepared.wants_values(self.services.settings.plan_cache_mode);
        let prepared = match executing::purposed(&prepared, purpose)? {
            Some(other) => Arc::new(other),
            None => {
                self.executed = Some(Arc::clone(&prepared));
                prepared
            }
        };
        let inner = Job::prepared(&prepared, &values);
        let inner = inner.ok_or_else(|| SqlError::internal("an empty statement was prepared"))?;
        self.transactional(&Job { generic, ends: job.ends, ..inner }, sink)
    }

    /// The values of EXECUTE's arguments, in the parameters' types. Opens the transaction that the statement runs in.
    fn values_of(&mut self, args: &[Expr], prepared: &Prepared) -> Result<Vec<Value>, SqlError> {
        self.ensure_active_for(false)?;
        let mut nowhere = Nowhere;
        let client = Client::new(&mut nowhere);
        let mut results = Results::aside(&client, self.services.memory.lend());
        self.framed(Begins::Plain, &mut results, |frame, _| executing::values_of(frame, args, prepared))
    }

    /// The prepared statement of that name, of PREPARE or of the protocol's Parse.
    ///
    /// # Errors
    /// 26000.
    pub fn statement(&self, name: &str) -> Result<Arc<Prepared>, SqlError> {
        self.services.named.get(name)
    }

    /// Gives a prepared statement a name, so that EXECUTE finds it.
    ///
    /// # Errors
    /// 42P05 if there is one of that name.
    pub fn name_statement(&mut self, name: &str, prepared: Arc<Prepared>) -> Result<(), SqlError> {
        self.services.named.check_free(name)?;
        self.keep_statement(name, prepared, false);
        Ok(())
    }

    fn keep_statement(&mut self, name: &str, prepared: Arc<Prepared>, from_sql: bool) {
        let at = self.services.clocks.now_rough();
        self.services.named.keep(name, prepared, from_sql, at);
    }

    /// Forgets a named statement; whether there was one.
    pub fn forget_statement(&mut self, name: &str) -> bool {
        self.services.named.forget(name)
    }

    /// DEALLOCATE.
    pub(crate) fn deallocate(&mut self, name: Option<&Name>) -> Result<CommandTag, SqlError> {
        self.services.named.deallocate(name.map(|name| name.text.as_str()))?;
        if name.is_none() {
            return Ok(tag("DEALLOCATE ALL"));
        }
        Ok(tag("DEALLOCATE"))
    }

    /// DISCARD ALL.
    pub(crate) fn discard_all(&mut self) -> Result<CommandTag, SqlError> {
        if self.transaction.is_open() {
            let text = "DISCARD ALL cannot run inside a transaction block";
            return Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, text));
        }
        self.services.unlisten_all();
        self.services.cursors.clear();
        self.services.named.clear();
        self.services.sequences.forget();
        self.services.instance.engine.advisory_unlock_all(&self.services.owner);
        if self.services.temporary.take_used() {
            self.drop_temporary()?;
        }
        self.act_as(&ActAs::Session(None), false, true)?;
        self.reset_all()?;
        Ok(tag("DISCARD ALL"))
    }

    /// DISCARD of a part of what the session has; of temporary tables where it is in no transaction.
    pub(crate) fn discard(&mut self, part: Discarded) -> Result<CommandTag, SqlError> {
        Ok(tag(match part {
            Discarded::Plans => {
                self.plans.ready = RefCell::default();
                "DISCARD PLANS"
            }
            Discarded::Sequences => {
                self.services.sequences.forget();
                "DISCARD SEQUENCES"
            }
            Discarded::Temporary => {
                if self.services.temporary.take_used() {
                    self.drop_temporary()?;
                }
                "DISCARD TEMP"
            }
        }))
    }

    /// What a cursor yields that DECLARE or a function has opened; none where there is no such cursor.
    pub fn cursor_columns(&self, name: &str) -> Option<Vec<OutputColumn>> {
        self.services.cursors.columns(name).or_else(|| self.columns_of_portal(name))
    }
}
