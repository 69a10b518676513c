//! The server's own process, seen from both sides.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use seenit_server::Server;
use seenit_server::config::{Config, Limits};
use serde::{Deserialize, Serialize};

use crate::process;

/// What the server is told.
#[derive(Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) folder: PathBuf,
    pub(crate) capacity: u64,
}

/// What it says when it serves.
#[derive(Serialize, Deserialize)]
struct Serving {
    address: SocketAddr,
    token: String,
}

/// Runs the server until standard input ends, as it does when the race is over or was stopped. It ends as in a crash:
/// nobody will open that folder again.
pub(crate) fn serve(plan: &Plan) -> Result<(), Box<dyn Error>> {
    let data = plan.folder.join("data");
    let server = Server::new(config(plan.capacity), &data);
    let server = server.http((Ipv4Addr::LOCALHOST, 0).into()).token_folder(&data);
    let running = server.start()?;
    let address = *running.addresses().first().ok_or("the server listens nowhere")?;
    let serving = Serving { address, token: running.operator_token().as_str().to_owned() };
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(&serving)?)?;
    out.flush()?;
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    std::process::exit(0)
}

/// The race is about signatures that were reported: what else is remembered is made small.
fn config(capacity: u64) -> Config {
    const SMALL: u64 = 1000;
    let mut config = Config::default();
    let ledger = &mut config.ledger;
    (ledger.capacity, ledger.free_bytes_min) = (capacity, 0);
    (ledger.seen_capacity, ledger.bulk_capacity, ledger.near_capacity) = (SMALL, SMALL, SMALL);
    config.limits = Limits {
        network_checks_per_sec: 0,
        network_writes_per_sec: 0,
        account_checks_per_sec: 0,
        account_writes_per_sec: 0,
        ..Limits::default()
    };
    config
}

/// The server, for the generator. Dropped, it ends.
pub(crate) struct Host {
    process: Child,
    serving: Serving,
}

impl Host {
    pub(crate) fn start(binary: &Path, plan: &Plan) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(binary);
        command.args(["server", "--host", &serde_json::to_string(plan)?]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let out = process.stdout.take().ok_or("the server has no standard output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let serving = serde_json::from_str(&line).map_err(|_| "the server did not start")?;
        Ok(Host { process, serving })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.serving.address
    }

    /// The operator's token.
    pub(crate) fn token(&self) -> &str {
        &self.serving.token
    }

    pub(crate) fn status_bytes(&self, line: &str) -> u64 {
        process::status_bytes(&self.process.id().to_string(), line)
    }

    pub(crate) fn cpu_secs(&self) -> f64 {
        process::cpu_secs(&self.process.id().to_string())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // It was our child: there is nothing else to be done about one that does not end.
        let _ = self.process.wait();
    }
}
