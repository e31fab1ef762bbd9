//! Messages for the client: what functions say goes out at once, the rest at the end of the statement.
//!
//! 1. Messages arrive in the order in which they were told: those that wait go out before one that goes at once.
//! 2. A statement that runs again after a conflict does not repeat what its client has heard of it.
//! 3. The log gets a message where the client would, or would if it wanted to: in the same order, and once.
//! 4. What waits of functions is charged to the statement: there may be many.

use std::cell::{Cell, RefCell};

use verso_exec::context::NoticeSink;
use verso_exec::error::Result as ExecResult;
use verso_exec::memory::{Memory, Reservation};
use verso_exec::plan::RaiseLevel;

use super::Services;
use crate::client::{Notice, StatementSink, Told};
use crate::settings::{LogLevel, LogSettings, MessageLevel};
use verso_planner::errors::SqlError;

/// The messages that a statement has left.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    left: RefCell<Vec<Notice>>,
    /// For those of functions.
    held: RefCell<Option<Reservation>>,
    /// How many of those that are left the statement has not told itself.
    earlier: Cell<usize>,
    /// How many of the running try of the statement are no longer left, and the most of any of its tries.
    gone: Cell<u64>,
    heard: Cell<u64>,
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

    /// A statement begins; what is left by now came before it.
    pub(crate) fn begin(&self) {
        self.earlier.set(self.left.borrow().len());
        self.gone.set(0);
        self.heard.set(0);
    }

    /// The statement runs again: its own messages are forgotten.
    pub(crate) fn again(&self) {
        self.left.borrow_mut().truncate(self.earlier.get());
        self.gone.set(0);
    }

    /// Hands those that are left to `send`, in their order, from a level on.
    fn pass<E>(
        &self,
        hearers: &Hearers<'_>,
        mut send: impl FnMut(&Notice) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.left.borrow().is_empty() {
            return Ok(());
        }
        self.held.take();
        let earlier = self.earlier.take();
        for (at, notice) in self.left.take().iter().enumerate() {
            if at >= earlier {
                self.pass_one(notice, hearers, &mut send)?;
            } else {
                hearers.tell(notice, &mut send)?;
            }
        }
        Ok(())
    }

    fn pass_one<E>(
        &self,
        notice: &Notice,
        hearers: &Hearers<'_>,
        send: &mut impl FnMut(&Notice) -> Result<(), E>,
    ) -> Result<(), E> {
        if !hearers.any(notice.severity) {
            return Ok(());
        }
        self.gone.set(self.gone.get() + 1);
        if self.gone.get() <= self.heard.get() {
            return Ok(());
        }
        self.heard.set(self.gone.get());
        hearers.tell(notice, send)
    }

    /// Keeps a message of a function.
    fn keep(&self, notice: Notice, memory: Memory<'_>) -> ExecResult<()> {
        let Notice { message, detail, hint, context, .. } = &notice;
        let texts = [Some(message), detail.as_ref(), hint.as_ref(), context.as_ref()];
        let bytes = size_of::<Notice>() + texts.iter().flatten().map(|text| text.len()).sum::<usize>();
        let mut held = self.held.borrow_mut();
        let held = held.get_or_insert_with(|| memory.account.reserve("messages to the client", u64::MAX));
        held.add(bytes as u64)?;
        self.tell(notice);
        Ok(())
    }
}

/// Whom messages reach.
struct Hearers<'s> {
    services: Option<&'s Services>,
    /// The client, from this level on.
    client: MessageLevel,
    log: LogSettings,
}

impl Hearers<'_> {
    fn client(&self, severity: &str) -> bool {
        MessageLevel::of(severity) >= self.client
    }

    fn log(&self, severity: &str) -> bool {
        LogLevel::of(severity) >= self.log.from
    }

    fn any(&self, severity: &str) -> bool {
        self.client(severity) || self.log(severity)
    }

    fn tell<E>(&self, notice: &Notice, send: &mut impl FnMut(&Notice) -> Result<(), E>) -> Result<(), E> {
        if let Some(services) = self.services.filter(|_| self.log(notice.severity)) {
            services.log_notice(notice, self.log);
        }
        if self.client(notice.severity) { send(notice) } else { Ok(()) }
    }
}

impl Services {
    /// Sends what is left at the end of a statement.
    #[inline]
    pub(crate) fn send_notices(&self, sink: &mut dyn StatementSink) -> Result<(), SqlError> {
        let (client, log) = (self.settings.messages_from, self.settings.log);
        self.notices.pass(&Hearers { services: Some(self), client, log }, |notice| sink.notice(notice))
    }

    fn hearers(&self) -> Hearers<'_> {
        let (client, log) = self.settings.heard();
        Hearers { services: Some(self), client, log }
    }
}

/// Where messages of a running statement's functions go.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing<'f> {
    pub(crate) services: &'f Services,
    /// Nobody where the statement has no client of its own: then they wait for the end of the one around it.
    pub(crate) client: Option<&'f dyn Told>,
}

impl Outgoing<'_> {
    /// Sends what is left now, while the statement goes on.
    pub(crate) fn flush(&self) -> ExecResult<()> {
        let Some(client) = self.client else { return Ok(()) };
        self.services.notices.pass(&self.services.hearers(), |notice| client.tell(notice))
    }
}

impl NoticeSink for Outgoing<'_> {
    fn notice(&self, notice: verso_exec::Notice, memory: Memory<'_>) -> ExecResult<()> {
        let verso_exec::Notice { level, sqlstate, message, detail, hint, context } = notice;
        if !self.hears(level) {
            return Ok(());
        }
        let severity = severity_of(level);
        let notice = Notice { severity, sqlstate, message, detail, hint, context, position: None };
        let Some(client) = self.client else { return self.services.notices.keep(notice, memory) };
        self.flush()?;
        self.services.notices.pass_one(&notice, &self.services.hearers(), &mut |notice| client.tell(notice))
    }

    fn hears(&self, level: RaiseLevel) -> bool {
        self.services.hearers().any(severity_of(level))
    }
}

fn severity_of(level: RaiseLevel) -> &'static str {
    match level {
        RaiseLevel::Debug => "DEBUG",
        RaiseLevel::Log => "LOG",
        RaiseLevel::Info => "INFO",
        RaiseLevel::Notice => "NOTICE",
        RaiseLevel::Warning | RaiseLevel::Exception => "WARNING",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(notices: &Notices) -> Vec<String> {
        let mut said = Vec::new();
        let hearers = Hearers { services: None, client: MessageLevel::Notice, log: LogSettings::default() };
        let passed = notices.pass(&hearers, |notice| {
            said.push(notice.message.clone());
            Ok::<(), ()>(())
        });
        passed.expect("nobody refuses");
        said
    }

    #[test]
    fn what_is_run_again_tells_its_messages_once() {
        let notices = Notices::default();
        notices.warn("01000", "before");
        notices.begin();
        for _ in 0..2 {
            notices.again();
            notices.tell(Notice::message("of the statement"));
        }
        assert_eq!(passed(&notices), ["before", "of the statement"]);
        assert!(passed(&notices).is_empty());
    }

    #[test]
    fn what_has_gone_out_is_not_told_again_by_the_next_try() {
        let notices = Notices::default();
        notices.warn("01000", "before");
        notices.begin();
        notices.tell(Notice::message("one"));
        assert_eq!(passed(&notices), ["before", "one"]);
        notices.again();
        for text in ["one", "two"] {
            notices.tell(Notice::message(text));
        }
        assert_eq!(passed(&notices), ["two"]);
    }
}
