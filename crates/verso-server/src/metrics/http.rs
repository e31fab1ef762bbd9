//! As much of HTTP/1.1 as a scraper needs: one request, one answer, and the connection ends.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use verso_env::{Clock, Env, JoinHandle};
use verso_session::metrics::{measure, measure_server};

use super::text::{CONTENT_TYPE, render};
use crate::databases::Keeper;
use crate::network::listener::Listeners;
use crate::network::stream::Socket;

/// The port where nothing else is said: that of PostgreSQL's exporter, so that scrapers keep their configuration.
pub const PORT: u16 = 9187;
/// H1.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// H1.
const PATIENCE: Duration = Duration::from_secs(5);
/// H1.
const AT_A_TIME: usize = 8;

/// Where the figures are asked for.
#[derive(Debug)]
pub struct Endpoint {
    listeners: Arc<Listeners>,
    acceptor: Option<JoinHandle>,
}

impl Endpoint {
    /// Listens on the addresses.
    ///
    /// # Errors
    /// The operating system's, with the address.
    pub fn start(addresses: &[SocketAddr], keeper: &Arc<Keeper>, env: &Env) -> io::Result<Endpoint> {
        let listeners = Arc::new(Listeners::bind(addresses, None, 0)?);
        let body = {
            let (listeners, keeper, env) = (Arc::clone(&listeners), Arc::clone(keeper), env.clone());
            move || accept(&listeners, &keeper, &env)
        };
        let acceptor = Some(env.spawn("verso-metrics", body));
        Ok(Endpoint { listeners, acceptor })
    }

    /// Where it listens.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.addresses()
    }
}

/// No more requests are taken.
impl Drop for Endpoint {
    fn drop(&mut self) {
        self.listeners.wake();
        if let Some(acceptor) = self.acceptor.take() {
            // It panics on nothing; if it did, there is nobody left to accept.
            let _ = acceptor.join();
        }
    }
}

fn accept(listeners: &Listeners, keeper: &Arc<Keeper>, env: &Env) {
    let busy = Arc::new(AtomicUsize::new(0));
    loop {
        let socket = match listeners.accept() {
            Ok(Some((Socket::Tcp(socket), _))) => socket,
            Ok(Some((Socket::Unix(_), _))) => continue,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a request for metrics");
                env.clock.sleep(Duration::from_millis(50));
                continue;
            }
        };
        if busy.fetch_add(1, Ordering::AcqRel) >= AT_A_TIME {
            busy.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let body = {
            let (busy, keeper, clock) = (Busy(Arc::clone(&busy)), Arc::clone(keeper), Arc::clone(&env.clock));
            move || {
                let _busy = busy;
                // A client that is gone is no concern of the server's.
                let _ = serve(&keeper, &mut Bounded::new(socket, clock));
            }
        };
        if let Err(error) = env.threads.try_spawn("verso-scrape", Box::new(body)) {
            tracing::warn!(%error, "cannot start a thread for a request for metrics");
        }
    }
}

/// A request that is being answered; also one whose thread could not be started ends so.
struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A socket whose reads, and then its writes, have [`PATIENCE`] together (H1).
struct Bounded {
    socket: TcpStream,
    clock: Arc<dyn Clock>,
    until: u64,
}

impl Bounded {
    fn new(socket: TcpStream, clock: Arc<dyn Clock>) -> Bounded {
        let mut bounded = Bounded { socket, clock, until: 0 };
        bounded.begin();
        bounded
    }

    fn begin(&mut self) {
        self.until = self.clock.monotonic_nanos() + PATIENCE.as_nanos() as u64;
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.saturating_sub(self.clock.monotonic_nanos()) {
            0 => Err(io::ErrorKind::TimedOut.into()),
            nanos => Ok(Some(Duration::from_nanos(nanos))),
        }
    }
}

impl Read for Bounded {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(bytes)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn serve(keeper: &Keeper, connection: &mut Bounded) -> io::Result<()> {
    let request = read_request(connection)?;
    connection.begin();
    connection.write_all(&answer(&request, || figures(keeper)))
}

/// What there is to tell now (H2).
fn figures(keeper: &Keeper) -> String {
    let databases: Vec<_> = keeper
        .open_instances()
        .iter()
        .map(|(name, instance)| (name.to_string(), measure(instance)))
        .collect();
    render(&measure_server(keeper.cluster()), &databases)
}

/// The lines before the empty one; as far as they came if the request is too long.
fn read_request(connection: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_BYTES_MAX {
        match connection.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => request.extend_from_slice(&piece[..count]),
        }
    }
    Ok(request)
}

/// The answer to a request.
fn answer(request: &[u8], figures: impl FnOnce() -> String) -> Vec<u8> {
    let text = String::from_utf8_lossy(request);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let path = target.map(|target| target.split('?').next().unwrap_or_default());
    let is_whole = request.len() < REQUEST_BYTES_MAX && version.is_some_and(|it| it.starts_with("HTTP/1."));
    let (status, kind, body) = match (method, path) {
        _ if !is_whole => ("400 Bad Request", "text/plain", "bad request\n".to_owned()),
        (Some("GET" | "HEAD"), Some("/metrics")) => ("200 OK", CONTENT_TYPE, figures()),
        (Some("GET" | "HEAD"), Some("/")) => {
            ("200 OK", "text/html", "<a href=\"/metrics\">metrics of Verso</a>\n".to_owned())
        }
        (Some("GET" | "HEAD"), _) => ("404 Not Found", "text/plain", "there is /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed\r\nAllow: GET, HEAD", "text/plain", "only GET and HEAD\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if method == Some("HEAD") { "" } else { &body };
    [head.as_bytes(), body.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &str) -> String {
        let answer = answer(request.as_bytes(), || "verso_commits_total 1\n".to_owned());
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn only_the_figures_are_to_be_had() {
        let whole = status("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(whole.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{whole}");
        assert!(
            whole.ends_with("\r\nContent-Length: 22\r\nConnection: close\r\n\r\nverso_commits_total 1\n")
        );
        assert!(status("GET /metrics?name=x HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200 "));
        assert!(status("HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
        assert!(status("GET /etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(status("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        for junk in ["", "\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics FTP/1.1\r\n\r\n"] {
            assert!(status(junk).starts_with("HTTP/1.1 400 "), "{junk:?}");
        }
    }

    #[test]
    fn a_request_is_read_up_to_its_end_and_no_further_than_the_limit() {
        let endless = vec![b'x'; 1 << 20];
        let read = read_request(&mut &endless[..]).unwrap();
        assert!((REQUEST_BYTES_MAX..REQUEST_BYTES_MAX + 1024).contains(&read.len()));
        assert!(answer(&read, || panic!("not asked for")).starts_with(b"HTTP/1.1 400 "));
        assert!(read_request(&mut &b"GET /metrics HTTP/1.1\r\n"[..]).is_err(), "it is cut off");
    }
}
