//! Where version entries of tables without co-location go: to pages that all transactions share.
//!
//! This is what the experiment on co-located versions (SI-CV, TPCTC 2011) compares with: each entry goes where it fits best,
//! so pages are filled well, and what one transaction writes is spread over what others write too.
//!
//! P1. A shared page is with one mini-transaction at a time: it is taken out of the list to be written, and comes back when
//!     that has given up its latches. Nobody waits for another's latch on it.

use crate::page::PageId;

/// Open pages beyond which the fullest is closed.
const MOST: usize = 64;
/// A page with fewer free bytes is closed: hardly an entry fits.
const WORTH: usize = 64;

/// Pages that any transaction may append to, with their free bytes.
#[derive(Debug, Default)]
pub(super) struct SharedPages {
    open: Vec<(PageId, usize)>,
}

impl SharedPages {
    /// Takes out the page with the least free space that `length` bytes fit into.
    pub fn take(&mut self, length: usize) -> Option<(PageId, usize)> {
        let fitting = self.open.iter().enumerate().filter(|(_, (_, free))| *free >= length);
        let (best, _) = fitting.min_by_key(|(_, (_, free))| *free)?;
        Some(self.open.swap_remove(best))
    }

    /// A page is open (again); the one that is to be closed instead, if any.
    pub fn put(&mut self, page: PageId, free: usize) -> Option<PageId> {
        if free < WORTH {
            return Some(page);
        }
        self.open.push((page, free));
        if self.open.len() <= MOST {
            return None;
        }
        let (fullest, _) = self.open.iter().enumerate().min_by_key(|(_, (_, free))| *free)?;
        Some(self.open.swap_remove(fullest).0)
    }

    /// All of them, to be closed.
    pub fn drain(&mut self) -> impl Iterator<Item = PageId> {
        std::mem::take(&mut self.open).into_iter().map(|(page, _)| page)
    }
}

#[cfg(test)]
mod tests {
    use verso_env::Env;
    use verso_types::{Batch, Column, Physical, SqlType, Value};

    use super::*;
    use crate::{ColumnSpec, CommitMode, Engine, EngineOptions, Txn, TxnOptions};

    fn number(value: i64) -> Batch {
        let mut column = Column::new(Physical::I64);
        column.push_value(&Value::Int8(value), &SqlType::Int8).expect("a number");
        Batch::from_columns(vec![column])
    }

    /// Two transactions insert in turns: each into pages of its own, or both into the same.
    #[test]
    fn with_colocation_each_transaction_writes_pages_of_its_own_and_without_it_they_share() {
        for colocate in [true, false] {
            let dir = tempfile::tempdir().expect("a folder");
            let options = EngineOptions { background: false, ..EngineOptions::default() };
            let engine =
                Engine::create(Env::real(), &dir.path().join("t.verso"), options).expect("a database");
            let mut txn = engine.begin(TxnOptions::default());
            let columns = [ColumnSpec { id: 1, physical: Physical::I64 }];
            let object = engine.create_heap(&mut txn, &columns).expect("a table");
            txn.commit(CommitMode::Wait).expect("a commit");
            let heap = engine.heap(object).expect("a table");
            heap.set_colocation(colocate);

            let mut two = [engine.begin(TxnOptions::default()), engine.begin(TxnOptions::default())];
            let mut records = [Vec::new(), Vec::new()];
            for n in 0..20 {
                for (txn, records) in two.iter_mut().zip(&mut records) {
                    heap.insert(txn, &number(n), Some(records)).expect("a record");
                }
            }
            let home = |of: usize| records[of][0].page_index;
            assert!(
                records
                    .iter()
                    .flatten()
                    .all(|record| record.page_index == home(0) || record.page_index == home(1))
            );
            assert_eq!(home(0) != home(1), colocate);
            let writers: Vec<_> = two.iter().filter_map(Txn::id).collect();
            let pages = engine.shared().versions.pages();
            let holds_both = |page: &PageId| {
                let info = engine.shared().versions.info(*page).expect("a page in use");
                writers.iter().all(|writer| info.txns.contains(writer))
            };
            assert_eq!(pages.iter().any(|(page, _)| holds_both(page)), !colocate);
            // One of them comes back out of the pages that it shares with the other.
            let [kept, undone] = two;
            undone.rollback().expect("a rollback");
            kept.commit(CommitMode::Wait).expect("a commit");
            assert!(engine.check(&mut |_| ()).expect("a check").problems.is_empty());
            engine.close().expect("closed");
        }
    }

    #[test]
    fn an_entry_goes_where_it_fits_best() {
        let mut pages = SharedPages::default();
        for (page, free) in [(1, 500), (2, 200), (3, 900)] {
            assert_eq!(pages.put(PageId(page), free), None);
        }
        assert_eq!(pages.take(150), Some((PageId(2), 200)));
        assert_eq!(pages.take(150), Some((PageId(1), 500)));
        assert_eq!(pages.take(901), None);
        assert_eq!(pages.take(900), Some((PageId(3), 900)));
        assert_eq!(pages.take(1), None);
    }

    #[test]
    fn full_pages_are_closed_and_so_is_the_fullest_of_too_many() {
        let mut pages = SharedPages::default();
        assert_eq!(pages.put(PageId(7), WORTH - 1), Some(PageId(7)));
        for page in 0..MOST as u32 {
            assert_eq!(pages.put(PageId(page), 1000 + page as usize), None);
        }
        assert_eq!(pages.put(PageId(100), 5000), Some(PageId(0)));
        assert_eq!(pages.drain().count(), MOST);
        assert_eq!(pages.drain().count(), 0);
    }
}
