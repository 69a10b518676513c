//! `report`, `revoke`, `withdraw` and their kin: acknowledged when durable, never before.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Uri};
use seenit_ledger::Write;
use seenit_ledger::record::Verb;
use seenit_ledger::reporter::ReporterId;
use seenit_ledger::signature::Case;
use seenit_signature::razor::Ep4;
use tokio::sync::oneshot;

use super::answer::Answered;
use super::body::{self, Media};
use super::caller::Caller;
use super::json::{self, Shape};
use super::problem::Problem;
use super::receipt::Now;
use super::{binary, query, receipt};
use crate::accounts::Role;
use crate::audit::Written;
use crate::backend::{Backend, blocking};
use crate::limits::{Spending, cost_of, cost_of_bytes};

/// Says something of cases, and answers with a receipt once it is durable.
pub(crate) async fn write(
    backend: &Arc<Backend>,
    caller: &Caller,
    verb: Verb,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    let reporter = whose(backend, caller, verb, request.uri())?;
    let (cases, recipients) = read_cases(backend, caller, request).await?;
    if recipients.is_some() {
        return Err(Problem::bad_body("only /v1/see has \"recipients\""));
    }
    refuse_empty(&cases)?;
    caller.spend(Spending::Writes, cost_of(&cases))?;
    let number = cases.len() as u64;
    let written = cases.clone();
    let (done, acknowledged) = oneshot::channel();
    let account = caller.name().to_owned();
    let line = Written { account, origin: caller.origin(), verb, cases: cases.clone() };
    let pending = backend.audit.begun(&backend.ledger, line);
    backend.ledger.write(Write { verb, reporter, cases }, move |result| {
        pending.ended(&result);
        // Whoever asked may have gone: the write stands.
        let _ = done.send(result);
    });
    let secs = backend.config.http.write_secs;
    let unknown = || {
        let why = format!("the write is not durable after {secs} s: it may be remembered or not");
        Problem::unavailable("not-acknowledged", why)
    };
    let result = tokio::time::timeout(Duration::from_secs(secs), acknowledged).await;
    let receipt = result.map_err(|_| unknown())?.map_err(|_| unknown())??;
    backend.metrics.written.inc_by(number);
    let site = backend.site.get();
    let reach = site.and_then(|site| site.first_reach(&backend.ledger, receipt::last(&receipt)));
    let now = Now::of(&backend.ledger, &written);
    Ok(receipt::told(&receipt, reach.as_deref(), Some(now)))
}

/// Whose word it is: the caller's own. An admin may take back what another said, for clients without a token cannot.
fn whose(backend: &Backend, caller: &Caller, verb: Verb, uri: &Uri) -> Result<ReporterId, Problem> {
    if verb != Verb::Withdraw {
        query::parse(uri, [])?;
        return caller.reporter();
    }
    let [name] = query::parse(uri, ["reporter"])?;
    let Some(name) = name else {
        return caller.reporter();
    };
    caller.check_role(Role::Admin)?;
    let unknown = || Problem::not_found(format!("there is no reporter {name:?}"));
    let reporter = backend.ledger.reporter(name).ok_or_else(unknown)?;
    tracing::info!(by = caller.name(), reporter = name, "the opinion of another reporter is taken back");
    Ok(reporter.id)
}

fn refuse_empty(cases: &[Case]) -> Result<(), Problem> {
    if cases.is_empty() {
        return Err(Problem::nothing_to_say("there is no case in it"));
    }
    match cases.iter().position(Case::is_empty) {
        None => Ok(()),
        Some(index) => {
            let which = if cases.len() == 1 { "it".to_owned() } else { format!("case {index}") };
            let why =
                format!("nothing is recorded: {which} has too little text to be told from other messages");
            Err(Problem::nothing_to_say(why))
        }
    }
}

/// The cases of a body of any kind, and the recipients that JSON may name.
pub(crate) async fn read_cases(
    backend: &Arc<Backend>,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<(Vec<Case>, Option<u64>), Problem> {
    let (media, body) = body::read(backend, caller, request).await?;
    match media {
        Media::Message => {
            // Before anything is done for it. What is said of the message is another cost.
            caller.spend(Spending::Checks, cost_of_bytes(body.len()))?;
            let sign = move |_: &Backend| Case::of_message(&body, &Ep4::default());
            let case = blocking::sign(backend, caller.budget(backend), sign).await?;
            Ok((vec![case], None))
        }
        Media::Binary => Ok((binary::cases(&body)?, None)),
        Media::Json => {
            let request = json::Request::parse(&body)?;
            if request.shape == Shape::Signatures {
                return Err(Problem::bad_body(
                    "only /v1/check takes \"signatures\"; say \"case\" or \"cases\"",
                ));
            }
            Ok((request.cases()?, request.recipients))
        }
    }
}
