//! Where the rows of system tables are: on which pages those stand that are a part of an object, or say something of it.
//!
//! ```text
//! (table, object) ─► pages          pg_attribute, 16400 ─► 3, 4
//! ```
//!
//! P1. Every row that some view sees is on a page noted here: a row is noted before its transaction ends, and a record stays on
//!     its page for life.
//! P2. A note is a hint: on its page there may be no such row any more. Readers look at the rows themselves.
//! P3. A note goes when no view can see such a row on its page: one that began after every transaction that has changed the
//!     object was seen by all finds none.
//! P4. All is in memory, filled when the system tables are read as a whole, the first time when the database is opened.

use std::collections::BTreeSet;

use verso_storage::page::ObjectId;

use crate::definition::Oid;

/// Notes without rows that are remembered; of more than these the oldest are forgotten until a reader comes by again.
const EMPTY_MAX: usize = 10_000;

/// Something that says that there are rows of an object on a page of a system table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The system table.
    pub heap: ObjectId,
    /// The object.
    pub object: Oid,
    /// The page's place in the table.
    pub page: u32,
}

/// All places.
#[derive(Debug, Default)]
pub(crate) struct Places {
    known: BTreeSet<Place>,
    /// Those where a reader has found nothing.
    empty: BTreeSet<Place>,
    /// The same of objects that a transaction has touched which some view does not see yet: they are looked at again when such
    /// a transaction has ended for all, so that a long one does not look at all of them with each of its changes.
    busy: BTreeSet<Place>,
    /// How many transactions had ended so when those were last looked at.
    ends: u64,
}

impl Places {
    /// Notes a place.
    pub fn add(&mut self, place: Place) {
        self.known.insert(place);
    }

    /// The pages of a table that may have rows of these objects, ascending.
    pub fn pages<'o>(&self, heap: ObjectId, objects: impl IntoIterator<Item = &'o Oid>) -> BTreeSet<u32> {
        let pages = |object: &Oid| {
            let object = *object;
            let first = Place { heap, object, page: 0 };
            self.known.range(first..=Place { page: u32::MAX, ..first }).map(|place| place.page)
        };
        objects.into_iter().flat_map(pages).collect()
    }

    /// Whether a place is noted.
    pub fn has(&self, place: Place) -> bool {
        self.known.contains(&place)
    }

    /// A reader has found no row there.
    pub fn found_empty(&mut self, place: Place) {
        if self.empty.len() < EMPTY_MAX {
            self.empty.insert(place);
        }
    }

    /// The object of a place where a reader has found nothing is being changed: that is looked at again later.
    pub fn keep_busy(&mut self, place: Place) {
        if self.busy.len() < EMPTY_MAX {
            self.busy.insert(place);
        }
    }

    /// Takes the places where readers have found nothing, and those that were busy if further transactions have ended for all, of
    /// which there were so many.
    pub fn take_empty(&mut self, ends: u64) -> BTreeSet<Place> {
        let mut taken = std::mem::take(&mut self.empty);
        if self.ends != ends {
            self.ends = ends;
            taken.append(&mut self.busy);
        }
        taken
    }

    /// Forgets a place (P3).
    pub fn remove(&mut self, place: Place) {
        self.known.remove(&place);
    }

    /// Roughly the memory that it takes.
    pub fn heap_bytes(&self) -> usize {
        (self.known.len() + self.empty.len() + self.busy.len()) * 2 * size_of::<Place>()
    }

    /// How many are noted.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.known.len()
    }
}
