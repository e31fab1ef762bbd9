//! Certificate and key for TLS, and whose certificates clients may show.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use verso_env::{Env, OpenMode};

use super::client_verifier::Logged;

/// The protocol that a client which encrypts from its first byte on has to name (RFC 7301), so that no other service's client
/// can be led here.
pub const ALPN: &[u8] = b"postgresql";

/// Files of a server that encrypts; all PEM.
#[derive(Clone, Copy, Debug)]
pub struct TlsFiles<'f> {
    /// Its chain of certificates.
    pub certificate: &'f Path,
    /// The key of the first of them.
    pub key: &'f Path,
    /// The authorities whose certificates clients may show.
    pub client_authority: Option<&'f Path>,
}

/// What encrypted connections need.
#[derive(Debug)]
pub struct Tls {
    /// Rustls's part.
    pub config: Arc<ServerConfig>,
    /// What logins are bound to ([`super::certificate::end_point`]).
    pub end_point: Option<Vec<u8>>,
}

impl TlsFiles<'_> {
    /// Reads the files.
    ///
    /// # Errors
    /// Files that cannot be read, or that hold something else.
    pub fn read(&self, env: &Env) -> io::Result<Arc<Tls>> {
        let chain = certificates(env, self.certificate)?;
        let end_point = chain.first().and_then(|own| super::certificate::end_point(own));
        let secret = PrivateKeyDer::from_pem_slice(&read(env, self.key)?)
            .map_err(|error| invalid(self.key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?;
        let builder = match self.client_authority {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(env, path)? {
                    roots.add(authority).map_err(|error| invalid(path, &error))?;
                }
                // A client that shows none may still have a password: access rules say who needs one.
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .allow_unauthenticated()
                    .build()
                    .map_err(|error| invalid(path, &error))?;
                builder.with_client_cert_verifier(Arc::new(Logged(verifier)))
            }
        };
        let mut config =
            builder.with_single_cert(chain, secret).map_err(|error| invalid(self.certificate, &error))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Arc::new(Tls { config: Arc::new(config), end_point }))
    }
}

fn invalid(path: &Path, what: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()))
}

fn certificates(env: &Env, path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let bytes = read(env, path)?;
    let all = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    let all = all.map_err(|error| invalid(path, &error))?;
    if all.is_empty() {
        return Err(invalid(path, &"holds no certificate"));
    }
    Ok(all)
}

/// A file's bytes.
pub(crate) fn read(env: &Env, path: &Path) -> io::Result<Vec<u8>> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mode = OpenMode { create: false, create_new: false, truncate: false, read_only: true };
    let file = env.vfs.open(path, mode).map_err(named)?;
    let length = usize::try_from(file.len().map_err(named)?).unwrap_or(usize::MAX).min(16 << 20);
    let mut bytes = vec![0; length];
    let count = file.read_at(&mut bytes, 0).map_err(named)?;
    bytes.truncate(count);
    Ok(bytes)
}
