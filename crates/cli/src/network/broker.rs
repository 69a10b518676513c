//! The broker's configuration, which never changes for a newcomer, and a broker started on this machine.

use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use seenit_ledger::private;
use seenit_server::broker::{Authority, nkey_account};

use super::folder::Folder;
use super::folder::settings::Settings;
use crate::problem::Problem;

/// The part of the configuration that is ours to write: whom the broker trusts.
const AUTH_CONF: &str = "broker-auth.conf";

const PROGRAM: &str = "nats-server";
const DEFAULT_PORT: u16 = 4222;

/// How long a broker may take to listen.
const START: Duration = Duration::from_secs(20);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How long a look may take.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// Writes what is missing or differs, and says what that was. A `broker.conf` that the operator changed stays as it is;
/// one as we wrote it for the settings before is written for those of now.
pub(super) fn configure(
    folder: &Folder,
    before: Option<&Settings>,
    settings: &Settings,
) -> Result<Vec<String>, Problem> {
    let mut changes = Vec::new();
    let conf = folder.broker_conf();
    let auth = folder.path().join(AUTH_CONF);
    let wanted = configuration(folder, settings)?;
    let held = fs::read_to_string(&conf).ok();
    let written = before.map(|before| configuration(folder, before)).transpose()?;
    if held != Some(wanted.clone()) && (held.is_none() || held == written) {
        private::write(&conf, wanted.as_bytes())?;
        changes.push(format!("wrote {}: the broker's configuration", conf.display()));
    }
    let text = authority(folder)?;
    if fs::read(&auth).ok().as_deref() != Some(text.as_bytes()) {
        private::write(&auth, text.as_bytes())?;
        changes.push(format!("wrote {}: whom the broker trusts", auth.display()));
    }
    Ok(changes)
}

/// A configuration to start from.
fn configuration(folder: &Folder, settings: &Settings) -> Result<String, Problem> {
    let root = fs::canonicalize(folder.path()).map_err(Problem::input(folder.path()))?;
    let root = root.display();
    let first = settings.nats.first().map_or("", String::as_str);
    let listen = match loopback(first) {
        Some(address) => address.to_string(),
        None => format!("0.0.0.0:{}", port(first)),
    };
    Ok(format!(
        "# The broker of network {network}: nats-server -c {root}/{conf}\n\
         # `seenit network up` wrote this once and leaves it alone from then on: change what you like. It need not be\n\
         # changed for a new site, nor the broker be reloaded. Each server of a cluster has a copy of both files.\n\n\
         server_name: nats-1\nlisten: \"{listen}\"\n\n\
         # Beyond loopback sites insist on TLS.\n\
         #tls {{ cert_file: \"/etc/nats/cert.pem\", key_file: \"/etc/nats/key.pem\" }}\n\n\
         # Messages of sites have up to 512,000 bytes, which are a third more when they are read back.\n\
         max_payload: 1MB\n\n\
         jetstream {{\n  store_dir: \"{root}/broker-store\"\n  \
         # Two streams of up to 4 GB each, and a bucket of up to 512 MB for each site.\n  max_file: 64GB\n  \
         # From nats-server 2.10 on: what is acknowledged is on the disk. Before, a power cut may cost two minutes\n  \
         # of it, which sites publish again from their own journals.\n  #sync_interval: always\n}}\n\n\
         # Of a cluster. Streams are then made with --replicas 3.\n#cluster {{\n#  name: seenit\n\
         #  listen: \"192.0.2.1:6222\"\n\
         #  routes: [ \"nats://192.0.2.1:6222\", \"nats://192.0.2.2:6222\", \"nats://192.0.2.3:6222\" ]\n#}}\n\n\
         # Who is let in: what the admin signed. Removals are kept here.\n\
         resolver {{ type: full, dir: \"{root}/broker-jwt\" }}\ninclude \"{AUTH_CONF}\"\n",
        network = folder.network(),
        conf = folder.broker_conf().file_name().unwrap_or_default().display(),
    ))
}

/// Whom the broker trusts: the operator, who is the network's admin, and the network's account as it is now.
fn authority(folder: &Folder) -> Result<String, Problem> {
    let authority = Authority::of(folder.secret());
    let roster = folder.roster()?;
    let account = authority.account(roster.version, &folder.removed(&roster)?);
    let system = authority.system_account();
    Ok(format!(
        "# Whom the broker of network {} trusts. `seenit network` writes this: do not change it.\n\
         operator: {}\nsystem_account: {system}\nresolver_preload: {{\n  {}: {account}\n  {system}: {}\n}}\n",
        folder.network(),
        authority.operator(),
        nkey_account(&folder.network()),
        authority.system(),
    ))
}

/// Starts a broker if the network's is on this machine and does not run; its process.
pub(super) fn start(folder: &Folder, settings: &Settings) -> Result<Option<u32>, Problem> {
    let [address] = settings.nats.as_slice() else { return Ok(None) };
    let Some(address) = loopback(address) else { return Ok(None) };
    if settings.credentials.is_some() || listens(address) {
        return Ok(None);
    }
    let log = folder.path().join("broker.log");
    let mut broker = spawn(folder, &log)?;
    let until = Instant::now() + START;
    while !listens(address) {
        let ended = broker.try_wait().map_err(Problem::io(PROGRAM))?;
        if ended.is_some() || Instant::now() > until {
            let _ = broker.kill();
            let conf = folder.broker_conf();
            let last = last_line(&log);
            let conf = conf.display();
            let why = format!("{PROGRAM} -c {conf} does not listen at {address}; it says last: {last}");
            return Err(Problem::Refused(why));
        }
        std::thread::sleep(LOOK);
    }
    let pid = broker.id();
    private::write(&folder.path().join("broker.pid"), format!("{pid}\n").as_bytes())?;
    Ok(Some(pid))
}

/// In a process group of its own, so that it stays when the terminal goes.
fn spawn(folder: &Folder, log: &Path) -> Result<Child, Problem> {
    private::write(log, b"")?;
    let to_log = File::options().append(true).open(log).map_err(Problem::output(log))?;
    let mut command = Command::new(PROGRAM);
    command.arg("-c").arg(folder.broker_conf()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(to_log);
    command.process_group(0).spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Problem::Refused(format!(
            "nothing listens at the broker's address, and {PROGRAM} is not installed; install it (Debian: apt install \
             nats-server) and run this again, or give --nats with the address of a broker that runs with {}",
            folder.broker_conf().display()
        )),
        _ => Problem::io(PROGRAM)(error),
    })
}

fn listens(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, LOOK_MAX).is_ok()
}

/// The address of a server on this machine.
fn loopback(url: &str) -> Option<SocketAddr> {
    let host = host(url);
    let port = port(url);
    let address = (host, port).to_socket_addrs().ok()?.next()?;
    let is_here = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    (is_here && address.ip().is_loopback()).then_some(address)
}

/// Host and port of `scheme://host:port`; the port may be missing, and a host may be an address in brackets.
fn split(url: &str) -> (&str, Option<&str>) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/');
    match rest.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (rest, None),
    }
}

fn host(url: &str) -> &str {
    split(url).0.trim_start_matches('[').trim_end_matches(']')
}

fn port(url: &str) -> u16 {
    split(url).1.and_then(|port| port.parse().ok()).unwrap_or(DEFAULT_PORT)
}

fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().last().unwrap_or("it says nothing").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_told_from_others() {
        let here = |url: &str| loopback(url).map(|address| address.to_string());
        assert_eq!(here("nats://127.0.0.1:4223").as_deref(), Some("127.0.0.1:4223"));
        assert_eq!(here("127.0.0.1").as_deref(), Some("127.0.0.1:4222"));
        assert_eq!(here("tls://[::1]:5000/").as_deref(), Some("[::1]:5000"));
        assert_eq!((here("tls://192.0.2.1"), here("")), (None, None));
    }
}
