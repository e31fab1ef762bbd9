//! The driver: takes an engine through a variant, step by step, and verifies what it left.

use verso_env::Env;

use crate::child::ChildTask;
use crate::e1::Variant;
use crate::e1::expected::Checker;
use crate::e1::subject::Subject;
use crate::memory::Sampler;
use crate::results::median;
use crate::{BenchError, Measured};

/// Scans before the first pass, and after the end; the median counts.
const SCANS: usize = 9;

/// Runs one variant on an open database.
pub fn measure(
    env: &Env,
    subject: &mut dyn Subject,
    task: &ChildTask,
    variant: Variant,
) -> Result<Measured, BenchError> {
    let mut measured = Measured::default();
    subject.prepare()?;
    measured.scan_before_ms = Some(median(scans(env, subject, task.rows, 0)?));

    let counters_before = subject.counters()?;
    let probe = subject.memory_probe();
    let memory_before = probe.as_ref().map(|probe| probe());
    let sampler = probe.as_ref().map(|probe| Sampler::start(env, probe.clone()));

    subject.begin(variant)?;
    let mut writes_before = counters_before.map(|counters| counters.page_writes);
    let mut memory = memory_before;
    for pass in 1..=task.passes {
        if variant == Variant::Savepoints && pass > 1 {
            subject.savepoint(&format!("pass_{pass}"))?;
        }
        measured.pass_ms.push(timed(env, || subject.pass())?);
        if let (Some(before), Some(now)) = (writes_before.as_mut(), subject.counters()?) {
            measured.writes.push(now.page_writes - *before);
            *before = now.page_writes;
        }
        if let (Some(probe), Some(before)) = (&probe, memory.as_mut()) {
            let now = probe();
            measured.mem_delta_bytes.push(now.wrapping_sub(*before).cast_signed());
            *before = now;
        }
    }
    let passes_kept = if variant.rolls_back() {
        measured.rollback_ms = Some(timed(env, || subject.rollback())?);
        0
    } else {
        measured.commit_ms = Some(timed(env, || subject.commit())?);
        task.passes
    };
    let scans = scans(env, subject, task.rows, passes_kept)?;
    measured.scan_first_ms = scans.first().copied();
    measured.scan_after_ms = Some(median(scans.iter().copied()));

    if let Some(peak) = sampler.map(Sampler::finish) {
        measured.mem_peak_bytes = Some(peak);
        measured.mem_growth_bytes = memory_before.map(|before| peak.saturating_sub(before));
    }
    if let (Some(before), Some(after)) = (counters_before, subject.counters()?) {
        measured.redo_bytes = Some(after.redo_bytes - before.redo_bytes);
        measured.file_bytes_before = Some(before.file_bytes);
        measured.file_bytes_after = Some(after.file_bytes);
    }
    verify(subject, task.rows, passes_kept)?;
    if variant == Variant::Default && subject.again(task)? {
        verify(subject, task.rows, task.passes)?;
        measured.file_bytes_again = subject.counters()?.map(|counters| counters.file_bytes);
    }
    Ok(measured)
}

fn timed(env: &Env, work: impl FnOnce() -> Result<(), BenchError>) -> Result<f64, BenchError> {
    let start = env.clock.monotonic_nanos();
    work()?;
    Ok((env.clock.monotonic_nanos() - start) as f64 / 1e6)
}

/// Milliseconds of scans in a row.
fn scans(env: &Env, subject: &mut dyn Subject, rows: u64, passes: u32) -> Result<Vec<f64>, BenchError> {
    (0..SCANS).map(|_| checked_scan(env, subject, rows, passes)).collect()
}

fn checked_scan(env: &Env, subject: &mut dyn Subject, rows: u64, passes: u32) -> Result<f64, BenchError> {
    let mut answer = (0, 0.0);
    let elapsed = timed(env, || subject.scan().map(|found| answer = found))?;
    let expected = (rows, Checker::sum_qrt(rows, passes));
    if answer != expected {
        let message = format!("the scan after {passes} passes gave {answer:?}, expected {expected:?}");
        return Err(BenchError::Wrong { engine: subject.name(), message });
    }
    Ok(elapsed)
}

fn verify(subject: &mut dyn Subject, rows: u64, passes: u32) -> Result<(), BenchError> {
    let mut checker = Checker::new(rows, passes);
    subject.rows(&mut |row| checker.row(row))?;
    checker.finish().map_err(|message| BenchError::Wrong { engine: subject.name(), message })
}
