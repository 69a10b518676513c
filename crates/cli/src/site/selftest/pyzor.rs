//! Pyzor, as the anonymous user.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use seenit_ledger::Verdict;
use seenit_signature::Kind;
use seenit_signature::razor::Ep4;
use seenit_wire::pyzor::{Ask, Counts, Op, PyzorResponse};

use super::front_end::{Found, FrontEnd, Step};
use super::trouble::Trouble;
use super::{mail, socket};
use crate::client::Client;
use crate::site::say::Verb;

/// The smallest number of a thread: those below are errors to clients.
const THREAD_MIN: u16 = 1024;

/// What is answered to a request that is granted.
const GRANTED: u64 = 200;

/// Pyzor.
pub(super) struct Pyzor<'a> {
    pub(super) address: SocketAddr,
    pub(super) client: &'a Client,
}

const STEPS: [Step; 3] = [
    Step::new("a new message is unknown", None, Verdict::Unknown),
    Step::new("reported, it is spam", Some(Verb::Report), Verdict::Spam),
    Step::new("whitelisted, it is good mail", Some(Verb::Revoke), Verdict::Ham),
];

impl FrontEnd for Pyzor<'_> {
    fn name(&self) -> &'static str {
        "Pyzor"
    }

    fn steps(&self) -> &'static [Step] {
        &STEPS
    }

    fn check(&self, mail: &[u8]) -> Result<Found, Trouble> {
        let counts = self.ask(Op::Check, mail)?.ok_or(Trouble::Foreign(self.address))?;
        let verdict = match (counts.reports, counts.whitelistings) {
            (0, 0) => Verdict::Unknown,
            (0, _) => Verdict::Ham,
            _ => Verdict::Spam,
        };
        let told = format!("its Count is {}, its WL-Count {}", counts.reports, counts.whitelistings);
        Ok(Found::new(verdict, told))
    }

    fn say(&self, verb: Verb, mail: &[u8]) -> Result<(), Trouble> {
        match verb {
            Verb::Report => self.ask(Op::Report, mail).map(drop),
            Verb::Revoke => self.ask(Op::Whitelist, mail).map(drop),
            Verb::Withdraw => self.take_back(mail),
        }
    }

    fn take_back(&self, mail: &[u8]) -> Result<(), Trouble> {
        Ok(mail::withdraw(self.client, &[(Kind::Pyzor, &digest(mail)?)])?)
    }
}

impl Pyzor<'_> {
    fn ask(&self, op: Op, mail: &[u8]) -> Result<Option<Counts>, Trouble> {
        let thread = u16::from_le_bytes(socket::random()?).max(THREAD_MIN);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut question = Vec::new();
        Ask { op, digest: digest(mail)?, thread, time }.write(&mut question);
        let granted = socket::ask(self.address, &question, |bytes| {
            let heard = PyzorResponse::decode(bytes).filter(|heard| heard.thread == thread)?;
            let refusal = || format!("{} {}", heard.code, heard.diagnosis);
            Some(if heard.code == GRANTED { Ok(heard.counts) } else { Err(refusal()) })
        })?;
        granted.map_err(|why| Trouble::Refused { address: self.address, why })
    }
}

fn digest(mail: &[u8]) -> Result<[u8; 20], Trouble> {
    mail::digest(mail, Kind::Pyzor, &Ep4::default())
}
