//! Secrets of accounts for older protocols, for admins.

use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use seenit_wire::fuzzy::SecretKey;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::accounts::parse;
use super::answer::{self, Answered};
use super::body;
use super::caller::Caller;
use super::problem::Problem;
use crate::accounts::AccountError;
use crate::backend::{Backend, blocking};
use crate::secrets::Protocol;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Made here where it is not given.
    #[serde(default)]
    secret: Option<String>,
}

/// A secret as it is shown, once. Of a key pair only the public half leaves the server.
#[derive(Serialize)]
struct Shown {
    name: String,
    protocol: Protocol,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encryption_key: Option<String>,
}

/// Gives an account a secret for a protocol, in place of any it had, and shows what its clients need.
pub(crate) async fn put(
    backend: &Arc<Backend>,
    caller: &Caller,
    name: &str,
    protocol: &str,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    let protocol = known(protocol)?;
    let Wanted { secret } = parse(&body::read_json(backend, caller, request).await?)?;
    let name = name.to_owned();
    let shown = blocking::care(backend, move |backend| {
        let account = backend.accounts.get(&name).filter(|account| !account.is_operator());
        account.ok_or_else(|| AccountError::Unknown(name.clone()))?;
        let secret = match secret {
            Some(secret) => secret,
            None => protocol.random_secret().map_err(AccountError::Random)?,
        };
        refuse_the_servers_own(backend, protocol, &secret)?;
        backend.secrets.put(&name, protocol, secret.as_bytes(), &backend.accounts)?;
        tracing::info!(account = name, %protocol, "an account has a new secret");
        Ok::<_, Problem>(match SecretKey::from_text(&secret) {
            Ok(key) if protocol == Protocol::Fuzzy => {
                Shown { name, protocol, secret: None, encryption_key: Some(key.public().to_string()) }
            }
            _ => Shown { name, protocol, secret: Some(secret), encryption_key: None },
        })
    });
    Ok(answer::json(&shown.await??))
}

/// Takes a secret away: the account is nobody to that protocol from then on.
pub(crate) async fn remove(backend: &Arc<Backend>, name: &str, protocol: &str) -> Result<Answered, Problem> {
    let protocol = known(protocol)?;
    let name = name.to_owned();
    blocking::care(backend, move |backend| {
        if !backend.secrets.remove(&name, protocol)? {
            return Err(Problem::not_found(format!("{name} has no secret for {protocol}")));
        }
        tracing::info!(account = name, %protocol, "a secret was removed");
        Ok(answer::json(&json!({"removed": name, "protocol": protocol})))
    })
    .await?
}

/// Whoever seals for the key that everybody is told is anybody.
fn refuse_the_servers_own(backend: &Backend, protocol: Protocol, secret: &str) -> Result<(), Problem> {
    let own = backend.served.get().and_then(|served| served.fuzzy_key.as_deref());
    let is_own = |key: SecretKey| own == Some(key.public().to_string().as_str());
    if protocol == Protocol::Fuzzy && SecretKey::from_text(secret).is_ok_and(is_own) {
        return Err(Problem::bad_body("this is the key that the server gives to everybody"));
    }
    Ok(())
}

fn known(protocol: &str) -> Result<Protocol, Problem> {
    let unknown = || {
        let known = Protocol::ALL.map(Protocol::as_str).join(", ");
        Problem::not_found(format!("{:.40} is no protocol with secrets: those are {known}", protocol))
    };
    Protocol::from_name(protocol).ok_or_else(unknown)
}
