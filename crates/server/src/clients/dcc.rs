//! What DCC's requests mean: a report sees and is told totals, a query is told totals, a report of MANY reports, a
//! delete forgets.
//!
//! Counted are the checksums of bodies, as DCC's own server does unless told otherwise; of all others only a whitelist
//! has an opinion. Totals are numbers of recipients. Clients reject mail for MANY, so it is said only of what was
//! reported or marked so, or from `dcc.many_at` on.

mod answered;
mod signer;

use std::sync::{Arc, OnceLock};

use seenit_ledger::error::WriteError;
use seenit_ledger::record::Verb;
use seenit_ledger::signature::Case;
use seenit_ledger::verdict::Verdict;
use seenit_signature::Kind;
use seenit_wire::dcc::{
    self, Admin, Body, Brand, CLOCK_SKEW_SECS_MAX, Count, REQUEST_BYTES_MAX, Reply, Request, SUMS_MAX,
    Sender, ServerId, Sum, Sums, Targets, Totals,
};

use self::answered::{Answered, Earlier};
use self::signer::{Later, Signer};
use super::desk::{Desk, Speaker, case_of};
use super::udp::{Asked, Datagrams};
use crate::accounts::Role;
use crate::audit::Origin;
use crate::error::StartError;
use crate::limits::Spending;
use crate::metrics::FrontEnd;
use crate::who::Who;

/// DCC's protocol.
pub(crate) struct Dcc {
    desk: Arc<Desk>,
    server: ServerId,
    brand: Brand,
    answered: Arc<Answered>,
}

/// One request, who sent it, and how it is answered.
struct Question<'a> {
    request: &'a Request<'a>,
    asked: &'a Asked<'a>,
    signer: &'a Signer,
    reply: Reply<'a>,
}

impl Dcc {
    pub(crate) fn new(desk: Arc<Desk>) -> Result<Self, StartError> {
        let config = &desk.backend.config.dcc;
        let system = |why: String| StartError::System(why);
        let server = ServerId::new(config.server_id).map_err(|error| system(error.to_string()))?;
        let brand = Brand::new(&config.brand).map_err(|error| system(error.to_string()))?;
        Ok(Dcc { desk, server, brand, answered: Arc::new(Answered::new()) })
    }
}

impl Datagrams for Dcc {
    fn bytes_max(&self) -> usize {
        REQUEST_BYTES_MAX
    }

    fn answer(&self, asked: &Asked<'_>, out: &mut Vec<u8>) {
        let Ok(request) = Request::decode(asked.datagram) else {
            return;
        };
        let Some(signer) = Signer::of(&request, asked.from.ip(), &self.desk) else {
            return;
        };
        let reply = Reply { server: self.server, to: &request.header, password: signer.password.as_ref() };
        if signer.password.is_some() {
            asked.prove();
        }
        let question = Question { request: &request, asked, signer: &signer, reply };
        match request.body {
            // What a client asks before it asks anything else.
            Body::Nop => self.greet(&question, out),
            Body::Query(sums) => self.query(sums, &question, out),
            Body::Report(targets, sums) => self.report(targets, sums, &question, out),
            Body::Delete { date, sum } => self.delete(date, sum, &question, out),
            Body::Admin(admin) => self.command(admin, &question, out),
        }
    }
}

impl Dcc {
    fn may(&self, question: &Question<'_>, what: Spending, number: usize) -> bool {
        self.desk.may(&question.signer.who, question.asked.from.ip(), what, number)
    }

    /// Says that we are here. Whoever asks without an account may have forged its address: that costs nobody there
    /// what it may check or report.
    fn greet(&self, question: &Question<'_>, out: &mut Vec<u8>) {
        let may = match question.signer.who {
            Who::Account(_) => self.may(question, Spending::Checks, 1),
            Who::Local | Who::Stranger => self.desk.may_fail(question.asked.from.ip()),
        };
        if may {
            question.reply.ok(&self.brand, 0, out);
        }
    }

    /// Totals, and nothing is counted.
    fn query(&self, sums: Sums<'_>, question: &Question<'_>, out: &mut Vec<u8>) {
        if !self.may(question, Spending::Checks, sums.len()) {
            return;
        }
        let mut totals = [Totals::NO_OPINION; SUMS_MAX];
        for (totals, sum) in totals.iter_mut().zip(sums.iter()) {
            *totals = self.known(&sum).unwrap_or_else(|kind| {
                let seen = self.desk.sightings(kind, &sum.digest);
                Totals::unchanged(self.count(seen.recipients, seen.many))
            });
        }
        let totals = totals.get(..sums.len()).unwrap_or_default();
        self.count_verdict(totals);
        question.reply.totals(totals, out);
    }

    /// DCC's answers are totals: MANY is what its clients take for bulk, and a whitelist says that mail is good.
    fn count_verdict(&self, totals: &[Totals]) {
        let says = |count: Count| totals.iter().any(|totals| totals.current == count);
        let verdict = match (says(Count::Many), says(Count::Ok)) {
            (_, true) => Verdict::Ham,
            (true, false) => Verdict::Bulk,
            (false, false) => Verdict::Unknown,
        };
        self.desk.backend.metrics.verdicts.count(FrontEnd::Dcc, verdict);
    }

    /// Counts a message, and says the totals. What came before is said again.
    fn report(&self, targets: Targets, sums: Sums<'_>, question: &Question<'_>, out: &mut Vec<u8>) {
        let reply = &question.reply;
        if targets.many && !question.signer.who.may_say(Role::Report) {
            return reply.error("MANY needs an account", out);
        }
        if !self.may(question, Spending::Writes, 1) {
            return;
        }
        let which = self.answered.which(question.request, question.asked.from.ip());
        match self.answered.begin(which) {
            Some(Earlier::Totals(totals)) => {
                return reply.totals(totals.get(..sums.len()).unwrap_or_default(), out);
            }
            Some(Earlier::UnderWay | Earlier::Done) => return,
            None => {}
        }
        // Behind the limits and for no copy, because it costs a question to the kernel.
        let speaker = if targets.many { self.speaker(Role::Report, question) } else { None };
        // A mark has no weight: whoever is not trusted with one has reported it, and no more.
        let is_marked = speaker.is_some_and(|speaker| self.desk.is_trusted(speaker));
        let targets = Targets { many: is_marked, ..targets };
        let totals = match self.counted(targets, sums, question) {
            Ok(totals) => totals,
            Err(error) => {
                self.answered.fail(which);
                return reply.error(refusal(&error), out);
            }
        };
        self.count_verdict(totals.get(..sums.len()).unwrap_or_default());
        let case = if speaker.is_some() { self.case_of(sums) } else { Case::new() };
        let Some(speaker) = speaker.filter(|_| !case.is_empty()) else {
            self.answered.end(which, Earlier::Totals(totals));
            return reply.totals(totals.get(..sums.len()).unwrap_or_default(), out);
        };
        let later = self.later(question, which);
        let number = sums.len();
        self.report_many(case, speaker, question.asked.origin(FrontEnd::Dcc), is_marked, move |result| {
            match result {
                Ok(()) => later.send(Ok(Earlier::Totals(totals)), |reply, out| {
                    reply.totals(totals.get(..number).unwrap_or_default(), out);
                }),
                Err(error) => later.send(Err(()), |reply, out| reply.error(refusal(&error), out)),
            }
        });
    }

    fn speaker(&self, role: Role, question: &Question<'_>) -> Option<Speaker> {
        self.desk.speaker(&question.signer.who, role, |owners| question.asked.owner(owners))
    }

    /// A report of spam, and from those who are trusted with it a mark that stands for more than any number.
    fn report_many(
        &self,
        case: Case,
        speaker: Speaker,
        origin: Origin,
        is_marked: bool,
        done: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        if !is_marked {
            return self
                .desk
                .say(Verb::Report, speaker, origin, vec![case], |result| done(result.map(|_| ())));
        }
        // The ledger writes in the order in which it is asked: when the mark is durable, the report is, too.
        let failure = Arc::new(OnceLock::new());
        let reported = Arc::clone(&failure);
        self.desk.say(Verb::Report, speaker, origin, vec![case.clone()], move |result| {
            if let Err(error) = result {
                // It is set once.
                let _ = reported.set(error);
            }
        });
        self.desk.say(Verb::Many, speaker, origin, vec![case], move |result| {
            done(failure.get().cloned().map_or(result.map(|_| ()), Err));
        });
    }

    /// Has a checksum forgotten. Only this server's own number may, and an account with that name that may do all.
    fn delete(&self, date: u32, sum: Sum, question: &Question<'_>, out: &mut Vec<u8>) {
        let is_own = question.request.header.sender == Sender::Server(self.server.number());
        if !is_own || question.signer.password.is_none() {
            return;
        }
        let Some(speaker) = self.speaker(Role::Admin, question) else {
            return;
        };
        let reply = &question.reply;
        let off = self.desk.backend.clock.now_secs().abs_diff(date.into());
        if off > CLOCK_SKEW_SECS_MAX.into() {
            return reply.error(&format!("timestamp off by {off} seconds"), out);
        }
        let which = self.answered.which(question.request, question.asked.from.ip());
        match self.answered.begin(which) {
            Some(Earlier::Done) => return reply.ok(&self.brand, 0, out),
            Some(_) => return,
            None => {}
        }
        let kind = kind_of(sum.kind);
        let seen = kind.map(|kind| self.desk.sightings(kind, &sum.digest)).unwrap_or_default();
        let case = kind.and_then(|kind| case_of(kind, &sum.digest));
        let case = case.filter(|_| seen.many || seen.recipients > 0);
        let Some(case) = case else {
            self.answered.fail(which);
            let why = if seen.forgotten { "already deleted" } else { "not found to delete" };
            return reply.error(&format!("{sum} {why}"), out);
        };
        let later = self.later(question, which);
        let brand = self.brand.clone();
        self.desk.say(
            Verb::Forget,
            speaker,
            question.asked.origin(FrontEnd::Dcc),
            vec![case],
            move |result| match result {
                Ok(_) => later.send(Ok(Earlier::Done), |reply, out| reply.ok(&brand, 0, out)),
                Err(error) => later.send(Err(()), |reply, out| reply.error(refusal(&error), out)),
            },
        );
    }

    /// Statistics are told; other commands are not served. Strangers are told nothing.
    fn command(&self, admin: Admin, question: &Question<'_>, out: &mut Vec<u8>) {
        if question.signer.is_stranger(&self.desk) || !self.may(question, Spending::Writes, 1) {
            return;
        }
        if admin.command != Admin::STATISTICS {
            return question.reply.error("this command is not served", out);
        }
        let backend = &self.desk.backend;
        let seen = backend.metrics.seen.get();
        let written = backend.metrics.written.get();
        let text = format!(
            "    version seenit-{}\n    up {} seconds, {seen} messages seen, {written} reported and so on\n",
            env!("CARGO_PKG_VERSION"),
            backend.started.elapsed().as_secs(),
        );
        question.reply.text(&text, admin.value, out);
    }

    /// The totals of a checksum that nobody counts; else the kind that it is counted as.
    fn known(&self, sum: &Sum) -> Result<Totals, Kind> {
        match (self.desk.backend.live().whitelist.get(sum), kind_of(sum.kind)) {
            (Some(count), _) => Ok(Totals::unchanged(count)),
            (None, Some(kind)) => Err(kind),
            (None, None) => Ok(Totals::NO_OPINION),
        }
    }

    /// Counts recipients of every checksum that is counted. Those of strangers are kept apart: they are told totals
    /// that they do not change.
    fn counted(
        &self,
        targets: Targets,
        sums: Sums<'_>,
        question: &Question<'_>,
    ) -> Result<[Totals; SUMS_MAX], WriteError> {
        let mut totals = [Totals::NO_OPINION; SUMS_MAX];
        let mut recipients = u64::from(targets.recipients);
        let is_by_stranger = question.signer.is_stranger(&self.desk) && recipients > 0;
        if is_by_stranger {
            recipients = 0;
        }
        for (totals, sum) in totals.iter_mut().zip(sums.iter()) {
            *totals = match self.known(&sum) {
                Ok(totals) => totals,
                Err(kind) => {
                    if is_by_stranger {
                        self.desk.see_by_stranger(kind, &sum.digest, question.asked.from.ip());
                    }
                    let before = self.desk.sightings(kind, &sum.digest);
                    // What others count in between is in both totals, so that they differ by this report.
                    let total = match recipients {
                        0 => before.recipients,
                        _ => self.desk.see(kind, &sum.digest, recipients)?,
                    };
                    Totals {
                        current: self.count(total, before.many || targets.many),
                        previous: self.count(total.saturating_sub(recipients), before.many),
                    }
                }
            };
        }
        if !is_by_stranger {
            self.desk.backend.metrics.seen.inc();
        }
        Ok(totals)
    }

    /// How a total is said.
    fn count(&self, recipients: u64, many: bool) -> Count {
        let many_at = self.desk.backend.live().config.dcc.many_at;
        if many || (many_at > 0 && recipients >= many_at.into()) {
            Count::Many
        } else {
            Count::Number(u32::try_from(recipients).unwrap_or(u32::MAX))
        }
    }

    /// The checksums that are counted: those of one message.
    fn case_of(&self, sums: Sums<'_>) -> Case {
        let mut case = Case::new();
        for sum in sums.iter() {
            if let Err(kind) = self.known(&sum) {
                // A checksum has the length of its kind, and a request fewer than a case may have.
                let _ = case.push(kind, &sum.digest);
            }
        }
        case
    }

    fn later(&self, question: &Question<'_>, which: answered::Which) -> Later {
        Later {
            server: self.server,
            header: question.request.header,
            password: question.signer.password.clone(),
            way_back: question.asked.way_back(),
            answered: Arc::clone(&self.answered),
            which,
        }
    }
}

/// What a checksum is counted as, if it is.
fn kind_of(kind: dcc::SumKind) -> Option<Kind> {
    match kind {
        dcc::SumKind::Body => Some(Kind::DccBody),
        dcc::SumKind::Fuz1 => Some(Kind::DccFuz1),
        dcc::SumKind::Fuz2 => Some(Kind::DccFuz2),
        _ => None,
    }
}

/// Why something was not remembered.
fn refusal(error: &WriteError) -> &'static str {
    match error {
        error if error.is_too_much() => "too many reports",
        WriteError::Empty => "checksums of nothing",
        _ => "not remembered",
    }
}
