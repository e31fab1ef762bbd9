//! Who is let in.

use std::net::SocketAddr;

use super::World;
use super::raw::{Raw, startup};
use verso_env::Env;
use verso_server::{Config, Server, ServerError};
use versodb::{Database, Options};

fn refused(world: &World, parameters: &[(&str, &str)]) -> String {
    let mut raw = Raw::open(world.address);
    raw.send(&startup(3 << 16, parameters));
    let last = raw.until('E').pop().expect("an answer");
    assert_eq!(last.field('S').as_deref(), Some("FATAL"));
    assert!(raw.next().is_none(), "the connection ends");
    last.field('C').unwrap()
}

#[test]
fn a_password_is_asked_for_once_there_is_one() {
    let world = World::new();
    world.client().batch_execute("CREATE USER ann PASSWORD 'secret'; CREATE ROLE nobody").unwrap();
    let mut ann = world.client_as("user=ann password=secret");
    assert_eq!(ann.query_one("SELECT current_user::text", &[]).unwrap().get::<_, String>(0), "ann");
    let port = world.address.port();
    let attempt = |user: &str, password: &str| {
        let text = format!("host=127.0.0.1 port={port} dbname=verso user={user} password={password}");
        postgres::Client::connect(&text, postgres::NoTls)
            .map(drop)
            .map_err(|error| error.code().unwrap().code().to_owned())
    };
    assert_eq!(attempt("ann", "wrong"), Err("28P01".into()));
    // Whether a role exists does not show once there are passwords.
    assert_eq!(attempt("stranger", "secret"), Err("28P01".into()));
    assert_eq!(attempt("nobody", "secret"), Err("28000".into()));
    ann.batch_execute("ALTER ROLE ann PASSWORD 'new'").unwrap();
    assert_eq!(attempt("ann", "new"), Ok(()));
    assert_eq!(attempt("ann", "secret"), Err("28P01".into()));
    let stored =
        world.client().query("SELECT rolpassword FROM pg_authid WHERE rolname = 'ann'", &[]).unwrap();
    assert!(stored[0].get::<_, String>(0).starts_with("SCRAM-SHA-256$4096:"));
}

#[test]
fn a_first_packet_that_cannot_be_served_is_refused() {
    let world = World::new();
    assert_eq!(refused(&world, &[("database", "verso")]), "28000");
    assert_eq!(refused(&world, &[("user", "verso"), ("database", "other")]), "3D000");
    assert_eq!(refused(&world, &[("user", "stranger"), ("database", "verso")]), "28000");
    let with = |setting| [("user", "verso"), ("database", "verso"), setting];
    assert_eq!(refused(&world, &with(("nosuchsetting", "1"))), "42704");
    assert_eq!(refused(&world, &with(("replication", "true"))), "0A000");
}

#[test]
fn newer_versions_are_negotiated_and_3_2_has_long_secrets() {
    let world = World::new();
    let user = [("user", "verso"), ("database", "verso")];
    let raw = Raw::login_with(world.address, 3 << 16 | 2, &user);
    assert_eq!(raw.key.len(), 32);
    let mut raw = Raw::open(world.address);
    let unknown = [("user", "verso"), ("database", "verso"), ("_pq_.future", "1")];
    raw.send(&startup(3 << 16 | 9, &unknown));
    let first = raw.next().unwrap();
    assert_eq!((first.kind, &first.body[..4]), ('v', &[0, 3, 0, 2][..]));
    assert!(first.text().ends_with("_pq_.future"));
    assert_eq!(raw.until('Z').last().unwrap().kind, 'Z');
    // An option that is not known, of a version that is.
    let mut raw = Raw::open(world.address);
    raw.send(&startup(3 << 16, &unknown));
    assert_eq!(raw.next().unwrap().body[..4], [0, 3, 0, 0]);
    assert_eq!(raw.until('Z').last().unwrap().kind, 'Z');
}

#[test]
fn encryption_is_refused_politely_where_there_is_no_certificate() {
    let world = World::new();
    let mut raw = Raw::open(world.address);
    for code in [5679u16, 5680] {
        let mut request = vec![0, 0, 0, 8, 0x04, 0xd2];
        request.extend_from_slice(&code.to_be_bytes());
        raw.send(&request);
        let mut answer = [0];
        std::io::Read::read_exact(&mut raw.socket, &mut answer).unwrap();
        assert_eq!(answer, *b"N");
    }
    raw.send(&startup(3 << 16, &[("user", "verso"), ("database", "verso")]));
    assert_eq!(raw.until('Z').last().unwrap().kind, 'Z');
}

#[test]
fn a_server_that_others_can_reach_needs_a_password() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("open.verso");
    let options = || Options::new().buffer_pool(16 << 20);
    let config = || Config { listen: vec![SocketAddr::from(([0, 0, 0, 0], 0))], ..Config::default() };
    let database = Database::create(&path, options()).unwrap();
    let result = Server::start(database.clone(), config(), Env::real());
    assert!(matches!(result, Err(ServerError::NoAuthentication { .. })));
    database.connect().unwrap().execute("ALTER ROLE verso PASSWORD 'x'").unwrap();
    let server = Server::start(database, config(), Env::real()).unwrap();
    server.shutdown(verso_server::ShutdownMode::Fast).unwrap();
}
