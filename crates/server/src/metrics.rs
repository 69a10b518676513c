//! Counters and gauges, in the OpenMetrics text format.

mod filters;
mod sites;
mod verdicts;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use seenit_ledger::Stats;

use crate::link::Sites;
pub(crate) use verdicts::{FrontEnd, Verdicts};

type Labels = Vec<(&'static str, String)>;
type Seconds = Family<Labels, Histogram, fn() -> Histogram>;
type Level = Gauge<f64, AtomicU64>;
type ReadLevel = fn(&Stats) -> f64;

/// Routes whose counters are made beforehand, so that a request only adds to them: the busiest first.
const ROUTES: [&str; 5] = ["check", "see", "report", "revoke", "withdraw"];

const WRITABLE: &str = "text can be written to a string";

/// What is counted.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    seconds: Seconds,
    busy: [Busy; ROUTES.len()],
    /// Signatures that were checked.
    pub(crate) checked: Counter,
    /// Verdicts of checks.
    pub(crate) verdicts: Verdicts,
    /// Cases that were seen.
    pub(crate) seen: Counter,
    /// Cases that were reported, revoked, withdrawn and so on, and acknowledged.
    pub(crate) written: Counter,
    /// Questions about the site that were refused because their queue was full for too long.
    pub(crate) status_refused: Counter,
    /// Answers about the site that were worked out; all others were shared.
    pub(crate) status_computed: Counter,
    /// Connections that are open.
    pub(crate) connections: Gauge,
    /// Connections that were closed because their network has too many.
    pub(crate) connections_refused: Counter,
    /// Idle connections that were closed to make room for others.
    pub(crate) connections_closed: Counter,
    networks: Gauge,
    client_requests: Family<Labels, Counter>,
    client_answers: Family<Labels, Counter>,
    client_dropped: Family<Labels, Counter>,
    levels: Vec<(Level, ReadLevel)>,
}

/// A route that is asked often.
struct Busy {
    answered: Counter,
    seconds: Histogram,
}

/// What the clients of one protocol asked and were told.
#[derive(Clone)]
pub(crate) struct ClientCounts {
    /// Datagrams, or requests of a connection, garbage included.
    pub(crate) requests: Counter,
    /// Those that were answered at once: what must be durable first is answered later, garbage never.
    pub(crate) answers: Counter,
    /// Answers that the socket had no room for, or that could not be sent at all.
    pub(crate) dropped: Counter,
}

/// From 50 us on, each twice the one before, up to 26 s: a check takes less than the first, a write that waits for a
/// slow disk less than the last.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(50e-6, 2.0, 20))
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("seenit");
        let requests = Family::<Labels, Counter>::default();
        let seconds = Seconds::new_with_constructor(buckets);
        registry.register("http_requests", "Requests by route and status", requests.clone());
        registry.register("http_seconds", "Seconds that requests took, by route", seconds.clone());
        let busy = ROUTES.map(|route| Busy {
            answered: requests.get_or_create(&labels(route, usual_status(route))).clone(),
            seconds: seconds.get_or_create(&vec![("route", route.to_owned())]).clone(),
        });
        let client_requests = Family::<Labels, Counter>::default();
        let client_answers = Family::<Labels, Counter>::default();
        registry.register("client_requests", "Requests of clients by protocol", client_requests.clone());
        registry.register("client_answers", "Those that were answered at once", client_answers.clone());
        let client_dropped = Family::<Labels, Counter>::default();
        registry.register("client_answers_dropped", "Answers that could not be sent", client_dropped.clone());
        let verdicts = Verdicts::register(&mut registry);
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let checked = counter("checked_signatures", "Signatures checked");
        let seen = counter("seen_cases", "Cases seen");
        let written = counter("written_cases", "Cases written and acknowledged");
        let status_refused =
            counter("http_status_refused", "Questions about the site refused: their queue was full");
        let status_computed =
            counter("http_status_computed", "Answers of /v1/stats and /metrics worked out, not shared");
        let connections_refused =
            counter("http_connections_refused", "Connections of networks with too many");
        let connections_closed =
            counter("http_connections_closed", "Connections closed to make room for others");
        let mut gauge = |name: &str, help: &str| {
            let gauge: Gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let connections = gauge("http_connections", "Connections open");
        let networks = gauge("limits_networks", "Networks whose limits are remembered");
        let levels = register_levels(&mut registry);
        Metrics {
            registry,
            requests,
            seconds,
            busy,
            checked,
            verdicts,
            seen,
            written,
            status_refused,
            status_computed,
            connections,
            connections_refused,
            connections_closed,
            networks,
            client_requests,
            client_answers,
            client_dropped,
            levels,
        }
    }

    /// Counts an answer.
    pub(crate) fn count(&self, route: &'static str, status: u16, took: Duration) {
        let busy = ROUTES.iter().position(|known| *known == route).map(|index| &self.busy[index]);
        match busy {
            Some(busy) => busy.seconds.observe(took.as_secs_f64()),
            None => {
                let seconds = self.seconds.get_or_create(&vec![("route", route.to_owned())]);
                seconds.observe(took.as_secs_f64());
            }
        };
        match busy {
            Some(busy) if status == usual_status(route) => busy.answered.inc(),
            _ => self.requests.get_or_create(&labels(route, status)).inc(),
        };
    }

    /// The counts of a protocol.
    pub(crate) fn client(&self, protocol: &str) -> ClientCounts {
        let labels = vec![("protocol", protocol.to_lowercase())];
        ClientCounts {
            requests: self.client_requests.get_or_create(&labels).clone(),
            answers: self.client_answers.get_or_create(&labels).clone(),
            dropped: self.client_dropped.get_or_create(&labels).clone(),
        }
    }

    /// All of it as text.
    pub(crate) fn encode(&self, stats: &Stats, networks: usize, sites: Option<&Sites>) -> String {
        self.networks.set(networks as i64);
        for (level, value) in &self.levels {
            level.set(value(stats));
        }
        let mut text = String::new();
        let mut add = |registry: &Registry| encode_registry(&mut text, registry);
        add(&self.registry).expect(WRITABLE);
        add(&filters::registry(&stats.filters)).expect(WRITABLE);
        sites.map(sites::registry).iter().for_each(|registry| add(registry).expect(WRITABLE));
        encode_eof(&mut text).expect(WRITABLE);
        text
    }
}

fn usual_status(route: &str) -> u16 {
    if route == "see" { 202 } else { 200 }
}

fn labels(route: &'static str, status: u16) -> Labels {
    vec![("route", route.to_owned()), ("status", status.to_string())]
}

/// One of the ledger's numbers: its name, what it is, and where it is found.
type LedgerLevel = (&'static str, &'static str, ReadLevel);

const LEDGER: [LedgerLevel; 23] = [
    ("ledger_generation", "The generation written into", |stats| stats.generation as f64),
    ("ledger_records", "Own records ever written, over all incarnations", |stats| stats.records as f64),
    ("ledger_heard", "Records heard from other sites", |stats| stats.heard as f64),
    ("ledger_heard_beyond_share", "Heard and not counted: beyond their site's share", |stats| {
        stats.heard_beyond_share as f64
    }),
    ("ledger_heard_beyond_capacity", "Heard and not counted: the tally was full", |stats| {
        stats.heard_beyond_capacity as f64
    }),
    ("ledger_heard_unreadable", "Heard and not counted: they cannot be read", |stats| {
        stats.heard_unreadable as f64
    }),
    ("ledger_signatures", "Signatures in the tally", |stats| stats.signatures as f64),
    ("ledger_capacity", "Signatures the tally was made for", |stats| stats.capacity as f64),
    ("ledger_kept_generations", "Generations whose records count", |stats| stats.kept_generations as f64),
    ("ledger_full_in_days", "Days until the tally is full; -1 where old records expire before", |stats| {
        stats.full_in_days.unwrap_or(-1.0)
    }),
    ("ledger_full", "1 while reports of new signatures are refused because the tally is full", |stats| {
        f64::from(u8::from(stats.is_full))
    }),
    ("ledger_tally_rate", "The false-positive rate of the tally now", |stats| stats.tally_rate),
    ("ledger_seen", "Signatures seen in this generation, estimated", |stats| stats.seen as f64),
    ("ledger_seen_capacity", "Signatures a generation was made for", |stats| stats.seen_capacity as f64),
    ("ledger_seen_rate", "The false-positive rate of seen counts now", |stats| stats.seen_rate),
    ("ledger_bulk", "Bulk signatures, estimated", |stats| stats.bulk as f64),
    ("ledger_memory_bytes", "Memory of filters and tallies", |stats| stats.memory_bytes as f64),
    ("ledger_journal_bytes", "Bytes of the journal", |stats| stats.journal_bytes as f64),
    ("ledger_free_bytes", "Bytes free on the journal's disk", |stats| stats.free_bytes as f64),
    ("ledger_reporters", "Reporters known", |stats| stats.reporters as f64),
    ("ledger_snapshot_age_seconds", "Seconds since the last snapshot; -1 where there is none", |stats| {
        stats.snapshot_age_secs.map_or(-1.0, |secs| secs as f64)
    }),
    ("ledger_writes_refused", "1 while writes are refused", |stats| {
        f64::from(u8::from(stats.writes_refused.is_some()))
    }),
    ("ledger_alarms", "Things somebody should look at", |stats| stats.alarms.len() as f64),
];

fn register_levels(registry: &mut Registry) -> Vec<(Level, ReadLevel)> {
    let mut register = |(name, help, value): LedgerLevel| {
        let level = Level::default();
        registry.register(name, help, level.clone());
        (level, value)
    };
    LEDGER.into_iter().map(&mut register).collect()
}
