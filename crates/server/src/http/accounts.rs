//! Accounts, for admins.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use seenit_ledger::reporter::{Reporter, Standing};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::answer::{self, Answered};
use super::body;
use super::caller::Caller;
use super::problem::Problem;
use crate::accounts::{Account, AccountError, LOCAL_NAME, OPERATOR_NAME, RESERVED, Role, Roles};
use crate::backend::{Backend, blocking};
use crate::secrets::Protocol;

/// The most points that a reporter's word weighs.
const WEIGHT_MAX: u8 = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: String,
    roles: Roles,
    #[serde(default)]
    weight: Option<u8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Weight {
    weight: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stand {
    standing: Standing,
}

/// An account as it is shown. The token is there when it is new, and never again.
#[derive(Serialize)]
struct Shown {
    name: String,
    roles: Roles,
    created: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reporter: Option<Reporter>,
    /// The older protocols that it has secrets for.
    secrets: Vec<Protocol>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl Shown {
    fn of(backend: &Backend, account: &Account) -> Self {
        let reporter = backend.ledger.reporter(&account.name);
        let name = account.name.clone();
        let roles = account.roles;
        let secrets = backend.secrets.protocols_of(&name);
        Shown { name, roles, created: account.created, reporter, secrets, token: None }
    }

    fn find(backend: &Backend, name: &str) -> Result<Self, Problem> {
        if name == LOCAL_NAME {
            return Ok(Shown::local(backend));
        }
        let account = backend.accounts.get(name).ok_or_else(|| AccountError::Unknown(name.to_owned()))?;
        Ok(Shown::of(backend, &account))
    }

    /// The users of this machine without an account. They have no token and no secret, but a weight like everybody.
    fn local(backend: &Backend) -> Self {
        let roles = [Role::Check, Role::Report, Role::Revoke].into_iter().collect();
        let created = backend.accounts.get(OPERATOR_NAME).map_or(0, |operator| operator.created);
        let reporter = backend.ledger.reporter(LOCAL_NAME);
        Shown { name: LOCAL_NAME.to_owned(), roles, created, reporter, secrets: Vec::new(), token: None }
    }
}

/// All accounts, by name, the built-in ones among them.
pub(crate) async fn list(backend: &Arc<Backend>) -> Result<Answered, Problem> {
    let all = blocking::care(backend, |backend| {
        let accounts = backend.accounts.list();
        let mut all: Vec<Shown> = accounts.iter().map(|account| Shown::of(backend, account)).collect();
        all.push(Shown::local(backend));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    });
    Ok(answer::json(&json!({"accounts": all.await?})))
}

/// One account.
pub(crate) async fn show(backend: &Arc<Backend>, name: &str) -> Result<Answered, Problem> {
    let name = name.to_owned();
    let shown = blocking::care(backend, move |backend| Shown::find(backend, &name)).await??;
    Ok(answer::json(&shown))
}

/// Makes an account and shows its token.
pub(crate) async fn add(
    backend: &Arc<Backend>,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    let wanted: Wanted = parse(&body::read_json(backend, caller, request).await?)?;
    wanted.weight.map_or(Ok(()), check_weight)?;
    let shown = blocking::care(backend, move |backend| {
        backend.accounts.check_new(&wanted.name, wanted.roles)?;
        // What an earlier holder of the name knew opens nothing.
        backend.secrets.remove_account(&wanted.name)?;
        let reporter = backend.ledger.put_reporter(&wanted.name, wanted.weight)?;
        let token =
            backend.accounts.add(&wanted.name, wanted.roles, reporter.id, backend.clock.now_secs())?;
        tracing::info!(account = wanted.name, "an account was added");
        Ok::<_, Problem>(Shown {
            token: Some(token.as_str().to_owned()),
            ..Shown::find(backend, &wanted.name)?
        })
    });
    Ok(answer::json(&shown.await??))
}

/// Takes an account away.
pub(crate) async fn remove(backend: &Arc<Backend>, name: &str) -> Result<Answered, Problem> {
    if RESERVED.contains(&name) {
        let why = format!("{name} is built in and cannot be removed");
        return Err(Problem::new(StatusCode::CONFLICT, "name-reserved", why));
    }
    let name = name.to_owned();
    blocking::care(backend, move |backend| {
        Shown::find(backend, &name)?;
        // First, so that whoever tries again after a failure is not told that there is nothing left to do.
        backend.secrets.remove_account(&name)?;
        backend.accounts.remove(&name)?;
        tracing::info!(account = name, "an account was removed");
        Ok::<_, Problem>(answer::json(&json!({"removed": name})))
    })
    .await?
}

/// Gives an account a new token and shows it.
pub(crate) async fn renew(backend: &Arc<Backend>, name: &str) -> Result<Answered, Problem> {
    let name = name.to_owned();
    let shown = blocking::care(backend, move |backend| {
        let token = backend.accounts.renew(&name)?;
        tracing::info!(account = name, "an account has a new token");
        Ok::<_, Problem>(Shown { token: Some(token.as_str().to_owned()), ..Shown::find(backend, &name)? })
    });
    Ok(answer::json(&shown.await??))
}

/// Fixes the weight of an account's word.
pub(crate) async fn weigh(
    backend: &Arc<Backend>,
    caller: &Caller,
    name: &str,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    let Weight { weight } = parse(&body::read_json(backend, caller, request).await?)?;
    check_weight(weight)?;
    if name == OPERATOR_NAME && weight < WEIGHT_MAX {
        let why = format!(
            "the operator's opinion always weighs {WEIGHT_MAX}: give whoever should weigh less an account"
        );
        return Err(Problem::bad_body(why));
    }
    let name = name.to_owned();
    let shown = blocking::care(backend, move |backend| {
        Shown::find(backend, &name)?;
        backend.ledger.put_reporter(&name, Some(weight))?;
        tracing::info!(account = name, weight, "an account's weight was fixed");
        Shown::find(backend, &name)
    });
    Ok(answer::json(&shown.await??))
}

/// Gives an account a standing, and the weight that this begins with.
pub(crate) async fn stand(
    backend: &Arc<Backend>,
    caller: &Caller,
    name: &str,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    let Stand { standing } = parse(&body::read_json(backend, caller, request).await?)?;
    if name == OPERATOR_NAME && standing != Standing::Vouched {
        return Err(Problem::bad_body("the operator is always vouched for".to_owned()));
    }
    let name = name.to_owned();
    let shown = blocking::care(backend, move |backend| {
        Shown::find(backend, &name)?;
        backend.ledger.set_standing(&name, standing)?;
        tracing::info!(account = name, ?standing, "an account's standing was set");
        Shown::find(backend, &name)
    });
    Ok(answer::json(&shown.await??))
}

/// Takes back everything an account said. A name without an account may still have said something.
pub(crate) async fn undo(backend: &Arc<Backend>, name: &str) -> Result<Answered, Problem> {
    let name = name.to_owned();
    let words = blocking::care(backend, move |backend| {
        let words = backend.ledger.undo_reporter(&name);
        tracing::info!(account = name, ?words, "everything an account said was taken back");
        words
    });
    Ok(answer::json(&json!({"words": words.await??})))
}

pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::bad_body(error.to_string()))
}

fn check_weight(weight: u8) -> Result<(), Problem> {
    if weight <= WEIGHT_MAX {
        Ok(())
    } else {
        Err(Problem::bad_body(format!("weight = {weight}: must be from 0 to {WEIGHT_MAX} points")))
    }
}
