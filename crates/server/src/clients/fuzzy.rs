//! What the commands of rspamd's fuzzy check mean: check asks, add reports, revokes or labels by its flag, delete
//! withdraws.

mod envelope;
mod labels;
mod saying;
mod seals;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use seenit_ledger::error::WriteError;
use seenit_ledger::verdict::{Answer, Verdict};
use seenit_signature::Kind;
use seenit_wire::fuzzy::{
    Action, Command, DATAGRAM_BYTES_MAX, Packet, Refusal, Reply, SHINGLES, SHINGLES_HALF, SecretKey,
};

use self::envelope::Envelope;
use self::labels::Label;
use self::saying::Saying;
use self::seals::Seals;
pub(crate) use self::seals::key_in;
use super::desk::Desk;
use super::recent::Recent;
use super::udp::{Asked, Datagrams};
use crate::config;
use crate::limits::Spending;
use crate::metrics::FrontEnd;
use crate::who::Who;

/// What it is called.
pub(crate) const NAME: &str = "Fuzzy";

/// The digest of no text: some clients send it for want of one.
const NO_DIGEST: [u8; 64] = [0; 64];

/// rspamd asks about all parts of a message at once, from a port that it opens for that message. What comes from one
/// port within this time is of one message: a burst takes far less, and another message gets the same port far later.
const MESSAGE_WITHIN: Duration = Duration::from_millis(500);

/// The protocol of rspamd's fuzzy storage.
pub(crate) struct Fuzzy {
    desk: Arc<Desk>,
    rules: config::Fuzzy,
    seals: Seals,
    /// Checks, and what was said, that came a moment ago. Apart, so that many checks do not displace a report.
    checked: Recent,
    said: Recent,
    /// From where somebody asked a moment ago about a part that nobody reported.
    unreported: Recent,
}

/// Whoever asks has asked too much lately.
struct TooMuch;

impl Fuzzy {
    pub(crate) fn new(desk: Arc<Desk>, key: SecretKey) -> Self {
        let rules = desk.backend.config.fuzzy.clone();
        let unreported = Recent::within(MESSAGE_WITHIN);
        Fuzzy { desk, rules, seals: Seals::new(key), checked: Recent::new(), said: Recent::new(), unreported }
    }
}

impl Datagrams for Fuzzy {
    fn bytes_max(&self) -> usize {
        DATAGRAM_BYTES_MAX
    }

    fn answer(&self, asked: &Asked<'_>, out: &mut Vec<u8>) {
        let Some((command, envelope, who)) = self.open(asked) else {
            return;
        };
        match self.serve(&command, &envelope, &who, asked) {
            Ok(Some(reply)) => envelope.write(&reply, out),
            Ok(None) => {}
            Err(TooMuch) => {
                envelope.write(&Reply::refused(&command, Refusal::Forbidden), out);
            }
        }
    }
}

impl Fuzzy {
    /// The command, how it is answered, and who sent it; none of bytes that are no command.
    fn open(&self, asked: &Asked<'_>) -> Option<(Command, Envelope, Who)> {
        let anybody = Who::at(asked.from.ip());
        match Packet::decode(asked.datagram).ok()? {
            Packet::Plain(command) => Some((command, Envelope { form: command.form, key: None }, anybody)),
            Packet::Sealed(sealed) => {
                let may = |account: Option<&str>| self.may_agree(account, asked);
                let (command, opener) = self.seals.open(&sealed, &self.desk.backend.secrets, may)?;
                let account = opener.account.and_then(|name| self.desk.backend.accounts.get(&name));
                let who = account.map_or(anybody, Who::Account);
                if matches!(who, Who::Account(_)) {
                    asked.prove();
                }
                Some((command, Envelope { form: command.form, key: Some(opener.key) }, who))
            }
        }
    }

    /// Whether a client with a new key may cost us a key agreement, which takes far longer than other proofs do: it is
    /// bounded before it is known whether the client can seal. A client that seals for an account's key spends the
    /// account's own bucket. Only who has seen the account's datagrams knows the name of its key: whoever forges
    /// addresses of its network without that spends the network's bucket.
    fn may_agree(&self, account: Option<&str>, asked: &Asked<'_>) -> bool {
        match account.and_then(|name| self.desk.backend.accounts.get(name)) {
            Some(account) => account.budget.spend(Spending::Failures, 1).is_ok(),
            None => self.desk.may_fail(asked.from.ip()),
        }
    }

    /// The answer to a command; none where it comes later, or where a copy of the command gets it.
    fn serve(
        &self,
        command: &Command,
        envelope: &Envelope,
        who: &Who,
        asked: &Asked<'_>,
    ) -> Result<Option<Reply>, TooMuch> {
        if !self.desk.may(who, asked.from.ip(), Spending::Checks, 1) {
            return Err(TooMuch);
        }
        let refused = |refusal| Ok(Some(Reply::refused(command, refusal)));
        if self.rules.require_encryption && envelope.key.is_none() {
            return refused(Refusal::SealRequired);
        }
        let is_about_nothing = command.digest == NO_DIGEST;
        match command.action {
            Action::Ping => Ok(Some(Reply::done(command))),
            Action::Count => {
                let known = self.desk.backend.ledger.signatures();
                Ok(Some(Reply::count(command, known.try_into().unwrap_or(u32::MAX))))
            }
            _ if is_about_nothing => refused(Refusal::Skipped),
            Action::Check => {
                // rspamd checks the parts of a message when it arrives, and repeats what gets no answer.
                if !self.checked.is_copy(asked.from, &what_is_said(command)) {
                    self.desk.see_checked(Kind::Rspamd, &command.digest, who, asked.from.ip());
                }
                let (verdict, reply) = self.check(command, asked.from);
                self.desk.backend.metrics.verdicts.count(FrontEnd::Fuzzy, verdict);
                Ok(Some(reply))
            }
            // Before anything is looked up for it.
            Action::Write | Action::Delete if matches!(who, Who::Stranger) => refused(Refusal::Forbidden),
            Action::Write | Action::Delete => match Saying::of(command, &self.rules, &self.desk) {
                Some(saying) => self.say(saying, command, envelope, who, asked),
                None => refused(Refusal::Forbidden),
            },
        }
    }

    /// What is known: raw totals, and nothing while the verdict is neither spam nor ham. Of several flags the one with
    /// the highest value is answered.
    fn check(&self, command: &Command, from: SocketAddr) -> (Verdict, Reply) {
        let known = self.desk.look_up(Kind::Rspamd, &command.digest);
        if known.protected {
            self.unreported.note(from, &[]);
            return (known.verdict, Reply::refused(command, Refusal::Skipped));
        }
        let is_reported = self.is_reported(&known);
        let near = if is_reported || known.good { None } else { self.check_near(command) };
        let is_listed = self.is_listed(command, &known, is_reported || near.is_some(), from);
        let judged = match is_listed {
            true if is_reported => Some((&self.rules.spam_flags, known.raw)),
            // A digest of rspamd is of one part: it is good, without the message being so.
            _ if known.good => Some((&self.rules.ham_flags, known.raw_against)),
            _ => None,
        };
        let mut best = None::<Label>;
        let mut meant = None::<Label>;
        labels::each_listed(&self.desk, &command.digest, |label| {
            let place = if self.rules.is_label(label.flag) { &mut best } else { &mut meant };
            if place.is_none_or(|place| label.value > place.value) {
                *place = Some(label);
            }
        });
        if let Some((flags, raw)) = judged
            && let Some(&first) = flags.first()
        {
            let value = u32::from(raw);
            // Under which of several flags most reports came.
            let meant = meant.filter(|meant| flags.contains(&meant.flag) && 2 * meant.value > value);
            let judged = Label { flag: meant.map_or(first, |meant| meant.flag), value };
            best = best.filter(|best| best.value > judged.value).or(Some(judged));
        }
        let verdict = if is_listed { Verdict::Spam } else { known.verdict };
        match best {
            Some(best) => (verdict, hit(command, best.flag, best.value, 1.0)),
            None => (verdict, near.filter(|_| is_listed).unwrap_or_else(|| Reply::miss(command))),
        }
    }

    /// Whether a digest was reported by the quorum of one that names a message.
    fn is_reported(&self, known: &Answer) -> bool {
        let config = &self.desk.backend.config.ledger;
        known.verdict == Verdict::Spam
            || config.outweighs(config.quorum, known.weight.into(), known.against.into())
    }

    /// Whether a part is spam. A digest names no message: it needs the quorum of what many messages share, unless it is
    /// of a text (a logo has no shingles) that no unknown part came before (a footer follows the text of its mail).
    fn is_listed(&self, command: &Command, known: &Answer, is_known: bool, from: SocketAddr) -> bool {
        if !is_known {
            self.unreported.note(from, &[]);
            return false;
        }
        let is_text = command.shingles.is_some();
        known.verdict == Verdict::Spam || (is_text && !self.unreported.has(from, &[]))
    }

    /// Whether the text resembles what was reported. How much it does is how many of its shingles are known.
    fn check_near(&self, command: &Command) -> Option<Reply> {
        let shingles = command.shingles.as_ref()?;
        let known = self.desk.look_up(Kind::RspamdNear, &digest_of(shingles));
        if known.verdict != Verdict::Spam || usize::from(known.weight) <= SHINGLES_HALF {
            return None;
        }
        let probability = f32::from(known.weight) / SHINGLES as f32;
        let flag = self.rules.spam_flags.first()?;
        Some(hit(command, *flag, self.rules.near_value, probability))
    }

    /// Has it remembered, and answers when that is durable.
    fn say(
        &self,
        saying: Saying,
        command: &Command,
        envelope: &Envelope,
        who: &Who,
        asked: &Asked<'_>,
    ) -> Result<Option<Reply>, TooMuch> {
        if !who.may_say(saying.role) {
            self.desk.refused(asked.origin(FrontEnd::Fuzzy), who.name(), "role-missing");
            return Ok(Some(Reply::refused(command, Refusal::Forbidden)));
        }
        if !self.desk.may(who, asked.from.ip(), Spending::Writes, saying.cases.len()) {
            return Err(TooMuch);
        }
        if self.said.is_copy(asked.from, &what_is_said(command)) {
            return Ok(None);
        }
        // Last, because it costs a question to the kernel.
        let Some(speaker) = self.desk.speaker(who, saying.role, |owners| asked.owner(owners)) else {
            return Ok(None);
        };
        let command = *command;
        let envelope = envelope.clone();
        let way_back = asked.way_back();
        self.desk.say(saying.verb, speaker, asked.origin(FrontEnd::Fuzzy), saying.cases, move |result| {
            let reply = match result {
                Ok(_) => Reply::done(&command),
                Err(WriteError::Empty) => Reply::refused(&command, Refusal::Skipped),
                Err(error) if error.is_too_much() => Reply::refused(&command, Refusal::Forbidden),
                Err(_) => Reply::refused(&command, Refusal::Broken),
            };
            let mut out = Vec::new();
            envelope.write(&reply, &mut out);
            way_back.send(&out);
        });
        Ok(None)
    }
}

fn digest_of(shingles: &[u64; SHINGLES]) -> [u8; 8 * SHINGLES] {
    let mut digest = [0; 8 * SHINGLES];
    for (place, shingle) in digest.as_chunks_mut().0.iter_mut().zip(shingles) {
        *place = shingle.to_le_bytes();
    }
    digest
}

fn hit(command: &Command, flag: u8, value: u32, probability: f32) -> Reply {
    Reply {
        // A verdict whose reports are too old for the totals still is one.
        value: value.max(1).try_into().unwrap_or(i32::MAX),
        flag: flag.into(),
        probability,
        digest: command.digest,
        ..Reply::miss(command)
    }
}

/// What two copies of a command have in common, and two commands have not.
fn what_is_said(command: &Command) -> [u8; 70] {
    let mut bytes = [0; 70];
    let parts = [&[command.action as u8, command.flag][..], &command.tag.to_le_bytes(), &command.digest];
    bytes.iter_mut().zip(parts.into_iter().flatten()).for_each(|(place, byte)| *place = *byte);
    bytes
}

#[cfg(test)]
pub(super) mod tests;
