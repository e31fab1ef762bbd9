//! The statement typed so far: run, described, shown, forgotten, kept.

use super::super::format::{Cell, Expanded, Layout, Table};
use super::super::output::Target;
use super::super::pager::print_table;
use super::super::run::{Bound, Request};
use super::super::{Flow, Shell};
use super::Call;

impl Shell<'_> {
    /// The statement typed so far, or the last one; it is the last one from now on.
    pub(super) fn buffered(&mut self, call: &mut Call<'_, '_, '_>) -> Option<String> {
        let sql = call.reading.scanner.take_pending().filter(|sql| !sql.is_empty());
        if let Some(sql) = &sql {
            call.reading.note(sql, call.name, call.rest);
            self.previous.clone_from(sql);
        }
        sql.or_else(|| Some(self.previous.clone()).filter(|sql| !sql.is_empty()))
    }
}

/// `\g [(OPTIONS)] [FILE|'|program']`, `\gx`.
pub fn go(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let mut layout = shell.layout.clone();
    if call.arguments.left().starts_with('(') {
        options(&mut layout, call)?;
    }
    if call.name == "gx" && layout.expanded != Expanded::On {
        layout.expanded = Expanded::On;
    }
    let target = match call.arguments.left().starts_with('|') {
        true => Some(call.arguments.line()),
        false => call.arguments.word()?,
    };
    // A prepared statement brings its text along.
    let named = shell.bound.as_ref().is_some_and(|bound| bound.prepared.is_some());
    let sql = match named {
        true => {
            call.reading.scanner.take_pending();
            Some(String::new())
        }
        false => shell.buffered(call),
    };
    let Some(sql) = sql else { return Ok(Flow::On) };
    let target = target.map(|name| Target::open(&name)).transpose()?;
    let is_elsewhere = target.is_some();
    if is_elsewhere {
        shell.output.redirect_once(target)?;
    }
    let before = std::mem::replace(&mut shell.layout, layout);
    let previous = shell.previous.clone();
    let flow = shell.sql_of(&sql, call.reading);
    if named {
        shell.previous = previous;
    }
    shell.layout = before;
    if is_elsewhere {
        shell.output.redirect_once(None)?;
    }
    Ok(flow)
}

/// `(format=csv tuples_only=on)`.
fn options(layout: &mut Layout, call: &mut Call<'_, '_, '_>) -> Result<(), String> {
    loop {
        let word =
            call.arguments.word()?.ok_or_else(|| format!("\\{}: missing right parenthesis", call.name))?;
        let (text, is_last) = match word.strip_suffix(')') {
            Some(text) => (text, true),
            None => (word.as_str(), false),
        };
        let text = text.strip_prefix('(').unwrap_or(text);
        if !text.is_empty() {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (text, None),
            };
            layout.set(name, value)?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// The results of the statement, kept instead of printed.
pub(super) fn kept(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>, sql: &str) -> (Flow, Vec<Table>) {
    let place = call.reading.place();
    let is_typed = call.reading.input.is_terminal();
    shell.request(Request { keep: true, is_typed, ..Request::new(sql, place.as_deref()) })
}

/// `\gset [PREFIX]`.
pub fn store(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let prefix = call.arguments.word()?.unwrap_or_default();
    let Some(sql) = shell.buffered(call) else { return Ok(Flow::On) };
    let (flow, mut tables) = kept(shell, call, &sql);
    let Some(table) = tables.pop().filter(|_| flow == Flow::On) else { return Ok(flow) };
    match table.rows.as_slice() {
        [] => return Err("no rows returned for \\gset".to_owned()),
        [row] => {
            for (column, value) in table.columns.iter().zip(row) {
                let name = format!("{prefix}{}", column.title);
                match value {
                    Some(value) => shell.variables.set(&name, value)?,
                    None => shell.variables.unset(&name),
                }
            }
            shell.apply_autocommit();
        }
        _ => return Err("more than one row returned for \\gset".to_owned()),
    }
    Ok(flow)
}

/// `\gexec`: each value is a statement.
pub fn execute_values(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let Some(sql) = shell.buffered(call) else { return Ok(Flow::On) };
    let (mut flow, tables) = kept(shell, call, &sql);
    let values: Vec<Cell> = tables.into_iter().flat_map(|table| table.rows).flatten().collect();
    for statement in values.into_iter().flatten() {
        let place = call.reading.place();
        if shell.variables.echo == super::super::variables::Echo::All {
            shell.output.say(&format!("{statement}\n"));
        }
        match shell.request(Request::new(&statement, place.as_deref())).0 {
            Flow::On => {}
            Flow::Failed if !shell.variables.on_error_stop && !shell.interrupts.pending() => {
                flow = Flow::Failed
            }
            other => return Ok(other),
        }
    }
    Ok(flow)
}

/// `\gdesc`.
pub fn describe(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let Some(sql) = shell.buffered(call) else { return Ok(Flow::On) };
    let place = call.reading.place();
    let Some(peer) = &mut shell.open else { return Err("no database is open".to_owned()) };
    let columns = match peer.describe(&sql) {
        Ok(columns) => columns,
        Err(said) => return Ok(shell.complain_of(*said, &sql, place.as_deref())),
    };
    if columns.is_empty() {
        shell.output.print("The command has no result, or the result has no columns.\n");
        return Ok(Flow::On);
    }
    let line = |(at, (name, oid, typmod)): (usize, &(String, u32, i32))| {
        let name = super::super::arguments::literal(name);
        format!("({at}, {name}, pg_catalog.format_type({oid}::pg_catalog.oid, {typmod}))")
    };
    let lines: Vec<String> = columns.iter().enumerate().map(line).collect();
    let question = format!(
        "SELECT name AS \"Column\", ty AS \"Type\" FROM (VALUES {}) AS s(place, name, ty) ORDER BY place",
        lines.join(", ")
    );
    let table = shell.silently(&question).map_err(|said| said.one_line())?;
    print_table(&mut shell.output, &shell.layout, &table);
    Ok(Flow::On)
}

/// `\bind [PARAM]...`.
pub fn bind(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    shell.bound = Some(Bound { prepared: None, values: call.arguments.rest()? });
    Ok(Flow::On)
}

/// `\bind_named STMT [PARAM]...`.
pub fn bind_named(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let name = call.required()?;
    shell.bound = Some(Bound { prepared: Some(prepared_name(&name)), values: call.arguments.rest()? });
    Ok(Flow::On)
}

/// What a prepared statement is called in SQL, where each has a name.
fn prepared_name(name: &str) -> String {
    if name.is_empty() { "verso_shell_unnamed".to_owned() } else { name.to_owned() }
}

/// A name in quotes.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `\parse STMT`.
pub fn parse(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let name = call.required()?;
    let Some(sql) = shell.buffered(call) else { return Ok(Flow::On) };
    if name.is_empty() {
        // The statement without a name takes the place of the one before.
        forget(shell, &prepared_name(&name));
    }
    let sql = sql.trim_end().trim_end_matches(';');
    let prepare = format!("PREPARE {} AS {sql}", quoted(&prepared_name(&name)));
    let Err(mut said) = shell.silently(&prepare) else { return Ok(Flow::On) };
    let before = (prepare.chars().count() - sql.chars().count()) as u32;
    said.position = said.position.and_then(|position| position.checked_sub(before));
    Ok(shell.complain_of(*said, sql, call.reading.place().as_deref()))
}

/// `\close_prepared STMT`: one that there is not is closed, too.
pub fn close_prepared(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let name = call.required()?;
    forget(shell, &prepared_name(&name));
    Ok(Flow::On)
}

fn forget(shell: &mut Shell<'_>, name: &str) {
    let literal = super::super::arguments::literal(name);
    let asked = format!("SELECT FROM pg_catalog.pg_prepared_statements WHERE name = {literal}");
    if shell.silently(&asked).is_ok_and(|table| !table.rows.is_empty()) {
        // In a transaction that has failed it stays, as everything does.
        let _ = shell.silently(&format!("DEALLOCATE {}", quoted(name)));
    }
}

pub fn print(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let pending = call.reading.scanner.pending();
    let text = match (pending, shell.previous.as_str()) {
        ("", "") => {
            if !shell.variables.quiet {
                shell.output.say("Query buffer is empty.\n");
            }
            return Ok(Flow::On);
        }
        ("", previous) => previous,
        (pending, _) => pending,
    };
    let text = format!("{text}\n");
    shell.output.say(&text);
    Ok(Flow::On)
}

pub fn reset(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    call.reading.scanner.take_pending();
    shell.bound = None;
    if !shell.variables.quiet {
        shell.output.say("Query buffer reset (cleared).\n");
    }
    Ok(Flow::On)
}

/// `\w FILE`.
pub fn write(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let target = match call.arguments.left().starts_with('|') {
        true => call.arguments.line(),
        false => call.required()?,
    };
    let text = match call.reading.scanner.pending() {
        "" => shell.previous.clone(),
        pending => pending.to_owned(),
    };
    let target = Target::open(&target)?;
    shell.output.redirect_once(Some(target))?;
    shell.output.print(&format!("{text}\n"));
    shell.output.redirect_once(None)?;
    Ok(Flow::On)
}

/// `\s [FILE]`.
pub fn history(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let file = call.arguments.word()?;
    let Some(text) = call.reading.input.history() else {
        return Err("\\s: there is a history only where statements are typed".to_owned());
    };
    match file {
        Some(file) => {
            shell.output.redirect_once(Some(Target::open(&file)?))?;
            shell.output.print(&text);
            shell.output.redirect_once(None)?;
            shell.output.say(&format!("Wrote history to file \"{file}\".\n"));
        }
        None => super::super::pager::page(&mut shell.output, &shell.layout, &text),
    }
    Ok(Flow::On)
}
