//! The rows of the system views.

use std::sync::atomic::Ordering;

use verso_catalog::{SystemRows, SystemView};
use verso_storage::{Isolation, Markers, PageKind, TxnId, TxnState};
use verso_types::Value;

use super::services::Services;
use super::settings::SETTINGS;

/// A sweep that a statement asked for.
#[derive(Clone, Debug)]
pub struct SweepRecord {
    pub(crate) started: i64,
    pub(crate) seconds: f64,
    pub(crate) workers: u32,
    pub(crate) table: Option<String>,
    pub(crate) pages_visited: u64,
    pub(crate) pages_skipped: u64,
    pub(crate) pages_backed_out: u64,
    pub(crate) before: Markers,
    pub(crate) after: Markers,
}

/// Sums over the session's statements.
#[derive(Clone, Debug, Default)]
pub struct SessionTotals {
    pub(crate) statements: u64,
    pub(crate) rows: u64,
    pub(crate) elapsed_nanos: u64,
    pub(crate) fetches: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) redo_bytes: u64,
}

/// Beyond so many transactions `verso_tip` shows the first ones only.
const TIP_ROWS_MAX: u64 = 100_000;

fn int(value: u64) -> Value {
    Value::Int8(i64::try_from(value).unwrap_or(i64::MAX))
}

fn id(value: TxnId) -> Value {
    int(value.0)
}

fn optional(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::Timestamptz)
}

impl SystemRows for Services {
    fn rows(&self, view: SystemView, args: &[Value]) -> Vec<Vec<Value>> {
        match view {
            SystemView::Database => vec![self.database_row()],
            SystemView::Transactions => self.transaction_rows(),
            SystemView::Sessions => self.session_rows(),
            SystemView::SessionStats => {
                let totals = self.totals.borrow();
                vec![vec![
                    int(totals.statements),
                    int(totals.rows),
                    Value::Float8(totals.elapsed_nanos as f64 / 1e6),
                    int(totals.fetches),
                    int(totals.reads),
                    int(totals.writes),
                    int(totals.redo_bytes),
                ]]
            }
            SystemView::TableSpace => self.table_space_rows(),
            SystemView::SweepHistory => self.instance.sweeps.lock().iter().map(sweep_row).collect(),
            SystemView::Tip => self.tip_rows(args),
            SystemView::Settings => {
                let row = |(name, description): &(&str, &str)| {
                    let setting = self.show(name).map_or(Value::Null, |setting| Value::text(&setting));
                    vec![Value::text(name), setting, Value::text(description)]
                };
                SETTINGS.iter().map(row).collect()
            }
            SystemView::Progress => Vec::new(), // nothing runs in the background of a statement yet
            SystemView::PageWrites => {
                let statistics = self.instance.engine.statistics();
                let writes = statistics.pool.writes_per_kind;
                PageKind::ALL
                    .iter()
                    .map(|kind| vec![Value::text(kind.name()), int(writes[kind.index()])])
                    .collect()
            }
        }
    }
}

impl Services {
    fn database_row(&self) -> Vec<Value> {
        let engine = &self.instance.engine;
        let (markers, space, statistics) = (engine.markers(), engine.space(), engine.statistics());
        let database = *self.instance.database.lock();
        let page_size = i32::try_from(space.page_size).unwrap_or(i32::MAX);
        vec![
            Value::text("verso"),
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
        ]
    }

    fn transaction_rows(&self) -> Vec<Vec<Value>> {
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
            ]
        };
        self.instance.engine.transactions().into_iter().map(row).collect()
    }

    fn session_rows(&self) -> Vec<Vec<Value>> {
        let row = |info: std::sync::Arc<super::registry::SessionInfo>| {
            let started = info.statement_started.load(Ordering::Relaxed);
            let statement = std::sync::Arc::clone(&info.statement.lock());
            vec![
                int(info.number),
                Value::text("client"),
                Value::text(info.activity().name()),
                Value::Null,
                Value::Timestamptz(info.connected),
                optional((started != 0).then_some(started)),
                Value::Text(statement),
            ]
        };
        self.instance.sessions.all().into_iter().map(row).collect()
    }

    fn table_space_rows(&self) -> Vec<Vec<Value>> {
        let Some(catalog) = self.catalog.borrow().clone() else { return Vec::new() };
        let engine = &self.instance.engine;
        let page_size = engine.space().page_size;
        let mut rows = Vec::new();
        for table in catalog.tables() {
            // A table dropped meanwhile has no space to tell of.
            let Ok(space) = engine.table_space(table.heap) else { continue };
            let pages =
                space.data_pages + space.companion_pages + space.overflow_pages + space.directory_pages;
            rows.push(vec![
                Value::text(&table.schema),
                Value::text(&table.name),
                int(space.data_pages),
                int(space.companion_pages),
                int(space.overflow_pages),
                Value::Null,
                int(space.swept_pages),
                int(space.all_visible_pages),
                int(pages * page_size),
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
        let engine = &self.instance.engine;
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
    row
}
