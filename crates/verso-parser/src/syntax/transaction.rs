//! What a transaction is begun with.

/// Options of a transaction; what is not given follows from the session's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub isolation: Option<IsolationLevel>,
    /// READ ONLY, READ WRITE.
    pub read_only: Option<bool>,
    /// NO SAVEPOINT (false), SAVEPOINT (true).
    pub savepoints: Option<bool>,
    /// DEFERRABLE, NOT DEFERRABLE.
    pub deferrable: Option<bool>,
    /// The name or number of a snapshot to be taken over.
    pub snapshot: Option<String>,
}

/// `WRITE [WAIT | NOWAIT] [IMMEDIATE | BATCH]` of a COMMIT; what is not given follows from the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitWrite {
    /// WAIT (true), NOWAIT (false).
    pub wait: Option<bool>,
    /// BATCH (true), IMMEDIATE (false).
    pub batch: Option<bool>,
}

/// The levels, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// Sees uncommitted rows.
    ReadUncommitted,
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// One snapshot; also spelled REPEATABLE READ.
    Snapshot,
    /// As if alone.
    Serializable,
}

impl IsolationLevel {
    /// As SHOW prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            IsolationLevel::ReadUncommitted => "read uncommitted",
            IsolationLevel::ReadCommitted => "read committed",
            IsolationLevel::Snapshot => "repeatable read",
            IsolationLevel::Serializable => "serializable",
        }
    }

    /// From a setting's text.
    pub fn parse(text: &str) -> Option<IsolationLevel> {
        Some(match text.to_ascii_lowercase().as_str() {
            "read uncommitted" => IsolationLevel::ReadUncommitted,
            "read committed" => IsolationLevel::ReadCommitted,
            "repeatable read" | "snapshot" => IsolationLevel::Snapshot,
            "serializable" => IsolationLevel::Serializable,
            _ => return None,
        })
    }
}
