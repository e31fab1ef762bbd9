//! The temporary tables of a session, as far as a commit has to do with them.
//!
//! T1. They are tables of a schema `pg_temp_N` that only this session has in its search path. It is made with the first of
//!     them, in the same transaction, and goes when the session ends, or with DISCARD; what a crash leaves of it goes when
//!     the database is opened.
//! T2. A transaction that has touched something temporary is not prepared: who commits it may be another session.
//! T3. What ON COMMIT asks for is done before the transaction's deferred checks, as a part of it.

use std::cell::{Cell, RefCell};

use verso_catalog::Oid;
use verso_parser::syntax::OnCommit;

/// What a session remembers of its temporary tables.
#[derive(Debug, Default)]
pub(crate) struct Temporary {
    /// It may have some.
    used: Cell<bool>,
    /// The transaction has made, changed, read or dropped something temporary.
    touched: Cell<bool>,
    /// Those that a commit empties or drops.
    on_commit: RefCell<Vec<(Oid, OnCommit)>>,
}

impl Temporary {
    /// The session has made something temporary.
    pub(crate) fn note_used(&self) {
        self.used.set(true);
        self.touched.set(true);
    }

    /// The transaction has to do with something temporary.
    pub(crate) fn note_touched(&self) {
        self.touched.set(true);
    }

    /// Whether the transaction had to do with something temporary: also what it has gone back from counts.
    pub(crate) fn is_touched(&self) -> bool {
        self.touched.get()
    }

    /// Another transaction begins, or none.
    pub(crate) fn forget_touched(&self) {
        self.touched.set(false);
    }

    /// Whether it may have something temporary.
    pub(crate) fn is_used(&self) -> bool {
        self.used.get()
    }

    /// Whether it may have something temporary; afterwards it is as if it had not.
    pub(crate) fn take_used(&self) -> bool {
        self.on_commit.borrow_mut().clear();
        self.used.replace(false)
    }

    /// A commit has to do with this table.
    pub(crate) fn add(&self, table: Oid, action: OnCommit) {
        if action != OnCommit::Preserve {
            self.on_commit.borrow_mut().push((table, action));
        }
    }

    /// Whether a commit has anything to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.on_commit.borrow().is_empty()
    }

    /// The tables that a commit has to do with.
    pub(crate) fn tables(&self) -> Vec<(Oid, OnCommit)> {
        self.on_commit.borrow().clone()
    }

    /// These are there no more.
    pub(crate) fn forget(&self, gone: &[Oid]) {
        self.on_commit.borrow_mut().retain(|(table, _)| !gone.contains(table));
    }
}
