//! Statements: a query, or rows for a table.

use std::sync::Arc;

use verso_catalog::{IndexDef, Oid, TableDef};

use super::{ExprKind, IndexAccess, OutputColumn, Plan, Scanned, TypedExpr, With};

/// A bound statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Yields rows.
    Query(Plan),
    /// Adds rows.
    Insert(Insert),
    /// Changes rows.
    Update(Update),
    /// Removes rows.
    Delete(Delete),
    /// Changes rows in several ways.
    Merge(Merge),
    /// One of these with changes in its WITH.
    With(Box<With>),
}

/// `INSERT INTO table …`.
#[derive(Clone, Debug)]
pub struct Insert {
    /// The table.
    pub table: Arc<TableDef>,
    /// Where the rows come from.
    pub source: Plan,
    /// A full row in the order of `table.columns`, over the source's columns, cast to the columns' types.
    pub values: Vec<TypedExpr>,
    /// The source reads what the statement writes, so its rows are collected first (rule T2).
    pub spool: bool,
    /// What becomes of the full new row.
    pub rules: RowRules,
    /// ON CONFLICT.
    pub on_conflict: Option<Box<OnConflict>>,
    /// Over the full new row; with `returns_old` then the row that was there before it, NULLs where it is inserted, and
    /// whether there was one: true, or NULL.
    pub returning: Option<Returning>,
    /// RETURNING needs the row that DO UPDATE has changed.
    pub returns_old: bool,
    /// Of a partitioned table: the INSERT into each of its [leaves](TableDef::leaves), of full rows of this one. It checks
    /// and yields what there is to check and to yield.
    pub routes: Vec<Insert>,
    /// Of a partitioned table: the keys of it and of the tables below that are divided by expressions.
    pub keys: Vec<PartitionKey>,
}

/// By which expressions a table is divided, over full rows of the table that an INSERT names.
#[derive(Clone, Debug)]
pub struct PartitionKey {
    /// The table.
    pub table: Oid,
    /// The key.
    pub values: Vec<TypedExpr>,
    /// What its parts are called.
    pub names: Vec<String>,
}

/// What is computed of a new row before it is stored, and what it has to fulfil.
#[derive(Clone, Debug, Default)]
pub struct RowRules {
    /// The CHECK constraints, by name.
    pub checks: Vec<Check>,
    /// The generated columns.
    pub generated: Vec<Generated>,
    /// Of a partition: that rows belong to it.
    pub partition: Option<Box<PartitionRule>>,
    /// The columns that the statement gives values for: details of errors may show these.
    pub set: Vec<Arc<str>>,
}

/// That rows belong to a partition.
#[derive(Clone, Debug)]
pub struct PartitionRule {
    /// The partition.
    pub table: Arc<TableDef>,
    /// What it is a part of, what that is a part of, and so on.
    pub levels: Vec<PartitionLevel>,
}

/// That rows belong to a partition of one table.
#[derive(Clone, Debug)]
pub struct PartitionLevel {
    /// The table.
    pub parent: Arc<TableDef>,
    /// Which of its partitions.
    pub place: usize,
    /// The columns of its key.
    pub key: Vec<TypedExpr>,
}

impl PartitionRule {
    /// Whether an UPDATE that assigns these columns may move rows elsewhere.
    #[must_use]
    pub fn concerns(&self, assigned: &[usize]) -> bool {
        let mut is_assigned =
            |part: &TypedExpr| matches!(part.kind, ExprKind::Column(column) if assigned.contains(&column));
        self.keys().any(|key| key.any(&mut is_assigned))
    }

    /// The columns of all keys.
    pub fn keys(&self) -> impl Iterator<Item = &TypedExpr> {
        self.levels.iter().flat_map(|level| &level.key)
    }

    /// The same.
    pub fn keys_mut(&mut self) -> impl Iterator<Item = &mut TypedExpr> {
        self.levels.iter_mut().flat_map(|level| &mut level.key)
    }
}

/// A generated column.
#[derive(Clone, Debug)]
pub struct Generated {
    /// Index into `table.columns`.
    pub column: usize,
    /// Its value, cast to its type.
    pub value: TypedExpr,
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name.
    pub name: Arc<str>,
    /// What must not be false; of a view or of policies, what must be true.
    pub condition: TypedExpr,
    /// Whose condition it is.
    pub of: CheckOf,
}

impl Check {
    /// Whether an UPDATE that assigns these columns may break it. A constraint holds as long as its columns stay; not so one that was
    /// never validated or hangs on more than the row, and what is demanded of new rows alone.
    pub fn concerns(&self, assigned: &[usize]) -> bool {
        match self.of {
            CheckOf::Table { validated: true }
            | CheckOf::NotNull { validated: true }
            | CheckOf::Domain
            | CheckOf::Period => self
                .condition
                .any(&mut |part| matches!(part.kind, ExprKind::Column(column) if assigned.contains(&column))),
            CheckOf::Table { validated: false }
            | CheckOf::NotNull { validated: false }
            | CheckOf::View
            | CheckOf::Policy
            | CheckOf::PolicyUsing => true,
        }
    }
}

/// Whose condition a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOf {
    /// A constraint's.
    Table {
        /// Do all rows fulfil it, whatever else changes?
        validated: bool,
    },
    /// NOT NULL of a virtual column, whose name it has.
    NotNull {
        /// Is it so in all rows?
        validated: bool,
    },
    /// That of the domain of a column; it reports itself.
    Domain,
    /// That the period of a key WITHOUT OVERLAPS, whose name it has, is not empty.
    Period,
    /// The CHECK OPTION of a view.
    View,
    /// That of the policies of a table.
    Policy,
    /// That of the policies which say what rows may be changed.
    PolicyUsing,
}

/// What is said where ON CONFLICT names columns, expressions or a condition that no index has.
pub const NO_INDEX_OF_CONFLICT: &str =
    "there is no unique or exclusion constraint matching the ON CONFLICT specification";

/// What happens to a row whose key is there already.
#[derive(Clone, Debug)]
pub struct OnConflict {
    /// The unique indexes that count; duplicates in others are errors.
    pub indexes: Vec<Arc<IndexDef>>,
    /// No target is given, so these are all of them.
    pub all: bool,
    /// It hangs on the values of parameters whether partial indexes count: the statement runs by plans for values only.
    pub undecided: bool,
    /// DO UPDATE; `None` is DO NOTHING.
    pub update: Option<ConflictUpdate>,
}

/// DO UPDATE: expressions over the row that is there, then the row that was to be inserted, all columns of each.
#[derive(Clone, Debug)]
pub struct ConflictUpdate {
    /// Index into `table.columns` and the new value, cast to that column's type; each column once.
    pub assignments: Vec<(usize, TypedExpr)>,
    /// How many of them the statement names, as of an UPDATE.
    pub named: usize,
    /// Whether it is changed at all.
    pub filter: Option<TypedExpr>,
    /// What the row that is there has to fulfil before it is changed: it is to be one that policies show.
    pub shown: Option<Check>,
    /// What the new row has to fulfil, where that is not what inserted rows have to.
    pub rules: Option<Box<RowRules>>,
}

impl Insert {
    /// An INSERT that checks nothing but NOT NULL.
    #[must_use]
    pub fn plain(table: Arc<TableDef>, source: Plan, values: Vec<TypedExpr>) -> Insert {
        Insert {
            table,
            source,
            values,
            spool: false,
            rules: RowRules::default(),
            on_conflict: None,
            returning: None,
            returns_old: false,
            routes: Vec::new(),
            keys: Vec::new(),
        }
    }
}

/// `UPDATE table SET …`.
#[derive(Clone, Debug)]
pub struct Update {
    /// The table.
    pub table: Scanned,
    /// The columns read: indexes into `table.columns`. Expressions below are over these, in this order.
    pub columns: Vec<usize>,
    /// FROM, and where values depend on what the statement changes (rule T2): the rows to change come from this query, all
    /// of them before the first is changed. It yields all of `columns`, then what each was joined with and what was computed
    /// of it, then the record's place; expressions below are over these.
    pub joined: Option<Plan>,
    /// The index through which the rows are found.
    pub access: Option<IndexAccess>,
    /// Which rows.
    pub filter: Option<TypedExpr>,
    /// Index into `table.columns` and the new value, cast to that column's type; each column once.
    pub assignments: Vec<(usize, TypedExpr)>,
    /// How many of them the statement names; behind those, columns keep their values, for triggers that may set them.
    pub named: usize,
    /// The CHECK constraints that the assignments may break, and the generated columns among the assignments; over the
    /// read columns followed by the assigned values in the order of `assignments`.
    pub rules: RowRules,
    /// Over the read columns followed by the assigned values in the order of `assignments`.
    pub returning: Option<Returning>,
    /// Of a partitioned table.
    pub parts: Option<Box<UpdateParts>>,
}

/// The UPDATE of a partitioned table: what happens to the rows that were found, each with its [place](super::place_in) behind
/// the columns.
#[derive(Clone, Debug)]
pub struct UpdateParts {
    /// The UPDATE of each of its [leaves](TableDef::leaves), over the columns found, the place, then the values assigned;
    /// `columns` says which of the leaf's columns the first ones are.
    pub leaves: Vec<Update>,
    /// Where rows go whose new key is another leaf's: the INSERT of rows of the whole table; behind those it is handed what
    /// was found.
    pub moved: Insert,
}

/// `DELETE FROM table`.
#[derive(Clone, Debug)]
pub struct Delete {
    /// The table.
    pub table: Scanned,
    /// The columns read: indexes into `table.columns`.
    pub columns: Vec<usize>,
    /// USING, as the FROM of an update.
    pub joined: Option<Plan>,
    /// The index through which the rows are found.
    pub access: Option<IndexAccess>,
    /// Which rows; over the read columns.
    pub filter: Option<TypedExpr>,
    /// Over the read columns.
    pub returning: Option<Returning>,
    /// Of a partitioned table: the DELETE from each of its [leaves](TableDef::leaves), over the columns found.
    pub parts: Vec<Delete>,
}

/// `MERGE INTO table …`.
#[derive(Clone, Debug)]
pub struct Merge {
    /// The table.
    pub table: Scanned,
    /// The rows: all columns of the table, those of the source, what was computed of both; last the number of the action, an
    /// integer or NULL, and the record's place. All of them are there before the first is changed (rule T2).
    pub joined: Plan,
    /// The actions by number. Their own plans stand for the rows handed in, all columns but the number of the action.
    pub actions: Vec<MergeAction>,
    /// What policies demand of the table's row, of each action; over what is handed in.
    pub guards: Vec<Option<Check>>,
    /// Names and types of what RETURNING yields, whatever the action.
    pub output: Vec<OutputColumn>,
}

/// What MERGE does with a row.
#[derive(Clone, Debug)]
pub enum MergeAction {
    /// Changes it.
    Update(Update),
    /// Removes it.
    Delete(Delete),
    /// Adds it; RETURNING is over the full new row, then over what is handed in.
    Insert(Insert),
}

impl MergeAction {
    /// What it computes of the rows.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut TypedExpr> {
        let (values, own): (Vec<&mut TypedExpr>, _) = match self {
            MergeAction::Update(Update { assignments, returning, parts, .. }) => {
                let mut all: Vec<&mut Returning> = returning.iter_mut().collect();
                if let Some(parts) = parts {
                    let UpdateParts { leaves, moved } = &mut **parts;
                    all.extend(leaves.iter_mut().filter_map(|leaf| leaf.returning.as_mut()));
                    all.extend(moved.routes.iter_mut().filter_map(|route| route.returning.as_mut()));
                }
                (assignments.iter_mut().map(|(_, value)| value).collect(), all)
            }
            MergeAction::Insert(Insert { values, returning, routes, .. }) => {
                let routes = routes.iter_mut().filter_map(|route| route.returning.as_mut());
                (values.iter_mut().collect(), returning.iter_mut().chain(routes).collect())
            }
            MergeAction::Delete(Delete { returning, parts, .. }) => {
                let parts = parts.iter_mut().filter_map(|part| part.returning.as_mut());
                (Vec::new(), returning.iter_mut().chain(parts).collect())
            }
        };
        values.into_iter().chain(own.into_iter().flat_map(|returning| &mut returning.exprs))
    }
}

/// `RETURNING …`.
#[derive(Clone, Debug)]
pub struct Returning {
    /// One per output column.
    pub exprs: Vec<TypedExpr>,
    /// Their names.
    pub names: Vec<Arc<str>>,
}

impl Statement {
    /// Calls `visit` on the plan of each query and change in it; a change that finds its rows without a query has none.
    pub fn for_each_plan(&self, visit: &mut dyn FnMut(&Plan)) {
        match self {
            Statement::Query(plan) => visit(plan),
            Statement::Insert(insert) => visit(&insert.source),
            Statement::Update(update) => update.joined.iter().for_each(visit),
            Statement::Delete(delete) => delete.joined.iter().for_each(visit),
            Statement::Merge(merge) => visit(&merge.joined),
            Statement::With(with) => {
                with.parts.iter().for_each(|part| part.statement.for_each_plan(visit));
            }
        }
    }

    /// Whether it is a query, whatever its WITH changes.
    #[must_use]
    pub fn is_query(&self) -> bool {
        match self {
            Statement::Query(_) => true,
            Statement::With(with) => matches!(with.main(), Some(Statement::Query(_))),
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_) => false,
        }
    }

    /// The word for what it does beside reading: `INSERT`, `SELECT FOR UPDATE`; `SELECT` where only its WITH changes something.
    #[must_use]
    pub fn change(&self) -> Option<&'static str> {
        match self {
            Statement::Query(plan) => plan.lock_word(),
            Statement::Insert(_) => Some("INSERT"),
            Statement::Update(_) => Some("UPDATE"),
            Statement::Delete(_) => Some("DELETE"),
            Statement::Merge(_) => Some("MERGE"),
            Statement::With(with) => Some(with.main().and_then(Statement::change).unwrap_or("SELECT")),
        }
    }

    /// Whether all that it changes are rows of temporary tables.
    #[must_use]
    pub fn changes_temporary(&self) -> bool {
        match self {
            Statement::Query(plan) => plan.lock_word().is_none(),
            Statement::With(with) => with.parts.iter().all(|part| part.statement.changes_temporary()),
            change => change.changed_table().is_some_and(|table| table.is_temporary()),
        }
    }

    /// Whether it runs by plans for the values of its parameters only, as which indexes ON CONFLICT means hangs on them.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        match self {
            Statement::Insert(insert) => insert.on_conflict.as_ref().is_some_and(|clause| clause.undecided),
            Statement::With(with) => with.parts.iter().any(|part| part.statement.is_undecided()),
            Statement::Query(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_) => false,
        }
    }

    /// The table that it changes by itself.
    #[must_use]
    pub fn changed_table(&self) -> Option<&Arc<TableDef>> {
        match self {
            Statement::Query(_) | Statement::With(_) => None,
            Statement::Insert(insert) => Some(&insert.table),
            Statement::Update(update) => Some(&update.table),
            Statement::Delete(delete) => Some(&delete.table),
            Statement::Merge(merge) => Some(&merge.table),
        }
    }

    /// Its plans, and the expressions outside of them.
    pub fn parts_mut(&mut self) -> (Vec<&mut Plan>, Vec<&mut TypedExpr>) {
        let (mut plans, mut exprs): (Vec<&mut Plan>, Vec<&mut TypedExpr>) = (Vec::new(), Vec::new());
        match self {
            Statement::Query(plan) => plans.push(plan),
            Statement::Insert(insert) => {
                plans.push(&mut insert.source);
                exprs.extend(&mut insert.values);
                let Insert { on_conflict, returning, routes, .. } = insert;
                let own = std::iter::once((on_conflict, returning));
                let routes = routes.iter_mut().map(|route| (&mut route.on_conflict, &mut route.returning));
                for (on_conflict, returning) in own.chain(routes) {
                    if let Some(update) = on_conflict.as_mut().and_then(|clause| clause.update.as_mut()) {
                        exprs.extend(update.assignments.iter_mut().map(|(_, value)| value));
                        exprs.extend(&mut update.filter);
                    }
                    exprs.extend(returning.iter_mut().flat_map(|returning| &mut returning.exprs));
                }
            }
            Statement::Update(update) => {
                plans.extend(&mut update.joined);
                exprs.extend(&mut update.filter);
                exprs.extend(update.assignments.iter_mut().map(|(_, value)| value));
                let mut returning: Vec<&mut Returning> = update.returning.iter_mut().collect();
                if let Some(parts) = &mut update.parts {
                    let UpdateParts { leaves, moved } = &mut **parts;
                    returning.extend(leaves.iter_mut().filter_map(|leaf| leaf.returning.as_mut()));
                    returning.extend(moved.routes.iter_mut().filter_map(|route| route.returning.as_mut()));
                }
                exprs.extend(returning.into_iter().flat_map(|returning| &mut returning.exprs));
            }
            Statement::Delete(delete) => {
                plans.extend(&mut delete.joined);
                exprs.extend(&mut delete.filter);
                let parts = delete.parts.iter_mut().filter_map(|part| part.returning.as_mut());
                let returning = delete.returning.iter_mut().chain(parts);
                exprs.extend(returning.flat_map(|returning| &mut returning.exprs));
            }
            Statement::Merge(merge) => {
                let Merge { joined, actions, .. } = merge;
                plans.push(joined);
                exprs.extend(actions.iter_mut().flat_map(MergeAction::exprs_mut));
            }
            Statement::With(with) => {
                for part in &mut with.parts {
                    let (more_plans, more_exprs) = part.statement.parts_mut();
                    plans.extend(more_plans);
                    exprs.extend(more_exprs);
                }
            }
        }
        (plans, exprs)
    }

    /// Names and types of the rows that the statement yields; empty when it yields none.
    #[must_use]
    pub fn output(&self) -> Vec<OutputColumn> {
        let (returning, table, row): (_, _, Vec<usize>) = match self {
            Statement::Query(plan) => return plan.described(),
            Statement::Merge(merge) => return merge.output.clone(),
            Statement::With(with) => return with.main().map_or_else(Vec::new, Statement::output),
            Statement::Insert(Insert { returning, table, .. }) => {
                let all = 0..table.columns.len();
                (returning, table, all.clone().chain(all).collect())
            }
            Statement::Update(Update { returning, table, columns, assignments, .. }) => {
                let assigned = assignments.iter().map(|(index, _)| *index);
                (returning, table, columns.iter().copied().chain(assigned).collect())
            }
            Statement::Delete(Delete { returning, table, columns, .. }) => {
                (returning, table, columns.clone())
            }
        };
        let Some(returning) = returning else { return Vec::new() };
        let origin = |index: &usize| OutputColumn::of_table(table, *index).and_then(|column| column.origin);
        let origins: Vec<_> = row.iter().map(origin).collect();
        let columns = returning.exprs.iter().zip(&returning.names);
        columns.map(|(expr, name)| OutputColumn::of_expr(expr, Arc::clone(name), &origins)).collect()
    }
}
