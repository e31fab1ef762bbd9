//! How an engine runs.

use verso_env::process::machine_bytes;
use verso_types::CollationData;

use crate::buffer::PoolOptions;
use crate::recovery::StoreOptions;
use crate::wal::WalOptions;

/// Who removes what no snapshot needs any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum GcPolicy {
    /// The housekeeping thread.
    #[default]
    Background,
    /// Each transaction that has written, when it ends.
    Cooperative,
    /// Both.
    Combined,
}

impl GcPolicy {
    /// As the setting spells them.
    pub const NAMES: [&str; 3] = ["background", "cooperative", "combined"];

    /// The policy of that name.
    pub fn of(name: &str) -> Option<GcPolicy> {
        let known = [GcPolicy::Background, GcPolicy::Cooperative, GcPolicy::Combined];
        known.into_iter().find(|policy| policy.name().eq_ignore_ascii_case(name))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        GcPolicy::NAMES[self as usize]
    }

    pub(crate) fn from_u8(number: u8) -> GcPolicy {
        match number {
            0 => GcPolicy::Background,
            1 => GcPolicy::Cooperative,
            _ => GcPolicy::Combined,
        }
    }
}

/// How an engine runs.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Bytes of a page, at creation: 4, 8, 16 or 32 KiB.
    pub page_size: u32,
    /// Bytes of the buffer pool.
    pub buffer_pool_bytes: u64,
    /// The database never grows beyond this.
    pub max_database_bytes: u64,
    /// Bytes of the log's ring buffer.
    pub log_buffer_bytes: u64,
    /// The page cleaner stops below this share of dirty frames, in per cent.
    pub lru_min_dirty: u8,
    /// The page cleaner starts above this share of dirty frames, in per cent.
    pub lru_max_dirty: u8,
    /// Whether dead transactions are backed out in the background.
    pub auto_backout: bool,
    /// OST − OIT beyond which a sweep starts by itself; 0 = never.
    pub sweep_interval: u64,
    /// Longest time between checkpoints.
    pub checkpoint_interval_ms: u64,
    /// Most log that recovery may have to read before a checkpoint is made.
    pub checkpoint_log_bytes: u64,
    /// Rollback undoes up to this many records at once (F4).
    pub eager_rollback_records: u64,
    /// Whether a database is opened whose log is damaged before its end: without what stands behind the damage, and without
    /// pages that were changed by it or cannot be brought up to date. What is lost is reported.
    pub open_damaged_log: bool,
    /// Which data the keys of collations are made from: those of the program, but in tests.
    #[doc(hidden)]
    pub collation_data: CollationData,
    /// Whether housekeeping and checkpoints run on threads of their own; tests that replay switch it off.
    pub background: bool,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            page_size: 16 << 10,
            buffer_pool_bytes: 256 << 20,
            max_database_bytes: 1 << 40,
            log_buffer_bytes: 4 << 20,
            lru_min_dirty: 50,
            lru_max_dirty: 60,
            auto_backout: true,
            sweep_interval: 20_000,
            checkpoint_interval_ms: 300_000,
            checkpoint_log_bytes: 256 << 20,
            eager_rollback_records: 1000,
            open_damaged_log: false,
            collation_data: CollationData::BUILT_IN,
            background: true,
        }
    }
}

/// As store, pool and log take them.
pub(super) fn store_options(options: &EngineOptions, page_size: Option<usize>) -> StoreOptions {
    let pool = PoolOptions {
        page_size: options.page_size as usize,
        capacity_bytes: options.buffer_pool_bytes,
        // Simulated pools stay as they are: room for more costs time at each of many openings.
        capacity_max_bytes: if options.background { machine_bytes().unwrap_or(0) } else { 0 },
        max_database_bytes: options.max_database_bytes,
        lru_min_dirty: options.lru_min_dirty,
        lru_max_dirty: options.lru_max_dirty,
    };
    let mut wal = WalOptions { background: options.background, ..WalOptions::default() };
    wal.buffer_count = (options.log_buffer_bytes as usize / wal.chunk_bytes).max(2);
    StoreOptions { pool, page_size, wal, open_damaged_log: options.open_damaged_log }
}
