//! A server of ours in a process of its own, seen from both sides: so its resident bytes are its own.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use seenit_server::config::{Config, Limits};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What is not raced has room for so many.
const SMALL: u64 = 1000;

/// Says that it serves, and how, and waits until standard input ends, as it does when the race is over or was stopped.
/// The process ends as in a crash: nobody will open that folder again.
pub(crate) fn serve(serving: &impl Serialize) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(serving)?)?;
    out.flush()?;
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    std::process::exit(0)
}

/// Nobody is limited, checks are no sightings, no bytes must stay free, and what is remembered is small until the
/// race makes it larger.
pub(crate) fn config() -> Config {
    let mut config = Config::default();
    let ledger = &mut config.ledger;
    ledger.free_bytes_min = 0;
    (ledger.capacity, ledger.seen_capacity) = (SMALL, SMALL);
    (ledger.bulk_capacity, ledger.near_capacity) = (SMALL, SMALL);
    // What is raced is what a question costs; the servers beside ours count nobody.
    config.clients.see = false;
    config.limits = Limits {
        network_checks_per_sec: 0,
        network_writes_per_sec: 0,
        account_checks_per_sec: 0,
        account_writes_per_sec: 0,
        ..Limits::default()
    };
    config
}

/// The process, for the generator, and what it said of itself. Dropped, it ends.
pub(crate) struct Hosted<S> {
    process: Child,
    pub(crate) serving: S,
}

impl<S: DeserializeOwned> Hosted<S> {
    /// Runs this program with the subcommand of a race, and a plan for the server's side of it.
    pub(crate) fn start(race: &str, plan: &impl Serialize) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([race, "--host", &serde_json::to_string(plan)?]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let out = process.stdout.take().ok_or("the server has no standard output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let serving = serde_json::from_str(&line).map_err(|_| "the server did not start")?;
        Ok(Hosted { process, serving })
    }
}

impl<S> Hosted<S> {
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl<S> Drop for Hosted<S> {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // It was our child: there is nothing else to be done about one that does not end.
        let _ = self.process.wait();
    }
}
