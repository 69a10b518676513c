//! The numbers of a network: made anew for each who asks, so that a site that is removed is gone from them.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use seenit_link::{SiteStatus, StreamStatus};

use super::Labels;
use crate::link::Sites;

/// A number of each other site: its name, what it is, and where it is found.
type SiteLevel = (&'static str, &'static str, fn(&SiteStatus) -> u64);

const SITE: [SiteLevel; 8] = [
    ("site_lag_seconds", "Seconds that something of this site has been missing for", |site| site.lag_secs),
    ("site_records_known", "Records of this site's present incarnation that it has", |site| {
        site.records_known
    }),
    ("site_records_applied", "Those that are applied here", |site| site.records_applied),
    ("site_seen_known", "Seen gains of the newest generation that it has", |site| {
        seen(site, |one| one.known)
    }),
    ("site_seen_applied", "Those that are applied here", |site| seen(site, |one| one.applied)),
    ("site_seen_verified", "Those up to which the cells were found to be what it signed", |site| {
        seen(site, |one| one.verified)
    }),
    ("site_repairs", "Repairs since the start, of streams that are still followed", |site| site.repairs),
    ("site_has_of_ours", "Records of our present incarnation that are applied there", |site| {
        site.has_of_ours
    }),
];

fn seen(site: &SiteStatus, read: fn(&StreamStatus) -> u64) -> u64 {
    site.newest_seen().map_or(0, read)
}

/// All numbers of a network: as many of each as the roster has sites.
pub(super) fn registry(sites: &Sites) -> Registry {
    let mut registry = Registry::with_prefix("seenit");
    let mut of_all = |name: &str, help: &str, read: &dyn Fn(&SiteStatus) -> i64| {
        let family = Family::<Labels, Gauge>::default();
        for site in &sites.sites {
            family.get_or_create(&vec![("site", site.name.clone())]).set(read(site));
        }
        registry.register(name, help, family);
    };
    for (name, help, read) in SITE {
        of_all(name, help, &|site| read(site) as i64);
    }
    of_all("site_silent_seconds", "Seconds since this site was heard; -1 before the first time", &|site| {
        site.silent_secs.map_or(-1, |secs| secs as i64)
    });
    of_all(
        "site_agrees",
        "1 all that is held of it is what it signed, 0 not so, -1 not compared yet",
        &|site| site.agrees.map_or(-1, i64::from),
    );
    let mut one = |name: &str, help: &str, value: u64| {
        let gauge = Gauge::<i64>::default();
        gauge.set(value as i64);
        registry.register(name, help, gauge);
    };
    one("network_member", "1 where this site is in the roster and knows the terms", sites.member.into());
    one("network_roster", "The version of the roster; 0 before the first", sites.roster);
    one("network_records", "Own records of the present incarnation", sites.records);
    one("network_published", "Those that the broker was told of", sites.published);
    one("network_engine_up", "1 while the broker between sites is there", sites.is_broker_up().into());
    one("network_alarms", "Things of the network that somebody should look at", sites.alarms.len() as u64);
    let mut counter = |name: &str, help: &str, value: u64| {
        let counter = Counter::<u64>::default();
        counter.inc_by(value);
        registry.register(name, help, counter);
    };
    counter("network_dropped_heard", "Messages of sites dropped for want of room", sites.dropped_heard);
    counter("network_dropped_said", "Messages to sites dropped for want of room", sites.dropped_said);
    registry
}
