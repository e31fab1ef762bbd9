//! A running server: start, reload, shutdown.
//!
//! V1. Off this machine nobody is let in without a password unless access rules say so, so a server that listens there does
//!     not start unless some role of the first database has one, or there are rules.
//! V2. A shutdown refuses new connections, lets statements that run end in their time, cancels the rest, and closes
//!     the databases only when nobody is left.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_env::sync::{Mutex, RwLock};
use verso_env::{Env, JoinHandle};
use verso_session::{Exporter, Instance, SqlError};
use versodb::{Database, Options};

use crate::access::Rules;
use crate::backends::Backends;
use crate::config::{Config, ConfigError};
use crate::conversation;
use crate::conversation::wire::Wire;
use crate::databases::{Keeper, Lease};
use crate::metrics::Endpoint;
use crate::network::listener::Listeners;
use crate::network::patience::{Last, Patience};
use crate::network::stream::{Peer, SharedSocket, Socket, Stream};
use crate::network::tls::Tls;
use crate::protocol::backend::Severity;
use crate::protocol::frontend::SMALL_BYTES_MAX;
use crate::workers::Pool;

/// Statements that run at a time for each processor, where nothing else is said.
const RUNNING_PER_PROCESSOR: usize = 8;
/// Microseconds from 1970 to 2000, PostgreSQL's epoch.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An address cannot be listened on, a certificate cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// V1.
    #[error("{address} can be reached from other machines, and no role has a password: set one first")]
    NoAuthentication {
        /// The address.
        address: SocketAddr,
    },
    /// Nowhere to listen.
    #[error("there is neither an address nor a socket directory to listen on")]
    Nowhere,
    /// The configuration is wrong.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The database refuses.
    #[error("{0}")]
    Database(#[from] SqlError),
}

/// How a shutdown treats those who are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownMode {
    /// Statements may end in the time that the configuration allows; idle sessions end at once.
    Smart,
    /// Statements are cancelled.
    Fast,
}

/// What all connections share.
#[derive(Debug)]
pub struct Shared {
    /// What is served.
    pub databases: Arc<Keeper>,
    /// Clock, randomness, threads.
    pub env: Env,
    config: RwLock<Arc<Config>>,
    tls: RwLock<Option<Arc<Tls>>>,
    rules: RwLock<Option<Arc<Rules>>>,
    /// Who is connected.
    pub backends: Arc<Backends>,
    /// Makes the salts of roles that do not exist.
    pub secret: [u8; 32],
    /// Which session heard of its client last; none where a thread that stays awake would hold its client up.
    last: Option<Arc<Last>>,
}

impl Shared {
    /// The configuration as it is now.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read())
    }

    /// What TLS connections need, if there are any.
    pub fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.read().clone()
    }

    /// The access rules, if there are any.
    pub fn rules(&self) -> Option<Arc<Rules>> {
        self.rules.read().clone()
    }

    /// How a session waits for its client.
    pub fn patience(&self, session: u64) -> Patience {
        match &self.last {
            Some(last) => Patience::new(session, Arc::clone(last), Arc::clone(&self.env.clock)),
            None => Patience::default(),
        }
    }

    /// Microseconds since 2000-01-01 UTC.
    pub fn now(&self) -> i64 {
        self.env.clock.unix_micros() - EPOCH_MICROS
    }

    /// Tells a client why its connection ends, if it can still be told.
    pub fn report(&self, wire: &mut Wire, error: &SqlError) {
        wire.output.error(Severity::Fatal, error);
        // It may be gone already.
        let _ = wire.send();
    }
}

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
    listeners: Arc<Listeners>,
    acceptor: Mutex<Option<JoinHandle>>,
    metrics: Option<Endpoint>,
}

impl Server {
    /// Starts a server for an open database.
    ///
    /// # Errors
    /// What keeps it from starting; nobody could connect then.
    pub fn start(database: Database, config: Config, env: Env) -> Result<Server, ServerError> {
        Server::start_with(Keeper::of_one(database), config, env)
    }

    /// Starts a server for the databases of a folder, each a file `NAME.verso`. The folder, and a first database in it, are
    /// made if they are missing. `options` say how each database is opened.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_folder(folder: &Path, options: Options, config: Config) -> Result<Server, ServerError> {
        let env = options.outside().clone();
        let keeper = Keeper::of_folder(folder.to_path_buf(), options)?;
        Server::start_with(keeper, config, env)
    }

    /// Says who makes the archives of BACKUP DATABASE TO STDOUT, which is refused before.
    pub fn exported_by(&self, exporter: Arc<dyn Exporter>) {
        self.shared.databases.cluster().exported_by(exporter);
    }

    /// Says how `pg_reload_conf` has the configuration read again.
    pub fn reloaded_by(&self, reload: Box<dyn Fn() -> bool + Send + Sync>) {
        self.shared.databases.cluster().reloaded_by(reload);
    }

    fn start_with(databases: Arc<Keeper>, config: Config, env: Env) -> Result<Server, ServerError> {
        if config.listen.is_empty() && config.socket_directory.is_none() {
            return Err(ServerError::Nowhere);
        }
        let tls = config.tls_files()?.map(|files| files.read(&env)).transpose()?;
        let rules = config.rules(&env)?.map(Arc::new);
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let places = match config.max_running_statements {
            0 => processors * RUNNING_PER_PROCESSOR,
            places => places,
        };
        let workers = match config.worker_threads {
            0 => processors,
            workers => workers,
        };
        let mut secret = [0; 32];
        for chunk in secret.chunks_exact_mut(8) {
            chunk.copy_from_slice(&env.random.next_u64().to_le_bytes());
        }
        let shared = Arc::new(Shared {
            databases,
            backends: Arc::new(Backends::new(config.max_connections)),
            config: RwLock::new(Arc::new(config)),
            tls: RwLock::new(tls),
            rules: RwLock::new(rules),
            secret,
            last: (processors > 1).then(Arc::default),
            env,
        });
        let config = shared.config();
        shared.databases.cluster().set_connections_max(config.max_connections);
        let mut shown = config.shown();
        shown.push(("worker_threads", workers.to_string()));
        shown.push(("max_running_statements", places.to_string()));
        if let Some(bytes) = config.memory_limit_bytes {
            shared.databases.cluster().memory().set_limit(bytes);
        }
        // Before any of them is opened: a database that does not know its archive gives up what it kept for it.
        shared.databases.cluster().set_defaults(&config.session_defaults);
        let first = shared.databases.lease_any()?;
        check_defaults(&first, &config)?;
        let outside = config.listen.iter().find(|address| !address.ip().to_canonical().is_loopback());
        if let (Some(address), None, false) = (outside, shared.rules(), has_passwords(first.instance())?) {
            return Err(ServerError::NoAuthentication { address: *address });
        }
        raise_file_limit();
        let listeners = Arc::new(Listeners::bind(
            &config.listen,
            config.socket_directory.as_deref(),
            config.socket_mode,
        )?);
        // Only now the port is known where the system has chosen it.
        let port = listeners.addresses().first().map(|address| ("port", address.port().to_string()));
        shown.extend(port);
        shared.databases.cluster().set_server_settings(shown);
        let metrics = match &config.metrics[..] {
            [] => None,
            addresses => Some(Endpoint::start(addresses, &shared.databases, &shared.env)?),
        };
        let pool = Pool::new(shared.env.clone(), workers, places)?;
        let acceptor = {
            let (shared, pool, listeners) = (Arc::clone(&shared), Arc::clone(&pool), Arc::clone(&listeners));
            let env = shared.env.clone();
            env.spawn("verso-accept", move || accept(&shared, &pool, &listeners))
        };
        Ok(Server { shared, pool, listeners, acceptor: Mutex::new(Some(acceptor)), metrics })
    }

    /// Where clients can connect.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.addresses()
    }

    /// Where the figures are asked for.
    pub fn metrics_addresses(&self) -> Vec<SocketAddr> {
        self.metrics.as_ref().map_or_else(Vec::new, Endpoint::addresses)
    }

    /// The Unix socket.
    pub fn socket_path(&self) -> Option<PathBuf> {
        self.listeners.socket_path().map(Path::to_owned)
    }

    /// Whether roles without a password may come in from this machine.
    ///
    /// # Errors
    /// Those of storage.
    pub fn is_open_locally(&self) -> Result<bool, SqlError> {
        if self.shared.rules().is_some() {
            return Ok(false); // they say what was meant
        }
        let first = self.shared.databases.lease_any()?;
        Ok(first.instance().roles()?.iter().any(|role| role.login && role.password.is_none()))
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.shared.backends.count()
    }

    /// Takes a new configuration; what concerns addresses, sizes and limits of the server keeps its old value until
    /// the next start. Sessions there are keep theirs.
    ///
    /// # Errors
    /// A certificate or rules that cannot be read; everything stays as it was then.
    pub fn reload(&self, config: Config) -> Result<(), ServerError> {
        let tls = config.tls_files()?.map(|files| files.read(&self.shared.env)).transpose()?;
        let rules = config.rules(&self.shared.env)?.map(Arc::new);
        check_defaults(&self.shared.databases.lease_any()?, &config)?;
        *self.shared.tls.write() = tls;
        *self.shared.rules.write() = rules;
        *self.shared.config.write() = Arc::new(config);
        Ok(())
    }

    /// Ends the server (V2) and closes the databases.
    ///
    /// # Errors
    /// Those of closing the database.
    pub fn shutdown(self, mode: ShutdownMode) -> Result<(), ServerError> {
        self.listeners.wake();
        if let Some(acceptor) = self.acceptor.lock().take() {
            // It panics on nothing; if it did, there is nobody left to accept.
            let _ = acceptor.join();
        }
        let patience = self.shared.config().shutdown_timeout;
        let backends = &self.shared.backends;
        backends.end_all(mode == ShutdownMode::Fast);
        if !backends.wait_gone(patience) {
            backends.end_all(true);
            if !backends.wait_gone(patience) {
                // Statements that do not hear of their end wait for their clients.
                backends.abort_all();
                backends.wait_gone(patience);
            }
        }
        drop(self.listeners);
        drop(self.metrics);
        self.pool.end(patience);
        self.shared.databases.close()?;
        Ok(())
    }
}

/// Settings are checked at once, not by the first client.
fn check_defaults(lease: &Lease, config: &Config) -> Result<(), SqlError> {
    let instance = lease.instance();
    instance.reconfigure(&config.session_defaults)?;
    instance.note_configured();
    Ok(())
}

/// Whether any role of a database has a password.
///
/// # Errors
/// Those of storage.
pub fn has_passwords(instance: &Instance) -> Result<bool, SqlError> {
    Ok(instance.roles()?.iter().any(|role| role.password.is_some() && role.login))
}

/// Every session has a socket, and the database has files.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // As it is, it may be enough.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

fn accept(shared: &Arc<Shared>, pool: &Arc<Pool>, listeners: &Listeners) {
    loop {
        match listeners.accept() {
            Ok(Some((socket, peer))) => welcome(shared, pool, socket, peer),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                // Out of descriptors, most likely: somebody has to go first.
                shared.env.clock.sleep(std::time::Duration::from_millis(50));
            }
        }
    }
}

/// Starts the thread on which a connection begins.
fn welcome(shared: &Arc<Shared>, pool: &Arc<Pool>, socket: Socket, peer: Peer) {
    let Some(connected) = Backends::connect(&shared.backends, socket) else { return };
    let body = {
        let (shared, pool) = (Arc::clone(shared), Arc::clone(pool));
        move || {
            let stream = Stream::Plain(SharedSocket::new(Arc::clone(&connected.socket)));
            let wire = Wire::new(stream, SMALL_BYTES_MAX);
            conversation::converse(&shared, &pool, wire, peer, connected);
        }
    };
    if let Err(error) = shared.env.threads.try_spawn("verso-login", Box::new(body)) {
        tracing::warn!(%error, %peer, "cannot start a thread for a connection");
    }
}
