//! The server's own process, seen from both sides.

use std::collections::HashMap;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;

use seenit_server::Server;
use seenit_server::config::{Limits, Listen};
use serde::{Deserialize, Serialize};

use super::{CHECKS_PER_SEC, WRITES_PER_SEC};
use crate::hosted::{self, Hosted};
use crate::process;

/// What the server is told.
#[derive(Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) folder: PathBuf,
    /// Where strangers come from, and to.
    pub(super) stranger: IpAddr,
}

/// What it says when it serves.
#[derive(Serialize, Deserialize)]
struct Serving {
    /// HTTP on loopback, for the operator, and for the account and strangers.
    http: [SocketAddr; 2],
    clients: HashMap<String, SocketAddr>,
    token: String,
}

/// Room for what is seen and asked: the race stores nothing.
const CAPACITY: u64 = 1_000_000;

/// An address of this machine beyond loopback. Nothing is sent to find it: a socket is only told where it would
/// send to.
pub(super) fn stranger() -> Result<IpAddr, Box<dyn Error>> {
    let why = "this machine has no address but loopback's: ip addr add 198.51.100.1/32 dev lo";
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((Ipv4Addr::new(198, 51, 100, 1), 9)).map_err(|_| why)?;
    let address = socket.local_addr()?.ip();
    if address.is_loopback() { Err(why.into()) } else { Ok(address) }
}

/// Runs the server until the race is over.
pub(super) fn serve(plan: &Plan) -> Result<(), Box<dyn Error>> {
    let data = plan.folder.join("data");
    let mut config = hosted::config();
    (config.ledger.capacity, config.ledger.seen_capacity) = (CAPACITY, CAPACITY);
    config.clients.see = true;
    config.limits = Limits {
        network_checks_per_sec: CHECKS_PER_SEC,
        network_writes_per_sec: WRITES_PER_SEC,
        burst_secs: 1,
        ..Limits::default()
    };
    config.http.listen = vec![(Ipv4Addr::LOCALHOST, 0).into(), (plan.stranger, 0).into()];
    (config.http.insecure_plaintext, config.http.anonymous_beyond_loopback) = (true, true);
    let listen = Listen::At((plan.stranger, 0).into());
    (config.pyzor.listen, config.razor.listen) = (listen, listen);
    (config.dcc.listen, config.fuzzy.listen) = (listen, listen);
    let running = Server::new(config, &data).token_folder(&data).start()?;
    let http = running.addresses().try_into().map_err(|_| "the server listens at two addresses")?;
    let clients = running.clients().iter().map(|(name, address)| (name.to_lowercase(), *address)).collect();
    hosted::serve(&Serving { http, clients, token: running.operator_token().as_str().to_owned() })
}

/// The server, for the generator. Dropped, it ends.
pub(super) struct Host(Hosted<Serving>);

impl Host {
    pub(super) fn start(plan: &Plan) -> Result<Self, Box<dyn Error>> {
        Ok(Host(Hosted::start("overload", plan)?))
    }

    /// Where the operator asks.
    pub(super) fn at_home(&self) -> SocketAddr {
        self.0.serving.http[0]
    }

    /// Where the account and strangers ask.
    pub(super) fn abroad(&self) -> SocketAddr {
        self.0.serving.http[1]
    }

    pub(super) fn client(&self, protocol: &str) -> Result<SocketAddr, Box<dyn Error>> {
        let found = self.0.serving.clients.get(protocol).copied();
        found.ok_or_else(|| format!("{protocol} is not served").into())
    }

    /// The operator's token.
    pub(super) fn token(&self) -> &str {
        &self.0.serving.token
    }

    pub(super) fn rss_bytes(&self) -> u64 {
        process::status_bytes(&self.0.id().to_string(), "VmRSS")
    }
}
