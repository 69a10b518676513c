//! One world: a server with one rule, and reporters of one mixture, through all mail.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use seenit_ledger::Clock;
use seenit_server::Server;

use super::client::Client;
use super::crowd::{self, Crowd, DAYS, Days};
use super::mail::{Delivery, Post};
use super::reporters::{CHARACTERS, Character, Shares, Word};
use super::rules::Rule;
use crate::bench::{Bench, LabError};

/// Listed messages that are cleared, and timed, when all mail has come.
const CLEARED: usize = 50;

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) shares: Shares,
    pub(super) rule: Rule,
    /// Whether hostile reporters act together: what one gets, all speak of.
    pub(super) together: bool,
    /// Attackers beside the reporters.
    pub(super) crowd: Option<Crowd>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Copies of spam that were called spam on arrival.
    pub(super) spam_caught: u64,
    /// Copies of ham that were.
    pub(super) ham_hit: u64,
    pub(super) reports: u64,
    pub(super) revocations: u64,
    /// For each spam message that reports listed: how many of its own it took.
    pub(super) reports_to_list: Vec<f64>,
    /// For each message cleared in the end: seconds from the first acknowledgement, and how many revocations.
    pub(super) seconds_to_clear: Vec<f64>,
    pub(super) revocations_to_clear: Vec<f64>,
    /// Points of honest, careless and hostile reporters, when all mail had come.
    pub(super) weights: [Vec<f64>; 3],
}

impl Outcome {
    fn count(&mut self, word: Word, times: u64) {
        match word {
            Word::Report => self.reports += times,
            Word::Revoke => self.revocations += times,
        }
    }
}

/// A world while mail arrives.
struct World<'a> {
    client: Client,
    post: &'a Post,
    characters: &'a [Character],
    tokens: Vec<String>,
    together: bool,
    /// The tokens of the crowd, and the messages it has spoken of.
    crowd: Vec<String>,
    met: HashSet<usize>,
    day: usize,
    /// Reports of each message so far; none once it was listed.
    reported: HashMap<usize, Option<u64>>,
    /// Messages whose last copy was called spam.
    called_spam: BTreeSet<usize>,
    outcome: Outcome,
}

/// Runs one world. Everything goes through the port of a server of its own, one request after the other, so that a seed
/// gives the same counts on any machine.
pub(super) fn run(
    setting: Setting,
    (post, characters): (&Post, &[Character]),
    bench: &Bench<'_>,
) -> Result<Outcome, LabError> {
    let folder =
        tempfile::tempdir().map_err(|error| LabError::File { path: "a temporary folder".into(), error })?;
    let data = folder.path().join("data");
    let clock = Days::new();
    let running = Server::new(setting.rule.config(), &data)
        .clock(Arc::clone(&clock) as Arc<dyn Clock>)
        .http(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
        .token_folder(&data)
        .start()?;
    let client = Client::new(running.addresses()[0], running.operator_token().as_str());
    if setting.rule.protects() {
        post.archive.iter().try_for_each(|cases| client.protect(cases))?;
    }
    let weights = setting.rule.weights(characters).into_iter().enumerate();
    let tokens = weights.map(|(number, weight)| client.add_account(&name(number), weight));
    let tokens = tokens.collect::<Result<Vec<_>, _>>()?;
    let crowd = setting.crowd.map_or(Ok(Vec::new()), |crowd| crowd.join(&running, &client))?;
    let mut world = World {
        client,
        post,
        characters,
        tokens,
        together: setting.together,
        crowd,
        met: HashSet::new(),
        day: 0,
        reported: HashMap::new(),
        called_spam: BTreeSet::new(),
        outcome: Outcome::default(),
    };
    for day in post.deliveries.chunks(post.deliveries.len().div_ceil(DAYS).max(1)) {
        for delivery in day {
            world.speak_first(delivery)?;
            world.arrive(delivery)?;
            bench.progress.advance(1);
        }
        world.day += 1;
        clock.pass(&running);
    }
    world.weigh(setting.crowd)?;
    world.clear()?;
    let outcome = world.outcome;
    running.shutdown();
    Ok(outcome)
}

fn name(reporter: usize) -> String {
    format!("reporter-{reporter}")
}

impl World<'_> {
    /// Before the first copy of a message arrives, the crowd says what it has to say.
    fn speak_first(&mut self, delivery: &Delivery) -> Result<(), LabError> {
        let mail = &self.post.mails[delivery.mail];
        if self.crowd.is_empty() || !mail.has_signatures || !self.met.insert(delivery.mail) {
            return Ok(());
        }
        let Some(word) = crowd::says(mail, delivery.mail, self.day) else {
            return Ok(());
        };
        self.outcome.count(word, self.crowd.len() as u64);
        crowd::say_all(&self.client, &self.crowd, word, &mail.body)
    }

    /// A copy arrives: the site is asked, and its reporter says what it has to say.
    fn arrive(&mut self, delivery: &Delivery) -> Result<(), LabError> {
        let mail = &self.post.mails[delivery.mail];
        let called_spam = self.is_listed(delivery)?;
        if called_spam {
            self.called_spam.insert(delivery.mail);
        } else {
            self.called_spam.remove(&delivery.mail);
        }
        match (called_spam, mail.is_spam) {
            (true, true) => self.outcome.spam_caught += 1,
            (true, false) => self.outcome.ham_hit += 1,
            (false, _) => {}
        }
        let character = self.characters[delivery.reporter];
        match character.says(mail.is_spam, called_spam, delivery.chance) {
            Some(word) if mail.has_signatures => self.say(character, word, delivery),
            _ => Ok(()),
        }
    }

    fn is_listed(&self, delivery: &Delivery) -> Result<bool, LabError> {
        self.client.is_spam(&self.tokens[delivery.reporter], &self.post.mails[delivery.mail].body)
    }

    fn say(&mut self, character: Character, word: Word, delivery: &Delivery) -> Result<(), LabError> {
        let body = &self.post.mails[delivery.mail].body;
        let is_together = self.together && character == Character::Hostile;
        for (number, &other) in self.characters.iter().enumerate() {
            if number == delivery.reporter || (is_together && other == character) {
                self.client.say(&self.tokens[number], word, body)?;
                self.outcome.count(word, 1);
            }
        }
        self.note_listing(word, delivery)
    }

    /// After a report of spam: is it listed now, and after how many?
    fn note_listing(&mut self, word: Word, delivery: &Delivery) -> Result<(), LabError> {
        if word == Word::Report && self.post.mails[delivery.mail].is_spam {
            let Some(reports) = self.reported.entry(delivery.mail).or_insert(Some(0)) else {
                return Ok(());
            };
            *reports += 1;
            let reports = *reports;
            if self.is_listed(delivery)? {
                self.reported.insert(delivery.mail, None);
                self.outcome.reports_to_list.push(reports as f64);
            }
        }
        Ok(())
    }

    fn weigh(&mut self, crowd: Option<Crowd>) -> Result<(), LabError> {
        let hostile = &mut self.outcome.weights[2];
        for number in 0..self.crowd.len() {
            if let Some(crowd) = crowd {
                hostile.push(f64::from(self.client.weight(&crowd.name(number))?));
            }
        }
        for (number, character) in self.characters.iter().enumerate() {
            let weight = f64::from(self.client.weight(&name(number))?);
            let of = CHARACTERS.iter().position(|one| one == character).unwrap_or(0);
            self.outcome.weights[of].push(weight);
        }
        Ok(())
    }

    /// Clears some of what is listed, ham first: honest reporters revoke it, one after the other, until it is not spam.
    fn clear(&mut self) -> Result<(), LabError> {
        let honest: Vec<usize> = (0..self.characters.len())
            .filter(|&number| self.characters[number] == Character::Honest)
            .collect();
        let mut numbers: Vec<usize> = self.called_spam.iter().copied().collect();
        numbers.sort_by_key(|&number| self.post.mails[number].is_spam);
        for (first, number) in numbers.into_iter().take(CLEARED).enumerate() {
            let body = &self.post.mails[number].body;
            if !self.client.is_spam(&self.tokens[honest[0]], body)? {
                continue;
            }
            let mut acknowledged = None;
            for (revocations, turn) in (1..).zip(0..honest.len()) {
                let token = &self.tokens[honest[(first + turn) % honest.len()]];
                self.client.say(token, Word::Revoke, body)?;
                let since = acknowledged.get_or_insert_with(Instant::now);
                if !self.client.is_spam(token, body)? {
                    self.outcome.seconds_to_clear.push(since.elapsed().as_secs_f64());
                    self.outcome.revocations_to_clear.push(f64::from(revocations));
                    break;
                }
            }
        }
        Ok(())
    }
}
