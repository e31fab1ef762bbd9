//! Functions over windows, computed as the standard says it, from the rows of the whole partition for each row.

use std::ops::Range;

use super::*;
use crate::functions::WindowKind;
use crate::plan::{FrameBound, FrameExclusion, FrameUnit, WindowCall, WindowFrame, WindowFunction};

type Row = Vec<Value>;

fn call(function: WindowFunction, args: Vec<TypedExpr>, frame: WindowFrame, ty: SqlType) -> WindowCall {
    WindowCall { function, args, filter: None, frame, ty, name: "w".into(), fold: None }
}

fn frame(unit: FrameUnit, start: FrameBound, end: FrameBound, exclude: FrameExclusion) -> WindowFrame {
    WindowFrame { unit, start, end, exclude }
}

fn rows(start: FrameBound, end: FrameBound) -> WindowFrame {
    frame(FrameUnit::Rows, start, end, FrameExclusion::NoOthers)
}

fn number(value: i64) -> TypedExpr {
    literal(Value::Int8(value))
}

/// Functions of each kind over a table of `id`, `grp`, `name`, ordered by `name`.
pub(super) fn calls(table: &TableDef) -> Vec<WindowCall> {
    use FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
    let own = |kind, args, frame, ty| call(WindowFunction::Own(kind), args, frame, ty);
    let aggregate = |name: &str, arg: usize, frame| {
        let plain = aggregate(name, vec![of(table, arg)]);
        call(WindowFunction::Aggregate(plain.function), plain.args, frame, plain.ty)
    };
    let standard = WindowFrame::standard;
    let around = frame(FrameUnit::Groups, Preceding(number(2)), Following(number(1)), FrameExclusion::Ties);
    let mut filtered = aggregate("count", 1, standard());
    filtered.filter = Some(crate::testing::call("<", vec![of(table, 1), lit(100)]));
    let fifth = literal(Value::Int4(5));
    vec![
        own(WindowKind::RowNumber, vec![], standard(), SqlType::Int8),
        own(WindowKind::Rank, vec![], standard(), SqlType::Int8),
        own(WindowKind::DenseRank, vec![], standard(), SqlType::Int8),
        own(WindowKind::Lag, vec![of(table, 2), fifth, literal(Value::text("?"))], standard(), SqlType::Text),
        own(
            WindowKind::NthValue,
            vec![of(table, 0), literal(Value::Int4(3))],
            rows(Preceding(number(4)), Following(number(3))),
            SqlType::Int4,
        ),
        own(WindowKind::LastValue, vec![of(table, 0)], standard(), SqlType::Int4),
        filtered,
        aggregate("sum", 0, rows(Preceding(number(10)), Following(number(2)))),
        aggregate("max", 0, rows(Preceding(number(9)), CurrentRow)),
        aggregate("array_agg", 0, rows(Preceding(number(1)), CurrentRow)),
        aggregate("sum", 0, around),
        aggregate("sum", 0, rows(UnboundedPreceding, UnboundedFollowing)),
    ]
}

/// What they yield for rows in their order.
pub(super) fn expected(sorted: &[Row], partition: Option<usize>) -> Vec<Row> {
    let mut result = Vec::new();
    let mut start = 0;
    while start < sorted.len() {
        let same = |row: &Row| partition.is_none_or(|column| row[column] == sorted[start][column]);
        let end = sorted[start..].iter().position(|row| !same(row)).map_or(sorted.len(), |n| start + n);
        result.extend(of_partition(&sorted[start..end]));
        start = end;
    }
    result
}

fn of_partition(rows: &[Row]) -> Vec<Row> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if rows[group.start][2] == row[2] => group.end = at + 1,
            _ => groups.push(at..at + 1),
        }
    }
    let id = |at: usize| rows[at][0].as_i64().expect("an id");
    let sum = |ids: &mut dyn Iterator<Item = usize>| {
        let ids: Vec<i64> = ids.map(id).collect();
        if ids.is_empty() { Value::Null } else { Value::Int8(ids.iter().sum()) }
    };
    let each = |at: usize| {
        let group = groups.iter().position(|group| group.contains(&at)).expect("a group");
        let clip = |before: usize, behind: usize| at.saturating_sub(before)..rows.len().min(at + behind + 1);
        let peers = groups[group].clone();
        let around = groups[group.saturating_sub(2)].start..groups[(group + 1).min(groups.len() - 1)].end;
        let low = |row: &&Row| row[1].as_i64().is_some_and(|grp| grp < 100);
        let last_two: Vec<Value> = clip(1, 0).map(|at| rows[at][0].clone()).collect();
        let computed = [
            Value::Int8(at as i64 + 1),
            Value::Int8(peers.start as i64 + 1),
            Value::Int8(group as i64 + 1),
            at.checked_sub(5).map_or(Value::text("?"), |at| rows[at][2].clone()),
            clip(4, 3).nth(2).map_or(Value::Null, |at| rows[at][0].clone()),
            rows[peers.end - 1][0].clone(),
            Value::Int8(rows[..peers.end].iter().filter(low).count() as i64),
            sum(&mut clip(10, 2)),
            clip(9, 0).map(id).max().map_or(Value::Null, |id| int(id as i32)),
            Value::Array(last_two.into()),
            sum(&mut around.filter(|other| *other == at || !peers.contains(other))),
            sum(&mut (0..rows.len())),
        ];
        [&rows[at][..], &computed].concat()
    };
    (0..rows.len()).map(each).collect()
}
