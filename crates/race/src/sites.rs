//! The race of sites: three of them and a broker between, all on this machine. What one is told, when do all know it,
//! how many bytes does that take, and how quickly does a newcomer catch up?
//!
//! Each site is told in batches, at a fixed rate; now and then a signature among them is a *probe*, whose time is taken
//! until the other two sites know it. Bytes of an item are those in the log, which are the same that travel; what
//! messages have around them is the envelope, and stands apart.

mod catch_up;
mod entropy;
mod idle;
mod lists;
mod log;
mod network;
mod probe;
mod slow_disk;
mod table;

use std::error::Error;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use seenit_filter::random::SplitMix;
use seenit_ledger::{Case, OPERATOR, Verb, Write};
use seenit_server::Running;
use seenit_signature::Kind;
use serde::Serialize;

use catch_up::CatchUpRow;
use idle::IdleRow;
use lists::ListRow;
use network::{Network, SITES};
use probe::Probes;

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- sites
  cargo run --release -p seenit-lab --bin race -- sites --json > sites.json
  cargo run --release -p seenit-lab --bin race -- sites --seconds 5 --rate 9000
  cargo run --release -p seenit-lab --bin race -- sites --only catch-up --sync-millis 5
  cargo run --release -p seenit-lab --bin race -- sites --only idle --idle 60

Needs nats-server, and cc for --sync-millis. All stay on loopback.";

/// Signatures of one call.
const BATCH: u64 = 100;
/// Bytes of a signature that is told as it is.
const RAW_BYTES: f64 = 16.0;
/// Reports are a tenth of what is seen.
const REPORT_SHARE: u64 = 10;
/// An interval of sightings has a second, and a status is no older than one.
const SETTLE: Duration = Duration::from_secs(3);

#[derive(Args)]
pub(crate) struct SitesArgs {
    /// Signatures a second that all sites together are told.
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(300..))]
    rate: u64,
    /// Seconds.
    #[arg(long, value_name = "S", default_value_t = 20.0)]
    seconds: f64,
    /// Signatures of a generation that each site has room for.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1000..))]
    capacity: u64,
    /// Messages that the newcomer finds in the broker.
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1000..=90_000))]
    messages: u64,
    /// Let the newcomer catch up once more on a disk whose sync takes so much longer; 0 leaves that out.
    #[arg(long, value_name = "MS", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=1000))]
    sync_millis: u64,
    /// Let so many sites be idle, and say what that takes; 0 leaves that out.
    #[arg(long, value_name = "SITES", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u16).range(..=100))]
    idle: u16,
    /// Only these rows.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Print one JSON array in place of the table.
    #[arg(long)]
    json: bool,
}

/// Rows that belong together.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// `seen` and `report`: three sites that run.
    Told,
    /// `seen 12` and `seen 3300`: deltas of that many signatures.
    Lists,
    /// `catch up`.
    CatchUp,
    /// `idle`, with `--idle`.
    Idle,
}

impl SitesArgs {
    fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

/// One kind of thing that is told. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    per_s: u64,
    items: u64,
    probes: u64,
    p50_ms: f64,
    p99_ms: f64,
    /// Without the envelope.
    bytes_per_item: f64,
    raw_bytes_per_item: f64,
    entropy_bytes_per_item: f64,
    /// Signed heads and lengths of lists: all that was published less the items.
    envelope_bytes: f64,
}

/// All rows that were raced.
#[derive(Default)]
struct Rows {
    told: Vec<Row>,
    lists: Vec<ListRow>,
    /// On this machine's disk, and on a slower one.
    catch_up: Option<CatchUpRow>,
    slow_catch_up: Option<CatchUpRow>,
    idle: Option<IdleRow>,
}

pub(crate) fn run(args: &SitesArgs) -> Result<(), Box<dyn Error>> {
    let mut rows = Rows::default();
    if args.has(Part::Lists) {
        rows.lists = lists::rows()?;
    }
    if args.has(Part::Told) {
        rows.told = told(args)?;
    }
    if args.has(Part::CatchUp) {
        rows.catch_up = Some(catch_up::row(args.messages)?);
        if args.sync_millis > 0 {
            rows.slow_catch_up = Some(slow_disk::catch_up(args.messages, args.sync_millis)?);
        }
    }
    if args.idle > 0 && args.has(Part::Idle) {
        rows.idle = Some(idle::row(args.idle.into())?);
    }
    if args.json {
        let told = rows.told.iter().map(serde_json::to_value);
        let lists = rows.lists.iter().map(serde_json::to_value);
        let catch_up = rows.catch_up.iter().chain(&rows.slow_catch_up).map(serde_json::to_value);
        let idle = rows.idle.iter().map(serde_json::to_value);
        let all: Vec<_> = told.chain(lists).chain(catch_up).chain(idle).collect::<Result<_, _>>()?;
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        print!("{}", table::table(&rows));
    }
    Ok(())
}

/// Three sites are told, and what they publish is weighed.
fn told(args: &SitesArgs) -> Result<Vec<Row>, Box<dyn Error>> {
    let network = Network::form(SITES, args.capacity)?;
    let probes = Probes::default();
    let told = std::thread::scope(|scope| -> Result<Vec<Told>, Box<dyn Error>> {
        let watching = scope.spawn(|| probes.watch(&network.sites));
        let rate = args.rate / SITES as u64;
        let tell = |number| {
            scope.spawn({
                let site = &network.sites[number];
                let probes = &probes;
                move || tell(site, number, rate, args.seconds, probes)
            })
        };
        let tellers: Vec<_> = (0..SITES).map(tell).collect();
        let told: Vec<_> = tellers.into_iter().map(|one| one.join()).collect();
        // Whatever came of it: the watcher must not wait for ever.
        probes.end();
        watching.join().map_err(|_| "the watcher panicked")?;
        let told = told.into_iter().map(|one| one.map_err(|_| "a teller panicked"));
        Ok(told.collect::<Result<Vec<_>, _>>()?.into_iter().collect::<Result<Vec<_>, _>>()?)
    })?;
    network.wait_for_agreement()?;
    // The last interval is journalled, published, and shown in the status.
    std::thread::sleep(SETTLE);
    told_rows(&network, &probes, &told, args.seconds)
}

/// What one site was told.
#[derive(Clone, Copy, Default)]
struct Told {
    seen: u64,
    reports: u64,
}

/// Tells one site batches at a rate; the first of each is a probe.
fn tell(site: &Running, number: usize, rate: u64, seconds: f64, probes: &Probes) -> Result<Told, String> {
    let ledger = site.ledger();
    let mut random = SplitMix(2006 + number as u64);
    let begun = Instant::now();
    let mut told = Told::default();
    let mut case = || {
        let mut case = Case::new();
        let digest: [u8; 16] = std::array::from_fn(|_| random.next() as u8);
        case.push(Kind::DccBody, &digest).map(|()| case).map_err(|error| error.to_string())
    };
    while begun.elapsed().as_secs_f64() < seconds {
        let sightings = rate - rate / REPORT_SHARE;
        let cases = (0..BATCH).map(|_| case()).collect::<Result<Vec<_>, _>>()?;
        probes.add("seen", number, &cases[0]);
        ledger.see(&cases, 1).map_err(|error| error.to_string())?;
        told.seen += BATCH;
        if told.reports * sightings < told.seen * (rate / REPORT_SHARE) {
            let cases = (0..BATCH).map(|_| case()).collect::<Result<Vec<_>, _>>()?;
            probes.add("report", number, &cases[0]);
            let write = Write { verb: Verb::Report, reporter: OPERATOR, cases };
            ledger.write_and_wait(write).map_err(|error| error.to_string())?;
            told.reports += BATCH;
        }
        let due = Duration::from_secs_f64((told.seen + told.reports) as f64 / rate as f64);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
    }
    Ok(told)
}

fn told_rows(
    network: &Network,
    probes: &Probes,
    told: &[Told],
    seconds: f64,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let seen: u64 = told.iter().map(|one| one.seen).sum();
    let reports: u64 = told.iter().map(|one| one.reports).sum();
    let payloads = network.payloads()?;
    let (records_published, seen_published) = network.published_bytes(&payloads)?;
    let row = |name: &'static str, items: u64, bytes: u64, published: u64, raw: f64, entropy: f64| {
        let times = probes.times(name);
        let per_item = |bytes: f64| bytes / items.max(1) as f64;
        Row {
            name,
            per_s: (items as f64 / seconds) as u64,
            items,
            probes: times.len() as u64,
            p50_ms: at_share(&times, 0.5),
            p99_ms: at_share(&times, 0.99),
            bytes_per_item: per_item(bytes as f64),
            raw_bytes_per_item: raw,
            entropy_bytes_per_item: entropy,
            envelope_bytes: per_item(published as f64 - bytes as f64),
        }
    };
    let seen_entropy = payloads.deltas_bits / 8.0 / seen.max(1) as f64;
    let record = payloads.records_bytes as f64 / payloads.records.max(1) as f64;
    // Nothing of a random digest can be left out, so a record's entropy is that.
    Ok(vec![
        row("seen", seen, payloads.deltas_bytes, seen_published, RAW_BYTES, seen_entropy),
        row("report", reports, payloads.records_bytes, records_published, record, RAW_BYTES),
    ])
}

/// The value below which this share of sorted ones lies.
fn at_share(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}
