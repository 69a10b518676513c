//! rspamd's fuzzy check, sealed with the server's key.

use std::net::SocketAddr;

use seenit_ledger::Verdict;
use seenit_signature::Kind;
use seenit_signature::razor::Ep4;
use seenit_signature::rspamd::{self, Algorithm, Keys};
use seenit_wire::fuzzy::{Action, Command, Form, PublicKey, Reply, SecretKey, SharedKey};

use super::front_end::{Found, FrontEnd, Step};
use super::trouble::Trouble;
use super::{mail, socket};
use crate::site::say::Verb;

/// Clients take less for no match.
const MATCH_ABOVE: f32 = 0.5;

/// rspamd's fuzzy check.
pub(super) struct Fuzzy {
    pub(super) address: SocketAddr,
    /// The server's public key, as text.
    pub(super) key: String,
    /// The flag that means spam there.
    pub(super) flag: u8,
}

const STEPS: [Step; 3] = [
    Step::new("a new message is unknown", None, Verdict::Unknown),
    Step::new("added, it is spam", Some(Verb::Report), Verdict::Spam),
    Step::new("deleted, it is unknown again", Some(Verb::Withdraw), Verdict::Unknown),
];

impl FrontEnd for Fuzzy {
    fn name(&self) -> &'static str {
        "rspamd"
    }

    fn steps(&self) -> &'static [Step] {
        &STEPS
    }

    fn check(&self, mail: &[u8]) -> Result<Found, Trouble> {
        let reply = self.ask(Action::Check, (0, 0), mail)?;
        let is_known = reply.probability > MATCH_ABOVE;
        let verdict = match (is_known, reply.value) {
            (true, _) if reply.flag == u32::from(self.flag) => Verdict::Spam,
            (true, _) => Verdict::Ham,
            (false, 0) => Verdict::Unknown,
            (false, _) => Verdict::NoOpinion,
        };
        let Reply { flag, value, probability, .. } = reply;
        Ok(Found::new(
            verdict,
            format!("its flag is {flag}, its value {value}, its probability {probability}"),
        ))
    }

    fn say(&self, verb: Verb, mail: &[u8]) -> Result<(), Trouble> {
        let action = if verb == Verb::Report { Action::Write } else { Action::Delete };
        let reply = self.ask(action, (self.flag, 1), mail)?;
        if reply.probability > MATCH_ABOVE {
            return Ok(());
        }
        Err(Trouble::Refused { address: self.address, why: format!("error {}", reply.value) })
    }

    fn take_back(&self, mail: &[u8]) -> Result<(), Trouble> {
        self.say(Verb::Withdraw, mail)
    }
}

impl Fuzzy {
    fn ask(&self, action: Action, (flag, value): (u8, i32), mail: &[u8]) -> Result<Reply, Trouble> {
        let tag = u32::from_le_bytes(socket::random()?);
        let command = Command {
            action,
            flag,
            value,
            tag,
            digest: mail::digest(mail, Kind::Rspamd, &Ep4::default())?,
            shingles: rspamd::shingles(&rspamd::words(mail), &Keys::default(), Algorithm::Mum),
            form: Form::Full,
        };
        let (question, key) = self.sealed(&command)?;
        socket::ask(self.address, &question, |bytes| {
            Reply::open(command.form, bytes, &key).filter(|reply| reply.tag == tag)
        })
    }

    /// The command, sealed with a key of its own, and what the reply is opened with.
    fn sealed(&self, command: &Command) -> Result<(Vec<u8>, SharedKey), Trouble> {
        let wrong = |_| Trouble::Key(self.key.clone());
        let server = PublicKey::from_text(&self.key).map_err(wrong)?;
        let ours = SecretKey::from_bytes(socket::random()?);
        let key = ours.share(&server).map_err(wrong)?;
        let mut question = Vec::new();
        command.encode_sealed(&ours.public(), &server, &key, &socket::random()?, &mut question);
        Ok((question, key))
    }
}
