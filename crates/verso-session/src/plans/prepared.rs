//! Prepared statements: parsed once, bound once for each version of the catalog.
//!
//! Q1. The types of parameters and columns never change: where the catalog would change the columns, executing fails
//!     (0A000), as in PostgreSQL. The same type may be defined otherwise by then; values are read as it is defined now.
//! Q2. A plan is used only under the catalog version and the settings it was made for; otherwise the statement is
//!     bound again. What a session has prepared keeps its plan when the settings change ([`literals_read`](super::literals_read)).
//!     A transaction that has changed the schema itself keeps what it binds to itself.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use verso_catalog::{CatalogSnapshot, ColumnDef, IndexDef, NamesKey, TableDef, ViewDef, is_of_users};
use verso_env::sync::Mutex;
use verso_exec::memory::Reservation;
use verso_exec::plan::{ExprKind, Plan, SetColumns, Statement as Bound, TypedExpr};
use verso_types::{SqlType, TimeStyle};

use super::for_values::ForValues;
use super::literals_read::LiteralsRead;
use crate::client::OutputColumn;
use crate::plans::{Identity, calls_users, ends_transaction};
use crate::tracked::TEXT_BYTES_MAX;
use verso_parser::syntax::{Parsed, Statement};
use verso_planner::bind::{Binder, Inference};
use verso_planner::errors::{SqlError, Subject, sqlstate};

/// A statement ready to be executed with different parameters, also by several sessions at once.
#[derive(Debug)]
pub struct Prepared {
    /// Unlike that of any other one of this process.
    number: u64,
    text: Arc<str>,
    /// None for an empty text.
    pub(crate) parsed: Option<Parsed>,
    pub(crate) params: Vec<SqlType>,
    columns: Option<Arc<[OutputColumn]>>,
    /// A query or a change of rows: what has a plan.
    plain: bool,
    /// A query that changes nothing, as far as is known: the functions that it calls may become others.
    only_reads: AtomicBool,
    /// An INSERT of one row.
    row: bool,
    /// Of a statement of the cache: the types its literals have. What nobody has seen may change with the catalog.
    literals: Option<Vec<Option<SqlType>>>,
    /// Its literals are read once, whatever becomes of the settings: it is a session's own.
    pub(crate) lasts: bool,
    /// It stands for texts with any literals.
    pub(super) normal: bool,
    /// Which of them it is may decide about its plan.
    by_literals: bool,
    /// How a query reads large tables.
    paths: Vec<Path>,
    /// The catalog has made other types of the parameters.
    stale: AtomicBool,
    plan: Mutex<Option<Arc<Planned>>>,
    /// Of one that a session has prepared, and of what is around it.
    literals_read: Mutex<Option<LiteralsRead>>,
    /// The values of its parameters may decide about its plan.
    pub(super) varies: AtomicBool,
    /// What plans for values were like.
    pub(super) for_values: Mutex<ForValues>,
    /// How often it has run by the plan for any values, and by plans for those given.
    runs: [AtomicU64; 2],
    /// What it is apart from its constants, where its text does not tell.
    identity: Option<(i64, Arc<str>)>,
    /// Memory that a session is charged for it, where the text is long.
    _held: Option<Reservation>,
}

/// A statement bound under one version of the catalog.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The catalog's version, and the search path.
    pub version: NamesKey,
    /// Constants were read in this zone.
    pub time_zone: TimeStyle,
    pub bound: Bound,
    /// What it yields.
    pub columns: Arc<[OutputColumn]>,
    /// It yields rows.
    pub returns: bool,
    /// It is a query that changes nothing: it never runs twice, so its rows go out at once.
    pub streams: bool,
    /// What the client is to know whenever it runs.
    pub told: Vec<String>,
}

impl Planned {
    /// The same with what was told when it was bound.
    pub(crate) fn telling(self, told: Vec<String>) -> Planned {
        Planned { told, ..self }
    }

    pub(crate) fn new(bound: Bound, version: NamesKey, time_zone: &TimeStyle) -> Planned {
        let columns: Arc<[OutputColumn]> = bound.output().into();
        Planned {
            version,
            time_zone: time_zone.clone(),
            returns: bound.is_query() || !columns.is_empty(),
            streams: matches!(&bound, Bound::Query(plan) if !calls_users(plan)),
            columns,
            bound,
            told: Vec::new(),
        }
    }

    /// Whether it is an INSERT of one row, given by VALUES.
    fn inserts_row(&self) -> bool {
        matches!(&self.bound, Bound::Insert(insert) if matches!(&insert.source, Plan::Values { rows, .. } if rows.len() == 1))
    }

    /// The first word of its tag.
    pub(crate) fn word(&self) -> &'static str {
        let bound = match &self.bound {
            Bound::With(with) => with.main(),
            other => Some(other),
        };
        match bound {
            Some(Bound::Query(_) | Bound::With(_)) | None => "SELECT",
            Some(Bound::Insert(_)) => "INSERT 0",
            Some(Bound::Update(_)) => "UPDATE",
            Some(Bound::Delete(_)) => "DELETE",
            Some(Bound::Merge(_)) => "MERGE",
        }
    }
}

/// Whether an error says that rights are missing on something that a statement uses; those on schemas are asked for with names.
fn is_of_rights(error: &SqlError) -> bool {
    error.sqlstate == sqlstate::INSUFFICIENT_PRIVILEGE
        && error.message.starts_with("permission denied for ")
        && !error.message.starts_with("permission denied for schema ")
}

impl Prepared {
    /// The statement's text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether there is no statement in the text.
    pub fn is_empty(&self) -> bool {
        self.parsed.is_none()
    }

    /// Types of `$1` …, without modifiers.
    pub fn params(&self) -> &[SqlType] {
        &self.params
    }

    /// What the statement yields; none if it yields no rows.
    pub fn columns(&self) -> Option<&[OutputColumn]> {
        self.columns.as_deref()
    }

    /// One that has no plan: its parameters are of these types, or texts.
    pub(crate) fn unbound(text: Arc<str>, parsed: Option<Parsed>, types: &[Option<SqlType>]) -> Prepared {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Prepared {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            text,
            parsed,
            params: types.iter().map(|ty| ty.clone().unwrap_or(SqlType::Text)).collect(),
            columns: None,
            plain: false,
            only_reads: AtomicBool::new(false),
            row: false,
            literals: None,
            lasts: true,
            normal: false,
            by_literals: false,
            paths: Vec::new(),
            stale: AtomicBool::new(false),
            plan: Mutex::new(None),
            literals_read: Mutex::new(None),
            varies: AtomicBool::new(false),
            for_values: Mutex::default(),
            runs: [const { AtomicU64::new(0) }; 2],
            identity: None,
            _held: None,
        }
    }

    /// The same of a query or change of rows, bound; `keep` its plan for others.
    pub(crate) fn bind(
        self,
        catalog: &Arc<CatalogSnapshot>,
        time_zone: &TimeStyle,
        types: &[Option<SqlType>],
        keep: bool,
    ) -> Result<Prepared, SqlError> {
        let Some(statement) = self.statement() else { return Ok(self) };
        // Rights are asked for when it is executed: the plan that is made without is nobody's then.
        let unlimited = catalog.with_role(None);
        let inferences = [Inference::new(types), Inference::new(types)];
        let binder = Binder::inferring(catalog, time_zone, &inferences[0]).lasting(self.lasts);
        let (catalog, which, binder, mut bound) = match binder.statement(statement) {
            Err(error) if is_of_rights(&error) && catalog.acting_role().is_some() => {
                let binder = Binder::inferring(&unlimited, time_zone, &inferences[1]).lasting(self.lasts);
                let bound = binder.statement(statement)?;
                (&unlimited, 1, binder, bound)
            }
            bound => (catalog, 0, binder, bound?),
        };
        let (told, views) = (binder.told(), binder.views());
        let by_literals = inferences[which].has_fields() || depends_on_literals(&bound, catalog);
        let [limited, other] = inferences;
        let params = if which == 0 { limited } else { other }.finish()?;
        let paths = match &bound {
            Bound::Query(plan) => paths(plan, catalog),
            _ => Vec::new(),
        };
        if !params.is_empty() {
            self.note_any(&bound, catalog);
        }
        self.note_read(&mut bound, views, catalog, time_zone);
        let planned = Planned::new(bound, catalog.key(), time_zone).telling(told);
        let columns = planned.returns.then(|| Arc::clone(&planned.columns));
        let (only_reads, row) = (AtomicBool::new(planned.streams), planned.inserts_row());
        let plan = Mutex::new(keep.then(|| Arc::new(planned)));
        Ok(Prepared { params, columns, plain: true, only_reads, row, by_literals, paths, plan, ..self })
    }

    /// The same for others: its literals are read under the settings of whoever executes it.
    pub(crate) fn for_others(self) -> Prepared {
        Prepared { lasts: false, ..self }
    }

    /// The same, with what its session is charged for it.
    pub(crate) fn holding(self, held: Option<Reservation>) -> Prepared {
        Prepared { _held: held, ..self }
    }

    /// The same, known by another text than the one that was parsed.
    pub(crate) fn known_as(self, identity: Option<(i64, Arc<str>)>) -> Prepared {
        Prepared { identity, ..self }
    }

    /// What it is known by, where that is another text than its own.
    #[inline]
    pub(crate) fn identity(&self) -> Option<Identity<'_>> {
        self.identity.as_ref().map(Identity::Kept)
    }

    /// What it is apart from its constants, to be kept.
    pub(crate) fn own_identity(&self) -> Option<(i64, Arc<str>)> {
        let fingerprint = &self.parsed.as_ref()?.fingerprint;
        Some((fingerprint.id, fingerprint.normalized(&self.text, TEXT_BYTES_MAX).into()))
    }

    /// The same with parameters that no plan tells.
    pub(crate) fn with_params(self, params: Vec<SqlType>) -> Prepared {
        Prepared { params, ..self }
    }

    /// The same with columns that no plan tells.
    pub(crate) fn with_columns(self, columns: Option<Arc<[OutputColumn]>>) -> Prepared {
        Prepared { columns, ..self }
    }

    /// It runs once more, by a plan for the values given or by the one for any values. What sessions share is not counted.
    #[inline]
    pub(crate) fn count_run(&self, for_values: bool) {
        if self.lasts {
            // Only its session writes this.
            let runs = &self.runs[usize::from(for_values)];
            runs.store(runs.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// What [`count_run`](Self::count_run) has counted: by the plan for any values, by those for the values given.
    pub(crate) fn runs(&self) -> [u64; 2] {
        self.runs.each_ref().map(|runs| runs.load(Ordering::Relaxed))
    }

    /// Its syntax; none for an empty text.
    pub(crate) fn statement(&self) -> Option<&Statement> {
        self.parsed.as_ref().map(|parsed| &parsed.statement)
    }

    /// [`Prepared::columns`], shared.
    pub(crate) fn shared_columns(&self) -> Option<Arc<[OutputColumn]>> {
        self.columns.clone()
    }

    /// Makes it one of the statement cache; its literals have these types.
    pub(crate) fn of_cache(self, literals: Vec<Option<SqlType>>) -> Prepared {
        Prepared { literals: Some(literals), ..self }
    }

    /// The same for one that stands for texts with any literals.
    pub(crate) fn of_normal(self, literals: Vec<Option<SqlType>>) -> Prepared {
        Prepared { normal: true, varies: AtomicBool::new(false), ..self.of_cache(literals) }
    }

    /// Whether it stands for texts with any literals.
    pub(crate) fn is_normal(&self) -> bool {
        self.normal
    }

    /// Whether it is one of the statement cache, so that others may share it.
    pub(crate) fn is_of_cache(&self) -> bool {
        self.literals.is_some()
    }

    /// Whether another literal may be worth another plan.
    pub(crate) fn is_by_literals(&self) -> bool {
        self.by_literals
    }

    /// Whether this one, which stands for texts with any literals, reads large tables by the indexes by which `given` reads them.
    pub(crate) fn reads_as(&self, given: &Prepared) -> bool {
        given.paths.iter().all(|path| self.paths.contains(path))
    }

    /// Whether it was kept for types that the catalog does not give its parameters any more.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }

    /// Whether this version of the catalog defines a type of its parameters otherwise than when it was kept: then it is stale.
    pub(crate) fn is_outdated(&self, catalog: &CatalogSnapshot) -> bool {
        // One of the same name may have been made since a type was dropped.
        let is_gone =
            |ty: &SqlType| is_of_users(ty) && catalog.type_by_oid(ty.pg_oid(), ty.typmod()).is_none();
        let is_outdated = self.params.iter().any(is_gone) || *self.params_in(catalog) != *self.params;
        if is_outdated {
            self.stale.store(true, Ordering::Relaxed);
        }
        is_outdated
    }

    /// Unlike that of any other prepared statement of this process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether it is a query or a change of rows.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether it is a query that changes nothing.
    pub(crate) fn only_reads(&self) -> bool {
        self.only_reads.load(Ordering::Relaxed)
    }

    /// It turned out that functions that it calls may change something now.
    pub(crate) fn may_change(&self) {
        self.only_reads.store(false, Ordering::Relaxed);
    }

    /// Whether it is an INSERT of one row, given by VALUES.
    #[inline]
    pub(crate) fn is_row(&self) -> bool {
        self.row
    }

    /// Whether the statement ends a transaction, so that a failed one accepts it.
    pub fn ends_transaction(&self) -> bool {
        self.parsed.as_ref().is_some_and(|parsed| ends_transaction(&parsed.statement))
    }

    /// Whether the plan for a version of the catalog is at hand.
    pub(crate) fn is_planned(&self, catalog: &CatalogSnapshot, time_zone: &TimeStyle) -> bool {
        self.plan.lock().as_ref().is_some_and(|plan| self.fits(plan, catalog, time_zone))
    }

    fn fits(&self, plan: &Planned, catalog: &CatalogSnapshot, time_zone: &TimeStyle) -> bool {
        plan.version == catalog.key() && (self.lasts || plan.time_zone == *time_zone)
    }

    /// The plan for a version of the catalog: the one at hand, or a new one (Q2).
    pub(crate) fn plan(
        &self,
        catalog: &Arc<CatalogSnapshot>,
        time_zone: &TimeStyle,
        keep: bool,
    ) -> Result<Arc<Planned>, SqlError> {
        let mut plan = self.plan.lock();
        if let Some(plan) = &*plan
            && self.fits(plan, catalog, time_zone)
        {
            return Ok(Arc::clone(plan));
        }
        let Some(parsed) = &self.parsed else { return Err(SqlError::internal("no statement to plan")) };
        let time_zone = &*self.style_for(catalog, time_zone);
        let (bound, told) = match &self.literals {
            None => {
                let params = self.params_in(catalog);
                let binder = Binder::new(catalog, time_zone, &params).lasting(self.lasts);
                let mut bound = binder.statement(&parsed.statement)?;
                self.note_read(&mut bound, binder.views(), catalog, time_zone);
                (bound, binder.told())
            }
            Some(literals) => {
                let inference = Inference::new(literals);
                let binder = Binder::inferring(catalog, time_zone, &inference);
                let bound = binder.statement(&parsed.statement)?;
                let told = binder.told();
                let by_literals =
                    self.normal && (inference.has_fields() || depends_on_literals(&bound, catalog));
                if inference.finish()? != self.params || by_literals {
                    self.stale.store(true, Ordering::Relaxed);
                    return Err(SqlError::internal("a kept statement has other parameters now"));
                }
                (bound, told)
            }
        };
        if !self.params.is_empty() && !self.normal {
            self.note_any(&bound, catalog);
        }
        let planned = Arc::new(Planned::new(bound, catalog.key(), time_zone).telling(told));
        self.check_columns(&planned)?;
        if keep {
            *plan = Some(Arc::clone(&planned));
        }
        Ok(planned)
    }

    /// Notes under which settings the literals were read that are read once.
    fn note_read(
        &self,
        bound: &mut Bound,
        views: Vec<Arc<ViewDef>>,
        catalog: &CatalogSnapshot,
        style: &TimeStyle,
    ) {
        if self.lasts {
            *self.literals_read.lock() = Some(LiteralsRead::new(bound, views, catalog.key(), style));
        }
    }

    /// The same for the statement around another one, whose literals were read when that was prepared.
    pub(crate) fn around(self, inner: &Prepared) -> Prepared {
        Prepared { literals_read: Mutex::new(inner.literals_read.lock().clone()), ..self }
    }

    /// Whether its literals have been read for good.
    pub(crate) fn has_read_literals(&self) -> bool {
        self.lasts && self.literals_read.lock().is_some()
    }

    /// The settings under which literals are read: those of now, but for one that was prepared under others.
    pub(crate) fn style_for<'s>(&self, catalog: &CatalogSnapshot, now: &'s TimeStyle) -> Cow<'s, TimeStyle> {
        let known = self.literals_read.lock();
        let own = known.as_ref().filter(|_| self.lasts);
        own.and_then(|read| read.style(catalog)).map_or(Cow::Borrowed(now), Cow::Owned)
    }

    /// Refuses a plan that yields other columns than the statement did when it was prepared (Q1).
    pub(super) fn check_columns(&self, planned: &Planned) -> Result<(), SqlError> {
        let same = |known: &[OutputColumn]| {
            known.len() == planned.columns.len()
                && known.iter().zip(&*planned.columns).all(|(known, new)| is_same(&known.ty, &new.ty))
        };
        if self.literals.is_some() || !planned.returns || self.columns.as_deref().is_some_and(same) {
            return Ok(());
        }
        let text = "cached plan must not change result type";
        let mut error = SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text);
        // Drivers prepare the statement anew then.
        let subject = Subject { routine: Some("RevalidateCachedQuery"), ..Subject::default() };
        error.subject = Some(Box::new(subject));
        Err(error)
    }
}

/// Whether two types are the same one, be it defined otherwise by now.
fn is_same(one: &SqlType, other: &SqlType) -> bool {
    one == other || one.pg_oid() == other.pg_oid() && one.typmod() == other.typmod() && is_of_users(one)
}

/// A large table, and the index by which a query reads rows of it, forwards or backwards.
type Path = (u32, Arc<str>, bool);

/// How a query reads large tables, where it is by an index, and more than a row of it.
fn paths(plan: &Plan, catalog: &CatalogSnapshot) -> Vec<Path> {
    let mut found = Vec::new();
    plan.any(&mut |part| {
        if let Plan::IndexScan { table, access, .. } = part
            && !access.is_point()
            && is_large(table, catalog)
        {
            let by = |index: &Arc<IndexDef>| (table.oid.0, Arc::clone(&index.name), access.descending);
            found.extend(access.indexes().into_iter().map(by));
        }
        false
    });
    found
}

pub(super) fn is_large(table: &TableDef, catalog: &CatalogSnapshot) -> bool {
    catalog.rows(table).is_some_and(|rows| rows > LARGE)
}

/// Whether parts of a condition are parameters.
fn asks_parameters(filter: &Option<TypedExpr>) -> bool {
    let is_parameter = |part: &TypedExpr| matches!(part.kind, ExprKind::Parameter(_));
    filter.as_ref().is_some_and(|filter| filter.any(&mut |part| is_parameter(part)))
}

/// A table of so many rows takes longer to read than a plan takes to make.
const LARGE: f64 = 10_000.0;

/// Whether literals decide what a statement does. They decide which indexes it may use: those of expressions, where a literal may
/// stand in one, and those with conditions, which follow from some literals only; with grouping sets, which expressions above
/// them are keys; of several set-returning functions, which are one; and which indexes ON CONFLICT means. Where a large table is read they decide how many of its rows
/// are left, and so how it is joined; where one is walked in the order of an index, how far.
fn depends_on_literals(bound: &Bound, catalog: &CatalogSnapshot) -> bool {
    let hides = |table: &TableDef| table.columns.last().is_some_and(ColumnDef::is_hidden);
    let takes_literals = |set: &SetColumns| {
        let is_parameter = |part: &TypedExpr| matches!(part.kind, ExprKind::Parameter(_));
        set.call.args().iter().any(|arg| arg.any(&mut |part| is_parameter(part)))
    };
    let is_large = |table: &TableDef| is_large(table, catalog);
    let look = |plan: &Plan| {
        let (mut sets_seen, mut takes) = (0, false);
        plan.any(&mut |part| match part {
            Plan::ProjectSet { calls, .. } => {
                sets_seen += calls.len();
                takes |= calls.iter().any(takes_literals);
                takes && sets_seen > 1
            }
            Plan::TableScan { table, filter, .. } => filter.is_some() && hides(table) || is_large(table),
            Plan::IndexScan { table, access, filter, .. } => {
                let walks = access.equals.is_empty() && asks_parameters(filter);
                hides(table) && !access.is_point() || walks && is_large(table)
            }
            Plan::Aggregate { sets, .. } => sets.is_some(),
            _ => false,
        })
    };
    match bound {
        Bound::Query(plan) => look(plan),
        Bound::Insert(insert) => bound.is_undecided() || look(&insert.source),
        Bound::Update(update) => {
            update.filter.is_some() && hides(&update.table) || update.joined.as_ref().is_some_and(look)
        }
        Bound::Delete(delete) => {
            delete.filter.is_some() && hides(&delete.table) || delete.joined.as_ref().is_some_and(look)
        }
        Bound::With(with) => with.parts.iter().any(|part| depends_on_literals(&part.statement, catalog)),
        Bound::Merge(merge) => look(&merge.joined),
    }
}
