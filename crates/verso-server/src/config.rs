//! What a server is told: command line, and a file of `name = value` lines as PostgreSQL's `postgresql.conf`.
//!
//! ```text
//! # comment
//! listen = '127.0.0.1:5432, [::1]:5432'
//! max_connections = 200
//! tls_certificate = 'server.crt'      # ssl_cert_file works, too
//! ```

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use verso_env::Env;

use crate::access::Rules;
use crate::network::tls::TlsFiles;

/// The port where nothing else is said.
pub const PORT: u16 = 5432;

/// How a server runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Addresses to listen on; may be empty if there is a socket directory.
    pub listen: Vec<SocketAddr>,
    /// Addresses at which Prometheus asks for figures; empty for none.
    pub metrics: Vec<SocketAddr>,
    /// The directory of the Unix socket `.s.PGSQL.<port>`.
    pub socket_directory: Option<PathBuf>,
    /// Permissions of the Unix socket.
    pub socket_mode: u32,
    /// Sessions at a time.
    pub max_connections: usize,
    /// Statements that run at a time, outside of transaction blocks; 0 chooses by the number of processors.
    pub max_running_statements: usize,
    /// Threads that serve sessions at a time; 0 takes one for each processor.
    pub worker_threads: usize,
    /// How long a client may take to log in.
    pub authentication_timeout: Duration,
    /// How long running statements may go on once the server was told to end.
    pub shutdown_timeout: Duration,
    /// The longest message taken from a client.
    pub max_message_bytes: usize,
    /// PEM files of certificate and key; both or none.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// PEM file of the authorities whose certificates clients may show.
    pub tls_client_authority: Option<PathBuf>,
    /// The file of the access rules; without one whoever has a password proves it, and others come from this machine.
    pub access_rules: Option<PathBuf>,
    /// Clients that are not on this machine must encrypt.
    pub require_tls: bool,
    /// Settings that every database and session begins with.
    pub session_defaults: Vec<(String, String)>,
    /// Bytes of the buffer pool.
    pub buffer_pool_bytes: Option<u64>,
    /// What the statements of all databases may hold in memory; 0 is any number. Each has a `memory_limit` of its own, too.
    pub memory_limit_bytes: Option<u64>,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub log_level: String,
    /// Log lines as JSON.
    pub log_json: bool,
    /// The file that it was read from; for SHOW.
    pub file: Option<PathBuf>,
    /// The folder that the databases are in, where it is known; for SHOW.
    pub folder: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], PORT))],
            metrics: Vec::new(),
            socket_directory: None,
            socket_mode: 0o700,
            max_connections: 100,
            max_running_statements: 0,
            worker_threads: 0,
            authentication_timeout: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(10),
            max_message_bytes: (1 << 30) - 1,
            tls: None,
            tls_client_authority: None,
            access_rules: None,
            require_tls: false,
            session_defaults: Vec::new(),
            buffer_pool_bytes: None,
            memory_limit_bytes: None,
            log_level: "info".to_owned(),
            log_json: false,
            file: None,
            folder: None,
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration: {0}")]
    Io(#[from] std::io::Error),
    /// A line says something that is not understood.
    #[error("{file}:{line}: {what}")]
    Line {
        /// The file.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Half of what TLS needs.
    #[error("tls_certificate and tls_key belong together")]
    Tls,
    /// Certificates of clients where nothing is encrypted.
    #[error("tls_client_ca needs tls_certificate and tls_key")]
    ClientAuthority,
    /// Rules ask for what no client could show.
    #[error("{file}: rules that ask for certificates of clients need tls_client_ca")]
    NoClientAuthority {
        /// The file of the rules.
        file: String,
    },
}

/// Settings that are paths.
const PATHS: [&str; 8] = [
    "tls_certificate",
    "ssl_cert_file",
    "tls_key",
    "ssl_key_file",
    "tls_client_ca",
    "ssl_ca_file",
    "access_rules",
    "hba_file",
];

impl Config {
    /// Changes what the file says; paths in it are relative to its directory.
    ///
    /// # Errors
    /// A file that cannot be read, an unknown name, a value that does not fit.
    pub fn read(&mut self, env: &Env, path: &Path) -> Result<(), ConfigError> {
        let bytes = crate::network::tls::read(env, path)?;
        let text = String::from_utf8_lossy(&bytes);
        self.file = Some(path.to_owned());
        let directory = path.parent().unwrap_or(Path::new(""));
        for (number, line) in text.lines().enumerate() {
            let failed =
                |what: String| ConfigError::Line { file: path.display().to_string(), line: number + 1, what };
            let Some((name, value)) = assignment(line).map_err(failed)? else { continue };
            match name.as_str() {
                name if PATHS.contains(&name) && !value.is_empty() => {
                    let value = directory.join(&value);
                    self.set(name, &value.to_string_lossy()).map_err(failed)?;
                }
                name => self.set(name, &value).map_err(failed)?,
            }
        }
        Ok(())
    }

    /// The files that TLS needs, if it is wanted.
    ///
    /// # Errors
    /// One without the other.
    pub fn tls_files(&self) -> Result<Option<TlsFiles<'_>>, ConfigError> {
        match &self.tls {
            None if self.tls_client_authority.is_some() => Err(ConfigError::ClientAuthority),
            None => Ok(None),
            Some((certificate, key)) if certificate.as_os_str().is_empty() || key.as_os_str().is_empty() => {
                Err(ConfigError::Tls)
            }
            Some((certificate, key)) => {
                let client_authority = self.tls_client_authority.as_deref();
                Ok(Some(TlsFiles { certificate, key, client_authority }))
            }
        }
    }

    /// Reads the access rules, if there are any.
    ///
    /// # Errors
    /// A file that cannot be read, a line that is not understood, a rule that asks for what no client can show.
    pub fn rules(&self, env: &Env) -> Result<Option<Rules>, ConfigError> {
        let Some(path) = &self.access_rules else { return Ok(None) };
        let rules = Rules::read(env, path)?;
        if rules.want_certificates() && self.tls_client_authority.is_none() {
            return Err(ConfigError::NoClientAuthority { file: path.display().to_string() });
        }
        Ok(Some(rules))
    }

    /// What SHOW tells of it.
    pub fn shown(&self) -> Vec<(&'static str, String)> {
        let on = |value: bool| if value { "on" } else { "off" }.to_owned();
        let time = |time: Duration| match time.subsec_millis() {
            0 => format!("{}s", time.as_secs()),
            _ => format!("{}ms", time.as_millis()),
        };
        let mut addresses: Vec<String> = self.listen.iter().map(|address| address.ip().to_string()).collect();
        addresses.dedup();
        let directory = self.socket_directory.as_ref();
        let path = |path: &Option<PathBuf>| {
            let whole = path.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
            whole.map_or_else(String::new, |path| path.display().to_string())
        };
        vec![
            ("config_file", path(&self.file)),
            ("data_directory", path(&self.folder)),
            ("hba_file", path(&self.access_rules)),
            ("authentication_timeout", time(self.authentication_timeout)),
            ("listen_addresses", addresses.join(",")),
            ("max_message_size", format!("{}kB", self.max_message_bytes >> 10)),
            ("require_tls", on(self.require_tls)),
            ("shutdown_timeout", time(self.shutdown_timeout)),
            ("ssl", on(self.tls.is_some())),
            (
                "unix_socket_directories",
                directory.map_or_else(String::new, |path| path.display().to_string()),
            ),
            ("unix_socket_permissions", format!("{:04o}", self.socket_mode)),
        ]
    }

    /// Changes one setting.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let invalid = || format!("invalid value for \"{name}\": \"{value}\"");
        let number = || value.parse::<u64>().map_err(|_| invalid());
        let size = || bytes(value).ok_or_else(invalid);
        // A bare number counts here what it counts in SQL.
        let as_in_sql = || verso_session::setting_bytes(name, value);
        let outside = |range: &str| format!("{}: {range}", invalid());
        let flag = || match value.to_ascii_lowercase().as_str() {
            "on" | "true" | "yes" | "1" => Ok(true),
            "off" | "false" | "no" | "0" => Ok(false),
            _ => Err(invalid()),
        };
        match name {
            "listen" => self.listen = address_list(value, PORT)?,
            "metrics" => self.metrics = address_list(value, crate::metrics::PORT)?,
            "socket_directory" | "unix_socket_directories" => {
                self.socket_directory = Some(PathBuf::from(value)).filter(|_| !value.is_empty());
            }
            "socket_permissions" | "unix_socket_permissions" => {
                self.socket_mode = u32::from_str_radix(value, 8).map_err(|_| invalid())? & 0o777;
            }
            "max_connections" => {
                let count = number().ok().filter(|count| (1..=10_000).contains(count));
                self.max_connections = count.ok_or_else(|| outside("between 1 and 10000"))? as usize;
            }
            "worker_threads" => {
                let count = number().ok().filter(|count| *count <= 1_000);
                let range = "between 1 and 1000, or 0 for one a processor";
                self.worker_threads = count.ok_or_else(|| outside(range))? as usize;
            }
            "max_running_statements" => {
                let count = number().ok().filter(|count| *count <= 100_000);
                let range = "between 1 and 100000, or 0 for eight a processor";
                self.max_running_statements = count.ok_or_else(|| outside(range))? as usize;
            }
            "authentication_timeout" => {
                let range = Duration::from_millis(1)..=Duration::from_secs(600);
                let time = duration(value).filter(|time| range.contains(time));
                self.authentication_timeout = time.ok_or_else(|| outside("between 1ms and 10min"))?;
            }
            "shutdown_timeout" => self.shutdown_timeout = duration(value).ok_or_else(invalid)?,
            "max_message_size" => {
                let range = 64 << 10..=(1 << 30) - 1;
                let bytes = size().ok().filter(|bytes| range.contains(bytes));
                self.max_message_bytes =
                    bytes.ok_or_else(|| outside("between 64kB and 1GB less a byte"))? as usize;
            }
            "tls_certificate" | "ssl_cert_file" => self.tls.get_or_insert_default().0 = value.into(),
            "tls_key" | "ssl_key_file" => self.tls.get_or_insert_default().1 = value.into(),
            "tls_client_ca" | "ssl_ca_file" => {
                self.tls_client_authority = Some(PathBuf::from(value)).filter(|_| !value.is_empty());
            }
            "access_rules" | "hba_file" => {
                self.access_rules = Some(PathBuf::from(value)).filter(|_| !value.is_empty());
            }
            "require_tls" => self.require_tls = flag()?,
            "memory_limit" => {
                let bytes = as_in_sql().filter(|bytes| *bytes == 0 || *bytes >= 16 << 20);
                self.memory_limit_bytes = Some(bytes.ok_or_else(|| outside("0 or at least 16MB"))?);
            }
            "buffer_pool" | "shared_buffers" => {
                // As ALTER SYSTEM takes it; more than the machine has is a slip of the pen.
                let most = verso_env::process::machine_bytes().map_or(u64::MAX, |bytes| bytes.max(1 << 30));
                let bytes = as_in_sql().filter(|bytes| (1 << 20..=most).contains(bytes));
                let range = format!("between 1MB and {}MB", most >> 20);
                self.buffer_pool_bytes = Some(bytes.ok_or_else(|| outside(&range))?);
            }
            "log_level" => {
                let level = value.to_ascii_lowercase();
                if !matches!(level.as_str(), "error" | "warn" | "info" | "debug" | "trace") {
                    return Err(outside("one of error, warn, info, debug and trace"));
                }
                self.log_level = level;
            }
            "log_format" => {
                self.log_json = match value {
                    "json" => true,
                    "text" => false,
                    _ => return Err(outside("text or json")),
                }
            }
            name => {
                // The rest are settings of sessions; checked by the first of them.
                self.session_defaults.retain(|(known, _)| known != name);
                self.session_defaults.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(())
    }

    /// The port that the Unix socket is named after.
    pub fn port(&self) -> u16 {
        self.listen.first().map_or(PORT, SocketAddr::port)
    }
}

/// Addresses with commas between.
///
/// # Errors
/// What is wrong, in words.
fn address_list(text: &str, usual_port: u16) -> Result<Vec<SocketAddr>, String> {
    let mut found = Vec::new();
    for address in text.split(',').map(str::trim).filter(|address| !address.is_empty()) {
        found.extend(addresses(address, usual_port)?);
    }
    Ok(found)
}

/// Addresses of `host`, `host:port`, `*` or `*:port`.
///
/// # Errors
/// What is wrong, in words.
fn addresses(text: &str, usual_port: u16) -> Result<Vec<SocketAddr>, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(vec![address]);
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => {
            (host, port.parse().map_err(|_| format!("invalid port in address \"{text}\""))?)
        }
        _ => (text.trim_matches(['[', ']']), usual_port),
    };
    if host == "*" {
        return Ok(vec![SocketAddr::from(([0, 0, 0, 0], port))]);
    }
    let found = (host, port).to_socket_addrs().map_err(|error| format!("address \"{text}\": {error}"))?;
    Ok(found.collect())
}

/// `name = value` of a line; none if it is empty or a comment.
fn assignment(line: &str) -> Result<Option<(String, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').map_or(rest, str::trim_start);
    if name.is_empty() || rest.is_empty() {
        return Err(format!("\"{line}\" is not of the form name = value"));
    }
    let (value, behind) = match rest.strip_prefix('\'') {
        None => {
            let end = rest.find('#').unwrap_or(rest.len());
            (rest[..end].trim_end().to_owned(), "")
        }
        Some(quoted) => {
            let mut value = String::new();
            let mut chars = quoted.char_indices().peekable();
            let end = loop {
                match chars.next() {
                    None => return Err("a quote is not closed".to_owned()),
                    Some((_, '\'')) if chars.next_if(|(_, c)| *c == '\'').is_some() => value.push('\''),
                    Some((at, '\'')) => break at + 1,
                    Some((_, c)) => value.push(c),
                }
            };
            (value, quoted[end..].trim_start())
        }
    };
    if !behind.is_empty() && !behind.starts_with('#') {
        return Err(format!("\"{behind}\" follows the value"));
    }
    Ok(Some((name.to_ascii_lowercase(), value)))
}

/// `512MB`; a bare number counts bytes.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let shift = match text[digits..].trim() {
        "" | "B" => 0,
        "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// `500ms`, `10s`, `5min`; a bare number counts seconds.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    match text[digits..].trim() {
        "ms" => Some(Duration::from_millis(number)),
        "" | "s" => Some(Duration::from_secs(number)),
        "min" => number.checked_mul(60).map(Duration::from_secs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_names_and_values() {
        let of = |line: &str| assignment(line).map(|found| found.map(|(_, value)| value));
        assert_eq!(of("a = 1 # one"), Ok(Some("1".into())));
        assert_eq!(of("a '1 # one' # two"), Ok(Some("1 # one".into())));
        assert_eq!(of("a = 'it''s'"), Ok(Some("it's".into())));
        assert_eq!(of("  # a = 1"), Ok(None));
        assert!(of("a = 'open").is_err());
        assert!(of("a").is_err());
        assert!(of("a = 'b' c").is_err());
    }

    #[test]
    fn a_file_changes_what_it_names_and_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("verso.conf");
        let text = "listen = '127.0.0.1:1, [::1]:2'\nmax_connections = 7\nssl_cert_file = 'c'\nssl_key_file = '/k'\n\
            shared_buffers = 64MB\nhba_file = 'rules'\nssl_ca_file = ''\nauthentication_timeout = 500ms\nwork_mem = '4MB'\n";
        std::fs::write(&path, text).unwrap();
        let mut config = Config::default();
        config.read(&Env::real(), &path).unwrap();
        assert_eq!(config.listen.len(), 2);
        assert_eq!(config.port(), 1);
        assert_eq!(config.max_connections, 7);
        assert_eq!(config.tls, Some((directory.path().join("c"), PathBuf::from("/k"))));
        assert_eq!(config.access_rules, Some(directory.path().join("rules")));
        assert_eq!(config.tls_client_authority, None);
        assert_eq!(config.buffer_pool_bytes, Some(64 << 20));
        assert_eq!(config.authentication_timeout, Duration::from_millis(500));
        assert_eq!(config.session_defaults, [("work_mem".to_owned(), "4MB".to_owned())]);
        assert_eq!(config.shutdown_timeout, Config::default().shutdown_timeout);
    }

    #[test]
    fn a_number_alone_counts_what_it_counts_in_sql() {
        let mut config = Config::default();
        for (name, value, bytes) in [
            ("shared_buffers", "8194", 8194 * 8192),
            ("buffer_pool", "8194", 8194 << 10),
            ("buffer_pool", "64MB", 64 << 20),
        ] {
            config.set(name, value).unwrap();
            assert_eq!(config.buffer_pool_bytes, Some(bytes), "{name} = {value}");
        }
        config.set("memory_limit", "32768").unwrap();
        assert_eq!(config.memory_limit_bytes, Some(32 << 20));
    }

    #[test]
    fn certificate_and_key_belong_together() {
        let mut config = Config::default();
        assert!(matches!(config.tls_files(), Ok(None)));
        config.set("tls_certificate", "c").unwrap();
        assert!(matches!(config.tls_files(), Err(ConfigError::Tls)));
        config.set("tls_key", "k").unwrap();
        let files = config.tls_files().unwrap().unwrap();
        assert_eq!((files.certificate, files.key), (Path::new("c"), Path::new("k")));
        let mut config = Config::default();
        config.set("ssl_ca_file", "ca").unwrap();
        assert!(matches!(config.tls_files(), Err(ConfigError::ClientAuthority)));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let mut config = Config::default();
        for (name, value) in [
            ("max_connections", "0"),
            ("max_connections", "10001"),
            ("listen", "nowhere:x"),
            ("metrics", "127.0.0.1:x"),
            ("require_tls", "perhaps"),
            ("log_format", "xml"),
            ("max_message_size", "1kB"),
            ("shutdown_timeout", "1 fortnight"),
        ] {
            assert!(config.set(name, value).is_err(), "{name} = {value}");
        }
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_range() {
        let mut config = Config::default();
        for (name, value) in [
            ("max_connections", "10001"),
            ("worker_threads", "100000"),
            ("worker_threads", "-1"),
            ("max_running_statements", "100001"),
            ("authentication_timeout", "0"),
            ("authentication_timeout", "1000s"),
            ("buffer_pool", "0"),
            ("shared_buffers", "1kB"),
            ("buffer_pool", "99999999GB"),
            ("memory_limit", "1kB"),
            ("max_message_size", "2GB"),
        ] {
            let refused = config.set(name, value).expect_err(name);
            let start = format!("invalid value for \"{name}\": \"{value}\": ");
            assert!(refused.starts_with(&start) && refused.len() > start.len(), "{refused}");
        }
        assert_eq!(config, Config::default());
        for (name, value) in [("worker_threads", "0"), ("buffer_pool", "1MB"), ("memory_limit", "0")] {
            config.set(name, value).expect(name);
        }
    }
}
