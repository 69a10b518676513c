//! The race of sites: three of them and an engine between, all on this machine. What one is told, when do all know it,
//! and how many bytes does that take?
//!
//! Each site is told in batches, at a fixed rate; now and then a signature among them is a *probe*, whose time is taken
//! until the other two sites know it. The bytes are those of all messages that were published, heads included.

mod entropy;
mod network;
mod probe;

use std::error::Error;
use std::time::{Duration, Instant};

use clap::Args;
use seenit_filter::random::SplitMix;
use seenit_ledger::{Case, OPERATOR, Verb, Write};
use seenit_server::Running;
use seenit_signature::Kind;
use serde::Serialize;

use network::{Network, SITES};
use probe::Probes;

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- sites
  cargo run --release -p seenit-lab --bin race -- sites --json > sites.json
  cargo run --release -p seenit-lab --bin race -- sites --seconds 5 --rate 9000

Needs nats-server. All stay on loopback.";

/// Signatures of one call.
const BATCH: u64 = 100;
/// Bytes of a signature that is told as it is.
const RAW_BYTES: f64 = 16.0;
/// Reports are a tenth of what is seen.
const REPORT_SHARE: u64 = 10;
/// Milliseconds that all may take to know, 99 times of 100.
const P99_MS: f64 = 2000.0;
/// How far beyond the entropy the bytes of seen counts may be.
const ENTROPY_TIMES: f64 = 1.2;

#[derive(Args)]
pub(crate) struct SitesArgs {
    /// Signatures a second that all sites together are told.
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(300..))]
    rate: u64,
    /// Seconds.
    #[arg(long, value_name = "S", default_value_t = 20.0)]
    seconds: f64,
    /// Signatures a generation that the network's cells are made for.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1000..))]
    capacity: u64,
    /// Print one JSON array in place of the table.
    #[arg(long)]
    json: bool,
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
    bytes_per_item: f64,
    raw_bytes_per_item: f64,
    entropy_bytes_per_item: f64,
}

pub(crate) fn run(args: &SitesArgs) -> Result<(), Box<dyn Error>> {
    let network = Network::form(args.capacity)?;
    let probes = Probes::default();
    let told = std::thread::scope(|scope| -> Result<Vec<Told>, Box<dyn Error>> {
        let watching = scope.spawn(|| probes.watch(&network.sites));
        let rate = args.rate / SITES as u64;
        let tell = |number| {
            scope.spawn({
                let (site, probes) = (&network.sites[number], &probes);
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
    let rows = rows(&network, &probes, &told, args.seconds)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", table(&rows));
    }
    Ok(())
}

/// What one site was told.
#[derive(Clone, Copy, Default)]
struct Told {
    seen: u64,
    reports: u64,
}

/// Tells one site batches at a rate; the first of each is a probe.
fn tell(site: &Running, number: usize, rate: u64, seconds: f64, probes: &Probes) -> Result<Told, String> {
    let (ledger, mut random) = (site.ledger(), SplitMix(2006 + number as u64));
    let (begun, mut told) = (Instant::now(), Told::default());
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

fn rows(network: &Network, probes: &Probes, told: &[Told], seconds: f64) -> Result<Vec<Row>, Box<dyn Error>> {
    let seen: u64 = told.iter().map(|one| one.seen).sum();
    let reports: u64 = told.iter().map(|one| one.reports).sum();
    let (records_bytes, seen_bytes) = network.published_bytes();
    let mut entropy_bits = 0.0;
    for site in &network.sites {
        entropy_bits += entropy::of_gains(site.ledger())?;
    }
    let record = network.record_bytes()?;
    let row = |name: &'static str, items: u64, bytes: u64, raw: f64, entropy: f64| {
        let times = probes.times(name);
        Row {
            name,
            per_s: (items as f64 / seconds) as u64,
            items,
            probes: times.len() as u64,
            p50_ms: at_share(&times, 0.5),
            p99_ms: at_share(&times, 0.99),
            bytes_per_item: bytes as f64 / items.max(1) as f64,
            raw_bytes_per_item: raw,
            entropy_bytes_per_item: entropy,
        }
    };
    // Nothing of a random digest can be left out, so a record's entropy is that.
    Ok(vec![
        row("seen", seen, seen_bytes, RAW_BYTES, entropy_bits / 8.0 / seen.max(1) as f64),
        row("report", reports, records_bytes, record, RAW_BYTES),
    ])
}

/// The value below which this share of sorted ones lies.
fn at_share(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "{:8} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
        "", "items/s", "probes", "p50 ms", "p99 ms", "B/item", "raw B", "entropy B"
    );
    for row in rows {
        table += &format!(
            "{:8} {:>8} {:>8} {:>9.0} {:>9.0} {:>9.2} {:>9.2} {:>9.2}\n",
            row.name,
            row.per_s,
            row.probes,
            row.p50_ms,
            row.p99_ms,
            row.bytes_per_item,
            row.raw_bytes_per_item,
            row.entropy_bytes_per_item,
        );
    }
    let answer = |is_met: bool| if is_met { "yes " } else { "NO  " };
    for row in rows {
        table += &format!(
            "{} {}: known everywhere within {P99_MS} ms, 99 of 100\n",
            answer(row.p99_ms <= P99_MS),
            row.name
        );
    }
    for row in rows.iter().filter(|row| row.name == "seen") {
        let times = row.bytes_per_item / row.entropy_bytes_per_item;
        table +=
            &format!("{} seen: fewer bytes than raw\n", answer(row.bytes_per_item < row.raw_bytes_per_item));
        table += &format!(
            "{} seen: <= {ENTROPY_TIMES} of the entropy: {times:.2}\n",
            answer(times <= ENTROPY_TIMES)
        );
    }
    table
}
