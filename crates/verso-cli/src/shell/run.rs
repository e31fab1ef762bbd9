//! Statements on their way to the database, and what is noted of their ends.

use std::io::Write;

use super::figures::{self, elapsed_line};
use super::format::Table;
use super::peer::Peer;
use super::progress::Watched;
use super::report::Said;
use super::results::{self, ResultSink, Shown, Source};
use super::variables::{Echo, Rollback};
use super::{Flow, Reading, Shell};

/// The savepoint around a statement under ON_ERROR_ROLLBACK.
const SAVEPOINT: &str = "verso_shell_savepoint";

/// One statement, and what it works with.
pub(super) struct Request<'r> {
    /// As it was typed.
    pub sql: &'r str,
    /// `file:line` in a script.
    pub place: Option<&'r str>,
    /// Data of COPY FROM STDIN.
    pub source: Source<'r>,
    /// Data of COPY TO STDOUT.
    pub copy_to: Option<Box<dyn Write>>,
    /// The results are kept, not printed.
    pub keep: bool,
    /// A person has typed it.
    pub is_typed: bool,
}

/// Parameters of the next statement.
pub(super) struct Bound {
    /// The prepared statement that it is; of none it is the one that is typed.
    pub prepared: Option<String>,
    /// Their values.
    pub values: Vec<String>,
}

impl<'r> Request<'r> {
    /// A statement without data.
    pub fn new(sql: &'r str, place: Option<&'r str>) -> Request<'r> {
        Request { sql, place, source: Source::Nothing, copy_to: None, keep: false, is_typed: false }
    }
}

impl Shell<'_> {
    /// Sends a statement that was typed, or stands in a script; its data are the lines that follow.
    pub(super) fn sql_of(&mut self, sql: &str, reading: &mut Reading<'_>) -> Flow {
        self.previous = sql.trim_end().trim_end_matches(';').trim_end().to_owned();
        self.echo(sql, reading);
        let place = reading.place();
        let is_typed = reading.input.is_terminal();
        let source = Source::Lines(reading.input);
        self.request(Request { source, is_typed, ..Request::new(sql, place.as_deref()) }).0
    }

    fn echo(&mut self, sql: &str, reading: &Reading<'_>) {
        if self.variables.echo == Echo::Queries && !reading.input.is_terminal() {
            self.output.say(&format!("{sql}\n"));
        }
    }

    /// Sends one statement, prints what comes back or keeps it.
    pub(super) fn request(&mut self, request: Request<'_>) -> (Flow, Vec<Table>) {
        let bound = self.bound.take();
        let Some(Bound { prepared, values }) = bound else { return self.guarded(request) };
        let values: Vec<String> = values.iter().map(|value| super::arguments::literal(value)).collect();
        let execute = |name: &str| match values.as_slice() {
            [] => format!("EXECUTE \"{}\"", name.replace('"', "\"\"")),
            values => format!("EXECUTE \"{}\" ({})", name.replace('"', "\"\""), values.join(", ")),
        };
        if let Some(name) = prepared {
            let Request { place, source, copy_to, keep, is_typed, .. } = request;
            let source = source.lent();
            return self.guarded(Request { sql: &execute(&name), place, source, copy_to, keep, is_typed });
        }
        // Parameters go as literals of a prepared statement, whose types the database infers.
        const NAME: &str = "verso_shell_bound";
        let sql = request.sql.trim_end().trim_end_matches(';');
        let prepare = format!("PREPARE {NAME} AS {sql}");
        if let Err(mut said) = self.silently(&prepare) {
            let before = (prepare.len() - sql.len()) as u32;
            said.position = said.position.and_then(|position| position.checked_sub(before));
            return (self.complain_of(*said, sql, request.place), Vec::new());
        }
        let execute = execute(NAME);
        let Request { place, source, copy_to, keep, is_typed, .. } = request;
        let source = source.lent();
        let done = self.guarded(Request { sql: &execute, place, source, copy_to, keep, is_typed });
        // In a transaction that has failed it goes with the transaction's end.
        let _ = self.silently(&format!("DEALLOCATE {NAME}"));
        done
    }

    /// The same with a savepoint around it where ON_ERROR_ROLLBACK wants one.
    fn guarded(&mut self, request: Request<'_>) -> (Flow, Vec<Table>) {
        let wanted = match self.variables.on_error_rollback {
            Rollback::Off => false,
            Rollback::On => true,
            Rollback::Interactive => request.is_typed,
        };
        let open = self.open.as_ref().is_some_and(|peer| peer.transaction() == (true, false));
        let ends = ["commit", "rollback", "end", "abort", "prepare", "savepoint", "release"];
        let first = first_word(request.sql);
        if !wanted || !open || ends.contains(&first.as_str()) {
            return self.plain(request);
        }
        if let Err(said) = self.silently(&format!("SAVEPOINT {SAVEPOINT}")) {
            return (self.complain_of(*said, request.sql, request.place), Vec::new());
        }
        let done = self.plain(request);
        let after = match self.open.as_ref().map(Peer::transaction) {
            Some((true, true)) => format!("ROLLBACK TO {SAVEPOINT}; RELEASE {SAVEPOINT}"),
            Some((true, false)) => format!("RELEASE {SAVEPOINT}"),
            _ => return done,
        };
        for statement in after.split("; ") {
            // What cannot be released goes with the transaction.
            let _ = self.silently(statement);
        }
        done
    }

    /// A statement of the shell's own.
    pub(super) fn silently(&mut self, sql: &str) -> Result<Table, Box<Said>> {
        if self.variables.echo_hidden {
            let line = "*".repeat(25);
            self.output.say(&format!("/******** QUERY *********/\n{sql}\n/{line}/\n\n"));
        }
        match &mut self.open {
            Some(peer) => peer.ask(sql),
            None => Err(Box::new(not_open())),
        }
    }

    fn plain(&mut self, request: Request<'_>) -> (Flow, Vec<Table>) {
        let Request { sql, place, source, copy_to, keep, .. } = request;
        let Some(open) = &mut self.open else {
            return (self.complain_of(not_open(), sql, place), Vec::new());
        };
        let counted = |open: &mut Peer| open.ask(figures::TABLE_FIGURES).ok();
        let before = if self.variables.table_statistics { counted(open) } else { None };
        let start = self.env.clock.monotonic_nanos();
        let time_zone = match open {
            Peer::Opened(open) => open.connection.timezone(),
            Peer::Server(_) => verso_types::TimeStyle::UTC, // its values come as texts
        };
        // A bar in the midst of lines that are typed as data would be in the way.
        let bar = matches!(source, Source::Nothing) || !first_word(sql).starts_with("copy");
        let watched = Watched::begin(open, &self.env, bar && self.output.is_screen());
        let (quiet, verbosity) = (self.variables.quiet, self.variables.verbosity);
        let shown = Shown { layout: &self.layout, quiet, verbosity, place, statement: sql };
        let mut sink = ResultSink::new(&mut self.output, shown, time_zone).with(source.lent(), copy_to, keep);
        sink.when_it_prints(watched.handle());
        let result: Result<(), Box<Said>> = match open {
            Peer::Opened(open) => {
                let cancel = open.connection.cancel_handle();
                let run = || open.connection.execute_script(sql, &mut sink);
                let done = self.interrupts.during(move || cancel.cancel(), run);
                done.map_err(|error| Box::new(Said::from(&error)))
            }
            Peer::Server(remote) => {
                let cancel = remote.canceller();
                self.interrupts.during(cancel, || {
                    remote.begin_unless(self.variables.autocommit, sql)?;
                    remote.execute(sql, &mut sink)
                })
            }
        };
        let elapsed = self.env.clock.monotonic_nanos() - start;
        watched.end();
        let finished = sink.finish();
        self.data_lines += finished.lines;
        let result = result.and_then(|()| {
            let failed = |error| Box::new(Said::new("58030", super::output::cause(&error)));
            finished.flushed.map_err(failed)
        });
        let flow = match result {
            Ok(()) => {
                let rows = finished.tag.rsplit(' ').next().filter(|count| count.parse::<u64>().is_ok());
                self.variables.note("ERROR", "false");
                self.variables.note("SQLSTATE", "00000");
                self.variables.note("ROW_COUNT", rows.unwrap_or("0"));
                Flow::On
            }
            Err(said) => self.complain_of(*said, sql, place),
        };
        if self.variables.timing {
            self.output.say(&elapsed_line(elapsed));
        }
        if let (true, Some(Peer::Opened(open))) = (self.variables.statistics, &self.open) {
            let figures = open.connection.statement_statistics().as_ref().map(results::figures_of);
            self.output.say(&figures.unwrap_or_default().block());
        }
        // A transaction that has failed answers no questions.
        if let (Some(before), Some(open)) = (before, &mut self.open)
            && let Some(after) = counted(open)
        {
            self.output.say(&figures::table_block(&before, &after));
        }
        (flow, finished.kept)
    }

    /// Prints an error and keeps it.
    pub(super) fn complain_of(&mut self, said: Said, sql: &str, place: Option<&str>) -> Flow {
        self.output.complain(&said.render(sql, place, self.variables.verbosity));
        if self.variables.echo == Echo::Errors {
            self.output.complain(&format!("STATEMENT:  {sql}\n"));
        }
        for (name, value) in [
            ("ERROR", "true"),
            ("SQLSTATE", &said.sqlstate),
            ("ROW_COUNT", "0"),
            ("LAST_ERROR_SQLSTATE", &said.sqlstate),
            ("LAST_ERROR_MESSAGE", &said.message),
        ] {
            self.variables.note(name, value);
        }
        let flow = if said.is_lost { Flow::Lost } else { Flow::Failed };
        self.last_error = Some((said, sql.to_owned()));
        flow
    }
}

/// The first word of a statement, in lower case.
pub(super) fn first_word(sql: &str) -> String {
    sql.trim_start().chars().take_while(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase()
}

fn not_open() -> Said {
    let hint = "\\c FILE opens a database, CREATE DATABASE 'file'; makes one.".to_owned();
    Said { hint: Some(hint), ..Said::new("08003", "no database is open") }
}
