//! Leaving, help, variables, words to print.

use super::super::arguments::is_name;
use super::super::input::Line;
use super::super::variables::Verbosity;
use super::super::{Flow, Shell, grammar, pager};
use super::{COMMANDS, Call, Group, Leave};

pub fn leave(_: &mut Shell<'_>, _: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    Ok(Flow::Leave)
}

/// Where the second column of `\?` begins.
const ABOUT_COLUMN: usize = 25;

pub fn help(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    call.arguments.skip();
    let text = commands();
    pager::page(&mut shell.output, &shell.layout, &text);
    Ok(Flow::On)
}

/// The text of `\?`.
pub fn commands() -> String {
    let mut out = String::new();
    for (group, heading) in Group::ALL {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("{heading}\n"));
        for spec in COMMANDS.iter().filter(|spec| spec.group == group) {
            let flags = if spec.flags.is_empty() { String::new() } else { format!("[{}]", spec.flags) };
            let left = format!("  \\{}{flags} {}", spec.names[0], spec.arguments);
            let left = left.trim_end();
            match left.len() < ABOUT_COLUMN {
                true => out.push_str(&format!("{left:<ABOUT_COLUMN$}{}\n", spec.about)),
                false => out.push_str(&format!("{left}\n{:ABOUT_COLUMN$}{}\n", "", spec.about)),
            }
        }
    }
    out.push_str(
        "    AUTOCOMMIT           on; off: the first statement starts a transaction that lasts until COMMIT\n    \
         ECHO                 none; all: input lines, queries: statements, errors: statements that fail\n    \
         ECHO_HIDDEN          off; on: the questions that commands ask\n    \
         ON_ERROR_ROLLBACK    off; on, interactive: an error does not end the transaction\n    \
         ON_ERROR_STOP        off; on: a script ends at its first error, with exit code 3\n    \
         QUIET                off; on: neither tags nor what a command has switched\n    \
         VERBOSITY            default; terse, verbose, sqlstate: how much is said of an error\n    \
         WATCH_INTERVAL       2: seconds between two runs of \\watch\n",
    );
    out
}

pub fn syntax(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let line = call.arguments.line();
    let topic = line.trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase();
    let text = grammar::help(Some(topic.as_str()).filter(|topic| !topic.is_empty()));
    pager::page(&mut shell.output, &shell.layout, &text);
    Ok(Flow::On)
}

pub fn errverbose(shell: &mut Shell<'_>, _: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    match &shell.last_error {
        None => shell.output.say("There is no previous error.\n"),
        Some((said, statement)) => {
            let text = said.render(statement, None, Verbosity::Verbose);
            shell.output.complain(&text);
        }
    }
    Ok(Flow::On)
}

/// `\restrict KEY`: a dump's data cannot run commands of the shell, as nobody who has made them knows the key.
pub fn restrict(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let key = call.required()?;
    shell.restricted = Some(key);
    Ok(Flow::On)
}

/// `\unrestrict KEY`.
pub fn unrestrict(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let key = call.required()?;
    match &shell.restricted {
        None => Err("\\unrestrict: not currently in restricted mode".to_owned()),
        Some(known) if *known != key => Err("\\unrestrict: wrong key".to_owned()),
        Some(_) => {
            shell.restricted = None;
            Ok(Flow::On)
        }
    }
}

/// `\echo`, `\qecho`, `\warn`.
pub fn echo(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let mut words = call.arguments.rest()?;
    let newline = words.first().is_none_or(|word| word != "-n");
    if !newline {
        words.remove(0);
    }
    let text = format!("{}{}", words.join(" "), if newline { "\n" } else { "" });
    match call.name {
        "warn" => shell.output.complain(&text),
        "qecho" => shell.output.print(&text),
        _ => shell.output.say(&text),
    }
    Ok(Flow::On)
}

pub fn set(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    match call.arguments.next()? {
        None => {
            let text = shell.variables.show();
            shell.output.say(&text);
        }
        Some(name) => {
            let value = call.arguments.rest()?.concat();
            shell.variables.set(&name, &value)?;
            shell.apply_autocommit();
        }
    }
    Ok(Flow::On)
}

pub fn unset(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let name = call.required()?;
    if !name.bytes().all(is_name) {
        return Err(format!("invalid variable name: \"{name}\""));
    }
    shell.variables.unset(&name);
    shell.apply_autocommit();
    Ok(Flow::On)
}

pub fn prompt(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let first = call.required()?;
    let (text, name) = match call.arguments.word()? {
        Some(name) => (first, name),
        None => (String::new(), first),
    };
    shell.output.say(&text);
    shell.output.flush();
    let answer = match call.reading.input.answer(&text, false).map_err(|error| error.to_string())? {
        Line::Text(answer) => answer,
        Line::End => String::new(),
        Line::Interrupted => return Ok(Flow::Failed),
    };
    call.reading.number += u64::from(!call.reading.input.is_terminal());
    shell.variables.set(&name, &answer)?;
    Ok(Flow::On)
}

pub fn take_environment(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let (variable, name) = (call.required()?, call.required()?);
    let value = match shell.environment.get(&name) {
        Some(value) => value.clone(),
        None => std::env::var(&name).ok(),
    };
    match value {
        Some(value) => shell.variables.set(&variable, &value)?,
        None => shell.variables.unset(&variable),
    }
    Ok(Flow::On)
}

pub fn set_environment(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let name = call.required()?;
    if name.contains('=') {
        return Err("\\setenv: environment variable name must not contain \"=\"".to_owned());
    }
    let value = call.arguments.next()?;
    shell.environment.insert(name, value);
    Ok(Flow::On)
}

impl Shell<'_> {
    pub(in crate::shell) fn leave(&mut self, leave: Leave, place: Option<&str>) -> Flow {
        use super::super::run::Request;
        let open = self.open.as_ref().is_some_and(|open| open.transaction().0);
        let flow = match leave {
            Leave::Commit if open => self.request(Request::new("COMMIT", place)).0,
            Leave::Rollback if open => self.request(Request::new("ROLLBACK", place)).0,
            _ => Flow::On,
        };
        match flow {
            Flow::On => Flow::Leave,
            other => other,
        }
    }

    pub(in crate::shell) fn apply_autocommit(&mut self) {
        if let Some(super::super::peer::Peer::Opened(open)) = &mut self.open {
            open.connection.set_autocommit(self.variables.autocommit);
        }
    }
}
