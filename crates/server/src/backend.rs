//! What all front ends share: the ledger behind them, who may use it and how much, and what is counted.
//!
//! HTTP and the clients' protocols each have a reference to the one [`Backend`] of a server. It knows none of them.

pub(crate) mod blocking;
mod shared;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::{ArcSwap, Guard};
use seenit_ledger::clock::Clock;
use seenit_ledger::ledger::Ledger;
use serde::Serialize;

use crate::accounts::Accounts;
use crate::audit::Audit;
use crate::config::Config;
use crate::connections::Crowd;
use crate::limits::{Budget, Networks};
use crate::link::Site;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::network::Network;
use crate::secrets::Secrets;
use crate::whitelist::{ListError, Whitelist};

pub(crate) use self::blocking::{Queues, Unserved};
pub(crate) use self::shared::SharedAnswer;

/// What all front ends share.
pub(crate) struct Backend {
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
    pub(crate) stats: SharedAnswer,
    pub(crate) scrape: SharedAnswer,
    /// What those of this machine spend who have no account and are not the operator.
    pub(crate) local: Arc<Budget>,
}

impl Backend {
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

/// What requests read that a reload may change: swapped as a whole.
pub(crate) struct Live {
    /// Only what [`KEYS`](crate::reload::KEYS) names is read from here.
    pub(crate) config: Config,
    /// The whitelist of DCC's clients.
    pub(crate) whitelist: Whitelist,
}

impl Live {
    pub(crate) fn of(config: Config) -> Result<Self, ListError> {
        let whitelist = config.dcc.whitelist.as_deref().map(Whitelist::read).transpose()?;
        Ok(Live { config, whitelist: whitelist.unwrap_or_default() })
    }
}

/// What a client of an older protocol must know to be answered.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Served {
    /// Where each protocol is served, by its name in lower case. What is off is not there.
    pub(crate) clients: BTreeMap<String, SocketAddr>,
    /// The public key that commands of rspamd are sealed for.
    pub(crate) fuzzy_key: Option<String>,
    /// The flag of rspamd that means spam.
    pub(crate) fuzzy_flag: Option<u8>,
}
