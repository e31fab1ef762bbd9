//! Rows of a partitioned table on their way to the tables that have them.
//!
//! ```text
//! rows of the parent ─► key of each ─► leaf ─► InsertStatement of the leaf: its defaults are computed, its checks are not
//! ```
//!
//! 1. The parent is locked as any table that rows are inserted into, so its partitions are those that the plan knows.
//! 2. Where RETURNING or triggers tell the order, rows go to the leaves in the order in which they came in; otherwise those of
//!    one leaf go there together.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use verso_catalog::{Oid, Partitioned, TableDef, TriggerDef, TriggerKind};
use verso_types::{Batch, SqlType, TypeError, Value};

use super::ExecContext;
use super::check::values_text;
use super::foreign::End;
use super::insert::InsertStatement;
use super::shown_values::{may_show, refused_row};
use super::statement::{Sink, column_types};
use super::trigger::{TriggerEvent, Triggers, fires_for_rows};
use crate::error::{ExecError, Result};
use crate::expr::{Executor, ExprList};
use crate::plan::{Insert, PartitionRule};

/// That rows belong to a partition, compiled.
pub(crate) struct PartitionCheck {
    table: Arc<TableDef>,
    levels: Vec<Level>,
    /// Rows were found to belong to it before triggers saw them.
    routed: bool,
}

struct Level {
    parent: Arc<TableDef>,
    place: usize,
    key: ExprList,
    batch: Batch,
}

impl PartitionCheck {
    pub fn new(rule: &PartitionRule, executor: Executor) -> PartitionCheck {
        let level = |level: &crate::plan::PartitionLevel| {
            let key = ExprList::compile(&level.key, executor);
            let batch = Batch::of_types(key.types());
            Level { parent: Arc::clone(&level.parent), place: level.place, key, batch }
        };
        PartitionCheck {
            table: Arc::clone(&rule.table),
            levels: rule.levels.iter().map(level).collect(),
            routed: false,
        }
    }

    /// Of rows that belonged to it before triggers saw them.
    pub fn routed(&mut self) {
        self.routed = true;
    }

    /// The rows that belong to other partitions.
    pub fn others(&mut self, cx: &ExecContext<'_>, rows: &Batch) -> Result<Vec<u32>> {
        let mut others = Vec::new();
        for Level { parent, place, key, batch } in &mut self.levels {
            let Some(partitioned) = &parent.partitioned else { continue };
            key.eval(&cx.eval(), rows, batch)?;
            for row in 0..rows.rows {
                if partitioned.route(&batch.row(row, key.types()))? != Some(*place) {
                    others.push(row as u32);
                }
            }
        }
        others.sort_unstable();
        others.dedup();
        Ok(others)
    }

    /// Refuses rows of other partitions; `shown` makes the whole row of an error's detail.
    pub fn check(
        &mut self,
        cx: &ExecContext<'_>,
        rows: &Batch,
        shown: impl FnOnce(usize) -> Vec<Value>,
        set: &[Arc<str>],
    ) -> Result<()> {
        for Level { parent, place, key, batch } in &mut self.levels {
            let Some(partitioned) = &parent.partitioned else { continue };
            key.eval(&cx.eval(), rows, batch)?;
            for row in 0..rows.rows {
                if partitioned.route(&batch.row(row, key.types()))? == Some(*place) {
                    continue;
                }
                let table = &self.table;
                let moves = |trigger: &&Arc<TriggerDef>| {
                    let kind = TriggerKind::ROW | TriggerKind::BEFORE | TriggerKind::INSERT;
                    trigger.part_of != Oid(0) && trigger.kind.has(kind)
                };
                if let Some(trigger) = table.triggers.iter().rev().find(moves).filter(|_| self.routed) {
                    let message = "moving row to another partition during a BEFORE FOR EACH ROW trigger is not supported";
                    let detail = format!(
                        "Before executing trigger \"{}\", the row was to be in partition \"{}.{}\".",
                        trigger.name, table.schema, table.name
                    );
                    return Err(TypeError::new("0A000", message).with_detail(detail).into());
                }
                let message =
                    format!("new row for relation \"{}\" violates partition constraint", table.name);
                let detail = refused_row(cx, &shown(row), table, set);
                return Err(ExecError::of_table("23514", message, detail, table));
            }
        }
        Ok(())
    }
}

/// A partitioned table on the way.
struct Node {
    table: Arc<TableDef>,
    key: Key,
    /// What its partitions are, in their order.
    next: Vec<Next>,
}

/// The key of a table, from rows of the statement's table.
enum Key {
    /// Columns.
    Columns(Vec<usize>),
    /// Expressions among them, and what its parts are called.
    Computed(Box<(ExprList, Batch, Vec<String>)>),
}

#[derive(Clone, Copy)]
enum Next {
    Node(usize),
    Leaf(usize),
}

/// Where the rows of an INSERT go.
pub(crate) struct Router {
    /// The first is the statement's table.
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// Of a statement's table that is a partition itself.
    own: Option<PartitionCheck>,
    executor: Executor,
    ordered: bool,
    /// Leaves that have got rows, in the order in which they did.
    begun: Vec<usize>,
}

struct Leaf {
    plan: Insert,
    /// Compiled when the first row comes.
    statement: Option<Box<InsertStatement>>,
}

impl Router {
    /// For an INSERT into a partitioned table.
    pub fn new(insert: &Insert, executor: Executor) -> Router {
        let leaf = |plan: &Insert| Leaf { plan: plan.clone(), statement: None };
        let places: HashMap<Oid, usize> =
            insert.routes.iter().enumerate().map(|(at, route)| (route.table.oid, at)).collect();
        let root = &insert.table;
        let node_of = |table: &Arc<TableDef>| {
            let (table, next) = (Arc::clone(table), Vec::new());
            Node { table, key: Key::Columns(Vec::new()), next }
        };
        let mut nodes = vec![node_of(root)];
        let mut at = 0;
        while let Some(node) = nodes.get(at) {
            let table = Arc::clone(&node.table);
            let Some(partitioned) = &table.partitioned else { break };
            let mut next = Vec::new();
            for partition in &partitioned.partitions {
                next.push(match places.get(&partition.oid) {
                    Some(leaf) => Next::Leaf(*leaf),
                    None => {
                        nodes.push(node_of(partition));
                        Next::Node(nodes.len() - 1)
                    }
                });
            }
            let key = match insert.keys.iter().find(|key| key.table == table.oid) {
                None => Key::Columns(key_in(partitioned, &table, root)),
                Some(key) => {
                    let values = ExprList::compile(&key.values, executor);
                    let computed = Batch::of_types(values.types());
                    Key::Computed(Box::new((values, computed, key.names.clone())))
                }
            };
            nodes[at].next = next;
            nodes[at].key = key;
            at += 1;
        }
        Router {
            nodes,
            leaves: insert.routes.iter().map(leaf).collect(),
            own: insert.rules.partition.as_deref().map(|rule| PartitionCheck::new(rule, executor)),
            executor,
            ordered: insert.returning.is_some()
                || insert.routes.iter().any(|route| fires_for_rows(&route.table)),
            begun: Vec::new(),
        }
    }

    /// A new execution.
    pub fn begin(&mut self) {
        self.begun.clear();
    }

    /// Inserts rows, beside which RETURNING of the leaves sees what they were made of; how many were.
    pub fn insert(
        &mut self,
        cx: &ExecContext<'_>,
        rows: &Batch,
        types: &[SqlType],
        beside: Option<&Batch>,
        (whole, sink): (Option<&Triggers>, &mut dyn Sink),
    ) -> Result<u64> {
        let root = Arc::clone(&self.nodes[0].table);
        // No row is added: the table is locked, and looked at once more behind the lock.
        cx.tables()?.insert(&root, &Batch::of_types(&column_types(&root)))?;
        if let Some(own) = &mut self.own {
            own.check(cx, rows, |row| rows.row(row, types), &[])?;
        }
        let mut runs: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut groups: BTreeMap<usize, usize> = BTreeMap::new();
        let places = self.leaves_of(cx, rows, types)?;
        for (row, leaf) in places.into_iter().enumerate() {
            let run = match self.ordered {
                true => runs.len().checked_sub(1).filter(|last| runs[*last].0 == leaf),
                false => groups.get(&leaf).copied(),
            };
            match run {
                Some(run) => runs[run].1.push(row as u32),
                None => {
                    groups.insert(leaf, runs.len());
                    runs.push((leaf, vec![row as u32]));
                }
            }
        }
        let mut both = Cow::Borrowed(rows);
        if let Some(beside) = beside {
            both.to_mut().columns.extend(beside.columns.iter().cloned());
        }
        let rows = &*both;
        let mut count = 0;
        for (leaf, selection) in runs {
            cx.check_cancelled()?;
            let executor = self.executor;
            let Leaf { plan, statement } = &mut self.leaves[leaf];
            let statement = statement.get_or_insert_with(|| {
                Box::new(InsertStatement::part(plan, (whole, TriggerEvent::Insert), executor))
            });
            if !self.begun.contains(&leaf) {
                statement.begin(cx)?;
                self.begun.push(leaf);
            }
            count += match selection.len() == rows.rows {
                true => statement.run_given(cx, rows, sink)?,
                false => statement.run_given(cx, &rows.gather(&selection), sink)?,
            };
        }
        Ok(count)
    }

    /// The leaf that each row belongs to. An expression is computed for those rows only that have come to its table.
    fn leaves_of(&mut self, cx: &ExecContext<'_>, rows: &Batch, types: &[SqlType]) -> Result<Vec<usize>> {
        let mut leaves = vec![0; rows.rows];
        let mut open: Vec<(usize, Vec<u32>)> = vec![(0, (0..rows.rows as u32).collect())];
        while let Some((at, selection)) = open.pop() {
            let mut below: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
            let Node { table, key, next } = &mut self.nodes[at];
            let partitioned = table.partitioned.as_ref().ok_or_else(malformed)?;
            if let Key::Computed(key) = key {
                let (values, computed, _) = &mut **key;
                match selection.len() == rows.rows {
                    true => values.eval(&cx.eval(), rows, computed)?,
                    false => values.eval(&cx.eval(), &rows.gather(&selection), computed)?,
                }
            }
            for (number, row) in selection.iter().enumerate() {
                let values: Vec<Value> = match key {
                    Key::Columns(columns) => {
                        let value =
                            |column: &usize| rows.columns[*column].value(*row as usize, &types[*column]);
                        columns.iter().map(value).collect()
                    }
                    Key::Computed(key) => key.1.row(number, key.0.types()),
                };
                let Some(place) = partitioned.route(&values)? else {
                    let names = match key {
                        Key::Columns(_) => None,
                        Key::Computed(key) => Some(&key.2[..]),
                    };
                    return Err(homeless(cx, table, partitioned, &values, names));
                };
                match next.get(place) {
                    Some(Next::Leaf(leaf)) => leaves[*row as usize] = *leaf,
                    Some(Next::Node(next)) => below.entry(*next).or_default().push(*row),
                    None => return Err(malformed()),
                }
            }
            open.extend(below);
        }
        Ok(leaves)
    }

    /// The rows of the leaves are told to the triggers of the whole (G7).
    pub fn hand_up(&mut self, cx: &ExecContext<'_>, whole: &mut Triggers) -> Result<()> {
        for leaf in &self.begun {
            let statement = self.leaves[*leaf].statement.as_mut();
            if let Some(part) = statement.and_then(|statement| statement.triggers_mut()) {
                whole.take_from(cx, part)?;
            }
        }
        Ok(())
    }

    /// What is left to do of the leaves that have got rows, in the order in which they did.
    pub fn end<'s>(&'s mut self, cx: &ExecContext<'_>, ends: &mut Vec<End<'s>>) -> Result<()> {
        let mut begun: Vec<(usize, usize)> = std::mem::take(&mut self.begun).into_iter().zip(0..).collect();
        begun.sort_unstable();
        let (mut rest, mut passed) = (self.leaves.as_mut_slice(), 0);
        let mut statements = Vec::with_capacity(begun.len());
        for (at, turn) in begun {
            let at_leaf = std::mem::take(&mut rest).get_mut(at - passed..);
            let Some((leaf, behind)) = at_leaf.and_then(<[Leaf]>::split_first_mut) else { break };
            (rest, passed) = (behind, at + 1);
            statements.extend(leaf.statement.as_deref_mut().map(|statement| (turn, statement)));
        }
        statements.sort_unstable_by_key(|(turn, _)| *turn);
        let first = ends.len();
        statements.into_iter().try_for_each(|(_, statement)| statement.end(cx, ends))?;
        End::join(&mut ends[first..]);
        Ok(())
    }
}

/// Where the columns of a table's key are in the rows of another one, which has columns of the same names.
fn key_in(partitioned: &Partitioned, table: &TableDef, rows_of: &TableDef) -> Vec<usize> {
    let place = |id: &u16| {
        let own = table.column_with_id(*id)?;
        rows_of.column(&table.columns[own].name)
    };
    partitioned.columns.iter().filter_map(place).collect()
}

/// A row that belongs to no partition; the parts of a key of expressions have names of their own.
fn homeless(
    cx: &ExecContext<'_>,
    table: &TableDef,
    partitioned: &Partitioned,
    values: &[Value],
    names: Option<&[String]>,
) -> ExecError {
    let own = partitioned.columns.iter().filter_map(|id| table.column_with_id(*id));
    let own: Vec<&str> = own.map(|at| &*table.columns[at].name).collect();
    let message = format!("no partition of relation \"{}\" found for row", table.name);
    // What an expression gives may say something of all columns.
    let all = || table.shown().iter().map(|column| column.id).collect();
    let read: Vec<u16> = names.map_or_else(|| partitioned.columns.clone(), |_| all());
    let detail = may_show(cx, table, &read).then(|| {
        let values = values_text(cx, values, partitioned.types.iter());
        let names = names.map_or_else(|| own.join(", "), |names| names.join(", "));
        format!("Partition key of the failing row contains ({names}) = ({values}).")
    });
    ExecError::of_table("23514", message, detail, table)
}

fn malformed() -> ExecError {
    ExecError::raised("XX000", "a partition that is none")
}
