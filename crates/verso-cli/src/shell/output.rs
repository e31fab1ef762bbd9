//! What the shell prints: results on standard output, errors and notices on standard error, in the order they happen.

use std::io::Write;

/// Both streams. Once one is closed by its reader, nothing more is written and the shell ends quietly.
pub struct Output<'w> {
    out: &'w mut dyn Write,
    err: &'w mut dyn Write,
    closed: bool,
    muted: bool,
}

impl<'w> Output<'w> {
    /// Prints to these two.
    pub fn new(out: &'w mut dyn Write, err: &'w mut dyn Write) -> Output<'w> {
        Output { out, err, closed: false, muted: false }
    }

    /// Results are dropped while muted; errors are not.
    pub fn mute(&mut self, muted: bool) {
        self.muted = muted;
    }

    /// A result.
    pub fn print(&mut self, text: &str) {
        if self.muted {
            return;
        }
        self.closed |= self.closed || self.out.write_all(text.as_bytes()).is_err();
    }

    /// An error or notice; results before it come out first.
    pub fn complain(&mut self, text: &str) {
        self.flush();
        self.closed |= self.closed || self.err.write_all(text.as_bytes()).is_err();
    }

    /// Everything so far becomes visible.
    pub fn flush(&mut self) {
        self.closed |= self.closed || self.out.flush().is_err();
    }

    /// Nobody reads any more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}
