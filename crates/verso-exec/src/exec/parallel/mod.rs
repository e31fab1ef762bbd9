//! Parts of an operator's input on several threads.
//!
//! ```text
//! statement's thread: open ─► shareable? ─► split ─► run ─────────────► merge
//!                                                     │ part 0: here
//!                                                     └ parts 1…: threads of the worker pool
//! ```
//!
//! An operator that reads all of its input before it yields a row (an aggregate, a sort, the build side of a join) may read it
//! with several workers. Its input must be *shareable*: scans of tables are, which hand out pages to their parts from one
//! counter, and so are the filters, projections and probes of joins above them.
//!
//! W1. Parts belong to one opened operator and one snapshot. Together they yield its rows, each row once, in any order.
//! W2. Only expressions that need nothing of the session are evaluated by workers ([`TypedExpr::is_parallel_safe`]
//!     (crate::plan::TypedExpr::is_parallel_safe)); an operator with any other one is not shareable.
//! W3. The caller works, too, and returns when all workers have ended. A failure of one stops the others at their next batch;
//!     a panic becomes an error of the statement.
//! W4. What workers hold is charged to the statement's account; an operator of one may hold its share of the work memory.
//! W5. An input of few pages is read by one thread: handing out work takes longer than a short scan.

mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::sync::Mutex;
use verso_storage::workers::{Part, Stop};
use verso_storage::{Work, work};
use verso_types::Batch;

use super::ExecContext;
use super::operator::Operator;
use super::probe::WorkerMeasures;
use crate::error::{ExecError, Result};
use worker::Luggage;

/// As many parts of an opened input as there are workers for it; none where one thread is to read it.
pub(super) fn split(
    cx: &ExecContext<'_>,
    input: &mut dyn Operator,
) -> Result<Option<Vec<Box<dyn Operator>>>> {
    let Some(pages) = input.shareable() else { return Ok(None) };
    let workers = cx.services.workers.for_pages(pages);
    if workers < 2 || cx.is_worker() {
        return Ok(None);
    }
    input.split(cx, workers as usize).map(Some)
}

/// The next rows of parts that workers have left, one after the other. False at the end of the last one.
pub(super) fn next_of(
    cx: &ExecContext<'_>,
    rest: &mut Vec<Box<dyn Operator>>,
    out: &mut Batch,
) -> Result<bool> {
    while let Some(input) = rest.last_mut() {
        if input.next(cx, out)? {
            return Ok(true);
        }
        input.close();
        rest.pop();
    }
    Ok(false)
}

/// Runs `work` with each of the parts at the same time; what they yield, in the order of the parts.
///
/// # Errors
/// Of the part that failed first.
pub(super) fn run<P: Send + 'static, T: Send + 'static>(
    cx: &ExecContext<'_>,
    parts: Vec<P>,
    work: impl Fn(&ExecContext<'_>, P) -> Result<T> + Send + Sync + 'static,
) -> Result<Vec<T>> {
    let crew = cx.services.workers.crew(parts.len() as u32);
    let luggage = Luggage::of(cx, parts.len());
    let stop = AtomicBool::new(false);
    let failed = Arc::new(Mutex::new(None));
    let waiting = Mutex::new(parts.into_iter().enumerate().collect::<Vec<_>>());
    let before = work::done();
    let ended = {
        let failed = Arc::clone(&failed);
        // A crew may be smaller than wanted: a worker that has ended a part takes the next one.
        crew.run(Stop::All, &mut || Ok(()), move |_: &mut Part<'_>| {
            let mut done = Vec::new();
            while let Some((number, part)) = next(&waiting) {
                let start = work::done();
                let outcome = catch_unwind(AssertUnwindSafe(|| luggage.unpack(&stop, |cx| work(cx, part))));
                match outcome.unwrap_or_else(|panic| Err(bug(&*panic))) {
                    Ok((value, measures)) => {
                        done.push(Done { number, value, measures, work: work::done() - start });
                    }
                    Err(error) => {
                        if !stop.swap(true, Ordering::Relaxed) {
                            *failed.lock() = Some(error);
                        }
                        break;
                    }
                }
            }
            Ok(done)
        })?
    };
    if let Some(error) = failed.lock().take() {
        return Err(error);
    }
    let mut done: Vec<Done<T>> = ended.into_iter().flatten().collect();
    done.sort_by_key(|part| part.number);
    let mut sum = Work::default();
    done.iter().for_each(|part| sum += part.work);
    // What the caller has done itself is counted already.
    work::take_over(sum - (work::done() - before));
    let (mut values, mut measures) = (Vec::with_capacity(done.len()), Vec::with_capacity(done.len()));
    for part in done {
        values.push(part.value);
        measures.push(part.measures);
    }
    if let Some(probes) = cx.probes {
        probes.take_over(measures);
    }
    Ok(values)
}

/// A part that is done.
struct Done<T> {
    number: usize,
    value: T,
    measures: WorkerMeasures,
    work: Work,
}

fn next<P>(waiting: &Mutex<Vec<(usize, P)>>) -> Option<(usize, P)> {
    waiting.lock().pop()
}

#[cold]
fn bug(panic: &(dyn std::any::Any + Send)) -> ExecError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    ExecError::raised("XX000", format!("the statement failed by a bug of the server: {text}"))
}
