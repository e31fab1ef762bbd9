//! How a connection begins: encryption, version, who the client is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use verso_env::Env;
use verso_session::errors::sqlstate;
use verso_session::scram::Verifier;
use verso_session::{CancelHandle, Identity, Instance, Role, Session, SqlError};

use super::wire::{Wire, malformed};
use crate::access::{Attempt, Certificate, Method, Proof};
use crate::auth::{Binding, Exchange, MECHANISM, MECHANISM_PLUS, mock_verifier};
use crate::databases::Lease;
use crate::network::certificate::common_name;
use crate::network::stream::{Peer, Socket, Stream};
use crate::protocol::frontend::{Message, SMALL_BYTES_MAX, Startup, VERSION_3_0, VERSION_3_2, sasl_initial};
use crate::server::{Shared, has_passwords};

/// Settings that every client is told at its start, and again whenever they change.
pub const REPORTED: &[&str] = &[
    "server_version",
    "server_encoding",
    "client_encoding",
    "application_name",
    "default_transaction_read_only",
    "in_hot_standby",
    "is_superuser",
    "session_authorization",
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "integer_datetimes",
    "standard_conforming_strings",
    "search_path",
    "scram_iterations",
];

/// How long a session that uses transaction blocks keeps its worker while its client says nothing.
const KEPT: Duration = Duration::from_millis(10);

/// How long a client may take to read the rest of its answer once its session is to end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a client said of itself.
struct Greeting {
    version: u32,
    user: String,
    database: String,
    settings: Vec<(String, String)>,
    unknown: Vec<String>,
}

/// A session that is ready for its first statement.
pub struct Started {
    /// The session.
    pub session: Session,
    /// The connection.
    pub wire: Wire,
    /// The settings told to the client, in the order of [`REPORTED`].
    pub reported: Vec<String>,
    /// Keeps the session's database open.
    pub lease: Lease,
}

/// Begins a connection. `None`: it has ended as it should, a cancel request for one.
///
/// # Errors
/// What the client is told before the connection ends.
pub fn start(
    shared: &Arc<Shared>,
    wire: &mut Option<Wire>,
    socket: &Arc<Socket>,
    peer: Peer,
) -> Result<Option<Started>, SqlError> {
    // The whole login has that time: no read may take longer, and there are few of them.
    set_timeout(socket, Some(shared.config().authentication_timeout));
    let Some(greeting) = greet(shared, wire, peer)? else { return Ok(None) };
    let Some(mut wire) = wire.take() else { return Ok(None) };
    let (user, database) = (greeting.user.clone(), greeting.database.clone());
    let started = log_in(shared, &mut wire, socket, peer, greeting);
    match started {
        Ok((session, reported, lease)) => {
            set_timeout(socket, Some(KEPT));
            wire.input.set_large(shared.config().max_message_bytes);
            wire.charge_to(lease.instance().memory());
            Ok(Some(Started { session, wire, reported, lease }))
        }
        Err(error) => {
            let sqlstate = error.sqlstate;
            tracing::info!(client = %peer, user, database, sqlstate, %error, "login refused");
            // Whoever reports it needs the connection for that.
            shared.report(&mut wire, &error);
            Ok(None)
        }
    }
}

fn set_timeout(socket: &Socket, timeout: Option<Duration>) {
    // Without it a client could stay for ever before it logs in: it still counts as one.
    let _ = socket.set_read_timeout(timeout);
}

/// Reads first packets until one asks for a session.
fn greet(shared: &Shared, connection: &mut Option<Wire>, peer: Peer) -> Result<Option<Greeting>, SqlError> {
    let mut direct = false;
    loop {
        let Some(wire) = connection.as_mut() else { return Ok(None) };
        let range = loop {
            if wire.input.begins_handshake() && !wire.stream.is_encrypted() {
                break None;
            }
            if let Some(range) = wire.input.next_startup().map_err(|error| {
                // Junk, a browser perhaps: no answer that it could understand.
                tracing::debug!(%error, "not a startup packet");
                wire.broken = true;
                malformed(error)
            })? {
                break Some(range);
            }
            match wire.input.fill(&mut wire.stream) {
                Ok(0) | Err(_) => return Ok(None),
                Ok(_) => {}
            }
        };
        let Some(range) = range else {
            if !encrypt_at_once(shared, connection, peer) {
                return Ok(None);
            }
            direct = true;
            continue;
        };
        if direct && !wire.stream.has_named_protocol() {
            tracing::debug!(client = %peer, "encrypted from the first byte on without naming the protocol");
            return Ok(None);
        }
        let packet = wire.input.bytes(range);
        match Startup::parse(packet).map_err(malformed)? {
            Startup::Tls | Startup::Gss if wire.input.pending() > 0 => {
                // Bytes sent before encryption could have come from anyone.
                let text = "received unencrypted data after SSL request";
                return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, text));
            }
            Startup::Tls => match shared.tls() {
                Some(config) if !wire.stream.is_encrypted() => {
                    wire.output.raw(b'S');
                    wire.send()?;
                    let Some(Wire { stream, .. }) = connection.take() else { return Ok(None) };
                    let stream: Stream = stream.encrypt(config).map_err(|error| {
                        SqlError::new(sqlstate::CONNECTION_FAILURE, format!("TLS: {error}"))
                    })?;
                    *connection = Some(Wire::new(stream, SMALL_BYTES_MAX));
                }
                _ => {
                    wire.output.raw(b'N');
                    wire.send()?;
                }
            },
            Startup::Gss => {
                wire.output.raw(b'N');
                wire.send()?;
            }
            Startup::Cancel { backend, key } => {
                let hit = shared.backends.cancel(backend, key);
                tracing::debug!(backend, hit, "cancel request");
                return Ok(None);
            }
            Startup::Session { version, parameters } => return greeting(version, &parameters).map(Some),
        }
    }
}

/// Goes on encrypted with a client that has begun with the handshake of TLS (`sslnegotiation=direct`); whether that is possible.
fn encrypt_at_once(shared: &Shared, connection: &mut Option<Wire>, peer: Peer) -> bool {
    let tls = shared.tls().filter(|_| matches!(peer, Peer::Tcp(_)));
    let (Some(tls), Some(Wire { stream, input, .. })) = (tls, connection.take()) else { return false };
    match stream.encrypt_begun(tls, input.rest()) {
        Ok(stream) => {
            *connection = Some(Wire::new(stream, SMALL_BYTES_MAX));
            true
        }
        Err(error) => {
            tracing::debug!(client = %peer, %error, "no handshake of TLS");
            false
        }
    }
}

fn greeting(version: u32, parameters: &[(&str, &str)]) -> Result<Greeting, SqlError> {
    if version >> 16 != 3 {
        let text = format!(
            "unsupported frontend protocol {}.{}: server supports 3.0 to 3.2",
            version >> 16,
            version & 0xffff
        );
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    let mut greeting = Greeting {
        version,
        user: String::new(),
        database: String::new(),
        settings: Vec::new(),
        unknown: Vec::new(),
    };
    for &(name, value) in parameters {
        match name {
            "user" => greeting.user = value.to_owned(),
            "database" => greeting.database = value.to_owned(),
            "options" => greeting.settings.extend(options(value)?),
            "replication" if matches!(value, "false" | "off" | "no" | "0") => {}
            "replication" => return Err(SqlError::unsupported("replication")),
            name if name.starts_with("_pq_.") => greeting.unknown.push(name.to_owned()),
            name => greeting.settings.push((name.to_ascii_lowercase(), value.to_owned())),
        }
    }
    if greeting.user.is_empty() {
        let text = "no PostgreSQL user name specified in startup packet";
        return Err(SqlError::new(sqlstate::INVALID_AUTHORIZATION, text));
    }
    if greeting.database.is_empty() {
        greeting.database.clone_from(&greeting.user);
    }
    Ok(greeting)
}

/// `-c name=value --name=value`; a backslash takes the next character as it is.
fn options(text: &str) -> Result<Vec<(String, String)>, SqlError> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.extend(chars.next()),
            c if c.is_ascii_whitespace() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty()))
            }
            c => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    let mut settings = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let invalid =
            || SqlError::syntax(format!("invalid command-line argument for server process: {word}"));
        let assignment = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(rest), _) => rest.replacen('-', "_", usize::from(!rest.contains('='))),
            (None, Some("")) => words.next().ok_or_else(invalid)?,
            (None, Some(rest)) => rest.to_owned(),
            (None, None) => return Err(invalid()),
        };
        let (name, value) = assignment.split_once('=').ok_or_else(invalid)?;
        settings.push((name.to_ascii_lowercase().replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

fn log_in(
    shared: &Arc<Shared>,
    wire: &mut Wire,
    socket: &Arc<Socket>,
    peer: Peer,
    greeting: Greeting,
) -> Result<(Session, Vec<String>, Lease), SqlError> {
    let Greeting { version, user, database, settings, unknown } = greeting;
    if version > VERSION_3_2 || !unknown.is_empty() {
        let unknown: Vec<&str> = unknown.iter().map(String::as_str).collect();
        wire.output.negotiate_version(version.min(VERSION_3_2), &unknown);
    }
    if shared.config().require_tls && !peer.is_local() && !wire.stream.is_encrypted() {
        let text = format!("connection from {peer} must be encrypted");
        return Err(SqlError::new(sqlstate::INVALID_AUTHORIZATION, text));
    }
    let lease = match shared.databases.lease(&database) {
        Err(error) if error.sqlstate == sqlstate::INVALID_CATALOG_NAME => {
            // Only clients that are known learn which databases there are.
            let any = shared.databases.lease_any()?;
            authenticate(shared, any.instance(), wire, (&user, &database), peer)?;
            return Err(error);
        }
        lease => lease?,
    };
    let instance = lease.instance();
    let role = authenticate(shared, instance, wire, (&user, &database), peer)?;
    let mut session = Session::new(Arc::clone(instance));
    session.identify(Identity {
        user: role.name.clone(),
        role: role.oid,
        superuser: role.superuser,
        client: Some(peer.to_string()),
        encryption: wire.stream.encryption(),
    });
    let id = i32::try_from(session.id()).unwrap_or(i32::MAX);
    let cancel = session.cancel_handle();
    // Long secrets came with version 3.2.
    let key_bytes = if version >= VERSION_3_2 { 32 } else { 4 };
    let registered = shared.backends.register(id, socket, cancel, key_bytes, &*shared.env.random)?;
    let backend = Arc::clone(registered.backend());
    wire.backend = Some(registered);
    wire.stream.give_up_when(given_up(session.cancel_handle(), &shared.env));
    session.on_terminate({
        let backend = Arc::clone(&backend);
        Arc::new(move || backend.finish())
    });
    session.check_connect()?;
    // What the database and the role begin with; what the client asks for counts more.
    session.apply_kept_settings(role.oid)?;
    for (name, value) in &settings {
        session.set_asked(name, value)?;
    }
    wire.patience = shared.patience(session.id());
    wire.output.authentication_ok();
    let reported: Vec<String> = REPORTED.iter().map(|name| session.show(name).unwrap_or_default()).collect();
    for (name, value) in REPORTED.iter().zip(&reported) {
        wire.output.parameter_status(name, value);
    }
    wire.output.backend_key(backend.id, backend.key());
    tracing::info!(session = id, user = %role.name, database, client = %peer, tls = wire.stream.is_encrypted(), "connected");
    Ok((session, reported, lease))
}

/// Whether a client that takes nothing of its answer is waited for no longer: a while after its session was told to end,
/// whoever said so. A client that does read hears why within that time.
fn given_up(session: CancelHandle, env: &Env) -> Arc<dyn Fn() -> bool + Send + Sync> {
    let (clock, since) = (Arc::clone(&env.clock), AtomicU64::new(0));
    Arc::new(move || {
        if !session.is_ending() {
            return false;
        }
        let now = clock.monotonic_nanos().max(1);
        match since.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => false,
            Err(since) => now.saturating_sub(since) >= LAST_WORDS.as_nanos() as u64,
        }
    })
}

/// Finds out whether the client is the role it names.
fn authenticate(
    shared: &Shared,
    instance: &Instance,
    wire: &mut Wire,
    (user, database): (&str, &str),
    peer: Peer,
) -> Result<Role, SqlError> {
    let role = instance.role(user)?;
    let verifier = role.as_ref().and_then(|role| role.password.as_deref()).and_then(Verifier::parse);
    let Some(rules) = shared.rules() else {
        if let (Some(role), None, true) = (&role, &verifier, peer.is_local()) {
            // No password was set: whoever is on this machine may come in.
            return may_log_in(role);
        }
        if role.is_none() && peer.is_local() && !has_passwords(instance)? {
            return Err(no_role(user));
        }
        return prove_password(shared, wire, user, role, verifier);
    };
    let encrypted = wire.stream.is_encrypted();
    let attempt = Attempt { peer, own: wire.stream.own_address(), encrypted, database, user };
    let proof = rules.decide(&attempt, |other| instance.is_member(user, other))?;
    let refused = |how: &str| {
        let host = match peer {
            Peer::Tcp(address) => format!("host \"{}\"", address.ip()),
            Peer::Unix => "host \"[local]\"".to_owned(),
        };
        let encryption = if encrypted { "SSL encryption" } else { "no encryption" };
        let text = format!("{how} {host}, user \"{user}\", database \"{database}\", {encryption}");
        SqlError::new(sqlstate::INVALID_AUTHORIZATION, text)
    };
    let Some(Proof { method, certificate }) = proof else { return Err(refused("no pg_hba.conf entry for")) };
    if method == Method::Reject {
        return Err(refused("pg_hba.conf rejects connection for"));
    }
    check_certificate(wire, certificate, user)?;
    match method {
        Method::Scram => prove_password(shared, wire, user, role, verifier),
        _ => may_log_in(&role.ok_or_else(|| no_role(user))?),
    }
}

fn no_role(user: &str) -> SqlError {
    SqlError::new(sqlstate::INVALID_AUTHORIZATION, format!("role \"{user}\" does not exist"))
}

/// A client that needs no password is a role that may log in.
fn may_log_in(role: &Role) -> Result<Role, SqlError> {
    if !role.login {
        let text = format!("role \"{}\" is not permitted to log in", role.name);
        return Err(SqlError::new(sqlstate::INVALID_AUTHORIZATION, text));
    }
    Ok(role.clone())
}

/// The client has shown the certificate that its rule asks for. Whether an authority vouches for it the handshake has found.
fn check_certificate(wire: &Wire, wanted: Certificate, user: &str) -> Result<(), SqlError> {
    let shown = wire.stream.client_certificate();
    let name = match (wanted, shown) {
        (Certificate::None, _) | (Certificate::Trusted, Some(_)) => return Ok(()),
        (_, None) => {
            let text = "connection requires a valid client certificate";
            return Err(SqlError::new(sqlstate::INVALID_AUTHORIZATION, text));
        }
        (Certificate::OfUser, Some(shown)) => common_name(shown),
    };
    if name.as_deref() == Some(user) {
        return Ok(());
    }
    tracing::info!(user, certificate = name, "the certificate is another user's");
    let text = format!("certificate authentication failed for user \"{user}\"");
    Err(SqlError::new(sqlstate::INVALID_AUTHORIZATION, text))
}

/// The client proves that it knows the password, bound to the encrypted channel where it can.
fn prove_password(
    shared: &Shared,
    wire: &mut Wire,
    user: &str,
    role: Option<Role>,
    verifier: Option<Verifier>,
) -> Result<Role, SqlError> {
    let usable = |role: &Role| role.login && role.valid_until.is_none_or(|until| until > shared.now());
    let genuine = verifier.is_some() && role.as_ref().is_some_and(usable);
    let verifier = verifier.unwrap_or_else(|| mock_verifier(&shared.secret, user));
    let refused = || {
        let text = format!("password authentication failed for user \"{user}\"");
        SqlError::new(sqlstate::INVALID_PASSWORD, text)
    };
    let offered: &[&str] = match wire.stream.end_point() {
        Some(_) => &[MECHANISM_PLUS, MECHANISM],
        None => &[MECHANISM],
    };
    wire.output.authentication_sasl(offered);
    let first = password(wire)?;
    let (mechanism, initial) = sasl_initial(&first).map_err(malformed)?;
    let channel = match (mechanism, wire.stream.end_point()) {
        (MECHANISM_PLUS, Some(end_point)) => Binding::To(end_point),
        (MECHANISM, Some(_)) => Binding::NotChosen,
        (MECHANISM, None) => Binding::Impossible,
        _ => {
            let text = "client selected an invalid SASL authentication mechanism";
            return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, text));
        }
    };
    let (exchange, answer) =
        Exchange::begin(initial, channel, verifier, genuine, &*shared.env.random).map_err(malformed)?;
    wire.output.authentication_step(11, answer.as_bytes());
    let last = password(wire)?;
    let signature = exchange.finish(&last).map_err(malformed)?.ok_or_else(refused)?;
    wire.output.authentication_step(12, signature.as_bytes());
    role.ok_or_else(refused)
}

/// The next message, which has to be one of authentication.
fn password(wire: &mut Wire) -> Result<Vec<u8>, SqlError> {
    wire.send()?;
    let frame = wire.wait_frame()?;
    match Message::parse(frame.kind, wire.input.body(&frame)).map_err(malformed)? {
        Message::Password(data) => Ok(data.to_vec()),
        _ => {
            wire.broken = true;
            let text = format!("expected SASL response, got message type {}", frame.kind);
            Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, text))
        }
    }
}

const _: () = assert!(VERSION_3_0 < VERSION_3_2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_split_as_a_shell_would() {
        let text = r"-c a=1 -cb=x\ y --work-mem=4MB";
        let expected = [("a", "1"), ("b", "x y"), ("work_mem", "4MB")];
        let expected: Vec<_> = expected.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        assert_eq!(options(text).unwrap(), expected);
        assert!(options("-x").is_err());
        assert!(options("-c").is_err());
    }

    #[test]
    fn a_client_must_say_who_it_is() {
        let error = greeting(VERSION_3_0, &[("database", "x")]).err().unwrap();
        assert_eq!(error.sqlstate, "28000");
        let hello = greeting(VERSION_3_0, &[("user", "me"), ("_pq_.new", "1")]).unwrap();
        assert_eq!((hello.database.as_str(), hello.unknown.len()), ("me", 1));
        assert_eq!(greeting(2 << 16, &[]).err().unwrap().sqlstate, "0A000");
    }
}
