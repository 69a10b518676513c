//! What requests share, and what is known of a connection.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::{ArcSwap, Guard};
use seenit_ledger::clock::Clock;
use seenit_ledger::ledger::Ledger;

use super::blocking::Queues;
use super::held::Memory;
use super::shared::Shared;
use crate::accounts::Accounts;
use crate::audit::Audit;
use crate::clients::Served;
use crate::config::Config;
use crate::limits::{Budget, Networks};
use crate::link::Site;
use crate::listen::{Crowd, Seat, Unread};
use crate::metrics::Metrics;
use crate::network::{Network, plain};
use crate::reload::Live;
use crate::secrets::Secrets;

/// What all requests share.
pub(crate) struct State {
    /// As the server was started. What a reload may change is read from `live()`.
    pub(crate) config: Config,
    pub(crate) live: ArcSwap<Live>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) secrets: Secrets,
    pub(crate) networks: Networks,
    pub(crate) metrics: Metrics,
    pub(crate) audit: Arc<Audit>,
    /// Where other protocols are served: known once their ports are taken.
    pub(crate) served: OnceLock<Served>,
    /// The link to other sites, where there is one.
    pub(crate) site: OnceLock<Site>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) started: Instant,
    /// Work in blocking threads: what checks need, and questions about the site.
    pub(crate) queues: Queues,
    /// The connections of HTTP.
    pub(crate) crowd: Arc<Crowd>,
    /// What bodies and answers hold.
    pub(crate) memory: Memory,
    /// The last answers of `/v1/stats` and of `/metrics`.
    pub(crate) stats: Shared,
    pub(crate) scrape: Shared,
    /// What those of this machine spend who have no account and are not the operator.
    pub(crate) local: Arc<Budget>,
}

impl State {
    /// What a reload may change, as it is now.
    pub(crate) fn live(&self) -> Guard<Arc<Live>> {
        self.live.load()
    }

    /// The budget of whoever is at an address: loopback has none.
    pub(crate) fn budget(&self, address: IpAddr) -> Option<Arc<Budget>> {
        (!address.is_loopback()).then(|| self.networks.budget(Network::of(address)))
    }

    pub(crate) fn is_trusted_proxy(&self, address: IpAddr) -> bool {
        self.live().config.http.trusted_proxies.iter().any(|network| network.contains(&address))
    }
}

/// The other end of a connection.
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// Whether the socket it came to is for this machine only.
    pub(crate) is_at_loopback: bool,
    pub(crate) budget: Option<Arc<Budget>>,
    pub(crate) seat: Arc<Seat>,
    /// What it has not taken of its answers.
    pub(crate) unread: Arc<Unread>,
}

impl Peer {
    pub(crate) fn new(state: &State, address: IpAddr, local: IpAddr, seat: Seat) -> Self {
        let (address, is_at_loopback) = (plain(address), plain(local).is_loopback());
        let (budget, unread) = (state.budget(address), Arc::default());
        Peer { address, is_at_loopback, budget, seat: Arc::new(seat), unread }
    }
}
