//! What sessions cost that wait for their clients.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::server::RunningServer;
use crate::BenchError;

/// How many.
pub(super) const SESSIONS: u64 = 1_000;

/// By how much the server's resident memory grows when so many sessions have connected, run one query and wait; none
/// where the operating system does not say.
pub(super) fn measure(server: &RunningServer) -> Result<Option<u64>, BenchError> {
    let failed = |error: std::io::Error| BenchError::Engine { engine: "server", message: error.to_string() };
    let Some(before) = server.resident_bytes() else { return Ok(None) };
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(session(server.port()).map_err(failed)?);
    }
    let after = server.resident_bytes().unwrap_or(before);
    Ok(Some(after.saturating_sub(before)))
}

/// A session that has run a query. Byte by byte: a driver would be as large as what is measured.
fn session(port: u16) -> std::io::Result<TcpStream> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    let mut hello = (3u32 << 16).to_be_bytes().to_vec();
    hello.extend_from_slice(b"user\0verso\0database\0verso\0\0");
    let mut packet = (hello.len() as u32 + 4).to_be_bytes().to_vec();
    packet.extend_from_slice(&hello);
    socket.write_all(&packet)?;
    until_ready(&mut socket)?;
    let text = b"SELECT count(*) FROM pg_class\0";
    let mut query = vec![b'Q'];
    query.extend_from_slice(&(text.len() as u32 + 4).to_be_bytes());
    query.extend_from_slice(text);
    socket.write_all(&query)?;
    until_ready(&mut socket)?;
    Ok(socket)
}

/// Reads up to ReadyForQuery.
fn until_ready(socket: &mut TcpStream) -> std::io::Result<()> {
    loop {
        let mut head = [0; 5];
        socket.read_exact(&mut head)?;
        let [kind, a, b, c, d] = head;
        let mut body = vec![0; (u32::from_be_bytes([a, b, c, d]) as usize).saturating_sub(4)];
        socket.read_exact(&mut body)?;
        match kind {
            b'Z' => return Ok(()),
            b'E' => return Err(std::io::Error::other(String::from_utf8_lossy(&body).into_owned())),
            _ => {}
        }
    }
}
