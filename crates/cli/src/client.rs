//! The client's side of HTTP: one server, one token, answers or reasons why there are none.

mod error;
mod server_args;
mod trust;

use std::sync::OnceLock;
use std::time::Duration;

use seenit_filter::readable;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::Agent;
use ureq::http::{Request, StatusCode, Uri};

use crate::problem::Problem;

pub(crate) use error::AskError;
pub(crate) use server_args::{CONFIG_FILE, DATA_FOLDER, ServerArgs};

/// How long it may take until somebody takes the call. Nobody waits longer for a mail server's neighbour.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a request may take in all: longer than the 30 s in which a server's write must be durable.
const ANSWER: Duration = Duration::from_secs(60);

/// Bytes of an answer that are read: lists of accounts are the longest, and have some hundred bytes a line.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Bytes of a body from which the server is asked first whether it wants it: a refusal is then read, not cut off by a
/// closed connection. Below, the question costs more than it saves.
const ASK_FIRST_BYTES: usize = 1 << 20;

/// Connections that are kept open for the next question: more than are ever under way at a time.
const IDLE_MAX: usize = 16;

/// A message as it is.
pub(crate) const MESSAGE: &str = "message/rfc822";

/// Signatures, encoded.
pub(crate) const BINARY: &str = "application/vnd.seenit.v1";

const JSON: &str = "application/json";

/// A server that is asked.
pub(crate) struct Client {
    agent: Agent,
    server: ServerArgs,
    url: String,
    /// The server's host, unless it is this machine.
    host: Option<String>,
    authorization: Option<String>,
    /// The trouble that will not go away by asking again: who has met it gives it to all other questions.
    trouble: OnceLock<AskError>,
}

impl Client {
    /// Finds the server and the token that the options, the environment or a server of this machine name.
    pub(crate) fn of(server: &ServerArgs) -> Result<Self, Problem> {
        let url = server.url()?;
        let authorization = server.token()?.map(|token| format!("Bearer {token}"));
        if authorization.is_some() && url.is_plain() && !url.is_loopback() {
            eprintln!("seenit: warning: the token goes to {} unencrypted", url.text());
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(ANSWER))
            // A token is for the server it was given for.
            .max_redirects(0)
            // Several questions are under way at a time: all of their connections are kept.
            .max_idle_connections_per_host(IDLE_MAX)
            .user_agent(concat!("seenit/", env!("CARGO_PKG_VERSION")));
        if url.is_loopback() {
            config = config.proxy(None);
        }
        if let Some(file) = server.ca().filter(|_| url.is_plain()) {
            // It is of no use there. But whoever names a file wants to hear that it is none.
            trust::read(file)?;
        }
        if !url.is_plain() {
            config = config.tls_config(trust::tls(server.ca())?);
        }
        let host = url.host().filter(|_| !url.is_loopback()).map(str::to_owned);
        let agent = config.build().new_agent();
        let url = url.text().to_owned();
        Ok(Client { agent, server: server.clone(), url, host, authorization, trouble: OnceLock::new() })
    }

    /// Where the server is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The server's host; none where it is this machine.
    pub(crate) fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, AskError> {
        self.ask("GET", path, "", &[])
    }

    pub(crate) fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, AskError> {
        self.ask("DELETE", path, "", &[])
    }

    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        media: &str,
        body: &[u8],
    ) -> Result<T, AskError> {
        self.ask("POST", path, media, body)
    }

    pub(crate) fn post_json<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, AskError> {
        self.ask("POST", path, JSON, body.to_string().as_bytes())
    }

    fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        media: &str,
        body: &[u8],
    ) -> Result<T, AskError> {
        if let Some(trouble) = self.trouble.get() {
            return Err(trouble.clone());
        }
        let answer = self.send(method, path, media, body);
        if let Err(error) = &answer
            && error.is_for_all()
        {
            // Whoever came first has said it; the others met the same.
            let _ = self.trouble.set(error.clone());
        }
        answer
    }

    fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        media: &str,
        body: &[u8],
    ) -> Result<T, AskError> {
        let sent_bytes = body.len();
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        if body.len() >= ASK_FIRST_BYTES {
            request = request.header("expect", "100-continue");
        }
        let sent = if method == "POST" {
            let request = request.header("content-type", media).body(body);
            request.map_err(ureq::Error::from).and_then(|request| self.agent.run(request))
        } else {
            request.body(()).map_err(ureq::Error::from).and_then(|request| self.agent.run(request))
        };
        let mut response = sent.map_err(|error| AskError::of(&self.url, &error))?;
        let status = response.status();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let body = body.map_err(|error| AskError::of(&self.url, &error))?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| {
                AskError::foreign(&self.url, format!("what it says is no answer of seenit's: {error}"))
            });
        }
        Err(self.refusal(status, sent_bytes, &body))
    }

    /// Why there is no answer: what the server says, and what to do about it.
    fn refusal(&self, status: StatusCode, sent_bytes: usize, body: &[u8]) -> AskError {
        let told: Option<Value> = serde_json::from_slice(body).ok();
        let told = told.and_then(|told| told["error"].as_str().map(str::to_owned));
        let hint = match status {
            StatusCode::UNAUTHORIZED => self.server.token_hint(self.authorization.is_some()),
            StatusCode::PAYLOAD_TOO_LARGE => {
                Some(format!("this one has {}", readable::bytes(sent_bytes as u64)))
            }
            _ => None,
        };
        AskError::of_status(&self.url, status, told, hint)
    }
}

/// A piece of a path or query: what is not plain is escaped.
pub(crate) fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// A host's name or address, which has no brackets here.
fn bare_host(uri: &Uri) -> Option<&str> {
    uri.host().map(|host| host.trim_start_matches('[').trim_end_matches(']'))
}

/// Whether a host is this machine.
fn is_loopback(uri: &Uri) -> bool {
    let host = bare_host(uri).unwrap_or_default();
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
