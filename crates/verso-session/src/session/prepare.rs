//! Statements parsed and bound ahead of their execution.

use std::borrow::Cow;
use std::sync::Arc;

use verso_catalog::CatalogSnapshot;
use verso_exec::memory::Reservation;
use verso_types::SqlType;

use super::Session;
use crate::client::Notice;
use crate::framed::outgoing_columns;
use crate::plans::{
    Prepared, SHOW_ALL_COLUMNS, STATISTICS_COLUMNS, ends_transaction, explain_columns, is_plain, text_columns,
};
use verso_parser::Script;
use verso_parser::syntax::{ExecutePurpose, Parsed, Statement};
use verso_planner::bind::{Binder, Inference};
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    /// Parses and binds a text of one statement, or of none. Where `types` has no type for a parameter, or `None`, the
    /// statement's first use of it says its type, as in PostgreSQL.
    ///
    /// # Errors
    /// Those of parsing and binding; 42601 for several statements; 42P18 where a parameter's type cannot be told; 25P02
    /// in a failed transaction, but for statements that end it.
    pub fn prepare(&mut self, sql: &str, types: &[Option<SqlType>]) -> Result<Arc<Prepared>, SqlError> {
        self.services.info.clear();
        self.read_outside();
        let mut prepared = self.contained(|session| session.prepare_within(sql, types));
        match &mut prepared {
            Ok(prepared) => self.tracked_plan(prepared),
            Err(error) => self.fail_work(error),
        }
        prepared.map(Arc::new)
    }

    fn prepare_within(&mut self, sql: &str, types: &[Option<SqlType>]) -> Result<Prepared, SqlError> {
        let held = self.services.memory.for_kept(&self.services.settings, sql)?;
        let mut script = Script::read(sql, &mut |_| ())?;
        if script.len() > 1 {
            let text = "cannot insert multiple commands into a prepared statement";
            return Err(SqlError::syntax(text));
        }
        self.tell_of_cut_names(&script);
        let parsed = if script.is_empty() { None } else { Some(script.take(0)?) };
        let databases = parsed.as_ref().map_or(&[][..], |parsed| &parsed.databases[..]);
        SqlError::check_databases(databases, self.services.database())?;
        self.prepare_parsed(sql.into(), parsed, types, Some(held))
    }

    /// Tells the client which of its names are taken without their ends.
    pub(crate) fn tell_of_cut_names(&self, script: &Script<'_>) {
        for (name, cut) in script.cut_names() {
            let text = format!("identifier \"{name}\" will be truncated to \"{cut}\"");
            let notice = Notice { sqlstate: "42622".into(), ..Notice::message(text) };
            self.services.notices.tell(notice);
        }
    }

    /// The type of a parameter that a client declares by its number; none is to be found out.
    ///
    /// # Errors
    /// 42704 for a number without a type; those of reading the catalog.
    pub fn parameter_type(&self, oid: u32) -> Result<Option<SqlType>, SqlError> {
        if matches!(oid, 0 | 705) {
            return Ok(None);
        }
        let known = match SqlType::from_pg_oid(oid, -1) {
            Some(known) => Some(known),
            None => self.with_catalog(|_, catalog, _| Ok(catalog.type_by_oid(oid, -1)))?,
        };
        known.map(Some).ok_or_else(|| {
            SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("type with OID {oid} does not exist"))
        })
    }

    /// Binds a statement to be executed later; `held` is what the session is charged for it.
    pub(crate) fn prepare_parsed(
        &mut self,
        text: Arc<str>,
        parsed: Option<Parsed>,
        types: &[Option<SqlType>],
        held: Option<Reservation>,
    ) -> Result<Prepared, SqlError> {
        self.prepare_unbound(Prepared::unbound(text, parsed, types).holding(held), types)
    }

    /// The same of one that has no plan yet.
    pub(super) fn prepare_unbound(
        &mut self,
        nothing: Prepared,
        types: &[Option<SqlType>],
    ) -> Result<Prepared, SqlError> {
        let Some(statement) = nothing.statement() else { return Ok(nothing) };
        if !ends_transaction(statement) {
            self.transaction.check_accepts(statement)?;
        }
        if let Statement::Call(call) = statement {
            let inference = Inference::new(types);
            let function = self.with_catalog(|session, catalog, _| {
                let time_zone = &session.services.settings.time_zone;
                Ok(Binder::inferring(catalog, time_zone, &inference).procedure(call)?.0)
            })?;
            let columns = outgoing_columns(&function);
            let columns = (!columns.is_empty()).then(|| columns.into());
            let params = inference.finish()?;
            return Ok(nothing.with_columns(columns).with_params(params));
        }
        let params = match query_within(statement) {
            None => None,
            Some(query) => {
                let inference = Inference::new(types);
                self.with_catalog(|session, catalog, _| {
                    let time_zone = &session.services.settings.time_zone;
                    Binder::inferring(catalog, time_zone, &inference).statement(&query).map(drop)
                })?;
                Some(inference.finish()?)
            }
        };
        let columns = match statement {
            statement if is_plain(statement) => {
                return self.with_catalog(|session, catalog, keep| {
                    let services = &session.services;
                    services.planning(|| nothing.bind(catalog, &services.settings.time_zone, types, keep))
                });
            }
            Statement::Execute { name, purpose, .. } => match purpose {
                ExecutePurpose::Run => self.statement(&name.text)?.shared_columns(),
                ExecutePurpose::Explain(options) => Some(explain_columns(options.format).into()),
                ExecutePurpose::Table(_) => None,
            },
            Statement::Fetch(fetch) if !fetch.moves => match self.columns_of_named(&fetch.name.text) {
                Some(columns) => Some(columns.into()),
                None => self.services.cursors.columns(&fetch.name.text).map(Into::into),
            },
            Statement::Explain { options, .. } => Some(explain_columns(options.format).into()),
            Statement::Show(name) => Some(text_columns(&[&name.text]).into()),
            Statement::ShowAll => Some(text_columns(&SHOW_ALL_COLUMNS).into()),
            Statement::ShowStatementStatistics => Some(text_columns(&STATISTICS_COLUMNS).into()),
            _ => None,
        };
        let prepared = nothing.with_columns(columns);
        Ok(match params {
            Some(params) => prepared.with_params(params),
            None => prepared,
        })
    }

    /// A statement is about to be prepared that may be executed at once: where no transaction is open, what `now` means in its literals
    /// is when the next one begins. [`Session::forget_foreseen`] tells that none follows.
    pub fn foresee(&self) {
        if !self.transaction.is_open() {
            self.services.clocks.foresee();
        }
    }

    /// No execution follows of what was prepared last.
    pub fn forget_foreseen(&self) {
        self.services.clocks.forget_foreseen();
    }

    /// Values are read: where no transaction is open, what `now` means in their texts is now.
    pub(super) fn read_outside(&self) {
        if !self.transaction.is_open() {
            self.services.clocks.read_outside();
        }
    }

    /// Makes the names of the catalog of now known to the thread, where a value of one of these types is about to be read:
    /// parameters, and the literals of a text that was executed before, are read before the statement begins.
    pub fn know_names(&self, types: &[SqlType]) {
        if types.iter().any(is_moment) {
            self.read_outside();
        }
        let refers = |ty: &SqlType| match ty {
            SqlType::Array(element) => matches!(&**element, SqlType::System(ty) if ty.is_reference()),
            SqlType::System(ty) => ty.is_reference(),
            _ => false,
        };
        if types.iter().any(refers) {
            // In a transaction that has failed nothing is read any more, and that is said elsewhere.
            let _ = self.with_catalog(|_, _, _| Ok(()));
        }
    }

    /// For a statement that works without the catalog: what its role may do is what has been granted to it by now.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn know_rights(&self) -> Result<(), SqlError> {
        if self.services.current_role() == verso_catalog::OWNER_ROLE {
            return Ok(());
        }
        self.with_catalog(|session, catalog, _| {
            session.services.know_catalog(catalog);
            Ok(())
        })
    }

    /// Runs `work` with the catalog as the open transaction sees it, or a new one would; and whether others may see
    /// what comes of it.
    pub(crate) fn with_catalog<T>(
        &self,
        work: impl FnOnce(&Session, &Arc<CatalogSnapshot>, bool) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let services = &self.services;
        if let Some(active) = self.transaction.active() {
            let mut txn = active.txn.borrow_mut();
            txn.begin_rowless()?;
            let snapshot = services.snapshot(&txn);
            txn.end_statement()?;
            drop(txn);
            let snapshot = snapshot?;
            self.services.lend_names(&snapshot);
            return work(self, &snapshot, !active.state.changed_schema);
        }
        let options = verso_storage::TxnOptions {
            isolation: verso_storage::Isolation::ReadCommitted,
            savepoints: true,
            read_only: true,
        };
        let mut txn = self.services.instance.engine.begin(options);
        txn.begin_statement()?;
        let snapshot = services.snapshot(&txn)?;
        txn.end_statement()?;
        txn.end_unseen()?;
        self.services.lend_names(&snapshot);
        work(self, &snapshot, true)
    }
}

/// The statement with a plan that another one is about, which says of what types its parameters are.
fn query_within(statement: &Statement) -> Option<Cow<'_, Statement>> {
    match statement {
        Statement::CreateTableAs(create) => Some(Cow::Owned(Statement::Query(create.query.clone()))),
        Statement::Declare(cursor) => {
            Some(Cow::Borrowed(&cursor.query.statement)).filter(|query| is_plain(query))
        }
        // Of a generic plan the parameters have no values.
        Statement::Explain { options, statement } if !options.generic_plan => {
            Some(Cow::Borrowed(&**statement)).filter(|query| is_plain(query))
        }
        _ => None,
    }
}

/// Is it a type of moments, in whose texts `now` may stand?
fn is_moment(ty: &SqlType) -> bool {
    use SqlType as T;
    matches!(ty, T::Date | T::Time(_) | T::Timetz(_) | T::Timestamp(_) | T::Timestamptz(_))
}
