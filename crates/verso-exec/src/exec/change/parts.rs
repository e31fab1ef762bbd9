//! UPDATE and DELETE of a partitioned table: a query finds all rows, and each goes to the change of the leaf that has it.
//!
//! ```text
//! query ─► rows with their places ─► runs of rows of one leaf ─► UPDATE of the leaf ──► belongs elsewhere now:
//!                                                            └─► DELETE from it         DELETE from the leaf, INSERT
//! ```
//!
//! 1. The table is locked as for any change, so its partitions are those that the plan knows.
//! 2. A row moves behind its BEFORE UPDATE triggers. It is deleted and inserted then, with the triggers of both; one that a
//!    BEFORE DELETE trigger keeps is left as it is. Where RETURNING, triggers or functions tell the order, it does before the next
//!    row is changed.
//! 3. Triggers of the statement are those of the table that it names.

use std::sync::Arc;

use verso_catalog::{ConstraintDef, TableDef};
use verso_types::{Batch, Column, ColumnData, NullMask, SqlType, TypeError, Value};

use super::{DeleteStatement, FoundRows, Gathered, Scan, Sink, UpdateStatement, lock_for_change};
use crate::error::{ExecError, Result};
use crate::exec::ExecContext;
use crate::exec::foreign::End;
use crate::exec::insert::InsertStatement;
use crate::exec::route::PartitionCheck;
use crate::exec::trigger::{TriggerEvent, Triggers, fires_for_rows};
use crate::expr::Executor;
use crate::plan::{self, Delete, Plan, Update, leaf_of};

/// The rows that an UPDATE of a leaf makes ones of other leaves.
pub(super) struct Leaving {
    check: PartitionCheck,
    /// Where the columns of the whole table are in rows behind the change: read columns, then values assigned.
    new: Vec<usize>,
    /// How many columns were found of a row, the last of them its place.
    found: usize,
    types: Vec<SqlType>,
    /// Rows as they are to be, then as they were found.
    rows: Batch,
}

impl Leaving {
    /// Sets aside the rows that leave; those that stay, unless that is all of them.
    pub fn take(&mut self, cx: &ExecContext<'_>, both: &Batch) -> Result<Option<Vec<u32>>> {
        let gone = self.check.others(cx, both)?;
        if gone.is_empty() {
            return Ok(None);
        }
        let columns = self.new.iter().copied().chain(0..self.found);
        let moved =
            Batch { rows: both.rows, columns: columns.map(|column| both.columns[column].clone()).collect() };
        let moved = moved.gather(&gone);
        for row in 0..moved.rows {
            self.rows.push_row(&moved.row(row, &self.types), &self.types)?;
        }
        let stays = |row: &u32| gone.binary_search(row).is_err();
        Ok(Some((0..both.rows as u32).filter(stays).collect()))
    }
}

/// The change of one leaf.
struct Leaf<P, S> {
    plan: P,
    /// Compiled when the first row comes.
    statement: Option<Box<S>>,
    begun: bool,
}

impl<P, S> Leaf<P, S> {
    fn new(plan: P) -> Self {
        Leaf { plan, statement: None, begun: false }
    }
}

/// The UPDATE of a partitioned table.
pub(super) struct UpdateParts {
    leaves: Vec<Leaf<Update, UpdateStatement>>,
    deletes: DeleteParts,
    moved: InsertStatement,
    /// Functions are called for rows that arrive elsewhere which may look for those before.
    moved_by_row: bool,
    /// The table.
    whole: Arc<TableDef>,
    executor: Executor,
}

impl UpdateParts {
    pub fn new(parts: &plan::UpdateParts, triggers: Option<&Triggers>, executor: Executor) -> UpdateParts {
        let delete = |update: &Update| Delete {
            table: update.table.clone(),
            columns: update.columns.clone(),
            joined: update.joined.clone(),
            access: None,
            filter: None,
            returning: None,
            parts: Vec::new(),
        };
        let deletes: Vec<Delete> = parts.leaves.iter().map(delete).collect();
        UpdateParts {
            leaves: parts.leaves.iter().cloned().map(Leaf::new).collect(),
            deletes: DeleteParts { moves: true, ..DeleteParts::new(&deletes, executor) },
            moved: InsertStatement::part(&parts.moved, (triggers, TriggerEvent::Update), executor),
            moved_by_row: parts.moved.goes_by_row(),
            whole: Arc::clone(&parts.moved.table),
            executor,
        }
    }

    pub fn begin(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.leaves.iter_mut().for_each(|leaf| leaf.begun = false);
        self.deletes.begin();
        self.moved.begin(cx)
    }

    pub fn run(
        &mut self,
        cx: &ExecContext<'_>,
        scan: &mut Scan,
        triggers: Option<&Triggers>,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        let mut count = 0;
        each_run(cx, scan, |leaf, rows| {
            if !self.moves_by_row(leaf) {
                count += self.run_leaf(cx, leaf, rows, triggers, sink)?;
                return Ok(());
            }
            for (row, place) in rows.0.iter().enumerate() {
                let one = (vec![*place], rows.1.gather(&[row as u32]));
                count += self.run_leaf(cx, leaf, one, triggers, sink)?;
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// Whether it shows if a row of a leaf moves before the next one is changed.
    fn moves_by_row(&self, leaf: usize) -> bool {
        let Some(Leaf { plan, .. }) = self.leaves.get(leaf) else { return false };
        let shows = plan.returning.is_some() || fires_for_rows(&plan.table) || plan.goes_by_row();
        plan.rules.partition.is_some() && (shows || self.moved_by_row)
    }

    /// Changes rows of a leaf.
    fn run_leaf(
        &mut self,
        cx: &ExecContext<'_>,
        leaf: usize,
        rows: FoundRows,
        triggers: Option<&Triggers>,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        let (whole, executor) = (&self.whole, self.executor);
        let Leaf { plan, statement, begun } = self.leaves.get_mut(leaf).ok_or_else(malformed)?;
        let statement =
            statement.get_or_insert_with(|| Box::new(UpdateStatement::part(plan, whole, triggers, executor)));
        if !*begun {
            statement.begin(cx)?;
            *begun = true;
        }
        let count = statement.run_given(cx, with_places(rows), sink)?;
        match statement.take_leaving() {
            Some(moved) => Ok(count + self.move_rows(cx, leaf, moved, triggers, sink)?),
            None => Ok(count),
        }
    }

    /// Deletes rows where they were, and inserts them where they belong.
    fn move_rows(
        &mut self,
        cx: &ExecContext<'_>,
        leaf: usize,
        mut rows: Batch,
        triggers: Option<&Triggers>,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        let mut found = rows.clone();
        found.columns.drain(..self.whole.columns.len());
        let whole = &self.whole;
        let kept = self.deletes.delete_each(cx, (whole, triggers), leaf, found)?;
        if kept.len() < rows.rows {
            rows.filter(&kept);
        }
        if rows.rows == 0 {
            return Ok(0);
        }
        // To those that reference the whole table it is a change of the key.
        let Leaf { plan, statement, .. } = self.leaves.get_mut(leaf).ok_or_else(malformed)?;
        if let Some(statement) = statement.as_mut().filter(|statement| !statement.keys.is_empty()) {
            let types: Vec<SqlType> = whole
                .columns
                .iter()
                .map(|column| column.ty.clone())
                .chain(handed_in(plan.joined.as_ref()))
                .collect();
            let at = |column: usize| plan.columns.iter().position(|read| *read == column);
            let value = |at: Option<usize>, row: usize| match at {
                Some(at) => rows.columns[at].value(row, &types[at]),
                None => Value::Null,
            };
            let old = |column: usize, row: usize| value(at(column).map(|at| whole.columns.len() + at), row);
            let new = |column: usize, row: usize| value(at(column), row);
            statement.keys.number(cx, None, TriggerEvent::Update, rows.rows);
            statement.keys.note_old(rows.rows, old, Some(&new));
            statement.keys.settle(cx)?;
        }
        self.moved.run_given(cx, &rows, sink)
    }

    /// The rows of the leaves are told to the triggers of the whole (G7).
    pub fn hand_up(&mut self, cx: &ExecContext<'_>, whole: &mut Triggers) -> Result<()> {
        for Leaf { statement, begun, .. } in &mut self.leaves {
            let statement = statement.as_mut().filter(|_| *begun);
            if let Some(part) = statement.and_then(|statement| statement.triggers.as_deref_mut()) {
                whole.take_from(cx, part)?;
            }
        }
        self.deletes.hand_up(cx, whole)?;
        self.moved.hand_up(cx)?;
        match self.moved.triggers_mut() {
            Some(part) => whole.take_from(cx, part),
            None => Ok(()),
        }
    }

    /// What is left to do of the leaves, in their order, and of the rows that were moved.
    pub fn end<'s>(&'s mut self, cx: &ExecContext<'_>, ends: &mut Vec<End<'s>>) -> Result<()> {
        let first = ends.len();
        for Leaf { statement, begun, .. } in &mut self.leaves {
            if let Some(statement) = statement.as_mut().filter(|_| *begun) {
                statement.end(cx, ends)?;
            }
        }
        self.deletes.end(cx, ends)?;
        self.moved.end(cx, ends)?;
        End::join(&mut ends[first..]);
        Ok(())
    }
}

impl UpdateStatement {
    /// The change of a leaf, whose rows are handed in with their places.
    fn part(
        update: &Update,
        whole: &TableDef,
        triggers: Option<&Triggers>,
        executor: Executor,
    ) -> UpdateStatement {
        let mut statement = UpdateStatement::new(update, executor);
        let types = handed_in(update.joined.as_ref());
        statement.scan.join_given(&types);
        let events = [(TriggerEvent::Update, TriggerEvent::Update)];
        statement.triggers = Triggers::of_part(statement.triggers.take(), &update.table, triggers, &events);
        statement.leaving = statement.checks.take_partition().map(|check| {
            let value = |n: usize| {
                let at = update.columns.get(n);
                let assigned = statement.targets.iter().position(|target| Some(target) == at);
                assigned.map_or(n, |m| types.len() + m)
            };
            let new = (0..whole.columns.len()).map(value).collect();
            let moved = whole.columns.iter().map(|column| column.ty.clone());
            let moved: Vec<SqlType> = moved.chain(types.iter().cloned()).collect();
            let rows = Batch::of_types(&moved);
            Box::new(Leaving { check, new, found: types.len(), types: moved, rows })
        });
        statement
    }

    /// The rows that leave, of those handed in.
    fn take_leaving(&mut self) -> Option<Batch> {
        let leaving = self.leaving.as_mut().filter(|leaving| leaving.rows.rows > 0)?;
        Some(std::mem::replace(&mut leaving.rows, Batch::of_types(&leaving.types)))
    }
}

/// The DELETE from a partitioned table.
pub(super) struct DeleteParts {
    leaves: Vec<Leaf<Delete, DeleteStatement>>,
    executor: Executor,
    /// The rows are inserted elsewhere.
    moves: bool,
}

impl DeleteParts {
    pub fn new(parts: &[Delete], executor: Executor) -> DeleteParts {
        DeleteParts { leaves: parts.iter().cloned().map(Leaf::new).collect(), executor, moves: false }
    }

    pub fn begin(&mut self) {
        self.leaves.iter_mut().for_each(|leaf| leaf.begun = false);
    }

    pub fn run(
        &mut self,
        cx: &ExecContext<'_>,
        scan: &mut Scan,
        triggers: Option<&Triggers>,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        let mut count = 0;
        each_run(cx, scan, |leaf, rows| {
            count += self.leaf(cx, leaf, triggers)?.run_given(cx, with_places(rows), sink)?;
            Ok(())
        })?;
        Ok(count)
    }

    fn leaf(
        &mut self,
        cx: &ExecContext<'_>,
        leaf: usize,
        triggers: Option<&Triggers>,
    ) -> Result<&mut DeleteStatement> {
        let (executor, moves) = (self.executor, self.moves);
        let Leaf { plan, statement, begun } = self.leaves.get_mut(leaf).ok_or_else(malformed)?;
        let statement = statement.get_or_insert_with(|| {
            let mut statement = DeleteStatement::new(plan, executor);
            statement.scan.join_given(&handed_in(plan.joined.as_ref()));
            // A row that moves is one that is updated.
            let event = if moves { TriggerEvent::Update } else { TriggerEvent::Delete };
            let events = [(TriggerEvent::Delete, event)];
            statement.triggers = Triggers::of_part(statement.triggers.take(), &plan.table, triggers, &events);
            if moves {
                statement.keys.forget_incoming();
            }
            Box::new(statement)
        });
        if !*begun {
            statement.begin(cx)?;
            *begun = true;
        }
        Ok(statement)
    }

    /// Deletes rows of a leaf that were found, the last column of which is their place; those that no trigger has kept.
    fn delete_each(
        &mut self,
        cx: &ExecContext<'_>,
        (whole, triggers): (&TableDef, Option<&Triggers>),
        leaf: usize,
        found: Batch,
    ) -> Result<Vec<u32>> {
        let places = match found.columns.last().map(|column| &column.data) {
            Some(ColumnData::I64(places)) => places.clone(),
            _ => return Err(malformed()),
        };
        let all = (0..found.rows as u32).collect::<Vec<u32>>();
        let statement = self.leaf(cx, leaf, triggers)?;
        // All rows of a partition that others reference stay in it: the key would be gone from that table.
        let leaves = |constraint: &&Arc<ConstraintDef>| {
            !whole.referenced_by.iter().any(|other| other.oid == constraint.oid)
        };
        if let Some(constraint) = statement.scan.table.referenced_by.iter().find(leaves) {
            let text = "cannot move tuple across partitions when a non-root ancestor of the source partition is \
                        directly referenced in a foreign key";
            let detail = format!(
                "A foreign key points to ancestor \"{}\" but not the root ancestor. It is constraint \"{}\".",
                statement.scan.table.name, constraint.name
            );
            return Err(TypeError::new("0A000", text).with_detail(detail).into());
        }
        if !statement.triggers.as_ref().is_some_and(|triggers| triggers.changes_rows(TriggerEvent::Delete)) {
            statement.run_given(cx, (places, found), &mut Nobody)?;
            return Ok(all);
        }
        let mut gone = Vec::new();
        for row in all {
            let one = (vec![places[row as usize]], found.gather(&[row]));
            if statement.run_given(cx, one, &mut Nobody)? > 0 {
                gone.push(row);
            }
        }
        Ok(gone)
    }

    /// As [`UpdateParts::hand_up`].
    pub fn hand_up(&mut self, cx: &ExecContext<'_>, whole: &mut Triggers) -> Result<()> {
        for Leaf { statement, begun, .. } in &mut self.leaves {
            let statement = statement.as_mut().filter(|_| *begun);
            if let Some(part) = statement.and_then(|statement| statement.triggers.as_deref_mut()) {
                whole.take_from(cx, part)?;
            }
        }
        Ok(())
    }

    /// As [`UpdateParts::end`].
    pub fn end<'s>(&'s mut self, cx: &ExecContext<'_>, ends: &mut Vec<End<'s>>) -> Result<()> {
        let first = ends.len();
        for Leaf { statement, begun, .. } in &mut self.leaves {
            if let Some(statement) = statement.as_mut().filter(|_| *begun) {
                statement.end(cx, ends)?;
            }
        }
        End::join(&mut ends[first..]);
        Ok(())
    }
}

/// Takes nothing: a row that moves is returned where it arrives.
struct Nobody;

impl Sink for Nobody {
    fn batch(&mut self, _: &Batch) -> Result<()> {
        Ok(())
    }
}

impl Scan {
    /// Rows of these types are handed in, and their values depend on more than the table.
    fn join_given(&mut self, types: &[SqlType]) {
        self.types = types.into();
        self.joined = None;
        self.alone = false;
    }
}

/// What the plan of a leaf is handed.
fn handed_in(joined: Option<&Plan>) -> Vec<SqlType> {
    joined.map_or_else(Vec::new, |plan| plan.output().into_iter().map(|column| column.ty).collect())
}

/// Calls `change` with the rows that are found, as runs of rows of one leaf: all of them are found before the first changes, or
/// each when those before have changed.
fn each_run(
    cx: &ExecContext<'_>,
    scan: &mut Scan,
    mut change: impl FnMut(usize, FoundRows) -> Result<()>,
) -> Result<()> {
    let mut change = |run: Result<(usize, FoundRows)>| -> Result<()> {
        cx.check_cancelled()?;
        let (leaf, rows) = run?;
        change(leaf, rows)
    };
    if scan.finds_by_row() {
        lock_for_change(cx, &scan.table)?;
        return scan.each_found(cx, |_, found| runs_of(found).into_iter().try_for_each(&mut change));
    }
    runs(cx, scan)?.try_for_each(change)
}

/// All rows found, as runs of rows of one leaf; nothing of the table has changed yet.
fn runs(
    cx: &ExecContext<'_>,
    scan: &mut Scan,
) -> Result<impl Iterator<Item = Result<(usize, FoundRows)>> + use<>> {
    let found: Box<dyn Iterator<Item = Result<FoundRows>>> = match (scan.given.take(), &mut scan.joined) {
        (Some(found), _) => Box::new(std::iter::once(Ok(found))),
        (None, _) if let Some(found) = scan.gathered.take() => Box::new(found),
        (None, Some((operator, types))) => {
            Box::new(Gathered::of(cx, &mut **operator, types, &scan.table, scan.held.as_deref())?)
        }
        (None, None) => return Err(malformed()),
    };
    lock_for_change(cx, &scan.table)?;
    Ok(found.flat_map(|rows| match rows {
        Ok(rows) => runs_of(rows),
        Err(error) => vec![Err(error)],
    }))
}

/// The runs of rows of one leaf.
fn runs_of((places, rows): FoundRows) -> Vec<Result<(usize, FoundRows)>> {
    let mut first = 0;
    let run = |run: &[i64]| {
        let end = first + run.len();
        let selection: Vec<u32> = (first as u32..end as u32).collect();
        first = end;
        Ok((leaf_of(run[0]), (run.to_vec(), rows.gather(&selection))))
    };
    places.chunk_by(|one, other| leaf_of(*one) == leaf_of(*other)).map(run).collect()
}

/// The same rows with their places as the last column.
fn with_places((places, mut rows): FoundRows) -> FoundRows {
    rows.columns.push(Column { data: ColumnData::I64(places.clone()), nulls: NullMask::default() });
    (places, rows)
}

fn malformed() -> ExecError {
    ExecError::raised("XX000", "rows to change of a leaf that is none")
}
