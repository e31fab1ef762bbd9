//! Fills the tables: warehouses in parallel, then the keys.

use std::sync::atomic::{AtomicU32, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use verso_env::Env;

use super::session::Target;
use super::{MICROS_2000, rows, schema};
use crate::BenchError;

/// Makes the tables anew and fills them; gives the seconds it took.
pub(crate) fn load<T: Target>(
    env: &Env,
    target: &T,
    warehouses: u32,
    workers: u32,
    seed: u64,
) -> Result<f64, BenchError> {
    let started = env.clock.monotonic_nanos();
    let now = env.clock.unix_micros() - MICROS_2000;
    target.script(&schema::drop_tables())?;
    for statement in schema::CREATE.split_inclusive(';').filter(|text| !text.trim().is_empty()) {
        target.script(statement)?;
    }
    // The catalogue, the warehouses, the keys.
    let steps = 1 + u64::from(warehouses) + schema::KEYS.len() as u64;
    let bar = ProgressBar::new(steps).with_prefix(target.name().to_owned());
    if let Ok(style) = ProgressStyle::with_template("{prefix}: loading {wide_bar} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    let next = AtomicU32::new(0);
    let work = || -> Result<(), BenchError> {
        loop {
            let warehouse = next.fetch_add(1, Ordering::Relaxed);
            match warehouse {
                0 => target.load(&mut |sink| rows::items(seed, sink))?,
                _ if warehouse > warehouses => return Ok(()),
                _ => target.load(&mut |sink| rows::warehouse(seed, warehouse, now, sink))?,
            }
            bar.inc(1);
        }
    };
    in_parallel(workers, &work)?;
    for statement in schema::KEYS {
        target.script(statement)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let seconds = env.clock.monotonic_nanos().saturating_sub(started) as f64 / 1e9;
    // What was learnt of tables half full would plan the run.
    for table in schema::TABLES {
        target.script(&format!("ANALYZE {table}"))?;
    }
    Ok(seconds)
}

/// Runs `work` on so many threads, each until it has no more.
fn in_parallel(workers: u32, work: &(dyn Fn() -> Result<(), BenchError> + Sync)) -> Result<(), BenchError> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            let panicked =
                |_| BenchError::Engine { engine: "driver", message: "a loader panicked".to_owned() };
            thread.join().map_err(panicked)?
        })
    })
}
