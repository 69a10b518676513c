//! `check` and `see`: what is known, and that something was seen.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use seenit_ledger::ledger::Ledger;
use seenit_ledger::signature::{Case, SignatureRef};
use seenit_ledger::verdict::{Answer, Judgement, Verdict};
use seenit_signature::razor::Ep4;
use serde::Serialize;
use serde_json::json;

use super::answer::{self, Answered};
use super::body::{self, Media};
use super::deadline::{Deadline, Late};
use super::json::{self, Shape};
use super::problem::Problem;
use super::state::State;
use super::who::Caller;
use super::write::read_cases;
use super::{RECIPIENTS_MAX, binary, blocking, query};
use crate::limits::Spending;

/// Signatures that are looked up between two looks at the clock: some tens of microseconds, unless their memory has to
/// be read from a disk first.
const STRIDE: usize = 1024;

/// Answers for a message, a case, cases, or signatures one by one, by the deadline: what is not known by then is no
/// opinion.
///
/// Signatures one by one are answered from memory, right here: nothing waits, nothing is allocated for each.
pub(crate) async fn check(
    state: &Arc<State>,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    query::parse(request.uri(), [])?;
    let (media, body) = body::read(state, request).await?;
    let deadline = Deadline::from_now(&state.config.check);
    match media {
        Media::Message => check_message(state, caller, deadline, body).await,
        Media::Binary => {
            let signatures = binary::signatures(&body)?;
            caller.spend(Spending::Checks, signatures.len())?;
            let known = answers(state, deadline, &signatures);
            Ok(answer::binary_answers(&known.unwrap_or_else(|| no_opinions(signatures.len()))))
        }
        Media::Json => {
            let request = json::Request::parse(&body)?;
            caller.spend(Spending::Checks, request.len().max(1))?;
            if request.recipients.is_some() {
                return Err(Problem::bad_body("a check has no \"recipients\""));
            }
            check_json(state, deadline, &request).await
        }
    }
}

/// What memory says of each signature; `None` when the deadline passed first.
pub(super) fn answers(
    state: &State,
    deadline: Deadline,
    signatures: &[SignatureRef<'_>],
) -> Option<Vec<Answer>> {
    let mut answers = vec![Answer::default(); signatures.len()];
    for (signatures, answers) in signatures.chunks(STRIDE).zip(answers.chunks_mut(STRIDE)) {
        if deadline.has_passed() {
            return None;
        }
        state.ledger.check_many(signatures, answers);
    }
    state.metrics.checked.inc_by(signatures.len() as u64);
    Some(answers)
}

pub(super) fn no_opinions(number: usize) -> Vec<Answer> {
    vec![Answer { verdict: Verdict::NoOpinion, ..Answer::default() }; number]
}

async fn check_json(
    state: &Arc<State>,
    deadline: Deadline,
    request: &json::Request,
) -> Result<Answered, Problem> {
    if request.shape == Shape::Signatures {
        return Ok(match answers(state, deadline, &request.signatures()) {
            Some(answers) => answer::json_answers(&answers),
            None => answer::json(&deadline.late().answers(request.len())),
        });
    }
    let cases = request.cases()?;
    let number = cases.len();
    state.metrics.checked.inc_by(request.len() as u64);
    let judged = blocking::check(state, deadline, move |state| {
        cases.iter().map(|case| Said::Judged(judge(&state.ledger, case))).collect::<Vec<_>>()
    });
    let mut said = judged.await?.unwrap_or_else(|| vec![Said::Late(deadline.late()); number]);
    match request.shape {
        Shape::Case => Ok(answer::json(&said.pop().unwrap_or_else(|| Said::Judged(no_opinion())))),
        _ => Ok(answer::json(&json!({"judgements": said}))),
    }
}

async fn check_message(
    state: &Arc<State>,
    caller: &Caller,
    deadline: Deadline,
    mail: Bytes,
) -> Result<Answered, Problem> {
    caller.spend(Spending::Checks, 1)?;
    let judged = blocking::check(state, deadline, move |state| {
        let case = Case::of_message(&mail, &Ep4::default());
        state.metrics.checked.inc_by(case.len() as u64);
        judge(&state.ledger, &case)
    });
    Ok(answer::json(&judged.await?.map_or(Said::Late(deadline.late()), Said::Judged)))
}

/// What is said of a message.
#[derive(Clone, Serialize)]
#[serde(untagged)]
enum Said {
    Judged(Judgement),
    Late(Late),
}

/// Where there is nothing to ask about, that is said.
fn judge(ledger: &Ledger, case: &Case) -> Judgement {
    if case.is_empty() { no_opinion() } else { ledger.check(case) }
}

fn no_opinion() -> Judgement {
    Judgement { verdict: Verdict::NoOpinion, reasons: Vec::new() }
}

/// Counts that somebody got these messages.
pub(crate) async fn see(
    state: &Arc<State>,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    let [asked] = query::parse(request.uri(), ["recipients"])?;
    let asked = asked.map(recipients_of_query).transpose()?;
    let (cases, written) = read_cases(state, request).await?;
    asked.into_iter().chain(written).try_for_each(check_recipients)?;
    // The address of a request is what proxies and logs show: it counts before the body.
    let recipients = asked.or(written).unwrap_or(1);
    caller.spend(Spending::Writes, cases.len())?;
    state.ledger.see(&cases, recipients)?;
    state.metrics.seen.inc_by(cases.len() as u64);
    Ok(answer::json_with(StatusCode::ACCEPTED, &json!({"accepted": cases.len()})))
}

fn check_recipients(recipients: u64) -> Result<(), Problem> {
    if (1..=RECIPIENTS_MAX).contains(&recipients) {
        return Ok(());
    }
    let why = format!("recipients = {recipients}: must be from 1 to {RECIPIENTS_MAX}");
    Err(Problem::new(StatusCode::BAD_REQUEST, "recipients", why))
}

fn recipients_of_query(text: &str) -> Result<u64, Problem> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number);
    number.ok_or_else(|| Problem::bad_query(format!("recipients={text} is no number")))
}
