//! Why a step came to nothing.

use std::io;
use std::net::SocketAddr;

use super::socket::ANSWER_WITHIN;
use crate::client::AskError;

/// Why a step came to nothing. The front end's name stands before it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// HTTP, by which other protocols are helped.
    #[error(transparent)]
    Http(#[from] AskError),
    /// Nothing came back.
    #[error("no answer from {0} in {secs} s", secs = ANSWER_WITHIN.as_secs())]
    Silent(SocketAddr),
    /// Nobody takes the question.
    #[error("nobody answers at {address} ({error})")]
    Down { address: SocketAddr, error: io::Error },
    /// An answer of something else.
    #[error("what answers at {0} does not speak this protocol")]
    Foreign(SocketAddr),
    /// The server will not.
    #[error("{address} refuses: {why}")]
    Refused { address: SocketAddr, why: String },
    /// A message of which this protocol has no signature.
    #[error("the message has no signature of the kind {0}")]
    Unsigned(&'static str),
    /// A key that is none.
    #[error("the server says that its fuzzy key is {0:?}, which is not a key of rspamd")]
    Key(String),
    /// The system gives no random bits.
    #[error("there are no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

impl Trouble {
    /// What went wrong between us and that address.
    pub(super) fn of(address: SocketAddr) -> impl Fn(io::Error) -> Self {
        move |error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Trouble::Silent(address),
            _ => Trouble::Down { address, error },
        }
    }
}
