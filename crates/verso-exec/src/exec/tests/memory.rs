//! Operators with little memory against a naive reference: batches of 1, 3 and 1,024 rows, hashes that are all zero, memory
//! refused and the statement cancelled at each step; and nothing is left behind.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use verso_env::Env;
use verso_types::{SqlType, cmp_sql};

use super::windows;
use super::*;
use crate::exec::keys::ZERO_HASHES;
use crate::plan::{ExprKind, GroupingSets, JoinKind, SetOperation, SortKey};
use crate::spill::{TempFiles, TempSpace};
use crate::testing::call;

pub(super) type Row = Vec<Value>;

/// A table of rows that repeat, with NULLs and texts of all lengths, and one of half of them.
pub(super) struct Little {
    pub world: World,
    pub many: Arc<TableDef>,
    some: Arc<TableDef>,
    _directory: tempfile::TempDir,
}

/// Numbers that look random and are the same each time.
fn mixed(i: u64) -> u64 {
    let i = (i ^ (i >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (i ^ (i >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 13
}

fn rows(seed: u64, count: u64) -> Vec<Row> {
    let row = |i: u64| {
        let random = mixed(seed * 100_000 + i);
        let group = if random.is_multiple_of(11) { Value::Null } else { int((random % 197) as i32) };
        let text = match random % 7 {
            0 => Value::Null,
            length => Value::text(&format!("{:0>1$}", random % 41, (length * length * 3) as usize)),
        };
        vec![int(i as i32), group, text]
    };
    (0..count).map(row).collect()
}

impl Little {
    pub fn new(count: u64) -> Little {
        let directory = tempfile::tempdir().expect("a directory");
        let columns = [("id", SqlType::Int4), ("grp", SqlType::Int4), ("name", SqlType::Text)];
        let (many, some) = (table(300, "many", &columns), table(301, "some", &columns));
        let mut world = World::new(|_| {});
        world.tables.fill(&many, rows(1, count));
        world.tables.fill(&some, rows(2, count / 2));
        let files = TempFiles::new(Env::real().vfs, directory.path().join("tmp"));
        world.session.temporary = Some(Arc::new(TempSpace::new(Arc::new(files), 0)));
        world.session.work_memory.set(64 << 10);
        Little { world, many, some, _directory: directory }
    }

    pub fn run(&self, plan: &Plan) -> Result<Vec<Row>, String> {
        let statement = crate::plan::Statement::Query(plan.clone());
        let result = self.world.run(&statement, Executor::Auto).map(|(rows, _)| rows);
        let space = self.world.session.temporary.as_ref().expect("files");
        assert_eq!((space.used_bytes(), space.files().open_files()), (0, 0), "files are left");
        assert_eq!(self.world.session.memory.used_bytes(), 0, "memory is left");
        result
    }

    pub fn spilled(&self) -> u64 {
        self.world.session.temporary.as_ref().expect("files").written_bytes()
    }

    /// Plans by name, whether their order counts, and what they yield. Rows that are equal by the keys of a sort stay in their
    /// order, for one worker; for several the id is the last key.
    pub fn cases(&self, workers: u32) -> Vec<(&'static str, bool, Plan, Vec<Row>)> {
        let (many, some) = (self.world.tables.rows(&self.many), self.world.tables.rows(&self.some));
        let all = || Box::new(scan(&self.many, None));
        let mut cases = Vec::new();

        let key = |index: usize, descending: bool, nulls_first: bool| SortKey {
            expr: of(&self.many, index),
            descending,
            nulls_first,
        };
        let mut sorted = many.clone();
        sorted.sort_by(|a, b| {
            // NULLs first whatever the direction, then names ascending with NULLs last.
            let null = |row: &Row| row[1].is_null();
            (null(b).cmp(&null(a))).then(cmp_sql(&b[1], &a[1])).then(cmp_sql(&a[2], &b[2]))
        });
        let mut keys = vec![key(1, true, true), key(2, false, false)];
        if workers > 1 {
            keys.push(key(0, false, false));
        }
        let sort = Plan::Sort { input: all(), keys, sorted: 0 };
        let limited = Plan::Limit {
            input: Box::new(sort.clone()),
            limit: Some(literal(Value::Int8(700))),
            offset: Some(literal(Value::Int8(30))),
            ties: Vec::new(),
        };
        cases.push(("limit", true, limited, sorted.iter().skip(30).take(700).cloned().collect()));
        cases.push(("sort", true, sort, sorted));

        let mut groups: BTreeMap<String, (Value, Vec<&Row>)> = BTreeMap::new();
        for row in &many {
            let key = format!("{:?}", row[2]);
            groups.entry(key).or_insert_with(|| (row[2].clone(), Vec::new())).1.push(row);
        }
        let mut distinct = aggregate("count", vec![of(&self.many, 1)]);
        distinct.distinct = true;
        let total = |(name, rows): &(Value, Vec<&Row>)| {
            let numbers = rows.iter().filter_map(|row| row[1].as_i64());
            let mut seen: Vec<i64> = numbers.clone().collect();
            seen.sort_unstable();
            seen.dedup();
            let texts: Vec<&str> = rows.iter().filter_map(|row| row[2].as_str()).collect();
            vec![
                name.clone(),
                Value::Int8(rows.len() as i64),
                numbers.clone().next().map_or(Value::Null, |_| Value::Int8(numbers.sum())),
                Value::Array(rows.iter().map(|row| row[0].clone()).collect()),
                if texts.is_empty() { Value::Null } else { Value::text(&texts.join("+")) },
                Value::Int8(seen.len() as i64),
            ]
        };
        let grouped = Plan::Aggregate {
            input: all(),
            group_by: vec![of(&self.many, 2)],
            aggregates: vec![
                aggregate("count", vec![]),
                aggregate("sum", vec![of(&self.many, 1)]),
                aggregate("array_agg", vec![of(&self.many, 0)]),
                aggregate("string_agg", vec![of(&self.many, 2), literal(Value::text("+"))]),
                distinct,
            ],
            sets: None,
        };
        cases.push(("group", false, grouped, groups.values().map(total).collect()));
        let by_id = Plan::Aggregate {
            input: all(),
            group_by: vec![of(&self.many, 0)],
            aggregates: vec![aggregate("max", vec![of(&self.many, 2)])],
            sets: None,
        };
        cases.push((
            "group by id",
            false,
            by_id,
            many.iter().map(|row| vec![row[0].clone(), row[2].clone()]).collect(),
        ));

        let mut by_group: BTreeMap<String, (Value, Vec<&Row>)> = BTreeMap::new();
        for row in &many {
            by_group
                .entry(format!("{:?}", row[1]))
                .or_insert_with(|| (row[1].clone(), Vec::new()))
                .1
                .push(row);
        }
        let total = |(group, rows): &(Value, Vec<&Row>)| {
            let ids = || rows.iter().filter_map(|row| row[0].as_i64());
            let names = rows.iter().map(|row| &row[2]).filter(|name| !name.is_null());
            vec![
                group.clone(),
                Value::Int8(rows.len() as i64),
                Value::Int8(ids().sum()),
                ids().min().map_or(Value::Null, |id| int(id as i32)),
                names.clone().max_by(|a, b| cmp_sql(a, b)).cloned().unwrap_or(Value::Null),
                Value::Int8(names.count() as i64),
            ]
        };
        let totals = || {
            let of = |index| vec![of(&self.many, index)];
            vec![
                aggregate("count", vec![]),
                aggregate("sum", of(0)),
                aggregate("min", of(0)),
                aggregate("max", of(2)),
                aggregate("count", of(2)),
            ]
        };
        let group = |group_by: Vec<TypedExpr>| Plan::Aggregate {
            input: all(),
            group_by,
            aggregates: totals(),
            sets: None,
        };
        let expected = by_group.values().map(total).collect();
        cases.push(("group by integers", false, group(vec![of(&self.many, 1)]), expected));
        let whole = total(&(Value::Null, many.iter().collect()));
        cases.push(("aggregate", false, group(Vec::new()), vec![whole[1..].to_vec()]));
        // Groups above a join by integers, the right input itself grouped by the key: each input tells the other its keys.
        for (name, kind) in [("join of groups", JoinKind::Inner), ("left join of groups", JoinKind::Left)] {
            let id_below = call("<", vec![of(&self.many, 0), lit(1000)]);
            let sums = Plan::Aggregate {
                input: Box::new(scan(&self.some, None)),
                group_by: vec![of(&self.some, 1)],
                aggregates: vec![aggregate("sum", vec![of(&self.some, 0)])],
                sets: None,
            };
            let plan = Plan::Join {
                left: Box::new(scan(&self.many, Some(id_below))),
                right: Box::new(sums),
                kind,
                equal: vec![(of(&self.many, 1), column(0, SqlType::Int4))],
                filter: None,
            };
            let sum_of = |group: &Value| {
                let ids = some.iter().filter(|row| row[1] == *group).filter_map(|row| row[0].as_i64());
                (!group.is_null() && ids.clone().next().is_some()).then(|| Value::Int8(ids.sum()))
            };
            let mut expected = Vec::new();
            for row in many.iter().filter(|row| row[0].as_i64() < Some(1000)) {
                match sum_of(&row[1]) {
                    Some(sum) => expected.push([&row[..], &[row[1].clone(), sum]].concat()),
                    None if kind == JoinKind::Left => {
                        expected.push([&row[..], &[Value::Null, Value::Null]].concat());
                    }
                    None => {}
                }
            }
            cases.push((name, false, plan, expected));
        }
        for (name, anti) in [("semi join by integers", false), ("anti join by integers", true)] {
            let id_below = call("<", vec![of(&self.many, 0), lit(700)]);
            let semi = Plan::Semi {
                left: Box::new(scan(&self.many, Some(id_below))),
                right: Box::new(scan(&self.some, None)),
                equal: vec![(of(&self.many, 1), of(&self.some, 1))],
                filter: None,
                anti,
            };
            let partner = |row: &&Row| !row[1].is_null() && some.iter().any(|other| other[1] == row[1]);
            let rows: Vec<&Row> =
                many.iter().filter(|row| row[0].as_i64() < Some(700) && partner(row) != anti).collect();
            let plan = Plan::Aggregate {
                input: Box::new(semi),
                group_by: Vec::new(),
                aggregates: totals(),
                sets: None,
            };
            cases.push((name, false, plan, vec![total(&(Value::Null, rows))[1..].to_vec()]));
        }

        let pick = |table: &Arc<TableDef>| {
            let exprs = vec![of(table, 1), of(table, 2)];
            Box::new(Plan::Project {
                input: Box::new(scan(table, None)),
                exprs,
                names: vec!["grp".into(), "name".into()],
            })
        };
        let pairs = |rows: &[Row]| -> Vec<Row> { rows.iter().map(|row| row[1..].to_vec()).collect() };
        let (left, right) = (pairs(&many), pairs(&some));
        let unique = |rows: &[Row]| {
            let mut unique: Vec<Row> = Vec::new();
            let mut seen = std::collections::BTreeSet::new();
            unique.extend(rows.iter().filter(|row| seen.insert(format!("{row:?}"))).cloned());
            unique
        };
        cases.push(("distinct", false, Plan::Distinct { input: pick(&self.many) }, unique(&left)));
        for (operation, all) in [
            (SetOperation::Intersect, false),
            (SetOperation::Except, false),
            (SetOperation::Intersect, true),
            (SetOperation::Except, true),
        ] {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            right.iter().for_each(|row| *counts.entry(format!("{row:?}")).or_default() += 1);
            let intersects = operation == SetOperation::Intersect;
            let mut kept = Vec::new();
            for row in if all { left.clone() } else { unique(&left) } {
                let count = counts.entry(format!("{row:?}")).or_default();
                if (*count > 0) == intersects {
                    kept.push(row);
                }
                *count = if all { count.saturating_sub(1) } else { *count };
            }
            let plan = Plan::SetOperation {
                left: pick(&self.many),
                right: pick(&self.some),
                operation,
                all,
                collators: Vec::new(),
            };
            cases.push(("set operation", false, plan, kept));
        }

        for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full] {
            for keyed in [true, false] {
                let few = |rows: &[Row], keyed: bool| rows[..if keyed { rows.len() } else { 90 }].to_vec();
                let (left, right) = (few(&many, keyed), few(&some, keyed));
                let id_below =
                    |table: &Arc<TableDef>| (!keyed).then(|| call("<", vec![of(table, 0), lit(90)]));
                let expected = joined(&left, &right, kind, keyed);
                let right_id = column(3, SqlType::Int4);
                let plan = Plan::Join {
                    left: Box::new(scan(&self.many, id_below(&self.many))),
                    right: Box::new(scan(&self.some, id_below(&self.some))),
                    kind,
                    equal: if keyed {
                        vec![(of(&self.many, 2), of(&self.some, 2)), (of(&self.many, 1), of(&self.some, 1))]
                    } else {
                        Vec::new()
                    },
                    filter: Some(call("<>", vec![call("%", vec![right_id, lit(3)]), lit(0)])),
                };
                if let (true, JoinKind::Inner, Plan::Join { left, right, equal, filter, .. }) =
                    (keyed, kind, plan.clone())
                {
                    let in_order = |input: Box<Plan>, keys: Vec<TypedExpr>| {
                        let key = |expr| SortKey { expr, descending: false, nulls_first: false };
                        Box::new(Plan::Sort { input, keys: keys.into_iter().map(key).collect(), sorted: 0 })
                    };
                    let (ours, theirs) = equal.iter().cloned().unzip();
                    let (left, right) = (in_order(left, ours), in_order(right, theirs));
                    let merged = Plan::MergeJoin { left, right, equal, filter };
                    cases.push(("merge join", false, merged, expected.clone()));
                }
                cases.push((if keyed { "join" } else { "cross join" }, false, plan, expected));
            }
        }
        for anti in [false, true] {
            for keyed in [true, false] {
                let count = |rows: &[Row]| if keyed { rows.len() } else { 260 };
                let id_below =
                    |table: &Arc<TableDef>| (!keyed).then(|| call("<", vec![of(table, 0), lit(260)]));
                let (left, right) = (&many[..count(&many)], &some[..count(&some)]);
                // Without keys a partner is one with a lower id: all but the first rows have several.
                let pair = |a: &Row, b: &Row| match keyed {
                    true => {
                        (1..3).all(|i| !a[i].is_null() && cmp_sql(&a[i], &b[i]) == Ordering::Equal)
                            && b[0].as_i64().is_some_and(|id| id % 3 != 0)
                    }
                    false => b[0].as_i64() < a[0].as_i64() && a[2] == b[2] && !a[2].is_null(),
                };
                let kept = left.iter().filter(|a| right.iter().any(|b| pair(a, b)) != anti);
                let (left_id, right_id) = (column(0, SqlType::Int4), column(3, SqlType::Int4));
                let (left_name, right_name) = (column(2, SqlType::Text), column(5, SqlType::Text));
                let filter = match keyed {
                    true => call("<>", vec![call("%", vec![right_id, lit(3)]), lit(0)]),
                    false => TypedExpr::new(
                        ExprKind::And(vec![
                            call("<", vec![right_id, left_id]),
                            call("=", vec![left_name, right_name]),
                        ]),
                        SqlType::Bool,
                    ),
                };
                let plan = Plan::Semi {
                    left: Box::new(scan(&self.many, id_below(&self.many))),
                    right: Box::new(scan(&self.some, id_below(&self.some))),
                    equal: if keyed {
                        vec![(of(&self.many, 2), of(&self.some, 2)), (of(&self.many, 1), of(&self.some, 1))]
                    } else {
                        Vec::new()
                    },
                    filter: Some(filter),
                    anti,
                };
                let name = if keyed { "semi join" } else { "semi join without keys" };
                cases.push((name, false, plan, kept.cloned().collect()));
            }
        }
        // One key after the other, and none of them.
        let sets = GroupingSets { sets: vec![vec![0], vec![1], vec![]], calls: vec![vec![0, 1]] };
        let mut by_set: BTreeMap<String, (Row, i64, i64)> = BTreeMap::new();
        for (set, bits) in [(0, 1), (1, 2), (2, 3)] {
            for row in &many {
                let key = |n: usize, column: usize| if set == n { row[column].clone() } else { Value::Null };
                let keys = vec![key(0, 0), key(1, 2), int(bits)];
                let (_, count, sum) = by_set.entry(format!("{keys:?}")).or_insert((keys, 0, 0));
                (*count, *sum) = (*count + 1, *sum + row[0].as_i64().expect("an id"));
            }
        }
        let expected = by_set.into_values().map(|(keys, count, sum)| {
            vec![keys[0].clone(), keys[1].clone(), Value::Int8(count), Value::Int8(sum), keys[2].clone()]
        });
        let grouped = Plan::Aggregate {
            input: all(),
            group_by: vec![of(&self.many, 0), of(&self.many, 2)],
            aggregates: vec![aggregate("count", vec![]), aggregate("sum", vec![of(&self.many, 0)])],
            sets: Some(sets),
        };
        cases.push(("grouping sets", false, grouped, expected.collect()));
        let first = |rows: &[Row]| {
            let mut seen = std::collections::BTreeSet::new();
            rows.iter().filter(|row| seen.insert(format!("{:?}", &row[1..]))).cloned().collect::<Vec<_>>()
        };
        let keys = || vec![of(&self.many, 1), of(&self.many, 2)];
        cases.push(("distinct on", false, Plan::DistinctOn { input: all(), keys: keys() }, first(&many)));
        let mut sorted = many.clone();
        sorted.sort_by(|a, b| {
            let null = |row: &Row, n: usize| row[n].is_null();
            let by = |n: usize| null(a, n).cmp(&null(b, n)).then(cmp_sql(&a[n], &b[n]));
            by(2).then(by(1)).then(by(0))
        });
        let sort = Plan::Sort {
            input: all(),
            keys: vec![key(2, false, false), key(1, false, false), key(0, false, false)],
            sorted: 0,
        };
        let ordered = Plan::DistinctOn { input: Box::new(sort), keys: keys() };
        cases.push(("distinct on in order", true, ordered, first(&sorted)));
        let sorted_by_group = Plan::Sort { input: all(), keys: vec![key(1, false, false)], sorted: 0 };
        let groups = Plan::SortedAggregate {
            input: Box::new(sorted_by_group),
            group_by: vec![of(&self.many, 1)],
            aggregates: totals(),
        };
        cases.push(("groups in order", false, groups, by_group.values().map(total).collect()));
        for (name, partition) in [("window", None), ("window of partitions", Some(1))] {
            let mut keys = vec![key(2, false, false), key(0, false, false)];
            keys.splice(0..0, partition.map(|column| key(column, false, false)));
            let plan = Plan::Window {
                input: Box::new(Plan::Sort { input: all(), keys, sorted: 0 }),
                partition_by: partition.map(|column| of(&self.many, column)).into_iter().collect(),
                order_by: vec![key(2, false, false)],
                calls: windows::calls(&self.many),
                until: None,
            };
            let mut sorted = sorted.clone();
            sorted.sort_by(|a, b| {
                let null = |row: &Row, n: usize| row[n].is_null();
                let by = |n: usize| null(a, n).cmp(&null(b, n)).then(cmp_sql(&a[n], &b[n]));
                partition.map_or(Ordering::Equal, by).then(by(2)).then(by(0))
            });
            cases.push((name, true, plan, windows::expected(&sorted, partition)));
        }
        let shared = Arc::new(scan(&self.many, None));
        let read = || Plan::Shared { plan: Arc::clone(&shared), columns: shared.output(), fence: false };
        let twice = Plan::Append { inputs: vec![read(), read()], pruning: None };
        cases.push(("with", true, twice, [many.clone(), many].concat()));
        cases
    }
}

fn joined(left: &[Row], right: &[Row], kind: JoinKind, keyed: bool) -> Vec<Row> {
    let pair = |a: &Row, b: &Row| {
        let keys = !keyed || (1..3).all(|i| !a[i].is_null() && cmp_sql(&a[i], &b[i]) == Ordering::Equal);
        keys && b[0].as_i64().is_some_and(|id| id % 3 != 0)
    };
    let nulls = vec![Value::Null; 3];
    let mut rows = Vec::new();
    let mut matched = vec![false; right.len()];
    for a in left {
        let mut lonely = true;
        for (b, matched) in right.iter().zip(&mut matched) {
            if pair(a, b) {
                (lonely, *matched) = (false, true);
                rows.push([&a[..], &b[..]].concat());
            }
        }
        if lonely && kind.pads_right() {
            rows.push([&a[..], &nulls[..]].concat());
        }
    }
    if kind.pads_left() {
        let lonely = right.iter().zip(&matched).filter(|(_, matched)| !**matched);
        rows.extend(lonely.map(|(b, _)| [&nulls[..], &b[..]].concat()));
    }
    rows
}

/// Rows as texts, in order or sorted.
pub(super) fn texts(rows: &[Row], ordered: bool) -> Vec<String> {
    let mut texts: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    if !ordered {
        texts.sort_unstable();
    }
    texts
}

/// What holds so little that it asks for no memory.
const SMALL: [&str; 6] = [
    "group by integers",
    "aggregate",
    "join of groups",
    "left join of groups",
    "semi join by integers",
    "anti join by integers",
];

#[test]
fn little_memory_changes_no_answer() {
    let little = Little::new(2_400);
    for (name, ordered, plan, expected) in little.cases(1) {
        let expected = texts(&expected, ordered);
        for (bytes, batch, zero) in [
            (64 << 10, 1024, false),
            (64 << 10, 3, false),
            (64 << 10, 1, false),
            (64 << 20, 1024, false),
            (64 << 10, 1024, true),
        ] {
            little.world.session.work_memory.set(bytes);
            little.world.tables.batch_rows.set(batch);
            ZERO_HASHES.set(zero);
            let before = little.spilled();
            let rows = little.run(&plan);
            ZERO_HASHES.set(false);
            let rows = rows.unwrap_or_else(|error| panic!("{name} {bytes} {batch} {zero}: {error}"));
            let rows = texts(&rows, ordered);
            assert!(
                rows == expected,
                "{name} {bytes} {batch} {zero}: {} rows, not {}",
                rows.len(),
                expected.len()
            );
            if bytes > 1 << 20 {
                assert_eq!(little.spilled(), before, "{name} spills without need");
            } else if !SMALL.contains(&name)
                && !matches!(name, "set operation" | "cross join" | "semi join without keys")
            {
                assert!(little.spilled() > before, "{name} fits into {bytes} bytes: the test is too small");
            }
        }
    }
}

#[test]
fn rows_without_a_partner_need_not_go_to_files() {
    let little = Little::new(9_000);
    // One right row of so many is there.
    let spilled_by = |kind: JoinKind, each: i32, expected: usize| {
        let before = little.spilled();
        let some = call("=", vec![call("%", vec![of(&little.some, 0), lit(each)]), lit(0)]);
        let plan = Plan::Join {
            left: Box::new(scan(&little.many, None)),
            right: Box::new(scan(&little.some, Some(some))),
            kind,
            equal: vec![(of(&little.many, 0), of(&little.some, 0))],
            filter: None,
        };
        assert_eq!(little.run(&plan).expect("rows").len(), expected);
        little.spilled() - before
    };
    let (some, all) = (spilled_by(JoinKind::Inner, 4, 1_125), spilled_by(JoinKind::Left, 4, 9_000));
    assert!(some > 0 && some < all / 3, "{some} bytes, and {all} where all rows are wanted");
    // Too little memory for the keys: all rows go to files.
    let (some, all) = (spilled_by(JoinKind::Inner, 1, 4_500), spilled_by(JoinKind::Left, 1, 9_000));
    assert!(some > all / 10 * 9, "{some} bytes, and {all} where all rows are wanted");
}

#[test]
fn a_long_partition_goes_to_a_file() {
    let little = Little::new(2_400);
    let plan = Plan::Window {
        input: Box::new(scan(&little.many, None)),
        partition_by: Vec::new(),
        order_by: vec![SortKey { expr: of(&little.many, 0), descending: false, nulls_first: false }],
        // The sum of all rows, which the first one needs.
        calls: windows::calls(&little.many)[11..].to_vec(),
        until: None,
    };
    let rows = little.run(&plan).expect("rows");
    let all = little.world.tables.rows(&little.many);
    let sum: i64 = all.iter().filter_map(|row| row[0].as_i64()).sum();
    let expected: Vec<Row> = all.into_iter().map(|row| [&row[..], &[Value::Int8(sum)]].concat()).collect();
    assert_eq!(rows, expected);
    assert!(little.spilled() > 0);
}

#[test]
fn a_window_holds_no_more_rows_than_its_functions_look_at() {
    let little = Little::new(2_400);
    little.world.tables.batch_rows.set(100);
    little.world.session.work_memory.set(128 << 10);
    let calls = windows::calls(&little.many);
    let plan = Plan::Window {
        input: Box::new(scan(&little.many, None)),
        partition_by: Vec::new(),
        order_by: vec![SortKey { expr: of(&little.many, 0), descending: false, nulls_first: false }],
        // Numbers, a value before, sums and the greatest of some rows around.
        calls: [&calls[..4], &calls[7..9]].concat(),
        until: None,
    };
    let rows = little.run(&plan).expect("rows");
    let last = rows.last().expect("a row");
    assert_eq!(last[3..6], [2_400, 2_400, 2_400].map(Value::Int8));
    let sum: i64 = rows[2_389..].iter().filter_map(|row| row[0].as_i64()).sum();
    assert_eq!(last[7], Value::Int8(sum));
    assert_eq!(little.spilled(), 0);
}

#[test]
fn a_condition_ends_the_partitions_of_a_window() {
    let little = Little::new(2_400);
    let calls = windows::calls(&little.many);
    let plan = |partition: Option<usize>, until| Plan::Window {
        input: Box::new(Plan::Sort {
            input: Box::new(scan(&little.many, None)),
            keys: (partition.into_iter().chain([0]))
                .map(|at| SortKey { expr: of(&little.many, at), descending: false, nulls_first: false })
                .collect(),
            sorted: 0,
        }),
        partition_by: partition.map(|at| of(&little.many, at)).into_iter().collect(),
        order_by: vec![SortKey { expr: of(&little.many, 0), descending: false, nulls_first: false }],
        calls: [&calls[..1], &calls[11..]].concat(),
        until,
    };
    let limit = || Some(call("<=", vec![column(3, SqlType::Int8), literal(Value::Int8(2))]));
    for partition in [None, Some(1)] {
        let mut all = little.run(&plan(partition, None)).expect("rows");
        all.retain(|row| row[3].as_i64() <= Some(2));
        assert_eq!(little.run(&plan(partition, limit())).expect("rows"), all);
    }
}

#[test]
fn a_refusal_at_any_step_gives_the_answer_or_53200() {
    let little = Little::new(1_200);
    little.world.tables.batch_rows.set(200);
    // With several threads it is another request each time.
    for (workers, (name, ordered, plan, expected)) in
        [1, 2].into_iter().flat_map(|n| little.cases(n).into_iter().map(move |case| (n, case)))
    {
        little.world.session.workers.set(workers);
        let expected = texts(&expected, ordered);
        let mut refused = 0;
        for request in 1..200 {
            little.world.session.memory.refuse_at(request);
            let result = little.run(&plan);
            let was_refused = little.world.session.memory.has_refused();
            little.world.session.memory.refuse_at(0);
            match result {
                Ok(rows) => assert!(texts(&rows, ordered) == expected, "{name} {request}"),
                Err(error) => {
                    assert!(error.starts_with("53200 out of memory: "), "{name} {request}: {error}")
                }
            }
            if !was_refused {
                break;
            }
            refused += 1;
        }
        assert!(refused > 0 || SMALL.contains(&name), "{name} never asks for memory");
    }
}

#[test]
fn a_cancel_at_any_batch_ends_the_statement_and_leaves_nothing() {
    let little = Little::new(1_200);
    little.world.tables.batch_rows.set(100);
    for (workers, (name, _, plan, _)) in
        [1, 3].into_iter().flat_map(|n| little.cases(n).into_iter().map(move |case| (n, case)))
    {
        little.world.session.workers.set(workers);
        for batch in [1, 2, 7, 12, 13, 14, 18] {
            *little.world.tables.cancels.lock() = Some((batch, Arc::clone(&little.world.cancel)));
            let result = little.run(&plan);
            *little.world.tables.cancels.lock() = None;
            if little.world.cancel.swap(false, Relaxed) {
                let error = result.expect_err(name);
                assert_eq!(error, "57014 canceling statement due to user request", "{name} {batch}");
            }
        }
    }
}
