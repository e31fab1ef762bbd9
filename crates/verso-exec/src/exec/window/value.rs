//! Functions of windows that number rows or take a value of another row.

use std::ops::Range;

use verso_types::Value;

use super::super::ExecContext;
use super::frame::{FrameSpec, Frames};
use super::partition::Partition;
use crate::error::{ExecError, Result};
use crate::functions::WindowKind;
use crate::plan::{ExprKind, TypedExpr};

/// A function that is no aggregate.
pub(super) struct ValueWindow {
    kind: WindowKind,
    /// The columns of its arguments.
    args: Range<usize>,
    /// How far `lag` or `lead` looks, where that is written as a number: rows behind the current one.
    step: Option<i64>,
}

/// Its values in a partition, from one row to the next.
pub(super) struct ValueRun {
    frames: Option<Frames>,
    /// What `first_value` has found, and where: the row may be gone.
    first: Option<(usize, Value)>,
}

impl ValueWindow {
    pub fn new(kind: WindowKind, args: Range<usize>, exprs: &[TypedExpr]) -> Self {
        let step = match exprs.get(1).map(|offset| &offset.kind) {
            None => Some(1),
            Some(ExprKind::Literal(offset)) => offset.as_i64(),
            _ => None,
        };
        let step =
            step.and_then(|step| if kind == WindowKind::Lag { step.checked_neg() } else { Some(step) });
        Self { kind, args, step }
    }

    /// Begins a partition.
    ///
    /// # Errors
    /// Those of the frame's offsets.
    pub fn begin(&self, cx: &ExecContext<'_>, frame: &FrameSpec) -> Result<ValueRun> {
        let frames = match self.looks_at_frame() {
            true => Some(Frames::new(frame, cx)?),
            false => None,
        };
        Ok(ValueRun { frames, first: None })
    }

    /// Whether the frame decides; else only partition and order do.
    fn looks_at_frame(&self) -> bool {
        matches!(self.kind, WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue)
    }

    /// Of how many rows the values are known.
    ///
    /// # Errors
    /// Those of the partition.
    pub fn known(&self, run: &ValueRun, partition: &Partition) -> Result<usize> {
        let rows = partition.len();
        if let Some(frames) = &run.frames {
            return frames.known(partition);
        }
        Ok(match self.kind {
            _ if partition.is_complete() => rows,
            WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank => rows,
            WindowKind::Lag | WindowKind::Lead => self
                .step
                .map_or(0, |step| rows.saturating_sub(usize::try_from(step.max(0)).unwrap_or(usize::MAX))),
            _ => 0,
        })
    }

    /// The first row at which it looks for `next` and the rows behind.
    pub fn kept(&self, run: &ValueRun, next: usize) -> usize {
        match (&run.frames, self.kind) {
            (Some(frames), WindowKind::FirstValue) if frames.only_grows() => frames.kept(next),
            (Some(frames), WindowKind::LastValue) if frames.only_grows() => {
                frames.kept(next).saturating_sub(1)
            }
            (Some(frames), _) => frames.kept_whole(next),
            (None, WindowKind::Lag | WindowKind::Lead) => self.step.map_or(0, |step| {
                next.saturating_sub(usize::try_from(step.saturating_neg().max(0)).unwrap_or(usize::MAX))
            }),
            (None, WindowKind::Ntile) => 0,
            _ => next,
        }
    }

    /// Pushes the values for rows that follow those of the call before.
    pub fn evaluate(
        &self,
        run: &mut ValueRun,
        cx: &ExecContext<'_>,
        (partition, rows): (&Partition, Range<usize>),
        push: &mut dyn FnMut(&Value) -> Result<()>,
    ) -> Result<()> {
        let args = Args { partition, columns: self.args.clone() };
        let all = partition.len();
        if self.kind == WindowKind::Ntile {
            return ntile(cx, &args, (all, rows), push);
        }
        for row in rows {
            if row % 4096 == 0 {
                cx.check_cancelled()?;
            }
            let value = match self.kind {
                WindowKind::RowNumber => Value::Int8(row as i64 + 1),
                WindowKind::Rank => Value::Int8(partition.first_peer(row)? as i64 + 1),
                WindowKind::DenseRank => Value::Int8(partition.group(row)? as i64 + 1),
                WindowKind::PercentRank if all <= 1 => Value::Float8(0.0),
                WindowKind::PercentRank => {
                    Value::Float8(partition.first_peer(row)? as f64 / (all - 1) as f64)
                }
                WindowKind::CumeDist => Value::Float8(partition.peers(row)?.end as f64 / all as f64),
                WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue => {
                    self.of_frame(run, cx, &args, row)?
                }
                _ => neighbour(self.kind == WindowKind::Lead, &args, row, all)?,
            };
            push(&value)?;
        }
        Ok(())
    }

    fn of_frame(
        &self,
        run: &mut ValueRun,
        cx: &ExecContext<'_>,
        args: &Args<'_>,
        row: usize,
    ) -> Result<Value> {
        let Some(frames) = &mut run.frames else {
            return Err(ExecError::raised("XX000", "a function of a frame without one"));
        };
        let frame = frames.of(cx, args.partition, row)?;
        let found = match self.kind {
            WindowKind::FirstValue => frame.first(),
            WindowKind::LastValue => frame.last(),
            _ => nth(args, row)?.and_then(|n| frame.nth(n)),
        };
        let Some(found) = found else { return Ok(Value::Null) };
        if self.kind != WindowKind::FirstValue {
            return args.value(0, found);
        }
        if run.first.as_ref().is_none_or(|(at, _)| *at != found) {
            run.first = Some((found, args.value(0, found)?));
        }
        Ok(run.first.as_ref().map_or(Value::Null, |(_, value)| value.clone()))
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
    (all, rows): (usize, Range<usize>),
    push: &mut dyn FnMut(&Value) -> Result<()>,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let buckets = match args.value(0, 0)?.as_i64() {
        None => return rows.into_iter().try_for_each(|_| push(&Value::Null)),
        Some(buckets) if buckets > 0 => buckets as usize,
        Some(_) => return Err(ExecError::raised("22014", "argument of ntile must be greater than zero")),
    };
    let (size, larger) = (all / buckets, all % buckets);
    for row in rows {
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
