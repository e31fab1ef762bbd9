//! The housekeeping thread: back-out, retirement, sweeps that start by themselves, packing of cold pages.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::StorageError;
use crate::engine::GcPolicy;
use crate::maintenance::backout::{self, Pace};
use crate::maintenance::{packing, retire, sweep};
use crate::shared::Shared;
use crate::txn::Transactions;

/// Sweeps remembered that started by themselves.
const SWEEPS_KEPT: usize = 1000;
/// From a call to the round for it.
const PAUSE: Duration = Duration::from_millis(20);

/// Between two looks at the past that is kept, where nothing else happens.
const HISTORY_PAUSE: Duration = Duration::from_secs(1);

/// One round of everything; in how long there is more to do, if nothing happens.
///
/// # Errors
/// What the steps report.
pub fn round(shared: &Arc<Shared>, pace: Pace) -> Result<Option<Duration>, StorageError> {
    if shared.auto_backout.load(Ordering::Relaxed) {
        backout::back_out_all(shared, false, pace, &shared.workers.alone(), &mut || Ok(()))?;
    }
    shared.mark_new_resident();
    shared.transactions.trim_history();
    shared.versions.close_idle(&shared.transactions);
    let policy = GcPolicy::from_u8(shared.gc_policy.load(Ordering::Relaxed));
    if policy != GcPolicy::Cooperative || pace == Pace::Full {
        retire::retire(shared, &shared.workers.alone(), &mut || Ok(()))?;
    }
    // H4: the past gives way to space.
    let bytes = || shared.versions.in_use() as u64 * shared.page_size as u64;
    let most = shared.retention_bytes.load(Ordering::Relaxed);
    while most > 0 && bytes() > most && shared.transactions.shorten_history() {
        retire::retire(shared, &shared.workers.alone(), &mut || Ok(()))?;
    }
    let interval = shared.sweep_interval.load(Ordering::Relaxed);
    let markers = shared.transactions.markers();
    // Where something dead cannot be backed out, another sweep finds no more than the last one did.
    let swept = markers.oit.0.max(shared.swept_at.load(Ordering::Relaxed));
    if interval > 0 && markers.ost.0.saturating_sub(swept) > interval {
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        let options = sweep::SweepOptions { gives_way: true, ..sweep::SweepOptions::default() };
        match sweep::sweep(shared, &options, go_on) {
            // Somebody has asked for one.
            Err(StorageError::SweepRunning) => {}
            swept => {
                let mut own = shared.own_sweeps.lock();
                if own.len() >= SWEEPS_KEPT {
                    own.pop_front();
                }
                own.push_back(swept?);
            }
        }
        if !shared.held_up.lock().is_empty() {
            shared.swept_at.store(markers.ost.0, Ordering::Relaxed);
        }
    }
    packing::step(shared, pace)
}

/// Runs rounds until the engine is closed or gone, and sleeps as long as nothing happens.
pub fn run(shared: &Weak<Shared>, transactions: &Transactions) {
    // The same failure again and again is told once.
    let mut told = None;
    loop {
        // Before the round: what happens behind its looks calls for another one.
        transactions.housekeeping.listen();
        let Some(shared) = shared.upgrade() else { return };
        if shared.closed.load(Ordering::Acquire) {
            return;
        }
        let done = round(&shared, Pace::Resting);
        match &done {
            Ok(_) => told = None,
            Err(StorageError::Poisoned { .. } | StorageError::Closed) => return,
            Err(error) => {
                let text = error.to_string();
                if told.as_ref() != Some(&text) {
                    tracing::error!(error = %text, "housekeeping failed; it tries again");
                    told = Some(text);
                }
            }
        }
        let env = shared.env.clone();
        drop(shared);
        if let Ok(next) = done {
            // The past that is kept ends by itself, and pages become cold.
            let history = transactions.keeps_history().then_some(HISTORY_PAUSE);
            transactions.housekeeping.wait(history.into_iter().chain(next).min());
        }
        // What a busy moment leaves is dealt with together.
        env.clock.sleep(PAUSE);
    }
}
