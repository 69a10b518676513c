//! The mail of the experiment: what each message's signatures are, and the order in which messages arrive.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use rayon::prelude::*;
use seenit_filter::shingles::Shingle;
use seenit_mailbox::{Corpus, Label, Labelled};
use seenit_signature::near::{self, SHINGLES};
use seenit_signature::razor::Ep4;
use seenit_signature::{Digest, Kind, Message, Words, own, sign};

use super::{EXPERIMENT, Options};
use crate::bench::{Bench, LabError};
use crate::draw;

/// Of so many messages the small version takes one.
const QUICK_STEP: usize = 10;

/// What random numbers are drawn for, below the experiment.
const ORDER: u64 = 1;
const KNOWN: u64 = 2;

/// The shingles of a message: one a slot.
pub(super) type Shingles = [u64; SHINGLES];

/// A message, signed.
pub(super) struct Mail {
    /// Whether it is spam.
    pub(super) is_spam: bool,
    /// A fingerprint of each signature that is not withheld, `near1` left out.
    pub(super) signatures: Vec<(Kind, u64)>,
    /// `near1`, where it is not withheld.
    pub(super) shingles: Option<Shingles>,
    /// The distinct 3-grams behind it, in ascending order.
    pub(super) grams: Vec<u64>,
    /// What a reader sees.
    pub(super) text: String,
}

impl Mail {
    fn of(labelled: &Labelled) -> Self {
        let message = Message::parse(&labelled.bytes);
        let words = Words::of(&message.text);
        let mut grams = near::grams(&words);
        grams.sort_unstable();
        grams.dedup();
        let mut signatures: Vec<(Kind, u64)> = sign(&labelled.bytes, &Ep4::default())
            .into_iter()
            .filter(|signature| !signature.withheld && signature.kind != Kind::Near1)
            .map(|signature| (signature.kind, fingerprint(&signature.digest)))
            .collect();
        // A signature that a message has twice was seen once.
        signatures.sort_unstable();
        signatures.dedup();
        let shingles = near_of(&words);
        Mail { is_spam: labelled.label == Label::Spam, signatures, shingles, grams, text: message.text }
    }
}

/// `near1` of some words, where it is not withheld.
fn near_of(words: &Words) -> Option<Shingles> {
    match own::near(words).filter(|signature| !signature.withheld)?.digest {
        Digest::Shingles(values) => Some(*values),
        _ => None,
    }
}

/// `near1` of a raw message, where it is not withheld.
pub(super) fn near_of_raw(raw: &[u8]) -> Option<Shingles> {
    near_of(&Words::of(&Message::parse(raw).text))
}

/// The shingles as the filters take them.
pub(super) fn keys(shingles: &Shingles) -> Vec<Shingle> {
    (0..).zip(shingles).map(|(slot, &value)| Shingle { slot, value }).collect()
}

/// Of a hundred thousand digests no two share one, but once in a thousand million.
fn fingerprint(digest: &Digest) -> u64 {
    let mut hasher = DefaultHasher::new();
    digest.hash(&mut hasher);
    hasher.finish()
}

/// Reads and signs the corpus.
pub(super) fn read(bench: &Bench<'_>) -> Result<Vec<Mail>, LabError> {
    bench.progress.begin("reading the corpus", 1);
    let mut messages = Corpus::read(&bench.corpus_folder()?)?.messages;
    if bench.quick && messages.len() > QUICK_STEP * QUICK_STEP {
        let mut number = 0;
        messages.retain(|_| {
            number += 1;
            number % QUICK_STEP == 0
        });
    }
    bench.progress.begin("signing", messages.len() as u64);
    let sign = |labelled: &Labelled| {
        let mail = Mail::of(labelled);
        bench.progress.advance(1);
        mail
    };
    Ok(messages.par_iter().map(sign).collect())
}

/// The order in which messages arrive, and which of the ham somebody says is good.
pub(super) struct Arrival {
    /// Numbers of messages.
    pub(super) order: Vec<usize>,
    /// For each message a number in 0..1: ham below the share that is learnt, is.
    known: Vec<f64>,
}

impl Arrival {
    /// Shuffled by this seed, unless the order of the index is asked for.
    pub(super) fn new(messages: usize, shuffle: u64, options: &Options) -> Self {
        let mut order: Vec<usize> = (0..messages).collect();
        if !options.in_order {
            draw::shuffle(&mut order, &mut draw::stream(shuffle, &[EXPERIMENT, ORDER]));
        }
        let mut stream = draw::stream(shuffle, &[EXPERIMENT, KNOWN]);
        Arrival { order, known: (0..messages).map(|_| stream.unit()).collect() }
    }

    /// Whether this message, being ham, is learnt where this share of the ham is.
    pub(super) fn is_known(&self, message: usize, ham_learnt: f64) -> bool {
        self.known[message] < ham_learnt
    }
}
