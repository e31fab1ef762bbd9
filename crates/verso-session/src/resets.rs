//! Counters of views that were set back (`pg_stat_reset` and its like): the views show what was counted since.
//!
//! Nothing that counts is touched: what it said at the reset is kept, and subtracted when the view is read.

use std::collections::HashMap;

use verso_env::sync::Mutex;
use verso_types::Value;

/// The columns of a view that a reset sets back.
struct Counted {
    view: &'static str,
    counters: &'static [usize],
    /// Moments that are forgotten.
    moments: &'static [usize],
    /// `stats_reset`.
    reset: Option<usize>,
}

const COUNTED: [Counted; 10] = [
    Counted {
        view: DATABASE,
        counters: &[3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 23],
        moments: &[],
        reset: Some(29),
    },
    Counted { view: "pg_stat_wal", counters: &[0, 1, 2, 3], moments: &[], reset: Some(4) },
    Counted { view: "pg_stat_checkpointer", counters: &[0, 1, 2, 6, 7, 8], moments: &[], reset: Some(10) },
    Counted { view: "pg_stat_bgwriter", counters: &[0, 1, 2], moments: &[], reset: Some(3) },
    Counted { view: "pg_stat_archiver", counters: &[0, 3], moments: &[2], reset: Some(6) },
    Counted {
        view: TABLES,
        counters: &[3, 5, 6, 8, 9, 10, 11, 24, 25],
        moments: &[4, 7, 20, 21],
        reset: None,
    },
    Counted { view: INDEXES, counters: &[5, 7, 8], moments: &[6], reset: None },
    Counted { view: TABLE_BLOCKS, counters: &[3, 4, 5, 6], moments: &[], reset: None },
    Counted { view: INDEX_BLOCKS, counters: &[5, 6], moments: &[], reset: None },
    Counted { view: SEQUENCE_BLOCKS, counters: &[3, 4], moments: &[], reset: None },
];

pub(crate) const DATABASE: &str = "pg_stat_database";
pub(crate) const TABLES: &str = "pg_stat_all_tables";
pub(crate) const INDEXES: &str = "pg_stat_all_indexes";
pub(crate) const TABLE_BLOCKS: &str = "pg_statio_all_tables";
pub(crate) const INDEX_BLOCKS: &str = "pg_statio_all_indexes";
pub(crate) const SEQUENCE_BLOCKS: &str = "pg_statio_all_sequences";

/// What the rows said when they were set back, by view and, of tables, number.
#[derive(Debug, Default)]
pub(crate) struct Resets(Mutex<HashMap<(&'static str, u32), Reset>>);

#[derive(Debug)]
struct Reset {
    /// The row as it was; none where only the moment counts.
    row: Option<Vec<Value>>,
    at: i64,
}

impl Resets {
    /// A row counts from now on.
    pub(crate) fn reset(&self, view: &'static str, number: u32, row: Vec<Value>, at: i64) {
        self.0.lock().insert((view, number), Reset { row: Some(row), at });
    }

    /// Something behind the row was set back: only the moment is kept.
    pub(crate) fn touch(&self, view: &'static str, at: i64) {
        let mut all = self.0.lock();
        all.entry((view, 0)).or_insert(Reset { row: None, at }).at = at;
    }

    /// What a row has counted since it was set back.
    pub(crate) fn since(&self, view: &'static str, number: u32, mut row: Vec<Value>) -> Vec<Value> {
        let all = self.0.lock();
        let (Some(known), Some(counted)) =
            (all.get(&(view, number)), COUNTED.iter().find(|counted| counted.view == view))
        else {
            return row;
        };
        for column in counted.counters {
            if let Some(before) = &known.row {
                row[*column] = less(&row[*column], &before[*column]);
            }
        }
        for column in counted.moments {
            if matches!(row[*column], Value::Timestamptz(at) if at < known.at) {
                row[*column] = Value::Null;
            }
        }
        if let Some(column) = counted.reset {
            row[column] = Value::Timestamptz(known.at);
        }
        row
    }
}

/// What was counted in between.
fn less(now: &Value, before: &Value) -> Value {
    match (now, before) {
        (Value::Int8(now), Value::Int8(before)) => Value::Int8(now.saturating_sub(*before).max(0)),
        (Value::Float8(now), Value::Float8(before)) => Value::Float8((now - before).max(0.0)),
        (Value::Numeric(now), Value::Numeric(before)) => match now.checked_sub(before) {
            Ok(rest) => Value::Numeric(rest),
            Err(_) => Value::Numeric(*now),
        },
        _ => now.clone(),
    }
}
