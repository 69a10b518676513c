//! Why a question got no answer, or was refused.

use seenit_mailbox::MailError;
use ureq::http::StatusCode;

use super::trust;
use crate::exit::Exit;
use crate::problem;

/// A question without an answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// Exit 75: nobody takes the call.
    #[error(
        "{url}: nobody answers there ({why}); start a server with `seenit serve`, or name one with --server"
    )]
    Down { url: String, why: String },
    /// Exit 75: the call was taken, and yet there is no answer.
    #[error("{url}: the server gave no answer: {why}; try again, or read the server's log")]
    NoAnswer { url: String, why: String },
    /// Exit 75: broken, overloaded or too slow, or we asked too often. Later it may answer.
    #[error("{url}: the server cannot answer now: {why} (HTTP status {status}); try again later")]
    NotNow { url: String, status: u16, why: String },
    /// Exit 76: somebody answers who is no seenit.
    #[error("{url}: what answers there is not a seenit server: {why}; name another server with --server")]
    Foreign { url: String, why: String },
    /// Exit 76: its certificate is not believed.
    #[error("{url}: the certificate of {host} {why}")]
    Distrusted { url: String, host: String, why: String },
    /// Exit 65 where it is this message that the server cannot use, else 77.
    #[error("{url}: the server refuses: {why} (HTTP status {status}){}", behind(.hint.as_deref()))]
    Refused { url: String, status: u16, why: String, hint: Option<String>, by: By },
    /// Exit 65: there is nothing in the file to ask about.
    #[error("{0}")]
    Nothing(String),
    /// Exit 65, 66 or 74: the message cannot be read. Nobody was asked.
    #[error("{why}")]
    Unread { why: String, exit: Exit },
}

/// Who refuses. What a seenit says of a token holds for every message; what stands before it may mean this one only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Seenit,
    SomethingBefore,
}

fn behind(hint: Option<&str>) -> String {
    hint.map_or(String::new(), |hint| format!("; {hint}"))
}

/// What a token lacks: 401, 403; a Host that is not served: 421.
const FOR_ALL: [u16; 3] = [401, 403, 421];

/// What is wrong with the question itself: malformed (400), too large (413, 414, 431), of a type that is not taken
/// (415), or with nothing in it to speak of (422).
const ABOUT_THE_DATA: [u16; 6] = [400, 413, 414, 415, 422, 431];

impl AskError {
    pub(super) fn foreign(url: &str, why: impl Into<String>) -> Self {
        AskError::Foreign { url: url.to_owned(), why: why.into() }
    }

    /// An answer that is none; `told` is what a seenit says about it. Proxies in front of one refuse in their own
    /// words, and mean the same by the same status.
    pub(super) fn of_status(
        url: &str,
        status: StatusCode,
        told: Option<String>,
        hint: Option<String>,
    ) -> Self {
        let why = told.clone().unwrap_or_else(|| format!("it answers {status}, and not as a seenit does"));
        let url = url.to_owned();
        match status {
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                AskError::NotNow { url, status: status.as_u16(), why }
            }
            // A web server that takes no POST will not learn it.
            StatusCode::NOT_IMPLEMENTED if told.is_none() => AskError::Foreign { url, why },
            _ if status.is_server_error() => AskError::NotNow { url, status: status.as_u16(), why },
            _ if told.is_some() || is_refusal(status) => {
                let by = if told.is_some() { By::Seenit } else { By::SomethingBefore };
                AskError::Refused { url, status: status.as_u16(), why, hint, by }
            }
            _ => AskError::Foreign { url, why },
        }
    }

    pub(crate) fn unread(error: MailError) -> Self {
        AskError::Unread { why: error.why(), exit: problem::of_mail(&error) }
    }

    /// What the client below us met.
    pub(super) fn of(url: &str, error: &ureq::Error) -> Self {
        use ureq::{Error, Timeout};
        if let Some(why) = trust::distrust(error) {
            let host = url.rsplit_once("://").map_or(url, |(_, host)| host);
            let host = host.split_once('/').map_or(host, |(host, _)| host).to_owned();
            return AskError::Distrusted { url: url.to_owned(), host, why };
        }
        if trust::is_plain(error) {
            let why = "it does not speak TLS there; write http://";
            return AskError::foreign(url, why);
        }
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
            AskError::Down { .. } | AskError::Distrusted { .. } => true,
            AskError::Refused { status, by, .. } => *by == By::Seenit && FOR_ALL.contains(status),
            AskError::NoAnswer { .. } | AskError::NotNow { .. } | AskError::Foreign { .. } => false,
            AskError::Nothing(_) | AskError::Unread { .. } => false,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            AskError::Down { .. } | AskError::NoAnswer { .. } | AskError::NotNow { .. } => Exit::TryLater,
            AskError::Foreign { .. } | AskError::Distrusted { .. } => Exit::Foreign,
            AskError::Refused { status, .. } if ABOUT_THE_DATA.contains(status) => Exit::Data,
            AskError::Refused { .. } => Exit::Refused,
            AskError::Nothing(_) => Exit::Data,
            AskError::Unread { exit, .. } => *exit,
        }
    }
}

/// Whether a status that no seenit gave is nevertheless about who asks or what is asked.
fn is_refusal(status: StatusCode) -> bool {
    FOR_ALL.contains(&status.as_u16()) || ABOUT_THE_DATA.contains(&status.as_u16())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(status: u16, told: Option<&str>) -> Exit {
        let status = StatusCode::from_u16(status).expect("a status");
        AskError::of_status("http://mx.example", status, told.map(str::to_owned), None).exit()
    }

    #[test]
    fn a_refusal_is_never_try_again_later_and_trouble_always_is() {
        for told in [Some("because"), None] {
            for status in [401, 403, 421] {
                assert_eq!(exit(status, told), Exit::Refused, "{status}");
            }
            for status in [400, 413, 415, 422] {
                assert_eq!(exit(status, told), Exit::Data, "{status}");
            }
            for status in [408, 429, 500, 502, 503, 504] {
                assert_eq!(exit(status, told), Exit::TryLater, "{status}");
            }
        }
        assert_eq!(exit(404, Some("no such record")), Exit::Refused);
        for status in [301, 404, 405] {
            assert_eq!(exit(status, None), Exit::Foreign, "{status}: a wrong address");
        }
    }
}
