//! Why a question got no answer, or was refused.

/// A question without an answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// Exit 75: nobody takes the call.
    #[error(
        "{url}: nobody answers there ({why}); start a server with `seenit serve`, or name one with --server"
    )]
    Down { url: String, why: String },
    /// Exit 75: the call was taken, and yet there is no answer.
    #[error("{url}: no answer: {why}")]
    NoAnswer { url: String, why: String },
    /// Exit 77: the server will not.
    #[error("{url}: refused: {why} (HTTP status {status}){}", .hint.as_ref().map_or(String::new(), |hint| format!("; {hint}")))]
    Refused { url: String, status: u16, why: String, hint: Option<String> },
    /// Exit 65: there is nothing in the file to ask about.
    #[error("{0}")]
    Nothing(String),
}

/// What a token lacks: 401, 403; a Host that is not served: 421.
const FOR_ALL: [u16; 3] = [401, 403, 421];

impl AskError {
    pub(super) fn no_answer(url: &str, why: impl Into<String>) -> Self {
        AskError::NoAnswer { url: url.to_owned(), why: why.into() }
    }

    /// What the client below us met.
    pub(super) fn of(url: &str, error: &ureq::Error) -> Self {
        use ureq::{Error, Timeout};
        let url = url.to_owned();
        match error {
            Error::Timeout(Timeout::Connect | Timeout::Resolve)
            | Error::HostNotFound
            | Error::ConnectionFailed => AskError::Down { url, why: error.to_string() },
            Error::Io(why) if why.kind() == std::io::ErrorKind::ConnectionRefused => {
                AskError::Down { url, why: "connection refused".into() }
            }
            _ => AskError::NoAnswer { url, why: error.to_string() },
        }
    }

    /// Whether every other question would get the same.
    pub(crate) fn is_for_all(&self) -> bool {
        match self {
            AskError::Down { .. } => true,
            AskError::Refused { status, .. } => FOR_ALL.contains(status),
            AskError::NoAnswer { .. } | AskError::Nothing(_) => false,
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            AskError::Down { .. } | AskError::NoAnswer { .. } => 75,
            AskError::Refused { .. } => 77,
            AskError::Nothing(_) => 65,
        }
    }
}
