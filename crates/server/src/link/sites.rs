//! How the sites are doing, as `GET /v1/sites` says it.

use seenit_link::{NetworkStatus, SiteStatus};
use serde::Serialize;

/// What the link and the broker know. A site that stands alone has the same fields, and nothing in them.
#[derive(Serialize)]
pub(crate) struct Sites {
    /// The network; none where this site stands alone.
    pub(crate) network: Option<String>,
    pub(crate) member: bool,
    pub(crate) roster: u64,
    pub(crate) incarnation: u64,
    pub(crate) records: u64,
    pub(crate) published: u64,
    pub(crate) sites: Vec<SiteStatus>,
    pub(crate) alarms: Vec<String>,
    /// None where this site stands alone.
    #[serde(rename = "engine")]
    pub(crate) broker: Option<BrokerReached>,
    /// Seconds that own records have been waiting to be published.
    pub(crate) waiting_secs: u64,
    /// Why this site has stopped publishing.
    pub(crate) fenced: Option<String>,
    pub(crate) dropped_heard: u64,
    pub(crate) dropped_said: u64,
}

/// Whether the broker is there.
#[derive(Serialize)]
pub(crate) struct BrokerReached {
    pub(crate) up: bool,
    /// Why it is not.
    pub(crate) why: Option<String>,
}

impl Sites {
    /// Of a site that stands alone.
    pub(crate) fn alone(incarnation: u64) -> Self {
        Sites {
            network: None,
            member: false,
            roster: 0,
            incarnation,
            records: 0,
            published: 0,
            sites: Vec::new(),
            alarms: Vec::new(),
            broker: None,
            waiting_secs: 0,
            fenced: None,
            dropped_heard: 0,
            dropped_said: 0,
        }
    }

    /// Of a network, with what was lost between it and the broker: heard and said.
    pub(super) fn of(status: NetworkStatus, dropped_heard: u64, dropped_said: u64) -> Self {
        Sites {
            network: Some(status.network),
            member: status.member,
            roster: status.roster,
            incarnation: status.incarnation,
            records: status.records,
            published: status.published,
            sites: status.sites,
            alarms: status.alarms,
            broker: Some(BrokerReached { up: status.broker.up, why: status.broker.why }),
            waiting_secs: status.waiting_secs,
            fenced: status.fenced,
            dropped_heard,
            dropped_said,
        }
    }

    /// Whether the broker is there.
    pub(crate) fn is_broker_up(&self) -> bool {
        self.broker.as_ref().is_some_and(|broker| broker.up)
    }

    /// What somebody should look at, the broker included.
    pub(crate) fn all_alarms(self) -> Vec<String> {
        let why = self.broker.and_then(|broker| broker.why);
        let why = why.map(|why| format!("the broker between sites is not there: {why}"));
        self.alarms.into_iter().chain(why).collect()
    }
}
