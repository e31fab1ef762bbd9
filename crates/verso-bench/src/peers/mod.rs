//! Engines that are measured in the same run.

pub(crate) mod duckdb;

use crate::BenchError;

/// The name and the connection string of a server beside Verso, of `NAME=DSN`.
pub(crate) fn named(peer: &str) -> Result<(&str, &str), BenchError> {
    peer.split_once('=').ok_or_else(|| BenchError::Usage(format!("\"{peer}\" is not of the form NAME=DSN")))
}

/// Refuses peers that cannot be reached, before anything is measured.
///
/// # Errors
/// `Usage`; the server's words.
pub(crate) fn check_reachable(peers: &[String]) -> Result<(), BenchError> {
    for peer in peers {
        let (name, dsn) = named(peer)?;
        let server = crate::tpcc::Server::new(name, dsn.to_owned(), None);
        crate::tpcc::Target::console(&server)?.row("SELECT 1")?;
    }
    Ok(())
}

/// An engine that may or may not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Found by itself.
    Duckdb,
    /// Found by its tools.
    Firebird,
    /// A server, by its connection string.
    Postgres(String),
}

impl std::str::FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Peer, String> {
        match text.split_once('=') {
            None if text == "duckdb" => Ok(Peer::Duckdb),
            None if text == "firebird" => Ok(Peer::Firebird),
            Some(("postgres", dsn)) => Ok(Peer::Postgres(dsn.to_owned())),
            None if text == "postgres" => Err("postgres needs a connection string: postgres=DSN".to_owned()),
            _ => Err(format!("no such peer: {text}; there are duckdb, firebird and postgres=DSN")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Peer;

    #[test]
    fn peers_parse() {
        assert_eq!("duckdb".parse(), Ok(Peer::Duckdb));
        assert_eq!("firebird".parse(), Ok(Peer::Firebird));
        let dsn = "host=localhost user=me";
        assert_eq!(format!("postgres={dsn}").parse(), Ok(Peer::Postgres(dsn.to_owned())));
        assert!("postgres".parse::<Peer>().is_err());
        assert!("oracle".parse::<Peer>().is_err());
    }
}
