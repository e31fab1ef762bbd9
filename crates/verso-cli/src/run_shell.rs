//! `verso shell`: what runs in which order, and the exit code.

use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use versodb::Options;

use crate::args::{PageArguments, ShellArguments};
use crate::demo;
use crate::interrupt::Interrupts;
use crate::shell::{End, Lines, Output, Shell, Terminal, is_address, wants_colours};

/// Wrong arguments, a file that cannot be opened, a failed `--command`.
pub const EXIT_USAGE: u8 = 1;
/// The database was lost while working.
const EXIT_LOST: u8 = 2;
/// A script ended at an error.
pub const EXIT_SCRIPT: u8 = 3;

/// A part of the command line that is run, in the order given.
enum Action<'a> {
    Script(&'a Path),
    Statements(&'a str),
}

/// Runs the shell; `matches` tells the order of `--file` and `--command`.
pub fn run(arguments: &ShellArguments, matches: &ArgMatches) -> ExitCode {
    let mut out = BufWriter::new(std::io::stdout().lock());
    // Not locked: the bar of a statement that takes long is drawn there by another thread.
    let mut err = std::io::stderr();
    let interrupts = Interrupts::default();
    if let Err(error) = interrupts.install() {
        let _ = writeln!(err, "verso: warning: Ctrl-C will end the shell: {error}");
    }
    let in_colours = std::io::stderr().is_terminal() && wants_colours();
    let mut output = Output::new(&mut out, &mut err).in_colours(in_colours);
    if std::io::stdout().is_terminal() {
        output = output.on_screen(|| {
            let (rows, columns) = console::Term::stdout().size();
            (rows.into(), columns.into())
        });
    }
    let mut shell = Shell::new(options(&arguments.pages), output, interrupts);
    let temporary = match open(&mut shell, arguments) {
        Ok(temporary) => temporary,
        Err(message) => {
            shell.output().complain(&format!("verso: error: {message}\n"));
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let code = actions(&mut shell, arguments, matches);
    let closed = shell.close();
    if let Err(error) = &closed {
        shell.output().complain(&format!("verso: error: closing: {error}\n"));
    }
    drop(shell);
    if let Some(folder) = temporary {
        // Left behind it would only be a small folder among temporary files.
        let _ = std::fs::remove_dir_all(folder);
    }
    let code = if code == 0 && closed.is_err() { EXIT_LOST } else { code };
    ExitCode::from(code)
}

/// The library's options from the command line's.
pub fn options(pages: &PageArguments) -> Options {
    let mut options = Options::new().env(crate::environment());
    if let Some(bytes) = pages.page_size {
        options = options.page_size(bytes);
    }
    if let Some(bytes) = pages.pool_bytes {
        options = options.buffer_pool(bytes);
    }
    options.open_damaged_log(pages.open_damaged_log)
}

/// Opens the database that was asked for, if any; gives back the folder of a temporary one.
fn open(shell: &mut Shell<'_>, arguments: &ShellArguments) -> Result<Option<PathBuf>, String> {
    let (path, temporary) = match (&arguments.database, arguments.demo) {
        (Some(path), _) => (path.clone(), None),
        (None, true) => {
            let folder = std::env::temp_dir().join(format!("verso-demo-{}", std::process::id()));
            std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            (folder.join("demo.verso"), Some(folder))
        }
        (None, false) => return Ok(None),
    };
    if let Some(address) = path.to_str().filter(|name| is_address(name)) {
        if arguments.demo {
            return Err("--demo is for a file".to_owned());
        }
        shell.open_server(address)?;
        return Ok(None);
    }
    let created = shell.open(&path, true).map_err(|error| format!("{}: {error}", path.display()))?;
    if arguments.demo && !created {
        let text = format!("verso: {} is there already: --demo adds nothing to it\n", path.display());
        shell.output().complain(&text);
    }
    if arguments.demo && created {
        let end = shell.run_silently(demo::SCRIPT);
        if end != End::Finished {
            return Err("the sample data could not be loaded".to_owned());
        }
    }
    Ok(temporary)
}

fn actions(shell: &mut Shell<'_>, arguments: &ShellArguments, matches: &ArgMatches) -> u8 {
    let mut actions: Vec<(usize, Action<'_>)> = Vec::new();
    let indices = |name: &str| matches.indices_of(name).into_iter().flatten();
    actions.extend(indices("file").zip(&arguments.file).map(|(at, path)| (at, Action::Script(path))));
    actions.extend(indices("command").zip(&arguments.command).map(|(at, sql)| (at, Action::Statements(sql))));
    actions.sort_by_key(|(at, _)| *at);
    if actions.is_empty() {
        return exit_code(standard_input(shell, arguments.demo));
    }
    let mut code = 0;
    for (_, action) in actions {
        let now = match action {
            Action::Script(path) if path == Path::new("-") => exit_code(standard_input(shell, false)),
            Action::Script(path) => script(shell, path),
            Action::Statements(sql) => match shell.run(&mut Lines::unnamed(sql.as_bytes()), true) {
                End::Finished => 0,
                End::Stopped => EXIT_USAGE,
                End::Lost => EXIT_LOST,
            },
        };
        code = code.max(now);
        if now != 0 && (now != EXIT_USAGE || shell.stops_at_errors()) {
            break;
        }
    }
    code
}

fn script(shell: &mut Shell<'_>, path: &Path) -> u8 {
    match shell.run_script(path, false) {
        Ok(end) => exit_code(end),
        Err(error) => {
            shell.output().complain(&format!("verso: error: {}: {error}\n", path.display()));
            EXIT_USAGE
        }
    }
}

fn standard_input(shell: &mut Shell<'_>, demo: bool) -> End {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return shell.run(&mut Lines::unnamed(stdin.lock()), false);
    }
    let mut terminal = match Terminal::open() {
        Ok(terminal) => terminal,
        Err(error) => {
            shell.output().complain(&format!("verso: error: {error}\n"));
            return End::Stopped;
        }
    };
    shell
        .output()
        .print(&format!("verso {}. \\? shows the commands, \\q leaves.\n", env!("CARGO_PKG_VERSION")));
    if demo {
        shell.output().print(demo::WELCOME);
    }
    shell.run(&mut terminal, false)
}

fn exit_code(end: End) -> u8 {
    match end {
        End::Finished => 0,
        End::Stopped => EXIT_SCRIPT,
        End::Lost => EXIT_LOST,
    }
}
