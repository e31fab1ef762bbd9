//! A server of our own, started for the run.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::BenchError;
use crate::folder::Watched;

/// How clients reach a server on the same machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Transport {
    /// A Unix socket.
    Unix,
    /// TCP over the loopback.
    Tcp,
}

/// `verso serve` in a child process.
#[derive(Debug)]
pub(crate) struct RunningServer {
    child: Child,
    _watched: Watched,
    folder: PathBuf,
    port: u16,
}

/// Sessions that a server takes when nobody asks for more.
const SESSIONS: u32 = 1_000;
/// Sessions beside those of the terminals: for scripts, a batch, a reader that holds a snapshot.
const SPARE: u32 = 20;
/// The most that a server can take.
const SESSIONS_MAX: u32 = 10_000;

impl RunningServer {
    /// Refuses more terminals than a server of our own can take.
    ///
    /// # Errors
    /// `Usage`.
    pub fn check_connections(connections: u32) -> Result<(), BenchError> {
        match connections.saturating_add(SPARE) <= SESSIONS_MAX {
            true => Ok(()),
            false => {
                Err(BenchError::Usage(format!("--connections must be at most {}", SESSIONS_MAX - SPARE)))
            }
        }
    }

    /// Starts it on a new database and waits until it is ready.
    pub fn start(folder: &Path, pool_bytes: u64, transport: Transport) -> Result<RunningServer, BenchError> {
        RunningServer::start_for(folder, pool_bytes, transport, 0)
    }

    /// As [`RunningServer::start`], for so many terminals at one time.
    pub fn start_for(
        folder: &Path,
        pool_bytes: u64,
        transport: Transport,
        connections: u32,
    ) -> Result<RunningServer, BenchError> {
        let sessions = connections.saturating_add(SPARE).clamp(SESSIONS, SESSIONS_MAX);
        let failed = |message: String| BenchError::Child { task: "verso serve".to_owned(), message };
        let binary = std::env::current_exe().map_err(BenchError::file("the running binary"))?;
        // A host that does not begin with a slash would be a name.
        let folder = folder.canonicalize().map_err(BenchError::file(folder))?;
        let socket = (transport == Transport::Unix).then_some(&folder);
        let mut child = Command::new(&binary)
            .arg("serve")
            .arg(folder.join("wire.verso"))
            .args([
                "--listen",
                "127.0.0.1:0",
                "-c",
                "log_level=warn",
                "-c",
                &format!("max_connections={sessions}"),
            ])
            .args(socket.iter().flat_map(|folder| ["--socket".as_ref(), folder.as_os_str()]))
            .args(["--pool-bytes", &pool_bytes.to_string()])
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .map_err(BenchError::file(&binary))?;
        let watched = Watched::new(&child);
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(|error| failed(error.to_string()))?;
        }
        match port_of(&line) {
            Some(port) => Ok(RunningServer { child, _watched: watched, folder, port }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(format!("it did not become ready: {line:?}")))
            }
        }
    }

    /// How to reach it.
    pub fn dsn(&self, transport: Transport) -> String {
        let host = match transport {
            Transport::Unix => format!("'{}'", self.folder.display()),
            Transport::Tcp => "127.0.0.1".to_owned(),
        };
        format!("host={host} port={} user=verso dbname=verso", self.port)
    }

    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its physical memory; none where the operating system does not say.
    pub fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// Ends it as an administrator would.
    pub fn stop(mut self) -> Result<(), BenchError> {
        let failed = |message: String| BenchError::Child { task: "verso serve".to_owned(), message };
        let told = Command::new("kill").arg(self.child.id().to_string()).status();
        told.map_err(|error| failed(error.to_string()))?;
        let status = self.child.wait().map_err(|error| failed(error.to_string()))?;
        if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // After an error of the run nobody else ends it; one that has ended already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The port in the line that says where the server listens: addresses first, the socket's path last.
fn port_of(line: &str) -> Option<u16> {
    line.split([' ', ',']).find_map(|word| word.trim().rsplit_once(':')?.1.parse().ok())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_port_is_the_address_s() {
        let line = "verso: ready: listening on 127.0.0.1:5600, /tmp/a:b/.s.PGSQL.5600\n";
        assert_eq!(super::port_of(line), Some(5600));
        assert_eq!(super::port_of("verso: no\n"), None);
    }
}
