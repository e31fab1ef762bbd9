//! Lock modes and which of them exclude each other.

/// How a table is locked: PostgreSQL's eight modes, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TableLockMode {
    /// Reading.
    AccessShare,
    /// Locking rows (FOR UPDATE …).
    RowShare,
    /// Changing rows.
    RowExclusive,
    /// Maintenance and changes of definitions that let readers and writers go on.
    ShareUpdateExclusive,
    /// No changes of rows by others (CREATE INDEX).
    Share,
    /// As `Share`, but only one has it.
    ShareRowExclusive,
    /// Others may only read.
    Exclusive,
    /// Nobody else (DROP, TRUNCATE, ALTER).
    AccessExclusive,
}

impl TableLockMode {
    /// All of them, weakest first.
    pub const ALL: [TableLockMode; 8] = [
        TableLockMode::AccessShare,
        TableLockMode::RowShare,
        TableLockMode::RowExclusive,
        TableLockMode::ShareUpdateExclusive,
        TableLockMode::Share,
        TableLockMode::ShareRowExclusive,
        TableLockMode::Exclusive,
        TableLockMode::AccessExclusive,
    ];

    /// The modes that it excludes, a bit each.
    pub(super) fn conflicts(self) -> u8 {
        // From PostgreSQL's documentation, table 13.2; bit n stands for mode n.
        match self {
            TableLockMode::AccessShare => 0b1000_0000,
            TableLockMode::RowShare => 0b1100_0000,
            TableLockMode::RowExclusive => 0b1111_0000,
            TableLockMode::ShareUpdateExclusive => 0b1111_1000,
            TableLockMode::Share => 0b1110_1100,
            TableLockMode::ShareRowExclusive => 0b1111_1100,
            TableLockMode::Exclusive => 0b1111_1110,
            TableLockMode::AccessExclusive => 0b1111_1111,
        }
    }

    /// Whether it excludes `other`.
    pub fn excludes(self, other: TableLockMode) -> bool {
        self.conflicts() >> other as u8 & 1 == 1
    }

    /// Whether it excludes none of its like: the modes of everyday statements.
    pub(super) fn is_weak(self) -> bool {
        self <= TableLockMode::RowExclusive
    }

    /// Whether it excludes a weak one.
    pub(super) fn is_strong(self) -> bool {
        self >= TableLockMode::Share
    }

    /// As `pg_locks` shows it.
    pub fn name(self) -> &'static str {
        match self {
            TableLockMode::AccessShare => "AccessShareLock",
            TableLockMode::RowShare => "RowShareLock",
            TableLockMode::RowExclusive => "RowExclusiveLock",
            TableLockMode::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            TableLockMode::Share => "ShareLock",
            TableLockMode::ShareRowExclusive => "ShareRowExclusiveLock",
            TableLockMode::Exclusive => "ExclusiveLock",
            TableLockMode::AccessExclusive => "AccessExclusiveLock",
        }
    }
}

/// How a record is locked: PostgreSQL's four modes, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RecordLockMode {
    /// Its key stays (foreign keys; FOR KEY SHARE).
    KeyShare,
    /// It stays as it is (FOR SHARE).
    Share,
    /// It is about to change, its key is not (FOR NO KEY UPDATE; UPDATE of other columns).
    NoKeyUpdate,
    /// It is about to change or to go (FOR UPDATE; UPDATE of key columns, DELETE).
    Update,
}

impl RecordLockMode {
    /// All of them, weakest first.
    pub const ALL: [RecordLockMode; 4] = [
        RecordLockMode::KeyShare,
        RecordLockMode::Share,
        RecordLockMode::NoKeyUpdate,
        RecordLockMode::Update,
    ];

    /// The modes that it excludes, a bit each (PostgreSQL's documentation, table 13.3).
    pub(super) fn conflicts(self) -> u8 {
        match self {
            RecordLockMode::KeyShare => 0b1000,
            RecordLockMode::Share => 0b1100,
            RecordLockMode::NoKeyUpdate => 0b1110,
            RecordLockMode::Update => 0b1111,
        }
    }

    /// Whether it excludes `other`.
    pub fn excludes(self, other: RecordLockMode) -> bool {
        self.conflicts() >> other as u8 & 1 == 1
    }

    /// As `pg_locks` would show it.
    pub fn name(self) -> &'static str {
        match self {
            RecordLockMode::KeyShare => "For Key Share",
            RecordLockMode::Share => "For Share",
            RecordLockMode::NoKeyUpdate => "For No Key Update",
            RecordLockMode::Update => "For Update",
        }
    }
}

/// What happens when a lock cannot be had at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Wait, as long as the lock timeout allows.
    Block,
    /// `LockNotAvailable` (NOWAIT).
    NoWait,
    /// Go on without it (SKIP LOCKED).
    SkipLocked,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclusion_is_mutual() {
        for a in TableLockMode::ALL {
            for b in TableLockMode::ALL {
                assert_eq!(a.excludes(b), b.excludes(a), "{a:?} {b:?}");
                if a.is_weak() && b.is_weak() {
                    assert!(!a.excludes(b));
                }
                if a.is_weak() && a.excludes(b) {
                    assert!(b.is_strong());
                }
            }
        }
        for a in RecordLockMode::ALL {
            for b in RecordLockMode::ALL {
                assert_eq!(a.excludes(b), b.excludes(a), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn table_modes_exclude_as_postgresqls_documentation_says() {
        use TableLockMode::*;
        let excluded = |mode: TableLockMode| -> Vec<TableLockMode> {
            TableLockMode::ALL.into_iter().filter(|other| mode.excludes(*other)).collect()
        };
        assert_eq!(excluded(AccessShare), [AccessExclusive]);
        assert_eq!(excluded(RowShare), [Exclusive, AccessExclusive]);
        assert_eq!(excluded(RowExclusive), [Share, ShareRowExclusive, Exclusive, AccessExclusive]);
        assert_eq!(
            excluded(Share),
            [RowExclusive, ShareUpdateExclusive, ShareRowExclusive, Exclusive, AccessExclusive]
        );
        assert_eq!(excluded(ShareUpdateExclusive).len(), 5);
        assert_eq!(excluded(AccessExclusive).len(), 8);
    }
}
