//! The buffers between those who append and those who write.

use std::collections::VecDeque;

use super::chunk::ChunkBuffer;
use crate::page::Lsn;

/// Guarded by the log's `queue` lock; what every append looks at stands in front, on the cache line of the lock.
#[repr(C)]
pub(super) struct Queue {
    /// Being filled.
    active: ChunkBuffer,
    chunk_bytes: usize,
    /// To be written, oldest first.
    pub full: VecDeque<ChunkBuffer>,
    free: Vec<ChunkBuffer>,
    /// Groups appended before the active buffer's.
    groups: u64,
    /// The log writer shall make a spare segment.
    pub spare_wanted: bool,
    /// The log writer shall end.
    pub stopped: bool,
}

impl Queue {
    pub fn new(start: Lsn, chunk_bytes: usize, buffer_count: usize) -> Queue {
        let buffer = || ChunkBuffer::new(start, chunk_bytes);
        Queue {
            active: buffer(),
            full: VecDeque::with_capacity(buffer_count),
            free: (1..buffer_count.max(2)).map(|_| buffer()).collect(),
            chunk_bytes,
            groups: 0,
            spare_wanted: false,
            stopped: false,
        }
    }

    /// Groups appended so far.
    pub fn groups(&self) -> u64 {
        self.groups + u64::from(self.active.groups)
    }

    /// Whether a group of `length` bytes goes into the active buffer. One that is longer than a buffer gets one of
    /// its own.
    pub fn takes(&self, length: usize) -> bool {
        self.active.is_empty() || self.active.len() + length <= self.chunk_bytes
    }

    pub fn push(&mut self, group: &[u8]) -> (Lsn, Lsn) {
        let start = self.active.end();
        self.active.push(group);
        (start, self.active.end())
    }

    /// Puts the active buffer into the row of full ones; `false` if there is no free one to follow it.
    pub fn rotate(&mut self) -> bool {
        match self.free.pop() {
            Some(next) => {
                let full = self.replace_active(next);
                self.full.push_back(full);
                true
            }
            None => false,
        }
    }

    /// Takes the active buffer away to be written; `None` if there is nothing in it.
    pub fn take_active(&mut self) -> Option<ChunkBuffer> {
        if self.active.is_empty() {
            return None;
        }
        // All buffers on their way is rare and short; one more is dropped again by `give_back`.
        let next = self.free.pop().unwrap_or_else(|| ChunkBuffer::new(Lsn::ZERO, self.chunk_bytes));
        Some(self.replace_active(next))
    }

    fn replace_active(&mut self, mut next: ChunkBuffer) -> ChunkBuffer {
        next.reset(self.active.end(), self.chunk_bytes);
        self.groups += u64::from(self.active.groups);
        std::mem::replace(&mut self.active, next)
    }

    /// A written buffer can be used again.
    pub fn give_back(&mut self, mut chunk: ChunkBuffer) {
        if self.free.len() < self.free.capacity() {
            chunk.reset(Lsn::ZERO, self.chunk_bytes);
            self.free.push(chunk);
        }
    }
}
