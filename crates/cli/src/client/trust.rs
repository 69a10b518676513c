//! Whose certificates are believed: those that the system trusts, and those in the file of `--ca`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, RootCertStore};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::problem::Problem;

/// What a connection by TLS takes.
pub(super) fn tls(ca: Option<&Path>) -> Result<TlsConfig, Problem> {
    let mut found = rustls_native_certs::load_native_certs().certs;
    if let Some(path) = ca {
        found.extend(read(path)?);
    }
    let roots: Vec<Certificate<'static>> =
        found.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

/// The certificates in a file, each of which can be an authority.
pub(super) fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let bytes = fs::read(path).map_err(Problem::input(path))?;
    let wrong = |why: String| Problem::Authority { path: path.to_owned(), why };
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let certificates: Vec<CertificateDer<'static>> =
        read.map_err(|error| wrong(format!("is no PEM file: {error}")))?;
    if certificates.is_empty() {
        return Err(wrong("there is no certificate in it (BEGIN CERTIFICATE)".into()));
    }
    for certificate in &certificates {
        let added = RootCertStore::empty().add(certificate.clone());
        added.map_err(|error| wrong(format!("holds a certificate that cannot be used: {error}")))?;
    }
    Ok(certificates)
}

/// Why a server's certificate is not believed, and what to do; `None` where that is not what went wrong.
pub(super) fn distrust(error: &ureq::Error) -> Option<String> {
    let why = match certificate_error(error)? {
        CertificateError::UnknownIssuer => {
            "is signed by an authority that this system does not trust; give the authority's certificate with \
             --ca FILE (or SEENIT_CA)"
                .into()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "has expired; have the server's operator renew it".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another name; use the name that is in it with --server".into()
        }
        // What `openssl req -x509` makes unless told otherwise.
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "is an authority's own (CA:TRUE), which no server may use; make it anew with \
             `-addext basicConstraints=critical,CA:FALSE`"
                .into()
        }
        other => format!("is not valid: {other}; if its authority is not the system's, give it with --ca FILE"),
    };
    Some(why)
}

/// Whether what answers does not speak TLS.
pub(super) fn is_plain(error: &ureq::Error) -> bool {
    use rustls::{Error, InvalidMessage};
    matches!(tls_error(error), Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)))
}

/// What rustls said of a certificate.
fn certificate_error(error: &ureq::Error) -> Option<CertificateError> {
    match tls_error(error)? {
        rustls::Error::InvalidCertificate(why) => Some(why.clone()),
        _ => None,
    }
}

/// What rustls said: ureq hands it on inside an I/O error.
fn tls_error(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(said) => Some(said),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref::<rustls::Error>(),
        _ => None,
    }
}
