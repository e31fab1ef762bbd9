//! Access rules, certificates of clients, logins bound to their channel. The certificate `ann.crt` is signed by `ca.crt`;
//! `server.crt` by nobody that vouches for clients.

use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::World;
use super::raw::{Raw, Reply, startup};
use super::tls::{file, request};
use verso_env::Env;
use verso_server::{Config, Server, ServerError};
use versodb::{Database, Options};

/// A server with these rules; its certificate and the authority of its clients are set.
fn ruled(rules: &str) -> (World, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rules.conf");
    std::fs::write(&path, rules).unwrap();
    let before = |database: &Database| {
        let mut connection = database.connect().unwrap();
        let users =
            "CREATE USER ann PASSWORD 'secret'; CREATE USER bob; CREATE ROLE clerks; GRANT clerks TO bob";
        connection.execute(users).unwrap();
    };
    (World::prepared(before, |config| configure(config, &path)), directory)
}

fn configure(config: &mut Config, rules: &Path) {
    config.tls = Some((file("server.crt"), file("server.key")));
    config.tls_client_authority = Some(file("ca.crt"));
    config.access_rules = Some(rules.to_owned());
}

/// The code and the text of the refusal, or nothing if the client is in.
fn login<S: std::io::Read + Write>(mut raw: Raw<S>, user: &str) -> Option<(String, String)> {
    raw.send(&startup(3 << 16, &[("user", user), ("database", "verso")]));
    loop {
        let reply: Reply = raw.next().expect("an answer");
        match reply.kind {
            'E' => return Some((reply.field('C').unwrap(), reply.field('M').unwrap())),
            // A password is asked for.
            'R' if reply.body[3] == 10 => return Some(("R10".to_owned(), reply.text())),
            'Z' => return None,
            _ => {}
        }
    }
}

/// An encrypted connection, with a certificate if one is named.
fn encrypted(world: &World, certificate: Option<&str>) -> Raw<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file("server.crt")).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match certificate {
        None => builder.with_no_client_auth(),
        Some(name) => {
            let chain = vec![CertificateDer::from_pem_file(file(name)).unwrap()];
            let key = PrivateKeyDer::from_pem_file(file(&name.replace(".crt", ".key"))).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let name = ServerName::try_from("localhost").unwrap();
    Raw::over(StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), request(world)))
}

fn code(refused: Option<(String, String)>) -> String {
    refused.map_or_else(|| "in".to_owned(), |(code, _)| code)
}

#[test]
fn the_first_rule_that_fits_decides_who_gets_in() {
    let (world, _directory) = ruled(
        "hostssl all ann all trust\nhost all ann all reject\nhost verso +clerks 127.0.0.0/8 trust\nhost other verso all trust\n",
    );
    let plain = || Raw::open(world.address);
    assert_eq!(login(encrypted(&world, None), "ann"), None, "though she has a password");
    let (code, text) = login(plain(), "ann").unwrap();
    assert_eq!(code, "28000");
    assert_eq!(
        text,
        "pg_hba.conf rejects connection for host \"127.0.0.1\", user \"ann\", database \"verso\", no encryption"
    );
    assert_eq!(login(plain(), "bob"), None);
    let (code, text) = login(encrypted(&world, None), "verso").unwrap();
    assert_eq!(code, "28000");
    assert!(text.starts_with("no pg_hba.conf entry for host \"127.0.0.1\", user \"verso\""), "{text}");
    assert!(text.ends_with("SSL encryption"), "{text}");
    // Whoever is no member of anything, and nobody at all.
    assert_eq!(login(plain(), "stranger").unwrap().0, "28000");
}

#[test]
fn a_certificate_names_the_user() {
    let rules = "hostssl all all all cert\n";
    let (world, _directory) = ruled(rules);
    assert_eq!(login(encrypted(&world, Some("ann.crt")), "ann"), None);
    let (code, text) = login(encrypted(&world, Some("ann.crt")), "bob").unwrap();
    assert_eq!(
        (code.as_str(), text.as_str()),
        ("28000", "certificate authentication failed for user \"bob\"")
    );
    let (code, text) = login(encrypted(&world, None), "ann").unwrap();
    assert_eq!((code.as_str(), text.as_str()), ("28000", "connection requires a valid client certificate"));
    // One that no authority vouches for does not come that far.
    let mut stranger = encrypted(&world, Some("server.crt"));
    stranger.send(&startup(3 << 16, &[("user", "ann"), ("database", "verso")]));
    assert!(stranger.next().is_none());
}

#[test]
fn a_certificate_may_be_wanted_beside_a_password() {
    let rules = "hostssl all ann all scram-sha-256 clientcert=verify-full\n\
        hostssl all bob all trust clientcert=verify-ca\nhostssl all verso all scram-sha-256\n";
    let (world, _directory) = ruled(rules);
    assert_eq!(code(login(encrypted(&world, None), "ann")), "28000");
    assert_eq!(code(login(encrypted(&world, Some("ann.crt")), "ann")), "R10");
    assert_eq!(login(encrypted(&world, Some("ann.crt")), "bob"), None, "any certificate of the authority");
    assert_eq!(code(login(encrypted(&world, None), "bob")), "28000");
    // The rule asks for a password that the role has not: it is asked for one all the same.
    assert_eq!(code(login(encrypted(&world, None), "verso")), "R10");
}

#[test]
fn rules_that_are_wrong_keep_a_server_from_starting_and_leave_one_that_runs_as_it_is() {
    let (world, directory) = ruled("host all all all trust\n");
    let path = directory.path().join("rules.conf");
    let start = |rules: &str, change: fn(&mut Config)| {
        std::fs::write(&path, rules).unwrap();
        let place = tempfile::tempdir().unwrap();
        let options = Options::new().buffer_pool(16 << 20);
        let database = Database::create(place.path().join("a.verso"), options).unwrap();
        let mut config = Config { listen: vec!["127.0.0.1:0".parse().unwrap()], ..Config::default() };
        configure(&mut config, &path);
        change(&mut config);
        Server::start(database, config, Env::real()).map(drop).map_err(|error| error.to_string())
    };
    let wrong = start("# one\nhost all all nowhere trust\n", |_| {}).unwrap_err();
    assert!(wrong.ends_with("rules.conf:2: \"nowhere\" is no address: names of hosts are not supported, write 10.0.0.0/8, samehost or all"), "{wrong}");
    let wrong = start("hostssl all all all cert\n", |config| config.tls_client_authority = None).unwrap_err();
    assert!(wrong.ends_with("need tls_client_ca"), "{wrong}");
    assert!(start("host all all all trust\n", |config| config.access_rules = Some("/none".into())).is_err());

    let reload = |rules: &str| {
        std::fs::write(&path, rules).unwrap();
        let mut config = Config { listen: vec![world.address], ..Config::default() };
        configure(&mut config, &path);
        world.server().reload(config)
    };
    assert!(matches!(reload("host all all all magic\n"), Err(ServerError::Config(_))));
    assert_eq!(login(Raw::open(world.address), "bob"), None, "the rules are what they were");
    reload("host all all all reject\n").unwrap();
    assert_eq!(login(Raw::open(world.address), "bob").unwrap().0, "28000");
}

/// `psql`, if it is there; its output, or what it complains of.
fn psql(world: &World, more: &str) -> Option<Result<String, String>> {
    if !Command::new("psql").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no psql");
        return None;
    }
    let port = world.address.port();
    let root = file("server.crt");
    let dsn = format!(
        "host=localhost hostaddr=127.0.0.1 port={port} dbname=verso sslrootcert={} {more}",
        root.display()
    );
    let output = Command::new("psql").args(["-XAtc", "SELECT current_user", &dsn]).output().unwrap();
    Some(match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    })
}

#[test]
fn psql_binds_its_login_to_the_channel() {
    let (world, _directory) = ruled("host all all all scram-sha-256\n");
    let ann = "user=ann password=secret channel_binding=require";
    let Some(bound) = psql(&world, &format!("{ann} sslmode=require")) else { return };
    assert_eq!(bound, Ok("ann".to_owned()));
    assert_eq!(psql(&world, &format!("{ann} sslmode=verify-full")), Some(Ok("ann".to_owned())));
    assert!(
        psql(&world, &format!("{ann} sslmode=disable")).unwrap().is_err(),
        "there is nothing to bind it to"
    );
    let wrong = psql(&world, "user=ann password=wrong channel_binding=require sslmode=require").unwrap();
    assert!(wrong.unwrap_err().contains("password authentication failed"));
    let free = psql(&world, "user=ann password=secret channel_binding=disable sslmode=require");
    assert_eq!(free, Some(Ok("ann".to_owned())));
}

#[test]
fn psql_shows_its_certificate() {
    let (world, directory) = ruled("hostssl all all all cert\n");
    // libpq wants nobody else to be able to read the key.
    let key: PathBuf = directory.path().join("ann.key");
    std::fs::copy(file("ann.key"), &key).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let shown = format!("sslmode=verify-full sslcert={} sslkey={}", file("ann.crt").display(), key.display());
    let Some(ann) = psql(&world, &format!("user=ann {shown}")) else { return };
    assert_eq!(ann, Ok("ann".to_owned()));
    let bob = psql(&world, &format!("user=bob {shown}")).unwrap().unwrap_err();
    assert!(bob.contains("certificate authentication failed"), "{bob}");
}
