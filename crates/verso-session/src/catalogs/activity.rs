//! Rows of what happens now: sessions, locks, prepared transactions, and statistics.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use verso_catalog::{CatalogSnapshot, Oid, Relation, SystemView, TableDef};
use verso_storage::heap::UseCounts;
use verso_storage::{AdvisoryKey, LockInfo, LockTarget, ObjectId, TxnId};
use verso_types::Value;
use verso_types::opaque::network::Network;

use super::keys::Keys;
use super::{blocks, number, oid};
use crate::registry::{SessionInfo, backend_id, waits};
use crate::resets::{self, Resets};
use crate::services::EPOCH_MICROS;
use crate::views::Views;

/// The lower half of a transaction's number, as `xid` has it.
fn xid(txn: TxnId) -> Value {
    Value::Int8((txn.0 & 0xffff_ffff).cast_signed())
}

pub(super) fn count(value: u64) -> Value {
    Value::Int8(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The address of a client.
pub(super) fn inet(address: std::net::SocketAddr) -> Value {
    Network::parse(&address.ip().to_string(), false).map_or(Value::Null, Network::into_value)
}

/// The rows of `pg_stat_activity`.
pub(super) fn sessions(views: &Views<'_>) -> Vec<Vec<Value>> {
    let services = views.services;
    let moment = |value: &AtomicI64| match value.load(Ordering::Relaxed) {
        0 => Value::Null,
        moment => Value::Timestamptz(moment),
    };
    let held = services.instance.engine.locks();
    let (_, queued) = services.instance.shares.list();
    let row = |info: &Arc<SessionInfo>| {
        let identity = info.identity.lock().clone();
        let address: Option<std::net::SocketAddr> =
            identity.client.as_deref().and_then(|client| client.parse().ok());
        let text = views.statement_of(info);
        // A commit whose answer is held back until the disk has it is not over.
        let flushes = info.is_flushing();
        let state = if flushes { "active" } else { info.activity().name() };
        let queues = || queued.iter().any(|entry| entry.session == info.number);
        let event = match (flushes, waits::awaited_lock(&held, info.number), state) {
            (true, ..) => Some(("IO", waits::COMMIT_FLUSH)),
            (_, Some(lock), _) => Some(("Lock", lock)),
            (.., "active") => queues().then_some(("IPC", waits::ADMISSION)),
            _ => Some(("Client", "ClientRead")),
        };
        let query_id = match info.query_id.load(Ordering::Relaxed) {
            0 => Value::Null,
            id if views.may_see(info) => Value::Int8(id),
            _ => Value::Null,
        };
        let (kind, event) =
            event.map_or((Value::Null, Value::Null), |(kind, event)| (Value::text(kind), Value::text(event)));
        vec![
            number(info.member.number()),
            Value::Text(Arc::clone(info.member.name())),
            Value::Int4(backend_id(info.number)),
            Value::Null,
            oid(identity.role),
            Value::Text(identity.user),
            Value::Text(Arc::clone(&info.application.lock())),
            address.map_or(Value::Null, inet),
            Value::Null,
            Value::Int4(address.map_or(-1, |address| address.port().into())),
            Value::Timestamptz(info.connected),
            Value::Null,
            moment(&info.statement_started),
            moment(&info.changed),
            kind,
            event,
            Value::text(state),
            Value::Null,
            Value::Null,
            query_id,
            text,
            Value::text("client backend"),
        ]
    };
    views.services.instance.sessions.all().iter().map(row).collect()
}

/// The rows of `pg_stat_ssl`.
pub(super) fn encryption(views: &Views<'_>) -> Vec<Vec<Value>> {
    let sees_all = views.services.has_role(verso_catalog::authority::READ_ALL_STATS);
    let row = |info: &Arc<SessionInfo>| {
        let identity = info.identity.lock().clone();
        let pid = Value::Int4(backend_id(info.number));
        // As PostgreSQL: of others' sessions only who may see everything learns more than that they are there.
        if !sees_all && identity.role != views.services.current_role() {
            return std::iter::once(pid).chain(vec![Value::Null; 7]).collect();
        }
        let Some(known) = identity.encryption else {
            return [pid, Value::Bool(false)].into_iter().chain(vec![Value::Null; 6]).collect();
        };
        let name = known.certificate.map_or(Value::Null, |name| Value::text(&format!("/CN={name}")));
        vec![
            pid,
            Value::Bool(true),
            Value::text(&known.version),
            Value::text(&known.cipher),
            Value::Int4(known.bits),
            name,
            Value::Null,
            Value::Null,
        ]
    };
    views.services.instance.sessions.all().iter().map(row).collect()
}

/// The rows of `verso_activity`: the same sessions, with what Verso knows of them.
pub(crate) fn activity(views: &Views<'_>) -> Vec<Vec<Value>> {
    let of = |row: Vec<Value>| {
        let id = match &row[2] {
            Value::Int4(id) => Value::Int8(i64::from(*id)),
            _ => Value::Null,
        };
        // As `pg_stat_activity` numbers its columns.
        let own = [1, 5, 6, 16, 14, 15, 12, 13, 20].map(|column: usize| row[column].clone());
        std::iter::once(id).chain(own).collect()
    };
    sessions(views).into_iter().map(of).collect()
}

/// The rows of `verso_statements`: the sessions whose statement runs.
pub(crate) fn statements(views: &Views<'_>) -> Vec<Vec<Value>> {
    // As `pg_stat_activity` numbers its columns.
    let of = |row: Vec<Value>| [2, 1, 5, 6, 12, 20].map(|column: usize| row[column].clone()).to_vec();
    let runs = |row: &Vec<Value>| row[16].as_str() == Some("active");
    sessions(views).into_iter().filter(runs).map(of).collect()
}

/// The number of a session's transaction among those of the session, as `virtualxid` has it.
fn virtual_number(session: &SessionInfo) -> Value {
    Value::text(&format!("{}/{}", session.number, session.transactions.load(Ordering::Relaxed)))
}

/// What each transaction has locked of itself, whether it has written or not: its virtual number. Its number stands among the others.
fn own_locks(views: &Views<'_>, sessions: &[Arc<SessionInfo>]) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for txn in views.services.instance.engine.transactions() {
        let Some(session) = sessions.iter().find(|session| session.number == txn.session) else { continue };
        let mut row = vec![Value::Null; 16];
        row[0] = Value::text("virtualxid");
        row[5] = virtual_number(session);
        row[10] = virtual_number(session);
        row[11] = Value::Int4(backend_id(session.number));
        row[12] = Value::text("ExclusiveLock");
        row[13] = Value::Bool(true);
        row[14] = Value::Bool(true);
        rows.push(row);
    }
    rows
}

/// The rows of `pg_locks`.
pub(super) fn locks(views: &Views<'_>) -> Vec<Vec<Value>> {
    let sessions = views.services.instance.sessions.all();
    let relation = |object| views.relation_of(object);
    let row = |lock: LockInfo| {
        let mut row = vec![Value::Null; 16];
        row[1] = number(views.services.instance.member.number());
        row[0] = Value::text(waits::lock_kind(&lock.target));
        match lock.target {
            LockTarget::Table(object) => {
                row[2] = relation(object);
            }
            LockTarget::Records { object, first, .. } => {
                row[2] = relation(object);
                row[3] = Value::Int4(i32::try_from(first.page_index).unwrap_or(i32::MAX));
                row[4] = Value::Int2(i16::try_from(first.slot).unwrap_or(i16::MAX));
            }
            LockTarget::Pages { object, first, .. } => {
                row[2] = relation(object);
                row[3] = Value::Int4(i32::try_from(first).unwrap_or(i32::MAX));
            }
            LockTarget::Transaction(txn) => {
                row[1] = Value::Null;
                row[6] = xid(txn);
            }
            LockTarget::Name(name) => {
                row[7] = Value::Int8((name >> 32).cast_signed());
                row[8] = Value::Int8((name & 0xffff_ffff).cast_signed());
            }
            LockTarget::Advisory(key) => {
                // As PostgreSQL splits the keys.
                let (class, object, sub) = match key {
                    AdvisoryKey::One(key) => (key >> 32 & 0xffff_ffff, key & 0xffff_ffff, 1),
                    AdvisoryKey::Two(class, object) => {
                        (i64::from(class.cast_unsigned()), i64::from(object.cast_unsigned()), 2)
                    }
                };
                row[7] = Value::Int8(class);
                row[8] = Value::Int8(object);
                row[9] = Value::Int2(sub);
            }
        }
        if let Some(session) = sessions.iter().find(|session| session.number == lock.session) {
            row[10] = virtual_number(session);
        }
        if lock.session > 0 {
            row[11] = Value::Int4(i32::try_from(lock.session).unwrap_or(i32::MAX));
        }
        row[12] = Value::text(lock.mode);
        row[13] = Value::Bool(lock.granted);
        row[14] = Value::Bool(false);
        row
    };
    let held = views.services.instance.engine.locks().into_iter().map(row);
    held.chain(own_locks(views, &sessions)).collect()
}

/// The rows of `pg_prepared_xacts`.
pub(super) fn prepared(views: &Views<'_>) -> Vec<Vec<Value>> {
    let row = |info: verso_storage::PreparedInfo| {
        vec![
            xid(info.txn),
            Value::text(&info.name),
            Value::Timestamptz(info.at_unix_micros - EPOCH_MICROS),
            Value::text(&info.by),
            Value::Text(Arc::clone(views.services.database())),
        ]
    };
    views.services.instance.engine.prepared().into_iter().map(row).collect()
}

/// The row of `pg_stat_database` since the database was opened; what nobody counts is NULL.
pub(super) fn database(views: &Views<'_>) -> Vec<Value> {
    let statistics = views.services.instance.engine.statistics();
    let member = &views.services.instance.member;
    let sessions = views.services.instance.sessions.of(member).len() as u64;
    let mut row = vec![Value::Null; 30];
    row[0] = number(member.number());
    row[1] = Value::Text(Arc::clone(member.name()));
    row[2] = Value::Int4(i32::try_from(sessions).unwrap_or(i32::MAX));
    row[3] = count(statistics.commits);
    row[4] = count(statistics.rollbacks);
    row[5] = count(statistics.pool.reads);
    row[6] = count(statistics.pool.fetches.saturating_sub(statistics.pool.reads));
    row[7] = count(statistics.read.scanned);
    row[8] = count(statistics.read.fetched);
    row[9] = count(statistics.rows.inserted);
    row[10] = count(statistics.rows.updated);
    row[11] = count(statistics.rows.deleted);
    // There is no standby whose queries could be in the way.
    row[12] = count(0);
    let (files, bytes) = views.services.instance.temporary.totals();
    row[13] = count(files);
    row[14] = count(bytes);
    row[15] = count(statistics.deadlocks);
    row[16] = count(views.services.instance.engine.damaged_pages().len() as u64);
    row[23] = count(member.sessions.load(Ordering::Relaxed));
    row
}

/// Sets the counters of the database and of all its tables back.
pub(super) fn reset_all(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>) {
    let resets = &views.services.instance.resets;
    let at = views.services.clocks.now();
    resets.reset(resets::DATABASE, 0, database(views), at);
    for row in counted(views, catalog, tables_of_users(catalog)) {
        reset_row(resets, row, at);
    }
    reset_indexes(views, catalog, None, at);
    tables_of_users(catalog).for_each(|table| blocks::reset(views, catalog, table, at));
    blocks::reset_sequences(views, catalog, at);
}

/// Sets the counters of the indexes of a table back, or of all.
fn reset_indexes(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, table: Option<Oid>, at: i64) {
    let relation = SystemView::from_name("pg_stat_all_indexes");
    let Some(SystemView::Relation(relation)) = relation else { return };
    let wanted: Vec<_> = table.map(|table| (0, oid(table))).into_iter().collect();
    let keys = Keys { relation: relation.get(), keys: &wanted, columns: &[] };
    for row in counted_indexes(views, catalog, &keys) {
        views.services.instance.resets.reset(resets::INDEXES, number_at(&row, 1), row, at);
    }
}

/// Sets the counters of a table back, which is also told of the database.
pub(super) fn reset_table(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, table: Oid) {
    let resets = &views.services.instance.resets;
    let at = views.services.clocks.now();
    resets.touch(resets::DATABASE, at);
    let table = catalog.table_by_oid(table).filter(|table| !table.is_system());
    for row in counted(views, catalog, table.iter()) {
        reset_row(resets, row, at);
    }
    if let Some(table) = table {
        reset_indexes(views, catalog, Some(table.oid), at);
        blocks::reset(views, catalog, &table, at);
    }
}

fn reset_row(resets: &Resets, row: Vec<Value>, at: i64) {
    resets.reset(resets::TABLES, number_at(&row, 0), row, at);
}

pub(super) fn tables_of_users(catalog: &CatalogSnapshot) -> impl Iterator<Item = &Arc<TableDef>> {
    catalog.tables().filter(|table| !table.is_system())
}

pub(super) fn tables_named<'c>(
    catalog: &'c CatalogSnapshot,
    name: &'c str,
) -> impl Iterator<Item = &'c Arc<TableDef>> {
    catalog.relations_named(name).filter_map(Relation::as_table).filter(|table| !table.is_system())
}

/// A column of the row of `pg_stat_all_tables` of one table: 0 for a count that there is not, NULL for a time.
pub(super) fn of_table(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: Oid,
    column: usize,
) -> Value {
    let none = if matches!(column, 20 | 21) { Value::Null } else { Value::Int8(0) };
    let table = catalog.table_by_oid(table).filter(|table| !table.is_system());
    let rows = table.map(|table| statistics_of(views, catalog, std::iter::once(&table)));
    let row = rows.and_then(|mut rows| rows.pop());
    let value = row.and_then(|row| row.into_iter().nth(column));
    value.filter(|value| !value.is_null()).unwrap_or(none)
}

/// The rows of `pg_stat_all_tables`; what nobody counts is NULL.
pub(super) fn tables(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    match keys.oid("relid") {
        Some(table) => {
            let table = catalog.table_by_oid(table).filter(|table| !table.is_system());
            statistics_of(views, catalog, table.iter())
        }
        None => match keys.text("relname") {
            Some(name) => statistics_of(views, catalog, tables_named(catalog, name)),
            None => statistics_of(views, catalog, tables_of_users(catalog)),
        },
    }
}

/// The rows of tables, since they were set back.
fn statistics_of<'t>(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    tables: impl Iterator<Item = &'t Arc<TableDef>>,
) -> Vec<Vec<Value>> {
    let resets = &views.services.instance.resets;
    let since = |row: Vec<Value>| resets.since(resets::TABLES, number_at(&row, 0), row);
    counted(views, catalog, tables).into_iter().map(since).collect()
}

/// The rows of tables, since the database was opened.
fn counted<'t>(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    tables: impl Iterator<Item = &'t Arc<TableDef>>,
) -> Vec<Vec<Value>> {
    let instance = &views.services.instance;
    let time = |time: Option<i64>| time.map_or(Value::Null, Value::Timestamptz);
    let row = |table: &Arc<TableDef>| {
        // Of this table only: mostly one is asked for among thousands.
        let changed = instance.engine.changed_rows_of(table.heap);
        let uses = instance.engine.uses_of(table.heap);
        let mut row = vec![Value::Null; 30];
        row[0] = oid(table.oid);
        row[1] = Value::Text(Arc::clone(&table.schema));
        row[2] = Value::Text(Arc::clone(&table.name));
        row[14] = catalog.rows(table).map_or(Value::Null, |rows| Value::Int8(rows as i64));
        row[16] = count(changed.as_ref().map_or(0, |changed| changed.since_analyze()));
        let rows = changed.as_ref().map(|changed| changed.kinds()).unwrap_or_default();
        row[9] = count(rows.inserted);
        row[10] = count(rows.updated);
        row[11] = count(rows.deleted);
        let scanned = used(&uses, table.heap);
        row[3] = count(scanned.scans);
        row[4] = moment_of(scanned);
        row[5] = count(scanned.read);
        // Without an index there is nothing to tell, as in PostgreSQL.
        let by_index = table.all_indexes().map(|index| used(&uses, index.object));
        if let Some(found) = by_index.reduce(together) {
            row[6] = count(found.scans);
            row[7] = moment_of(found);
            row[8] = count(found.fetched + scanned.fetched);
        }
        let analyzed = instance.automatic.tables.lock().get(&table.heap).copied().unwrap_or_default();
        row[20] = time(analyzed.last);
        row[21] = time(analyzed.last_automatic);
        row[24] = count(analyzed.count);
        row[25] = count(analyzed.count_automatic);
        row
    };
    tables.map(row).collect()
}

/// How often an object was read.
fn used(uses: &HashMap<ObjectId, UseCounts>, object: ObjectId) -> UseCounts {
    uses.get(&object).copied().unwrap_or_default()
}

/// Both together.
fn together(one: UseCounts, other: UseCounts) -> UseCounts {
    UseCounts {
        scans: one.scans + other.scans,
        read: one.read + other.read,
        fetched: one.fetched + other.fetched,
        last_unix_micros: one.last_unix_micros.max(other.last_unix_micros),
    }
}

/// When it was read last.
fn moment_of(uses: UseCounts) -> Value {
    match uses.last_unix_micros {
        0 => Value::Null,
        moment => Value::Timestamptz(moment - EPOCH_MICROS),
    }
}

/// The rows of `pg_stat_all_indexes`, since they were set back.
pub(super) fn indexes(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let resets = &views.services.instance.resets;
    let since = |row: Vec<Value>| resets.since(resets::INDEXES, number_at(&row, 1), row);
    counted_indexes(views, catalog, keys).into_iter().map(since).collect()
}

/// The number in a column of a row.
pub(super) fn number_at(row: &[Value], column: usize) -> u32 {
    row[column].as_i64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default()
}

/// The same, since the database was opened.
fn counted_indexes(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let of_index = |index: Oid| match catalog.relation_by_oid(index) {
        Some(Relation::Index(index)) => index.table,
        _ => Oid(0),
    };
    let tables: Vec<Arc<TableDef>> = match keys.oid("relid").or_else(|| keys.oid("indexrelid").map(of_index))
    {
        Some(table) => catalog.table_by_oid(table).filter(|table| !table.is_system()).into_iter().collect(),
        None => match keys.text("relname") {
            Some(name) => tables_named(catalog, name).cloned().collect(),
            None => tables_of_users(catalog).cloned().collect(),
        },
    };
    for table in &tables {
        let uses = views.services.instance.engine.uses_of(table.heap);
        for index in table.all_indexes() {
            let found = used(&uses, index.object);
            let mut row = vec![Value::Null; 9];
            row[0] = oid(table.oid);
            row[1] = oid(index.oid);
            row[2] = Value::Text(Arc::clone(&table.schema));
            row[3] = Value::Text(Arc::clone(&table.name));
            row[4] = Value::Text(Arc::clone(&index.name));
            row[5] = count(found.scans);
            row[6] = moment_of(found);
            row[7] = count(found.read);
            row[8] = count(found.fetched);
            rows.push(row);
        }
    }
    rows
}
