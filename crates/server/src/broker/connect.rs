//! Connecting to the broker: where, as whom, and how it is told when the connection comes and goes.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{
    Auth, AuthError, Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerAddr,
};
use ed25519_dalek::{Signer, SigningKey};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use seenit_ledger::private as private_file;
use seenit_sites::key::BrokerSecret;
use tokio::sync::mpsc;
use zeroize::Zeroizing;

use super::admission::SiteLogin;
use super::jwt::User;
use super::{BrokerError, nkey};

/// The most bytes of a file of credentials: one has about 1 kB.
const CREDENTIALS_BYTES_MAX: u64 = 64 * 1024;

/// How long a connection, with its handshakes, may take.
const CONNECT_SECS: u64 = 5;

/// How often a server is asked whether it is still there. Two answers that are missing end the connection.
const PING_SECS: u64 = 5;

/// How long an answer may take.
const REQUEST_SECS: u64 = 5;

/// Messages that wait in one subscription; the library drops what comes then.
const SUBSCRIPTION_MAX: usize = 1024;

/// Commands that wait for the connection.
const CLIENT_MAX: usize = 256;

/// Changes of the connection that wait to be told.
const EVENTS_MAX: usize = 256;

/// The longest pause between two attempts to connect.
const RETRY_SECS_MAX: u64 = 4;

/// Where the broker is, and as whom to speak to it.
#[derive(Clone, Debug)]
pub struct Servers {
    /// Addresses, such as `tls://nats.example.org:4222`. No other ones are tried, whatever a server names.
    pub addresses: Vec<String>,
    /// As whom.
    pub login: Login,
    /// A PEM file with the authority of the servers' certificates; without it, those that the system trusts.
    pub ca: Option<PathBuf>,
    /// Whether to go on where a server offers no TLS.
    pub may_be_plain: bool,
}

/// As whom to connect.
#[derive(Clone, Debug)]
pub enum Login {
    /// With a key of one's own, which the broker's configuration knows.
    Key(BrokerSecret),
    /// With a JWT that the network's admin signed.
    User(User),
    /// As a site does: with a JWT if it has one, else with its key alone.
    Site(SiteLogin),
    /// With a file that only its owner may read: credentials of NATS, the secret of an nkey, or `user:password`.
    File(PathBuf),
}

impl Servers {
    /// Those at these addresses. TLS is a must unless all are on this machine, or unless told otherwise.
    pub fn new(
        addresses: Vec<String>,
        login: Login,
        ca: Option<PathBuf>,
        insecure_plaintext: bool,
    ) -> Result<Self, BrokerError> {
        let mut may_be_plain = true;
        for address in &addresses {
            let wrong = |why| BrokerError::Address { address: address.clone(), why };
            may_be_plain &= is_local(address).map_err(wrong)?;
        }
        may_be_plain |= insecure_plaintext;
        Ok(Servers { addresses, login, ca, may_be_plain })
    }

    /// All that connecting takes, every file read. `events` is told of what happens to the connection.
    pub(super) fn options(&self, who: &str) -> Result<ConnectOptions, BrokerError> {
        let options = self.login.options()?;
        let options = options
            .name(format!("seenit {who}"))
            .tls_client_config(tls(self.ca.as_deref())?)
            .require_tls(!self.may_be_plain)
            .ignore_discovered_servers()
            .custom_inbox_prefix(super::names::inbox_prefix(who))
            .connection_timeout(Duration::from_secs(CONNECT_SECS))
            .request_timeout(Some(Duration::from_secs(REQUEST_SECS)))
            .ping_interval(Duration::from_secs(PING_SECS))
            .subscription_capacity(SUBSCRIPTION_MAX)
            .client_capacity(CLIENT_MAX)
            .max_reconnects(None)
            .reconnect_delay_callback(pause);
        Ok(options)
    }

    /// Connects, or goes on trying; what happens is told.
    pub(super) async fn connect(
        &self,
        options: ConnectOptions,
    ) -> Result<(Client, mpsc::Receiver<Event>), BrokerError> {
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        let options = options.retry_on_initial_connect().event_callback(move |event| {
            let sender = sender.clone();
            async move {
                // Whoever is that far behind is told of the next change.
                let _ = sender.try_send(event);
            }
        });
        let client = options.connect(self.addresses.clone()).await.map_err(BrokerError::of)?;
        Ok((client, events))
    }
}

/// Why there is no connection, with what to do where the broker lets nobody in.
pub(super) fn plainly(error: &impl std::fmt::Display) -> String {
    let why = error.to_string();
    if why.contains("authorization violation") || why.contains("authentication") {
        return format!(
            "{why}: the broker does not let this site in; ask the network's admin whether it was removed"
        );
    }
    why
}

/// Refuses what is no address, and one beyond loopback that is said to be without TLS where TLS is a must.
pub(crate) fn check_address(address: &str, insecure_plaintext: bool) -> Result<(), String> {
    let is_local = is_local(address)?;
    if is_local || insecure_plaintext || !address.starts_with("nats://") {
        return Ok(());
    }
    let why = "is beyond loopback without TLS: write tls:// (or insecure_plaintext = true, if something else encrypts)";
    Err(why.to_owned())
}

/// Refuses a file of credentials that cannot be used.
pub(crate) fn check_credentials(path: &Path) -> Result<(), BrokerError> {
    Login::File(path.to_owned()).options().map(drop)
}

/// Refuses a file that holds no authority's certificate.
pub(crate) fn check_authority(path: &Path) -> Result<(), BrokerError> {
    tls(Some(path)).map(drop)
}

/// Whether an address is on this machine; why not, if it is no address.
fn is_local(address: &str) -> Result<bool, String> {
    let none = "is no address of a server, such as tls://nats.example.org:4222";
    let read = ServerAddr::from_str(address).map_err(|_| none.to_owned())?;
    if !["nats", "tls"].contains(&read.scheme()) || address.is_empty() || read.host().is_empty() {
        return Err(none.to_owned());
    }
    let ip = read.host().parse::<IpAddr>();
    Ok(read.host() == "localhost" || ip.is_ok_and(|ip| ip.is_loopback()))
}

/// Pauses that double up to a few seconds.
fn pause(attempts: usize) -> Duration {
    let millis = 50_u64.saturating_mul(1 << attempts.saturating_sub(1).min(10));
    Duration::from_millis(if attempts <= 1 { 0 } else { millis.min(1000 * RETRY_SECS_MAX) })
}

impl Login {
    fn options(&self) -> Result<ConnectOptions, BrokerError> {
        let options = ConnectOptions::new();
        let path = match self {
            Login::Key(secret) => return Ok(options.nkey(nkey::seed(secret))),
            Login::User(User { jwt, secret }) => {
                let jwt = jwt.clone();
                return Ok(proving(secret.clone(), move || Some(jwt.clone())));
            }
            // Read at each connection: it may have been signed anew meanwhile.
            Login::Site(site) => {
                let secret = site.secret.clone();
                let site = site.clone();
                return Ok(proving(secret, move || site.jwt()));
            }
            Login::File(path) => path,
        };
        let text = private_file::read(path, CREDENTIALS_BYTES_MAX).map_err(BrokerError::of)?;
        let text = text.ok_or_else(|| BrokerError::file(path, "there is no such file"))?;
        let text = Zeroizing::new(text);
        let text = std::str::from_utf8(&text).map_err(|_| BrokerError::file(path, "it is no text"))?;
        let line = text.trim_end();
        if text.contains("-----BEGIN") {
            return options.credentials(text).map_err(|error| BrokerError::file(path, error));
        }
        if line.starts_with("SU") && line.bytes().all(|letter| letter.is_ascii_alphanumeric()) {
            return Ok(options.nkey(line.to_owned()));
        }
        match line.split_once(':') {
            Some((user, password)) if !line.contains('\n') => {
                Ok(options.user_and_password(user.to_owned(), password.to_owned()))
            }
            _ => {
                let why =
                    "it holds neither credentials of NATS, nor the secret of an nkey, nor user:password";
                Err(BrokerError::file(path, why))
            }
        }
    }
}

/// Signs the broker's challenge. A broker that knows JWTs looks at the JWT, one that knows keys at the key.
fn proving(secret: BrokerSecret, jwt: impl Fn() -> Option<String> + Send + Sync + 'static) -> ConnectOptions {
    ConnectOptions::with_auth_callback(move |challenge| {
        let signature = SigningKey::from_bytes(&secret.to_bytes()).sign(&challenge).to_bytes();
        let mut auth = Auth::new();
        auth.jwt = jwt();
        auth.nkey = Some(nkey::public(&secret.public()));
        auth.signature = Some(signature.to_vec());
        std::future::ready(Ok::<_, AuthError>(auth))
    })
}

/// Built here, so that it is the same cryptography as everywhere.
fn tls(ca: Option<&Path>) -> Result<ClientConfig, BrokerError> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            let failed = |error: rustls::pki_types::pem::Error| BrokerError::file(path, error);
            for certificate in CertificateDer::pem_file_iter(path).map_err(failed)? {
                let added = roots.add(certificate.map_err(failed)?);
                added.map_err(|error| BrokerError::file(path, error))?;
            }
            if roots.is_empty() {
                return Err(BrokerError::file(path, "there is no certificate in it"));
            }
        }
        // A system without certificates can still have a server without TLS.
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(BrokerError::of)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

impl BrokerError {
    pub(super) fn file(path: &Path, why: impl std::fmt::Display) -> Self {
        BrokerError::File { path: path.to_owned(), why: why.to_string() }
    }

    pub(super) fn of(error: impl std::fmt::Display) -> Self {
        BrokerError::Failed(error.to_string())
    }

    /// Why nobody could be connected to at these addresses.
    pub(super) fn connecting(addresses: &[String], error: &ConnectError) -> Self {
        let why = format!("{}: {error}", addresses.join(", "));
        match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                BrokerError::Refused(why)
            }
            _ => BrokerError::Failed(format!(
                "{why}: nobody answers there, or not in time; an admin starts it with `nats-server -c \
                 admin/broker.conf` or `seenit network up`, anybody else asks the admin"
            )),
        }
    }
}

impl From<io::Error> for BrokerError {
    fn from(error: io::Error) -> Self {
        BrokerError::of(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_few_seconds_and_no_further() {
        assert_eq!(pause(0), Duration::ZERO);
        assert_eq!(pause(2), Duration::from_millis(100));
        assert_eq!(pause(usize::MAX), Duration::from_secs(RETRY_SECS_MAX));
    }

    #[test]
    fn addresses_of_this_machine_are_known() {
        for address in ["nats://127.0.0.1:4222", "localhost", "[::1]:4222", "tls://127.1.2.3"] {
            assert_eq!(is_local(address), Ok(true), "{address}");
        }
        assert_eq!(is_local("nats://nats.example.org"), Ok(false));
        assert_eq!(is_local("nats://localhost.example.org"), Ok(false));
        assert!(is_local("ws://127.0.0.1").is_err() && is_local("").is_err());
        let servers = |address: &str, insecure| {
            let login = Login::Key(BrokerSecret::from_bytes([1; 32]));
            Servers::new(vec![address.to_owned()], login, None, insecure).expect("an address").may_be_plain
        };
        assert!(servers("127.0.0.1", false) && servers("192.0.2.1", true) && !servers("192.0.2.1", false));
    }

    #[test]
    fn files_of_credentials_are_told_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("login");
        let read = |text: &str| {
            private_file::write(&path, text.as_bytes()).expect("written");
            Login::File(path.clone()).options().map(|_| ())
        };
        read("user:pass:word\n").expect("a user");
        read(&nkey::seed(&BrokerSecret::from_bytes([1; 32]))).expect("a key");
        assert!(read("nothing of that\n").expect_err("no login").to_string().contains("user:password"));
        assert!(read("-----BEGIN NATS USER JWT-----\n").is_err());
        let missing = Login::File(folder.path().join("none")).options();
        assert!(missing.map(drop).expect_err("no file").to_string().contains("no such file"));
    }
}
