//! Partitioned tables in statements: where new rows go, and that those of a partition belong to it.

use std::sync::Arc;

use verso_catalog::{ColumnDef, IndexDef, Oid, Partitioned, Relation, TableDef};
use verso_exec::exec::{TriggerEvent, keep_others, rules_over, set_generated, triggers_change_rows};
use verso_exec::plan::{
    Check, CheckOf, ConflictUpdate, Delete, Insert, LEAVES_MAX, OnConflict, OutputColumn, PartitionKey,
    PartitionLevel, PartitionRule, Plan, Returning, RowRules, TypedExpr, Update, UpdateParts,
};
use verso_types::keyword::quoted;

use super::Binder;
use super::walk::{columns_of, map_columns};
use crate::deparse;
use crate::errors::SqlError;

impl Binder<'_> {
    /// That rows of a partition belong to it, over full rows.
    pub(super) fn partition_rule(&self, table: &TableDef) -> Option<Box<PartitionRule>> {
        let mut levels = Vec::new();
        let mut part = table.clone();
        while let Some(of) = &part.partition_of {
            let parent = self.catalog.table_by_oid(of.parent)?;
            let partitioned = parent.partitioned.as_ref()?;
            let place = partitioned.partitions.iter().position(|one| one.oid == part.oid)?;
            let key = self.partition_key(&parent, partitioned, table)?;
            levels.push(PartitionLevel { parent: Arc::clone(&parent), place, key });
            part = TableDef::clone(&parent);
        }
        (!levels.is_empty()).then(|| Box::new(PartitionRule { table: Arc::new(table.clone()), levels }))
    }

    /// The key by which a table is divided, over rows of a table that has columns of the same names. An expression stands in the
    /// divided table as a hidden column; the partitions need none.
    pub fn partition_key(
        &self,
        whole: &TableDef,
        partitioned: &Partitioned,
        over: &TableDef,
    ) -> Option<Vec<TypedExpr>> {
        let value = |id: &u16| {
            let column = &whole.columns[whole.column_with_id(*id)?];
            if !column.is_hidden() {
                let at = over.column(&column.name)?;
                return Some(TypedExpr::column(at, over.columns[at].seen()));
            }
            let mut value = self.stored_generation(column, whole).ok()?;
            let place = |at: usize| over.column(&whole.columns.get(at)?.name);
            if !columns_of(&value).into_iter().all(|at| place(at).is_some()) {
                return None;
            }
            map_columns(&mut value, &mut |at| place(at).unwrap_or(at));
            Some(value)
        };
        partitioned.columns.iter().map(value).collect()
    }

    /// The parts of such a key as SQL text.
    pub fn partition_key_texts(&self, whole: &TableDef, partitioned: &Partitioned) -> Vec<String> {
        let text = |id: &u16| {
            let column = &whole.columns[whole.column_with_id(*id)?];
            let Some(stored) = column.default.as_deref().filter(|_| column.is_hidden()) else {
                return Some(quoted(&column.name));
            };
            let (text, is_call) = deparse::key_expression(self, stored, whole, false).or_else(|| {
                let value = self.stored_generation(column, whole).ok()?;
                let names: Vec<&str> = whole.columns.iter().map(|column| &*column.name).collect();
                Some((deparse::expression(&value, &names, false), false))
            })?;
            Some(if is_call { text } else { format!("({text})") })
        };
        partitioned.columns.iter().filter_map(text).collect()
    }

    /// The keys of the tables below, and of the table itself, that are divided by expressions.
    fn partition_keys(&self, root: &Arc<TableDef>) -> Result<Vec<PartitionKey>, SqlError> {
        let mut keys = Vec::new();
        for table in root.with_partitions() {
            let Some(partitioned) = &table.partitioned else { continue };
            if !partitioned.columns.iter().any(|id| ColumnDef::is_hidden_id(*id)) {
                continue;
            }
            let values = self.partition_key(&table, partitioned, root);
            let values = values.ok_or_else(|| SqlError::internal("a key that cannot be computed"))?;
            let names = self.partition_key_texts(&table, partitioned);
            keys.push(PartitionKey { table: table.oid, values, names });
        }
        Ok(keys)
    }

    /// Lets the rows of an INSERT into a partitioned table go to its partitions.
    pub(super) fn route(&self, insert: &mut Insert) -> Result<(), SqlError> {
        if insert.table.partitioned.is_none() {
            return Ok(());
        }
        let demanded: Vec<Check> = demanded(&std::mem::take(&mut insert.rules.checks)).cloned().collect();
        insert.keys = self.partition_keys(&insert.table)?;
        let leaves = insert.table.leaves();
        let route = |leaf: Arc<TableDef>| self.route_to(leaf, insert, &demanded);
        insert.routes = leaves.into_iter().map(route).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The INSERT into one leaf, of full rows of the statement's table.
    fn route_to(&self, leaf: Arc<TableDef>, of: &Insert, demanded: &[Check]) -> Result<Insert, SqlError> {
        let root = &of.table;
        let mut values = Vec::with_capacity(leaf.columns.len());
        for (at, column) in leaf.columns.iter().enumerate() {
            values.push(match root.column(&column.name).filter(|_| !column.is_hidden()) {
                Some(from) => TypedExpr::column(from, root.columns[from].ty.clone()),
                None => self.column_default(&leaf, at)?,
            });
        }
        let mut rules = self.row_rules(&leaf)?;
        rules.set.clone_from(&of.rules.set);
        rules.checks.extend(demanded.iter().map(|check| over_leaf(check, root, &leaf)));
        let on_conflict =
            of.on_conflict.as_deref().map(|clause| self.conflict_of(clause, root, &leaf, &rules));
        let updates = on_conflict.as_ref().is_some_and(|clause| clause.update.is_some());
        if !triggers_change_rows(&leaf, TriggerEvent::Insert) && !updates {
            // That is why they come here.
            rules.partition = None;
        }
        let returning = of.returning.clone().map(|mut returning| {
            // Behind the row of the leaf it finds the one of the whole table, and what that was made of.
            let (own, width) = (root.columns.len(), leaf.columns.len());
            let place = |column: usize| match column.checked_sub(own) {
                None => leaf.column_like(root, column).unwrap_or(width + column),
                // Of ON CONFLICT it is the row that was there before, and the mark that there was one.
                Some(old) if of.on_conflict.is_some() && old == own => 2 * width,
                Some(old) if of.on_conflict.is_some() => {
                    width + leaf.column_like(root, old).unwrap_or_default()
                }
                Some(_) => width + column,
            };
            returning.exprs.iter_mut().for_each(|expr| map_columns(expr, &mut |column| place(column)));
            returning
        });
        let columns = of.table.columns.iter();
        let columns = columns
            .map(|column| verso_exec::plan::OutputColumn::new(Arc::clone(&column.name), column.seen()));
        let source = Plan::External { columns: columns.collect() };
        let (on_conflict, returns_old) = (on_conflict.map(Box::new), of.returns_old);
        Ok(Insert { rules, returning, on_conflict, returns_old, ..Insert::plain(leaf, source, values) })
    }

    /// ON CONFLICT of the whole table, as of a leaf.
    fn conflict_of(
        &self,
        clause: &OnConflict,
        root: &TableDef,
        leaf: &TableDef,
        rules: &RowRules,
    ) -> OnConflict {
        let (own, width) = (root.columns.len(), leaf.columns.len());
        let over = |expr: &TypedExpr| {
            let mut expr = expr.clone();
            map_columns(&mut expr, &mut |column| match column.checked_sub(own) {
                None => leaf.column_like(root, column).unwrap_or(column),
                Some(excluded) => width + leaf.column_like(root, excluded).unwrap_or_default(),
            });
            expr
        };
        let update = clause.update.as_ref().map(|update| {
            let given = update.assignments.iter().filter(|(column, _)| !root.columns[*column].generated);
            let column = |column: usize| leaf.column_like(root, column).unwrap_or(column);
            let mut assignments = given.map(|(at, value)| (column(*at), over(value))).collect();
            set_generated(&mut assignments, rules);
            let named = assignments.len();
            if triggers_change_rows(leaf, TriggerEvent::Update) {
                keep_others(&mut assignments, leaf);
            }
            // Policies are those of the whole table; what else rows have to fulfil is the leaf's.
            let check = |check: &Check| Check { condition: over(&check.condition), ..check.clone() };
            let shown = update.shown.as_ref().map(check);
            let own = update.rules.as_ref().map(|whole| {
                let policies =
                    whole.checks.iter().filter(|check| matches!(check.of, CheckOf::Policy | CheckOf::View));
                let checks = rules.checks.iter().cloned().chain(policies.map(check)).collect();
                Box::new(RowRules { checks, ..rules.clone() })
            });
            ConflictUpdate { assignments, named, filter: update.filter.as_ref().map(over), shown, rules: own }
        });
        let counts = |index: &&Arc<IndexDef>| match clause.all {
            true => index.unique && !index.deferrable,
            false => clause.indexes.iter().any(|whole| self.is_part(index, whole.oid)),
        };
        let indexes = leaf.indexes.iter().filter(counts).cloned().collect();
        OnConflict { indexes, all: clause.all, undecided: clause.undecided, update }
    }

    /// Whether an index of a leaf is a part of an index of the whole table.
    fn is_part(&self, index: &IndexDef, whole: Oid) -> bool {
        let above = |oid: &Oid| match self.catalog.relation_by_oid(*oid) {
            Some(Relation::Index(index)) => index.part_of,
            _ => None,
        };
        std::iter::successors(index.part_of, above).any(|oid| oid == whole)
    }
}

/// RETURNING of a row stored in a table: where the new values of columns are, and from where on what was found.
pub(super) type StoredReturning<'r> = &'r dyn Fn(&dyn Fn(usize) -> usize, usize) -> Option<Returning>;

impl Binder<'_> {
    /// What an UPDATE does to each leaf of a partitioned table, given the query that finds the rows and the values that it
    /// yields for some columns.
    pub(super) fn update_parts(
        &self,
        root: &Arc<TableDef>,
        rules: &RowRules,
        joined: &Plan,
        assigned: &[(usize, TypedExpr)],
        returning: StoredReturning<'_>,
    ) -> Result<UpdateParts, SqlError> {
        let rows = joined.output();
        let demanded: Vec<Check> = demanded(&rules.checks).cloned().collect();
        let set = rules.set.clone();
        let leaves = self.leaves(root)?.into_iter().map(|leaf| {
            let columns = columns_in(root, &leaf);
            let place = |at: usize| columns.iter().position(|column| *column == at);
            let mut own: Vec<(usize, TypedExpr)> =
                assigned.iter().map(|(column, value)| (columns[*column], value.clone())).collect();
            let mut rules = RowRules { set: set.clone(), ..self.row_rules(&leaf)? };
            rules.checks.extend(demanded.iter().map(|check| over_leaf(check, root, &leaf)));
            set_generated(&mut own, &rules);
            let named = own.len();
            if triggers_change_rows(&leaf, TriggerEvent::Update) {
                keep_others(&mut own, &leaf);
                for (_, value) in &mut own[named..] {
                    map_columns(value, &mut |at| place(at).unwrap_or(at));
                }
            }
            let targets: Vec<usize> = own.iter().map(|(column, _)| *column).collect();
            let mut read = columns.clone();
            read.resize(rows.len(), usize::MAX);
            let new = |column: usize| {
                let at = columns[column];
                targets.iter().position(|target| *target == at).map_or(column, |n| rows.len() + n)
            };
            Ok(Update {
                rules: rules_over(rules, &read, &targets),
                columns: columns.clone(),
                joined: Some(Plan::External { columns: rows.clone() }),
                access: None,
                filter: None,
                named,
                returning: returning(&new, 0),
                assignments: own,
                parts: None,
                table: leaf.into(),
            })
        });
        let leaves = leaves.collect::<Result<_, SqlError>>()?;
        // A row that moves: as it is to be, then as it was found.
        let own = root.columns.len();
        let columns =
            root.columns.iter().map(|column| OutputColumn::new(Arc::clone(&column.name), column.seen()));
        let source = Plan::External { columns: columns.chain(rows.iter().cloned()).collect() };
        let value = |(at, column): (usize, &ColumnDef)| TypedExpr::column(at, column.ty.clone());
        let values = root.columns.iter().enumerate().map(value).collect();
        let rules = RowRules { checks: demanded, set, ..RowRules::default() };
        let rules = RowRules { partition: self.partition_rule(root), ..rules };
        let returning = returning(&|column| column, 2 * own);
        let mut moved = Insert { rules, returning, ..Insert::plain(Arc::clone(root), source, values) };
        self.route(&mut moved)?;
        Ok(UpdateParts { leaves, moved })
    }

    /// The same of a DELETE; none for other tables.
    pub(super) fn delete_parts(
        &self,
        root: &Arc<TableDef>,
        joined: Option<&Plan>,
        returning: Option<&Returning>,
    ) -> Result<Vec<Delete>, SqlError> {
        if root.partitioned.is_none() {
            return Ok(Vec::new());
        }
        let columns = joined.map_or_else(Vec::new, Plan::output);
        let delete = |leaf: Arc<TableDef>| Delete {
            columns: columns_in(root, &leaf),
            table: leaf.into(),
            joined: Some(Plan::External { columns: columns.clone() }),
            access: None,
            filter: None,
            returning: returning.cloned(),
            parts: Vec::new(),
        };
        Ok(self.leaves(root)?.into_iter().map(delete).collect())
    }

    /// The leaves of a table whose rows change.
    fn leaves(&self, root: &Arc<TableDef>) -> Result<Vec<Arc<TableDef>>, SqlError> {
        let leaves = root.leaves();
        match leaves.len() {
            LEAVES_MAX.. => {
                let text =
                    format!("rows of a table with more than {LEAVES_MAX} partitions cannot be changed");
                Err(SqlError::new("54000", text))
            }
            _ => Ok(leaves),
        }
    }
}

/// The columns of a leaf that those of the whole table are, without hidden ones, which are computed anew.
fn columns_in(root: &TableDef, leaf: &TableDef) -> Vec<usize> {
    let column = |column: &ColumnDef| leaf.column(&column.name).unwrap_or_default();
    root.shown().iter().map(column).collect()
}

/// The conditions that a statement has beside those of its table.
fn demanded(checks: &[Check]) -> impl Iterator<Item = &Check> {
    checks.iter().filter(|check| matches!(check.of, CheckOf::View | CheckOf::Policy))
}

/// A condition over rows of the whole table, over those of a leaf.
fn over_leaf(check: &Check, root: &TableDef, leaf: &TableDef) -> Check {
    let mut condition = check.condition.clone();
    map_columns(&mut condition, &mut |column| {
        let name = root.columns.get(column).map(|column| &column.name);
        name.and_then(|name| leaf.column(name)).unwrap_or(column)
    });
    Check { condition, ..check.clone() }
}

/// Refuses a partitioned table where its rows cannot be worked with yet.
pub(super) fn refuse_partitioned(table: &TableDef, what: &str) -> Result<(), SqlError> {
    match table.partitioned {
        Some(_) => Err(SqlError::unsupported(format!("{what} a partitioned table"))),
        None => Ok(()),
    }
}

/// Whether two tables may have rows in common: one is the other, or a part of it.
pub(super) fn share_rows(one: &TableDef, other: &TableDef) -> bool {
    let has = |table: &TableDef, part: &TableDef| {
        table.oid == part.oid
            || table.partitioned.is_some()
                && Arc::new(table.clone()).with_partitions().iter().any(|one| one.oid == part.oid)
    };
    has(one, other) || has(other, one)
}
