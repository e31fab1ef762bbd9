//! One driver takes every store through the same steps.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use verso_env::Env;
use verso_env::process::processor_nanos;

use super::{KeysFigures, KeysTask, Work, value_of};
use crate::BenchError;
use crate::results::median;

/// Keys of the hot set.
const HOT_KEYS: u64 = 10_000;
/// Rows updated again and again beside a snapshot.
const HOT_ROWS: u64 = 100;
/// Times that one thread inserts and then two do.
const PAIRS: u64 = 5;
/// Rows that a thread takes of those it shares with another.
const BLOCK: u64 = 1_000;
/// Lookups between two looks at the clock.
const ROUND: u64 = 100;

/// A database with the table.
pub trait Database: Sync {
    /// A connection of a thread.
    type Client: Client;
    /// Connects.
    fn connect(&self) -> Result<Self::Client, BenchError>;
    /// Whether two connections can write at once.
    const WRITERS: bool;
    /// As in errors.
    const NAME: &'static str;
}

/// A connection, its statements prepared.
pub trait Client {
    /// BEGIN.
    fn begin(&mut self) -> Result<(), BenchError>;
    /// BEGIN, with one snapshot for all statements.
    fn begin_snapshot(&mut self) -> Result<(), BenchError>;
    /// COMMIT.
    fn commit(&mut self) -> Result<(), BenchError>;
    /// What was written before is on its way to the disk no longer: what comes next does not pay for it.
    fn checkpoint(&mut self) -> Result<(), BenchError>;
    /// Adds the row of that key.
    fn insert(&mut self, id: u64) -> Result<(), BenchError>;
    /// Adds 1 to the value of that key; how many rows there were.
    fn update(&mut self, id: u64) -> Result<u64, BenchError>;
    /// The value of that key.
    fn find(&mut self, id: u64) -> Result<Option<i64>, BenchError>;
    /// Number of rows and sum of their values.
    fn sums(&mut self) -> Result<(i64, i64), BenchError>;
}

/// The workload.
pub fn work<D: Database>(env: &Env, task: &KeysTask, database: &D) -> Result<KeysFigures, BenchError> {
    match task.work {
        Work::Point => point(env, task, database),
        Work::Insert => insert(env, task, database),
    }
}

fn wrong(engine: &'static str, message: String) -> BenchError {
    BenchError::Wrong { engine, message }
}

/// The same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}

fn rate(count: u64, nanos: u64) -> f64 {
    count as f64 * 1e9 / nanos.max(1) as f64
}

fn fill<D: Database>(client: &mut D::Client, ids: std::ops::Range<u64>) -> Result<(), BenchError> {
    client.begin()?;
    for id in ids {
        client.insert(id)?;
    }
    client.commit()
}

/// Inserts from the key `first` on, as many rows as are left in blocks: a thread whose processor is slower takes fewer.
fn fill_shared<D: Database>(client: &mut D::Client, first: u64, left: &AtomicU64) -> Result<(), BenchError> {
    let mut id = first;
    client.begin()?;
    loop {
        let taken = left.update(Ordering::Relaxed, Ordering::Relaxed, |left| left.saturating_sub(BLOCK));
        for next in id..id + taken.min(BLOCK) {
            client.insert(next)?;
        }
        id += taken.min(BLOCK);
        if taken <= BLOCK {
            return client.commit();
        }
    }
}

fn check<D: Database>(client: &mut D::Client, rows: u64, more: u64) -> Result<(), BenchError> {
    let expected: i64 = (0..rows).map(value_of).sum();
    let expected = (rows.cast_signed(), expected + more.cast_signed());
    let found = client.sums()?;
    if found == expected {
        return Ok(());
    }
    Err(wrong(D::NAME, format!("count and sum are {found:?}, not {expected:?}")))
}

// ── lookups ──────────────────────────────────────────────────────────────────────────────────────────────────────────

fn point<D: Database>(env: &Env, task: &KeysTask, database: &D) -> Result<KeysFigures, BenchError> {
    let mut client = database.connect()?;
    fill::<D>(&mut client, 0..task.rows)?;
    check::<D>(&mut client, task.rows, 0)?;
    let hot = HOT_KEYS.min(task.rows);
    let step = task.rows / hot;
    let point_hot_us = lookups::<D>(env, &mut client, task.reads, &mut |numbers| numbers.below(hot) * step)?;
    let point_uniform_us =
        lookups::<D>(env, &mut client, task.reads, &mut |numbers| numbers.below(task.rows))?;
    let one = threads_of_lookups(env, task, database, 1)?;
    let two = threads_of_lookups(env, task, database, 2)?;
    Ok(KeysFigures {
        point_hot_us: Some(point_hot_us),
        point_uniform_us: Some(point_uniform_us),
        scaling_2_threads: Some(two / one),
        ..KeysFigures::default()
    })
}

/// The median time of one lookup in microseconds, behind a first run that is not counted.
fn lookups<D: Database>(
    env: &Env,
    client: &mut D::Client,
    reads: u64,
    key: &mut dyn FnMut(&mut Numbers) -> u64,
) -> Result<f64, BenchError> {
    let mut numbers = Numbers(0x5eed);
    let mut rounds = Vec::new();
    let warm = reads / 2 / ROUND;
    for round in 0..(reads / ROUND).max(1) + warm {
        let keys: Vec<u64> = (0..ROUND).map(|_| key(&mut numbers)).collect();
        let start = env.clock.monotonic_nanos();
        let mut sum = 0_i64;
        for id in &keys {
            let found = client.find(*id)?;
            sum += found.ok_or_else(|| wrong(D::NAME, format!("key {id} is not there")))?;
        }
        let nanos = env.clock.monotonic_nanos() - start;
        let expected: i64 = keys.iter().map(|id| value_of(*id)).sum();
        if sum != expected {
            return Err(wrong(D::NAME, format!("a hundred values sum up to {sum}, not {expected}")));
        }
        if round >= warm {
            rounds.push(nanos);
        }
    }
    rounds.sort_unstable();
    Ok(rounds[rounds.len() / 2] as f64 / ROUND as f64 / 1e3)
}

/// Lookups a second of so many threads together.
fn threads_of_lookups<D: Database>(
    env: &Env,
    task: &KeysTask,
    database: &D,
    threads: u64,
) -> Result<f64, BenchError> {
    together(env, threads, task.reads, |thread| {
        let mut client = database.connect()?;
        let mut numbers = Numbers(thread + 1);
        Ok(move || {
            for _ in 0..task.reads {
                let id = numbers.below(task.rows);
                if client.find(id)? != Some(value_of(id)) {
                    return Err(wrong(D::NAME, format!("the value of key {id} is wrong")));
                }
            }
            Ok(())
        })
    })
}

/// Runs the same work in several threads at once: pieces a second.
fn together<W, M>(env: &Env, threads: u64, pieces: u64, make: M) -> Result<f64, BenchError>
where
    M: Fn(u64) -> Result<W, BenchError> + Sync,
    W: FnOnce() -> Result<(), BenchError>,
{
    let ready = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let (slowest, results) = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let (ready, failed, make) = (&ready, &failed, &make);
                scope.spawn(move || {
                    let work = make(thread);
                    ready.fetch_add(1, Ordering::AcqRel);
                    let work = work.inspect_err(|_| failed.store(true, Ordering::Release))?;
                    while ready.load(Ordering::Acquire) < threads && !failed.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                    let start = env.clock.monotonic_nanos();
                    work()?;
                    Ok(env.clock.monotonic_nanos() - start)
                })
            })
            .collect();
        let results: Vec<Result<u64, BenchError>> = handles
            .into_iter()
            .map(|handle| {
                handle.join().unwrap_or_else(|_| Err(BenchError::Usage("a thread panicked".into())))
            })
            .collect();
        (results.iter().flatten().copied().max().unwrap_or(1), results)
    });
    results.into_iter().try_for_each(|result| result.map(drop))?;
    Ok(rate(pieces * threads, slowest))
}

// ── inserts and updates ──────────────────────────────────────────────────────────────────────────────────────────────

fn insert<D: Database>(env: &Env, task: &KeysTask, database: &D) -> Result<KeysFigures, BenchError> {
    let mut client = database.connect()?;
    let rows = task.rows;
    let start = env.clock.monotonic_nanos();
    fill::<D>(&mut client, 0..rows)?;
    let insert_rows_per_s = rate(rows, env.clock.monotonic_nanos() - start);
    check::<D>(&mut client, rows, 0)?;

    let updates = (rows / 2).max(1);
    let mut numbers = Numbers(0x5eed);
    client.checkpoint()?;
    let start = env.clock.monotonic_nanos();
    client.begin()?;
    for _ in 0..updates {
        update::<D>(&mut client, numbers.below(rows))?;
    }
    client.commit()?;
    let update_rows_per_s = rate(updates, env.clock.monotonic_nanos() - start);
    check::<D>(&mut client, rows, updates)?;

    let mut figures = KeysFigures {
        insert_rows_per_s: Some(insert_rows_per_s),
        update_rows_per_s: Some(update_rows_per_s),
        ..KeysFigures::default()
    };
    if D::WRITERS {
        let share = rows / 2;
        let inserts = |threads: u64, ranges: u64| {
            let left = AtomicU64::new(share * threads);
            together(env, threads, share, |thread| {
                let mut client = database.connect()?;
                // Far apart, so that the threads meet where threads meet that have nothing to do with each other.
                let first = rows * 4 * (ranges + thread + 1);
                let left = &left;
                Ok(move || fill_shared::<D>(&mut client, first, left))
            })
        };
        let (mut ratios, mut busy) = (Vec::new(), Vec::new());
        for pair in 0..PAIRS {
            client.checkpoint()?;
            let (used, start) = (processor_nanos(), env.clock.monotonic_nanos());
            let one = inserts(1, pair * 3)?;
            if let Some((before, after)) = used.zip(processor_nanos()) {
                let nanos = env.clock.monotonic_nanos() - start;
                busy.push((after - before) as f64 / nanos.max(1) as f64);
            }
            client.checkpoint()?;
            let two = inserts(2, pair * 3 + 1)?;
            ratios.push(two / one);
        }
        figures.scaling_2_threads = Some(median(ratios));
        figures.processors_1_thread = (!busy.is_empty()).then(|| median(busy));
    }
    if task.snapshot_seconds > 0 && D::WRITERS {
        client.checkpoint()?;
        figures.snapshot_slowdown = Some(snapshot(env, task, database)?);
    }
    Ok(figures)
}

fn update<D: Database>(client: &mut D::Client, id: u64) -> Result<(), BenchError> {
    match client.update(id)? {
        1 => Ok(()),
        count => Err(wrong(D::NAME, format!("updating key {id} changed {count} rows"))),
    }
}

/// Updates of hot rows with a snapshot held, against the same without: 0.1 is a tenth slower.
fn snapshot<D: Database>(env: &Env, task: &KeysTask, database: &D) -> Result<f64, BenchError> {
    let mut writer = database.connect()?;
    let mut reader = database.connect()?;
    let free = hot_updates::<D>(env, &mut writer, task.snapshot_seconds)?;
    reader.begin_snapshot()?;
    let before: Vec<Option<i64>> = (0..HOT_ROWS).map(|id| reader.find(id)).collect::<Result<_, _>>()?;
    let held = hot_updates::<D>(env, &mut writer, task.snapshot_seconds)?;
    let after: Vec<Option<i64>> = (0..HOT_ROWS).map(|id| reader.find(id)).collect::<Result<_, _>>()?;
    reader.commit()?;
    if before != after {
        return Err(wrong(D::NAME, "a snapshot saw later changes".into()));
    }
    Ok(1.0 - held / free)
}

/// Updates a second, a transaction for every thousand.
fn hot_updates<D: Database>(env: &Env, client: &mut D::Client, seconds: u64) -> Result<f64, BenchError> {
    let start = env.clock.monotonic_nanos();
    let mut count = 0;
    let mut numbers = Numbers(7);
    loop {
        client.begin()?;
        for _ in 0..1_000 {
            update::<D>(client, numbers.below(HOT_ROWS))?;
        }
        client.commit()?;
        count += 1_000;
        let nanos = env.clock.monotonic_nanos() - start;
        if nanos >= seconds * 1_000_000_000 {
            return Ok(rate(count, nanos));
        }
    }
}
