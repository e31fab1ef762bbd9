//! A server instead of an open file: statements go to it in PostgreSQL's protocol, and its answers come back as they are.
//!
//!     statement ─► Query ─► rows, tags, notices, errors ─► ResultSink
//!
//! W1. One statement is under way at a time, and all of its answer is read, up to ReadyForQuery: what follows belongs to it.
//! W2. After an error of the connection nothing more is sent: the shell ends as when its database is lost.
//! W3. The password is proved by SCRAM-SHA-256 (MD5 for older servers), never sent. Nothing is encrypted.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres::config::{Host, SslMode};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{ErrorFields, Message};
use postgres_protocol::message::frontend;

use super::format::{Column, Table};
use super::report::Said;
use super::results::{ResultSink, kind_of};

/// The port where the address says none.
const PORT: u16 = 5432;

/// Whether a database is named by the address of a server.
pub fn is_address(name: &str) -> bool {
    name.starts_with("postgres://") || name.starts_with("postgresql://")
}

impl Said {
    fn of(mut fields: ErrorFields<'_>) -> Box<Said> {
        let mut said = Said::default();
        while let Ok(Some(field)) = fields.next() {
            let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'S' => said.severity = text,
                b'C' => said.sqlstate = text,
                b'M' => said.message = text,
                b'D' => said.detail = Some(text),
                b'H' => said.hint = Some(text),
                b'W' => said.context = Some(text),
                b'P' => said.position = text.parse().ok(),
                b's' => said.subject.push(("SCHEMA NAME", text)),
                b't' => said.subject.push(("TABLE NAME", text)),
                b'c' => said.subject.push(("COLUMN NAME", text)),
                b'd' => said.subject.push(("DATATYPE NAME", text)),
                b'n' => said.subject.push(("CONSTRAINT NAME", text)),
                _ => {}
            }
        }
        said.is_lost = matches!(said.severity.as_str(), "FATAL" | "PANIC");
        Box::new(said)
    }

    fn lost(error: &io::Error) -> Box<Said> {
        let message = format!("connection to the server lost: {error}");
        Said::of_shell("08006", message, true)
    }

    fn of_shell(sqlstate: &str, message: String, is_lost: bool) -> Box<Said> {
        Box::new(Said { is_lost, ..Said::new(sqlstate, message) })
    }
}

impl From<io::Error> for Box<Said> {
    fn from(error: io::Error) -> Box<Said> {
        Said::lost(&error)
    }
}

/// Where a server listens.
#[derive(Clone, Debug)]
enum Place {
    Tcp(String, u16),
    Unix(PathBuf),
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Place {
    fn connect(&self) -> io::Result<Socket> {
        match self {
            Place::Tcp(host, port) => {
                let socket = TcpStream::connect((host.as_str(), *port))?;
                socket.set_nodelay(true)?;
                Ok(Socket::Tcp(socket))
            }
            Place::Unix(path) => UnixStream::connect(path).map(Socket::Unix),
        }
    }
}

impl Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.read(bytes),
            Socket::Unix(socket) => socket.read(bytes),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => socket.write_all(bytes),
            Socket::Unix(socket) => socket.write_all(bytes),
        }
    }
}

/// A session of a server.
pub struct Remote {
    place: Place,
    socket: Socket,
    input: BytesMut,
    output: BytesMut,
    /// By which its statements are cancelled.
    key: (i32, i32),
    /// `I` outside of transactions, `T` within one, `E` within one that has failed.
    status: u8,
    /// What it says of itself.
    parameters: std::collections::HashMap<String, String>,
    /// Its address, as it was given.
    pub address: String,
    /// Who has logged in.
    pub user: String,
    /// Of the server.
    pub database: String,
    /// Where it is, for people.
    pub shown: String,
}

impl Remote {
    /// Connects to the server that an address names, and logs in.
    ///
    /// # Errors
    /// One line: the address, the connection, the login.
    pub fn connect(address: &str) -> Result<Remote, String> {
        let config = crate::remote::configuration(address, None, "verso shell").map_err(|e| e.to_string())?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err("the shell does not encrypt: leave sslmode out, or take psql".to_owned());
        }
        let port = config.get_ports().first().copied().unwrap_or(PORT);
        let place = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => Place::Tcp(host.clone(), port),
            Some(Host::Unix(folder)) => Place::Unix(folder.join(format!(".s.PGSQL.{port}"))),
            None => Place::Tcp("127.0.0.1".to_owned(), port),
        };
        let shown = match &place {
            Place::Tcp(host, port) => format!("{host}:{port}"),
            Place::Unix(path) => path.display().to_string(),
        };
        let database = config.get_dbname().unwrap_or("verso").to_owned();
        let user = config.get_user().unwrap_or("verso").to_owned();
        let socket = place.connect().map_err(|error| format!("{shown}: {error}"))?;
        let (input, output) = (BytesMut::new(), BytesMut::new());
        let mut remote = Remote {
            place,
            socket,
            input,
            output,
            key: (0, 0),
            status: b'I',
            parameters: std::collections::HashMap::new(),
            address: address.to_owned(),
            user: user.clone(),
            database,
            shown,
        };
        let mut parameters = vec![
            ("user", user.as_str()),
            ("database", config.get_dbname().unwrap_or("verso")),
            ("application_name", "verso shell"),
            ("client_encoding", "UTF8"),
        ];
        parameters.extend(config.get_options().map(|options| ("options", options)));
        let started = frontend::startup_message(parameters, &mut remote.output).map_err(Box::<Said>::from);
        let logged = started.and_then(|()| remote.log_in(&user, config.get_password()));
        logged.map_err(|said| format!("{}: {}", remote.shown, said.one_line()))?;
        Ok(remote)
    }

    fn log_in(&mut self, user: &str, password: Option<&[u8]>) -> Result<(), Box<Said>> {
        let needed = || {
            let text = "a password is needed: in the address, or in PGPASSWORD".to_owned();
            password.ok_or_else(|| Said::of_shell("28P01", text, true))
        };
        let mut scram = None;
        self.send()?;
        loop {
            match self.message()? {
                Message::AuthenticationOk | Message::NoticeResponse(_) => {}
                Message::ParameterStatus(status) => {
                    self.parameters.insert(status.name()?.to_owned(), status.value()?.to_owned());
                }
                Message::AuthenticationMd5Password(asked) => {
                    let hash = md5_hash(user.as_bytes(), needed()?, asked.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.output)?;
                    self.send()?;
                }
                Message::AuthenticationSasl(asked) => {
                    let mut offered = asked.mechanisms();
                    let mut known = false;
                    while let Some(mechanism) = offered.next()? {
                        known |= mechanism == SCRAM_SHA_256;
                    }
                    if !known {
                        let text = "the server wants a login that the shell does not know".to_owned();
                        return Err(Said::of_shell("08001", text, true));
                    }
                    let first = ScramSha256::new(needed()?, ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, first.message(), &mut self.output)?;
                    self.send()?;
                    scram = Some(first);
                }
                Message::AuthenticationSaslContinue(answer) => {
                    let Some(scram) = &mut scram else { return Err(unexpected()) };
                    scram.update(answer.data())?;
                    frontend::sasl_response(scram.message(), &mut self.output)?;
                    self.send()?;
                }
                Message::AuthenticationSaslFinal(answer) => {
                    let Some(scram) = &mut scram else { return Err(unexpected()) };
                    scram.finish(answer.data())?;
                }
                Message::BackendKeyData(key) => self.key = (key.process_id(), key.secret_key()),
                Message::ReadyForQuery(ready) => {
                    self.status = ready.status();
                    return Ok(());
                }
                Message::ErrorResponse(error) => return Err(Said::of(error.fields())),
                _ => {
                    let text = "the server wants a login that the shell does not know".to_owned();
                    return Err(Said::of_shell("08001", text, true));
                }
            }
        }
    }

    fn send(&mut self) -> io::Result<()> {
        let sent = self.socket.write_all(&self.output);
        self.output.clear();
        sent
    }

    fn message(&mut self) -> Result<Message, Box<Said>> {
        loop {
            if let Some(message) = Message::parse(&mut self.input)? {
                return Ok(message);
            }
            let mut piece = [0; 16 << 10];
            match self.socket.read(&mut piece)? {
                0 => return Err(Said::lost(&io::ErrorKind::UnexpectedEof.into())),
                count => self.input.extend_from_slice(&piece[..count]),
            }
        }
    }

    /// The process that serves it.
    pub fn process(&self) -> i32 {
        self.key.0
    }

    /// Where it listens: host or folder, and port.
    pub fn listens(&self) -> (String, u16, bool) {
        match &self.place {
            Place::Tcp(host, port) => (host.clone(), *port, false),
            Place::Unix(path) => {
                let port = path.to_string_lossy().rsplit('.').next().and_then(|port| port.parse().ok());
                let folder = path.parent().map(|folder| folder.display().to_string());
                (folder.unwrap_or_default(), port.unwrap_or(PORT), true)
            }
        }
    }

    /// Cancels what runs, from any thread, over a connection of its own.
    pub fn canceller(&self) -> impl Fn() + Send + 'static {
        let (place, key) = (self.place.clone(), self.key);
        move || {
            let mut request = BytesMut::new();
            frontend::cancel_request(key.0, key.1, &mut request);
            // Where it cannot be asked for, the statement goes on.
            if let Ok(mut socket) = place.connect()
                && socket.write_all(&request).is_ok()
            {
                // The server closes it when it has done so.
                let _ = socket.read(&mut [0; 1]);
            }
        }
    }

    /// Whether a transaction is open, and whether it has failed.
    pub fn transaction(&self) -> (bool, bool) {
        (self.status != b'I', self.status == b'E')
    }

    /// Begins a transaction where none is open and statements do not commit by themselves, as psql does: not before one that
    /// begins or ends one itself, or that stands in none.
    ///
    /// # Errors
    /// The server's, or that of the connection.
    pub fn begin_unless(&mut self, autocommit: bool, sql: &str) -> Result<(), Box<Said>> {
        const ALONE: [&str; 11] = [
            "begin",
            "start",
            "commit",
            "end",
            "rollback",
            "abort",
            "prepare",
            "vacuum",
            "sweep",
            "checkpoint",
            "cluster",
        ];
        let first = sql.split_ascii_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let is_alone = ALONE.contains(&first.trim_end_matches(';'));
        match autocommit || self.status != b'I' || is_alone {
            true => Ok(()),
            false => self.ask("BEGIN").map(drop),
        }
    }

    /// Runs statements (W1).
    ///
    /// # Errors
    /// The server's, or that of the connection.
    pub fn execute(&mut self, sql: &str, sink: &mut ResultSink<'_, '_>) -> Result<(), Box<Said>> {
        frontend::query(sql, &mut self.output)?;
        self.send()?;
        let mut failed = None;
        loop {
            match self.message()? {
                Message::RowDescription(description) => {
                    let (columns, _) = columns(&description)?;
                    sink.begin_table(columns);
                }
                Message::DataRow(row) => sink.push_row(texts(&row)?),
                Message::CommandComplete(complete) => sink.complete_as(complete.tag()?),
                Message::CopyInResponse(copy) => self.feed(copy.format() != 0, sink)?,
                Message::CopyData(data) => {
                    // All of it is read (W1), whatever becomes of the file.
                    if let Err(error) = sink.copied(data.data()) {
                        failed.get_or_insert_with(|| {
                            Box::new(Said::new("58030", super::output::cause(&error)))
                        });
                    }
                }
                Message::NoticeResponse(notice) => sink.say(&Said::of(notice.fields())),
                Message::NotificationResponse(notification) => {
                    sink.notified(notification.channel()?, notification.message()?, notification.process_id())
                }
                Message::ErrorResponse(error) => {
                    let said = Said::of(error.fields());
                    if said.is_lost {
                        return Err(said);
                    }
                    failed = Some(said);
                }
                Message::ReadyForQuery(ready) => {
                    self.status = ready.status();
                    return failed.map_or(Ok(()), Err);
                }
                Message::ParameterStatus(status) => {
                    self.parameters.insert(status.name()?.to_owned(), status.value()?.to_owned());
                }
                // COPY begins and ends, an empty statement.
                _ => {}
            }
        }
    }

    /// The data of COPY FROM STDIN: the lines behind the statement.
    fn feed(&mut self, binary: bool, sink: &mut ResultSink<'_, '_>) -> Result<(), Box<Said>> {
        if let Err(message) = sink.begin_data(binary) {
            frontend::copy_fail(&message, &mut self.output)?;
            return Ok(self.send()?);
        }
        let mut data = Vec::new();
        let fed = loop {
            data.clear();
            match sink.next_data(&mut data) {
                Ok(true) => frontend::CopyData::new(&data[..])?.write(&mut self.output),
                Ok(false) => break Ok(()),
                Err(message) => break Err(message),
            }
            if self.output.len() > 64 << 10 {
                self.send()?;
            }
        };
        match fed {
            Ok(()) => frontend::copy_done(&mut self.output),
            Err(message) => frontend::copy_fail(&message, &mut self.output)?,
        }
        Ok(self.send()?)
    }

    /// The rows of a question of the shell's own.
    ///
    /// # Errors
    /// The server's, or that of the connection.
    pub fn ask(&mut self, sql: &str) -> Result<Table, Box<Said>> {
        frontend::query(sql, &mut self.output)?;
        self.send()?;
        let (mut table, mut failed) = (Table::default(), None);
        loop {
            match self.message()? {
                Message::RowDescription(description) => {
                    table = Table { columns: columns(&description)?.0, ..Table::default() };
                }
                Message::DataRow(row) => table.rows.push(texts(&row)?),
                Message::ErrorResponse(error) => failed = Some(Said::of(error.fields())),
                Message::ReadyForQuery(ready) => {
                    self.status = ready.status();
                    return failed.map_or(Ok(table), Err);
                }
                _ => {}
            }
        }
    }

    /// The columns of a statement that is not run: names, and types with their modifiers.
    ///
    /// # Errors
    /// The server's, or that of the connection.
    pub fn describe(&mut self, sql: &str) -> Result<Vec<(String, u32, i32)>, Box<Said>> {
        frontend::parse("", sql, [], &mut self.output)?;
        frontend::describe(b'S', "", &mut self.output)?;
        frontend::sync(&mut self.output);
        self.send()?;
        let (mut found, mut failed) = (Vec::new(), None);
        loop {
            match self.message()? {
                Message::RowDescription(description) => {
                    let (columns, types) = columns(&description)?;
                    let named = columns.into_iter().zip(types);
                    found = named.map(|(column, (oid, typmod))| (column.title, oid, typmod)).collect();
                }
                Message::ErrorResponse(error) => failed = Some(Said::of(error.fields())),
                Message::ReadyForQuery(ready) => {
                    self.status = ready.status();
                    return failed.map_or(Ok(found), Err);
                }
                _ => {}
            }
        }
    }

    /// What the server says of itself: `server_version`, `client_encoding`, ….
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Leaves.
    pub fn close(mut self) {
        frontend::terminate(&mut self.output);
        // It notices in any case.
        let _ = self.send();
    }
}

/// The OID of a column's type, and its modifier.
type TypeOf = (u32, i32);

/// The columns of a result, and their types with modifiers.
fn columns(
    description: &postgres_protocol::message::backend::RowDescriptionBody,
) -> io::Result<(Vec<Column>, Vec<TypeOf>)> {
    let (mut columns, mut types) = (Vec::new(), Vec::new());
    let mut fields = description.fields();
    while let Some(field) = fields.next()? {
        columns.push(Column { title: field.name().to_owned(), kind: kind_of(field.type_oid()) });
        types.push((field.type_oid(), field.type_modifier()));
    }
    Ok((columns, types))
}

fn unexpected() -> Box<Said> {
    Said::of_shell("08P01", "the server has said what it should not".to_owned(), true)
}

/// The values of a row.
fn texts(row: &postgres_protocol::message::backend::DataRowBody) -> io::Result<Vec<Option<String>>> {
    let mut texts = Vec::new();
    let mut ranges = row.ranges();
    while let Some(range) = ranges.next()? {
        let bytes = range.map(|range| row.buffer().get(range).unwrap_or_default());
        texts.push(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_files() {
        assert!(is_address("postgres://me@host/db") && is_address("postgresql:///db"));
        assert!(!is_address("a.verso") && !is_address("postgres.verso") && !is_address("dir/postgres://x"));
    }

    #[test]
    fn what_cannot_be_reached_is_told_in_one_line() {
        let failed = Remote::connect("postgres://127.0.0.1:1/x").err().expect("nobody listens there");
        assert!(failed.starts_with("127.0.0.1:1: ") && !failed.contains('\n'), "{failed}");
        assert!(
            Remote::connect("postgres://h/x?sslmode=require").is_err_and(|text| text.contains("encrypt"))
        );
    }
}
