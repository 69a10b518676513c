//! The experiment `replicas`: which signatures find the next copy of a spam message, and what do they hit besides?
//!
//! Real mail arrives in a seeded order. Each message is judged first and learnt then: spam as one report, a share of
//! the ham as known to be good. What is judged by exact dictionaries is there for comparison; the rule that ships is
//! asked of the product's own filters.

mod attacks;
mod change;
mod curves;
mod figures;
mod findings;
mod jaccard;
mod kinds;
mod mail;
mod memory;
mod poison;
mod tables;
mod tamper;

use seenit_signature::near::SHINGLES;
use serde::Serialize;

use self::attacks::Attacked;
use self::curves::{ALL_HAM, Curves, HAM_LEARNT};
use self::jaccard::{ALIKE, Estimate};
use self::kinds::{KindHits, SIGHTINGS};
use self::mail::{Arrival, Mail};
use self::memory::{DEFAULT_THRESHOLD, Geometry, LIKEST, RULES, SHIPPED};
use self::poison::Poisoned;
use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};

/// What this experiment's random numbers are drawn for.
const EXPERIMENT: u64 = 7;

/// Orders of arrival: seeds from the one that is asked for on.
const ROUNDS: u32 = 5;

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
    /// What is still caught of what was caught, when senders change it.
    Attack(AttackRow),
    /// What is caught when somebody lies to the tallies.
    Poison(PoisonRow),
    /// How well shingles tell which messages are alike.
    Jaccard(JaccardRow),
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

/// What is still caught of what was caught by the rule that ships, all ham learnt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttackRow {
    /// How messages were changed.
    pub attack: &'static str,
    /// Matching shingles, at least.
    pub threshold: u32,
    /// Spam caught as it is.
    pub matches: u64,
    /// Of it, what is caught changed as well.
    pub kept: u64,
}

/// What is caught when somebody lies to the tallies, all ham learnt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoisonRow {
    /// The lie.
    pub poison: &'static str,
    /// The rule that judges.
    pub by: &'static str,
    /// Matching shingles, at least.
    pub threshold: u32,
    /// Spam caught and ham hit without the lie.
    pub clean_spam: u64,
    /// See `clean_spam`.
    pub clean_ham: u64,
    /// Spam caught and ham hit with it.
    pub poisoned_spam: u64,
    /// See `poisoned_spam`.
    pub poisoned_ham: u64,
    /// Messages that are looked at: all, or those of the largest campaign.
    pub of: u64,
}

/// How well shingles tell which messages are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JaccardRow {
    /// The Jaccard index of 3-grams from which two messages are alike.
    pub jaccard: f64,
    /// The shared shingles from which they are taken to be.
    pub threshold: u32,
    /// Pairs that are alike.
    pub pairs: u64,
    /// The share of the pairs that are taken to be alike, and are.
    pub precision: f64,
    /// The share of the pairs that are alike, and are taken to be.
    pub recall: f64,
}

/// All that was measured in one order of arrival.
struct Round {
    shuffle: u64,
    kinds: Vec<KindHits>,
    curves: Curves,
    attacks: Vec<Attacked>,
    poison: Vec<Poisoned>,
}

/// All that was measured.
struct Study {
    /// One for each order of arrival; the rows are those of the first.
    rounds: Vec<Round>,
    estimates: [Estimate; ALIKE.len()],
    geometry: Geometry,
    spam: u64,
    ham: u64,
    /// Spam and ham for which `near1` is withheld.
    withheld: [u64; 2],
}

/// Runs the experiment.
pub fn run(options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let mails = mail::read(bench)?;
    let count = |is_spam: bool, is_withheld: bool| {
        let is = |mail: &&Mail| mail.is_spam == is_spam && (!is_withheld || mail.shingles.is_none());
        mails.iter().filter(is).count() as u64
    };
    let spam = count(true, false);
    let ham = count(false, false);
    let geometry = Geometry::new(spam, ham)?;
    let rounds = if options.in_order { 1 } else { u64::from(bench.rounds_or(ROUNDS, 1)) };
    bench.progress.begin("orders of arrival", rounds);
    let mut study = Study {
        rounds: Vec::new(),
        estimates: jaccard::all(&mails),
        geometry,
        spam,
        ham,
        withheld: [count(true, true), count(false, true)],
    };
    for shuffle in (0..rounds).map(|round| options.shuffle.wrapping_add(round)) {
        let arrival = Arrival::new(mails.len(), shuffle, options);
        study.rounds.push(round(&mails, (&arrival, shuffle), (&geometry, bench.seed))?);
        bench.progress.advance(1);
    }
    let account = Account {
        tables: tables::all(&study),
        figures: figures::all(&study),
        findings: findings::all(&study),
    };
    Ok(Outcome { rows: rows(&study), account })
}

/// One order of arrival.
fn round(
    mails: &[Mail],
    (arrival, shuffle): (&Arrival, u64),
    with: (&Geometry, u64),
) -> Result<Round, LabError> {
    let passes = curves::passes(mails, arrival, with)?;
    let of_shipped = |evidence: &Option<memory::Evidence>| evidence.map_or(0, |evidence| evidence[SHIPPED]);
    let matched: Vec<u32> = passes[ALL_HAM].iter().map(of_shipped).collect();
    Ok(Round {
        shuffle,
        kinds: kinds::all(mails, arrival, with)?,
        curves: curves::curves(mails, &passes),
        attacks: attacks::all(mails, arrival, &matched, with)?,
        poison: poison::all(mails, arrival, &passes[ALL_HAM], with)?,
    })
}

fn rows(study: &Study) -> Vec<Row> {
    let round = &study.rounds[0];
    let mut rows = kind_rows(round, study.spam + study.ham);
    rows.extend(curve_rows(round, study.spam + study.ham));
    rows.extend(round.attacks.iter().map(|one| {
        let &Attacked { attack, threshold, matches, kept, .. } = one;
        Row::Attack(AttackRow { attack, threshold, matches, kept })
    }));
    rows.extend(round.poison.iter().map(|one| {
        Row::Poison(PoisonRow {
            poison: one.poison,
            by: RULES[one.rule],
            threshold: one.threshold,
            clean_spam: one.clean.spam,
            clean_ham: one.clean.ham,
            poisoned_spam: one.poisoned.spam,
            poisoned_ham: one.poisoned.ham,
            of: one.messages,
        })
    }));
    rows.extend(study.estimates.iter().map(|estimate| {
        Row::Jaccard(JaccardRow {
            jaccard: estimate.jaccard,
            threshold: estimate.shingles,
            pairs: estimate.alike,
            precision: estimate.precision(),
            recall: estimate.recall(),
        })
    }));
    rows
}

fn kind_rows(round: &Round, messages: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for of in &round.kinds {
        for (hits, sightings) in of.hits.iter().zip(SIGHTINGS) {
            let kind = of.kind.as_str();
            let spam_caught = hits.spam;
            let ham_hit = hits.ham;
            rows.push(Row::Kind(KindRow { kind, sightings, spam_caught, ham_hit, messages }));
        }
    }
    rows
}

fn curve_rows(round: &Round, messages: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, rule) in RULES.into_iter().enumerate().take(LIKEST) {
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
