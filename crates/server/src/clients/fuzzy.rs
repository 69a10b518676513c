//! What the commands of rspamd's fuzzy check mean: check asks, add reports or revokes by its flag, delete withdraws.

mod envelope;
mod seals;

use std::sync::Arc;

use seenit_ledger::error::WriteError;
use seenit_ledger::record::Verb;
use seenit_ledger::signature::Case;
use seenit_ledger::verdict::Verdict;
use seenit_signature::Kind;
use seenit_wire::fuzzy::{
    Action, Command, DATAGRAM_BYTES_MAX, Packet, Refusal, Reply, SHINGLES, SHINGLES_HALF, SecretKey,
};

use self::envelope::Envelope;
use self::seals::Seals;
pub(crate) use self::seals::key_in;
use super::desk::{Desk, Who, case_of};
use super::recent::Recent;
use super::udp::{Asked, Datagrams};
use crate::accounts::Role;
use crate::config;
use crate::limits::Spending;

/// What it is called.
pub(crate) const NAME: &str = "Fuzzy";

/// The digest of no text: some clients send it for want of one.
const NO_DIGEST: [u8; 64] = [0; 64];

/// The protocol of rspamd's fuzzy storage.
pub(crate) struct Fuzzy {
    desk: Arc<Desk>,
    rules: config::Fuzzy,
    seals: Seals,
    recent: Recent,
}

/// Whoever asks has asked too much lately.
struct TooMuch;

impl Fuzzy {
    pub(crate) fn new(desk: Arc<Desk>, key: SecretKey) -> Self {
        let rules = desk.state.config.fuzzy.clone();
        Fuzzy { desk, rules, seals: Seals::new(key), recent: Recent::new() }
    }
}

impl Datagrams for Fuzzy {
    fn bytes_max(&self) -> usize {
        DATAGRAM_BYTES_MAX
    }

    fn answer(&self, asked: &Asked<'_>, out: &mut Vec<u8>) {
        let Some((command, envelope)) = self.open(asked) else {
            return;
        };
        match self.serve(&command, &envelope, asked) {
            Ok(Some(reply)) => envelope.write(&reply, out),
            Ok(None) => {}
            Err(TooMuch) => {
                envelope.write(&Reply::refused(&command, Refusal::Forbidden), out);
                // Beyond its budget a network gets no more than it sends: whoever forges a sender gains nothing by it.
                if out.len() > asked.datagram.len() {
                    out.clear();
                }
            }
        }
    }
}

impl Fuzzy {
    /// The command, and how it is answered; none of bytes that are no command.
    fn open(&self, asked: &Asked<'_>) -> Option<(Command, Envelope)> {
        match Packet::decode(asked.datagram).ok()? {
            Packet::Plain(command) => Some((command, Envelope { form: command.form, key: None })),
            Packet::Sealed(sealed) => {
                // A new client costs a key agreement: those are bounded as writing is.
                let may = || {
                    let address = asked.from.ip();
                    self.desk.may(&Who::at(address), address, Spending::Writes, 1)
                };
                let (command, key) = self.seals.open(&sealed, may)?;
                Some((command, Envelope { form: command.form, key: Some(key) }))
            }
        }
    }

    /// The answer to a command; none where it comes later, or where a copy of the command gets it.
    fn serve(
        &self,
        command: &Command,
        envelope: &Envelope,
        asked: &Asked<'_>,
    ) -> Result<Option<Reply>, TooMuch> {
        let address = asked.from.ip();
        if !self.desk.may(&Who::at(address), address, Spending::Checks, 1) {
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
                let known = self.desk.state.ledger.signatures();
                Ok(Some(Reply::count(command, known.try_into().unwrap_or(u32::MAX))))
            }
            _ if is_about_nothing => refused(Refusal::Skipped),
            Action::Check => Ok(Some(self.check(command))),
            Action::Write | Action::Delete => match self.verb_of(command) {
                Some(verb) => self.say(verb, command, envelope, asked),
                None => refused(Refusal::Forbidden),
            },
        }
    }

    /// What is known: raw totals, and nothing while the verdict is neither spam nor ham.
    fn check(&self, command: &Command) -> Reply {
        let known = self.desk.look_up(Kind::Rspamd, &command.digest);
        match known.verdict {
            _ if known.protected => Reply::refused(command, Refusal::Skipped),
            Verdict::Spam => hit(command, self.rules.spam_flags.first(), known.raw.into(), 1.0),
            Verdict::Ham => hit(command, self.rules.ham_flags.first(), known.raw_against.into(), 1.0),
            _ => self.check_near(command),
        }
    }

    /// Whether the text resembles what was reported. How much it does is how many of its shingles are known.
    fn check_near(&self, command: &Command) -> Reply {
        let Some(shingles) = &command.shingles else {
            return Reply::miss(command);
        };
        let known = self.desk.look_up(Kind::RspamdNear, &digest_of(shingles));
        if known.verdict != Verdict::Spam || usize::from(known.weight) <= SHINGLES_HALF {
            return Reply::miss(command);
        }
        let probability = f32::from(known.weight) / SHINGLES as f32;
        hit(command, self.rules.spam_flags.first(), self.rules.near_value, probability)
    }

    /// What a command says; nothing where its flag is only a label, or its value takes something away.
    fn verb_of(&self, command: &Command) -> Option<Verb> {
        let is_of = |flags: &[u8]| flags.contains(&command.flag);
        let (is_spam, is_ham) = (is_of(&self.rules.spam_flags), is_of(&self.rules.ham_flags));
        match command.action {
            // A deletion by digest alone has no flag.
            Action::Delete if is_spam || is_ham || command.flag == 0 => Some(Verb::Withdraw),
            Action::Write if is_spam && command.value > 0 => Some(Verb::Report),
            Action::Write if is_ham && command.value > 0 => Some(Verb::Revoke),
            _ => None,
        }
    }

    /// Has it remembered, and answers when that is durable.
    fn say(
        &self,
        verb: Verb,
        command: &Command,
        envelope: &Envelope,
        asked: &Asked<'_>,
    ) -> Result<Option<Reply>, TooMuch> {
        let (address, role) =
            (asked.from.ip(), if verb == Verb::Revoke { Role::Revoke } else { Role::Report });
        let who = Who::at(address);
        let (Some(reporter), Some(cases)) = (who.reporter(role), self.cases_of(verb, command)) else {
            return Ok(Some(Reply::refused(command, Refusal::Forbidden)));
        };
        if !self.desk.may(&who, address, Spending::Writes, cases.len()) {
            return Err(TooMuch);
        }
        if self.recent.is_copy(asked.from, &what_is_said(command)) {
            return Ok(None);
        }
        let (command, envelope, way_back) = (*command, envelope.clone(), asked.way_back());
        self.desk.say(verb, reporter, cases, move |result| {
            let reply = match result {
                Ok(_) => Reply::done(&command),
                Err(WriteError::Empty) => Reply::refused(&command, Refusal::Skipped),
                Err(WriteError::Busy { .. } | WriteError::Share { .. }) => {
                    Reply::refused(&command, Refusal::Forbidden)
                }
                Err(_) => Reply::refused(&command, Refusal::Broken),
            };
            let mut out = Vec::new();
            envelope.write(&reply, &mut out);
            way_back.send(&out);
        });
        Ok(None)
    }

    /// The case, as often as the value of an addition says: raw totals grow by it, and the reporter's weight counts
    /// once all the same.
    fn cases_of(&self, verb: Verb, command: &Command) -> Option<Vec<Case>> {
        let times = match verb {
            Verb::Withdraw => 1,
            _ => command.value.clamp(1, self.rules.value_max.cast_signed()) as usize,
        };
        let single = case_of(Kind::Rspamd, &command.digest)?;
        let mut whole = single.clone();
        if let Some(shingles) = &command.shingles {
            whole.push(Kind::RspamdNear, &digest_of(shingles)).ok()?;
        }
        // Shingles have no raw totals: once is enough for them. They are in the last record, where a deletion by digest
        // alone finds them.
        Some(std::iter::repeat_n(single, times - 1).chain([whole]).collect())
    }
}

fn digest_of(shingles: &[u64; SHINGLES]) -> [u8; 8 * SHINGLES] {
    let mut digest = [0; 8 * SHINGLES];
    for (place, shingle) in digest.as_chunks_mut().0.iter_mut().zip(shingles) {
        *place = shingle.to_le_bytes();
    }
    digest
}

fn hit(command: &Command, flag: Option<&u8>, value: u32, probability: f32) -> Reply {
    match flag {
        Some(&flag) => Reply {
            // A verdict whose reports are too old for the totals still is one.
            value: value.max(1).try_into().unwrap_or(i32::MAX),
            flag: flag.into(),
            probability,
            digest: command.digest,
            ..Reply::miss(command)
        },
        None => Reply::miss(command),
    }
}

/// What two copies of a command have in common, and two commands have not.
fn what_is_said(command: &Command) -> [u8; 70] {
    let mut bytes = [0; 70];
    let parts = [&[command.action as u8, command.flag][..], &command.tag.to_le_bytes(), &command.digest];
    bytes.iter_mut().zip(parts.into_iter().flatten()).for_each(|(place, byte)| *place = *byte);
    bytes
}
