//! What there is to say about a counting filter: for people as lines, for machines as one flat object.

use std::path::Path;

use seenit_filter::counting::{CountingFilter, Rule};
use seenit_filter::file::{FileKind, Stored, StoredCells};
use seenit_filter::hash::SipKey;
use seenit_filter::{AnyLayout, Layout, PAGE_BYTES};
use serde::Serialize;

use super::open::Work;
use crate::filter::report::{hashed, keeps, listed, memory, percent, present, promise};
use crate::output;
use crate::problem::Problem;

/// The facts. Names are a contract: scripts read them.
#[derive(Serialize)]
pub(super) struct Report {
    file: String,
    /// Lines that were keys, repeated ones included; known to `build` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys_read: Option<u64>,
    /// `packed` or `split`.
    storage: &'static str,
    rule: &'static str,
    layout: &'static str,
    cells: u64,
    cell_bits: u32,
    /// The largest count.
    cap: u64,
    k: u32,
    pages: u64,
    memory_bytes: u64,
    key_fingerprint: String,
    public_key: bool,
    capacity: Option<u64>,
    promised_rate: Option<f64>,
    /// The chance that a key which was never counted has a count.
    present_rate: f64,
    promise_kept: Option<bool>,
    /// Cells that are not zero.
    fill_ratio: f64,
    saturated_share: f64,
    /// Distinct keys.
    estimated_keys: Option<f64>,
    estimated_keys_sd: Option<f64>,
}

/// Finds the facts of a counting filter.
pub(super) struct Describe<'a> {
    pub(super) path: &'a Path,
    pub(super) keys_read: Option<u64>,
}

impl Work for Describe<'_> {
    type Done = Result<Report, Problem>;

    fn on<R: Rule, C: StoredCells>(self, counts: &CountingFilter<R, AnyLayout, C>) -> Self::Done {
        let header = counts.header();
        let layout = counts.layout();
        let promise = counts.promise();
        let (storage, cell_bits) = match header.kind {
            FileKind::Split { split, .. } => ("split", split.base().bits()),
            FileKind::Packed { packing, .. } => ("packed", packing.bits()),
            FileKind::Plain | FileKind::Bins { .. } => ("none", 1),
        };
        // A cell is zero exactly where a plain filter of the distinct keys has no bit.
        let counted = counts.at_least(1).map_err(Problem::cut)?;
        let keys = counted.cardinality();
        let present_rate = counted.present_rate();
        Ok(Report {
            file: self.path.display().to_string(),
            keys_read: self.keys_read,
            storage,
            rule: R::NAME.as_str(),
            layout: layout.name().as_str(),
            cells: layout.bits(),
            cell_bits,
            cap: counts.cells().cap(),
            k: layout.k(),
            pages: header.pages(),
            memory_bytes: header.pages() * PAGE_BYTES as u64,
            key_fingerprint: counts.fingerprint().to_string(),
            public_key: counts.fingerprint() == SipKey::public().fingerprint(),
            capacity: promise.map(|promise| promise.capacity),
            promised_rate: promise.map(|promise| promise.rate),
            present_rate,
            promise_kept: promise.map(|promise| keeps(promise, present_rate, keys)),
            fill_ratio: counted.fill().ratio(),
            saturated_share: counts.saturated_share(),
            estimated_keys: keys.map(|keys| keys.value),
            estimated_keys_sd: keys.map(|keys| keys.sd),
        })
    }
}

impl Report {
    /// Whether it holds more keys than its promise was made for.
    pub(super) fn is_broken(&self) -> bool {
        self.promise_kept == Some(false)
    }

    /// The estimated keys, when they are less than half of `capacity`.
    pub(super) fn far_fewer_than(&self, capacity: u64) -> Option<u64> {
        self.estimated_keys.map(|keys| keys.round() as u64).filter(|&keys| keys < capacity / 2)
    }

    pub(super) fn print(&self, json: bool) -> Result<(), Problem> {
        if json { output::json(self) } else { output::text(&self.lines()) }
    }

    fn lines(&self) -> String {
        let keys = match (self.estimated_keys, self.estimated_keys_sd) {
            (Some(keys), Some(sd)) => format!("about {keys:.0} +- {sd:.0} distinct ones"),
            _ => "more than can be told: no cell is zero".into(),
        };
        let rows = [
            ("file", self.file.clone()),
            ("counts", format!("{}, up to {}", self.rule, self.cap)),
            (
                "layout",
                format!(
                    "{}, {} {} cells of {} bits, k = {}",
                    self.layout, self.cells, self.storage, self.cell_bits, self.k
                ),
            ),
            ("memory", memory(self.pages, self.memory_bytes)),
            ("hashed", hashed(self.public_key, &self.key_fingerprint)),
            ("keys", keys),
            (
                "fill",
                format!(
                    "{} of the cells, {} saturated",
                    percent(self.fill_ratio),
                    percent(self.saturated_share)
                ),
            ),
            ("promise", promise("distinct keys", self.capacity, self.promised_rate)),
            ("present", present(self.present_rate, self.promised_rate, self.promise_kept)),
        ];
        listed(&rows)
    }
}
