//! What a statement runs in.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_catalog::{
    CatalogError, CatalogSnapshot, FunctionDef, Object, ObjectKind, Oid, Rights, SequenceDef, TableDef,
};
use verso_storage::RecordId;
use verso_types::snapshot::Snapshot;
use verso_types::{Batch, Value};

use super::probe::Probes;
use super::subquery::StatementState;
use super::trigger::Transitions;
use super::used::{ChosenParts, changed_relations};
use super::{HeldStatement, Tables};
use crate::context::{
    AdvisoryCall, Definitions, EvalContext, Given, GivesWay, HeldSettings, Runtime, SequenceName, Served,
    Services, TransactionEnds, TransitionsSeen,
};
use crate::error::{ExecError, Result};
use crate::expr::Executor;
use crate::memory::Reservation;
use crate::plan::{Plan, SubqueryTest};
use crate::plpgsql;

/// Functions that call each other deeper than this are refused (54001) before the stack ends.
const MAX_DEPTH: u32 = 64;

/// Rows that come from outside of the database, once.
pub trait ExternalRows {
    /// Replaces the batch's rows by the next ones; false when there are none any more.
    /// # Errors
    /// Ends the statement.
    fn next(&self, out: &mut Batch) -> Result<bool>;

    /// A constraint refuses this row of the last batch; told only where the rows that are checked are those of the batch.
    fn refused(&self, _row: usize) {}
}

/// The tables that a statement under way uses, and those of the statements and triggers around it.
#[derive(Clone, Copy)]
pub(crate) struct InUse<'a> {
    pub tables: &'a [Oid],
    /// Those of partitions that its parameters choose; these, where it has one set of them.
    pub chosen: (&'a [ChosenParts], Option<&'a [Value]>),
    /// The one that it changes, whatever calls a function: it is looked into when one defines something.
    pub changed: Option<&'a Arc<TableDef>>,
    pub around: Option<&'a InUse<'a>>,
}

impl<'a> InUse<'a> {
    /// Of what uses these tables in any case.
    pub fn always(tables: &'a [Oid], around: Option<&'a InUse<'a>>) -> InUse<'a> {
        InUse { tables, chosen: (&[], None), changed: None, around }
    }

    /// All of them.
    fn all(&self, cx: &ExecContext<'_>) -> Vec<Oid> {
        let (mut used, mut next) = (Vec::new(), Some(self));
        while let Some(InUse { tables, chosen, changed, around }) = next {
            used.extend_from_slice(tables);
            let (chosen, params) = *chosen;
            for parts in chosen {
                match params {
                    Some(params) => {
                        parts.by_parameters(&EvalContext { params, outer: &[], ..cx.eval() }, &mut used);
                    }
                    None => parts.all(&mut used),
                }
            }
            changed.iter().for_each(|table| changed_relations(table, &mut used));
            next = *around;
        }
        used
    }
}

/// Everything around a running statement.
pub struct ExecContext<'a> {
    /// Storage, within the transaction; a worker of a parallel operator has none.
    tables: Option<&'a dyn Tables>,
    /// The catalog as the transaction sees it.
    pub catalog: &'a Arc<CatalogSnapshot>,
    /// `$1` …, or the slots of a PL/pgSQL function.
    pub params: &'a [Value],
    /// The session.
    pub services: &'a Services<'a>,
    /// Set from outside to end the statement (57014).
    pub cancel: &'a Arc<AtomicBool>,
    /// Of a worker: set when another one has failed.
    stop: Option<&'a AtomicBool>,
    /// Of a worker: how it gives way to others.
    turns: Option<&'a dyn GivesWay>,
    /// Which executor runs it.
    pub executor: Executor,
    /// Made when the first function is called.
    programs: OnceCell<Rc<plpgsql::ProgramPool>>,
    /// What the query around this one hands in (P5 of the plan).
    outer: &'a [Value],
    /// What lasts as long as the statement; none where an expression is evaluated outside of any.
    state: Option<&'a StatementState>,
    depth: u32,
    /// The calls under way.
    calls: Option<&'a plpgsql::CallSite<'a>>,
    /// How many triggers are running, one within the other.
    triggers: u32,
    /// Ends the transaction, where a procedure or a block may do so.
    ends: Option<&'a dyn TransactionEnds>,
    /// Runs what defines something; none where that may not be done.
    definitions: Option<&'a dyn Definitions>,
    /// How many of those the catalog knows of.
    defined: u32,
    /// What they must leave as it is.
    in_use: Option<&'a InUse<'a>>,
    /// The transition tables of the trigger that is called.
    transitions: Option<&'a Transitions>,
    /// What `Plan::External` yields.
    pub(crate) external: Option<&'a dyn ExternalRows>,
    /// Where operators note what they do.
    pub(crate) probes: Option<&'a Probes>,
}

impl<'a> ExecContext<'a> {
    /// The context of a statement of the client.
    pub fn new(
        tables: &'a dyn Tables,
        catalog: &'a Arc<CatalogSnapshot>,
        params: &'a [Value],
        services: &'a Services<'a>,
        cancel: &'a Arc<AtomicBool>,
        executor: Executor,
    ) -> Self {
        Self::bare(Some(tables), catalog, params, services, cancel, executor)
    }

    /// The context of a worker of a parallel operator: of what the session lends it has only what `services` offers.
    pub(super) fn of_worker(worker: WorkerParts<'a>) -> Self {
        let WorkerParts { catalog, params, outer, services, cancel, turns, stop, executor, probes } = worker;
        let bare = Self::bare(None, catalog, params, services, cancel, executor);
        Self { stop: Some(stop), turns, outer, probes, ..bare }
    }

    fn bare(
        tables: Option<&'a dyn Tables>,
        catalog: &'a Arc<CatalogSnapshot>,
        params: &'a [Value],
        services: &'a Services<'a>,
        cancel: &'a Arc<AtomicBool>,
        executor: Executor,
    ) -> Self {
        Self {
            tables,
            catalog,
            params,
            services,
            cancel,
            stop: None,
            turns: None,
            executor,
            programs: OnceCell::new(),
            outer: &[],
            state: None,
            depth: 0,
            calls: None,
            triggers: 0,
            ends: None,
            definitions: None,
            defined: 0,
            in_use: None,
            transitions: None,
            external: None,
            probes: None,
        }
    }

    /// Storage, within the transaction.
    /// # Errors
    /// XX000 in a worker of a parallel operator, whose expressions ask for no table.
    pub(crate) fn tables(&self) -> Result<&'a dyn Tables> {
        self.tables.ok_or_else(|| ExecError::raised("XX000", "a worker of a query has no access to tables"))
    }

    /// Runs `work` as a statement that sees what an earlier one saw; for the next one it is kept again.
    ///
    /// # Errors
    /// Those of `work`, which is undone then, and what it saw is let go.
    pub fn within_statement<T, E: From<ExecError>>(
        &self,
        held: HeldStatement,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<(T, HeldStatement), E> {
        let tables = self.tables()?;
        tables.begin_statement_under(held)?;
        match work() {
            Ok(done) => Ok((done, tables.hold_statement()?)),
            Err(error) => {
                tables.abort_statement()?;
                Err(error)
            }
        }
    }

    /// Whether it is that of a worker.
    pub(super) fn is_worker(&self) -> bool {
        self.tables.is_none()
    }

    /// What the query around this one hands in.
    pub(super) fn outer(&self) -> &'a [Value] {
        self.outer
    }

    /// The same with rows from outside.
    #[must_use]
    pub fn with_external(self, external: Option<&'a dyn ExternalRows>) -> Self {
        Self { external, ..self }
    }

    /// The same for a procedure or block that may end the transaction.
    #[must_use]
    pub fn with_ends(self, ends: Option<&'a dyn TransactionEnds>) -> Self {
        Self { ends, ..self }
    }

    /// The same for a statement whose functions may define something.
    #[must_use]
    pub fn with_definitions(self, definitions: &'a dyn Definitions) -> Self {
        Self { definitions: Some(definitions), defined: definitions.count(), ..self }
    }

    /// The same for a statement in the function of a trigger, which may read these rows.
    #[must_use]
    pub fn seeing_transitions(self, transitions: Option<&'a Transitions>) -> Self {
        Self { transitions, ..self }
    }

    /// Runs a statement that defines something.
    /// # Errors
    /// Those of the statement.
    pub(crate) fn define(&self, text: &str, given: Given<'_>) -> Result<Served> {
        match self.definitions {
            Some(definitions) => {
                let used = self.in_use.map(|in_use| in_use.all(self)).unwrap_or_default();
                let transitions = TransitionsSeen { rows: self.transitions, ..given.transitions };
                let given = Given { transitions, ..given };
                definitions.define(text, given, self.catalog, &used)
            }
            None => Err(ExecError::raised("0A000", "statements of the schema are not supported here")),
        }
    }

    /// What statements of the schema must leave as it is.
    pub(crate) fn in_use(&self) -> Option<&'a InUse<'a>> {
        self.in_use
    }

    /// The same for an expression that is evaluated by itself, and uses tables.
    pub(crate) fn evaluating<'b>(&'b self, in_use: &'b InUse<'b>) -> ExecContext<'b> {
        ExecContext {
            outer: self.outer,
            state: self.state,
            in_use: Some(in_use),
            ..self.with_params(self.params)
        }
    }

    /// The same for a statement or a trigger that uses tables.
    pub(crate) fn using(self, in_use: &'a InUse<'a>) -> Self {
        ExecContext { in_use: Some(in_use), ..self }
    }

    /// How many statements have defined something, where those are more than the catalog knows of.
    #[inline]
    pub(crate) fn defined_since(&self) -> Option<u32> {
        self.definitions.map(Definitions::count).filter(|count| *count != self.defined)
    }

    /// The catalog as it is now, and what follows from the settings of now.
    /// # Errors
    /// Those of reading it.
    pub(crate) fn renewed_catalog(&self) -> Result<HeldSettings> {
        let same = || HeldSettings {
            catalog: Arc::clone(self.catalog),
            time_zone: self.services.time_zone.clone(),
            work_bytes: None,
        };
        self.definitions.map_or_else(|| Ok(same()), |now| now.renewed(self.catalog))
    }

    /// The same with the catalog and the settings as they were after so many definitions, and the functions that were compiled
    /// for those.
    pub(crate) fn with_renewed<'b>(
        &'b self,
        catalog: &'b Arc<CatalogSnapshot>,
        services: &'b Services<'b>,
        (defined, programs): (u32, &Rc<plpgsql::ProgramPool>),
    ) -> ExecContext<'b> {
        let programs = OnceCell::from(Rc::clone(programs));
        ExecContext { defined, services, programs, ..self.of_role(catalog) }
    }

    /// What ends the transaction, where that may be done.
    pub(crate) fn ends(&self) -> Option<&'a dyn TransactionEnds> {
        self.ends
    }

    /// The same with measures of what operators do.
    #[must_use]
    pub fn measured<'b>(&'b self, probes: &'b Probes) -> ExecContext<'b> {
        ExecContext { external: self.external, probes: Some(probes), ..self.with_params(self.params) }
    }

    /// The same for one execution of a statement: results of subqueries that depend on nothing are kept in `state`.
    pub(crate) fn statement<'b>(&'b self, state: &'b StatementState) -> ExecContext<'b> {
        ExecContext { state: Some(state), external: self.external, ..self.with_params(self.params) }
    }

    /// The same for a plan that depends on these values of the query around it.
    pub(crate) fn with_outer<'b>(&'b self, outer: &'b [Value]) -> ExecContext<'b> {
        ExecContext { outer, state: self.state, ..self.with_params(self.params) }
    }

    /// What lasts as long as the statement.
    pub(crate) fn state(&self) -> Option<&StatementState> {
        self.state
    }

    /// The context of a trigger's function.
    /// # Errors
    /// `CallsTooDeep`.
    pub(crate) fn within_trigger(&self) -> Result<ExecContext<'_>> {
        Ok(ExecContext { triggers: self.triggers + 1, ..self.nested()? })
    }

    /// The context of what goes along with a foreign key, which is a trigger's doing in PostgreSQL.
    pub(crate) fn going_along(&self) -> ExecContext<'_> {
        ExecContext { triggers: self.triggers + 1, ..self.with_params(self.params) }
    }

    /// The context of a statement within a function.
    /// # Errors
    /// `CallsTooDeep`.
    pub(crate) fn nested(&self) -> Result<ExecContext<'_>> {
        if self.depth >= MAX_DEPTH {
            return Err(ExecError::CallsTooDeep);
        }
        Ok(ExecContext { depth: self.depth + 1, ..self.with_params(self.params) })
    }

    /// The same within this call.
    pub(crate) fn called<'b>(self, site: &'b plpgsql::CallSite<'b>) -> ExecContext<'b>
    where
        'a: 'b,
    {
        ExecContext { calls: Some(site), ..self }
    }

    /// The same within this statement of a call, which may end the transaction where the call may.
    pub(crate) fn calling<'b>(&'b self, site: &'b plpgsql::CallSite<'b>) -> ExecContext<'b> {
        ExecContext { calls: Some(site), ends: self.ends, ..self.with_params(self.params) }
    }

    /// The calls under way, the innermost first.
    #[inline]
    pub(crate) fn calls(&self) -> Option<&'a plpgsql::CallSite<'a>> {
        self.calls
    }

    /// The context of a procedure that another one, or the client, has called: it may end the transaction if its caller may
    /// here, where it is in no block with handlers.
    /// # Errors
    /// `CallsTooDeep`.
    pub(crate) fn nested_call(&self, guarded: bool) -> Result<ExecContext<'_>> {
        Ok(ExecContext { ends: self.ends.filter(|_| !guarded), ..self.nested()? })
    }

    /// The same with other parameters.
    #[must_use]
    pub fn with_params<'b>(&'b self, params: &'b [Value]) -> ExecContext<'b> {
        ExecContext {
            tables: self.tables,
            catalog: self.catalog,
            params,
            services: self.services,
            cancel: self.cancel,
            stop: self.stop,
            turns: self.turns,
            executor: self.executor,
            programs: self.programs.clone(),
            outer: &[],
            state: None,
            depth: self.depth,
            calls: self.calls,
            triggers: self.triggers,
            ends: None,
            definitions: self.definitions,
            defined: self.defined,
            in_use: self.in_use,
            transitions: self.transitions,
            external: None,
            probes: self.probes,
        }
    }

    /// The same with the rights of another role: `catalog` is what it sees.
    pub(crate) fn of_role<'b>(&'b self, catalog: &'b Arc<CatalogSnapshot>) -> ExecContext<'b> {
        // Its programs are bound for that role.
        let (programs, state, ends) = (OnceCell::new(), self.state, self.ends);
        ExecContext { catalog, programs, state, ends, ..self.with_params(self.params) }
    }

    /// The same with the settings of a function, which may not end the transaction: `catalog` is what it sees.
    pub(crate) fn with_held<'b>(
        &'b self,
        catalog: &'b Arc<CatalogSnapshot>,
        services: &'b Services<'b>,
    ) -> ExecContext<'b> {
        ExecContext { services, ends: None, ..self.of_role(catalog) }
    }

    /// Refuses a sequence of which the role may do none of this.
    fn check_sequence(&self, sequence: &SequenceDef, any_of: Rights) -> Result<()> {
        let Some(role) = self.catalog.acting_role() else { return Ok(()) };
        let rights = self.catalog.rights(role, Object::Relation(sequence.oid));
        if !rights.among(any_of).is_empty() {
            return Ok(());
        }
        Err(denied("sequence", &sequence.name))
    }

    /// The same for a call of a trigger, which may read these rows of its statement.
    pub(crate) fn with_transitions<'b>(&'b self, transitions: Option<&'b Transitions>) -> ExecContext<'b> {
        self.programs(); // one pool for all calls
        ExecContext { transitions, state: self.state, ..self.with_params(self.params) }
    }

    /// The transition tables of the trigger that is called.
    pub(crate) fn transitions(&self) -> Option<&'a Transitions> {
        self.transitions
    }

    /// Functions compiled for this statement.
    pub(crate) fn programs(&self) -> &Rc<plpgsql::ProgramPool> {
        self.programs.get_or_init(Rc::default)
    }

    /// How many functions call each other.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// What expressions are evaluated in.
    pub(crate) fn eval(&self) -> EvalContext<'_> {
        EvalContext { services: self.services, runtime: self, params: self.params, outer: self.outer }
    }

    /// Asked once per batch, row of a loop or statement.
    /// # Errors
    /// `Cancelled`.
    #[inline]
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        if let Some(turns) = self.turns {
            turns.between_batches();
        }
        self.check_stopped()
    }

    #[inline]
    fn check_stopped(&self) -> Result<()> {
        let stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        if stopped || self.cancel.load(Ordering::Relaxed) { Err(ExecError::Cancelled) } else { Ok(()) }
    }

    /// Room for an operator, up to the session's work memory.
    pub(crate) fn reserve(&self, what: &'static str) -> Reservation {
        self.services.memory.reserve(what)
    }

    /// The same for an operator that goes on in files.
    pub(crate) fn reserve_before_files(&self, what: &'static str) -> Reservation {
        self.services.memory.reserve_before_files(what)
    }

    /// The sequence that a function's argument names.
    fn sequence(&self, name: SequenceName<'_>) -> Result<Arc<SequenceDef>> {
        match name {
            SequenceName::Oid(oid) | SequenceName::Identity(oid) => self.sequence_with_oid(Oid(oid)),
            SequenceName::Text(name) => self.sequence_of_name(name),
        }
    }

    fn sequence_with_oid(&self, oid: Oid) -> Result<Arc<SequenceDef>> {
        if let Some(found) = self.catalog.sequence_by_oid(oid) {
            self.catalog.check_whole(oid)?;
            return Ok(found);
        }
        Err(match self.catalog.relation_by_oid(oid) {
            Some(other) => {
                CatalogError::WrongKind { kind: ObjectKind::Sequence, name: other.name().to_string() }.into()
            }
            None => ExecError::raised("42P01", format!("could not open relation with OID {oid}")),
        })
    }

    /// The sequence that a text names: `name` or `schema.name`, folded unless quoted, perhaps with this database before it.
    fn sequence_of_name(&self, name: &str) -> Result<Arc<SequenceDef>> {
        let (database, schema, sequence) = split_name(name);
        if database.is_some_and(|database| *database != *self.services.identity.database_name()) {
            let text = format!("cross-database references are not implemented: \"{name}\"");
            return Err(ExecError::raised("0A000", text));
        }
        let missing = || CatalogError::missing(ObjectKind::Relation, name);
        if let Some(found) = self.catalog.sequence(schema.as_deref(), &sequence) {
            self.catalog.check_whole(found.oid)?;
            return Ok(found);
        }
        if self.catalog.relation(schema.as_deref(), &sequence).is_some() {
            return Err(CatalogError::WrongKind { kind: ObjectKind::Sequence, name: sequence }.into());
        }
        Err(missing().into())
    }
}

/// What the context of a worker consists of.
pub(super) struct WorkerParts<'a> {
    pub catalog: &'a Arc<CatalogSnapshot>,
    pub params: &'a [Value],
    pub outer: &'a [Value],
    pub services: &'a Services<'a>,
    pub cancel: &'a Arc<AtomicBool>,
    pub turns: Option<&'a dyn GivesWay>,
    pub stop: &'a AtomicBool,
    pub executor: Executor,
    pub probes: Option<&'a Probes>,
}

/// `42501` for an object.
pub(crate) fn denied(kind: &str, name: &str) -> ExecError {
    ExecError::raised("42501", format!("permission denied for {kind} {name}"))
}

/// Parts of a possibly qualified, possibly quoted name.
fn split_name(name: &str) -> (Option<String>, Option<String>, String) {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    let mut chars = name.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                parts.last_mut().expect("starts with one part").extend(chars.next())
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c => {
                let part = parts.last_mut().expect("starts with one part");
                if quoted { part.push(c) } else { part.extend(c.to_lowercase()) }
            }
        }
    }
    let name = parts.pop().unwrap_or_default();
    let schema = parts.pop();
    (parts.pop(), schema, name)
}

impl Runtime for ExecContext<'_> {
    fn check_cancelled(&self) -> Result<()> {
        if let Some(turns) = self.turns {
            turns.between_rows();
        }
        self.check_stopped()
    }

    fn catalog(&self) -> Option<&Arc<CatalogSnapshot>> {
        Some(self.catalog)
    }

    fn call_function(&self, function: &Arc<FunctionDef>, args: Vec<Value>) -> Result<Value> {
        plpgsql::call_scalar(self, function, args)
    }

    fn next_value(&self, name: SequenceName<'_>) -> Result<(u32, i64)> {
        let sequence = self.sequence(name)?;
        if !matches!(name, SequenceName::Identity(_)) {
            self.check_sequence(&sequence, Rights::USAGE.with(Rights::UPDATE))?;
        }
        Ok((sequence.oid.0, self.tables()?.next_value(&sequence)?))
    }

    fn set_value(&self, sequence: SequenceName<'_>, value: i64, is_called: bool) -> Result<u32> {
        let sequence = self.sequence(sequence)?;
        self.check_sequence(&sequence, Rights::UPDATE)?;
        self.tables()?.set_value(&sequence, value, is_called)?;
        Ok(sequence.oid.0)
    }

    fn advisory(&self, call: AdvisoryCall) -> Result<bool> {
        self.tables()?.advisory(call)
    }

    fn export_snapshot(&self) -> Result<String> {
        self.tables()?.export_snapshot()
    }

    fn transaction_id(&self, assign: bool) -> Result<Option<u64>> {
        self.tables()?.transaction_id(assign)
    }

    fn shown_snapshot(&self) -> Result<Snapshot> {
        self.tables()?.shown_snapshot()
    }

    fn writer_of(&self, table: u32, record: RecordId) -> Result<Option<u64>> {
        let table = self.catalog().and_then(|catalog| catalog.table_by_oid(Oid(table)));
        table.map_or(Ok(None), |table| self.tables()?.writer_of(&table, record))
    }

    fn trigger_depth(&self) -> u32 {
        self.triggers
    }

    fn sequence_oid(&self, sequence: SequenceName<'_>) -> Result<u32> {
        let sequence = self.sequence(sequence)?;
        self.check_sequence(&sequence, Rights::USAGE.with(Rights::SELECT))?;
        Ok(sequence.oid.0)
    }

    fn has_sequence(&self, sequence: u32) -> Result<bool> {
        let Some(sequence) = self.catalog.sequence_by_oid(Oid(sequence)) else { return Ok(false) };
        self.catalog.check_whole(sequence.oid)?;
        self.check_sequence(&sequence, Rights::USAGE.with(Rights::SELECT))?;
        Ok(true)
    }

    fn subquery(
        &self,
        plan: &Arc<Plan>,
        test: SubqueryTest,
        outer: Vec<Value>,
        args: &[Value],
        params: &[Value],
    ) -> Result<Value> {
        // An expression of a function has its slots as parameters, not those of the statement around it.
        if !std::ptr::eq(params, self.params) {
            return super::subquery::evaluate(&self.with_params(params), plan, test, &outer, args);
        }
        super::subquery::evaluate(self, plan, test, &outer, args)
    }
}

#[cfg(test)]
mod tests {
    use super::split_name;

    #[test]
    fn names_fold_unless_quoted() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(split_name("Test_Id"), (None, None, "test_id".to_owned()));
        assert_eq!(split_name("public.\"My.Seq\""), (None, some("public"), "My.Seq".to_owned()));
        assert_eq!(split_name("Own.public.s"), (some("own"), some("public"), "s".to_owned()));
    }
}
