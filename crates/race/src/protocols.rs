//! The race of protocols: the servers that other protocols have, and ours behind the same datagrams.
//!
//! Every server is a process of its own on this machine, and this process is the one generator for all of them. They
//! are loaded with the same keys and take turns, lap by lap. Whoever has stored a message must know it: an answer that
//! is not right does not count, and none of ours may be.

mod generator;
mod host;
mod memory;
mod programs;
mod pyzord;
pub(crate) mod question;
mod rspamd;
mod table;

use std::any::Any;
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use seenit_filter::random::SplitMix;
use serde::Serialize;

use crate::hosted::Hosted;
use crate::process::{self, cpu_secs, status_bytes};
use crate::report::median;
use generator::{Generator, Measured};
use host::{Plan, Protocol, Serving};
use question::{Question, SUMS};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- protocols
  cargo run --release -p seenit-lab --bin race -- protocols --json > protocols.json
  cargo run --release -p seenit-lab --bin race -- protocols --signatures 10000 --messages 2000 --seconds 1
  cargo run --release -p seenit-lab --bin race -- protocols --memory

Needs pyzord (Debian's packages pyzor and python3-gdbm), rspamd and redis-server. All stay on loopback.
With --memory it needs none of them.
Loading rspamd takes 200 seconds: more than 500 messages a second it does not write cleanly.";

/// Laps of each server; what is said is the median.
const ROUNDS: u64 = 3;
/// What we are called.
const OURS: &str = "seenit";
/// Before a lap there is so much silence, or as much as the lap is long: nobody pays for what another has left to do.
const PAUSE: Duration = Duration::from_secs(2);
/// Of a rival's answers so few may be wrong: rspamd does not know a message when redis does not answer in time, as it
/// may while hits are written. Right answers are counted alone.
const WRONG_SHARE_MAX: f64 = 0.1;

#[derive(Args)]
pub(crate) struct ProtocolsArgs {
    /// Signatures that are stored for Pyzor, and for DCC.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1000..))]
    signatures: u64,
    /// Messages that are stored for rspamd: a digest and 32 shingles each.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1000..))]
    messages: u64,
    /// Seconds of a lap; each server has three of each kind.
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    seconds: f64,
    /// Only the memory of seen counts: no servers.
    #[arg(long)]
    memory: bool,
    /// Print one JSON array in place of the table.
    #[arg(long)]
    json: bool,
    /// Be the server: a plan in JSON.
    #[arg(long, hide = true)]
    host: Option<String>,
}

/// What a server did. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    peer: &'static str,
    ops_per_s: u64,
    p50_us: u64,
    p99_us: u64,
    rss_bytes: u64,
    signatures: u64,
    bytes_per_signature: f64,
}

/// A server that is loaded and answers. Dropped, it ends.
struct Racer {
    peer: &'static str,
    address: SocketAddr,
    /// All processes that have to do with an answer.
    processes: Vec<u32>,
    /// What it takes to store all signatures.
    stored_bytes: u64,
    _running: Box<dyn Any>,
}

impl Racer {
    fn new(
        peer: &'static str,
        address: SocketAddr,
        processes: Vec<u32>,
        stored_bytes: u64,
        running: impl Any,
    ) -> Self {
        Racer { peer, address, processes, stored_bytes, _running: Box::new(running) }
    }

    /// Ours, in a process of its own.
    fn ours(folder: &Path, protocol: Protocol, stored: u64) -> Result<Self, Box<dyn Error>> {
        let hosted: Hosted<Serving> =
            Hosted::start("protocols", &Plan { folder: folder.into(), protocol, stored })?;
        let Serving { address, stored_bytes } = hosted.serving;
        Ok(Racer::new(OURS, address, vec![hosted.id()], stored_bytes, hosted))
    }

    fn rss_bytes(&self) -> u64 {
        self.processes.iter().map(|id| status_bytes(&id.to_string(), "VmRSS")).sum()
    }

    fn cpu_secs(&self) -> f64 {
        self.processes.iter().map(|id| cpu_secs(&id.to_string())).sum()
    }
}

impl Measured {
    /// Refuses answers of which more than this share is wrong.
    fn with_at_most(self, wrong_share: f64, peer: &str) -> Result<Self, Box<dyn Error>> {
        let wrong = self.wrong;
        let all = self.right + self.wrong;
        match &self.example {
            Some(example) if wrong as f64 > wrong_share * all as f64 => {
                Err(format!("{wrong} of {all} answers of {peer} are wrong, as that to {example}").into())
            }
            _ => Ok(self),
        }
    }
}

pub(crate) fn run(args: &ProtocolsArgs) -> Result<(), Box<dyn Error>> {
    if let Some(plan) = &args.host {
        return host::serve(&serde_json::from_str(plan)?);
    }
    let memory = memory::race(args.signatures)?;
    if args.memory {
        return print(args, &[], &memory);
    }
    programs::check_installed()?;
    print(args, &race(args)?, &memory)
}

/// Answers of servers and memory of seen counts, in one array or in two tables.
fn print(args: &ProtocolsArgs, rows: &[Row], memory: &[memory::MemoryRow]) -> Result<(), Box<dyn Error>> {
    if args.json {
        let answers = rows.iter().map(serde_json::to_value);
        let all: Vec<_> = answers.chain(memory.iter().map(serde_json::to_value)).collect::<Result<_, _>>()?;
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    let mut lines = memory::targets(memory);
    if !rows.is_empty() {
        println!("{}", table::table(rows));
        lines.splice(..0, table::targets(rows));
    }
    println!("{}", memory::table(memory));
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn race(args: &ProtocolsArgs) -> Result<Vec<Row>, Box<dyn Error>> {
    let time = Duration::from_secs_f64(args.seconds);
    let mut rows = race_pyzor(args.signatures, time)?;
    rows.extend(race_fuzzy(args.messages, time)?);
    rows.extend(race_dcc(args.signatures, time)?);
    Ok(rows)
}

fn race_pyzor(signatures: u64, time: Duration) -> Result<Vec<Row>, Box<dyn Error>> {
    let folder = process::folder_on_disk()?;
    let racers =
        [Racer::ours(folder.path(), Protocol::Pyzor, signatures)?, pyzord::start(folder.path(), signatures)?];
    laps("pyzor check", Question::PyzorCheck, &racers, (signatures, signatures), time)
}

fn race_fuzzy(messages: u64, time: Duration) -> Result<Vec<Row>, Box<dyn Error>> {
    let folder = process::folder_on_disk()?;
    let racers =
        [Racer::ours(folder.path(), Protocol::Fuzzy, messages)?, rspamd::start(folder.path(), messages)?];
    // Exact hits are written by rspamd, near ones are not: so these come first, and have a server at rest.
    let near = laps("fuzzy near", Question::FuzzyNear, &racers, (messages, messages), time)?;
    let mut rows = laps("fuzzy check", Question::FuzzyCheck, &racers, (messages, messages), time)?;
    rows.extend(near);
    Ok(rows)
}

fn race_dcc(signatures: u64, time: Duration) -> Result<Vec<Row>, Box<dyn Error>> {
    let folder = process::folder_on_disk()?;
    let messages = signatures.div_ceil(SUMS);
    let racers = [Racer::ours(folder.path(), Protocol::Dcc, SUMS * messages)?];
    laps("dcc query", Question::DccQuery, &racers, (messages, SUMS * messages), time)
}

/// Laps of all servers by turns. There are so many things to ask about, which are so many signatures.
fn laps(
    name: &'static str,
    question: Question,
    racers: &[Racer],
    (asked, signatures): (u64, u64),
    time: Duration,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut laps: Vec<Vec<Measured>> = racers.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        for (racer, laps) in racers.iter().zip(&mut laps) {
            laps.push(lap(name, question, racer, (asked, round), time)?);
        }
    }
    let row = |(racer, laps): (&Racer, Vec<Measured>)| {
        let of = |value: fn(&Measured) -> f64| median(laps.iter().map(value).collect()).unwrap_or(0.0) as u64;
        Row {
            name,
            peer: racer.peer,
            ops_per_s: of(|lap| lap.right as f64 / lap.secs),
            p50_us: of(|lap| lap.p50.as_micros() as f64),
            p99_us: of(|lap| lap.p99.as_micros() as f64),
            rss_bytes: racer.rss_bytes(),
            signatures,
            bytes_per_signature: (100.0 * racer.stored_bytes as f64 / signatures as f64).round() / 100.0,
        }
    };
    Ok(racers.iter().zip(laps).map(row).collect())
}

/// One lap of one server; in the same round all are asked about the same numbers.
fn lap(
    name: &str,
    question: Question,
    racer: &Racer,
    (asked, seed): (u64, u64),
    time: Duration,
) -> Result<Measured, Box<dyn Error>> {
    let mut random = SplitMix(seed);
    let numbers = std::iter::from_fn(|| Some(random.below(asked)));
    sleep(PAUSE.min(time));
    let before = (cpu_secs("self"), racer.cpu_secs());
    let measured = Generator::new(racer.address)?.measure(question, numbers, time)?;
    let generator = cpu_secs("self") - before.0;
    let server = racer.cpu_secs() - before.1;
    let Measured { right, wrong, .. } = measured;
    let answers = right + wrong;
    eprintln!(
        "{name:12} {:8} {:9.0} answers/s, {:6.2} us of processor time an answer, generator {:.2} us, {wrong} wrong",
        racer.peer,
        right as f64 / measured.secs,
        1e6 * server / answers as f64,
        1e6 * generator / answers as f64,
    );
    measured.with_at_most(if racer.peer == OURS { 0.0 } else { WRONG_SHARE_MAX }, racer.peer)
}
