//! The client's side of the experiment: plain requests to the server's HTTP port.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Request;

use super::reporters::Word;
use crate::bench::LabError;

/// How long a request may take: a server that takes longer than this for a write has given up on it.
const ANSWER: Duration = Duration::from_secs(60);

/// What is read of a judgement: the reasons are not kept.
#[derive(Deserialize)]
struct Judged {
    verdict: String,
}

/// One client with kept connections, and the operator's token.
pub(super) struct Client {
    agent: Agent,
    url: String,
    operator: String,
}

impl Client {
    pub(super) fn new(address: SocketAddr, operator: &str) -> Self {
        let config =
            Agent::config_builder().http_status_as_error(false).timeout_global(Some(ANSWER)).proxy(None);
        Client {
            agent: config.build().new_agent(),
            url: format!("http://{address}"),
            operator: operator.to_owned(),
        }
    }

    /// Makes an account that may report and revoke, and gives its token.
    pub(super) fn add_account(&self, name: &str, weight: Option<u8>) -> Result<String, LabError> {
        let mut wanted = json!({"name": name, "roles": ["report", "revoke"]});
        if let Some(weight) = weight {
            wanted["weight"] = weight.into();
        }
        let path = "/v1/accounts";
        let made: Value = self.post(path, &self.operator, &wanted.to_string())?;
        let token = made["token"].as_str().ok_or_else(|| wrong(path, "no token"))?;
        Ok(token.to_owned())
    }

    /// The points that an account's word weighs now.
    pub(super) fn weight(&self, name: &str) -> Result<u8, LabError> {
        let path = format!("/v1/accounts/{name}");
        let request = Request::get(format!("{}{path}", self.url));
        let request = request.header("authorization", format!("Bearer {}", self.operator)).body(());
        let request = request.map_err(|error| wrong(&path, error))?;
        let mut response = self.agent.run(request).map_err(|error| wrong(&path, error))?;
        let text = response.body_mut().read_to_string().map_err(|error| wrong(&path, error))?;
        let shown: Value = serde_json::from_str(&text).map_err(|error| wrong(&path, error))?;
        let weight = shown["reporter"]["weight"].as_u64().and_then(|weight| u8::try_from(weight).ok());
        weight.ok_or_else(|| wrong(&path, text))
    }

    /// Protects known-good mail: the body has `cases`.
    pub(super) fn protect(&self, cases: &str) -> Result<(), LabError> {
        self.post::<IgnoredAny>("/v1/protect", &self.operator, cases).map(drop)
    }

    /// Whether the site calls a message spam.
    pub(super) fn is_spam(&self, token: &str, case: &str) -> Result<bool, LabError> {
        Ok(self.post::<Judged>("/v1/check", token, case)?.verdict == "spam")
    }

    /// Says something of a message; it is durable when this returns.
    pub(super) fn say(&self, token: &str, word: Word, case: &str) -> Result<(), LabError> {
        let path = match word {
            Word::Report => "/v1/report",
            Word::Revoke => "/v1/revoke",
        };
        self.post::<IgnoredAny>(path, token, case).map(drop)
    }

    fn post<T: DeserializeOwned>(&self, path: &str, token: &str, body: &str) -> Result<T, LabError> {
        let request = Request::post(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(body);
        let request = request.map_err(|error| wrong(path, error))?;
        let mut response = self.agent.run(request).map_err(|error| wrong(path, error))?;
        let text = response.body_mut().read_to_string().map_err(|error| wrong(path, error))?;
        if !response.status().is_success() {
            return Err(wrong(path, format!("{}: {text}", response.status())));
        }
        serde_json::from_str(&text).map_err(|error| wrong(path, error))
    }
}

fn wrong(path: &str, why: impl ToString) -> LabError {
    LabError::Site { path: path.to_owned(), why: why.to_string() }
}
