//! What a large network costs one of its sites: a link with many members, which all publish, and send heartbeats with
//! as many holdings as fit.
//!
//! `SEENIT_SITES=1000 cargo test -p seenit-link --test scale -- --nocapture` prints what docs/design/scale.md has. With
//! `SEENIT_SYNC=FOLDER` every commit is also appended to a file there and synced.

#[path = "simulation/double.rs"]
#[expect(dead_code, reason = "the simulation needs more of it")]
mod double;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use double::{Disk, Double};
use seenit_filter::sightings::{Fingerprint, Sighting, encode};
use seenit_link::store::{LinkBatch, Store};
use seenit_link::{Action, BrokerState, BrokerStream, Link, LocalCaps, Millis, Published};
use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::heartbeat::{HOLDINGS_MAX, Heartbeat, Holding};
use seenit_sites::key::{AdminSecret, SiteSecret};
use seenit_sites::list;
use seenit_sites::manifest::{HashKey, Manifest, ManifestTerms};
use seenit_sites::message::{Head, Message, Statement, Stream, StreamId};
use seenit_sites::number::{Generation, Incarnation, Sequence};
use seenit_sites::roster::{Caps, Member, Roster};

/// Sites of a usual run.
const SITES: usize = 30;

/// Seconds of virtual time; the first ones are for catching up, and are not counted.
const SECONDS: u64 = 60;
const WARMING_SECONDS: u64 = 25;

/// Milliseconds between ticks, between messages of one site, and between looks at the status.
const TICK_MILLIS: u64 = 50;
const MESSAGE_MILLIS: u64 = 10_000;
const STATUS_MILLIS: u64 = 1_000;

const BEGINNING: u64 = 1_800_000_000_000;
const GENERATION_SECS: u64 = 86_400;
const INCARNATION: Incarnation = Incarnation(1_700_000_000);
const SIGHTINGS: Stream = Stream::Sightings { generation: Generation(BEGINNING / 1000 / GENERATION_SECS) };

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

/// Another site, as far as it is heard.
struct Other {
    secret: SiteSecret,
    chains: [(Stream, Chain); 2],
    number: u64,
    heads: Vec<Head>,
}

impl Other {
    fn new(number: usize) -> Self {
        let secret = secret(number);
        let chain = |stream| {
            (stream, Chain::begin(&StreamId { site: secret.public(), incarnation: INCARNATION, stream }))
        };
        Other { chains: [chain(Stream::Records), chain(SIGHTINGS)], secret, number: 0, heads: Vec::new() }
    }

    fn sign(&self, stream: Stream, previous: Sequence, at: Chain, payload: &[u8], now: u64) -> Vec<u8> {
        let (incarnation, time_secs) = (INCARNATION, now / 1000);
        let statement = Statement { incarnation, stream, previous, at, manifest: 1, time_secs };
        Message::sign(&self.secret, &admin().public(), statement, payload).expect("a message")
    }

    fn head(&self, stream: Stream, at: Chain, now: u64) -> Head {
        let (incarnation, previous, time_secs) = (INCARNATION, at.sequence, now / 1000);
        let statement = Statement { incarnation, stream, previous, at, manifest: 1, time_secs };
        Head::sign(&self.secret, &admin().public(), statement, &[]).expect("a head")
    }

    /// One more record, and one more delta.
    fn says(&mut self, now: u64) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        self.heads.clear();
        for place in 0..2 {
            let (stream, chain) = self.chains[place];
            let fingerprint = Fingerprint::new(now % 1_000_000).expect("a fingerprint");
            let item = match stream {
                Stream::Records => now.to_le_bytes().to_vec(),
                Stream::Sightings { .. } => {
                    encode(&[Sighting { fingerprint, increment: 1, count: 1 }]).expect("a delta")
                }
            };
            let (mut payload, next) = (Vec::new(), chain.then(&item));
            list::push(&mut payload, &item);
            messages.push(self.sign(stream, chain.sequence, next, &payload, now));
            self.heads.push(self.head(stream, next, now));
            self.chains[place].1 = next;
        }
        messages
    }

    /// A heartbeat with holdings, beginning with some stream.
    fn heartbeat(&mut self, streams: &[(StreamId, Chain)], now: u64) -> Vec<u8> {
        self.number += 1;
        let from = self.number as usize * HOLDINGS_MAX;
        let holding = |place: usize| {
            let (id, chain) = streams[(from + place) % streams.len()];
            let value = *chain.value.0.first_chunk().expect("32 bytes");
            let (uncounted, uncounted_last) = (0, Sequence::START);
            Holding { id, sequence: chain.sequence, value, uncounted, uncounted_last }
        };
        let heartbeat = Heartbeat {
            site: self.secret.public(),
            incarnation: INCARNATION,
            number: self.number,
            time_secs: now / 1000,
            snapshot: Digest([0; 32]),
            heads: self.heads.clone(),
            holdings: (0..streams.len().min(HOLDINGS_MAX)).map(holding).collect(),
        };
        heartbeat.sign(&self.secret, &admin().public()).expect("a heartbeat")
    }
}

/// The site that is measured.
struct Site {
    link: Link,
    store: Double,
    /// What commits are synced to.
    file: Option<File>,
    spent: Spent,
}

/// What the site has cost.
#[derive(Default)]
struct Spent {
    /// Time in the link, and in the double's commits.
    busy: Duration,
    committing: Duration,
    commits: u64,
    /// Processor time of synced commits, the time they took, and their bytes.
    syncing: Duration,
    synced: Duration,
    synced_bytes: u64,
}

/// Processor time of this thread.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// All that a journal would have to write of a batch.
fn bytes_of(batch: &LinkBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    for heard in &batch.heard {
        heard.items.iter().chain(&heard.message).for_each(|one| bytes.extend(one));
    }
    for (key, value) in &batch.rows {
        bytes.extend(key);
        value.iter().for_each(|value| bytes.extend(value));
    }
    bytes
}

impl Site {
    /// One drain.
    fn drain(&mut self, now: u64, arrived: &[Vec<u8>]) {
        self.store.clock_secs = now / 1000;
        let (begun, now) = (Instant::now(), Millis(now));
        arrived.iter().for_each(|bytes| self.link.hear(now, bytes, None));
        self.link.tick(now, &self.store.own());
        let batch = self.link.take_batch();
        self.spent.busy += begun.elapsed();
        if !batch.is_empty() {
            self.sync(&batch);
            let begun = Instant::now();
            let outcome = self.store.commit(batch).expect("it commits");
            self.spent.committing += begun.elapsed();
            self.spent.commits += 1;
            self.link.committed(now, outcome);
        }
        let begun = Instant::now();
        for action in self.link.take_actions() {
            match action {
                Action::Publish { ticket, .. } => self.link.published(now, ticket, Published::Stored),
                Action::Read { ticket, read } => self.link.read_done(now, ticket, self.store.read(&read)),
                _ => {}
            }
        }
        self.spent.busy += begun.elapsed();
    }

    fn sync(&mut self, batch: &LinkBatch) {
        let Some(file) = &mut self.file else { return };
        let (begun, processor) = (Instant::now(), processor_time());
        let bytes = bytes_of(batch);
        file.write_all(&bytes).and_then(|()| file.sync_data()).expect("a disk that can be written");
        self.spent.synced += begun.elapsed();
        self.spent.syncing += processor_time().saturating_sub(processor);
        self.spent.synced_bytes += bytes.len() as u64;
    }
}

fn sites() -> usize {
    std::env::var("SEENIT_SITES").map_or(SITES, |text| text.parse().expect("a number"))
}

#[test]
fn what_a_site_hears_in_a_large_network_is_bounded() {
    let count = sites();
    let roster = Roster::sign(&admin(), 1, (0..count).map(member).collect()).expect("a roster");
    let terms = ManifestTerms { first_generation: Generation(0), generation_secs: GENERATION_SECS };
    let manifest = Manifest::sign(&admin(), 1, terms, &roster, &HashKey::from_bytes([9; 16]), [8; 32]);
    let store = Double::open(secret(0).public(), Disk::default(), BEGINNING / 1000, GENERATION_SECS);
    let loaded = store.load().expect("it loads");
    let link = Link::open(loaded, secret(0), admin().public(), LocalCaps::new(), Millis(BEGINNING));
    let folder = std::env::var_os("SEENIT_SYNC").map(PathBuf::from);
    let path = folder.map(|folder| folder.join(format!("scale-{}.journal", std::process::id())));
    let file = path.as_ref().map(|path| File::create_new(path).expect("a file of its own"));
    let mut site = Site { link, store, file, spent: Spent::default() };
    site.link.broker(Millis(BEGINNING), BrokerState::Up);
    let documents = [roster.bytes.to_vec(), manifest.expect("a manifest").bytes];
    site.drain(BEGINNING, &documents);
    BrokerStream::ALL.into_iter().for_each(|kind| site.link.resume(Millis(BEGINNING), kind, None));
    let mut others: Vec<Other> = (1..count).map(Other::new).collect();
    let heartbeat_millis = 2_000 * (count as u64).div_ceil(100);
    let (mut heard, mut bytes, mut looks, mut looking) = (0u64, 0u64, 0u64, Duration::ZERO);
    for millis in (0..SECONDS * 1000).step_by(TICK_MILLIS as usize) {
        let (now, mut arrived) = (BEGINNING + millis, Vec::new());
        if millis == WARMING_SECONDS * 1000 {
            site.spent = Spent::default();
            (heard, bytes, looks, looking) = (0, 0, 0, Duration::ZERO);
        }
        let is_due = |place: usize, interval: u64| {
            let (slot, ticks) = (millis / TICK_MILLIS, interval / TICK_MILLIS);
            slot % ticks == place as u64 * ticks / count as u64
        };
        let streams: Vec<(StreamId, Chain)> = others
            .iter()
            .flat_map(|other| {
                let site = other.secret.public();
                other
                    .chains
                    .map(|(stream, chain)| (StreamId { site, incarnation: INCARNATION, stream }, chain))
            })
            .filter(|(_, chain)| chain.sequence > Sequence::START)
            .collect();
        for (place, other) in others.iter_mut().enumerate() {
            if is_due(place, MESSAGE_MILLIS) {
                arrived.extend(other.says(now));
            }
            if is_due(place, heartbeat_millis) && !streams.is_empty() {
                arrived.push(other.heartbeat(&streams, now));
            }
        }
        heard += arrived.len() as u64;
        bytes += arrived.iter().map(|one| one.len() as u64).sum::<u64>();
        site.drain(now, &arrived);
        if millis % STATUS_MILLIS == 0 {
            let begun = Instant::now();
            let status = site.link.status(Millis(now));
            looking += begun.elapsed();
            looks += 1;
            assert_eq!(status.sites.len(), count - 1);
        }
    }
    let secs = SECONDS - WARMING_SECONDS;
    let percent = |busy: Duration| 100.0 * busy.as_secs_f64() / secs as f64;
    let status = site.link.status(Millis(BEGINNING + SECONDS * 1000));
    println!(
        "{count} sites: {} messages and {} kB heard a second, {} commits a second; {:.2} % of a core in the link, \
         {:.2} % in the double's commits; the status {} us each",
        heard / secs,
        bytes / secs / 1000,
        site.spent.commits / secs,
        percent(site.spent.busy),
        percent(site.spent.committing),
        looking.as_micros() / u128::from(looks.max(1)),
    );
    if let Some(path) = path {
        let commits = site.spent.commits.max(1);
        println!(
            "synced commits: {} bytes and {} us each, {:.2} % of a core",
            site.spent.synced_bytes / commits,
            site.spent.synced.as_micros() / u128::from(commits),
            percent(site.spent.syncing),
        );
        std::fs::remove_file(path).expect("its own file");
    }
    let agreeing = status.sites.iter().filter(|one| one.agrees == Some(true)).count();
    assert_eq!(agreeing, count - 1, "all are heard, and nothing is missing: {:?}", status.alarms);
}
