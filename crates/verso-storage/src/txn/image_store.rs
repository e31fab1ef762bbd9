//! Undo images outside of memory (F3).
//!
//! ```text
//! position   0 ─ temporary page ─ temporary page ─ … ─ moved ─ in memory ─ end
//!                    └ frame 1 ┘└──── frame 2, within frame 1 ──────┘
//! ```
//!
//! The images of a transaction stand one behind the other; a frame knows where its own begin. Few fit into memory, where
//! images are made; when there are more, they move to pages of the buffer pool that are never logged, and that eviction
//! may write like any other.
//!
//! F3. Memory for images is bounded: [`IN_MEMORY`] bytes a transaction and the image that is being made, whatever it
//!     changes.
//! M1. Frames nest, so a frame's images stand behind those of the frames around it. What an undone frame wrote, or one
//!     whose images its parent has no use for, is cut off.
//!     What the log holds in a form that undo can use is not copied at all (`heap/image.rs`).
//! M2. The pages lie in extents of kind `Temp`, which go back to the space map with the transaction and are free after a
//!     restart. They bear the LSN of the record that allocated them and are not written before that is durable: the
//!     page's former life may be needed until then.
//!
//! Latches: nobody else knows the pages, so they may be latched at any time; [`ImageStore::reserve`] wants none held.

use smallvec::SmallVec;

use super::frame::ImagePlace;
use crate::StorageError;
use crate::buffer::BufferPool;
use crate::mini::Mini;
use crate::page::{Lsn, ObjectId, PageId, PageKind, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::space::{ExtentKind, ExtentRun, UNIT_PAGES};

/// Bytes kept in memory: enough for a short transaction, and little enough to stay in the processor's cache until they
/// move. Debug builds have next to nothing there, so that tests go to the pages.
const IN_MEMORY: usize = if cfg!(debug_assertions) { 256 } else { 16 << 10 };
/// Extents double up to this many units.
const UNITS_MAX: u32 = 64;

/// See the module.
#[derive(Debug, Default)]
pub struct ImageStore {
    /// The last images.
    memory: Vec<u8>,
    /// What stands before this is on the pages.
    moved: u64,
    /// Extents in the order of their use, each with the end of the log group that allocated it.
    extents: Vec<(ExtentRun, Lsn)>,
    /// Bytes of all pages together.
    capacity: u64,
    end: u64,
    /// Lists of columns, which images name by number.
    columns: Vec<SmallVec<[u16; 8]>>,
}

fn page_bytes(page_size: usize) -> u64 {
    (page_size - header::SIZE) as u64
}

impl ImageStore {
    /// Where the next image will stand.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether images of `bytes` together can stand behind the last without another extent.
    fn takes(&self, bytes: usize) -> bool {
        self.memory.len() + bytes <= IN_MEMORY || self.end + bytes as u64 <= self.capacity
    }

    /// Makes room for `bytes`. The caller holds no latch.
    ///
    /// # Errors
    /// `Full`, as the mini-transaction.
    pub fn reserve(&mut self, shared: &Shared, bytes: usize) -> Result<(), StorageError> {
        while !self.takes(bytes) {
            let last = self.extents.last().map_or(0, |(run, _)| run.pages / UNIT_PAGES);
            let units = (last * 2).clamp(1, UNITS_MAX);
            let mut mini = Mini::begin(shared.core(), TxnId::NONE);
            let run = shared.space.allocate(&mut mini, ObjectId::SYSTEM, ExtentKind::Temp, units, false)?;
            let (_, allocated) = mini.commit()?;
            self.extents.push((run, allocated));
            self.capacity += u64::from(run.pages) * page_bytes(shared.page_size);
        }
        Ok(())
    }

    /// Appends the image that `make` writes behind the bytes it is given; where it stands, and its length. `Err` within
    /// says how much has to be [reserved](ImageStore::reserve) first; nothing is appended then.
    ///
    /// # Errors
    /// As `make` and [`BufferPool::write`]; nothing is appended then.
    pub fn append(
        &mut self,
        pool: &BufferPool,
        make: impl FnOnce(&mut Vec<u8>) -> Result<(), StorageError>,
    ) -> Result<Result<(u64, usize), usize>, StorageError> {
        let before = self.memory.len();
        let made = make(&mut self.memory);
        let length = self.memory.len() - before;
        if made.is_err() || (self.memory.len() > IN_MEMORY && self.end + length as u64 > self.capacity) {
            self.memory.truncate(before);
            return made.map(|()| Err(length));
        }
        let at = self.end;
        self.end += length as u64;
        if self.memory.len() > IN_MEMORY
            && let Err(error) = self.move_out(pool)
        {
            // What was moved stands twice, which does no harm.
            self.memory.truncate(before);
            self.end = at;
            return Err(error);
        }
        Ok(Ok((at, length)))
    }

    /// Moves what is in memory to the pages.
    fn move_out(&mut self, pool: &BufferPool) -> Result<(), StorageError> {
        let (mut at, mut bytes) = (self.moved, &self.memory[..]);
        while !bytes.is_empty() {
            let (id, offset, allocated) = self.place(at, pool.page_size());
            let mut page = if offset == header::SIZE {
                let mut page = pool.take_over(id)?;
                header::name(&mut page, id, PageKind::Temp, ObjectId::SYSTEM, 0);
                header::set_lsn(&mut page, allocated);
                page
            } else {
                pool.write(id)?
            };
            let (here, rest) = bytes.split_at(bytes.len().min(page.len() - offset));
            page[offset..offset + here.len()].copy_from_slice(here);
            page.mark_dirty_unlogged();
            at += here.len() as u64;
            bytes = rest;
        }
        self.moved = at;
        self.memory.clear();
        Ok(())
    }

    /// Reads back an image that does not stand in the log.
    ///
    /// # Errors
    /// As [`BufferPool::read`].
    pub fn read(&self, pool: &BufferPool, place: &ImagePlace) -> Result<Vec<u8>, StorageError> {
        let (mut at, length) = match place {
            ImagePlace::Store { at, length } => (*at, *length as usize),
            ImagePlace::Here(bytes) => return Ok(bytes.to_vec()),
            ImagePlace::Log(_) => unreachable!("undo fetches what stands in the log first"),
        };
        assert!(at + length as u64 <= self.end, "an image lies before the end");
        let mut out = Vec::with_capacity(length);
        while out.len() < length && at < self.moved {
            let (id, offset, _) = self.place(at, pool.page_size());
            let page = pool.read(id)?;
            if header::kind(&page) != Some(PageKind::Temp) {
                return Err(StorageError::corrupt(id, ObjectId::SYSTEM, "not a page of undo images"));
            }
            let left = (length - out.len()).min((self.moved - at) as usize);
            let here = left.min(page.len() - offset);
            out.extend_from_slice(&page[offset..offset + here]);
            at += here as u64;
        }
        if out.len() < length {
            let from = (at - self.moved) as usize;
            out.extend_from_slice(&self.memory[from..from + length - out.len()]);
        }
        Ok(out)
    }

    /// Cuts off what was appended since the store ended at `end`.
    pub fn truncate(&mut self, end: u64) {
        if !disabled(Rule::F3) && end < self.end {
            self.end = end;
            self.memory.truncate(end.saturating_sub(self.moved) as usize);
            self.moved = self.moved.min(end);
        }
    }

    /// Gives every page back.
    ///
    /// # Errors
    /// As the mini-transaction.
    pub fn clear(&mut self, shared: &Shared) -> Result<(), StorageError> {
        let runs: Vec<ExtentRun> = self.extents.iter().map(|(run, _)| *run).collect();
        *self = ImageStore::default();
        if runs.is_empty() {
            return Ok(());
        }
        let mut mini = Mini::begin(shared.core(), TxnId::NONE);
        shared.space.free_runs(&mut mini, &runs)?;
        mini.commit().map(drop)
    }

    /// Whether there is memory left, so that images cost little.
    pub fn has_memory(&self) -> bool {
        self.moved == 0 && self.memory.len() <= IN_MEMORY / 2
    }

    /// The number of a list of columns.
    pub fn number_of(&mut self, columns: &[u16]) -> u32 {
        let known = self.columns.iter().position(|list| list[..] == *columns);
        let number = known.unwrap_or_else(|| {
            self.columns.push(SmallVec::from_slice(columns));
            self.columns.len() - 1
        });
        u32::try_from(number).expect("there are fewer lists than images")
    }

    /// The list of columns with this number.
    pub fn columns(&self, number: u32) -> &[u16] {
        &self.columns[number as usize]
    }

    /// Page and offset of a position beyond memory, and the LSN of the page.
    fn place(&self, at: u64, page_size: usize) -> (PageId, usize, Lsn) {
        let (mut index, offset) = (at / page_bytes(page_size), at % page_bytes(page_size));
        for (run, lsn) in &self.extents {
            if index < u64::from(run.pages) {
                return (run.first.offset(index as u32), header::SIZE + offset as usize, *lsn);
            }
            index -= u64::from(run.pages);
        }
        unreachable!("a position lies before the end of the extents")
    }
}
