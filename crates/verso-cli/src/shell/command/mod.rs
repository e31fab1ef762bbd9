//! The backslash commands: one table, from which dispatch, `\?` and completion come.
//!
//! | module | commands |
//! |---|---|
//! | [`general`] | leaving, help, variables, words |
//! | [`buffer`] | what was typed so far: run, shown, edited, kept |
//! | [`watch`] | the same statement again and again |
//! | [`display`] | the form of results |
//! | [`files`] | scripts, output, COPY, programs |
//! | [`connection`] | which database |
//! | [`conditional`] | parts of scripts |
//! | `describe/` | what there is in the database |
//!
//! C1. A command's function takes its words itself; what it leaves is told and passed over.

mod buffer;
mod conditional;
mod connection;
mod copy;
mod crosstab;
mod display;
mod editing;
mod files;
mod general;
mod table;
mod watch;

use std::path::PathBuf;

pub use table::{COMMANDS, OPTION_NAMES, WELCOME};

use super::arguments::Arguments;
use super::{Flow, Reading, Shell};

/// What `on`, `off` or nothing behind a command means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Set it.
    To(bool),
    /// Turn it over.
    Toggle,
}

impl Switch {
    /// The value afterwards.
    pub fn apply(self, value: bool) -> bool {
        match self {
            Switch::To(value) => value,
            Switch::Toggle => !value,
        }
    }
}

/// What happens to the open transaction when a script or the shell is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// `EXIT`.
    Commit,
    /// `QUIT`.
    Rollback,
}

/// A command that statements of the published scripts stand for, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// End the script, or at the prompt the shell.
    Leave(Leave),
    /// Run a script.
    Include(PathBuf),
    /// Open another database; without a path, say which one is open.
    Connect(Option<PathBuf>),
    /// Make a database and open it.
    CreateDatabase {
        /// The file.
        path: PathBuf,
        /// Bytes of a page.
        page_size: Option<u32>,
    },
    /// Elapsed time after each statement.
    Timing(Switch),
    /// Statistics after each statement.
    Statistics(Switch),
    /// What it has changed, table by table.
    TableStatistics(Switch),
}

/// Where `\?` lists a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    General,
    Help,
    Buffer,
    Files,
    Conditional,
    Informational,
    Formatting,
    Connection,
    System,
    Variables,
}

impl Group {
    /// All, in the order of `\?`, with their headings.
    pub const ALL: [(Group, &str); 10] = [
        (Group::General, "General"),
        (Group::Help, "Help"),
        (Group::Buffer, "Query Buffer"),
        (Group::Files, "Input/Output"),
        (Group::Conditional, "Conditional"),
        (
            Group::Informational,
            "Informational\n  (options: S = show system objects, x = expanded mode, + = additional detail)",
        ),
        (Group::Formatting, "Formatting"),
        (Group::Connection, "Connection"),
        (Group::System, "Operating System"),
        (Group::Variables, "Variables"),
    ];
}

/// What the words behind a command are, for completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Nothing that is known.
    Any,
    /// A file.
    File,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// An option of `\pset`, then its value.
    Option,
    /// A variable.
    Variable,
    /// Something in the catalogs, by the query that lists it.
    Names(Kind),
    /// A statement's name.
    Statement,
    /// SQL.
    Sql,
}

/// Kinds of names in the catalogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Relations,
    Functions,
    Schemas,
    Types,
    Roles,
    Databases,
    Views,
    Indexes,
    Sequences,
}

/// A command.
pub struct Spec {
    /// Its names; the first is the one that is shown.
    pub names: &'static [&'static str],
    /// Which of the letters `S`, `x` and `+` may follow the name.
    pub flags: &'static str,
    /// The words that it takes, for people.
    pub arguments: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Where it is listed.
    pub group: Group,
    /// What its words are.
    pub words: Words,
    /// Does it.
    pub run: for<'w, 'c, 'i, 'l> fn(&mut Shell<'w>, &mut Call<'c, 'i, 'l>) -> Result<Flow, String>,
}

/// A command as it was typed.
pub struct Call<'c, 'i, 'l> {
    /// Its name, with flags.
    pub name: &'c str,
    /// The flags alone.
    pub flags: &'c str,
    /// All that stands behind its name.
    pub rest: &'c str,
    /// Its words.
    pub arguments: Arguments<'l>,
    /// The input in which it stands.
    pub reading: &'c mut Reading<'i>,
}

impl Call<'_, '_, '_> {
    /// A word that must be there.
    pub fn required(&mut self) -> Result<String, String> {
        self.arguments.word()?.ok_or_else(|| format!("\\{}: missing required argument", self.name))
    }

    /// Whether a flag was given.
    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }
}

/// The command of that name, and the flags behind it.
pub fn find(name: &str) -> Option<(&'static Spec, &str)> {
    let named = |name: &str| COMMANDS.iter().find(|spec| spec.names.contains(&name));
    let mut base = name;
    loop {
        let flags = &name[base.len()..];
        if let Some(spec) = named(base).filter(|spec| flags.chars().all(|flag| spec.flags.contains(flag))) {
            return Some((spec, flags));
        }
        // `\dtv`: several kinds of relations at once.
        let kinds = base.strip_prefix('d').unwrap_or_default();
        if kinds.len() > 1 && kinds.chars().all(|kind| "tvmisE".contains(kind)) {
            return named("dt").map(|spec| (spec, flags));
        }
        let last = base.chars().next_back().filter(|last| "Sx+".contains(*last))?;
        base = &base[..base.len() - last.len_utf8()];
    }
}

/// What is said of a command behind `\restrict`.
const RESTRICTED: &str = "backslash commands are restricted; only \\unrestrict is allowed";

impl Shell<'_> {
    /// Does what a backslash command says.
    pub(super) fn backslash(&mut self, name: &str, reading: &mut Reading<'_>) -> Flow {
        let Some((spec, flags)) = find(name) else {
            let taken = reading.scanner.rest().find('\\').unwrap_or(reading.scanner.rest().len());
            reading.scanner.skip(taken);
            let hint = match nearest(name) {
                Some(near) => format!("Did you mean \\{near}? Try \\? for help."),
                None => "Try \\? for help.".to_owned(),
            };
            return self.failed(reading, &format!("invalid command \\{name}\nHINT:  {hint}"));
        };
        if self.restricted.is_some() && spec.names[0] != "unrestrict" {
            let taken = reading.scanner.rest().find('\\').unwrap_or(reading.scanner.rest().len());
            reading.scanner.skip(taken);
            return self.failed(reading, RESTRICTED);
        }
        let variables = self.variables.clone();
        let over = reading.branches.passes_over();
        // Of a part that is passed over only the next condition is read.
        let reads = !over || (spec.names[0] == "elif" && reading.branches.asks(true));
        let lookup = |name: &str| variables.get(name).map(str::to_owned).filter(|_| reads);
        let rest = reading.scanner.rest().to_owned();
        let arguments = Arguments::new(&rest, &lookup);
        // Commands that run what was typed note it themselves.
        if reading.scanner.pending().trim().is_empty() {
            reading.note("", name, &rest);
        }
        let mut call = Call { name, flags, rest: &rest, arguments, reading };
        let done = match over && spec.group != Group::Conditional {
            true => {
                passed_over(spec, &mut call);
                Ok(Flow::On)
            }
            false => (spec.run)(self, &mut call),
        };
        let mut ignored = Vec::new();
        while let Ok(Some(word)) = call.arguments.next() {
            ignored.push(word);
        }
        let taken = call.arguments.taken();
        // A command that has put a text before the rest of the line leaves the rest to it.
        if reading.scanner.rest() == rest {
            reading.scanner.skip(taken);
        }
        if done.is_ok() && !over {
            for word in ignored {
                self.warn(reading, &format!("\\{name}: extra argument \"{word}\" ignored"));
            }
        }
        match done {
            Ok(flow) => flow,
            Err(message) => self.failed(reading, &message),
        }
    }

    /// Does what a statement of the shell's own says.
    pub(super) fn command(&mut self, command: Command, reading: &mut Reading<'_>) -> Flow {
        if self.restricted.is_some() {
            return self.failed(reading, RESTRICTED);
        }
        let done = match command {
            Command::Leave(leave) => return self.leave(leave, reading.place().as_deref()),
            Command::Include(path) => return self.include(&path, true, reading),
            Command::Connect(None) => {
                self.say_where();
                Ok(())
            }
            Command::Connect(Some(path)) => self.connect_to(&path, reading.input.is_terminal()),
            Command::CreateDatabase { path, page_size } => {
                self.create_database(&path, page_size, reading.input.is_terminal())
            }
            Command::Timing(switch) => {
                self.variables.timing = switch.apply(self.variables.timing);
                Ok(())
            }
            Command::Statistics(switch) => self.switch_statistics(switch),
            Command::TableStatistics(switch) => self.switch_table_statistics(switch),
        };
        match done {
            Ok(()) => Flow::On,
            Err(message) => self.failed(reading, &message),
        }
    }
}

/// Takes the words of a command that does not run: its quotes have to be read over all the same.
fn passed_over(spec: &Spec, call: &mut Call<'_, '_, '_>) {
    if matches!(spec.names[0], "!" | "copy") {
        call.arguments.line();
    } else {
        call.arguments.skip();
    }
}

/// A command whose name differs in one letter.
fn nearest(name: &str) -> Option<&'static str> {
    let near = |known: &&'static str| known.len() > 2 && distance(name, known) == 1;
    COMMANDS.iter().flat_map(|spec| spec.names.iter().copied()).find(|known| near(known))
}

/// How many letters have to be put in, left out or exchanged.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut line: Vec<usize> = (0..=b.len()).collect();
    for (row, of_a) in a.chars().enumerate() {
        let mut before = std::mem::replace(&mut line[0], row + 1);
        for (at, of_b) in b.iter().enumerate() {
            let replaced = before + usize::from(of_a != *of_b);
            before = line[at + 1];
            line[at + 1] = replaced.min(before + 1).min(line[at] + 1);
        }
    }
    line[b.len()]
}

/// `on`, `off` or nothing.
fn switch_of(call: &mut Call<'_, '_, '_>) -> Result<Switch, String> {
    let word = call.arguments.word()?;
    switch_named(word, call.name)
}

/// `on`, `off`, or the other one.
fn switch_named(word: Option<String>, command: &str) -> Result<Switch, String> {
    match word {
        None => Ok(Switch::Toggle),
        Some(word) => super::format::layout::flag_of(&word)
            .map(Switch::To)
            .ok_or_else(|| format!("unrecognized value \"{word}\" for \"\\{command}\": Boolean expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_with_their_flags() {
        let found = |name| find(name).map(|(spec, flags)| (spec.names[0], flags));
        assert_eq!(found("d"), Some(("d", "")));
        assert_eq!(found("dS+"), Some(("d", "S+")));
        assert_eq!(found("dx"), Some(("dx", "")));
        assert_eq!(found("dxx"), Some(("dx", "x")));
        assert_eq!(found("dtvS"), Some(("dt", "S")));
        assert_eq!(found("quit"), Some(("q", "")));
        assert_eq!(found("q+"), None);
        assert_eq!(found("nonsense"), None);
        assert_eq!(nearest("timng"), Some("timing"));
    }

    #[test]
    fn no_name_is_taken_twice() {
        let mut names: Vec<&str> = COMMANDS.iter().flat_map(|spec| spec.names.iter().copied()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
