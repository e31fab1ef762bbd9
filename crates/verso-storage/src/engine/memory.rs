//! Pages in memory: how many, how they are read ahead, and which of them stay.

use super::Engine;
use crate::StorageError;
use crate::buffer::{DamagedPage, ReadAhead};
use crate::page::ObjectId;

impl Engine {
    /// The damaged pages that were met since the database was opened; each was told of in the program's log.
    pub fn damaged_pages(&self) -> Vec<DamagedPage> {
        self.shared().core().pool.damaged()
    }

    /// Sets how many bytes of pages are held in memory; how many there are now.
    ///
    /// # Errors
    /// `Poisoned`, `Io`.
    pub fn set_buffer_pool(&self, bytes: u64) -> Result<u64, StorageError> {
        self.shared().core().pool.set_capacity(bytes)
    }

    /// The most bytes that [`Engine::set_buffer_pool`] takes.
    pub fn buffer_pool_max(&self) -> u64 {
        self.shared().core().pool.capacity_max_bytes()
    }

    /// The page cleaner starts when so many per cent of the frames are dirty (`max`), and stops at `min`.
    pub fn set_lru_dirty(&self, min: u8, max: u8) {
        self.shared().core().pool.set_lru_dirty(min, max);
    }

    /// How scans of tables read ahead.
    pub fn read_ahead(&self) -> ReadAhead {
        self.shared().core().pool.read_ahead()
    }

    /// Changes that, for scans under way too.
    pub fn set_read_ahead(&self, wanted: ReadAhead) {
        self.shared().core().pool.set_read_ahead(wanted);
    }

    /// Reads the pages of an object into memory; how many. `go_on` is asked between extents.
    ///
    /// # Errors
    /// Those of `go_on`; a page that cannot be read is left to whoever wants it.
    pub fn prewarm(
        &self,
        object: ObjectId,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        let mut pages = 0;
        for run in self.shared().space.extents_of(object) {
            go_on()?;
            self.shared().core().pool.prefetch(run.first, run.pages);
            pages += u64::from(run.pages);
        }
        Ok(pages)
    }

    /// Whether the pages of an object are kept in memory.
    pub fn is_resident(&self, object: ObjectId) -> bool {
        self.shared().resident.lock().contains_key(&object)
    }

    /// Keeps the pages of an object in memory as long as there is room for others, or no longer; those that it gets later, too.
    pub fn set_resident(&self, object: ObjectId, resident: bool) {
        let shared = self.shared();
        let mut objects = shared.resident.lock();
        let known = if resident { objects.insert(object, 0) } else { objects.remove(&object) };
        drop(objects);
        if resident || known.is_some() {
            shared.mark_resident(object, resident);
        }
        shared.transactions.housekeeping.wake();
    }
}
