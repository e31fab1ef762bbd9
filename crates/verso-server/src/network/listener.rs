//! Who waits for connections.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};

use super::stream::{Peer, Socket};

/// Connections that may wait to be accepted.
const QUEUE: i32 = 1_024;

/// Sockets that listen, and a way to wake whoever waits at them.
#[derive(Debug)]
pub struct Listeners {
    tcp: Vec<TcpListener>,
    unix: Option<(UnixListener, PathBuf)>,
    wake: UnixStream,
    waker: UnixStream,
}

impl Listeners {
    /// Listens on the addresses and on `<directory>/.s.PGSQL.<port>`. Port 0 takes any free one.
    ///
    /// # Errors
    /// The operating system's, with the address.
    pub fn bind(addresses: &[SocketAddr], directory: Option<&Path>, mode: u32) -> io::Result<Listeners> {
        let named = |what: String, error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
        let mut tcp = Vec::new();
        for address in addresses {
            tcp.push(listen(*address).map_err(|error| named(address.to_string(), error))?);
        }
        let port = match tcp.first() {
            Some(listener) => listener.local_addr()?.port(),
            None => crate::config::PORT,
        };
        let unix = match directory {
            None => None,
            Some(directory) => {
                let path = directory.join(format!(".s.PGSQL.{port}"));
                let listener =
                    listen_unix(&path, mode).map_err(|error| named(path.display().to_string(), error))?;
                Some((listener, path))
            }
        };
        let (wake, waker) = UnixStream::pair()?;
        Ok(Listeners { tcp, unix, wake, waker })
    }

    /// Where clients can connect.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.tcp.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// The Unix socket.
    pub fn socket_path(&self) -> Option<&Path> {
        self.unix.as_ref().map(|(_, path)| path.as_path())
    }

    /// Ends [`Listeners::accept`].
    pub fn wake(&self) {
        let _ = self.waker.shutdown(std::net::Shutdown::Both);
    }

    /// Waits for a connection; `None` after [`Listeners::wake`].
    ///
    /// # Errors
    /// The operating system's; waiting may go on after most of them.
    pub fn accept(&self) -> io::Result<Option<(Socket, Peer)>> {
        loop {
            let mut sources: Vec<BorrowedFd<'_>> = self.tcp.iter().map(AsFd::as_fd).collect();
            sources.extend(self.unix.as_ref().map(|(listener, _)| listener.as_fd()));
            sources.push(self.wake.as_fd());
            let mut polled: Vec<PollFd<'_>> =
                sources.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
            match poll(&mut polled, None) {
                Err(rustix::io::Errno::INTR) => continue,
                result => result.map_err(io::Error::from)?,
            };
            let ready: Vec<bool> = polled.iter().map(|source| !source.revents().is_empty()).collect();
            if ready.last() == Some(&true) {
                return Ok(None);
            }
            for (listener, _) in self.tcp.iter().zip(&ready).filter(|(_, ready)| **ready) {
                match listener.accept() {
                    Ok((socket, address)) => {
                        socket.set_nodelay(true)?;
                        socket2::SockRef::from(&socket).set_keepalive(true)?;
                        return Ok(Some((Socket::Tcp(socket), Peer::Tcp(address))));
                    }
                    // Whoever knocked has gone again.
                    Err(error) if transient(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            if let (Some((listener, _)), Some(true)) = (&self.unix, ready.get(self.tcp.len())) {
                match listener.accept() {
                    Ok((socket, _)) => return Ok(Some((Socket::Unix(socket), Peer::Unix))),
                    Err(error) if transient(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.unix {
            // Gone already is as good.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
    )
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    use socket2::{Domain, Protocol, Type};
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // Connections of an earlier server that linger must not keep this one from starting.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(QUEUE)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn listen_unix(path: &Path, mode: u32) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if UnixStream::connect(path).is_ok() {
                return Err(io::Error::new(error.kind(), "another server listens there"));
            }
            // Left behind by a server that was killed.
            std::fs::remove_file(path)?;
            finish_unix(UnixListener::bind(path)?, path, mode)
        }
        result => finish_unix(result?, path, mode),
    }
}

fn finish_unix(listener: UnixListener, path: &Path, mode: u32) -> io::Result<UnixListener> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_left_behind_is_taken_over_and_a_live_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let bind = || Listeners::bind(&[], Some(directory.path()), 0o600);
        let first = bind().unwrap();
        let path = first.socket_path().unwrap().to_owned();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(bind().unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(first);
        assert!(!path.exists());
        drop(UnixListener::bind(&path).unwrap());
        assert!(bind().is_ok());
    }

    #[test]
    fn waking_ends_the_wait() {
        let listeners = Listeners::bind(&["127.0.0.1:0".parse().unwrap()], None, 0).unwrap();
        let address = listeners.addresses()[0];
        let client = std::net::TcpStream::connect(address).unwrap();
        let (_, peer) = listeners.accept().unwrap().unwrap();
        assert_eq!(peer, Peer::Tcp(client.local_addr().unwrap()));
        assert!(peer.is_local());
        listeners.wake();
        assert!(listeners.accept().unwrap().is_none());
    }
}
