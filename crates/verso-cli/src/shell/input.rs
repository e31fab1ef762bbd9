//! Where lines come from: a script, standard input, a text of the command line; the terminal is in `editor`.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::peer::Peer;
use super::variables::Variables;

/// What came from the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its end.
    Text(String),
    /// Ctrl-C while typing.
    Interrupted,
    /// No more lines.
    End,
}

/// What is known when a line is asked for. Only a terminal, which completes words, needs it.
pub struct Asking<'a> {
    /// Shown before the line.
    pub prompt: &'a str,
    /// The line begins within a literal, a quoted name or a comment.
    pub in_text: bool,
    /// The statement so far.
    pub statement: &'a str,
    /// Who knows the names of tables and columns.
    pub peer: &'a mut Option<Peer>,
    /// The shell's variables.
    pub variables: &'a Variables,
}

/// A source of lines.
pub trait Input {
    /// The next line; a prompt is shown only at a terminal.
    ///
    /// # Errors
    /// What the operating system reports; also a line that is not UTF-8.
    fn line(&mut self, asking: Asking<'_>) -> std::io::Result<Line>;
    /// The next line of data of COPY.
    ///
    /// # Errors
    /// As [`Input::line`].
    fn data_line(&mut self) -> std::io::Result<Line>;
    /// The answer to a question; a hidden one is not shown while it is typed.
    ///
    /// # Errors
    /// As [`Input::line`].
    fn answer(&mut self, question: &str, hidden: bool) -> std::io::Result<Line>;
    /// What was typed before, where that is known.
    fn history(&self) -> Option<String> {
        None
    }
    /// A person types: errors never end the input.
    fn is_terminal(&self) -> bool {
        false
    }
    /// The script's name in messages.
    fn name(&self) -> Option<&str> {
        None
    }
    /// Where included scripts are looked for first.
    fn folder(&self) -> Option<&Path> {
        None
    }
    /// A complete statement, for the history.
    fn remember(&mut self, _statement: &str) {}
}

/// Lines of a script, of standard input or of a text.
pub struct Lines<R> {
    reader: R,
    name: Option<String>,
    folder: Option<PathBuf>,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Lines without a name: of standard input, of a text.
    pub fn unnamed(reader: R) -> Lines<R> {
        Lines { reader, name: None, folder: None, buffer: Vec::new() }
    }

    /// Lines of the script at `path`.
    pub fn of_script(reader: R, path: &Path) -> Lines<R> {
        Lines {
            reader,
            name: Some(path.display().to_string()),
            folder: path.parent().map(Path::to_path_buf),
            buffer: Vec::new(),
        }
    }
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> std::io::Result<Line> {
        self.buffer.clear();
        if self.reader.read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(Line::End);
        }
        let text = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match std::str::from_utf8(text) {
            Ok(text) => Ok(Line::Text(text.trim_start_matches('\u{feff}').to_owned())),
            Err(error) => Err(std::io::Error::new(std::io::ErrorKind::InvalidData, error)),
        }
    }
}

impl<R: BufRead> Input for Lines<R> {
    fn line(&mut self, _asking: Asking<'_>) -> std::io::Result<Line> {
        self.next()
    }

    fn data_line(&mut self) -> std::io::Result<Line> {
        self.next()
    }

    fn answer(&mut self, _question: &str, _hidden: bool) -> std::io::Result<Line> {
        self.next()
    }

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_their_ends_and_the_mark_of_some_editors() {
        let mut lines = Lines::unnamed("\u{feff}one\r\ntwo\n\nfour".as_bytes());
        let mut next = || lines.next().expect("readable");
        assert_eq!(next(), Line::Text("one".into()));
        assert_eq!(next(), Line::Text("two".into()));
        assert_eq!(next(), Line::Text(String::new()));
        assert_eq!(next(), Line::Text("four".into()));
        assert_eq!(next(), Line::End);
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        let error = Lines::unnamed(&b"select '\xff';\n"[..]).next().expect_err("not UTF-8");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_script_knows_its_folder() {
        let lines = Lines::of_script(&b""[..], Path::new("scripts/e1/create.sql"));
        assert_eq!(
            (lines.name(), lines.folder()),
            (Some("scripts/e1/create.sql"), Some(Path::new("scripts/e1")))
        );
    }
}
