//! What the shell prints: results on standard output or where `\o` says, errors and notices on standard error, in the
//! order in which they happen.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Where results go instead of standard output.
pub enum Target {
    /// A file.
    File(BufWriter<File>),
    /// The input of a program.
    Program(BufWriter<ChildStdin>, Child),
}

impl Target {
    /// A file, or after `|` a program.
    ///
    /// # Errors
    /// It cannot be opened, or run.
    pub fn open(name: &str) -> Result<Target, String> {
        if let Some(program) = name.strip_prefix('|') {
            let program = program.trim();
            let child = Command::new("sh").args(["-c", program]).stdin(Stdio::piped()).spawn();
            let mut child = child.map_err(|error| format!("{program}: {}", cause(&error)))?;
            let input = child.stdin.take().ok_or("the program has no input")?;
            return Ok(Target::Program(BufWriter::new(input), child));
        }
        #[expect(clippy::disallowed_methods, reason = "the user's file, not the database's")]
        let file = File::create(name).map_err(|error| format!("{name}: {}", cause(&error)))?;
        Ok(Target::File(BufWriter::new(file)))
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Target::File(file) => file,
            Target::Program(input, _) => input,
        }
    }

    /// All is written, and the program has ended.
    fn close(self) -> std::io::Result<()> {
        match self {
            Target::File(mut file) => file.flush(),
            Target::Program(mut input, mut child) => {
                let flushed = input.flush();
                drop(input);
                child.wait()?;
                // A program that needs no more closes its input.
                match flushed {
                    Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
                    flushed => flushed,
                }
            }
        }
    }
}

/// What the operating system says, without its number.
pub fn cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Whether the user wants colours where there is a terminal: `NO_COLOR`, if it is set and not empty, says no.
pub fn wants_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A message whose first line tells by its colour how bad it is: red of errors, magenta of warnings.
fn coloured(text: &str) -> std::borrow::Cow<'_, str> {
    const WORDS: [(&str, &str); 6] = [
        ("ERROR:", "1;31"),
        ("FATAL:", "1;31"),
        ("PANIC:", "1;31"),
        ("error:", "1;31"),
        ("WARNING:", "1;35"),
        ("warning:", "1;35"),
    ];
    let first = text.lines().next().unwrap_or_default();
    let found = WORDS.iter().filter_map(|(word, colour)| Some((first.find(word)?, word, colour))).min();
    // The word stands first, or behind the place in a script.
    let Some((at, word, colour)) = found.filter(|(at, ..)| *at == 0 || text[..*at].ends_with(": ")) else {
        return text.into();
    };
    let (before, rest) = (&text[..at], &text[at + word.len()..]);
    format!("{before}\x1b[{colour}m{word}\x1b[0m{rest}").into()
}

/// Both streams. Once one is closed by its reader, nothing more is written and the shell ends quietly.
pub struct Output<'w> {
    out: &'w mut dyn Write,
    err: &'w mut dyn Write,
    closed: bool,
    muted: bool,
    /// Of `\o`.
    target: Option<Target>,
    /// Of `\g FILE`, while one statement runs.
    once: Option<Target>,
    /// Rows and columns of the screen that `out` is.
    screen: Option<fn() -> (usize, usize)>,
    /// Errors and warnings are told in colours.
    in_colours: bool,
}

impl<'w> Output<'w> {
    /// Prints to these two.
    pub fn new(out: &'w mut dyn Write, err: &'w mut dyn Write) -> Output<'w> {
        Output {
            out,
            err,
            closed: false,
            muted: false,
            target: None,
            once: None,
            screen: None,
            in_colours: false,
        }
    }

    /// Standard output is a screen of this size.
    pub fn on_screen(mut self, size: fn() -> (usize, usize)) -> Output<'w> {
        self.screen = Some(size);
        self
    }

    /// Errors and warnings are told in colours: standard error is a terminal, and nobody said that there be none.
    pub fn in_colours(mut self, on: bool) -> Output<'w> {
        self.in_colours = on;
        self
    }

    /// Rows and columns of the screen that results go to, if they go to one.
    pub fn screen(&self) -> Option<(usize, usize)> {
        let elsewhere = self.target.is_some() || self.once.is_some();
        self.screen.filter(|_| !elsewhere).map(|size| size())
    }

    /// Whether standard output is a screen.
    pub fn is_screen(&self) -> bool {
        self.screen.is_some()
    }

    /// Results are dropped while muted; errors are not.
    pub fn mute(&mut self, muted: bool) {
        self.muted = muted;
    }

    /// Results go there from now on, or to standard output again.
    ///
    /// # Errors
    /// What was to be written before could not.
    pub fn redirect(&mut self, target: Option<Target>) -> Result<(), String> {
        let before = std::mem::replace(&mut self.target, target);
        before.map_or(Ok(()), Target::close).map_err(|error| cause(&error))
    }

    /// The results of the next statement go there; `None` ends that.
    ///
    /// # Errors
    /// As [`Output::redirect`].
    pub fn redirect_once(&mut self, target: Option<Target>) -> Result<(), String> {
        self.flush();
        let before = std::mem::replace(&mut self.once, target);
        before.map_or(Ok(()), Target::close).map_err(|error| cause(&error))
    }

    /// Whether results go to a file of `\g`.
    pub fn is_once(&self) -> bool {
        self.once.is_some()
    }

    /// A result: where `\g` or `\o` says, or to standard output.
    pub fn print(&mut self, text: &str) {
        self.write(text.as_bytes());
    }

    /// The same, as bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.muted {
            return;
        }
        match self.once.as_mut().or(self.target.as_mut()) {
            // A program that does not want all of it is no error.
            Some(target) => drop(target.writer().write_all(bytes)),
            None => self.closed |= self.closed || self.out.write_all(bytes).is_err(),
        }
    }

    /// What the shell itself says on standard output.
    pub fn say(&mut self, text: &str) {
        if !self.muted {
            self.closed |= self.closed || self.out.write_all(text.as_bytes()).is_err();
        }
    }

    /// An error or notice; results before it come out first.
    pub fn complain(&mut self, text: &str) {
        self.flush();
        let text = if self.in_colours { coloured(text) } else { text.into() };
        self.closed |= self.closed || self.err.write_all(text.as_bytes()).is_err();
    }

    /// Everything so far becomes visible.
    pub fn flush(&mut self) {
        if let Some(target) = self.once.as_mut().or(self.target.as_mut()) {
            drop(target.writer().flush());
        }
        self.closed |= self.closed || self.out.flush().is_err();
    }

    /// Nobody reads any more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_red_and_what_merely_mentions_them_is_not() {
        assert_eq!(
            coloured("ERROR:  42P01: no\nHINT:  x\n"),
            "\x1b[1;31mERROR:\x1b[0m  42P01: no\nHINT:  x\n"
        );
        assert_eq!(coloured("verso:a.sql:3: error: x\n"), "verso:a.sql:3: \x1b[1;31merror:\x1b[0m x\n");
        assert_eq!(coloured("WARNING:  x\n"), "\x1b[1;35mWARNING:\x1b[0m  x\n");
        assert_eq!(coloured("NOTICE:  an ERROR: was there\n"), "NOTICE:  an ERROR: was there\n");
    }
}
