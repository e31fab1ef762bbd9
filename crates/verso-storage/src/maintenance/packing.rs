//! Packing by itself: cold pages of the tables that ask for it, a few at a time.
//!
//! ```text
//! table ─► pass: PAGES_EACH directory indexes, pause, the next ones, … to the end ─► free units go back ─► rest
//! ```
//!
//! O1. A page is *cold* when its newest change is older than the delay: its LSN is less than that of the log's end then.
//!     A page that was unpacked is new, so it stays as it is for that long.
//! O2. A table at rest is left alone: after a pass that began a delay behind its last change there is no other before the
//!     next one.
//! O3. Where more than a quarter of the pages that a pass has packed were unpacked by the next one, it rests twice as long.
//! O4. Each step looks at a bounded number of pages and waits for nobody; packing itself is [`Heap::pack_beside`].
//!
//! With a delay of zero pages with room for other rows are packed, too.
//!
//! Of unlogged tables the LSNs tell nothing: they are packed by `ALTER TABLE … COMPRESS` only.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use verso_env::sync::Mutex;

use crate::StorageError;
use crate::heap::layout::FLAG_SWEPT;
use crate::heap::packed::{Units, Which};
use crate::heap::{Heap, Packing};
use crate::maintenance::backout::Pace;
use crate::maintenance::sweep;
use crate::page::{Lsn, ObjectId, PageKind, header};
use crate::shared::Shared;

/// Directory indexes of one step.
const PAGES_EACH: u32 = 128;
/// Between two steps.
const PAUSE: Duration = Duration::from_millis(100);
/// Between the end of a pass and the return of what it has freed: who has read an entry of the directory by then has also
/// latched the page.
pub(super) const GIVE_BACK_PAUSE: Duration = Duration::from_secs(1);
/// How often the rest of a table is doubled at most.
const DOUBLED_MAX: u32 = 6;
/// Ends of the log remembered.
const SAMPLES: u32 = 8;
/// The delay unless it is set.
const DELAY: Duration = Duration::from_secs(60);

/// Packing by itself, of one database.
pub(crate) struct OwnPacking {
    delay_nanos: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When the log ended where, oldest first.
    samples: VecDeque<(u64, Lsn)>,
    tables: BTreeMap<ObjectId, Pass>,
}

/// A table's passes.
#[derive(Default)]
struct Pass {
    /// Where the pass under way goes on.
    next: Option<u32>,
    units: Units,
    packed: u64,
    /// Pages unpacked when the last pass ended.
    unpacked: u64,
    started: Option<u64>,
    /// When the last pass ended, or the table was first seen.
    ended: u64,
    /// Rows changed, as last seen, and since when.
    changed: (u64, u64),
    doubled: u32,
    give_back_at: Option<u64>,
}

impl Default for OwnPacking {
    fn default() -> OwnPacking {
        OwnPacking { delay_nanos: AtomicU64::new(nanos(DELAY)), state: Mutex::default() }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl OwnPacking {
    /// Pages are cold when they were not changed for so long.
    pub fn set_delay(&self, delay: Duration) {
        self.delay_nanos.store(nanos(delay), Ordering::Relaxed);
    }
}

impl State {
    /// Where the log ended a delay ago; none where that is not known.
    fn cold_before(&mut self, now: u64, end: Lsn, delay: u64) -> Option<Lsn> {
        let newest = self.samples.back().map_or(0, |(at, _)| *at);
        if self.samples.is_empty() || now >= newest.saturating_add(delay / u64::from(SAMPLES)) {
            self.samples.push_back((now, end));
        }
        // The newest one that is old enough stays in front.
        let is_old =
            |sample: Option<&(u64, Lsn)>| sample.is_some_and(|(at, _)| at.saturating_add(delay) <= now);
        while is_old(self.samples.get(1)) {
            self.samples.pop_front();
        }
        self.samples.front().filter(|sample| is_old(Some(sample))).map(|(_, end)| *end)
    }
}

impl Pass {
    /// When there is something to do next.
    fn due(&self, delay: u64) -> Option<u64> {
        if self.next.is_some() {
            return Some(0);
        }
        let is_settled = self.started.is_some_and(|started| started >= self.changed.1.saturating_add(delay));
        let again = (!is_settled).then(|| self.ended.saturating_add(delay.saturating_mul(1 << self.doubled)));
        self.give_back_at.into_iter().chain(again).min()
    }

    /// The pass is over.
    fn end(&mut self, heap: &Heap, now: u64, pause: u64) {
        let unpacked = heap.packing.unpacked.load(Ordering::Relaxed);
        let lost = unpacked - self.unpacked;
        self.doubled = match lost > 0 && lost * 4 > self.packed {
            true => (self.doubled + 1).min(DOUBLED_MAX),
            false => self.doubled.saturating_sub(1),
        };
        self.unpacked = unpacked;
        if self.packed > 0 {
            self.give_back_at = Some(now.saturating_add(pause));
        }
        (self.next, self.packed, self.ended) = (None, 0, now);
    }
}

/// The next step, or with a full pace all that there is to do; in how long there is more.
///
/// # Errors
/// `Poisoned`, `Io`.
pub(crate) fn step(shared: &Arc<Shared>, pace: Pace) -> Result<Option<Duration>, StorageError> {
    let heaps: BTreeMap<ObjectId, Arc<Heap>> = {
        let open = shared.heaps.lock();
        let asks = |heap: &&Arc<Heap>| {
            heap.packing.by_itself.load(Ordering::Relaxed) && !shared.core().unlogged.contains(heap.object)
        };
        open.values().filter(asks).map(|heap| (heap.object, Arc::clone(heap))).collect()
    };
    let mut state = shared.own_packing.state.lock();
    if heaps.is_empty() {
        *state = State::default();
        return Ok(None);
    }
    let delay = shared.own_packing.delay_nanos.load(Ordering::Relaxed);
    let now = shared.env.clock.monotonic_nanos();
    let cold = state.cold_before(now, shared.core().wal.appended(), delay);
    state.tables.retain(|object, _| heaps.contains_key(object));
    let mut next = None;
    for heap in heaps.values() {
        let pass = state.tables.entry(heap.object).or_insert_with(|| Pass {
            ended: now,
            changed: (heap.changed.total(), now),
            unpacked: heap.packing.unpacked.load(Ordering::Relaxed),
            ..Pass::default()
        });
        let total = heap.changed.total();
        if pass.changed.0 != total {
            pass.changed = (total, now);
        }
        while let Some(at) = pass.due(delay) {
            if at > now {
                next = Some(next.map_or(at - now, |next: u64| next.min(at - now)));
                break;
            }
            let Some(cold) = cold else {
                next = Some(next.unwrap_or(delay).min(delay / u64::from(SAMPLES)).max(1));
                break;
            };
            let which = if delay == 0 { Which::Visible } else { Which::Full };
            let went_on = go_on(shared, heap, pass, (cold, which), (now, pace));
            match went_on {
                // Where there is no room, or a page is damaged, it goes on some time later.
                Err(error @ StorageError::Full { .. }) => {
                    tracing::warn!(%error, object = heap.object.0, "packing by itself rests");
                    (pass.units, pass.doubled) = (Units::default(), DOUBLED_MAX);
                    pass.end(heap, now, 0);
                }
                Err(error) if error.is_of_a_page() => {
                    shared.core().pool.note_damage(&error);
                    pass.units = Units::default();
                }
                went_on => went_on?,
            }
            if pace != Pace::Full {
                next = Some(next.map_or(nanos(PAUSE), |next: u64| next.min(nanos(PAUSE))));
                break;
            }
        }
    }
    Ok(next.map(Duration::from_nanos))
}

/// One step of a pass, or the return of what the last one has freed.
fn go_on(
    shared: &Arc<Shared>,
    heap: &Heap,
    pass: &mut Pass,
    (cold, which): (Lsn, Which),
    (now, pace): (u64, Pace),
) -> Result<(), StorageError> {
    if pass.next.is_none() && pass.give_back_at.take_if(|at| *at <= now).is_some() {
        heap.give_back(shared, false, &mut || Ok(()))?;
        return Ok(());
    }
    let first = pass.next.unwrap_or(0);
    if pass.next.is_none() {
        pass.started = Some(now);
    }
    let pages = heap.page_count();
    let end = first.saturating_add(PAGES_EACH).min(pages);
    // Also where a page is damaged the next step is behind it.
    pass.next = Some(end);
    let listed = shared.workers.begin("PACK", 0, Some(heap.object));
    listed.job().enter("packing cold pages", u64::from(pages));
    listed.job().advance_to(u64::from(first), u64::from(pages));
    let mut wanted = Vec::new();
    for index in first..end {
        if is_cold(shared, heap, index, cold)? {
            wanted.push(index);
        }
    }
    let is_last = end >= pages;
    let Packing { packed, .. } = heap.pack_beside(shared, &wanted, which, &mut pass.units, is_last)?;
    heap.packing.packed.fetch_add(packed, Ordering::Relaxed);
    pass.packed += packed;
    if is_last {
        let pause = if pace == Pace::Full { 0 } else { nanos(GIVE_BACK_PAUSE) };
        pass.end(heap, now, pause);
    }
    Ok(())
}

/// Whether a data page was not changed for long, or stands in a packed page. One that is cold is swept.
fn is_cold(shared: &Arc<Shared>, heap: &Heap, index: u32, cold: Lsn) -> Result<bool, StorageError> {
    let Some(home) = heap.home(&shared.core().pool, index, true)? else { return Ok(false) };
    if home.is_packed() {
        return Ok(true);
    }
    let page = home.latched();
    if header::kind(page) != Some(PageKind::Data) || page.lsn() >= cold {
        return Ok(false);
    }
    let is_swept = header::flags(page) & FLAG_SWEPT != 0;
    drop(home);
    if !is_swept {
        let markers = shared.transactions.markers();
        sweep::sweep_alone(shared, heap, index, markers.oit.min(markers.ost))?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_end_of_a_delay_ago_is_known_when_it_is_that_long_ago() {
        let mut state = State::default();
        assert_eq!(state.cold_before(1000, Lsn(10), 80), None);
        assert_eq!(state.cold_before(1040, Lsn(20), 80), None);
        assert_eq!(state.cold_before(1080, Lsn(30), 80), Some(Lsn(10)));
        assert_eq!(state.cold_before(1125, Lsn(40), 80), Some(Lsn(20)));
        assert_eq!(state.cold_before(9000, Lsn(90), 80), Some(Lsn(40)));
        for step in 0..100 {
            state.cold_before(9000 + step, Lsn(90 + step), 80);
        }
        assert!(state.samples.len() <= SAMPLES as usize + 2, "{:?}", state.samples);
        let mut now = State::default();
        assert_eq!(now.cold_before(5, Lsn(7), 0), Some(Lsn(7)));
        assert_eq!(now.cold_before(6, Lsn(9), 0), Some(Lsn(9)));
    }

    #[test]
    fn a_table_at_rest_is_left_alone_and_one_that_changes_is_looked_at_once_per_delay() {
        let mut pass = Pass { ended: 100, changed: (5, 100), ..Pass::default() };
        assert_eq!(pass.due(60), Some(160));
        (pass.started, pass.ended) = (Some(160), 170);
        assert_eq!(pass.due(60), None, "nothing has changed since a delay before it");
        pass.changed = (6, 165);
        assert_eq!(pass.due(60), Some(230));
        pass.doubled = 2;
        assert_eq!(pass.due(60), Some(410));
        pass.give_back_at = Some(180);
        assert_eq!(pass.due(60), Some(180));
        pass.next = Some(7);
        assert_eq!(pass.due(60), Some(0));
    }
}
