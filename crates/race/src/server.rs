//! The race of the server: checks and durable reports over HTTP, with ten million signatures stored.
//!
//! The server is a process of its own, so that its resident bytes are its own; this process is the generator. Requests
//! are encoded before a lap begins and sent over kept connections; of an answer no more is read than its status and its
//! length, because what the generator takes of the processors the server does not get.

mod generator;
mod host;
mod pollers;
mod requests;
mod table;

use std::error::Error;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::process::{self, cpu_secs};
use crate::report;
use generator::{Connections, Measured};
use host::{Host, Plan};
use pollers::{Polled, Pollers};
use requests::{Requests, Shape};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- server
  cargo run --release -p seenit-lab --bin race -- server --json > server.json
  cargo run --release -p seenit-lab --bin race -- server --signatures 100000 --seconds 1";

/// Cases of a request while signatures are loaded: the most that a write takes.
const LOAD_CASES: usize = 1000;
/// Requests on their way while signatures are loaded.
const LOAD_CONNECTIONS: usize = 8;
/// Of the signatures, so many may be added by each lap of reports: the table has room for both.
const LAP_SHARE: u64 = 20;

#[derive(Args)]
pub(crate) struct ServerArgs {
    /// Signatures that are stored before the laps.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(10_000..))]
    signatures: u64,
    /// Seconds of a lap; one of reports ends earlier when it has added a twentieth of the signatures.
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    seconds: f64,
    /// Print one JSON array in place of the table.
    #[arg(long)]
    json: bool,
    /// Be the server: a plan in JSON.
    #[arg(long, hide = true)]
    host: Option<String>,
}

/// One lap of the race.
struct Lap {
    name: &'static str,
    shape: Shape,
    /// Connections, each with one request on its way.
    connections: usize,
    /// Connections that ask about the site meanwhile.
    pollers: usize,
}

impl Lap {
    const fn of(name: &'static str, shape: Shape, connections: usize) -> Self {
        Lap { name, shape, connections, pollers: 0 }
    }
}

/// As many as are left of the connections that a server takes, beside those of the checks.
const POLLERS: usize = 900;

const SINGLE: Shape = Shape::CheckJson { signatures: 1 };

const LAPS: [Lap; 6] = [
    Lap::of("check single json", SINGLE, 64),
    Lap { pollers: POLLERS, ..Lap::of("check during status", SINGLE, 64) },
    Lap::of("check batch json", Shape::CheckJson { signatures: 100 }, 8),
    Lap::of("check batch binary", Shape::CheckBinary { signatures: 100 }, 8),
    Lap::of("report single", Shape::Report { cases: 1 }, 64),
    Lap::of("report batch", Shape::Report { cases: 100 }, 32),
];

/// What a lap gave. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    ops_per_s: u64,
    p50_us: u64,
    p99_us: u64,
    rss_bytes: u64,
    rss_peak_bytes: u64,
    signatures: u64,
    bytes_per_signature: f64,
    generator_cpu_share: f64,
    /// Processor time of the server, nanoseconds a signature.
    server_cpu_ns: u64,
    /// What those were told who asked about the site meanwhile.
    #[serde(flatten)]
    polled: Option<Polled>,
}

pub(crate) fn run(args: &ServerArgs) -> Result<(), Box<dyn Error>> {
    if let Some(plan) = &args.host {
        return host::serve(&serde_json::from_str(plan)?);
    }
    let rows = race(args.signatures, Duration::from_secs_f64(args.seconds))?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        println!("{}", table::table(&rows));
        table::targets(&rows).iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

fn race(signatures: u64, time: Duration) -> Result<Vec<Row>, Box<dyn Error>> {
    let folder = process::folder_on_disk()?;
    let capacity = signatures + 2 * signatures / LAP_SHARE;
    let host = Host::start(&Plan { folder: folder.path().into(), capacity })?;
    load(&host, signatures)?;
    let mut next_new = signatures;
    LAPS.iter().map(|lap| self::lap(lap, &host, signatures, &mut next_new, time)).collect()
}

fn load(host: &Host, signatures: u64) -> Result<(), Box<dyn Error>> {
    let bar = report::loading("loading", signatures)?;
    let mut connections = Connections::open(host.address(), LOAD_CONNECTIONS)?;
    /// Requests that are encoded at a time.
    const AT_A_TIME: u64 = 100 * LOAD_CASES as u64;
    for first in (0..signatures).step_by(AT_A_TIME as usize) {
        let end = signatures.min(first + AT_A_TIME);
        connections.send_all(&Requests::load(host, first..end, LOAD_CASES))?;
        bar.set_position(end);
    }
    bar.finish_and_clear();
    Ok(())
}

fn lap(
    lap: &Lap,
    host: &Host,
    loaded: u64,
    next_new: &mut u64,
    time: Duration,
) -> Result<Row, Box<dyn Error>> {
    let most_new = loaded / LAP_SHARE;
    let requests = Requests::of(lap.shape, host, loaded, *next_new..*next_new + most_new);
    let mut connections = Connections::open(host.address(), lap.connections)?;
    requests.verify(&mut connections)?;
    let pollers =
        if lap.pollers > 0 { Some(Pollers::start(host, lap.pollers, &mut connections)?) } else { None };
    let cpu_before = (cpu_secs("self"), host.cpu_secs());
    let Measured { requests: sent, secs, p50, p99 } = connections.measure(&requests, time)?;
    let polled = pollers.map(|pollers| pollers.stop(secs)).transpose()?;
    let generator = cpu_secs("self") - cpu_before.0;
    let server = host.cpu_secs() - cpu_before.1;
    *next_new += requests.new_in(sent);
    let rss_bytes = host.status_bytes("VmRSS");
    let operations = (sent * requests.signatures_each()) as f64;
    let row = Row {
        name: lap.name,
        ops_per_s: (operations / secs) as u64,
        p50_us: p50.as_micros() as u64,
        p99_us: p99.as_micros() as u64,
        rss_bytes,
        rss_peak_bytes: host.status_bytes("VmHWM"),
        signatures: *next_new,
        bytes_per_signature: (100.0 * rss_bytes as f64 / *next_new as f64).round() / 100.0,
        generator_cpu_share: (100.0 * generator / (generator + server)).round() / 100.0,
        server_cpu_ns: (server * 1e9 / operations) as u64,
        polled,
    };
    eprintln!("{:20} {:9} signatures/s", row.name, row.ops_per_s);
    Ok(row)
}
