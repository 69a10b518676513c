//! What there is to say about a filter: for people as lines, for machines as one flat object.

use std::path::Path;

use seenit_filter::hash::SipKey;
use seenit_filter::maths::cardinality::Estimate;
use seenit_filter::{AnyLayout, Filter, Layout, PAGE_BYTES, Promise, readable};
use serde::Serialize;

use crate::output;
use crate::problem::Problem;

/// The facts. Names are a contract: scripts read them.
#[derive(Serialize)]
pub(super) struct Report {
    file: String,
    /// Lines that were keys; known to `build` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) keys_read: Option<u64>,
    layout: &'static str,
    bits: u64,
    k: u32,
    pages: u64,
    pages_per_key: u32,
    memory_bytes: u64,
    key_fingerprint: String,
    public_key: bool,
    capacity: Option<u64>,
    promised_rate: Option<f64>,
    present_rate: f64,
    /// Null also when bits were cleared: a filter that may miss keys does not hold as many as it promised, and the
    /// rate it has left says nothing about how many it was given.
    promise_kept: Option<bool>,
    ones: u64,
    fill_ratio: f64,
    /// Null when bits were cleared: what is read off the bits would be too low, nobody knows by how much.
    estimated_keys: Option<f64>,
    estimated_keys_sd: Option<f64>,
    /// When it is not zero the filter may miss keys.
    cleared_bits: u64,
    expected_pages_per_lookup: f64,
}

impl Report {
    pub(super) fn of<S: AsRef<[u64]>>(path: &Path, filter: &Filter<AnyLayout, S>) -> Self {
        let layout = filter.layout();
        let fill = filter.fill();
        let promise = filter.promise();
        let cleared_bits = filter.cleared_bits();
        let present_rate = filter.present_rate();
        let is_whole = cleared_bits == 0;
        let cardinality = if is_whole { filter.cardinality() } else { None };
        Report {
            file: path.display().to_string(),
            keys_read: None,
            layout: layout.name().as_str(),
            bits: layout.bits(),
            k: layout.k(),
            pages: layout.pages(),
            pages_per_key: layout.pages_per_key(),
            memory_bytes: layout.pages() * PAGE_BYTES as u64,
            key_fingerprint: filter.fingerprint().to_string(),
            public_key: filter.fingerprint() == SipKey::public().fingerprint(),
            capacity: promise.map(|promise| promise.capacity),
            promised_rate: promise.map(|promise| promise.rate),
            present_rate,
            promise_kept: promise
                .filter(|_| is_whole)
                .map(|promise| keeps(promise, present_rate, cardinality)),
            ones: fill.ones,
            fill_ratio: fill.ratio(),
            estimated_keys: cardinality.map(|estimate| estimate.value),
            estimated_keys_sd: cardinality.map(|estimate| estimate.sd),
            cleared_bits,
            expected_pages_per_lookup: layout.expected_pages(),
        }
    }

    /// Whether it holds more keys than its promise was made for.
    pub(super) fn is_broken(&self) -> bool {
        self.promise_kept == Some(false)
    }

    pub(super) fn print(&self, json: bool) -> Result<(), Problem> {
        if json { output::json(self) } else { output::text(&self.lines()) }
    }

    fn lines(&self) -> String {
        let keys = match (self.estimated_keys, self.estimated_keys_sd) {
            (Some(keys), Some(sd)) => format!("about {keys:.0} +- {sd:.0}"),
            _ if self.cleared_bits > 0 => "cannot be told: bits were cleared".into(),
            _ => "more than can be told: every bit is set".into(),
        };
        let mut rows = vec![
            ("file", self.file.clone()),
            ("layout", format!("{}, {} bits, k = {}", self.layout, self.bits, self.k)),
            ("memory", memory(self.pages, self.memory_bytes)),
            ("hashed", hashed(self.public_key, &self.key_fingerprint)),
            ("keys", keys),
            ("fill", format!("{} of the bits", percent(self.fill_ratio))),
            ("promise", promise("keys", self.capacity, self.promised_rate)),
            ("present", present(self.present_rate, self.promised_rate, self.promise_kept)),
            ("a lookup", format!("touches {:.1} pages", self.expected_pages_per_lookup)),
        ];
        if self.cleared_bits > 0 {
            rows.push(("cleared", format!("{} bits: IT MAY MISS KEYS that were put in", self.cleared_bits)));
        }
        listed(&rows)
    }
}

/// A name and a value a line.
pub(super) fn listed(rows: &[(&str, String)]) -> String {
    rows.iter().map(|(name, value)| format!("{name:<9} {value}\n")).collect()
}

pub(super) fn memory(pages: u64, bytes: u64) -> String {
    format!("{pages} {}, {}", if pages == 1 { "page" } else { "pages" }, readable::bytes(bytes))
}

pub(super) fn hashed(public: bool, fingerprint: &str) -> String {
    format!("under {} key, fingerprint {fingerprint}", if public { "the public" } else { "a secret" })
}

pub(super) fn promise(what: &str, capacity: Option<u64>, rate: Option<f64>) -> String {
    match (capacity, rate) {
        (Some(capacity), Some(rate)) => format!("{capacity} {what} at a rate of {}", percent(rate)),
        _ => "none".into(),
    }
}

pub(super) fn present(rate: f64, promised: Option<f64>, promise_kept: Option<bool>) -> String {
    let verdict = match (promise_kept, promised) {
        (Some(true), Some(promised)) if rate > promised => {
            " (above the promise by chance, not by too many keys: small filters scatter)"
        }
        (Some(true), _) => " (promise kept)",
        (Some(false), _) => " (PROMISE BROKEN: too many keys)",
        (None, _) => "",
    };
    format!("a rate of {}{verdict}", percent(rate))
}

/// Broken is a promise when the rate is above it because there are too many keys, beyond the doubt of their estimate.
/// The rate of a filter within its capacity scatters around the promise, the more the smaller it is: that is chance,
/// and the promise is about the average.
pub(super) fn keeps(promise: Promise, present_rate: f64, keys: Option<Estimate>) -> bool {
    const DOUBT: f64 = 3.0;
    let surely = keys.map_or(f64::INFINITY, |keys| keys.value - DOUBT * keys.sd);
    present_rate <= promise.rate || surely <= promise.capacity as f64
}

pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent != 0.0 && percent < 0.01 { format!("{percent:.2e} %") } else { format!("{percent:.3} %") }
}
