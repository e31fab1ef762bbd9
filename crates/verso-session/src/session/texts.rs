//! Texts that were executed before: the shortest way from a text to its plan.

use std::sync::Arc;

use verso_types::{SqlType, Value};

use super::Session;
use crate::client::StatementSink;
use crate::plans::{Job, Known, OwnStatements, Prepared, is_plain, read_arguments};
use verso_parser::Script;
use verso_parser::syntax::Span;
use verso_planner::errors::SqlError;

impl Session {
    /// Executes a text from the cache, or learns it; none where it has to go the long way.
    pub(super) fn execute_cached(
        &mut self,
        sql: &str,
        params: &[Value],
        sink: &mut dyn StatementSink,
    ) -> Option<Result<(), SqlError>> {
        if !self.services.settings.keeps_statements
            || self.transaction.state().is_some_and(|state| state.changed_schema)
        {
            return None;
        }
        let path = self.path_number()?;
        let mut texts = std::mem::take(&mut self.plans.texts);
        let instance = Arc::clone(&self.services.instance);
        let known = texts.find(&instance.statements, path, sql, params, &mut |text, types| {
            self.prepare_quietly(text, types)
        });
        self.services.planned_once();
        let result = match known {
            // Its literals are read as its parameters' types are defined now.
            Some(Known::Normal(prepared)) if self.is_outdated(&prepared) => None,
            Some(Known::Normal(prepared)) => self.execute_normal(&mut texts, &prepared, sql, sink),
            Some(Known::AsItIs(prepared)) => Job::prepared(&prepared, params)
                .map(|job| self.one(&Job { ends: self.transaction.series, ..job }, sink)),
            None => None,
        };
        self.plans.texts = texts;
        result
    }

    fn is_outdated(&self, prepared: &Prepared) -> bool {
        prepared.takes_types_of_users()
            && self.with_catalog(|_, catalog, _| Ok(prepared.is_outdated(catalog))).unwrap_or_default()
    }

    /// The number of the search path; none where it cannot be told now.
    fn path_number(&self) -> Option<u64> {
        if let Some(number) = self.services.path_number() {
            return Some(number);
        }
        self.with_catalog(|_, catalog, _| Ok(catalog.key().path)).ok()
    }

    /// Executes a text whose literals are parameters; none where one of them is no value of its parameter's type. What is wrong
    /// with it, the long way will say, if anything is: the column may have had that type when the text was kept.
    fn execute_normal(
        &mut self,
        texts: &mut OwnStatements,
        prepared: &Arc<Prepared>,
        sql: &str,
        sink: &mut dyn StatementSink,
    ) -> Option<Result<(), SqlError>> {
        self.know_names(prepared.params());
        let mut values = std::mem::take(&mut texts.normal.values);
        let read = read_arguments(
            prepared.params(),
            &mut values,
            &self.services.settings.time_zone,
            self.services.memory.lend().account,
        );
        let job = if read.is_ok() { Job::prepared(prepared, &values) } else { None };
        let result = job.map(|job| {
            let at = Span { start: 0, end: u32::MAX };
            let job = Job { sql, at, byte: Some(0), shows: false, ends: self.transaction.series, ..job };
            self.one(&job, sink).map_err(|error| match error.position {
                Some(position) if error.context.is_none() => {
                    let position = texts.normal.given_position(sql, position);
                    SqlError { position: Some(position), ..error }
                }
                _ => error,
            })
        });
        if read.is_err() {
            self.forget_if_changed(prepared);
        }
        values.clear();
        texts.normal.values = values;
        result
    }

    /// Forgets a kept text whose parameters have other types by now (K3).
    fn forget_if_changed(&self, prepared: &Prepared) {
        let style = &self.services.settings.time_zone;
        // Planning it anew is what tells. An error says that it is not one any more, and is for the long way to say.
        let _ = self.with_catalog(|_, catalog, keep| prepared.plan(catalog, style, keep).map(drop));
    }

    /// Prepares a query or change of rows; what is wrong with it, the long way will say.
    fn prepare_quietly(&mut self, sql: &str, types: &[Option<SqlType>]) -> Option<Prepared> {
        let mut script = Script::read(sql, &mut |_| ()).ok()?;
        // Names that are cut are told each time, which the long way does.
        if script.len() != 1 || !script.cut_names().is_empty() {
            return None;
        }
        let parsed = script.take(0).ok()?;
        SqlError::check_databases(&parsed.databases, self.services.database()).ok()?;
        if !is_plain(&parsed.statement) {
            return None;
        }
        let held = self.services.memory.for_text(&self.services.settings, sql).ok()?;
        let nothing = Prepared::unbound(sql.into(), Some(parsed), types).holding(held).for_others();
        let prepared = self.prepare_unbound(nothing, types).ok()?;
        prepared.is_plain().then_some(prepared)
    }
}
