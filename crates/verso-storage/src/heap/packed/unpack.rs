//! Making a data page that stands in a packed one a page of its own again.
//!
//! Latches: the packed page, the root, a leaf of the directory; the new page and the space map last.

use std::sync::atomic::Ordering;

use super::container;
use super::part::{Image, Part};
use crate::StorageError;
use crate::engine_core::Core;
use crate::heap::layout::{PageLayout, VARIABLE_START};
use crate::heap::{Heap, apply, directory, root};
use crate::mini::Mini;
use crate::page::bytes::u16_at;
use crate::page::{Flaw, PageKind, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::wal::RecordKind;

impl Heap {
    /// Makes the data page at a directory index a page of its own, if it stands in a packed one. Who `makes_room` may use the
    /// space kept for that.
    ///
    /// # Errors
    /// `Full` before anything is changed; `Corrupt` where the directory leads to neither; `Io`.
    #[cold]
    pub(crate) fn unpack(
        &self,
        shared: &Shared,
        page_index: u32,
        makes_room: bool,
    ) -> Result<(), StorageError> {
        let core: &Core = shared.core();
        let (leaf, place) = self.directory.place_of(page_index)?;
        let mut mini = Mini::begin(core, TxnId::NONE);
        if makes_room {
            mini.use_reserve();
        } else {
            shared.space.keep_reserve(core)?;
        }
        let old = self.write_home(&mut mini, page_index)?;
        let old = old.ok_or(StorageError::NoSuchObject(self.object))?;
        let seen = mini.page_id(old);
        if header::kind(mini.page(old)) == Some(PageKind::Data)
            && apply::page_index(mini.page(old)) == page_index
        {
            return Ok(()); // others were first
        }
        let packed = mini.page(old);
        let is_packed =
            header::kind(packed) == Some(PageKind::Packed) && header::owner(packed) == self.object;
        let found = if is_packed { container::find(packed, page_index) } else { Ok(None) };
        let range = found.map_err(|flaw| self.corrupt(seen, flaw))?;
        let Some(range) = range else { return Err(self.corrupt(seen, Flaw::from("not a data page"))) };
        let mut image = Image::default();
        let id = (seen, self.object, page_index);
        let part = Part::of(&packed[range]).map_err(|flaw| self.corrupt(seen, flaw))?;
        let dictionary = self.dictionary_of(&part, None, seen)?;
        part.expand(&mut image, packed.len(), id, None, dictionary.as_deref())
            .map_err(|flaw| self.corrupt(seen, flaw))?;
        let image = image.page();
        let layout = PageLayout::of(image).map_err(|flaw| self.corrupt(seen, flaw))?;
        let parts = container::parts(packed).map_err(|flaw| self.corrupt(seen, flaw))?;
        let root = mini.write(self.root)?;
        let leaf = mini.write(leaf)?;
        let page = root::allocate_page(&mut mini, &shared.space, self.object, root)?;
        let handle = mini.create(page)?;
        mini.apply_with(handle, RecordKind::DATA_IMAGE, |out| {
            let variable = usize::from(u16_at(image, VARIABLE_START));
            container::image_payload(out, page, image, layout.end, variable);
        })?;
        mini.apply(leaf, RecordKind::PATCH, &directory::change(place, page))?;
        if parts.len() > 1 && !disabled(Rule::P2) {
            mini.apply(old, RecordKind::PACKED_REMOVE, &page_index.to_le_bytes())?;
        } else if parts.len() == 1 {
            root::free_page(&mut mini, self.object, root, seen)?;
        }
        mini.commit_with(|_, _| self.directory.replace(page_index, page))?;
        self.packing.unpacked.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
