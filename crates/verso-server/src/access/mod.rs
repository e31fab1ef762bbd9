//! Access rules: who may connect from where to what, and how that is proved. The file has the form of PostgreSQL's
//! `pg_hba.conf`.
//!
//! ```text
//! file ─► parse ─► Rules ─► decide(connection) ─► the first rule that fits: trust, reject, password, certificate
//! ```
//!
//! R1. The first rule that fits decides; one whose proof fails is not followed by another. Where none fits nobody is let in.
//! R2. A file with one line that is not understood is refused whole: at the start the server does not start, on SIGHUP it keeps
//!     the rules that it has. A rule that is passed over could be the one that rejects.
//! R3. What Verso has not (host names, other methods, maps) is refused by name, with its line.

mod parse;

use std::net::IpAddr;
use std::path::Path;

use verso_env::Env;

use crate::config::ConfigError;
use crate::network::stream::Peer;

/// The rules of a file, in order.
#[derive(Debug, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

/// A rule.
#[derive(Debug, PartialEq, Eq)]
struct Rule {
    over: Over,
    databases: Vec<Database>,
    users: Vec<User>,
    /// None for the Unix socket.
    from: Option<From>,
    proof: Proof,
}

/// What kind of connection a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// `local`: the Unix socket.
    Unix,
    /// `host`: IP, encrypted or not.
    Ip,
    /// `hostssl`.
    Encrypted,
    /// `hostnossl`.
    Plain,
}

#[derive(Debug, PartialEq, Eq)]
enum Database {
    All,
    /// Of the user's name.
    SameUser,
    /// Of the name of a role that the user is a member of.
    SameRole,
    Named(String),
}

#[derive(Debug, PartialEq, Eq)]
enum User {
    All,
    Named(String),
    /// Every member of a role.
    MemberOf(String),
}

#[derive(Debug, PartialEq, Eq)]
enum From {
    Anywhere,
    /// The addresses of this machine.
    SameHost,
    /// Addresses that begin with so many bits of this one.
    Net(IpAddr, u8),
}

/// How a client proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The method.
    pub method: Method,
    /// What its certificate has to say.
    pub certificate: Certificate,
}

/// How a rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Whoever it says it is.
    Trust,
    /// Never.
    Reject,
    /// By its password, which is not sent.
    Scram,
    /// By its certificate alone.
    Certificate,
}

/// What a client's certificate has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// It needs none.
    None,
    /// One of the authority.
    Trusted,
    /// One of the authority, whose common name is the user's.
    OfUser,
}

/// A client that wants to connect.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// Where it is.
    pub peer: Peer,
    /// The address of this machine that it reached.
    pub own: Option<IpAddr>,
    /// Others cannot read along.
    pub encrypted: bool,
    /// What it wants.
    pub database: &'a str,
    /// Who it says it is.
    pub user: &'a str,
}

impl Rules {
    /// Reads a file (R2).
    ///
    /// # Errors
    /// A file that cannot be read, a line that is not understood.
    pub fn read(env: &Env, path: &Path) -> Result<Rules, ConfigError> {
        let bytes = crate::network::tls::read(env, path)?;
        let failed = |(line, what)| ConfigError::Line { file: path.display().to_string(), line, what };
        let text = std::str::from_utf8(&bytes).map_err(|_| failed((1, "is no UTF-8".to_owned())))?;
        parse::rules(text).map(Rules).map_err(failed)
    }

    /// How a client proves itself; none where no rule fits (R1). `is_member` says of the user whether it is a member of a role.
    ///
    /// # Errors
    /// Those of `is_member`.
    pub fn decide<E>(
        &self,
        attempt: &Attempt<'_>,
        mut is_member: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<Option<Proof>, E> {
        for rule in &self.0 {
            if rule.fits(attempt, &mut is_member)? {
                return Ok(Some(rule.proof));
            }
        }
        Ok(None)
    }

    /// Whether a rule asks for certificates of clients.
    pub fn want_certificates(&self) -> bool {
        self.0.iter().any(|rule| rule.proof.certificate != Certificate::None)
    }
}

impl Rule {
    fn fits<E>(
        &self,
        attempt: &Attempt<'_>,
        is_member: &mut impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<bool, E> {
        if !self.fits_address(attempt) {
            return Ok(false);
        }
        let mut named = false;
        for database in &self.databases {
            named |= match database {
                Database::All => true,
                Database::SameUser => attempt.database == attempt.user,
                Database::SameRole => is_member(attempt.database)?,
                Database::Named(name) => name == attempt.database,
            };
        }
        if !named {
            return Ok(false);
        }
        for user in &self.users {
            let fits = match user {
                User::All => true,
                User::Named(name) => name == attempt.user,
                User::MemberOf(role) => is_member(role)?,
            };
            if fits {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fits_address(&self, attempt: &Attempt<'_>) -> bool {
        let Peer::Tcp(address) = attempt.peer else { return self.over == Over::Unix };
        match self.over {
            Over::Unix => return false,
            Over::Encrypted if !attempt.encrypted => return false,
            Over::Plain if attempt.encrypted => return false,
            _ => {}
        }
        let ip = address.ip().to_canonical();
        match &self.from {
            None | Some(From::Anywhere) => true,
            Some(From::SameHost) => {
                ip.is_loopback() || attempt.own.is_some_and(|own| own.to_canonical() == ip)
            }
            Some(From::Net(net, bits)) => within(ip, *net, *bits),
        }
    }
}

/// Whether an address begins with so many bits of another.
fn within(ip: IpAddr, net: IpAddr, bits: u8) -> bool {
    let (ip, net, length) = match (ip, net) {
        (IpAddr::V4(ip), IpAddr::V4(net)) => (u128::from(ip.to_bits()), u128::from(net.to_bits()), 32),
        (IpAddr::V6(ip), IpAddr::V6(net)) => (ip.to_bits(), net.to_bits(), 128),
        _ => return false,
    };
    let behind = u32::from(length - bits.min(length));
    // All bits are behind where the prefix has none.
    (ip ^ net).checked_shr(behind).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    const FILE: &str = "\
# a comment
local   all             verso                                   trust
host    shop,sales      \"ann\"         127.0.0.1/32            scram-sha-256
hostssl all             +clerks         10.0.0.0/8              cert
hostssl sameuser        all             10.0.0.0  255.0.0.0     scram-sha-256 clientcert=verify-ca
host    all             mallory         0.0.0.0/0               reject
hostnossl samerole      all             ::1/128 \\
                                                                trust
host    all             all             samehost                md5
";

    fn decide(user: &str, database: &str, from: &str, encrypted: bool) -> Option<(Method, Certificate)> {
        let rules = Rules(parse::rules(FILE).unwrap());
        let peer = match from {
            "socket" => Peer::Unix,
            ip => Peer::Tcp((ip.parse::<IpAddr>().unwrap(), 1).into()),
        };
        let own = Some("10.1.1.1".parse().unwrap());
        let attempt = Attempt { peer, own, encrypted, database, user };
        let is_member = |role: &str| Ok::<_, Infallible>(user == "carl" && role == "clerks");
        let decided = rules.decide(&attempt, is_member).unwrap();
        decided.map(|proof| (proof.method, proof.certificate))
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        use {Certificate as C, Method as M};
        assert_eq!(decide("verso", "x", "socket", false), Some((M::Trust, C::None)));
        assert_eq!(decide("ann", "x", "socket", false), None);
        assert_eq!(decide("ann", "sales", "127.0.0.1", false), Some((M::Scram, C::None)));
        assert_eq!(decide("ann", "sales", "::ffff:127.0.0.1", false), Some((M::Scram, C::None)));
        assert_eq!(decide("ann", "sales", "127.0.0.2", false), Some((M::Scram, C::None)), "samehost");
        assert_eq!(decide("ann", "sales", "192.168.0.1", false), None);
        assert_eq!(decide("carl", "x", "10.9.9.9", true), Some((M::Certificate, C::OfUser)));
        assert_eq!(decide("carl", "x", "10.9.9.9", false), None);
        assert_eq!(decide("dora", "dora", "10.9.9.9", true), Some((M::Scram, C::Trusted)));
        assert_eq!(decide("dora", "x", "10.9.9.9", true), None);
        assert_eq!(decide("mallory", "x", "10.1.1.1", false), Some((M::Reject, C::None)));
        assert_eq!(decide("carl", "clerks", "::1", false), Some((M::Trust, C::None)));
        assert_eq!(decide("carl", "clerks", "::1", true), Some((M::Scram, C::None)), "samehost");
        assert_eq!(decide("dora", "x", "10.1.1.1", false), Some((M::Scram, C::None)), "its own address");
    }

    #[test]
    fn prefixes_end_within_bytes_and_at_the_ends() {
        let net = |a: &str, b: &str, bits| within(a.parse().unwrap(), b.parse().unwrap(), bits);
        assert!(net("10.0.3.255", "10.0.0.0", 22) && !net("10.0.4.0", "10.0.0.0", 22));
        assert!(net("1.2.3.4", "9.9.9.9", 0) && net("::1", "fe80::", 0));
        assert!(!net("::1", "0.0.0.0", 0), "of the other kind");
        assert!(net("2001:db8::1", "2001:db8::", 32) && !net("2001:db9::1", "2001:db8::", 32));
        assert!(net("1.2.3.4", "1.2.3.4", 32) && !net("1.2.3.5", "1.2.3.4", 32));
    }
}
