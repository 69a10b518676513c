//! Attacks on what was caught: the same message, changed as senders change it, judged in the same moment.

use std::collections::HashMap;

use rayon::prelude::*;
use seenit_filter::random::SplitMix;

use super::EXPERIMENT;
use super::change::{self, Words};
use super::mail::{Arrival, Mail, Shingles, near_of_raw};
use super::memory::{DEFAULT_THRESHOLD, Geometry, LOW_THRESHOLD, Product};
use crate::bench::LabError;
use crate::draw;

/// What random numbers are drawn for, below the experiment.
const CHANGE: u64 = 3;

/// How a text is changed into a raw message.
type Change = fn(&str, &Words<'_>, &mut SplitMix) -> String;

/// The attacks: name, the least share of matches that must be kept at the low threshold where one is asked for, change.
pub(super) const ATTACKS: [(&str, Option<f64>, Change); 12] = [
    ("none", None, |text, _, _| change::plain(text)),
    ("substituted-10", Some(0.85), |text, words, rng| change::plain(&words.substitute(text, 0.1, rng))),
    ("substituted-20", Some(0.60), |text, words, rng| change::plain(&words.substitute(text, 0.2, rng))),
    ("inserted-10", Some(0.85), |text, words, rng| change::plain(&words.insert(text, 0.1, rng))),
    ("inserted-20", Some(0.70), |text, words, rng| change::plain(&words.insert(text, 0.2, rng))),
    ("appended-20", Some(0.90), |text, words, rng| change::plain(&words.append(text, 0.2, rng))),
    ("blocks-shuffled", Some(0.90), |text, _, rng| change::plain(&change::shuffle_blocks(text, rng))),
    ("digits-for-letters", Some(0.90), |text, _, rng| change::plain(&change::digits(text, rng))),
    ("html-noise", Some(0.90), |text, words, rng| change::html_noise(text, words, rng)),
    ("hash-busters", None, |text, _, rng| change::plain(&change::hash_busters(text, rng))),
    ("appended-100", None, |text, words, rng| change::plain(&words.append(text, 1.0, rng))),
    ("substituted-30", None, |text, words, rng| change::plain(&words.substitute(text, 0.3, rng))),
];

/// How an attack fared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attacked {
    pub(super) attack: &'static str,
    /// The least share that must be kept, at the low threshold.
    pub(super) least: Option<f64>,
    pub(super) threshold: u32,
    /// Spam caught as it is.
    pub(super) matches: u64,
    /// Of it, what is caught changed as well.
    pub(super) kept: u64,
}

impl Attacked {
    pub(super) fn share(&self) -> f64 {
        self.kept as f64 / self.matches.max(1) as f64
    }
}

/// Each attack at each threshold; `matched` has the matches of each message by the rule that ships, all ham learnt.
pub(super) fn all(
    mails: &[Mail],
    arrival: &Arrival,
    matched: &[u32],
    (geometry, seed): (&Geometry, u64),
) -> Result<Vec<Attacked>, LabError> {
    let words = Words::new(mails.iter().map(|mail| (mail.is_spam, mail.text.as_str())));
    let caught = (0..mails.len()).filter(|&number| mails[number].is_spam && matched[number] >= LOW_THRESHOLD);
    let changed: HashMap<usize, Vec<Option<Shingles>>> = caught
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|number| {
            let shingles = ATTACKS.iter().enumerate().map(|(attack, (_, _, change))| {
                let mut rng = draw::stream(seed, &[EXPERIMENT, CHANGE, attack as u64, number as u64]);
                near_of_raw(change(&mails[number].text, &words, &mut rng).as_bytes())
            });
            (number, shingles.collect())
        })
        .collect();
    let mut attacked: Vec<Attacked> = ATTACKS
        .iter()
        .flat_map(|&(attack, least, _)| {
            [LOW_THRESHOLD, DEFAULT_THRESHOLD].map(|threshold| Attacked {
                attack,
                least,
                threshold,
                matches: 0,
                kept: 0,
            })
        })
        .collect();
    let mut product = Product::new(geometry, seed)?;
    for &number in &arrival.order {
        for (attack, shingles) in changed.get(&number).into_iter().flatten().enumerate() {
            let now = shingles.as_ref().map_or(0, |shingles| product.matched(shingles));
            for one in &mut attacked[2 * attack..2 * attack + 2] {
                let was_caught = matched[number] >= one.threshold;
                one.matches += u64::from(was_caught);
                one.kept += u64::from(was_caught && now >= one.threshold);
            }
        }
        if let Some(shingles) = &mails[number].shingles {
            product.learn(shingles, mails[number].is_spam);
        }
    }
    Ok(attacked)
}
