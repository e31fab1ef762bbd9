//! Groups of the log that is being written, found again by their LSN.
//!
//! A change of many records stands in the log with its new values; when its own transaction replaces them, that is where
//! the replaced values are still to be read (F3). What is needed is pinned first.
//!
//! P1. A pin keeps the segment of its LSN and all later ones from being recycled.
//! P2. Chunks are never written twice (W1), so what was handed to the operating system can be read at any time.

use std::collections::BTreeMap;
use std::sync::Arc;

use verso_env::sync::Mutex;

use super::GroupView;
use super::chunk::{CHUNK_HEADER, ChunkHeader, SECTOR, verify_chunk};
use super::log::Wal;
use super::reader::corrupt;
use crate::StorageError;
use crate::page::{Flaw, Lsn};
use crate::rules::{Rule, disabled};

/// Where the pins are, and how many at each place.
#[derive(Default)]
pub(super) struct Pins(Mutex<BTreeMap<Lsn, usize>>);

impl Pins {
    pub fn add(self: &Arc<Self>, lsn: Lsn) -> LogPin {
        *self.0.lock().entry(lsn).or_default() += 1;
        LogPin { pins: Arc::clone(self), lsn }
    }

    /// The log from here on has to stay (P1).
    pub fn oldest(&self) -> Option<Lsn> {
        let oldest = self.0.lock().first_key_value().map(|(lsn, _)| *lsn);
        oldest.filter(|_| !disabled(Rule::F3Pin))
    }
}

/// Keeps the log from an LSN on until it is dropped.
pub struct LogPin {
    pins: Arc<Pins>,
    lsn: Lsn,
}

impl LogPin {
    /// From here on.
    #[must_use]
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }
}

impl std::fmt::Debug for LogPin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("LogPin").field(&self.lsn).finish()
    }
}

impl Drop for LogPin {
    fn drop(&mut self) {
        let mut pins = self.pins.0.lock();
        if let Some(count) = pins.get_mut(&self.lsn) {
            *count -= 1;
            if *count == 0 {
                pins.remove(&self.lsn);
            }
        }
    }
}

/// Reads groups of pinned log; cheap when they are asked for in ascending order, a chunk after the other.
pub struct LogLookup<'w> {
    wal: &'w Wal,
    /// The number of the segment that is being read, and where its next chunk stands.
    segment: Option<u64>,
    position: u64,
    /// The chunk read last, from `start` to `end`, and its bytes.
    start: Lsn,
    end: Lsn,
    bytes: Vec<u8>,
}

impl<'w> LogLookup<'w> {
    pub(super) fn new(wal: &'w Wal) -> LogLookup<'w> {
        let (start, end) = (Lsn::ZERO, Lsn::ZERO);
        LogLookup { wal, segment: None, position: 0, start, end, bytes: Vec::new() }
    }

    /// The group of `length` bytes that was appended at `lsn`.
    ///
    /// # Errors
    /// `Io`, `Poisoned`, `Corrupt` if it is not there.
    pub fn group(&mut self, lsn: Lsn, length: u64) -> Result<GroupView<'_>, StorageError> {
        if !(self.start..self.end).contains(&lsn) {
            self.wal.flush(Lsn(lsn.0 + length))?;
            self.find(lsn)?;
        }
        let offset = CHUNK_HEADER + (lsn.0 - self.start.0) as usize;
        let group = GroupView::parse(&self.bytes[offset..]).map_err(|flaw| corrupt(lsn, &flaw))?;
        if group.byte_len() as u64 != length {
            return Err(corrupt(lsn, &Flaw::from("a group of another length")));
        }
        Ok(group)
    }

    /// Reads the chunk that holds `lsn`.
    fn find(&mut self, lsn: Lsn) -> Result<(), StorageError> {
        let (segment, start) = self
            .wal
            .segments()
            .into_iter()
            .rfind(|(_, start)| *start <= lsn)
            .ok_or_else(|| corrupt(lsn, &Flaw::from("its segment is gone")))?;
        if self.segment != Some(segment.number) || lsn < self.end {
            self.segment = Some(segment.number);
            self.position = SECTOR as u64;
            self.end = start;
        }
        self.start = self.end;
        let read_error = |e| StorageError::io("reading the log", e);
        let lost = || corrupt(lsn, &Flaw::from("no chunk holds it"));
        while self.end <= lsn {
            self.start = self.end;
            self.bytes.resize(SECTOR, 0);
            let read = segment.file.read_at(&mut self.bytes, self.position).map_err(read_error)?;
            let header = ChunkHeader::parse(&self.bytes[..read], self.wal.database())
                .filter(|header| header.start == self.start)
                .ok_or_else(lost)?;
            if header.end() > lsn {
                self.bytes.resize(CHUNK_HEADER + header.length, 0);
                let read = segment.file.read_at(&mut self.bytes, self.position).map_err(read_error)?;
                if read < self.bytes.len() || !verify_chunk(&self.bytes) {
                    return Err(lost());
                }
            }
            self.position += header.disk_len();
            self.end = header.end();
        }
        Ok(())
    }
}
