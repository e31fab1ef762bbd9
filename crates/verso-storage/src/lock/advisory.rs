//! Advisory locks: numbers that mean what the application says.

use std::fmt;

use super::manager::Request;
use super::mode::{TableLockMode, WaitPolicy};
use super::owner::LockOwner;
use super::table::Tag;
use crate::txn::transaction::Txn;
use crate::{Engine, StorageError};

/// What an advisory lock is named by. Keys of the two shapes never mean the same lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AdvisoryKey {
    /// One 64-bit number.
    One(i64),
    /// Two 32-bit numbers.
    Two(i32, i32),
}

impl fmt::Display for AdvisoryKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdvisoryKey::One(key) => write!(out, "{key}"),
            AdvisoryKey::Two(first, second) => write!(out, "{first},{second}"),
        }
    }
}

/// In which mode of tables the lock is kept.
fn mode(shared: bool) -> u8 {
    (if shared { TableLockMode::Share } else { TableLockMode::Exclusive }) as u8
}

impl Engine {
    /// Takes an advisory lock for the session, to be given back by [`Engine::advisory_unlock`], once for each time it
    /// was taken, or by dropping the owner. Whether it was got (always with `Block`).
    ///
    /// # Errors
    /// `Deadlock`, `Cancelled`, `LockTimeout`, `LockNotAvailable`.
    pub fn advisory_lock(
        &self,
        owner: &LockOwner,
        key: AdvisoryKey,
        shared: bool,
        policy: WaitPolicy,
        timeout: Option<std::time::Duration>,
    ) -> Result<bool, StorageError> {
        let request = Request { policy, timeout, passes: false };
        self.locks_of().acquire(&owner.core, Tag::Advisory(key), mode(shared), true, request)
    }

    /// Gives an advisory lock of the session back; `false` if it was not held.
    pub fn advisory_unlock(&self, owner: &LockOwner, key: AdvisoryKey, shared: bool) -> bool {
        self.locks_of().release_one(&owner.core, Tag::Advisory(key), mode(shared))
    }

    /// Gives all advisory locks of the session back.
    pub fn advisory_unlock_all(&self, owner: &LockOwner) {
        self.locks_of().release_session(&owner.core);
    }
}

impl Txn {
    /// Whether its session and it itself have a lock on the same thing.
    pub fn shares_lock_with_session(&self) -> bool {
        self.shared.locks.holds_twice(&self.owner)
    }

    /// Takes an advisory lock until the transaction ends, or for its session. Whether it was got (always with `Block`).
    ///
    /// # Errors
    /// `Deadlock`, `Cancelled`, `LockTimeout`, `LockNotAvailable`.
    pub fn advisory_lock(
        &mut self,
        key: AdvisoryKey,
        shared: bool,
        session: bool,
        policy: WaitPolicy,
    ) -> Result<bool, StorageError> {
        let request = self.request(policy);
        self.shared.locks.acquire(&self.owner, Tag::Advisory(key), mode(shared), session, request)
    }

    /// Gives an advisory lock of its session back; `false` if it was not held.
    pub fn advisory_unlock(&mut self, key: AdvisoryKey, shared: bool) -> bool {
        self.shared.locks.release_one(&self.owner, Tag::Advisory(key), mode(shared))
    }

    /// Gives all advisory locks of its session back.
    pub fn advisory_unlock_all(&mut self) {
        self.shared.locks.release_session(&self.owner);
    }
}
