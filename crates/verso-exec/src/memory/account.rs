//! Accounts and reservations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use crate::error::{ExecError, Result};

/// What one place may hold without being counted.
pub const SMALL_BYTES: u64 = 16 << 10;
/// Reservations grow by so much: a counter that sessions share is touched once for many batches.
const GRANULE: u64 = 64 << 10;
/// No limit.
const NONE: u64 = u64::MAX;

/// Whose memory an account counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All sessions of an open database.
    Instance,
    /// A session's.
    Session,
    /// A statement's.
    Statement,
    /// One operator's.
    Operator,
    /// The machine's: the system has refused memory.
    Machine,
}

impl Scope {
    /// The setting that limits it.
    #[must_use]
    pub fn setting(self) -> &'static str {
        match self {
            Scope::Instance => "memory_limit",
            Scope::Session => "session_memory_limit",
            Scope::Statement => "statement_memory_limit",
            Scope::Operator => "work_mem",
            Scope::Machine => "the memory of the machine",
        }
    }
}

/// A request that would have exceeded a limit; nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Whose limit.
    pub scope: Scope,
    /// The limit.
    pub limit_bytes: u64,
}

impl Refused {
    /// The error of an operator that cannot do without.
    #[cold]
    pub fn error(self, what: &'static str) -> ExecError {
        match self.scope {
            Scope::Machine => ExecError::no_memory(what, self.limit_bytes),
            scope => ExecError::OutOfMemory { what, limit_bytes: self.limit_bytes, setting: scope.setting() },
        }
    }
}

/// Counts memory, and knows a limit; shared by those who charge it.
#[derive(Clone, Debug)]
pub struct Account {
    node: Arc<Node>,
}

#[derive(Debug)]
struct Node {
    scope: Scope,
    limit: AtomicU64,
    used: AtomicU64,
    peak: AtomicU64,
    /// For tests: after so many requests one is refused; 0 is never.
    refuse_at: AtomicU64,
    /// Requests so far, counted for tests only.
    requests: AtomicU64,
    parent: Option<Account>,
}

impl Account {
    /// An account of its own. A limit of 0 is none, here and below.
    #[must_use]
    pub fn new(scope: Scope, limit_bytes: u64) -> Account {
        Account::of(scope, limit_bytes, None)
    }

    /// An account whose memory counts for this one, too.
    #[must_use]
    pub fn child(&self, scope: Scope, limit_bytes: u64) -> Account {
        Account::of(scope, limit_bytes, Some(self.clone()))
    }

    /// Counts, and refuses nothing: for expressions outside of any session.
    #[must_use]
    pub fn unlimited() -> &'static Account {
        static UNLIMITED: LazyLock<Account> = LazyLock::new(|| Account::new(Scope::Statement, 0));
        &UNLIMITED
    }

    fn of(scope: Scope, limit_bytes: u64, parent: Option<Account>) -> Account {
        let node = Node {
            scope,
            limit: AtomicU64::new(limit_of(limit_bytes)),
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            refuse_at: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            parent,
        };
        Account { node: Arc::new(node) }
    }

    /// The account of the instance that it counts for; none outside of one.
    #[must_use]
    pub fn of_instance(&self) -> Option<&Account> {
        let mut account = self;
        while account.node.scope != Scope::Instance {
            account = account.node.parent.as_ref()?;
        }
        Some(account)
    }

    /// Changes the limit; what is held already stays.
    pub fn set_limit(&self, limit_bytes: u64) {
        self.node.limit.store(limit_of(limit_bytes), Ordering::Relaxed);
    }

    /// The limit; 0 is none.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        match self.node.limit.load(Ordering::Relaxed) {
            NONE => 0,
            limit => limit,
        }
    }

    /// The least of its limit and those above it; `u64::MAX` where there is none.
    #[must_use]
    pub fn least_limit_bytes(&self) -> u64 {
        let own = self.node.limit.load(Ordering::Relaxed);
        self.node.parent.as_ref().map_or(own, |parent| own.min(parent.least_limit_bytes()))
    }

    /// What is held now.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.node.used.load(Ordering::Relaxed)
    }

    /// The most that was held at a time since [`Account::begin`].
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.node.peak.load(Ordering::Relaxed)
    }

    /// Measures the peak anew.
    pub fn begin(&self) {
        self.node.peak.store(self.used_bytes(), Ordering::Relaxed);
    }

    /// Whether nobody but the caller charges it: no reservation of it is left.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        Arc::strong_count(&self.node) == 1
    }

    /// For tests: refuses the request after so many others, once; 0 is none.
    pub fn refuse_at(&self, request: u64) {
        self.node.refuse_at.store(request, Ordering::Relaxed);
        self.node.requests.store(0, Ordering::Relaxed);
    }

    /// For tests: whether the request of [`Account::refuse_at`] was made.
    #[must_use]
    pub fn has_refused(&self) -> bool {
        let refuse_at = self.node.refuse_at.load(Ordering::Relaxed);
        refuse_at > 0 && self.node.requests.load(Ordering::Relaxed) >= refuse_at
    }

    /// An empty reservation for what `what` names, which may hold `limit_bytes` (`u64::MAX`: as much as the accounts
    /// allow).
    #[must_use]
    pub fn reserve(&self, what: &'static str, limit_bytes: u64) -> Reservation {
        Reservation { account: self.clone(), what, limit_bytes, bytes: 0, granted: 0 }
    }

    /// Whether so much more would be granted now. Nothing is charged: for memory that is held for a moment.
    ///
    /// # Errors
    /// `Refused`.
    pub fn check_room(&self, bytes: u64) -> Result<(), Refused> {
        self.grow(bytes)?;
        self.shrink(bytes);
        Ok(())
    }

    fn grow(&self, bytes: u64) -> Result<(), Refused> {
        let node = &*self.node;
        let limit = node.limit.load(Ordering::Relaxed);
        let refused = Refused { scope: node.scope, limit_bytes: limit };
        let refuse_at = node.refuse_at.load(Ordering::Relaxed);
        if refuse_at > 0 && node.requests.fetch_add(1, Ordering::Relaxed) + 1 == refuse_at {
            return Err(refused);
        }
        let used = node.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let granted = match &node.parent {
            _ if used > limit => Err(refused),
            Some(parent) => parent.grow(bytes),
            // Until what stands in for it has been given back.
            None if verso_env::spare::is_used() => Err(Refused { scope: Scope::Machine, limit_bytes: bytes }),
            None => Ok(()),
        };
        match granted {
            Ok(()) => {
                node.peak.fetch_max(used, Ordering::Relaxed);
            }
            Err(_) => {
                node.used.fetch_sub(bytes, Ordering::Relaxed);
            }
        }
        granted
    }

    /// Charges what is there already, whatever the limits.
    fn charge(&self, bytes: u64) {
        let used = self.node.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.node.peak.fetch_max(used, Ordering::Relaxed);
        if let Some(parent) = &self.node.parent {
            parent.charge(bytes);
        }
    }

    fn shrink(&self, bytes: u64) {
        self.node.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(parent) = &self.node.parent {
            parent.shrink(bytes);
        }
    }
}

fn limit_of(limit_bytes: u64) -> u64 {
    if limit_bytes == 0 { NONE } else { limit_bytes }
}

/// Memory that one place holds, charged to an account until it is dropped.
#[derive(Debug)]
pub struct Reservation {
    account: Account,
    what: &'static str,
    limit_bytes: u64,
    bytes: u64,
    /// What the account was charged.
    granted: u64,
}

impl Reservation {
    /// Whether it is charged to this account.
    #[must_use]
    pub fn is_of(&self, account: &Account) -> bool {
        Arc::ptr_eq(&self.account.node, &account.node)
    }

    /// What it is for, as errors name it.
    #[must_use]
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// What is held.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What its account is charged for that.
    #[must_use]
    pub fn charged_bytes(&self) -> u64 {
        self.granted
    }

    /// What it may hold by itself.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// From now on so much is held, in place of what was. Refused, it holds what it held.
    ///
    /// # Errors
    /// `Refused`: for those who can do with less.
    pub fn try_resize(&mut self, bytes: u64) -> Result<(), Refused> {
        if bytes > self.limit_bytes {
            return Err(Refused { scope: Scope::Operator, limit_bytes: self.limit_bytes });
        }
        let wanted = if bytes <= SMALL_BYTES { 0 } else { bytes.next_multiple_of(GRANULE) };
        if wanted > self.granted {
            self.account.grow(wanted - self.granted)?;
        } else if wanted < self.granted {
            self.account.shrink(self.granted - wanted);
        }
        (self.bytes, self.granted) = (bytes, wanted);
        Ok(())
    }

    /// As [`Reservation::try_resize`], for those who cannot.
    ///
    /// # Errors
    /// `OutOfMemory`, which names the operator and the setting.
    pub fn resize(&mut self, bytes: u64) -> Result<()> {
        self.try_resize(bytes).map_err(|refused| refused.error(self.what))
    }

    /// So much is held already, in place of what was: counted even beyond the limits, so that others get less.
    pub fn hold(&mut self, bytes: u64) {
        let wanted = bytes.next_multiple_of(GRANULE);
        if wanted > self.granted {
            self.account.charge(wanted - self.granted);
        } else {
            self.account.shrink(self.granted - wanted);
        }
        (self.bytes, self.granted) = (wanted, wanted);
    }

    /// So much more is held.
    ///
    /// # Errors
    /// As [`Reservation::resize`].
    pub fn add(&mut self, bytes: u64) -> Result<()> {
        self.resize(self.bytes.saturating_add(bytes))
    }

    /// Holds nothing any more.
    pub fn clear(&mut self) {
        self.account.shrink(self.granted);
        (self.bytes, self.granted) = (0, 0);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.granted > 0 {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_anywhere_is_charged_nowhere() {
        let instance = Account::new(Scope::Instance, 1 << 20);
        let session = instance.child(Scope::Session, 0);
        let statement = session.child(Scope::Statement, 512 << 10);
        let mut sort = statement.reserve("a sort", u64::MAX);
        sort.resize(400 << 10).expect("room");
        assert_eq!((instance.used_bytes(), statement.used_bytes()), (448 << 10, 448 << 10));
        let refused = sort.try_resize(600 << 10).expect_err("the statement's limit");
        assert_eq!(refused, Refused { scope: Scope::Statement, limit_bytes: 512 << 10 });
        assert_eq!((sort.bytes(), instance.used_bytes()), (400 << 10, 448 << 10));

        let other = instance.child(Scope::Session, 0).child(Scope::Statement, 0);
        let mut hash = other.reserve("a join", u64::MAX);
        let refused = hash.try_resize(700 << 10).expect_err("the instance's limit");
        assert_eq!(refused.scope.setting(), "memory_limit");
        assert_eq!(other.used_bytes(), 0);
        drop(sort);
        hash.resize(700 << 10).expect("room again");
        drop(hash);
        assert_eq!((instance.used_bytes(), statement.peak_bytes()), (0, 448 << 10));
    }

    #[test]
    fn an_operator_has_a_limit_of_its_own_and_little_is_not_counted() {
        let statement = Account::new(Scope::Statement, 0);
        let mut spool = statement.reserve("a spool", 64);
        spool.resize(64).expect("room");
        let error = spool.resize(65).expect_err("more than work_mem");
        assert!(matches!(
            error,
            ExecError::OutOfMemory { what: "a spool", limit_bytes: 64, setting: "work_mem" }
        ));
        assert_eq!((statement.used_bytes(), statement.is_alone()), (0, false));
        drop(spool);
        assert!(statement.is_alone());
    }

    #[test]
    fn a_request_can_be_refused_for_a_test() {
        let statement = Account::new(Scope::Statement, 0);
        statement.refuse_at(2);
        let mut held = statement.reserve("a test", u64::MAX);
        held.resize(GRANULE).expect("the first");
        held.try_resize(2 * GRANULE).expect_err("the second");
        held.resize(2 * GRANULE).expect("the third");
    }
}
