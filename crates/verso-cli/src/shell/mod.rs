//! The shell: takes lines, runs statements and commands, prints results as psql does.
//!
//!     Input ─► Scanner ─► alias or backslash command ─► Shell itself (`perform`)
//!                    └──► statement ─► Connection, or Remote ─► ResultSink ─► Table ─► Output
//!
//! H1. A statement is sent as it was typed, so that positions in errors fit; only ` // …` comments are taken out.
//! H2. An error ends a script only under ON_ERROR_STOP, never what a person types.
//! H3. Leaving rolls back what is open, unless EXIT said otherwise; the database is closed cleanly.

mod command;
mod describe;
mod figures;
mod help;
mod input;
mod output;
mod perform;
mod remote;
mod report;
mod results;
mod scanner;
mod table;
mod variables;

use std::path::{Path, PathBuf};

use verso_env::Env;
use verso_types::TimeStyle;
use versodb::{Connection, Database, Options};

use crate::interrupt::Interrupts;
use command::{Command, parse_alias, parse_backslash};
use figures::elapsed_line;
pub use input::{Input, Line, Lines, Terminal};
pub use output::Output;
use remote::Remote;
pub use remote::is_address;
use report::Report;
use results::ResultSink;
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

struct OpenDatabase {
    path: PathBuf,
    // Dropped before the database: fields drop in order.
    connection: Connection,
    database: Database,
}

/// Who statements are sent to.
enum Peer {
    Opened(OpenDatabase),
    Server(Remote),
}

impl Peer {
    /// Whether a transaction is open, and whether it has failed.
    fn transaction(&self) -> (bool, bool) {
        match self {
            Peer::Opened(open) => (open.connection.in_transaction(), open.connection.transaction_failed()),
            Peer::Server(remote) => remote.transaction(),
        }
    }
}

/// A shell with at most one open database, or one server.
pub struct Shell<'w> {
    env: Env,
    options: Options,
    variables: Variables,
    open: Option<Peer>,
    output: Output<'w>,
    interrupts: Interrupts,
    depth: u32,
    /// Lines that were data of COPY, not counted yet.
    data_lines: u64,
}

impl<'w> Shell<'w> {
    /// A shell without a database.
    pub fn new(options: Options, output: Output<'w>, interrupts: Interrupts) -> Shell<'w> {
        let env = crate::environment();
        let variables = Variables::default();
        Shell { env, options, variables, open: None, output, interrupts, depth: 0, data_lines: 0 }
    }

    /// Opens the database at `path`; with `create`, makes it if it is missing. True when it was made.
    ///
    /// # Errors
    /// As the library says.
    pub fn open(&mut self, path: &Path, create: bool) -> Result<bool, versodb::Error> {
        let missing = !path.exists();
        let database = if missing && create {
            Database::create(path, self.options.clone())?
        } else {
            Database::open(path, self.options.clone())?
        };
        self.adopt(path, database)?;
        Ok(missing)
    }

    fn adopt(&mut self, path: &Path, database: Database) -> Result<(), versodb::Error> {
        let mut connection = database.connect()?;
        connection.execute("SET statement_statistics = on")?; // shown behind each statement
        connection.set_autocommit(self.variables.autocommit);
        self.open = Some(Peer::Opened(OpenDatabase { path: path.to_owned(), connection, database }));
        Ok(())
    }

    /// Talks to a server from now on.
    ///
    /// # Errors
    /// One line.
    pub fn open_server(&mut self, address: &str) -> Result<(), String> {
        let remote = Remote::connect(address)?;
        self.open = Some(Peer::Server(remote));
        Ok(())
    }

    /// Closes the database cleanly; an open transaction is rolled back.
    ///
    /// # Errors
    /// As the library says: what was committed is safe all the same.
    pub fn close(&mut self) -> Result<(), versodb::Error> {
        self.output.flush();
        match self.open.take() {
            Some(Peer::Opened(OpenDatabase { connection, database, .. })) => {
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
        let mut scanner = Scanner::default();
        let mut number = 0_u64;
        loop {
            let prompt = self.prompt(scanner.open());
            self.output.flush();
            let line = match input.line(&prompt) {
                Ok(line) => line,
                Err(error) => {
                    let place = input.name().unwrap_or("input").to_owned();
                    self.complain(Some(&place), &error.to_string());
                    return End::Stopped;
                }
            };
            number += 1;
            let flow = match line {
                Line::Interrupted => {
                    scanner.reset();
                    continue;
                }
                Line::End => self.rest(&mut scanner, input, number),
                Line::Text(ref text) => self.line(text, &mut scanner, input, number, stop_at_error),
            };
            number += std::mem::take(&mut self.data_lines);
            if self.output.is_closed() {
                return End::Stopped;
            }
            match flow {
                Flow::Lost => return End::Lost,
                Flow::Leave => return End::Finished,
                Flow::Failed if self.ends_here(input, stop_at_error) => return End::Stopped,
                Flow::On | Flow::Failed => {}
            }
            if line == Line::End {
                return End::Finished;
            }
        }
    }

    /// Whether an error ends this input.
    fn ends_here(&mut self, input: &dyn Input, stop_at_error: bool) -> bool {
        if input.is_terminal() {
            self.interrupts.take();
            return false;
        }
        stop_at_error || self.variables.on_error_stop || self.interrupts.pending()
    }

    /// Everything on one line.
    fn line(
        &mut self,
        text: &str,
        scanner: &mut Scanner,
        input: &mut dyn Input,
        number: u64,
        stop_at_error: bool,
    ) -> Flow {
        if self.variables.echo == Echo::All && !input.is_terminal() && !text.is_empty() {
            self.output.print(&format!("{text}\n"));
        }
        // QUIT and EXIT need no semicolon on a line of their own.
        if scanner.open() == Open::Nothing
            && let Ok(Some(command @ Command::Leave(_))) = parse_alias(text)
        {
            return self.command(command, scanner, input, number);
        }
        scanner.push_line(text);
        let mut failed = false;
        while let Some(piece) = scanner.next_piece() {
            let flow = match piece {
                Piece::Statement(sql) => self.statement(&sql, scanner, input, number),
                Piece::Backslash(text) => match parse_backslash(&text) {
                    Ok(command) => self.command(command, scanner, input, number),
                    Err(message) => self.failed(input, number, &message),
                },
            };
            match flow {
                Flow::On => {}
                Flow::Failed if !self.ends_here(input, stop_at_error) => failed = true,
                Flow::Failed | Flow::Leave | Flow::Lost => return flow,
            }
        }
        if failed { Flow::Failed } else { Flow::On }
    }

    /// What stands without a semicolon at the end of a script.
    fn rest(&mut self, scanner: &mut Scanner, input: &mut dyn Input, number: u64) -> Flow {
        match scanner.take_pending() {
            Some(sql) if !input.is_terminal() => self.statement(&sql, scanner, input, number - 1),
            _ => Flow::On,
        }
    }

    fn statement(&mut self, sql: &str, scanner: &mut Scanner, input: &mut dyn Input, number: u64) -> Flow {
        input.remember(sql);
        match parse_alias(sql) {
            Ok(Some(command)) => self.command(command, scanner, input, number),
            Ok(None) => {
                let place = place(input, number);
                self.sql_with_data(sql, place.as_deref(), Some(input))
            }
            Err(message) => self.failed(input, number, &message),
        }
    }

    /// Sends one statement to the session and prints what comes back.
    fn sql(&mut self, sql: &str, place: Option<&str>) -> Flow {
        self.sql_with_data(sql, place, None)
    }

    /// The same; data that it asks for are the lines that follow in `input`.
    fn sql_with_data(&mut self, sql: &str, place: Option<&str>, input: Option<&mut dyn Input>) -> Flow {
        if self.variables.echo == Echo::Queries {
            self.output.print(&format!("{sql}\n"));
        }
        let Some(open) = &mut self.open else {
            let hint = Some("\\c FILE opens a database, CREATE DATABASE 'file'; makes one.");
            let report = Report {
                severity: "ERROR",
                sqlstate: "08003",
                message: "no database is open",
                hint,
                ..Report::default()
            };
            self.output.complain(&report.render(sql, place));
            return Flow::Failed;
        };
        let start = self.env.clock.monotonic_nanos();
        let time_zone = match open {
            Peer::Opened(open) => open.connection.timezone(),
            Peer::Server(_) => TimeStyle::UTC, // its values come as texts
        };
        let sink = ResultSink::new(&mut self.output, self.variables.expanded, place, sql, time_zone);
        // Taken apart and put together: an input may live longer than its loan to the sink.
        #[expect(clippy::needless_match, reason = "only a new Some shortens the lifetime")]
        let data: Option<&mut dyn Input> = match input {
            Some(input) => Some(input),
            None => None,
        };
        let mut sink = sink.with_data(data);
        // What is printed of an error, and whether nothing more can be done.
        let result: Result<(), (String, bool)> = match open {
            Peer::Opened(open) => {
                let cancel = open.connection.cancel_handle();
                let run = || open.connection.execute_script(sql, &mut sink);
                self.interrupts.during(move || cancel.cancel(), run).map_err(|error| {
                    (results::report_of(&error).render(sql, place), results::is_lost(&error))
                })
            }
            Peer::Server(remote) => {
                let cancel = remote.canceller();
                let done = self.interrupts.during(cancel, || {
                    remote.begin_unless(self.variables.autocommit, sql)?;
                    remote.execute(sql, &mut sink)
                });
                done.map_err(|said| (said.report().render(sql, place), said.is_lost))
            }
        };
        let elapsed = self.env.clock.monotonic_nanos() - start;
        self.data_lines += sink.finish_data();
        let flow = match result {
            Ok(()) => Flow::On,
            Err((report, is_lost)) => {
                self.output.complain(&report);
                if self.variables.echo == Echo::Errors {
                    self.output.complain(&format!("STATEMENT:  {sql}\n"));
                }
                if is_lost { Flow::Lost } else { Flow::Failed }
            }
        };
        if self.variables.timing {
            self.output.print(&elapsed_line(elapsed));
        }
        if let (true, Peer::Opened(open)) = (self.variables.statistics, open) {
            let figures = open.connection.statement_statistics().as_ref().map(results::figures_of);
            self.output.print(&figures.unwrap_or_default().block());
        }
        flow
    }

    fn failed(&mut self, input: &dyn Input, number: u64, message: &str) -> Flow {
        self.complain(place(input, number).as_deref(), message);
        Flow::Failed
    }

    /// An error of the shell itself.
    fn complain(&mut self, place: Option<&str>, message: &str) {
        let place = place.map_or_else(|| "verso".to_owned(), |place| format!("verso:{place}"));
        self.output.complain(&format!("{place}: error: {message}\n"));
    }

    /// `demo=> `: the database, what is open in the text, whether a transaction is open.
    fn prompt(&self, open_text: Open) -> String {
        let open = match open_text {
            Open::Nothing => '=',
            Open::Statement => '-',
            Open::Text => '\'',
            Open::Name => '"',
            Open::Dollar => '$',
            Open::Comment => '*',
            Open::Parenthesis => '(',
        };
        let name = match &self.open {
            Some(Peer::Opened(open)) => open.path.file_stem().map(|name| name.to_string_lossy()),
            Some(Peer::Server(remote)) => Some(remote.database.as_str().into()),
            None => None,
        };
        let name = name.unwrap_or_else(|| "verso".into());
        let transaction = match self.open.as_ref().map(Peer::transaction) {
            Some((_, true)) => "!",
            Some((true, _)) => "*",
            _ => "",
        };
        format!("{name}{open}{transaction}> ")
    }
}

/// `script:line`, for messages.
fn place(input: &dyn Input, number: u64) -> Option<String> {
    input.name().map(|name| format!("{name}:{number}"))
}
