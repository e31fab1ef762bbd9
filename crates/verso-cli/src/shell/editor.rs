//! Lines typed at a terminal: editing, history, completion, and what is pasted.
//!
//! E1. What arrives at once is never lost: the editor keeps what it has read beyond a line for the next one.
//! E2. A tab within data, a literal, a quoted name or a comment is a tab. Elsewhere it completes a word, unless the text
//!     goes on at once: then it was pasted by a terminal that does not mark pastes, and the line becomes what was pasted.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, History, SearchDirection};
use rustyline::validate::Validator;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper,
    KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};
use verso_env::Clock;
use verso_env::sync::Mutex;

use super::complete::{self, Known};
use super::input::{Asking, Input, Line};
use super::scanner::{Open, Scanner};

/// Nobody types two keys in so short a time; what was pasted comes all at once.
const PASTED_NANOS: u64 = 5_000_000;
/// As many completions are shown of a tab that may have been pasted.
const QUICK_MAX: usize = 50;

/// What the keys of a line have done so far.
#[derive(Default)]
struct Keys {
    /// The line is data of COPY.
    is_data: bool,
    /// It begins within a literal or the like.
    in_text: bool,
    /// The statement before it.
    statement: String,
    last_nanos: u64,
    /// The last key came at once behind the one before.
    is_quick: bool,
    /// The line and the place when a tab was about to complete it, and how many tabs came at once.
    completed: Option<(String, usize, usize)>,
    /// What is to stand in the line, which was cleared, with the next key: the editor takes one command for each key, and
    /// puts a text in place of another without moving the cursor behind it.
    owed: Option<String>,
    /// What the line is instead of what the editor says.
    instead: Option<String>,
}

/// Looks at each key before the editor does.
struct Watch {
    keys: Arc<Mutex<Keys>>,
    clock: Arc<dyn Clock>,
}

impl ConditionalEventHandler for Watch {
    fn handle(&self, event: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let KeyEvent(code, modifiers) = *event.get(0)?;
        let mut keys = self.keys.lock();
        let now = self.clock.monotonic_nanos();
        keys.is_quick = now.saturating_sub(keys.last_nanos) < PASTED_NANOS;
        keys.last_nanos = now;
        let completed = keys.completed.take().filter(|_| keys.is_quick);
        if let Some(owed) = keys.owed.take() {
            let more = match (code, modifiers) {
                (KeyCode::Char(character), Modifiers::NONE) => character.to_string(),
                (KeyCode::Tab, _) | (KeyCode::Char('I'), Modifiers::CTRL) => "\t".to_owned(),
                (KeyCode::Enter, _) | (KeyCode::Char('J' | 'M'), Modifiers::CTRL) => {
                    keys.instead = Some(owed);
                    return None;
                }
                // Ctrl-C and its like forget the line.
                (KeyCode::Char(_), Modifiers::CTRL) => return None,
                _ => String::new(),
            };
            return Some(Cmd::Insert(1, owed + &more));
        }
        let (line, at) = (context.line(), context.pos());
        let is_tab = code == KeyCode::Tab || (code, modifiers) == (KeyCode::Char('I'), Modifiers::CTRL);
        if is_tab {
            let indents = line[..at].trim().is_empty() && (keys.is_quick || !keys.statement.is_empty());
            if keys.is_data || indents || is_within_text(&keys, &line[..at]) {
                // Not SelfInsert, whose repetition takes all that was inserted before.
                return Some(Cmd::Insert(1, "\t".to_owned()));
            }
            keys.completed = match completed {
                Some((line, at, tabs)) => Some((line, at, tabs + 1)),
                None => Some((line.to_owned(), at, 1)),
            };
            return None;
        }
        let (before, at, tabs) = completed.filter(|(line, at, _)| *at == line.len())?;
        debug_assert_eq!(before.len(), at, "the cursor was at the end");
        let pasted = format!("{before}{}", "\t".repeat(tabs));
        match (code, modifiers) {
            (KeyCode::Char(character), Modifiers::NONE) => {
                keys.owed = Some(format!("{pasted}{character}"));
                Some(Cmd::Kill(Movement::WholeLine))
            }
            (KeyCode::Enter, _) | (KeyCode::Char('J' | 'M'), Modifiers::CTRL) => {
                keys.instead = Some(pasted);
                None
            }
            _ => None,
        }
    }
}

/// Whether a literal, a quoted name or a comment is open behind a line's first part.
fn is_within_text(keys: &Keys, line: &str) -> bool {
    if keys.in_text && keys.statement.is_empty() {
        return true;
    }
    let mut scanner = Scanner::default();
    for line in keys.statement.lines().chain([line]) {
        scanner.push_line(line);
        while scanner.next_piece(&|_| None).is_some() {}
    }
    !matches!(scanner.open(), Open::Nothing | Open::Statement | Open::Parenthesis)
}

/// Completes words.
struct Assistant {
    known: Rc<RefCell<Known>>,
    keys: Arc<Mutex<Keys>>,
    in_colours: bool,
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (statement, is_quick) = {
            let keys = self.keys.lock();
            (keys.statement.clone(), keys.is_quick)
        };
        let (start, found) = complete::candidates(&mut self.known.borrow_mut(), &statement, &line[..at]);
        if is_quick && found.len() > QUICK_MAX {
            return Ok((start, Vec::new()));
        }
        let pair =
            |candidate: complete::Candidate| Pair { display: candidate.shown, replacement: candidate.text };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

impl Hinter for Assistant {
    type Hint = String;
}
impl Highlighter for Assistant {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        match self.in_colours {
            true => format!("\x1b[1;34m{prompt}\x1b[0m").into(),
            false => prompt.into(),
        }
    }
}
impl Validator for Assistant {}
impl Helper for Assistant {}

/// Lines typed at a terminal.
pub struct Terminal {
    editor: Editor<Assistant, FileHistory>,
    known: Rc<RefCell<Known>>,
    keys: Arc<Mutex<Keys>>,
    history: Option<PathBuf>,
    /// Lines that came with the last one: of a paste, or of a statement from the history.
    behind: VecDeque<String>,
}

impl Terminal {
    /// Prepares editing; the history is `~/.verso_history`, or where `VERSO_HISTORY` says (empty: none).
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn open() -> rustyline::Result<Terminal> {
        let config = Config::builder()
            .max_history_size(2000)?
            .auto_add_history(false)
            .completion_type(rustyline::CompletionType::List)
            .completion_prompt_limit(1000)
            .build();
        let mut editor = Editor::with_config(config)?;
        let known = Rc::new(RefCell::new(Known::default()));
        let keys = Arc::new(Mutex::new(Keys::default()));
        let in_colours = super::output::wants_colours();
        editor.set_helper(Some(Assistant { known: Rc::clone(&known), keys: Arc::clone(&keys), in_colours }));
        let clock = crate::environment().clock;
        let watch = Watch { keys: Arc::clone(&keys), clock };
        editor.bind_sequence(Event::Any, EventHandler::Conditional(Box::new(watch)));
        let history = match std::env::var_os("VERSO_HISTORY") {
            Some(path) => (!path.is_empty()).then(|| PathBuf::from(path)),
            None => std::env::home_dir().map(|home| home.join(".verso_history")),
        };
        if let Some(path) = &history {
            // The first time there is none.
            let _ = editor.load_history(path);
        }
        Ok(Terminal { editor, known, keys, history, behind: VecDeque::new() })
    }

    /// The next line; several that arrive at once come one after the other, as from a script: a comment ends with its line.
    fn read_lines(&mut self, prompt: &str) -> std::io::Result<Line> {
        if let Some(line) = self.behind.pop_front() {
            return Ok(Line::Text(line));
        }
        let read = self.read(prompt)?;
        let Line::Text(text) = &read else { return Ok(read) };
        self.behind = text.split('\n').map(|line| line.trim_end_matches('\r').to_owned()).collect();
        Ok(self.behind.pop_front().map_or(read, Line::Text))
    }

    fn read(&mut self, prompt: &str) -> std::io::Result<Line> {
        let read = self.editor.readline(prompt);
        let instead = self.keys.lock().instead.take();
        match read {
            Ok(line) => Ok(Line::Text(instead.unwrap_or(line))),
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Io(error)) => Err(error),
            Err(error) => Err(std::io::Error::other(error)),
        }
    }
}

impl Input for Terminal {
    fn line(&mut self, asking: Asking<'_>) -> std::io::Result<Line> {
        {
            let mut keys = self.keys.lock();
            keys.is_data = false;
            keys.in_text = asking.in_text;
            keys.statement.clear();
            keys.statement.push_str(asking.statement);
        }
        {
            let mut known = self.known.borrow_mut();
            known.peer = asking.peer.take();
            known.variables = asking.variables.names().map(str::to_owned).collect();
        }
        let line = self.read_lines(asking.prompt);
        *asking.peer = self.known.borrow_mut().peer.take();
        line
    }

    fn data_line(&mut self) -> std::io::Result<Line> {
        self.keys.lock().is_data = true;
        self.read_lines(">> ")
    }

    fn answer(&mut self, question: &str, hidden: bool) -> std::io::Result<Line> {
        if hidden {
            // The editor would show it.
            eprint!("{question}");
            return console::Term::stderr().read_secure_line().map(Line::Text);
        }
        self.keys.lock().is_data = true;
        self.read(question)
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

    fn history(&self) -> Option<String> {
        let history = self.editor.history();
        let entry = |at| history.get(at, SearchDirection::Forward).ok().flatten();
        let entries = (0..history.len()).filter_map(entry);
        Some(entries.map(|entry| format!("{}\n", entry.entry)).collect())
    }
}
