//! What a large network costs one of its sites: a link with many members, and what it hears of them in a minute.
//!
//! `SEENIT_SITES=1000 cargo test --release -p seenit-link --test scale -- --nocapture` prints what docs/scale.md has.

#[path = "simulation/double.rs"]
#[expect(dead_code, reason = "the simulation needs more of it")]
mod double;

use std::time::{Duration, Instant};

use double::{Disk, Double};
use seenit_link::{Action, Kind, Link};
use seenit_sites::key::{AdminSecret, SiteSecret};
use seenit_sites::manifest::{Geometry, HashKey, Manifest, Terms};
use seenit_sites::roster::{Caps, Member, Roster};

/// Sites of a usual run.
const SITES: usize = 40;

/// Seconds of virtual time.
const SECONDS: u64 = 60;

const BEGINNING: u64 = 1_800_000_000_000;
const GENERATION_SECS: u64 = 86_400;

fn open(secret: &SiteSecret, papers: &[Vec<u8>], admin: &AdminSecret) -> Link<Double> {
    let generation = BEGINNING / 1000 / GENERATION_SECS;
    let double = Double::open(Disk::default(), generation, BEGINNING / 1000);
    let mut link = Link::open(double, secret.clone(), admin.public(), BEGINNING).expect("it opens");
    papers.iter().for_each(|paper| drop(link.hear(BEGINNING, paper, None)));
    assert!(link.is_member());
    [Kind::Records, Kind::Seen].into_iter().for_each(|kind| drop(link.resume(BEGINNING, kind, None)));
    link
}

#[test]
fn what_a_site_hears_in_a_large_network_is_bounded() {
    let sites = std::env::var("SEENIT_SITES").map_or(SITES, |text| text.parse().expect("a number"));
    let admin = AdminSecret::from_bytes([1; 32]);
    let secret = |number: usize| {
        let mut bytes = [7; 32];
        bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
        SiteSecret::from_bytes(bytes)
    };
    let member = |number: usize| Member {
        site: secret(number).public(),
        sealing: secret(number).sealing().public(),
        name: format!("site{number}").parse().expect("a name"),
        caps: Caps { spam: 10, ham: 10, seen: 1000 },
    };
    let roster = Roster::sign(&admin, 1, (0..sites).map(member).collect()).expect("a roster");
    let geometry = Geometry::sized(1500, 0.02, 3, 1).expect("a geometry");
    let terms = Terms { first_generation: 0, generation_secs: GENERATION_SECS, geometry };
    let manifest = Manifest::sign(&admin, 1, terms, &roster, &HashKey::from_bytes([9; 16]), [8; 32]);
    let papers = [roster.bytes().to_vec(), manifest.expect("a manifest").bytes().to_vec()];
    let mut links: Vec<Link<Double>> =
        (0..sites).map(|number| open(&secret(number), &papers, &admin)).collect();
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
                        drop(links[number].published(now, ticket, seenit_link::Published::Stored));
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
