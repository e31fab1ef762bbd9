//! What a transaction that commits takes to the channels: it has its place in the line before it is visible, and goes on
//! afterwards (N1, N2).

use std::sync::Arc;

use super::channels::Placed;
use super::pending::Action;
use crate::registry::backend_id;
use crate::services::Services;
use verso_planner::errors::SqlError;

/// Of a transaction that is about to commit; dropped, it has said nothing.
pub(crate) struct Leaving {
    actions: Vec<Action>,
    placed: Option<Placed>,
}

impl Services {
    /// Takes a place in the line for what the transaction has said; none where it has said nothing.
    ///
    /// # Errors
    /// 54000 where there is no room, 53200.
    pub(crate) fn leave(&self) -> Result<Option<Box<Leaving>>, SqlError> {
        if self.notify.is_idle() {
            return Ok(None);
        }
        let pending = self.notify.pending.take();
        let placed = match pending.messages.is_empty() {
            true => None,
            false => {
                let by = backend_id(self.info.number);
                Some(Arc::clone(&self.instance.channels).place(by, pending.messages)?)
            }
        };
        Ok(Some(Box::new(Leaving { actions: pending.actions, placed })))
    }

    /// The transaction is visible: the session listens to what it wants to, and others hear of the messages.
    pub(crate) fn left(&self, leaving: Leaving) {
        let (number, notify) = (self.info.number, &self.notify);
        for action in leaving.actions {
            match action {
                Action::Listen(channel) => {
                    notify.listens.set(true);
                    let (ready, wake) = (&notify.ready, notify.wake.borrow().clone());
                    self.instance.channels.listen(number, channel, ready, wake);
                }
                Action::Unlisten(channel) => self.instance.channels.unlisten(number, &channel),
                Action::UnlistenAll => self.unlisten_all(),
            }
        }
        if let Some(placed) = leaving.placed {
            placed.go(number);
        }
    }

    /// Whether the client is to hear of it with the end of its statement: what it does to the session itself, and messages
    /// that may be its own.
    pub(crate) fn hears_of(&self, leaving: &Leaving) -> bool {
        !leaving.actions.is_empty() || self.notify.listens.get()
    }
}
