//! Transactions over pages: pages, log, buffer pool, versions, heap, recovery, sweep
#![forbid(unsafe_code)]
