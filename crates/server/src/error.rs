//! Why a server does not start.

use std::io;
use std::net::SocketAddr;

use seenit_ledger::error::OpenError;
use seenit_ledger::private::PrivateError;

use crate::accounts::AccountError;
use crate::config::Wrong;
use crate::link::LinkError;
use crate::secrets::SecretError;
use crate::tls::TlsError;
use crate::whitelist::ListError;

/// A server that does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A value of the configuration.
    #[error("{0}")]
    Config(#[from] Wrong),
    /// A port is taken.
    #[error(
        "cannot listen on {address} for {protocol}: another process uses this port; stop that process, \
         or choose another address, for example {instead}"
    )]
    Busy {
        /// The address.
        address: SocketAddr,
        /// What was to be served there.
        protocol: &'static str,
        /// An option of `seenit serve` that works.
        instead: &'static str,
    },
    /// An address that cannot be listened on.
    #[error(
        "cannot listen on {address}: {error}; choose an address of this machine, and a port that this user may use"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The data folder or the operator's token.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] OpenError),
    /// The accounts.
    #[error("accounts: {0}")]
    Accounts(#[from] AccountError),
    /// The secrets of older protocols.
    #[error("secrets: {0}")]
    Secrets(#[from] SecretError),
    /// The certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The whitelist of DCC's clients.
    #[error("dcc.whitelist: {0}")]
    List(#[from] ListError),
    /// The link to other sites.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// No threads, or no random bits.
    #[error("cannot start the server: the system gives no thread, socket or random numbers: {0}")]
    System(String),
}
