//! The figures of a database: its statements with their texts.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use verso_exec::memory::{Account, Reservation};

use super::figures::Figures;
use super::own::Counted;
use super::{Key, TEXT_BYTES_MAX};
use crate::passwords::without_passwords;

/// Statements that are kept where nothing else is said (`pg_stat_statements.max`).
pub(crate) const MAX_USUAL: usize = 5_000;
/// What a statement takes beside its text.
const ENTRY_BYTES: u64 = 512;
/// What remains of how much a statement was used when others have left, as in PostgreSQL.
const USAGE_REMAINS: f64 = 0.99;
/// Of so many statements one leaves when there is no room, and of a few several.
const LEAVE_PART: usize = 20;
const LEAVE_LEAST: usize = 10;

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) text: Arc<str>,
    pub(crate) figures: Figures,
    /// Calls, of which later ones count more.
    usage: f64,
    /// Since when it is counted, and its least and most times.
    pub(crate) since: i64,
    pub(crate) bounds_since: i64,
}

#[derive(Debug)]
struct Table {
    entries: HashMap<Key, Entry>,
    most: usize,
    text_bytes: u64,
    held: Reservation,
    /// Statements that had to leave.
    left: u64,
    /// When all were forgotten last.
    reset_at: i64,
}

/// The statements of a database.
#[derive(Debug)]
pub(crate) struct Tracked {
    table: Mutex<Table>,
    /// Whether the database has the extension, as far as is known (W6).
    asked: AtomicBool,
    /// What sessions have counted, by their numbers.
    sessions: Mutex<HashMap<u64, Arc<Mutex<Counted>>>>,
}

/// What `pg_stat_statements_reset` is to forget: what has these, as far as they are given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) role: Option<u32>,
    pub(crate) id: Option<i64>,
    /// Least and most times only.
    pub(crate) bounds_only: bool,
}

impl Tracked {
    /// None yet, at this moment; what is kept is charged to the account.
    pub(crate) fn new(account: &Account, now: i64) -> Tracked {
        let held = account.reserve("the figures of statements", u64::MAX);
        let table =
            Table { entries: HashMap::new(), most: MAX_USUAL, text_bytes: 0, held, left: 0, reset_at: now };
        Tracked { table: Mutex::new(table), asked: AtomicBool::new(true), sessions: Mutex::default() }
    }

    /// Whether the database has asked for figures.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether it has, as somebody sees it who has just read the catalog anew.
    pub(crate) fn note_asked(&self, asked: bool) {
        // Written hardly ever, so that sessions keep it in their caches.
        if self.is_asked() != asked {
            self.asked.store(asked, Ordering::Relaxed);
        }
    }

    /// Keeps so many statements from now on.
    pub(crate) fn set_most(&self, most: usize) {
        let mut table = self.table.lock();
        table.most = most;
        table.make_room(0);
    }

    /// How many statements are kept.
    pub(crate) fn most(&self) -> usize {
        self.table.lock().most
    }

    /// What is charged for them.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.table.lock().held.charged_bytes()
    }

    pub(super) fn add_session(&self, session: u64, counted: &Arc<Mutex<Counted>>) {
        self.sessions.lock().insert(session, Arc::clone(counted));
    }

    pub(super) fn end_session(&self, session: u64) {
        let counted = self.sessions.lock().remove(&session);
        let rest = counted.map(|counted| counted.lock().take());
        self.fold(rest.into_iter().flatten());
    }

    /// Makes sure that a statement is there; false where there is no memory for it.
    pub(super) fn ensure(&self, key: Key, now: impl FnOnce() -> i64, text: impl FnOnce() -> String) -> bool {
        let is_full = {
            let table = self.table.lock();
            if table.entries.contains_key(&key) {
                return true;
            }
            table.entries.len() >= table.most
        };
        if is_full {
            // Who leaves is told by all that was counted.
            self.gather();
        }
        let mut table = self.table.lock();
        if table.entries.contains_key(&key) {
            return true;
        }
        let text = text();
        let text: Arc<str> = without_passwords(&text).into();
        debug_assert!(text.len() <= TEXT_BYTES_MAX + 64, "texts are cut");
        table.add(key, text, now())
    }

    /// Adds what was counted of statements; what has left meanwhile is not counted.
    pub(super) fn fold(&self, counted: impl Iterator<Item = (Key, Figures)>) {
        let mut table = self.table.lock();
        for (key, figures) in counted {
            if let Some(entry) = table.entries.get_mut(&key) {
                entry.usage += figures.runs.count as f64;
                entry.figures.merge(&figures);
            }
        }
    }

    /// Takes over what the sessions have counted by now (W2).
    fn gather(&self) {
        let sessions: Vec<_> = self.sessions.lock().values().cloned().collect();
        for counted in sessions {
            let taken = counted.lock().take();
            self.fold(taken.into_iter());
        }
    }

    /// All statements.
    pub(super) fn list(&self) -> Vec<(Key, Entry)> {
        self.gather();
        self.table.lock().entries.iter().map(|(key, entry)| (*key, entry.clone())).collect()
    }

    /// How many statements had to leave, and since when that is counted.
    pub(super) fn information(&self) -> (u64, i64) {
        let table = self.table.lock();
        (table.left, table.reset_at)
    }

    /// Forgets statements.
    pub(super) fn reset(&self, wanted: Wanted, now: i64) {
        self.gather();
        let mut table = self.table.lock();
        let fits = |key: &Key| {
            wanted.role.is_none_or(|role| role == key.role.0) && wanted.id.is_none_or(|id| id == key.id)
        };
        if wanted.bounds_only {
            for (_, entry) in table.entries.iter_mut().filter(|(key, _)| fits(key)) {
                entry.figures.runs.forget_bounds();
                entry.figures.plans.forget_bounds();
                entry.bounds_since = now;
            }
            return;
        }
        if wanted.role.is_none() && wanted.id.is_none() {
            (table.left, table.reset_at) = (0, now);
        }
        table.keep(|key, _| !fits(key));
    }
}

impl Table {
    fn add(&mut self, key: Key, text: Arc<str>, now: i64) -> bool {
        self.make_room(1);
        let usage = self.usual_usage();
        let bytes = text.len() as u64;
        let entries = self.entries.len() as u64 + 1;
        let needed = |text_bytes: u64, entries: u64| text_bytes + entries * ENTRY_BYTES;
        if self.held.resize(needed(self.text_bytes + bytes, entries)).is_err() {
            self.leave();
            let entries = self.entries.len() as u64 + 1;
            if self.held.resize(needed(self.text_bytes + bytes, entries)).is_err() {
                self.left += 1;
                return false;
            }
        }
        self.text_bytes += bytes;
        let entry = Entry { text, figures: Figures::default(), usage, since: now, bounds_since: now };
        self.entries.insert(key, entry);
        true
    }

    /// Lets statements leave until so many more have room.
    fn make_room(&mut self, more: usize) {
        while self.entries.len() + more > self.most && !self.entries.is_empty() {
            self.leave();
        }
    }

    /// Those leave that were used least.
    fn leave(&mut self) {
        let mut usages: Vec<f64> = self.entries.values().map(|entry| entry.usage).collect();
        let beyond = self.entries.len().saturating_sub(self.most);
        let count = (usages.len() / LEAVE_PART).max(LEAVE_LEAST).max(beyond).min(usages.len());
        let Some(last) = count.checked_sub(1) else { return };
        let (_, bound, _) = usages.select_nth_unstable_by(last, f64::total_cmp);
        let bound = *bound;
        let mut leave = count;
        self.keep(|_, entry| {
            let goes = leave > 0 && entry.usage <= bound;
            leave -= usize::from(goes);
            entry.usage *= USAGE_REMAINS;
            !goes
        });
        self.left += 1;
    }

    /// What a new statement is taken to be used, so that it stays for a while: the median.
    fn usual_usage(&self) -> f64 {
        // Only where statements are about to leave it makes a difference, and that is rare.
        if self.entries.len() + LEAVE_LEAST < self.most {
            return 1.0;
        }
        let mut usages: Vec<f64> = self.entries.values().map(|entry| entry.usage).collect();
        let middle = usages.len() / 2;
        if usages.is_empty() { 1.0 } else { *usages.select_nth_unstable_by(middle, f64::total_cmp).1 }
    }

    fn keep(&mut self, mut stays: impl FnMut(&Key, &mut Entry) -> bool) {
        self.entries.retain(|key, entry| stays(key, entry));
        self.text_bytes = self.entries.values().map(|entry| entry.text.len() as u64).sum();
        let bytes = self.text_bytes + self.entries.len() as u64 * ENTRY_BYTES;
        // It is less than before.
        self.held.hold(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Run;
    use super::super::own::OwnFigures;
    use super::*;
    use verso_catalog::Oid;
    use verso_exec::memory::Scope;

    fn key(id: i64) -> Key {
        Key { id, role: Oid(10), is_top: true }
    }

    fn run(own: &OwnFigures, tracked: &Tracked, id: i64) {
        let run = Run { calls: 1, nanos: 1_000, rows: 2, ..Run::default() };
        own.count((tracked, 7), key(id), &run, || 5, || format!("select {id}"));
    }

    fn calls(tracked: &Tracked, id: i64) -> Option<u64> {
        let list = tracked.list();
        list.iter().find(|(of, _)| of.id == id).map(|(_, entry)| entry.figures.runs.count)
    }

    #[test]
    fn what_sessions_count_is_there_whenever_somebody_looks() {
        let account = Account::new(Scope::Instance, 0);
        let tracked = Tracked::new(&account, 1);
        let own = OwnFigures::default();
        for _ in 0..3 {
            run(&own, &tracked, 1);
        }
        assert_eq!(calls(&tracked, 1), Some(3));
        for id in 1..=100 {
            run(&own, &tracked, id);
        }
        assert_eq!((calls(&tracked, 1), calls(&tracked, 100)), (Some(4), Some(1)));
        run(&own, &tracked, 2);
        own.end(&tracked, 7);
        assert_eq!(calls(&tracked, 2), Some(2));
        assert!(account.used_bytes() > 100 * ENTRY_BYTES);
        tracked.reset(Wanted { id: Some(2), ..Wanted::default() }, 9);
        assert_eq!((calls(&tracked, 2), calls(&tracked, 3)), (None, Some(1)));
        assert_eq!(tracked.information(), (0, 1));
        tracked.reset(Wanted::default(), 9);
        assert_eq!((tracked.list().len(), tracked.information()), (0, (0, 9)));
    }

    #[test]
    fn statements_that_are_called_least_leave() {
        let account = Account::new(Scope::Instance, 0);
        let tracked = Tracked::new(&account, 1);
        tracked.set_most(100);
        let own = OwnFigures::default();
        for _ in 0..10 {
            run(&own, &tracked, -1);
        }
        // What is called again and again stays; others that were called as often once would not, as with each that leaves all count
        // for less.
        for id in 0..1_000 {
            run(&own, &tracked, id);
            run(&own, &tracked, -1);
        }
        let list = tracked.list();
        assert!(list.len() <= 100 && list.len() > 80, "{}", list.len());
        assert_eq!(calls(&tracked, -1), Some(1_010));
        assert!(tracked.information().0 > 0);
    }

    #[test]
    fn no_statement_is_kept_beyond_the_memory_of_the_database() {
        let account = Account::new(Scope::Instance, 256 << 10);
        let tracked = Tracked::new(&account, 1);
        let own = OwnFigures::default();
        for id in 0..2_000 {
            run(&own, &tracked, id);
        }
        let list = tracked.list();
        assert!(!list.is_empty() && list.len() < 1_000, "{}", list.len());
        assert!(account.used_bytes() <= 256 << 10);
    }
}
