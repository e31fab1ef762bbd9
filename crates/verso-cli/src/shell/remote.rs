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
use verso_types::{SqlType, TimeStyle, Value, parse_text};

use super::report::Report;
use super::results::ResultSink;
use super::table::TableColumn;

/// The port where the address says none.
const PORT: u16 = 5432;

/// Whether a database is named by the address of a server.
pub fn is_address(name: &str) -> bool {
    name.starts_with("postgres://") || name.starts_with("postgresql://")
}

/// What a server says that went wrong, or that is worth a notice.
#[derive(Debug, Default)]
pub struct Said {
    severity: String,
    sqlstate: String,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    context: Option<String>,
    position: Option<u32>,
    /// The connection is of no more use (W2).
    pub is_lost: bool,
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
        let (severity, sqlstate) = ("ERROR".to_owned(), sqlstate.to_owned());
        Box::new(Said { severity, sqlstate, message, is_lost, ..Said::default() })
    }

    /// As it is printed.
    pub fn report(&self) -> Report<'_> {
        Report {
            severity: &self.severity,
            sqlstate: &self.sqlstate,
            message: &self.message,
            detail: self.detail.as_deref(),
            hint: self.hint.as_deref(),
            context: self.context.as_deref(),
            position: self.position,
        }
    }

    /// On one line.
    pub fn one_line(&self) -> String {
        let mut text = match self.sqlstate.as_str() {
            "" => self.message.clone(),
            code => format!("{code}: {}", self.message),
        };
        for more in [&self.detail, &self.hint].into_iter().flatten() {
            text.push_str(&format!(" ({more})"));
        }
        text
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
        let mut remote = Remote { place, socket, input, output, key: (0, 0), status: b'I', database, shown };
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
                Message::AuthenticationOk | Message::ParameterStatus(_) | Message::NoticeResponse(_) => {}
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
                    let mut columns = Vec::new();
                    let mut fields = description.fields();
                    while let Some(field) = fields.next()? {
                        let ty = SqlType::from_pg_oid(field.type_oid(), field.type_modifier());
                        let right = ty.is_some_and(|ty| ty.is_number());
                        columns.push(TableColumn { title: field.name().to_owned(), right });
                    }
                    sink.begin_table(columns);
                }
                Message::DataRow(row) => {
                    let texts = texts(&row)?.into_iter().map(Option::unwrap_or_default);
                    sink.push_row(texts.collect());
                }
                Message::CommandComplete(complete) => sink.complete_as(complete.tag()?),
                Message::CopyInResponse(copy) if copy.format() == 0 => self.feed(sink)?,
                Message::CopyInResponse(_) => {
                    frontend::copy_fail("the shell has no data in binary format", &mut self.output)?;
                    self.send()?;
                }
                Message::CopyData(data) => sink.copied(data.data()),
                Message::NoticeResponse(notice) => sink.say(&Said::of(notice.fields()).report()),
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
                // COPY begins and ends, settings, messages of NOTIFY, an empty statement.
                _ => {}
            }
        }
    }

    /// The data of COPY FROM STDIN: the lines behind the statement.
    fn feed(&mut self, sink: &mut ResultSink<'_, '_>) -> Result<(), Box<Said>> {
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
    /// One line.
    pub fn values(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, String> {
        self.ask(sql).map_err(|said| said.one_line())
    }

    fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Box<Said>> {
        frontend::query(sql, &mut self.output)?;
        self.send()?;
        let (mut types, mut rows, mut failed) = (Vec::new(), Vec::new(), None);
        loop {
            match self.message()? {
                Message::RowDescription(description) => {
                    let mut fields = description.fields();
                    while let Some(field) = fields.next()? {
                        types.push(SqlType::from_pg_oid(field.type_oid(), field.type_modifier()));
                    }
                }
                Message::DataRow(row) => {
                    let value = |(text, ty): (Option<String>, &Option<SqlType>)| {
                        let Some(text) = text else { return Value::Null };
                        let parsed = ty.as_ref().and_then(|ty| parse_text(ty, &text, &TimeStyle::UTC).ok());
                        parsed.unwrap_or_else(|| Value::text(&text))
                    };
                    rows.push(texts(&row)?.into_iter().zip(&types).map(value).collect());
                }
                Message::ErrorResponse(error) => failed = Some(Said::of(error.fields())),
                Message::ReadyForQuery(ready) => {
                    self.status = ready.status();
                    return failed.map_or(Ok(rows), Err);
                }
                _ => {}
            }
        }
    }

    /// Leaves.
    pub fn close(mut self) {
        frontend::terminate(&mut self.output);
        // It notices in any case.
        let _ = self.send();
    }
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
