//! Foreign keys: what a change of rows means for the tables around.
//!
//! ```text
//! INSERT, UPDATE of c ─► keys noted ─┐                       ┌─► is there a row of p with the key? it stays (KEY SHARE)
//! UPDATE, DELETE of p ─► keys noted ─┴─ end of the statement ┴─► rows of c: refused, or deleted or changed along
//! ```
//!
//! 1. Keys are noted while the statement runs and looked at when it is done, so that rows of one statement may
//!    reference each other; those of a deferred constraint are looked at again at commit.
//! 2. What goes along are statements of their own with the key as parameters. They note keys in turn; a queue, not
//!    recursion, works through them, so a chain of rows may be as long as it likes.
//! 3. Whether a row is referenced, or there to be referenced, is asked of the newest state, not of the snapshot. What goes
//!    along are rows of the snapshot: where others have committed more since, the statement fails (40001).
//! 4. Keys are charged to the statement. Where many of another table were noted, those that are there already are looked at
//!    before the end: they stay, and only the others are kept.
//! 5. A key that changes into one that is equal and looks otherwise (1.0, 1.00) is a change on the referenced side, so that it
//!    goes along; on the referencing side it is none.
//! 6. The checks of a table's own keys, and what goes along with its rows, do not happen where its triggers are all disabled, or
//!    for a session that applies what another one did (`session_replication_role`).
//! 7. Texts under a nondeterministic collation are equal where its keys are; a change of their bytes is looked at as any other.

mod child;
mod later;
mod parent;
mod referenced;
mod referencing;
mod rounds;
mod rows;

pub(in crate::exec) use rounds::{End, finish_keys, finish_parts};

pub use child::{keep_others, rules_over, set_generated};
pub use later::{check_deferred_key, check_foreign_key, check_not_referenced};

use std::sync::Arc;

use verso_catalog::{ColumnDef, ConstraintDef, ConstraintKind, ForeignKey, TableDef};
use verso_types::{Collator, Value, encode_row, eq_sql};

use self::referenced::Incoming;
use self::referencing::Outgoing;
use super::ExecContext;
use super::trigger::{TriggerEvent, Triggers, triggers_read_rows};
use crate::error::Result;
use crate::memory::{Reservation, SMALL_BYTES};

/// The foreign keys that a statement's changes of a table concern, with the keys noted so far.
pub(crate) struct ForeignKeys {
    table: Arc<TableDef>,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    held: Option<Reservation>,
    /// The number of the first of the rows that are noted next.
    row: i64,
    /// How many have got one of its own.
    numbered: i64,
}

/// So many keys of one constraint are held before they are looked at.
const KEYS_HELD: usize = 16 << 10;

/// About how much memory a key of a foreign key holds.
#[must_use]
pub fn key_bytes(key: &[Value]) -> u64 {
    let heap = |value: &Value| match value {
        Value::Text(text) => text.len() + 16,
        Value::Bytes(bytes) => bytes.len() + 16,
        _ => 0,
    };
    let values: usize = key.iter().map(|value| size_of::<Value>() + 2 * heap(value) + 16).sum();
    // The values, and the bytes by which it is found.
    (values + 2 * size_of::<Vec<Value>>() + 48) as u64
}

/// Whether two values are not only equal but look alike, too.
fn is_same(a: &Value, b: &Value) -> bool {
    let image = |value: &Value| {
        let mut bytes = Vec::new();
        encode_row(std::slice::from_ref(value), &mut bytes);
        bytes
    };
    eq_sql(a, b)
        && match (a, b) {
            (Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Text(_) | Value::Uuid(_), _) => true,
            _ => image(a) == image(b),
        }
}

/// Whether the session applies changes that another one has made along with theirs: then nothing follows from keys.
fn is_replica(cx: &ExecContext<'_>) -> bool {
    let role = cx.services.settings.setting("session_replication_role");
    role.is_some_and(|role| role.eq_ignore_ascii_case("replica"))
}

fn positions(table: &TableDef, ids: &[u16]) -> Vec<usize> {
    ids.iter().filter_map(|id| table.column_with_id(*id)).collect()
}

/// The nondeterministic collation by which values of a column are told apart, where it has one. Both sides of a key have the same.
fn collator_of(column: &ColumnDef) -> Option<Collator> {
    column.declared().collation()?.collator.filter(|collator| !collator.is_deterministic())
}

/// The foreign key that a constraint is, where it is enforced.
fn foreign(constraint: &ConstraintDef) -> Option<&ForeignKey> {
    match &constraint.kind {
        ConstraintKind::Foreign(key) if constraint.enforced => Some(key),
        _ => None,
    }
}

/// The columns that have to be read before rows are changed: all of them that keys are made of, or that triggers see. `assigned` are the
/// columns an UPDATE sets; `None` is a DELETE. Indexes into `table.columns`.
#[must_use]
pub fn key_columns_read(table: &Arc<TableDef>, assigned: Option<&[usize]>) -> Vec<usize> {
    let event = if assigned.is_some() { TriggerEvent::Update } else { TriggerEvent::Delete };
    if triggers_read_rows(table, event, assigned.unwrap_or_default()) {
        return (0..table.columns.len()).collect();
    }
    let keys = match assigned {
        Some(assigned) => ForeignKeys::of_update(table, assigned),
        None => ForeignKeys::of_delete(table),
    };
    let outgoing = keys.outgoing.iter().flat_map(|key| key.columns.iter().copied());
    outgoing.chain(keys.incoming.iter().flat_map(|key| key.columns.iter().copied())).collect()
}

impl ForeignKeys {
    pub fn of_insert(table: &Arc<TableDef>) -> ForeignKeys {
        ForeignKeys::of(table, |_| true, |_| false)
    }

    pub fn of_update(table: &Arc<TableDef>, assigned: &[usize]) -> ForeignKeys {
        let touched = |columns: &[usize]| columns.iter().any(|column| assigned.contains(column));
        ForeignKeys::of(table, touched, touched)
    }

    pub fn of_delete(table: &Arc<TableDef>) -> ForeignKeys {
        ForeignKeys::of(table, |_| false, |_| true)
    }

    fn of(
        table: &Arc<TableDef>,
        out: impl Fn(&[usize]) -> bool,
        within: impl Fn(&[usize]) -> bool,
    ) -> ForeignKeys {
        let outgoing = table.constraints.iter().filter_map(|constraint| {
            let key = foreign(constraint).filter(|key| !key.unchecked)?;
            let columns = positions(table, &key.columns);
            let constraint = Arc::clone(constraint);
            out(&columns).then(|| Outgoing::of(constraint, columns))
        });
        let incoming = table.referenced_by.iter().filter_map(|constraint| {
            let key = foreign(constraint).filter(|key| !key.unguarded)?;
            let columns = positions(table, &key.referenced_columns);
            let constraint = Arc::clone(constraint);
            within(&columns).then(|| Incoming::of(constraint, columns))
        });
        ForeignKeys {
            table: Arc::clone(table),
            outgoing: outgoing.collect(),
            incoming: incoming.collect(),
            held: None,
            row: 0,
            numbered: 0,
        }
    }

    /// Numbers rows that are about to be noted, as those for AFTER triggers are: by the numbers keys and triggers are dealt with
    /// row by row (`rounds.rs`).
    pub fn number(
        &mut self,
        cx: &ExecContext<'_>,
        triggers: Option<&mut Triggers>,
        event: TriggerEvent,
        rows: usize,
    ) {
        if self.is_empty() {
            return;
        }
        self.row = match (triggers, cx.state()) {
            (Some(triggers), _) => triggers.number(cx, event, rows),
            (None, Some(state)) => state.number(rows),
            (None, None) => {
                let first = self.numbered;
                self.numbered += rows as i64;
                first
            }
        };
    }

    /// Without the keys that others have of its rows: these stay in the table that is referenced.
    pub fn forget_incoming(&mut self) {
        self.incoming.clear();
    }

    /// Without the keys noted so far.
    fn forget(&mut self) {
        for key in &mut self.outgoing {
            key.take();
        }
        for key in &mut self.incoming {
            key.take();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.outgoing.is_empty() && self.incoming.is_empty()
    }

    /// Notes rows that are inserted or have new values: `value` gives that of a column in a row.
    pub fn note_new(&mut self, rows: usize, value: impl Fn(usize, usize) -> Value) -> Result<()> {
        for key in &mut self.outgoing {
            for row in 0..rows {
                let values = key.columns.iter().map(|column| value(*column, row)).collect();
                key.note(&self.table, self.row + row as i64, values)?;
            }
        }
        Ok(())
    }

    /// Notes a row that changes, as far as its keys do.
    pub fn note_changed(&mut self, old: &[Value], new: &[Value]) -> Result<()> {
        for key in &mut self.outgoing {
            let same = |column: &usize| {
                old[*column].is_null() && new[*column].is_null() || eq_sql(&old[*column], &new[*column])
            };
            if !key.columns.iter().all(same) {
                let values = key.columns.iter().map(|column| new[*column].clone()).collect();
                key.note(&self.table, self.row, values)?;
            }
        }
        let after = |column: usize, _: usize| new[column].clone();
        self.note_old(1, |column, _| old[column].clone(), Some(&after));
        Ok(())
    }

    /// Notes rows that go or change: `old` gives their values, `new` those of an UPDATE.
    pub fn note_old(
        &mut self,
        rows: usize,
        old: impl Fn(usize, usize) -> Value,
        new: Option<&dyn Fn(usize, usize) -> Value>,
    ) {
        for key in &mut self.incoming {
            for row in 0..rows {
                let before: Vec<Value> = key.columns.iter().map(|column| old(*column, row)).collect();
                if before.iter().any(Value::is_null) {
                    continue;
                }
                let after: Option<Vec<Value>> =
                    new.map(|new| key.columns.iter().map(|column| new(*column, row)).collect());
                let same = |after: &Vec<Value>| before.iter().zip(after).all(|(a, b)| is_same(a, b));
                if !after.as_ref().is_some_and(same) {
                    key.note(self.row + row as i64, before, after);
                }
            }
        }
    }

    /// After some rows were noted: charges what is held, having looked at what can be looked at before the end.
    ///
    /// # Errors
    /// 53200; those of looking.
    pub fn settle(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if self.outgoing.iter().any(|key| key.keys.len() >= KEYS_HELD) && is_replica(cx) {
            self.forget();
            return Ok(());
        }
        let many = |key: &&mut Outgoing| key.keys.len() >= KEYS_HELD && !key.is_own(&self.table);
        for key in self.outgoing.iter_mut().filter(many) {
            key.look_ahead(cx, &self.table)?;
        }
        let bytes = self.outgoing.iter().map(|key| key.bytes).sum::<u64>()
            + self.incoming.iter().map(|key| key.bytes).sum::<u64>();
        if bytes > SMALL_BYTES {
            let account = cx.services.memory.account;
            self.held.get_or_insert_with(|| account.reserve("foreign keys", u64::MAX)).resize(bytes)?;
        }
        Ok(())
    }
}

/// Runs `work` as a statement of its own, which sees what was done before.
fn within_statement(cx: &ExecContext<'_>, work: impl FnOnce(&ExecContext<'_>) -> Result<()>) -> Result<()> {
    cx.tables()?.begin_statement()?;
    let result = work(cx);
    if result.is_ok() {
        cx.tables()?.end_statement()?
    } else {
        cx.tables()?.abort_statement()?
    }
    result
}
