//! The experiment `site`: what does each rule of trust buy, when some who report are careless and some are hostile?
//!
//! Real mail arrives in a seeded order at reporters that share one site. Each copy is judged first, by a real server
//! over its HTTP port; then whoever got it may report or revoke it. Worlds differ in who reports and in what a word
//! weighs; the mail, who gets it, and who would say something of it are the same in all. Counts follow from the seed;
//! seconds do not.

mod client;
mod crowd;
mod figures;
mod findings;
mod mail;
mod reporters;
mod rules;
mod tables;
mod world;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use self::crowd::{CROWDS, Crowd};
use self::mail::Post;
use self::reporters::Shares;
use self::rules::{RULES, Rule};
use self::world::Setting;
use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};

/// What this experiment's random numbers are drawn for.
const EXPERIMENT: u64 = 9;

/// Shares of hostile reporters that are tried beside the one that is asked for, in hundredths. The small version has
/// the first.
const HOSTILE: [u32; 3] = [0, 10, 30];

/// Reporters, at most: each has an account, and every message is dealt to a few of them.
const REPORTERS_MAX: usize = 1000;

/// Worlds at a time. A world waits for the disk most of its time, and has some 30 MB of tables.
const AT_A_TIME: usize = 6;

/// What can be asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The share of honest reporters, in 0..=1.
    pub honest: f64,
    /// The share of careless ones.
    pub careless: f64,
    /// The share of hostile ones. Other shares are tried beside it, in place of honest ones.
    pub hostile: f64,
    /// How many reporters there are.
    pub reporters: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { honest: 0.7, careless: 0.2, hostile: 0.1, reporters: 20 }
    }
}

/// A row for machines: one world.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Hundredths of honest, careless and hostile reporters: `70/20/10`; or the attackers beside honest ones who earn
    /// first and lie later: `sybils-30-earn`.
    pub reporters: String,
    /// The rule of trust.
    pub rule: &'static str,
    /// Copies of spam that the site called spam when they arrived.
    pub spam_caught: u64,
    /// Copies of ham that it called spam.
    pub ham_hit: u64,
    /// Copies that arrived.
    pub messages: u64,
    /// Reports of a spam message until it was listed, that which listed it included: the median of those that were.
    pub reports_to_list: Option<f64>,
    /// Seconds from the acknowledgement of an honest revocation until a check does not say spam any more, the median.
    pub seconds_to_clear: Option<f64>,
    /// Honest revocations that it took, the mean.
    pub revocations_to_clear: Option<f64>,
    /// Whether hostile reporters act together: what one gets, all speak of.
    pub together: bool,
    /// The share of hostile reporters.
    pub hostile: f64,
    /// Copies of spam that arrived.
    pub spam: u64,
    /// Copies of ham that arrived.
    pub ham: u64,
    /// Spam messages that reports listed.
    pub listed: u64,
    /// Reports in all.
    pub reports: u64,
    /// Revocations in all.
    pub revocations: u64,
    /// Points of honest reporters in the end, the mean.
    pub weight_honest: Option<f64>,
    /// Points of careless ones.
    pub weight_careless: Option<f64>,
    /// Points of hostile ones.
    pub weight_hostile: Option<f64>,
}

/// All that was measured.
struct Study {
    post: Post,
    reporters: usize,
    asked: Shares,
    /// In the order of rules, then of shares; those in which the hostile act together come last.
    rows: Vec<Row>,
    /// Those with attackers beside honest reporters.
    crowds: Vec<Row>,
}

/// Runs the experiment.
pub fn run(options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let asked = Shares::of(options)?;
    if !(2..=REPORTERS_MAX).contains(&options.reporters) {
        let value = options.reporters.to_string();
        return Err(LabError::Option { option: "--reporters", value, why: "must be from 2 to 1000" });
    }
    let post = Post::read(options.reporters, bench)?;
    let settings = settings(asked, &HOSTILE[..bench.choose(HOSTILE.len(), 1)]);
    bench.progress.begin("copies, all worlds", (settings.len() * post.deliveries.len()) as u64);
    let outcomes = run_all(&settings, &post, options.reporters, bench)?;
    let mut rows = Vec::new();
    let mut crowds = Vec::new();
    for (setting, outcome) in settings.iter().zip(&outcomes) {
        let rows = if setting.crowd.is_some() { &mut crowds } else { &mut rows };
        rows.push(row(setting, outcome, &post));
    }
    let study = Study { post, reporters: options.reporters, asked, rows, crowds };
    let account = Account {
        tables: tables::all(&study),
        figures: figures::all(&study),
        findings: findings::all(&study),
    };
    Ok(Outcome { rows: [study.rows, study.crowds].concat(), account })
}

/// The worlds: every rule with every share of hostile reporters; with those asked for, if any, acting together; and
/// what ships with a few vouched for, all of them honest, and attackers beside them who earn first.
fn settings(asked: Shares, beside: &[u32]) -> Vec<Setting> {
    let mut hostile: Vec<u32> = beside.iter().copied().chain([asked.hostile]).collect();
    hostile.sort_unstable();
    hostile.dedup();
    let shares: Vec<Shares> = hostile.into_iter().filter_map(|hostile| asked.with_hostile(hostile)).collect();
    let alone = shares.iter().map(|&shares| (shares, false));
    let together = (asked.hostile > 0).then_some((asked, true));
    let worlds = alone.chain(together);
    let mixed = worlds
        .flat_map(|(shares, together)| RULES.map(|rule| Setting { shares, rule, together, crowd: None }));
    mixed.chain(CROWDS.map(beside_honest)).collect()
}

fn beside_honest(crowd: Crowd) -> Setting {
    let shares = Shares { honest: 100, careless: 0, hostile: 0 };
    Setting { shares, rule: Rule::Vouched, together: crowd.accounts > 0, crowd: Some(crowd) }
}

/// Runs all worlds, some at a time. Each is by itself, so their order changes nothing.
fn run_all(
    settings: &[Setting],
    post: &Post,
    reporters: usize,
    bench: &Bench<'_>,
) -> Result<Vec<world::Outcome>, LabError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, world::Outcome)>, LabError> {
        let mut outcomes = Vec::new();
        loop {
            // The last ones first: crowds speak most, and a world alone at the end uses one core.
            let done = next.fetch_add(1, Ordering::Relaxed);
            let Some((number, setting)) = settings.iter().enumerate().rev().nth(done) else {
                return Ok(outcomes);
            };
            let characters = setting.shares.characters(reporters, bench.seed);
            outcomes.push((number, world::run(*setting, (post, &characters), bench)?));
        }
    };
    let outcomes = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME.min(settings.len())).map(|_| scope.spawn(work)).collect();
        let ends = workers.into_iter().map(|worker| worker.join().expect("a world does not panic"));
        ends.collect::<Result<Vec<_>, LabError>>()
    })?;
    let mut outcomes = outcomes.concat();
    outcomes.sort_by_key(|(number, _)| *number);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

fn row(setting: &Setting, outcome: &world::Outcome, post: &Post) -> Row {
    let [spam, ham] = post.copies();
    let [weight_honest, weight_careless, weight_hostile] = [0, 1, 2].map(|of| mean(&outcome.weights[of]));
    Row {
        reporters: setting.crowd.map_or_else(|| setting.shares.text(), Crowd::text),
        rule: setting.rule.name(),
        spam_caught: outcome.spam_caught,
        ham_hit: outcome.ham_hit,
        messages: spam + ham,
        reports_to_list: median(&outcome.reports_to_list),
        seconds_to_clear: median(&outcome.seconds_to_clear),
        revocations_to_clear: mean(&outcome.revocations_to_clear),
        together: setting.together,
        hostile: f64::from(setting.shares.hostile) / 100.0,
        spam,
        ham,
        listed: outcome.reports_to_list.len() as u64,
        reports: outcome.reports,
        revocations: outcome.revocations,
        weight_honest,
        weight_careless,
        weight_hostile,
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The lower of the two in the middle, so that what was measured is what is said.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}
