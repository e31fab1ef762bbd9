//! SET, RESET, SHOW, and what follows from new settings.

use verso_types::{Batch, SqlType, Value};

use super::Session;
use crate::client::{CommandTag, Notice, StatementSink, StatementStatistics, tag};
use crate::plans::{SHOW_ALL_COLUMNS, STATISTICS_COLUMNS, text_columns};
use crate::settings::{Change, Settings, check_may_set, flag};
use crate::transaction::Block;
use verso_parser::syntax::{ActAs, IsolationLevel, Name, Span, TransactionModes};
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    /// SET.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        local: bool,
    ) -> Result<CommandTag, SqlError> {
        if local && self.transaction.state().is_none_or(|state| state.block == Block::Statement) {
            let text = "SET LOCAL can only be used in transaction blocks";
            self.services.notices.warn(sqlstate::NO_ACTIVE_TRANSACTION, text);
            return Ok(tag("SET"));
        }
        if let Some(modes) = modes_of(name, value)? {
            // Outside of a block they are those of this very statement.
            return if self.transaction.is_open() { self.set_transaction(&modes) } else { Ok(tag("SET")) };
        }
        if name == "session_authorization" {
            let who = value.map(|value| Name { text: value.to_string(), at: Span::default() });
            return self.act_as(&ActAs::Session(who), local, false);
        }
        if let (SEED, Some(value)) = (name, value) {
            self.services.seed(value)?;
            return Ok(tag("SET"));
        }
        self.change_setting(name, value, local)?;
        Ok(tag("SET"))
    }

    /// Changes one; without a value to what the session began with.
    fn change_setting(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<(), SqlError> {
        check_may_set(name, || self.may_set(name))?;
        let noted = self.transaction.active_mut().map(|active| &mut active.state.settings);
        self.services.settings.change_one(name, value, local, noted)?;
        self.settings_changed();
        Ok(())
    }

    /// Whether the role has been granted the right to a setting by now; SET works without the catalog otherwise.
    pub(super) fn may_set(&self, name: &str) -> bool {
        self.know_rights().is_ok() && self.services.may_set(name, verso_catalog::Rights::SET)
    }

    /// What `set_config` asked for in a statement that is done.
    pub(super) fn change_asked_settings(&mut self) -> Result<(), SqlError> {
        if let Some(active) = self.transaction.active_mut() {
            self.services.keep_read_only(active.txn.get_mut());
            let read_only = active.txn.get_mut().is_read_only();
            active.set_read_only(read_only);
        }
        let Some(asked) = self.services.settings.take_asked() else { return Ok(()) };
        asked.changes.iter().try_for_each(|(change, local)| self.change(change, *local))
    }

    /// Makes a change that was asked for.
    pub(super) fn change(&mut self, change: &Change, local: bool) -> Result<(), SqlError> {
        if let Change::Setting(name, value) = change {
            return self.change_setting(name, value.as_deref(), local);
        }
        self.change_settings(local, |settings| change.make(settings, &Settings::default()))?;
        self.services.names_path.forget();
        Ok(())
    }

    /// SET SESSION CHARACTERISTICS: what later transactions begin with.
    pub(crate) fn set_characteristics(&mut self, modes: &TransactionModes) -> Result<CommandTag, SqlError> {
        self.change_settings(false, |settings| {
            settings.isolation = modes.isolation.unwrap_or(settings.isolation);
            settings.read_only = modes.read_only.unwrap_or(settings.read_only);
            settings.savepoints = modes.savepoints.unwrap_or(settings.savepoints);
            settings.deferrable = modes.deferrable.unwrap_or(settings.deferrable);
            Ok(())
        })?;
        Ok(tag("SET"))
    }

    /// RESET.
    pub(crate) fn reset(&mut self, name: &str) -> Result<CommandTag, SqlError> {
        check_resets(name)?;
        if name == "session_authorization" {
            return self.act_as(&ActAs::Session(None), false, true);
        }
        self.change_setting(name, None, false)?;
        Ok(tag("RESET"))
    }

    /// RESET ALL.
    pub(crate) fn reset_all(&mut self) -> Result<CommandTag, SqlError> {
        let noted = self.transaction.active_mut().map(|active| &mut active.state.settings);
        self.services.settings.change_all_back(noted)?;
        self.settings_changed();
        Ok(tag("RESET"))
    }

    /// Changes settings: until the transaction ends, or for good if it commits.
    pub(crate) fn change_settings(
        &mut self,
        local: bool,
        change: impl Fn(&mut Settings) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let noted = self.transaction.active_mut().map(|active| &mut active.state.settings);
        self.services.settings.change(local, noted, change)?;
        self.settings_changed();
        Ok(())
    }

    /// What follows from new settings.
    pub(crate) fn settings_changed(&mut self) {
        let services = &self.services;
        let name = &services.settings.application_name;
        if **services.info.application.lock() != **name {
            *services.info.application.lock() = name.as_str().into();
        }
        if services.settings.has_timeouts() && !self.is_timed {
            self.is_timed = true;
            services.instance.sessions.start_timer(&services.env);
        }
        if self.is_timed
            && let Some(active) = self.transaction.active()
        {
            active.txn.borrow_mut().set_lock_timeout(services.settings.lock_timeout());
            let deadline = services.clocks.deadline(services.settings.transaction_timeout_ms);
            services.info.change_transaction_deadline(deadline);
        }
    }

    /// The session begins with waiting for its first statement.
    pub(crate) fn idles_from_now(&self) {
        if self.is_timed {
            let services = &self.services;
            let deadline = services.clocks.deadline(services.settings.idle_session_timeout_ms);
            services.info.end_statement(deadline, false);
        }
    }

    /// SHOW.
    pub(crate) fn show_setting(
        &self,
        name: &str,
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        let (title, value) = self.services.shown_as(name)?;
        send_texts(sink, &[&title], &[vec![value]])
    }

    /// SHOW ALL.
    pub(crate) fn show_all(&self, sink: &mut dyn StatementSink) -> Result<CommandTag, SqlError> {
        let rows = self.services.show_all();
        send_texts(sink, &SHOW_ALL_COLUMNS, &rows)
    }

    /// SHOW STATEMENT STATISTICS.
    pub(crate) fn show_statistics(&self, sink: &mut dyn StatementSink) -> Result<CommandTag, SqlError> {
        if !self.services.settings.statement_statistics {
            let hint = "SET statement_statistics = on, or SET STAT ON, measures the statements behind it.";
            let notice = Notice::message("statements are not measured");
            self.services.notices.tell(Notice { hint: Some(hint.to_string()), ..notice });
        }
        // Nothing rather than zeros that nobody has counted.
        let Some(statistics) = self.measures.last().cloned() else {
            return send_texts(sink, &STATISTICS_COLUMNS, &[]);
        };
        let StatementStatistics {
            memory_current_bytes,
            memory_delta_bytes,
            memory_max_bytes,
            elapsed_nanos,
            buffers,
            reads,
            writes,
            fetches,
            redo_bytes,
            waits,
            wait_nanos,
            commits,
            fsyncs,
            ..
        } = statistics;
        let (group, fsync_nanos) = (statistics.group_size(), statistics.fsync_mean_nanos());
        let row = |name: &str, value: String| vec![name.to_string(), value];
        let rows = [
            row("current memory", memory_current_bytes.to_string()),
            row("delta memory", memory_delta_bytes.to_string()),
            row("max memory", memory_max_bytes.to_string()),
            row("elapsed time", format!("{:.6} s", elapsed_nanos as f64 / 1e9)),
            row("buffers", buffers.to_string()),
            row("reads", reads.to_string()),
            row("writes", writes.to_string()),
            row("fetches", fetches.to_string()),
            row("redo", redo_bytes.to_string()),
            row("waits", waits.to_string()),
            row("wait time", format!("{:.6} s", wait_nanos as f64 / 1e9)),
            row("commits", commits.to_string()),
            row("commits per flush", format!("{group:.1}")),
            row("fsyncs", fsyncs.to_string()),
            row("fsync time", format!("{:.6} s", fsync_nanos as f64 / 1e9)),
        ];
        send_texts(sink, &STATISTICS_COLUMNS, &rows)
    }
}

/// Where random numbers go on from: it has no value to be shown or brought back, and stays as it is when a transaction fails.
pub(crate) const SEED: &str = "seed";

/// Refuses what belongs to the transaction that runs, and the seed: no setting could bring them back.
///
/// # Errors
/// 0A000
pub(crate) fn check_resets(name: &str) -> Result<(), SqlError> {
    if !matches!(name, "transaction_isolation" | "transaction_read_only" | "transaction_deferrable" | SEED) {
        return Ok(());
    }
    let text = format!("parameter \"{name}\" cannot be reset");
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
}

/// What SET TRANSACTION says otherwise: settings that are modes of the transaction.
///
/// # Errors
/// 22023 for a value that is none of them, 0A000 without one.
pub(crate) fn modes_of(name: &str, value: Option<&str>) -> Result<Option<TransactionModes>, SqlError> {
    let Some(value) = value else { return check_resets(name).map(|()| None) };
    let mut modes = TransactionModes::default();
    match name {
        "transaction_isolation" => {
            let text = format!("invalid value for parameter \"{name}\": \"{value}\"");
            let level = IsolationLevel::parse(value);
            modes.isolation =
                Some(level.ok_or_else(|| SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text))?);
        }
        "transaction_read_only" => modes.read_only = Some(flag(name, Some(value), false)?),
        "transaction_deferrable" => modes.deferrable = Some(flag(name, Some(value), false)?),
        _ => return Ok(None),
    }
    Ok(Some(modes))
}

/// Sends rows of texts.
fn send_texts(
    sink: &mut dyn StatementSink,
    names: &[&str],
    rows: &[Vec<String>],
) -> Result<CommandTag, SqlError> {
    let mut batch = Batch::of_types(&vec![SqlType::Text; names.len()]);
    for row in rows {
        for (column, text) in batch.columns.iter_mut().zip(row) {
            column.push_value(&Value::text(text), &SqlType::Text)?;
        }
        batch.rows += 1;
    }
    sink.begin(&text_columns(names))?;
    sink.batch(&batch)?;
    Ok(CommandTag { text: "SHOW".to_string(), rows: rows.len() as u64 })
}
