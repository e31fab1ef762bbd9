//! From the rows of a sample to what is known of columns and expressions together, by PostgreSQL's methods.
//!
//! ```text
//! rows ─► of each column and expression: its values, numbered in their order ─► groups of rows alike in several of them
//! ```
//!
//! 1. Of a row only the numbers of its values are looked at, so that rows are compared without a look at values.
//! 2. What is kept of rows is charged to the statement's memory, by whoever adds them.
//! 3. A cancel ends the look at choices of columns, of which eight have hundreds; whoever asked throws the rest away.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_catalog::{CommonValues, ExtendedStatistics, Oid, StatisticsDef, StatisticsKind, TableDef};
use verso_exec::exec::Computed;
use verso_exec::plan::TypedExpr;
use verso_planner::bind::{Binder, columns_of, map_columns};
use verso_types::{Batch, Column, SqlType, Value, cmp_sql};

use super::column::{Sampled, TARGET};
use super::{Schema, target_of};
use crate::failure::Failure;

/// A column or an expression of a sample.
struct Item {
    ty: SqlType,
    /// Its place among the columns that are kept, or among the expressions.
    place: usize,
    is_expression: bool,
}

/// Statistics that are to be found out.
struct Wanted {
    definition: Arc<StatisticsDef>,
    /// Its columns and expressions, in the order of [`StatisticsDef::items`].
    items: Vec<Item>,
    target: usize,
}

/// The rows of a sample as far as statistics of several columns need them.
#[derive(Default)]
pub(super) struct Together {
    wanted: Vec<Wanted>,
    /// The columns that are kept, by their places in the table.
    read: Vec<usize>,
    computed: Option<Computed>,
    kept: Batch,
    values: Batch,
}

/// Numbers for the values of a column: those that are alike have one number, in the order of the values.
struct Numbered {
    of_rows: Vec<u32>,
    values: Vec<Value>,
    counts: Vec<u32>,
}

impl Together {
    /// Those of a table that are about these columns only; the names of those that are about others, too.
    pub fn of(
        binder: &Binder<'_>,
        schema: &Schema<'_>,
        table: &Arc<TableDef>,
        columns: &[usize],
    ) -> Result<(Together, Vec<String>), Failure> {
        let mut all = Together {
            wanted: Vec::new(),
            read: Vec::new(),
            computed: None,
            kept: Batch::default(),
            values: Batch::default(),
        };
        let (mut expressions, mut left) = (Vec::new(), Vec::new());
        for definition in table.extended.iter().filter(|one| one.target != Some(0)) {
            let bound =
                definition.expressions.iter().map(|text| binder.kept_statistics_expression(text, table));
            let bound = bound.collect::<Result<Vec<TypedExpr>, _>>()?;
            let own: Option<Vec<usize>> =
                definition.columns.iter().map(|id| table.column_with_id(*id)).collect();
            let own = own.unwrap_or_default();
            let named: Vec<usize> = bound.iter().flat_map(columns_of).chain(own.iter().copied()).collect();
            if !named.iter().all(|at| columns.contains(at)) || own.len() < definition.columns.len() {
                left.push(format!("{}.{}", definition.schema, definition.name));
                continue;
            }
            let mut place = |at: usize| match all.read.iter().position(|known| *known == at) {
                Some(place) => place,
                None => {
                    all.read.push(at);
                    all.read.len() - 1
                }
            };
            let of_columns = own.iter().map(|at| target_of(&table.columns[*at])).max();
            let target = definition.target.map(usize::from).or(of_columns).unwrap_or(TARGET);
            let mut items: Vec<Item> = Vec::new();
            for at in &own {
                let ty = table.columns[*at].ty.clone();
                items.push(Item { ty, place: place(*at), is_expression: false });
            }
            for mut expr in bound {
                map_columns(&mut expr, &mut place);
                let ty = expr.ty.erased();
                items.push(Item { ty, place: expressions.len(), is_expression: true });
                expressions.push(expr);
            }
            all.wanted.push(Wanted { definition: Arc::clone(definition), items, target });
        }
        let types: Vec<SqlType> = all.read.iter().map(|at| table.columns[*at].ty.clone()).collect();
        all.kept = Batch::of_types(&types);
        if !expressions.is_empty() {
            let types: Vec<SqlType> = expressions.iter().map(|expr| expr.ty.erased()).collect();
            all.values = Batch::of_types(&types);
            all.computed = Some(Computed::compile(&expressions, schema.frame.services.settings.executor));
        }
        Ok((all, left))
    }

    /// The columns that are wanted of rows, by their places in the table.
    pub fn columns(&self) -> &[usize] {
        &self.read
    }

    /// The greatest number of common values that are wanted.
    pub fn target(&self) -> usize {
        self.wanted.iter().map(|one| one.target).max().unwrap_or_default()
    }

    /// Takes rows with the [columns](Together::columns); how many bytes that keeps.
    pub fn add(&mut self, schema: &Schema<'_>, table: &TableDef, rows: &Batch) -> Result<u64, Failure> {
        if self.wanted.is_empty() || rows.rows == 0 {
            return Ok(0);
        }
        let before = self.kept.heap_bytes() + self.values.heap_bytes();
        if let Some(computed) = &mut self.computed {
            let values = &mut self.values;
            // The functions that they call are the owner's affair.
            schema.frame.as_owner_of(table, |frame| {
                let made = frame.with_context(&[], |cx| computed.of(cx, rows))?;
                values.append(made);
                Ok(())
            })?;
        }
        self.kept.append(rows);
        Ok((self.kept.heap_bytes() + self.values.heap_bytes()).saturating_sub(before) as u64)
    }

    /// What the rows tell about a table with so many rows.
    pub fn statistics(self, rows_of_table: f64, cancel: &AtomicBool) -> HashMap<Oid, ExtendedStatistics> {
        let Together { wanted, kept, values, .. } = self;
        let rows = kept.rows.max(values.rows);
        let column = |item: &Item| match item.is_expression {
            true => &values.columns[item.place],
            false => &kept.columns[item.place],
        };
        let found = wanted.into_iter().filter(|_| rows > 0).map(|one| {
            let expressions = one.items.iter().filter(|item| item.is_expression);
            let expressions = expressions.map(|item| {
                let (mut sampled, values) = (Sampled::default(), column(item));
                for row in 0..rows {
                    sampled.add(values.value(row, &item.ty), &item.ty);
                }
                sampled.statistics(&item.ty, one.target, rows_of_table)
            });
            let mut known =
                ExtendedStatistics { expressions: expressions.collect(), ..ExtendedStatistics::default() };
            if one.items.len() > 1 {
                let numbered: Vec<Numbered> =
                    one.items.iter().map(|item| Numbered::of(column(item), &item.ty, rows)).collect();
                let names = one.definition.items();
                if one.definition.has(StatisticsKind::Distinct) {
                    known.distinct = distinct(&numbered, &names, rows_of_table, cancel);
                }
                if one.definition.has(StatisticsKind::Dependencies) {
                    known.dependencies = dependencies(&numbered, &names, cancel);
                }
                if one.definition.has(StatisticsKind::Common) {
                    known.common = common(&numbered, one.target, rows_of_table);
                }
            }
            (one.definition.oid, known)
        });
        found.collect()
    }
}

impl Numbered {
    fn of(column: &Column, ty: &SqlType, rows: usize) -> Numbered {
        let values: Vec<Value> = (0..rows).map(|row| column.value(row, ty)).collect();
        let mut order: Vec<u32> = (0..rows as u32).collect();
        order.sort_by(|a, b| cmp_sql(&values[*a as usize], &values[*b as usize]));
        let mut numbered = Numbered { of_rows: vec![0; rows], values: Vec::new(), counts: Vec::new() };
        for row in order {
            let value = &values[row as usize];
            if !numbered.values.last().is_some_and(|last| cmp_sql(last, value).is_eq()) {
                numbered.values.push(value.clone());
                numbered.counts.push(0);
            }
            let number = numbered.values.len() - 1;
            numbered.counts[number] += 1;
            numbered.of_rows[row as usize] = number as u32;
        }
        numbered
    }
}

/// The rows in the order of the numbers that these have.
fn ordered(of: &[&Numbered]) -> Vec<u32> {
    let rows = of.first().map_or(0, |first| first.of_rows.len());
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let key = |row: u32| of.iter().map(move |one| one.of_rows[row as usize]);
    order.sort_unstable_by(|a, b| key(*a).cmp(key(*b)).then(a.cmp(b)));
    order
}

fn alike(of: &[&Numbered], a: u32, b: u32) -> bool {
    of.iter().all(|one| one.of_rows[a as usize] == one.of_rows[b as usize])
}

/// Groups of rows that are alike in all of these: the first row of each, and how many they are.
fn groups(of: &[&Numbered]) -> Vec<(u32, u32)> {
    let mut groups: Vec<(u32, u32)> = Vec::new();
    for row in ordered(of) {
        match groups.last_mut() {
            Some((first, count)) if alike(of, *first, row) => *count += 1,
            _ => groups.push((row, 1)),
        }
    }
    groups
}

/// All choices of so many out of `all`, each in ascending order.
fn choices(all: usize, count: usize) -> Vec<Vec<usize>> {
    let fits = |set: &u32| set.count_ones() as usize == count;
    let mut sets: Vec<Vec<usize>> =
        (0..1u32 << all).filter(fits).map(|set| (0..all).filter(|at| set >> at & 1 == 1).collect()).collect();
    sets.sort();
    sets
}

/// How many different values each choice of several has (estimator Duj1 of Haas and Stokes, 1998).
fn distinct(of: &[Numbered], names: &[i16], rows_of_table: f64, cancel: &AtomicBool) -> Vec<(Vec<i16>, f64)> {
    let mut found = Vec::new();
    for count in 2..=of.len() {
        for choice in choices(of.len(), count) {
            if cancel.load(Ordering::Relaxed) {
                return found;
            }
            let chosen: Vec<&Numbered> = choice.iter().map(|at| &of[*at]).collect();
            let groups = groups(&chosen);
            let rows = chosen[0].of_rows.len() as f64;
            let once = groups.iter().filter(|(_, count)| *count == 1).count() as f64;
            let different = groups.len() as f64;
            let all = rows_of_table.max(rows);
            let estimate = rows * different / (rows - once + once * rows / all);
            let estimate = estimate.clamp(different, all.max(different));
            found.push((choice.iter().map(|at| names[*at]).collect(), (estimate + 0.5).floor()));
        }
    }
    found
}

/// In which part of the rows the values of some say the value of another one.
fn dependencies(of: &[Numbered], names: &[i16], cancel: &AtomicBool) -> Vec<(Vec<i16>, f64)> {
    let mut found = Vec::new();
    for count in 1..of.len() {
        for choice in choices(of.len(), count) {
            if cancel.load(Ordering::Relaxed) {
                return found;
            }
            let determining: Vec<&Numbered> = choice.iter().map(|at| &of[*at]).collect();
            for implied in (0..of.len()).filter(|at| !choice.contains(at)) {
                let all: Vec<&Numbered> = determining.iter().copied().chain([&of[implied]]).collect();
                let groups = groups(&all);
                let (mut told, mut at) = (0u64, 0);
                while at < groups.len() {
                    let first = groups[at].0;
                    let same = groups[at..].iter().take_while(|group| alike(&determining, first, group.0));
                    let same = same.count();
                    if same == 1 {
                        told += u64::from(groups[at].1);
                    }
                    at += same;
                }
                if told > 0 {
                    let names = choice.iter().chain([&implied]).map(|at| names[*at]).collect();
                    found.push((names, told as f64 / of[0].of_rows.len() as f64));
                }
            }
        }
    }
    found
}

/// The values that are common together.
fn common(of: &[Numbered], target: usize, rows_of_table: f64) -> Vec<CommonValues> {
    let all: Vec<&Numbered> = of.iter().collect();
    let mut groups = groups(&all);
    let rows = of[0].of_rows.len() as f64;
    // Of equally common ones the smaller values first.
    groups.sort_by_key(|group| std::cmp::Reverse(group.1));
    groups.truncate(target);
    // Those that the whole table has about as often as the sample, with an error of a fifth.
    let table = rows_of_table.max(rows);
    let spread = table - rows + 0.04 * rows * (table - 1.0);
    let least = if spread == 0.0 { 0.0 } else { rows * (table - rows) / spread };
    let values = |(row, count): (u32, u32)| {
        let numbers = || of.iter().map(move |one| (one, one.of_rows[row as usize] as usize));
        CommonValues {
            values: numbers().map(|(one, number)| one.values[number].clone()).collect(),
            frequency: f64::from(count) / rows,
            base: numbers().map(|(one, number)| f64::from(one.counts[number]) / rows).product(),
        }
    };
    groups.into_iter().take_while(|(_, count)| f64::from(*count) >= least).map(values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(values: impl Iterator<Item = i32>) -> Numbered {
        let mut column = Column::new(SqlType::Int4.physical());
        let mut rows = 0;
        for value in values {
            column.push_value(&Value::Int4(value), &SqlType::Int4).expect("an integer");
            rows += 1;
        }
        Numbered::of(&column, &SqlType::Int4, rows)
    }

    #[test]
    fn choices_come_in_the_order_of_their_first_members() {
        assert_eq!(choices(3, 2), [vec![0, 1], vec![0, 2], vec![1, 2]]);
        assert_eq!(choices(4, 3).len(), 4);
    }

    #[test]
    fn a_column_that_another_one_tells_is_told() {
        let of = [numbered((0..1000).map(|n| n % 20)), numbered((0..1000).map(|n| n % 20 / 2))];
        let cancel = AtomicBool::new(false);
        assert_eq!(distinct(&of, &[1, 2], 1000.0, &cancel), [(vec![1, 2], 20.0)]);
        assert_eq!(dependencies(&of, &[1, 2], &cancel), [(vec![1, 2], 1.0)]);
        let common = common(&of, 100, 1000.0);
        assert_eq!((common.len(), common[0].frequency), (20, 0.05));
        assert!((common[0].base - 0.005).abs() < 1e-9);
        assert_eq!(common[3].values, [Value::Int4(3), Value::Int4(1)]);
    }

    #[test]
    fn rows_met_once_tell_of_others() {
        let of = [numbered(0..1000), numbered((0..1000).map(|n| n / 2))];
        let cancel = AtomicBool::new(false);
        assert_eq!(distinct(&of, &[1, 2], 100_000.0, &cancel), [(vec![1, 2], 100_000.0)]);
        assert!(common(&of, 100, 100_000.0).is_empty());
    }
}
