//! Bounds against what they say: every key of a small domain, asked one by one.

use super::bound::order;
use super::*;
use verso_storage::page::ObjectId;

const TYPES: [SqlType; 2] = [SqlType::Int4, SqlType::Int4];

fn columns() -> Vec<ColumnDef> {
    vec![ColumnDef::new("a", 1, SqlType::Int4), ColumnDef::new("b", 2, SqlType::Int4)]
}

fn part(number: u32, bound: Bound) -> Arc<TableDef> {
    let mut table = TableDef::new(Oid(number), "public", format!("p{number}"), ObjectId(1), columns());
    table.partition_of = Some(PartitionOf { parent: Oid(1), bound });
    Arc::new(table)
}

fn edge(value: i32) -> Edge {
    match value {
        0 => Edge::Min,
        9 => Edge::Max,
        value => Edge::At(Datum::of_text(Some(&value.to_string()), &SqlType::Int4).unwrap()),
    }
}

/// Ends of ranges, in their order.
fn ends() -> Vec<Vec<Edge>> {
    let one = |a: i32| match a {
        0 | 9 => vec![vec![edge(a), edge(a)]],
        a => (0..10).map(|b| vec![edge(a), edge(b)]).collect(),
    };
    (0..10).flat_map(one).collect()
}

fn keys() -> impl Iterator<Item = Vec<Value>> {
    (-1..11).flat_map(|a| (-1..11).map(move |b| vec![Value::Int4(a), Value::Int4(b)]))
}

#[test]
fn a_key_is_found_where_its_range_is() {
    let ends = ends();
    for step in [1, 2, 3, 7, 20] {
        let bounds: Vec<&Vec<Edge>> = ends.iter().step_by(step).collect();
        // every second gap stays open
        let ranges = bounds.windows(2).step_by(2).filter(|pair| order(pair[0], pair[1]).is_lt());
        let parts: Vec<Arc<TableDef>> = (10..)
            .zip(ranges)
            .map(|(number, pair)| part(number, Bound::Range { from: pair[0].clone(), to: pair[1].clone() }))
            .rev_by_halves();
        let whole = Partitioned::new(Strategy::Range, vec![1, 2], &columns(), parts.clone());
        for key in keys() {
            let expected = whole
                .partitions
                .iter()
                .position(|one| whole.belongs(&key, &one.partition_of.as_ref().unwrap().bound).unwrap());
            assert_eq!(whole.route(&key).unwrap(), expected, "{key:?}");
        }
        assert_eq!(whole.route(&[Value::Int4(1), Value::Null]).unwrap(), None);
        let with_default = [parts, vec![part(99, Bound::Default)]].concat();
        let whole = Partitioned::new(Strategy::Range, vec![1, 2], &columns(), with_default);
        assert_eq!(whole.route(&[Value::Int4(1), Value::Null]).unwrap(), Some(whole.partitions.len() - 1));
    }
}

/// The same elements in another order.
trait RevByHalves: Iterator<Item = Arc<TableDef>> + Sized {
    fn rev_by_halves(self) -> Vec<Arc<TableDef>> {
        let mut all: Vec<_> = self.collect();
        let half = all.len() / 2;
        all.rotate_left(half);
        all
    }
}

impl<I: Iterator<Item = Arc<TableDef>>> RevByHalves for I {}

#[test]
fn ranges_overlap_where_they_have_a_key_in_common() {
    let ends: Vec<Vec<Edge>> = ends().into_iter().step_by(5).collect();
    let whole = Partitioned::new(Strategy::Range, vec![1, 2], &columns(), Vec::new());
    let range = |from: &Vec<Edge>, to: &Vec<Edge>| Bound::Range { from: from.clone(), to: to.clone() };
    for (a, b) in ends.iter().flat_map(|a| ends.iter().map(move |b| (a, b))) {
        for (c, d) in ends.iter().flat_map(|c| ends.iter().map(move |d| (c, d))) {
            if !order(a, b).is_lt() || !order(c, d).is_lt() {
                continue;
            }
            let (one, other) = (range(a, b), range(c, d));
            let both =
                |key: &Vec<Value>| whole.belongs(key, &one).unwrap() && whole.belongs(key, &other).unwrap();
            assert_eq!(one.overlaps(&other), keys().any(|key| both(&key)), "{one:?} {other:?}");
        }
    }
}

#[test]
fn partitions_left_out_have_no_row_with_such_a_first_column() {
    let ends: Vec<Vec<Edge>> = ends().into_iter().step_by(4).collect();
    let parts = (10..).zip(ends.windows(2)).filter(|(_, pair)| order(&pair[0], &pair[1]).is_lt());
    let mut parts: Vec<Arc<TableDef>> = parts
        .map(|(number, pair)| part(number, Bound::Range { from: pair[0].clone(), to: pair[1].clone() }))
        .collect();
    parts.remove(2);
    parts.push(part(99, Bound::Default));
    let whole = Partitioned::new(Strategy::Range, vec![1, 2], &columns(), parts);
    let key = |value: i32| match key_value(&Value::Int4(value), &TYPES[0]).unwrap() {
        KeyValue::Key(bytes) => bytes,
        KeyValue::Null => unreachable!("a number is no NULL"),
    };
    for (lower, upper) in (-1..11).flat_map(|lower| (-1..11).map(move |upper| (lower, upper))) {
        let upper_key = key(upper);
        let between = |is_included| {
            let upper = bound::Upper { key: &upper_key, is_included };
            whole.within(Some(&key(lower)), Some(upper))
        };
        let (below, between) = (between(false), between(true));
        let equal = whole.with_first(&[KeyValue::Key(key(lower))]);
        for row in keys() {
            let Some(place) = whole.route(&row).unwrap() else { continue };
            let first = row[0].as_i64().unwrap();
            if (i64::from(lower)..=i64::from(upper)).contains(&first) {
                assert!(between.contains(&place), "{row:?} between {lower} and {upper}");
                assert!(first == i64::from(upper) || below.contains(&place), "{row:?} below {upper}");
            }
            if first == i64::from(lower) {
                assert!(equal.contains(&place), "{row:?} = {lower}");
            }
        }
        assert!(equal.len() < whole.partitions.len());
    }
}

#[test]
fn the_default_partition_is_left_out_where_the_others_have_all_values() {
    let at = |value: i32| {
        let key = key_value(&Value::Int4(value), &TYPES[0]).unwrap();
        vec![Edge::At(Datum { text: Some(value.to_string().into()), key })]
    };
    // [0, 3), [3, 5), a gap, [7, 9)
    let ranges = [(0, 3), (3, 5), (7, 9)];
    let mut parts: Vec<Arc<TableDef>> = (10..)
        .zip(ranges)
        .map(|(number, (from, to))| part(number, Bound::Range { from: at(from), to: at(to) }))
        .collect();
    parts.push(part(99, Bound::Default));
    let whole = Partitioned::new(Strategy::Range, vec![1], &columns(), parts);
    for (lower, upper) in (-2..11).flat_map(|lower| (lower..11).map(move |upper| (lower, upper))) {
        for is_included in [false, true] {
            let said =
                [(1, Said::Lower(Value::Int4(lower))), (1, Said::Upper(Value::Int4(upper), is_included))];
            let kept = whole.kept(&said);
            let last = if is_included { upper } else { upper - 1 };
            let homes: Vec<usize> =
                (lower..=last).filter_map(|value| whole.route(&[Value::Int4(value)]).unwrap()).collect();
            assert!(homes.iter().all(|place| kept.contains(place)), "{lower} to {last}: {kept:?}");
            let is_of_one = |value: i32| ranges.iter().any(|(from, to)| (*from..*to).contains(&value));
            if lower <= last {
                let all = (lower..=last).all(is_of_one);
                assert_eq!(!kept.contains(&3), all, "{lower} to {upper} {is_included}: {kept:?}");
            }
        }
    }
    // With an open end there are always values of no other partition.
    assert!(whole.kept(&[(1, Said::Lower(Value::Int4(3)))]).contains(&3));
    assert!(whole.kept(&[(1, Said::Upper(Value::Int4(3), false))]).contains(&3));
}

#[test]
fn bounds_are_read_as_they_were_written_and_other_words_are_corruption() {
    let datum = |text| Datum::of_text(text, &SqlType::Int4).unwrap();
    let bounds = [
        Bound::Default,
        Bound::List(vec![datum(Some("1")), datum(None)]),
        Bound::Hash { modulus: 8, remainder: 3 },
        Bound::Range { from: vec![edge(0), edge(0)], to: vec![edge(4), edge(9)] },
    ];
    for bound in bounds {
        assert_eq!(Bound::read(&bound.stored(), &TYPES).unwrap(), bound);
    }
    for words in
        [&[][..], &["list", "x"], &["range", "min"], &["hash", "1"], &["hash", "a", "b"], &["list", "=x"]]
    {
        let words: Vec<Arc<str>> = words.iter().map(|word| Arc::from(*word)).collect();
        assert!(Bound::read(&words, &TYPES).is_err(), "{words:?}");
    }
}
