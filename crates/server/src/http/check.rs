//! `check` and `see`: what is known, and that something was seen.

use std::sync::Arc;

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
use super::caller::Caller;
use super::counting::{Counted, Counting};
use super::deadline::{Deadline, Late};
use super::json::{self, Shape};
use super::problem::Problem;
use super::write::read_cases;
use super::{binary, query};
use crate::backend::{Backend, blocking};
use crate::limits::{Spending, cost_of, cost_of_bytes, cost_of_sighting, cost_of_signatures};
use crate::memory::Held;
use crate::metrics::FrontEnd;
use seenit_ledger::RECIPIENTS_MAX;

/// Signatures that are looked up between two looks at the clock: some tens of microseconds, unless their memory has to
/// be read from a disk first.
const STRIDE: usize = 1024;

/// Answers for a message, a case, cases, or signatures one by one, by the deadline: what is not known by then is no
/// opinion.
///
/// Signatures one by one are answered from memory, right here: nothing waits, nothing is allocated for each.
pub(crate) async fn check(
    backend: &Arc<Backend>,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    let [see] = query::parse(request.uri(), ["see"])?;
    let counting = Counting::of_query(see, caller)?;
    let (media, body) = body::read(backend, caller, request).await?;
    let options = CheckOptions { deadline: Deadline::from_now(&backend.config.check), counting };
    match media {
        Media::Message => {
            caller.spend(Spending::Checks, cost_of_bytes(body.len()))?;
            options.spend(caller, 1);
            check_message(backend, caller, &options, body).await
        }
        Media::Binary => {
            let signatures = binary::signatures(&body)?;
            caller.spend(Spending::Checks, signatures.len())?;
            options.spend(caller, cost_of_signatures(signatures.len()));
            let known = answers(backend, &options, &signatures);
            let known = known.map_or_else(|| no_opinions(signatures.len()), |known| known.answers);
            Ok(answer::binary_answers(&known, options.counted().as_ref()))
        }
        Media::Json => {
            let request = json::Request::parse(&body)?;
            caller.spend(Spending::Checks, request.len().max(1))?;
            if request.recipients.is_some() {
                return Err(Problem::bad_body("a check has no \"recipients\": add ?see=N to its address"));
            }
            check_json(backend, caller, &options, &request).await
        }
    }
}

/// What goes with every check: until when it is answered, and how many recipients it counts.
pub(super) struct CheckOptions {
    pub(super) deadline: Deadline,
    pub(super) counting: Option<Counting>,
}

impl CheckOptions {
    fn spend(&self, caller: &Caller, cost: usize) {
        if let Some(counting) = &self.counting {
            counting.spend(caller, cost);
        }
    }

    fn counted(&self) -> Option<Counted> {
        self.counting.as_ref().map(Counting::told)
    }
}

/// What memory says of signatures one by one.
pub(super) struct SignatureAnswers {
    pub(super) answers: Vec<Answer>,
    /// How many recipients got each, where they are counted.
    pub(super) seen: Vec<u64>,
}

/// What memory says of each signature, counted where that is asked for; `None` when the deadline passed first.
pub(super) fn answers(
    backend: &Backend,
    options: &CheckOptions,
    signatures: &[SignatureRef<'_>],
) -> Option<SignatureAnswers> {
    let all = signatures.len();
    let mut answers = vec![Answer::default(); all];
    for (signatures, answers) in signatures.chunks(STRIDE).zip(answers.chunks_mut(STRIDE)) {
        if options.deadline.has_passed() {
            backend.metrics.verdicts.count_all(FrontEnd::Http, std::iter::repeat_n(Verdict::NoOpinion, all));
            return None;
        }
        backend.ledger.check_many(signatures, answers);
    }
    let mut seen = Vec::new();
    if let Some(counting) = &options.counting {
        seen = vec![0; signatures.len()];
        counting.count_signatures(backend, signatures, &mut answers, &mut seen);
    }
    backend.metrics.checked.inc_by(signatures.len() as u64);
    backend.metrics.verdicts.count_all(FrontEnd::Http, answers.iter().map(|answer| answer.verdict));
    Some(SignatureAnswers { answers, seen })
}

pub(super) fn no_opinions(number: usize) -> Vec<Answer> {
    vec![Answer { verdict: Verdict::NoOpinion, ..Answer::default() }; number]
}

async fn check_json(
    backend: &Arc<Backend>,
    caller: &Caller,
    options: &CheckOptions,
    request: &json::Request,
) -> Result<Answered, Problem> {
    if request.shape == Shape::Signatures {
        options.spend(caller, cost_of_signatures(request.len()));
        let known = answers(backend, options, &request.signatures());
        let counted = options.counted();
        return Ok(match known {
            Some(known) => answer::json_answers(&known.answers, &known.seen, counted.as_ref()),
            None => {
                answer::json(&WithCounted { said: options.deadline.late().answers(request.len()), counted })
            }
        });
    }
    let cases = request.cases()?;
    let number = cases.len();
    options.spend(caller, cost_of(&cases));
    backend.metrics.checked.inc_by(request.len() as u64);
    let counting = options.counting.clone();
    let judged =
        blocking::check(backend, caller.budget(backend), options.deadline.instant(), move |backend| {
            if let Some(counting) = counting {
                counting.count_cases(backend, &cases);
            }
            cases.iter().map(|case| Said::Judged(judge(&backend.ledger, case))).collect::<Vec<_>>()
        });
    let mut said = judged.await?.unwrap_or_else(|| vec![Said::Late(options.deadline.late()); number]);
    backend.metrics.verdicts.count_all(FrontEnd::Http, said.iter().map(Said::verdict));
    let counted = options.counted();
    match request.shape {
        Shape::Case => {
            let said = said.pop().unwrap_or_else(|| Said::Judged(no_opinion()));
            Ok(answer::json(&WithCounted { said, counted }))
        }
        _ => Ok(answer::json(&WithCounted { said: Judgements { judgements: said }, counted })),
    }
}

async fn check_message(
    backend: &Arc<Backend>,
    caller: &Caller,
    options: &CheckOptions,
    mail: Held,
) -> Result<Answered, Problem> {
    let counting = options.counting.clone();
    let judged =
        blocking::check(backend, caller.budget(backend), options.deadline.instant(), move |backend| {
            let case = Case::of_message(&mail, &Ep4::default());
            backend.metrics.checked.inc_by(case.len() as u64);
            if let Some(counting) = counting {
                counting.count_cases(backend, std::slice::from_ref(&case));
            }
            judge(&backend.ledger, &case)
        });
    let said = judged.await?.map_or(Said::Late(options.deadline.late()), Said::Judged);
    backend.metrics.verdicts.count(FrontEnd::Http, said.verdict());
    Ok(answer::json(&WithCounted { said, counted: options.counted() }))
}

/// An answer, and whether recipients were counted, where that was asked for.
#[derive(Serialize)]
struct WithCounted<T> {
    #[serde(flatten)]
    said: T,
    #[serde(flatten)]
    counted: Option<Counted>,
}

/// What is said of each message. Written as it is: a tree of values would take ten times the bytes of the answer.
#[derive(Serialize)]
struct Judgements {
    judgements: Vec<Said>,
}

/// What is said of a message.
#[derive(Clone, Serialize)]
#[serde(untagged)]
enum Said {
    Judged(Judgement),
    Late(Late),
}

impl Said {
    fn verdict(&self) -> Verdict {
        match self {
            Said::Judged(judgement) => judgement.verdict,
            Said::Late(_) => Verdict::NoOpinion,
        }
    }
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
    backend: &Arc<Backend>,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    let [asked] = query::parse(request.uri(), ["recipients"])?;
    let asked = asked.map(recipients_of_query).transpose()?;
    let (cases, written) = read_cases(backend, caller, request).await?;
    asked.into_iter().chain(written).try_for_each(check_recipients)?;
    // The address of a request is what proxies and logs show: it counts before the body.
    let recipients = asked.or(written).unwrap_or(1);
    caller.spend(Spending::Writes, cost_of_sighting(cost_of(&cases), recipients))?;
    match caller.stranger() {
        Some(network) => backend.ledger.see_by_anonymous(cases.iter().flat_map(Case::iter), network.into()),
        None => {
            backend.ledger.see(&cases, recipients)?;
            backend.metrics.seen.inc_by(cases.len() as u64);
        }
    }
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
