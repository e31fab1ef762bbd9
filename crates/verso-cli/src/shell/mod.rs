//! The shell: takes lines, runs statements and commands, prints results as psql does.
//!
//!     Input ─► Reading (Scanner, Branches) ─► alias or backslash command ─► `command/`
//!                                        └──► statement ─► Peer ─► ResultSink ─► `format/` ─► Output, pager
//!
//! H1. A statement is sent as it was typed, so that positions in errors fit; only ` // …` comments are taken out, and
//!     variables put in.
//! H2. An error ends a script only under ON_ERROR_STOP, never what a person types.
//! H3. Leaving rolls back what is open, unless EXIT said otherwise; the database is closed cleanly.
//! H4. There is one table of commands (`command/mod.rs`), from which dispatch, `\?` and completion come.

mod alias;
mod arguments;
mod branches;
mod command;
mod complete;
mod describe;
mod editor;
mod figures;
mod format;
mod grammar;
mod input;
mod output;
mod pager;
mod peer;
mod progress;
mod remote;
mod report;
mod results;
mod run;
mod scanner;
mod variables;

use std::path::Path;

use verso_env::Env;
use versodb::{Database, Options};

use crate::interrupt::Interrupts;
use alias::parse_alias;
use branches::Branches;
use command::Command;
pub use editor::Terminal;
use format::Layout;
pub use input::{Asking, Input, Line, Lines};
pub use output::{Output, wants_colours};
use peer::{OpenDatabase, Peer};
use remote::Remote;
pub use remote::is_address;
use report::Said;
use scanner::{Open, Piece, Scanner};
use variables::{Echo, Variables};

/// How an input ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At its last line, or where it asked to be left.
    Finished,
    /// At an error, under ON_ERROR_STOP or because of Ctrl-C.
    Stopped,
    /// The database is gone: nothing more can be done with it.
    Lost,
}

/// What follows a statement or command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// The next one.
    On,
    /// The input is left.
    Leave,
    /// It has failed; the message is printed.
    Failed,
    /// As [`End::Lost`].
    Lost,
}

/// An input, and how far it is read.
struct Reading<'i> {
    input: &'i mut dyn Input,
    scanner: Scanner,
    branches: Branches,
    /// The number of the line.
    number: u64,
    /// The line of which the history has all from its first command on.
    noted: Option<u64>,
    stop_at_error: bool,
}

impl Reading<'_> {
    /// `script:line`, for messages.
    fn place(&self) -> Option<String> {
        self.input.name().map(|name| format!("{name}:{}", self.number))
    }

    /// Notes a line from its first backslash command on, for the history; the statement before it, where there is one.
    fn note(&mut self, sql: &str, command: &str, rest: &str) {
        // What stands behind the command on its line was noted with it.
        if sql.is_empty() && self.noted == Some(self.number) {
            return;
        }
        self.noted = Some(self.number);
        let line = rest.lines().next().unwrap_or_default().trim_end();
        let blank = if sql.is_empty() { "" } else { " " };
        self.input.remember(&format!("{sql}{blank}\\{command}{line}"));
    }
}

/// A shell with at most one open database, or one server.
pub struct Shell<'w> {
    env: Env,
    options: Options,
    variables: Variables,
    layout: Layout,
    open: Option<Peer>,
    output: Output<'w>,
    interrupts: Interrupts,
    depth: u32,
    /// Lines that were data of COPY, not counted yet.
    data_lines: u64,
    /// The last statement, which `\g` runs again and `\e` edits.
    previous: String,
    /// The last error, and its statement.
    last_error: Option<(Said, String)>,
    /// Parameters of the next statement (`\bind`, `\bind_named`).
    bound: Option<run::Bound>,
    /// Variables of the environment of programs that the shell runs; `None` for those that are unset.
    environment: std::collections::BTreeMap<String, Option<String>>,
    /// The word of `\restrict`, with which alone commands are allowed again.
    restricted: Option<String>,
}

impl<'w> Shell<'w> {
    /// A shell without a database.
    pub fn new(options: Options, output: Output<'w>, interrupts: Interrupts) -> Shell<'w> {
        Shell {
            env: crate::environment(),
            options,
            variables: Variables::default(),
            layout: Layout::default(),
            open: None,
            output,
            interrupts,
            depth: 0,
            data_lines: 0,
            previous: String::new(),
            last_error: None,
            bound: None,
            environment: std::collections::BTreeMap::new(),
            restricted: None,
        }
    }

    /// Opens the database at `path`; with `create`, makes it if it is missing. True when it was made.
    ///
    /// # Errors
    /// As the library says.
    pub fn open(&mut self, path: &Path, create: bool) -> Result<bool, versodb::Error> {
        let missing = Database::is_missing(path, &self.options)?;
        let database = if missing && create {
            Database::create(path, self.options.clone())?
        } else {
            Database::open(path, self.options.clone())?
        };
        self.adopt(path, database)?;
        Ok(missing)
    }

    fn adopt(&mut self, path: &Path, database: Database) -> Result<(), versodb::Error> {
        if let Some(warning) = crate::tools::warning_of(&database) {
            self.output.complain(&warning);
        }
        let mut connection = database.connect()?;
        connection.execute("SET statement_statistics = on")?; // shown behind each statement
        connection.set_autocommit(self.variables.autocommit);
        self.open =
            Some(Peer::Opened(Box::new(OpenDatabase { path: path.to_owned(), connection, database })));
        self.note_connection();
        Ok(())
    }

    /// Talks to a server from now on.
    ///
    /// # Errors
    /// One line.
    pub fn open_server(&mut self, address: &str) -> Result<(), String> {
        let remote = Remote::connect(address)?;
        self.open = Some(Peer::Server(Box::new(remote)));
        self.note_connection();
        Ok(())
    }

    /// Variables say where the shell is.
    fn note_connection(&mut self) {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (database, user, host, port) = match &self.open {
            Some(Peer::Server(remote)) => {
                let (host, port, _) = remote.listens();
                (remote.database.clone(), remote.user.clone(), host, port.to_string())
            }
            Some(peer) => (peer.name(), "verso".to_owned(), String::new(), String::new()),
            None => return,
        };
        // That of a file is what it says to its clients, too.
        let server = match &mut self.open {
            Some(Peer::Server(remote)) => remote.parameter("server_version").map(str::to_owned),
            Some(peer) => {
                let shown = peer.ask("SHOW server_version").unwrap_or_default();
                shown.rows.into_iter().flatten().next().flatten()
            }
            None => None,
        };
        for (name, value) in [
            ("DBNAME", database),
            ("USER", user),
            ("HOST", host),
            ("PORT", port),
            ("ENCODING", "UTF8".to_owned()),
            ("SERVER_VERSION_NUM", number_of(server.as_deref().unwrap_or(&version))),
            ("SERVER_VERSION_NAME", server.unwrap_or_else(|| version.clone())),
            ("VERSION", format!("Verso {version}")),
            ("VERSION_NAME", version.clone()),
            ("VERSION_NUM", number_of(&version)),
        ] {
            self.variables.note(name, &value);
        }
    }

    /// Closes the database cleanly; an open transaction is rolled back.
    ///
    /// # Errors
    /// As the library says: what was committed is safe all the same.
    pub fn close(&mut self) -> Result<(), versodb::Error> {
        self.output.flush();
        match self.open.take() {
            Some(Peer::Opened(open)) => {
                let OpenDatabase { connection, database, .. } = *open;
                drop(connection);
                database.close()
            }
            Some(Peer::Server(remote)) => {
                remote.close();
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether ON_ERROR_STOP is on.
    pub fn stops_at_errors(&self) -> bool {
        self.variables.on_error_stop
    }

    /// Runs statements of our own and shows only their errors.
    pub fn run_silently(&mut self, script: &str) -> End {
        self.output.mute(true);
        let end = self.run(&mut Lines::unnamed(script.as_bytes()), true);
        self.output.mute(false);
        end
    }

    /// Where results and messages go.
    pub fn output(&mut self) -> &mut Output<'w> {
        &mut self.output
    }

    /// Runs a whole input; `stop_at_error` as if ON_ERROR_STOP were on.
    pub fn run(&mut self, input: &mut dyn Input, stop_at_error: bool) -> End {
        let mut reading = Reading {
            input,
            scanner: Scanner::default(),
            branches: Branches::default(),
            number: 0,
            noted: None,
            stop_at_error,
        };
        loop {
            let prompt = self.prompt(&reading);
            self.output.flush();
            let asking = Asking {
                prompt: &prompt,
                in_text: !matches!(
                    reading.scanner.open(),
                    Open::Nothing | Open::Statement | Open::Parenthesis
                ),
                statement: reading.scanner.pending(),
                peer: &mut self.open,
                variables: &self.variables,
            };
            let line = match reading.input.line(asking) {
                Ok(line) => line,
                Err(error) => {
                    let place = reading.input.name().unwrap_or("input").to_owned();
                    self.complain(Some(&place), &error.to_string());
                    return End::Stopped;
                }
            };
            reading.number += 1;
            let flow = match line {
                Line::Interrupted => {
                    if reading.scanner.open() == Open::Nothing && reading.branches.is_open() {
                        reading.branches.leave();
                    }
                    reading.scanner.reset();
                    continue;
                }
                Line::End => self.rest(&mut reading),
                Line::Text(ref text) => self.line(text, &mut reading),
            };
            reading.number += std::mem::take(&mut self.data_lines);
            if self.output.is_closed() {
                return End::Stopped;
            }
            match flow {
                Flow::Lost => return End::Lost,
                Flow::Leave => return End::Finished,
                Flow::Failed if self.ends_here(&reading) => return End::Stopped,
                Flow::On | Flow::Failed => {}
            }
            if line == Line::End {
                return End::Finished;
            }
        }
    }

    /// Whether an error ends this input.
    fn ends_here(&mut self, reading: &Reading<'_>) -> bool {
        if reading.input.is_terminal() {
            self.interrupts.take();
            return false;
        }
        reading.stop_at_error || self.variables.on_error_stop || self.interrupts.pending()
    }

    /// Everything on one line.
    fn line(&mut self, text: &str, reading: &mut Reading<'_>) -> Flow {
        if self.variables.echo == Echo::All && !reading.input.is_terminal() && !text.is_empty() {
            self.output.say(&format!("{text}\n"));
        }
        if reading.scanner.open() == Open::Nothing && !reading.branches.passes_over() {
            // QUIT and EXIT need no semicolon on a line of their own.
            if let Ok(Some(command @ Command::Leave(_))) = parse_alias(text) {
                return self.command(command, reading);
            }
            if reading.input.is_terminal() && text.trim().trim_end_matches(';').eq_ignore_ascii_case("help") {
                self.output.say(command::WELCOME);
                return Flow::On;
            }
        }
        reading.scanner.push_line(text);
        self.pieces(reading)
    }

    /// Runs what is complete of the line.
    fn pieces(&mut self, reading: &mut Reading<'_>) -> Flow {
        let mut failed = false;
        loop {
            let over = reading.branches.passes_over();
            let lookup = |name: &str| self.variables.get(name).filter(|_| !over).map(str::to_owned);
            let Some(piece) = reading.scanner.next_piece(&lookup) else { break };
            let flow = match piece {
                Piece::Statement(_) if over => Flow::On,
                Piece::Statement(sql) => self.statement(&sql, reading),
                Piece::Backslash(name) => self.backslash(&name, reading),
            };
            match flow {
                Flow::On => {}
                Flow::Failed if !self.ends_here(reading) => failed = true,
                Flow::Failed | Flow::Leave | Flow::Lost => return flow,
            }
        }
        if failed { Flow::Failed } else { Flow::On }
    }

    /// What stands without a semicolon at the end of a script.
    fn rest(&mut self, reading: &mut Reading<'_>) -> Flow {
        let pending = reading.scanner.take_pending();
        let over = reading.branches.passes_over();
        reading.number -= 1;
        let flow = match pending {
            Some(sql) if !reading.input.is_terminal() && !over => self.statement(&sql, reading),
            _ => Flow::On,
        };
        if flow == Flow::On && reading.branches.is_open() && !reading.input.is_terminal() {
            return self.failed(reading, "reached EOF without finding closing \\endif(s)");
        }
        flow
    }

    fn statement(&mut self, sql: &str, reading: &mut Reading<'_>) -> Flow {
        reading.input.remember(sql);
        match parse_alias(sql) {
            Ok(Some(command)) => self.command(command, reading),
            Ok(None) => self.sql_of(sql, reading),
            Err(message) => self.failed(reading, &message),
        }
    }

    fn failed(&mut self, reading: &Reading<'_>, message: &str) -> Flow {
        self.complain(reading.place().as_deref(), message);
        Flow::Failed
    }

    /// An error of the shell itself.
    fn complain(&mut self, place: Option<&str>, message: &str) {
        let place = place.map_or_else(|| "verso".to_owned(), |place| format!("verso:{place}"));
        self.output.complain(&format!("{place}: error: {message}\n"));
    }

    /// Something that is wrong, but ends nothing.
    fn warn(&mut self, reading: &Reading<'_>, message: &str) {
        let place = reading.place().map_or_else(|| "verso".to_owned(), |place| format!("verso:{place}"));
        self.output.complain(&format!("{place}: warning: {message}\n"));
    }

    /// `demo=> `: the database, what is open in the text, whether a transaction is open.
    fn prompt(&self, reading: &Reading<'_>) -> String {
        let open = match reading.scanner.open() {
            _ if reading.branches.passes_over() => '@',
            Open::Nothing => '=',
            Open::Statement => '-',
            Open::Text => '\'',
            Open::Name => '"',
            Open::Dollar => '$',
            Open::Comment => '*',
            Open::Parenthesis => '(',
        };
        let name = self.open.as_ref().map_or_else(|| "verso".to_owned(), Peer::name);
        let transaction = match self.open.as_ref().map(Peer::transaction) {
            Some((_, true)) => "!",
            Some((true, _)) => "*",
            _ => "",
        };
        format!("{name}{open}{transaction}> ")
    }
}

/// `18.4` as `180004`.
fn number_of(version: &str) -> String {
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    (major * 10_000 + minor).to_string()
}
