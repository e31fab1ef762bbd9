//! Rows of the views `pg_stat_progress_*`: the jobs under way in PostgreSQL's words.

use std::sync::Arc;

use verso_storage::JobInfo;
use verso_types::Value;

use super::number;
use crate::registry::backend_id;
use crate::views::Views;

fn count(value: u64) -> Value {
    Value::Int8(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The columns that all of these views begin with.
fn head(views: &Views<'_>, job: &JobInfo) -> Vec<Value> {
    let table = job.table.and_then(|table| views.table_of(table));
    let member = &views.services.instance.member;
    vec![
        Value::Int4(backend_id(job.session)),
        number(member.number()),
        Value::Text(Arc::clone(member.name())),
        table.map_or(number(0), |(_, oid)| oid),
    ]
}

fn jobs<'v>(views: &'v Views<'_>, what: &'static str) -> impl Iterator<Item = JobInfo> + use<'v> {
    views.services.instance.engine.jobs().into_iter().filter(move |job| job.what.starts_with(what))
}

/// The rows of `pg_stat_progress_create_index`.
pub(super) fn create_index(views: &Views<'_>) -> Vec<Vec<Value>> {
    let row = |job: JobInfo| {
        let (blocks, keys) = if job.unit == "keys" {
            ((0, 0), (job.total, job.done))
        } else {
            ((job.total, job.done), (0, 0))
        };
        let mut row = head(views, &job);
        // The new index is nobody's yet.
        row.push(number(0));
        row.push(Value::text(job.what));
        row.push(Value::text(job.phase));
        row.extend([0, 0, 0].map(count));
        row.extend([blocks.0, blocks.1, keys.0, keys.1, 0, 0].map(count));
        row
    };
    jobs(views, "CREATE INDEX").map(row).collect()
}

/// The rows of `pg_stat_progress_vacuum`.
pub(super) fn vacuum(views: &Views<'_>) -> Vec<Vec<Value>> {
    let row = |job: JobInfo| {
        let is_scanning = job.phase == "scanning heap";
        let phase = match job.phase {
            "removing old keys" => "vacuuming indexes",
            "removing old versions" => "vacuuming heap",
            "scanning heap" => "scanning heap",
            _ => "initializing",
        };
        let pages = |pages: u64| count(if is_scanning { pages } else { 0 });
        let mut row = head(views, &job);
        row.push(Value::text(phase));
        row.extend([pages(job.total), pages(job.done), count(0), count(0)]);
        row.extend([0, job.held_bytes, 0, 0, 0].map(count));
        row.push(Value::Float8(0.0));
        row
    };
    jobs(views, "SWEEP").map(row).collect()
}

/// The rows of `pg_stat_progress_analyze`.
pub(super) fn analyze(views: &Views<'_>) -> Vec<Vec<Value>> {
    let row = |job: JobInfo| {
        let mut row = head(views, &job);
        row.push(Value::text(job.phase));
        row.extend([job.total, job.done, 0, 0, 0, 0].map(count));
        row.extend([number(0), Value::Float8(0.0)]);
        row
    };
    jobs(views, "ANALYZE").map(row).collect()
}

/// The rows of `pg_stat_progress_basebackup`: those of BACKUP DATABASE TO a folder.
pub(super) fn base_backup(views: &Views<'_>) -> Vec<Vec<Value>> {
    let page_size = views.services.instance.engine.space().page_size;
    let row = |job: JobInfo| {
        let total = if job.total == 0 { Value::Null } else { count(job.total * page_size) };
        vec![
            Value::Int4(backend_id(job.session)),
            Value::text(job.phase),
            total,
            count(job.done * page_size),
            count(1),
            count(u64::from(job.total > 0 && job.done == job.total)),
        ]
    };
    jobs(views, "BASE BACKUP").map(row).collect()
}

/// The rows of `pg_stat_progress_cluster`.
pub(super) fn cluster(views: &Views<'_>) -> Vec<Vec<Value>> {
    let row = |job: JobInfo| {
        let mut row = head(views, &job);
        row.extend([Value::text(job.what), Value::text(job.phase), number(0)]);
        row.extend([0, 0, job.total, job.done, 0].map(count));
        row
    };
    jobs(views, "CLUSTER").chain(jobs(views, "VACUUM FULL")).map(row).collect()
}

/// The rows of `pg_stat_progress_copy`.
pub(super) fn copy(views: &Views<'_>) -> Vec<Vec<Value>> {
    let row = |job: JobInfo| {
        let mut row = head(views, &job);
        // The phase says with whom rows are exchanged.
        row.extend([Value::text(job.what), Value::text(job.phase)]);
        row.extend([job.done, job.total, job.rows, 0, 0].map(count));
        row
    };
    jobs(views, "COPY").map(row).collect()
}
