//! TLS, with a certificate of these tests: self-signed, for `localhost` and 127.0.0.1, made by
//! `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=localhost -addext
//! subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::World;
use super::raw::{Raw, query, startup};

const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
const VERSO: [(&str, &str); 2] = [("user", "verso"), ("database", "verso")];

pub(crate) fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/tls").join(name)
}

fn world() -> World {
    World::with(|config| config.tls = Some((file("server.crt"), file("server.key"))))
}

/// Asks for encryption.
pub(crate) fn request(world: &World) -> TcpStream {
    let mut socket = Raw::open(world.address).socket;
    socket.write_all(&SSL_REQUEST).unwrap();
    let mut answer = [0];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(answer, *b"S");
    socket
}

/// A client that trusts the certificate if it is for `name`.
fn encrypted(world: &World, name: &'static str) -> StreamOwned<ClientConnection, TcpStream> {
    over(request(world), name, &[])
}

/// A client of this connection that trusts the certificate if it is for `name`, and names these protocols.
fn over(
    socket: TcpStream,
    name: &'static str,
    protocols: &[&str],
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file("server.crt")).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(name).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), socket)
}

#[test]
fn a_session_goes_through_tls() {
    let world = world();
    let mut raw = Raw::over(encrypted(&world, "localhost"));
    raw.start(3 << 16, &VERSO);
    assert_eq!(raw.value("SELECT 6 * 7"), "42");
    raw.query("CREATE TABLE t (a text)");
    // More than one record of TLS, both ways.
    let long = "x".repeat(1 << 20);
    assert_eq!(raw.kinds(&query(&format!("INSERT INTO t VALUES ('{long}')"))), "CZI");
    assert_eq!(raw.value("SELECT a FROM t"), long);
    let big = raw.query("SELECT n, 'some text' FROM generate_series(1, 50000) AS s(n)");
    assert_eq!(big.iter().filter(|reply| reply.kind == 'D').count(), 50_000);
    // The plain way is still there for clients of this machine.
    let mut plain = world.connect();
    assert_eq!(plain.value("SELECT 1"), "1");
    let shown = "SELECT concat_ws(' ', ssl, version, cipher, bits) FROM pg_stat_ssl WHERE pid = ";
    let how = plain.value(&format!("{shown}{}", raw.backend));
    assert!(how.starts_with("t TLSv1.3 TLS_AES_") && how.ends_with(" 256"), "{how}");
    assert_eq!(plain.value(&format!("{shown}pg_backend_pid()")), "f");
}

#[test]
fn a_password_is_proved_through_tls_and_a_session_can_be_ended() {
    let world = world();
    world.client().batch_execute("CREATE USER ann PASSWORD 'secret'").unwrap();
    let mut raw = Raw::over(encrypted(&world, "127.0.0.1"));
    raw.send(&startup(3 << 16, &[("user", "ann"), ("database", "verso")]));
    let asked = raw.next().unwrap();
    assert_eq!((asked.kind, &asked.body[..4]), ('R', &[0, 0, 0, 10][..]));
    drop(raw);
    let mut raw = Raw::over(encrypted(&world, "localhost"));
    raw.start(3 << 16, &VERSO);
    let mut admin = world.connect();
    assert_eq!(admin.value(&format!("SELECT pg_terminate_backend({})", raw.backend)), "t");
    assert_eq!(raw.until('E').pop().unwrap().field('C').as_deref(), Some("57P01"));
}

#[test]
fn a_client_that_does_not_trust_the_server_gets_no_session() {
    let world = world();
    let mut stranger = encrypted(&world, "elsewhere.example");
    assert!(stranger.write_all(&startup(3 << 16, &VERSO)).and_then(|()| stranger.flush()).is_err());
    drop(stranger);
    assert_eq!(world.connect().value("SELECT 1"), "1");
}

#[test]
fn a_client_that_encrypts_from_the_first_byte_on_has_to_name_the_protocol() {
    let world = world();
    let direct = |protocols: &[&str]| over(Raw::open(world.address).socket, "localhost", protocols);
    let mut raw = Raw::over(direct(&["postgresql"]));
    raw.start(3 << 16, &VERSO);
    assert_eq!(raw.value("SELECT 6 * 7"), "42");
    for protocols in [&[][..], &["http/1.1"]] {
        let mut stranger = direct(protocols);
        let _ = stranger.write_all(&startup(3 << 16, &VERSO)).and_then(|()| stranger.flush());
        let mut bytes = Vec::new();
        let _ = stranger.read_to_end(&mut bytes);
        assert!(bytes.is_empty(), "{protocols:?}: {bytes:?}");
    }
    // Behind a request for encryption the protocol may be named, too, or not at all.
    let mut raw = Raw::over(over(request(&world), "localhost", &["postgresql"]));
    raw.start(3 << 16, &VERSO);
    assert_eq!(raw.value("SELECT 1"), "1");
    // A server without a certificate ends such a connection.
    let plain = World::new();
    let mut stranger = over(Raw::open(plain.address).socket, "localhost", &["postgresql"]);
    assert!(stranger.write_all(&startup(3 << 16, &VERSO)).and_then(|()| stranger.flush()).is_err());
    assert_eq!(plain.connect().value("SELECT 1"), "1");
}

#[test]
fn bytes_that_came_before_the_encryption_are_not_believed() {
    let world = world();
    let mut raw = Raw::open(world.address);
    // Somebody in between could have put them there.
    raw.send(&[&SSL_REQUEST[..], &startup(3 << 16, &VERSO)].concat());
    let mut bytes = Vec::new();
    let _ = raw.socket.read_to_end(&mut bytes);
    assert!(!bytes.contains(&b'Z') && !bytes.starts_with(b"S"), "{bytes:?}");
}

#[test]
fn junk_instead_of_a_handshake_ends_the_connection_only() {
    let world = world();
    for junk in [&b"GET / HTTP/1.0\r\n\r\n"[..], &[0x16, 3, 1, 0xff, 0xff, 1, 0, 0, 0], &[0; 64]] {
        let mut socket = request(&world);
        socket.write_all(junk).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut bytes = Vec::new();
        let _ = socket.read_to_end(&mut bytes);
    }
    let mut raw = Raw::over(encrypted(&world, "localhost"));
    raw.start(3 << 16, &VERSO);
    assert_eq!(raw.value("SELECT 1"), "1");
}

#[test]
fn psql_connects_with_sslmode_require_and_verify_full() {
    if !Command::new("psql").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no psql");
        return;
    }
    let world = world();
    for mode in ["require", "verify-full"] {
        let dsn = format!(
            "host=localhost hostaddr=127.0.0.1 port={} user=verso dbname=verso sslmode={mode} sslrootcert={}",
            world.address.port(),
            file("server.crt").display()
        );
        let output = Command::new("psql").args(["-XAtc", "SELECT 6 * 7", &dsn]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n", "{mode}: {error}");
    }
    let plain = World::new();
    let dsn = format!("host=127.0.0.1 port={} user=verso dbname=verso sslmode=require", plain.address.port());
    let output = Command::new("psql").args(["-XAtc", "SELECT 1", &dsn]).output().unwrap();
    assert!(!output.status.success(), "there is no TLS to be had");
}
