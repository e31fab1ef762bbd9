//! Functions of windows that number rows or take a value of another row.

use std::ops::Range;

use verso_types::Value;

use super::super::ExecContext;
use super::frame::Frames;
use super::partition::Partition;
use crate::error::{ExecError, Result};
use crate::functions::WindowKind;

/// A function that is no aggregate.
pub(super) struct ValueWindow {
    kind: WindowKind,
    /// The columns of its arguments.
    args: Range<usize>,
}

impl ValueWindow {
    pub fn new(kind: WindowKind, args: Range<usize>) -> Self {
        Self { kind, args }
    }

    /// Whether the frame decides; else only partition and order do.
    pub fn looks_at_frame(&self) -> bool {
        matches!(self.kind, WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue)
    }

    /// Pushes the value for each row of the partition.
    pub fn evaluate(
        &self,
        cx: &ExecContext<'_>,
        partition: &Partition,
        frames: Option<Frames<'_>>,
        push: &mut dyn FnMut(&Value) -> Result<()>,
    ) -> Result<()> {
        let args = Args { partition, columns: self.args.clone() };
        let rows = partition.len();
        match self.kind {
            WindowKind::Ntile => return ntile(cx, &args, rows, push),
            WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue => {
                let Some(mut frames) = frames else {
                    return Err(ExecError::raised("XX000", "a function of a frame without one"));
                };
                for row in 0..rows {
                    if row % 4096 == 0 {
                        cx.check_cancelled()?;
                    }
                    let frame = frames.of(cx, row)?;
                    let found = match self.kind {
                        WindowKind::FirstValue => frame.first(),
                        WindowKind::LastValue => frame.last(),
                        _ => nth(&args, row)?.and_then(|n| frame.nth(n)),
                    };
                    push(&found.map_or(Ok(Value::Null), |found| args.value(0, found))?)?;
                }
                return Ok(());
            }
            _ => {}
        }
        for row in 0..rows {
            if row % 4096 == 0 {
                cx.check_cancelled()?;
            }
            let peers = || partition.peers(row);
            let value = match self.kind {
                WindowKind::RowNumber => Value::Int8(row as i64 + 1),
                WindowKind::Rank => Value::Int8(peers()?.start as i64 + 1),
                WindowKind::DenseRank => Value::Int8(partition.group(row)? as i64 + 1),
                WindowKind::PercentRank if rows <= 1 => Value::Float8(0.0),
                WindowKind::PercentRank => Value::Float8(peers()?.start as f64 / (rows - 1) as f64),
                WindowKind::CumeDist => Value::Float8(peers()?.end as f64 / rows as f64),
                _ => neighbour(self.kind == WindowKind::Lead, &args, row, rows)?,
            };
            push(&value)?;
        }
        Ok(())
    }
}

/// The arguments for each row of the partition.
struct Args<'p> {
    partition: &'p Partition,
    columns: Range<usize>,
}

impl Args<'_> {
    fn len(&self) -> usize {
        self.columns.len()
    }

    fn value(&self, arg: usize, row: usize) -> Result<Value> {
        self.partition.value(self.columns.start + arg, row)
    }
}

/// `lag` and `lead`: the value so many rows before or behind; NULL for a NULL offset.
fn neighbour(lead: bool, args: &Args<'_>, row: usize, rows: usize) -> Result<Value> {
    let offset = match args.len() {
        1 => 1,
        _ => match args.value(1, row)?.as_i64() {
            Some(offset) => offset,
            None => return Ok(Value::Null),
        },
    };
    let at = row as i64 + if lead { offset } else { -offset };
    match usize::try_from(at) {
        Ok(at) if at < rows => args.value(0, at),
        _ if args.len() == 3 => args.value(2, row),
        _ => Ok(Value::Null),
    }
}

/// The number of `nth_value`, from 0; none for NULL.
fn nth(args: &Args<'_>, row: usize) -> Result<Option<usize>> {
    match args.value(1, row)?.as_i64() {
        None => Ok(None),
        Some(n) if n > 0 => Ok(usize::try_from(n - 1).ok()),
        Some(_) => Err(ExecError::raised("22016", "argument of nth_value must be greater than zero")),
    }
}

/// `ntile`: the first buckets have one row more where the rows do not divide. Its argument is that of the first row.
fn ntile(
    cx: &ExecContext<'_>,
    args: &Args<'_>,
    rows: usize,
    push: &mut dyn FnMut(&Value) -> Result<()>,
) -> Result<()> {
    if rows == 0 {
        return Ok(());
    }
    let buckets = match args.value(0, 0)?.as_i64() {
        None => return (0..rows).try_for_each(|_| push(&Value::Null)),
        Some(buckets) if buckets > 0 => buckets as usize,
        Some(_) => return Err(ExecError::raised("22014", "argument of ntile must be greater than zero")),
    };
    let (size, larger) = (rows / buckets, rows % buckets);
    for row in 0..rows {
        if row % 4096 == 0 {
            cx.check_cancelled()?;
        }
        let behind = row.checked_sub(larger * (size + 1));
        let bucket = match behind {
            None => row / (size + 1),
            Some(behind) => larger + behind.checked_div(size).unwrap_or(0),
        };
        push(&Value::Int4(bucket as i32 + 1))?;
    }
    Ok(())
}
