//! Where lines come from: the terminal with editing and history, a script, standard input, a text of the command line.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

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

/// A source of lines.
pub trait Input {
    /// The next line; a prompt is shown only at a terminal.
    ///
    /// # Errors
    /// What the operating system reports; also a line that is not UTF-8.
    fn line(&mut self, prompt: &str) -> std::io::Result<Line>;
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

impl<R: BufRead> Input for Lines<R> {
    fn line(&mut self, _prompt: &str) -> std::io::Result<Line> {
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

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

/// Lines typed at a terminal.
pub struct Terminal {
    editor: Editor<(), FileHistory>,
    history: Option<PathBuf>,
}

impl Terminal {
    /// Prepares editing; the history is `~/.verso_history`, or where `VERSO_HISTORY` says (empty: none).
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn open() -> rustyline::Result<Terminal> {
        let config = Config::builder().max_history_size(2000)?.auto_add_history(false).build();
        let mut editor = Editor::with_config(config)?;
        let history = match std::env::var_os("VERSO_HISTORY") {
            Some(path) => (!path.is_empty()).then(|| PathBuf::from(path)),
            None => std::env::home_dir().map(|home| home.join(".verso_history")),
        };
        if let Some(path) = &history {
            // The first time there is none.
            let _ = editor.load_history(path);
        }
        Ok(Terminal { editor, history })
    }
}

impl Input for Terminal {
    fn line(&mut self, prompt: &str) -> std::io::Result<Line> {
        match self.editor.readline(prompt) {
            Ok(line) => Ok(Line::Text(line)),
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Io(error)) => Err(error),
            Err(error) => Err(std::io::Error::other(error)),
        }
    }

    fn is_terminal(&self) -> bool {
        true
    }

    fn remember(&mut self, statement: &str) {
        // A history that cannot be kept is no reason to stop working.
        let _ = self.editor.add_history_entry(statement);
        if let Some(path) = &self.history {
            let _ = self.editor.append_history(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_their_ends_and_the_mark_of_some_editors() {
        let mut lines = Lines::unnamed("\u{feff}one\r\ntwo\n\nfour".as_bytes());
        let mut next = || lines.line("").expect("readable");
        assert_eq!(next(), Line::Text("one".into()));
        assert_eq!(next(), Line::Text("two".into()));
        assert_eq!(next(), Line::Text(String::new()));
        assert_eq!(next(), Line::Text("four".into()));
        assert_eq!(next(), Line::End);
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        let error = Lines::unnamed(&b"select '\xff';\n"[..]).line("").expect_err("not UTF-8");
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
