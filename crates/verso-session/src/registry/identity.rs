//! Who a session belongs to.

use std::sync::Arc;

use verso_catalog::Oid;

/// Ends a session from another thread.
pub type Terminate = Arc<dyn Fn() + Send + Sync>;

/// Who a session belongs to. Programs that embed the database are the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The role.
    pub user: Arc<str>,
    /// Its number.
    pub role: Oid,
    /// It may do everything.
    pub superuser: bool,
    /// Where its client is; none within the program.
    pub client: Option<String>,
    /// How its connection is encrypted, if it is.
    pub encryption: Option<Encryption>,
}

/// How a connection is encrypted, in OpenSSL's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// The protocol.
    pub version: String,
    /// The cipher suite.
    pub cipher: String,
    /// Bits of its key.
    pub bits: i32,
    /// The common name of the client's certificate, if it has shown one.
    pub certificate: Option<String>,
}

impl Default for Identity {
    fn default() -> Identity {
        let (user, role) = (verso_catalog::OWNER.into(), verso_catalog::OWNER_ROLE);
        Identity { user, role, superuser: true, client: None, encryption: None }
    }
}

/// A session's number as PostgreSQL's process number.
pub(crate) fn backend_id(id: u64) -> i32 {
    i32::try_from(id).unwrap_or(i32::MAX)
}
