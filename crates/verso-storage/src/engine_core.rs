//! What every part of the engine works on: pages, log, the gate between changes and checkpoints, and how records of the log
//! change pages.

use std::sync::Arc;

use verso_env::sync::{RwLockReadGuard, StripedRwLock, StripedWriteGuard};

use crate::StorageError;
use crate::bounds::PageBounds;
use crate::buffer::{BufferPool, LogGate};
use crate::clean::CleanPages;
use crate::page::{Flaw, Lsn};
use crate::unlogged::UnloggedObjects;
use crate::wal::{RecordKind, Wal};

/// Stripes of the checkpoint gate, for as many threads that do not meet.
const STRIPES: usize = 16;

/// What every part of the engine works on.
pub struct Core {
    /// Pages.
    pub pool: Arc<BufferPool>,
    /// Log.
    pub wal: Arc<Wal>,
    /// Held shared by who commits a mini-transaction, exclusively by a checkpoint for a moment.
    pub gate: CheckpointGate,
    /// How records change pages.
    pub redo: &'static dyn PageRedo,
    /// Pages that index-only scans need not visit.
    pub clean: CleanPages,
    /// Between which integers the values of pages lie.
    pub bounds: PageBounds,
    /// Objects whose pages the log does not know.
    pub unlogged: UnloggedObjects,
}

impl Core {
    /// Refuses every change from now on: what is on disk is not known, or pages and log do not agree any more.
    pub fn poison(&self, why: &StorageError) {
        self.wal.poison(Some(why));
        self.pool.poison(Some(why));
    }
}

/// Keeps a checkpoint from seeing half of a mini-transaction (M4).
#[derive(Default)]
pub struct CheckpointGate(StripedRwLock<(), STRIPES>);

impl CheckpointGate {
    /// For who changes something that a checkpoint collects.
    pub fn enter(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read()
    }

    /// For the checkpoint.
    pub fn close(&self) -> StripedWriteGuard<'_, (), STRIPES> {
        self.0.write()
    }
}

impl LogGate for Wal {
    fn flush_to(&self, lsn: Lsn) -> Result<(), StorageError> {
        // The failure itself was told by the log.
        self.flush(lsn).map_err(|error| match self.is_poisoned() {
            true => StorageError::Poisoned { why: Some(Arc::new(error)) },
            false => error,
        })
    }
}

/// How records of the log change pages: a pure function of (page, payload), the same at first and in recovery.
pub trait PageRedo: Send + Sync {
    /// Changes `page` as `payload` says.
    ///
    /// # Errors
    /// A flaw when the two do not fit together; the page is unchanged then (M2).
    fn redo(&self, kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw>;
}

/// The redo function of a module.
pub type RedoFn = fn(RecordKind, &mut [u8], &[u8]) -> Result<(), Flaw>;

/// Redo functions by ranges of record kinds, fixed at compile time.
pub struct RedoTable([Option<RedoFn>; 256]);

impl RedoTable {
    /// A table of (first kind, last kind, function); ranges that overlap do not compile.
    #[must_use]
    pub const fn new(ranges: &[(u8, u8, RedoFn)]) -> RedoTable {
        let mut table: [Option<RedoFn>; 256] = [None; 256];
        let mut index = 0;
        while index < ranges.len() {
            let (first, last, function) = ranges[index];
            let mut kind = first;
            while kind <= last {
                assert!(table[kind as usize].is_none(), "two redo functions for one kind of log records");
                table[kind as usize] = Some(function);
                if kind == u8::MAX {
                    break;
                }
                kind += 1;
            }
            index += 1;
        }
        RedoTable(table)
    }
}

impl PageRedo for RedoTable {
    fn redo(&self, kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
        match self.0[usize::from(kind.0)] {
            Some(function) => function(kind, page, payload),
            None => Err(Flaw::new(format!("log record of unknown kind {}", kind.0))),
        }
    }
}
