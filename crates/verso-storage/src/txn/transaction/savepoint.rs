//! Savepoints of a transaction, and the statements that failed.
//!
//! Most statements of a transaction change one record or none, so a statement's frame is made when it has something to
//! hold: more than one inserted record, which its parent then takes over by itself.

use super::Txn;
use crate::StorageError;
use crate::heap::undo;
use crate::page::{ObjectId, RecordId};
use crate::rules::{Rule, disabled};
use crate::txn::frame::Frame;

/// The frame of a statement that has changed nothing, or inserted this one record.
#[derive(Debug, Default)]
pub(super) struct UnopenedFrame(Option<(ObjectId, RecordId)>);

impl Txn {
    /// Undoes the statement; under NO SAVEPOINT the whole transaction must be rolled back if it has written.
    ///
    /// # Errors
    /// `Full` and others when undo failed: what goes on is going back to a savepoint around, or rollback.
    pub fn abort_statement(&mut self) -> Result<(), StorageError> {
        let undone = self.undo_statement();
        // The client's error may tell of what the statement has read.
        let settled = self.settle();
        undone.and(settled)
    }

    pub(super) fn undo_statement(&mut self) -> Result<(), StorageError> {
        self.open_frame();
        self.unique.abandon(self.statements.len());
        self.let_keys_go();
        self.statements.pop();
        self.forget_own_changes(false);
        if !self.options.savepoints {
            self.must_rollback |= self.has_writes() && !disabled(Rule::F5);
            return Ok(());
        }
        let Some(at) = self.frames.iter().rposition(|frame| frame.statement) else { return Ok(()) };
        self.undo_from(at)?;
        self.shared.locks.look_again(&self.owner);
        Ok(())
    }

    /// Opens the frame of a statement, if the transaction keeps frames.
    pub(super) fn open_statement_frame(&mut self) {
        if self.options.savepoints {
            self.open_frame();
            self.unopened = Some(UnopenedFrame::default());
        }
    }

    /// Makes the innermost frame one like the others.
    pub(super) fn open_frame(&mut self) {
        let Some(UnopenedFrame(inserted)) = self.unopened.take() else { return };
        let mut frame = Frame { statement: true, images_from: self.images.end(), ..Frame::default() };
        if let Some((table, record)) = inserted {
            frame.inserted(table, record);
        }
        self.push_frame(frame);
    }

    /// Whether the frame of the running statement knows of a record: it was changed since.
    pub(super) fn frame_has(&self, table: ObjectId, record: RecordId) -> bool {
        let frame = self.frames.last().filter(|frame| frame.statement && self.unopened.is_none());
        frame.is_some_and(|frame| frame.knows(table, record))
    }

    /// The same of the frame of the statement around the running one.
    pub(super) fn frame_around_has(&self, table: ObjectId, record: RecordId) -> bool {
        let own = usize::from(self.unopened.is_none());
        let frame = self.frames.iter().rev().nth(own).filter(|frame| frame.statement);
        frame.is_some_and(|frame| frame.knows(table, record))
    }

    fn push_frame(&mut self, mut frame: Frame) {
        if let Some(outer) = self.frames.last() {
            frame.open_in(outer);
        }
        self.frames.push(frame);
    }

    /// Notes a record that the transaction has inserted, for undo.
    pub(crate) fn inserted(&mut self, table: ObjectId, record: RecordId) {
        match &mut self.unopened {
            Some(UnopenedFrame(first @ None)) => *first = Some((table, record)),
            _ => {
                if let Some(frame) = self.frame() {
                    frame.inserted(table, record);
                }
            }
        }
    }

    /// Merges the innermost frame into the one around it, if it was never opened; whether it was not.
    pub(super) fn release_unopened(&mut self) -> bool {
        let Some(UnopenedFrame(inserted)) = self.unopened.take() else { return false };
        if let (Some((table, record)), Some(parent)) = (inserted, self.frames.last_mut())
            && !disabled(Rule::F2Release)
        {
            parent.inserted(table, record);
        }
        true
    }

    fn open_named_frame(&mut self, name: &str) {
        self.open_frame();
        self.push_frame(Frame {
            name: Some(name.to_owned()),
            images_from: self.images.end(),
            locks_from: self.owner.next_mark(),
            ..Frame::default()
        });
    }

    /// Merges the frames from `at` on into the one around them, which there is.
    pub(super) fn release_from(&mut self, at: usize) {
        let (around, inner) = self.frames.split_at_mut(at);
        let parent = around.last_mut().expect("the transaction's own frame");
        Frame::release(inner.iter_mut().map(std::mem::take), parent, &mut self.images);
        self.frames.truncate(at);
        self.half_undone = self.half_undone.map(|left| left.min(at - 1));
        self.unique.frames_released(at);
    }

    /// Undoes and removes the frames from `at` on.
    pub(super) fn undo_from(&mut self, at: usize) -> Result<(), StorageError> {
        if self.frames.len() > at + 1 {
            self.release_from(at + 1);
        }
        let Some(mut frame) = self.frames.pop() else { return Ok(()) };
        self.undone += 1;
        self.unique.frames_undone(at);
        let undone = undo::undo_frame(self, &mut frame);
        match &undone {
            Err(error) if error.is_full_disk() => {
                // What is left goes with the frame around it, or when this savepoint is gone back to again.
                frame.statement = false;
                self.frames.push(frame);
                self.half_undone = Some(at);
            }
            done => {
                self.must_rollback |= done.is_err();
                self.half_undone.take_if(|left| *left >= at);
                self.images.truncate(frame.images_from);
            }
        }
        undone
    }

    /// Opens a named savepoint.
    ///
    /// # Errors
    /// `MustRollback` in that state; `SavepointsOff` under NO SAVEPOINT.
    pub fn savepoint(&mut self, name: &str) -> Result<(), StorageError> {
        if self.must_rollback() {
            return Err(StorageError::MustRollback);
        }
        if !self.options.savepoints {
            return Err(StorageError::SavepointsOff);
        }
        self.open_named_frame(name);
        Ok(())
    }

    /// Gives all locks of the transaction back. What it has done is undone, and it begins anew, its number kept.
    pub fn release_locks(&mut self) {
        self.locked.clear();
        self.released += 1;
        self.shared.locks.release_since(&self.owner, 0);
    }

    /// The lock on a table stays until the end of the transaction, also past a rollback to a savepoint: for changes of
    /// definitions.
    pub fn pin_lock(&mut self, object: ObjectId) {
        self.shared.locks.pin_table(&self.owner, object);
    }

    pub(super) fn find_savepoint(&self, name: &str) -> Result<usize, StorageError> {
        let found = self.frames.iter().rposition(|frame| frame.name.as_deref() == Some(name));
        found.ok_or_else(|| StorageError::NoSuchSavepoint(name.to_owned()))
    }

    /// Undoes everything since the savepoint, which stays.
    ///
    /// # Errors
    /// `NoSuchSavepoint`; `Full` where undo found no room: it can be tried again; `MustRollback` when undo failed.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), StorageError> {
        self.open_frame();
        let at = self.find_savepoint(name)?;
        let mark = self.frames[at].locks_from;
        self.undo_from(at)?;
        if !disabled(Rule::T3Savepoint) {
            self.locked.clear();
            self.shared.locks.release_since(&self.owner, mark);
        }
        self.open_named_frame(name);
        Ok(())
    }

    /// Forgets the savepoint and those after it; what was done since stays.
    ///
    /// # Errors
    /// `NoSuchSavepoint`.
    pub fn release(&mut self, name: &str) -> Result<(), StorageError> {
        self.open_frame();
        let at = self.find_savepoint(name)?;
        self.release_from(at);
        Ok(())
    }

    /// Forgets the savepoint, and not those after it; what was done since stays. Its frame does, too, without a name.
    ///
    /// # Errors
    /// `NoSuchSavepoint`.
    pub fn release_only(&mut self, name: &str) -> Result<(), StorageError> {
        self.open_frame();
        let at = self.find_savepoint(name)?;
        self.frames[at].name = None;
        Ok(())
    }
}
