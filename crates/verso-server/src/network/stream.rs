//! A connection's bytes, plain or encrypted.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::{ProtocolVersion, ServerConnection, StreamOwned};
use verso_env::waiting;
use verso_session::Encryption;

use super::certificate::common_name;
use super::tls::{ALPN, Tls};

/// For a poll that does not wait.
const NOT_AT_ALL: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// How often a write that waits for its client looks whether the connection is to end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A socket of either kind; shared with whoever may end the connection.
#[derive(Debug)]
pub enum Socket {
    /// Over IP.
    Tcp(TcpStream),
    /// On this machine.
    Unix(UnixStream),
}

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Over IP.
    Tcp(SocketAddr),
    /// On this machine, through the socket directory.
    Unix,
}

impl Peer {
    /// Whether the client is on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Peer::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Peer::Unix => true,
        }
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Tcp(address) => write!(out, "{address}"),
            Peer::Unix => out.write_str("[local]"),
        }
    }
}

impl Socket {
    /// Ends the reading side, so that a thread blocked in a read of it wakes up; what is left to say can still be sent.
    pub fn stop_reading(&self) {
        // The connection may be gone already, which is as good.
        let _ = match self {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Read),
            Socket::Unix(socket) => socket.shutdown(Shutdown::Read),
        };
    }

    /// Ends both sides: also a write to a client that does not read ends.
    pub fn stop(&self) {
        let _ = match self {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Socket::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    /// Whether the client has closed the connection, or at least its side of it: it reads no answer any more.
    pub fn is_gone(&self) -> bool {
        let mut polled = [PollFd::new(self, PollFlags::RDHUP)];
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        poll(&mut polled, Some(&NOT_AT_ALL)).is_ok() && polled[0].revents().intersects(gone)
    }

    /// A read that takes longer fails with `WouldBlock` or `TimedOut`.
    ///
    /// # Errors
    /// The operating system's.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => socket.set_read_timeout(timeout),
            Socket::Unix(socket) => socket.set_read_timeout(timeout),
        }
    }
}

/// A socket that can be read and written while others hold it, too.
#[derive(Clone, Debug)]
pub struct SharedSocket {
    /// The socket.
    pub socket: Arc<Socket>,
    /// How long a read waits for bytes.
    pub waits: Waits,
    given_up: GivenUp,
}

/// Whether a client that takes nothing is waited for no longer.
#[derive(Clone, Default)]
struct GivenUp(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl std::fmt::Debug for GivenUp {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("GivenUp").field(&self.0.is_some()).finish()
    }
}

/// How long a read waits for bytes, before it fails with `WouldBlock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Not at all.
    No,
    /// As long as [`Socket::set_read_timeout`] says.
    Awhile,
    /// Until some come.
    Ever,
}

impl SharedSocket {
    /// Whose reads wait for a while.
    pub fn new(socket: Arc<Socket>) -> SharedSocket {
        SharedSocket { socket, waits: Waits::Awhile, given_up: GivenUp::default() }
    }

    /// Waits until the client takes more. Where it is waited for no longer the connection is cut: what was sent of a message
    /// is all that the client gets.
    #[cold]
    fn wait_to_write(&self) -> io::Result<()> {
        waiting::announce();
        loop {
            if self.given_up.0.as_ref().is_some_and(|given_up| given_up()) {
                self.socket.stop();
                let text = "it was to end, and its client took nothing";
                return Err(io::Error::new(io::ErrorKind::ConnectionAborted, text));
            }
            let mut polled = [PollFd::new(&*self.socket, PollFlags::OUT)];
            match poll(&mut polled, Some(&LOOK)) {
                Ok(0) | Err(Errno::INTR) => {}
                result => return Ok(result.map(drop)?),
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Read for SharedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.waits == Waits::No {
            return Ok(recv(&*self.socket, buffer, RecvFlags::DONTWAIT)?.0);
        }
        // Another thread can use the processor meanwhile.
        waiting::announce();
        loop {
            match recv(&*self.socket, &mut *buffer, RecvFlags::empty()) {
                Err(Errno::AGAIN) if self.waits == Waits::Ever => {
                    let mut polled = [PollFd::new(&*self.socket, PollFlags::IN)];
                    poll(&mut polled, None)?;
                }
                result => return Ok(result?.0),
            }
        }
    }
}

impl Write for SharedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match send(&*self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Err(Errno::AGAIN) => self.wait_to_write()?,
                sent => return Ok(sent?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection's bytes.
pub enum Stream {
    /// As they are.
    Plain(SharedSocket),
    /// Through TLS.
    Tls(Box<Encrypted>),
}

/// A connection's bytes through TLS.
pub struct Encrypted {
    stream: StreamOwned<ServerConnection, SharedSocket>,
    /// Of the handshake: the server's certificate may be another one by now.
    tls: Arc<Tls>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stream::Plain(socket) => out.debug_tuple("Plain").field(socket).finish(),
            Stream::Tls(_) => out.write_str("Tls"),
        }
    }
}

impl Stream {
    /// The same connection, encrypted from now on; the handshake happens with the next read.
    ///
    /// # Errors
    /// Rustls refuses the configuration, or the stream is encrypted already.
    pub fn encrypt(self, tls: Arc<Tls>) -> io::Result<Stream> {
        match self {
            Stream::Plain(socket) => {
                let connection = ServerConnection::new(Arc::clone(&tls.config)).map_err(io::Error::other)?;
                Ok(Stream::Tls(Box::new(Encrypted { stream: StreamOwned::new(connection, socket), tls })))
            }
            Stream::Tls(_) => Err(io::Error::other("the connection is encrypted already")),
        }
    }

    /// The same where the client has begun with the handshake; `early` is what came of it.
    ///
    /// # Errors
    /// As [`Stream::encrypt`]; bytes that are no handshake.
    pub fn encrypt_begun(self, tls: Arc<Tls>, mut early: &[u8]) -> io::Result<Stream> {
        let mut stream = self.encrypt(tls)?;
        let Stream::Tls(encrypted) = &mut stream else { return Ok(stream) };
        let StreamOwned { conn, sock } = &mut encrypted.stream;
        while !early.is_empty() {
            conn.read_tls(&mut early)?;
            if let Err(error) = conn.process_new_packets() {
                // The client is told what is wrong, if it listens.
                let _ = conn.write_tls(sock);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
        Ok(stream)
    }

    /// Whether the client has named the protocol in the handshake.
    pub fn has_named_protocol(&self) -> bool {
        match self {
            Stream::Plain(_) => false,
            Stream::Tls(encrypted) => encrypted.stream.conn.alpn_protocol() == Some(ALPN),
        }
    }

    /// Changes how long reads wait for bytes.
    pub fn set_waits(&mut self, waits: Waits) {
        match self {
            Stream::Plain(socket) => socket.waits = waits,
            Stream::Tls(encrypted) => encrypted.stream.sock.waits = waits,
        }
    }

    /// A write that waits for its client asks this, a few times a second, whether it is waited for no longer.
    pub fn give_up_when(&mut self, given_up: Arc<dyn Fn() -> bool + Send + Sync>) {
        let socket = match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(encrypted) => &mut encrypted.stream.sock,
        };
        socket.given_up = GivenUp(Some(given_up));
    }

    /// What a login is bound to (`tls-server-end-point`), if it can be.
    pub fn end_point(&self) -> Option<&[u8]> {
        match self {
            Stream::Plain(_) => None,
            Stream::Tls(encrypted) => encrypted.tls.end_point.as_deref(),
        }
    }

    /// How others are kept from reading along, if they are.
    pub fn encryption(&self) -> Option<Encryption> {
        let Stream::Tls(encrypted) = self else { return None };
        let connection = &encrypted.stream.conn;
        let suite = format!("{:?}", connection.negotiated_cipher_suite()?.suite());
        Some(Encryption {
            version: match connection.protocol_version()? {
                ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
                ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
                other => format!("{other:?}"),
            },
            bits: if suite.contains("AES_128") { 128 } else { 256 },
            cipher: openssl_name(&suite),
            certificate: self.client_certificate().and_then(common_name),
        })
    }

    /// The certificate that the client has shown; the handshake has found that an authority vouches for it.
    pub fn client_certificate(&self) -> Option<&[u8]> {
        match self {
            Stream::Plain(_) => None,
            Stream::Tls(encrypted) => {
                encrypted.stream.conn.peer_certificates()?.first().map(|certificate| &**certificate)
            }
        }
    }

    /// The address of this machine that the client has reached; none for the Unix socket.
    pub fn own_address(&self) -> Option<IpAddr> {
        let socket = match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(encrypted) => &encrypted.stream.sock,
        };
        match &*socket.socket {
            Socket::Tcp(socket) => socket.local_addr().ok().map(|address| address.ip()),
            Socket::Unix(_) => None,
        }
    }

    /// Whether others cannot read along.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }
}

/// A cipher suite as OpenSSL calls it: `TLS13_AES_256_GCM_SHA384` is `TLS_AES_256_GCM_SHA384`, and
/// `TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` is `ECDHE-RSA-AES256-GCM-SHA384`.
fn openssl_name(suite: &str) -> String {
    if let Some(name) = suite.strip_prefix("TLS13_") {
        return format!("TLS_{name}");
    }
    let name = suite.strip_prefix("TLS_").unwrap_or(suite).replace("WITH_", "").replace("AES_", "AES");
    // The hash of this one is not in its name.
    let name = if name.contains("CHACHA20") { name.replace("_SHA256", "") } else { name };
    name.replace('_', "-")
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(encrypted) => encrypted.stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(encrypted) => encrypted.stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(encrypted) => encrypted.stream.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn cipher_suites_are_called_as_openssl_does() {
        for (suite, name) in [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            ("TLS13_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
            ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ] {
            assert_eq!(super::openssl_name(suite), name);
        }
    }
}
