//! Messages for the client, which hears of them at the end of the statement.

use std::cell::RefCell;

use verso_exec::context::NoticeSink;
use verso_exec::error::Result as ExecResult;
use verso_exec::memory::{Memory, Reservation};
use verso_exec::plan::RaiseLevel;

use crate::client::{Notice, StatementSink};
use verso_planner::errors::SqlError;

/// The messages that a statement has left.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    left: RefCell<Vec<Notice>>,
    /// For those of functions, of which there may be many.
    held: RefCell<Option<Reservation>>,
}

impl Notices {
    /// Keeps a message.
    pub(crate) fn tell(&self, notice: Notice) {
        self.left.borrow_mut().push(notice);
    }

    /// Likewise a warning.
    pub(crate) fn warn(&self, sqlstate: &str, text: &str) {
        self.tell(Notice::warning(sqlstate, text));
    }

    /// How many there are, for [`Notices::forget_from`].
    pub(crate) fn count(&self) -> usize {
        self.left.borrow().len()
    }

    /// Forgets those behind the first `count`: what left them is run again.
    pub(crate) fn forget_from(&self, count: usize) {
        self.left.borrow_mut().truncate(count);
    }

    /// Sends them, in their order.
    #[inline]
    pub(crate) fn send(&self, sink: &mut dyn StatementSink) -> Result<(), SqlError> {
        if self.left.borrow().is_empty() {
            return Ok(());
        }
        self.held.take();
        self.left.take().iter().try_for_each(|notice| sink.notice(notice))
    }
}

impl NoticeSink for Notices {
    fn notice(&self, notice: verso_exec::Notice, memory: Memory<'_>) -> ExecResult<()> {
        let verso_exec::Notice { level, sqlstate, message, detail, hint } = notice;
        let severity = match level {
            RaiseLevel::Debug | RaiseLevel::Log => return Ok(()), // below what clients are shown
            RaiseLevel::Info => "INFO",
            RaiseLevel::Notice => "NOTICE",
            RaiseLevel::Warning | RaiseLevel::Exception => "WARNING",
        };
        let texts = [Some(&message), detail.as_ref(), hint.as_ref()];
        let bytes = size_of::<Notice>() + texts.iter().flatten().map(|text| text.len()).sum::<usize>();
        let mut held = self.held.borrow_mut();
        let held = held.get_or_insert_with(|| memory.account.reserve("messages to the client", u64::MAX));
        held.add(bytes as u64)?;
        self.tell(Notice { severity, sqlstate, message, detail, hint });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Nowhere;

    #[test]
    fn what_is_run_again_tells_its_messages_once() {
        let notices = Notices::default();
        notices.warn("01000", "of what came before");
        let before = notices.count();
        for _ in 0..2 {
            notices.forget_from(before);
            notices.tell(Notice::message("of the statement"));
        }
        assert_eq!(notices.count(), 2);
        notices.send(&mut Nowhere).expect("nobody refuses");
        assert_eq!(notices.count(), 0);
    }
}
