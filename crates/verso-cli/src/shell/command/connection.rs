//! Which database the shell talks to.

use std::path::Path;

use versodb::{Database, Options};

use super::super::arguments::{literal, quoted_name};
use super::super::format::{Column, Table};
use super::super::input::Line;
use super::super::peer::{OpenDatabase, Peer};
use super::super::{Flow, Shell, is_address, pager};
use super::Call;

pub fn connect(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    match call.arguments.word()? {
        None => shell.say_where(),
        Some(name) => {
            // Users, hosts and ports behind the name belong to an address here.
            if let Some(surplus) = call.arguments.word()? {
                let hint = "an address has them: \\c postgres://USER@HOST:PORT/DATABASE";
                return Err(format!("\\connect: \"{surplus}\" is not understood; {hint}"));
            }
            let typed = call.reading.input.is_terminal();
            shell.connect_to(Path::new(&name), typed)?;
        }
    }
    Ok(Flow::On)
}

/// `\conninfo`.
pub fn information(shell: &mut Shell<'_>, _: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let mut rows: Vec<(&str, String)> = Vec::new();
    match &shell.open {
        None => return Err("no database is open".to_owned()),
        Some(Peer::Opened(open)) => {
            rows.push(("Database", open.path.display().to_string()));
            rows.push(("Server", "none: the shell has opened the file itself".to_owned()));
        }
        Some(Peer::Server(remote)) => {
            let (host, port, is_socket) = remote.listens();
            let parameter = |name: &str| remote.parameter(name).unwrap_or_default().to_owned();
            rows.push(("Database", remote.database.clone()));
            rows.push(("Client User", remote.user.clone()));
            rows.push((if is_socket { "Socket Directory" } else { "Host" }, host));
            rows.push(("Server Port", port.to_string()));
            rows.push(("Protocol Version", "3.0".to_owned()));
            rows.push(("Server Version", parameter("server_version")));
            rows.push(("Backend PID", remote.process().to_string()));
            rows.push(("SSL Connection", "false".to_owned()));
            rows.push(("Superuser", parameter("is_superuser")));
        }
    }
    let row = |(name, value): (&str, String)| vec![Some(name.to_owned()), Some(value)];
    let table = Table {
        title: Some("Connection Information".to_owned()),
        columns: vec![Column::text("Parameter"), Column::text("Value")],
        rows: rows.into_iter().map(row).collect(),
        footers: None,
    };
    pager::print_table(&mut shell.output, &shell.layout, &table);
    Ok(Flow::On)
}

/// `\encoding`: texts are UTF-8 on both sides.
pub fn encoding(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    match call.arguments.word()? {
        None => shell.output.say("UTF8\n"),
        Some(name) if ["UTF8", "UTF-8", "UNICODE"].contains(&name.to_ascii_uppercase().as_str()) => {}
        Some(name) => return Err(format!("{name}: the shell reads and writes UTF8 only")),
    }
    Ok(Flow::On)
}

/// `\password [USER]`: what goes out is a verifier of SCRAM-SHA-256, not the password.
pub fn password(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    if !call.reading.input.is_terminal() {
        return Err("\\password: a password is typed at a terminal only".to_owned());
    }
    let user = match call.arguments.name()? {
        Some(user) => user,
        None => {
            let table = shell.silently("SELECT current_user").map_err(|said| said.one_line())?;
            let name = table.rows.into_iter().flatten().next().flatten();
            name.ok_or("\\password: there is no user")?
        }
    };
    let mut typed = Vec::new();
    for prompt in [format!("Enter new password for user \"{user}\": "), "Enter it again: ".to_owned()] {
        shell.output.flush();
        match call.reading.input.answer(&prompt, true).map_err(|error| error.to_string())? {
            Line::Text(text) => typed.push(text),
            Line::End | Line::Interrupted => return Ok(Flow::Failed),
        }
    }
    if typed[0] != typed[1] {
        return Err("Passwords didn't match.".to_owned());
    }
    let verifier = postgres_protocol::password::scram_sha_256(typed[0].as_bytes());
    let statement = format!("ALTER USER {} PASSWORD {}", quoted_name(&user), literal(&verifier));
    match shell.silently(&statement) {
        Ok(_) => Ok(Flow::On),
        Err(said) => Ok(shell.complain_of(*said, "", None)),
    }
}

impl Shell<'_> {
    /// A file, the address of a server, or a database of the server that the shell talks to.
    pub(super) fn connect_to(&mut self, path: &Path, typed: bool) -> Result<(), String> {
        if path.to_str().is_some_and(is_address) {
            return self.reach(&path.to_string_lossy());
        }
        if let (Some(Peer::Server(remote)), Some(name)) = (&self.open, path.to_str())
            && !path.is_file()
            && !name.contains(['/', '.'])
        {
            let address = with_database(&remote.address, name);
            return self.reach(&address);
        }
        self.reopen(path, typed, |options| Database::open(path, options))
    }

    /// Makes a database and opens it.
    pub(super) fn create_database(
        &mut self,
        path: &Path,
        page_size: Option<u32>,
        typed: bool,
    ) -> Result<(), String> {
        self.reopen(path, typed, |options| {
            let options = match page_size {
                Some(bytes) => options.page_size(bytes),
                None => options,
            };
            Database::create(path, options)
        })
    }

    /// Opens another database for the open one. Where it cannot be opened a person who `typed` that keeps the one that is open, while a
    /// script has none: its statements were meant for another.
    fn reopen(
        &mut self,
        path: &Path,
        typed: bool,
        open: impl FnOnce(Options) -> Result<Database, versodb::Error>,
    ) -> Result<(), String> {
        let line = |error: versodb::Error| super::super::report::Said::from(&error).one_line();
        let file = |path: &Path| path.canonicalize().ok();
        let is_open = |open: &OpenDatabase| file(&open.path).is_some_and(|it| Some(it) == file(path));
        // A file cannot be opened twice.
        if !typed || matches!(&self.open, Some(Peer::Opened(open)) if is_open(open)) {
            self.close().map_err(line)?;
        }
        let new = open(self.options.clone()).map_err(line)?;
        self.close().and_then(|()| self.adopt(path, new)).map_err(line)?;
        self.say_where();
        Ok(())
    }

    /// Connects to a server; only when that has succeeded, what was open before is closed.
    fn reach(&mut self, address: &str) -> Result<(), String> {
        let before = self.open.take();
        if let Err(message) = self.open_server(address) {
            self.open = before;
            return Err(format!("\\connect: {message}"));
        }
        let opened = std::mem::replace(&mut self.open, before);
        let closed = self.close();
        self.open = opened;
        closed.map_err(|error| super::super::report::Said::from(&error).one_line())?;
        self.say_where();
        Ok(())
    }

    pub(super) fn say_where(&mut self) {
        let text = match &self.open {
            Some(Peer::Opened(open)) => {
                format!("You are now connected to database \"{}\".\n", open.path.display())
            }
            Some(Peer::Server(remote)) => {
                format!("You are now connected to database \"{}\" at {}.\n", remote.database, remote.shown)
            }
            None => "No database is open.\n".to_owned(),
        };
        self.output.say(&text);
    }
}

/// The same address with another database.
fn with_database(address: &str, name: &str) -> String {
    let (before, query) = match address.split_once('?') {
        Some((before, query)) => (before, format!("?{query}")),
        None => (address, String::new()),
    };
    let start = before.find("://").map_or(0, |at| at + 3);
    let end = before[start..].find('/').map_or(before.len(), |at| start + at);
    format!("{}/{name}{query}", &before[..end])
}

#[cfg(test)]
mod tests {
    use super::with_database;

    #[test]
    fn an_address_gets_another_database() {
        assert_eq!(with_database("postgres://u@h:1/a", "b"), "postgres://u@h:1/b");
        assert_eq!(with_database("postgres://u@h:1", "b"), "postgres://u@h:1/b");
        assert_eq!(with_database("postgres:///a?host=/tmp", "b"), "postgres:///b?host=/tmp");
    }
}
