//! How often filters lie, as probes with absent keys measured it.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use seenit_ledger::FilterRate;

use super::Labels;

/// A number of each filter: its name, what it is, and where it is found.
type FilterLevel = (&'static str, &'static str, fn(&FilterRate) -> f64);

const FILTER: [FilterLevel; 5] = [
    ("filter_promised_rate", "The false-positive rate that the filter promises", |rate| rate.promised_rate),
    ("filter_present_rate", "The rate measured with absent keys", |rate| rate.present_rate),
    ("filter_least_rate", "The lower end of its interval", |rate| rate.interval[0]),
    ("filter_most_rate", "The upper end of its interval", |rate| rate.interval[1]),
    ("filter_in_doubt", "1 while answers that rest on the filter are no opinion", |rate| {
        f64::from(u8::from(rate.in_doubt))
    }),
];

/// The numbers of all filters.
pub(super) fn registry(rates: &[FilterRate]) -> Registry {
    let mut registry = Registry::with_prefix("seenit");
    for (name, help, read) in FILTER {
        let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
        for rate in rates {
            family.get_or_create(&vec![("filter", rate.name.to_owned())]).set(read(rate));
        }
        registry.register(name, help, family);
    }
    registry
}
