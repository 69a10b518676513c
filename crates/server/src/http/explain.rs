//! `explain`: who said what of a signature or a message, and when.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Uri};
use seenit_ledger::signature::Case;
use seenit_signature::Kind;

use super::answer::{self, Answered};
use super::caller::Caller;
use super::problem::Problem;
use super::query;
use super::write::read_cases;
use crate::backend::{Backend, blocking};
use crate::limits::Spending;

/// Everything that is known of a signature.
pub(crate) async fn signature(
    backend: &Arc<Backend>,
    caller: &Caller,
    uri: &Uri,
) -> Result<Answered, Problem> {
    let [kind, digest] = query::parse(uri, ["kind", "digest"])?;
    let name = kind.ok_or_else(|| Problem::bad_query("the parameter kind is missing"))?;
    let digest = digest.ok_or_else(|| Problem::bad_query("the parameter digest is missing"))?;
    let kind =
        Kind::from_name(name).ok_or_else(|| Problem::bad_query(format!("there is no kind {name:?}")))?;
    let hex = Some(digest).filter(|digest| !digest.starts_with("0x"));
    let bytes = hex.and_then(|digest| const_hex::decode(digest).ok());
    let bytes =
        bytes.ok_or_else(|| Problem::bad_query(format!("the digest {digest:?} is not hexadecimal")))?;
    let mut case = Case::new();
    case.push(kind, &bytes).map_err(|error| Problem::bad_query(error.to_string()))?;
    let explanation = blocking::status(backend, caller.budget(backend), move |backend| {
        case.iter().next().map(|one| backend.ledger.explain(one))
    });
    let explanation = explanation.await?.ok_or_else(|| Problem::broken("a case lost its signature"))?;
    Ok(answer::json(&explanation))
}

/// Everything that is known of a message: its verdict, one entry for each record, and each of its signatures.
pub(crate) async fn message(
    backend: &Arc<Backend>,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    query::parse(request.uri(), [])?;
    let (cases, recipients) = read_cases(backend, caller, request).await?;
    if recipients.is_some() {
        return Err(Problem::bad_body("only /v1/see has \"recipients\""));
    }
    let [case]: [Case; 1] = cases.try_into().map_err(|cases: Vec<Case>| {
        Problem::bad_body(format!("one message is explained at a time, not {}", cases.len()))
    })?;
    caller.spend(Spending::Checks, case.len().max(1))?;
    let explanation = blocking::status(backend, caller.budget(backend), move |backend| {
        backend.ledger.explain_message(&case)
    });
    Ok(answer::json(&explanation.await?))
}
