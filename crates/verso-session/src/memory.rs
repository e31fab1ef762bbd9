//! The memory of a session: its accounts, its temporary files, and what statements and portals are lent of them.
//!
//! ```text
//! instance (memory_limit) ◄── session (session_memory_limit) ◄─┬─ statement (statement_memory_limit) ◄── operators (work_mem)
//!                                                              └─ portals, cursors: rows that outlive their statement
//! ```
//!
//! A statement whose operators are kept by an open portal keeps its account; the next one gets another.

use std::sync::Arc;

use verso_env::sync::Mutex;
use verso_exec::memory::{Account, Memory, Refused, Reservation, Scope};
use verso_exec::spill::TempSpace;
use verso_storage::{KeyMemory, StorageError};

use crate::instance::Instance;
use crate::settings::Settings;
use verso_planner::errors::SqlError;

/// Shorter texts are not counted.
const TEXT_BYTES: usize = 4 << 10;
/// Bytes of syntax tree, plan and operators for a byte of text: of long lists of short literals, which take the most.
const TREE_BYTES: u64 = 64;

/// What a statement takes that is kept, beside what follows from its text: some 11 kB, and no less than is counted at all.
const KEPT_STATEMENT_BYTES: u64 = 16 << 10;

/// What a session holds, and may hold.
#[derive(Debug)]
pub(crate) struct SessionMemory {
    session: Account,
    statement: Account,
    temporary: Arc<TempSpace>,
    work_bytes: u64,
}

/// What a statement or session has held whose memory goes back to the operating system.
const SOME_BYTES: u64 = 4 << 20;

/// What a statement may have held whose operators are kept for its next run.
const KEPT_BYTES: u64 = 64 << 20;

/// What the session's temporary files may hold, as they take it: 0 is no limit. A limit of nothing refuses the first byte but one.
fn temp_limit(settings: &Settings) -> u64 {
    settings.temp_file_bytes.map_or(0, |bytes| bytes.max(1))
}

impl SessionMemory {
    pub(crate) fn new(instance: &Instance, settings: &Settings) -> SessionMemory {
        let session = instance.memory.child(Scope::Session, settings.session_memory_bytes);
        SessionMemory {
            statement: session.child(Scope::Statement, settings.statement_memory_bytes),
            session,
            temporary: Arc::new(TempSpace::new(Arc::clone(&instance.temporary), temp_limit(settings))),
            work_bytes: settings.work_memory_bytes,
        }
    }

    /// A statement begins, under these settings.
    #[inline]
    pub(crate) fn begin_statement(&mut self, settings: &Settings) {
        if self.statement.is_alone() {
            self.statement.begin();
        } else {
            self.statement = self.session.child(Scope::Statement, 0);
        }
        self.statement.set_limit(settings.statement_memory_bytes);
        self.session.set_limit(settings.session_memory_bytes);
        self.temporary.set_limit(temp_limit(settings));
        self.work_bytes = settings.work_memory_bytes;
    }

    /// For a statement.
    #[inline]
    pub(crate) fn lend(&self) -> Memory<'_> {
        Memory { work_bytes: self.work_bytes, account: &self.statement, temporary: Some(&self.temporary) }
    }

    /// Whether the statement has held so much that its operators are not kept: they would keep the memory of their columns.
    #[inline]
    pub(crate) fn held_much(&self) -> bool {
        self.statement.peak_bytes() > KEPT_BYTES
    }

    /// Whether the statement has held enough for the C library to keep much of it.
    #[inline]
    pub(crate) fn held_some(&self) -> bool {
        self.statement.peak_bytes() > SOME_BYTES
    }

    /// Room for what becomes of a text, before it is parsed; none for short ones.
    ///
    /// # Errors
    /// 53200.
    pub(crate) fn for_text(&self, settings: &Settings, text: &str) -> Result<Option<Reservation>, SqlError> {
        if text.len() < TEXT_BYTES {
            return Ok(None);
        }
        self.for_plan(settings, text, 0).map(Some)
    }

    /// Room for a statement or cursor that the session keeps, whatever the length of its text.
    ///
    /// # Errors
    /// 53200.
    pub(crate) fn for_kept(&self, settings: &Settings, text: &str) -> Result<Reservation, SqlError> {
        self.for_plan(settings, text, KEPT_STATEMENT_BYTES)
    }

    fn for_plan(&self, settings: &Settings, text: &str, more: u64) -> Result<Reservation, SqlError> {
        // No statement has begun yet under these settings, and the plan may outlive this one.
        self.session.set_limit(settings.session_memory_bytes);
        let (what, bytes) = ("the text of a statement", text.len() as u64 * TREE_BYTES + more);
        let limit_bytes = settings.statement_memory_bytes;
        if limit_bytes > 0 && bytes > limit_bytes {
            return Err(Refused { scope: Scope::Statement, limit_bytes }.error(what).into());
        }
        let mut held = self.session.reserve(what, u64::MAX);
        held.resize(bytes)?;
        Ok(held)
    }

    /// For keys that storage has to look at again, and those that a value has many of.
    pub(crate) fn for_keys(&self) -> KeyMemory {
        const WHAT: &str = "keys of indexes";
        let held = Mutex::new(self.session.reserve(WHAT, u64::MAX));
        Arc::new(move |bytes| {
            held.lock().try_resize(bytes).map_err(|refused| StorageError::NoMemory {
                what: WHAT,
                limit_bytes: refused.limit_bytes,
                setting: refused.scope.setting(),
            })
        })
    }

    /// The session's temporary files, for the sorts of indexes.
    pub(crate) fn temporary(&self) -> Arc<TempSpace> {
        Arc::clone(&self.temporary)
    }

    /// For rows that outlive their statement.
    pub(crate) fn keep(&self) -> KeptMemory {
        KeptMemory {
            work_bytes: self.work_bytes,
            account: self.session.clone(),
            temporary: Arc::clone(&self.temporary),
        }
    }
}

/// The same as [`Memory`], for those who do not borrow the session.
#[derive(Debug)]
pub(crate) struct KeptMemory {
    work_bytes: u64,
    account: Account,
    temporary: Arc<TempSpace>,
}

impl KeptMemory {
    pub(crate) fn lend(&self) -> Memory<'_> {
        Memory { work_bytes: self.work_bytes, account: &self.account, temporary: Some(&self.temporary) }
    }
}

impl Drop for SessionMemory {
    fn drop(&mut self) {
        if self.session.peak_bytes() > SOME_BYTES {
            verso_env::memory::give_back_later();
        }
    }
}
