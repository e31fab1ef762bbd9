//! What sessions wait for, by kind: the numbers of `wait_event` and of `verso_waits`.

use verso_storage::{LockInfo, LockTarget, Waited};

/// A wait for the disk: `CommitFlush`.
pub(crate) const COMMIT_FLUSH: &str = "CommitFlush";
/// A wait for a share of the machine.
pub(crate) const ADMISSION: &str = "Admission";

/// Waits that the session itself counts; those for locks the lock manager counts.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// Commits that waited for the disk.
    pub(crate) flush: Waited,
    /// Statements that waited in the queue for a share of the machine.
    pub(crate) queue: Waited,
}

/// How PostgreSQL calls a kind of lock.
pub(crate) fn lock_kind(target: &LockTarget) -> &'static str {
    match target {
        LockTarget::Table(_) => "relation",
        LockTarget::Records { .. } => "tuple",
        LockTarget::Pages { .. } => "page",
        LockTarget::Transaction(_) => "transactionid",
        LockTarget::Name(_) => "object",
        LockTarget::Advisory(_) => "advisory",
    }
}

/// The kind of lock that a session waits for.
pub(crate) fn awaited_lock(locks: &[LockInfo], session: u64) -> Option<&'static str> {
    locks.iter().find(|lock| lock.session == session && !lock.granted).map(|lock| lock_kind(&lock.target))
}
