//! Debug builds know which latches a thread holds, so that waiting for oneself is a panic instead of a hang.

use crate::page::PageId;

#[cfg(debug_assertions)]
thread_local! {
    /// The latched pages with the identity of their pool.
    static HELD: std::cell::RefCell<Vec<(usize, PageId)>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Notes that the thread has latched a page of `pool`.
#[inline]
pub(super) fn taken<T>(pool: &T, page: PageId) {
    #[cfg(debug_assertions)]
    HELD.with_borrow_mut(|held| held.push((std::ptr::from_ref(pool).addr(), page)));
    #[cfg(not(debug_assertions))]
    let _ = (pool, page);
}

/// Notes that the thread has let go of a page of `pool`.
#[inline]
pub(super) fn released<T>(pool: &T, page: PageId) {
    #[cfg(debug_assertions)]
    HELD.with_borrow_mut(|held| {
        let entry = (std::ptr::from_ref(pool).addr(), page);
        if let Some(index) = held.iter().rposition(|held| *held == entry) {
            held.swap_remove(index);
        }
    });
    #[cfg(not(debug_assertions))]
    let _ = (pool, page);
}

/// A thread is about to wait for a page of `pool`.
///
/// # Panics
/// In debug builds, when the thread itself holds the page.
pub(super) fn about_to_wait<T>(pool: &T, page: PageId) {
    #[cfg(debug_assertions)]
    HELD.with_borrow(|held| {
        let entry = (std::ptr::from_ref(pool).addr(), page);
        assert!(!held.contains(&entry), "a thread waits for {page}, which it has latched itself");
    });
    #[cfg(not(debug_assertions))]
    let _ = (pool, page);
}
