//! The housekeeping thread: back-out, retirement, sweeps that start by themselves.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::StorageError;
use crate::maintenance::backout::{self, Pace};
use crate::maintenance::{retire, sweep};
use crate::shared::Shared;
use crate::txn::Transactions;

/// From a call to the round for it.
const PAUSE: Duration = Duration::from_millis(20);

/// One round of everything.
///
/// # Errors
/// What the steps report.
pub fn round(shared: &Shared, pace: Pace) -> Result<(), StorageError> {
    if shared.auto_backout.load(Ordering::Relaxed) {
        backout::back_out_all(shared, false, pace)?;
    }
    shared.versions.close_idle(&shared.transactions);
    retire::retire(shared)?;
    let interval = shared.sweep_interval.load(Ordering::Relaxed);
    let markers = shared.transactions.markers();
    if interval > 0 && markers.ost.0.saturating_sub(markers.oit.0) > interval {
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        match sweep::sweep(shared, &sweep::SweepOptions::default(), go_on) {
            // Somebody has asked for one.
            Err(StorageError::SweepRunning) => {}
            swept => drop(swept?),
        }
    }
    Ok(())
}

/// Runs rounds until the engine is closed or gone, and sleeps as long as nothing happens.
pub fn run(shared: &Weak<Shared>, transactions: &Transactions) {
    loop {
        // Before the round: what happens behind its looks calls for another one.
        transactions.housekeeping.listen();
        let Some(shared) = shared.upgrade() else { return };
        if shared.closed.load(Ordering::Acquire) {
            return;
        }
        let done = round(&shared, Pace::Resting);
        if let Err(error) = &done {
            if matches!(error, StorageError::Poisoned | StorageError::Closed) {
                return;
            }
            tracing::error!(%error, "housekeeping failed; it tries again");
        }
        let env = shared.env.clone();
        drop(shared);
        if done.is_ok() {
            transactions.housekeeping.wait(None);
        }
        // What a busy moment leaves is dealt with together.
        env.clock.sleep(PAUSE);
    }
}
