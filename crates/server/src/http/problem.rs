//! Why a request is refused: a status, a code for machines, a sentence for people.

use std::time::Duration;

use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use seenit_ledger::error::{SignatureError, WriteError};
use serde::Serialize;

use super::answer::{self, Answered};
use crate::accounts::AccountError;
use crate::backend::Unserved;
use crate::limits::{CASES_MAX, SIGNATURES_MAX, UsedUp};
use crate::memory::NoRoom;
use crate::secrets::SecretError;

/// How long to wait after a refused write, in seconds: disks are not freed, and queues are worked off, at once.
const WRITES_RETRY_SECS: u64 = 5;

/// The most characters of the sentence for people. Parsers quote what they refuse, which may be a whole body: the
/// answer to megabytes is not megabytes.
const WHY_CHARS_MAX: usize = 500;

/// A request that is refused.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    code: &'static str,
    why: String,
    retry_secs: Option<u64>,
    allow: Option<&'static str>,
}

#[derive(Serialize)]
struct Told<'a> {
    error: &'a str,
    code: &'static str,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, why: impl Into<String>) -> Self {
        let mut why = why.into();
        if let Some((end, _)) = why.char_indices().nth(WHY_CHARS_MAX) {
            why.truncate(end);
            why.push_str("...");
        }
        Problem { status, code, why, retry_secs: None, allow: None }
    }

    pub(crate) fn bad_body(why: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, "bad-body", why)
    }

    pub(crate) fn bad_query(why: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, "bad-query", why)
    }

    pub(crate) fn not_found(why: impl Into<String>) -> Self {
        Problem::new(StatusCode::NOT_FOUND, "not-found", why)
    }

    pub(crate) fn method(allow: &'static str, method: &str) -> Self {
        let why = format!("{method} is not answered here, only {allow}");
        Problem { allow: Some(allow), ..Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", why) }
    }

    pub(crate) fn too_many_signatures() -> Self {
        Problem::batch(format!("a check has at most {SIGNATURES_MAX} signatures"))
    }

    pub(crate) fn too_many_cases() -> Self {
        Problem::batch(format!("a request has at most {CASES_MAX} cases"))
    }

    fn batch(why: String) -> Self {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "batch-too-large", why)
    }

    pub(crate) fn nothing_to_say(why: impl Into<String>) -> Self {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "nothing-to-say", why)
    }

    pub(crate) fn unavailable(code: &'static str, why: impl Into<String>) -> Self {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, why);
        Problem { retry_secs: Some(WRITES_RETRY_SECS), ..problem }
    }

    /// Something of ours is broken: the details are for the log.
    pub(crate) fn broken(what: &str) -> Self {
        tracing::error!(what, "a request could not be answered");
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "broken",
            "something is broken here: see the server's log",
        )
    }

    /// The sentence for people.
    pub(crate) fn why(&self) -> &str {
        &self.why
    }

    /// Why somebody is not let in, where that is what is the matter.
    pub(crate) fn not_let_in(&self) -> Option<&'static str> {
        matches!(self.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN).then_some(self.code)
    }

    pub(crate) fn into_response(self) -> Answered {
        let told = Told { error: &self.why, code: self.code };
        let mut response = answer::json(&told);
        *response.status_mut() = self.status;
        self.add_headers(&mut response);
        response
    }

    fn add_headers<B>(&self, response: &mut Response<B>) {
        let headers = response.headers_mut();
        if let Some(secs) = self.retry_secs {
            headers.insert(RETRY_AFTER, HeaderValue::from(secs));
        }
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"seenit\""));
        }
    }
}

impl From<UsedUp> for Problem {
    fn from(used_up: UsedUp) -> Self {
        let secs = whole_secs(used_up.wait);
        let why = format!("the limit {} is used up: try again in {secs} s", used_up.limit);
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate-limit", why);
        Problem { retry_secs: Some(secs), ..problem }
    }
}

impl From<Unserved> for Problem {
    fn from(unserved: Unserved) -> Self {
        match unserved {
            Unserved::Busy => Problem::unavailable("status-busy", unserved.to_string()),
            Unserved::Closing => Problem::unavailable("closing", unserved.to_string()),
            Unserved::Panicked => Problem::broken(&unserved.to_string()),
        }
    }
}

impl From<NoRoom> for Problem {
    fn from(no_room: NoRoom) -> Self {
        Problem::unavailable("memory-busy", no_room.to_string())
    }
}

/// Rounded up, so that whoever waits that long is let in.
fn whole_secs(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

impl From<SignatureError> for Problem {
    fn from(error: SignatureError) -> Self {
        match error {
            SignatureError::TooMany { .. } => Problem::batch(error.to_string()),
            _ => Problem::bad_body(error.to_string()),
        }
    }
}

/// A share and the seen counts begin anew with the generation, which may be a day away: there is no point in asking
/// more often.
const SHARE_RETRY_SECS: u64 = 3600;

impl From<WriteError> for Problem {
    fn from(error: WriteError) -> Self {
        let why = error.to_string();
        match error {
            WriteError::Empty => Problem::nothing_to_say(why),
            WriteError::TooMany { .. } => Problem::batch(why),
            WriteError::Reporter(_) => Problem::not_found(why),
            WriteError::Reporters(_) => Problem::new(StatusCode::CONFLICT, "too-many-reporters", why),
            WriteError::Share { .. } | WriteError::Reserved { .. } | WriteError::Named { .. } => {
                let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "share-used-up", why);
                Problem { retry_secs: Some(SHARE_RETRY_SECS), ..problem }
            }
            WriteError::SeenFull { .. } => {
                let problem = Problem::unavailable("seen-full", why);
                Problem { retry_secs: Some(SHARE_RETRY_SECS), ..problem }
            }
            // Before the next generation only a larger capacity helps.
            WriteError::Full { .. } => {
                let problem = Problem::unavailable("writes-refused", why);
                Problem { retry_secs: Some(SHARE_RETRY_SECS), ..problem }
            }
            _ => Problem::unavailable("writes-refused", why),
        }
    }
}

impl From<SecretError> for Problem {
    fn from(error: SecretError) -> Self {
        let why = error.to_string();
        match error {
            SecretError::IsToken(_)
            | SecretError::IsAnothers(_)
            | SecretError::Length(_)
            | SecretError::Unfit(_) => Problem::bad_body(why),
            SecretError::TooMany => Problem::new(StatusCode::CONFLICT, "too-many-secrets", why),
            SecretError::Sealed { .. } | SecretError::Random(_) | SecretError::File(_) => {
                Problem::unavailable("secrets-file", why)
            }
        }
    }
}

impl From<AccountError> for Problem {
    fn from(error: AccountError) -> Self {
        let why = error.to_string();
        match error {
            AccountError::Name(_) | AccountError::NoRoles => Problem::bad_body(why),
            AccountError::Reserved(_) | AccountError::Registered(_) => {
                Problem::new(StatusCode::CONFLICT, "name-reserved", why)
            }
            AccountError::Exists(_) => Problem::new(StatusCode::CONFLICT, "account-exists", why),
            AccountError::TooMany => Problem::new(StatusCode::CONFLICT, "too-many-accounts", why),
            AccountError::Unknown(_) => Problem::not_found(why),
            AccountError::Reporter(error) => error.into(),
            AccountError::Random(_) | AccountError::File(_) => Problem::unavailable("accounts-file", why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::Request;
    use super::*;

    /// The longest answer: each character of the sentence as six of JSON, and what is around it.
    const ANSWER_BYTES_MAX: usize = 6 * WHY_CHARS_MAX + 100;

    #[test]
    fn the_answer_to_a_megabyte_of_bad_body_is_short() {
        let megabyte = |text: &str| text.repeat((1 << 20) / text.len());
        let bodies = [
            format!("{{\"{}\":1}}", megabyte("k")),
            format!("{{\"case\":\"{}\"}}", megabyte("\u{1f600}")),
            format!("{{\"case\":[{{\"kind\":\"{}\"}}]}}", megabyte("\\u0001")),
            format!("{{\"case\":[{{\"kind\":\"pyzor\",\"digest\":\"{}\"}}]}}", megabyte("x")),
            format!("{{\"recipients\":\"{}\"}}", megabyte("9")),
        ];
        for body in bodies {
            let problem = Request::parse(body.as_bytes()).expect_err("a bad body");
            assert!(problem.why().chars().count() <= WHY_CHARS_MAX + "...".len(), "{:.100}", problem.why());
            let answer = problem.into_response().into_body();
            assert!(answer.len() <= ANSWER_BYTES_MAX, "{} bytes for {body:.40}", answer.len());
        }
    }

    #[test]
    fn a_sentence_is_cut_between_characters() {
        let why = |text: &str| Problem::bad_body(text).why().to_owned();
        let fits = "é".repeat(WHY_CHARS_MAX);
        assert_eq!(why(&fits), fits);
        assert_eq!(why(&format!("{fits}é")), format!("{fits}..."));
    }
}
