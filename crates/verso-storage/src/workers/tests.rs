use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use verso_env::Env;
use verso_env::sync::Mutex;

use super::*;
use crate::StorageError;

fn go_on() -> impl FnMut() -> Result<(), StorageError> {
    || Ok(())
}

#[test]
fn w1_every_page_is_given_out_once_and_the_last_pieces_are_small() {
    for (end, workers) in [(0, 1), (1, 4), (5000, 1), (5000, 2), (100_003, 7)] {
        let ranges = Ranges::new(end, workers);
        let (mut next, mut last) = (0, u64::MAX);
        while let Some(range) = ranges.take() {
            assert_eq!(range.start, next);
            (next, last) = (range.end, range.end - range.start);
        }
        assert_eq!(next, end);
        assert!(workers == 1 || end == 0 || last == 1, "{last}");
    }
}

/// In simulated schedules: all parts are done once, whoever does them, and of several errors the first counts.
#[test]
fn w2_parts_are_done_whatever_the_pool_has_and_the_first_error_counts() {
    for seed in verso_sim::seeds(40) {
        let world = verso_sim::World::new(seed);
        world.run(|env: &Env| {
            let pool = WorkerPool::new(env.clone());
            pool.configure((seed % 4) as u32, Duration::from_secs(60));
            let listed = pool.begin("TEST", 7, None);
            let crew = pool.gather(listed.job(), 4);
            assert_eq!(crew.size() as u64, 1 + (seed % 4).min(3));
            let ranges = Arc::new(Ranges::new(100, crew.size()));
            let seen = Arc::new(Mutex::new(Vec::new()));
            let (its, to) = (Arc::clone(&ranges), Arc::clone(&seen));
            let done = crew.run(Stop::All, &mut go_on(), move |part| {
                while let Some(range) = its.take() {
                    part.go_on()?;
                    to.lock().extend(range);
                }
                Ok(part.number)
            });
            assert_eq!(done.unwrap(), (0..crew.size()).collect::<Vec<_>>());
            let mut seen = std::mem::take(&mut *seen.lock());
            seen.sort_unstable();
            assert_eq!(seen, (0..100).collect::<Vec<u64>>());
            // Each part fails, the last ones first: that of part 0 is told.
            let late = Arc::new(AtomicU64::new(crew.size() as u64 - 1));
            let error = crew.run(Stop::Behind, &mut go_on(), move |part| -> Result<(), StorageError> {
                while late.load(Ordering::SeqCst) > part.number as u64 {
                    part.go_on()?;
                    if part.number > 0 {
                        break;
                    }
                    late.fetch_sub(1, Ordering::SeqCst);
                    verso_env::sync::pause_point();
                }
                Err(StorageError::SequenceExhausted { limit: part.number as i64 })
            });
            assert!(matches!(error, Err(StorageError::SequenceExhausted { limit: 0 })), "{error:?}");
            // The caller's watch ends all of them.
            let mut count = 0;
            let mut watch = || {
                count += 1;
                if count > 3 { Err(StorageError::ReadOnly) } else { Ok(()) }
            };
            let ended = crew.run(Stop::All, &mut watch, |part| -> Result<(), StorageError> {
                loop {
                    part.go_on()?;
                    verso_env::sync::pause_point();
                }
            });
            assert!(matches!(ended, Err(StorageError::ReadOnly)), "{ended:?}");
            assert_eq!(pool.jobs().len(), 1);
            drop(crew);
            drop(listed);
            assert!(pool.jobs().is_empty());
            pool.close();
            assert!(pool.workers().is_empty());
        });
    }
}

/// Whichever part panics, the caller's or another's: the others stop and are waited for, and the threads serve the next round.
#[test]
fn w4_a_panic_ends_the_round_and_no_thread() {
    for seed in verso_sim::seeds(12) {
        let world = verso_sim::World::new(seed);
        world.run(|env: &Env| {
            let pool = WorkerPool::new(env.clone());
            let listed = pool.begin("TEST", 0, None);
            let crew = pool.gather(listed.job(), 4);
            for dying in 0..4 {
                let (held, steps) = (Arc::new(()), Arc::new(AtomicU64::new(0)));
                let (its, count) = (Arc::clone(&held), Arc::clone(&steps));
                let body = move |part: &mut Part<'_>| -> Result<(), StorageError> {
                    let _held = &its;
                    loop {
                        part.go_on()?;
                        let step = count.fetch_add(1, Ordering::SeqCst);
                        assert!(part.number != dying || step < seed % 9, "part {dying} dies");
                        verso_env::sync::pause_point();
                    }
                };
                let run = std::panic::AssertUnwindSafe(|| crew.run(Stop::Behind, &mut go_on(), body));
                let panic = std::panic::catch_unwind(run).expect_err("it goes on in the caller");
                assert_eq!(verso_env::panic_message(&*panic), format!("part {dying} dies"));
                // Nobody is left who might use what the caller holds.
                assert_eq!(Arc::strong_count(&held), 1, "seed {seed}");
                assert!(pool.workers().len() <= 3);
                let numbers = crew.run(Stop::All, &mut go_on(), |part| Ok(part.number)).unwrap();
                assert_eq!(numbers, [0, 1, 2, 3]);
            }
            drop((crew, listed));
            assert!(pool.jobs().is_empty());
            pool.close();
            assert!(pool.workers().is_empty());
        });
    }
}

#[test]
fn threads_without_work_end_after_a_while() {
    let world = verso_sim::World::new(1);
    world.run(|env: &Env| {
        let pool = WorkerPool::new(env.clone());
        pool.configure(3, Duration::from_secs(60));
        let listed = pool.begin("TEST", 0, None);
        let crew = pool.gather(listed.job(), 3);
        let held = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let all = Arc::clone(&held);
        crew.run(Stop::All, &mut go_on(), move |part| {
            all.fetch_add(1, Ordering::SeqCst);
            while all.load(Ordering::SeqCst) < 3 {
                part.go_on()?;
                verso_env::sync::pause_point();
            }
            Ok(())
        })
        .unwrap();
        env.clock.sleep(Duration::from_secs(1));
        assert_eq!(pool.workers().len(), 2);
        assert!(pool.workers().iter().all(|worker| worker.job.is_none()));
        env.clock.sleep(Duration::from_secs(100));
        assert_eq!(pool.workers().len(), 0);
        // Others come when they are wanted.
        crew.run(Stop::All, &mut go_on(), |_| Ok(())).unwrap();
        pool.close();
    });
}

/// Workers that give way rest between pages for as long as they are told, others and those in haste do not.
#[test]
fn w5_workers_rest_between_pages_where_they_give_way() {
    let world = verso_sim::World::new(1);
    world.run(|env: &Env| {
        let pool = WorkerPool::new(env.clone());
        let asked = Arc::new(AtomicU64::new(0));
        let by = Arc::clone(&asked);
        pool.rest_by(Arc::new(move |workers| {
            by.fetch_add(u64::from(workers), Ordering::SeqCst);
            Duration::from_millis(20)
        }));
        let took = |gives_way, in_haste| {
            let listed = pool.begin("TEST", 7, None);
            let crew = pool.gather(listed.job(), 1).giving_way(gives_way);
            let (began, its) = (env.clock.monotonic_nanos(), env.clone());
            let done = crew.run(Stop::All, &mut go_on(), move |part| {
                for _ in 0..10 {
                    its.clock.sleep(Duration::from_millis(1));
                    part.step(in_haste)?;
                }
                Ok(())
            });
            assert_eq!(done.unwrap().len(), 1);
            Duration::from_nanos(env.clock.monotonic_nanos() - began)
        };
        assert!(took(false, false) < Duration::from_millis(50));
        assert!(took(true, true) < Duration::from_millis(50));
        assert_eq!(asked.load(Ordering::SeqCst), 0);
        assert!(took(true, false) >= Duration::from_millis(210));
        assert_eq!(asked.load(Ordering::SeqCst), 10);
    });
}
