//! What a large network costs one of its sites: a link with many members, and what it hears of them in a minute; and
//! the copy of one member's cells where cells are made for many signatures.
//!
//! `SEENIT_SITES=1000 SEENIT_CAPACITY=1000000000 cargo test --release -p seenit-link --test scale -- --nocapture`
//! prints what docs/scale.md has, in some minutes and 16 GB of memory.

#[path = "simulation/double.rs"]
#[expect(dead_code, reason = "the simulation needs more of it")]
mod double;

use std::time::{Duration, Instant};

use double::{Disk, Double};
use seenit_link::{Action, Kind, Link, Published};
use seenit_sites::key::{AdminSecret, SiteSecret};
use seenit_sites::manifest::{Geometry, HashKey, Manifest, Terms};
use seenit_sites::roster::{Caps, Member, Roster};

/// Sites of a usual run.
const SITES: usize = 40;

/// Seconds of virtual time.
const SECONDS: u64 = 60;

const BEGINNING: u64 = 1_800_000_000_000;
const GENERATION_SECS: u64 = 86_400;

/// Signatures a generation that cells are made for in a usual run, and the share of them that one site sees.
const CAPACITY: u64 = 200_000;
const SHARE: u64 = 1000;

/// Gains in which it tells of them.
const GAINS: u64 = 10;

fn from_environment<T: std::str::FromStr>(name: &str, usual: T) -> T {
    std::env::var(name).map_or(usual, |text| text.parse().ok().expect("a number"))
}

fn admin() -> AdminSecret {
    AdminSecret::from_bytes([1; 32])
}

fn secret(number: usize) -> SiteSecret {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
    SiteSecret::from_bytes(bytes)
}

fn member(number: usize) -> Member {
    let (site, sealing) = (secret(number).public(), secret(number).sealing().public());
    let name = format!("site{number}").parse().expect("a name");
    Member { site, sealing, name, caps: Caps { spam: 10, ham: 10, seen: 1000 } }
}

fn papers(sites: usize, geometry: Geometry) -> [Vec<u8>; 2] {
    let roster = Roster::sign(&admin(), 1, (0..sites).map(member).collect()).expect("a roster");
    let terms = Terms { first_generation: 0, generation_secs: GENERATION_SECS, geometry };
    let manifest = Manifest::sign(&admin(), 1, terms, &roster, &HashKey::from_bytes([9; 16]), [8; 32]);
    [roster.bytes().to_vec(), manifest.expect("a manifest").bytes().to_vec()]
}

fn open(number: usize, papers: &[Vec<u8>]) -> Link<Double> {
    let generation = BEGINNING / 1000 / GENERATION_SECS;
    let double = Double::open(Disk::default(), generation, BEGINNING / 1000);
    let mut link = Link::open(double, secret(number), admin().public(), BEGINNING).expect("it opens");
    papers.iter().for_each(|paper| drop(link.hear(BEGINNING, paper, None)));
    assert!(link.is_member());
    [Kind::Records, Kind::Seen].into_iter().for_each(|kind| drop(link.resume(BEGINNING, kind, None)));
    link
}

/// What a link publishes in a tick, and in what follows when that is stored.
fn published(link: &mut Link<Double>, now: u64) -> Vec<Vec<u8>> {
    let (mut said, mut actions) = (Vec::new(), link.tick(now));
    while let Some(action) = actions.pop() {
        if let Action::Publish { ticket, bytes, .. } = action {
            said.push(bytes);
            actions.extend(link.published(now, ticket, Published::Stored));
        }
    }
    said
}

#[test]
fn what_a_site_hears_in_a_large_network_is_bounded() {
    let sites = from_environment("SEENIT_SITES", SITES);
    let papers = papers(sites, Geometry::sized(1500, 0.02, 3, 1).expect("a geometry"));
    let mut links: Vec<Link<Double>> = (0..sites).map(|number| open(number, &papers)).collect();
    // Everybody says something, and the first site hears all of it. Its time is taken.
    let (mut heard, mut beats, mut bytes, mut busy) = (0u64, 0u64, 0u64, Duration::ZERO);
    for millis in (0..SECONDS * 1000).step_by(500) {
        let now = BEGINNING + millis;
        for number in 0..sites {
            if (millis / 500) % 20 == number as u64 % 20 {
                let journal = links[number].journal_mut();
                assert!(journal.say(format!("record {number} {millis}").into_bytes()));
                journal.see(number as u64, 1);
                assert!(journal.journal_gains());
            }
            let begun = Instant::now();
            let actions = links[number].tick(now);
            busy += if number == 0 { begun.elapsed() } else { Duration::ZERO };
            for action in actions {
                let said = match action {
                    Action::Publish { ticket, bytes, .. } => {
                        drop(links[number].published(now, ticket, Published::Stored));
                        bytes
                    }
                    Action::Beat(bytes) => {
                        beats += u64::from(number > 0);
                        bytes
                    }
                    _ => continue,
                };
                if number > 0 {
                    let begun = Instant::now();
                    drop(links[0].hear(now, &said, None));
                    busy += begun.elapsed();
                    heard += 1;
                    bytes += said.len() as u64;
                }
            }
        }
    }
    let rows = links[0].journal().disk.rows.len();
    let row_bytes: usize =
        links[0].journal().disk.rows.iter().map(|(key, value)| key.len() + value.len()).sum();
    println!(
        "{sites} sites, {SECONDS} s: {heard} messages and beats heard ({beats} beats), {} bytes/s, \
         {:.1} % of a core, {rows} rows of {row_bytes} bytes",
        bytes / SECONDS,
        100.0 * busy.as_secs_f64() / SECONDS as f64,
    );
    let status = links[0].status(BEGINNING + SECONDS * 1000);
    let applied = status.sites.iter().filter(|one| one.records_applied > 0).count();
    assert_eq!(applied, sites - 1, "it has heard of everybody");
    assert!(beats / SECONDS <= 60, "beats a second do not grow with the sites: {}", beats / SECONDS);
}

/// One site's share of what a network sees, as another site holds it.
#[test]
fn a_copy_is_as_its_site_signed_however_large_the_cells_are() {
    let capacity = from_environment("SEENIT_CAPACITY", CAPACITY);
    let papers = papers(2, Geometry::sized(capacity, 0.01, 3, 64).expect("a geometry"));
    let signatures = (capacity / SHARE).max(GAINS);
    let (mut teller, mut said, mut now) = (open(0, &papers), Vec::new(), BEGINNING + 10_000);
    for gain in 0..GAINS {
        let of_gain = signatures * gain / GAINS..signatures * (gain + 1) / GAINS;
        of_gain.for_each(|key| teller.journal_mut().see(key, 1));
        assert!(teller.journal_mut().journal_gains());
        now += 1000;
        said.extend(published(&mut teller, now));
    }
    drop(teller);
    let bytes: usize = said.iter().map(Vec::len).sum();
    let mut link = open(1, &papers);
    let begun = Instant::now();
    said.iter().for_each(|message| drop(link.hear(now, message, None)));
    let (heard, memory, begun) = (begun.elapsed(), memory_kb(), Instant::now());
    drop(link.tick(now + 10_000));
    let (audited, memory) = (begun.elapsed(), memory_kb().saturating_sub(memory));
    let status = link.status(now + 10_000);
    let copy = status.sites[0].streams.first().expect("a copy");
    println!(
        "cells for {capacity} signatures, {signatures} of one site in {GAINS} gains: {:.1} bytes a signature, \
         applied at {:.1} us a signature, audited in {} ms and {} MB",
        bytes as f64 / signatures as f64,
        heard.as_micros() as f64 / signatures as f64,
        audited.as_millis(),
        memory / 1000,
    );
    assert_eq!((copy.applied, copy.verified), (GAINS, GAINS), "{:?}", copy.mismatch);
}

/// The memory that this process has; 0 where that is not told.
fn memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
