//! `seenit serve`: runs a site until it is told to stop.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use seenit_ledger::Stats;
use seenit_server::config::Listen;
use seenit_server::{ClientAddresses, Config, Running, Server, dumps, log};
use serde::Serialize;
use signal_hook::consts::TERM_SIGNALS;

use super::hint;
use crate::client::DATA_FOLDER;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "Stops on SIGINT (Ctrl-C), SIGTERM or SIGQUIT once requests under way are answered; a second signal \
    ends it at once. SIGHUP reads the configuration, DCC's whitelist and the certificate again; the log names the \
    keys that take effect only after a restart.\n\
    Examples:\n  seenit serve\n  seenit serve --data /var/lib/seenit/data --config /etc/seenit.toml\n  \
    seenit serve --http 127.0.0.1:0 --json"
)]
pub(crate) struct Arguments {
    /// The data folder, with everything the server remembers; created if it is missing
    #[arg(long, value_name = "DIR", default_value = DATA_FOLDER)]
    data: PathBuf,
    /// A TOML file: see `seenit config show`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Listen for HTTP here instead of at the configured addresses; port 0 picks a free port [default: 127.0.0.1:8025]
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<SocketAddr>,
    /// Answer Pyzor's clients here, or "off" [default: 127.0.0.1:24441]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pyzor: Option<Listen>,
    /// Answer Razor's clients here, or "off" [default: 127.0.0.1:2703]
    #[arg(long, value_name = "ADDRESS:PORT")]
    razor: Option<Listen>,
    /// Answer DCC's clients here, or "off" [default: 127.0.0.1:6277]
    #[arg(long, value_name = "ADDRESS:PORT")]
    dcc: Option<Listen>,
    /// Answer the fuzzy checks of rspamd here, or "off" [default: 127.0.0.1:11335]
    #[arg(long, value_name = "ADDRESS:PORT")]
    fuzzy: Option<Listen>,
    /// Print where it listens as one line of JSON
    #[arg(long)]
    json: bool,
}

/// Where everything is, for machines.
#[derive(Serialize)]
struct Listening<'a> {
    urls: Vec<String>,
    /// By protocol, in lower case.
    clients: BTreeMap<String, SocketAddr>,
    /// For `encryption_key` in rspamd.
    #[serde(skip_serializing_if = "Option::is_none")]
    fuzzy_key: Option<&'a str>,
    data: &'a Path,
    token_files: &'a [PathBuf],
    pid: u32,
    recovery: Vec<String>,
    alarms: Vec<String>,
}

/// What a shell says of a process that a signal ended: 128 and the signal's number.
const ENDED_BY_SIGNAL: i32 = 128;

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let config = read_config(arguments.config.as_deref())?;
    log::init(&config.log);
    // Before the first key is read. A kernel that refuses it is no reason not to serve.
    if let Err(error) = dumps::refuse() {
        eprintln!("Note: core dumps cannot be turned off: {error}");
    }
    let has_tls = (config.tls.is_set(), config.tls.loopback);
    let names = config.http.names.clone();
    // Before anybody is told that it runs: who hears of it may end it at once.
    let mut server = Server::new(config, &arguments.data).hear_signals();
    let mut addresses = ClientAddresses::default();
    addresses.pyzor = arguments.pyzor;
    addresses.razor = arguments.razor;
    addresses.dcc = arguments.dcc;
    addresses.fuzzy = arguments.fuzzy;
    server = server.clients(addresses);
    if let Some(file) = &arguments.config {
        server = server.config_file(file);
    }
    if let Some(address) = arguments.http {
        server = server.http(address);
    }
    let mut running = server.start()?;
    let stats = running.ledger().stats();
    let urls: Vec<String> = running.addresses().iter().map(|address| url(*address, has_tls)).collect();
    if arguments.json {
        output::text(&line(&running, &arguments.data, urls, stats)?)?;
    } else {
        output::text(&greeting(&running, &arguments.data, &urls, &names, &stats))?;
    }
    running.wait_for_signal();
    // The next signal ends the process without more ado.
    running.remove_token_files();
    end_at_the_next_signal()?;
    if !arguments.json {
        output::text("Stopping.\n")?;
    }
    running.shutdown();
    Ok(ExitCode::SUCCESS)
}

/// The configuration in a file, or the defaults.
pub(super) fn read_config(path: Option<&Path>) -> Result<Config, Problem> {
    path.map_or_else(|| Ok(Config::default()), config_in)
}

/// The configuration in a file. One that is not there is no wrong configuration.
pub(super) fn config_in(path: &Path) -> Result<Config, Problem> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Problem::input(path)(error)),
        _ => Ok(Config::read(path)?),
    }
}

fn url(address: SocketAddr, (has_certificate, on_loopback): (bool, bool)) -> String {
    let is_tls = has_certificate && (on_loopback || !address.ip().is_loopback());
    format!("{}://{address}", if is_tls { "https" } else { "http" })
}

fn line(running: &Running, data: &Path, urls: Vec<String>, stats: Stats) -> Result<String, Problem> {
    let recovery = stats.recovery;
    let alarms = stats.alarms;
    let token_files = running.token_files();
    let clients = running.clients().iter().map(|(name, address)| (name.to_lowercase(), *address)).collect();
    let fuzzy_key = running.fuzzy_key();
    let pid = std::process::id();
    let listening = Listening { urls, clients, fuzzy_key, data, token_files, pid, recovery, alarms };
    let line = serde_json::to_string(&listening).map_err(|error| Problem::io("JSON")(error.into()))?;
    Ok(line + "\n")
}

fn greeting(running: &Running, data: &Path, urls: &[String], names: &[String], stats: &Stats) -> String {
    let mut text = String::new();
    for sentence in stats.recovery.iter().chain(&stats.alarms) {
        text += &format!("Note: {sentence}\n");
    }
    text += &format!("seenit remembers in {} and listens here:\n", data.display());
    for url in urls {
        text += &format!("  HTTP            {url}\n");
    }
    for (name, address) in running.clients() {
        text += &format!("  {name:15} {address}\n");
    }
    if let Some(key) = running.fuzzy_key() {
        text += &format!("  fuzzy key       {key}\n");
    }
    for path in running.token_files() {
        text += &format!("  operator token  {}\n", path.display());
    }
    let hint = hint::selftest(running.addresses(), urls, names, running.token_files());
    text + &format!("Try this in another terminal, and end the server with Ctrl-C:\n  {hint}\n")
}

/// Whoever asks twice does not want to wait.
fn end_at_the_next_signal() -> Result<(), Problem> {
    for signal in TERM_SIGNALS {
        let always = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(*signal, ENDED_BY_SIGNAL + signal, always)
            .map_err(Problem::io("signals"))?;
    }
    Ok(())
}
