//! Attackers with many accounts, who earn first and lie later, beside reporters who are all honest.
//!
//! They know of every message before it arrives, as whoever sends the spam and subscribes to the newsletters does. For
//! most of the time they report the spam first, so that honest reports confirm them. Then they lie, all together: they
//! report all ham and revoke all spam, before the first copy of it arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seenit_ledger::Clock;
use seenit_server::Running;
use seenit_server::accounts::{REGISTERED, Role, Roles};

use super::client::Client;
use super::mail::Mail;
use super::reporters::Word;
use crate::bench::LabError;

/// Days in which all mail arrives: fewer than records are kept, so that nothing expires.
pub(super) const DAYS: usize = 25;

/// Days in which a crowd earns: as many as known accounts need from 4 points to 9, and some more. Then it lies.
const EARNING_DAYS: usize = 20;

/// Of so many messages a crowd reports one while it earns: still far more a day than a point takes.
const EARNING_PART: usize = 10;

/// Accounts that speak at a time.
const AT_A_TIME: usize = 6;

/// Seconds of a day.
const DAY_SECS: u64 = 86_400;

/// Who attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crowd {
    pub(super) accounts: usize,
    /// Whether the operator made them. If not, they registered, as Razor's clients do.
    pub(super) is_known: bool,
}

/// The crowds that are tried: nobody, to compare with; thirty who registered; and what three insiders can do.
pub(super) const CROWDS: [Crowd; 3] = [
    Crowd { accounts: 0, is_known: false },
    Crowd { accounts: 30, is_known: false },
    Crowd { accounts: 3, is_known: true },
];

impl Crowd {
    /// As rows have it.
    pub(super) fn text(self) -> String {
        let kind = if self.is_known { "known" } else { "sybils" };
        let earn = if self.accounts > 0 { "-earn" } else { "" };
        format!("{kind}-{}{earn}", self.accounts)
    }

    pub(super) fn name(self, number: usize) -> String {
        let place = if self.is_known { "" } else { REGISTERED };
        format!("{place}crowd-{number}")
    }

    /// Makes its accounts, and gives their tokens.
    pub(super) fn join(self, running: &Running, client: &Client) -> Result<Vec<String>, LabError> {
        let names = (0..self.accounts).map(|number| self.name(number));
        names
            .map(
                |name| if self.is_known { client.add_account(&name, None) } else { register(running, &name) },
            )
            .collect()
    }
}

/// What the server does when a client of Razor registers; its token is given to it, so that it can speak of more than
/// Razor lets it.
fn register(running: &Running, name: &str) -> Result<String, LabError> {
    let wrong = |why: String| LabError::Site { path: format!("registering {name}"), why };
    let roles = Roles::from_iter([Role::Check, Role::Report, Role::Revoke]);
    let reporter = running.ledger().admit_reporter(name).map_err(|error| wrong(error.to_string()))?;
    let made = running.accounts().register(name, roles, reporter.id, 0);
    made.map_err(|error| wrong(error.to_string()))?;
    let token = running.accounts().renew(name).map_err(|error| wrong(error.to_string()))?;
    Ok(token.as_str().to_owned())
}

/// What a crowd says of a message, and says all at once, before its first copy arrives on a day.
pub(super) fn says(mail: &Mail, number: usize, day: usize) -> Option<Word> {
    match (day < EARNING_DAYS, mail.is_spam) {
        (true, true) if number.is_multiple_of(EARNING_PART) => Some(Word::Report),
        (true, _) => None,
        (false, true) => Some(Word::Revoke),
        (false, false) => Some(Word::Report),
    }
}

/// All accounts of a crowd say the same. Who is first makes no difference: weights move when others speak.
pub(super) fn say_all(client: &Client, tokens: &[String], word: Word, body: &str) -> Result<(), LabError> {
    let share = tokens.len().div_ceil(AT_A_TIME).max(1);
    std::thread::scope(|scope| {
        let say = |tokens: &[String]| tokens.iter().try_for_each(|token| client.say(token, word, body));
        let speakers: Vec<_> = tokens.chunks(share).map(|tokens| scope.spawn(move || say(tokens))).collect();
        speakers.into_iter().try_for_each(|speaker| speaker.join().expect("a speaker does not panic"))
    })
}

/// A clock on which days pass when the experiment says so.
#[derive(Default)]
pub(super) struct Days {
    secs: AtomicU64,
}

impl Days {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Days { secs: (20_000 * DAY_SECS).into() })
    }

    /// A day passes, and the server has noticed.
    pub(super) fn pass(&self, running: &Running) {
        let today = self.secs.fetch_add(DAY_SECS, Ordering::SeqCst) / DAY_SECS + 1;
        while running.ledger().stats().generation < today {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

impl Clock for Days {
    fn now_secs(&self) -> u64 {
        self.secs.load(Ordering::SeqCst)
    }

    fn steady_secs(&self) -> u64 {
        self.secs.load(Ordering::SeqCst)
    }
}
