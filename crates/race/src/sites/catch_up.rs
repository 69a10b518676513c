//! The row `catch up`: a site that starts with nothing and finds tens of thousands of small messages in the broker.
//!
//! The messages are those of a *ghost*, a member that never runs while it is raced: its records were written by a real
//! site on its own, and are published one a message, chained and signed with its key. The site that catches up has
//! nobody to ask; it has only what the broker keeps. It is timed from when the first record is known there until the
//! last one is. Meanwhile a thread checks a signature every millisecond, and again when all is quiet.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use seenit_filter::random::SplitMix;
use seenit_ledger::ledger::Ledger;
use seenit_ledger::{Case, OPERATOR, Verb, Verdict, Write};
use seenit_server::Running;
use seenit_server::broker::{Names, SignedDocument, Stream as BrokerStream};
use seenit_signature::Kind;
use seenit_sites::chain::Chain;
use seenit_sites::key::SiteSecret;
use seenit_sites::list;
use seenit_sites::message::{Message, Statement, Stream, StreamId};
use seenit_sites::number::Sequence;
use serde::{Deserialize, Serialize};

use super::network::{Ground, PATIENCE, serve};
use super::{at_share, log};

/// Records that the ghost writes at once.
const BATCH: usize = 100;
/// Signatures that are checked again and again: so many of the first ones, and as many that nobody reported.
const ASKED: u64 = 500;
/// Signatures that sites count in a generation.
const CAPACITY: u64 = 1_000_000;
/// How often a signature is checked.
const CHECK: Duration = Duration::from_millis(1);
/// How often it is looked whether all is known.
const LOOK: Duration = Duration::from_millis(2);
/// How long it is checked when all is quiet, and how long it is waited before.
const IDLE: Duration = Duration::from_secs(4);
const QUIET: Duration = Duration::from_secs(3);
/// What the site must reach.
const PER_S: f64 = 10_000.0;
const SLOW_PER_S: f64 = 5_000.0;
const TIMES_IDLE: f64 = 2.0;

/// A catch-up. The names of the fields are those of the JSON.
#[derive(Deserialize, Serialize)]
pub(crate) struct CatchUpRow {
    pub(crate) name: String,
    messages: u64,
    applied_per_s: f64,
    fsyncs_per_s: f64,
    check_p99_us: f64,
    idle_check_p99_us: f64,
}

impl CatchUpRow {
    pub(crate) fn line(&self) -> String {
        format!(
            "{:22} {:>8} {:>10.0} {:>9.0} {:>10.1} {:>10.1}\n",
            self.name,
            self.messages,
            self.applied_per_s,
            self.fsyncs_per_s,
            self.check_p99_us,
            self.idle_check_p99_us
        )
    }

    /// What is wanted, and whether it is so.
    pub(crate) fn targets(&self, is_slow: bool) -> Vec<(bool, String)> {
        let name = &self.name;
        let wanted = if is_slow { SLOW_PER_S } else { PER_S };
        let times = self.check_p99_us / self.idle_check_p99_us;
        vec![
            (
                self.applied_per_s >= wanted,
                format!("{name}: >= {wanted:.0} messages a second applied: {:.0}", self.applied_per_s),
            ),
            (times <= TIMES_IDLE, format!("{name}: p99 of checks <= {TIMES_IDLE} of idle: {times:.2}")),
        ]
    }
}

pub(crate) fn row(messages: u64) -> Result<CatchUpRow, Box<dyn Error>> {
    let ground = Ground::prepare(2)?;
    let (cases, absent) = (cases(messages, 1969)?, cases(ASKED, 1998)?);
    ground.found()?.publish(&spoken(&ground, &cases)?)?;
    let asked: Vec<Case> = cases.iter().take(ASKED as usize).chain(&absent).cloned().collect();
    let site = ground.serve(1, CAPACITY)?;
    let (times, took, commits) = caught_up(&site, &cases, &asked)?;
    std::thread::sleep(QUIET);
    let (idle, ()) = checked(site.ledger(), &asked, || {
        std::thread::sleep(IDLE);
        Ok(())
    })?;
    let stats = site.ledger().stats();
    if stats.heard != messages || stats.heard_beyond_share + stats.heard_unreadable > 0 {
        return Err(format!("{} of {messages} records were counted", stats.heard).into());
    }
    let secs = took.as_secs_f64();
    Ok(CatchUpRow {
        name: "catch up".into(),
        messages,
        applied_per_s: messages as f64 / secs,
        fsyncs_per_s: commits as f64 / secs,
        check_p99_us: at_share(&times, 0.99),
        idle_check_p99_us: at_share(&idle, 0.99),
    })
}

/// Cases of one signature each.
fn cases(count: u64, seed: u64) -> Result<Vec<Case>, Box<dyn Error>> {
    let mut random = SplitMix(seed);
    let case = |_| {
        let mut case = Case::new();
        let digest: [u8; 16] = std::array::from_fn(|_| random.next() as u8);
        case.push(Kind::DccBody, &digest)?;
        Ok(case)
    };
    (0..count).map(case).collect()
}

/// The messages of the ghost, site 0: one for each of its records.
fn spoken(ground: &Ground, cases: &[Case]) -> Result<Vec<SignedDocument>, Box<dyn Error>> {
    let ghost = serve(&ground.data(0), None, CAPACITY)?;
    for cases in cases.chunks(BATCH) {
        let write = Write { verb: Verb::Report, reporter: OPERATOR, cases: cases.to_vec() };
        ghost.ledger().write_and_wait(write)?;
    }
    let incarnation = ghost.ledger().incarnation();
    let stream = Stream::Records;
    let items = log::items(ghost.ledger(), incarnation, stream, Sequence(cases.len() as u64))?;
    let secret = SiteSecret::from_bytes(*ghost.ledger().site_secret());
    ghost.shutdown();
    let time_secs = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    let site = secret.public();
    let network = ground.network();
    let subject = Names::of(&network).spoken(BrokerStream::Records, &site);
    let mut chain = Chain::begin(&StreamId { site, incarnation, stream });
    let message = |item: Vec<u8>| {
        let previous = chain.sequence;
        chain = chain.then(&item);
        let statement = Statement { incarnation, stream, previous, at: chain, manifest: 1, time_secs };
        let mut payload = Vec::new();
        list::push(&mut payload, &item);
        let bytes = Message::sign(&secret, &network, statement, &payload)?;
        Ok(SignedDocument { subject: subject.clone(), bytes })
    };
    items.into_iter().map(message).collect()
}

/// How long checks took while the site caught up, how long that was, and how many commits it took.
fn caught_up(
    site: &Running,
    cases: &[Case],
    asked: &[Case],
) -> Result<(Vec<f64>, Duration, u64), Box<dyn Error>> {
    let (Some(first), Some(last)) = (cases.first(), cases.last()) else { return Err("no messages".into()) };
    let ledger = site.ledger();
    wait_for(site, first)?;
    let begun = Instant::now();
    let commits = ledger.commits();
    let (times, ()) = checked(ledger, asked, || wait_for(site, last))?;
    Ok((times, begun.elapsed(), ledger.commits() - commits))
}

fn wait_for(site: &Running, case: &Case) -> Result<(), Box<dyn Error>> {
    let until = Instant::now() + PATIENCE;
    while site.ledger().check(case).verdict != Verdict::Spam {
        if Instant::now() > until {
            let status = serde_json::to_string_pretty(&site.network())?;
            return Err(format!("it is waited in vain for a record: {status}").into());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Checks signatures while something is done. The times are sorted, in microseconds.
fn checked<T>(
    ledger: &Ledger,
    cases: &[Case],
    work: impl FnOnce() -> Result<T, Box<dyn Error>>,
) -> Result<(Vec<f64>, T), Box<dyn Error>> {
    let is_over = AtomicBool::new(false);
    let (times, done) = std::thread::scope(|scope| {
        let checking = scope.spawn(|| {
            let mut random = SplitMix(7);
            let mut times = Vec::new();
            while !is_over.load(Relaxed) {
                let case = &cases[random.below(cases.len() as u64) as usize];
                let begun = Instant::now();
                std::hint::black_box(ledger.check(case));
                times.push(begun.elapsed().as_secs_f64() * 1e6);
                std::thread::sleep(CHECK);
            }
            times
        });
        let done = work();
        is_over.store(true, Relaxed);
        (checking.join(), done)
    });
    let mut times = times.map_err(|_| "the checker panicked")?;
    times.sort_by(f64::total_cmp);
    Ok((times, done?))
}
