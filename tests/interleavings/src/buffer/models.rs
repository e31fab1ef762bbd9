//! A page with a few threads around it.

use loom::cell::Cell;
use loom::sync::Arc;
use loom::thread;

use super::latch::{DIRTY, Parking, RESIDENT, Shared, Touch, WRITING, Word};
use crate::explore;
use crate::page::PageId;

const PAGE: PageId = PageId(3);

/// A resident page; loom reports a race if the latch lets two threads at `bytes` of which one writes.
struct Page {
    word: Word,
    parking: Parking,
    bytes: Cell<u32>,
}

// SAFETY: `bytes` is accessed under the latch only; that this holds is what loom checks.
#[allow(unsafe_code)]
unsafe impl Sync for Page {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Send for Page {}

impl Page {
    fn resident() -> Arc<Page> {
        let page = Page { word: Word::absent(), parking: Parking::new(), bytes: Cell::new(0) };
        assert!(page.word.try_exclusive(Touch::Ignore).is_some());
        page.word.arrive(Touch::Ignore);
        page.word.release_exclusive();
        Arc::new(page)
    }

    fn shared<T>(&self, work: impl FnOnce() -> T) -> T {
        while self.word.try_shared(Touch::Ignore) != Shared::Got {
            self.parking.wait(PAGE, &self.word, true);
        }
        let result = work();
        if self.word.release_shared() {
            self.parking.wake(PAGE, &self.word);
        }
        result
    }

    fn exclusive<T>(&self, work: impl FnOnce() -> T) -> T {
        while self.word.try_exclusive(Touch::Ignore).is_none() {
            self.parking.wait(PAGE, &self.word, false);
        }
        let result = work();
        if self.word.release_exclusive() {
            self.parking.wake(PAGE, &self.word);
        }
        result
    }

    fn change(&self) {
        self.exclusive(|| self.bytes.set(self.bytes.get() + 1));
    }

    fn change_dirty(&self) {
        self.exclusive(|| {
            self.bytes.set(self.bytes.get() + 1);
            self.word.set(DIRTY);
        });
    }
}

fn spawn(page: &Arc<Page>, work: impl FnOnce(&Page) + 'static) -> thread::JoinHandle<()> {
    let page = Arc::clone(page);
    thread::spawn(move || work(&page))
}

fn join(threads: impl IntoIterator<Item = thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().expect("loom reports what went wrong");
    }
}

/// Two writers and a reader: no race at the bytes, no change lost.
pub fn readers_and_writers() {
    explore(2, || {
        let page = Page::resident();
        let writer = spawn(&page, Page::change);
        let reader = spawn(&page, |page| {
            page.shared(|| assert_eq!(page.bytes.get(), page.bytes.get()));
        });
        page.change();
        join([writer, reader]);
        assert_eq!(page.bytes.get(), 2);
        assert_eq!(page.word.state().version(), 3);
        assert!(!page.word.state().latched());
    });
}

/// The flusher copies a dirty page while a writer changes it: either the copy has the change, or the page is dirty again.
pub fn flusher_and_writer() {
    explore(3, || {
        let page = Page::resident();
        page.change_dirty();
        let writer = spawn(&page, Page::change_dirty);
        let copy = page.shared(|| {
            let copy = page.bytes.get();
            page.word.copied();
            assert!(!page.word.state().has(DIRTY), "what is dirty now came behind the copy");
            copy
        });
        assert!(page.word.state().has(WRITING), "not evicted before it is written");
        page.word.clear(WRITING);
        join([writer]);
        assert!(copy == page.bytes.get() || page.word.state().has(DIRTY));
    });
}

/// Whoever goes to sleep behind a reader, a writer or a downgraded writer goes on.
pub fn sleepers() {
    explore(2, || {
        let page = Page::resident();
        let reader = spawn(&page, |page| page.shared(|| ()));
        let writer = spawn(&page, |page| page.exclusive(|| ()));
        while page.word.try_exclusive(Touch::Ignore).is_none() {
            page.parking.wait(PAGE, &page.word, false);
        }
        if page.word.downgrade() {
            page.parking.wake(PAGE, &page.word);
        }
        if page.word.release_shared() {
            page.parking.wake(PAGE, &page.word);
        }
        join([reader, writer]);
    });
}

/// A page is taken out of memory under the exclusive latch: a reader gets it before, with its bytes, or not at all.
pub fn eviction() {
    explore(3, || {
        let page = Page::resident();
        page.change();
        let reader = spawn(&page, |page| {
            if page.word.try_shared(Touch::Count) == Shared::Got {
                assert_eq!(page.bytes.get(), 1, "its memory is there");
                page.word.release_shared();
            }
        });
        let seen = page.word.state();
        if !seen.latched() && page.word.try_exclusive_from(seen) {
            page.bytes.set(u32::MAX);
            page.word.clear(RESIDENT);
            page.word.release_exclusive();
        }
        join([reader]);
    });
}
