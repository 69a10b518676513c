//! The experiment `replicas`: which signatures find the next copy of a spam message, and what do they hit besides?
//!
//! Real mail arrives in a seeded order. Each message is judged first and learnt then: spam as one report, a share of
//! the ham as known to be good. What is judged by exact dictionaries is there for comparison; the rule that ships is
//! asked of the product's own filters.

mod curves;
mod kinds;
mod mail;
mod memory;

use seenit_signature::near::SHINGLES;
use serde::Serialize;

use self::curves::{ALL_HAM, Curves, HAM_LEARNT};
use self::kinds::{KindHits, SIGHTINGS};
use self::mail::{Arrival, Mail};
use self::memory::{DEFAULT_THRESHOLD, Geometry, RULES, SHIPPED};
use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};

/// What this experiment's random numbers are drawn for.
const EXPERIMENT: u64 = 7;

/// What can be asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of the order in which messages arrive.
    pub shuffle: u64,
    /// They arrive as the index lists them: where it lists ham first, every rule looks perfect.
    pub in_order: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { shuffle: 1, in_order: false }
    }
}

/// A row for machines: fields tell which sort it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Row {
    /// What a kind catches after so many sightings.
    Kind(KindRow),
    /// What a rule of shingles catches from so many on.
    Curve(CurveRow),
}

/// What a kind catches after so many sightings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindRow {
    /// The kind.
    pub kind: &'static str,
    /// Earlier sightings, at least.
    pub sightings: u32,
    /// Spam caught on arrival.
    pub spam_caught: u64,
    /// Ham taken for spam.
    pub ham_hit: u64,
    /// Messages judged.
    pub messages: u64,
}

/// What a rule of shingles catches from so many on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveRow {
    /// `any`, `minus`, `ratio`, `same` or `shipped`.
    pub rule: &'static str,
    /// The share of the ham that is learnt as known to be good.
    pub ham_learnt: f64,
    /// Matching shingles, at least.
    pub shingles: u32,
    /// Spam caught on arrival.
    pub spam_caught: u64,
    /// Ham taken for spam.
    pub ham_hit: u64,
    /// Messages judged.
    pub messages: u64,
    /// Whether this is what the product does unless told otherwise.
    pub default: bool,
}

/// All that was measured in one order of arrival.
struct Round {
    kinds: Vec<KindHits>,
    curves: Curves,
}

/// Runs the experiment.
pub fn run(options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let mails = mail::read(bench)?;
    let geometry = geometry(&mails)?;
    let with = (&geometry, bench.seed);
    let rounds = u64::from(bench.rounds_or(if options.in_order { 1 } else { 5 }, 1));
    bench.progress.begin("orders of arrival", rounds);
    let mut all = Vec::new();
    for round in 0..rounds {
        let arrival = Arrival::new(mails.len(), options.shuffle.wrapping_add(round), options);
        let passes = curves::passes(&mails, &arrival, with)?;
        all.push(Round { kinds: kinds::all(&mails, &arrival, with)?, curves: curves::curves(&mails, &passes) });
        bench.progress.advance(1);
    }
    let rows = rows(&all[0], mails.len() as u64);
    Ok(Outcome { rows, account: Account::default() })
}

/// Tallies with room for all spam and all ham.
fn geometry(mails: &[Mail]) -> Result<Geometry, LabError> {
    let spam = mails.iter().filter(|mail| mail.is_spam).count();
    Geometry::new(spam, mails.len() - spam)
}

fn rows(round: &Round, messages: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for of in &round.kinds {
        for (hits, sightings) in of.hits.iter().zip(SIGHTINGS) {
            let (kind, spam_caught, ham_hit) = (of.kind.as_str(), hits.spam, hits.ham);
            rows.push(Row::Kind(KindRow { kind, sightings, spam_caught, ham_hit, messages }));
        }
    }
    for (number, rule) in RULES.into_iter().enumerate() {
        for (share, ham_learnt) in HAM_LEARNT.into_iter().enumerate() {
            for (shingles, hits) in (1..=SHINGLES as u32).zip(&round.curves[share][number]) {
                rows.push(Row::Curve(CurveRow {
                    rule,
                    ham_learnt,
                    shingles,
                    spam_caught: hits.spam,
                    ham_hit: hits.ham,
                    messages,
                    default: number == SHIPPED && share == ALL_HAM && shingles == DEFAULT_THRESHOLD,
                }));
            }
        }
    }
    rows
}
