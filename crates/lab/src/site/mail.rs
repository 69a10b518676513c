//! The mail of the experiment: what is sent to the server of each message, and who gets it when.

use rayon::prelude::*;
use seenit_ledger::{Case, SignatureRef};
use seenit_mailbox::{Corpus, Label, Labelled};
use seenit_signature::Kind;
use seenit_signature::razor::Ep4;
use serde_json::{Value, json};

use super::EXPERIMENT;
use crate::bench::{Bench, LabError};
use crate::draw;

/// Of so many messages the small version takes one.
const QUICK_STEP: usize = 10;

/// What random numbers are drawn for, below the experiment.
const ORDER: u64 = 1;
const RECIPIENTS: u64 = 2;

/// Good texts that a site protects: as many as it takes until it asks for fewer shingles.
pub(super) const ARCHIVE: usize = 1000;

/// The archive is no more than this part of the ham, so that some is left to arrive.
const ARCHIVE_PART: usize = 4;

/// Reporters that get a message, at most: from one to so many, all equally likely.
pub(super) const RECIPIENTS_MAX: usize = 4;

/// Other messages that arrive between the first and the last copy of one, about.
pub(super) const SPREAD: f64 = 200.0;

/// Cases that are protected with one request: some 2 kB each.
const PROTECTED_AT_ONCE: usize = 500;

/// A message as the server gets it.
pub(super) struct Mail {
    pub(super) is_spam: bool,
    /// A body for any verb: `{"case": [...]}`.
    pub(super) body: String,
    /// Whether there is a signature to say something about.
    pub(super) has_signatures: bool,
    signatures: Value,
    has_text: bool,
}

impl Mail {
    fn of(labelled: &Labelled) -> Self {
        let case = Case::of_message(&labelled.bytes, &Ep4::default());
        let signature =
            |one: SignatureRef<'_>| json!({"kind": one.kind().as_str(), "digest": hex::encode(one.digest())});
        let signatures: Value = case.iter().map(signature).collect();
        Mail {
            is_spam: labelled.label == Label::Spam,
            body: json!({"case": &signatures}).to_string(),
            has_signatures: !case.is_empty(),
            signatures,
            has_text: case.iter().any(|one| one.kind() == Kind::Near1),
        }
    }
}

/// One copy of a message for one reporter.
pub(super) struct Delivery {
    pub(super) mail: usize,
    pub(super) reporter: usize,
    /// In 0..1: whether the reporter says something.
    pub(super) chance: f64,
}

/// All mail, and the order in which it arrives: the same in every world.
pub(super) struct Post {
    pub(super) mails: Vec<Mail>,
    /// Bodies that protect the archive: good mail that does not arrive.
    pub(super) archive: Vec<String>,
    pub(super) archived: usize,
    pub(super) deliveries: Vec<Delivery>,
}

impl Post {
    /// Reads and signs the corpus, and draws who gets what when.
    pub(super) fn read(reporters: usize, bench: &Bench<'_>) -> Result<Self, LabError> {
        bench.progress.begin("reading the corpus", 1);
        let messages = Corpus::read(&bench.corpus_folder()?)?.messages;
        let step = if bench.quick && messages.len() > QUICK_STEP * QUICK_STEP { QUICK_STEP } else { 1 };
        bench.progress.begin("signing", (messages.len() / step) as u64);
        let mut mails: Vec<Mail> = messages
            .par_iter()
            .step_by(step)
            .map(|labelled| {
                bench.progress.advance(1);
                Mail::of(labelled)
            })
            .collect();
        let mut rng = draw::stream(bench.seed, &[EXPERIMENT, ORDER]);
        draw::shuffle(&mut mails, &mut rng);
        let archive = take_archive(&mut mails);
        let archived = archive.len();
        let archive = archive.chunks(PROTECTED_AT_ONCE).map(|cases| json!({"cases": cases}).to_string());
        let deliveries = deliveries(mails.len(), reporters, bench.seed);
        Ok(Post { mails, archive: archive.collect(), archived, deliveries })
    }

    /// Copies of spam and of ham.
    pub(super) fn copies(&self) -> [u64; 2] {
        let of = |is_spam: bool| {
            self.deliveries.iter().filter(|one| self.mails[one.mail].is_spam == is_spam).count() as u64
        };
        [of(true), of(false)]
    }
}

/// Takes good texts out of the mail that arrives.
fn take_archive(mails: &mut Vec<Mail>) -> Vec<Value> {
    let ham = mails.iter().filter(|mail| !mail.is_spam).count();
    let most = ARCHIVE.min(ham / ARCHIVE_PART);
    let mut archive = Vec::new();
    let mut rest = Vec::new();
    for mail in mails.drain(..) {
        if !mail.is_spam && mail.has_text && archive.len() < most {
            archive.push(mail.signatures);
        } else {
            rest.push(mail);
        }
    }
    *mails = rest;
    archive
}

/// Copies of one message come one after the other, other mail between them.
fn deliveries(mails: usize, reporters: usize, seed: u64) -> Vec<Delivery> {
    let mut rng = draw::stream(seed, &[EXPERIMENT, RECIPIENTS]);
    let mut timed = Vec::new();
    for mail in 0..mails {
        let mut recipients: Vec<usize> = (0..reporters).collect();
        draw::shuffle(&mut recipients, &mut rng);
        let copies = 1 + rng.below(RECIPIENTS_MAX.min(reporters) as u64) as usize;
        for (number, &reporter) in recipients[..copies].iter().enumerate() {
            let later = if number == 0 { 0.0 } else { SPREAD * rng.unit() };
            timed.push((mail as f64 + later, Delivery { mail, reporter, chance: rng.unit() }));
        }
    }
    timed.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    timed.into_iter().map(|(_, delivery)| delivery).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_message_comes_to_different_reporters_and_its_copies_soon_after() {
        let deliveries = deliveries(300, 4, 1);
        let mut got = HashSet::new();
        for one in &deliveries {
            assert!(got.insert((one.mail, one.reporter)), "one copy a reporter");
        }
        let mails: HashSet<usize> = deliveries.iter().map(|one| one.mail).collect();
        assert_eq!(mails.len(), 300);
        let place = |mail| deliveries.iter().position(|one| one.mail == mail).expect("it came");
        assert!(place(10) < place(200), "messages keep their order");
    }
}
