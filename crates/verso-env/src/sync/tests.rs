//! The locks with real threads; simulated ones are tested where the scheduler is, in `verso-sim`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;
use crate::Env;

#[test]
fn a_mutex_excludes() {
    let env = Env::real();
    let total = Arc::new(Mutex::new(0_u32));
    let handles: Vec<_> = (0..4)
        .map(|i| {
            let total = total.clone();
            env.spawn(&format!("adder {i}"), move || {
                for _ in 0..1000 {
                    let mut total = total.lock();
                    let seen = *total;
                    backoff(0);
                    *total = seen + 1;
                }
            })
        })
        .collect();
    for handle in handles {
        handle.join().unwrap();
    }
    assert_eq!(*total.lock(), 4000);
    assert_eq!(Arc::try_unwrap(total).unwrap().into_inner(), 4000);
}

#[test]
fn trying_does_not_wait() {
    let mutex = Mutex::new(1);
    let guard = mutex.lock();
    assert!(mutex.is_locked() && mutex.try_lock().is_none());
    drop(guard);
    assert!(mutex.try_lock().is_some());

    let lock = RwLock::new(1);
    let reader = lock.read();
    assert!(lock.try_read().is_some() && lock.try_write().is_none());
    drop(reader);
    let writer = lock.try_write().unwrap();
    assert!(lock.try_read().is_none());
    drop(writer);
    *lock.write() += 1;
    assert_eq!(*lock.read(), 2);
}

#[test]
fn a_notification_ends_a_wait_and_time_does_too() {
    let env = Env::real();
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    assert!(shared.1.wait_for(&mut shared.0.lock(), Duration::from_millis(1)));
    let other = shared.clone();
    let setter = env.spawn("setter", move || {
        *other.0.lock() = true;
        other.1.notify_one();
    });
    shared.1.wait_while(&mut shared.0.lock(), |set| !*set);
    setter.join().unwrap();
}

#[test]
fn a_panic_releases_the_lock() {
    let shared = Arc::new(Mutex::new(7));
    let other = shared.clone();
    let thread = Env::real().spawn("failing", move || {
        let _guard = other.lock();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(thread.join().is_err());
    assert_eq!(*shared.lock(), 7);
}

#[test]
fn pause_points_do_nothing_outside_a_simulation() {
    let counter = AtomicU32::new(0);
    for _ in 0..10 {
        pause_point();
        counter.fetch_add(1, Ordering::Relaxed);
    }
    assert_eq!(counter.into_inner(), 10);
    assert!(simulation::current().is_none());
}
