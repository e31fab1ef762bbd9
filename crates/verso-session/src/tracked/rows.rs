//! Rows of `pg_stat_statements` and `pg_stat_statements_info`, and `pg_stat_statements_reset`.

use verso_types::{Decimal, Value};

use super::Key;
use super::table::{Entry, Wanted};
use crate::views::{NOT_SHOWN, Views, int};

/// Columns of `pg_stat_statements`; those that are not named below are 0, as nobody measures them.
const COLUMNS: usize = 52;

/// The rows of `pg_stat_statements`; those of other roles without their texts, where the role may not see these.
pub(crate) fn statements(views: &Views<'_>, with_texts: bool) -> Vec<Vec<Value>> {
    let services = views.services;
    let sees_all = services.has_role(verso_catalog::authority::READ_ALL_STATS);
    let own = services.current_role();
    let row = |(key, entry): (Key, Entry)| {
        let sees = sees_all || key.role == own;
        row_of(i64::from(services.instance.member.number()), key, &entry, sees, with_texts)
    };
    services.instance.tracked.list().into_iter().map(row).collect()
}

fn row_of(database: i64, key: Key, entry: &Entry, sees: bool, with_texts: bool) -> Vec<Value> {
    let figures = &entry.figures;
    let mut row = Vec::with_capacity(COLUMNS);
    row.push(Value::Int8(key.role.0.into()));
    row.push(Value::Int8(database));
    row.push(Value::Bool(key.is_top));
    row.push(if sees { Value::Int8(key.id) } else { Value::Null });
    row.push(match (sees, with_texts) {
        (_, false) => Value::Null,
        (true, true) => Value::Text(std::sync::Arc::clone(&entry.text)),
        (false, true) => Value::text(NOT_SHOWN),
    });
    for times in [&figures.plans, &figures.runs] {
        row.push(int(times.count));
        row.extend(times.shown().map(Value::Float8));
    }
    row.push(int(figures.rows));
    let work = &figures.work;
    row.push(int(work.fetches.saturating_sub(work.reads)));
    row.push(int(work.reads));
    // Pages dirtied and written; pages of temporary tables and files.
    row.extend(std::iter::repeat_n(Value::Int8(0), 8));
    // Times of reading and writing them.
    row.extend(std::iter::repeat_n(Value::Float8(0.0), 6));
    row.push(int(work.log_records));
    row.push(Value::Int8(0));
    row.push(Decimal::new(i128::from(work.log_bytes), 0).map_or(Value::Null, Value::Numeric));
    row.push(Value::Int8(0));
    // There is no JIT.
    for _ in 0..5 {
        row.extend([Value::Int8(0), Value::Float8(0.0)]);
    }
    // Workers.
    row.extend([Value::Int8(0), Value::Int8(0)]);
    row.push(Value::Timestamptz(entry.since));
    row.push(Value::Timestamptz(entry.bounds_since));
    debug_assert_eq!(row.len(), COLUMNS);
    row
}

/// The row of `pg_stat_statements_info`.
pub(crate) fn information(views: &Views<'_>) -> Vec<Value> {
    let (left, since) = views.services.instance.tracked.information();
    vec![int(left), Value::Timestamptz(since)]
}

/// `pg_stat_statements_reset(userid, dbid, queryid, minmax_only)`: 0 is any of them. When that was.
pub(crate) fn reset(views: &Views<'_>, args: &[Value]) -> Value {
    let services = views.services;
    let given = |at: usize| args.get(at).and_then(Value::as_i64).filter(|number| *number != 0);
    let now = services.clocks.now();
    let database = i64::from(services.instance.member.number());
    if given(1).is_none_or(|wanted| wanted == database) {
        let wanted = Wanted {
            role: given(0).map(|role| u32::try_from(role).unwrap_or_default()),
            id: given(2),
            bounds_only: matches!(args.get(3), Some(Value::Bool(true))),
        };
        services.instance.tracked.reset(wanted, now);
    }
    Value::Timestamptz(now)
}
