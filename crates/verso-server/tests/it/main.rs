//! The server through its sockets: the protocol byte by byte, and a driver.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails as the test would")]

mod access;
mod catalogs;
mod copy;
mod databases;
mod driver;
mod encodings;
mod extended;
mod geometry;
mod isolation;
mod junk;
#[path = "../../../versodb/tests/it/lists.rs"]
mod lists;
mod login;
mod metrics;
mod notify;
mod raw;
mod sessions;
mod simple;
#[path = "../../../versodb/tests/it/specs.rs"]
mod specs;
mod tls;
mod workers;

use std::net::SocketAddr;
use std::time::Duration;

use verso_env::Env;
use verso_server::{Config, Server, ShutdownMode};
use versodb::{Database, Options};

/// A server of a fresh database; ended when dropped.
pub(crate) struct World {
    pub directory: tempfile::TempDir,
    server: Option<Server>,
    pub address: SocketAddr,
}

impl World {
    /// With the usual configuration, on a port of its own.
    pub fn new() -> World {
        World::with(|_| {})
    }

    /// With a configuration that `change` has changed.
    pub fn with(change: impl FnOnce(&mut Config)) -> World {
        World::prepared(|_| {}, change)
    }

    /// With statements run before the server starts.
    pub fn prepared(before: impl FnOnce(&Database), change: impl FnOnce(&mut Config)) -> World {
        World::within(Env::real(), before, change)
    }

    /// In another world than the real one.
    pub fn within(env: Env, before: impl FnOnce(&Database), change: impl FnOnce(&mut Config)) -> World {
        let directory = tempfile::tempdir().unwrap();
        let options = Options::new().buffer_pool(16 << 20).env(env.clone());
        let database = Database::create(directory.path().join("wire.verso"), options).unwrap();
        before(&database);
        let mut config = Config {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            shutdown_timeout: Duration::from_secs(5),
            ..Config::default()
        };
        change(&mut config);
        let server = Server::start(database, config, env).unwrap();
        let address = server.addresses().first().copied().unwrap_or_else(|| "127.0.0.1:0".parse().unwrap());
        World { directory, server: Some(server), address }
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub fn shutdown(mut self, mode: ShutdownMode) {
        self.server.take().unwrap().shutdown(mode).unwrap();
    }

    /// A raw connection that has logged in.
    pub fn connect(&self) -> raw::Raw {
        raw::Raw::login(self.address)
    }

    /// A driver's connection.
    pub fn client(&self) -> postgres::Client {
        self.client_as("user=verso")
    }

    pub fn client_as(&self, settings: &str) -> postgres::Client {
        let port = self.address.port();
        let text = format!("host=127.0.0.1 port={port} dbname=verso {settings}");
        postgres::Client::connect(&text, postgres::NoTls).unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown(ShutdownMode::Fast).unwrap();
        }
    }
}
