//! What a block of PL/pgSQL with handlers takes back when one of them catches an error, beside storage's changes: settings and
//! roles that the block has asked for, and that it has made the transaction READ ONLY.

use verso_storage::Txn;

use super::Services;
use crate::settings::Asked;

/// What there was when such a block began.
#[derive(Clone)]
pub(crate) struct BlockBegin {
    asked: Option<Asked>,
    read_only: bool,
    /// How many statements of the schema had run.
    defined: u32,
}

impl Services {
    /// A block with handlers begins; `name` is its savepoint.
    pub(crate) fn begin_block(&self, name: &str, txn: &mut Txn) {
        self.keep_read_only(txn);
        let begin = BlockBegin {
            asked: self.settings.asked_by_now(),
            read_only: txn.is_read_only(),
            defined: self.defined.get(),
        };
        self.blocks.borrow_mut().set(name, begin);
    }

    /// A handler of the block has caught an error.
    pub(crate) fn undo_block(&self, name: &str, txn: &mut Txn) {
        self.keep_read_only(txn);
        let Some(BlockBegin { asked, read_only, defined }) = self.blocks.borrow_mut().return_to(name) else {
            return;
        };
        if self.defined.get() != defined {
            // What was defined is gone again: the function goes on with the catalog as it is now.
            self.defined.set(self.defined.get() + 1);
        }
        if self.settings.return_to(asked) {
            // The function goes on with what follows from them.
            self.asked.set(self.asked.get() + 1);
        }
        self.set_read_only(txn, read_only);
    }

    /// The block has ended. READ ONLY ends with it, as with a savepoint.
    pub(crate) fn end_block(&self, name: &str, txn: &mut Txn) {
        self.keep_read_only(txn);
        let mut blocks = self.blocks.borrow_mut();
        if let Some(begin) = blocks.return_to(name) {
            self.set_read_only(txn, begin.read_only);
        }
        blocks.release(name);
    }

    /// `set_config` may have made the transaction READ ONLY, which has no hold of it: it is so from the next command on.
    pub(crate) fn keep_read_only(&self, txn: &mut Txn) {
        if self.becomes_read_only.take() {
            txn.set_read_only(true);
        }
    }

    /// A statement begins that has asked for nothing yet, or one has failed.
    pub(crate) fn forget_asked(&self) {
        self.settings.take_asked();
        self.becomes_read_only.set(false);
        self.blocks.borrow_mut().clear();
    }

    /// Makes the running transaction READ ONLY, or takes that back.
    pub(crate) fn set_read_only(&self, txn: &mut Txn, read_only: bool) {
        if txn.is_read_only() == read_only {
            return;
        }
        txn.set_read_only(read_only);
        let shown = self.transaction.get();
        self.transaction.set(shown.map(|shown| crate::settings::ShownModes { read_only, ..shown }));
    }
}
