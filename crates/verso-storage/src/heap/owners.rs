//! Writers and back pointers of the records of a page that a change concerns.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::layout::{FLAG_ALIKE, PageLayout};
use super::slots::Slots;
use crate::page::bytes::u64_at;
use crate::page::{TxnId, header};

/// Writers and back pointers of some records of a page; in bulk they are mostly alike.
pub(super) enum Owners {
    Alike((u64, u64)),
    Each(Vec<(u64, u64)>),
}

impl Owners {
    pub fn of(page: &[u8], layout: &PageLayout, slots: Slots<'_>) -> Owners {
        let owner = |slot: u16| {
            let at = usize::from(slot) * 8;
            (u64_at(page, layout.writer + at), u64_at(page, layout.back + at))
        };
        if header::flags(page) & FLAG_ALIKE != 0 {
            return Owners::Alike(owner(0));
        }
        if let Slots::Run { first, count } = slots {
            let alike = |array: usize| {
                let bytes = &page[array + usize::from(first) * 8..][..usize::from(count) * 8];
                bytes[8..] == bytes[..bytes.len() - 8]
            };
            if count > 0 && alike(layout.writer) && alike(layout.back) {
                return Owners::Alike(owner(first));
            }
        }
        Owners::Each(slots.iter().map(owner).collect())
    }

    pub fn get(&self, rank: usize) -> (u64, u64) {
        match self {
            Owners::Alike(pair) => *pair,
            Owners::Each(pairs) => pairs[rank],
        }
    }

    /// The records that `id` changed before, and those that it changes for the first time.
    pub fn split<'s>(&self, id: TxnId, slots: &'s [u16]) -> (Cow<'s, [u16]>, Cow<'s, [u16]>) {
        match self {
            Owners::Alike((writer, _)) if TxnId(*writer) == id => (slots.into(), (&[]).into()),
            Owners::Alike(_) => ((&[]).into(), slots.into()),
            Owners::Each(pairs) => {
                let of_slot = |slot: &(&u16, &(u64, u64))| TxnId(slot.1.0) == id;
                let (own, fresh): (Vec<_>, Vec<_>) = slots.iter().zip(pairs).partition(of_slot);
                let slots = |part: Vec<(&u16, _)>| part.into_iter().map(|(slot, _)| *slot).collect();
                (Cow::Owned(slots(own)), Cow::Owned(slots(fresh)))
            }
        }
    }

    /// Those of `group`, a part of `slots`: one if they are alike.
    pub fn of_group(&self, slots: &[u16], group: &[u16]) -> SmallVec<[(u64, u64); 1]> {
        match self {
            Owners::Alike(pair) => SmallVec::from_elem(*pair, 1),
            Owners::Each(pairs) => {
                let mut some: SmallVec<[(u64, u64); 1]> =
                    group.iter().map(|slot| pairs[rank(slots, *slot)]).collect();
                if some.iter().all(|pair| *pair == some[0]) {
                    some.truncate(1);
                }
                some
            }
        }
    }

    /// The records of `group` have a new owner.
    pub fn set(&mut self, slots: &[u16], group: &[u16], owner: (u64, u64)) {
        if group.len() == slots.len() {
            *self = Owners::Alike(owner);
            return;
        }
        if let Owners::Alike(pair) = self {
            *self = Owners::Each(vec![*pair; slots.len()]);
        }
        if let Owners::Each(pairs) = self {
            group.iter().for_each(|slot| pairs[rank(slots, *slot)] = owner);
        }
    }
}

/// Records, and the columns whose old values an entry of theirs has to hold.
pub(super) type Link<'a> = (Cow<'a, [u16]>, SmallVec<[u16; 8]>);

pub(super) fn rank(slots: &[u16], slot: u16) -> usize {
    slots.binary_search(&slot).expect("groups are parts of the slots")
}
