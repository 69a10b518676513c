//! TLS by rustls, from PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

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
    #[error("cannot use the certificate and its key: {0}; check that tls.key belongs to tls.certificate")]
    Pair(#[from] rustls::Error),
}

/// The files of a certificate and of its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairFiles<'a> {
    pub(crate) certificate: &'a Path,
    pub(crate) key: &'a Path,
}

/// The certificate that every new connection is shown.
#[derive(Debug)]
pub(crate) struct Certificate(ArcSwap<CertifiedKey>);

impl Certificate {
    /// Reads the certificate and its key, which must fit together.
    pub(crate) fn read(files: PairFiles<'_>) -> Result<CertifiedKey, TlsError> {
        let provider = ring::default_provider();
        Ok(CertifiedKey::from_der(read_chain(files.certificate)?, read_key(files.key)?, &provider)?)
    }

    /// Shows another one from the next connection on.
    pub(crate) fn replace(&self, pair: CertifiedKey) {
        self.0.store(Arc::new(pair));
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

/// What accepts TLS, with the certificate that it shows.
pub(crate) fn acceptor(files: PairFiles<'_>) -> Result<(TlsAcceptor, Arc<Certificate>), TlsError> {
    let certificate = Arc::new(Certificate(ArcSwap::from_pointee(Certificate::read(files)?)));
    let shown: Arc<dyn ResolvesServerCert> = Arc::clone(&certificate) as _;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(shown);
    Ok((TlsAcceptor::from(Arc::new(config)), certificate))
}

/// Refuses a file that holds no certificate.
pub(crate) fn check_certificate(path: &Path) -> Result<(), TlsError> {
    read_chain(path).map(drop)
}

/// Refuses a file that holds no private key.
pub(crate) fn check_key(path: &Path) -> Result<(), TlsError> {
    read_key(path).map(drop)
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
