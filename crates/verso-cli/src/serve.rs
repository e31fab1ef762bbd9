//! `verso serve`: the server in the foreground.
//!
//! Standard output gets one line when clients can connect; the log goes to standard error. TERM lets statements end,
//! INT (or a second TERM) cancels them, HUP reads the configuration again.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::reload;
use verso_env::Env;
use verso_server::{Config, Server, ServerError, ShutdownMode};
use versodb::Database;

use crate::args::{PageArguments, ServeArguments};
use crate::run_shell::{EXIT_USAGE, options};

/// Runs a server until a signal ends it.
pub fn run(arguments: &ServeArguments) -> ExitCode {
    match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("verso: error: {error}");
            let server = error.downcast_ref::<ServerError>();
            if let Some(hint) = server.and_then(hint_of) {
                eprintln!("verso: hint: {hint}");
            }
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// What a database that refuses its configuration says of how it would be right.
fn hint_of(error: &ServerError) -> Option<&str> {
    match error {
        ServerError::Database(error) => error.hint.as_deref(),
        _ => None,
    }
}

/// Files that a server has open beside the sockets of its clients: of its databases, listeners, the log.
const FILES: u64 = 64;

/// What is to be said where the operating system lets the process have fewer files open than its sessions would need: clients
/// beyond wait for an answer that does not come.
fn too_few_files(connections: usize, files: Option<u64>) -> Option<String> {
    let files = files.filter(|files| *files < connections as u64 + FILES)?;
    Some(format!(
        "max_connections is {connections}, but the limit of open files (ulimit -n) is {files}: about {} sessions fit",
        files.saturating_sub(FILES)
    ))
}

fn serve(arguments: &ServeArguments) -> Result<(), Box<dyn std::error::Error>> {
    let env = crate::environment();
    let mut config = configuration(arguments, &env)?;
    let log_level = start_log(&config);
    let files = verso_env::process::raise_open_files();
    if let Some(warning) = too_few_files(config.max_connections, files) {
        tracing::warn!("{warning}");
    }
    // From here on signals wait in a queue: none is lost while the database recovers.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let pages = PageArguments {
        pool_bytes: arguments.pages.pool_bytes.or(config.buffer_pool_bytes),
        ..arguments.pages.clone()
    };
    let started = env.clock.monotonic_nanos();
    let options = options(&pages).env(env.clone());
    let pool_bytes = options.buffer_pool_bytes();
    let path = &arguments.database;
    let is_folder = env.vfs.list_dir(path).is_ok() || path.as_os_str().to_string_lossy().ends_with('/');
    let folder = |path: PathBuf| if is_folder { Some(path) } else { path.parent().map(Path::to_path_buf) };
    config.folder = std::path::absolute(path).ok().and_then(folder);
    let server = if is_folder {
        Server::start_folder(path, options, config)?
    } else {
        let options = options.defaults(config.session_defaults.clone());
        let database = Database::open_or_create(path, options).inspect_err(|error| {
            if let Some(hint) = &error.hint {
                eprintln!("verso: hint: {hint}");
            }
        })?;
        let millis = env.clock.monotonic_nanos().saturating_sub(started) / 1_000_000;
        tracing::info!(database = %path.display(), millis, pool_bytes, "database open");
        Server::start(database, config, env.clone())?
    };
    server.exported_by(std::sync::Arc::new(verso_backup::Archives));
    server.reloaded_by(Box::new(|| signal_hook::low_level::raise(SIGHUP).is_ok()));
    announce(&server)?;
    let mut mode = None;
    for signal in &mut signals {
        match signal {
            SIGHUP => reload(arguments, &env, &server, &log_level),
            SIGINT => mode = Some(ShutdownMode::Fast),
            _ => mode = Some(ShutdownMode::Smart),
        }
        if mode.is_some() {
            break;
        }
    }
    let mode = mode.unwrap_or(ShutdownMode::Fast);
    tracing::info!(?mode, sessions = server.sessions(), "shutting down");
    // A second signal is impatience: the operating system's way then.
    let handle = signals.handle();
    env.spawn("verso-signals", move || {
        if (&mut signals).into_iter().any(|signal| signal != SIGHUP) {
            std::process::exit(130);
        }
    });
    let ended = server.shutdown(mode);
    handle.close();
    ended?;
    tracing::info!("database closed");
    Ok(())
}

/// What the file says, and the command line over it.
fn configuration(arguments: &ServeArguments, env: &Env) -> Result<Config, ServerError> {
    let usage = |what: String| {
        ServerError::Config(verso_server::ConfigError::Line {
            file: "command line".to_owned(),
            line: 1,
            what,
        })
    };
    let mut config = Config::default();
    if let Some(path) = &arguments.config {
        config.read(env, path)?;
    }
    if !arguments.listen.is_empty() {
        config.set("listen", &arguments.listen.join(",")).map_err(usage)?;
    }
    if !arguments.metrics.is_empty() {
        config.set("metrics", &arguments.metrics.join(",")).map_err(usage)?;
    }
    if let Some(directory) = &arguments.socket {
        config.socket_directory = Some(directory.clone());
    }
    for setting in &arguments.setting {
        let (name, value) =
            setting.split_once('=').ok_or_else(|| usage(format!("\"{setting}\" is not NAME=VALUE")))?;
        config.set(&name.trim().to_ascii_lowercase(), value.trim()).map_err(usage)?;
    }
    Ok(config)
}

type LogLevel = reload::Handle<LevelFilter, tracing_subscriber::Registry>;

fn start_log(config: &Config) -> LogLevel {
    let (level, handle) = reload::Layer::new(level(config));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let registry = tracing_subscriber::registry().with(level);
    // A second server in one process would keep the first one's log.
    let _ = match config.log_json {
        true => registry.with(lines.json()).try_init(),
        false => registry.with(lines).try_init(),
    };
    handle
}

fn level(config: &Config) -> LevelFilter {
    config.log_level.parse().unwrap_or(LevelFilter::INFO)
}

/// The line that says that clients can connect now.
fn announce(server: &Server) -> Result<(), Box<dyn std::error::Error>> {
    let mut places: Vec<String> = server.addresses().iter().map(ToString::to_string).collect();
    places.extend(server.socket_path().map(|path| path.display().to_string()));
    for address in server.metrics_addresses() {
        tracing::info!("metrics: http://{address}/metrics");
    }
    if server.is_open_locally()? {
        tracing::warn!(
            "roles without a password may connect from this machine; set one with ALTER ROLE verso PASSWORD '…'"
        );
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "verso: ready: listening on {}", places.join(", "))?;
    out.flush()?;
    Ok(())
}

fn reload(arguments: &ServeArguments, env: &Env, server: &Server, log_level: &LogLevel) {
    let result = configuration(arguments, env).and_then(|config| {
        let level = level(&config);
        server.reload(config)?;
        // It fails only once the log is gone.
        let _ = log_level.modify(|current| *current = level);
        Ok(())
    });
    match result {
        Ok(()) => tracing::info!("configuration read again"),
        Err(error) => {
            let hint = hint_of(&error).unwrap_or_default();
            tracing::error!(%error, hint, "configuration not read: everything stays as it was");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::too_few_files;

    #[test]
    fn more_sessions_than_files_are_warned_of() {
        assert_eq!(too_few_files(100, Some(1024)), None);
        assert_eq!(too_few_files(100, None), None);
        let warning = too_few_files(1000, Some(256)).unwrap();
        assert!(warning.contains("ulimit -n") && warning.contains("about 192 sessions"), "{warning}");
    }
}
