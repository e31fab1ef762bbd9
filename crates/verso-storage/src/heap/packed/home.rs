//! A data page through the directory, wherever it stands: latched for reading, or for a change.

use std::ops::Range;

use super::container;
use super::part::{Image, Part};
use crate::StorageError;
use crate::buffer::{BufferPool, ExclusivePage, SharedPage};
use crate::heap::{Heap, apply};
use crate::mini::{Mini, PageHandle};
use crate::page::{Flaw, PageId, PageKind, header};

/// A data page of a table, latched: it, or the packed page that has it.
pub(crate) struct Home<'p> {
    page: SharedPage<'p>,
    page_index: u32,
    part: Option<Range<usize>>,
}

impl<'p> Home<'p> {
    /// The page that the directory names; for messages, and to tell whether it has changed.
    pub fn id(&self) -> PageId {
        self.page.id()
    }

    /// Whether it stands in a packed page.
    pub fn is_packed(&self) -> bool {
        self.part.is_some()
    }

    /// Whether it stands in a packed page and has no records there.
    pub fn has_no_records(&self) -> bool {
        self.part
            .as_ref()
            .is_some_and(|range| Part::of(&self.page[range.clone()]).is_ok_and(|part| part.is_empty()))
    }

    /// The page itself: the packed one where it is.
    pub fn latched(&self) -> &SharedPage<'p> {
        &self.page
    }

    /// The data page as it is, or as it was: then in `image`, with all columns or at least those `wanted`.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn bytes<'b>(
        &'b self,
        heap: &Heap,
        image: &'b mut Image,
        wanted: Option<&[u16]>,
    ) -> Result<&'b [u8], StorageError> {
        let Some(range) = &self.part else { return Ok(&self.page) };
        let id = (self.page.id(), heap.object, self.page_index);
        let corrupt = |flaw| StorageError::corrupt(self.page.id(), heap.object, flaw);
        let part = Part::of(&self.page[range.clone()]).map_err(corrupt)?;
        let dictionary = heap.dictionary_of(&part, wanted, self.page.id())?;
        part.expand(image, self.page.len(), id, wanted, dictionary.as_deref()).map_err(corrupt)?;
        Ok(image.page())
    }
}

impl Heap {
    /// Latches the data page at a directory index for reading; with `scan` the visit does not count against eviction. What is no
    /// page of this table is left to the caller.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    #[inline]
    pub(crate) fn home<'p>(
        &self,
        pool: &'p BufferPool,
        page_index: u32,
        scan: bool,
    ) -> Result<Option<Home<'p>>, StorageError> {
        loop {
            let moves = self.directory.moves();
            let Some(id) = self.page_at(page_index)? else { return Ok(None) };
            let latched = if scan { pool.read_for_scan(id) } else { pool.read(id) };
            if self.directory.moves() != moves {
                continue; // P2; not asked with the page latched, for one that was given up waits for nobody
            }
            let page = latched?;
            if header::kind(&page) == Some(PageKind::Data) && apply::page_index(&page) == page_index {
                return Ok(Some(Home { page, page_index, part: None }));
            }
            if header::kind(&page) == Some(PageKind::Packed) && header::owner(&page) == self.object {
                let found = container::find(&page, page_index);
                let found = found.map_err(|flaw| StorageError::corrupt(id, self.object, flaw))?;
                if let Some(range) = found {
                    return Ok(Some(Home { page, page_index, part: Some(range) }));
                }
            }
            if header::kind(&page) == Some(PageKind::Packed) {
                let flaw = Flaw::from("a packed page without the part that the directory says");
                return Err(StorageError::corrupt(id, self.object, flaw));
            }
            return Ok(Some(Home { page, page_index, part: None }));
        }
    }

    /// Latches the page that the directory names for a change and takes it in: the data page, or a packed one that has it.
    /// `None` beyond the table's end. Others may pack the page before it is latched, so a page number that was found earlier is
    /// no way to it (P2).
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    #[inline]
    pub(crate) fn write_home<'e>(
        &self,
        mini: &mut Mini<'e>,
        page_index: u32,
    ) -> Result<Option<PageHandle>, StorageError> {
        self.write_home_by(mini, page_index, BufferPool::write)
    }

    /// As [`Heap::write_home`], for one pass over many pages: the visit does not count against eviction.
    ///
    /// # Errors
    /// As [`Heap::write_home`].
    pub(crate) fn write_home_for_scan<'e>(
        &self,
        mini: &mut Mini<'e>,
        page_index: u32,
    ) -> Result<Option<PageHandle>, StorageError> {
        self.write_home_by(mini, page_index, BufferPool::write_for_scan)
    }

    #[inline]
    fn write_home_by<'e>(
        &self,
        mini: &mut Mini<'e>,
        page_index: u32,
        write: impl Fn(&'e BufferPool, PageId) -> Result<ExclusivePage<'e>, StorageError>,
    ) -> Result<Option<PageHandle>, StorageError> {
        loop {
            let moves = self.directory.moves();
            let Some(id) = self.page_at(page_index)? else { return Ok(None) };
            if let Some(handle) = mini.find(id) {
                return Ok(Some(handle));
            }
            let latched = write(&mini.core().pool, id);
            if self.directory.moves() != moves {
                continue;
            }
            return Ok(Some(mini.take(latched?)));
        }
    }
}
