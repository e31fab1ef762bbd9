//! The system views: `verso_*`, what the running database tells about itself, and the relations of `pg_catalog` and
//! `information_schema`, as rows.
//!
//! The names and columns are here, so that the binder knows them; the rows are made when a query asks, by whoever
//! holds the running database ([`SystemRows`]).

use std::sync::Arc;

use verso_types::{Column, SqlType, SystemType, Value};

use crate::relations::{RelationId, SystemColumn, SystemRelation};
use crate::snapshot::PG_CATALOG;

/// A system view, or a system function that gives rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SystemView {
    /// `verso_database`: one row with the markers and the space of the database.
    Database,
    /// `verso_transactions`: the transactions that have not ended.
    Transactions,
    /// `verso_sessions`: who is connected and what they do.
    Sessions,
    /// `verso_activity`: what sessions do, and what they wait for.
    Activity,
    /// `verso_session_stats`: what this session has used since it began.
    SessionStats,
    /// `verso_table_space`: the pages of every table.
    TableSpace,
    /// `verso_sweep_history`: the sweeps since the database was opened.
    SweepHistory,
    /// `verso_tip(from, to)`: the states of transactions in the inventory.
    Tip,
    /// `verso_settings`: every setting with its value.
    Settings,
    /// `verso_progress`: long operations under way.
    Progress,
    /// `verso_page_writes`: pages written since the database was opened, by kind and object.
    PageWrites,
    /// `verso_page_writes(table)`: how often each page of a table or an index was written since the database was opened.
    PageWritesOf,
    /// `verso_statements`: the statements that run.
    Statements,
    /// `verso_locks`: locks held and waited for.
    Locks,
    /// `verso_damage`: damaged pages that were met since the database was opened.
    Damage,
    /// A relation of `pg_catalog` or `information_schema`, with PostgreSQL's columns.
    Relation(RelationId),
    /// `verso_wal`: one row, how far the log is, what is committed and not on disk yet, how often it was flushed.
    Wal,
    /// `verso_wal_histogram`: how long fsyncs took, and how many commits each flush made durable.
    WalHistogram,
    /// `verso_waits`: how often and how long sessions have waited, by kind; without a session all of them together.
    Waits,
    /// `verso_logs`: the segments of the log.
    Logs,
    /// `verso_archive`: one row, how the archiving of the log goes.
    Archive,
    /// `verso_queue`: statements with a share of the machine, and those that wait for one.
    Queue,
    /// `verso_reservations`: what transactions that have not ended add to RESERVABLE columns.
    Reservations,
    /// `verso_statement_cache`: texts whose plans are kept for all sessions.
    StatementCache,
    /// `pg_stat_statements`: what statements have cost; with PostgreSQL's columns.
    StatementFigures,
    /// `pg_stat_statements(showtext)`: the same, perhaps without texts.
    StatementFiguresOf,
    /// `pg_stat_statements_info`: one row, since when that is counted.
    StatementInformation,
    /// `verso_history`: what is within reach of the past, and the space that it takes; no row where it is not kept.
    History,
}

/// A column of a system view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: SqlType,
}

/// Rows of a system view, one after the other.
pub type SystemRowIter = Box<dyn Iterator<Item = Vec<Value>> + Send>;

/// Makes the rows of system views; supplied by the session.
pub trait SystemRows {
    /// The rows of `view` as they are now, a value for each of [`SystemView::columns`].
    ///
    /// `args` are those of [`SystemView::arguments`], empty for a view.
    fn rows(&self, view: SystemView, args: &[Value], asked: Asked<'_>) -> SystemRowIter;

    /// All rows of `view`, where these columns of them are kept as values of these types; then they need not be made.
    fn kept(&self, _view: SystemView, _columns: &[usize], _types: &[SqlType]) -> Option<KeptRows> {
        None
    }
}

/// All rows of a system view, by columns, as they are kept for everybody who asks.
#[derive(Clone, Debug)]
pub struct KeptRows {
    /// How many rows there are.
    pub rows: usize,
    /// The columns that were asked for, in that order.
    pub columns: Vec<Arc<Column>>,
}

/// What a query asks of a system view.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Only rows with these values in these columns; others may be among the rows nevertheless.
    pub keys: &'a [(usize, Value)],
    /// The columns that are read. What is costly to make may be NULL in others.
    pub columns: &'a [usize],
}

/// The columns of `pg_stat_statements`, as version 1.12 of the extension has them.
const STATEMENT_FIGURES: &[(&str, SqlType)] = {
    use SqlType::{Bool, Float8, Int8, Numeric, Oid, Text, Timestamptz};
    &[
        ("userid", Oid),
        ("dbid", Oid),
        ("toplevel", Bool),
        ("queryid", Int8),
        ("query", Text),
        ("plans", Int8),
        ("total_plan_time", Float8),
        ("min_plan_time", Float8),
        ("max_plan_time", Float8),
        ("mean_plan_time", Float8),
        ("stddev_plan_time", Float8),
        ("calls", Int8),
        ("total_exec_time", Float8),
        ("min_exec_time", Float8),
        ("max_exec_time", Float8),
        ("mean_exec_time", Float8),
        ("stddev_exec_time", Float8),
        ("rows", Int8),
        ("shared_blks_hit", Int8),
        ("shared_blks_read", Int8),
        ("shared_blks_dirtied", Int8),
        ("shared_blks_written", Int8),
        ("local_blks_hit", Int8),
        ("local_blks_read", Int8),
        ("local_blks_dirtied", Int8),
        ("local_blks_written", Int8),
        ("temp_blks_read", Int8),
        ("temp_blks_written", Int8),
        ("shared_blk_read_time", Float8),
        ("shared_blk_write_time", Float8),
        ("local_blk_read_time", Float8),
        ("local_blk_write_time", Float8),
        ("temp_blk_read_time", Float8),
        ("temp_blk_write_time", Float8),
        ("wal_records", Int8),
        ("wal_fpi", Int8),
        ("wal_bytes", Numeric(None)),
        ("wal_buffers_full", Int8),
        ("jit_functions", Int8),
        ("jit_generation_time", Float8),
        ("jit_inlining_count", Int8),
        ("jit_inlining_time", Float8),
        ("jit_optimization_count", Int8),
        ("jit_optimization_time", Float8),
        ("jit_emission_count", Int8),
        ("jit_emission_time", Float8),
        ("jit_deform_count", Int8),
        ("jit_deform_time", Float8),
        ("parallel_workers_to_launch", Int8),
        ("parallel_workers_launched", Int8),
        ("stats_since", Timestamptz(None)),
        ("minmax_stats_since", Timestamptz(None)),
    ]
};

impl SystemView {
    /// All that are Verso's own. Their places are their numbers in `pg_class`: new ones go to the end.
    pub const ALL: [SystemView; 25] = [
        SystemView::Database,
        SystemView::Transactions,
        SystemView::Sessions,
        SystemView::Activity,
        SystemView::Statements,
        SystemView::SessionStats,
        SystemView::TableSpace,
        SystemView::SweepHistory,
        SystemView::History,
        SystemView::Queue,
        SystemView::Reservations,
        SystemView::StatementCache,
        SystemView::Tip,
        SystemView::Settings,
        SystemView::Progress,
        SystemView::PageWrites,
        SystemView::Locks,
        SystemView::Damage,
        SystemView::Wal,
        SystemView::WalHistogram,
        SystemView::Waits,
        SystemView::Logs,
        SystemView::Archive,
        SystemView::StatementFigures,
        SystemView::StatementInformation,
    ];

    /// The relation that it is in `pg_class`; none of functions that give rows.
    pub fn relation(self) -> Option<&'static SystemRelation> {
        match self {
            SystemView::Relation(relation) => Some(relation.get()),
            view => RelationId::find(PG_CATALOG, view.name()).map(RelationId::get),
        }
    }

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            SystemView::Database => "verso_database",
            SystemView::Transactions => "verso_transactions",
            SystemView::Sessions => "verso_sessions",
            SystemView::Activity => "verso_activity",
            SystemView::SessionStats => "verso_session_stats",
            SystemView::TableSpace => "verso_table_space",
            SystemView::SweepHistory => "verso_sweep_history",
            SystemView::History => "verso_history",
            SystemView::Queue => "verso_queue",
            SystemView::Reservations => "verso_reservations",
            SystemView::StatementCache => "verso_statement_cache",
            SystemView::Tip => "verso_tip",
            SystemView::Settings => "verso_settings",
            SystemView::Progress => "verso_progress",
            SystemView::PageWrites | SystemView::PageWritesOf => "verso_page_writes",
            SystemView::Statements => "verso_statements",
            SystemView::Locks => "verso_locks",
            SystemView::Damage => "verso_damage",
            SystemView::Relation(id) => id.get().name,
            SystemView::Wal => "verso_wal",
            SystemView::WalHistogram => "verso_wal_histogram",
            SystemView::Waits => "verso_waits",
            SystemView::Logs => "verso_logs",
            SystemView::Archive => "verso_archive",
            SystemView::StatementFigures | SystemView::StatementFiguresOf => "pg_stat_statements",
            SystemView::StatementInformation => "pg_stat_statements_info",
        }
    }

    /// The view of that name in `pg_catalog`.
    pub fn from_name(name: &str) -> Option<SystemView> {
        let relation = || RelationId::find(PG_CATALOG, name).map(SystemView::Relation);
        SystemView::ALL.into_iter().find(|view| view.name() == name).or_else(relation)
    }

    /// The function of that name in `pg_catalog` that gives rows.
    pub fn of_call(name: &str) -> Option<SystemView> {
        let calls = [SystemView::Tip, SystemView::PageWritesOf, SystemView::StatementFiguresOf];
        calls.into_iter().find(|view| view.name() == name)
    }

    /// Types of its arguments: not empty for what is called as a function.
    pub fn arguments(self) -> &'static [SqlType] {
        match self {
            SystemView::Tip => &[SqlType::Int8, SqlType::Int8],
            SystemView::PageWritesOf => &[SqlType::System(SystemType::Regclass)],
            SystemView::StatementFiguresOf => &[SqlType::Bool],
            _ => &[],
        }
    }

    /// Its columns in order.
    pub fn columns(self) -> Vec<ViewColumn> {
        use SqlType::{Bool, Float8, Int4, Int8, Numeric, Text, Timestamptz};
        let columns: &[(&'static str, SqlType)] = match self {
            SystemView::StatementFigures | SystemView::StatementFiguresOf => STATEMENT_FIGURES,
            SystemView::StatementInformation => &[("dealloc", Int8), ("stats_reset", Timestamptz(None))],
            SystemView::Wal => &[
                ("appended", Int8),
                ("written", Int8),
                ("durable", Int8),
                ("commits", Int8),
                ("commits_not_durable", Int8),
                ("flushes", Int8),
                ("fsyncs", Int8),
                ("fsync_time", Float8),
                ("chunks", Int8),
                ("bytes_written", Int8),
                ("segments_created", Int8),
                ("segments_recycled", Int8),
            ],
            SystemView::WalHistogram => &[("what", Text), ("below", Int8), ("count", Int8)],
            SystemView::Waits => &[("session", Int4), ("kind", Text), ("waits", Int8), ("wait_ms", Float8)],
            SystemView::Logs => &[
                ("segment", Int8),
                ("file", Text),
                ("bytes", Int8),
                ("first_lsn", Int8),
                ("last_lsn", Int8),
                ("state", Text),
            ],
            SystemView::Archive => &[
                ("target", Text),
                ("archived_lsn", Int8),
                ("segments", Int8),
                ("waiting_bytes", Int8),
                ("failures", Int8),
                ("error", Text),
                ("archived_at", Timestamptz(None)),
            ],
            SystemView::Database => &[
                ("name", Text),
                ("oit", Int8),
                ("oat", Int8),
                ("ost", Int8),
                ("next_xid", Int8),
                ("page_size", Int4),
                ("total_pages", Int8),
                ("free_pages", Int8),
                ("version_pages", Int8),
                ("temporary_pages", Int8),
                ("buffer_pool_bytes", Int8),
                ("resident_pages", Int8),
                ("dirty_pages", Int8),
                ("log_bytes", Int8),
                ("log_fsyncs", Int8),
                ("commits", Int8),
                ("rollbacks", Int8),
                ("sweep_interval", Int8),
                ("auto_backout", Bool),
                ("merged_versions", Int8),
            ],
            SystemView::Locks => &[
                ("kind", Text),
                ("table_name", Text),
                ("key", Text),
                ("records", Int8),
                ("mode", Text),
                ("granted", Bool),
                ("session", Int4),
                ("xid", Int8),
                ("blocked_by", Text),
            ],
            SystemView::Transactions => &[
                ("xid", Int8),
                ("state", Text),
                ("isolation", Text),
                ("savepoints", Bool),
                ("read_only", Bool),
                ("started", Timestamptz(None)),
                ("snapshot", Int8),
                ("undo_bitmap_bytes", Int8),
                ("undo_image_bytes", Int8),
                ("wal_bytes", Int8),
                ("first_lsn", Int8),
                ("wal_span_bytes", Int8),
            ],
            SystemView::Sessions => &[
                ("id", Int8),
                ("kind", Text),
                ("state", Text),
                ("xid", Int8),
                ("connected", Timestamptz(None)),
                ("statement_started", Timestamptz(None)),
                ("statement", Text),
            ],
            SystemView::Activity => &[
                ("id", Int8),
                ("database", Text),
                ("role", Text),
                ("application", Text),
                ("state", Text),
                ("wait_event_type", Text),
                ("wait_event", Text),
                ("statement_started", Timestamptz(None)),
                ("state_changed", Timestamptz(None)),
                ("statement", Text),
            ],
            SystemView::SessionStats => &[
                ("statements", Int8),
                ("rows", Int8),
                ("elapsed_ms", Float8),
                ("fetches", Int8),
                ("reads", Int8),
                ("writes", Int8),
                ("redo_bytes", Int8),
            ],
            SystemView::TableSpace => &[
                ("schema_name", Text),
                ("table_name", Text),
                ("data_pages", Int8),
                ("companion_pages", Int8),
                ("overflow_pages", Int8),
                ("free_pages", Int8),
                ("version_pages", Int8),
                ("swept_pages", Int8),
                ("all_visible_pages", Int8),
                ("bytes", Int8),
                ("packed_pages", Int8),
                ("packed_into", Int8),
                ("packed_ratio", Float8),
                ("dictionary_pages", Int8),
                ("packed_by_itself", Int8),
                ("unpacked", Int8),
            ],
            SystemView::SweepHistory => &[
                ("started", Timestamptz(None)),
                ("seconds", Float8),
                ("workers", Int4),
                ("table_name", Text),
                ("pages_visited", Int8),
                ("pages_skipped", Int8),
                ("pages_backed_out", Int8),
                ("oit_before", Int8),
                ("oat_before", Int8),
                ("ost_before", Int8),
                ("next_before", Int8),
                ("oit_after", Int8),
                ("oat_after", Int8),
                ("ost_after", Int8),
                ("next_after", Int8),
                ("session", Int4),
            ],
            SystemView::Queue => &[
                ("session", Int4),
                ("state", Text),
                ("position", Int8),
                ("units", Int8),
                ("milliseconds", Float8),
                ("statement", Text),
            ],
            SystemView::Reservations => &[
                ("xid", Int8),
                ("state", Text),
                ("schema_name", Text),
                ("table_name", Text),
                ("key", Text),
                ("column_name", Text),
                ("operation", Text),
                ("amount", Numeric(None)),
            ],
            SystemView::StatementCache => &[("statement", Text), ("kept_as", Text)],
            SystemView::History => &[
                ("retention_ms", Int8),
                ("oldest_at", Timestamptz(None)),
                ("oldest_snapshot", Int8),
                ("newest_snapshot", Int8),
                ("moments", Int8),
                ("precision_ms", Float8),
                ("version_pages", Int8),
                ("version_bytes", Int8),
                ("version_bytes_max", Int8),
            ],
            SystemView::Tip => &[("xid", Int8), ("state", Text)],
            SystemView::Settings => &[("name", Text), ("setting", Text), ("description", Text)],
            SystemView::Progress => &[
                ("session", Int4),
                ("operation", Text),
                ("table_name", Text),
                ("phase", Text),
                ("done", Int8),
                ("total", Int8),
                ("unit", Text),
                ("workers", Int4),
                ("held_bytes", Int8),
                ("spilled_bytes", Int8),
                ("seconds", Float8),
            ],
            SystemView::PageWrites => {
                &[("page_kind", Text), ("object", Int8), ("table_name", Text), ("writes", Int8)]
            }
            SystemView::PageWritesOf => &[("block", Int8), ("page", Int8), ("writes", Int8)],
            SystemView::Statements => &[
                ("pid", Int4),
                ("database", Text),
                ("role", Text),
                ("application", Text),
                ("started", Timestamptz(None)),
                ("statement", Text),
            ],
            SystemView::Damage => {
                &[("page", Int8), ("object", Int8), ("table_name", Text), ("problem", Text)]
            }
            SystemView::Relation(id) => {
                let column = |column: &SystemColumn| ViewColumn { name: column.name, ty: column.ty.clone() };
                return id.get().columns.iter().map(column).collect();
            }
        };
        columns.iter().map(|(name, ty)| ViewColumn { name, ty: ty.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_lead_back_and_columns_differ() {
        for view in SystemView::ALL {
            assert_eq!(SystemView::from_name(view.name()), Some(view));
            let names: HashSet<_> = view.columns().iter().map(|column| column.name).collect();
            assert_eq!(names.len(), view.columns().len(), "{}", view.name());
        }
        for view in [SystemView::Tip, SystemView::PageWritesOf, SystemView::StatementFiguresOf] {
            assert_eq!(SystemView::of_call(view.name()), Some(view));
            assert!(!view.arguments().is_empty());
        }
    }
}
