//! Interleavings, waits, deadlocks and failures, each over many seeds.

use std::sync::atomic::{AtomicU32, Ordering};

use verso_env::sync::{Condvar, Mutex, RwLock, backoff, pause_point};
use verso_env::{Clock, Threads};

use super::*;
use crate::seeds;

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> verso_env::JoinHandle {
    SimThreads.spawn(name, Box::new(body))
}

fn run<T>(seed: u64, body: impl FnOnce() -> T) -> (T, RunReport) {
    simulate(seed, &SimClock::new(), SchedulerOptions::default(), body)
}

fn failure_of(seed: u64, body: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| run(seed, body))).expect_err("the run fails");
    match payload.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => (*payload.downcast_ref::<&str>().expect("a text")).to_owned(),
    }
}

/// Three threads append their number; the order is the interleaving.
fn race() -> Vec<u32> {
    let order = Arc::new(Mutex::new(Vec::new()));
    let handles: Vec<_> = (0..3)
        .map(|number| {
            let order = order.clone();
            spawn(&format!("t{number}"), move || {
                for _ in 0..5 {
                    pause_point();
                    order.lock().push(number);
                }
            })
        })
        .collect();
    for handle in handles {
        handle.join().unwrap();
    }
    std::mem::take(&mut order.lock())
}

#[test]
fn the_same_seed_gives_the_same_interleaving_and_other_seeds_others() {
    let mut orders = std::collections::HashSet::new();
    for seed in seeds(40) {
        let (order, report) = run(seed, race);
        let (order_again, report_again) = run(seed, race);
        assert_eq!((&order, &report), (&order_again, &report_again));
        assert_eq!(order.len(), 15);
        orders.insert(order);
    }
    assert!(orders.len() > 10 || std::env::var("SEED").is_ok(), "only {} orders", orders.len());
}

#[test]
fn a_lost_update_between_pause_points_is_found() {
    let lost = (0..50).any(|seed| {
        let (total, _) = run(seed, || {
            let total = Arc::new(AtomicU32::new(0));
            let add = |total: &AtomicU32| {
                pause_point();
                let seen = total.load(Ordering::Relaxed);
                pause_point();
                total.store(seen + 1, Ordering::Relaxed);
            };
            let other = total.clone();
            let handle = spawn("adder", move || add(&other));
            add(&total);
            handle.join().unwrap();
            total.load(Ordering::Relaxed)
        });
        total == 1
    });
    assert!(lost);
}

#[test]
fn a_mutex_excludes_and_an_rwlock_lets_readers_share() {
    let mut shared_reads = 0;
    for seed in seeds(50) {
        let (peak, _) = run(seed, || {
            let lock = Arc::new(RwLock::new(0_u32));
            let readers = Arc::new(Mutex::new((0_u32, 0_u32)));
            let handles: Vec<_> = (0..4)
                .map(|number| {
                    let (lock, readers) = (lock.clone(), readers.clone());
                    spawn(&format!("t{number}"), move || {
                        if number == 0 {
                            let mut value = lock.write();
                            assert_eq!(readers.lock().0, 0);
                            pause_point();
                            *value += 1;
                            assert_eq!(readers.lock().0, 0);
                        } else {
                            let value = lock.read();
                            let seen = *value;
                            let now = {
                                let mut readers = readers.lock();
                                readers.0 += 1;
                                readers.1 = readers.1.max(readers.0);
                                readers.0
                            };
                            assert!(now >= 1);
                            pause_point();
                            assert_eq!(*value, seen);
                            readers.lock().0 -= 1;
                        }
                    })
                })
                .collect();
            for handle in handles {
                handle.join().unwrap();
            }
            assert_eq!(*lock.read(), 1);
            readers.lock().1
        });
        shared_reads += u32::from(peak > 1);
    }
    assert!(shared_reads > 0 || std::env::var("SEED").is_ok());
}

#[test]
fn a_queue_with_condition_variables_delivers_everything_in_order() {
    for seed in seeds(50) {
        let (received, _) = run(seed, || {
            let queue = Arc::new((Mutex::new(std::collections::VecDeque::new()), Condvar::new()));
            let sender = queue.clone();
            let handle = spawn("sender", move || {
                for number in 0..10 {
                    sender.0.lock().push_back(number);
                    sender.1.notify_one();
                }
            });
            let mut received = Vec::new();
            while received.len() < 10 {
                let mut items = queue.0.lock();
                queue.1.wait_while(&mut items, |items| items.is_empty());
                received.extend(items.drain(..));
            }
            handle.join().unwrap();
            received
        });
        assert_eq!(received, (0..10).collect::<Vec<u32>>());
    }
}

#[test]
fn timeouts_and_sleep_advance_simulated_time_only() {
    for seed in seeds(20) {
        let clock = SimClock::new();
        let inside = clock.clone();
        simulate(seed, &clock, SchedulerOptions::default(), move || {
            let (mutex, condvar) = (Mutex::new(()), Condvar::new());
            let start = inside.monotonic_nanos();
            assert!(condvar.wait_for(&mut mutex.lock(), Duration::from_secs(100)));
            let slept = inside.monotonic_nanos() - start;
            assert!((100_000_000_000..100_100_000_000).contains(&slept), "{slept}");
            let sleeper = inside.clone();
            let handle = spawn("sleeper", move || sleeper.sleep(Duration::from_secs(3600)));
            inside.sleep(Duration::from_secs(1));
            assert!(!handle.is_finished());
            handle.join().unwrap();
        });
        assert!(clock.monotonic_nanos() >= 3_700_000_000_000);
    }
}

#[test]
fn a_notification_before_the_timeout_is_not_a_timeout() {
    for seed in seeds(30) {
        run(seed, || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let other = shared.clone();
            let handle = spawn("setter", move || {
                *other.0.lock() = true;
                other.1.notify_all();
            });
            let mut set = shared.0.lock();
            while !*set {
                assert!(!shared.1.wait_for(&mut set, Duration::from_secs(3600)));
            }
            drop(set);
            handle.join().unwrap();
        });
    }
}

#[test]
fn a_deadlock_is_reported_with_the_seed_and_who_waits_where() {
    let crossed = |seed| {
        catch_unwind(AssertUnwindSafe(|| {
            run(seed, || {
                let locks = Arc::new((Mutex::new(()), Mutex::new(())));
                let other = locks.clone();
                let handle = spawn("backward", move || {
                    let _second = other.1.lock();
                    let _first = other.0.lock();
                });
                {
                    let _first = locks.0.lock();
                    let _second = locks.1.lock();
                }
                handle.join().unwrap();
            })
        }))
    };
    let failures: Vec<(u64, String)> = (0..60)
        .filter_map(|seed| Some((seed, crossed(seed).err()?.downcast_ref::<String>()?.clone())))
        .collect();
    assert!(!failures.is_empty() && failures.len() < 60, "{}", failures.len());
    for (seed, failure) in failures {
        assert!(
            failure.starts_with(&format!("deadlock: every thread is blocked (SEED={seed},")),
            "{failure}"
        );
        assert!(failure.contains("1 backward: waits for a Mutex at "), "{failure}");
        assert!(failure.contains("scheduler/tests.rs"), "{failure}");
    }
}

#[test]
fn a_forgotten_notification_is_a_deadlock_even_with_a_lock_held_by_a_sleeper() {
    for seed in seeds(10) {
        let failure = failure_of(seed, || {
            let shared = Arc::new((Mutex::new(()), Condvar::new(), Mutex::new(())));
            for number in 0..3 {
                let shared = shared.clone();
                spawn(&format!("waiter {number}"), move || {
                    let _held = shared.2.lock();
                    shared.1.wait(&mut shared.0.lock());
                });
            }
        });
        assert!(failure.contains("waits for a Condvar"), "{failure}");
        assert!(failure.contains("main: has ended"), "{failure}");
    }
}

#[test]
fn a_panic_of_the_body_unwinds_every_thread_and_is_the_runs() {
    struct Count(Arc<AtomicU32>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for seed in seeds(20) {
        let dropped = Arc::new(AtomicU32::new(0));
        let count = dropped.clone();
        let failure = failure_of(seed, move || {
            let shared = Arc::new((Mutex::new(()), Condvar::new()));
            for number in 0..3 {
                let (shared, count) = (shared.clone(), Count(count.clone()));
                spawn(&format!("waiter {number}"), move || {
                    let _count = count;
                    let mut guard = shared.0.lock();
                    loop {
                        shared.1.wait(&mut guard);
                    }
                });
            }
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert_eq!(failure, "on purpose");
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn a_threads_panic_belongs_to_its_joiner_or_to_the_run() {
    let fail = || std::panic::resume_unwind(Box::new("bad luck"));
    run(1, move || assert_eq!(spawn("joined", fail).join().unwrap_err().message, "bad luck"));
    let failure = failure_of(5, move || drop(spawn("detached", fail)));
    assert_eq!(failure, "thread detached panicked: bad luck (SEED=5)");
}

#[test]
fn a_spin_waits_for_the_other_thread_and_an_endless_one_is_reported() {
    for seed in seeds(20) {
        run(seed, || {
            let flag = Arc::new(AtomicU32::new(0));
            let other = flag.clone();
            let handle = spawn("setter", move || other.store(1, Ordering::Release));
            while flag.load(Ordering::Acquire) == 0 {
                backoff(0);
            }
            handle.join().unwrap();
        });
    }
    let failure = failure_of(3, || {
        loop {
            backoff(0);
        }
    });
    assert!(failure.starts_with("livelock: one thread spins"), "{failure}");
}

#[test]
fn threads_that_do_not_end_are_named() {
    let clock = SimClock::new();
    let sleeper = clock.clone();
    let result = catch_unwind(AssertUnwindSafe(|| {
        simulate(1, &clock, SchedulerOptions::default(), move || {
            spawn("ticker", move || {
                loop {
                    sleeper.sleep(Duration::from_secs(60));
                }
            });
        })
    }));
    let failure = result.unwrap_err().downcast_ref::<String>().unwrap().clone();
    assert!(failure.starts_with("threads do not end although the body has returned (SEED=1"), "{failure}");
    assert!(failure.contains("1 ticker: "), "{failure}");
}

#[test]
fn a_waiter_takes_the_lock_only_when_its_holder_lets_go() {
    for seed in seeds(40) {
        run(seed, || {
            let shared = Arc::new((Mutex::new(0_u32), Condvar::new()));
            let other = shared.clone();
            let handle = spawn("notifier", move || {
                let mut value = other.0.lock();
                *value = 1;
                other.1.notify_one();
                for _ in 0..20 {
                    pause_point();
                    assert_eq!(*value, 1);
                }
                *value = 2;
            });
            let mut value = shared.0.lock();
            // A notifier that finds the mutex locked must be woken by the wait.
            for _ in 0..20 {
                pause_point();
            }
            while *value == 0 {
                shared.1.wait(&mut value);
            }
            assert_eq!(*value, 2);
            drop(value);
            handle.join().unwrap();
        });
    }
}

#[test]
fn one_notification_wakes_one_waiter_of_any_age() {
    let mut woken_first = std::collections::HashSet::new();
    for seed in seeds(40) {
        let clock = SimClock::new();
        let sleeper = clock.clone();
        let options = SchedulerOptions { impatient_one_in: u64::MAX, ..SchedulerOptions::default() };
        let (order, _) = simulate(seed, &clock, options, move || {
            let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
            let handles: Vec<_> = (0..3)
                .map(|number| {
                    let shared = shared.clone();
                    spawn(&format!("waiter {number}"), move || {
                        let mut order = shared.0.lock();
                        shared.1.wait(&mut order);
                        order.push(number);
                    })
                })
                .collect();
            sleeper.sleep(Duration::from_secs(1));
            shared.1.notify_one();
            sleeper.sleep(Duration::from_secs(1));
            assert_eq!(shared.0.lock().len(), 1);
            shared.1.notify_all();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            std::mem::take(&mut *shared.0.lock())
        });
        assert_eq!(order.len(), 3);
        woken_first.insert(order[0]);
    }
    assert!(woken_first.len() == 3 || std::env::var("SEED").is_ok());
}
