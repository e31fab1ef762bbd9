//! A client that speaks the protocol byte by byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub struct Raw<S = TcpStream> {
    pub socket: S,
    pub backend: i32,
    pub key: Vec<u8>,
    pub settings: Vec<(String, String)>,
}

/// A message of the server.
#[derive(Clone, PartialEq, Eq)]
pub struct Reply {
    pub kind: char,
    pub body: Vec<u8>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.kind, String::from_utf8_lossy(&self.body))
    }
}

impl Reply {
    /// A field of an error or notice.
    pub fn field(&self, kind: char) -> Option<String> {
        let fields = self.body.split(|byte| *byte == 0);
        fields
            .filter(|field| field.first() == Some(&(kind as u8)))
            .map(|field| String::from_utf8_lossy(&field[1..]).into_owned())
            .next()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim_end_matches('\0').to_owned()
    }
}

/// A message with its type and length.
pub fn message(kind: char, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind as u8];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// A first packet.
pub fn startup(version: u32, parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
    }
    body.push(0);
    let mut bytes = (body.len() as u32 + 4).to_be_bytes().to_vec();
    bytes.extend_from_slice(&body);
    bytes
}

pub fn query(sql: &str) -> Vec<u8> {
    message('Q', format!("{sql}\0").as_bytes())
}

pub fn parse(name: &str, sql: &str) -> Vec<u8> {
    message('P', format!("{name}\0{sql}\0\0\0").as_bytes())
}

/// Text parameters, text results.
pub fn bind(portal: &str, statement: &str, values: &[Option<&str>]) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0\0\0").into_bytes();
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        match value {
            None => body.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(text) => {
                body.extend_from_slice(&(text.len() as u32).to_be_bytes());
                body.extend_from_slice(text.as_bytes());
            }
        }
    }
    body.extend_from_slice(&[0, 0]);
    message('B', &body)
}

pub fn execute(portal: &str, rows_max: u32) -> Vec<u8> {
    let mut body = format!("{portal}\0").into_bytes();
    body.extend_from_slice(&rows_max.to_be_bytes());
    message('E', &body)
}

pub fn sync() -> Vec<u8> {
    message('S', b"")
}

impl Raw {
    /// A connection that has said nothing yet.
    pub fn open(address: SocketAddr) -> Raw {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Raw::over(socket)
    }

    pub fn login(address: SocketAddr) -> Raw {
        Raw::login_with(address, 3 << 16, &[("user", "verso"), ("database", "verso")])
    }

    pub fn login_with(address: SocketAddr, version: u32, parameters: &[(&str, &str)]) -> Raw {
        let mut raw = Raw::open(address);
        raw.start(version, parameters);
        raw
    }
}

impl<S: Read + Write> Raw<S> {
    /// Over a stream on which nothing was said yet.
    pub fn over(socket: S) -> Raw<S> {
        Raw { socket, backend: 0, key: Vec::new(), settings: Vec::new() }
    }

    /// Logs in.
    pub fn start(&mut self, version: u32, parameters: &[(&str, &str)]) {
        self.send(&startup(version, parameters));
        for reply in self.until('Z') {
            match reply.kind {
                'K' => {
                    self.backend = i32::from_be_bytes(reply.body[..4].try_into().unwrap());
                    self.key = reply.body[4..].to_vec();
                }
                'S' => {
                    let text = reply.text();
                    let (name, value) = text.split_once('\0').unwrap_or((&text, ""));
                    self.settings.push((name.to_owned(), value.to_owned()));
                }
                'E' => panic!("{reply:?}"),
                _ => {}
            }
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        // A server that has closed the connection may refuse the rest.
        let _ = self.socket.write_all(bytes);
    }

    /// The next message; none at the end of the connection.
    pub fn next(&mut self) -> Option<Reply> {
        let mut head = [0; 5];
        self.socket.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
        let mut body = vec![0; length];
        self.socket.read_exact(&mut body).ok()?;
        Some(Reply { kind: head[0] as char, body })
    }

    /// Messages up to one of that kind, or the end of the connection.
    pub fn until(&mut self, kind: char) -> Vec<Reply> {
        let mut replies = Vec::new();
        while let Some(reply) = self.next() {
            let last = reply.kind == kind;
            replies.push(reply);
            if last {
                break;
            }
        }
        replies
    }

    /// Sends and reads up to ReadyForQuery; the kinds of the replies in a row, the state of the transaction last.
    pub fn kinds(&mut self, bytes: &[u8]) -> String {
        self.send(bytes);
        let replies = self.until('Z');
        let mut kinds: String = replies.iter().map(|reply| reply.kind).collect();
        if let Some(last) = replies.last().filter(|reply| reply.kind == 'Z') {
            kinds.push(last.body[0] as char);
        }
        kinds
    }

    /// Runs a statement and gives the replies up to ReadyForQuery.
    pub fn query(&mut self, sql: &str) -> Vec<Reply> {
        self.send(&query(sql));
        self.until('Z')
    }

    /// The one value that a query gives.
    pub fn value(&mut self, sql: &str) -> String {
        let replies = self.query(sql);
        let row = replies.iter().find(|reply| reply.kind == 'D').unwrap_or_else(|| panic!("{replies:?}"));
        String::from_utf8_lossy(&row.body[6..]).into_owned()
    }

    /// The code of the error that a statement gives.
    pub fn code(&mut self, sql: &str) -> String {
        let replies = self.query(sql);
        let error = replies.iter().find(|reply| reply.kind == 'E');
        error.and_then(|error| error.field('C')).unwrap_or_default()
    }
}
