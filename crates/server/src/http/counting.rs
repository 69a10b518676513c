//! Counting within a check: `see=N` says that N recipients got what is asked about. It is counted before it is judged,
//! so that the answer has these sightings in it.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::StatusCode;
use seenit_ledger::ledger::Ledger;
use seenit_ledger::signature::{Case, SignatureRef};
use seenit_ledger::verdict::{Answer, Verdict};
use serde::Serialize;

use super::caller::Caller;
use super::problem::Problem;
use crate::backend::Backend;
use crate::limits::{Spending, cost_of_sighting};
use crate::network::Network;
use seenit_ledger::RECIPIENTS_MAX;

/// The recipients that one check is to count, and what became of them. The work that counts and the request that waits
/// for it share it: whichever of the two is first decides whether they are counted.
#[derive(Clone)]
pub(crate) struct Counting {
    recipients: u64,
    /// Whoever counts, where that is a stranger.
    stranger: Option<Network>,
    outcome: Arc<Mutex<Outcome>>,
}

enum Outcome {
    NotYet,
    Counted,
    Refused(String),
}

/// What is said of it in the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Counted {
    counted: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_counted: Option<String>,
}

impl Counting {
    /// What `see=N` asks for; nothing where N is 0 or not given.
    pub(crate) fn of_query(text: Option<&str>, caller: &Caller) -> Result<Option<Self>, Problem> {
        let Some(text) = text else {
            return Ok(None);
        };
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| is_number && *number <= RECIPIENTS_MAX);
        let recipients: u64 = number.ok_or_else(|| {
            let text: String = text.chars().take(64).collect();
            let why = format!("see={text}: must be a number of recipients from 0 to {RECIPIENTS_MAX}");
            Problem::new(StatusCode::BAD_REQUEST, "recipients", why)
        })?;
        let counting = || Counting {
            recipients,
            stranger: caller.stranger(),
            outcome: Arc::new(Mutex::new(Outcome::NotYet)),
        };
        Ok((recipients > 0).then(counting))
    }

    /// Spends what a `see` of this cost does. Where the limit is used up nothing is counted, and the check is
    /// answered all the same: mail must not go unchecked because too much of it is counted.
    pub(crate) fn spend(&self, caller: &Caller, cost: usize) {
        let cost = cost_of_sighting(cost, self.recipients);
        if let Err(used_up) = caller.spend(Spending::Writes, cost) {
            self.put(Outcome::Refused(used_up.why().to_owned()));
        }
    }

    /// Counts recipients of every message, unless that was refused or nobody waits any more.
    pub(crate) fn count_cases(&self, backend: &Backend, cases: &[Case]) {
        let is_counted = |case: &Case| case.iter().any(|signature| signature.kind().is_exact());
        if let Some(network) = self.stranger {
            return self.keep_apart(backend, cases.iter().flat_map(Case::iter), network);
        }
        self.count(backend, cases.iter().filter(|case| is_counted(case)).count(), |ledger| {
            ledger.see(cases, self.recipients)
        });
    }

    /// Counts recipients of every signature that names one message, and puts what it comes to into the answers and into
    /// `seen`.
    pub(crate) fn count_signatures(
        &self,
        backend: &Backend,
        signatures: &[SignatureRef<'_>],
        answers: &mut [Answer],
        seen: &mut [u64],
    ) {
        if let Some(network) = self.stranger {
            return self.keep_apart(backend, signatures.iter().copied(), network);
        }
        let exact = signatures.iter().filter(|signature| signature.kind().is_exact()).count();
        let bulk_at = backend.config.ledger.bulk_threshold;
        self.count(backend, exact, |ledger| {
            let mut refused = Ok(());
            for ((signature, answer), seen) in signatures.iter().zip(answers).zip(seen) {
                if signature.kind().is_exact() {
                    // What finds no room in the counts has those of before, and the others are counted all the same.
                    *seen = ledger.see_one(*signature, self.recipients).unwrap_or_else(|error| {
                        refused = Err(error);
                        ledger.sightings(*signature).recipients
                    });
                    // The count is known before the mark of it is durable.
                    let is_bulk =
                        signature.kind().names_message() && *seen >= bulk_at && ledger.believes_counts();
                    if is_bulk && answer.verdict == Verdict::Unknown && !answer.good {
                        answer.verdict = Verdict::Bulk;
                    }
                }
            }
            refused
        });
    }

    /// What a stranger sees is a reason of later answers, and no recipient is counted.
    fn keep_apart<'a>(
        &self,
        backend: &Backend,
        signatures: impl Iterator<Item = SignatureRef<'a>>,
        network: Network,
    ) {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*outcome, Outcome::NotYet) {
            backend.ledger.see_by_anonymous(signatures, network.into());
            let why = "only accounts that the operator made count recipients: what others saw is kept apart, one \
                       for each client network";
            *outcome = Outcome::Refused(why.to_owned());
        }
    }

    fn count(
        &self,
        backend: &Backend,
        messages: usize,
        see: impl FnOnce(&Ledger) -> Result<(), seenit_ledger::WriteError>,
    ) {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*outcome, Outcome::NotYet) {
            return;
        }
        *outcome = if messages == 0 {
            Outcome::Refused("it has no signature that names one message".to_owned())
        } else {
            match see(&backend.ledger) {
                Ok(()) => {
                    backend.metrics.seen.inc_by(messages as u64);
                    Outcome::Counted
                }
                Err(error) => Outcome::Refused(error.to_string()),
            }
        };
    }

    /// What became of it. What is not counted by now will not be: the answer says so.
    pub(crate) fn told(&self) -> Counted {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*outcome, Outcome::NotYet) {
            *outcome = Outcome::Refused("the deadline of the check passed before it was counted".to_owned());
        }
        match &*outcome {
            Outcome::Refused(why) => Counted { counted: false, not_counted: Some(why.clone()) },
            Outcome::NotYet | Outcome::Counted => Counted { counted: true, not_counted: None },
        }
    }

    fn put(&self, outcome: Outcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
    }
}

impl Counted {
    /// The same as the value of a header, for answers that have no other place for it.
    pub(crate) fn header(&self) -> String {
        match &self.not_counted {
            None => "true".to_owned(),
            Some(why) => {
                let plain = |c: char| if matches!(c, ' '..='~') { c } else { '?' };
                format!("false; {}", why.chars().map(plain).collect::<String>())
            }
        }
    }
}
