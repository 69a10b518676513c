//! TLS by rustls, from PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config::Tls;

/// A certificate or key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The two do not fit together.
    #[error("certificate and key cannot be used: {0}")]
    Pair(#[from] rustls::Error),
}

/// What accepts TLS; `None` where none is configured.
pub(crate) fn acceptor(tls: &Tls) -> Result<Option<TlsAcceptor>, TlsError> {
    let (Some(certificate), Some(key)) = (&tls.certificate, &tls.key) else {
        return Ok(None);
    };
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(read_chain(certificate)?, read_key(key)?)?;
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |why: String| TlsError::File { path: path.to_owned(), why };
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| failed(error.to_string()))?.collect();
    let chain = chain.map_err(|error| failed(error.to_string()))?;
    if chain.is_empty() { Err(failed("there is no certificate in it".to_owned())) } else { Ok(chain) }
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|error| TlsError::File { path: path.to_owned(), why: error.to_string() })
}
