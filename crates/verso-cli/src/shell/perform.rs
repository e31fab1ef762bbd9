//! What commands do: they change the shell's switches, its input or its database, or print something.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use versodb::{Database, Options};

use super::command::{Command, Leave, Listing};
use super::describe::Asked;
use super::input::{Input, Lines};
use super::scanner::Scanner;
use super::{End, Flow, Peer, Shell, describe, help, is_address, place, results};

/// Scripts that include each other without end stop here.
const INCLUDE_DEPTH_MAX: u32 = 64;

impl Shell<'_> {
    /// Does what a command says.
    pub(super) fn command(
        &mut self,
        command: Command,
        scanner: &mut Scanner,
        input: &mut dyn Input,
        number: u64,
    ) -> Flow {
        let done: Result<(), String> = match command {
            Command::Leave(leave) => return self.leave(leave, place(input, number).as_deref()),
            Command::Include(path) => return self.include(&path, input, number),
            Command::Connect(None) => {
                self.say_where();
                Ok(())
            }
            Command::Connect(Some(path)) if path.to_str().is_some_and(is_address) => self.reach(&path),
            Command::Connect(Some(path)) => self.reopen(&path, |options| Database::open(&path, options)),
            Command::CreateDatabase { path, page_size } => self.reopen(&path, |options| {
                let options = match page_size {
                    Some(bytes) => options.page_size(bytes),
                    None => options,
                };
                Database::create(&path, options)
            }),
            Command::List(listing) => self.list(listing),
            Command::Describe(name) => self.describe(&name),
            Command::Expanded(switch) => {
                self.variables.expanded = switch.apply(self.variables.expanded);
                self.say_switch(input, "Expanded display", self.variables.expanded)
            }
            Command::Timing(switch) => {
                self.variables.timing = switch.apply(self.variables.timing);
                self.say_switch(input, "Timing", self.variables.timing)
            }
            Command::Statistics(_) if matches!(self.open, Some(Peer::Server(_))) => {
                Err("\\stat counts what databases do that the shell has opened itself".to_owned())
            }
            Command::Statistics(switch) => {
                self.variables.statistics = switch.apply(self.variables.statistics);
                self.say_switch(input, "Statistics", self.variables.statistics)
            }
            Command::Set { name, value } => {
                let set = self.variables.set(&name, &value);
                self.apply_autocommit();
                set
            }
            Command::Unset(name) => {
                let unset = self.variables.unset(&name);
                self.apply_autocommit();
                unset
            }
            Command::ShowVariables => self.say(&self.variables.show()),
            Command::Echo { text, newline } => {
                self.say(&format!("{text}{}", if newline { "\n" } else { "" }))
            }
            Command::Help => self.say(help::COMMANDS),
            Command::SqlHelp(topic) => self.say(&help::sql_help(topic.as_deref())),
            Command::Run => {
                return match scanner.take_pending() {
                    Some(sql) => self.statement(&sql, scanner, input, number),
                    None => Flow::On,
                };
            }
            Command::Print => self.say(&format!("{}\n", scanner.pending())),
            Command::Reset => {
                scanner.take_pending();
                self.say("Query buffer reset (cleared).\n")
            }
        };
        match done {
            Ok(()) => Flow::On,
            Err(message) => self.failed(input, number, &message),
        }
    }

    fn leave(&mut self, leave: Leave, place: Option<&str>) -> Flow {
        let open = self.open.as_ref().is_some_and(|open| open.transaction().0);
        let flow = match leave {
            Leave::Commit if open => self.sql("COMMIT", place),
            Leave::Rollback if open => self.sql("ROLLBACK", place),
            _ => Flow::On,
        };
        match flow {
            Flow::On => Flow::Leave,
            other => other,
        }
    }

    /// Runs a script; its path is tried in the including script's folder first.
    fn include(&mut self, path: &Path, input: &mut dyn Input, number: u64) -> Flow {
        if self.depth >= INCLUDE_DEPTH_MAX {
            return self.failed(input, number, "scripts include each other too deeply");
        }
        let beside = input.folder().map(|folder| folder.join(path)).filter(|beside| beside.is_file());
        let path = beside.unwrap_or_else(|| path.to_owned());
        match self.run_script(&path, false) {
            Ok(End::Finished) => Flow::On,
            Ok(End::Stopped) => Flow::Failed,
            Ok(End::Lost) => Flow::Lost,
            Err(error) => self.failed(input, number, &format!("{}: {error}", path.display())),
        }
    }

    /// Runs the script at `path`.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn run_script(&mut self, path: &Path, stop_at_error: bool) -> std::io::Result<End> {
        #[expect(clippy::disallowed_methods, reason = "scripts are the user's files, not the database's")]
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(std::io::ErrorKind::IsADirectory.into());
        }
        self.depth += 1;
        let end = self.run(&mut Lines::of_script(BufReader::new(file), path), stop_at_error);
        self.depth -= 1;
        Ok(end)
    }

    /// Closes the open database, then opens another.
    fn reopen(
        &mut self,
        path: &Path,
        open: impl FnOnce(Options) -> Result<Database, versodb::Error>,
    ) -> Result<(), String> {
        let changed =
            self.close().and_then(|()| open(self.options.clone())).and_then(|new| self.adopt(path, new));
        changed.map_err(|error| results::one_line(&error))?;
        self.say_where();
        Ok(())
    }

    /// Closes the open database, then connects to a server.
    fn reach(&mut self, address: &Path) -> Result<(), String> {
        self.close().map_err(|error| results::one_line(&error))?;
        self.open_server(&address.to_string_lossy())?;
        self.say_where();
        Ok(())
    }

    fn say_where(&mut self) {
        let text = match &self.open {
            Some(Peer::Opened(open)) => {
                format!("You are now connected to database \"{}\".\n", open.path.display())
            }
            Some(Peer::Server(remote)) => {
                format!("You are now connected to database \"{}\" at {}.\n", remote.database, remote.shown)
            }
            None => "No database is open.\n".to_owned(),
        };
        self.output.print(&text);
    }

    fn say(&mut self, text: &str) -> Result<(), String> {
        self.output.print(text);
        Ok(())
    }

    /// Switches of scripts are silent: their output is compared and kept.
    fn say_switch(&mut self, input: &dyn Input, what: &str, on: bool) -> Result<(), String> {
        if input.is_terminal() {
            self.output.print(&format!("{what} is {}.\n", if on { "on" } else { "off" }));
        }
        Ok(())
    }

    fn apply_autocommit(&mut self) {
        if let Some(Peer::Opened(open)) = &mut self.open {
            open.connection.set_autocommit(self.variables.autocommit);
        }
    }

    fn list(&mut self, listing: Listing) -> Result<(), String> {
        let text = describe::list(self.asked()?, listing)?;
        self.say(&text)
    }

    fn describe(&mut self, name: &str) -> Result<(), String> {
        let text = describe::describe(self.asked()?, name)?;
        self.say(&text.ok_or_else(|| format!("Did not find any relation named \"{name}\"."))?)
    }

    /// Who answers questions about the catalog.
    fn asked(&mut self) -> Result<&mut dyn Asked, String> {
        match &mut self.open {
            Some(Peer::Opened(open)) => Ok(&mut open.connection),
            Some(Peer::Server(remote)) => Ok(remote),
            None => Err("no database is open".to_owned()),
        }
    }
}
