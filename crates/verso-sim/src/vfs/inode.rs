//! The bytes of one file: what programs see, what is durable, and what stands between the two.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;

use super::SECTOR_BYTES;
use crate::rng::Rng;

/// Disk space is handed out in units of so many bytes.
pub(super) const SPACE_UNIT_BYTES: u64 = 4096;

/// What a crash does to pending changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    Everything,
    Nothing,
    Random,
}

/// A change that is not durable yet.
#[derive(Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

/// A file's content.
#[derive(Clone, Default)]
pub(super) struct Inode {
    live: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
    /// Changes that have been synced so far; pending ones follow.
    synced_count: u64,
    /// Units of disk space that the file owns.
    units: BTreeSet<u64>,
    /// The handle that holds the lock.
    pub(super) locked_by: Option<u64>,
}

impl Inode {
    pub(super) fn live(&self) -> &[u8] {
        &self.live
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.units.len() as u64 * SPACE_UNIT_BYTES
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.units.extend(units_of(offset as u64, bytes.len() as u64));
        self.change(Change::Write { offset, bytes: bytes.to_vec() });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        if len != self.live.len() {
            let first_free = (len as u64).div_ceil(SPACE_UNIT_BYTES);
            self.units.split_off(&first_free);
            self.change(Change::SetLen(len));
        }
    }

    /// Takes the space and extends the file as needed.
    pub(super) fn preallocate(&mut self, offset: u64, len: u64) {
        self.units.extend(units_of(offset, len));
        let end = (offset + len) as usize;
        if end > self.live.len() {
            self.change(Change::SetLen(end));
        }
    }

    /// How many bytes of space a write or preallocation of `len` bytes would take anew.
    pub(super) fn missing_bytes(&self, offset: u64, len: u64) -> u64 {
        let missing = units_of(offset, len).filter(|unit| !self.units.contains(unit)).count();
        missing as u64 * SPACE_UNIT_BYTES
    }

    /// The moment up to which a sync that begins now reaches.
    pub(super) fn sync_point(&self) -> u64 {
        self.synced_count + self.pending.len() as u64
    }

    /// Makes every change before `point` durable.
    pub(super) fn sync_to(&mut self, point: u64) {
        let count = point.saturating_sub(self.synced_count).min(self.pending.len() as u64);
        for change in self.pending.drain(..count as usize) {
            apply(&change, &mut self.durable);
        }
        self.synced_count += count;
    }

    /// A sync that fails: some pending sectors reach the disk, the others never will.
    pub(super) fn fail_sync(&mut self, rng: &mut Rng) {
        self.settle(rng, Loss::Random);
    }

    /// The power is cut: programs see what is durable.
    pub(super) fn crash(&mut self, rng: &mut Rng, loss: Loss) {
        self.settle(rng, loss);
        self.live.clone_from(&self.durable);
        self.locked_by = None;
        let first_free = (self.live.len() as u64).div_ceil(SPACE_UNIT_BYTES);
        self.units.split_off(&first_free);
    }

    /// Content and durable content at once.
    pub(super) fn replace(&mut self, bytes: &[u8]) {
        self.set_len(0);
        self.write(0, bytes);
        self.sync_to(u64::MAX);
    }

    pub(super) fn flip_bit(&mut self, offset: u64, bit: u8) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let flip = 1 << (bit % 8);
        *self.live.get_mut(offset).ok_or(io::ErrorKind::InvalidInput)? ^= flip;
        if let Some(byte) = self.durable.get_mut(offset) {
            *byte ^= flip;
        }
        Ok(())
    }

    fn change(&mut self, change: Change) {
        apply(&change, &mut self.live);
        self.pending.push(change);
    }

    /// Decides what of the pending changes is durable.
    fn settle(&mut self, rng: &mut Rng, loss: Loss) {
        let pending = std::mem::take(&mut self.pending);
        self.synced_count += pending.len() as u64;
        let choice = match loss {
            Loss::Everything => Choice::None,
            Loss::Nothing => Choice::All,
            Loss::Random => *rng.pick(&[Choice::None, Choice::All, Choice::Prefix, Choice::Sectors]),
        };
        match choice {
            Choice::None => {}
            Choice::All => pending.iter().for_each(|change| apply(change, &mut self.durable)),
            Choice::Prefix => {
                let whole_count = rng.index(pending.len() + 1);
                pending[..whole_count].iter().for_each(|change| apply(change, &mut self.durable));
                let torn = pending.get(whole_count).map(std::slice::from_ref).unwrap_or_default();
                settle_sectors(&mut self.durable, torn, rng);
            }
            Choice::Sectors => settle_sectors(&mut self.durable, &pending, rng),
        }
    }
}

/// How pending changes of one file survive.
#[derive(Clone, Copy, Debug)]
enum Choice {
    None,
    All,
    /// The first ones whole, one torn, the others not.
    Prefix,
    /// Every sector on its own: any of its contents since the sync.
    Sectors,
}

/// The file's length behind `change`, if it was `len` before.
fn len_behind(change: &Change, len: usize) -> usize {
    match change {
        Change::Write { offset, bytes } => len.max(offset + bytes.len()),
        Change::SetLen(len) => *len,
    }
}

/// Every sector gets one of its contents, and the file one of its lengths, at random. Cuts of the file are done
/// in order, and what was written behind a lost cut is lost too: it went to space that the file does not own then.
fn settle_sectors(durable: &mut Vec<u8>, changes: &[Change], rng: &mut Rng) {
    let mut sectors: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut cuts: Vec<usize> = Vec::new();
    let mut len_choices = vec![durable.len()];
    let (mut len, mut longest) = (durable.len(), durable.len());
    for (at, change) in changes.iter().enumerate() {
        let len_before = len;
        len = len_behind(change, len);
        longest = longest.max(len);
        if len < len_before {
            if rng.one_in(2) {
                break;
            }
            cuts.push(at);
            len_choices = vec![len];
        } else if len > len_before {
            len_choices.push(len);
        }
        if let Change::Write { offset, bytes } = change {
            for sector in offset / SECTOR_BYTES..(offset + bytes.len()).div_ceil(SECTOR_BYTES) {
                sectors.entry(sector).or_default().push(at);
            }
        }
    }
    let before = durable.clone();
    for cut in &cuts {
        apply(&changes[*cut], durable);
    }
    durable.resize(longest, 0);
    for (sector, mut touching) in sectors {
        touching.extend(cuts.iter().filter(|cut| cuts_sector(&changes[**cut], sector)));
        touching.sort_unstable();
        let least = touching.iter().rposition(|at| matches!(changes[*at], Change::SetLen(_)));
        let least_count = least.map_or(0, |at| at + 1);
        let kept_count = rng.between(least_count as u64, touching.len() as u64) as usize;
        let from = sector * SECTOR_BYTES;
        let content = &mut durable[from..longest.min(from + SECTOR_BYTES)];
        content.fill(0);
        let old = &before[from.min(before.len())..before.len().min(from + SECTOR_BYTES)];
        content[..old.len()].copy_from_slice(old);
        for at in &touching[..kept_count] {
            apply_in_sector(from, &changes[*at], content);
        }
    }
    durable.truncate(*rng.pick(&len_choices));
}

/// Whether a cut removes bytes of a sector.
fn cuts_sector(cut: &Change, sector: usize) -> bool {
    matches!(cut, Change::SetLen(len) if *len < (sector + 1) * SECTOR_BYTES)
}

/// The part of a change that falls into the sector that begins at `from`.
fn apply_in_sector(from: usize, change: &Change, sector: &mut [u8]) {
    match change {
        Change::SetLen(len) => {
            let kept = len.saturating_sub(from).min(sector.len());
            sector[kept..].fill(0);
        }
        Change::Write { offset, bytes } => {
            let begin = (*offset).max(from);
            let end = (offset + bytes.len()).min(from + sector.len());
            sector[begin - from..end - from].copy_from_slice(&bytes[begin - offset..end - offset]);
        }
    }
}

fn apply(change: &Change, to: &mut Vec<u8>) {
    match change {
        Change::SetLen(len) => to.resize(*len, 0),
        Change::Write { offset, bytes } => {
            let end = offset + bytes.len();
            if to.len() < end {
                to.resize(end, 0);
            }
            to[*offset..end].copy_from_slice(bytes);
        }
    }
}

/// The units of space that a range of bytes lies in.
fn units_of(offset: u64, len: u64) -> Range<u64> {
    offset / SPACE_UNIT_BYTES..(offset + len).div_ceil(SPACE_UNIT_BYTES)
}
