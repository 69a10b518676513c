//! rspamd's own fuzzy storage: one worker, in front of redis, as its stock configuration has it.

use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Racer;
use super::generator::Generator;
use super::programs::Daemon;
use super::question::Question;
use crate::ports::free_ports;
use crate::process::child_of;
use crate::report;

/// What it is called.
pub(crate) const PEER: &str = "rspamd";

/// Messages that are added together, and how often: 500 a second. At some thousands rspamd waits for redis longer than
/// it is willing to, and writes again.
const ADDED: u64 = 50;
const ADDED_EVERY: Duration = Duration::from_millis(100);
/// Updates are written once a second: after so many nothing is left, but on a machine that does other things, too. How
/// long is looked before something counts as lost, and how often.
const SETTLED_AFTER: Duration = Duration::from_secs(5);
const SETTLED_WITHIN: Duration = Duration::from_secs(120);
const LOOKED_EVERY: Duration = Duration::from_secs(1);
/// Messages that are looked for after that.
const SAMPLE: u64 = 1000;

/// What ends when the race does: rspamd first.
struct Running {
    _rspamd: Daemon,
    _redis: Daemon,
}

pub(crate) fn start(folder: &Path, messages: u64) -> Result<Racer, Box<dyn Error>> {
    // Neither takes a port of the system's choice.
    let free = || SocketAddr::from((Ipv4Addr::LOCALHOST, free_ports(1)[0]));
    let at_redis = free();
    let address = free();
    let redis = start_redis(folder, at_redis)?;
    let rspamd = start_rspamd(folder, address, at_redis)?;
    let worker = child_of(rspamd.id(), "fuzzy").ok_or("rspamd has no fuzzy worker")?;
    ask_redis(at_redis, "FLUSHALL")?;
    let empty = used_memory(at_redis)?;
    load(address, messages)?;
    let stored_bytes = used_memory(at_redis)?.saturating_sub(empty);
    let processes = vec![worker, redis.id()];
    let running = Running { _rspamd: rspamd, _redis: redis };
    Ok(Racer::new(PEER, address, processes, stored_bytes, running))
}

fn start_redis(folder: &Path, address: SocketAddr) -> Result<Daemon, Box<dyn Error>> {
    let ip = address.ip().to_string();
    let port = address.port().to_string();
    let dir = folder.display();
    let arguments = [
        ("bind", ip),
        ("port", port),
        ("dir", dir.to_string()),
        ("save", String::new()),
        ("appendonly", "no".into()),
    ];
    let arguments = arguments.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]);
    let mut daemon = Daemon::start("redis-server", arguments, folder)?;
    daemon.wait_until(|| TcpStream::connect(address).is_ok())?;
    Ok(daemon)
}

/// The stock configuration, but for addresses, for a second between updates in place of a minute, and without what is
/// not raced.
fn start_rspamd(folder: &Path, address: SocketAddr, redis: SocketAddr) -> Result<Daemon, Box<dyn Error>> {
    let fuzzy = format!(
        "bind_socket = \"{address}\"; count = 1; backend = \"redis\"; servers = \"{redis}\"; \
         expire = 90d; sync = 1s; allow_update = [\"127.0.0.1\"];"
    );
    let files = [
        ("local.d/worker-fuzzy.inc", fuzzy.as_str()),
        ("local.d/worker-normal.inc", "enabled = false;"),
        ("local.d/worker-controller.inc", "enabled = false;"),
        ("local.d/worker-proxy.inc", "enabled = false;"),
        // No packet leaves this machine, and nothing is compiled while others are raced.
        ("local.d/options.inc", "disable_hyperscan = true; dns { nameserver = [\"127.0.0.1:1\"]; }"),
        ("override.d/fuzzy_check.conf", "rule \"rspamd.com\" { enabled = false; }"),
    ];
    let home = folder.join("rspamd");
    for name in ["etc/local.d", "etc/override.d", "db", "run", "log"] {
        fs::create_dir_all(home.join(name))?;
    }
    for (name, text) in files {
        fs::write(home.join("etc").join(name), text)?;
    }
    let folders = [("LOCAL_CONFDIR", "etc"), ("DBDIR", "db"), ("RUNDIR", "run"), ("LOGDIR", "log")];
    let folders = folders.map(|(name, at)| format!("--var={name}={}", home.join(at).display()));
    // In the foreground, and as whoever runs the race.
    let arguments =
        ["-f", "-i", "-c", "/etc/rspamd/rspamd.conf"].map(String::from).into_iter().chain(folders);
    eprintln!("starting rspamd, which may take a minute");
    let mut daemon = Daemon::start("rspamd", arguments, folder)?;
    daemon.wait_until_it_answers(address, Question::FuzzyCheck)?;
    Ok(daemon)
}

/// Adds all messages, and looks whether they are there.
fn load(address: SocketAddr, messages: u64) -> Result<(), Box<dyn Error>> {
    let secs = messages.div_ceil(ADDED) * ADDED_EVERY.as_millis() as u64 / 1000;
    eprintln!("loading rspamd, which takes {secs} seconds");
    let bar = report::loading("loading rspamd", messages)?;
    let mut generator = Generator::new(address)?;
    for first in (0..messages).step_by(ADDED as usize) {
        let began = Instant::now();
        let numbers = first..messages.min(first + ADDED);
        generator.measure(Question::FuzzyAdd, numbers, Duration::MAX)?.with_at_most(0.0, PEER)?;
        bar.set_position(first);
        sleep(ADDED_EVERY.saturating_sub(began.elapsed()));
    }
    bar.finish_and_clear();
    sleep(SETTLED_AFTER);
    let began = Instant::now();
    loop {
        let sample = (0..messages).step_by((messages / SAMPLE).max(1) as usize);
        let looked = generator.measure(Question::FuzzyCheck, sample, Duration::MAX)?.with_at_most(0.0, PEER);
        if looked.is_ok() || began.elapsed() > SETTLED_WITHIN {
            return looked.map(drop);
        }
        sleep(LOOKED_EVERY);
    }
}

fn used_memory(redis: SocketAddr) -> Result<u64, Box<dyn Error>> {
    let said = ask_redis(redis, "INFO memory")?;
    let used = said.lines().find_map(|line| line.strip_prefix("used_memory:"));
    Ok(used.ok_or("redis does not say what it uses")?.parse()?)
}

fn ask_redis(redis: SocketAddr, command: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(redis)?;
    write!(stream, "{command}\r\nQUIT\r\n")?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}
