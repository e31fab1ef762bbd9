//! Keys of right rows that go into files, noted for the left input: of its rows none needs to follow that has no partner.

use std::sync::Arc;

use verso_types::Batch;

use crate::exec::ExecContext;
use crate::exec::filter::{KeyFilter, collect};
use crate::memory::Reservation;

/// The integers of some pairs of keys; none once they took more memory than there is.
pub(super) struct NotedKeys {
    of_pairs: Vec<(usize, Vec<i64>)>,
    held: Reservation,
}

impl NotedKeys {
    /// Of these pairs of keys, whose values are integers.
    pub fn new(cx: &ExecContext<'_>, pairs: impl Iterator<Item = usize>) -> NotedKeys {
        let of_pairs = pairs.map(|at| (at, Vec::new())).collect();
        NotedKeys { of_pairs, held: cx.reserve("a filter of a join") }
    }

    /// Adds the keys of further rows.
    pub fn note(&mut self, keys: &Batch) {
        let count: usize =
            self.of_pairs.iter().map(|(_, noted)| noted.capacity().max(noted.len() + keys.rows)).sum();
        // A vector that grows has twice its room at most.
        if self.held.try_resize(16 * count as u64).is_err() {
            self.of_pairs.clear();
            let _ = self.held.try_resize(0);
        }
        for (at, noted) in &mut self.of_pairs {
            collect(&keys.columns[*at], noted);
        }
    }

    /// The set of the keys of this pair, where all are noted and they lie close together.
    pub fn filter(&self, cx: &ExecContext<'_>, pair: usize) -> Option<Arc<KeyFilter>> {
        let (_, noted) = self.of_pairs.iter().find(|(at, _)| *at == pair)?;
        KeyFilter::new(cx, noted.iter().copied())
    }
}
