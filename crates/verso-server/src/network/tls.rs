//! Certificate and key for TLS.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use verso_env::{Env, OpenMode};

/// Reads a chain of certificates and its key, both PEM, and makes of them what connections need.
///
/// # Errors
/// Files that cannot be read, or that hold something else.
pub fn server_config(env: &Env, certificate: &Path, key: &Path) -> io::Result<Arc<ServerConfig>> {
    let invalid = |path: &Path, what: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()))
    };
    let chain = CertificateDer::pem_slice_iter(&read(env, certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| invalid(certificate, &error))?;
    let secret = PrivateKeyDer::from_pem_slice(&read(env, key)?).map_err(|error| invalid(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| invalid(certificate, &error))?;
    Ok(Arc::new(config))
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
