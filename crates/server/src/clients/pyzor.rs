//! What Pyzor's requests mean: check asks, report reports, whitelist revokes.

use std::sync::Arc;

use seenit_ledger::error::WriteError;
use seenit_ledger::record::Verb;
use seenit_ledger::signature::Case;
use seenit_ledger::verdict::Verdict;
use seenit_signature::Kind;
use seenit_wire::pyzor::{
    Counts, DATAGRAM_BYTES_MAX, DecodeError, EMPTY_DIGEST, HashedKey, Op, PyzorAnswer, Refusal, Request,
    Signature,
};

use super::desk::{Desk, case_of};
use super::recent::Recent;
use super::udp::{Asked, Datagrams};
use crate::accounts::Role;
use crate::limits::Spending;
use crate::metrics::FrontEnd;
use crate::secrets::Protocol;
use crate::who::Who;

/// Digests of one request: a datagram has room for more than anybody reports at once.
const DIGESTS_MAX: usize = 64;

/// Pyzor's protocol.
pub(crate) struct Pyzor {
    desk: Arc<Desk>,
    /// Checks, and what was said, that came a moment ago. Apart, so that many checks do not displace a report.
    checked: Recent,
    said: Recent,
}

impl Pyzor {
    pub(crate) fn new(desk: Arc<Desk>) -> Self {
        Pyzor { desk, checked: Recent::new(), said: Recent::new() }
    }
}

impl Datagrams for Pyzor {
    fn bytes_max(&self) -> usize {
        DATAGRAM_BYTES_MAX
    }

    fn answer(&self, asked: &Asked<'_>, out: &mut Vec<u8>) {
        let (thread, answer) = match Request::decode(asked.datagram) {
            Ok(request) => (request.thread, self.serve(&request, asked)),
            Err(DecodeError::Refused { thread, refusal }) => (thread, Some(PyzorAnswer::Refused(refusal))),
            Err(DecodeError::NotARequest) => return,
        };
        if let Some(answer) = answer {
            answer.write(thread, out);
        }
    }
}

impl Pyzor {
    /// The answer to a request; none where it comes later, or where a copy of the request gets it.
    fn serve(&self, request: &Request<'_>, asked: &Asked<'_>) -> Option<PyzorAnswer> {
        let who = match self.who(request, asked) {
            Ok(who) => who,
            Err(refusal) => return Some(PyzorAnswer::Refused(refusal)),
        };
        match request.op {
            Op::Ping => Some(PyzorAnswer::Done),
            Op::Pong => Some(PyzorAnswer::Pong),
            Op::Check => {
                let counts = self.counts(request, &who, asked);
                if counts.is_ok() {
                    self.see(request, &who, asked);
                }
                Some(counts.map_or_else(PyzorAnswer::Refused, PyzorAnswer::Counts))
            }
            Op::Info => {
                let counts = self.counts(request, &who, asked);
                Some(counts.map_or_else(PyzorAnswer::Refused, |counts| PyzorAnswer::Info(None, counts)))
            }
            Op::Report => self.say(Verb::Report, Role::Report, request, &who, asked),
            Op::Whitelist => self.say(Verb::Revoke, Role::Revoke, request, &who, asked),
        }
    }

    /// Whoever signed the request.
    fn who(&self, request: &Request<'_>, asked: &Asked<'_>) -> Result<Who, Refusal> {
        let Some(user) = request.user else {
            return Ok(Who::at(asked.from.ip()));
        };
        let known = self.desk.account(user, Protocol::Pyzor).map_err(|_| Refusal::Internal)?;
        let Some((account, secret)) = known else {
            return Err(self.unproved(user, "unknown-account", Refusal::UnknownUser, asked));
        };
        let key = HashedKey::of(user, &String::from_utf8_lossy(&secret));
        match request.signature(&key, self.desk.backend.clock.now_secs()) {
            Signature::Good => {
                asked.prove();
                Ok(Who::Account(account))
            }
            Signature::Anonymous | Signature::Bad => {
                Err(self.unproved(user, "bad-signature", Refusal::BadSignature, asked))
            }
            Signature::TooOld { .. } => Err(self.unproved(user, "signature-too-old", Refusal::TooOld, asked)),
        }
    }

    /// Refuses whoever is not who they say, and tells the log of it unless it happens too often.
    fn unproved(&self, user: &str, why: &'static str, refusal: Refusal, asked: &Asked<'_>) -> Refusal {
        if !self.desk.may_fail(asked.from.ip()) {
            return Refusal::TooMany;
        }
        self.desk.refused(asked.origin(FrontEnd::Pyzor), user, why);
        refusal
    }

    /// Raw totals; no reports where the verdict is not spam, because clients call anything above zero spam, and no
    /// whitelistings where it is not ham, because clients call nothing spam that anybody has whitelisted, whoever that
    /// was.
    fn counts(&self, request: &Request<'_>, who: &Who, asked: &Asked<'_>) -> Result<Counts, Refusal> {
        let digest = request.digests().next().ok_or(Refusal::BadDigest)?;
        if !self.desk.may(who, asked.from.ip(), Spending::Checks, 1) {
            return Err(Refusal::TooMany);
        }
        let known = self.desk.look_up(Kind::Pyzor, &digest);
        self.desk.backend.metrics.verdicts.count(FrontEnd::Pyzor, known.verdict);
        Ok(match known.verdict {
            Verdict::Spam => Counts { reports: known.raw.into(), whitelistings: 0 },
            Verdict::Ham => Counts { reports: 0, whitelistings: known.raw_against.into() },
            Verdict::Bulk | Verdict::Unknown | Verdict::NoOpinion => Counts { reports: 0, whitelistings: 0 },
        })
    }

    /// A mail server checks a message when it arrives: one more got it. `info` is a person's question.
    fn see(&self, request: &Request<'_>, who: &Who, asked: &Asked<'_>) {
        let digest = request.digests().next().filter(|_| !self.checked.is_copy(asked.from, asked.datagram));
        if let Some(digest) = digest {
            self.desk.see_checked(Kind::Pyzor, &digest, who, asked.from.ip());
        }
    }

    /// Has every digest remembered, and answers when that is durable.
    fn say(
        &self,
        verb: Verb,
        role: Role,
        request: &Request<'_>,
        who: &Who,
        asked: &Asked<'_>,
    ) -> Option<PyzorAnswer> {
        if !who.may_say(role) {
            self.desk.refused(asked.origin(FrontEnd::Pyzor), who.name(), "role-missing");
            return Some(PyzorAnswer::Refused(Refusal::Forbidden));
        }
        let cases: Vec<Case> = request
            .digests()
            .take(DIGESTS_MAX + 1)
            .filter(|digest| *digest != EMPTY_DIGEST)
            .filter_map(|digest| case_of(Kind::Pyzor, &digest))
            .collect();
        if cases.is_empty() {
            let is_none = request.digests().next().is_none();
            return Some(PyzorAnswer::Refused(if is_none {
                Refusal::BadDigest
            } else {
                Refusal::EmptyMessage
            }));
        }
        let is_within =
            cases.len() <= DIGESTS_MAX && self.desk.may(who, asked.from.ip(), Spending::Writes, cases.len());
        if !is_within {
            return Some(PyzorAnswer::Refused(Refusal::TooMany));
        }
        if self.said.is_copy(asked.from, asked.datagram) {
            return None;
        }
        // Last, because it costs a question to the kernel.
        let speaker = self.desk.speaker(who, role, |owners| asked.owner(owners))?;
        let thread = request.thread;
        let way_back = asked.way_back();
        self.desk.say(verb, speaker, asked.origin(FrontEnd::Pyzor), cases, move |result| {
            let answer = match result {
                Ok(_) => PyzorAnswer::Done,
                Err(WriteError::Empty) => PyzorAnswer::Refused(Refusal::EmptyMessage),
                Err(error) if error.is_too_much() => PyzorAnswer::Refused(Refusal::TooMany),
                Err(_) => PyzorAnswer::Refused(Refusal::Internal),
            };
            let mut out = Vec::new();
            answer.write(thread, &mut out);
            way_back.send(&out);
        });
        None
    }
}
