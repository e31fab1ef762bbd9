//! The rows of the system views.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{Asked, KeptRows, Object, Oid, Relation, Rights, SystemRowIter, SystemRows, SystemView};
use verso_exec::ExecError;
use verso_exec::context::CatalogFunctions;
use verso_storage::{
    DamagedPage, Isolation, JobInfo, LockInfo, LockTarget, ObjectId, TxnId, TxnState, WorkerInfo, WriteCount,
};
use verso_types::{SqlType, Value, format_text};

use crate::instance::SweepRecord;
use crate::passwords::without_passwords;
use crate::portal::Portals;
use crate::registry::SessionInfo;
use crate::services::Services;
use crate::tracked;

/// Sums over the session's statements.
#[derive(Clone, Debug, Default)]
pub struct SessionTotals {
    pub(crate) statements: u64,
    pub(crate) rows: u64,
    /// Some of them were measured while `statement_statistics` was on; the sums behind this are over those.
    pub(crate) measured: bool,
    pub(crate) elapsed_nanos: u64,
    pub(crate) fetches: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) redo_bytes: u64,
}

/// What stands for what a role may not see.
pub(crate) const NOT_SHOWN: &str = "<insufficient privilege>";

/// Beyond so many transactions `verso_tip` shows the first ones only.
const TIP_ROWS_MAX: u64 = 100_000;

pub(crate) fn int(value: u64) -> Value {
    Value::Int8(i64::try_from(value).unwrap_or(i64::MAX))
}

/// A session by its number, as `pg_cancel_backend` takes it.
pub(crate) fn session(number: u64) -> Value {
    Value::Int4(i32::try_from(number).unwrap_or(i32::MAX))
}

fn id(value: TxnId) -> Value {
    int(value.0)
}

fn optional(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::Timestamptz)
}

/// What the rows are made of.
pub(crate) struct Views<'v> {
    pub(crate) services: &'v Services,
    /// Portals of the protocol, and the transaction that they are asked for.
    pub(crate) portals: (&'v Portals, u64),
    pub(crate) totals: &'v SessionTotals,
}

impl SystemRows for Views<'_> {
    fn rows(&self, view: SystemView, args: &[Value], asked: Asked<'_>) -> SystemRowIter {
        match view {
            SystemView::Relation(relation) => crate::catalogs::rows(self, relation, asked),
            view => Box::new(self.own_rows(view, args).into_iter()),
        }
    }

    fn kept(&self, view: SystemView, columns: &[usize], types: &[SqlType]) -> Option<KeptRows> {
        match view {
            SystemView::Relation(relation) => crate::catalogs::kept(self, relation, (columns, types)),
            _ => None,
        }
    }
}

/// What a statement may ask of the catalogs: rows of views, and functions.
pub(crate) trait CatalogViews {
    /// Rows.
    fn rows_of(&self) -> &dyn SystemRows;
    /// Functions.
    fn functions_of(&self) -> &dyn CatalogFunctions;
}

impl CatalogViews for Views<'_> {
    fn rows_of(&self) -> &dyn SystemRows {
        self
    }

    fn functions_of(&self) -> &dyn CatalogFunctions {
        self
    }
}

impl CatalogFunctions for Views<'_> {
    fn call(&self, function: &'static str, args: &[Value]) -> Result<Value, ExecError> {
        crate::catalogs::call(self, function, args)
    }
}

impl Views<'_> {
    /// The rows of the views that are Verso's own.
    fn own_rows(&self, view: SystemView, args: &[Value]) -> Vec<Vec<Value>> {
        match view {
            SystemView::Database => vec![self.database_row()],
            SystemView::Transactions => self.transaction_rows(),
            SystemView::Sessions => self.session_rows(),
            SystemView::Activity => crate::catalogs::activity(self),
            SystemView::SessionStats => {
                let totals = self.totals;
                let measured = |value: Value| if totals.measured { value } else { Value::Null };
                vec![vec![
                    int(totals.statements),
                    int(totals.rows),
                    measured(Value::Float8(totals.elapsed_nanos as f64 / 1e6)),
                    measured(int(totals.fetches)),
                    measured(int(totals.reads)),
                    measured(int(totals.writes)),
                    measured(int(totals.redo_bytes)),
                ]]
            }
            SystemView::TableSpace => self.table_space_rows(view),
            SystemView::SweepHistory => self.sweep_rows(),
            SystemView::History => self.history_rows(),
            SystemView::Queue => self.queue_rows(),
            SystemView::Reservations => self.reservation_rows(),
            SystemView::StatementCache => {
                let texts = self.services.instance.statements.list().into_iter();
                // Nobody knows whose a text is, and it may have values in it.
                let sees = self.services.has_role(verso_catalog::authority::READ_ALL_STATS);
                let shown = |text: &str| match sees {
                    true => Value::text(&without_passwords(text)),
                    false => Value::text(NOT_SHOWN),
                };
                texts.map(|(text, kept)| vec![shown(&text), Value::text(kept)]).collect()
            }
            SystemView::Tip => self.tip_rows(args),
            SystemView::Settings => {
                let rows = self.services.show_all().into_iter();
                rows.map(|row| row.iter().map(|text| Value::text(text)).collect()).collect()
            }
            SystemView::Locks => self.lock_rows(),
            SystemView::Progress => self.progress_rows(),
            SystemView::Relation(_) => Vec::new(),
            SystemView::Damage => {
                let row = |damaged: DamagedPage| {
                    vec![
                        int(u64::from(damaged.page.0)),
                        int(u64::from(damaged.owner.0)),
                        self.table_of(damaged.owner).map_or(Value::Null, |(name, _)| name),
                        Value::text(&damaged.message),
                    ]
                };
                self.services.instance.engine.damaged_pages().into_iter().map(row).collect()
            }
            SystemView::Wal => vec![self.wal_row()],
            SystemView::WalHistogram => self.wal_histogram_rows(),
            SystemView::Waits => self.wait_rows(),
            SystemView::Logs => self.log_rows(),
            SystemView::Archive => vec![self.archive_row()],
            SystemView::StatementFigures => tracked::statements(self, true),
            SystemView::StatementFiguresOf => {
                tracked::statements(self, matches!(args.first(), Some(Value::Bool(true))))
            }
            SystemView::StatementInformation => vec![tracked::information(self)],
            SystemView::Statements => crate::catalogs::statements(self),
            SystemView::PageWritesOf => self.page_write_rows(args),
            SystemView::PageWrites => {
                let mut counts = self.services.instance.engine.page_writes();
                counts.sort_unstable_by_key(|count| (count.kind.index(), count.owner.0));
                let row = |count: WriteCount| {
                    let object = int(u64::from(count.owner.0));
                    vec![
                        Value::text(count.kind.name()),
                        object,
                        self.table_with(count.owner),
                        int(count.writes),
                    ]
                };
                counts.into_iter().map(row).collect()
            }
        }
    }
}

impl Views<'_> {
    fn database_row(&self) -> Vec<Value> {
        let engine = &self.services.instance.engine;
        let (markers, space, statistics) = (engine.markers(), engine.space(), engine.statistics());
        let database = *self.services.instance.database.lock();
        let page_size = i32::try_from(space.page_size).unwrap_or(i32::MAX);
        vec![
            Value::Text(std::sync::Arc::clone(self.services.database())),
            id(markers.oit),
            id(markers.oat),
            id(markers.ost),
            id(markers.next),
            Value::Int4(page_size),
            int(space.total_pages),
            int(space.free_pages),
            int(space.version_pages),
            int(space.temporary_pages),
            int(statistics.pool.capacity_pages * space.page_size),
            int(statistics.pool.resident_pages),
            int(statistics.pool.dirty_pages),
            int(statistics.log.bytes),
            int(statistics.log.fsyncs),
            int(statistics.commits),
            int(statistics.rollbacks),
            int(database.sweep_interval),
            Value::Bool(database.auto_backout),
            int(statistics.merged_entries),
        ]
    }

    fn transaction_rows(&self) -> Vec<Vec<Value>> {
        let end = self.services.instance.engine.logged();
        let row = |txn: verso_storage::TxnInfo| {
            let level = match txn.isolation {
                Isolation::ReadUncommitted => "read uncommitted",
                Isolation::ReadCommitted => "read committed",
                Isolation::Snapshot => "repeatable read",
                Isolation::Serializable => "serializable",
            };
            vec![
                txn.id.map_or(Value::Null, id),
                Value::text(state_name(TxnState::Active)),
                Value::text(level),
                Value::Bool(txn.savepoints),
                Value::Bool(txn.read_only),
                Value::Null,
                txn.snapshot.map_or(Value::Null, int),
                int(txn.undo_bitmap_bytes),
                int(txn.undo_image_bytes),
                int(txn.log_bytes),
                if txn.first_lsn.0 == 0 { Value::Null } else { int(txn.first_lsn.0) },
                if txn.first_lsn.0 == 0 { Value::Null } else { int(end.0.saturating_sub(txn.first_lsn.0)) },
            ]
        };
        self.services.instance.engine.transactions().into_iter().map(row).collect()
    }

    /// The statement of a session, where the role may see it: its own, or that of a role that it is a member of.
    pub(crate) fn statement_of(&self, info: &SessionInfo) -> Value {
        if !self.may_see(info) {
            return Value::text(NOT_SHOWN);
        }
        let text = Arc::clone(&info.statement.lock());
        match without_passwords(&text) {
            Cow::Borrowed(_) => Value::Text(text),
            Cow::Owned(text) => Value::text(&text),
        }
    }

    /// Whether the role may see what a session does: its own, or that of a role that it is a member of.
    pub(crate) fn may_see(&self, info: &SessionInfo) -> bool {
        let owner = info.identity.lock().role;
        // A role of another database is not known here, whatever its number.
        let here = info.member.number() == self.services.instance.member.number();
        self.services.has_role(verso_catalog::authority::READ_ALL_STATS)
            || here && self.services.has_role(owner)
    }

    /// The table with this number, and its oid.
    pub(crate) fn table_of(&self, object: ObjectId) -> Option<(Value, Value)> {
        let catalog = self.services.known_catalog()?;
        let table = catalog.relation_of_object(object)?.as_table()?;
        Some((Value::text(&table.name), Value::Int8(i64::from(table.oid.0))))
    }

    /// The number of the table or sequence with this object.
    pub(crate) fn relation_of(&self, object: ObjectId) -> Value {
        let sequence = || {
            let catalog = self.services.known_catalog()?;
            let found = catalog.relation_of_object(object)?.as_sequence()?;
            Some(Value::Int8(i64::from(found.oid.0)))
        };
        self.table_of(object).map(|(_, oid)| oid).or_else(sequence).unwrap_or(Value::Null)
    }

    /// The name of the table that an object is, or is an index of.
    fn table_with(&self, object: ObjectId) -> Value {
        let Some(catalog) = self.services.known_catalog() else { return Value::Null };
        let table = match catalog.relation_of_object(object) {
            Some(Relation::Table(table)) => Some(Arc::clone(table)),
            Some(Relation::Index(index)) => catalog.table_by_oid(index.table),
            _ => None,
        };
        table.map_or(Value::Null, |table| Value::text(&table.name))
    }

    /// How often each page of a table or an index was written; none for what has no pages.
    fn page_write_rows(&self, args: &[Value]) -> Vec<Vec<Value>> {
        let oid = args.first().and_then(Value::as_i64).and_then(|oid| u32::try_from(oid).ok());
        let (Some(oid), Some(catalog)) = (oid.map(Oid), self.services.known_catalog()) else {
            return Vec::new();
        };
        let object = match catalog.relation_by_oid(oid) {
            Some(Relation::Table(table)) => Some(table.heap),
            Some(Relation::Index(index)) => Some(index.object),
            _ => None,
        };
        let writes =
            object.map_or_else(Vec::new, |object| self.services.instance.engine.page_writes_of(object));
        writes.into_iter().map(|(block, page, writes)| [block, page, writes].map(int).to_vec()).collect()
    }

    fn lock_rows(&self) -> Vec<Vec<Value>> {
        let name = |object| self.table_of(object).map_or(Value::Null, |(name, _)| name);
        let row = |lock: LockInfo| {
            let (kind, table, key, records) = match lock.target {
                LockTarget::Table(object) => ("table", name(object), Value::Null, Value::Null),
                LockTarget::Records { object, first, count } => {
                    ("record", name(object), Value::text(&first.to_string()), int(u64::from(count)))
                }
                LockTarget::Pages { object, first, last } => {
                    let pages = if first == last { first.to_string() } else { format!("{first}-{last}") };
                    ("page", name(object), Value::text(&pages), Value::Null)
                }
                LockTarget::Transaction(txn) => {
                    ("transaction", Value::Null, Value::text(&txn.0.to_string()), Value::Null)
                }
                LockTarget::Advisory(key) => {
                    ("advisory", Value::Null, Value::text(&key.to_string()), Value::Null)
                }
                LockTarget::Name(name) => {
                    ("name", Value::Null, Value::text(&format!("{name:016x}")), Value::Null)
                }
            };
            let blockers: Vec<String> = lock.blocked_by.iter().map(u64::to_string).collect();
            vec![
                Value::text(kind),
                table,
                key,
                records,
                Value::text(lock.mode),
                Value::Bool(lock.granted),
                if lock.session == 0 { Value::Null } else { session(lock.session) },
                lock.txn.map_or(Value::Null, id),
                if blockers.is_empty() { Value::Null } else { Value::text(&blockers.join(",")) },
            ]
        };
        self.services.instance.engine.locks().into_iter().map(row).collect()
    }

    fn session_rows(&self) -> Vec<Vec<Value>> {
        let row = |info: std::sync::Arc<crate::registry::SessionInfo>| {
            let started = info.statement_started.load(Ordering::Relaxed);
            let statement = self.statement_of(&info);
            vec![
                int(info.number),
                Value::text("client"),
                Value::text(info.activity().name()),
                Value::Null,
                Value::Timestamptz(info.connected),
                optional((started != 0).then_some(started)),
                statement,
            ]
        };
        let worker = |worker: WorkerInfo| {
            let statement = worker.job.as_ref().map(|job| format!("{}: {}", job.what, job.phase));
            vec![
                // Others than those of clients: nobody cancels a worker, but its job.
                Value::Int8(-i64::try_from(worker.number).unwrap_or(i64::MAX)),
                Value::text("worker"),
                Value::text(if worker.job.is_some() { "active" } else { "idle" }),
                Value::Null,
                Value::Null,
                Value::Null,
                statement.map_or(Value::Null, |statement| Value::text(&statement)),
            ]
        };
        let instance = &self.services.instance;
        let clients = instance.sessions.of(&instance.member).into_iter().map(row);
        clients.chain(instance.engine.workers().into_iter().map(worker)).collect()
    }

    /// Sweeps of statements, and those that started by themselves, oldest first.
    fn sweep_rows(&self) -> Vec<Vec<Value>> {
        let instance = &self.services.instance;
        let mut sweeps = instance.sweeps.lock().clone();
        sweeps.extend(instance.engine.own_sweeps().iter().map(SweepRecord::automatic));
        sweeps.sort_by_key(|sweep| sweep.started);
        sweeps.iter().map(sweep_row).collect()
    }

    /// Jobs of maintenance under way.
    fn progress_rows(&self) -> Vec<Vec<Value>> {
        let engine = &self.services.instance.engine;
        let now = engine.env().clock.monotonic_nanos();
        let jobs = engine.jobs();
        let table = |job: &JobInfo| job.table.and_then(|table| self.table_of(table)).map(|(name, _)| name);
        // A part of a statement may work at a heap that is nobody's yet.
        let of_statement = |job: &JobInfo| {
            let others = jobs.iter().filter(|other| other.session == job.session && job.session != 0);
            others.filter_map(table).next()
        };
        let row = |job: &JobInfo| {
            let seconds = now.saturating_sub(job.started_nanos) as f64 / 1e9;
            vec![
                if job.session == 0 { Value::Null } else { session(job.session) },
                Value::text(job.what),
                table(job).or_else(|| of_statement(job)).unwrap_or(Value::Null),
                Value::text(job.phase),
                int(job.done),
                if job.total == 0 { Value::Null } else { int(job.total) },
                Value::text(job.unit),
                Value::Int4(i32::try_from(job.workers).unwrap_or(i32::MAX)),
                int(job.held_bytes),
                int(job.spilled_bytes),
                Value::Float8(seconds),
            ]
        };
        jobs.iter().map(row).collect()
    }

    /// `verso_reservations`: each amount by itself.
    fn reservation_rows(&self) -> Vec<Vec<Value>> {
        let Some(catalog) = self.services.known_catalog() else { return Vec::new() };
        let instance = &self.services.instance;
        let mut rows = Vec::new();
        for (noted, state) in instance.reservations.list(&instance.engine) {
            let Some(table) = catalog.table_by_oid(noted.table) else { continue };
            let types = table.primary_key().into_iter().flat_map(|index| &index.parts).filter_map(|part| {
                let at = table.column_with_id(part.column)?;
                Some(&table.columns[at].ty)
            });
            let mut key = String::new();
            for (value, ty) in noted.key.iter().zip(types) {
                if !key.is_empty() {
                    key.push_str(", ");
                }
                format_text(value, ty, &self.services.settings.time_zone, &mut key);
            }
            // Keys and amounts are rows of the table: who may not read those does not see them here.
            let role = self.services.current_role();
            let sees = catalog.rights(role, Object::Relation(table.oid)).has(Rights::SELECT)
                && !catalog.is_secured_for(table.oid, role);
            let key = if sees { format!("({key})") } else { NOT_SHOWN.to_string() };
            let column = table.column_with_id(noted.column);
            for amount in noted.amounts.iter().map(|amount| &amount.number) {
                let operation = if amount.is_negative() { "-" } else { "+" };
                rows.push(vec![
                    id(noted.txn),
                    Value::text(if state == TxnState::Limbo { "prepared" } else { "active" }),
                    Value::text(&table.schema),
                    Value::text(&table.name),
                    Value::text(&key),
                    column.map_or(Value::Null, |at| Value::text(&table.columns[at].name)),
                    if sees { Value::text(operation) } else { Value::Null },
                    amount.abs().value().ok().filter(|_| sees).unwrap_or(Value::Null),
                ]);
            }
        }
        rows
    }

    fn table_space_rows(&self, view: SystemView) -> Vec<Vec<Value>> {
        let Some(catalog) = self.services.known_catalog() else { return Vec::new() };
        let engine = &self.services.instance.engine;
        let page_size = engine.space().page_size;
        let mut rows = Vec::new();
        for table in catalog.tables() {
            let space = match engine.table_space(table.heap) {
                Ok(space) => space,
                // Its pages cannot be counted; that it is there can be told.
                Err(error) if error.is_of_a_page() => {
                    let mut row = vec![Value::text(&table.schema), Value::text(&table.name)];
                    row.resize(view.columns().len(), Value::Null);
                    rows.push(row);
                    continue;
                }
                // A table dropped meanwhile has no space to tell of.
                Err(_) => continue,
            };
            rows.push(vec![
                Value::text(&table.schema),
                Value::text(&table.name),
                int(space.data_pages),
                int(space.companion_pages),
                int(space.overflow_pages),
                int(space.free_pages),
                Value::Null,
                int(space.swept_pages),
                int(space.all_visible_pages),
                int(space.pages * page_size),
                int(space.packed_pages),
                int(space.packed_into),
                match space.packed_pages {
                    0 => Value::Null,
                    pages => Value::Float8(space.packed_into as f64 / pages as f64),
                },
                int(space.dictionary_pages),
                int(space.own_packed),
                int(space.unpacked),
            ]);
        }
        rows
    }

    fn tip_rows(&self, args: &[Value]) -> Vec<Vec<Value>> {
        let (Some(from), Some(to)) =
            (args.first().and_then(Value::as_i64), args.get(1).and_then(Value::as_i64))
        else {
            return Vec::new();
        };
        let engine = &self.services.instance.engine;
        let first = u64::try_from(from).unwrap_or(0).max(1);
        let last = u64::try_from(to).unwrap_or(0).min(engine.markers().next.0.saturating_sub(1));
        (first..=last)
            .take(TIP_ROWS_MAX as usize)
            .map(|number| vec![int(number), Value::text(state_name(engine.txn_state(TxnId(number))))])
            .collect()
    }
}

fn state_name(state: TxnState) -> &'static str {
    match state {
        TxnState::Active => "active",
        TxnState::Limbo => "limbo",
        TxnState::Dead => "dead",
        TxnState::Committed => "committed",
    }
}

fn sweep_row(record: &SweepRecord) -> Vec<Value> {
    let SweepRecord {
        session: by,
        started,
        seconds,
        workers,
        table,
        pages_visited,
        pages_skipped,
        pages_backed_out,
        before,
        after,
    } = record;
    let mut row = vec![
        Value::Timestamptz(*started),
        Value::Float8(*seconds),
        Value::Int4(i32::try_from(*workers).unwrap_or(i32::MAX)),
        table.as_deref().map_or(Value::Null, Value::text),
        int(*pages_visited),
        int(*pages_skipped),
        int(*pages_backed_out),
    ];
    for markers in [before, after] {
        row.extend([id(markers.oit), id(markers.oat), id(markers.ost), id(markers.next)]);
    }
    row.push(by.map_or(Value::Null, session));
    row
}
